"""When a prediction can be trusted: thresholds with guarantees, selective prediction, costs, out-of-distribution scores."""

from ..util.namespace import namespace

NAMES = {
    "areas": ("augrc", "aurc", "e_augrc", "e_aurc"),
    "costs": ("cost_decision", "expected_cost", "net_benefit", "topk_accuracy", "topk_confidence"),
    "likert": ("likert_error",),
    "low_default": ("pluto_tasche",),
    "ood.detection": ("OodDetector", "ood_evaluate"),
    "ood.scores": (
        "ood_energy",
        "ood_entropy",
        "OodKnn",
        "OodMahalanobis",
        "ood_max_logit",
        "ood_msp",
        "ood_mutual_information",
        "ood_variance",
    ),
    "routing": ("review_routing",),
    "selective": ("risk_coverage", "selective_accuracy", "selective_risk"),
    "thresholds": ("choose_threshold",),
}
TYPES = {
    "costs": ("CostDecision", "ExpectedCost", "NetBenefit"),
    "likert": ("LikertBand", "LikertResult"),
    "low_default": ("DefaultRateBounds",),
    "ood.detection": ("OodResult", "OodEvaluation"),
    "routing": ("ReviewRouting", "Route"),
    "selective": ("RiskCoverage", "OperatingPoint"),
    "thresholds": ("ThresholdChoice", "ThresholdLevel", "ThresholdTest"),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES, ("ood",))
