"""Many metrics at once (`evaluate`), discrimination (`auroc`, `average_precision`), and which metrics to use (`recommend`)."""

from ..util.namespace import namespace

NAMES = {
    "discrimination": ("auroc", "average_precision"),
    "measure": ("evaluate",),
    "recommendation": ("recommend",),
}
TYPES = {
    "measure": ("Evaluation",),
    "recommendation": ("Recommendation",),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
