"""Tables on the screen: rich on a terminal, plain text in pipes and files."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

import click

from ..errors import CalibrantWarning, FileError
from ..util.results import text_table

# To this width text may be narrowed in a table.
FOLDED = 12

__all__ = [
    "forget",
    "in_options",
    "in_options_here",
    "is_terminal",
    "note_positive",
    "print_json",
    "print_lines",
    "print_table",
    "resampling_bar",
    "say",
    "warnings_as_lines",
]


def say(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Write to standard output or error. Where the reader went away (``| head``) nothing is heard, and the command goes on."""
    try:
        click.echo(text, nl=nl, err=err)
    except OSError as error:
        forget(sys.stderr if err else sys.stdout)
        if not err and not isinstance(error, BrokenPipeError):
            told = f"cannot be written ({error.strerror or error})"
            raise FileError("standard output", told, "check the disk it goes to") from None


def forget(stream: TextIO | None) -> None:
    """Let what is still to be written go nowhere, so that Python does not complain at exit either."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def note_positive(classes: Sequence[Any]) -> None:
    """Say which of two columns is taken as that of the positive class, where their names do not tell it as those of yes and no do."""
    from ..input.frames import positive_of

    if len(classes) == 2 and positive_of(classes) is None:
        told = f"{classes[1]} is taken as the positive class, being the second column"
        say(clean(f"note: {told}; --classes {classes[1]},{classes[0]} takes the other"), err=True)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody looks on; a stream that was closed before we began is None."""
    return stream is not None and stream.isatty()


