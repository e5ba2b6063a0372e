"""Calibrators that are constant on bins of the score, and averages of such calibrators."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import (
    Binning,
    Bins,
    as_default,
    binning_rule,
)
from ..binning.rules import BinningRule, EqualMass, Levels, check_bins, equal_mass_cuts
from ..binning.searches import Searched
from ..binning.table import Closed
from ..curves import curves
from ..curves.logistic_regression import CLIP, groups_of, logit
from ..util.checks import check_number, check_positive, check_whole
from ..views.view import View
from .base import CountingCalibrator, Input, Method
from .binary import Curve, Multiclass, ScoreCalibrator, plain_logistic, with_top
from .coefficients import KnotCurves, StepCurves
from .intervals import limits_of_bins
from .scores import Floats, Scores, TrainingData, on_scale, scale_of

Starts = NDArray[np.intp]
# Distinct scores beyond this number are pooled into as many groups of equal weight before the near-isotonic path is computed.
MOST_GROUPS = 1000
MOST_BINS_PER_CUBE_ROOT, LEAST_ROWS_PER_BIN = 10, 5


def stepped(kind: str, edges: Floats, rates: Floats, closed: Closed = "right") -> curves.Interpolated:
    """A step function; each edge belongs to the bin below it, or above it with bins closed on the left."""
    if closed == "left":
        kind, edges = f"{kind}_left", np.nextafter(edges, -np.inf)
    inside = (edges >= 0) & (edges < 1)
    edges, rates = edges[inside], rates[np.append(True, inside)]
    if not len(edges):
        return curves.Interpolated(kind, (0.5,), (float(rates[0]),))
    at = np.column_stack([edges, np.nextafter(edges, np.inf)]).ravel()
    heights = np.column_stack([rates[:-1], rates[1:]]).ravel()
    kept = np.append(True, np.diff(at) > 0)  # edges that are neighbours in floating point share an end
    return curves.Interpolated(kind, tuple(at[kept].tolist()), tuple(heights[kept].tolist()))


def _between(score: Floats, starts: Starts) -> Floats:
    """Edges midway between the neighbouring scores of two bins, and below the upper one after rounding."""
    low, high = score[starts[1:] - 1], score[starts[1:]]
    return np.minimum((low + high) / 2, np.nextafter(high, -np.inf))


@dataclass(eq=False, repr=False)
class HistogramBinning(StepCurves, ScoreCalibrator):
    r"""Histogram binning: the observed rate in each bin of the score.

    It assumes nothing about the shape of the calibration curve, and its calibration error is easy to bound; the price is that scores
    of the same bin are no longer distinguished.

    Parameters
    ----------
    input
    bins : int, sequence of float or str, default 15
        Number of bins; edges between 0 and 1; ``"levels"``, one bin per distinct score, for scores with few values, where another score has the
        rate of the nearest level; or a search for the number of bins as in binned metrics (``"sweep"``, ``"search"``, ``"search_pure"``,
        ``"cv"``, ``"tcal"``).
    binning : str or binning rule, default "equal_mass"
        ``"equal_mass"``, bins with equal numbers of rows and edges midway between neighbouring scores; ``"equal_width"``; ``"equal_area"``;
        ``"quantile"``; or a rule such as ``EqualWidth(10, closed="left")``, or a `BinTable`.
    empty : {"midpoint", "mean", "interpolate"}, default "midpoint"
        Probability of a bin without rows: its midpoint, the mean outcome of all rows, or the linear interpolation between the nearest
        bins with rows, by the number of the bin.
    shrink : float, default 0.0
        Pseudo-count added to the events and to the non-events of every bin that has rows; 0.5 keeps probabilities away from 0 and 1.
    multiclass

    Attributes
    ----------
    curves_
    edges_
    values_
    scale_
    classes_
    fit_record_

    See Also
    --------
    ScalingBinning : Bins of a fitted logistic curve.
    BayesianBinning : Average over numbers of bins.
    TopLabelHistogramBinning : Bins of the confidence for each predicted class.

    Notes
    -----
    For bin :math:`b` with :math:`n_b` rows, :math:`k_b` events and pseudo-count :math:`s`,

    .. math:: q_b = \frac{k_b + s}{n_b + 2 s}.

    References
    ----------
    .. [1] Zadrozny, B., Elkan, C. (2001). Obtaining calibrated probability estimates from decision trees and naive Bayesian
       classifiers. ICML.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), rng=0)
    >>> calibrator = cal.HistogramBinning(bins=10).fit(data.y_prob, data.y_true)
    >>> calibrator.predict_proba([0.05, 0.5, 0.95])[:, 1].round(3)
    array([0.135, 0.48 , 0.83 ])
    """

    _curve_limits = staticmethod(limits_of_bins)
    methods = (
        Method("histogram"),
        Method("histogram_levels", "one rate per level", options={"bins": "levels", "shrink": 0.5}),
    )
    checks = {"shrink": check_number}
    input: Input = "prob"
    bins: Bins = 15
    binning: Binning = "equal_mass"
    empty: Literal["midpoint", "mean", "interpolate"] = "midpoint"
    shrink: float = 0.0
    multiclass: Multiclass = "one_vs_rest"

    def _check_params(self) -> None:
        super()._check_params()
        self._rule()

    def _rule(self) -> BinningRule:
        """The rule of the bins; edges, and a rule with bins of its own, override the defaults."""
        bins, binning = self.bins, self.binning
        if isinstance(bins, int) and bins == type(self).bins:
            bins = as_default(bins)
        if isinstance(binning, str) and binning == type(self).binning:
            binning = as_default(binning)
        return binning_rule(bins, binning)

    def _curve(self, view: View) -> Curve:
        rule = self._rule()
        rule = rule.at(view) if isinstance(rule, Searched) else rule
        merges = getattr(rule, "min_rows", None) is not None
        if isinstance(rule, Levels) and not merges:
            return histogram(view, rule, self.shrink)
        if isinstance(rule, EqualMass) and rule.keeps_ties and not merges:
            return histogram(view, check_bins(rule.bins), self.shrink)
        table = rule.table(view)
        # Rows are placed by the edges, as new ones will be, also where a rule splits ties.
        inner = np.unique(self._between_rows(view, rule) if isinstance(rule, EqualMass) else table.edges[1:-1])
        edges = np.concatenate([[0.0], inner, [1.0]])
        place = np.searchsorted(inner, view.prefix.score, side="left" if table.closed == "right" else "right")
        groups, count = groups_of(view), len(edges) - 1
        weight = np.asarray(np.bincount(place, groups.weight, count), dtype=np.float64)
        events = np.asarray(np.bincount(place, groups.events, count), dtype=np.float64)
        rates, filled = _share(events, weight, self.shrink), weight > 0
        if self.empty == "interpolate":
            nothing = np.interp(np.arange(count), np.flatnonzero(filled), rates[filled])
        elif self.empty == "mean":
            nothing = np.full(count, events.sum() / weight.sum())
        else:
            nothing = (edges[1:] + edges[:-1]) / 2
        return stepped("histogram", inner, np.where(filled, rates, nothing), table.closed)

    @staticmethod
    def _between_rows(view: View, rule: EqualMass) -> Floats:
        """Edges midway between the rows of neighbouring bins, which split ties; rows tied with an edge then belong to the bin below."""
        cells, _ = rule.cells(view)
        score, starts = view.score[view.order], np.flatnonzero(np.diff(cells[view.order])) + 1
        return np.asarray((score[starts - 1] + score[starts]) / 2)


def _share(events: Floats, weight: Floats, shrink: float) -> Floats:
    total = weight + 2 * shrink
    return np.clip(np.divide(events + shrink, total, out=np.zeros(len(total)), where=total > 0), 0, 1)


def histogram(view: View, bins: int | Levels, shrink: float = 0.0) -> curves.Interpolated:
    """The observed rate in bins of equal weight, or at each level."""
    groups = groups_of(view)
    starts = np.arange(bins.count(view)) if isinstance(bins, Levels) else equal_mass_cuts(view.prefix, bins)
    events, weight = np.add.reduceat(groups.events, starts), np.add.reduceat(groups.weight, starts)
    return stepped("histogram", _between(groups.score, starts), _share(events, weight, shrink))


@dataclass(eq=False, repr=False)
class TopLabelHistogramBinning(StepCurves, CountingCalibrator):
    """Top-label histogram binning: the accuracy in bins of the confidence, separately for each predicted class.

    Its calibration given the predicted class holds without assumptions on the distribution. The probabilities of the other classes are
    rescaled in proportion, and the predicted class does not change.

    Parameters
    ----------
    input
    points_per_bin : int, default 50
        Minimum number of rows per bin; each class has as many bins of equal mass as its rows allow.

    Attributes
    ----------
    curves_ : tuple of curves
        Fitted step functions, one per predicted class. A class that was never predicted has the curve of all rows.
    edges_ : tuple of ndarray
        Edges of the bins of the confidence for each predicted class, from 0 to 1.
    values_ : tuple of ndarray
        Calibrated confidence in each bin, for each predicted class.
    scale_
    classes_
    fit_record_

    See Also
    --------
    HistogramBinning : Bins of the probability of each class.

    References
    ----------
    .. [1] Gupta, C., Ramdas, A. (2022). Top-label calibration and multiclass-to-binary reductions. ICLR.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), distribution=(1, 1, 1), rng=0)
    >>> calibrator = cal.TopLabelHistogramBinning().fit(data.y_prob, data.y_true)
    >>> calibrator.predict_proba([[0.9, 0.06, 0.04]]).round(2)
    array([[0.76, 0.14, 0.09]])
    """

    methods = (Method("top_label_histogram"),)
    keeps_argmax = True
    treats_classes_alike = True
    fitted = ("curves_",)
    checks = {"points_per_bin": check_whole}

    input: Input = "prob"
    points_per_bin: int = 50

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
class BayesianBinning(StepCurves, ScoreCalibrator):
    r"""Bayesian binning into quantiles (BBQ): a posterior average over equal-mass histograms.

    It removes the choice of the number of bins from histogram binning and gives a smoother curve.

    Parameters
    ----------
    input
    strength : float, default 2.0
        Prior number of rows, divided equally among the bins of a model, with the midpoint of each bin as prior rate.
    multiclass

    Attributes
    ----------
    curves_
    edges_
    values_
    scale_
    classes_
    fit_record_

    See Also
    --------
    HistogramBinning : One number of bins.
    NearIsotonicEnsemble : Average over almost monotone curves.

    Notes
    -----
    Models :math:`M` differ in their number of bins, from :math:`\sqrt[3]{n} / 10` to :math:`10 \sqrt[3]{n}` and at most one for every five rows;
    numbers that give the same bins count once. With :math:`n_b` rows and :math:`k_b` events in bin :math:`b`
    of :math:`B`, midpoint :math:`m_b` and :math:`\nu = s / B`, the marginal likelihood is

    .. math:: P(D \mid M) = \prod_b \frac{\Gamma(\nu)}{\Gamma(n_b + \nu)} \frac{\Gamma(k_b + \nu m_b)}{\Gamma(\nu m_b)}
              \frac{\Gamma(n_b - k_b + \nu (1 - m_b))}{\Gamma(\nu (1 - m_b))},

    and the calibrated probability is the average of the posterior means :math:`(k_b + \nu m_b) / (n_b + \nu)`, weighted by it.

    References
    ----------
    .. [1] Naeini, M. P., Cooper, G., Hauskrecht, M. (2015). Obtaining well calibrated probabilities using Bayesian binning. AAAI.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), rng=0)
    >>> calibrator = cal.BayesianBinning().fit(data.y_prob, data.y_true)
    >>> calibrator.predict_proba([0.05, 0.5, 0.95])[:, 1].round(3)
    array([0.207, 0.471, 0.781])
    """

    methods = (Method("bayesian_binning"),)
    checks = {"strength": check_positive}
    input: Input = "prob"
    strength: float = 2.0
    multiclass: Multiclass = "one_vs_rest"

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
            if starts.tobytes() not in models:  # with ties there may be fewer bins than requested
                models[starts.tobytes()] = bayesian_bins(groups.score, sums, starts, self.strength)
        return _averaged(list(models.values()))


def bayesian_bins(score: Floats, sums: Floats, starts: Starts, strength: float) -> tuple[float, Floats, Floats]:
    """Log marginal likelihood (BDeu score), edges and posterior mean rates of a binning.

    `sums` holds the cumulative numbers of events and non-events before each score, and the totals at the end.
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
    """The average of step functions with weights exp(score): a step function with the edges of all of them."""
    scores = np.array([score for score, _, _ in models])
    share = np.exp(scores - scores.max())
    told = np.flatnonzero(share > 1e-17 * share.sum())
    share /= share[told].sum()
    start = math.fsum(share[i] * models[i][2][0] for i in told)
    edges, place = np.unique(np.concatenate([models[i][1] for i in told]), return_inverse=True)
    jumps = np.bincount(place, np.concatenate([share[i] * np.diff(models[i][2]) for i in told]), len(edges))
    return stepped("bayesian_binning", edges, np.clip(start + np.append(0.0, np.cumsum(jumps)), 0, 1))


