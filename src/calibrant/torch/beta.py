"""Beta calibration as a module: for two classes, or for each class against the rest."""

from __future__ import annotations

import math
from typing import Any, Self

import torch
from torch import Tensor, nn

from ..curves import curves
from ..curves.logistic_regression import CLIP
from ..errors import ArgumentError
from ..recalibration.binary import BetaCalibration
from .modules import CountingModule, Input, documents_module
from .rows import host

SMALL, LARGE = math.log(CLIP), math.log1p(-CLIP)


@documents_module
class BetaModule(CountingModule):
    r"""Beta calibration of the probability of each class.

    For two classes one curve is fitted, for the second class; for more, one per class against the rest, whose results
    are normalized to sum 1. The counterpart of `calibrant.BetaCalibration`; use it when logistic recalibration cannot
    follow an asymmetric error.

    Parameters
    ----------
    n_classes
    input

    See Also
    --------
    calibrant.BetaCalibration : The same calibrator for arrays.

    Notes
    -----
    The calibrated log odds are :math:`a \ln p - b \ln(1 - p) + c` with :math:`a, b \ge 0`, fitted by maximum
    likelihood.

    References
    ----------
    .. [1] Kull, Silva Filho and Flach (2017): Beta calibration: a well-founded and easily implemented improvement on
       logistic calibration for binary classifiers. AISTATS.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import BetaModule
    >>> logits = torch.tensor([[0.0, -2.0], [0.0, -1.0], [0.0, 0.5], [0.0, 1.0], [0.0, 2.0], [0.0, 3.0]])
    >>> module = BetaModule(2).fit(logits, torch.tensor([0, 1, 0, 1, 0, 1]))
    >>> module.predict_proba(torch.tensor([[0.0, 3.0]])).double().round(decimals=2).tolist()
    [[0.33, 0.67]]
    """

    calibrator_type = BetaCalibration
    a: nn.Parameter
    b: nn.Parameter
    c: nn.Parameter

    def __init__(self, n_classes: int, *, input: Input = "logit") -> None:
        super().__init__(n_classes, input=input)
        size = 1 if n_classes == 2 else n_classes
        self.a = nn.Parameter(torch.ones(size))
        self.b = nn.Parameter(torch.ones(size))
        self.c = nn.Parameter(torch.zeros(size))

    def _calibrated(self, z: Tensor) -> Tensor:
        low, high = beta_features(z)
        if self.n_classes == 2:
            low, high = low[..., 1:], high[..., 1:]
        odds = self.a * low + self.b * high + self.c
        if self.n_classes == 2:
            odds = torch.cat([-odds, odds], dim=-1)
        return nn.functional.logsigmoid(odds)

    @classmethod
    def _like(cls, calibrator: Any) -> Self:
        if len(calibrator.classes_) > 2 and calibrator.multiclass != "one_vs_rest":
            raise ArgumentError(
                "calibrator",
                f"the module supports one_vs_rest only; got {calibrator.multiclass!r}",
                "use multiclass='one_vs_rest' for the calibrator",
            )
        return super()._like(calibrator)

    def _take(self, calibrator: Any) -> None:
        super()._take(calibrator)
        for name in "abc":
            self._set(name, [getattr(curve, name) for curve in calibrator.curves_])

    def _fitted_values(self) -> dict[str, Any]:
        values = (host(self.a), host(self.b), host(self.c))
        found = tuple(curves.Beta(*map(float, one)) for one in zip(*values, strict=True))
        return super()._fitted_values() | {"curves_": found}


def beta_features(z: Tensor) -> tuple[Tensor, Tensor]:
    """ln p and -ln(1 - p) of each class, with p clipped to [1e-12, 1 - 1e-12]; accurate for p close to 1 in any precision."""
    power = torch.exp(z - z.max(dim=-1, keepdim=True).values)
    total = power.sum(dim=-1, keepdim=True)
    top = torch.arange(power.shape[-1], device=z.device) == power.argmax(dim=-1, keepdim=True)
    beside = torch.where(top, 0.0, power).sum(dim=-1, keepdim=True)
    others = torch.where(top, beside, total - power)
    low = torch.log_softmax(z, dim=-1)
    high = torch.log(total) - torch.log(others)
    return low.clamp(SMALL, LARGE), high.clamp(-LARGE, -SMALL)
