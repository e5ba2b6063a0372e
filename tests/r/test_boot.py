"""Ends of bootstrap intervals from given replicates, and the acceleration of BCa, against boot."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaincinv

import calibrant as cal
from calibrant.inference import intervals
from calibrant.inference.resampling import RowSampler
from calibrant.views.resolve import views_of
from tests.r.common import Compute, compare, every_call, values

# Sums in another order; the slope is fitted once for each row that is left out.
TOLERANCE = 1e-6
REPLICATES = gammaincinv(4, (np.arange(999) + 0.5) / 999) / 40


def acceleration(metric: str) -> Compute:
    def compute(d: Any) -> float:
        (view,) = views_of(cal.Predictions(d.y, d.risk), "auto")
        return intervals._jackknife(cal.catalogue[metric], {}, RowSampler(view))

    return compute


def percentile(level: float) -> Compute:
    """boot takes the k-th replicate of 999 for k = 1000 alpha, which is the quantile of type 6."""
    return lambda d: np.quantile(REPLICATES, [(1 - level) / 2, (1 + level) / 2], method="weibull")


COMPUTED: dict[str, Compute] = {
    "boot.ci(made(999, 0.1), type = 'perc')$percent[4:5]": percentile(0.95),
    "boot.ci(made(999, 0.1), type = 'perc', conf = 0.9)$percent[4:5]": percentile(0.9),
    "boot.ci(made(999, 0.1), type = 'basic')$basic[4:5]": lambda d: 0.2 - percentile(0.95)(d)[::-1],
    "accelerated(y, risk, function(y, risk) mean((y - risk)^2))": acceleration("brier"),
    "accelerated(y, risk, function(y, risk) sum(risk) / sum(y))": acceleration("expected_observed_ratio"),
    "accelerated(y, risk, function(y, risk) coef(glm(y ~ qlogis(risk), family = binomial, control = tight))[2])": acceleration(
        "cox_slope"
    ),
}


@every_call("boot", COMPUTED)
def test_boot(call: str, compute: Compute) -> None:
    compare("boot", call, compute, TOLERANCE)


def test_quantiles_of_type_7_lie_between_the_same_replicates() -> None:
    entry = next(e for e in values("boot") if "type = 'perc')" in e["call"])
    ours = intervals.quantiles(REPLICATES, (0.025, 0.975))
    place = np.searchsorted(REPLICATES, np.array([ours, entry["value"]]) * (1 + 1e-12))
    assert np.abs(place[0] - place[1]).max() <= 1
    np.testing.assert_allclose(ours, entry["value"], rtol=0.02)
