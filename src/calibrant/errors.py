"""What can go wrong: one tree of errors, each says what was wrong, where, and what to do.

A message reads ``argument: what came and which rule it breaks; the remedy``. The parts stay readable as attributes,
so that a program can react to `error.argument` or `error.row` without parsing text.
"""

from __future__ import annotations

import sys
import warnings

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


class CalibrantError(Exception):
    """Base of everything calibrant raises on purpose.

    Attributes
    ----------
    argument : str
        The argument, option, column or file at fault.
    problem : str
        What came, and the rule it breaks.
    remedy : str
        What to do about it; may be empty.
    row : int or None
        The first offending row, counted from 0.
    """

    def __init__(self, argument: str, problem: str, remedy: str = "", *, row: int | None = None) -> None:
        self.argument = argument
        self.problem = problem
        self.remedy = remedy
        self.row = row
        super().__init__(f"{argument}: {problem}" + (f"; {remedy}" if remedy else ""))

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.argument, self.problem, self.remedy, self.row))


def _rebuild(kind: type[CalibrantError], argument: str, problem: str, remedy: str, row: int | None) -> CalibrantError:
    return kind(argument, problem, remedy, row=row)


class InputError(CalibrantError, ValueError):
    """The data given cannot be used as they are."""


class InputTypeError(CalibrantError, TypeError):
    """The data given are of a kind that holds no probabilities, labels or weights."""


class ShapeError(InputError):
    """Lengths or dimensions do not fit together."""


class ProbabilityError(InputError):
    """An entry is no probability, or a row does not sum to one."""


class LabelError(InputError):
    """A label is not one of the classes."""


class SwappedArgumentsError(LabelError):
    """`y_true` and `y_prob` look exchanged."""


class WeightError(InputError):
    """Weights or counts are negative, all zero, not finite, or given twice."""


class GroupError(InputError):
    """Groups or features have holes or the wrong length."""


class ColumnError(InputError):
    """A frame or file lacks a column that was named."""


class ArgumentError(CalibrantError, ValueError):
    """An option has a value outside its range."""


class UnknownArgumentError(CalibrantError, TypeError):
    """A keyword that nothing here knows, most often misspelt."""


class LensError(ArgumentError):
    """The lens or selection does not fit the data or the metric."""


class UnknownMetricError(CalibrantError, ValueError):
    """No metric has this name or alias."""


class AmbiguousMetricError(CalibrantError, ValueError):
    """Two papers use this name for two different metrics."""


class UndefinedMetricError(CalibrantError, ValueError):
    """The formula has no value for these data."""


class WeightsNotSupportedError(CalibrantError, ValueError):
    """The metric has no meaning under this kind of weights."""


class NotFittedError(CalibrantError, ValueError, AttributeError):
    """A map is used before it was fitted."""


class FileError(CalibrantError, OSError):
    """A file cannot be read or written."""

    # OSError prints its own attributes instead of the message when given two arguments; ours is always one string.
    def __str__(self) -> str:
        return str(self.args[0])


class MissingDependencyError(CalibrantError, ImportError):
    """An optional package is needed for this call."""


class CalibrantWarning(UserWarning):
    """Base of the warnings calibrant gives."""


class InputWarning(CalibrantWarning):
    """Input that is in order and yet looks like a mistake, or decides more than it should."""


class ProbabilitiesAsLogitsWarning(InputWarning):
    """What was passed as logits looks like probabilities."""


class HardPredictionsWarning(InputWarning):
    """What was passed as probabilities looks like predicted classes: every entry is 0 or 1."""


class ReversedClassesWarning(InputWarning):
    """The predicted class is wrong so often that the columns seem to stand for other classes."""


class BoundaryScoresWarning(InputWarning):
    """Scores of 0 or 1 have no log-odds and are moved inside, which can decide a fit."""


class EdgeRoundingWarning(InputWarning):
    """Many scores in single precision lie on an edge of the bins but for their rounding."""


class InSampleWarning(CalibrantWarning):
    """A map is applied to the rows it was fitted on, where it looks better than it is."""


def warn_caller(message: str, category: type[CalibrantWarning] = CalibrantWarning) -> None:
    """Warn at the line of the user's own code that called calibrant, however many calls lie between."""
    package = __name__.partition(".")[0]
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
