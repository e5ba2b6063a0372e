"""Set calibrant beside other packages: first the values, then time as a ratio to a plain read of the array, and memory.

``make bench`` runs it; the table is printed, and written to results.json and docs/benchmarks.md. ``--quick`` takes small
arrays and the packages at hand, to see that everything runs and agrees. ``--only 'map_*' features`` measures some cases, or
checks the table of features, anew.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np

import features
import scaling
from all_cases import ALL_CASES
from cases import Case
from environments import ENVIRONMENTS, MAIN, PEERS, UNDER, ready, versions
from kernels import IN_PAIRS
from page import FEATURES, GROWTH, as_table, as_text, growth_lines, write_page, write_readme
from worker import time_case

HERE = Path(__file__).parent
ROOT = HERE.parent
IMPORTS = {
    "numpy": "import numpy",
    "calibrant": "import calibrant",
    "calibrant and a first value": "import calibrant; calibrant.ece([0, 1], [0.2, 0.7])",
    "probcal": "import probcal.metrics",
    "relplot": "import relplot",
    "scikit-learn": "import sklearn.calibration",
    "uncertainty-calibration": "import calibration",
    "torchmetrics": "import torchmetrics",
    "netcal": "import netcal.metrics",
}


def in_child(python: str, script: str, *arguments: str) -> dict[str, Any]:
    """What a script prints; its warnings go where this program's go."""
    done = subprocess.run(
        [python, str(HERE / script), *arguments], stdout=subprocess.PIPE, text=True, check=True, cwd=HERE
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


def run_together(cases: list[Case], python: str, repeat: int | None) -> list[dict[str, Any]]:
    """Time cases of one environment one after the other in one process, and memory in processes of their own."""
    facts = []
    with tempfile.TemporaryDirectory() as folder:
        large = set()
        for case in cases:
            labels, probs = case.data()
            facts.append(_facts(case, probs))
            (Path(folder) / case.id).mkdir()
            np.save(Path(folder) / case.id / "labels.npy", labels)
            np.save(Path(folder) / case.id / "probs.npy", probs)
            large |= {case.id} if megabytes(case) >= 4 or case.id in IN_PAIRS else set()
            del labels, probs
        times = [f"{case.id}:{repeat or usual_repeat(case)}" for case in cases]
        found = in_child(python, "worker.py", "time", folder, *times)["cases"]
        asked = [(id, entry) for id, each in found.items() for entry in each["contenders"]]
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # memory does not depend on what else runs
            peaks = pool.map(lambda each: _peak(python, folder, each[0], each[1]["name"], each[0] in large), asked)
        for (_, entry), peak in zip(asked, peaks, strict=True):
            entry["peak_mb"] = peak
    return [{**fact, **found[fact["id"]]} for fact in facts]


def _peak(python: str, folder: str, case: str, contender: str, wanted: bool) -> float | None:
    if not wanted:
        return None
    return float(in_child(python, "worker.py", "memory", folder, case, contender)["peak_mb"])


def megabytes(case: Case) -> float:
    """Of its probabilities."""
    return case.rows * case.classes * np.dtype(case.dtype).itemsize / 1e6


def stands_alone(case: Case) -> bool:
    """Whether it is timed in a process of its own: a large one, for what fills memory may slow the next."""
    return case.environment == MAIN and megabytes(case) > 16


def usual_repeat(case: Case) -> int:
    """How often each call is timed."""
    return 2000 if case.id == "small" else 9


def run_case_quickly(case: Case, repeat: int) -> dict[str, Any]:
    """A small array in this process, without memory."""
    labels, probs = case.data(quick=True)
    found = time_case(case, labels, probs, repeat)
    for entry in found["contenders"]:
        entry["peak_mb"] = None
    return {**_facts(case, probs), **found}


def _facts(case: Case, probs: np.ndarray) -> dict[str, Any]:
    classes = 1 if probs.ndim == 1 else probs.shape[1]
    facts = {"id": case.id, "title": case.title, "rows": len(probs), "classes": classes, "dtype": probs.dtype.name}
    return {**facts, "environment": case.environment, "load": scaling.load()}


def import_seconds(python: str, times: int, names: list[str]) -> dict[str, float]:
    """Best of several; the start of the interpreter is taken off."""

    def best(code: str) -> float:
        taken = []
        for _ in range(times):
            start = time.perf_counter()
            subprocess.run([python, "-c", code], check=True, capture_output=True)
            taken.append(time.perf_counter() - start)
        return min(taken)

    bare = best("pass")
    found = {}
    for name in names:
        try:
            found[name] = best(IMPORTS[name]) - bare
        except subprocess.CalledProcessError:
            continue  # not installed here
    return found


def _machine() -> dict[str, Any]:
    name = platform.processor() or platform.machine()
    try:
        lines = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout.splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("Model name"))
    except (OSError, StopIteration, subprocess.CalledProcessError):
        pass
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"cpu": name, "architecture": platform.machine(), "cores": cores, "system": platform.system()}


