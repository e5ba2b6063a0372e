"""Binning rules: equal width, equal mass and given edges; each returns a BinTable, or the bin of each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    ArgumentError,
    InputWarning,
    LensError,
    UndefinedMetricError,
    WeightsNotSupportedError,
    warn_caller,
)
from ..util.arrays import Array, Floats
from ..util.blocks import map_blocks, rows_per_block
from ..util.checks import check_whole, is_number
from ..views.keywords import NamedKeywords
from ..views.view import Prefix, View
from .exact_sums import (
    MAX_FAST_BINS,
    BinSums,
    class_sums,
    slot_sums,
    slots_among,
    uniform_slots,
    uniform_sums,
)
from .table import BinTable, Closed

# The lower end of a range: one divided by the number of classes.
LEAST_CONFIDENCE = "1/K"
# Scores that exceed the outermost edges by less belong to the outermost bins.
ROUNDING = 1e-9
# The name of one bin per distinct score, as bins= and as binning=.
LEVELS = "levels"
# Ways to compute the edges of equal-width bins.
EDGES = ("exact", "linspace", "torch", "torch64", "quotient")
# Those with a bin for the score 1 alone.
WITH_ONE = EDGES[2:]


class BinningRule(Protocol):
    """A rule that divides scores into bins; a class of a user with these methods can be passed as ``binning=``."""

    def table(self, view: View) -> BinTable:
        """Divide the scores of a view into bins.

        Parameters
        ----------
        view : View
            Scores, outcomes and weights.

        Returns
        -------
        BinTable
            Counts and sums of each bin.
        """
        ...

    def cells(self, view: View) -> tuple[NDArray[np.intp], int]:
        """Return the bin of each row.

        Parameters
        ----------
        view : View
            Scores, outcomes and weights.

        Returns
        -------
        cells : numpy.ndarray of shape (N,)
            Index of the bin of each row.
        count : int
            Number of bins.
        """
        ...

    def with_bins(self, bins: int) -> BinningRule:
        """Return the rule with a number of bins, unless it has its own.

        Parameters
        ----------
        bins : int
            Number of bins.

        Returns
        -------
        BinningRule
            Rule with this number of bins, or the rule itself.
        """
        ...


@dataclass(frozen=True)
class Rule(NamedKeywords, BinningRule):
    """Base of calibrant's rules: small bins are merged with a neighbour."""

    has_fixed_edges: ClassVar[bool] = False
    """Whether the edges do not depend on the rows."""

    min_rows: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.min_rows is not None:
            check_whole(self.min_rows, "min_rows")

    def with_bins(self, bins: int) -> Self:
        own: Any = self
        return self if getattr(own, "bins", 0) is not None else replace(own, bins=bins)

    @property
    def is_fixed(self) -> bool:
        """Whether the bin of a row does not depend on other rows."""
        return self.has_fixed_edges and self.min_rows is None

    def table(self, view: View) -> BinTable:
        return self.merge(self._table(view))

    def cells(self, view: View) -> tuple[NDArray[np.intp], int]:
        cell, count = self._cells(view)
        if self.min_rows is None:
            return cell, count
        rows = np.bincount(cell, view.weight if view.weight_kind == "counts" else None, count)
        merged = _merged_bins(rows, self.min_rows)
        return merged[cell], int(merged[-1]) + 1

    def merge(self, table: BinTable) -> BinTable:
        """Return a table of these bins with those merged that have too few rows.

        Parameters
        ----------
        table : BinTable
            Sums over the bins before they are merged, of these rows or of a resample.

        Returns
        -------
        BinTable
            Table whose bins have at least `min_rows` rows, unless there are fewer in all.
        """
        if self.min_rows is None:
            return table
        merged = _merged_bins(table.size, self.min_rows)
        first = np.flatnonzero(np.diff(merged, prepend=-1))
        last = np.append(first[1:], len(merged)) - 1
        sums: dict[str, Any] = {name: np.add.reduceat(getattr(table, name), first) for name in BinTable.SUMS}
        return replace(table, left=table.left[first], right=table.right[last], **sums)

    def _table(self, view: View) -> BinTable:
        """Divide the scores into bins, of which none is merged."""
        raise NotImplementedError

    def _cells(self, view: View) -> tuple[NDArray[np.intp], int]:
        """Return the bin of each row, of which none is merged."""
        raise NotImplementedError


