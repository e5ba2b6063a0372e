"""Monitor a fraud model from day to day, with labels that arrive four days late.

For two weeks the model is calibrated. Then fraud becomes more frequent than predicted, while the distribution of the scores does not change: only
labels can reveal it, not a monitor of inputs or scores. The script simulates the days until the monitor raises an alarm, and compares the
estimated onset and the daily deviation of predicted from observed rates with the truth.

    python examples/daily_monitor.py --out .
"""

from __future__ import annotations

import argparse
from datetime import date, timedelta
from pathlib import Path

import numpy as np

import calibrant as cal

FIRST, DAYS, A_DAY = date(2026, 3, 2), 40, 400
DRIFT, LATE = 14, 4  # day of the change; delay of the labels in days


def day(number: int) -> str:
    """The date of a day, numbered from 0."""
    return str(FIRST + timedelta(days=number))


def transactions(n: int, shift: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Scores, and outcomes whose log-odds exceed those of the scores by a shift."""
    score = rng.beta(1.5, 8, n)
    return score, (rng.random(n) < 1 / (1 + (1 - score) / score * np.exp(-shift))).astype(int)


def main() -> None:
    """Simulate the days: new predictions, and the labels of four days ago."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(), help="folder for daily_monitor.db")
    out = parser.parse_args().out
    store = out / "daily_monitor.db"
    for old in out.glob(f"{store.name}*"):  # from an earlier run of this example
        old.unlink()

    rng = np.random.default_rng(0)
    score, fraud = transactions(5000, 0.0, rng)
    monitor = cal.Monitor.create(store, reference=(fraud, score), every="1d", n_resamples=199)
    waiting: dict[int, tuple[list[str], np.ndarray]] = {}

    for today in range(DAYS):
        score, fraud = transactions(A_DAY, 0.0 if today < DRIFT else 0.5, rng)
        ids = [f"{today}-{row}" for row in range(A_DAY)]
        answers = [monitor.update(None, score, when=day(today), ids=ids)]
        waiting[today] = (ids, fraud)
        if today >= LATE:
            answers.append(monitor.add_labels(*waiting.pop(today - LATE), now=day(today)))
        raised = [alarm for answer in answers for alarm in answer.alarms]
        for alarm in raised:
            print(f"{day(today)} (day {today}), alarm about {alarm.kind}:\n  {alarm.words}")
        if any(alarm.kind == "change" for alarm in raised):
            break

    status = monitor.status()
    print(f"\nfraud changed on {day(DRIFT)} (day {DRIFT}); labels are {LATE} days late")
    print(f"{status.n:,} predictions in {status.total_windows} windows, {status.labelled:,} of them labelled\n")
    print("window      labels  predicted - observed")
    for window in status.windows[DRIFT - 3 : DRIFT + LATE]:
        gap = None if window.calibration is None else window.calibration.gap
        print(f"{window.window}  {window.labelled:>5}", "" if gap is None else f"  {gap:+.3f}")
    print(f"\nreport: calibrant monitor report {store}")


if __name__ == "__main__":
    main()
