"""The properties by which metrics are chosen: each claim of an entry is computed, and so is each denial.

Weights, order and tests of their own have files of theirs (test_weights, test_order, test_facts).
"""

import itertools
import json
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.metrics import Metric
from calibrant.metrics.documentation import build_doc
from calibrant.metrics.properties import PROPERTIES, SLOW
from calibrant.metrics.use_cases import use_cases

from .problems import Problem, enumerated, every_metric, every_metric_in_turn, metrics_that, problem_of, value
from .test_facts import truths

# Scores at 0 and 1 are asked for, and their log-odds are clipped.
pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.InputWarning")
TIMES = Path(__file__).parent.parent.parent / "tools" / "metric_times.json"


def simplex(k: int, parts: int) -> list[tuple[int, ...]]:
    """All vectors of k positive whole numbers that sum to `parts`."""
    return [cut for cut in itertools.product(range(1, parts), repeat=k) if sum(cut) == parts]


def expected(metric: Metric, forecast: tuple[int, ...], truth: tuple[int, ...]) -> float:
    """The value where every row has one forecast and the labels occur as often as the truth says."""
    parts = sum(forecast)
    p = np.tile(np.array(forecast) / parts, (len(truth), 1))
    return metric(cal.Predictions(np.arange(len(truth)), p, counts=np.array(truth), classes=list(range(len(truth)))))


@metrics_that(lambda m: m.properties["proper"])
@pytest.mark.parametrize(("k", "parts"), [(2, 12), (3, 7)])
def test_a_proper_score_is_best_at_the_truth_alone(metric: Metric, k: int, parts: int) -> None:
    grid = simplex(k, parts)
    for truth in grid:
        values = {forecast: expected(metric, forecast, truth) for forecast in grid}
        best = values.pop(truth)
        assert min(values.values()) > best + 1e-6, (truth, min(values, key=values.__getitem__))


@metrics_that(lambda m: m.is_row_mean and not m.properties["proper"] and not m.info.signed and m.id != "smbs")
def test_a_loss_that_is_not_proper_has_a_better_forecast_than_the_truth(metric: Metric) -> None:
    grid = simplex(2, 12)
    assert any(
        expected(metric, forecast, truth) < expected(metric, truth, truth) - 1e-9 for truth in grid for forecast in grid
    )


