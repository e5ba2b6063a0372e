"""Distance of a fitted calibration curve from the diagonal: mean, percentiles, maximum, mean square."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...curves.local_regression import (
    KNOTS,
    LEAST,
    Groups,
    loess,
    logistic_curve,
    lowess,
    spline_basis,
    tie_groups,
    weighted_quantile,
)
from ...errors import ArgumentError, UndefinedMetricError
from ...util.checks import check_positive, check_whole
from ...util.sums import accurate_sum
from ...views.view import VectorView, View
from ..registry import metric, preset

Floats = NDArray[np.float64]
Smoother = Literal["loess", "lowess", "rcs", "logistic"]
Surface = Literal["direct", "interpolate"]

# Smoothers over the log-odds of the scores.
LOGISTIC = ("rcs", "logistic")
MOST_STEPS = 100
# Above this number of classes, splines of every class in every equation have too many coefficients.
MOST_SPLINE_CLASSES = 5


class Curve(NamedTuple):
    """A fitted curve at each distinct score, and their weights."""

    groups: Groups
    fitted: Floats

    @property
    def distance(self) -> Floats:
        return np.abs(self.fitted - self.groups.score)

    def mean(self, values: Floats) -> float:
        return accurate_sum(self.groups.weight * values) / accurate_sum(self.groups.weight)


def curve_of(view: View, *, smoother: str, bounded: bool, **options: Any) -> Curve:
    """Fit the curve once for all indices of a view."""
    key = ("fitted curve", smoother, *options.values())
    if key not in view.tables:
        groups = tie_groups(view)
        view.tables[key] = Curve(groups, _fitted(groups, smoother, **options))
    curve: Curve = view.tables[key]
    return Curve(curve.groups, np.clip(curve.fitted, 0, 1)) if bounded else curve


def _fitted(
    groups: Groups,
    smoother: str,
    span: float | None,
    degree: int,
    surface: str,
    exact: bool,
    delta: float,
    knots: int,
) -> Floats:
    share = check_positive({"lowess": 2 / 3}.get(smoother, 0.75) if span is None else span, "span")
    if check_whole(degree, "degree", 0) > 2:
        raise ArgumentError("degree", f"must be 0, 1 or 2; got {degree}")
    if knots not in KNOTS:
        raise ArgumentError("knots", f"must be 3, 4 or 5; got {knots!r}")
    if not delta >= 0:
        raise ArgumentError("delta", f"must not be negative; got {delta!r}")
    if exact and smoother == "loess" and surface == "interpolate":
        raise ArgumentError("exact", "has no effect on the interpolated surface", "use surface='direct'")
    if len(groups.score) == 1:
        return groups.rate
    if smoother == "loess":
        return loess(groups, share, degree, surface, exact)
    if smoother == "lowess":
        return lowess(groups, share, delta * float(groups.score[-1] - groups.score[0]), exact)
    return logistic_curve(groups, knots if smoother == "rcs" else None)


EXPLAIN = {
    "smoother": "Method of fitting the curve: ``'loess'``, ``'lowess'`` (as in rms::val.prob), ``'rcs'`` (logistic regression on a restricted cubic "
    "spline of the log-odds) or ``'logistic'`` (on the log-odds alone).",
    "span": "Fraction of the rows in each neighbourhood; by default 0.75, or 2/3 with ``'lowess'``.",
    "degree": "Degree of the local polynomials of ``'loess'``: 0, 1 or 2.",
    "surface": "``'interpolate'`` fits at the vertices of a k-d tree and interpolates between them, as R's ``loess`` does by default; ``'direct'`` fits "
    "at every score.",
    "exact": "Whether ``surface='direct'`` and ``'lowess'`` fit at every score; otherwise above 2,000 distinct scores 500 of them are fitted with cubic interpolation between, which "
    "changes the curve by less than 1e-4 on ordinary data. The computing time of exact fits grows with the square of the number of rows.",
    "delta": "Smallest distance of the fits of ``'lowess'``, as a fraction of the range of the scores; linear interpolation is used between.",
    "knots": "Knots of ``'rcs'``: 3, 4 or 5, at Harrell's quantiles.",
    "bounded": "Whether to clip the curve to [0, 1], which local polynomials may exceed.",
}
CURVE: dict[str, Any] = {
    "family": "curve",
    "subfamily": "fitted curve",
    "range": (0, math.inf),
    "ideal": 0,
    "probability_scale": True,
    "cost": "N log N",
    "explain": EXPLAIN,
}


@metric(
    "Integrated calibration index",
    **CURVE,
    aliases=("ICI", "Eavg"),
    cite="austin2019",
    pros="no bins; interpretable as a mean difference of probabilities; widely used in clinical prediction",
    cons="depends on the span of the smoother; above 0 for calibrated forecasts in small samples",
    notes="Neighbourhoods are defined by numbers of rows, and weights multiply the kernel inside them. The default is the curve of R's ``loess(y ~ p)``; "
    "``loess.control(surface = 'direct')`` is ``surface='direct'``. ``smoother='lowess'`` is Harrell's Eavg.",
    reads_log_odds=lambda view, options: options["smoother"] in LOGISTIC,
)
def ici(
    view: View,
    *,
    smoother: Smoother = "loess",
    span: float | None = None,
    degree: int = 2,
    surface: Surface = "interpolate",
    exact: bool = False,
    delta: float = 0.01,
    knots: int = 5,
    bounded: bool = False,
) -> float:
    """Mean absolute difference between the scores and a smooth calibration curve."""
    curve = curve_of(
        view,
        smoother=smoother,
        bounded=bounded,
        span=span,
        degree=degree,
        surface=surface,
        exact=exact,
        delta=delta,
        knots=knots,
    )
    return curve.mean(curve.distance)


@metric(
    "Percentile of the calibration error",
    **CURVE | {"explain": {**EXPLAIN, "q": "Quantile, from 0 to 1."}},
    aliases=("EP", "EX", "error percentile"),
    cite="austin2019",
    pros="interpretable as the error that a fraction q of the rows does not exceed; no bins",
    cons="depends on the span of the smoother; above 0 for calibrated forecasts in small samples",
    notes="Linear interpolation between order statistics (type 7). With importance weights, normalised to sum to the number of rows, the r-th "
    "smallest value is the first up to which they sum to r.",
    reads_log_odds=lambda view, options: options["smoother"] in LOGISTIC,
)
def ep(
    view: View,
    *,
    q: float = 0.9,
    smoother: Smoother = "loess",
    span: float | None = None,
    degree: int = 2,
    surface: Surface = "interpolate",
    exact: bool = False,
    delta: float = 0.01,
    knots: int = 5,
    bounded: bool = False,
) -> float:
    """Quantile over rows of the absolute difference between the score and a smooth calibration curve."""
    if isinstance(q, bool) or not isinstance(q, (int, float, np.floating)) or not 0 <= q <= 1:
        raise ArgumentError("q", f"must be from 0 to 1; got {q!r}", "for example 0.9")
    curve = curve_of(
        view,
        smoother=smoother,
        bounded=bounded,
        span=span,
        degree=degree,
        surface=surface,
        exact=exact,
        delta=delta,
        knots=knots,
    )
    return float(weighted_quantile(curve.distance, curve.groups.weight, [float(q)])[0])


e50 = preset(
    ep,
    "e50",
    "Median calibration error",
    summary="Median over rows of the absolute difference between the score and a smooth calibration curve.",
    q=0.5,
    aliases=("E50",),
)
e90 = preset(
    ep,
    "e90",
    "90th percentile of the calibration error",
    summary="90th percentile over rows of the absolute difference between the score and a smooth calibration curve.",
    q=0.9,
    aliases=("E90",),
)


emax = preset(
    ep,
    "emax",
    "Maximum calibration error of a smooth curve",
    summary="Largest absolute difference between an observed score and a smooth calibration curve.",
    robust=False,
    q=1.0,
    aliases=("Emax", "Emax index", "Harrell's Emax", "Harrell's Emax index"),
    cite="harrell2015",
    pros="reports the worst error over the scores; no bins",
    cons="determined by one score, even if few rows are near it, as at the ends of the curve",
)


@metric(
    "Estimated calibration index",
    family="curve",
    subfamily="fitted curve",
    range=(0, math.inf),
    ideal=0,
    lens="canonical",
    sketch=False,
    cost="N K log N per step",
    aliases=("ECI", "expected calibration index"),
    cite="vanhoorde2015",
    pros="a single number for all classes; no bins",
    cons="on a squared scale; the curve of several classes has many coefficients",
    certainty="certain for two classes; for more the constant is fairly sure, and the smoother is a choice",
    notes="Two classes: 100 times the mean squared distance of a loess curve. Three to five classes: multinomial logistic regression on natural "
    "cubic splines (five knots) of the log-ratio of each class to the geometric mean of all, which does not depend on the order of the "
    "classes, shrunk towards the forecast by `penalty`. More classes: a loess curve for each class. Loess is fitted at every score, since the "
    "interpolation that is the default of `ici` changes slightly if classes are exchanged. ``relative=True`` divides by the same "
    "index of the class proportions (Edlinger), so that 1 is no better than those.",
    explain={
        **EXPLAIN,
        "smoother": "``'auto'``, ``'spline'``, or a curve for each class: ``'loess'``, ``'lowess'``, ``'rcs'`` or ``'logistic'``.",
        "scale": "Value of a mean squared distance of 1; 100 as in the paper.",
        "relative": "Whether to divide by the index of the constant forecast at the class proportions.",
        "penalty": "Penalty on the squared coefficients of ``'spline'``, in rows.",
    },
    reads_log_odds=lambda view, options: (
        options["smoother"] in (*LOGISTIC, "spline") or (options["smoother"] == "auto" and getattr(view, "k", 2) > 2)
    ),
)
def eci(
    view: VectorView,
    *,
    smoother: Literal["auto", "spline", "loess", "lowess", "rcs", "logistic"] = "auto",
    scale: float = 100,
    relative: bool = False,
    penalty: float = 1.0,
    span: float | None = None,
    degree: int = 2,
    surface: Surface = "direct",
    exact: bool = False,
    delta: float = 0.01,
    knots: int = 5,
    bounded: bool = False,
) -> float:
    """Mean squared difference between the forecasts and smooth calibration curves, over all classes."""
    factor = check_positive(scale, "scale") / 2
    if smoother == "spline" or (smoother == "auto" and 2 < view.k <= MOST_SPLINE_CLASSES):
        error, reference = _spline_errors(view, check_positive(penalty, "penalty"), knots)
    else:
        options = (span, degree, surface, exact, delta, knots)
        error, reference = _class_errors(view, "loess" if smoother == "auto" else smoother, bounded, options)
    if not relative:
        return factor * error
    if reference <= LEAST:
        raise UndefinedMetricError("eci", "the fitted curve is constant, so the index is undefined")
    return error / reference


def _class_errors(view: VectorView, smoother: str, bounded: bool, options: tuple[Any, ...]) -> tuple[float, float]:
    """Compute the squared distance of the curve of each class from the scores and from the proportion of the class, summed over classes."""
    names = ("span", "degree", "surface", "exact", "delta", "knots")
    errors, references = [], []
    for column in [1] if view.k == 2 else range(view.k):
        score = view.each_row(lambda block, j=column: block.probs[:, j])  # type: ignore[misc]
        share = view.each_row(lambda block, j=column: block.targets[:, j])  # type: ignore[misc]
        outcome = share if view.is_soft else share.astype(np.uint8)
        single = View(score, outcome, view.weight, view.weight_kind)
        curve = curve_of(single, smoother=smoother, bounded=bounded, **dict(zip(names, options, strict=True)))
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
    rows = view.total if view.weight_kind == "counts" else view.n
    logs = np.log(np.maximum(probs, LEAST))
    ratios = logs - logs.mean(axis=1, keepdims=True)
    columns = np.column_stack([spline_basis(ratio, share * rows, knots) for ratio in ratios.T])
    columns = columns - share @ columns
    size = np.sqrt(share @ columns**2)
    told = size > 1e-10 * np.maximum(np.abs(columns).max(axis=0), LEAST)
    design = np.column_stack([np.ones(view.n), columns[:, told] / size[told]])
    fitted = _multinomial(design, ratios, targets, share * view.effective_size, penalty)
    error, reference = (
        accurate_sum(share * np.square(fitted - given).sum(axis=1)) for given in (probs, share @ targets)
    )
    return error, reference


def _multinomial(design: Floats, offset: Floats, targets: Floats, weight: Floats, penalty: float) -> Floats:
    """Fit a penalised regression by Newton steps and return its probabilities; the penalty makes the maximum unique and finite."""
    wide, classes = design.shape[1], offset.shape[1]
    found = np.zeros((wide, classes))
    best = math.inf
    step = np.zeros_like(found)
    fitted = offset
    for _ in range(MOST_STEPS):
        eta = offset + design @ found
        eta = eta - eta.max(axis=1, keepdims=True)
        logs = eta - np.log(np.exp(eta).sum(axis=1, keepdims=True))
        loss = penalty / 2 * float(np.square(found).sum()) - accurate_sum(weight * (targets * logs).sum(axis=1))
        if loss > best + 1e-9 * abs(best):  # step too long
            step = step / 2
            found = found - step
            continue
        best, fitted = loss, np.exp(logs)
        if np.abs(step).max() < 1e-9 and step.any():
            break
        slope = design.T @ (weight[:, None] * (targets - fitted)) - penalty * found
        if np.abs(slope).max() < 1e-14 * weight.sum():
            break
        step = np.linalg.solve(_curvature(design, fitted, weight, penalty), slope.T.ravel()).reshape(classes, wide).T
        found = found + step
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
