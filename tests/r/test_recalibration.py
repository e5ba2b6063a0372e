"""Logistic recalibration against stats::glm, sandwich and survey."""

from typing import Any

import numpy as np

import calibrant as cal
from tests.calling import call
from tests.r.common import Compute, compare, every_call, weights

# Both sides maximise the likelihood to convergence; what remains is rounding.
TOLERANCE = 1e-8
# sandwich and survey take residuals and weights from the last step of glm and lose digits where a fitted risk is near 1 (pbc: 3e-7); the
# same formula in plain matrices agrees with calibrant to 13 digits.
ROUGH = 1e-6


def detail(d: Any, method: str, *names: str, metric: str = "cox_slope", **options: Any) -> list[float]:
    """Entries of a test of intercept 0 and slope 1."""
    found = call(cal.assess, d.y, d.risk, metric=metric, method=method, **options).detail
    return [found[name] for name in names]


def limits(d: Any) -> list[float]:
    """Wald intervals, lower ends first, as R prints them column by column."""
    found = [cal.interval(d.y, d.risk, metric=metric) for metric in ("cox_intercept", "cox_slope")]
    return [*(each.low for each in found), *(each.high for each in found)]


def beta(d: Any) -> list[float]:
    (curve,) = cal.BetaCalibration().fit(d.risk, d.y).curves_
    return [curve.c, curve.a, curve.b]


ERRORS = ("intercept_error", "slope_error")
COMPUTED: dict[str, Compute] = {
    "confint.default(line(y, risk))": limits,
    "deviance(shift(y, risk)) - deviance(line(y, risk))": lambda d: np.square(detail(d, "profile", "z")),
    "deviance(bent(y, risk, y ~ 0 + lp)) - deviance(line(y, risk))": lambda d: np.square(
        detail(d, "profile", "z", metric="cox_intercept")
    ),
    "anova(glm(y ~ 0 + offset(qlogis(risk)), family = binomial), glm(y ~ qlogis(risk) + offset(qlogis(risk)), family = binomial, "
    "control = tight), test = 'Rao')$Rao[2]": lambda d: detail(d, "score", "chi_square"),
    "sqrt(diag(vcov(line(y, risk, weights = w(y)))))": lambda d: detail(d, "wald", *ERRORS, counts=weights(d)),
    "coef(bent(y, risk, y ~ log(p)))": lambda d: beta(d)[:2],
    # The variance is that of survey, which multiplies the sandwich by n / (n - 1).
    "sqrt(diag(sandwich(line(y, risk))))": lambda d: (
        np.sqrt(1 - 1 / len(d.y)) * np.array(detail(d, "sandwich", *ERRORS))
    ),
    "away(line(y, risk)) %*% solve(sandwich(line(y, risk)), away(line(y, risk)))": lambda d: (
        np.array(detail(d, "sandwich", "chi_square")) / (1 - 1 / len(d.y))
    ),
    "coef(survey_line(y, risk))": lambda d: [
        metric(d.y, d.risk, sample_weight=weights(d)) for metric in (cal.cox_intercept, cal.cox_slope)
    ],
    "sqrt(diag(vcov(survey_line(y, risk))))": lambda d: detail(d, "sandwich", *ERRORS, sample_weight=weights(d)),
}


@every_call("recalibration", COMPUTED)
def test_recalibration(call: str, compute: Compute) -> None:
    compare("recalibration", call, compute, ROUGH if "sandwich" in call or "survey" in call else TOLERANCE, 1e-10)
