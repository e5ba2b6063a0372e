"""Creation of monitors and additions to them from files, for the commands of one monitor and for a fleet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, LabelError
from ..input.missing import Dropped
from ..monitoring.ingest import some_names
from ..monitoring.monitor import Monitor
from ..monitoring.settings import COLUMNS
from ..sketches.collection import Sketches
from ..util.files import read_limited
from .arrivals import in_order, labels_like, labels_of, ood_of, rows_of
from .config import is_configured
from .source import Source

if TYPE_CHECKING:
    from ..monitoring.status import Update


def create_monitor(store: str, options: dict[str, Any]) -> tuple[Monitor, Dropped | None]:
    """Create a monitor from the options of ``monitor init``; also returns what was dropped of the reference data."""
    if (options["every"] is None) == (options["rows"] is None):
        raise ArgumentError("--every", "windows are defined by a duration or by rows", "give either --every or --rows")
    keywords = {
        name: options.pop(name) for name in ("every", "rows", "lens", "alpha", "run_length", "drift_alpha", "mature")
    }
    horizon = options.pop("horizon")
    if keywords["rows"] is not None and horizon is not None and str(horizon).isdigit():
        horizon = int(horizon)
    keywords |= {"horizon": horizon, "missing": options.pop("missing"), "n_resamples": options.pop("resamples")}
    keywords |= {"time_zone": options.pop("time_zone"), "keep": options.pop("keep")}
    holidays = options.pop("holidays")
    keywords["holidays"] = None if holidays is None else holidays.split(",")
    keywords["by"] = options["by"]
    keywords["columns"] = _columns(options)
    file, ood = options.pop("reference"), options.pop("ood")
    twice = next((name for name in ood if ood.count(name) > 1), None)
    if twice is not None:
        raise ArgumentError("--ood", f"the column {twice!r} is given twice", "give each column once")
    reference = _reference(file, dict(options))
    if ood:
        keywords["ood"] = ood_of(file, ood, **options) if not isinstance(reference, Sketches) else dict.fromkeys(ood)
        if not isinstance(reference, Sketches) and reference.dropped is not None:
            keywords["ood"] = {name: values[reference.dropped.kept] for name, values in keywords["ood"].items()}
    return Monitor.create(store, reference=reference, **keywords), getattr(reference, "dropped", None)


def add_predictions(opened: Monitor, file: str, options: dict[str, Any], *, label_required: bool) -> Update:
    """Add the predictions in a file by the options of ``monitor update``."""
    chosen = {name: options.pop(name) for name in ("delivery", "now", "max_ahead")}
    if chosen["max_ahead"] == "any":
        chosen["max_ahead"] = None
    options["label_required"] = label_required
    _remembered(opened, options)
    if options["time"] is None and opened.settings.rule.by_time:
        raise ArgumentError("--time", "is required for windows of time", "name the column of times")
    if options["by"] is None or (is_configured("by") and opened.settings.by is not None):
        options["by"] = opened.settings.by
        if options["by"] is None and opened.groups:
            problem = f"is required: this monitor has the groups {some_names(opened.groups)}"
            raise ArgumentError("--by", problem, "name their column")
    options["watched"] = opened.settings.by
    options["ood"] = options["ood"] or tuple(each.name for each in opened.settings.ood)
    with _labels_of_reference(opened):
        rows, count, dropped = rows_of(file, **options)
        done = opened.update(**chosen, **in_order(rows, opened.settings.classes))
    if dropped is not None:
        done = replace(done, rows=count, dropped_rows=dropped.n)
        object.__setattr__(done, "dropped", dropped)
    return done


def add_label_file(
    opened: Monitor, file: str, columns: dict[str, Any], *, now: str | None, where: str | None, format: str | None
) -> Update:
    """Add the labels in a file by the options of ``monitor labels``."""
    _remembered(opened, columns)
    if columns["id_column"] is None:
        raise ArgumentError("--id", "is required, since none was given to init", "name the column of ids")
    ids, values = labels_of(file, **columns, where=where, format=format)
    with _labels_of_reference(opened):
        return opened.add_labels(ids, labels_like(values, opened.settings.classes), now=now)


def _columns(options: dict[str, Any]) -> dict[str, str]:
    """The names of columns among the options, without those of files that init does not read."""
    found = {"time": options.pop("time"), "id": options.pop("id_column")}
    found |= {name: options[name] for name in ("label", "prob", "probs", "logits", "confidence")}
    return {name: column for name, column in found.items() if column is not None}


def _remembered(opened: Monitor, options: dict[str, Any]) -> None:
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


def _reference(file: str, source: dict[str, Any]) -> Any:
    """Rows of a table, or a sketch, for which only the column of its groups can be given."""
    if file != "-" and Path(file).is_file() and Path(file).suffix == ".sketch":
        # Columns are those of the files of update.
        rows = {name: value for name, value in source.items() if name not in (*COLUMNS, "by")}
        given = next((name for name, value in rows.items() if value and not is_configured(name)), None)
        if given is not None:
            raise ArgumentError(
                f"--{given.replace('_', '-')}", f"applies to rows, and {file} is a sketch", "give it to scan"
            )
        return Sketches.from_bytes(read_limited(file, 1 << 30), file)
    try:
        return Source.take(file, source).read()
    except LabelError as error:
        if "pos_label" not in error.remedy:
            raise
        raise error.replaced(remedy="use --classes NEGATIVE,POSITIVE") from None


@contextmanager
def _labels_of_reference(opened: Monitor) -> Iterator[None]:
    """Name the classes of the reference in errors about labels; no option gives them here."""
    try:
        yield
    except LabelError as error:
        known = ", ".join(map(str, opened.settings.classes[:10]))
        remedy = f"the classes of the reference are {known}"
        raise error.replaced(remedy=remedy) from None
