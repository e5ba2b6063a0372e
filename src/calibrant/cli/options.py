"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from .. import plugins
from ..errors import ArgumentError
from .config import apply_configuration, configurable_options
from .invocation import running

Command = Callable[..., Any]


class OnceCommand(click.Command):
    """A command that accepts each option once, unless the option is declared as repeatable; click would silently use the last one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; raise if an option other than a flag is repeated."""
        typed, _, order = self.make_parser(ctx).parse_args(list(args))
        for option in dict.fromkeys(param for param in order if isinstance(param, click.Option)):
            plain_flag = option.is_flag and not option.secondary_opts
            if order.count(option) > 1 and not (option.multiple or option.count or plain_flag):
                is_list = "comma-separated" in (option.help or "").lower()
                remedy = "give its values as one comma-separated list" if is_list else "give it once"
                raise click.UsageError(f"{option.opts[0]}: given {order.count(option)} times; {remedy}")
        if not ctx.resilient_parsing and any(param.name == "config" for param in self.params):
            apply_configuration(ctx, typed)
        remaining = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            _check_outputs(self.params, ctx.params)
        return remaining

    def make_parser(self, ctx: click.Context) -> Any:
        """A parser that also knows ``--no-NAME`` for each option without a value, which the configuration may have set."""
        parser = super().make_parser(ctx)
        names = {name for param in self.params for name in (*param.opts, *param.secondary_opts)}
        for name, option in configurable_options(self).items():
            if option.is_bool_flag and not option.secondary_opts and f"--no-{name}" not in names:
                parser.add_option(option, [f"--no-{name}"], option.name, "store_const", const=False)
        return parser


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called; without arguments it prints its help.

    Parameters
    ----------
    table
        For each command its module and function, such as ``"fitting:run_fit"``, and the line that the help of the group has about it.
    more
        Further arguments of `click.Group`.
    """

    def __init__(self, table: Mapping[str, tuple[str, str]], **attributes: Any) -> None:
        super().__init__(**attributes)
        self._table = table

    def list_commands(self, ctx: click.Context | None) -> list[str]:
        """The names of the commands in order."""
        return sorted({*self._table, *self.commands})

    def get_command(self, ctx: click.Context | None, cmd_name: str) -> click.Command | None:
        """The command of a name; None if there is none."""
        if cmd_name in self._table and cmd_name not in self.commands:
            module, _, function = self._table[cmd_name][0].partition(":")
            self.commands[cmd_name] = getattr(import_module(f".{module}", __package__), function)
        return self.commands.get(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called; errors are worded by its options."""
        name, command, remaining = super().resolve_command(ctx, args)
        if command is not None:
            running.begin({option for parameter in command.params for option in parameter.opts}, remaining)
        return name, command, remaining

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the lines about the commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._table[name][1]) for name in sorted(self._table)])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; without any, print the help and exit with 0."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Invoke the command; an interrupted one prints one line, where click would add an empty one."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.Abort from None


def command(name: str) -> Callable[[Command], OnceCommand]:
    """Declare a command; it returns True if a gate failed."""
    return click.command(name, cls=OnceCommand)


def with_options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Combine several options into one decorator."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


# Parameters that name input files.
INPUTS = ("file", "files", "certificate", "calibrator", "validation", "test", "reference", "store")


