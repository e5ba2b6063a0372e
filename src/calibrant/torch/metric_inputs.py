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

__all__ = ["as_rows", "check_arguments", "check_lenses", "fault_error"]


def as_rows(preds: Any, target: Any, groups: Any, plan: Plan) -> Block:
    """Tensors as rows, without copying where their strides allow it and without reading from the device."""
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
        raise ArgumentError("input", f"must be 'prob' or 'logit'; got {input!r}", "the scale is said, never guessed")
    if ignore_index is not None and (isinstance(ignore_index, bool) or not isinstance(ignore_index, (int, np.integer))):
        raise ArgumentError("ignore_index", f"must be a whole number or None; got {ignore_index!r}")
    return (
        None if num_classes is None else check_whole(num_classes, "num_classes", 2),
        None if ignore_index is None else int(ignore_index),
        None if num_groups is None else check_whole(num_groups, "num_groups"),
    )


def check_lenses(lenses: Iterable[str] | str | None, num_classes: int | None) -> tuple[str, ...]:
    """Names of the requested lenses."""
    known: tuple[str, ...] = ("binary",) if num_classes is None else ("top_label", "classwise")
    if num_classes == 2:
        known = ("binary", *known)
    names = known[:1] if lenses is None else (lenses,) if isinstance(lenses, str) else tuple(lenses)
    for name in names:
        if name not in known:
            remedy = "use lens='binary', or num_classes= for one of several classes" if num_classes is None else ""
            raise LensError("lenses", f"must be of {', '.join(known)}; got {name!r}", remedy)
    if not names:
        raise LensError("lenses", "is empty", f"name at least one of {', '.join(known)}")
    if num_classes == 2 and {"binary", "top_label"} <= set(names):
        raise LensError("lenses", "has both binary and top_label", "make a metric for each")
    return names


def fault_error(faults: list[int], first: int, input: str) -> CalibrantError:
    """The error for invalid rows."""
    _, nan, outside, wrong_sum, label, group = faults
    found = {
        "hold NaN": nan,
        "hold entries outside 0 and 1": outside,
        "do not sum to 1": wrong_sum,
        "have a label that is no class": label,
        "have a group that is none": group,
    }
    causes = ", ".join(f"{count} {cause}" for cause, count in found.items() if count)
    where = "the first is on another process, or came by merge_state" if first == NEVER else f"the first is row {first}"
    if label:
        return LabelError(
            "target", f"rows could not be counted: {causes}; {where}", "ignore_index= leaves rows out", row=_row(first)
        )
    if group:
        return GroupError(
            "groups", f"rows could not be counted: {causes}; {where}", "num_groups= says how many", row=_row(first)
        )
    remedy = "check the model's output" if input == "logit" else "pass input='logit' if these are logits"
    return ProbabilityError("preds", f"rows could not be counted: {causes}; {where}", remedy, row=_row(first))


def _row(first: int) -> int | None:
    return None if first == NEVER else first
