"""Entry point of ``calibrant``: commands, options, exit codes and errors."""

from __future__ import annotations

import gc
import os
import signal
import sys
from io import TextIOWrapper
from traceback import format_exc
from types import FrameType

import click

from ..errors import CalibrantError
from ..util.database import is_interrupt, is_out_of_memory
from ..util.processes import in_processes
from ..util.progress import loop
from ..util.version import __version__
from .config import where_set
from .invocation import running
from .options import LazyGroup
from .screen import forget, say, warnings_as_lines
from .wording import in_options

EXIT_BAD_INPUT, EXIT_FAULT, EXIT_INTERRUPTED = 2, 70, 130
# Signals at which a command removes what it wrote for itself before it ends, as at Ctrl-C; Windows has no SIGHUP.
ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_received: list[int] = []
NO_MEMORY = "not enough memory; summarize the rows with `calibrant scan`, select some of them with --where, or use another machine"


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit.

    The exit code is 0 on success, 1 if a gate failed, 2 for invalid input, 3 for an alarm of a monitor, 70 for an internal error, and
    128 and the number of the signal if interrupted: 130 by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP.
    """
    if arguments is None:
        for number in ENDING:
            if signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores SIGHUP
                signal.signal(number, _end)
        if isinstance(
            sys.stdout, TextIOWrapper
        ):  # of Windows: not every character is in the code page of a file or pipe
            sys.stdout.reconfigure(errors="backslashreplace")
        # Rows are divided among our own processes and threads; further ones of the linear algebra only wait for each other.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        # A command ends before what it holds in cycles matters, and looking for them costs 5 % of its time.
        gc.set_threshold(100_000)
    typed = sys.argv[1:] if arguments is None else arguments
    running.begin()
    message = ""
    try:
        # True if a gate failed, or the exit code of a command that ends with `Exit`.
        with warnings_as_lines(), loop("working"), in_processes():
            code = int(cli.main(arguments, prog_name="calibrant", standalone_mode=False) or 0)
    except click.exceptions.Exit as error:
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort, _Ended):
        code, message = EXIT_INTERRUPTED, "interrupted"
    except SystemExit:  # click exits so if the reader of the help has closed the pipe
        forget(sys.stdout)
        code = 0
    except click.ClickException as error:
        at = getattr(error, "ctx", None)
        where = f"; see `{at.command_path} --help`" if at and isinstance(error, click.MissingParameter) else ""
        text = f"{error.format_message().removesuffix('.' if where else '')}{where}"
        message = f"error: {where_set(text, getattr(getattr(error, 'param', None), 'opts', ()))}"
        code = EXIT_BAD_INPUT
    except (CalibrantError, OSError) as error:
        text = in_options(error) if isinstance(error, CalibrantError) else " ".join(str(error).split())
        text = NO_MEMORY if is_out_of_memory(error) else text
        message = format_exc() if "--debug" in typed else f"error: {where_set(text)}"
        code = EXIT_BAD_INPUT
    except Exception as error:  # Python would exit with 1, which is the code of a failed gate
        if is_interrupt(error):
            message, code = "interrupted", EXIT_INTERRUPTED
        elif is_out_of_memory(error):
            message, code = format_exc() if "--debug" in typed else f"error: {NO_MEMORY}", EXIT_BAD_INPUT
        else:
            message, code = format_exc(), EXIT_FAULT
    if arguments is None:
        for number in ENDING:  # nothing is left to end
            signal.signal(number, signal.SIG_IGN)
    if _received:  # whatever it made of the work
        code, message = 128 + _received[0], f"interrupted by {signal.Signals(_received[0]).name}"
    if message:
        say(message, err=True)
    sys.exit(code)


def _end(number: int, frame: FrameType | None) -> None:
    """End the command once; `timeout` and a closing terminal send the signal twice, and the second must not stop the removal of files."""
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)
    _received.append(number)
    raise _Ended


class _Ended(BaseException):
    """A signal has ended the command. After a KeyboardInterrupt in an import, Python would end with SIGINT whatever the exit code."""


# For each command its module and function, and what the help says of it.
MONITOR_COMMANDS = {
    "init": ("feeding:init", "Create a monitor with reference data."),
    "update": ("feeding:update", "Add predictions."),
    "labels": ("feeding:labels", "Add or correct labels."),
    "advance": ("feeding:advance", "Close and test the windows that have ended."),
    "prune": ("monitoring:prune", "Remove old rows and keep the results of their windows."),
    "status": ("monitoring:status", "Show the latest windows and alarms."),
    "report": ("monitoring:report", "Write the timeline as an HTML report."),
    "check": ("monitoring:check", "Check the store of a monitor for damage."),
    "certificate": ("monitoring:certificate", "Test whether a certificate still holds."),
    "backup": ("monitoring:backup", "Copy the store of a monitor while it is in use."),
    "acknowledge": ("monitoring:acknowledge", "Acknowledge all alarms, or some."),
}
COMMANDS = {
    "evaluate": ("evaluating:run", "Measure the calibration of predictions."),
    "clinical": ("evaluating:run_clinical", "Summarize a risk model as a validation study does."),
    "survival": ("surviving:run", "Evaluate predicted risks of a time to event."),
    "assess": ("assessing:run", "Test whether predictions are calibrated."),
    "certify": ("certifying:run", "Certify an upper bound of the calibration error."),
    "verify": ("certifying:run_verify", "Verify a certificate against the data."),
    "compare": ("assessing:run_compare", "Compare models on the same rows."),
    "fit": ("fitting:run_fit", "Fit a calibrator and write it to a file."),
    "apply": ("fitting:run_apply", "Apply a calibrator to predictions."),
    "export": ("fitting:run_export", "Write a calibrator as SQL, Python or ONNX."),
    "select": ("fitting:run_select", "Choose a confidence threshold with a guarantee."),
    "run": ("workflow:run", "Recalibrate, evaluate and report in one step."),
    "scan": ("streaming:run", "Summarize files of any size in a sketch."),
    "sql": ("warehouse:run", "Print the query that fills a sketch in a warehouse."),
    "report": ("reporting:run", "Write a report as HTML, Markdown or JSON."),
    "metrics": ("listing:run", "List the metrics, or describe one."),
    "demo": ("demonstration:run", "Evaluate the predictions of a real model."),
    "validate": ("validating:run", "Compare this installation with reference values."),
    "monitor": ("main:monitor", "Monitor drift and calibration over time."),
}


monitor = LazyGroup(
    MONITOR_COMMANDS,
    name="monitor",
    help="""Monitor predictions over time: drift, calibration as labels arrive, and alarms.

    STORE is one SQLite file, or a URL postgresql://USER@HOST/DATABASE?schema=NAME for several hosts. The exit codes, for scheduled jobs, are 0 for no alarm, 3 for an alarm, and 2 for invalid input or an
    unusable store. The commands update and labels report the alarms that they raise, status those that are not acknowledged.
    """,
)
cli = LazyGroup(
    COMMANDS,
    name="calibrant",
    help="""Probability calibration of classifiers: measure, test, compare, recalibrate, report and monitor.

    `calibrant COMMAND --help` describes a command. Try `calibrant demo`.
    """,
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(__version__, message="calibrant %(version)s", help="Show the version and exit.")(cli)
