"""Weights, groups and features of rows, read together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .weights import Array, WeightKind, read_features, read_weights

if TYPE_CHECKING:
    from .grouping import Grouping


class RowData(NamedTuple):
    """Weights, groups and features of the rows."""

    weight: Array | None = None
    weight_kind: WeightKind = "unit"
    groups: Array | None = None
    group_names: tuple[Any, ...] = ()
    groupings: tuple[Grouping, ...] = ()
    """What the groups are combinations of: one grouping for each column, set of quantiles or expression."""
    features: Array | None = None
    present: Array | None = None
    """Mask of the rows of positive weight; None if that are all."""


def read_rows(values: Mapping[str, Any], n: int) -> RowData:
    """Return the weights, groups and features of `n` rows, checked; `values` are the arguments by name."""
    sample_weight, counts, groups, features = (
        values["sample_weight"],
        values["counts"],
        values["groups"],
        values["features"],
    )
    if sample_weight is None and counts is None and groups is None and features is None:
        return RowData()
    weight, kind = read_weights(sample_weight, counts, n)
    present = None if weight is None or weight.all() else weight > 0
    codes: Array | None = None
    names: tuple[Any, ...] = ()
    groupings: tuple[Grouping, ...] = ()
    if groups is not None:
        from .grouping import note_unweighted, read_groupings

        codes, names, groupings = read_groupings(groups, n, weight if kind == "counts" else None)
        if present is not None and codes is not None:
            groupings = note_unweighted(groupings, codes, present)
    return RowData(weight, kind, codes, names, groupings, read_features(features, n), present)
