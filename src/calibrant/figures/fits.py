"""Curves of reliability diagrams without bins, smooth and isotonic, with pointwise intervals and the density of scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..binning.table import binomial_interval
from ..curves.curves import isotonic
from ..errors import ArgumentError, UndefinedMetricError
from ..inference.bands import calibration_band
from ..inference.replicates import Bounds, quantile_bounds
from ..metrics.kernel.smooth import smece
from ..metrics.kernel.spectral import NARROWEST
from ..util.checks import is_number
from ..util.results import Result
from ..views.view import View
from .uncertainty import BINOMIAL, Floats, Resampler, band_bounds, standard_errors

# Cells per bandwidth of the kernel, and least number of cells.
PER_WIDTH, FEWEST_CELLS = 16, 512
# Least effective number of rows at a point of a smooth curve.
LOCAL_ROWS = 2.0


@dataclass(frozen=True)
class FittedCurve(Result):
    """A curve with pointwise intervals (NaN without), and the probability density of the scores (NaN for an isotonic curve)."""

    x: Floats
    y: Floats
    low: Floats
    high: Floats
    density: Floats
    bandwidth: float | None = None


def no_bounds(count: int) -> Bounds:
    """Intervals that are not known."""
    return Bounds(np.full(count, np.nan), np.full(count, np.nan))


class _Smoother:
    """Masses at scores smoothed by a Gaussian reflected at 0 and 1, the kernel of `smece`."""

    def __init__(self, width: float) -> None:
        self.cells = max(FEWEST_CELLS, math.ceil(PER_WIDTH / width))
        self.width = width
        self.x = (np.arange(self.cells) + 0.5) / self.cells

    def spread(self, score: Floats, mass: Floats) -> Floats:
        """Density of the masses in each cell: a mass is split between the two nearest cells and smoothed."""
        place = np.clip(score * self.cells - 0.5, 0, self.cells - 1)
        left = np.minimum(place.astype(np.int64), self.cells - 2)
        part = place - left
        grid = np.bincount(left, mass * (1 - part), self.cells) + np.bincount(left + 1, mass * part, self.cells)
        width = self.width * self.cells
        reach = int(8 * width + 0.5)
        kernel = np.exp(-np.square(np.arange(-reach, reach + 1) / width) / 2)
        return np.convolve(np.pad(grid * self.cells, reach, mode="symmetric"), kernel / kernel.sum(), "valid")


def smooth_curve(
    view: View, how: str | None, *, level: float, n_resamples: int, rng: Any, bandwidth: float | None
) -> FittedCurve:
    """Kernel regression of the outcome on the score; the default bandwidth is the smooth calibration error."""
    width = _width(view, bandwidth)
    smoother, ties = _Smoother(width), view.ties
    weight = smoother.spread(ties.score, ties.weight)
    events = smoother.spread(ties.score, ties.outcome)
    density = weight / view.total
    local = view.effective_size * density * 2 * math.sqrt(math.pi) * width
    seen = local >= LOCAL_ROWS
    if not seen.any():
        seen = density >= density.max() / 2
    x, y = smoother.x[seen], np.clip(events[seen] / weight[seen], 0, 1)

    def refit(score: Floats, weight: Floats, events: Floats) -> Floats:
        mass, yes = (smoother.spread(score, values)[seen] for values in (weight, events))
        return np.divide(yes, mass, out=np.full(mass.shape, np.nan), where=mass > 1e-12 * mass.max())

    if how in (*BINOMIAL, "standard_error") and view.is_soft:
        raise UndefinedMetricError("uncertainty", "intervals are not defined for soft labels", "use None")
    if how in BINOMIAL:
        bounds = Bounds(*binomial_interval(local[seen] * y, local[seen], 1 - level, how))
    elif how == "standard_error":
        bounds = standard_errors(y, local[seen])
    else:
        bounds = curve_bounds(view, how, x, refit, level=level, n_resamples=n_resamples, rng=rng)
    return FittedCurve(x, y, *bounds, density=density[seen], bandwidth=width)


def _width(view: View, bandwidth: float | None) -> float:
    if bandwidth is None:
        return max(float(smece(view)), 10 * NARROWEST)
    if not is_number(bandwidth) or not 10 * NARROWEST <= bandwidth <= 1:
        raise ArgumentError("bandwidth", f"must lie from {10 * NARROWEST:g} to 1; got {bandwidth!r}")
    return float(bandwidth)


def curve_bounds(
    view: View,
    how: str | None,
    x: Floats,
    refit: Callable[[Floats, Floats, Floats], Floats],
    *,
    level: float,
    n_resamples: int,
    rng: Any,
) -> Bounds:
    """Intervals of a curve at `x`: a simultaneous band, or of the curve fitted to resamples, a function of their scores, weights and events."""
    if how is None:
        return no_bounds(len(x))
    if how == "band":
        return band_bounds(calibration_band(view, alpha=1 - level), x)
    resampler = Resampler(view)
    curves = [refit(resampler.score, *sums) for sums in zip(*resampler.draw(how, n_resamples, rng), strict=True)]
    return quantile_bounds(np.array(curves), level)


def corp_curve(view: View, how: str | None, *, level: float, n_resamples: int, rng: Any) -> FittedCurve:
    """The isotonic curve (CORP), linear between blocks."""
    from scipy.optimize import isotonic_regression

    fitted = isotonic(view)
    x, y = np.array(fitted.scores), np.array(fitted.rates)
    if how in ("bootstrap", "consistency"):
        # The observed scores suffice, because the curve is linear between them.
        score = view.ties.score
        if len(score) > FEWEST_CELLS:
            score = np.quantile(score, np.linspace(0, 1, FEWEST_CELLS))
        x = np.union1d(x, score)
        y = fitted(x)

    def refit(score: Floats, weight: Floats, events: Floats) -> Floats:
        order = np.argsort(score, kind="stable")
        some = order[weight[order] > 0]
        rates = isotonic_regression(events[some] / weight[some], weights=weight[some]).x
        return np.interp(x, score[some], rates)

    bounds = curve_bounds(view, how, x, refit, level=level, n_resamples=n_resamples, rng=rng)
    return FittedCurve(x, y, *bounds, density=np.full(len(x), np.nan))
