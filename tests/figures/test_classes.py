"""Pictures of many classes (top k, groups of classes): data against counting, pictures against data; and what all pictures keep to."""

import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.figures.classgroups import group_error_diagram
from calibrant.figures.groupconfidence import group_confidence_diagram
from calibrant.figures.topk import topk_diagram

from .pictures import assert_readable, assert_same, heights

SIM = cal.inference.make_miscalibrated(
    800, warp=cal.inference.simulation.temperature(1.7), distribution=[0.3] * 6, rng=2
)
Y, P = SIM.y_true, SIM.y_prob
TEMPERED = P**0.6 / (P**0.6).sum(axis=1, keepdims=True)
MODELS = {"plain": P, "tempered": TEMPERED}
TREE = {"animal": {"pet": [0, 1], "wild": [2]}, "thing": {"car": [3, 4], "ship": [5]}}
RANKED = np.argsort(-P, axis=1, kind="stable")
WEIGHT = np.random.default_rng(0).random(800) + 0.1


# Top k


def test_top_k_is_what_counting_gives() -> None:
    shown = topk_diagram(Y, P, k=6, sample_weight=WEIGHT)["model"]
    for k in range(1, 7):
        held = np.array([Y[i] in RANKED[i, :k] for i in range(len(Y))])
        sums = np.array([sum(sorted(P[i], reverse=True)[:k]) for i in range(len(Y))])
        assert shown.accuracy[k - 1] == pytest.approx(np.average(held, weights=WEIGHT), abs=1e-12)
        assert shown.confidence[k - 1] == pytest.approx(np.average(sums, weights=WEIGHT), abs=1e-12)
    assert_same(np.cumsum(shown.rank_confidence), shown.confidence)
    assert_same(np.cumsum(shown.rank_rate), shown.accuracy)
    assert shown.accuracy[-1] == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("lens", "metric"), [("top_k", "gece"), ("within_top", "ece"), ("rank", "ece"), ("rank", "smece")]
)
def test_top_k_errors_are_those_of_the_lens(lens: Any, metric: str) -> None:
    shown = topk_diagram(Y, P, k=[1, 2, 4], lens=lens, metric=metric)["model"]
    for place, k in enumerate((1, 2, 4)):
        assert shown.error[place] == pytest.approx(cal.catalogue[metric](Y, P, lens=f"{lens}:{k}"), abs=1e-12)


def test_top_1_is_the_expected_calibration_error_and_options_are_passed() -> None:
    assert topk_diagram(Y, P, k=1)["model"].error[0] == pytest.approx(cal.ece(Y, P), abs=1e-12)
    found = topk_diagram(Y, P, k=[3], gamma=0.5)["model"].error[0]
    assert found == pytest.approx(cal.gece(Y, P, lens="top_k:3", gamma=0.5), abs=1e-12)


def test_top_k_of_soft_labels() -> None:
    soft = np.random.default_rng(1).dirichlet(np.ones(6), 800)
    shown = topk_diagram(cal.Predictions(soft, P, soft=True), k=3)["model"]
    share = np.take_along_axis(soft, RANKED, 1)
    assert_same(shown.rank_rate, share.mean(axis=0)[:3])
    assert shown.error[2] == pytest.approx(cal.gece(cal.Predictions(soft, P, soft=True), lens="top_k:3"), abs=1e-12)


def test_top_k_against_a_baseline() -> None:
    shown = topk_diagram(Y, MODELS, k=5, baseline="plain")
    assert_same(shown.relative("plain"), np.zeros(5))
    largest = np.sort(TEMPERED, axis=1)[:, ::-1][:, :5].mean(axis=0)
    assert_same(shown.relative("tempered"), largest - np.sort(P, axis=1)[:, ::-1][:, :5].mean(axis=0))
    alone = topk_diagram(Y, P, k=5)
    assert alone.baseline is None
    assert_same(alone.relative("model"), alone["model"].rank_confidence - alone["model"].rank_rate)
    assert topk_diagram(Y, MODELS).baseline == "plain"
    assert len(shown.to_frame()) == 10
    assert "tempered" in repr(shown)
    assert "<table>" in shown._repr_html_()


def test_top_k_of_many_classes_has_octaves() -> None:
    sim = cal.inference.make_calibrated(500, distribution=0.05, classes=60, rng=0)
    axes = topk_diagram(sim.y_true, sim.y_prob, k=[1, 2, 5, 10, 20, 50]).plot()
    assert axes[0].get_xscale() == "log"
    assert_readable(axes)


# Groups of classes


def grouped(p: np.ndarray, members: list[list[int]]) -> np.ndarray:
    return np.column_stack([p[:, list(group)].sum(axis=1) for group in members])


