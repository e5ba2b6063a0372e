"""E-values: exact means over all outcomes, predictable alternatives, a literal isotonic curve, and errors."""

import itertools
import math
import sys
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calibrant as cal
from calibrant.inference.e_values import (
    beta_fits,
    isotonic_rates,
    likelihood_path,
    newton_fractions,
    past_isotonic_rates,
    transforms,
)
from calibrant.inference.sequential import EValue, pit_test, safe_hosmer_lemeshow, sequential_test
from calibrant.views.view import VectorView
from tests.calling import call, raises

from .test_assess import A


def row_by_row(y: Any, p: Any) -> EValue:
    return safe_hosmer_lemeshow(y, p, sequential=True)


def in_bins(y: Any, p: Any) -> EValue:
    return sequential_test(y, p, bins=3)


TESTS = {
    "halves": safe_hosmer_lemeshow,
    "row_by_row": row_by_row,
    "newton": sequential_test,
    "bins": in_bins,
    "pit": pit_test,
}


def test_given_rates_have_the_published_path() -> None:
    path = likelihood_path(np.array(A[0], float), np.array(A[1]), np.array([0.1, 0.6, 0.9, 0.95]))
    np.testing.assert_allclose(np.exp(path), [1, 1.5, 1.6875, 1.78125], rtol=1e-14)


def slow_rate(y: list[int], p: list[float], at: float) -> float:
    """Pool neighbours one by one, ties first; straight lines between the ends of blocks."""
    blocks: list[list[float]] = []  # events, rows, first score, last score
    for score in sorted(set(p)):
        here = [label for label, other in zip(y, p, strict=True) if other == score]
        blocks.append([sum(here), len(here), score, score])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            last = blocks.pop()
            blocks[-1] = [blocks[-1][0] + last[0], blocks[-1][1] + last[1], blocks[-1][2], last[3]]
    floor = 1 / (2 * len(y))
    points = []
    for events, rows, first, last in blocks:
        rate = events / rows if 0 < events < rows else (events + 0.5) / (rows + 1)
        rate = min(max(rate, floor), 1 - floor)
        points += [(first, rate), (last, rate)]
    if at <= points[0][0]:
        return points[0][1]
    for (x0, r0), (x1, r1) in itertools.pairwise(points):
        if x0 <= at <= x1:
            return r0 if x0 == x1 else r0 + (r1 - r0) * (at - x0) / (x1 - x0)
    return points[-1][1]


def test_isotonic_rates_are_the_literal_ones() -> None:
    rng = np.random.default_rng(0)
    for digits in (1, 2, 6):
        p = np.round(rng.random(70), digits)
        y = (rng.random(70) < p**1.5).astype(float)
        alternative = past_isotonic_rates(y, p)
        np.testing.assert_array_equal(alternative[:10], p[:10])
        slow = [slow_rate(y[:t].astype(int).tolist(), p[:t].tolist(), float(p[t])) for t in range(10, 70)]
        np.testing.assert_allclose(alternative[10:], slow, rtol=1e-12)


def test_later_fits_are_those_of_the_rows_known_then() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(1300)
    y = (rng.random(1300) < p).astype(float)
    alternative = past_isotonic_rates(y, p)
    for known, stop in ((200, 204), (204, 208), (208, 212)):
        np.testing.assert_array_equal(alternative[known:stop], isotonic_rates(y[:known], p[:known])(p[known:stop]))


def test_a_bet_never_looks_at_its_own_or_later_outcomes() -> None:
    rng = np.random.default_rng(2)
    p = rng.random(60)
    y = (rng.random(60) < p).astype(float)
    other = y.copy()
    other[40:] = 1 - other[40:]
    np.testing.assert_array_equal(past_isotonic_rates(y, p)[:41], past_isotonic_rates(other, p)[:41])
    np.testing.assert_array_equal(newton_fractions(y, p)[:41], newton_fractions(other, p)[:41])
    assert newton_fractions(y, p)[41] != newton_fractions(other, p)[41]
    z, changed = rng.random((2, 60))
    changed[:40] = z[:40]
    np.testing.assert_array_equal(beta_fits(z)[0][:41], beta_fits(changed)[0][:41])


def test_fractions_stay_within_half_of_the_admissible_range() -> None:
    rng = np.random.default_rng(3)
    p = np.concatenate([rng.random(500), [0, 1, 1e-300, 1 - 1e-16], rng.random(100)])
    y = (rng.random(len(p)) < p).astype(float)
    fractions = newton_fractions(y, p)
    assert fractions[0] == 0
    assert (1 + fractions * (1 - p) >= 0.5 - 1e-12).all()
    assert (1 - fractions * p >= 0.5 - 1e-12).all()


