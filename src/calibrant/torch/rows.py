"""Logits, labels and weights as checked tensors, read as the calibrators for arrays read theirs; in single precision or better."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError, InputTypeError, LabelError, ShapeError
from ..recalibration.scores import SMALLEST

# Entries per block: enough to occupy a device, few enough for several copies.
BLOCK = 1 << 24
LOG_SMALLEST = math.log(SMALLEST)


def wide(device: torch.device) -> torch.dtype:
    """The widest floating-point type of a device: double where supported."""
    return torch.float32 if device.type == "mps" else torch.float64


def at_least_single(tensor: Tensor) -> Tensor:
    """Half precision converted to float32; wider types unchanged."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def blocks(rows: int, columns: int) -> Iterator[slice]:
    """Slices that cover all rows."""
    step = max(1, BLOCK // max(columns, 1))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def check_logits(logits: Any, classes: int | None = None, argument: str = "logits") -> None:
    """Raise unless this is a floating-point tensor whose last axis is the classes; nothing is read from the device."""
    if not isinstance(logits, Tensor):
        raise InputTypeError(
            argument, f"must be a torch tensor; got {type(logits).__name__}", "use torch.as_tensor(...)"
        )
    if not logits.is_floating_point():
        raise InputTypeError(
            argument, f"must be floating point; got {logits.dtype}", "pass the logits, not the predicted classes"
        )
    if logits.ndim == 0 or logits.shape[-1] < 2:
        raise ShapeError(
            argument,
            f"must have one column for each class, at least two; got shape {tuple(logits.shape)}",
            "for one output z of two classes, pass torch.stack([torch.zeros_like(z), z], dim=-1)",
        )
    if classes is not None and logits.shape[-1] != classes:
        raise ShapeError(argument, f"have {logits.shape[-1]} classes; the module expects {classes}")


def classes_last(logits: Tensor, classes: int | None) -> Tensor:
    """Checked logits (N, K), (N, K, ...) or (K,) with the classes on the last axis."""
    if not isinstance(logits, Tensor) or logits.ndim <= 2:
        check_logits(logits, classes)
        return logits
    last = logits.movedim(1, -1)
    if classes is not None and last.shape[-1] != classes:
        raise ShapeError(
            "logits",
            f"the {classes} classes must be on axis 1; got shape {tuple(logits.shape)}",
            "move them with logits.movedim(-1, 1)",
        )
    check_logits(last, classes)
    return last


def as_given(calibrated: Tensor) -> Tensor:
    """Move the classes back to axis 1."""
    return calibrated if calibrated.ndim <= 2 else calibrated.movedim(-1, 1)


def softmax_of_classes(logits: Tensor) -> Tensor:
    """Probabilities of logits whose classes are on axis 1."""
    return torch.softmax(logits, dim=min(logits.ndim - 1, 1))


def as_classes(output: Tensor, argument: str = "output", *, rows: Sequence[int] = ()) -> Tensor:
    """(N, K) logits; a single output z per row is the log odds of the second class, and becomes the columns 0 and z.

    If `rows` gives the numbers of input rows, a vector must have one of these lengths; otherwise it would be the logits of one row.
    """
    if output.ndim == 1 and rows and not any(output.shape[0] == count for count in rows):
        raise ShapeError(
            argument,
            f"expected {rows[0]} row{'s' * (rows[0] != 1)}, as in the input; got shape {tuple(output.shape)}",
            "add a batch dimension to a single row, x[None], or a column dimension to one number per row, x[:, None]",
        )
    if output.ndim == 1 or (output.ndim == 2 and output.shape[1] == 1):
        z = output.reshape(-1)
        return torch.stack([torch.zeros_like(z), z], dim=-1)
    if output.ndim == 0:
        raise ShapeError(
            argument,
            "is a single number without a dimension for rows",
            "use squeeze(-1) instead of squeeze(), which removes the dimension of a single row",
        )
    if output.ndim != 2:
        raise ShapeError(
            argument,
            f"expected one row of logits for each prediction, got shape {tuple(output.shape)}",
            "move the classes last with output=lambda out: out.movedim(1, -1).flatten(0, -2)",
        )
    return output


def as_numbers(labels: Any, argument: str) -> Tensor:
    """Class indices in any common form as a tensor; class names raise."""
    remedy = "number the classes from 0 up, in the order of the columns"
    if isinstance(labels, Tensor):
        if labels.is_complex():
            raise InputTypeError(argument, f"must be class indices; got {labels.dtype}", remedy)
        return labels
    try:
        array = np.asarray(labels)
    except (TypeError, ValueError):
        raise InputTypeError(
            argument, f"must be a tensor or a list of class indices; got {type(labels).__name__}"
        ) from None
    if array.size and array.dtype.kind not in "biuf":
        first = array.reshape(-1)[:1].tolist()[0]
        raise InputTypeError(argument, f"must be class indices; got {first!r}", remedy, row=0)
    return torch.as_tensor(array.astype(np.float64 if array.dtype.kind == "f" else np.int64))


def read_labels(labels: Any, rows: int, classes: int, *, argument: str = "labels") -> Tensor:
    """Class indices as int64, one per row."""
    labels = as_numbers(labels, argument)
    if labels.ndim > 1 and labels.shape == (rows, classes):
        raise ShapeError(
            argument, f"expected one class index per row, got {classes} columns", "pass labels.argmax(dim=1)"
        )
    if labels.numel() != rows:
        raise ShapeError(
            argument, f"expected {rows} labels, one for each row of logits; got shape {tuple(labels.shape)}"
        )
    labels = labels.detach().reshape(-1)
    codes = labels.to(torch.int64)
    bad = (codes < 0) | (codes >= classes)
    if labels.is_floating_point():
        bad |= codes != labels
    if bool(bad.any()):
        row = int(bad.to(torch.int8).argmax())
        raise LabelError(
            argument,
            f"must be from 0 to {classes - 1}; got {labels[row].item()}",
            "drop the rows to be ignored, or check the number of classes",
            row=row,
        )
    return codes


def training_rows(logits: Any, labels: Any, classes: int | None) -> tuple[Tensor, Tensor]:
    """Finite logits in the widest type of their device, and class indices beside them."""
    check_flat(logits)
    check_logits(logits, classes)
    if logits.ndim != 2 or not len(logits):
        raise ShapeError("logits", f"must have two dimensions (rows, classes); got shape {tuple(logits.shape)}")
    z = logits.detach().to(wide(logits.device))
    codes = read_labels(labels, len(z), z.shape[1]).to(z.device)
    bad = ~torch.isfinite(z).all(dim=1)
    if bool(bad.any()):
        row = int(bad.to(torch.int8).argmax())
        raise InputError(
            "logits",
            "must be finite",
            "drop the row, or use a large negative number such as -1e4 for a masked class",
            row=row,
        )
    return z, codes


def on_host(weight: Any) -> Any:
    """Weights as an array, if they are a tensor."""
    return weight.detach().cpu().numpy() if isinstance(weight, Tensor) else weight


def check_flat(logits: Any) -> None:
    """Raise for dense outputs where (N, K) is needed: their last axis is not the classes."""
    if isinstance(logits, Tensor) and logits.ndim > 2:
        raise ShapeError(
            "logits",
            f"must have two dimensions (rows, classes); got shape {tuple(logits.shape)}",
            "for dense predictions, pass logits.movedim(1, -1).flatten(0, -2) and labels.flatten()",
        )


def ruled_out_read(z: Tensor) -> Tensor:
    """Replace logits of -inf as the calibrators for arrays do: a probability of 0 becomes 1e-16 of the largest."""
    return torch.where(z == -math.inf, z.amax(dim=-1, keepdim=True) + LOG_SMALLEST, z)


def without_autocast(z: Tensor) -> AbstractContextManager[Any]:
    """Disable autocast, whose matrix products in half precision are too inaccurate for calibration."""
    on = torch.is_autocast_enabled(z.device.type)
    return torch.autocast(z.device.type, enabled=False) if on else nullcontext()


def host(tensor: Tensor) -> Any:
    """A tensor as an array of doubles."""
    return tensor.detach().cpu().double().numpy()
