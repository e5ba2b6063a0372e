"""The layout of the package: its 23 entries, no import cycle, and no file that nothing imports."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import calibrant as cal
from calibrant.cli.main import COMMANDS, MONITOR_COMMANDS

grimp = pytest.importorskip("grimp", reason="import-linter brings it")

ROOT = Path(cal.__file__).parent
ENTRIES = {
    "errors.py", "util", "input", "views", "binning", "sketches", "curves", "metrics", "inference", "recalibration", "decision",
    "evaluation", "clinical", "monitoring", "figures", "reporting", "sklearn", "spark", "torch", "trackers.py", "validation",
    "cli", "plugins.py",
}  # fmt: skip
# What a user or the interpreter starts.
STARTED = {
    "calibrant.__main__", "calibrant.sklearn", "calibrant.spark", "calibrant.torch.lightning",
}  # fmt: skip


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """The modules that each module imports, inside functions too."""
    graph = grimp.build_graph("calibrant", exclude_type_checking_imports=True, cache_dir=None)
    return {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}


def cycles(imports: dict[str, set[str]]) -> Iterator[list[str]]:
    """Groups of modules that import each other (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(module: str) -> Iterator[list[str]]:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in imports[module]:
            if other not in index:
                yield from visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            group = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(group) > 1:
                yield sorted(group)

    for module in imports:
        if module not in index:
            yield from visit(module)


def test_the_root_has_23_entries() -> None:
    beside = {"__init__.py", "__init__.pyi", "__main__.py", "py.typed", "__pycache__"}
    assert {path.name for path in ROOT.iterdir()} - beside == ENTRIES
    assert len(ENTRIES) == 23


def test_there_is_no_import_cycle(imports: dict[str, set[str]]) -> None:
    assert list(cycles(imports)) == []


def test_cycles_are_seen() -> None:
    assert list(cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}})) == [["b", "c"]]


def test_every_file_is_imported(imports: dict[str, set[str]]) -> None:
    used = {other for found in imports.values() for other in found} | STARTED
    for stub in ROOT.rglob("__init__.pyi"):
        package = ".".join(("calibrant", *stub.relative_to(ROOT).parts[:-1]))
        used |= {
            f"{package}.{module}" for module in re.findall(r"^from \.([\w.]+) import", stub.read_text(), re.MULTILINE)
        }
    for place, _ in [*COMMANDS.values(), *MONITOR_COMMANDS.values()]:
        used.add(f"calibrant.cli.{place.partition(':')[0]}")
    packages = {module for module in imports if any(other.startswith(f"{module}.") for other in imports)}
    assert set(imports) - used - packages == set()
