"""What must hold between the binned metrics, and between them and the pointwise ones, on random problems."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from tests.calling import call

from .test_identities import binary, many, near, own_bins

EXACT = 1e-12
EM = "equal_mass"
SEARCHES = ("sweep", "search", "search_pure", "cv", "tcal")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(100 if metafunc.config.getoption("--deep") else 10))


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng([29, seed])


def distinct(rng: np.random.Generator, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Scores that differ, whose complements are exact, none of them on an edge or midway between two."""
    return rng.integers(0, 2, n), (2 * rng.choice(2**19, n, replace=False) + 1) / 2**20


# Section by section: one bin; every row in its own; order; parts.


def test_one_bin(rng: np.random.Generator) -> None:
    y, p = binary(rng)
    gap, mean = p.mean() - y.mean(), p.mean()
    for metric in (cal.rbece, cal.ece_ea, cal.ece_em):
        assert metric(y, p, bins=1) == near(abs(gap)), metric.id
    assert cal.global_squared_bias(y, p) == near(gap**2)
    assert cal.calibration_in_the_large(y, p) == near(gap)
    assert cal.calibration_in_the_large(y, p) == near(cal.esce(y, p))
    assert cal.expected_observed_ratio(y, p) == (near(mean / y.mean()) if y.any() else math.inf)
    assert cal.hosmer_lemeshow(y, p, bins=1) == pytest.approx(len(y) * gap**2 / (mean * (1 - mean)), rel=1e-10)
    assert cal.calbin(y, p, size=len(y), inner="abs_mean", lens="binary") == near(abs(gap))
    assert cal.calbin(y, p, size=len(y), lens="binary") == near(np.abs(p - y.mean()).mean())
    assert cal.ece_knn(y, p, neighbours=len(y)) == near(abs(gap))
    assert cal.sbece(y, p, temperature=1e9, norm=1) == pytest.approx(abs(gap), abs=1e-8)


def test_every_row_in_its_own_bin(rng: np.random.Generator) -> None:
    y, p = distinct(rng)
    n, edges = len(y), own_bins(p)
    error = cal.lp_error(y, p)
    for metric in (cal.ece, cal.ece_lb, cal.dce, cal.rbece):
        assert metric(y, p, bins=edges) == near(error), metric.id
    assert cal.rmsce(y, p, bins=edges) == near(cal.lp_error(y, p, norm=2))
    assert cal.mce(y, p, bins=edges) == near(cal.lp_error(y, p, norm=math.inf))
    assert cal.rmsce(y, p, bins=edges, norm=3) == near(cal.lp_error(y, p, norm=3))
    assert cal.smbs(y, p, bins=edges) == near(cal.brier(y, p))
    statistic = cal.hosmer_lemeshow(y, p, bins=edges)
    assert statistic == pytest.approx(n * cal.nses(y, p), rel=1e-9)
    assert cal.t_cal(y, p, bins=2**20) == near(0)
    assert cal.rice(y, p, width=2.0**-21) == near(error)
    assert cal.calbin(y, p, size=1, lens="binary") == near(error)
    assert cal.ece_knn(y, p, neighbours=0) == near(error)
    assert cal.ece(y, p, bins=7) <= error + EXACT


def test_order_between_metrics(rng: np.random.Generator) -> None:
    y, p = binary(rng)
    bins = int(rng.integers(1, 15))
    for binning in ("equal_width", EM):
        how: dict[str, Any] = {"bins": bins, "binning": binning}
        error = call(cal.ece, y, p, **how)
        assert abs(call(cal.esce, y, p, **how)) <= error + EXACT
        assert error <= call(cal.ece_lb, y, p, **how) + EXACT
        assert call(cal.rbece, y, p, **how) <= call(cal.mce, y, p, **how) + EXACT
        assert call(cal.ece_db, y, p, **how) <= error + EXACT
        assert call(cal.ce2_db, y, p, **how) <= call(cal.rmsce, y, p, **how) ** 2 + EXACT
        table = call(cal.calibration_curve, y, p, **how).table
        assert cal.cce(y, p) >= np.abs(table.excess).max() / len(y) - EXACT
        features = rng.normal(size=(len(y), 2))
        assert call(cal.metrics.piece, y, p, features=features, **how) >= error - EXACT
        assert call(cal.dce, y, p, bound=True, **how) >= abs(p.mean() - y.mean()) - EXACT
        assert call(cal.dce, y, p, aggregate="mean", **how) == near(error)
    assert abs(p.mean() - y.mean()) <= cal.cce(y, p) + EXACT
    assert cal.cce(y, p) <= cal.lp_error(y, p) + EXACT
    groups = rng.integers(0, 3, len(y))
    assert cal.fece(cal.Predictions(y, p, groups=groups)) <= cal.lp_error(y, p) + EXACT
    assert cal.global_squared_bias(y, p) <= cal.brier(y, p) + EXACT
    least = cal.sice(y, p)
    assert least >= 2.0**-9
    assert all(least <= cal.rice(y, p, width=2.0**-k) + 2.0**-k + EXACT for k in range(10))
    norms = [cal.lp_error(y, p, norm=norm) for norm in (1, 1.5, 2, 3, math.inf)]
    losses = [cal.focal_loss(y, p, gamma=gamma) for gamma in (0, 0.5, 1, 2, 5)]
    assert all(later >= earlier - EXACT for earlier, later in pairwise(norms))
    assert all(later <= earlier + EXACT for earlier, later in pairwise(losses))


