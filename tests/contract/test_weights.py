"""Weights: unit is none, zero is removed, counts are repeated rows, and only ratios of importance matter."""

import numpy as np
import pytest

from calibrant.errors import WeightsNotSupportedError
from calibrant.metrics import Metric

from .problems import PROBLEMS, Problem, assert_same, clean_value, every_metric, every_shape, metrics_that, value

SCALES = (2, 0.3, 1e6, 1e-6, 1e-300)


@every_shape
@every_metric
def test_unit_weights_are_no_weights(metric: Metric, problems: list[Problem]) -> None:
    for problem in problems:
        plain = clean_value(metric, problem)
        ones = np.ones(problem.n, int)
        assert_same(value(metric, problem, counts=ones), plain, f"unit counts on {problem}")
        assert_same(value(metric, problem, sample_weight=ones), plain, f"unit sample_weight on {problem}")
        # Equal weights are unit weights, and a third has no exact double.
        assert_same(value(metric, problem, sample_weight=ones / 3), plain, f"equal sample_weight on {problem}")


@every_shape
@every_metric
def test_a_row_of_weight_zero_is_no_row(metric: Metric, problems: list[Problem]) -> None:
    for problem in problems:
        clean_value(metric, problem)
        # A metric without counts or importance still takes 0, which drops the row, and 1.
        rng = np.random.default_rng(7)
        weights = {
            "counts": rng.integers(0, 4 if metric.counts else 2, problem.n),
            "sample_weight": rng.integers(0, 2, problem.n)
            * (rng.uniform(0.1, 3, problem.n) if metric.importance else 1),
        }
        for word, weight in weights.items():
            weight[[0, -1]] = 0  # the ends are where a slice goes wrong
            kept = weight > 0
            wanted = value(metric, problem.take(kept), **{word: weight[kept]})
            assert_same(value(metric, problem, **{word: weight}), wanted, f"zero {word} on {problem}")


@every_shape
@metrics_that(lambda m: m.info.repeatable and m.info.deterministic)
def test_counts_are_repeated_rows(metric: Metric, problems: list[Problem]) -> None:
    for problem in problems:
        clean_value(metric, problem)
        counts = np.random.default_rng(9).integers(0, 4, problem.n)
        if not metric.counts:
            with pytest.raises(WeightsNotSupportedError):
                value(metric, problem, counts=counts)
            continue
        wanted = value(metric, problem.take(np.repeat(np.arange(problem.n), counts)))
        assert_same(value(metric, problem, counts=counts), wanted, f"counts against repeated rows on {problem}")


@every_shape
@every_metric
def test_only_ratios_of_importance_matter(metric: Metric, problems: list[Problem]) -> None:
    for problem in problems:
        clean_value(metric, problem)
        real = np.random.default_rng(8).uniform(0.1, 3, problem.n)
        real[3] = 0
        # The sum of these is a multiple of 15, so that some cuts between equal parts fall exactly between two rows.
        whole = 1 + np.arange(problem.n) % 2
        for weight, scales in ((real, SCALES), (whole, (0.3,))):
            if not metric.importance:
                with pytest.raises(WeightsNotSupportedError):
                    value(metric, problem, sample_weight=weight)
                continue
            wanted = value(metric, problem, sample_weight=weight)
            for scale in scales:
                found = value(metric, problem, sample_weight=weight * scale)
                assert_same(found, wanted, f"sample_weight times {scale} on {problem}")


@metrics_that(lambda m: m.importance)
def test_importance_is_not_ignored(metric: Metric) -> None:
    """Weights that are read and forgotten would pass every other test of `sample_weight`."""
    problem = PROBLEMS["binary"][0]
    plain = clean_value(metric, problem)
    rng = np.random.default_rng(13)
    assert any(value(metric, problem, sample_weight=rng.exponential(size=problem.n)) != plain for _ in range(5))


@every_shape
@every_metric
def test_where_keeps_rows(metric: Metric, problems: list[Problem]) -> None:
    for problem in problems:
        clean_value(metric, problem)
        mask = np.random.default_rng(10).random(problem.n) < 0.7
        wanted = value(metric, problem.take(mask))
        assert_same(value(metric, problem, where=mask), wanted, f"a mask against its rows on {problem}")


# A metric outside the catalogue that declares what it cannot do.