@dataclass(frozen=True)
class EdgeRule(Rule):
    """Base of rules whose bins lie between edges, which may depend on the rows."""

    def _cuts(self, view: View) -> Floats:
        """Return the edges for these rows."""
        raise NotImplementedError

    def _table(self, view: View) -> BinTable:
        edges = self._cuts(view)
        return _table_by_slots(view, edges, slots_among(edges, self._side), self._side)

    def _cells(self, view: View) -> tuple[NDArray[np.intp], int]:
        edges = self._cuts(view)
        return cells_by_slots(view.score, slots_among(edges, self._side)), len(edges) - 1

    @property
    def _side(self) -> Closed:
        side: Closed = getattr(self, "closed", "right")
        return side


def _merged_bins(rows: Array, least: int) -> NDArray[np.intp]:
    """Return the merged bin of each bin: from the left, a bin with fewer rows joins the next one, and the last joins the one before."""
    merged = np.zeros(len(rows), np.intp)
    number, inside = 0, 0.0
    for place, size in enumerate(rows.tolist()):
        merged[place] = number
        inside += size
        if inside >= least:
            number, inside = number + 1, 0.0
    return np.minimum(merged, max(0, number - 1))


@dataclass(frozen=True)
class EqualWidth(Rule):
    """Bins of equal width.

    Bins are closed on the right by default, and the smallest score belongs to the first bin.

    Parameters
    ----------
    bins : int, optional
        Number of bins; by default the number that the metric is called with.
    closed : {"right", "left"}, default "right"
        Which edge belongs to a bin.
    range : tuple of float or str, default (0.0, 1.0)
        Interval that is divided; all scores must lie inside. The lower end may be ``"1/K"``, the smallest possible confidence in
        the predicted one of K classes: ``range=("1/K", 1)`` is for the top-label lens, and is written ``"equal_width:1/K"`` as text.
    edges : {"exact", "linspace", "torch", "torch64", "quotient"}, default "exact"
        Arithmetic of the edges. ``"exact"`` is the number nearest to k/M. The others reproduce other packages on scores that lie on an
        edge: ``"linspace"`` is `numpy.linspace` (netcal, scikit-learn, calibstats). ``"torch"`` is ``torch.linspace`` and rounds the scores to
        float32, ``"torch64"`` is the same in float64 (torchmetrics). With ``"quotient"`` a score belongs to bin ``int(score / (1 / M))``
        (relplot). The last three require ``closed="left"``, and the score 1 has a bin of its own, as in these packages.
    min_rows : int, optional
        Bins with fewer rows are merged: from the left, such a bin joins the next one, and the last one joins the one before.

    See Also
    --------
    EqualMass : Bins of equal weight.
    Edges : Given edges.

    Notes
    -----
    Decimal scores such as 0.6 are often equal to an edge, and rounding then decides their bin: the edge 3/5 of ``np.linspace(0, 1, 6)`` is
    0.6000000000000001. torchmetrics bins in the type of the scores, but the confidences in one of several classes always in float32.

    Examples
    --------
    >>> import calibrant as cal
    >>> y_true, y_prob = [0, 1, 1, 1], [0.1, 0.5, 0.8, 0.9]
    >>> round(cal.ece(y_true, y_prob, binning=cal.EqualWidth(2)), 4)
    0.175
    >>> round(cal.ece(y_true, y_prob, binning=cal.EqualWidth(2, closed="left")), 4)
    0.225

    Confidences of three classes lie between 1/3 and 1:

    >>> y_true, y_prob = [0, 1, 2], [[0.4, 0.3, 0.3], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]]
    >>> cal.calibration_curve(y_true, y_prob, binning=cal.EqualWidth(2, range=("1/K", 1))).table.right.round(4)
    array([0.6667, 1.    ])

    The score 0.6 lies on an edge, which NumPy rounds upwards:

    >>> y_true, y_prob = [0, 1, 1, 1], [0.1, 0.6, 0.7, 0.9]
    >>> round(cal.ece(y_true, y_prob, binning=cal.EqualWidth(5, closed="left")), 4)
    0.225
    >>> cal.calibration_curve(y_true, y_prob, binning=cal.EqualWidth(5, closed="left", edges="linspace")).table.rows
    array([1, 0, 1, 1, 1])
    """

    has_fixed_edges = True

    bins: int | None = None
    closed: Closed = "right"
    range: tuple[float | Literal["1/K"], float] = (0.0, 1.0)
    edges: Literal["exact", "linspace", "torch", "torch64", "quotient"] = "exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_closed(self.closed)
        if self.edges not in EDGES:
            raise ArgumentError(
                "edges", f"must be {', '.join(map(repr, EDGES[:-1]))} or {EDGES[-1]!r}; got {self.edges!r}"
            )
        if self.edges in WITH_ONE and (self.closed != "left" or self.range != (0.0, 1.0)):
            name, value = ("closed", self.closed) if self.closed != "left" else ("range", self.range)
            needs = "closed='left'" if name == "closed" else "the range (0, 1)"
            raise ArgumentError(name, f"edges={self.edges!r} requires {needs}; got {value!r}", "use edges='linspace'")
        pair = isinstance(self.range, (tuple, list)) and len(self.range) == 2
        ends: tuple[Any, Any] = self.range if pair else (None, None)
        low, high = ends
        low = 0.0 if isinstance(low, str) and low == LEAST_CONFIDENCE else low
        if not (is_number(low) and is_number(high) and 0 <= low < high <= 1):
            raise ArgumentError(
                "range", f"must satisfy 0 <= low < high <= 1; got {self.range!r}", 'for example (0.5, 1) or ("1/K", 1)'
            )

    @property
    def is_usual(self) -> bool:
        """Whether bins are closed on the right, with the edges k/M on [0, 1]."""
        return (self.closed, self.range, self.edges) == ("right", (0.0, 1.0), "exact")

    def _edges(self, view: View) -> tuple[Floats, bool]:
        """Return the edges, and whether they are k/M on [0, 1]."""
        count = check_bins(self.bins)
        if self.edges in WITH_ONE:
            from .peer_edges import quotient_edges, torch_edges

            edges = quotient_edges(count) if self.edges == "quotient" else torch_edges(count, self.edges == "torch")
            # The last bin holds the score 1 only; its end is beyond every score.
            return np.append(edges, np.inf), False
        if self.range == (0.0, 1.0):
            if self.edges == "linspace":
                return np.linspace(0.0, 1.0, count + 1), False
            return np.arange(count + 1) / count, count <= MAX_FAST_BINS
        low, high = self._limits(view)
        if self.edges == "linspace":
            return np.linspace(low, high, count + 1), False
        edges = low + (high - low) * (np.arange(count + 1) / count)
        edges[-1] = high
        return edges, False

    def _limits(self, view: View) -> tuple[float, float]:
        """Return the range in numbers, and check that all scores lie inside."""
        low, high = self.range
        if not isinstance(low, str):
            _check_inside(view, low, high, f"the range ({low:g}, {high:g}) excludes", "widen the range")
            return low, high
        if not view.classes:
            raise LensError(
                "binning",
                "'1/K' requires probabilities of K classes and their confidence in the predicted one; here K is unknown, or other numbers are binned",
                "give the number, for example 'equal_width:0.25' for four classes",
            )
        low = 1 / view.classes
        if low >= high:
            raise ArgumentError(
                "binning",
                f"the range ({low:g}, {high:g}) for {view.classes} classes is empty",
                "use a larger upper end",
            )
        # The largest of K probabilities is at least 1/K, up to the accepted deviation of their sum from 1.
        least = 0.0 if view.lens in ("top_label", "rank:1", "within_top:1") else low
        excluding = f"the range ({low:g}, {high:g}) for {view.classes} classes excludes"
        _check_inside(view, least, high, excluding, "use lens='top_label'")
        return low, high

    def _table(self, view: View) -> BinTable:
        edges, uniform = self._edges(view)
        if not uniform or view.weight is not None or view.is_soft:
            return _table_by_slots(view, edges, self._slots(view, edges, uniform), self.closed)
        if view.column is None:
            sums = uniform_sums(view.raw_score, view.raw_outcome, edges, self.closed)
        else:
            classes, index = view.column
            key = (self.bins, self.closed)
            if key not in classes.found:
                classes.found[key] = class_sums(classes.probs, classes.labels, edges, self.closed)
            sums = BinSums(*(column[index] for column in classes.found[key]))
        return _exact_table(view, edges, sums, self.closed)

    def fill_tables(self, views: Sequence[View]) -> None:
        """Compute the tables of several views with counts in one pass, where the edges do not depend on the scores; each view keeps its own.

        Parameters
        ----------
        views : sequence of View
            Scores, outcomes and counts.
        """
        edges, uniform = self._edges(views[0])
        if uniform:
            score = np.concatenate([view.score for view in views])
            cell = cells_by_slots(score, self._slots(views[0], edges, uniform))
            tables = _tables_of_cells(views, edges, cell, self.closed)
            for view, table in zip(views, tables, strict=True):
                view.tables[self] = self.merge(table)

    def _slots(self, view: View, edges: Floats, uniform: bool) -> Callable[[Array], Array]:
        return (
            uniform_slots(edges, self.closed, view.raw_score.dtype == np.float32)
            if uniform
            else slots_among(edges, self.closed)
        )

    def _cells(self, view: View) -> tuple[NDArray[np.intp], int]:
        edges, uniform = self._edges(view)
        return cells_by_slots(view.score, self._slots(view, edges, uniform)), len(edges) - 1


