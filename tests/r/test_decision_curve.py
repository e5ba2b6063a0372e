"""Decision curves against dcurves."""

from __future__ import annotations

from typing import Any

import numpy as np

import calibrant as cal
from tests.r.common import Compute, compare, every_call

THRESHOLDS = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9]


def curves(d: Any) -> Any:
    found = cal.figures.decision_curve(d.y, {"risk": d.risk, "risk2": d.risk2}, thresholds=THRESHOLDS, level=None)
    benefits = [found[name].net_benefit for name in ("risk", "risk2", "treat all")]
    return np.concatenate([*benefits, found["risk"].avoided_per_100, found["risk2"].avoided_per_100])


def standardized(d: Any) -> Any:
    return cal.figures.decision_curve(d.y, d.risk, thresholds=[0.1, 0.3, 0.5], level=None)["model"].standardised


COMPUTED: dict[str, Compute] = {
    "curves(y, risk = risk, risk2 = risk2)": curves,
    "standardized(y, risk = risk)": standardized,
}


@every_call("decision_curve", COMPUTED)
def test_decision_curve(call: str, compute: Compute) -> None:
    compare("decision_curve", call, compute, 1e-12, 1e-12)
