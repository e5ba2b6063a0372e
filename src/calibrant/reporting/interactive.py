"""Data of the interactive page: sums over 300 equal-width cells for each lens and group, never the rows."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import bin_table
from ..binning.rules import EqualWidth
from ..errors import LensError
from ..input.grouping import groups_of
from ..input.predictions import Predictions
from ..sketches.sketch import Sketch
from ..views.lenses import Lens
from ..views.resolve import views_of
from ..views.view import View

# The edges of the cells are among those of a sketch, so rows and sketches give the same cells.
CELLS = 300
STOPS = tuple(count for count in range(1, CELLS + 1) if CELLS % count == 0)
"""Numbers of equal-width bins whose edges are edges of cells: for these the page is exact."""

MAX_CLASSES, MAX_GROUPS = 20, 50
# With the plotting library (0.9 MB) and the tables the page stays below 2 MB.
MAX_PAYLOAD = 850_000
NAME_LENGTH = 80
NAMES_LISTED = 12


@dataclass(frozen=True)
class CellSums:
    """Sums over the 300 cells (k/300, (k + 1)/300]; the first cell includes the score 0.

    Rows and positives are whole numbers unless the rows have importance weights or soft labels.
    """

    rows: tuple[float, ...]
    positives: tuple[float, ...]
    score_sum: tuple[float, ...]
    square: tuple[float, ...] = ()
    """Sums of squared weights, for importance weights only."""
    on_edge: tuple[tuple[int, float, float], ...] = ()
    """Rows and positives with a score of exactly k/300; a row at the threshold is accepted."""

    @property
    def total(self) -> float:
        """Sum of all weights."""
        return sum(self.rows)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain lists under short keys, without empty ones."""
        found = {"n": self.rows, "p": self.positives, "s": self.score_sum, "q": self.square, "e": self.on_edge}
        return {
            key: [list(v) if isinstance(v, tuple) else v for v in values] for key, values in found.items() if values
        }


@dataclass(frozen=True)
class Series:
    """A lens or a group that can be selected, with its cells."""

    name: str
    lens: str
    cells: CellSums
    sureness: CellSums | None = None
    """The same rows by the confidence of the top label, where the lens is another one."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, without missing ones."""
        found = {"name": shown(self.name), "lens": self.lens, "cells": self.cells.to_dict()}
        return found if self.sureness is None else {**found, "sureness": self.sureness.to_dict()}


@dataclass(frozen=True)
class Interactive:
    """Cells of the page: lenses over all rows (the main lens first), and groups under the main lens."""

    lenses: tuple[Series, ...]
    groups: tuple[Series, ...] = ()
    weight_kind: str = "unit"
    is_soft: bool = False
    left_out: tuple[str, ...] = ()
    """Sentences that name the classes and groups left out for the size of the page."""
    bins: int = field(default=15)
    """Initial number of bins."""


def interactive(
    source: Predictions | View | Sketch, *, lens: str | Lens = "auto", bins: int = 15, max_bytes: int = MAX_PAYLOAD
) -> Interactive:
    """Return the cells of predictions for the page: the main lens, the classes and the groups, up to `max_bytes`.

    Parameters
    ----------
    source : Predictions, View or Sketch
        The predictions; a view or sketch has one lens and no groups.
    lens : str or Lens
        The main lens.
    bins : int
        Initial number of bins; the nearest divisor of 300 is used.
    max_bytes : int
        Size limit of the cells as text; beyond it the smallest classes and groups are left out and named.

    Returns
    -------
    Interactive
        The cells.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> cells = interactive(Predictions([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9]))
    >>> [(series.lens, series.cells.total) for series in cells.lenses]
    [('binary', 4)]
    """
    start = min(STOPS, key=lambda stop: (abs(stop - bins), stop))
    if not isinstance(source, Predictions):
        view = source.view() if isinstance(source, Sketch) else source
        return Interactive(
            (Series(view.lens, view.lens, _main_cells(view)),), (), view.weight_kind, view.is_soft, (), start
        )
    main = _main_views(source, lens)
    room = max_bytes
    lenses: list[Series] = []
    for view in main:
        lenses.append(_series(view.lens, view, source))
        room -= _size(lenses[-1])
    groups, missed = _groups(source, lens, room) if len(main) == 1 else ((), "")
    room -= sum(map(_size, groups))
    classes, unseen = _classes(source, room)
    first = main[0]
    return Interactive(
        (*lenses, *classes),
        groups,
        first.weight_kind,
        first.is_soft,
        tuple(sentence for sentence in (unseen, missed) if sentence),
        start,
    )


def cell_sums(view: View, *, edges: bool = False) -> CellSums:
    """Return the sums of a view over 300 cells and, with `edges`, of the rows exactly on an edge."""
    table = bin_table(view, EqualWidth(CELLS))
    whole_rows = view.weight_kind != "importance"
    square = () if whole_rows else tuple(table.square.tolist())
    return CellSums(
        _plain(table.weight, whole_rows),
        _plain(table.positives, whole_rows and not view.is_soft),
        tuple(table.score_sum.tolist()),
        square,
        _on_edge(view, whole_rows) if edges else (),
    )


def _plain(values: NDArray[Any], whole: bool) -> tuple[float, ...]:
    return tuple((values.astype(np.int64) if whole else values).tolist())


