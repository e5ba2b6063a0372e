"""CountingModule: what the twins of maps that count rows have in common, a scale for log-odds that no probability can hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..recalibration.scores import scale_of_odds
from ._reading import host
from ._rows import TrainingRows
from .modules import Input, MapModule

__all__ = ["CountingModule"]


class CountingModule(MapModule):
    """A module of log-probabilities; large log-odds of two classes are first divided by a power of two, as the map for arrays does."""

    scale: Tensor

    def __init__(self, n_classes: int, *, input: Input = "logit") -> None:
        super().__init__(n_classes, input=input)
        self.register_buffer("scale", torch.ones(()))

    def _read(self, logits: Tensor) -> Tensor:
        return super()._read(logits.to(torch.promote_types(logits.dtype, self._own_dtype())) / self.scale)

    def _fit(self, rows: TrainingRows) -> None:
        z = rows.logits
        scale = scale_of_odds(host(z[:, 1] - z[:, 0])) if self.input == "logit" and z.shape[1] == 2 else 1.0
        self._set("scale", scale)
        self._fit_scaled(rows if scale == 1 else replace(rows, logits=z / scale))

    def _fit_scaled(self, rows: TrainingRows) -> None:
        raise NotImplementedError

    def _take(self, map: Any) -> None:
        self._set("scale", map.scale_)

    def _fitted_values(self) -> dict[str, Any]:
        return {"scale_": float(self.scale)}
