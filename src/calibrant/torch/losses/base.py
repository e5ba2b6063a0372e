"""What the losses share: checks, logits and targets as rows, class weights, reduction, documentation, and the module form."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

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
from ...util.checks import check_choice
from ...util.texts import parameter_texts
from ...views.keywords import documents_keywords

LEAST_LOG = -1e4
# Parameters and sections of docstrings; terms that compare means over the batch have no value for a single row.
TEXTS = parameter_texts("calibrant.torch")
PARAMETERS, SECTIONS = TEXTS["losses"], TEXTS["loss_sections"]
BATCH_PARAMETERS, BATCH_SECTIONS = PARAMETERS | TEXTS["batch_losses"], SECTIONS | TEXTS["batch_loss_sections"]
# Bits of the result of one synchronizing read of the values.
WRONG_TARGET, WRONG_WEIGHT, LEFT_OUT = 1, 2, 4
# Tolerance of the sums of soft targets, by their precision.
SLACK = {torch.float64: 1e-6, torch.float32: 1e-4}
HALF_SLACK = 1e-2

documents_loss = documents_keywords(table=PARAMETERS, sections=SECTIONS)
documents_batch_loss = documents_keywords(table=BATCH_PARAMETERS, sections=BATCH_SECTIONS)


def _cached_tensor(compute: Callable[[Any], Tensor]) -> Any:
    """A property that is computed once; unlike functools.cached_property, torch.compile can trace it."""
    name = compute.__name__

    @wraps(compute)
    def cached(rows: Rows) -> Tensor:
        if name not in rows.cache:
            rows.cache[name] = compute(rows)
        return rows.cache[name]

    return property(cached)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that are used, (M, K): neither ignored nor of a class of weight 0.

    Under torch.compile and vmap, where values cannot be read, all rows are kept, and `counted` marks those that are used.
    """

    logits: Tensor
    """In single precision or better; clipped from below to 10,000 less than the largest of the row."""
    labels: Tensor | None
    """Class indices, or None for soft targets."""
    shares: Tensor | None
    """Soft targets, or None."""
    class_weight: Tensor | None
    kept: Tensor | None
    """Mask of these rows among the flattened rows of the input; None for all."""
    counted: Tensor | None
    """Mask of the rows that are used, where values cannot be read; None for all. The logits of the others are 0."""
    shape: torch.Size
    """Shape of the result with one value per row."""
    reduction: str
    name: str
    """Name of the loss, for messages."""
    input_dtype: torch.dtype
    cache: dict[str, Tensor] = field(default_factory=dict, repr=False)

    @_cached_tensor
    def shut(self) -> Tensor:
        """(M, K): masked classes, those with a logit at the lower clip; they get no smoothing and no penalty."""
        return self.logits <= lowest(self.logits)

    @_cached_tensor
    def log_probs(self) -> Tensor:
        return F.log_softmax(self.logits, 1).clamp(min=LEAST_LOG)

    @_cached_tensor
    def probs(self) -> Tensor:
        return F.softmax(self.logits, 1)

    @_cached_tensor
    def targets(self) -> Tensor:
        """(M, K): one-hot rows, or soft targets."""
        if self.shares is not None:
            return self.shares
        assert self.labels is not None
        return self._is_class(self.labels).to(self.logits.dtype)

    @_cached_tensor
    def row_weight(self) -> Tensor:
        if self.class_weight is None:
            weight = self.logits.new_ones(len(self.logits))
        else:
            weight = self.targets @ self.class_weight
        return weight if self.counted is None else weight * self.counted

    @_cached_tensor
    def number(self) -> Tensor:
        """Number of rows that are used."""
        return self.logits.new_tensor(len(self.logits)) if self.counted is None else self.counted.sum()

    @_cached_tensor
    def total(self) -> Tensor:
        return self.row_weight.sum()

    @_cached_tensor
    def share(self) -> Tensor:
        """Weight of each row, normalized to sum 1; 0 where no row has weight."""
        return self.row_weight / torch.where(self.total > 0, self.total, 1.0)

    @_cached_tensor
    def entropy(self) -> Tensor:
        return -(self.probs * self.log_probs).sum(1)

    @_cached_tensor
    def log_others(self) -> Tensor:
        """(M, K): ln(1 - p), accurate also where p is close to 1: for the largest class by summing the others."""
        top = self._is_class(self.logits.argmax(1))
        others = self.log_probs.masked_fill(top, -math.inf).logsumexp(1, keepdim=True)
        plain = torch.log1p(-self.probs.masked_fill(top, 0.0))
        return torch.where(top, others, plain).clamp(min=LEAST_LOG)

    def _is_class(self, labels: Tensor) -> Tensor:
        """(M, K): true at the class of each row."""
        return labels[:, None] == torch.arange(self.logits.shape[1], device=labels.device)

    def expect(self, values: Tensor) -> Tensor:
        """(M, K) to (M,): the value at the true class, or its mean under soft targets."""
        if self.labels is not None:
            return values.gather(1, self.labels[:, None])[:, 0]
        return (self.targets * values).sum(1)

    def seen(self, lens: str) -> tuple[Tensor, Tensor]:
        """Score and outcome of each row: of the second class for `binary`, of the predicted class for `top_label`."""
        classes = self.logits.shape[1]
        if lens not in ("auto", "binary", "top_label"):
            raise LensError("lens", f"must be 'auto', 'binary' or 'top_label'; got {lens!r}")
        if lens == "binary" and classes != 2:
            raise LensError("lens", f"'binary' requires two classes; got {classes}", "use 'top_label'")
        if classes == 2 and lens != "top_label":
            return self.probs[:, 1], self.targets[:, 1]
        top = self.logits.argmax(1, keepdim=True)
        return self.probs.gather(1, top)[:, 0], self.targets.gather(1, top)[:, 0]

    def right_labels(self) -> Tensor:
        """The class indices; raises for soft targets."""
        if self.labels is None:
            raise InputTypeError(
                "target", f"must be class indices: {self.name} is not defined for soft targets", "pass target.argmax(1)"
            )
        return self.labels

    def cross_entropy(self, logits: Tensor | None = None, smoothing: float = 0.0) -> Tensor:
        """Weighted cross-entropy of each row, as in torch."""
        return F.cross_entropy(
            self.logits if logits is None else logits,
            self.targets if self.labels is None else self.labels,
            weight=self.class_weight,
            reduction="none",
            label_smoothing=smoothing,
        )

    def reduce(self, values: Tensor) -> Tensor:
        """Reduce values that include their weight; the mean divides by the weights, for soft targets by the number of rows."""
        if self.counted is not None:
            values = torch.where(self.counted, values, 0.0)
        if self.reduction == "none":
            if self.kept is not None:
                values = values.new_zeros(len(self.kept)).masked_scatter(self.kept, values)
            return values.reshape(self.shape)
        if self.reduction == "sum":
            return values.sum()
        if self.labels is None:
            return values.sum() / self.number.clamp(min=1)
        return values.sum() / torch.where(self.total > 0, self.total, 1.0)

    def average(self, values: Tensor) -> Tensor:
        """Reduce values that do not include their weight: weighted mean, weighted sum, or each times its weight."""
        if self.reduction == "mean":
            return (self.share * values).sum()
        return self.reduce(self.row_weight * values)

    def whole(self, value: Tensor) -> Tensor:
        """Reduce one value of the whole batch; the sum is the value times the total weight."""
        if self.reduction == "none":
            raise ArgumentError(
                "reduction", f"must be 'mean' or 'sum': {self.name} is defined for the batch, not for single rows"
            )
        return value * self.total if self.reduction == "sum" else value


