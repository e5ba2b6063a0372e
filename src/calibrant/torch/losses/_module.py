"""The module form that all losses share: options are kept, class weights are a buffer, and wrong options are told at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ...errors import WeightError

__all__ = ["LossModule"]


class LossModule(nn.Module):
    """A loss with its options, called with logits and targets."""

    weight: Tensor | None

    def __init__(
        self,
        function: Callable[..., Tensor],
        weight: Tensor | None,
        ignore_index: int,
        reduction: str,
        classes: int = 2,
        **options: Any,
    ) -> None:
        super().__init__()
        # A wrong option is told where it was given, not at the first batch; on the host, whatever device models are built on.
        given = _on_host(weight)
        count = classes if given is None else len(given)
        row = torch.zeros(1, count, device="cpu"), torch.zeros(1, dtype=torch.int64, device="cpu")
        function(*row, weight=given, ignore_index=ignore_index, reduction=reduction, **options)
        self.register_buffer("weight", weight)
        self.ignore_index = int(ignore_index)
        self.reduction = reduction
        self._function = function
        self._options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._function(
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
