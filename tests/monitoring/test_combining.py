"""Many groups: published choices, bounds by simulation, groups that join later, and alarms that say why."""

from __future__ import annotations

import math

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError, InputError, InputTypeError
from calibrant.monitoring.combining import (
    Alarm,
    combine_evalues,
    drift_alarms,
    e_bh,
    evalue_of_pvalue,
    group_alarms,
    reserved_threshold,
)
from calibrant.monitoring.drift import ks_2samp
from calibrant.monitoring.eprocess import EProcess, start_eprocess
from calibrant.monitoring.summaries import read_change


def watched(shift: float, seed: int, rows: int = 400) -> EProcess:
    state = start_eprocess(lens="binary")
    for day in range(5):
        drawn = cal.make_miscalibrated(rows // 5, warp=cal.simulate.bias(shift), rng=1000 * seed + day)
        state = state.update(cal.Sketch.of(drawn.y_true, drawn.y_prob))
    return state


def test_published_choice() -> None:
    assert e_bh([200, 45, 60, 3, 0.5], alpha=0.1).tolist() == [True, True, True, False, False]
    assert e_bh([40, 1], alpha=0.05).tolist() == [True, False]
    assert e_bh([39, 1], alpha=0.05).tolist() == [False, False]
    assert e_bh([math.inf, 0]).tolist() == [True, False]


def test_e_bh_by_its_definition() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        values = np.exp(rng.normal(1, 2, 8))
        ordered = np.sort(values)[::-1]
        fine = [k for k in range(1, 9) if ordered[k - 1] >= 8 / (k * 0.1)]
        k = max(fine, default=0)
        assert e_bh(values, alpha=0.1).sum() == k
        assert set(values[e_bh(values, alpha=0.1)]) == set(ordered[:k])


def test_false_discoveries_are_few() -> None:
    rng = np.random.default_rng(1)
    share = []
    for _ in range(2000):
        right = rng.normal(size=20)
        wrong = rng.normal(3, 1, 5)
        e = np.exp(3 * np.concatenate([right, wrong]) - 4.5)
        chosen = e_bh(e, alpha=0.2)
        share.append(chosen[:20].sum() / max(1, chosen.sum()))
    assert np.mean(share) <= 0.2


def test_combined_values() -> None:
    assert combine_evalues([3.0, 1.0]) == 2.0
    assert combine_evalues([3.0, 0.0], method="product") == 0.0
    assert combine_evalues([math.inf, 0.0], method="product") == math.inf
    assert combine_evalues([1e300, 1e300, 1e-300], method="product") == pytest.approx(1e300)
    assert combine_evalues([1e300, 1e300], method="product") == math.inf


def test_evalue_of_pvalue_has_mean_one() -> None:
    grid = (np.arange(20_000) + 0.5) / 20_000
    for power in (0.5, 0.8):
        mean = np.mean([evalue_of_pvalue(float(p), power=power) for p in grid])
        assert mean == pytest.approx(1, abs=0.01)
    assert evalue_of_pvalue(0.0) == math.inf
    assert evalue_of_pvalue(1.0) == 0.5


def test_reserved_parts_add_up_to_alpha() -> None:
    parts = [1 / reserved_threshold(g, alpha=0.05) for g in range(1, 10_000)]
    assert sum(parts) == pytest.approx(0.05, rel=1e-3)
    assert sum(parts) < 0.05


@pytest.mark.parametrize("rule", ["e_bh", "bonferroni", "holm", "reserved", "benjamini_hochberg"])
def test_the_wrong_group_is_named(rule: str) -> None:
    states = {"north": watched(0.0, 1), "south": watched(1.2, 2), "west": watched(0.0, 3)}
    alarms = group_alarms(states, rule=rule)
    assert [alarm.group for alarm in alarms] == ["south"]
    alarm = alarms[0]
    assert (alarm.kind, alarm.when) == ("calibration", 5)
    assert alarm.evidence > 60
    assert "not drawn from the scores" in alarm.words
    assert rule in alarm.words
    assert "logit shift" in alarm.words or "learnt" in alarm.words
    assert alarm.to_dict()["group"] == "south"
    assert group_alarms(states, rule=rule, when="2026-05")[0].when == "2026-05"


def test_nothing_to_watch() -> None:
    assert group_alarms({}) == ()
    assert drift_alarms({}) == ()


def test_infinite_evidence() -> None:
    state = start_eprocess(lens="binary").update(cal.Sketch.of([1], [0.0]))
    for rule in ("e_bh", "holm"):
        assert group_alarms({"a": state}, rule=rule)[0].evidence == math.inf


def test_drift_alarms_are_corrected() -> None:
    rng = np.random.default_rng(0)
    old = rng.random(100)
    results = {f"g{i}": ks_2samp(old, rng.random(80)) for i in range(6)}
    results["moved"] = ks_2samp(old, 0.5 + rng.random(80) / 2)
    alarms = drift_alarms(results, when=7)
    assert [a.group for a in alarms] == ["moved"]
    assert alarms[0].evidence == pytest.approx(7 * results["moved"].pvalue)
    assert alarms[0].kind == "scores"
    reading = read_change([0.6] * 30, [0.9] * 30)
    confidence = drift_alarms({"x": reading})[0]
    assert confidence.kind == "confidence"
    assert "overconfident failure" in confidence.words


def test_refusals_and_looks() -> None:
    with pytest.raises(InputError, match="evalues"):
        e_bh([])
    with pytest.raises(InputError, match="evalues"):
        combine_evalues([-1.0])
    with pytest.raises(InputError, match="evalues"):
        combine_evalues([float("nan")])
    with pytest.raises(InputTypeError, match="evalues"):
        e_bh(["a"])
    with pytest.raises(ArgumentError, match="method"):
        combine_evalues([1.0], method="max")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="rule"):
        group_alarms({}, rule="fisher")  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match="processes"):
        group_alarms({"a": 3.0})  # type: ignore[dict-item]
    with pytest.raises(InputTypeError, match="results"):
        drift_alarms({"a": 3.0})  # type: ignore[dict-item]
    with pytest.raises(ArgumentError, match="pvalue"):
        evalue_of_pvalue(2)
    with pytest.raises(ArgumentError, match="number_of_group"):
        reserved_threshold(0)
    alarm = Alarm("scores", "a", 3, 0.01, "moved")
    assert repr(alarm) == "scores in a at 3: moved"
    assert len(alarm.to_frame()) == 1
    assert "<table>" in alarm._repr_html_()
