"""The tests that metrics bring along: a table from metric and method to a function that gives the p-value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, Use
from ..metrics.registry import OWN_TESTS, Metric
from ..util.sums import accurate_sum
from ..views.lenses import AnyView
from ..views.view import Block, View

__all__ = [
    "ANY_SIDE",
    "DEFAULT_TESTS",
    "LEAST_TERMS",
    "OWN_TESTS",
    "OwnTest",
    "TestInput",
    "TestOutcome",
    "counts_rows",
    "effective_terms",
    "few_events",
    "own_test",
    "row_variance",
    "too_few_terms",
]

Floats = NDArray[np.float64]

ANY_SIDE = ("greater", "less", "two-sided")

# The least sum of p(1 - p) for which large-sample distributions are used.
LEAST_VARIANCE = 30.0
# The fewest equal terms that a sum must be worth for its distribution to be nearly normal.
LEAST_TERMS = 15.0
# Variances below this have no squares.
SMALLEST = 1e-150


@dataclass(frozen=True)
class TestInput:
    """What a test gets: the metric with its options, the views it reads, its value there, and how to decide."""

    metric: Metric
    options: Mapping[str, Any]
    views: list[AnyView]
    statistic: float
    alpha: float
    alternative: str
    n_resamples: int
    seed: int

    @property
    def view(self) -> Any:
        """The one view there is."""
        return self.views[0]


@dataclass(frozen=True)
class TestOutcome:
    """What a test found: beyond `critical_value` (of two sides also below `lower_critical_value`) the metric has a p-value of at most `alpha`.

    Where the alternative is less, values below `critical_value` have. None where a limit is unknown.
    """

    pvalue: float
    critical_value: float | None = None
    null_distribution: str = ""
    """The distribution of the statistic if the scores are right, in words."""
    detail: Mapping[str, float] = field(default_factory=dict)
    null_hypothesis: str = ""
    """What is tested, where that is not all of the scores."""
    lower_critical_value: float | None = None


Condition = Callable[[TestInput], str]
"""Why a null distribution does not hold for these rows, as a clause; empty where it does."""


@dataclass(frozen=True)
class OwnTest:
    """A test of a metric: `sides` are the alternatives that its null distribution is known for."""

    method: str
    run: Callable[[TestInput], TestOutcome]
    sides: tuple[str, ...]
    form: Condition
    """Why the test is not made for these options or weights."""
    conditions: tuple[Condition, ...]
    """What else its null distribution needs, the first that fails being named."""

    def __call__(self, asked: TestInput) -> TestOutcome:
        if asked.alternative not in self.sides:
            raise ArgumentError(
                "alternative",
                f"must be {self.sides[0]!r} for {asked.metric.id} with {self.method!r}; got {asked.alternative!r}",
                Use("method", "consistency"),
            )
        found = self.run(asked)
        why = self.off(asked)
        return replace(found, null_distribution=f"{found.null_distribution} (approximate: {why})") if why else found

    def off(self, asked: TestInput) -> str:
        """Why the null distribution does not hold for these rows; empty where it does."""
        if math.isinf(asked.statistic) and _is_impossible(asked.view):
            return ""  # an outcome of probability 0 occurred, which rejects whatever the distribution
        return next(filter(None, (condition(asked) for condition in (self.form, *self.conditions))), "")

    def is_for(self, asked: TestInput) -> bool:
        """Whether the test is made for these options and weights."""
        return not self.form(asked)


def _is_impossible(view: AnyView) -> bool:
    """Whether a label that was given probability 0 occurred."""
    if isinstance(view, View):
        return bool((view.score == 1 - view.outcome).any())
    return view.labels is not None and bool((view.each_row(lambda block: block.expect(block.probs)) == 0).any())


def _half_gini(block: Block) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", block.probs, 1 - block.probs) / 2)


def row_variance(view: AnyView) -> Floats:
    """p(1 - p) of each row; for a whole distribution the half of the sum over its classes, which for two classes is the same."""
    return view.score * (1 - view.score) if isinstance(view, View) else view.each_row(_half_gini)


def few_events(view: AnyView, least: float = LEAST_VARIANCE) -> str:
    """Why outcomes vary too little for a large-sample distribution: the sum of p(1 - p) is below `least`.

    Under importance weights the sum counts as many equal rows as give a weighted sum the same kurtosis: (sum w^2 v)^2 / sum w^4 v.
    """
    variance, weight = row_variance(view), view.weights
    if view.weight_kind == "importance":
        weight = weight / weight.max()
        fourth = accurate_sum(weight**4 * variance)
        total = accurate_sum(weight**2 * variance) ** 2 / fourth if fourth > 0 else 0.0
    else:
        total = accurate_sum(weight * variance)
    # Without any variance nothing is left to chance, and what is said of it is exact.
    return "" if total >= least or not variance.any() else f"the sum of p(1 - p) is {total:.3g}, below {least:g}"


def effective_terms(variance: Floats, fourth: Floats, copies: Floats | None = None) -> float:
    """How many equal terms a sum of independent terms with these central moments is worth: the inverse of its kurtosis."""
    copies = np.ones(len(variance)) if copies is None else copies
    top = float(variance.max(initial=0.0))
    if top <= SMALLEST:  # of squares nothing would be left
        return 0.0 if top > 0 else math.inf
    second, last = accurate_sum(copies * (variance / top)), accurate_sum(copies * (fourth / top**2))
    return second**2 / last if last > 0 else 0.0


def too_few_terms(terms: float, least: float = LEAST_TERMS) -> str:
    """Why so few effective terms do not make a sum normal."""
    if terms >= least:
        return ""
    return f"a few rows decide: the sum is worth {terms:.3g} equal terms, fewer than {least:g}"


def counts_rows(asked: TestInput) -> str:
    """Why a distribution for numbers of rows does not hold: importance weights are not numbers of rows."""
    return "importance weights are not numbers of rows" if asked.view.weight_kind == "importance" else ""


Run = Callable[[TestInput], TestOutcome]
DEFAULT_TESTS: dict[str, str] = {}
"""The method that ``"auto"`` stands for; a metric that has none is tested by drawing outcomes."""


def _same_view(asked: TestInput) -> AnyView:
    return asked.views[0]


def own_test(
    *metrics: str,
    method: str,
    default: bool = True,
    sides: tuple[str, ...] = ("greater",),
    form: Condition = lambda asked: "",
    off: Condition | None = None,
    exact: bool = False,
    reads: Callable[[TestInput], AnyView] = _same_view,
) -> Callable[[Run], Run]:
    """Enter a test of these metrics under the name of a method; the first one entered with `default` is what ``"auto"`` takes.

    `form` says for which options and weights the test is not made. Unless it is `exact` (it holds for any number of rows), its null
    distribution needs a sum of p(1 - p) of at least 30 over the rows of the view that it `reads`; `off` names a further condition.
    """
    enough: Condition | None = None if exact else lambda asked: few_events(reads(asked))
    conditions = tuple(condition for condition in (enough, off) if condition is not None)

    def enter(run: Run) -> Run:
        for metric in metrics:
            OWN_TESTS.setdefault(metric, {})[method] = OwnTest(method, run, sides, form, conditions)
            if default:
                DEFAULT_TESTS.setdefault(metric, method)
        return run

    return enter
