"""All classes as one event, and right and wrong predictions as selections."""

import math
import warnings

import numpy as np
import pytest

import calibrant as cal


def several(seed: int, n: int = 150, k: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.7), n)
    return (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, k - 1), p


@pytest.mark.parametrize("k", [2, 4, 100])
def test_all_probabilities_are_one_event(k: int) -> None:
    y, p = several(k, k=k)
    p[:3] = np.eye(k)[:3] if k > 2 else [[0, 1], [1, 0], [0.5, 0.5]]
    hot = np.eye(k, dtype=int)[y].ravel()
    weights = np.linspace(0.5, 2, len(y))
    for metric in (cal.ece, cal.ece_em, cal.brier, cal.smece, cal.hosmer_lemeshow):
        assert metric(y, p, lens="flattened") == pytest.approx(metric(hot, p.ravel()), rel=1e-12)
        assert metric(y, p, lens="flattened", sample_weight=weights) == pytest.approx(
            metric(hot, p.ravel(), sample_weight=np.repeat(weights, k)), rel=1e-9
        )
    curve = cal.calibration_curve(y, p, lens="flattened", level=None)
    assert curve.table.rows.sum() == k * len(y)
    names = np.array([f"c{c}" for c in range(k)])
    assert cal.ece(cal.Predictions(names[y], p, classes=names.tolist()), lens="flattened") == cal.ece(
        y, p, lens="flattened"
    )
    hot = np.eye(k)[y]
    assert cal.ece(cal.Predictions(hot, p, multilabel=True), lens="flattened") == cal.ece(y, p, lens="flattened")


def test_of_one_score_both_classes_count() -> None:
    y, p = [0, 1, 1], [0.25, 0.75, 0.5]
    assert cal.ece(y, p, lens="flattened", bins=4) == cal.ece(
        [1, 0, 0, 1, 0, 1], [0.75, 0.25, 0.25, 0.75, 0.5, 0.5], bins=4
    )


def test_outcomes_of_a_row_are_not_independent() -> None:
    y, p = several(0)
    found = cal.assess(y, p, metric="ecce_r", lens="flattened", n_resamples=99, rng=0)
    assert (found.method, found.n, found.lens) == ("consistency", 150, "flattened")
    assert cal.interval(y, p, metric="brier", lens="flattened", n_resamples=200, rng=0).method == "percentile"


@pytest.mark.deep
def test_size_and_coverage() -> None:
    sets, rejected, covered = 400, 0, 0
    # The expected score of these calibrated forecasts: E p (1 - p) of a Dirichlet distribution.
    truth = 0.7 / 2.8 - 0.7 * 1.7 / (2.8 * 3.8)
    for seed in range(sets):
        y, p = several(1000 + seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rejected += cal.assess(y, p, metric="ece", lens="flattened", n_resamples=99, rng=seed).pvalue <= 0.05
            found = cal.interval(y, p, metric="brier", lens="flattened", n_resamples=200, rng=seed)
            covered += found.low <= truth <= found.high
    assert rejected <= 0.05 * sets + 3.5 * math.sqrt(0.0475 * sets)
    assert covered >= 0.92 * sets


def test_right_and_wrong_predictions() -> None:
    y, p = several(3)
    right = p.argmax(axis=1) == y
    correct = cal.select.correct()
    assert cal.accuracy(y, p, where=correct) == 1
    assert cal.accuracy(y, p, where=~correct) == 0
    assert cal.mean_confidence(y, p, where=correct) == pytest.approx(p.max(axis=1)[right].mean())
    assert cal.ece(y, p, where=~correct) == pytest.approx(p.max(axis=1)[~right].mean())
    assert cal.mean_confidence([1, 0, 1], [0.9, 0.8, 0.3], where=correct) == pytest.approx(0.9)
    assert cal.mean_confidence(
        cal.Predictions([1, 0], [0.6, 0.9], input="confidence"), where=~correct
    ) == pytest.approx(0.9)
