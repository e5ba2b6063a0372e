"""Predictions: labels, probabilities or logits, weights, groups and features, checked in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    ArgumentError,
    CalibrantError,
    InputError,
    InputTypeError,
    LabelError,
    LensError,
    ProbabilityError,
    ShapeError,
    SwappedArgumentsError,
)
from ..util.blocks import map_blocks, rows_per_block
from ..util.cached import cached_property
from .convert import PAIR, SUM_TOLERANCE, Column, column, frozen, is_frame, is_number, numbers, pick_columns
from .frames import ColumnNames, check_same_rows, classes_of_columns, column_names, read_columns
from .frames import class_names as names_of_columns
from .hints import hint_at_mistakes
from .labels import (
    SWAP,
    class_names,
    class_order,
    encode_labels,
    is_text,
    multilabel_targets,
    names_around,
    ordered_categories,
    soft_targets,
)
from .probabilities import check_matrix, check_vector, quick_matrix, quick_vector
from .weights import WeightKind, read_features, read_weights

if TYPE_CHECKING:
    from .grouping import Grouping
    from .missing import Dropped

Array = NDArray[Any]
Kind = Literal["binary", "multiclass", "multilabel", "confidence"]


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
        torch objects are accepted and matched by position; a pandas index in a different order raises.
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
    normalize : bool, default False
        Whether to rescale each row of `y_prob` to sum to 1.
    clip : bool, default False
        Whether to clip probabilities to [0, 1].
    sum_tolerance : float, optional
        Largest accepted deviation of a row sum from 1; by default it follows the precision of the data, or the decimals of rounded ones.
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

    Examples
    --------
    >>> import calibrant as cal
    >>> p = cal.Predictions([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    >>> p
    Predictions(binary, n=4, k=2)
    >>> round(cal.ece(p), 4), round(cal.brier(p), 4)
    (0.25, 0.105)
    """

    same_probs: Predictions | None = None
    """Predictions with the same probabilities and other labels, whose sorted order is used."""

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
        normalize: bool = False,
        clip: bool = False,
        sum_tolerance: float | None = None,
        missing: Literal["raise", "drop"] = "raise",
    ) -> None:
        name = label if label is not None else getattr(y_true, "name", None)
        self.label_name: str = name if isinstance(name, str) else ""
        """Name of the column that holds the labels; empty where it has none."""
        flags = {"soft": soft, "multilabel": multilabel, "normalize": normalize, "clip": clip}
        _check_form(input, flags, sum_tolerance, missing)
        beside = {"sample_weight": sample_weight, "counts": counts, "groups": groups, "features": features}
        if type(y_true) is not np.ndarray:
            check_same_rows(y_true, {"y_prob": y_prob, **beside})
        columns = None if type(y_prob) is np.ndarray else column_names(y_prob)
        given_names = beside
        if label is not None or prob is not None or (y_prob is None and is_frame(y_true)):
            frame = y_true
            y_true, y_prob = _from_frame(frame, y_prob, label, prob)
            columns = column_names(y_prob)
            beside = {
                name: (_groups_of_frame if name == "groups" else pick_columns)(frame, value, name)
                if isinstance(value, str) or (name in ("groups", "features") and _all_names(value))
                else value
                for name, value in beside.items()
            }
        given = {"y_true": y_true, "y_prob": y_prob, **beside}
        self.kept: Array | None = None
        """Mask of the input rows that are present, if rows of weight 0 or with missing values were dropped."""
        before: Any = missing  # the command line passes what it has dropped already
        self.dropped: Dropped | None = None if isinstance(before, str) else before
        """The rows dropped because of missing values; None if there are none."""
        if missing != "raise":
            from .missing import dropping, without_missing

            if missing == "drop":
                given, self.dropped = without_missing(
                    given, _written(given_names, label, prob), _names_of_classes(classes, pos_label, columns)
                )
            if self.dropped is not None:
                dropping(self.dropped)
        form = (input, soft, multilabel, normalize, clip, sum_tolerance)
        try:
            self._read(given, columns, prob, classes, pos_label, form)
        except CalibrantError as error:
            from .missing import explained

            known = _names_of_classes(classes, pos_label, columns)
            other = (
                explained(error, given, _written(given_names, label, prob), known, self.dropped)
                if self.hints
                else error
            )
            if other is error:
                raise
            raise other from None
        if self.dropped is not None and not self.dropped.applied:
            kept = self.dropped.kept.copy()
            kept[kept] = True if self.kept is None else self.kept
            self.kept = kept

    def _read(
        self,
        given: Mapping[str, Any],
        columns: tuple[Any, ...] | None,
        prob: str | list[str] | None,
        classes: Any,
        pos_label: Any,
        form: tuple[Any, ...],
    ) -> None:
        y_true, y_prob, sample_weight, counts, groups, features = given.values()
        input, soft, multilabel, normalize, clip, sum_tolerance = form
        # A list of columns is in the intended order; a pattern or a frame of probabilities may be in any.
        by_columns = isinstance(classes, ColumnNames) if classes is not None else not isinstance(prob, (list, tuple))
        came_labels, came_probs = _pair(y_true, y_prob)
        if columns is not None and came_labels.array.ndim == 1 and not (soft or multilabel):
            pattern = prob if isinstance(prob, str) else ""
            order, classes, pos_label = read_columns(columns, pattern, classes, pos_label, came_labels.array)
            if order is not None:
                came_probs = Column(np.ascontiguousarray(came_probs.array[:, order]), came_probs.precision)
                columns = tuple(columns[place] for place in order)
        elif columns is None and classes is None and came_probs.array.ndim == 2 and not (soft or multilabel):
            named = ordered_categories(y_true)
            if named and len(named) == came_probs.array.shape[1] and all(isinstance(name, str) for name in named):
                if list(named) != sorted(named):  # scikit-learn, for one, would have sorted the columns by name
                    raise LabelError(
                        "y_true",
                        "is an ordered categorical, and whether the columns of y_prob have its order or the alphabetical one is unknown",
                        f"use classes={list(named)!r} if they have the order of the categories, or classes={sorted(named)!r} if they are alphabetical, as those of scikit-learn",
                    )
                classes = named
        self.logits: Array | None = None
        self.views: dict[str, Any] = {}
        self.n = len(came_probs.array)
        probs = _probabilities(numbers(came_probs.array, "y_prob"), came_labels.array, multilabel, input)
        tolerance = sum_tolerance if sum_tolerance is not None else SUM_TOLERANCE.get(came_probs.precision, 1e-6)
        came_tolerance = tolerance
        if input == "logit":
            self.logits = frozen(probs)
            probs = _from_logits(probs, multilabel)
            tolerance = np.inf
        elif clip or normalize:
            probs = _mend(probs, clip, normalize and probs.ndim == 2 and not multilabel)
        self.k = 2 if probs.ndim == 1 else probs.shape[1]
        self.kind: Kind = (
            "confidence"
            if input == "confidence"
            else "multilabel"
            if multilabel
            else "binary"
            if self.k == 2
            else "multiclass"
        )
        if columns is not None and pos_label is None and not soft and self.kind in ("binary", "multiclass"):
            classes = classes_of_columns(columns, classes, came_labels.array)
        self.classes = None if classes is None else class_names(classes, self.k)
        self.class_order: tuple[int, ...] | None = tuple(range(self.k))
        """Columns in increasing order of their classes, for ordered classes; None if the order is unknown."""
        if self.classes is not None and self.k > 2:
            self.class_order = class_order(self.classes, ordered_categories(y_true), by_columns)
        self.cumulative: Array | None = None
        """Cached cumulative probabilities of ordered classes, which do not depend on the labels."""
        self.probs = probs
        self.labels: Array | None = None
        self.soft: Array | None = None
        self.top_score: Array | None = None
        self.top_correct: Array | None = None
        try:
            self._read_labels(came_labels, pos_label, soft, tolerance, sum_tolerance is None)
        except ProbabilityError as error:
            names = columns if columns is not None and len(columns) == self.k else self.classes
            if names is None or not isinstance(error.column, int) or error.column >= len(names):
                raise
            raise error.replaced(column=str(names[error.column])) from None
        self.weight: Array | None = None
        self.weight_kind: WeightKind = "unit"
        self.groups: Array | None = None
        self.group_names: tuple[Any, ...] = ()
        self.groupings: tuple[Grouping, ...] = ()
        """What the groups are combinations of: one grouping for each column, set of quantiles or expression."""
        self.features: Array | None = None
        if not (sample_weight is None and counts is None and groups is None and features is None):
            self.weight, self.weight_kind = read_weights(sample_weight, counts, self.n)
            if groups is not None:
                from .grouping import read_groupings

                counts_of_rows = self.weight if self.weight_kind == "counts" else None
                self.groups, self.group_names, self.groupings = read_groupings(groups, self.n, counts_of_rows)
            self.features = read_features(features, self.n)
        self._freeze()
        if self.weight is not None and not self.weight.all():
            self.kept = self.weight > 0
            if self.groups is not None:
                from .grouping import note_unweighted

                self.groupings = note_unweighted(self.groupings, self.groups, self.kept)
            self._keep(self.kept)
        if self.hints:
            hint_at_mistakes(self, came_tolerance)

    hints: ClassVar[bool] = True
    """Whether to warn of input that looks unintended."""

    _check: Callable[[Array, Array], bool] | None = None
    """A check of one score per row and labels, before the usual ones and instead of them if it returns True."""

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
        made = object.__new__(cls)
        made.__dict__["hints"] = False
        made.__init__(*args, **keywords)  # type: ignore[misc]
        return made

    def _read_labels(self, came: Column, pos_label: Any, soft: bool, tolerance: float, printed: bool) -> None:
        probs, multilabel = self.probs, self.kind == "multilabel"
        if soft or multilabel:
            if pos_label is not None:
                raise LabelError("pos_label", "cannot be combined with soft or multilabel labels", "drop one of them")
            if soft:
                self.soft = soft_targets(came, self.k, probs.ndim == 1, multilabel)
            else:
                self.labels = multilabel_targets(came, probs.shape)
        elif pos_label is None and self.classes is None and self._read_quickly(came.array, tolerance):
            return
        if self.labels is None and self.soft is None:
            self.labels = encode_labels(came, self.k, self.classes, pos_label, probs)
            if pos_label is not None:
                self.classes = names_around(came.array, self.classes, pos_label)
        if probs.ndim == 1 or multilabel:
            check_vector(probs)
        else:
            self.top_score, self.top_correct = check_matrix(probs, self.labels, tolerance, printed)

    def _read_quickly(self, labels: Array, tolerance: float) -> bool:
        """Check probabilities and labels in one pass; return False if that is not possible or something is invalid."""
        if labels.ndim != 1:
            return False
        if labels.dtype == np.bool_:
            labels = labels.view(np.uint8)
        if self.probs.ndim == 1:
            checked = self._check is not None and self._check(frozen(self.probs), frozen(labels))
            if not (checked or quick_vector(self.probs, labels)):
                return False
            self.labels = labels
            return True
        found = quick_matrix(self.probs, labels, tolerance)
        if found is None:
            return False
        self.labels = labels.astype(np.uint8 if self.k == 2 else np.intp, copy=False)
        self.top_score, self.top_correct = found
        return True

    def _freeze(self) -> None:
        for name in ("probs", "labels", "soft", "top_score", "top_correct", "weight", "groups", "features"):
            value = getattr(self, name)
            if value is not None:
                setattr(self, name, frozen(value))

    def _keep(self, rows: Array) -> None:
        for name in ("probs", "labels", "soft", "top_score", "top_correct", "weight", "groups", "features", "logits"):
            value = getattr(self, name)
            if value is not None:
                setattr(self, name, frozen(value[rows]))
        self.n = len(self.probs)

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
        part = object.__new__(Predictions)
        part.__dict__.update({name: value for name, value in self.__dict__.items() if name != "predicted"})
        part.views = {}
        part.cumulative = part.same_probs = None
        part.kept = None
        part._keep(rows)
        return part

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
        other = object.__new__(Predictions)
        other.__dict__.update(self.__dict__)
        other.views = {}
        other.soft = None
        other.labels = frozen(labels)
        other.same_probs = self if self.same_probs is None else self.same_probs
        if self.top_score is not None:
            other.top_correct = frozen((self.predicted == labels).view(np.uint8))
        return other

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
        other = object.__new__(Predictions)
        other.__dict__.update({name: value for name, value in self.__dict__.items() if name != "predicted"})
        other.views, other.cumulative, other.class_order = {}, None, tuple(range(self.k))
        other.same_probs = None
        other.classes = None if self.classes is None else tuple(self.classes[column] for column in order)
        for name in ("probs", "logits", "soft"):
            value = getattr(self, name)
            if value is not None:
                setattr(other, name, frozen(value[:, columns]))
        if self.labels is not None:
            other.labels = frozen(np.argsort(columns)[self.labels])
        return other

    @cached_property
    def predicted(self) -> Array:
        """Class with the largest probability in each row; the lowest index among ties."""
        if self.kind in ("multilabel", "confidence"):
            raise InputError("y_prob", f"{self.kind} predictions have no predicted class")
        if self.probs.ndim == 1:
            return frozen((self.probs > 0.5).astype(np.intp))
        found = map_blocks(lambda a, b: self.probs[a:b].argmax(axis=1), self.n, rows_per_block(self.k), columns=self.k)
        return frozen(np.concatenate(found))

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
            for index, known in enumerate(self.classes):
                if name == known or str(name) == str(known):
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
        return f"Predictions({self.kind}, n={self.n}, k={self.k}{weights})"


