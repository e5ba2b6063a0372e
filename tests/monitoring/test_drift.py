"""Distances between samples of scores: published values, SciPy, every exchange written out, level under no change, refusals."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import jensenshannon

import calibrant as cal
from calibrant.errors import ArgumentError, LensError, UndefinedMetricError, UnknownArgumentError
from calibrant.monitoring.drift import (
    DriftReport,
    energy_distance,
    jensen_shannon,
    ks_2samp,
    psi,
    score_drift,
    wasserstein,
)
from calibrant.monitoring.samples import Sample, lay_on_cells
from calibrant.monitoring.shuffles import path_pvalue

PLACES = [0.1, 0.3, 0.5, 0.7, 0.9]
H = (Sample.of(PLACES, counts=[10, 20, 40, 20, 10]), Sample.of(PLACES, counts=[5, 15, 35, 30, 15]))
B = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
W = [0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97]


def test_published_psi() -> None:
    raw = psi(*H, bins="cells", smoothing=0, method="chi_square")
    smooth = psi(*H, bins="cells", method="chi_square")
    found = [raw.value, raw.pvalue, raw.threshold, smooth.value, smooth.pvalue]
    wanted = [0.1165377985, 0.2124546103, 0.1897545807, 0.1093682764, 0.2425199136]
    np.testing.assert_allclose(found, wanted, atol=5e-11)
    gone = Sample.of(PLACES, counts=[0, 15, 40, 30, 15])
    assert psi(H[0], gone, bins="cells").value == pytest.approx(0.3684242975, abs=5e-11)
    tiny = psi(Sample.of([0, 1], counts=[3, 1]), Sample.of([0, 1], counts=[1, 3]), bins="cells")
    np.testing.assert_allclose([tiny.value, tiny.pvalue], [0.6778382883, 0.4857142857], atol=5e-11)
    assert tiny.method == "every exchange of rows"


def test_published_jensen_shannon() -> None:
    found = jensen_shannon(*H, bins="cells", method="chi_square")
    values = [found.value, found.details["nats"], found.details["distance"], found.pvalue]
    np.testing.assert_allclose(values, [0.02080955373, 0.01442408349, 0.1442551688, 0.2170253965], atol=5e-11)
    p, q = H[0].share, H[1].share
    assert found.details["distance"] == pytest.approx(jensenshannon(p, q, 2), abs=1e-14)
    # Twice the likelihood ratio of the table of counts, as sizes are equal.
    table = np.array([[10, 20, 40, 20, 10], [5, 15, 35, 30, 15]])
    g = stats.chi2_contingency(table, lambda_="log-likelihood")
    assert 8 * 50 * found.details["nats"] == pytest.approx(g.statistic, abs=1e-10)
    assert found.pvalue == pytest.approx(g.pvalue, abs=1e-12)


def test_published_distances_of_rows() -> None:
    ks = ks_2samp(B, W)
    assert (ks.value, ks.details["at"]) == (0.25, 0.45)
    assert ks.pvalue == pytest.approx(0.8982357512, abs=5e-11)
    assert ks_2samp(B, W, method="kolmogorov").pvalue == pytest.approx(0.9439727178, abs=5e-11)
    assert wasserstein(B, W).value == pytest.approx(0.12125, abs=1e-15)
    energy = energy_distance(B, W)
    assert energy.value == pytest.approx(0.0390625, abs=1e-14)
    assert energy.details["root"] == pytest.approx(0.1976423538, abs=5e-11)


@pytest.mark.parametrize("seed", range(6))
def test_scipy_agrees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.beta(2, 2, 37 + seed), rng.beta(2, 1.5, 24)
    exact = stats.ks_2samp(x, y, method="exact")
    found = ks_2samp(x, y)
    assert found.value == pytest.approx(exact.statistic, abs=1e-14)
    assert found.pvalue == pytest.approx(exact.pvalue, rel=1e-9)
    assert wasserstein(x, y, n_resamples=9).value == pytest.approx(stats.wasserstein_distance(x, y), abs=1e-13)
    root = energy_distance(x, y, n_resamples=9).details["root"]
    assert root == pytest.approx(stats.energy_distance(x, y), abs=1e-13)
    assert wasserstein(x, y, n_resamples=9).value >= abs(x.mean() - y.mean()) - 1e-14


def test_tiny_pvalues_keep_their_digits() -> None:
    x, y = np.arange(40) / 100, np.arange(40) / 100 + 0.5
    assert ks_2samp(x, y).pvalue == pytest.approx(2 / math.comb(80, 40), rel=1e-9)


def test_ties_are_counted_exactly() -> None:
    x, y = [0.1, 0.1, 0.5, 0.5, 0.9], [0.1, 0.5, 0.9, 0.9]
    pool = np.array(x + y)
    levels = np.unique(pool)

    def distance(a: Any, b: Any) -> float:
        return max(abs(np.mean(a <= v) - np.mean(b <= v)) for v in levels)

    own = distance(np.array(x), np.array(y))
    every = []
    for chosen in itertools.combinations(range(9), 5):
        inside = np.isin(np.arange(9), chosen)
        every.append(distance(pool[inside], pool[~inside]))
    found = ks_2samp(x, y)
    assert found.value == pytest.approx(own)
    assert found.pvalue == pytest.approx(np.mean(np.array(every) >= own - 1e-12))
    reachable = [d for d in sorted(set(np.round(every, 12))) if np.mean(np.array(every) >= d - 1e-9) <= 0.05]
    # No distance between the largest that is not rare and the threshold exists.
    if reachable:
        assert found.threshold <= reachable[0] + 1e-12
    assert path_pvalue(lay_on_cells(x, y, "ks"), found.threshold) <= 0.05 or math.isinf(found.threshold)


def test_energy_and_permutation_by_every_exchange() -> None:
    x, y = [0.1, 0.2, 0.4], [0.3, 0.8, 0.9, 0.95]
    pool = np.array(x + y)

    def energy(a: Any, b: Any) -> float:
        def mean(c: Any, d: Any) -> float:
            return float(np.abs(np.subtract.outer(c, d)).mean())

        return 2 * mean(a, b) - mean(a, a) - mean(b, b)

    own = energy(np.array(x), np.array(y))
    every = []
    for chosen in itertools.combinations(range(7), 3):
        inside = np.isin(np.arange(7), chosen)
        every.append(energy(pool[inside], pool[~inside]))
    found = energy_distance(x, y)
    assert found.value == pytest.approx(own, abs=1e-13)
    assert found.pvalue == pytest.approx(np.mean(np.array(every) >= own - 1e-12))


def test_draws_come_near_the_exact_value() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.random(60), rng.random(50) ** 1.3
    exact = ks_2samp(x, y).pvalue
    drawn = ks_2samp(x, y, method="permutation", n_resamples=4000, rng=1).pvalue
    assert abs(drawn - exact) < 4 * math.sqrt(exact * (1 - exact) / 4000) + 1e-3


def test_bins_of_equal_parts_follow_the_reference() -> None:
    reference, window = np.arange(1, 101) / 101, np.full(20, 0.999)
    smooth = psi(reference, window, smoothing=0.5)
    p, q = np.full(10, 10.5) / 105, np.append(np.full(9, 0.5), 20.5) / 25
    assert smooth.value == pytest.approx(((q - p) * np.log(q / p)).sum())
    assert smooth.rejected


def test_symmetry_and_zero() -> None:
    assert psi(*H, bins="cells").value == pytest.approx(psi(*H[::-1], bins="cells").value)
    for distance in (psi, jensen_shannon, ks_2samp, wasserstein, energy_distance):
        same = distance(B, B)
        assert same.value == pytest.approx(0, abs=1e-15)
        assert same.pvalue == pytest.approx(1.0)
        equal = distance([0.5] * 4, [0.5] * 3)
        assert (equal.value, equal.pvalue) == (0.0, 1.0)
        one = distance([0.2], [0.7])
        assert one.pvalue == pytest.approx(1.0)


@pytest.mark.parametrize("distance", [psi, jensen_shannon, ks_2samp, wasserstein, energy_distance])
def test_sketches_count_as_their_rows(distance: Any) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.beta(2, 2, 700), rng.beta(2.5, 2, 400)
    rows = distance(x, y)
    cells = distance(cal.Sketch.of(np.zeros(700, int), x), cal.Sketch.of(np.ones(400, int), y))
    assert cells.value == pytest.approx(rows.value, rel=0.03, abs=1e-3)
    assert cells.pvalue == pytest.approx(rows.pvalue, abs=0.03)
    assert (cells.n_reference, cells.n_window) == (700, 400)


def test_sketch_brackets_the_distance_of_rows() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.beta(2, 2, 5000), rng.beta(2, 2, 3000)
    true = stats.ks_2samp(x, y).statistic
    found = ks_2samp(cal.Sketch.of(np.zeros(5000, int), x), cal.Sketch.of(np.zeros(3000, int), y), n_resamples=99)
    assert found.value - 1e-12 <= true <= found.details["at_most"] + 1e-12


def test_counts_are_repeated_rows() -> None:
    values, counts = np.array([0.1, 0.4, 0.6, 0.9]), np.array([3, 1, 4, 2])
    other = [0.1, 0.5, 0.6, 0.6, 0.95]
    for distance in (psi, jensen_shannon, ks_2samp, wasserstein, energy_distance):
        a, b = distance(Sample.of(values, counts=counts), other), distance(np.repeat(values, counts), other)
        assert a.value == b.value
        assert a.pvalue == b.pvalue


def test_importance_weights() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random(80), rng.random(60)
    weight = rng.integers(1, 4, 80).astype(float)
    found = wasserstein(Sample.of(x, sample_weight=weight), y, n_resamples=199)
    assert found.value == pytest.approx(stats.wasserstein_distance(x, y, weight, None), abs=1e-12)
    assert found.n_reference == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    assert 0 < found.pvalue <= 1
    scaled = wasserstein(Sample.of(x, sample_weight=4 * weight), y, n_resamples=199)
    assert scaled.pvalue == found.pvalue


@pytest.mark.parametrize("weighted", ["reference", "window"])
def test_level_holds_with_weights_on_one_side(weighted: str) -> None:
    rng = np.random.default_rng(3)
    rejected = np.zeros(2)
    for seed in range(200):
        x, y = Sample.of(rng.beta(2, 5, 80)), Sample.of(rng.beta(2, 5, 40), sample_weight=rng.exponential(size=40) ** 2)
        pair = (x, y) if weighted == "window" else (y, x)
        words: dict[str, Any] = {"n_resamples": 39, "rng": seed, "alpha": 0.1}
        rejected += [wasserstein(*pair, **words).rejected, ks_2samp(*pair, method="permutation", **words).rejected]
    assert (np.abs(rejected / 200 - 0.1) <= 3 * math.sqrt(0.09 / 200)).all()


def test_weights_on_one_side_stay_where_they_are() -> None:
    """Every order of five scores over the slots of three rows of weight 1 and two of weights 1 and 3."""
    x, y, weight = [0.1, 0.2, 0.4], [0.6, 0.9], [1.0, 3.0]

    def distance(order: Any) -> float:
        return float(stats.wasserstein_distance(order[:3], order[3:], None, weight))

    every = np.array([distance(order) for order in itertools.permutations([*x, *y])])
    exact = float(np.mean(every >= distance([*x, *y]) - 1e-12))
    for pair in (
        (Sample.of(x), Sample.of(y, sample_weight=weight)),
        (Sample.of(y, sample_weight=weight), Sample.of(x)),
    ):
        found = wasserstein(*pair, n_resamples=4000)
        assert found.method == "scores exchanged, weights taken as unrelated to them"
        assert abs(found.pvalue - exact) <= 4 * math.sqrt(exact * (1 - exact) / 4000)


def test_weights_on_both_sides_move_with_their_rows() -> None:
    x, y, weights = [0.1, 0.2, 0.4], [0.6, 0.9], ([1.0, 2.0, 2.0], [1.0, 3.0])
    found = wasserstein(
        Sample.of(x, sample_weight=weights[0]), Sample.of(y, sample_weight=weights[1]), n_resamples=4000
    )
    assert found.method == "rows exchanged with their weights"
    worth = [np.array(w) * (sum(w) / np.square(w).sum()) for w in weights]
    values, weight = np.array(x + y), np.concatenate(worth)
    every = []
    for chosen in itertools.combinations(range(5), 3):
        on = np.isin(np.arange(5), chosen)
        every.append(stats.wasserstein_distance(values[on], values[~on], weight[on], weight[~on]))
    exact = float(np.mean(np.array(every) >= found.value - 1e-12))
    assert abs(found.pvalue - exact) <= 4 * math.sqrt(exact * (1 - exact) / 4000)


def test_rounding_of_weights_makes_no_bin() -> None:
    rng = np.random.default_rng(12)
    x, weight, y = rng.random(150), rng.exponential(size=150), rng.random(80)
    assert 0 < psi(Sample.of(x, sample_weight=weight), Sample.of(y), n_resamples=99).pvalue <= 1
    both = psi(Sample.of(x, sample_weight=weight), Sample.of(y, sample_weight=weight[:80]), n_resamples=99)
    assert 0 < both.pvalue <= 1
    # A row of next to no weight joins the last bin.
    hair = psi(Sample.of([0.1, 0.2, 0.9], sample_weight=[1, 1, 1e-12]), [0.1, 0.2, 0.9], bins=2, n_resamples=19)
    p, q = np.array([1.5, 1.5]) / 3, np.array([1.5, 2.5]) / 4
    assert hair.value == pytest.approx(((q - p) * np.log(q / p)).sum(), abs=1e-9)


@pytest.mark.parametrize(("n", "m", "bins"), [(100, 100, 5), (100, 40, 10)])
def test_level_holds_without_change(n: int, m: int, bins: int) -> None:
    rng = np.random.default_rng(n + m)
    rejected = [
        psi(rng.random(n), rng.random(m), bins=bins, n_resamples=39, rng=i, alpha=0.1).rejected for i in range(150)
    ]
    assert np.mean(rejected) <= 0.1 + 3 * math.sqrt(0.09 / 150)
    assert np.mean(rejected) >= 0.1 - 3 * math.sqrt(0.09 / 150)


@pytest.mark.deep
@pytest.mark.parametrize("n", [200, 2000])
@pytest.mark.parametrize("bins", [5, 10, 20])
def test_limit_law_of_psi_holds(n: int, bins: int) -> None:
    rng = np.random.default_rng(bins * n)
    found = [psi(rng.random(n), rng.random(n), bins=bins, method="chi_square").rejected for _ in range(2000)]
    assert abs(np.mean(found) - 0.05) <= 3 * math.sqrt(0.05 * 0.95 / 2000) + (0.01 if n / bins < 20 else 0)


def test_several_at_once_are_corrected() -> None:
    rng = np.random.default_rng(2)
    report = score_drift(rng.beta(2, 2, 300), rng.beta(2, 2, 200), n_resamples=199)
    for result, adjusted in zip(report.results, report.adjusted, strict=True):
        assert result.pvalue <= adjusted + 1e-12
        assert adjusted <= 5 * result.pvalue + 0.02
    assert report["psi"].statistic == "psi"
    moved = score_drift(rng.beta(2, 2, 300), rng.beta(5, 2, 200), n_resamples=199)
    assert moved.rejected
    assert list(moved.to_frame()["statistic"]) == [r.statistic for r in moved.results]
    tiny = score_drift([0.1, 0.2, 0.3], [0.4, 0.5, 0.6])
    assert min(tiny.adjusted) >= 0.1 - 1e-12  # no exchange of three and three rows is rarer


def test_correction_keeps_the_level() -> None:
    rng = np.random.default_rng(7)
    names = ("psi", "ks_2samp", "wasserstein")
    found = [
        score_drift(rng.random(50), rng.random(40), statistics=names, n_resamples=39, rng=i, alpha=0.1).rejected
        for i in range(200)
    ]
    assert np.mean(found) <= 0.1 + 3 * math.sqrt(0.09 / 200)


def test_known_reference_draws_from_it() -> None:
    rng = np.random.default_rng(0)
    reference = Sample.of(np.arange(20) / 20, counts=np.full(20, 5))
    window = rng.integers(0, 20, 300) / 20
    known = ks_2samp(reference, window, known_reference=True, n_resamples=199)
    assert known.method == "draws from the reference"
    assert known.pvalue > 0.01
    fixed = psi(reference, window, bins=10, method="chi_square", known_reference=True)
    sampled = psi(reference, window, bins=10, method="chi_square")
    assert fixed.threshold == pytest.approx(stats.chi2.isf(0.05, 9) / 300)
    assert sampled.threshold == pytest.approx(stats.chi2.isf(0.05, 9) / (100 * 300 / 400))


def test_same_seed_same_bits() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random(100), rng.random(90)
    assert wasserstein(x, y, rng=3).pvalue == wasserstein(x, y, rng=3).pvalue
    order = rng.permutation(100)
    assert wasserstein(x[order], y, rng=3) == wasserstein(x, y, rng=3)


def test_refusals() -> None:
    with pytest.raises(UndefinedMetricError, match="bin 0 is empty in one sample only"):
        psi(H[0], Sample.of(PLACES, counts=[0, 15, 40, 30, 15]), bins="cells", smoothing=0)
    with pytest.raises(ArgumentError, match="5 rows expected in every bin"):
        psi(B, W, method="chi_square")
    with pytest.raises(ArgumentError, match="method"):
        psi(B, W, method="exact")
    with pytest.raises(ArgumentError, match="method"):
        ks_2samp(B, W, method="chi_square")
    with pytest.raises(ArgumentError, match="'exact' is for counted rows"):
        ks_2samp(np.random.default_rng(0).random(5000), B, method="exact")
    with pytest.raises(ArgumentError, match="bins"):
        psi(B, W, bins="quantile")
    with pytest.raises(ArgumentError, match="rise strictly"):
        psi(B, W, bins=[0, 0.5, 0.5, 1])
    with pytest.raises(ArgumentError, match="smoothing"):
        psi(B, W, smoothing=-1)
    with pytest.raises(UnknownArgumentError, match="no distance"):
        score_drift(B, W, statistics=("psi", "hellinger"))
    with pytest.raises(ArgumentError, match="different names"):
        score_drift(B, W, statistics=("psi", "psi"))
    with pytest.raises(UndefinedMetricError, match="window holds no rows"):
        psi(B, cal.Sketch.empty("binary"))
    top = cal.Sketch.of([0, 1], [0.7, 0.9], lens="top_label")
    with pytest.raises(LensError, match="another question"):
        psi(cal.Sketch.of([0, 1], [0.7, 0.9]), top)
    with pytest.raises(ArgumentError, match="alpha"):
        psi(B, W, alpha=0)


def test_words_never_claim_calibration() -> None:
    found = psi(B, W)
    assert "Calibration may have changed all the same" in repr(found)
    moved = wasserstein(np.linspace(0, 0.3, 50), np.linspace(0.5, 1, 50))
    assert "not proof of miscalibration" in repr(moved)
    assert "<table>" in moved._repr_html_()
    assert moved.to_dict()["rejected"] is True


def test_no_pvalue_is_shown_as_zero() -> None:
    far = ks_2samp(np.linspace(0, 0.4, 5000), np.linspace(0.6, 1, 5000), method="kolmogorov")
    assert far.pvalue == 0
    assert "p-value < 1e-300 by" in repr(far)
    assert "&lt; 1e-300" in far._repr_html_()
    assert "< 1e-300" in repr(DriftReport((far,), (far.pvalue,), 0.05))


@pytest.mark.parametrize(("n", "m"), [(10, 8), (7, 5), (30, 30), (3, 2), (12, 9)])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.3])
def test_threshold_is_the_smallest_that_is_rare(n: int, m: int, alpha: float) -> None:
    rng = np.random.default_rng(n)
    x, y = rng.random(n), rng.random(m)
    cells = lay_on_cells(x, y, "ks")
    steps = math.lcm(n, m)
    rare = [k / steps for k in range(1, steps + 1) if path_pvalue(cells, k / steps) <= alpha]
    assert ks_2samp(x, y, alpha=alpha).threshold == pytest.approx(rare[0] if rare else math.inf)


def test_threshold_of_many_possible_distances() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random(120), rng.random(101)
    cells = lay_on_cells(x, y, "ks")
    threshold = ks_2samp(x, y).threshold
    assert path_pvalue(cells, threshold) <= 0.05 < path_pvalue(cells, threshold - 3e-3)
