"""What must hold between the kernel, curve and cumulative metrics, and between them and their tests, on random problems."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant import curves
from calibrant.inference.belt import giviti_test
from tests.calling import call

Problem = tuple[np.ndarray, np.ndarray]

# Metrics that see a miss of p as they see one of 1 - p for the other label.
SYMMETRIC: list[tuple[Any, dict[str, Any]]] = [
    (cal.msce, {"bandwidth": 0.1}),
    (cal.sece, {"bandwidth": 0.1}),
    (cal.bkde, {"bandwidth": 0.05}),
    (cal.bkde, {"bandwidth": 0.05, "norm": 2}),
    (cal.mmce, {}),
    (cal.mmce_w, {}),
    (cal.lkce, {}),
    (cal.skce_uq, {}),
    (cal.dce_lower, {}),
    (cal.ici, {"surface": "direct"}),  # the tree of the interpolation has no mirror image
    (cal.e90, {"smoother": "lowess"}),
    (cal.emax, {"smoother": "logistic"}),
    (cal.eci, {}),
    (cal.cox_slope, {}),
    (cal.sbct, {}),
    (cal.pws, {}),
    (cal.fott_platt, {}),
    (cal.fott_isotonic, {}),
    (cal.bbt, {}),
    (cal.bbt, {"form": "bridge"}),
]


@pytest.fixture(params=range(6))
def problem(request: pytest.FixtureRequest) -> Problem:
    """Labels too rare for their scores; every second problem has ties. Complements of the scores are exact."""
    rng = np.random.default_rng([31, request.param])
    places = 16 if request.param % 2 else 2**20
    p = rng.integers(1, places, 90) / places
    return (rng.random(90) < p**1.5).astype(int), p


def mean_gap(y: np.ndarray, p: np.ndarray) -> float:
    return abs(math.fsum(y - p)) / len(p)


def test_the_other_label_and_its_probability(problem: Problem) -> None:
    y, p = problem
    for metric, options in SYMMETRIC:
        wanted = call(metric, y, p, **options)
        assert call(metric, 1 - y, 1 - p, **options) == pytest.approx(wanted, rel=1e-8, abs=1e-10), (metric.id, options)
    assert cal.cox_intercept(1 - y, 1 - p) == pytest.approx(-cal.cox_intercept(y, p), abs=1e-9)


# Kernels.


def test_smooth_errors_of_ties(problem: Problem) -> None:
    """Rows of one score share one move, so that their misses cancel before anything is smoothed."""
    y, p = problem
    own = math.fsum(abs(math.fsum((y - p)[p == score])) for score in np.unique(p)) / len(p)
    for metric in (cal.smece, cal.smce, cal.lkce, cal.dce_lower):
        assert metric(y, p) <= own + 1e-9, metric.id
    constant = np.full(len(y), 0.375)
    for metric in (cal.smece, cal.smce, cal.lkce, cal.mmce, cal.dce_lower, cal.ecce_mad, cal.ecce_r):
        assert metric(y, constant) == pytest.approx(mean_gap(y, constant), abs=1e-9), metric.id


def test_kernel_errors_of_pairs_are_one_another(problem: Problem) -> None:
    y, p = problem
    assert cal.mmce(y, p, bandwidth=1.0) == pytest.approx(cal.lkce(y, p), rel=1e-12)
    for width in (0.05, 0.4, 2.0):
        assert cal.skce_b(y, p, bandwidth=width) == pytest.approx(2 * cal.mmce(y, p, bandwidth=width) ** 2, rel=1e-10)
    assert cal.skce_ul(y, p, block=2) == cal.skce_ul(y, p)


@pytest.mark.parametrize("k", [2, 4])
def test_features_that_do_not_vary_leave_the_kernel_of_the_scores(k: int) -> None:
    """klce writes exp(-d^2 / s^2) and skce exp(-d^2 / 2 s^2); of two classes the former sees one column, the latter both."""
    rng = np.random.default_rng(k)
    probs = rng.dirichlet(np.ones(k), 80)
    y = rng.integers(0, k, 80)
    p = probs[:, 1] if k == 2 else probs
    width = 0.1 if k == 2 else 0.1 / math.sqrt(2)
    wanted = cal.skce_uq(y, p, kernel="gaussian", bandwidth=width) / (2 if k == 2 else 1)
    assert cal.klce(cal.Predictions(y, p, features=np.ones((80, 2)))) == pytest.approx(wanted, rel=1e-10)


def test_two_columns_double_every_power(problem: Problem) -> None:
    y, p = problem
    for norm in (1, 2):
        one = cal.bkde(y, p, bandwidth=0.1, norm=norm)
        assert cal.dkde(y, p, bandwidth=0.1, norm=norm) == pytest.approx(2 * one, rel=1e-9)


# Curves.


@pytest.mark.parametrize("smoother", ["loess", "lowess", "rcs", "logistic"])
def test_indices_are_summaries_of_one_set_of_distances(smoother: str) -> None:
    """With n distances, quantile i / (n - 1) is the i-th of them: their mean is ici, their mean square eci / 100."""
    rng = np.random.default_rng(3)
    p = rng.random(41)
    y = (rng.random(41) < p).astype(int)
    distances = np.array([cal.ep(y, p, q=i / 40, smoother=smoother) for i in range(41)])
    assert cal.ici(y, p, smoother=smoother) == pytest.approx(distances.mean(), rel=1e-9)
    squared = cal.eci(y, p, smoother=smoother, surface="interpolate")
    assert squared / 100 == pytest.approx(np.square(distances).mean(), rel=1e-9)
    assert cal.e50(y, p, smoother=smoother) == pytest.approx(np.median(distances), rel=1e-9)
    assert cal.emax(y, p, smoother=smoother) == pytest.approx(distances.max(), rel=1e-9)


def test_a_likeliest_curve_on_one_side_is_off_by_the_mean_gap() -> None:
    rng = np.random.default_rng(4)
    p = rng.uniform(0.2, 0.5, 400)
    y = (rng.random(400) < p + 0.3).astype(int)
    view = cal.views.View(p, y)
    for metric, fit in ((cal.fott_platt, curves.logistic), (cal.fott_beta, curves.beta)):
        assert (fit(view)(p) > p).all()
        assert metric(y, p) == pytest.approx(mean_gap(y, p), abs=1e-10)


def test_one_line_under_several_names(problem: Problem) -> None:
    y, p = problem
    assert cal.fott_pl3(y, p, knots=0) == pytest.approx(cal.fott_platt(y, p), abs=1e-7)
    assert cal.ici(y, p, smoother="logistic") == pytest.approx(cal.fott_platt(y, p), rel=1e-9)
    line = cal.assess(y, p, metric="cox_slope", method="lr")
    belt = giviti_test(y, p, max_degree=1, method="likelihood_ratio")
    assert belt.statistic == pytest.approx(line.detail["chi_square"], rel=1e-9)
    assert belt.pvalue == pytest.approx(line.pvalue, rel=1e-9)
    # A line is a beta curve with a = b, so the latter is at least as likely.
    assert cal.sbct(y, p) >= belt.statistic - 1e-9


def test_isotonic_misses_are_part_of_what_isotonic_recalibration_gains(problem: Problem) -> None:
    """The scores rise too, and a projection on rising curves is at an obtuse angle to every one of them."""
    y, p = problem
    curve = curves.isotonic(cal.views.View(p, y))(p)
    gained = cal.decompose(y, p, method="corp").miscalibration
    assert gained == pytest.approx(cal.brier(y, p) - cal.brier(y, curve), abs=1e-12)
    assert 0 <= cal.fott_isotonic(y, p, norm=2) <= gained + 1e-12
    assert cal.fott_isotonic(y, curve) == pytest.approx(0, abs=1e-12)
    assert curve.mean() == pytest.approx(y.mean(), abs=1e-12)


# Paths.


def test_a_path_that_comes_back_is_as_far_from_either_end() -> None:
    """The largest sum is anchored at the low scores, unless the sum of all is 0; the range is anchored nowhere."""
    y, p = np.array([1, 1, 0]), np.array([0.25, 0.5, 0.75])
    assert cal.ecce_mad(y, p) == pytest.approx(1.25 / 3)
    assert cal.ecce_mad(1 - y, 1 - p) == pytest.approx(0.75 / 3)
    assert cal.ecce_r(y, p) == pytest.approx(cal.ecce_r(1 - y, 1 - p))
    back_y, back_p = np.append(y, 0), np.append(p, 0.5)
    assert mean_gap(back_y, back_p) == 0
    assert cal.ecce_mad(1 - back_y, 1 - back_p) == pytest.approx(cal.ecce_mad(back_y, back_p), abs=1e-15)


def test_the_bridge_and_the_path_share_their_scale(problem: Problem) -> None:
    y, p = problem
    sigma = cal.assess(y, p, metric="ecce_mad", method="series").detail["sigma"]
    assert sigma == pytest.approx(math.sqrt(math.fsum(p * (1 - p))) / len(p), rel=1e-12)
    assert sigma <= 0.5 / math.sqrt(len(p))
    assert cal.bbt(y, p, form="mean") == pytest.approx(mean_gap(y, p) / sigma, rel=1e-9)
    assert cal.bbt(y, p, form="bridge") <= 2 * cal.ecce_mad(y, p) / sigma + 1e-12


def test_the_bridge_does_not_see_a_steady_drift() -> None:
    """Sizes for which p (1 - p) sums to 21 or 63 in a group: so many more events, and all that changes is the mean."""
    score, rows, share = [0.1, 0.3, 0.5, 0.7, 0.9], [700, 100, 84, 100, 700], np.array([3, 1, 1, 1, 3])
    p, group = np.repeat(score, rows), np.repeat(np.arange(5), rows)
    place = np.concatenate([np.arange(n) for n in rows])
    events = np.array([60, 40, 35, 62, 610])
    values = [
        (cal.bbt(y, p, form="bridge"), cal.bbt(y, p, form="mean"))
        for drift in (0, 4, 9)
        for y in [(place < (events + drift * share)[group]).astype(int)]
    ]
    assert [bridge for bridge, _ in values] == pytest.approx([values[0][0]] * 3, rel=1e-10)
    assert len({round(mean, 6) for _, mean in values}) == 3


def test_ranks_of_the_top_label_and_of_all_labels() -> None:
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(np.ones(5), 60)
    y = rng.integers(0, 5, 60)
    top = cal.ecce_mad(y, probs, lens="top_label")
    assert cal.ks_top_r(y, probs, r=1) == cal.ks_within_top_r(y, probs, r=1) == pytest.approx(top, abs=1e-15)
    assert cal.ks_within_top_r(y, probs, r=5) == 0
    # Four of five are not only the last: the same rows seen from the other side.
    last = np.sort(probs, axis=1)[:, 0]
    missed = (probs.argmin(axis=1) == y).astype(int)
    assert cal.ks_within_top_r(y, probs, r=4) == pytest.approx(cal.ecce_mad(1 - missed, 1 - last), abs=1e-12)
