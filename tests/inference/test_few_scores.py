"""Few distinct scores and rare events: default tests hold their level, and labels are simulated per distinct score."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.stats import binom

import calibrant as cal
from calibrant.inference.cells import DistinctSampler, has_few_scores
from calibrant.inference.resampling import RowSampler
from calibrant.inference.sampler_choice import choose_sampler
from calibrant.inference.seeds import generator
from calibrant.metrics.cumulative.distributions import bridge_survival
from calibrant.views.view import View
from experiments.simulations_plan import few_scores
from tests.in_turn import in_turn

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.InputWarning")

Floats = NDArray[np.float64]
LEVEL, DRAWS = 0.05, 19


def sample(setting: str, n: int, seed: int) -> tuple[Any, Floats]:
    rng = np.random.default_rng([seed, n])
    score = few_scores(setting, rng, n)
    return (rng.random(n) < score).astype(int), score


def beside(metric: str, n: int, rng: np.random.Generator) -> dict[str, Any]:
    """The groups or features that a metric needs."""
    needs = cal.catalogue[metric].needs
    words: dict[str, Any] = {"groups": rng.integers(4, size=n)} if "groups" in needs else {}
    return {**words, "features": rng.normal(size=(n, 2))} if "features" in needs else words


# The choice.


@pytest.mark.parametrize("setting", ["3 grades", "5 grades", "8 grades", "points"])
@pytest.mark.parametrize("metric", ["ecce_mad", "ecce_r", "cce", "bbt", "ks_top_r"])
def test_paths_of_tied_scores_are_simulated_for_any_number_of_rows(metric: str, setting: str) -> None:
    found = cal.assess(*sample(setting, 5000, 1), metric=metric, n_resamples=DRAWS, rng=0)
    assert found.method == "consistency"
    assert "'series' is not used: the effective number of steps of the path over" in found.null_distribution


def test_what_counts_as_few() -> None:
    ones = np.ones(6, np.uint8)
    assert has_few_scores(View(np.repeat([0.2, 0.5, 0.7], 2), ones))
    assert not has_few_scores(View(np.array([0.2, 0.2, 0.3, 0.4, 0.5, 0.5]), ones))
    assert not has_few_scores(View(np.linspace(0.1, 0.9, 6), ones))
    assert has_few_scores(View(np.linspace(0.1, 0.9, 6), ones, np.full(6, 2), "counts"))
    assert not has_few_scores(View(np.linspace(0.1, 0.9, 6), ones, np.ones(6, np.int64), "counts"))


# Simulation per distinct score.


def counts_of(view: View) -> Floats:
    """Events per distinct score, by a loop."""
    events: dict[float, float] = {}
    for score, outcome, weight in zip(view.score, view.outcome, view.weights, strict=True):
        events[score] = events.get(score, 0.0) + outcome * weight
    return np.array([events[score] for score in sorted(events)])


def test_counts_per_score_are_binomial(deep: bool) -> None:
    y, p = sample("5 grades", 400, 3)
    view = View(p, y.astype(np.uint8))
    sampler = DistinctSampler(view)
    assert sampler.total == 400
    assert_allclose(sampler.rows, [(p == score).sum() for score in np.unique(p)])
    drawn = np.array(
        [
            counts_of(sampler.resample(generator(0, b), "outcomes").views(cal.ece, {})[0])
            for b in range(2000 if deep else 300)
        ]  # type: ignore[arg-type]
    )
    expected = sampler.rows * sampler.score
    error = np.sqrt(expected * (1 - sampler.score) / len(drawn))
    assert (np.abs(drawn.mean(axis=0) - expected) < 4 * error).all()


VIEWS = [
    name
    for name, metric in cal.catalogue.items()
    if metric.takes == "View" and metric.counts and not metric.needs and not metric.info.order_dependent
]


@in_turn("metric", VIEWS)
def test_counts_per_score_have_the_value_of_their_rows(metric: str) -> None:
    """Else simulated values and the observed one would not be comparable."""
    y, p = sample("5 grades", 120, 4)
    view = View(p, y.astype(np.uint8))
    sampler = choose_sampler([(cal.catalogue[metric], {})], view, False)
    assert isinstance(sampler, DistinctSampler)
    assert isinstance(choose_sampler([(cal.catalogue[metric], {})], view, True), RowSampler)
    assert_allclose(sampler.whole().value(cal.catalogue[metric], {}), cal.catalogue[metric](view), atol=1e-12)


def greatest(y: Any, p: Floats) -> tuple[float, float, list[float], list[float]]:
    """Extremes of the path and its steps, by a loop over distinct scores."""
    total = low = high = 0.0
    variance = 0.0
    path, time = [0.0], [0.0]
    for score in sorted(set(p.tolist())):
        total += float(np.sum(p[p == score] - y[p == score]))
        variance += score * (1 - score) * int((p == score).sum())
        low, high = min(low, total), max(high, total)
        path.append(total)
        time.append(variance)
    return low, high, path, time


def bridge_of(y: Any, p: Floats) -> float:
    _, _, path, time = greatest(y, p)
    unit = math.sqrt(time[-1])
    largest = max(abs(a - t / time[-1] * path[-1]) / unit for a, t in zip(path, time, strict=True))
    return -2 * math.log(math.erfc(abs(path[-1]) / unit / math.sqrt(2)) * bridge_survival(largest))


ORACLES: dict[str, Callable[[Any, Floats], float]] = {
    "ecce_mad": lambda y, p: max(abs(value) for value in greatest(y, p)[:2]) / len(y),
    "ecce_r": lambda y, p: (greatest(y, p)[1] - greatest(y, p)[0]) / len(y),
    "cce": lambda y, p: (greatest(y, p)[1] - greatest(y, p)[0]) / len(y),
    "bbt": bridge_of,
}


@pytest.mark.parametrize("metric", list(ORACLES))
def test_simulated_paths_have_the_distribution_of_simulated_rows(metric: str) -> None:
    """The vectorised values against a loop over rows with labels of its own."""
    y, p = sample("3 grades", 80, 5)
    assert_allclose(cal.catalogue[metric](y, p), ORACLES[metric](y, p))
    found = cal.assess(y, p, metric=metric, n_resamples=2000, rng=0)
    assert "as counts per distinct score" in found.null_distribution
    assert found.null is not None
    rng = np.random.default_rng(7)
    slow = np.sort([ORACLES[metric]((rng.random(80) < p).astype(int), p) for _ in range(500)])
    ranks = np.searchsorted(np.sort(found.null), slow + 1e-12) / 2000
    # Kolmogorov-Smirnov distance of two samples, at 99.9%, on the grid of the slow one.
    upper = np.arange(1, 501) / 500
    last = np.append(slow[1:] > slow[:-1] + 1e-9, True)
    assert np.abs(ranks - upper)[last].max() < 1.95 * math.sqrt(1 / 500 + 1 / 2000)
    more = cal.assess(y, p, metric=metric, n_resamples=50, rng=0).null
    assert_allclose(more, found.null[:50])
    rows = cal.assess(y, p, metric=metric, n_resamples=200, rng=0, exact=True)
    assert "row by row" in rows.null_distribution
    assert abs(rows.pvalue - found.pvalue) < 0.15


# Tails of infinite values.


@pytest.mark.parametrize("metric", ["expected_observed_ratio", "fixed_slope_intercept"])
def test_infinite_values_do_not_hide_the_other_tail(metric: str) -> None:
    """No event has probability 0.37 and an infinite value: by the distance from the ideal value 8 events where 1 is expected had p > 0.37."""
    y, p = np.zeros(100, int), np.full(100, 0.01)
    y[:8] = 1
    found = cal.assess(y, p, metric=metric, n_resamples=199, rng=0)
    assert found.pvalue == 2 / 200
    none = cal.assess(np.zeros(100, int), p, metric=metric, n_resamples=199, rng=0)
    assert none.pvalue > 0.5
    assert math.isinf(none.statistic)
    exact = cal.assess(np.eye(1, 10, dtype=int)[0], np.full(10, 0.2), metric=metric)
    assert exact.method == "enumeration"
    assert_allclose(exact.pvalue, 2 * binom.cdf(1, 10, 0.2))


def test_adjusted_p_values_are_not_smaller_where_a_metric_is_undefined() -> None:
    y, p = np.zeros(80, int), np.linspace(0.001, 0.02, 80)
    y[[3, 60]] = 1
    for correction in ("min_p", "holm"):
        found = cal.assess_many(
            y,
            p,
            metrics=["ecce_mad", "cox_slope"],
            correction=correction,
            n_resamples=59,
            rng=0,  # type: ignore[arg-type]
        )
        assert "for which the metric is undefined" in found["cox_slope"].null_distribution
        assert "undefined" not in found["ecce_mad"].null_distribution
        assert found["cox_slope"].n_resamples < found["ecce_mad"].n_resamples == 59
        assert all(a >= r.pvalue for a, r in zip(found.adjusted, found.results, strict=True))


@pytest.mark.parametrize("copies", [1, 10])
def test_an_impossible_outcome_of_certain_scores_is_rejected(copies: int) -> None:
    """Every possible outcome leaves the statistic undefined, as it has no variance."""
    y, p = [1, 0, 1, 0] * copies, [0.0, 1.0, 1.0, 0.0] * copies
    found = cal.assess(y, p, metric="spiegelhalter_z")
    assert (found.method, found.pvalue) == ("normal", 0)
    with pytest.raises(cal.errors.UndefinedMetricError, match="is undefined for all outcomes of positive probability"):
        cal.assess(y[:4], p[:4], metric="spiegelhalter_z", method="enumeration")
