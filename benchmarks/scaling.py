"""How time and memory of calibrant grow with the rows, and what resampling and all metrics together cost.

run.py calls it; ``scaling.py memory METRIC ROWS CLASSES FORM`` is the child that finds the peak memory of one call.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.util import kernels
from cases import BINS, make_data
from worker import peak_of, without_numba

SIZES = (10_000, 100_000, 1_000_000)
SORTED = ("smece", "lkce", "mmce", "smce", "ecce_mad", "ecce_r", "bbt")
PAIRS, PAIR_ROWS = ("skce_uq", "dkde"), 10_000
CLASSES = 10
FORMS = ("calibrant", "calibrant without numba")
LEVEL = 0.95
# No call is repeated for longer than this, but always three times.
SECONDS_EACH = 6.0

Call = Callable[[], Any]


def _setting(form: str) -> Any:
    return without_numba() if form.endswith("without numba") else nullcontext()


def in_turns(calls: dict[Any, tuple[str, Call]], repeat: int) -> tuple[dict[Any, list[float]], dict[Any, list[float]]]:
    """Seconds of each call in its form, on the clock and of all cores together, called in turns.

    The first turn, which compiles and imports, is not counted.
    """
    taken: dict[Any, list[float]] = {name: [] for name in calls}
    worked: dict[Any, list[float]] = {name: [] for name in calls}
    for turn in range(repeat + 1):
        for name, (form, call) in calls.items():
            if len(taken[name]) >= 3 and sum(taken[name]) > SECONDS_EACH:
                continue
            with _setting(form):
                start, work = time.perf_counter(), time.process_time()
                call()
                if turn:
                    taken[name].append(time.perf_counter() - start)
                    worked[name].append(time.process_time() - work)
    return taken, worked


def _forms() -> tuple[str, ...]:
    return FORMS if find_spec("numba") else FORMS[1:]


def _measured(metrics: Any, sizes: Any, classes: int, forms: Any, repeat: int, memory: bool) -> list[dict[str, Any]]:
    """Seconds and argsorts of each metric at each size in each form, all in turns; megabytes at the largest size."""
    data = {rows: make_data(rows, classes) for rows in sizes}
    calls: dict[Any, tuple[str, Call]] = {}
    for rows, (labels, probs) in data.items():
        columns = np.ascontiguousarray(probs.reshape(rows, -1).T)
        calls["argsort", rows] = ("", lambda each=columns: [np.argsort(column, kind="stable") for column in each])
        for id, form in product(metrics, forms):
            metric = cal.catalogue[id]
            calls[id, form, rows] = (form, lambda metric=metric, y=labels, p=probs: metric(y, p))
    taken, worked = in_turns(calls, repeat)
    found = []
    for rows, id, form in product(sizes, metrics, forms):
        work, sort = min(worked[id, form, rows]), min(worked["argsort", rows])
        found.append(
            {
                "metric": id,
                "form": form,
                "rows": rows,
                "classes": classes,
                "ms": 1e3 * statistics.median(taken[id, form, rows]),
                "work_ms": 1e3 * work,
                "argsorts": work / sort,
                "input_mb": sum(array.nbytes for array in data[rows]) / 1e6,
                "peak_mb": _peak_in_child(id, rows, classes, form) if memory and rows == sizes[-1] else None,
            }
        )
    return found


def _peak_in_child(metric: str, rows: int, classes: int, form: str) -> float:
    command = [sys.executable, __file__, "memory", metric, str(rows), str(classes), form]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=Path(__file__).parent)
    return float(json.loads(done.stdout))


def _peak(metric: str, rows: int, classes: int, form: str) -> float:
    with _setting(form):
        cal.catalogue[metric](*make_data(200, classes))
        labels, probs = make_data(rows, classes)
        return peak_of(lambda: cal.catalogue[metric](labels, probs))


def _all_metrics(rows: int) -> dict[str, Any]:
    """`evaluate(metrics="all")`."""
    labels, probs = make_data(rows, CLASSES)
    start, work = time.perf_counter(), time.process_time()
    found = cal.evaluate(labels, probs, metrics="all")
    return {
        "rows": rows,
        "classes": CLASSES,
        "seconds": time.perf_counter() - start,
        "work_seconds": time.process_time() - work,
        "values": sum(result.value is not None for result in found.results),
        "without_input": [result.metric for result in found.results if result.value is None],
        "left_out": [skipped.metric for skipped in found.left_out],
    }


def _several_runs(rows: int, repeat: int) -> dict[str, Any]:
    """The last run in full, and how many values each gave in which time."""
    runs = [_all_metrics(rows) for _ in range(repeat)]
    return {**runs[-1], "runs": [[run["values"], run["seconds"]] for run in runs]}


def plain_loop(labels: np.ndarray, probs: np.ndarray, count: int) -> tuple[float, float]:
    """The percentile interval as it is usually written: draw rows, put them into bins, add up."""
    rng, edges, n = np.random.default_rng(0), np.linspace(0, 1, BINS + 1)[1:-1], len(labels)
    found = []
    for _ in range(count):
        at = rng.integers(n, size=n)
        y, p = labels[at], probs[at]
        place = np.digitize(p, edges, right=True)
        found.append(np.abs(np.bincount(place, p, BINS) - np.bincount(place, y, BINS)).sum() / n)
    return _ends(found)


def loop_with_bins_found_once(labels: np.ndarray, probs: np.ndarray, count: int) -> tuple[float, float]:
    """The same with the bin and the residual of each row found before."""
    rng, edges, n = np.random.default_rng(0), np.linspace(0, 1, BINS + 1)[1:-1], len(labels)
    place, residual = np.digitize(probs, edges, right=True), probs.astype(np.float64) - labels
    found = []
    for _ in range(count):
        at = rng.integers(n, size=n)
        found.append(np.abs(np.bincount(place[at], residual[at], BINS)).sum() / n)
    return _ends(found)


def _calibstats(labels: np.ndarray, probs: np.ndarray, count: int) -> tuple[float, float]:
    from calibstats.bootstrap import bootstrap_ci
    from calibstats.metrics import ece

    return bootstrap_ci(probs, labels, lambda p, y: ece(p, y, n_bins=BINS), n_boot=count).ci


def _calibrant(labels: np.ndarray, probs: np.ndarray, count: int) -> tuple[float, float]:
    found = cal.interval(
        labels, probs, metric="ece", bins=BINS, n_resamples=count, level=LEVEL, rng=0, method="percentile"
    )
    return found.low, found.high


def _ends(found: list[float]) -> tuple[float, float]:
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _resampling(rows: int, many_rows: int, count: int, repeat: int) -> list[dict[str, Any]]:
    """The interval of the expected calibration error: calibrant on few and many rows, and loops on few."""
    few, lots = make_data(rows, 1), make_data(many_rows, 1)
    loops = {"loop in NumPy": plain_loop, "loop in NumPy, bins found once": loop_with_bins_found_once}
    if find_spec("calibstats"):
        loops["calibstats"] = _calibstats
    tasks = {(form, rows): (_calibrant, few) for form in _forms()}
    tasks |= {(form, many_rows): (_calibrant, lots) for form in _forms()}
    tasks |= {(name, rows): (function, few) for name, function in loops.items()}
    ends = {}

    def call(task: tuple[str, int]) -> None:
        function, data = tasks[task]
        ends[task] = function(*data, count)

    taken, _ = in_turns({task: (task[0], lambda task=task: call(task)) for task in tasks}, repeat)
    medians = {task: statistics.median(each) for task, each in taken.items()}
    own = medians[FORMS[1], rows]
    return [
        {
            "name": name,
            "rows": size,
            "resamples": count,
            "seconds": seconds,
            "of_calibrant": seconds / own,
            "low": ends[name, size][0],
            "high": ends[name, size][1],
        }
        for (name, size), seconds in medians.items()
    ]


def load() -> float:
    """How many processes want a core, this one among them; 0 where the system does not say."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def measure(quick: bool = False) -> dict[str, Any]:
    """Everything above; `quick` takes few rows and leaves memory out."""
    kernels.MIN_ENTRIES = 0  # the import of numba is measured on its own
    sizes, pair_rows, repeat = ((200, 400, 800), 200, 1) if quick else (SIZES, PAIR_ROWS, 7)
    return {
        "load": load(),
        "scaling": _measured(SORTED, sizes, 1, _forms(), repeat, not quick),
        "pairs": _measured(PAIRS, (pair_rows,), CLASSES, FORMS[1:], 1 if quick else 3, not quick),
        "all_metrics": _several_runs(300 if quick else 100_000, 1 if quick else 2),
        "resampling": _resampling(1000, 2000, 200, 1) if quick else _resampling(100_000, 10_000_000, 1000, 2),
    }


def _main() -> None:
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["memory"]:
        kernels.MIN_ENTRIES = kernels.FEW_ROWS = 0
        metric, rows, classes, form = sys.argv[2:]
        print(json.dumps(_peak(metric, int(rows), int(classes), form)))
    else:
        print(json.dumps(measure("--quick" in sys.argv)))


if __name__ == "__main__":
    _main()
