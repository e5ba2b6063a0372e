"""Bins by hand: where a score falls, what a table holds, fitted bins on other rows, intervals of the outcome rate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

import calibrant as cal
from calibrant import Edges, EqualArea, EqualMass, EqualWidth, KDTree, Levels, Predictions, Quantile, SimplexGrid
from calibrant.binning import BinTable
from calibrant.binning.parse import BINS, EQUAL_WIDTH, bin_table, binning_rule
from calibrant.binning.table import binomial_interval
from calibrant.errors import ArgumentError, LensError
from calibrant.views import View
from calibrant.views.lenses import parse_lens
from tests.calling import call, raises
from tests.in_turn import in_turn, spread


def view(score: Any, outcome: Any = None, **weights: Any) -> View:
    """A view of checked predictions; all outcomes are 0 where none are given."""
    found = Predictions(np.zeros(len(score), int) if outcome is None else outcome, score, **weights)
    return parse_lens("binary", found).views(found)[0]


def cells(rule: Any, score: Any, **weights: Any) -> list[int]:
    return rule.cells(view(score, **weights))[0].tolist()


def test_equal_width_on_a_range() -> None:
    rule = EqualWidth(5, range=(0.5, 1))
    table = rule.table(view([0.5, 0.6, 0.61, 1.0]))
    assert table.left == pytest.approx([0.5, 0.6, 0.7, 0.8, 0.9])
    assert table.right == pytest.approx([0.6, 0.7, 0.8, 0.9, 1.0])
    assert table.rows.tolist() == [2, 1, 0, 0, 1]
    assert cal.ece([0, 1], [0.5, 0.9], binning=rule) == pytest.approx(0.3)
    with raises(LensError, "binning"):
        rule.table(view([0.4, 0.6]))


def confidences(classes: int, n: int = 217, decimals: int = 20) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(classes)
    p = rng.dirichlet(np.full(classes, 0.7), n).round(decimals)
    p[0], p[1] = 1 / classes, np.eye(classes)[0]
    p /= p.sum(axis=1, keepdims=True)
    return (rng.random((n, 1)) >= np.cumsum(p, axis=1)[:, :-1]).sum(axis=1), p


def error_by_hand(y: np.ndarray, p: np.ndarray, bins: int, low: float) -> float:
    """Expected calibration error of the confidence over bins of equal width on [low, 1], row by row."""
    sums = [0.0] * bins
    for label, row in zip(y, p, strict=True):
        place = next(m for m in range(bins) if m == bins - 1 or row.max() <= low + (m + 1) * (1 - low) / bins)
        sums[place] += row.max() - (row.argmax() == label)
    return sum(map(abs, sums)) / len(y)


@pytest.mark.parametrize("classes", [2, 3, 4, 100])
def test_confidences_in_bins_from_1_over_k(classes: int) -> None:
    y, p = confidences(classes)
    expected = error_by_hand(y, p, 10, 1 / classes)
    words: dict[str, Any] = {"lens": "top_label", "bins": 10}
    rule = EqualWidth(range=("1/K", 1))
    assert cal.ece(y, p, binning=rule, **words) == pytest.approx(expected, abs=1e-12)
    assert cal.ece(y, p, binning="equal_width:1/K", **words) == cal.ece(y, p, binning=rule, **words)
    assert cal.ece(y, p, binning=f"equal_width:{1 / classes!r},1", **words) == cal.ece(y, p, binning=rule, **words)
    table = cal.calibration_curve(y, p, binning="equal_width:1/K", **words).table
    assert (table.left[0], table.right[-1], len(table)) == (1 / classes, 1, 10)
    assert math.fsum(table.share * np.abs(table.gap)) == pytest.approx(expected, abs=1e-12)
    single = p.astype(np.float32)  # 1/100 in float32 is less than 1/100
    assert cal.ece(y, single, binning="equal_width:1/K", **words) == pytest.approx(expected, abs=2 / 217 + 1e-6)
    weight = np.arange(1, 218)
    counted = cal.ece(cal.Predictions(y, p, counts=weight), binning="equal_width:1/K", **words)
    assert counted == pytest.approx(
        cal.ece(np.repeat(y, weight), np.repeat(p, weight, axis=0), binning=rule, **words), abs=1e-12
    )
    for more in ({"metric": "ece"}, {"metric": "ece", "method": "resampled_scores"}):
        assert 0 < cal.assess(y, p, binning="equal_width:1/K", rng=0, n_resamples=19, **more, **words).pvalue <= 1
    if classes > 2:
        assert cal.vce(y, p, variation="confidence", binning="equal_width:1/K") == pytest.approx(expected, abs=1e-12)


def test_1_over_k_is_for_the_predicted_class_alone() -> None:
    y, p = confidences(4)
    words: dict[str, Any] = {"bins": 5, "binning": "equal_width:1/K"}
    first = cal.ece(y, p, lens="top_label", **words)
    assert cal.ece(y, p, lens="rank:1", **words) == first
    assert cal.ece(y, p, lens="within_top:1", **words) == pytest.approx(first, abs=1e-12)
    with raises(LensError, "binning"):
        cal.ece(y, p, lens="rank:2", **words)


def test_sketches_take_a_range_in_numbers() -> None:
    y, p = confidences(4)
    rule = EqualWidth(10, range=(0.25, 1))
    assert cal.ece(cal.Sketches.of(y, p), binning=rule) == pytest.approx(cal.ece(y, p, binning=rule), abs=1e-3)
    with raises(LensError, "binning"):
        cal.ece(cal.Sketches.of(y, p), binning="equal_width:1/K")


def test_edges_need_not_reach_from_0_to_1() -> None:
    y, p = [0, 1, 1, 1], [0.3, 0.5, 0.8, 0.9]
    assert cal.ece(y, p, bins=[0.3, 0.5, 0.9]) == cal.ece(y, p, bins=[0, 0.5, 1])
    assert cal.ece(y, p, binning=Edges((0.2, 0.5, 0.9))) == cal.ece(y, p, bins=[0, 0.5, 1])
    with raises(LensError, "bins"):
        cal.ece(y, p, bins=[0.4, 0.5, 0.85])
    # Rounding errors do not exclude a score, and small fractions remain widths.
    near = [0.3 - 1e-12, 0.5, 0.8, 0.9 + 1e-12]
    sides: tuple[Any, ...] = ("right", "left")
    for closed in sides:
        whole = cal.ece(y, p, binning=Edges((0, 0.5, 1), closed=closed))
        for weights in ({}, {"counts": [1] * 4}):
            assert call(cal.ece, y, near, binning=Edges((0.3, 0.5, 0.9), closed=closed), **weights) == pytest.approx(
                whole
            )
    assert cal.ece(y, p, bins=[0.1, 0.2]) == pytest.approx((cal.ece(y, p, bins=10) + cal.ece(y, p, bins=5)) / 2)


@pytest.mark.parametrize("limits", [(0.5, 1), (0, 0.5), (0.2, 0.8)])
def test_bins_of_a_range_can_be_reused_on_all_scores(limits: tuple[float, float]) -> None:
    table = EqualWidth(3, range=limits).table(view([limits[0], limits[1]]))
    again = cal.calibration_curve([0, 1, 1], [0.0, 0.5, 1.0], binning=table).table
    assert (len(again), again.rows.sum()) == (3, 3)
    assert (again.edges[0], again.edges[-1]) == (0, 1)


def test_equal_mass_as_published_code_splits_ties() -> None:
    score = [0.1] * 4 + [0.5, 0.9, 0.95]
    assert EqualMass(3, ties="split").table(view(score)).rows.tolist() == [3, 2, 2]
    assert EqualMass(4, ties="split").table(view(score)).rows.tolist() == [2, 2, 2, 1]
    assert EqualMass(4, split="array_split").table(view(score)).rows.tolist() == [2, 2, 2, 1]
    assert EqualMass(3, split="array_split").table(view(score[:5])).rows.tolist() == [2, 2, 1]
    assert EqualMass(5, split="array_split").table(view([0.2, 0.7])).rows.tolist() == [1, 1]


def test_equal_mass_under_weights_counts_weight() -> None:
    score, counts = [0.1, 0.2, 0.3, 0.4], [5, 1, 1, 1]
    # Weight before: 0, 5, 6, 7 of 8, so bins 0, 2, 3, 3 of four.
    assert EqualMass(4).table(view(score, counts=counts)).weight.tolist() == [5, 1, 2]
    repeated = EqualMass(4).table(view(np.repeat(score, counts)))
    assert repeated.weight.tolist() == [5, 1, 2]
    for scale in (1, 0.1, 1e6 / 3):
        weights = [scale * count for count in counts]
        assert EqualMass(4).table(view(score, sample_weight=weights)).rows.tolist() == [1, 1, 2]


@pytest.fixture
def table() -> BinTable:
    # Bins of [0, 1] in four: two rows below 0.25, none up to 0.5, one up to 0.75, three above.
    return cal.calibration_curve([0, 1, 0, 1, 1, 0], [0.1, 0.2, 0.6, 0.8, 0.9, 1.0], bins=4).table


def test_what_a_table_holds(table: BinTable) -> None:
    assert len(table) == 4
    assert table.rows.tolist() == [2, 0, 1, 3]
    assert table.weight.tolist() == [2, 0, 1, 3]
    assert table.positives.tolist() == [1, 0, 0, 2]
    assert table.share == pytest.approx([2 / 6, 0, 1 / 6, 3 / 6])
    assert table.mean_score == pytest.approx([0.15, np.nan, 0.6, 0.9], nan_ok=True)
    assert table.rate == pytest.approx([0.5, np.nan, 0, 2 / 3], nan_ok=True)
    assert table.gap == pytest.approx([-0.35, 0, 0.6, 0.9 - 2 / 3])
    assert table.excess == pytest.approx([-0.7, 0, 0.6, 0.7])
    assert (table.total, table.weight_kind, table.closed) == (6, "unit", "right")


def test_an_empty_bin_is_shown_as_empty(table: BinTable) -> None:
    assert table.empty.tolist() == [False, True, False, False]
    found = table.to_dict()
    assert [found[name][1] for name in ("rows", "mean_score", "rate", "gap")] == [0, None, None, None]
    assert repr(table).splitlines()[2].split() == ["0.2500", "0.5000", "0", "-", "-", "empty"]
    assert ">empty</td>" in table._repr_html_()
    assert cal.mce([0, 1, 0, 1, 1, 0], [0.1, 0.2, 0.6, 0.8, 0.9, 1.0], bins=4) == pytest.approx(0.6)
    lower, upper = table.interval()
    assert np.isnan([lower[1], upper[1]]).all()


def test_weighted_and_soft_tables() -> None:
    weighted = bin_table(view([0.2, 0.4, 0.9], [0, 1, 1], sample_weight=[1, 3, 4]), binning_rule(2))
    assert weighted.share == pytest.approx([0.5, 0.5])
    assert weighted.mean_score == pytest.approx([0.35, 0.9])
    assert weighted.rate == pytest.approx([0.75, 1])
    assert weighted.weight_kind == "importance"
    counted = bin_table(view([0.2, 0.4, 0.9], [0, 1, 1], counts=[1, 3, 4]), binning_rule(2))
    assert (counted.weight.tolist(), counted.positives.tolist(), counted.square.tolist()) == ([4, 4], [3, 4], [10, 16])
    soft = bin_table(view([0.2, 0.4, 0.9], [0.5, 0.3, 1], soft=True), binning_rule(2))
    assert soft.is_soft
    assert soft.rate == pytest.approx([0.4, 1])


@pytest.mark.parametrize("binning", ["equal_mass", EqualWidth(closed="left")])
def test_fitted_bins_serve_another_model(binning: Any) -> None:
    rng = np.random.default_rng(1)
    p, other = rng.beta(2, 3, 300), rng.beta(5, 2, 300)
    y = rng.integers(0, 2, 300)
    fitted = cal.calibration_curve(y, p, bins=6, binning=binning).table
    again = cal.calibration_curve(y, p, binning=fitted).table
    assert again.rows.tolist() == fitted.rows.tolist()
    assert again.gap == pytest.approx(fitted.gap, abs=1e-13)
    moved = cal.calibration_curve(y, other, binning=fitted).table
    assert (moved.edges.tolist(), moved.closed) == (fitted.edges.tolist(), fitted.closed)
    assert moved.rows.tolist() != fitted.rows.tolist()
    by_edges = Edges(tuple(fitted.edges), closed=fitted.closed)
    assert cal.ece(y, other, binning=fitted) == cal.ece(y, other, binning=by_edges)
    if fitted.closed == "right":
        assert cal.ece(y, other, bins=fitted.edges) == cal.ece(y, other, binning=fitted)


def test_fitted_bins_that_start_with_a_heap_of_zeros() -> None:
    p, y = [0.0] * 5 + [0.4, 0.6, 0.8], [0, 0, 1, 0, 0, 1, 0, 1]
    fitted = cal.calibration_curve(y, p, bins=4, binning="equal_mass").table
    assert fitted.right[0] == 0
    assert cal.ece(y, p, binning=fitted) == pytest.approx(cal.ece_em(y, p, bins=4), abs=1e-15)


def test_a_rule_keeps_its_own_number_of_bins() -> None:
    assert binning_rule(BINS, EqualMass(7)) == EqualMass(7)
    assert binning_rule(9, EqualWidth(closed="left")) == EqualWidth(9, closed="left")
    assert binning_rule(np.int64(4), "equal_mass") == EqualMass(4)
    assert binning_rule([0, 0.5, 1], EQUAL_WIDTH) == Edges((0.0, 0.5, 1.0))


def test_a_table_is_made_once_for_each_view_and_rule() -> None:
    given = view([0.2, 0.7, 0.9])
    assert bin_table(given, binning_rule(5)) is bin_table(given, EqualWidth(5))
    assert bin_table(given, binning_rule(5)) is not bin_table(given, binning_rule(6))


@dataclass  # not frozen, so it cannot be hashed
class Halves:
    at: float

    def with_bins(self, bins: int) -> Halves:
        return self

    def table(self, given: View) -> BinTable:
        return Edges((0, self.at, 1)).table(given)

    def cells(self, given: View) -> tuple[Any, int]:
        return Edges((0, self.at, 1)).cells(given)


NUMBER_ONLY = {"vece", "mvce"}  # bins of features
BINNED = [m for m in cal.catalogue.values() if "bins" in m.options]
EDGES = [0, 0.3, 0.7, 1]


def _unfriendly(classes: int) -> tuple[Any, Any, dict[str, Any]]:
    rng = np.random.default_rng(classes)
    n = 211
    beside = {"features": rng.normal(size=(n, 2)), "groups": rng.integers(0, 3, n)}
    if classes == 2:
        p = np.round(rng.beta(0.4, 0.6, n), 2)
        return (rng.random(n) < p).astype(int), p, beside
    return rng.integers(0, classes, n), rng.dirichlet(np.ones(classes), n), beside


@pytest.mark.parametrize("classes", [2, 4])
@spread("metric", BINNED, lambda m: m.id)
def test_edges_replace_the_default_binning_of_every_metric(metric: Any, classes: int) -> None:
    y, p, beside = _unfriendly(classes)
    words = {need: beside[need] for need in metric.needs if need in beside}
    if metric.id in NUMBER_ONLY:
        with raises(ArgumentError, "bins"):
            call(metric, y, p, bins=EDGES, **words)
        return
    found = call(metric, y, p, bins=EDGES, **words)
    assert call(metric, y, p, bins=np.array(EDGES), **words) == found
    if "binning" not in metric.options:
        return
    own = Edges(tuple(EDGES))
    if metric.takes == "View" and metric.options["bins"] not in ("sweep", "search"):
        assert call(metric, y, p, binning=own, **words) == found
    for name in ("equal_mass", "equal_width"):
        with raises((ArgumentError, LensError), "bins"):
            call(metric, y, p, bins=EDGES, binning=name, **words)


@in_turn("metric", [m for m in BINNED if "binning" in m.options], lambda m: m.id)
def test_a_number_beside_a_rule_with_its_own_is_refused(metric: Any) -> None:
    y, p, beside = _unfriendly(2)
    words = {need: beside[need] for need in metric.needs if need in beside}
    fitted = cal.calibration_curve(y, p, bins=4).table
    for rule in (
        EqualWidth(10),
        EqualMass(10),
        cal.EqualArea(10),
        cal.Quantile(10),
        Edges(tuple(EDGES)),
        fitted,
        KDTree(),
        SimplexGrid(),
    ):
        message = "has bins of its own|must be 'equal_width', 'equal_mass', 'equal_area', 'quantile', 'levels' or a rule|one score per row"
        with pytest.raises(ArgumentError, match=message):
            call(metric, y, p, bins=5, binning=rule, **words)
    if metric.takes == "View" and metric.options["bins"] not in ("sweep", "search"):
        # A rule without a number takes it, and a number by default gives way.
        assert call(metric, y, p, bins=5, binning=EqualMass(), **words) == call(
            metric, y, p, binning=EqualMass(5), **words
        )


def test_one_number_for_all_metrics_gives_way_where_a_metric_cuts_by_other_means() -> None:
    y, p, _ = _unfriendly(2)
    named = ["ece", "tce", "gece", "fce", "hosmer_lemeshow"]
    found = cal.evaluate(y, p, metrics=named, bins=7)
    assert found["tce"] == cal.tce(y, p)
    assert found["gece"] == cal.gece(y, p)
    assert found["ece"] == cal.ece(y, p, bins=7)
    edged = cal.evaluate(y, p, metrics=named, bins=EDGES)
    assert edged["hosmer_lemeshow"] == cal.hosmer_lemeshow(y, p, bins=EDGES)
    assert edged["fce"] == cal.fce(y, p, bins=EDGES)


def test_a_users_own_rule() -> None:
    assert cal.ece([0, 1, 1], [0.2, 0.6, 0.9], binning=Halves(0.7)) == pytest.approx((0.2 + 0.1) / 3)


def test_importance_weights_use_the_effective_size() -> None:
    p, y = [0.2] * 5, [0, 1, 0, 0, 1]
    plain = np.array(bin_table(view(p, y), binning_rule(1)).interval())
    assert np.array(bin_table(view(p, y, sample_weight=[3] * 5), binning_rule(1)).interval()) == pytest.approx(plain)
    # (4 + 1 + 1)^2 / (16 + 1 + 1) = 2 rows, of which 4 / 6 are hits.
    weighted = bin_table(view([0.2] * 3, [1, 0, 0], sample_weight=[4, 1, 1]), binning_rule(1)).interval(
        0.95, "jeffreys"
    )
    assert weighted[0][0] == pytest.approx(stats.beta(4 / 3 + 0.5, 2 / 3 + 0.5).ppf(0.025))
    assert weighted[1][0] == pytest.approx(stats.beta(4 / 3 + 0.5, 2 / 3 + 0.5).ppf(0.975))


def test_a_curve_holds_its_table_and_says_what_it_is() -> None:
    y, p = [0, 1, 0, 1, 1, 0], [0.1, 0.2, 0.6, 0.8, 0.9, 1.0]
    curve = cal.calibration_curve(y, p, bins=4, level=0.9)
    assert (len(curve), curve.lens, curve.level) == (4, "binary", 0.9)
    assert repr(curve).splitlines()[0] == "Calibration curve (binary, 90% Clopper-Pearson intervals)"
    assert len(repr(curve).splitlines()) == 6
    assert "<p>Calibration curve (binary, 90% Clopper-Pearson intervals)</p>" in curve._repr_html_()
    found = curve.to_dict()
    assert (found["low"][1], found["high"][1], found["rate"][1]) == (None, None, None)
    assert list(curve.to_frame().columns)[-2:] == ["low", "high"]
    bare = cal.calibration_curve(y, p, bins=4, level=None)
    assert np.isnan(bare.low).all()
    assert repr(bare).splitlines()[0] == "Calibration curve (binary)"


def test_bins_of_a_curve_are_in_its_table() -> None:
    y, p = [0, 1, 1, 0, 1], [0.1, 0.4, 0.8, 0.35, 0.9]
    curve = cal.calibration_curve(y, p, binning="equal_mass", bins=2)
    with raises(cal.errors.ArgumentError, "binning"):
        cal.ece(y, p, binning=curve)
    assert cal.ece(y, p, binning=curve.table) == cal.ece(y, p, binning="equal_mass", bins=2)


def test_wilson_limits_are_exact_at_the_ends() -> None:
    for n in (1, 30, 900, 2000, 12345):
        low, high = binomial_interval(np.array([0.0, n]), np.array([n, n], float), 0.05, "wilson")
        assert low[0] == 0
        assert high[1] == 1
        assert 0 < high[0] < 1
        assert 0 < low[1] < 1


@pytest.mark.parametrize("count", [1, 2, 3, 10, 30, 31, 200])
def test_cells_of_equal_mass_are_those_of_the_definition(count: int) -> None:
    rng = np.random.default_rng(count)
    for rows in (1, 2, 9, 10, 500):
        uniform = rng.random(rows)
        for score in (uniform, np.round(uniform, 1), np.where(uniform < 0.9, 0.0, 1.0), uniform.astype(np.float32)):
            for weight in (None, rng.integers(1, 4, rows)):
                mass = np.ones(rows) if weight is None else weight
                before = np.array([int(mass[score < own].sum()) for own in score])
                wanted = np.unique(before * count // int(mass.sum()), return_inverse=True)[1]
                for sorted_before in (False, True):
                    given = View(score, np.zeros(rows, np.uint8), weight, "unit" if weight is None else "counts")
                    if sorted_before:
                        assert given.prefix.end[-1] == rows
                    cell, bins = EqualMass(count).cells(given)
                    assert cell.tolist() == wanted.tolist()
                    assert bins == wanted.max() + 1


@pytest.mark.parametrize(
    ("rule", "fixed"),
    [
        (binning_rule(15), True),
        (binning_rule(5, "equal_width:1/K"), True),
        (binning_rule([0, 0.3, 1]), True),
        (Edges((0, 0.5, 1)), True),
        (SimplexGrid(4), True),
        (EqualWidth(15, min_rows=2), False),
        (binning_rule("sweep"), False),
        (EqualMass(15), False),
    ],
)
def test_bins_that_do_not_depend_on_other_rows(rule: Any, fixed: bool) -> None:
    assert getattr(rule, "is_fixed", False) is fixed


class TestSmallBins:
    """Bins with fewer than `min_rows` rows are merged with a neighbour."""

    SCORE: ClassVar = [0.05, 0.15, 0.15, 0.15, 0.35, 0.35, 0.95]

    def test_a_small_bin_joins_the_next_one_and_the_last_the_one_before(self) -> None:
        table = EqualWidth(10, min_rows=2).table(view(self.SCORE))
        assert table.rows.tolist() == [4, 3]
        assert table.left.tolist() == [0, 0.2]
        assert table.right.tolist() == [0.2, 1]
        cell, count = EqualWidth(10, min_rows=2).cells(view(self.SCORE))
        assert (cell.tolist(), count) == ([0, 0, 0, 0, 1, 1, 1], 2)

    def test_fewer_rows_than_the_minimum_are_one_bin(self) -> None:
        assert EqualMass(3, min_rows=100).table(view(self.SCORE)).rows.tolist() == [7]

    def test_counts_are_rows_and_importance_weights_are_not(self) -> None:
        p, y = [0.1, 0.4, 0.9], [0, 1, 1]
        assert len(EqualWidth(3, min_rows=4).table(view(p, y, counts=[4, 5, 6]))) == 3
        assert len(EqualWidth(3, min_rows=4).table(view(p, y, sample_weight=[4, 5, 6]))) == 1

    @pytest.mark.parametrize(
        "rule",
        [
            EqualWidth(12),
            EqualMass(12),
            Quantile(12),
            EqualArea(12),
            Edges((0, 0.1, 0.2, 0.6, 1)),
            Levels(),
            EqualMass(12, ties="split"),
        ],
    )
    def test_every_rule_merges_its_table_and_its_cells_alike(self, rule: Any) -> None:
        rng = np.random.default_rng(3)
        score = rng.random(60).round(1)
        data = View(score, (rng.random(60) < score).astype(np.uint8))
        merging = replace(rule, min_rows=9)
        table, (cell, count) = merging.table(data), merging.cells(data)
        assert table.rows.min() >= 9
        assert table.rows.tolist() == np.bincount(cell, minlength=count).tolist()
        assert table.excess.sum() == pytest.approx(rule.table(data).excess.sum(), abs=1e-12)
        assert set(table.left) <= set(rule.table(data).left)

    def test_a_searched_number_of_bins_is_merged(self) -> None:
        rng = np.random.default_rng(4)
        score = rng.random(300)
        y = (rng.random(300) < score).astype(int)
        few = cal.calibration_curve(y, score, bins="sweep", binning=EqualMass(min_rows=100)).table
        assert len(few) <= 3
        assert few.rows.min() >= 100
