"""Packages as namespaces: public names are listed, and loaded on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["fill", "fill_from", "namespace"]

Homes = Mapping[str, tuple[str, ...]]

_SOURCES: dict[str, str] = {}


def fill_from(table: str, module: str) -> None:
    """Register the module that fills a table of a lower layer when it is imported."""
    _SOURCES[table] = module


def fill(table: str) -> None:
    """Import the module that fills a table."""
    import_module(_SOURCES[table])


def namespace(
    package: str, names: Homes, types: Homes | None = None, modules: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Build ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose `names` and `types` are defined in the modules given as keys.

    `types` are the classes of results: public in their package, but not names of `calibrant` itself. Modules are attributes too;
    those in `modules` are shown by ``dir``.
    """
    home = {name: module for homes in (names, types or {}) for module, listed in homes.items() for name in listed}

    def get(name: str) -> Any:
        missing = AttributeError(f"module {package!r} has no attribute {name!r}")
        if name.startswith("__"):
            raise missing
        if name in home:
            value = getattr(import_module(f"{package}.{home[name]}"), name)
            setattr(sys.modules[package], name, value)
            return value
        try:
            return import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{package}.{name}":
                raise
            raise missing from None

    return get, lambda: sorted({*home, *modules}), sorted(home)
