"""How often the tests reject, and how often the intervals cover, on predictions whose calibration is known.

``make simulate`` runs all of it on two processes and writes simulations.json beside this file and docs/simulations.md;
``--small`` is a short form to see that everything works, ``--minutes`` stops after so long and keeps what was run, ``--resume``
goes on where a run was stopped, ``--page`` writes the page again from the results. Simulation number i of a scenario has its own generator, made from the names and i
alone, so that neither the number of processes nor the order of the work changes a result.
"""

import argparse
import json
import multiprocessing
import os
import time
import warnings
import zlib
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import calibrant as cal
from calibrant.inference.belt import giviti_test
from calibrant.inference.grades import hosmer_lemeshow_multinomial
from calibrant.inference.simulation.simulate import (
    make_calibrated,
    make_miscalibrated,
    true_calibration_error,
    true_value,
)
from calibrant.inference.simulation.warps import temperature
from experiments import simulations_hard as difficult
from experiments import simulations_plan as planned
from experiments.rendering import TABLES
from experiments.simulations_page import long_tables, page
from experiments.studies import draw_labels

HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "simulations.json", HERE.parent / "docs" / "simulations.md"
SEED = 20
# Parts into which the runs of a plan are cut; all plans get their first part before any gets its second.
PARTS = 10
# Ways to make an interval that resample nothing.
CLOSED_FORM = ("gamma", "normal", "asymptotic")
FUNCTIONS = {"giviti_test": giviti_test, "hosmer_lemeshow_multinomial": hosmer_lemeshow_multinomial}


class Task(NamedTuple):
    """Some runs of one plan in one scenario."""

    part: int
    kind: str
    names: tuple[str, ...]
    scenario: str
    classes: int
    distribution: str
    n: int
    first: int
    stop: int
    draws: int


def tasks(small: bool) -> list[Task]:
    """All work, cut into parts; the short form takes a few runs with few rows."""
    found: list[Task] = []
    draws, hard_draws = (planned.SMALL_DRAWS,) * 2 if small else (planned.DRAWS, planned.AUTO_DRAWS)
    calibrated = ("calibrated",)
    for kind, plans, scenarios, few_runs, drawn in (
        ("size", planned.SIZE, calibrated, 3, draws),
        ("size", planned.HARD, calibrated, 2, hard_draws),
        ("few", planned.EVERY_METRIC, calibrated, 1, planned.FEW_DRAWS),
        ("power", planned.POWER, planned.ALTERNATIVES, 2, draws),
    ):
        for plan in plans:
            least = 100 if kind == "few" else min(plan.runs)
            for classes, distribution, scenario, n in product(plan.classes, plan.distributions, scenarios, plan.runs):
                if not small or n == least:
                    runs = few_runs if small else plan.runs[n]
                    found += _parts(kind, plan.tests, scenario, classes, distribution, n, runs, drawn)
    rows, resamples = planned.COVERAGE_ROWS, planned.RESAMPLES
    for metric, methods in planned.COVERAGE.items():
        for (method, runs), truth in product(methods.items(), planned.TRUTHS):
            found += _parts("coverage", (metric, method), truth, 2, "even", rows, 1 if small else runs, resamples)
    runs = 1 if small else difficult.HARD_RUNS
    for metric, ways in difficult.HARD_INTERVALS.items():
        for way, distribution, truth in product(ways, difficult.HARD_SCORES, difficult.HARD_TRUTHS):
            found += _parts("hard", (metric, way), truth, 2, distribution, difficult.HARD_ROWS, runs, 0)
    return sorted(found, key=lambda task: task.part)


def _parts(
    kind: str, names: tuple[str, ...], scenario: str, classes: int, distribution: str, n: int, runs: int, draws: int
) -> Iterator[Task]:
    ends = np.linspace(0, runs, min(PARTS, runs) + 1).astype(int).tolist()
    for part, (first, stop) in enumerate(pairwise(ends)):
        yield Task(part, kind, names, scenario, classes, distribution, n, first, stop, draws)


def generator(task: Task, run: int, purpose: int) -> np.random.Generator:
    """The generator of one run: 0 draws its rows, 1 is for the test."""
    name = f"{task.kind} {task.scenario} {task.classes} {task.distribution} {task.n}"
    return np.random.default_rng([SEED, zlib.crc32(name.encode()), run, purpose])


def rows_of(task: Task, run: int) -> cal.Predictions:
    """The rows of one run."""
    rng = generator(task, run, 0)
    if task.distribution in planned.SETTINGS:
        score, weight = planned.SETTINGS[task.distribution](rng, task.n, task.classes)
        return cal.Predictions(draw_labels(score, rng), score, sample_weight=weight, classes=range(task.classes))
    if task.distribution in planned.FEW:
        score = planned.few_scores(task.distribution, rng, task.n)
        outcome = draw_labels(score, rng)
        # For metrics that compare groups or rows with similar features.
        others = {"groups": rng.integers(4, size=task.n), "features": rng.normal(size=(task.n, 2))}
        return cal.Predictions(outcome, score, **others)
    if task.kind == "hard":
        return difficult.hard_rows(task.distribution, task.scenario, task.n, rng)
    distribution = planned.parameters(task.distribution, task.classes)
    if task.kind == "size":
        return make_calibrated(task.n, distribution=distribution, rng=rng).predictions
    warp = planned.ALTERNATIVES[task.scenario] if task.kind == "power" else planned.TRUTHS[task.scenario]
    return make_miscalibrated(task.n, warp=warp, distribution=distribution, rng=rng).predictions


