"""Validation by centre: calibration and discrimination of each group, pooled by random effects."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..curves.logistic_regression import logit
from ..errors import (
    ArgumentError,
    BoundaryScoresWarning,
    CalibrantError,
    GroupError,
    UndefinedMetricError,
)
from ..evaluation.discrimination import auroc_with_error
from ..inference.intervals import interval as metric_interval
from ..inference.means import moments_of, two_sided_quantile
from ..inference.pooling import METHODS, Method, PooledEstimate, Transform, back, forth, pool_estimates
from ..input.grouping import check_one_grouping
from ..input.predictions import Predictions
from ..metrics.hints import inside, warn_of_sure_scores
from ..util.checks import check_choice, check_fraction, check_whole
from ..util.results import Result, number, percent
from ..views.keywords import documents_keywords
from ..views.resolve import as_predictions
from ..views.view import View
from .mixed_models import RandomIntercept
from .performance import one_event
from .summary_intervals import PRIOR_EVENTS, c_limits, hanley_variance

STANDARD = ("intercept", "slope", "oe", "c")
# Groups named in a line of text; the table has all of them.
NAMED = 8
# Rounds of pooling C at the pooled value, and a difference of C that ends them.
MOST_ROUNDS, SAME_C = 50, 1e-10
WHAT, KINDS = "validation by group", ("binary", "confidence")


class GroupEstimate(NamedTuple):
    """One measure of one group; NaN with a reason where it cannot be estimated."""

    value: float
    low: float
    high: float
    standard_error: float
    """On the scale on which the measure is pooled."""
    weight: float
    """Share in the pooled estimate; 0 where it is left out."""
    reason: str = ""
    """Why it cannot be estimated and, in two stages, is left out of the pool; empty where it is not."""


@dataclass(frozen=True)
class ValidatedGroup:
    """Rows, events and estimates of one group.

    Parameters
    ----------
    name : object
        Name of the group.
    rows : int
        Number of rows.
    events : int
        Number of events.
    mean_score : float
        Mean predicted probability.
    observed_rate : float
        Share of events.
    estimates : dict of str to GroupEstimate
        Estimates by measure.
    """

    name: Any
    rows: int
    events: int
    mean_score: float
    observed_rate: float
    estimates: dict[str, GroupEstimate]


class Measure(NamedTuple):
    """A measure: its heading, the scale on which it is pooled, its value for a calibrated model, and its decimals in the table."""

    heading: str
    transform: Transform = None
    ideal: float | None = None
    decimals: int = 2


Estimator = Callable[[View], tuple[float, float]]


@dataclass(frozen=True, repr=False)
class GroupValidation(Result):
    """Result of `validate_by_group`.

    ``result["slope"]`` is the `PooledEstimate` of one measure.

    Parameters
    ----------
    groups : tuple of ValidatedGroup
        Every group, including those that are left out.
    overall : ValidatedGroup
        All rows together, as if they came from one centre.
    pooled : dict of str to (PooledEstimate or None)
        Pooled estimate of each measure; None where fewer than two groups have an estimate.
    level : float
        Level of the intervals.
    notes : tuple of str
        Caveats, such as risks of exactly 0 or 1.
    """

    groups: tuple[ValidatedGroup, ...]
    overall: ValidatedGroup
    pooled: dict[str, PooledEstimate | None]
    level: float
    notes: tuple[str, ...] = ()

    def __getitem__(self, metric: str) -> PooledEstimate:
        if metric not in self.pooled:
            raise ArgumentError("metric", f"{metric!r} was not estimated", f"choose one of {', '.join(self.pooled)}")
        pooled = self.pooled[metric]
        if pooled is None:
            raise UndefinedMetricError(metric, "is not pooled: fewer than two groups have an estimate")
        return pooled

    @property
    def left_out(self) -> dict[str, dict[Any, str]]:
        """The groups that are left out of the pool of each measure, with the reason; a one-stage model leaves out none."""
        left_out = {}
        for metric, pooled in self.pooled.items():
            reasons = {
                each.name: each.estimates[metric].reason for each in self.groups if each.estimates[metric].reason
            }
            if pooled is not None and pooled.method == "one_stage":
                unused = set(reasons).difference(pooled.names) if metric == "c" else ()
                reasons = {name: why for name, why in reasons.items() if name in unused}
            left_out[metric] = reasons
        return left_out

    def _fields(self) -> dict[str, Any]:
        left_out = {metric: {str(n): why for n, why in left.items()} for metric, left in self.left_out.items()}
        return {**super()._fields(), "left_out": left_out}

    def _columns(self) -> dict[str, list[Any]]:
        rows: list[dict[str, Any]] = []
        for metric, pooled in self.pooled.items():
            for each, role in [*((g, "group") for g in self.groups), (self.overall, "all rows")]:
                estimate = each.estimates[metric]
                known = {"rows": each.rows, "events": each.events}
                rows.append({"metric": metric, "row": role, "name": str(each.name), **known, **estimate._asdict()})
            if pooled is None:
                continue
            used = [each for each in self.groups if each.name not in self.left_out[metric]]
            counts = {"rows": sum(each.rows for each in used), "events": sum(each.events for each in used)}
            for role, low, high in (
                ("pooled", pooled.low, pooled.high),
                ("prediction", pooled.prediction_low, pooled.prediction_high),
            ):
                known = GroupEstimate(pooled.estimate, low, high, pooled.standard_error, 1.0)._asdict()
                rows.append({"metric": metric, "row": role, "name": role, **counts, **known})
        return {name: [row[name] for row in rows] for name in rows[0]}

    def _title(self) -> str:
        used = next((pooled for pooled in self.pooled.values() if pooled is not None), None)
        how = "" if used is None else f"; {used._how()}"
        return f"{len(self.groups)} groups, {self.overall.rows:,} rows, {self.overall.events:,} events{how}"

    @property
    def _numeric(self) -> range:  # type: ignore[override]
        return range(1, 3 + len(self.pooled))

    def _table(self) -> tuple[list[str], list[list[str]]]:
        def cells(each: ValidatedGroup) -> list[str]:
            shown = [self._shown(metric, *estimate[:3]) for metric, estimate in each.estimates.items()]
            return [str(each.name), f"{each.rows:,}", f"{each.events:,}", *shown]

        def row(name: str, shown: Callable[[str, PooledEstimate], str]) -> list[str]:
            return [name, "", "", *("-" if p is None else shown(metric, p) for metric, p in self.pooled.items())]

        rows = [cells(each) for each in (*self.groups, self.overall)]
        rows.append(row("pooled", lambda metric, p: self._shown(metric, p.estimate, p.low, p.high)))
        if any(p is not None and p.method != "fixed" for p in self.pooled.values()):
            ends = row("", lambda metric, p: self._span(metric, p.prediction_low, p.prediction_high))
            rows.append([f"{100 * self.level:.4g}% prediction", *ends[1:]])
            rows.append(row("tau2", lambda _, p: number(p.tau2, 3)))
        rows.append(row("I2", lambda _, p: percent(p.i2, 0)))
        rows.append(row("p (Q)", lambda _, p: f"{p.q_pvalue:.3f}" if p.q_pvalue >= 0.001 else "<0.001"))
        if any(self.left_out.values()):
            rows.append(["left out", "", "", *(str(len(left)) for left in self.left_out.values())])
        return ["group", "rows", "events", *(MEASURES[metric].heading for metric in self.pooled)], rows

    def _shown(self, metric: str, value: float, low: float, high: float) -> str:
        return "-" if math.isnan(value) else f"{self._text(metric, value)} {self._span(metric, low, high)}"

    def _span(self, metric: str, low: float, high: float) -> str:
        return "-" if math.isnan(low) else f"[{self._text(metric, low)}, {self._text(metric, high)}]"

    def _text(self, metric: str, value: float) -> str:
        decimals = MEASURES[metric].decimals
        if abs(value) >= 1000:
            return number(value, 3)
        # An end that is almost 0 keeps its sign and a digit.
        return f"{value:.{decimals + (0 < abs(value) < 0.5 * 10**-decimals)}f}"

    def _notes(self) -> list[str]:
        lines = list(self.notes)
        common = set.intersection(*({*left.items()} for left in self.left_out.values()))
        lines += _left_out(
            "left out", [pair for pair in self.left_out[next(iter(self.pooled))].items() if pair in common]
        )
        for metric, left in self.left_out.items():
            lines += _left_out(
                f"{MEASURES[metric].heading} left out", [pair for pair in left.items() if pair not in common]
            )
        biased = (self.left_out.get(metric, {}) for metric in ("intercept", "oe"))
        if any("no events" in left.values() for left in biased) and any(self.pooled.values()):
            lines.append(
                "groups without events had fewer than expected: leaving them out raises pooled O/E and intercept"
            )
        said: dict[str, list[str]] = {}
        for metric, p in self.pooled.items():
            for note in () if p is None else p.notes:
                said.setdefault(note, []).append(MEASURES[metric].heading)
        return lines + [f"{', '.join(who)}: {note}" for note, who in said.items()]


def _left_out(what: str, pairs: Sequence[tuple[Any, str]]) -> list[str]:
    """A line for each reason, with the first groups by name."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in pairs:
        by_reason.setdefault(reason, []).append(str(name))
    return [
        f"{what} ({reason}): {', '.join(names[:NAMED])}"
        + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
        for reason, names in by_reason.items()
    ]


