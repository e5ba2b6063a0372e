"""Options at other values than their defaults: a value, an interval, a test, counts, sketches and the docstring obey each of them."""

import math
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference.resampling import OPTIONS_OF_ROWS
from calibrant.metrics import Metric
from tests.calling import raises
from tests.in_turn import in_turn

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

ROWS = 48


@dataclass(frozen=True)
class Case:
    """One value of an option of a metric, with what it requires of the others."""

    metric: Metric
    option: str
    value: Any
    beside: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"{self.metric.id}-{self.option}={self.value!r}"

    @property
    def keywords(self) -> dict[str, Any]:
        return {**self.beside, self.option: self.value}


# Values of options whose type does not tell them, for every metric that has them.
VALUES: dict[str, tuple[Any, ...]] = {
    "anchors": (3, 4),
    "bandwidth": (0.1, 0.3),
    "base": (2, 10),
    "binning": ("equal_mass", cal.EqualWidth(closed="left", min_rows=5)),
    "bins": (4, (0, 0.3, 0.7, 1)),
    "class_weight": ([1, 2], [2, 1]),
    "degree": (1,),
    "depth": (1, 2),
    "eps": (0.02, 0.3),
    "feature": (1,),
    "floor": (1e-3, 0.05),
    "interval": ((0.4, 0.6), (0.2, 0.9)),
    "k": (1, 2),
    "lags": (1, 3),
    "landmarks": (5, 10),
    "locations": (3, 5),
    "matrix": (np.eye(2), 2 * np.eye(2)),
    "min_count": (2, 5),
    "neighbours": (3, 6),
    "norm": (3, math.inf),
    "partition_weight": ([1], [2]),
    "partitions": ([np.arange(ROWS) % 2], [np.arange(ROWS) % 3]),
    "proximity": (np.linspace(0, 1, ROWS), np.linspace(0, 1, ROWS) ** 2),
    "q": (0.6, 0.75),
    "r": (2,),
    "rng": (1, 2),
    "size": (3, 7),
    "span": (0.6, 0.9),
    "standardise": (True, False),
    "threshold": (0.05, 0.2),
    "views": (1, 2),
    "width": (0.1, 0.25),
    "widths": ((0.1,), (0.05, 0.2)),
}
SMOOTHED = ("ici", "ep", "e50", "e90", "emax")
# Those of some metrics.
OWN_VALUES: dict[tuple[str, str], tuple[Any, ...]] = {
    **{(id, "binning"): ("simplex_grid", cal.KDTree(0.3)) for id in ("gece", "gece_db")},
    ("multiclass_ce", "binning"): ("auto", cal.KDTree(0.3)),
    **{(id, "bins"): (4, 7) for id in ("vece", "mvce", "t_cal", "l2ce_interval")},
    **{(id, "exact"): (True, False) for id in ("skce_b", "skce_uq")},
    **{(id, "knots"): (3, 4) for id in (*SMOOTHED, "eci")},
    **{(id, "norm"): (1.5, 2) for id in ("bkde", "dkde", "skde")},
    ("knn_chi2", "power"): (0.6, 0.9),
    ("pws", "covariance"): ("HC0", "ols"),
    **{(id, "knots"): (2, (0.3, 0.6)) for id in ("fott_pl", "fott_pl3")},
    ("knn_chi2", "min_expected"): (1, 2),
    ("tce", "bins"): ((0, 0.3, 0.7, 1), "levels"),
    ("multiclass_ce", "distance"): ("l1", "l2"),
    ("gece", "distance"): ("l1", "l2"),
    **{(id, "gamma"): (0.05, 0.15) for id in ("gece", "gece_db", "multiclass_ce")},
    ("tce", "max_block"): (20, 40),
    ("ecmmd", "n_draws"): (2, 3),
    ("vce_db", "n_draws"): (20, 50),
}
# What options require of others.
WHOLE_VECTORS = ("gece", "gece_db", "multiclass_ce")
BESIDE: dict[tuple[str, str], dict[str, Any]] = {
    **{(id, "bins"): {"binning": "simplex_grid"} for id in WHOLE_VECTORS},
    **{(id, "class_weight"): {"distance": "l2"} for id in WHOLE_VECTORS},
    **{(id, "norm"): {"distance": "lp"} for id in WHOLE_VECTORS},
    **{(id, "matrix"): {"distance": "mahalanobis"} for id in WHOLE_VECTORS},
    **{(id, "indefinite"): {"distance": "mahalanobis", "matrix": np.eye(2)} for id in WHOLE_VECTORS},
    **{(id, "interval"): {"distance": "interval", "lens": "top_label"} for id in WHOLE_VECTORS},
    **{("multiclass_ce", option): {"binning": "auto"} for option in ("gamma", "min_size")},
    **{(id, "binning"): {"bins": 5} for id in ("drmsce_bcs", "ece_sweep")},
    ("bkde", "debiased"): {"norm": 2},
    ("knn_chi2", "neighbours"): {"min_expected": 0.5},
    ("pws", "lags"): {"covariance": "HAC"},
    ("fece", "eps"): {"relative": True},
    **{(id, "degree"): {"smoother": "loess"} for id in (*SMOOTHED, "eci")},
    **{(id, "knots"): {"smoother": "rcs"} for id in (*SMOOTHED, "eci")},
    **{(id, "delta"): {"smoother": "lowess"} for id in SMOOTHED},
}
# Their default intervals take seconds, or are those of another.
LASTING = ("dce_lower", "fott_iop", "vce_db", "sbct", "eci", "emax", "ep", "e50", "e90")
# Values that other tests show to raise for these rows.
UNDEFINED = {("ce2_db", "raise"), ("drmsce", "raise"), ("drmsce_bcs", "raise")}


