"""Six calibrators judged by six targets on real predictions, with what each costs in log loss, and the choice of `recalibrate` for each target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.recalibration.methods import find_method
from experiments.reproductions import practical_sets as sets
from experiments.reproductions.study import Part, Table

TARGETS = ("ece", "cwce", "gece", "vce", "ecd", "smece")
METHODS = ("temperature", "bias_corrected_temperature", "vector", "dirichlet", "isotonic", "histogram")
SOURCES = (sets.LENET, sets.LLAMA8)


def errors_of(p: cal.Predictions) -> dict[str, float]:
    """Each target, and the log loss with probabilities of at least 1e-12; ECD as a distance from 0."""
    loss = float(-np.log(np.maximum(p.probs[np.arange(p.n), p.labels], 1e-12)).mean())
    kept = p.with_probs(np.maximum(p.probs, 1e-12) / np.maximum(p.probs, 1e-12).sum(axis=1, keepdims=True))
    return {name: abs(float(cal.catalogue[name](kept))) for name in TARGETS} | {"nll": loss}


def measure(source: sets.Source, data: Path, splits: int, rows: int) -> tuple[Table, Table]:
    """Means over splits of each target by calibrator; and which one `recalibrate` chooses on the first half for each target."""
    whole, found = sets.read(data, source), {name: [] for name in ("none", *METHODS)}  # type: ignore[var-annotated]
    chosen: dict[str, list[str]] = {target: [] for target in ("nll", *TARGETS)}
    gained: dict[str, list[tuple[float, float]]] = {target: [] for target in chosen}
    for seed in range(splits):
        fit, held = sets.split(whole, seed, rows)
        values = {"none": errors_of(cal.Predictions(held.labels, held.probs))}
        for name in METHODS:
            fitted = find_method(name)().fit(fit.probs, fit.labels)
            values[name] = errors_of(cal.Predictions(held.labels, fitted.predict_proba(held.probs)))
        for name, errors in values.items():
            found[name].append(errors)
        for target in chosen:
            best = cal.recalibrate(fit.labels, fit.probs, method=METHODS, loss=target, folds=3).method
            chosen[target].append(best)
            gained[target].append(
                (values[best][target] - values["none"][target], values[best]["nll"] - values["none"]["nll"])
            )
    lines = []
    for name, runs in found.items():
        means = {key: float(np.mean([run[key] for run in runs])) for key in (*TARGETS, "nll")}
        lines.append([name.replace("_", " "), *(round(value, 4) for value in means.values())])
    choices = []
    for target, names in chosen.items():
        counts = {name: names.count(name) for name in dict.fromkeys(names)}
        error, nll = np.mean(gained[target], axis=0)
        words = ", ".join(f"{name.replace('_', ' ')} ({count})" for name, count in counts.items())
        choices.append([target, words, round(float(error), 4), round(float(nll), 4)])
    heads = ["calibrator", *TARGETS[:4], "ecd, size", "smece", "nll"]
    return Table(heads, lines), Table(["target", "chosen (splits)", "change of the target", "change of nll"], choices)


def part(small: bool, data: Path) -> Part:
    """Both tables for each set."""
    splits, rows = (1, 150) if small else (2, 600)
    tables: list[Any] = [table for source in SOURCES for table in measure(source, data, splits, rows)]
    return Part(
        "targets",
        tables=tables,
        values={"splits": splits, "rows": rows, "sets": " and ".join(s.title for s in SOURCES)},
    )
