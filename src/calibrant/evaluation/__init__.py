"""`evaluate`: many metrics at once, with the header that describes the data; and `recommend`."""

from ..util.namespace import namespace

NAMES = {
    "measure": ("evaluate",),
    "recommendation": ("recommend",),
}
TYPES = {
    "measure": ("Evaluation",),
    "recommendation": ("Recommendation",),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
