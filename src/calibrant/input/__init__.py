"""Anything a user holds becomes one checked `Predictions`."""

from ..util.namespace import namespace

NAMES = {
    "predictions": ("Predictions",),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES)
