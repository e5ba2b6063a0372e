"""The benchmarks run, their values agree, and their results have the form the page is written from; speed is not tested.

Other packages need not be there: those that are not are named in the results, and the tables are tested on lists of their own.
"""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from calibrant.util import kernels

FOLDER = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("bench") / "results.json"
    command = [sys.executable, str(FOLDER / "run.py"), "--quick", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Top-label ECE" in done.stdout
    return json.loads(out.read_text())


@pytest.mark.deep
def test_values_agree(results: dict[str, Any]) -> None:
    for case in results["cases"]:
        value = {entry["name"]: entry["value"] for entry in case["contenders"]}
        for entry in case["contenders"]:
            if entry["name"] == "scikit-learn" and case["id"] == "map_platt":
                assert re.match("differs by up to .*: smooths its targets", entry["verdict"])
            elif entry["verdict"] != "does not return this value":
                assert entry["verdict"] == "agrees", (case["title"], entry)
        if "calibrant" in value:
            assert value["calibrant"] == value["calibrant without numba"]


@pytest.mark.deep
def test_page_is_written_from_the_results(results: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    code = "import json, sys; from pathlib import Path; from page import write_page; "
    code += "write_page(json.loads(sys.stdin.read()), {}, Path(sys.argv[1]))"
    subprocess.run(
        [sys.executable, "-c", code, str(path)], input=json.dumps(results), text=True, check=True, cwd=FOLDER
    )
    page = path.read_text()
    assert all(f"| {case['title']}, " in page for case in results["cases"])
    assert "Where another package is faster" in page


def test_every_compiled_loop_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    from worker import without_numba

    # The loops are those functions of the module that `compiled` can be asked for.
    loops = [value for name, value in vars(kernels).items() if callable(value) and hasattr(value, "__code__")]
    loops = [loop for loop in loops if loop.__module__ == kernels.__name__ and "compile" not in loop.__name__]
    assert len(loops) >= 5
    with without_numba():
        assert all(kernels.compiled(loop, 10**12) is None for loop in loops)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The modules of the benchmarks."""
    monkeypatch.syspath_prepend(str(FOLDER))
    names = ("all_cases", "cases", "catalogue", "environments", "features", "page", "tables")
    return SimpleNamespace(**{name: importlib.import_module(name) for name in names})


PLACE = {
    "folder": ".bench-x",
    "note": "A note.",
    "packages": ["one", "two"],
    "absent": "needs Python 3.99",
    "versions": {"python": "3.11", "one": "1.2"},
}
FEATURES = {
    "date": "2026-01-01",
    "versions": {},
    "wrong": [],
    "features": [
        {
            "title": "measures of calibration and proper scores",
            "words": "",
            "cells": {"calibrant": {"value": 7, "by": []}, "one": {"value": 0, "by": []}, "two": None},
        },
        {
            "title": "errors by group",
            "words": "group|segment",
            "cells": {
                "calibrant": {"value": True, "by": "calibrant:mcm(groups)"},
                "one": {"value": False, "found": ["groups"], "but": "of channels"},
                "two": None,
            },
        },
    ],
}


def test_every_peer_is_a_contender_and_is_pinned(bench: SimpleNamespace) -> None:
    needed = {contender.needs for case in bench.all_cases.ALL_CASES for contender in case.contenders}
    for peer in bench.environments.PEERS:
        assert peer.module in needed, peer
        pinned = re.findall(r"^([\w-]+)==", bench.environments.ENVIRONMENTS[peer.environment].wanted, re.MULTILINE)
        assert peer.name in pinned or peer.name in ("scikit-learn", "torchmetrics"), peer
    assert "torch" not in "".join(bench.environments.ENVIRONMENTS["main"].wanted.split(bench.environments.WITHOUT)[0])


def test_cases_ask_for_an_environment_that_has_their_packages(bench: SimpleNamespace) -> None:
    home = {peer.module: peer.environment for peer in bench.environments.PEERS}
    for case in bench.all_cases.ALL_CASES:
        for contender in case.contenders:
            assert home.get(contender.needs, case.environment) == case.environment, (case.id, contender.name)


def test_predictions_are_compared_one_by_one(bench: SimpleNamespace) -> None:
    known = bench.cases.Contender("x", "numpy", lambda y, p: lambda: None, "it rounds")
    nobody_knows = bench.cases.Contender("x", "numpy", lambda y, p: lambda: None)
    ours, theirs = np.array([0.1, 0.2]), np.array([0.1, 0.25])
    assert bench.cases.verdict(known, ours, ours + 1e-9) == "agrees"
    assert bench.cases.verdict(known, theirs, ours) == "differs by up to 0.05: it rounds"
    assert bench.cases.verdict(nobody_knows, theirs, ours) == ""
    assert bench.cases.verdict(known, np.array([0.1, np.nan]), ours) == ""
    assert bench.cases.as_number(np.array([3.0, 4.0])) == pytest.approx(np.sqrt(12.5))


def test_a_python_that_is_not_there_is_told(bench: SimpleNamespace) -> None:
    with pytest.raises(
        bench.environments.NotInstallableError, match=r"needs Python 3\.90, which is not installed here"
    ):
        bench.environments._newer_python((3, 90))


def test_page_tells_what_could_not_be_installed(bench: SimpleNamespace) -> None:
    lines = bench.tables.environment_lines({"environments": {"x": PLACE}})
    assert "| one | 1.2 | .bench-x | 3.11 |" in lines
    assert "| two | not installable here: needs Python 3.99 | .bench-x | 3.11 |" in lines
    assert bench.tables.environment_lines({}) == []


def test_feature_table_shows_names_words_and_exceptions(bench: SimpleNamespace) -> None:
    text = "\n".join(bench.tables.feature_lines(FEATURES))
    assert "| errors by group | yes | no | ? |" in text
    assert "calibrant `calibrant:mcm(groups)`. Search terms: `group or segment`." in text
    assert "one (of channels)" in text
    assert bench.tables.feature_lines({}) == []


@pytest.mark.deep
def test_readme_table_has_ratios(results: dict[str, Any], bench: SimpleNamespace) -> None:
    text = bench.page.readme_table(results)
    assert text.startswith(bench.tables.BEGIN)
    assert text.rstrip().endswith(bench.tables.END)
    case = next(case for case in results["cases"] if case["id"] == "top_label_10")
    took = {entry["name"]: entry["median_ms"] for entry in case["contenders"]}
    own = took.get("calibrant", took["calibrant without numba"])
    assert f"| top-label ECE, 1 000 000 x 10 | {own:.3g} ms |" in text


def test_readme_shows_what_was_measured(bench: SimpleNamespace) -> None:
    folder = Path(bench.page.__file__).parent
    known = json.loads((folder / "results.json").read_text())
    assert bench.page.readme_table(known).strip() in (folder.parent / "README.md").read_text(), "run benchmarks/page.py"


def test_metrics_and_calibrators_of_the_readme_are_counted_anew(bench: SimpleNamespace) -> None:
    found = json.loads((Path(bench.page.__file__).parent / "features.json").read_text())["features"]
    for row in found[:2]:
        cell = row["cells"]["calibrant"]
        assert cell["value"] == bench.features.count(cell["by"]), "run benchmarks/run.py --only features"


def test_list_of_features_speaks_of_known_packages(bench: SimpleNamespace) -> None:
    known = {"calibrant", *(peer.name for peer in bench.environments.PEERS)}
    listed = bench.features.listed()
    titles = [row["title"] for kind in ("count", "feature") for row in listed[kind]]
    assert len(titles) == len(set(titles)) >= 25
    for row in listed["feature"]:
        assert re.compile(row["words"])
        assert set(row["has"]) | set(row.get("but", {})) <= known
        assert not set(row["has"]) & set(row.get("but", {}))
        assert "calibrant" in row["has"]
    assert all(set(row["names"]) <= known for row in listed["count"])


def test_features_of_calibrant_are_there(bench: SimpleNamespace) -> None:
    pytest.importorskip("torch", reason="the features of calibrant.torch are checked where torch is")
    pytest.importorskip("pyspark", reason="the features of calibrant.spark are checked where Spark is")
    cells, wrong = bench.features.check_package("calibrant", "calibrant")
    assert wrong == []
    assert cells[0]["value"] > 100
    assert cells[1]["value"] > 20


def test_search_finds_what_the_list_denies(
    bench: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "madeup_peer"
    (package / "tests").mkdir(parents=True)
    (package / "__init__.py").write_text(
        "class Smooth:\n    pass\n\ndef ece(y, *, n_boot=1):\n    pass\n\ndef _sweep(): pass\n"
    )
    (package / "tests" / "test_x.py").write_text("def sweep(): pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    names = bench.features.public_names("madeup_peer")
    assert {"Smooth", "ece", "y", "n_boot"} <= names
    assert not {"sweep", "_sweep"} & names
    row = {"title": "intervals", "words": "boot", "has": {}, "but": {}}
    assert "there are n_boot" in bench.features._cell("peer", row, names)[1]
    assert bench.features._cell("peer", {**row, "but": {"peer": "of trees"}}, names)[1] == ""
    assert "nothing is found" in bench.features._cell("peer", {**row, "words": "zzz", "but": {"peer": "x"}}, names)[1]
    assert bench.features._cell("peer", {**row, "has": {"peer": "madeup_peer:ece(n_boot)"}}, names) == (
        {"value": True, "by": "madeup_peer:ece(n_boot)"},
        "",
    )
    for path in ("madeup_peer:nothing", "madeup_peer:ece(weights)", "no_such_module_here:ece"):
        assert "which is not there" in bench.features._cell("peer", {**row, "has": {"peer": path}}, names)[1]


def test_times_are_extrapolated_by_their_growth(bench: SimpleNamespace) -> None:
    def known(*seconds: float, **more: float) -> list[dict[str, Any]]:
        found = [{"rows": 10 ** (4 + place), "seconds": each} for place, each in enumerate(seconds)]
        return [{**found[0], **more}, *found[1:]]

    for entries, expected in (
        (known(0.1), 10),  # in proportion
        (known(0.1, 10.0), 1000),  # with the square
        (known(1.0, 1.9), 10.9),  # a fixed part
        (known(4.0, tenth=0.04), 40_000),
    ):
        assert bench.catalogue.expected(entries, 10**6) == pytest.approx(expected)
    assert bench.catalogue.expected([], 10**4) == 0
    assert bench.catalogue.expected([{"rows": 10**4, "above": 20.0}], 10**5) == np.inf
    assert [bench.catalogue.duration(each) for each in (0.00042, 0.042, 4.2, 420, 42_000)] == [
        *("0.42 ms", "42 ms", "4.2 s", "7 min", "12 h")
    ]


def test_page_lists_what_is_slow_and_marks_what_was_not_run(bench: SimpleNamespace) -> None:
    entries = []
    for name, seconds in {"ece": (0.01, 0.1, 1.0), "lce": (0.2, None, None), "odd": (None, None, None)}.items():
        for place, each in enumerate(seconds):
            found = {"seconds": each, "mb": 3.0} if each else {"estimate": 20.0 * 10**place}
            found = {"refused": "not defined"} if name == "odd" else found
            entries.append(
                {"kind": "metric", "name": name, "classes": 2, "rows": 10 ** (4 + place), "sketch": True, **found}
            )
    text = bench.catalogue.page({"date": "2026-01-01", "load": 0.0, "entries": entries})
    assert "2 classes, 3 metrics." in text
    assert "| metric lce | ≈ 20 s |" in text
    assert "metric ece" not in text
