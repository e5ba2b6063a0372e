"""rms::val.prob entry by entry, ranks of Hmisc and pROC."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import calibrant as cal
from tests.r.common import Compute, compare, every_call

# Sums in another order.
TOLERANCE = 1e-9
LOOSE = {
    # lrm.fit sorts risks into cells 0.002 wide before it counts concordant pairs, which the other functions do not.
    "[['Dxy']]": 2e-3,
    "[['C (ROC)']]": 5e-4,
    # lrm.fit stops once the deviance changes by less than a fixed number.
    "[['Intercept']]": 1e-6,
    "[['Slope']]": 1e-6,
    "[c('Intercept', 'Slope', 'Eavg')]": 1e-6,
}


def weights(d: Any) -> Any:
    return 1 + np.arange(1, len(d.y) + 1) % 5


def gain(d: Any) -> float:
    """Likelihood ratio of the risks against the event rate."""
    n, rate = len(d.y), np.full(len(d.y), d.y.mean())
    return 2 * n * (cal.nll(d.y, rate) - cal.nll(d.y, d.risk))


def nagelkerke(d: Any) -> float:
    n, rate = len(d.y), np.full(len(d.y), d.y.mean())
    return math.expm1(-gain(d) / n) / math.expm1(-2 * cal.nll(d.y, rate))


def unreliability(d: Any) -> Any:
    return cal.assess(d.y, d.risk, metric="cox_slope", method="lr")


def smooth(metric: Any) -> Compute:
    return lambda d: metric(d.y, d.risk, smoother="lowess")


def z_test(d: Any) -> Any:
    return cal.assess(d.y, d.risk, metric="spiegelhalter_z", method="normal")


def inside(d: Any) -> list[float]:
    kept = (d.risk2 > 0) & (d.risk2 < 1)
    y, risk = d.y[kept], d.risk2[kept]
    return [cal.cox_intercept(y, risk), cal.cox_slope(y, risk), cal.ici(y, risk, smoother="lowess")]


ENTRY: dict[str, Compute] = {
    "Dxy": lambda d: 2 * cal.auroc(d.y, d.risk) - 1,
    "C (ROC)": lambda d: cal.auroc(d.y, d.risk),
    "R2": nagelkerke,
    "D": lambda d: (gain(d) - 1) / len(d.y),
    "D:Chi-sq": gain,
    "U": lambda d: (unreliability(d).detail["chi_square"] - 2) / len(d.y),
    "U:Chi-sq": lambda d: unreliability(d).detail["chi_square"],
    "U:p": lambda d: unreliability(d).pvalue,
    "Q": lambda d: (gain(d) + 1 - unreliability(d).detail["chi_square"]) / len(d.y),
    "Brier": lambda d: cal.brier(d.y, d.risk),
    "Intercept": lambda d: cal.cox_intercept(d.y, d.risk),
    "Slope": lambda d: cal.cox_slope(d.y, d.risk),
    "Emax": smooth(cal.emax),
    "E90": smooth(cal.e90),
    "Eavg": smooth(cal.ici),
    "S:z": lambda d: z_test(d).statistic,
    "S:p": lambda d: z_test(d).pvalue,
}
COMPUTED: dict[str, Compute] = {
    **{f"val.prob(risk, y, pl = FALSE)[['{name}']]": compute for name, compute in ENTRY.items()},
    "val.prob(risk2[risk2 > 0 & risk2 < 1], y[risk2 > 0 & risk2 < 1], pl = FALSE)[c('Intercept', 'Slope', 'Eavg')]": inside,
    "somers2(risk, y)[['C']]": lambda d: cal.auroc(d.y, d.risk),
    "somers2(risk2, y)[['Dxy']]": lambda d: 2 * cal.auroc(d.y, d.risk2) - 1,
    "somers2(risk, y, weights = 1 + seq_along(y) %% 5)[['C']]": lambda d: cal.auroc(
        cal.Predictions(d.y, d.risk, counts=weights(d))
    ),
    "rcorr.cens(risk, y)[['C Index']]": lambda d: cal.auroc(d.y, d.risk),
    "wtd.mean(risk - y, 1 + seq_along(y) %% 5)": lambda d: cal.calibration_in_the_large(
        d.y, d.risk, sample_weight=weights(d)
    ),
    "wtd.mean((risk - y)^2, 1 + seq_along(y) %% 5)": lambda d: cal.brier(d.y, d.risk, sample_weight=weights(d)),
    "auc(y, risk, quiet = TRUE)": lambda d: cal.auroc(d.y, d.risk),
    "auc(y, risk2, quiet = TRUE)": lambda d: cal.auroc(d.y, d.risk2),
}


@every_call("val_prob", COMPUTED)
def test_val_prob(call: str, compute: Compute) -> None:
    loose = next(
        (rtol for name, rtol in LOOSE.items() if call.startswith("val.prob") and call.endswith(name)), TOLERANCE
    )
    compare("val_prob", call, compute, loose, 1e-10)