def pvalue_of(test: planned.Test, rows: cal.Predictions, draws: int, rng: np.random.Generator) -> tuple[float, bool]:
    """The p-value of one test, NaN where it has none, and whether labels were simulated for it."""
    try:
        if test.metric in FUNCTIONS:
            found = FUNCTIONS[test.metric](rows, method=test.method, n_resamples=draws, rng=rng)
        else:
            words: dict[str, Any] = {"n_resamples": draws, "rng": rng, **test.options}
            found = cal.assess(rows, metric=test.metric, method=test.method, **words)
        return found.pvalue, found.method == "consistency"
    except cal.errors.UndefinedMetricError:
        return float("nan"), False


def run_tests(task: Task) -> list[dict[str, Any]]:
    """How often each test rejected at each level; the runs in which it had no p-value are counted as runs."""
    pvalues = np.empty((task.stop - task.first, len(task.names)))
    simulated = np.zeros(len(task.names), int)
    for place, run in enumerate(range(task.first, task.stop)):
        rows = rows_of(task, run)
        for column, name in enumerate(task.names):
            test = planned.auto(name) if task.kind == "few" else planned.TESTS[name]
            pvalues[place, column], drawn = pvalue_of(test, rows, task.draws, generator(task, run, 1))
            simulated[column] += drawn
    return [
        {
            **_where(task),
            "test": name,
            "draws": task.draws if name in planned.RESAMPLED or is_chosen(task, name) else 0,
            "runs": len(pvalues),
            "undefined": int(np.isnan(pvalues[:, column]).sum()),
            # A p-value of k / (draws + 1) must not miss its level by rounding.
            "rejected": [int((pvalues[:, column] <= alpha * (1 + 1e-9)).sum()) for alpha in planned.ALPHAS],
            **({"simulated": int(simulated[column])} if is_chosen(task, name) else {}),
        }
        for column, name in enumerate(task.names)
    ]


def is_chosen(task: Task, name: str) -> bool:
    """Whether `assess` chooses the null distribution."""
    return task.kind == "few" or name in planned.AUTOMATIC


SETTING = ("kind", "scenario", "classes", "distribution", "n")


def _where(task: Task) -> dict[str, Any]:
    return {name: getattr(task, name) for name in SETTING}


def run_intervals(task: Task) -> list[dict[str, Any]]:
    """How often the intervals held the true value, or lay above or below it."""
    metric, method = task.names
    truth = truth_of(metric, task.scenario, task.distribution if task.kind == "hard" else "")
    ends: list[tuple[float, float]] = []
    for run in range(task.first, task.stop):
        words: dict[str, Any] = {}
        if method not in CLOSED_FORM:
            words = {"n_resamples": task.draws, "rng": generator(task, run, 1)}
        try:
            found = cal.interval(rows_of(task, run), metric=metric, method=method, **words)
        except cal.errors.UndefinedMetricError:
            continue
        ends.append((found.low, found.high))
    if not ends:
        return []
    low, high = np.array(ends).T
    counts = {"above": int((low > truth).sum()), "below": int((high < truth).sum())}
    row = {"metric": metric, "method": method, "draws": 0 if method in CLOSED_FORM else task.draws, "truth": truth}
    runs = task.stop - task.first
    row |= {"runs": runs, "undefined": runs - len(ends), **counts, "width": float((high - low).sum())}
    return [{**_where(task), **row}]


KNOWN_TRUTHS: dict[tuple[str, str, str], float] = {}


def truth_of(metric: str, scenario: str, distribution: str = "") -> float:
    """What the metric tends to: by quadrature, or 0 for errors of calibrated scores, or by two million rows; `distribution` names hard scores."""
    key = (metric, scenario, distribution)
    if key not in KNOWN_TRUTHS:
        KNOWN_TRUTHS[key] = (
            difficult.hard_truth(metric, distribution, scenario)
            if distribution
            else _truth_of(metric, planned.TRUTHS[scenario])
        )
    return KNOWN_TRUTHS[key]


def _truth_of(metric: str, warp: temperature) -> float:
    if metric in ("brier", "ecd", "ecce_mad"):
        return true_value(warp, metric=metric)
    if metric == "cox_slope":
        return 1 / warp.k
    if warp.k == 1:
        return 0.0
    if metric in ("ece", "ce2_db"):  # even scores: bins of equal mass are bins of equal width
        norm = 1 if metric == "ece" else 2
        return true_calibration_error(warp, norm=norm, bins=15) ** norm
    if metric == "l2ce_interval":
        return true_calibration_error(warp, norm=2) ** 2
    return float(cal.catalogue[metric](make_miscalibrated(2_000_000, warp=warp, rng=SEED).predictions))


