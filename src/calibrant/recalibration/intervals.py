"""Confidence intervals of calibrated probabilities: Wald limits, exact limits of bins and increasing curves, and refits to resamples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..binning.table import binomial_interval
from ..curves.logistic_regression import Groups, groups_of, logit
from ..errors import ArgumentError, CalibrantError, UndefinedMetricError
from ..inference.replicates import Replicates, quantile_bounds
from ..input.predictions import Predictions
from ..util.checks import check_fraction, check_whole
from ..util.results import Result, number
from ..views.view import View
from .coefficients import steps
from .scores import Array, Floats, Scores, TrainingData, off_boundary

if TYPE_CHECKING:
    from .base import Calibrator

# First group, and the one after the last.
Range = tuple[NDArray[np.intp], NDArray[np.intp]]
# Share of the resamples that must have a fit.
FITTED = 0.9
# Numbers of rows and of classes that are printed.
SHOWN_ROWS, SHOWN_CLASSES = 10, 4


@dataclass(frozen=True, repr=False)
class CalibrationInterval(Result):
    """Confidence intervals of calibrated probabilities.

    Attributes
    ----------
    probability : ndarray of shape (N,) or (N, K)
        Calibrated probabilities: of the second of two classes, or of each class.
    low : ndarray of the same shape
        Lower ends.
    high : ndarray of the same shape
        Upper ends.
    level : float
        Confidence level.
    n_resamples : int
        Number of resamples with a fit; 0 where a formula gives the limits.
    """

    probability: Array
    low: Array
    high: Array
    level: float
    n_resamples: int

    def _columns(self, classes: int | None = None) -> dict[str, list[Any]]:
        if self.probability.ndim == 1:
            return {name: getattr(self, name).tolist() for name in ("probability", "low", "high")}
        return {
            f"{name}_{k}": getattr(self, name)[:, k].tolist()
            for name in ("probability", "low", "high")
            for k in range(self.probability.shape[1])[:classes]
        }

    def _title(self) -> str:
        source = f" from {self.n_resamples} resamples" if self.n_resamples else ""
        return f"calibrated probabilities with {100 * self.level:g}% intervals{source}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        first = {name: values[:SHOWN_ROWS] for name, values in self._columns(SHOWN_CLASSES).items()}
        return list(first), [[number(value) for value in row] for row in zip(*first.values(), strict=True)]

    def _notes(self) -> list[str]:
        n, k = (*self.probability.shape, 1)[:2]
        shown = [f"{SHOWN_ROWS} of {n:,} rows"] if n > SHOWN_ROWS else []
        shown += [f"{SHOWN_CLASSES} of {k:,} classes"] if k > SHOWN_CLASSES else []
        return [f"the first {' and '.join(shown)}; to_frame() has all"] if shown else []


def calibration_interval(
    fitted: Calibrator, rows: Predictions, at: Scores, level: float, n_resamples: int, rng: Any
) -> CalibrationInterval:
    """Intervals of the probabilities that a calibrator fitted on these rows gives at some scores."""
    check_fraction(level, "level")
    check_whole(n_resamples, "n_resamples", 2)
    if fitted.needs:
        raise ArgumentError("calibrator", f"{type(fitted).__name__} requires {fitted.needs}, and has no intervals")
    data, whole = TrainingData(rows), fitted.apply(at)
    probability = whole[:, 1] if at.k == 2 and fitted.exclusive else whole
    boundary = fitted.fit_record_.boundary
    limits = fitted._limits(off_boundary(data, boundary), off_boundary(at, boundary), level)
    if limits is not None:
        low, high = (each.reshape(probability.shape) for each in limits)
        return CalibrationInterval(
            probability, np.minimum(low, probability), np.maximum(high, probability), level, n_resamples=0
        )

    def refitted(counts: Floats) -> Array:
        if rows.weight is None or data.counted:
            part = rows.take(np.flatnonzero(counts))
            part.weight, part.weight_kind = counts[counts > 0], "counts"
        else:
            part = rows.take(np.repeat(np.arange(data.n), counts.astype(np.int64)))
        copy = type(fitted)(**fitted.get_params(deep=False))
        try:
            probs = copy._fit_read(TrainingData(part), fitted.classes_, fitted.n_features_in_).apply(at)
        except CalibrantError:
            return np.full(probability.size, np.nan)
        return (probs[:, 1] if probability.ndim == 1 else probs).ravel()

    values = Replicates(data.weight if data.counted else data.n, n_resamples, rng).values(refitted)
    kept = int((~np.isnan(values).any(axis=1)).sum())
    if kept < FITTED * n_resamples:
        problem = f"{type(fitted).__name__} could be fitted to {kept} of {n_resamples} resamples only"
        raise UndefinedMetricError("calibrator", problem, "use more rows of each class")
    low, high = (end.reshape(probability.shape) for end in quantile_bounds(values, level))
    return CalibrationInterval(probability, low, high, level, kept)


def wald_limits(fitted: Calibrator, rows: TrainingData, at: Scores, level: float) -> tuple[Floats, Floats]:
    """Normal limits of the log-odds of each class against the others, with the Fisher information of maximum likelihood.

    Importance weights have the sandwich covariance.
    """
    from scipy.special import expit, ndtri

    def probs_and_slopes(data: Scores) -> tuple[Floats, Floats]:
        """Probabilities, and the derivatives of the logits minus their mean over the classes."""
        probs, slopes = fitted.apply(data), np.asarray(fitted._slopes(data))
        return probs, slopes - np.einsum("nk,nkp->np", probs, slopes)[:, None]

    probs, slopes = probs_and_slopes(rows)
    information = np.einsum("nkp,nkq->pq", (rows.weight[:, None] * probs)[:, :, None] * slopes, slopes)
    covariance = np.linalg.pinv(information, hermitian=True)
    if rows.given_weight[1] == "importance":
        own = rows.weight[:, None] * slopes[np.arange(rows.n), rows.labels]
        covariance = covariance @ (own.T @ own) @ covariance

    probs, slopes = probs_and_slopes(at)
    others = 1 - probs if at.k > 2 else probs[:, ::-1]
    gradient = np.divide(slopes, others[:, :, None], out=np.zeros_like(slopes), where=others[:, :, None] > 0)
    variance = np.maximum(np.einsum("nkp,pq,nkq->nk", gradient, covariance, gradient), 0)
    half = -ndtri((1 - level) / 2) * np.sqrt(variance)
    odds, shown = logit(probs), slice(1, None) if at.k == 2 else slice(None)
    return expit(odds - half)[:, shown], expit(odds + half)[:, shown]


def limits_of_bins(curve: Any, view: View, at: Floats, level: float) -> tuple[Floats, Floats]:
    """Clopper-Pearson limits of the rate of the bin in which a score lies."""
    inner = steps(curve)[0][1:-1]
    closed: Literal["left", "right"] = "left" if curve.kind.endswith("_left") else "right"
    groups, place = groups_of(view), np.searchsorted(inner, at, "right" if closed == "left" else "left")
    ends = np.concatenate([[0], np.searchsorted(groups.score, inner, closed), [len(groups.score)]])
    rows = ends[place], ends[place + 1]
    return _exact_limits(groups, rows, rows, level)


def limits_of_increasing(curve: Any, view: View, at: Floats, level: float) -> tuple[Floats, Floats]:
    """Clopper-Pearson limits: the lower of the nearest rows up to a score, the upper of those from it on.

    The rates of the former are at most, and those of the latter at least, that at the score. Which rows these are depends on scores alone.
    """
    groups = groups_of(view)
    rows = np.append(0.0, np.cumsum(groups.weight))
    size = rows[-1] ** (2 / 3)
    stop, start = (np.searchsorted(groups.score, at, side) for side in ("right", "left"))
    first = np.maximum(np.searchsorted(rows, rows[stop] - size, "right") - 1, 0)
    last = np.minimum(np.searchsorted(rows, rows[start] + size), len(groups.score))
    return _exact_limits(groups, (first, stop), (start, last), level)


def _exact_limits(groups: Groups, below: Range, above: Range, level: float) -> tuple[Floats, Floats]:
    """The lower Clopper-Pearson limit of the groups in one range, and the upper one of those in another."""
    sums = [np.append(0.0, np.cumsum(part)) for part in (groups.events, groups.weight)]
    (low, _), (_, high) = (
        binomial_interval(np.minimum(events, rows), rows, 1 - level, "clopper_pearson")
        for events, rows in ([each[stop] - each[start] for each in sums] for start, stop in (below, above))
    )
    return np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=1.0)
