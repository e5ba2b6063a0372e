"""Sketch: the same bits in any order and for any split, and what every score metric reads from it."""

import numpy as np
import pytest

import calibrant as cal
from calibrant.sketches.grid import EQUAL, grid, slots


def rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([n, seed])
    p = rng.beta(0.6, 0.8, n)
    return (rng.random(n) < p**1.3).astype(int), p


def test_the_grid_holds_the_edges_of_common_bins_and_is_fine_near_the_ends() -> None:
    edges = grid().edges
    assert (edges[0], edges[-1]) == (0, 1)
    assert (np.diff(edges) > 0).all()
    for bins in (10, 15, 20, 25, 30, 50, 100, 300, 1920):
        assert np.isin(np.arange(bins + 1) / bins, edges).all()
    inner = edges[(edges >= 1e-6) & (edges <= 0.5)]
    assert (inner[1:] / inner[:-1]).max() < 1.05
    assert len(edges) < EQUAL * 1.05


def test_every_score_finds_its_cell() -> None:
    edges = grid().edges
    score = np.concatenate(
        [edges, np.nextafter(edges, 2), np.nextafter(edges, -1), np.random.default_rng(0).random(5000)]
    )
    score = np.clip(score, 0, 1)
    assert np.array_equal(slots(score), np.maximum(np.searchsorted(edges, score), 1))


def test_counts_are_repeated_rows() -> None:
    y, p = rows(300)
    counts = np.random.default_rng(0).integers(0, 6, 300)
    assert cal.Sketch.of(cal.Predictions(y, p, counts=counts)) == cal.Sketch.of(
        np.repeat(y, counts), np.repeat(p, counts)
    )
    large = np.full(300, 2**20)
    sketch = cal.Sketch.of(cal.Predictions(y, p, counts=large))
    assert sketch.n == 300 * 2**20
    assert cal.ece(sketch) == pytest.approx(cal.ece(y, p), abs=1e-12)


def test_sketches_are_assessed() -> None:
    y, p = rows(6000)
    sketch = cal.Sketch.of(y, p)
    found = cal.assess(sketch, metric="ece", rng=0, n_resamples=99)
    plain = cal.assess(y, p, metric="ece", rng=0, n_resamples=99)
    assert found.pvalue == plain.pvalue
    assert found.critical_value == pytest.approx(plain.critical_value, rel=1e-6)
    low = cal.interval(sketch, metric="ece", rng=0, n_resamples=200)
    assert (low.low, low.high) == pytest.approx(
        (lambda i: (i.low, i.high))(cal.interval(y, p, metric="ece", rng=0, n_resamples=200)), rel=1e-6
    )
