"""``calibrant monitor``: predictions watched over time, from a scheduled job; exits with 3 where there is an alarm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options

if TYPE_CHECKING:
    from ..monitoring.monitor import Monitor
    from ..monitoring.status import Alarm, MonitorStatus, Update

__all__ = ["monitor"]

EXIT_ALARM = 3
COLUMNS = ("window", "state", "rows", "labelled", "confidence", "drift p", "gap", "ece", "e-value")
fail_option = click.option(
    "--fail-on-alarm",
    "fail_on",
    type=click.Choice(["any", "calibration", "never"]),
    default="any",
    show_default=True,
    help="Which alarms make the command exit with 3: any, those that labels raised, or none.",
)
format_option = click.option(
    "--format",
    type=click.Choice(["csv", "tsv", "parquet", "json"]),
    help="Kind of the file, where its name does not say.",
)


@click.group(cls=options.OnceGroup)
def monitor() -> None:
    """Watch predictions over time: drift, calibration as labels come, alarms.

    STORE is one SQLite file. Exit codes, for scheduled jobs: 0 quiet, 3 an alarm, 2 bad input or a store that cannot be used. update
    and labels look at alarms raised by that call, status at those that nobody acknowledged.
    """


@monitor.command()
@click.argument("store")
@click.option("--reference", required=True, metavar="FILE", help="Labelled rows from when all was well, or a sketch.")
@options.label_option
@options.score_options
@options.by_option("Groups to watch as well.")
@options.where_option
@options.classes_option
@options.file_options
@click.option("--every", metavar="DURATION", help="Length of a window: 1h, 1d, 1w, ...")
@click.option("--rows", type=int, help="Instead: windows of so many rows.")
@click.option("--lens", default="auto", show_default=True, help="Which question: binary, top_label, class:NAME.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Chance of ever a false alarm of the bets.")
@click.option(
    "--run-length", type=float, default=1000, show_default=True, help="Windows between false alarms of a change."
)
@click.option(
    "--drift-alpha",
    type=float,
    default=0.01,
    show_default=True,
    help="Probability of a false drift alarm in a window, averaged over references.",
)
@click.option(
    "--mature", type=float, default=0.95, show_default=True, help="Share of labels at which a window is judged."
)
@click.option("--horizon", metavar="DURATION", help="How long labels are waited for: 30d; for ever if not given.")
@click.option(
    "--missing",
    type=click.Choice(["ignore", "negative"]),
    default="ignore",
    show_default=True,
    help="What a label that never came means.",
)
@click.option("--resamples", type=int, default=999, show_default=True, help="Exchanges of rows for p-values of drift.")
@options.debug_option
def init(store: str, **options: Any) -> None:
    """Begin a monitor in the new file STORE."""
    from ..errors import ArgumentError
    from ..monitoring.monitor import Monitor
    from .screen import print_lines, warnings_as_lines

    if (options["every"] is None) == (options["rows"] is None):
        raise ArgumentError("--every", "and --rows are two ways to cut windows", "give either --every or --rows")
    keywords = {
        name: options.pop(name) for name in ("every", "rows", "lens", "alpha", "run_length", "drift_alpha", "mature")
    }
    horizon = options.pop("horizon")
    if keywords["rows"] is not None and horizon is not None and str(horizon).isdigit():
        horizon = int(horizon)
    keywords |= {"horizon": horizon, "missing": options.pop("missing"), "n_resamples": options.pop("resamples")}
    keywords["by"] = options["by"]
    file = options.pop("reference")
    with warnings_as_lines():
        made = Monitor.create(store, reference=_reference(file, options), **keywords)
    time = " --time COLUMN" if made.settings.rule.by_time else ""
    print_lines([repr(made), f"next: calibrant monitor update {store} FILE{time} --id COLUMN"])


def _reference(file: str, source: dict[str, Any]) -> Any:
    """Rows of a table, or the sketch that was written before, of which only the column of its groups can be told."""
    from ..errors import ArgumentError, LabelError
    from ..sketches.collection import Sketches
    from ..util.files import read_limited
    from .fitting import read

    if file != "-" and Path(file).is_file() and Path(file).suffix == ".sketch":
        given = next((name for name, value in source.items() if value and name != "by"), None)
        if given is not None:
            told = f"is for rows, and {file} holds a sketch of them"
            raise ArgumentError(f"--{given}", told, "pass it to scan")
        return Sketches.from_bytes(read_limited(file, 1 << 30), file)
    try:
        return read(file, **source)
    except LabelError as error:
        if "pos_label" not in error.remedy:
            raise
        remedy = "pass --classes NEGATIVE,POSITIVE"
        raise LabelError(error.argument, error.problem, remedy, row=error.row) from None


@monitor.command()
@click.argument("store")
@click.argument("file")
@click.option(
    "--time", metavar="COLUMN", help="When each prediction was made; needed unless windows are counted in rows."
)
@click.option("--id", "id_column", metavar="COLUMN", help="Id of each row: the same row twice counts once.")
@click.option("--delivery", metavar="NAME", help="Name of this file, for rows without ids: the same name comes once.")
@options.label_option
@options.score_options
@options.by_option("Group of each row; by default the column that init named.")
@options.where_option
@options.file_options
@fail_option
@options.json_option
@options.debug_option
def update(store: str, file: str, **options: Any) -> None:
    """Add the predictions in FILE to STORE; labels that are missing may come later."""
    from ..errors import ArgumentError
    from ..monitoring.monitor import Monitor, some_names
    from .arrivals import in_order, rows_of
    from .screen import warnings_as_lines

    chosen = {name: options.pop(name) for name in ("fail_on", "as_json", "delivery")}
    opened = Monitor.open(store)
    if options["time"] is None and opened.settings.rule.by_time:
        raise ArgumentError("--time", "is missing, and windows are spans of time", "name the column of times")
    if options["by"] is None:
        options["by"] = opened.settings.by
        if options["by"] is None and opened.groups:
            told = f"is missing, and this monitor watches groups ({some_names(opened.groups)})"
            raise ArgumentError("--by", told, "name their column")
    options["watched"] = opened.settings.by
    with warnings_as_lines(), _labels_of_reference(opened):
        done = opened.update(delivery=chosen["delivery"], **in_order(rows_of(file, **options), opened.settings.classes))
    _finish(done, chosen["fail_on"], chosen["as_json"])


@monitor.command()
@click.argument("store")
@click.argument("file")
@click.option("--id", "id_column", required=True, metavar="COLUMN", help="Id of each row, as given to update.")
@options.label_option
@click.option("--now", metavar="TIME", help="What time it is; by default that of the newest prediction.")
@options.where_option
@format_option
@fail_option
@options.json_option
@options.debug_option
def labels(
    store: str,
    file: str,
    id_column: str,
    label: str | None,
    now: str | None,
    where: str | None,
    format: str | None,
    fail_on: str,
    as_json: bool,
) -> None:
    """Add the labels in FILE to predictions that STORE has, or correct them."""
    from ..monitoring.monitor import Monitor
    from ..monitoring.windows import read_time
    from .arrivals import labels_like, labels_of

    opened = Monitor.open(store)
    if now is not None:
        read_time(now, "--now")
    ids, values = labels_of(file, id_column, label, where, format)
    with _labels_of_reference(opened):
        done = opened.add_labels(ids, labels_like(values, opened.settings.classes), when=now)
    _finish(done, fail_on, as_json)


@contextmanager
def _labels_of_reference(opened: Monitor) -> Iterator[None]:
    """The store knows the classes, so no option names them here."""
    from ..errors import LabelError

    try:
        yield
    except LabelError as error:
        known = ", ".join(map(str, opened.settings.classes[:10]))
        remedy = f"the reference has the classes {known}"
        raise LabelError(error.argument, error.problem, remedy, row=error.row) from None


@monitor.command()
@click.argument("store")
@click.option("--last", type=int, default=10, show_default=True, help="How many windows to show.")
@click.option("--group", metavar="NAME", help="Whose windows to show; all rows if not given.")
@options.json_option
@click.option("--prometheus", is_flag=True, help="Print gauges that Prometheus reads.")
@fail_option
@options.debug_option
def status(store: str, last: int, group: str | None, as_json: bool, prometheus: bool, fail_on: str) -> None:
    """Say how things stand, and exit with 3 where an alarm is not acknowledged."""
    from ..errors import ArgumentError
    from ..monitoring.monitor import Monitor
    from .screen import say

    if as_json and prometheus:
        raise ArgumentError("--prometheus", "was given beside --json", "choose one")
    found = _status(Monitor.open(store), last, group)
    if as_json:
        say(found.to_json())
    elif prometheus:
        say(found.to_prometheus(), nl=False)
    else:
        _show(found)
    _exit(found.open_alarms, fail_on)


@monitor.command()
@click.argument("store")
@options.written_option("--out", default="monitor.html", show_default=True, help="Where to write the page.")
@click.option("--title", metavar="TEXT", help="Heading of the page; the name of STORE if not given.")
@click.option("--last", type=int, default=90, show_default=True, help="How many windows to show.")
@click.option("--group", metavar="NAME", help="Whose windows to show; all rows if not given.")
@options.debug_option
def report(store: str, out: str, title: str | None, last: int, group: str | None) -> None:
    """Write the timeline as a page to open in a browser; an alarm does not change the exit code."""
    from ..monitoring.monitor import Monitor
    from ..reporting.timeline import write_timeline
    from .screen import print_lines

    found = _status(Monitor.open(store), last, group)
    written = write_timeline(out, found, title=title or Path(store).stem)
    print_lines([found.verdict, f"wrote {written}"])


@monitor.command()
@click.argument("store")
@options.debug_option
def acknowledge(store: str) -> None:
    """Mark all alarms as seen, so that update and status exit with 3 for new ones only.

    A change of calibration that goes on stays acknowledged; it is a new one after a recovery, or in another direction.
    """
    from ..monitoring.monitor import Monitor
    from .screen import print_lines

    count = Monitor.open(store).acknowledge()
    print_lines([f"{count} alarms acknowledged" if count != 1 else "1 alarm acknowledged"])


def _status(opened: Monitor, last: int, group: str | None) -> MonitorStatus:
    """Names typed here are text, and groups may be numbers."""
    from ..errors import ArgumentError

    if last < 1:
        raise ArgumentError("--last", f"must be at least 1; got {last}")
    if group is None:
        return opened.status(last=last)
    names = {str(found.group): found.group for found in opened.status(last=1).groups}
    return opened.status(last=last, group=names.get(group, group))


def _finish(done: Update, fail_on: str, as_json: bool) -> None:
    from .screen import print_json, print_lines

    if as_json:
        print_json(done.to_dict())
    else:
        known = (f"acknowledged: {alarm!r}" for alarm in done.ongoing)
        print_lines([repr(done), *(f"alarm: {alarm!r}" for alarm in done.alarms), *known])
    _exit(done.alarms, fail_on)


def _exit(alarms: Iterable[Alarm], fail_on: str) -> None:
    kinds = {alarm.kind for alarm in alarms}
    if (fail_on == "any" and kinds) or (fail_on == "calibration" and kinds & {"calibration", "change"}):
        raise click.exceptions.Exit(EXIT_ALARM)


def _show(found: MonitorStatus) -> None:
    from ..util.results import number
    from .screen import print_lines, print_table

    counts = f"{found.n:,} rows in {found.total_windows:,} windows of {found.every}, {found.labelled:,} labelled"
    print_lines([found.verdict, counts, *(f"alarm: {line}" for line in found.open_lines)])
    rows = []
    for w in found.windows:
        c, p = w.calibration, w.scores.drift_pvalue
        measured = ["-", "-"] if c is None else [number(c.gap), number(c.ece)]
        drift = "-" if p is None else f"{p:.3g}"
        share = f"{100 * w.share_labelled:.0f} %"
        rows.append(
            [
                w.window,
                w.state,
                f"{w.n:,}",
                share,
                number(w.scores.confidence.mean),
                drift,
                *measured,
                number(w.e_value),
            ]
        )
    if rows:
        print_lines([""])
        print_table(COLUMNS, rows, range(2, len(COLUMNS)))
    if found.groups:
        print_lines(["", *(repr(group) for group in found.groups[:50])])
    told = [note for note in (found.waiting, *found.notes) if note]
    newest = found.last_closed
    if newest is not None:
        told += [] if newest.scores.reading is None else [f"{newest.window}: {newest.scores.reading.words}"]
        told += [f"{newest.window}: {newest.accuracy_words}"] if newest.accuracy_words else []
    print_lines(["", *told] if told else [])
