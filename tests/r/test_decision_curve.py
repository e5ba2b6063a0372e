"""Decision curves against dcurves."""

from __future__ import annotations

import calibrant as cal
from tests.r.common import Compute, compare, every_call

# Counts and one division.
TOLERANCE = 1e-12
THRESHOLDS = [0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8]


def curve(column: str, model: str = "risk") -> Compute:
    return lambda d: getattr(cal.net_benefit(d.y, getattr(d, model), thresholds=THRESHOLDS), column)


COMPUTED: dict[str, Compute] = {
    "curve(y, risk, 'net_benefit')": curve("net_benefit"),
    "curve(y, risk2, 'net_benefit')": curve("net_benefit", "risk2"),
    "curve(y, risk, 'all')": curve("treat_all"),
    "curve(y, risk, 'standardized_net_benefit', standardize = TRUE)": curve("standardised"),
    "curve(y, risk, 'net_intervention_avoided')": curve("avoided"),
}


@every_call("decision_curve", COMPUTED)
def test_decision_curve(call: str, compute: Compute) -> None:
    compare("decision_curve", call, compute, TOLERANCE, 1e-12)
