"""Calibrators chosen by a metric of all held-out rows, against cross-validation written out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.recalibration.methods import METHODS
from calibrant.recalibration.metric_targets import CONTINUOUS, MetricTarget, MetricValidation, TargetFit
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


@pytest.mark.parametrize(("loss", "k"), [("smece", 2), ("mmce", 2), ("mmce", 4), ("brier", 4)])
def test_a_temperature_fitted_to_a_target_is_the_best_of_a_grid(loss: str, k: int) -> None:
    warp = cal.inference.simulation.temperature(1.6) if k == 4 else cal.inference.simulation.bias(0.8)
    data = cal.inference.make_miscalibrated(600, warp=warp, distribution=(0.7,) * k, rng=4)
    weight = np.random.default_rng(5).uniform(0.5, 2, 600)
    target = MetricTarget(cal.catalogue[loss], None)
    fit = TargetFit(cal.TemperatureScaling(), target).fit(data.y_prob, data.y_true, sample_weight=weight)

    def value(metric: Any, temperature: float) -> float:
        scores = data.y_prob if k > 2 else np.column_stack([1 - data.y_prob, data.y_prob])
        raised = np.maximum(scores, 1e-300) ** (1 / temperature)
        probs = raised / raised.sum(axis=1, keepdims=True)
        return float(metric(cal.Predictions(data.y_true, probs if k > 2 else probs[:, 1], sample_weight=weight)))

    grid = [t for t in np.exp(np.linspace(-1, 2, 101)) if value(cal.nll, t) <= value(cal.nll, 1.0)]
    best = min(value(target.metric, t) for t in grid)
    assert value(target.metric, fit.scaling_.temperature_) <= best + 1e-4


def test_a_constant_does_not_win_though_it_attains_the_target() -> None:
    """Labels that hardly depend on the scores: the rate of events has no calibration error, and a higher likelihood than the scores."""
    rng = np.random.default_rng(6)
    score = rng.beta(0.4, 0.4, 500)
    y = (rng.random(500) < 0.1 + 0.8 * score).astype(int)
    target = MetricTarget(cal.smece, None)
    fit = TargetFit(cal.BiasCorrectedTemperature(), target).fit(score, y)
    probs = fit.predict_proba(np.append(score, 0.5))[:-1, 1]
    assert cal.nll(y, probs) <= cal.nll(y, score) * 1.001
    usual = cal.BiasCorrectedTemperature().fit(score, y).predict_proba(np.append(score, 0.5))[:-1, 1]
    assert cal.smece(y, probs) <= cal.smece(y, usual)
    assert np.std(probs) > 0.05


def test_a_fit_to_the_target_is_kept_only_where_it_is_better(tmp_path: Path) -> None:
    data = cal.inference.make_miscalibrated(400, warp=cal.inference.simulation.bias(1.0), rng=7)
    names = np.array(["no", "yes"])[data.y_true]
    score = np.where(data.y_prob < 0.02, 0.0, np.where(data.y_prob > 0.98, 1.0, data.y_prob))
    chosen = cal.recalibrate(names, score, loss="mmce", folds=3)
    losses = {c.method: c.loss for c in chosen.candidates}
    assert {"temperature:mmce", "bias_corrected_temperature:mmce"} < set(losses)
    assert losses[chosen.method] == min(losses.values())
    path = chosen.save(tmp_path / "calibrator.json")
    assert cal.load(path).predict_proba([0.0, 0.3, 1.0]) == pytest.approx(chosen.predict_proba([0.0, 0.3, 1.0]))
    assert not [c for c in cal.recalibrate(names, score, loss="ece", folds=3).candidates if ":" in c.method]
    assert not [
        c for c in cal.recalibrate(names, score, method="platt", loss="mmce", folds=3).candidates if ":" in c.method
    ]


def test_the_fitted_scaling_is_an_ordinary_calibrator(tmp_path: Path) -> None:
    data = sample(300, 3)
    fits = MetricValidation(
        {"none": METHODS["none"](), "fit": TargetFit(cal.TemperatureScaling(), MetricTarget(cal.mmce, None))},
        cal.Predictions(data.y_true, data.y_prob),
        np.arange(300) % 3,
        MetricTarget(cal.mmce, None),
    ).fits["fit"]
    assert type(fits.calibrator) is cal.TemperatureScaling
    cal.save(fits.calibrator, tmp_path / "t.json")
    assert cal.load(tmp_path / "t.json").temperature_ == fits.calibrator.temperature_


@pytest.mark.parametrize("metric", sorted(CONTINUOUS))
def test_metrics_with_a_fit_are_continuous_in_a_temperature(metric: str) -> None:
    """Tied scores on the edges of bins, whose rows would all change bins together."""
    rng = np.random.default_rng(8)
    score = rng.choice([0.2, 0.4, 0.6, 0.8], 300)
    y = (rng.random(300) < score).astype(int)
    values = [cal.catalogue[metric](y, 1 / (1 + (1 / score - 1) ** (1 + e))) for e in (-1e-9, 0, 1e-9)]
    assert np.ptp(values) < 1e-6
