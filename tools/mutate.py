"""Do the tests notice a small fault? Changes one operator or number of the package at a time, and runs the tests of its package.

``python tools/mutate.py choose --out mutations.json`` draws places from a seed, three for each package; ``python tools/mutate.py run mutations.json
--jobs 2 --out found.json`` applies each to a copy of `src` and says whether a test failed. A place whose line is no longer in its file is reported as gone.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "calibrant"
SEED, EACH, SECONDS = 0, 3, 300
SWAPS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "+": "-", "-": "+", "*": "/", "/": "*", "and": "or", "or": "and",
}  # fmt: skip
OPERATORS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.And: "and", ast.Or: "or",
}  # fmt: skip
# Folders of tests for a package, beside the one of its name.
COMMON = ("contract", "oracles", "faults")
OTHERS = {
    "torch": ("torch",),
    "cli": ("cli",),
    "clinical": ("evaluation", "r"),
    "curves": ("metrics", "figures"),
    "sklearn": ("recalibration",),
}
Mutation = dict[str, Any]


def places(path: Path) -> list[Mutation]:
    """Operators between two operands on one line, and whole numbers, inside functions."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    found: list[Mutation] = []
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    for node in {id(part): part for function in functions for part in ast.walk(function)}.values():
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right, operator = node.left, node.comparators[0], OPERATORS.get(type(node.ops[0]))
        elif isinstance(node, ast.BinOp):
            left, right, operator = node.left, node.right, OPERATORS.get(type(node.op))
        elif isinstance(node, ast.BoolOp):
            left, right, operator = node.values[0], node.values[1], OPERATORS[type(node.op)]
        else:
            continue
        if operator is None or left.end_lineno != right.lineno or left.end_col_offset is None:
            continue
        line = lines[right.lineno - 1]
        between = line.encode()[left.end_col_offset : right.col_offset].decode()
        if between.strip(" ()") != operator or lines.count(line) != 1:
            continue
        start = len(line.encode()[: left.end_col_offset].decode())
        changed = line[:start] + between.replace(operator, SWAPS[operator], 1) + line[start + len(between) :]
        found.append({"file": str(path.relative_to(ROOT)), "line": line, "changed": changed})
    return found


def choose(each: int, seed: int) -> list[Mutation]:
    """The same number of places in each package."""
    draw = random.Random(seed)
    chosen = []
    for folder in sorted(path for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"):
        known = [place for path in sorted(folder.rglob("*.py")) for place in places(path)]
        chosen += draw.sample(known, min(each, len(known)))
    return chosen


def run(mutation: Mutation, seconds: int) -> Mutation:
    """Apply one mutation to a copy of the package and run the tests that concern it."""
    text = (ROOT / mutation["file"]).read_text(encoding="utf-8") if (ROOT / mutation["file"]).exists() else ""
    if text.splitlines().count(mutation["line"]) != 1:
        return mutation | {"result": "gone"}
    package = Path(mutation["file"]).parts[2]
    names = (package, *OTHERS.get(package, ()), *COMMON)
    tests = [str(path) for name in dict.fromkeys(names) if (path := ROOT / "tests" / name).is_dir()]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        (Path(folder) / mutation["file"]).write_text(
            text.replace(mutation["line"], mutation["changed"], 1), encoding="utf-8"
        )
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")])}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-n",
            "0",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:randomly",
            *tests,
        ]
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            return mutation | {"result": "no failure in time"}
    result = {0: "survived", 1: "killed"}.get(done.returncode, f"exit {done.returncode}")
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return mutation | {"result": result, "by": failed[0][:200] if failed else ""}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("task", choices=["choose", "run"])
    parser.add_argument("mutations", type=Path, nargs="?", help="the file that `choose` wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--each", type=int, default=EACH, help="places in each package")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--seconds", type=int, default=SECONDS, help="limit for the tests of one mutation")
    given = parser.parse_args()
    if given.task == "choose":
        found = choose(given.each, given.seed)
    else:
        with ThreadPoolExecutor(given.jobs) as pool:
            found = list(pool.map(partial(run, seconds=given.seconds), json.loads(given.mutations.read_text())))
        print(Counter(one["result"] for one in found))
    given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