@documents_keywords()
def validate_by_group(
    predictions: Predictions,
    *,
    metrics: str | Iterable[str] = STANDARD,
    method: Method | Literal["one_stage"] = "one_stage",
    level: float = 0.95,
    min_rows: int = 10,
    lens: Any = "auto",
) -> GroupValidation:
    r"""Validate a model in each centre and pool the results by random effects.

    Estimates the calibration intercept, the calibration slope, O/E and the C statistic of each group with confidence intervals, and pools them over groups. The
    pooled estimate is the performance in an average centre, the prediction interval that to be expected in a new centre. Use it for multicentre
    validation, for individual participant data from several studies, and with periods such as years as groups for temporal validation.

    Parameters
    ----------
    predictions : Predictions
        Predictions with groups, such as centres: ``Predictions(y_true, y_prob, groups=centre)``.
    metrics : str or iterable of str, default ("intercept", "slope", "oe", "c")
        Measures to estimate and pool: ``"intercept"`` (given slope 1), ``"slope"``, ``"oe"`` (observed over expected events) and ``"c"`` (C statistic, AUROC).
    method : {"one_stage", "reml", "dersimonian_laird", "fixed"}, default "one_stage"
        ``"one_stage"`` fits a model with a random intercept of each group to all rows for intercept, slope and O/E, and pools C with variances at the pooled value,
        without bias where groups have few events. The others pool the estimates of the groups in a second stage, as `pool_estimates` with Hartung and Knapp's
        interval; rows with importance weights are always pooled so, by default by ``"reml"``.
    level
    min_rows : int, default 10
        Groups with fewer rows have no estimate, and are left out of a pool in two stages.
    lens

    Returns
    -------
    GroupValidation
        Result with the attributes ``groups`` (rows, events and estimates of each group), ``overall``, ``pooled`` and ``left_out``; ``result["slope"]`` is the
        pooled slope, ``to_frame()`` a table with one row per measure and group.

    Raises
    ------
    GroupError
        If no groups are given, or there is only one.
    LabelError
        If labels are probabilities (``soft=True``).
    LensError
        If the predictions are about more than one event.

    See Also
    --------
    calibrant.inference.pool_estimates : Pool estimates that were computed elsewhere, or regress them on time.
    calibrant.figures.forest_diagram : Forest plot of one measure.
    calibrant.evaluate : Any metrics by group, without pooling.

    Notes
    -----
    The one-stage models are logistic regressions of the outcome on the log-odds of the risk, as an offset for the intercept, and a Poisson regression of the number of
    events of each group with the expected number as offset for O/E, with a normal random intercept of each group [4]_. They are fitted by adaptive Gauss-Hermite
    quadrature, with intervals by the t distribution with one degree of freedom less than there are groups. Their prediction limits are those of `pool_estimates` for
    estimates that are linear about the pooled value, as of C below. I2, Q, and variance and prediction limits of slopes between groups are those of two stages, in which
    each measure is pooled on a scale on which its estimates are about normal:

    =============  ================  ============================================================================
    measure        scale             standard error within a group
    =============  ================  ============================================================================
    intercept      as is             inverse Fisher information of the regression with the log-odds as offset
    slope          as is             inverse Fisher information of the logistic recalibration
    O/E            log               delta method: standard deviation of :math:`y_i / \bar y - p_i / \bar p`, over :math:`\sqrt n`
    C              logit             DeLong (Hanley and McNeil for one event), over C (1 - C)
    =============  ================  ============================================================================

    With importance weights the sandwich covariance takes the place of the Fisher information. The standard error of log(O/E) is smaller than the binomial one,
    :math:`\sqrt{(1 - \bar y) / O}`, of meta-analyses of published results, which do not know how the risks vary.

    The C of a group is unbiased for any number of events, but its logit and its standard error depend on the same few events, so that their pooled value is too
    high. By default the estimates enter linearly, :math:`\operatorname{logit} C + (C_i - C) / (C (1 - C))` at the pooled :math:`C`, with the variances of Hanley and
    McNeil [5]_ at :math:`C`, multiplied by the mean ratio of DeLong's variances to them. They are pooled by REML, and again at the new :math:`C` until it no longer changes.
    In 40 centres with about 5 events each, the mean of the pooled C of a model with C 0.760 is 0.760, and 0.771 in two stages.

    Groups without events, with events only, or with fewer than `min_rows` rows have no estimate of their own, and so have groups where a slope is not estimable. A
    one-stage model includes them, C those with both outcomes. Two stages leave them out, which is a selection: groups without events had fewer events than expected, so that pooled O/E and
    intercept of the others are too high, and so are those of groups with few events. In 40 centres with about 5 events each, intervals of O/E of a calibrated model
    contain 1 in 0.7 of simulations in two stages, and in at least 0.95 in one.

    References
    ----------
    .. [1] Debray, T. P. A. et al. (2019). A framework for meta-analysis of prediction model studies with binary and time-to-event outcomes. Statistical Methods in
       Medical Research 28.
    .. [2] Riley, R. D. et al. (2016). External validation of clinical prediction models using big datasets from e-health records or IPD meta-analysis. BMJ 353.
    .. [3] DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988). Comparing the areas under two or more correlated receiver operating characteristic
       curves. Biometrics 44.
    .. [4] Stijnen, T., Hamza, T. H. and Ozdemir, P. (2010). Random effects meta-analysis of event outcome in the framework of the generalized linear mixed model.
       Statistics in Medicine 29.
    .. [5] Hanley, J. A. and McNeil, B. J. (1982). The meaning and use of the area under a receiver operating characteristic (ROC) curve. Radiology 143.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> data = cal.inference.make_calibrated(2000, distribution=(2, 6), rng=0)
    >>> centre = np.repeat(["A", "B", "C", "D", "E"], 400)
    >>> result = cal.clinical.validate_by_group(cal.Predictions(data.y_true, data.y_prob, groups=centre))
    >>> round(result["slope"].estimate, 2), result["slope"].k
    (0.98, 5)
    """
    chosen = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    if not chosen:
        raise ArgumentError("metrics", "is empty", 'name at least one, for example ["slope"]')
    for each in chosen:
        check_choice(each, "metrics", STANDARD)
    p = as_predictions(predictions)
    if p.groups is None:
        raise GroupError("groups", "are missing", "pass Predictions(..., groups=...), such as the centre of each row")
    check_one_grouping(p, "pooled results")
    return _Validation(chosen, method, level, min_rows, lens).of(p)


