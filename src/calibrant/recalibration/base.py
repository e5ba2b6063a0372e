"""Base class of all calibrators, and the registry in which their classes register themselves."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    ArgumentError,
    BoundaryScoresWarning,
    ColumnError,
    InputTypeError,
    InSampleWarning,
    NotFittedError,
    ShapeError,
    UndefinedMetricError,
    UnknownArgumentError,
    warn_caller,
)
from ..input.convert import is_frame
from ..input.features import Column, read_features
from ..input.frames import check_same_rows, in_order_of_numbers
from ..input.predictions import Predictions
from ..util.checks import check_choice
from ..util.texts import parameter_texts
from ..views.keywords import NamedKeywords, shared_entry
from .formulas import Formula, ScoreFormulas
from .scores import (
    Array,
    Floats,
    Scores,
    TrainingData,
    absent_classes,
    boundary_of,
    in_order,
    named_as,
    names_array,
    off_boundary,
    sorted_classes,
)

if TYPE_CHECKING:
    from .intervals import CalibrationInterval

Input = Literal["prob", "logit"]
# A probability below it has so large a logarithm that a few rows can dominate a fit.
DOMINANT = 1e-6
LARGEST = float(np.finfo(np.float64).max)
# Every registered calibrator by the name of its class, and every method by its name.
TYPES: dict[str, type[Calibrator]] = {}
METHODS: dict[str, Method] = {}
# Parameters and attributes that calibrators share; a class docstring names one on a line of its own, and type and text are inserted.
SHARED, OF_METHODS = (parameter_texts("calibrant.recalibration")[table] for table in ("calibrators", "methods"))


def _with_shared(doc: str, shared: Mapping[str, tuple[str, str]] = SHARED) -> str:
    """A docstring in which bare names of shared parameters and attributes have their type and text."""
    lines = inspect.cleandoc(doc).split("\n")
    return "\n".join(text for line in lines for text in (shared_entry(line, shared) if line in shared else [line]))


def _document(cls: type) -> None:
    """Insert the shared parameters into the docstrings of a class and of its methods."""
    if cls.__doc__:
        cls.__doc__ = _with_shared(cls.__doc__)
    for method in vars(cls).values():
        if inspect.isfunction(method) and method.__doc__:
            method.__doc__ = _with_shared(method.__doc__, OF_METHODS)


@dataclass(frozen=True)
class FitRecord:
    """Data on which a calibrator was fitted.

    Attributes
    ----------
    rows : int
        Number of rows.
    weight : float
        Sum of the weights.
    fingerprint : str
        Hash of the scores that does not depend on the order of the rows.
    preprocessing : str or None
        How the scores were computed, as passed to `save`.
    boundary : float
        What replaces probabilities of 0, and one minus it those of 1, before a logarithm is taken: half of the smallest distance from 0 or 1 among
        the other scores. 0 if there were none, or no logarithm is taken.
    """

    rows: int
    weight: float
    fingerprint: str
    preprocessing: str | None = None
    boundary: float = 0.0


@dataclass(frozen=True)
class Method:
    """Name of a calibration method, as used by `recalibrate`, `CalibratedModel` and the command line.

    Calling a method creates an unfitted calibrator.

    Parameters
    ----------
    name : str
        Name of the method, such as ``"platt"``.
    title : str, default ""
        Name in reports; by default `name` without underscores.
    candidate : mapping of str to (int, int), optional
        Kinds of predictions (``"binary"``, ``"multiclass"``) for which ``method="auto"`` tries the method, each with the number of
        rows required in total and per class. Empty: the method is used only when requested.
    options : mapping, optional
        Parameters that differ from the defaults of the class.
    calibrator : type of Calibrator, optional
        Class of the calibrator; set when the class is registered.

    Examples
    --------
    >>> from calibrant.recalibration.methods import METHODS
    >>> METHODS["isotonic_pooled"]()
    IsotonicCalibration(multiclass='pooled')
    """

    name: str
    title: str = ""
    candidate: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    calibrator: type[Calibrator] | None = None

    def __call__(self, **parameters: Any) -> Calibrator:
        assert self.calibrator is not None
        return self.calibrator(**{**copy.deepcopy(dict(self.options)), **parameters})


class Calibrator(NamedKeywords):
    """Base class of calibrators: functions from the scores of a classifier to calibrated probabilities.

    A calibrator is fitted on held-out data with ``fit(scores, y)`` and applied with ``predict_proba(scores)``. Scores have shape
    ``(N,)`` for two classes (probability or logit of the second class) or ``(N, K)``; probabilities are returned with shape ``(N, K)``.
    Calibrators follow the conventions of scikit-learn: they work with ``clone`` and in pipelines, and fitted attributes end in an
    underscore.

    The parameters of a method are the fields of its class.

    Attributes
    ----------
    methods : tuple of Method
        Names under which the class is registered.
    keeps_order : bool
        Whether the calibrated probability is a non-decreasing function of the score, for two classes.
    keeps_argmax : bool
        Whether the predicted class never changes.
    treats_classes_alike : bool
        Whether all classes share the same parameters, so that a class without rows needs no warning.
    takes_any_score : bool
        Whether ``input="logit"`` accepts any real score.
    least_probability : float
        Probabilities below it count as 0 when a logarithm is taken (see `FitRecord`); 0 if none is taken.
    exclusive : bool
        Whether each row has exactly one of the classes, so that its probabilities sum to 1.
    needs : str
        What `fit` and `predict_proba` need beside the scores: ``"groups"``, ``"features"`` or nothing.
    fitted : tuple of str
        Names of the attributes that `fit` sets, in the order in which they are saved.
    derived : tuple of str
        Names of the attributes that are computed from these: coefficients, edges and knots, under the same names for every method.
    checks : mapping of str to callable
        Function that checks the value of a parameter, called with value and name.
    classes_
    fit_record_

    See Also
    --------
    recalibrate : Choose a calibrator by cross-validation.
    save, load : Write and read fitted calibrators.

    Notes
    -----
    If the scores are a data frame and every label is the name of one of its columns, the columns name the classes, and frames passed to
    `predict_proba` are reordered to match. Otherwise columns are matched by position.

    To implement a calibrator, write a dataclass whose fields are its parameters, with `_fit` and `_predict`; list the fitted
    attributes in `fitted` and the names of the method in `methods`. Defining `methods`, even as an empty tuple, registers the class with
    `recalibrate`, `save` and `load`.

    Examples
    --------
    A calibrator that replaces each probability by the observed rate of its class:

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from calibrant.recalibration import Calibrator
    >>> @dataclass(eq=False, repr=False)
    ... class BaseRate(Calibrator):
    ...     fitted = ("rate_",)
    ...     input: str = "prob"
    ...
    ...     def _fit(self, data):
    ...         self.rate_ = np.bincount(data.labels, data.weight, data.k) / data.weight.sum()
    ...
    ...     def _predict(self, data):
    ...         return np.tile(self.rate_, (data.n, 1))
    >>> BaseRate().fit([0.2, 0.4, 0.7, 0.9], [0, 1, 1, 1]).predict_proba([0.5])
    array([[0.25, 0.75]])
    """

    input: Input
    methods: ClassVar[tuple[Method, ...]] = ()
    keeps_order: ClassVar[bool] = False
    keeps_argmax: ClassVar[bool] = False
    treats_classes_alike: ClassVar[bool] = False
    takes_any_score: ClassVar[bool] = False
    least_probability: ClassVar[float] = 0.0
    exclusive: ClassVar[bool] = True
    needs: ClassVar[Literal["", "groups", "features"]] = ""
    fitted: ClassVar[tuple[str, ...]] = ()
    derived: ClassVar[tuple[str, ...]] = ()
    checks: ClassVar[Mapping[str, Callable[[Any, str], Any]]] = {}

    def __init__(self) -> None:
        """Create a calibrator without parameters; dataclasses have those of their fields."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        _document(cls)
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
        """Fit the calibrator on data that the classifier was not trained on.

        Parameters
        ----------
        scores : array-like of shape (N,) or (N, K), or frame
            Probabilities or logits, according to the parameter `input`. One dimension: scores of the second of two classes.
        y
        sample_weight
        counts

        Returns
        -------
        Calibrator
            The fitted calibrator itself.

        Raises
        ------
        CalibrantError
            If `scores` and `y` do not describe two or more classes, or a parameter is invalid.

        Warns
        -----
        BoundaryScoresWarning
            If observed classes have a predicted probability so small that its logarithm dominates the fit.
        """
        return self._fit_beside(None, scores, y, sample_weight, counts)

    def _fit_beside(self, beside: Any, scores: Any, y: Any, sample_weight: Any, counts: Any) -> Self:
        """Fit with what each row has beside its scores: a group, features or a fold."""
        self._check_params()
        data, classes, columns = self._read_training(scores, y, sample_weight, counts)
        data.beside = beside
        return self._fit_read(data, classes, columns)

    def _read_training(
        self, scores: Any, y: Any, sample_weight: Any, counts: Any
    ) -> tuple[TrainingData, Array | None, int]:
        """The validated data, the names of the classes, if any, and the number of columns; the same for calibrators with the same `_way_of_reading`."""
        with named_as():
            check_same_rows(y, {"y_prob": scores, "sample_weight": sample_weight, "counts": counts})
            if is_frame(scores):
                classes, scores = None, in_order_of_numbers(scores)
            else:
                classes = sorted_classes(y, scores)
            # A curve of one score may be fitted to probabilities passed as logits; a softmax of them would be meaningless.
            read = Predictions.derived if self.takes_any_score and self._input() == "logit" else Predictions
            weights = {"sample_weight": sample_weight, "counts": counts}
            predictions = read(
                y, scores, classes=classes, input=self._input(), multilabel=not self.exclusive, **weights
            )
        if predictions.labels is None or (predictions.exclusive_classes is None) == self.exclusive:
            raise ShapeError("scores", f"must have two or more classes; got {predictions.kind} predictions")
        names = None if predictions.classes is None else names_array(predictions.classes)
        return TrainingData(predictions), names, 1 if predictions.probs.ndim == 1 else predictions.k

    def _way_of_reading(self) -> tuple[Any, ...]:
        return self._input(), self.takes_any_score and self._input() == "logit"

    def _fit_read(self, data: TrainingData, classes: Array | None, columns: int) -> Self:
        predictions = data._p
        boundary = boundary_of(data, self.least_probability)
        if boundary:
            self._warn_of_boundary(data, boundary)
        self.classes_ = classes if classes is not None else np.arange(predictions.k)
        self.n_features_in_ = columns
        with named_as():
            self._fit(off_boundary(data, boundary))
        weight = float(predictions.n if predictions.weight is None else predictions.weight.sum())
        self.fit_record_ = FitRecord(predictions.n, weight, data.fingerprint, boundary=boundary)
        self._rows = predictions
        return self

    def __getstate__(self) -> dict[str, Any]:
        """The attributes without the rows of the fit, which are not copied, pickled or sent to other processes."""
        return {name: value for name, value in vars(self).items() if name != "_rows"}

    def _warn_of_boundary(self, data: TrainingData, boundary: float) -> None:
        # Rows with a high probability of the observed class have no influence on the fit.
        own = data.probs[np.arange(data.n), data.labels]
        count = int(np.count_nonzero(own < self.least_probability))
        if not count or boundary >= DOMINANT:
            return
        problem = (
            f"{count:,} of {data.n:,} rows give their class a probability below {self.least_probability:g}, for which "
            f"{boundary:g} is used; a few such rows can dominate the fit"
        )
        remedy = "clip the scores less extremely, for example np.clip(scores, 1e-6, 1 - 1e-6), use input='logit' with logits, or drop these rows"
        warn_caller(BoundaryScoresWarning(type(self).__name__, problem, remedy))

    def predict_proba(self, scores: Any) -> Floats:
        """Predict calibrated probabilities.

        Parameters
        ----------
        scores

        Returns
        -------
        ndarray of shape (N, K)
            Calibrated probabilities, one column per class; rows sum to 1.

        Raises
        ------
        NotFittedError
            If the calibrator is not fitted.

        Warns
        -----
        InSampleWarning
            If the scores are those the calibrator was fitted on, so that any metric of the result is optimistic.
        """
        return self._calibrate(scores)

    def _calibrate(self, scores: Any, beside: Any = None) -> Floats:
        data = self._read(scores, beside)
        if self.fitted and data.fingerprint == self.fit_record_.fingerprint:
            warn_caller(
                f"{type(self).__name__} was fitted on these rows, so the estimate is optimistic; evaluate it on held-out data",
                InSampleWarning,
            )
        return self.apply(data)

    def apply(self, data: Scores) -> Floats:
        """Predict calibrated probabilities for scores that are already validated.

        Unlike `predict_proba`, it does not check whether the scores were used for fitting.

        Parameters
        ----------
        data : Scores
            Validated scores.

        Returns
        -------
        ndarray of shape (N, K)
            Calibrated probabilities, one column per class; rows sum to 1.
        """
        rows = np.clip(self._predict(off_boundary(data, self.fit_record_.boundary)), 0.0, 1.0)
        if self.exclusive:
            total = rows[:, 0] + rows[:, 1] if data.k == 2 else rows.sum(axis=1)
            if (total != 1).any():
                rows /= total[:, None]
        return rows

    def predict(self, scores: Any) -> Array:
        """Predict the class with the largest calibrated probability.

        Parameters
        ----------
        scores

        Returns
        -------
        ndarray of shape (N,)
            Predicted classes, as in `classes_`.
        """
        return self._top_classes(scores)

    def predict_interval(
        self,
        scores: Any = None,
        *,
        rows: Predictions | None = None,
        level: float = 0.95,
        n_resamples: int = 200,
        rng: Any = 0,
    ) -> CalibrationInterval:
        r"""Compute confidence intervals of calibrated probabilities.

        A calibrator that was fitted on few rows is itself uncertain. The interval is that of the calibrated probability at one score, not of
        the outcome; all scores together are outside of some interval more often.

        Parameters
        ----------
        scores : array-like of shape (N,) or (N, K), or frame, optional
            Scores of the same kind as those passed to `fit`; by default these.
        rows : Predictions, optional
            The rows on which the calibrator was fitted. Required after `load`, unpickling or copying, which do not keep them.
        level : float, default 0.95
            Confidence level of each interval.
        n_resamples : int, default 200
            Number of resamples of the rows, where no formula gives the limits.
        rng : None, int or numpy.random.Generator, default 0
            Seed of the resamples.

        Returns
        -------
        CalibrationInterval
            Result with attributes `probability`, `low` and `high`.

        Raises
        ------
        NotFittedError
            If the calibrator is not fitted, or its rows are not at hand.
        ArgumentError
            If the calibrator needs more than scores, or `rows` have other scores than the rows of the fit.
        UndefinedMetricError
            If the rows have one class only, or the calibrator cannot be fitted to a tenth of the resamples.

        See Also
        --------
        recalibrate : The interval of the gain.

        Notes
        -----
        - Platt scaling, beta calibration and the quadratic logit of two classes, and temperatures, are estimated by maximum likelihood: the limits are
          :math:`\operatorname{logit} q \pm z \sqrt{g^T I^{-1} g}`, with the Fisher information :math:`I` of the rows and the derivatives :math:`g`
          of the log-odds by the parameters. Importance weights have the sandwich covariance.
        - `HistogramBinning` has the Clopper-Pearson limits of the rate of the bin.
        - Isotonic regression and Venn-Abers predictors assume only that the curve increases: the limits are the Clopper-Pearson limits of
          the nearest :math:`n^{2/3}` rows, those up to the score for the lower end, since their mean rate is at most that at the score, and
          those from it on for the upper end. They cover with at least the level for any increasing curve and any number of rows.
        - Other calibrators are fitted again to resamples of their rows, drawn with replacement, and the ends are quantiles of their
          probabilities [1]_.

        With ``multiclass="one_vs_rest"`` the exact limits of several classes are those of the rate of each class given its own score. No interval
        describes the bias of a curve that has the wrong form.

        References
        ----------
        .. [1] Efron, B., Tibshirani, R. J. (1993). An introduction to the bootstrap. Chapman & Hall.

        Examples
        --------
        >>> import calibrant as cal
        >>> data = cal.inference.make_miscalibrated(500, warp=cal.inference.simulation.temperature(2.0), rng=0)
        >>> found = cal.PlattScaling().fit(data.y_prob, data.y_true).predict_interval([0.5, 0.9])
        >>> found.low.round(2), found.high.round(2)
        (array([0.46, 0.71]), array([0.55, 0.83]))
        """
        from .intervals import calibration_interval

        self._check_fitted()
        known = getattr(self, "_rows", None) if rows is None else rows
        if known is None:
            problem = "no longer has the rows of its fit, which are not saved or copied"
            raise NotFittedError(type(self).__name__, problem, "pass rows=Predictions(y_true, y_prob)")
        if not isinstance(known, Predictions):
            raise InputTypeError("rows", f"must be Predictions; got {type(known).__name__}")
        if TrainingData(known).fingerprint != self.fit_record_.fingerprint:
            problem = "are not those of the fit, with the classes in the same order"
            raise ArgumentError("rows", problem, "pass the Predictions that the calibrator was fitted on")
        at = Scores(known) if scores is None else self._read(scores)
        return calibration_interval(self, known, at, level, n_resamples, rng)

    def _limits(self, rows: TrainingData, at: Scores, level: float) -> tuple[Floats, Floats] | None:
        """Limits of the calibrated probabilities by a formula, given the rows of the fit; None where there is none."""
        if self.exclusive and len(np.unique(rows.labels)) < 2:
            raise UndefinedMetricError("calibrator", "was fitted on rows of one class", "use rows of every class")
        from .intervals import wald_limits

        return None if self._slopes(rows) is None else wald_limits(self, rows, at, level)

    def _slopes(self, data: Scores) -> Floats | None:
        """Derivatives of the calibrated logits by parameters of maximum likelihood, of shape (N, K, P); None if it has none."""
        return None

    def inverse(self, probability: Any) -> Floats:
        """Compute the raw scores at which the calibrated probability of the second of two classes reaches given values.

        A threshold on calibrated probabilities so becomes a threshold on raw scores: ``scores >= calibrator.inverse(t)`` are the rows for
        which ``predict_proba(scores)[:, 1] >= t``.

        Parameters
        ----------
        probability : float or array-like
            Calibrated probabilities.

        Returns
        -------
        ndarray of the shape of `probability`
            Smallest score, a probability or a logit as those passed to `fit`, whose calibrated probability is at least as large; infinite if
            there is none, and -inf for logits if every score reaches it.

        Raises
        ------
        ArgumentError
            If there are more than two classes, the calibrator needs more than scores, or the fitted probability can decrease as the score
            increases.

        Notes
        -----
        The score is found by bisection over the floating-point numbers, so that the next smaller number does not reach the probability.

        Examples
        --------
        >>> import calibrant as cal
        >>> calibrator = cal.PlattScaling().fit([0.1, 0.2, 0.6, 0.9], [0, 0, 1, 1])
        >>> threshold = calibrator.inverse(0.5)
        >>> round(float(threshold), 4)
        0.4287
        """
        self._check_fitted()
        if len(self.classes_) != 2 or self.needs or not self._is_increasing():
            problem = f"{type(self).__name__} has no inverse here"
            raise ArgumentError(
                "calibrator", problem, "two classes and an increasing function of the score are required"
            )
        wanted = np.asarray(probability, dtype=np.float64)
        if not ((wanted >= 0) & (wanted <= 1)).all():
            raise ArgumentError("probability", f"must be between 0 and 1; got {probability!r}")
        ends = (-LARGEST, LARGEST) if self.input == "logit" else (0.0, 1.0)
        low, high = (np.full(wanted.size, _ordinal(end)) for end in ends)
        values = wanted.ravel()

        def reached(at: Any) -> Any:
            return self.apply(self._read(_from_ordinal(at)))[:, 1] >= values

        always, never = reached(low), ~reached(high)
        while (low + 1 < high).any():
            middle = (low >> 1) + (high >> 1) + (low & high & 1)
            hit = reached(middle)
            low, high = np.where(hit, low, middle), np.where(hit, middle, high)
        found = np.where(
            never, np.inf, np.where(always, -np.inf if self.input == "logit" else 0.0, _from_ordinal(high))
        )
        return found.reshape(wanted.shape)

    def _is_increasing(self) -> bool:
        """Whether the calibrated probability of the second of two classes never decreases as the score increases."""
        return self.keeps_order

    def _top_classes(self, scores: Any, beside: Any = None) -> Array:
        return np.asarray(self.classes_[self.apply(self._read(scores, beside)).argmax(axis=1)])

    def _check_inner(self, inner: Any, remedy: str = "") -> None:
        """Raise for what is not a calibrator inside this one, or needs more than the scores, which this one does not pass on."""
        if not isinstance(inner, Calibrator):
            problem = f"must be an unfitted calibrator; got {inner!r}"
            raise ArgumentError("calibrator", problem, "for example PlattScaling()")
        if inner.needs:
            problem = f"{type(inner).__name__} requires {inner.needs}, which are not passed on"
            raise ArgumentError("calibrator", problem, remedy if inner.needs == "groups" else "")

    def _check_fitted(self) -> None:
        if not hasattr(self, "fit_record_"):
            raise NotFittedError(type(self).__name__, "is not fitted", "call fit(scores, y) first")

    def _read(self, scores: Any, beside: Any = None) -> Scores:
        """Validated scores, with what each row has beside them."""
        self._check_fitted()
        with named_as(y_true="scores"):
            data = Scores.read(in_order(scores, self.classes_.tolist()), self._input(), self.exclusive)
        if data.k != len(self.classes_):
            raise ShapeError("scores", f"have {data.k} classes; the calibrator was fitted on {len(self.classes_)}")
        data.beside = beside
        return data

    def _fit(self, data: TrainingData) -> None:
        raise NotImplementedError

    def _absent(self, data: TrainingData) -> str:
        """Describe the classes that have no rows; empty if there are none."""
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

    def _formula(self, x: ScoreFormulas) -> Formula:
        """The calibrated probabilities as a formula, from which they are exported."""
        remedy = (
            "save it with calibrant.save, or export the calibrator of each group"
            if self.needs
            else "save it with calibrant.save"
        )
        raise ArgumentError("calibrator", f"{type(self).__name__} has no formula that can be exported", remedy)

    def formula(self, columns: Formula) -> Formula:
        """Return the calibrated probabilities as a formula of the scores.

        Parameters
        ----------
        columns : Formula
            Formula of the scores: one column of two classes, or one per class.

        Returns
        -------
        Formula
            One column per class.

        Raises
        ------
        ArgumentError
            If the calibrator has no such formula.
        """
        x = ScoreFormulas(columns, self.input == "logit", self.fit_record_.boundary, getattr(self, "scale_", 1.0))
        rows = self._formula(x).clip(0.0, 1.0)
        return rows / rows.sum() if self.exclusive else rows

    def _input(self) -> Input:
        check_choice(self.input, "input", ("prob", "logit"))
        return self.input

    def _check_params(self) -> None:
        """Raise if a parameter is invalid; subclasses add their own checks."""
        self._input()
        for name, choices in _choices(type(self)).items():  # type: ignore[arg-type]
            check_choice(getattr(self, name), name, choices)
        for name, check in self.checks.items():
            if getattr(self, name) is not None or getattr(type(self), name) is not None:  # None only as default
                check(getattr(self, name), name)

    # The protocol of scikit-learn's estimators.

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor.

        Parameters
        ----------
        deep : bool, default True
            Whether to include the parameters of nested calibrators, as ``name__parameter``.

        Returns
        -------
        dict of str to object
            Parameters by name.
        """
        params = {name: getattr(self, name) for name in self._parameter_names()}
        if deep:
            for name, value in list(params.items()):
                if hasattr(value, "get_params") and not isinstance(value, type):
                    params |= {f"{name}__{key}": inner for key, inner in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the calibrator.

        Parameters
        ----------
        **params
            Parameters by name; ``name__parameter`` sets a parameter of a nested calibrator.

        Returns
        -------
        Calibrator
            The calibrator itself.

        Raises
        ------
        UnknownArgumentError
            If a name is not a parameter of the calibrator.
        """
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
        # Coefficients and edges say more than the curves they come from.
        names = self.derived if self.fitted == ("curves_",) and self.derived else self.fitted
        if getattr(self, "scale_", 1.0) != 1:
            names = (*names, "scale_")
        found = [f"{name}={_short(getattr(self, name))}" for name in names if hasattr(self, self.fitted[0])]
        return f"{type(self).__name__}({', '.join(changed)})" + (f" <{', '.join(found)}>" if found else "")


