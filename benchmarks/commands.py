"""What five commands cost that a user waits for, beside a plain read of their files; writes commands.json.

Each command runs twice in a process of its own; the second time is reported, when the caches of Python and of the charts library are filled, with
the processor time beside it, which a busy machine changes less.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np

HERE = Path(__file__).parent
COLUMNS = ("--label", "label", "--probs", "p_*")


class Task(NamedTuple):
    """A command, the files that it reads, the commands before it, and the seconds that it should take on two idle cores."""

    name: str
    command: tuple[str, ...]
    reads: tuple[str, ...]
    target: float
    before: tuple[tuple[str, ...], ...] = ()


TASKS = (
    Task("report of 10 000 binary rows", ("report", "binary.csv", "--out", "binary.html"), ("binary.csv",), 3),
    Task(
        "report of 100 000 x 10",
        ("report", "ten.parquet", *COLUMNS, "--out", "ten.html"),
        ("ten.parquet",),
        10,
    ),
    Task(
        "evaluate with intervals and tests, 10 000 binary rows",
        ("evaluate", "binary.csv", "--level", "0.95", "--assess"),
        ("binary.csv",),
        2,
    ),
    Task(
        "run on 5 000 x 100",
        ("run", "--validation", "validation.parquet", "--test", "test.parquet", *COLUMNS, "--out", "run"),
        ("validation.parquet", "test.parquet"),
        20,
    ),
    Task(
        "monitor update of 800 rows in 3 groups",
        ("monitor", "update", "monitor.db", "today.csv", "--time", "time", "--id", "id"),
        ("today.csv",),
        1,
        (
            ("monitor", "init", "monitor.db", "--reference", "reference.csv", "--every", "1d", "--by", "g"),
            ("monitor", "update", "monitor.db", "yesterday.csv", "--time", "time", "--id", "id"),
        ),
    ),
)


def make(folder: Path) -> None:
    """Write the files: overconfident predictions of two, ten and a hundred classes."""
    rng = np.random.default_rng(0)

    def binary(name: str, rows: int, power: float, more: dict[str, list[str]]) -> None:
        p = rng.beta(0.7, 2, rows)
        y = (rng.random(rows) < p**power).astype(int)
        lines = ["y_true,y_prob,g" + "".join(f",{key}" for key in more)]
        lines += [
            f"{y[i]},{p[i]:.6f},{'abc'[i % 3]}" + "".join(f",{values[i]}" for values in more.values())
            for i in range(rows)
        ]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def classes(name: str, rows: int, k: int) -> None:
        z = 1.8 * rng.normal(size=(rows, k))
        stated, true = (np.exp(z * scale) for scale in (1 / 1.5, 0.8))
        stated /= stated.sum(axis=1, keepdims=True)
        true /= true.sum(axis=1, keepdims=True)
        label = np.minimum((true.cumsum(axis=1) < rng.random((rows, 1))).sum(axis=1), k - 1)
        with duckdb.connect() as connection:
            connection.register("t", {"label": label} | {f"p_{j}": stated[:, j].copy() for j in range(k)})
            connection.execute(f"COPY t TO '{folder / name}' (FORMAT parquet)")

    binary("binary.csv", 10_000, 1.2, {})
    binary("reference.csv", 10_000, 1.0, {})
    for day, name in ((4, "yesterday.csv"), (5, "today.csv")):
        binary(name, 800, 1.0, {"time": [f"2026-03-0{day}"] * 800, "id": [f"{day}-{i}" for i in range(800)]})
    classes("ten.parquet", 100_000, 10)
    classes("validation.parquet", 5000, 100)
    classes("test.parquet", 5000, 100)


def timed(folder: Path, command: tuple[str, ...]) -> tuple[float, float]:
    """The seconds of a command in a process of its own, and its processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    line = [sys.executable, "-m", "calibrant", *command]
    # Bytecode is written, as it is for users, whatever this environment says.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def read_seconds(folder: Path, names: tuple[str, ...]) -> float:
    """The seconds of a plain read."""
    start = time.perf_counter()
    with duckdb.connect() as connection:
        for name in names:
            connection.execute(f"SELECT * FROM '{folder / name}'").fetchnumpy()
    return time.perf_counter() - start


def measured(folder: Path, task: Task) -> dict[str, float | str]:
    """The second of two runs of a task."""
    for _ in range(2):
        (folder / "monitor.db").unlink(missing_ok=True)
        for command in task.before:
            timed(folder, command)
        seconds, processor = timed(folder, task.command)
    found = {"seconds": seconds, "processor_seconds": processor, "read_seconds": read_seconds(folder, task.reads)}
    return {"task": task.name, **{key: round(value, 3) for key, value in found.items()}, "target": task.target}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of the name of a task")
    only = parser.parse_args().only
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder)
        for task in TASKS:
            if only in task.name:
                found = measured(folder, task)
                rows.append(found)
                print(
                    f"{task.name}: {found['seconds']} s ({found['processor_seconds']} s of processor time; target {task.target:g} s; "
                    f"plain read {found['read_seconds']} s)",
                    flush=True,
                )
    if not only:
        machine = f"{os.cpu_count()} cores of {platform.machine()}"
        content = {"date": date.today().isoformat(), "machine": machine, "tasks": rows}
        (HERE / "commands.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
