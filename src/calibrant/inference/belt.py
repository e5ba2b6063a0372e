"""Test of the GiViTI calibration belt: a logistic polynomial whose degree is selected by the data (Nattino et al. 2014)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from ..curves.logistic_regression import Groups, fit_logistic, groups_of, logit, separating_side
from ..errors import UndefinedMetricError
from ..metrics.cumulative.distributions import upper_quantile
from ..metrics.hints import warn_of_sure_scores
from ..metrics.registry import catalogue
from ..util.arrays import Floats
from ..util.checks import check_choice, check_fraction, check_whole
from ..views.keywords import documents_keywords
from ..views.lenses import AnyView
from ..views.resolve import resolve
from ..views.view import View
from .fitted import few_terms_of_line, gain_over_scores, limit_gain
from .metric_tests import few_events
from .pvalues import SAME
from .replicates import many
from .resampling import RowSampler
from .seeds import generator, seed_of
from .significance import view_to_test
from .verdicts import SignificanceResult

# The highest degree, and the confidence with which a degree must be rejected before the next one is added.
HIGHEST_DEGREE, THRESHOLD = 4, 0.95
# Cells of log-odds in which many rows are merged for the belt.
BELT_CELLS = 512
# Steps of its bounds, their relative tolerance of the likelihood ratio, and the gain of a step that changes nothing.
BELT_STEPS, BELT_TOLERANCE, BELT_NO_GAIN = 60, 1e-9, 1e-12
# Quadrature nodes; the integrands are smooth, and half as many give the same digits.
NODES = 64


@documents_keywords()
def giviti_test(
    y_true: Any,
    y_prob: Any = None,
    *,
    external: bool = True,
    alpha: float = 0.05,
    method: Literal["auto", "likelihood_ratio", "consistency"] = "auto",
    n_resamples: int = 199,
    rng: Any = 0,
    lens: Any = "auto",
) -> SignificanceResult:
    r"""Test calibration by a polynomial logistic recalibration model, as the GiViTI calibration belt does.

    The alternative is a polynomial in the log-odds of the score, whose degree is increased up to 4 while a likelihood-ratio test at the level 5% favours the
    next degree. The null distribution of the final likelihood ratio accounts for this selection. The null hypothesis is that the labels are
    drawn from the predicted probabilities.

    Parameters
    ----------
    y_true
    y_prob
    external : bool, default True
        Whether this is an external validation: the model was fitted to other data. False is for the development data.
    alpha
    method : {"auto", "likelihood_ratio", "consistency"}, default "auto"
        ``"likelihood_ratio"`` is the asymptotic null distribution of [1]_; ``"consistency"`` compares its p-value with those of simulated
        labels. ``"auto"`` simulates if the sum of p(1 - p) is below 30 or a few rows dominate the fit.
    n_resamples : int, default 199
        Number of simulated data sets; several curves are fitted to each.
    rng
    lens

    Returns
    -------
    SignificanceResult
        Result with the attributes ``statistic``, ``pvalue``, ``critical_value``, ``verdict`` and ``detail["degree"]``.

    Raises
    ------
    ArgumentError
        If an argument is out of range.
    LensError
        If the lens does not yield one score per row.
    UndefinedMetricError
        If labels are soft or there are too few distinct scores.
    WeightsNotSupportedError
        If rows have importance weights; counts are supported.

    See Also
    --------
    calibration_belt : The belt of this test, with the ranges of risk where it leaves the diagonal.
    calibration_band : Confidence band without a parametric form.
    assess : Tests of a metric; ``metric="cox_slope"`` tests the logistic line.

    Notes
    -----
    The model of degree m is

    .. math:: \operatorname{logit} P(Y = 1) = \sum_{j=0}^{m} \beta_j \operatorname{logit}(p)^j,

    and the statistic is twice its log-likelihood minus that of the scores (:math:`\beta_1 = 1`, all others 0). Degrees start at 1 for
    external and at 2 for internal validation.

    References
    ----------
    .. [1] Nattino, G., Finazzi, S. and Bertolini, G. (2014). A new calibration test and a reappraisal of the calibration belt for the
       assessment of prediction models based on dichotomous outcomes. Statistics in Medicine 33.

    Examples
    --------
    >>> import calibrant as cal
    >>> labels = [0, 1, 0, 0, 1, 0, 1, 1, 1, 1]
    >>> scores = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> round(cal.inference.giviti_test(labels, scores, method="likelihood_ratio").pvalue, 4)
    0.7406
    """
    check_fraction(alpha, "alpha", 0.05)
    check_choice(method, "method", ("auto", "likelihood_ratio", "consistency"))
    check_whole(n_resamples, "n_resamples")
    view = view_to_test("giviti_test", resolve(y_true, y_prob), lens)
    warn_of_sure_scores(view, "giviti_test")
    first = 1 if external else 2
    degree, statistic = _select_degree(groups_of(view), first)
    facts = {
        "critical_value": upper_quantile(lambda x: _null_survival(x, degree, first), alpha),
        "alpha": alpha,
        "method": "likelihood_ratio",
        "null_distribution": f"likelihood ratio of a polynomial of degree {degree}, selected from {first} to {HIGHEST_DEGREE}",
        "detail": {"degree": float(degree)},
    }
    result = result_of_view(view, "giviti", statistic, _null_survival(statistic, degree, first), **facts)
    sampler, seed = RowSampler.by_content(view), seed_of(rng)

    def simulated_pvalue(number: int) -> float:
        (rows,) = sampler.resample(generator(seed, number), "outcomes").views(catalogue["cox_slope"], {})
        assert isinstance(rows, View)
        try:
            degree, statistic = _select_degree(groups_of(rows), first)
        except UndefinedMetricError:
            return math.nan
        return _null_survival(statistic, degree, first)

    why = few_events(view) or few_terms_of_line(view)
    return simulated_where_inaccurate(result, method, why, lambda: np.array(many(simulated_pvalue, n_resamples)))


def result_of_view(view: AnyView, name: str, statistic: float, pvalue: float, **facts: Any) -> SignificanceResult:
    """The result of a test of a view against large values of a statistic."""
    return SignificanceResult(
        name,
        statistic,
        pvalue,
        lower_critical_value=None,
        alternative="greater",
        null_hypothesis="the labels are drawn from the predicted probabilities",
        n=int(view.total),
        lens=view.lens,
        **facts,
    )


def simulated_where_inaccurate(
    result: SignificanceResult, method: str, why: str, simulate: Callable[[], Floats]
) -> SignificanceResult:
    """The result of an asymptotic test, or with the rank of its p-value among those of simulated labels, which calibrates the test.

    `why` states why the asymptotic distribution is inaccurate, and decides where `method` does not.
    """
    if method == result.method or not (why or method == "consistency"):
        approximate = f"{result.null_distribution} (approximate: {why})"
        return replace(result, null_distribution=approximate) if why else result
    pvalues = simulate()
    known = pvalues[~np.isnan(pvalues)]
    if not len(known):
        raise UndefinedMetricError(result.metric, "is undefined in all simulated samples", "use more resamples or rows")
    as_small = int((known <= result.pvalue * (1 + SAME)).sum())
    text = f"labels simulated {len(known)} times from the predicted probabilities, each tested by {result.method!r}"
    if len(known) < len(pvalues):
        text += f", without {len(pvalues) - len(known)} for which the statistic is undefined"
    if method == "auto":
        text += f"; its asymptotic distribution is not used: {why}"
    return replace(
        result,
        pvalue=(1 + as_small) / (1 + len(known)),
        critical_value=None,
        method="consistency",
        null_distribution=text,
        n_resamples=len(known),
    )


def _select_degree(groups: Groups, first: int) -> tuple[int, float]:
    """The selected degree, and twice the gain in log-likelihood there."""
    from scipy.special import chdtri

    distinct = len(np.unique(logit(groups.score)))
    if distinct <= first:
        raise UndefinedMetricError(
            "giviti_test", f"a curve of degree {first} requires {first + 1} distinct scores; got {distinct}"
        )
    needed = float(chdtri(1, 1 - THRESHOLD))
    degree, gain = first, _gain(groups, first)
    while degree < min(HIGHEST_DEGREE, distinct - 1):
        ahead = _gain(groups, degree + 1)
        if 2 * (ahead - gain) <= needed:
            break
        degree, gain = degree + 1, ahead
    return degree, max(0.0, 2 * gain)


def _gain(groups: Groups, degree: int) -> float:
    """Maximised log-likelihood of the polynomial minus that of the scores; its limit where there is no maximum."""
    feature = logit(groups.score)
    if separating_side(groups, degree, feature):
        return limit_gain(groups)
    fit = fit_logistic(groups, np.vander(feature, degree + 1, increasing=True))
    if not fit.converged:
        raise UndefinedMetricError(
            "giviti_test", f"the likelihood of a curve of degree {degree} could not be maximized"
        )
    return gain_over_scores(groups, np.vander(feature, degree + 1, increasing=True) @ fit.coefficients)


def _null_survival(statistic: float, degree: int, first: int) -> float:
    """P-value of the statistic at the selected degree: two coefficients are free at the degree 1; from the degree 2 on, one."""
    return belt_survival(statistic, degree - first, 3 - first)


def belt_survival(x: float, added: int, free: int) -> float:
    """P(X + Y_1 + ... + Y_added > x): X chi-square with `free` degrees of freedom, each Y with one, conditional on exceeding its quantile."""
    from scipy.special import chdtri

    return float(_survival(np.array([x]), added, free, float(chdtri(1, 1 - THRESHOLD)), 1 - THRESHOLD)[0])


def _survival(x: Floats, added: int, free: int, least: float, share: float) -> Floats:
    from scipy.special import chdtrc

    if added == 0:
        return np.asarray(chdtrc(free, np.maximum(x, 0.0)))
    # It is 1 below the smallest possible sum; above, the last Y is integrated out.
    top = np.maximum(x - (added - 1) * least, least)
    node, weight = np.polynomial.legendre.leggauss(NODES)
    at = (node + 1) / 2
    # y = top - (top - least) v^2, because the distribution of the others behaves like a square root at its lower end.
    width = (top - least)[:, None]
    y = top[:, None] - width * at**2
    density = np.exp(-y / 2) / np.sqrt(2 * math.pi * y)
    others = _survival((x[:, None] - y).ravel(), added - 1, free, least, share).reshape(y.shape)
    inner = (others * density * width * at * weight).sum(axis=1)
    return np.where(x <= added * least, 1.0, np.minimum((chdtrc(1, top) + inner) / share, 1.0))


class Belt(NamedTuple):
    """Confidence regions of the polynomial that `giviti_test` selects."""

    test: SignificanceResult
    risk: Floats
    low: tuple[Floats, ...]
    """Lower bound at each risk, for each level."""
    high: tuple[Floats, ...]
    observed: Floats
    """The fitted polynomial."""


def giviti_belt(view: View, levels: Sequence[float], points: int, **options: Any) -> Belt:
    """Test the view with the options of `giviti_test` and compute the belt: bounds of the curves whose likelihood ratio does not exceed its quantile."""
    test = giviti_test(view, **options)
    degree, first = int(test.detail["degree"]), 1 if options["external"] else 2
    groups = groups_of(view)
    feature = logit(groups.score)
    if separating_side(groups, degree, feature):
        raise UndefinedMetricError(
            "calibration_belt",
            "all outcomes are equal, so the belt has no bounds"
            if not (groups.events.any() and groups.others.any())
            else f"a polynomial of degree {degree} separates the outcomes, so the belt has no bounds",
            "evaluate more rows",
        )
    # Half of the places are equally spaced in log-odds and half in probability.
    half = max(2, round(points / 2))
    risk = np.linspace(groups.score[0], groups.score[-1], half)
    place = np.sort(np.concatenate([np.linspace(feature[0], feature[-1], half), logit(risk)]))
    region = _Region(groups, feature, degree)
    low, high = [], []
    for level in levels:
        allowed = upper_quantile(lambda x: _null_survival(x, degree, first), 1 - level)
        low.append(region.bound(place, allowed, -1.0))
        high.append(region.bound(place, allowed, 1.0))
    return Belt(test, 1 / (1 + np.exp(-place)), tuple(low), tuple(high), region.curve(place))


class _Region:
    """The likelihood of a logistic polynomial about its maximum, in coordinates in which its information there is the identity."""

    def __init__(self, groups: Groups, feature: Floats, degree: int) -> None:
        self.degree = degree
        columns = np.vander(feature, degree + 1, increasing=True)
        # Orthogonal under the weights first, since powers of log-odds are nearly collinear.
        turn = np.linalg.inv(np.linalg.qr(np.sqrt(groups.weight)[:, None] * columns, mode="r"))
        fit = fit_logistic(groups, columns @ turn)
        if not fit.converged:
            raise UndefinedMetricError(
                "calibration_belt", "the likelihood could not be maximized", "evaluate more rows"
            )
        self._best = turn @ fit.coefficients
        self._turn = turn @ np.linalg.cholesky(fit.covariance)
        self._events = groups.events @ (columns @ self._turn)
        node, self._weight = _compressed(feature, groups.weight)
        powers = np.vander(node, degree + 1, increasing=True)
        self._basis, self._eta = powers @ self._turn, powers @ self._best
        self._products = np.einsum("ni,nj->nij", self._basis, self._basis).reshape(len(node), -1)
        self._softened, self._mean = np.logaddexp(0, self._eta), np.exp(-np.logaddexp(0, -self._eta))
        self._rest = self._events - (self._mean * self._weight) @ self._basis  # 0 but for rounding

    def curve(self, place: Floats) -> Floats:
        """Return the fitted probabilities at these log-odds."""
        return np.asarray(1 / (1 + np.exp(-np.vander(place, self.degree + 1, increasing=True) @ self._best)))

    def bound(self, place: Floats, allowed: float, side: float) -> Floats:
        """Return the lowest (`side` -1) or highest curve whose likelihood ratio is at most `allowed`, at each place.

        The profile likelihood of the value of the curve is concave, so Newton steps find where it falls by half of `allowed`.
        """
        powers = np.vander(place, self.degree + 1, increasing=True)
        toward = powers @ self._turn
        u = side * math.sqrt(allowed) * toward / np.linalg.norm(toward, axis=1)[:, None]
        for _ in range(BELT_STEPS):
            u, fall, rate, along = self._profile(u, toward)
            gap = allowed / 2 - fall
            if np.abs(gap).max() < BELT_TOLERANCE * allowed:
                break
            u = u + (gap / np.where(rate == 0, side, rate))[:, None] * along
        eta = powers @ self._best + (toward * u).sum(axis=1)
        return np.asarray(np.exp(-np.logaddexp(0, -eta)))

    def _profile(self, u: Floats, toward: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Maximize over the coordinates that leave the curve at the place as it is, by damped Newton steps.

        Returns the coordinates, by how much the log-likelihood has fallen from its maximum, its rate of fall in the value of the curve,
        and the direction in which that value rises by 1.
        """
        fall, slope, bend = self._likelihood(u)
        for _ in range(BELT_STEPS):
            both = np.linalg.solve(bend, np.stack([slope, toward], axis=2))
            share = (toward * both[:, :, 0]).sum(axis=1) / (toward * both[:, :, 1]).sum(axis=1)
            step = both[:, :, 0] - share[:, None] * both[:, :, 1]
            gain = (step * slope).sum(axis=1)
            if gain.max() < BELT_NO_GAIN:
                break
            for _ in range(BELT_STEPS):
                ahead = self._likelihood(u + step)
                worse = ahead[0] > fall + 1e-9 * (1 + np.abs(fall))
                if not worse.any():
                    break
                step = np.where(worse[:, None], step / 2, step)
            u, (fall, slope, bend) = u + step, ahead
        along = both[:, :, 1] / (toward * both[:, :, 1]).sum(axis=1)[:, None]
        return u, fall, -share, along

    def _likelihood(self, u: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the fall of the log-likelihood from its maximum, its gradient, and its information, for each row of coordinates."""
        away = u @ self._basis.T
        eta = self._eta + away
        small = np.exp(-np.abs(eta))
        mean = np.where(eta >= 0, 1.0, small) / (1 + small)
        # Differences from the tangent at the maximum, term by term: sums of many rows would lose digits.
        softened = np.maximum(eta, 0) + np.log1p(small)
        fall = (softened - self._softened - self._mean * away) @ self._weight - u @ self._rest
        slope = self._events - (mean * self._weight) @ self._basis
        bend = (mean * (1 - mean) * self._weight) @ self._products
        return fall, slope, bend.reshape(len(u), len(self._events), -1)


def _compressed(feature: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Replace many log-odds by two nodes in each narrow cell with the same weight, mean and variance.

    The sums of smooth functions that the likelihood needs change by the third power of the width of a cell.
    """
    if len(feature) <= 2 * BELT_CELLS:
        return feature, weight
    cell = ((feature - feature[0]) / (feature[-1] - feature[0]) * (BELT_CELLS - 1)).astype(np.int64)
    start = np.append(0, np.flatnonzero(np.diff(cell)) + 1)
    mass = np.add.reduceat(weight, start)
    mean = np.add.reduceat(weight * feature, start) / mass
    away = feature - np.repeat(mean, np.diff(np.append(start, len(feature))))
    spread = np.sqrt(np.add.reduceat(weight * away**2, start) / mass)
    return np.concatenate([mean - spread, mean + spread]), np.concatenate([mass, mass]) / 2
