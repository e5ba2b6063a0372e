"""Calibrators: fit them on held-out data, apply them to new scores, choose among them, save them."""

from ..util.namespace import namespace

NAMES = {
    "adjust": ("OffsetAdjustment", "PriorShift", "prior_shift_em"),
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
    "choosing": ("recalibrate",),
    "class_temperature": ("MiscalibrationAwareTemperature",),
    "grouped": ("GroupCalibration", "MultiCalibration"),
    "ordered": ("ConsistencyCalibration", "IntraOrderPreserving"),
    "persistence": ("load", "save"),
    "scaling": (
        "BiasCorrectedTemperature",
        "DirichletCalibration",
        "EnsembleTemperature",
        "MatrixScaling",
        "TemperatureScaling",
        "VectorScaling",
    ),
    "venn": ("VennAbers",),
}
TYPES = {
    "adjust": ("PriorEstimate",),
    "base": ("CalibrationMap",),
    "choosing": ("Candidate", "Recalibration"),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