def _put_into(known: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Known results with some cases measured anew; the others keep their date and machine."""
    day = {"date": known["date"], "machine": known["machine"]}
    earlier = [{**day, **case} for case in known["cases"]] if new["cases"] else known["cases"]
    new = new if new["cases"] else {**new, **day}
    by_id = {case["id"]: case for case in [*earlier, *new["cases"]]}
    places = {**known.get("environments", {}), **new["environments"]}
    numbers = {**known["versions"], **new["versions"]}
    return {
        **known,
        **new,
        "versions": numbers,
        "environments": places,
        "cases": [by_id[case.id] for case in ALL_CASES if case.id in by_id],
    }


def _unexplained(results: dict[str, Any]) -> list[str]:
    return [
        f"{case['title']}, {entry['name']}: {entry['value']!r}"
        for case in results["cases"]
        for entry in case["contenders"]
        if not entry["verdict"]
    ]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small arrays, the packages at hand, no page")
    parser.add_argument("--repeat", type=int, help="how often each call is timed")
    parser.add_argument(
        "--only",
        nargs="*",
        help="ids of cases or patterns such as 'map_*', growth, features, imports; the others keep what they had in the results",
    )
    parser.add_argument("--out", type=Path, default=HERE / "results.json", help="where the results go")
    return parser.parse_args()


def _is_asked(name: str, only: list[str] | None) -> bool:
    return not only or any(fnmatch(name, pattern) for pattern in only)


def _frame(quick: bool, places: set[str]) -> tuple[dict[str, str], dict[str, Any]]:
    """The interpreter for each environment that is needed, and results without cases."""
    if quick:
        pythons, facts = dict.fromkeys(ENVIRONMENTS, sys.executable), {}
        found = versions(sys.executable, [*UNDER, *(peer.name for peer in PEERS)])
    else:
        pythons, facts = ready(places | {MAIN})
        found = {}
        for place in reversed(facts.values()):
            found |= place["versions"]
    results = {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "quick": quick,
        "machine": _machine(),
        "versions": found,
        "environments": facts,
        "cases": [],
    }
    return pythons, results


def _run_cases(chosen: argparse.Namespace, cases: list[Case], pythons: dict[str, str]) -> list[dict[str, Any]]:
    """Large cases each in a process of its own, the others of an environment together; in the order of the list."""
    if chosen.quick:
        done = [run_case_quickly(case, chosen.repeat or 3) for case in cases]
    else:
        cases = [case for case in cases if case.environment in pythons]  # of the others, the results say why
        batches = [[case] for case in cases if stands_alone(case)]
        batches += [[case for case in cases if case.environment == id and not stands_alone(case)] for id in pythons]
        done = []
        for batch in filter(None, batches):
            done += run_together(batch, pythons[batch[0].environment], chosen.repeat)
            print(f"{time.strftime('%H:%M:%S')} measured {', '.join(case.id for case in batch)}", flush=True)
        place = {case.id: number for number, case in enumerate(cases)}
        done.sort(key=lambda found: place[found["id"]])
    for found in done:
        print(as_text(as_table(found)), flush=True)
    return done


def main() -> int:
    """Run what the command line asks for; 1 where a value differs and nobody knows why, or a feature is not as listed."""
    chosen = _arguments()
    cases = [case for case in ALL_CASES if _is_asked(case.id, chosen.only)]
    asked_features = not chosen.quick and _is_asked(FEATURES, chosen.only)
    places = set(ENVIRONMENTS) if asked_features else {case.environment for case in cases}
    pythons, results = _frame(chosen.quick, places)
    results["cases"] = _run_cases(chosen, cases, pythons)
    if _is_asked(GROWTH, chosen.only):
        results[GROWTH] = scaling.measure(quick=True) if chosen.quick else in_child(pythons[MAIN], "scaling.py")
        print("\n".join(growth_lines(results[GROWTH])), flush=True)
    if _is_asked("imports", chosen.only):
        names = ["numpy", "calibrant"] if chosen.quick else list(IMPORTS)
        results["import_seconds"] = import_seconds(pythons[MAIN], 1 if chosen.quick else 2, names)
        for name, seconds in results["import_seconds"].items():
            print(f"import {name:<30} {seconds:.3f} s", flush=True)
    wrong = features.write(pythons, results["date"]) if asked_features else []
    if chosen.only and chosen.out.exists():
        results = _put_into(json.loads(chosen.out.read_text()), results)
    chosen.out.write_text(json.dumps(results, indent=1) + "\n")
    if not chosen.quick:
        is_usual = chosen.out == HERE / "results.json"
        write_page(
            results, features.read(), ROOT / "docs" / "benchmarks.md" if is_usual else chosen.out.with_suffix(".md")
        )
        if is_usual:
            write_readme(results, ROOT / "README.md")
    unexplained = [f"differs, and nobody knows why: {line}" for line in _unexplained(results)]
    for line in [*unexplained, *wrong]:
        print(line, file=sys.stderr)
    return 1 if unexplained or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
