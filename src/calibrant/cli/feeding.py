"""``calibrant monitor init``, ``update`` and ``labels``: create a monitor and add to it from files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import click

from ..errors import ArgumentError, CalibrantError, LabelError
from ..input.missing import Dropped
from ..input.predictions import Predictions
from ..monitoring.ingest import some_names
from ..monitoring.monitor import Monitor
from ..monitoring.set_aside import describe
from ..monitoring.status import Update
from ..monitoring.windows import window_rule
from ..sketches.files.columns import Columns
from ..util.checks import check_whole
from ..util.database import is_interrupt, is_out_of_memory
from ..util.progress import track
from . import options
from .arrivals import in_class_order, labels_like, read_label_file, read_ood, read_reference_times, read_rows
from .config import is_configured
from .invocation import running
from .monitoring import exit_for_alarms, fail_option, finish, id_option, lines_of, time_option
from .rows import is_sketch
from .screen import clean, print_json, print_lines, say
from .source import Source
from .streaming import read
from .wording import in_options

EXIT_SET_ASIDE = 2

latest_option = click.option(
    "--latest",
    metavar="TIME",
    default="auto",
    callback=lambda _context, _option, value: None if value == "any" else value,
    help="Latest accepted time; by default one day after the time of this machine, 'any' for no limit.",
)


@options.command("init")
@click.argument("store")
@click.option("--reference", required=True, metavar="FILE", help="Labelled reference data, or a sketch of them.")
@options.label_option
@options.score_options
@options.by_option("Column with the group of each row; each group is also monitored separately.")
@options.where_option
@options.classes_option
@options.pos_label_option
@options.file_options
@time_option(
    "Column with the time of each prediction in the files of update; only --season requires it in the reference data."
)
@id_option("Column with the id of each row in the files of update and labels, which need not be in the reference data.")
@click.option("--every", metavar="DURATION", help="Length of a window, such as 1h, 1d or 1w.")
@click.option(
    "--time-zone", metavar="NAME", help="Time zone of windows of days, such as Europe/Berlin; UTC by default."
)
@click.option(
    "--season",
    type=click.Choice(["week"]),
    help="Compare a window with the reference data of the same part of the week, by the times (--time) in the reference data.",
)
@click.option("--rows", type=int, help="Number of rows in a window, instead of --every.")
@options.ood_option(
    "Column with an out-of-distribution score, such as the energy, that is watched too; may be repeated."
)
@click.option(
    "--features",
    metavar="COLUMNS",
    help="Comma-separated columns in the files of update, which are stored: the status lists the subgroups in which predictions and outcomes disagree.",
)
@click.option(
    "--online",
    is_flag=True,
    help="Keep an online recalibration of the scores, which learns from each tested window; the status compares both.",
)
@click.option("--lens", default="auto", show_default=True, help="What is monitored: binary, top_label or class:NAME.")
@click.option(
    "--alpha",
    type=float,
    default=0.05,
    show_default=True,
    help="Probability that the sequential test ever raises a false alarm.",
)
@click.option(
    "--run-length",
    type=float,
    default=1000,
    show_default=True,
    help="Mean number of windows between false alarms of the change detector.",
)
@click.option(
    "--drift-alpha",
    type=float,
    default=0.01,
    show_default=True,
    help="Probability of a false drift alarm in a window, for all scores and groups together, averaged over reference data.",
)
@click.option(
    "--mature",
    type=float,
    default=0.95,
    show_default=True,
    help="Share of labels that must have arrived before a window is tested.",
)
@click.option(
    "--horizon", metavar="DURATION", help="How long to wait for labels, such as 30d; without limit by default."
)
@click.option(
    "--missing",
    type=click.Choice(["ignore", "negative"]),
    default="ignore",
    show_default=True,
    help="How to treat labels that are still missing after the horizon.",
)
@click.option("--keep", metavar="DURATION", help="How long prune keeps rows, such as 90d, or a number of windows.")
@click.option("--resamples", type=int, default=999, show_default=True, help="Permutations for the p-values of drift.")
@options.debug_option
def init(store: str, **options: Any) -> None:
    """Create a monitor in the new file or schema STORE.

    The names of columns are stored, so that update and labels need none.
    """
    monitor, dropped = create_monitor(store, options)
    print_lines([repr(monitor), *([] if dropped is None else [str(dropped)])])


@options.command("update")
@click.argument("store")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@time_option(
    "Column with the time of each prediction, unless windows are counted in rows; by default the one given to init."
)
@id_option("Column with the id of each row; a row that is added twice counts once. By default the one given to init.")
@click.option(
    "--delivery",
    metavar="NAME",
    help="Name of this delivery, for rows without ids; a delivery that is added twice counts once.",
)
@latest_option
@options.label_option
@options.score_options
@options.by_option("Column with the group of each row; by default the one given to init.")
@options.ood_option("Column with an out-of-distribution score; may be repeated. By default those given to init.")
@options.where_option
@options.file_options
@fail_option
@options.json_option
@options.debug_option
def update(store: str, files: tuple[str, ...], fail_on: str, as_json: bool, **options: Any) -> None:
    """Add the predictions in each FILE to STORE; missing labels can be added later.

    What was added before is recognized by its ids, or by the content of the file. Of several files, one that cannot be added is set aside
    and stops no other; the command then exits with 2 at the end.
    """
    if len(files) > 1 and options["delivery"] is not None:
        raise ArgumentError("--delivery", f"names one file; got {len(files)}", "drop it, or add each file by itself")
    opened = Monitor.open(store)
    required = options["label"] is not None and not is_configured("label")

    def add(file: str) -> Update:
        return add_predictions(opened, file, dict(options), label_required=required)

    add_files(opened, files, add, fail_on, as_json)


@options.command("labels")
@click.argument("store")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@id_option("Column with the id of each row, as given to update; by default the one given to init.")
@options.label_option
@click.option("--now", metavar="TIME", help="Current time; by default that of the latest prediction.")
@options.where_option
@click.option(
    "--format",
    type=click.Choice(["csv", "tsv", "parquet", "json"]),
    help="File format, if it is not clear from the file name.",
)
@fail_option
@options.json_option
@options.debug_option
def labels(store: str, files: tuple[str, ...], fail_on: str, as_json: bool, **options: Any) -> None:
    """Add the labels in each FILE to the predictions in STORE, or correct them.

    Labels whose predictions have not arrived are kept and added with them. Of several files, one that cannot be added is set aside and
    stops no other; the command then exits with 2 at the end.
    """
    opened = Monitor.open(store)
    columns = {name: options.pop(name) for name in ("id_column", "label")}

    def add(file: str) -> Update:
        return add_label_file(opened, file, dict(columns), **options)

    add_files(opened, files, add, fail_on, as_json)


@options.command("advance")
@click.argument("store")
@click.option("--now", metavar="TIME", required=True, help="Current time, such as 2026-03-09.")
@latest_option
@fail_option
@options.json_option
@options.debug_option
def advance(store: str, now: str, latest: str | None, fail_on: str, as_json: bool) -> None:
    """Close and test the windows of STORE that have ended, without waiting for newer predictions."""
    finish(Monitor.open(store).advance(now, latest=latest), fail_on, as_json)


def add_files(opened: Monitor, files: Sequence[str], add: Callable[[str], Update], fail_on: str, as_json: bool) -> None:
    """Add files and print what became of them; of several, one that cannot be added is set aside, for which the command exits with 2."""
    updates: dict[str, Update] = {}
    aside: dict[str, str] = {}
    fault: Exception | None = None
    for file in track(files, "files"):
        running.files = None  # lines in errors are those of this file
        try:
            updates[file] = add(file)
        except Exception as error:
            store_fails = isinstance(error, CalibrantError) and error.argument == str(opened.path)
            if len(files) == 1 or store_fails or is_interrupt(error) or is_out_of_memory(error):
                raise
            is_expected = isinstance(error, CalibrantError | OSError)
            fault = fault if is_expected else error
            problem = in_options(error) if isinstance(error, CalibrantError) else repr(error)
            aside[file] = problem.removeprefix(f"{file}: ")
    set_aside = opened.set_aside(aside, added=updates)
    if len(files) == 1:
        finish(updates[files[0]], fail_on, as_json)
        return
    if as_json:
        print_json({"files": {file: update.to_dict() for file, update in updates.items()}, "set_aside": set_aside})
    else:
        print_lines([line for file, update in updates.items() for line in [f"{file}:", *lines_of(update)]])
    for each in set_aside.values():
        say(clean(f"error: {describe(each)}"), err=True)
    if fault is not None:
        raise fault
    if aside:
        raise click.exceptions.Exit(EXIT_SET_ASIDE)
    exit_for_alarms([alarm for update in updates.values() for alarm in update.alarms], fail_on)


def create_monitor(store: str, options: dict[str, Any]) -> tuple[Monitor, Dropped | None]:
    """Create a monitor from the options of ``monitor init``; also returns what was dropped of the reference data."""
    if (options["every"] is None) == (options["rows"] is None):
        raise ArgumentError("--every", "windows are defined by a duration or by rows", "give either --every or --rows")
    same = ("lens", "alpha", "run_length", "drift_alpha", "mature", "missing", "keep", "online")
    keywords = {name: options.pop(name) for name in same}
    keywords["n_resamples"] = options.pop("resamples")
    every, rows = options.pop("every"), options.pop("rows")
    horizon = options.pop("horizon")
    keywords["horizon"] = int(horizon) if rows is not None and str(horizon).isdigit() else horizon
    rule = window_rule(
        every if rows is None else check_whole(rows, "rows"),
        time_zone=options.pop("time_zone"),
        season=options.pop("season"),
    )
    time = options.pop("time")
    columns = {"time": time, "id": options.pop("id_column"), "by": options["by"]}
    columns |= {name: options[name] for name in ("label", "prob", "probs", "logits", "confidence")}
    keywords["columns"] = {name: column for name, column in columns.items() if column is not None}
    keywords["features"] = [name.strip() for name in (options.pop("features") or "").split(",") if name.strip()]
    ood = options.pop("ood")
    source = Source.take(options.pop("reference"), options)
    if is_sketch(source.file):  # the columns are those of the files of update
        sketches = read((source.file,), replace(source, columns=Columns()))
        return Monitor.create(store, reference=sketches, every=rule, ood=dict.fromkeys(ood) or None, **keywords), None
    data = source.read()
    rows_kept = slice(None) if data.dropped is None else data.dropped.kept
    if ood:
        scores = read_ood(source, ood)
        keywords["ood"] = {name: values[rows_kept] for name, values in scores.items()}
    if rule.season is not None:
        keywords["when"] = read_reference_times(source, time)[rows_kept]
    return Monitor.create(store, reference=data, every=rule, **keywords), data.dropped


def add_predictions(opened: Monitor, file: str, options: dict[str, Any], *, label_required: bool) -> Update:
    """Add the predictions in a file by the options of ``monitor update``."""
    settings = opened.settings
    keywords = {name: options.pop(name) for name in ("delivery", "latest")}
    _complete_columns(opened, options)
    if options["time"] is None and settings.rule.by_time:
        raise ArgumentError("--time", "is required for windows of time", "name the column of times")
    if options["by"] is None or (is_configured("by") and settings.by is not None):
        options["by"] = settings.by
        if options["by"] is None and opened.groups:
            problem = f"is required: this monitor has the groups {some_names(opened.groups)}"
            raise ArgumentError("--by", problem, "name their column")
    columns: dict[str, Any] = {name: options.pop(name) for name in ("time", "id_column")}
    columns["features"] = settings.features
    columns["ood"] = options.pop("ood") or tuple(each.name for each in settings.ood)
    source = Source.take(file, options)
    with _labels_of_reference(opened):
        rows, count, dropped = read_rows(source, **columns, watched=settings.by, label_required=label_required)
        rows = in_class_order(rows, settings.classes)
        form: dict[str, Any] = {"input": rows.pop("input"), "normalize": source.normalize, "clip": source.clip}
        rows["y_prob"] = Predictions.unlabelled(rows["y_prob"], **form).probs
        update = opened.update(**keywords, **rows)
    if dropped is not None:
        update = replace(update, rows=count, dropped_rows=dropped.n)
        object.__setattr__(update, "dropped", dropped)
    return update


def add_label_file(
    opened: Monitor, file: str, columns: dict[str, Any], *, now: str | None, where: str | None, format: str | None
) -> Update:
    """Add the labels in a file by the options of ``monitor labels``."""
    _complete_columns(opened, columns)
    if columns["id_column"] is None:
        raise ArgumentError("--id", "is required, since none was given to init", "name the column of ids")
    ids, values = read_label_file(file, **columns, where=where, format=format)
    with _labels_of_reference(opened):
        return opened.add_labels(ids, labels_like(values, opened.settings.classes), now=now)


def _complete_columns(opened: Monitor, options: dict[str, Any]) -> None:
    """Complete the columns that were not given by those given to init; a score that was given replaces the others.

    A configuration may be about other data than those of the monitor, so that its columns come last.
    """

    def given(name: str) -> bool:
        return options.get(name) is not None and not is_configured(name)

    stored_columns = {"id_column" if name == "id" else name: column for name, column in opened.settings.columns.items()}
    scores = ("prob", "probs", "logits", "confidence")
    if any(map(given, scores)):
        stored_columns = {name: column for name, column in stored_columns.items() if name not in scores}
    elif any(name in scores for name in stored_columns):
        options |= {name: None for name in scores if name in options}
    options |= {name: column for name, column in stored_columns.items() if name in options and not given(name)}


@contextmanager
def _labels_of_reference(opened: Monitor) -> Iterator[None]:
    """Name the classes of the reference in errors about labels; no option gives them here."""
    try:
        yield
    except LabelError as error:
        classes_text = ", ".join(map(str, opened.settings.classes[:10]))
        remedy = f"the classes of the reference are {classes_text}"
        raise error.replaced(remedy=remedy) from None
