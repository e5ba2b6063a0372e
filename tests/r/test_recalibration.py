"""Logistic recalibration against stats::glm, sandwich and survey."""

from __future__ import annotations

from typing import Any

import numpy as np

import calibrant as cal
from tests.calling import call
from tests.r.common import Compute, compare, every_call

# Both sides maximise the likelihood to convergence; what remains is rounding.
TOLERANCE = 1e-8
# sandwich and survey take residuals and weights from the last step of glm and lose digits where a fitted risk is near 1 (pbc: 3e-7); the
# same formula in plain matrices agrees with calibrant to 13 digits.
ROUGH = 1e-6


def weights(d: Any) -> Any:
    return 1 + np.arange(1, len(d.y) + 1) % 5


def detail(d: Any, method: str, *names: str, metric: str = "cox_slope", **options: Any) -> list[float]:
    """Entries of a test of intercept 0 and slope 1."""
    found = call(cal.assess, d.y, d.risk, metric=metric, method=method, **options).detail
    return [found[name] for name in names]


def line(d: Any, **options: Any) -> list[float]:
    return [call(metric, d.y, d.risk, **options) for metric in (cal.cox_intercept, cal.cox_slope)]


def limits(d: Any) -> list[float]:
    """Wald intervals, lower ends first, as R prints them column by column."""
    found = [cal.interval(d.y, d.risk, metric=metric) for metric in ("cox_intercept", "cox_slope")]
    return [*(each.low for each in found), *(each.high for each in found)]


def quadratic(d: Any) -> list[float]:
    (curve,) = cal.QuadraticLogit().fit(d.risk, d.y).curves_
    return [curve.constant, curve.slope, curve.bend]


def beta(d: Any) -> list[float]:
    (curve,) = cal.BetaCalibration().fit(d.risk, d.y).curves_
    return [curve.c, curve.a, curve.b]


ERRORS = ("intercept_error", "slope_error")
COMPUTED: dict[str, Compute] = {
    "coef(shift(y, risk))": lambda d: cal.fixed_slope_intercept(d.y, d.risk),
    "coef(line(y, risk))": line,
    "sqrt(diag(vcov(line(y, risk))))": lambda d: detail(d, "wald", *ERRORS),
    "confint.default(line(y, risk))": limits,
    "own(y, risk) - deviance(line(y, risk))": lambda d: detail(d, "lr", "chi_square"),
    "pchisq(own(y, risk) - deviance(line(y, risk)), 2, lower.tail = FALSE)": lambda d: (
        cal.assess(d.y, d.risk, metric="cox_slope", method="lr").pvalue
    ),
    "away(line(y, risk)) %*% solve(vcov(line(y, risk)), away(line(y, risk)))": lambda d: detail(
        d, "wald", "chi_square"
    ),
    "deviance(shift(y, risk)) - deviance(line(y, risk))": lambda d: np.square(detail(d, "profile", "z")),
    "deviance(bent(y, risk, y ~ 0 + lp)) - deviance(line(y, risk))": lambda d: np.square(
        detail(d, "profile", "z", metric="cox_intercept")
    ),
    "anova(glm(y ~ 0 + offset(qlogis(risk)), family = binomial), glm(y ~ qlogis(risk) + offset(qlogis(risk)), family = binomial, "
    "control = tight), test = 'Rao')$Rao[2]": lambda d: detail(d, "score", "chi_square"),
    "own(y, risk) - deviance(bent(y, risk, y ~ log(p) + log1p(-p)))": lambda d: cal.sbct(d.y, d.risk),
    "own(y, risk) / 2 / length(y)": lambda d: cal.nll(d.y, d.risk),
    "coef(line(y, risk, weights = w(y)))": lambda d: line(d, counts=weights(d)),
    "sqrt(diag(vcov(line(y, risk, weights = w(y)))))": lambda d: detail(d, "wald", *ERRORS, counts=weights(d)),
    "coef(shift(y, risk, weights = w(y)))": lambda d: cal.fixed_slope_intercept(
        cal.Predictions(d.y, d.risk, counts=weights(d))
    ),
    "coef(bent(y, risk, y ~ lp + I(lp^2)))": quadratic,
    "coef(bent(y, risk, y ~ log(p)))": lambda d: beta(d)[:2],
    "coef(bent(y, risk, y ~ log(p) + I(-log1p(-p))))": beta,
    # The variance is that of survey, which multiplies the sandwich by n / (n - 1).
    "sqrt(diag(sandwich(line(y, risk))))": lambda d: (
        np.sqrt(1 - 1 / len(d.y)) * np.array(detail(d, "sandwich", *ERRORS))
    ),
    "away(line(y, risk)) %*% solve(sandwich(line(y, risk)), away(line(y, risk)))": lambda d: (
        np.array(detail(d, "sandwich", "chi_square")) / (1 - 1 / len(d.y))
    ),
    "coef(survey_line(y, risk))": lambda d: line(d, sample_weight=weights(d)),
    "sqrt(diag(vcov(survey_line(y, risk))))": lambda d: detail(d, "sandwich", *ERRORS, sample_weight=weights(d)),
    "svymean(~I(risk - y), sampled(y, risk))": lambda d: cal.calibration_in_the_large(
        d.y, d.risk, sample_weight=weights(d)
    ),
    "svyratio(~risk, ~y, sampled(y, risk))$ratio": lambda d: cal.expected_observed_ratio(
        d.y, d.risk, sample_weight=weights(d)
    ),
}


@every_call("recalibration", COMPUTED)
def test_recalibration(call: str, compute: Compute) -> None:
    compare("recalibration", call, compute, ROUGH if "sandwich" in call or "survey" in call else TOLERANCE, 1e-10)
