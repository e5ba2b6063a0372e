"""The choice of a sampler: distinct scores, cells of nearly equal score, single rows, or whole rows.

Cells that are too wide give wrong results silently: bins of equal mass cannot be cut within a cell, nor neighbours found. Unless a metric
depends on the sums over cells only, a few pilot samples are therefore evaluated both row by row and in cells, and only cells that agree are
used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..binning.rules import BinningRule, Edges, EqualWidth, Levels, edge_values, equal_mass_cuts
from ..errors import ArgumentError
from ..input.predictions import Predictions
from ..util.arrays import Array, Floats
from ..views.lenses import AnyView, has_one_event
from ..views.view import VectorView, View
from .cells import (
    FINE_CELLS,
    ROW_BYTES,
    CellSampler,
    DistinctSampler,
    Drawn,
    Draws,
    Plan,
    cells_of,
    first_cells,
    has_few_scores,
    one_view,
    shared,
    whole,
)
from .resampling import OPTIONS_OF_ROWS, PredictionSampler, RowSampler, Sampler, views_of_metric
from .simultaneous import resampled_values

Generator = np.random.Generator

# Number of pilot samples: a few first, more if these are inconclusive.
PILOTS, MOST_PILOTS = 3, 10
# Number of rows on which the dependence on sums alone is checked.
ENOUGH = 20_000
# Beyond this many rows a pilot sample takes longer than finer cells.
MANY = 1_000_000
# Tolerated bias and noise due to cells, in sampling standard deviations; differences below SAME are rounding errors.
SHIFT, NOISE, SAME = 0.075, 0.2, 1e-9
# Largest number of cells.
MOST_CELLS = 9600
# Seed of the pilot samples: fixed, so that the choice of cells does not depend on the seed of the user.
PILOT_SEED = 20_000_003


def choose_sampler(
    metrics: list[Plan], source: Predictions | AnyView, exact: bool, draws: Draws = "outcomes"
) -> Sampler:
    """Distinct scores where these are few, cells if they are accurate for all metrics, else the rows of one view, or whole rows.

    `draws` states what will be resampled. The choice is the same for an interval and for a judgement of its cost; see `sharing`.
    """
    chosen = tuple((metric, tuple(sorted(keywords.items()))) for metric, keywords in metrics)
    key = "sampler", chosen, source, exact, draws
    return shared(key, lambda: _choose_sampler(metrics, source, exact, draws))


def _choose_sampler(metrics: list[Plan], source: Predictions | AnyView, exact: bool, draws: Draws) -> Sampler:
    if isinstance(source, VectorView):
        raise ArgumentError("y_true", "a view of whole vectors cannot be resampled", "pass Predictions")
    views = [views_of_metric(metric, source, keywords) for metric, keywords in metrics]
    first = views[0][0]
    one = all(has_one_event(v) and v[0] is first for v in views) and isinstance(first, View)
    scores = all(m.takes == "View" and not m.needs and not m.info.order_dependent for m, _ in metrics)
    if not (one and scores and isinstance(first, View)):
        if isinstance(source, View):
            if not has_one_event([source]):
                raise ArgumentError("y_true", "a view of flattened classes cannot be resampled", "pass Predictions")
            return _rows_of(source)
        # Where their order matters, or an option has one value for each of them, the rows stay in the order in which they came.
        given = [keywords.get(name) for _, keywords in metrics for name in OPTIONS_OF_ROWS]
        stays = any(m.info.order_dependent for m, _ in metrics) or any(each is not None for each in given)
        make = PredictionSampler if stays else PredictionSampler.by_content
        return shared(("predictions", source, make), lambda: make(source))
    rows = _rows_of(first)
    may_count = all(m.counts for m, _ in metrics) and not first.is_soft and first.weight_kind != "importance"
    if exact or not may_count:
        return rows
    most, in_cells = first_cells(metrics), all(m.sketch for m, _ in metrics)
    if any(isinstance(metric.arguments(keywords).get("rule"), Levels) for metric, keywords in metrics):
        return DistinctSampler(first)  # cells would merge levels
    # Where there are more distinct scores than cells, cells are faster.
    if draws != "rows" and has_few_scores(first) and not (in_cells and len(first.prefix.score) > most):
        return shared(("distinct", first), lambda: DistinctSampler(first))
    if not in_cells or first.n <= 2 * most:
        return rows
    return accurate_cells(rows, metrics, draws) or rows


def _rows_of(view: View) -> RowSampler:
    return shared(("rows", view), lambda: RowSampler.by_content(view))


def grids(view: View, plans: list[Plan]) -> Iterator[BinningRule]:
    """Divisions of the scores into cells, from coarse to fine; all refine the requested bins of equal width."""
    first = first_cells(plans)
    numbers, given = _asked_bins(plans)
    step = math.lcm(*numbers) if math.lcm(*numbers) <= first else 1
    width = step * -(-first // step)
    edges = np.union1d(np.arange(width + 1) / width, given)
    yield Edges(tuple(edges.tolist())) if len(given) else EqualWidth(width)
    for least in sorted({first, FINE_CELLS, MOST_CELLS}):
        # Scores may be concentrated: further cells are cut by rank as well.
        cuts = equal_mass_cuts(view.prefix, step * -(-least // step))
        ends = view.prefix.score[cuts[1:] - 1]
        yield Edges(tuple(np.union1d(edges, ends[(ends > 0) & (ends < 1)]).tolist()))


def _asked_bins(plans: list[Plan]) -> tuple[list[int], Floats]:
    """The requested numbers of bins and edges."""
    numbers, edges = [1], np.zeros(0)
    for metric, options in plans:
        for arguments in metric.averaged(metric.arguments(options)):
            rule = arguments.get("rule", arguments.get("bins"))
            bins = rule.edges if isinstance(rule, Edges) else getattr(rule, "bins", rule)
            if isinstance(bins, (int, np.integer)):
                numbers.append(max(1, int(bins)))
            elif isinstance(bins, (Sequence, np.ndarray)):
                edges = np.union1d(edges, edge_values(bins))
    return numbers, edges


def accurate_cells(rows: RowSampler, plans: list[Plan], draws: Draws) -> CellSampler | None:
    """The coarsest cells in which all metrics agree with their values on rows; None if there are none.

    `draws` states what is resampled.
    """
    view = rows.view
    rules = grids(view, plans)
    rule = next(rules)
    first = cells_of(view, rule)
    if (draws == "outcomes" or _are_narrow(first)) and _are_sufficient(rule, view, plans):
        return first
    trial = Trial(plans, rows, draws)
    finer = (cells for cells in (cells_of(view, rule) for rule in rules) if 2 * cells.count < view.n)
    if view.n > MANY:  # few pilots: the coarsest accepted cells, else the finest undecided ones
        tried = [first, *finer]
        sure, grey = trial.sort_out(tried, PILOTS)
        found = [*sure, *reversed(grey)] or trial.sort_out(tried[-1:], MOST_PILOTS)[0]
        return next(iter(found), None)
    sure, grey = trial.sort_out([first], PILOTS)
    if sure:
        return first
    sure, more = trial.sort_out(list(finer), PILOTS)
    # Coarser cells justify more pilot samples.
    grey = [cells for cells in [*grey, *more] if not sure or cells.count < sure[0].count]
    good, _ = trial.sort_out(grey, MOST_PILOTS)
    return min([*good, *sure], key=lambda cells: cells.count, default=None)


class CountedRows(CellSampler):
    """Resamples of rows, counted in cells."""

    def __init__(self, cells: CellSampler, rows: RowSampler) -> None:
        vars(self).update(vars(cells))
        cell, _ = cells.rule.cells(rows.view)
        self.sampler, self.order = rows, np.argsort(cell, kind="stable")
        self.starts = np.flatnonzero(np.diff(cell[self.order], prepend=-1))

    def sums(self, rngs: Iterable[Generator], draws: Draws) -> tuple[Array, Array]:
        """Number of rows and of events in each cell, as in `CellSampler`."""
        rows, positives = (
            np.add.reduceat(part[:, self.order], self.starts, axis=1) for part in self.sampler.sums(rngs, draws)
        )
        return whole(rows), whole(positives)


class Trial(NamedTuple):
    """Pilot samples in which metrics are evaluated row by row and in cells."""

    plans: list[Plan]
    rows: RowSampler
    draws: Draws

    def sort_out(self, tried: list[CellSampler], pilots: int) -> tuple[list[CellSampler], list[CellSampler]]:
        """The cells that change the metrics little, and those that require more pilot samples."""
        sure: list[CellSampler] = []
        grey: list[CellSampler] = []
        rows = self.values(self.rows, pilots) if tried else np.zeros(0)
        for cells in tried:
            shift, noise = changes(rows, self.values(CountedRows(cells, self.rows), pilots))
            # Errors truncated at 0 are often 0, which is not informative.
            telling = (np.count_nonzero(rows, axis=0) >= PILOTS).all()
            if (noise <= SHIFT / 2).all() and telling:
                sure.append(cells)
            elif (noise <= NOISE).all() and (pilots < MOST_PILOTS or (shift <= SHIFT).all()):
                (grey if pilots < MOST_PILOTS else sure).append(cells)
        return sure, grey

    def values(self, sampler: RowSampler | CellSampler, pilots: int) -> Floats:
        """Values of each metric on pilot samples, one row for each."""
        return resampled_values(self.plans, sampler, self.draws, pilots, PILOT_SEED)


def _are_sufficient(rule: BinningRule, view: View, plans: list[Plan]) -> bool:
    """Whether the metrics depend on sums over cells only, as for bins that are unions of cells.

    This is checked on a subsample of the rows and, since these may leave most cells empty or with one row, on uniform scores.
    """
    size = 4 * ROW_BYTES * min(view.n, ENOUGH)
    for rows, cells in shared(("sufficient", view, rule), lambda: _trial_rows(rule, view), size):
        for plan in plans:
            value = one_view(rows).value(*plan)
            if not (value != 0 and abs(cells.value(*plan) - value) <= SAME * abs(value)):
                return False
    return True


def _trial_rows(rule: BinningRule, view: View) -> list[tuple[View, Drawn]]:
    rng = np.random.default_rng(0)
    at = rng.integers(view.n, size=min(view.n, ENOUGH))
    weight = None if view.weight is None else view.weight[at]
    found = []
    for score in (view.raw_score[at], rng.random(len(at))):
        # Random outcomes, because residuals of equal sign add up to the same value in any bins.
        outcome = (rng.random(len(at)) < score).view(np.uint8)
        rows = View(score, outcome, weight, view.weight_kind, lens=view.lens, classes=view.classes)
        found.append((rows, CellSampler(rows, rule).whole()))
    return found


def _are_narrow(cells: CellSampler) -> bool:
    """Whether resampled scores vary far less within cells than outcomes do."""
    outcomes = float(np.sum(cells.positives * (1 - cells.positives / cells.rows)))
    return float(cells.rows @ cells.width**2) / 4 <= (SHIFT / 2) ** 2 * outcomes


def changes(rows: Floats, cells: Floats) -> tuple[Floats, Floats]:
    """Bias and root mean square difference due to cells, in sampling standard deviations of each metric; one line per sample."""
    known = np.isfinite(rows)
    apart = np.diff(np.sort(rows, axis=0), axis=0) > SAME * np.abs(rows).max(axis=0, initial=0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.where((rows == cells) | np.isnan(rows) & np.isnan(cells), 0.0, cells - rows)
        off = np.where(np.isnan(off), np.inf, off)
        off[np.abs(off) <= SAME * np.abs(np.where(known, rows, 0.0))] = 0.0
        count = known.sum(axis=0)
        mean = np.where(known, rows, 0.0).sum(axis=0) / count
        spread = np.nan_to_num(np.sqrt(np.where(known, (rows - mean) ** 2, 0.0).sum(axis=0) / count))
        shift = np.nan_to_num(np.abs(off.mean(axis=0)) / spread, nan=0.0, posinf=np.inf)
        noise = np.nan_to_num(np.sqrt(np.mean(off**2, axis=0)) / spread, nan=0.0, posinf=np.inf)
    # For tied values any change affects their order.
    return shift, np.where(known.all(axis=0) & ~apart.all(axis=0) & (off != 0).all(axis=0), np.inf, noise)
