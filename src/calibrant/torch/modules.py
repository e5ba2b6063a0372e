"""Maps as `nn.Module`s: ``forward(logits)`` gives calibrated logits, whose softmax is the calibrated probability.

Each is the counterpart of a calibrator of the library: fitted on the device where the logits are, to the same optimum, and turned into the map and
back. `CalibratedModule` puts one behind a model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import ArgumentError, InputTypeError, NotFittedError
from ..recalibration.base import Calibrator, FitRecord
from ..recalibration.scaling import (
    BiasCorrectedTemperature,
    DirichletCalibration,
    MatrixScaling,
    TemperatureScaling,
    VectorScaling,
)
from ..recalibration.scores import fingerprint, scale_of_odds
from ..recalibration.softmax_regression import best_matrix, best_vector, bias_corrected
from ..util.checks import check_choice, check_positive, check_whole
from .collecting import evaluating
from .outputs import Output, chosen_output, row_counts
from .rows import (
    LOG_SMALLEST,
    TrainingRows,
    as_classes,
    as_given,
    check_flat,
    classes_last,
    host,
    of_probabilities,
    ruled_out_read,
    softmax_of_classes,
    warn_of_absent,
    without_autocast,
)
from .softmax_regression import DeviceSoftmax, best_scale, chosen_penalty

__all__ = [
    "BiasCorrectedTemperatureModule",
    "CalibratedModule",
    "CalibratorModule",
    "DirichletModule",
    "MatrixModule",
    "TemperatureModule",
    "VectorModule",
]

Input = Literal["logit", "prob"]
COUNTERPARTS: dict[type[Calibrator], type[CalibratorModule]] = {}


class _Origin(NamedTuple):
    """What a map knows beside the numbers that a module holds: a module made of one gives it back, until it is fitted itself."""

    parameters: dict[str, Any]
    classes: Any
    columns: int


class CalibratorModule(nn.Module):
    """What the maps for tensors have in common: ``fit(logits, labels)``, then ``forward(logits) -> calibrated logits``.

    Parameters
    ----------
    n_classes
        Number of classes.
    input
        What the counterpart for arrays reads. ``"logit"``: the logits as they are. ``"prob"``: logits are turned into log-probabilities
        first, as a map fitted on probabilities needs it. `forward` and `fit` take logits in both cases.
    """

    calibrator_type: ClassVar[type[Calibrator]]
    values: ClassVar[Mapping[str, str]] = {}
    """Parameters and buffers, each with the attribute of the calibrator that holds the same numbers."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "calibrator_type" in cls.__dict__:
            COUNTERPARTS[cls.calibrator_type] = cls

    def __init__(self, n_classes: int | None, *, input: Input = "logit") -> None:
        super().__init__()
        n_classes = None if n_classes is None else check_whole(n_classes, "n_classes", 2)
        check_choice(input, "input", ("prob", "logit"))
        self.n_classes = n_classes
        self.input: Input = input
        self.fit_record: FitRecord | None = None
        self._origin: _Origin | None = None

    def forward(self, logits: Tensor) -> Tensor:
        """Calibrated logits, in the wider of the precisions of `logits` and of this module; never less than float32 for a module of float32.

        The classes are on axis 1, as everywhere in torch: (N, classes), or (N, classes, ...) such as (N, classes, height, width).
        """
        return as_given(self._calibrated(self._read(classes_last(logits, self.n_classes))))

    def predict_proba(self, logits: Tensor) -> Tensor:
        """Calibrated probabilities: the softmax over the classes of what `forward` gives."""
        return softmax_of_classes(self(logits))

    def fit(self, logits: Tensor, labels: Any, sample_weight: Any = None, *, counts: Any = None) -> Self:
        """Fit to the logits and labels of validation rows that the model was not trained on, on the device of the logits.

        Only ratios of `sample_weight` matter; `counts` are the numbers of equal rows that each one stands for.
        """
        check_flat(logits)
        rows = TrainingRows.read(logits, labels, sample_weight, self.n_classes, counts)
        self.to(rows.logits.device)
        with torch.no_grad():
            self._fit(rows if self.input == "logit" else of_probabilities(rows))
        self.n_classes = int(rows.logits.shape[1])
        # A map knows its rows again, so that it can warn; of probabilities the bits differ with who computed them.
        name = fingerprint(host(logits)) if self.input == "logit" else ""
        self.fit_record = FitRecord(len(logits), rows.total, name)
        self._origin = None
        return self

    @classmethod
    def from_map(
        cls, calibrator: Calibrator, *, dtype: torch.dtype = torch.float32, device: Any = None
    ) -> CalibratorModule:
        """The module of a fitted map: ``predict_proba(logits)`` gives what the map gives for these logits, or for their softmax."""
        counterpart = COUNTERPARTS.get(type(calibrator))
        if counterpart is None or not issubclass(counterpart, cls):
            known = ", ".join(sorted(kind.__name__ for kind, other in COUNTERPARTS.items() if issubclass(other, cls)))
            raise InputTypeError("calibrator", f"must be one of {known}; got {type(calibrator).__name__}")
        if not hasattr(calibrator, "fit_record_"):
            raise NotFittedError(type(calibrator).__name__, "is not fitted", "call fit(scores, y) first")
        module = counterpart._like(calibrator).to(device=device, dtype=dtype)
        with torch.no_grad():
            module._take(calibrator)
        module.fit_record = calibrator.fit_record_
        module._origin = _Origin(calibrator.get_params(deep=False), calibrator.classes_, calibrator.n_features_in_)
        return module

    def to_map(self) -> Calibrator:
        """The map of the library with the same parameters; it can be saved with `calibrant.save` and used without torch."""
        if self.n_classes is None:
            raise ArgumentError("n_classes", "is unknown", "fit the module, or pass n_classes to the constructor")
        like = self._origin or _Origin(self._map_parameters(), np.arange(self.n_classes), self.n_classes)
        calibrator = self.calibrator_type(**like.parameters)
        calibrator.classes_, calibrator.n_features_in_ = like.classes, like.columns
        for name, value in self._fitted_values().items():
            setattr(calibrator, name, value)
        calibrator.fit_record_ = self.fit_record or FitRecord(0, 0.0, "")
        return calibrator

    def extra_repr(self) -> str:
        return f"n_classes={self.n_classes}" + ("" if self.input == "logit" else f", input={self.input!r}")

    # What each map says for itself.

    def _calibrated(self, z: Tensor) -> Tensor:
        raise NotImplementedError

    def _fit(self, rows: TrainingRows) -> None:
        raise NotImplementedError

    @classmethod
    def _like(cls, calibrator: Calibrator) -> Self:
        """A module of the same shape, its values not set yet."""
        return cls(len(calibrator.classes_), input=calibrator.input)

    def _take(self, calibrator: Any) -> None:
        for own, name in self.values.items():
            self._set(own, getattr(calibrator, name))

    def _fitted_values(self) -> dict[str, Any]:
        found = {name: host(getattr(self, own)) for own, name in self.values.items()}
        return {name: value if value.ndim else float(value) for name, value in found.items()}

    def _map_parameters(self) -> dict[str, Any]:
        return {"input": self.input}

    # What they share.

    def _own_dtype(self) -> torch.dtype:
        first = next(self.parameters(), None)
        return (first if first is not None else next(self.buffers())).dtype

    def _read(self, logits: Tensor) -> Tensor:
        z = logits.to(torch.promote_types(logits.dtype, self._own_dtype()))
        return ruled_out_read(z) if self.input == "logit" else torch.log_softmax(z, dim=-1).clamp(min=LOG_SMALLEST)

    def _set(self, name: str, value: Any) -> None:
        getattr(self, name).copy_(torch.as_tensor(value, dtype=torch.float64))


