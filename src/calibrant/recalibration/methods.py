"""Calibrators by name, as `recalibrate` and the command line know them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .base import CalibrationMap
from .binary import (
    BetaCalibration,
    CenteredIsotonicCalibration,
    IsotonicCalibration,
    KernelCalibration,
    PlattScaling,
    QuadraticLogit,
    SplineCalibration,
)
from .binning import (
    BayesianBinning,
    HistogramBinning,
    NearIsotonicEnsemble,
    ScalingBinning,
    TopLabelHistogramBinning,
)
from .choosing import Identity
from .class_temperature import MiscalibrationAwareTemperature
from .ordered import ConsistencyCalibration, IntraOrderPreserving
from .scaling import (
    BiasCorrectedTemperature,
    DirichletCalibration,
    EnsembleTemperature,
    MatrixScaling,
    TemperatureScaling,
    VectorScaling,
)
from .venn import VennAbers

__all__ = ["METHODS"]

# Maps by name, as `recalibrate` and the command line know them.
METHODS: dict[str, Callable[..., CalibrationMap]] = {
    "none": Identity,
    "temperature": TemperatureScaling,
    "bias_corrected_temperature": BiasCorrectedTemperature,
    "ensemble_temperature": EnsembleTemperature,
    "vector": VectorScaling,
    "matrix": MatrixScaling,
    "dirichlet": DirichletCalibration,
    "platt": PlattScaling,
    "beta": BetaCalibration,
    "isotonic": IsotonicCalibration,
    "isotonic_pooled": partial(IsotonicCalibration, multiclass="pooled"),
    "centered_isotonic": CenteredIsotonicCalibration,
    "spline": SplineCalibration,
    "kernel": KernelCalibration,
    "quadratic_logit": QuadraticLogit,
    "histogram": HistogramBinning,
    "top_label_histogram": TopLabelHistogramBinning,
    "bayesian_binning": BayesianBinning,
    "near_isotonic": NearIsotonicEnsemble,
    "scaling_binning": ScalingBinning,
    "venn_abers": VennAbers,
    "intra_order_preserving": IntraOrderPreserving,
    "consistency": ConsistencyCalibration,
    "miscalibration_aware_temperature": MiscalibrationAwareTemperature,
}