@dataclass(eq=False, repr=False)
class NearIsotonicEnsemble(KnotCurves, ScoreCalibrator):
    r"""Ensemble of near-isotonic regressions (ENIR): an average over the path of almost monotone curves.

    Like isotonic regression, but the curve may decrease where the data support it.

    Parameters
    ----------
    input
    multiclass

    Attributes
    ----------
    curves_
    knots_
    values_
    scale_
    classes_
    fit_record_

    See Also
    --------
    IsotonicCalibration : The end of the path.
    BayesianBinning : Average over histograms.

    Notes
    -----
    For each penalty :math:`\lambda` the curve minimizes

    .. math:: \frac{1}{2} \sum_i w_i (y_i - f_i)^2 + \lambda \sum_i (f_i - f_{i+1})_+ .

    Every :math:`\lambda` at which blocks of the path join contributes its curve with weight :math:`e^{-\mathrm{BIC} / 2}`. More than 1,000
    distinct scores are first pooled into 1,000 groups of equal weight.

    References
    ----------
    .. [1] Naeini, M. P., Cooper, G. F. (2016). Binary classifier calibration using an ensemble of near isotonic regression models. ICDM.
    .. [2] Tibshirani, R. J., Hoefling, H., Tibshirani, R. (2011). Nearly-isotonic regression. Technometrics 53(1).

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), rng=0)
    >>> calibrator = cal.NearIsotonicEnsemble().fit(data.y_prob, data.y_true)
    >>> calibrator.predict_proba([0.1, 0.5, 0.9])[:, 1].round(3)
    array([0.169, 0.447, 0.761])
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
        _, fits, losses = near_isotonic_path(weight, events)
        share = np.exp((losses.min() - losses) / 2)
        rates = np.clip((share / share.sum()) @ fits, 0, 1)
        return curves.Interpolated("near_isotonic", tuple(score.tolist()), tuple(rates.tolist()))


def near_isotonic_path(weight: Floats, events: Floats) -> tuple[Floats, Floats, Floats]:
    """The solution path of near-isotonic regression: the penalties at which blocks join, the fit at each, and its BIC.

    Each fit minimizes sum w (rate - fit)^2 / 2 + penalty * sum (fit_i - fit_{i+1})_+ (Tibshirani et al. 2011). Between joins the value of
    each block is linear in the penalty; blocks that meet stay joined.
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
        rate = np.clip(fit, CLIP, 1 - CLIP)
        likelihood = events @ np.log(rate) + others @ np.log1p(-rate)
        losses.append(float(-2 * likelihood + len(value) * math.log(rows)))
        falls = np.concatenate([[False], value[:-1] > value[1:], [False]])
        if not falls.any():
            return np.array(penalties), np.array(fits), np.array(losses)
        speed = (falls[:-1].astype(float) - falls[1:]) / mass
        gap, closing = value[1:] - value[:-1], speed[:-1] - speed[1:]
        # Decreasing neighbours approach each other; a block may also catch up with one above it.
        meets = gap * closing > 0
        wait = np.divide(gap, closing, out=np.full(len(gap), np.inf), where=meets)
        penalties.append(penalties[-1] + wait.min())
        value = value + speed * wait.min()
        apart = wait > wait.min() * (1 + 1e-12)


