"""The facts of each entry against computation: tests, use cases, sides of the ideal, alternative, range, proper, row means."""

import contextlib
import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant import Predictions
from calibrant.metrics import Metric
from calibrant.metrics.properties import SLOW
from calibrant.metrics.registry import OWN_TESTS
from calibrant.metrics.use_cases import use_cases
from tests.in_turn import in_turn

from .problems import (
    COLUMNS,
    Problem,
    enumerated,
    every_metric_in_turn,
    leaning_forecasts,
    metrics_that,
    mixed_with_uniform,
    value,
)

# Sure forecasts are what reaches the ends of ranges.
pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.InputWarning")


def sample(metric: Metric, seed: int = 3, n: int = 300) -> Predictions:
    """Calibrated rows of a shape that the metric reads, many enough for every test."""
    rng = np.random.default_rng(seed)
    k = 3 if metric.id in ("wsmcs",) else 2
    data = cal.inference.make_calibrated(n, distribution=(2,) * k, rng=seed)
    words = {"groups": rng.integers(0, 3, n), "features": rng.normal(size=(n, 2))}
    return Predictions(data.y_true, data.y_prob, **{word: words[word] for word in metric.needs if word in words})


@every_metric_in_turn
def test_the_tests_of_a_metric_are_those_that_assess_takes(metric: Metric) -> None:
    assert metric.to_dict()["tests"] == metric.tests == tuple(OWN_TESTS.get(metric.id, ()))
    rows = sample(metric)
    for method in metric.tests:
        found = cal.assess(rows, metric=metric, method=method, n_resamples=299, rng=0)
        assert (found.method, found.metric) == (method, metric.id)
        assert 0 <= found.pvalue <= 1
    if not metric.tests:
        # The mean confidence has no test at all, whatever the method.
        with pytest.raises(
            cal.errors.ArgumentError, match="method" if metric.id != "mean_confidence" else "metric: mean_"
        ):
            cal.assess(rows, metric=metric, method="normal", rng=0)


# Tests that count rows, of metrics that take importance.
UNWEIGHTED = {
    *((id, method) for id in ("cox_slope", "cox_intercept") for method in ("profile", "lr", "wald")),
    *((id, "distribution_free") for id in ("skce_uq", "skce_b")),
    ("ucme", "chi_square_sample"),
}
# Those that draw, whose draws follow the rows, are held by tests of their own.
DRAWN = {"bootstrap", "permutation", "pseudo_labels", "adaptive", "adaptive_joint"}
CLOSED = [
    (metric.id, method)
    for metric in cal.catalogue.values()
    for method in metric.tests
    if method not in DRAWN and not metric.info.order_dependent
]


@in_turn("test", CLOSED)
def test_a_test_in_closed_form_knows_counts_importance_sides_and_no_order(test: tuple[str, str]) -> None:
    id, method = test
    metric, rng = cal.catalogue[id], np.random.default_rng(1)
    rows = sample(metric, n=120)
    score, label = np.round(np.asarray(rows.probs), 3).clip(0.001, 0.999), np.asarray(rows.labels)
    counts, weight = rng.integers(0, 4, 120), rng.random(120) + 0.2

    def pvalue(order: Any = slice(None), **keywords: Any) -> float:
        beside = {} if rows.groups is None else {"groups": rows.groups[order]}
        data = Predictions(label[order], score[order], **beside, **keywords)
        return cal.assess(data, metric=metric, method=method, rng=0).pvalue

    plain = pvalue()
    assert pvalue(rng.permutation(120)) == pytest.approx(plain, rel=1e-8)
    assert pvalue(counts=counts) == pytest.approx(pvalue(np.repeat(np.arange(120), counts)), rel=1e-7)
    assert pvalue(sample_weight=np.full(120, 3.0)) == pytest.approx(plain, rel=1e-8)
    if test in UNWEIGHTED or not metric.importance:
        with pytest.raises(cal.errors.WeightsNotSupportedError):
            pvalue(sample_weight=weight)
    else:
        assert pvalue(sample_weight=7 * weight) == pytest.approx(pvalue(sample_weight=weight), rel=1e-8)
    for side in {"greater", "less", "two-sided"} - set(OWN_TESTS[id][method].sides):
        with pytest.raises(cal.errors.ArgumentError) as caught:
            cal.assess(rows, metric=metric, method=method, alternative=side)
        assert caught.value.argument == "alternative"
    assert metric.alternative in OWN_TESTS[id][method].sides


@every_metric_in_turn
def test_every_use_case_can_be_asked_for(metric: Metric) -> None:
    for use_case in metric.use_cases:
        assert use_case in use_cases()
        assert metric.id in cal.recommend(use_case).metrics
    assert not metric.info.recommended or metric.use_cases


# Estimators of an error that may fall below 0 by sampling noise: their sign shows no direction.
CENTRED = {"ce2_db", "ece_db", "gece_db", "vce_db", "t_cal", "l2ce_interval", "skce_uq", "skce_ul", "klce", "ecmmd"}
CENTRED |= {"ce_variational"}


@every_metric_in_turn
def test_a_value_on_either_side_of_the_ideal_is_signed_or_centred(metric: Metric) -> None:
    low, high = metric.range
    inside = metric.ideal is not None and low < metric.ideal < high
    assert inside == (metric.info.signed or metric.id in CENTRED)
    if metric.sides is not None:
        assert metric.info.sign_of != "nothing"
        assert len(set(metric.sides)) == 2


