"""Ways to cut scores into bins: a name, a rule, edges or a search becomes a BinTable, or the bin of each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ._adaptive import EqualArea, choose_bins
from ._rules import BinningRule, Edges, EqualMass, EqualWidth, check_bins, edge_values
from .bintable import BinTable
from .errors import ArgumentError
from .view import View

__all__ = [
    "Binning",
    "Bins",
    "Edges",
    "EqualArea",
    "EqualMass",
    "EqualWidth",
    "bin_cells",
    "bin_table",
    "check_bins",
    "parse_binning",
    "several_bins",
]

Binning = Literal["equal_width", "equal_mass", "equal_area"] | BinningRule | BinTable
Bins = int | Sequence[float] | Literal["sweep", "search", "search_pure", "cv", "tcal"]

NAMED: dict[str, type[EqualWidth] | type[EqualMass] | type[EqualArea]] = {
    "equal_width": EqualWidth,
    "equal_mass": EqualMass,
    "equal_area": EqualArea,
}


def parse_binning(view: View, binning: Any, bins: Any) -> BinningRule:
    """The rule that `binning` and `bins` ask for: a name and a number or a search, given edges, or a rule as it is."""
    if not isinstance(bins, (int, np.integer, str)) and np.ndim(bins) == 1:
        if isinstance(binning, str) and binning != "equal_width":
            raise ArgumentError(
                "bins", f"edges were given beside binning={binning!r}", "pass a number of bins, or drop binning"
            )
        return Edges(tuple(edge_values(bins).tolist()))
    if isinstance(binning, str):
        if binning not in NAMED:
            hint = {
                "uniform": "equal_width",
                "quantile": "equal_mass",
                "adaptive": "equal_mass",
                "equal-mass": "equal_mass",
            }.get(binning)
            raise ArgumentError(
                "binning",
                f"must be {', '.join(map(repr, NAMED))} or a rule; got {binning!r}",
                f"use {hint!r}" if hint else "",
            )
        if not isinstance(bins, str):
            return NAMED[binning](check_bins(bins))
        rule: BinningRule = NAMED[binning]()
    elif isinstance(binning, BinTable):
        return Edges(tuple(binning.edges.tolist()), binning.closed)
    elif isinstance(binning, type):
        raise ArgumentError("binning", f"is the class {binning.__name__}", f"call it: {binning.__name__}()")
    elif hasattr(binning, "table") and hasattr(binning, "with_bins"):
        rule = binning
    elif isinstance(getattr(binning, "table", None), BinTable):
        raise ArgumentError(
            "binning", f"is a {type(binning).__name__}, which has its bins in a table", "pass its .table"
        )
    else:
        raise ArgumentError("binning", f"must be {', '.join(map(repr, NAMED))} or a rule; got {binning!r}")
    if isinstance(bins, str):
        if (rule, bins) not in view.tables:
            view.tables[rule, bins] = choose_bins(view, rule, bins)
        bins = view.tables[rule, bins]
    return rule.with_bins(check_bins(bins))


def several_bins(bins: Any) -> list[int] | None:
    """Numbers of bins to average over, from a list of numbers or of widths; None where `bins` is no such list.

    A list that runs from 0 to 1 is edges. Whole numbers are numbers of bins, fractions up to a quarter are widths (1/width
    bins, rounded); larger ones are more likely edges that lack their ends, and are left to be refused.
    """
    if isinstance(bins, (int, np.integer, str)) or np.ndim(bins) != 1 or len(bins) == 0:
        return None
    values = edge_values(bins)
    if values[0] == 0 or not (np.isfinite(values).all() and (values > 0).all()):
        return None
    if (values == np.floor(values)).all():
        return [int(value) for value in values]
    if (values <= 0.25).all():
        return [max(1, round(1 / value)) for value in values.tolist()]
    return None


def bin_table(view: View, binning: Binning = "equal_width", bins: Bins = 15) -> BinTable:
    """Cut the scores of `view` into bins."""
    rule = parse_binning(view, binning, bins)
    try:
        known: BinTable | None = view.tables.get(rule)
    except TypeError:  # a user's rule that cannot be hashed
        return rule.table(view)
    if known is None:
        known = view.tables[rule] = rule.table(view)
    return known


def bin_cells(view: View, binning: Binning = "equal_width", bins: Bins = 15) -> tuple[NDArray[np.intp], int]:
    """The bin of each row of `view`, and how many bins there are."""
    return parse_binning(view, binning, bins).cells(view)
