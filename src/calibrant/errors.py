"""Errors and warnings.

Each error holds the argument at fault, what is wrong with it, where, and what to do about it. The parts are attributes, so that a
program can react to `error.argument` or `error.row` without parsing text; the command line names its option in place of the argument,
and the line of a file in place of the row.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self

__all__ = [
    "AmbiguousMetricError",
    "ArgumentError",
    "BoundaryScoresWarning",
    "CalibrantError",
    "CalibrantWarning",
    "ColumnError",
    "FileError",
    "GroupError",
    "HardPredictionsWarning",
    "InSampleWarning",
    "InputError",
    "InputTypeError",
    "InputWarning",
    "LabelError",
    "LensError",
    "MissingDependencyError",
    "NotFittedError",
    "PluginError",
    "ProbabilitiesAsLogitsWarning",
    "ProbabilityError",
    "ReversedClassesWarning",
    "ShapeError",
    "SwappedArgumentsError",
    "UndefinedMetricError",
    "UnknownArgumentError",
    "UnknownMetricError",
    "WeightError",
    "WeightsNotSupportedError",
]


ROWS_INSTEAD = "pass the rows instead of a sketch"
"""The remedy where a sketch cannot be used."""


ALTERNATIVES = re.compile(r"(, or | or |, )(?![^(]*\))")


def keep_alternatives(remedy: str, is_possible: Callable[[str], bool]) -> str:
    """The alternatives of a remedy that are possible elsewhere, such as on the command line, where `Predictions` is not called."""
    remedy = re.sub(r"Predictions\(\.\.\., ([^)]*)\)", r"\1", remedy)
    kept = separator = ""
    for place, part in enumerate(ALTERNATIVES.split(remedy)):
        if place % 2:
            separator = part
        elif is_possible(part):
            kept += separator + part if kept else part
    return kept


class _Message:
    """The parts of an error or a warning; its text is ``argument: problem in row 3; remedy``."""

    args: tuple[Any, ...]

    def _set(
        self,
        argument: str,
        problem: str,
        remedy: str,
        row: int | None,
        column: int | str | None,
        count: int | None,
        source: str,
    ) -> None:
        self.argument = argument
        self.problem = problem
        self.remedy = remedy
        self.row = row
        self.column = column
        self.count = count
        self.source = source

    def replaced(self, names: Mapping[str, str] | None = None, **changes: Any) -> Self:
        """The same message with other parts.

        Parameters
        ----------
        names : mapping of str to str, optional
            New names of arguments, also where problem and remedy mention them.
        **changes
            New values of `argument`, `problem`, `remedy`, `row`, `column`, `count` or `source`.

        Returns
        -------
        CalibrantError
            Of the same class.
        """
        parts = {name: getattr(self, name) for name in PARTS}
        names = names or {}
        parts["argument"] = names.get(self.argument, self.argument)
        for old, new in names.items():
            for name in ("problem", "remedy"):
                parts[name] = re.sub(rf"(?<![-\w]){old}\b", new, parts[name])
        parts.update(changes)
        return _rebuild(type(self), parts)

    def describe(self, row_name: Callable[[int], str] = "in row {}".format) -> str:
        """The text without the argument and the remedy: the problem and where it is, such as ``, the first in row 130``."""
        if self.row is None:
            return f"{self.problem} in {self.source}" if self.source else self.problem
        place = row_name(self.row)
        if self.column is not None:
            place += f", column {self.column!r}"
        if self.source:
            place += f" of {self.source}"
        several = self.count is not None and self.count > 1
        return f"{self.problem}, the first {place}" if several else f"{self.problem} {place}"

    def _text(self) -> str:
        named = f"{self.argument}: " if self.argument else ""
        return named + self.describe() + (f"; {self.remedy}" if self.remedy else "")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), {name: getattr(self, name) for name in PARTS})


PARTS = ("argument", "problem", "remedy", "row", "column", "count", "source")


def _rebuild(kind: Any, parts: Mapping[str, Any]) -> Any:
    return kind(**parts)


class CalibrantError(_Message, Exception):
    """Base class of the errors raised by calibrant.

    Parameters
    ----------
    argument : str
        The argument, option, column or file at fault.
    problem : str
        What is wrong, in plain English.
    remedy : str, default ""
        What to do about it.
    row : int, optional
        The first offending row, counted from 0.
    column : int or str, optional
        The column of the offending entry.
    count : int, optional
        How many rows are at fault.
    source : str, default ""
        The file or partition that contains the row.

    Attributes
    ----------
    argument : str
        The argument, option, column or file at fault.
    problem : str
        What is wrong with it.
    remedy : str
        What to do about it; may be empty.
    row : int or None
        The first offending row, counted from 0.
    """

    def __init__(
        self,
        argument: str,
        problem: str,
        remedy: str = "",
        *,
        row: int | None = None,
        column: int | str | None = None,
        count: int | None = None,
        source: str = "",
    ) -> None:
        self._set(argument, problem, remedy, row, column, count, source)
        super().__init__(self._text())


class InputError(CalibrantError, ValueError):
    """The data cannot be used."""


class InputTypeError(CalibrantError, TypeError):
    """The data have a type that cannot hold probabilities, labels or weights."""


class ShapeError(InputError):
    """Lengths or dimensions do not match."""


class ProbabilityError(InputError):
    """An entry is not a probability, or a row does not sum to one."""


class LabelError(InputError):
    """A label is not one of the classes."""


class SwappedArgumentsError(LabelError):
    """`y_true` and `y_prob` appear to be swapped."""


class WeightError(InputError):
    """Weights or counts are negative, all zero or not finite, or both were passed."""


class GroupError(InputError):
    """Groups or features have missing values or the wrong length."""


class ColumnError(InputError):
    """A frame or file does not have the column that was named."""


class ArgumentError(CalibrantError, ValueError):
    """An argument has an invalid value."""


class UnknownArgumentError(CalibrantError, TypeError):
    """A keyword is not accepted; often it is misspelt."""


class LensError(ArgumentError):
    """The lens or selection does not apply to the data or the metric."""


class UnknownMetricError(CalibrantError, ValueError):
    """No metric has this name or alias."""


class AmbiguousMetricError(CalibrantError, ValueError):
    """The name stands for two different metrics in the literature."""


class UndefinedMetricError(CalibrantError, ValueError):
    """The metric is undefined for these data."""


class WeightsNotSupportedError(CalibrantError, ValueError):
    """The metric does not support this kind of weights."""


class NotFittedError(CalibrantError, ValueError, AttributeError):
    """A calibrator or detector is used before it was fitted."""


class FileError(CalibrantError, OSError):
    """A file cannot be read or written."""

    # OSError with two arguments prints its own attributes instead of the message.
    def __str__(self) -> str:
        return str(self.args[0])


class MissingDependencyError(CalibrantError, ImportError):
    """An optional package is required but not installed."""


class PluginError(CalibrantError, ImportError):
    """A plug-in cannot be imported."""


class CalibrantWarning(_Message, UserWarning):
    """Base class of the warnings given by calibrant.

    Parameters
    ----------
    argument : str
        The argument that the warning is about; a single parameter is the whole text.
    problem : str, optional
        What is unusual, in plain English.
    remedy : str, default ""
        What to do about it.
    row : int, optional
        The first row concerned, counted from 0.
    column : int or str, optional
        The column of the entry concerned.
    count : int, optional
        How many rows are concerned.
    source : str, default ""
        The file or partition that contains the row.
    """

    def __init__(
        self,
        argument: str,
        problem: str | None = None,
        remedy: str = "",
        *,
        row: int | None = None,
        column: int | str | None = None,
        count: int | None = None,
        source: str = "",
    ) -> None:
        named, text = ("", argument) if problem is None else (argument, problem)
        self._set(named, text, remedy, row, column, count, source)
        super().__init__(self._text())


class InputWarning(CalibrantWarning):
    """The input is valid but looks like a mistake, or a few rows of it dominate the result."""


class ProbabilitiesAsLogitsWarning(InputWarning):
    """Values passed as logits look like probabilities."""


class HardPredictionsWarning(InputWarning):
    """Values passed as probabilities look like predicted classes: every entry is 0 or 1."""


class ReversedClassesWarning(InputWarning):
    """The predicted class is wrong so often that the columns seem to be in another order."""


class BoundaryScoresWarning(InputWarning):
    """Scores of 0 or 1 have infinite log-odds and are clipped, which can dominate a fit."""


class InSampleWarning(CalibrantWarning):
    """A calibrator is applied to the data it was fitted on, where the estimate is optimistic."""


# A variable of the context, because the filters of the warnings module belong to all threads together.
_silent: ContextVar[bool] = ContextVar("silent", default=False)


@contextmanager
def no_warnings() -> Iterator[None]:
    """Let no code of calibrant that runs inside warn; other threads are not affected."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def warn_caller(message: str | CalibrantWarning, category: type[CalibrantWarning] = CalibrantWarning) -> None:
    """Warn at the line of the user's own code that called calibrant, however many calls lie between.

    Parameters
    ----------
    message : str or CalibrantWarning
        The warning, or its text.
    category : type of CalibrantWarning, default CalibrantWarning
        Class of the warning where `message` is a text.
    """
    if _silent.get():
        return
    package = __name__.partition(".")[0]
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(category(message) if isinstance(message, str) else message, stacklevel=level)
