"""``calibrant monitor run``: update the models of a fleet, each from its sources, and report on all of them."""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from json import dumps
from traceback import format_exc
from typing import Any, NamedTuple

import click

from ..errors import ArgumentError, CalibrantError, FileError
from ..monitoring.fleet import SOURCES, FleetModel, FleetStatus, fleet_status, load_fleet, model_error
from ..monitoring.ingest import PARTS, balance_text
from ..monitoring.monitor import Monitor
from ..monitoring.status import Update
from ..monitoring.store import Store
from ..monitoring.windows import read_time
from ..util.checks import check_fraction, suggest
from ..util.files import write_atomic
from ..util.progress import track
from ..util.results import number, several
from . import options
from .config import configurable_options, model_values
from .feeding import add_label_file, add_predictions, create_monitor
from .invocation import running
from .screen import clean, print_lines, print_table, say
from .wording import in_options

EXIT_ALARM, EXIT_FAILED, EXIT_FAULT = 3, 2, 70
# Entries of a model that are not options of `monitor init`, `update` or `labels`.
OWN = ("predictions", "labels")
# Options of the commands that have no meaning in a model, or are given by it.
EXCLUDED = ("fail-on-alarm", "json", "delivery")
SHOWN = 20


@options.command("run")
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
    help="File that names the models, or folder with a calibrant.toml; by default the calibrant.toml that commands find here.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def run(
    context: click.Context,
    /,
    all_models: bool,
    names: tuple[str, ...],
    json: str | None,
    fail_on: str,
    **options: Any,
) -> None:
    """Update the models named in a configuration from their sources, one after the other.

    Files whose content was added by an earlier run are not read again. A file that cannot be added is set aside and reported by every run
    until it is mended or removed, and a model that fails stops no other; the command then exits with 2 at the end. Otherwise the exit code
    is 3 if an alarm is not acknowledged, and 0 if there is none.
    """
    now, debug = options["now"], options["debug"]
    fdr = check_fraction(options["fdr"], "--fdr", 0.05)
    if now is not None:
        read_time(now, "--now")
    models = _choose_models(load_fleet(options["config"]), all_models, names)
    errors: dict[str, str] = {}
    faults: list[str] = []
    intake: dict[str, list[dict[str, Any]]] = {model.name: [] for model in models}
    for model in track(models, "models"):
        try:
            _update(context, model, now, intake[model.name], partial(_describe, model, faults, debug))
        except click.exceptions.Exit:
            raise
        except Exception as problem:  # the other models go on
            errors[model.name] = _describe(model, faults, debug, problem)
        finally:
            running.files = None
    stores = {model.name: model.store for model in models}
    status = fleet_status(stores, alpha=fdr, errors=errors, intake=intake)
    if json is not None:
        write_atomic(json, status.to_json().encode())
    _show(status)
    for name in status.failed:
        error = next(each.error for each in status.models if each.model == name)
        say(clean(f"error: {name}: {error}"), err=True)
    if faults:
        raise click.exceptions.Exit(EXIT_FAULT)
    if status.failed:
        raise click.exceptions.Exit(EXIT_FAILED)
    if _is_alarming(status, fail_on):
        raise click.exceptions.Exit(EXIT_ALARM)


def _choose_models(models: tuple[FleetModel, ...], all_models: bool, names: tuple[str, ...]) -> list[FleetModel]:
    if all_models == bool(names):
        problem = "cannot be combined with --model" if names else "which models are to be updated is not given"
        raise ArgumentError("--all", problem, "give --all, or --model NAME")
    if not models:
        raise ArgumentError("--config", "names no models", "add a table [models.NAME] with the store of each model")
    known = {model.name: model for model in models}
    for name in names:
        if name not in known:
            remedy = suggest(name, known, f"the models are {', '.join(list(known)[:20])}")
            raise ArgumentError("--model", f"unknown model {name!r}", remedy)
    return list(models) if all_models else [known[name] for name in dict.fromkeys(names)]


def _describe(model: FleetModel, faults: list[str], debug: bool, error: Exception) -> str:
    """An error of a model as one line; one that is not expected is printed and noted as a fault."""
    expected = isinstance(error, CalibrantError | OSError | click.ClickException)
    if debug or not expected:
        say(format_exc(), err=True)
    if not expected:
        faults.append(model.name)
        return f"internal error ({type(error).__name__})"
    if isinstance(error, CalibrantError):
        return in_options(error)
    return error.format_message() if isinstance(error, click.ClickException) else " ".join(str(error).split())


