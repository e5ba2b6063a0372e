"""Many metrics at once (`evaluate`), the distribution of the confidence (`confidence_summary`), discrimination (`auroc`, `average_precision`), validation by centre or period (`validate_by_group`, `validate_by_period`), and which metrics to use (`recommend`)."""

from ..util.namespace import namespace

NAMES = {
    "confidence": ("confidence_summary",),
    "discrimination": ("auroc", "average_precision"),
    "group_validation": ("validate_by_group", "validate_by_period"),
    "measure": ("evaluate",),
    "recommendation": ("recommend",),
}
TYPES = {
    "confidence": ("ConfidenceDistribution",),
    "group_validation": ("GroupValidation",),
    "measure": ("Evaluation",),
    "recommendation": ("Recommendation",),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
