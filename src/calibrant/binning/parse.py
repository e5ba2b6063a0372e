"""Read ``bins=`` and ``binning=`` (a name, a rule, edges or a search) as one rule, which gives a BinTable or the bin of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, cast

import numpy as np

from ..errors import ArgumentError
from ..views.view import View
from .rules import (
    EDGES,
    LEAST_CONFIDENCE,
    LEVELS,
    WITH_ONE,
    BinningRule,
    Edges,
    EqualMass,
    EqualWidth,
    Levels,
    Quantile,
    check_bins,
    edge_values,
)
from .searches import SEARCHES, EqualArea, Searched, check_search, search_together
from .table import BinTable

Binning = Literal["equal_width", "equal_mass", "equal_area", "quantile", "levels"] | BinningRule | BinTable | str
Bins = int | Sequence[float] | Literal["sweep", "search", "search_pure", "cv", "tcal", "levels"]


class _DefaultNumber(int):
    """A default number of bins, which a rule with its own number overrides."""


class _DefaultName(str):
    """A default name of a binning, which edges override."""

    __slots__ = ()


def as_default(value: Any) -> Any:
    """Mark a default of ``bins=`` or ``binning=``, to distinguish it from the same value given explicitly."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _DefaultNumber(value)
    # A search is part of the definition of its metric and is never overridden.
    return _DefaultName(value) if isinstance(value, str) and value not in (*SEARCHES, LEVELS) else value


def is_default(value: Any) -> bool:
    """Whether this value of ``bins=`` or ``binning=`` is a default."""
    return isinstance(value, (_DefaultNumber, _DefaultName))


BINS: int = as_default(15)
EQUAL_WIDTH = cast(Literal["equal_width"], as_default("equal_width"))

NAMED: dict[str, type[EqualWidth] | type[EqualMass] | type[EqualArea] | type[Quantile]] = {
    "equal_width": EqualWidth,
    "equal_mass": EqualMass,
    "equal_area": EqualArea,
    "quantile": Quantile,
}
# Names in other packages.
OTHER_NAMES = {
    "uniform": "equal_width",
    "adaptive": "equal_mass",
    "equal-mass": "equal_mass",
}


def written_rule(binning: Any) -> Any:
    """Return the rule that a text such as ``"equal_width:1/K"``, ``"equal_width:0.5,1"`` or ``"equal_width:linspace,left"`` describes; other values as they are."""
    if not (isinstance(binning, str) and binning.startswith("equal_width:")):
        return binning
    items = [item.strip() for item in binning.removeprefix("equal_width:").split(",")]
    closed = [item for item in items if item in ("left", "right")]
    edges = [item for item in items if item in EDGES]
    limits = [item if item == LEAST_CONFIDENCE else _fraction(item) for item in items if item not in (*closed, *edges)]
    if len(limits) > 2 or None in limits or len(closed) > 1 or len(edges) > 1:
        raise ArgumentError(
            "binning",
            f"the range of bins of equal width must be LOW or LOW,HIGH; got {binning!r}",
            "for example 'equal_width:1/K', 'equal_width:0.5', 'equal_width:0.2,0.8' or, with the edges of NumPy, 'equal_width:linspace,left'",
        )
    low, high = limits if len(limits) == 2 else (limits[0] if limits else 0.0, 1.0)
    options: dict[str, Any] = {"edges": edges[0]} if edges else {}
    if closed or options.get("edges") in WITH_ONE:
        options["closed"] = closed[0] if closed else "left"
    try:
        return EqualWidth(range=cast(Any, (low, high)), **options)
    except ArgumentError as error:
        if error.argument != "range" or edges:
            raise ArgumentError("binning", error.problem, f"got {binning!r}") from None
        problem = f"the range of bins of equal width must satisfy 0 <= LOW < HIGH <= 1; got {binning!r}"
        raise ArgumentError("binning", problem, "for example 'equal_width:1/K' or 'equal_width:0.5'") from None


def _fraction(text: str) -> float | None:
    """Return a number or a fraction such as 1/3; None for other text."""
    above, slash, below = text.partition("/")
    try:
        return float(above) / float(below) if slash else float(above)
    except (ValueError, ZeroDivisionError):
        return None


def binning_rule(bins: Any = BINS, binning: Any = EQUAL_WIDTH) -> BinningRule:
    """Return the rule that ``bins=`` and ``binning=`` describe: a name with a number or a search, edges, or a rule.

    Functions call it once, where they receive the keywords, and pass on the rule.
    """
    is_plain_name = type(binning) in (str, _DefaultName) and binning in NAMED
    return _cached_rule(binning, bins) if is_plain_name and isinstance(bins, int) else _rule_of_keywords(bins, binning)


def rule_of(bins: Any, usual: Any = EQUAL_WIDTH) -> BinningRule:
    """Return the rule of functions that take a number, edges, a rule or fitted bins by one keyword; a number has bins of the `usual` rule."""
    if hasattr(bins, "table") or isinstance(bins, BinTable):
        return binning_rule(binning=bins)
    return binning_rule(bins, EQUAL_WIDTH if are_edges(bins) else usual)


def _rule_of_keywords(bins: Any, binning: Any) -> BinningRule:
    binning = written_rule(binning)
    if isinstance(bins, str) and bins == LEVELS:
        if is_default(binning) or (isinstance(binning, str) and binning == LEVELS) or isinstance(binning, Levels):
            return binning if isinstance(binning, Levels) else Levels()
        raise _own_bins_beside("one bin per level", binning)
    if isinstance(binning, str) and binning == LEVELS:
        binning = Levels()
    if are_edges(bins):
        if not is_default(binning):
            raise _own_bins_beside("edges", binning)
        return Edges(tuple(edge_values(bins).tolist()))
    rule = _unnumbered_rule(binning)
    if not isinstance(binning, str):
        refuse_two_numbers(rule, bins)
    if isinstance(bins, str):
        check_search(bins)
        return Searched(rule, bins) if takes_number(rule) else rule
    return rule if bins is None else rule.with_bins(check_bins(bins))


