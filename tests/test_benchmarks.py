"""The benchmarks run, their values agree, and their results have the form the page is written from; speed is not tested."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from calibrant import _kernels

TASKS = ("smece", "ecce", "kuiper", "ici", "lowess", "cox")
FOLDER = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("bench") / "results.json"
    command = [sys.executable, str(FOLDER / "run.py"), "--quick", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Top-label ECE" in done.stdout
    return json.loads(out.read_text())


def test_results_say_when_where_and_with_what(results: dict[str, Any]) -> None:
    assert set(results) == {"date", "quick", "machine", "versions", "cases", "growth", "import_seconds"}
    assert results["quick"]
    assert set(results["machine"]) == {"cpu", "architecture", "cores", "system"}
    assert {"python", "calibrant", "numpy"} <= set(results["versions"])
    assert {"numpy", "calibrant"} == set(results["import_seconds"])


def test_all_cases_are_there(results: dict[str, Any]) -> None:
    assert [case["id"] for case in results["cases"]] == [
        *("top_label_10", "top_label_1000", "binary", "class_wise", "equal_mass"),
        *("class_wise_mass", "debiased", "sweep", "brier", "nll", "small"),
        *(f"{task}_{rows}" for rows in (10_000, 100_000) for task in TASKS),
        *("mmce_10000", "skce_10000"),
    ]
    keys = {"name", "value", "verdict", "calls", "median_ms", "best_ms", "reads", "best_reads", "peak_mb"}
    for case in results["cases"]:
        assert case["read_ms"] > 0
        assert all(set(entry) == keys for entry in case["contenders"])


def test_values_agree(results: dict[str, Any]) -> None:
    for case in results["cases"]:
        value = {entry["name"]: entry["value"] for entry in case["contenders"]}
        for entry in case["contenders"]:
            if entry["verdict"] != "gives no such number":
                assert entry["verdict"] == "agrees", (case["title"], entry)
        if "calibrant" in value:
            assert value["calibrant"] == value["calibrant without numba"]


def test_growth_is_measured(results: dict[str, Any]) -> None:
    found = results["growth"]
    assert set(found) == {"load", "scaling", "pairs", "all_metrics", "resampling"}
    assert {entry["metric"] for entry in found["scaling"]} == {
        *("smece", "lkce", "mmce", "smce", "ecce_mad", "ecce_r", "bbt"),
    }
    assert len({entry["rows"] for entry in found["scaling"]}) == 3
    assert {entry["metric"] for entry in found["pairs"]} == {"skce_uq", "dkde"}
    assert all(entry["ms"] > 0 and entry["argsorts"] > 0 for entry in [*found["scaling"], *found["pairs"]])
    assert found["all_metrics"]["values"] > 60


def test_resampled_intervals_agree(results: dict[str, Any]) -> None:
    few = min(entry["rows"] for entry in results["growth"]["resampling"])
    same = [entry for entry in results["growth"]["resampling"] if entry["rows"] == few]
    assert len(same) >= 3
    width = same[0]["high"] - same[0]["low"]
    for end in ("low", "high"):
        ends = [entry[end] for entry in same]
        assert max(ends) - min(ends) < width / 3, ends


def test_page_is_written_from_the_results(results: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    code = "import json, sys; from pathlib import Path; from page import write_page; "
    code += "write_page(json.loads(sys.stdin.read()), Path(sys.argv[1]))"
    subprocess.run(
        [sys.executable, "-c", code, str(path)], input=json.dumps(results), text=True, check=True, cwd=FOLDER
    )
    page = path.read_text()
    assert page.count("\n## ") == len(results["cases"]) + 6
    assert "Where another package is faster" in page


def test_every_compiled_loop_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    from worker import without_numba

    # The loops are those functions of the module that `compiled` can be asked for.
    loops = [value for name, value in vars(_kernels).items() if callable(value) and hasattr(value, "__code__")]
    loops = [loop for loop in loops if loop.__module__ == _kernels.__name__ and "compile" not in loop.__name__]
    assert len(loops) >= 5
    with without_numba():
        assert all(_kernels.compiled(loop, 10**12) is None for loop in loops)