class CountingModule(CalibratorModule):
    """A module of log-probabilities; large log-odds of two classes are first divided by a power of two, as the map for arrays does."""

    values = {"scale": "scale_"}
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


class TemperatureModule(CalibratorModule):
    """logits / T: one number for how sure to be (Guo et al. 2017); its parameter is ``log_temperature``.

    >>> import torch
    >>> from calibrant.torch import TemperatureModule
    >>> logits = torch.tensor([[2.0, 0.0], [2.0, 0.0], [0.0, 2.0], [0.0, 2.0]])
    >>> module = TemperatureModule().fit(logits, torch.tensor([0, 1, 1, 1]))
    >>> round(module.temperature, 4)
    1.8205
    >>> module(torch.tensor([[1.8205, 0.0]])).round(decimals=3).tolist()
    [[1.0, 0.0]]
    """

    calibrator_type: ClassVar[type[Calibrator]] = TemperatureScaling
    log_temperature: nn.Parameter

    def __init__(self, n_classes: int | None = None, *, temperature: float = 1.0, input: Input = "logit") -> None:
        super().__init__(n_classes, input=input)
        start = math.log(check_positive(temperature, "temperature"))
        self.log_temperature = nn.Parameter(torch.tensor(start))

    @property
    def temperature(self) -> float:
        """T: above 1 the model was too sure."""
        return math.exp(self.log_temperature.item())

    def _calibrated(self, z: Tensor) -> Tensor:
        return z * torch.exp(-self.log_temperature)

    def _fit(self, rows: TrainingRows) -> None:
        self._set("log_temperature", -math.log(best_scale(rows)))

    def _take(self, calibrator: Any) -> None:
        super()._take(calibrator)
        self._set("log_temperature", math.log(calibrator.temperature_))

    def _fitted_values(self) -> dict[str, Any]:
        return {"temperature_": self.temperature} | super()._fitted_values()


