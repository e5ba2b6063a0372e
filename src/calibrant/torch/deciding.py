"""Abstention: predict a batch and accept only rows whose confidence reaches a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..decision.thresholds import ThresholdChoice
from ..errors import ArgumentError
from ..recalibration.softmax_regression import softmax
from ..util.checks import is_number
from ..util.results import Result
from .collecting import evaluating
from .outputs import Output, arguments, chosen_output, row_counts
from .rows import as_classes, host, wide


@dataclass(frozen=True, eq=False, repr=False)
class ThresholdedPrediction(Result):
    """Predicted class and confidence of each row, and whether it is accepted.

    Returned by `predict_with_threshold`; tensors are on the device of the logits.

    Parameters
    ----------
    label : torch.Tensor of shape (N,)
        Predicted class.
    confidence : torch.Tensor of shape (N,)
        Largest probability.
    accepted : torch.Tensor of shape (N,)
        Whether the confidence is at least the threshold; on the other rows the system abstains.
    threshold : float or None
        The threshold; None if none was found, so that no row is accepted.
    """

    label: Tensor
    confidence: Tensor
    accepted: Tensor
    """True where the confidence is at least the threshold; on the other rows the system abstains."""
    threshold: float | None

    def __len__(self) -> int:
        return len(self.label)

    @property
    def coverage(self) -> float:
        """Share of accepted rows."""
        return float(self.accepted.double().mean())

    def _columns(self) -> dict[str, Any]:
        return {name: getattr(self, name).tolist() for name in ("label", "confidence", "accepted")}

    def _title(self) -> str:
        accepted = int(self.accepted.sum())
        text = "none" if self.threshold is None else f"{self.threshold:g}"
        return f"ThresholdedPrediction({accepted} of {len(self)} rows accepted at threshold {text})"


def predict_with_threshold(
    model: Any, x: Any, threshold: float | ThresholdChoice, *, output: Output = None
) -> ThresholdedPrediction:
    """Predict one batch and abstain where the largest probability is below a threshold.

    The model runs in evaluation mode without gradients; its mode is restored. Probabilities are computed in double
    precision exactly as `calibrant.Predictions` computes them from the same logits, so that a threshold chosen with
    the library accepts the same rows here. For a model with a single output z per row the logits are the two columns 0
    and z, as in `collect`.

    Parameters
    ----------
    model : torch.nn.Module or callable
        Model that returns logits, typically a `CalibratedModule`.
    x : torch.Tensor, tuple or mapping
        One batch of inputs, on the device of the model. A tuple is passed as positional, a mapping as keyword
        arguments.
    threshold : float or ThresholdChoice
        Least confidence of an accepted row, or the result of `calibrant.choose_threshold`; if that found no threshold,
        no row is accepted.
    output : int, str or callable, optional
        Which of several outputs holds the logits, as in `collect`.

    Returns
    -------
    ThresholdedPrediction
        Tensors ``label``, ``confidence`` and ``accepted``, and the ``coverage``.

    Raises
    ------
    ArgumentError
        If `threshold` is neither a number nor a `ThresholdChoice`.

    See Also
    --------
    calibrant.choose_threshold : Choose a threshold with a guarantee.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import predict_with_threshold
    >>> found = predict_with_threshold(torch.nn.Identity(), torch.tensor([[3.0, 0.0], [0.0, 0.5]]), 0.9)
    >>> found.label.tolist(), found.accepted.tolist(), found.coverage
    ([0, 1], [True, False], 0.5)
    """
    least = threshold.threshold if isinstance(threshold, ThresholdChoice) else threshold
    if least is not None and (not is_number(least) or math.isnan(least)):
        raise ArgumentError("threshold", f"must be a number or a ThresholdChoice; got {least!r}")
    if least is None and not isinstance(threshold, ThresholdChoice):
        raise ArgumentError("threshold", "must be a number or a ThresholdChoice; got None")
    positional, keywords = arguments(x)
    with evaluating(model), torch.no_grad():
        logits = chosen_output(model(*positional, **keywords), output)
        logits = as_classes(logits, rows=row_counts(positional, keywords))
    probs = _probabilities(logits)
    sure = probs.max(axis=1)
    accepted = np.zeros(len(sure), bool) if least is None else sure >= float(least)
    label, confidence, kept = (torch.from_numpy(array) for array in (probs.argmax(axis=1), sure, accepted))
    device = logits.device
    return ThresholdedPrediction(
        label.to(device),
        confidence.to(wide(device)).to(device),
        kept.to(device),
        None if least is None else float(least),
    )


def _probabilities(logits: Tensor) -> NDArray[np.float64]:
    """The softmax exactly as in `Predictions`: on a device the last bits differ, and thresholds often equal one of the
    scores.
    """
    with np.errstate(invalid="ignore"):
        return softmax(host(logits))
