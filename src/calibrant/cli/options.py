"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Command = Callable[..., Any]


class OnceCommand(click.Command):
    """A command that takes each option once, unless it is made to be repeated: the last of two would win without a word."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and refuse an option that was given twice; a flag may be."""
        order = self.make_parser(ctx).parse_args(list(args))[2]
        for option in dict.fromkeys(param for param in order if isinstance(param, click.Option)):
            plain_flag = option.is_flag and not option.secondary_opts
            if order.count(option) > 1 and not (option.multiple or option.count or plain_flag):
                remedy = "give its values once, with commas" if "with commas" in (option.help or "") else "give it once"
                raise click.UsageError(f"{option.opts[0]}: was given {_times(order.count(option))}; {remedy}")
        return super().parse_args(ctx, args)


class OnceGroup(click.Group):
    """Commands that take each option once."""

    command_class = OnceCommand


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def with_options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def written_option(name: str, *, folder: bool = False, **more: Any) -> Callable[[Command], Command]:
    """An option that names what is written; where that cannot be, it is said before the work."""

    def check(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
        from ..util.files import check_writable

        if value is not None and value != "-" and not context.resilient_parsing:
            check_writable(value, folder=folder)
        return value

    return click.option(name, callback=check, metavar="FOLDER" if folder else "FILE", **more)


class_score_options = with_options(
    click.option("--prob", metavar="COLUMN", help="Probability of the positive class."),
    click.option(
        "--probs",
        metavar="COLUMNS",
        help="One probability per class: a list, or a pattern such as 'p_*'. Of two, the second is of the positive class, unless "
        "their names tell it, as p_yes and p_no do.",
    ),
    click.option(
        "--logits", metavar="COLUMNS", help="Logits instead of probabilities: one column, a list or a pattern."
    ),
)
score_options = with_options(
    class_score_options,
    click.option(
        "--confidence",
        metavar="COLUMN",
        help="Confidence of the predicted class; the label then says whether it was right.",
    ),
)
label_option = click.option("--label", metavar="COLUMN", help="The true class. Found by its name if not given.")
where_option = click.option("--where", metavar="SQL", help="Which rows, as one SQL expression: \"country = 'FR'\".")
classes_option = click.option(
    "--classes",
    metavar="NAMES",
    help="Names of the classes in the order of the columns, of two the positive one last, with commas.",
)
table_option = click.option("--table", metavar="NAME", help="Table of a DuckDB database, where it has several.")
file_options = with_options(
    click.option(
        "--format",
        type=click.Choice(["csv", "tsv", "parquet", "json", "npz", "duckdb"]),
        help="Kind of the file, where its name does not say.",
    ),
    table_option,
    click.option("--normalize", is_flag=True, help="Rescale rows to sum to 1."),
    click.option("--clip", is_flag=True, help="Move entries into [0, 1]."),
)


def column_options(*more: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Which columns of a file hold what; `more` says where the scores and the groups are."""
    return with_options(
        label_option,
        *more,
        click.option("--weight", metavar="COLUMN", help="Importance of each row."),
        click.option("--counts", metavar="COLUMN", help="How many rows each row stands for."),
        where_option,
        classes_option,
        click.option("--pos-label", metavar="VALUE", help="Which of two classes is the positive one."),
        file_options,
    )


def source_options(*more: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Which file, and which of its columns hold what."""
    return with_options(click.argument("file"), column_options(*more))


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


map_option = click.option(
    "--map", "calibrator", metavar="FILE", help="A map that fit wrote: what it makes of the scores is looked at."
)
stream_option = click.option(
    "--stream/--no-stream",
    default=None,
    help="Read in bounded memory, as is done for patterns, databases and files above 512 MB.",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def debug_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--debug`` shows the traceback of an error."""
    return click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")(command)


fit_options = with_options(
    click.option(
        "--method",
        metavar="NAME",
        default="auto",
        show_default=True,
        help="A map, several with commas, or auto: those that the number of rows can bear.",
    ),
    click.option(
        "--loss",
        type=click.Choice(["nll", "brier"]),
        default="nll",
        show_default=True,
        help="What maps are compared by, on rows they have not seen.",
    ),
    click.option("--folds", type=int, default=5, show_default=True, help="Parts that the rows are cut into for that."),
)
preprocessing_option = click.option(
    "--preprocessing", metavar="TEXT", help="How the scores came to be; a map refuses scores that came otherwise."
)
seed_option = click.option("--seed", type=int, default=0, show_default=True, help="The same seed makes the same folds.")
confidence_level_option = click.option(
    "--confidence",
    "--level",
    "confidence_level",
    type=float,
    default=0.9,
    show_default=True,
    help="With what probability the promise holds.",
)

outcome_option = click.option(
    "--outcome",
    metavar="NAME",
    help="Name of the event that the positive class represents; by default that class, or the label column for 0 and 1.",
)


def _metadata(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Return the values of ``--meta`` by key."""
    found: dict[str, str] = {}
    for text in values:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise click.UsageError(f"--meta: {text!r} is not of the form key=value; for example --meta owner=Risk")
        if key.strip() in found:
            raise click.UsageError(f"--meta: the key {key.strip()!r} was given twice; give it once")
        found[key.strip()] = value.strip()
    return found


meta_option = click.option(
    "--meta",
    "metadata",
    metavar="KEY=VALUE",
    multiple=True,
    callback=_metadata,
    help="Fact to show in the report, such as model=churn-gbm or owner=Risk. Repeatable.",
)
