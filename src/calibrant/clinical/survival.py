"""Predicted risks of a time to event at a horizon: calibration, discrimination and overall performance under censoring."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..curves.curves import fit_line
from ..curves.local_regression import loess_at, tie_groups, weighted_quantile
from ..curves.logistic_regression import CLIP, groups_of, logit
from ..errors import (
    BoundaryScoresWarning,
    CalibrantError,
    InputTypeError,
    InputWarning,
    ProbabilityError,
    ShapeError,
    UndefinedMetricError,
    UnknownMetricError,
    warn_caller,
)
from ..evaluation.discrimination import placement_values
from ..inference.intervals import corrected_limits, quantiles
from ..inference.means import two_sided_quantile
from ..inference.replicates import Replicates, many
from ..inference.seeds import seed_of
from ..input.convert import column, missing_values, numbers
from ..metrics.point.totals import logit_shift
from ..metrics.registry import catalogue
from ..util.arrays import Floats
from ..util.checks import check_fraction, check_whole, least_resamples
from ..util.hashes import content_order
from ..util.results import Result, number
from ..views.keywords import documents_keywords
from ..views.view import View
from .censoring import (
    FollowUp,
    Interval,
    WeightedOutcomes,
    check_horizon,
    counts_of,
    known_outcomes,
    log_rank_pvalue,
    observed_risk,
    read_follow_up,
    risk_share,
    row_counts,
)

# The smoother of the calibration curve, as for `ici`.
SPAN, DEGREE = 0.75, 2
# Largest share of replicates without a value at which an interval is still reported.
MOST_UNDEFINED = 0.1
# Groups of risk within which censoring is estimated, rows censored in each on average, and the level of the test of dependence.
MOST_STRATA, CENSORED_PER_STRATUM, DEPENDENT = 5, 10, 0.05
# An AUROC this close to 0 or 1 is perfect up to the rounding of weights.
ROUNDING = 1e-12
SMOOTH = ("ici", "e50", "e90")
NAMES = {
    "observed_risk": "observed risk",
    "mean_predicted_risk": "mean predicted risk",
    "observed_expected_ratio": "O/E ratio",
    "calibration_intercept": "calibration intercept",
    "calibration_slope": "calibration slope",
    "ici": "ICI",
    "e50": "E50",
    "e90": "E90",
    "brier": "Brier score",
    "scaled_brier": "scaled Brier score (IPA)",
    "auroc": "AUROC",
}


class SurvivalMeasure(NamedTuple):
    """One measure at one horizon; where it has no value, `reason` states why."""

    measure: str
    value: float | None
    low: float | None
    high: float | None
    standard_error: float | None
    method: str
    reason: str = ""


@dataclass(frozen=True, repr=False)
class SurvivalSummary(Result):
    """Measures of predicted risks at a horizon, with intervals.

    Parameters
    ----------
    horizon : float
        The horizon.
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
    effective_size : float
        Effective number of rows with a known outcome, (sum of weights)^2 / sum of squared weights.
    measures : tuple of SurvivalMeasure
        ``measure``, ``value``, ``low``, ``high``, ``standard_error`` and ``method`` of each.
    level : float
        Confidence level of the intervals.
    censoring : str
        How the censoring weights were obtained.
    notes : tuple of str
        Caveats, such as risks of exactly 0 or 1.

    See Also
    --------
    survival_summary : The function that returns it.
    """

    _numeric = range(1, 4)

    horizon: float
    n: int
    n_events: int
    n_event_free: int
    n_competing: int
    n_censored: int
    effective_size: float
    measures: tuple[SurvivalMeasure, ...]
    level: float
    censoring: str
    notes: tuple[str, ...] = ()

    def __getitem__(self, measure: str) -> float | None:
        """Return the value of a measure."""
        if measure not in NAMES:
            raise UnknownMetricError("measure", f"unknown measure {measure!r}", f"use {', '.join(NAMES)}")
        return next(m.value for m in self.measures if m.measure == measure)

    def _fields(self) -> dict[str, Any]:
        measures = [m._asdict() for m in self.measures]
        return {**super()._fields(), "measures": {each.pop("measure"): each for each in measures}}

    def _columns(self) -> dict[str, list[Any]]:
        return {name: [getattr(m, name) for m in self.measures] for name in SurvivalMeasure._fields}

    def _title(self) -> str:
        return row_counts(self)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [[NAMES[m.measure], *map(number, (m.value, m.low, m.high)), m.method] for m in self.measures]
        return ["measure", "value", f"{100 * self.level:g}% low", "high", "interval"], rows

    def _notes(self) -> list[str]:
        reasons = [f"{NAMES[m.measure]}: {m.reason}" for m in self.measures if m.reason]
        return [f"censoring: {self.censoring}", *reasons, *self.notes]


class SurvivalInput(NamedTuple):
    """Checked input: the risks, the follow-up with the strata of censoring, and the horizon."""

    risk: Floats
    follow_up: FollowUp
    horizon: float
    censoring: str
    """How the censoring weights are obtained."""

    def outcomes(self, rows: NDArray[np.int64] | None = None) -> WeightedOutcomes:
        """Outcomes and weights at the horizon, of all rows or of a resample."""
        return known_outcomes(self.follow_up if rows is None else self.follow_up.take(rows), self.horizon)


def stratify_by_risk(follow_up: FollowUp, risk: Floats, horizon: float) -> tuple[FollowUp, str]:
    """Strata of the predicted risk where censoring depends on it, and how censoring is estimated.

    The rows are divided into up to five groups of equal size, fewer where the risk is not identified in each of them or few rows
    are censored, and their censoring is compared by the log-rank test.
    """
    censored = int(((follow_up.event == 0) & (follow_up.time < horizon)).sum())
    for count in range(min(MOST_STRATA, censored // CENSORED_PER_STRATUM), 1, -1):
        edges = np.unique(np.quantile(risk, np.arange(1, count) / count))
        parts, stratum = np.unique(np.searchsorted(edges, risk), return_inverse=True)
        strata = follow_up._replace(stratum=stratum, strata=tuple(parts.tolist()))
        if len(parts) < 2:
            break
        try:
            known_outcomes(strata, horizon)
        except UndefinedMetricError:
            continue
        pvalue = log_rank_pvalue(strata, horizon)
        test = "log-rank test: " + (f"p = {pvalue:.2g}" if pvalue >= 0.001 else "p < 0.001")
        if pvalue > DEPENDENT:
            return follow_up, f"Kaplan-Meier; no significant dependence on the predicted risk ({test})"
        return strata, f"depends on the predicted risk ({test}); Kaplan-Meier within {len(parts)} groups of risk"
    return follow_up, "Kaplan-Meier"


@documents_keywords()
def survival_summary(
    y_prob: Any,
    *,
    time: Any,
    event: Any,
    horizon: float,
    cause: int | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
    n_resamples: int = 200,
    rng: Any = 0,
) -> SurvivalSummary:
    r"""Summarize predicted risks of a time to event at a horizon: calibration, discrimination and overall performance.

    The predictions are risks of the event by the horizon, such as the five-year risk of recurrence. Rows that are censored before the
    horizon have no outcome there; the others are weighted by the inverse probability of censoring (see `horizon_outcomes`). Without
    censoring every value is that of the binary outcome.

    Parameters
    ----------
    y_prob : array-like of shape (N,)
        Predicted risk of the event by the horizon.
    time : array-like of shape (N,)
        Time to the event or to censoring, from the time of the prediction.
    event : array-like of shape (N,)
        What occurred at `time`: 0 for censoring, 1 (or True) for the event, 2 and above for competing events.
    horizon : float
        Time by which the event is predicted, in the unit of `time`.
    cause : int, optional
        Code of the event that is predicted; by default 1. Other codes than this and 0 are competing events.
    groups : array-like of shape (N,), optional
        Groups within each of which the distribution of censoring is estimated. A dict or frame of several columns gives their combinations. By default one for all
        rows, or groups of predicted risk where censoring depends on it; a constant, such as ``0 * time``, for one in any case.
    sample_weight : array-like of shape (N,), optional
        Importance weight of each row; only ratios matter.
    level
    n_resamples : int, default 200
        Number of bootstrap replicates for the intervals of ICI, E50 and E90; 0 for none.
    rng

    Returns
    -------
    SurvivalSummary
        Result with the attribute ``measures`` and values by name, such as ``result["calibration_slope"]``; ``to_frame()`` and
        ``to_dict()`` export it.

    Raises
    ------
    InputError
        If a value is missing or invalid, or the codes of `event` are ambiguous.
    UndefinedMetricError
        If the risk at the horizon is not identified: all rows still at risk are censored before it.

    Warns
    -----
    InputWarning
        If the predictions look like probabilities of survival instead of risks, or are exactly 0 or 1.

    See Also
    --------
    horizon_outcomes : Outcomes and weights for any other metric.
    survival_diagram : The calibration curve at the horizon.

    Notes
    -----
    All estimates use the outcome :math:`y_i = \mathbf{1}[T_i \le h, \text{event}]` and the weights :math:`w_i` of `horizon_outcomes`.

    - Observed risk :math:`O`: one minus the Kaplan-Meier estimate at :math:`h`, with competing events the Aalen-Johansen estimate; its
      interval is on the scale :math:`\log(-\log(1 - O))`. The O/E ratio divides it by the mean of all predicted risks; its interval is on the log
      scale and regards the mean as fixed, which is conservative [1]_. The standard error is Greenwood's; with competing events, weights or
      groups it is that of the infinitesimal jackknife.
    - Calibration intercept (slope fixed at 1) and slope: regression of the outcome on the log-odds of the predicted risk,
      weighted by :math:`w_i`, with sandwich standard errors. Risks within 1e-12 of 0
      or 1 are truncated there, where a few rows can dominate the slope.
    - ICI, E50, E90: distances of the predicted risks of all rows, censored ones too, from a LOESS curve (degree 2, span 0.75, as for `ici`) of the outcome with
      weights :math:`w_i` [3]_. The bootstrap, in which the weights are estimated anew, is corrected for bias as by `interval`.
    - Brier score :math:`\sum_i w_i (y_i - p_i)^2 / \sum_i w_i` [2]_. The scaled Brier score, or index of prediction accuracy (IPA), is one minus its ratio to the
      Brier score :math:`O (1 - O)` of the observed risk as the prediction for all rows.
    - AUROC: weighted proportion of concordant pairs of a row with the event by the horizon and a row without it [4]_, [5]_; rows with a competing event by
      the horizon are among the latter. Its interval is on the logit scale.

    Standard errors of the infinitesimal jackknife, and the sandwich, include the uncertainty of estimated weights.

    Censoring may depend on the predicted risk, for example because patients who feel well are lost to follow-up. Unless `groups` are
    given, rows are divided into five groups of risk (fewer where a group would have fewer than ten censored rows on average, or none observed until the horizon), whose
    censoring is compared by a log-rank test. Where it differs at the level 0.05, the probabilities of censoring are estimated within these groups; ``censoring``
    states the result.

    References
    ----------
    .. [1] McLernon, D. J. et al. (2023). Assessing performance and clinical usefulness in prediction models with survival outcomes:
       practical guidance for Cox proportional hazards models. Annals of Internal Medicine 176.
    .. [2] Graf, E., Schmoor, C., Sauerbrei, W. and Schumacher, M. (1999). Assessment and comparison of prognostic classification schemes
       for survival data. Statistics in Medicine 18.
    .. [3] Austin, P. C., Harrell, F. E. and van Klaveren, D. (2020). Graphical calibration curves and the integrated calibration index
       (ICI) for survival models. Statistics in Medicine 39.
    .. [4] Uno, H., Cai, T., Tian, L. and Wei, L. J. (2007). Evaluating prediction rules for t-year survivors with censored regression
       models. JASA 102.
    .. [5] Blanche, P., Dartigues, J.-F. and Jacqmin-Gadda, H. (2013). Estimating and comparing time-dependent areas under receiver
       operating characteristic curves for censored event times with competing risks. Statistics in Medicine 32.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> risk = rng.beta(2, 3, 400)
    >>> death = rng.exponential(-5 / np.log1p(-risk))
    >>> censored = rng.exponential(10, 400)
    >>> time, event = np.minimum(death, censored), death <= censored
    >>> cal.clinical.survival_summary(risk, time=time, event=event, horizon=5, rng=0)
    400 rows at horizon 5: 140 events, 137 event-free, 123 censored before it
    measure                     value  95% low     high  interval
    observed risk              0.4314   0.3780   0.4890  cloglog, Greenwood
    mean predicted risk        0.4029        -        -
    O/E ratio                   1.071   0.9413    1.218  log, Greenwood
    calibration intercept      0.1335  -0.1190   0.3861  sandwich
    calibration slope          0.8815   0.5435    1.220  sandwich
    ICI                       0.04414        0  0.08049  corrected bootstrap
    E50                       0.04884        0  0.08726  corrected bootstrap
    E90                       0.06613        0   0.1272  corrected bootstrap
    Brier score                0.2171   0.1964   0.2378  jackknife
    scaled Brier score (IPA)   0.1149  0.03802   0.1919  jackknife
    AUROC                      0.7057   0.6412   0.7629  logit, jackknife
    censoring: Kaplan-Meier; no significant dependence on the predicted risk (log-rank test: p = 0.2)
    """
    check_whole(n_resamples, "n_resamples", 0)
    check_fraction(level, "level")
    follow_up = read_follow_up(time, event, cause, groups, sample_weight)
    data = read_survival(y_prob, follow_up, horizon, stratify=groups is None)
    outcomes, risk = data.outcomes(), data.risk
    measures = [
        *_point_measures(outcomes, risk, float(level)),
        *_smooth(data, outcomes, float(level), n_resamples, seed_of(rng)),
    ]
    hint_at_mistakes(outcomes, risk)
    notes = _boundary_notes(outcomes, risk)
    measures.sort(key=lambda m: list(NAMES).index(m.measure))
    return SurvivalSummary(
        outcomes.horizon,
        len(risk),
        **counts_of(outcomes),
        effective_size=outcomes.total**2 / float(np.square(outcomes.weight).sum()),
        measures=tuple(measures),
        level=float(level),
        censoring=data.censoring,
        notes=tuple(notes),
    )


def read_survival(y_prob: Any, follow_up: FollowUp, horizon: Any, *, stratify: bool = True) -> SurvivalInput:
    """Check risks and horizon; if `stratify`, censoring is estimated within groups of risk where it depends on it."""
    horizon = check_horizon(horizon)
    risk = numbers(column(y_prob, "y_prob").array, "y_prob").astype(np.float64)
    risk = risk[:, 0] if risk.ndim == 2 and risk.shape[1] == 1 else risk
    if risk.ndim != 1:
        raise ShapeError("y_prob", f"expected one risk per row, got shape {risk.shape}")
    bad = ~((risk >= 0) & (risk <= 1))
    if bad.any():
        row = int(np.argmax(bad))
        value = risk[row]
        if np.isnan(value):
            count = int(np.isnan(risk).sum())
            raise InputTypeError("y_prob", missing_values(count), "drop or fill these rows", row=row, count=count)
        remedy = "divide by 100 if these are percentages" if value > 1 else "pass risks by the horizon"
        raise ProbabilityError("y_prob", f"risks must lie in [0, 1]; got {value:g}", remedy, row=row)
    if len(follow_up.time) != len(risk):
        raise ShapeError("time", f"expected one time for each of {len(risk)} rows, got {len(follow_up.time)}")
    if not stratify:
        within = f" within {len(follow_up.strata)} groups" if follow_up.strata else ""
        return SurvivalInput(risk, follow_up, horizon, f"Kaplan-Meier{within}")
    strata, censoring = stratify_by_risk(follow_up, risk, horizon)
    return SurvivalInput(risk, strata, horizon, censoring)


def hint_at_mistakes(outcomes: WeightedOutcomes, risk: Floats) -> None:
    """Warn of predictions that look like probabilities of survival."""
    used = outcomes.weight > 0
    w, y = outcomes.weight, outcomes.outcome
    if not 0 < w @ y < outcomes.total or np.ptp(risk[used]) == 0:
        return
    if _auroc(outcomes, risk, 0.95).high < 0.5 and w @ np.square(y - (1 - risk)) < 0.8 * (w @ np.square(y - risk)):
        warn_caller(
            InputWarning(
                "y_prob",
                f"the rows with high values have fewer events by {outcomes.horizon:g}: these look like probabilities of survival",
                "pass 1 - y_prob if they are",
            )
        )


def _boundary_notes(outcomes: WeightedOutcomes, risk: Floats) -> list[str]:
    """Warn of risks of 0 and 1 in intercept and slope, and return the note of the result on them."""
    used = outcomes.weight > 0
    sure = int((used & ((risk < CLIP) | (risk > 1 - CLIP))).sum())
    if not sure:
        return []
    problem = (
        f"{sure:,} of {int(used.sum()):,} risks are 0 or 1 (within 1e-12); their log-odds are truncated at 1e-12, where "
        "a few rows can dominate the fit"
    )
    warn_caller(BoundaryScoresWarning("intercept and slope", problem, "limit the risks to a range inside (0, 1)"))
    return [f"intercept and slope: {problem}"]


def view_of(outcomes: WeightedOutcomes, score: Floats) -> View:
    """The rows with a known outcome and their weights, as a view."""
    used = outcomes.weight > 0
    weight = outcomes.weight[used]
    equal = bool((weight == weight[0]).all())
    return View(score[used], outcomes.outcome[used], None if equal else weight, "unit" if equal else "importance")


def _point_measures(outcomes: WeightedOutcomes, risk: Floats, level: float) -> list[SurvivalMeasure]:
    """The measures whose standard errors have a closed form."""
    weight = outcomes.follow_up.weight
    mean = float(weight @ risk) / float(weight.sum())
    observed = observed_risk(outcomes, level)
    how = "Greenwood" if outcomes.follow_up.is_plain else "jackknife"
    measures = [
        _measure("observed_risk", observed, f"cloglog, {how}"),
        SurvivalMeasure("mean_predicted_risk", mean, None, None, None, ""),
    ]
    tasks: list[tuple[str, str, Callable[[], Interval]]] = [
        ("observed_expected_ratio", f"log, {how}", lambda: _ratio(observed, mean, level)),
        ("calibration_intercept", "sandwich", lambda: _intercept(outcomes, risk, level)),
        ("calibration_slope", "sandwich", lambda: _slope(outcomes, risk, level)),
        ("brier", "jackknife", lambda: _brier(outcomes, risk, level)),
        ("scaled_brier", "jackknife", lambda: _scaled_brier(outcomes, risk, level)),
        ("auroc", "logit, jackknife", lambda: _auroc(outcomes, risk, level)),
    ]
    for name, method, task in tasks:
        try:
            measures.append(_measure(name, task(), method))
        except UndefinedMetricError as error:
            measures.append(SurvivalMeasure(name, None, None, None, None, "", error.problem))
    return measures


def _measure(name: str, estimate: Interval, method: str) -> SurvivalMeasure:
    low, high, error = (None if math.isnan(value) else value for value in estimate[1:])
    return SurvivalMeasure(name, estimate.value, low, high, error, method if low is not None else "")


def _wald(value: float, error: float, level: float) -> Interval:
    if error == 0:  # one row, or rows that are all alike
        return Interval(value, math.nan, math.nan, math.nan)
    step = two_sided_quantile(level) * error
    return Interval(value, value - step, value + step, error)


def _ratio(observed: Interval, mean: float, level: float) -> Interval:
    if mean == 0:
        raise UndefinedMetricError("y_prob", "every predicted risk is 0, so the ratio is undefined")
    value, error = observed.value / mean, observed.standard_error
    if not observed.value > 0 or math.isnan(error):
        return Interval(value, math.nan, math.nan, math.nan)
    step = math.exp(two_sided_quantile(level) * error / observed.value)
    return Interval(value, value / step, value * step, error / mean)


def _moments(eta: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Residual of each row of a logistic regression in its linear predictor, and the variance of its outcome."""
    mu = 1 / (1 + np.exp(-np.clip(eta, -700, 700)))
    return y - mu, mu * (1 - mu)