def _unnumbered_rule(binning: Any) -> BinningRule:
    """Return the rule, without a number of bins unless it has its own."""
    if isinstance(binning, str) and binning in NAMED:
        return NAMED[binning]()
    if isinstance(binning, BinTable):
        if len(binning) > 1 and binning.left[-1] == 1:
            problem = "a table in which the score 1 has a bin of its own cannot be used for other rows"
            raise ArgumentError("binning", problem, "pass the rule")
        return Edges(tuple(binning.edges.tolist()), binning.closed)
    if isinstance(binning, type):
        problem = f"expected an instance, got the class {binning.__name__}"
        raise ArgumentError("binning", problem, f"call it: {binning.__name__}()")
    if hasattr(binning, "table") and hasattr(binning, "with_bins"):
        rule: BinningRule = binning
        return rule
    if isinstance(getattr(binning, "table", None), BinTable):
        raise ArgumentError("binning", f"expected a rule, got {type(binning).__name__}", "pass its .table")
    raise unknown_binning(binning)


@dataclass(frozen=True)
class Averaged:
    """Several rules, over which the value of a metric is averaged."""

    rules: tuple[BinningRule, ...]

    def table(self, view: View) -> Any:
        raise ArgumentError("bins", f"must be one number or increasing edges here; got {len(self.rules)} numbers")

    cells = table


@dataclass(frozen=True)
class Pava:
    """Blocks of neighbours pooled by a metric itself, with its own bounds on their size."""


Blocks = BinningRule | Pava


def block_rule(bins: Any, binning: Any) -> Blocks:
    """Return the rule of these keywords, among which ``binning="pava"`` is one."""
    if not (isinstance(binning, str) and binning == "pava"):
        return binning_rule(bins, binning)
    if is_default(binning) and (are_edges(bins) or is_found_in_rows(bins)):
        return binning_rule(bins, EQUAL_WIDTH)  # edges and levels replace the default
    if not is_default(bins):
        problem = f"has no effect with 'pava', which determines its own blocks; got {bins!r}"
        raise ArgumentError("bins", problem, "pass binning as well")
    return Pava()


def unknown_binning(binning: Any) -> ArgumentError:
    """Return the error for a value of ``binning=`` that is neither the name of a rule nor a rule."""
    hint = OTHER_NAMES.get(binning) if isinstance(binning, str) else None
    problem = f"must be {', '.join(map(repr, (*NAMED, LEVELS)))} or a rule; got {binning!r}"
    return ArgumentError("binning", problem, f"use {hint!r}" if hint else "")


@lru_cache(maxsize=256, typed=True)
def _cached_rule(binning: str, bins: int) -> BinningRule:
    return NAMED[binning](check_bins(bins))


def is_found_in_rows(value: Any) -> bool:
    """Whether the number of bins follows from the rows: a search, or one bin per level."""
    return isinstance(value, Levels) or (isinstance(value, str) and value in (*SEARCHES, LEVELS))


def are_edges(bins: Any) -> bool:
    """Whether `bins` is a list of edges, not a number or the name of a search."""
    return not isinstance(bins, (int, np.integer, str)) and np.ndim(bins) == 1


def _own_bins_beside(source: str, binning: Any) -> ArgumentError:
    text = repr(binning) if isinstance(binning, str) else type(binning).__name__
    return ArgumentError(
        "bins", f"{source} cannot be combined with the binning {text}", "give a number of bins or drop binning"
    )


def takes_number(rule: Any) -> bool:
    """Whether the rule has no bins of its own, so that a number of bins changes it."""
    return hasattr(rule, "with_bins") and rule.with_bins(1) is not rule


def refuse_two_numbers(rule: Any, bins: Any) -> None:
    """Raise if ``bins=`` is given together with a rule that has its own bins, since one of the two would be ignored."""
    if bins is None or is_default(bins) or takes_number(rule):
        return
    problem = f"{bins!r} conflicts with a binning that has bins of its own ({type(rule).__name__})"
    raise ArgumentError("bins", problem, "drop one of them, or pass bins=None")


def several_bins(bins: Any) -> list[int] | None:
    """Return the numbers of bins to average over, from a list of numbers or of widths; None if `bins` is not such a list.

    A list that begins with 0 contains edges. Integers are numbers of bins; fractions up to 0.25 are widths (1/width bins, rounded).
    Lists with larger fractions are edges, which need not begin with 0.
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


def bin_table(view: View, rule: BinningRule) -> BinTable:
    """Return the bin table of a view, cached by rule."""
    try:
        table: BinTable | None = view.tables.get(rule)
    except TypeError:  # a rule of a user that is not hashable
        return rule.table(view)
    if table is None:
        table = view.tables[rule] = rule.table(view)
    return table


def fill_tables(views: Sequence[View], rule: Any) -> None:
    """Compute, in one pass over several views with counts, their tables of equal width or numbers of bins of equal mass, which each keeps."""
    if isinstance(rule, EqualWidth) and rule not in views[0].tables:
        rule.fill_tables(views)
    elif (
        isinstance(rule, Searched)
        and rule.how == "search"
        and isinstance(rule.rule, EqualMass)
        and rule.rule.keeps_ties
    ):
        paths = [(view.prefix.weight, view.prefix.outcome) for view in views]
        for view, count in zip(views, search_together(paths).tolist(), strict=True):
            if count:
                view.tables["number", rule] = count
