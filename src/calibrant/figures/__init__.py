"""Figures: the data of each figure, and its plot. matplotlib is imported only when something is plotted."""

from ..util.namespace import namespace

NAMES = {
    "classgroups": ("group_error_diagram",),
    "decision_curves": ("decision_curve",),
    "differences": ("cumulative_diagram",),
    "entropy": ("entropy_diagram",),
    "forest": ("forest_diagram",),
    "flexible_curves": ("flexible_calibration_curve",),
    "groupconfidence": ("group_confidence_diagram",),
    "histograms": ("score_histogram",),
    "intervals": ("interval_error_diagram",),
    "murphy": ("murphy_diagram",),
    "optimism": ("optimism_diagram",),
    "panels": ("before_after", "classwise_panels", "ordinal_panels", "reliability_panels"),
    "reliability_diagrams": ("reliability", "reliability_diagram"),
    "selective": ("risk_coverage_diagram",),
    "simplex": ("simplex_diagram",),
    "stability": ("stability_diagram",),
    "survival_diagrams": ("survival_diagram",),
    "topk": ("topk_diagram",),
    "variations": ("uce_diagram", "variation_diagram"),
}
TYPES = {
    "classgroups": ("GroupErrorDiagram",),
    "decision_curves": ("BenefitDifference", "DecisionCurve"),
    "differences": ("CumulativeDiagram",),
    "entropy": ("EntropyDiagram",),
    "forest": ("ForestDiagram",),
    "flexible_curves": ("FlexibleCalibrationCurve",),
    "groupconfidence": ("GroupConfidenceDiagram",),
    "histograms": ("ScoreHistogram",),
    "intervals": ("IntervalDiagram",),
    "optimism": ("OptimismDiagram",),
    "murphy": ("MurphyDiagram",),
    "panels": ("ReliabilityPanels",),
    "reliability_diagrams": ("ReliabilityDiagram",),
    "selective": ("RiskCoverageDiagram",),
    "simplex": ("SimplexDiagram",),
    "stability": ("StabilityDiagram",),
    "survival_diagrams": ("SurvivalDiagram",),
    "topk": ("TopkDiagram",),
    "variations": ("UceDiagram", "VariationDiagram"),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
