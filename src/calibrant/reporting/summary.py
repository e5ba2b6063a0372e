"""What a report is computed from: the rows or, where these are many, the cells of a sketch."""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np

from ..input.predictions import Predictions
from ..sketches.collection import ALL, Sketches
from ..sketches.grid import EQUAL
from ..sketches.sketch import Sketch
from .recalibration import row_count

# Two classes with more rows are reported from a sketch, since the steps of a report need up to a kilobyte for each row.
MOST_ROWS = 1_000_000


class Summary(NamedTuple):
    """The rows of a report or, of a sketch, its cells with counts.

    ``grouped`` is the same divided by groups: cells of each group, which are many more; ``rows`` itself where they are not from a sketch.
    ``sketches`` are those whose cells these are, and ``sentence`` tells the reader that there is a sketch.
    """

    rows: Predictions
    grouped: Predictions
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
    if isinstance(data, Predictions):
        plain = data.labels is not None and data.weight_kind != "importance" and data.features is None
        if data.n <= MOST_ROWS or data.kind != "binary" or not plain:
            return Summary(data, data, None, "")
        numbered = copy.copy(data)
        numbered.views, numbered.group_names = {}, tuple(range(len(data.group_names)))
        sketches, n = Sketches.of(numbered), row_count(data)
    elif isinstance(data, Sketches):
        sketches, n = data, data.n
    else:
        return Summary(data.predictions(), data.predictions(), None, _sentence(data.n))
    rows = grouped = sketches.predictions()
    if sketches.groups and whole:
        rows = sketches.group(ALL).predictions()
        rows.dropped, rows.label_name = grouped.dropped, grouped.label_name
    if isinstance(data, Predictions) and grouped.groups is not None:
        # They are numbered, and may be the combinations of several groupings.
        grouped.groups = np.array(grouped.group_names)[grouped.groups]
        grouped.group_names, grouped.groupings = data.group_names, data.groupings
    return Summary(rows, grouped, sketches, _sentence(n))


def _sentence(n: int) -> str:
    return (
        f"Computed from a sketch of {n:,} rows: scores are the means of its cells, which are at most 1/{EQUAL:,} wide."
    )
