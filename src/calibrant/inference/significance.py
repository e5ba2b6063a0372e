"""assess: could the deviation that a metric shows be chance?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, CalibrantError, UndefinedMetricError, Use
from ..input.convert import is_number
from ..input.predictions import Predictions
from ..metrics.registry import Metric, catalogue
from ..util.checks import check_whole
from ..views.keywords import PREDICTION_KEYWORDS, checks_keywords
from ..views.resolve import resolve
from ..views.selections import Selection
from ..views.view import Summary, VectorView, View
from . import asymptotic, fitted, pairs  # noqa: F401  (they enter their tests)
from .metric_tests import DEFAULT_TESTS, OWN_TESTS, OwnTest, TestInput, TestOutcome
from .pvalues import MOST_UNDEFINED, SAME, compared_with_draws, compared_with_every_outcome, pvalues_of_draws
from .resampling import (
    Sampler,
    choose_sampler,
    generator,
    given_in_vain,
    many,
    refuse_options_of_rows,
    seed_of,
    view_words,
)
from .verdicts import SignificanceResult, SignificanceTable

__all__ = ["adjust", "assess", "assess_many", "points_somewhere", "read_source", "refuse_rows_by_label", "simulates"]

Floats = NDArray[np.float64]
Source = Predictions | View | VectorView
Correction = Literal["holm", "benjamini_hochberg", "min_p", "none"]

# Up to this many rows every outcome is gone through.
ENUMERATED_ROWS = 12
MOST_ENUMERATED_ROWS = 20
# Tests of metrics that simulate by themselves, with their own seed and number.
SIMULATING = ("bootstrap", "pseudo_labels", "permutation", "adaptive", "adaptive_joint")


@checks_keywords("metric", catalogue)
def assess(
    y_true: Any,
    y_prob: Any = None,
    *,
    metric: str | Metric = "ecce_mad",
    method: str = "auto",
    alpha: float = 0.05,
    alternative: Literal["greater", "less", "two-sided"] | None = None,
    n_resamples: int = 999,
    fixed_design: bool = True,
    exact: bool = False,
    rng: Any = None,
    workers: int | None = None,
    where: Any = None,
    **keywords: Any,
) -> SignificanceResult:
    """Ask whether a metric's value could be chance, the labels being drawn from the very probabilities given.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities, or Predictions, a View or a Sketch; keywords of `Predictions` are taken too.
    metric
        Id or alias; its options (``bins=``, ``lens=``) are taken as keywords.
    method
        ``"auto"`` enumerates every outcome of up to 12 rows, takes the metric's own test where it has one whose null distribution
        holds for such rows and for the alternative, and simulates labels otherwise: where the sum of p(1 - p) is below 30, a few
        rows decide, or there are too few distinct scores. The result says which. ``"consistency"`` simulates, ``"enumeration"``
        goes through all outcomes, further names are tests of the metric.
    alpha
        Level at which `critical_value` (of two sides `lower_critical_value` too) and `verdict` are given.
    alternative
        Which values speak against the hypothesis; None takes what the metric declares. A test whose distribution has one side refuses
        the others.
    n_resamples
        How many samples are drawn.
    fixed_design
        Keep the rows and draw outcomes only; False draws rows as well, as published.
    exact
        Draw single rows also where counts in cells would do.
    rng
        None, a seed or a Generator; the same seed gives the same result for any number of workers.
    workers
        Number of threads.
    where
        Which rows: a mask or a Selection.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.assess([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], metric="ecce_mad", method="enumeration")
    >>> round(found.pvalue, 4)
    0.5176
    """
    chosen = catalogue[metric]
    _check_alpha(alpha)
    _check_alternative(alternative)
    check_whole(n_resamples, "n_resamples")
    refuse_rows_by_label(where)
    source, options = read_source(y_true, y_prob, where, keywords)
    asked = _asked(chosen, source, options, alpha, alternative, n_resamples, seed_of(rng))
    given = {"n_resamples": n_resamples, "rng": rng, "fixed_design": fixed_design, "exact": exact, "workers": workers}

    def simulated(why: str = "") -> SignificanceResult:
        sampler = choose_sampler([(chosen, options)], _plain(source), exact, "outcomes" if fixed_design else "scores")
        null = _draw([(chosen, options)], sampler, asked, fixed_design, workers)[:, 0]
        return _result(
            asked, compared_with_draws(asked, null), "consistency", null, _distribution(sampler, fixed_design) + why
        )

    if method == "auto":
        method, why = _automatic(asked)
        try:
            if _is_tiny(asked):
                return _without(_enumerated(asked), given)
            if method == "consistency":
                return simulated(why)
        except UndefinedMetricError:
            # The metric has no value for many labels; what its own test says is rough then, and says so.
            method = DEFAULT_TESTS.get(chosen.id, "consistency") if _own_is_for(asked) else "consistency"
            if method == "consistency":
                raise
    if method == "enumeration":
        return _without(_enumerated(asked), given)
    if method == "consistency":
        return simulated()
    return _without(_result(asked, _own(asked, method)(asked), method), given)


def _without(result: SignificanceResult, given: dict[str, Any]) -> SignificanceResult:
    """The result, with the arguments named that its test did not use."""
    simulates = ("n_resamples", "rng") if result.method in SIMULATING else ()
    unused = given_in_vain(assess, **{word: value for word, value in given.items() if word not in simulates})
    return replace(result, unused=unused)


@checks_keywords("metrics", catalogue)
def assess_many(
    y_true: Any,
    y_prob: Any = None,
    *,
    metrics: str | Metric | Iterable[str | Metric],
    correction: Correction = "holm",
    alpha: float = 0.05,
    n_resamples: int = 999,
    fixed_design: bool = True,
    exact: bool = False,
    rng: Any = None,
    workers: int | None = None,
    where: Any = None,
    **keywords: Any,
) -> SignificanceTable:
    """Assess several metrics by consistency resampling, all on the same draws, and correct for their number.

    ``correction="min_p"`` compares the smallest p-value with the smallest ones that chance gives over all metrics at once: if the
    probabilities are right, any of them rejects with probability at most `alpha`. It says nothing of which metrics are off where
    some are, and needs ``n_resamples`` well above the number of metrics over `alpha`, for the smallest of few p-values are tied.
    ``"holm"`` and ``"benjamini_hochberg"`` need no joint distribution, ``"none"`` leaves the p-values as they are.

    >>> import calibrant as cal
    >>> found = cal.assess_many([0, 1] * 50, [0.3, 0.7] * 50, metrics=["ece", "ecce_r"], rng=0)
    >>> found.rejected
    ('ece', 'ecce_r')
    """
    named = [metrics] if isinstance(metrics, (str, Metric)) else metrics
    chosen = [catalogue[m] for m in named]
    if not chosen:
        raise ArgumentError("metrics", "is empty", "name at least one")
    if correction not in ("holm", "benjamini_hochberg", "min_p", "none"):
        raise ArgumentError(
            "correction", f"must be 'holm', 'benjamini_hochberg', 'min_p' or 'none'; got {correction!r}"
        )
    _check_alpha(alpha)
    check_whole(n_resamples, "n_resamples")
    refuse_rows_by_label(where)
    source, options = read_source(y_true, y_prob, where, keywords)
    seed = seed_of(rng)
    plans = [(m, _options_of(m, options)) for m in chosen]
    asked = [_asked(m, source, own, alpha, None, n_resamples, seed) for m, own in plans]
    sampler = choose_sampler(plans, _plain(source), exact, "outcomes" if fixed_design else "scores")
    null = _draw(plans, sampler, asked[0], fixed_design, workers)
    null_distribution = _distribution(sampler, fixed_design)
    results = [
        _result(a, compared_with_draws(a, null[:, i]), "consistency", null[:, i], null_distribution)
        for i, a in enumerate(asked)
    ]
    pvalues = np.array([result.pvalue for result in results])
    adjusted = _min_p(asked, null, pvalues) if correction == "min_p" else adjust(pvalues, correction)
    return SignificanceTable(tuple(results), tuple(adjusted.tolist()), correction, alpha)


def adjust(pvalues: Floats, correction: str) -> Floats:
    """P-values corrected for their number."""
    count = len(pvalues)
    order = np.argsort(pvalues)
    ranked = pvalues[order]
    if correction == "holm":
        ranked = np.maximum.accumulate(ranked * (count - np.arange(count)))
    elif correction == "benjamini_hochberg":
        ranked = np.minimum.accumulate((ranked * count / (1 + np.arange(count)))[::-1])[::-1]
    out = np.empty(count)
    out[order] = np.minimum(ranked, 1)
    return out


def _min_p(asked: list[TestInput], null: Floats, pvalues: Floats) -> Floats:
    """How often chance gives a p-value this small for any of the metrics; each draw is compared with all the others."""
    smallest = np.column_stack([pvalues_of_draws(a, null[:, i]) for i, a in enumerate(asked)]).min(axis=1)
    counts = (smallest[:, None] <= pvalues * (1 + SAME)).sum(axis=0)
    return (1 + counts) / (1 + len(null))


def read_source(y_true: Any, y_prob: Any, where: Any, keywords: Mapping[str, Any]) -> tuple[Source, dict[str, Any]]:
    """Checked predictions or a view, and the keywords that are options of metrics."""
    words = {word: value for word, value in keywords.items() if word in PREDICTION_KEYWORDS}
    options = {word: value for word, value in keywords.items() if word not in PREDICTION_KEYWORDS}
    source = resolve(y_true, y_prob, words, where)
    return source.view(options.pop("lens", None) or "auto") if isinstance(source, Summary) else source, options


def refuse_rows_by_label(where: Any) -> None:
    """Once its label is known, no row's label is drawn from its probabilities any more: calibrated ones would be rejected too."""
    if isinstance(where, Selection) and where.reads_labels:
        raise ArgumentError(
            "where",
            f"{where.name} selects rows by their labels, which then do not follow the predicted probabilities",
            "select by prediction or score instead",
        )


