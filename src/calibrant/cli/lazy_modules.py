"""Modules of NumPy that no command uses, but that SciPy imports with all others: they are loaded when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

# They take a third of the time of importing scipy.special, whose array namespace is ``from numpy import *``.
LAZY = ("numpy.f2py", "numpy.testing")


class _LazyFinder:
    """Finds the modules in `LAZY`, with a loader that waits."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in LAZY else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def load_lazily() -> None:
    """Load the modules in `LAZY` when they are first used, in a process that belongs to the command line alone."""
    if _LazyFinder not in sys.meta_path:
        sys.meta_path.insert(0, _LazyFinder)
