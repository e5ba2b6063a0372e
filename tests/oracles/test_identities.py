"""What must hold between metrics on any data: the identities their definitions imply, on random problems."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from tests.calling import call

from .cases import OPTIONS, VARIATIONS

EXACT = 1e-12
EVERY = list(OPTIONS)


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


# One bin, and one bin for each row.


def test_one_bin(rng: np.random.Generator) -> None:
    y, p = binary(rng)
    gap = abs(p.mean() - y.mean())
    for metric in (cal.ece, cal.rmsce, cal.mce, cal.ece_em):
        assert metric(y, p, bins=1) == near(gap)
    assert abs(cal.esce(y, p)) == near(gap)
    assert cal.mdca(y, p) == near(gap)


def test_one_bin_of_many_classes(rng: np.random.Generator) -> None:
    y, p = many(rng)
    classes = p.shape[1]
    assert cal.mdca(y, p) == near(cal.cwce(y, p, bins=1))
    assert cal.mdca(y, p) == near(cal.ace(y, p, bins=1))
    assert cal.gece(y, p, gamma=1) == near(classes / 2 * cal.mdca(y, p))
    assert cal.mdca(rng.permutation(y), p) == near(cal.mdca(y, p))


def test_every_row_in_its_own_bin(rng: np.random.Generator) -> None:
    y, p = binary(rng)
    error = np.abs(p - y)
    edges = own_bins(p)
    assert cal.ece(y, p, bins=edges) == near(error.mean())
    assert cal.rmsce(y, p, bins=edges) == near(math.sqrt((error**2).mean()))
    assert cal.rmsce(y, p, bins=edges) ** 2 == near(cal.brier(y, p))
    assert cal.mce(y, p, bins=edges) == near(error.max())
    assert cal.ece_em(y, p, bins=len(p)) == near(error.mean())
    assert cal.ece(y, p, bins=7) <= error.mean() + EXACT


# Order between metrics.


def test_norms_never_fall(rng: np.random.Generator) -> None:
    y, p = binary(rng)
    binning = ["equal_width", "equal_mass"][int(rng.integers(2))]
    values = [cal.rmsce(y, p, norm=norm, binning=binning) for norm in (1, 1.5, 2, 3, 8, math.inf)]
    assert all(later >= earlier - EXACT for earlier, later in pairwise(values))
    assert values[0] == near(cal.ece(y, p, binning=binning))
    assert values[2] == near(cal.rmsce(y, p, binning=binning))
    assert values[-1] == near(cal.mce(y, p, binning=binning))


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


# Two classes, however they come.


def test_one_and_two_columns_agree(rng: np.random.Generator) -> None:
    y, p = binary(rng)
    columns = np.column_stack([1 - p, p])
    for name in EVERY:
        metric = getattr(cal, name)
        assert metric(y, columns) == near(metric(y, p)), name


def test_classwise_of_two_classes_is_binary(rng: np.random.Generator) -> None:
    y, p = binary(rng)  # no score on an edge
    assert cal.cwce(y, p) == near(cal.ece(y, p))
    assert cal.gece(y, p, lens="binary") == near(cal.ece(y, p))


def test_exchanging_the_labels(rng: np.random.Generator) -> None:
    # Distinct scores whose complements are exact, none of them on an edge.
    p = rng.choice(np.arange(1, 2**20), 60, replace=False) / 2**20
    y = rng.integers(0, 2, 60)
    for metric in (cal.ece, cal.mce, cal.rmsce, cal.brier, cal.nll, cal.ecd):
        assert metric(1 - y, 1 - p) == near(metric(y, p)), metric.id
    assert cal.ece_em(1 - y, 1 - p, bins=12) == near(cal.ece_em(y, p, bins=12))  # 12 divides 60
    assert cal.esce(1 - y, 1 - p) == near(-cal.esce(y, p))
    assert cal.abc_above(1 - y, 1 - p) == near(cal.abc_below(y, p))


# Point metrics.


def test_brier_identities(rng: np.random.Generator) -> None:
    y, p = many(rng)
    classes = p.shape[1]
    total = cal.brier(y, p, scale="sum")
    assert cal.brier(y, p, scale="half") == near(total / 2)
    assert cal.brier(y, p, scale="per_class") == near(total / classes)
    assert cal.brier(y, p) == near(total / 2 if classes == 2 else total)
    for scale in ("auto", "half", "sum", "per_class"):
        assert cal.root_brier(y, p, scale=scale) ** 2 == near(cal.brier(y, p, scale=scale))
    # The gap of the means cannot exceed the mean of the gaps.
    gaps = p.mean(axis=0) - np.bincount(y, minlength=classes) / len(y)
    assert np.square(gaps).sum() <= total + EXACT


def test_brier_of_the_base_rate(rng: np.random.Generator) -> None:
    y, _ = binary(rng)
    rate = y.mean()
    assert cal.brier(y, np.full(len(y), rate)) == near(rate * (1 - rate))


def test_brier_expected_by_the_forecast(rng: np.random.Generator) -> None:
    """Labels as shares that follow the forecast: every label value weighs what the forecast gives it."""
    _, p = binary(rng)
    doubled, labels = np.concatenate([p, p]), np.repeat([0, 1], len(p))
    weights = np.concatenate([1 - p, p])
    assert cal.brier(labels, doubled, sample_weight=weights) == near((p * (1 - p)).mean())
    assert cal.ecd(labels, doubled, sample_weight=weights) == pytest.approx(0, abs=1e-10)
    assert cal.ece(labels, doubled, sample_weight=weights) == pytest.approx(0, abs=1e-10)


def test_ecd_is_surprise_less_expected_surprise(rng: np.random.Generator) -> None:
    y, p = many(rng)
    entropy = -(p * np.log(p)).sum(axis=1).mean()
    assert cal.ecd(y, p) == pytest.approx(cal.nll(y, p) - entropy, abs=1e-10)


def test_binary_ecd_formula(rng: np.random.Generator) -> None:
    y, p = binary(rng)
    expected = ((p - y) * np.log(p / (1 - p))).mean()
    assert cal.ecd(y, p) == pytest.approx(expected, abs=1e-10)
    assert cal.ecd(y, p, multiclass="true_vs_rest") == pytest.approx(expected, abs=1e-10)
    assert cal.ecd(y, np.full(len(y), 0.5)) == near(0)


def test_nll_in_bits(rng: np.random.Generator) -> None:
    y, p = many(rng)
    assert cal.nll(y, p, base=2) * math.log(2) == near(cal.nll(y, p))


# The whole distribution.


def test_variation_of_confidence_is_top_label_ece(rng: np.random.Generator) -> None:
    y, p = many(rng)
    for binning in ("equal_width", "equal_mass"):
        expected = cal.ece(y, p, bins=10, binning=binning, lens="top_label")
        assert cal.vce(y, p, variation="confidence", binning=binning) == near(expected)


def test_variation_does_not_know_class_names(rng: np.random.Generator) -> None:
    y, p = many(rng)
    order = np.array([rng.permutation(p.shape[1]) for _ in p])
    moved = np.take_along_axis(p, order, 1)
    labels = np.array([int(np.flatnonzero(row == label)[0]) for row, label in zip(order, y, strict=True)])
    for variation in VARIATIONS:
        assert cal.vce(labels, moved, variation=variation) == near(cal.vce(y, p, variation=variation))
    assert cal.uce(labels, moved) == near(cal.uce(y, p))


def test_generalised_error_of_simple_lenses(rng: np.random.Generator) -> None:
    y, p = many(rng)
    top = cal.ece(y, p, lens="top_label")
    assert cal.gece(y, p, lens="top_label") == near(top)
    assert cal.gece(y, p, lens="top_k:1") == near(top)
    assert cal.gece(y, p, lens="class:1") == near(cal.ece(y, p, lens="class:1"))
    assert cal.gece(y, p, lens="top_label", distance="l1") == near(2 * top)
    assert cal.gece(y, p, lens="top_label", distance="l2") == near(math.sqrt(2) * top)
    assert cal.ece(y, p, lens="rank:1") == near(top)
    assert cal.ece(y, p, lens="within_top:1") == near(top)


# Rows.


@pytest.mark.parametrize("name", EVERY)
def test_rows_in_any_order_and_repeated(name: str, rng: np.random.Generator) -> None:
    y, p = many(rng)
    p = p[rng.integers(0, len(p), len(p))]  # tied rows
    metric = getattr(cal, name)
    order = rng.permutation(len(y))
    assert metric(y[order], p[order]) == near(metric(y, p))
    counts = rng.integers(0, 4, len(y))
    counts[0] = 1
    repeated = metric(np.repeat(y, counts), np.repeat(p, counts, axis=0))
    assert metric(cal.Predictions(y, p, counts=counts)) == near(repeated)