def _options_of(metric: Metric, options: Mapping[str, Any]) -> dict[str, Any]:
    known = {*metric.options, "lens", "combine", "class_weight"}
    return {word: value for word, value in options.items() if word in known}


def _plain(source: Source) -> Predictions | View:
    if isinstance(source, VectorView):
        raise ArgumentError("y_true", "a view of whole vectors cannot be resampled", "pass Predictions")
    return source


def _asked(
    metric: Metric,
    source: Source,
    options: dict[str, Any],
    alpha: float,
    alternative: str | None,
    n_resamples: int,
    seed: int,
) -> TestInput:
    views = metric.views(source, **view_words(metric, options))
    if any(view.is_soft for view in views):
        raise UndefinedMetricError("assess", "is not defined for soft labels")
    words = {word: value for word, value in options.items() if word != "lens"}
    value = metric.of_views(views, **words)
    side = alternative or ("two-sided" if metric.proper == "strictly" else metric.alternative)
    return TestInput(metric, {**metric.options, **words}, views, value, alpha, side, n_resamples, seed)


def _automatic(asked: TestInput) -> tuple[str, str]:
    """The metric's own test where its null distribution holds, else to simulate labels, and why."""
    default = DEFAULT_TESTS.get(asked.metric.id)
    # The metrics' own tests are tests of one question; the mean over several classes has none of their distributions.
    if default is None or len(asked.views) > 1:
        return "consistency", ""
    own = OWN_TESTS[asked.metric.id][default]
    if asked.alternative not in own.sides:
        return "consistency", f"; {default!r} is not used: it is for {own.sides[0]!r} only"
    why = own.off(asked)
    return ("consistency", f"; {default!r} is not used: {why}") if why else (default, "")


