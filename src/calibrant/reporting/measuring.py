"""The table of metrics: values, intervals and p-values of `evaluate`, within a fixed amount of work; and discrimination."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from ..errors import CalibrantError
from ..evaluation.discrimination import discrimination_of
from ..evaluation.evidence import Inference, resampled_alike, with_additions, with_direction
from ..evaluation.measure import evaluate
from ..evaluation.result import Evaluation, Header, MetricResult
from ..inference.cells import CellSampler, Draws, sharing
from ..inference.intervals import OWN_INTERVALS
from ..inference.metric_tests import DEFAULT_TESTS
from ..inference.sampler_choice import choose_sampler
from ..inference.significance import simulates
from ..input.predictions import Predictions
from ..metrics.properties import is_slow, is_slow_to_resample
from ..metrics.references import reference_of
from ..metrics.registry import Metric, catalogue
from ..sketches.collection import Sketches
from ..util.processes import run_all
from ..util.progress import track
from .content import MetricRow, Metrics
from .recalibration import excluded_outcomes, row_count
from .settings import Settings
from .wording import metric_name, remark, static_texts

T = TypeVar("T")

# The largest number of rows times classes that are resampled. No measured times decide, so that the same input gives the same report.
MOST_ENTRIES = 300_000
# Its bandwidth is found iteratively; a smaller error needs more steps.
SLOW_NULL = {"smece": 200_000}
# The largest number of rows for which pairs of rows are resampled.
MOST_PAIRED = 10_000


def measure(
    p: Predictions,
    settings: Settings,
    known: Evaluation | None = None,
    sketches: Sketches | None = None,
    beside: Callable[[], T] = lambda: None,  # type: ignore[assignment, return-value]
) -> tuple[Metrics, Header, T]:
    """Return the metrics and the header of `evaluate`, with the intervals and p-values of `interval` and `assess`.

    Parameters
    ----------
    p : Predictions
        The predictions.
    settings : Settings
        Metrics, lens, level, resamples, seed and outcome.
    known : Evaluation, optional
        Results of the same metrics, with intervals, which are then not computed again.
    sketches : Sketches, optional
        The sketches whose cells `p` are.
    beside : callable, optional
        What is computed in the same processes.

    Returns
    -------
    Metrics, Header, T
        The section of the report, the description of the data, and the result of `beside`.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> from calibrant.reporting.settings import Settings
    >>> p = Predictions([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    >>> table, header, _ = measure(p, Settings(metrics=["brier"]))
    >>> round(table["brier"].value, 4), header.n
    (0.105, 4)
    """
    late = [metric for metric in settings.metrics if is_slow(metric, p.n, p.k)]
    plan = [metric for metric in settings.metrics if metric not in late]
    # The header is needed even where no metric is left.
    evaluation = known or evaluate_cells(
        p, sketches, plan or [catalogue["ece"]], lens=settings.lens, outcome=settings.outcome
    )
    results = {result.metric: result for result in evaluation.results}
    # Metrics may be missing that `known` left out.
    measured = [(metric, results[metric.id]) for metric in plan if metric.id in results]

    def rows_of(group: list[int]) -> list[MetricRow]:
        return [_row(_inferred(*measured[place], p, settings)) for place in track(group, "metrics")]

    # Those that are resampled in the same way share resamples; curves without bins, the last in the catalogue, take long.
    groups = resampled_alike([(metric, result.lens) for metric, result in measured])[::-1]
    tasks: list[Callable[[], Any]] = [
        *(partial(rows_of, group) for group in groups),
        beside,
        partial(_discrimination, p),
    ]
    with sharing():
        *done, result_beside, discrimination = run_all(tasks, p.n * p.k)
    by_place: dict[int, MetricRow] = {}
    for group, rows_of_group in zip(groups, done, strict=True):
        by_place |= dict(zip(group, rows_of_group, strict=True))
    rows = tuple(by_place[place] for place in range(len(measured)))
    reason = "" if rows else "every requested metric would take too long for this number of rows"
    notes = tuple(_notes(rows, late, p, settings.n_resamples))
    table = Metrics(rows, settings.level, settings.n_resamples, notes, reason, discrimination)
    return table, evaluation.header, result_beside


def evaluate_cells(p: Predictions, sketches: Sketches | None, metrics: list[Metric], **options: Any) -> Evaluation:
    """Return the evaluation of `p`; if these are the cells of sketches, metrics of whole rows have the values of the rows.

    The mean score of a cell does not determine those: one label with a predicted probability of 0 makes the log loss infinite.
    """
    needs_groups = any("groups" in metric.needs for metric in metrics)
    evaluation: Evaluation = evaluate(p if needs_groups else p.with_groups(None), metrics=metrics, **options)
    of_rows = [metric for metric in metrics if metric.takes == "Block"]
    if sketches is None or not of_rows:
        return evaluation
    exact = {
        result.metric: result.value for result in evaluate(sketches, metrics=of_rows, lens=options.get("lens")).results
    }
    results = []
    for result in evaluation.results:
        value = exact.get(result.metric)
        if value is not None:
            result = replace(result, value=value)
            if not math.isfinite(value):
                result = replace(result, low=None, high=None, pvalue=None, by_chance=None)
        results.append(result)
    replaced: Evaluation = evaluation._replaced(results=tuple(results))
    return replaced


def _discrimination(p: Predictions) -> tuple[MetricRow, ...]:
    """Return the rows of AUROC and average precision, or why they have no value."""
    values: tuple[float | None, float | None] = (None, None)
    reason = ""
    try:
        values = discrimination_of(p)
    except CalibrantError as error:
        reason = error.problem
    mean = "" if p.kind == "binary" else "; mean over the classes, one against the rest"
    return tuple(
        MetricRow(
            id=id,
            name=text["name"],
            value=value,
            ideal=1.0,
            lens="binary" if p.kind == "binary" else "classwise",
            meaning=f"{text['meaning']}{mean}.",
            caution="a ranking measure: it does not depend on calibration",
            reference=text["reference"],
            reason=reason,
            group="discrimination",
        )
        for (id, text), value in zip(static_texts("texts.toml")["discrimination"].items(), values, strict=True)
    )


def _row(result: MetricResult) -> MetricRow:
    metric = catalogue[result.metric]
    # A remedy names keywords of Python, which a reader of the page does not have.
    reason, _, remedy = result.reason.rpartition("; ")
    if not reason or "=" not in remedy:
        reason = result.reason
    names = ("value", "low", "high", "pvalue", "direction", "lens", "note", "by_chance")
    return MetricRow(
        **{name: getattr(result, name) for name in names},
        id=metric.id,
        name=metric.name,
        ideal=metric.ideal,
        meaning=metric.summary,
        caution=metric.info.limits,
        reference=metric.reference,
        link=reference_of(metric.cite).url,
        reason=reason,
        group="proper score" if metric.proper == "strictly" else "calibration",
    )


def _inferred(metric: Metric, result: MetricResult, p: Predictions, settings: Settings) -> MetricResult:
    """Add the interval and the p-value, or a note why there is none."""
    if result.value is None:
        return result
    if math.isinf(result.value):
        return replace(result, note=f"infinite: {excluded_outcomes(p) or 'it has no interval and no p-value'}")
    options: dict[str, Any] = {} if settings.lens is None else {"lens": settings.lens}
    level = settings.known_level
    infer = Inference(level, settings.n_resamples, settings.seed, named=frozenset({metric.id}))
    has_classes = result.lens in ("classwise", "ordinal")
    late = _too_long(metric, p, options, settings.n_resamples)
    additions: list[tuple[dict[str, Any], str]] = []
    if result.low is not None:
        additions.append(({}, result.note))
    elif settings.level is not None:
        has_formula = not has_classes and (metric.is_row_mean or metric.id in OWN_INTERVALS)
        is_late = bool(late) and not has_formula
        additions.append(
            ({}, f"no interval: {late}") if is_late else infer.infer("interval", result, metric, p, options)
        )
    if _no_test(metric, p, has_classes, late, options):
        additions.append(({}, "no p-value: simulating labels for this number of rows would take too long"))
    else:
        additions.append(infer.infer("p-value", result, metric, p, options))
    return with_direction(with_additions(result, additions), metric, p, options)


def _no_test(metric: Metric, p: Predictions, several: bool, late: str, options: dict[str, Any]) -> bool:
    """Whether a p-value would take too long: the null distribution must be simulated, or the metric itself is slow."""
    rows = row_count(p)
    if metric.id in SLOW_NULL:
        return rows > SLOW_NULL[metric.id]
    if "^2" in metric.info.cost and rows > MOST_PAIRED:
        return True
    if not late or several or metric.id not in DEFAULT_TESTS:
        return bool(late)
    try:
        return simulates(p, metric, options)
    except CalibrantError:  # assess then raises the same error, with its reason
        return False


def _too_long(metric: Metric, p: Predictions, options: dict[str, Any], n_resamples: int) -> str:
    """Return why rows are not resampled; empty where they can be. A row with a count is that many rows."""
    rows = row_count(p)
    if rows * p.k <= MOST_ENTRIES and not is_slow_to_resample(metric, rows, p.k):
        return ""
    try:
        draws: tuple[Draws, ...] = ("rows", "outcomes")
        if all(isinstance(choose_sampler([(metric, options)], p, False, kind), CellSampler) for kind in draws):
            return ""  # the time does not depend on the number of rows
    except CalibrantError:
        pass
    return f"{n_resamples} resamples of this number of rows would take too long"


def _notes(rows: tuple[MetricRow, ...], late: list[Metric], p: Predictions, n_resamples: int) -> list[str]:
    notes = []
    if late:
        notes.append(
            f"Left out because they would take too long for {p.n:,} rows: {', '.join(metric_name(m.id) for m in late)}."
        )
    for note in dict.fromkeys(row.note for row in rows if row.note):
        names = ", ".join(row.name for row in rows if row.note == note)
        notes.append(f"{names}: {note}.")
    if any(row.pvalue is not None for row in rows):
        notes.append(remark("metric_tests", least=1 / (n_resamples + 1)))
    return notes
