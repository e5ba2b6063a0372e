"""Calibration for PyTorch: collect logits, evaluate networks, metric objects, calibration modules, losses and abstention.

Importing this package imports torch; `import calibrant` does not.

>>> import torch
>>> import calibrant.torch as ct
>>> model, loader = torch.nn.Linear(2, 3), [(torch.zeros(4, 2), torch.tensor([0, 1, 2, 0]))]
>>> ct.collect(model, loader).logits.shape
torch.Size([4, 3])
"""

from ..errors import MissingDependencyError
from ..util.namespace import namespace

try:
    import torch as _torch  # noqa: F401 - only to report how to install it
except ImportError as error:
    raise MissingDependencyError("torch", "is not installed", "pip install 'calibrant[torch]'") from error

NAMES = {
    "accumulating": ("SketchMetric", "SyncError"),
    "beta": ("BetaModule",),
    "collecting": ("Collected", "CollectedArrays", "UnstableOutputsWarning", "collect"),
    "collection": ("MetricCollection",),
    "deciding": ("ThresholdedPrediction", "predict_with_threshold"),
    "evaluating": ("evaluate",),
    "exporting": ("export_onnx", "export_program"),
    "metrics": (
        "BinaryCalibrationError",
        "CalibrationError",
        "CalibrationMetric",
        "MulticlassCalibrationError",
        "MultilabelCalibrationError",
    ),
    "modules": (
        "BiasCorrectedTemperatureModule",
        "CalibratedModule",
        "DirichletModule",
        "CalibratorModule",
        "MatrixModule",
        "TemperatureModule",
        "VectorModule",
    ),
    "ood": (
        "OodKnn",
        "OodMahalanobis",
        "ood_energy",
        "ood_entropy",
        "ood_max_logit",
        "ood_msp",
        "ood_mutual_information",
        "ood_variance",
    ),
    "ordered": ("IntraOrderPreservingModule", "OrderPreservingNetwork"),
}
MODULES = ("functional", "lightning", "losses")
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, modules=MODULES)
# Calibrator modules register themselves on import. Metric objects are loaded on first use: they import torchmetrics, where it
# is installed, which takes longer than importing torch.
for _module in ("beta", "exporting", "modules", "ordered"):
    __getattr__(_module)
