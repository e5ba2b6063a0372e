"""Every calibration metric: the catalogue, and the formulas in one folder per family.

Importing it fills the catalogue.
"""

from importlib import import_module

from ..util.namespace import namespace
from .registry import catalogue

NAMES = {
    "continuous": ("ecd_density", "ecd_gaussian", "nees"),
    "decomposition": ("decompose", "skill_score"),
    "registry": ("catalogue", "metric", "preset"),
    "reliability_curve": ("calibration_curve",),
}
TYPES = {
    "decomposition": ("Decomposition",),
    "registry": ("Metric",),
    "reliability_curve": ("CalibrationCurve",),
}
for _family in ("point", "bin", "kernel", "curve", "cumulative"):  # the order of the catalogue
    import_module(f".{_family}", __name__)
__getattr__, _, _listed = namespace(__name__, NAMES, TYPES)
globals().update(catalogue)
__all__ = sorted([*_listed, *catalogue])


def __dir__() -> list[str]:
    return __all__
