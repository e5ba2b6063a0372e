"""Conversion and validation of user input: `Predictions`."""

from ..util.namespace import namespace

NAMES = {
    "predictions": ("Predictions",),
}
TYPES = {
    "missing": ("Dropped",),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
