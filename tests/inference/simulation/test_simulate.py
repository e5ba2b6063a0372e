"""Simulated predictions: metrics tend to the known truth, seeds give the same bits, and bad arguments are named."""

import math
import pickle
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference.simulation.simulate import (
    make_calibrated,
    make_miscalibrated,
    true_calibration_error,
    true_value,
)
from calibrant.inference.simulation.warps import (
    bias,
    bump,
    by_group,
    confusion,
    function,
    label_noise,
    prior_shift,
    softmax_map,
    temperature,
)

WARPS = {
    "temperature": temperature(1.5),
    "bias": bias(0.5),
    "bump": bump(),
    "noise": label_noise(0.1),
    "prior": prior_shift(0.5, 0.2),
}


@pytest.mark.parametrize("name", WARPS)
@pytest.mark.parametrize("distribution", [(1, 1), (2, 2), (5, 1)])
def test_metrics_tend_to_the_truth(name: str, distribution: tuple[float, float]) -> None:
    warp = WARPS[name]
    drawn = make_miscalibrated(200_000, warp=warp, distribution=distribution, rng=12)
    assert drawn.calibration_error() == pytest.approx(true_calibration_error(warp, distribution), abs=1e-3)
    assert drawn.calibration_error(2) == pytest.approx(true_calibration_error(warp, distribution, norm=2), abs=1e-3)
    data = drawn.y_true, drawn.y_prob
    assert cal.ece(*data, bins=15) == pytest.approx(true_calibration_error(warp, distribution, bins=15), abs=6e-3)
    assert cal.rmsce(*data, bins=15) == pytest.approx(
        true_calibration_error(warp, distribution, bins=15, norm=2), abs=6e-3
    )
    for metric in ("esce", "brier", "nll", "root_brier", "ecd", "expected_observed_ratio", "global_squared_bias"):
        assert cal.catalogue[metric](*data) == pytest.approx(
            true_value(warp, distribution, metric=metric), abs=0.012
        ), metric
    for metric in ("abc_above", "abc_below"):
        assert cal.catalogue[metric](*data, bins=100) == pytest.approx(
            true_value(warp, distribution, metric=metric), abs=8e-3
        ), metric


@pytest.mark.parametrize("alpha", [(1, 1, 1), (10, 1, 1)])
def test_calibrated_by_design(alpha: tuple[float, ...]) -> None:
    """For calibrated forecasts ece and vce fall to 0 as rows are added; uce does not (Thompson and Desai 2026, figure 1)."""
    sizes = (1_000, 10_000, 100_000)
    found: dict[str, list[float]] = {"ece": [], "vce": [], "uce": []}
    for n in sizes:
        drawn = make_calibrated(n, distribution=alpha, rng=7)
        for metric, values in found.items():
            values.append(cal.catalogue[metric](drawn.y_true, drawn.y_prob, bins=10))
    for metric in ("ece", "vce"):
        first, second, third = found[metric]
        assert first > second > third
        assert third < 0.01
        assert third < first / 3
    assert min(found["uce"]) > 0.1
    assert found["uce"][2] == pytest.approx(found["uce"][1], abs=0.02)


def test_calibrated_predictions_have_the_law_and_labels_asked_for() -> None:
    two = make_calibrated(100_000, distribution=(2, 5), rng=3)
    assert (two.classes, len(two)) == (2, 100_000)
    assert (two.truth == two.y_prob).all()
    assert two.y_prob.mean() == pytest.approx(2 / 7, abs=3e-3)
    assert two.y_prob.var() == pytest.approx(10 / (49 * 8), abs=1e-3)
    assert cal.ece(two.y_true, two.y_prob) < 0.01
    many = make_calibrated(100_000, distribution=(3, 1, 1, 0.5), rng=3)
    assert many.y_prob.shape == (100_000, 4)
    assert many.y_prob.mean(axis=0) == pytest.approx(np.array([3, 1, 1, 0.5]) / 5.5, abs=3e-3)
    assert np.bincount(many.y_true) / 100_000 == pytest.approx(np.array([3, 1, 1, 0.5]) / 5.5, abs=5e-3)
    assert cal.cwce(many.y_true, many.y_prob) < 0.01
    assert make_calibrated(10, classes=5, rng=0).y_prob.shape == (10, 5)
    assert make_calibrated(10, distribution=0.3, classes=3, rng=0).y_prob.shape == (10, 3)
    assert make_calibrated(10, distribution=(1, 1, 1), classes=3, rng=0).y_prob.shape == (10, 3)
    assert make_calibrated(10, distribution=0.3, rng=0).y_prob.ndim == 1


