"""Intervals and tests of proportions, and isotonic regression, against stats and Hmisc."""

from __future__ import annotations

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


def grades(attribute: str = "pvalue", **options: Any) -> Compute:
    return lambda d: [
        getattr(each, attribute)
        for each in cal.inference.grade_tests(cal.Predictions(d.y, d.risk, groups=d.centre), **options).grades
    ]


def isotonic(d: Any) -> Any:
    return cal.IsotonicCalibration().fit(d.risk, d.y).predict_proba(d.risk)[:, 1]


def parts(d: Any) -> Any:
    return cal.decompose(d.y, d.risk, score="brier", method="corp")


GREATER = "tests(y, risk, centre, function(x, n, p) binom.test(x, n, p, alternative = 'greater')$p.value)"
COMPUTED: dict[str, Compute] = {
    "limits(y, risk, function(x, n) binconf(x, n, method = 'exact')[2:3])": limits("clopper_pearson"),
    "limits(y, risk, function(x, n) binconf(x, n, method = 'wilson')[2:3])": hmisc,
    "limits(y, risk, function(x, n) prop.test(x, n, correct = FALSE)$conf.int)": limits("wilson"),
    "limits(y, risk, function(x, n) binom.test(x, n, conf.level = 0.9)$conf.int)": limits("clopper_pearson", 0.9),
    "limits(y, risk, jeffreys)": limits("jeffreys"),
    GREATER: grades(),
    GREATER.replace("greater", "less"): grades(alternative="less"),
    f"p.adjust({GREATER}, 'holm')": grades("adjusted"),
    f"p.adjust({GREATER}, 'BH')": grades("adjusted", correction="benjamini_hochberg"),
    "tests(y, risk, centre, function(x, n, p) 2 * min(0.5, pbinom(x, n, p), pbinom(x - 1, n, p, lower.tail = FALSE)))": grades(
        alternative="two-sided"
    ),
    "range(isotonic(y, risk))": lambda d: [isotonic(d).min(), isotonic(d).max()],
    "mean((isotonic(y, risk) - sort(risk))^2)": lambda d: np.mean((isotonic(d) - d.risk) ** 2),
    "mean(abs(isotonic(y, risk) - sort(risk)))": lambda d: cal.metrics.fott_isotonic(d.y, d.risk),
    "mean((risk - y)^2) - mean((isotonic(y, risk) - y[order(risk, -y)])^2)": lambda d: parts(d).miscalibration,
    "mean((mean(y) - y)^2) - mean((isotonic(y, risk) - y[order(risk, -y)])^2)": lambda d: parts(d).discrimination,
}


@pytest.mark.filterwarnings("ignore:IsotonicCalibration was fitted:calibrant.errors.InSampleWarning")
@every_call("proportions", COMPUTED)
def test_proportions(call: str, compute: Compute) -> None:
    compare("proportions", call, compute, TOLERANCE, 1e-10)