def test_parts_of_the_binned_brier_score(rng: np.random.Generator) -> None:
    y, p = binary(rng)
    table = cal.calibration_curve(y, p, bins=7).table
    full, share, rate = ~table.empty, table.share, np.nan_to_num(table.rate)
    resolution, uncertainty = (share * (rate - y.mean()) ** 2).sum(), y.mean() * (1 - y.mean())
    reliability = cal.rmsce(y, p, bins=7) ** 2
    assert cal.smbs(y, p, bins=7) == near(reliability - resolution + uncertainty)
    cell = np.minimum(np.maximum(np.ceil(p * 7), 1), 7).astype(int) - 1  # no score on an edge
    own = np.bincount(cell, (p - y) ** 2, 7)[full] / table.weight[full]
    assert reliability - cal.t_cal(y, p, bins=7) == near(own.sum() / len(y))
    within = (p - np.nan_to_num(table.mean_score)[cell]) ** 2
    assert cal.ece_lb(y, p, bins=7, binning="equal_width", norm=2) ** 2 == near(reliability + within.mean())


def test_sums_of_squares(rng: np.random.Generator) -> None:
    y, p = binary(rng)
    promised = (p * (1 - p)).mean()
    deviation = math.sqrt(((1 - 2 * p) ** 2 * p * (1 - p)).sum())
    assert cal.spiegelhalter_z(y, p) * deviation == near(len(y) * (cal.brier(y, p) - promised))
    assert cal.dawid_sebastiani(y, p) == near(cal.nses(y, p) + np.log(p * (1 - p)).mean())
    assert cal.huber(y, p, delta=1) == near(cal.brier(y, p) / 2)
    assert cal.huber(y, p, delta=0.3) == near(0.3 * cal.huber(y, p, delta=0.3, form="isotone"))
    assert cal.l1_eps(y, p, eps=0) == near(cal.lp_error(y, p))
    assert cal.lp_error(y, p, norm=2) ** 2 == near(cal.brier(y, p))
    assert cal.focal_loss(y, p, gamma=0) == near(cal.nll(y, p))
    assert cal.ranked_probability(y, p) == near(cal.brier(y, p))


def test_many_classes(rng: np.random.Generator) -> None:
    y, p = many(rng)
    classes = p.shape[1]
    assert cal.lp_error(y, p) == near(2 / classes * (1 - p[np.arange(len(y)), y]).mean())
    assert cal.lp_error(y, p, norm=2) ** 2 == near(cal.brier(y, p, scale="per_class"))
    assert cal.focal_loss(y, p, gamma=0) == near(cal.nll(y, p))
    assert cal.tace(y, p, threshold=0, bins=5) == near(cal.ace(y, p, bins=5))
    assert cal.topk_ece(y, p, k=1) == near(cal.ece(y, p, lens="top_label"))
    assert cal.topk_ece(y, p, k=1, reading="cumulative") == near(cal.ece(y, p, lens="top_label"))
    assert cal.topk_ece(y, p, k=classes, reading="cumulative") == near(0)
    assert cal.topk_ece(y, p, k=2) == near((cal.ece(y, p, lens="rank:1") + cal.ece(y, p, lens="rank:2")) / 2)
    assert cal.topk_ece(y, p, k=2, reading="cumulative") == near(cal.ece(y, p, lens="within_top:2"))
    assert cal.multiclass_ce(y, p, bins=1) == near(classes / 2 * cal.mdca(y, p))
    alone = cal.multiclass_ce(y, p, bins=10**6)  # rows that share such a cell differ by a millionth
    assert alone == pytest.approx((1 - p[np.arange(len(y)), y]).mean(), abs=1e-5)
    assert cal.lse_ece(y, p, temperature=1e-9) == near(cal.ece(y, p, lens="top_label"))
    # A rank decided by a smooth step and memberships by another: equal as both become steps.
    sharp = cal.dece(y, p, rank_sharpness=1e12, bin_temperature=1e-12)
    assert sharp == pytest.approx(cal.ece(y, p, lens="top_label"), abs=1e-3)
    if (y == 0).any():
        ratio = cal.expected_observed_ratio(y, p, lens="class:0")
        assert ratio * (y == 0).mean() == near(p[:, 0].mean())


