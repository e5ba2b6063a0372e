"""Errors and warnings.

Each error holds the argument at fault, what is wrong with it, where, and what to do about it. The parts are attributes, so that a
program can react to `error.argument` or `error.row` without parsing text, and so that the command line can render the same error
with the names of its options and the lines of a file.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Self

__all__ = [
    "AmbiguousMetricError",
    "ArgumentError",
    "BoundaryScoresWarning",
    "CalibrantError",
    "CalibrantWarning",
    "ColumnError",
    "EdgeRoundingWarning",
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


@dataclass(frozen=True)
class Argument:
    """The name of another argument within a message."""

    name: str


@dataclass(frozen=True)
class Use:
    """A remedy: pass an argument, with a value if one is given.

    Parameters
    ----------
    argument : str
        Name of the argument.
    value : object, optional
        The value to pass. None stands for a value that the reader has to choose.
    reason : str, default ""
        When or how, such as ``"if these are logits"``.
    """

    argument: str
    value: Any = None
    reason: str = ""


@dataclass(frozen=True)
class Drop:
    """A remedy: leave out an argument, with the value it has; `reason` as for `Use`."""

    argument: str
    value: Any = None
    reason: str = ""


@dataclass(frozen=True)
class InPython:
    """A remedy in Python code, which other interfaces leave out."""

    text: str


PASS_ROWS = InPython("pass the rows instead of a sketch")
Problem = str | tuple[str | Argument, ...]
Alternative = str | Use | Drop | InPython
Remedy = Alternative | tuple[Alternative, ...]


class Wording:
    """Names of arguments, values and rows as Python spells them; a subclass spells them for another interface."""

    verb = "pass"
    """The verb of a remedy that names an argument without a value, or switches it on."""

    def name(self, argument: str) -> str | None:
        """The name of an argument, or None where this interface does not have it."""
        return argument

    def given(self, argument: str, value: Any) -> str | None:
        """An argument with its value, or None where this interface does not have it."""
        return argument if value is None else f"{argument}={value!r}"

    def row(self, row: int) -> str:
        """The location of a row, counted from 0."""
        return f"in row {row}"

    def instead(self, argument: str) -> str:
        """What to do about an argument where none of the remedies applies to this interface."""
        return ""

    def alternative(self, remedy: Alternative) -> tuple[str, str]:
        """The verb of a remedy and the rest of it; both are empty where this interface does not have it."""
        if isinstance(remedy, str):
            return "", remedy
        if isinstance(remedy, InPython):
            return "", remedy.text
        shown = self.given(remedy.argument, remedy.value)
        if shown is None:
            return "", ""
        plain = remedy.value is None or remedy.value is True
        verb = "drop" if isinstance(remedy, Drop) else self.verb if plain else "use"
        return verb, f"{shown} {remedy.reason}".rstrip()


PYTHON = Wording()


def _renamed(remedy: Alternative, names: Mapping[str, str]) -> Alternative:
    """A remedy in Python code with new names of variables."""
    if not isinstance(remedy, InPython):
        return remedy
    new = {name: other for name, other in names.items() if other.isidentifier()}
    return InPython(re.sub(r"[A-Za-z_]\w*", lambda found: new.get(found[0], found[0]), remedy.text))


def _join(parts: Sequence[tuple[str, str]]) -> str:
    """Alternatives as one clause; a verb is not repeated."""
    spoken: list[str] = []
    before = ""
    for verb, rest in parts:
        if rest:
            spoken.append(f"{verb} {rest}" if verb and verb != before else rest)
            before = verb
    if len(spoken) < 2:
        return "".join(spoken)
    comma = "," if len(spoken) > 2 or any("," in part or " if " in part for part in spoken) else ""
    return f"{', '.join(spoken[:-1])}{comma} or {spoken[-1]}"


class _Message:
    """The parts of an error or a warning, and their rendering."""

    args: tuple[Any, ...]

    def _set(
        self,
        argument: str,
        problem: Problem,
        remedy: Remedy,
        row: int | None,
        column: int | str | None,
        count: int | None,
        source: str,
    ) -> None:
        self.argument = argument
        self.row = row
        self.column = column
        self.count = count
        self.source = source
        self._problem = problem
        self.remedies = tuple(remedy) if isinstance(remedy, tuple) else (remedy,)

    @property
    def problem(self) -> str:
        """What is wrong with the argument."""
        return self._problem_in(PYTHON)

    @property
    def remedy(self) -> str:
        """What to do about it; empty where nothing can be suggested."""
        return _join([PYTHON.alternative(remedy) for remedy in self.remedies])

    def render(self, wording: Wording) -> str:
        """The message with the names of an interface.

        Parameters
        ----------
        wording : Wording
            Names of arguments and rows.

        Returns
        -------
        str
            One line: argument, problem, location, remedy.
        """
        name = wording.name(self.argument) or self.argument
        problem = f"{name}: {self._problem_in(wording)}" if name else self._problem_in(wording)
        remedy = _join([wording.alternative(remedy) for remedy in self.remedies])
        if not remedy and any(self.remedies):
            remedy = wording.instead(self.argument)
        return problem + self._place_in(wording) + (f"; {remedy}" if remedy else "")

    def replaced(self, names: Mapping[str, str] | None = None, **changes: Any) -> Self:
        """The same message with other parts.

        Parameters
        ----------
        names : mapping of str to str, optional
            New names of arguments.
        **changes
            New values of `argument`, `problem`, `remedy`, `row`, `column`, `count` or `source`.

        Returns
        -------
        CalibrantError
            Of the same class.
        """
        new = {} if names is None else names
        parts: dict[str, Any] = {
            "argument": new.get(self.argument, self.argument),
            "problem": self._problem
            if isinstance(self._problem, str)
            else tuple(Argument(new.get(p.name, p.name)) if isinstance(p, Argument) else p for p in self._problem),
            "remedy": tuple(
                replace(remedy, argument=new.get(remedy.argument, remedy.argument))
                if isinstance(remedy, (Use, Drop))
                else _renamed(remedy, new)
                for remedy in self.remedies
            ),
            **{name: getattr(self, name) for name in ("row", "column", "count", "source")},
        }
        parts.update(changes)
        kind: Any = type(self)
        return kind(parts.pop("argument"), parts.pop("problem"), parts.pop("remedy"), **parts)

    def _problem_in(self, wording: Wording) -> str:
        if isinstance(self._problem, str):
            return self._problem
        return "".join(
            part if isinstance(part, str) else wording.name(part.name) or part.name for part in self._problem
        )

    def _place_in(self, wording: Wording) -> str:
        """Where: ``in row 130``, or ``, the first in row 130`` of several."""
        if self.row is None:
            return f" in {self.source}" if self.source else ""
        place = wording.row(self.row)
        if self.column is not None:
            place += f", column {self.column!r}"
        if self.source:
            place += f" of {self.source}"
        return f", the first {place}" if self.count is not None and self.count > 1 else f" {place}"

    def __reduce__(self) -> tuple[object, ...]:
        parts = (self.argument, self._problem, self.remedies, self.row, self.column, self.count, self.source)
        return (_rebuild, (type(self), *parts))


def _rebuild(
    kind: Any,
    argument: str,
    problem: Problem,
    remedy: Remedy,
    row: int | None,
    column: int | str | None,
    count: int | None,
    source: str,
) -> Any:
    return kind(argument, problem, remedy, row=row, column=column, count=count, source=source)


class CalibrantError(_Message, Exception):
    """Base class of the errors raised by calibrant.

    Parameters
    ----------
    argument : str
        The argument, option, column or file at fault.
    problem : str or tuple
        What is wrong, in plain English. A tuple may contain `Argument` for the names of other arguments.
    remedy : str, Use, Drop, InPython, or tuple of these, default ""
        What to do about it; a tuple holds alternatives.
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
        problem: Problem,
        remedy: Remedy = "",
        *,
        row: int | None = None,
        column: int | str | None = None,
        count: int | None = None,
        source: str = "",
    ) -> None:
        self._set(argument, problem, remedy, row, column, count, source)
        super().__init__(self.render(PYTHON))


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


class CalibrantWarning(_Message, UserWarning):
    """Base class of the warnings given by calibrant.

    Parameters
    ----------
    argument : str
        The argument that the warning is about; a single parameter is the whole text.
    problem : str or tuple, optional
        What is unusual, in plain English.
    remedy : str, Use, Drop, InPython, or tuple of these, default ""
        What to do about it; a tuple holds alternatives.
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
        problem: Problem | None = None,
        remedy: Remedy = "",
        *,
        row: int | None = None,
        column: int | str | None = None,
        count: int | None = None,
        source: str = "",
    ) -> None:
        named, text = ("", argument) if problem is None else (argument, problem)
        self._set(named, text, remedy, row, column, count, source)
        super().__init__(self.render(PYTHON))


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


class EdgeRoundingWarning(InputWarning):
    """Many single-precision scores lie on a bin edge up to rounding."""


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
