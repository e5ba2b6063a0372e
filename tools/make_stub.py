"""Write the stubs of calibrant and its namespaces: every public name, and the full signature of every metric.

Names are loaded when they are first used, which editors and type checkers cannot follow; they read these files instead.
`--check` only compares, and fails where a file is not what the packages say.
"""

from __future__ import annotations

import argparse
import inspect
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import calibrant
from calibrant.metrics.signature import build_signature

ROOT = Path(calibrant.__file__).parent
HEAD = '"""Public names; written by tools/make_stub.py, not by hand."""\n'
NAMESPACES = (*calibrant._NAMESPACES, "curves", "decision.ood", "inference.simulation", "validation")
NAMESPACES += ("torch", "torch.losses") if find_spec("torch") else ()
# Types that a metric's file names for itself.
ALIASES: dict[str, str] = {}


def imports(package: ModuleType) -> list[str]:
    """The names and types of a package, from the modules they live in."""
    homes = [*package.NAMES.items(), *getattr(package, "TYPES", {}).items()]
    return [f"from .{module} import {', '.join(f'{name} as {name}' for name in names)}" for module, names in homes]


def namespace_stub(name: str) -> str:
    """The stub of one package."""
    inner = getattr(import_module(f"calibrant.{name}"), "MODULES", ())
    modules = [f"from . import {part} as {part}" for part in inner]
    return "\n".join([HEAD, *modules, *imports(import_module(f"calibrant.{name}"))])


def metrics_stub() -> str:
    """The stub of calibrant.metrics, with a class for the call of every metric."""
    for metric in calibrant.catalogue.values():
        for name, value in vars(inspect.getmodule(metric.formula)).items():
            if getattr(value, "__origin__", None) is not None and str(value).startswith("typing.Literal"):
                ALIASES[name] = str(value).replace("typing.", "")
    lines = [
        HEAD,
        "from collections.abc import Callable, Sequence",
        "from typing import Any, Literal",
        "import numpy as np",
    ]
    lines += ["from numpy.typing import NDArray", *imports(calibrant.metrics)]
    lines += [
        "from ..binning.parse import Binning, Bins",
        "from ..views.lenses import Lens",
        "from .registry import Combine",
    ]
    lines.append("")
    for metric in calibrant.catalogue.values():
        parameters = list(build_signature(metric).parameters.values())
        listed = ", ".join([*map(shown, parameters[:2]), "*", *map(shown, parameters[2:])])
        doc = '"""' + metric.summary.replace("\\", "\\\\") + '"""'
        lines += [f"class _{metric.id}(Metric):", f"    {doc}", f"    def __call__(self, {listed}) -> float: ...", ""]
        lines += [f"{metric.id}: _{metric.id}", ""]
    return "\n".join(lines)


def root_stub() -> str:
    """The stub of calibrant itself: the modules, the names of every namespace, the metrics and the errors."""
    lines = [HEAD, *(f"from . import {module} as {module}" for module in calibrant._MODULES)]
    lines += ["from .inference import simulation as simulate"]
    for package in calibrant._NAMESPACES:
        names = [name for listed in getattr(calibrant, package).NAMES.values() for name in listed]
        names += list(calibrant.catalogue) if package == "metrics" else []
        lines.append(f"from .{package} import {', '.join(f'{name} as {name}' for name in sorted(names))}")
    lines.append(f"from .errors import {', '.join(f'{name} as {name}' for name in calibrant.errors.__all__)}")
    return "\n".join([*lines, "", "__version__: str", "def public_names() -> list[str]: ...", ""])


def shown(parameter: inspect.Parameter) -> str:
    """A parameter with its type; the default is left to the documentation where it is no literal."""
    annotation = parameter.annotation if isinstance(parameter.annotation, str) else "Any"
    default = "" if parameter.default is inspect.Parameter.empty else f" = {parameter.default!r}"
    if default == " = inf":
        default = " = ..."
    for part in annotation.split(" | "):
        annotation = annotation.replace(part, ALIASES.get(part, part))
    return f"{parameter.name}: {annotation}{default}"


def formatted(text: str, target: Path) -> str:
    """Imports that no signature needs are dropped, the rest is in order."""
    for command in (["check", "--fix", "-q"], ["format"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(target), "-"],
            input=text,
            text=True,
            capture_output=True,
            check=True,
        )
        text = done.stdout
    return text


def stubs() -> dict[Path, str]:
    """Every stub and its text."""
    found = {f"{name.replace('.', '/')}/__init__.pyi": namespace_stub(name) for name in NAMESPACES if name != "metrics"}
    found |= {"metrics/__init__.pyi": metrics_stub(), "__init__.pyi": root_stub()}
    return {ROOT / name: formatted(text, ROOT / name) for name, text in found.items()}


def main() -> None:
    """Write the stubs, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    for target, text in stubs().items():
        if not check:
            target.write_text(text, encoding="utf-8")
        elif not target.exists() or target.read_text(encoding="utf-8") != text:
            sys.exit(f"{target.relative_to(ROOT.parent)} is not what its package says: run `make stub`")


if __name__ == "__main__":
    main()
