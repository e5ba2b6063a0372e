"""The tests that metrics bring along: a table from metric and method to a function that gives the p-value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ArgumentError
from ..lenses import AnyView
from ..registry import Metric

__all__ = ["ANY_SIDE", "DEFAULT_TESTS", "OWN_TESTS", "Asked", "Found", "OwnTest", "counts_rows", "own_test"]

ANY_SIDE = ("greater", "less", "two-sided")


@dataclass(frozen=True)
class Asked:
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
class Found:
    """What a test found: beyond `threshold` (of two sides also below `lower_threshold`) the metric has a p-value of at most `alpha`.

    Where the alternative is less, values below `threshold` have. None where a limit is unknown.
    """

    pvalue: float
    threshold: float | None = None
    law: str = ""
    """The law of the statistic if the scores are right, in words."""
    detail: Mapping[str, float] = field(default_factory=dict)
    hypothesis: str = ""
    """What is tested, where that is not all of the scores."""
    lower_threshold: float | None = None


@dataclass(frozen=True)
class OwnTest:
    """A test of a metric: `sides` are the alternatives that its law knows."""

    method: str
    run: Callable[[Asked], Found]
    sides: tuple[str, ...]
    off: Callable[[Asked], str]
    """Why the law does not hold for these rows, as what is said of it; empty where it does."""

    def __call__(self, asked: Asked) -> Found:
        if asked.alternative not in self.sides:
            raise ArgumentError(
                "alternative",
                f"of {asked.metric.id} by {self.method!r} is {self.sides[0]!r}; got {asked.alternative!r}",
                "use method='consistency'",
            )
        return self.run(asked)


def counts_rows(asked: Asked) -> str:
    """Why a law for numbers of rows does not hold: importance weights are none."""
    return "counts rows, and these have importance weights" if asked.view.weight_kind == "importance" else ""


Run = Callable[[Asked], Found]
OWN_TESTS: dict[str, dict[str, OwnTest]] = {}
DEFAULT_TESTS: dict[str, str] = {}
"""The method that ``"auto"`` stands for; a metric that has none is tested by drawing outcomes."""


def own_test(
    *metrics: str,
    method: str,
    default: bool = True,
    sides: tuple[str, ...] = ("greater",),
    off: Callable[[Asked], str] = lambda asked: "",
) -> Callable[[Run], Run]:
    """Enter a test of these metrics under the name of a method; the first one entered with `default` is what ``"auto"`` takes."""

    def enter(run: Run) -> Run:
        for metric in metrics:
            OWN_TESTS.setdefault(metric, {})[method] = OwnTest(method, run, sides, off)
            if default:
                DEFAULT_TESTS.setdefault(metric, method)
        return run

    return enter