def test_cells_of_two_classes_are_bins(rng: np.random.Generator) -> None:
    y, p = distinct(rng)
    for bins in (1, 2, 10):
        assert cal.multiclass_ce(y, p, bins=bins) == near(cal.ece(y, p, bins=bins))
    assert cal.spiegelhalter_z(y, np.column_stack([1 - p, p])) == near(cal.spiegelhalter_z(y, p))
    # Two columns have the residual of one twice.
    assert cal.t_cal(y, p, bins=5, lens="canonical") == near(2 * cal.t_cal(y, p, bins=5))


def test_soft_bins_become_hard(rng: np.random.Generator) -> None:
    y, p = distinct(rng)
    assert cal.sbece(y, p, temperature=1e-12, norm=1) == near(cal.ece(y, p))
    assert cal.sbece(y, p, temperature=1e-12) == near(cal.rmsce(y, p))
    assert cal.dece(y, p, lens="binary", bin_temperature=1e-12) == near(cal.ece(y, p))
    lower = cal.sbece(y, p, temperature=1e-12, norm=1, form="label_binned")
    assert lower == near(cal.ece_lb(y, p, binning="equal_width"))
    # No score within a quarter of a width of an edge, 0 and 1 included.
    inner = (rng.integers(0, 15, 60) + rng.uniform(0.25, 0.75, 60)) / 15
    assert cal.fce(y, inner) == near(cal.ece(y, inner))


def test_roofs(rng: np.random.Generator) -> None:
    y, p = binary(rng)
    for binning in ("equal_width", EM, "equal_area"):
        assert cal.ece_em(y, p, bins=6, binning=binning) == near(cal.ece(y, p, bins=6, binning=binning))
    flat = cal.calibration_curve(y, p, bins=6, binning=EM).table
    cell = np.searchsorted(flat.right, p)
    assert cal.ece_lb(y, p, bins=6) == near(np.abs(flat.rate[cell] - p).mean())


def test_debiasing_takes_nothing_from_pure_bins(rng: np.random.Generator) -> None:
    p = np.sort(rng.random(40))
    y = (np.arange(40) >= int(rng.integers(5)) * 10).astype(int)  # every one of four bins is all 0 or all 1
    assert cal.ce2_db(y, p, bins=4) == near(cal.rmsce(y, p, bins=4, binning=EM) ** 2)
    assert cal.drmsce(y, p, bins=4) == near(cal.rmsce(y, p, bins=4, binning=EM))
    assert cal.ece_db(y, p, bins=4) == near(cal.ece_em(y, p, bins=4))


def test_exchanging_the_labels(rng: np.random.Generator) -> None:
    y, p = distinct(rng)
    for metric in (cal.cce, cal.smbs, cal.rbece, cal.nses, cal.spherical, cal.huber, cal.t_cal, cal.fce, cal.sbece):
        assert metric(1 - y, 1 - p) == near(metric(y, p)), metric.id
    for metric in (cal.ece_db, cal.ce2_db, cal.ece_lb):
        assert metric(1 - y, 1 - p, bins=12) == near(metric(y, p, bins=12)), metric.id  # 12 divides 60
    assert cal.hosmer_lemeshow(1 - y, 1 - p) == pytest.approx(cal.hosmer_lemeshow(y, p), rel=1e-10)
    assert cal.spiegelhalter_z(1 - y, 1 - p) == near(cal.spiegelhalter_z(y, p))
    assert cal.dici(1 - y, 1 - p, bins=12) == near(-cal.dici(y, p, bins=12))
    assert cal.calibration_in_the_large(1 - y, 1 - p) == near(-cal.calibration_in_the_large(y, p))
    shift = cal.calibration_in_the_large(y, p, form="logit")
    assert cal.calibration_in_the_large(1 - y, 1 - p, form="logit") == pytest.approx(-shift, abs=1e-9)


