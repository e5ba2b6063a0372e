"""The calibration curve at a horizon: the curve, the band, the risk groups, and the picture."""

from typing import Any

import numpy as np
import pytest

import calibrant as cal


def data(n: int = 300, low: int = 2, high: int = 3) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    risk = rng.beta(low, high, n)
    death = rng.exponential(-5 / np.log1p(-risk))
    censored = rng.exponential(12, n)
    return {"y_prob": risk, "time": np.minimum(death, censored), "event": (death <= censored).astype(int), "horizon": 5}


def test_the_curve_is_that_of_the_indices_and_groups_are_kaplan_meier() -> None:
    words = data()
    found = cal.figures.survival_diagram(**words, bins=5, n_resamples=20, rng=0)
    assert [group.rows for group in found.groups] == [60] * 5
    order = np.argsort(words["y_prob"])
    for place, group in enumerate(found.groups):
        rows = order[60 * place : 60 * (place + 1)]
        alone = cal.clinical.horizon_outcomes(words["time"][rows], words["event"][rows], horizon=5)
        assert group.observed == pytest.approx(alone.observed_risk, abs=1e-12)
        assert group.mean_risk == pytest.approx(words["y_prob"][rows].mean(), abs=1e-12)
        assert group.low < group.observed < group.high
    assert ((found.low <= found.y) & (found.y <= found.high)).mean() > 0.9
    whole = cal.clinical.horizon_outcomes(words["time"], words["event"], horizon=5)
    ici = cal.ici(whole.outcome, words["y_prob"], sample_weight=whole.weight, bounded=True)
    distance = np.abs(np.interp(words["y_prob"], found.x, found.y) - words["y_prob"])
    assert distance @ whole.weight / whole.weight.sum() == pytest.approx(ici, abs=1e-3)
    again = cal.figures.survival_diagram(**words, bins=5, n_resamples=20, rng=0)
    assert again.to_dict() == found.to_dict()
    assert list(found.to_frame()["rows"]) == [60] * 5


def test_equal_risks_stay_together_and_unidentified_groups_are_named() -> None:
    risk = np.repeat([0.2, 0.6], 20)
    time = np.where(risk == 0.2, np.arange(1, 41), np.arange(40) / 10 + 0.1)
    event = np.where(risk == 0.2, 1, np.arange(40) % 2)
    event[-1] = 0
    found = cal.figures.survival_diagram(risk, time=time, event=event, horizon=8, n_resamples=0)
    assert [group.rows for group in found.groups] == [20, 20]
    assert np.isnan(found.groups[1].observed)
    assert "1 risk group without a value" in repr(found)
    assert found.to_dict()["groups"][1]["observed"] is None
    assert np.isnan(found.low).all()
