"""Calibrators that cannot be fitted, applied or chosen: rows, options, targets, features and groups."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.recalibration import to_python, to_sql
from calibrant.recalibration.methods import find_method

from .cases import NAN, Call, varied, with_entry

RNG = np.random.default_rng(0)
P4 = RNG.dirichlet([1, 1, 1, 1], 300).round(3)
P4[:, 3] = 1 - P4[:, :3].sum(axis=1)
Y4 = np.array([RNG.choice(4, p=row / row.sum()) for row in P4.clip(0)])
P4 = P4.clip(1e-3)
P4 /= P4.sum(axis=1, keepdims=True)
P2 = RNG.random(200).round(2).clip(0.01, 0.99)
Y2 = (RNG.random(200) < P2).astype(int)
EVEN = np.linspace(0, 1, 1500)
SHORT_Y, SHORT_P = np.tile([0, 1], 20), np.tile([0.3, 0.6], 20)
SAFE = {
    "alpha 0": {"alpha": 0},
    "all rows held out": {"held_out": 1},
    "a negative tolerance": {"tolerance": -0.1},
    "0 bins": {"bins": 0},
    "unknown shrinkage": {"shrinkage": "prior"},
    "a name as calibrator": {"calibrator": "platt"},
    "a calibrator with groups": {"calibrator": cal.MultiCalibration()},
    "a histogram of -1 bins": {"calibrator": cal.HistogramBinning(bins=-1)},
}
HISTOGRAMS: dict[str, dict[str, Any]] = {
    "bins as text": {"bins": "many"},
    "edges fall": {"bins": [0.5, 0.2]},
    "edges and a binning": {"bins": [0, 0.5, 1], "binning": "equal_width"},
    "binning of another package": {"binning": "uniform"},
    "two numbers of bins": {"bins": 7, "binning": cal.EqualWidth(3)},
    "a number as binning": {"binning": 3},
    "0 bins": {"bins": 0},
    "unknown rule of empty bins": {"empty": "zero"},
    "levels of equal width": {"bins": "levels", "binning": "equal_width"},
}
CHOICE: dict[str, dict[str, Any]] = {
    "a calibrator of logits": {"method": cal.PlattScaling(input="logit")},
    "a loss that can be lowered by less information": {"loss": "uce"},
    "a loss without a target": {"loss": "ecee"},
    "level 1": {"level": 1},
    "two folds": {"folds": 2},
    "folds of four rows": {"folds": [0, 1, 2, 3]},
    "two values of folds": {"folds": SHORT_Y},
    "groups that are not passed": {"method": cal.GroupCalibration(cal.BetaCalibration())},
}
LENSES: dict[str, Any] = {
    "no class": "within_top:0",
    "all classes": "within_top:4",
    "half a band": "band:0.9",
    "a band that falls": "band:0.9,0.1",
    "one group": {"a": [0, 1, 2, 3]},
    "a hierarchy": {"a": [0, 1], "b": {"c": [2, 3]}},
    "a number": 3,
    "an event that nearly never happens": "band:0.9998,0.9999",
}
BOOSTED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "no features": ({}, {}),
    "ten rows of features": ({}, {"features": P4[:10]}),
    "one fold": ({"folds": 1}, {"features": P4[:200]}),
    "categories of an unknown column": ({"categorical": ("kind",)}, {"features": P4[:200]}),
}
FOLDS: dict[str, Any] = {
    "of three rows": [1, 2, 3],
    "that are all one": np.zeros(200),
    "without a name": [None, *[1, 2] * 99, 1],
    "that are missing": [NAN, *[1, 2] * 99, 1],
}
FITTED: dict[str, tuple[Any, Any]] = {
    "no rows": ([], []),
    "199 labels of 200": (P2, Y2[:-1]),
    "no labels": (P2, None),
    "no scores": (None, Y2),
    "scores above 1": (P2 + 1, Y2),
    "a score of 1.0001": (with_entry(P2, 199, 1.0001), Y2),
    "sums of 0.5": (P4 / 2, Y4),
    "scores as labels": (P2, P2),
    "a missing label": (P2, np.array([None, *Y2[1:]], dtype=object)),
    "a name as scores": ("p", Y2),
}
APPLIED: dict[str, Any] = {
    "no rows": [],
    "one number": 0.3,
    "a missing score": [0.2, NAN],
    "text": ["a"],
    "a single column": [[0.2]],
}
PLATT, GROUPED = cal.PlattScaling().fit(P2, Y2), cal.GroupCalibration(cal.PlattScaling()).fit(P2, Y2, groups=Y2 * 0 + 1)
TREES = cal.BoostedCalibration(folds=0, max_rounds=1).fit(P2, Y2, features=P4[:200])
LABELS = cal.MultilabelCalibration(cal.PlattScaling()).fit(np.column_stack([P2, P2]), np.column_stack([Y2, Y2]))
SCALED = cal.TemperatureScaling().fit(P4, Y4)
CHAIN: dict[str, tuple[Any, ...]] = {
    "no calibrators": (),
    "logits second": (cal.PlattScaling(), cal.PlattScaling("logit")),
}
NO_INVERSE = cal.QuadraticLogit().fit(P2, Y2), SCALED, LABELS
ONLINE = cal.OnlineCalibration().fit(P4[Y4 < 3][:, :3] / P4[Y4 < 3][:, :3].sum(axis=1, keepdims=True), Y4[Y4 < 3])

TABLE: dict[str, Call] = {
    **{f"fit, {name}": partial(cal.TemperatureScaling().fit, *rows) for name, rows in FITTED.items()},
    **{f"predict_proba, {name}": partial(PLATT.predict_proba, scores) for name, scores in APPLIED.items()},
    **{f"predict, {name}": partial(PLATT.predict, scores) for name, scores in APPLIED.items()},
    "unknown objective": lambda: cal.TemperatureScaling(objective="ece").fit(P4, Y4),
    "a negative penalty": lambda: cal.MatrixScaling(off_diagonal=-1).fit(P4, Y4),
    "unknown input": lambda: cal.VectorScaling(input="odds").fit(P4, Y4),
    "unknown way of several classes": lambda: cal.IsotonicCalibration(multiclass="all").fit(P2, Y2),
    "intervals of a copy, which has no rows": lambda: copy.deepcopy(cal.PlattScaling().fit(P2, Y2)).predict_interval(
        P2
    ),
    "intervals of groups": lambda: (
        cal.GroupCalibration(cal.PlattScaling()).fit(P2, Y2, groups=["a"] * len(Y2)).predict_interval(P2)
    ),
    "a label without rows": lambda: cal.MultilabelCalibration(cal.OffsetAdjustment()).fit(
        np.column_stack([P2, P2]), np.column_stack([Y2, np.zeros(len(Y2), int)])
    ),
    "intervals of pooled classes": lambda: cal.VennAbers(multiclass="pooled").fit(P4, Y4).predict_p0_p1(P4),
    "a prior from labels that are missing": lambda: cal.PriorShift(0.3, "labels").fit(P2),
    "a prior of 0": lambda: cal.PriorShift((1, 0, 0, 0), (0.2, 0.3, 0.4, 0.1)).fit(P4),
    "one score of a prior": lambda: cal.PriorShift(0.5, 0.3).fit(0.4),
    "a prior estimated from one score": lambda: cal.recalibration.prior_shift_em(0.4, 0.5),
    "a prior estimated from no scores": lambda: cal.recalibration.prior_shift_em([], 0.5),
    "a target of 0": lambda: cal.OffsetAdjustment(target=0.0).fit(P2),
    "a target and an offset": lambda: cal.OffsetAdjustment(target=0.5, offset=1.0).fit(P2),
    "an infinite offset": lambda: cal.OffsetAdjustment(offset=np.inf).fit(P2),
    "a spline of three rows": lambda: cal.SplineCalibration().fit([0.2, 0.4, 0.8], [0, 1, 1]),
    "names of three of four classes": lambda: cal.BetaCalibration().fit(P4, np.where(Y4 < 3, "ash", "birch")),
    "beta of missing classes": lambda: cal.BetaCalibration().fit(P4, np.where(Y4 % 2, 0, Y4)),
    "beta of one class": lambda: cal.BetaCalibration().fit(P2, np.zeros(200, int)),
    **{
        f"safe, {name}": partial(cal.SafeCalibration(**options).fit, SHORT_P, SHORT_Y) for name, options in SAFE.items()
    },
    "safe, one row": lambda: cal.SafeCalibration().fit([0.2], [0]),
    "safe, probabilities of logits": lambda: cal.SafeCalibration(cal.PlattScaling(), input="logit").fit(np.log(P4), Y4),
    **{
        f"histogram, {name}": partial(cal.HistogramBinning(**options).fit, P2, Y2)
        for name, options in HISTOGRAMS.items()
    },
    "histogram, 1,500 levels": lambda: cal.HistogramBinning(bins="levels").fit(EVEN, np.arange(1500) % 2),
    **varied("recalibrate", CHOICE, cal.recalibrate, SHORT_Y, SHORT_P),
    "recalibrate, six rows": lambda: cal.recalibrate(SHORT_Y[:6], SHORT_P[:6]),
    "recalibrate, one outcome": lambda: cal.recalibrate(np.ones(40, int), SHORT_P),
    "recalibrate, swapped": lambda: cal.recalibrate(P2, Y2),
    "recalibrate a view": lambda: cal.recalibrate(cal.views.View(P2, Y2)),
    "recalibrate a band in folds of rows": lambda: cal.recalibrate(
        Y2, P2, method="platt", folds=np.arange(200) % 4, lens="band:0.5,1"
    ),
    "recalibrate a sketch for a class": lambda: cal.recalibrate(cal.Sketch.of(Y2, P2), lens="class:1"),
    "recalibrate, weights twice": lambda: cal.recalibrate(cal.Predictions(Y2, P2), sample_weight=Y2 + 1),
    "recalibrate, several labels": lambda: cal.recalibrate(cal.Predictions(P4 > 0.3, P4, multilabel=True)),
    "recalibrate, soft labels": lambda: cal.recalibrate(cal.Predictions(P2, P2, soft=True)),
    "recalibrate, confidences": lambda: cal.recalibrate(cal.Predictions(Y2, P2, input="confidence")),
    "recalibrate, an error of vectors": lambda: cal.recalibrate(Y4, P4, loss="ece", lens="top_k:2", method="platt"),
    "recalibrate, every rank": lambda: cal.recalibrate(Y4, P4, lens="rank", method="temperature"),
    "recalibrate, all predictions are right": lambda: cal.recalibrate(P4.argmax(axis=1), P4, lens="top_label"),
    **{f"recalibrate for {name}": partial(cal.recalibrate, Y4, P4, lens=lens) for name, lens in LENSES.items()},
    **{
        f"calibrate for {name}": partial(cal.LensCalibration(cal.PlattScaling(), lens).fit, P4, Y4)
        for name, lens in LENSES.items()
    },
    "calibrate for a lens object": lambda: cal.LensCalibration(cal.PlattScaling(), cal.within_top(2)).fit(P4, Y4),
    **{f"{name} as a method": partial(find_method, name) for name in ("SMSCalibrator", "svs")},
    "a group that was not fitted": lambda: GROUPED.predict_proba([0.2, 0.3], [1, 7]),
    "groups that are missing": lambda: GROUPED.predict_proba([0.2, 0.3]),
    **{
        f"boosted, {name}": partial(cal.BoostedCalibration(**options).fit, P2, Y2, **beside)
        for name, (options, beside) in BOOSTED.items()
    },
    "boosted, three of four features": lambda: TREES.predict_proba(P2 / 2, features=P4[:200, :3]),
    "boosted, text in a column of numbers": lambda: TREES.predict_proba([0.5], features=[["a", 1, 2, 3]]),
    "boosted, features as groups": lambda: TREES.predict_proba(P2, P4[:200]),
    **{f"folds {name}": partial(cal.CrossVennAbers().fit, P2, Y2, fold=fold) for name, fold in FOLDS.items()},
    "one fold of intervals": lambda: cal.CrossVennAbers(folds=1).fit(P2, Y2),
    "labels of two columns of three": lambda: LABELS.predict_proba(P2[:, None]),
    "labels in a row": lambda: cal.MultilabelCalibration(cal.PlattScaling()).fit(np.column_stack([P2, P2]), Y2),
    **{f"inverse of {type(each).__name__}": partial(each.inverse, 0.5) for each in NO_INVERSE},
    "inverse at 1.5": lambda: PLATT.inverse(1.5),
    **{f"chain, {name}": partial(cal.ChainedCalibration(parts).fit, P2, Y2) for name, parts in CHAIN.items()},
    "chain, two and four classes": lambda: cal.ChainedCalibration.of(PLATT, SCALED),
    "export without a formula": lambda: to_sql(
        cal.PlattScaling(multiclass="top_versus_all").fit(P4, Y4), prob=list("abcd")
    ),
    "export before fit": lambda: to_sql(cal.PlattScaling()),
    "export of a name": lambda: to_python("platt"),  # type: ignore[arg-type]
    "export of one column of four": lambda: to_sql(SCALED),
    "export to pmml": lambda: cal.recalibration.export(PLATT, "x", to="pmml"),  # type: ignore[arg-type]
    "groups that are mappings": lambda: GROUPED.predict_proba([0.2, 0.3], np.array([{}, {}], dtype=object)),
    "online, an unknown class": lambda: ONLINE.update([[0.2, 0.3, 0.5]], ["oak"]),
    "online, one label of two": lambda: ONLINE.update(np.full((2, 3), 1 / 3), [0]),
    "online, one score of three": lambda: ONLINE.update([0.3], [0]),
    "online, label 2": lambda: cal.OnlineCalibration().update([0.3], [2]),
    "online, -1 bins": lambda: cal.OnlineCalibration(bins=-1).update([0.3], [1]),
}
