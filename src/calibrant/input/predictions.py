"""Predictions: labels, probabilities or logits, weights, groups and features, checked in one place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from ..errors import ArgumentError, CalibrantError, InputError, LensError
from ..util.arrays import Array
from ..util.blocks import map_blocks, rows_per_block
from ..util.cached import cached_property
from ..util.checks import is_number
from .columns import Arguments, find_columns, named_classes, read_arguments
from .convert import frozen, index_of
from .hints import hint_at_mistakes
from .labels import Labels, read_labels
from .probabilities import check_matrix
from .rows import RowData, read_rows
from .scores import Probabilities, read_probabilities

# Attributes with one entry per row.
ARRAYS = ("probs", "logits", "labels", "soft", "top_score", "top_correct", "weight", "groups", "features")


class Predictions:
    """Labels and predicted probabilities of a classifier, checked once.

    Every function of calibrant accepts a `Predictions` in place of ``(y_true, y_prob)`` and its keywords. Construct one where
    several functions are applied to the same data: the input is then checked once, and sorted scores are shared.

    Parameters
    ----------
    y_true : array-like of shape (N,), (N, K) or frame
        Observed labels: class indices, booleans, -1 and 1, class names (with `classes`), one-hot rows, class probabilities (with
        ``soft=True``), or columns of 0 and 1 (with ``multilabel=True``). A frame if `label` and `prob` name its columns.
    y_prob : array-like of shape (N,) or (N, K), optional
        Predicted probabilities: of the positive class, or one column per class. Lists, NumPy arrays, pandas, polars, pyarrow and
        torch objects are accepted and matched by position; objects with different pandas indexes raise an error.
        Columns of two frames are matched by name.
    label : str, optional
        Column of the frame `y_true` that holds the labels.
    prob : str or list of str, optional
        Columns of the frame `y_true` that hold the probabilities; a pattern such as ``"p_*"`` is allowed.
    sample_weight : array-like of shape (N,) or str, optional
        Importance weight of each row, or its column in the frame; only ratios matter.
    counts : array-like of shape (N,) or str, optional
        Number of identical rows that each row represents; excludes `sample_weight`.
    groups : array-like of shape (N,), str, list of str, mapping or frame, optional
        Group of each row. With a frame, its column, or several in a list; ``"tenure/4"`` are four groups at the quartiles of a
        column, ``"contract x tenure/4"`` combinations, and other text is an SQL expression such as ``"age >= 65"``. A mapping or
        a frame holds one grouping in each column.
    features : array-like of shape (N, d) or list of str, optional
        Numeric features of each row, for metrics that use them.
    classes : sequence, optional
        Class names in the order of the columns of `y_prob`. By default the column names of a frame of probabilities are used, with
        or without a prefix such as ``p_``. The second of two columns belongs to the positive class, unless the names determine it:
        ``yes`` is positive next to ``no``, 1 next to 0, and ``churn`` next to ``no_churn``. For ordered classes (the lens
        ``"ordinal"``) they are in increasing order, unless they are numbers or the labels are ordered categories.
    pos_label : object, optional
        Label of the positive class, for one-dimensional scores or a frame of two columns that are named after the classes.
    input : {"prob", "logit", "confidence"}, default "prob"
        What `y_prob` holds: probabilities, logits, or the confidence of the predicted class (`y_true` then states whether the
        prediction was correct). It is never inferred.
    soft : bool, default False
        Whether `y_true` holds class probabilities instead of classes.
    multilabel : bool, default False
        Whether each column of `y_prob` is an independent binary problem.
    normalize : bool or float, default False
        Whether to rescale each row of `y_prob` to sum to 1. A number leaves the rows as they are, and is the largest accepted deviation
        of a sum from 1; by default this follows the precision of the data, or the decimals of rounded ones.
    clip : bool, default False
        Whether to clip probabilities to [0, 1].
    missing : {"raise", "drop"}, default "raise"
        What to do about rows in which a label, probability, weight, group or feature is missing: raise an error that counts them, or
        drop them. Missing are None, NaN, NaT, a null of a frame, a masked entry and, except in groups and for names in `classes`, an
        empty text or one such as ``"NA"``; an infinite value is not.

    Attributes
    ----------
    n : int
        Number of rows.
    k : int
        Number of classes.
    kind : {"binary", "multiclass", "multilabel", "confidence"}
        Kind of the problem.
    probs : numpy.ndarray
        Probabilities.
    labels : numpy.ndarray or None
        Class indices; None for soft labels.
    soft : numpy.ndarray or None
        Soft labels.
    classes : tuple or None
        Class names.
    weight : numpy.ndarray or None
        Weights, of the kind `weight_kind`.
    groups : numpy.ndarray or None
        Index of the group of each row in `group_names`.
    features : numpy.ndarray or None
        Features.
    dropped : Dropped or None
        The rows dropped because of missing values: their number ``n``, and those of each column in ``columns``.

    Raises
    ------
    InputError
        If labels, probabilities, weights or groups are invalid, such as missing values, values outside [0, 1], rows that do not
        sum to 1, or different numbers of rows.
    InputTypeError
        If an argument has an unsupported type or is missing.
    ArgumentError
        If an option has an invalid value.

    Warns
    -----
    InputWarning
        If the input looks unintended: hard predictions in place of probabilities, probabilities passed as logits, or reversed
        classes.

    Notes
    -----
    Arrays of a suitable type are not copied. Change neither them nor their frame while the predictions are in use: the checks are not repeated.

    Examples
    --------
    >>> import calibrant as cal
    >>> p = cal.Predictions([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    >>> p
    Predictions(binary, n=4, k=2)
    >>> round(cal.ece(p), 4), round(cal.brier(p), 4)
    (0.25, 0.105)
    """

    def __init__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        label: str | None = None,
        prob: str | list[str] | None = None,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        features: Any = None,
        classes: Any = None,
        pos_label: Any = None,
        input: Literal["prob", "logit", "confidence"] = "prob",
        soft: bool = False,
        multilabel: bool = False,
        normalize: bool | float = False,
        clip: bool = False,
        missing: Literal["raise", "drop"] = "raise",
    ) -> None:
        _check_form(input, {"soft": soft, "multilabel": multilabel, "clip": clip}, normalize, missing)
        beside = {"sample_weight": sample_weight, "counts": counts, "groups": groups, "features": features}
        arguments = read_arguments(y_true, y_prob, label, prob, beside)
        if missing == "drop":
            from .missing import without_missing

            class_names = named_classes(classes, pos_label, arguments.names)
            values, dropped = without_missing(arguments.values, arguments.written, class_names)
            arguments = arguments._replace(values=values, dropped=dropped)
        elif missing != "raise":  # what the command line has dropped already
            arguments = arguments._replace(dropped=missing)
        try:
            columns = find_columns(arguments, prob, classes, pos_label, not (soft or multilabel))
            probabilities = read_probabilities(columns, input, multilabel, normalize, clip)
            labels = read_labels(columns, probabilities, soft)
            rows = read_rows(arguments.values, len(probabilities.probs))
        except CalibrantError as error:
            if not self.hints:
                raise
            from .missing import explain_error

            class_names = named_classes(classes, pos_label, arguments.names)
            reason = explain_error(error, arguments.values, arguments.written, class_names, arguments.dropped)
            if reason is error:
                raise
            raise reason from None
        self._hold(arguments, probabilities, labels, rows)
        self.row_index = index_of(y_true)
        """Index of the rows that were passed, for a mask beside them; None where they have none."""
        if self.hints:
            hint_at_mistakes(self, probabilities.sum_tolerance)

    def _hold(self, arguments: Arguments, probabilities: Probabilities, labels: Labels, rows: RowData) -> None:
        self.label_name = arguments.label_name
        """Name of the column that holds the labels; empty where it has none."""
        self.dropped = arguments.dropped
        """The rows dropped because of missing values; None if there are none."""
        self.kind, self.k = probabilities.kind, probabilities.k
        self.probs, self.logits = probabilities.probs, probabilities.logits
        self.labels, self.soft = labels.codes, labels.soft
        self.classes, self.class_order = labels.classes, labels.class_order
        self.positive = labels.positive
        """Label that was taken as positive because of its name, such as ``"yes"``; None where the positive class is given."""
        self.top_score, self.top_correct = labels.top_score, labels.top_correct
        self.weight, self.weight_kind = rows.weight, rows.weight_kind
        self.groups, self.group_names, self.groupings = rows.groups, rows.group_names, rows.groupings
        self.features, self.feature_names = rows.features, rows.feature_names
        self.views: dict[str, Any] = {}
        """Views by lens, with their sorted order and sums."""
        self.cumulative: Array | None = None
        """Cached cumulative probabilities of ordered classes, which do not depend on the labels."""
        self.kept = rows.present
        """Mask of the input rows that are present, if rows of weight 0 or with missing values were dropped."""
        for name in ARRAYS:
            values = getattr(self, name)
            if values is not None:
                setattr(self, name, frozen(values if rows.present is None else values[rows.present]))
        self.n = len(self.probs)
        if self.dropped is not None and not self.dropped.applied:
            kept = self.dropped.kept.copy()
            kept[kept] = True if rows.present is None else rows.present
            self.kept = kept

    hints: ClassVar[bool] = True
    """Whether to warn of input that looks unintended."""

    @classmethod
    def derived(cls, *args: Any, **keywords: Any) -> Predictions:
        """Construct predictions inside the library: checked, but without warnings of input that looks unintended.

        Parameters
        ----------
        *args
            Arguments of `Predictions`.
        **keywords
            Keywords of `Predictions`.

        Returns
        -------
        Predictions
            Checked predictions.
        """
        predictions = object.__new__(cls)
        predictions.__dict__["hints"] = False
        predictions.__init__(*args, **keywords)  # type: ignore[misc]
        return predictions

    @classmethod
    def unlabelled(cls, y_prob: Any, *, classes: Any = None, multilabel: bool = False, **keywords: Any) -> Predictions:
        """Construct predictions of rows whose labels are unknown; every row gets the first class as a placeholder.

        Parameters
        ----------
        y_prob : array-like of shape (N,) or (N, K)
            Predicted probabilities.
        classes : sequence, optional
            Class names in the order of the columns.
        multilabel : bool, default False
            Whether each column is an independent binary problem.
        **keywords
            Further keywords of `Predictions`.

        Returns
        -------
        Predictions
            Checked predictions.
        """
        rows = len(y_prob) if hasattr(y_prob, "__len__") else 1
        first = 0 if classes is None or multilabel else classes[0]
        labels = np.full(np.shape(y_prob) if multilabel else rows, first)
        return cls.derived(labels, y_prob, classes=classes, multilabel=multilabel, **keywords)

    def _copy(self, **changes: Any) -> Predictions:
        """The same predictions with other attributes, and without what was derived from the previous ones."""
        copy = object.__new__(Predictions)
        copy.__dict__.update({name: value for name, value in self.__dict__.items() if name != "predicted"})
        copy.views, copy.cumulative = {}, None
        for name, value in changes.items():
            setattr(copy, name, value)
        return copy

    @property
    def content(self) -> tuple[Array | None, ...]:
        """The columns that tell one row from another, for an order of the rows by their content."""
        return self.probs, self.labels, self.soft, self.weight, self.groups, self.features, self.logits

    def take(self, rows: Array) -> Predictions:
        """Return the predictions of some rows, without checking them again.

        Parameters
        ----------
        rows : numpy.ndarray or slice
            Boolean mask, row indices or slice.

        Returns
        -------
        Predictions
            Predictions of these rows.
        """
        part = self._copy(kept=None, row_index=None)
        for name in ARRAYS:
            values = getattr(self, name)
            if values is not None:
                setattr(part, name, frozen(values[rows]))
        part.n = len(part.probs)
        return part

    def in_all_rows(self, rows: Array) -> Array:
        """Return a mask of the rows that were passed, of which some may be left out as missing.

        Parameters
        ----------
        rows : numpy.ndarray of bool, shape (n,)
            Mask of the rows of these predictions.

        Returns
        -------
        numpy.ndarray of bool
            Mask for `where`; rows that were left out are False.
        """
        if self.kept is None:
            return rows
        mask = np.zeros(len(self.kept), dtype=bool)
        mask[self.kept] = rows
        return mask

    def with_labels(self, labels: Array) -> Predictions:
        """Return the same predictions with other labels, such as simulated ones, without checking them.

        Parameters
        ----------
        labels : numpy.ndarray
            Labels in the encoding of the attribute `labels`.

        Returns
        -------
        Predictions
            Predictions with these labels.
        """
        copy = self._copy(labels=frozen(labels), soft=None, cumulative=self.cumulative)
        if self.top_score is not None:
            copy.top_correct = frozen((self.predicted == labels).view(np.uint8))
            copy.__dict__["predicted"] = self.predicted
        return copy

    def with_soft_labels(self, shares: Array) -> Predictions:
        """Return the same predictions with class probabilities as labels, without checking them.

        Parameters
        ----------
        shares : numpy.ndarray
            Class probabilities in the encoding of the attribute `soft`.

        Returns
        -------
        Predictions
            Predictions with these soft labels.
        """
        return self._copy(labels=None, soft=frozen(shares), top_correct=None)

    def with_probs(self, probs: Array) -> Predictions:
        """Return the same rows with other probabilities, such as calibrated ones, without checking them.

        Parameters
        ----------
        probs : numpy.ndarray
            Probabilities of the shape of the attribute `probs`.

        Returns
        -------
        Predictions
            Predictions with these probabilities.
        """
        copy = self._copy(probs=frozen(probs), logits=None)
        if probs.ndim == 2 and self.kind != "multilabel":
            copy.top_score, copy.top_correct = check_matrix(copy.probs, self.labels, 1e-9)
        return copy

    def with_groups(self, groups: Any) -> Predictions:
        """Return the same predictions with other groups.

        Parameters
        ----------
        groups : array-like of shape (N,)
            Group of each row that is present.

        Returns
        -------
        Predictions
            Predictions with these groups.
        """
        from .grouping import read_groupings

        counts = self.weight if self.weight_kind == "counts" else None
        codes, names, groupings = read_groupings(groups, self.n, counts)
        return self._copy(groups=codes, group_names=names, groupings=groupings)

    def in_order(self, what: str) -> Predictions:
        """Return the predictions with the classes in increasing order.

        Parameters
        ----------
        what : str
            Lens or metric that requires the order, for the error message.

        Returns
        -------
        Predictions
            These predictions, or a copy with reordered columns and labels.

        Raises
        ------
        LensError
            If the order of the classes is unknown.
        """
        order = self.class_order
        if order is None:
            assert self.classes is not None
            names = ", ".join(map(str, self.classes[:8])) + (", ..." if self.k > 8 else "")
            raise LensError(
                "classes",
                f"{what!r} requires the order of the classes, and the order of the columns ({names}) may be arbitrary",
                "list the columns in increasing order of the classes or pass labels of an ordered categorical type",
            )
        if order == tuple(range(self.k)) or self.probs.ndim == 1:
            return self
        columns = np.array(order)
        copy = self._copy(class_order=tuple(range(self.k)))
        copy.classes = None if self.classes is None else tuple(self.classes[column] for column in order)
        for name in ("probs", "logits", "soft"):
            value = getattr(self, name)
            if value is not None:
                setattr(copy, name, frozen(value[:, columns]))
        if self.labels is not None:
            copy.labels = frozen(np.argsort(columns)[self.labels])
        return copy

    @property
    def exclusive_classes(self) -> int | None:
        """Number of classes of which each row has one; None for several labels per row, and for confidences."""
        return self.k if self.kind in ("binary", "multiclass") else None

    @cached_property
    def predicted(self) -> Array:
        """Class with the largest probability in each row; the lowest index among ties."""
        if self.kind in ("multilabel", "confidence"):
            raise InputError("y_prob", f"{self.kind} predictions have no predicted class")
        if self.probs.ndim == 1:
            return frozen((self.probs > 0.5).astype(np.intp))
        blocks = map_blocks(lambda a, b: self.probs[a:b].argmax(axis=1), self.n, rows_per_block(self.k), columns=self.k)
        return frozen(np.concatenate(blocks))

    def class_index(self, name: Any, argument: str = "lens") -> int:
        """Return the column of a class.

        Parameters
        ----------
        name : object
            Name of the class, or its index if the classes have no names.
        argument : str, default "lens"
            Argument that an error message names.

        Returns
        -------
        int
            Index of the column.

        Raises
        ------
        ArgumentError
            If there is no such class.
        """
        if self.classes is not None:
            for index, name_at in enumerate(self.classes):
                if name == name_at or str(name) == str(name_at):
                    return index
        elif not isinstance(name, bool) and str(name).lstrip("-").isdigit() and 0 <= int(name) < self.k:
            return int(name)
        known_names = (
            list(self.classes) if self.classes is not None else "0 and 1" if self.k == 2 else f"0 to {self.k - 1}"
        )
        raise ArgumentError(argument, f"unknown class {name!r}", f"the classes are {known_names}")

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        weights = "" if self.weight is None else f", {self.weight_kind} weights"
        positive = "" if self.positive is None else f", positive {self.positive!r}"
        return f"Predictions({self.kind}, n={self.n}, k={self.k}{weights}{positive})"


def _check_form(input: Any, flags: Mapping[str, Any], normalize: Any, missing: Any) -> None:
    """Raise for invalid values of the keywords that describe the form of the input."""
    if (
        missing != "raise" and missing != "drop" and type(missing).__name__ != "Dropped"
    ):  # whose module is loaded if used
        raise ArgumentError("missing", f"must be 'raise' or 'drop'; got {missing!r}")
    if input not in ("prob", "logit", "confidence"):
        hint = "did you mean 'logit'?" if input in ("logits", "log_odds", "logodds") else ""
        raise ArgumentError("input", f"must be 'prob', 'logit' or 'confidence'; got {input!r}", hint)
    for name, flag in flags.items():
        if not isinstance(flag, (bool, np.bool_)):
            raise ArgumentError(name, f"must be True or False; got {flag!r}")
    if not isinstance(normalize, (bool, np.bool_)) and not (is_number(normalize) and normalize >= 0):
        problem = f"must be True, False or a non-negative number; got {normalize!r}"
        raise ArgumentError("normalize", problem, "for example 1e-3, the accepted deviation of a sum from 1")
