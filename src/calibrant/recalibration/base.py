"""Calibrator: what every calibrator has in common, and the registry in which calibrators enter themselves."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal, Self, get_args, get_origin, get_type_hints

import numpy as np

from ..errors import (
    ArgumentError,
    BoundaryScoresWarning,
    InPython,
    InSampleWarning,
    NotFittedError,
    ShapeError,
    UnknownArgumentError,
    Use,
    warn_caller,
)
from ..input.frames import check_same_rows
from ..input.predictions import Predictions
from ..util.checks import check_choice
from .scores import Array, Floats, Scores, TrainingData, absent_classes, in_order, named_as, read_rows

__all__ = ["Calibrator", "CountingCalibrator", "FitRecord", "Identity", "Input", "Method"]

Input = Literal["prob", "logit"]
# Every calibrator that has registered itself, by the name of its class, and every method by its name.
TYPES: dict[str, type[Calibrator]] = {}
METHODS: dict[str, Method] = {}


@dataclass(frozen=True)
class FitRecord:
    """What a map was fitted on."""

    rows: int
    weight: float
    fingerprint: str
    preprocessing: str | None = None


@dataclass(frozen=True)
class Method:
    """A name by which `recalibrate`, `CalibratedModel` and the command line know a calibrator; called, it makes one."""

    name: str
    title: str = ""
    """How reports call it; the name without underscores unless given."""
    candidate: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The kinds of predictions on which ``method="auto"`` tries it, each with the rows it needs: in all, and for each class."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that differ from the defaults of the class."""
    calibrator: type[Calibrator] | None = None
    """The class, which enters itself here."""

    def __call__(self, **parameters: Any) -> Calibrator:
        assert self.calibrator is not None
        return self.calibrator(**{**self.options, **parameters})