def _coefficient(metric: str) -> Estimator:
    """A coefficient of logistic recalibration with its standard error; the sandwich covariance for importance weights."""

    def estimate(view: View) -> tuple[float, float]:
        method: Any = "sandwich" if view.has_real_weights else "wald"
        coefficient = metric_interval(view, metric=metric, method=method)
        return coefficient.value, (coefficient.high - coefficient.low) / (2 * two_sided_quantile(coefficient.level))

    return estimate


class _Validation(NamedTuple):
    """What is estimated in each group and how it is pooled."""

    metrics: tuple[str, ...]
    method: str
    level: float
    min_rows: int
    lens: Any

    def of(self, p: Predictions) -> GroupValidation:
        """Validate predictions in their groups."""
        check_whole(self.min_rows, "min_rows")
        check_choice(self.method, "method", ("one_stage", *METHODS))
        check_fraction(self.level, "level")
        groups, names = p.groups, p.group_names
        assert groups is not None
        present = [code for code in range(len(names)) if (groups == code).any()]
        if all(isinstance(name, str) for name in names):  # "Centre 2" is before "Centre 10"
            pieces = [re.split(r"(\d+)", name) for name in names]
            present.sort(key=lambda code: [int(p) if place % 2 else p for place, p in enumerate(pieces[code])])
        if len(present) < 2:
            problem = "there is one group only; pooling requires at least two"
            raise GroupError("groups", problem, "use clinical.summary")
        notes = self._boundary_notes(p)
        with warnings.catch_warnings():
            if notes:  # all rows have warned already
                warnings.simplefilter("ignore", BoundaryScoresWarning)
            overall = self._group("all rows", p, 1)
            warnings.simplefilter("ignore", BoundaryScoresWarning)
            parts = [self._group(names[code], p.take(groups == code), self.min_rows) for code in present]
        pooled = {id: self._pooled(id, parts) for id in self.metrics}
        view = one_event(p, self.lens, WHAT, KINDS)
        if self.method == "one_stage" and not view.has_real_weights:
            centre = np.argsort(present)[np.searchsorted(np.sort(present), groups)]
            for id in ("intercept", "slope", "oe"):
                base = pooled.get(id)
                if base is not None:
                    pooled[id] = self._one_stage(id, view, centre, base)
            if pooled.get("c") is not None:
                pooled["c"] = self._pooled_c(view, centre, parts)
        return GroupValidation(tuple(parts), overall, pooled, self.level, notes)

    def _one_stage(self, id: str, view: View, centre: NDArray[np.intp], base: PooledEstimate) -> PooledEstimate:
        """Fit one model to the rows of all groups.

        The slope of the model is common to all groups. The variance of slopes between groups is that of two stages, and adds to that of the
        common slope, which is their mean weighted by precision.
        """
        from scipy.special import stdtrit

        score, y, size = view.score, view.outcome.astype(np.float64), view.weights
        k = int(centre.max()) + 1
        if id == "oe":
            events, expected = (np.bincount(centre, size * values, k).astype(np.float64) for values in (y, score))
            model = RandomIntercept(np.arange(k), events, expected, np.ones((k, 1)), np.zeros(k), "poisson")
        else:
            risk, ones = logit(score), np.ones(view.n)
            columns, offset = (ones, risk) if id == "intercept" else (np.column_stack([ones, risk]), 0 * risk)
            model = RandomIntercept(centre, size * y, size, columns.reshape(len(ones), -1), offset, "binomial")
        try:
            fit = model.fit()
        except UndefinedMetricError as error:
            return replace(base, notes=(*base.notes, f"in two stages: {error.problem}"))
        value, error_ = float(fit.coefficients[-1]), math.sqrt(fit.covariance[-1, -1])
        tau2, between = fit.tau2, base
        if id == "slope":
            tau2 = base.tau2
            share = base.standard_errors**-2 / np.sum(base.standard_errors**-2)
            error_ = math.sqrt(error_**2 + tau2 * float(np.sum(share**2)))
        else:
            effects, variances = model.centre_effects(fit.coefficients)
            transform = MEASURES[id].transform
            between = pool_estimates(value + effects, np.sqrt(variances), transform=transform, level=base.level)
        own = float(stdtrit(k - 1, (1 + base.level) / 2)) * error_
        estimate, low, high = back([value, value - own, value + own], base.transform).tolist()
        return replace(
            base,
            estimate=estimate,
            standard_error=error_,
            low=low,
            high=high,
            prediction_low=between.prediction_low,
            prediction_high=between.prediction_high,
            tau2=tau2,
            tau2_low=between.tau2_low,
            tau2_high=between.tau2_high,
            k=k,
            method="one_stage",
            interval="t",
            notes=(),
        )

    def _pooled_c(self, view: View, centre: NDArray[np.intp], parts: list[ValidatedGroup]) -> PooledEstimate:
        """Pool C with the variances that groups have at the pooled value, and enter the weight of each group in its estimate.

        The C of a group is unbiased for any number of events, but its variance by its own rows is smallest where C happens to be large, and
        so are weights that depend on it, and the logarithm of its odds. Here estimates are linear about the pooled value, and variances
        those of Hanley and McNeil there, multiplied by the mean ratio of those of DeLong to them, by the number of rows of the rarer outcome.
        """
        events, rows = (np.bincount(centre, view.weights * values) for values in (view.outcome, np.ones(view.n)))
        used = np.flatnonzero((events > 0) & (events < rows))
        areas = [auroc_with_error(_rows_of(view, centre == code)) for code in used]
        value, own = np.array(areas).T
        events, others = events[used], rows[used] - events[used]
        rarer, known = np.minimum(events, others), np.isfinite(own)
        mean = float(np.average(value, weights=events * others))
        for _ in range(MOST_ROUNDS):
            variance = hanley_variance(mean, events, others)
            ratios = np.append(own[known] ** 2 / variance[known], 1.0)
            ratio = float(np.average(ratios, weights=np.append(rarer[known], PRIOR_EVENTS)))
            unit = mean * (1 - mean)
            estimates, errors = math.log(mean / (1 - mean)) + (value - mean) / unit, np.sqrt(ratio * variance) / unit
            pooled = pool_estimates(
                dict(zip((parts[code].name for code in used), estimates, strict=True)),
                errors,
                transform="expit",
                method="reml",
                level=self.level,
            )
            if abs(pooled.estimate - mean) < SAME_C:
                break
            mean = pooled.estimate
        _enter_weights("c", parts, pooled)
        return replace(pooled, method="one_stage")

    def _pooled(self, id: str, parts: list[ValidatedGroup]) -> PooledEstimate | None:
        """Pool one measure, and enter the weight of each group in its estimate; None for fewer than two groups."""
        used = [place for place, part in enumerate(parts) if not part.estimates[id].reason]
        if len(used) < 2:
            return None
        transform = MEASURES[id].transform
        pooled = pool_estimates(
            {parts[place].name: float(forth(parts[place].estimates[id].value, transform)) for place in used},
            [parts[place].estimates[id].standard_error for place in used],
            transform=transform,
            method="reml" if self.method == "one_stage" else cast(Method, self.method),
            level=self.level,
        )
        _enter_weights(id, parts, pooled)
        return pooled

    def _boundary_notes(self, p: Predictions) -> tuple[str, ...]:
        """Warn of risks of 0 and 1 in intercept and slope, and return the note of the result on them."""
        view = one_event(p, self.lens, WHAT, KINDS)
        sure = view.n - inside(view).n
        if not sure or not {"intercept", "slope"} & set(self.metrics):
            return ()
        warn_of_sure_scores(view, "intercept and slope")
        some = f"{sure:,} of {view.n:,} risks are 0 or 1 (within 1e-12)"
        return (f"{some}: the slope has their log-odds truncated at 1e-12; clinical.summary leaves them out",)

    def _group(self, name: Any, p: Predictions, min_rows: int) -> ValidatedGroup:
        view = one_event(p, self.lens, WHAT, KINDS)
        rows = int(view.row_count)
        events = int((view.weights if view.weight_kind == "counts" else np.ones(view.n)) @ view.outcome)
        reasons = {
            f"fewer than {min_rows} rows": rows < min_rows,
            "no events": not events,
            "only events": events == rows,
        }
        common = next((reason for reason, applies in reasons.items() if applies), "")
        steps = two_sided_quantile(self.level)
        estimates = {}
        for id in self.metrics:
            reason, value, error = common, math.nan, math.nan
            if not reason:
                try:
                    value, error = ESTIMATORS[id](view)
                    reason = "" if error > 0 and math.isfinite(value) else "no standard error"
                except CalibrantError as problem:
                    reason = problem.problem
            if reason:
                estimates[id] = GroupEstimate(math.nan, math.nan, math.nan, math.nan, 0.0, reason)
            else:
                ends = [value, value - steps * error, value + steps * error]
                shown, low, high = back(ends, MEASURES[id].transform).tolist()
                if id in LIMITS and not view.has_real_weights:
                    low, high = LIMITS[id](view, self.level)
                estimates[id] = GroupEstimate(shown, low, high, error, 0.0)
        return ValidatedGroup(name, rows, events, view.mean(view.score), view.mean(view.outcome), estimates)


