"""``calibrant evaluate`` and ``calibrant clinical``: measure the predictions in a file, print the result, check the gates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from ..errors import ArgumentError
from ..evaluation.measure import calibrate_predictions, evaluate
from ..evaluation.result import Evaluation, MetricResult, numeric_columns
from ..evaluation.subgroups import find_subgroups
from ..input.predictions import Predictions
from ..sketches.collection import Sketches
from . import options
from .conditions import (
    Gates,
    check,
    gate_metrics,
    measure_named,
    metric_conditions,
    named_file,
    needs_interval,
    needs_test,
    places_of,
)
from .rows import is_sketch
from .screen import print_lines, print_table
from .selecting import Draws, MetricOptions
from .source import Source
from .streaming import read_stream
from .wording import in_options


@options.command("evaluate")
@options.source_options(
    options.score_options,
    options.groups_option("Groups that are also measured separately."),
)
@click.option(
    "--metrics",
    metavar="NAMES",
    default="summary",
    help="Comma-separated ids or aliases of metrics, 'summary' (default), 'recommended' or 'all'.",
)
@options.metric_options
@click.option(
    "--level",
    type=float,
    metavar="LEVEL",
    help="Add confidence intervals of this level, such as 0.95; a summary has them.",
)
@click.option(
    "--assess",
    is_flag=True,
    help="Add p-values for the null hypothesis of calibration, and the value by chance that each metric has under it.",
)
@options.features_option
@options.outcome_option
@options.calibrator_option
@options.stream_option
@options.draw_options(200)
@options.json_option
@options.gate_options(
    'Exit with 1 if a condition such as "ece > 0.05", "ece.high > 0.05", or "auroc < 0.8" holds for all rows or a group of '
    "--by. Can be repeated.",
)
@options.debug_option
def run(
    file: str,
    *,
    metrics: str,
    level: float | None,
    assess: bool,
    features: str | None,
    calibrator: str | None,
    stream: bool | None,
    as_json: bool,
    **options: Any,
) -> bool:
    """Measure the calibration of the predictions in FILE.

    FILE is a CSV, TSV, Parquet, JSON lines, Excel, Feather or NPZ file, a DuckDB database, a .sketch file, or - for standard input.
    """
    gates, source = Gates.take(options), Source.take(file, options)
    metric_options, draws = MetricOptions.take(options), Draws.take(options)
    conditions = metric_conditions(gates, with_options=bool(metric_options.further))
    names = [*(name.strip() for name in metrics.split(",")), *gate_metrics(conditions)]
    level = 0.95 if level is None and needs_interval(conditions) else level
    assess = assess or needs_test(conditions)
    data: Predictions | Sketches | None = None if features else read_stream(source, stream)
    subgroups = None
    if data is None:
        data = source.read()
        columns = source.read_features(features, data) if features else None
        data = data if calibrator is None else calibrate_predictions(data, calibrator)
        if columns is not None:
            subgroups = find_subgroups(data, features=columns, lens=metric_options.lens or "auto", rng=draws.seed)
    elif calibrator is not None:
        raise ArgumentError("--calibrator", "requires the rows", "use --no-stream")
    keywords: dict[str, Any] = {"metrics": names, "level": level, "assess": assess, **options}
    keywords |= metric_options.keywords() | draws.keywords()
    if isinstance(data, Sketches) and metric_options.lens is not None:
        # Raises if they do not have it, which would otherwise be a reason beside every metric.
        data.views(metric_options.lens)
    result = _describe_reasons(evaluate(data, **keywords), file if isinstance(data, Sketches) else None)
    plain = (
        result.to_dict() if conditions or as_json else {}
    )  # takes as long as the evaluation where there are many groups
    checked = check(conditions, places_of(plain), source.columns.by)
    subgroup_output = {} if subgroups is None else {"subgroups": subgroups.to_dict()}

    def show_all() -> None:
        show(result)
        if subgroups is not None:
            print_lines(["", "For whom?", *repr(subgroups).split("\n")])

    output = {"file": file, **plain, **subgroup_output, "options": metric_options.stated} if as_json else show_all
    return gates.conclude(checked, f"calibrant evaluate {named_file(file)}", output)


@options.command("clinical")
@options.source_options(options.score_options)
@click.option("--lens", help="The event: the positive class of two by default, or class:NAME.")
@options.level_option
@options.draw_options(200)
@options.json_option
@options.gate_options(
    'Exit with 1 if a condition such as "slope < 0.8" or "c_statistic.low < 0.7" holds. Can be repeated.'
)
@options.debug_option
def run_clinical(
    file: str,
    *,
    lens: str | None,
    level: float,
    as_json: bool,
    **options: Any,
) -> bool:
    """Print the table of a validation study of the predictions in FILE: discrimination, overall performance and calibration.

    For a report with subgroups, see report --for clinical.
    """
    from ..clinical.performance import ROWS
    from ..clinical.performance import summary as clinical_summary

    gates, source, draws = Gates.take(options), Source.take(file, options), Draws.take(options)
    conditions = gates.conditions(lambda name: measure_named(name, ROWS), "slope < 0.8")
    summary = clinical_summary(
        source.read(),
        level=level,
        lens=lens or "auto",
        **draws.keywords(),
    )
    checked = check(conditions, places_of(summary.to_dict()))
    headings, rows = summary._table()

    def show_summary() -> None:
        print_lines([summary._title(), *summary._dropped_lines(), ""])
        print_table(list(headings), [list(row) for row in rows], range(1, 4))
        print_lines([f"note: {note}" for note in summary.notes])

    output = {"file": file, **summary.to_dict()} if as_json else show_summary
    return gates.conclude(checked, f"calibrant clinical {named_file(file)}", output)


def _describe_reasons(result: Evaluation, streamed: str | None) -> Evaluation:
    """The reasons for missing values in the terms of the command; `streamed` is a file that was not read as rows."""

    def describe(metric: MetricResult) -> MetricResult:
        if metric.error is None:
            return metric
        if streamed is not None and metric.error.argument == "y_true":
            remedy = "evaluate the files that it summarizes" if is_sketch(streamed) else "use --no-stream"
            return replace(metric, reason=f"{metric.error.problem}; {remedy}")
        return replace(metric, reason=in_options(metric.error))

    results = tuple(map(describe, result.results))
    groups = {name: _describe_reasons(group, streamed) for name, group in result.groups.items()}
    described: Evaluation = result._replaced(results=results, groups=groups)
    return described


def show(result: Evaluation) -> None:
    """Print the header and the tables."""
    print_lines([*result._title().splitlines(), *result._dropped_lines(), ""])
    headings, rows = result.table()
    print_table(headings, rows, numeric_columns(headings))
    for title, headings, rows in result.group_tables():
        print_lines(["", *([title] if title else [])])
        print_table(headings, rows, numeric_columns(headings))
    print_lines(result.notes())
