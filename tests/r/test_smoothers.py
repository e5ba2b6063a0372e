"""ICI, E50, E90, Emax, ECI and flexible curves with limits of R's loess, lowess and restricted cubic splines."""

from typing import Any

import numpy as np

import calibrant as cal
from calibrant.curves.local_regression import loess, tie_groups
from calibrant.views.resolve import views_of
from tests.r.common import Compute, compare, every_call, weights

# Local regressions solve small least-squares problems by QR there and in closed form here.
TOLERANCE = 1e-7
INDICES = (cal.ici, cal.e50, cal.e90, cal.emax)


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


def curve(**options: Any) -> Compute:
    """The flexible calibration curve at quantiles of the risk, then its lower, then its upper limits."""

    def compute(d: Any) -> Any:
        at = np.quantile(d.risk, [0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98])
        return np.concatenate(cal.figures.flexible_calibration_curve(d.y, d.risk, **options).at(at))

    return compute


SMOOTHERS: dict[str, Compute] = {
    "indices(curve_of(y, risk, degree = 1, control = direct), risk)": indices(degree=1, surface="direct"),
    "indices(curve_of(y, risk, span = 0.5, control = direct), risk)": indices(span=0.5, surface="direct"),
    "weighted.mean(abs(curve_of(y, risk, weights = w(y)) - risk), w(y))": lambda d: cal.ici(
        d.y, d.risk, sample_weight=weights(d), surface="interpolate"
    ),
    "max(abs(curve_of(y, risk, weights = w(y)) - risk))": lambda d: cal.emax(
        d.y, d.risk, sample_weight=weights(d), surface="interpolate"
    ),
    "at_ranks(curve_of(y, risk), risk)": at_ranks("interpolate"),
    "at_ranks(curve_of(y, risk, control = direct), risk)": at_ranks("direct"),
    "indices(at_lowess(y, risk, f = 0.3), risk)": indices(smoother="lowess", span=0.3),
    "indices(at_lowess(y, risk, delta = 0), risk)": indices(smoother="lowess", delta=0),
    "indices(spline(y, risk, 4), risk)": indices(smoother="rcs", knots=4),
}
CURVES: dict[str, Compute] = {
    "smooth(y, risk, degree = 1)": curve(uncertainty="residual", degree=1),
    "smooth(y, risk, span = 0.5)": curve(uncertainty="residual", span=0.5),
    "spline(y, risk, 5)": curve(smoother="rcs"),
}


@every_call("smoothers", SMOOTHERS)
def test_smoothers(call: str, compute: Compute) -> None:
    compare("smoothers", call, compute, TOLERANCE, 1e-9)


@every_call("flexible_curve", CURVES)
def test_flexible_curve(call: str, compute: Compute) -> None:
    # The covariance of glm is that of the step before the last (rare, 5 knots: 1e-6).
    compare("flexible_curve", call, compute, 1e-5, 1e-8)
