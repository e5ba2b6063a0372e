"""The simplex picture: its cells against counting, its triangle against geometry, the picture against its data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError, InputTypeError, LensError, UndefinedMetricError
from calibrant.figures.simplex import TRIANGLE, simplex_diagram
from tests.calling import call

from .pictures import assert_readable, assert_same, new_axes

SIM = cal.make_miscalibrated(900, warp=cal.simulate.temperature(1.8), distribution=[0.7] * 3, rng=0)
Y, P = SIM.y_true, SIM.y_prob
FIVE = cal.make_calibrated(4000, distribution=0.6, classes=5, rng=1)


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
    shown = simplex_diagram(y, p, corners=[1, 3, 4], kind="points", points=10_000)
    kept = np.isin(y, [1, 3, 4])
    assert shown.renormalised
    assert_same(shown.probs, p[kept][:, [1, 3, 4]] / p[kept][:, [1, 3, 4]].sum(axis=1, keepdims=True))
    assert shown.left_out == pytest.approx(1 - kept.mean())
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
    assert len(shown.plot(grid=False).texts) == 3


def test_points_lie_in_the_triangle_in_the_colour_of_their_label() -> None:
    names = ["cat", "dog", "horse"]
    shown = simplex_diagram(cal.Predictions([names[c] for c in Y], P, classes=names), kind="points", points=300)
    ax = shown.plot()
    assert len(shown) == 300
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["true cat", "true dog", "true horse"]
    rows = np.linspace(0, 899, 300).astype(int)
    for c, drawn in enumerate(ax.collections):
        assert_same(drawn.get_offsets(), P[rows][Y[rows] == c] @ TRIANGLE)
    assert_readable(ax)
    # A corner of the triangle is a sure prediction, and numbers stand where a class has that probability.
    corner = simplex_diagram([0, 1, 2], np.eye(3), kind="points").probs @ TRIANGLE
    assert_same(corner, TRIANGLE)


def test_numbers_stand_at_their_probability() -> None:
    ax = simplex_diagram(Y, P).plot()
    inverse = np.linalg.inv(np.column_stack([TRIANGLE, np.ones(3)]))
    for text in ax.texts:
        if text.get_text().startswith("0."):
            share = np.array([*text.get_position(), 1.0]) @ inverse
            # Outside the left side class 1 is negative, and the number is that of class 0; and so on round the triangle.
            outside = int(np.argmin(share))
            assert share[outside] < 0
            assert share[(outside + 2) % 3] == pytest.approx(float(text.get_text()), abs=0.04)


def test_renormalised_pictures_say_so() -> None:
    ax = simplex_diagram(FIVE.y_true, FIVE.y_prob, corners=[0, 1, 2]).plot()
    assert "other classes left out, rest scaled to 1" in {text.get_text() for text in ax.texts}
    assert_readable(ax)


@pytest.mark.parametrize(
    ("keywords", "error", "text"),
    [
        ({"kind": "dots"}, ArgumentError, "kind: must be 'arrows' or 'points'; got 'dots'"),
        ({"bins": 0}, ArgumentError, "bins: must be an integer of at least 1; got 0"),
        ({"least": -1}, ArgumentError, "least: must be a non-negative number; got -1"),
        (
            {"least": 1e6},
            UndefinedMetricError,
            r"simplex_diagram: no cell has a weight of at least 1e\+06; lower least or bins or use kind='points'",
        ),
        ({"corners": [0, 1]}, ArgumentError, "corners: must be three different classes"),
        ({"corners": [0, 1, 1]}, ArgumentError, "corners: must be three different classes"),
        ({"corners": [0, 1, 7]}, ArgumentError, "corners: unknown class 7; the classes are 0 to 2"),
    ],
)
def test_what_is_refused(keywords: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(simplex_diagram, Y, P, **keywords)


def test_what_a_triangle_cannot_show() -> None:
    with pytest.raises(ArgumentError, match="corners: are required for 5 classes; name three classes"):
        simplex_diagram(FIVE.y_true, FIVE.y_prob)
    with pytest.raises(
        ArgumentError, match="y_prob: must have at least three classes; got 2; use a reliability diagram"
    ):
        simplex_diagram([0, 1], [0.2, 0.7])
    with pytest.raises(
        InputTypeError,
        match="y_true: expected probabilities of three classes, got a view of one score; pass probabilities",
    ):
        simplex_diagram(cal.Sketch.of(Y, P))
    with pytest.raises(
        LensError, match="kind: 'points' are coloured by label, which is not defined for soft labels; use 'arrows'"
    ):
        simplex_diagram(cal.Predictions(P, P, soft=True), kind="points")
    with pytest.raises(
        LensError,
        match="corners: selecting rows by label is not defined for soft labels; merge the other classes first",
    ):
        simplex_diagram(cal.Predictions(FIVE.y_prob, FIVE.y_prob, soft=True), corners=[0, 1, 2])
    with pytest.raises(LensError, match="corners: no row has one of these labels and a positive probability for it"):
        simplex_diagram([0, 0], np.full((2, 5), 0.2), corners=[1, 2, 3])