class WrittenOption(click.Option):
    """An option that names an output file, and the kind of file that is written there."""

    def __init__(self, *names: Any, kind: str = "a document", **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.kind = kind


def _check_outputs(parameters: list[click.Parameter], values: dict[str, Any]) -> None:
    """Raise if an output would replace an input or another output; sketches may be merged into one of them."""
    input_paths = [values[name] for name in INPUTS if values.get(name)]
    inputs = [path for value in input_paths for path in (value if isinstance(value, tuple) else (value,))]
    outputs: dict[str, str] = {}
    for option in parameters:
        value = values.get(option.name or "")
        if not isinstance(option, WrittenOption) or value in (None, "-"):
            continue
        for path in inputs:
            both_exist = path != "-" and os.path.exists(path) and os.path.exists(value)
            if both_exist and not value.endswith(".sketch") and os.path.samefile(path, value):
                raise ArgumentError(option.opts[0], f"would overwrite the input {path}", "name another file")
        earlier = next(
            (name for name, path in outputs.items() if os.path.abspath(path) == os.path.abspath(value)), None
        )
        if earlier is not None:
            raise ArgumentError(option.opts[0], f"names the file of {earlier}", "name another file")
        outputs[option.opts[0]] = value
        check_replaceable(option.opts[0], value, option.kind)


def check_replaceable(option: str, path: str | os.PathLike[str], kind: str) -> None:
    """Raise if a file would be replaced by one of another kind: a calibrator, a sketch, a table or a document; an empty one may be."""
    from ..util.files import read_start

    start = read_start(path, 4096)
    suffix = os.path.splitext(path)[1].lower()
    records = suffix == ".json" and not start.startswith(b"{\n")  # documents are indented
    if start.startswith(b'{\n "calibrant_map"'):
        present = "a calibrator"
    elif start.startswith(b"CALIBRANT\0"):
        present = "a sketch"
    elif start.startswith(b"PAR1") or records or suffix in (".csv", ".tsv", ".jsonl", ".ndjson"):
        present = "a table"
    elif b"\0" in start:
        present = "a binary file"
    else:
        present = "a document"
    if start and present != kind:
        raise ArgumentError(option, f"{path} is {present} and would be replaced by {kind}", "name another file")


def written_option(
    name: str, *, folder: bool = False, suffixes: tuple[str, ...] = (), printed: bool = False, **attributes: Any
) -> Callable[[Command], Command]:
    """An option that names an output file or folder; whether it can be written is checked before the work starts.

    A file must end in one of the `suffixes`, if there are any; ``-`` is standard output if it can be `printed`.
    """

    def check(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
        from ..util.files import check_writable

        if value == "-" and not printed:
            raise click.UsageError(f"{name}: cannot be standard output (-); name a file")
        if value is not None and value != "-" and not context.resilient_parsing:
            check_writable(value, folder=folder)
            if suffixes and not value.lower().endswith(suffixes):
                raise click.UsageError(f"{name}: must end in {', '.join(suffixes)}; got {value!r}")
        return value

    cls = click.Option if folder else WrittenOption
    return click.option(name, cls=cls, callback=check, metavar="FOLDER" if folder else "FILE", **attributes)


if TYPE_CHECKING:
    TextChoice = click.Choice[str]
else:
    TextChoice = click.Choice  # not generic before click 8.2


class FormatChoice(TextChoice):
    """The formats of files; those of logs may have a detail after a colon."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the part before the colon."""
        kind, colon, detail = str(value).partition(":")
        if colon and detail and kind in ("lm-eval", "openai", "inspect"):
            return value
        return super().convert(value, param, ctx)


prob_option = click.option("--prob", metavar="COLUMN", help="Column with the probability of the positive class.")
confidence_option = click.option(
    "--confidence-column",
    "confidence",
    metavar="COLUMN",
    help="Column with the confidence in the predicted class; the label is then whether the prediction is correct.",
)
counts_option = click.option(
    "--counts", metavar="COLUMN", help="Column with the number of observations that each row represents."
)
pos_label_option = click.option("--pos-label", metavar="VALUE", help="Label of the positive class, for two classes.")
class_score_options = with_options(
    prob_option,
    click.option(
        "--probs",
        metavar="COLUMNS",
        help="Columns with one probability per class: a comma-separated list or a pattern such as 'p_*'. With two columns, the "
        "second is the positive class, unless their names show otherwise, as p_yes and p_no do.",
    ),
    click.option(
        "--logits",
        metavar="COLUMNS",
        help="Columns with logits instead of probabilities: one column, a comma-separated list or a pattern.",
    ),
)
score_options = with_options(class_score_options, confidence_option)
label_option = click.option(
    "--label",
    metavar="COLUMN",
    help="Column with the true class; by default a column with a common name, such as label, y_true or target.",
)
where_option = click.option(
    "--where", metavar="SQL", help="Use only the rows that satisfy an SQL expression, such as \"country = 'FR'\"."
)
classes_option = click.option(
    "--classes",
    metavar="NAMES",
    help="Comma-separated names of the classes in the order of the columns; with two classes, the positive one last.",
)
table_option = click.option("--table", metavar="NAME", help="Table of a DuckDB database with several tables.")
drop_missing_option = click.option(
    "--drop-missing",
    is_flag=True,
    help="Drop the rows in which a label, score, weight or group is missing, and state how many.",
)
format_options = with_options(
    click.option(
        "--format",
        type=FormatChoice(["csv", "tsv", "parquet", "json", "duckdb", "lm-eval", "openai", "inspect", "helm"]),
        help="Format of the input file, if it is not clear from its name. Logs of language models: lm-eval (samples of "
        "lm-evaluation-harness; lm-eval:characters divides by the length of each choice), openai (responses with logprobs; openai:yes,no names the choices), inspect (JSON logs; inspect:NAME is a scorer) and helm (a folder of a run).",
    ),
    table_option,
    drop_missing_option,
)
file_options = with_options(
    format_options,
    click.option("--normalize", is_flag=True, help="Rescale each row of probabilities to sum to 1."),
    click.option("--clip", is_flag=True, help="Clip probabilities to [0, 1]."),
)
weight_option = click.option("--weight", metavar="COLUMN", help="Column with the weight of each row.")


def column_options(*more: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Options for the columns of a file; `more` are those for the scores and groups."""
    return with_options(
        label_option,
        *more,
        weight_option,
        counts_option,
        where_option,
        classes_option,
        pos_label_option,
        file_options,
    )


def source_options(*more: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """The argument FILE and the options for its columns."""
    return with_options(click.argument("file"), column_options(*more))


def by_option(help: str) -> Callable[[Command], Command]:
    """``--by``, the column of groups."""
    return click.option("--by", metavar="COLUMN", help=help)


def groups_option(help: str) -> Callable[[Command], Command]:
    """``--by``, groups by columns, quantiles and expressions; repeated, it is a comma-separated list."""

    def join_values(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> str | None:
        return ", ".join(values) or None

    combinations = (
        " A comma-separated list, or several --by, of columns, of quantile groups such as tenure/4, of SQL expressions such as "
        "'age >= 65', and of combinations such as 'sex x tenure/4'."
    )
    return click.option("--by", metavar="GROUPS", multiple=True, callback=join_values, help=help + combinations)


def ood_option(help: str) -> Callable[[Command], Command]:
    """``--ood``, the columns of out-of-distribution scores."""
    return click.option("--ood", metavar="COLUMN", multiple=True, help=help)


def _bins(context: Any, parameter: Any, value: str | None) -> int | str | list[float] | None:
    """Read ``--bins``: a number, edges, or one bin per distinct score."""
    if value is None or value == "levels":
        return value
    try:
        return [float(edge) for edge in value.split(",")] if "," in value else int(value)
    except ValueError:
        raise click.BadParameter(
            f"must be a whole number, edges such as 0,0.3,0.7,1, or levels for one bin per distinct score; got {value!r}"
        ) from None


def read_pairs(context: Any, option: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """Read an option of the form KEY=VALUE that can be repeated."""
    pairs: dict[str, str] = {}
    for text in texts:
        key, sign, value = (side.strip() for side in text.partition("="))
        if not sign or not key:
            raise click.UsageError(f"{option.opts[0]}: {text!r} is not of the form {option.metavar}")
        if key in pairs:
            raise click.UsageError(f"{option.opts[0]}: {key!r} was given twice; give it once")
        pairs[key] = value
    return pairs


def _further(context: Any, option: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
    """Read ``--option``: numbers, true, false, null and lists as in JSON, and other values as text."""
    import json

    options: dict[str, Any] = {}
    for key, value in read_pairs(context, option, texts).items():
        try:
            options[key] = json.loads(value)
        except (ValueError, RecursionError):
            options[key] = value
    return options


def _binning(context: Any, parameter: Any, value: str | None) -> str | None:
    """Check the text of ``--binning``."""
    from ..binning.parse import written_rule

    names = ("equal_width", "equal_mass", "quantile", "levels")
    if value is not None and value not in names and written_rule(value) is value:
        raise click.BadParameter(
            f"must be {', '.join(names)}, or equal_width:LOW such as equal_width:1/K; got {value!r}"
        )
    return value


level_option = click.option(
    "--level",
    type=float,
    default=0.95,
    show_default=True,
    metavar="LEVEL",
    help="Confidence level of the intervals.",
)
metric_options = with_options(
    click.option("--lens", help="What is evaluated: top_label, classwise, ordinal, class:NAME, rank:2, ..."),
    click.option(
        "--bins",
        metavar="NUMBER",
        callback=_bins,
        help="Number of bins; edges, such as 0,0.3,0.7,1; or levels: one bin per distinct score, for scores with few values.",
    ),
    click.option(
        "--binning",
        metavar="NAME",
        callback=_binning,
        help="How scores are divided into bins: equal_width, equal_mass, quantile (at interpolated quantiles, as in scikit-learn), or "
        "equal_width:LOW for bins from LOW to 1, such as equal_width:1/K for confidences in one of K classes; equal_width:linspace,left has the edges of netcal, "
        "equal_width:torch those of torchmetrics.",
    ),
    click.option(
        "--option",
        "further",
        metavar="KEY=VALUE",
        multiple=True,
        callback=_further,
        help="Further option of metrics, such as penalty=firth, or of one metric, such as gece.gamma=0.05; calibrant metrics NAME lists them. "
        "Can be repeated.",
    ),
)


seed_option = click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random numbers.")


def draw_options(resamples: int) -> Callable[[Command], Command]:
    """Options for the number of resamples and the seed."""
    return with_options(
        click.option(
            "--resamples", type=int, default=resamples, show_default=True, help="Number of resamples or simulations."
        ),
        seed_option,
    )


calibrator_option = click.option(
    "--calibrator", metavar="FILE", help="Calibrator written by fit; the calibrated probabilities are evaluated."
)
stream_option = click.option(
    "--stream/--no-stream",
    default=None,
    help="Read in bounded memory. This is the default for patterns, databases, text above 512 MB (packed above 51 MB) and Parquet above 10 million rows.",
)


def gate_options(help: str) -> Callable[[Command], Command]:
    """``--fail-if``."""
    return click.option("--fail-if", "gates", metavar="CONDITION", multiple=True, help=help)


json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def debug_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--debug``, which shows the traceback of an error, the options for the configuration, and ``--plugin``."""

    def load(context: click.Context, option: click.Parameter, names: tuple[str, ...]) -> None:
        if not context.resilient_parsing:
            plugins.load()
            for name in names:
                plugins.load_module(name)

    return with_options(
        click.option(
            "--plugin",
            multiple=True,
            metavar="MODULE",
            is_eager=True,
            expose_value=False,
            callback=load,
            help="Module or .py file with metrics, calibrators, readers or report sections; repeatable. Those of installed packages are found without it.",
        ),
        click.option(
            "--config",
            metavar="FILE",
            expose_value=False,
            help="Configuration; by default calibrant.toml, or [tool.calibrant] of pyproject.toml, in this folder or one above.",
        ),
        click.option("--no-config", is_flag=True, expose_value=False, help="Read no configuration."),
        click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error."),
    )(command)


fit_options = with_options(
    click.option(
        "--method",
        metavar="NAME",
        default="auto",
        show_default=True,
        help="Calibration method, also one of a --plugin; a comma-separated list of methods to choose from, or auto for those suited to the number of rows.",
    ),
    click.option(
        "--loss",
        metavar="NAME",
        default="nll",
        show_default=True,
        help="What calibrators are compared by in cross-validation: nll, brier or a metric such as ece.",
    ),
    click.option("--folds", type=int, default=5, show_default=True, help="Number of folds of the cross-validation."),
)
preprocessing_option = click.option(
    "--preprocessing",
    metavar="TEXT",
    help="Description of how the scores were produced. A calibrator raises an error for scores with another description.",
)
guarantee_option = click.option(
    "--guarantee",
    type=float,
    default=0.9,
    show_default=True,
    help="Probability with which the guarantee holds.",
)

features_option = click.option(
    "--features",
    metavar="COLUMNS",
    help="Comma-separated columns, or patterns, among which subgroups with a gap between predictions and outcomes are searched.",
)

outcome_option = click.option(
    "--outcome",
    metavar="NAME",
    help="Name of the event that the positive class represents; by default that class, or the label column for 0 and 1.",
)

meta_option = click.option(
    "--meta",
    "metadata",
    metavar="KEY=VALUE",
    multiple=True,
    callback=read_pairs,
    help="Fact to show in the report, such as model=churn-gbm or owner=Risk. Can be repeated.",
)
METRIC_NAMES = "Comma-separated ids or aliases of metrics, 'recommended' (default) or 'all'."
