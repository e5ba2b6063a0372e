"""The risk-coverage picture: its data against brute force and exact distributions, and the picture against its data."""

from __future__ import annotations

import math

import numpy as np
import pytest

import calibrant as cal
from calibrant.decision.areas import augrc, aurc
from calibrant.decision.thresholds import choose_threshold
from calibrant.errors import ArgumentError, InputTypeError, LensError
from calibrant.figures.selective import risk_coverage_diagram
from tests.calling import call

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
    curve = risk_coverage_diagram(Y, P, points=50)["model"]
    assert 2 < len(curve.coverage) <= 50
    for threshold, coverage, risk in zip(curve.threshold, curve.coverage, curve.risk, strict=True):
        assert brute_risk(threshold) == pytest.approx((coverage, risk), abs=1e-12)
    assert curve.coverage[-1] == 1
    assert ((curve.low <= curve.risk) & (curve.risk <= curve.high)).all()


def test_areas_and_all_points() -> None:
    whole = risk_coverage_diagram(Y, P, points=10_000)["model"]
    assert len(whole.coverage) == len(np.unique(P.max(axis=1)))
    assert whole.area == aurc(Y, P)
    assert risk_coverage_diagram(Y, P, risk="generalised")["model"].area == augrc(Y, P)


def test_generalised_risk_is_coverage_times_selective_risk() -> None:
    one, other = (risk_coverage_diagram(Y, P, risk=risk)["model"] for risk in ("selective", "generalised"))  # type: ignore[arg-type]
    assert_same(other.risk, one.risk * one.coverage)
    assert_same(other.random_risk, other.risk[-1] * other.coverage)
    assert np.isnan(other.low).all()


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


@pytest.mark.parametrize("accuracy", [0.7, 0.9])
def test_the_mark_is_the_largest_coverage_with_the_accuracy(accuracy: float) -> None:
    mark = risk_coverage_diagram(Y, P, accuracy=accuracy)["model"].mark
    good = [t for t in np.unique(P.max(axis=1)) if brute_risk(t)[1] <= 1 - accuracy]
    assert mark is not None
    assert mark.threshold == min(good)


def test_the_mark_of_a_coverage_and_of_a_guarantee() -> None:
    mark = risk_coverage_diagram(Y, P, coverage=0.5)["model"].mark
    assert mark is not None
    assert mark.coverage == 0.5
    guaranteed = risk_coverage_diagram(Y, P, accuracy=0.8, guarantee=0.9)
    assert guaranteed["model"].mark is not None
    assert guaranteed["model"].mark.threshold == choose_threshold(Y, P, accuracy=0.8, guarantee=0.9).threshold
    assert guaranteed.target == "accuracy 0.8 guaranteed"
    assert risk_coverage_diagram(Y, P, accuracy=0.9999, guarantee=0.99)["model"].mark is None


def test_counts_are_repeated_rows_and_views_serve() -> None:
    counts = np.arange(len(Y)) % 4
    repeated = np.repeat(np.arange(len(Y)), counts)
    one = risk_coverage_diagram(cal.Predictions(Y, P, counts=counts))["model"]
    other = risk_coverage_diagram(Y[repeated], P[repeated])["model"]
    for word in ("coverage", "risk", "low", "high", "oracle_risk"):
        assert_same(getattr(one, word), getattr(other, word))
    sketch = cal.Sketch.of(Y, P)
    assert risk_coverage_diagram(sketch)["model"].area == pytest.approx(aurc(Y, P), abs=1e-3)


def test_losses_and_confidences_by_model() -> None:
    loss = {"plain": 1 - P[np.arange(len(Y)), Y], "soft": (P.argmax(axis=1) != Y).astype(float)}
    shown = risk_coverage_diagram(Y, {"plain": P, "soft": TEMPERED}, loss=loss, confidence=P.max(axis=1))
    assert shown["plain"].risk[-1] == pytest.approx(loss["plain"].mean())
    assert shown["plain"].threshold[0] == shown["soft"].threshold[0] == P.max()
    assert np.isnan(shown["plain"].low).all()
    assert len(shown.to_frame()) == sum(len(curve.coverage) for curve in shown.curves)
    assert "plain" in repr(shown)
    assert "<table>" in shown._repr_html_()


def test_the_picture_shows_the_data() -> None:
    [ax] = new_axes()
    shown = risk_coverage_diagram(Y, {"plain": P, "tempered": TEMPERED}, accuracy=0.8)
    assert shown.plot(ax) is ax
    for curve, line in zip(shown.curves, [ax.lines[0], ax.lines[5]], strict=True):
        assert_same(line.get_xdata(), curve.coverage)
        assert_same(line.get_ydata(), curve.risk)
        assert curve.mark is not None
    assert_same(ax.lines[1].get_ydata(), shown["plain"].random_risk)
    assert_same(ax.lines[2].get_ydata(), shown["plain"].oracle_risk)
    mark = shown["plain"].mark
    assert mark is not None
    assert_same([ax.lines[4].get_xdata()[0], ax.lines[4].get_ydata()[0]], [mark.coverage, mark.selective_risk])
    assert len(ax.collections) == 2
    assert_readable(ax)


