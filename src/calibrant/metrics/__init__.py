"""Every calibration metric: the catalogue, and the formulas in one folder per family.

Importing it fills the catalogue.
"""

from importlib import import_module
from typing import Any

from ..util.namespace import namespace
from .registry import catalogue

NAMES = {
    "continuous": ("ecd_density", "ecd_gaussian", "nees"),
    "decomposition": ("decompose", "skill_score"),
    "grouping": ("grouping_loss",),
    "matrix_learning": ("learn_matrix",),
    "registry": ("catalogue", "metric", "preset"),
    "reliability_curve": ("calibration_curve",),
}
TYPES = {
    "decomposition": ("Decomposition",),
    "grouping": ("GroupingLoss",),
    "matrix_learning": ("LearnedMatrix",),
    "registry": ("Metric",),
    "reliability_curve": ("CalibrationCurve",),
}
FAMILIES = ("point", "bin", "kernel", "curve", "cumulative")  # the order of the catalogue
for _family in FAMILIES:
    import_module(f".{_family}", __name__)
_get, _, _listed = namespace(__name__, NAMES, TYPES)
__all__ = sorted([*_listed, *catalogue])


def __getattr__(name: str) -> Any:
    return catalogue[name] if name in set(catalogue) else _get(name)  # `in catalogue` would accept an alias


def __dir__() -> list[str]:
    return sorted({*_listed, *catalogue, *FAMILIES})