def test_a_class_of_probability_0_is_never_drawn() -> None:
    rows = make_miscalibrated(
        5000, warp=confusion([[0, 1, 0], [0, 0.5, 0.5], [0, 1, 0]]), distribution=(1, 1, 1), rng=2
    )
    assert set(rows.y_true.tolist()) == {1, 2}
    sure = make_miscalibrated(5000, warp=function(lambda s: (s > 0.5).astype(float), bends=(0.5,)), rng=2)
    assert (sure.y_true == (sure.y_prob > 0.5)).all()


def test_two_classes_are_a_special_case_of_many() -> None:
    s = np.linspace(0.01, 0.99, 50)
    q = np.column_stack([1 - temperature(2).curve(s), temperature(2).curve(s)])
    assert softmax_map(2).rows(q)[0][:, 1] == pytest.approx(s)
    shifted = softmax_map(2, (0.25, -0.5))
    q = np.column_stack([1 - shifted.curve(s), shifted.curve(s)])
    assert shifted.rows(q)[0][:, 1] == pytest.approx(s)
    assert confusion([[0.9, 0.1], [0.1, 0.9]]).curve(s) == pytest.approx(label_noise(0.1).curve(s))


def test_groups_have_their_own_warps() -> None:
    """Two groups that are off in opposite directions: the score alone looks calibrated, the groups are not."""
    warp = by_group(
        {"low": function(lambda s: s - 0.5 * s * (1 - s)), "high": function(lambda s: s + 0.5 * s * (1 - s))}
    )
    assert true_calibration_error(warp) == pytest.approx(0, abs=1e-15)
    drawn = make_miscalibrated(100_000, warp=warp, rng=4)
    assert drawn.groups is not None
    assert set(drawn.groups.tolist()) == {"low", "high"}
    assert cal.ece(drawn.predictions) < 0.01
    assert cal.esce(drawn.predictions, where=cal.select.group("low")) == pytest.approx(0.5 / 6, abs=5e-3)
    assert cal.esce(drawn.predictions, where=cal.select.group("high")) == pytest.approx(-0.5 / 6, abs=5e-3)
    assert "groups 2" in repr(drawn)
    assert drawn.calibration_error() == pytest.approx(0.5 / 6, abs=2e-3)
    many = make_miscalibrated(
        100, warp=by_group({1: temperature(2), "b": label_noise(0.1)}), distribution=(1, 1, 1), rng=0
    )
    assert many.groups is not None
    assert set(many.groups.tolist()) == {1, "b"}
    assert (many.y_prob[many.groups == "b"] != many.truth[many.groups == "b"]).any()
    marked = by_group({0: bump(), 1: temperature(1)})
    assert marked.marks() == bump().marks()


def test_same_seed_same_bits_and_the_global_state_is_left_alone() -> None:
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    cases = [
        lambda rng: make_calibrated(100, distribution=(2, 3), rng=rng),
        lambda rng: make_calibrated(100, classes=4, rng=rng),
        lambda rng: make_miscalibrated(100, warp=bump(), rng=rng),
        lambda rng: make_miscalibrated(100, warp=prior_shift(0.5, 0.1, shift_scores=True), rng=rng),
        lambda rng: make_miscalibrated(100, warp=by_group({"a": bias(1), "b": bias(-1)}), rng=rng),
        lambda rng: make_miscalibrated(100, warp=softmax_map(2), distribution=(1, 1, 1), rng=rng),
    ]
    for make in cases:
        assert make(5).to_dict() == make(5).to_dict() == make(np.random.default_rng(5)).to_dict()
        assert make(5).to_dict() != make(6).to_dict()
        assert make(None).to_dict() != make(None).to_dict()
    generator = np.random.default_rng(1)
    assert cases[0](generator).to_dict() != cases[0](generator).to_dict()
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


