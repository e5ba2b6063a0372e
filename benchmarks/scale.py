"""What a row costs: sketches from memory and from Parquet beside DuckDB's own scan, with memory, and what 1e12 rows a day come to.

``python benchmarks/scale.py`` makes 1e8 rows (about 1 GB) in a temporary folder, measures, and writes scale.json and the figures of
docs/scale.md; ``--rows`` makes fewer. ``python benchmarks/scale.py --ratio`` makes 4e7 rows with groups and prints only how a scan compares with
``count(*), sum(p)`` of DuckDB on the same file and with the scan without groups, in seconds of cores (user and system), which a busy machine
changes less than those of a clock; it exits with 1 beyond 8 times and, for 25 groups, twice.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "scale.md"
ROWS_A_DAY, GROUPS = 1e12, 1000


def make(path: Path, rows: int) -> None:
    """Scores that crowd at both ends, and labels drawn from them, as doubles and bytes."""
    with duckdb.connect() as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute(
            "COPY (SELECT p, CAST(random() < p AS TINYINT) AS y FROM (SELECT 1 / (1 + exp(6 * (0.5 - random()))) AS p "
            f"FROM range({rows}))) TO '{path}' (FORMAT parquet)"
        )


def make_grouped(path: Path, rows: int) -> None:
    """The same with a column of 25 and one of 1,000 names."""
    with duckdb.connect() as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute(
            "COPY (SELECT p, CAST(random() < p AS TINYINT) AS y, 'region ' || CAST(floor(random() * 25) AS INTEGER) AS g25, "
            "'branch-' || CAST(floor(random() * 1000) AS INTEGER) AS g1000 "
            f"FROM (SELECT 1 / (1 + exp(6 * (0.5 - random()))) AS p FROM range({rows}))) TO '{path}' (FORMAT parquet)"
        )


MOST_TIMES, MOST_GROUPED = 8, 2


def ratio(path: Path) -> dict[str, float]:
    """Core seconds and clock seconds of scans after a first one, beside DuckDB's count and sum."""
    import resource

    import calibrant as cal
    from calibrant.util import kernels

    kernels.MIN_ENTRIES = 0

    def measured(work: Callable[[], Any]) -> tuple[float, float]:
        found = []
        for _ in range(3):
            start, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
            work()
            now = resource.getrusage(resource.RUSAGE_SELF)
            cores = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
            found.append((cores, time.perf_counter() - start))
        return min(cores for cores, _ in found[1:]), min(clock for _, clock in found[1:])

    def plain() -> None:
        with duckdb.connect() as connection:
            connection.execute(f"SELECT count(*), sum(p) FROM read_parquet('{path}')").fetchall()

    works: dict[str, Callable[[], Any]] = {"count(*), sum(p)": plain}
    for name, keywords in {
        "sketch": {"scores": False},
        "scan": {},
        "scan, 25 groups": {"by": "g25"},
        "scan, 1,000 groups": {"by": "g1000"},
    }.items():
        works[name] = lambda keywords=keywords: cal.scan(path, label="y", prob="p", **keywords)  # type: ignore[misc]
    found = {name: measured(work) for name, work in works.items()}
    print(f"{'':20} core s  clock s  times count and sum  times the scan   (cores; clock)")
    for name, (cores, clock) in found.items():
        (own, own_clock), (whole, whole_clock) = found["count(*), sum(p)"], found["scan"]
        print(
            f"{name:20} {cores:6.2f}  {clock:7.2f}  {cores / own:8.1f}; {clock / own_clock:.1f}  {cores / whole:12.2f}; {clock / whole_clock:.2f}"
        )
    return {name: cores for name, (cores, _) in found.items()}