def _intercept(outcomes: WeightedOutcomes, risk: Floats, level: float) -> Interval:
    """Shift of all log-odds that makes the weighted mean of the predictions the observed risk."""
    w, y = outcomes.weight, outcomes.outcome.astype(np.float64)
    used, inner = w > 0, (risk > 0) & (risk < 1)
    if not inner[used].any():
        raise UndefinedMetricError("y_prob", "every predicted risk is 0 or 1, so the intercept is not identified")
    shift = logit_shift(risk[used], w[used], float(w @ y))
    if math.isinf(shift):
        return Interval(shift, math.nan, math.nan, math.nan)
    residual, variance = _moments(shift + logit(risk), y)
    # A shift does not change risks of exactly 0 and 1.
    residual, variance = np.where(inner, residual, y - risk), np.where(inner, variance, 0.0)
    return _wald(shift, outcomes.standard_error(w * residual / float(w @ variance)), level)


def _slope(outcomes: WeightedOutcomes, risk: Floats, level: float) -> Interval:
    """Slope of the logistic regression with a free intercept."""
    w, y = outcomes.weight, outcomes.outcome.astype(np.float64)
    feature = logit(risk)
    if np.ptp(feature[w > 0]) == 0:
        raise UndefinedMetricError("y_prob", "all predicted risks are equal, so the slope is not identified")
    columns = np.column_stack([np.ones(len(feature)), feature])
    line = fit_line(groups_of(view_of(outcomes, risk))).coefficients
    residual, variance = _moments(columns @ line, y)
    bread = columns.T @ ((w * variance)[:, None] * columns)
    share = (w * residual)[:, None] * columns @ np.linalg.inv(bread)
    return _wald(float(line[1]), outcomes.standard_error(share[:, 1]), level)


