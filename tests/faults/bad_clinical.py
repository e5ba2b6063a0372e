"""Risk models that cannot be validated: rows, outcomes, times, groups and resamples."""

from __future__ import annotations

from typing import Any

import numpy as np

import calibrant as cal
from calibrant.evaluation import confidence_summary
from tests.calling import call

from .cases import COLUMNS, INF, LABELS, NAN, P3, Y3, Call, varied, with_entry

RNG = np.random.default_rng(0)
RISK, TIME = RNG.beta(2, 3, 80).round(2), np.ceil(RNG.exponential(6, 80))
EVENT = ((RNG.random(80) < 0.7) & (TIME.max() > TIME)).astype(int)
X, Y = RNG.normal(size=(80, 3)), np.arange(80) % 2
SITE = np.arange(80) % 3
SOFT = cal.Predictions(RISK, RISK, groups=SITE, soft=True)
WEIGHTED = cal.Predictions([0, 1, 1], [0.1, 0.4, 0.8], sample_weight=[1, 2, 3])
FOLLOWED = [1, 2, 9, 9, 1, 2], [1, 0, 0, 1, 1, 0]


class Constant:
    """The share of events for every row."""

    def fit(self, X: Any, y: Any) -> Constant:
        self.classes_, self.rate = np.unique(y), np.mean(y == np.unique(y)[-1])
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.tile([1 - self.rate, self.rate], (len(X), 1))


class Classes:
    """Predicts classes alone."""

    def fit(self, X: Any, y: Any) -> Classes:
        return self


def survival(**changed: Any) -> object:
    keywords = {"y_prob": RISK, "time": TIME, "event": EVENT, "horizon": 4, "n_resamples": 0} | changed
    return cal.clinical.survival_summary(keywords.pop("y_prob"), **keywords)


def validation(**changed: Any) -> object:
    keywords = {"X": X, "y": Y, "resamples": 2} | changed
    estimator = keywords.pop("estimator", Constant())
    return cal.clinical.internal_validation(estimator, keywords.pop("X"), keywords.pop("y"), **keywords)


def by_group(groups: Any = SITE, **keywords: Any) -> object:
    return cal.clinical.validate_by_group(cal.Predictions(EVENT, RISK, groups=groups), **keywords)


SURVIVAL: dict[str, dict[str, Any]] = {
    "nobody is followed so long": {"horizon": 1e6},
    "nobody has an event": {"event": np.zeros(80), "horizon": 1e6},
    "horizon 0": {"horizon": 0},
    "horizon as text": {"horizon": "5"},
    "two horizons": {"horizon": [2, 4]},
    "negative times": {"time": -TIME},
    "79 times": {"time": TIME[:-1]},
    "a missing time": {"time": with_entry(TIME, 5, NAN)},
    "an infinite time": {"time": with_entry(TIME, 5, INF)},
    "times as text": {"time": TIME.astype(str)},
    "halves of events": {"event": EVENT - 0.5},
    "79 events": {"event": EVENT[:-1]},
    "events as text": {"event": ["dead"] * 80},
    "no code for censoring": {"event": EVENT + 1},
    "a cause that does not occur": {"cause": 7},
    "cause 0": {"cause": 0},
    "risks in percent": {"y_prob": 100 * RISK},
    "a missing risk": {"y_prob": with_entry(RISK, 3, NAN)},
    "two columns of risks": {"y_prob": np.column_stack([RISK, RISK])},
    "negative weights": {"sample_weight": -np.ones(80)},
    "level 95": {"level": 95},
    "-1 resamples": {"n_resamples": -1},
}
VALIDATION: dict[str, dict[str, Any]] = {
    "a class of estimators": {"estimator": Constant},
    "no estimator": {"estimator": object()},
    "one outcome alone": {"y": np.zeros(80)},
    "outcomes as words": {"y": np.where(Y, "cat", "dog")},
    "a missing outcome": {"y": with_entry(Y, 3, NAN)},
    "70 outcomes": {"y": Y[:70]},
    "predictors in a row": {"X": X[:, 0]},
    "unknown method": {"method": "boot"},
    "0 resamples": {"resamples": 0},
    "one fold": {"method": "cross_validation", "resamples": 1},
    "more folds than rows": {"method": "cross_validation", "resamples": 81},
    "one cluster": {"groups": np.zeros(80)},
    "no metrics": {"metrics": []},
    "a metric twice": {"metrics": ["brier", "brier"]},
    "a number as metric": {"metrics": [3]},
    "a metric misspelled": {"metrics": "brierr"},
    "a row beyond the last": {"resamples": [[0, 80]]},
    "resamples of nothing": {"resamples": []},
    "folds as resamples": {"resamples": [([0, 1], [2])]},
    "resamples as folds": {"method": "cross_validation", "resamples": [[0, 1, 2]]},
}
GROUPED: dict[str, dict[str, Any]] = {
    "no groups": {"groups": None},
    "one group": {"groups": ["a"] * 80},
    "no metrics": {"metrics": []},
    "unknown metric": {"metrics": "slop"},
    "unknown method": {"method": "ML"},
    "0 rows at least": {"min_rows": 0},
    "level 2": {"level": 2},
}
UPDATED: dict[str, dict[str, Any]] = {
    "alpha 1.5": {"alpha": 1.5},
    "-1 resamples": {"n_resamples": -1},
    "79 rows of features": {"features": X[:-1]},
    "a feature twice": {"features": np.column_stack([X, X[:, 0]])},
    "the outcome as a feature": {"features": Y[:, None] + 0.0},
    "a missing feature": {"features": with_entry(X, (3, 1), NAN)},
    "risks that are equal": {"y_prob": np.full(80, 0.3)},
    "no events": {"y_true": np.zeros(80, int)},
    "three classes": {"y_true": np.arange(80) % 3, "y_prob": np.full((80, 3), 1 / 3)},
}
CURVES: dict[str, dict[str, Any]] = {
    "level 2": {"level": 2},
    "two knots": {"knots": 2},
    "one point": {"points": 1},
    "0 events at least": {"min_events": 0},
}
CERTIFIED: dict[str, dict[str, Any]] = {
    "level 1": {"level": 1},
    "unknown assumption": {"assuming": "smooth"},
    "variation without a bound": {"assuming": "variation"},
    "a bound that is not assumed": {"variation": 2.0},
    "0 bins": {"assuming": "none", "bins": 0},
    "several views": {"lens": "classwise"},
}

