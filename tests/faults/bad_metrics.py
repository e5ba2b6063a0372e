"""Scores, references, distances, variations, bins and forecasts that a metric does not have."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.binning.rules import EqualMass, EqualWidth, Quantile
from calibrant.metrics import mixture_forecast, particle_forecast
from calibrant.metrics.continuous import ecd_density, ecd_gaussian, nees
from calibrant.metrics.matrix_learning import learn_matrix
from tests.calling import call

from .cases import COLUMNS, INF, LABELS, NAN, P3, Y3, Call, P, Y, each, varied

BINARY, THREE = (Y, P), (Y3, P3)
VIEW = cal.views.View(np.array(P), np.array(Y, np.uint8))
ONE = [1, 2, 0], [0, 1, 1], [1, 4, 0.25]
STATED = np.tile([0, 1], 200), np.tile(np.arange(10) / 10, 40)

SKILL: dict[str, tuple[Any, dict[str, Any]]] = {
    "no proper score": (THREE, {"score": "uce"}),
    "score of forecasts": (THREE, {"score": "dawid_sebastiani"}),
    "unknown score": (BINARY, {"score": "skill"}),
    "one rate of three classes": (THREE, {"reference": 0.4}),
    "a rate of 1.4": (BINARY, {"reference": 1.4}),
    "rates above 1": (BINARY, {"reference": [2.0, 0.5, 0.5, 0.5]}),
    "rates with a sum of 1.5": (THREE, {"reference": [0.5, 0.5, 0.5]}),
    "three rates of four rows": (BINARY, {"reference": [0.1, 0.2, 0.7]}),
    "reference as text": (BINARY, {"reference": "old"}),
    "an infinite reference": (BINARY, {"score": "nll", "reference": 0}),
    "a perfect reference": (([1, 1], [0.5, 0.9]), {}),
    "keyword of another package": (BINARY, {"n_bins": 3}),
    "keyword misspelled": (BINARY, {"refernce": 0.5}),
}
DECOMPOSED: dict[str, dict[str, Any]] = {
    "unknown method": {"method": "kumar"},
    "no score": {"score": "ece"},
    "a root": {"score": "root_brier"},
    "a score misspelled": {"score": "brierr"},
    "bins of corp": {"method": "corp", "bins": 5},
    "0 bins": {"bins": 0},
    "several views": {"lens": "classwise"},
    "corp of vectors": {"lens": "canonical", "method": "corp"},
    "bins of vectors": {"lens": "canonical", "bins": 4},
    "a lens misspelled": {"lens": "tob_label"},
    "corp of a score without a least value": {"score": "dawid_sebastiani", "lens": "class:0", "method": "corp"},
}
DISTANCES: dict[str, dict[str, Any]] = {
    "no matrix": {"distance": "mahalanobis"},
    "a matrix of two classes": {"distance": "mahalanobis", "matrix": np.eye(2)},
    "an indefinite matrix": {"distance": "mahalanobis", "matrix": np.diag([1, 1, -1])},
    "a matrix without symmetry": {"distance": "mahalanobis", "matrix": [[1, 2, 0], [0, 1, 0], [0, 0, 1]]},
    "a negative square": {"distance": "mahalanobis", "matrix": -np.eye(3), "indefinite": True},
    "a matrix that nothing uses": {"matrix": np.eye(3)},
    "an interval of vectors": {"distance": "interval", "interval": (0.6, 0.8)},
    "no interval": {"distance": "interval", "lens": "top_label"},
}
VARIATIONS: dict[str, Any] = {
    "a vector": lambda p: p,
    "nothing": lambda p: None,
    "nan": lambda p: NAN,
    "values above 1": lambda p: 3 * p.max(),
    "negative values": lambda p: -p.max(),
}
NEIGHBOURS: dict[str, dict[str, Any]] = {
    "without features": {"space": "features"},
    "counts of 1e8": {"counts": [10**8, 1, 1, 1]},
    "0 of them": {"neighbours": 0},
}
RATINGS: dict[str, dict[str, Any]] = {
    "three of four": {"ratings": [1, 2, 3]},
    "a negative one": {"ratings": [1, -2, 3, 1]},
    "a missing one": {"ratings": [1, NAN, 3, 1]},
    "all 0": {"ratings": [0] * 4},
    "as text": {"ratings": ["bad"] * 4},
    "shrinkage 0": {"ratings": [1] * 4, "shrinkage": 0},
}
LEVELS: dict[str, dict[str, Any]] = {
    "of equal mass": {"bins": "levels", "binning": "equal_mass"},
    "beside a number": {"bins": 10, "binning": "levels"},
    "misspelled": {"bins": "level"},
    "more than three": {"binning": cal.Levels(most=3)},
}
GROUPING: dict[str, dict[str, Any]] = {
    "no features": {},
    "three rows of features": {"features": np.arange(3)},
    "missing features": {"features": np.full(400, NAN)},
    "features as text": {"features": ["a"] * 400},
    "one fold": {"features": np.arange(400), "folds": 1},
    "more folds than rows": {"features": np.arange(400), "folds": 300},
    "one region": {"features": np.arange(400), "regions": 1},
    "level 95": {"features": np.arange(400), "level": 95},
    "seed as text": {"features": np.arange(400), "rng": "x"},
    "0 bins": {"features": np.arange(400), "bins": 0},
    "keyword misspelled": {"features": np.arange(400), "region": 3},
}
FORECASTS: dict[str, Call] = {
    "ragged rows": lambda: nees([[1, 2], [3]], [0, 0], [1, 1]),
    "no rows": lambda: nees([], [], []),
    "text": lambda: nees(["a"], [0], [1]),
    "None as mean": lambda: nees([1], [None], [1]),
    "a missing value": lambda: nees([0, NAN], [0, 0], [1, 1]),
    "an infinite mean": lambda: nees([0], [INF], [1]),
    "a missing variance": lambda: nees([0, 0], [0, 0], [1, NAN]),
    "two means of one": lambda: nees([1], [0, 0], [1]),
    "three dimensions": lambda: nees(np.zeros((1, 1, 1)), np.zeros((1, 1, 1)), [1]),
    "three variances of two": lambda: nees([1, 2], [0, 0], [1, 1, 1]),
    "variances of a row": lambda: nees([[1, 2]], [[0, 0]], [1, 1]),
    "a covariance without symmetry": lambda: nees([[1, 2]], [[0, 0]], [[1, 0.5], [0, 1]]),
    "an indefinite covariance": lambda: nees([[1, 2]], [[0, 0]], [[1, 2], [2, 1]]),
    "a negative variance": lambda: ecd_gaussian([1], [0], [-1]),
    "one density": lambda: ecd_density(-1, 1),
    "a table of densities": lambda: ecd_density([[-1, -1]], 1),
    "an infinite density": lambda: ecd_density([0, INF], 1),
    "an infinite entropy": lambda: ecd_density([0], -INF),
    "three entropies of two": lambda: ecd_density([0, 0], [1, 1, 1]),
    "two weights of three": lambda: nees(*ONE, sample_weight=[1, 1]),
    "counts of 0": lambda: ecd_gaussian(*ONE, counts=[0, 0, 0]),
    "weights and counts": lambda: nees(*ONE, sample_weight=[1, 1, 1], counts=[1, 1, 1]),
    "half a row": lambda: ecd_density([0], 1, counts=[0.5]),
    "no entropy": lambda: ecd_density([1.0]),
    "a mean of two rows": lambda: mixture_forecast([1, 2], [1], [0, 0], [[1], [1]]),
    "two shares of one component": lambda: mixture_forecast([1], [0.5, 0.5], [[0]], [[1]]),
    "shares that sum to 0.5": lambda: mixture_forecast([1], [0.5], [[0]], [[1]]),
    "variances without rows": lambda: mixture_forecast([1], [1], [[0]], [1, 1]),
    "a component of a negative variance": lambda: mixture_forecast([1], [1], [[0]], [[-1]]),
    "a component without symmetry": lambda: mixture_forecast([[1, 1]], [1], [[[0, 0]]], [[1, 0.5], [0, 1]]),
    "particles of one row of two": lambda: particle_forecast([1, 2], [[1, 2]]),
    "particles that are equal": lambda: particle_forecast([1], [[2, 2, 2]]),
    "particles of weight 0": lambda: particle_forecast([1], [[1, 2]], [[0, 0]]),
    "particles of a missing state": lambda: particle_forecast([NAN], [[1, 2]]),
}

TABLE: dict[str, Call] = {
    **{
        f"skill, {name}": partial(call, cal.metrics.skill_score, *data, **options)
        for name, (data, options) in SKILL.items()
    },
    **varied("decompose", DECOMPOSED, call, cal.decompose, Y3, P3),
    "decompose, a score of 1.5": lambda: cal.decompose([0, 1], [0.5, 1.5]),
    "decompose, several labels": lambda: cal.decompose(cal.Predictions(LABELS, COLUMNS, multilabel=True)),
    "decompose, soft labels": lambda: cal.decompose(cal.Predictions(P, P, soft=True), score="ranked_probability"),
    "decompose, a view with a lens": lambda: cal.decompose(VIEW, lens="top_label"),
    "decompose, a view with weights": lambda: cal.decompose(VIEW, sample_weight=[1, 1, 1, 1]),
    "decompose, infinite twice": lambda: cal.decompose([1, 0, 1], [0.0, 0.2, 0.9], score="nll", bins=10),
    **varied("distance", DISTANCES, cal.gece, Y3, P3),
    **varied("grouping loss", GROUPING, call, cal.metrics.grouping_loss, *STATED),
    "grouping loss of soft labels": lambda: cal.metrics.grouping_loss(
        cal.Predictions(P, P, features=[1, 2, 3, 4], soft=True)
    ),
    "grouping loss of a sketch": lambda: cal.metrics.grouping_loss(cal.Sketch.of(Y, P)),
    **each(
        "the predicted class of the lens",
        ("top_label", "flattened", "within_top:2"),
        cal.tl_ece,
        Y3,
        P3,
        keyword="lens",
    ),
    "a weighted chance level": lambda: cal.gece_db(Y, P, sample_weight=[1, 2, 1, 1]),
    "a chance level of soft labels": lambda: cal.gece_db(cal.Predictions(P, P, soft=True)),
    **{
        f"{metric.id} of both classes": partial(metric, [0, 1, 0, 1], [0.2, 0.7, 0.6, 0.4], lens="classwise")
        for metric in (cal.cox_intercept, cal.wsmcs)
    },
    "an l2 distance without chance": lambda: cal.gece_db(Y, P, distance="l2"),
    "a search without chance": lambda: cal.gece_db(Y, P, lens="binary", bins="sweep"),
    **varied("neighbours", NEIGHBOURS, call, cal.ecmmd, Y, P),
    **{f"{metric.id} of one row": partial(metric, [2], P3[:1]) for metric in (cal.ecmmd, cal.skce_uq, cal.skce_ul)},
    "pairs of one row with weight": lambda: cal.skce_uq([1, 0], [0.2, 0.4], sample_weight=[1.0, 0.0]),
    "blocks of five of four rows": lambda: cal.skce_ul(Y, P, block=5),
    "a bandwidth of 1e-5": lambda: cal.smece(Y, P, bandwidth=1e-5),
    "scores that are uniform but for rounding": lambda: cal.spiegelhalter_z([0, 1], [0.5, 0.5 + 1e-15]),
    "no event, observed or expected": lambda: cal.expected_observed_ratio([0, 0], [0.0, 0.0]),
    **{f"variation, {name}": partial(cal.vce, Y3, P3, variation=own) for name, own in VARIATIONS.items()},
    **varied("ratings", RATINGS, learn_matrix, Y3, P3),
    "ratings of rows without errors": lambda: learn_matrix([0, 1, 2], np.eye(3), ratings=[1, 1, 1]),
    **varied("levels", LEVELS, cal.ece, *STATED),
    "1,500 levels": lambda: cal.ece(np.arange(1500) % 2, np.linspace(0, 1, 1500), bins="levels"),
    "at most 0 levels": lambda: cal.Levels(0),
    **each("rows in a bin at least", (0, 2.5, "10", True), EqualMass, 5, keyword="min_rows"),
    **each("closed on the right, edges", ("torch", "torch64"), EqualWidth, 10, keyword="edges"),
    **each("from 0.5 to 1, edges", ("torch", "torch64"), EqualWidth, 10, "left", (0.5, 1), keyword="edges"),
    "5,000 bins with torch's edges": lambda: cal.ece(Y, P, binning=EqualWidth(5000, closed="left", edges="torch")),
    "unknown edges": lambda: EqualWidth(10, edges="numpy"),
    "unknown quantiles": lambda: Quantile(edges="linear"),
    "a search beside edges": lambda: cal.ece(Y, P, bins="sweep", binning=EqualWidth(edges="linspace")),
    "a search beside a number": lambda: cal.ece_sweep(Y, P, binning=EqualMass(10)),
    "midway quantiles of weights": lambda: call(
        cal.ece, Y, P, sample_weight=[1, 2, 1, 1], binning=Quantile(2, edges="midway")
    ),
    "quantiles of weights": lambda: call(cal.ece, Y, P, sample_weight=[1, 2, 1, 1], binning="quantile"),
    **{f"forecasts, {name}": forecast for name, forecast in FORECASTS.items()},
}
