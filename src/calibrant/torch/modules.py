"""Calibrators as modules: ``forward(logits)`` returns calibrated logits, whose softmax is the calibrated probability.

Each module is the counterpart of a calibrator for arrays: it is fitted by it, on CUDA with the rows on their
device, and converted with `from_calibrator` and `to_calibrator`. `CalibratedModule` combines a model with one.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import (
    ArgumentError,
    CalibrantError,
    InputTypeError,
    NotFittedError,
    ProbabilitiesAsLogitsWarning,
    warn_caller,
)
from ..input.convert import SUM_TOLERANCE
from ..input.hints import LIKE_PROBABILITIES, are_probabilities
from ..recalibration.base import Calibrator, FitRecord
from ..recalibration.scaling import (
    BiasCorrectedTemperature,
    DirichletCalibration,
    MatrixScaling,
    TemperatureScaling,
    VectorScaling,
)
from ..recalibration.softmax_regression import softmax
from ..util.checks import check_choice, check_positive, check_whole
from ..util.namespaces import to_numpy
from ..util.texts import parameter_texts
from ..views.keywords import documents_keywords
from .collecting import evaluating
from .outputs import Output, chosen_output, row_counts
from .rows import (
    LOG_SMALLEST,
    DeviceData,
    as_classes,
    as_given,
    classes_last,
    host,
    on_host,
    ruled_out_read,
    softmax_of_classes,
    training_rows,
    without_autocast,
)

Input = Literal["logit", "prob"]
documents_module = documents_keywords(table=parameter_texts("calibrant.torch")["modules"])
COUNTERPARTS: dict[type[Calibrator], type[CalibratorModule]] = {}


class _Origin(NamedTuple):
    """What a calibrator holds beside the numbers in its module; kept so that the conversion back restores it, until the
    module is fitted.
    """

    parameters: dict[str, Any]
    classes: Any
    columns: int


@documents_module
class CalibratorModule(nn.Module):
    """Base class of calibrators for tensors: ``fit(logits, labels)``, then ``forward(logits)`` returns calibrated logits.

    Parameters
    ----------
    n_classes
    input

    See Also
    --------
    TemperatureModule : The simplest one.
    CalibratedModule : A model followed by a calibrator.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.torch import CalibratorModule
    >>> logits = [[2.0, 0.0], [2.0, 0.0], [0.0, 2.0], [0.0, 2.0]]
    >>> fitted = cal.TemperatureScaling(input="logit").fit(logits, [0, 1, 1, 1])
    >>> CalibratorModule.from_calibrator(fitted)
    TemperatureModule(n_classes=2)
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
        """Compute calibrated logits.

        Parameters
        ----------
        logits : torch.Tensor of shape (N, K) or (N, K, d1, ...)
            Logits, with the classes on axis 1.

        Returns
        -------
        torch.Tensor of the shape of `logits`
            Calibrated logits, in the wider of the precisions of `logits` and of this module.
        """
        return as_given(self._calibrated(self._read(classes_last(logits, self.n_classes))))

    def predict_proba(self, logits: Tensor) -> Tensor:
        """Compute calibrated probabilities, the softmax over the classes of the calibrated logits.

        Parameters
        ----------
        logits : torch.Tensor of shape (N, K) or (N, K, d1, ...)
            Logits, with the classes on axis 1.

        Returns
        -------
        torch.Tensor of the shape of `logits`
            Calibrated probabilities.
        """
        return softmax_of_classes(self(logits))

    def fit(self, logits: Tensor, labels: Any, sample_weight: Any = None, *, counts: Any = None) -> Self:
        """Fit to the logits and labels of held-out data, as the calibrator for arrays is fitted.

        Parameters
        ----------
        logits : torch.Tensor of shape (N, K)
            Logits of rows that the model was not trained on.
        labels : array-like of shape (N,)
            Observed class indices.
        sample_weight : array-like of shape (N,), optional
            Importance weight of each row; only ratios matter.
        counts : array-like of shape (N,), optional
            Number of identical rows that each row represents; excludes `sample_weight`.

        Returns
        -------
        CalibratorModule
            The module itself.

        Warns
        -----
        ProbabilitiesAsLogitsWarning
            If the logits look like probabilities.
        """
        z, codes = training_rows(logits, labels, self.n_classes)
        tolerance = SUM_TOLERANCE.get(str(logits.dtype).removeprefix("torch."), 1e-6)
        if are_probabilities(host(z), to_numpy(codes), tolerance):
            warn_caller(ProbabilitiesAsLogitsWarning("logits", LIKE_PROBABILITIES, "pass their logarithms"))
        scores = host(z) if self.input == "logit" else softmax(host(z))
        calibrator = self.calibrator_type(**self._calibrator_parameters())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ProbabilitiesAsLogitsWarning)  # the logits were judged above
                data, _, _ = calibrator._read_training(scores, to_numpy(codes), on_host(sample_weight), on_host(counts))
            if z.is_cuda:
                data = DeviceData(data._p, z.device)
            calibrator._fit_read(data, None, data.k)
        except CalibrantError as error:
            raise error.replaced({"scores": "logits", "y": "labels"}) from None
        self.n_classes = data.k
        self.to(z.device)
        with torch.no_grad():
            self._take(calibrator)
        # The fingerprint serves the in-sample warning; that of probabilities would depend on who computed them.
        known = calibrator.fit_record_
        self.fit_record = known if self.input == "logit" else replace(known, fingerprint="")
        self._origin = None
        return self

    @classmethod
    def from_calibrator(
        cls, calibrator: Calibrator, *, dtype: torch.dtype = torch.float32, device: Any = None
    ) -> CalibratorModule:
        """Convert a fitted calibrator for arrays to a module.

        Parameters
        ----------
        calibrator : Calibrator
            A fitted calibrator that has a module, such as `calibrant.TemperatureScaling`.
        dtype : torch.dtype, default torch.float32
            Precision of the module.
        device : str or torch.device, optional
            Device of the module.

        Returns
        -------
        CalibratorModule
            A module whose ``predict_proba(logits)`` equals that of the calibrator for these logits, or for their
            softmax.

        Raises
        ------
        InputTypeError
            If the calibrator has no module.
        NotFittedError
            If it is not fitted.
        """
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

    def to_calibrator(self) -> Calibrator:
        """Convert the module to a calibrator for arrays, which is saved with `calibrant.save` and used without torch.

        Returns
        -------
        Calibrator
            The calibrator with the same parameters.

        Raises
        ------
        ArgumentError
            If the number of classes is unknown.
        """
        if self.n_classes is None:
            raise ArgumentError("n_classes", "is unknown", "fit the module, or pass n_classes to the constructor")
        like = self._origin or _Origin(self._calibrator_parameters(), np.arange(self.n_classes), self.n_classes)
        calibrator = self.calibrator_type(**like.parameters)
        calibrator.classes_, calibrator.n_features_in_ = like.classes, like.columns
        for name, value in self._fitted_values().items():
            setattr(calibrator, name, value)
        calibrator.fit_record_ = self.fit_record or FitRecord(0, 0.0, "")
        return calibrator

    def extra_repr(self) -> str:
        return f"n_classes={self.n_classes}" + ("" if self.input == "logit" else f", input={self.input!r}")

    # Implemented by each calibrator.

    def _calibrated(self, z: Tensor) -> Tensor:
        raise NotImplementedError

    @classmethod
    def _like(cls, calibrator: Calibrator) -> Self:
        """A module of the same shape, with its values not set yet."""
        return cls(len(calibrator.classes_), input=calibrator.input)

    def _take(self, calibrator: Any) -> None:
        for own, name in self.values.items():
            self._set(own, getattr(calibrator, name))

    def _fitted_values(self) -> dict[str, Any]:
        found = {name: host(getattr(self, own)) for own, name in self.values.items()}
        return {name: value if value.ndim else float(value) for name, value in found.items()}

    def _calibrator_parameters(self) -> dict[str, Any]:
        return {"input": self.input}

    # Shared.

    def _own_dtype(self) -> torch.dtype:
        return next(self.parameters()).dtype

    def _read(self, logits: Tensor) -> Tensor:
        z = logits.to(torch.promote_types(logits.dtype, self._own_dtype()))
        return ruled_out_read(z) if self.input == "logit" else torch.log_softmax(z, dim=-1).clamp(min=LOG_SMALLEST)

    def _set(self, name: str, value: Any) -> None:
        getattr(self, name).copy_(torch.as_tensor(value, dtype=torch.float64))


