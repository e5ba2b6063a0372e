"""The main properties once more on many small random problems, where ties, single rows and missing classes are common."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibrant.metrics import Metric

from .problems import (
    COLUMNS,
    PROBLEMS,
    Problem,
    assert_same,
    clean_value,
    defined_value,
    every_metric,
    every_shape_name,
    problem_of,
)

# Small random problems often look like hard decisions, of which calibrant warns.
pytestmark = [pytest.mark.deep, pytest.mark.filterwarnings("ignore::calibrant.errors.InputWarning")]


def draw_problem(shape: str, seed: int) -> Problem:
    """Any labels, and probabilities that are smooth, in quarters, in thirtieths, or mostly sure."""
    rng = np.random.default_rng([seed, COLUMNS[shape]])
    k, n = COLUMNS[shape], int(rng.integers(1, 60))
    kind = rng.integers(4)
    if kind == 0:
        p = rng.dirichlet(np.ones(k), size=n)
    else:
        # Thousandths for the sure ones: closer to 1, what is missing to 1 has too few digits for a variance.
        parts = {1: 4, 2: 30, 3: 1000}[int(kind)]
        p = rng.multinomial(parts, rng.dirichlet(np.full(k, 0.03 if kind == 3 else 1.0), size=n)) / parts
    if k == 2:
        p[:, 0] = 1 - p[:, 1]
    y = rng.integers(rng.integers(1, k + 1), size=n)
    return problem_of(y, p[:, 1].copy() if shape == "binary" else p, f"{shape}-{seed}", seed)


def assert_same_answer(metric: Metric, found: float | None, wanted: float | None, what: str) -> None:
    """The same number, or no number for both."""
    assert (found is None) == (wanted is None), f"{metric.id}, {what}: {found} instead of {wanted}"
    if found is not None and wanted is not None:
        assert_same(found, wanted, f"{metric.id}, {what}", 1e-10)


@every_shape_name
@every_metric
def test_the_main_laws_hold_for_many(metric: Metric, shape: str) -> None:
    clean_value(metric, PROBLEMS[shape][0])
    for seed in range(50):
        problem = draw_problem(shape, seed)
        rng = np.random.default_rng(seed)
        plain = defined_value(metric, problem)
        ones = np.ones(problem.n, int)
        pairs: dict[str, tuple[Problem, dict[str, Any], float | None]] = {
            "unit counts": (problem, {"counts": ones}, plain),
            "unit sample_weight": (problem, {"sample_weight": ones}, plain),
        }
        ordered = metric.info.order_dependent or not metric.info.deterministic
        if not ordered:
            pairs["another order"] = (problem.take(rng.permutation(problem.n)), {}, plain)
        counts = rng.integers(0, 4, problem.n)
        if metric.counts and metric.info.repeatable and counts.any() and not ordered:
            repeated = problem.take(np.repeat(np.arange(problem.n), counts))
            pairs["repeated rows"] = (repeated, {}, defined_value(metric, problem, counts=counts))
        weight = rng.integers(0, 3, problem.n) * rng.choice([1.0, 0.1, 0.37])
        if metric.importance and weight.any():
            wanted = defined_value(metric, problem, sample_weight=weight)
            kept = weight > 0
            pairs["zero weights"] = (problem.take(kept), {"sample_weight": weight[kept]}, wanted)
            pairs["scaled weights"] = (problem, {"sample_weight": weight * 0.3}, wanted)
            pairs["tiny weights"] = (problem, {"sample_weight": weight * 1e-300}, wanted)
        for what, (other, words, wanted) in pairs.items():
            assert_same_answer(metric, defined_value(metric, other, **words), wanted, f"{what} on {problem}")