def _enter_weights(id: str, parts: list[ValidatedGroup], pooled: PooledEstimate) -> None:
    """Enter the weight of each group in its estimate of a measure."""
    weights = dict(zip(pooled.names, pooled.weights.tolist(), strict=True))
    for place, part in enumerate(parts):
        estimate = part.estimates[id]._replace(weight=weights.get(part.name, 0.0))
        parts[place] = replace(part, estimates={**part.estimates, id: estimate})


def _rows_of(view: View, rows: NDArray[np.bool_]) -> View:
    """Some rows of a view."""
    weight = None if view.weight is None else view.weight[rows]
    return View(view.score[rows], view.raw_outcome[rows], weight, view.weight_kind)


def _oe(view: View) -> tuple[float, float]:
    rate, mean = view.mean(view.outcome), view.mean(view.score)
    if mean <= 0:
        raise UndefinedMetricError("y_prob", "every predicted probability is 0")
    rows = view.outcome / rate - view.score / mean
    return math.log(rate / mean), math.sqrt(moments_of(view, rows, 0.0).variance)


def _c(view: View) -> tuple[float, float]:
    value, error = auroc_with_error(view)
    if not 0 < value < 1:
        raise UndefinedMetricError("y_prob", f"C is {value:g}: the scores separate the outcomes")
    if math.isnan(error):  # one event, or one row without it
        weight = view.weights if view.weight_kind == "counts" else np.ones(view.n)
        events = float(weight @ view.outcome)
        error = math.sqrt(hanley_variance(value, events, float(weight.sum()) - events))
    return math.log(value / (1 - value)), error / (value * (1 - value))


def _oe_limits(view: View, level: float) -> tuple[float, float]:
    ratio = metric_interval(view, metric="expected_observed_ratio", form="observed_expected", level=level)
    return ratio.low, ratio.high


# Limits of one group as in `clinical.summary`; the standard errors serve for pooling.
LIMITS = {"oe": _oe_limits, "c": c_limits}
MEASURES = {
    "intercept": Measure("intercept", None, 0.0, 2),
    "slope": Measure("slope", None, 1.0, 2),
    "oe": Measure("O/E", "exp", 1.0, 2),
    "c": Measure("C", "expit", None, 3),
}
ESTIMATORS: dict[str, Estimator] = {
    "intercept": _coefficient("fixed_slope_intercept"),
    "slope": _coefficient("cox_slope"),
    "oe": _oe,
    "c": _c,
}
