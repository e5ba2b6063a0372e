"""Thresholds with a guarantee: checked values, literal definitions, and simulations in which the guarantee must hold."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calibrant as cal
from calibrant.decision.thresholds import choose_threshold
from tests.calling import call
from tests.checked import S_ROWS as S

LEVELS: dict[str, Any] = {"input": "confidence", "guarantee": 0.9}


def three_levels() -> tuple[np.ndarray, np.ndarray]:
    """40 rows at 0.9 without errors, 20 more at 0.8 with one, 40 more at 0.7 with five."""
    confidence = np.repeat([0.9, 0.8, 0.7], [40, 20, 40])
    right = np.ones(100, int)
    right[[45, 60, 61, 62, 63, 64]] = 0
    return right, confidence


def test_a_threshold_given() -> None:
    found = call(choose_threshold, **S, method="fixed", grid=0.8)
    assert found.risk_bound == pytest.approx(0.6795394163, abs=5e-11)
    assert (found.threshold, found.coverage, found.risk) == (0.8, 0.4, 0.25)
    assert call(choose_threshold, **S, method="fixed", grid=[0.8]) == found
    assert call(choose_threshold, **S, method="fixed", grid=0.7).risk_bound == pytest.approx(0.6668056135, abs=5e-11)
    assert call(choose_threshold, **S, method="fixed", grid=0.7, accuracy=0.9).threshold is None
    assert call(choose_threshold, **S, method="fixed", grid=0.99).threshold is None
    assert found.coverage_bound == pytest.approx(stats.beta.ppf(0.1, 4, 7))


def test_the_sequence_stops_at_the_first_failure() -> None:
    right, confidence = three_levels()
    found = call(choose_threshold, right, confidence, accuracy=0.9, grid=[0.9, 0.8, 0.7], **LEVELS)
    assert found.threshold == 0.8
    assert [test.value for test in found.tests] == pytest.approx(
        [0.01478088294, 0.01377707897, 0.1171556154], abs=5e-11
    )
    assert [test.passed for test in found.tests] == [True, True, False]
    assert (
        call(
            choose_threshold, right, confidence, accuracy=0.9, method="bonferroni", grid=[0.9, 0.8, 0.7], **LEVELS
        ).threshold
        == 0.8
    )
    assert "at most 0.1" in found.statement


def slow_sequence(right: np.ndarray, confidence: np.ndarray, risk: float, delta: float) -> float | None:
    """One walk, from the first threshold with enough rows on."""
    chosen = None
    for t in [j / 100 for j in range(99, 0, -1)]:
        kept = confidence >= t
        n, k = int(kept.sum()), int((1 - right)[kept].sum())
        if (1 - risk) ** n > delta:
            continue
        if stats.binom.cdf(k, n, risk) > delta:
            break
        chosen = t
    return chosen


def slow_two_walks(right: np.ndarray, confidence: np.ndarray, risk: float, delta: float) -> float | None:
    """Two walks, each with half of the level; the first hands its half on where it reaches the second."""

    def enough(level: float) -> int:
        return next(n for n in range(1, 10_000) if (1 - risk) ** n <= level)

    many = max(enough(delta), min(6 * enough(delta), len(right) // 4))
    shares = {many: delta}
    if many >= 2 * enough(delta / 2):
        shares = {enough(delta / 2): delta / 2, many: delta / 2}
    falling = sorted(confidence.tolist(), reverse=True)
    grid = list(dict.fromkeys(falling[max(1, -(-len(right) * j // 100)) - 1] for j in range(1, 101)))
    begins: dict[float, float] = {}
    for rows, share in shares.items():
        reached = [t for t in grid if (confidence >= t).sum() >= rows]
        if reached:
            begins[max(reached)] = begins.get(max(reached), 0.0) + share
    chosen, level = None, 0.0
    for t in grid:
        level += begins.get(t, 0.0)
        kept = confidence >= t
        if level and stats.binom.cdf(int((1 - right)[kept].sum()), int(kept.sum()), risk) <= level:
            chosen = t
        else:
            level = 0.0
    return chosen


@pytest.mark.parametrize("seed", range(30))
def test_the_sequence_is_the_literal_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 400))
    confidence = 0.5 + rng.random(n) / 2
    right = (rng.random(n) < confidence).astype(int)
    given = [j / 100 for j in range(99, 0, -1)]
    found = call(choose_threshold, right, confidence, accuracy=0.85, grid=given, **LEVELS)
    assert found.threshold == slow_sequence(right, confidence, 0.15, 0.1)
    found = call(choose_threshold, right, confidence, accuracy=0.85, **LEVELS)
    assert found.threshold == slow_two_walks(right, confidence, 0.15, 0.1)
    counts = rng.integers(0, 3, n)
    weighed = call(choose_threshold, right, confidence, counts=counts, accuracy=0.85, **LEVELS)
    repeated = call(choose_threshold, np.repeat(right, counts), np.repeat(confidence, counts), accuracy=0.85, **LEVELS)
    assert weighed == repeated


@pytest.mark.parametrize(("accuracy", "level", "rows"), [(0.9, 0.9, 22), (0.95, 0.9, 45), (0.99, 0.95, 299)])
def test_fewer_rows_than_this_promise_nothing(accuracy: float, level: float, rows: int) -> None:
    for n, is_enough in ((rows - 1, False), (rows, True)):
        found = choose_threshold(
            cal.Predictions(np.ones(n, int), np.full(n, 0.995), input="confidence"),
            accuracy=accuracy,
            guarantee=level,
        )
        assert (found.threshold is not None) == is_enough
    assert "none" in choose_threshold(cal.Predictions([1], [0.9], input="confidence"), accuracy=0.9).statement


def test_one_error_among_the_surest_rows_does_not_end_it() -> None:
    confidence = np.repeat([0.99, 0.95, 0.9, 0.55], [60, 140, 200, 400])
    right = np.ones(800, int)
    right[[0, 1, 2]] = 0
    found = call(choose_threshold, right, confidence, accuracy=0.95, **LEVELS)
    assert found.threshold is not None
    assert found.threshold <= 0.9
    assert [test.passed for test in found.tests].count(False) == 1
    assert found.tests[0].threshold == 0.99
    assert not found.tests[0].passed
    once = call(choose_threshold, right, confidence, accuracy=0.95, grid=[0.99, 0.95, 0.9, 0.55], **LEVELS)
    assert once.threshold is None
    assert once.statement.startswith("none: ")


@pytest.mark.parametrize("classes", [2, 4, 100])
def test_no_threshold_lies_below_the_lowest_confidence_there_is(classes: int) -> None:
    rng = np.random.default_rng(classes)
    probs = rng.dirichlet(np.full(classes, 0.05), 2000)
    labels = (probs.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1).clip(0, classes - 1)
    for goal in ({"accuracy": 0.05}, {"coverage": 0.9}):
        found = call(choose_threshold, labels, probs, **goal)  # type: ignore[arg-type]
        assert found.threshold is not None
        assert found.threshold >= 1 / classes
        assert found.coverage == (probs.max(axis=1) >= found.threshold).mean()


def test_a_search_that_finds_nothing_says_where_it_ended() -> None:
    right, confidence = np.tile([0, 1], 100), np.full(200, 0.9)
    words = {
        method: call(choose_threshold, right, confidence, accuracy=0.9, method=method, **LEVELS).statement  # type: ignore[arg-type]
        for method in ("sequence", "bonferroni", "conformal", "sgr")
    }
    assert all("none: the search found no threshold for an accuracy of at least 0.9" in text for text in words.values())
    assert all("0.9 (100 errors in 200 of 200 rows accepted)" in text for text in words.values())
    fixed = choose_threshold(
        cal.Predictions(right, confidence, input="confidence"), accuracy=0.9, method="fixed", grid=0.5
    )
    assert "0.5 (100 errors in 200 of 200 rows accepted)" in fixed.statement
    few = call(choose_threshold, [1, 1, 1], [0.9] * 3, accuracy=0.9, **LEVELS)
    assert "too few of the 3 rows" in few.statement
    wide = call(choose_threshold, [1, 1, 1], [0.9] * 3, coverage=0.9, **LEVELS)
    assert "3 of 3 rows accepted" in wide.statement
    loss = call(choose_threshold, right, confidence, loss=right * 0.5, accuracy=0.9, **LEVELS)
    assert "a loss of 50 in 200 of 200 rows" in loss.statement


def test_conformal_has_its_checked_values() -> None:
    expected = {0.1: 0.9, 0.2: 0.75, 0.3: 0.65, 0.4: 0.55, 0.5: 0.5}
    for risk, threshold in expected.items():
        assert call(choose_threshold, **S, accuracy=1 - risk, method="conformal").threshold == threshold
    assert call(choose_threshold, **S, accuracy=0.95, method="conformal").threshold is None


def true_risk(threshold: float, shift: float) -> float:
    """Error rate above a threshold: confidences uniform on (1/2, 1), each right with probability confidence - shift."""
    return 1 - (max(threshold, 0.5) + 1) / 2 + shift


def violations(n: int, repeats: int, seed: int, accuracy: float, shift: float, method: Any) -> int:
    """How often the guaranteed accuracy is not reached."""
    rng = np.random.default_rng(seed)
    missed = 0
    for _ in range(repeats):
        confidence = 0.5 + rng.random(n) / 2
        right = (rng.random(n) < confidence - shift).astype(int)
        t = call(choose_threshold, right, confidence, accuracy=accuracy, method=method, **LEVELS).threshold
        missed += t is not None and true_risk(t, shift) > 1 - accuracy + 1e-12
    return missed


def not_significantly_more(missed: int, repeats: int, delta: float = 0.1) -> bool:
    return missed <= stats.binom.ppf(0.999, repeats, delta)


@pytest.mark.parametrize("method", ["sequence", "bonferroni", "sgr"])
@pytest.mark.parametrize("n", [100, 1000])
def test_the_promise_holds(n: int, method: str) -> None:
    for shift in (0.0, 0.05):  # with the second no threshold is good enough, so that every one found is a violation
        assert not_significantly_more(violations(n, 200, 7, 0.95, shift, method), 200)


@pytest.mark.parametrize("method", ["sequence", "bonferroni", "conformal"])
def test_a_coverage_is_kept(method: Any) -> None:
    rng = np.random.default_rng(5)
    kept = []
    for _ in range(200):
        confidence = 0.5 + rng.random(300) / 2
        found = choose_threshold(
            cal.Predictions(np.ones(300, int), confidence, input="confidence"), coverage=0.6, method=method
        )
        assert found.threshold is not None
        kept.append((1 - max(found.threshold, 0.5)) * 2)
    if method == "conformal":
        assert 0.58 < np.mean(kept) < 0.62
    else:
        assert not_significantly_more(int((np.array(kept) < 0.6 - 1e-9).sum()), 200)
        assert np.mean(kept) < 0.75


def test_sharp_confidences_and_those_that_are_not_probabilities() -> None:
    """The order of the rows matters, not the scale of the confidences."""
    rng = np.random.default_rng(2)
    sharp = 1 - 10.0 ** (-5 * rng.random(2000))
    right = (rng.random(2000) < np.where(sharp > 0.995, 0.999, 0.9)).astype(int)
    found = call(choose_threshold, right, sharp, accuracy=0.99, **LEVELS)
    assert found.threshold > 0.99
    assert found.coverage > 0.2
    logit = call(choose_threshold, right, sharp, confidence=-np.log1p(-sharp), accuracy=0.99, **LEVELS)
    assert logit.coverage == found.coverage


def test_losses_between_zero_and_one() -> None:
    rng = np.random.default_rng(0)
    confidence = rng.random(800)
    loss = np.clip((1 - confidence) * rng.random(800), 0, 1)
    right = np.ones(800, int)
    found = call(choose_threshold, right, confidence, loss=loss, accuracy=0.8, **LEVELS)
    assert found.threshold is not None
    first = found.tests[0]
    mean, n = first.errors / first.accepted, first.accepted
    low = min(mean, 0.2)
    kl = low * math.log(low / 0.2) + (1 - low) * math.log((1 - low) / 0.8)
    bentkus = math.e * stats.binom.cdf(math.ceil(first.errors), n, 0.2)
    assert first.value == pytest.approx(min(math.exp(-n * kl), bentkus, 1))
    fixed = choose_threshold(
        cal.Predictions(right, confidence, input="confidence"), loss=loss, method="fixed", grid=0.5
    )
    assert fixed.risk < fixed.risk_bound < 0.3
    assert (
        choose_threshold(
            cal.Predictions(right, confidence, input="confidence"), loss=0 * loss, method="fixed", grid=0.5
        ).risk
        == 0
    )


def test_a_sketch_and_soft_labels_will_do() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(3000)
    y = (rng.random(3000) < p).astype(int)
    rows = choose_threshold(y, p, accuracy=0.9)
    sketched = choose_threshold(cal.Sketch.of(y, p, lens="top_label"), accuracy=0.9)
    assert (sketched.threshold, sketched.accepted, sketched.errors) == (rows.threshold, rows.accepted, rows.errors)
    shared = choose_threshold(cal.Predictions(np.where(y == 1, 0.99, 0.01), p, soft=True), accuracy=0.9)
    assert shared.threshold is not None
    assert shared.threshold >= rows.threshold


def test_scores_at_the_threshold_are_accepted() -> None:
    found = call(choose_threshold, *three_levels(), accuracy=0.9, grid=[0.9, 0.8, 0.7], **LEVELS)
    assert found.accepts([0.79, 0.8, 0.9]).tolist() == [False, True, True]
    assert not call(choose_threshold, **S, accuracy=0.95).accepts([0.99]).any()