def _own_is_for(asked: TestInput) -> bool:
    """Whether the metric's own test is made for this question, side and form, be its null distribution near or not."""
    own = OWN_TESTS.get(asked.metric.id, {}).get(DEFAULT_TESTS.get(asked.metric.id, ""))
    return own is not None and len(asked.views) == 1 and asked.alternative in own.sides and own.is_for(asked)


def simulates(source: Source, metric: Metric, options: dict[str, Any]) -> bool:
    """Whether `assess` would simulate labels for a metric, its own test having no null distribution for such rows."""
    asked = _asked(metric, source, options, 0.05, None, 1, 0)
    return _automatic(asked)[0] == "consistency" and not _is_tiny(asked)


def _own(asked: TestInput, method: str) -> OwnTest:
    tests = OWN_TESTS.get(asked.metric.id, {})
    if method not in tests:
        known = ", ".join(["auto", "consistency", "enumeration", *(tests if len(asked.views) == 1 else ())])
        raise ArgumentError("method", f"unknown method {method!r} for {asked.metric.id}", f"choose one of {known}")
    if len(asked.views) > 1:
        problem = f"{method!r} is the distribution of one question, and this lens asks {len(asked.views)}"
        raise ArgumentError("method", problem, ("use 'consistency'", Use("lens", "class:NAME")))
    return tests[method]


def _has_two_outcomes(asked: TestInput) -> bool:
    """Whether one question is asked whose outcome, drawn for each row, is all that changes for the metric."""
    view = asked.view
    two = isinstance(view, View) or (view.k == 2 and view.labels is not None)
    # A row with a count is written out as so many, which have no other data.
    alone = view.weight_kind != "counts" or not asked.metric.needs
    return len(asked.views) == 1 and two and alone and "labels" not in asked.metric.needs