KINDS = [[0, 1], [2], [3, 4], [5]]


def test_group_errors_are_those_of_the_lenses() -> None:
    shown = group_error_diagram(Y, MODELS, hierarchy=TREE, depth=2)
    lenses = cal.class_hierarchy(TREE)
    for name, p in MODELS.items():
        wanted = [cal.gece(Y, p, lens=lenses[1]), cal.gece(Y, p, lens=lenses[2]), cal.gece(Y, p)]
        assert_same(shown.level_errors[name], wanted)
        owner = np.array([0, 0, 1, 2, 2, 3])[Y]
        for g in range(4):
            one = cal.ece((owner == g).astype(int), np.minimum(grouped(p, KINDS)[:, g], 1))
            assert shown.group_errors[name][g] == pytest.approx(one, abs=1e-12)
            assert shown.weight[name][g] == (owner == g).sum()
    assert shown.levels == ("level 1", "level 2", "classes")
    assert shown.sizes == (2, 4, 6)
    assert shown.groups == ("pet", "wild", "car", "ship")
    assert shown.weight["plain"].sum() == len(Y)


def test_group_errors_of_a_score_metric_are_means_over_groups() -> None:
    shown = group_error_diagram(Y, P, hierarchy=TREE, metric="ece", bins=5, sample_weight=WEIGHT)
    assert shown.level_errors["model"][-1] == pytest.approx(
        cal.ece(Y, P, lens="classwise", bins=5, sample_weight=WEIGHT)
    )
    animal = (Y < 3).astype(int)
    one = cal.ece(animal, np.minimum(P[:, :3].sum(axis=1), 1), bins=5, sample_weight=WEIGHT)
    assert shown.group_errors["model"][0] == pytest.approx(one, abs=1e-12)


def test_group_errors_of_rows_with_the_label() -> None:
    shown = group_error_diagram(Y, P, hierarchy=TREE, rows="label")
    lens = cal.class_hierarchy(TREE)[1]
    wanted = [cal.gece(Y, P, lens=lens, where=cal.select.label(*group)) for group in ([0, 1, 2], [3, 4, 5])]
    assert_same(shown.group_errors["model"], wanted)
    one = group_error_diagram(Y, P, hierarchy=TREE, rows="label", metric="ece", bins=1)
    assert one.group_errors["model"][0] == pytest.approx(1 - P[Y < 3, :3].sum(axis=1).mean(), abs=1e-12)


def test_a_group_without_rows_has_no_error() -> None:
    kept = Y != 2
    shown = group_error_diagram(Y[kept], P[kept], hierarchy=TREE, depth=2)
    assert math.isnan(shown.group_errors["model"][1])
    assert shown.weight["model"][1] == 0
    assert shown._columns()["error"][4] is None
    assert_readable(shown.plot())


def test_group_confidence_is_what_counting_gives() -> None:
    shown = group_confidence_diagram(Y, P, hierarchy=TREE, depth=2, sample_weight=WEIGHT)
    sums = grouped(P, KINDS)
    owner = np.array([0, 0, 1, 2, 2, 3])[Y]
    for g in range(4):
        assert_same(shown.confidence[g], np.average(sums[owner == g], axis=0, weights=WEIGHT[owner == g]))
    assert_same(shown.confidence.sum(axis=1), np.ones(4))
    assert shown.weight.sum() == pytest.approx(800)
    one = group_confidence_diagram(Y, MODELS, hierarchy=TREE, depth=2, given="pet")
    assert one.rows == ("plain", "tempered")
    assert_same(one.confidence[1], grouped(TEMPERED, KINDS)[Y < 2].mean(axis=0))
    assert len(shown.to_frame()) == 16
    assert "true group" in repr(shown)
    assert "'pet'" in one._repr_html_() or "pet" in one._repr_html_()


def test_bars_of_one_true_group_and_of_the_worst_of_many_groups() -> None:
    bars = group_confidence_diagram(Y, MODELS, hierarchy=TREE, depth=2, given="car")
    assert_same(heights(bars.plot().containers[1], across=True), bars.confidence[1])
    many = cal.inference.make_calibrated(400, classes=14, rng=0)
    every = group_error_diagram(many.y_true, many.y_prob, hierarchy={f"g{i}": [i] for i in range(14)})
    drawn = every.plot()[1]
    kept = sorted(np.argsort(-every.group_errors["model"])[:12])
    assert [label.get_text() for label in drawn.get_yticklabels()] == [every.groups[i] for i in kept]
    assert "(12 of 14 groups, the largest errors)" in drawn.get_xlabel()
