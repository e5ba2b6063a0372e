"""Every bad input raises an error that names the argument, the rule, the value, the row and the remedy."""

from __future__ import annotations

import pickle

import pytest

import calibrant as cal
from tests.in_turn import in_turn

from . import bad_labels, bad_options, bad_probabilities, bad_rows
from .cases import Bad

MODULES = (bad_probabilities, bad_labels, bad_rows, bad_options)
CASES = {f"{module.__name__.rsplit('_', 1)[1]}: {bad.id}": bad for module in MODULES for bad in module.TABLE}


@in_turn("bad", list(CASES.values()), lambda bad: bad.id)
def test_raises_a_useful_message(bad: Bad) -> None:
    with pytest.raises(cal.CalibrantError) as caught:
        bad.call()
    error, message = caught.value, str(caught.value)
    assert type(error) is bad.error
    assert isinstance(error, bad.base)
    assert error.argument == bad.argument
    assert message.startswith(f"{bad.argument}: ")
    for word in bad.words:
        assert word in message
    assert error.row == bad.row
    if bad.row is not None:
        assert f"row {bad.row}" in message
    # A message is read in a log: one line, no memory addresses, no dump of the data.
    assert "\n" not in message
    assert " at 0x" not in message
    assert len(message) < 400
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.argument, again.problem, again.remedy, again.row) == (
        type(error),
        message,
        error.argument,
        error.problem,
        error.remedy,
        error.row,
    )


def test_table_is_large_and_every_row_has_its_own_name() -> None:
    assert len(CASES) == sum(len(module.TABLE) for module in MODULES)
    assert len(CASES) >= 110
