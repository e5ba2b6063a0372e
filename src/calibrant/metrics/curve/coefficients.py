"""Coefficients of the regression of the outcome on the score, and statistics that test them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Literal

import numpy as np

from ...curves.curves import beta, beta_features, fit_line
from ...curves.logistic_regression import (
    CLIP,
    Groups,
    LogisticFit,
    SeparatedError,
    fit_lines,
    groups_of,
    logit,
    rates_seen,
    rows_of,
)
from ...errors import UndefinedMetricError, WeightsNotSupportedError
from ...util.arrays import Floats
from ...util.checks import check_whole
from ...util.sums import accurate_sum
from ...views.view import View
from ..forms import Fitted
from ..registry import metric


def line_of(view: View, penalty: str | None) -> LogisticFit:
    """Fit the logistic regression of the outcome on the log-odds of the score."""
    # Firth's penalty takes many passes, which are shorter over ties.
    groups = rows_of(view) if penalty is None else groups_of(view)
    feature = logit(groups.score)
    if feature.min() == feature.max():
        raise UndefinedMetricError("y_prob", "all scores are equal, so the slope is not identified")
    return fit_line(groups, feature, firth=penalty == "firth")


def _coefficients(view: View, penalty: str | None) -> Floats:
    """Return intercept and slope of the line, which may have been fitted together with those of other views."""
    if penalty is None and LINE in view.tables:
        known: Floats = view.tables[LINE]
        return known
    return line_of(view, penalty).coefficients


def _fill_lines(views: Sequence[View], penalty: str | None) -> None:
    """Fit the lines of several views with counts together; each view keeps its own, unless it needs the care of a single fit."""
    if penalty is not None:
        return
    sizes = np.array([view.n for view in views])
    weight = np.concatenate([view.weights for view in views])
    events = weight * np.concatenate([view.outcome for view in views])
    lines, is_fitted = fit_lines(logit(np.concatenate([view.score for view in views])), weight, events, sizes)
    for view, line, fitted in zip(views, lines, is_fitted, strict=True):
        if fitted:
            view.tables[LINE] = line


def _coefficient(place: int, view: View, penalty: str | None) -> Fitted:
    return Fitted(lambda: float(_coefficients(view, penalty)[place]), partial(_fill_lines, penalty=penalty))


LINE = "cox line"


@metric(
    "Cox calibration intercept",
    range=(-math.inf, math.inf),
    ideal=0,
    alternative="two-sided",
    cite="cox1958",
    reads_log_odds=True,
)
def cox_intercept(view: View, *, penalty: Literal[None, "firth"] = None) -> Fitted:
    """Intercept of the logistic regression of the outcome on the log-odds of the score."""
    return _coefficient(0, view, penalty)


@metric(
    "Cox calibration slope",
    range=(-math.inf, math.inf),
    ideal=1,
    alternative="two-sided",
    cite="cox1958",
    reads_log_odds=True,
)
def cox_slope(view: View, *, penalty: Literal[None, "firth"] = None) -> Fitted:
    """Slope of the logistic regression of the outcome on the log-odds of the score."""
    return _coefficient(1, view, penalty)


@metric(
    "Statistical beta calibration test",
    range=(0, math.inf),
    ideal=0,
    soft=False,
    importance=False,
    cite="kull2017",
    reads_log_odds=True,
)
def sbct(view: View, *, statistic: Literal["lr", "l2"] = "lr") -> float:
    """Likelihood ratio statistic of a fitted beta calibration curve against the scores."""
    groups = groups_of(view)
    try:
        curve = beta(view, constrained=False)
    except SeparatedError:
        return _limit(groups, statistic)
    if statistic == "l2":
        return accurate_sum(groups.weight * np.square(curve(groups.score) - groups.score)) / view.total
    # The change of the log-odds and of ln(1 + odds) by the curve, as differences, which keeps digits for calibrated forecasts.
    low, high = beta_features(groups.score)
    moved = (curve.a - 1) * low + (curve.b - 1) * high + curve.c
    near = np.clip(moved, -1, 1)
    softened = np.log1p(np.exp(low) * np.expm1(near))
    softened = np.where(near == moved, softened, np.logaddexp(0, low + high + moved) - np.logaddexp(0, low + high))
    return max(0.0, 2 * accurate_sum(groups.events * moved - groups.weight * softened))


def _limit(groups: Groups, statistic: str) -> float:
    """Compute the limit of the statistic if the likelihood has no maximum: the curve then passes through the observed rates."""
    rate = rates_seen(groups)
    if statistic == "l2":
        return accurate_sum(groups.weight * np.square(rate - groups.score)) / accurate_sum(groups.weight)
    score, rest = np.maximum(groups.score, CLIP), np.maximum(1 - groups.score, CLIP)
    with np.errstate(divide="ignore", invalid="ignore"):
        events = np.where(groups.events > 0, groups.events * np.log(rate / score), 0.0)
        others = np.where(groups.others > 0, groups.others * np.log((1 - rate) / rest), 0.0)
    return max(0.0, 2 * accurate_sum(events + others))


Covariance = Literal["null", "HC0", "HAC", "ols"]


@metric("Parabolic Wald statistic", range=(0, math.inf), ideal=0, soft=False, cite="galbraith2011")
def pws(view: View, *, covariance: Covariance = "null", lags: int | None = None) -> float:
    """Wald statistic of the distance between a parabola fitted to the outcomes and the diagonal."""
    if covariance == "HAC" and view.weight is not None and not (view.weight == 1).all():
        word = "counts" if view.weight_kind == "counts" else "sample_weight"
        raise WeightsNotSupportedError(word, "the covariance 'HAC' does not support weights", "use covariance='HC0'")
    ordered = slice(None) if covariance == "HAC" else view.order
    score, outcome = view.score[ordered], view.outcome[ordered]
    weight = view.weights[ordered] * (view.effective_size / view.total)
    own = weight if view.weight_kind != "importance" else weight**2
    # Columns that span 1, p and p^2 (fewer if fewer scores are distinct), orthonormal under the weights.
    root = np.sqrt(weight)[:, None]
    orthonormal, triangle = np.linalg.qr(root * np.vander(score, min(3, len(np.unique(score))), increasing=True))
    if (np.abs(np.diag(triangle)) <= 1e-10 * np.sqrt(np.square(triangle).sum(axis=0))).any():
        raise UndefinedMetricError("pws", "the scores are nearly constant, so the parabola is not identified")
    basis = np.asarray(orthonormal / root)
    drift = basis.T @ (weight * (score - outcome))
    if covariance == "null":
        spread = np.sqrt(own * view.variance[ordered])
        return _distance(drift, spread[:, None] * basis, "give scores inside (0, 1)")
    # The basis is orthonormal under the weights, so that `drift` is minus the coefficients of the unrestricted fit.
    left = outcome - score + basis @ drift
    if covariance == "HAC":
        value, vector = np.linalg.eigh(_with_neighbours(left[:, None] * basis, lags))
        return _distance(drift, np.sqrt(np.maximum(value, 0))[:, None] * vector.T)
    noise = np.abs(left) if covariance == "HC0" else _deviation(left, weight, basis.shape[1])
    return _distance(drift, (np.sqrt(own) * noise)[:, None] * basis)


def _deviation(left: Floats, weight: Floats, columns: int) -> float:
    count = float(weight.sum())
    if count - columns <= 1e-9:
        raise UndefinedMetricError("pws", "the parabola fits every outcome exactly, so the variance is zero")
    return math.sqrt(accurate_sum(weight * left**2) / (count - columns))


def _with_neighbours(pushes: Floats, lags: int | None) -> Floats:
    """Compute Newey and West's sum of products of each row with itself and the `lags` rows before it."""
    most = math.floor(4 * (len(pushes) / 100) ** (2 / 9)) if lags is None else check_whole(lags, "lags", 0)
    spread = pushes.T @ pushes
    for lag in range(1, min(most, len(pushes) - 1) + 1):
        beside = pushes[lag:].T @ pushes[:-lag]
        spread = spread + (1 - lag / (most + 1)) * (beside + beside.T)
    return np.asarray(spread)


def _distance(drift: Floats, root: Floats, remedy: str = "use covariance='null' and scores inside (0, 1)") -> float:
    """Compute drift' (root' root)^-1 drift from the root itself, since squaring would lose half of the digits."""
    triangle = np.asarray(np.linalg.qr(root, mode="r"), dtype=np.float64)
    # The variance per unit weight is at most 1/4 in every direction; values this small are rounding error.
    if len(triangle) < len(drift) or np.square(np.diag(triangle)).min() <= 1e-12:
        raise UndefinedMetricError(
            "pws",
            "the covariance is singular: nearly all scores are 0 or 1, or the parabola fits exactly",
            remedy,
        )
    return float(np.square(np.linalg.solve(triangle.T, drift)).sum())