def levels(metric: Metric, shift: float) -> float:
    """The value where the truth of scores of one class is higher (or lower) by `shift` everywhere."""
    score = np.linspace(0.25, 0.75, 21)
    ones = np.round(1000 * (score + shift)).astype(int)
    counts = np.column_stack([1000 - ones, ones]).ravel()
    return metric(cal.Predictions(np.tile([0, 1], 21), np.repeat(score, 2), counts=counts))


@metrics_that(lambda m: m.info.signed and m.info.sign_of == "midpoint")
def test_signs_at_one_half(metric: Metric) -> None:
    for shift, word in ((0.1, "underestimates at 0.5"), (-0.1, "overestimates at 0.5")):
        assert metric.direction(levels(metric, shift), "binary") == word


def truths(shape: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Forecasts in sixteenths, and outcome parts that are calibrated, too extreme, too moderate, and moved to one class."""
    forecasts = np.array([[16 - a, a] for a in range(3, 14)])
    if shape == "three":
        forecasts = np.array([[10, 3, 3], [3, 4, 9], [8, 3, 5], [4, 7, 5], [3, 10, 3], [5, 5, 6]])
    elif COLUMNS[shape] > 3:
        forecasts = leaning_forecasts(shape)
    k = forecasts.shape[1]
    whole = 2 * k * forecasts
    moved = np.zeros_like(whole)
    moved[:, 0], moved[:, 1] = -k, k
    toward = mixed_with_uniform(forecasts, toward=True)
    return forecasts, {
        "calibrated": whole,
        "too extreme": toward,
        "too moderate": np.maximum(2 * whole - toward, 0),
        "too low": whole + moved,
        "too high": whole - moved,
    }


@pytest.mark.sampled
@pytest.mark.parametrize("shape", ["binary", "three"])
@metrics_that(lambda m: m.alternative == "greater" and not m.info.signed and m.proper == "no" and m.id not in CENTRED)
def test_where_larger_speaks_against_calibration_nothing_else_lowers_the_value(metric: Metric, shape: str) -> None:
    """A metric that miscalibration can lower must be tested on both sides."""
    if shape == "binary" and "labels" in metric.needs:
        pytest.skip("needs named classes")
    forecasts, outcomes = truths(shape)
    found = {}
    for name, parts in outcomes.items():
        problem, counts = enumerated(shape, forecasts, parts)
        rows = np.random.default_rng(18).permutation(np.repeat(np.arange(problem.n), 5 * counts))
        found[name] = value(metric, problem.take(rows))
    assert min(found.values()) >= found["calibrated"] - 1e-6 * max(1.0, abs(found["calibrated"])), found


# A bound that only options, lenses or many classes reach.
WIDER = {"ecd", "l1_eps", "huber", "t_cal", "l2ce_interval", "skce_uq", "skce_ul", "klce", "ecmmd", "mmce_w"}
WIDER |= {"mean_confidence", "vce_db", "ici", "ep", "e50", "e90", "emax", "fott_iop", "cox_intercept", "cox_slope"}


def extreme_problems() -> list[tuple[np.ndarray, np.ndarray]]:
    found = []
    for n in (1, 2, 3, 10, 40):
        y = np.arange(n) % 2
        for label in (y, np.zeros(n, int), np.ones(n, int)):
            found += [
                (label, score)
                for score in (1.0 - y, y * 1.0, np.ones(n), np.zeros(n), np.full(n, 0.5), np.full(n, 1e-9))
            ]
        for k in (3, 10):
            right = np.arange(n) % k
            found += [(right, np.eye(k)[(right + step) % k]) for step in range(2)]
            found += [(np.zeros(n, int), np.full((n, k), 1 / k)), (np.zeros(n, int), np.eye(k)[np.ones(n, int)])]
    # Right and far from sure: many rows of two classes, and ten classes that are all found.
    found += [
        (np.arange(400) % 2, 0.1 + 0.8 * (np.arange(400) % 2)),
        (np.arange(40) % 10, 0.09 + 0.1 * np.eye(10)[np.arange(40) % 10]),
    ]
    rng = np.random.default_rng(0)
    return [*found, *((rng.integers(0, 2, n), np.round(rng.beta(0.3, 0.3, n), 1)) for n in (20, 60) for _ in range(4))]


@pytest.mark.sampled
@metrics_that(lambda m: m.id not in WIDER)
def test_the_range_is_reached(metric: Metric) -> None:
    """A range wider than the values says nothing: both bounds are approached by some extreme rows."""
    low, high = metric.range
    # Without weights the least value of ce2_db is -1/4, of ce_variational -1/2; two classes give -1/4 of gece_db, and many its least value.
    reach = {"ce2_db": 0.3, "ce_variational": 0.5, "gece_db": 0.12}.get(metric.id, 0.03)
    below, above = (-3 if low == -math.inf else low + reach), (3 if high == math.inf else high - reach)
    least, most = math.inf, -math.inf
    for y, p in extreme_problems():
        problem = Problem("extreme", y, p, np.arange(len(y)) % 2, np.arange(2.0 * len(y)).reshape(-1, 2))
        with contextlib.suppress(cal.CalibrantError):
            found = value(metric, problem)
            least, most = min(least, found), max(most, found)
        if least <= below and most >= above:
            return
    pytest.fail(f"only values from {least} to {most}")


@every_metric_in_turn
def test_the_order_of_growth_is_one_of_the_known_ones(metric: Metric) -> None:
    """Rules on the number of rows read these words."""
    sorts = {"N", "N K", "N log N", "N K log N", "N log N per step", "N K log N per step"}
    assert metric.info.cost in sorts | SLOW
