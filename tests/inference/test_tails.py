"""P-values of up to 12 rows against enumeration by hand, tails that are counted apart, and outcomes without a value."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference.owntests import Asked
from calibrant.inference.tails import compared_with_every_outcome, pvalues_of_draws

Floats = Any


def chances(p: Floats) -> tuple[list[tuple[int, ...]], Floats]:
    outcomes = list(product((0, 1), repeat=len(p)))
    return outcomes, np.array([np.prod(np.where(np.array(y) == 1, p, 1 - p)) for y in outcomes])


def brier_by_hand(y: Any, p: Floats) -> float:
    return float(np.mean((p - np.array(y)) ** 2))


def spherical_by_hand(y: Any, p: Floats) -> float:
    given = np.where(np.array(y) == 1, p, 1 - p)
    return float(np.mean(given / np.sqrt(p**2 + (1 - p) ** 2)))


def nll_by_hand(y: Any, p: Floats) -> float:
    return float(-np.log(np.where(np.array(y) == 1, p, 1 - p)).mean())


SCORES = [("brier", brier_by_hand), ("spherical", spherical_by_hand), ("nll", nll_by_hand)]


@pytest.mark.parametrize(("metric", "by_hand"), SCORES)
@pytest.mark.parametrize("seed", range(3))
def test_each_tail_of_a_proper_score_is_counted(metric: str, by_hand: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 3, 6)
    y = (rng.random(6) < p**0.5).astype(int)
    outcomes, chance = chances(p)
    values, own = np.array([by_hand(outcome, p) for outcome in outcomes]), by_hand(y, p)
    tails = chance[values >= own - 1e-12].sum(), chance[values <= own + 1e-12].sum()
    found = cal.assess(y, p, metric=metric)
    assert found.method == "enumeration"
    assert found.pvalue == pytest.approx(min(1, 2 * min(tails)), abs=1e-12)
    assert cal.assess(y, p, metric=metric, alternative="greater").pvalue == pytest.approx(
        chance[np.array([getattr(cal, metric)(o, p) for o in outcomes]) >= getattr(cal, metric)(y, p) - 1e-12].sum(),
        abs=1e-12,
    )


def test_two_proper_scores_by_hand() -> None:
    right = cal.assess([0, 1, 1, 0, 1], [0.1, 0.9, 0.8, 0.2, 0.7], metric="brier")
    assert right.pvalue == pytest.approx(2 * 0.9 * 0.9 * 0.8 * 0.8 * 0.7)  # the best outcome there is
    for metric in ("brier", "spherical", "nll"):
        wrong = cal.assess([1] * 6, [0.1] * 6, metric=metric)
        assert wrong.pvalue == pytest.approx(2 * 0.1**6)  # the worst one
        assert cal.assess([1] * 6, [0.1] * 6, metric=metric, method="consistency", rng=0).pvalue == 0.002


def assert_level_holds(metric: str, p: Floats) -> None:
    outcomes, chance = chances(p)
    pvalues = np.array([cal.assess(y, p, metric=metric, method="enumeration").pvalue for y in outcomes])
    for alpha in np.unique(pvalues):
        assert chance[pvalues <= alpha + 1e-12].sum() <= alpha + 1e-9


@pytest.mark.parametrize("metric", ["brier", "nll", "ecce_mad", "esce"])
def test_enumeration_holds_every_level_exactly(metric: str) -> None:
    assert_level_holds(metric, np.array([0.1, 0.35, 0.6, 0.8, 0.9]))


@pytest.mark.deep
@pytest.mark.parametrize("metric", ["brier", "spherical", "ecce_mad"])
def test_enumeration_holds_every_level_for_more_rows(metric: str) -> None:
    assert_level_holds(metric, np.array([0.05, 0.1, 0.2, 0.35, 0.6, 0.7, 0.8, 0.9]))


def test_outcomes_without_a_value_are_told() -> None:
    y, p = [0, 0, 1, 0, 1, 1], [0.2, 0.4, 0.3, 0.6, 0.7, 0.8]
    with pytest.raises(cal.UndefinedMetricError, match="no value in 12 of 64 outcomes"):
        cal.assess(y, p, metric="cox_slope", method="enumeration")
    assert cal.assess(y, p, metric="cox_slope").method == "profile"


class BothKinds:
    """A mean that has no value where all outcomes are alike."""

    id, proper, ideal = "both_kinds", None, 0

    def of_views(self, views: Any) -> float:
        (view,) = views
        if len(set(view.outcome.tolist())) < 2:
            raise cal.UndefinedMetricError(self.id, "all outcomes are alike")
        return float(np.mean(view.outcome))


def test_a_few_outcomes_without_a_value_are_left_out() -> None:
    p = np.array([0.5, 0.6, 0.7, 0.5, 0.6, 0.7])
    outcomes, chance = chances(p)
    hits = np.array([sum(outcome) for outcome in outcomes])
    mixed = (hits > 0) & (hits < 6)
    metric: Any = BothKinds()
    asked = Asked(metric, {}, [], 4 / 6, 0.05, "greater", 5, 0)
    found, null = compared_with_every_outcome(asked, cal.View(p, np.array([0, 1, 1, 1, 0, 1], np.uint8)))
    assert len(null) == 62
    assert found.pvalue == pytest.approx(chance[mixed & (hits >= 4)].sum() / chance[mixed].sum())
    assert f"less 2 without a value (probability {chance[~mixed].sum():.2g})" in found.law


def test_infinite_values_tie_with_each_other() -> None:
    """No event at all is likely where few are expected, so the infinite ratio is no surprise."""
    y, p = [0] * 5, [0.05] * 5
    exact = cal.assess(y, p, metric="expected_observed_ratio", method="enumeration").pvalue
    assert exact > 0.95**5 - 1e-12
    drawn = cal.assess(y, p, metric="expected_observed_ratio", method="consistency", rng=0)
    assert drawn.pvalue == pytest.approx(exact, abs=0.06)
    assert drawn.threshold == np.inf


def test_every_draw_has_the_p_value_of_its_rank() -> None:
    metric = cal.catalogue["brier"]
    null = np.array([0.3, 0.1, 0.2, np.nan, 0.2])
    asked = Asked(metric, {}, [], 0.2, 0.05, "two-sided", 5, 0)
    assert pvalues_of_draws(asked, null).tolist() == [2 / 5, 2 / 5, 1.0, 1.0, 1.0]
    asked = Asked(metric, {}, [], 0.2, 0.05, "greater", 5, 0)
    assert pvalues_of_draws(asked, null).tolist() == [1 / 5, 4 / 5, 3 / 5, 1.0, 3 / 5]
