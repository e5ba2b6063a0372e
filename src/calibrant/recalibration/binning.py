"""Maps that are constant on bins of scores, and averages of many such maps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..binning.rules import check_bins, equal_mass_cuts
from ..curves import curves
from ..curves.logistic_regression import CLIP, groups_of, logit
from ..errors import ArgumentError
from ..util.checks import check_whole
from ..views.view import View
from .base import CountingCalibrator, Input, Method
from .binary import Curve, Multiclass, ScoreCalibrator, plain_logistic, with_top
from .scores import Floats, Scores, TrainingData, on_scale, scale_of

__all__ = [
    "BayesianBinning",
    "HistogramBinning",
    "NearIsotonicEnsemble",
    "ScalingBinning",
    "TopLabelHistogramBinning",
]

Starts = NDArray[np.intp]
Binning = Literal["equal_mass", "equal_width"]
# More groups than this are pooled to as many of equal weight before the path of near-isotonic curves is followed.
MOST_GROUPS = 1000
MOST_BINS_PER_CUBE_ROOT, LEAST_ROWS_PER_BIN = 10, 5


def stepped(kind: str, edges: Floats, rates: Floats) -> curves.Interpolated:
    """A curve that is constant between edges, each of which belongs to the bin below it."""
    inside = (edges >= 0) & (edges < 1)
    edges, rates = edges[inside], rates[np.append(True, inside)]
    if not len(edges):
        return curves.Interpolated(kind, (0.5,), (float(rates[0]),))
    at = np.column_stack([edges, np.nextafter(edges, np.inf)]).ravel()
    heights = np.column_stack([rates[:-1], rates[1:]]).ravel()
    kept = np.append(True, np.diff(at) > 0)  # edges that are neighbours in floating point share an end
    return curves.Interpolated(kind, tuple(at[kept].tolist()), tuple(heights[kept].tolist()))


def _between(score: Floats, starts: Starts) -> Floats:
    """Edges midway between the neighbouring scores of two bins, where rounding allows it below the upper one."""
    low, high = score[starts[1:] - 1], score[starts[1:]]
    return np.minimum((low + high) / 2, np.nextafter(high, -np.inf))


@dataclass(eq=False, repr=False)
class HistogramBinning(ScoreCalibrator):
    """The share of events in each bin of scores (Zadrozny and Elkan 2001).

    Parameters
    ----------
    input
        What the scores are.
    bins
        Number of bins.
    binning
        ``"equal_mass"``, with edges midway between neighbouring scores, or ``"equal_width"``.
    empty
        What a bin without rows gives: its ``"midpoint"`` or the ``"mean"`` of all rows.
    shrink
        Rows of each outcome added to every bin that has rows; 0.5 keeps probabilities off 0 and 1.
    multiclass
        How several classes are taken apart; see `ScoreCalibrator`.
    """

    methods = (Method("histogram"),)
    input: Input = "prob"
    bins: int = 15
    binning: Binning = "equal_mass"
    empty: Literal["midpoint", "mean"] = "midpoint"
    shrink: float = 0.0
    multiclass: Multiclass = "one_vs_rest"

    def _check_params(self) -> None:
        super()._check_params()
        check_bins(self.bins)
        if not (isinstance(self.shrink, (int, float)) and 0 <= self.shrink < math.inf):
            raise ArgumentError("shrink", f"must be a non-negative number; got {self.shrink!r}")

    def _curve(self, view: View) -> Curve:
        if self.binning == "equal_mass":
            return histogram(view, self.bins, self.shrink)
        groups = groups_of(view)
        edges = np.arange(self.bins + 1) / self.bins
        place = np.searchsorted(edges[1:-1], groups.score, side="left")
        weight = np.asarray(np.bincount(place, groups.weight, self.bins), dtype=np.float64)
        events = np.asarray(np.bincount(place, groups.events, self.bins), dtype=np.float64)
        nothing = (edges[1:] + edges[:-1]) / 2 if self.empty == "midpoint" else events.sum() / weight.sum()
        rates = np.where(weight > 0, _share(events, weight, self.shrink), nothing)
        return stepped("histogram", edges[1:-1], rates)


def _share(events: Floats, weight: Floats, shrink: float) -> Floats:
    total = weight + 2 * shrink
    return np.clip(np.divide(events + shrink, total, out=np.zeros(len(total)), where=total > 0), 0, 1)


def histogram(view: View, bins: int, shrink: float = 0.0) -> curves.Interpolated:
    """The share of events in bins of equal weight."""
    groups = groups_of(view)
    starts = equal_mass_cuts(view.prefix, bins)
    events, weight = np.add.reduceat(groups.events, starts), np.add.reduceat(groups.weight, starts)
    return stepped("histogram", _between(groups.score, starts), _share(events, weight, shrink))


@dataclass(eq=False, repr=False)
class TopLabelHistogramBinning(CountingCalibrator):
    """How often the prediction is right, in bins of the confidence, for each predicted class by itself (Gupta and Ramdas 2021).

    The other classes share the rest as before, so that the predicted class stays. A class that was never predicted takes the bins of
    all rows.

    Parameters
    ----------
    input
        What the scores are.
    points_per_bin
        Rows that a bin of equal weight holds at least.
    """

    methods = (Method("top_label_histogram"),)
    keeps_argmax = True
    treats_classes_alike = True
    fitted = ("curves_",)

    input: Input = "prob"
    points_per_bin: int = 50

    def _check_params(self) -> None:
        super()._check_params()
        check_whole(self.points_per_bin, "points_per_bin")

    def _fit(self, data: TrainingData) -> None:
        weight, kind = data.given_weight
        self.scale_ = scale_of(data)
        data = on_scale(data, self.scale_)
        top = data.probs.argmax(axis=1)
        confidence, right = data.probs.max(axis=1), (top == data.labels).astype(np.uint8)

        def of(rows: Any) -> curves.Interpolated:
            view = View(confidence[rows], right[rows], None if weight is None else weight[rows], kind)
            return histogram(view, max(1, int(view.effective_size / self.points_per_bin + 1e-9)))

        everything = of(slice(None))
        chosen = [np.flatnonzero(top == c) for c in range(data.k)]
        self.curves_ = tuple(of(rows) if len(rows) else everything for rows in chosen)

    def _predict(self, data: Scores) -> Floats:
        data = on_scale(data, self.scale_)
        top, best = data.probs.argmax(axis=1), data.probs.max(axis=1)
        confidence = np.empty(data.n)
        for c, curve in enumerate(self.curves_):
            confidence[top == c] = curve(best[top == c])
        return with_top(data.probs, confidence)


@dataclass(eq=False, repr=False)
class BayesianBinning(ScoreCalibrator):
    """An average over equal-mass histograms with many numbers of bins, weighed by how likely each makes the labels (Naeini et al. 2015).

    Parameters
    ----------
    input
        What the scores are.
    strength
        Rows that the prior is worth; they lie at the midpoints of the bins.
    multiclass
        How several classes are taken apart; see `ScoreCalibrator`.
    """

    methods = (Method("bayesian_binning"),)
    input: Input = "prob"
    strength: float = 2.0
    multiclass: Multiclass = "one_vs_rest"

    def _check_params(self) -> None:
        super()._check_params()
        if not (isinstance(self.strength, (int, float)) and 0 < self.strength < math.inf):
            raise ArgumentError("strength", f"must be a positive finite number; got {self.strength!r}")

    def _curve(self, view: View) -> Curve:
        groups = groups_of(view)
        root = view.effective_size ** (1 / 3) + 1e-12
        most = min(
            math.ceil(view.effective_size / LEAST_ROWS_PER_BIN - 1e-9), math.ceil(MOST_BINS_PER_CUBE_ROOT * root)
        )
        sums = np.zeros((2, len(groups.score) + 1))
        np.cumsum([groups.events, groups.others], axis=1, out=sums[:, 1:])
        models: dict[bytes, tuple[float, Floats, Floats]] = {}
        for count in range(max(1, int(root / 10)), max(most, 1) + 1):
            starts = equal_mass_cuts(view.prefix, count)
            if starts.tobytes() not in models:  # ties may leave fewer bins than asked for
                models[starts.tobytes()] = bayesian_bins(groups.score, sums, starts, self.strength)
        return _averaged(list(models.values()))


def bayesian_bins(score: Floats, sums: Floats, starts: Starts, strength: float) -> tuple[float, Floats, Floats]:
    """The logarithm of the likelihood of the labels given the bins, the edges and the rates (BDeu score).

    `sums` are the events and the others before each score, with all of them at the end.
    """
    from scipy.special import gammaln

    edges = _between(score, starts)
    ends = np.concatenate([[0.0], edges, [1.0]])
    prior = np.clip((ends[1:] + ends[:-1]) / 2, CLIP, 1 - CLIP)
    each = strength / len(starts)
    events, others = np.diff(sums[:, np.append(starts, -1)])
    yes, no = each * prior, each * (1 - prior)
    likelihood = (
        gammaln(each)
        - gammaln(events + others + each)
        + gammaln(events + yes)
        - gammaln(yes)
        + gammaln(others + no)
        - gammaln(no)
    )
    return float(likelihood.sum()), edges, (events + yes) / (events + others + each)


def _averaged(models: list[tuple[float, Floats, Floats]]) -> curves.Interpolated:
    """The mean of step functions, weighed by exp(score): again one, with the edges of all."""
    scores = np.array([score for score, _, _ in models])
    share = np.exp(scores - scores.max())
    told = np.flatnonzero(share > 1e-17 * share.sum())
    share /= share[told].sum()
    start = math.fsum(share[i] * models[i][2][0] for i in told)
    edges, place = np.unique(np.concatenate([models[i][1] for i in told]), return_inverse=True)
    jumps = np.bincount(place, np.concatenate([share[i] * np.diff(models[i][2]) for i in told]), len(edges))
    return stepped("bayesian_binning", edges, np.clip(start + np.append(0.0, np.cumsum(jumps)), 0, 1))


@dataclass(eq=False, repr=False)
class NearIsotonicEnsemble(ScoreCalibrator):
    """An average over the near-isotonic curves of every penalty on falling, weighed by exp(-BIC / 2) (Naeini and Cooper 2016).

    More than a thousand distinct scores are first pooled to a thousand of equal weight.
    """

    methods = (Method("near_isotonic"),)
    input: Input = "prob"
    multiclass: Multiclass = "one_vs_rest"

    def _curve(self, view: View) -> Curve:
        groups = groups_of(view)
        score, weight, events = groups.score, groups.weight, groups.events
        if len(score) > MOST_GROUPS:
            starts = equal_mass_cuts(view.prefix, MOST_GROUPS)
            mass = np.add.reduceat(weight, starts)
            score = np.add.reduceat(weight * score, starts) / mass
            weight, events = mass, np.add.reduceat(events, starts)
        rates = near_isotonic_mean(weight, events)
        return curves.Interpolated("near_isotonic", tuple(score.tolist()), tuple(rates.tolist()))


def near_isotonic_mean(weight: Floats, events: Floats) -> Floats:
    """The rate at each score, averaged over the path of near-isotonic fits."""
    _, fits, losses = near_isotonic_path(weight, events)
    share = np.exp((losses.min() - losses) / 2)
    return np.clip((share / share.sum()) @ fits, 0, 1)


def near_isotonic_path(weight: Floats, events: Floats) -> tuple[Floats, Floats, Floats]:
    """Every penalty at which neighbours join, from 0 to the isotonic curve, the fit at each, and its BIC.

    sum w (rate - fit)^2 / 2 + penalty * sum (fit_i - fit_{i+1})_+ is least (Tibshirani et al. 2011): between joins each block moves at the
    speed at which its falling neighbours push it, and blocks that meet stay together.
    """
    others, rows = weight - events, weight.sum()
    mass, value = weight.copy(), events / weight
    size = np.ones(len(weight), np.intp)
    apart = value[1:] != value[:-1]
    penalties, fits, losses = [0.0], [], []
    while True:
        starts = np.flatnonzero(np.append(True, apart))
        mass, value, size = np.add.reduceat(mass, starts), value[starts], np.add.reduceat(size, starts)
        fit = np.repeat(value, size)
        fits.append(fit)
        losses.append(_bic(fit, events, others, len(value), rows))
        falls = np.concatenate([[False], value[:-1] > value[1:], [False]])
        if not falls.any():
            return np.array(penalties), np.array(fits), np.array(losses)
        speed = (falls[:-1].astype(float) - falls[1:]) / mass
        gap, closing = value[1:] - value[:-1], speed[:-1] - speed[1:]
        # Falling neighbours close in on each other; a rise can be caught up from behind too.
        meets = gap * closing > 0
        wait = np.divide(gap, closing, out=np.full(len(gap), np.inf), where=meets)
        penalties.append(penalties[-1] + wait.min())
        value = value + speed * wait.min()
        apart = wait > wait.min() * (1 + 1e-12)


def _bic(fit: Floats, events: Floats, others: Floats, blocks: int, rows: float) -> float:
    fit = np.clip(fit, CLIP, 1 - CLIP)
    return float(-2 * (events @ np.log(fit) + others @ np.log1p(-fit)) + blocks * math.log(rows))


@dataclass(eq=False, repr=False)
class ScalingBinning(ScoreCalibrator):
    """A logistic curve, then its mean in each bin of equal weight: few values, each measured well (Kumar et al. 2019).

    Parameters
    ----------
    input
        What the scores are.
    bins
        Number of bins.
    multiclass
        How several classes are taken apart; see `ScoreCalibrator`.
    """

    methods = (Method("scaling_binning"),)
    least_probability = CLIP

    input: Input = "prob"
    bins: int = 10
    multiclass: Multiclass = "one_vs_rest"

    def _check_params(self) -> None:
        super()._check_params()
        check_bins(self.bins)

    def _curve(self, view: View) -> Curve:
        line = plain_logistic(view)
        groups = groups_of(view)
        rate = line(groups.score)
        if line.slope == 0 or rate[0] == rate[-1]:
            return stepped("scaling_binning", np.empty(0), rate[:1])
        starts = equal_mass_cuts(view.prefix, self.bins)
        mean = np.add.reduceat(groups.weight * rate, starts) / np.add.reduceat(groups.weight, starts)
        # Bins are cut midway between two rates of the curve, and the cuts traced back to scores.
        middle = (logit((rate[starts[1:] - 1] + rate[starts[1:]]) / 2) - line.intercept) / line.slope
        low, high = groups.score[starts[1:] - 1], groups.score[starts[1:]]
        edges = np.clip(1 / (1 + np.exp(-middle)), low, np.nextafter(high, -np.inf))
        return stepped("scaling_binning", edges, mean)
