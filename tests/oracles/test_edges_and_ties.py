"""Scores on every edge and one step beside it, and every way in which the largest probability can tie, one by one."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from tests.calling import call

from . import bin_definitions, vector_definitions


def on_and_beside(edges: np.ndarray, dtype: Any) -> np.ndarray:
    edges = edges.astype(dtype)
    return np.unique(np.concatenate([edges, np.nextafter(edges, dtype(2)), np.nextafter(edges, dtype(-1))]).clip(0, 1))


def exact_rows(scores: np.ndarray, edges: list[float], closed: str) -> list[int]:
    """How many scores lie in each bin, by comparing Fractions."""
    exact, bounds = [Fraction(score) for score in scores.tolist()], [Fraction(edge) for edge in edges]
    counts = []
    for low, high in itertools.pairwise(bounds):
        if closed == "right":
            counts.append(sum(low < score <= high or score == low == 0 for score in exact))
        else:
            counts.append(sum(low <= score < high or score == high == 1 for score in exact))
    return counts


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("closed", ["right", "left"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bins", [1, 2, 3, 5, 6, 7, 10, 11, 15, 20, 30, 49, 100])
def test_scores_on_and_beside_every_edge(bins: int, dtype: Any, closed: Any, weighted: bool) -> None:
    edges = [k / bins for k in range(bins + 1)]
    scores = on_and_beside(np.array(edges), dtype)
    weights = {"counts": np.ones(len(scores), int)} if weighted else {}
    labels = np.arange(len(scores)) % 2
    expected = exact_rows(scores, edges, closed)
    for rule in (cal.EqualWidth(bins, closed=closed), cal.Edges(tuple(edges), closed=closed)):
        found = call(cal.calibration_curve, labels, scores, binning=rule, **weights)
        assert found.table.rows.tolist() == expected
    # The metrics that put whole rows into bins of one number cut it in the same places.
    columns = np.column_stack([1 - scores, scores]).astype(dtype)
    error = call(cal.gece, labels, columns, lens="binary", bins=bins, binning=cal.EqualWidth(closed=closed), **weights)
    assert error == pytest.approx(
        float(bin_definitions.ece(labels.tolist(), scores.tolist(), bins=bins, closed=closed)), abs=1e-12
    )


@pytest.mark.parametrize("closed", ["right", "left"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_on_and_beside_given_edges(dtype: Any, closed: Any) -> None:
    edges = [0, 0.1, 0.3, 1 / 3, 0.7, np.nextafter(0.7, 1), 0.99, 1]
    scores = on_and_beside(np.array(edges), dtype)
    found = cal.calibration_curve(np.zeros(len(scores), int), scores, binning=cal.Edges(tuple(edges), closed=closed))
    assert found.table.rows.tolist() == exact_rows(scores, edges, closed)


def every_row(classes: int, parts: int) -> list[list[float]]:
    """Every way to share `parts` equal parts between the classes."""
    shares = itertools.product(range(parts + 1), repeat=classes)
    return [[share / parts for share in row] for row in shares if sum(row) == parts]


LENSES = ["top_label", "rank:1", "rank:2", "within_top:1", "within_top:2", "classwise", "class:1", "ordinal:0"]


@pytest.mark.parametrize("lens", [*LENSES, "ordinal"])
@pytest.mark.parametrize(("classes", "parts"), [(2, 8), (3, 6), (4, 4)])
def test_every_tie_of_probabilities(classes: int, parts: int, lens: str) -> None:
    """One row and one label at a time, so that no other row can hide a wrong one."""
    rows = every_row(classes, parts)
    signed = () if lens == "classwise" else ("esce",)  # the signs of all classes cancel, which is refused
    for row, label in itertools.product(rows, range(classes)):
        for metric in ("ece", *signed):
            expected = float(getattr(bin_definitions, metric)([label], [row], lens=lens))
            assert getattr(cal, metric)([label], [row], lens=lens) == pytest.approx(expected, abs=1e-12), (row, label)
        expected = float(vector_definitions.uce([label], [row]))
        assert cal.uce([label], [row]) == pytest.approx(expected, abs=1e-12), (row, label)


@pytest.mark.parametrize("lens", [lens for lens in LENSES if lens != "classwise"])
@pytest.mark.parametrize("score", [0, 0.25, np.nextafter(0.5, 0), 0.5, np.nextafter(0.5, 1), 0.75, 1])
@pytest.mark.parametrize("label", [0, 1])
def test_ties_of_a_single_score(label: int, score: float, lens: str) -> None:
    """At one half the lower class is predicted, whether one column came or two."""
    expected = float(bin_definitions.esce([label], [float(score)], lens=lens))
    assert cal.esce([label], [score], lens=lens) == pytest.approx(expected, abs=1e-12)
    assert cal.esce([label], [[1 - score, score]], lens=lens) == pytest.approx(expected, abs=1e-12)


def test_sums_just_above_one_are_one() -> None:
    rows = [[0.6, 0.4 + 4e-7, 0.0], [0.3, 0.7 + 2.0**-50, 0.0]]
    assert cal.ece([0, 2], rows, lens="within_top:2", bins=3) == pytest.approx(0.5, abs=1e-12)
    assert cal.gece([0, 1], rows, lens=cal.class_groups({"first": [0, 1], "last": [2]})) == pytest.approx(0, abs=1e-12)
    expected = float(vector_definitions.gece([0, 2], rows, lens="top_k:2", distance="l1"))
    assert cal.gece([0, 2], rows, lens="top_k:2", distance="l1") == pytest.approx(expected, abs=1e-12)
