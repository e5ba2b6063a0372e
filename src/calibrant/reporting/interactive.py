"""Data of the interactive page: sums over 300 equal-width cells for each lens and group, never the rows."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import bin_table
from ..binning.rules import EqualWidth
from ..errors import LensError
from ..input.grouping import groups_of
from ..input.predictions import Predictions
from ..views.lenses import Lens
from ..views.resolve import views_of
from ..views.view import View

# The edges of the cells are among those of a sketch, so rows and sketches give the same cells.
CELLS = 300
# Numbers of equal-width bins whose edges are edges of cells: for these the page is exact.
STOPS = tuple(count for count in range(1, CELLS + 1) if CELLS % count == 0)

MAX_CLASSES, MAX_GROUPS = 20, 50
NAME_LENGTH = 80
NAMES_LISTED = 12


@dataclass(frozen=True)
class CellSums:
    """Sums over the 300 cells (k/300, (k + 1)/300]; the first cell includes the score 0.

    Rows and positives are whole numbers unless the rows have importance weights or soft labels. ``square`` are sums of squared weights, for
    importance weights only; ``on_edge`` are rows and positives with a score of exactly k/300, since a row at the threshold is accepted.
    """

    rows: tuple[float, ...]
    positives: tuple[float, ...]
    score_sum: tuple[float, ...]
    square: tuple[float, ...] = ()
    on_edge: tuple[tuple[int, float, float], ...] = ()

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
    """A lens or a group that can be selected, with its cells; ``sureness`` has them by the confidence of the top label, where the lens is another."""

    name: str
    lens: str
    cells: CellSums
    sureness: CellSums | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, without missing ones."""
        found = {"name": shown(self.name), "lens": self.lens, "cells": self.cells.to_dict()}
        return found if self.sureness is None else {**found, "sureness": self.sureness.to_dict()}


@dataclass(frozen=True)
class Interactive:
    """Cells of the page: lenses over all rows (the main lens first), and groups under the main lens.

    ``left_out`` are sentences that name the classes and groups left out for the size of the page, ``bins`` the initial number of bins.
    """

    lenses: tuple[Series, ...]
    groups: tuple[Series, ...] = ()
    weight_kind: str = "unit"
    is_soft: bool = False
    left_out: tuple[str, ...] = ()
    bins: int = 15


def interactive(source: Predictions, *, lens: str | Lens = "auto", bins: int = 15) -> Interactive:
    """Return the cells of predictions for the page: the main lens, the most frequent classes and the largest groups.

    Parameters
    ----------
    source : Predictions
        The predictions.
    lens : str or Lens
        The main lens.
    bins : int
        Initial number of bins; the nearest divisor of 300 is used.

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
    views = [view for view in views_of(source, lens) if isinstance(view, View)][:MAX_CLASSES]
    if not views:
        raise LensError("lens", f"{lens!r} has more than one event per row", "use 'top_label' or 'class:NAME'")
    groups, groups_left_out = _groups(source, lens) if len(views) == 1 else ((), "")
    classes, classes_left_out = _classes(source)
    return Interactive(
        (*(_series(view.lens, view, source) for view in views), *classes),
        groups,
        views[0].weight_kind,
        views[0].is_soft,
        tuple(filter(None, (classes_left_out, groups_left_out))),
        min(STOPS, key=lambda stop: (abs(stop - bins), stop)),
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


def _series(name: str, view: View, source: Predictions) -> Series:
    sure = None
    if view.lens == "binary":
        other = views_of(source, "top_label")[0]
        assert isinstance(other, View)
        sure = cell_sums(other, edges=True)
    if view.lens.startswith("class:"):
        return Series(name.removeprefix("class:"), "class", cell_sums(view))
    return Series(name, view.lens, cell_sums(view, edges=view.lens == "top_label"), sure)


def _groups(source: Predictions, lens: str | Lens) -> tuple[tuple[Series, ...], str]:
    """The largest groups, in their own order, and a sentence that names the others."""
    if source.groups is None:
        return (), ""
    parts = [(str(grouping.labels[place]), rows) for grouping, place, rows in groups_of(source)]
    mass = np.array([len(rows) if source.weight is None else source.weight[rows].sum() for _, rows in parts])
    largest = [int(code) for code in np.argsort(-mass, kind="stable") if mass[code] > 0]
    groups = []
    for code in sorted(largest[:MAX_GROUPS]):
        name, rows = parts[code]
        part = source.take(rows)
        (view,) = views_of(part, lens)
        assert isinstance(view, View)
        groups.append(_series(name, view, part))
    return tuple(groups), named_left_out("group", [parts[code][0] for code in largest[MAX_GROUPS:]])


def _classes(source: Predictions) -> tuple[tuple[Series, ...], str]:
    """The most frequent classes, in their own order, and a sentence that names the others."""
    if source.kind != "multiclass":
        return (), ""
    views = views_of(source, "classwise")
    if source.labels is not None:
        mass = np.bincount(source.labels, source.weight, source.k)
    else:
        assert source.soft is not None
        mass = np.asarray(source.soft.sum(axis=0) if source.weight is None else source.weight @ source.soft)
    largest = np.argsort(-mass, kind="stable").tolist()
    names = [str(name) for name in (range(source.k) if source.classes is None else source.classes)]
    classes = []
    for code in sorted(largest[:MAX_CLASSES]):
        view = views[code]
        assert isinstance(view, View)
        classes.append(Series(names[code], "class", cell_sums(view)))
    return tuple(classes), named_left_out("class", [names[code] for code in largest[MAX_CLASSES:]])


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
