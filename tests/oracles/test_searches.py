"""Searches for bins, several numbers of bins, pooled ties and counted neighbours, on random problems."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import calibrant as cal

EXACT = 1e-12
EM = "equal_mass"
SEARCHES = ("sweep", "search", "search_pure", "cv", "tcal")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(100 if metafunc.config.getoption("--deep") else 10))


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng([29, seed])


def binary(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    n = int(rng.integers(2, 120))
    scores = rng.beta(*rng.uniform(0.3, 3, 2), n)
    return rng.integers(0, 2, n), scores


def near(value: float) -> Any:
    return pytest.approx(value, abs=EXACT, rel=EXACT)


# Groups and features.


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
