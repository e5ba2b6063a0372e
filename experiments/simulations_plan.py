"""What is simulated: the tests and what they promise, the distributions of the scores, the ways to be wrong, and how many runs each gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from calibrant.inference.simulation.simulate import bump, temperature

ALPHAS = (0.01, 0.05, 0.1)
DRAWS, SMALL_DRAWS, AUTO_DRAWS = 199, 39, 99
# Kernel widths are given where choosing one would take longer than the test; the choice looks at scores alone.
WIDTH = {"bandwidth": 0.5}


class Test(NamedTuple):
    """A test and what is promised of it: ``limit`` distributions need many rows, ``drawn`` ones hold for any, a ``bound`` rejects rarely.

    ``auto`` is what `assess` chooses by itself: it promises its level in any setting.
    """

    __test__ = False

    metric: str
    method: str
    promise: str
    options: dict[str, Any]
    documented: str = ""
    """Where the test is known not to hold its level, what is said of it."""


def limit(metric: str, method: str, documented: str = "", **options: Any) -> Test:
    """A test by a distribution that holds for many rows."""
    return Test(metric, method, "limit", options, documented)


def drawn(metric: str, method: str = "consistency", **options: Any) -> Test:
    """A test by outcomes drawn from the scores."""
    return Test(metric, method, "drawn", options)


def auto(metric: str, **options: Any) -> Test:
    """A test as `assess` chooses it: by a null distribution where that holds, by simulated labels elsewhere."""
    return Test(metric, "auto", "auto", options)


TESTS: dict[str, Test] = {
    "spiegelhalter_z": limit("spiegelhalter_z", "normal"),
    "ecd": limit("ecd", "normal"),
    "calibration_in_the_large": limit("calibration_in_the_large", "normal"),
    "hosmer_lemeshow C": limit("hosmer_lemeshow", "chi_square"),
    "hosmer_lemeshow H": limit("hosmer_lemeshow", "chi_square", binning="equal_width"),
    "hosmer_lemeshow fitted here": limit(
        "hosmer_lemeshow", "chi_square_fitted_here", "for scores fitted to these rows; others it rejects too often"
    ),
    "hosmer_lemeshow top label": limit("hosmer_lemeshow", "chi_square", lens="top_label"),
    "hosmer_lemeshow_multinomial": Test(
        "hosmer_lemeshow_multinomial", "chi_square", "limit", {}, "rejects too rarely: scores differ inside a group"
    ),
    "bbt": limit("bbt", "series"),
    "ecce_mad": limit("ecce_mad", "series"),
    "ecce_mad top label": limit("ecce_mad", "series", lens="top_label"),
    "ecce_r": limit("ecce_r", "series"),
    "ks_top_r": limit("ks_top_r", "series"),
    "ks_within_top_r, r = 2": limit("ks_within_top_r", "series", r=2),
    "cox lr": limit("cox_slope", "lr"),
    "cox wald": limit("cox_slope", "wald"),
    "cox score": limit("cox_slope", "score"),
    "pws": limit("pws", "chi_square"),
    "sbct": limit("sbct", "chi_square"),
    "giviti_test": Test("giviti_test", "likelihood_ratio", "limit", {}),
    "skce_ul": limit("skce_ul", "asymptotic", **WIDTH),
    "ucme": limit("ucme", "chi_square", **WIDTH),
    "ucme sample": limit("ucme", "chi_square_sample", "rejects far too often unless rows are many", **WIDTH),
    "ecmmd": limit("ecmmd", "normal"),
    "knn_chi2": limit(
        "knn_chi2", "bonferroni", "rejects far too often unless rows are many: it takes far rows for near ones, so draw"
    ),
    "t_cal normal": limit(
        "t_cal", "normal", "for screening: the tail of the distribution is heavier than the normal one"
    ),
    "skce_uq distribution_free": Test("skce_uq", "distribution_free", "bound", WIDTH),
    "ece drawn": drawn("ece"),
    "lkce drawn": drawn("lkce"),
    "ecce_r drawn": drawn("ecce_r"),
    "drmsce_bcs drawn": drawn("drmsce_bcs"),
    "smece drawn": drawn("smece"),
    "brier drawn": drawn("brier"),
    "t_cal adaptive_joint": drawn("t_cal", "adaptive_joint"),
    "ecmmd pseudo_labels": drawn("ecmmd", "pseudo_labels"),
    "skce_uq bootstrap": limit("skce_uq", "bootstrap", **WIDTH),
}
AUTOMATIC = {
    f"{name} auto": test._replace(method="auto", promise="auto", documented="")
    for name, test in TESTS.items()
    if name
    in (
        *("spiegelhalter_z", "ecd", "calibration_in_the_large", "hosmer_lemeshow C", "hosmer_lemeshow H"),
        *("hosmer_lemeshow top label", "hosmer_lemeshow_multinomial", "bbt", "ecce_mad", "ecce_r", "ks_top_r"),
        *("ks_within_top_r, r = 2", "pws", "sbct", "giviti_test", "skce_ul", "ucme", "ecmmd"),
    )
} | {
    "expected_observed_ratio auto": auto("expected_observed_ratio"),
    "cox_slope auto": auto("cox_slope"),
    "cox_intercept auto": auto("cox_intercept"),
    "skce_uq auto": auto("skce_uq", **WIDTH),
}
TESTS |= AUTOMATIC
RESAMPLED = {name for name, test in TESTS.items() if test.promise == "drawn" or test.method == "bootstrap"}

DISTRIBUTIONS = {"even": (1.0, 1.0), "sharp": (0.5, 0.5), "skewed": (5.0, 1.0)}
Rows = tuple[Any, Any]


def _softmax(logits: Any) -> Any:
    raw = np.exp(logits - logits.max(axis=1, keepdims=True))
    return raw / raw.sum(axis=1, keepdims=True)


def _rare(rng: np.random.Generator, n: int, classes: int) -> Rows:
    if classes == 2:
        return rng.beta(0.5, 99.5, n), None
    return rng.dirichlet([99.5, *[0.5 / (classes - 1)] * (classes - 1)], n), None


def _five_grades(rng: np.random.Generator, n: int, classes: int) -> Rows:
    if classes == 2:
        return rng.choice([0.02, 0.06, 0.15, 0.3, 0.6], n), None
    return np.random.default_rng(5).dirichlet([1.0] * classes, 5)[rng.integers(5, size=n)], None


def _concentrated(rng: np.random.Generator, n: int, classes: int) -> Rows:
    if classes == 2:
        return rng.beta(300, 700, n), None
    return rng.dirichlet(1000 * np.arange(1, classes + 1) / (classes * (classes + 1) / 2), n), None


def _sharp_logits(rng: np.random.Generator, n: int, classes: int) -> Rows:
    if classes == 2:
        return 1 / (1 + np.exp(-rng.normal(0, 20, n))), None
    return _softmax(rng.normal(0, 20, (n, classes))), None


def _weighted(rng: np.random.Generator, n: int, classes: int) -> Rows:
    score = rng.random(n) if classes == 2 else rng.dirichlet([1.0] * classes, n)
    return score, rng.exponential(size=n)


SETTINGS: dict[str, Callable[[np.random.Generator, int, int], Rows]] = {
    "rare": _rare,
    "five grades": _five_grades,
    "concentrated": _concentrated,
    "sharp logits": _sharp_logits,
    "importance weights": _weighted,
}
"""Where null distributions for many rows are off: scores of each row, and its weight or None."""
ALTERNATIVES = {
    "power 1.3": lambda score: score**1.3,
    "temperature 1.25": temperature(1.25),
    "bump": bump(),
}
QUICK = (
    *("spiegelhalter_z", "ecd", "calibration_in_the_large", "hosmer_lemeshow C", "hosmer_lemeshow H"),
    *("bbt", "ecce_mad", "ecce_r", "pws"),
)
COX = ("cox lr", "cox wald", "cox score")


class Plan(NamedTuple):
    """Tests on the same rows, and how many runs they get for each number of rows."""

    tests: tuple[str, ...]
    runs: dict[int, int]
    classes: tuple[int, ...] = (2,)
    distributions: tuple[str, ...] = tuple(DISTRIBUTIONS)


SIZE = [
    Plan(QUICK, {100: 5000, 1000: 5000, 10_000: 5000}),
    Plan(("hosmer_lemeshow fitted here", "t_cal normal"), {100: 1000, 1000: 1000, 10_000: 1000}),
    Plan(COX, {100: 5000, 1000: 2000, 10_000: 300}),
    Plan(("sbct",), {100: 5000, 1000: 5000, 10_000: 1000}),
    Plan(("giviti_test",), {100: 5000, 1000: 2000, 10_000: 500}),
    Plan(("skce_ul",), {100: 5000, 1000: 5000, 10_000: 2000}),
    Plan(("ucme",), {100: 5000, 1000: 5000, 10_000: 500}),
    Plan(("ucme sample",), {100: 1000, 1000: 1000}),
    Plan(("ecmmd",), {100: 5000, 1000: 5000, 10_000: 1000}),
    Plan(("knn_chi2",), {100: 100, 1000: 100, 10_000: 100}),
    Plan(("skce_uq distribution_free",), {100: 1000, 1000: 1000}),
    Plan(("ecd", "spiegelhalter_z", "ks_top_r", "ecce_mad top label"), {100: 5000, 1000: 5000, 10_000: 1000}, (3, 10)),
    Plan(("ks_within_top_r, r = 2",), {100: 1000, 1000: 1000}, (3, 10)),
    Plan(("hosmer_lemeshow top label", "hosmer_lemeshow_multinomial"), {100: 5000, 1000: 5000, 10_000: 1000}, (3, 10)),
    Plan(("skce_ul",), {100: 5000, 1000: 2000, 10_000: 500}, (3, 10)),
    Plan(("ucme",), {100: 2000, 1000: 1000, 10_000: 200}, (3, 10)),
    Plan(("ecmmd",), {100: 2000, 1000: 300}, (3, 10)),
    Plan(("knn_chi2",), {100: 100, 1000: 100}, (3, 10)),
    Plan(("ece drawn",), {100: 1000, 1000: 1000}),
    Plan(("lkce drawn", "ecce_r drawn"), {100: 1000, 1000: 1000}),
    Plan(("brier drawn",), {100: 100, 1000: 100}),
    Plan(("drmsce_bcs drawn",), {100: 200, 1000: 200}),
    Plan(("smece drawn",), {100: 60}, distributions=("even",)),
    Plan(("t_cal adaptive_joint",), {100: 1000, 1000: 1000}),
    Plan(("ecmmd pseudo_labels",), {100: 500, 500: 500}),
    Plan(("skce_uq bootstrap",), {100: 1000, 500: 1000}),
    Plan(("skce_uq bootstrap",), {100: 500, 500: 500}, (3, 10)),
]
# What assess chooses, in settings that are hard for null distributions. Simulated labels keep their level by construction: 200 runs see
# whether they were needed and taken.
SUMS = tuple(f"{name} auto" for name in (*QUICK, "expected_observed_ratio"))
KERNELS = ("skce_ul auto", "ucme auto", "ecmmd auto")
CURVES = ("cox_slope auto", "cox_intercept auto", "sbct auto")
VECTORS = (
    *(
        "ecd auto",
        "spiegelhalter_z auto",
        "ks_top_r auto",
        "ks_within_top_r, r = 2 auto",
        "hosmer_lemeshow top label auto",
    ),
    "hosmer_lemeshow_multinomial auto",
)
HARD = [
    Plan(SUMS, {200: 200, 1000: 200, 2000: 200}, distributions=("rare",)),
    Plan(SUMS, {200: 200, 1000: 1000}, distributions=("five grades",)),
    Plan(SUMS, {200: 1000, 1000: 5000}, distributions=("concentrated",)),
    Plan(SUMS, {1000: 200, 2000: 200}, distributions=("sharp logits",)),
    Plan(SUMS, {200: 100, 2000: 500}, distributions=("importance weights",)),
    Plan(CURVES, {1000: 100}, distributions=("rare",)),
    Plan(CURVES, {1000: 500}, distributions=("five grades",)),
    Plan(CURVES, {200: 500}, distributions=("concentrated",)),
    Plan(CURVES, {2000: 200}, distributions=("sharp logits",)),
    Plan(CURVES[:2], {200: 100}, distributions=("importance weights",)),
    Plan(("giviti_test auto",), {1000: 100}, distributions=("rare",)),
    Plan(("giviti_test auto",), {200: 200}, distributions=("five grades", "concentrated")),
    Plan(("giviti_test auto",), {2000: 200}, distributions=("sharp logits",)),
    Plan(KERNELS, {1000: 100}, distributions=("rare", "sharp logits")),
    Plan(KERNELS, {1000: 200}, distributions=("five grades", "concentrated")),
    Plan(("ucme auto",), {2000: 500}, distributions=("importance weights",)),
    Plan(("skce_uq auto",), {200: 100}, distributions=("rare", "five grades", "concentrated", "sharp logits")),
    Plan(VECTORS, {200: 100, 1000: 100}, (3,), ("rare",)),
    Plan(VECTORS, {1000: 200}, (3,), ("five grades", "concentrated", "sharp logits")),
    Plan(VECTORS[:-1], {1000: 200}, (3,), ("importance weights",)),
    Plan((*KERNELS[1:], "skce_uq auto"), {200: 100}, (3,), ("rare", "five grades", "sharp logits")),
    Plan(("skce_ul auto",), {200: 100}, (3,), ("five grades", "sharp logits")),
]
POWER = [
    Plan((*QUICK, *COX), {500: 500, 2000: 500}),
    Plan(("sbct", "giviti_test", "skce_ul", "ucme", "ecmmd"), {500: 500, 2000: 500}),
    Plan(("ece drawn", "lkce drawn", "t_cal adaptive_joint", "skce_uq bootstrap"), {500: 200, 2000: 200}),
]

TRUTHS = {"calibrated": temperature(1.0), "temperature 1.5": temperature(1.5)}
COVERAGE_ROWS, RESAMPLES = 1000, 200
# Runs for each way to make an interval; "resampled" stands for percentile and basic, read off the same resamples.
COVERAGE: dict[str, dict[str, int]] = {
    "ece": {"resampled": 2000, "bca": 50, "corrected": 300},
    "ce2_db": {"resampled": 1000, "bca": 50, "corrected": 100},
    "drmsce_bcs": {"resampled": 300, "bca": 30},
    "l2ce_interval": {"asymptotic": 2000},
    "smece": {"resampled": 40},
    "ecce_mad": {"resampled": 1000, "bca": 50, "corrected": 200},
    "brier": {"normal": 2000, "resampled": 300, "gamma": 1000},
    "ecd": {"normal": 2000, "resampled": 300, "gamma": 1000},
    "cox_slope": {"asymptotic": 2000, "resampled": 100},
}


def parameters(distribution: str, classes: int) -> tuple[float, ...]:
    """Of the Beta or Dirichlet distribution of the scores."""
    first, second = DISTRIBUTIONS[distribution]
    return (first, *[second] * (classes - 1))
