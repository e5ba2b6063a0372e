"""Tests of parametric calibration curves and of subsets: Cox's line, the parabola, the beta curve, anchors, subpopulations."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..curves.curves import beta_features, fit_line
from ..curves.logistic_regression import (
    Groups,
    LogisticFit,
    SeparatedError,
    fit_logistic,
    groups_of,
    logit,
    rates_seen,
    separating_side,
)
from ..errors import UndefinedMetricError, WeightsNotSupportedError
from ..metrics.cumulative.distributions import range_survival
from ..metrics.cumulative.subpopulations import partitions_of
from ..metrics.kernel.anchors import anchor_tests
from ..util.arrays import Floats
from ..util.sums import accurate_sum
from ..views.view import VectorView, View
from .asymptotic import chi_square_found, normal_found, vector_view
from .metric_tests import (
    ANY_SIDE,
    LEAST_TERMS,
    TestInput,
    TestOutcome,
    counts_rows,
    own_test,
    row_variance,
    too_few_terms,
)

# Directions with a variance below this fraction of the largest are treated as constant.
NO_VARIANCE = 1e-10
# A likelihood ratio requires fewer effective terms than a sum.
LEAST_TERMS_OF_RATIO = 5.0
# Log-odds that stand for certainty.
CERTAIN = 50.0


def refuse_importance(view: View | VectorView, metric: str, remedy: str) -> None:
    """Raise for importance weights, for which a likelihood or a bootstrap of rows is not defined."""
    if view.has_real_weights:
        raise WeightsNotSupportedError("sample_weight", f"this test of {metric} does not support real weights", remedy)


def quadratic_form(drift: Floats, spread: Floats) -> tuple[float, int]:
    """drift' spread^-1 drift over the directions with positive variance, and their number."""
    value, vector = np.linalg.eigh(spread)
    kept = value > NO_VARIANCE * max(float(value[-1]), 0.0)
    return float((np.square(vector.T @ drift)[kept] / value[kept]).sum()), int(kept.sum())


def _line_columns(score: Floats) -> Floats:
    return np.column_stack([np.ones(len(score)), logit(score)])


def few_terms_of(columns: Callable[[Floats], Floats], least: float = LEAST_TERMS) -> Callable[[TestInput], str]:
    """Condition that the coefficients of these functions of the score do not depend on a few rows of large leverage."""
    return lambda asked: too_few_terms(_terms_of_design(asked.view, columns(asked.view.score)), least)


def few_terms_of_line(view: View) -> str:
    """The same for a line in log-odds."""
    return too_few_terms(_terms_of_design(view, _line_columns(view.score)), LEAST_TERMS_OF_RATIO)


def _terms_of_design(view: View, columns: Floats) -> float:
    """Effective number of equal terms of the score vector of a regression: d (d + 2) / 3 over the sum of its fourth moments.

    With d columns of unit covariance these are h^2 (1 - 3v) / v for a row of leverage h and variance v; for one column it is the inverse of the
    kurtosis.
    """
    variance = row_variance(view)
    kept = variance > 0
    if not kept.any():
        return math.inf
    variance, weight, columns = variance[kept], view.weights[kept], columns[kept]
    copies = np.ones(len(weight)) if view.weight_kind == "importance" else weight
    own = weight**2 if view.weight_kind == "importance" else weight
    # Centred at the weighted mean, for scores that are close to each other.
    share = own * variance / accurate_sum(own * variance)
    columns = columns - np.where(np.ptp(columns, axis=0) > 0, share @ columns, 0.0)
    length = np.sqrt(share @ columns**2)
    root = np.sqrt(share)[:, None] * columns[:, length > 0] / length[length > 0]
    left, size, _ = np.linalg.svd(root, full_matrices=False)
    left = left[:, size**2 > NO_VARIANCE * size[0] ** 2]
    leverage, d = np.square(left).sum(axis=1) / copies, left.shape[1]
    return d * (d + 2) / 3 / accurate_sum(copies * leverage**2 * (1 - 3 * variance) / variance)


