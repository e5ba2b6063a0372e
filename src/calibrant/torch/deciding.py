"""Answer only where the model is sure enough: one batch, a threshold, and which rows are accepted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..decision.thresholds import ThresholdChoice
from ..errors import ArgumentError, UndefinedMetricError
from ..input.convert import is_number
from ..recalibration.softmax_regression import softmax
from ..util.results import Result
from .collecting import evaluating
from .outputs import Output, arguments, chosen_output, row_counts
from .rows import as_classes, as_numbers, host, read_labels, wide

__all__ = ["ThresholdedPrediction", "predict_with_threshold"]


@dataclass(frozen=True, eq=False, repr=False)
class ThresholdedPrediction(Result):
    """The predicted class of each row, how sure the model is of it, and whether to answer; on the device of the logits."""

    label: Tensor
    confidence: Tensor
    accepted: Tensor
    """True where the confidence is at least the threshold; on the other rows the system abstains."""
    threshold: float | None

    def __len__(self) -> int:
        return len(self.label)

    @property
    def coverage(self) -> float:
        """Share of the rows that are answered."""
        return float(self.accepted.double().mean())

    def selective_accuracy(self, labels: Any) -> float:
        """Share of right answers among those given."""
        if not bool(self.accepted.any()):
            raise UndefinedMetricError("selective_accuracy", "no row is accepted", "use a lower threshold")
        numbers = as_numbers(labels, "labels")
        known = numbers[torch.isfinite(numbers)]
        most = max(int(self.label.max()), int(known.max()) if len(known) else 0) + 1
        true = read_labels(numbers, len(self), max(most, 2)).to(self.label.device)
        return float((self.label == true)[self.accepted].double().mean())

    def _columns(self) -> dict[str, Any]:
        return {name: getattr(self, name).tolist() for name in ("label", "confidence", "accepted")}

    def _title(self) -> str:
        accepted = int(self.accepted.sum())
        shown = "none" if self.threshold is None else f"{self.threshold:g}"
        return f"ThresholdedPrediction({accepted} of {len(self)} rows accepted at threshold {shown})"


def predict_with_threshold(
    model: Any, x: Any, threshold: float | ThresholdChoice, *, output: Output = None
) -> ThresholdedPrediction:
    """Predict one batch and abstain where the largest probability is below the threshold.

    Runs in evaluation mode without gradients; the mode of the model is restored. Probabilities are those that `calibrant.Predictions` makes of
    the same logits, in double precision and to the last bit, so that a threshold chosen by the library accepts here what it accepted there. A
    single output z for each row counts as the columns 0 and z, as in `collect`.

    Parameters
    ----------
    model
        A module, or any callable, that gives logits: best a `CalibratedModule`.
    x
        One batch of inputs, on the device of the model; a tuple gives the model several arguments, a mapping keywords.
    threshold
        A number, or what `calibrant.choose_threshold` returned; where that found none, nothing is accepted.
    output
        Which of several outputs are the logits, as in `collect`.

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
    positional, named = arguments(x)
    with evaluating(model), torch.no_grad():
        found = chosen_output(model(*positional, **named), output)
        logits = as_classes(found, rows=row_counts(positional, named))
    probs = _probabilities(logits)
    sure = probs.max(axis=1)
    accepted = np.zeros(len(sure), bool) if least is None else sure >= float(least)
    label, confidence, kept = (torch.from_numpy(one) for one in (probs.argmax(axis=1), sure, accepted))
    device = logits.device
    return ThresholdedPrediction(
        label.to(device),
        confidence.to(wide(device)).to(device),
        kept.to(device),
        None if least is None else float(least),
    )


def _probabilities(logits: Tensor) -> NDArray[np.float64]:
    """The softmax by the very steps of `Predictions`: on a device the last bits differ, and a threshold is often one of the scores."""
    with np.errstate(invalid="ignore"):
        return softmax(host(logits))
