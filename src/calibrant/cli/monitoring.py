"""``calibrant monitor``: monitor predictions over time in a scheduled job; exits with 3 if there is an alarm."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import ArgumentError
from . import options
from .config import is_configured
from .screen import print_json, print_lines, print_table, say

if TYPE_CHECKING:
    from ..monitoring.monitor import Monitor
    from ..monitoring.status import Alarm, MonitorStatus, Update

EXIT_ALARM = 3
SHOWN = ("window", "state", "rows", "labelled", "confidence", "drift p", "gap", "ece", "e-value")
fail_option = click.option(
    "--fail-on-alarm",
    "fail_on",
    type=click.Choice(["any", "calibration", "never"]),
    default="any",
    show_default=True,
    help="Alarms for which the command exits with 3: any, only those about calibration, or none.",
)
format_option = click.option(
    "--format",
    type=click.Choice(["csv", "tsv", "parquet", "json"]),
    help="File format, if it is not clear from the file name.",
)


def now_option(help: str) -> Callable[[Any], Any]:
    """The option ``--now``."""
    return click.option("--now", metavar="TIME", help=help)


def time_option(help: str) -> Callable[[Any], Any]:
    """The option ``--time``."""
    return click.option("--time", metavar="COLUMN", help=help)


def id_option(help: str) -> Callable[[Any], Any]:
    """The option ``--id``."""
    return click.option("--id", "id_column", metavar="COLUMN", help=help)


@click.group(cls=options.OnceGroup, short_help="Monitor drift and calibration over time.")
def monitor() -> None:
    """Monitor predictions over time: drift, calibration as labels arrive, and alarms.

    STORE is one SQLite file, or a URL postgresql://USER@HOST/DATABASE?schema=NAME for several hosts. The exit codes, for scheduled jobs, are 0 for no alarm, 3 for an alarm, and 2 for invalid input or an
    unusable store. The commands update and labels report the alarms that they raise, status those that are not acknowledged.
    """


@monitor.command(short_help="Update the models of a fleet.")
@click.option("--all", "all_models", is_flag=True, help="Update every model of the configuration.")
@click.option("--model", "names", metavar="NAME", multiple=True, help="Update this model only; can be repeated.")
@options.written_option("--json", help="Write the status of the fleet as JSON.")
@click.option(
    "--fdr",
    type=float,
    default=0.05,
    show_default=True,
    help="False discovery rate among the models that the e-BH procedure selects as miscalibrated.",
)
@click.option("--now", metavar="TIME", help="Current time; by default that of this machine.")
@click.option(
    "--fail-on-alarm",
    "fail_on",
    type=click.Choice(["any", "calibration", "selected", "never"]),
    default="any",
    show_default=True,
    help="Alarms that are not acknowledged for which the command exits with 3: any, those about calibration, those of models that "
    "the e-BH procedure selects, or none.",
)
@click.option(
    "--config",
    metavar="FILE|FOLDER",
    help="File that names the models, or folder of such files; by default the calibrant.toml that commands find here.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def run(context: click.Context, /, **options: Any) -> None:
    """Update the models named in a configuration from their sources, one after the other.

    Files whose content was added by an earlier run are not read again. A file that cannot be added is set aside and reported by every run
    until it is mended or removed, and a model that fails stops no other; the command then exits with 2 at the end. Otherwise the exit code
    is 3 if an alarm is not acknowledged, and 0 if there is none.
    """
    from . import fleet

    fleet.run(context, **options)


@monitor.command(short_help="Create a monitor with reference data.")
@click.argument("store")
@click.option("--reference", required=True, metavar="FILE", help="Labelled reference data, or a sketch of them.")
@options.label_option
@options.score_options
@options.by_option("Column with the group of each row; each group is also monitored separately.")
@options.where_option
@options.classes_option
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
    from .feeding import create_monitor

    made, dropped = create_monitor(store, options)
    kept = made.settings.columns
    named = store if isinstance(made.path, Path) else f"'{made.path}'"  # a URL without its password
    needed = {"time": made.settings.rule.by_time, "id": True}
    more = "".join(f" --{name} COLUMN" for name, wanted in needed.items() if wanted and name not in kept)
    said = [] if dropped is None else [str(dropped)]
    print_lines([repr(made), *said, f"Next: calibrant monitor update {named} FILE{more}"])


@monitor.command(short_help="Add predictions.")
@click.argument("store")
@click.argument("file")
@time_option(
    "Column with the time of each prediction, unless windows are counted in rows; by default the one given to init."
)
@id_option("Column with the id of each row; a row that is added twice counts once. By default the one given to init.")
@click.option(
    "--delivery",
    metavar="NAME",
    help="Name of this delivery, for rows without ids; a delivery that is added twice counts once.",
)
@now_option("Current time, for --max-ahead; by default that of this machine.")
@click.option(
    "--max-ahead",
    metavar="DURATION",
    default="1d",
    show_default=True,
    help="How far after the current time a prediction may be dated, such as 1h; 'any' for no limit.",
)
@options.label_option
@options.score_options
@options.by_option("Column with the group of each row; by default the one given to init.")
@options.ood_option("Column with an out-of-distribution score; may be repeated. By default those given to init.")
@options.where_option
@options.file_options
@fail_option
@options.json_option
@options.debug_option
def update(store: str, file: str, **options: Any) -> None:
    """Add the predictions in FILE to STORE; missing labels can be added later."""
    from .feeding import add_predictions

    chosen = {name: options.pop(name) for name in ("fail_on", "as_json")}
    required = options["label"] is not None and not is_configured("label")
    done = add_predictions(_open(store), file, options, label_required=required)
    _finish(done, chosen["fail_on"], chosen["as_json"])


@monitor.command(short_help="Add or correct labels.")
@click.argument("store")
@click.argument("file")
@id_option("Column with the id of each row, as given to update; by default the one given to init.")
@options.label_option
@now_option("Current time; by default that of the latest prediction.")
@options.where_option
@format_option
@fail_option
@options.json_option
@options.debug_option
def labels(store: str, file: str, fail_on: str, as_json: bool, **options: Any) -> None:
    """Add the labels in FILE to the predictions in STORE, or correct them.

    Labels whose predictions have not arrived are kept and added with them.
    """
    from .feeding import add_label_file

    columns = {name: options.pop(name) for name in ("id_column", "label")}
    _finish(add_label_file(_open(store), file, columns, **options), fail_on, as_json)


@monitor.command(short_help="Remove old rows and keep the results of their windows.")
@click.argument("store")
@click.option(
    "--keep",
    metavar="DURATION",
    help="How long to keep rows, such as 90d, or a number of windows; by default that given to init.",
)
@click.option("--dry-run", is_flag=True, help="Report what would be removed.")
@options.json_option
@options.debug_option
def prune(store: str, keep: str | None, dry_run: bool, as_json: bool) -> None:
    """Remove the rows of old windows that were tested, and shrink STORE.

    Sketches, results and alarms are kept. Rows that wait for labels within the horizon, or for ever without one, are not removed.
    """
    opened = _open(store)
    if keep is None and opened.settings.keep is None:
        raise ArgumentError("--keep", "is required, since none was given to init", "for example --keep 90d")
    done = opened.prune(keep, dry_run=dry_run)
    if as_json:
        print_json(done.to_dict())
    else:
        print_lines([repr(done)])


@monitor.command(short_help="Show the latest windows and alarms.")
@click.argument("store")
@click.option("--last", type=int, default=10, show_default=True, help="Number of windows to show.")
@click.option("--group", metavar="NAME", help="Group to show; all rows by default.")
@options.json_option
@click.option("--prometheus", is_flag=True, help="Print gauges in the text format of Prometheus.")
@click.option(
    "--name", metavar="TEXT", help="With --prometheus: the label model of every gauge; the name of STORE by default."
)
@click.option(
    "--tag",
    "tags",
    metavar="NAME=VALUE",
    multiple=True,
    callback=options.read_pairs,
    help="With --prometheus: a label of every gauge. Can be repeated.",
)
@options.written_option(
    "--out", help="With --json or --prometheus: write to this file as a whole, instead of printing."
)
@fail_option
@options.debug_option
def status(
    store: str,
    last: int,
    group: str | None,
    as_json: bool,
    prometheus: bool,
    out: str | None,
    fail_on: str,
    **options: Any,
) -> None:
    """Show the latest windows and alarms; exit with 3 if an alarm is not acknowledged."""
    from ..util.files import write_atomic

    if as_json and prometheus:
        raise ArgumentError("--prometheus", "cannot be combined with --json", "give one of them")
    opened = _open(store)
    labels = {"model": options["name"] or opened.name, **options["tags"]}
    found = _status(opened, last, group)
    text = found.to_json() if as_json else found.to_prometheus(labels) if prometheus else None
    if text is None:
        _show(found)
    elif out is None:
        say(text, nl=False)
    else:
        write_atomic(out, text.encode())
    _exit(found.open_alarms, fail_on)


@monitor.command(short_help="Write the timeline as an HTML report.")
@click.argument("store")
@options.written_option(
    "--out", suffixes=(".html", ".htm"), default="monitor.html", show_default=True, help="Where to write the report."
)
@click.option("--title", metavar="TEXT", help="Heading of the report; the name of STORE by default.")
@click.option("--last", type=int, default=90, show_default=True, help="Number of windows to show.")
@click.option("--group", metavar="NAME", help="Group to show; all rows by default.")
@options.debug_option
def report(store: str, out: str, title: str | None, last: int, group: str | None) -> None:
    """Write the timeline as an HTML report; an alarm does not change the exit code."""
    from ..reporting.timeline import write_timeline

    opened = _open(store)
    found = _status(opened, last, group)
    written = write_timeline(out, found, title=title or opened.name)
    print_lines([found.verdict, f"Wrote {written}."])


@monitor.command(short_help="Check the store of a monitor for damage.")
@click.argument("store")
@options.debug_option
def check(store: str) -> None:
    """Read the whole store of a monitor; exit with 2 if it is damaged."""
    _open(store).check()
    print_lines(["No damage found."])


@monitor.command(short_help="Copy the store of a monitor while it is in use.")
@click.argument("store")
@click.argument("copy")
@options.debug_option
def backup(store: str, copy: str) -> None:
    """Copy STORE to the new file COPY as it is at one moment; updates may go on meanwhile.

    A store on a PostgreSQL server is copied with pg_dump.
    """
    _open(store).backup(copy)
    print_lines([f"Wrote {copy}."])


@monitor.command(short_help="Acknowledge all alarms, or some.")
@click.argument("store")
@click.argument("alarms", nargs=-1, type=int)
@options.debug_option
def acknowledge(store: str, alarms: tuple[int, ...]) -> None:
    """Acknowledge all alarms, or those with the given numbers, so that update and status exit with 3 for new alarms only.

    The numbers are shown by status. Repetitions of an alarm, of the same kind, group and onset, are acknowledged with it.

    A persistent change of calibration stays acknowledged; it is a new alarm after a recovery, or in the other direction.
    """
    opened = _open(store)
    count = sum(map(opened.acknowledge, alarms)) if alarms else opened.acknowledge()
    print_lines([f"{count} alarms acknowledged" if count != 1 else "1 alarm acknowledged"])


def _open(store: str) -> Monitor:
    from ..monitoring.monitor import Monitor

    return Monitor.open(store)


def _status(opened: Monitor, last: int, group: str | None) -> MonitorStatus:
    """The status of a group; names on the command line are text, those of groups may be numbers."""
    if last < 1:
        raise ArgumentError("--last", f"must be at least 1; got {last}")
    if group is None:
        return opened.status(last=last)
    names = {str(found.group): found.group for found in opened.status(last=1).groups}
    return opened.status(last=last, group=names.get(group, group))


def _finish(done: Update, fail_on: str, as_json: bool) -> None:

    if as_json:
        print_json(done.to_dict())
    else:
        known = (f"acknowledged: {alarm!r}" for alarm in done.ongoing)
        print_lines([*repr(done).split("\n"), *(f"alarm: {alarm!r}" for alarm in done.alarms), *known])
    _exit(done.alarms, fail_on)


def _exit(alarms: Iterable[Alarm], fail_on: str) -> None:
    kinds = {alarm.kind for alarm in alarms}
    if (fail_on == "any" and kinds) or (fail_on == "calibration" and kinds & {"calibration", "change"}):
        raise click.exceptions.Exit(EXIT_ALARM)


def _show(found: MonitorStatus) -> None:
    from ..util.results import number, several

    counts = f"{several(found.n, 'row')} in {several(found.total_windows, 'window')} of {found.every}, {found.labelled:,} labelled"
    print_lines([found.verdict, counts, *(f"alarm: {line}" for line in found.open_lines)])
    rows = []
    for w in found.windows:
        c, p = w.calibration, w.scores.drift_pvalue
        ood = ["-" if score.pvalue is None else f"{score.pvalue:.3g}" for score in w.scores.ood]
        measured = ["-", "-"] if c is None else [number(c.gap), number(c.ece)]
        drift = "-" if p is None else f"{p:.3g}"
        share = f"{100 * w.share_labelled:.0f}%"
        rows.append(
            [
                w.window,
                w.state,
                f"{w.n:,}",
                share,
                number(w.scores.confidence.mean),
                drift,
                *ood,
                *measured,
                number(w.e_value),
            ]
        )
    if rows:
        print_lines([""])
        place = SHOWN.index("drift p") + 1
        headings = (*SHOWN[:place], *(f"{each.name} p" for each in found.settings.ood), *SHOWN[place:])
        print_table(headings, rows, range(2, len(headings)))
    if found.groups:
        print_lines(["", *(repr(group) for group in found.groups[:50])])
    told = [note for note in (found.waiting, *found.notes) if note]
    newest = found.last_closed
    if newest is not None:
        told += [] if newest.scores.reading is None else [f"{newest.window}: {newest.scores.reading.words}"]
        told += [f"{newest.window}: {score.words}" for score in newest.scores.ood]
        told += [f"{newest.window}: {newest.accuracy_words}"] if newest.accuracy_words else []
    print_lines(["", *told] if told else [])