def limit_gain(groups: Groups) -> float:
    """Limit of the gain in log-likelihood over the scores where outcomes are separated: that of a curve through the observed rates."""
    rate, eta = rates_seen(groups), logit(groups.score)
    with np.errstate(divide="ignore", invalid="ignore"):
        events = np.where(groups.events > 0, groups.events * (np.log(rate) + np.logaddexp(0, -eta)), 0.0)
        others = np.where(groups.others > 0, groups.others * (np.log1p(-rate) + np.logaddexp(0, eta)), 0.0)
    return max(0.0, accurate_sum(events + others))


def gain_over_scores(groups: Groups, log_odds: Floats) -> float:
    """Log-likelihood under these log-odds minus that under the scores."""
    eta = logit(groups.score)
    softened = np.logaddexp(0, log_odds) - np.logaddexp(0, eta)
    return accurate_sum(groups.events * (log_odds - eta) - groups.weight * softened)


def _line_detail(fit: LogisticFit, covariance: Floats) -> dict[str, float]:
    error = np.sqrt(np.diag(covariance))
    return {
        "intercept": float(fit.coefficients[0]),
        "slope": float(fit.coefficients[1]),
        "intercept_error": float(error[0]),
        "slope_error": float(error[1]),
    }


def _cox_found(
    asked: TestInput, statistic: float, df: int = 2, fit: LogisticFit | None = None, covariance: Floats | None = None
) -> TestOutcome:
    found = chi_square_found(asked, statistic, df, is_the_metric=False)
    line = {} if fit is None else _line_detail(fit, fit.covariance if covariance is None else covariance)
    return replace(found, detail={**found.detail, **line}, null_hypothesis="the intercept is 0 and the slope is 1")


def _gain_of_line(groups: Groups) -> tuple[float, LogisticFit | None]:
    """Gain of the maximum-likelihood line over the scores, and the line; its limit under separation."""
    feature = logit(groups.score)
    if separating_side(groups, 1, feature):
        return limit_gain(groups), None
    fit = fit_line(groups, feature)
    return gain_over_scores(groups, fit.coefficients[0] + fit.coefficients[1] * feature), fit


def _gain_of_one(groups: Groups, feature: Floats, offset: Floats) -> float:
    """Gain of the maximum-likelihood log-odds ``offset + b feature`` over the scores; its limit if b diverges."""
    for side in (1.0, -1.0):
        ahead = side * feature
        if (ahead[groups.events > 0] >= 0).all() and (ahead[groups.others > 0] <= 0).all():
            return gain_over_scores(groups, np.where(feature == 0, offset, CERTAIN * np.sign(ahead)))
    fit = fit_logistic(groups, feature[:, None], offset=offset)
    if not fit.converged:
        raise UndefinedMetricError("y_prob", "the likelihood could not be maximized", "use more data")
    return gain_over_scores(groups, offset + fit.coefficients[0] * feature)


LINE = few_terms_of(_line_columns, LEAST_TERMS_OF_RATIO)


@own_test("cox_intercept", "cox_slope", method="profile", sides=ANY_SIDE, form=counts_rows, off=LINE)
def _cox_profile(asked: TestInput) -> TestOutcome:
    """One coefficient with the other unrestricted: the signed root of the likelihood ratio."""
    groups = groups_of(asked.view)
    refuse_importance(
        asked.view, asked.metric.id, "use method='consistency', or 'sandwich' for both coefficients together"
    )
    feature = logit(groups.score)
    gain, fit = _gain_of_line(groups)
    if asked.metric.id == "cox_slope":
        less, place, what = _gain_of_one(groups, np.ones(len(feature)), feature), 1, ("slope", "1", "intercept")
    else:
        less, place, what = _gain_of_one(groups, feature, np.zeros(len(feature))), 0, ("intercept", "0", "slope")
    value = asked.statistic if fit is None else float(fit.coefficients[place])
    side = separating_side(groups, 1, feature)
    if side and place == 1:  # the maximum-likelihood slope diverges, with or without a penalty
        value = -side.first * math.inf
    z = math.copysign(math.sqrt(max(0.0, 2 * (gain - less))), value - place)
    found = normal_found(
        asked, z, None, f"standard normal for the signed root of the likelihood ratio, {what[2]} unrestricted"
    )
    detail = {**found.detail, **({} if fit is None else _line_detail(fit, fit.covariance))}
    return replace(found, detail=detail, null_hypothesis=f"the {what[0]} is {what[1]}, with the {what[2]} unrestricted")


