"""Data and calls shared by the property tests: random problems, exact distributions, and how a metric is fed by its declared facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import calibrant
from calibrant.errors import LensError, UndefinedMetricError
from calibrant.metrics import Metric
from tests.calling import call
from tests.in_turn import in_turn, spread

Array = NDArray[Any]

COLUMNS = {"binary": 2, "two_column": 2, "three": 3, "ten": 10}
ROWS = 80


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """Labels as class indices, probabilities, and what some metrics ask for beside them."""

    name: str
    y: Array
    p: Array
    groups: Array
    features: Array

    def __repr__(self) -> str:
        return self.name

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def k(self) -> int:
        return 2 if self.p.ndim == 1 else self.p.shape[1]

    def take(self, rows: Array) -> Problem:
        return replace(self, y=self.y[rows], p=self.p[rows], groups=self.groups[rows], features=self.features[rows])

    def needed(self, metric: Metric) -> dict[str, Array]:
        """Groups or features, for a metric that declares that it needs them."""
        return {word: getattr(self, word) for word in ("groups", "features") if word in metric.needs}

    def words(self, metric: Metric) -> dict[str, Any]:
        """Every keyword the metric cannot do without; a fixed seed, where it draws."""
        return self.needed(metric) | ({"rng": 0} if "rng" in metric.options else {})


def problem_of(y: Any, p: Any, name: str = "given", seed: int = 0) -> Problem:
    """Given labels and probabilities, with random groups and features beside them."""
    y, p = np.asarray(y), np.asarray(p)
    rng = np.random.default_rng(seed)
    groups = np.array(["east", "north", "west"])[np.arange(len(y)) % 3]
    return Problem(name, y, p, rng.permutation(groups), rng.normal(size=(len(y), 2)))


def random_problem(shape: str, seed: int, *, tied: bool = False, n: int = ROWS) -> Problem:
    """Overconfident predictions, so that errors are well away from 0; every class is seen.

    Tied ones take few values, all multiples of 1/30, so that half of them lie exactly on an edge of 15 equal bins.
    """
    rng = np.random.default_rng([seed, n, COLUMNS[shape], int(tied)])
    k = COLUMNS[shape]
    if tied:
        # The first forecasts share their maximum between classes, for the rule that ties go to the lowest one.
        spare = 30 - k
        parts = np.vstack([np.full(k, 30 // k), 1 + rng.multinomial(spare, np.ones(k) / k, size=7)])
        parts[1, :2] += (parts[1].max(), parts[1].max()) - parts[1, :2]
        parts[:, -1] += 30 - parts.sum(axis=1)
        parts = parts[(parts > 0).all(axis=1)]
        forecast = parts[rng.integers(len(parts), size=n)] / 30
    else:
        forecast = rng.dirichlet(np.full(k, 0.8), size=n) * 0.98 + 0.02 / k
    truth = forecast**0.6
    truth /= truth.sum(axis=1, keepdims=True)
    y = (rng.random((n, 1)) > truth.cumsum(axis=1)).sum(axis=1).clip(0, k - 1)
    y[: 2 * k] = np.tile(np.arange(k), 2)[:n]
    if k == 2:
        forecast[:, 0] = 1 - forecast[:, 1]
    p = forecast[:, 1].copy() if shape == "binary" else forecast
    return problem_of(y, p, f"{shape}-{'tied' if tied else 'smooth'}-{seed}", seed)


# For each shape one without ties, one that is all ties and edges, and for the main shapes one of an odd number of rows.
PROBLEMS = {
    shape: [random_problem(shape, 0), random_problem(shape, 2, tied=True)]
    + ([random_problem(shape, 1, n=61)] if shape in ("binary", "three") else [])
    for shape in COLUMNS
}
TIED = 1  # the place of the problem with ties


def metrics_that(fits: Callable[[Metric], bool]) -> Any:
    """A test of the metrics whose entries declare that the property applies to them."""
    return spread("metric", list(filter(fits, calibrant.catalogue.values())), lambda metric: metric.id)


every_metric = metrics_that(lambda _: True)
every_metric_in_turn = in_turn("metric", list(calibrant.catalogue.values()), lambda metric: metric.id)
# Two columns are read as one, and ten as three: their turn comes with the long forms.
LONG = ("two_column", "ten")


def _marked(shape: str, value: Any) -> Any:
    return pytest.param(value, id=shape, marks=[pytest.mark.deep] if shape in LONG else [])


every_shape_name = pytest.mark.parametrize("shape", [_marked(shape, shape) for shape in COLUMNS])
every_shape = pytest.mark.parametrize("problems", [_marked(shape, found) for shape, found in PROBLEMS.items()])


def value(metric: Metric, problem: Problem, **words: Any) -> float:
    """The metric of a problem, with what it needs."""
    return float(call(metric, problem.y, problem.p, **problem.words(metric) | words))


def clean_value(metric: Metric, problem: Problem, **words: Any) -> float:
    """The same on ordinary data, where only a lens that does not fit excuses a metric from answering."""
    try:
        return value(metric, problem, **words)
    except LensError:
        pytest.skip(f"the lens of {metric.id} does not fit {problem.name}")


def defined_value(metric: Metric, problem: Problem, **words: Any) -> float | None:
    """The value in the metric's range, or None where it says why it has none; anything else is a failure."""
    reason = None
    try:
        found = value(metric, problem, **words)
    except UndefinedMetricError as error:
        reason = str(error)
    if reason is not None:
        assert metric.id in reason, f"{metric.id} has no value on {problem}, and the message does not name it: {reason}"
        return None
    low, high = metric.range
    assert type(found) is float, f"{metric.id} gave a {type(found).__name__}"
    assert low <= found <= high, f"{metric.id} on {problem} is {found!r}, outside {metric.range}"  # NaN is outside
    return found


