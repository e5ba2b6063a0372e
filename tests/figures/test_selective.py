"""The risk-coverage picture: its data against brute force and exact distributions, and the picture against its data."""

import math

import numpy as np
import pytest

import calibrant as cal
from calibrant.decision.areas import augrc, aurc
from calibrant.figures.selective import risk_coverage_diagram

from .pictures import assert_readable, assert_same, new_axes

SIM = cal.inference.make_miscalibrated(
    600, warp=cal.inference.simulation.temperature(2.0), distribution=[0.4] * 4, rng=5
)
Y, P = SIM.y_true, SIM.y_prob
TEMPERED = P**0.5 / (P**0.5).sum(axis=1, keepdims=True)


ROWS = [(max(row), row.index(max(row)) != label) for row, label in zip(P.tolist(), Y.tolist(), strict=True)]


def brute_risk(threshold: float) -> tuple[float, float]:
    """Coverage and error rate at a threshold, row by row."""
    taken = [wrong for sure, wrong in ROWS if sure >= threshold]
    return len(taken) / len(ROWS), sum(taken) / len(taken)


def test_every_point_is_what_counting_gives() -> None:
    curve = risk_coverage_diagram(Y, P)["model"]
    assert 2 < len(curve.coverage) <= 400
    for threshold, coverage, risk in zip(curve.threshold, curve.coverage, curve.risk, strict=True):
        assert brute_risk(threshold) == pytest.approx((coverage, risk), abs=1e-12)
    assert curve.coverage[-1] == 1
    assert ((curve.low <= curve.risk) & (curve.risk <= curve.high)).all()


def test_areas() -> None:
    assert risk_coverage_diagram(Y, P)["model"].area == aurc(Y, P)
    assert risk_coverage_diagram(Y, P, risk="generalised")["model"].area == augrc(Y, P)


def test_a_perfect_order_accepts_right_answers_first() -> None:
    curve = risk_coverage_diagram(Y, P)["model"]
    errors = np.sort(P.argmax(axis=1) != Y)
    for share, risk in zip(curve.oracle_coverage, curve.oracle_risk, strict=True):
        count = share * len(Y)
        if abs(count - round(count)) < 1e-9:
            assert risk == pytest.approx(errors[: round(count)].mean(), abs=1e-12)
    right = 1 - errors.mean()
    assert_same(curve.oracle_risk, np.maximum(0, (curve.oracle_coverage - right) / curve.oracle_coverage))
    # No order is better, at any coverage.
    assert (np.interp(curve.coverage, curve.oracle_coverage, curve.oracle_risk) <= curve.risk + 5e-3).all()


def test_a_model_without_errors_and_a_single_row() -> None:
    shown = risk_coverage_diagram(cal.Predictions([1, 1], [0.6, 0.9], input="confidence"))
    assert shown["model"].risk.tolist() == [0, 0]
    assert_readable(shown.plot())
    assert math.isnan(
        risk_coverage_diagram(cal.Predictions([0], [0.7], input="confidence"), level=None)["model"].low[0]
    )


def test_a_curve_of_one_point_is_seen() -> None:
    ax = risk_coverage_diagram([0, 1, 1] * 3, [0.6] * 9).plot(new_axes()[0])
    marked = {line.get_label(): line.get_marker() for line in ax.lines if len(line.get_xdata()) == 1}
    assert list(marked.values()) == ["o", "o"]
    assert "random acceptance" in marked


def test_the_marked_point_is_that_of_its_threshold() -> None:
    shown = risk_coverage_diagram(Y, {"plain": P, "tempered": TEMPERED}, threshold={"plain": 0.8, "tempered": None})
    mark = shown["plain"].mark
    assert mark is not None
    assert (mark.threshold, shown["tempered"].mark) == (0.8, None)
    assert (mark.coverage, mark.selective_risk) == pytest.approx(brute_risk(0.8))
    (drawn,) = (line for line in shown.plot().lines if line.get_gid() == "mark")
    assert_same(drawn.get_xydata(), [[mark.coverage, mark.selective_risk]])
