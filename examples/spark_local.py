"""Evaluate and recalibrate predictions in a Spark DataFrame, on a single machine.

The script starts Spark in local mode, creates a DataFrame of predictions in eight partitions, computes its sketches, checks that they are
identical to those of a single process, and applies a calibrator to the column. It needs `pip install '.[spark]'` in a clone and Java 17; otherwise it
prints a message and exits.

    python examples/spark_local.py
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import warnings

import numpy as np

import calibrant as cal


def missing() -> str | None:
    """The missing requirement of Spark, if any."""
    for package in ("pyspark", "pyarrow", "pandas"):
        if importlib.util.find_spec(package) is None:
            return f"{package} is not installed: pip install '.[spark]' in a clone"
    return None if shutil.which("java") or os.environ.get("JAVA_HOME") else "Java is not installed: install Java 17"


def session():
    """A quiet Spark session on two cores."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("calibrant example")
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}
    here = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.memory": "1g"}
    for name, value in {**quiet, **here, "spark.sql.shuffle.partitions": "2"}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main() -> None:
    """Sketch a DataFrame, compare with a single process, recalibrate the column."""
    lacks = missing()
    if lacks:
        print(f"SKIPPED: {lacks}")
        return
    import pyarrow as pa

    import calibrant.spark as cs

    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    warp = {"app": cal.inference.simulation.temperature(1.0), "web": cal.inference.simulation.temperature(1.8)}
    drawn = cal.inference.make_miscalibrated(20_000, warp=cal.inference.simulation.by_group(warp), rng=0)
    table = pa.table({"y": drawn.y_true, "p": drawn.y_prob, "channel": drawn.groups})

    spark = session()
    df = spark.createDataFrame(table).repartition(8)
    sketches = cs.sketch(df, label="y", prob="p", by="channel")
    alone = cal.Sketches.of(cal.Predictions(drawn.y_true, drawn.y_prob, groups=drawn.groups))
    print(f"{sketches.n:,} rows in 8 partitions; identical to a single process: {sketches == alone}")
    for channel in ("app", "web"):
        part = sketches.group(channel)
        print(f"  {channel}: ece {cal.ece(part):.3f}, p = {cal.assess(part).pvalue:.3f}")

    sample = df.where("channel = 'web'").select("y", "p").sample(0.5, seed=0).toArrow()
    calibrator = cal.PlattScaling().fit(np.asarray(sample["p"]), np.asarray(sample["y"]))
    better = cs.apply(calibrator, df.where("channel = 'web'").select("y", "p"), prob="p", out="calibrated")
    after = cs.sketch(better, label="y", prob="calibrated")
    print(f"  web after Platt scaling, applied on the cluster: ece {cal.ece(after):.3f}")
    spark.stop()


if __name__ == "__main__":
    main()
