"""Out-of-distribution scores, and detectors with a false-positive rate."""

from ...util.namespace import namespace

NAMES = {
    "detection": ("OodDetector", "ood_evaluate"),
    "scores": (
        "ood_energy",
        "ood_entropy",
        "OodKnn",
        "OodMahalanobis",
        "ood_max_logit",
        "ood_msp",
        "ood_mutual_information",
        "ood_variance",
    ),
}
TYPES = {
    "detection": ("OodResult", "OodEvaluation"),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
