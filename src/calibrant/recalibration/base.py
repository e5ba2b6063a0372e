"""CalibrationMap: what every map from scores to probabilities has in common."""

from __future__ import annotations

import hashlib
import inspect
import math
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ..curves.logistic_regression import logit
from ..errors import (
    ArgumentError,
    FittedOnTheseRowsWarning,
    NotFittedError,
    ShapeError,
    SureScoresWarning,
    UnknownArgumentError,
    warn_caller,
)
from ..input.frames import check_same_rows
from ..input.predictions import Predictions
from ..input.weights import WeightKind
from ..util.blocks import map_blocks, rows_per_block
from .reading import in_order, named_as, read_rows

__all__ = ["CalibrationMap", "Scores", "TrainingData", "fingerprint", "normalised", "row_hashes"]

Array = NDArray[Any]
Floats = NDArray[np.float64]
Input = Literal["prob", "logit"]

# The smallest probability whose logarithm is taken: a 0 then costs a row no more than what a double resolves near 1.
SMALLEST = 1e-16


class Scores:
    """Checked scores of some rows, as probabilities and as logits, whichever a map reads."""

    def __init__(self, predictions: Predictions) -> None:
        self._p = predictions
        self.n = predictions.n
        self.k = predictions.k

    @cached_property
    def probs(self) -> Floats:
        """(N, K) probabilities."""
        probs = self._p.probs.astype(np.float64, copy=False)
        return np.column_stack([1 - probs, probs]) if probs.ndim == 1 else probs

    @cached_property
    def score(self) -> Floats:
        """The probability of the second of two classes."""
        probs = self._p.probs.astype(np.float64, copy=False)
        return probs if probs.ndim == 1 else np.ascontiguousarray(probs[:, 1])

    @cached_property
    def logits(self) -> Floats:
        """(N, K) logits: those given, or logarithms of the probabilities."""
        given = self._p.logits
        if given is None:
            return np.log(np.maximum(self.probs, SMALLEST))
        given = given.astype(np.float64, copy=False)
        if given.ndim == 1:
            return np.column_stack([np.zeros(self.n), self.log_odds])
        if np.isneginf(given.min()):  # a class ruled out: as where its probability is given as 0
            top = given.max(axis=1, keepdims=True)
            given = np.where(np.isneginf(given), top + math.log(SMALLEST), given)
        return given

    @cached_property
    def log_odds(self) -> Floats:
        """Of the second of two classes, kept within those of 1e-12 and 1 - 1e-12 where they come from probabilities."""
        given = self._p.logits
        if given is None:
            return logit(self.score)
        if given.ndim == 1:
            given = given.astype(np.float64, copy=False)
            return np.where(np.isinf(given), np.copysign(-math.log(SMALLEST), given), given)
        return np.asarray(self.logits[:, 1] - self.logits[:, 0])

    @property
    def fingerprint(self) -> str:
        """A name for these rows that does not depend on their order."""
        return fingerprint(self._p.probs if self._p.logits is None else self._p.logits)


class TrainingData(Scores):
    """Scores with the label and the weight of each row."""

    def __init__(self, predictions: Predictions) -> None:
        super().__init__(predictions)
        assert predictions.labels is not None
        self.labels: Array = predictions.labels
        self.weight = np.ones(self.n) if predictions.weight is None else predictions.weight.astype(np.float64)

    @property
    def counted(self) -> bool:
        """Whether a weight is a number of rows, and not an importance."""
        return self._p.weight_kind == "counts"

    @property
    def given_weight(self) -> tuple[Array | None, WeightKind]:
        """Weights and their kind, as a `View` takes them; weights of 1 are none."""
        if (self.weight == 1).all():
            return None, "unit"
        return self._p.weight, self._p.weight_kind


def row_hashes(values: Array, seed: Any) -> NDArray[np.uint64]:
    """A hash of each row; the sign of 0 does not count."""
    rows = _bits(values)
    seeds = _odd_numbers(rows.shape[1], seed)
    parts = map_blocks(
        lambda start, stop: _mixed(rows[start:stop], seeds),
        len(rows),
        rows_per_block(rows.shape[1]),
        columns=rows.shape[1],
    )
    return np.concatenate(parts) if parts else np.empty(0, np.uint64)


def fingerprint(scores: Array) -> str:
    """A hash of the rows that does not depend on their order; the sign of 0 does not count."""
    rows = _bits(scores)
    seeds = _odd_numbers(rows.shape[1], 20_240_501)

    def added(start: int, stop: int) -> tuple[int, int]:
        row = _mixed(rows[start:stop], seeds)
        return int(row.sum(dtype=np.uint64)), int(np.square(row).sum(dtype=np.uint64))

    parts = map_blocks(added, len(rows), rows_per_block(rows.shape[1]), columns=rows.shape[1])
    total = [sum(column) % 2**64 for column in zip(*parts, strict=True)]
    return hashlib.sha256(repr((rows.shape, total)).encode()).hexdigest()[:32]


