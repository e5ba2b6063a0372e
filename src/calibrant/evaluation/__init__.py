"""Many metrics at once (`evaluate`), the performance of a risk model (`clinical_summary`), by centre or period (`validate_by_group`,
`validate_by_period`), for a time to event (`survival_summary`, `horizon_outcomes`) and corrected for optimism (`internal_validation`), the
distribution of the confidence (`confidence_summary`), discrimination (`auroc`, `average_precision`), and which metrics to use (`recommend`)."""

from ..util.namespace import namespace

NAMES = {
    "censoring": ("horizon_outcomes",),
    "clinical": ("clinical_summary",),
    "confidence": ("confidence_summary",),
    "discrimination": ("auroc", "average_precision"),
    "group_validation": ("validate_by_group", "validate_by_period"),
    "measure": ("evaluate",),
    "optimism": ("internal_validation",),
    "recommendation": ("recommend",),
    "survival": ("survival_summary",),
}
TYPES = {
    "censoring": ("HorizonOutcomes",),
    "clinical": ("ClinicalSummary",),
    "confidence": ("ConfidenceDistribution",),
    "group_validation": ("GroupValidation",),
    "measure": ("Evaluation",),
    "optimism": ("InternalValidation", "OptimismCurve", "OptimismRow"),
    "recommendation": ("Recommendation",),
    "survival": ("SurvivalSummary",),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
