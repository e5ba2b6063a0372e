"""How modules read logits and rows: as their twins for arrays do, in no less than single precision."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..errors import ShapeError, warn_caller
from ..recalibration.scores import SMALLEST
from ._rows import TrainingRows

__all__ = [
    "LOG_SMALLEST",
    "absent_classes",
    "check_flat",
    "host",
    "of_probabilities",
    "ruled_out_read",
    "warn_of_absent",
    "without_autocast",
]

LOG_SMALLEST = math.log(SMALLEST)


def check_flat(logits: Any) -> None:
    """Raise for dense outputs where rows are needed: of these the last axis is a width, and no row of classes."""
    if isinstance(logits, Tensor) and logits.ndim > 2:
        raise ShapeError(
            "logits",
            f"must be rows and classes; the shape is {tuple(logits.shape)}",
            "of dense logits make each place a row: logits.movedim(1, -1).flatten(0, -2), and labels.flatten()",
        )


def of_probabilities(rows: TrainingRows) -> TrainingRows:
    """The same rows as logarithms of their probabilities, as a map of probabilities reads them."""
    logs = torch.log_softmax(rows.logits, dim=1).clamp(min=LOG_SMALLEST)
    return replace(rows, logits=logs)


def absent_classes(rows: TrainingRows) -> str:
    """Which classes have no rows, in words; empty where all have some."""
    k = rows.logits.shape[1]
    absent = torch.nonzero(torch.bincount(rows.labels, minlength=k) == 0)[:, 0].tolist()
    if len(absent) <= 1:
        return f"class {absent[0]} has no rows" if absent else ""
    return f"classes {', '.join(map(str, absent[:5]))}{', ...' if len(absent) > 5 else ''} have no rows"


def warn_of_absent(rows: TrainingRows) -> None:
    """As a map does whose classes each have parameters of their own."""
    absent = absent_classes(rows)
    if absent:
        warn_caller(
            f"{absent}, so the module takes the probability there towards 0; fit on rows of every class, or use one that "
            "treats all classes alike, such as TemperatureModule"
        )


def ruled_out_read(z: Tensor) -> Tensor:
    """Logits of -inf as maps read them: as those of a probability of 0, which is taken for 1e-16 of the largest."""
    return torch.where(z == -math.inf, z.amax(dim=-1, keepdim=True) + LOG_SMALLEST, z)


def without_autocast(z: Tensor) -> AbstractContextManager[Any]:
    """Mixed precision would multiply matrices in half; what is calibrated to the fourth digit needs more."""
    on = torch.is_autocast_enabled(z.device.type)
    return torch.autocast(z.device.type, enabled=False) if on else nullcontext()


def host(tensor: Tensor) -> Any:
    """A tensor as an array of doubles."""
    return tensor.detach().cpu().double().numpy()
