"""Write the signatures of the metrics for editors and type checkers.

A metric is an object of one class, so that its keywords are known only when it has been declared; `metrics/callables.pyi`
spells them out. `--check` only compares, and fails where the file is not what the catalogue says.
"""

from __future__ import annotations

import argparse
import inspect
import subprocess
import sys
from pathlib import Path

import calibrant
from calibrant.metrics.signature import build_signature

TARGET = Path(calibrant.__file__).parent / "metrics" / "callables.pyi"
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
    text = stub()
    if not parser.parse_args().check:
        TARGET.write_text(text, encoding="utf-8")
    elif not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
        sys.exit(f"{TARGET.name} is not what the catalogue says: run `make stub`")


if __name__ == "__main__":
    main()
