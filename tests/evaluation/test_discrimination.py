"""AUROC and average precision against scikit-learn: ties, weights, text labels, several classes, and where they are undefined."""

import numpy as np
import pytest

import calibrant as cal
from calibrant.evaluation import auroc, average_precision

metrics = pytest.importorskip("sklearn.metrics")


@pytest.fixture(params=["distinct", "ties", "constant"])
def scores(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    score = rng.random(400)
    score = {"distinct": score, "ties": np.round(score, 1), "constant": np.full(400, 0.3)}[request.param]
    return (rng.random(400) < score).astype(int), score, rng.exponential(1, 400)


def test_two_classes_agree_with_scikit_learn(scores: tuple[np.ndarray, ...]) -> None:
    y, p, weight = scores
    assert auroc(y, p) == pytest.approx(metrics.roc_auc_score(y, p), abs=1e-12)
    assert average_precision(y, p) == pytest.approx(metrics.average_precision_score(y, p), abs=1e-12)
    expected = metrics.roc_auc_score(y, p, sample_weight=weight)
    assert auroc(y, p, sample_weight=weight) == pytest.approx(expected, abs=1e-12)
    expected = metrics.average_precision_score(y, p, sample_weight=weight)
    assert average_precision(y, p, sample_weight=weight) == pytest.approx(expected, abs=1e-12)


def test_text_labels_and_the_positive_class(scores: tuple[np.ndarray, ...]) -> None:
    y, p, _ = scores
    named = np.where(y == 1, "churn", "stay")
    assert auroc(named, p, pos_label="churn") == auroc(y, p)
    assert cal.evaluation.average_precision(named, p, pos_label="churn") == average_precision(y, p)
    other = metrics.roc_auc_score(1 - y, 1 - p)
    assert auroc(named, 1 - p, pos_label="stay") == pytest.approx(other, abs=1e-12)


def test_several_classes_are_the_mean_of_one_against_the_rest() -> None:
    rng = np.random.default_rng(2)
    p = np.round(rng.dirichlet(np.ones(4), 500), 2)
    p /= p.sum(axis=1, keepdims=True)
    y = (rng.random(500)[:, None] > p.cumsum(axis=1)).sum(axis=1).clip(0, 3)
    weight = rng.exponential(1, 500)
    expected = metrics.roc_auc_score(y, p, multi_class="ovr", average="macro", sample_weight=weight)
    assert auroc(y, p, sample_weight=weight) == pytest.approx(expected, abs=1e-12)
    each = [metrics.average_precision_score(y == k, p[:, k]) for k in range(4)]
    assert average_precision(y, p) == pytest.approx(np.mean(each), abs=1e-12)


def test_a_class_that_does_not_occur_is_left_out_of_the_mean() -> None:
    y, p = [0, 1, 0, 1], [[0.6, 0.3, 0.1], [0.3, 0.6, 0.1], [0.5, 0.3, 0.2], [0.4, 0.4, 0.2]]
    assert auroc(y, p) == 1.0


def test_soft_labels_are_weights() -> None:
    assert auroc(cal.Predictions([0.25, 1.0], [0.2, 0.8], soft=True)) == pytest.approx(
        auroc([0, 1, 1], [0.2, 0.2, 0.8], sample_weight=[0.75, 0.25, 1])
    )