@own_test("cox_intercept", "cox_slope", method="lr", sides=("two-sided",), off=LINE)
def _cox_likelihood_ratio(asked: TestInput) -> TestOutcome:
    """Likelihood ratio of the fitted line against the scores."""
    refuse_importance(asked.view, asked.metric.id, "use method='sandwich'")
    gain, fit = _gain_of_line(groups_of(asked.view))
    return _cox_found(asked, max(0.0, 2 * gain), fit=fit)


def _wald(asked: TestInput, robust: bool) -> TestOutcome:
    groups = groups_of(asked.view)
    if not robust:
        refuse_importance(asked.view, asked.metric.id, "use method='sandwich'")
    try:
        fit = fit_line(groups)
    except SeparatedError:
        problem = "a threshold separates the outcomes, so the coefficients are infinite"
        raise UndefinedMetricError(asked.metric.id, problem, "use method='lr' or method='score'") from None
    covariance = fit.covariance
    if robust:  # with the factor of `interval`, as in survey sampling
        rows = asked.view.total if asked.view.weight_kind == "counts" else asked.view.n
        covariance = fit.sandwich * (rows / (rows - 1))
    away = fit.coefficients - np.array([0.0, 1.0])
    return _cox_found(asked, float(away @ np.linalg.solve(covariance, away)), fit=fit, covariance=covariance)


@own_test("cox_intercept", "cox_slope", method="wald", sides=("two-sided",), off=LINE)
def _cox_wald(asked: TestInput) -> TestOutcome:
    return _wald(asked, robust=False)


@own_test("cox_intercept", "cox_slope", method="score", sides=("two-sided",), off=LINE)
def _cox_score(asked: TestInput) -> TestOutcome:
    """Score test, which requires no fit."""
    groups = groups_of(asked.view)
    if (groups.events[groups.score == 0] > 0).any() or (groups.others[groups.score == 1] > 0).any():
        return _cox_found(asked, math.inf)  # an outcome of probability 0 occurred
    variance = groups.squares[0] * groups.score * (1 - groups.score)
    feature = logit(groups.score)
    if variance.any():  # standardised, for scores that are close to each other
        feature = feature - variance @ feature / variance.sum()
        feature = feature / math.sqrt(variance @ feature**2 / variance.sum() or 1.0)
    columns = np.column_stack([np.ones(len(feature)), feature])
    drift = columns.T @ (groups.events - groups.weight * groups.score)
    return _cox_found(asked, *quadratic_form(drift, columns.T @ (variance[:, None] * columns)))


@own_test("cox_intercept", "cox_slope", method="sandwich", sides=("two-sided",), off=LINE)
def _cox_sandwich(asked: TestInput) -> TestOutcome:
    """Wald test with the sandwich covariance, robust to misspecification and valid for importance weights."""
    return _wald(asked, robust=True)


@own_test("pws", method="chi_square", off=few_terms_of(lambda score: np.vander(score, 3)))
def _pws(asked: TestInput) -> TestOutcome:
    return chi_square_found(asked, asked.statistic, min(3, len(np.unique(asked.view.score))))


