"""The Murphy diagram: elementary scores against counting, the area against the Brier score, the picture against its data."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant as cal
from calibrant.figures.murphy import murphy_diagram

from .pictures import assert_same

SIM = cal.inference.make_miscalibrated(700, warp=cal.inference.simulation.temperature(2.0), rng=8)
Y, P = SIM.y_true, SIM.y_prob


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
