"""What the values mean: they keep to the declared range, reach the ideal exactly where they should, and nowhere else."""

import numpy as np
import pytest

from calibrant import Predictions
from calibrant.metrics import Metric

from .problems import (
    COLUMNS,
    PROBLEMS,
    Problem,
    assert_same,
    clean_value,
    compositions,
    defined_value,
    enumerated,
    every_metric,
    every_shape_name,
    leaning_forecasts,
    metrics_that,
    mixed_with_uniform,
    problem_of,
    value,
)


def small_problems(shape: str, count: int) -> list[Problem]:
    """Few rows, coarse and extreme probabilities, any labels: sure forecasts, right and wrong, among them."""
    rng = np.random.default_rng(16)
    k = COLUMNS[shape]
    found = []
    for case in range(count):
        n = int(rng.integers(1, 25))
        p = rng.dirichlet(np.full(k, rng.choice([0.05, 0.5, 5])), size=n)
        if case % 3 == 1:
            p = np.eye(k)[rng.integers(k, size=n)]
        elif case % 3 == 2:
            p = rng.multinomial(4, np.ones(k) / k, size=n) / 4
        y = rng.integers(k, size=n) if case % 2 else p.argmax(axis=1)
        found.append(problem_of(y, p[:, 1].copy() if shape == "binary" else p, f"{shape}-small-{case}", case))
    return found


# Sure forecasts are what the bounds of many metrics are met by.
pytestmark = [
    pytest.mark.filterwarnings("ignore::calibrant.errors.HardPredictionsWarning"),
    pytest.mark.filterwarnings("ignore::calibrant.errors.BoundaryScoresWarning"),
]

SMALL = {shape: small_problems(shape, 18) for shape in COLUMNS}


@every_shape_name
@every_metric
def test_values_keep_to_their_range(metric: Metric, shape: str) -> None:
    clean_value(metric, PROBLEMS[shape][0])
    found = [defined_value(metric, problem) for problem in [*SMALL[shape], *PROBLEMS[shape]]]
    if metric.importance:
        for problem in SMALL[shape][::3]:
            weight = np.random.default_rng(17).exponential(size=problem.n)
            found.append(defined_value(metric, problem, sample_weight=weight))
    assert len(set(found) - {None}) > 1, "the same value for everything"


def is_proper(metric: Metric) -> bool:
    """Proper scores, their roots and other losses are ideal for sure and right forecasts."""
    return metric.info.ideal_for == "sure"


@every_shape_name
@metrics_that(lambda m: m.ideal is not None and m.info.ideal_for == "calibrated" and not m.info.order_dependent)
def test_the_ideal_is_met_by_calibrated_forecasts(metric: Metric, shape: str) -> None:
    """Every forecast comes true exactly as often as it says, which no sample does but an enumeration can."""
    forecasts = compositions(shape, 15)
    problem, counts = enumerated(shape, forecasts, forecasts)
    repeated = problem.take(np.repeat(np.arange(problem.n), counts))
    # Between few distinct scores, R's interpolation differs from the regression itself.
    words = {"surface": "direct"} if "surface" in metric.options else {}
    found = [clean_value(metric, repeated, **words)]
    if metric.counts:
        # Simulated labels expand counts to rows.
        many = 100 if metric.id == "vce_db" else 10_000
        found += [value(metric, problem, counts=counts * copies, **words) for copies in (1, many)]
    distances = [abs(number - metric.ideal) for number in found]
    # What corrects for the bias of a sample overcorrects an enumeration, by less the larger the sample is.
    assert max(distances) <= 1e-12 or distances[-1] <= distances[0] / 30, f"{distances} away from {metric.ideal}"


# nses divides by the variance that a forecast promises, and a sure one promises none.
@every_shape_name
@metrics_that(lambda m: m.ideal is not None and m.info.ideal_for != "nothing" and m.id != "nses")
def test_the_ideal_is_met_by_sure_and_right_forecasts(metric: Metric, shape: str) -> None:
    clean_value(metric, PROBLEMS[shape][0])
    y = np.arange(60) % COLUMNS[shape]
    sure = np.eye(COLUMNS[shape])[y]
    problem = problem_of(y, sure[:, 1].copy() if shape == "binary" else sure, "sure and right")
    found = defined_value(metric, problem)
    if is_proper(metric):
        assert found == metric.ideal
    elif found is not None:
        assert_same(found, metric.ideal, "sure and right")


