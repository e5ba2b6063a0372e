"""`assess`: significance tests of a metric against the null hypothesis of calibration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np

from ..errors import ArgumentError, CalibrantError, LensError, UndefinedMetricError
from ..input.predictions import Predictions
from ..metrics.cumulative.subpopulations import worst_subpopulation
from ..metrics.registry import OWN_TESTS, Metric, catalogue
from ..metrics.reliability_curve import one_question
from ..util.arrays import Floats
from ..util.checks import check_choice, check_fraction, check_whole
from ..views.keywords import check_options, documents_keywords
from ..views.lenses import AnyView, Lens, has_one_event, shared_name, single_event
from ..views.resolve import Source as AnySource
from ..views.resolve import paired_models, resolve, views_of
from ..views.selections import Selection
from ..views.view import VectorView, View
from . import asymptotic, fitted, pairs, variation  # noqa: F401  (they register their tests)
from .cells import Draws
from .equivalence import equivalence_test
from .fitted import refuse_importance
from .metric_tests import ANY_SIDE, OwnTest, TestInput, TestOutcome, default_test
from .multiplicity import adjust
from .null_samples import Source, draw_null, prepare_test, read_source, simulated_null
from .pvalues import SAME, compared_with_draws, compared_with_every_outcome, pvalues_of_draws
from .resampling import options_of
from .sampler_choice import choose_sampler
from .seeds import seed_of
from .verdicts import SignificanceResult, SignificanceTable

Correction = Literal["holm", "benjamini_hochberg", "min_p", "none"]

# Up to this many rows, every outcome is enumerated.
ENUMERATED_ROWS = 12
MOST_ENUMERATED_ROWS = 20
# What each method that simulates labels draws.
DRAWS: dict[str, Draws] = {"consistency": "outcomes", "resampled_scores": "scores"}


@documents_keywords()
def assess(
    y_true: Any,
    y_prob: Any = None,
    *,
    metric: str | Metric | None = None,
    tolerance: float | None = None,
    method: str = "auto",
    alpha: float = 0.05,
    alternative: Literal["greater", "less", "two-sided"] | None = None,
    n_resamples: int = 999,
    exact: bool = False,
    rng: Any = 0,
    lens: str | Lens | None = None,
    where: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> Any:
    r"""Test whether the value of a metric is compatible with calibrated predictions.

    The null hypothesis is that the labels are drawn from the predicted probabilities: :math:`H_0: P(Y_i = k \mid \hat p_i) = \hat p_{ik}`,
    independently for all rows. The test statistic is the value of `metric`; its null distribution is derived in closed form where the
    metric has such a test, and simulated otherwise. A small p-value is evidence of miscalibration; a large one is not evidence of
    calibration.

    Parameters
    ----------
    y_true
    y_prob
    metric : str or Metric, optional
        Identifier or alias of a metric, by default `ecce_mad`, or `ece` with a tolerance; its options, such as ``bins=``, are accepted
        as keywords.
    tolerance : float, optional
        Tests in place of calibration whether the predictions are good enough: the null hypothesis is that the metric differs from its ideal
        value by at least `tolerance`, that is, that an error is at least as large.
    method : str, default "auto"
        How the null distribution is obtained: ``"consistency"`` simulates labels from the predicted probabilities (consistency
        resampling); ``"resampled_scores"`` resamples the scores with replacement as well, as published, so that the null distribution also
        reflects their sampling; ``"enumeration"`` evaluates all :math:`2^n` outcomes of up to 20 rows; other names are closed-form or specialised
        tests of the metric, such as ``"series"``, ``"normal"`` or ``"chi_square"``. ``"auto"`` is described in the Notes.
    alpha : float, default 0.05
        Significance level at which the critical values and the verdict are stated.
    alternative : {"greater", "less", "two-sided"}, optional
        Values that count as evidence against the null hypothesis. By default the alternative that the metric declares, and
        ``"two-sided"`` for strictly proper scores.
    n_resamples : int, default 999
        Number of simulated data sets; at least 1999 for a `tolerance` that is tested by simulation.
    exact : bool, default False
        Whether to simulate row by row even where sums over cells of nearly equal score are accurate enough.
    rng
    lens
    where
    sample_weight
    pos_label
    **options
        Options of the metric.

    Returns
    -------
    SignificanceResult or EquivalenceResult
        With a tolerance an `EquivalenceResult` with ``low``, ``high``, ``rejected`` (the error is shown to be smaller) and ``verdict``. Otherwise
        a result with the attributes ``statistic``, ``pvalue``, ``critical_value``, ``lower_critical_value``, ``by_chance``
        (the expected value under the null hypothesis), ``null_hypothesis``, ``method``, ``null_distribution`` (a description),
        ``null`` (the simulated values), ``rejected`` and ``verdict``.

    Raises
    ------
    ArgumentError
        If an argument is out of range, `method` is not a test of the metric, or `where` selects rows by their labels.
    UndefinedMetricError
        If the labels are soft, or the metric is undefined for all simulated data sets.

    See Also
    --------
    assess_many : Several metrics on the same simulated data sets, with correction for multiplicity.
    interval : Confidence interval of a metric.
    calibration_band : Simultaneous confidence band of the calibration curve.
    power : Power of these tests.

    Notes
    -----
    With B simulated values :math:`t_1, \dots, t_B` the p-value for ``alternative="greater"`` is

    .. math:: p = \frac{1 + \#\{b : t_b \ge t\}}{1 + B},

    so it cannot fall below 1 / (1 + B). Two-sided p-values use the distance from the ideal value of the metric where it has one for
    calibrated predictions and all values are finite, and twice the smaller tail otherwise. Data sets for which the metric is undefined
    are left out and replaced, so that the test is conditional on the metric being defined; ``null_distribution`` states their share.

    ``method="auto"`` enumerates all outcomes of up to 12 rows. Otherwise it takes the closed-form test of the metric if there is one
    for this lens and alternative and its asymptotic null distribution is accurate for these data; it simulates labels if
    :math:`\sum_i \hat p_i (1 - \hat p_i) < 30` (rare events), a few rows dominate the statistic, or the path of cumulative differences
    has too few effective steps: fewer than 100, or 400 if there are at most half as many distinct scores as rows (grades, points). The
    attribute ``method`` states the choice, and ``null_distribution`` the reason where a closed form was not used.

    With ``method="consistency"`` the test conditions on the observed scores, which requires no assumption on their distribution. It
    does assume that labels are independent given the scores; clustered rows violate this.

    With a tolerance :math:`\tau`, the null hypothesis :math:`|\theta - \theta_0| \ge \tau` about the metric :math:`\theta` with the ideal value
    :math:`\theta_0` is rejected if both one-sided limits of level :math:`1 - \alpha`, the ends of `interval` at level :math:`1 - 2\alpha`, lie within
    :math:`\tau` of it (two one-sided tests [4]_). It applies where this interval is not one of the bootstrap, and has no p-value. Errors
    within bins cancel: a binned error below the tolerance does not bound that of each score, which `certify` does.

    References
    ----------
    .. [1] Broecker, J. and Smith, L. A. (2007). Increasing the reliability of reliability diagrams. Weather and Forecasting 22.
    .. [2] Vaicenavicius, J. et al. (2019). Evaluating model calibration in classification. AISTATS.
    .. [3] Arrieta-Ibarra, I. et al. (2022). Metrics of calibration for probabilistic predictions. JMLR 23.
    .. [4] Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the power approach for assessing the equivalence of
       average bioavailability. Journal of Pharmacokinetics and Biopharmaceutics 15.

    Examples
    --------
    >>> import calibrant as cal
    >>> result = cal.assess([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], metric="ecce_mad", method="enumeration")
    >>> round(result.pvalue, 4)
    0.5176
    >>> y, p = [0, 1] * 200, [0.3, 0.7] * 200
    >>> print(cal.assess(y, p, metric="brier", rng=0).verdict)
    Brier score (brier) 0.09000: statistically significant at 5% (p = 0.002).

    Good enough?

    >>> print(cal.assess([0, 1, 1, 1] * 500, [0.1, 0.9, 0.8, 0.9] * 500, metric="calibration_in_the_large", tolerance=0.1).verdict)
    calibration_in_the_large -0.07500 is shown to be within 0.1000 of 0: from -0.07899 to -0.07065 with 95% confidence.
    """
    chosen = catalogue[metric or ("ecce_mad" if tolerance is None else "ece")]
    check_options(assess, options, chosen)
    check_fraction(alpha, "alpha", 0.05)
    if alternative is not None:
        check_choice(alternative, "alternative", ANY_SIDE)
    check_whole(n_resamples, "n_resamples")
    refuse_rows_by_label(where)
    if tolerance is not None:
        if method != "auto" or alternative is not None:
            raise ArgumentError("tolerance", "cannot be combined with method or alternative", "drop them")
        data = resolve(y_true, y_prob, sample_weight, pos_label, where)
        return equivalence_test(
            data, chosen, tolerance, alpha, lens=lens, n_resamples=n_resamples, exact=exact, rng=rng, **options
        )
    source, options = read_source(resolve(y_true, y_prob, sample_weight, pos_label, where), lens, options)
    asked = prepare_test(chosen, source, options, alpha, alternative, n_resamples, seed_of(rng))

    def simulated(method: str, why: str = "") -> SignificanceResult:
        null, unit = simulated_null(asked, source, options, DRAWS[method], exact)
        return _simulated_result(asked, null, unit, method, why)

    if method == "auto":
        method, why = _automatic(asked)
        if _is_tiny(asked):
            try:
                return _enumerated(asked)
            except UndefinedMetricError:
                if method == "consistency":
                    raise
        if method == "consistency":
            return simulated(method, why)
    if method == "enumeration":
        return _enumerated(asked)
    if method in DRAWS:
        return simulated(method)
    own = _own(asked, method)
    return _result(asked, own(asked), method)


@documents_keywords()
def assess_many(
    y_true: Any,
    y_prob: Any = None,
    *,
    metrics: str | Metric | Iterable[str | Metric],
    correction: Correction = "holm",
    alpha: float = 0.05,
    n_resamples: int = 999,
    method: Literal["consistency", "resampled_scores"] = "consistency",
    exact: bool = False,
    rng: Any = 0,
    lens: str | Lens | None = None,
    where: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> SignificanceTable:
    r"""Test several metrics, of one or several models, and correct for multiplicity.

    All metrics of a model are tested against the null hypothesis of `assess` by consistency resampling with common simulated labels, so that
    their joint null distribution is available to the correction.

    Parameters
    ----------
    y_true
    y_prob : array-like of shape (N,) or (N, K), or mapping of str to array-like, optional
        Predicted probabilities; of several models by name for a table of models and metrics. A mapping of names to `Predictions` in place of
        `y_true` is the same.
    metrics : str, Metric or iterable of them
        Identifiers or aliases of the metrics; their options are accepted as keywords.
    correction : {"holm", "benjamini_hochberg", "min_p", "none"}, default "holm"
        Adjustment of the p-values. ``"holm"`` and ``"min_p"`` control the family-wise error rate, ``"benjamini_hochberg"`` the
        false discovery rate, ``"none"`` leaves the p-values unadjusted. The p-values of all models are adjusted together; ``"min_p"`` is
        for one model.
    alpha
    n_resamples : int, default 999
        Number of simulated data sets.
    method : {"consistency", "resampled_scores"}, default "consistency"
        Whether only labels are simulated, or scores are resampled as well; see `assess`.
    exact : bool, default False
        Whether to simulate row by row even where sums over cells of nearly equal score are accurate enough.
    rng
    lens
    where
    sample_weight
    pos_label
    **options
        Options of the metrics; each metric receives those it accepts.

    Returns
    -------
    SignificanceTable
        Table with the attributes ``results`` (one `SignificanceResult` per metric), ``adjusted`` (adjusted p-values) and
        ``rejected`` (metrics significant after correction). ``table["ece"]`` returns the result of one metric, and
        ``table["model", "ece"]`` that of one of several models.

    Raises
    ------
    ArgumentError
        If no metric is named or an argument is out of range.
    UndefinedMetricError
        If a metric is undefined for all simulated data sets.

    See Also
    --------
    assess : Test of one metric, including closed-form tests.

    Notes
    -----
    ``"min_p"`` (Westfall and Young) compares each p-value with the null distribution of the smallest p-value over all metrics,

    .. math:: \tilde p_j = \frac{1 + \#\{b : \min_k p_{bk} \le p_j\}}{1 + B}.

    It accounts for the dependence between the metrics and controls the family-wise error rate under the global null hypothesis of
    calibration (weak control): where it rejects, it does not establish which metrics deviate. It requires `n_resamples` well above
    the number of metrics divided by `alpha`, because the smallest of few simulated p-values are tied.

    References
    ----------
    .. [1] Westfall, P. H. and Young, S. S. (1993). Resampling-Based Multiple Testing. Wiley.
    .. [2] Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6.
    .. [3] Benjamini, Y. and Hochberg, Y. (1995). Controlling the false discovery rate. JRSS B 57.

    Examples
    --------
    >>> import calibrant as cal
    >>> table = cal.assess_many([0, 1] * 50, [0.3, 0.7] * 50, metrics=["ece", "ecce_r"], rng=0)
    >>> table.rejected
    ('ece', 'ecce_r')

    Two models:

    >>> models = {"extreme": [0.3, 0.7] * 50, "even": [0.5] * 100}
    >>> cal.assess_many([0, 1] * 50, models, metrics=["ece", "ecce_r"], rng=0).rejected
    (('extreme', 'ece'), ('extreme', 'ecce_r'))
    """
    named = [metrics] if isinstance(metrics, (str, Metric)) else metrics
    chosen = [catalogue[m] for m in named]
    if not chosen:
        raise ArgumentError("metrics", "is empty", "name at least one")
    check_options(assess_many, options, *chosen)
    check_choice(correction, "correction", ("holm", "benjamini_hochberg", "min_p", "none"))
    check_fraction(alpha, "alpha", 0.05)
    check_whole(n_resamples, "n_resamples")
    refuse_rows_by_label(where)
    seed = seed_of(rng)
    check_choice(method, "method", (*DRAWS,))
    draws = DRAWS[method]
    sources: dict[str, AnySource] = {}
    if isinstance(y_true, Mapping) or isinstance(y_prob, Mapping):
        models = paired_models(y_true, y_prob, sample_weight, pos_label)
        sources = {name: resolve(model, where=where) for name, model in models.items()}
        if correction == "min_p" and len(sources) > 1:
            raise ArgumentError(
                "correction", "'min_p' is for one model, whose metrics share simulated labels", "use 'holm'"
            )
    results: list[SignificanceResult] = []
    for each in sources.values() or [resolve(y_true, y_prob, sample_weight, pos_label, where)]:
        source, keywords = read_source(each, lens, options)
        plans = [(m, options_of(m, keywords)) for m in chosen]
        asked = [prepare_test(m, source, own, alpha, None, n_resamples, seed) for m, own in plans]
        sampler = choose_sampler(plans, source, exact, draws)
        null = draw_null(plans, sampler, asked[0], draws)
        tested = zip(asked, null.T, strict=True)
        results += [_simulated_result(test, column, sampler.unit, method) for test, column in tested]
    pvalues = np.array([result.pvalue for result in results])
    adjusted = _min_p(asked, null, pvalues) if correction == "min_p" else adjust(pvalues, correction)
    names = tuple(name for name in sources for _ in chosen)
    return SignificanceTable(tuple(results), tuple(adjusted.tolist()), correction, alpha, names)


def _min_p(asked: list[TestInput], null: Floats, pvalues: Floats) -> Floats:
    """P-values against the null distribution of the smallest p-value over all metrics; each simulated value is ranked among the others."""
    smallest = np.column_stack([pvalues_of_draws(a, null[:, i]) for i, a in enumerate(asked)]).min(axis=1)
    counts = (smallest[:, None] <= pvalues * (1 + SAME)).sum(axis=0)
    # Data sets for which a metric is undefined cannot reject, but its own p-value is conditional on its being defined.
    return np.maximum((1 + counts) / (1 + len(null)), pvalues)


def single_view(name: str, source: AnySource, lens: Any, usual: str = "auto") -> AnyView:
    """The single view of hard labels that a lens yields; `name` is the public function that was called."""
    views = views_of(source, lens, usual)
    if len(views) > 1:
        raise LensError("lens", f"{name} tests one event at a time", one_question(source))
    if views[0].is_soft:
        raise UndefinedMetricError(name, "is not defined for soft labels")
    return views[0]


def view_to_test(name: str, source: AnySource, lens: Any) -> View:
    """The view of one score per row that is tested, with hard labels and without importance weights."""
    view = single_view(name, source, lens)
    if isinstance(view, VectorView):
        raise LensError("lens", f"{name} requires one score per row", one_question(source))
    refuse_importance(view, name, "drop them, or use assess(metric='cox_slope', method='sandwich')")
    return view


def refuse_rows_by_label(where: Any) -> None:
    """Raise if rows are selected by their labels: given the selection, labels no longer follow the predicted probabilities."""
    if isinstance(where, Selection) and where.reads_labels:
        problem = f"{where.name} selects rows by their labels, which then do not follow the predicted probabilities"
        raise ArgumentError("where", problem, "select by prediction or score instead")


def _automatic(asked: TestInput) -> tuple[str, str]:
    """The metric's own test where its null distribution is accurate, else simulation, and the reason for simulation."""
    own = default_test(asked.metric.id)
    # The null distributions of the metrics' own tests are those of a single event, not of a mean over classes.
    if own is None or not has_one_event(asked.views):
        return "consistency", ""
    why = own.off(asked) if asked.alternative in own.sides else f"it is for {own.sides[0]!r} only"
    return ("consistency", f"; the closed-form test {own.method!r} is not used: {why}") if why else (own.method, "")


def simulates(source: Source, metric: Metric, options: dict[str, Any]) -> bool:
    """Whether `assess` would simulate labels for a metric because its own test has no accurate null distribution for such rows."""
    asked = prepare_test(metric, source, options, 0.05, None, 1, 0)
    return _automatic(asked)[0] == "consistency" and not _is_tiny(asked)


def _own(asked: TestInput, method: str) -> OwnTest:
    tests = OWN_TESTS.get(asked.metric.id, {})
    if method not in tests:
        known = ", ".join(["auto", *DRAWS, "enumeration", *(tests if has_one_event(asked.views) else ())])
        raise ArgumentError("method", f"unknown method {method!r} for {asked.metric.id}", f"choose one of {known}")
    if not has_one_event(asked.views):
        count = str(len(asked.views)) if len(asked.views) > 1 else "one for each class"
        problem = f"{method!r} is the distribution for one event, and this lens has {count}"
        raise ArgumentError("method", problem, f"use 'consistency' or use lens={single_event(asked.views)!r}")
    return tests[method]


def _has_two_outcomes(asked: TestInput) -> bool:
    """Whether there is one binary event per row and the metric depends on the data through the scores and outcomes alone."""
    view = asked.view
    two = isinstance(view, View) or (view.k == 2 and view.labels is not None)
    # A row with a count is expanded into identical rows, which carry no further data.
    alone = view.weight_kind != "counts" or not asked.metric.needs
    return has_one_event(asked.views) and two and alone and "labels" not in asked.metric.needs


def _rows_of(asked: TestInput) -> int:
    rows = int(asked.view.total) if asked.view.weight_kind == "counts" else asked.view.n
    return rows // getattr(asked.view, "events", 1)


def _is_tiny(asked: TestInput) -> bool:
    return _has_two_outcomes(asked) and _rows_of(asked) <= ENUMERATED_ROWS


def _enumerated(asked: TestInput) -> SignificanceResult:
    if not _has_two_outcomes(asked):
        problem = "'enumeration' requires one score per row, and a metric that does not depend on the class"
        raise ArgumentError("method", problem, "use 'consistency'")
    rows = _rows_of(asked)
    if rows > MOST_ENUMERATED_ROWS:
        raise ArgumentError("method", f"'enumeration' of 2^{rows} outcomes is too slow", "use 'consistency'")
    found, null = compared_with_every_outcome(asked, asked.view)
    return _result(asked, found, "enumeration", null)


def _simulated_result(asked: TestInput, null: Floats, unit: str, method: str, why: str = "") -> SignificanceResult:
    """The result of simulated values; where the metric is undefined for some, the test is conditional on its being defined."""
    design = "scores fixed" if method == "consistency" else "scores resampled with replacement"
    what = f"labels simulated from the predicted probabilities {unit}, {design}"
    undefined = float(np.isnan(null).mean())
    if undefined:
        share = f"{undefined:.0%}" if undefined >= 0.01 else f"{undefined:.2g}"
        what += f", without the {share} for which the metric is undefined"
    return _result(asked, compared_with_draws(asked, null), method, null, what + why)


def _result(
    asked: TestInput, found: TestOutcome, method: str, null: Floats | None = None, null_distribution: str = ""
) -> SignificanceResult:
    metric = asked.metric
    usual = "the labels are drawn from the predicted probabilities"
    if metric.id in ("ecd", "nses") and asked.alternative == "greater":
        usual = "the predictions are safe (not overconfident)"
    return SignificanceResult(
        metric=metric.id,
        statistic=asked.statistic if found.statistic is None else found.statistic,
        pvalue=min(1.0, max(0.0, found.pvalue)),
        critical_value=found.critical_value,
        lower_critical_value=found.lower_critical_value,
        alpha=asked.alpha,
        alternative=asked.alternative,
        null_hypothesis=found.null_hypothesis or usual,
        method=method,
        null_distribution=found.null_distribution or null_distribution,
        n=_rows_of(asked),
        lens=shared_name(asked.views),
        n_resamples=0 if null is None or method == "enumeration" else int((~np.isnan(null)).sum()),
        null=null,
        detail=found.detail,
        by_chance=found.by_chance,
        subgroup=worst_subpopulation(asked.view, **asked.options) if metric.id == "mcm" else "",
    )


# Metrics equal to another metric that has a test.
SAME_AS = {"esce": "calibration_in_the_large"}


def points_somewhere(
    metric: Metric, source: Predictions | View | VectorView, options: dict[str, Any], alpha: float
) -> bool | None:
    """Whether a two-sided closed-form test rejects at level `alpha`; None where no such test is accurate for these rows."""
    other = catalogue[SAME_AS[metric.id]] if metric.id in SAME_AS else metric
    keywords = {keyword: value for keyword, value in options.items() if keyword == "lens" or keyword in other.options}
    try:
        tested = closed_form_test(prepare_test(other, source, keywords, alpha, "two-sided", 1, 0))
    except CalibrantError:
        return None
    return None if tested is None else tested.pvalue <= alpha


def closed_form_test(asked: TestInput) -> TestOutcome | None:
    """The outcome of the metric's own test; None where it has none, or none that is accurate for these rows."""
    test = default_test(asked.metric.id)
    if test is None or asked.alternative not in test.sides or not has_one_event(asked.views) or test.off(asked):
        return None
    outcome: TestOutcome = test(asked)
    return outcome
