"""Evaluate Parquet files without loading them into memory, one file per day.

The script writes two days of predictions, scans each file once in bounded memory into sketches of some hundred kilobytes, merges these,
and evaluates the result: the calibration error, its significance, and the regions that are miscalibrated. It needs DuckDB only.

    python examples/large_parquet.py --out . --rows 3000000
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path

import duckdb

import calibrant as cal

REGIONS = ["north", "east", "south", "west"]


def write_day(path: Path, rows: int, seed: float) -> None:
    """Predictions of one day, simulated in DuckDB; in the west the event rate is lower than predicted."""
    one_thread = duckdb.connect(config={"threads": 1})  # so that the seed is reproducible
    one_thread.execute(f"select setseed({seed})")
    one_thread.execute(f"""
        copy (
            select p::float as p, region, (random() < case region when 'west' then p * 0.9 else p end)::int as y
            from (select random() ** 2 as p, {REGIONS}[1 + floor(random() * 4)::int] as region from range({rows}))
        ) to '{path}' (format parquet)
    """)


def main() -> None:
    """Write, scan, merge, evaluate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the files")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of each day")
    asked = parser.parse_args()

    days = []
    for day, seed in (("monday", 0.25), ("tuesday", 0.5)):
        path = asked.out / f"{day}.parquet"
        write_day(path, asked.rows, seed)
        begun = time.perf_counter()
        days.append(cal.scan(path, label="y", prob="p", by="region"))
        seconds, size = time.perf_counter() - begun, len(days[-1].to_bytes())
        print(
            f"{path.name}: {asked.rows:,} rows in {path.stat().st_size / 1e6:.1f} MB, scanned in {seconds:.1f} s",
            end=" ",
        )
        print(f"into a sketch of {size / 1e6:.2f} MB")

    both = days[0] + days[1]  # identical to a scan of both files
    both.write(asked.out / "days.sketch")
    print(f"\n{both.n:,} rows: ece {cal.ece(both):.5f}, brier {cal.brier(both):.5f}")
    print(cal.assess(both).verdict, end="\n\n")

    found = cal.evaluate(both, metrics=["calibration_in_the_large"])
    print("region       rows  predicted observed  p-value, adjusted for four regions")
    for region in REGIONS:
        part, gap = found.groups[region], found.groups[region]["calibration_in_the_large"]
        pvalue = min(4 * cal.assess(both.group(region), metric="calibration_in_the_large").pvalue, 1)
        rate = part.header.prevalence[1]
        print(f"{region:<6} {part.header.n:>10,}    {rate + gap:.4f}   {rate:.4f}  ", end="")
        print(f"{pvalue:.2f}" if pvalue > 0.01 else "below 0.01")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e3 if sys.platform == "linux" else 1e6)
    print(f"\npeak memory {peak:,.0f} MB; days.sketch can be read with cal.Sketches.read and calibrant evaluate")


if __name__ == "__main__":
    main()