@documents_module
class TemperatureModule(CalibratorModule):
    """Temperature scaling: logits divided by one temperature.

    The counterpart of `calibrant.TemperatureScaling` and the first choice for neural networks: one parameter,
    ``log_temperature``, and the predicted class never changes.

    Parameters
    ----------
    n_classes : int, optional
        Number of classes; by default any.
    temperature : float, default 1.0
        Initial temperature, above 0.
    input

    See Also
    --------
    calibrant.TemperatureScaling : The same calibrator for arrays.
    VectorModule : One factor per class.

    Notes
    -----
    The calibrated logits are :math:`z / T`, with :math:`T > 0` by maximum likelihood; a fitted T above 1 means that
    the model was overconfident.

    References
    ----------
    .. [1] Guo, Pleiss, Sun and Weinberger (2017): On calibration of modern neural networks. ICML.

    Examples
    --------
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
        """The temperature T; above 1 the model was overconfident."""
        return math.exp(self.log_temperature.item())

    def _calibrated(self, z: Tensor) -> Tensor:
        return z * torch.exp(-self.log_temperature)

    def _take(self, calibrator: Any) -> None:
        super()._take(calibrator)
        self._set("log_temperature", math.log(calibrator.temperature_))

    def _fitted_values(self) -> dict[str, Any]:
        return {"temperature_": self.temperature} | super()._fitted_values()


@documents_module
class BiasCorrectedTemperatureModule(TemperatureModule):
    """Temperature scaling with one bias per class.

    The counterpart of `calibrant.BiasCorrectedTemperature`; use it where the class frequencies differ between training
    and deployment.

    Parameters
    ----------
    n_classes
    input

    See Also
    --------
    calibrant.BiasCorrectedTemperature : The same calibrator for arrays.

    Notes
    -----
    The calibrated logits are :math:`z_k / T + b_k`, by maximum likelihood.

    References
    ----------
    .. [1] Alexandari, Kundaje and Shrikumar (2020): Maximum likelihood with bias-corrected calibration is hard-to-beat at
       label shift adaptation. ICML.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import BiasCorrectedTemperatureModule
    >>> logits = torch.tensor([[2.0, 0.0], [2.0, 0.0], [0.0, 2.0], [0.0, 2.0]])
    >>> module = BiasCorrectedTemperatureModule(2).fit(logits, torch.tensor([0, 1, 1, 1]))
    >>> module.predict_proba(torch.tensor([[2.0, 0.0]])).round(decimals=2).tolist()
    [[0.5, 0.5]]
    """

    calibrator_type = BiasCorrectedTemperature
    values = {"bias": "bias_"}
    bias: nn.Parameter

    def __init__(self, n_classes: int, *, input: Input = "logit") -> None:
        super().__init__(n_classes, input=input)
        self.bias = nn.Parameter(torch.zeros(n_classes))

    def _calibrated(self, z: Tensor) -> Tensor:
        return z * torch.exp(-self.log_temperature) + self.bias


@documents_module
class VectorModule(CalibratorModule):
    """Vector scaling: one factor and one bias per class.

    The counterpart of `calibrant.VectorScaling`; use it where some classes are over- and others underconfident and
    there are enough rows per class.

    Parameters
    ----------
    n_classes
    input

    See Also
    --------
    calibrant.VectorScaling : The same calibrator for arrays.
    MatrixModule : A full matrix.

    Notes
    -----
    The calibrated logits are :math:`w_k z_k + b_k`, by maximum likelihood.

    References
    ----------
    .. [1] Guo, Pleiss, Sun and Weinberger (2017): On calibration of modern neural networks. ICML.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import VectorModule
    >>> logits = torch.tensor([[2.0, 0.0], [2.0, 0.0], [0.0, 2.0], [0.0, 2.0]])
    >>> module = VectorModule(2).fit(logits, torch.tensor([0, 1, 1, 0]))
    >>> module.predict_proba(torch.tensor([[2.0, 0.0]])).round(decimals=2).tolist()
    [[0.5, 0.5]]
    """

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


@documents_module
class MatrixModule(CalibratorModule):
    r"""Matrix scaling with a penalty on the off-diagonal entries and the bias.

    The counterpart of `calibrant.MatrixScaling`; it can correct confusions between classes, and needs many rows per
    class.

    Parameters
    ----------
    n_classes
    off_diagonal : float, optional
        Weight of the penalty on the off-diagonal entries; by default one number for both penalties is chosen by
        five-fold cross-validation.
    intercept : float, optional
        Weight of the penalty on the bias; by default that of `off_diagonal`.
    input

    See Also
    --------
    calibrant.MatrixScaling : The same calibrator for arrays.
    DirichletModule : The same of log-probabilities.

    Notes
    -----
    The calibrated logits are :math:`W z + b`, with the mean log loss plus :math:`\lambda` times the mean square of the
    off-diagonal entries plus :math:`\mu` times the mean square of the biases minimized.

    References
    ----------
    .. [1] Guo, Pleiss, Sun and Weinberger (2017): On calibration of modern neural networks. ICML.
    .. [2] Kull, Perello Nieto, Kaengsepp, Silva Filho, Song and Flach (2019): Beyond temperature scaling: obtaining
       well-calibrated multi-class probabilities with Dirichlet calibration. NeurIPS.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import MatrixModule
    >>> logits = torch.tensor([[2.0, 0.0], [2.0, 0.0], [0.0, 2.0], [0.0, 2.0]])
    >>> module = MatrixModule(2, off_diagonal=0.1).fit(logits, torch.tensor([0, 1, 1, 0]))
    >>> module.predict_proba(torch.tensor([[2.0, 0.0]])).round(decimals=2).tolist()
    [[0.5, 0.5]]
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

    @classmethod
    def _like(cls, calibrator: Any) -> Self:
        return cls(
            len(calibrator.classes_),
            off_diagonal=calibrator.off_diagonal,
            intercept=calibrator.intercept,
            input=calibrator.input,
        )

    def _calibrator_parameters(self) -> dict[str, Any]:
        return {"input": self.input, "off_diagonal": self.off_diagonal, "intercept": self.intercept}


