"""What every loss starts from: logits and targets checked once and laid out as rows, with weights and the way to reduce."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import ParamSpec

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import ArgumentError, InputTypeError, LensError
from ._checking import (
    check_form,
    check_ignored,
    check_input,
    check_number,
    check_weight,
    label_error,
    share_error,
    weight_error,
    wrong_shares,
)

__all__ = ["LEAST_LOG", "Rows", "check_number", "gather_rows", "in_full_precision", "lowest", "safe_power"]

REDUCTIONS = ("none", "mean", "sum")
LEAST_LOG = -1e4
# What a reading of the values may find.
WRONG_TARGET, WRONG_WEIGHT, LEFT_OUT = 1, 2, 4


def _once(compute: Callable[[Rows], Tensor]) -> Callable[[Rows], Tensor]:
    """Computed when first asked for; unlike functools.cached_property, torch.compile can follow it."""
    name = compute.__name__

    @wraps(compute)
    def found(rows: Rows) -> Tensor:
        if name not in rows.known:
            rows.known[name] = compute(rows)
        return rows.known[name]

    return found


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that count, (M, K): neither ignored nor of a class without weight; where values are hidden, all rows."""

    logits: Tensor
    """At least in single precision, none more than 10,000 below the largest of its row."""
    labels: Tensor | None
    """Class indices, or None for soft targets."""
    shares: Tensor | None
    """Soft targets, or None."""
    class_weight: Tensor | None
    kept: Tensor | None
    """Which of the flattened rows these are; None for all."""
    counted: Tensor | None
    """Where values are hidden, which of these rows count; None for all. The logits of the others are 0."""
    shape: torch.Size
    """Shape of one value per row, as it came."""
    reduction: str
    known: dict[str, Tensor] = field(default_factory=dict, repr=False)

    @property
    @_once
    def shut(self) -> Tensor:
        """(M, K): classes that lie as far below the largest logit as any can; nothing is spread or paid for them."""
        return self.logits <= lowest(self.logits)

    @property
    @_once
    def log_probs(self) -> Tensor:
        return F.log_softmax(self.logits, 1).clamp(min=LEAST_LOG)

    @property
    @_once
    def probs(self) -> Tensor:
        return F.softmax(self.logits, 1)

    @property
    @_once
    def targets(self) -> Tensor:
        """(M, K): one-hot rows, or shares."""
        if self.shares is not None:
            return self.shares
        assert self.labels is not None
        return self._marked(self.labels).to(self.logits.dtype)

    @property
    @_once
    def row_weight(self) -> Tensor:
        if self.class_weight is None:
            weight = self.logits.new_ones(len(self.logits))
        else:
            weight = self.targets @ self.class_weight
        return weight if self.counted is None else weight * self.counted

    @property
    @_once
    def number(self) -> Tensor:
        """How many rows count."""
        return self.logits.new_tensor(len(self.logits)) if self.counted is None else self.counted.sum()

    @property
    @_once
    def total(self) -> Tensor:
        return self.row_weight.sum()

    @property
    @_once
    def share(self) -> Tensor:
        """Weight of each row; they sum to 1, or there are none."""
        return self.row_weight / torch.where(self.total > 0, self.total, 1.0)

    @property
    @_once
    def entropy(self) -> Tensor:
        return -(self.probs * self.log_probs).sum(1)

    @property
    @_once
    def log_others(self) -> Tensor:
        """(M, K): ln(1 - p), exact also where p is nearly 1: the largest class by the sum over the others."""
        top = self._marked(self.logits.argmax(1))
        others = self.log_probs.masked_fill(top, -math.inf).logsumexp(1, keepdim=True)
        plain = torch.log1p(-self.probs.masked_fill(top, 0.0))
        return torch.where(top, others, plain).clamp(min=LEAST_LOG)

    def _marked(self, labels: Tensor) -> Tensor:
        """(M, K): true at the class of each row."""
        return labels[:, None] == torch.arange(self.logits.shape[1], device=labels.device)

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
        if self.counted is not None:
            values = torch.where(self.counted, values, 0.0)
        if self.reduction == "none":
            return self._placed(values)
        if self.reduction == "sum":
            return values.sum()
        if self.labels is None:
            return values.sum() / self.number.clamp(min=1)
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
        # The logits, where they are what they should be, come first.
        kind = next((one.device.type for one in (*args, *options.values()) if isinstance(one, Tensor)), "cpu")
        with torch.autocast(device_type=kind, enabled=False):
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
    check_input(input)
    if reduction not in REDUCTIONS:
        raise ArgumentError("reduction", f"must be 'none', 'mean' or 'sum'; got {reduction!r}")
    ignored, classes = check_ignored(ignore_index), input.shape[1]
    soft = check_form(input, target, ignored)
    kind = dtype or (torch.float64 if input.dtype == torch.float64 else torch.float32)
    logits = input.movedim(1, -1).reshape(-1, classes).to(kind)
    # Raised, so that a class shut out by a logit of -inf is 0 times something finite, and so is its gradient.
    logits = torch.maximum(logits, lowest(logits))
    shape = input.shape[:1] + input.shape[2:]
    factor = check_weight(weight, classes)
    factor = None if factor is None else factor.to(logits)
    labels, shares = None, None
    if soft:
        shares, wrong = target.movedim(1, -1).reshape(-1, classes).to(kind), wrong_shares(target)
        counted = None if factor is None else shares @ factor > 0
    else:
        labels, wrong, counted = _classes_of(target, classes, ignored, factor)
    told = _read(wrong, factor, counted)
    if told is None:
        logits, counted = _unread(logits, wrong.reshape(-1), factor, counted)
        return Rows(logits, labels, shares, factor, None, counted, shape, reduction)
    if told & WRONG_TARGET:
        raise share_error(target, wrong) if soft else label_error(target, wrong, classes, ignored)
    if told & WRONG_WEIGHT:
        raise weight_error(weight)
    if counted is None or not told & LEFT_OUT:
        return Rows(logits, labels, shares, factor, None, None, shape, reduction)
    place = counted.nonzero()[:, 0]
    labels, shares = (None if one is None else one[place] for one in (labels, shares))
    return Rows(logits[place], labels, shares, factor, counted, None, shape, reduction)


