"""Errors of the library in the terms of a command: options instead of keywords, lines of a file instead of rows."""

from __future__ import annotations

import re
from collections.abc import Collection

from ..errors import CalibrantError, CalibrantWarning, keep_alternatives
from .invocation import running
from .places import place_of

# Options whose names differ from those of the arguments; of several, the first that was given, else the first that exists.
OPTIONS = {
    "y_true": ("--label",),
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
    "level": ("--level",),
    "path": ("--out",),
    "options": ("--option",),
    "missing": ("--drop-missing",),
    "labels": ("--tag",),
}
# Options that take no value, or other values than the argument.
VALUELESS = ("--logits", "--normalize", "--clip", "--drop-missing")
# An argument with its value, and an argument that a remedy names after its verb or a problem as the other of two.
ASSIGNMENT = re.compile(r"""\b([a-z_]+)=('[^']*'|"[^"]*"|\[[^]]*\]|[-\w.]+)""")
MENTION = re.compile(r"\b(pass|drop|combined with|requires|satisfy) ([a-z_]+)\b")
# Code of Python: a call, an index, an attribute, or the name of a class.
CODE = re.compile(r"\w\(|\w\[|\b[a-z_]+\.[a-zA-Z_]+\b|\b[A-Z][a-z]+[A-Z]\w+|\b(y_true|y_prob)\b")
PYTHON_ONLY = ("classes", "counts", "features", "format", "groups", "multilabel", "order", "pos_label", "soft", "words")
UNAVAILABLE = re.compile(rf"\b(pass|drop) ({'|'.join((*OPTIONS, *PYTHON_ONLY))})\b")


class OptionWording:
    """The names of options of one command.

    Parameters
    ----------
    options : collection of str
        The options that the command has.
    typed : collection of str
        The options that were given, which decide between options that give the same argument.
    """

    def __init__(self, options: Collection[str], typed: Collection[str] = ()) -> None:
        self._options, self._typed = options, typed

    def name(self, argument: str) -> str | None:
        """The option that gives an argument."""
        if argument in self._options:
            return argument if argument.startswith("-") else argument.upper()  # positional
        options = (*OPTIONS.get(argument, ()), f"--{argument.replace('_', '-')}")
        present = [option for option in options if option in self._options]
        return next((option for option in present if option in self._typed), present[0] if present else None)

    def render(self, message: CalibrantError | CalibrantWarning) -> str:
        """An error or a warning as one line: option, problem, line of the file, and the remedies that the command has."""
        name = self.name(message.argument) or message.argument
        problem, remedy = message.describe(place_of), message.remedy
        if not message.argument.startswith("-"):  # errors of commands name their options already
            problem, remedy = self._translate(problem), self._remedy(remedy)
        text = f"{name}: {problem}" if name else problem
        return " ".join((text + (f"; {remedy}" if remedy else "")).split())

    def _translate(self, text: str) -> str:
        """Arguments as options; those that the command does not have stay."""

        def mention(match: re.Match[str]) -> str:
            return f"{match[1]} {self.name(match[2]) or match[2]}"

        def assignment(match: re.Match[str]) -> str:
            option = self.name(match[1])
            if option is None:
                return match[0]
            value = match[2].strip("'\"[]").replace("', '", ",").replace(", ", ",")
            return option if value == "True" or option in VALUELESS else f"{option} {value}"

        return MENTION.sub(mention, ASSIGNMENT.sub(assignment, text))

    def _remedy(self, remedy: str) -> str:
        """The alternatives without those in Python code or with arguments that the command does not have."""
        in_python = (ASSIGNMENT, CODE, UNAVAILABLE)
        text = keep_alternatives(
            self._translate(remedy), lambda part: not any(pattern.search(part) for pattern in in_python)
        )
        if text.startswith("--"):
            text = f"use {text}"
        return re.sub(r"\bpass (--[-\w]+)( to Predictions)?", r"use \1", text)


def in_options(message: CalibrantError | CalibrantWarning) -> str:
    """An error or a warning as one line, in the terms of the command that runs."""
    return OptionWording(running.options, running.typed).render(message)