@documents_module
class DirichletModule(MatrixModule):
    r"""Dirichlet calibration: matrix scaling of the log-probabilities.

    The counterpart of `calibrant.DirichletCalibration`.

    Parameters
    ----------
    n_classes
    off_diagonal : float, optional
        Weight of the penalty on the off-diagonal entries; by default one number for both penalties is chosen by
        five-fold cross-validation.
    intercept : float, optional
        Weight of the penalty on the bias; by default that of `off_diagonal`.
    input

    See Also
    --------
    calibrant.DirichletCalibration : The same calibrator for arrays.
    MatrixModule : The same of logits, with the penalties.

    Notes
    -----
    The calibrated logits are :math:`W \ln p + b`, with the off-diagonal and intercept regularization (ODIR) of [1]_.

    References
    ----------
    .. [1] Kull, Perello Nieto, Kaengsepp, Silva Filho, Song and Flach (2019): Beyond temperature scaling: obtaining
       well-calibrated multi-class probabilities with Dirichlet calibration. NeurIPS.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import DirichletModule
    >>> logits = torch.tensor([[2.0, 0.0], [2.0, 0.0], [0.0, 2.0], [0.0, 2.0]])
    >>> module = DirichletModule(2, off_diagonal=0.1).fit(logits, torch.tensor([0, 1, 1, 0]))
    >>> module.predict_proba(torch.tensor([[2.0, 0.0]])).round(decimals=2).tolist()
    [[0.5, 0.5]]
    """

    calibrator_type = DirichletCalibration

    def _features(self, z: Tensor) -> Tensor:
        return torch.log_softmax(z, dim=-1) if self.input == "logit" else z


