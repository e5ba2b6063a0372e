"""The tables of docs/migration.md: they are those of the stored comparison, what is called the same is the same, and others agree with it."""

from __future__ import annotations

import ast
import importlib.util
import json
import math
import re
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: the data sets need it")

from experiments import migration
from experiments.migration_calls import CALLS, MODULES, Call

STORED = json.loads(migration.STORED.read_text())
ROWS = {(row["peer"], row["kind"], row["theirs"], row["ours"]): row for row in STORED["rows"]}


def found_of(call: Call) -> list[dict[str, Any]]:
    return ROWS[call.peer, call.kind, call.theirs, call.ours]["found"]


def name_of(call: Call) -> str:
    return f"{call.peer}, {call.kind}: {call.ours}"


def test_every_call_is_stored_once_and_nothing_else_is() -> None:
    assert sorted(ROWS) == sorted((c.peer, c.kind, c.theirs, c.ours) for c in CALLS)
    assert len(STORED["rows"]) == len(CALLS)
    assert set(STORED["versions"]) == set(MODULES) == {c.peer for c in CALLS}


def test_page_has_the_tables_of_the_results() -> None:
    page = migration.PAGE.read_text(encoding="utf-8")
    assert migration.written(page, STORED) == page
    marks = re.findall(r"^<!-- (?!end)(.*) -->$", page, re.MULTILINE)
    assert sorted(marks) == sorted(migration.tables(STORED))


def test_page_describes_every_data_set() -> None:
    page = migration.PAGE.read_text(encoding="utf-8")
    described = {
        name.strip() for line in re.findall(r"^\| (.+?) \| \d+ \|", page, re.MULTILINE) for name in line.split(",")
    }
    assert described == {name for names in migration.SETS.values() for name in names}
    for name, rows in migration.ROWS.items():
        assert f"| {name} | {rows} |" in page
        assert name == "even" or (rows % 10 and rows % 15)


def test_data_sets_hold_what_they_are_called_after() -> None:
    of = migration.data
    assert np.isin(np.round(of("binary", "on edges")["p"] * 30, 9), np.arange(31)).all()
    assert len(np.unique(of("binary", "tied")["p"])) < 100
    both = of("binary", "0 and 1")
    assert {0.0, 1.0} <= set(both["p"].tolist())
    assert both["y"][both["p"] == 0].any()
    assert of("binary", "single")["p"].dtype == np.float32
    assert 0.01 < of("binary", "rare")["y"].mean() < 0.04
    tied = of("classes", "tied")["p"]
    assert (np.sort(tied, axis=1)[:, -1] == np.sort(tied, axis=1)[:, -2]).any()
    assert (of("classes", "zeros")["p"] == 0).any()


def test_calls_of_calibrant_do_not_read_the_other_package() -> None:
    for call in CALLS:
        names = {node.id for node in ast.walk(ast.parse(call.ours)) if isinstance(node, ast.Name)}
        assert not names & {"metrics", "measures", "calibration", "probcal", "relplot"}, call.ours


@pytest.mark.parametrize("call", [c for c in CALLS if "theirs" in found_of(c)[0]], ids=name_of)
def test_what_is_called_the_same_is_still_the_number_of_the_other_package(call: Call) -> None:
    """The other package's number is the stored one, so that this needs none of them."""
    if "torch" in call.ours:
        pytest.importorskip("torch")
    held = 0
    for one in found_of(call):
        if one.get("difference", math.inf) > migration.SAME:
            continue
        ours = migration._answer(call.ours, "calibrant", migration.data(call.kind, one["set"]))
        assert not isinstance(ours, str), ours
        assert float(ours) == pytest.approx(one["theirs"], abs=1.01 * migration.SAME), one["set"]
        held += 1
    assert held == sum(one.get("difference", math.inf) <= migration.SAME for one in found_of(call))


@pytest.mark.deep
@pytest.mark.parametrize("call", CALLS, ids=name_of)
def test_other_packages_are_as_far_off_as_the_page_says(call: Call) -> None:
    if importlib.util.find_spec(MODULES[call.peer]) is None:
        pytest.skip(f"PEER NOT INSTALLED: {call.peer}; `make bench` makes an environment that has it")
    now = [migration.run(call, name) for name in migration.SETS[call.kind]]
    for before, after in zip(found_of(call), now, strict=True):
        assert set(before) == set(after), before["set"]
        if "difference" in before:
            assert (before["difference"] <= migration.SAME) == (after["difference"] <= migration.SAME), before["set"]
            if math.isfinite(before["difference"]):
                assert after["difference"] == pytest.approx(before["difference"], rel=0.1, abs=1e-4), before["set"]


@pytest.mark.deep
def test_kuiper_of_mapie_leaves_out_the_zero() -> None:
    """Where all cumulative differences lie on one side it is smaller, by at most one row."""
    measures = pytest.importorskip("mapie.metrics.calibration", reason="PEER NOT INSTALLED: MAPIE")
    import calibrant as cal

    y, p = np.zeros(3, int), np.array([0.8, 0.85, 0.9])
    theirs = measures.kuiper_statistic(y, p) * np.sqrt((p * (1 - p)).sum()) / len(p)
    assert cal.ecce_r(y, p) == pytest.approx(2.55 / 3)
    assert theirs == pytest.approx(1.75 / 3, abs=1e-6)
    assert 0 < cal.ecce_r(y, p) - theirs <= 1 / len(p)


def test_cells_say_where_it_differs() -> None:
    def one(name: str, difference: float) -> dict[str, Any]:
        return {"set": name, "difference": difference}

    assert migration.cell([one("a", 0.0), one("b", 1e-7)]) == "same"
    assert migration.cell([one("a", 0.0), one("b", 0.0123)]) == "same; b: 0.01"
    assert migration.cell([one("a", 2e-6), one("b", 3e-5)]) == "at most 3e-05"
    assert migration.cell([one("a", math.inf), one("b", 12.3)]) == "a: infinite in calibrant, b: 12"
    assert migration.cell([{"set": "a", "theirs": "ValueError: no"}]) == "error in the other package"
    assert migration.cell([one("a", math.nan), one("b", 0.0)]) == "same; a: NaN in the other package"
