"""clinical.summary: the performance of a risk model, with intervals, as a validation study reports it (the list of rms::val.prob and more)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from ..curves.curves import fit_line
from ..curves.logistic_regression import Groups, SeparatedError, groups_of, logit
from ..errors import ArgumentError, CalibrantError, InputTypeError, LabelError, LensError, UndefinedMetricError
from ..evaluation.discrimination import auroc_with_error
from ..evaluation.header import outcome_of
from ..evaluation.result import shown_number
from ..inference.cells import sharing
from ..inference.fitted import limit_gain
from ..inference.intervals import check_resamples, interval
from ..inference.resampling import clusters_of, few_groups
from ..inference.seeds import seed_of
from ..input.predictions import Predictions
from ..metrics.curve.coefficients import line_of
from ..metrics.hints import inside
from ..metrics.registry import catalogue
from ..util.arrays import Floats
from ..util.checks import check_choice, check_fraction, check_whole
from ..util.results import Result, number, pvalue_text
from ..views.keywords import documents_keywords
from ..views.lenses import Lens
from ..views.resolve import as_predictions, views_of
from ..views.view import View
from .summary_intervals import INTERVALS, limits_of

# The curve of ici, e50, e90 and emax: R's loess, or that of rms::val.prob.
SMOOTHERS: dict[str, dict[str, Any]] = {
    "loess": {"smoother": "loess", "surface": "interpolate"},
    "lowess": {"smoother": "lowess"},
}
# Below this many rows of the rarer outcome, intervals are less reliable than stated.
FEW_EVENTS = 100


@dataclass(frozen=True)
class ClinicalRow:
    """One line of a clinical summary."""

    id: str
    group: str
    """Data, discrimination, overall or calibration."""
    name: str
    value: float | None
    """None where it is undefined, which `note` explains."""
    low: float | None
    high: float | None
    method: str
    """How the interval was computed; empty where there is none."""
    ideal: float | None
    meaning: str
    rms: str = ""
    """Name in the result of ``rms::val.prob``; empty where it is not part of it."""
    note: str = ""


def _row(id: str, group: str, name: str, ideal: float | None, meaning: str, rms: str = "") -> ClinicalRow:
    return ClinicalRow(id, group, name, None, None, None, "", ideal, meaning, rms)


ROWS = {
    row.id: row
    for row in (
        _row("n", "data", "Patients", None, "number of rows"),
        _row("events", "data", "Events", None, "rows with the outcome"),
        _row("prevalence", "data", "Prevalence", None, "observed event rate"),
        _row("mean_risk", "data", "Mean predicted risk", None, "ideally the prevalence"),
        _row("c", "discrimination", "C statistic (AUROC)", 1, "ranking: 0.5 is none", "C (ROC)"),
        _row("dxy", "discrimination", "Somers' Dxy", 1, "2 C - 1", "Dxy"),
        _row("r2", "overall", "Nagelkerke R2", 1, "explained variation of the risks as given", "R2"),
        _row("d", "overall", "D, discrimination index", None, "log-likelihood gain over the prevalence", "D"),
        _row("d_chi2", "overall", "D: chi-square", None, "likelihood ratio, 1 df", "D:Chi-sq"),
        _row("d_p", "overall", "D: p", None, "small: better than the prevalence", "D:p"),
        _row("u", "overall", "U, unreliability index", 0, "log-likelihood lost by miscalibration", "U"),
        _row("u_chi2", "overall", "U: chi-square", None, "intercept 0 and slope 1, 2 df", "U:Chi-sq"),
        _row("u_p", "overall", "U: p", None, "small: recalibration improves the fit", "U:p"),
        _row("q", "overall", "Q, quality index", None, "D - U", "Q"),
        _row("brier", "overall", "Brier score", 0, "mean squared error", "Brier"),
        _row("scaled_brier", "overall", "Scaled Brier score", 1, "0: no better than the prevalence"),
        _row("intercept", "calibration", "Calibration intercept", 0, "slope 1; above 0: risks too low"),
        _row(
            "joint_intercept", "calibration", "Intercept with slope", 0, "fitted together with the slope", "Intercept"
        ),
        _row("slope", "calibration", "Calibration slope", 1, "below 1: risks too extreme", "Slope"),
        _row("oe", "calibration", "O/E ratio", 1, "above 1: more events than predicted"),
        _row("eo", "calibration", "E/O ratio", 1, "below 1: more events than predicted"),
        _row("ici", "calibration", "ICI (Eavg)", 0, "mean distance of the curve from the diagonal", "Eavg"),
        _row("e50", "calibration", "E50", 0, "median distance"),
        _row("e90", "calibration", "E90", 0, "90th percentile of the distance", "E90"),
        _row("emax", "calibration", "Emax", 0, "largest distance", "Emax"),
        _row("s_z", "calibration", "Spiegelhalter z", 0, "above 0: Brier score larger than the risks imply", "S:z"),
        _row("s_p", "calibration", "Spiegelhalter p", None, "small: not calibrated", "S:p"),
    )
}
P_VALUES = ("d_p", "u_p", "s_p")
# Statistics that assume independent rows of equal weight.
ONLY_INDEPENDENT = ("d_chi2", "d_p", "u_chi2", "u_p")
COUNTED = ("n", "events")
# Distances of the calibration curve, with the intervals of `calibrant.interval`; the others have intervals without resamples.
DISTANCES = ("ici", "e50", "e90", "emax")
INFERRED = tuple(
    id for id in ROWS if id not in (*COUNTED, *P_VALUES, *DISTANCES, "mean_risk", "d_chi2", "u_chi2", "s_z")
)


@dataclass(frozen=True, repr=False)
class ClinicalSummary(Result):
    """Performance of a risk model with confidence intervals.

    Returned by `clinical.summary`; ``summary["slope"]`` is one row, `to_frame` has all of them.

    Parameters
    ----------
    rows : tuple of ClinicalRow
        ``id``, ``group``, ``name``, ``value``, ``low``, ``high``, ``method`` of the interval, ``ideal`` value, ``meaning``, name in
        ``rms`` and ``note`` of each statistic.
    n : int
        Number of rows; counts are added up.
    events : float
        Number of rows with the outcome.
    level : float
        Confidence level of the intervals.
    n_resamples : int
        Number of resamples of the distances of the curve.
    outcome : str
        Name of the event; empty where it has none.
    clusters : int
        Number of groups of dependent rows; 0 without ``cluster=True``.
    weighted : bool
        Whether the rows have importance weights.
    notes : tuple of str
        Caveats, such as few events or risks of exactly 0 or 1.

    See Also
    --------
    clinical.summary : Create it.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.clinical.summary([0, 0, 1, 1] * 25, [0.1, 0.6, 0.4, 0.8] * 25, n_resamples=0)
    >>> found["c"].value, found["C (ROC)"].method
    (0.75, 'score')
    """

    _numeric = (1, 2, 3)

    rows: tuple[ClinicalRow, ...]
    n: int
    events: float
    level: float
    n_resamples: int
    outcome: str = ""
    clusters: int = 0
    weighted: bool = False
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> ClinicalRow:
        for row in self.rows:
            if name in (row.id, row.name) or (row.rms and name == row.rms):
                return row
        raise ArgumentError("name", f"{name!r} is not in the summary", f"choose one of {[row.id for row in self.rows]}")

    def _columns(self) -> dict[str, Sequence[Any]]:
        return {field.name: [getattr(row, field.name) for row in self.rows] for field in fields(ClinicalRow)}

    def _title(self) -> str:
        about = f" of {self.outcome}" if self.outcome else ""
        patients, events = "patient" if self.n == 1 else "patients", "event" if self.events == 1 else "events"
        return f"Clinical summary{about}: {self.n:,} {patients}, {self.events:,.6g} {events}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        headings = ["measure", "value", f"{100 * self.level:g}% low", "high", "interval", "ideal", "meaning"]
        return headings, [row_cells(row) for row in self.rows]

    def _notes(self) -> list[str]:
        return [f"  note: {text}" for text in self.notes]


def row_cells(row: ClinicalRow) -> list[str]:
    """Format one row: name, value, limits, method, ideal value and meaning."""
    if row.value is None:
        value = "-"
    elif row.id in COUNTED:
        value = f"{row.value:,.6g}"
    else:
        value = pvalue_text(row.value) if row.id in P_VALUES else shown_number(row.value)
    ends = ["" if end is None else number(end) for end in (row.low, row.high)]
    ideal = "" if row.ideal is None else f"{row.ideal:g}"
    return [row.name, value, *ends, row.method, ideal, row.note or row.meaning]


@documents_keywords()
def summary(
    y_true: Any,
    y_prob: Any = None,
    *,
    smoother: str = "loess",
    level: float = 0.95,
    n_resamples: int = 500,
    rng: Any = 0,
    cluster: bool = False,
    lens: str | Lens = "auto",
) -> ClinicalSummary:
    r"""Summarize the performance of a risk model, with confidence intervals.

    Computes what a validation study of a clinical prediction model reports: discrimination (C statistic, Dxy), overall performance
    (Nagelkerke's R², Brier score, scaled Brier score, the indices D, U and Q) and calibration (intercept, slope, O/E, ICI, E50, E90, Emax,
    Spiegelhalter's test). It contains every entry of ``rms::val.prob`` of R, and names it in the column ``rms``.

    Parameters
    ----------
    y_true
    y_prob
    smoother : {"loess", "lowess"}, default "loess"
        Calibration curve of ICI, E50, E90 and Emax: ``"loess"`` of degree 2 and span 0.75, the defaults of R's function, or ``"lowess"``,
        the curve of ``val.prob``.
    level
    n_resamples : int, default 500
        Number of resamples for the intervals of ICI, E50, E90 and Emax, as for `calibrant.interval`; 0 leaves these without an interval.
    rng : None, int or numpy.random.Generator, default 0
        Seed or random generator.
    cluster : bool, default False
        Whether rows of a group (``groups=``), such as a patient with several rows or a centre, are dependent. Intervals are then by the
        jackknife over groups, and tests that assume independent rows are left out.
    lens : str or Lens, default "auto"
        The event: the positive class of two, or ``"class:NAME"`` for one of several classes.

    Returns
    -------
    ClinicalSummary
        A table with one row per statistic. ``summary["slope"]`` has ``value``, ``low``, ``high``, ``method``, ``ideal`` and
        ``meaning``; rows are found by their id, such as ``"oe"``, or by their name in ``val.prob``, such as ``"U:Chi-sq"``.

    Raises
    ------
    ArgumentError
        If the value of an option is invalid.
    LabelError
        If labels are probabilities (``soft=True``).
    LensError
        If the predictions are not about one event.

    See Also
    --------
    evaluate : Metrics of the catalogue.
    calibrant.interval : Interval of one metric, by other methods.
    calibrant.decision.net_benefit : Decision curve analysis.
    calibrant.reporting.tripod : The items of the TRIPOD+AI statement that these results answer.

    Notes
    -----
    With the log-likelihood :math:`\ell(\alpha, \beta)` of log-odds :math:`\alpha + \beta \operatorname{logit} p`, its maximum
    :math:`\hat\ell`, the log-likelihood :math:`\ell_0` of the prevalence, and :math:`n` rows [1]_,

    .. math::

        D = \frac{2 (\ell(0, 1) - \ell_0) - 1}{n}, \quad U = \frac{2 (\hat\ell - \ell(0, 1)) - 2}{n}, \quad Q = D - U, \quad
        R^2 = \frac{1 - e^{-2 (\ell(0, 1) - \ell_0) / n}}{1 - e^{2 \ell_0 / n}}.

    All of them are about the risks as given, not about recalibrated ones: :math:`R^2` and :math:`D` are negative for risks that are worse
    than the prevalence. The scaled Brier score is one minus the Brier score divided by that of the prevalence [2]_.

    Intervals: Wald for intercepts and slope, gamma limits for the Brier score and Wald limits for the ratio of expected and observed
    events, Wilson for the prevalence. C and Dxy have score limits: the variance of Hanley and McNeil as a function of C [4]_, in proportion to
    DeLong's variance [3]_ at the estimate, which counts the less the fewer events there are. R², D, Q and the scaled Brier score have limits by the infinitesimal
    jackknife and the t distribution with one degree of freedom less than the rarer outcome has rows, those of R² and the scaled Brier
    score on the scale of the logarithm of one minus the estimate. The limits of U also contain those from the noncentral chi-square
    distribution of its test. The distances of the curve have the intervals of `calibrant.interval`. Coverage in simulations is given in the guide on risk models.

    Rows with a risk of 0 or 1 (within 1e-12) are left out of the logistic calibration, as in ``val.prob``. If one of them has the other
    outcome, the likelihood is 0: D, R² and Q are minus infinity, and U is infinite.

    With importance weights estimates are weighted; the chi-squares of D and U are left out, all intervals but those of the intercepts, the
    slope and the ratio are by the jackknife, and rows are counted by their effective number.

    References
    ----------
    .. [1] Harrell, F. E. (2015). Regression Modeling Strategies, 2nd ed. Springer.
    .. [2] Steyerberg, E. W. et al. (2010). Assessing the performance of prediction models: a framework for traditional and novel
       measures. Epidemiology 21, 128-138.
    .. [3] DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988). Comparing the areas under two or more correlated receiver
       operating characteristic curves. Biometrics 44, 837-845.
    .. [4] Newcombe, R. G. (2006). Confidence intervals for an effect size measure based on the Mann-Whitney statistic. Part 2: asymptotic
       methods and evaluation. Statistics in Medicine 25, 559-573.

    Examples
    --------
    >>> import calibrant as cal
    >>> data = cal.inference.make_miscalibrated(1000, warp=cal.inference.simulation.temperature(1.5), distribution=(2, 8), rng=0)
    >>> found = cal.clinical.summary(data.y_true, data.y_prob, n_resamples=0)
    >>> slope = found["slope"]
    >>> print(f"{slope.value:.2f} ({slope.low:.2f} to {slope.high:.2f}), {slope.method}")
    0.70 (0.51 to 0.90), Wald
    """
    check_choice(smoother, "smoother", tuple(SMOOTHERS))
    check_fraction(level, "level")
    if not isinstance(cluster, bool):
        raise ArgumentError("cluster", f"must be True or False; got {cluster!r}")
    if check_whole(n_resamples, "n_resamples", 0):
        check_resamples(n_resamples, level)
    if isinstance(y_prob, Mapping):
        raise InputTypeError("y_prob", "holds several models, and a summary is about one", "call it for each of them")
    p = as_predictions(y_true, y_prob)
    return summarize(p, lens, smoother, level, n_resamples, seed_of(rng), cluster)


def why_no_interval(value: float) -> str:
    """State why a statistic has no limits."""
    return f"no interval: {'the value is infinite' if math.isinf(value) else 'too little variation between rows'}"


def summarize(
    p: Predictions,
    lens: str | Lens,
    smoother: str,
    level: float,
    n_resamples: int,
    seed: int,
    cluster: bool = False,
    outcome: str | None = None,
) -> ClinicalSummary:
    """Summarize checked predictions; without resamples the distances of the curve have no interval."""
    view = one_event(p, lens)
    weighted = view.has_real_weights
    values, why = statistics(view, smoother)
    for id in ONLY_INDEPENDENT if weighted else (*ONLY_INDEPENDENT, "s_p") if cluster else ():
        values.pop(id, None)
        why[id] = "assumes independent rows of equal weight" if weighted else "assumes independent rows"
    clusters = None
    if cluster:
        clusters_of(p)
        clusters = np.unique(np.asarray(p.groups), return_inverse=True)[1]
    limits = limits_of(view, values, level, clusters)
    notes = {id: why_no_interval(values.get(id, math.nan)) for id in set(INFERRED) - set(limits)}
    options = {"level": level, "n_resamples": n_resamples, "rng": seed, **SMOOTHERS[smoother]}
    with sharing():  # one curve of each resample
        for id in DISTANCES if n_resamples else ():
            if id not in values:
                continue
            try:
                known = (
                    interval(p, metric=id, lens=lens, cluster=True, **options)
                    if cluster
                    else interval(view, metric=id, **options)
                )
            except CalibrantError as error:
                notes[id] = f"no interval: {error.problem}"
                continue
            limits[id] = INTERVALS.get(known.method, known.method), (known.low, known.high)
    rows = []
    for id, row in ROWS.items():
        value = values.get(id)
        if value is None or math.isnan(value):
            rows.append(replace(row, note=why.get(id, "only one outcome occurs")))
            continue
        method, (low, high) = limits.get(id, ("", (None, None)))
        rows.append(replace(row, value=value, low=low, high=high, method=method, note=notes.get(id, "")))
    count = 0 if clusters is None else int(clusters.max()) + 1
    summary = ClinicalSummary(
        tuple(rows),
        int(values["n"]),
        values["events"],
        level,
        n_resamples,
        outcome or (outcome_of(p) if view.lens == "binary" else view.lens.removeprefix("class:")),
        count,
        weighted,
        _notes(view, values, few_groups(count)),
    )
    if p.dropped is not None:
        object.__setattr__(summary, "dropped", p.dropped)  # results are frozen
    return summary


def one_event(
    p: Predictions, lens: str | Lens = "auto", what: str = "a clinical summary", kinds: Sequence[str] = ("binary",)
) -> View:
    """Return the view of one event with hard labels; raise where the predictions are about something else."""
    if p.kind not in kinds and lens == "auto":
        raise LensError(
            "y_prob",
            f"{what} is about one event, and the predictions are {p.kind}",
            "use lens='class:NAME' for one of the classes" if p.kind == "multiclass" else "pass the risk of one event",
        )
    views = views_of(p, lens)
    view = views[0]
    if len(views) > 1 or not isinstance(view, View):
        raise LensError("lens", "must select one event", "use lens='class:NAME'")
    if view.is_soft:
        raise LabelError("y_true", "soft labels have no events to count", "pass observed outcomes")
    return view


def statistics(
    view: View, smoother: str, wanted: Sequence[str] | None = None
) -> tuple[dict[str, float], dict[str, str]]:
    """Return the value of each statistic, and the reasons for those that are undefined.

    Parameters
    ----------
    view : View
        Risks and outcomes.
    smoother : {"loess", "lowess"}
        Calibration curve of `ici`, `e50`, `e90` and `emax`.
    wanted : sequence of str, optional
        Ids of the statistics that are used; others may be left out.

    Returns
    -------
    tuple of dict
        Values and reasons by id.
    """
    values: dict[str, float] = {}
    why: dict[str, str] = {}
    parts: dict[tuple[str, ...], Callable[[View], dict[str, float]]] = {
        **_PARTS,
        DISTANCES: partial(_distances, smoother=smoother),
    }
    for ids, compute in parts.items():
        if wanted is not None and not set(ids) & set(wanted):
            continue
        try:
            values.update(compute(view))
        except CalibrantError as error:
            why |= dict.fromkeys(ids, error.problem if isinstance(error.problem, str) else str(error))
    return values, why


def _counts(view: View) -> dict[str, float]:
    n = view.row_count
    rate = view.mean(view.outcome)
    hits = view.outcome if view.weight_kind != "counts" else view.outcome * view.weights
    return {"n": n, "events": float(hits.sum()), "prevalence": rate, "mean_risk": view.mean(view.score)}


def _discrimination(view: View) -> dict[str, float]:
    c, _ = auroc_with_error(view)
    return {"c": c, "dxy": 2 * c - 1}


def _likelihoods(view: View) -> dict[str, float]:
    """Compute D, U, Q and R2 from the log-likelihoods of the risks, the prevalence and the recalibrated risks."""
    groups = groups_of(view)
    n, events = float(groups.weight.sum()), float(groups.events.sum())
    if not 0 < events < n:
        raise UndefinedMetricError("y_true", "only one outcome occurs")
    rate = events / n
    null = events * math.log(rate) + (n - events) * math.log1p(-rate)
    inner = _inside(groups)
    contradicted = bool((groups.events[groups.score <= 0] > 0).any() or (groups.others[groups.score >= 1] > 0).any())
    own = -math.inf if contradicted else _log_likelihood(inner, logit(inner.score))
    ratio = 2 * (own - null)
    statistics = {"d_chi2": ratio, "d": (ratio - 1) / n, "d_p": _chi2_p(ratio, 1)}
    statistics["r2"] = -math.inf if contradicted else -math.expm1(-ratio / n) / -math.expm1(2 * null / n)
    best, freedom = _fit_recalibration(inner)
    gain = math.inf if contradicted else max(0.0, 2 * (best - own))
    statistics |= {"u_chi2": gain, "u": (gain - freedom) / n, "u_p": _chi2_p(gain, freedom)}
    statistics["q"] = statistics["d"] - statistics["u"]
    return statistics


def _inside(groups: Groups) -> Groups:
    """Return the groups whose score is neither 0 nor 1; recalibration in log-odds does not change the others."""
    kept = (groups.score > 0) & (groups.score < 1)
    if kept.all():
        return groups
    parts = {name: getattr(groups, name)[kept] for name in ("score", "rows", "weight", "events", "others")}
    first, second, third = groups.squares
    return groups._replace(**parts, squares=(first[kept], second[kept], third[kept]))


def _log_likelihood(groups: Groups, eta: Floats) -> float:
    return float((groups.events * eta - groups.weight * np.logaddexp(0, eta)).sum())


def _fit_recalibration(groups: Groups) -> tuple[float, int]:
    """Return the largest log-likelihood of an intercept and a slope, and how many of them there are."""
    if len(groups.score) == 0:
        return 0.0, 0
    if groups.score[0] == groups.score[-1]:
        events, total = float(groups.events.sum()), float(groups.weight.sum())
        if not 0 < events < total:
            return 0.0, 1
        return events * math.log(events / total) + (total - events) * math.log1p(-events / total), 1
    try:
        return fit_line(groups).log_likelihood, 2
    except SeparatedError:  # its limit for an infinite slope
        return _log_likelihood(groups, logit(groups.score)) + limit_gain(groups), 2


def _chi2_p(statistic: float, freedom: int) -> float:
    from scipy.special import chdtrc

    return 1.0 if freedom == 0 else float(chdtrc(freedom, max(statistic, 0.0)))


def _errors(view: View) -> dict[str, float]:
    brier = view.mean(np.square(view.score - view.outcome))
    rate = view.mean(view.outcome)
    return {"brier": brier, "scaled_brier": 1 - brier / (rate * (1 - rate)) if 0 < rate < 1 else math.nan}


def _ratios(view: View) -> dict[str, float]:
    ratio = catalogue["expected_observed_ratio"]
    return {"eo": ratio(view), "oe": ratio(view, form="observed_expected")}


def _inner_rows(view: View) -> View:
    """Return the rows of the logistic regressions, whose risk is neither 0 nor 1."""
    inner = inside(view)
    if inner.n == 0:
        raise UndefinedMetricError("y_prob", "every risk is 0 or 1")
    return inner


def _intercept(view: View) -> dict[str, float]:
    return {"intercept": catalogue["fixed_slope_intercept"](_inner_rows(view))}


def _line(view: View) -> dict[str, float]:
    fit = line_of(_inner_rows(view), None)
    return {"joint_intercept": float(fit.coefficients[0]), "slope": float(fit.coefficients[1])}


def _distances(view: View, smoother: str) -> dict[str, float]:
    return {id: catalogue[id](view, **SMOOTHERS[smoother]) for id in DISTANCES}


def _spiegelhalter(view: View) -> dict[str, float]:
    from scipy.special import ndtr

    z = catalogue["spiegelhalter_z"](view)
    return {"s_z": z, "s_p": 2 * float(ndtr(-abs(z)))}


_PARTS: dict[tuple[str, ...], Callable[[View], dict[str, float]]] = {
    ("n", "events", "prevalence", "mean_risk"): _counts,
    ("c", "dxy"): _discrimination,
    ("r2", "d", "d_chi2", "d_p", "u", "u_chi2", "u_p", "q"): _likelihoods,
    ("brier", "scaled_brier"): _errors,
    ("intercept",): _intercept,
    ("joint_intercept", "slope"): _line,
    ("oe", "eo"): _ratios,
    ("s_z", "s_p"): _spiegelhalter,
}


def _notes(view: View, values: Mapping[str, float], clusters: str) -> tuple[str, ...]:
    notes = []
    rarer = min(values["events"], values["n"] - values["events"])
    if rarer < FEW_EVENTS:
        notes.append(
            f"only {rarer:g} {'row has' if rarer == 1 else 'rows have'} the rarer outcome; at least 100, better 200, are recommended for a validation study"
        )
    sure = view.n - inside(view).n, view.total - inside(view).total
    edge = round(sure[view.weight_kind == "counts"])
    if edge:
        some = "1 risk of 0 or 1 (within 1e-12) is" if edge == 1 else f"{edge} risks of 0 or 1 (within 1e-12) are"
        notes.append(
            f"{some} left out of the calibration intercept and slope, as in val.prob; cox_slope and validate_by_group "
            "keep them by default, truncated at 1e-12"
        )
    wrong = int(np.count_nonzero(np.abs(view.score - view.outcome) >= 1))
    if wrong:
        rows = "1 row has" if wrong == 1 else f"{wrong:,} rows have"
        notes.append(f"{rows} a risk of 0 or 1 and the other outcome, so that R2, D, U and Q are infinite")
    if clusters:
        notes.append(clusters)
    return tuple(notes)
