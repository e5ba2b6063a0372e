"""What the numbers mean is said, and said in another way gives the same: Predictions, views, logits, confidence, multilabel."""

from dataclasses import replace

import numpy as np
import pytest

import calibrant
from calibrant import Predictions
from calibrant.errors import InputTypeError, LensError, UndefinedMetricError
from calibrant.metrics import Metric
from calibrant.views import VectorView, View
from tests.calling import call

from .problems import (
    PROBLEMS,
    TIED,
    Problem,
    assert_same,
    clean_value,
    defined_value,
    every_metric,
    every_metric_in_turn,
    every_shape,
    metrics_that,
    problem_of,
    value,
)


@every_shape
@every_metric
def test_predictions_stand_for_arrays(metric: Metric, problems: list[Problem]) -> None:
    problem = problems[TIED]
    drawn = {"rng": 0} if "rng" in metric.options else {}
    weights = {"counts": np.arange(problem.n) % 3} if metric.counts else {}
    wanted = clean_value(metric, problem)
    predictions = Predictions(problem.y, problem.p, **problem.needed(metric))
    # Twice, because the second call finds what the first has sorted and summed.
    assert_same(call(metric, predictions, **drawn), wanted, "Predictions", 0)
    assert_same(call(metric, predictions, **drawn), wanted, "Predictions once more", 0)
    mask = np.random.default_rng(20).random(problem.n) < 0.7
    assert_same(
        call(metric, predictions, where=mask, **drawn), value(metric, problem.take(mask)), "some of Predictions"
    )
    wanted = value(metric, problem, **weights)
    weighted = Predictions(problem.y, problem.p, **problem.needed(metric), **weights)
    assert_same(call(metric, weighted, **drawn), wanted, "weighted Predictions", 0)
    found, lens = metric.of(weighted, **drawn)
    assert_same(found, wanted, "the value beside its lens", 0)
    assert isinstance(lens, str)
    with pytest.raises(InputTypeError):
        call(metric, predictions, problem.p, **drawn)


@every_metric_in_turn
def test_metrics_share_predictions_without_disturbing_each_other(metric: Metric) -> None:
    problem = PROBLEMS["three"][0]
    wanted = clean_value(metric, problem)
    shared = Predictions(problem.y, problem.p, groups=problem.groups, features=problem.features)
    for other in calibrant.catalogue.values():
        if other.info.recommended:
            other(shared, **{"rng": 0} if "rng" in other.options else {})
    found = call(metric, shared, **{"rng": 0} if "rng" in metric.options else {})
    assert_same(found, wanted, "Predictions that other metrics have read", 0)


@metrics_that(lambda m: not m.needs)
def test_views_stand_for_arrays(metric: Metric) -> None:
    drawn = {"rng": 0} if "rng" in metric.options else {}
    binary, three = PROBLEMS["binary"][0], PROBLEMS["three"][0]
    view = View(binary.p, binary.y.astype(np.uint8))
    vector = VectorView(three.p, three.y, None)
    assert_same(call(metric, view, **drawn), clean_value(metric, binary, lens="binary"), "a View")
    if metric.takes == "View":
        with pytest.raises(LensError):
            call(metric, vector, **drawn)
    else:
        assert_same(call(metric, vector, **drawn), clean_value(metric, three, lens="canonical"), "a VectorView")


@every_shape
@every_metric
def test_rows_average_to_the_metric(metric: Metric, problems: list[Problem]) -> None:
    means = ("calibration_in_the_large", "accuracy", "mean_confidence")
    is_row_mean = (metric.takes == "Block" and metric.finish is None) or metric.id in means
    assert metric.is_row_mean == is_row_mean
    for problem in problems:
        wanted = clean_value(metric, problem)
        if not is_row_mean:
            with pytest.raises(UndefinedMetricError):
                call(metric.rows, problem.y, problem.p, **problem.words(metric))
            continue
        rows = call(metric.rows, problem.y, problem.p, **problem.words(metric))
        assert rows.shape == (problem.n,)
        assert rows.dtype == np.float64
        assert_same(float(rows.mean()), wanted, f"the mean over rows of {problem}")
        weight = np.arange(problem.n) % 4
        if metric.importance:
            weighted = value(metric, problem, sample_weight=weight)
            assert_same(float(np.average(rows, weights=weight)), weighted, f"the weighted mean over rows of {problem}")
        # A row's own contribution does not depend on its company.
        alone = call(metric.rows, problem.y[5:6], problem.p[5:6], **problem.take(slice(5, 6)).words(metric))
        assert_same(float(alone[0]), float(rows[5]), f"a row of {problem} alone")
        if problem.k > 2:
            with pytest.raises(LensError):
                call(metric.rows, problem.y, problem.p, lens="classwise", **problem.words(metric))