def _rows_of(asked: TestInput) -> int:
    return int(asked.view.total) if asked.view.weight_kind == "counts" else asked.view.n


def _is_tiny(asked: TestInput) -> bool:
    return _has_two_outcomes(asked) and _rows_of(asked) <= ENUMERATED_ROWS


def _enumerated(asked: TestInput) -> SignificanceResult:
    if not _has_two_outcomes(asked):
        problem = "'enumeration' needs one score for each row, and a metric that does not ask for the class"
        raise ArgumentError("method", problem, "use 'consistency'")
    rows = _rows_of(asked)
    if rows > MOST_ENUMERATED_ROWS:
        raise ArgumentError("method", f"'enumeration' of 2^{rows} outcomes is too slow", "use 'consistency'")
    found, null = compared_with_every_outcome(asked, asked.view)
    return _result(asked, found, "enumeration", null)


def _draw(
    plans: list[tuple[Metric, dict[str, Any]]],
    sampler: Sampler,
    asked: TestInput,
    fixed_design: bool,
    workers: int | None,
) -> Floats:
    """Values of each metric under the hypothesis, one row for each draw."""
    # Outcomes are drawn for the rows as they are; counts are written out as rows of their own.
    if not fixed_design or asked.view.weight_kind == "counts":
        for metric, options in plans:
            refuse_options_of_rows(metric, options)

    def work(number_: int) -> list[float]:
        drawn = sampler.null(generator(asked.seed, number_), fixed_design)
        return [drawn.value(metric, options) for metric, options in plans]

    null = np.array(many(work, asked.n_resamples, workers), dtype=np.float64)
    for (metric, _), undefined in zip(plans, np.isnan(null).mean(axis=0), strict=True):
        if undefined > MOST_UNDEFINED:
            raise UndefinedMetricError(metric.id, f"is undefined in {undefined:.0%} of the simulated samples")
    return null


def _distribution(sampler: Sampler, fixed_design: bool) -> str:
    what = "rows" if sampler.exact else "counts in cells"
    design = "the scores as they are" if fixed_design else "scores drawn again with replacement"
    return f"outcomes drawn from the scores, {design}, by {what}"


def _result(
    asked: TestInput, found: TestOutcome, method: str, null: Floats | None = None, null_distribution: str = ""
) -> SignificanceResult:
    metric = asked.metric
    usual = "the labels are drawn from the probabilities given"
    if metric.id in ("ecd", "nses") and asked.alternative == "greater":
        usual = "the predictions are safe, that is not overconfident"
    view = asked.view
    return SignificanceResult(
        metric=metric.id,
        statistic=asked.statistic,
        pvalue=min(1.0, max(0.0, found.pvalue)),
        critical_value=found.critical_value,
        lower_critical_value=found.lower_critical_value,
        alpha=asked.alpha,
        alternative=asked.alternative,
        hypothesis=found.hypothesis or usual,
        method=method,
        null_distribution=found.null_distribution or null_distribution,
        n=_rows_of(asked),
        lens=view.lens if len(asked.views) == 1 else "classwise",
        n_resamples=0 if null is None or method == "enumeration" else len(null),
        null=null,
        detail=found.detail,
    )


def _check_alpha(alpha: Any) -> None:
    if not (is_number(alpha) and 0 < alpha < 1):
        raise ArgumentError("alpha", f"must lie between 0 and 1; got {alpha!r}", "for example 0.05")


def _check_alternative(alternative: Any) -> None:
    if alternative not in (None, "greater", "less", "two-sided"):
        raise ArgumentError("alternative", f"must be 'greater', 'less' or 'two-sided'; got {alternative!r}")


# Metrics that are the same number as another, which has a test.
SAME_AS = {"esce": "calibration_in_the_large"}


def points_somewhere(
    metric: Metric, source: Predictions | View | VectorView, options: dict[str, Any], alpha: float
) -> bool | None:
    """Whether a two-sided test in closed form rejects at level `alpha`; None where there is none that holds for these rows."""
    other = catalogue[SAME_AS[metric.id]] if metric.id in SAME_AS else metric
    words = {word: value for word, value in options.items() if word == "lens" or word in other.options}
    test = OWN_TESTS.get(other.id, {}).get(DEFAULT_TESTS.get(other.id, ""))
    if test is None or "two-sided" not in test.sides:
        return None
    try:
        asked = _asked(other, source, words, alpha, "two-sided", 1, 0)
        if len(asked.views) > 1 or test.off(asked):
            return None
        return test(asked).pvalue <= alpha
    except CalibrantError:
        return None
