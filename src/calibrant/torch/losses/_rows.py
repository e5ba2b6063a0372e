"""What every loss starts from: logits and targets checked once and laid out as rows, with weights and the way to reduce."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, ParamSpec

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import (
    ArgumentError,
    InputTypeError,
    LabelError,
    LensError,
    ProbabilityError,
    ShapeError,
    WeightError,
)

__all__ = ["LEAST_LOG", "Rows", "check_number", "gather_rows", "in_full_precision", "safe_power"]

REDUCTIONS = ("none", "mean", "sum")
HALF = (torch.float16, torch.bfloat16)
# How far the shares of a soft target may be from 1 in sum, by the precision they came in.
SLACK = {torch.float64: 1e-6, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-2}
LEAST_LOG = -1e4


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that count, (M, K): neither ignored nor of a class without weight."""

    logits: Tensor
    """At least in single precision, none more than 10,000 below the largest of its row."""
    labels: Tensor | None
    """Class indices, or None for soft targets."""
    shares: Tensor | None
    """Soft targets, or None."""
    class_weight: Tensor | None
    kept: Tensor | None
    """Which of the flattened rows these are; None for all."""
    shape: torch.Size
    """Shape of one value per row, as it came."""
    reduction: str

    @cached_property
    def shut(self) -> Tensor:
        """(M, K): classes that lie as far below the largest logit as any can; nothing is spread or paid for them."""
        return self.logits <= _floor(self.logits)

    @cached_property
    def log_probs(self) -> Tensor:
        return F.log_softmax(self.logits, 1).clamp(min=LEAST_LOG)

    @cached_property
    def probs(self) -> Tensor:
        return F.softmax(self.logits, 1)

    @cached_property
    def targets(self) -> Tensor:
        """(M, K): one-hot rows, or shares."""
        if self.shares is not None:
            return self.shares
        assert self.labels is not None
        return F.one_hot(self.labels, self.logits.shape[1]).to(self.logits.dtype)

    @cached_property
    def row_weight(self) -> Tensor:
        if self.class_weight is None:
            return self.logits.new_ones(len(self.logits))
        return self.targets @ self.class_weight

    @cached_property
    def total(self) -> Tensor:
        return self.row_weight.sum()

    @cached_property
    def share(self) -> Tensor:
        """Weight of each row; they sum to 1, or there are none."""
        return self.row_weight / torch.where(self.total > 0, self.total, 1.0)

    @cached_property
    def entropy(self) -> Tensor:
        return -(self.probs * self.log_probs).sum(1)

    @cached_property
    def log_others(self) -> Tensor:
        """(M, K): ln(1 - p), exact also where p is nearly 1: the largest class by the sum over the others."""
        top = F.one_hot(self.logits.argmax(1), self.logits.shape[1]).bool()
        others = self.log_probs.masked_fill(top, -math.inf).logsumexp(1, keepdim=True)
        plain = torch.log1p(-self.probs.masked_fill(top, 0.0))
        return torch.where(top, others, plain).clamp(min=LEAST_LOG)

    def expect(self, values: Tensor) -> Tensor:
        """(M, K) to (M,): the value at the true class, or its mean under soft targets."""
        if self.labels is not None:
            return values.gather(1, self.labels[:, None])[:, 0]
        return (self.targets * values).sum(1)

    def seen(self, lens: str) -> tuple[Tensor, Tensor]:
        """Score and outcome of each row: for `binary` of the second class, for `top_label` of the likeliest one."""
        classes = self.logits.shape[1]
        if lens not in ("auto", "binary", "top_label"):
            raise LensError("lens", f"must be 'auto', 'binary' or 'top_label'; got {lens!r}")
        if lens == "binary" and classes != 2:
            raise LensError("lens", f"'binary' needs two classes, and input has {classes}", "use lens='top_label'")
        if classes == 2 and lens != "top_label":
            return self.probs[:, 1], self.targets[:, 1]
        top = self.logits.argmax(1, keepdim=True)
        return self.probs.gather(1, top)[:, 0], self.targets.gather(1, top)[:, 0]

    def right_labels(self, needed_by: str) -> Tensor:
        """The class indices; soft targets have none."""
        if self.labels is None:
            raise InputTypeError(
                "target", f"must be class indices: {needed_by} is not defined for soft targets", "pass target.argmax(1)"
            )
        return self.labels

    def cross_entropy(self, logits: Tensor | None = None, smoothing: float = 0.0) -> Tensor:
        """Weighted cross-entropy of each row, as torch has it."""
        return F.cross_entropy(
            self.logits if logits is None else logits,
            self.targets if self.labels is None else self.labels,
            weight=self.class_weight,
            reduction="none",
            label_smoothing=smoothing,
        )

    def reduce(self, values: Tensor) -> Tensor:
        """Values that carry their weight already: the mean divides as torch does, by weights, or by rows for soft targets."""
        if self.reduction == "none":
            return self._placed(values)
        if self.reduction == "sum":
            return values.sum()
        if self.labels is None:
            return values.sum() / max(len(values), 1)
        return values.sum() / torch.where(self.total > 0, self.total, 1.0)

    def average(self, values: Tensor) -> Tensor:
        """Values without their weight: the weighted mean, the weighted sum, or each times its weight."""
        if self.reduction == "mean":
            return (self.share * values).sum()
        return self.reduce(self.row_weight * values)

    def whole(self, value: Tensor, name: str) -> Tensor:
        """One value for the whole batch; its sum is the value times the weight of the batch."""
        if self.reduction == "none":
            raise ArgumentError(
                "reduction", f"must be 'mean' or 'sum': {name} has one value for the batch, and none for a row"
            )
        return value * self.total if self.reduction == "sum" else value

    def _placed(self, values: Tensor) -> Tensor:
        if self.kept is not None:
            values = values.new_zeros(len(self.kept)).masked_scatter(self.kept, values)
        return values.reshape(self.shape)