class CalibratedModule(nn.Module):
    """A model followed by a calibrator: it is called as the model, and returns calibrated logits.

    Parameters
    ----------
    model : torch.nn.Module
        Model that returns logits.
    calibrator : torch.nn.Module
        Fitted `CalibratorModule`, or any module from logits to logits.
    output : int, str or callable, optional
        Which of several outputs of the model holds the logits, as in `collect`.

    Raises
    ------
    InputTypeError
        If `model` or `calibrator` is not a module.

    See Also
    --------
    torch.export.export : Exports it, without this library.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import CalibratedModule, TemperatureModule
    >>> calibrated = CalibratedModule(torch.nn.Identity(), TemperatureModule(temperature=2.0))
    >>> calibrated(torch.tensor([[4.0, 0.0]])).tolist()
    [[2.0, 0.0]]
    """

    def __init__(self, model: nn.Module, calibrator: nn.Module, *, output: Output = None) -> None:
        super().__init__()
        if not isinstance(calibrator, nn.Module):
            raise InputTypeError(
                "calibrator",
                f"must be a torch module; got {type(calibrator).__name__}",
                "CalibratorModule.from_calibrator(calibrator) converts a calibrator",
            )
        self.model = model
        self.calibrator = calibrator
        self.output = output

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        """Compute calibrated logits.

        Parameters
        ----------
        *inputs : object
            Positional arguments of the model.
        **named : object
            Keyword arguments of the model.

        Returns
        -------
        torch.Tensor of shape (N, K) or (N, K, d1, ...)
            Calibrated logits.
        """
        found = chosen_output(self.model(*inputs, **named), self.output)
        logits = found if found.ndim > 2 else as_classes(found, rows=row_counts(inputs, named))
        calibrated: Tensor = self.calibrator(logits)
        return calibrated

    def predict_proba(self, *inputs: Any, **named: Any) -> Tensor:
        """Compute calibrated probabilities in evaluation mode; the mode of the model is restored.

        Parameters
        ----------
        *inputs : object
            Positional arguments of the model.
        **named : object
            Keyword arguments of the model.

        Returns
        -------
        torch.Tensor of shape (N, K) or (N, K, d1, ...)
            Calibrated probabilities.
        """
        with evaluating(self):
            return softmax_of_classes(self(*inputs, **named))