def values_of(metric: Metric, option: str) -> tuple[Any, ...]:
    """Two values of an option other than its default, or as many as there are."""
    if (metric.id, option) in OWN_VALUES:
        return OWN_VALUES[metric.id, option]
    default, hint = metric.options[option], get_type_hints(metric.formula).get(option)
    choices = [each for kind in (hint, *get_args(hint)) if get_origin(kind) is Literal for each in get_args(kind)]
    if choices:
        return tuple(choice for choice in choices if choice != default and (metric.id, choice) not in UNDEFINED)[:2]
    if option in VALUES:
        return tuple(value for value in VALUES[option] if not np.array_equal(value, default))
    if isinstance(default, bool):
        return (not default,)
    return (default + 1, default + 2) if isinstance(default, int) else (0.5 * default, 1.5 * default)


CASES = [
    Case(metric, option, value, BESIDE.get((metric.id, option), {}))
    for metric in cal.catalogue.values()
    for option in metric.options
    for value in values_of(metric, option)
]
FIRST = {(case.metric.id, case.option): case for case in reversed(CASES)}


def first_of_each(cases: list[Case]) -> list[Any]:
    """The second values of an option are left to the long form."""
    return [
        pytest.param(
            case, id=repr(case), marks=[] if FIRST[case.metric.id, case.option] is case else [pytest.mark.deep]
        )
        for case in cases
    ]


# Options of one value per row, those with the name of a keyword of `interval` or `assess`, and one that some resamples do not define.
NOT_RESAMPLED = {*OPTIONS_OF_ROWS, "rng", "alpha", "debiased"}


def predictions(times: Any = None) -> cal.Predictions:
    """Overconfident scores with ties, each in a cell of a sketch alone; the rows as often as `times` says."""
    rng = np.random.default_rng(11)
    score = rng.integers(1, 32, ROWS) / 32
    y = (rng.random(ROWS) < 0.3 + 0.4 * score).astype(int)
    rows = np.arange(ROWS) if times is None else np.repeat(np.arange(ROWS), times)
    groups, features = rng.integers(0, 3, ROWS), rng.integers(0, 9, (ROWS, 2)).astype(float)
    return cal.Predictions(y[rows], score[rows], groups=groups[rows], features=features[rows])


DATA = predictions()
COUNTS = np.random.default_rng(12).integers(1, 4, ROWS)
REPEATED = predictions(COUNTS)
COUNTED = cal.Predictions(DATA.labels, DATA.probs, counts=COUNTS, groups=DATA.groups, features=DATA.features)
SKETCH = cal.Sketch.of(DATA.labels, DATA.probs)


def same(found: float, wanted: float) -> bool:
    return found == pytest.approx(wanted, rel=1e-9, abs=1e-11)


@in_turn("case", list(FIRST.values()))
def test_a_value_obeys_an_option(case: Case) -> None:
    """The value is a number, the same for counts and for repeated rows, and for a sketch and its rows."""
    metric, keywords = case.metric, case.keywords
    value = float(metric(DATA, **keywords))
    assert not math.isnan(value)
    counts = metric.counts and keywords.get("covariance") != "HAC"
    if counts and case.option not in OPTIONS_OF_ROWS and metric.info.repeatable and metric.info.deterministic:
        assert same(metric(COUNTED, **keywords), metric(REPEATED, **keywords))
    if counts and metric.sketch and metric.takes == "View":
        assert same(metric(SKETCH, **keywords, lens="binary"), metric(DATA, **keywords, lens="binary"))


@pytest.mark.deep
@in_turn("case", [case for case in CASES if FIRST[case.metric.id, case.option] is not case])
def test_a_second_value_obeys_an_option(case: Case) -> None:
    test_a_value_obeys_an_option.__wrapped__(case)  # type: ignore[attr-defined]


@pytest.mark.sampled
@pytest.mark.parametrize("case", first_of_each([case for case in CASES if case.option not in NOT_RESAMPLED]))
def test_intervals_and_tests_obey_an_option(case: Case, deep: bool) -> None:
    """By the default interval for one option of each quick metric; others, in the short form, by percentiles of replicates."""
    metric, keywords = case.metric, case.keywords
    first = case.option == next(iter(metric.options)) and metric.id not in LASTING
    method = "auto" if deep or first else "percentile"
    found = cal.interval(DATA, metric=metric, method=method, level=0.5, n_resamples=20, **keywords)
    assert found.value == pytest.approx(metric(DATA, **keywords), rel=1e-12)
    assert found.low <= found.high
    if metric.id == "mean_confidence":
        return
    tested = cal.assess(DATA, metric=metric, n_resamples=19, **keywords)
    assert 0 <= tested.pvalue <= 1
    assert tested.statistic == found.value


