"""Entry point of ``calibrant``: commands, options, exit codes and errors."""

from __future__ import annotations

import os
import signal
import sys
from traceback import format_exc
from types import FrameType
from typing import Any

import click

from ..errors import CalibrantError
from ..util.database import is_interrupt, is_out_of_memory
from ..util.processes import in_processes
from ..util.progress import loop
from ..util.version import __version__
from . import options
from .config import where_set
from .invocation import running
from .monitoring import monitor
from .screen import forget, say, warnings_as_lines
from .wording import in_options

EXIT_GATE, EXIT_BAD_INPUT, EXIT_FAULT, EXIT_INTERRUPTED = 1, 2, 70, 130
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
        # Rows are divided among our own processes and threads; further ones of the linear algebra only wait for each other.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    words = sys.argv[1:] if arguments is None else arguments
    running.begin(_options_of(words), words)
    message = ""
    try:
        # The exit code of a command that ends with `Exit`.
        with warnings_as_lines(), loop("working"), in_processes():
            found = cli.main(arguments, prog_name="calibrant", standalone_mode=False)
        code = found if isinstance(found, int) else 0
    except _GateFailed:
        code = EXIT_GATE
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
        message = format_exc() if "--debug" in words else f"error: {where_set(text)}"
        code = EXIT_BAD_INPUT
    except Exception as error:  # Python would exit with 1, which is the code of a failed gate
        if is_interrupt(error):
            message, code = "interrupted", EXIT_INTERRUPTED
        elif is_out_of_memory(error):
            message, code = format_exc() if "--debug" in words else f"error: {NO_MEMORY}", EXIT_BAD_INPUT
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


class _GateFailed(Exception):
    """The condition of ``--fail-if`` or ``--fail-if-rejected`` holds."""


def _options_of(words: list[str]) -> set[str]:
    """The options and arguments of the command that was called."""
    command: click.Command = cli
    for word in words:
        if isinstance(command, click.Group):
            command = command.commands.get(word, command)
    return {option for parameter in command.params for option in parameter.opts}


@click.group(cls=options.OnceGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="calibrant %(version)s", help="Show the version and exit.")
def cli() -> None:
    """Probability calibration of classifiers: measure, test, compare, recalibrate, report and monitor.

    `calibrant COMMAND --help` describes a command. Try `calibrant demo`.
    """


NAMES = "Comma-separated ids or aliases of metrics, 'recommended' (default) or 'all'."
SUMMARY = "Comma-separated ids or aliases of metrics, 'summary' (default), 'recommended' or 'all'."


@cli.command(short_help="Measure the calibration of predictions.")
@options.source_options(
    options.score_options,
    options.groups_option("Groups that are also measured separately."),
)
@click.option(
    "--pool",
    is_flag=True,
    help="Add calibration intercept, slope, O/E and C of each group of --by, such as centres, pooled by random effects with a prediction interval.",
)
@click.option("--metrics", metavar="NAMES", default="summary", help=SUMMARY)
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
@options.outcome_option
@options.calibrator_option
@options.stream_option
@options.draw_options(200)
@options.json_option
@options.gate_options(
    'Exit with 1 if a condition such as "ece > 0.05", "ece.high > 0.05", "auroc < 0.8" or "ece > 1.1 * baseline" holds for all rows or a '
    "group of --by. Can be repeated.",
)
@options.debug_option
def evaluate(file: str, **options: Any) -> None:
    """Measure the calibration of the predictions in FILE.

    FILE is a CSV, TSV, Parquet, JSON lines, Excel, Feather, NPZ or NPY file, a DuckDB database, a .sketch file, or - for standard input.
    """
    from . import evaluating

    if evaluating.run(file, **options):
        raise _GateFailed


@cli.command(short_help="Summarize a risk model as a validation study does.")
@options.source_options(options.score_options)
@click.option("--lens", help="The event: the positive class of two by default, or class:NAME.")
@options.level_option
@options.draw_options(200)
@options.json_option
@options.gate_options(
    'Exit with 1 if a condition such as "slope < 0.8" or "c_statistic.low < 0.7" holds. Can be repeated.'
)
@options.debug_option
def clinical(file: str, **options: Any) -> None:
    """Print the table of a validation study of the predictions in FILE: discrimination, overall performance and calibration.

    For centres, see evaluate --by --pool; for a report with subgroups, report --for clinical.
    """
    from . import evaluating

    if evaluating.run_clinical(file, **options):
        raise _GateFailed


@cli.command(short_help="Evaluate predicted risks of a time to event.")
@click.argument("file")
@options.survival_options
@options.level_option
@options.draw_options(200)
@options.json_option
@options.gate_options(
    'Exit with 1 if a condition such as "calibration_slope < 0.8" holds for all rows or a group. Can be repeated.'
)
@options.debug_option
def survival(file: str, **options: Any) -> None:
    """Evaluate the predicted risks in FILE by a horizon: calibration, discrimination and overall performance under censoring."""
    from . import surviving

    if surviving.run(file, **options):
        raise _GateFailed