def clean(text: str) -> str:
    """Names from files may hold control characters, which a terminal would obey."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)


# What errors of the library call by the names of Python, and a user of the command line by those of options.
_SUBJECTS = {
    "y_true": "--label",
    "y_prob": "--prob",
    "scores": "--prob",
    "recalibrate": "--label",
    "when": "--time",
    "ids": "--id",
    "metric": "--metrics",
    "use_case": "--for",
}
_OPTIONS = {
    "input": "--logits",
    "sample_weight": "--weight",
    "groups": "--by",
    "n_resamples": "--resamples",
    "rng": "--seed",
    "confidence_level": "--confidence",
    "kind": "--compare",
}
_FLAGS = ("--logits", "--normalize", "--clip")
# Remedies that only Python has.
_PHRASES = {
    "pass soft=True if the labels are shares between classes": "name another column; shares as labels are for Python",
    "pass the column of the positive class alone": "name the column of the positive class alone",
    ", or multilabel=True if several classes can hold": "",
    "multilabel=True if the columns are independent, or ": "or ",
    "pass y_true - 1, or classes=": "pass classes=",
    "pass groups= or features=": "pass groups=",
    "pass features= or proximity=": "features of rows are for Python",
    "pass features=": "features of rows are for Python",
    "convert it with float() or read the column as numeric": "name a column of numbers",
    "must be None or lie": "must lie",
    "pass what predict_proba returns": "name the column of probabilities",
    ", for example np.clip(y_prob, 1e-6, 1 - 1e-6),": "",
    ", or, for a torch model that ends in a softmax, remove it": "",
    "pass a file written by save": "name a file that fit wrote",
    "choose_threshold asks": "select asks",
    "make it with Monitor.create or calibrant monitor init": "make it with calibrant monitor init",
    "exists already; open it, or choose another name": "exists already; choose another name",
    "'sequence', 'fixed', 'conformal'": "'sequence', 'conformal'",
}


def in_options(text: str, options: Collection[str]) -> str:
    """An error of the library in the words of a command that has some `options`: ``--classes`` for ``classes=[...]``."""
    for phrase, here in _PHRASES.items():
        text = text.replace(phrase, here)
    named = {name: option for name, option in _OPTIONS.items() if option in options}
    named |= {option[2:].replace("-", "_"): option for option in options if option.startswith("--")}
    subject, colon, rest = text.partition(": ")
    spoken = {name: option for name, option in _SUBJECTS.items() if option in options} | named
    if "--models" in options:
        spoken["y_prob"] = "--models"
    text = f"{spoken[subject]}{colon}{rest}" if colon and subject in spoken else text

    def as_option(found: re.Match[str]) -> str:
        option, value = named[found[1]], next((group for group in found.groups()[1:] if group), None)
        return option if value is None or option in _FLAGS else f"{option} {_typed(value)}"

    given = rf"(?<![\w-])({'|'.join(named)})=(?:\[\.\.\.\]|True|{_VALUE})?"
    return _without_keywords(re.sub(given, as_option, text) if named else text)


# A keyword of Python that no option stands for, with its value.
_KEYWORD = re.compile(r"""(?<![\w(,.=-])[a-z]\w*=(?![=<>])""")
_VERB = re.compile(r"(pass|use|give|set|name) ")


def _without_keywords(text: str) -> str:
    """The text without remedies that only Python has; the other alternatives stay."""
    problem, semicolon, remedy = text.rpartition("; ")
    if not semicolon or not _KEYWORD.search(remedy):
        return text
    parts = re.split(r",? or ", remedy)
    kept = [part for part in parts if not _KEYWORD.search(part)]
    verb = _VERB.match(parts[0])
    if kept and verb and kept[0] is not parts[0] and not re.match(r"[a-z]+ ", kept[0]):
        kept[0] = verb[0] + kept[0]
    return f"{problem}; {', or '.join(kept)}" if kept else problem


# A value in Python: text, a number, a list or a range.
_VALUE = r"""["']([\w :]+)["']|(\d[\d.]*\d|\d)|\[([^\]]+)\]|(range\(1, \d+\))"""


def _typed(value: str) -> str:
    """A value as it is typed behind an option: lists with commas and without blanks."""
    if value.startswith("range("):
        numbers = [str(number) for number in range(1, int(value[len("range(1, ") : -1]))]
        return ",".join(numbers if len(numbers) <= 5 else [*numbers[:2], "...", numbers[-1]])
    return ",".join(part.strip(" '\"") for part in value.split(","))


def in_options_here(text: str) -> str:
    """`in_options` for the command that runs."""
    context = click.get_current_context(silent=True)
    here = [] if context is None else context.command.params
    return in_options(text, {option for parameter in here for option in parameter.opts})


def print_lines(lines: Sequence[str]) -> None:
    """Plain lines."""
    for line in lines:
        say(clean(line))


def print_json(content: Mapping[str, Any]) -> None:
    """Valid JSON: what is infinite becomes text."""
    say(json.dumps(_finite(content), indent=2, allow_nan=False, default=str))


def _finite(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {str(key): _finite(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_finite(value) for value in content]
    plain = content.item() if hasattr(content, "item") else content  # a NumPy number
    return str(plain) if isinstance(plain, float) and not math.isfinite(plain) else plain


@contextmanager
def resampling_bar(title: str = "resampling", *, whole: bool = False) -> Iterator[None]:
    """A bar on standard error while samples are drawn, where that is a terminal; it leaves nothing behind.

    `whole` shows from the start how far the work is; else the bar shows samples, and only where any are drawn.
    """
    if not is_terminal(sys.stderr):
        yield
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    from ..inference.resampling import progress

    amount = TaskProgressColumn() if whole else MofNCompleteColumn()
    columns = TextColumn(title), BarColumn(), amount, TimeRemainingColumn()
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=None if whole else 100.0)
    if whole:
        bar.start()

    def tell(done: int, count: int) -> None:
        bar.start()  # what draws nothing shows nothing
        bar.update(task, completed=done, total=count)

    token = progress.set(tell)
    try:
        yield
    finally:
        progress.reset(token)
        bar.stop()


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], numeric: range) -> None:
    """A table whose columns in `numeric` are set to the right."""
    if is_terminal(sys.stdout):
        _print_rich(headings, rows, numeric)
        return
    text = [[clean(cell) for cell in row] for row in [headings, *rows]]
    for line in text_table(text[0], text[1:], numeric):
        say(line)


def _print_rich(headings: Sequence[str], rows: Sequence[Sequence[str]], numeric: range) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    text = [[clean(cell) for cell in row] for row in [headings, *rows]]
    widest = [max(len(row[i]) for row in text) for i in range(len(headings))]
    # Numbers and ids are whole or worthless: where the window is narrow, other text goes on in the next line.
    whole = [i in numeric or i == 0 for i in range(len(headings))]
    console = Console()
    needed = 2 * len(headings) + 2
    needed += sum(width if keep else min(width, FOLDED) for width, keep in zip(widest, whole, strict=True))
    if needed > console.width and "name" in headings:  # the id says it too
        place = list(headings).index("name")
        left = range(numeric.start - 1, numeric.stop - 1)
        shorter = [[cell for i, cell in enumerate(row) if i != place] for row in (headings, *rows)]
        _print_rich(shorter[0], shorter[1:], left)
        return
    for i, heading in enumerate(text[0]):
        table.add_column(
            Text(heading),
            justify="right" if i in numeric else "left",
            style="bold cyan" if i == 0 else None,
            no_wrap=whole[i],
            min_width=widest[i] if whole[i] else min(widest[i], FOLDED),
            overflow="fold",
        )
    for row in text[1:]:
        table.add_row(*map(Text, row))
    console.width = max(console.width, needed)
    console.print(table)


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """What calibrant warns about as one line each on standard error."""
    seen: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        text = in_options_here(" ".join(str(message).split()))
        if text not in seen:
            seen.add(text)
            say(clean(f"warning: {text}"), err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", CalibrantWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield
