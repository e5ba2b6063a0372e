"""Pooled ties, the exact z of Spiegelhalter, and counted neighbours."""

import math
from fractions import Fraction

import numpy as np
import pytest

import calibrant as cal

from .bin_definitions import ece
from .cases import ONE_SCORE, SEARCHED, draw_case, norm, option, public_value, together, turns
from .definitions import Undefined

SEARCHES = {"ece": together(turns(ONE_SCORE), turns(SEARCHED), norm, option("least_rows", 30))}


@pytest.mark.parametrize("number", range(2 * len(SEARCHED)))
@pytest.mark.filterwarnings("ignore::calibrant.errors.InputWarning")
def test_numbers_of_bins_that_follow_from_the_data(number: int) -> None:
    case = draw_case("ece", number, SEARCHES)
    try:
        wanted = float(ece(case.labels, case.probs.tolist(), **case.options, **case.weights()))
    except Undefined:
        with pytest.raises(cal.errors.UndefinedMetricError):
            public_value("ece", case)
        return
    single = 1e-7 if case.probs.dtype == np.float32 else 1e-12
    assert public_value("ece", case) == pytest.approx(wanted, abs=single), case


def test_tied_scores_are_pooled_together() -> None:
    assert cal.tce([0, 1] * 50, [0.5] * 100) == 0
    rng = np.random.default_rng(0)
    rounded = np.round(rng.random((20, 2000)), 1)
    found = [cal.tce(rng.random(2000) < p, p) for p in rounded]
    assert np.mean(found) < 6  # in one direction or the other, outcomes of a tie would make it 50


def test_spiegelhalter_of_an_event_is_exact_whatever_the_scores() -> None:
    rng = np.random.default_rng(2)
    for scores in (rng.random(3000), np.round(rng.random(40), 1), 1 - 10.0 ** -rng.uniform(0, 15, 40), [1e-30, 0.3]):
        y, p = rng.integers(0, 2, len(scores)), np.asarray(scores)
        pairs = [(int(label), Fraction(score)) for label, score in zip(y, p.tolist(), strict=True)]
        away = sum((score - label) * (2 * score - 1) for label, score in pairs)
        variance = sum(score * (1 - score) * (2 * score - 1) ** 2 for _, score in pairs)
        wanted = float(away) / math.sqrt(variance)
        assert cal.spiegelhalter_z(y, p) == pytest.approx(wanted, rel=1e-13, abs=1e-14)


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


def test_a_search_ends_at_half_of_the_rows() -> None:
    score = (np.arange(40) + 0.5) / 40
    found = cal.calibration_curve((score > 0.5).astype(int), score, bins="search_pure", binning="equal_mass").table
    assert len(found) == 20
