"""Every metric of the catalogue on 100 000 rows of 10 classes, as a ratio to the stable argsort of the ten columns.

Run it with `python benchmarks/catalogue.py`; metrics that need groups or features are listed with their own times.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import calibrant as cal
from cases import make_data

ROWS, CLASSES = 100_000, 10


def seconds(call: Callable[[], object], times: int = 3) -> float:
    """Best of several."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken)


def main() -> None:
    """Print the table."""
    labels, probs = make_data(ROWS, CLASSES)
    rng = np.random.default_rng(1)
    extras = {"groups": rng.integers(0, 20, ROWS), "features": rng.normal(size=(ROWS, 3))}
    sort = seconds(lambda: [np.argsort(probs[:, k], kind="stable") for k in range(CLASSES)])
    print(f"stable argsort of {CLASSES} columns of {ROWS:,} rows: {1000 * sort:.0f} ms")
    own = [m for m in cal.catalogue.values() if set(m.needs) <= {"labels"}]
    together = seconds(lambda: cal.evaluate(labels, probs, metrics=own, budget=1e9), 2)
    print(
        f"all {len(own)} metrics that need labels and probabilities, together: {1000 * together:.0f} ms, {together / sort:.1f} argsorts"
    )
    rows = []
    for metric in cal.catalogue.values():
        words = {need: extras[need] for need in metric.needs if need in extras}
        rows.append((seconds(lambda m=metric, w=words: m(labels, probs, **w), 2), metric))
    for taken, metric in sorted(rows, key=lambda row: -row[0]):
        need = f"  (needs {', '.join(metric.needs)})" if set(metric.needs) - {"labels"} else ""
        print(f"{metric.id:<26} {1000 * taken:8.1f} ms  {taken / sort:6.2f} argsorts{need}")
    for how in ("cv", "tcal", "sweep", "search"):
        taken = seconds(lambda h=how: cal.ece(labels, probs, bins=h, binning="equal_mass"), 1)
        print(f"ece(bins={how!r}){'':<12} {1000 * taken:8.1f} ms  {taken / sort:6.2f} argsorts")


if __name__ == "__main__":
    main()
