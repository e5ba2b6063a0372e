"""Places carry no meaning: neither the order of the rows, nor that of the classes, nor one column instead of two."""

from functools import cache

import numpy as np
import pytest

import calibrant as cal
from calibrant.metrics import Metric
from tests.calling import call

from .problems import (
    PROBLEMS,
    Problem,
    assert_same,
    clean_value,
    every_metric,
    every_shape,
    every_shape_name,
    metrics_that,
    random_problem,
    value,
)

ORDERS = 8


def is_free_of_order(metric: Metric) -> bool:
    return metric.info.deterministic and not metric.info.order_dependent


def adds_integers(metric: Metric) -> bool:
    plain = metric.takes == "View" and metric.options.get("binning") == "equal_width" and not metric.needs
    return plain and is_free_of_order(metric)


@every_shape
@metrics_that(is_free_of_order)
def test_the_order_of_rows_changes_nothing(metric: Metric, problems: list[Problem]) -> None:
    rng = np.random.default_rng(11)
    for problem in problems:
        wanted = clean_value(metric, problem)
        for _ in range(ORDERS // len(problems) + 1):
            assert_same(value(metric, problem.take(rng.permutation(problem.n))), wanted, f"other order of {problem}")


@cache
def long_problem(shape: str) -> Problem:
    return random_problem(shape, 6, n=3000)


@every_shape_name
@metrics_that(adds_integers)
def test_not_a_bit_depends_on_the_order_of_rows(metric: Metric, shape: str) -> None:
    """Equal-width bins of unweighted rows are added up in integers; sums of floats would differ in the last bits."""
    problem = long_problem(shape)
    wanted = clean_value(metric, problem)
    rng = np.random.default_rng(21)
    assert {value(metric, problem.take(rng.permutation(problem.n))) for _ in range(4)} == {wanted}


@every_shape
@metrics_that(is_free_of_order)
def test_the_order_of_weighted_rows_changes_nothing(metric: Metric, problems: list[Problem]) -> None:
    rng = np.random.default_rng(12)
    for problem in problems:
        clean_value(metric, problem)
        order = rng.permutation(problem.n)
        weights = {}
        if metric.counts:
            weights["counts"] = rng.integers(0, 5, problem.n)
        if metric.importance:
            weights["sample_weight"] = rng.exponential(size=problem.n)
        for word, weight in weights.items():
            wanted = value(metric, problem, **{word: weight})
            found = value(metric, problem.take(order), **{word: weight[order]})
            assert_same(found, wanted, f"other order of {problem} with {word}")


@pytest.mark.parametrize("shape", ["three", "ten"])
@metrics_that(lambda m: not m.ordinal)
def test_the_order_of_classes_changes_nothing(metric: Metric, shape: str) -> None:
    for seed in (4, 5):
        # Random reals have no ties of the maximum, which go to the lowest class and so would depend on the order.
        problem = random_problem(shape, seed)
        words = problem.words(metric)
        names = np.array([f"class {index}" for index in range(problem.k)])
        wanted = clean_value(metric, problem)
        order = np.random.default_rng(seed).permutation(problem.k)
        by_name = call(metric, names[problem.y], problem.p[:, order], classes=names[order], **words)
        assert_same(by_name, wanted, f"columns in order {order} with names")
        by_number = call(metric, np.argsort(order)[problem.y], problem.p[:, order], **words)
        assert_same(by_number, wanted, f"columns in order {order} with numbers")


@pytest.mark.sampled
@every_metric
def test_one_column_says_what_two_say(metric: Metric) -> None:
    for one, two in zip(PROBLEMS["binary"][:2], PROBLEMS["two_column"], strict=True):
        assert (one.y == two.y).all()
        assert (one.p == two.p[:, 1]).all()
        counts = {"counts": np.random.default_rng(6).integers(1, 4, one.n)} if metric.counts else {}
        for words in ({}, counts, {"lens": "top_label"}, {"lens": "classwise"}):
            wanted = clean_value(metric, two, **words)
            assert_same(value(metric, one, **words), wanted, f"one column against two of {two} with {list(words)}")


def rows_of_kind(kind: str, k: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray | bool]]:
    """Labels, probabilities of few distinct rows, and what is said of each row beside them."""
    rng = np.random.default_rng(k)
    p = np.round(rng.dirichlet(np.ones(k), 90) * 5) + 0.2
    p /= p.sum(axis=1, keepdims=True)
    beside: dict[str, dict[str, np.ndarray | bool]] = {
        "labels": {},
        "soft": {"soft": True},
        "counts": {"counts": rng.integers(1, 3, 90)},
        "weights": {"sample_weight": rng.integers(1, 3, 90) / 2},
        "groups": {"groups": rng.integers(0, 3, 90)},
    }
    y = np.eye(k)[rng.integers(0, k, 90)] * 0.5 + 0.5 / k if kind == "soft" else rng.integers(0, k, 90)
    return y, p, beside[kind]


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("kind", ["labels", "soft", "counts", "weights", "groups"])
def test_resamples_follow_the_content_of_the_rows(kind: str, k: int) -> None:
    y, p, beside = rows_of_kind(kind, k)
    limits = []
    for order in (np.arange(90), np.random.default_rng(1).permutation(90)):
        own = {name: values[order] if isinstance(values, np.ndarray) else values for name, values in beside.items()}
        one, other = (cal.Predictions(y[order], q[order], **own) for q in (p, (p + 1 / k) / 2))
        single = [cal.interval(one, metric=metric, n_resamples=200, method="percentile") for metric in ("brier", "ace")]
        pair = cal.compare({"one": one, "other": other}, n_resamples=200).differences
        limits.append([limit for interval in (*single, *pair) for limit in (interval.low, interval.high)])
    assert limits[0] == pytest.approx(limits[1], abs=1e-12)
