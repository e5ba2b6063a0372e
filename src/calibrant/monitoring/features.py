"""Features of the rows of a monitor, and the subgroups of a window in which predictions and outcomes disagree."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ColumnError, InputError, ShapeError
from ..input.features import read_features
from ..input.predictions import Predictions
from ..util.results import number, pvalue_clause, several
from .queries import Transaction
from .settings import Settings

if TYPE_CHECKING:
    from ..evaluation.subgroups import Subgroups


def features_as_text(features: Any, names: Sequence[str], ids: Sequence[str] | None, n: int) -> list[str] | None:
    """Return the features of each row as JSON, in the order of their names; None for a monitor without features.

    >>> features_as_text({"plan": ["pro", None], "age": [31, 47.5]}, ["age", "plan"], ["a", "b"], 2)
    ['[31.0, "pro"]', '[47.5, null]']
    """
    if not names:
        if features is not None:
            raise InputError("features", "are not stored by this monitor", "name them when it is created")
        return None
    if ids is None:
        raise InputError("ids", "are required by a monitor that stores features", "give the id of each row")
    columns = {}
    for column in read_features(features, n):
        values = column.values if column.values.dtype.kind in "biuf" else column.values.astype(str)
        pairs = zip(values.tolist(), column.missing.tolist(), strict=True)
        columns[column.name] = [None if is_missing else value for value, is_missing in pairs]
    missing = [name for name in names if name not in columns]
    if missing:
        raise ColumnError("features", f"have no column {missing[0]!r}", f"give {', '.join(names)}")
    return [json.dumps(row) for row in zip(*(columns[name] for name in names), strict=True)]


def window_subgroups(db: Transaction, settings: Settings, place: int) -> Subgroups:
    """Find the subgroups of the labelled rows of a window, by their features; see `Monitor.subgroups`."""
    from ..evaluation.subgroups import find_subgroups  # an update needs none of what it imports

    rows = db.labelled_features(place)
    if not rows:
        raise ShapeError("window", f"{settings.rule.name(place)} has no labelled rows with features")
    score, target, label, texts = zip(*rows, strict=True)
    outcome = np.array(target) == np.array(label)
    columns = dict(zip(settings.features, map(list, zip(*map(json.loads, texts), strict=True)), strict=True))
    return find_subgroups(
        Predictions.derived(outcome.astype(np.int64), np.array(score)), features=columns, alpha=settings.alpha
    )


def subgroup_notes(window: str, subgroups: Subgroups) -> tuple[str, ...]:
    """Return a sentence for each subgroup of a window."""
    return tuple(
        f"Window {window}, {each.name}: mean predicted {number(each.mean_score)}, observed rate {number(each.rate)} "
        f"({pvalue_clause(each.pvalue)}, {several(each.rows, 'row')})."
        for each in subgroups
    )
