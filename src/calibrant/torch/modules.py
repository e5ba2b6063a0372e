"""Temperature scaling as a module: ``forward(logits)`` returns calibrated logits, whose softmax is the calibrated probability.

It is fitted by the calibrator for arrays, and converted with `from_calibrator` and `to_calibrator`. `CalibratedModule` combines a
model with a module of calibrated logits.
"""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any, Self

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
from ..recalibration.scaling import TemperatureScaling
from ..util.checks import check_positive, check_whole
from .collecting import evaluating
from .outputs import Output, chosen_output, row_counts
from .rows import (
    as_classes,
    as_given,
    classes_last,
    host,
    on_host,
    ruled_out_read,
    softmax_of_classes,
    training_rows,
)


class TemperatureModule(nn.Module):
    """Temperature scaling: logits divided by one temperature.

    The counterpart of `calibrant.TemperatureScaling` and the first choice for neural networks: one parameter,
    ``log_temperature``, and the predicted class never changes.

    Parameters
    ----------
    n_classes : int, optional
        Number of classes; by default any.
    temperature : float, default 1.0
        Initial temperature, above 0.

    See Also
    --------
    calibrant.TemperatureScaling : The same calibrator for arrays.
    CalibratedModule : A model followed by a calibrator.

    Notes
    -----
    The calibrated logits are :math:`z / T`, with :math:`T > 0` by maximum likelihood; a fitted T above 1 means that
    the model was overconfident. Other calibrators that are linear in the logits are a `torch.nn.Linear` with their `coef_` and
    `intercept_`.

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

    def __init__(self, n_classes: int | None = None, *, temperature: float = 1.0) -> None:
        super().__init__()
        self.n_classes = None if n_classes is None else check_whole(n_classes, "n_classes", 2)
        self.log_temperature = nn.Parameter(torch.tensor(math.log(check_positive(temperature, "temperature"))))
        self._calibrator: TemperatureScaling | None = None

    @property
    def temperature(self) -> float:
        """The temperature."""
        return math.exp(self.log_temperature.item())

    @property
    def fit_record(self) -> FitRecord | None:
        """Data on which the module was fitted; None before `fit`."""
        return None if self._calibrator is None else self._calibrator.fit_record_

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
        rows = classes_last(logits, self.n_classes)
        z = ruled_out_read(rows.to(torch.promote_types(rows.dtype, self.log_temperature.dtype)))
        return as_given(z * torch.exp(-self.log_temperature))

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
        TemperatureModule
            The module itself.

        Warns
        -----
        ProbabilitiesAsLogitsWarning
            If the logits look like probabilities.
        """
        z, codes = training_rows(logits, labels, self.n_classes)
        scores, classes = host(z), codes.cpu().numpy()
        tolerance = SUM_TOLERANCE.get(str(logits.dtype).removeprefix("torch."), 1e-6)
        if are_probabilities(scores, classes, tolerance):
            warn_caller(ProbabilitiesAsLogitsWarning("logits", LIKE_PROBABILITIES, "pass their logarithms"))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ProbabilitiesAsLogitsWarning)  # the logits were judged above
                calibrator = TemperatureScaling(input="logit").fit(
                    scores, classes, on_host(sample_weight), counts=on_host(counts)
                )
        except CalibrantError as error:
            raise error.replaced({"scores": "logits", "y": "labels"}) from None
        return self.to(z.device)._take(calibrator)

    @classmethod
    def from_calibrator(cls, calibrator: Calibrator, *, dtype: torch.dtype = torch.float32, device: Any = None) -> Self:
        """Convert fitted temperature scaling for arrays to a module.

        Parameters
        ----------
        calibrator : TemperatureScaling
            Fitted calibrator.
        dtype : torch.dtype, default torch.float32
            Precision of the module.
        device : str or torch.device, optional
            Device of the module.

        Returns
        -------
        TemperatureModule
            A module whose ``predict_proba(logits)`` equals that of the calibrator for these logits, or for their
            softmax.

        Raises
        ------
        InputTypeError
            If the calibrator is another one.
        NotFittedError
            If it is not fitted.
        """
        if not isinstance(calibrator, TemperatureScaling):
            raise InputTypeError("calibrator", f"must be a TemperatureScaling; got {type(calibrator).__name__}")
        if not hasattr(calibrator, "fit_record_"):
            raise NotFittedError(type(calibrator).__name__, "is not fitted", "call fit(scores, y) first")
        return cls().to(device=device, dtype=dtype)._take(calibrator)

    def _take(self, calibrator: TemperatureScaling) -> Self:
        """Set the temperature and the number of classes of a fitted calibrator."""
        with torch.no_grad():
            self.log_temperature.fill_(math.log(calibrator.temperature_))
        self.n_classes = len(calibrator.classes_)
        self._calibrator = calibrator
        return self

    def to_calibrator(self) -> TemperatureScaling:
        """Convert the module to a calibrator for arrays, which is saved with `calibrant.save` and used without torch.

        Returns
        -------
        TemperatureScaling
            The calibrator with the same temperature.

        Raises
        ------
        ArgumentError
            If the number of classes is unknown.
        """
        if self._calibrator is not None:
            calibrator = copy.copy(self._calibrator)
        elif self.n_classes is None:
            raise ArgumentError("n_classes", "is unknown", "fit the module, or pass n_classes to the constructor")
        else:
            calibrator = TemperatureScaling(input="logit")
            calibrator.classes_, calibrator.n_features_in_ = np.arange(self.n_classes), self.n_classes
            calibrator.fit_record_ = FitRecord(0, 0.0, "")
        calibrator.temperature_ = self.temperature
        return calibrator

    def extra_repr(self) -> str:
        return f"n_classes={self.n_classes}"


class CalibratedModule(nn.Module):
    """A model followed by a calibrator: it is called as the model, and returns calibrated logits.

    Parameters
    ----------
    model : torch.nn.Module
        Model that returns logits.
    calibrator : torch.nn.Module
        Fitted `TemperatureModule`, or any module from logits to logits.
    output : int, str or callable, optional
        Which of several outputs of the model holds the logits, as in `collect`.

    Raises
    ------
    InputTypeError
        If `calibrator` is not a module.

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
                "TemperatureModule.from_calibrator(calibrator) converts temperature scaling",
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
        logits = chosen_output(self.model(*inputs, **named), self.output)
        logits = logits if logits.ndim > 2 else as_classes(logits, rows=row_counts(inputs, named))
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
