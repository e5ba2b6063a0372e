"""Every lens against a small example worked out by hand, for every kind of predictions."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant import Predictions
from calibrant.views import VectorView, View
from calibrant.views.lenses import parse_lens
from tests.calling import raises

# Row 2 ties for the maximum between classes 0 and 1, and its true class is the higher of the two.
Y = [0, 2, 1, 2, 2]
P = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.1, 0.2, 0.7], [0.5, 0.3, 0.2]])
SHARES = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.1, 0.7, 0.2], [0.0, 0.0, 1.0], [0.4, 0.4, 0.2]])
ONE, SCORE = [0, 1, 1, 0], [0.2, 0.7, 0.5, 0.9]
ONE_SHARES = [0.1, 0.9, 0.5, 0.3]

HARD = Predictions(Y, P)
NAMED = Predictions(["cat", "fox", "dog", "fox", "fox"], P, classes=["cat", "dog", "fox"])
SOFT = Predictions(SHARES, P, soft=True)
VECTOR = Predictions(ONE, SCORE)
TWO = Predictions(ONE, np.column_stack([1 - np.array(SCORE), SCORE]))
SOFT_VECTOR = Predictions(ONE_SHARES, SCORE, soft=True)
SOFT_TWO = Predictions(
    np.column_stack([1 - np.array(ONE_SHARES), ONE_SHARES]), np.column_stack([1 - np.array(SCORE), SCORE]), soft=True
)
MULTILABEL = Predictions([[1, 0, 1], [0, 0, 1]], [[0.9, 0.2, 0.6], [0.3, 0.1, 0.8]], multilabel=True)
SOFT_MULTILABEL = Predictions(
    [[0.9, 0, 0.5], [0, 0.1, 1]], [[0.9, 0.2, 0.6], [0.3, 0.1, 0.8]], multilabel=True, soft=True
)
CONFIDENCE = Predictions([1, 0, 1], [0.9, 0.6, 0.7], input="confidence")
SOFT_CONFIDENCE = Predictions([0.8, 0.2, 1], [0.9, 0.6, 0.7], input="confidence", soft=True)


def views(predictions: Predictions, lens: Any) -> list[Any]:
    return parse_lens(lens, predictions).views(predictions)


# (predictions, lens, scores, outcomes) of lenses that ask one yes-or-no question; plain labels are held by the slow definitions too.
SCALAR = {
    "binary of scores": (VECTOR, "binary", SCORE, ONE),
    "binary of soft scores": (SOFT_VECTOR, "binary", SCORE, ONE_SHARES),
    "binary of soft columns": (SOFT_TWO, "binary", SCORE, ONE_SHARES),
    "top_label of soft scores": (SOFT_VECTOR, "top_label", [0.8, 0.7, 0.5, 0.9], [0.9, 0.9, 0.5, 0.3]),
    "top_label of soft columns": (SOFT_TWO, "top_label", [0.8, 0.7, 0.5, 0.9], [0.9, 0.9, 0.5, 0.3]),
    "top_label of soft": (SOFT, "top_label", [0.6, 0.5, 0.4, 0.7, 0.5], [0.5, 0.3, 0.1, 1.0, 0.4]),
    "top_label of confidence": (CONFIDENCE, "top_label", [0.9, 0.6, 0.7], [1, 0, 1]),
    "top_label of soft confidence": (SOFT_CONFIDENCE, "top_label", [0.9, 0.6, 0.7], [0.8, 0.2, 1]),
    "class 0 of scores": (VECTOR, "class:0", [0.8, 0.3, 0.5, 0.1], [1, 0, 0, 1]),
    "class 0 of soft scores": (SOFT_VECTOR, "class:0", [0.8, 0.3, 0.5, 0.1], [0.9, 0.1, 0.5, 0.7]),
    "class 0 of soft columns": (SOFT_TWO, "class:0", [0.8, 0.3, 0.5, 0.1], [0.9, 0.1, 0.5, 0.7]),
    "class 2": (HARD, cal.class_(2), [0.1, 0.3, 0.2, 0.7, 0.2], [0, 1, 0, 1, 1]),
    "class by name": (NAMED, "class:dog", [0.3, 0.5, 0.4, 0.2, 0.3], [0, 0, 1, 0, 0]),
    "class 1 of soft": (SOFT, "class:1", [0.3, 0.5, 0.4, 0.2, 0.3], [0.5, 0.3, 0.7, 0.0, 0.4]),
    "class 1 of multilabel": (MULTILABEL, "class:1", [0.2, 0.1], [0, 0]),
    "class 0 of soft multilabel": (SOFT_MULTILABEL, "class:0", [0.9, 0.3], [0.9, 0.0]),
    # Rows labelled 0 or 2 only: p2 / (p0 + p2).
    "pair": (HARD, "pair:0,2", [0.1 / 0.7, 0.3 / 0.5, 0.7 / 0.8, 0.2 / 0.7], [0, 1, 1, 1]),
    "pair by name, turned round": (
        NAMED,
        cal.views.pair("fox", "cat"),
        [0.6 / 0.7, 0.2 / 0.5, 0.1 / 0.8, 0.5 / 0.7],
        [1, 0, 0, 0],
    ),
    "pair of scores": (VECTOR, "pair:0,1", SCORE, ONE),
    "pair of two columns, turned round": (TWO, "pair:1,0", [0.8, 0.3, 0.5, 0.1], [1, 0, 0, 1]),
    # The tie of row 2 puts class 1 second.
    "rank 2": (HARD, cal.views.rank(2), [0.3, 0.3, 0.4, 0.2, 0.3], [0, 1, 1, 0, 0]),
    "rank 2 of soft": (SOFT, "rank:2", [0.3, 0.3, 0.4, 0.2, 0.3], [0.5, 0.5, 0.7, 0.0, 0.4]),
    "within the top 1": (HARD, cal.within_top(1), [0.6, 0.5, 0.4, 0.7, 0.5], [1, 0, 0, 1, 0]),
    "within the top 2 of soft": (SOFT, "within_top:2", [0.9, 0.8, 0.8, 0.9, 0.8], [1.0, 0.8, 0.8, 1.0, 0.8]),
    # Sums of the first columns; 0.1 + 0.2 is 0.3.
    "at most 1": (HARD, cal.ordinal(1), [0.9, 0.7, 0.8, 0.3, 0.8], [1, 0, 1, 0, 0]),
    "at most dog": (NAMED, "ordinal:dog", [0.9, 0.7, 0.8, 0.3, 0.8], [1, 0, 1, 0, 0]),
    "at most 1 of soft": (SOFT, "ordinal:1", [0.9, 0.7, 0.8, 0.3, 0.8], [1.0, 0.5, 0.8, 0.0, 0.8]),
    "at most 0 of scores": (VECTOR, "ordinal", [0.8, 0.3, 0.5, 0.1], [1, 0, 0, 1]),
    "at most 0 of soft scores": (SOFT_VECTOR, "ordinal:0", [0.8, 0.3, 0.5, 0.1], [0.9, 0.1, 0.5, 0.7]),
}


@pytest.mark.parametrize("name", SCALAR)
def test_scores_and_outcomes(name: str) -> None:
    predictions, lens, score, outcome = SCALAR[name]
    (view,) = views(predictions, lens)
    assert isinstance(view, View)
    assert view.score == pytest.approx(score, abs=1e-15)
    assert view.outcome == pytest.approx(outcome, abs=1e-15)
    assert view.is_soft == (predictions.soft is not None)


TOP_2 = [[0.6, 0.3, 0.1], [0.5, 0.3, 0.2], [0.4, 0.4, 0.2], [0.7, 0.2, 0.1], [0.5, 0.3, 0.2]]
GROUPED = [[0.7, 0.3], [0.5, 0.5], [0.6, 0.4], [0.8, 0.2], [0.7, 0.3]]
GROUPS = cal.class_groups({"even": [0, 2], "odd": [1]})
SCORE_COLUMNS = [[0.8, 0.2], [0.3, 0.7], [0.5, 0.5], [0.1, 0.9]]

# (predictions, lens, probabilities, target shares) of lenses that keep a vector.
VECTORS = {
    "canonical": (HARD, "canonical", P, np.eye(3)[Y]),
    "canonical of soft": (SOFT, "canonical", P, SHARES),
    "canonical of scores": (VECTOR, "canonical", SCORE_COLUMNS, np.eye(2)[ONE]),
    "canonical of two columns": (TWO, "canonical", SCORE_COLUMNS, np.eye(2)[ONE]),
    "canonical of soft scores": (
        SOFT_VECTOR,
        "canonical",
        SCORE_COLUMNS,
        [[0.9, 0.1], [0.1, 0.9], [0.5, 0.5], [0.7, 0.3]],
    ),
    "top 2 and the rest": (HARD, "top_k:2", TOP_2, np.eye(3)[[0, 1, 1, 0, 2]]),
    "top 1 and the rest": (
        HARD,
        cal.top_k(1),
        [[p, 1 - p] for p in (0.6, 0.5, 0.4, 0.7, 0.5)],
        np.eye(2)[[0, 1, 1, 0, 1]],
    ),
    "top 2 and the rest of soft": (
        SOFT,
        "top_k:2",
        TOP_2,
        [[0.5, 0.5, 0.0], [0.3, 0.5, 0.2], [0.1, 0.7, 0.2], [1, 0, 0], [0.4, 0.4, 0.2]],
    ),
    "top 1 and the rest of scores": (
        VECTOR,
        "top_k:1",
        [[0.8, 0.2], [0.7, 0.3], [0.5, 0.5], [0.9, 0.1]],
        np.eye(2)[[0, 0, 1, 1]],
    ),
    "class groups": (HARD, GROUPS, GROUPED, np.eye(2)[[0, 0, 1, 0, 0]]),
    "class groups of soft": (SOFT, GROUPS, GROUPED, [[0.5, 0.5], [0.7, 0.3], [0.3, 0.7], [1, 0], [0.6, 0.4]]),
    "class groups by name": (
        NAMED,
        cal.class_groups({"x": ["cat", "fox"], "y": "dog"}),
        GROUPED,
        np.eye(2)[[0, 0, 1, 0, 0]],
    ),
    "class groups of scores": (VECTOR, cal.class_groups({"all": [0, 1]}), np.ones((4, 1)), np.ones((4, 1))),
}


@pytest.mark.parametrize("name", VECTORS)
def test_probabilities_and_targets(name: str) -> None:
    predictions, lens, probs, targets = VECTORS[name]
    (view,) = views(predictions, lens)
    assert isinstance(view, VectorView)
    block = view.block(0, view.n)
    assert np.allclose(block.probs, probs, rtol=0, atol=1e-15)
    assert np.allclose(block.targets, targets, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("predictions", "expected"),
    [
        (VECTOR, [([0.8, 0.3, 0.5, 0.1], [1, 0, 0, 1]), (SCORE, ONE)]),
        (TWO, [([0.8, 0.3, 0.5, 0.1], [1, 0, 0, 1]), (SCORE, ONE)]),
        (HARD, [(P[:, k], np.equal(Y, k)) for k in range(3)]),
        (SOFT, [(P[:, k], SHARES[:, k]) for k in range(3)]),
        (MULTILABEL, [([0.9, 0.3], [1, 0]), ([0.2, 0.1], [0, 0]), ([0.6, 0.8], [1, 1])]),
        (SOFT_MULTILABEL, [([0.9, 0.3], [0.9, 0]), ([0.2, 0.1], [0, 0.1]), ([0.6, 0.8], [0.5, 1])]),
    ],
)
def test_classwise_has_a_view_for_each_class(predictions: Predictions, expected: list[Any]) -> None:
    found = views(predictions, "classwise")
    assert len(found) == len(expected)
    for index, (view, (score, outcome)) in enumerate(zip(found, expected, strict=True)):
        assert view.score == pytest.approx(np.array(score), abs=1e-15)
        assert view.outcome == pytest.approx(np.array(outcome, float), abs=1e-15)
        assert view.lens == f"class:{index}"
    assert [view.lens for view in views(NAMED, "classwise")] == ["class:cat", "class:dog", "class:fox"]


@pytest.mark.parametrize(
    ("predictions", "lens"),
    [(VECTOR, "binary"), (TWO, "binary"), (HARD, "top_label"), (CONFIDENCE, "top_label"), (MULTILABEL, "classwise")],
)
def test_auto_is_the_question_users_mean(predictions: Predictions, lens: str) -> None:
    assert parse_lens("auto", predictions).name == lens
    assert cal.ece(predictions) == cal.ece(predictions, lens=lens)


def test_metrics_of_whole_distributions_read_what_there_is() -> None:
    assert cal.brier(CONFIDENCE) == pytest.approx((0.01 + 0.36 + 0.09) / 3)
    # Half the squared distance of the pair (no, yes) for each of the three labels, then their mean.
    assert cal.brier(MULTILABEL) == pytest.approx((0.01 + 0.09 + 0.04 + 0.01 + 0.16 + 0.04) / 6)


def test_a_hierarchy_is_one_lens_for_each_level() -> None:
    levels = cal.class_hierarchy({"animal": {"pet": ["cat", "dog"], "wild": ["fox"]}, "thing": "car"})
    p = Predictions(
        ["cat", "fox", "car"],
        [[0.4, 0.3, 0.2, 0.1], [0.1, 0.1, 0.5, 0.3], [0.2, 0.2, 0.2, 0.4]],
        classes=["cat", "dog", "fox", "car"],
    )
    assert list(levels) == [1, 2]
    coarse, fine = (views(p, levels[level])[0].block(0, 3) for level in (1, 2))
    assert np.allclose(coarse.probs, [[0.9, 0.1], [0.7, 0.3], [0.6, 0.4]])
    assert coarse.labels.tolist() == [0, 0, 1]
    assert np.allclose(fine.probs, [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.4, 0.2, 0.4]])
    assert fine.labels.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "lens", ["top_label", "class:1", "ordinal:1", "rank:2", "within_top:2", "canonical", "top_k:2", GROUPS]
)
def test_weights_go_along(lens: Any) -> None:
    (view,) = views(Predictions(Y, P, counts=[1, 2, 3, 4, 5]), lens)
    assert (view.weight.tolist(), view.weight_kind, view.total) == ([1, 2, 3, 4, 5], "counts", 15)


def test_pair_keeps_the_weights_of_its_rows() -> None:
    (view,) = views(Predictions(Y, P, counts=[1, 2, 3, 4, 5]), "pair:0,2")
    assert view.weight.tolist() == [1, 2, 4, 5]
    assert view.rows.labels.tolist() == [0, 2, 2, 2]


def test_pair_leaves_out_rows_without_probability_for_either() -> None:
    (view,) = views(Predictions([0, 1], [[0.0, 0.0, 1.0], [0.25, 0.75, 0.0]]), "pair:0,1")
    assert (view.score.tolist(), view.outcome.tolist()) == ([0.75], [1])


def test_classes_are_combined_as_asked() -> None:
    # With one bin, the error of a class is the gap of its means: 0.36 - 0.2, 0.34 - 0.2, 0.3 - 0.6.
    gaps = np.array([0.16, 0.14, 0.3])
    for combine, expected in (
        (None, gaps.mean()),
        ("mean", gaps.mean()),
        ("sum", gaps.sum()),
        ("max", gaps.max()),
        ("prevalence", 0.2 * 0.16 + 0.2 * 0.14 + 0.6 * 0.3),
    ):
        assert cal.cwce(HARD, bins=1, lens=cal.classwise(combine=combine)) == pytest.approx(expected)
    weight = np.array([1, 2, 5])
    assert cal.cwce(HARD, bins=1, lens=cal.classwise(class_weight=weight)) == pytest.approx((weight * gaps).sum() / 8)
    assert cal.cwce(HARD, bins=1, lens=cal.classwise(class_weight=weight, combine="sum")) == pytest.approx(
        (weight * gaps).sum()
    )
    assert cal.cwce(HARD, bins=1, norm=2) == pytest.approx(np.sqrt(np.square(gaps).mean()))
    assert cal.cwce(HARD, bins=1, norm=np.inf) == pytest.approx(0.3)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("metric", ["esce", "calibration_in_the_large"])
def test_signed_values_of_classes_that_exclude_each_other_are_refused(metric: str, k: int) -> None:
    """Their sum is 0 whatever the predictions are."""
    rng = np.random.default_rng(k)
    p = rng.dirichlet(np.ones(k), 203)
    y = rng.integers(k, size=203)
    chosen = cal.catalogue[metric]
    for refused in (chosen, partial(cal.assess, metric=metric)):
        with raises(cal.errors.LensError, "lens"):
            refused(y, p, lens="classwise")
    (row,) = cal.evaluate(y, p, metrics=[metric], lens="classwise").results
    assert row.value is None
    assert "cancel over the classes, whose probabilities sum to 1" in row.reason
    assert chosen(y, p, lens=cal.classwise(combine="max")) == max(chosen(y, p, lens=f"class:{c}") for c in range(k))


def test_labels_that_do_not_exclude_each_other_have_signed_values() -> None:
    rng = np.random.default_rng(8)
    y, p = rng.integers(2, size=(50, 3)), rng.random((50, 3))
    assert cal.esce(cal.Predictions(y, p, multilabel=True)) == pytest.approx(float((p - y).mean()))


def test_all_classes_together_have_no_error() -> None:
    assert cal.ece(HARD, lens="within_top:3") == pytest.approx(0, abs=1e-15)
    assert cal.gece(HARD, lens=cal.class_groups({"all": [0, 1, 2]})) == pytest.approx(0, abs=1e-15)


def test_the_top_class_and_the_rest_give_the_expected_calibration_error() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.6] * 4, 500)
    y = rng.integers(0, 4, 500)
    assert cal.gece(y, p, lens="top_k:1", distance="tv") == pytest.approx(cal.ece(y, p), abs=1e-14)
    assert cal.gece(y, p, lens="top_label") == pytest.approx(cal.ece(y, p), abs=1e-14)
    assert cal.gece(y, p, lens="class:2") == pytest.approx(cal.ece(y, p, lens="class:2"), abs=1e-14)


def test_one_score_and_its_complement_are_the_same_vector() -> None:
    (view,) = views(VECTOR, "binary")
    block = view.as_vector().block(0, 4)
    assert np.allclose(block.probs, SCORE_COLUMNS)
    assert block.targets.tolist() == np.eye(2)[ONE].tolist()


def test_a_lens_is_named_by_its_text() -> None:
    made = {
        "class:1": cal.class_(1),
        "ordinal:1": cal.ordinal(1),
        "pair:0,2": cal.views.pair(0, 2),
        "rank:2": cal.views.rank(2),
        "within_top:2": cal.within_top(2),
        "top_k:2": cal.top_k(2),
    }
    for text in ("top_label", "classwise", "ordinal", *made):
        assert repr(parse_lens(text, HARD)) == f"Lens({text!r})"
    for text, lens in {**made, "class_groups:even,odd": GROUPS}.items():
        assert lens.name == views(HARD, lens)[0].lens == text