@every_shape_name
@every_metric
def test_the_ideal_is_missed_by_miscalibrated_forecasts(metric: Metric, shape: str) -> None:
    """All forecasts favour one class: once too boldly, once too timidly. One-sided metrics see one of the two."""
    forecasts = leaning_forecasts(shape)
    seen = {}
    for word, toward in (("overconfident", True), ("underconfident", False)):
        problem, parts = enumerated(shape, forecasts, mixed_with_uniform(forecasts, toward=toward))
        rows = np.random.default_rng(18).permutation(np.repeat(np.arange(problem.n), parts))
        seen[word] = clean_value(metric, problem.take(rows))
        if metric.sides is not None and metric.info.sign_of != "midpoint":  # the middle of these forecasts is right
            drawn = {"rng": 0} if "rng" in metric.options else {}
            taken = problem.take(rows)
            found, lens = metric.of(Predictions(taken.y, taken.p, **taken.needed(metric)), **drawn)
            # Of one class a score is "overestimated", of the whole forecast it is "overconfident".
            wanted = (
                {"over": "too extreme", "unde": "too moderate"}[word[:4]] if metric.info.sign_of == "spread" else word
            )
            said = metric.direction(found, lens)
            assert said == wanted if metric.info.sign_of == "spread" else said[:4] == wanted[:4]
        elif metric.sides is None:
            assert metric.direction(seen[word]) == ""
    if metric.ideal is None:
        # The mean confidence does not depend on the labels.
        assert (seen["overconfident"] != seen["underconfident"]) == (metric.id != "mean_confidence")
        return
    assert max(abs(found - metric.ideal) for found in seen.values()) > 1e-3


def odd_problems(shape: str) -> list[Problem]:
    """Data at the limits: hardly any rows, one class, one score, sure forecasts, scores on and beside the edges of bins."""
    k = COLUMNS[shape]
    rng = np.random.default_rng(19)
    found: list[Problem] = []

    def add(name: str, y: np.ndarray, p: np.ndarray) -> None:
        found.append(problem_of(y, p[:, 1].copy() if shape == "binary" else p, f"{shape}: {name}"))

    random = rng.dirichlet(np.ones(k), size=30)
    for label in range(min(k, 3)):
        add(f"one row of class {label}", np.array([label]), random[:1])
        add(f"two rows of class {label}", np.array([label, label]), random[:2])
        add(f"class {label} only", np.full(30, label), random)
        add(f"always sure of class {label} and right", np.full(12, label), np.eye(k)[np.full(12, label)])
        add(f"always sure of class {label} and sometimes wrong", np.arange(12) % k, np.eye(k)[np.full(12, label)])
    add("two rows of two classes", np.array([0, 1]), random[:2])
    add("two rows alike", np.array([0, 1]), random[[0, 0]])
    add("one score", np.arange(30) % k, random[np.zeros(30, int)])
    add("uniform", np.arange(30) % k, np.full((30, k), 1 / k))
    add("sure and always wrong", (np.arange(30) + 1) % k, np.eye(k)[np.arange(30) % k])
    for name, score in edge_scores().items():
        rest = rng.dirichlet(np.ones(k - 1), size=len(score)) * (1 - score)[:, None]
        p = np.column_stack([rest, score])
        if k == 2:
            p[:, 0] = 1 - score
        add(name, rng.integers(k, size=len(score)), p.clip(0, 1))
    return found


def edge_scores() -> dict[str, np.ndarray]:
    edges = np.arange(16) / 15
    tiny = np.array([0.0, 5e-324, 2.3e-308, 1e-300, 1e-17, 2**-53, 0.5, 1 - 2**-53, 1.0])
    return {
        "on the edges": edges,
        "just above the edges": np.nextafter(edges[:-1], 2),
        "just below the edges": np.nextafter(edges[1:], -1),
        "tiny and nearly sure": tiny,
        "nearly all alike": np.nextafter(np.full(20, 0.3), np.arange(20) % 2),
    }


ODD = {shape: odd_problems(shape) for shape in COLUMNS}


@every_shape_name
@every_metric
@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
def test_odd_data_give_a_number_or_a_reason(metric: Metric, shape: str) -> None:
    clean_value(metric, PROBLEMS[shape][0])
    answers = [defined_value(metric, problem) for problem in ODD[shape]]
    assert len(answers) == len(ODD[shape])
