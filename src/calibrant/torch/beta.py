"""Beta calibration as a module: two classes, or each class against the rest."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from ..curves import curves
from ..curves.logistic_regression import CLIP, SeparatedError
from ..errors import ArgumentError, Use
from ..recalibration.binary import BetaCalibration, _view
from .modules import CountingModule, Input
from .rows import TrainingRows, absent_classes, host

__all__ = ["BetaModule"]

SMALL, LARGE = math.log(CLIP), math.log1p(-CLIP)
# A curvature this much smaller than that of even odds: the labels are separated, or nearly, and sorting has to tell.
FLAT = 1e-7
STEPS = 60
REMEDY = "use a module with parameters common to all classes, such as TemperatureModule"


class BetaModule(CountingModule):
    """a ln p - b ln(1 - p) + c for each class, as log-odds (Kull et al. 2017); rows of more than two classes are divided by their sum.

    For two classes one curve is fitted, for the second; for more, one for each class against the rest.
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

    def _fit_scaled(self, rows: TrainingRows) -> None:
        low, high = beta_features(rows.logits)
        found = []
        for c in [1] if rows.logits.shape[1] == 2 else range(rows.logits.shape[1]):
            features = torch.stack([low[:, c], high[:, c], torch.ones_like(low[:, c])], dim=1)
            fit = _logistic(features, (rows.labels == c).to(features), rows.weight)
            found.append(_on_host(rows, c) if fit is None or min(fit[0], fit[1]) < 0 else fit)
        for name, values in zip("abc", zip(*found, strict=True), strict=True):
            self._set(name, values)

    @classmethod
    def _like(cls, calibrator: Any) -> Self:
        if len(calibrator.classes_) > 2 and calibrator.multiclass != "one_vs_rest":
            raise ArgumentError(
                "calibrator",
                f"the module supports one_vs_rest only; got {calibrator.multiclass!r}",
                Use("multiclass", "one_vs_rest", "for the calibrator"),
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
    """ln p and -ln(1 - p) of each class, with p kept within [1e-12, 1 - 1e-12]; exact where p is all but 1, in any precision."""
    power = torch.exp(z - z.max(dim=-1, keepdim=True).values)
    total = power.sum(dim=-1, keepdim=True)
    top = torch.arange(power.shape[-1], device=z.device) == power.argmax(dim=-1, keepdim=True)
    beside = torch.where(top, 0.0, power).sum(dim=-1, keepdim=True)
    others = torch.where(top, beside, total - power)
    low = torch.log_softmax(z, dim=-1)
    high = torch.log(total) - torch.log(others)
    return low.clamp(SMALL, LARGE), high.clamp(-LARGE, -SMALL)


def _logistic(features: Tensor, outcome: Tensor, weight: Tensor) -> tuple[float, float, float] | None:
    """Coefficients of greatest likelihood by Newton steps; None where they may be infinite or not unique."""
    even = (features * weight[:, None]).T @ features / 4
    scale = torch.sqrt(torch.diagonal(even))
    if not bool((scale > 0).all()):
        return None
    x = features.new_zeros(features.shape[1])
    value = math.log(2)
    for _ in range(STEPS):
        rate = torch.sigmoid(features @ x)
        slope = features.T @ (weight * (rate - outcome))
        curvature = (features * (weight * rate * (1 - rate))[:, None]).T @ features
        least = float(torch.linalg.eigvalsh(curvature / scale / scale[:, None])[0])
        if least < FLAT:
            return None
        step = torch.linalg.solve(curvature, slope)
        gain, length = float(step @ slope), 1.0
        if gain <= 1e-13 * max(1.0, value):
            return tuple((x - step).tolist())
        while length > 1e-8:
            ahead = nn.functional.binary_cross_entropy_with_logits(
                features @ (x - length * step), outcome, reduction="none"
            )
            new = float(ahead @ weight)
            if new <= value - 1e-4 * length * gain:
                break
            length /= 2
        x, value = x - length * step, new
    return None


def _on_host(rows: TrainingRows, c: int) -> tuple[float, float, float]:
    """The curve kept rising, by the library's own fit, which tells exactly whether the labels are separated."""
    score = host(torch.softmax(rows.logits, dim=1)[:, c])
    outcome = (rows.labels == c).cpu().numpy()
    weight = None if rows.kind == "unit" else host(rows.weight)
    try:
        curve = curves.beta(_view(np.asarray(score), outcome, weight, "unit" if weight is None else "importance"))
    except SeparatedError as error:
        absent = absent_classes(rows)
        if absent:
            problem = f"{absent}, so only one outcome occurs and the coefficients are infinite"
            raise SeparatedError("labels", problem, ("fit on rows of every class", REMEDY)) from None
        raise SeparatedError("labels", f"of class {c}: {error.problem}", REMEDY) from None
    return curve.a, curve.b, curve.c
