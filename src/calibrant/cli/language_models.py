"""Logs of language models on the command line: ``--format lm-eval``, openai, inspect and helm read them as a table of answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ..errors import CalibrantError
from ..input.evaluation_logs import read_log
from ..input.language_models import AnswerTable
from ..sketches.files.columns import Columns, score_options
from ..util.database import connect
from ..util.temporary import temporary_folder
from .rows import is_log, kind_of_all, on_disk
from .screen import clean, say


@contextmanager
def open_source(
    file: str, several: Sequence[Columns], format: str | None, event: bool = False
) -> Iterator[tuple[list[str], list[Columns], str]]:
    """The files of a name, the columns and the format; a log is written as a table, whose columns are the default.

    With `event`, the command has no confidences: the correctness of an answer is then the event.
    """
    with on_disk(file) as paths:
        if not is_log(format):
            yield paths, list(several), kind_of_all(paths, format)
            return
        assert format is not None
        with temporary_folder() as folder:
            table = _read_log_file(paths, format, several[0].label)
            path = str(Path(folder) / "answers.parquet")
            with connect() as connection:
                connection.register("answers", table.columns)
                connection.execute("COPY (SELECT * FROM answers) TO $path (FORMAT parquet)", {"path": path})
            yield [path], [_columns(columns, table, event) for columns in several], "parquet"


def _read_log_file(paths: list[str], format: str, label: str | None) -> AnswerTable:
    """The answers in a log, with a note on what was read; errors name options."""
    kind, _, detail = format.partition(":")
    try:
        table = read_log(kind, paths, detail, None if label in ("label", "correct", "confidence") else label)
    except CalibrantError as error:
        options = {
            "path": "FILE",
            "target": "FILE",
            "label": "--label",
            "choices": "--format",
            "length_norm": "--format",
            "scorer": "--format",
        }
        if error.argument not in options:
            raise
        remedies = {  # instead of arguments of Python
            "failed": "remove these lines",
            "position": "request logprobs=True and top_logprobs=20, and name the choices, as in --format openai:yes,no",
            "length_norm": "use --format lm-eval",
        }
        remedy = next((text for spelling, text in remedies.items() if spelling in str(error.remedy)), error.remedy)
        raise error.replaced(None, argument=options[error.argument], remedy=remedy) from None
    rows = len(table.columns["confidence"])
    content = (
        f"confidence and correctness, since {table.why}" if table.classes is None else f"{len(table.classes)} choices"
    )
    mass = table.columns.get("choice_mass")
    mass_note = "" if mass is None else f"; the choices have {mass.mean():.1%} of the probability on average"
    say(clean(f"note: read {rows:,} answers with {content}{mass_note}"), err=True)
    return table


def _columns(columns: Columns, table: AnswerTable, event: bool) -> Columns:
    """The columns that a command reads: the choices, or the confidence and the correctness."""
    label = columns.label if columns.label in table.columns else None
    if any(name for _, name in score_options(columns)):
        outcome = "correct" if columns.confidence or columns.prob == "confidence" else "label"
        return replace(columns, label=label or (outcome if outcome in table.columns else "correct"))
    if table.classes is not None and label in (None, "label"):
        return replace(columns, label="label", probs="p_*")
    return replace(columns, label="correct", **{"prob" if event else "confidence": "confidence"})
