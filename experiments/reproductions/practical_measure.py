"""Every error of one model on the rows that are measured, and the same errors where labels are drawn from the "
"probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import entr

import calibrant as cal
from calibrant.figures.classgroups import group_error_diagram
from calibrant.figures.groupconfidence import group_confidence_diagram
from calibrant.figures.intervals import inside
from calibrant.figures.topk import topk_diagram
from calibrant.util.arrays import Floats
from experiments.reproductions import practical_sets as sets
from experiments.studies import draw_labels

GAMMA = 0.1
THREE = ((0.0, 0.33), (0.33, 0.66), (0.66, 1.0))
ALERT = ((0.0, 0.8), (0.9, 1.0))
"""Low, medium and high; and the two intervals of an alert: not very sure, very sure."""
WORDS = ("low", "medium", "high", "0 to 0.8", "0.9 to 1")
LEAST = 25
"""Rows in a bin of an interval, which has ten bins where there are enough."""
GIVEN = {sets.C100.file: "reptiles"}
"""The group whose rows' confidence is followed."""


def measure_set(data: Path, source: sets.Source, small: bool) -> dict[str, Any]:
    """All numbers of a set: for each model a list with an entry for each split."""
    rows = sets.read(data, source)
    measured: dict[str, list[dict[str, Any]]] = {}
    fitted = []
    grid: dict[str, list[dict[str, Any]]] = {}
    for seed in range(2 if small else 5):
        fit, held = sets.split(rows, seed, 1000 if small else None)
        models, about = sets.models_of(fit, held, small)
        fitted.append(about)
        for name, probs in models.items():
            p = cal.Predictions(held.labels, probs)
            measured.setdefault(name, []).append(measure(p, held, source, draws=1 if small else 3, seed=seed))
        if source is sets.C100:
            for name, probs in sets.histograms_of(fit, held).items():
                grid.setdefault(name, []).append(measure_histogram(held, probs, source))
    return {"measured": measured, "fitted": fitted, "rows": len(held.labels), "grid": {"measured": grid}}


def measure_histogram(held: sets.Rows, probs: Floats, source: sets.Source) -> dict[str, Any]:
    """What the choice of bins moves; the keys are those of `measure`."""
    p = cal.Predictions(held.labels, probs)
    shown = topk_diagram(p, k=source.k, metric="ece", lens="within_top")["model"]
    found = {"accuracy": shown.accuracy[0], "entropy": entropy_of(p), "rank_confidence": shown.rank_confidence.tolist()}
    apart, tree = sets.untied(p), {"binning": cal.KDTree(gamma=GAMMA)}
    return found | {
        "ece": [cal.ece(apart, lens="top_label")],
        "full": [cal.gece(apart, lens="canonical", **tree)],
        "top_k": topk_diagram(apart, k=source.k, metric="gece", **tree)["model"].error.tolist(),
    }


def entropy_of(p: cal.Predictions) -> float:
    """Mean entropy of the predictions, in nats."""
    return float(entr(p.probs).sum(axis=1).mean())


def measure(p: cal.Predictions, held: sets.Rows, source: sets.Source, *, draws: int, seed: int) -> dict[str, Any]:
    """All numbers of one model on one half."""
    apart = sets.untied(p)
    shown = topk_diagram(p, k=source.k, metric="ece", lens="within_top")["model"]
    found: dict[str, Any] = {
        "accuracy": shown.accuracy[0],
        "confidence": shown.confidence[0],
        "entropy": entropy_of(p),
        "nll": cal.nll(p),
        "brier": cal.brier(p),
        "top_k_accuracy": shown.accuracy.tolist(),
        "top_k_confidence": shown.confidence.tolist(),
        "rank_confidence": shown.rank_confidence.tolist(),
        "rank_rate": shown.rank_rate.tolist(),
        **errors(apart, source),
        "chance": by_chance(apart, source, draws, seed),
        "intervals": by_interval(p, source, draws, seed),
    }
    if source.levels:
        given = GIVEN.get(source.file, "animals")
        where = group_confidence_diagram(p, hierarchy=source.hierarchy, depth=len(source.levels), given=given)
        found["group_confidence"] = where.confidence[0].tolist()
    return found