@dataclass(frozen=True)
class Edges(EdgeRule):
    """Bins with given edges.

    Parameters
    ----------
    edges : sequence of float
        Strictly increasing edges between 0 and 1. If they do not begin at 0 or end at 1, all scores must lie between the first and
        the last one; otherwise an error states how many do not.
    closed : {"right", "left"}, default "right"
        Which edge belongs to a bin.
    min_rows : int, optional
        Bins with fewer rows are merged: from the left, such a bin joins the next one, and the last one joins the one before.

    See Also
    --------
    EqualWidth : Bins of equal width.

    Examples
    --------
    >>> import calibrant as cal
    >>> y_true, y_prob = [0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9]
    >>> round(cal.ece(y_true, y_prob, binning=cal.Edges((0, 0.5, 1))), 4)
    0.2
    """

    has_fixed_edges = True

    edges: tuple[float, ...]
    closed: Closed = "right"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_closed(self.closed)
        values = edge_values(self.edges)
        rising = values.ndim == 1 and len(values) >= 2 and bool((np.diff(values) > 0).all())
        if not (rising and values[0] >= 0 and values[-1] <= 1):
            raise ArgumentError(
                "bins",
                f"edges must increase strictly, from 0 or above to at most 1; got {values.ravel()[:12].tolist()}",
                "for example [0, 0.5, 0.9, 1]",
            )

    def _cuts(self, view: View) -> Floats:
        """Return the edges, and check that all scores lie between them."""
        edges = np.asarray(self.edges, dtype=np.float64)
        if (edges[0], edges[-1]) != (0.0, 1.0):
            excluding = f"edges from {edges[0]:g} to {edges[-1]:g} exclude"
            _check_inside(view, edges[0], edges[-1], excluding, "extend the edges to 0 and 1", "bins")
        return edges