def test_known_bits() -> None:
    """A seed written down today must give the same rows tomorrow."""
    drawn = make_miscalibrated(4, warp=temperature(2), distribution=(2, 2), rng=2026)
    generator = np.random.default_rng(2026)
    score = generator.beta(2, 2, 4)
    assert drawn.y_prob.tolist() == score.tolist()
    assert drawn.y_true.tolist() == (generator.random(4) < temperature(2).curve(score)).tolist()


def test_warps_are_plain_values() -> None:
    for warp in [*WARPS.values(), confusion([[1, 0], [0.5, 0.5]]), softmax_map(2, [0, 1]), by_group({"a": bias(1)})]:
        assert pickle.loads(pickle.dumps(warp)) == warp
        assert str(type(warp).__name__) in repr(warp)
        with pytest.raises(AttributeError):
            warp.k = 2  # type: ignore[misc]
    assert temperature(1.5).curve([0, 0.5, 1]).tolist() == [0, 0.5, 1]
    assert bias(2).curve([0, 1]).tolist() == [0, 1]


BAD: list[tuple[str, Any]] = [
    ("n: ", lambda: make_calibrated(0)),
    ("classes: ", lambda: make_calibrated(5, classes=1)),
    ("distribution: ", lambda: make_calibrated(5, distribution=(1, 0))),
    ("distribution: ", lambda: make_calibrated(5, distribution="beta")),
    ("distribution: ", lambda: make_calibrated(5, distribution=(1, 1, 2, 1), classes=3)),
    ("rng: ", lambda: make_calibrated(5, rng="seed")),
    ("warp: ", lambda: make_miscalibrated(5, warp=temperature)),
    ("warp: ", lambda: make_miscalibrated(5, warp=bias(1), distribution=(1, 1, 1))),
    ("warp: ", lambda: make_miscalibrated(5, warp=lambda s: s[:2])),
    ("warp: ", lambda: make_miscalibrated(5, warp=lambda s: s + 1)),
    ("k: ", lambda: temperature(0)),
    ("b: ", lambda: softmax_map(1, "ab")),
    ("b: ", lambda: make_miscalibrated(5, warp=softmax_map(1, (0, 1)), distribution=(1, 1, 1))),
    ("d: ", lambda: bias(math.nan)),
    ("h: ", lambda: bump(2)),
    ("c: ", lambda: bump(0.1, -1)),
    ("w: ", lambda: bump(0.1, 0.5, 0)),
    ("e: ", lambda: label_noise(1.5)),
    ("before: ", lambda: prior_shift(0, 0.5)),
    ("after: ", lambda: prior_shift(0.5, 1)),
    ("before: ", lambda: true_value(prior_shift(0.4, 0.2, shift_scores=True))),
    ("matrix: ", lambda: confusion([[0.5, 0.4], [0, 1]])),
    ("matrix: ", lambda: confusion([[1, 0]])),
    ("matrix: ", lambda: make_miscalibrated(5, warp=confusion([[1, 0], [0, 1]]), distribution=(1, 1, 1))),
    ("warps: ", lambda: by_group({})),
    ("warps: ", lambda: by_group({"a": by_group({"b": bias(1)})})),
    ("warps: ", lambda: by_group({"a": prior_shift(0.5, 0.2, shift_scores=True)})),
    ("distribution: ", lambda: true_calibration_error(bump(), (1, 1, 1))),
    ("norm: ", lambda: true_calibration_error(bump(), norm=0.5)),
    ("bins: ", lambda: true_calibration_error(bump(), bins=[0, 0.5])),
    ("metric: ", lambda: true_value(bump(), metric="vce")),
]


@pytest.mark.parametrize(("message", "call"), BAD, ids=[message for message, _ in BAD])
def test_bad_arguments_are_named(message: str, call: Any) -> None:
    with pytest.raises(cal.errors.ArgumentError, match=message):
        call()
