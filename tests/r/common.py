"""The data sets and R's values of this folder (see README.md)."""

import csv
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from calibrant.validation.references import evaluate, load
from tests.in_turn import in_turn

HERE = Path(__file__).parent
SETS = ("birthwt", "infert", "pima", "pbc", "rotterdam", "gbsg", "rare", "ties")


@lru_cache
def data(name: str) -> Any:
    """A data set, with one array for each column."""
    with (HERE / "data" / f"{name}.csv").open() as file:
        head, *rows = csv.reader(file)
    columns = dict(zip(head, np.array(rows, dtype=float).T, strict=True))
    whole = ("y", "event", "centre", "stage")
    return SimpleNamespace(**{key: column.astype(int) if key in whole else column for key, column in columns.items()})


@lru_cache
def values(topic: str) -> list[dict[str, Any]]:
    """The entries of a topic."""
    entries: list[dict[str, Any]] = json.loads((HERE / f"{topic}.json").read_text())
    return entries


Compute = Callable[[Any], Any]


def weights(d: Any) -> Any:
    return 1 + np.arange(1, len(d.y) + 1) % 5


def written(expression: str) -> Compute:
    """An expression of the columns of a data set."""

    def compute(d: Any) -> Any:
        value, error = evaluate(expression, vars(d))
        assert not error, f"{expression}: {error}"
        return value

    return compute


@lru_cache
def stored_calls(topic: str) -> dict[str, Compute]:
    """The calls of a topic that `calibrant validate` compares too, with the expressions that are stored there."""
    return {row.source_call: written(row.call) for row in load("r") if row.source.endswith(f"/{topic}.R")}


def every_call(topic: str, computed: Mapping[str, Compute]) -> Callable[[Callable[[str, Compute], None]], Any]:
    """Check all calls of a topic in turn; `computed` has a function of the data set for those that are not stored."""
    calls = dict.fromkeys(entry["call"] for entry in values(topic))
    known = {**stored_calls(topic), **computed}
    assert set(calls) == set(known), set(calls) ^ set(known)

    def decorate(test: Callable[[str, Compute], None]) -> Any:
        def check(call: str) -> None:
            test(call, known[call])

        return in_turn("call", list(calls))(check)

    return decorate


def compare(topic: str, call: str, compute: Compute, rtol: float, atol: float = 0.0) -> None:
    """Compare calibrant's values with R's on every data set of a call."""
    for entry in values(topic):
        if entry["call"] == call:
            ours = np.asarray(compute(data(entry["data"])), dtype=float).ravel()
            np.testing.assert_allclose(ours, np.ravel(entry["value"]), rtol, atol, err_msg=entry["data"])
