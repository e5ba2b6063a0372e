"""Censored times: the outcome at a horizon, inverse probability of censoring weights, and the observed risk."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, InputError, InputTypeError, ShapeError, UndefinedMetricError
from ..inference.means import two_sided_quantile
from ..input.convert import column, missing_values, numbers
from ..input.grouping import combined_groups
from ..input.weights import read_weights
from ..util.arrays import Array, Floats
from ..util.checks import is_number
from ..util.results import Result, number, several

Whole = NDArray[np.int64]


class FollowUp(NamedTuple):
    """Checked follow-up: time, event code, sample weight and stratum of each row."""

    time: Floats
    event: Whole
    weight: Floats
    stratum: Whole
    strata: tuple[Any, ...]
    """Names of the strata; empty where there is one."""
    cause: int
    weighted: bool

    def take(self, rows: Array) -> FollowUp:
        """Return some rows."""
        return self._replace(
            time=self.time[rows], event=self.event[rows], weight=self.weight[rows], stratum=self.stratum[rows]
        )

    @property
    def has_competing(self) -> bool:
        return bool(((self.event != 0) & (self.event != self.cause)).any())

    @property
    def is_plain(self) -> bool:
        """Whether Greenwood's formula applies: one cause, one stratum, no weights."""
        return not (self.has_competing or self.weighted or self.strata)


class _Stratum(NamedTuple):
    """The risk sets of the censoring distribution of one stratum, at each distinct time."""

    rows: Array
    place: Array
    """Position of the time of each row among the distinct times."""
    leaving: Floats
    """Weight censored at each time before the horizon."""
    later: Floats
    """Weight still under observation after it."""


class Interval(NamedTuple):
    """An estimate with its standard error and the ends of its interval; NaN where they are undefined."""

    value: float
    low: float
    high: float
    standard_error: float


@dataclass(frozen=True)
class WeightedOutcomes:
    """Outcome at the horizon and weight of each row, and how the weights depend on the rows."""

    follow_up: FollowUp
    horizon: float
    outcome: NDArray[np.uint8]
    weight: Floats
    known: NDArray[np.bool_]
    strata: tuple[_Stratum, ...] = field(repr=False)

    @property
    def total(self) -> float:
        return float(self.weight.sum())

    @property
    def risk(self) -> float:
        """The observed risk."""
        return float(self.weight @ self.outcome) / self.total

    def influence(self, share: Floats) -> Floats:
        """Return the derivative of an estimate with respect to the weight of each row, times this weight: the infinitesimal jackknife.

        `share` is the part of it with the probabilities of censoring fixed. The rest arises because a row also changes the estimated
        probabilities of censoring of all rows that were observed longer.
        """
        change = share.copy()
        for rows, place, leaving, later in self.strata:
            sums = np.column_stack([np.bincount(place, column[rows], len(leaving)) for column in share.T])
            beyond = sums[::-1].cumsum(axis=0)[::-1] - sums
            some = (leaving > 0) & (later > 0)
            pull = np.zeros_like(sums)
            pull[some] = beyond[some] / later[some, None]
            drift = (pull * np.divide(leaving, leaving + later, out=np.zeros_like(later), where=some)[:, None]).cumsum(
                axis=0
            )
            before = np.vstack([np.zeros((1, share.shape[1])), drift])
            censored = (self.follow_up.event[rows] == 0)[:, None]
            part = np.where(censored, pull[place] - drift[place], -before[place])
            change[rows] += self.follow_up.weight[rows, None] * part
        return change

    def standard_error(self, share: Floats) -> float:
        """Return the standard error of the estimate that `influence` describes."""
        return float(np.sqrt(np.square(self.influence(share[:, None])).sum()))


@dataclass(frozen=True, repr=False)
class HorizonOutcomes(Result):
    """Outcome at a horizon and weight of each row, for any metric with ``sample_weight=``.

    Parameters
    ----------
    horizon : float
        The horizon.
    outcome : ndarray of shape (N,)
        1 for the event by the horizon, 0 otherwise; also 0 where it is unknown, with weight 0.
    weight : ndarray of shape (N,)
        Inverse probability of censoring weight; 0 for rows censored before the horizon.
    n : int
        Number of rows.
    n_events : int
        Rows with the event by the horizon.
    n_event_free : int
        Rows observed without an event until the horizon.
    n_competing : int
        Rows with a competing event by the horizon.
    n_censored : int
        Rows censored before the horizon.
    observed_risk : float
        Weighted mean of the outcome: one minus the Kaplan-Meier estimate, or with competing events the Aalen-Johansen estimate.

    See Also
    --------
    horizon_outcomes : The function that returns it.
    """

    _hidden = ("outcome", "weight")

    horizon: float
    outcome: NDArray[np.uint8]
    weight: Floats
    n: int
    n_events: int
    n_event_free: int
    n_competing: int
    n_censored: int
    observed_risk: float

    def _title(self) -> str:
        return row_counts(self)

    def _notes(self) -> list[str]:
        most = float(self.weight.max())
        return [f"observed risk {number(self.observed_risk)}, largest weight {number(most)}"]


