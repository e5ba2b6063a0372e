"""A bootstrap replicate of a view is the view of the rows that were drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference.resampling import PredictionSampler
from calibrant.views.drawn import Draw, DrawnView
from calibrant.views.view import View

RNG = np.random.default_rng(3)
N = 101
SCORE = RNG.random(N)
DATA: dict[str, dict[str, Any]] = {
    "distinct": {"score": SCORE},
    "ties": {"score": np.round(SCORE, 1)},
    "ends": {"score": np.clip(2 * SCORE - 0.5, 0, 1)},
    "one": {"score": np.full(N, 0.25)},
    "single precision": {"score": SCORE.astype(np.float32)},
    "weights": {"score": np.round(SCORE, 1), "weight": RNG.random(N) + 0.1, "weight_kind": "importance"},
    "soft": {"score": np.round(SCORE, 1), "outcome": RNG.random(N)},
}


def pair(name: str, drawn: np.ndarray[Any, Any]) -> tuple[DrawnView, View]:
    """A replicate, and its rows as a view of their own."""
    given = {"outcome": (RNG.random(N) < 0.4).astype(np.uint8), **DATA[name]}
    whole = View(**given)
    rows = {word: value[drawn] if isinstance(value, np.ndarray) else value for word, value in given.items()}
    return DrawnView(whole, Draw(drawn, N)), View(**rows)


@pytest.mark.parametrize("size", [1, 7, N])
@pytest.mark.parametrize("name", DATA)
def test_what_a_replicate_derives_is_what_its_rows_have(name: str, size: int) -> None:
    drawn, plain = pair(name, RNG.integers(N, size=size))
    for left, right in zip(drawn.sorted_rows, plain.sorted_rows, strict=True):
        assert (left is right is None) or np.array_equal(left, right)
    for word in ("score", "end", "weight", "outcome", "total", "excess", "square"):
        assert np.allclose(getattr(drawn.prefix, word), getattr(plain.prefix, word), rtol=1e-14, atol=1e-14), word
    assert np.array_equal(drawn.ends, plain.ends)
    assert np.array_equal(drawn.order, plain.order)
    scores = np.concatenate([plain.score, RNG.random(50), [0.0, 1.0]])
    assert np.array_equal(drawn.rows_up_to(scores), plain.rows_up_to(scores))
    assert (drawn.n, drawn.total) == (plain.n, plain.total)
    for word in ("score", "outcome", "rest", "weights"):
        assert np.array_equal(getattr(drawn, word), getattr(plain, word)), word


def test_more_distinct_scores_than_a_short_integer_counts() -> None:
    """The order of drawn rows is found by two digits of the ranks of their scores."""
    rng = np.random.default_rng(4)
    n = 70_000
    score, outcome, weight = rng.permutation(n) / n, rng.integers(0, 2, n).astype(np.uint8), rng.random(n) + 0.1
    rows = rng.integers(n, size=n)
    drawn = DrawnView(View(score, outcome, weight, "importance"), Draw(rows, n))
    assert np.array_equal(drawn.order, np.argsort(score[rows], kind="stable"))


def test_gathered_rows_are_read_only_and_dropped_with_the_cache() -> None:
    drawn, plain = pair("weights", RNG.integers(N, size=N))
    with pytest.raises(ValueError, match="read-only"):
        drawn.raw_score[0] = 0
    before = drawn.prefix.excess.copy()
    drawn.clear_cache()
    assert not {"raw_score", "_outcome", "drawn", "times", "reached", "prefix"} & drawn.__dict__.keys()
    assert np.array_equal(drawn.prefix.excess, before)
    assert drawn.n == plain.n


@pytest.mark.parametrize("name", ["ece_ea", "vece"])
def test_what_is_kept_for_other_outcomes_depends_on_the_options(name: str) -> None:
    """Bins of equal area, and of a feature, for other labels of the same scores."""
    rng = np.random.default_rng(5)
    features = rng.normal(size=(N, 1))
    sampler = PredictionSampler(cal.Predictions(rng.integers(0, 2, N), SCORE, features=features))
    metric = cal.catalogue[name]
    for bins in (5, 10, 5):
        labels = rng.integers(0, 2, N).astype(np.uint8)
        expected = metric(cal.Predictions(labels, SCORE, features=features), bins=bins)
        assert sampler.labelled(labels).value(metric, {"bins": bins}) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("name", DATA)
def test_rows_above_a_threshold(name: str) -> None:
    drawn, plain = pair(name, RNG.integers(N, size=N))
    for threshold in (0.0, 0.2, 0.25, 0.99, 1.0):
        part, rows = drawn.above(threshold), plain.above(threshold)
        assert part.n == rows.n
        assert np.allclose(part.prefix.excess, rows.prefix.excess, atol=1e-14)
        assert np.array_equal(np.sort(part.score), np.sort(rows.score))
        assert drawn.above(threshold) is part


def test_rows_of_the_same_scores_above_a_threshold_are_sorted_once() -> None:
    whole = View(SCORE, (SCORE < 0.3).astype(np.uint8))
    other = View(SCORE, (SCORE < 0.6).astype(np.uint8))
    other.same_scores = whole
    assert other.above(0.5).sorted_like is whole.above(0.5)
    assert other.above(0.5).prefix.outcome.tolist() == View(SCORE, other.raw_outcome).above(0.5).prefix.outcome.tolist()


@pytest.mark.parametrize("metric", ["ace", "calbin", "ece_knn", "tace", "ece"])
@pytest.mark.parametrize("kind", ["two", "four", "logits", "weights"])
def test_replicates_of_all_classes_are_those_of_the_predictions(metric: str, kind: str) -> None:
    probs = RNG.dirichlet(np.ones(4), N)
    words: dict[str, Any] = {"sample_weight": RNG.random(N) + 0.1} if kind == "weights" else {}
    if kind == "logits":
        p = cal.Predictions(np.arange(N) % 2, 20 * RNG.normal(size=N), input="logit")
    else:
        p = cal.Predictions(np.arange(N) % 4, probs, **words) if kind == "four" else None
        p = p or cal.Predictions(np.arange(N) % 2, np.round(probs[:, 0], 2), **words)
    chosen = cal.catalogue[metric]
    options = {"lens": cal.classwise(combine="prevalence")}
    sampler, rng = PredictionSampler(p), np.random.default_rng(1)
    rows = sampler.picked(np.random.default_rng(1))
    assert sampler.bootstrap(rng).value(chosen, options) == pytest.approx(chosen(p.take(rows), **options), rel=1e-13)


@pytest.mark.parametrize("weights", [{}, {"sample_weight": RNG.random(N) + 0.1}], ids=["unit", "weights"])
@pytest.mark.parametrize("metric", ["vece", "mvce"])
def test_bins_of_a_feature(metric: str, weights: dict[str, Any]) -> None:
    features = np.column_stack([RNG.normal(size=N), np.round(RNG.random(N), 1), np.ones(N)])
    p = cal.Predictions((RNG.random(N) < SCORE).astype(int), SCORE, features=features, **weights)
    chosen, sampler = cal.catalogue[metric], PredictionSampler(p)
    rows = sampler.picked(np.random.default_rng(1))
    found = sampler.bootstrap(np.random.default_rng(1)).value(chosen, {})
    assert found == pytest.approx(chosen(p.take(rows)), rel=1e-13)
    labels = (RNG.random(N) < SCORE).astype(np.uint8)
    assert sampler.labelled(labels).value(chosen, {}) == chosen(
        cal.Predictions(labels, SCORE, features=features, **weights)
    )


def test_metrics_of_a_replicate_share_its_views_and_rows_are_taken_once() -> None:
    p = cal.Predictions(np.arange(N) % 4, RNG.dirichlet(np.ones(4), N), groups=np.arange(N) % 3)
    drawn = PredictionSampler(p).bootstrap(np.random.default_rng(0))
    first = drawn.views(cal.catalogue["ace"], {})
    assert drawn.views(cal.catalogue["calbin"], {}) is first
    rows = first[0].rows
    assert rows is not None
    assert rows.groups is first[1].rows.groups  # type: ignore[union-attr]
    assert rows.classes == 4
