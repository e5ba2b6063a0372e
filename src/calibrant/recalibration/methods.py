"""The complete registry of calibration methods: all modules that define calibrators are imported here."""

from __future__ import annotations

from importlib import import_module

from ..errors import ArgumentError
from . import CALIBRATORS  # type: ignore[attr-defined]  # the stub lists public names only
from .base import METHODS, TYPES, Calibrator, Method

__all__ = ["METHODS", "calibrator_types", "find_method"]


def _complete() -> None:
    """Import all calibrators and sort the methods in the order of their modules."""
    modules = [Calibrator.__module__, *(f"{__package__}.{name}" for name in CALIBRATORS)]
    for name in modules:
        import_module(name)
    place = {name: number for number, name in enumerate(modules)}
    found = sorted(
        METHODS.items(), key=lambda item: place.get(getattr(item[1].calibrator, "__module__", ""), len(place))
    )
    METHODS.clear()
    METHODS.update(found)


_complete()


# Names in scikit-learn.
SKLEARN = {"sigmoid": "platt"}


def find_method(name: str) -> Method:
    """The method of this name, or an error that lists the known names."""
    if name not in METHODS:
        from difflib import get_close_matches

        near = [SKLEARN[name]] if name in SKLEARN else get_close_matches(name, ["auto", *METHODS], 1)
        remedy = f"did you mean {near[0]!r}?" if near else f"choose one of auto, {', '.join(METHODS)}"
        raise ArgumentError("method", f"unknown method {name!r}", remedy)
    return METHODS[name]


def calibrator_types() -> dict[str, type[Calibrator]]:
    """Every calibrator that can be saved, by the name of its class."""
    return TYPES