Arguments = ParamSpec("Arguments")


def in_full_precision(loss: Callable[Arguments, Tensor]) -> Callable[Arguments, Tensor]:
    """Without autocast, which would take the products inside a loss back to half precision."""

    @wraps(loss)
    def careful(*args: Arguments.args, **options: Arguments.kwargs) -> Tensor:
        kinds = {one.device.type for one in (*args, *options.values()) if isinstance(one, Tensor)} or {"cpu"}
        with torch.autocast(device_type=kinds.pop(), enabled=False):
            return loss(*args, **options)

    return careful


def gather_rows(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    dtype: torch.dtype | None = None,
) -> Rows:
    """Check the arguments that all losses share, and lay them out as rows."""
    _check_input(input)
    if reduction not in REDUCTIONS:
        raise ArgumentError("reduction", f"must be 'none', 'mean' or 'sum'; got {reduction!r}")
    if isinstance(ignore_index, bool) or not isinstance(ignore_index, int):
        raise ArgumentError("ignore_index", f"must be a whole number; got {ignore_index!r}")
    classes = input.shape[1]
    soft = _check_target(input, target, ignore_index)
    kind = dtype or (torch.float32 if input.dtype in HALF else input.dtype)
    logits = input.movedim(1, -1).reshape(-1, classes).to(kind)
    # Raised, so that a class shut out by a logit of -inf is 0 times something finite, and so is its gradient.
    logits = torch.maximum(logits, _floor(logits))
    shape = input.shape[:1] + input.shape[2:]
    factor = _check_weight(weight, classes)
    if factor is not None:
        factor = factor.to(logits)
    if soft:
        shares = target.movedim(1, -1).reshape(-1, classes).to(kind)
        kept = None if factor is None else shares @ factor > 0
    else:
        labels = target.reshape(-1).long()
        kept = labels != ignore_index
        if factor is not None:
            kept = kept & (factor[torch.where(kept, labels, 0)] > 0)
    if kept is None or bool(kept.all()):
        return Rows(logits, None if soft else labels, shares if soft else None, factor, None, shape, reduction)
    left, found = logits[kept], (shares if soft else labels)[kept]
    return Rows(left, None if soft else found, found if soft else None, factor, kept, shape, reduction)


def _floor(logits: Tensor) -> Tensor:
    """(M, 1): the lowest that a logit of each row counts; no gradient goes through it."""
    return logits.detach().amax(1, keepdim=True) + LEAST_LOG


