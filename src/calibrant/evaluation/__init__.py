"""Many metrics at once (`evaluate`), the performance of a risk model (`clinical_summary`) and of risks of a time to event (`survival_summary`,
`horizon_outcomes`), performance corrected for optimism (`internal_validation`), the distribution of the confidence (`confidence_summary`), discrimination (`auroc`, `average_precision`), and which metrics to
use (`recommend`)."""

from ..util.namespace import namespace

NAMES = {
    "censoring": ("horizon_outcomes",),
    "clinical": ("clinical_summary",),
    "confidence": ("confidence_summary",),
    "discrimination": ("auroc", "average_precision"),
    "measure": ("evaluate",),
    "optimism": ("internal_validation",),
    "recommendation": ("recommend",),
    "survival": ("survival_summary",),
}
TYPES = {
    "censoring": ("HorizonOutcomes",),
    "clinical": ("ClinicalSummary",),
    "confidence": ("ConfidenceDistribution",),
    "measure": ("Evaluation",),
    "optimism": ("InternalValidation", "OptimismCurve", "OptimismRow"),
    "recommendation": ("Recommendation",),
    "survival": ("SurvivalSummary",),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
