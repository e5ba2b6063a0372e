"""Places carry no meaning: neither the order of the rows, nor that of the classes, nor one column instead of two."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import Metric

from .problems import (
    PROBLEMS,
    Problem,
    assert_same,
    clean_value,
    every_metric,
    every_shape,
    random_problem,
    value,
)

ORDERS = 20


def skip_if_order_matters(metric: Metric) -> None:
    if metric.order_dependent or not metric.deterministic:
        pytest.skip(f"{metric.id} declares that it depends on the order of the rows, or draws")


@every_shape
@every_metric
def test_the_order_of_rows_changes_nothing(metric: Metric, problems: list[Problem]) -> None:
    skip_if_order_matters(metric)
    # Equal-width bins of unweighted rows are added up in integers, so not even the last bit may move.
    exact = metric.takes == "View" and metric.options.get("binning") == "equal_width"
    rng = np.random.default_rng(11)
    for problem in problems:
        wanted = clean_value(metric, problem)
        for _ in range(ORDERS // len(problems) + 1):
            found = value(metric, problem.take(rng.permutation(problem.n)))
            assert_same(found, wanted, f"other order of {problem}", 0 if exact else 1e-12)


@every_shape
@every_metric
def test_the_order_of_weighted_rows_changes_nothing(metric: Metric, problems: list[Problem]) -> None:
    skip_if_order_matters(metric)
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
@every_metric
def test_the_order_of_classes_changes_nothing(metric: Metric, shape: str) -> None:
    for seed in (4, 5):
        # Random reals have no ties of the maximum, which go to the lowest class and so would depend on the order.
        problem = random_problem(shape, seed)
        words = problem.words(metric)
        names = np.array([f"class {index}" for index in range(problem.k)])
        wanted = clean_value(metric, problem)
        order = np.random.default_rng(seed).permutation(problem.k)
        by_name = metric(names[problem.y], problem.p[:, order], classes=names[order], **words)
        assert_same(by_name, wanted, f"columns in order {order} with names")
        by_number = metric(np.argsort(order)[problem.y], problem.p[:, order], **words)
        assert_same(by_number, wanted, f"columns in order {order} with numbers")


@every_metric
def test_one_column_says_what_two_say(metric: Metric) -> None:
    for one, two in zip(PROBLEMS["binary"][:2], PROBLEMS["two_column"], strict=True):
        assert (one.y == two.y).all()
        assert (one.p == two.p[:, 1]).all()
        assert_same(value(metric, one), clean_value(metric, two), f"one column against two of {two}")
        counts = np.random.default_rng(6).integers(1, 4, one.n)
        if metric.counts:
            wanted = value(metric, two, counts=counts)
            assert_same(value(metric, one, counts=counts), wanted, f"one column against two of {two}, with counts")