def _check_input(input: Tensor) -> None:
    if not isinstance(input, Tensor):
        raise InputTypeError("input", f"must be a tensor of logits; got {type(input).__name__}")
    if not input.is_floating_point():
        raise InputTypeError(
            "input",
            f"must hold logits in floating point; got {str(input.dtype).removeprefix('torch.')}",
            "logits come first and targets second; or call .float()",
        )
    if input.ndim < 2 or input.shape[1] < 2:
        raise ShapeError(
            "input",
            f"must have shape (N, classes) or (N, classes, d1, ...) with at least two classes; got {tuple(input.shape)}",
            "for one logit z per row pass torch.stack([torch.zeros_like(z), z], dim=1)",
        )


def _check_target(input: Tensor, target: Tensor, ignore_index: int) -> bool:
    """Whether the target is soft."""
    if not isinstance(target, Tensor) or target.dtype == torch.bool or target.is_complex():
        got = (
            f"a {str(target.dtype).removeprefix('torch.')} tensor"
            if isinstance(target, Tensor)
            else type(target).__name__
        )
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
        if not torch.compiler.is_compiling():
            _check_shares(target)
        return True
    expected = input.shape[:1] + input.shape[2:]
    if target.shape != expected:
        raise ShapeError(
            "target", f"must have one class for each row of input, shape {tuple(expected)}; got {tuple(target.shape)}"
        )
    if not torch.compiler.is_compiling():
        bad = ((target < 0) | (target >= input.shape[1])) & (target != ignore_index)
        if bool(bad.any()):
            place = _first(bad)
            raise LabelError(
                "target",
                f"must lie from 0 to {input.shape[1] - 1}; got {int(target[tuple(place)])} at {_named(place)}",
                f"classes are counted from 0, and only ignore_index={ignore_index} is left out",
                row=place[0],
            )
    return False


def _check_shares(target: Tensor) -> None:
    slack = SLACK.get(target.dtype, 1e-2)
    sums = target.detach().to(torch.float32 if target.dtype in HALF else target.dtype).sum(1)
    bad = ~((target >= 0) & (target <= 1 + slack)).all(1) | ~((sums - 1).abs() <= slack)
    if bool(bad.any()):
        place = _first(bad)
        raise ProbabilityError(
            "target",
            f"soft targets must lie in [0, 1] and sum to 1 over classes; {_named(place)} does not (sum {float(sums[tuple(place)]):.6g})",
            row=place[0],
        )


def _check_weight(weight: Tensor | None, classes: int) -> Tensor | None:
    if weight is None:
        return None
    if not isinstance(weight, Tensor) or weight.shape != (classes,):
        got = tuple(weight.shape) if isinstance(weight, Tensor) else type(weight).__name__
        raise WeightError("weight", f"must be a tensor with one number for each of {classes} classes; got {got}")
    if not torch.compiler.is_compiling() and not bool((weight.isfinite() & (weight >= 0)).all()):
        raise WeightError("weight", f"must be finite and not negative; got {weight.tolist()}")
    return weight


def _first(bad: Tensor) -> list[int]:
    return [int(index) for index in bad.nonzero()[0]]


def _named(place: list[int]) -> str:
    return f"row {place[0]}" if len(place) == 1 else f"position {place}"


def check_number(value: Any, argument: str, *, low: float = 0.0, high: float = math.inf, above: bool = False) -> float:
    """A finite number from `low` to `high`; above `low` where `above` says so."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not math.isfinite(value)
        or not low <= value <= high
        or (above and value == low)
    ):
        bound = f"above {low:g}" if above else f"from {low:g} up"
        raise ArgumentError(
            argument, f"must be a number {bound}{'' if math.isinf(high) else f', at most {high:g}'}; got {value!r}"
        )
    return float(value)


def safe_power(value: Tensor, exponent: float) -> Tensor:
    """A power below 1 of something not negative, with gradient 0 at 0, where the true one is infinite."""
    positive = value > 0
    return torch.where(positive, torch.where(positive, value, 1.0) ** exponent, 0.0)
