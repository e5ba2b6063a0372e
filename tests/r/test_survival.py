"""Time to event at a horizon against survival, riskRegression, survey and stats::loess."""

from dataclasses import replace
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.clinical.censoring import known_outcomes, read_follow_up
from calibrant.clinical.survival import _intercept, _slope
from tests.r.common import Compute, compare, data, every_call, values

# Standard errors of `Score` differ in their treatment of ties, by less than this.
SCORE = 4e-4
# `svyglm` computes its sandwich from the working residuals of its last step but one.
REGRESSION = 3e-5
COEFFICIENTS = {"calibration_slope": _slope, "calibration_intercept": _intercept}


def measures(d: Any, at: float, event: Any = None) -> dict[str, Any]:
    # R has one distribution of censoring for all rows.
    event = d.event if event is None else event
    found = cal.clinical.survival_summary(
        d.risk, time=d.time, event=event, horizon=at, n_resamples=0, groups=np.zeros(len(d.risk))
    )
    return {each.measure: each for each in found.measures}


def other(d: Any) -> Any:
    """Every third event as a competing one."""
    return np.where((d.event == 1) & ((np.arange(len(d.event)) + 1) % 3 == 0), 2, d.event)


def scores(at: float, competing: bool = False) -> Compute:
    """The values; standard errors with the factor n / (n - 1) of R."""

    def compute(d: Any) -> list[float]:
        found = measures(d, at, other(d) if competing else None)
        auc, brier, factor = found["auroc"], found["brier"], np.sqrt(len(d.risk) / (len(d.risk) - 1))
        errors = (auc.standard_error * factor, brier.standard_error * factor)
        return [auc.value, errors[0], brier.value, errors[1], found["scaled_brier"].value]

    return compute


def regression(at: float, measure: str) -> Compute:
    """Weights as fixed, since `svyglm` knows nothing of their estimation."""

    def compute(d: Any) -> list[float]:
        outcomes = known_outcomes(read_follow_up(d.time, d.event, None, None, None), at)
        found = COEFFICIENTS[measure](replace(outcomes, strata=()), d.risk, 0.95)
        known = int((outcomes.weight > 0).sum())
        return [found.value, found.standard_error * np.sqrt(known / (known - 1))]

    return compute


def aalen_johansen(d: Any) -> list[float]:
    found = measures(d, 1826.5, other(d))["observed_risk"]
    return [found.value, found.standard_error]


COMPUTED: dict[str, Compute] = {
    "aalen_johansen(time, other(event), 1826.5)": aalen_johansen,
    "scores(time, other(event), risk, 1826.5)": scores(1826.5, competing=True),
}
for horizon in (1000.5, 1826.5):
    COMPUTED[f"scores(time, event, risk, {horizon})"] = scores(horizon)
    COMPUTED[f"line(time, event, risk, {horizon})"] = regression(horizon, "calibration_slope")
    COMPUTED[f"shift(time, event, risk, {horizon})"] = regression(horizon, "calibration_intercept")


@every_call("survival", COMPUTED)
def test_survival(call: str, compute: Compute) -> None:
    tolerance = SCORE if call.startswith("scores") else REGRESSION if call.startswith(("line", "shift")) else 1e-9
    compare("survival", call, compute, tolerance)


def test_scores_without_their_standard_errors_agree_to_the_last_digits() -> None:
    for entry in values("survival"):
        if entry["call"].startswith("scores"):
            ours = COMPUTED[entry["call"]](data(entry["data"]))
            np.testing.assert_allclose(ours[::2], entry["value"][::2], rtol=1e-10)
