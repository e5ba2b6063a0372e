"""Create the predictions of `calibrant demo`: boosted trees on the handwritten digits of scikit-learn.

Training, validation and test data are disjoint: validation data are for recalibration, test data for the evaluation.
`python examples/make_digits.py` writes the files; the same versions of NumPy and scikit-learn give identical files. `--out` sets another
folder.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier

FOLDER = Path(__file__).parent.parent / "src" / "calibrant" / "cli" / "data"
TRAIN, VALIDATION = 200, 698


def write(path: Path, labels: np.ndarray, probs: np.ndarray) -> None:
    """One row per image: the digit, and the probability of each."""
    with path.open("w", newline="", encoding="ascii") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(["label", *(f"p_{digit}" for digit in range(10))])
        for label, row in zip(labels, probs.astype(np.float32), strict=True):
            # Nine significant digits represent a float32 exactly.
            table.writerow([label, *(f"{value:.9g}" for value in row)])


def main() -> None:
    """Train, predict, write two files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder for the files; by default that of the package")
    out = parser.parse_args().out
    images, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(digits))
    train, validation, test = np.split(order, [TRAIN, TRAIN + VALIDATION])
    model = HistGradientBoostingClassifier(max_iter=200, min_samples_leaf=5, random_state=0)
    model.fit(images[train] / 16, digits[train])
    for name, rows in (("validation", validation), ("test", test)):
        probs = model.predict_proba(images[rows] / 16)
        write(out / f"digits_{name}.csv", digits[rows], probs)
        right = probs.argmax(axis=1) == digits[rows]
        print(f"{name}: {len(rows)} rows, accuracy {right.mean():.3f}, mean confidence {probs.max(axis=1).mean():.3f}")


if __name__ == "__main__":
    main()
