"""Set calibrant beside other packages: first the values, then time as a ratio to a plain read of the array, and memory.

``make bench`` runs it; the table is printed, and written to results.json and docs/benchmarks.md. ``--quick`` takes small
arrays and the packages at hand, to see that everything runs and agrees.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

import numpy as np

import scaling
from cases import Case
from kernels import ALL_CASES, IN_PAIRS
from page import GROWTH, as_table, as_text, growth_lines, write_page
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
PACKAGES = [
    *("calibrant", "numpy", "scipy", "numba", "torch", "torchmetrics", "scikit-learn"),
    *("relplot", "probcal", "calibstats", "netcal", "uncertainty-calibration", "probmetrics", "calzone-tool"),
]


def peers_python() -> str:
    """The interpreter of an environment with the other packages, which sees those installed here and leaves nothing among them."""
    folder = ROOT / ".bench"
    wanted = (HERE / "requirements.txt").read_text()
    done = folder / "installed.txt"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not done.exists() or done.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, symlinks=os.name != "nt")
        [packages] = folder.glob("[Ll]ib/python*/site-packages") if os.name != "nt" else [folder / "Lib/site-packages"]
        here = [path for path in sys.path if path.endswith("site-packages")]
        (packages / "here.pth").write_text("".join(f"import site; site.addsitedir({path!r})\n" for path in here))
        install = [str(python), "-m", "pip", "install", "-q", "-r", str(HERE / "requirements.txt")]
        subprocess.run(install, check=True)
        done.write_text(wanted)
    return str(python)


def in_child(python: str, script: str, *arguments: str) -> dict[str, Any]:
    """What a script prints; its warnings go where this program's go."""
    done = subprocess.run(
        [python, str(HERE / script), *arguments], stdout=subprocess.PIPE, text=True, check=True, cwd=HERE
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


def run_case(case: Case, python: str, repeat: int) -> dict[str, Any]:
    """Time and memory, each in a process of its own."""
    labels, probs = case.data()
    facts = _facts(case, probs)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "labels.npy", labels)
        np.save(Path(folder) / "probs.npy", probs)
        is_large = probs.nbytes >= 4_000_000 or case.id in IN_PAIRS
        del labels, probs
        found = in_child(python, "worker.py", "time", case.id, folder, str(repeat))
        for entry in found["contenders"]:
            entry["peak_mb"] = None
            if is_large:
                found_memory = in_child(python, "worker.py", "memory", case.id, folder, entry["name"])
                entry["peak_mb"] = found_memory["peak_mb"]
    return {**facts, **found}


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
    return {**facts, "load": scaling.load()}


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


def _versions(python: str) -> dict[str, str]:
    code = (
        "import json, sys; from importlib.metadata import version, PackageNotFoundError\n"
        "found = {}\n"
        "for name in sys.argv[1:]:\n"
        "    try: found[name] = version(name)\n"
        "    except PackageNotFoundError: pass\n"
        "print(json.dumps(found))"
    )
    done = subprocess.run([python, "-c", code, *PACKAGES], capture_output=True, text=True, check=True)
    return {"python": platform.python_version(), **json.loads(done.stdout)}


def _put_into(known: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Known results with some cases measured anew."""
    by_id = {case["id"]: case for case in [*known["cases"], *new["cases"]]}
    return {**known, **new, "cases": [by_id[case.id] for case in ALL_CASES if case.id in by_id]}


def _unexplained(results: dict[str, Any]) -> list[str]:
    return [
        f"{case['title']}, {entry['name']}: {entry['value']!r}"
        for case in results["cases"]
        for entry in case["contenders"]
        if not entry["verdict"]
    ]


def main() -> int:
    """Run what the command line asks for; 1 where a value differs and nobody knows why."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small arrays, the packages at hand, no page")
    parser.add_argument("--repeat", type=int, help="how often each call is timed")
    parser.add_argument(
        "--only", nargs="*", help="ids of cases, or growth; the others keep what they had in the results"
    )
    parser.add_argument("--out", type=Path, default=HERE / "results.json", help="where the results go")
    chosen = parser.parse_args()
    python = sys.executable if chosen.quick else peers_python()
    results: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "quick": chosen.quick,
        "machine": _machine(),
        "versions": _versions(python),
        "cases": [],
    }
    for case in ALL_CASES:
        if chosen.only and case.id not in chosen.only:
            continue
        usual = 3 if chosen.quick else 2000 if case.id == "small" else 21
        repeat = chosen.repeat or usual
        found = run_case_quickly(case, repeat) if chosen.quick else run_case(case, python, repeat)
        print(as_text(as_table(found)), flush=True)
        results["cases"].append(found)
    if not chosen.only or GROWTH in chosen.only:
        results[GROWTH] = scaling.measure(quick=True) if chosen.quick else in_child(python, "scaling.py")
        print("\n".join(growth_lines(results[GROWTH])), flush=True)
    if not chosen.only:
        names = ["numpy", "calibrant"] if chosen.quick else list(IMPORTS)
        results["import_seconds"] = import_seconds(python, 1 if chosen.quick else 7, names)
        for name, seconds in results["import_seconds"].items():
            print(f"import {name:<30} {seconds:.3f} s", flush=True)
    if chosen.only and chosen.out.exists():
        results = _put_into(json.loads(chosen.out.read_text()), results)
    chosen.out.write_text(json.dumps(results, indent=1) + "\n")
    if not chosen.quick:
        write_page(results, ROOT / "docs" / "benchmarks.md")
    for line in _unexplained(results):
        print(f"differs, and nobody knows why: {line}", file=sys.stderr)
    return 1 if _unexplained(results) else 0


if __name__ == "__main__":
    sys.exit(main())
