"""Bit-identities: calls that must give the same bits for other orders of rows, chunks, threads and engines."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal

from ..errors import FileError
from ..util.blocks import using_cores
from ..util.database import connect
from ..util.temporary import temporary_folder
from .references import Compared, Reference, evaluate, stored_json

# Threads are used from 2^19 entries; files are read from fewer rows, since writing them takes longer than reading.
ROWS, FILE_ROWS = 600_000, 20_000
ENGINES = ("duckdb", "pyarrow", "pandas", "polars", "torch")
IDENTITY: dict[str, Any] = {
    "kind": "identity", "value": [], "source": "calibrant here", "tolerance": 0.0, "reason": "the same bits",
}  # fmt: skip
SPARK_SETTINGS = {
    "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
}  # fmt: skip


def identities(*, spark: bool = False) -> list[Reference]:
    """Identities of the engines that are installed; the reference value is computed when they are compared."""
    absent = {engine for engine in ENGINES if not find_spec(engine)}
    if not (spark and has_spark()):  # which takes longer to start than all others to run
        absent.add("pyspark")
    numbers: Counter[str] = Counter()
    references = []
    for topic, data, call, expected in stored_json("identities")["rows"]:
        if topic not in absent:
            numbers[topic] += 1
            id = f"identities/{topic}/{numbers[topic]}"
            references.append(Reference(id, topic, call=call, data=data, source_call=expected, **IDENTITY))
    return references


@contextmanager
def problem(rows: int = ROWS) -> Iterator[dict[str, Any]]:
    """Rows with ties, exact 0 and 1 and scores on the edges of bins, as arrays and as files, and functions that the calls use."""
    rng = np.random.default_rng(25)
    p = rng.beta(0.7, 1.3, rows)
    p[::3] = np.round(p[::3], 2)
    p[:2] = 0.0, 1.0
    y = (rng.random(rows) < p**0.8).astype(np.int64)
    q = rng.random((rows // 4, 4)) + 0.01
    q /= q.sum(axis=1, keepdims=True)
    k = np.argmax(rng.random(q.shape) * q, axis=1)
    few = min(rows, FILE_ROWS)
    with temporary_folder() as folder:
        csv, parquet = Path(folder) / "rows.csv", Path(folder) / "rows.parquet"
        lines = (f"{label},{score!r}\n" for label, score in zip(y[:few].tolist(), p[:few].tolist(), strict=True))
        try:
            csv.write_text("y,p\n" + "".join(lines), encoding="utf-8", newline="\n")
        except OSError as error:
            raise FileError(
                str(Path(folder).parent), f"cannot be written ({error.strerror})", "set TMPDIR to another folder"
            ) from error
        with connect() as connection:
            connection.read_csv(str(csv)).write_parquet(str(parquet))
        yield {
            "y": y, "p": p, "k": k, "q": q, "few": few, "order": rng.permutation(rows),
            "csv_file": csv, "parquet_file": parquet,
            "digest": digest, "on_cores": on_cores, "in_chunks": in_chunks, "from_query": from_query, "in_spark": in_spark,
        }  # fmt: skip


def compare_identity(reference: Reference, arrays: dict[str, Any]) -> Compared:
    """Evaluate both calls of an identity."""
    if reference.topic in ENGINES:
        arrays = {**arrays, reference.topic: import_module(reference.topic)}
    expected, expected_error = evaluate(reference.source_call, arrays)
    value, error = evaluate(reference.call, arrays)
    computed = replace(reference, value=[] if expected is None else expected)
    return Compared(computed, value, expected_error or error)


def digest(sketches: Any) -> float:
    """Return the first 48 bits of the SHA-256 of a sketch, which a float holds exactly."""
    return float(int(hashlib.sha256(sketches.to_bytes()).hexdigest()[:12], 16))


def on_cores(count: int, work: Callable[[], Any]) -> Any:
    """Return the result of `work` on so many threads."""
    with using_cores(count):
        return work()


def in_chunks(y: Any, p: Any) -> Any:
    """Return the sketches of rows that arrive in chunks of unequal length."""
    sketches = cal.Sketches.of(y[:1], p[:1])
    for start, stop in pairwise([1, len(y) // 7, len(y) // 3, len(y) - 7, len(y)]):
        sketches = sketches.update(y[start:stop], p[start:stop])
    return sketches


def has_spark() -> bool:
    """Whether Spark and the Java that it needs are installed."""
    return bool(find_spec("pyspark") and (shutil.which("java") or os.environ.get("JAVA_HOME")))


def in_spark(file: Path) -> Any:
    """Return the sketches of a file that Spark reads, in the session that is running or in one for this call."""
    from pyspark.sql import SparkSession

    if session := SparkSession.getActiveSession():
        return _sketch_in(session, file)
    python = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = sys.executable  # workers need the packages of this interpreter
    try:
        builder = SparkSession.builder.master("local[2]")
        for name, value in SPARK_SETTINGS.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        try:
            return _sketch_in(session, file)
        finally:
            session.stop()
    finally:
        del os.environ["PYSPARK_PYTHON"]
        if python is not None:
            os.environ["PYSPARK_PYTHON"] = python


def _sketch_in(session: Any, file: Path) -> Any:
    from ..spark import sketch

    return sketch(session.read.parquet(str(file)).repartition(3), label="y", prob="p")


def from_query(file: Path) -> Any:
    """Return the sketches that the query for a warehouse gives in DuckDB."""
    with connect() as connection:
        connection.read_parquet(str(file)).create("rows")
        query = cal.sketches.cells_query("rows", dialect="duckdb", prob="p", label="y")
        return cal.Sketches.from_cells(connection.execute(query))