_document(Calibrator)


@cache
def _choices(kind: type[Calibrator]) -> dict[str, tuple[Any, ...]]:
    """The parameters that are restricted to a set of values by their annotation."""
    hints = get_type_hints(kind)
    return {n: get_args(hints[n]) for n in kind._parameter_names() if get_origin(hints.get(n)) is Literal}


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) >= 0.01 else f"{value:.3g}"
    if isinstance(value, np.ndarray) and value.size <= 4:
        rounded = np.round(value, 4) + 0.0 if value.dtype.kind == "f" else value  # + 0.0: no -0.0
        return str(rounded.tolist())
    if isinstance(value, np.ndarray):
        return f"{' x '.join(map(str, value.shape))} values"
    if isinstance(value, tuple) and len(value) == 1:
        return _short(value[0])
    if isinstance(value, Calibrator):
        return repr(value).partition(" <")[0]  # its own repr says what it has learned
    if is_dataclass(value):
        parts = ", ".join(f"{part.name}={_short(getattr(value, part.name))}" for part in fields(value))
        return f"{type(value).__name__}({parts})"
    if isinstance(value, tuple) and value:
        return (
            f"{len(value)} {'curves' if is_dataclass(value[0]) and not isinstance(value[0], Calibrator) else 'values'}"
        )
    return repr(value)


