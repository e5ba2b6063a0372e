"""Losses, areas and calibrators of four classes against survival, nnet and pROC."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from tests.r.common import Compute, compare, every_call

# Sums; the conditional logit maximises the likelihood to the last digits.
TOLERANCE = 1e-7


def probs(d: Any) -> Any:
    return np.column_stack([d.p1, d.p2, d.p3, d.p4])


def of_rows(function: Any) -> Compute:
    return lambda d: function(d.stage - 1, probs(d))


def fitted(calibrator: Any, parameters: Any) -> Compute:
    return lambda d: parameters(calibrator.fit(probs(d), d.stage - 1))


def loss_after(calibrator: Any) -> Compute:
    return lambda d: cal.nll(d.stage - 1, calibrator.fit(probs(d), d.stage - 1).predict_proba(probs(d)))


CHOSEN = "stage, probs(p1, p2, p3, p4)))"
COMPUTED: dict[str, Compute] = {
    "-mean(log(probs(p1, p2, p3, p4)[cbind(seq_along(stage), stage)]))": of_rows(cal.nll),
    "mean(rowSums((outer(stage, 1:4, '==') - probs(p1, p2, p3, p4))^2))": of_rows(cal.brier),
    "mean(rowSums((outer(stage, 1:3, '<=') - t(apply(probs(p1, p2, p3, p4), 1, cumsum))[, 1:3])^2)) / 3": of_rows(
        cal.ranked_probability
    ),
    "colMeans(probs(p1, p2, p3, p4)) - tabulate(stage) / length(stage)": lambda d: [
        cal.calibration_in_the_large(d.stage - 1, probs(d), lens=f"class:{k}") for k in range(4)
    ],
    "mean(sapply(1:4, function(k) auc(stage == k, probs(p1, p2, p3, p4)[, k], direction = '<', quiet = TRUE)))": of_rows(
        cal.evaluation.auroc
    ),
    f"coef(chosen_by(chosen ~ lp + strata(row), {CHOSEN}": fitted(
        cal.TemperatureScaling(), lambda c: 1 / c.temperature_
    ),
    f"coef(chosen_by(chosen ~ lp + stage + strata(row), {CHOSEN}": fitted(
        cal.BiasCorrectedTemperature(), lambda c: [1 / c.temperature_, *c.bias_[1:]]
    ),
    f"coef(chosen_by(chosen ~ lp:stage + stage + strata(row), {CHOSEN}[c(4:7, 1:3)]": fitted(
        cal.VectorScaling(), lambda c: [*c.weight_, *c.bias_[1:]]
    ),
    "multinom(stage ~ log(p1) + log(p2) + log(p3) + log(p4), trace = FALSE, reltol = 1e-15, maxit = 5000)$deviance / 2 / length(stage)": loss_after(
        cal.MatrixScaling(off_diagonal=0.0, intercept=0.0)
    ),
}


@pytest.mark.filterwarnings("ignore::calibrant.errors.InSampleWarning")
@every_call("several_classes", COMPUTED)
def test_several_classes(call: str, compute: Compute) -> None:
    compare("several_classes", call, compute, TOLERANCE, 1e-9)
