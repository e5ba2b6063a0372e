"""Flexible calibration curves and their pointwise limits against loess, glm and rcs."""

from __future__ import annotations

from typing import Any

import numpy as np

import calibrant as cal
from tests.r.common import Compute, compare, every_call

# Small least-squares problems, solved otherwise; the covariance of glm is that of the step before the last (rare, 5 knots: 1e-6).
TOLERANCE = 1e-5


def curve(**options: Any) -> Compute:
    """The curve, then lower, then upper limits."""

    def compute(d: Any) -> Any:
        at = np.quantile(d.risk, [0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98])
        return np.concatenate(cal.figures.flexible_calibration_curve(d.y, d.risk, **options).at(at))

    return compute


COMPUTED: dict[str, Compute] = {
    "smooth(y, risk)": curve(uncertainty="residual"),
    "smooth(y, risk, degree = 1)": curve(uncertainty="residual", degree=1),
    "smooth(y, risk, span = 0.5)": curve(uncertainty="residual", span=0.5),
    "spline(y, risk, 3)": curve(smoother="rcs", knots=3),
    "spline(y, risk, 5)": curve(smoother="rcs"),
}


@every_call("flexible_curve", COMPUTED)
def test_flexible_curve(call: str, compute: Compute) -> None:
    compare("flexible_curve", call, compute, TOLERANCE, 1e-8)
