"""Call a function with keywords that belong to `Predictions` and to the lens, or the command line, and expect results or errors."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

import calibrant as cal
from calibrant.views.keywords import DATA_KEYWORDS

Run = Callable[..., tuple[int, str, str]]
"""The fixture `run`: calls the command line; gives exit code, output and errors."""


def call(function: Any, y_true: Any, y_prob: Any = None, **keywords: Any) -> Any:
    """The result of a function or metric: what describes the data goes to `Predictions`, and how classes are combined to the lens."""
    own = getattr(function, "options", {})
    reading = {name: keywords.pop(name) for name in DATA_KEYWORDS if name in keywords}
    combining = {
        name: keywords.pop(name) for name in ("combine", "class_weight") if name in keywords and name not in own
    }
    if combining:
        lens = cal.ordinal if keywords.get("lens") == "ordinal" else cal.classwise
        keywords["lens"] = lens(**combining)
    if isinstance(y_prob, Mapping) and reading:
        models = {name: cal.Predictions(y_true, each, **reading) for name, each in y_prob.items()}
        return function(models, **keywords)
    if isinstance(y_prob, Mapping):
        return function(y_true, y_prob, **keywords)
    data = y_true if y_prob is None and not reading else cal.Predictions(y_true, y_prob, **reading)
    return function(data, **keywords)


@contextmanager
def raises(kind: Any, argument: str) -> Iterator[pytest.ExceptionInfo[cal.CalibrantError]]:
    """An error of this class about this argument; how it is worded is held by tests/faults."""
    with pytest.raises(kind) as caught:
        yield caught
    assert caught.value.argument == argument, str(caught.value)


# The superuser may write everywhere, unless a process gives this up.
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
AS_OWNER = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if IS_ROOT else ()
"""Before a command: for whom the permissions of files count."""
needs_permissions = pytest.mark.skipif(
    IS_ROOT and shutil.which("setpriv") is None, reason="the superuser may write everywhere"
)


# Runs commands one after another and prints what each gave: a process of its own for each takes a second to start.
IN_TURN = """
import contextlib, io, json, sys
from calibrant.cli import main
answers = []
for arguments in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as stopped:
            answers.append((stopped.code or 0, out.getvalue(), err.getvalue()))
print(json.dumps(answers))
"""


def read_json(answer: tuple[int, str, str]) -> Any:
    """What a command printed as JSON, which ended without an error."""
    code, out, err = answer
    assert code == 0, err
    return json.loads(out)


def check_refusal(answer: tuple[int, str, str], *parts: str) -> None:
    """A command printed nothing but one line of error, with these parts, and ended with code 2."""
    code, out, err = answer
    assert (code, out, err.count("\n")) == (2, "", 1), (out, err)
    for part in parts:
        assert part in err