def test_a_bet_is_a_rival_score() -> None:
    rng = np.random.default_rng(4)
    p = rng.uniform(0.05, 0.95, 200)
    y = (rng.random(200) < p).astype(float)
    alternative = p + newton_fractions(y, p) * p * (1 - p)
    np.testing.assert_allclose(sequential_test(y, p).log_path, likelihood_path(y, p, alternative), atol=1e-12)


def every(p: list[float], test: Any) -> tuple[float, float]:
    """Mean of the last value, and how often 1/alpha is ever reached for alpha = 0.3, over all outcomes."""
    mean = reached = 0.0
    for y in itertools.product((0, 1), repeat=len(p)):
        chance = math.prod(q if label else 1 - q for q, label in zip(p, y, strict=True))
        found = test(np.array(y), np.array(p))
        mean += chance * found.value
        reached += chance * (found.pvalue <= 0.3)
    return mean, reached


@pytest.mark.parametrize("name", ["halves", "newton", "bins"])
def test_the_mean_over_all_outcomes_is_1(name: str) -> None:
    mean, reached = every([0.1, 0.3, 0.5, 0.55, 0.7, 0.7, 0.85, 0.2], TESTS[name])
    assert mean == pytest.approx(1, abs=1e-12)
    assert reached <= 0.3


def test_the_mean_over_the_outcomes_after_the_first_ten_is_1() -> None:
    p = [0.3, 0.8, 0.5, 0.1, 0.9, 0.6, 0.4, 0.7, 0.2, 0.5, 0.45, 0.65, 0.15]
    mean = 0.0
    for last in itertools.product((0, 1), repeat=3):
        chance = math.prod(q if label else 1 - q for q, label in zip(p[10:], last, strict=True))
        mean += chance * row_by_row([0, 1, 1, 0, 1, 0, 0, 1, 0, 1, *last], p).value
    assert mean == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("name", ["halves", "bins"])
def test_wrong_scores_are_found(name: str) -> None:
    hits = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        p = rng.random(2000)
        hits += TESTS[name](rng.random(2000) < p**1.3, p).rejected
    assert hits >= 4


def test_overconfidence_needs_bins() -> None:
    drawn = cal.inference.make_miscalibrated(3000, warp=cal.inference.simulation.temperature(2), rng=0)
    assert sequential_test(drawn.y_true, drawn.y_prob, bins=10).rejected
    assert not sequential_test(drawn.y_true, drawn.y_prob).rejected


def test_a_mixture_is_the_mean_of_its_parts() -> None:
    drawn = cal.inference.make_calibrated(300, rng=0)
    found = sequential_test(drawn.y_true, drawn.y_prob, bins=4)
    assert len(found.parts) == 6
    assert found.value == pytest.approx(found.parts.mean(), rel=1e-12)
    np.testing.assert_allclose(found.parts[5], found.parts[1:5].prod(), rtol=1e-12)
    halves = safe_hosmer_lemeshow(drawn.y_true, drawn.y_prob)
    assert len(halves.parts) == 10
    assert halves.value == pytest.approx(halves.parts.mean(), rel=1e-12)


@pytest.mark.parametrize("name", TESTS)
def test_what_the_scores_held_impossible_is_infinite(name: str) -> None:
    p = np.array([0.5, 0.3, 0.0, 0.6, 1.0, 0.2])
    found = TESTS[name]([0, 1, 1, 1, 0, 0], p)
    assert found.value == math.inf
    assert found.pvalue == 0
    assert found.rejected
    assert (found.parts == math.inf).all()
    assert found.rejected_at in (3, None)
    if found.anytime:
        assert np.isfinite(found.path[:2]).all()
    assert not np.isnan(found.log_path).any()


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize(
    ("y", "p"),
    [([1], [0.3]), ([0, 0, 0], [0.2, 0.5, 0.9]), ([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0]), ([0, 1] * 20, [0.5] * 40)],
)
def test_degenerate_data_have_a_value(name: str, y: list[int], p: list[float]) -> None:
    found = TESTS[name](y, p)
    assert np.isfinite(found.path).all()
    assert 0 < found.pvalue <= 1
    assert found.path[0] > 0


def test_many_gains_stay_finite_as_logarithms() -> None:
    found = sequential_test([1] * 5000, [0.2] * 5000)
    assert found.value == math.inf
    assert np.isfinite(found.log_path).all()
    assert found.pvalue == pytest.approx(math.exp(-found.log_path.max()), abs=0)
    assert found.rejected


def test_transforms_of_two_classes() -> None:
    p, y = np.array([0.1, 0.4, 0.8]), np.array([0, 1, 1])
    view = VectorView(p, y, None)
    u = np.random.default_rng(0).random(3)
    point, impossible = transforms(view, np.random.default_rng(0))
    np.testing.assert_allclose(point, np.where(y == 1, 1 - p + u * p, u * (1 - p)), atol=1e-15)
    assert not impossible.any()


