"""What a report is computed from: the rows or, where these are many, the cells of a sketch."""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np

from ..input.grouping import groups_of
from ..input.predictions import Predictions
from ..sketches.collection import ALL, Sketches
from ..sketches.grid import EQUAL
from ..sketches.sketch import Sketch
from .recalibration import row_count

# Two classes with more rows are reported from a sketch, since the steps of a report need up to a kilobyte for each row.
MOST_ROWS = 1_000_000


class Summary(NamedTuple):
    """The rows of a report or, of a sketch, its cells with counts; `grouped` are `rows` themselves where there is no sketch with groups."""

    # All rows together, and divided by groups.
    rows: Predictions
    grouped: Predictions
    # Those whose cells these are, and a sentence for the reader; None and empty where there are none.
    sketches: Sketches | None
    sentence: str


def summarize(data: Predictions | Sketch | Sketches, *, whole: bool = True) -> Summary:
    """Return what a report is computed from.

    Rows without features, with hard labels of two classes and without weights other than counts, are summarized if they are many.

    Parameters
    ----------
    data : Predictions, Sketch or Sketches
        The predictions.
    whole : bool, default True
        Whether `rows` are the cells of all rows together; otherwise those of the groups, for metrics that use groups.

    Returns
    -------
    Summary
        The rows or cells.
    """
    if isinstance(data, Sketch):
        cells = data.predictions()
        return Summary(cells, cells, None, _sentence(data.n))
    if isinstance(data, Sketches):
        return _cells_of(data, data.n, whole)
    summed = data.labels is not None and data.weight_kind != "importance" and data.features is None
    if data.n <= MOST_ROWS or data.kind != "binary" or not summed:
        return Summary(data, data, None, "")
    # Groups are numbered in the sketches, because they may be the combinations of several groupings, and get their names back.
    numbered = copy.copy(data)
    numbered.views, numbered.group_names = {}, tuple(range(len(data.group_names)))
    found = _cells_of(Sketches.of(numbered), row_count(data), whole)
    if found.grouped.groups is not None:
        found.grouped.groups = np.array(found.grouped.group_names)[found.grouped.groups]
        found.grouped.group_names, found.grouped.groupings = data.group_names, data.groupings
    return found


def _cells_of(sketches: Sketches, n: int, whole: bool) -> Summary:
    """Return the cells of sketches of `n` rows: with their groups and, if `whole`, those of all rows together."""
    rows = grouped = sketches.predictions()
    if sketches.groups and whole:
        rows = sketches.group(ALL).predictions()
        rows.dropped, rows.label_name = grouped.dropped, grouped.label_name
    return Summary(rows, grouped, sketches, _sentence(n))


def parts_by_group(p: Predictions) -> list[tuple[str, Predictions]]:
    """Return the name and the rows of each group with more than one row."""
    groups = () if p.groups is None else groups_of(p)
    parts = [(str(grouping.labels[place]), p.take(rows)) for grouping, place, rows in groups]
    return [(name, part) for name, part in parts if row_count(part) > 1]


def _sentence(n: int) -> str:
    """Tell the reader that there is a sketch."""
    return (
        f"Computed from a sketch of {n:,} rows: scores are the means of its cells, which are at most 1/{EQUAL:,} wide."
    )