class Calibrator:
    """From scores to calibrated probabilities: ``fit(scores, y)``, then ``predict_proba(scores)``.

    Scores are ``(N,)`` for two classes (probability or logit of the second) or ``(N, K)``. Probabilities come back as ``(N, K)``.
    Where every label is the name of a column of a frame, the columns name the classes, and later frames are put in the same order; what
    has no names is read by position. Fitted values are attributes that end in an underscore. Works in scikit-learn pipelines and with
    its ``clone``.

    A subclass is a dataclass whose fields are its parameters. It writes `_fit` and `_predict`, lists in `fitted` what fitting sets, and states
    the names of its `methods`; stating them, even none, registers it, so that `recalibrate` finds it and `save` and `load` know it.
    """

    input: Input
    methods: ClassVar[tuple[Method, ...]] = ()
    """The names by which the class is known."""
    keeps_order: ClassVar[bool] = False
    """Whether a higher score never gets a lower probability, for two classes."""
    keeps_argmax: ClassVar[bool] = False
    """Whether the predicted class of a row never changes."""
    treats_classes_alike: ClassVar[bool] = False
    """Whether no class has parameters of its own, so that one without rows needs no warning."""
    takes_any_score: ClassVar[bool] = False
    """Whether ``input="logit"`` stands for any score on the real line, probabilities included."""
    least_probability: ClassVar[float] = 0.0
    """The smallest probability whose logarithm it takes, and to which smaller ones are moved; 0 where it takes none."""
    fitted: ClassVar[tuple[str, ...]] = ()
    """The attributes that fitting sets, in the order in which they are saved."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "methods" not in cls.__dict__:
            return
        known = {cls.__name__: TYPES.get(cls.__name__, cls)}
        known |= {
            method.name: METHODS[method.name].calibrator or cls for method in cls.methods if method.name in METHODS
        }
        for name, other in known.items():
            if other.__module__ != cls.__module__:
                raise ArgumentError("methods", f"{name!r} is already the name of {other.__module__}.{other.__name__}")
        TYPES[cls.__name__] = cls
        METHODS.update({method.name: replace(method, calibrator=cls) for method in cls.methods})

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
        Calibrator
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
            raise ShapeError("scores", f"must have two or more classes; got {predictions.kind} predictions")
        data = TrainingData(predictions)
        if self.least_probability and predictions.logits is None:
            own = data.probs[np.arange(data.n), data.labels]
            count = int(np.count_nonzero(own < self.least_probability))
            if count:  # a sure and right row pulls at nothing
                warn_caller(
                    BoundaryScoresWarning(
                        type(self).__name__,
                        f"{count:,} of {data.n:,} rows give their class a probability below {self.least_probability:g}, which is clipped "
                        "there; a few such rows can dominate the fit",
                        (
                            InPython("clip the scores less extremely, for example np.clip(scores, 1e-6, 1 - 1e-6)"),
                            Use("input", "logit", "with logits"),
                            "drop these rows",
                        ),
                    )
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
                f"{type(self).__name__} was fitted on these rows, so the estimate is optimistic; evaluate it on held-out data",
                InSampleWarning,
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
            raise NotFittedError(type(self).__name__, "is not fitted", "call fit(scores, y) first")
        with named_as(y_true="scores"):
            scores = in_order(scores, self.classes_.tolist())
            length = len(scores) if hasattr(scores, "__len__") else 1
            data = Scores(Predictions.derived(np.zeros(length, np.int64), scores, input=self._input()))
        if data.k != len(self.classes_):
            raise ShapeError("scores", f"have {data.k} classes; the calibrator was fitted on {len(self.classes_)}")
        return data

    def _fit(self, data: TrainingData) -> None:
        raise NotImplementedError

    def _absent(self, data: TrainingData) -> str:
        """Which classes have no rows, in words; empty where all have some."""
        return absent_classes(self.classes_[np.bincount(data.labels, minlength=data.k) == 0].tolist())

    def _warn_of_absent(self, data: TrainingData) -> None:
        absent = self._absent(data)
        if absent:
            warn_caller(
                f"{absent}, so the calibrator shrinks its probability towards 0; fit on rows of every class, or use a method with "
                "parameters common to all classes, such as TemperatureScaling"
            )

    def _predict(self, data: Scores) -> Floats:
        raise NotImplementedError

    def _input(self) -> Input:
        check_choice(self.input, "input", ("prob", "logit"))
        return self.input

    def _check_params(self) -> None:
        """Raise where a parameter has no meaning: none of the choices of its type; subclasses add theirs."""
        self._input()
        for name, choices in _choices(type(self)).items():  # type: ignore[arg-type]
            check_choice(getattr(self, name), name, choices)

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
                raise UnknownArgumentError(
                    name, f"unexpected keyword of {type(self).__name__}", f"its parameters are {known}"
                )
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


@cache
def _choices(kind: type[Calibrator]) -> dict[str, tuple[Any, ...]]:
    """The parameters that take one of several words, as their annotations say."""
    hints = get_type_hints(kind)
    return {n: get_args(hints[n]) for n in kind._parameter_names() if get_origin(hints.get(n)) is Literal}


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
    if isinstance(value, Calibrator):
        return repr(value)
    if is_dataclass(value):
        parts = ", ".join(f"{part.name}={_short(getattr(value, part.name))}" for part in fields(value))
        return f"{type(value).__name__}({parts})"
    if isinstance(value, tuple) and value:
        return (
            f"{len(value)} {'curves' if is_dataclass(value[0]) and not isinstance(value[0], Calibrator) else 'values'}"
        )
    return repr(value)


class CountingCalibrator(Calibrator):
    """A calibrator whose fit depends on how many rows there are: counts add up, importance weights to their effective size."""

    scale_: float = 1.0
    """What the log-odds of two classes are divided by before anything else: a power of two, above 1 only where some of the logits
    fitted on are too large for a probability to hold."""


@dataclass(eq=False, repr=False)
class Identity(Calibrator):
    """Leaves the probabilities as they are."""

    methods = (Method("none"),)
    keeps_order = True
    keeps_argmax = True
    treats_classes_alike = True
    input: Input = "prob"

    def _fit(self, data: TrainingData) -> None:
        pass

    def _predict(self, data: Scores) -> Floats:
        return data.probs
