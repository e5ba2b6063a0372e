"""The simulations run in their short form, do not depend on how they are shared out, and the page says what they gave."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binom

from calibrant.inference.metric_tests import DEFAULT_TESTS
from experiments import simulations, simulations_page, simulations_plan

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("simulations") / "small.json"
    command = [sys.executable, "-W", "error", "-m", "experiments.simulations", "--small", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text())


@pytest.mark.deep
def test_work_may_be_shared_out_in_any_way(small: dict[str, Any]) -> None:
    """Some of the work, run here and backwards, gives the counts of the two processes."""
    chosen = [
        task for task in simulations.tasks(small=True) if task.names[0] in ("ecd", "ece drawn", "skce_uq bootstrap")
    ]
    parts = [(task, simulations.run_task(task)) for task in reversed(chosen) if task.kind == "size"]
    rows = simulations.added_up([row for _, part in reversed(parts) for row in part])
    assert len(rows) > 10
    for row in rows:
        assert row in small["rows"]


def test_no_number_of_parts_loses_a_run() -> None:
    for runs in (1, 7, 60, 5000):
        parts = list(simulations._parts("size", ("ecd",), "calibrated", 2, "even", 100, runs, 0))
        covered = [run for task in parts for run in range(task.first, task.stop)]
        assert covered == list(range(runs))


def test_the_plan_holds_what_it_names() -> None:
    for plan in [*simulations_plan.SIZE, *simulations_plan.HARD, *simulations_plan.POWER]:
        assert set(plan.tests) <= set(simulations_plan.TESTS)
    own = [*simulations_plan.OWN, *simulations_plan.OWN_SLOWLY]
    assert sorted(own) == sorted(DEFAULT_TESTS)
    every = [*own, *simulations_plan.SLOWLY, *simulations_plan.QUICKLY, *simulations_plan.UNTESTED]
    assert sorted(every) == sorted(simulations.cal.catalogue)
    seen = [
        (name, classes, n, distribution)
        for plan in [*simulations_plan.SIZE, *simulations_plan.HARD]
        for name in plan.tests
        for classes in plan.classes
        for n in plan.runs
        for distribution in plan.distributions
    ]
    assert len(seen) == len(set(seen))


def row_of(test: str, rejected: list[int], runs: int = 5000, n: int = 1000) -> dict[str, Any]:
    return {"test": test, "rejected": rejected, "runs": runs, "n": n, "distribution": "even", "classes": 2}


def test_band_is_binomial() -> None:
    low, high = simulations_page.band(5000, 0.05)
    inside = binom.cdf(round(5000 * high), 5000, 0.05) - binom.cdf(round(5000 * low) - 1, 5000, 0.05)
    assert 0.999 <= inside < 0.9993


@pytest.mark.parametrize(
    ("test", "rejected", "n", "expected"),
    [
        ("ece drawn", [50, 250, 500], 1000, "nominal"),
        ("ece drawn", [50, 350, 500], 1000, "**outside**"),
        ("ece drawn", [50, 150, 500], 1000, "**outside**"),
        ("ecd", [50, 150, 500], 1000, "asymptotic, conservative"),
        ("ecd", [90, 250, 500], 1000, "asymptotic, slightly liberal"),
        ("ecd", [90, 450, 500], 1000, "**outside**"),
        ("ecd", [90, 450, 500], 100, "asymptotic, few rows"),
        ("skce_uq distribution_free", [0, 0, 1], 1000, "conservative bound"),
        ("skce_uq distribution_free", [0, 400, 600], 1000, "**outside**"),
        ("t_cal normal", [150, 350, 500], 1000, "documented"),
    ],
)
def test_verdicts(test: str, rejected: list[int], n: int, expected: str) -> None:
    assert simulations_page.verdict(row_of(test, rejected, n=n), simulations_plan.TESTS[test]) == expected


def test_truths_are_limits() -> None:
    assert simulations.truth_of("cox_slope", "temperature 1.5") == pytest.approx(2 / 3)
    assert simulations.truth_of("brier", "calibrated") == pytest.approx(1 / 6)
    assert simulations.truth_of("ece", "calibrated") == 0
    big = simulations.make_miscalibrated(400_000, warp=simulations_plan.TRUTHS["temperature 1.5"], rng=1).predictions
    for metric in ("ece", "ce2_db", "ecce_mad", "brier", "ecd"):
        value = float(simulations.cal.catalogue[metric](big))
        assert value == pytest.approx(simulations.truth_of(metric, "temperature 1.5"), abs=0.004), metric


def test_drawn_tests_hold_their_level_as_recorded() -> None:
    """Tests by simulated labels hold their level for any number of rows; they may be conservative."""
    results = json.loads((ROOT / "experiments" / "simulations.json").read_text(encoding="utf-8"))
    rows = [row for row in results["rows"] if row["kind"] == "size"]
    drawn = [row for row in rows if simulations_plan.TESTS[row["test"]].validity == "simulated"]
    assert len(drawn) > 25
    for row in drawn:
        for count, alpha in zip(row["rejected"], simulations_plan.ALPHAS, strict=True):
            assert count / row["runs"] <= simulations_page.band(row["runs"], alpha)[1], row


def test_what_assess_chooses_holds_its_level_as_recorded() -> None:
    results = json.loads((ROOT / "experiments" / "simulations.json").read_text(encoding="utf-8"))
    rows = [row for row in results["rows"] if row.get("test") in simulations_plan.AUTOMATIC]
    assert {row["distribution"] for row in rows} == set(simulations_plan.SETTINGS)
    assert {row["test"] for row in rows} == set(simulations_plan.AUTOMATIC)
    for row in rows:
        assert simulations_page.verdict(row, simulations_plan.TESTS[row["test"]]) != "**outside**", row


def test_default_tests_hold_their_level_with_few_scores_as_recorded() -> None:
    """Every metric, on grades, points and rare events: none may reject too often, and closed-form tests not too rarely."""
    results = json.loads((ROOT / "experiments" / "simulations.json").read_text(encoding="utf-8"))
    rows = [row for row in results["rows"] if row["kind"] == "few"]
    assert {row["test"] for row in rows} == set(simulations.cal.catalogue) - {*simulations_plan.UNTESTED}
    assert {row["distribution"] for row in rows} == set(simulations_plan.FEW)
    for row in rows:
        runs = row["runs"] - row["undefined"]
        low, high = simulations_page.band(runs, 0.05) if runs else (0.0, 1.0)
        assert row["rejected"][1] <= high * runs, row
        assert row["rejected"][1] >= low * runs or row["simulated"] > 0, row


@pytest.mark.deep
def test_rows_taken_out_of_the_results_are_run_again(small: dict[str, Any], tmp_path: Path) -> None:
    """Of the tests that share their rows only those that are missing are left to run."""
    out = tmp_path / "part.json"
    rows = [row for row in small["rows"] if row.get("test") != "hosmer_lemeshow C"]
    out.write_text(json.dumps({**small, "rows": rows}))
    work = simulations.tasks(small=True)
    done, _ = simulations.earlier(out, work)
    ahead = [task for number, task in enumerate(work) if number not in done]
    assert ahead
    assert {task.names for task in ahead} == {("hosmer_lemeshow C",)}