# Groups and features.


def test_groups_and_features(rng: np.random.Generator) -> None:
    y, p = binary(rng)
    n = len(y)
    groups, feature = rng.integers(0, 3, n), rng.normal(size=n).round(1)
    bins = np.searchsorted(np.arange(1, 6) / 6, p)
    assert cal.pce(cal.Predictions(y, p, groups=bins), bins=None) == near(cal.ece(y, p, bins=6))
    assert cal.pce(cal.Predictions(y, p, groups=np.zeros(n)), bins=6) == near(cal.ece(y, p, bins=6))
    assert cal.pce(cal.Predictions(y, p, groups=np.arange(n)), bins=None) == near(cal.lp_error(y, p))
    assert cal.pce(cal.Predictions(y, p, groups=groups), bins=None) == near(
        cal.fece(cal.Predictions(y, p, groups=groups))
    )
    both = (cal.fece(cal.Predictions(y, p, groups=groups)) + 3 * cal.fece(cal.Predictions(y, p, groups=bins))) / 4
    assert cal.pce(cal.Predictions(y, p, groups=groups), partitions=[bins], partition_weight=[1, 3], bins=None) == near(
        both
    )
    assert cal.fece(cal.Predictions(y, p, groups=np.zeros(n))) == near(abs(p.mean() - y.mean()))
    assert cal.vece(cal.Predictions(y, p, features=p), bins=6) == near(cal.ece_em(y, p, bins=6))
    assert cal.vece(cal.Predictions(y, p, features=np.zeros(n))) == near(abs(p.mean() - y.mean()))
    assert cal.vece(cal.Predictions(y, p, features=groups), bins=n) == near(
        cal.fece(cal.Predictions(y, p, groups=groups))
    )
    assert cal.mvce(cal.Predictions(y, p, features=feature)) == near(cal.vece(cal.Predictions(y, p, features=feature)))
    assert cal.mvce(cal.Predictions(y, p, features=feature), views=4, rng=0) == near(
        cal.vece(cal.Predictions(y, p, features=feature))
    )
    assert cal.metrics.piece(cal.Predictions(y, p, features=feature), proximity=np.ones(n)) == near(
        cal.ece_em(y, p, bins=10)
    )
    close = rng.normal(size=n).round(1)
    expected = cal.metrics.piece(cal.Predictions(y, p, features=feature), proximity=close)
    assert cal.metrics.piece(cal.Predictions(y, p, features=feature), proximity=np.exp(3 * close)) == near(expected)
    two = np.column_stack([feature, close])
    half = (
        cal.vece(cal.Predictions(y, p, features=two)) + cal.vece(cal.Predictions(y, p, features=two), feature=1)
    ) / 2
    assert cal.mvce(cal.Predictions(y, p, features=two)) == near(half)


def test_partitions_by_class_columns_are_classwise(rng: np.random.Generator) -> None:
    y, p = many(rng)
    columns = [
        cal.pce(
            cal.Predictions((y == k).astype(int), p[:, k], groups=np.searchsorted(np.arange(1, 9) / 9, p[:, k])),
            bins=None,
        )
        for k in range(p.shape[1])
    ]
    assert float(np.mean(columns)) == near(cal.cwce(y, p, bins=9))


def test_forecasts_at_the_rate_are_never_rejected(rng: np.random.Generator) -> None:
    y = rng.integers(0, 2, 40)
    p = np.repeat([y[:20].mean(), y[20:].mean()], 20)
    rates = np.sort(p)
    assert cal.tce(y if p[0] <= p[-1] else y[::-1], rates, binning=EM, bins=2) == near(0)
    assert 0 <= cal.tce(*binary(rng), min_block=1) <= 100


def test_tied_scores_are_pooled_together() -> None:
    assert cal.tce([0, 1] * 50, [0.5] * 100) == 0
    rng = np.random.default_rng(0)
    rounded = np.round(rng.random((20, 2000)), 1)
    found = [cal.tce(rng.random(2000) < p, p) for p in rounded]
    assert np.mean(found) < 6  # in one direction or the other, outcomes of a tie would make it 50


# Bins.


