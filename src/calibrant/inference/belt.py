"""The test of the GiViTI calibration belt: a polynomial in log-odds whose degree the data choose (Nattino et al. 2014)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..curves.logistic_regression import Groups, fit_logistic, groups_of, logit, separating_side
from ..errors import ArgumentError, LensError, UndefinedMetricError
from ..input.convert import is_number
from ..metrics.hints import warn_of_sure_scores
from ..metrics.registry import catalogue
from ..metrics.reliability_curve import one_question
from ..util.checks import check_whole
from ..views.keywords import checks_keywords
from ..views.resolve import views_of
from ..views.view import VectorView, View
from .fitted import few_terms_of_line, gain_over_scores, limit_gain, refuse_importance
from .metric_tests import few_events
from .pvalues import MOST_UNDEFINED, SAME
from .resampling import RowSampler, generator, many, seed_of
from .significance import _check_alpha, read_source, refuse_rows_by_label
from .verdicts import SignificanceResult

__all__ = ["belt_survival", "check_method", "giviti_test", "simulated", "view_to_test"]

Floats = NDArray[np.float64]

HIGHEST_DEGREE = 4
# Points of the quadrature; the integrands are smooth, and half as many give the same digits.
NODES = 64


@checks_keywords()
def giviti_test(
    y_true: Any,
    y_prob: Any = None,
    *,
    max_degree: int = 4,
    threshold: float = 0.95,
    external: bool = True,
    alpha: float = 0.05,
    method: Literal["auto", "likelihood_ratio", "consistency"] = "auto",
    n_resamples: int = 199,
    rng: Any = None,
    lens: Any = "auto",
    where: Any = None,
    **keywords: Any,
) -> SignificanceResult:
    """Test calibration by a polynomial in the log-odds of the score, as the GiViTI calibration belt does.

    Degrees are added while each is an improvement, and the null distribution allows for that choice.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities, or Predictions, a View or a Sketch; keywords of `Predictions` are taken too.
    max_degree
        Highest degree that may be chosen, at most 4.
    threshold
        A degree is added where the one before is rejected with this confidence.
    external
        Whether the scores come from a model fitted to other rows; False is for the rows it was fitted to.
    alpha
        Level at which `critical_value` and `verdict` of the result are given.
    method
        ``"likelihood_ratio"`` is the distribution of the paper, which needs many rows; ``"consistency"`` compares its p-value with those of
        simulated labels. ``"auto"`` simulates where the sum of p(1 - p) is below 30 or a few rows decide.
    n_resamples, rng
        How many times labels are simulated (each time several curves are fitted), and from which seed or Generator.
    lens, where
        Which question is asked of the predictions, and which rows.

    Examples
    --------
    >>> from calibrant.inference.belt import giviti_test
    >>> labels = [0, 1, 0, 0, 1, 0, 1, 1, 1, 1]
    >>> scores = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> round(giviti_test(labels, scores, method="likelihood_ratio").pvalue, 4)
    0.7406
    """
    _check_alpha(alpha)
    if not (is_number(threshold) and 0 < threshold < 1):
        raise ArgumentError("threshold", f"must lie between 0 and 1; got {threshold!r}", "for example 0.95")
    if not isinstance(external, bool):
        raise ArgumentError("external", f"must be True or False; got {external!r}")
    first = 1 if external else 2
    if not first <= check_whole(max_degree, "max_degree") <= HIGHEST_DEGREE:
        raise ArgumentError("max_degree", f"must be from {first} to {HIGHEST_DEGREE}; got {max_degree!r}")
    check_method(method, ("auto", "likelihood_ratio", "consistency"))
    check_whole(n_resamples, "n_resamples")
    view = view_to_test("giviti_test", y_true, y_prob, lens, where, keywords)
    warn_of_sure_scores(view, "giviti_test")
    free = 2 if external else 1

    def tested(rows: View) -> tuple[int, float, float]:
        """The degree chosen, the statistic, and its p-value for many rows."""
        degree, statistic = _chosen_degree(groups_of(rows), first, max_degree, float(threshold))
        return degree, statistic, belt_survival(statistic, degree - first, free, float(threshold))

    degree, statistic, pvalue = tested(view)
    chosen = f"likelihood ratio of a polynomial whose degree, {degree}, was chosen from {first} to {max_degree}"
    result = SignificanceResult(
        metric="giviti",
        statistic=statistic,
        pvalue=pvalue,
        critical_value=_quantile(lambda x: belt_survival(x, degree - first, free, float(threshold)), alpha),
        lower_critical_value=None,
        alpha=alpha,
        alternative="greater",
        hypothesis="the labels are drawn from the probabilities given",
        method="likelihood_ratio",
        null_distribution=chosen,
        n=int(view.total),
        lens=view.lens,
        detail={"degree": float(degree)},
    )
    why = few_events(view) or few_terms_of_line(view)
    if method == "likelihood_ratio" or not (why or method == "consistency"):
        return replace(result, null_distribution=f"{chosen}, which is rough: {why}") if why else result
    sampler, seed = RowSampler(view), seed_of(rng)

    def drawn(number: int) -> float:
        (rows,) = sampler.null(generator(seed, number), True).views(catalogue["cox_slope"], {})
        assert isinstance(rows, View)
        try:
            return tested(rows)[2]
        except UndefinedMetricError:
            return math.nan

    return simulated(result, np.array(many(drawn, n_resamples)), why if method == "auto" else "")


def check_method(method: Any, known: tuple[str, ...]) -> None:
    """Raise unless the method is one of these."""
    if method not in known:
        raise ArgumentError("method", f"must be one of {', '.join(map(repr, known))}; got {method!r}")


def simulated(result: SignificanceResult, pvalues: Floats, why: str) -> SignificanceResult:
    """The same result, its p-value compared with those that simulated labels have by the same distribution.

    Where many labels leave the statistic without a value (NaN), the result stays as it is and says that it is rough.
    """
    known = pvalues[~np.isnan(pvalues)]
    if len(known) < (1 - MOST_UNDEFINED) * len(pvalues):
        missing = f"{1 - len(known) / len(pvalues):.0%} of simulated labels have no value"
        return replace(result, null_distribution=f"{result.null_distribution}, which is rough: {why or missing}")
    as_small = int((known <= result.pvalue * (1 + SAME)).sum())
    null_distribution = f"{len(known)} draws of labels from the probabilities, each judged by {result.method!r}"
    return replace(
        result,
        pvalue=(1 + as_small) / (1 + len(known)),
        critical_value=None,
        method="consistency",
        null_distribution=f"{null_distribution}, whose own distribution is not used: {why}"
        if why
        else null_distribution,
        n_resamples=len(known),
    )


def view_to_test(name: str, y_true: Any, y_prob: Any, lens: Any, where: Any, keywords: dict[str, Any]) -> View:
    """The one question that is tested, with hard labels and rows that count."""
    refuse_rows_by_label(where)
    source, _ = read_source(y_true, y_prob, where, keywords)
    views = views_of(source, lens)
    if len(views) > 1 or isinstance(views[0], VectorView):
        raise LensError("lens", f"{name} tests one event at a time", one_question(source))
    if views[0].is_soft:
        raise UndefinedMetricError(name, "is not defined for soft labels")
    refuse_importance(views[0], name, "drop them, or use assess(metric='cox_slope', method='sandwich')")
    return views[0]


def _chosen_degree(groups: Groups, first: int, most: int, threshold: float) -> tuple[int, float]:
    """The degree at which no further one is an improvement, and twice the gain in log-likelihood there."""
    from scipy.special import chdtri

    distinct = len(np.unique(logit(groups.score)))
    if distinct <= first:
        raise UndefinedMetricError(
            "giviti_test", f"a curve of degree {first} requires {first + 1} distinct scores; got {distinct}"
        )
    needed = float(chdtri(1, 1 - threshold))
    degree, gain = first, _gain(groups, first)
    while degree < min(most, distinct - 1):
        ahead = _gain(groups, degree + 1)
        if 2 * (ahead - gain) <= needed:
            break
        degree, gain = degree + 1, ahead
    return degree, max(0.0, 2 * gain)


def _gain(groups: Groups, degree: int) -> float:
    """Log-likelihood of the likeliest polynomial in the log-odds less that of the scores; its limit where it has no maximum."""
    feature = logit(groups.score)
    if separating_side(groups, degree, feature):
        return limit_gain(groups)
    fit = fit_logistic(groups, np.vander(feature, degree + 1, increasing=True))
    if not fit.converged:
        raise UndefinedMetricError(
            "giviti_test", f"the likelihood of a curve of degree {degree} could not be maximized"
        )
    return gain_over_scores(groups, np.vander(feature, degree + 1, increasing=True) @ fit.coefficients)


def belt_survival(x: float, added: int, free: int, threshold: float) -> float:
    """P(X + Y_1 + ... + Y_added > x): X chi-square with `free` degrees, each Y with one, given that it passed `threshold`."""
    from scipy.special import chdtri

    return float(_survival(np.array([x]), added, free, float(chdtri(1, 1 - threshold)), 1 - threshold)[0])


def _survival(x: Floats, added: int, free: int, least: float, share: float) -> Floats:
    from scipy.special import chdtrc

    if added == 0:
        return np.asarray(chdtrc(free, np.maximum(x, 0.0)))
    # Below the smallest possible sum it is 1; above, the last Y is integrated out, up to what the others need.
    top = np.maximum(x - (added - 1) * least, least)
    node, weight = np.polynomial.legendre.leggauss(NODES)
    at = (node + 1) / 2
    # y = top - (top - least) v^2, for the distribution of the others starts like a root.
    width = (top - least)[:, None]
    y = top[:, None] - width * at**2
    density = np.exp(-y / 2) / np.sqrt(2 * math.pi * y)
    others = _survival((x[:, None] - y).ravel(), added - 1, free, least, share).reshape(y.shape)
    inner = (others * density * width * at * weight).sum(axis=1)
    return np.where(x <= added * least, 1.0, np.minimum((chdtrc(1, top) + inner) / share, 1.0))


def _quantile(survival: Callable[[float], float], alpha: float) -> float:
    from scipy.optimize import brentq

    high = 16.0
    while survival(high) > alpha:
        high *= 2
    return float(brentq(lambda x: survival(x) - alpha, 0.0, high, xtol=1e-10))
