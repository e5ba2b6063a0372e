"""What a report of a million rows of ten classes costs, beside a plain read of the same Parquet file; writes report.json."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import duckdb
import numpy as np

import calibrant as cal
from calibrant.inference import simulation as simulate

HERE = Path(__file__).parent


def make(path: Path, rows: int, classes: int) -> None:
    """Overconfident predictions as float32 columns, with a label and a group."""
    found = cal.inference.make_miscalibrated(rows, warp=simulate.temperature(1.5), distribution=(1.0,) * classes, rng=0)
    columns = {f"p_{k}": np.ascontiguousarray(found.y_prob[:, k], np.float32) for k in range(classes)}
    columns["y"] = found.y_true
    columns["region"] = np.random.default_rng(0).integers(0, 20, rows)
    with duckdb.connect() as connection:
        connection.register("t", columns)
        connection.execute(f"COPY t TO '{path}' (FORMAT parquet)")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=10)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        make(path, chosen.rows, chosen.classes)
        with duckdb.connect() as connection:
            start = time.perf_counter()
            connection.execute(f"SELECT * FROM read_parquet('{path}')").fetchnumpy()
            read = time.perf_counter() - start
        code = (
            "import resource, sys\nfrom calibrant.cli import main\ntry:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
        )
        out = Path(folder) / "report.html"
        command = ["report", str(path), "--label", "y", "--probs", "p_*", "--by", "region", "--out", str(out)]
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - start
        found = {
            "rows": chosen.rows,
            "classes": chosen.classes,
            "date": date.today().isoformat(),
            "machine": f"{os.cpu_count()} cores of {platform.machine()}",
            "read_seconds": round(read, 3),
            "report_seconds": round(seconds, 1),
            "peak_mb": round(float(done.stdout.split()[-1])),
            "page_mb": round(out.stat().st_size / 1e6, 2),
        }
    (HERE / "report.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(
        f"report of {chosen.rows:,} x {chosen.classes} with 20 groups: {seconds:.1f} s ({seconds / read:.0f} times a plain read of the "
        f"file, {read:.2f} s), {found['peak_mb']} MB at most, a page of {found['page_mb']} MB"
    )


if __name__ == "__main__":
    main()