def _on_edge(view: View, whole_rows: bool) -> tuple[tuple[int, float, float], ...]:
    place = np.rint(view.score * CELLS).astype(np.intp)
    held = np.flatnonzero(view.score == (np.arange(CELLS + 1) / CELLS)[place])
    weight = view.weights[held]
    rows = np.bincount(place[held], weight, CELLS + 1)
    positives = np.bincount(place[held], weight * view.outcome[held], CELLS + 1)
    full = np.flatnonzero(rows > 0)
    return tuple(
        zip(
            full.tolist(),
            _plain(rows[full], whole_rows),
            _plain(positives[full], whole_rows and not view.is_soft),
            strict=True,
        )
    )


def _main_cells(view: View) -> CellSums:
    return cell_sums(view, edges=view.lens == "top_label")


def _main_views(source: Predictions, lens: str | Lens) -> list[View]:
    """Return the views of the main lens: one, or those of the classes up to a limit."""
    views = [view for view in views_of(source, lens) if isinstance(view, View)]
    if not views:
        raise LensError("lens", f"{lens!r} has more than one event per row", "use 'top_label' or 'class:NAME'")
    return views[:MAX_CLASSES]


def _series(name: str, view: View, source: Predictions) -> Series:
    sure = None
    if view.lens == "binary":
        other = views_of(source, "top_label")[0]
        assert isinstance(other, View)
        sure = cell_sums(other, edges=True)
    if view.lens.startswith("class:"):
        return Series(name.removeprefix("class:"), "class", cell_sums(view))
    return Series(name, view.lens, _main_cells(view), sure)


def _size(series: Series) -> int:
    return len(json.dumps(series.to_dict(), separators=(",", ":")))


def _kept(candidates: Iterable[tuple[int, Series]], room: int, most: int) -> tuple[Series, ...]:
    """Return the series that fit, in their original order."""
    kept: list[tuple[int, Series]] = []
    for number, series in candidates:
        room -= _size(series)
        if room < 0 or len(kept) == most:
            break
        kept.append((number, series))
    return tuple(series for _, series in sorted(kept, key=lambda pair: pair[0]))


def _groups(source: Predictions, lens: str | Lens, room: int) -> tuple[tuple[Series, ...], str]:
    """Return the cells of the groups, the largest first until the size limit."""
    if source.groups is None:
        return (), ""
    found = [(str(grouping.labels[place]), rows) for grouping, place, rows in groups_of(source)]
    mass = np.array([len(rows) if source.weight is None else source.weight[rows].sum() for _, rows in found])
    largest = [int(code) for code in np.argsort(-mass, kind="stable") if mass[code] > 0]

    def each() -> Iterable[tuple[int, Series]]:
        for code in largest:
            name, rows = found[code]
            part = source.take(rows)
            (view,) = views_of(part, lens)
            assert isinstance(view, View)
            yield code, _series(name, view, part)

    kept = _kept(each(), room, MAX_GROUPS)
    names = [found[code][0] for code in largest[len(kept) :]]
    return kept, named_left_out("group", names)


def _classes(source: Predictions, room: int) -> tuple[tuple[Series, ...], str]:
    """Return the cells of each class against the rest, the most frequent first; for more than two classes."""
    if source.kind != "multiclass":
        return (), ""
    views = views_of(source, "classwise")
    mass = _class_mass(source)
    largest = [int(code) for code in np.argsort(-mass, kind="stable")]
    names = [str(code if source.classes is None else source.classes[code]) for code in range(source.k)]

    def each() -> Iterable[tuple[int, Series]]:
        for code in largest:
            view = views[code]
            assert isinstance(view, View)
            yield code, Series(names[code], "class", cell_sums(view))

    kept = _kept(each(), room, MAX_CLASSES)
    return kept, named_left_out("class", [names[code] for code in largest[len(kept) :]])


def _class_mass(source: Predictions) -> NDArray[Any]:
    """Return the total weight of each class among the labels."""
    if source.labels is not None:
        return np.bincount(source.labels, source.weight, source.k)
    assert source.soft is not None
    return np.asarray(source.soft.sum(axis=0) if source.weight is None else source.weight @ source.soft)


def named_left_out(what: str, names: Sequence[str]) -> str:
    """Return a sentence that names what is left out."""
    if not names:
        return ""
    plural = {"class": "classes", "group": "groups"}[what]
    listed = ", ".join(map(shown, names[:NAMES_LISTED]))
    more = f" and {len(names) - NAMES_LISTED:,} more" if len(names) > NAMES_LISTED else ""
    subject = f"1 smaller {what} is" if len(names) == 1 else f"{len(names):,} smaller {plural} are"
    return f"{subject} not selectable on this page: {listed}{more}."


def shown(name: Any, limit: int | None = NAME_LENGTH) -> str:
    """Return a name for display: control and invisible characters are made visible, and it is cut to `limit`.

    >>> shown("a\\x00b\\u202ec")
    'a\\u2400b[U+202E]c'
    """
    text = str(name)
    if limit is not None:
        text = text[: limit + 1]  # avoids work on very long names
    if not text.isprintable():
        text = "".join(map(_visible, text))
    return text if limit is None or len(text) <= limit else text[: limit - 1] + "\u2026"


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    kind = unicodedata.category(character)
    # The two joiners are needed for emoji and Persian words and do not change the direction of the text.
    if kind in ("Cc", "Cf", "Zl", "Zp", "Cs", "Cn") and character not in "\u200c\u200d":
        return f"[U+{code:04X}]"
    return character