def plain_softmax(logits: np.ndarray) -> np.ndarray:
    """Written out, without the shift by the maximum that the library makes."""
    if logits.ndim == 1:
        return 1 / (1 + np.exp(-logits))
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


@every_shape
@every_metric
def test_logits_are_probabilities(metric: Metric, problems: list[Problem]) -> None:
    problem = problems[0]
    clean_value(metric, problem)
    rng = np.random.default_rng(14)
    logits = rng.normal(0, 2, problem.p.shape).clip(-6, 6)
    words = problem.words(metric)
    wanted = call(metric, problem.y, plain_softmax(logits), **words)
    assert_same(call(metric, problem.y, logits, input="logit", **words), wanted, "logits")
    if logits.ndim == 2:
        # A constant added to a row of logits says nothing; whole numbers push out no digits of 1024ths.
        coarse = np.round(logits * 1024) / 1024
        moved = coarse + rng.integers(-900, 900, (len(logits), 1))
        still = call(metric, problem.y, coarse, input="logit", **words)
        assert_same(call(metric, problem.y, moved, input="logit", **words), still, "shifted logits")
    with np.errstate(all="raise"):
        assert_same(
            call(metric, problem.y, logits, input="logit", **words),
            wanted,
            "logits under strict arithmetic",
        )


@pytest.mark.filterwarnings("ignore::calibrant.errors.ReversedClassesWarning")
@pytest.mark.filterwarnings("ignore::calibrant.errors.BoundaryScoresWarning")
@every_shape
@every_metric
def test_large_logits_are_sure_forecasts(metric: Metric, problems: list[Problem]) -> None:
    problem = problems[0]
    clean_value(metric, problem)
    sure = np.eye(problem.k)[problem.y]
    # Some rows undecided, so that a metric which needs two different scores has them.
    sure[::3] = 1 / problem.k
    logits = np.where(sure == 1, 800.0, np.where(sure == 0, -800.0, 0.0))
    if problem.p.ndim == 1:
        sure, logits = sure[:, 1], np.where(sure[:, 1] == 1, 800.0, np.where(sure[:, 1] == 0, -800.0, 0.0))
    wanted = defined_value(metric, replace(problem, p=sure))
    found = defined_value(metric, replace(problem, p=logits), input="logit")
    assert (found is None) == (wanted is None)
    if found is not None:
        assert_same(found, wanted, "logits of 800")
    # Sure and wrong: a logit says how wrong, where a probability of 0 cannot.
    defined_value(metric, replace(problem, p=-logits), input="logit")


def draw_multilabel(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(15)
    p = rng.random((n, 3)) * 0.98 + 0.01
    return (rng.random((n, 3)) < p**1.5).astype(int), p


@pytest.mark.sampled
@every_metric
def test_multilabel_is_every_column_on_its_own(metric: Metric) -> None:
    y, p = draw_multilabel()
    problem = problem_of(y, p, "multilabel")
    try:
        whole = value(metric, problem, multilabel=True)
    except LensError:
        return  # a metric that compares classes with each other says so
    low, high = metric.range
    assert low <= whole <= high
    single = []
    for j in range(3):
        column = problem_of(y[:, j], p[:, j], "one column")
        single.append(value(metric, column, lens="binary"))
        assert_same(value(metric, problem, multilabel=True, lens=f"class:{j}"), single[j], f"column {j}")
    assert_same(value(metric, problem, multilabel=True, lens="classwise", combine="max"), max(single), "the largest")
    if metric.finish is None:
        combined = value(metric, problem, multilabel=True, lens="classwise", combine="mean")
        assert_same(combined, sum(single) / 3, "the mean over columns")
        combined = value(metric, problem, multilabel=True, lens="classwise", combine="sum")
        assert_same(combined, sum(single), "the sum over columns")
    one_column = problem_of(y[:, :1], p[:, :1], "a single column")
    assert_same(value(metric, one_column, multilabel=True), single[0], "multilabel with a single column")


@every_metric_in_turn
def test_confidence_is_the_top_label(metric: Metric) -> None:
    problem = PROBLEMS["three"][TIED]
    predicted = problem.p.argmax(axis=1)
    right = problem_of(predicted == problem.y, problem.p.max(axis=1), "confidence")
    words = problem.words(metric)
    try:
        found = call(metric, right.y, right.p, input="confidence", **words)
    except LensError:
        return  # a metric that reads every class says so
    assert_same(found, value(metric, problem, lens="top_label"), "confidence and correctness against the top label")
