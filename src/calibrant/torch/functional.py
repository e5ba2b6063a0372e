"""Values of metrics from tensors, with the interface of `torchmetrics.functional`: predictions first, one function per metric.

Each function creates the metric object with the arguments after the tensors, adds them and computes: `binary_calibration_error` is
`BinaryCalibrationError`, and every score metric of the catalogue, under its identifier, is `CalibrationMetric`.

>>> import torch
>>> import calibrant.torch as ct
>>> preds, target = torch.tensor([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]]), torch.tensor([0, 1])
>>> round(float(ct.functional.smece(preds, target, num_classes=3)), 3)
0.197
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor

from ..metrics.registry import catalogue
from .metrics import (
    BinaryCalibrationError,
    CalibrationError,
    CalibrationMetric,
    MulticlassCalibrationError,
    MultilabelCalibrationError,
)

ERRORS: dict[str, Callable[..., Any]] = {
    "binary_calibration_error": BinaryCalibrationError,
    "multiclass_calibration_error": MulticlassCalibrationError,
    "multilabel_calibration_error": MultilabelCalibrationError,
    "calibration_error": CalibrationError,
}
__all__ = list(ERRORS)


def __dir__() -> list[str]:
    metrics = [
        name for name, metric in catalogue.items() if metric.takes == "View" and metric.sketch and not metric.needs
    ]
    return sorted([*ERRORS, *metrics])


def __getattr__(name: str) -> Callable[..., Tensor]:
    """Create the function of a metric."""
    if name not in __dir__():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    create = ERRORS.get(name) or partial(CalibrationMetric, name)

    def function(preds: Tensor, target: Tensor, *args: Any, **options: Any) -> Tensor:
        metric = create(*args, sync_on_compute=False, **options)
        metric.update(preds, target)
        value: Tensor = metric.compute()
        return value

    tensors = list(inspect.signature(function).parameters.values())[:2]
    options = inspect.signature(create).parameters.values()
    function.__signature__ = inspect.Signature([*tensors, *options], return_annotation=Tensor)  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Compute the value of `{getattr(create, '__name__', f'CalibrationMetric({name!r})')}` for two tensors."
    )
    globals()[name] = function
    return function
