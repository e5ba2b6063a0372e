"""Sketches on Spark beside Spark's own GROUP BY, in local mode: ``python benchmarks/spark.py --rows 4000000``.

Figures are CPU seconds of all processes, Java and Python, called in turns after a first round: the fewest of several rounds, and their median.
The seconds of the tasks that Spark reports are those of Java's threads alone.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scale import make

# CPU seconds of each process when it was last seen, by its number and start.
SEEN: dict[tuple[int, str], float] = {}


def processes() -> float:
    """CPU seconds of this process and all that descend from it; what one that has ended did after the last call is lost."""
    parent, used = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has just ended
            parent[int(entry.name)] = int(fields[1])
            used[int(entry.name)] = fields[19], sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    own = {os.getpid()}
    while grown := {pid for pid, above in parent.items() if above in own} - own:
        own |= grown
    SEEN.update({(pid, used[pid][0]): used[pid][1] for pid in own if pid in used})
    return sum(SEEN.values())


def in_tasks(spark: Any) -> float:
    """CPU seconds of Java's threads in all tasks so far."""
    store = spark.sparkContext._jsc.sc().statusStore()
    empty = spark.sparkContext._gateway.new_array(spark.sparkContext._jvm.double, 0)
    stages = store.stageList(None, False, False, empty, None)
    return sum(stages.apply(place).executorCpuTime() for place in range(stages.size())) / 1e9


def main() -> None:
    """Measure and print."""
    from pyspark.sql import SparkSession

    import calibrant.spark

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "2g",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        make(path, chosen.rows)
        df = spark.read.parquet(str(path))
        plain = "CAST(floor(p * 19200) AS INT) AS cell", "y", "p"
        works: dict[str, Callable[[], Any]] = {
            "own GROUP BY": lambda: df.selectExpr(*plain).groupBy("cell", "y").agg({"*": "count", "p": "sum"}).toArrow()
        }
        df.createOrReplaceTempView("preds")
        query = calibrant.sketches.cells_query("preds", dialect="spark", prob="p", label="y")
        works["sql"] = lambda: calibrant.Sketches.from_cells(spark.sql(query).toArrow())
        for scores in (False, True):
            more = ", sums over rows" if scores else ""
            works["arrow" + more] = lambda scores=scores: calibrant.spark.sketch(df, label="y", prob="p", scores=scores)
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in works}
        for turn in range(chosen.rounds + 1):
            for name, work in works.items():
                clock, cores, tasks = time.perf_counter(), processes(), in_tasks(spark)
                work()
                if turn:
                    found[name].append((processes() - cores, in_tasks(spark) - tasks, time.perf_counter() - clock))
    spark.stop()
    print(f"{chosen.rows:,} rows{'':14}CPU s  median  times the GROUP BY  in tasks of Java  clock s")
    own = min(found["own GROUP BY"])[0]
    middle = statistics.median(each[0] for each in found["own GROUP BY"])
    for name, each in found.items():
        cores, tasks, clock = (min(column) for column in zip(*each, strict=True))
        median = statistics.median(one[0] for one in each)
        print(
            f"{name:24}{cores:9.2f} {median:7.2f} {cores / own:8.2f}; {median / middle:.2f} {tasks:18.2f} {clock:9.2f}"
        )


if __name__ == "__main__":
    main()
