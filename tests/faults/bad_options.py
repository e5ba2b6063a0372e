"""Options out of range, lenses and selections that do not fit, words from elsewhere, names nobody has."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import calibrant as cal

from .cases import COLUMNS, LABELS, P3, Y3, Call, P, Y, each, varied

CHECKED = cal.Predictions(Y, P)
VIEW = cal.views.View(np.array(P), np.array(Y, np.uint8))
SOFT_TABLE = cal.calibration_curve(cal.Predictions([0.2, 0.5, 0.5, 0.0], P, soft=True), level=None).table
HARD_TABLE = cal.calibration_curve(Y, P).table
KNOWN = np.tile(P3, (5, 1)), np.tile([1, 0, 2, 2], 5)
FITTED = cal.TemperatureScaling().fit(*KNOWN)
OF_LOGITS = cal.TemperatureScaling(input="logit").fit(np.log(KNOWN[0]), KNOWN[1])
WORDS = {
    "n_bins": 10,
    "num_bins": 10,
    "strategy": "uniform",
    "y_pred": P,
    "preds": P,
    "target": Y,
    "weights": Y,
    "from_logits": True,
    "counts": Y,
    "average": "macro",
    "p": 2,
    "sample_wieght": Y,
    "bin": 5,
    "zzz": 1,
}

LONG_Y, LONG_P = [0, 1] * 50, [0.4, 0.6] * 50
AGE = {"age": np.arange(100)}
SUBGROUPS: dict[str, dict[str, Any]] = {
    "no features": {},
    "three rows of features": {"features": {"x": [1, 2, 3]}},
    "no columns": {"features": {}},
    "names of columns": {"features": ["age", "plan"]},
    "one name": {"features": "age"},
    "unknown method": {"features": AGE, "method": "permutation"},
    "four features at once": {"features": AGE, "max_features": 4},
    "one bin": {"features": AGE, "bins": 1},
    "500 rows at least": {"features": AGE, "min_rows": 500},
    "several views": {"features": AGE, "lens": "canonical"},
}

TABLE: dict[str, Call] = {
    # Bins.
    "bins 0": lambda: cal.ece(Y, P, bins=0),
    "bins True": lambda: cal.ece(Y, P, bins=True),
    "too many bins": lambda: cal.ece(Y, P, bins=10**9),
    "edges fall": lambda: cal.ece(Y, P, bins=[0, 0.5, 0.3, 1]),
    "edges end early": lambda: cal.calibration_curve(Y, P, bins=[0, 0.5]),
    "grid edges start late": lambda: cal.gece(Y3, P3, binning=cal.SimplexGrid((0.1, 0.5, 1))),
    "1/K of other numbers": lambda: cal.uce(Y3, P3, binning="equal_width:1/K"),
    "range as text": lambda: cal.ece(Y, P, binning="equal_width:low"),
    "text edges": lambda: cal.ece(Y, P, bins=["low", "high"]),
    "edges and equal mass": lambda: cal.ece(Y, P, bins=[0, 1], binning="equal_mass"),
    "binning uniform": lambda: cal.ece(Y, P, binning="uniform"),
    "unknown binning": lambda: cal.ece(Y, P, binning="wide"),
    "a class as binning": lambda: cal.ece(Y, P, binning=cal.EqualWidth),
    "bins for vectors": lambda: cal.gece(Y3, P3, binning="equal_width"),
    "split ties under weights": lambda: cal.ece(Y, P, binning=cal.EqualMass(ties="split"), sample_weight=[1, 2, 1, 1]),
    "range falls": lambda: cal.EqualWidth(range=(0.5, 0.2)),
    "range too narrow": lambda: cal.ece(Y, P, binning=cal.EqualWidth(range=(0.5, 1))),
    "closed on both sides": lambda: cal.EqualWidth(closed="both"),
    "unknown ties": lambda: cal.EqualMass(ties="random"),
    "unknown split": lambda: cal.EqualMass(split="even"),
    "gamma 0": lambda: cal.gece(Y3, P3, gamma=0),
    "min_size 0": lambda: cal.KDTree(min_size=0),
    # Options of formulas.
    "norm 0.5": lambda: cal.ece(Y, P, norm=0.5),
    "norm l2": lambda: cal.ece(Y, P, norm="l2"),
    "norm max": lambda: cal.ece(Y, P, norm="max"),
    "unknown scale": lambda: cal.brier(Y, P, scale="mean"),
    "unknown distance": lambda: cal.gece(Y3, P3, distance="kl"),
    "unknown variation": lambda: cal.vce(Y3, P3, variation="var"),
    "base 1": lambda: cal.nll(Y, P, base=1),
    "floor 2": lambda: cal.nll(Y, P, floor=2),
    "min_count -1": lambda: cal.mce(Y, P, min_count=-1),
    "min_count too large": lambda: cal.mce(Y, P, min_count=100),
    "unknown combine": lambda: cal.cwce(Y3, P3, lens=cal.classwise(combine="median")),
    "weights of too few": lambda: cal.cwce(Y3, P3, lens=cal.classwise(class_weight=[1, 2])),
    "weights of one view": lambda: cal.ece(Y, P, lens=cal.ordinal(class_weight=[1])),
    "level 0": lambda: HARD_TABLE.interval(0),
    "unknown method": lambda: HARD_TABLE.interval(0.9, "normal"),
    "interval of soft labels": SOFT_TABLE.interval,
    "rows of a binned metric": lambda: cal.ece.rows(Y, P),
    # Lenses.
    "unknown lens": lambda: cal.ece(Y3, P3, lens="foo"),
    "misspelt lens": lambda: cal.ece(Y3, P3, lens="top_lable"),
    "a lens of another type": lambda: cal.ece(Y3, P3, lens=5),
    "rank without number": lambda: cal.ece(Y3, P3, lens="rank"),
    "pair with one class": lambda: cal.ece(Y3, P3, lens="pair:0"),
    "class_groups without mapping": lambda: cal.gece(Y3, P3, lens="class_groups"),
    "class not there": lambda: cal.ece(Y3, P3, lens="class:9"),
    "rank beyond K": lambda: cal.ece(Y3, P3, lens="rank:4"),
    "rank 0": lambda: cal.views.rank(0),
    "top_k beyond K": lambda: cal.gece(Y3, P3, lens="top_k:4"),
    "within_top beyond K": lambda: cal.ece(Y3, P3, lens="within_top:4"),
    "binary of three": lambda: cal.ece(Y3, P3, lens="binary"),
    "canonical for ece": lambda: cal.ece(Y3, P3, lens="canonical"),
    "classwise for a curve": lambda: cal.calibration_curve(Y3, P3, lens="classwise"),
    "top_label of multilabel": lambda: cal.ece(cal.Predictions(LABELS, COLUMNS, multilabel=True), lens="top_label"),
    "classwise of confidence": lambda: cal.ece(cal.Predictions(Y, P, input="confidence"), lens="classwise"),
    "pair of the same": lambda: cal.ece(Y3, P3, lens="pair:0,0"),
    "pair of soft labels": lambda: cal.ece(cal.Predictions(P3, P3, soft=True), lens="pair:0,1"),
    "class in two groups": lambda: cal.gece(Y3, P3, lens=cal.class_groups({"a": [0, 1], "b": [1, 2]})),
    "class in no group": lambda: cal.gece(Y3, P3, lens=cal.class_groups({"a": [0], "b": [2]})),
    "nested groups": lambda: cal.class_groups({"a": {"b": [0]}}),
    "groups without mapping": lambda: cal.class_groups([[0], [1]]),
    "unknown class in a group": lambda: cal.gece(Y3, P3, lens=cal.class_groups({"a": [7]})),
    # Selections of rows.
    "mask of integers": lambda: cal.ece(Y, P, where=[0, 1, 1, 0]),
    "mask with a hole": lambda: cal.ece(Y, P, where=[True, None, True, False]),
    "mask in columns": lambda: cal.ece(Y, P, where=[[True]] * 4),
    "short mask": lambda: cal.ece(Y, P, where=[True, False]),
    "mask keeps nothing": lambda: cal.ece(Y, P, where=[False] * 4),
    "selection keeps nothing": lambda: cal.ece(Y, P, where=cal.select.output(0.99)),
    "unknown group": lambda: cal.ece(cal.Predictions(Y, P, groups=list("abab")), where=cal.select.group("c")),
    "group without groups": lambda: cal.ece(Y, P, where=cal.select.group("c")),
    "unknown label": lambda: cal.ece(Y3, P3, where=cal.select.label(7)),
    "output of an unknown class": lambda: cal.ece(Y3, P3, where=cal.select.output(0.1, of=8)),
    "label of soft labels": lambda: cal.ece(cal.Predictions(P3, P3, soft=True), where=cal.select.label(1)),
    "top of multilabel": lambda: cal.ece(
        cal.Predictions(LABELS, COLUMNS, multilabel=True), where=cal.select.output(0.1)
    ),
    "class of a confidence": lambda: cal.ece(cal.Predictions(Y, P, input="confidence"), where=cal.select.output(of=1)),
    "selection and mask": lambda: cal.select.label(0) & [True],
    "bounds fall": lambda: cal.select.output(0.9, 0.2),
    "unknown closed": lambda: cal.select.output(0.1, 0.2, closed="up"),
    # Words of other packages, and misspelt ones.
    **{f"keyword {word} of ece": partial(cal.ece, Y, P, **{word: value}) for word, value in WORDS.items()},
    **{
        f"keyword {word} of {function.__name__}": partial(function, Y, P, **{word: value})
        for function, word, value in (
            (cal.interval, "alpha", 0.1),
            (cal.interval, "confidence", 0.9),
            (cal.report, "filename", "report.html"),
            (cal.report, "zzz", 1),
        )
    },
    "keyword weights of a flexible curve": lambda: cal.figures.flexible_calibration_curve(Y, P, weights=Y),
    "keyword y_proba of ece": lambda: cal.ece(Y, y_proba=P),
    "a metric by position": lambda: cal.assess(Y, P, "ece"),
    "models by position": lambda: cal.compare(Y, P, P),
    "keyword weight of brier": lambda: cal.brier(Y, P, weight=Y),
    "keyword n_bins of brier": lambda: cal.brier(Y, P, n_bins=10),
    # Evaluation.
    "no metric": lambda: cal.evaluate(Y, P, metrics=[]),
    "a value not evaluated": lambda: cal.evaluate(Y, P, metrics="ece")["brier"],
    "unknown use case": lambda: cal.recommend("fast"),
    **each("bins of all metrics", (0, "swoop", [0, 0.5, 0.4], [0.7, 0.2]), cal.evaluate, Y, P, keyword="bins"),
    **{
        f"{metric.__name__} of one class, {label}": partial(metric, [label] * 4, P)
        for metric in (cal.evaluation.auroc, cal.evaluation.average_precision)
        for label in (0, 1)
    },
    "auroc of confidences": lambda: cal.evaluation.auroc(cal.Predictions(Y, P, input="confidence")),
    **varied("subgroups", SUBGROUPS, cal.find_subgroups, LONG_Y, LONG_P),
    "study of no models": lambda: cal.study({}),
    "study of a seed that is not there": lambda: cal.study({"a": {0: (CHECKED, CHECKED)}}, seeds=[1]),
    "study of a list": lambda: cal.study({"a": lambda seed: [0.2]}),
    "study of a calibrator without its rows": lambda: cal.study(
        {"a": lambda seed: CHECKED}, {"t": cal.TemperatureScaling()}
    ),
    "study of no seeds": lambda: cal.study({"a": lambda seed: CHECKED}, seeds=[]),
    "study, an unknown row": lambda: cal.study({"a": lambda seed: CHECKED}, seeds=[0])["a", "b", "ece"],
    "a number as calibrator": lambda: cal.evaluate(Y, P, calibrator=3),  # type: ignore[arg-type]
    "a calibrator of other classes": lambda: cal.evaluate(Y, P, calibrator=FITTED),
    "a calibrator that is not fitted": lambda: cal.evaluate(Y3, P3, calibrator=cal.TemperatureScaling()),
    "a calibrator of logits": lambda: cal.evaluate(Y3, P3, calibrator=OF_LOGITS),
    "a calibrator of logits for confidences": lambda: cal.evaluate(
        cal.Predictions(Y, P, input="confidence"), calibrator=OF_LOGITS
    ),
    # Names.
    "misspelt metric": lambda: cal.catalogue["breir"],
    "unknown metric": lambda: cal.catalogue["qqqqqqq"],
    "a number as metric": lambda: cal.catalogue[3],
    "MCE": lambda: cal.catalogue["MCE"],
    "ABC": lambda: cal.catalogue["abc"],
    "an id twice": lambda: cal.catalogue.add(cal.ece),
    "misspelt field": lambda: cal.catalogue.find(famly="bin"),
    "Predictions and weights": lambda: cal.ece(CHECKED, sample_weight=Y),
    "Predictions second": lambda: cal.ece(Y, CHECKED),
    "Predictions of Predictions": lambda: cal.Predictions(CHECKED),
    "a View and weights": lambda: cal.ece(VIEW, sample_weight=Y),
    "a View and a lens": lambda: cal.ece(VIEW, lens="classwise"),
}
