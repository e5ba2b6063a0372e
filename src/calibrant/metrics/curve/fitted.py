"""Calibration error relative to a calibration curve fitted on the test rows ("fit on the test")."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ...binning.rules import equal_mass_cuts
from ...curves import curves
from ...curves.logistic_regression import (
    CLIP,
    Groups,
    SeparatedError,
    groups_of,
    logit,
    quantiles,
    rates_seen,
    separating_side,
)
from ...errors import UndefinedMetricError
from ...util.arrays import Floats
from ...util.blocks import map_blocks, rows_per_block
from ...util.checks import check_whole
from ...util.sums import accurate_sum
from ...views.view import Block, VectorView, View
from ..bin.bins import ece
from ..registry import metric, preset

FOLDS, MOST_KNOTS, ROWS_PER_KNOT, MOST_CELLS = 10, 15, 200, 1024
# The smallest number of knots whose held-out loss is this close to the best (Kaengsepp et al.).
NEARLY = 1.001


def report(score: Floats, weight: Floats, rate: Floats, norm: float) -> float:
    """Compute the mean distance between the fitted curve and the score, to the power `norm`."""
    distance = np.abs(rate - score)
    if math.isinf(norm):
        return float(distance.max())
    return accurate_sum(weight * distance**norm) / accurate_sum(weight)


def _of_curve(view: View, fit: Callable[[], Callable[[Floats], Floats]], norm: float) -> float:
    groups = groups_of(view)
    try:
        rate = fit()(groups.score)
    except SeparatedError:
        rate = rates_seen(groups)  # the limit of ever steeper curves
    return report(groups.score, groups.weight, rate, norm)


@metric("Expected calibration error, fit on the test, piecewise linear", range=(0, 1), ideal=0, cite="kaengsepp2025")
def fott_pl(view: View, *, knots: int | Sequence[float] | None = None, clipped: bool = True, norm: float = 1) -> float:
    """Mean distance between the score and a piecewise linear calibration curve fitted on these rows by least squares."""
    chosen = _choose(view, "probability") if knots is None else knots
    return _of_curve(view, lambda: curves.piecewise_linear(view, chosen, "probability", clipped), norm)


@metric(
    "Expected calibration error, fit on the test, piecewise linear in log-odds",
    range=(0, 1),
    ideal=0,
    cite="kaengsepp2025",
    reads_log_odds=True,
)
def fott_pl3(view: View, *, knots: int | Sequence[float] | None = None, norm: float = 1) -> float:
    """Mean distance between the score and a calibration curve that is piecewise linear in log-odds, fitted on these rows by maximum likelihood."""
    chosen = _choose(view, "logit") if knots is None else knots
    return _of_curve(view, lambda: curves.piecewise_linear(view, chosen, "logit"), norm)


def _choose(view: View, space: curves.Space) -> int:
    """Choose the smallest number of interior knots that predicts held-out rows nearly as well as the best."""
    most = min(MOST_KNOTS, math.floor(round(view.effective_size, 9) / ROWS_PER_KNOT))
    if most == 0:
        return 0
    groups = groups_of(view)
    feature = logit(groups.score) if space == "logit" else groups.score
    if space == "logit" and separating_side(groups, 1, feature):
        return 0
    folded = _folds(view, space)
    ends = (float(feature[0]), float(feature[-1])) if space == "logit" else (0.0, 1.0)
    losses = []
    for count in range(most + 1):
        knots = curves.knots_of(groups, count, feature, ends)
        if len(knots) < 2:
            return 0
        losses.append(round(_held_out(folded, knots, space), 12))
    best = min(losses)
    return next(count for count, loss in enumerate(losses) if loss <= best * NEARLY)


def _folds(view: View, space: curves.Space) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the score or log-odds of each cell, and for each fold the weight and the sums of w y and w y^2; a count represents that many rows."""
    score, outcome, weight = view.sorted_rows
    w = np.ones(view.n) if weight is None else weight.astype(np.float64)
    groups = np.repeat(np.arange(len(view.prefix.score)), np.diff(view.prefix.end))
    if weight is not None or view.is_soft or (np.diff(outcome)[np.diff(score) == 0] < 0).any():
        order = np.lexsort((w, outcome, score))
        outcome, w = outcome[order], w[order]  # permutes tied rows only, so that their groups are unchanged
    cell = groups
    if len(view.prefix.score) > MOST_CELLS:
        cuts = equal_mass_cuts(view.prefix, MOST_CELLS)
        cell = np.searchsorted(cuts, groups, side="right") - 1
    count = int(cell[-1]) + 1
    rows = w if view.weight_kind == "counts" else np.ones(view.n)
    last = np.cumsum(rows).astype(np.int64)
    scale = view.effective_size / view.total
    parts = []
    for held in range(FOLDS):
        inside = (last - 1 - held) // FOLDS - (last - rows.astype(np.int64) - 1 - held) // FOLDS
        part = inside * scale * (1 if view.weight_kind == "counts" else w)
        parts.append([np.bincount(cell, part * values, count) for values in (np.ones(view.n), outcome, outcome**2)])
    mass = np.bincount(cell, w, count)
    x = np.bincount(cell, w * (logit(score) if space == "logit" else score), count) / mass
    sums = np.array(parts)
    return x, sums[:, 0], sums[:, 1], sums[:, 2]


