"""skill_score: written values, every form of the reference, and what has no skill to speak of."""

import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from tests.calling import call, raises

from .test_decomposition import M3, T1, T2, WEIGHTS, problem, weights_of


@pytest.mark.parametrize(
    ("data", "options", "value"),
    [
        (T1, {}, 0.44),
        (T2, {}, 0.3645833333),
        (T1, {"score": "nll"}, 1 - 0.3375388286 / 0.5623351446),
        (T1, {"reference": 0.5}, 1 - 0.105 / 0.25),
        (T1, {"reference": [0.5, 0.5]}, 1 - 0.105 / 0.25),
        (T1, {"reference": T1[1]}, 0),
        (T1, {"reference": [0, 1, 1, 0.5]}, 1 - 0.105 / 0.0625),
        (M3, {}, 1 - 0.3042 / 0.625),
        (M3, {"reference": [1 / 3, 1 / 3, 1 / 3]}, 1 - 0.3042 * 1.5),
        (M3, {"reference": M3[1]}, 0),
        (([0, 2, 0, 2], [[0, 0, 1], [1, 0, 0], [0, 0, 1], [1, 0, 0]]), {}, -3),
    ],
)
def test_skill(data: Any, options: dict[str, Any], value: float) -> None:
    assert call(cal.metrics.skill_score, *data, **options) == pytest.approx(value, abs=2e-10)


def test_skill_of_a_score_whose_best_value_is_not_0() -> None:
    value, constant = cal.spherical(*T1), cal.spherical(T1[0], [0.75] * 4)
    assert cal.metrics.skill_score(*T1, score="spherical") == pytest.approx((value - constant) / (-1 - constant))
    assert cal.metrics.skill_score([0, 1], [0, 1], score="spherical") == 1
    assert cal.metrics.skill_score([0, 1], [0, 1]) == 1


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("options", [{}, {"lens": "class:1"}, {"lens": "top_label"}, {"scale": "per_class"}], ids=str)
def test_skill_compares_the_same_rows(kind: str | None, options: dict[str, Any]) -> None:
    """Weights and a lens hold for the reference too."""
    labels, rows = problem(13, 3)
    weights = weights_of(kind, 60)
    share = np.bincount(labels, next(iter(weights.values()), None), 3)
    reference = np.tile(share / share.sum(), (60, 1))
    ours = call(cal.brier, labels, rows, **weights, **options)
    expected = 1 - ours / call(cal.brier, labels, reference, **weights, **options)
    for given in (None, reference, share / share.sum()):
        found = call(cal.metrics.skill_score, labels, rows, reference=given, **weights, **options)
        assert found == pytest.approx(expected, abs=1e-12)


def test_skill_of_every_kind_of_predictions() -> None:
    rng = np.random.default_rng(3)
    labels, scores = problem(19)
    rate = labels.mean()
    expected = 1 - cal.brier(labels, scores) / (rate * (1 - rate))
    two = np.column_stack([1 - scores, scores])
    logits = np.log(scores / (1 - scores))
    forms: list[tuple[Any, Any, dict[str, Any]]] = [
        (labels, two, {}),
        (labels, two, {"reference": rate}),
        (labels, scores, {"input": "confidence", "lens": "top_label"}),
        (labels, scores, {"input": "confidence", "lens": "top_label", "reference": rate}),
        (labels, logits, {"input": "logit"}),
        (labels, logits, {"input": "logit", "reference": np.full(60, np.log(rate / (1 - rate)))}),
        (np.where(labels, "yes", "no"), scores, {"classes": ["no", "yes"], "lens": "class:yes"}),
        (np.eye(2)[labels], two, {"soft": True}),
        (labels.astype(float), scores, {"soft": True}),
        (labels[:, None], scores[:, None], {"multilabel": True}),
        (cal.Predictions(labels, scores), None, {}),
        (cal.views.View(scores, labels.astype(np.uint8)), None, {}),
        (cal.Predictions(labels, two).take(slice(None)), None, {"reference": [1 - rate, rate]}),
    ]
    for first, second, options in forms:
        assert call(cal.metrics.skill_score, first, second, **options) == pytest.approx(expected, abs=1e-12), options
    many = rng.dirichlet(np.ones(3), 60)
    soft = rng.dirichlet(np.ones(3), 60)
    constant = np.tile(soft.mean(axis=0), (60, 1))
    found = cal.metrics.skill_score(cal.Predictions(soft, many, soft=True))
    assert found == pytest.approx(
        1 - cal.brier(cal.Predictions(soft, many, soft=True)) / cal.brier(cal.Predictions(soft, constant, soft=True))
    )
    vector = cal.views.VectorView(many, labels, None)
    assert cal.metrics.skill_score(vector) == pytest.approx(cal.metrics.skill_score(labels, many))


def test_infinite_and_perfect_references() -> None:
    assert cal.metrics.skill_score([0, 1, 1], [0.1, 0.0, 0.9], score="nll") == -math.inf
    for labels, scores in (T1, problem(29)):  # a constant at the base rate has no calibration error
        with raises(cal.errors.UndefinedMetricError, "ece"):
            cal.metrics.skill_score(labels, scores, score="ece")
    assert cal.metrics.skill_score(*T1, score="ece", bins=2, reference=0.5) == pytest.approx(1 - 0.2 / 0.25)