def _bits(values: Array) -> NDArray[np.uint64]:
    values = np.ascontiguousarray(values, dtype=np.float64) + 0.0
    return values.reshape(len(values), -1).view(np.uint64)


def _odd_numbers(count: int, seed: Any) -> NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(1, 2**63, count, dtype=np.uint64) | np.uint64(1)


def _mixed(rows: NDArray[np.uint64], seeds: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Each column is multiplied by its own odd number and the row mixed once more."""
    row = np.bitwise_xor.reduce(rows * seeds, axis=1)
    for _ in range(2):
        row = (row ^ (row >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(row)


@dataclass(frozen=True)
class FitRecord:
    """What a map was fitted on."""

    rows: int
    weight: float
    fingerprint: str
    preprocessing: str | None = None


def normalised(rows: Floats, otherwise: Floats) -> Floats:
    """Rows divided by their sum; where that is 0, the rows of `otherwise`."""
    total = rows.sum(axis=1, keepdims=True)
    return np.where(total > 0, np.divide(rows, total, out=np.zeros_like(rows), where=total > 0), otherwise)


class CalibrationMap:
    """A map from scores to calibrated probabilities: ``fit(scores, y)``, then ``predict_proba(scores)``.

    Scores are ``(N,)`` for two classes (probability or logit of the second) or ``(N, K)``. Probabilities come back as ``(N, K)``.
    Where every label is the name of a column of a frame, the columns name the classes, and later frames are put in the same order; what
    has no names is read by position. Fitted values are attributes that end in an underscore. Works in scikit-learn pipelines and with
    its ``clone``.
    """

    input: Input
    keeps_order: ClassVar[bool] = False
    """Whether a higher score never gets a lower probability, for two classes."""
    keeps_argmax: ClassVar[bool] = False
    """Whether the predicted class of a row never changes."""
    takes_any_score: ClassVar[bool] = False
    """Whether ``input="logit"`` stands for any score on the real line, probabilities included."""
    least_probability: ClassVar[float] = 0.0
    """The smallest probability whose logarithm it takes, and to which smaller ones are moved; 0 where it takes none."""
    fitted: ClassVar[tuple[str, ...]] = ()
    """The attributes that fitting sets, in the order in which they are saved."""

    def fit(self, scores: Any, y: Any, sample_weight: Any = None, *, counts: Any = None) -> Self:
        """Fit to validation rows that the model was not trained on.

        Parameters
        ----------
        scores : array-like of shape (N,) or (N, K), or frame
            Probabilities or logits, as `input` says.
        y : array-like of shape (N,)
            The class of each row.
        sample_weight : array-like of shape (N,), optional
            Importance of each row; only ratios matter, also of whole numbers.
        counts : array-like of shape (N,), optional
            How many equal rows each one stands for; not with `sample_weight`.

        Returns
        -------
        CalibrationMap
            The fitted calibrator itself.
        """
        self._check_params()
        with named_as():
            check_same_rows(y, {"y_prob": scores, "sample_weight": sample_weight, "counts": counts})
            classes, labels, scores = read_rows(y, scores)
            words = {"sample_weight": sample_weight, "counts": counts}
            # A curve in one score may be fitted to probabilities as they are, which softmaxes of them are not meant to be.
            read = Predictions.derived if self.takes_any_score and self._input() == "logit" else Predictions
            predictions = read(labels, scores, input=self._input(), **words)
        if predictions.labels is None or predictions.kind not in ("binary", "multiclass"):
            raise ShapeError("scores", f"must be two or more classes; got {predictions.kind}")
        data = TrainingData(predictions)
        if self.least_probability and predictions.logits is None:
            own = data.probs[np.arange(data.n), data.labels]
            count = int(np.count_nonzero(own < self.least_probability))
            if count:  # a sure and right row pulls at nothing
                warn_caller(
                    f"{type(self).__name__}: {count:,} of {data.n:,} rows give their class a probability below {self.least_probability:g} "
                    "and count as of that, for 0 has no logarithm; a few such rows can decide the fit. Pass what the model means by "
                    'them, for example np.clip(scores, 1e-6, 1 - 1e-6), logits with input="logit", or leave them out',
                    SureScoresWarning,
                )
        self.classes_ = classes if classes is not None else np.arange(predictions.k)
        self.n_features_in_ = 1 if np.ndim(scores) == 1 else predictions.k
        with named_as():
            self._fit(data)
        weight = float(predictions.n if predictions.weight is None else predictions.weight.sum())
        self.fit_record_ = FitRecord(predictions.n, weight, data.fingerprint)
        return self

    def predict_proba(self, scores: Any) -> Floats:
        """Calibrated probabilities, one column for each class; rows sum to 1."""
        data = self._read(scores)
        if data.fingerprint == self.fit_record_.fingerprint:
            warn_caller(
                f"{type(self).__name__} was fitted on these very rows, so what it gives here looks better than it is; "
                "measure it on rows that it has not seen",
                FittedOnTheseRowsWarning,
            )
        return self.apply(data)

    def apply(self, data: Scores) -> Floats:
        """The same for scores already checked, without looking whether they were fitted on."""
        rows = np.clip(self._predict(data), 0.0, 1.0)
        total = rows.sum(axis=1, keepdims=True)
        return np.asarray(rows / total)

    def predict(self, scores: Any) -> Array:
        """The class of the largest calibrated probability."""
        return np.asarray(self.classes_[self.apply(self._read(scores)).argmax(axis=1)])

    def _read(self, scores: Any) -> Scores:
        if not hasattr(self, "fit_record_"):
            raise NotFittedError(type(self).__name__, "is not fitted yet", "call fit(scores, y) first")
        with named_as(y_true="scores"):
            scores = in_order(scores, self.classes_.tolist())
            length = len(scores) if hasattr(scores, "__len__") else 1
            data = Scores(Predictions.derived(np.zeros(length, np.int64), scores, input=self._input()))
        if data.k != len(self.classes_):
            raise ShapeError("scores", f"have {data.k} classes, and the map was fitted on {len(self.classes_)}")
        return data

    def _fit(self, data: TrainingData) -> None:
        raise NotImplementedError

    def _absent(self, data: TrainingData) -> str:
        """Which classes have no rows, in words; empty where all have some."""
        names = [repr(name) for name in self.classes_[np.bincount(data.labels, minlength=data.k) == 0].tolist()]
        if len(names) <= 1:
            return f"class {names[0]} has no rows" if names else ""
        return f"classes {', '.join(names[:5])}{', ...' if len(names) > 5 else ''} have no rows"

    def _warn_of_absent(self, data: TrainingData) -> None:
        absent = self._absent(data)
        if absent:
            warn_caller(
                f"{absent}, so the map takes the probability there towards 0; fit on rows of every class, or use a map that "
                "treats all classes alike, such as TemperatureScaling"
            )

    def _predict(self, data: Scores) -> Floats:
        raise NotImplementedError

    def _input(self) -> Input:
        if self.input not in ("prob", "logit"):
            raise ArgumentError("input", f"must be 'prob' or 'logit'; got {self.input!r}")
        return self.input

    def _check_params(self) -> None:
        """Raise where a parameter has no meaning; subclasses add theirs."""
        self._input()

    # What scikit-learn asks of an estimator.

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters given to the constructor."""
        params = {name: getattr(self, name) for name in self._parameter_names()}
        if deep:
            for name, value in list(params.items()):
                if hasattr(value, "get_params") and not isinstance(value, type):
                    params |= {f"{name}__{key}": inner for key, inner in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``name__inner`` reaches into a nested map."""
        known = self._parameter_names()
        for name, value in params.items():
            outer, _, inner = name.partition("__")
            if outer not in known:
                raise UnknownArgumentError(name, f"is no parameter of {type(self).__name__}", f"known: {known}")
            if inner:
                getattr(self, outer).set_params(**{inner: value})
            else:
                setattr(self, name, value)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fit_record_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(one_d_array=True, positive_only=self.input == "prob"),
        )

    def __repr__(self) -> str:
        default = {p.name: p.default for p in inspect.signature(type(self).__init__).parameters.values()}
        changed = [f"{k}={v!r}" for k, v in self.get_params(deep=False).items() if repr(v) != repr(default.get(k))]
        found = [f"{name}={_short(getattr(self, name))}" for name in self.fitted if hasattr(self, name)]
        return f"{type(self).__name__}({', '.join(changed)})" + (f" <{', '.join(found)}>" if found else "")


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, np.ndarray) and value.size <= 4:
        rounded = np.round(value, 4) + 0.0 if value.dtype.kind == "f" else value  # + 0.0: no -0.0
        return str(rounded.tolist())
    if isinstance(value, np.ndarray):
        return f"{' x '.join(map(str, value.shape))} values"
    if isinstance(value, tuple) and len(value) == 1:
        return _short(value[0])
    if is_dataclass(value):
        parts = ", ".join(f"{part.name}={_short(getattr(value, part.name))}" for part in fields(value))
        return f"{type(value).__name__}({parts})"
    if isinstance(value, tuple) and value:
        return f"{len(value)} {'curves' if is_dataclass(value[0]) else 'values'}"
    return repr(value)
