"""Probability calibration of classifiers: measure it, and see where and in which direction it fails.

>>> import calibrant as cal
>>> round(cal.ece([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], bins=2), 4)
0.2

Nothing is imported before it is used. What the names are, and their signatures, is in ``__init__.pyi``.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Where each public name lives; every other public name is a metric of the catalogue.
_HOMES = {
    "_partition": ("KDTree", "SimplexGrid"),
    "binning": ("Edges", "EqualArea", "EqualMass", "EqualWidth"),
    "bintable": ("BinTable",),
    "calibration": ("CalibrationCurve", "calibration_curve"),
    "continuous": ("ecd_density", "ecd_gaussian", "nees"),
    "decision.areas": ("augrc", "aurc", "e_augrc", "e_aurc"),
    "decision.costs": (
        "CostDecision",
        "ExpectedCost",
        "NetBenefit",
        "cost_decision",
        "expected_cost",
        "net_benefit",
        "topk_accuracy",
        "topk_confidence",
    ),
    "decision.detection": ("ForeignTest", "OodEvaluation", "ood_detector", "ood_evaluate"),
    "decision.foreign": (
        "ood_energy",
        "ood_entropy",
        "ood_knn",
        "ood_mahalanobis",
        "ood_max_logit",
        "ood_msp",
        "ood_mutual_information",
        "ood_variance",
    ),
    "decision.likert": ("LikertBand", "LikertError", "likert_error"),
    "decision.prudence": ("PrudentBounds", "pluto_tasche"),
    "decision.routing": ("ReviewRouting", "Route", "review_routing"),
    "decision.selective": ("RiskCoverage", "WorkingPoint", "risk_coverage", "selective_accuracy", "selective_risk"),
    "decision.thresholds": ("ThresholdChoice", "ThresholdTest", "choose_threshold"),
    "decomposition": ("Decomposition", "decompose", "skill_score"),
    "engines.scanning": ("scan",),
    "evaluation": ("Evaluation", "evaluate"),
    "figures.classgroups": ("GroupErrorDiagram", "group_error_diagram"),
    "figures.differences": (
        "CumulativeDiagram",
        "UceDiagram",
        "VariationDiagram",
        "cumulative_diagram",
        "uce_diagram",
        "variation_diagram",
    ),
    "figures.entropy": ("EntropyDiagram", "entropy_diagram"),
    "figures.groupconfidence": ("GroupConfidenceDiagram", "group_confidence_diagram"),
    "figures.histograms": ("ScoreHistogram", "score_histogram"),
    "figures.intervals": ("IntervalDiagram", "interval_error_diagram"),
    "figures.murphy": ("MurphyDiagram", "murphy_diagram"),
    "figures.panels": ("ReliabilityPanels", "before_after", "classwise_panels", "reliability_panels"),
    "figures.reliability": ("ReliabilityDiagram", "reliability"),
    "figures.selective": ("RiskCoverageDiagram", "risk_coverage_diagram"),
    "figures.simplex": ("SimplexDiagram", "simplex_diagram"),
    "figures.stability": ("StabilityDiagram", "stability_diagram"),
    "figures.topk": ("TopkDiagram", "topk_diagram"),
    "inference.bands": ("CalibrationBand", "calibration_band"),
    "inference.belt": ("giviti_test",),
    "inference.comparison": ("Comparison", "Difference", "compare"),
    "inference.grades": ("GradeTest", "GradeTests", "grade_tests", "hosmer_lemeshow_multinomial"),
    "inference.intervals": ("Interval", "interval"),
    "inference.power": ("PowerResult", "detectable_shift", "power", "sample_size"),
    "inference.sequential": ("EValue", "betting_test", "pit_test", "safe_hosmer_lemeshow"),
    "inference.significance": ("assess", "assess_many"),
    "inference.verdicts": ("SignificanceResult", "SignificanceTable"),
    "lenses": ("Lens", "class_", "class_groups", "class_hierarchy", "pair", "rank", "top_k", "within_top"),
    "monitoring.status": ("MonitorStatus",),
    "monitoring.watching": ("Monitor",),
    "predictions": ("Predictions",),
    "recalibration.adjust": ("OffsetAdjustment", "PriorEstimate", "PriorShift", "prior_shift_em"),
    "recalibration.aware": ("MiscalibrationAwareTemperature",),
    "recalibration.base": ("CalibrationMap",),
    "recalibration.binary": (
        "BetaCalibration",
        "CenteredIsotonicCalibration",
        "IsotonicCalibration",
        "KernelCalibration",
        "PlattScaling",
        "QuadraticLogit",
        "SplineCalibration",
    ),
    "recalibration.binning": (
        "BayesianBinning",
        "HistogramBinning",
        "NearIsotonicEnsemble",
        "ScalingBinning",
        "TopLabelHistogramBinning",
    ),
    "recalibration.choosing": ("Candidate", "Recalibration", "recalibrate"),
    "recalibration.grouped": ("GroupCalibration", "MultiCalibration"),
    "recalibration.ordered": ("ConsistencyCalibration", "IntraOrderPreserving"),
    "recalibration.persistence": ("load", "save"),
    "recalibration.scaling": (
        "BiasCorrectedTemperature",
        "DirichletCalibration",
        "EnsembleTemperature",
        "MatrixScaling",
        "TemperatureScaling",
        "VectorScaling",
    ),
    "recalibration.venn": ("VennAbers",),
    "recommendation": ("Recommendation", "recommend"),
    "registry": ("Metric", "catalogue", "metric", "preset"),
    "reporting.building": ("report",),
    "reporting.compared": ("ReportComparison",),
    "reporting.comparing": ("compare_reports",),
    "reporting.content": ("Report",),
    "reporting.timeline": ("write_timeline",),
    "selections": ("Selection", "select"),
    "simulate": ("Simulation", "make_calibrated", "make_miscalibrated", "true_calibration_error"),
    "sketch": ("Sketch",),
    "sketches": ("Sketches",),
    "view": ("VectorView", "View"),
}
_MODULES = ("curves", "errors", "inference", "metrics", "simulate")
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return public_names()
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name in _HOME:
        value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    else:
        errors = import_module(".errors", __name__)
        value = getattr(errors, name) if name in errors.__all__ else _find_metric(name)
    globals()[name] = value
    return value


def _find_metric(name: str) -> Any:
    known = import_module(".registry", __name__).catalogue
    if name in set(known):  # `in known` would accept an alias
        return known[name]
    from difflib import get_close_matches

    # An alias of the literature names its metric; among near names the one of like length is meant.
    near = [known[name].id] if name in known else get_close_matches(name, public_names(), 3)
    near.sort(key=lambda word: abs(len(word) - len(name)))
    raise AttributeError(f"calibrant has no {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


def public_names() -> list[str]:
    """Every public name, the metrics included."""
    errors = import_module(".errors", __name__)
    known = import_module(".registry", __name__).catalogue
    return sorted({*_HOME, *_MODULES, *errors.__all__, *known})


def __dir__() -> list[str]:
    return [*public_names(), "__version__"]
