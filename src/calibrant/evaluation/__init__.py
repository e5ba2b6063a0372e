"""Many metrics at once (`evaluate`), the performance of a risk model (`clinical_summary`), the distribution of the confidence (`confidence_summary`), discrimination (`auroc`, `average_precision`), and which metrics to use (`recommend`)."""

from ..util.namespace import namespace

NAMES = {
    "clinical": ("clinical_summary",),
    "confidence": ("confidence_summary",),
    "discrimination": ("auroc", "average_precision"),
    "measure": ("evaluate",),
    "recommendation": ("recommend",),
}
TYPES = {
    "clinical": ("ClinicalSummary",),
    "confidence": ("ConfidenceDistribution",),
    "measure": ("Evaluation",),
    "recommendation": ("Recommendation",),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