def _held_out(folded: tuple[Floats, Floats, Floats, Floats], knots: Floats, space: curves.Space) -> float:
    """Compute the loss of the rows of each fold under the curve fitted on the others, per unit of weight."""
    x, weight, events, shares = folded
    loss = []
    for fold in range(len(weight)):
        w, e = weight.sum(axis=0) - weight[fold], events.sum(axis=0) - events[fold]
        if not weight[fold].any() or not (w > 1e-9).any():
            continue
        if space == "probability":
            heights = curves.least_squares_heights(x, knots, w, e)
            rate = np.clip(x + curves.hats(x, knots) @ heights, 0, 1)
            loss.append(accurate_sum(weight[fold] * rate**2 - 2 * rate * events[fold] + shares[fold]))
            continue
        kept = w > 1e-9
        part = Groups(x[kept], w[kept], w[kept], e[kept], (w - e)[kept], (w[kept],) * 3)
        try:
            moved = x + curves.hats(x, knots) @ curves.likeliest_heights(part, x[kept], knots)
        except SeparatedError:  # the other folds are separated
            return math.inf
        loss.append(accurate_sum(weight[fold] * np.logaddexp(0, moved) - events[fold] * moved))
    return math.fsum(loss) / float(weight.sum())


fott_em = preset(
    ece,
    "fott_em",
    "Expected calibration error, fit on the test, equal-mass bins",
    binning="equal_mass",
    cite="kaengsepp2025",
)

fott_ew = preset(
    fott_em, "fott_ew", "Expected calibration error, fit on the test, equal-width bins", binning="equal_width"
)


@metric(
    "Expected calibration error, fit on the test, Platt", range=(0, 1), ideal=0, cite="platt1999", reads_log_odds=True
)
def fott_platt(view: View, *, norm: float = 1) -> float:
    """Mean distance between the score and the logistic calibration curve fitted on these rows."""
    return _of_curve(view, lambda: curves.logistic(view), norm)


@metric(
    "Expected calibration error, fit on the test, beta", range=(0, 1), ideal=0, cite="kull2017", reads_log_odds=True
)
def fott_beta(view: View, *, norm: float = 1) -> float:
    """Mean distance between the score and the non-decreasing beta calibration curve fitted on these rows."""
    return _of_curve(view, lambda: curves.beta(view), norm)


@metric("Expected calibration error, fit on the test, isotonic", range=(0, 1), ideal=0, cite="zadrozny2002")
def fott_isotonic(view: View, *, norm: float = 1) -> float:
    """Mean distance between the score and the isotonic calibration curve fitted on these rows."""
    return _of_curve(view, lambda: curves.isotonic(view), norm)


@metric("CORP miscalibration", range=(0, 1), ideal=0, cite="dimitriadis2021")
def corp_mcb(view: View) -> float:
    """Brier score minus that of the isotonic calibration curve fitted on these rows."""
    groups = groups_of(view)
    score, rate = groups.score, curves.isotonic_of_groups(groups)(groups.score)
    saved = (score - rate) * (score + rate - 2 * groups.rate)
    return max(0.0, accurate_sum(groups.weight * saved) / accurate_sum(groups.weight))


@metric("Expected calibration error, fit on the test, spline", range=(0, 1), ideal=0, cite="gupta2021")
def fott_spline(view: View, *, knots: int = 6, norm: float = 1) -> float:
    """Mean distance between the score and a calibration curve from a spline of the cumulative differences of these rows."""
    return _of_curve(view, lambda: curves.spline(view, knots), norm)