@cli.command(short_help="Test whether predictions are calibrated.")
@options.source_options(
    options.score_options,
    options.groups_option("Groups, for metrics that use groups: pce, fece, mcm, of all combinations."),
)
@click.option("--metric", metavar="NAME", help="Id or alias of the test statistic; ecce_mad by default.")
@click.option(
    "--method",
    metavar="NAME",
    help="'consistency' simulates labels, 'enumeration' evaluates all outcomes, other names are tests of the metric; by default a test that "
    "is valid for these data.",
)
@click.option("--metrics", metavar="NAMES", help="Comma-separated metrics, all tested on the same simulated labels.")
@click.option(
    "--correction",
    type=click.Choice(["holm", "benjamini_hochberg", "min_p", "none"]),
    help="Correction of p-values for several metrics; holm by default.",
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Significance level of the test.")
@options.metric_options
@options.draw_options(999)
@options.json_option
@click.option("--fail-if-rejected", is_flag=True, help="Exit with 1 if calibration is rejected.")
@options.debug_option
def assess(file: str, **options: Any) -> None:
    """Test whether the predictions in FILE are calibrated.

    The null hypothesis is that the labels follow the predicted probabilities.
    """
    from . import assessing

    if assessing.run(file, **options):
        raise _GateFailed


@cli.command(short_help="Compare models on the same rows.")
@options.source_options(
    click.option(
        "--models",
        metavar="COLUMNS",
        required=True,
        help="Comma-separated columns of probabilities, one for each model; for several classes patterns such as 'old_*,new_*'.",
    ),
    click.option("--logits", is_flag=True, help="The columns contain logits."),
)
@click.option("--metric", metavar="NAME", default="brier", show_default=True, help="Id or alias of the metric.")
@options.level_option
@click.option(
    "--cluster",
    metavar="COLUMN",
    help="Column with the cluster of each row, such as a patient; clusters are resampled as a whole.",
)
@options.metric_options
@options.draw_options(1000)
@options.json_option
@click.option("--fail-if-worse", is_flag=True, help="Exit with 1 if a model is significantly worse than the first.")
@options.gate_options(
    'Exit with 1 if a condition on the metric of a model, such as "brier > 0.2" or "brier > 1.05 * baseline" with the first model '
    'as the baseline, or on its difference from the first, such as "difference.low > 0", holds. Can be repeated.',
    baseline=False,
)
@options.debug_option
def compare(file: str, **options: Any) -> None:
    """Compare models on the same rows of FILE.

    Prints every pairwise difference of a metric with its confidence interval and p-value.
    """
    from . import assessing

    if assessing.run_compare(file, **options):
        raise _GateFailed


@cli.command(short_help="Fit a calibrator and write it to a file.")
@options.source_options(options.class_score_options)
@options.fit_options
@click.option(
    "--lens",
    help="Event to calibrate in place of all classes: class:NAME, top_label, within_top:K or band:LOW,HIGH.",
)
@options.class_groups_option
@options.written_option(
    "--out", kind="a calibrator", default="calibrator.json", show_default=True, help="Where to write the calibrator."
)
@options.preprocessing_option
@options.seed_option
@options.json_option
@options.debug_option
def fit(file: str, **options: Any) -> None:
    """Fit the calibrator with the lowest cross-validated loss on FILE and write it.

    FILE contains validation data: neither the training data of the model nor the data on which it will be evaluated.
    """
    from . import fitting

    fitting.run_fit(file, **options)


@cli.command(short_help="Apply a calibrator to predictions.")
@click.argument("calibrator")
@click.argument("file")
@options.written_option("--out", kind="a table", required=True, help="Where to write the rows: .parquet, .csv or .tsv.")
@options.label_option
@options.class_score_options
@options.where_option
@options.classes_option
@options.file_options
@options.preprocessing_option
@options.debug_option
def apply(calibrator: str, file: str, **options: Any) -> None:
    """Apply the CALIBRATOR written by fit to the rows of FILE.

    Each column of scores p gets a column p_calibrated next to it. Labels are not required.
    """
    from . import fitting

    fitting.run_apply(calibrator, file, **options)


@cli.command(short_help="Choose a confidence threshold with a guarantee.")
@options.source_options(options.score_options)
@click.option("--accuracy", type=float, metavar="SHARE", help="Minimum accuracy of the accepted predictions.")
@click.option(
    "--coverage", type=float, metavar="SHARE", help="Minimum share of accepted predictions, in place of --accuracy."
)
@options.guarantee_option
@click.option(
    "--method",
    type=click.Choice(["sequence", "conformal", "bonferroni", "sgr"]),
    help="How the threshold is chosen; sequence by default.",
)
@click.option("--lens", help="What is accepted: top_label (default), class:NAME, ...")
@options.calibrator_option
@options.json_option
@options.debug_option
def select(file: str, **options: Any) -> None:
    """Choose a confidence threshold for accepting predictions, with a guaranteed accuracy or coverage.

    Neither the model nor its calibrator may have been fitted on FILE. Exits with 1 if no threshold satisfies the guarantee.
    """
    from . import fitting

    if fitting.run_select(file, **options):
        raise _GateFailed


@cli.command(short_help="Recalibrate, evaluate and report in one step.")
@click.option(
    "--validation", required=True, metavar="FILE", help="Validation data, for the calibrator and the threshold."
)
@click.option("--test", required=True, metavar="FILE", help="Test data, evaluated before and after recalibration.")
@options.written_option("--out", folder=True, required=True, help="Output folder; created if it does not exist.")
@options.column_options(options.class_score_options)
@options.fit_options
@options.preprocessing_option
@click.option(
    "--accuracy", type=float, default=0.95, show_default=True, help="Minimum accuracy of the accepted predictions."
)
@options.guarantee_option
@click.option("--metrics", metavar="NAMES", default="recommended", help=NAMES)
@options.outcome_option
@options.meta_option
@click.option(
    "--hold-out",
    type=float,
    default=0.3,
    show_default=True,
    metavar="SHARE",
    help="Share of the validation data held out from fitting, for the threshold; 0 for no threshold.",
)
@options.level_option
@options.draw_options(200)
@options.json_option
@options.gate_options(
    'Exit with 1, after the files were written, if a condition such as "ece > 0.05" holds for the test data after recalibration. Can be '
    "repeated.",
)
@options.debug_option
def run(**options: Any) -> None:
    """Fit a calibrator on validation data, evaluate it on test data, choose a threshold and write a report.

    Writes calibrator.json, metrics.json, calibrated.parquet and report.html.
    """
    from . import workflow

    if workflow.run(**options):
        raise _GateFailed


@cli.command(short_help="Summarize files of any size in a sketch.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.label_option
@options.prob_option
@click.option(
    "--probs",
    metavar="COLUMNS",
    help="Columns with one probability per class: a comma-separated list or a pattern such as 'p_*'.",
)
@options.by_option(
    "Column with the group of each row, or an SQL expression; each group is also summarized separately. 'a x b' are combinations."
)
@options.where_option
@options.classes_option
@click.option("--format", type=click.Choice(["csv", "tsv", "parquet", "json", "duckdb"]), help="Format of the files.")
@options.table_option
@options.drop_missing_option
@click.option("--cells", is_flag=True, help="FILE holds the result of a query that `calibrant sql` printed.")
@options.written_option(
    "--out", kind="a sketch", required=True, help="Where to write the sketch; the name ends in .sketch."
)
@options.debug_option
def scan(files: tuple[str, ...], **options: Any) -> None:
    """Read FILES of any size once and write a sketch from which metrics can be computed, or merge .sketch FILES.

    Patterns such as 'preds/*.parquet' name many files. The sketch is read by evaluate, assess and report.
    """
    from . import streaming

    streaming.run(files, **options)


@cli.command(short_help="Print the query that fills a sketch in a warehouse.")
@click.argument("table", metavar="TABLE")
@click.option(
    "--dialect",
    required=True,
    type=click.Choice(["duckdb", "postgres", "spark"]),
    help="Dialect of the engine.",
)
@click.option("--label", required=True, metavar="COLUMN", help="Column with the true class.")
@options.prob_option
@click.option(
    "--probs",
    metavar="COLUMNS",
    help="Comma-separated columns with one probability per class, for three classes or more; the sketch is of the top label.",
)
@options.confidence_option
@options.by_option("Column with the group of each row; each group is also summarized separately.")
@click.option("--where", metavar="SQL", help="Use only the rows that satisfy a condition in the dialect of the engine.")
@options.classes_option
@options.debug_option
def sql(table: str, **options: Any) -> None:
    """Print the SQL query that summarizes the predictions in TABLE, a table of a database or warehouse.

    The query returns a few integers for each cell, outcome and group. `calibrant scan RESULT --cells --out NAME.sketch` reads its
    result, exported as CSV, Parquet or JSON; in Python Sketches.from_cells does. The sketch is the same, bit for bit, as that of the rows.
    """
    from . import warehouse

    warehouse.run(table, **options)


@cli.command(short_help="Write a report as HTML, Markdown or JSON.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.column_options(
    options.score_options,
    options.groups_option("Groups that are also tested and reported."),
)
@options.written_option(
    "--out", printed=True, help="Where to write: .html, .md or .json, or - to print; report.html by default."
)
@click.option(
    "--as", "form", type=click.Choice(["html", "md", "json"]), help="Format of the report, if --out does not imply it."
)
@click.option(
    "--compare",
    "kind",
    type=click.Choice(["models", "periods", "before-after"]),
    help="How several files are related: models on the same rows, periods with different rows, or before and after recalibration.",
)
@click.option(
    "--id",
    "id_column",
    metavar="COLUMN",
    help="With --compare models or before-after: column that has the same id for the same row in every file; by default a column such "
    "as id or row_id that all files have, else rows are paired by their order.",
)
@click.option(
    "--calibrator", metavar="FILE", help="With --compare before-after and one file: the calibrator written by fit."
)
@click.option(
    "--for",
    "purpose",
    type=click.Choice(["clinical"]),
    help="clinical: the report opens with the table, calibration curve and decision curve of a validation study, and closes with the "
    "items of TRIPOD+AI.",
)
@options.written_option(
    "--tripod", suffixes=(".md",), help="As --for clinical, and also write the items of TRIPOD+AI to this .md file."
)
@click.option("--title", metavar="TEXT", help="Heading of the report.")
@options.outcome_option
@options.meta_option
@click.option("--metrics", metavar="NAMES", default="recommended", help=NAMES)
@click.option("--lens", help="What is evaluated: top_label, class:NAME, ...")
@options.level_option
@click.option(
    "--recalibration/--no-recalibration",
    default=True,
    show_default=True,
    help="Compare calibration methods on held-out data.",
)
@click.option("--accuracy", type=float, default=0.95, show_default=True, help="Accuracy that the threshold guarantees.")
@options.guarantee_option
@options.draw_options(200)
@options.gate_options(
    'Exit with 1, after the report was written, if a condition such as "ece.high > 0.05" holds for all rows or a group of --by. Can be '
    "repeated.",
)
@options.debug_option
def report(files: tuple[str, ...], **options: Any) -> None:
    """Write a report on the predictions in FILE: calibration, metrics, subgroups, recalibration and threshold.

    With --compare, the report compares several files.
    """
    from . import reporting

    if reporting.run(files, **options):
        raise _GateFailed


@cli.command(short_help="List the metrics, or describe one.")
@click.argument("name", required=False)
@click.option(
    "--for",
    "use_case",
    metavar="USE_CASE",
    help="Only the metrics recommended for a use case, the best first, and why: classwise, multiclass, direction, local, analysis, "
    "parameter-free, safety, comparison, familiar or clinical.",
)
@options.json_option
@options.debug_option
def metrics(name: str | None, use_case: str | None, as_json: bool) -> None:
    """List the metrics, or describe the metric NAME: definition, range, defaults, cautions and reference.

    NAME is an id, or a name of the literature such as "Kuiper statistic".
    """
    from . import listing

    listing.run(name, use_case, as_json)


@cli.command(short_help="Evaluate the predictions of a real model.")
@options.written_option("--out", default="calibrant-demo.html", show_default=True, help="Where to write the report.")
@options.written_option(
    "--save-data", folder=True, help="Folder to write the predictions to, for use with other commands."
)
@options.debug_option
def demo(out: str, save_data: str | None) -> None:
    """Evaluate, test and recalibrate the predictions of a real model, and write a report."""
    from . import demonstration

    demonstration.run(out, save_data)


@cli.command(short_help="Compare this installation with reference values.")
@options.written_option(
    "--out", suffixes=(".html", ".md", ".json"), help="Where to write the dossier: .html, .md or .json."
)
@click.option(
    "--deep",
    is_flag=True,
    help="Evaluate all rows, and start Spark if it is installed; otherwise one of the two stored values of each test and interval.",
)
@click.option(
    "--only",
    metavar="ROWS",
    help="Evaluate only the row with this id, or the rows whose id begins with this text or matches this pattern, such as definitions/ece/.",
)
@options.json_option
@options.debug_option
def validate(out: str | None, deep: bool, only: str | None, as_json: bool) -> None:
    """Check that this installation computes what it should, without a network, and write the validation dossier.

    Every metric, test, interval, calibrator and decision is compared with stored values: definitions, packages of R and of Python, and an
    earlier version; files that were installed from a wheel are compared with it. The dossier traces each requirement to its definition,
    rows, sources and result, and states versions and checksums, size, power and coverage, and the known limits. The same installation
    gives the same bytes. Exits with 1 if a row fails.
    """
    from ..validation.dossier import validate
    from .screen import print_json, print_lines, say

    found = validate(deep=deep, only=only)
    if out is not None:
        found.save(out)
    if as_json:
        print_json(found.to_dict())
    else:
        print_lines(repr(found).split("\n"))
    if out is not None:
        say(f"Wrote {out}", err=as_json)
    if not found.passed:
        raise _GateFailed


cli.add_command(monitor)