def test_lines_of_models_drawn_one_after_the_other_have_their_colors() -> None:
    """As those of models drawn at once; the lines of a single model are grey."""
    ax = risk_coverage_diagram(Y, P).plot(color="#123456")
    assert [line.get_color() for line in ax.lines].count("#123456") == 1
    risk_coverage_diagram(Y, TEMPERED).plot(ax, color="#654321")
    at_once = risk_coverage_diagram(Y, {"one": P, "two": TEMPERED}).plot(color=["#123456", "#654321"])
    expected = ["#123456"] * 3 + ["#654321"] * 3
    assert [line.get_color() for line in ax.lines] == [line.get_color() for line in at_once.lines] == expected


@pytest.mark.filterwarnings("ignore::calibrant.errors.InputWarning")
def test_a_target_that_one_model_misses_is_still_named() -> None:
    hard = np.roll(P, 1, axis=1)
    shown = risk_coverage_diagram(Y, {"good": P, "bad": hard}, accuracy=0.85)
    assert shown["bad"].mark is None
    ax = shown.plot()
    assert "accuracy 0.85" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert_readable(ax)


@pytest.mark.parametrize("options", [{}, {"oracle": False, "random": False, "band": False}])
def test_pictures_of_one_model(options: dict[str, bool]) -> None:
    ax = risk_coverage_diagram(Y, P, accuracy=0.8, guarantee=0.9).plot(**options)
    assert len(ax.collections) == (0 if options else 1)
    assert_readable(ax)


def test_a_model_without_errors_and_a_single_row() -> None:
    shown = risk_coverage_diagram(cal.Predictions([1, 1], [0.6, 0.9], input="confidence"))
    assert shown["model"].risk.tolist() == [0, 0]
    assert_readable(shown.plot())
    assert math.isnan(
        risk_coverage_diagram(cal.Predictions([0], [0.7], input="confidence"), level=None)["model"].low[0]
    )


@pytest.mark.parametrize(
    ("keywords", "error", "text"),
    [
        ({"risk": "both"}, ArgumentError, "risk: must be 'selective' or 'generalised'; got 'both'"),
        (
            {"accuracy": 0.9, "coverage": 0.5},
            ArgumentError,
            "accuracy: cannot be combined with coverage; give one of them",
        ),
        ({"guarantee": 0.9}, ArgumentError, "guarantee: requires a target; pass accuracy or coverage"),
        ({"accuracy": 1.5}, ArgumentError, "accuracy: must lie between 0 and 1"),
        ({"points": 1}, ArgumentError, "points: must be an integer of at least 2; got 1"),
        (
            {"where": Y > 0, "loss": Y},
            ArgumentError,
            "where: cannot be combined with confidence or loss; select the rows of all first",
        ),
        ({"loss": {"other": Y}}, ArgumentError, r"loss: has no entry for model 'model'; its entries are \['other'\]"),
        (
            {"lens": "classwise"},
            LensError,
            "lens: risk_coverage requires one event per row; use 'top_label' or 'class:NAME'",
        ),
    ],
)
def test_what_is_refused(keywords: dict[str, object], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(risk_coverage_diagram, Y, P, **keywords)  # type: ignore[arg-type]


def test_models_that_are_refused() -> None:
    with pytest.raises(
        ArgumentError,
        match=r"y_prob: must contain one or more models with different names; for example \{'before': p, 'after': q\}",
    ):
        risk_coverage_diagram(Y, {})
    with pytest.raises(
        ArgumentError,
        match=r"y_prob: must contain one or more models with different names; for example \{'before': p, 'after': q\}",
    ):
        risk_coverage_diagram(Y, {1: P, "1": P})
    with pytest.raises(InputTypeError, match="must be Predictions; got tuple"):
        risk_coverage_diagram({"a": (Y, P)})
    with pytest.raises(InputTypeError, match="sample_weight: cannot be combined with Predictions"):
        risk_coverage_diagram({"a": cal.Predictions(Y, P)}, sample_weight=Y)
    with pytest.raises(ArgumentError, match="unknown model"):
        risk_coverage_diagram({"a": cal.Predictions(Y, P)})["b"]
    with pytest.raises(InputTypeError, match="ax: must be a matplotlib Axes"):
        risk_coverage_diagram(Y, P).plot("here")  # type: ignore[arg-type]


def test_a_curve_of_one_point_is_seen() -> None:
    ax = risk_coverage_diagram([0, 1, 1] * 3, [0.6] * 9).plot(new_axes()[0])
    marked = {line.get_label(): line.get_marker() for line in ax.lines if len(line.get_xdata()) == 1}
    assert list(marked.values()) == ["o", "o"]
    assert "random acceptance" in marked