def _ordinal(number: float) -> int:
    """The place of a number among all floating-point numbers."""
    bits = int(np.float64(number + 0.0).view(np.int64))
    return bits if bits >= 0 else -(bits + 2**63)


def _from_ordinal(place: NDArray[np.int64]) -> Floats:
    numbers = np.abs(place).view(np.float64)
    return np.where(place < 0, -numbers, numbers)


def as_fitted(calibrator: Any) -> Calibrator:
    """The fitted calibrator, also of the result of `recalibrate`."""
    if not isinstance(calibrator, Calibrator):
        calibrator = getattr(calibrator, "calibrator", calibrator)
    if not isinstance(calibrator, Calibrator):
        raise InputTypeError("calibrator", f"must be a fitted calibrator; got {type(calibrator).__name__}")
    calibrator._check_fitted()
    return calibrator


def fit_copy(calibrator: Calibrator, predictions: Predictions) -> Calibrator:
    """A copy of an unfitted calibrator that is fitted on predictions."""
    scores = predictions.probs if predictions.logits is None else predictions.logits
    weight = {"counts" if predictions.weight_kind == "counts" else "sample_weight": predictions.weight}
    return copy.deepcopy(calibrator).fit(scores, predictions.labels, **weight)


class ContextCalibrator(Calibrator):
    """Base class of calibrators that take the group or the features of each row beside its scores, as `needs` states."""

    def fit(
        self,
        scores: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        features: Any = None,
        *,
        counts: Any = None,
    ) -> Self:
        """Fit the calibrator on data that the classifier was not trained on, and the group or features of each row.

        Parameters
        ----------
        scores : array-like of shape (N,) or (N, K), or frame
            Probabilities or logits, according to the parameter `input`.
        y
        sample_weight
        groups
        features
        counts

        Returns
        -------
        Calibrator
            The fitted calibrator itself.

        Raises
        ------
        CalibrantError
            If what the calibrator needs is missing or does not have one entry for each row, or it cannot be fitted to these data.
        """
        with named_as():
            check_same_rows(y, {"groups": groups, "features": features})
        return self._fit_beside(self._context(groups, features), scores, y, sample_weight, counts)

    def predict_proba(self, scores: Any, groups: Any = None, features: Any = None) -> Floats:
        """Predict calibrated probabilities.

        Parameters
        ----------
        scores
        groups
        features

        Returns
        -------
        ndarray of shape (N, K)
            Calibrated probabilities, one column per class; rows sum to 1.
        """
        return self._calibrate(scores, self._context(groups, features))

    def predict(self, scores: Any, groups: Any = None, features: Any = None) -> Array:
        """Predict the class with the largest calibrated probability.

        Parameters
        ----------
        scores
        groups
        features

        Returns
        -------
        ndarray of shape (N,)
            Predicted classes, as in `classes_`.
        """
        return self._top_classes(scores, self._context(groups, features))

    def _context(self, groups: Any, features: Any) -> Any:
        own, name, other = (groups, "features", features) if self.needs == "groups" else (features, "groups", groups)
        if other is not None:
            raise ArgumentError(name, f"are not used by {type(self).__name__}", f"pass {self.needs}={name}")
        return own