def run_task(task: Task) -> list[dict[str, Any]]:
    """The counts of one task; scores next to 0 and 1 and rare events are part of the settings, so nothing warns of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cal.errors.CalibrantWarning)
        return run_intervals(task) if task.kind in ("coverage", "hard") else run_tests(task)


SAVE_SECONDS = 60
COUNTED = ("runs", "undefined", "rejected", "simulated", "above", "below", "width")


def added_up(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Parts of the same work as one row each, in a fixed order."""
    whole: dict[str, dict[str, Any]] = {}
    for row in rows:
        key = json.dumps({word: value for word, value in row.items() if word not in COUNTED})
        if key not in whole:
            whole[key] = dict(row)
            continue
        for word in COUNTED:
            if word in row:
                old, new = whole[key][word], row[word]
                added = [a + b for a, b in zip(old, new, strict=True)] if isinstance(old, list) else old + new
                whole[key][word] = added
    return list(whole.values())


def earlier(out: Path, work: list[Task]) -> tuple[dict[int, list[dict[str, Any]]], float]:
    """What a run that was stopped has left, by task, and the seconds it took; a row's runs are the first ones planned.

    Tests whose rows were taken out of the file are left in `work` alone, so that they are run again.
    """
    content = json.loads(out.read_text(encoding="utf-8"))
    kept = content["rows"]
    for row in kept:
        if "width" in row:
            row["width"] *= max(1, row["runs"] - row["undefined"])
    runs: dict[str, int] = {}
    for row in kept:
        name = json.dumps([row[key] for key in SETTING])
        runs[f"{name} {row.get('test') or (row['metric'], row['method'])}"] = row["runs"]
    done: dict[int, list[dict[str, Any]]] = {}
    for number, task in enumerate(work):
        name = json.dumps(list(_where(task).values()))
        if task.kind in ("coverage", "hard"):
            way = "percentile" if task.names[-1] == "resampled" else task.names[-1]
            missing = () if runs.get(f"{name} {(task.names[0], way)}", 0) >= task.stop else task.names
        else:
            missing = tuple(label for label in task.names if runs.get(f"{name} {label}", 0) < task.stop)
        work[number] = task._replace(names=missing)
        if not missing:
            done[number] = []
    if done:
        done[min(done)] = kept
    return done, 60 * content["minutes"]


def run_all(small: bool, processes: int, minutes: float, out: Path, resume: bool = False) -> None:
    """Run all tasks, or as many as time allows, and write what they gave; now and then also what there is so far."""
    os.environ.update({f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")})  # one core each
    work = tasks(small)
    done, spent = earlier(out, work) if resume else ({}, 0.0)
    start = saved = time.perf_counter()
    ahead = [(number, task) for number, task in enumerate(work) if number not in done]
    # Fresh processes read the number of threads.
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for number, rows in pool.imap_unordered(_numbered, ahead):
            done[number] = rows
            now = time.perf_counter()
            if now - saved > SAVE_SECONDS:
                saved = now
                print(f"{len(done)} of {len(work)} parts, {(now - start) / 60:.1f} minutes", flush=True)
                save(out, done, len(work), small, spent + now - start)
            if now - start > 60 * minutes:
                break
    save(out, done, len(work), small, spent + time.perf_counter() - start)


def save(out: Path, done: dict[int, list[dict[str, Any]]], parts: int, small: bool, seconds: float) -> None:
    """Write the results, one row to a line."""
    rows = added_up([row for number in sorted(done) for row in done[number]])
    for row in rows:
        if "width" in row:
            row["width"] = float(f"{row['width'] / max(1, row['runs'] - row['undefined']):.6g}")
    facts = {"small": small, "minutes": round(seconds / 60, 1), "complete": len(done) == parts}
    head = json.dumps(facts | {"version": cal.__version__})[:-1]
    lines = ",\n".join(json.dumps(row) for row in rows)
    out.write_text(f'{head}, "rows": [\n{lines}\n]}}\n', encoding="utf-8")


def _numbered(numbered: tuple[int, Task]) -> tuple[int, list[dict[str, Any]]]:
    return numbered[0], run_task(numbered[1])


def main() -> None:
    """Run, write the results and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a few runs with few rows")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    parser.add_argument("--resume", action="store_true", help="go on where the last run was stopped")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=55.0, help="stop after so long and keep what was run")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the results go; elsewhere no page is written")
    chosen = parser.parse_args()
    if not chosen.page:
        run_all(chosen.small, chosen.processes, chosen.minutes, chosen.out, chosen.resume)
    if chosen.out == RESULTS:
        results = json.loads(RESULTS.read_text(encoding="utf-8"))
        PAGE.write_text(page(results), encoding="utf-8")
        for name, text in long_tables(results).items():
            (TABLES / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
