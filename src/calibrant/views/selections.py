"""Selections of rows, for ``where=``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..errors import ArgumentError, LensError, ShapeError
from ..input.predictions import Predictions
from ..util.arrays import Array
from ..util.checks import is_number
from .lenses import class_, parse_lens
from .view import View


@dataclass(frozen=True)
class Selection:
    """A selection of rows, to be combined with ``&``, ``|`` and ``~``.

    Selections are made by the methods of `select` and passed as ``where=``.

    Parameters
    ----------
    name : str
        Description, shown in messages.
    mask : callable
        Function that returns a boolean array for checked `Predictions`.
    reads_labels : bool, default False
        Whether the selection depends on the true class. Calibration given the true class is not expected even of a calibrated
        model.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.select.output(low=0.9) & ~cal.select.predicted(0)
    Selection((output from 0.9 to 1.0 & ~predicted in [0]))
    """

    name: str
    mask: Callable[[Predictions], Array]
    reads_labels: bool = False

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
            "wrap a mask with select.mask(...)",
        )


class Selections:
    """Constructors of selections of rows, for ``where=``; available as ``calibrant.select``.

    See Also
    --------
    Selection : The object that they return.

    Examples
    --------
    >>> import calibrant as cal
    >>> y_true, y_prob = [0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9]
    >>> round(cal.ece(y_true, y_prob, where=cal.select.output(low=0.5)), 4)
    0.15
    """

    @staticmethod
    def label(*names: Any) -> Selection:
        """Select rows by their true class.

        Parameters
        ----------
        *names : object
            Names or indices of classes; rows of any of them are selected.

        Returns
        -------
        Selection
            The selection.

        Examples
        --------
        >>> import calibrant as cal
        >>> cal.select.label("cat", "dog")
        Selection(label in ['cat', 'dog'])
        """

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
        """Select rows by their predicted class, the one with the largest probability.

        Parameters
        ----------
        *names : object
            Names or indices of classes; rows of any of them are selected.

        Returns
        -------
        Selection
            The selection.

        Examples
        --------
        >>> import calibrant as cal
        >>> y_true, y_prob = [0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9]
        >>> round(cal.ece(y_true, y_prob, where=cal.select.predicted(1)), 4)
        0.15
        """

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
    def correct() -> Selection:
        """Select rows whose predicted class, the one with the largest probability, is the true one.

        ``~select.correct()`` selects the wrong predictions. Use it for the confidences of right and wrong predictions, in histograms
        and means. It is a selection by the label: a calibrated model is not calibrated among its right predictions, whose accuracy is 1.

        Returns
        -------
        Selection
            The selection.

        See Also
        --------
        predicted : Rows by their predicted class.

        Examples
        --------
        >>> import calibrant as cal
        >>> y_true, y_prob = [0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9]
        >>> round(cal.mean_confidence(y_true, y_prob, where=cal.select.correct()), 4)
        0.8667
        >>> cal.mean_confidence(y_true, y_prob, where=~cal.select.correct())
        0.6
        """

        def mask(p: Predictions) -> Array:
            if p.kind == "multilabel":
                raise LensError("where", "select.correct is not defined for multilabel predictions", "use a mask")
            view = parse_lens("top_label", p).views(p)[0]
            assert isinstance(view, View)
            if view.is_soft:
                raise LensError("where", "select.correct is not defined for soft labels", "use a mask")
            return np.asarray(view.raw_outcome == 1)

        return Selection("correct", mask, reads_labels=True)

    @staticmethod
    def output(
        low: float = 0.0,
        high: float = 1.0,
        *,
        of: Any = None,
        closed: Literal["both", "left", "right", "neither"] = "both",
    ) -> Selection:
        """Select rows by their predicted probability.

        Parameters
        ----------
        low : float, default 0.0
            Lower bound.
        high : float, default 1.0
            Upper bound.
        of : object, optional
            Class whose probability is compared, or ``"top"`` for the largest probability. By default the probability that the
            lens ``"auto"`` evaluates: that of the positive class for two classes, the largest for more.
        closed : {"both", "left", "right", "neither"}, default "both"
            Which of the bounds belong to the interval.

        Returns
        -------
        Selection
            The selection.

        Raises
        ------
        ArgumentError
            If the bounds do not satisfy ``0 <= low <= high <= 1``, or `closed` is unknown.

        Examples
        --------
        >>> import calibrant as cal
        >>> cal.select.output(low=0.9, of="top")
        Selection(output from 0.9 to 1.0 of top)
        """
        if closed not in ("both", "left", "right", "neither"):
            raise ArgumentError("closed", f"must be 'both', 'left', 'right' or 'neither'; got {closed!r}")
        if not (is_number(low) and is_number(high) and 0 <= low <= high <= 1):
            raise ArgumentError("low", f"low and high must satisfy 0 <= low <= high <= 1; got {low!r} and {high!r}")

        def mask(p: Predictions) -> Array:
            if of in (None, "top") and p.kind == "multilabel":
                raise LensError("where", "multilabel predictions have no top class", "pass of to name the class")
            if of not in (None, "top") and p.kind == "confidence":
                raise LensError(
                    "where",
                    f"the confidence of class {of!r} is unknown; only that of the top label is given",
                    "use of='top'",
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
        """Select rows by their group.

        Parameters
        ----------
        *names : object
            Groups, as passed in ``groups=``; with several groupings as `evaluate` names them, such as ``"contract: month"``.

        Returns
        -------
        Selection
            The selection.

        Examples
        --------
        >>> import calibrant as cal
        >>> y_true, y_prob = [0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9]
        >>> round(cal.ece(cal.Predictions(y_true, y_prob, groups=["a", "a", "b", "b"]), where=cal.select.group("a")), 4)
        0.35
        """

        def mask(p: Predictions) -> Array:
            if p.groups is None:
                raise LensError("where", "select.group requires groups", "pass groups with one group per row")
            from ..input.grouping import groupings_of

            is_selected = np.zeros(p.n, bool)
            for name in names:
                groupings = [g for g in groupings_of(p) if name in g.labels]
                if not groupings:
                    existing = [label for g in groupings_of(p) for label in g.labels]
                    raise LensError("where", f"unknown group {name!r}", f"the groups are {existing[:20]}")
                is_selected |= groupings[0].place[p.groups] == groupings[0].labels.index(name)
            return is_selected

        return Selection(f"group in {list(names)}", mask)

    @staticmethod
    def mask(rows: Any) -> Selection:
        """Select rows by a boolean mask.

        Parameters
        ----------
        rows : array-like of bool of shape (N,)
            Mask, one entry per row.

        Returns
        -------
        Selection
            The selection.

        Raises
        ------
        LensError
            If `rows` is not a one-dimensional boolean array.

        Examples
        --------
        >>> import calibrant as cal
        >>> y_true, y_prob = [0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9]
        >>> mask = cal.select.mask([True, True, False, False])
        >>> round(cal.ece(y_true, y_prob, where=~mask), 4)
        0.15
        """
        try:
            selected = np.asarray(rows)
        except ValueError:  # ragged
            selected = np.empty((), dtype=object)
        if selected.dtype.kind != "b" or selected.ndim != 1:
            raise LensError(
                "where",
                f"must be one boolean per row; got shape {selected.shape} of {selected.dtype}",
                "for example age > 60",
            )

        def mask(p: Predictions) -> Array:
            row_count = p.n if p.kept is None else len(p.kept)
            if len(selected) != row_count:
                raise ShapeError("where", f"expected {row_count} Booleans, one per row; got {len(selected)}")
            return selected if p.kept is None else selected[p.kept]

        return Selection("mask", mask)


select = Selections


def parse_selection(where: Any, predictions: Predictions) -> Predictions:
    """Return the predictions of the selected rows.

    Parameters
    ----------
    where : Selection, array-like of bool or None
        Rows to keep; None keeps all.
    predictions : Predictions
        Checked labels and probabilities.

    Returns
    -------
    Predictions
        Predictions of these rows.

    Raises
    ------
    LensError
        If no row is selected.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.views.selections import parse_selection
    >>> parse_selection([True, False], cal.Predictions([0, 1], [0.2, 0.7])).n
    1
    """
    if where is None:
        return predictions
    selection = where if isinstance(where, Selection) else select.mask(where)
    rows = selection.mask(predictions)
    if not rows.any():
        raise LensError("where", f"{selection.name} selects none of {predictions.n} rows", "relax the condition")
    return predictions.take(rows)