class _File(NamedTuple):
    """A file of a model that is to be added."""

    kind: str
    key: str
    """What it is known by in later runs: its path from the folder of the configuration."""
    path: str
    options: dict[str, str]
    """How it is read: a condition, a format, a table of a database."""

    def mark(self) -> list[Any]:
        """What shows that the file has changed, or that it is to be read in another way."""
        content = hashlib.sha256()
        journal = f"{self.path}.wal"  # of a database
        for path in (self.path, *([journal] if os.path.exists(journal) else [])):
            with open(path, "rb") as file:
                while chunk := file.read(1 << 20):
                    content.update(chunk)
        return [content.hexdigest(), *self.options.values()]


def _update(
    context: click.Context,
    model: FleetModel,
    now: str | None,
    intake: list[dict[str, Any]],
    describe: Callable[[Exception], str],
) -> None:
    """Bring one model up to date; what was read of an earlier version of a file is known to the store.

    A file that cannot be added keeps no other from being added; the error at the end names all such files.
    """
    settings = _settings(context, model)
    files = [file for kind in SOURCES for file in _files(model, kind)]
    opened = _open(context, model, settings)
    with opened._store.read() as db:
        before: dict[str, Any] = db.meta("sources") or {}
    seen: dict[str, list[Any]] = {}
    aside: list[str] = []
    try:
        for file in files:
            name, content = f"{file.kind} {file.key}", ""
            try:
                mark = file.mark()
                content = f" (sha256 {mark[0][:12]})"
                if before.get(name) != mark:
                    intake.append({"file": file.key, **_add(context, opened, file, settings, now).balance})
                seen[name] = mark
            except Exception as error:
                if isinstance(error, CalibrantError) and error.argument == str(opened.path):
                    raise  # the store is at fault
                text = str(error.strerror or error).lower() if isinstance(error, OSError) else describe(error)
                aside.append(f"{file.key}{content}: {text.removeprefix(f'{file.path}: ')}")
    finally:
        if seen != before:
            with opened._store.write() as db:
                db.set_meta("sources", seen)
    if aside:
        more = f"; and {len(aside) - SHOWN:,} more" if len(aside) > SHOWN else ""
        raise FileError(f"{several(len(aside), 'file')} set aside", "; ".join(aside[:SHOWN]) + more)


def _settings(context: click.Context, model: FleetModel) -> dict[str, dict[str, Any]]:
    """Values of the options of each command, by parameter, as configured for a model."""
    commands = {name: _command(context, name) for name in ("init", "update", "labels")}
    known = {key for command in commands.values() for key in configurable_options(command)} - set(EXCLUDED)
    for key in model.options:
        if key not in known and key not in OWN:
            remedy = "see `calibrant monitor init --help` and `update --help`"
            remedy = suggest(key, [*known, *OWN, "store"], remedy)
            raise model_error(model, "unknown entry of a model", remedy, key)
    options = {key: value for key, value in model.options.items() if key not in OWN}
    return {
        name: model_values(model.configuration, context, command, ["monitor", name], f"models.{model.name}", options)
        for name, command in commands.items()
    }


