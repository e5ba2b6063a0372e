"""Errors of the library in the terms of a command: options instead of keywords, lines of a file instead of rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextvars import ContextVar
from typing import Any

from ..errors import Alternative, CalibrantError, CalibrantWarning, InPython, Use, Wording
from .places import place_of

# Options whose names differ from those of the arguments; of several, the first that was given, else the first that exists.
OPTIONS = {
    "y_true": ("--label",),
    "lens": ("--lens", "--class-groups"),
    "where": ("--select", "--where"),
    "y_prob": ("--models", "--prob", "--probs", "--logits", "--confidence-column"),
    "scores": ("--prob", "--probs", "--logits"),
    "prob": ("--prob", "--probs"),
    "when": ("--time",),
    "times": ("--by",),
    "ids": ("--id",),
    "metric": ("--metric", "--metrics"),
    "use_case": ("--for",),
    "purpose": ("--for",),
    "input": ("--logits",),
    "sample_weight": ("--weight",),
    "groups": ("--by",),
    "cluster": ("--cluster",),
    "n_resamples": ("--resamples",),
    "rng": ("--seed",),
    "level": ("--level", "--interval"),
    "kind": ("--compare",),
    "path": ("--out",),
    "options": ("--option",),
    "missing": ("--drop-missing",),
    "labels": ("--tag",),
}
# Options that take no value, or other values than the argument.
VALUELESS = ("--logits", "--normalize", "--clip", "--drop-missing")
# Remedies where the library has only some in Python.
INSTEAD = {
    "y_true": "name another column with --label",
    "y_prob": "name other columns",
    "scores": "name other columns",
    "sample_weight": "name another column",
    "counts": "name another column",
    "features": "metrics of features are available in Python only",
    "proximity": "metrics of features are available in Python only",
    "times": "name a column of years, or of labels such as 2026 Q1 or 2026-01",
    "calibrator": "name a file that calibrant fit wrote",
}
LONGEST = 5


class OptionWording(Wording):
    """The names of options of one command.

    Parameters
    ----------
    options : collection of str
        The options that the command has.
    typed : sequence of str
        The words on the command line, which decide between options that give the same argument.
    """

    verb = "use"

    def __init__(self, options: Collection[str], typed: Sequence[str] = ()) -> None:
        self._options = options
        self._typed = {word.partition("=")[0] for word in typed}

    def name(self, argument: str) -> str | None:
        """The option that gives an argument."""
        if argument in self._options:
            return argument if argument.startswith("-") else argument.upper()  # positional
        known = (*OPTIONS.get(argument, ()), f"--{argument.replace('_', '-')}")
        found = [option for option in known if option in self._options]
        return next((option for option in found if option in self._typed), found[0] if found else None)

    def given(self, argument: str, value: Any) -> str | None:
        """An option with its value as it is typed."""
        option = self.name(argument)
        if option is None or value is False:
            return None
        return option if value is None or value is True or option in VALUELESS else f"{option} {_typed(value)}"

    def row(self, row: int) -> str:
        """The line of the file where it is known."""
        return place_of(row)

    def instead(self, argument: str) -> str:
        """A remedy for an argument where the library has only some in Python."""
        return INSTEAD.get(argument, "")

    def alternative(self, remedy: Alternative) -> tuple[str, str]:
        """Remedies without those in Python code."""
        if isinstance(remedy, Use) and remedy.argument == "missing" and self.name("missing") is None:
            return "", "drop or fill these rows"
        return ("", "") if isinstance(remedy, InPython) else super().alternative(remedy)


def _typed(value: Any) -> str:
    """A value as it is typed after an option: the entries of a list with commas and without blanks."""
    if isinstance(value, (str, int, float)):
        return str(value)
    entries = [str(entry) for entry in value]
    return ",".join(entries if len(entries) <= LONGEST else [*entries[:2], "...", entries[-1]])


_wording: ContextVar[OptionWording] = ContextVar("wording")


def set_wording(options: Collection[str], typed: Sequence[str]) -> None:
    """Note the options of the command that runs."""
    _wording.set(OptionWording(options, typed))


def note_options(options: Sequence[str]) -> None:
    """Note options that were configured, as if they were typed."""
    found = _wording.get(None)
    if found is not None:
        found._typed.update(options)


def in_options(message: CalibrantError | CalibrantWarning) -> str:
    """An error or a warning as one line, in the terms of the command that runs."""
    return " ".join(message.render(_wording.get(OptionWording(()))).split())
