"""Checks of what is given to a loss: logits, targets, class weights and options."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import torch
from torch import Tensor

from ...errors import ArgumentError, InputTypeError, LabelError, ProbabilityError, ShapeError, WeightError

__all__ = [
    "check_form",
    "check_ignored",
    "check_input",
    "check_number",
    "check_weight",
    "label_error",
    "share_error",
    "weight_error",
    "wrong_shares",
]

# How far the shares of a soft target may be from 1 in sum, by the precision they came in.
SLACK = {torch.float64: 1e-6, torch.float32: 1e-4}
HALF_SLACK = 1e-2


def check_input(input: Tensor) -> None:
    """Whether there are logits of at least two classes."""
    if not isinstance(input, Tensor):
        raise InputTypeError("input", f"must be a tensor of logits; got {type(input).__name__}")
    if not input.is_floating_point():
        raise InputTypeError(
            "input",
            f"must hold logits in floating point; got {_kind(input)}",
            "logits come first and targets second; or call .float()",
        )
    if input.ndim < 2 or input.shape[1] < 2:
        raise ShapeError(
            "input",
            f"must have shape (N, classes) or (N, classes, d1, ...) with at least two classes; got {tuple(input.shape)}",
            "for one logit z per row pass torch.stack([torch.zeros_like(z), z], dim=1)",
        )


def check_ignored(ignore_index: Any) -> int:
    """A whole number."""
    if isinstance(ignore_index, bool) or not isinstance(ignore_index, Integral) or abs(int(ignore_index)) >= 2**63:
        raise ArgumentError("ignore_index", f"must be a whole number of 64 bits; got {ignore_index!r}")
    return int(ignore_index)


def check_form(input: Tensor, target: Tensor, ignore_index: int) -> bool:
    """Type and shape of the target; whether it is soft."""
    if not isinstance(target, Tensor) or target.dtype == torch.bool or target.is_complex():
        got = f"a {_kind(target)} tensor" if isinstance(target, Tensor) else type(target).__name__
        raise InputTypeError("target", f"must be a tensor of class indices or of shares; got {got}", "call .long()")
    if target.is_floating_point():
        if target.shape != input.shape:
            raise ShapeError(
                "target",
                f"holds shares, and must have the shape of input, {tuple(input.shape)}; got {tuple(target.shape)}",
                "class indices must be integers: call .long()",
            )
        if ignore_index >= 0:
            raise ArgumentError("ignore_index", "has no meaning for soft targets", "leave it out")
        return True
    expected = input.shape[:1] + input.shape[2:]
    if target.shape != expected:
        raise ShapeError(
            "target",
            f"must have one class for each row of input, shape {tuple(expected)}; got {tuple(target.shape)}",
            "for shares of the classes call .float()" if target.shape == input.shape else "",
        )
    return False


def label_error(target: Tensor, wrong: Tensor, classes: int, ignore_index: int) -> LabelError:
    """The first of the rows whose class is none."""
    place = _first(wrong.reshape(target.shape))
    return LabelError(
        "target",
        f"must lie from 0 to {classes - 1}; got {int(target[tuple(place)])} at {_named(place)}",
        f"classes are counted from 0, and only ignore_index={ignore_index} is left out",
        row=place[0],
    )


def wrong_shares(target: Tensor) -> Tensor:
    """(N, d1, ...): rows that are no distribution, within the precision they came in."""
    slack = SLACK.get(target.dtype, HALF_SLACK)
    return ~((target >= 0) & (target <= 1 + slack)).all(1) | ~((_sums(target) - 1).abs() <= slack)


def share_error(target: Tensor, wrong: Tensor) -> ProbabilityError:
    """The first of the rows that are no distribution."""
    place = _first(wrong)
    total = float(_sums(target)[tuple(place)])
    return ProbabilityError(
        "target",
        f"soft targets must lie in [0, 1] and sum to 1 over classes; {_named(place)} does not (sum {total:.6g})",
        row=place[0],
    )


def check_weight(weight: Tensor | None, classes: int) -> Tensor | None:
    """Whether there is one weight for each class; their values are read with those of the target."""
    if weight is None:
        return None
    if not isinstance(weight, Tensor) or weight.shape != (classes,):
        got = tuple(weight.shape) if isinstance(weight, Tensor) else type(weight).__name__
        raise WeightError("weight", f"must be a tensor with one number for each of {classes} classes; got {got}")
    return weight


def weight_error(weight: Tensor | None) -> WeightError:
    """Class weights that are not finite, or negative."""
    got = None if weight is None else weight.tolist()
    return WeightError("weight", f"must be finite and not negative in the precision of the logits; got {got}")


def check_number(value: Any, argument: str, *, low: float = 0.0, high: float = math.inf, above: bool = False) -> float:
    """A finite number from `low` to `high`; above `low` where `above` says so."""
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not (low <= number <= high and number < math.inf) or (above and number == low):
        bound = f"above {low:g}" if above else f"from {low:g} up"
        raise ArgumentError(
            argument, f"must be a number {bound}{'' if math.isinf(high) else f', at most {high:g}'}; got {value!r}"
        )
    return number


def _sums(target: Tensor) -> Tensor:
    shares = target.detach()
    return shares.to(torch.float64 if shares.dtype == torch.float64 else torch.float32).sum(1)


def _first(wrong: Tensor) -> list[int]:
    return [int(index) for index in wrong.nonzero()[0]]


def _named(place: list[int]) -> str:
    return f"row {place[0]}" if len(place) == 1 else f"position {place}"


def _kind(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
