"""Selections: which rows are looked at, for ``where=``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, InPython, LensError, ShapeError, Use
from ..input.convert import is_number
from ..input.predictions import Predictions
from .lenses import class_, parse_lens
from .view import View

__all__ = ["Selection", "parse_selection", "select"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Selection:
    """A choice of rows; combine with ``&``, ``|`` and ``~``."""

    name: str
    mask: Callable[[Predictions], Array]
    reads_labels: bool = False
    """Whether the true class decides which rows are chosen."""

    def __and__(self, other: Selection) -> Selection:
        _check_selection(other)
        return Selection(f"({self.name} & {other.name})", lambda p: self.mask(p) & other.mask(p), self._reads(other))

    def __or__(self, other: Selection) -> Selection:
        _check_selection(other)
        return Selection(f"({self.name} | {other.name})", lambda p: self.mask(p) | other.mask(p), self._reads(other))

    def __invert__(self) -> Selection:
        return Selection(f"~{self.name}", lambda p: ~self.mask(p), self.reads_labels)

    def _reads(self, other: Selection) -> bool:
        return self.reads_labels or other.reads_labels

    def __repr__(self) -> str:
        return f"Selection({self.name})"


def _check_selection(other: Any) -> None:
    if not isinstance(other, Selection):
        raise LensError(
            "where",
            f"& and | combine selections; got {type(other).__name__}",
            InPython("wrap a mask with select.mask(...)"),
        )


class select:
    """Ways to choose rows, for ``where=``."""

    @staticmethod
    def label(*names: Any) -> Selection:
        """Rows whose true class is one of `names` (several make a class group)."""

        def mask(p: Predictions) -> Array:
            if p.labels is None or p.labels.ndim == 2 or p.kind == "confidence":
                raise LensError(
                    "where",
                    "select.label is not defined for soft or multilabel labels",
                    "use select.output, select.group or a mask",
                )
            return np.isin(p.labels, [p.class_index(name, "where") for name in names])

        return Selection(f"label in {list(names)}", mask, reads_labels=True)

    @staticmethod
    def predicted(*names: Any) -> Selection:
        """Rows whose predicted class is one of `names`."""

        def mask(p: Predictions) -> Array:
            if p.kind in ("multilabel", "confidence"):
                raise LensError(
                    "where",
                    f"select.predicted is not defined for {p.kind} predictions",
                    "use a mask",
                )
            return np.isin(p.predicted, [p.class_index(name, "where") for name in names])

        return Selection(f"predicted in {list(names)}", mask)

    @staticmethod
    def output(
        low: float = 0.0,
        high: float = 1.0,
        *,
        of: Any = None,
        closed: Literal["both", "left", "right", "neither"] = "both",
    ) -> Selection:
        """Rows whose predicted probability lies between the bounds.

        The probability is that of the class `of`, or the largest with ``of="top"``. By default it is the one that the lens
        ``"auto"`` reads: that of the positive class for two classes, the largest for more.
        """
        if closed not in ("both", "left", "right", "neither"):
            raise ArgumentError("closed", f"must be 'both', 'left', 'right' or 'neither'; got {closed!r}")
        if not (is_number(low) and is_number(high) and 0 <= low <= high <= 1):
            raise ArgumentError("low", f"low and high must satisfy 0 <= low <= high <= 1; got {low!r} and {high!r}")

        def mask(p: Predictions) -> Array:
            if of in (None, "top") and p.kind == "multilabel":
                raise LensError(
                    "where", "multilabel predictions have no top class", Use("of", None, "to name the class")
                )
            if of == "top" and p.kind == "binary" and 0 < low < 0.5 and high == 1:
                raise ArgumentError(
                    "low",
                    f"{low!r} selects every row, since the larger of two probabilities is at least 0.5",
                    Use("of", 1, "for the probability of the positive class"),
                )
            if of not in (None, "top") and p.kind == "confidence":
                raise LensError(
                    "where",
                    f"the confidence of class {of!r} is unknown; only that of the top label is given",
                    Use("of", "top"),
                )
            if of in (None, "top"):
                lens = parse_lens("auto" if of is None else "top_label", p)
            else:
                p.class_index(of, "where")
                lens = class_(of)
            view = lens.views(p)[0]
            assert isinstance(view, View)
            above = view.score >= low if closed in ("both", "left") else view.score > low
            below = view.score <= high if closed in ("both", "right") else view.score < high
            return np.asarray(above & below)

        whose = "" if of is None else f" of {of}"
        return Selection(f"output from {low} to {high}{whose}", mask)

    @staticmethod
    def group(*names: Any) -> Selection:
        """Rows of one of these row groups."""

        def mask(p: Predictions) -> Array:
            if p.groups is None:
                raise LensError("where", "select.group requires groups", Use("groups", None, "with one group per row"))
            for name in names:
                if name not in p.group_names:
                    raise LensError("where", f"unknown group {name!r}", f"the groups are {list(p.group_names[:20])}")
            return np.isin(p.groups, [p.group_names.index(name) for name in names])

        return Selection(f"group in {list(names)}", mask)

    @staticmethod
    def mask(rows: Any) -> Selection:
        """Rows where `rows` is true."""
        try:
            chosen = np.asarray(rows)
        except ValueError:  # ragged
            chosen = np.empty((), dtype=object)
        if chosen.dtype.kind != "b" or chosen.ndim != 1:
            raise LensError(
                "where",
                f"must be one boolean per row; got shape {chosen.shape} of {chosen.dtype}",
                InPython("for example age > 60"),
            )

        def mask(p: Predictions) -> Array:
            given = p.n if p.kept is None else len(p.kept)
            if len(chosen) != given:
                raise ShapeError("where", f"expected {given} Booleans, one per row; got {len(chosen)}")
            return chosen if p.kept is None else chosen[p.kept]

        return Selection("mask", mask)


def parse_selection(where: Any, predictions: Predictions) -> Predictions:
    """The rows that `where` keeps: a Selection, a boolean mask, or None for all."""
    if where is None:
        return predictions
    selection = where if isinstance(where, Selection) else select.mask(where)
    rows = selection.mask(predictions)
    if not rows.any():
        raise LensError("where", f"{selection.name} selects none of {predictions.n} rows", "relax the condition")
    return predictions.take(rows)