def _brier(outcomes: WeightedOutcomes, risk: Floats, level: float) -> Interval:
    value, share = _mean_loss(outcomes, risk)
    return _wald(value, outcomes.standard_error(share), level)


def _mean_loss(outcomes: WeightedOutcomes, risk: Floats) -> tuple[float, Floats]:
    """The Brier score, and its derivative with respect to each weight, times the weight."""
    losses = np.square(outcomes.outcome - risk)
    value = float(outcomes.weight @ losses) / outcomes.total
    return value, outcomes.weight * (losses - value) / outcomes.total


def _scaled_brier(outcomes: WeightedOutcomes, risk: Floats, level: float) -> Interval:
    rate = _rate_inside(outcomes)
    value, share = _mean_loss(outcomes, risk)
    reference = rate * (1 - rate)
    own = value / reference**2 * (1 - 2 * rate) * risk_share(outcomes, rate) - share / reference
    return _wald(1 - value / reference, outcomes.standard_error(own), level)


def _rate_inside(outcomes: WeightedOutcomes) -> float:
    """The observed risk; raises if it is 0 or 1."""
    rate = outcomes.risk
    if not 0 < rate < 1:
        which = "no row" if rate == 0 else "every row"
        raise UndefinedMetricError("y_prob", f"{which} with a known outcome has the event by {outcomes.horizon:g}")
    return rate