def row_counts(result: Any) -> str:
    """The number of rows by their state at the horizon, as text."""
    parts = [several(result.n, "row") + f" at horizon {result.horizon:g}: " + several(result.n_events, "event")]
    parts += [several(result.n_competing, "competing event")] if result.n_competing else []
    return ", ".join([*parts, f"{result.n_event_free:,} event-free", f"{result.n_censored:,} censored before it"])


def horizon_outcomes(
    time: Any,
    event: Any,
    *,
    horizon: float,
    cause: int | None = None,
    groups: Any = None,
    sample_weight: Any = None,
) -> HorizonOutcomes:
    r"""Compute the outcome of each row at a horizon, and its inverse probability of censoring weight.

    A row that is censored before the horizon has an unknown outcome and receives weight 0; the others receive the inverse of the
    probability that they are still observed, so that they represent the censored rows too. With this outcome and ``sample_weight=``
    every weighted metric, figure and calibrator applies to predicted risks of a time to event.

    Parameters
    ----------
    time : array-like of shape (N,)
        Time to the event or to censoring, from the time of the prediction.
    event : array-like of shape (N,)
        What occurred at `time`: 0 for censoring, 1 (or True) for the event, 2 and above for competing events.
    horizon : float
        Time by which the event is predicted, in the unit of `time`.
    cause : int, optional
        Code of the event that is predicted; by default 1. Other codes than this and 0 are competing events.
    groups : array-like of shape (N,), optional
        Groups within each of which the distribution of censoring is estimated; by default one for all rows.
    sample_weight : array-like of shape (N,), optional
        Weight of each row, which the result is multiplied by.

    Returns
    -------
    HorizonOutcomes
        Result with the attributes ``outcome``, ``weight``, ``n_events``, ``n_event_free``, ``n_competing``, ``n_censored`` and
        ``observed_risk``.

    Raises
    ------
    InputError
        If a value is missing, negative or not a number, or the codes of `event` are ambiguous.
    UndefinedMetricError
        If the risk at the horizon is not identified: all rows still at risk are censored before it.

    See Also
    --------
    survival_summary : Calibration, discrimination and overall performance with intervals.

    Notes
    -----
    With time :math:`T_i`, horizon :math:`h` and the Kaplan-Meier estimate :math:`\hat G` of the distribution of censoring,

    .. math:: w_i = \frac{\mathbf{1}[\text{the state at } h \text{ is known}]}{\hat G(\min(T_i, h)-)}.

    :math:`\hat G(t-)` is the probability not to be censored before :math:`t`. At tied times events precede censoring: a row with an event
    at :math:`t` is not at risk of being censored there, and an event at the horizon counts. A row censored exactly at the horizon
    is known to be event-free. The weights sum to the number of rows, and the weighted mean of the outcome is exactly one minus the
    Kaplan-Meier estimate at the horizon, or the Aalen-Johansen estimate with competing events. Without censoring all weights are 1.

    Censoring must be independent of the event, given the groups. Intervals of other functions that use these weights treat them as fixed,
    which as a rule makes them too wide; `survival_summary` accounts for their estimation.

    References
    ----------
    .. [1] Graf, E., Schmoor, C., Sauerbrei, W. and Schumacher, M. (1999). Assessment and comparison of prognostic classification schemes
       for survival data. Statistics in Medicine 18.
    .. [2] Gerds, T. A. and Schumacher, M. (2006). Consistent estimation of the expected Brier score in general survival models with
       right-censored event times. Biometrical Journal 48.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.clinical.horizon_outcomes([1, 2, 3, 4, 5, 6], [1, 0, 1, 0, 0, 1], horizon=4)
    >>> found.outcome.tolist(), found.weight.tolist()
    ([1, 0, 1, 0, 0, 0], [1.0, 0.0, 1.25, 1.25, 1.25, 1.25])
    >>> found
    6 rows at horizon 4: 2 events, 3 event-free, 1 censored before it
    observed risk 0.3750, largest weight 1.250
    >>> round(cal.brier(found.outcome, [0.7, 0.2, 0.5, 0.3, 0.2, 0.1], sample_weight=found.weight), 3)
    0.096
    """
    follow_up = read_follow_up(time, event, cause, groups, sample_weight)
    outcomes = known_outcomes(follow_up, check_horizon(horizon))
    return HorizonOutcomes(
        outcomes.horizon,
        outcomes.outcome,
        outcomes.weight,
        len(outcomes.outcome),
        **counts_of(outcomes),
        observed_risk=outcomes.risk,
    )


