"""Six calibrators judged by six targets on real predictions, with what each costs in log loss, and the choice of `recalibrate` for each target."""

from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.recalibration.methods import find_method
from calibrant.recalibration.metric_targets import MetricTarget, TargetFit
from experiments.reproductions import practical_sets as sets
from experiments.reproductions.study import Part, Table

TARGETS = ("ece", "cwce", "gece", "vce", "ecd", "smece")
METHODS = ("temperature", "bias_corrected_temperature", "vector", "dirichlet", "isotonic", "histogram")
NONE, FITTED = "none", "temperature, fitted to smece"
SOURCES = (sets.LENET, sets.LLAMA8, sets.VGG, sets.MNIST)
Errors = dict[str, float]


def errors_of(held: sets.Rows, probs: Any) -> Errors:
    """Each target, and the log loss with probabilities of at least 1e-12; ECD as a distance from 0."""
    kept = np.maximum(probs, 1e-12)
    kept /= kept.sum(axis=1, keepdims=True)
    p = cal.Predictions(held.labels, kept)
    return {name: abs(float(cal.catalogue[name](p))) for name in TARGETS} | {"nll": float(cal.nll(p))}


def measure(source: sets.Source, data: Path, splits: int, rows: int) -> tuple[dict[str, Errors], list[list[Any]]]:
    """Means over splits of each error by calibrator, and what `recalibrate` chooses on the first half for each target."""
    whole = sets.read(data, source)
    runs: list[dict[str, Errors]] = []
    chosen: dict[str, list[str]] = {target: [] for target in ("nll", *TARGETS)}
    for seed in range(splits):
        fit, held = sets.split(whole, seed, rows)
        makers = {name: find_method(name)() for name in METHODS}
        makers[FITTED] = TargetFit(cal.TemperatureScaling(), MetricTarget(cal.smece, None))
        fitted = {name: one.fit(fit.probs, fit.labels).predict_proba(held.probs) for name, one in makers.items()}
        runs.append({name: errors_of(held, probs) for name, probs in ({NONE: held.probs} | fitted).items()})
        for target, names in chosen.items():
            names.append(cal.recalibrate(fit.labels, fit.probs, method=METHODS, loss=target, folds=3).method)
    means = {name: {key: float(np.mean([run[name][key] for run in runs])) for key in runs[0][NONE]} for name in runs[0]}
    choices: list[list[Any]] = []
    for target, names in chosen.items():
        changes = [
            [run[name][key] - run[NONE][key] for key in (target, "nll")] for run, name in zip(runs, names, strict=True)
        ]
        words = ", ".join(f"{name.replace('_', ' ')} ({names.count(name)})" for name in dict.fromkeys(names))
        choices.append([source.title, target, words, *np.mean(changes, axis=0).round(4).tolist()])
    return means, choices


def summary(found: list[dict[str, Errors]]) -> Table:
    """On how many sets each calibrator improves each target, and the mean change of the log loss."""
    lines = []
    for name in (*METHODS, FITTED):
        better = [sum(means[name][target] < means[NONE][target] for means in found) for target in TARGETS]
        cost = float(np.mean([means[name]["nll"] - means[NONE]["nll"] for means in found]))
        lines.append([name.replace("_", " "), *better, round(cost, 4)])
    return Table(["calibrator", *TARGETS, "mean change of nll"], lines)


def part(small: bool, data: Path) -> Part:
    """The summary, then each set."""
    splits, rows = (1, 150) if small else (2, 600)
    found = [measure(source, data, splits, rows) for source in (SOURCES[1:2] if small else SOURCES)]
    errors = [
        [source.title, name.replace("_", " "), *(round(value, 4) for value in means[name].values())]
        for source, (means, _) in zip(SOURCES, found, strict=False)
        for name in means
    ]
    tables = [
        summary([means for means, _ in found]),
        Table(["set", "calibrator", *TARGETS[:4], "ecd, size", "smece", "nll"], errors),
        Table(
            ["set", "target", "chosen (splits)", "change of the target", "change of nll"],
            [line for _, choices in found for line in choices],
        ),
    ]
    return Part("targets", tables=tables, values={"splits": splits, "rows": rows, "sets": len(found)})
