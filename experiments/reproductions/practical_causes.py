"""How the accuracy after a bias-corrected temperature depends on the rows of the fit, which the paper does not state."""

from pathlib import Path

import numpy as np

import calibrant as cal
from experiments.reproductions.practical_sets import C100, read, split
from experiments.reproductions.practical_values import TEXTS, fill
from experiments.reproductions.study import Part, Table

FIT_ROWS = (500, 1000, 2000, 5000)
SPLITS = 5


def bias_by_rows(data: Path, numbers: tuple[int, ...], splits: int) -> dict[int, list[float]]:
    """Change of the accuracy on CIFAR-100, for each number of rows of the fit and each split."""
    rows = read(data, C100)
    found: dict[int, list[float]] = {number: [] for number in numbers}
    for seed in range(splits):
        fit, held = split(rows, seed)
        raw = held.probs.argmax(axis=1) == held.labels
        for number in numbers:
            part = fit.take(np.arange(number))
            fitted = cal.BiasCorrectedTemperature().fit(part.probs, part.labels)
            right = fitted.predict_proba(held.probs).argmax(axis=1) == held.labels
            found[number].append(float(right.mean() - raw.mean()))
    return found


def causes_part(bias: dict[int, list[float]]) -> Part:
    """The change of the accuracy by the number of rows."""
    heads = ("bias-corrected temperature, CIFAR-100: rows of the fit", "accuracy, less as trained", "± over splits")
    changes = [
        [number, float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None]
        for number, values in bias.items()
    ]
    means = {number: float(np.mean(values)) for number, values in bias.items()}
    return Part(
        "causes", tables=[Table(heads, changes)], values={"bias": fill(TEXTS["causes"]["bias"], {"bias": means})}
    )