def _parameters(context: click.Context, name: str, arguments: list[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a command of one monitor, as if they were given on its command line."""
    typed = ["--no-config", "--", *arguments]
    made = _command(context, name).make_context(name, typed, parent=context.parent, default_map=dict(values))
    return dict(made.params)


def _command(context: click.Context, name: str) -> click.Command:
    """A command beside this one."""
    parent = context.parent
    assert parent is not None
    assert isinstance(parent.command, click.Group)
    found = parent.command.get_command(parent, name)
    assert found is not None
    return found


def _open(context: click.Context, model: FleetModel, settings: Mapping[str, Mapping[str, Any]]) -> Monitor:
    """The monitor of a model, created from its reference data by the first run."""
    missing: FileError | None = None
    if model.exists:
        try:
            return Monitor.open(model.store)
        except FileError as error:
            unfinished = "://" in model.store
            with suppress(FileError, OSError):  # the error about opening it is the one to be shown
                unfinished = unfinished or Store(model.store).is_unfinished()
            if "reference" not in settings["init"] or not unfinished:
                raise
            missing = error
    if "reference" not in settings["init"]:
        remedy = "name reference data (reference = FILE), or create it with `calibrant monitor init`"
        raise model_error(model, "its store does not exist", remedy, "store")
    parameters = _parameters(context, "init", [model.store], settings["init"])
    del parameters["store"]
    try:
        return create_monitor(model.store, parameters)[0]
    except FileError as error:
        if "already exists" in str(error.problem):  # another run was faster
            return Monitor.open(model.store)
        raise missing if missing is not None and error.argument == missing.argument else error from None


def _files(model: FleetModel, kind: str) -> list[_File]:
    """The files of a model, as they exist now, each once for each way to read it."""
    listed = model.options.get(kind, "")
    ways: dict[str, dict[str, _File]] = {}
    for entry in listed if isinstance(listed, list) else [listed] if listed else []:
        options = {"file": entry} if isinstance(entry, str) else entry
        keys = {"file", "where", "format"} | ({"table"} if kind == "predictions" else set())
        texts = isinstance(options, dict) and all(isinstance(value, str) and value for value in options.values())
        if not texts or "file" not in options or not set(options) <= keys:
            raise model_error(model, "expected a file, a pattern, or a table with file", "", kind)
        way = {key: value for key, value in options.items() if key != "file"}
        for path in _paths(model, options["file"]):
            key = os.path.relpath(path, model.folder)
            known = ways.setdefault(key, {})
            known.setdefault(dumps(way), _File(kind, f"{key} {dumps(way)}" if known else key, path, way))
    return [file for known in ways.values() for file in known.values()]


def _paths(model: FleetModel, name: str) -> list[str]:
    """The files that a name or a pattern stands for, each once, whatever links name it."""
    # Signs of a pattern that are part of a name stand in brackets.
    plain = re.sub(r"\[([*?[])\]", r"\1", name)
    if not re.search(r"[*?[]", re.sub(r"\[[*?[]\]", "", name)) or (model.folder / plain).exists():
        return [str(model.folder / plain)]
    once: dict[str, str] = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(str(model.folder)), name), recursive=True)):
        once.setdefault(os.path.realpath(path), path)
    return list(once.values())


def _add(
    context: click.Context, opened: Monitor, added: _File, settings: Mapping[str, Mapping[str, Any]], now: str | None
) -> Update:
    """Add the predictions or labels of a file."""
    store = str(opened.path)
    command = "update" if added.kind == "predictions" else "labels"
    values = {option: value for option, value in settings[command].items() if option != "now"}
    if added.kind == "labels":  # a condition on predictions is not one on labels
        values = {option: value for option, value in values.items() if option not in ("where", "format")}
    parameters = _parameters(context, command, [store, added.path], {**values, **added.options})
    if added.kind == "labels":
        columns = {option: parameters[option] for option in ("id_column", "label")}
        where, format = parameters["where"], parameters["format"]
        return add_label_file(opened, added.path, columns, now=None, where=where, format=format)
    own = ("store", "file", "fail_on", "as_json")
    options = {option: value for option, value in parameters.items() if option not in own}
    has_ids = options["id_column"] is not None or "id" in opened.settings.columns
    options |= {"now": now, "delivery": None if has_ids else added.key}
    return add_predictions(opened, added.path, options, label_required=False)


def _is_alarming(status: FleetStatus, fail_on: str) -> bool:
    if fail_on == "never":
        return False
    for each in status.models:
        kinds = {alarm.kind for alarm in each.alarms}
        if fail_on == "any" and kinds:
            return True
        if kinds & {"calibration", "change"} and (
            fail_on == "calibration" or (fail_on == "selected" and each.selected)
        ):
            return True
    return False


def _show(status: FleetStatus) -> None:
    print_lines([status.verdict, ""])
    noted = [each for each in status.models if each.state != "quiet" or each.selected]
    shown = (noted or list(status.models))[:SHOWN]
    rows = [
        [
            each.model,
            each.state + ("*" if each.selected else ""),
            each.last_window or "-",
            f"{each.n:,}",
            number(each.e_value),
            str(len(each.alarms)),
            each.words,
        ]
        for each in shown
    ]
    print_table(["model", "state", "last window", "rows", "e-value", "alarms", "verdict"], rows, range(3, 6))
    more = len(status.models) - len(shown)
    print_lines([f"and {more:,} more models"] if more > 1 else ["and 1 more model"] if more else [])
    for each in status.models:
        for what in PARTS:
            files = [counts for counts in each.intake if what in counts]
            totals = {name: sum(counts[name] for counts in files) for name in (what, *PARTS[what])}
            print_lines([f"{each.model}: {several(len(files), 'file')}, {balance_text(totals)}"] if files else [])
    print_lines(["* selected by e-BH"] if status.selected else [])