def _written(beside: Mapping[str, Any], label: str | None, prob: Any) -> dict[str, str]:
    """Return the columns of a frame that arguments name."""
    named = {**beside, "y_true": label, "y_prob": prob}
    return {argument: name for argument, name in named.items() if isinstance(name, str)}


def _names_of_classes(classes: Any, pos_label: Any, columns: tuple[Any, ...] | None) -> set[str]:
    """Names of classes, which are not missing labels even if a class is called ``NA``."""
    listed = list(classes) if isinstance(classes, (list, tuple, np.ndarray)) else []
    named = [] if columns is None else [*columns, *(names_of_columns(list(map(str, columns)), "") or ())]
    return {name for name in (*listed, pos_label, *named) if isinstance(name, str)}


def _check_form(input: Any, flags: Mapping[str, Any], sum_tolerance: Any, missing: Any) -> None:
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
    if sum_tolerance is not None and not (is_number(sum_tolerance) and sum_tolerance >= 0):
        raise ArgumentError(
            "sum_tolerance", f"must be a non-negative number; got {sum_tolerance!r}", "for example 1e-3"
        )


def _all_names(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(name, str) for name in value)


def _groups_of_frame(frame: Any, by: Any, argument: str) -> Any:
    from .grouping import from_frame

    return from_frame(frame, by, argument)


