"""The table of metrics: values, intervals and p-values as `evaluate` gives them, as far as a fixed amount of work allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..errors import CalibrantError
from ..evaluation.measure import Evaluation, evaluate, with_direction
from ..evaluation.result import Header, Result, side_note
from ..inference.intervals import OWN_INTERVALS, interval
from ..inference.metric_tests import DEFAULT_TESTS
from ..inference.pair_resampling import resampling_seconds
from ..inference.resampling import CellSampler, Draws, choose_sampler
from ..inference.significance import assess, simulates
from ..input.predictions import Predictions
from ..metrics.references import references
from ..metrics.registry import Metric, catalogue
from ..views.lenses import Lens
from .content import MetricRow, Metrics
from .repairs import stood_for

__all__ = ["measure"]

# Estimated seconds for the value of one metric, and for its resamples. Estimates, not clocks, so that the same input gives the same report.
MOST_SECONDS, MOST_RESAMPLING = 20.0, 2.0
# Its width is found step by step, and there are the more steps the smaller the error.
SLOW_NULL = {"smece": 200_000}
# Rows up to which pairs of them are drawn again.
MOST_PAIRED = 10_000
# Nanoseconds to draw one entry again.
DRAW = 20.0


def measure(
    p: Predictions,
    chosen: list[Metric],
    lens: str | Lens | None,
    level: float | None,
    n_resamples: int,
    seed: int,
    stage: Callable[[], None] = lambda: None,
    known: Evaluation | None = None,
) -> tuple[Metrics, Header]:
    """The values and the header of `evaluate`, with the intervals and p-values of `interval` and `assess` for the same seed.

    Parameters
    ----------
    p
        The predictions.
    chosen
        The metrics.
    lens
        Used by every metric in place of its own; None leaves each its own.
    level, n_resamples, seed
        Of intervals (None for none) and p-values.
    stage
        Is called after each metric.
    known
        The same metrics as `evaluate` gave them before, with intervals, which are then not calculated again.

    Examples
    --------
    >>> from calibrant import Predictions, catalogue
    >>> p = Predictions([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    >>> table, header = measure(p, [catalogue["brier"]], None, 0.95, 200, 0)
    >>> round(table["brier"].value, 4), header.n
    (0.105, 4)
    """
    plan = [metric for metric in chosen if metric.seconds(p.n, p.k) <= MOST_SECONDS]
    late = [metric for metric in chosen if metric not in plan]
    # The header has to be found where no metric is left too.
    found = known or evaluate(p, metrics=plan or ["ece"], lens=lens, budget=math.inf)
    rows = []
    results = {result.metric: result for result in found.results}
    for metric in plan:
        if (result := results.get(metric.id)) is None:  # the budget of `known` left it out
            continue
        full = result if result.value is None else _inferred(result, metric, p, lens, level, n_resamples, seed)
        rows.append(_row(full))
        stage()
    reason = "" if rows else "every metric asked for would take too long on so many rows"
    return Metrics(tuple(rows), level, n_resamples, tuple(_notes(rows, late, p, n_resamples)), reason), found.header


def _row(result: Result) -> MetricRow:
    metric = catalogue[result.metric]
    return MetricRow(
        id=metric.id,
        name=metric.name,
        value=result.value,
        low=result.low,
        high=result.high,
        pvalue=result.pvalue,
        ideal=metric.ideal,
        direction=result.direction,
        lens=result.lens,
        meaning=metric.summary,
        caution=metric.cons,
        reference=metric.reference,
        link=references()[metric.cite].url,
        reason=_reason(result.reason),
        note=result.note,
    )


def _reason(text: str) -> str:
    """Why there is no value, without the remedy, which speaks of keywords that the reader of a page may not have."""
    problem, _, remedy = text.rpartition("; ")
    return problem if "=" in remedy and problem else text


def _inferred(
    result: Result, metric: Metric, p: Predictions, lens: Any, level: float | None, n_resamples: int, seed: int
) -> Result:
    if result.value is None or math.isinf(result.value):
        return replace(result, note="no interval and no p-value: the value is infinite")
    options: dict[str, Any] = {} if lens is None else {"lens": lens}
    draws: dict[str, Any] = {"metric": metric, "n_resamples": n_resamples, "rng": seed, **options}
    low, high, pvalue = result.low, result.high, None
    notes = [] if low is None else [result.note]
    several = result.lens == "classwise"
    late = _too_long(metric, p, options, n_resamples)
    if level is not None and low is None:
        known = not several and (metric.is_row_mean or metric.id in OWN_INTERVALS)
        if late and not known:
            notes.append(f"no interval: {late}")
        else:
            try:
                found = interval(p, level=level, **draws)
                low, high = found.low, found.high
                notes += [found.note] if found.note else []
            except CalibrantError as error:
                notes.append(f"no interval: {error.problem}")
    if _no_test(metric, p, several, late, options):
        notes.append("no p-value: drawn outcomes of so many rows would take too long")
    else:
        try:
            tested = assess(p, **draws)
            pvalue = tested.pvalue
            notes += [side_note(metric, result.lens, tested.alternative)]
        except CalibrantError as error:
            notes.append(f"no p-value: {error.problem}")
    full = replace(result, low=low, high=high, pvalue=pvalue, note="; ".join(filter(None, notes)))
    return with_direction(full, metric, p, options)


def _no_test(metric: Metric, p: Predictions, several: bool, late: str, options: dict[str, Any]) -> bool:
    """Whether a p-value would take too long: no null distribution is known for such rows, or the metric itself is slow."""
    rows = stood_for(p)
    if metric.id in SLOW_NULL:
        return rows > SLOW_NULL[metric.id]
    if "^2" in metric.cost and rows > MOST_PAIRED:
        return True
    if not late or several or metric.id not in DEFAULT_TESTS:
        return bool(late)
    try:
        return simulates(p, metric, options)
    except CalibrantError:  # assess then says the same, and why
        return False


def _too_long(metric: Metric, p: Predictions, options: dict[str, Any], n_resamples: int) -> str:
    """Why rows are not drawn again; empty where they can be. A row given with a count is drawn as so many."""
    rows = stood_for(p)
    seconds = resampling_seconds(metric, rows, p.k, n_resamples) + rows * p.k * DRAW * 1e-9 * n_resamples
    if seconds <= MOST_RESAMPLING:
        return ""
    try:
        draws: tuple[Draws, ...] = ("rows", "outcomes")
        if all(isinstance(choose_sampler([(metric, options)], p, False, kind), CellSampler) for kind in draws):
            return ""  # as long as for a few rows, however many there are
    except CalibrantError:
        pass
    return f"{n_resamples} resamples of so many rows would take too long"


def _notes(rows: list[MetricRow], late: list[Metric], p: Predictions, n_resamples: int) -> list[str]:
    notes = []
    if late:
        notes.append(f"Left out, for they would take too long on {p.n:,} rows: {', '.join(m.id for m in late)}.")
    for note in dict.fromkeys(row.note for row in rows if row.note):
        ids = ", ".join(row.id for row in rows if row.note == note)
        notes.append(f"{ids}: {note}.")
    if any(row.pvalue is not None for row in rows):
        notes.append(
            "The verdict rests on one test that was chosen in advance. The p-values of this table are not corrected for their "
            f"number, and those that are drawn cannot be below {1 / (n_resamples + 1):.2g}."
        )
    return notes
