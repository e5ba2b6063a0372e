"""internal_validation: performance of a model corrected for optimism, by the bootstrap or cross-validation."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..binning.table import binomial_interval
from ..curves.local_regression import LOWESS_SPAN, lowess_rows, tie_groups
from ..errors import ArgumentError, CalibrantError, CalibrantWarning, UndefinedMetricError, warn_caller
from ..evaluation.discrimination import auroc, average_precision
from ..inference.intervals import is_error
from ..inference.pooling import Transform, back, forth
from ..inference.replicates import many
from ..inference.resampling import FEW_GROUPS
from ..inference.seeds import seed_of
from ..input.predictions import Predictions
from ..metrics.curve.indices import curve_of
from ..metrics.registry import Metric, catalogue
from ..util.arrays import Floats
from ..util.checks import check_choice, check_whole
from ..util.results import Result, number
from ..views.keywords import documents_keywords
from ..views.resolve import views_of
from ..views.view import View
from .refitting import (
    TrainingRows,
    bootstrap_rows,
    check_estimator,
    cross_validation_folds,
    fit_of,
    given_resamples,
    one_blas_thread,
)

Indices = NDArray[np.intp]
Method = Literal["bootstrap", "cross_validation"]

METHODS = ("bootstrap", "cross_validation")
LEVEL = 0.95
# Of the normal distribution, for limits of 95%.
QUANTILE = 1.959963984540054
CLINICAL = ("auroc", "brier", "fixed_slope_intercept", "cox_slope", "oe", "ici")
SEVERAL_CLASSES = ("auroc", "brier", "nll")
# Points of the curve, and the rows beyond its ends, as in rms::calibrate.
POINTS, BEYOND = 50, 4
# A model whose C statistic is at least the first on its training rows, and lower by the second on rows left out, memorises its rows.
MEMORISED, FORGOTTEN = 0.99, 0.05
# With a smaller share of successful refits the estimate is not that of the model as it was specified.
MOST_FAILED = 0.1


class Statistic(NamedTuple):
    """A statistic of predictions: its name, its formula, and the scale of its limits, if it has them."""

    name: str
    formula: Callable[[Predictions], float]
    transform: Transform = None
    has_limits: bool = True


def _oe(p: Predictions) -> float:
    return catalogue["expected_observed_ratio"].of(p, form="observed_expected")[0]


# Statistics that are not metrics of the catalogue, by the names that they may be given.
NAMED = {
    **dict.fromkeys(("auroc", "c", "c_statistic"), Statistic("auroc", auroc, "expit")),
    "average_precision": Statistic("average_precision", average_precision, "expit"),
    **dict.fromkeys(("oe", "o/e"), Statistic("oe", _oe, "exp")),
}


@dataclass(frozen=True)
class OptimismRow:
    """One metric of an internal validation.

    Parameters
    ----------
    metric : str
        Name of the metric.
    apparent : float or None
        Value on the rows that the model was fitted on; None where it is undefined.
    training : float or None
        Mean value of the refitted models on the rows of their own resample.
    test : float or None
        Mean value of the refitted models on all rows (bootstrap) or on the rows left out (cross-validation).
    optimism : float or None
        Estimated optimism: `apparent` minus `corrected`.
    corrected : float or None
        Value corrected for optimism, which estimates the performance of the model on new rows of the same population.
    n : int
        Number of resamples (of cross-validation: of repeats) in which the metric was defined.
    error : float or None
        Standard error of `optimism` due to the number of resamples; None for fewer than two.
    low, high : float or None
        95% limits of the performance of the model in the population; None for cross-validation and for errors such as `ici`, which are 0 at best.

    Examples
    --------
    >>> from calibrant.clinical import OptimismRow
    >>> OptimismRow("cox_slope", 1.0, 1.0, 0.8, 0.2, 0.8, 200, 0.01, 0.5, 1.1).corrected
    0.8
    """

    metric: str
    apparent: float | None
    training: float | None
    test: float | None
    optimism: float | None
    corrected: float | None
    n: int
    error: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, repr=False)
class OptimismCurve(Result):
    """Calibration curve of a model, apparent and corrected for optimism.

    Parameters
    ----------
    score : ndarray of shape (G,)
        Predicted risks at which the curve is given.
    apparent : ndarray of shape (G,)
        Smooth calibration curve on the rows that the model was fitted on.
    corrected : ndarray of shape (G,)
        The curve minus its mean optimism; NaN where no resample reaches the risk.
    n : ndarray of shape (G,)
        Number of resamples whose curve reaches each risk.
    low, high : ndarray of shape (G,)
        95% limits, at each risk, of the curve of the model in the population; NaN for cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.clinical import OptimismCurve
    >>> at, corrected = np.array([0.2, 0.8]), np.array([0.3, 0.7])
    >>> curve = OptimismCurve(at, at, corrected, np.array([200, 200]), corrected - 0.1, corrected + 0.1)
    >>> curve.mean_error
    0.1
    """

    score: Floats
    apparent: Floats
    corrected: Floats
    n: NDArray[np.int64]
    low: Floats
    high: Floats

    _numeric = range(6)

    @property
    def mean_error(self) -> float:
        """Mean absolute difference between the corrected curve and the diagonal, over the points of the curve."""
        return float(np.round(np.nanmean(np.abs(self.corrected - self.score)), 15))

    def _columns(self) -> dict[str, list[Any]]:
        return {name: values.tolist() for name, values in vars(self).items()}

    def _title(self) -> str:
        return f"Calibration curve, apparent and corrected for optimism; mean error {number(self.mean_error)}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        columns = self._columns()
        rows = zip(*columns.values(), strict=True)
        return list(columns), [[*map(number, row[:3]), str(row[3]), *map(number, row[4:])] for row in rows]


@dataclass(frozen=True, repr=False)
class InternalValidation(Result):
    """Apparent and optimism-corrected performance of a model.

    ``result["cox_slope"].corrected`` is one number.

    Parameters
    ----------
    rows : tuple of OptimismRow
        One row per metric.
    method : {"bootstrap", "cross_validation"}
        How the optimism was estimated.
    n : int
        Number of rows.
    events : int or None
        Number of rows with the event; None for more than two classes.
    event : object
        The class whose probability is evaluated; None for more than two classes.
    n_resamples : int
        Number of refits.
    failures : dict of str to int
        Refits that failed, by reason; they are left out.
    warned : dict of str to int
        Refits that emitted a warning such as ``ConvergenceWarning``, by its class; they are kept.
    curve : OptimismCurve or None
        Apparent and corrected calibration curve; None for more than two classes.
    estimator : object
        The estimator fitted on all rows, whose performance this is.
    note : str, default ""
        Caveats; empty if there are none.
    """

    _hidden = ("estimator",)
    _numeric = (1, 2, 3, 4, 5, 6, 7)

    rows: tuple[OptimismRow, ...]
    method: str
    n: int
    events: int | None
    event: Any
    n_resamples: int
    failures: dict[str, int]
    warned: dict[str, int]
    curve: OptimismCurve | None
    estimator: Any = field(default=None, compare=False)
    note: str = ""

    def __getitem__(self, metric: str) -> OptimismRow:
        names = [row.metric for row in self.rows]
        wanted = NAMED[metric].name if metric in NAMED else metric
        if wanted not in names and metric in catalogue:
            wanted = catalogue[metric].id
        if wanted not in names:
            raise ArgumentError("metric", f"unknown metric {metric!r}", f"choose one of {names}")
        return self.rows[names.index(wanted)]

    def _columns(self) -> dict[str, list[Any]]:
        rows = [vars(row) for row in self.rows]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def _title(self) -> str:
        whose = "" if self.event is None else f", {self.events:,} with the event {self.event}"
        how = "bootstrap" if self.method == "bootstrap" else "cross-validation"
        return f"Internal validation by {how}, {self.n_resamples:,} refits; {self.n:,} rows{whose}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        return ["metric", "apparent", "optimism", "corrected", "low", "high", "error", "resamples"], [
            [r.metric, *map(number, (r.apparent, r.optimism, r.corrected, r.low, r.high, r.error)), str(r.n)]
            for r in self.rows
        ]

    def _notes(self) -> list[str]:
        return [f"note: {text}" for text in self.note.split("\n") if text]


@documents_keywords()
def internal_validation(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    metrics: Any = None,
    method: Method = "bootstrap",
    resamples: int | Iterable[Any] | None = None,
    groups: Any = None,
    rng: Any = 0,
) -> InternalValidation:
    r"""Estimate the performance of a model on new data, corrected for the optimism of evaluating it on its own training rows.

    A model fits its training rows better than new ones: its apparent calibration slope is 1 even if its risks are far too extreme. Every step of
    the model's development is repeated in each resample, so pass a pipeline with all of them (imputation, selection of variables,
    choice of a penalty). The model that is evaluated is the one fitted on all rows. Use data of another place or
    period for external validation.

    Parameters
    ----------
    estimator : estimator object
        Classifier with ``fit`` and ``predict_proba``, such as a scikit-learn pipeline; it is cloned and not changed.
    X : array-like or frame of shape (N, D)
        Predictors: a NumPy array, a sparse matrix, or a frame of pandas or polars. One resample is held in memory at a time.
    y : array-like of shape (N,)
        Observed classes.
    metrics : str, Metric, callable or sequence of these, optional
        Metrics by identifier or alias, ``"auroc"`` (the C statistic), ``"average_precision"``, ``"oe"`` (observed over expected
        events), or functions of ``(y_true, y_prob)`` that return a number. By default for two classes the C statistic, Brier score,
        calibration intercept (slope 1), calibration slope, O/E and ICI, and for more classes AUROC, Brier score and log loss.
    method : {"bootstrap", "cross_validation"}, default "bootstrap"
        Estimator of the optimism; see Notes.
    resamples : int or iterable of array-like of int, optional
        Number of bootstrap resamples, by default 200; for cross-validation that of folds, which keep the share of each class, by default 10.
        Or the resamples themselves: row indices for the bootstrap, ``(train, test)`` pairs of them for cross-validation, such as those of a
        scikit-learn splitter, which may repeat the rows with other folds.
    groups : array-like of shape (N,), optional
        Cluster of each row, such as the patient: whole clusters are resampled, or assigned to folds.
    rng

    Returns
    -------
    InternalValidation
        Result with ``rows`` (``apparent``, ``optimism``, ``corrected``, ``low``, ``high`` of each metric; ``result["cox_slope"]`` is one of them), ``curve``,
        ``failures``, ``warned``, ``note`` and ``estimator`` (fitted on all rows).

    Raises
    ------
    ArgumentError
        If an argument is out of range, or the estimator lacks ``fit`` or ``predict_proba``.
    LabelError
        If `y` has a single class, or two whose names do not determine the event; pass ``y == "dead"`` then.
    UndefinedMetricError
        If every refit failed.

    Warns
    -----
    CalibrantWarning
        If more than a tenth of the refits failed.

    See Also
    --------
    clinical.summary : Performance on a validation set, with intervals.
    calibrant.recalibrate : Choice of a calibrator by cross-validation.

    Notes
    -----
    Let :math:`\theta(m, d)` be the metric of model :math:`m` on rows :math:`d`, :math:`\theta_0` its apparent value, and :math:`m_b` the model
    refitted on resample :math:`d_b` of the rows :math:`d`.

    - ``"bootstrap"`` (Harrell): :math:`\theta_0 - \frac{1}{B} \sum_b [\theta(m_b, d_b) - \theta(m_b, d)]`.
    - ``"cross_validation"``: the metric on the held-out predictions of all folds together, since a calibration slope needs more events than one fold of a small data set
      has; the mean over repeats. Use it for models that memorise their rows, for which the bootstrap is optimistic.

    Differences are taken on the scale of each metric. A metric that is undefined in a resample (the slope, where the outcomes are
    separated) is left out of the mean there; ``n`` is the number of resamples in which it was defined.

    For two classes the calibration curve (LOWESS) is corrected in the same manner at each risk, as by ``rms::calibrate``, and truncated to [0, 1].

    The 95% limits of the bootstrap are :math:`\pm 1.96 s` about the corrected value, on the logit scale for the C statistic and the average precision,
    on that of logarithms for positive metrics such as the Brier score and O/E. :math:`s` is the larger of two standard deviations over the resamples:
    that of the optimism :math:`\theta(m_b, d_b) - \theta(m_b, d)`, which is the error of the apparent value, and that of :math:`\theta(m, d_b)`, the error
    of a value on this number of rows. They are about the model fitted on all rows, and were simulated for logistic models with 20 to 150
    events (:doc:`/thin-data`); a model that memorises its rows needs cross-validation, which has no limits. Those of the curve, at each risk, are in addition
    nowhere inside Wilson's limits for as many rows as have a mean of the precision of the local line: resamples of a curve near 0 or 1 hardly vary.

    The linear algebra (BLAS) of the refits uses one thread, if threadpoolctl is installed, as it is with scikit-learn.

    References
    ----------
    .. [1] Harrell, F. E., Lee, K. L. and Mark, D. B. (1996). Multivariable prognostic models: issues in developing models, evaluating
       assumptions and adequacy, and measuring and reducing errors. Statistics in Medicine 15, 361-387.
    .. [2] Steyerberg, E. W. et al. (2001). Internal validation of predictive models: efficiency of some procedures for logistic
       regression analysis. Journal of Clinical Epidemiology 54, 774-781.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(150, 12))  # one predictor and eleven that are noise
    >>> y = rng.random(150) < 1 / (1 + np.exp(-X[:, 0]))
    >>> model = LogisticRegression(C=np.inf)
    >>> cal.clinical.internal_validation(model, X, y, metrics=["auroc", "cox_slope"], resamples=100, rng=0)
    Internal validation by bootstrap, 100 refits; 150 rows, 91 with the event True
    metric     apparent  optimism  corrected     low    high     error  resamples
    auroc        0.7826   0.06632     0.7163  0.6159  0.7990  0.003553        100
    cox_slope    1.0000    0.3113     0.6887  0.3313   1.046   0.01326        100
    """
    check_choice(method, "method", METHODS)
    check_estimator(estimator)
    data = TrainingRows.read(X, y, groups)
    refits = _Refits(estimator, data, _statistics(metrics, data.k))
    cross, seed = method == "cross_validation", seed_of(rng)
    resamples = (10 if cross else 200) if resamples is None else resamples
    if isinstance(resamples, Iterable):
        plan = list(given_resamples(resamples, data.n, cross))
    elif cross:
        plan = list(cross_validation_folds(data, check_whole(resamples, "resamples", 2), seed))
    else:
        plan = bootstrap_rows(data, check_whole(resamples, "resamples"), seed)
    if not plan:
        raise ArgumentError("resamples", "is empty", "give at least one")
    with one_blas_thread():
        if cross:
            refits.run_pooled(plan)
        else:
            many(lambda number_: refits.run_one(plan[number_]), len(plan))
    failures = refits.failures
    if refits.worked == 0:
        problem = f"every refit failed: {next(iter(failures))}"
        raise UndefinedMetricError("internal_validation", problem, "check the estimator and the data")
    if sum(failures.values()) > MOST_FAILED * len(plan):
        most = max(failures, key=lambda reason: failures[reason])
        warn_caller(
            f"{sum(failures.values())} of {len(plan)} refits failed, so the estimate describes the others only; most often: {most}",
            CalibrantWarning,
        )
    return refits.result(method, len(plan))


def _statistics(metrics: Any, k: int) -> list[Statistic]:
    """The statistics that were named."""
    if metrics is None:
        metrics = CLINICAL if k == 2 else SEVERAL_CLASSES
    several = isinstance(metrics, Iterable) and not isinstance(metrics, (str, Metric))
    statistics = [_statistic(each) for each in (metrics if several else [metrics])]
    if not statistics:
        raise ArgumentError("metrics", "is empty", "name at least one, for example ['auroc', 'cox_slope']")
    name, times = Counter(each.name for each in statistics).most_common(1)[0]
    if times > 1:
        raise ArgumentError("metrics", f"{name!r} occurs twice", "give each function a name of its own")
    return statistics


def _statistic(metric: Any) -> Statistic:
    if metric in (auroc, average_precision):
        return NAMED[metric.__name__]
    if isinstance(metric, str) and metric.lower() in NAMED:
        return NAMED[metric.lower()]
    if isinstance(metric, (str, Metric)):
        known = catalogue[metric]
        low, high = known.range
        transform: Transform = None if low != 0 else "expit" if high == 1 else "exp"
        # Errors of calibration, 0 at best, are far from normal near 0.
        return Statistic(known.id, lambda p: known.of(p)[0], transform, not is_error(known))
    if not callable(metric):
        problem = f"must be names, metrics or functions of (y_true, y_prob); got {metric!r}"
        raise ArgumentError("metrics", problem, "for example ['auroc']")
    name = getattr(metric, "__name__", type(metric).__name__)
    return Statistic(name, lambda p: float(metric(np.asarray(p.labels), np.asarray(p.probs))))


def _value(statistic: Statistic, p: Predictions, strict: bool = False) -> tuple[float, str]:
    """The value of a statistic, NaN where it is undefined, and why it is; other errors are raised on the training rows only."""
    try:
        value = statistic.formula(p)
    except UndefinedMetricError as error:
        return math.nan, error.problem.removeprefix("is undefined: ")
    except (CalibrantError, ValueError, ZeroDivisionError, FloatingPointError):  # also of a function of the user
        if strict:
            raise
        return math.nan, ""
    return (math.nan, "infinite") if math.isinf(value) else (value, "")


class Estimates(NamedTuple):
    """Apparent value, means over the resamples, corrected value and standard error of each statistic and of each point of the curve."""

    apparent: Floats
    training: Floats
    test: Floats
    optimism: Floats
    corrected: Floats
    n: NDArray[np.int64]
    error: Floats


class _Refits:
    """A model and its refits: the values of the statistics, and of the curve at some risks, with the failures counted."""

    def __init__(self, estimator: Any, data: TrainingRows, statistics: list[Statistic]) -> None:
        self.data, self.statistics, self.has_curve = data, statistics, data.k == 2
        self.fit = fit_of(estimator, data)
        self.fitted, self.probs = self.fit(np.arange(data.n))
        self.predictions = data.predictions(self.probs)
        if self.has_curve:
            ordered = np.sort(np.asarray(self.predictions.probs))
            cut = BEYOND if len(ordered) > 2 * BEYOND + 2 else 0
            self.risks = np.linspace(ordered[cut], ordered[len(ordered) - 1 - cut], POINTS)
        values = [_value(each, self.predictions, strict=True) for each in statistics]
        self.undefined = {each.name: why for each, (_, why) in zip(statistics, values, strict=True) if why}
        self.apparent = np.concatenate([[value for value, _ in values], self._line(self.predictions)])
        self.failures: Counter[str] = Counter()
        self.warned: Counter[str] = Counter()
        self.worked = 0
        self.training: list[Floats] = []
        self.test: list[Floats] = []
        self.resampled: list[Floats] = []
        """Values of the model fitted on all rows, on the rows of each resample."""
        self.outside: list[float] = []
        """C statistic of each refit on the rows outside of its resample."""

    def run_one(self, train: Indices) -> None:
        """Refit on a resample; statistics are computed on its own rows and on all."""
        probs = self._probabilities(train)
        if probs is None:
            return
        self.training.append(self._values(probs, train))
        self.test.append(self._values(probs, np.arange(self.data.n)))
        self.resampled.append(self._values(self.probs, train))
        out = np.setdiff1d(np.arange(self.data.n), train)
        if len(np.unique(self.data.codes[out])) == self.data.k:
            self.outside.append(auroc(self.data.predictions(probs, out)))

    def run_pooled(self, plan: list[Any]) -> None:
        """Values of the held-out predictions of all folds together, one set per repeat."""
        shape = self.data.n if self.data.k == 2 else (self.data.n, self.data.k)
        held_out, seen = np.full(shape, math.nan), np.zeros(self.data.n, bool)

        def fold(number_: int) -> None:
            train, test = plan[number_]
            if seen[test].any():  # the first fold of another repeat
                finish()
            seen[test] = True
            probs = self._probabilities(train)
            if probs is not None:
                held_out[test] = probs[test]

        def finish() -> None:
            rows = np.flatnonzero(~np.isnan(held_out if self.data.k == 2 else held_out[:, 0]))
            nothing = np.full(len(self.apparent), math.nan)
            self.test.append(self._values(held_out, rows) if len(rows) else nothing)
            held_out[:] = math.nan
            seen[:] = False

        many(fold, len(plan))
        finish()

    def _probabilities(self, train: Indices) -> Floats | None:
        """Probabilities of all rows by the model fitted to some of them; None, counted, where that fails."""
        present = len(np.unique(self.data.codes[train]))
        if present < self.data.k:
            self.failures["one class only in a resample" if present == 1 else "a class is missing in a resample"] += 1
            return None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                _, probs = self.fit(train)
                self.data.predictions(probs)
            except Exception as error:  # whatever an estimator raises is a failure of this refit, which is reported
                first_line = str(error).splitlines()[0] if str(error) else ""
                self.failures[f"{type(error).__name__}: {first_line}".rstrip(": ")] += 1
                return None
        unrelated = (DeprecationWarning, FutureWarning, CalibrantWarning)
        self.warned.update({each.category.__name__ for each in caught if not issubclass(each.category, unrelated)})
        self.worked += 1
        return probs

    def _values(self, probs: Floats, rows: Indices) -> Floats:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            p = self.data.predictions(probs, rows)
            return np.concatenate([[_value(each, p)[0] for each in self.statistics], self._line(p)])

    def _line(self, p: Predictions) -> Floats:
        """The calibration curve at the risks, NaN where it is undefined; nothing without a curve."""
        if not self.has_curve:
            return np.empty(0)
        view = views_of(p, "binary")[0]
        assert isinstance(view, View)
        try:
            groups, fitted = curve_of(view, **{**catalogue["ici"].options, "smoother": "lowess"})
        except CalibrantError:
            return np.full(POINTS, math.nan)
        return np.interp(self.risks, groups.score, fitted, left=math.nan, right=math.nan)

    def estimates(self) -> Estimates:
        """The corrected values of all statistics and of the curve."""
        apparent, test = self.apparent, np.array(self.test)
        if self.training:
            training = np.array(self.training)
            defined = ~np.isnan(training + test)
            change, inside = training - test, _mean(training, defined)
            optimism = _mean(change, defined)
            corrected = apparent - optimism
        else:
            defined = ~np.isnan(test)
            change, inside = test, np.full(len(apparent), math.nan)
            corrected = _mean(test, defined)
            optimism = apparent - corrected
        n = defined.sum(axis=0)
        error = np.where(np.isnan(corrected), math.nan, _deviation(change) / np.sqrt(np.maximum(n, 1)))
        return Estimates(apparent, inside, _mean(test, defined), optimism, corrected, n, error)

    def limits(self, corrected: Floats) -> tuple[Floats, Floats]:
        """Limits of the corrected values of all statistics and of the curve; NaN where there are none."""
        low, high = np.full((2, len(corrected)), math.nan)
        if self.training:
            for place, statistic in enumerate(self.statistics):
                if statistic.has_limits:
                    low[place], high[place] = self._normal_limits(corrected, place, statistic.transform)
            if self.has_curve:
                points = slice(len(self.statistics), None)
                low[points], high[points] = self._curve_limits(corrected, points)
        return low, high

    def _normal_limits(self, corrected: Floats, place: int | slice, transform: Transform = None) -> Floats:
        """Limits by the larger of two standard deviations over the resamples, on the scale of a transform."""
        values = self.training, self.test, self.resampled
        training, test, resampled = (forth(np.array(each)[:, place], transform) for each in values)
        with np.errstate(invalid="ignore"):
            reach = QUANTILE * np.maximum(_deviation(training - test), _deviation(resampled))
        centre = forth(corrected[place], transform)
        return back([centre - reach, centre + reach], transform)

    def _curve_limits(self, corrected: Floats, points: slice) -> tuple[Floats, Floats]:
        """Limits of the curve that lie nowhere inside those of Wilson, since near 0 and 1 curves of resamples hardly vary."""
        low, high = self._normal_limits(corrected, points)
        view = views_of(self.predictions, "binary")[0]
        assert isinstance(view, View)
        rows = lowess_rows(tie_groups(view), self.risks, LOWESS_SPAN)
        least, most = binomial_interval(np.clip(corrected[points], 0, 1) * rows, rows, 1 - LEVEL, "wilson")
        return np.clip(np.minimum(low, least), 0, 1), np.clip(np.maximum(high, most), 0, 1)

    def result(self, method: str, count: int) -> InternalValidation:
        """The statistics and the curve, apparent and corrected for optimism by so many refits."""
        estimates, data, curve = self.estimates(), self.data, None
        low, high = self.limits(estimates.corrected)
        rows = []
        for place, each in enumerate(self.statistics):
            numbers = [part[place].item() for part in (*estimates, low, high)]
            values: list[Any] = [None if math.isnan(value) else value for value in numbers]
            rows.append(OptimismRow(each.name, *values))
        if self.has_curve:
            points = slice(len(rows), None)
            # Smoothers of 0 and 1, and differences of curves, can leave the interval from 0 to 1.
            before, after = (np.clip(part[points], 0, 1) for part in (estimates.apparent, estimates.corrected))
            n = estimates.n[points].astype(int)
            curve = OptimismCurve(self.risks, before, after, n, low[points], high[points])
        return InternalValidation(
            tuple(rows),
            method,
            data.n,
            None if data.k > 2 else int((data.codes == 1).sum()),
            data.classes[1] if data.k == 2 else None,
            count,
            dict(self.failures),
            dict(self.warned),
            curve,
            self.fitted,
            "\n".join(_remarks(self, count)),
        )


def _deviation(values: Floats) -> Floats:
    """Standard deviation of the finite values of each column; NaN for fewer than two."""
    is_finite = np.isfinite(values)
    n = is_finite.sum(axis=0)
    variance = _mean(np.square(values - _mean(values, is_finite)), is_finite) * n / np.maximum(n - 1, 1)
    return np.where(n > 1, np.sqrt(variance), math.nan)


def _mean(values: Floats, defined: NDArray[np.bool_]) -> Floats:
    count = defined.sum(axis=0)
    total = np.where(defined, values, 0).sum(axis=0)
    return np.divide(total, count, out=np.full(count.shape, math.nan), where=count > 0)


def _remarks(refits: _Refits, count: int) -> Iterator[str]:
    for reason, times in refits.failures.items():
        yield f"{times} of {count} refits failed and were left out: {reason}"
    for name, times in refits.warned.items():
        yield f"{times} of {count} refits emitted {name}"
    for name, reason in refits.undefined.items():
        yield f"{name} is undefined on the training rows: {reason}"
    inside, groups = auroc(refits.predictions), refits.data.groups
    if refits.outside and inside >= MEMORISED and inside - float(np.mean(refits.outside)) > FORGOTTEN:
        yield (
            f"the model memorises its training rows: C statistic {inside:.2f} there and {np.mean(refits.outside):.2f} on rows left out; the "
            "bootstrap then corrects too little, so use method='cross_validation'"
        )
    if groups is not None and groups.max() + 1 < FEW_GROUPS:
        yield f"only {int(groups.max()) + 1} clusters: the estimate depends on few of them"