@metric(
    "Expected calibration error, fit on the test, intra order-preserving",
    range=(0, 1),
    ideal=0,
    cite="rahimi2020",
    lens="canonical",
    sketch=False,
    reads_log_odds=True,
)
def fott_iop(view: VectorView, *, pieces: int = 5, norm: float = 1) -> float:
    """Mean total variation distance between the forecast and its order-preserving recalibration fitted on these rows."""
    knots = _vector_knots(view, check_whole(pieces, "pieces"))
    if len(knots) < 2:  # every forecast is uniform, and so is its recalibration
        return 0.0
    heights = np.append(0.0, np.cumsum(_slopes(view, knots) * np.diff(knots)))

    def distance(block: Block) -> Floats:
        log_probs = _log_probs(block)
        gap = np.abs(_softmax(np.interp(log_probs, knots, heights))[0] - _softmax(log_probs)[0])
        return gap.max(axis=1) if math.isinf(norm) else (gap**norm).sum(axis=1) / 2

    return float(view.each_row(distance).max()) if math.isinf(norm) else view.mean_of(distance)


def _log_probs(block: Block) -> Floats:
    return np.clip(block.log_probs(), math.log(CLIP), 0.0)


def _vector_knots(view: VectorView, pieces: int) -> Floats:
    """Divide the range of all log-probabilities into pieces with equal numbers."""
    values = np.concatenate([_log_probs(block).ravel() for _, block in view.blocks()])
    weight = np.repeat(view.weights, view.k)
    distinct, group = np.unique(values, return_inverse=True)
    mass = np.bincount(group, weight).astype(np.float64)
    rows = mass if view.weight_kind != "importance" else np.bincount(group).astype(np.float64)
    groups = Groups(distinct, rows, mass, mass, mass, (mass, mass, mass))
    return np.unique(quantiles(groups, distinct, np.arange(pieces + 1) / pieces))


def _softmax(values: Floats) -> tuple[Floats, Floats]:
    """Compute the softmax and the logarithms of its normalising sums."""
    top = values.max(axis=1, keepdims=True)
    with np.errstate(under="ignore"):
        raw = np.exp(values - top)
    total = raw.sum(axis=1, keepdims=True)
    return raw / total, (top + np.log(total))[:, 0]


def _slopes(view: VectorView, knots: Floats) -> Floats:
    """Fit the non-negative slopes by maximum likelihood; a convex problem, solved by projected Newton steps."""
    return rising_slopes(lambda slopes: _likelihood(view, knots, slopes), len(knots) - 1, "fott_iop")


def rising_slopes(loss: Callable[[Floats], tuple[float, Floats, Floats]], count: int, needed_by: str) -> Floats:
    """Minimise a loss over non-negative slopes, given its value, gradient and curvature."""
    slopes = np.ones(count)
    value, gradient, curvature = loss(slopes)
    small = 0
    for _ in range(100):
        free = (slopes > 0) | (gradient < 0)
        step = np.zeros(len(slopes))
        if free.any():
            step[free] = -np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        for _ in range(40):
            ahead = np.maximum(slopes + step, 0)
            value_ahead = loss(ahead)
            if value_ahead[0] <= value + 1e-12 * (1 + abs(value)):
                break
            step /= 2
        small += bool(np.abs(ahead - slopes).max() <= 1e-10 * max(1.0, float(ahead.max())))
        slopes, (value, gradient, curvature) = ahead, value_ahead
        if small == 3:
            return slopes
    raise UndefinedMetricError(needed_by, "the likelihood could not be maximized", "use fewer pieces")


def _likelihood(view: VectorView, knots: Floats, slopes: Floats) -> tuple[float, Floats, Floats]:
    """Compute minus the log-likelihood with the penalty of slopes other than 1, its gradient and its curvature."""
    width, count = np.diff(knots), len(slopes)
    weight = view.weights * (view.effective_size / view.total)

    def work(start: int, stop: int) -> tuple[float, Floats, Floats]:
        block = view.block(start, stop)
        w = weight[start:stop]
        # Length of each piece below each log-probability, on which the slopes act.
        below = np.clip(_log_probs(block)[:, :, None] - knots[:-1], 0, width)
        mapped = below @ slopes
        share, level = _softmax(mapped)
        mean = np.einsum("nk,nkj->nj", share, below)
        surplus = mean - np.einsum("nk,nkj->nj", block.targets, below)
        second = np.einsum("nk,nki,nkj->ij", share * w[:, None], below, below, optimize=True)
        value = float((w * (level - (block.targets * mapped).sum(axis=1))).sum())
        return value, w @ surplus, second - mean.T @ (w[:, None] * mean)

    parts = map_blocks(work, view.n, rows_per_block(view.k * count), columns=view.k * count)
    off = slopes - 1
    value = math.fsum(part[0] for part in parts) + curves.NODE_RIDGE / 2 * float(off @ off)
    gradient = np.sum([part[1] for part in parts], axis=0) + curves.NODE_RIDGE * off
    return value, gradient, np.sum([part[2] for part in parts], axis=0) + curves.NODE_RIDGE * np.eye(count)
