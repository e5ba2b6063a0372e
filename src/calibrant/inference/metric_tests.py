"""Registry of the tests of each metric: metric and method to a function that returns the p-value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..metrics.registry import OWN_TESTS, Metric
from ..util.arrays import Floats
from ..util.sums import accurate_sum
from ..views.lenses import AnyView
from ..views.view import View

ANY_SIDE = ("greater", "less", "two-sided")

# The least sum of p(1 - p) for which asymptotic distributions are used.
LEAST_VARIANCE = 30.0
# The least effective number of terms for which a sum is treated as normal.
LEAST_TERMS = 15.0
# Squares of smaller variances underflow.
SMALLEST = 1e-150


@dataclass(frozen=True)
class TestInput:
    """Input of a test: the metric with its options, the views, the observed value, and the parameters of the test."""

    metric: Metric
    options: Mapping[str, Any]
    views: list[AnyView]
    statistic: float
    alpha: float
    alternative: str
    n_resamples: int
    seed: int
    reasons: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What `OwnTest.off` returned, by method: it reads all rows, and is needed to choose a test and to describe it."""

    @property
    def view(self) -> Any:
        """The single view."""
        return self.views[0]


@dataclass(frozen=True)
class TestOutcome:
    """Outcome of a test: values of the metric beyond `critical_value` (for two-sided tests also below `lower_critical_value`) are significant.

    For ``alternative="less"`` values below `critical_value` are. None where a critical value is unknown.
    """

    pvalue: float
    critical_value: float | None = None
    null_distribution: str = ""
    """Description of the null distribution."""
    detail: Mapping[str, float] = field(default_factory=dict)
    null_hypothesis: str = ""
    """The null hypothesis, where it is not calibration as a whole."""
    lower_critical_value: float | None = None
    by_chance: float | None = None
    """Expected value of the metric under the null hypothesis; None where unknown."""
    statistic: float | None = None
    """The value that is compared with the critical values, where the test chooses options of the metric, such as the bins, by itself."""


def usual_side(metric: Metric) -> str:
    """The alternative of a metric where none is stated."""
    return "two-sided" if metric.proper == "strictly" else metric.alternative


Condition = Callable[[TestInput], str]
"""Why a null distribution is inaccurate for these rows, as a clause; empty where it is accurate."""


@dataclass(frozen=True)
class OwnTest:
    """A test of a metric; `sides` are the alternatives for which its null distribution is known."""

    method: str
    run: Callable[[TestInput], TestOutcome]
    sides: tuple[str, ...]
    form: Condition
    """Why the test does not apply to these options or weights."""
    conditions: tuple[Condition, ...]
    """Further conditions of its null distribution; the first that fails is reported."""

    def __call__(self, asked: TestInput) -> TestOutcome:
        if asked.alternative not in self.sides:
            problem = f"must be {self.sides[0]!r} for {asked.metric.id} with {self.method!r}; got {asked.alternative!r}"
            raise ArgumentError("alternative", problem, "use method='consistency'")
        found = self.run(asked)
        why = self.off(asked)
        return replace(found, null_distribution=f"{found.null_distribution} (approximate: {why})") if why else found

    def off(self, asked: TestInput) -> str:
        """Why the null distribution is inaccurate for these rows; empty where it is accurate."""
        if self.method not in asked.reasons:
            impossible = math.isinf(asked.statistic) and _is_impossible(asked.view)
            # Where an outcome of probability 0 occurred, every distribution rejects.
            conditions = () if impossible else (self.form, *self.conditions)
            asked.reasons[self.method] = next(filter(None, (condition(asked) for condition in conditions)), "")
        return asked.reasons[self.method]


def _is_impossible(view: AnyView) -> bool:
    """Whether a label of predicted probability 0 occurred."""
    if isinstance(view, View):
        return bool((view.score == 1 - view.outcome).any())
    return view.labels is not None and bool((view.each_row(lambda block: block.expect(block.probs)) == 0).any())


def row_variance(view: AnyView) -> Floats:
    """p(1 - p) of each row; for several classes half the sum over the classes, which agrees for two."""
    if isinstance(view, View):
        return view.score * (1 - view.score)
    return view.each_row(lambda block: np.einsum("ij,ij->i", block.probs, 1 - block.probs) / 2)


def few_events(view: AnyView, least: float = LEAST_VARIANCE) -> str:
    """Why outcomes vary too little for an asymptotic distribution: the sum of p(1 - p) is below `least`.

    With importance weights it is that of the number of equally weighted rows with the same kurtosis: (sum w^2 v)^2 / sum w^4 v.
    """
    variance = row_variance(view)
    if view.weight is None:
        total = accurate_sum(variance)
    elif view.weight_kind == "importance":
        weight = view.weights / view.weights.max()
        fourth = accurate_sum(weight**4 * variance)
        total = accurate_sum(weight**2 * variance) ** 2 / fourth if fourth > 0 else 0.0
    else:
        total = accurate_sum(view.weights * variance)
    # Without any variance the outcome is certain, and the test is exact.
    return "" if total >= least or not variance.any() else f"the sum of p(1 - p) is {total:.3g}, below {least:g}"


def effective_terms(variance: Floats, fourth: Floats, copies: Floats | None = None) -> float:
    """Effective number of equal terms of a sum of independent terms with these central moments: the inverse of its kurtosis."""
    copies = np.ones(len(variance)) if copies is None else copies
    top = float(variance.max(initial=0.0))
    if top <= SMALLEST:  # squares would underflow
        return 0.0 if top > 0 else math.inf
    second, last = accurate_sum(copies * (variance / top)), accurate_sum(copies * (fourth / top**2))
    return second**2 / last if last > 0 else 0.0


def too_few_terms(terms: float, least: float = LEAST_TERMS) -> str:
    """Why a sum with so few effective terms is not approximately normal."""
    if terms >= least:
        return ""
    return f"a few rows dominate: the effective number of terms is {terms:.3g}, below {least:g}"


def counts_rows(asked: TestInput) -> str:
    """Why a distribution for counts of rows does not apply to importance weights."""
    return "importance weights are not counts of rows" if asked.view.weight_kind == "importance" else ""


Run = Callable[[TestInput], TestOutcome]
DEFAULT_TESTS: dict[str, str] = {}
"""The method used by ``"auto"``; metrics without one are tested by simulated labels."""


def default_test(metric: str) -> OwnTest | None:
    """The test that ``"auto"`` uses for a metric where its null distribution is accurate."""
    return OWN_TESTS.get(metric, {}).get(DEFAULT_TESTS.get(metric, ""))


NULL_DRAWS: dict[str, Callable[[TestInput], Floats | None]] = {}
"""Values of a metric for `n_resamples` sets of labels simulated row by row, where this is faster than one evaluation for each set, else None."""


def own_test(
    *metrics: str,
    method: str,
    default: bool = True,
    sides: tuple[str, ...] = ("greater",),
    form: Condition = lambda asked: "",
    off: Condition | None = None,
    exact: bool = False,
    reads: Callable[[TestInput], AnyView] = lambda asked: asked.view,
) -> Callable[[Run], Run]:
    """Register a test of these metrics as a method; the first one registered with `default` is used by ``"auto"``.

    `form` gives the reason why a test does not apply to certain options or weights. Unless it is `exact` (valid for any number of rows), its null
    distribution requires a sum of p(1 - p) of at least 30 over the rows of the view that it `reads`; `off` is a further condition.
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