def _not_a_ratio(asked: TestInput) -> str:
    return "" if asked.options["statistic"] == "lr" else "it is for the likelihood ratio"


@own_test(
    "sbct",
    method="chi_square",
    form=_not_a_ratio,
    off=few_terms_of(lambda score: np.column_stack([np.ones(len(score)), *beta_features(score)]), LEAST_TERMS_OF_RATIO),
)
def _sbct(asked: TestInput) -> TestOutcome:
    if _not_a_ratio(asked):
        problem = "the asymptotic distribution is known only for the likelihood ratio"
        raise UndefinedMetricError("sbct", problem, "use method='consistency' or statistic='lr'")
    return chi_square_found(asked, asked.statistic, min(3, len(np.unique(logit(asked.view.score)))))


def _anchors(asked: TestInput, factors: Any) -> TestOutcome:
    """The smallest p-value over all anchors, corrected for multiplicity; `factors` are the correction factors by rank."""
    tests = [test for test in anchor_tests(vector_view(asked), **asked.options) if test.degrees > 0]
    tests.sort(key=lambda test: test.pvalue)
    corrected = np.minimum(1, np.array([test.pvalue for test in tests]) * factors(len(tests)))
    corrected = np.maximum.accumulate(corrected)
    detail: dict[str, float] = {"anchors": len(tests)}
    for number, (test, p) in enumerate(zip(tests, corrected.tolist(), strict=True), 1):
        values = (test.statistic, test.degrees, test.neighbours, test.pvalue, p)
        for name, value in zip(("chi_square", "df", "rows", "pvalue", "corrected"), values, strict=True):
            detail[f"{name}_{number}"] = float(value)
    return TestOutcome(
        float(corrected[0]), None, f"chi-square at each of {len(tests)} anchors, corrected for multiplicity", detail
    )


@own_test("knn_chi2", method="bonferroni", default=False)
def _anchors_bonferroni(asked: TestInput) -> TestOutcome:
    """Valid for many rows only: neighbours are compared with the forecast of the anchor, so distant ones inflate the statistic."""
    return _anchors(asked, lambda count: np.full(count, count))


@own_test("knn_chi2", method="holm", default=False)
def _anchors_holm(asked: TestInput) -> TestOutcome:
    """Globally equal to Bonferroni; anchors after the first are corrected less."""
    return _anchors(asked, lambda count: count - np.arange(count))


def _worst_subpopulation(asked: TestInput) -> tuple[float, int]:
    """The smallest unadjusted p-value over all subpopulations, and their number."""
    view, keywords = asked.view, dict(asked.options)
    worst = asked.metric.formula(view, **{**keywords, "scale": "sigma"})
    units = view.weights if view.weight_kind == "counts" else np.ones(view.n)
    keywords.pop("scale")
    count = 1  # all rows
    for cell, least in partitions_of(view, **keywords):
        inside = cell >= 0
        size = np.bincount(cell[inside], units[inside])
        count += int(((size > 0) & (size >= least)).sum())
    return 0.0 if math.isinf(worst) else range_survival(worst), count


@own_test("mcm", method="bonferroni", default=False)
def _mcm_bonferroni(asked: TestInput) -> TestOutcome:
    pvalue, count = _worst_subpopulation(asked)
    null_distribution = f"range of a Brownian motion in each of {count} subpopulations, corrected for multiplicity"
    return TestOutcome(
        min(1.0, pvalue * count), None, null_distribution, {"subpopulations": count, "unadjusted": pvalue}
    )


@own_test("mcm", method="unadjusted", default=False)
def _mcm_unadjusted(asked: TestInput) -> TestOutcome:
    """P-value as if the worst subpopulation were the only one: it rejects far too often for several."""
    pvalue, count = _worst_subpopulation(asked)
    null_distribution = "range of a Brownian motion for the worst subpopulation, not corrected for multiplicity"
    return TestOutcome(pvalue, None, null_distribution, {"subpopulations": count})
