"""Edges in the arithmetic of other packages, interpolated quantiles, and edges of soft bins."""

import bisect
import itertools
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant import EqualWidth, Quantile
from calibrant.binning.parse import written_rule
from calibrant.binning.peer_edges import quotient_edges, torch_edges
from calibrant.errors import ArgumentError
from tests.calling import raises

EDGES = [0, 0.3, 0.7, 1]
EVENT = np.random.default_rng(5)
SCORES = np.concatenate([EVENT.random(180).round(2), [0.0, 0.0, 1.0, 1.0, 0.3, 0.7]])
LABELS = (EVENT.random(len(SCORES)) < SCORES).astype(int)


def on_edges(bins: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three rows for every score k/M."""
    score = np.repeat(np.arange(bins + 1) / bins, 3)
    label = np.random.default_rng(seed).integers(0, 2, len(score))
    label[:2] = 0, 1
    return label, score


def cells_of(rule: Any, score: np.ndarray) -> list[int]:
    return rule.table(cal.views.View(score, np.zeros(len(score), np.uint8))).rows.tolist()


def test_edges_of_numpy_are_those_of_linspace() -> None:
    for bins in (1, 2, 3, 7, 10, 15, 49):
        for closed, side in (("right", "left"), ("left", "right")):
            _, score = on_edges(bins)
            place = np.clip(np.searchsorted(np.linspace(0, 1, bins + 1), score, side=side) - 1, 0, bins - 1)
            assert (
                cells_of(EqualWidth(bins, closed, edges="linspace"), score)
                == np.bincount(place, minlength=bins).tolist()
            )


def test_edges_of_torch_are_those_of_torch_linspace_and_bucketize() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    for bins in (1, 2, 3, 7, 10, 15, 49, 333):
        assert torch_edges(bins, False).tolist() == torch.linspace(0, 1, bins + 1, dtype=torch.float64).tolist()
        cuts = torch_edges(bins, True)
        score = np.concatenate([cuts, np.nextafter(cuts[1:], 0), np.arange(bins + 1) / bins, rng.random(50)]).clip(0, 1)
        place = torch.bucketize(torch.tensor(score).float(), torch.linspace(0, 1, bins + 1), right=True) - 1
        assert (
            cells_of(EqualWidth(bins, "left", edges="torch"), score)
            == torch.bincount(place, minlength=bins + 1).tolist()
        )


def test_edges_of_a_quotient_are_the_smallest_scores_that_reach_the_next_bin() -> None:
    for bins in range(1, 101):
        cuts = quotient_edges(bins)
        for score in (cuts[1:], np.nextafter(cuts[1:], 0), np.arange(bins + 1) / bins):
            assert (np.searchsorted(cuts, score, side="right") - 1).tolist() == (score / (1 / bins)).astype(
                int
            ).tolist()


def test_the_score_one_has_a_bin_of_its_own_where_it_has_one_elsewhere() -> None:
    for edges in ("torch", "torch64", "quotient"):
        rule = EqualWidth(10, closed="left", edges=edges)
        table = rule.table(cal.views.View(np.array([0.95, 1.0]), np.array([1, 0], np.uint8)))
        assert table.rows.tolist() == [0] * 9 + [1, 1]
        assert table.left[-1] == pytest.approx(1) == table.right[-1]
        assert cal.ece([1, 0], [0.95, 1.0], binning=rule) == pytest.approx(0.525)
    table = EqualWidth(4, "left", edges="torch64").table(
        cal.views.View(np.array([0.5, 1.0]), np.array([1, 0], np.uint8))
    )
    with raises(ArgumentError, "binning"):
        cal.ece(LABELS, SCORES, binning=table)


def test_linspace_on_a_range() -> None:
    table = EqualWidth(7, range=(0.3, 1), edges="linspace").table(
        cal.views.View(np.array([0.3, 0.4, 1.0]), np.array([1, 0, 1], np.uint8))
    )
    assert table.right.tolist() == np.linspace(0.3, 1, 8)[1:].tolist()
    assert table.rows.sum() == 3


def quantile_rows(score: np.ndarray, bins: int, closed: str, percentile: bool) -> list[int]:
    """Sizes of the non-empty bins, row by row."""
    fractions = [k / bins for k in range(bins + 1)]
    inner = (
        np.percentile(score, np.linspace(0, 1, bins + 1) * 100)
        if percentile
        else np.quantile(score, np.linspace(0, 1, bins + 1))
    )[1 : len(fractions) - 1]
    place = [sum(s > e if closed == "right" else s >= e for e in inner) for s in score]
    return [place.count(k) for k in sorted(set(place))]


def test_quantile_bins_end_at_interpolated_quantiles() -> None:
    rng = np.random.default_rng(2)
    data = {
        "distinct": rng.random(101),
        "ties": rng.random(90).round(1),
        "zeros and ones": np.r_[np.zeros(20), np.ones(30), 0.5, 0.25],
        "constant": np.full(9, 0.3),
        "one": np.array([0.4]),
    }
    for score in data.values():
        for bins in (1, 2, 7, 10, 15):
            for closed in ("right", "left"):
                for edges in ("percentile", "quantile"):
                    rule = Quantile(bins, closed, edges)
                    rows = [count for count in cells_of(rule, score) if count]
                    assert rows == quantile_rows(score, bins, closed, edges == "percentile")
                    view = cal.views.View(score, np.zeros(len(score), np.uint8))
                    cell, count = rule.cells(view)
                    assert np.bincount(cell, minlength=count).tolist() == rule.table(view).rows.tolist()
            label = rng.integers(0, 2, len(score))
            counts = rng.integers(0, 4, len(score))
            counts[0] = 2
            rows = np.repeat(np.arange(len(score)), counts)
            by_counts = cal.calibration_curve(
                cal.Predictions(label, score, counts=counts), bins=bins, binning="quantile"
            ).table
            repeated = cal.calibration_curve(label[rows], score[rows], bins=bins, binning="quantile").table
            assert by_counts.right.tolist() == repeated.right.tolist()
            assert by_counts.weight.tolist() == repeated.weight.tolist()


def test_quantile_bins_of_scikit_learn() -> None:
    curve = pytest.importorskip("sklearn.calibration").calibration_curve
    rng = np.random.default_rng(8)
    for score in (SCORES, rng.random(137), rng.beta(0.2, 0.2, 211).round(1), SCORES.astype(np.float32)):
        label = rng.integers(0, 2, len(score))
        for bins in (2, 3, 7, 10, 15, 40):
            for strategy, rule in (("quantile", Quantile(bins)), ("uniform", EqualWidth(bins, edges="linspace"))):
                rate, mean = curve(label, score, n_bins=bins, strategy=strategy)
                table = cal.calibration_curve(label, score, binning=rule).table
                assert table.rate[~table.empty] == pytest.approx(rate, abs=1e-15)
                assert table.mean_score[~table.empty] == pytest.approx(mean, abs=1e-6 if score.dtype == "f4" else 1e-15)


def test_quantile_bins_midway_between_the_parts_of_array_split() -> None:
    """Written from uncertainty-calibration: edges between neighbouring parts, then each row by bisection; also with counts."""
    rng = np.random.default_rng(8)
    for n in (1, 2, 7, 16, 101):
        for digits in (1, 2, 12):
            for bins in (1, 2, 10, 15):
                score, label = rng.random(n).round(digits), rng.integers(0, 2, n)
                parts = [part for part in np.array_split(np.sort(score), bins) if len(part)]
                edges = sorted({(low[-1] + high[0]) / 2 for low, high in itertools.pairwise(parts)})
                groups: dict[int, list[float]] = {}
                for one, event in zip(score, label, strict=True):
                    groups.setdefault(bisect.bisect_left(edges, one), []).append(one - event)
                expected = sum(abs(sum(group)) for group in groups.values()) / n
                rule = Quantile(bins, edges="midway")
                assert cal.ece(label, score, binning=rule) == pytest.approx(expected, abs=1e-12)
                counts = rng.integers(1, 4, n)
                repeated = cal.ece(np.repeat(label, counts), np.repeat(score, counts), binning=rule)
                assert cal.ece(cal.Predictions(label, score, counts=counts), binning=rule) == pytest.approx(
                    repeated, abs=1e-12
                )


def test_quantile_bins_and_weights() -> None:
    assert cal.ece(LABELS, SCORES, binning="quantile", sample_weight=np.full(len(SCORES), 2.5)) == pytest.approx(
        cal.ece(LABELS, SCORES, binning="quantile")
    )
    sketch = cal.Sketch.of(LABELS, SCORES)
    value = cal.ece(sketch, binning="quantile", bins=7)
    assert abs(value - cal.ece(LABELS, SCORES, binning="quantile", bins=7)) <= sketch.error_bound(
        cal.ece, binning="quantile", bins=7
    )


@pytest.mark.parametrize("metric", [cal.sbece, cal.dece, cal.fce], ids=lambda metric: metric.id)
def test_soft_bins_between_edges(metric: Any) -> None:
    even = metric(LABELS, SCORES, bins=5)
    assert metric(LABELS, SCORES, bins=np.arange(6) / 5) == pytest.approx(even, rel=1e-12)
    assert metric(LABELS, SCORES, bins=EDGES) != pytest.approx(even, rel=1e-3)
    with raises(ArgumentError, "bins"):
        metric(LABELS, SCORES, bins=[0, 0.5, 0.9])
    # In the limit of narrow memberships the bins are hard.
    if metric is not cal.fce:
        sharp = {"temperature": 1e-6, "norm": 1} if metric is cal.sbece else {"bin_temperature": 1e-6, "lens": "binary"}
        inside = (SCORES > 0) & (np.abs(SCORES[:, None] - [0.3, 0.7, 0.5, 0.325, 0.675]) > 0.011).all(axis=1)
        # Rows belong to the nearest midpoint (sbece), or to the bin (dece).
        bins = [0, 0.325, 0.675, 1] if metric is cal.sbece else EDGES
        hard = cal.ece(LABELS[inside], SCORES[inside], bins=bins)
        assert metric(LABELS[inside], SCORES[inside], bins=EDGES, **sharp) == pytest.approx(hard, rel=1e-6)


def test_edges_as_text() -> None:
    for text, rule in {
        "equal_width:linspace": EqualWidth(edges="linspace"),
        "equal_width:linspace,left": EqualWidth(closed="left", edges="linspace"),
        "equal_width:left": EqualWidth(closed="left"),
        "equal_width:0.2,1,left": EqualWidth(closed="left", range=(0.2, 1.0)),
        "equal_width:torch": EqualWidth(closed="left", edges="torch"),
        "equal_width:quotient, left": EqualWidth(closed="left", edges="quotient"),
    }.items():
        assert written_rule(text) == rule
    for wrong in ("equal_width:linspace,torch", "equal_width:left,right", "equal_width:lin"):
        with raises(ArgumentError, "binning"):
            written_rule(wrong)
    with raises(ArgumentError, "binning"):
        written_rule("equal_width:torch,right")