@dataclass(frozen=True)
class EqualMass(Rule):
    """Bins of equal weight, at the quantiles of the scores.

    Tied scores stay in one bin by default, so that there may be fewer bins than requested.

    Parameters
    ----------
    bins : int, optional
        Number of bins; by default the number that the metric is called with.
    ties : {"together", "split"}, default "together"
        Whether tied scores stay together or are split in row order, as in some published code. Splitting requires unweighted
        rows, and the value then depends on their order.
    split : {"floor", "array_split"}, default "floor"
        Which bins are larger if the number of rows is not a multiple of the number of bins; ``"array_split"`` follows NumPy's
        function of that name, and implies that ties are split.
    min_rows : int, optional
        Bins with fewer rows are merged: from the left, such a bin joins the next one, and the last one joins the one before.

    See Also
    --------
    EqualWidth : Bins of equal width.
    EqualArea : Bins between equal width and equal mass.

    Examples
    --------
    >>> import calibrant as cal
    >>> y_true, y_prob = [0, 1, 1, 1], [0.6, 0.7, 0.8, 0.9]
    >>> cal.calibration_curve(y_true, y_prob, binning=cal.EqualMass(2)).rate.tolist()
    [0.5, 1.0]
    """

    bins: int | None = None
    ties: Literal["together", "split"] = "together"
    split: Literal["floor", "array_split"] = "floor"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ties not in ("together", "split"):
            raise ArgumentError("ties", f"must be 'together' or 'split'; got {self.ties!r}")
        if self.split not in ("floor", "array_split"):
            raise ArgumentError("split", f"must be 'floor' or 'array_split'; got {self.split!r}")

    @property
    def keeps_ties(self) -> bool:
        return self.ties == "together" and self.split == "floor"

    def _table(self, view: View) -> BinTable:
        if self.keeps_ties:
            return table_by_groups(view, equal_mass_cuts(view.prefix, check_bins(self.bins)))
        starts = self._split_starts(view)
        last = np.append(starts[1:], view.n) - 1
        edges = np.concatenate([[0.0], view.score[view.order][last[:-1]], [1.0]])
        return _tables_of_cells([view], edges, cells_by_starts(view, starts)[0], "right")[0]

    def _cells(self, view: View) -> tuple[NDArray[np.intp], int]:
        if not self.keeps_ties:
            return cells_by_starts(view, self._split_starts(view))
        count = check_bins(self.bins)
        if count > MOST_COMPARED or not view.n:
            return cells_by_starts(view, view.prefix.end[equal_mass_cuts(view.prefix, count)])
        # The highest score of each non-empty bin but the last.
        if view.weight is not None or view.needs_no_sort:
            highest = view.prefix.score[equal_mass_cuts(view.prefix, count)[1:] - 1]
        else:
            # A bin ends with the ties of the last row of its share, so that a few order statistics replace the sort.
            last = np.unique(-(-np.arange(1, count) * view.n // count)) - 1
            levels = np.unique(np.partition(view.score, last)[last])
            highest = levels[levels < view.score.max()]
        cell = np.zeros(view.n, np.uint8)
        for level in highest.tolist():
            cell += view.score > level
        return cell.astype(np.intp), len(highest) + 1

    def _split_starts(self, view: View) -> Array:
        """Return the first row of each non-empty bin in increasing order of the score, splitting ties."""
        count = check_bins(self.bins)
        if view.weight is not None and not (view.weight == 1).all():
            raise WeightsNotSupportedError(
                "binning", "splitting ties is not supported with weights", "use ties='together'"
            )
        if self.split == "array_split":
            size, larger = divmod(view.n, count)
            sizes = np.full(count, size) + (np.arange(count) < larger)
            return np.concatenate([[0], np.cumsum(sizes)])[:-1][sizes > 0]
        bin_of_row = np.arange(view.n) * count // view.n
        return np.flatnonzero(np.append(True, np.diff(bin_of_row) > 0))


@dataclass(frozen=True)
class Quantile(EdgeRule):
    """Bins between interpolated quantiles of the scores.

    The edges are the quantiles k/M of the scores, with linear interpolation between neighbouring scores. It is the rule of scikit-learn's
    ``calibration_curve(strategy="quantile")``, and is written ``binning="quantile"``. In contrast to `EqualMass` the sizes of the bins may
    differ by more than one row. Equal quantiles are one edge.

    Parameters
    ----------
    bins : int, optional
        Number of bins; by default the number that the metric is called with.
    closed : {"right", "left"}, default "right"
        Which edge belongs to a bin; scikit-learn's are closed on the right, those of netcal and calibstats on the left.
    edges : {"percentile", "quantile", "midway"}, default "percentile"
        Arithmetic of the ranks, which decides the bin of a score that is equal to an edge: `numpy.percentile` (scikit-learn) or `numpy.quantile`
        (netcal, calibstats). With ``"midway"`` the sorted scores are divided by `numpy.array_split`, and an edge lies midway between neighbouring
        parts (uncertainty-calibration).
    min_rows : int, optional
        Bins with fewer rows are merged: from the left, such a bin joins the next one, and the last one joins the one before.

    See Also
    --------
    EqualMass : Bins of equal weight, which hold the same number of rows up to one.
    EqualWidth : Bins of equal width.

    Notes
    -----
    With ``counts`` the quantiles are those of the repeated rows. Interpolated quantiles with ``sample_weight`` have several definitions
    that differ, so that an error is raised; use `EqualMass`. In a sketch the scores are those of its cells.

    Examples
    --------
    >>> import calibrant as cal
    >>> y_true, y_prob = [0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.5, 0.9]
    >>> cal.calibration_curve(y_true, y_prob, binning=cal.Quantile(2)).table.right.tolist()
    [0.4, 1.0]
    >>> round(cal.ece(y_true, y_prob, binning="quantile", bins=2), 4)
    0.18
    """

    bins: int | None = None
    closed: Closed = "right"
    edges: Literal["percentile", "quantile", "midway"] = "percentile"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_closed(self.closed)
        if self.edges not in ("percentile", "quantile", "midway"):
            raise ArgumentError("edges", f"must be 'percentile', 'quantile' or 'midway'; got {self.edges!r}")

    def _cuts(self, view: View) -> Floats:
        """Return the edges, which are infinite at both ends."""
        count = check_bins(self.bins)
        if not view.n:
            raise UndefinedMetricError("bins", "there are no rows")
        fraction = np.linspace(0.0, 1.0, count + 1)[1:-1]
        if self.edges == "percentile":
            fraction = fraction * 100 / 100  # not the same numbers
        weight = None if view.weight is None or (view.weight == view.weight[0]).all() else view.weight
        counted = view.weight_kind == "counts" and view.weight is not None
        if weight is not None and not counted:
            raise WeightsNotSupportedError(
                "binning", "interpolated quantiles are not defined with sample_weight", "use binning='equal_mass'"
            )
        if self.edges == "midway":
            # Midway between neighbouring parts of `numpy.array_split` of the sorted rows.
            rows = (view.prefix.weight if counted else view.prefix.end)[1:]
            size, larger = divmod(int(rows[-1]), count)
            first = np.cumsum(np.full(count, size) + (np.arange(count) < larger))[:-1]
            first = first[first < rows[-1]]
            low, high = (view.prefix.score[np.searchsorted(rows, rank, side="right")] for rank in (first - 1, first))
            inner = (low + high) / 2
        elif counted:
            inner = _counted_quantiles(view.prefix, fraction)
        else:
            inner = np.quantile(view.raw_score, fraction)
        inner = np.unique(inner.astype(np.float64))
        # Bins beyond the smallest and the largest score are empty.
        inside = inner < view.score.max() if self.closed == "right" else inner > view.score.min()
        return np.concatenate([[-np.inf], inner[inside], [np.inf]])


def _counted_quantiles(prefix: Prefix, fraction: Floats) -> Floats:
    """Return `numpy.quantile` of scores with counts, without repeating them."""
    total = float(prefix.weight[-1])
    place = (total - 1) * fraction
    below = np.floor(place)
    low, high = (
        prefix.score[np.searchsorted(prefix.weight[1:], np.minimum(rank, total - 1), side="right")]
        for rank in (below, below + 1)
    )
    share, width = place - below, high - low
    # The two forms of numpy.quantile, which is exact at both ends.
    return np.where(share < 0.5, low + width * share, high - width * (1 - share))


@dataclass(frozen=True)
class Levels(EdgeRule):
    """One bin per distinct score, for scores with few levels.

    Stated confidences ("90%"), grades and frequencies among a few samples have few distinct values. With a bin for each of them nothing
    is pooled, and edges between the levels are not a matter of choice. It is written ``bins="levels"``.

    Parameters
    ----------
    most : int, default 1000
        Largest number of distinct scores; more of them raise an error, because rates of single rows are not informative.
    min_rows : int, optional
        Bins with fewer rows are merged: from the left, such a bin joins the next one, and the last one joins the one before.

    See Also
    --------
    EqualMass : Bins of equal weight, for scores with many values.
    Edges : Given edges.

    Notes
    -----
    Scores belong to one level if they are exactly equal; round scores that differ by floating-point error. The error of a level with one row is
    mostly noise, which debiased metrics cannot remove; a warning is issued if most levels have one row. The edges of the table lie
    midway between neighbouring levels, so that other rows binned by it belong to the nearest level.

    A sketch keeps cells, not scores, so that each cell is a level. Their sums are exact, and an error is raised where a sum is not a multiple of the
    number of rows, as that of equal scores is; a cell of two or four different scores usually passes, so round scores before they are summarized.

    Examples
    --------
    >>> import calibrant as cal
    >>> y_true, stated = [0, 1, 1, 0, 1], [0.8, 0.8, 0.9, 0.9, 0.9]
    >>> round(cal.ece(y_true, stated, bins="levels"), 4)
    0.26
    >>> cal.calibration_curve(y_true, stated, binning=cal.Levels()).rate.round(4).tolist()
    [0.5, 0.6667]
    """

    most: int = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self.most, "most")

    def count(self, view: View) -> int:
        """Return the number of distinct scores.

        Parameters
        ----------
        view : View
            Scores, outcomes and weights.

        Returns
        -------
        int
            Number of levels.

        Raises
        ------
        ArgumentError
            If there are more than `most`, or different scores share a cell of a sketch.
        """
        levels = view.prefix.score
        if len(levels) > self.most:
            raise ArgumentError(
                "bins",
                f"'levels' is one bin per distinct score, and {len(levels):,} of {view.n:,} scores are distinct (at most {self.most:,})",
                "round the scores, give a number of bins, or use binning='equal_mass'",
            )
        if view.has_mixed_cells is not None and view.has_mixed_cells():
            raise ArgumentError(
                "bins",
                "'levels' requires the distinct scores, and different scores share a cell of this sketch",
                "give a number of bins, or evaluate the rows",
            )
        return len(levels)

    def _cuts(self, view: View) -> Floats:
        """Return edges midway between the distinct scores."""
        count = self.count(view)
        levels = view.prefix.score
        rows = view.row_count
        if count > SPARSE_LEVELS and rows < 2 * count:
            problem = f"'levels' has {count:,} bins for {rows:,.0f} rows, so that the rate of most bins is that of one row, and their variance is unknown"
            warn_caller(InputWarning("bins", problem, "round the scores, or give a number of bins"))
        middle = (levels[:-1] + levels[1:]) / 2
        # Between adjacent floating-point numbers the middle is rounded to one of them; bins are closed on the right.
        return np.concatenate([[0.0], np.where(middle < levels[1:], middle, levels[:-1]), [1.0]])


# From this number of levels on, a warning states that most have one row; fewer occur in small groups.
SPARSE_LEVELS = 20
# Scores with at most this many distinct values, and this many rows for each on average, have few levels.
FEW_LEVELS, ROWS_PER_LEVEL = 50, 5


def few_levels(score: Array, rows: float | None = None) -> Array | None:
    """Return the distinct scores in increasing order if there are few of them, with many rows each; None otherwise.

    `rows` is the number of rows that the scores represent, if they have counts.
    """
    # Continuous scores are recognised by a few rows.
    if len(np.unique(score[:1000])) > FEW_LEVELS:
        return None
    levels = np.unique(score)
    return levels if len(levels) <= min(FEW_LEVELS, (len(score) if rows is None else rows) / ROWS_PER_LEVEL) else None


def cells_by_starts(view: View, starts: Array) -> tuple[NDArray[np.intp], int]:
    """Return the bin of each row, given the first row of each bin in increasing order of the score."""
    cell = np.empty(view.n, np.intp)
    cell[view.order] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, view.n)))
    return cell, len(starts)


