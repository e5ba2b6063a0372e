"""Many metrics at once (`evaluate`), the performance of a risk model (`clinical_summary`) and of risks of a time to event (`survival_summary`,
`horizon_outcomes`), the distribution of the confidence (`confidence_summary`), discrimination (`auroc`, `average_precision`), and which metrics to
use (`recommend`)."""

from ..util.namespace import namespace

NAMES = {
    "censoring": ("horizon_outcomes",),
    "clinical": ("clinical_summary",),
    "confidence": ("confidence_summary",),
    "discrimination": ("auroc", "average_precision"),
    "measure": ("evaluate",),
    "recommendation": ("recommend",),
    "survival": ("survival_summary",),
}
TYPES = {
    "censoring": ("HorizonOutcomes",),
    "clinical": ("ClinicalSummary",),
    "confidence": ("ConfidenceDistribution",),
    "measure": ("Evaluation",),
    "recommendation": ("Recommendation",),
    "survival": ("SurvivalSummary",),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
