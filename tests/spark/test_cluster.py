"""A standalone cluster: master and two workers as processes, a job by spark-submit, one worker killed; the same bits as in one process."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal

pyspark = pytest.importorskip("pyspark", reason="NO PYSPARK: pip install 'calibrant[spark]' to test on Spark")
pa = pytest.importorskip("pyarrow", reason="NO PYARROW: pip install 'calibrant[spark]' to test on Spark")
pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(
        not (shutil.which("java") or os.environ.get("JAVA_HOME")), reason="NO JAVA: install Java 17 to test on Spark"
    ),
]

SUBMIT = Path(pyspark.__file__).parent / "bin"
JOB = """
import sys, time
from pathlib import Path
from pyspark import TaskContext
from pyspark.sql import SparkSession
import calibrant.spark

folder = Path(sys.argv[1])
spark = SparkSession.builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
df = spark.read.parquet(str(folder / "rows"))

def slowly(batches):
    # Some tasks have ended before one of the workers is killed, and the rest wait for that.
    number = TaskContext.get().partitionId()
    (folder / f"started-{number}").touch()
    while number >= 2 and not (folder / "killed").exists():
        time.sleep(0.1)
    yield from batches

slow = df.repartition(8).mapInArrow(slowly, df.schema)
found = calibrant.spark.sketch(slow, label="y", prob="p", by="g")
found.write(folder / "found.sketch")
spark.stop()
"""


def launched(name: str, log: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """A process of Spark, the leader of a group of its own."""
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_MEMORY": "256m",
    }
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    with log.open("wb") as stream:
        return subprocess.Popen(
            [str(SUBMIT / name), *arguments],
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )


def until(found: Any, process: subprocess.Popen[bytes], log: Path, seconds: float = 900) -> Any:
    """Wait for progress; fail if the process ends first."""
    end = time.monotonic() + seconds
    while not (value := found()):
        assert process.poll() is None, log.read_text(errors="replace")[-3000:]
        assert time.monotonic() < end, log.read_text(errors="replace")[-3000:]
        time.sleep(0.1)
    return value


def ended(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and those that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a master on a free port of the loopback, and its two workers."""
    log, started = tmp_path / "master.log", []
    try:
        master = launched("spark-class", log, "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")  # fmt: skip
        started.append(master)
        address = until(
            lambda: re.search(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)", log.read_text()), master, log
        )[1]
        for number in range(2):
            worker = launched(
                "spark-class", tmp_path / f"worker{number}.log", "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--port", "0",
                "--webui-port", "0", "--cores", "1", "--memory", "700m", "--work-dir", str(tmp_path / f"work{number}"), address,
            )  # fmt: skip
            started.append(worker)
            until(
                lambda place=tmp_path / f"worker{number}.log": "Successfully registered" in place.read_text(),
                worker,
                log,
            )
        yield address, started[1:]
    finally:
        for process in started:
            ended(process)


def test_a_killed_worker_changes_no_bit(cluster: Any, tmp_path: Path) -> None:
    address, workers = cluster
    rng = np.random.default_rng(0)
    p = rng.beta(0.3, 0.3, 20_000)
    y, group = (rng.random(len(p)) < p).astype(np.int32), rng.choice(["a", "it's"], len(p))
    (tmp_path / "rows").mkdir()
    import pyarrow.parquet as pq

    for number, part in enumerate(np.array_split(np.arange(len(p)), 4)):
        pq.write_table(
            pa.table({"y": y[part], "p": p[part], "g": group[part].tolist()}), tmp_path / "rows" / f"{number}.parquet"
        )
    (tmp_path / "job.py").write_text(JOB)

    log = tmp_path / "job.log"
    job = launched(
        "spark-submit", log, "--master", address, "--executor-memory", "512m", "--executor-cores", "1",
        "--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=4",
        str(tmp_path / "job.py"), str(tmp_path),
    )  # fmt: skip
    try:
        # Two tasks have ended and further ones have begun, on both workers.
        until(lambda: len(list(tmp_path.glob("started-*"))) >= 4, job, log)
        ended(workers[0])
        (tmp_path / "killed").touch()
        assert job.wait(900) == 0, log.read_text(errors="replace")[-3000:]
    finally:
        ended(job)
    assert cal.Sketches.read(tmp_path / "found.sketch") == cal.Sketches.of(cal.Predictions(y, p, groups=group))
