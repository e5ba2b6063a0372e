"""Entry point of ``calibrant``: options, exit codes and errors; the work is done by the library."""

from __future__ import annotations

import sys
from traceback import format_exc
from typing import Any

import click

from ..errors import CalibrantError
from ..util.version import __version__
from . import options
from .monitoring import monitor
from .places import forget_read, in_file
from .screen import forget, in_options, say, warnings_as_lines

__all__ = ["main"]

EXIT_GATE, EXIT_BAD_INPUT, EXIT_FAULT, EXIT_INTERRUPTED = 1, 2, 70, 130


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0 fine, 1 a gate failed, 2 bad input, 3 a monitor's alarm, 70 a fault, 130 interrupted."""
    forget_read()
    try:
        # A command that ends by `Exit` gives its code here.
        with warnings_as_lines():
            found = cli.main(arguments, prog_name="calibrant", standalone_mode=False)
        code = found if isinstance(found, int) else 0
    except _GateFailed:
        code = EXIT_GATE
    except click.exceptions.Exit as error:
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        say("interrupted", err=True)
        code = EXIT_INTERRUPTED
    except SystemExit:  # click ends so where nobody reads the help it prints
        forget(sys.stdout)
        code = 0
    except click.ClickException as error:
        say(f"error: {error.format_message()}", err=True)
        code = EXIT_BAD_INPUT
    except (CalibrantError, OSError) as error:
        words = sys.argv[1:] if arguments is None else arguments
        told = f"error: {in_options(in_file(_one_line(str(error))), _options_of(words))}"
        say(format_exc() if "--debug" in words else told, err=True)
        code = EXIT_BAD_INPUT
    except Exception:  # a mistake of ours must not pass for a failed gate, which is what Python's own code 1 says
        say(format_exc(), err=True)
        code = EXIT_FAULT
    sys.exit(code)


class _GateFailed(Exception):
    """What ``--fail-if`` or ``--fail-if-rejected`` asks about holds."""


def _options_of(words: list[str]) -> set[str]:
    """The options of the command that was called."""
    command: click.Command = cli
    for word in words:
        if isinstance(command, click.Group):
            command = command.commands.get(word, command)
    return {option for parameter in command.params for option in parameter.opts}


def _one_line(text: str) -> str:
    return " ".join(text.split())


@click.group(cls=options.OnceGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="calibrant %(version)s")
def cli() -> None:
    """Does "80 %" mean 80 %? Probability calibration of classifiers."""


@cli.command()
@options.source_options(options.score_options, options.by_option("Measure each group as well."))
@click.option(
    "--metrics",
    metavar="NAMES",
    default="recommended",
    help="Ids or aliases with commas, 'recommended' (default) or 'all'.",
)
@options.metric_options
@click.option(
    "--budget", type=float, default=60.0, show_default=True, help="Seconds; slower metrics are left out by name."
)
@click.option("--interval", type=float, metavar="LEVEL", help="Add confidence intervals, for example of level 0.95.")
@click.option("--assess", is_flag=True, help="Add how often chance alone gives such a value.")
@options.outcome_option
@options.map_option
@options.stream_option
@options.draw_options(200)
@options.json_option
@click.option(
    "--fail-if",
    "gates",
    metavar="CONDITION",
    multiple=True,
    help='Exit with 1 if it holds, such as "ece > 0.05". Repeatable.',
)
@options.debug_option
def evaluate(file: str, **options: Any) -> None:
    """Measure the calibration of predictions in FILE (CSV, TSV, Parquet, JSON lines, NPZ, or - for standard input)."""
    from . import evaluating

    if evaluating.run(file, **options):
        raise _GateFailed