def _auroc(outcomes: WeightedOutcomes, risk: Floats, level: float) -> Interval:
    _rate_inside(outcomes)
    w, y = outcomes.weight, outcomes.outcome.astype(np.float64)
    area, below, above = placement_values(risk, y, w)
    # The derivative with respect to each weight, times the weight.
    error = outcomes.standard_error(w * np.where(y == 1, (below - area) / (w @ y), (above - area) / (w @ (1 - y))))
    if not ROUNDING < area < 1 - ROUNDING or error == 0:
        return Interval(area, math.nan, math.nan, math.nan)
    step = two_sided_quantile(level) * error / (area * (1 - area))
    centre = math.log(area) - math.log1p(-area)
    low, high = (1 / (1 + math.exp(-(centre + sign * step))) for sign in (-1, 1))
    return Interval(area, low, high, error)


def smooth_at(outcomes: WeightedOutcomes, score: Floats, at: Floats) -> Floats:
    """The LOESS curve of the outcome at any risks, weighted for censoring."""
    return loess_at(tie_groups(view_of(outcomes, score)), at, SPAN, DEGREE)


def _indices(outcomes: WeightedOutcomes, risk: Floats) -> Floats:
    """ICI, E50 and E90 over all rows."""
    own = outcomes.follow_up.weight
    distinct, place = np.unique(risk, return_inverse=True)
    mass = np.bincount(place, own, len(distinct))
    distance = np.abs(smooth_at(outcomes, risk, distinct) - distinct)
    rows = mass * (len(risk) / mass.sum())
    return np.append(mass @ distance / mass.sum(), weighted_quantile(distance, rows, (0.5, 0.9)))