def _classes_of(target: Tensor, classes: int, ignored: int, factor: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """(M,) each: class indices, 0 where there is none; which rows have a wrong one; which rows count."""
    labels = target.reshape(-1).long()
    counted = labels != ignored
    wrong = counted & ((labels < 0) | (labels >= classes))
    labels = torch.where(counted & ~wrong, labels, 0)
    return labels, wrong, counted if factor is None else counted & (factor[labels] > 0)


def _unread(
    logits: Tensor, wrong: Tensor, factor: Tensor | None, counted: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """Logits and which rows count, where nothing can be raised: what is wrong makes the loss NaN."""
    if factor is not None:
        wrong = wrong | ~_fine(factor).all()
    if counted is not None:
        counted = counted | wrong
        logits = torch.where(counted[:, None], logits, 0.0)
    return torch.where(wrong[:, None], math.nan, logits), counted


def _fine(factor: Tensor) -> Tensor:
    return factor.isfinite() & (factor >= 0)


def _read(wrong: Tensor, factor: Tensor | None, counted: Tensor | None) -> int | None:
    """What was found, in one reading of values; None where they are hidden, by torch.compile or vmap."""
    if torch.compiler.is_compiling():
        return None
    found = wrong.any() * WRONG_TARGET
    if factor is not None:
        found = found + ~_fine(factor).all() * WRONG_WEIGHT
    if counted is not None:
        found = found + ~counted.all() * LEFT_OUT
    try:
        return int(found)
    except RuntimeError as error:
        if "vmap" in str(error):
            return None
        raise


def lowest(logits: Tensor) -> Tensor:
    """(M, 1): the lowest that a logit of each row counts; no gradient goes through it."""
    top = logits.detach().amax(1, keepdim=True)
    # Next to a huge logit 10,000 is less than a step of its precision.
    return top - (top.abs() * torch.finfo(top.dtype).eps).clamp(min=-LEAST_LOG)


def safe_power(value: Tensor, exponent: float) -> Tensor:
    """A power below 1 of something not negative, with gradient 0 at 0, where the true one is infinite; NaN stays NaN."""
    zero = value <= 0
    return torch.where(zero, 0.0, torch.where(zero, 1.0, value) ** exponent)
