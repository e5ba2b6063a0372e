"""Arguments and tensors of metric objects: checked by shape and type, arranged as rows; the errors for invalid rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import (
    ArgumentError,
    CalibrantError,
    GroupError,
    InputTypeError,
    LabelError,
    LensError,
    ProbabilityError,
    ShapeError,
)
from ..util.checks import check_whole
from .sketching import NEVER, Block, Plan


def as_rows(preds: Any, target: Any, groups: Any, plan: Plan) -> Block:
    """Tensors as rows, without copying where their strides allow it and without reading from the device."""
    _check_tensors(preds, target, plan)
    if target.is_floating_point():  # 0.0 and 1.0, as for binary cross-entropy
        invalid = -1 if plan.ignore_index != -1 else -2
        target = torch.where(target == target.trunc(), target, invalid).to(torch.int64)
    if plan.classes is None:
        shape = tuple(preds.shape)
        rows = preds.detach().reshape(-1, 1, 1) if preds.ndim < 2 else preds.detach().flatten(1).unsqueeze(1)
    else:
        if preds.ndim < 2 or preds.shape[1] != plan.classes:
            raise ShapeError(
                "preds",
                f"must have shape (N, {plan.classes}, ...), a probability for each class; got {tuple(preds.shape)}",
            )
        shape = (preds.shape[0], *preds.shape[2:])
        rows = preds.detach().unsqueeze(-1) if preds.ndim == 2 else preds.detach().flatten(2)
    if tuple(target.shape) != shape:
        raise ShapeError("target", f"must have shape {shape} to match preds; got {tuple(target.shape)}")
    count, _, inner = rows.shape
    return Block(rows, target.reshape(count, inner), _groups(groups, target, plan, (count, inner)), 0)


def _check_tensors(preds: Any, target: Any, plan: Plan) -> None:
    for name, tensor in (("preds", preds), ("target", target)):
        if not isinstance(tensor, Tensor):
            raise InputTypeError(
                name, f"must be a torch tensor; got {type(tensor).__name__}", "use torch.as_tensor(...)"
            )
    if not preds.is_floating_point():
        raise InputTypeError("preds", f"must be floating point; got {preds.dtype}", "pass preds first, then target")
    if target.is_complex() or (target.is_floating_point() and plan.classes is not None):
        raise InputTypeError("target", f"must contain integers; got {target.dtype}", "use target.long()")
    if preds.device.type == "mps":
        raise ArgumentError("preds", "mps does not support double precision", "pass preds.cpu() and target.cpu()")
    if target.device != preds.device:
        raise ArgumentError("target", f"is on {target.device}, and preds are on {preds.device}", "move one of them")


def _groups(groups: Any, target: Tensor, plan: Plan, shape: tuple[int, int]) -> Tensor | None:
    if groups is None:
        if plan.groups > 1:
            raise ArgumentError("groups", f"the index of the group, below {plan.groups}, is required for each row")
        return None
    if not isinstance(groups, Tensor) or groups.is_floating_point() or groups.device != target.device:
        raise InputTypeError("groups", "must be a tensor of integers on the device of target")
    groups = groups.to(torch.int64)
    if groups.shape == target.shape:
        return groups.reshape(shape)
    if groups.shape == target.shape[:1]:
        return groups.reshape(-1, 1).expand(shape)
    raise ShapeError(
        "groups", f"must have shape {tuple(target.shape)} or {tuple(target.shape[:1])}; got {tuple(groups.shape)}"
    )


def check_arguments(
    num_classes: Any, input: Any, ignore_index: Any, num_groups: Any
) -> tuple[int | None, int | None, int | None]:
    """Number of classes, label to ignore and number of groups, as plain integers."""
    if input not in ("prob", "logit"):
        raise ArgumentError("input", f"must be 'prob' or 'logit'; got {input!r}", "the scale is not inferred")
    if ignore_index is not None and (isinstance(ignore_index, bool) or not isinstance(ignore_index, (int, np.integer))):
        raise ArgumentError("ignore_index", f"must be an integer or None; got {ignore_index!r}")
    return (
        None if num_classes is None else check_whole(num_classes, "num_classes", 2),
        None if ignore_index is None else int(ignore_index),
        None if num_groups is None else check_whole(num_groups, "num_groups"),
    )


def check_lenses(lenses: Iterable[str] | str | None, num_classes: int | None) -> tuple[str, ...]:
    """Names of the requested lenses."""
    supported: tuple[str, ...] = ("binary",) if num_classes is None else ("top_label", "classwise")
    if num_classes == 2:
        supported = ("binary", *supported)
    names = supported[:1] if lenses is None else (lenses,) if isinstance(lenses, str) else tuple(lenses)
    for name in names:
        if name not in supported:
            remedy = "use lens='binary' or pass num_classes for several classes" if num_classes is None else ""
            raise LensError("lenses", f"must be of {', '.join(supported)}; got {name!r}", remedy)
    if not names:
        raise LensError("lenses", "is empty", f"name at least one of {', '.join(supported)}")
    if num_classes == 2 and {"binary", "top_label"} <= set(names):
        raise LensError("lenses", "binary and top_label cannot be combined", "create one metric for each")
    return names


def fault_error(faults: list[int], first: int, input: str) -> CalibrantError:
    """The error for invalid rows."""
    _, nan, outside, wrong_sum, label, group = faults
    counts = {
        "with NaN": nan,
        "with entries outside [0, 1]": outside,
        "with a sum other than 1": wrong_sum,
        "with an unknown class as label": label,
        "with an unknown group": group,
    }
    total = sum(counts.values())
    causes = ", ".join(f"{count} {cause}" for cause, count in counts.items() if count)
    problem = f"{total} invalid {'row' if total == 1 else 'rows'} ({causes})"
    if first == NEVER:
        problem += ", on another process or from merge_state"
    place: dict[str, Any] = {"row": None if first == NEVER else first, "count": total}
    if label:
        return LabelError("target", problem, "pass ignore_index to skip rows", **place)
    if group:
        return GroupError("groups", problem, "pass num_groups to set their number", **place)
    remedy = (
        "check the output of the model" if input == "logit" or nan == total else "use input='logit' if these are logits"
    )
    return ProbabilityError("preds", problem, remedy, **place)