class BiasCorrectedTemperatureModule(TemperatureModule):
    """logits / T + b: a temperature and one bias for each class (Alexandari et al. 2020)."""

    calibrator_type = BiasCorrectedTemperature
    values = {"bias": "bias_"}
    bias: nn.Parameter

    def __init__(self, n_classes: int, *, input: Input = "logit") -> None:
        super().__init__(n_classes, input=input)
        self.bias = nn.Parameter(torch.zeros(n_classes))

    def _calibrated(self, z: Tensor) -> Tensor:
        return z * torch.exp(-self.log_temperature) + self.bias

    def _fit(self, rows: TrainingRows) -> None:
        warn_of_absent(rows)
        scale, bias = bias_corrected(DeviceSoftmax(rows.logits, rows.labels, rows.weight))
        self._set("log_temperature", -math.log(scale))
        self._set("bias", bias)


class VectorModule(CalibratorModule):
    """w * logits + b: one factor and one bias for each class (Guo et al. 2017)."""

    calibrator_type = VectorScaling
    values = {"weight": "weight_", "bias": "bias_"}
    weight: nn.Parameter
    bias: nn.Parameter

    def __init__(self, n_classes: int, *, input: Input = "logit") -> None:
        super().__init__(n_classes, input=input)
        self.weight = nn.Parameter(torch.ones(n_classes))
        self.bias = nn.Parameter(torch.zeros(n_classes))

    def _calibrated(self, z: Tensor) -> Tensor:
        return z * self.weight + self.bias

    def _fit(self, rows: TrainingRows) -> None:
        warn_of_absent(rows)
        weight, bias = best_vector(DeviceSoftmax(rows.logits, rows.labels, rows.weight))
        self._set("weight", weight)
        self._set("bias", bias)


