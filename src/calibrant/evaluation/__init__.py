"""Many metrics at once (`evaluate`), the distribution of the confidence (`confidence_summary`), discrimination (`auroc`, `average_precision`), and which metrics to use (`recommend`)."""

from ..util.namespace import namespace

NAMES = {
    "confidence": ("confidence_summary",),
    "discrimination": ("auroc", "average_precision"),
    "measure": ("evaluate",),
    "recommendation": ("recommend",),
}
TYPES = {
    "confidence": ("ConfidenceDistribution",),
    "measure": ("Evaluation",),
    "recommendation": ("Recommendation",),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
