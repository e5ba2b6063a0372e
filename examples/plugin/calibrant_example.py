"""A plug-in of calibrant: one metric, one calibrator, one reader of files and one section of reports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.errors import ArgumentError
from calibrant.input import Predictions
from calibrant.metrics import metric
from calibrant.plugins import reader, report_section
from calibrant.recalibration import Calibrator, Method, Scores, TrainingData
from calibrant.views import View


@metric(
    "Mean absolute gap",
    family="example",
    subfamily="plug-in",
    range=(0, 1),
    ideal=None,
    cite="The documentation of calibrant: how to add a metric",
    strengths="simple",
    limits="an example",
)
def mean_absolute_gap(view: View) -> float:
    """Mean absolute difference between score and outcome."""
    return view.mean(abs(view.score - view.outcome))


@dataclass(eq=False, repr=False)
class BaseRateShrinkage(Calibrator):
    """Shrinkage of all probabilities towards the observed rates of the classes, by the factor of least squares."""

    methods = (Method("base_rate_shrinkage", "shrinkage towards the base rate"),)
    treats_classes_alike = True
    fitted = ("rate_", "factor_")
    input: str = "prob"

    def _fit(self, data: TrainingData) -> None:
        self.rate_ = np.bincount(data.labels, data.weight, data.k) / data.weight.sum()
        outcomes = np.eye(data.k)[data.labels] - self.rate_
        scores = data.probs - self.rate_
        weight = data.weight[:, None]
        squares = float((weight * scores**2).sum())
        factor = float((weight * outcomes * scores).sum()) / squares if squares else 0.0
        self.factor_ = min(max(factor, 0.0), 1.0)

    def _predict(self, data: Scores) -> np.ndarray:
        return self.rate_ + self.factor_ * (data.probs - self.rate_)


@reader(".pairs")
def read_pairs(path: str) -> dict[str, list[float]]:
    """Lines such as ``1:0.83``: a label and a probability."""
    with open(path, encoding="utf-8") as stream:
        rows = [line.split(":") for line in stream]
    return {"label": [int(label) for label, _ in rows], "prob": [float(prob) for _, prob in rows]}


@report_section("Cost of decisions")
def decision_costs(preds: Predictions) -> dict[str, list[float]]:
    """Mean cost of a decision at each threshold, if a missed event costs as much as ten false alarms."""
    if preds.kind != "binary" or preds.labels is None:
        raise ArgumentError("y_true", "the costs are those of two observed classes")
    weight = np.ones(preds.n) if preds.weight is None else preds.weight
    event, score = preds.labels == 1, preds.probs
    thresholds = [0.05, 0.1, 0.2, 0.5]
    costs = [np.average(np.where(event, 10 * (score < t), score >= t), weights=weight) for t in thresholds]
    return {"threshold": thresholds, "cost": [float(cost) for cost in costs]}
