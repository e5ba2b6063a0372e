"""Answer only where the model is sure enough: one batch, a threshold, and which rows are accepted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .._convert import is_number
from .._results import frame_of
from ..decision.thresholds import ThresholdChoice
from ..errors import ArgumentError, UndefinedMetricError
from ._outputs import Output, arguments, chosen_output
from ._rows import as_classes, at_least_single, read_labels, wide
from .collecting import evaluating

__all__ = ["ThresholdedPrediction", "predict_with_threshold"]


@dataclass(frozen=True, eq=False, repr=False)
class ThresholdedPrediction:
    """The predicted class of each row, how sure the model is of it, and whether to answer; on the device of the model."""

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
        most = max(int(self.label.max()), int(torch.as_tensor(labels).max())) + 1
        true = read_labels(labels, len(self), max(most, 2)).to(self.label.device)
        return float((self.label == true)[self.accepted].double().mean())

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        lists = {name: getattr(self, name).tolist() for name in ("label", "confidence", "accepted")}
        return {"threshold": self.threshold, **lists}

    def to_frame(self) -> Any:
        """One row for each prediction."""
        columns = self.to_dict()
        columns.pop("threshold")
        return frame_of(columns)

    def __repr__(self) -> str:
        accepted = int(self.accepted.sum())
        shown = "none" if self.threshold is None else f"{self.threshold:g}"
        return f"ThresholdedPrediction({accepted} of {len(self)} rows accepted at threshold {shown})"


def predict_with_threshold(
    model: Any, x: Any, threshold: float | ThresholdChoice, *, output: Output = None
) -> ThresholdedPrediction:
    """Predict one batch and abstain where the largest probability is below the threshold.

    Runs in evaluation mode without gradients; the mode of the model is restored.

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
        logits = as_classes(chosen_output(model(*positional, **named), output))
        confidence, label = torch.softmax(at_least_single(logits), dim=1).max(dim=1)
        # Compared as doubles, as everywhere in the library: in float32, 0.9 is a little less than 0.9.
        sure = confidence.to(wide(confidence.device))
        accepted = torch.zeros_like(label, dtype=torch.bool) if least is None else sure >= float(least)
    return ThresholdedPrediction(label, confidence, accepted, None if least is None else float(least))
