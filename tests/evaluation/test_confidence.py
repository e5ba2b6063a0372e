"""confidence_summary against NumPy and a slow definition: weights, ties, two and many classes, and where it appears in `evaluate`."""

import math

import numpy as np
import pytest

import calibrant as cal
from calibrant.sketches.collection import Sketches

SHARES = (0.5, 0.9, 0.99)


def slow_quantile(scores: np.ndarray, weights: np.ndarray, share: float) -> float:
    """Type 7 with weights that sum to the effective number of rows, in plain loops."""
    pairs = sorted(zip(scores.tolist(), weights.tolist(), strict=True))
    total, squares = sum(w for _, w in pairs), sum(w * w for _, w in pairs)
    size = total * total / squares
    place = share * (round(size) - 1)

    def ranked(r: int) -> float:
        so_far = 0.0
        for score, weight in pairs:
            so_far += weight * size / total
            if so_far >= r - 1e-6:
                return score
        return pairs[-1][0]

    low = math.floor(place)
    return ranked(low + 1) + (place - low) * (ranked(low + 2) - ranked(low + 1))


@pytest.mark.parametrize("n", [1, 2, 37, 101])
@pytest.mark.parametrize("digits", [1, 16])
def test_two_classes_agree_with_numpy(n: int, digits: int) -> None:
    p = np.round(np.random.default_rng(n).random(n), digits)
    found = cal.evaluation.confidence_summary(p)
    for scores, part in ((p, found.positive), (np.maximum(p, 1 - p), found.top_label)):
        assert part is not None
        assert part.mean == pytest.approx(scores.mean(), abs=1e-15)
        assert part[1:] == pytest.approx(np.quantile(scores, SHARES), abs=1e-15)
    both = cal.evaluation.confidence_summary(np.column_stack([1 - p, p]))
    assert both.positive is not None
    assert found.positive is not None
    assert both.positive[1:] == pytest.approx(found.positive[1:], abs=1e-15)


@pytest.mark.parametrize("k", [3, 4, 100])
def test_many_classes_have_a_confidence_and_no_positive_class(k: int) -> None:
    p = np.random.default_rng(k).dirichlet(np.full(k, 0.3), 203)
    found = cal.evaluation.confidence_summary(p)
    assert found.positive is None
    assert found.top_label[1:] == pytest.approx(np.quantile(p.max(axis=1), SHARES), abs=1e-15)
    assert cal.evaluation.confidence_summary(np.log(p + 1e-9), input="logit").top_label.mean == pytest.approx(
        p.max(axis=1).mean(), abs=1e-6
    )


def test_counts_are_repeated_rows_and_zeros_are_no_rows() -> None:
    rng = np.random.default_rng(4)
    p, counts = np.round(rng.random(61), 2), rng.integers(0, 5, 61)
    found, whole = (
        cal.evaluation.confidence_summary(cal.Predictions(np.zeros(61, int), p, counts=counts)),
        cal.evaluation.confidence_summary(np.repeat(p, counts)),
    )
    assert found.top_label == pytest.approx(whole.top_label, abs=1e-14)
    assert found.positive == pytest.approx(whole.positive, abs=1e-14)
    assert (found.n, found.weight) == ((counts > 0).sum(), counts.sum())


def test_importance_weights_follow_the_definition_and_only_ratios_matter() -> None:
    rng = np.random.default_rng(5)
    p, weight = np.round(rng.random(83), 2), rng.exponential(1, 83)
    found = cal.evaluation.confidence_summary(p, sample_weight=weight)
    assert found.positive is not None
    assert found.positive.mean == pytest.approx(np.average(p, weights=weight), abs=1e-14)
    assert found.positive[1:] == pytest.approx([slow_quantile(p, weight, q) for q in SHARES], abs=1e-14)
    assert cal.evaluation.confidence_summary(p, sample_weight=8 * weight).positive == pytest.approx(
        found.positive, abs=1e-12
    )
    assert cal.evaluation.confidence_summary(p, sample_weight=np.full(83, 0.3)).positive == pytest.approx(
        cal.evaluation.confidence_summary(p).positive, abs=1e-12
    )


def test_exact_zeros_and_ones() -> None:
    found = cal.evaluation.confidence_summary([0.0, 0.0, 1.0])
    assert found.top_label == (1, 1, 1, 1)
    assert found.positive == pytest.approx((1 / 3, 0.0, 0.8, 0.98))


def test_names_of_columns_determine_the_positive_class() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"yes": [0.9, 0.2, 0.3], "no": [0.1, 0.8, 0.7]})
    assert (
        cal.evaluation.confidence_summary(frame).positive == cal.evaluation.confidence_summary([0.9, 0.2, 0.3]).positive
    )


def test_evaluate_holds_prints_and_exports_it() -> None:
    y, p = [0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9]
    result = cal.evaluate(cal.Predictions(y, p, groups=["a", "a", "b", "b"]), metrics=["ece"], outcome="churn")
    assert result.header.confidence == cal.evaluation.confidence_summary(p)
    assert result.groups["a"].header.confidence == cal.evaluation.confidence_summary(p[:2])
    text = repr(result)
    assert "P(churn): median 0.6000, p90 0.8700, p99 0.8970" in text
    nearly = cal.evaluation.confidence_summary([0.5, 0.999999, 1.0]).positive
    assert nearly is not None
    assert nearly.text == "median >0.9999, p90 >0.9999, p99 >0.9999"
    assert cal.evaluation.confidence_summary([1.0]).top_label.text == "median 1.000, p90 1.000, p99 1.000"
    assert result.to_dict()["header"]["confidence"] == cal.evaluation.confidence_summary(p).to_dict()
    weighted = cal.evaluate(y, p, metrics=["ece"], sample_weight=[1, 2, 3, 4])
    assert weighted.header.confidence == cal.evaluation.confidence_summary(p, sample_weight=[1, 2, 3, 4])
    assert (
        cal.evaluate(
            cal.Predictions([[0, 1]] * 4, [[0.2, 0.7]] * 4, multilabel=True), metrics=["brier"]
        ).header.confidence
        is None
    )


@pytest.mark.parametrize("lenses", [["binary"], ["binary", "top_label"]])
def test_sketches_agree_up_to_one_cell(lenses: list[str]) -> None:
    rng = np.random.default_rng(6)
    p = rng.random(3001)
    y = (rng.random(3001) < p).astype(int)
    found = cal.evaluate(Sketches.of(y, p, lenses=lenses), metrics=["ece"]).header.confidence
    exact = cal.evaluation.confidence_summary(p)
    assert found is not None
    assert found.top_label == pytest.approx(exact.top_label, abs=1 / 19_200)
    assert found.positive == pytest.approx(exact.positive, abs=1 / 19_200)
