"""Where rounding could show: many rows with a tiny gap, weights in odd units, neighbouring doubles."""

import math

import numpy as np
import pytest

import calibrant as cal
from tests.calling import call


def nearly_calibrated(n: int, gap: float, order: str) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (p, 1) and (1 - p, 0), which cancel, with every score too high by `gap`."""
    rng = np.random.default_rng(11)
    p = rng.uniform(0.001, 0.999, n // 2)
    scores = np.concatenate([p, 1 - p]) + gap
    labels = np.repeat([1, 0], n // 2)
    if order == "shuffled":
        rows = rng.permutation(n)
        return labels[rows], scores[rows]
    return labels, scores


@pytest.mark.parametrize("order", ["labels in runs", "shuffled"])
@pytest.mark.parametrize("bins", [1, 15, 1000])
def test_a_gap_of_one_part_in_a_billion_is_seen(bins: int, order: str) -> None:
    labels, scores = nearly_calibrated(1_000_000, 1e-9, order)
    exact = math.fsum(np.concatenate([scores, -labels.astype(float)])) / len(labels)
    assert exact == pytest.approx(1e-9, rel=1e-5)
    assert cal.esce(labels, scores, bins=bins) == pytest.approx(exact, rel=1e-6)
    below, above = (metric(labels, scores, bins=bins) for metric in (cal.abc_below, cal.abc_above))
    assert abs(below - above - exact) <= 1e-15


@pytest.mark.parametrize("weights", ["sample_weight", "counts", None])
def test_a_tiny_gap_is_seen_under_weights_and_equal_mass(weights: str | None) -> None:
    """Sums of doubles, not of integers: good to the rounding of a few doubles of size 1, not to the last digit."""
    labels, scores = nearly_calibrated(200_000, 1e-9, "shuffled")
    exact = math.fsum(np.concatenate([scores, -labels.astype(float)])) / len(labels)
    given = {} if weights is None else {weights: np.full(len(labels), 3)}
    for binning in ("equal_width", "equal_mass"):
        assert abs(call(cal.esce, labels, scores, binning=binning, **given) - exact) <= 1e-14


@pytest.mark.parametrize("unit", [0.1, 1 / 3, 0.7, 1.1])
@pytest.mark.parametrize("bins", [3, 5, 15, 30])
def test_equal_mass_forgives_the_rounding_of_weights(bins: int, unit: float) -> None:
    """Every four rows weigh 0.1 + 0.2 + 0.3 + 0.2: even parts of the whole, but only up to rounding."""
    n = 4 * 30
    weights = np.tile([1.0, 2.0, 3.0, 2.0], 30) * unit
    table = cal.calibration_curve(
        np.arange(n) % 2, (np.arange(n) + 0.5) / n, bins=bins, binning="equal_mass", sample_weight=weights
    ).table
    assert table.rows.tolist() == [n // bins] * bins


def test_a_tree_cuts_between_neighbouring_doubles() -> None:
    """The mean of two neighbours is one of them; the rows below the median are still the lower half."""
    low = 0.5
    high = np.nextafter(low, 1)
    scores = np.array([low, low, high, high])
    rows = np.column_stack([scores, 1 - scores])
    value = cal.gece([0, 0, 1, 1], rows, min_size=1, gamma=0.5)
    assert value == pytest.approx(0.5, abs=1e-12)
    for first, second in ((0.25, np.nextafter(0.25, 1)), (np.nextafter(0.25, 0), 0.25)):
        scores = np.array([first, first, second, second])
        rows = np.column_stack([scores, 1 - scores])
        # Lower half all class 0, upper half all class 1: gaps 1 - p and p. One cell would give |p - 1/2|.
        assert cal.gece([0, 0, 1, 1], rows, min_size=1, gamma=0.5) == pytest.approx(0.5, abs=1e-12)


def test_classes_in_another_order_tie_all_the_same() -> None:
    """Rows that are permutations of each other have the same entropy, so equal-mass bins keep them together."""
    rng = np.random.default_rng(2)
    row = rng.dirichlet(np.ones(5))
    rows = np.array([rng.permutation(row) for _ in range(50)])
    labels = rng.integers(0, 5, 50)
    for metric in (cal.uce, cal.vce):
        assert metric(labels, rows, bins=7, binning="equal_mass") == pytest.approx(metric(labels, rows, bins=1))


def test_smallest_bins_are_counted_in_rows_under_importance() -> None:
    """Only ratios of importance matter, so a bin's weight cannot say how many rows it holds."""
    labels, scores = [1, 0, 0], [0.2, 0.3, 0.9]
    for unit in (1e-6, 1.0, 1e6):
        weights = np.array([1.0, 1.0, 5.0]) * unit
        assert cal.mce(labels, scores, bins=2, min_count=2, sample_weight=weights) == pytest.approx(0.25)
        with pytest.raises(cal.errors.UndefinedMetricError):
            cal.mce(labels, scores, bins=2, min_count=3, sample_weight=weights)
    assert cal.mce(cal.Predictions(labels, scores, counts=[1, 1, 5]), bins=2, min_count=3) == pytest.approx(0.9)