def loss(*, batch: bool = False, double: bool = False) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """Turn a formula of rows and options into a loss of logits and targets, with class weights, ignored rows and a reduction.

    A `batch` loss has one value for the whole batch; `double` computes in double precision. Autocast is disabled, whose matrix
    products would run in half precision.
    """

    def decorate(formula: Callable[..., Tensor]) -> Callable[..., Tensor]:
        @wraps(formula)
        def compute(
            input: Tensor,
            target: Tensor,
            *,
            weight: Tensor | None = None,
            ignore_index: int = -100,
            reduction: str = "mean",
            **options: Any,
        ) -> Tensor:
            check_input(input)
            is_double = input.dtype == torch.float64 or (double and input.device.type != "mps")
            with torch.autocast(device_type=input.device.type, enabled=False):
                dtype = torch.float64 if is_double else torch.float32
                rows = gather_rows(input, target, weight, ignore_index, reduction, formula.__name__, dtype)
                return formula(rows, **options).to(torch.promote_types(input.dtype, torch.float32))

        shared = list(inspect.signature(compute, follow_wrapped=False).parameters.values())[:-1]
        parameters = list(inspect.signature(formula).parameters.values())[1:]
        compute.__signature__ = inspect.Signature([*shared[:2], *parameters, *shared[2:]], return_annotation=Tensor)  # type: ignore[attr-defined]
        return (documents_batch_loss if batch else documents_loss)(compute)

    return decorate


