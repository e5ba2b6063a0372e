"""Refitting a model: the rows it is trained on, copies of the estimator, and the rows of each resample or fold."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, InputTypeError, LabelError, ShapeError
from ..inference.replicates import Replicates, rows_by_code
from ..inference.seeds import generator
from ..input.convert import column, is_frame
from ..input.frames import positive_of
from ..input.grouping import one_group_column
from ..input.predictions import Predictions
from ..util.arrays import Floats

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class TrainingRows:
    """The rows: predictors, class codes (1 is the event of two) and clusters."""

    X: Any
    take: Callable[[Indices], Any]
    y: NDArray[Any]
    codes: NDArray[np.int64]
    classes: tuple[Any, ...]
    groups: NDArray[Any] | None

    @property
    def n(self) -> int:
        return len(self.codes)

    @property
    def k(self) -> int:
        return len(self.classes)

    @classmethod
    def read(cls, X: Any, y: Any, groups: Any) -> TrainingRows:
        labels = column(y, "y").array
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        if labels.ndim != 1:
            raise ShapeError("y", f"expected one label per row, got shape {labels.shape}")
        if labels.dtype.kind == "f" and np.isnan(labels).any():
            row = int(np.isnan(labels).argmax())
            raise LabelError("y", "missing label", "drop or fill these rows", row=row)
        X, take, rows = _taker(X)
        if rows != len(labels):
            raise ShapeError("X", f"has {rows} rows, and y has {len(labels)}")
        classes = _classes(labels)
        code = {name: place for place, name in enumerate(classes)}
        codes = np.fromiter((code[value] for value in labels.tolist()), np.int64, len(labels))
        clusters, _ = one_group_column(groups, len(labels), "clusters")
        if clusters is not None and clusters.max() < 1:
            raise ArgumentError("groups", "holds a single cluster", "leave groups out")
        return cls(X, take, labels, codes, classes, clusters)

    def predictions(self, probs: Floats, rows: Any = slice(None)) -> Predictions:
        return Predictions(self.codes[rows], probs[rows])


def _taker(X: Any) -> tuple[Any, Callable[[Indices], Any], int]:
    """The predictors, a function that takes rows of them, and their number."""
    if is_frame(X) and not isinstance(X, dict):
        import narwhals.stable.v2 as nw

        frame = nw.from_native(X, eager_only=True)
        return X, lambda rows: frame[rows, :].to_native(), len(frame)
    if not hasattr(X, "shape"):
        try:
            X = np.asarray(X)
        except ValueError:
            raise ShapeError("X", "rows have different lengths", "pass one row of predictors per label") from None
    if len(X.shape) < 2:
        raise ShapeError("X", f"expected one row of predictors per label, got shape {tuple(X.shape)}")
    # Sparse matrices in coordinate form have no rows to take.
    X = X.tocsr() if hasattr(X, "tocsr") else X
    return X, lambda rows: X[rows], int(X.shape[0])


def _classes(labels: NDArray[Any]) -> tuple[Any, ...]:
    """The classes in increasing order, of two the event last."""
    names = list(set(labels.tolist()))
    try:
        names.sort()
    except TypeError:
        raise LabelError("y", "mixes labels that have no order, such as text and numbers or missing values") from None
    if len(names) < 2:
        raise LabelError(
            "y", f"only the class {names[0] if names else None!r} occurs", "pass rows of at least two classes"
        )
    if len(names) > 2:
        return tuple(names)
    place = positive_of(names)
    if place is None:
        raise LabelError(
            "y", f"which of {names[0]!r} and {names[1]!r} is the event is not determined", f"pass y == {names[1]!r}"
        )
    return names[1 - place], names[place]


def check_estimator(estimator: Any) -> None:
    """Raise where an estimator cannot be refitted or gives no probabilities."""
    if isinstance(estimator, type):
        raise InputTypeError("estimator", "is a class", f"pass an instance, such as {estimator.__name__}()")
    for needed in ("fit", "predict_proba"):
        if not hasattr(estimator, needed):
            hint = "pass a classifier with fit and predict_proba"
            if needed == "predict_proba" and hasattr(estimator, "decision_function"):
                hint = "wrap it, for example in calibrant.sklearn.CalibratedModel"
            raise ArgumentError("estimator", f"{type(estimator).__name__} has no {needed}", hint)


def _clone(estimator: Any) -> Any:
    """An unfitted copy, by scikit-learn where it can."""
    try:
        from sklearn.base import clone
    except ImportError:
        return copy.deepcopy(estimator)
    return clone(estimator, safe=False)


def fit_of(estimator: Any, data: TrainingRows) -> Callable[[Indices], tuple[Any, Floats]]:
    """A function that fits a copy of the estimator to rows, and returns it with its probabilities for all rows."""
    original = np.arange(data.n)

    def fit(rows: Indices) -> tuple[Any, Floats]:
        model = _clone(estimator)
        whole = len(rows) == data.n and bool((rows == original).all())
        model = model.fit(data.X if whole else data.take(rows), data.y[rows]) or model
        probs = np.asarray(model.predict_proba(data.X), dtype=np.float64)
        known = list(np.asarray(getattr(model, "classes_", sorted(data.classes))).tolist())
        if probs.ndim == 1 and data.k == 2:
            return model, probs
        if probs.shape != (data.n, data.k) or set(known) != set(data.classes):
            raise ShapeError(
                "estimator", f"predict_proba returned shape {probs.shape} for {data.n} rows and {data.k} classes"
            )
        probs = probs[:, [known.index(name) for name in data.classes]]
        return model, np.ascontiguousarray(probs[:, 1]) if data.k == 2 else probs

    return fit


def one_blas_thread() -> AbstractContextManager[object]:
    """A context in which linear algebra uses one thread: on the small matrices of many refits, several mostly wait for each other."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # installed with scikit-learn
        return nullcontext()
    return threadpool_limits(1, "blas")


