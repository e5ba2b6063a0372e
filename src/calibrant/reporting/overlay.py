"""Sides of a page: all rows and groups, before and after, or models, drawn over each other and switched on and off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from .interactive import Columns, Series, isoline_rows, shown

if TYPE_CHECKING:
    from .building import Report

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


@dataclass(frozen=True)
class Overlay:
    """The sides of a page, and the number of the one whose numbers are shown first."""

    sides: tuple[PageSide, ...]
    focus: int
    left_out: tuple[str, ...] = ()

    @property
    def lenses(self) -> tuple[Series, ...]:
        """The lenses that can be selected."""
        return self.sides[self.focus].series

    def _planes(self, place: int) -> list[Columns]:
        """Points of all sides under a lens; groups have none, because their outcomes are others."""
        series = [side.series[place] for side in self.sides if len(side.series) > place]
        return [each.charts["plane"] for each in series if "plane" in each.charts]

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers for the script of the page."""
        return {
            "focus": self.focus,
            "lenses": [
                {"name": shown(series.name), "lens": series.lens, "isolines": isoline_rows(self._planes(place))}
                for place, series in enumerate(self.lenses)
            ],
            "sides": [
                {
                    "name": shown(side.name),
                    "on": side.on,
                    **side.look._asdict(),
                    "series": [series.to_dict() for series in side.series],
                }
                for side in self.sides
            ],
        }


def report_sides(report: Report) -> Overlay:
    """Return the sides of a report: all rows and the groups or, after recalibration, before, after and the groups; or the models."""
    charts, changed = report.charts, report.before_after
    left_out = () if charts is None else charts.left_out
    if report.comparison is not None:
        models = [PageSide(r.title, () if r.charts is None else r.charts.lenses) for r in report.models]
        return overlay(models, 0, left_out, on=len(models))
    groups = () if charts is None else charts.groups
    all_rows = PageSide("All rows", () if charts is None else charts.lenses)
    sides = [all_rows]
    if changed is not None and changed.charts is not None:
        sides = [PageSide("Before", changed.charts.lenses), replace(all_rows, name="After")]
    group_sides = [PageSide(g.name, (g,), whole=False) for g in groups]
    return overlay([*sides, *group_sides], len(sides) - 1, left_out, on=len(sides))


def overlay(sides: Sequence[PageSide], focus: int, left_out: Iterable[str], *, on: int) -> Overlay:
    """Return the sides with the lenses that all of them have, and how each is drawn; the first `on` are drawn at the start."""
    keys = [_key(series) for series in sides[focus].series]
    for side in sides:
        if side.whole:
            keys = [key for key in keys if key in {_key(series) for series in side.series}]
    kept = [
        replace(
            side,
            series=tuple(series for key in keys for series in side.series if _key(series) == key),
            place=place,
            on=place < on,
        )
        for place, side in enumerate(sides)
    ]
    return Overlay(tuple(kept), focus, tuple(left_out))


def _key(series: Series) -> tuple[str, str]:
    return series.lens, "" if series.lens != "class" else series.name
