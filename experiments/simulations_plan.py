"""The design of the simulations: tests and their validity, distributions of scores, alternatives, and numbers of runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from calibrant.inference.simulation.warps import bump, temperature
from calibrant.metrics.registry import catalogue

ALPHAS = (0.01, 0.05, 0.1)
DRAWS, SMALL_DRAWS, AUTO_DRAWS = 199, 39, 99
# Kernel bandwidths are fixed where their selection, which depends on scores only, would take longer than the test.
WIDTH = {"bandwidth": 0.5}


class Test(NamedTuple):
    """A test and its validity: ``asymptotic``, ``simulated`` (any number of rows) or ``bound`` (conservative).

    ``auto`` is the choice of `assess`, which is to hold its level in any setting.
    """

    __test__ = False

    metric: str
    method: str
    validity: str
    options: dict[str, Any]
    documented: str = ""
    """The documented limitation of a test that does not hold its level."""


def asymptotic(metric: str, method: str, documented: str = "", **options: Any) -> Test:
    """A test by an asymptotic null distribution."""
    return Test(metric, method, "asymptotic", options, documented)


def simulated(metric: str, method: str = "consistency", **options: Any) -> Test:
    """A test by simulated labels."""
    return Test(metric, method, "simulated", options)


def auto(metric: str, **options: Any) -> Test:
    """The test that `assess` chooses: asymptotic where that is accurate, by simulated labels elsewhere."""
    return Test(metric, "auto", "auto", options)


TESTS: dict[str, Test] = {
    "spiegelhalter_z": asymptotic("spiegelhalter_z", "normal"),
    "ecd": asymptotic("ecd", "normal"),
    "calibration_in_the_large": asymptotic("calibration_in_the_large", "normal"),
    "hosmer_lemeshow C": asymptotic("hosmer_lemeshow", "chi_square"),
    "hosmer_lemeshow H": asymptotic("hosmer_lemeshow", "chi_square", binning="equal_width"),
    "hosmer_lemeshow fitted here": asymptotic(
        "hosmer_lemeshow", "chi_square_fitted_here", "for scores fitted to these rows; it rejects others too often"
    ),
    "hosmer_lemeshow top label": asymptotic("hosmer_lemeshow", "chi_square", lens="top_label"),
    "hosmer_lemeshow_multinomial": Test(
        "hosmer_lemeshow_multinomial", "chi_square", "asymptotic", {}, "conservative: scores vary within groups"
    ),
    "bbt": asymptotic("bbt", "series"),
    "ecce_mad": asymptotic("ecce_mad", "series"),
    "ecce_mad top label": asymptotic("ecce_mad", "series", lens="top_label"),
    "ecce_r": asymptotic("ecce_r", "series"),
    "ks_top_r": asymptotic("ks_top_r", "series"),
    "ks_within_top_r, r = 2": asymptotic("ks_within_top_r", "series", r=2),
    "cox lr": asymptotic("cox_slope", "lr"),
    "cox wald": asymptotic("cox_slope", "wald"),
    "cox score": asymptotic("cox_slope", "score"),
    "pws": asymptotic("pws", "chi_square"),
    "sbct": asymptotic("sbct", "chi_square"),
    "giviti_test": Test("giviti_test", "likelihood_ratio", "asymptotic", {}),
    "skce_ul": asymptotic("skce_ul", "asymptotic", **WIDTH),
    "ucme": asymptotic("ucme", "chi_square", **WIDTH),
    "ucme sample": asymptotic("ucme", "chi_square_sample", "rejects far too often unless there are many rows", **WIDTH),
    "ecmmd": asymptotic("ecmmd", "normal"),
    "knn_chi2": asymptotic(
        "knn_chi2",
        "bonferroni",
        "rejects far too often unless there are many rows: neighbours are too distant; simulate instead",
    ),
    "t_cal normal": asymptotic(
        "t_cal", "normal", "for screening: the null distribution has a heavier tail than the normal"
    ),
    "skce_uq distribution_free": Test("skce_uq", "distribution_free", "bound", WIDTH),
    "ece drawn": simulated("ece"),
    "lkce drawn": simulated("lkce"),
    "ecce_r drawn": simulated("ecce_r"),
    "drmsce_bcs drawn": simulated("drmsce_bcs"),
    "smece drawn": simulated("smece"),
    "brier drawn": simulated("brier"),
    "t_cal adaptive_joint": simulated("t_cal", "adaptive_joint"),
    "ecmmd pseudo_labels": simulated("ecmmd", "pseudo_labels"),
    "skce_uq bootstrap": asymptotic("skce_uq", "bootstrap", **WIDTH),
}
AUTOMATIC = {
    f"{name} auto": test._replace(method="auto", validity="auto", documented="")
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
RESAMPLED = {name for name, test in TESTS.items() if test.validity == "simulated" or test.method == "bootstrap"}

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
"""Settings in which asymptotic null distributions are inaccurate: scores of each row, and weights or None."""
GRADES = {
    "3 grades": (0.05, 0.2, 0.5),
    "5 grades": (0.02, 0.06, 0.15, 0.3, 0.6),
    "8 grades": (0.002, 0.005, 0.01, 0.03, 0.08, 0.15, 0.3, 0.6),
}


def few_scores(setting: str, rng: np.random.Generator, n: int) -> Any:
    """Calibrated scores with few distinct values or few events."""
    if setting in GRADES:
        return rng.choice(GRADES[setting], n)
    if setting == "points":
        return 1 / (1 + np.exp(4 - 0.35 * rng.binomial(20, 0.4, n)))
    mean = {"1% events": 0.01, "0.2% events": 0.002}[setting]
    return rng.beta(1, 1 / mean - 1, n)


FEW = {
    **{name: f"{name.split()[0]} equally frequent scores, {min(of):g} to {max(of):g}" for name, of in GRADES.items()},
    "points": "0 to 20 points, Binomial(20, 0.4), with log-odds 0.35 points - 4",
    "1% events": "Beta(1, 99)",
    "0.2% events": "Beta(1, 499)",
}
"""Settings with few distinct scores or few events, in which each metric is tested as `assess` does by default."""
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
# The choice of `assess` in settings that are difficult for asymptotic distributions. Simulated labels hold their level by
# construction: 200 runs show whether they were needed and used.
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
TIED, RARE = ("3 grades", "5 grades", "8 grades", "points"), ("1% events", "0.2% events")
# Metrics with a test of their own (some take longer), and all others, whose labels are always simulated.
OWN = (
    *("spiegelhalter_z", "ecd", "calibration_in_the_large", "expected_observed_ratio", "hosmer_lemeshow"),
    *("ecce_mad", "ecce_r", "cce", "bbt", "ks_top_r", "ks_within_top_r"),
    *("pws", "skce_uq", "skce_ul", "ucme", "ecmmd"),
)
OWN_SLOWLY = ("cox_intercept", "cox_slope", "fixed_slope_intercept", "sbct")
SLOWLY = ("klce", "fott_pl", "fott_pl3", "fott_iop", "lce", "mlce", "knn_chi2", "dce_lower", "gece_db", "bkde", "dkde")
# The mean confidence does not depend on the labels, and has no test.
UNTESTED = ("mean_confidence",)
QUICKLY = tuple(metric for metric in catalogue if metric not in (*OWN, *OWN_SLOWLY, *SLOWLY, *UNTESTED))
# 19 resamples suffice for the level 0.05: a test by simulated labels then rejects if the observed value is the most extreme of 20.
FEW_DRAWS = 19
EVERY_METRIC = [
    Plan(OWN, {100: 50}, distributions=(*TIED, *RARE)),
    Plan(OWN, {1000: 200, 10_000: 30}, distributions=TIED),
    Plan(OWN, {1000: 50, 10_000: 20}, distributions=RARE),
    Plan(OWN_SLOWLY, {100: 20, 1000: 40, 10_000: 8}, distributions=(*TIED, *RARE)),
    Plan(QUICKLY, {100: 12}, distributions=(*TIED, *RARE)),
    Plan(SLOWLY, {100: 4}, distributions=(*TIED, *RARE)),
]
POWER = [
    Plan((*QUICK, *COX), {500: 500, 2000: 500}),
    Plan(("sbct", "giviti_test", "skce_ul", "ucme", "ecmmd"), {500: 500, 2000: 500}),
    Plan(("ece drawn", "lkce drawn", "t_cal adaptive_joint", "skce_uq bootstrap"), {500: 200, 2000: 200}),
]

TRUTHS = {"calibrated": temperature(1.0), "temperature 1.5": temperature(1.5)}
COVERAGE_ROWS, RESAMPLES = 1000, 200
# Runs for each type of interval.
COVERAGE: dict[str, dict[str, int]] = {
    "ece": {"percentile": 2000, "bootstrap": 300},
    "ce2_db": {"percentile": 1000, "bootstrap": 100},
    "drmsce_bcs": {"percentile": 300},
    "l2ce_interval": {"asymptotic": 2000},
    "smece": {"percentile": 40},
    "ecce_mad": {"percentile": 1000, "bootstrap": 200},
    "brier": {"normal": 2000, "percentile": 300, "gamma": 1000},
    "ecd": {"normal": 2000, "percentile": 300, "gamma": 1000},
    "cox_slope": {"asymptotic": 2000, "percentile": 100},
}


def parameters(distribution: str, classes: int) -> tuple[float, ...]:
    """Parameters of the Beta or Dirichlet distribution of the scores."""
    first, second = DISTRIBUTIONS[distribution]
    return (first, *[second] * (classes - 1))
