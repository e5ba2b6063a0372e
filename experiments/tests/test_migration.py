"""docs/migration.md: its tables are those of the stored comparison, no function of another package is forgotten, and what is the same stays the same.

The long form draws other data sets and runs both packages: those of the development environment here, the others in the
environments that `make bench` makes.
"""

import ast
import importlib.util
import math
import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: the data sets need it")

from benchmarks.environments import PEERS, Peer, ready
from experiments.migration import compare, table
from experiments.migration.calls import CALLS, FIGURES, MODULES, OUTSIDE, Call
from experiments.migration.data import SETS, data

STORED = table.load()
FRESH = (21, 22, 23)
"""Draws of the data sets that were not looked at when the page was written."""


SLOW = {"torch", "cv", "skce_uq", "calibration_belt", "giviti_test"}
"""Words in calls that the short form leaves out."""


def small(call: Call) -> str:
    return SETS[call.kind][0]


def stored(call: Call, name: str) -> dict[str, Any]:
    return next(one for one in STORED["rows"][call.key] if one["set"] == name)


def words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in re.findall(r"\w+", text)}


def test_every_call_is_stored_once_and_nothing_else_is() -> None:
    keys = [call.key for call in CALLS]
    assert len(set(keys)) == len(keys)
    assert set(STORED["rows"]) == set(keys)
    assert set(STORED["versions"]) == set(MODULES) == set(STORED["public"]) == {peer.name for peer in PEERS}


def test_page_has_the_tables_of_the_results() -> None:
    page = table.PAGE.read_text(encoding="utf-8")
    assert table.written(page, STORED) == page
    assert table.EVERYTHING.read_text(encoding="utf-8") == table.everything(STORED)
    marks = re.findall(r"^<!-- (?!end)(.*) -->$", page, re.MULTILINE)
    assert sorted(marks) == sorted(table.tables(STORED))


@pytest.mark.parametrize("peer", MODULES)
def test_no_public_function_is_forgotten(peer: str) -> None:
    """Each is in the table, or out of scope with a reason, and not both."""
    answered = words(one.theirs for one in (*CALLS, *FIGURES) if one.peer == peer)
    outside = [name for names in OUTSIDE.get(peer, {}).values() for name in names]
    assert len(set(outside)) == len(outside)
    assert not set(STORED["public"][peer]) - answered - set(outside)
    assert set(outside) <= set(STORED["public"][peer])
    called = {
        node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        for one in CALLS
        if one.peer == peer
        for node in ast.walk(ast.parse(one.theirs))
        if isinstance(node, ast.Call)
    }
    assert not set(outside) & called - {"fit", "bin", "split", "loss", "logit"}


@pytest.mark.parametrize("peer", dict.fromkeys(call.peer for call in CALLS))
def test_calls_of_calibrant_run_and_what_is_the_same_is_the_number_of_the_other_package(peer: str, deep: bool) -> None:
    """The other package's number is the stored one, so that this needs none of them."""
    for call in CALLS:
        if call.peer != peer or call.stored or (SLOW & words([call.ours]) and not deep):
            continue
        if "cal.torch" in call.ours:
            pytest.importorskip("torch", reason="torch is not installed")  # the tensors P and Y
        ours = compare.answer(call.ours, "calibrant", data(call.kind, small(call)))
        assert not isinstance(ours, str), (call.ours, ours)
        before = stored(call, small(call))
        if table.is_same(before):
            # Of two classes, another package may return the second only.
            sides = [ours, ours[:, 1]] if ours.ndim == 2 and ours.shape[1] == 2 else [ours]
            close = [compare.mean(side) == pytest.approx(before["mean"], abs=1.01 * table.SAME) for side in sides]
            assert any(close), call.key


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore")
def test_figures_and_reports_run() -> None:
    four = data("classes", "small")
    given = data("binary", "small") | {"y4": four["y"], "p4": four["p"]}
    given["grades"] = np.digitize(given["p"], [0.1, 0.3, 0.6])
    for code in dict.fromkeys(figure.ours for figure in FIGURES):
        names = dict(given)
        exec(compare.SETUP["calibrant"], names)
        assert eval(code, names) is not None, code


def environment_of(peer: Peer) -> str:
    """An interpreter with the package; the calling one if it has it."""
    import fcntl

    if importlib.util.find_spec(peer.module) is not None:
        return sys.executable
    with (Path(tempfile.gettempdir()) / "calibrant-environments.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two workers must not make one environment at a time
        pythons, facts = ready({peer.environment})
    if peer.environment not in pythons:
        pytest.skip(f"NO ENVIRONMENT FOR {peer.name}: {facts[peer.environment]['absent']}")
    return pythons[peer.environment]


@pytest.mark.deep
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_what_is_called_the_same_is_the_same_on_data_that_nobody_chose(peer: Peer) -> None:
    python = environment_of(peer)
    calls = {call.key: call for call in CALLS}
    held = 0
    for row in compare.elsewhere(python, [peer.name], FRESH, same=True):
        if "public" in row:
            assert row["public"] == STORED["public"][peer.name], "public functions have come or gone"
            continue
        held += 1
        for old, new in zip(STORED["rows"][row["key"]], row["found"], strict=True):
            assert not table.is_same(old) or table.agrees([new]), (row["key"], calls[row["key"]].note, old, new)
    assert held == sum(table.agrees(STORED["rows"][call.key]) for call in CALLS if call.peer == peer.name)


def test_cells_say_where_it_differs() -> None:
    def one(name: str, difference: float) -> dict[str, Any]:
        return {"set": name, "difference": difference if math.isfinite(difference) else str(difference)}

    assert table.cell([one("a", 0.0), one("b", 1e-7)]) == "1e-07"
    assert table.cell([one("a", 0.0), one("b", 0.0123)]) == "0; b: 0.01"
    assert table.cell([one("a", 2e-6), one("b", 3e-5)]) == "3e-05"
    assert table.cell([one("a", math.inf), one("b", 12.3)]) == "b: 12; a: infinite in calibrant"
    assert table.cell([{"set": "a", "their_error": "ValueError: no"}]) == "error in the other package"
    assert table.cell([one("a", math.nan), one("b", 0.0)]) == "0; a: NaN in the other package"
    assert table.cell([one(name, 0.01 * k) for k, name in enumerate("abcde", 1)]) == "up to 0.05 (e)"
