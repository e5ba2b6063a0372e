"""Which package can do what: the list of features.toml, checked in each environment and written to features.json.

A "yes" must import; a "no" must survive a search through the names that the package defines: modules, functions, classes and
parameters. ``features.py check ENVIRONMENT`` is the child that does it and prints JSON.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
import tomllib
import warnings
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from environments import MAIN, PEERS, TORCH_UNCERTAINTY, UNDER, versions

HERE = Path(__file__).parent
LIST, FOUND = HERE / "features.toml", HERE / "features.json"
SELF = "calibrant"
# Of large packages only what measures and calibrates is searched.
SCOPE = {
    "scikit-learn": ("calibration.py", "metrics/"),
    "torchmetrics": ("classification/", "functional/classification/", "metric.py"),
}


def listed() -> dict[str, Any]:
    """The list as it is written."""
    return tomllib.loads(LIST.read_text())


def public_names(module: str, scope: tuple[str, ...] = ()) -> set[str]:
    """Names of modules, functions, classes and parameters in a package's source, without tests and what begins with _."""
    spec = find_spec(module)
    assert spec is not None, module
    root = Path((spec.submodule_search_locations or [str(Path(spec.origin or "").parent)])[0])
    names: set[str] = set()
    for path in root.rglob("*.py"):
        place = path.relative_to(root).as_posix()
        if "tests/" in place or (scope and not place.startswith(scope)):
            continue
        names |= set(place.removesuffix(".py").split("/"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names |= {node.name, *(each.arg for each in [*node.args.args, *node.args.kwonlyargs])}
            elif isinstance(node, ast.ClassDef):
                names.add(node.name)
    return {name for name in names if not name.startswith("_")}


def resolve(path: str) -> Any:
    """What ``module:attribute.attribute(parameter)`` or ``script NAME`` names; an error where it is not there."""
    if path.startswith("script "):
        scripts = {point.name: point for point in distribution(SELF).entry_points if point.group == "console_scripts"}
        return scripts[path.removeprefix("script ")].load()
    match = re.fullmatch(r"([\w.]+):([\w.]+)(?:\((\w+)\))?", path)
    assert match, path
    found: Any = importlib.import_module(match[1])
    for name in match[2].split("."):
        found = getattr(found, name)
    if match[3] and match[3] not in inspect.signature(found).parameters:
        raise AttributeError(f"{path}: no such parameter")
    return found


def count(paths: list[str]) -> int:
    """How many things these name; each must be there."""
    total = 0
    for path in paths:
        how, _, rest = path.rpartition(" ") if path.startswith(("len ", "subclasses ")) else ("", "", path)
        if how == "len":
            total += len(resolve(rest))
        elif how == "subclasses":
            kind, module = resolve(rest), importlib.import_module(rest.split(":")[0])
            kinds = [getattr(module, name) for name in dir(module)]
            total += sum(isinstance(each, type) and issubclass(each, kind) and each is not kind for each in kinds)
        else:
            module_name, _, names = rest.partition(":")
            total += len([resolve(f"{module_name}:{name}") for name in names.split()])
    return total


def check_package(package: str, module: str) -> tuple[list[dict[str, Any]], list[str]]:
    """A cell for each row of the list, and what is not as the list says."""
    wanted, cells, wrong = listed(), [], []
    for row in wanted["count"]:
        try:
            cells.append({"value": count(row["names"].get(package, [])), "by": row["names"].get(package, [])})
        except Exception as error:
            cells.append({"value": None, "by": []})
            wrong.append(f"{package}, {row['title']}: {error!r}")
    names = public_names(module, SCOPE.get(package, ()))
    for row in wanted["feature"]:
        cell, complaint = _cell(package, row, names)
        cells.append(cell)
        wrong += [f"{package}, {row['title']}: {complaint}"] if complaint else []
    return cells, wrong


def _cell(package: str, row: dict[str, Any], names: set[str]) -> tuple[dict[str, Any], str]:
    path, but = row["has"].get(package), row.get("but", {}).get(package, "")
    if path:
        try:
            resolve(path)
        except Exception as error:
            return {"value": None, "by": path}, f"listed as {path}, which is not there: {error!r}"
        return {"value": True, "by": path}, ""
    hits = sorted(name for name in names if re.search(row["words"], name, re.IGNORECASE))
    hits += _scripts(package) if row.get("scripts") else []
    cell = {"value": False, "found": hits, "but": but}
    if hits and not but:
        return cell, f"listed as missing, but there are {', '.join(hits[:8])}"
    return cell, "" if hits or not but else "an exception is listed, but nothing is found"


def _scripts(package: str) -> list[str]:
    try:
        return [point.name for point in distribution(package).entry_points if point.group == "console_scripts"]
    except PackageNotFoundError:
        return []


def check(environment: str) -> dict[str, Any]:
    """All packages of an environment; calibrant is checked in the first."""
    warnings.simplefilter("ignore")
    if environment == TORCH_UNCERTAINTY:
        from adapters import let_torchvision_be_imported

        let_torchvision_be_imported()
    todo = [(peer.name, peer.module) for peer in PEERS if peer.environment == environment]
    found: dict[str, Any] = {"packages": {}, "wrong": []}
    for package, module in [(SELF, SELF), *todo] if environment == MAIN else todo:
        cells, wrong = check_package(package, module)
        found["packages"][package] = cells
        found["wrong"] += wrong
    return found


def _in_child(python: str, environment: str) -> dict[str, Any]:
    command = [python, str(HERE / "features.py"), "check", environment]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=HERE)
    return json.loads(done.stdout.strip().splitlines()[-1])


def write(pythons: dict[str, str], date: str) -> list[str]:
    """Check every environment that could be made, write features.json, and tell what is not as listed."""
    packages: dict[str, Any] = {}
    wrong: list[str] = []
    numbers: dict[str, str] = {}
    with ThreadPoolExecutor() as pool:
        each = list(pool.map(lambda item: _in_child(item[1], item[0]), pythons.items()))
    for python, found in zip(pythons.values(), each, strict=True):
        packages |= found["packages"]
        wrong += found["wrong"]
        numbers |= {name: number for name, number in versions(python, [*UNDER, *packages]).items() if name in packages}
    order = [SELF, *(peer.name for peer in PEERS)]
    rows = [
        {"title": row["title"], "words": row.get("words", "")}
        for kind in ("count", "feature")
        for row in listed()[kind]
    ]
    for place, row in enumerate(rows):
        row["cells"] = {name: packages[name][place] if name in packages else None for name in order}
    FOUND.write_text(json.dumps({"date": date, "versions": numbers, "features": rows, "wrong": wrong}, indent=1) + "\n")
    return wrong


def read() -> dict[str, Any]:
    """What was last found; empty before the first check."""
    return json.loads(FOUND.read_text()) if FOUND.exists() else {}


if __name__ == "__main__":
    print(json.dumps(check(sys.argv[2])))