def _from_frame(frame: Any, y_prob: Any, label: str | None, prob: str | list[str] | None) -> tuple[Any, Any]:
    if not is_frame(frame):
        raise InputTypeError(
            "label",
            "and prob are names of columns, and the first argument is not a frame",
            "pass a frame first, or two arrays",
        )
    if y_prob is not None:
        raise InputTypeError(
            "y_prob",
            "cannot be combined with label and prob",
            "pass the frame alone",
        )
    if label is None or prob is None:
        missing = "label" if label is None else "prob"
        raise InputTypeError(missing, "is required when the first argument is a frame", "name the column")
    return pick_columns(frame, label, "label"), pick_columns(frame, prob, "prob")


def checked_by(check: Callable[[Array, Array], bool], *args: Any, **keywords: Any) -> Predictions:
    """Construct predictions with a `check` that computes something in its pass over the rows."""
    made = object.__new__(Predictions)
    made._check = check
    made.__init__(*args, **keywords)  # type: ignore[misc]
    made._check = None
    return made


def _pair(y_true: Any, y_prob: Any) -> tuple[Column, Column]:
    if isinstance(y_true, Predictions) or isinstance(y_prob, Predictions):
        raise InputTypeError("y_true", "cannot be combined with Predictions", "pass the Predictions alone")
    if y_prob is None:
        if hasattr(y_true, "to_bytes") and hasattr(y_true, "merge"):  # importing Sketch here would be an import cycle
            raise InputTypeError(
                "y_true", "a sketch keeps no rows, which are required here", "pass labels and probabilities"
            )
        raise InputTypeError("y_prob", "is missing", PAIR)
    labels, probs = column(y_true, "y_true"), column(y_prob, "y_prob")
    rows, others = len(labels.array), len(probs.array)
    if rows != others:
        remedy = "one label per row is required"
        transposed = probs.array.ndim == 2 and probs.array.shape[1] == rows
        raise ShapeError(
            "y_prob",
            f"has {others} rows and y_true has {rows}",
            "pass y_prob.T: it has one column per row" if transposed else remedy,
        )
    if labels.array.dtype.kind == "f" and is_text(probs.array):
        raise SwappedArgumentsError(
            "y_true", "the labels are fractions and the probabilities are text: they look swapped", SWAP
        )
    return labels, probs


