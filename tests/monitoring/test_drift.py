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
from calibrant.inference.seeds import generator, seed_of
from calibrant.monitoring import drift as drifts
from calibrant.monitoring.drift import DriftReport, DriftResult, Sample, score_drift

PLACES = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
H = (Sample.of(PLACES, [10, 20, 40, 20, 10]), Sample.of(PLACES, [5, 15, 35, 30, 15]))
NAMES = ("psi", "jensen_shannon", "ks_2samp", "wasserstein", "energy_distance")
B = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
W = [0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97]


def drift(name: str, reference: Any, window: Any, **options: Any) -> DriftResult:
    """One distance."""
    return score_drift(reference, window, statistics=[name], **options)[name]


def test_published_psi() -> None:
    """Ten equal parts of the reference hold one place each at most, so bins and places are the same."""
    assert drift("psi", *H).value == pytest.approx(0.1093682764, abs=5e-11)
    gone = Sample.of(PLACES, [0, 15, 40, 30, 15])
    assert drift("psi", H[0], gone).value == pytest.approx(0.3684242975, abs=5e-11)
    tiny = drift("psi", Sample.of(np.array([0, 1]), [3, 1]), Sample.of(np.array([0, 1]), [1, 3]))
    assert tiny.value == pytest.approx(0.6778382883, abs=5e-11)
    assert tiny.pvalue == pytest.approx(
        32 / 70
    )  # two more exchanges leave the reference in one place, that is in one bin
    assert tiny.method == "every exchange of rows"


def test_published_jensen_shannon() -> None:
    found = drift("jensen_shannon", *H)
    values = [found.value, found.details["nats"], found.details["distance"]]
    np.testing.assert_allclose(values, [0.02080955373, 0.01442408349, 0.1442551688], atol=5e-11)
    p, q = H[0].share, H[1].share
    assert found.details["distance"] == pytest.approx(jensenshannon(p, q, 2), abs=1e-14)
    # Twice the likelihood ratio of the table of counts, as sizes are equal.
    table = np.array([[10, 20, 40, 20, 10], [5, 15, 35, 30, 15]])
    g = stats.chi2_contingency(table, lambda_="log-likelihood")
    assert 8 * 50 * found.details["nats"] == pytest.approx(g.statistic, abs=1e-10)


def test_published_distances_of_rows() -> None:
    ks = drift("ks_2samp", B, W, n_resamples=4000)
    assert (ks.value, ks.details["at"]) == (0.25, 0.45)
    assert ks.pvalue == pytest.approx(0.8982357512, abs=0.02)
    assert drift("wasserstein", B, W).value == pytest.approx(0.12125, abs=1e-15)
    energy = drift("energy_distance", B, W)
    assert energy.value == pytest.approx(0.0390625, abs=1e-14)
    assert energy.details["root"] == pytest.approx(0.1976423538, abs=5e-11)


@pytest.mark.parametrize("seed", range(6))
def test_scipy_agrees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.beta(2, 2, 37 + seed), rng.beta(2, 1.5, 24)
    exact = stats.ks_2samp(x, y, method="exact")
    found = score_drift(x, y, n_resamples=4000, rng=seed)
    assert found["ks_2samp"].value == pytest.approx(exact.statistic, abs=1e-14)
    error = math.sqrt(exact.pvalue * (1 - exact.pvalue) / 4000)
    assert abs(found["ks_2samp"].pvalue - exact.pvalue) < 4 * error + 1e-3
    assert found["wasserstein"].value == pytest.approx(stats.wasserstein_distance(x, y), abs=1e-13)
    assert found["energy_distance"].details["root"] == pytest.approx(stats.energy_distance(x, y), abs=1e-13)
    assert found["wasserstein"].value >= abs(x.mean() - y.mean()) - 1e-14


def check_every_exchange(name: str, distance: Any, x: list[float], y: list[float]) -> tuple[Any, list[float]]:
    """The p-value is the share of all exchanges of rows that are as far apart; the result, and their distances."""
    pool, place = np.array(x + y), np.arange(len(x + y))
    parts = [np.isin(place, chosen) for chosen in itertools.combinations(place, len(x))]
    every = [distance(pool[inside], pool[~inside]) for inside in parts]  # the first is the data
    found = drift(name, x, y)
    assert found.value == pytest.approx(every[0], abs=1e-13)
    assert found.pvalue == pytest.approx(np.mean(np.array(every) >= every[0] - 1e-12))
    return found, every