# Further values that are wrong: above the range, of another type or shape, no distribution.
NO_WIDTHS = (0, math.inf, None, "wide")
NO_PLACES = (
    *(([[0.2, 0.8]], classes) for classes in ([2], [0, 1], [0.5])),
    *((places, [0]) for places in ([[0.2, 0.3, 0.5]], [[0.2, math.nan]], [[-0.3, 1.3]], [["a", "b"]], [])),
)
WRONG: dict[tuple[str, str], tuple[Any, ...]] = {
    **{(id, "bandwidth"): NO_WIDTHS for id in ("msce", "sece", "ls_ece", "bkde", "dkde", "skde", "klce")},
    **{(id, "bandwidth"): (0, "mean", math.inf) for id in ("skce_b", "skce_uq", "skce_ul", "lce", "mlce")},
    **{(id, "norm"): (math.inf, "l2") for id in ("bkde", "dkde", "skde")},
    ("bkde", "debiased"): ("no",),
    ("ecmmd", "neighbours"): (0,),
    ("knn_chi2", "anchors"): (0, "six", [], [0.5, 0.3, 0.2], [0.5, 0.6], [[1.5, -0.5]]),
    ("knn_chi2", "neighbours"): (0,),
    ("knn_chi2", "eps"): (0,),
    ("knn_chi2", "power"): (1,),
    ("knn_chi2", "alpha"): (1.5,),
    ("ucme", "locations"): (0, "ten", 2.5, (), *NO_PLACES),
    ("skce_uq", "exact"): ("yes",),
    ("skce_b", "kernel"): ("laplace",),
    ("skce_ul", "block"): (1, 2.0),
    ("ckce", "ridge"): (0,),
    ("ckce", "landmarks"): (0,),
    ("ici", "span"): (0, math.inf),
    ("ici", "degree"): (3, 1.5),
    ("ici", "knots"): (6,),
    ("ici", "smoother"): ("spline",),
    ("ici", "surface"): ("flat",),
    ("ep", "q"): (1.1, True, "half"),
    ("fott_pl", "knots"): (1.5, [0.2], [0.5, 0.5], [1, 0], "many", [0, math.nan, 1]),
    ("fott_iop", "pieces"): (0,),
    ("ece_widths", "widths"): ("0.1", [], [0], [2], 0.1, ["a"], [[0.1]], [1e-9]),
    ("mcm", "depth"): (0,),
    ("mcm", "cuts"): (1,),
    ("mcm", "min_size"): (0,),
    ("mcm", "subpopulations"): ("forest",),
    ("vce_db", "n_draws"): (1,),
}
# Options that no single number can be wrong for, and one that is a rule of bins under another name.
UNCHECKED = {("eci", "penalty"), ("ecmmd", "n_draws"), ("pce", "partitions"), ("piece", "proximity_bins")}


@in_turn(
    "case",
    [
        case
        for case in FIRST.values()
        if not isinstance(case.metric.options[case.option], bool)
        and case.option not in ("rng", "standardise")
        and (case.metric.id, case.option) not in UNCHECKED
    ],
)
def test_a_value_out_of_range_is_named(case: Case) -> None:
    for wrong in (-1, math.nan, object(), *WRONG.get((case.metric.id, case.option), ())):
        with raises(cal.CalibrantError, case.option):
            case.metric(DATA, **case.beside | {case.option: wrong})


BINNED = [metric for metric in cal.catalogue.values() if "binning" in metric.options and "rule" in metric.arguments()]


@pytest.mark.parametrize("metric", BINNED, ids=lambda metric: metric.id)
def test_small_bins_are_merged_wherever_a_metric_bins(metric: Metric) -> None:
    """One bin of all rows, by its number or by merging all: a formula that overlooks the minimum has another value."""
    beside: dict[str, Any] = {"lens": "top_label"} if metric.id in WHOLE_VECTORS else {}
    if isinstance(metric.options["bins"], str):
        beside["bins"] = None  # instead of a search
    rules = cal.EqualWidth(1), cal.EqualWidth(9, min_rows=ROWS)
    assert same(*(metric(DATA, binning=rule, **beside) for rule in rules))
    resampled: dict[str, Any] = {"method": "percentile", "level": 0.5, "n_resamples": 20}
    merged, plain = (cal.interval(DATA, metric=metric, binning=rule, **resampled, **beside) for rule in rules)
    if metric.lens != "classwise":
        tiny = cal.Predictions([0, 1, 1, 0, 1, 0], np.arange(1, 7) / 8, groups=[0, 1] * 3, features=np.eye(6)[:, :2])
        tested = cal.assess(tiny, metric=metric, method="enumeration", binning=cal.EqualWidth(3, min_rows=2), **beside)
        assert 0 <= tested.pvalue <= 1
    assert same(merged.low, plain.low)
    assert same(merged.high, plain.high)