def gather_rows(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    name: str,
    dtype: torch.dtype,
) -> Rows:
    """Check the arguments that all losses share, and flatten them to rows."""
    check_choice(reduction, "reduction", ("none", "mean", "sum"))
    classes, soft = input.shape[1], check_form(input, target)
    logits = input.movedim(1, -1).reshape(-1, classes).to(dtype)
    # Clipped, so that the terms of a class masked by a logit of -inf, and their gradients, are 0 times a finite number.
    logits = torch.maximum(logits, lowest(logits))
    factor = check_weight(weight, classes)
    factor = None if factor is None else factor.to(logits)
    labels, shares = None, None
    if soft:
        shares, is_wrong = target.movedim(1, -1).reshape(-1, classes).to(dtype), wrong_shares(target)
        counted = None if factor is None else shares @ factor > 0
    else:
        labels, is_wrong, counted = _classes_of(target, classes, ignore_index, factor)
    form = (input.shape[:1] + input.shape[2:], reduction, name, input.dtype)
    problems = _read_problems(is_wrong, factor, counted)
    if problems is None:
        # Values cannot be read, so nothing can be raised: invalid input makes the loss NaN.
        is_wrong = is_wrong.reshape(-1)
        if factor is not None:
            is_wrong = is_wrong | ~_fine(factor).all()
        if counted is not None:
            counted = counted | is_wrong
            logits = torch.where(counted[:, None], logits, 0.0)
        logits = torch.where(is_wrong[:, None], math.nan, logits)
        return Rows(logits, labels, shares, factor, None, counted, *form)
    if problems & WRONG_TARGET:
        raise share_error(target, is_wrong) if soft else label_error(target, is_wrong, classes, ignore_index)
    if problems & WRONG_WEIGHT:
        raise WeightError("weight", "must be finite and not negative in the precision of the logits")
    if counted is None or not problems & LEFT_OUT:
        return Rows(logits, labels, shares, factor, None, None, *form)
    place = counted.nonzero()[:, 0]
    labels, shares = (None if values is None else values[place] for values in (labels, shares))
    return Rows(logits[place], labels, shares, factor, counted, None, *form)


