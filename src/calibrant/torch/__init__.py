"""For PyTorch: collect logits, evaluate a model, metric objects, calibrating modules, abstention. Imported only when asked for.

>>> import torch
>>> import calibrant.torch as ct
>>> model, loader = torch.nn.Linear(2, 3), [(torch.zeros(4, 2), torch.tensor([0, 1, 2, 0]))]
>>> ct.collect(model, loader).logits.shape
torch.Size([4, 3])
"""

from importlib import import_module
from typing import Any

from ..errors import MissingDependencyError

try:
    import torch as _torch  # noqa: F401 - the error says how to get it
except ImportError as error:
    raise MissingDependencyError("torch", "is not installed", "pip install 'calibrant[torch]'") from error

from .accumulating import SketchMetric, SyncError
from .beta import BetaModule
from .collecting import Collected, CollectedArrays, UnstableOutputsWarning, collect
from .collection import MetricCollection
from .deciding import ThresholdedPrediction, predict_with_threshold
from .evaluating import evaluate
from .exporting import export_onnx, export_program
from .metrics import BinaryCalibrationError, CalibrationMetric, MulticlassCalibrationError
from .modules import (
    BiasCorrectedTemperatureModule,
    CalibratedModule,
    DirichletModule,
    MapModule,
    MatrixModule,
    TemperatureModule,
    VectorModule,
)
from .ood import (
    OodKnn,
    OodMahalanobis,
    ood_energy,
    ood_entropy,
    ood_max_logit,
    ood_msp,
    ood_mutual_information,
    ood_variance,
)
from .ordered import IntraOrderPreservingModule, OrderPreservingNetwork

__all__ = [
    "BetaModule",
    "BiasCorrectedTemperatureModule",
    "BinaryCalibrationError",
    "CalibratedModule",
    "CalibrationMetric",
    "Collected",
    "CollectedArrays",
    "DirichletModule",
    "IntraOrderPreservingModule",
    "MapModule",
    "MatrixModule",
    "MetricCollection",
    "MulticlassCalibrationError",
    "OodKnn",
    "OodMahalanobis",
    "OrderPreservingNetwork",
    "SketchMetric",
    "SyncError",
    "TemperatureModule",
    "ThresholdedPrediction",
    "UnstableOutputsWarning",
    "VectorModule",
    "collect",
    "evaluate",
    "export_onnx",
    "export_program",
    "ood_energy",
    "ood_entropy",
    "ood_max_logit",
    "ood_msp",
    "ood_mutual_information",
    "ood_variance",
    "predict_with_threshold",
]

# Parts that are loaded when they are first named.
_PARTS = ("losses",)


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"calibrant.torch has no {name!r}")
