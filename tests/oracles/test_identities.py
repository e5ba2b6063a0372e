"""What must hold between metrics on any data: the identities their definitions imply, on random problems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from tests.calling import call

from .cases import VARIATIONS

EXACT = 1e-12


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(100 if metafunc.config.getoption("--deep") else 10))


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng([17, seed])


def binary(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    n = int(rng.integers(2, 120))
    scores = rng.beta(*rng.uniform(0.3, 3, 2), n)
    return rng.integers(0, 2, n), scores


def many(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    n, classes = int(rng.integers(2, 120)), int(rng.integers(2, 7))
    return rng.integers(0, classes, n), rng.dirichlet(np.full(classes, rng.choice([0.3, 1.0])), n)


def own_bins(scores: np.ndarray) -> list[float]:
    """Edges that give every distinct score a bin of its own."""
    distinct = np.unique(scores)
    return [0.0, *((distinct[1:] + distinct[:-1]) / 2).tolist(), 1.0]


def near(value: float) -> Any:
    return pytest.approx(value, abs=EXACT, rel=EXACT)


# Order between metrics.


def test_merging_bins_never_raises_ece(rng: np.random.Generator) -> None:
    y, p = binary(rng)
    edges = [0.0, *np.sort(rng.random(8)).tolist(), 1.0]
    drop = int(rng.integers(1, 9))
    merged = edges[:drop] + edges[drop + 1 :]
    assert cal.ece(y, p, bins=merged) <= cal.ece(y, p, bins=edges) + EXACT


def test_signed_parts(rng: np.random.Generator) -> None:
    y, p = binary(rng)
    binning = ["equal_width", "equal_mass"][int(rng.integers(2))]
    how: dict[str, Any] = {"bins": int(rng.integers(1, 20)), "binning": binning}
    above, below, signed = (
        call(cal.abc_above, y, p, **how),
        call(cal.abc_below, y, p, **how),
        call(cal.esce, y, p, **how),
    )
    assert above + below == near(call(cal.ece, y, p, **how))
    assert below - above == near(signed)
    assert signed == near(p.mean() - y.mean())
    assert abs(signed) <= call(cal.ece, y, p, **how) + EXACT


def test_squared_gaps_are_the_reliability_of_brier(rng: np.random.Generator) -> None:
    """With one forecast per bin, Brier = reliability - resolution + uncertainty, and reliability is rmsce squared."""
    y, p = binary(rng)
    values = rng.random(4)
    p = values[rng.integers(0, 4, len(p))]
    rates = np.array([y[p == value].mean() for value in p])
    resolution, uncertainty = ((rates - y.mean()) ** 2).mean(), y.mean() * (1 - y.mean())
    reliability = cal.rmsce(y, p, bins=own_bins(p)) ** 2
    assert cal.brier(y, p) == near(reliability - resolution + uncertainty)


# The whole distribution.


def test_variation_does_not_know_class_names(rng: np.random.Generator) -> None:
    y, p = many(rng)
    order = np.array([rng.permutation(p.shape[1]) for _ in p])
    moved = np.take_along_axis(p, order, 1)
    labels = np.array([int(np.flatnonzero(row == label)[0]) for row, label in zip(order, y, strict=True)])
    for variation in VARIATIONS:
        assert cal.vce(labels, moved, variation=variation) == near(cal.vce(y, p, variation=variation))
    assert cal.uce(labels, moved) == near(cal.uce(y, p))
