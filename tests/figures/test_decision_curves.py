"""Decision curves: net benefit against counting, intervals against standard errors, weights against repeated rows."""

from typing import Any

import numpy as np
import pytest

import calibrant as cal

from .pictures import assert_readable

SIM = cal.inference.make_miscalibrated(400, warp=cal.inference.simulation.temperature(1.5), distribution=(2, 8), rng=3)
Y, P = np.asarray(SIM.y_true), np.asarray(SIM.y_prob)
Q = np.round(P, 1)  # ties, and exact 0
T = [0.1, 0.2, 0.35, 0.9]


def benefit(y: Any, risk: Any, t: float, weight: Any = None) -> float:
    """Vickers and Elkin (2006): true positives minus false positives times the odds, over the rows."""
    weight = np.ones(len(y)) if weight is None else weight
    hits = sum(w for o, r, w in zip(y, risk, weight, strict=True) if r >= t and o == 1)
    false = sum(w for o, r, w in zip(y, risk, weight, strict=True) if r >= t and o == 0)
    return float((hits - false * t / (1 - t)) / sum(weight))


def test_values_are_those_of_counting() -> None:
    curve = cal.figures.decision_curve(Y, {"a": P, "b": Q}, thresholds=T, level=None)
    for name, risk in (("a", P), ("b", Q), ("treat all", np.ones(len(Y)))):
        wanted = [benefit(Y, risk, t) for t in T]
        assert curve[name].net_benefit == pytest.approx(wanted, abs=1e-12)
        everyone = [benefit(Y, np.ones(len(Y)), t) for t in T]
        avoided = [100 * (v - a) * (1 - t) / t for v, a, t in zip(wanted, everyone, T, strict=True)]
        assert curve[name].avoided_per_100 == pytest.approx(avoided, abs=1e-10)
        assert curve[name].standardised == pytest.approx(np.array(wanted) / Y.mean(), abs=1e-12)
    assert np.isnan(curve["a"].low).all()
    assert curve.difference("a", "b").difference == pytest.approx([benefit(Y, P, t) - benefit(Y, Q, t) for t in T])


def test_one_model_agrees_with_net_benefit() -> None:
    curve, known = cal.figures.decision_curve(Y, P), cal.decision.net_benefit(Y, P)
    assert curve.threshold.tolist() == known.threshold.tolist()
    assert curve["model"].net_benefit == pytest.approx(known.net_benefit, abs=1e-13)
    assert curve["model"].avoided_per_100 == pytest.approx(100 * known.avoided, abs=1e-9)
    # With many rows above the threshold the limits are those of the standard error.
    width = curve["model"].high - curve["model"].low
    assert width[:30] == pytest.approx(2 * 1.96 * known.standard_error[:30], rel=0.12)


def test_thresholds_may_have_any_order_and_repeat() -> None:
    curve = cal.figures.decision_curve(Y, P, thresholds=[0.35, 0.1, 0.35])
    assert curve["model"].net_benefit == pytest.approx([benefit(Y, P, t) for t in (0.35, 0.1, 0.35)])
    assert curve["model"].low[0] == curve["model"].low[2] < curve["model"].low[1]


def test_importance_weights() -> None:
    weight = np.random.default_rng(0).exponential(size=len(Y))
    curve = cal.figures.decision_curve(Y, P, sample_weight=weight, thresholds=T)
    assert curve["model"].net_benefit == pytest.approx([benefit(Y, P, t, weight) for t in T], abs=1e-12)
    known = cal.decision.net_benefit(Y, P, sample_weight=weight, thresholds=T)
    width = curve["model"].high - curve["model"].low
    assert width[:3] == pytest.approx(2 * 1.96 * known.standard_error[:3], rel=0.15)
    constant = cal.figures.decision_curve(Y, P, sample_weight=np.full(len(Y), 2.5), thresholds=T)
    assert constant["model"].low == pytest.approx(cal.figures.decision_curve(Y, P, thresholds=T)["model"].low)


def test_differences_are_paired() -> None:
    curve = cal.figures.decision_curve(Y, {"a": P, "b": P * 0.999}, thresholds=[0.2])
    found = curve.difference("a", "b")
    assert found.high[0] - found.low[0] < 0.3 * (curve["a"].high[0] - curve["a"].low[0])
    assert curve.difference("a", "treat none").low == pytest.approx(curve["a"].low)
    minus = curve.difference("b", "a")
    assert (minus.low, minus.high) == (pytest.approx(-found.high), pytest.approx(-found.low))
    assert list(found.to_frame().columns) == ["threshold", "difference", "low", "high"]


def test_rules_that_act_nowhere_or_everywhere_have_no_uncertain_cells() -> None:
    curve = cal.figures.decision_curve(Y, P, thresholds=T)
    assert curve.difference("treat all", "treat all").high.tolist() == [0.0] * len(T)
    none = cal.figures.decision_curve(Y, np.full(len(Y), 0.01), thresholds=[0.5])
    assert none["model"].low[0] < none["model"].net_benefit[0] == 0 < none["model"].high[0] < 4 / len(Y)


@pytest.mark.parametrize("outcome", [0, 1])
def test_one_outcome_only(outcome: int) -> None:
    curve = cal.figures.decision_curve(np.full(50, outcome), P[:50], thresholds=T)
    assert curve.prevalence == outcome
    assert curve["model"].net_benefit == pytest.approx([benefit(np.full(50, outcome), P[:50], t) for t in T])
    if outcome:
        assert_readable(curve.plot())


def test_the_plots() -> None:
    curve = cal.figures.decision_curve(Y, {"a": P, "b": Q})
    ax = curve.plot()
    rare = cal.figures.decision_curve((np.arange(400) % 100 == 0).astype(int), P / 10, level=None)
    assert rare.threshold[0] == 0.001
    assert ax.get_ylim()[0] > -0.5
    assert_readable(cal.figures.decision_curve(Y, P, thresholds=0.2).plot())
