"""Calibrators chosen by a metric of all held-out rows, against cross-validation written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.recalibration.scores import TrainingData, fold_of_rows

CASES: list[tuple[str, Any, Any]] = [
    ("ece", None, cal.ece),
    ("cwce", None, cal.cwce),
    ("ece", cal.classwise(), cal.cwce),
    ("ece", "rank:2", lambda p: cal.ece(p, lens="rank:2")),
    ("gece", cal.top_k(2), lambda p: cal.gece(p, lens="top_k:2")),
    ("brier", "ordinal", lambda p: cal.brier(p, lens="ordinal")),
    ("vce", None, cal.vce),
    ("ecd", None, lambda p: abs(cal.ecd(p))),
]


def sample(n: int = 400, k: int = 3) -> Any:
    warp = cal.inference.simulation.temperature(2.0)
    return cal.inference.make_miscalibrated(n, warp=warp, distribution=(1,) * k, rng=1)


@pytest.mark.parametrize(("loss", "lens", "distance"), CASES, ids=[f"{loss}-{lens}" for loss, lens, _ in CASES])
def test_the_loss_is_the_metric_of_all_held_out_rows(loss: str, lens: Any, distance: Any) -> None:
    data, weight = sample(), np.random.default_rng(2).uniform(0.5, 2, 400)
    chosen = cal.recalibrate(
        data.y_true, data.y_prob, method=["temperature"], loss=loss, lens=lens, folds=3, sample_weight=weight
    )
    p = cal.Predictions(data.y_true, data.y_prob, sample_weight=weight)
    fold = fold_of_rows(TrainingData(p), 3, 0)
    held_out = np.empty_like(data.y_prob)
    for k in range(3):
        rest = p.take(fold != k)
        fitted = cal.TemperatureScaling().fit(rest.probs, rest.labels, sample_weight=rest.weight)
        held_out[fold == k] = fitted.predict_proba(data.y_prob[fold == k])
    plain, after = distance(p), distance(cal.Predictions(data.y_true, held_out, sample_weight=weight))
    assert [c.loss for c in chosen.candidates] == pytest.approx([plain, after], abs=1e-9)
    assert (chosen.loss, chosen.method, chosen.held_out) == (loss, "temperature", pytest.approx(held_out, abs=1e-9))
    assert chosen.candidates[1].gain == pytest.approx(plain - after, abs=1e-9)
    assert chosen.gain == pytest.approx(plain - after, abs=1e-9)  # every fold selects it
    assert chosen.low < chosen.gain < chosen.high
    assert chosen.lens == ("" if lens is None else getattr(lens, "name", lens))


def test_calibrated_predictions_are_left_as_they_are_in_most_samples() -> None:
    kept = 0
    for seed in range(8):
        data = cal.inference.make_calibrated(300, rng=seed)
        chosen = cal.recalibrate(data.y_true, data.y_prob, method="platt", loss="ece", folds=3)
        kept += chosen.method == "none"
    assert kept >= 5


def test_a_lower_error_that_costs_likelihood_is_noted() -> None:
    """Labels that ignore half of the scores: the mean of bins is right at the price of resolution."""
    data = sample(600, 2)
    chosen = cal.recalibrate(data.y_true, data.y_prob, method="histogram", loss="ecd", folds=3)
    nll = {m: cal.nll(data.y_true, p) for m, p in (("none", data.y_prob), ("histogram", chosen.held_out))}
    assert ("nll rises" in chosen.note) == (nll["histogram"] > nll["none"])
    event = cal.recalibrate(
        *(sample().y_true, sample().y_prob), method=["platt"], loss="gece", lens="top_label", folds=3
    )
    assert (event.lens, event.loss) == ("top_label", "gece")
