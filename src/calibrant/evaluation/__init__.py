"""Many metrics at once (`evaluate`), the distribution of the confidence (`confidence_summary`), discrimination (`auroc`, `average_precision`), time to event at a horizon
(`survival_summary`, `horizon_outcomes`), and which metrics to use (`recommend`)."""

from ..util.namespace import namespace

NAMES = {
    "censoring": ("horizon_outcomes",),
    "confidence": ("confidence_summary",),
    "discrimination": ("auroc", "average_precision"),
    "measure": ("evaluate",),
    "recommendation": ("recommend",),
    "survival": ("survival_summary",),
}
TYPES = {
    "censoring": ("HorizonOutcomes",),
    "confidence": ("ConfidenceDistribution",),
    "measure": ("Evaluation",),
    "recommendation": ("Recommendation",),
    "survival": ("SurvivalSummary",),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