@pytest.mark.parametrize("binning", ["equal_width", EM])
def test_several_numbers_of_bins(binning: str, rng: np.random.Generator) -> None:
    y, p = binary(rng)
    for metric in (cal.ece, cal.rmsce, cal.mce, cal.smbs, cal.drmsce, cal.hosmer_lemeshow):
        every = [metric(y, p, bins=bins, binning=binning) for bins in (10, 15, 20)]
        assert metric(y, p, bins=[10, 15, 20], binning=binning) == near(sum(every) / 3), metric.id
        widths = [metric(y, p, bins=bins, binning=binning) for bins in (20, 10)]
        assert metric(y, p, bins=[0.05, 0.1], binning=binning) == near(sum(widths) / 2), metric.id
    edges = cal.ece(y, p, bins=[0, 0.05, 0.1, 1])
    cell = np.searchsorted([0.05, 0.1], p)
    assert edges == near(np.abs(np.bincount(cell, p - y)).sum() / len(y))


def test_averaging_widths_matters_for_midpoints_alone(rng: np.random.Generator) -> None:
    y, p = binary(rng)
    widths = np.linspace(0.005, 0.05, 10)
    assert cal.esce(y, p, bins=widths) == near(p.mean() - y.mean())
    middle = []
    for count in [round(1 / width) for width in widths]:
        cell = np.clip(np.ceil(p * count) - 1, 0, count - 1)  # no score on an edge
        middle.append(((cell + 0.5) / count).mean() - y.mean())
    value = cal.esce(y, p, bins=widths, representative="midpoint")
    assert value == pytest.approx(float(np.mean(middle)), abs=1e-10)
    assert cal.esce(y, p, bins=widths.tolist(), representative="midpoint") == near(value)


@pytest.mark.parametrize("how", SEARCHES)
@pytest.mark.parametrize("binning", ["equal_width", EM])
def test_searches_give_a_number_of_bins(binning: str, how: Any, rng: np.random.Generator) -> None:
    y, p = rng.integers(0, 2, 60), rng.random(60)
    counts = range(1, 100 if how == "sweep" else 65)
    every = [cal.ece(y, p, bins=count, binning=binning) for count in counts]
    value = cal.ece(y, p, bins=how, binning=binning)
    assert any(value == near(other) for other in every)
    if how == "tcal":
        assert any(value == near(every[2**power - 1]) for power in range(1, 6))


def test_sweep_takes_the_last_number_before_rates_fall(rng: np.random.Generator) -> None:
    y, p = binary(rng)
    for binning in ("equal_width", EM):
        count = 1
        while count < len(y) - 1:
            rate = cal.calibration_curve(y, p, bins=count + 1, binning=binning).rate
            if (np.diff(rate[~np.isnan(rate)]) < -1e-12).any():
                break
            count += 1
        assert cal.ece(y, p, bins="sweep", binning=binning) == near(cal.ece(y, p, bins=count, binning=binning))
    assert cal.ece_sweep(y, p) == near(cal.ece(y, p, bins="sweep", binning=EM))


def test_equal_area_of_an_even_grid(rng: np.random.Generator) -> None:
    p = (np.arange(60) + 0.5) / 60
    y = rng.integers(0, 2, 60)
    for bins in (1, 2, 5, 12):
        assert cal.ece_ea(y, p, bins=bins) == near(cal.ece(y, p, bins=bins))
        assert cal.ece_ea(y, p, bins=bins) == near(cal.ece_em(y, p, bins=bins))


def test_equal_area_balances_width_and_rows(rng: np.random.Generator) -> None:
    y, p = rng.integers(0, 2, 400), rng.beta(0.6, 2, 400)
    table = cal.calibration_curve(y, p, bins=8, binning="equal_area").table
    area = (table.right - table.left) * table.weight
    assert 4 <= len(table) <= 8
    assert area[:-1].max() < 1.6 * area[:-1].min()


