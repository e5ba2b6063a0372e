"""The comparison of estimators: truths against simulation and closed forms, the small form, what the page asks of the results."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference import simulation as simulate
from experiments import estimators

EXTREME = "even, too extreme"


def test_truths_are_those_of_the_population() -> None:
    warp = simulate.temperature(1.5)
    for metric in ("brier", "nll", "ecd", "ecce_mad", "abc_above", "global_squared_bias", "cox_slope"):
        known = 1 / 1.5 if metric == "cox_slope" else simulate.true_value(warp, metric=metric)
        assert estimators.truth_of(EXTREME, metric) == pytest.approx(
            known, abs=2e-3 if metric == "abc_above" else 1e-4
        ), metric
    assert estimators.truth_of(EXTREME, "ece") == pytest.approx(cal.inference.true_calibration_error(warp), abs=1e-6)
    assert estimators.truth_of(EXTREME, "drmsce") == pytest.approx(
        cal.inference.true_calibration_error(warp, norm=2), abs=1e-6
    )
    assert estimators.truth_of("even, calibrated", "ece") == 0
    assert estimators.truth_of(EXTREME, "skce_uq") == estimators.truth_of(EXTREME, "skce_b")


@pytest.mark.parametrize("metric", ["e50", "vce", "smece", "mmce", "u_cal", "sbece"])
def test_a_large_sample_comes_near_the_truth(metric: str) -> None:
    rows = estimators.draw(EXTREME, 200_000, 1)
    assert cal.catalogue[metric](rows) == pytest.approx(estimators.truth_of(EXTREME, metric), rel=0.06, abs=1e-3)


def test_the_same_run_has_the_same_rows_and_other_runs_have_others() -> None:
    first, again, other = (estimators.draw(EXTREME, 50, seed).probs for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.isin(other, first).any()
    assert len(estimators.SCENARIOS) == 30
    assert len(set(estimators.METRICS)) == len(estimators.METRICS) >= 90


def test_bias_and_error_are_those_of_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimators, "METRICS", ["ece", "brier", "fott_pl"])
    monkeypatch.setitem(estimators.PLAN, "slow", ["fott_pl"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = estimators.measure(tmp_path, True, [EXTREME])
    values = np.array([cal.ece(estimators.draw(EXTREME, 100, seed)) for seed in range(2)])
    truth = cal.inference.true_calibration_error(simulate.temperature(1.5))
    assert results["bias"][EXTREME]["ece"][0] == pytest.approx(values.mean() - truth, rel=1e-3)
    assert results["deviation"][EXTREME]["ece"][0] == pytest.approx(values.std(ddof=1), rel=1e-3)
    found = estimators.Found(results)
    bias, spread = results["bias"][EXTREME]["ece"][0], results["deviation"][EXTREME]["ece"][0]
    assert found.averages("ece", 0, found.wrong) == pytest.approx((abs(bias), spread, np.hypot(bias, spread)))
    nearer = [abs(found.bias["ece"][0, at]) < abs(found.bias["brier"][0, at]) for at in range(2)]
    assert found.wins("ece", "brier", "miscalibrated") == (sum(nearer), 2)


def test_stored_results_have_every_metric_and_scenario() -> None:
    results = json.loads(estimators.RESULTS.read_text(encoding="utf-8"))
    assert set(results["truth"]) == set(estimators.SCENARIOS)
    assert all(set(values) == set(estimators.METRICS) for values in results["bias"].values())
    found = estimators.Found(results)
    won, of = found.wins("ece_knn", "ece_db", "miscalibrated")
    assert (of, won < of / 2) == (100, True)
