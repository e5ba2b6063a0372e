"""ICI, E50, E90, Emax and ECI of R's loess, lowess and restricted cubic splines."""

from __future__ import annotations

from typing import Any

import numpy as np

import calibrant as cal
from calibrant.curves.local_regression import loess, tie_groups
from calibrant.views.resolve import views_of
from tests.r.common import Compute, compare, every_call

# Local regressions solve small least-squares problems by QR there and in closed form here.
TOLERANCE = 1e-7
INDICES = (cal.ici, cal.e50, cal.e90, cal.emax)


def weights(d: Any) -> Any:
    return 1 + np.arange(1, len(d.y) + 1) % 5


def view_of(d: Any) -> Any:
    return views_of(cal.Predictions(d.y, d.risk), "auto")[0]


def indices(**options: Any) -> Compute:
    """All four from one view, which fits the curve once."""
    return lambda d: [index(view, **options) for view in [view_of(d)] for index in INDICES]


def at_ranks(surface: str) -> Compute:
    """The curve itself at nine ranks of the risk; risks that are tied share one place."""

    def compute(d: Any) -> Any:
        groups = tie_groups(view_of(d))
        ordered = np.sort(d.risk)[np.floor(np.linspace(0, len(d.risk) - 1, 9)).astype(int)]
        curve = loess(groups, 0.75, 2, surface)
        return curve[np.searchsorted(groups.score, ordered)]

    return compute


DIRECT, INTERPOLATE = {"surface": "direct"}, {"surface": "interpolate"}
COMPUTED: dict[str, Compute] = {
    "indices(curve_of(y, risk), risk)": indices(**INTERPOLATE),
    "indices(curve_of(y, risk, control = direct), risk)": indices(**DIRECT),
    "indices(curve_of(y, risk, degree = 1), risk)": indices(degree=1, **INTERPOLATE),
    "indices(curve_of(y, risk, degree = 1, control = direct), risk)": indices(degree=1, **DIRECT),
    "indices(curve_of(y, risk, span = 0.5), risk)": indices(span=0.5, **INTERPOLATE),
    "indices(curve_of(y, risk, span = 0.5, control = direct), risk)": indices(span=0.5, **DIRECT),
    "weighted.mean(abs(curve_of(y, risk, weights = w(y)) - risk), w(y))": lambda d: cal.ici(
        d.y, d.risk, sample_weight=weights(d), **INTERPOLATE
    ),
    "max(abs(curve_of(y, risk, weights = w(y)) - risk))": lambda d: cal.emax(
        d.y, d.risk, sample_weight=weights(d), **INTERPOLATE
    ),
    "at_ranks(curve_of(y, risk), risk)": at_ranks("interpolate"),
    "at_ranks(curve_of(y, risk, control = direct), risk)": at_ranks("direct"),
    "100 * mean((curve_of(y, risk) - risk)^2)": lambda d: cal.eci(d.y, d.risk, smoother="loess", **INTERPOLATE),
    "indices(at_lowess(y, risk), risk)": indices(smoother="lowess"),
    "indices(at_lowess(y, risk, f = 0.3), risk)": indices(smoother="lowess", span=0.3),
    "indices(at_lowess(y, risk, delta = 0), risk)": indices(smoother="lowess", delta=0),
    **{f"indices(spline(y, risk, {k}), risk)": indices(smoother="rcs", knots=k) for k in (3, 4, 5)},
}


@every_call("smoothers", COMPUTED)
def test_smoothers(call: str, compute: Compute) -> None:
    compare("smoothers", call, compute, TOLERANCE, 1e-9)
