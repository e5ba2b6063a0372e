"""Coverage, selective risk and the areas under their curves: values checked by hand, literal definitions, ties, weights."""

import math
from fractions import Fraction
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

import calibrant as cal
from calibrant.decision.areas import augrc, aurc, e_augrc, e_aurc
from calibrant.decision.selective import coverage, risk_coverage, selective_accuracy, selective_risk
from tests.calling import call
from tests.checked import D_ROWS as D
from tests.checked import S_ROWS as S

AREAS = (aurc, e_aurc, augrc, e_augrc)


def tied(seed: int, n: int, digits: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    confidence = np.round(0.5 + rng.random(n) / 2, digits)
    return (rng.random(n) < confidence).astype(int), confidence


def test_points_have_their_checked_values() -> None:
    point = call(risk_coverage, **S).at(0.8)
    assert (point.coverage, point.selective_risk, point.accepted, point.errors) == (0.4, 0.25, 4, 1)
    point = call(risk_coverage, **S).at(0.7)
    assert (point.coverage, point.selective_risk) == (0.6, pytest.approx(1 / 3))
    assert call(coverage, **D, threshold=0.55) == 0.75
    assert call(selective_risk, **D, threshold=0.55) == pytest.approx(1 / 3)
    assert call(selective_accuracy, **D, threshold=0.55) == pytest.approx(2 / 3)
    assert (call(coverage, **D, threshold=0.65), call(selective_risk, **D, threshold=0.65)) == (0.375, 0)


def test_wilson_is_the_textbook_interval() -> None:
    point = call(risk_coverage, **S).at(0.7, method="wilson", level=0.9)
    found = stats.binomtest(2, 6).proportion_ci(0.9, "wilson")
    assert (point.low, point.high) == pytest.approx((found.low, found.high), abs=1e-12)


def test_curves_have_their_checked_values() -> None:
    curve = call(risk_coverage, **S)
    third = 1 / 3
    assert curve.selective_risk.tolist() == pytest.approx([0, 0, third, 0.25, 0.2, third, 2 / 7, 0.375, third, 0.4])
    curve = call(risk_coverage, **D)
    assert curve.coverage.tolist() == [0.125, 0.375, 0.75, 1]
    assert curve.selective_risk.tolist() == pytest.approx([0, 0, third, 0.5])
    assert curve.generalised_risk.tolist() == [0, 0, 0.25, 0.5]
    assert curve.accepted.tolist() == [1, 3, 6, 8]
    assert curve.low is not None
    assert curve.low[2] == pytest.approx(stats.beta.ppf(0.025, 2, 5))


def test_operating_points_are_new_minima_from_the_right() -> None:
    curve = call(risk_coverage, **S)
    expected = [i for i in range(10) if all(curve.selective_risk[i] < r for r in curve.selective_risk[i + 1 :])]
    assert [point.threshold for point in curve.operating_points] == curve.threshold[expected].tolist()


def test_areas_have_their_checked_values() -> None:
    digits = {"abs": 5e-11}
    assert call(aurc, **S) == pytest.approx(0.2510714286, **digits)
    assert call(aurc, **S, rule="integral") == pytest.approx(0.233243959, **digits)
    assert call(aurc, **S, rule="trapezoid") == pytest.approx(0.2310714286, **digits)
    assert call(aurc, **S, rule="torch_uncertainty") == pytest.approx(0.2567460317, **digits)
    assert call(aurc, **D) == pytest.approx(0.2119047619, **digits)
    assert call(aurc, **D, rule="integral") == pytest.approx(0.1828721686, **digits)
    assert call(aurc, **D, rule="trapezoid") == pytest.approx(0.1666666667, **digits)
    assert call(aurc, **D, rule="torch_uncertainty") == pytest.approx(0.2088435374, **digits)
    assert call(e_aurc, **S) == pytest.approx(0.138452381, **digits)
    assert call(e_aurc, **S, reference="asymptotic") == pytest.approx(0.1575668028, **digits)
    assert call(e_aurc, **D) == pytest.approx(0.02916666667, **digits)
    assert call(e_aurc, **D, reference="asymptotic") == pytest.approx(0.05847835218, **digits)
    assert call(augrc, **S) == pytest.approx(0.15, **digits)
    assert call(e_augrc, **S) == pytest.approx(0.07, **digits)
    assert call(augrc, **D) == pytest.approx(0.140625, **digits)
    assert call(e_augrc, **D) == pytest.approx(0.015625, **digits)
    curve = call(risk_coverage, **D)
    assert (curve.aurc, curve.augrc) == (call(aurc, **D), call(augrc, **D))


def mean_over_orders(right: np.ndarray, confidence: np.ndarray) -> float:
    """Every order of rows that falls in confidence, each as likely as any other."""
    values = []
    for order in permutations(range(len(right))):
        if all(confidence[a] >= confidence[b] for a, b in pairwise(order)):
            wrong, total = 0, Fraction(0)
            for k, i in enumerate(order, 1):
                wrong += int(1 - right[i])
                total += Fraction(wrong, k)
            values.append(total / len(right))
    return float(sum(values) / len(values))


@pytest.mark.parametrize("seed", range(6))
def test_ties_count_as_the_mean_over_all_orders(seed: int) -> None:
    right, confidence = tied(seed, 7)
    assert aurc(cal.Predictions(right, confidence, input="confidence")) == pytest.approx(
        mean_over_orders(right, confidence), abs=1e-14
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_integral_is_one(seed: int) -> None:
    right, confidence = tied(seed, 40)
    values = np.unique(confidence)[::-1]
    ends = np.cumsum([(confidence == v).sum() for v in values])
    wrong = np.cumsum([(1 - right)[confidence == v].sum() for v in values])

    def risk(rows: float) -> float:
        return float(np.interp(rows, [0, *ends], [0, *wrong])) / rows

    area = math.fsum(integrate.quad(risk, a, b, epsabs=1e-13)[0] for a, b in zip([1e-300, *ends], ends, strict=False))
    assert aurc(cal.Predictions(right, confidence, input="confidence"), rule="integral") == pytest.approx(
        area / 40, abs=1e-10
    )


@pytest.mark.parametrize("seed", range(20))
def test_augrc_is_a_function_of_accuracy_and_auroc(seed: int) -> None:
    right, confidence = tied(seed, 60)
    good, bad = confidence[right == 1], confidence[right == 0]
    above = (good[:, None] > bad).mean() + (good[:, None] == bad).mean() / 2
    a = right.mean()
    assert augrc(cal.Predictions(right, confidence, input="confidence")) == pytest.approx(
        (1 - above) * a * (1 - a) + (1 - a) ** 2 / 2
    )
    assert e_aurc(cal.Predictions(right, confidence, input="confidence")) >= 0
    assert e_augrc(cal.Predictions(right, confidence, input="confidence")) >= 0


def test_the_ends_of_the_range() -> None:
    sure = [0.9, 0.8, 0.7, 0.6]
    assert [f(cal.Predictions([1, 1, 1, 1], sure, input="confidence")) for f in AREAS] == [0, 0, 0, 0]
    assert aurc(cal.Predictions([0, 0, 0, 0], sure, input="confidence")) == 1
    assert augrc(cal.Predictions([0, 0, 0, 0], sure, input="confidence")) == 0.5
    assert aurc(cal.Predictions([1, 0, 0, 1], [0.7] * 4, input="confidence")) == pytest.approx(0.5)
    assert augrc(cal.Predictions([1, 0, 0, 1], [0.7] * 4, input="confidence")) == pytest.approx(0.25)
    assert [f(cal.Predictions([1, 1, 0, 0], sure, input="confidence")) for f in (e_aurc, e_augrc)] == [0, 0]
    assert e_aurc(cal.Predictions([0, 0], [0.7, 0.6], input="confidence"), reference="asymptotic") == 0
    point = call(risk_coverage, **S).at(0.99)
    assert (point.coverage, point.generalised_risk) == (0, 0)
    assert math.isnan(point.selective_risk)


@pytest.mark.parametrize("function", AREAS)
def test_only_ratios_of_importance_matter(function: Any) -> None:
    right, confidence = tied(4, 30)
    weight = np.random.default_rng(1).random(30)
    one, other = (
        function(cal.Predictions(right, confidence, input="confidence", sample_weight=w)) for w in (weight, 8 * weight)
    )
    assert one == pytest.approx(other, abs=1e-13)
    equal = function(cal.Predictions(right, confidence, input="confidence", sample_weight=np.full(30, 0.1)))
    assert equal == pytest.approx(function(cal.Predictions(right, confidence, input="confidence")), abs=1e-13)


def test_other_losses() -> None:
    rng = np.random.default_rng(0)
    confidence, loss = rng.random(50), rng.random(50)
    order = np.argsort(-confidence)
    expected = (np.cumsum(loss[order]) / np.arange(1, 51)).mean()
    right = np.ones(50, int)
    assert aurc(cal.Predictions(right, confidence, input="confidence"), loss=loss) == pytest.approx(expected)
    best = (np.cumsum(np.sort(loss)) / np.arange(1, 51)).mean()
    assert e_aurc(cal.Predictions(right, confidence, input="confidence"), loss=loss) == pytest.approx(expected - best)
    assert risk_coverage(cal.Predictions(right, confidence, input="confidence"), loss=loss).low is None


def test_labels_probabilities_frames_and_sketches_agree() -> None:
    rng = np.random.default_rng(0)
    p = np.round(rng.random(500), 2)
    y = (rng.random(500) < p).astype(int)
    right, sure = (y == (p > 0.5)).astype(int), np.maximum(p, 1 - p)
    whole = risk_coverage(y, p)
    assert whole.lens == "top_label"
    assert aurc(y, p) == pytest.approx(aurc(cal.Predictions(right, sure, input="confidence")), abs=1e-12)
    assert aurc(cal.Predictions(y, np.column_stack([1 - p, p]))) == pytest.approx(aurc(y, p), abs=1e-12)
    assert aurc(cal.Sketch.of(y, p, lens="top_label")) == pytest.approx(aurc(y, p), abs=1e-3)
    assert aurc(y, p, where=p > 0.3) == pytest.approx(aurc(y[p > 0.3], p[p > 0.3]))


@pytest.mark.parametrize("area", ["aurc", "e_aurc", "augrc", "e_augrc"])
def test_the_bootstrap_is_that_of_rows(area: Any) -> None:
    """The interval equals that of rows resampled one by one, and covers the area of many rows."""
    function = {"aurc": aurc, "e_aurc": e_aurc, "augrc": augrc, "e_augrc": e_augrc}[area]
    right, confidence = tied(8, 80)
    rng = np.random.default_rng(0)
    drawn = [rng.integers(0, 80, 80) for _ in range(400)]
    slow = np.quantile(
        [function(cal.Predictions(right[i], confidence[i], input="confidence")) for i in drawn], [0.1, 0.9]
    )
    fast = risk_coverage(cal.Predictions(right, confidence, input="confidence")).interval(
        area, level=0.8, n_resamples=2000
    )
    np.testing.assert_allclose(fast, slow, atol=0.15 * (slow[1] - slow[0]))
    counts = np.random.default_rng(1).integers(1, 4, 80)
    counted = risk_coverage(cal.Predictions(right, confidence, input="confidence", counts=counts)).interval(
        area, n_resamples=50
    )
    value = function(cal.Predictions(right, confidence, input="confidence", counts=counts))
    assert counted[0] < value < counted[1]
    weight = rng.random(80) + 0.5
    ends = [
        risk_coverage(cal.Predictions(right, confidence, input="confidence", sample_weight=w)).interval(
            area, n_resamples=50
        )
        for w in (weight, 4 * weight)
    ]
    assert ends[0] == pytest.approx(ends[1])
