"""Tests, intervals, bands, pooled estimates and numbers of rows that cannot be computed as asked."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.inference.bands import calibration_band
from calibrant.inference.multiplicity import combine_pvalues, e_bh, p_to_e
from calibrant.inference.sequential import safe_hosmer_lemeshow, sequential_test
from tests.calling import call

from .cases import INF, NAN, P3, Y3, Call, P, Y, each, varied

inf = cal.inference
LONG_Y, LONG_P = [0, 1, 0, 1] * 10, [0.2, 0.7, 0.6, 0.4] * 10
SHARES = cal.Predictions([0.2, 0.5, 0.5, 1.0], P, soft=True)
VIEWS = "classwise", "canonical"
HALF = np.repeat([1, 2], 20)
THIRDS = [0, 1, 2, 0], np.full((4, 3), 1 / 3)
POOLED = [1.0, 0.8, 1.2], [0.1, 0.2, 0.1]
IN_THE_LARGE = "calibration_in_the_large"
RATIO = "expected_observed_ratio"

ASSESSED: dict[str, dict[str, Any]] = {
    "unknown method": {"method": "magic"},
    "alpha 1.5": {"alpha": 1.5},
    "unknown alternative": {"alternative": "more"},
    "seed -1": {"rng": -1},
    "0 resamples": {"n_resamples": 0},
    "unknown keyword": {"bin": 3},
    "soft labels": {"soft": True},
    "enumeration of 40 rows": {"y_true": LONG_Y, "y_prob": LONG_P, "method": "enumeration"},
    "tolerance of a metric without an interval": {"metric": "brier", "tolerance": 0.1},
    "tolerance by resampling": {"method": "consistency", "tolerance": 0.1},
    "tolerance 0": {"tolerance": 0},
    "tolerance on one side": {"tolerance": 0.1, "alternative": "less"},
    "tolerance at alpha 0.6": {"tolerance": 0.1, "alpha": 0.6},
}
OWN_TESTS: dict[str, dict[str, Any]] = {
    "likelihood ratio on one side": {"metric": "cox_slope", "method": "lr", "alternative": "greater"},
    "chi-square of an l2 distance": {"metric": "sbct", "method": "chi_square", "statistic": "l2"},
    "likelihood ratio of each class": {"metric": "cox_slope", "method": "lr", "lens": "classwise", "penalty": "firth"},
    "normal of drawn labels": {"metric": "ecmmd", "method": "normal", "derandomised": False},
}
INTERVALS: dict[str, dict[str, Any]] = {
    "unknown method": {"method": "magic"},
    "level 0": {"level": 0},
    "50 resamples": {"n_resamples": 50},
    "no normal interval": {"method": "normal"},
    "no asymptotic interval": {"method": "asymptotic"},
    "inversion over clusters": {"method": "inversion", "cluster": True},
    "no profile": {"method": "profile"},
    "no inversion of a mean": {"metric": "brier", "method": "inversion", "n_resamples": 200},
    "no wald interval of a mean": {"metric": IN_THE_LARGE, "method": "wald"},
    "profile of a penalty": {"metric": "cox_slope", "method": "profile", "penalty": "firth"},
    "sandwich of a penalty": {"metric": "cox_slope", "method": "sandwich", "penalty": "firth"},
    "wald over classes": {"metric": "cox_slope", "method": "wald", "lens": "classwise"},
    "clusters without groups": {"cluster": True},
    "one cluster": {"groups": [1] * 40, "cluster": True},
    "one cluster is left": {"groups": HALF, "where": HALF == 2, "cluster": True},
}
POWER: dict[str, dict[str, Any]] = {
    "a shift of 2": {"deviation": 2},
    "a shift as text": {"deviation": "bias"},
    "a shift without a size": {"deviation": inf.simulation.bias},
    "alpha 0": {"alpha": 0},
    "unknown alternative": {"alternative": "both"},
    "scores of three classes": {"scores": (1, 1, 1)},
    "0 rows": {"n": 0},
    "0 repeats": {"repeats": 0},
    "bins of a metric without bins": {"bins": 3},
    "unknown metric": {"metric": "nothing_like_it"},
    **{f"scores {scores!r}": {"scores": scores} for scores in ([], [1.5], "abc", [[0.5]])},
    "tolerance on one side": {"metric": "ece", "tolerance": 0.1, "deviation": 0, "alternative": "less"},
    "sure scores": {"metric": "spiegelhalter_z", "scores": [0.0, 1.0]},
    "an outcome that cannot happen": {"metric": "ecd", "scores": [0.0, 0.3]},
    "scores of 0.5": {"metric": "spiegelhalter_z", "scores": [0.5]},
}
PRECISION: dict[str, dict[str, Any]] = {
    "no scores": {},
    "prevalence alone": {"prevalence": 0.2},
    "three parameters": {"scores": (2, 8, 3)},
    "a score of 0": {"scores": [0.0, 0.5]},
    "scores that are equal": {"scores": np.full(50, 0.2)},
    "auroc 0.5": {"scores": (2, 8), "auroc": 0.5},
    "prevalence in percent": {"scores": (2, 8), "prevalence": 20},
    "threshold 1": {"scores": (2, 8), "threshold": 1},
    "no score above the threshold": {"scores": [0.1, 0.2, 0.3, 0.4], "threshold": 0.9},
    "width 0": {"scores": (2, 8), "widths": {"O/E": 0}},
    "unknown criterion": {"scores": (2, 8), "widths": {"slope": 0.2}},
    "net benefit without a threshold": {"scores": (2, 8), "widths": {"standardised net benefit": 0.2}},
    "no criterion": {"scores": (2, 8), "widths": {}},
    "level 95": {"scores": (2, 8), "level": 95},
    "a missing risk as None": {"scores": [0.1, None, 0.3]},
    "risks in percent": {"scores": [10, 20, 30]},
}
POOLING: dict[str, dict[str, Any]] = {
    "one estimate": {"estimates": [1], "standard_errors": [0.1]},
    "one error of two": {"standard_errors": [0.1]},
    "an error of 0": {"standard_errors": [0.1, 0, 0.1]},
    "a negative error": {"standard_errors": [0.1, -1, 0.1]},
    "an error whose square is 0": {"standard_errors": [1e-200, 1.0, 1.0]},
    "a missing estimate": {"estimates": [1, NAN, 2]},
    "estimates as text": {"estimates": "abc"},
    "method of another package": {"method": "dl"},
    "interval of another package": {"interval": "knha"},
    "level 95": {"level": 95},
    "a constant covariate": {"covariate": [1] * 3},
    "a covariate of two": {"covariate": [1, 2]},
    "fixed effects with hartung_knapp": {"method": "fixed", "interval": "hartung_knapp"},
    "unknown transform": {"transform": "log"},
}


def pool(estimates: Any = POOLED[0], standard_errors: Any = POOLED[1], **keywords: Any) -> object:
    return inf.pool_estimates(estimates, standard_errors, **keywords)


def power(**changed: Any) -> object:
    keywords = {"metric": "ecce_mad", "n": 100, "deviation": 0.1} | changed
    return inf.power(keywords.pop("metric"), **keywords)


BANDS: dict[str, dict[str, Any]] = {
    "alpha 0": {"alpha": 0},
    "0 digits": {"digits": 0},
    "16 digits": {"digits": 16},
    "unknown method": {"method": "normal"},
}

TABLE: dict[str, Call] = {
    **varied("assess", ASSESSED, call, cal.assess, y_true=Y, y_prob=P, metric="ece"),
    **varied("own test", OWN_TESTS, call, cal.assess, y_true=LONG_Y, y_prob=LONG_P),
    "belt of each class": lambda: inf.giviti_test(Y3, P3, lens="classwise"),
    "grades without groups": lambda: inf.grade_tests(cal.Predictions(Y, P)),
    "grades by another method": lambda: inf.grade_tests(cal.Predictions(Y, P, groups=Y), method="normal"),
    "judge, 20 labels of 40": lambda: inf.corrected_rate(LONG_Y, LONG_Y[:20]),
    "judge, label 2": lambda: inf.corrected_rate(LONG_Y, [2, 0] * 20),
    "judge, two labels": lambda: inf.corrected_rate(LONG_Y, [1, 0] + [None] * 38),
    "judge, missing verdicts": lambda: inf.corrected_rate([1, NAN] * 20, LONG_Y),
    "no interval of soft labels proves a tolerance": lambda: cal.assess(SHARES, metric="ece", tolerance=0.1),
    "unknown correction": lambda: cal.assess_many(Y, P, metrics=["ece"], correction="magic"),
    **varied("interval", INTERVALS, call, cal.interval, y_true=LONG_Y, y_prob=LONG_P, metric="ece"),
    "interval of separated outcomes": lambda: cal.interval(Y, P, metric="cox_slope", method="profile"),
    "wald without events": lambda: cal.interval([0] * 4, P, metric=RATIO, method="wald"),
    "ratio of no events": lambda: cal.interval([0] * 4, P, metric=RATIO, method="sandwich", form="observed_expected"),
    "interval of an infinite value": lambda: call(cal.interval, [0] * 4, P, metric=RATIO, sample_weight=[1, 2, 1, 1]),
    "standard error of one row": lambda: cal.interval([1], [0.4], metric=RATIO),
    "inversion of soft labels": lambda: cal.interval(SHARES, metric="ece", method="inversion", n_resamples=200),
    "compare over clusters without groups": lambda: cal.compare(LONG_Y, {"a": LONG_P, "b": LONG_P}, cluster=True),
    "compare over one cluster": lambda: cal.compare(
        {name: cal.Predictions(LONG_Y, LONG_P, groups=[1] * 40) for name in "ab"}, cluster=True
    ),
    "compare models with different labels": lambda: cal.compare(
        {"a": cal.Predictions(LONG_Y, LONG_P), "b": cal.Predictions(LONG_Y[::-1], LONG_P)}
    ),
    "compare models with different weights": lambda: cal.compare(
        {"a": cal.Predictions(LONG_Y, LONG_P), "b": cal.Predictions(LONG_Y, LONG_P, counts=[2] * 40)}
    ),
    "a tolerance in percent": lambda: cal.assess(LONG_Y, LONG_P, tolerance=5),
    "compare one model": lambda: cal.compare(LONG_Y, {"raw": LONG_P}),
    "compare 30 of 40 rows": lambda: cal.compare(LONG_Y, {"old": LONG_P, "new": LONG_P[:30]}),
    "compare, a score of 1.5": lambda: cal.compare(LONG_Y, {"old": LONG_P, "new": [1.5, *LONG_P[1:]]}),
    "figure of 30 of 40 rows": lambda: cal.figures.murphy_diagram(LONG_Y, {"old": LONG_P, "new": LONG_P[:30]}),
    "band of soft labels": lambda: calibration_band(SHARES),
    "band of weighted rows": lambda: calibration_band(cal.Predictions(Y, P, sample_weight=[1, 2, 1, 1])),
    **varied("band", BANDS, calibration_band, Y, P),
    **each("band of the lens", VIEWS, calibration_band, *THIRDS, keyword="lens"),
    "unknown combination": lambda: combine_pvalues([0.1], "holm"),
    **each("p-values", ([], [1.5], [-0.1], [NAN], "abc", [[0.1]], None), combine_pvalues, keyword="pvalues"),
    **each("e-values", ([], [-1.0], [NAN], [[1.0]], 3.0, ["a"]), e_bh, keyword="evalues"),
    **each("e-values at alpha", (0, 1, 5, "x"), e_bh, [1.0], keyword="alpha"),
    **each("e-values of p-values", ([], [-1.0], [NAN], [[1.0]], 3.0, [1.5]), p_to_e, keyword="pvalues"),
    "sequential test of soft labels": lambda: sequential_test(SHARES),
    **each("sequential test of the lens", VIEWS, sequential_test, *THIRDS, keyword="lens"),
    "sequential test, 0 bins": lambda: sequential_test(Y, P, bins=0),
    "a view with a lens": lambda: sequential_test(cal.views.View(np.array(P), np.array(Y)), lens="top_label"),
    **each("safe test at alpha", (0, 1.5), safe_hosmer_lemeshow, Y, P, keyword="alpha"),
    **varied("power", POWER, power),
    **each("rows for a power of", (0.01, 1, 2), partial(inf.sample_size, "ecce_mad", deviation=0.1), keyword="power"),
    **each("shift at a power of", (0.01, 1, 2), inf.detectable_shift, 100, keyword="power"),
    **varied("precision", PRECISION, inf.precision_sample_size),
    "precision of 0 rows": lambda: inf.expected_precision(0, (2, 8)),
    **varied("pooling", POOLING, pool),
    "unknown reference class": lambda: inf.multinomial_recalibration(Y3, P3, reference=7),
    "multinomial, level 95": lambda: inf.multinomial_recalibration(Y3, P3, level=95),
    "multinomial, soft labels": lambda: inf.multinomial_recalibration(cal.Predictions(P3, P3, soft=True)),
    "multinomial, a class does not occur": lambda: inf.multinomial_recalibration([0, 1, 0], P3[:3]),
    "multinomial, confidences": lambda: inf.multinomial_recalibration(cal.Predictions(Y, P, input="confidence")),
    "unknown metric of forecasts": lambda: inf.assess_gaussian(1, 1, 1, metric="nis"),
    "unknown alternative of forecasts": lambda: inf.assess_gaussian([1], [1], [1], alternative="upper"),
    "alpha 5 of forecasts": lambda: inf.assess_density([1, 2], 1, alpha=5),
    "a missing mean": lambda: inf.assess_gaussian([1, 2], [1, NAN], 1),
    "an infinite density": lambda: inf.assess_density([1, INF], 1),
    "a negative variance": lambda: inf.assess_gaussian([1, 2], [1, 3], [1, -1]),
    "one mean of two": lambda: inf.assess_gaussian([1, 2], [1], [1, 1]),
    "three entropies of two": lambda: inf.assess_density([1, 2], [1, 2, 3]),
    "one forecast": lambda: inf.assess_density([1], 1),
    "densities that are equal": lambda: inf.assess_density([1, 1], 1),
    "a singular covariance": lambda: inf.assess_gaussian(np.ones((3, 3)), np.zeros((3, 3)), np.full((3, 3), 2.0)),
    "a covariance without symmetry": lambda: inf.assess_gaussian(np.ones((2, 2)), np.zeros((2, 2)), [[1, 2], [3, 4]]),
}