@pytest.mark.parametrize("how", SEARCHES)
def test_searches_do_not_see_order_scale_or_form_of_weights(how: Any, rng: np.random.Generator) -> None:
    y, p = rng.integers(0, 2, 40), rng.choice(rng.random(25), 40)
    counts, order = rng.integers(1, 4, 40), rng.permutation(40)
    weight = rng.uniform(0.2, 3, 40)
    for binning in ("equal_width", EM):
        value = cal.ece(cal.Predictions(y, p, counts=counts), bins=how, binning=binning)
        repeated = cal.ece(np.repeat(y, counts), np.repeat(p, counts), bins=how, binning=binning)
        assert value == near(repeated)
        moved = cal.ece(cal.Predictions(y[order], p[order], counts=counts[order]), bins=how, binning=binning)
        assert moved == near(value)
        weighed = cal.ece(y, p, bins=how, binning=binning, sample_weight=weight)
        assert cal.ece(y, p, bins=how, binning=binning, sample_weight=0.3 * weight) == near(weighed)
        again = cal.ece(y[order], p[order], bins=how, binning=binning, sample_weight=weight[order])
        assert again == near(weighed)


# Averages over widths.


def test_an_average_over_widths_is_that_of_expected_calibration_errors(rng: np.random.Generator) -> None:
    y, p = binary(rng)
    p = np.where(rng.random(len(p)) < 0.3, np.round(p, 1), p)  # on edges, at 0 and at 1
    numbers = (200, 100, 67, 50, 40, 33, 29, 25, 22, 20)
    assert cal.ece_widths(y, p) == near(np.mean([cal.ece(y, p, bins=number) for number in numbers]))
    assert cal.ece_widths(y, p) == near(cal.ece(y, p, bins=[0.005 * j for j in range(1, 11)]))
    assert cal.ece_widths(y, p, widths=[1]) == near(abs(cal.esce(y, p)))
    assert cal.ece_widths(y, p, widths=[1 / 15]) == near(cal.ece(y, p))
    weights = rng.uniform(0.1, 3, len(y))
    assert cal.ece_widths(y, p, widths=[0.1, 0.5], sample_weight=weights) == near(
        (cal.ece(y, p, bins=10, sample_weight=weights) + cal.ece(y, p, bins=2, sample_weight=weights)) / 2
    )


@pytest.mark.parametrize("widths", [None, "0.1", [], [0], [2], 0.1, [math.nan], ["a"], [[0.1]], [1e-9]])
def test_widths_that_are_none(widths: Any) -> None:
    with pytest.raises(cal.errors.ArgumentError, match=r"^widths: must be "):
        cal.ece_widths([0, 1], [0.2, 0.3], widths=widths)


def test_narrow_bins_are_inflated_by_noise() -> None:
    sample = cal.inference.make_calibrated(1000, rng=1)
    assert cal.ece_widths(sample.y_true, sample.y_prob) > 1.5 * cal.ece(sample.y_true, sample.y_prob)


def test_spiegelhalter_of_an_event_is_exact_whatever_the_scores() -> None:
    rng = np.random.default_rng(2)
    for scores in (rng.random(3000), np.round(rng.random(40), 1), 1 - 10.0 ** -rng.uniform(0, 15, 40), [1e-30, 0.3]):
        y, p = rng.integers(0, 2, len(scores)), np.asarray(scores)
        pairs = [(int(label), Fraction(score)) for label, score in zip(y, p.tolist(), strict=True)]
        away = sum((score - label) * (2 * score - 1) for label, score in pairs)
        variance = sum(score * (1 - score) * (2 * score - 1) ** 2 for _, score in pairs)
        wanted = float(away) / math.sqrt(variance)
        assert cal.spiegelhalter_z(y, p) == pytest.approx(wanted, rel=1e-13, abs=1e-14)
    with pytest.raises(cal.errors.UndefinedMetricError, match="no variance"):  # uniform up to rounding
        cal.spiegelhalter_z([0, 1], [0.5, 0.5 + 1e-15])


@pytest.mark.parametrize("neighbours", [None, 0, 3, 40, 700])
def test_counts_of_neighbours_are_as_good_as_rows(neighbours: int | None) -> None:
    """Most rows of a score share their neighbours, which are then added up without writing the rows out."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        score = np.unique(np.append(rng.beta(0.5, 1, 60).round(3), [0.0, 1.0][: seed % 3]))
        counts = rng.integers(1, (8, 30, 90)[seed % 3], len(score))
        events = rng.binomial(counts, score)
        both = np.concatenate([counts - events, events])
        y, p = np.repeat([0, 1], len(score)), np.tile(score, 2)
        rows = np.repeat(np.arange(len(p)), both)
        kept = both > 0
        found = cal.ece_knn(cal.Predictions(y[kept], p[kept], counts=both[kept]), neighbours=neighbours)
        assert found == pytest.approx(cal.ece_knn(y[rows], p[rows], neighbours=neighbours), abs=1e-14)