def columns_as_in_fit(data: Scores, names: tuple[str, ...], count: int) -> tuple[Column, ...]:
    """Read the features of rows in the order of those of the fit: by name where these had names, else by position."""
    columns = read_features(data.beside, data.n)
    named = {column.name: column for column in columns}
    if names and "" not in named:
        missing = [name for name in names if name not in named]
        if missing:
            raise ColumnError("features", f"have no column {missing[0]!r}, which they had in fit")
        columns = tuple(named[name] for name in names)
    if len(columns) != count:
        raise ShapeError("features", f"have {len(columns)} columns; the calibrator was fitted with {count}")
    return columns


class CountingCalibrator(Calibrator):
    """Base class of calibrators whose fit depends on the number of rows.

    With importance weights, the number of rows is the effective sample size.

    Attributes
    ----------
    scale_
    """

    scale_: float = 1.0


@dataclass(eq=False, repr=False)
class Identity(Calibrator):
    """Identity: the probabilities without recalibration.

    The candidate ``"none"`` of `recalibrate`.

    Parameters
    ----------
    input

    Attributes
    ----------
    classes_
    fit_record_

    Examples
    --------
    >>> from calibrant.recalibration.base import Identity
    >>> Identity().fit([0.2, 0.9], [0, 1]).predict_proba([0.75])
    array([[0.25, 0.75]])
    """

    methods = (Method("none"),)
    keeps_order = True
    keeps_argmax = True
    treats_classes_alike = True
    input: Input = "prob"

    def _fit(self, data: TrainingData) -> None:
        pass

    def _predict(self, data: Scores) -> Floats:
        return data.probs

    def _formula(self, x: ScoreFormulas) -> Formula:
        return x.probs
