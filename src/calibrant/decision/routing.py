"""Routing by confidence: rows accepted, reviewed or sent to a fallback, with workload, error and cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..util.arrays import Floats
from ..util.cached import cached_property
from ..util.checks import check_number
from ..util.results import Result, number
from .rows import Judged, as_threshold, judging, lower_bound, upper_bound


@dataclass(frozen=True)
class Route:
    """Rows with a confidence from `low` to below `high`, and how they are handled.

    Parameters
    ----------
    name : {"accept", "review", "fallback"}
        The route.
    low, high : float
        Range of confidences.
    share : float
        Share of the rows.
    workload : float
        Expected number of rows out of the volume.
    workload_sd : float
        Its binomial standard deviation.
    error : float
        Error rate: observed for accepted rows, as given for the others; NaN without rows.
    claimed_error : float
        Error rate of accepted rows implied by the confidences: the mean of 1 - confidence.
    error_low, error_high : float
        Ends of the 95% Clopper-Pearson interval of the error rate of accepted rows.
    cost : float
        Contribution to the mean cost of a row.

    Examples
    --------
    >>> import calibrant as cal
    >>> routing = cal.decision.review_routing(cal.Predictions([1, 1, 0, 1], [0.9, 0.8, 0.6, 0.5], input="confidence"), accept=0.7)
    >>> routing.routes[0].name, routing.routes[0].share
    ('accept', 0.5)
    """

    name: str
    low: float
    high: float
    share: float
    workload: float
    workload_sd: float
    error: float
    claimed_error: float
    error_low: float
    error_high: float
    cost: float


@dataclass(frozen=True, repr=False)
class ReviewRouting(Result):
    """Workload, error and cost of a routing by confidence.

    Parameters
    ----------
    routes : tuple of Route
        The routes: accept, review and, if used, fallback.
    accept : float
        Confidence at or above which rows are accepted; infinite if every row is reviewed.
    system_error : float
        Error rate over all routes.
    claimed_system_error : float
        The same with the error rate of accepted rows implied by the confidences.
    cost : float
        Mean cost of a row.
    calibrated_accept : float or None
        Cost-minimal threshold if the confidences were calibrated: 1 - review cost / error cost - reviewer error.
    cheapest : float
        Cost-minimal threshold on these rows.
    table : dict of str to ndarray
        Coverage, workload, errors and cost for each threshold.
    """

    routes: tuple[Route, ...]
    accept: float
    system_error: float
    claimed_system_error: float
    cost: float
    calibrated_accept: float | None
    cheapest: float
    table: dict[str, Floats]

    _numeric, _width = range(9), 9

    def _columns(self) -> dict[str, Any]:
        return self.table

    def _title(self) -> str:
        return f"System error rate {number(self.system_error)} (by the confidences {number(self.claimed_system_error)}), mean cost {number(self.cost)}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        return ["route", "from", "to", "share", "workload", "sd", "error", "claimed", "cost"], [
            [r.name, *(number(v) for v in (r.low, r.high, r.share, r.workload, r.workload_sd, r.error, r.claimed_error, r.cost))]
            for r in self.routes
        ]  # fmt: skip


@judging(takes_loss=False)
def review_routing(
    judged: Judged,
    *,
    accept: float | None = None,
    review: float | None = None,
    capacity: float | None = None,
    volume: float = 1.0,
    errors: Mapping[str, float] | None = None,
    cost: Mapping[str, float] | None = None,
) -> ReviewRouting:
    """Evaluate a routing by confidence: automatic answers, manual review and a fallback.

    A threshold chosen here is optimistic on the same rows: evaluate it on held-out data, or use `choose_threshold` for a guarantee.

    Parameters
    ----------
    y_true
    y_prob
    accept : float, optional
        Confidence at or above which rows are accepted. By default the threshold that `capacity` permits, or else the cheapest one.
    review : float, optional
        Rows with a smaller confidence go to the fallback; by default there is none.
    capacity : float, optional
        Number of rows, out of `volume`, that can be reviewed: the largest threshold that requires no more is taken.
    volume : float, default 1.0
        Expected number of rows.
    errors : mapping of str to float, optional
        Error rates of the reviewers, ``"review"``, and of the ``"fallback"``; 0 by default.
    cost : mapping of str to float, optional
        Cost of a wrong answer, ``"error"``, by default 1, of a ``"review"`` and of a ``"fallback"``, by default 0.
    confidence
    lens
    where
    sample_weight
    pos_label

    Returns
    -------
    ReviewRouting
        Result with the attributes ``routes``, ``accept``, ``system_error``, ``cost``, ``cheapest`` and ``table``.

    Raises
    ------
    ArgumentError
        If both `accept` and `capacity` are given, or `accept` is below `review`.

    See Also
    --------
    choose_threshold : A threshold with a finite-sample guarantee.
    risk_coverage : Error rate against coverage.

    Examples
    --------
    >>> import calibrant as cal
    >>> result = cal.decision.review_routing(cal.Predictions([1, 1, 0, 1], [0.9, 0.8, 0.6, 0.5], input="confidence"), accept=0.7, volume=1000)
    >>> [(route.name, route.workload) for route in result.routes]
    [('accept', 500.0), ('review', 500.0)]
    """
    rates = _read_amounts(errors, "errors", {"review": 0.0, "fallback": 0.0}, high=1)
    costs = _read_amounts(cost, "cost", {"error": 1.0, "review": 0.0, "fallback": 0.0})
    low = -math.inf if review is None else as_threshold(review, "review")
    system = _System(judged, low, check_number(volume, "volume"), rates, costs)
    if accept is not None and capacity is not None:
        raise ArgumentError("capacity", "cannot be combined with accept", "give one of them")
    grid = np.concatenate([[np.inf], judged.steps.threshold])
    grid = np.unique(np.concatenate([grid[grid >= low], [] if review is None else [low]]))[::-1]
    table = system.table(grid)
    best = float(grid[int(np.argmin(table["cost"]))])
    if accept is not None:
        chosen = as_threshold(accept, "accept")
        if chosen < low:
            raise ArgumentError("accept", f"must not be below the threshold of review; got {accept!r} and {review!r}")
    elif capacity is not None:
        most = check_number(capacity, "capacity") + 1e-9 * volume
        chosen = float(grid[int(np.argmax(table["workload"] <= most))])
    else:
        chosen = best
    row = {name: float(values[0]) for name, values in system.table(np.array([chosen])).items()}
    return ReviewRouting(
        routes=system.routes(chosen, row),
        accept=chosen,
        system_error=row["system_error"],
        claimed_system_error=row["claimed_system_error"],
        cost=row["cost"],
        calibrated_accept=1 - costs["review"] / costs["error"] - rates["review"] if costs["error"] > 0 else None,
        cheapest=best,
        table=table,
    )


def _read_amounts(
    amounts: Mapping[str, float] | None, argument: str, default: dict[str, float], high: float = math.inf
) -> dict[str, float]:
    amounts = {} if amounts is None else amounts
    if not isinstance(amounts, Mapping) or not set(amounts) <= set(default):
        raise ArgumentError(argument, f"must be a number for each of {', '.join(map(repr, default))}; got {amounts!r}")
    return default | {name: check_number(amount, argument, high=high) for name, amount in amounts.items()}


@dataclass(frozen=True)
class _System:
    """The three routes: rows, threshold of the fallback, volume, error rates and costs."""

    judged: Judged
    low: float
    volume: float
    rates: Mapping[str, float]
    costs: Mapping[str, float]

    @cached_property
    def kept(self) -> float:
        """Share of rows that are accepted or reviewed."""
        return float(self.judged.steps.at(np.array([self.low]))[0][0]) / self.judged.total

    def table(self, grid: Floats) -> dict[str, Floats]:
        """Coverage, workload, errors and cost at each threshold."""
        total, claims = self.judged.total, replace(self.judged, loss=1 - self.judged.confidence)
        accepted, lost, _ = self.judged.steps.at(grid)
        share, wrong, claimed = accepted / total, lost / total, claims.steps.at(grid)[1] / total
        reviewed, rest = self.kept - share, 1 - self.kept
        others = reviewed * self.rates["review"] + rest * self.rates["fallback"]
        with np.errstate(invalid="ignore"):
            error, claimed_error = wrong / share, claimed / share
        handling = self.costs["review"] * reviewed + self.costs["fallback"] * rest
        return {
            "threshold": grid,
            "coverage": share,
            "workload": self.volume * reviewed,
            "workload_sd": np.sqrt(self.volume * np.maximum(reviewed * (1 - reviewed), 0)),
            "error": error,
            "claimed_error": claimed_error,
            "system_error": wrong + others,
            "claimed_system_error": claimed + others,
            "cost": self.costs["error"] * (wrong + others) + handling,
        }

    def routes(self, high: float, row: dict[str, float]) -> tuple[Route, ...]:
        """The routes at one threshold, whose row of the table is known."""
        count, lost, square = (float(values[0]) for values in self.judged.steps.at(np.array([high])))
        bounds = (math.nan, math.nan)
        if count and self.judged.counts_errors:
            worth = count * count / square
            seen = worth * lost / count
            bounds = float(lower_bound(seen, worth, 0.025)), float(upper_bound(seen, worth, 0.025))
        reviewed = max(self.kept - row["coverage"], 0.0)
        routes = [
            self._route("accept", high, math.inf, row["coverage"], row["error"], row["claimed_error"], bounds),
            self._route("review", self.low, high, reviewed),
        ]
        if self.low > -math.inf:
            routes.append(self._route("fallback", -math.inf, self.low, 1 - self.kept))
        return tuple(routes)

    def _route(
        self,
        name: str,
        low: float,
        high: float,
        share: float,
        error: float | None = None,
        claimed: float | None = None,
        interval: tuple[float, float] | None = None,
    ) -> Route:
        if error is None or claimed is None:  # the rate that was given
            error = claimed = self.rates[name]
        spread = math.sqrt(max(self.volume * share * (1 - share), 0))
        cost = share * (self.costs.get(name, 0.0) + self.costs["error"] * error) if share else 0.0
        return Route(
            name, low, high, share, self.volume * share, spread, error, claimed, *(interval or (error, error)), cost
        )