@dataclass(eq=False, repr=False)
class ScalingBinning(StepCurves, ScoreCalibrator):
    """Scaling-binning: a logistic curve, discretized to its mean in bins of equal mass.

    The fit has the low variance of Platt scaling, and since only `bins` distinct probabilities occur, its calibration error can be
    estimated reliably.

    Parameters
    ----------
    input
    bins : int, default 10
        Number of bins.
    multiclass

    Attributes
    ----------
    curves_
    edges_
    values_
    scale_
    classes_
    fit_record_

    See Also
    --------
    PlattScaling : The curve without bins.
    HistogramBinning : Observed rates in bins.

    Notes
    -----
    Logistic regression on the log-odds gives a curve :math:`g`; bin edges have equal mass, and each bin predicts the mean of :math:`g` over
    its rows. As in [1]_, but curve and bins are fitted on the same data.

    References
    ----------
    .. [1] Kumar, A., Liang, P., Ma, T. (2019). Verified uncertainty calibration. NeurIPS.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), rng=0)
    >>> calibrator = cal.ScalingBinning(bins=5).fit(data.y_prob, data.y_true)
    >>> calibrator.predict_proba([0.05, 0.5, 0.95])[:, 1].round(3)
    array([0.22 , 0.495, 0.782])
    """

    methods = (Method("scaling_binning"),)
    checks = {"bins": lambda bins, _: check_bins(bins)}
    least_probability = CLIP

    input: Input = "prob"
    bins: int = 10
    multiclass: Multiclass = "one_vs_rest"

    def _curve(self, view: View) -> Curve:
        line = plain_logistic(view)
        groups = groups_of(view)
        rate = line(groups.score)
        if line.slope == 0 or rate[0] == rate[-1]:
            return stepped("scaling_binning", np.empty(0), rate[:1])
        starts = equal_mass_cuts(view.prefix, self.bins)
        mean = np.add.reduceat(groups.weight * rate, starts) / np.add.reduceat(groups.weight, starts)
        # Edges lie midway between two values of the curve and are mapped back to scores.
        middle = (logit((rate[starts[1:] - 1] + rate[starts[1:]]) / 2) - line.intercept) / line.slope
        low, high = groups.score[starts[1:] - 1], groups.score[starts[1:]]
        edges = np.clip(1 / (1 + np.exp(-middle)), low, np.nextafter(high, -np.inf))
        return stepped("scaling_binning", edges, mean)
