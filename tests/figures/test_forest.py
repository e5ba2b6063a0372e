"""Forest plots: what is drawn is what was estimated, and 4, 30 and 100 centres are readable."""

from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import calibrant as cal

pytest.importorskip("matplotlib")

from .pictures import assert_readable, assert_same, drawn


@lru_cache
def centres(count: int, empty: int = 0) -> Any:
    """Simulated centres of different sizes, the first of them without events."""
    rng = np.random.default_rng(count)
    of = np.repeat(np.arange(count), rng.integers(40, 160, count))
    shift = rng.normal(0, 0.3, count)[of]
    p = rng.beta(1.5, 4, len(of))
    y = (rng.random(len(of)) < 1 / (1 + (1 - p) / p * np.exp(-shift))).astype(int)
    y[of < empty] = 0
    names = np.array([f"Centre {i + 1}" for i in range(count)])
    return cal.clinical.validate_by_group(
        cal.Predictions(y, p, groups=names[of]), metrics=["intercept", "slope", "oe"], method="reml"
    )


@pytest.mark.parametrize(("count", "empty", "metric"), [(4, 0, "oe"), (30, 3, "slope"), (100, 8, "oe")])
def test_pictures_of_few_and_many_centres_are_readable(count: int, empty: int, metric: str, deep: bool) -> None:
    result = centres(count, empty)
    ax = cal.figures.forest_diagram(result, metric=metric).plot()
    if count < 100 or deep:  # slow for hundreds of texts
        assert_readable(ax)
    used = result[metric].k
    assert len(drawn(ax, "estimate")) == len(drawn(ax, "interval")) == used
    assert len(drawn(ax, "left out")) == count - used
    (beside,) = ax.child_axes
    assert sum(bool(text.get_text()) for text in beside.get_yticklabels()) == used + 2


def test_what_is_drawn_is_what_was_estimated() -> None:
    result = centres(6)
    diagram = cal.figures.forest_diagram(result, metric="oe")
    ax = diagram.plot()
    found = [each.estimates["oe"] for each in result.groups]
    assert_same([one.get_xdata()[0] for one in drawn(ax, "estimate")], [each.value for each in found])
    ends = np.array([one.get_xdata() for one in drawn(ax, "interval")])
    left, right = ax.get_xlim()
    assert_same(ends[:, 0], [max(each.low, left) for each in found])
    assert_same(ends[:, 1], [min(each.high, right) for each in found])
    (diamond,) = drawn(ax, "diamond")
    pooled = result["oe"]
    assert_same(sorted(diamond.get_xy()[:4, 0]), sorted([pooled.low, pooled.estimate, pooled.estimate, pooled.high]))
    (bar,) = drawn(ax, "prediction")
    assert_same(bar.get_xdata(), np.clip([pooled.prediction_low, pooled.prediction_high], left, right))
    sizes = [one.get_markersize() for one in drawn(ax, "estimate")]
    assert np.argsort(sizes).tolist() == np.argsort([each.weight for each in found]).tolist()
    assert ax.get_xscale() == "log"
    (ideal,) = drawn(ax, "ideal")
    assert ideal.get_xdata()[0] == 1
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[-2:] == ["pooled", "prediction"]
    assert labels[0] == f"Centre 1 ({result.groups[0].events}/{result.groups[0].rows})"


def test_one_very_wide_interval_does_not_hide_the_others() -> None:
    pooled = cal.inference.pool_estimates([0.9, 1.0, 1.1, 1.0], [0.1, 0.1, 0.1, 30.0])
    ax = cal.figures.forest_diagram(pooled).plot()
    assert len(drawn(ax, "cut")) == 2
    left, right = ax.get_xlim()
    assert right - left < 2
    assert_readable(ax)


def test_fixed_effect_has_no_prediction_interval_and_no_ideal_is_drawn_without_one() -> None:
    ax = cal.figures.forest_diagram(
        cal.inference.pool_estimates({"a": 0.9, "b": 1.0}, [0.1, 0.2], method="fixed")
    ).plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "pooled"]
    assert not drawn(ax, "prediction")
    assert not drawn(ax, "ideal")


def test_forms_and_errors() -> None:
    result = centres(5, 1)
    diagram = cal.figures.forest_diagram(result)
    assert diagram.heading == "calibration intercept"
    plain = diagram.to_dict()
    assert plain["estimate"][0] is None
    assert plain["reasons"][0] == "no events"
    assert plain["pooled"]["k"] == 4
    assert len(diagram.to_frame()) == 5
    assert "pooled" in repr(diagram)
