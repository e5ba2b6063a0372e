"""Studies over seeds: values, tests by scipy, resumption after an interruption, and every error."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calibrant as cal
from tests.calling import raises

from .test_groups import holm

WARP = cal.inference.simulation.temperature(2.0)


def pair(seed: int) -> Any:
    return tuple(
        cal.inference.make_miscalibrated(300, warp=WARP, distribution=(1, 1, 1), rng=10 * seed + part).predictions
        for part in (0, 1)
    )


STEPS: dict[str, Any] = {
    "none": None,
    "temperature": cal.TemperatureScaling(),
    "flat": lambda fit, test: np.full_like(test.probs, 1 / 3),
}


def test_means_deviations_and_paired_tests() -> None:
    found = cal.study({"net": pair}, STEPS, lenses=[None, "classwise"], metrics=["ece", "nll"], seeds=range(5))
    assert len(found.rows) == 12
    own = {name: [] for name in STEPS}  # type: ignore[var-annotated]
    for seed in range(5):
        fit, test = pair(seed)
        scaled = cal.TemperatureScaling().fit(fit.probs, fit.labels).predict_proba(test.probs)
        for name, probs in (("none", test.probs), ("temperature", scaled), ("flat", np.full_like(scaled, 1 / 3))):
            own[name].append(cal.nll(test.labels, probs))
    tests = []
    for name in STEPS:
        row = found["net", name, "nll"]
        assert row.values == pytest.approx(own[name])
        assert (row.mean, row.deviation) == pytest.approx((np.mean(own[name]), np.std(own[name], ddof=1)))
        if name != "none":
            tests.append(stats.ttest_rel(own[name], own["none"]).pvalue)
            assert row.difference == pytest.approx(np.mean(own[name]) - np.mean(own["none"]))
    # Holm's method over the tests of every metric and lens.
    every = [row for row in found.rows if row.intervention != "none" and row.mean is not None]
    raw = [stats.ttest_rel(row.values, found["net", "none", row.metric, row.lens].values).pvalue for row in every]
    assert [row.pvalue for row in every] == pytest.approx(holm(raw))
    assert set(np.round(tests, 12)) <= set(np.round(raw, 12))
    assert found["net", "none", "ece", "classwise"].values[0] == pytest.approx(cal.cwce(pair(0)[1]))
    assert found.to_frame().shape == (12, 8)
    assert "none" in str(found)


def test_an_interrupted_study_continues(tmp_path: Path) -> None:
    path, calls = tmp_path / "study.jsonl", []

    def counted(seed: int) -> Any:
        calls.append(seed)
        if seed == 2 and len(calls) == 3:
            raise KeyboardInterrupt
        return pair(seed)

    keywords: dict[str, Any] = {"metrics": ["ece"], "seeds": range(3), "path": path}
    with pytest.raises(KeyboardInterrupt):
        cal.study({"net": counted}, STEPS, **keywords)
    path.write_text(path.read_text() + '{"model": "net", "inter')  # a line that was being written
    resumed = cal.study({"net": counted}, STEPS, **keywords)
    assert calls == [0, 1, 2, 2]
    assert resumed == cal.study({"net": pair}, STEPS, metrics=["ece"], seeds=range(3))
    assert cal.study({"net": counted}, STEPS, **keywords) == resumed
    assert calls == [0, 1, 2, 2]
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == 9
    cal.study({"net": counted}, STEPS, **{**keywords, "metrics": ["ece", "nll"]})  # what is missing is computed
    assert calls == [0, 1, 2, 2, 0, 1, 2]
    path.write_text("[1]\n")  # the file of something else
    with raises(cal.CalibrantError, "path"):
        cal.study({"net": pair}, **keywords)


def test_models_are_compared_where_there_is_one_intervention() -> None:
    a = {seed: pair(seed)[1] for seed in range(3)}
    found = cal.study({"a": a, "b": a, "c": {seed: pair(seed)[0] for seed in range(3)}}, seeds=range(3))
    assert found.baseline == "a"
    assert found["a", "none", "ece"].pvalue is None
    assert (found["b", "none", "ece"].difference, found["b", "none", "ece"].pvalue) == (0.0, 1.0)
    assert found["c", "none", "ece"].pvalue is not None
    single = cal.study({"a": a}, seeds=[0])
    assert (single.rows[0].deviation, single.rows[0].pvalue) == (None, None)


def test_a_function_returns_any_numbers(tmp_path: Path) -> None:
    def numbers(p: cal.Predictions) -> dict[str, float]:
        return {"ece, 5 bins": cal.ece(p, bins=5), "rows": p.n, "endless": np.inf}

    keywords: dict[str, Any] = {"seeds": range(3), "path": tmp_path / "study.jsonl"}
    found = cal.study({"net": pair}, STEPS, metrics=numbers, **keywords)
    assert found["net", "none", "ece, 5 bins"].values == pytest.approx([cal.ece(pair(s)[1], bins=5) for s in range(3)])
    assert found["net", "flat", "rows"].difference == 0
    endless = found["net", "flat", "endless"]
    assert (endless.mean, endless.deviation, endless.difference, endless.pvalue) == (np.inf, None, None, None)
    assert [row.metric for row in found.rows][:3] == ["ece, 5 bins"] * 3
    # What the file has is neither asked for nor measured again; another function, and metrics, have their own numbers.
    again = cal.study({"net": lambda _: pytest.fail("asked")}, STEPS, metrics=numbers, **keywords)
    assert str(again) == str(found)

    def others(p: cal.Predictions) -> dict[str, float]:
        return {"rows": -p.n}

    assert cal.study({"net": pair}, STEPS, metrics=others, **keywords)["net", "flat", "rows"].values[0] == -pair(0)[1].n
    metrics = cal.study({"net": pair}, STEPS, metrics=["ece"], **keywords)
    assert {row.metric for row in metrics.rows} == {"ece"}
    assert str(cal.study({"net": pair}, STEPS, metrics=numbers, **keywords)) == str(found)
    with raises(cal.CalibrantError, "metrics"):
        cal.study({"net": pair}, STEPS, metrics=lambda p: {"rows": p.n}, **keywords)
    with raises(cal.CalibrantError, "metric"):
        found["net", "none", "no such number"]
