"""Sketches on Spark beside Spark's own GROUP BY, in local mode: ``python benchmarks/spark.py --rows 4000000``."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np


def seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """The shortest of some times."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Measure and print."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql import SparkSession

    import calibrant.spark

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    rows = parser.parse_args().rows
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
    )
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.memory", "2g")
    spark = builder.config("spark.log.level", "ERROR").getOrCreate()
    rng = np.random.default_rng(0)
    p = 1 / (1 + np.exp(6 * (0.5 - rng.random(rows))))
    with tempfile.TemporaryDirectory() as folder:
        table = pa.table({"y": (rng.random(rows) < p).astype(np.int8), "p": p})
        pq.write_table(table, f"{folder}/rows.parquet", row_group_size=rows // 8)
        df = spark.read.parquet(f"{folder}/rows.parquet")
        plain = "CAST(floor(p * 19200) AS INT) AS cell", "y", "p"
        own = seconds(lambda: df.selectExpr(*plain).groupBy("cell", "y").agg({"*": "count", "p": "sum"}).toArrow())
        print(f"{'own GROUP BY':28}{own:8.2f} s")
        for engine in ("sql", "arrow"):
            for scores in (False, True):

                def work(engine: Any = engine, scores: bool = scores) -> None:
                    calibrant.spark.sketch(df, label="y", prob="p", engine=engine, scores=scores)

                found = seconds(work)
                print(
                    f"{engine + (', sums over rows' if scores else ''):28}{found:8.2f} s, {found / own:.1f} times the GROUP BY"
                )
    spark.stop()


if __name__ == "__main__":
    main()