def _probabilities(probs: Array, labels: Array, multilabel: bool, input: str) -> Array:
    """Check the shape and convert to floating point; float16 is widened to float32, which represents it exactly."""
    if probs.ndim == 2 and input == "confidence":
        raise ShapeError(
            "y_prob",
            f"confidence is one number per row; got {probs.shape[1]} columns",
            "pass y_prob.max(axis=1) or drop input='confidence'",
        )
    if probs.ndim == 2 and probs.shape[1] == 1 and not multilabel:
        raise ShapeError(
            "y_prob",
            "has a single column, which could be that of either class",
            "pass y_prob[:, 0] if it is the probability of the positive class",
        )
    if probs.ndim == 2 and probs.shape[1] == 0:
        raise ShapeError("y_prob", "has no columns", "pass one column per class")
    if probs.ndim == 1 and multilabel:
        raise ShapeError(
            "y_prob",
            "multilabel predictions must have one column per class; got one dimension",
            "drop multilabel=True",
        )
    if (
        probs.ndim == 1
        and labels.ndim == 2
        and probs.dtype.kind in "iu"
        and labels.dtype.kind == "f"
        and labels.shape[1] > 2
    ):
        raise SwappedArgumentsError(
            "y_true",
            "the labels are columns of fractions and the probabilities are integers: they look swapped",
            SWAP,
        )
    if probs.dtype.kind != "f":
        return probs.astype(np.float64)
    return probs.astype(np.float32) if probs.dtype.itemsize == 2 else probs