TABLE: dict[str, Call] = {
    **varied("survival", SURVIVAL, survival),
    "a group without follow-up": lambda: cal.clinical.horizon_outcomes(*FOLLOWED, horizon=5, groups=list("aaaabb")),
    **varied("validation", VALIDATION, validation),
    **varied("by group", GROUPED, by_group),
    "by group, soft labels": lambda: cal.clinical.validate_by_group(SOFT),
    "summary of three classes": lambda: cal.clinical.summary(Y3, P3),
    "summary of each class": lambda: cal.clinical.summary(Y3, P3, lens="classwise"),
    "summary of soft labels": lambda: cal.clinical.summary(SOFT),
    "summary, a missing risk": lambda: cal.clinical.summary(EVENT, with_entry(RISK, 3, NAN)),
    "summary of two models": lambda: cal.clinical.summary(EVENT, {"a": RISK, "b": RISK}),
    "summary, unknown smoother": lambda: cal.clinical.summary(EVENT, RISK, smoother="spline"),
    "summary, level 95": lambda: cal.clinical.summary(EVENT, RISK, level=95),
    "summary, five resamples": lambda: cal.clinical.summary(EVENT, RISK, n_resamples=5),
    "summary, clusters without groups": lambda: cal.clinical.summary(EVENT, RISK, cluster=True),
    "validation of a model without probabilities": lambda: validation(estimator=Classes()),
    "validation with a keyword of predictions": lambda: validation(pos_label=1),
    **varied("update", UPDATED, call, cal.clinical.closed_test_update, y_true=Y, y_prob=RISK),
    "update of weighted rows": lambda: cal.clinical.closed_test_update(
        cal.Predictions(Y, RISK, sample_weight=np.arange(1, 81))
    ),
    **varied("pooled curve", CURVES, cal.clinical.pooled_curve, cal.Predictions(EVENT, RISK, groups=SITE)),
    "pooled curve without groups": lambda: cal.clinical.pooled_curve(EVENT, RISK),
    "pooled curve of two groups": lambda: cal.clinical.pooled_curve(cal.Predictions(EVENT, RISK, groups=SITE % 2)),
    **varied("certificate", CERTIFIED, cal.certify, Y3, P3),
    "certificate of weighted rows": lambda: cal.certify(WEIGHTED),
    "confidence, a missing score": lambda: confidence_summary([0.2, NAN]),
    "confidence of several labels": lambda: confidence_summary(cal.Predictions(LABELS, COLUMNS, multilabel=True)),
    "confidence, weights twice": lambda: confidence_summary(WEIGHTED, sample_weight=[1, 2]),
}
