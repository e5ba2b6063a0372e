"""Experiments on what differs from the paper: the bins of histograms, the rows that maps are fitted to, and the entropy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from experiments.reproductions.practical_sets import C100, SOURCES, Floats, Source, read, split
from experiments.reproductions.practical_values import TEXTS, fill
from experiments.reproductions.study import Part, Table

FIT_ROWS = (500, 1000, 2000, 5000)
BINS = (10, 40, 100, 300)
SPLITS = 5


def entropy(probs: Floats) -> float:
    """Mean entropy of the rows, in nats."""
    terms = np.where(probs > 0, probs * np.log(np.where(probs > 0, probs, 1)), 0)
    return float(-terms.sum(axis=1).mean())


def measure_causes(data: Path, small: bool) -> dict[str, Any]:
    """Accuracy of bias-corrected temperatures by the rows of the fit, and entropies of histograms of equal mass by their bins."""
    splits = 1 if small else SPLITS
    return {
        "bias": bias_by_rows(data, FIT_ROWS[:2] if small else FIT_ROWS, splits),
        "entropy": {source.title: entropies(data, source, splits) for source in (SOURCES[:1] if small else SOURCES)},
    }


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


def entropies(data: Path, source: Source, splits: int) -> dict[str, float]:
    """The fitted temperature; mean entropy as trained, with the temperature, and by histograms of equal mass."""
    rows, found = read(data, source), {"T": 0.0}
    for seed in range(splits):
        fit, held = split(rows, seed)
        scaling = cal.TemperatureScaling().fit(fit.probs, fit.labels)
        found["T"] += scaling.temperature_ / splits
        models = {"as trained": held.probs, "temperature": scaling.predict_proba(held.probs)}
        for bins in BINS:
            fitted = cal.HistogramBinning(bins=bins, binning="equal_mass").fit(fit.probs, fit.labels)
            models[f"{bins} bins"] = fitted.predict_proba(held.probs)
        for name, probs in models.items():
            found[name] = found.get(name, 0.0) + entropy(probs) / splits
    return found


def causes_part(causes: dict[str, Any]) -> Part:
    """What was tried to explain the differences."""
    found = causes["entropy"]
    finest = f"{BINS[2]} bins"
    below_temperature = sum(one[finest] < one["temperature"] for one in found.values())
    below_raw = [title for title, one in found.items() if one[finest] < one["as trained"]]
    others = [one for title, one in found.items() if title not in below_raw]
    names = {
        "coolest": max((found[title]["T"] for title in below_raw), default=None),
        "warmest": min((one["T"] for one in others), default=None),
        "steady": all(one[f"{bins} bins"] > one["as trained"] for one in others for bins in BINS),
        "bins": BINS,
        "bias": {number: float(np.mean(values)) for number, values in causes["bias"].items()},
    }
    reason = fill(TEXTS["causes"]["reason"], names)
    heads = ("bias-corrected temperature, CIFAR-100: rows of the fit", "accuracy, less as trained", "± over splits")
    changes = [
        [number, float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None]
        for number, values in causes["bias"].items()
    ]
    lines = [[title, *(round(value, 4) for value in one.values())] for title, one in found.items()]
    tables = [Table(heads, changes), Table(("mean entropy", *next(iter(found.values()))), lines)]
    return Part(
        "causes",
        tables=tables,
        values={
            "bias": fill(TEXTS["causes"]["bias"], names),
            "bins": BINS[2],
            "below_temperature": below_temperature,
            "sets": len(found),
            "below_raw": f"{len(below_raw)} ({'; '.join(below_raw)})",
            "reason": f" {reason}" if reason else "",
        },
    )
