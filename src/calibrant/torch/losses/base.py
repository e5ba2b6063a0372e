"""What losses share: logits and targets checked once and laid out as rows, class weights, reduction, and the module form."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from numbers import Integral, Real
from typing import Any, ClassVar, ParamSpec

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...errors import (
    ArgumentError,
    Drop,
    InputTypeError,
    LabelError,
    LensError,
    ProbabilityError,
    ShapeError,
    WeightError,
)
from ...util.checks import check_choice

__all__ = [
    "LEAST_LOG",
    "LossModule",
    "Rows",
    "check_number",
    "gather_rows",
    "in_full_precision",
    "lowest",
    "safe_power",
]

REDUCTIONS = ("none", "mean", "sum")
LEAST_LOG = -1e4
# What a reading of the values may find.
WRONG_TARGET, WRONG_WEIGHT, LEFT_OUT = 1, 2, 4
# How far the shares of a soft target may be from 1 in sum, by the precision they came in.
SLACK = {torch.float64: 1e-6, torch.float32: 1e-4}
HALF_SLACK = 1e-2


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
            raise LensError("lens", f"'binary' requires two classes; got {classes}", "use 'top_label'")
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
                "reduction", f"must be 'mean' or 'sum': {name} is defined for the batch, not for single rows"
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
    check_choice(reduction, "reduction", ("none", "mean", "sum"))
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


def check_input(input: Tensor) -> None:
    """Whether there are logits of at least two classes."""
    if not isinstance(input, Tensor):
        raise InputTypeError("input", f"must be a tensor of logits; got {type(input).__name__}")
    if not input.is_floating_point():
        raise InputTypeError(
            "input",
            f"must be logits in floating point; got {_kind(input)}",
            "pass logits first and targets second, or call .float()",
        )
    if input.ndim < 2 or input.shape[1] < 2:
        raise ShapeError(
            "input",
            f"must have shape (N, classes) or (N, classes, d1, ...) with at least two classes; got {tuple(input.shape)}",
            "for one logit z per row, pass torch.stack([torch.zeros_like(z), z], dim=1)",
        )


def check_ignored(ignore_index: Any) -> int:
    """A whole number."""
    if isinstance(ignore_index, bool) or not isinstance(ignore_index, Integral) or abs(int(ignore_index)) >= 2**63:
        raise ArgumentError("ignore_index", f"must be a 64-bit integer; got {ignore_index!r}")
    return int(ignore_index)


def check_form(input: Tensor, target: Tensor, ignore_index: int) -> bool:
    """Type and shape of the target; whether it is soft."""
    if not isinstance(target, Tensor) or target.dtype == torch.bool or target.is_complex():
        got = f"a {_kind(target)} tensor" if isinstance(target, Tensor) else type(target).__name__
        raise InputTypeError(
            "target", f"must be a tensor of class indices or class probabilities; got {got}", "call .long()"
        )
    if target.is_floating_point():
        if target.shape != input.shape:
            raise ShapeError(
                "target",
                f"class probabilities must have the shape of input, {tuple(input.shape)}; got {tuple(target.shape)}",
                "for class indices, call .long()",
            )
        if ignore_index >= 0:
            raise ArgumentError("ignore_index", "is not supported for soft targets", Drop("ignore_index"))
        return True
    expected = input.shape[:1] + input.shape[2:]
    if target.shape != expected:
        raise ShapeError(
            "target",
            f"must have one class for each row of input, shape {tuple(expected)}; got {tuple(target.shape)}",
            "for class probabilities, call .float()" if target.shape == input.shape else "",
        )
    return False


def label_error(target: Tensor, wrong: Tensor, classes: int, ignore_index: int) -> LabelError:
    """The first of the rows whose class is none."""
    place = _first(wrong.reshape(target.shape))
    return LabelError(
        "target",
        f"must be from 0 to {classes - 1}; got {int(target[tuple(place)])}{_position(place)}",
        f"classes are counted from 0, and only the ignored index {ignore_index} is excluded",
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
        f"soft targets must be in [0, 1] and sum to 1 over classes; got a sum of {total:.6g}{_position(place)}",
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


def _position(place: list[int]) -> str:
    """The position within a row of dense predictions, in words."""
    return "" if len(place) == 1 else f" at position {place}"


def _kind(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


class LossModule(nn.Module):
    """A loss with its options, called with logits and targets: the module form of the function that a subclass names as its `loss`."""

    loss: ClassVar[Callable[..., Tensor]]
    least_classes: ClassVar[int] = 2
    """How many classes the row has on which options are tried, where no class weights say it."""
    weight: Tensor | None

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        called = inspect.signature(cls.loss)
        # The options of the function, without input and target.
        cls.__signature__ = called.replace(parameters=list(called.parameters.values())[2:], return_annotation=None)  # type: ignore[attr-defined]

    def __init__(self, **options: Any) -> None:
        super().__init__()
        known = inspect.signature(type(self)).parameters
        for name in options:
            if name not in known:
                raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument {name!r}")
        given = {name: options.get(name, parameter.default) for name, parameter in known.items()}
        weight = given.pop("weight")
        # A wrong option is reported where it was given, not at the first batch; on the host, whatever device models are built on.
        host = _on_host(weight)
        count = self._classes(given) if host is None else len(host)
        row = torch.zeros(1, count, device="cpu"), torch.zeros(1, dtype=torch.int64, device="cpu")
        type(self).loss(*row, weight=host, **given)
        self.register_buffer("weight", weight)
        self.ignore_index, self.reduction = int(given.pop("ignore_index")), given.pop("reduction")
        self._options = given

    def _classes(self, options: dict[str, Any]) -> int:
        """How many classes the row has on which the options are tried."""
        return self.least_classes

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return type(self).loss(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            **self._options,
        )

    def extra_repr(self) -> str:
        shown = {**self._options, "ignore_index": self.ignore_index, "reduction": self.reduction}
        return ", ".join(f"{name}={value!r}" for name, value in shown.items())


def _on_host(weight: Tensor | None) -> Tensor | None:
    """Class weights where their values can be read; ones for those that have no values yet."""
    if weight is None:
        return None
    if not isinstance(weight, Tensor) or weight.ndim != 1 or len(weight) < 2:
        got = tuple(weight.shape) if isinstance(weight, Tensor) else type(weight).__name__
        raise WeightError("weight", f"must be a tensor with one number for each class; got {got}")
    return torch.ones(len(weight), device="cpu") if weight.is_meta else weight.detach().cpu()