def best(work: Callable[[], Any], repeats: int = 3) -> float:
    """The shortest of some times."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def plain_scan(path: Path) -> None:
    """What DuckDB takes to read the same columns."""
    with duckdb.connect() as connection:
        connection.execute(f"SELECT sum(p), sum(y) FROM read_parquet('{path}')").fetchall()


def in_child(path: Path, words: str) -> tuple[float, float, float]:
    """Seconds of a scan in a process of its own, peak memory (MB), and seconds of the first scan, which loads libraries and code."""
    code = (
        "import resource, sys, time\nimport calibrant as cal\nfrom calibrant.util import kernels as _kernels\n_kernels.MIN_ENTRIES = 0\n"
        "times = []\nfor _ in range(3):\n    start = time.perf_counter()\n"
        f"    cal.scan({str(path)!r}, label='y', prob='p', {words})\n    times.append(time.perf_counter() - start)\n"
        "print(min(times[1:]), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, times[0])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, memory, first = done.stdout.split()
    return float(seconds), float(memory), float(first)


def from_memory(rows: int) -> dict[str, float]:
    """Sketch and all score metrics of the recommended set, beside the exact ECE of the same arrays."""
    import calibrant as cal

    rng = np.random.default_rng(0)
    p = rng.random(rows)
    y = (rng.random(rows) < p).astype(np.int64)
    scored = [
        m for m in cal.catalogue.values() if m.info.recommended and m.takes == "View" and m.sketch and m.lens == "auto"
    ]
    cal.ece(y, p)
    cal.Sketch.of(y, p)

    def sketched() -> None:
        sketch = cal.Sketch.of(y, p)
        for metric in scored:
            metric(sketch)

    return {
        "rows": rows,
        "ece": best(lambda: cal.ece(y, p)),
        "sketch": best(lambda: cal.Sketch.of(y, p)),
        "sketch_and_metrics": best(sketched),
        "metrics": len(scored),
    }


def page(found: dict[str, Any]) -> str:
    """The figures as text."""
    scan, sketch = found["scan"], found["files"]
    lines = [
        f"{found['rows']:,} rows of Parquet ({found['bytes'] / 1e9:.2f} GB), {found['machine']}, {found['date']}; DuckDB's own scan "
        f"(`sum` of both columns) takes {scan:.2f} s.",
        "",
        "| | seconds | times the scan | rows a second | peak memory | first in a process |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, (seconds, memory, first) in sketch.items():
        rate = f"{found['rows'] / seconds / 1e6:.0f} million"
        lines.append(f"| {name} | {seconds:.2f} | {seconds / scan:.1f} | {rate} | {memory:.0f} MB | {first:.2f} s |")
    inside = found["memory"]
    lines += [
        "",
        f"In memory, {inside['rows']:,} rows of two classes: the exact ECE with equal-width bins takes {inside['ece'] * 1e3:.0f} ms, a sketch "
        f"{inside['sketch'] * 1e3:.0f} ms, a sketch and all {inside['metrics']} score metrics of the recommended set "
        f"{inside['sketch_and_metrics'] * 1e3:.0f} ms ({inside['sketch_and_metrics'] / inside['ece']:.1f} times the ECE).",
        "",
    ]
    seconds = sketch[f"the same for {GROUPS:,} groups"][0]
    cores = found["cores"]
    per_row = seconds * cores / found["rows"]
    hours = per_row * ROWS_A_DAY / 3600
    size = found["sketch_bytes"]
    lines += [
        f"**1e12 rows a day over {GROUPS:,} groups.** At {per_row * 1e9:.0f} ns of a core a row, pauses included (sketch and sums of 1,000 groups) that is {hours:,.0f} core "
        f"hours, or {hours / 24:.1f} cores all day. A full sketch has {size / 1e3:,.0f} kB: {GROUPS:,} groups take "
        f"{size * GROUPS / 1e6:,.0f} MB in bytes and about {19576 * 40 * GROUPS / 1e9:.1f} GB in memory on the machine that merges them, and a "
        f"year of days {size * GROUPS * 365 / 1e9:,.0f} GB. Each of 1 000 tasks sends at most {size * GROUPS / 1e6:,.0f} MB over the network, "
        "less where it saw few groups. The first scan of a process also loads libraries and compiled code.",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure and write."""
    import calibrant as cal

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=40_000_000)
    parser.add_argument("--ratio", action="store_true", help="compare with DuckDB's count and sum only, on 4e7 rows")
    chosen = parser.parse_args()
    if chosen.ratio:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "grouped.parquet"
            make_grouped(path, min(chosen.rows, 40_000_000))
            cores = ratio(path)
        times, grouped = cores["scan"] / cores["count(*), sum(p)"], cores["scan, 25 groups"] / cores["scan"]
        sys.exit(int(times > MOST_TIMES or grouped > MOST_GROUPED))
    found: dict[str, Any] = {"rows": chosen.rows, "date": date.today().isoformat()}
    found["machine"] = f"{platform.machine()}, 2 cores"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        make(path, chosen.rows)
        found["bytes"] = path.stat().st_size
        import os

        found["cores"] = os.cpu_count()
        found["machine"] = f"{found['cores']} cores of {platform.machine()}"
        found["scan"] = best(lambda: plain_scan(path))
        found["files"] = {
            "sketch, Arrow": in_child(path, "scores=False"),
            "sketch and sums over rows, Arrow": in_child(path, "scores=True"),
        }
        grouped = Path(folder) / "grouped.parquet"
        make_grouped(grouped, chosen.rows)
        for count in (25, 1000):
            found["files"][f"the same for {count:,} groups"] = in_child(grouped, f"scores=True, by='g{count}'")
        found["sketch_bytes"] = len(cal.scan(path, label="y", prob="p", where="random() < 0.02").to_bytes())
    found["memory"] = from_memory(10_000_000)
    (HERE / "scale.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    body = f"<!-- scale:begin -->\n{page(found)}\n<!-- scale:end -->"
    PAGE.write_text(
        re.sub(r"<!-- scale:begin -->.*<!-- scale:end -->", lambda _: body, text, flags=re.S), encoding="utf-8"
    )
    print(page(found))


if __name__ == "__main__":
    main()
