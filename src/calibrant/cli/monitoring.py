"""``calibrant monitor``: commands on the store of a monitor, and what all its commands share; they exit with 3 if there is an alarm."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from ..errors import ArgumentError
from ..monitoring.monitor import Monitor
from ..monitoring.status import Alarm, MonitorStatus, Update
from ..util.files import write_atomic
from ..util.results import number
from . import options
from .screen import print_json, print_lines, print_table, say

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


def time_option(help: str) -> Callable[[Any], Any]:
    """The option ``--time``."""
    return click.option("--time", metavar="COLUMN", help=help)


def id_option(help: str) -> Callable[[Any], Any]:
    """The option ``--id``."""
    return click.option("--id", "id_column", metavar="COLUMN", help=help)


@options.command("prune")
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
    opened = Monitor.open(store)
    if keep is None and opened.settings.keep is None:
        raise ArgumentError("--keep", "is required, since none was given to init", "for example --keep 90d")
    pruned = opened.prune(keep, dry_run=dry_run)
    if as_json:
        print_json(pruned.to_dict())
    else:
        print_lines([repr(pruned)])


@options.command("status")
@click.argument("store")
@click.option("--last", type=int, default=10, show_default=True, help="Number of windows to show.")
@click.option("--group", metavar="NAME", help="Group to show; all rows by default.")
@options.json_option
@click.option(
    "--prometheus", is_flag=True, help="Print gauges in the text format of Prometheus, unless --json is given."
)
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
    opened = Monitor.open(store)
    labels = {"model": options["name"] or opened.name, **options["tags"]}
    state = _status(opened, last, group)
    text = state.to_json() if as_json else state.to_prometheus(labels) if prometheus else None
    if text is None:
        _show(state)
    elif out is None:
        say(text, nl=False)
    else:
        write_atomic(out, text.encode())
    exit_for_alarms(state.open_alarms, fail_on)


@options.command("report")
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
    from ..reporting.timeline import write_timeline  # the other commands draw nothing

    opened = Monitor.open(store)
    state = _status(opened, last, group)
    path = write_timeline(out, state, title=title or opened.name)
    print_lines([state.verdict, f"Wrote {path}."])


@options.command("check")
@click.argument("store")
@options.debug_option
def check(store: str) -> None:
    """Read the whole store of a monitor; exit with 2 if it is damaged."""
    Monitor.open(store).check()
    print_lines(["No damage found."])


@options.command("certificate")
@click.argument("store")
@click.argument("certificate")
@options.json_option
@options.debug_option
def certificate(store: str, certificate: str, as_json: bool) -> None:
    """Test whether the bounds of CERTIFICATE, a file of `calibrant certify`, still hold on the labelled rows of STORE.

    Exits with 3 once a bound is withdrawn, and names the window; a bound that holds is ever withdrawn with probability at most the level
    that the monitor was created with.
    """
    from ..evaluation.certificates import load_certificate  # the other commands need none of what it imports

    status = Monitor.open(store).check_certificate(load_certificate(certificate))
    if as_json:
        print_json(status.to_dict())
    else:
        print_lines(repr(status).split("\n"))
    if not status.valid:
        raise click.exceptions.Exit(EXIT_ALARM)


@options.command("backup")
@click.argument("store")
@click.argument("copy")
@options.debug_option
def backup(store: str, copy: str) -> None:
    """Copy STORE to the new file COPY as it is at one moment; updates may go on meanwhile.

    A store on a PostgreSQL server is copied with pg_dump.
    """
    Monitor.open(store).backup(copy)
    print_lines([f"Wrote {copy}."])


@options.command("acknowledge")
@click.argument("store")
@click.argument("alarms", nargs=-1, type=int)
@options.debug_option
def acknowledge(store: str, alarms: tuple[int, ...]) -> None:
    """Acknowledge all alarms, or those with the given numbers, so that update and status exit with 3 for new alarms only.

    The numbers are shown by status. Repetitions of an alarm, of the same kind, group and onset, are acknowledged with it.

    A persistent change of calibration stays acknowledged; it is a new alarm after a recovery, or in the other direction.
    """
    opened = Monitor.open(store)
    count = sum(map(opened.acknowledge, alarms)) if alarms else opened.acknowledge()
    print_lines([f"{count} alarms acknowledged" if count != 1 else "1 alarm acknowledged"])


def _status(opened: Monitor, last: int, group: str | None) -> MonitorStatus:
    """The status of a group; names on the command line are text, those of groups may be numbers."""
    if last < 1:
        raise ArgumentError("--last", f"must be at least 1; got {last}")
    if group is None:
        return opened.status(last=last)
    names = {str(each.group): each.group for each in opened.status(last=1).groups}
    return opened.status(last=last, group=names.get(group, group))


def finish(update: Update, fail_on: str, as_json: bool) -> None:
    """Print the result of an addition; exit with 3 if it raised an alarm."""
    if as_json:
        print_json(update.to_dict())
    else:
        print_lines(lines_of(update))
    exit_for_alarms(update.alarms, fail_on)


def lines_of(update: Update) -> list[str]:
    """The result of an addition as lines, with its alarms."""
    ongoing = (f"acknowledged: {alarm!r}" for alarm in update.ongoing)
    return [*repr(update).split("\n"), *(f"alarm: {alarm!r}" for alarm in update.alarms), *ongoing]


def exit_for_alarms(alarms: Iterable[Alarm], fail_on: str) -> None:
    """Exit with 3 if there is an alarm of a kind that matters."""
    raised_kinds = {alarm.kind for alarm in alarms}
    if (fail_on == "any" and raised_kinds) or (fail_on == "calibration" and raised_kinds & {"calibration", "change"}):
        raise click.exceptions.Exit(EXIT_ALARM)


def _show(status: MonitorStatus) -> None:
    print_lines([status.verdict, status.counts, *(f"alarm: {line}" for line in status.open_lines)])
    rows = []
    for w in status.windows:
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
        headings = (*SHOWN[:place], *(f"{each.name} p" for each in status.settings.ood), *SHOWN[place:])
        print_table(headings, rows, range(2, len(headings)))
    if status.groups:
        print_lines(["", *(repr(group) for group in status.groups[:50])])
    notes = [note for note in (status.waiting, *status.notes) if note]
    newest = status.last_closed
    if newest is not None:
        notes += [] if newest.scores.reading is None else [f"{newest.window}: {newest.scores.reading.words}"]
        notes += [f"{newest.window}: {score.words}" for score in newest.scores.ood]
        notes += [f"{newest.window}: {newest.accuracy_words}"] if newest.accuracy_words else []
    print_lines(["", *notes] if notes else [])
