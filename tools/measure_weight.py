"""How heavy the package is: code lines, public names, parameters, helpers with one caller; prints one table.

``python tools/measure_weight.py`` measures the checkout it stands in, ``--by-package`` adds the code lines of each package.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import statistics
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "calibrant"
SCREEN, MANY = 60, 8
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Source:
    """A Python file: its tree, and the numbers of its lines of code, without blanks, comments and docstrings."""

    def __init__(self, path: Path) -> None:
        self.path, self.text = path, path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        docstrings: set[int] = set()
        for node in ast.walk(self.tree):
            if (
                isinstance(node, (ast.Module, ast.ClassDef, Function))
                and ast.get_docstring(node, clean=False) is not None
            ):
                docstrings |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
        lines = enumerate(map(str.strip, self.text.splitlines()), 1)
        self.code = {number for number, line in lines if line and line[0] != "#" and number not in docstrings}

    def functions(self) -> Iterator[tuple[str, Function, int]]:
        """Functions and methods with their code lines; the name of a method begins with a dot."""
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.Module, ast.ClassDef)):
                prefix = "." if isinstance(node, ast.ClassDef) else ""
                for part in node.body:
                    if isinstance(part, Function):
                        size = len(self.code & set(range(part.lineno, (part.end_lineno or 0) + 1)))
                        yield prefix + part.name, part, size


def sources(folder: Path) -> list[Source]:
    """The Python files below a folder, or the file itself."""
    return [Source(path) for path in (sorted(folder.rglob("*.py")) or [folder])]


def count_parameters(function: Function) -> int:
    """Number of parameters, without `self` and `cls`."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return sum(argument.arg not in ("self", "cls") for argument in named)


def public_parameters() -> tuple[list[int], list[int]]:
    """Numbers of parameters of the metrics, and of the other functions at the root."""
    import calibrant as cal

    metrics = [len(inspect.signature(cal.catalogue[name]).parameters) for name in cal.catalogue]
    others = [getattr(cal, name) for name in cal.__all__ if name not in cal.catalogue]
    return metrics, [len(inspect.signature(each).parameters) for each in others if inspect.isfunction(each)]


def count_lines(*folders: str, without: str = "-") -> str:
    """Code lines of files and below folders of the checkout."""
    files = [file for folder in folders for file in sources(ROOT / folder)]
    return f"{sum(len(file.code) for file in files if without not in file.path.relative_to(ROOT).parts):,}"


def measure(files: list[Source]) -> dict[str, str]:
    """The rows of the table."""
    import calibrant as cal
    from calibrant.metrics import Metric

    every = [found for file in files for found in file.functions()]
    uses = Counter(name for file in files for name in re.findall(r"\b_[a-z]\w*", file.text))
    private = [name for name, _, _ in every if name.startswith("_") and not name.startswith("__")]
    of_metrics, of_functions = public_parameters()
    return {
        "code lines of src": f"{sum(len(file.code) for file in files):,}",
        "names at the root": f"{len(cal.__all__)}, of which {len(cal.catalogue)} metrics",
        "parameters of a metric (median)": f"{statistics.median(of_metrics):g}",
        "parameters of a function at the root (median, largest)": f"{statistics.median(of_functions):g}, {max(of_functions)}",
        "fields of Metric": str(len(Metric.__dataclass_fields__)),
        "private functions of modules with one caller": str(sum(uses[name] == 2 for name in private)),
        f"functions of more than {SCREEN} code lines": str(sum(size > SCREEN for _, _, size in every)),
        f"functions of more than {MANY} parameters": str(sum(count_parameters(each) > MANY for _, each, _ in every)),
        "context variables": str(sum(len(re.findall(r"= ContextVar\(", file.text)) for file in files)),
        "code lines of tests": count_lines("tests", "conftest.py"),
        "code lines of experiments": count_lines("experiments", without="tests"),
        "code lines of the tests of experiments and benchmarks": count_lines("experiments/tests", "benchmarks/tests"),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--by-package", action="store_true", help="code lines of each package, too")
    options = parser.parse_args()
    files = sources(PACKAGE)
    rows = measure(files)
    if options.by_package:
        totals: Counter[str] = Counter()
        for file in files:
            totals[file.path.relative_to(PACKAGE).parts[0]] += len(file.code)
        rows |= {f"  {name}": f"{count:,}" for name, count in sorted(totals.items())}
    width = max(map(len, rows))
    for name, value in rows.items():
        print(f"{name:<{width}}  {value}")


if __name__ == "__main__":
    main()
