"""Routing by confidence: rows accepted, reviewed or sent to a fallback, with workload, error and cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError
from ..input.convert import is_number
from ..util.results import Result, number
from ..views.keywords import documents_keywords
from ..views.resolve import resolve
from .rows import Judged, check_cost, check_share, lower_bound, read_judged, upper_bound

Floats = NDArray[np.float64]


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
    error_interval : tuple of float
        95% Clopper-Pearson interval of the error rate of accepted rows.
    cost : float
        Contribution to the mean cost of a row.

    Examples
    --------
    >>> import calibrant as cal
    >>> routing = cal.review_routing(cal.Predictions([1, 1, 0, 1], [0.9, 0.8, 0.6, 0.5], input="confidence"), accept=0.7)
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
    error_interval: tuple[float, float]
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


@documents_keywords()
def review_routing(
    y_true: Any,
    y_prob: Any = None,
    *,
    accept: float | None = None,
    review: float | None = None,
    capacity: float | None = None,
    volume: float = 1.0,
    reviewer_error: float = 0.0,
    fallback_error: float = 0.0,
    error_cost: float = 1.0,
    review_cost: float = 0.0,
    fallback_cost: float = 0.0,
    confidence: Any = None,
    lens: Any = None,
    where: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
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
    reviewer_error : float, default 0.0
        Error rate of the reviewers.
    fallback_error : float, default 0.0
        Error rate of the fallback.
    error_cost : float, default 1.0
        Cost of a wrong answer.
    review_cost : float, default 0.0
        Cost of a review.
    fallback_cost : float, default 0.0
        Cost of a fallback.
    confidence : array-like of shape (N,), optional
        Confidence of each row; by default the predicted probability of the predicted class.
    lens : str or Lens, optional
        The event that defines a correct prediction; by default ``"top_label"``.
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
    >>> result = cal.review_routing(cal.Predictions([1, 1, 0, 1], [0.9, 0.8, 0.6, 0.5], input="confidence"), accept=0.7, volume=1000)
    >>> [(route.name, route.workload) for route in result.routes]
    [('accept', 500.0), ('review', 500.0)]
    """
    judged = read_judged(
        "review_routing", resolve(y_true, y_prob, sample_weight, pos_label, where), confidence, None, lens, where
    )
    claims = Judged(judged.confidence, 1 - judged.confidence, judged.weight, judged.weight_kind, judged.lens)
    errors = (check_share(reviewer_error, "reviewer_error"), check_share(fallback_error, "fallback_error"))
    costs = tuple(
        check_cost(value, name)
        for value, name in ((error_cost, "error_cost"), (review_cost, "review_cost"), (fallback_cost, "fallback_cost"))
    )
    volume, low = check_cost(volume, "volume"), -math.inf if review is None else _threshold(review, "review")
    if accept is not None and capacity is not None:
        raise ArgumentError("capacity", "cannot be combined with accept", "give one of them")
    grid = np.concatenate([[np.inf], judged.steps.threshold])
    grid = np.unique(np.concatenate([grid[grid >= low], [] if review is None else [low]]))[::-1]
    table = _routing_table(judged, claims, grid, low, volume, errors, costs)
    best = float(grid[int(np.argmin(table["cost"]))])
    if accept is not None:
        chosen = _threshold(accept, "accept")
        if chosen < low:
            raise ArgumentError("accept", f"must not be below the threshold of review; got {accept!r} and {review!r}")
    elif capacity is not None:
        chosen = float(grid[int(np.argmax(table["workload"] <= check_cost(capacity, "capacity") + 1e-9 * volume))])
    else:
        chosen = best
    row = {
        name: float(values[0])
        for name, values in _routing_table(judged, claims, np.array([chosen]), low, volume, errors, costs).items()
    }
    closed = 1 - costs[1] / costs[0] - errors[0] if costs[0] > 0 else None
    return ReviewRouting(
        routes=_routes(judged, claims, chosen, low, volume, errors, costs),
        accept=chosen,
        system_error=row["system_error"],
        claimed_system_error=row["claimed_system_error"],
        cost=row["cost"],
        calibrated_accept=closed,
        cheapest=best,
        table=table,
    )


def _threshold(value: Any, argument: str) -> float:
    if not (is_number(value) and not math.isnan(value)):
        raise ArgumentError(argument, f"must be a number; got {value!r}")
    return float(value)


def _sums(judged: Judged, claims: Judged, grid: Floats) -> tuple[Floats, Floats, Floats]:
    """Shares of accepted rows, of accepted errors, and of errors implied by the confidences, at each threshold."""
    accepted, lost, _ = judged.steps.at(grid)
    return accepted / judged.total, lost / judged.total, claims.steps.at(grid)[1] / judged.total


def _routing_table(
    judged: Judged,
    claims: Judged,
    grid: Floats,
    low: float,
    volume: float,
    errors: tuple[float, ...],
    costs: tuple[float, ...],
) -> dict[str, Floats]:
    share, wrong, claimed = _sums(judged, claims, grid)
    kept = float(judged.steps.at(np.array([low]))[0][0]) / judged.total
    reviewed, rest = kept - share, 1 - kept
    others = reviewed * errors[0] + rest * errors[1]
    with np.errstate(invalid="ignore"):
        rates = wrong / share, claimed / share
    return {
        "threshold": grid,
        "coverage": share,
        "workload": volume * reviewed,
        "workload_sd": np.sqrt(volume * np.maximum(reviewed * (1 - reviewed), 0)),
        "error": rates[0],
        "claimed_error": rates[1],
        "system_error": wrong + others,
        "claimed_system_error": claimed + others,
        "cost": costs[0] * (wrong + others) + costs[1] * reviewed + costs[2] * rest,
    }


def _routes(
    judged: Judged,
    claims: Judged,
    high: float,
    low: float,
    volume: float,
    errors: tuple[float, ...],
    costs: tuple[float, ...],
) -> tuple[Route, ...]:
    share, wrong, claimed = (float(values[0]) for values in _sums(judged, claims, np.array([high])))
    kept = float(judged.steps.at(np.array([low]))[0][0]) / judged.total
    count, lost, square = (float(values[0]) for values in judged.steps.at(np.array([high])))
    bounds = (math.nan, math.nan)
    if count and judged.counts_errors:
        worth = count * count / square
        seen = worth * lost / count
        bounds = float(lower_bound(seen, worth, 0.025)), float(upper_bound(seen, worth, 0.025))

    def route(name: str, start: float, stop: float, part: float, error: float, said: float, price: float) -> Route:
        spread = math.sqrt(max(volume * part * (1 - part), 0))
        cost = part * (price + costs[0] * error) if part else 0.0
        return Route(
            name,
            start,
            stop,
            part,
            volume * part,
            spread,
            error,
            said,
            bounds if name == "accept" else (error, error),
            cost,
        )

    accepted = (wrong / share, claimed / share) if share else (math.nan, math.nan)
    found = [route("accept", high, math.inf, share, *accepted, 0.0)]
    found.append(route("review", low, high, max(kept - share, 0.0), errors[0], errors[0], costs[1]))
    if low > -math.inf:
        found.append(route("fallback", -math.inf, low, 1 - kept, errors[1], errors[1], costs[2]))
    return tuple(found)
