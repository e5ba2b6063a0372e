"""Values of metrics from tensors, with the interface of `torchmetrics.functional`: predictions first, one function per metric.

Beside the functions below, every score metric of the catalogue is one under its identifier.

>>> import torch
>>> import calibrant.torch as ct
>>> preds, target = torch.tensor([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]]), torch.tensor([0, 1])
>>> round(float(ct.functional.smece(preds, target, num_classes=3)), 3)
0.197
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from ..metrics.registry import Metric, catalogue
from ..views.keywords import documents_keywords
from .accumulating import PARAMETERS, SketchMetric
from .metrics import (
    _KEYWORDS,
    _OWN_KEYWORDS,
    Arithmetic,
    BinaryCalibrationError,
    CalibrationError,
    CalibrationMetric,
    MulticlassCalibrationError,
    MultilabelCalibrationError,
    Norm,
    Task,
)

__all__ = [
    "binary_calibration_error",
    "calibration_error",
    "calibration_metric",
    "multiclass_calibration_error",
    "multilabel_calibration_error",
]
_documented = documents_keywords(taken=_OWN_KEYWORDS, source=SketchMetric.__init__, table=PARAMETERS)


def _value(metric: CalibrationMetric, preds: Tensor, target: Tensor) -> Tensor:
    metric.sync_on_compute = False  # a function of these tensors
    metric.update(preds, target)
    return metric.compute()


@_documented
def binary_calibration_error(
    preds: Tensor,
    target: Tensor,
    n_bins: int = 15,
    norm: Norm = "l1",
    ignore_index: int | None = None,
    validate_args: bool = True,
    *,
    edges: Arithmetic = "exact",
    **keywords: Any,
) -> Tensor:
    """Compute the binned calibration error of the probability of one event.

    Parameters
    ----------
    preds
    target
    n_bins
    norm
    ignore_index
    validate_args
    edges
    **keywords

    Returns
    -------
    torch.Tensor
        A scalar in double precision.

    See Also
    --------
    calibrant.torch.BinaryCalibrationError : The same over batches, with the differences from torchmetrics.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.functional import binary_calibration_error
    >>> preds, target = torch.tensor([0.25, 0.25, 0.55, 0.75, 0.75]), torch.tensor([0, 0, 1, 1, 1])
    >>> round(float(binary_calibration_error(preds, target, n_bins=2)), 6)
    0.29
    """
    metric = BinaryCalibrationError(n_bins, norm, ignore_index, validate_args, edges=edges, **keywords)
    return _value(metric, preds, target)


@_documented
def multiclass_calibration_error(
    preds: Tensor,
    target: Tensor,
    num_classes: int,
    n_bins: int = 15,
    norm: Norm = "l1",
    ignore_index: int | None = None,
    validate_args: bool = True,
    *,
    edges: Arithmetic = "exact",
    **keywords: Any,
) -> Tensor:
    """Compute the binned calibration error of the predicted class.

    Parameters
    ----------
    preds
    target
    num_classes : int
        Number of classes, at least 2.
    n_bins
    norm
    ignore_index
    validate_args
    edges
    **keywords

    Returns
    -------
    torch.Tensor
        A scalar in double precision.

    See Also
    --------
    calibrant.torch.MulticlassCalibrationError : The same over batches.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.functional import multiclass_calibration_error
    >>> preds = torch.tensor([[0.25, 0.20, 0.55], [0.55, 0.05, 0.40], [0.10, 0.30, 0.60], [0.90, 0.05, 0.05]])
    >>> round(float(multiclass_calibration_error(preds, torch.tensor([0, 1, 2, 0]), num_classes=3, n_bins=3)), 6)
    0.2
    """
    metric = MulticlassCalibrationError(num_classes, n_bins, norm, ignore_index, validate_args, edges=edges, **keywords)
    return _value(metric, preds, target)


@_documented
def multilabel_calibration_error(
    preds: Tensor,
    target: Tensor,
    num_labels: int,
    n_bins: int = 15,
    norm: Norm = "l1",
    ignore_index: int | None = None,
    validate_args: bool = True,
    *,
    edges: Arithmetic = "exact",
    **keywords: Any,
) -> Tensor:
    """Compute the binned calibration error of multilabel predictions, averaged over the labels.

    Parameters
    ----------
    preds
    target : torch.Tensor of the shape of `preds`
        0 or 1 for each label.
    num_labels : int
        Number of labels.
    n_bins
    norm
    ignore_index
    validate_args
    edges
    **keywords

    Returns
    -------
    torch.Tensor
        A scalar in double precision.

    See Also
    --------
    calibrant.torch.MultilabelCalibrationError : The same over batches.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.functional import multilabel_calibration_error
    >>> preds, target = torch.tensor([[0.2, 0.9], [0.4, 0.7]]), torch.tensor([[0, 1], [1, 1]])
    >>> round(float(multilabel_calibration_error(preds, target, num_labels=2, n_bins=2)), 6)
    0.2
    """
    metric = MultilabelCalibrationError(num_labels, n_bins, norm, ignore_index, validate_args, edges=edges, **keywords)
    return _value(metric, preds, target)


@_documented
def calibration_error(
    preds: Tensor,
    target: Tensor,
    task: Task,
    n_bins: int = 15,
    norm: Norm = "l1",
    num_classes: int | None = None,
    ignore_index: int | None = None,
    validate_args: bool = True,
    *,
    num_labels: int | None = None,
    edges: Arithmetic = "exact",
    **keywords: Any,
) -> Tensor:
    """Compute the binned calibration error of a task, as `torchmetrics.functional.calibration_error` does.

    Parameters
    ----------
    preds
    target
    task : {"binary", "multiclass", "multilabel"}
        What is predicted: one event, one of several classes, or several labels.
    n_bins
    norm
    num_classes : int, optional
        Number of classes; required by ``"multiclass"``.
    ignore_index
    validate_args
    num_labels : int, optional
        Number of labels; required by ``"multilabel"``.
    edges
    **keywords

    Returns
    -------
    torch.Tensor
        A scalar in double precision.

    See Also
    --------
    calibrant.torch.CalibrationError : The same over batches.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.functional import calibration_error
    >>> preds, target = torch.tensor([0.25, 0.25, 0.55, 0.75, 0.75]), torch.tensor([0, 0, 1, 1, 1])
    >>> round(float(calibration_error(preds, target, task="binary", n_bins=2)), 6)
    0.29
    """
    shared: dict[str, Any] = {"ignore_index": ignore_index, "validate_args": validate_args, "edges": edges, **keywords}
    metric = CalibrationError(task, n_bins, norm, num_classes, num_labels=num_labels, **shared)
    return _value(metric, preds, target)


@documents_keywords(taken=_KEYWORDS, source=SketchMetric.__init__, table=PARAMETERS)
def calibration_metric(
    metric: str | Metric,
    preds: Tensor,
    target: Tensor,
    num_classes: int | None = None,
    *,
    lens: str | None = None,
    task: Task | None = None,
    num_labels: int | None = None,
    **options: Any,
) -> Tensor:
    """Compute any score metric of the catalogue.

    ``calibration_metric("smece", preds, target)`` can be written ``smece(preds, target)``.

    Parameters
    ----------
    metric : str or Metric
        Identifier such as ``"smece"``, or the metric; it must be defined on sketches.
    preds
    target
    num_classes
    lens : str, optional
        Lens, by default that of the metric.
    task : {"binary", "multiclass", "multilabel"}, optional
        What is predicted; by default `num_classes` and `num_labels` decide.
    num_labels
    **options
        Options of the metric, such as ``bins=20``.

    Returns
    -------
    torch.Tensor
        A scalar in double precision.

    See Also
    --------
    calibrant.torch.CalibrationMetric : The same over batches.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.functional import calibration_metric
    >>> preds, target = torch.tensor([0.25, 0.25, 0.55, 0.75, 0.75]), torch.tensor([0, 0, 1, 1, 1])
    >>> round(float(calibration_metric("ece", preds, target, bins=2)), 6)
    0.29
    """
    made = CalibrationMetric(metric, num_classes, lens=lens, task=task, num_labels=num_labels, **options)
    return _value(made, preds, target)


def __getattr__(name: str) -> Callable[..., Tensor]:
    """Give the function of a metric of the catalogue."""
    found = None if name.startswith("_") else catalogue.get(name)
    if found is None or found.id != name or found.takes != "View" or not found.sketch or found.needs:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def function(preds: Tensor, target: Tensor, num_classes: int | None = None, **options: Any) -> Tensor:
        return calibration_metric(found, preds, target, num_classes, **options)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{found.name}: ``calibration_metric({name!r}, preds, target, num_classes, **options)``."
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    usable = [name for name, one in catalogue.items() if one.takes == "View" and one.sketch and not one.needs]
    return sorted({*__all__, *usable})