@cache
def shifted(metric: Metric, by: float) -> float:
    """The value where one class has scores above 1/2 that are all too high by `by`; so is then the top label."""
    score = np.linspace(0.72, 0.98, 27) if by > 0 else np.linspace(0.52, 0.78, 27)
    ones = np.round(1000 * (score - by)).astype(int)
    counts = np.column_stack([1000 - ones, ones]).ravel()
    y, p = np.tile([0, 1], 27), np.repeat(score, 2)
    problem = Problem("shifted", y, p, np.zeros(54, int), np.zeros((54, 1)))
    if metric.counts:
        return value(metric, problem, counts=counts)
    rows = np.random.default_rng(4).permutation(np.repeat(np.arange(54), counts // 10))
    return value(metric, problem.take(rows))


@every_metric_in_turn
def test_what_is_interpretable_is_the_error_of_a_constant_shift(metric: Metric) -> None:
    def on_scale(steps: tuple[float, ...]) -> bool:
        return all(abs(abs(shifted(metric, step)) - abs(step)) <= 0.02 * abs(step) for step in steps)

    # An error of one direction only is seen on its side.
    assert metric.properties["interpretable"] == (on_scale((0.1, 0.2)) or on_scale((-0.1, -0.2)))


def influence(metric: Metric, n: int = 200, samples: int = 8) -> float:
    """The largest effect of one wrong and sure row on calibrated rows, in standard deviations between samples."""

    def drawn(seed: int, first: tuple[float, int] | None = None) -> float:
        rng = np.random.default_rng(seed)
        p = rng.beta(2, 2, n) * 0.9 + 0.05
        y = (rng.random(n) < p).astype(int)
        if first is not None:
            p[0], y[0] = first
        return value(metric, Problem("drawn", y, p, np.zeros(n, int), np.zeros((n, 1))))

    values = [drawn(seed) for seed in range(samples)]
    moved = [abs(drawn(seed, first) - values[seed]) for seed in range(3) for first in ((0.0, 1), (1.0, 0))]
    return max(moved) / float(np.std(values, ddof=1))


# Fits and searches of these take a second for fourteen samples.
LASTING = ("ckce", "dce_lower", "fott_pl", "fott_pl3", "fott_iop", "fixed_slope_intercept", "bkde", "dkde", "knn_chi2")


@pytest.mark.sampled
@pytest.mark.parametrize(
    "metric",
    [pytest.param(m, id=m.id, marks=[pytest.mark.deep] if m.id in LASTING else []) for m in cal.catalogue.values()],
)
def test_one_row_moves_what_is_not_representative(metric: Metric) -> None:
    # Between 1.7 and 2.3 there is none.
    assert metric.properties["representative"] == (influence(metric) < 2)


# Forecasts for which every class and the top label are calibrated, but no forecast is (Vaicenavicius et al., 2019, in tenths).
FORECASTS = np.array([[1, 3, 6], [1, 6, 3], [3, 1, 6], [3, 6, 1], [6, 1, 3], [6, 3, 1]])
TRUTHS = np.array([[2, 2, 6], [0, 7, 3], [2, 2, 6], [4, 5, 1], [7, 0, 3], [5, 4, 1]])


@metrics_that(lambda m: "features" not in m.needs or m.properties["full_vector"])
def test_what_shows_errors_of_the_whole_distribution(metric: Metric) -> None:
    found = []
    for parts in (FORECASTS, TRUTHS):
        atom, label = np.nonzero(parts)
        rows = np.random.default_rng(5).permutation(np.repeat(np.arange(len(atom)), 10 * parts[atom, label]))
        problem = problem_of(label[rows], FORECASTS[atom[rows]] / 10)
        problem = Problem("joint", problem.y, problem.p, np.zeros(len(rows), int), problem.features)
        try:
            found.append(value(metric, problem))
        except cal.errors.UndefinedMetricError:  # a slope, and all top scores are equal
            assert not metric.properties["full_vector"]
            return
    calibrated, wrong = found
    scale = max(abs(calibrated), abs(wrong))
    assert metric.properties["full_vector"] == (
        abs(wrong - calibrated) > 1e-3 * scale and abs(wrong - calibrated) > 1e-9
    )
    if metric.properties["full_vector"] and not metric.info.order_dependent:
        assert wrong > calibrated


def at_edges(metric: Metric) -> tuple[float, float]:
    """The least and the largest value of scores on the edges of bins that are moved by 1e-10 to either side."""
    rng = np.random.default_rng(12)
    # No two edges are equally far from a third or from 1/2, so that the order of distances and of top scores stays.
    edges = np.array([1, 2, 4, 8, 13.5]) / 15
    p = np.concatenate([edges, rng.uniform(0.02, 0.98, 60)])
    y = (rng.random(len(p)) < p**1.5).astype(int)
    features = rng.normal(size=(len(p), 2))
    moves = rng.choice([-1e-10, 1e-10], len(p))
    values = [
        value(metric, Problem("edges", y, score, np.arange(len(p)) % 2, features))
        for score in (p, p + moves, p - moves)
    ]
    return min(values), max(values)


def test_a_binned_error_jumps_at_edges() -> None:
    low, high = at_edges(cal.ece)
    assert high - low > 1e-3


@metrics_that(lambda m: not m.properties["bins"])
def test_a_metric_without_bins_does_not_jump_at_edges(metric: Metric) -> None:
    low, high = at_edges(metric)
    assert high - low < 1e-6 * max(1.0, abs(high))


@metrics_that(lambda m: m.properties["bins"] and m.id != "esce")
def test_a_metric_with_bins_depends_on_them(metric: Metric) -> None:
    rng = np.random.default_rng(13)
    n = 400
    p = rng.uniform(0.02, 0.98, n)
    y = (rng.random(n) < 0.5).astype(int)  # low scores are too low and high scores too high
    problem = Problem("bins", y, p, np.arange(n) % 2, rng.normal(size=(n, 2)))
    other: dict[str, Any] = {
        "gamma": 0.3,
        "bins": 7,
        "width": 0.4,
        "widths": [0.4],
        "levels": 2,
        "size": 37,
        "neighbours": 9,
    }
    (word,) = [word for word in other if word in metric.options][:1]
    if metric.id in ("tce", "multiclass_ce"):  # blocks that are not bins by default, or a grid instead of cells
        words = {"tce": {"binning": "equal_mass"}}.get(metric.id, {})
        assert value(metric, problem, **words) != value(metric, problem, bins=4, **words)
        return
    assert value(metric, problem, **{word: other[word]}) != value(metric, problem)


@metrics_that(lambda m: m.properties["direction"] and m.info.sign_of not in ("spread", "midpoint", "confidence"))
def test_a_direction_changes_with_that_of_the_forecasts(metric: Metric) -> None:
    assert metric.ideal is not None
    high, low = shifted(metric, 0.1) - metric.ideal, shifted(metric, -0.1) - metric.ideal
    if metric.info.above == "under":
        high, low = low, high
    if metric.info.one_sided:
        assert high == pytest.approx(0.1, abs=1e-12)
        assert low == pytest.approx(0, abs=1e-12)
    else:
        assert high > 0.05
        assert low < -0.05


@metrics_that(
    lambda m: m.properties["direction"] and m.info.sign_of in ("spread", "confidence") and not m.info.one_sided
)
@pytest.mark.parametrize("shape", ["binary", "three"])
def test_a_direction_changes_with_confidence(metric: Metric, shape: str) -> None:
    if shape == "three" and metric.info.sign_of == "spread":
        pytest.skip("two classes only")
    forecasts, outcomes = truths(shape)
    found = {}
    for name in ("too extreme", "too moderate"):
        problem, counts = enumerated(shape, forecasts, outcomes[name])
        found[name] = value(metric, problem, counts=counts) - float(metric.ideal or 0)
    high, low = found["too extreme"], found["too moderate"]
    assert (high > 0 > low) if metric.info.above == "over" else (low > 0 > high)


@metrics_that(lambda m: not m.properties["direction"] and m.ideal is not None and m.id not in ("wsmcs", "dici"))
def test_what_shows_no_direction_is_on_one_side_of_the_ideal_for_both(metric: Metric) -> None:
    """An error of a shift upwards and of its mirror image downwards: both are above what calibrated forecasts have."""
    high, low = shifted(metric, 0.1), shifted(metric, -0.1)
    centre = metric.ideal if metric.info.ideal_for == "calibrated" else min(high, low) - 1
    assert high > centre
    assert low > centre


def test_the_sign_of_wsmcs_can_be_positive_for_underconfidence_and_for_calibration() -> None:
    forecasts = np.array([[10, 3, 3], [9, 4, 3], [8, 3, 5], [7, 4, 5]])
    for parts, level in ((48 * forecasts, 0), (3 * (2 * 3 * forecasts - 16) * 8, -1)):
        problem, counts = enumerated("three", forecasts, parts)
        gap = value(cal.esce, problem, counts=counts)
        assert gap == pytest.approx(0, abs=1e-12) if level == 0 else gap < -0.1
        assert value(cal.wsmcs, problem, counts=counts) > 0.3
    assert not cal.wsmcs.properties["direction"]


def test_the_sign_of_dici_can_differ_from_that_of_the_mean() -> None:
    """Many rows a little too low, and few far too high: on average the forecasts are too low."""
    p = np.repeat([0.3, 0.8], [1000, 20])
    y = np.concatenate([np.repeat([1, 0], [350, 650]), np.repeat([1, 0], [10, 10])])
    assert cal.esce(y, p) < 0 < cal.dici(y, p, bins=10, binning="equal_width")
    assert not cal.dici.properties["direction"]


def test_the_cox_intercept_speaks_of_one_half_only() -> None:
    """Scores that are all too high by 0.1, with a positive intercept: an extrapolated forecast of 0.5 is too low."""
    assert shifted(cal.cox_intercept, 0.1) > 0
    assert cal.cox_intercept.direction(0.04, "binary") == "underestimates at 0.5"
    assert cal.cox_intercept.properties["direction"]


@every_metric
@pytest.mark.parametrize("k", [2, 3])
def test_what_is_computed_from_a_sketch(metric: Metric, k: int) -> None:
    if k == 2 and metric.lens == "classwise":
        pytest.skip("a sketch of two classes keeps the scores of one")
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(k), 150)
    y = (rng.random((150, 1)) > p.cumsum(axis=1)).sum(axis=1)
    p = p[:, 1] if k == 2 else p
    found: Any = cal.Sketches.of(y, p)
    if metric.properties["sketch"]:
        assert math.isfinite(metric(found))
    else:
        with pytest.raises(cal.CalibrantError):
            metric(found)


@every_metric_in_turn
def test_what_is_efficient_was_measured_so(metric: Metric) -> None:
    """Orders of growth against the stored times of 10,000 rows of 10 classes: fast ones took less than five seconds."""
    taken = json.loads(TIMES.read_text(encoding="utf-8"))[metric.id]
    assert metric.properties["efficient"] == (metric.info.cost not in SLOW)
    assert not metric.properties["efficient"] or taken < 5000


@metrics_that(lambda m: m.properties["parsimonious"])
def test_what_is_parsimonious_has_no_number_to_choose(metric: Metric) -> None:
    aspects = {"norm", "r", "q", "k"}
    left = {word: default for word, default in metric.options.items() if word not in aspects}
    assert not any(
        isinstance(default, (int, float, tuple)) and not isinstance(default, bool) for default in left.values()
    )


@every_metric_in_turn
def test_what_is_uncertain_says_so_and_is_not_recommended(metric: Metric) -> None:
    assert metric.certain == metric.properties["certain"] == bool(re.match("certain(;|$)", metric.info.certainty))
    if not metric.certain:
        assert not metric.info.recommended
        assert not any(metric.id in use_case.metrics for use_case in use_cases().values())
        words = " ".join(build_doc(metric, cal.catalogue).split())
        assert "The definition is less than certain" in words
        assert metric.info.certainty.split("``")[0].split(":")[0] in words


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_is_a_criterion(name: str) -> None:
    """Either answer finds some metrics, and both together all of them."""
    yes, no = (cal.catalogue.find(**{name: wanted}) for wanted in (True, False))
    assert {m.id for m in yes} == {m.id for m in cal.catalogue.values() if m.properties[name]}
    assert yes
    assert no
    assert len(yes) + len(no) == len(cal.catalogue)


def test_hagopians_five_are_those_of_the_survey() -> None:
    named = [one.hagopian for one in PROPERTIES.values() if one.hagopian]
    assert named == [
        "reproducibility",
        "representativeness",
        "interpretability",
        "parsimony",
        "computational efficiency",
    ]
    five = [name for name, one in PROPERTIES.items() if one.hagopian]
    found = {m.id for m in cal.catalogue.find(**dict.fromkeys(five, True))}
    assert "drmsce_bcs" in found  # what the survey recommends for general use
    assert not {"ece", "mce", "nll"} & found
