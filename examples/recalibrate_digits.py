"""Recalibrate the packaged predictions: select a calibrator on the validation data, evaluate it on the test data.

The same from the command line: `calibrant run --validation digits_validation.csv --test digits_test.csv --out report`.
"""

from __future__ import annotations

from importlib.resources import as_file, files

import numpy as np

import calibrant as cal

METRICS = ["nll", "brier", "ece"]


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities of one of the packaged files."""
    with as_file(files("calibrant") / "cli" / "data" / name) as path:
        table = np.loadtxt(path, delimiter=",", skiprows=1)
    return table[:, 0].astype(int), table[:, 1:]


def main() -> None:
    """Fit, evaluate before and after, and test the difference."""
    found = cal.recalibrate(*read("digits_validation.csv"))
    print(found, end="\n\n")
    labels, probs = read("digits_test.csv")
    print("before:", cal.evaluate(labels, probs, metrics=METRICS), sep="\n", end="\n\n")
    print("after:", cal.evaluate(labels, probs, metrics=METRICS, calibrator=found.calibrator), sep="\n", end="\n\n")
    models = {"after": found.predict_proba(probs), "before": probs}
    print(cal.compare(labels, models, metric="nll", rng=0))


if __name__ == "__main__":
    main()
