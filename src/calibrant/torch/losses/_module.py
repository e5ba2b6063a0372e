"""The module form that all losses share: options are kept, class weights are a buffer, and wrong options are told at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

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
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.reduction = reduction
        self._function = function
        self._options = options
        count = len(weight) if isinstance(weight, Tensor) and weight.ndim == 1 else classes
        # A wrong option is told where it was given, not at the first batch.
        self(torch.zeros(1, max(count, 2)), torch.full((1,), ignore_index if isinstance(ignore_index, int) else 0))

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
