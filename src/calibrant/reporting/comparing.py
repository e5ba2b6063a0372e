"""compare_reports: several models on the same rows, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import ArgumentError, CalibrantError
from ..inference.comparison import Comparison, compare
from ..input.predictions import Predictions
from ..metrics.registry import Metric
from ..recalibration.choosing import rows_summing_to_one
from ..util.results import number, percent
from ..views.keywords import check_keywords, documents_keywords
from ..views.resolve import check_paired, paired_models
from .building import Report, build
from .content import ComparedDifference, ComparedMetric
from .forms import Document
from .html import chart_texts, comparison_tables, render_comparison
from .overlay import Overlay, compared_sides
from .plain import render_markdown
from .recalibration import excluded_outcomes, most_rows, sampled_rows
from .settings import Settings
from .tables import side_table
from .verdict import ALPHA
from .weaknesses import adjust_known
from .wording import mean_name, metric_name, rate_name

COMPARED = ("nll", "brier", "smece", "ece")
MOST_MODELS = 10
# Keywords of `report` that a comparison has as well.
OPTIONS = ("lens", "level", "n_resamples", "rng", "title", "outcome", "metadata")
# Resamples per pair of models; with them an adjusted p-value can reach half the significance level.
RESAMPLES_PER_PAIR = 40
# Resampled entries, over all resamples, models and metrics.
MOST_WORK, LEAST_ROWS = 2e9, 2_000


@dataclass(frozen=True)
class Side:
    """One model of the comparison.

    ``lens`` is that of the mean score and the rate, ``pvalue`` the p-value of the test of the report, ``adjusted`` the same adjusted for the
    number of sides, ``found`` whether miscalibration is then statistically significant, and ``detectable`` the minimum detectable effect: the
    difference of mean score and rate that the test detects with a power of 0.8.
    """

    name: str
    rows: int
    mean_score: float | None
    rate: float | None
    lens: str
    pvalue: float | None
    adjusted: float | None
    found: bool | None
    detectable: float | None

    @property
    def gap(self) -> float | None:
        """Mean score minus rate."""
        return None if self.mean_score is None or self.rate is None else self.mean_score - self.rate


@dataclass(frozen=True, repr=False)
class ReportComparison(Document):
    """Comparison of several reports.

    Returned by `compare_reports`. `to_html`, `to_markdown`, `to_json` and `save` render it, `to_frame` has one row per side and metric.

    Parameters
    ----------
    title : str
        Heading.
    sentence : str
        Conclusion.
    sides : tuple of Side
        Mean score, rate and adjusted p-value of each side.
    metrics : tuple of ComparedMetric
        Differences on the same rows.
    reports : tuple of Report
        Report of each side.
    alpha : float
        Significance level.
    level : float
        Confidence level of the intervals.
    notes : tuple of str
        Remarks.
    outcome : str
        Name of the positive class of two; empty where it has none.
    metadata : mapping of str to str
        Facts given by the user, such as model, version and owner.

    See Also
    --------
    compare_reports : Create it.

    Examples
    --------
    >>> import calibrant as cal
    >>> y = [0, 1] * 100
    >>> found = cal.reporting.compare_reports(y, {"A": [0.2, 0.8] * 100, "B": [0.5] * 200}, metrics=["brier"])
    >>> [side.name for side in found.sides]
    ['A', 'B']
    """

    title: str
    sentence: str
    sides: tuple[Side, ...]
    metrics: tuple[ComparedMetric, ...]
    reports: tuple[Report, ...]
    alpha: float
    level: float
    notes: tuple[str, ...] = ()
    outcome: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)

    def _columns(self) -> dict[str, list[Any]]:
        """One row per side and metric."""
        rows = [(report.title, row) for report in self.reports for row in report.metrics.all_rows]
        names = ("id", "value", "low", "high", "pvalue", "lens", "reason")
        columns: dict[str, list[Any]] = {"name": [name for name, _ in rows]}
        return columns | {name: [getattr(row, name) for _, row in rows] for name in names}

    def to_markdown(self) -> str:
        """Render the comparison as Markdown.

        Returns
        -------
        str
            Markdown text.
        """
        return render_markdown("comparison.md", comparison=self, tables=comparison_tables(self))

    def to_html(self) -> str:
        """Render one self-contained HTML page: the page of `report`, with the diagrams of all sides over each other.

        Returns
        -------
        str
            The page; it opens from disk without network access.
        """
        return render_comparison(self)

    def _drawn(self) -> tuple[Overlay, dict[str, str], bool]:
        first = self.reports[0]
        return compared_sides(self.reports), chart_texts(first, first.diagram.lens), first.diagram.scale == "logit"

    def _title(self) -> str:
        lines = [f"{key}: {value}" for key, value in self.metadata.items()]
        for p in self.sides:
            means = f"{mean_name(p.lens)} {percent(p.mean_score)}, {rate_name(p.lens, self.outcome)} {percent(p.rate)}"
            lines.append(f"{p.name}: {p.rows:,} rows, {means}")
        return "\n".join([self.title, *(f"  {text}" for text in lines), self.sentence])

    def _table(self) -> tuple[list[str], list[list[str]]]:
        table = side_table(self.sides, self.outcome)
        return table.headings, table.cells


@documents_keywords()
def compare_reports(
    y_true: Any,
    y_prob: Any = None,
    *,
    metrics: str | Metric | Iterable[str | Metric] = COMPARED,
    sample_weight: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> ReportComparison:
    """Compare the calibration of several models, or of one before and after recalibration.

    The models are compared on the same rows, with every pairwise difference, its confidence interval and an adjusted p-value.

    Parameters
    ----------
    y_true : array-like of shape (N,) or mapping
        Labels; or a mapping from names to `Predictions`, and `y_prob` is then left out.
    y_prob : mapping, optional
        Probabilities of each model by name.
    metrics : {"recommended", "all"}, str, Metric or iterable of these, default ("nll", "brier", "smece", "ece")
        Metrics to compare, by id or alias; the first one determines the best model.
    sample_weight
    pos_label
    **options
        Keywords of `report`: `lens`, `level`, `n_resamples`, `rng`, `title`, `outcome` and `metadata`.

    Returns
    -------
    ReportComparison
        With ``sentence``, ``sides``, ``metrics`` (differences) and ``reports``, and the methods ``to_html``, ``to_markdown``,
        ``to_json`` and ``save``.

    Raises
    ------
    ArgumentError
        If the value of an option is invalid, or the labels of two models differ.
    ShapeError
        If models have different numbers of rows or classes.

    See Also
    --------
    report : Report of one set of predictions.
    calibrant.compare : Differences of one metric.

    Examples
    --------
    >>> from calibrant.reporting import compare_reports
    >>> y, good = [0, 1] * 100, [0.2, 0.8] * 100
    >>> found = compare_reports(y, {"good": good, "flat": [0.5] * 200}, metrics=["brier"])
    >>> found.sentence
    'good has the lowest Brier score, 0.04000 (difference from flat significant).'
    """
    check_keywords("compare_reports", options, OPTIONS)
    if options.get("level", 0.95) is None:
        raise ArgumentError("level", "is required to compare", "for example 0.95")
    seed = options.pop("rng", 0)
    settings = Settings(metrics=metrics, seed=seed, recalibration=False, **options)
    if not isinstance(y_true if y_prob is None else y_prob, Mapping):
        example = 'for example {"old": p_old, "new": p_new}'
        raise ArgumentError("y_prob", "must be a mapping from names to probabilities", example)
    models = paired_models(y_true, y_prob, sample_weight, pos_label, argument="y_prob")
    return compare_models(models, settings, {})


def compare_models(models: Mapping[str, Predictions], settings: Settings, more: Mapping[str, Any]) -> ReportComparison:
    """Compare named predictions on the same rows; `more` are further parameters that the provenance states."""
    if not 2 <= len(models) <= MOST_MODELS:
        raise ArgumentError("y_prob", f"expected from 2 to {MOST_MODELS} sets of predictions; got {len(models)}")
    check_paired(models)
    reports = tuple(build(p, replace(settings, title=name, metadata={}), dict(more)) for name, p in models.items())
    compared, notes = _differences(models, settings)
    return ReportComparison(
        title=settings.title or "Models compared",
        sentence=_best(compared),
        sides=_sides(reports),
        metrics=compared,
        reports=reports,
        alpha=ALPHA,
        level=settings.known_level,
        notes=tuple(notes),
        outcome=reports[0].outcome,
        metadata=settings.metadata,
    )


def _sides(reports: tuple[Report, ...]) -> tuple[Side, ...]:
    """Return what the table has for each side; p-values are adjusted for their number."""
    pvalues = adjust_known([report.verdict.pvalue for report in reports])
    sides = []
    for report, adjusted in zip(reports, pvalues, strict=True):
        verdict, found = report.verdict, None if adjusted is None else adjusted <= ALPHA
        # The conclusions on two classes may be about the top label or about the event; the sides are about the same.
        means = (verdict.mean_score, verdict.rate, verdict.lens)
        if verdict.event_rate is not None:
            means = (verdict.event_mean_score, verdict.event_rate, "binary")
        rows = report.provenance.row_count
        sides.append(Side(report.title, rows, *means, verdict.pvalue, adjusted, found, verdict.detectable))
    return tuple(sides)


def _differences(parts: Mapping[str, Predictions], settings: Settings) -> tuple[tuple[ComparedMetric, ...], list[str]]:
    """Return each metric of all models and all pairwise differences, on the same resamples."""
    first = next(iter(parts.values()))
    pairs = len(parts) * (len(parts) - 1) // 2
    draws = max(settings.n_resamples, RESAMPLES_PER_PAIR * pairs)
    most = int(MOST_WORK / (draws * len(parts) * len(settings.metrics) * first.k))
    rows = sampled_rows(first, min(most_rows(first.k), max(LEAST_ROWS, most)), settings.seed)
    notes = [f"Differences are based on {draws:,} resamples."]
    if len(rows) < first.n:
        notes.append(f"Differences use {len(rows):,} of {first.n:,} rows, sampled at random with the seed.")
    used = parts if len(rows) == first.n else {name: p.take(rows) for name, p in parts.items()}
    compared = tuple(_compared(used, metric, settings, draws) for metric in settings.metrics)
    infinite = [name for name in parts if any(math.isinf(metric.values.get(name, 0.0)) for metric in compared)]
    notes += [
        f"{name} has an infinite loss: {excluded_outcomes(parts[name]) or 'its differences cannot be tested'}."
        for name in infinite
    ]
    return compared, [*notes, *(f"{metric.name}: {metric.note}." for metric in compared if metric.note)]


def _compared(parts: Mapping[str, Predictions], metric: Metric, settings: Settings, n_resamples: int) -> ComparedMetric:
    one = next(iter(parts.values()))
    if one.kind in ("binary", "multiclass"):
        parts = {name: rows_summing_to_one(p) for name, p in parts.items()}
    draws: dict[str, Any] = {"level": settings.known_level, "n_resamples": n_resamples, "rng": settings.seed}
    try:
        return compared_metric(metric, compare(parts, metric=metric, lens=settings.lens, **draws))
    except CalibrantError as error:
        return ComparedMetric(**_facts(metric), values={}, differences=(), rows=one.n, reason=error.problem)


def _facts(metric: Metric) -> dict[str, Any]:
    lower_is_better = metric.ideal == 0 and not metric.info.signed
    return {"id": metric.id, "name": metric.name, "ideal": metric.ideal, "lower_is_better": lower_is_better}


def compared_metric(metric: Metric, comparison: Comparison) -> ComparedMetric:
    """Return the differences of a metric, with p-values adjusted for the number of those that can be tested."""
    pvalues = [d.pvalue if math.isfinite(d.difference) else None for d in comparison.differences]
    differences = []
    for d, adjusted in zip(comparison.differences, adjust_known(pvalues), strict=True):
        tested: tuple[Any, ...] = (None,) * 5
        if adjusted is not None:
            tested = (d.low, d.high, d.pvalue, adjusted, adjusted <= ALPHA)
        differences.append(ComparedDifference(d.first, d.second, d.difference, *tested))
    return ComparedMetric(
        **_facts(metric),
        values=dict(comparison.values),
        differences=tuple(differences),
        rows=comparison.n,
        n_resamples=comparison.n_resamples,
        note=comparison.note,
    )


def _best(metrics: tuple[ComparedMetric, ...]) -> str:
    """Return the best model by the first metric, and which differences from it are significant."""
    usable = [m for m in metrics if m.lower_is_better and any(map(math.isfinite, m.values.values()))]
    # An infinite loss tells nothing of the other models: the next metric that all of them have decides.
    main = next((m for m in usable if all(map(math.isfinite, m.values.values()))), next(iter(usable), None))
    if main is None:
        return "No metric for which lower values are better has a finite value; see the table."
    best = min(main.values, key=lambda name: main.values[name])
    results = {True: "significant", False: "not significant", None: "infinite"}
    others = [
        f"from {d.second if d.first == best else d.first} {results[d.found]}"
        for d in main.differences
        if best in (d.first, d.second)
    ]
    text = (
        f"{best} has the lowest {metric_name(main.id)}, {number(main.values[best])} (difference {', '.join(others)})."
    )
    infinite = [name for name, value in metrics[0].values.items() if not math.isfinite(value)]
    if main is metrics[0] or not infinite:
        return text
    return f"{text} The {metric_name(metrics[0].id)} of {', '.join(infinite)} is infinite."
