"""Weights, groups and features of rows, read together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .frames import column_names
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
    feature_names: tuple[str, ...] = ()
    """Names of the features that are columns of a frame."""
    present: Array | None = None
    """Mask of the rows of positive weight; None if that are all."""


def read_rows(values: Mapping[str, Any], n: int) -> RowData:
    """Return the weights, groups and features of `n` rows, checked; `values` are the arguments by name."""
    if all(values[name] is None for name in ("sample_weight", "counts", "groups", "features")):
        return RowData()
    weight, kind = read_weights(values["sample_weight"], values["counts"], n)
    present = None if weight is None or weight.all() else weight > 0
    names = tuple(map(str, column_names(values["features"]) or ()))
    features = read_features(values["features"], n)
    rows = RowData(weight, kind, features=features, feature_names=names, present=present)
    if values["groups"] is None:
        return rows
    from .grouping import note_unweighted, read_groupings

    codes, names, groupings = read_groupings(values["groups"], n, weight if kind == "counts" else None)
    if present is not None and codes is not None:
        groupings = note_unweighted(groupings, codes, present)
    return rows._replace(groups=codes, group_names=names, groupings=groupings)