def test_transforms_of_right_forecasts_are_uniform() -> None:
    drawn = cal.inference.make_calibrated(4000, distribution=(0.5, 1, 2, 1), rng=0)
    point, _ = transforms(VectorView(drawn.y_prob, drawn.y_true, None), np.random.default_rng(1))
    assert stats.kstest(point, "uniform").pvalue > 0.01


def test_beta_laws_are_the_most_likely_ones() -> None:
    point = stats.beta(2, 0.7).rvs(300, random_state=0)
    a, b = beta_fits(point)
    for row in (20, 120, 299):
        want = stats.beta.fit(point[:row], floc=0, fscale=1)[:2]
        np.testing.assert_allclose([a[row], b[row]], want, rtol=2e-4)


def test_pit_path_is_the_product_of_densities() -> None:
    drawn = cal.inference.make_miscalibrated(40, warp=cal.inference.simulation.bias(1), rng=0)
    point, _ = transforms(VectorView(drawn.y_prob, drawn.y_true, None), np.random.Generator(_stream()))
    a, b = beta_fits(point)
    value, path = 1.0, []
    for row, z in enumerate(point, start=1):
        density = 1.0 if row <= 10 else stats.beta.pdf(z, a[row - 1], b[row - 1])
        value *= 1 / row + (1 - 1 / row) * density
        path.append(value)
    np.testing.assert_allclose(pit_test(drawn.y_true, drawn.y_prob, rng=0).path, path, rtol=1e-10)


def _stream() -> np.random.PCG64:
    return np.random.PCG64(np.random.SeedSequence(0, spawn_key=(0,)))


def test_pit_sees_several_classes_and_late_labels() -> None:
    drawn = cal.inference.make_miscalibrated(
        3000, warp=cal.inference.simulation.softmax_map(1.0, (1.0, 0.0, -1.0)), distribution=(1, 1, 1), rng=0
    )
    assert pit_test(drawn.y_true, drawn.y_prob).rejected
    late = pit_test(drawn.y_true, drawn.y_prob, lag=3)
    assert late.rejected
    assert not late.anytime
    assert len(late.path) == 1
    assert len(late.parts) == 3
    assert late.value == pytest.approx(late.parts.mean(), rel=1e-12)


def test_seeds_repeat() -> None:
    drawn = cal.inference.make_calibrated(100, rng=0)
    for test in (safe_hosmer_lemeshow, pit_test):
        first, again = test(drawn.y_true, drawn.y_prob, rng=5), test(drawn.y_true, drawn.y_prob, rng=5)
        assert first.value == again.value
        assert first.value != test(drawn.y_true, drawn.y_prob, rng=6).value


def test_the_first_rejection_is_where_the_path_reaches_one_over_alpha() -> None:
    found = sequential_test([1] * 40, [0.5] * 40)
    assert found.rejected_at == int(np.argmax(found.path >= 20)) + 1
    assert found.pvalue == pytest.approx(1 / found.path.max(), rel=1e-12)
    assert "is significant at 5%" in found.verdict
    calm = safe_hosmer_lemeshow([0, 1] * 20, [0.5] * 40)
    assert "is not significant at 5%" in calm.verdict
    assert calm.rejected_at is None


def test_what_has_no_order_is_refused() -> None:
    y, p = A
    for weights in ({"sample_weight": [1, 2, 1, 1]}, {"counts": [1, 2, 1, 1]}):
        for test in (safe_hosmer_lemeshow, sequential_test, pit_test):
            with pytest.raises(cal.errors.WeightsNotSupportedError):
                call(test, y, p, **weights)
    assert sequential_test(cal.Predictions(y, p, counts=[1, 1, 1, 1])).value == sequential_test(y, p).value
    with raises(cal.errors.ArgumentError, "y_true"):
        sequential_test(cal.Sketch.of(y, p))


def test_the_top_label_is_the_default_and_views_are_tested_as_they_are() -> None:
    y, p = A
    rows = np.full((4, 3), 1 / 3)
    assert sequential_test([0, 1, 2, 0], rows).lens == "top_label"
    view = cal.views.View(np.array(p), np.array(y))
    assert sequential_test(view).value == sequential_test(y, p).value


def test_ten_thousand_rows_are_no_more_work_than_ten_times_a_thousand() -> None:
    """Counted in calls of functions, which do not depend on the machine."""
    drawn = cal.inference.make_calibrated(10_000, rng=0)

    def calls(rows: int) -> int:
        count = itertools.count()
        before = sys.getprofile()
        sys.setprofile(lambda frame, event, argument: next(count) and None)
        try:
            assert row_by_row(drawn.y_true[:rows], drawn.y_prob[:rows]).n == rows
        finally:
            sys.setprofile(before)
        return next(count)

    calls(100)  # whatever has to be imported
    assert calls(10_000) < 1.5 * 10 * calls(1000)
