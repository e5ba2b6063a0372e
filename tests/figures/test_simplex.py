"""The simplex picture: its cells against counting, its triangle against geometry, the picture against its data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.figures.simplex import TRIANGLE, simplex_diagram

from .pictures import assert_readable, assert_same, new_axes

SIM = cal.inference.make_miscalibrated(
    900, warp=cal.inference.simulation.temperature(1.8), distribution=[0.7] * 3, rng=0
)
Y, P = SIM.y_true, SIM.y_prob
FIVE = cal.inference.make_calibrated(4000, distribution=0.6, classes=5, rng=1)


def brute_cells(y: Any, p: Any, w: Any, bins: int) -> dict[tuple[int, ...], tuple[Any, Any, float]]:
    """Weight, weighted sums of probabilities and of outcomes of each cell, row by row."""
    cells: dict[tuple[int, ...], tuple[Any, Any, float]] = {}
    for i in range(len(y)):
        key = tuple(max(0, math.ceil(value * bins) - 1) for value in p[i])
        mean, seen, total = cells.get(key, (np.zeros(3), np.zeros(3), 0.0))
        cells[key] = (mean + w[i] * p[i], seen + w[i] * np.eye(3)[y[i]], total + w[i])
    return cells


@pytest.mark.parametrize("bins", [1, 4, 7])
def test_cells_are_what_counting_gives(bins: int) -> None:
    counts = 1 + np.arange(900) % 3
    shown = simplex_diagram(cal.Predictions(Y, P, counts=counts), bins=bins, least=0)
    wanted = brute_cells(Y, P, counts, bins)
    assert len(shown) == len(wanted)
    found = sorted(map(tuple, np.column_stack([shown.probs, shown.outcome, shown.weight]).tolist()))
    brute = sorted((*(mean / total), *(seen / total), total) for mean, seen, total in wanted.values())
    np.testing.assert_allclose(found, brute, atol=1e-12)
    assert shown.weight.sum() == counts.sum()
    assert shown.left_out == 0
    assert_same(shown.weight @ shown.outcome, np.bincount(Y, counts))


def test_gaps_sum_to_zero_and_few_rows_are_left_out() -> None:
    shown = simplex_diagram(Y, P, bins=8, least=15)
    whole = simplex_diagram(Y, P, bins=8, least=0)
    assert_same(shown.gap.sum(axis=1), np.zeros(len(shown)))
    assert shown.weight.min() >= 15
    assert shown.left_out == pytest.approx(whole.weight[whole.weight < 15].sum() / 900)
    assert 0 < shown.left_out < 1


def test_importance_is_scaled_to_rows() -> None:
    weight = np.random.default_rng(3).random(900) * 7
    shown = simplex_diagram(Y, P, bins=2, least=0, sample_weight=weight)
    assert shown.weight.sum() == pytest.approx(900)
    assert_same(shown.weight @ shown.probs / 900, np.average(P, axis=0, weights=weight))


def test_other_corners_are_another_order() -> None:
    one = simplex_diagram(Y, P, bins=3, least=0)
    other = simplex_diagram(Y, P, bins=3, least=0, corners=[2, 0, 1])
    assert other.corners == ("2", "0", "1")
    order = [2, 0, 1]
    assert sorted(map(tuple, one.outcome[:, order].round(9).tolist())) == sorted(
        map(tuple, other.outcome.round(9).tolist())
    )
    points = simplex_diagram(Y, P, kind="points", corners=[2, 0, 1])
    assert_same(points.probs, P[:, order])
    assert (points.outcome[:, 0] == (Y == 2)).all()


def test_three_of_more_classes_are_renormalised_and_stay_calibrated() -> None:
    y, p = FIVE.y_true, FIVE.y_prob
    shown = simplex_diagram(y, p, corners=[1, 3, 4], kind="points")
    kept = np.isin(y, [1, 3, 4])
    rows = np.linspace(0, kept.sum() - 1, 2000).astype(int)
    assert shown.renormalised
    assert_same(shown.probs, (p[kept][:, [1, 3, 4]] / p[kept][:, [1, 3, 4]].sum(axis=1, keepdims=True))[rows])
    assert "other classes left out" in repr(shown)
    cells = simplex_diagram(y, p, corners=[1, 3, 4], bins=3, least=100)
    spread = np.sqrt(cells.probs * (1 - cells.probs) / cells.weight[:, None])
    assert (np.abs(cells.gap) < 4.5 * spread).all()


def test_soft_labels_and_vector_views() -> None:
    soft = np.random.default_rng(0).dirichlet([1, 1, 1], 900)
    shown = simplex_diagram(cal.Predictions(soft, P, soft=True), bins=1)
    assert_same(shown.outcome[0], soft.mean(axis=0))
    [view] = cal.class_groups({"a": [0, 1], "b": [2], "c": [3, 4]}).views(cal.Predictions(FIVE.y_true, FIVE.y_prob))
    grouped = simplex_diagram(view, bins=1)
    assert grouped.probs[0, 0] == pytest.approx(FIVE.y_prob[:, :2].sum(axis=1).mean())
    assert not grouped.renormalised


def test_the_picture_shows_the_data() -> None:
    [ax] = new_axes()
    shown = simplex_diagram(Y, P)
    assert shown.plot(ax) is ax
    dots, arrows = ax.collections
    start, end = shown.probs @ TRIANGLE, shown.outcome @ TRIANGLE
    assert_same(dots.get_offsets(), start)
    assert_same(np.column_stack([arrows.U, arrows.V]), end - start)
    assert_same(arrows.XY, start)
    assert_readable(ax)
    assert_readable(shown.plot())
    assert len(shown.to_frame()) == len(shown)
    assert "<table>" in shown._repr_html_()


def test_points_lie_in_the_triangle_in_the_colour_of_their_label() -> None:
    names = ["cat", "dog", "horse"]
    shown = simplex_diagram(cal.Predictions([names[c] for c in Y], P, classes=names), kind="points")
    ax = shown.plot()
    assert len(shown) == 900
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["true cat", "true dog", "true horse"]
    for c, drawn in enumerate(ax.collections):
        assert_same(drawn.get_offsets(), P[c == Y] @ TRIANGLE)
    assert_readable(ax)
    # A corner of the triangle is a sure prediction, and numbers stand where a class has that probability.
    corner = simplex_diagram([0, 1, 2], np.eye(3), kind="points").probs @ TRIANGLE
    assert_same(corner, TRIANGLE)


def test_renormalised_pictures_say_so() -> None:
    ax = simplex_diagram(FIVE.y_true, FIVE.y_prob, corners=[0, 1, 2]).plot()
    assert "other classes left out, rest scaled to 1" in {text.get_text() for text in ax.texts}
    assert_readable(ax)
