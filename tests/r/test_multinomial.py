"""Multinomial recalibration against VGAM and nnet."""

from functools import lru_cache
from typing import Any

import numpy as np

import calibrant as cal
from tests.r.common import Compute, compare, data, every_call

# Both by Newton steps to the last digits; nnet by BFGS.
TOLERANCE = 1e-6
SETS = {
    "rows(stage, four(p1, p2, p3, p4), 1)": (4, 0),
    "rows(stage, four(p1, p2, p3, p4), 3)": (4, 2),
    "rows(pmax(stage - 1, 1), three(p1, p2, p3, p4), 1)": (3, 0),
    "rows(pmax(stage - 1, 1), three(p1, p2, p3, p4), 2)": (3, 1),
}
MODELS = {"large": "in_the_large", "own": "own", "full": "full"}


@lru_cache
def fitted(classes: int, reference: int, *, counted: bool = False) -> Any:
    d = data("pbc")
    probs, stage = np.column_stack([d.p1, d.p2, d.p3, d.p4]), d.stage - 1
    counts = 1 + np.arange(1, len(stage) + 1) % 3 if counted else None
    if classes == 3:
        probs, stage = np.column_stack([probs[:, 0] + probs[:, 1], probs[:, 2:]]), np.maximum(stage - 1, 0)
    return cal.inference.multinomial_recalibration(cal.Predictions(stage, probs, counts=counts), reference=reference)


def in_order(model: str, intercepts: Any, slopes: Any) -> Any:
    """Coefficients as vglm lists them: intercepts, then the slopes of one log-ratio after another."""
    more = {"in_the_large": [], "own": np.diag(slopes), "full": slopes.T.ravel()}
    return np.concatenate([intercepts, more[model]])


def coefficients(model: str, *key: int, **keywords: bool) -> Compute:
    def compute(d: Any) -> Any:
        fit = getattr(fitted(*key, **keywords), model)
        return in_order(model, fit.intercepts, fit.slopes)

    return compute


def errors(model: str, *key: int, **keywords: bool) -> Compute:
    def compute(d: Any) -> Any:
        fit = getattr(fitted(*key, **keywords), model)
        return in_order(model, fit.intercept_errors, fit.slope_errors)

    return compute


def log_likelihood(model: str, *key: int) -> Compute:
    return lambda d: getattr(fitted(*key), model).log_likelihood


def by_class(*key: int) -> Compute:
    return lambda d: np.column_stack([fitted(*key).full.intercepts, fitted(*key).full.slopes])


def before(*key: int) -> Compute:
    """The likelihood of the probabilities as they are, from the test of calibration."""
    return lambda d: fitted(*key).full.log_likelihood - fitted(*key).tests["calibration"].statistic / 2


COMPUTED: dict[str, Compute] = {
    "loglik_before(stage, four(p1, p2, p3, p4))": before(4, 0),
    "loglik_before(pmax(stage - 1, 1), three(p1, p2, p3, p4))": before(3, 1),
}
for rows, key in SETS.items():
    for theirs, ours in MODELS.items():
        COMPUTED |= {
            f"coef({theirs}({rows}))": coefficients(ours, *key),
            f"errors({theirs}({rows}))": errors(ours, *key),
            f"logLik({theirs}({rows}))": log_likelihood(ours, *key),
        }
    COMPUTED |= {
        f"coef(full({rows}, weights = counts(stage)))": coefficients("full", *key, counted=True),
        f"errors(full({rows}, weights = counts(stage)))": errors("full", *key, counted=True),
        f"t(coef(by_nnet({rows})))": by_class(*key),
    }


@every_call("multinomial", COMPUTED)
def test_as_vgam_and_nnet(call: str, compute: Compute) -> None:
    compare("multinomial", call, compute, 1e-4 if "nnet" in call else TOLERANCE)
