"""Sides of a page: all rows and groups, before and after, or models, drawn over each other and switched on and off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .interactive import CELLS, STOPS, Series, shown

if TYPE_CHECKING:
    from .building import Report

# Up to this many sides are drawn at the start; of more, some of them.
FEW = 6

COLOURS, DASHES = 8, ("1 0", "7 3", "2 2.5", "8 3 2 3")
SHAPES = ("circle", "square", "triangle-up", "diamond")


class Look(NamedTuple):
    """How a side is drawn: the number of its colour, its dashes and its symbol."""

    colour: int
    dash: str
    shape: str


@dataclass(frozen=True)
class PageSide:
    """One side of a page: its series by lens; a group is not `whole` and has only the first lens."""

    name: str
    series: tuple[Series, ...] = ()
    place: int = 0
    on: bool = True
    whole: bool = True

    @property
    def look(self) -> Look:
        """How it is drawn: neighbours differ in colour, dashes and symbol."""
        turn = self.place + self.place // COLOURS
        return Look(self.place % COLOURS, DASHES[turn % len(DASHES)], SHAPES[turn % len(SHAPES)])

    @property
    def means(self) -> tuple[float, float] | None:
        """Mean score and rate; None without rows."""
        if not self.series or not self.series[0].cells.total:
            return None
        cells = self.series[0].cells
        return sum(cells.score_sum) / cells.total, sum(cells.positives) / cells.total

    @property
    def gap(self) -> float:
        """Mean score minus rate."""
        return self.means[0] - self.means[1] if self.means else 0.0


@dataclass(frozen=True)
class Overlay:
    """The sides of a page, and the number of the one whose numbers are shown first."""

    sides: tuple[PageSide, ...]
    focus: int
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
            "cells": CELLS,
            "stops": list(STOPS),
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
    all_rows = PageSide("All rows", () if cells is None else cells.lenses)
    sides = [all_rows]
    if changed is not None and changed.cells is not None:
        sides = [PageSide("Before", changed.cells.lenses), replace(all_rows, name="After")]
    group_sides = [PageSide(g.name, (g,), whole=False) for g in groups]
    left_out = () if cells is None else cells.left_out
    return overlay([*sides, *group_sides], len(sides) - 1, left_out, always=len(sides))


def compared_sides(reports: Sequence[Report]) -> Overlay:
    """Return the sides of a comparison."""
    sides = [PageSide(r.title, () if r.cells is None else r.cells.lenses) for r in reports]
    left_out = () if reports[0].cells is None else reports[0].cells.left_out
    return overlay(sides, left_out=left_out)


def overlay(sides: Sequence[PageSide], focus: int = 0, left_out: Iterable[str] = (), *, always: int = 0) -> Overlay:
    """Return the sides with the lenses that all of them have, how each is drawn, and whether it is at the start.

    Of many sides, at the start are those that `always` counts from the first, or else the first and the last, the focus, and the one
    with the largest mean difference.
    """
    keys = [_key(series) for series in sides[focus].series]
    for side in sides:
        if side.whole:
            keys = [key for key in keys if key in {_key(series) for series in side.series}]
    gaps = [abs(side.gap) for side in sides]
    start = {*(range(always) if always else (0, len(sides) - 1)), focus, int(np.argmax(gaps))}
    kept = [
        replace(
            side,
            series=tuple(series for key in keys for series in side.series if _key(series) == key),
            place=place,
            on=len(sides) <= FEW or place in start,
        )
        for place, side in enumerate(sides)
    ]
    return Overlay(tuple(kept), focus, tuple(left_out))


def _key(series: Series) -> tuple[str, str]:
    return series.lens, "" if series.lens != "class" else series.name
