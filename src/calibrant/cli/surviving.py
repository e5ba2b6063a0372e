"""``calibrant survival``: predicted risks of a time to event, from a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from ..clinical.survival import NAMES, SurvivalSummary, survival_summary
from ..errors import ColumnError, UndefinedMetricError
from ..input.convert import match_columns
from ..input.grouping import GroupColumns, plain_columns, read_groupings
from ..input.missing import Dropped
from ..sketches.files.columns import PROB_NAMES, Columns
from ..sketches.files.reading import PRINTED
from . import options
from .conditions import Gates, Place, check, measure_named, named_file, places_of
from .rows import kind_of_all, on_disk
from .screen import print_lines, print_table
from .selecting import Draws
from .source import Source, complete, factor_key, name_groups, read_columns
from .wording import in_options

RISK_NAMES = ("risk", *PROB_NAMES)


@options.command("survival")
@click.argument("file")
@click.option("--time", metavar="COLUMN", required=True, help="Column with the time to the event or to censoring.")
@click.option(
    "--event",
    metavar="COLUMN",
    required=True,
    help="Column with 0 for censoring, 1 for the event, and 2 and above for competing events.",
)
@click.option(
    "--horizon",
    type=float,
    metavar="TIME",
    required=True,
    help="Time by which the risks predict the event, in the unit of --time.",
)
@click.option("--prob", metavar="COLUMN", help="Column with the predicted risk by the horizon; risk by default.")
@options.weight_option
@options.groups_option("Groups that are also evaluated separately.")
@options.where_option
@options.format_options
@click.option("--cause", type=int, metavar="CODE", help="Code of the event that is predicted; 1 by default.")
@options.level_option
@options.draw_options(200)
@options.json_option
@options.gate_options(
    'Exit with 1 if a condition such as "calibration_slope < 0.8" holds for all rows or a group. Can be repeated.'
)
@options.debug_option
def run(file: str, *, time: str, event: str, as_json: bool, **options: Any) -> bool:
    """Evaluate the predicted risks in FILE by a horizon: calibration, discrimination and overall performance under censoring."""
    gates, source, draws = Gates.take(options), Source.take(file, options), Draws.take(options)
    conditions = gates.conditions(lambda name: measure_named(name, NAMES), "calibration_slope < 0.8")
    arrays, by, dropped = _load(source, time, event)
    keywords: dict[str, Any] = {**options, **draws.keywords()}
    summary = survival_summary(**arrays, **keywords)
    groups: dict[str, SurvivalSummary] = {}
    undefined: dict[str, str] = {}
    for name, rows in _groups(by):
        try:
            groups[str(name)] = survival_summary(
                **{argument: values[rows] for argument, values in arrays.items()}, **keywords
            )
        except UndefinedMetricError as error:
            undefined[str(name)] = in_options(error)
    by_group = {name: group_summary.to_dict() for name, group_summary in groups.items()}
    places = places_of({**summary.to_dict(), "groups": by_group})
    places += [Place(name, {measure: {"reason": why} for measure in NAMES}) for name, why in undefined.items()]
    checked = check(conditions, places, source.columns.by)
    noted = [] if dropped is None else [str(dropped)]

    def show_all() -> None:
        print_lines(noted)
        show(summary)
        column = f"{source.columns.by} = " if by is not None and by.plain else ""
        for name, group_summary in groups.items():
            print_lines(["", f"{column}{name}"])
            show(group_summary)
        print_lines([f"{column}{name}: {why}" for name, why in undefined.items()])

    content = {"file": file, **summary.to_dict(), **({} if dropped is None else {"missing_values": dropped.to_dict()})}
    content |= {} if by is None else {"groups": by_group | {name: {"error": why} for name, why in undefined.items()}}
    title = f"calibrant survival {named_file(file)}"
    return gates.conclude(checked, title, content if as_json else show_all)


def _groups(by: GroupColumns | None) -> Iterator[tuple[Any, Any]]:
    """The name and the rows of each group."""
    if by is None:
        return
    code, _, groupings = read_groupings(by, len(next(iter(by.values.values()))))
    for grouping in groupings:
        for place, name in enumerate(grouping.labels):
            yield name, grouping.place[code] == place


def show(result: SurvivalSummary) -> None:
    """Print the counts, the table and the notes."""
    print_lines([*result._title().split("\n"), ""])
    headings, rows = result._table()
    print_table(headings, rows, range(1, 4))
    print_lines(result._notes())


def _load(source: Source, time: str, event: str) -> tuple[dict[str, Any], GroupColumns | None, Dropped | None]:
    """Arguments for `survival_summary`, the groups of ``--by``, and what was dropped."""

    def choose(existing: list[str]) -> list[str]:
        return list(_columns_by_argument(existing, source.columns, time, event).values())

    with on_disk(source.file) as paths:
        kind = kind_of_all(paths, source.format)
        read = read_columns(source, paths, kind, choose)
    columns = _columns_by_argument(read.existing, source.columns, time, event)
    factors = list(dict.fromkeys(factor for each in read.by for factor in each))
    roles = {name: keyword for keyword, name in columns.items()}
    roles |= {factor_key(factor): "by" for factor in factors}
    arrays, dropped = complete({name: read.arrays[name] for name in roles}, roles, drop=source.drop_missing)
    if kind in PRINTED:
        name_groups(arrays, read.by)
    groups = GroupColumns(read.by, {factor: arrays[factor_key(factor)] for factor in factors}) if read.by else None
    return {keyword: arrays[name] for keyword, name in columns.items()}, groups, dropped


def _columns_by_argument(existing: list[str], columns: Columns, time: str, event: str) -> dict[str, str]:
    """The columns by argument."""
    prob = columns.prob
    if prob is None:
        lower = {name.lower(): name for name in reversed(existing)}
        prob = next((lower[name] for name in RISK_NAMES if name in lower), None)
    if prob is None:
        remedy = f"name the column; the columns are {', '.join(existing[:20])}"
        raise ColumnError("--prob", "no column has a common name for risks", remedy)
    options = {"y_prob": ("--prob", prob), "time": ("--time", time), "event": ("--event", event)}
    options |= {"sample_weight": ("--weight", columns.weight)} if columns.weight else {}
    columns_of = {keyword: match_columns(existing, [name], option)[0] for keyword, (option, name) in options.items()}
    columns_used = [*columns_of.values(), *plain_columns(columns.by, existing, "--by")]
    repeated = next((name for name in columns_of.values() if columns_used.count(name) > 1), None)
    if repeated is not None:
        raise ColumnError(repeated, "the column is named for two purposes", "name different columns")
    return columns_of
