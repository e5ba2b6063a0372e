"""Sketches of a window as rows come, get labels and are corrected: whole numbers added and taken away, so any order gives the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binning.exact_sums import CellSums
from ..errors import InputError
from ..sketches.grid import cell_sums
from ..sketches.sketch import Sketch
from ..views.view import View

__all__ = ["completed", "minus", "sketch_of", "top_view"]

Floats = NDArray[np.float64]


def sketch_of(score: Floats, outcome: NDArray[Any] | None, lens: str) -> Sketch:
    """The sketch of rows; without outcomes they count as 0, which nobody reads.

    >>> sketch_of(np.array([0.2, 0.9]), np.array([0, 1]), "binary").positives
    1
    """
    if not len(score):
        return Sketch.empty(lens)
    known = np.zeros(len(score), np.uint8) if outcome is None else outcome.astype(np.uint8)
    return Sketch.of_sums(cell_sums(np.ascontiguousarray(score), known), lens)


def minus(sketch: Sketch, other: Sketch) -> Sketch:
    """The sketch without the rows of the other, which it must hold.

    >>> both = sketch_of(np.array([0.2, 0.9]), np.array([0, 1]), "binary")
    >>> minus(both, sketch_of(np.array([0.9]), np.array([1]), "binary")).n
    1
    """
    if not np.isin(other._cells, sketch._cells).all():
        raise InputError("other", "holds rows that are not in the sketch")
    place = np.searchsorted(sketch._cells, other._cells)
    parts = [part.copy() for part in sketch._kept]
    for part, less in zip(parts, other._kept, strict=True):
        part[place] -= less
    rows, positives = parts[:2]
    if (rows < 0).any() or (positives < 0).any() or (positives > rows).any():
        raise InputError("other", "holds rows that are not in the sketch")
    left = rows > 0
    return Sketch(sketch._cells[left], CellSums.carried(*(part[left] for part in parts)), sketch.lens)


def completed(scores: Sketch, outcomes: Sketch) -> Sketch:
    """All rows, those without a label counted as negative."""
    place = np.searchsorted(scores._cells, outcomes._cells)
    positives = np.zeros(len(scores._cells), np.int64)
    positives[place] = outcomes._kept.positives
    kept = scores._kept
    return Sketch(scores._cells, kept._replace(positives=positives), scores.lens)


def top_view(sketch: Sketch) -> View | None:
    """Confidence in the predicted class, and whether it was right; None where the question is about one class of several."""
    view = sketch.view()
    if view.lens == "top_label":
        return view
    if view.lens != "binary":
        return None
    # A score of one half predicts the first class, and no cell reaches across it.
    yes = view.score > 0.5
    score = np.where(yes, view.score, 1 - view.score)
    outcome = np.where(yes, view.outcome, 1 - view.outcome).astype(np.uint8)
    return View(score, outcome, view.weight, "counts", lens="top_label")
