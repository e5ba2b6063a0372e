"""Entry point of ``calibrant``: options, exit codes and errors; the work is done by the library."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click

from .. import __version__
from ..errors import CalibrantError

__all__ = ["main"]

EXIT_GATE, EXIT_BAD_INPUT, EXIT_INTERRUPTED = 1, 2, 130


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0 fine, 1 a gate failed, 2 bad input, 130 interrupted."""
    try:
        cli.main(arguments, prog_name="calibrant", standalone_mode=False)
        code = 0
    except _GateFailed:
        code = EXIT_GATE
    except click.exceptions.Exit as error:
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        code = EXIT_INTERRUPTED
    except BrokenPipeError:
        code = _closed_pipe()
    except click.ClickException as error:
        click.echo(f"error: {error.format_message()}", err=True)
        code = EXIT_BAD_INPUT
    except CalibrantError as error:
        if "--debug" in (sys.argv[1:] if arguments is None else arguments):
            raise
        click.echo(f"error: {_one_line(str(error))}", err=True)
        code = EXIT_BAD_INPUT
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _closed_pipe()
    sys.exit(code)


class _GateFailed(Exception):
    """What ``--fail-if`` or ``--fail-if-rejected`` asks about holds."""


def _closed_pipe() -> int:
    """The reader of our output went away (``| head``): that is no error, and Python must not complain at exit either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _one_line(text: str) -> str:
    return " ".join(text.split())


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="calibrant %(version)s")
def cli() -> None:
    """Does "80 %" mean 80 %? Probability calibration of classifiers."""


Command = Callable[..., Any]


def with_options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


score_options = with_options(
    click.option("--prob", metavar="COLUMN", help="Probability of the positive class."),
    click.option("--probs", metavar="COLUMNS", help="One probability per class: a list, or a pattern such as 'p_*'."),
    click.option(
        "--logits", metavar="COLUMNS", help="Logits instead of probabilities: one column, a list or a pattern."
    ),
    click.option(
        "--confidence",
        metavar="COLUMN",
        help="Confidence of the predicted class; the label then says whether it was right.",
    ),
)


def source_options(*more: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Which file, and which of its columns hold what; `more` says where the scores and the groups are."""
    return with_options(
        click.argument("file"),
        click.option("--label", metavar="COLUMN", help="The true class. Found by its name if not given."),
        *more,
        click.option("--weight", metavar="COLUMN", help="Importance of each row."),
        click.option("--counts", metavar="COLUMN", help="How many rows each row stands for."),
        click.option("--where", metavar="SQL", help="Which rows, as one SQL expression: \"country = 'FR'\"."),
        click.option(
            "--classes", metavar="NAMES", help="Names of the classes, in the order of the columns, with commas."
        ),
        click.option("--pos-label", metavar="VALUE", help="Which label is positive."),
        click.option(
            "--format",
            type=click.Choice(["csv", "tsv", "parquet", "json", "npz"]),
            help="Kind of the file, where its name does not say.",
        ),
        click.option("--normalize", is_flag=True, help="Rescale rows to sum to 1."),
        click.option("--clip", is_flag=True, help="Move entries into [0, 1]."),
    )


def by_option(help: str) -> Callable[[Command], Command]:
    """``--by`` names the column of groups."""
    return click.option("--by", metavar="COLUMN", help=help)


metric_options = with_options(
    click.option("--lens", help="Which question: top_label, classwise, class:NAME, rank:2, ..."),
    click.option("--bins", type=int, help="Number of bins."),
    click.option("--binning", type=click.Choice(["equal_width", "equal_mass"]), help="How to cut scores into bins."),
)


def draw_options(resamples: int) -> Callable[[Command], Command]:
    """How many samples are drawn, from which seed."""
    return with_options(
        click.option(
            "--resamples", type=int, default=resamples, show_default=True, help="Samples to draw, where any are drawn."
        ),
        click.option("--seed", type=int, default=0, show_default=True, help="The same seed draws the same samples."),
    )


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def debug_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--debug`` shows the traceback of an error."""
    return click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")(command)


@cli.command()
@source_options(score_options, by_option("Measure each group as well."))
@click.option(
    "--metrics",
    metavar="NAMES",
    default="recommended",
    help="Ids or aliases with commas, 'recommended' (default) or 'all'.",
)
@metric_options
@click.option(
    "--budget", type=float, default=60.0, show_default=True, help="Seconds; slower metrics are left out by name."
)
@click.option("--interval", type=float, metavar="LEVEL", help="Add confidence intervals, for example of level 0.95.")
@click.option("--assess", is_flag=True, help="Add how often chance alone gives such a value.")
@draw_options(200)
@json_option
@click.option(
    "--fail-if",
    "gates",
    metavar="CONDITION",
    multiple=True,
    help='Exit with 1 if it holds, such as "ece > 0.05". Repeatable.',
)
@debug_option
def evaluate(file: str, **options: Any) -> None:
    """Measure the calibration of predictions in FILE (CSV, TSV, Parquet, JSON lines, NPZ, or - for standard input)."""
    from . import evaluating

    if evaluating.run(file, **options):
        raise _GateFailed


@cli.command()
@source_options(score_options, by_option("Groups of rows, for metrics that read them."))
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
@metric_options
@draw_options(999)
@json_option
@click.option("--fail-if-rejected", is_flag=True, help="Exit with 1 if the deviation is unlikely to be chance.")
@debug_option
def assess(file: str, **options: Any) -> None:
    """Ask whether the deviation in FILE could be chance: the labels being drawn from the probabilities given."""
    from . import assessing

    if assessing.run(file, **options):
        raise _GateFailed


@cli.command()
@source_options(
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
@metric_options
@draw_options(1000)
@json_option
@debug_option
def compare(file: str, **options: Any) -> None:
    """Compare models on the same rows of FILE: every difference of a metric with its interval and p-value."""
    from . import assessing

    assessing.run_compare(file, **options)


@cli.command()
@click.argument("name", required=False)
@click.option("--for", "use_case", metavar="USE_CASE", help="Only those recommended for a use case, and why.")
@json_option
@debug_option
def metrics(name: str | None, use_case: str | None, as_json: bool) -> None:
    """List the metrics, or show one: its meaning, range, defaults, cautions and paper."""
    from . import listing

    listing.run(name, use_case, as_json)


@cli.command()
@click.option(
    "--out", default="calibrant-demo.html", show_default=True, metavar="FILE", help="Where to write the page."
)
@debug_option
def demo(out: str) -> None:
    """Measure a real model's predictions and write a page to open in a browser."""
    from . import demonstration

    demonstration.run(out)
