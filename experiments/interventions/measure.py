"""Every error that is shown, of one model on the test rows, and those that chance alone would give."""

from __future__ import annotations

from typing import Any

import numpy as np

import calibrant as cal
from calibrant.figures.classgroups import group_error_diagram
from calibrant.figures.entropy import entropy_diagram
from calibrant.figures.groupconfidence import group_confidence_diagram
from calibrant.figures.intervals import interval_error_diagram
from calibrant.figures.stability import stability_diagram
from calibrant.figures.topk import topk_diagram

from .plan import Plan, classes_of


def measure(p: cal.Predictions, plan: Plan) -> dict[str, Any]:
    """All numbers of one model."""
    settings = plan.measuring
    tree = {"binning": cal.KDTree(gamma=settings["gamma"])}
    apart = untied(p)
    k = min(settings["top_k"], p.k)
    shown = topk_diagram(p, k=k, metric="ece", lens="within_top")["model"]
    spread = entropy_diagram(p)["model"]
    found: dict[str, Any] = {
        "accuracy": float(spread.accuracy[0]),
        "confidence": float(spread.confidence[0]),
        "entropy": spread.overall,
        "nll": cal.nll(p),
        "brier": cal.brier(p),
        "ece": cal.ece(p, lens="top_label", bins=settings["bins"]),
        "full": cal.gece(apart, lens="canonical", **tree),
        "top_k": topk_diagram(apart, k=k, metric="gece", **tree)["model"].error.tolist(),
        "top_k_accuracy": shown.accuracy.tolist(),
        "top_k_confidence": shown.confidence.tolist(),
        "rank_confidence": shown.rank_confidence.tolist(),
        "rank_rate": shown.rank_rate.tolist(),
        "chance": by_chance(p, plan),
    }
    if plan.hierarchy is not None:
        found |= by_group(apart, plan.hierarchy, tree)
    if plan.intervals is not None:
        found["intervals"] = by_interval(p, plan)
    return found


def untied(p: cal.Predictions) -> cal.Predictions:
    """The same forecasts, moved at random by a billionth: a k-d tree cannot halve a cell at a median that most rows share.

    Three quarters of what histogram binning gives out are zeros. Left as they are, all its rows stay in one cell, in which
    errors of all classes cancel.
    """
    probs = np.asarray(p.probs, dtype=np.float64)
    probs = probs + 1e-9 * np.random.default_rng(0).random(probs.shape)
    return cal.Predictions(p.labels, probs / probs.sum(axis=1, keepdims=True))


def by_group(p: cal.Predictions, hierarchy: dict[str, Any], tree: dict[str, Any]) -> dict[str, Any]:
    """The error at each level, that of the rows of each group, and where their confidence goes."""
    groups, level = hierarchy["groups"], hierarchy["level"]
    shown = group_error_diagram(p, hierarchy=groups, names=hierarchy["names"], level=level, rows="label", **tree)
    where = group_confidence_diagram(p, hierarchy=groups, level=level, given=hierarchy["given"])
    return {
        "levels": shown.level_errors["model"].tolist(),
        "groups": shown.group_errors["model"].tolist(),
        "group_rows": shown.weight["model"].tolist(),
        "group_confidence": where.confidence[0].tolist(),
    }


def question(p: cal.Predictions, plan: Plan) -> tuple[Any, Any]:
    """The yes-or-no question whether the class lies in the group of the intervals: labels and probabilities."""
    assert plan.intervals is not None
    assert plan.hierarchy is not None
    inside = classes_of(plan.hierarchy["groups"], plan.intervals["group"])
    if inside is None:
        raise ValueError(f"[intervals] there is no group {plan.intervals['group']!r} in the hierarchy")
    probs = np.asarray(p.probs, dtype=np.float64)[:, inside].sum(axis=1)
    return np.isin(p.labels, inside).astype(int), np.clip(probs, 0, 1)


def by_interval(p: cal.Predictions, plan: Plan) -> dict[str, list[float]]:
    """In each interval of the probability of the group: rows, error, and how far rates of bins lie outside the interval."""
    assert plan.intervals is not None
    (labels, score), bins = question(p, plan), plan.measuring["bins"]
    shown = interval_error_diagram(labels, score, intervals=plan.intervals["edges"], bins=bins)
    outside = []
    for low, high in zip(shown.low.tolist(), shown.high.tolist(), strict=True):
        held = (score >= low) & ((score < high) | (high == 1))
        options = {"distance": "interval", "interval": (low, high), "bins": bins, "binning": "equal_width"}
        outside.append(cal.gece(labels, score, where=held, lens="binary", **options) if held.any() else float("nan"))
    seen = shown["model"]
    return {
        "rows": seen.rows.tolist(),
        "mean_score": seen.mean_score.tolist(),
        "rate": seen.rate.tolist(),
        "error": seen.error.tolist(),
        "outside": outside,
    }


def by_chance(p: cal.Predictions, plan: Plan) -> dict[str, float]:
    """Mean errors of the same probabilities when labels are drawn from them: none of it is miscalibration."""
    draw = np.random.default_rng(0)
    probs = np.asarray(p.probs, dtype=np.float64)
    apart = np.asarray(untied(p).probs)
    edges = np.cumsum(probs / probs.sum(axis=1, keepdims=True), axis=1)
    edges[:, -1] = 1
    found: dict[str, list[float]] = {"ece": [], "full": []}
    for _ in range(plan.measuring["chance_draws"]):
        labels = (draw.random((len(probs), 1)) >= edges).sum(axis=1)
        found["ece"].append(cal.ece(labels, probs, lens="top_label", bins=plan.measuring["bins"]))
        tree = cal.KDTree(gamma=plan.measuring["gamma"])
        found["full"].append(cal.gece(labels, apart, lens="canonical", binning=tree))
    return {name: float(np.mean(values)) for name, values in found.items()}


def stability(p: cal.Predictions, draws: int) -> dict[str, Any]:
    """The full error of one model against the size of the cells."""
    shown = stability_diagram(p, metric="gece", over="gamma", lens="canonical", n_resamples=draws, rng=0)
    numbers = {key: value.tolist() for key, value in vars(shown).items() if isinstance(value, np.ndarray)}
    others = {key: value for key, value in vars(shown).items() if not isinstance(value, np.ndarray)}
    return {**others, **numbers}
