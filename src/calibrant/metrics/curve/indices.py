"""Distance of a fitted calibration curve from the diagonal: mean, percentiles, maximum, mean square."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from ...curves.local_regression import (
    KNOTS,
    LEAST,
    LOWESS_SPAN,
    Groups,
    loess,
    logistic_curve,
    lowess,
    spline_basis,
    tie_groups,
    weighted_quantile,
)
from ...errors import ArgumentError, UndefinedMetricError
from ...util.arrays import Floats
from ...util.checks import check_positive, check_whole
from ...util.sums import accurate_sum
from ...views.view import VectorView, View
from ..registry import metric, preset

Smoother = Literal["loess", "lowess", "rcs", "logistic"]
Surface = Literal["direct", "interpolate"]

# Smoothers over the log-odds of the scores.
LOGISTIC = ("rcs", "logistic")
MOST_STEPS = 100
# Above this number of classes, splines of every class in every equation have too many coefficients.
MOST_SPLINE_CLASSES = 5
# Value of a mean squared distance of 1, as in the paper.
SCALE = 100


class Curve(NamedTuple):
    """A fitted curve at each distinct score, and their weights."""

    groups: Groups
    fitted: Floats

    @property
    def distance(self) -> Floats:
        return np.abs(self.fitted - self.groups.score)

    def mean(self, values: Floats) -> float:
        return accurate_sum(self.groups.weight * values) / accurate_sum(self.groups.weight)


def curve_of(view: View, smoother: str, bounded: bool, **options: Any) -> Curve:
    """Fit the curve once for all indices of a view."""
    key = ("fitted curve", smoother, *options.values())
    if key not in view.tables:
        groups = tie_groups(view)
        view.tables[key] = Curve(groups, _fit_smoother(groups, smoother, **options))
    curve: Curve = view.tables[key]
    return Curve(curve.groups, np.clip(curve.fitted, 0, 1)) if bounded else curve


def _fit_smoother(
    groups: Groups, smoother: str, span: float | None, degree: int, surface: str, knots: int, delta: float = 0.01
) -> Floats:
    share = check_positive({"lowess": LOWESS_SPAN}.get(smoother, 0.75) if span is None else span, "span")
    if check_whole(degree, "degree", 0) > 2:
        raise ArgumentError("degree", f"must be 0, 1 or 2; got {degree}")
    if knots not in KNOTS:
        raise ArgumentError("knots", f"must be 3, 4 or 5; got {knots!r}")
    if not delta >= 0:
        raise ArgumentError("delta", f"must not be negative; got {delta!r}")
    if len(groups.score) == 1:
        return groups.rate
    if smoother == "loess":
        return loess(groups, share, degree, surface)
    if smoother == "lowess":
        return lowess(groups, share, delta * float(groups.score[-1] - groups.score[0]))
    return logistic_curve(groups, knots if smoother == "rcs" else None)


SMOOTHED: dict[str, Any] = {
    "range": (0, math.inf),
    "ideal": 0,
    "cite": "austin2019",
    "reads_log_odds": lambda view, options: options["smoother"] in LOGISTIC,
}


@metric("Integrated calibration index", **SMOOTHED)
def ici(
    view: View,
    *,
    smoother: Smoother = "loess",
    span: float | None = None,
    degree: int = 2,
    surface: Surface = "interpolate",
    delta: float = 0.01,
    knots: int = 5,
    bounded: bool = False,
) -> float:
    """Mean absolute difference between the scores and a smooth calibration curve."""
    curve = curve_of(view, smoother, bounded, span=span, degree=degree, surface=surface, knots=knots, delta=delta)
    return curve.mean(curve.distance)


@metric("Percentile of the calibration error", **SMOOTHED)
def ep(
    view: View,
    *,
    q: float = 0.9,
    smoother: Smoother = "loess",
    span: float | None = None,
    degree: int = 2,
    surface: Surface = "interpolate",
    delta: float = 0.01,
    knots: int = 5,
    bounded: bool = False,
) -> float:
    """Quantile over rows of the absolute difference between the score and a smooth calibration curve."""
    if isinstance(q, bool) or not isinstance(q, (int, float, np.floating)) or not 0 <= q <= 1:
        raise ArgumentError("q", f"must be from 0 to 1; got {q!r}", "for example 0.9")
    curve = curve_of(view, smoother, bounded, span=span, degree=degree, surface=surface, knots=knots, delta=delta)
    return float(weighted_quantile(curve.distance, curve.groups.weight, [float(q)])[0])


e50 = preset(ep, "e50", "Median calibration error", q=0.5)
e90 = preset(ep, "e90", "90th percentile of the calibration error", q=0.9)
emax = preset(ep, "emax", "Maximum calibration error of a smooth curve", q=1.0, cite="harrell2015")


@metric(
    "Estimated calibration index",
    range=(0, math.inf),
    ideal=0,
    lens="canonical",
    sketch=False,
    cite="vanhoorde2015",
    reads_log_odds=lambda view, options: (
        options["smoother"] in (*LOGISTIC, "spline") or (options["smoother"] == "auto" and getattr(view, "k", 2) > 2)
    ),
)
def eci(
    view: VectorView,
    *,
    smoother: Literal["auto", "spline", "loess", "lowess", "rcs", "logistic"] = "auto",
    relative: bool = False,
    penalty: float = 1.0,
    span: float | None = None,
    degree: int = 2,
    surface: Surface = "direct",
    knots: int = 5,
) -> float:
    """Mean squared difference between the forecasts and smooth calibration curves, over all classes."""
    if smoother == "spline" or (smoother == "auto" and 2 < view.k <= MOST_SPLINE_CLASSES):
        error, reference = _spline_errors(view, check_positive(penalty, "penalty"), knots)
    else:
        options = {"span": span, "degree": degree, "surface": surface, "knots": knots}
        error, reference = _class_errors(view, "loess" if smoother == "auto" else smoother, options)
    if not relative:
        return SCALE / 2 * error
    if reference <= LEAST:
        raise UndefinedMetricError("eci", "the fitted curve is constant, so the index is undefined")
    return error / reference


def _class_errors(view: VectorView, smoother: str, options: dict[str, Any]) -> tuple[float, float]:
    """Compute the squared distance of the curve of each class from the scores and from the proportion of the class, summed over classes."""
    errors, references = [], []
    for column in [1] if view.k == 2 else range(view.k):
        score = view.each_row(lambda block, j=column: block.probs[:, j])  # type: ignore[misc]
        share = view.each_row(lambda block, j=column: block.targets[:, j])  # type: ignore[misc]
        outcome = share if view.is_soft else share.astype(np.uint8)
        single = View(score, outcome, view.weight, view.weight_kind)
        curve = curve_of(single, smoother, False, **options)
        errors.append(curve.mean(np.square(curve.distance)))
        references.append(curve.mean(np.square(curve.fitted - curve.mean(curve.groups.rate))))
    both = 2 if view.k == 2 else 1  # both of two columns have the same error
    return both * math.fsum(errors), both * math.fsum(references)


def _spline_errors(view: VectorView, penalty: float, knots: int) -> tuple[float, float]:
    """Compute the same for a multinomial logistic regression on splines of the log-ratios."""
    if knots not in KNOTS:
        raise ArgumentError("knots", f"must be 3, 4 or 5; got {knots!r}")
    parts = [(block.probs, block.targets) for _, block in view.blocks()]
    probs, targets = (np.concatenate(part) for part in zip(*parts, strict=True))
    share = view.weights / view.total
    rows = view.row_count
    logs = np.log(np.maximum(probs, LEAST))
    ratios = logs - logs.mean(axis=1, keepdims=True)
    columns = np.column_stack([spline_basis(ratio, share * rows, knots) for ratio in ratios.T])
    columns = columns - share @ columns
    size = np.sqrt(share @ columns**2)
    told = size > 1e-10 * np.maximum(np.abs(columns).max(axis=0), LEAST)
    design = np.column_stack([np.ones(view.n), columns[:, told] / size[told]])
    fitted = _multinomial(design, ratios, targets, share * view.effective_size, penalty)
    error, reference = (
        accurate_sum(share * np.square(fitted - target).sum(axis=1)) for target in (probs, share @ targets)
    )
    return error, reference


def _multinomial(design: Floats, offset: Floats, targets: Floats, weight: Floats, penalty: float) -> Floats:
    """Fit a penalised regression by Newton steps and return its probabilities; the penalty makes the maximum unique and finite."""
    wide, classes = design.shape[1], offset.shape[1]
    coefficients = np.zeros((wide, classes))
    best = math.inf
    step = np.zeros_like(coefficients)
    fitted = offset
    for _ in range(MOST_STEPS):
        eta = offset + design @ coefficients
        eta = eta - eta.max(axis=1, keepdims=True)
        logs = eta - np.log(np.exp(eta).sum(axis=1, keepdims=True))
        loss = penalty / 2 * float(np.square(coefficients).sum()) - accurate_sum(weight * (targets * logs).sum(axis=1))
        if loss > best + 1e-9 * abs(best):  # step too long
            step = step / 2
            coefficients = coefficients - step
            continue
        best, fitted = loss, np.exp(logs)
        if np.abs(step).max() < 1e-9 and step.any():
            break
        slope = design.T @ (weight[:, None] * (targets - fitted)) - penalty * coefficients
        if np.abs(slope).max() < 1e-14 * weight.sum():
            break
        step = np.linalg.solve(_curvature(design, fitted, weight, penalty), slope.T.ravel()).reshape(classes, wide).T
        coefficients = coefficients + step
    return fitted


def _curvature(design: Floats, fitted: Floats, weight: Floats, penalty: float) -> Floats:
    """Compute the second derivatives of the penalised loss, one block for each pair of classes."""
    wide, classes = design.shape[1], fitted.shape[1]
    bend = np.empty((classes, wide, classes, wide))
    for j in range(classes):
        for k in range(j + 1):
            cross = weight * fitted[:, j] * ((j == k) - fitted[:, k])
            bend[j, :, k] = design.T @ (design * cross[:, None])
            bend[k, :, j] = bend[j, :, k].T
    square = bend.reshape(classes * wide, classes * wide)
    return square + penalty * np.eye(classes * wide)
