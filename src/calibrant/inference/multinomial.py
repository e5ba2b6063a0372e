"""Multinomial logistic recalibration: calibration intercepts and slopes of several classes, with standard errors and tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..curves.logistic_regression import CLIP
from ..errors import InputTypeError, UndefinedMetricError
from ..input.predictions import Predictions
from ..metrics.hints import warn_of_sure_scores
from ..util.arrays import Floats
from ..util.blocks import LARGE_BLOCK, map_blocks, rows_per_block, using_cores
from ..util.checks import check_fraction
from ..util.results import Result, number, pvalue_text
from ..views.keywords import documents_keywords
from ..views.resolve import as_predictions, views_of
from .means import two_sided_quantile

STEPS, TOLERANCE = 100, 1e-10
# Coefficients beyond this bound, and smaller probabilities of the other classes at the maximum, mean that there is no maximum.
FARTHEST, CERTAIN = 1e4, 1e-8
SEPARATED = "the likelihood has no maximum: the predictions separate some of the classes"
SINGULAR = "the log-ratios of the probabilities are collinear, so the slopes are not identified"


class LikelihoodRatio(NamedTuple):
    """Likelihood-ratio test of one model against a larger one."""

    statistic: float
    df: int
    pvalue: float


@dataclass(frozen=True, eq=False)
class MultinomialFit:
    """A fitted recalibration model; each row of an array belongs to one class against the reference.

    Parameters
    ----------
    intercepts : numpy.ndarray of shape (K - 1,)
        Intercepts.
    intercept_errors : numpy.ndarray of shape (K - 1,)
        Their standard errors.
    slopes : numpy.ndarray of shape (K - 1, K - 1)
        Slopes: row k holds those of class k on the log-ratios of all classes. Fixed slopes are 0 and 1.
    slope_errors : numpy.ndarray of shape (K - 1, K - 1)
        Their standard errors; 0 for fixed slopes.
    log_likelihood : float
        Log-likelihood at the maximum.
    parameters : int
        Number of estimated parameters.
    reason : str
        Why the model could not be fitted; empty where it could. All estimates are NaN otherwise.

    Examples
    --------
    >>> import calibrant as cal
    >>> data = cal.inference.make_calibrated(3000, distribution=(2, 2, 2), classes=3, rng=0)
    >>> fit = cal.inference.multinomial_recalibration(data.y_true, data.y_prob).own
    >>> fit.slopes.round(2)
    array([[0.99, 0.  ],
           [0.  , 1.03]])
    """

    intercepts: Floats
    intercept_errors: Floats
    slopes: Floats
    slope_errors: Floats
    log_likelihood: float
    parameters: int
    reason: str = ""


@dataclass(frozen=True, repr=False)
class MultinomialRecalibration(Result):
    """Result of `multinomial_recalibration`.

    Parameters
    ----------
    reference : object
        The reference class.
    classes : tuple
        The other classes, in the order of the rows of all arrays.
    in_the_large : MultinomialFit
        Intercepts with all slopes fixed at 1.
    own : MultinomialFit
        Intercept and slope of each class on its own log-ratio.
    full : MultinomialFit
        Intercepts and slopes of each class on the log-ratios of all classes.
    tests : dict of str to LikelihoodRatio
        ``"calibration"``: all intercepts are 0 and slopes 1, against the full model. ``"intercepts"``: all intercepts are 0, given slopes of 1.
        ``"slopes"``: own slopes are 1. ``"all_slopes"``: the slopes of the full model are 1 on the diagonal and 0 elsewhere. The latter two leave the intercepts free.
    n : int
        Number of rows.
    level : float
        Level of the intervals in the table.
    notes : tuple of str
        What could not be computed, and why.
    """

    _numeric = range(1, 5)

    reference: Any
    classes: tuple[Any, ...]
    in_the_large: MultinomialFit
    own: MultinomialFit
    full: MultinomialFit
    tests: dict[str, LikelihoodRatio]
    n: int
    level: float
    notes: tuple[str, ...] = ()

    def _columns(self) -> dict[str, list[Any]]:
        rows = []
        names = {"in_the_large": self.in_the_large, "own": self.own, "full": self.full}
        for model, fit in names.items():
            for k, name in enumerate(self.classes):
                pairs = [("intercept", "", fit.intercepts[k], fit.intercept_errors[k], 0.0)]
                for j, other in enumerate(self.classes):
                    free = model == "full" or (model == "own" and j == k)
                    pairs += [("slope", other, fit.slopes[k, j], fit.slope_errors[k, j], float(j == k))] if free else []
                for term, on, value, error, ideal in pairs:
                    low, high = self._ends(float(value), float(error))
                    rows.append((model, str(name), term, str(on), float(value), float(error), low, high, ideal))
        heads = ("model", "class", "term", "log_ratio_of", "estimate", "standard_error", "low", "high", "ideal")
        return {head: [row[i] for row in rows] for i, head in enumerate(heads)}

    def _ends(self, value: float, error: float) -> tuple[float, float]:
        half = two_sided_quantile(self.level) * error
        return value - half, value + half

    def _title(self) -> str:
        return f"multinomial recalibration, {self.n:,} rows, reference class {self.reference}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        def shown(value: float, error: float) -> str:
            if math.isnan(value):
                return "-"
            low, high = self._ends(value, error)
            return f"{value:.2f} [{low:.2f}, {high:.2f}]"

        def pairs(fit: MultinomialFit, k: int) -> list[str]:
            return [shown(fit.intercepts[k], fit.intercept_errors[k]), shown(fit.slopes[k, k], fit.slope_errors[k, k])]

        rows = [[str(name), pairs(self.in_the_large, k)[0], *pairs(self.own, k)] for k, name in enumerate(self.classes)]
        return ["class", "intercept (slope 1)", "intercept", "slope"], rows

    def _notes(self) -> list[str]:
        texts = {
            "calibration": "intercepts 0 and slopes 1",
            "intercepts": "intercepts 0, given slopes 1",
            "slopes": "own slopes 1",
            "all_slopes": "own slopes 1, others 0",
        }
        lines = [
            f"{texts[name]}: chi-square {number(test.statistic)} on {test.df} df, p = {pvalue_text(test.pvalue)}"
            for name, test in self.tests.items()
        ]
        return [*lines, *(f"note: {note}" for note in self.notes)]


@documents_keywords()
def multinomial_recalibration(
    y_true: Any,
    y_prob: Any = None,
    *,
    reference: Any = None,
    level: float = 0.95,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> MultinomialRecalibration:
    r"""Estimate calibration intercepts and slopes of several classes by multinomial recalibration.

    The generalisation of the calibration intercept and slope to more than two classes: the outcome is regressed on the log-ratios of the predicted probabilities to
    that of a reference class. Ideally all intercepts are 0 and all slopes 1. Use it for polytomous risk models, together with a calibration curve for each
    class (`calibrant.figures.classwise_panels`).

    Parameters
    ----------
    y_true
    y_prob
    reference : object, optional
        Class that the others are compared with: its name, or its index if the classes have no names. By default the first class.
    level
    sample_weight
    pos_label

    Returns
    -------
    MultinomialRecalibration
        Result with the attributes ``in_the_large`` (intercepts given slopes of 1), ``own`` and ``full`` (`MultinomialFit` with ``intercepts``, ``slopes`` and their
        standard errors) and ``tests``; ``to_frame()`` has one row per coefficient.

    Raises
    ------
    InputTypeError
        If the predictions are not hard labels with one distribution per row.
    UndefinedMetricError
        If a class does not occur.

    Warns
    -----
    BoundaryScoresWarning
        If probabilities are within 1e-12 of 0 or 1.

    See Also
    --------
    calibrant.inference.hosmer_lemeshow_multinomial : A test by groups of risk.
    calibrant.cox_slope : Two classes.
    calibrant.VectorScaling : Recalibrate the probabilities of several classes.

    Notes
    -----
    With the log-ratios :math:`L_k = \ln(p_k / p_r)` to the reference class r, the models are

    .. math:: \ln \frac{P(Y = k)}{P(Y = r)} = a_k + L_k, \qquad a_k + b_k L_k, \qquad a_k + \sum_{j \ne r} b_{kj} L_j .

    The first has the intercepts of calibration-in-the-large, the second the slope of each class on its own log-ratio, as Van Hoorde et al. report them, and the third all
    slopes. The first and the third describe the same recalibrated probabilities for any reference; the second depends on it: choose the
    reference as in the model, or report several. Standard errors come from the inverse Fisher information. With importance weights they are
    robust (sandwich, with the factor n / (n - 1) for n rows), and the likelihood-ratio tests are not valid and left out.

    With two classes all of them are logistic recalibration of the second against the first.

    References
    ----------
    .. [1] Van Hoorde, K., Vergouwe, Y., Timmerman, D., Van Huffel, S., Steyerberg, E. W. and Van Calster, B. (2014). Assessing calibration of multinomial risk
       prediction models. Statistics in Medicine 33.
    .. [2] Van Hoorde, K., Van Huffel, S., Timmerman, D., Bourne, T. and Van Calster, B. (2015). A spline-based tool to assess and visualize the calibration of
       multiclass risk predictions. Journal of Biomedical Informatics 54.

    Examples
    --------
    >>> import calibrant as cal
    >>> data = cal.inference.make_miscalibrated(3000, warp=cal.inference.simulation.temperature(2.0), distribution=(2, 2, 2), rng=0)
    >>> cal.inference.multinomial_recalibration(data.y_true, data.y_prob)
    multinomial recalibration, 3,000 rows, reference class 0
    class  intercept (slope 1)           intercept              slope
    1       0.01 [-0.10, 0.12]  0.00 [-0.09, 0.10]  0.50 [0.45, 0.54]
    2       0.10 [-0.01, 0.21]  0.04 [-0.05, 0.14]  0.52 [0.47, 0.56]
    intercepts 0 and slopes 1: chi-square 500.9 on 6 df, p = 5.297e-105
    intercepts 0, given slopes 1: chi-square 3.988 on 2 df, p = 0.1361
    own slopes 1: chi-square 494.7 on 2 df, p = 3.726e-108
    own slopes 1, others 0: chi-square 496.9 on 4 df, p = 3.07e-106
    """
    check_fraction(level, "level")
    p = as_predictions(y_true, y_prob, sample_weight, pos_label)
    if p.kind not in ("binary", "multiclass") or p.labels is None:
        raise InputTypeError("y_true", "one hard label and one distribution are required for each row")
    chosen = 0 if reference is None else p.class_index(reference, "reference")
    data = _Data.of(p, chosen)
    names = tuple(range(p.k)) if p.classes is None else tuple(p.classes)
    others = [k for k in range(p.k) if k != chosen]
    for k in range(p.k):
        if not (data.labels == (others.index(k) if k != chosen else -1)).any():
            raise UndefinedMetricError("y_true", f"class {names[k]} does not occur", "merge it with another class")
    count = len(others)
    fits = {
        "in_the_large": _fitted(data, [[]] * count),
        "own": _fitted(data, [[k] for k in range(count)]),
        "full": _fitted(data, [list(range(count))] * count),
    }
    tests = {} if data.importance else _tests(data.log_likelihood(data.ratios), fits)
    notes = [f"{name.replace('_', ' ')} model: {fit.reason}" for name, fit in fits.items() if fit.reason]
    if data.sure:
        notes.append(f"{data.sure:,} of {p.n:,} rows have a probability of 0 or 1, which is truncated at 1e-12")
    if data.importance:
        notes.append("likelihood-ratio tests are not valid for importance weights and are left out")
    return MultinomialRecalibration(
        names[chosen],
        tuple(names[k] for k in others),
        **fits,
        tests=tests,
        n=round(float(data.weight.sum())) if not data.importance else len(data.labels),
        level=float(level),
        notes=tuple(notes),
    )


@dataclass(frozen=True, eq=False)
class _Data:
    ratios: Floats
    """Log-ratios of the other classes to the reference, one column per class."""
    labels: NDArray[np.intp]
    """Column of the label; -1 for the reference."""
    weight: Floats
    importance: bool
    sure: int
    """Number of rows with a probability within 1e-12 of 0 or 1."""

    @classmethod
    def of(cls, p: Predictions, chosen: int) -> _Data:
        view: Any = views_of(p, "canonical")[0]
        probs = view.block(0, view.n).probs
        labels = np.asarray(p.labels).astype(np.intp)  # they may be unsigned
        labels = np.where(labels == chosen, -1, labels - (labels > chosen))
        weight = np.asarray(view.weights, dtype=np.float64)
        sure = ((probs < CLIP) | (probs > 1 - CLIP)).any(axis=1)
        if (probs > 1 - CLIP).any(axis=1).all():
            problem = "every row gives a class the probability 1, so that nothing is identified"
            raise UndefinedMetricError("y_prob", problem)
        warn_of_sure_scores(view, "multinomial_recalibration")
        logs = np.log(np.maximum(probs, CLIP))
        ratios = np.delete(logs - logs[:, [chosen]], chosen, axis=1)
        return cls(ratios, labels, weight, view.has_real_weights, int(np.count_nonzero(sure)))

    def log_likelihood(self, predictor: Floats) -> float:
        rows = np.arange(len(predictor))
        own = np.where(self.labels < 0, 0.0, predictor[rows, self.labels])
        return float(self.weight @ (own - _log_total(predictor)))


def _log_total(predictor: Floats) -> Floats:
    """Logarithm of 1 + the sum of exponentials, without overflow."""
    largest = np.maximum(predictor.max(axis=1), 0)
    total = np.exp(-largest) + np.exp(predictor - largest[:, None]).sum(axis=1)
    return np.asarray(largest + np.log(total))


def _fitted(data: _Data, slopes: list[list[int]]) -> MultinomialFit:
    """Fit the model in which class k has slopes on the log-ratios `slopes[k]`; without any, its own log-ratio is an offset."""
    count = data.ratios.shape[1]
    parameters = sum(1 + len(each) for each in slopes)
    try:
        theta, covariance, best = _maximum(data, slopes, parameters)
        reason = ""
    except UndefinedMetricError as error:
        theta, covariance, best = np.full(parameters, np.nan), np.full((parameters, parameters), np.nan), math.nan
        reason = error.problem
    errors = np.sqrt(np.diag(covariance))
    steep, spread = np.eye(count), np.zeros((count, count))
    first = np.cumsum([0, *(1 + len(each) for each in slopes)])[:-1]
    for k, each in enumerate(slopes):
        if each:
            steep[k] = 0
            steep[k, each] = theta[first[k] + 1 : first[k] + 1 + len(each)]
            spread[k, each] = errors[first[k] + 1 : first[k] + 1 + len(each)]
    if reason:
        steep = np.where(spread == 0, steep, np.nan)
    return MultinomialFit(theta[first], errors[first], steep, spread, best, parameters, reason)


def _maximum(data: _Data, slopes: list[list[int]], parameters: int) -> tuple[Floats, Floats, float]:
    """Newton's method with halved steps, from the uncalibrated probabilities; the coefficients, their covariance and the log-likelihood."""
    ones = np.ones((len(data.labels), 1))
    designs = [np.hstack([ones, data.ratios[:, each]]) for each in slopes]
    ends = np.cumsum([0, *(design.shape[1] for design in designs)])
    theta = np.zeros(parameters)
    for k, each in enumerate(slopes):
        if k in each:
            theta[ends[k] + 1 + each.index(k)] = 1

    def predictor(at: Floats) -> Floats:
        columns = [design @ at[ends[k] : ends[k + 1]] for k, design in enumerate(designs)]
        return np.column_stack(
            [c if each else c + data.ratios[:, k] for k, (c, each) in enumerate(zip(columns, slopes, strict=True))]
        )

    eta = predictor(theta)
    value = data.log_likelihood(eta)
    if any(np.linalg.matrix_rank(_standardised(design)) < design.shape[1] for design in designs):
        raise UndefinedMetricError("y_prob", SINGULAR)
    for _ in range(STEPS):
        gradient, information, _ = _derivatives(data, designs, eta)
        try:
            step = np.linalg.solve(information, gradient)
        except np.linalg.LinAlgError:
            raise UndefinedMetricError("y_prob", SINGULAR) from None
        least, scale = value - 1e-12 * (1 + abs(value)), 1.0
        while True:
            eta = predictor(theta + scale * step)
            value = data.log_likelihood(eta)
            if not value < least or scale <= 1e-10:
                break
            scale /= 2
        theta = theta + scale * step
        if np.abs(theta).max() > FARTHEST or not np.isfinite(theta).all():
            raise UndefinedMetricError("y_prob", SEPARATED)
        if np.abs(scale * step).max() <= TOLERANCE * max(1.0, float(np.abs(theta).max())):
            break
    else:
        raise UndefinedMetricError("y_prob", SEPARATED)
    _, information, squares = _derivatives(data, designs, eta)
    size = np.sqrt(np.diag(information))
    if not (size > CERTAIN).all():
        raise UndefinedMetricError("y_prob", SEPARATED)
    scaled = information / np.outer(size, size)
    if np.linalg.eigvalsh(scaled)[0] < 1e-10:
        raise UndefinedMetricError("y_prob", SINGULAR)
    covariance = np.linalg.inv(scaled) / np.outer(size, size)
    if data.importance:
        rows = len(data.labels)  # the factor of `interval`, as in survey sampling
        covariance = covariance @ squares @ covariance * (rows / (rows - 1))
    return theta, covariance, value


