"""Every calibration metric: the catalogue, and the formulas in one folder per family.

Importing it fills the catalogue.
"""

from importlib import import_module
from typing import Any

from lazy_loader import attach_stub

from .registry import catalogue

for _family in ("point", "bin", "kernel", "curve", "cumulative"):  # the order of the catalogue
    import_module(f".{_family}", __name__)
_load, _, __all__ = attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    return catalogue[name] if name in set(catalogue) else _load(name)  # `in catalogue` would accept an alias


def __dir__() -> list[str]:
    return sorted({*__all__, *catalogue})  # with the metrics that users declare
