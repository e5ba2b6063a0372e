"""What `update` is given, checked by its shape and kind and laid out as rows; nothing is read from the device."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..errors import ArgumentError, InputTypeError, ShapeError
from .sketching import Block, Plan

__all__ = ["as_rows"]


def as_rows(preds: Any, target: Any, groups: Any, plan: Plan) -> Block:
    """Tensors as rows, without a copy where their strides allow; nothing is read from the device."""
    _check_tensors(preds, target)
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
        raise ShapeError("target", f"must have shape {shape} to go with preds; got {tuple(target.shape)}")
    count, _, inner = rows.shape
    return Block(rows, target.reshape(count, inner), _groups(groups, target, plan, (count, inner)), 0)


def _check_tensors(preds: Any, target: Any) -> None:
    for name, tensor in (("preds", preds), ("target", target)):
        if not isinstance(tensor, Tensor):
            raise InputTypeError(
                name, f"must be a torch tensor; got {type(tensor).__name__}", "use torch.as_tensor(...)"
            )
    if not preds.is_floating_point():
        raise InputTypeError("preds", f"must be floating point; got {preds.dtype}", "preds come first, then target")
    if target.is_floating_point() or target.is_complex():
        raise InputTypeError("target", f"must hold whole numbers; got {target.dtype}", "use target.long()")
    if preds.device.type == "mps":
        raise ArgumentError("preds", "are on mps, which has no double precision", "pass preds.cpu() and target.cpu()")
    if target.device != preds.device:
        raise ArgumentError("target", f"is on {target.device}, and preds on {preds.device}", "move one of them")


def _groups(groups: Any, target: Tensor, plan: Plan, shape: tuple[int, int]) -> Tensor | None:
    if groups is None:
        if plan.groups > 1:
            raise ArgumentError("groups", f"must say which of the {plan.groups} groups each row belongs to")
        return None
    if not isinstance(groups, Tensor) or groups.is_floating_point() or groups.device != target.device:
        raise InputTypeError("groups", "must be a tensor of whole numbers beside target")
    if groups.shape == target.shape:
        return groups.reshape(shape)
    if groups.shape == target.shape[:1]:
        return groups.reshape(-1, 1).expand(shape)
    raise ShapeError(
        "groups", f"must have shape {tuple(target.shape)} or {tuple(target.shape[:1])}; got {tuple(groups.shape)}"
    )