def _from_logits(logits: Array, multilabel: bool) -> Array:
    """Compute the sigmoid or softmax in float64, block by block and without overflow."""
    columns = 1 if logits.ndim == 1 else logits.shape[1]
    probs = np.empty(logits.shape)
    bad = np.isnan(logits) if logits.ndim == 1 or multilabel else np.isnan(logits) | (logits == np.inf)
    if bad.any():
        where = np.argwhere(bad)[0]
        row = int(where[0])
        raise ProbabilityError(
            "y_prob",
            f"logits must be finite; got {float(logits[tuple(where)])}",
            "drop or correct the row",
            row=row,
        )
    softmax = logits.ndim == 2 and not multilabel

    def work(start: int, stop: int) -> None:
        z = logits[start:stop].astype(np.float64)
        if softmax:
            z -= z.max(axis=1, keepdims=True)
            np.exp(z, out=z)
            z /= z.sum(axis=1, keepdims=True)
            probs[start:stop] = z
        else:
            e = np.exp(-np.abs(z))
            probs[start:stop] = np.where(z >= 0, 1.0, e) / (1 + e)

    with np.errstate(invalid="ignore", under="ignore"):
        map_blocks(work, len(logits), rows_per_block(columns), columns=columns)
    if softmax and np.isnan(probs).any():
        row = int(np.argmax(np.isnan(probs).any(axis=1)))
        raise ProbabilityError(
            "y_prob", "at least one logit per row must be finite; all are -inf", "drop or correct the row", row=row
        )
    return probs


def _mend(probs: Array, clip: bool, normalize: bool) -> Array:
    """Clip and normalise as requested; NaN and infinity are left for the check to report."""
    probs = probs.astype(np.float64)
    if clip:
        finite = np.isfinite(probs)
        probs[finite] = probs[finite].clip(0, 1)
    if normalize:
        with np.errstate(over="ignore", invalid="ignore"):
            sums = probs.sum(axis=1)
        if (sums == 0).any():
            row = int(np.argmax(sums == 0))
            raise ProbabilityError("y_prob", "cannot rescale probabilities that sum to 0", "drop the row", row=row)
        negative = (np.isfinite(probs) & (probs < 0)).any(axis=1)
        if negative.any():
            row = int(np.argmax(negative))
            raise ProbabilityError("y_prob", "cannot rescale negative entries", "pass clip=True as well", row=row)
        finite = np.isfinite(sums)
        probs[finite] /= sums[finite, None]
    return probs
