"""The Murphy diagram: elementary scores against counting, the area against the Brier score, the picture against its data."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant as cal
from calibrant.figures.murphy import murphy_diagram

from .pictures import assert_readable, assert_same, new_axes

SIM = cal.inference.make_miscalibrated(700, warp=cal.inference.simulation.temperature(2.0), rng=8)
Y, P = SIM.y_true, SIM.y_prob
Q = 1 / (1 + (1 / P - 1) ** 0.5)


def elementary(theta: Any, p: Any, y: Any) -> Any:
    """Ehm et al. 2016: theta for a false alarm, 1 - theta for a miss, in the numbers it is given."""
    if y == 0:
        return theta if p > theta else 0 * theta
    return 1 - theta if p <= theta else 0 * theta


def test_the_score_is_what_counting_gives() -> None:
    shown = murphy_diagram(Y, P, points=40)
    assert not shown.exact
    assert len(shown.theta) == 41
    for theta, score in zip(shown.theta, shown["model"].score, strict=True):
        assert score == pytest.approx(np.mean([elementary(theta, p, y) for p, y in zip(P, Y, strict=True)]), abs=1e-12)


def test_the_area_is_half_the_brier_score_in_fractions() -> None:
    tenths, labels = [0, 1, 1, 4, 7, 10, 10], [0, 0, 1, 1, 0, 1, 0]
    forecasts = [Fraction(k, 10) for k in tenths]
    knots = sorted({Fraction(0), Fraction(1), *forecasts})
    area = Fraction(0)
    for low, high in pairwise(knots):
        # Inside a piece the mean score is a line, so its value in the middle times the width is the integral.
        middle = (low + high) / 2
        area += (high - low) * sum(elementary(middle, p, y) for p, y in zip(forecasts, labels, strict=True)) / 7
    brier = sum((p - y) ** 2 for p, y in zip(forecasts, labels, strict=True)) / 7
    assert 2 * area == brier
    curve = murphy_diagram(labels, [k / 10 for k in tenths])["model"]
    assert curve.area == pytest.approx(float(area), abs=1e-15)
    assert curve.brier == pytest.approx(float(brier), abs=1e-15)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 1), st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]) | st.floats(0, 1), st.integers(1, 4)
        ),
        min_size=1,
        max_size=25,
    )
)
def test_the_area_is_half_the_brier_score(rows: list[tuple[int, float, int]]) -> None:
    y, p, w = (np.array(column) for column in zip(*rows, strict=True))
    shown = murphy_diagram(cal.Predictions(y, p, counts=w))
    assert shown.exact
    assert shown["model"].brier == pytest.approx(cal.brier(cal.Predictions(y, p, counts=w)), abs=1e-12)
    # What is drawn has the same area: straight lines between the thresholds shown.
    assert 2 * np.trapezoid(shown["model"].score, shown.theta) == pytest.approx(shown["model"].brier, abs=1e-12)
    assert_same(shown["model"].score[[0, -1]], [0, 0] if p.min() > 0 else [w[(y == 1) & (p == 0)].sum() / w.sum(), 0])


def test_both_sides_of_a_jump_are_shown() -> None:
    shown = murphy_diagram([0, 1], [0.5, 0.5])
    assert shown.theta.tolist() == [0, 0.5, 0.5, 1, 1]
    assert shown["model"].score.tolist() == [0, 0.25, 0.25, 0, 0]
    skewed = murphy_diagram([1, 1], [0.25, 0.5])
    assert skewed.theta.tolist() == [0, 0.25, 0.25, 0.5, 0.5, 1, 1]
    assert skewed["model"].score.tolist() == [0, 0, 0.375, 0.25, 0.5, 0, 0]


@pytest.mark.parametrize("lens", ["top_label", "class:2", "within_top:2"])
def test_lenses_weights_and_views(lens: str) -> None:
    sim = cal.inference.make_miscalibrated(
        300, warp=cal.inference.simulation.temperature(0.5), distribution=[0.5] * 3, rng=1
    )
    weight = np.random.default_rng(2).random(300)
    shown = murphy_diagram(sim.y_true, sim.y_prob, lens=lens, sample_weight=weight)
    assert shown.lens == lens
    score = cal.brier(sim.y_true, sim.y_prob, lens=lens, sample_weight=weight)
    assert shown["model"].brier == pytest.approx(score, abs=1e-12)
    sketch = cal.Sketch.of(sim.y_true, sim.y_prob, lens=lens)
    exact = cal.brier(sim.y_true, sim.y_prob, lens=lens)
    assert murphy_diagram(sketch)["model"].brier == pytest.approx(exact, abs=1e-4)


def test_rows_without_weight_do_not_count() -> None:
    weight = np.where(np.arange(len(Y)) % 3 == 0, 0, 2)
    one = murphy_diagram(cal.Predictions(Y, P, counts=weight), points=50)["model"]
    other = murphy_diagram(Y[weight > 0], P[weight > 0], points=50)["model"]
    assert_same(one.score, other.score)


def test_a_better_model_dominates() -> None:
    y = np.array([0, 0, 1, 1])
    shown = murphy_diagram(y, {"sure": [0.0, 0.0, 1.0, 1.0], "vague": [0.3, 0.4, 0.6, 0.7]})
    assert shown.dominates("sure", "vague")
    assert not shown.dominates("vague", "sure")
    assert not shown.dominates("vague", "vague")


def test_the_difference_and_its_band() -> None:
    models = {"before": P, "after": Q}
    draws: dict[str, Any] = {"n_resamples": 80, "rng": 4}
    shown = murphy_diagram(Y, models, points=30)
    found = shown.difference("before", "after", **draws)
    assert_same(found.difference, shown["before"].score - shown["after"].score)
    assert ((found.low <= found.difference + 0.01) & (found.difference <= found.high + 0.01)).all()
    assert_same(shown.difference("before", "after", **draws).high, found.high)
    # The width is that of a mean of row differences.
    middle = 15
    rows = np.array([elementary(0.5, p, y) - elementary(0.5, q, y) for p, q, y in zip(P, Q, Y, strict=True)])
    wide = found.high[middle] - found.low[middle]
    assert wide == pytest.approx(2 * 1.96 * rows.std() / np.sqrt(len(Y)), rel=0.35, abs=1e-6)
    counted = murphy_diagram(
        {name: cal.Predictions(Y, each, counts=np.full(len(Y), 3)) for name, each in models.items()},
        points=30,
    ).difference("before", "after", **draws)
    assert (counted.high - counted.low)[10] < (found.high - found.low)[10]
    weight, high = np.where(P > 0.5, 1.0, 1e-6), P > 0.5
    weighted = murphy_diagram(Y, models, points=10, sample_weight=weight).difference("before", "after", **draws)
    half = murphy_diagram(Y[high], {"before": P[high], "after": Q[high]}, points=10).difference("before", "after")
    np.testing.assert_allclose(weighted.difference, half.difference, atol=1e-5)
    np.testing.assert_allclose(weighted.high - weighted.low, half.high - half.low, rtol=0.6, atol=2e-3)


def test_the_pictures_show_the_data() -> None:
    first, second = new_axes(2)
    shown = murphy_diagram(Y, {"before": P, "after": Q})
    difference = shown.difference("before", "after", n_resamples=40)
    assert shown.plot(first) is first
    for curve, line in zip(shown.curves, first.lines, strict=True):
        assert_same(line.get_xdata(), shown.theta)
        assert_same(line.get_ydata(), curve.score)
    assert difference.plot(second) is second
    assert_same(second.lines[-1].get_ydata(), difference.difference)
    edge = second.collections[0].get_paths()[0].vertices[:, 1]
    assert edge.min() == pytest.approx(difference.low.min())
    assert edge.max() == pytest.approx(difference.high.max())
    assert_readable([first, second])
    assert len(shown.to_frame()) == 2 * len(shown.theta)
    assert "before" in repr(shown)
    assert "<table>" in shown._repr_html_()


def test_real_forecasts(data_folder: Path) -> None:
    rain = np.load(data_folder / "sets" / "precip_niamey_dgj.npz", allow_pickle=False)
    models = {name[2:]: rain[name] for name in rain if name.startswith("p_")}
    shown = murphy_diagram(rain["label"], models)
    assert shown.exact
    for name, p in models.items():
        assert shown[name].brier == pytest.approx(cal.brier(rain["label"], p), abs=1e-14)
    assert_readable(shown.plot())


def test_the_score_of_one_question_is_not_called_the_score_of_whole_rows() -> None:
    drawn = cal.inference.make_calibrated(200, classes=3, rng=0)
    shown = murphy_diagram(drawn.y_true, drawn.y_prob)
    assert shown["model"].brier != pytest.approx(cal.brier(drawn.y_true, drawn.y_prob))
    assert "brier of top_label" in repr(shown)
    assert shown.plot().get_legend().get_texts()[0].get_text().startswith("brier of top_label 0.")
    two = murphy_diagram([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    assert two["model"].brier == pytest.approx(cal.brier([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9]))
    assert "brier of" not in repr(two)
    assert two.plot().get_legend().get_texts()[0].get_text() == "brier 0.105"
