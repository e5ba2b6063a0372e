"""Modules that are loaded when they are first used: the command does not load them, and they work as always."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from calibrant.cli.lazy_modules import LAZY, load_lazily
load_lazily()
load_lazily()
import numpy, scipy.special
print(sum(getattr(finder, "__name__", "") == "_LazyFinder" for finder in sys.meta_path))
print([name in sys.modules and type(sys.modules[name]).__name__ for name in LAZY])
print([one in sys.modules for one in ("numpy.f2py.crackfortran", "numpy.testing._private")])
numpy.testing.assert_allclose(scipy.special.ndtr(0.0), 0.5)
import numpy.f2py.crackfortran
print(numpy.f2py.crackfortran.__name__, callable(numpy.f2py.get_include))
"""


def test_modules_that_no_command_uses_are_loaded_on_first_use() -> None:
    found = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[:4] == [
        "1",
        "['_LazyModule', '_LazyModule']",
        "[False, False]",
        "numpy.f2py.crackfortran True",
    ]
