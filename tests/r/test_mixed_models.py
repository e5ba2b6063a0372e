"""One-stage models of calibration by centre against lme4."""

from typing import Any

import numpy as np

from calibrant.clinical.mixed_models import MixedFit, RandomIntercept
from calibrant.curves.logistic_regression import logit
from tests.r.common import Compute, compare, every_call

# Both maximise a likelihood that is flat to about the square root of the precision; variances of 0 are 1e-14 there.
TOLERANCE, DECIMALS = 2e-5, 2e-6


def intercept(d: Any) -> MixedFit:
    return RandomIntercept(codes(d), d.y, np.ones(len(d.y)), np.ones((len(d.y), 1)), logit(d.risk), "binomial").fit()


def slope(d: Any) -> MixedFit:
    columns = np.column_stack([np.ones(len(d.y)), logit(d.risk)])
    return RandomIntercept(codes(d), d.y, np.ones(len(d.y)), columns, np.zeros(len(d.y)), "binomial").fit()


def oe(d: Any) -> MixedFit:
    events, expected = (np.bincount(codes(d), values) for values in (d.y, d.risk))
    k = len(events)
    return RandomIntercept(np.arange(k), events, expected, np.ones((k, 1)), np.zeros(k), "poisson").fit()


def codes(d: Any) -> Any:
    return np.unique(d.centre, return_inverse=True)[1]


def facts(model: Any) -> Compute:
    def compute(d: Any) -> Any:
        fit = model(d)
        return [*fit.coefficients, *np.sqrt(np.diag(fit.covariance)), fit.tau2]

    return compute


COMPUTED = {f"facts({model.__name__}(y, risk, factor(centre)))": facts(model) for model in (intercept, slope, oe)}


@every_call("mixed_models", COMPUTED)
def test_as_lme4(call: str, compute: Compute) -> None:
    compare("mixed_models", call, compute, TOLERANCE, DECIMALS)