@cli.command()
@options.source_options(
    options.score_options, options.by_option("Groups of rows, for metrics that read them: pce, fece, mcm.")
)
@click.option("--metric", metavar="NAME", help="Id or alias; ecce_mad if not given.")
@click.option(
    "--method", metavar="NAME", help="A test of the metric, 'consistency' or 'enumeration'; chosen if not given."
)
@click.option("--metrics", metavar="NAMES", help="Several metrics instead, with commas, all on the same draws.")
@click.option(
    "--correction",
    type=click.Choice(["holm", "benjamini_hochberg", "min_p", "none"]),
    help="How p-values of several metrics are corrected for their number; holm if not given.",
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Level of the test.")
@options.metric_options
@options.draw_options(999)
@options.json_option
@click.option("--fail-if-rejected", is_flag=True, help="Exit with 1 if the deviation is unlikely to be chance.")
@options.debug_option
def assess(file: str, **options: Any) -> None:
    """Ask whether the deviation in FILE could be chance: the labels being drawn from the probabilities given."""
    from . import assessing

    if assessing.run(file, **options):
        raise _GateFailed


@cli.command()
@options.source_options(
    click.option(
        "--models",
        metavar="COLUMNS",
        required=True,
        help="A column of probabilities for each model, with commas; a pattern such as 'old_*,new_*' for several classes.",
    ),
    click.option("--logits", is_flag=True, help="The columns hold logits."),
)
@click.option("--metric", metavar="NAME", default="brier", show_default=True, help="Id or alias.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Coverage of the intervals.")
@click.option("--cluster", metavar="COLUMN", help="Draw whole groups of rows, such as all rows of one patient.")
@options.metric_options
@options.draw_options(1000)
@options.json_option
@click.option("--fail-if-worse", is_flag=True, help="Exit with 1 if a model is worse than the first, beyond chance.")
@options.debug_option
def compare(file: str, **options: Any) -> None:
    """Compare models on the same rows of FILE: every difference of a metric with its interval and p-value."""
    from . import assessing

    if assessing.run_compare(file, **options):
        raise _GateFailed


@cli.command()
@options.source_options(options.class_score_options)
@options.fit_options
@options.written_option("--out", default="map.json", show_default=True, help="Where to write the map.")
@options.preprocessing_option
@options.seed_option
@options.json_option
@options.debug_option
def fit(file: str, **options: Any) -> None:
    """Find the map that makes the probabilities in FILE better, if any does, and write it.

    FILE holds validation rows: neither those the model was trained on nor those it will be judged by.
    """
    from . import fitting

    fitting.run_fit(file, **options)


@cli.command()
@click.argument("calibrator")
@click.argument("file")
@options.written_option("--out", required=True, help="Where to write the rows: .parquet, .csv or .tsv.")
@options.label_option
@options.class_score_options
@options.where_option
@options.classes_option
@options.file_options
@options.preprocessing_option
@options.debug_option
def apply(calibrator: str, file: str, **options: Any) -> None:
    """Apply the MAP that fit wrote to the rows of FILE: each score column p gets a column p_calibrated beside it.

    Labels are not needed.
    """
    from . import fitting

    fitting.run_apply(calibrator, file, **options)


@cli.command()
@options.source_options(
    options.class_score_options,
    click.option(
        "--confidence-column",
        metavar="COLUMN",
        help="Confidence of the predicted class; the label then says whether it was right.",
    ),
)
@click.option("--accuracy", type=float, metavar="SHARE", help="Least accuracy of the answers given.")
@click.option("--coverage", type=float, metavar="SHARE", help="Instead: least share of rows answered.")
@click.option(
    "--cost",
    type=(float, float),
    metavar="ERROR REVIEW",
    help="Instead: what a wrong answer and a row that is not answered cost.",
)
@options.confidence_level_option
@click.option(
    "--method",
    type=click.Choice(["sequence", "conformal", "bonferroni", "sgr"]),
    help="How the threshold is found; sequence if not given, bonferroni for costs.",
)
@click.option("--lens", help="Which question: top_label (default), class:NAME, ...")
@options.map_option
@options.json_option
@options.debug_option
def select(file: str, **options: Any) -> None:
    """Choose above which confidence to answer, so that an accuracy, a coverage or a cost is promised for new rows.

    The rows of FILE must be new to the model and to its map. Exits with 1 where no threshold can be promised.
    """
    from . import fitting

    if fitting.run_select(file, **options):
        raise _GateFailed


@cli.command()
@click.option("--validation", required=True, metavar="FILE", help="Rows to fit the map and choose the threshold on.")
@click.option("--test", required=True, metavar="FILE", help="Other rows, to measure before and after on.")
@options.written_option("--out", folder=True, required=True, help="Where to write; made if it is not there.")
@options.column_options(options.class_score_options)
@options.fit_options
@options.preprocessing_option
@click.option("--accuracy", type=float, default=0.95, show_default=True, help="Least accuracy of the answers given.")
@options.confidence_level_option
@click.option(
    "--metrics",
    metavar="NAMES",
    default="recommended",
    help="What to measure: names with commas, 'recommended' or 'all'.",
)
@options.outcome_option
@options.meta_option
@click.option(
    "--hold-out",
    type=float,
    default=0.3,
    show_default=True,
    metavar="SHARE",
    help="Share of the validation rows kept from the map, for the threshold; 0 for no threshold.",
)
@click.option(
    "--interval", type=float, default=0.95, show_default=True, metavar="LEVEL", help="Level of the intervals."
)
@options.draw_options(200)
@options.json_option
@options.debug_option
def run(**options: Any) -> None:
    """From validation and test predictions to calibrated ones: fit, measure before and after, threshold, report.

    Writes map.json, metrics.json, calibrated.parquet and report.html.
    """
    from . import workflow

    workflow.run(**options)


@cli.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.label_option
@click.option("--prob", metavar="COLUMN", help="Probability of the positive class.")
@click.option("--probs", metavar="COLUMNS", help="One probability per class: a list, or a pattern such as 'p_*'.")
@options.by_option("Keep each group by itself as well.")
@options.where_option
@options.classes_option
@click.option("--format", type=click.Choice(["csv", "tsv", "parquet", "json", "duckdb"]), help="Kind of the files.")
@options.table_option
@options.written_option("--out", required=True, help="Where to write, ending in .sketch.")
@options.debug_option
def scan(files: tuple[str, ...], **options: Any) -> None:
    """Read FILES of any size once and keep what every score metric needs of them; or add .sketch FILES.

    Patterns such as 'preds/*.parquet' name many files. What is written is read by evaluate.
    """
    from . import streaming

    streaming.run(files, **options)


@cli.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.column_options(options.score_options, options.by_option("Look at each group by itself as well."))
@options.written_option("--out", help="Where to write: .html, .md or .json; report.html if not given, - to print.")
@click.option(
    "--as", "form", type=click.Choice(["html", "md", "json"]), help="What to write, where --out does not say."
)
@click.option(
    "--compare",
    "kind",
    type=click.Choice(["models", "periods", "before-after"]),
    help="How several files relate: models on the same rows, periods with different rows, or before and after a map.",
)
@click.option(
    "--map", "calibrator", metavar="FILE", help="With --compare before-after and one file: the map that fit wrote."
)
@click.option("--title", metavar="TEXT", help="Heading of the report.")
@options.outcome_option
@options.meta_option
@click.option(
    "--metrics", metavar="NAMES", default="recommended", help="Ids or aliases with commas, 'recommended' or 'all'."
)
@click.option("--lens", help="Which question: top_label, class:NAME, ...")
@click.option(
    "--interval", type=float, default=0.95, show_default=True, metavar="LEVEL", help="Level of the intervals."
)
@click.option(
    "--recalibration/--no-recalibration",
    default=True,
    show_default=True,
    help="Compare calibration methods on held-out data.",
)
@click.option("--accuracy", type=float, default=0.95, show_default=True, help="What the threshold promises.")
@click.option(
    "--confidence-level",
    type=float,
    default=0.9,
    show_default=True,
    help="With what probability the promise holds.",
)
@options.draw_options(200)
@options.debug_option
def report(files: tuple[str, ...], **options: Any) -> None:
    """Write a report of FILE: conclusion, diagram, metrics, subgroups, recalibration and threshold.

    With --compare, several files side by side.
    """
    from . import reporting

    reporting.run(files, **options)


@cli.command()
@click.argument("name", required=False)
@click.option("--for", "use_case", metavar="USE_CASE", help="Only those recommended for a use case, and why.")
@options.json_option
@options.debug_option
def metrics(name: str | None, use_case: str | None, as_json: bool) -> None:
    """List the metrics, or show one: its meaning, range, defaults, cautions and paper."""
    from . import listing

    listing.run(name, use_case, as_json)


@cli.command()
@options.written_option("--out", default="calibrant-demo.html", show_default=True, help="Where to write the page.")
@options.written_option("--save-data", folder=True, help="Also write the predictions there, to try other commands on.")
@options.debug_option
def demo(out: str, save_data: str | None) -> None:
    """Measure a real model's predictions and write a page to open in a browser."""
    from . import demonstration

    demonstration.run(out, save_data)


cli.add_command(monitor)