def test_ties_are_counted_exactly() -> None:
    levels = (0.1, 0.5, 0.9)

    def distance(a: Any, b: Any) -> float:
        return max(abs(np.mean(a <= v) - np.mean(b <= v)) for v in levels)

    found, every = check_every_exchange("ks_2samp", distance, [0.1, 0.1, 0.5, 0.5, 0.9], [0.1, 0.5, 0.9, 0.9])
    rare = [d for d in sorted(set(np.round(every, 12))) if np.mean(np.array(every) >= d - 1e-9) <= 0.05]
    assert found.threshold == pytest.approx(rare[0] if rare else math.inf)


def test_energy_and_permutation_by_every_exchange() -> None:
    def energy(a: Any, b: Any) -> float:
        def mean(c: Any, d: Any) -> float:
            return float(np.abs(np.subtract.outer(c, d)).mean())

        return 2 * mean(a, b) - mean(a, a) - mean(b, b)

    check_every_exchange("energy_distance", energy, [0.1, 0.2, 0.4], [0.3, 0.8, 0.9, 0.95])


def test_bins_of_equal_parts_follow_the_reference() -> None:
    reference, window = np.arange(1, 101) / 101, np.full(20, 0.999)
    smooth = drift("psi", reference, window)
    p, q = np.full(10, 10.5) / 105, np.append(np.full(9, 0.5), 20.5) / 25
    assert smooth.value == pytest.approx(((q - p) * np.log(q / p)).sum())
    assert smooth.rejected


def test_symmetry_and_zero() -> None:
    for name in NAMES[2:]:  # bins are cut from the reference
        assert drift(name, B, W).value == pytest.approx(drift(name, W, B).value)
    for name in NAMES:
        same = drift(name, B, B)
        assert same.value == pytest.approx(0, abs=1e-15)
        assert same.pvalue == pytest.approx(1.0)
        equal = drift(name, [0.5] * 4, [0.5] * 3)
        assert (equal.value, equal.pvalue) == (0.0, 1.0)
        one = drift(name, [0.2], [0.7])
        assert one.pvalue == pytest.approx(1.0)


@pytest.mark.parametrize("name", NAMES)
def test_sketches_count_as_their_rows(name: str) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.beta(2, 2, 700), rng.beta(2.5, 2, 400)
    rows = drift(name, x, y)
    cells = drift(name, cal.Sketch.of(np.zeros(700, int), x), cal.Sketch.of(np.ones(400, int), y))
    assert cells.value == pytest.approx(rows.value, rel=0.03, abs=1e-3)
    assert cells.pvalue == pytest.approx(rows.pvalue, abs=0.03)
    assert (cells.n_reference, cells.n_window) == (700, 400)


def test_sketch_brackets_the_distance_of_rows() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.beta(2, 2, 5000), rng.beta(2, 2, 3000)
    true = stats.ks_2samp(x, y).statistic
    found = drift(
        "ks_2samp", cal.Sketch.of(np.zeros(5000, int), x), cal.Sketch.of(np.zeros(3000, int), y), n_resamples=99
    )
    assert found.value - 1e-12 <= true <= found.details["at_most"] + 1e-12


def test_counts_are_repeated_rows() -> None:
    values, counts = np.array([0.1, 0.4, 0.6, 0.9]), np.array([3, 1, 4, 2])
    other = [0.1, 0.5, 0.6, 0.6, 0.95]
    for name in NAMES:
        a, b = drift(name, Sample.of(values, counts), other), drift(name, np.repeat(values, counts), other)
        assert a.value == b.value
        assert a.pvalue == b.pvalue


@pytest.mark.parametrize(("n", "m"), [(100, 100), (100, 40)])
def test_level_holds_without_change(n: int, m: int) -> None:
    rng = np.random.default_rng(n + m)
    rejected = [
        drift("psi", rng.random(n), rng.random(m), n_resamples=39, rng=i, alpha=0.1).rejected for i in range(150)
    ]
    assert np.mean(rejected) <= 0.1 + 3 * math.sqrt(0.09 / 150)
    assert np.mean(rejected) >= 0.1 - 3 * math.sqrt(0.09 / 150)


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