def counts_of(outcomes: WeightedOutcomes) -> dict[str, int]:
    """The number of rows by their state at the horizon."""
    time, event = outcomes.follow_up.time, outcomes.follow_up.event
    due = (time <= outcomes.horizon) & (event != 0)
    own = int(outcomes.outcome.sum())
    return {
        "n_events": own,
        "n_event_free": int((outcomes.known & ~due).sum()),
        "n_competing": int(due.sum()) - own,
        "n_censored": int((~outcomes.known).sum()),
    }


def check_horizon(horizon: Any) -> float:
    """Return one horizon, a positive finite number, or raise."""
    if not is_number(horizon) or not 0 < horizon < math.inf:
        raise ArgumentError("horizon", f"must be a positive finite number; got {horizon!r}", "for example 365")
    return float(horizon)


def read_follow_up(time: Any, event: Any, cause: Any, groups: Any, sample_weight: Any) -> FollowUp:
    """Check times, event codes, weights and groups."""
    when = _numbers(time, "time")
    n = len(when)
    bad = ~(np.isfinite(when) & (when >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError("time", f"times must be finite and not negative; got {when[row]}", "correct the row", row=row)
    try:
        codes = _numbers(event, "event")
    except InputTypeError as error:
        text = "the text" in str(error.problem)
        raise error.replaced(remedy="code censoring as 0 and the event as 1") if text else error from None
    if len(codes) != n:
        raise ShapeError("event", f"expected one code for each of {n} rows, got {len(codes)}")
    bad = ~np.isfinite(codes) | (codes < 0) | (codes != np.floor(codes))
    if bad.any():
        row = int(np.argmax(bad))
        problem = f"codes must be 0 (censored), 1 (event) or 2 and above (competing events); got {codes[row]:g}"
        raise InputError("event", problem, "correct the row", row=row)
    event = codes.astype(np.int64)
    stratum, names = combined_groups(groups, n)
    weight, _ = read_weights(sample_weight, None, n)
    return FollowUp(
        when,
        event,
        np.ones(n) if weight is None else np.asarray(weight, np.float64),
        np.zeros(n, np.int64) if stratum is None else stratum.astype(np.int64),
        names if len(names) > 1 else (),
        _cause(event, cause),
        weight is not None and not bool((weight == 1).all()),
    )


def _numbers(values: Any, argument: str) -> Floats:
    array = column(values, argument).array
    if array.ndim != 1:
        raise ShapeError(argument, f"expected one number per row, got shape {array.shape}")
    entries = numbers(array, argument).astype(np.float64)
    missing = np.isnan(entries)
    if missing.any():
        count = int(missing.sum())
        raise InputError(
            argument, missing_values(count), "drop or fill these rows", row=int(np.argmax(missing)), count=count
        )
    return entries


def _cause(event: Whole, cause: Any) -> int:
    """The code of the predicted event; codes 1 and 2 alone are probably those of another coding, in which 1 is censored."""
    codes = sorted(set(event.tolist()))
    if cause is None:
        if codes and codes[0] > 0 and len(codes) > 1:
            raise InputError(
                "event",
                f"the codes are {', '.join(map(str, codes))}, without 0 for censoring",
                f"use cause=1 if no row is censored, or pass event == {codes[-1]} if {codes[0]} means censored",
            )
        cause = 1
    if not is_number(cause) or cause != int(cause) or cause < 1:
        raise ArgumentError("cause", f"must be the code of an event, 1 or above; got {cause!r}")
    if int(cause) not in codes and any(codes):
        others = [code for code in codes if code]
        remedy = f"use cause={others[0]!r}" if len(others) == 1 else ""
        raise ArgumentError("cause", f"no row has the event {int(cause)}, only {', '.join(map(str, others))}", remedy)
    return int(cause)


def known_outcomes(follow_up: FollowUp, horizon: float) -> WeightedOutcomes:
    """Outcome and weight of each row."""
    time, event = follow_up.time, follow_up.event
    due = time <= horizon
    known = (time >= horizon) | (event != 0)
    outcome = (due & (event == follow_up.cause)).astype(np.uint8)
    weight = np.zeros(len(time))
    strata = []
    for code in range(max(1, len(follow_up.strata))):
        rows = np.flatnonzero((follow_up.stratum == code) & (follow_up.weight > 0))
        if len(rows) == 0:
            continue
        stay, stratum = _stay(follow_up, rows, horizon, follow_up.strata[code] if follow_up.strata else None)
        weight[rows] = np.where(known[rows], follow_up.weight[rows] / stay, 0.0)
        strata.append(stratum)
    return WeightedOutcomes(follow_up, horizon, outcome, weight, known, tuple(strata))


def log_rank_pvalue(follow_up: FollowUp, horizon: float) -> float:
    """P-value of the log-rank test that censoring before the horizon is the same in all strata."""
    from scipy.special import chdtrc

    count = len(follow_up.strata)
    distinct, place = np.unique(follow_up.time, return_inverse=True)

    def tally(rows: NDArray[np.bool_]) -> Floats:
        cells = np.bincount((place * count + follow_up.stratum)[rows], minlength=len(distinct) * count)
        return cells.reshape(len(distinct), count).astype(np.float64)

    in_study = follow_up.weight > 0
    is_censored = in_study & (follow_up.event == 0)
    leaving = tally(is_censored & (follow_up.time < horizon))
    every = tally(in_study)
    at_risk = every[::-1].cumsum(axis=0)[::-1] - every + tally(is_censored)
    some = leaving.any(axis=1)
    leaving, at_risk = leaving[some], at_risk[some]
    total, n = leaving.sum(axis=1, keepdims=True), at_risk.sum(axis=1, keepdims=True)
    share = at_risk / n
    spread = share * total * (n - total) / np.maximum(n - 1, 1)
    covariance = np.diag(spread.sum(axis=0)) - spread.T @ share
    difference = (leaving - total * share).sum(axis=0)
    statistic = difference @ np.linalg.pinv(covariance, hermitian=True) @ difference
    return float(chdtrc(count - 1, statistic))


def _stay(follow_up: FollowUp, rows: Array, horizon: float, stratum: Any) -> tuple[Floats, _Stratum]:
    """The probability of each row not to be censored before its time or the horizon, and the risk sets."""
    time, event, own = follow_up.time[rows], follow_up.event[rows], follow_up.weight[rows]
    distinct, place = np.unique(time, return_inverse=True)
    leaving = np.bincount(place, own * (event == 0), len(distinct)).astype(np.float64)
    all_weight = np.bincount(place, own, len(distinct))
    later = np.append(all_weight[::-1].cumsum()[::-1][1:], 0.0)
    if distinct[-1] < horizon and leaving[-1] > 0:
        where = "" if stratum is None else f" in the group {stratum!r}"
        censored = (event == 0).all()
        why = (
            f"every row{where} is censored before {horizon:g}"
            if censored
            else f"no row{where} is observed until {horizon:g}: the last time, {distinct[-1]:g}, is censored"
        )
        raise UndefinedMetricError("horizon", f"{why}, so the risk is not identified", f"use at most {distinct[-1]:g}")
    leaving[distinct >= horizon] = 0.0
    factor = np.divide(later, leaving + later, out=np.ones(len(distinct)), where=leaving > 0)
    before = np.append(1.0, factor.cumprod()[:-1])
    end = min(int(np.searchsorted(distinct, horizon)), len(distinct) - 1)
    return before[np.minimum(place, end)], _Stratum(rows, place, leaving, later)


def observed_risk(outcomes: WeightedOutcomes, level: float) -> Interval:
    """The observed risk at the horizon, with its interval on the scale log(-log(1 - risk)).

    The standard error is Greenwood's; with competing events, weights or several strata it is that of the infinitesimal jackknife.
    """
    risk = outcomes.risk
    is_plain = outcomes.follow_up.is_plain
    error = greenwood(outcomes, risk) if is_plain else outcomes.standard_error(risk_share(outcomes, risk))
    if not 0 < risk < 1 or not 0 < error < math.inf:
        return Interval(risk, math.nan, math.nan, error if error > 0 else math.nan)
    rest = math.log1p(-risk)
    step = two_sided_quantile(level) * error / ((1 - risk) * -rest)
    low, high = (-math.expm1(rest * math.exp(sign * step)) for sign in (-1, 1))
    return Interval(risk, low, high, error)


def risk_share(outcomes: WeightedOutcomes, risk: float) -> Floats:
    """Derivative of the observed risk with respect to each weight, times the weight."""
    return np.asarray(outcomes.weight * (outcomes.outcome - risk) / outcomes.total)


def greenwood(outcomes: WeightedOutcomes, risk: float) -> float:
    """Greenwood's standard error of the Kaplan-Meier estimate at the horizon."""
    follow_up = outcomes.follow_up
    rows = follow_up.weight > 0
    distinct, place = np.unique(follow_up.time[rows], return_inverse=True)
    events = np.bincount(place, follow_up.event[rows] != 0, len(distinct))
    at_risk = np.bincount(place, minlength=len(distinct))[::-1].cumsum()[::-1]
    due = (distinct <= outcomes.horizon) & (events > 0)
    d, y = events[due], at_risk[due]
    if (y == d).any():
        return math.nan
    return (1 - risk) * math.sqrt(float((d / (y * (y - d))).sum()))