def bootstrap_rows(data: TrainingRows, n_resamples: int, seed: int) -> list[Indices]:
    """Rows of bootstrap resamples: of all rows, or whole clusters."""
    clusters = None if data.groups is None else rows_by_code(data.groups)
    replicates = Replicates(data.n, n_resamples, seed, clusters=clusters)
    return [replicates.rows(number) for number in range(n_resamples)]


def cross_validation_folds(data: TrainingRows, folds: int, seed: int) -> Iterator[tuple[Indices, Indices]]:
    """Rows for training and test of every fold."""
    units = data.n if data.groups is None else int(data.groups.max()) + 1
    if folds > units:
        problem = f"must be at most the number of {'rows' if data.groups is None else 'clusters'}, {units}; got {folds}"
        raise ArgumentError("resamples", problem)
    rng = generator(seed, 0)
    if data.groups is None:
        fold = _stratified_folds(data.codes, folds, rng)
    else:
        fold = _balanced_folds(np.bincount(data.groups), folds, rng)[data.groups]
    for place in range(folds):
        yield np.flatnonzero(fold != place), np.flatnonzero(fold == place)


def _stratified_folds(codes: NDArray[np.int64], folds: int, rng: np.random.Generator) -> Indices:
    """The fold of each row; each fold has its share of each class."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    fold = np.empty(len(codes), np.intp)
    fold[order] = np.arange(len(codes)) % folds
    return fold


def _balanced_folds(sizes: NDArray[np.int64], folds: int, rng: np.random.Generator) -> Indices:
    """The fold of each cluster, the one with the fewest rows so far."""
    load = np.zeros(folds)
    fold = np.empty(len(sizes), np.intp)
    for cluster in rng.permutation(len(sizes)):
        fold[cluster] = load.argmin()
        load[fold[cluster]] += sizes[cluster]
    return fold


def given_resamples(resamples: Iterable[Any], n: int, cross: bool) -> Iterator[Any]:
    """Resamples of the user, checked."""
    what = "pairs (train, test) of row indices" if cross else "arrays of row indices"
    for place, resample in enumerate(resamples):
        try:
            parts = [np.asarray(part) for part in (resample if cross else [resample])]
        except ValueError:  # parts of different lengths
            parts = []
        are_indices = [part.ndim == 1 and part.dtype.kind in "iu" and len(part) > 0 for part in parts]
        if are_indices != [True] * (1 + cross) or any(part.min() < 0 or part.max() >= n for part in parts):
            raise ArgumentError("resamples", f"must be {what} from 0 to {n - 1}; see entry {place}")
        yield tuple(part.astype(np.intp) for part in parts) if cross else parts[0].astype(np.intp)