def assert_same(found: float, wanted: float, what: str, tolerance: float = 1e-12) -> None:
    """Equal within `tolerance`, relative for large values and absolute below 1; equal infinities are the same."""
    close = found == wanted or abs(found - wanted) <= tolerance * max(1.0, abs(wanted))
    assert close, f"{what}: {found!r} instead of {wanted!r}"


def compositions(shape: str, count: int, seed: int = 0) -> Array:
    """Rows of K positive whole numbers that sum to 16: sixteenths are exact, and each lies in its own of 15 bins."""
    k = COLUMNS[shape]
    if k == 2:
        first = np.linspace(1, 15, count).astype(int)
        return np.column_stack([16 - first, first])
    rng = np.random.default_rng(seed)
    return np.unique(1 + rng.multinomial(16 - k, np.ones(k) / k, size=count), axis=0)


def enumerated(shape: str, forecasts: Array, outcomes: Array) -> tuple[Problem, Array]:
    """One row for each forecast and label, with counts: `forecasts` in sixteenths, `outcomes` in whole parts."""
    atom, label = np.nonzero(outcomes)
    p = forecasts[atom] / 16
    p = p[:, 1].copy() if shape == "binary" else p
    problem = problem_of(label, p, f"{shape}-enumerated")
    # Groups and features belong to the forecast: then what holds for every forecast also holds given them.
    groups, features = problem.groups[: len(forecasts)], problem.features[: len(forecasts)]
    return replace(problem, groups=groups[atom], features=features[atom]), outcomes[atom, label]


def mixed_with_uniform(forecasts: Array, *, toward: bool) -> Array:
    """Outcome parts halfway between forecast and uniform (overconfident), or with the forecast halfway (underconfident)."""
    k = forecasts.shape[1]
    return k * forecasts + 16 if toward else 2 * k * forecasts - 16


def leaning_forecasts(shape: str) -> Array:
    """Forecasts in sixteenths that all favour one class, and leave room for an even surer truth."""
    if COLUMNS[shape] == 2:
        return np.array([[7, 9], [6, 10], [5, 11], [4, 12]])
    if shape == "three":
        return np.array([[10, 3, 3], [9, 4, 3], [8, 3, 5], [7, 4, 5]])
    rest = np.ones((4, 9), int)
    rest[1:, 3] += (1, 2, 3)
    return np.column_stack([16 - rest.sum(axis=1), rest])