def _smooth(
    data: SurvivalInput, outcomes: WeightedOutcomes, level: float, n_resamples: int, seed: int
) -> list[SurvivalMeasure]:
    risk = data.risk
    value = _indices(outcomes, risk)
    ends: list[tuple[float | None, float | None]] = [(None, None)] * len(SMOOTH)
    reason = ""
    if n_resamples:

        def indices_of(rows: NDArray[np.int64]) -> Floats:
            return _indices(data.outcomes(rows), risk[rows])

        sample, reason = replicates(indices_of, data, n_resamples, seed, len(SMOOTH))
        if not reason:
            least = least_resamples(level)
            if n_resamples < least:
                reason = f"the interval is unreliable: a level of {level:g} requires at least {least} resamples"
            tails = ((1 - level) / 2, (1 + level) / 2)
            ends = [
                corrected_limits(catalogue[name], float(v), column, *quantiles(column, tails))
                for name, v, column in zip(SMOOTH, value, sample.T, strict=True)
            ]
    return [
        SurvivalMeasure(name, float(v), low, high, None, "corrected bootstrap" if low is not None else "", reason)
        for name, v, (low, high) in zip(SMOOTH, value, ends, strict=True)
    ]


def replicates(
    statistics: Callable[[NDArray[np.int64]], Floats], data: SurvivalInput, count: int, rng: Any, wide: int
) -> tuple[Floats, str]:
    """So many statistics of the rows of each replicate; a reason to use none where too many of them have no value."""
    order = content_order(data.risk, data.follow_up.time, data.follow_up.event, data.follow_up.weight)
    bootstrap = Replicates(len(data.risk), count, rng)

    def values_of(number: int) -> Floats:
        try:
            return statistics(order[bootstrap.rows(number)])
        except CalibrantError:
            return np.full(wide, math.nan)

    values = np.array(many(values_of, bootstrap.count))
    values = values[~np.isnan(values).any(axis=1)]
    lost = 1 - len(values) / bootstrap.count
    return values, f"no interval: undefined for {lost:.0%} of the bootstrap replicates" if lost > MOST_UNDEFINED else ""