class MatrixModule(CalibratorModule):
    """W logits + b, with a penalty on what is off the diagonal and on the bias (Guo et al. 2017; Kull et al. 2019).

    Parameters
    ----------
    n_classes, input
        As for every map.
    off_diagonal, intercept
        Weights of the penalties; None chooses one number for both by five-fold cross-validation, as `calibrant.MatrixScaling` does.
    """

    calibrator_type = MatrixScaling
    values = {"weight": "matrix_", "bias": "bias_", "penalty": "penalty_"}
    weight: nn.Parameter
    bias: nn.Parameter
    penalty: Tensor

    def __init__(
        self,
        n_classes: int,
        *,
        off_diagonal: float | None = None,
        intercept: float | None = None,
        input: Input = "logit",
    ) -> None:
        super().__init__(n_classes, input=input)
        self.off_diagonal, self.intercept = off_diagonal, intercept
        MatrixScaling(off_diagonal=off_diagonal, intercept=intercept)._check_params()
        self.weight = nn.Parameter(torch.eye(n_classes))
        self.bias = nn.Parameter(torch.zeros(n_classes))
        self.register_buffer("penalty", torch.tensor(math.nan))

    def _features(self, z: Tensor) -> Tensor:
        return z

    def _calibrated(self, z: Tensor) -> Tensor:
        z = self._features(z)
        weight, bias = self.weight.to(z.dtype), self.bias.to(z.dtype)
        with without_autocast(z):
            return nn.functional.linear(z, weight, bias)

    def _fit(self, rows: TrainingRows) -> None:
        warn_of_absent(rows)
        linear = DeviceSoftmax(self._features(rows.logits), rows.labels, rows.weight)
        penalty = chosen_penalty(linear) if self.off_diagonal is None else float(self.off_diagonal)
        weight, bias = best_matrix(linear, penalty, penalty if self.intercept is None else float(self.intercept))
        self._set("weight", weight)
        self._set("bias", bias)
        self._set("penalty", penalty)

    @classmethod
    def _like(cls, calibrator: Any) -> Self:
        return cls(
            len(calibrator.classes_),
            off_diagonal=calibrator.off_diagonal,
            intercept=calibrator.intercept,
            input=calibrator.input,
        )

    def _map_parameters(self) -> dict[str, Any]:
        return {"input": self.input, "off_diagonal": self.off_diagonal, "intercept": self.intercept}


class DirichletModule(MatrixModule):
    """W ln p + b of the log-probabilities, with the off-diagonal and intercept penalty (Kull et al. 2019)."""

    calibrator_type = DirichletCalibration

    def _features(self, z: Tensor) -> Tensor:
        return torch.log_softmax(z, dim=-1) if self.input == "logit" else z


class CalibratedModule(nn.Module):
    """A model and the map behind it: what the model is called with goes in, calibrated logits come out.

    Parameters
    ----------
    model
        Any module that gives logits.
    calibrator
        A fitted `CalibratorModule`, or any module from logits to logits.
    output
        Which of several outputs of the model are the logits: an index, a key or a function.
    """

    def __init__(self, model: nn.Module, calibrator: nn.Module, *, output: Output = None) -> None:
        super().__init__()
        remedies = {
            "model": "write a function as the forward of an nn.Module",
            "calibrator": "CalibratorModule.from_map(map) makes one of a map",
        }
        for name, value in (("model", model), ("calibrator", calibrator)):
            if not isinstance(value, nn.Module):
                raise InputTypeError(name, f"must be a torch module; got {type(value).__name__}", remedies[name])
        self.model = model
        self.calibrator = calibrator
        self.output = output

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        """Calibrated logits; dense ones, (N, classes, ...), in the shape they came in."""
        found = chosen_output(self.model(*inputs, **named), self.output)
        logits = found if found.ndim > 2 else as_classes(found, rows=row_counts(inputs, named))
        calibrated: Tensor = self.calibrator(logits)
        return calibrated

    def predict_proba(self, *inputs: Any, **named: Any) -> Tensor:
        """Calibrated probabilities, in evaluation mode: the softmax of what `forward` gives then; the mode is restored."""
        with evaluating(self):
            return softmax_of_classes(self(*inputs, **named))