def _classes_of(target: Tensor, classes: int, ignored: int, factor: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """(M,) each: class indices, 0 where invalid or ignored; mask of invalid ones; mask of the rows that are used."""
    labels = target.reshape(-1).long()
    counted = labels != ignored
    is_wrong = counted & ((labels < 0) | (labels >= classes))
    labels = torch.where(counted & ~is_wrong, labels, 0)
    return labels, is_wrong, counted if factor is None else counted & (factor[labels] > 0)


def _fine(factor: Tensor) -> Tensor:
    return factor.isfinite() & (factor >= 0)


def _read_problems(is_wrong: Tensor, factor: Tensor | None, counted: Tensor | None) -> int | None:
    """The problems found, as bits, in one read of the values; None under torch.compile and vmap, where they cannot be read."""
    if torch.compiler.is_compiling():
        return None
    problems = is_wrong.any() * WRONG_TARGET
    if factor is not None:
        problems = problems + ~_fine(factor).all() * WRONG_WEIGHT
    if counted is not None:
        problems = problems + ~counted.all() * LEFT_OUT
    try:
        return int(problems)
    except RuntimeError as error:
        if "vmap" in str(error):
            return None
        raise


def lowest(logits: Tensor) -> Tensor:
    """(M, 1): the value to which the logits of each row are clipped from below; detached from the gradient."""
    top = logits.detach().amax(1, keepdim=True)
    # Beside a huge logit 10,000 is below its floating-point spacing.
    return top - (top.abs() * torch.finfo(top.dtype).eps).clamp(min=-LEAST_LOG)


def safe_power(value: Tensor, exponent: float) -> Tensor:
    """A power below 1 of a non-negative value, with gradient 0 at 0 instead of infinity; NaN stays NaN."""
    zero = value <= 0
    return torch.where(zero, 0.0, torch.where(zero, 1.0, value) ** exponent)


def check_input(input: Tensor) -> None:
    """Check that the input holds logits of at least two classes."""
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


def check_form(input: Tensor, target: Tensor) -> bool:
    """Check type and shape of the target; return whether it is soft."""
    if not isinstance(target, Tensor) or target.dtype == torch.bool or target.is_complex():
        description = f"a {_kind(target)} tensor" if isinstance(target, Tensor) else type(target).__name__
        raise InputTypeError(
            "target", f"must be a tensor of class indices or class probabilities; got {description}", "call .long()"
        )
    if target.is_floating_point():
        if target.shape != input.shape:
            raise ShapeError(
                "target",
                f"class probabilities must have the shape of input, {tuple(input.shape)}; got {tuple(target.shape)}",
                "for class indices, call .long()",
            )
        return True
    expected = input.shape[:1] + input.shape[2:]
    if target.shape != expected:
        raise ShapeError(
            "target",
            f"must have one class for each row of input, shape {tuple(expected)}; got {tuple(target.shape)}",
            "for class probabilities, call .float()" if target.shape == input.shape else "",
        )
    return False


def label_error(target: Tensor, is_wrong: Tensor, classes: int, ignore_index: int) -> LabelError:
    """The error for the first row whose class index is out of range."""
    place = is_wrong.reshape(target.shape).nonzero()[0].tolist()
    return LabelError(
        "target",
        f"must be from 0 to {classes - 1}; got {int(target[tuple(place)])} at position {place}",
        f"classes are counted from 0, and only the ignored index {ignore_index} is excluded",
        row=place[0],
    )


def wrong_shares(target: Tensor) -> Tensor:
    """(N, d1, ...): mask of soft targets that are not distributions, within the tolerance of their precision."""
    slack = SLACK.get(target.dtype, HALF_SLACK)
    return ~((target >= 0) & (target <= 1 + slack)).all(1) | ~((_sums(target) - 1).abs() <= slack)


def share_error(target: Tensor, is_wrong: Tensor) -> ProbabilityError:
    """The error for the first soft target that is not a distribution."""
    place = is_wrong.nonzero()[0].tolist()
    total = float(_sums(target)[tuple(place)])
    return ProbabilityError(
        "target",
        f"soft targets must be in [0, 1] and sum to 1 over classes; got a sum of {total:.6g} at position {place}",
        row=place[0],
    )


def check_weight(weight: Tensor | None, classes: int) -> Tensor | None:
    """Check that there is one weight per class; the values are checked together with those of the target."""
    if weight is None:
        return None
    if not isinstance(weight, Tensor) or weight.shape != (classes,):
        form = tuple(weight.shape) if isinstance(weight, Tensor) else type(weight).__name__
        raise WeightError("weight", f"must be a tensor with one number for each of {classes} classes; got {form}")
    return weight


def _sums(target: Tensor) -> Tensor:
    shares = target.detach()
    return shares.to(torch.float64 if shares.dtype == torch.float64 else torch.float32).sum(1)


def _kind(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
