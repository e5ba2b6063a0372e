"""The cells of the page: exact sums of the rows, the same from a sketch, and what has no room is named."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from calibrant.errors import LensError
from calibrant.input.predictions import Predictions
from calibrant.reporting.interactive import CELLS, MAX_CLASSES, MAX_GROUPS, cell_sums, interactive
from calibrant.sketches.sketch import Sketch

from .pages import binary_case, many_case

LABEL, SCORE, GROUP = binary_case(900)


def brute(label: np.ndarray, score: np.ndarray) -> list[tuple[int, int, Fraction]]:
    """Row by row, in fractions: the cell whose upper edge is the first at or above the score."""
    edges = [k / CELLS for k in range(CELLS + 1)]
    found = [(0, 0, Fraction(0))] * CELLS
    for y, s in zip(label.tolist(), score.tolist(), strict=True):
        cell = next(k for k in range(CELLS) if s <= edges[k + 1])
        rows, positives, total = found[cell]
        found[cell] = (rows + 1, positives + y, total + Fraction(s))
    return found


def test_cells_are_the_sums_of_the_rows() -> None:
    cells = interactive(Predictions(LABEL, SCORE)).lenses[0].cells
    for k, (rows, positives, total) in enumerate(brute(LABEL, SCORE)):
        assert (cells.rows[k], cells.positives[k]) == (rows, positives)
        assert abs(Fraction(cells.score_sum[k]) - total) <= Fraction(1, 10**14) * max(1, rows)


def test_rows_on_an_edge_are_known_for_thresholds() -> None:
    sure = interactive(Predictions(LABEL, SCORE)).lenses[0].sureness
    top = np.where(SCORE > 0.5, SCORE, 1 - SCORE)
    right = np.where(SCORE > 0.5, LABEL == 1, LABEL == 0)
    expected = [
        (k, int((top == k / 300).sum()), int(right[top == k / 300].sum())) for k in range(301) if (top == k / 300).any()
    ]
    assert list(sure.on_edge) == expected
    assert len(expected) > 50


def test_a_sketch_gives_the_same_cells() -> None:
    rows = interactive(Predictions(LABEL, SCORE)).lenses[0].cells
    sketch = cell_sums(Sketch.of(LABEL, SCORE).view())
    assert sketch.rows == rows.rows
    assert sketch.positives == rows.positives
    np.testing.assert_allclose(sketch.score_sum, rows.score_sum, rtol=1e-13, atol=0)


def test_counts_are_repeated_rows_and_stay_whole() -> None:
    counts = np.arange(len(LABEL)) % 4
    once = interactive(Predictions(LABEL, SCORE, counts=counts)).lenses[0].cells
    repeated = interactive(Predictions(np.repeat(LABEL, counts), np.repeat(SCORE, counts))).lenses[0].cells
    assert once.rows == repeated.rows
    assert once.positives == repeated.positives
    assert all(isinstance(value, int) for value in (*once.rows, *once.positives))
    np.testing.assert_allclose(once.score_sum, repeated.score_sum, rtol=1e-13)


def test_soft_labels_and_weights_keep_fractions() -> None:
    soft = interactive(Predictions(SCORE**2, SCORE, soft=True))
    assert soft.is_soft
    assert sum(soft.lenses[0].cells.positives) == pytest.approx(float((SCORE**2).sum()), rel=1e-12)
    weight = SCORE + 0.5
    weighted = interactive(Predictions(LABEL, SCORE, sample_weight=weight))
    assert weighted.weight_kind == "importance"
    cells = weighted.lenses[0].cells
    worth = float(weight.sum() ** 2 / (weight**2).sum())  # the weights themselves are known up to a factor
    assert cells.total**2 / sum(cells.square) == pytest.approx(worth, rel=1e-12)


def test_what_has_no_room_is_named() -> None:
    rng = np.random.default_rng(0)
    groups = [f"g{number:03d}" for number in rng.integers(0, 60, 5000)]
    score = rng.random(5000)
    many = interactive(Predictions(rng.random(5000) < score, score, groups=groups))
    assert len(many.groups) == MAX_GROUPS
    assert "10 smaller groups are not selectable" in many.left_out[0]
    sizes = {name: groups.count(name) for name in set(groups)}
    kept = {series.name for series in many.groups}
    assert min(sizes[name] for name in kept) >= max(sizes[name] for name in set(sizes) - kept)
    probs = rng.dirichlet(np.ones(40), 500)
    classes = interactive(Predictions(rng.integers(0, 40, 500), probs))
    assert len(classes.lenses) == 1 + MAX_CLASSES
    assert "20 smaller classes are not selectable" in classes.left_out[0]
    assert classes.left_out[0].endswith("and 8 more.")


def test_groups_add_up_to_all_rows() -> None:
    found = interactive(Predictions(LABEL, SCORE, groups=GROUP))
    whole = found.lenses[0].cells
    assert [sum(column) for column in zip(*(group.cells.rows for group in found.groups), strict=True)] == list(
        whole.rows
    )
    added = np.sum([group.cells.score_sum for group in found.groups], axis=0)
    np.testing.assert_allclose(added, whole.score_sum, rtol=0, atol=1e-12)


def test_kinds_of_predictions() -> None:
    label, prob = many_case(200)
    assert [series.lens for series in interactive(Predictions(label, prob)).lenses] == ["top_label"] + ["class"] * 4
    sure = interactive(Predictions(LABEL, SCORE, input="confidence"))
    assert [series.lens for series in sure.lenses] == ["top_label"]
    columns = np.column_stack([LABEL, 1 - LABEL])
    labels = interactive(Predictions(columns, np.column_stack([SCORE, SCORE]), multilabel=True))
    assert [(series.name, series.lens) for series in labels.lenses] == [("0", "class"), ("1", "class")]
    with pytest.raises(LensError, match="more than one event per row"):
        interactive(Predictions(label, prob), lens="canonical")
