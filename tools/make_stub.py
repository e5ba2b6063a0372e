"""Write src/calibrant/__init__.pyi: the full signature of every metric, for editors and type checkers.

`--check` only compares, and fails where the file is not what the catalogue says.
"""

from __future__ import annotations

import argparse
import inspect
import subprocess
import sys
from pathlib import Path

import calibrant
from calibrant._signature import build_signature

TARGET = Path(calibrant.__file__).with_suffix(".pyi")
HEAD = '''"""Public names and their signatures; written by tools/make_stub.py from the catalogue, not by hand."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

'''


def exported() -> list[str]:
    """Imports of everything that is no metric, and of every error."""
    lines = [f"from . import {module} as {module}" for module in calibrant._MODULES]
    for module, names in calibrant._HOMES.items():
        lines.append(f"from .{module} import {', '.join(f'{name} as {name}' for name in names)}")
    errors = ", ".join(f"{name} as {name}" for name in calibrant.errors.__all__)
    lines.append(f"from .errors import {errors}")
    lines.append("from ._facts import Combine")
    lines.append("from .binning import Binning, Bins")
    return lines


def shown(parameter: inspect.Parameter) -> str:
    """A parameter with its type; the default is left to the documentation where it is no literal."""
    annotation = parameter.annotation if isinstance(parameter.annotation, str) else "Any"
    default = "" if parameter.default is inspect.Parameter.empty else f" = {parameter.default!r}"
    if default == " = inf":
        default = " = ..."
    return f"{parameter.name}: {ALIASES.get(annotation, annotation)}{default}"


# Types that a metric's file names for itself.
ALIASES: dict[str, str] = {}


def local_types() -> None:
    """Names such as ``Scale`` that stand for a Literal in the file that declares the metric."""
    for metric in calibrant.catalogue.values():
        for name, value in vars(inspect.getmodule(metric.formula)).items():
            if getattr(value, "__origin__", None) is not None and str(value).startswith("typing.Literal"):
                ALIASES[name] = str(value).replace("typing.", "")


def stub() -> str:
    """The whole file."""
    local_types()
    parts = [HEAD, *exported(), "", "__version__: str", "def public_names() -> list[str]: ...", ""]
    for metric in calibrant.catalogue.values():
        parameters = list(build_signature(metric).parameters.values())
        listed = ", ".join([*map(shown, parameters[:2]), "*", *map(shown, parameters[2:])])
        doc = '"""' + metric.summary.replace("\\", "\\\\") + '"""'
        parts += [
            f"class _{metric.id}(Metric):",
            f"    {doc}",
            f"    def __call__(self, {listed}) -> float: ...",
            "",
            f"{metric.id}: _{metric.id}",
            "",
        ]
    text = "\n".join(parts)
    for command in (["check", "--fix", "-q"], ["format"]):  # drops the imports that no signature needs
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(TARGET), "-"],
            input=text,
            text=True,
            capture_output=True,
            check=True,
        )
        text = done.stdout
    return text


def main() -> None:
    """Write the stub, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    text = stub()
    if not check:
        TARGET.write_text(text, encoding="utf-8")
    elif not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
        sys.exit("src/calibrant/__init__.pyi is not what the catalogue says: run `make stub`")


if __name__ == "__main__":
    main()
