"""Sides of a page: all rows and groups, before and after, models or periods, drawn over each other and switched on and off."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..binning.rules import EqualMass
from ..views.view import View
from .content import DiagramBin
from .interactive import CELLS, CellSums, Series, named_left_out, shown

if TYPE_CHECKING:
    from .building import Report

FEW = 6
"""Up to this many sides are drawn at the start; of more, some of them."""

# Five cells become one where the page would be too large: 60 has all the usual numbers of bins among its divisors.
COARSER = 5
COLOURS, DASHES = 8, ("1 0", "7 3", "2 2.5", "8 3 2 3")
SHAPES = ("circle", "square", "triangle-up", "diamond")
BINS = 15


class Look(NamedTuple):
    """How a side is drawn: the number of its colour, its dashes and its symbol."""

    colour: int
    dash: str
    shape: str


@dataclass(frozen=True)
class PageSide:
    """One side of a page: its series by lens, the bins of its static picture, and its mean difference."""

    name: str
    series: tuple[Series, ...] = ()
    bins: tuple[DiagramBin, ...] = ()
    place: int = 0
    on: bool = True
    whole: bool = True
    """Whether it has a series for each lens; groups have only the first."""

    @property
    def look(self) -> Look:
        """How it is drawn: neighbours differ in colour, dashes and symbol."""
        turn = self.place + self.place // COLOURS
        return Look(self.place % COLOURS, DASHES[turn % len(DASHES)], SHAPES[turn % len(SHAPES)])

    @property
    def means(self) -> tuple[float, float] | None:
        """Mean score and rate; None without rows."""
        full = [(b.weight, b.mean_score, b.rate) for b in self.bins if b.mean_score is not None and b.rate is not None]
        total = sum(n for n, _, _ in full)
        return None if not total else (sum(n * m for n, m, _ in full) / total, sum(n * r for n, _, r in full) / total)

    @property
    def gap(self) -> float:
        """Mean score minus rate."""
        return self.means[0] - self.means[1] if self.means else 0.0


@dataclass(frozen=True)
class Overlay:
    """The sides of a page, and what the reader can select."""

    sides: tuple[PageSide, ...]
    focus: int
    """Number of the side whose numbers are shown first."""
    what: str
    """What a side is: rows, model, period or scores."""
    cells: int = CELLS
    left_out: tuple[str, ...] = ()

    @property
    def many(self) -> bool:
        """Whether there are too many sides to draw all at once."""
        return len(self.sides) > FEW

    @property
    def lenses(self) -> tuple[Series, ...]:
        """The lenses that can be selected."""
        return self.sides[self.focus].series

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers for the script of the page."""
        return {
            "cells": self.cells,
            "stops": [count for count in range(1, self.cells + 1) if self.cells % count == 0],
            "focus": self.focus,
            "lenses": [{"name": shown(series.name), "lens": series.lens} for series in self.lenses],
            "sides": [
                {
                    "name": shown(side.name),
                    "on": side.on,
                    **side.look._asdict(),
                    "series": [
                        {k: v for k, v in s.to_dict().items() if k not in ("name", "lens")} for s in side.series
                    ],
                }
                for side in self.sides
            ],
        }


def report_sides(report: Report) -> Overlay:
    """Return the sides of a report: all rows and the groups or, after recalibration, before, after and the groups."""
    cells, changed = report.cells, report.before_after
    groups = () if cells is None else cells.groups
    all_rows = PageSide("All rows", () if cells is None else cells.lenses, report.diagram.bins)
    sides = [all_rows]
    if changed is not None and changed.diagram is not None:
        before = () if changed.cells is None else changed.cells.lenses
        sides = [PageSide("Before", before, changed.diagram.bins), replace(all_rows, name="After")]
    found = [PageSide(g.name, (g,), _bins_of(g.cells, report.diagram.binning), whole=False) for g in groups]
    left_out = () if cells is None else cells.left_out
    return overlay([*sides, *found], "Rows", len(sides) - 1, left_out, always=len(sides))


def compared_sides(reports: Sequence[Report], what: str, focus: int) -> Overlay:
    """Return the sides of a comparison."""
    sides = [PageSide(r.title, () if r.cells is None else r.cells.lenses, r.diagram.bins) for r in reports]
    left_out = () if reports[0].cells is None else reports[0].cells.left_out
    return overlay(sides, what, focus, left_out, max_bytes=600_000)