def errors(apart: cal.Predictions, source: sets.Source) -> dict[str, list[float]]:
    """Every error that chance adds to, each as a list."""
    tree: dict[str, Any] = {"binning": cal.KDTree(gamma=GAMMA)}
    mass: dict[str, Any] = {"metric": "ece", "binning": "equal_mass", "bins": 15}
    found = {
        "ece": [cal.ece(apart, lens="top_label")],
        "full": [cal.gece(apart, lens="canonical", **tree)],
        "top_k": topk_diagram(apart, k=source.k, metric="gece", **tree)["model"].error.tolist(),
        "within": topk_diagram(apart, k=source.k, lens="within_top", **mass)["model"].error.tolist(),
        "rank": topk_diagram(apart, k=source.k, lens="rank", **mass)["model"].error.tolist(),
    }
    if source.levels:
        options = {"depth": len(source.levels), "rows": "label", **tree}
        shown = group_error_diagram(apart, hierarchy=source.hierarchy, **options)
        found["levels"] = shown.level_errors["model"].tolist()
        found["groups"] = shown.group_errors["model"].tolist()
    return found


def by_chance(apart: cal.Predictions, source: sets.Source, draws: int, seed: int) -> dict[str, list[float]]:
    """Mean errors of the same probabilities when labels are drawn from them: none of it is miscalibration."""
    rng = np.random.default_rng(seed)
    probs = np.asarray(apart.probs, dtype=np.float64)
    found = [errors(cal.Predictions(draw_labels(probs, rng), probs), source) for _ in range(draws)]
    return {key: np.mean([one[key] for one in found], axis=0).tolist() for key in found[0]}


def question(p: cal.Predictions, source: sets.Source) -> tuple[Any, Floats]:
    """Whether the class lies in the group of the source, or whether the likeliest class is right; outcomes and "
    "probabilities."""
    probs = np.asarray(p.probs, dtype=np.float64)
    labels = np.asarray(p.labels)
    if not source.group:
        return (probs.argmax(axis=1) == labels).astype(int), np.clip(probs.max(axis=1), 0, 1)
    classes = leaves(source.hierarchy[source.group])
    return np.isin(labels, classes).astype(int), np.clip(probs[:, classes].sum(axis=1), 0, 1)


def leaves(node: Any) -> list[int]:
    """All classes below a group."""
    return [one for child in node.values() for one in leaves(child)] if isinstance(node, dict) else list(node)


def by_interval(p: cal.Predictions, source: sets.Source, draws: int, seed: int) -> dict[str, list[float | None]]:
    """In each interval: rows, the usual error, how far rates of bins lie outside it, and the same by chance; "
    "None without rows."""
    outcome, score = question(p, source)
    rng = np.random.default_rng(seed)
    lots = [(rng.random(len(score)) < score).astype(int) for _ in range(draws)]
    found: dict[str, list[float | None]] = {"rows": [], "error": [], "outside": [], "outside_chance": []}
    for low, high in (*THREE, *ALERT):
        held = inside(score, low, high)
        count = int(held.sum())
        found["rows"].append(float(count))
        if count == 0:
            for name in ("error", "outside", "outside_chance"):
                found[name].append(None)
            continue
        bins: dict[str, Any] = {"binning": "equal_mass", "bins": max(1, min(10, count // LEAST))}
        beyond: dict[str, Any] = {"distance": "interval", "interval": (low, high), "lens": "binary", **bins}
        found["error"].append(cal.ece(outcome[held], score[held], lens="binary", **bins))
        found["outside"].append(cal.gece(outcome[held], score[held], **beyond))
        found["outside_chance"].append(float(np.mean([cal.gece(lot[held], score[held], **beyond) for lot in lots])))
    return found


def within_superclass(rows: sets.Rows, groups: dict[str, list[int]]) -> tuple[float, float]:
    """Which part of the wrong predictions fall into the group of the true class, and which part would by chance."""
    classes = rows.probs.shape[1]
    owner = np.empty(classes, np.intp)
    for number, members in enumerate(groups.values()):
        owner[members] = number
    said = rows.probs.argmax(axis=1)
    wrong = said != rows.labels
    size = np.bincount(owner)[owner[rows.labels[wrong]]]
    chance = float(np.mean((size - 1) / (classes - 1)))
    return float((owner[said[wrong]] == owner[rows.labels[wrong]]).mean()), chance