def _standardised(design: Floats) -> Floats:
    """A design with centred columns of unit variance beside the constant; those that do not vary are 0."""
    centred = design - np.append(0.0, design[:, 1:].mean(axis=0))
    spread = np.sqrt(np.square(centred).mean(axis=0))
    return np.where(spread > 1e-12 * (1 + np.abs(design).max(axis=0)), centred / np.where(spread > 0, spread, 1.0), 0.0)


def _derivatives(data: _Data, designs: list[Floats], eta: Floats) -> tuple[Floats, Floats, Floats]:
    """Gradient, Fisher information, and the sum of squared gradients of the weighted rows."""
    ends = np.cumsum([0, *(design.shape[1] for design in designs)]).tolist()

    def work(start: int, stop: int) -> tuple[Floats, Floats, Floats]:
        weight, labels, part = data.weight[start:stop], data.labels[start:stop], eta[start:stop]
        probs = np.exp(part - _log_total(part)[:, None])
        parts = [design[start:stop] for design in designs]
        expected = np.hstack([probs[:, [k]] * design for k, design in enumerate(parts)])
        weighted = expected * weight[:, None]
        information = -(weighted.T @ expected)
        for k, design in enumerate(parts):
            own = slice(ends[k], ends[k + 1])
            # Not the difference of two products, which cancel where a probability is close to 1.
            information[own, own] = (weighted[:, own] * (1 - probs[:, [k]])).T @ design
            weighted[:, own] = (weight * ((labels == k) - probs[:, k]))[:, None] * design
        return weighted.sum(axis=0), information, weighted.T @ weighted if data.importance else np.zeros(0)

    # One block at a time: products of matrices take most of the time and have threads of their own.
    with using_cores(1):
        found = map_blocks(work, len(eta), rows_per_block(ends[-1], LARGE_BLOCK))
    gradient, information, squares = (np.sum(each, axis=0) for each in zip(*found, strict=True))
    return gradient, information, squares


def _tests(before: float, fits: dict[str, MultinomialFit]) -> dict[str, LikelihoodRatio]:
    from scipy.special import chdtrc

    def test(small: float, large: MultinomialFit, df: int) -> LikelihoodRatio:
        statistic = max(0.0, 2 * (large.log_likelihood - small)) if not large.reason else math.nan
        return LikelihoodRatio(statistic, df, float(chdtrc(df, statistic)))

    shift, own, full = fits["in_the_large"], fits["own"], fits["full"]
    return {
        "calibration": test(before, full, full.parameters),
        "intercepts": test(before, shift, shift.parameters),
        "slopes": test(shift.log_likelihood, own, own.parameters - shift.parameters),
        "all_slopes": test(shift.log_likelihood, full, full.parameters - shift.parameters),
    }
