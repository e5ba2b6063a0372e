"""Functions that run on Spark executors: sketch a partition, merge sketches, apply a calibrator. They use Spark only for the partition number."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .. import errors
from ..errors import CalibrantError, ShapeError, keep_alternatives
from ..input.predictions import Predictions
from ..recalibration.base import Calibrator, ContextCalibrator
from ..recalibration.persistence import from_text
from ..sketches.collection import Sketches
from ..util.arrays import Array

# Batches are combined up to this number of probabilities, so that few sketches are merged and memory is bounded.
CHUNK_ENTRIES = 1 << 20
# Arguments of `Predictions` that the functions for Spark do not have.
UNAVAILABLE = re.compile(r"\b(soft|multilabel|pos_label|missing)\b")


@dataclass(frozen=True)
class Columns:
    """Names of the columns and their roles."""

    label: str | None
    prob: tuple[str, ...]
    spread: bool
    """Whether each class has a column of its own."""
    by: str | None

    @property
    def roles(self) -> list[tuple[str, str]]:
        """The argument and the name of each column, in the order in which they are sent."""
        roles = [("label", self.label), *(("prob", name) for name in self.prob), ("by", self.by)]
        return [(argument, name) for argument, name in roles if name is not None]

    @property
    def names(self) -> list[str]:
        """The columns that are sent, each once."""
        return list(dict.fromkeys(name for _, name in self.roles))

    def describe(self, argument: str) -> str:
        """An argument with its columns, for messages."""
        names = [name for role, name in self.roles if role == argument]
        if len(names) < 2:
            return f"{argument} (column {names[0]!r})" if names else argument
        return f"{argument} (columns {names[0]!r} to {names[-1]!r})"


@dataclass(frozen=True)
class Partial:
    """Result of one or more partitions: sketches or an error, with the lowest partition number."""

    partition: int
    sketches: Sketches | None = None
    error: CalibrantError | None = None

    def plus(self, other: Partial) -> Partial:
        """Merge two results; an error is kept, of two errors that of the lowest partition."""
        first, second = sorted((self, other), key=lambda each: each.partition)
        if first.error is not None or second.error is not None:
            return first if first.error is not None else second
        assert first.sketches is not None
        assert second.sketches is not None
        if first.sketches.classes != second.sketches.classes:
            counts = [len(each.sketches.classes) for each in (first, second) if each.sketches is not None]
            problem = f"arrays have {counts[1]} entries in partition {second.partition} and {counts[0]} in partition {first.partition}"
            return Partial(second.partition, error=ShapeError("prob", problem, "give every row one entry per class"))
        return Partial(first.partition, first.sketches.merge(second.sketches))

    def batch(self) -> Any:
        """The result as an Arrow batch of one row."""
        import pyarrow as pa

        state = None if self.sketches is None else self.sketches.to_bytes()
        error = None
        if self.error is not None:
            e = self.error
            error = json.dumps([type(e).__name__, e.argument, e.problem, e.remedy, e.row, e.column, e.count, e.source])
        columns = [
            pa.array([self.partition], pa.int32()),
            pa.array([state], pa.binary()),
            pa.array([error], pa.string()),
        ]
        return pa.RecordBatch.from_arrays(columns, names=["partition", "state", "error"])

    @classmethod
    def of_row(cls, row: dict[str, Any]) -> Self:
        """Read a row written by `batch`."""
        if row["error"] is None:
            return cls(row["partition"], Sketches.from_bytes(bytes(row["state"]), f"partition {row['partition']}"))
        kind, argument, problem, remedy, *position = json.loads(row["error"])
        location = dict(zip(("row", "column", "count", "source"), position, strict=False))
        return cls(row["partition"], error=getattr(errors, kind)(argument, problem, remedy, **location))


def merge_partials(parts: Iterable[Partial]) -> Partial | None:
    """Merge all results; None if there are none."""
    total = None
    for each in parts:
        total = each if total is None else total.plus(each)
    return total


def fill(plan: dict[str, Any], batches: Iterator[Any]) -> Iterator[Any]:
    """Sketch a partition: one row, or none if the partition is empty."""
    columns, partition = Columns(**plan["columns"]), _partition()
    total, before = None, 0
    for chunk in _chunks(batches):
        table = chunk.rename_columns(columns.names)
        if total is not None and total.error is not None:
            continue  # Spark expects a task to read all its input
        try:
            n_classes = None if total is None or total.sketches is None else len(total.sketches.classes)
            partial = Partial(partition, _sketch_table(plan, columns, table, n_classes))
        except CalibrantError as error:
            partial = Partial(partition, error=in_columns_of_frame(error, columns, partition, before))
        total = partial if total is None else total.plus(partial)
        before += table.num_rows
    if total is not None:
        yield total.batch()


def merge(plan: dict[str, Any], batches: Iterator[Any]) -> Iterator[Any]:
    """Merge the results of partitions into one row."""
    total = merge_partials(Partial.of_row(row) for batch in batches for row in batch.to_pylist())
    if total is not None:
        yield total.batch()


def calibrate(plan: dict[str, Any], batches: Iterator[Any]) -> Iterator[Any]:
    """Add the column of calibrated probabilities to each batch."""
    import pyarrow as pa

    columns, partition, before = Columns(**plan["columns"]), _partition(), 0
    calibrator, width = from_text(plan["calibrator"].encode(), "calibrator"), plan["width"]
    for batch in batches:
        try:
            new = _calibrate_arrays(calibrator, columns, [batch.column(index) for index in plan["places"]])
        except CalibrantError as error:
            raise in_columns_of_frame(error, columns, partition, before) from None
        names = [*batch.schema.names[:width], plan["out"]]
        yield pa.RecordBatch.from_arrays([*batch.columns[:width], new], names=names)
        before += batch.num_rows


def _partition() -> int:
    from importlib import import_module

    context = import_module("pyspark").TaskContext.get()
    return -1 if context is None else int(context.partitionId())


def _chunks(batches: Iterable[Any]) -> Iterator[Any]:
    """Tables of bounded size that hold the rows of all batches."""
    import pyarrow as pa

    tables: list[Any] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            tables.append(batch)
            size += batch.nbytes // 8
        if size >= CHUNK_ENTRIES:
            yield pa.Table.from_batches(tables)
            tables, size = [], 0
    if tables:
        yield pa.Table.from_batches(tables)


def _sketch_table(plan: dict[str, Any], columns: Columns, table: Any, n_classes: int | None) -> Sketches:
    """The sketches of a table, with `known` classes if rows came before."""
    reading = dict(plan["keywords"])
    if columns.by is not None:
        reading["groups"] = table.column(columns.by)
    names = plan["classes"]
    probs = _scores([table.column(name).combine_chunks() for name in columns.prob], len(names) if names else n_classes)
    k = 2 if probs.ndim == 1 else probs.shape[1]
    if reading.get("input") != "confidence":
        reading["classes"] = names or range(k)  # not those of the labels, which may differ between partitions
    predictions = Predictions(table.column(columns.label), probs, **reading)
    return Sketches.of(predictions, lenses=plan["lenses"])


def _scores(arrays: list[Any], n_classes: int | None) -> Array:
    """(N,) or (N, K) numbers: of one column, of one per class, or of arrays of `known` entries, if their number is known."""
    import pyarrow as pa

    if len(arrays) > 1:
        return np.column_stack([array.to_numpy(zero_copy_only=False) for array in arrays])
    (array,) = arrays
    if not (pa.types.is_list(array.type) or pa.types.is_large_list(array.type)):
        return np.asarray(array.to_numpy(zero_copy_only=False))
    lengths = np.asarray(array.value_lengths().fill_null(0))
    k = int(lengths[0]) if n_classes is None else n_classes
    if k < 2 or (lengths != k).any():
        row = int(np.argmax(lengths != k))
        problem = f"every row needs the same number of entries, one for each of at least 2 classes; got {lengths[row]}"
        raise ShapeError("y_prob", problem, row=row)
    return np.asarray(array.flatten().to_numpy(zero_copy_only=False)).reshape(-1, k)


def _calibrate_arrays(calibrator: Calibrator, columns: Columns, arrays: list[Any]) -> Any:
    """The calibrated probabilities of each row, null where a score is null; of the scores, then of the groups if there are any."""
    import pyarrow as pa

    k, groups = len(calibrator.classes_), arrays[len(columns.prob) :]
    arrays = arrays[: len(columns.prob)]
    valid = np.logical_and.reduce([array.is_valid().to_numpy(zero_copy_only=False) for array in arrays])
    if not valid.any():
        return pa.nulls(len(valid), pa.float64() if k == 2 else pa.list_(pa.float64()))
    keep = pa.array(valid)
    try:
        scores = _scores([array.filter(keep) for array in arrays], k)
        if isinstance(calibrator, ContextCalibrator):
            probs = calibrator.predict_proba(scores, groups=groups[0].filter(keep))
        else:
            probs = calibrator.predict_proba(scores)
    except CalibrantError as error:
        if error.row is None:
            raise
        raise error.replaced(row=int(np.flatnonzero(valid)[error.row])) from None
    if k == 2:
        new = pa.array(np.ascontiguousarray(probs[:, 1]))
    else:
        offsets = np.arange(len(probs) + 1, dtype=np.int32) * k
        new = pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.ascontiguousarray(probs).ravel()))
    return new if valid.all() else new.take(pa.array(np.cumsum(valid) - 1, mask=~valid))


def in_columns_of_frame(error: CalibrantError, columns: Columns, partition: int, before: int) -> CalibrantError:
    """The same error in terms of a DataFrame: its columns, and the row within its partition."""
    arguments = {"y_true": "label", "y_prob": "prob", "groups": "by"}
    if error.argument == "scores":
        arguments["scores"] = "prob"
    renamed = error.replaced(arguments)
    column = columns.prob[int(renamed.column)] if columns.spread and renamed.column is not None else renamed.column
    remedy = keep_alternatives(renamed.remedy, lambda part: not UNAVAILABLE.search(part))
    return renamed.replaced(
        argument=columns.describe(renamed.argument),
        remedy="drop or fill these rows" if "missing=" in renamed.remedy else remedy,
        row=None if renamed.row is None else before + renamed.row,
        column=column,
        count=None,
        source=f"partition {partition}",
    )
