"""Every bad input raises an error that names the argument, the rule, the value, the row and the remedy: those of `messages.txt`.

`python -m tests.faults.test_bad_input` writes that file; what changes in it is read before it is committed.
"""

from __future__ import annotations

import pickle
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import calibrant as cal
from tests.in_turn import in_turn

from .cases import Call

TITLES = (
    "probabilities", "labels", "rows", "options", "lenses", "sketches", "inference", "decisions", "clinical", "metrics",
    "calibrators", "monitoring", "torch",
)  # fmt: skip
STORED = Path(__file__).with_name("messages.txt")


@cache
def cases() -> dict[str, Call]:
    """The calls by table and name; tables fit calibrators and networks when they are imported, which collection need not wait for."""
    tables = {title: import_module(f"tests.faults.bad_{title}").TABLE for title in TITLES}
    return {f"{title}, {name}": call for title, table in tables.items() for name, call in table.items()}


def error_of(call: Call) -> cal.CalibrantError:
    with pytest.raises(cal.CalibrantError) as caught:
        call()
    return caught.value


def describe(error: cal.CalibrantError) -> str:
    """Its class, the class of Python that it is, and its row; below them the message."""
    builtin = next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")
    row = "" if error.row is None else f", row {error.row}"
    return f"{type(error).__name__} ({builtin}){row}\n    {error}"


def stored() -> dict[str, str]:
    entries = [entry.split("\n") for entry in STORED.read_text(encoding="utf-8").strip().split("\n\n")]
    titles = [title.rpartition(": ") for title, _ in entries]
    return {name: f"{kind}\n{message}" for (name, _, kind), (_, message) in zip(titles, entries, strict=True)}


def test_raises_a_useful_message() -> None:
    in_turn("name", list(cases()), str)(check_message)()


def check_message(name: str) -> None:
    error = error_of(cases()[name])
    message = str(error)
    assert describe(error) == stored()[name]
    assert message.startswith(f"{error.argument}: ")
    assert error.row is None or f"row {error.row}" in message
    # A message is read in a log: one line, no memory addresses, no dump of the data.
    assert "\n" not in message
    assert " at 0x" not in message
    assert len(message) < 400
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), vars(again), str(again)) == (type(error), vars(error), message)


def test_every_message_is_that_of_a_bad_input() -> None:
    assert list(stored()) == list(cases())


if __name__ == "__main__":
    described = [f"{name}: {describe(error_of(call))}\n" for name, call in cases().items()]
    STORED.write_text("\n".join(described), encoding="utf-8")
