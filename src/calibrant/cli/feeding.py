"""Creation of monitors and additions to them from files, for the commands of one monitor and for a fleet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, LabelError
from ..input.missing import Dropped
from ..input.predictions import Predictions
from ..monitoring.ingest import some_names
from ..monitoring.monitor import Monitor
from ..monitoring.windows import window_rule
from ..sketches.files.columns import Columns
from ..util.checks import check_whole
from .arrivals import in_class_order, labels_like, read_label_file, read_ood, read_reference_times, read_rows
from .config import is_configured
from .rows import is_sketch
from .source import Source
from .streaming import read

if TYPE_CHECKING:
    from ..monitoring.status import Update


def create_monitor(store: str, options: dict[str, Any]) -> tuple[Monitor, Dropped | None]:
    """Create a monitor from the options of ``monitor init``; also returns what was dropped of the reference data."""
    if (options["every"] is None) == (options["rows"] is None):
        raise ArgumentError("--every", "windows are defined by a duration or by rows", "give either --every or --rows")
    same = ("lens", "alpha", "run_length", "drift_alpha", "mature", "missing", "keep")
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
    ood = options.pop("ood")
    source = Source.take(options.pop("reference"), options)
    if is_sketch(source.file):  # the columns are those of the files of update
        sketches = read((source.file,), replace(source, columns=Columns()))
        return Monitor.create(store, reference=sketches, every=rule, ood=dict.fromkeys(ood) or None, **keywords), None
    data = source.read()
    kept = slice(None) if data.dropped is None else data.dropped.kept
    if ood:
        scores = read_ood(source, ood)
        keywords["ood"] = {name: values[kept] for name, values in scores.items()}
    if rule.season is not None:
        keywords["when"] = read_reference_times(source, time)[kept]
    return Monitor.create(store, reference=data, every=rule, **keywords), data.dropped


def add_predictions(opened: Monitor, file: str, options: dict[str, Any], *, label_required: bool) -> Update:
    """Add the predictions in a file by the options of ``monitor update``."""
    settings = opened.settings
    keywords = {name: options.pop(name) for name in ("delivery", "now", "max_ahead")}
    if keywords["max_ahead"] == "any":
        keywords["max_ahead"] = None
    _complete_columns(opened, options)
    if options["time"] is None and settings.rule.by_time:
        raise ArgumentError("--time", "is required for windows of time", "name the column of times")
    if options["by"] is None or (is_configured("by") and settings.by is not None):
        options["by"] = settings.by
        if options["by"] is None and opened.groups:
            problem = f"is required: this monitor has the groups {some_names(opened.groups)}"
            raise ArgumentError("--by", problem, "name their column")
    columns: dict[str, Any] = {name: options.pop(name) for name in ("time", "id_column")}
    columns["ood"] = options.pop("ood") or tuple(each.name for each in settings.ood)
    source = Source.take(file, options)
    with _labels_of_reference(opened):
        rows, count, dropped = read_rows(source, **columns, watched=settings.by, label_required=label_required)
        rows = in_class_order(rows, settings.classes)
        form = {"input": rows.pop("input"), "normalize": source.normalize, "clip": source.clip}
        if form != {"input": "prob", "normalize": False, "clip": False}:
            labels = np.zeros(len(rows["y_prob"]), np.int64)
            rows["y_prob"] = Predictions.derived(labels, rows["y_prob"], **form).probs
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

    kept = {"id_column" if name == "id" else name: column for name, column in opened.settings.columns.items()}
    scores = ("prob", "probs", "logits", "confidence")
    if any(map(given, scores)):
        kept = {name: column for name, column in kept.items() if name not in scores}
    elif any(name in scores for name in kept):
        options |= {name: None for name in scores if name in options}
    options |= {name: column for name, column in kept.items() if name in options and not given(name)}


@contextmanager
def _labels_of_reference(opened: Monitor) -> Iterator[None]:
    """Name the classes of the reference in errors about labels; no option gives them here."""
    try:
        yield
    except LabelError as error:
        known = ", ".join(map(str, opened.settings.classes[:10]))
        remedy = f"the classes of the reference are {known}"
        raise error.replaced(remedy=remedy) from None
