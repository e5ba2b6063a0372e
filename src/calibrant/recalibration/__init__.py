"""Calibrators: fit them on held-out data, apply them to new scores, choose among them, save them."""

from ..util.namespace import namespace

# The modules that hold calibrators, in the order in which these are listed.
CALIBRATORS = {
    "scaling": (
        "BiasCorrectedTemperature",
        "DirichletCalibration",
        "EnsembleTemperature",
        "MatrixScaling",
        "TemperatureScaling",
        "VectorScaling",
    ),
    "binary": (
        "BetaCalibration",
        "CenteredIsotonicCalibration",
        "IsotonicCalibration",
        "KernelCalibration",
        "PlattScaling",
        "QuadraticLogit",
        "SplineCalibration",
    ),
    "binning": (
        "BayesianBinning",
        "HistogramBinning",
        "NearIsotonicEnsemble",
        "ScalingBinning",
        "TopLabelHistogramBinning",
    ),
    "class_temperature": ("MiscalibrationAwareTemperature",),
    "features": ("PlattScalingWithFeatures",),
    "grouped": ("GroupCalibration", "MultiCalibration"),
    "ordered": ("ConsistencyCalibration", "IntraOrderPreserving"),
    "targets": ("LensCalibration",),
    "top_label": ("TopLabelCalibration",),
    "venn": ("CrossVennAbers", "VennAbers"),
    "safe": ("SafeCalibration",),
    "adjust": ("OffsetAdjustment", "PriorShift", "ProbabilityAdjustment", "prior_shift_em"),
}
NAMES = {**CALIBRATORS, "choosing": ("recalibrate",), "persistence": ("load", "save")}
TYPES = {
    "adjust": ("PriorEstimate",),
    "base": ("Calibrator", "Method"),
    "choosing": ("Candidate", "Recalibration"),
    "scores": ("Scores", "TrainingData"),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