def test_same_seed_same_bits() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random(100), rng.random(90)
    assert drift("wasserstein", x, y, rng=3).pvalue == drift("wasserstein", x, y, rng=3).pvalue
    order = rng.permutation(100)
    assert drift("wasserstein", x[order], y, rng=3) == drift("wasserstein", x, y, rng=3)


def test_words_never_claim_calibration() -> None:
    found = drift("psi", B, W)
    assert "Calibration may have changed nevertheless" in repr(found)
    moved = drift("wasserstein", np.linspace(0, 0.3, 50), np.linspace(0.5, 1, 50))
    assert "not evidence of miscalibration" in repr(moved)
    assert moved.to_dict()["rejected"] is True


def test_no_pvalue_is_shown_as_zero() -> None:
    far = DriftResult("ks_2samp", 1.0, 0.0, 0.03, 0.05, "random permutations", 5000, 5000, "")
    assert "p-value < 1e-300 by" in repr(far)
    assert "&lt; 1e-300" in far._repr_html_()
    assert "< 1e-300" in repr(DriftReport((far,), (far.pvalue,), 0.05))


def test_drawn_windows_have_the_distances_of_single_ones() -> None:
    """All permutations at once, with the same bits as one by one, with ties, coarse cells and windows of one row."""
    rng = np.random.default_rng(0)
    for trial, rows in enumerate((13, 40, 300, 1500)):
        value, pooled = np.sort(rng.random(rows)), rng.integers(1, 2 + 3 * (trial % 2), rows).astype(float)
        size = (1, int(pooled.sum()) // 2, int(pooled.sum()) - 1)[trial % 3]
        window = rng.multivariate_hypergeometric(pooled.astype(int), size).astype(float)
        cells = drifts.coarsen(drifts.Cells(value, pooled - window, window))
        names, both = list(drifts.NAMES), cells.reference + cells.window
        found = drifts.null_distances(cells, names, 60, trial).values
        windows, _ = drifts._drawn_windows(cells, 60, generator(seed_of(trial), 0))
        single = [
            drifts.distances(names, cells.value, (both - row)[None], row[None]) for some in windows for row in some
        ]
        # A product with a matrix may round its rows in another way than a single one.
        np.testing.assert_allclose(found, np.concatenate(single), rtol=1e-13, atol=1e-15)
        bins = [names.index(name) for name in ("psi", "jensen_shannon", "ks_2samp")]
        assert (found[:, bins] == np.concatenate(single)[:, bins]).all()


def test_adjusted_pvalues_do_not_depend_on_the_rounding_of_ties() -> None:
    draws = np.random.default_rng(2)
    values = draws.choice([0.1, 0.2, 0.3, 0.7], (199, 3), p=[0.5, 0.3, 0.15, 0.05])
    noisy = values * (1 + 1e-15 * draws.integers(-2, 3, values.shape))
    assert (noisy != values).any()
    for observed in ([0.3, 0.2, 0.1], [0.7, 0.7, 0.1], [math.inf, 0.3, 0.2]):
        clean, other = (
            drifts.adjust_together(drifts.Null(v, np.ones(199), False, "random permutations"), np.array(observed))
            for v in (values, noisy)
        )
        assert clean.tolist() == other.tolist()


def test_a_p_value_at_the_smallest_that_permutations_can_have_is_a_bound() -> None:
    rng = np.random.default_rng(0)
    report = score_drift(rng.beta(2, 2, 300), rng.beta(5, 2, 300), n_resamples=199)
    first = report.results[0]
    assert first.least_pvalue == first.pvalue == pytest.approx(1 / 200)
    assert report.is_bound
    assert "p ≤ 0.005" in first.verdict
    table = [line.split("  ") for line in repr(report).split("\n")[2:]]
    assert all(sum(cell.strip()[:1] in ("<", "≤") for cell in row) == 2 for row in table)
    assert not score_drift(W, B).is_bound  # every exchange was enumerated
