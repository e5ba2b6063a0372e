"""Intervals and tests of proportions, and isotonic regression, against stats and Hmisc."""

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from tests.r.common import Compute, compare, every_call

# Closed forms, and quantiles of the Beta distribution that R finds to about 1e-8.
TOLERANCE = 1e-7


def bins(d: Any) -> Any:
    return cal.calibration_curve(d.y, d.risk, bins=[0, 0.2, 0.4, 0.6, 0.8, 1]).table


def limits(method: Any, level: float = 0.95) -> Compute:
    """Lower, then upper limits of the bins that are not empty."""

    def compute(d: Any) -> Any:
        table = bins(d)
        return np.concatenate([ends[table.weight > 0] for ends in table.interval(level, method)])

    return compute


def hmisc(d: Any) -> Any:
    """Wilson's interval as Hmisc has it: with a single event, or a single non-event, its end nearest to 0 or 1 is another one."""
    table = bins(d)
    parts = (table.weight, table.positives, *table.interval(method="wilson"))
    n, events, lower, upper = (part[table.weight > 0].copy() for part in parts)
    lower[events == 1] = -np.log(0.95) / n[events == 1]
    upper[events == n - 1] = 1 + np.log(0.95) / n[events == n - 1]
    return np.concatenate([lower, upper])


def grades(alternative: Any) -> Compute:
    return lambda d: [
        each.pvalue
        for each in cal.inference.grade_tests(
            cal.Predictions(d.y, d.risk, groups=d.centre), alternative=alternative
        ).grades
    ]


def isotonic(d: Any) -> Any:
    return cal.IsotonicCalibration().fit(d.risk, d.y).predict_proba(d.risk)[:, 1]


COMPUTED: dict[str, Compute] = {
    "limits(y, risk, function(x, n) binconf(x, n, method = 'exact')[2:3])": limits("clopper_pearson"),
    "limits(y, risk, function(x, n) binconf(x, n, method = 'wilson')[2:3])": hmisc,
    "limits(y, risk, function(x, n) prop.test(x, n, correct = FALSE)$conf.int)": limits("wilson"),
    "limits(y, risk, function(x, n) binom.test(x, n, conf.level = 0.9)$conf.int)": limits("clopper_pearson", 0.9),
    "limits(y, risk, jeffreys)": limits("jeffreys"),
    "tests(y, risk, centre, function(x, n, p) binom.test(x, n, p, alternative = 'less')$p.value)": grades("less"),
    "tests(y, risk, centre, function(x, n, p) 2 * min(0.5, pbinom(x, n, p), pbinom(x - 1, n, p, lower.tail = FALSE)))": grades(
        "two-sided"
    ),
    "mean((isotonic(y, risk) - sort(risk))^2)": lambda d: np.mean((isotonic(d) - d.risk) ** 2),
}


@pytest.mark.filterwarnings("ignore:IsotonicCalibration was fitted:calibrant.errors.InSampleWarning")
@every_call("proportions", COMPUTED)
def test_proportions(call: str, compute: Compute) -> None:
    compare("proportions", call, compute, TOLERANCE, 1e-10)
