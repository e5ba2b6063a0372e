"""A daily DAG: add the predictions and labels of yesterday, then fail if the monitor has an alarm."""

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowFailException

FOLDER = Path("/data/churn")  # predictions-DAY.parquet, labels-DAY.csv and churn.db


def calibrant(*words: str) -> None:
    """Run a command; a failed gate (1) or an alarm (3) fails the task at once, since another attempt would not change it."""
    done = subprocess.run(["calibrant", "monitor", *words], cwd=FOLDER, check=False)
    if done.returncode in (1, 3):
        raise AirflowFailException(
            f"calibrant monitor {words[0]}: {'an alarm' if done.returncode == 3 else 'a gate failed'}"
        )
    done.check_returncode()


@dag(
    schedule="30 6 * * *",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=True,
    max_active_runs=1,  # days are added in order
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5)},
)
def churn_monitor() -> None:
    """Yesterday's rows, then the status."""

    @task
    def predictions(day: str) -> None:
        calibrant("update", "churn.db", f"predictions-{day}.parquet", "--fail-on-alarm", "never")

    @task
    def labels(day: str) -> None:
        calibrant("labels", "churn.db", f"labels-{day}.csv", "--fail-on-alarm", "never")

    @task
    def status() -> None:
        calibrant("status", "churn.db")

    yesterday = "{{ macros.ds_add(ds, -1) }}"
    predictions(yesterday) >> labels(yesterday) >> status()


churn_monitor()
