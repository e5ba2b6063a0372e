"""PySpark's daemon with the imports of a task: the processes that it forks share them, where each would import them anew."""

import pandas  # noqa: F401
import pyarrow  # noqa: F401
from pyspark.daemon import manager

import calibrant.spark.executors  # noqa: F401

if __name__ == "__main__":
    manager()