def overlay(
    sides: Sequence[PageSide],
    what: str,
    focus: int = 0,
    left_out: Iterable[str] = (),
    *,
    always: int = 0,
    max_bytes: int = 850_000,
) -> Overlay:
    """Return the sides, with how each is drawn and whether it is at the start, up to a size.

    All are drawn at the start where they are few; else the first `always`, or the first and the last, and the one with the largest
    mean difference. Only lenses that all have can be selected.
    """
    gaps = [abs(side.gap) for side in sides]
    start = {*(range(always) if always else (0, len(sides) - 1)), focus, int(np.argmax(gaps))}
    made = [replace(side, place=place, on=len(sides) <= FEW or place in start) for place, side in enumerate(sides)]
    kept, cells, missed = _fitted(made, focus, max_bytes)
    return Overlay(tuple(kept), focus, what, cells, (*left_out, *([missed] if missed else [])))


def _key(series: Series) -> tuple[str, str]:
    return series.lens, "" if series.lens != "class" else series.name


def _fitted(sides: list[PageSide], focus: int, max_bytes: int) -> tuple[list[PageSide], int, str]:
    """Return the sides with the lenses that all have, in cells and a number of lenses that keep to the size."""
    keys = [_key(series) for series in sides[focus].series]
    for side in sides:
        if side.whole:
            keys = [key for key in keys if key in {_key(series) for series in side.series}]
    sides = [_with_lenses(side, keys) for side in sides]
    for step in (1, COARSER):
        found = (
            sides if step == 1 else [replace(s, series=tuple(_coarser(each, step) for each in s.series)) for s in sides]
        )
        room = max_bytes - sum(_size(series) for side in found for series in side.series[:1])
        costs = [sum(_size(side.series[place]) for side in found if side.whole) for place in range(1, len(keys))]
        if sum(costs) <= room:
            return found, CELLS // step, ""
    # The most frequent classes first.
    mass = [sum(series.cells.positives) for series in found[focus].series]
    held = {0}
    for place in sorted(range(1, len(keys)), key=lambda place: -mass[place]):
        room -= costs[place - 1]
        if room < 0:
            break
        held.add(place)
    missed = [series.name for place, series in enumerate(found[focus].series) if place not in held]
    kept = [replace(s, series=tuple(each for place, each in enumerate(s.series) if place in held)) for s in found]
    return kept, CELLS // COARSER, named_left_out("class", missed)


def _with_lenses(side: PageSide, keys: list[tuple[str, str]]) -> PageSide:
    held = {_key(series): series for series in side.series}
    return replace(side, series=tuple(held[key] for key in keys if key in held))


def _size(series: Series) -> int:
    return len(json.dumps(series.to_dict(), separators=(",", ":")))


def _coarser(series: Series, step: int) -> Series:
    """Return the same sums over fewer cells."""
    sure = series.sureness
    return replace(series, cells=_added(series.cells, step), sureness=None if sure is None else _added(sure, step))


def _added(cells: CellSums, step: int) -> CellSums:
    def sums(values: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(sum(values[k : k + step]) for k in range(0, len(values), step))

    edges = tuple((k // step, rows, hits) for k, rows, hits in cells.on_edge if k % step == 0)
    return CellSums(sums(cells.rows), sums(cells.positives), sums(cells.score_sum), sums(cells.square), edges)


def _bins_of(cells: CellSums, binning: str) -> tuple[DiagramBin, ...]:
    """Return the bins of a static picture from cells, without intervals."""
    if binning == "equal_mass":
        full = [k for k, rows in enumerate(cells.rows) if rows > 0]
        rows = np.array([cells.rows[k] for k in full])
        scores = np.array([cells.score_sum[k] for k in full]) / rows
        rates = np.array([cells.positives[k] for k in full]) / rows
        table = EqualMass(BINS).table(View(scores, np.clip(rates, 0, 1), rows, "importance"))
        edges = [*table.left.tolist(), float(table.right[-1])]
        sums = zip(table.weight.tolist(), table.positives.tolist(), table.score_sum.tolist(), strict=True)
    else:
        few = _added(cells, CELLS // BINS)
        edges = [k / BINS for k in range(BINS + 1)]
        sums = zip(few.rows, few.positives, few.score_sum, strict=True)
    return tuple(
        DiagramBin(low, high, 0, n, s / n, p / n, (s - p) / n, None, None)
        if n
        else DiagramBin(low, high, 0, 0, None, None, None, None, None)
        for (low, high), (n, p, s) in zip(pairwise(edges), sums, strict=True)
    )
