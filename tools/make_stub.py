"""Write the signatures of the metrics for editors and type checkers, and list new metrics and calibrators among the public names.

A metric is an object of one class, so that its keywords are known only when it has been declared; `metrics/callables.pyi`
spells them out. `--check` only compares, and fails where a file is not what catalogue and calibrators say.
"""

from __future__ import annotations

import argparse
import inspect
import subprocess
import sys
from pathlib import Path

import calibrant
from calibrant.metrics.signature import build_signature
from calibrant.recalibration.methods import METHODS

ROOT = Path(calibrant.__file__).parent
TARGET = ROOT / "metrics" / "callables.pyi"
# Parts of other metrics, which are public in `calibrant.metrics` alone.
PARTS = ("fott_", "piece")
HEAD = '''"""Signatures of the metrics; written by tools/make_stub.py, not by hand."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import Binning, Bins
from ..views.lenses import Lens
from .registry import Metric
'''
# Types that a metric's file names for itself.
ALIASES: dict[str, str] = {}


def stub() -> str:
    """The stub, with a class for the call of every metric."""
    for metric in calibrant.catalogue.values():
        for name, value in vars(inspect.getmodule(metric.formula)).items():
            if getattr(value, "__origin__", None) is not None and str(value).startswith("typing.Literal"):
                ALIASES[name] = str(value).replace("typing.", "")
    lines = [HEAD]
    for metric in calibrant.catalogue.values():
        parameters = list(build_signature(metric).parameters.values())
        listed = ", ".join([*map(shown, parameters[:2]), "*", *map(shown, parameters[2:])])
        doc = '"""' + metric.summary.replace("\\", "\\\\") + '"""'
        lines += [f"class _{metric.id}(Metric):", f"    {doc}", f"    def __call__(self, {listed}) -> float: ...", ""]
        lines += [f"{metric.id}: _{metric.id}", ""]
    return formatted("\n".join(lines))


def shown(parameter: inspect.Parameter) -> str:
    """A parameter with its type; the default is left to the documentation where it is no literal."""
    annotation = parameter.annotation if isinstance(parameter.annotation, str) else "Any"
    default = "" if parameter.default is inspect.Parameter.empty else f" = {parameter.default!r}"
    if default == " = inf":
        default = " = ..."
    for part in annotation.split(" | "):
        annotation = annotation.replace(part, ALIASES.get(part, part))
    return f"{parameter.name}: {annotation}{default}"


def public_names() -> dict[Path, str]:
    """The lists of public names, with every metric and every calibrator of a method."""
    metrics = [f"from .callables import {id} as {id}" for id in calibrant.catalogue]
    root = [f"from .metrics import {id} as {id}" for id in calibrant.catalogue if not id.startswith(PARTS)]
    calibrators = []
    for calibrator in {method.calibrator for method in METHODS.values()} - {METHODS["none"].calibrator}:
        name, module = calibrator.__name__, calibrator.__module__.rpartition(".")[2]
        calibrators.append(f"from .{module} import {name} as {name}")
        root.append(f"from .recalibration import {name} as {name}")
    added = {"metrics": metrics, "recalibration": calibrators, "": root}
    texts = {}
    for package, lines in added.items():
        path = ROOT / package / "__init__.pyi"
        head, names = path.read_text(encoding="utf-8").split("\n\n", 1)
        texts[path] = formatted("\n".join([head, "", *lines, names]))
    return texts


def formatted(text: str) -> str:
    """Imports that no signature needs are dropped, the rest is in order."""
    for command in (["check", "--fix", "-q"], ["format"]):
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
    for path, text in {TARGET: stub(), **public_names()}.items():
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path.relative_to(ROOT)} is not what catalogue and calibrators say: run `make stub`")


if __name__ == "__main__":
    main()