# Up to this many bins, comparing all rows with the highest score of each bin is faster than to sort the rows.
MOST_COMPARED = 30


def equal_mass_cuts(prefix: Prefix, count: int) -> Array:
    """Return the first tie group of each non-empty bin; a group belongs to bin floor(M C / W), with C the weight before it."""
    before, total = prefix.weight[:-1], prefix.weight[-1]
    number_of_bin = np.arange(1, count)
    if before.dtype.kind in "iu":
        least = -(-number_of_bin * int(total) // count)
    else:
        # Sums of scaled weights deviate from an integer by rounding; without the slack, scaling the weights would move edges.
        least = (number_of_bin - 1e-9 * max(1, count)) * (total / count)
    cuts = np.zeros(count, np.intp)
    cuts[1:] = before.searchsorted(least)
    full = cuts < len(before)
    full[1:] &= cuts[1:] != cuts[:-1]
    return cuts[full]


def check_bins(bins: Any, edges: bool = True) -> int:
    """Return a number of bins as an int, or raise; `edges` tells the message whether edges are accepted too."""
    if isinstance(bins, (bool, np.bool_)) or not isinstance(bins, (int, np.integer)):
        instead = ", or increasing edges" if edges else ""
        raise ArgumentError("bins", f"must be an integer of at least 1{instead}; got {bins!r}")
    if bins < 1:
        raise ArgumentError("bins", f"must be an integer of at least 1; got {bins}")
    if bins > 10_000_000:
        raise ArgumentError("bins", f"must be at most 10 000 000; got {bins}")
    return int(bins)


def edge_values(edges: Any) -> Floats:
    """Return edges as float64."""
    try:
        return np.asarray(edges, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError("bins", f"edges must be numbers; got {edges!r}", "for example [0, 0.5, 0.9, 1]") from None


def _check_closed(closed: str) -> None:
    if closed not in ("right", "left"):
        raise ArgumentError("closed", f"must be 'right' or 'left'; got {closed!r}")


def _check_inside(view: View, low: float, high: float, limits: str, remedy: Any, argument: str = "binning") -> None:
    """Raise if scores lie outside of a range by more than rounding errors, and state how many rows."""
    score = view.raw_score
    if not view.n or (score.min() >= low - ROUNDING and score.max() <= high + ROUNDING):
        return
    outside = (score < low - ROUNDING) | (score > high + ROUNDING)
    count, example = np.count_nonzero(outside), float(score[int(np.argmax(outside))])
    raise LensError(argument, f"{limits} {count:,} of {view.n:,} scores, such as {example:.6g}", remedy)


def _exact_table(view: View, edges: Floats, sums: BinSums, closed: Closed) -> BinTable:
    weight = sums.rows.astype(np.float64)
    return BinTable(
        edges[:-1],
        edges[1:],
        sums.rows,
        weight,
        sums.positives.astype(np.float64),
        sums.score_sum,
        sums.excess,
        weight,
        float(view.n),
        closed=closed,
    )


def cells_by_slots(score: Floats, slots: Callable[[Array], Array]) -> NDArray[np.intp]:
    """Return the bin of each score, given a function from scores to slots."""
    if not len(score):
        raise UndefinedMetricError("bins", "there are no rows")
    slot = np.concatenate(map_blocks(lambda a, b: slots(score[a:b]), len(score), rows_per_block(1)))
    return np.maximum(slot, 1) - 1


def _table_by_slots(view: View, edges: Floats, slots: Callable[[Array], Array], closed: Closed) -> BinTable:
    if edges[-1] > 1:  # edges of some rules are infinite
        edges = np.clip(edges, 0, 1)
    if view.weight is None and not view.is_soft:
        return _exact_table(view, edges, slot_sums(view.raw_score, view.raw_outcome, slots, len(edges) - 1), closed)
    return _tables_of_cells([view], edges, cells_by_slots(view.score, slots), closed)[0]


def _tables_of_cells(views: Sequence[View], edges: Floats, cell: Array, closed: Closed) -> list[BinTable]:
    """Build the tables of several views over the same bins, in one pass over the rows of all, of which `cell` is the bin."""
    score, outcome, w = (
        np.concatenate([getattr(view, name) for view in views]) for name in ("score", "outcome", "weights")
    )
    count = len(edges) - 1
    place = cell + np.repeat(np.arange(len(views)) * count, [view.n for view in views])

    def add(values: Floats | None) -> Array:
        return np.bincount(place, values, count * len(views)).reshape(-1, count)

    columns = (None, w, w * outcome, w * score, w * (score - outcome), w * w)
    rows, weight, positives, score_sum, excess, square = map(add, columns)
    return [
        BinTable(
            edges[:-1],
            edges[1:],
            rows[place],
            weight[place],
            positives[place],
            score_sum[place],
            excess[place],
            square[place],
            view.total,
            view.weight_kind,
            closed,
            view.is_soft,
        )
        for place, view in enumerate(views)
    ]


def table_by_groups(view: View, cuts: Array) -> BinTable:
    """Build the table of bins that are runs of tie groups, from prefix sums; a bin ends at its largest score."""
    prefix = view.prefix
    ends = np.concatenate([cuts[1:], [len(prefix.score)]])
    high = prefix.score[ends - 1]
    high[-1] = 1.0

    def add(sums: Array) -> Floats:
        return (sums[ends] - sums[cuts]).astype(np.float64)

    return BinTable(
        np.concatenate([[0.0], high[:-1]]),
        high,
        prefix.end[ends] - prefix.end[cuts],
        add(prefix.weight),
        add(prefix.outcome),
        add(prefix.total),
        add(prefix.excess),
        add(prefix.square),
        view.total,
        view.weight_kind,
        is_soft=view.is_soft,
    )
