"""Networks trained with each intervention, and the strength that is chosen for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import calibrant as cal
from calibrant.torch import collect, losses

from .images import Split
from .plan import Plan

BASE, SMOOTHED = "base network", "label smoothing"
TRAINED = {SMOOTHED: "label_smoothing", "mixup": "mixup", "focal loss": "focal"}
"""What changes the training, and where its strengths stand in the plan."""
Strength = float | str
Loss = Callable[[nn.Module, Tensor, Tensor], Tensor]


class Outputs(NamedTuple):
    """Labels, and logits or probabilities."""

    labels: Any
    scores: Any
    input: str = "logit"

    def predictions(self) -> cal.Predictions:
        """What metrics and figures take."""
        return cal.Predictions(self.labels, self.scores, input=self.input)


class Trial(NamedTuple):
    """What one model says of the rows it was not trained on."""

    validation: Outputs
    test: Outputs


class Choice(NamedTuple):
    """A strength tried: means over seeds on validation rows, and whether it was taken."""

    strength: Any
    accuracy: float
    ece: float
    chosen: bool


def network(kind: str, shape: tuple[int, ...], classes: int, width: int) -> nn.Module:
    """A small network for images of this shape."""
    channels, height, breadth = shape
    if kind == "mlp":
        inputs = channels * height * breadth
        layers = [nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, classes)]
        return nn.Sequential(nn.Flatten(), *layers)
    first, second = nn.Conv2d(channels, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
    seen = [first, nn.ReLU(), nn.MaxPool2d(2), second, nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten()]
    return nn.Sequential(*seen, nn.Linear(512, width), nn.ReLU(), nn.Linear(width, classes))


def loss_of(name: str, strength: Strength | None, seed: int) -> Loss:
    """The loss of a batch under an intervention."""
    if name == "mixup":
        draw = np.random.default_rng([2, seed])

        def mixed(net: nn.Module, x: Tensor, y: Tensor) -> Tensor:
            batch = losses.mixup(x, y, alpha=strength, rng=draw)
            return losses.mixed_loss(net(batch.input), batch)

        return mixed
    if name == SMOOTHED:
        criterion = partial(losses.label_smoothing_loss, smoothing=strength)
    elif name == "focal loss":
        criterion = losses.flsd_loss if strength == "flsd" else partial(losses.focal_loss, gamma=strength)
    else:
        criterion = F.cross_entropy
    return lambda net, x, y: criterion(net(x), y)


def fit(
    rows: Split, classes: int, plan: Plan, loss: Loss, seed: int, *, rate: float, weight_decay: float, device: str
) -> nn.Module:
    """A network trained on the training rows; the same start and the same batches for the same seed."""
    x, y = (part.to(device) for part in rows.train)
    settings = plan.network
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = network(settings["kind"], tuple(x.shape[1:]), classes, settings["width"]).to(device)
    optimiser = torch.optim.AdamW(net.parameters(), lr=rate, weight_decay=weight_decay)
    order = torch.Generator().manual_seed(seed)
    for _ in range(settings["epochs"]):
        for batch in torch.randperm(len(y), generator=order).to(device).split(settings["batch"]):
            optimiser.zero_grad()
            loss(net, x[batch], y[batch]).backward()
            optimiser.step()
    return net


def outputs(net: nn.Module, rows: tuple[Tensor, Tensor]) -> Outputs:
    """What a network says of rows."""
    found = collect(net, [(rows[0][i : i + 1000], rows[1][i : i + 1000]) for i in range(0, len(rows[1]), 1000)])
    return Outputs(found.labels.numpy(), found.logits.double().numpy())


def trial(
    name: str, strength: Any, rows: Split, classes: int, plan: Plan, seed: int, settings: dict[str, Any]
) -> Trial:
    """Train with one intervention at one strength, and look at the rows that were not trained on."""
    net = fit(rows, classes, plan, loss_of(name, strength, seed), seed, **settings)
    return Trial(outputs(net, rows.validation), outputs(net, rows.test))


def seen_on(outs: list[Outputs], bins: int) -> tuple[float, float]:
    """Accuracy and traditional error, means over seeds."""
    shown = [out.predictions() for out in outs]
    right = [float((p.predicted == out.labels).mean()) for p, out in zip(shown, outs, strict=True)]
    return float(np.mean(right)), float(np.mean([cal.ece(p, lens="top_label", bins=bins) for p in shown]))


def choose(tried: list[tuple[Any, float, float]], base_accuracy: float, most_loss: float) -> list[Choice]:
    """Of (strength, accuracy, error), the least error that loses no more accuracy than allowed; if all do, the most accurate."""
    allowed = [one for one in tried if one[1] >= base_accuracy - most_loss - 1e-12]
    best = min(allowed, key=lambda one: one[2]) if allowed else max(tried, key=lambda one: one[1])
    return [Choice(*one, chosen=one is best) for one in tried]


def taken(choices: list[Choice]) -> Any:
    """The strength that was chosen."""
    return next(one.strength for one in choices if one.chosen)


MAPS: dict[str, tuple[str, Callable[..., Any]]] = {
    "temperature": (BASE, lambda: cal.TemperatureScaling(input="logit")),
    "bias-corrected temperature": (BASE, lambda: cal.BiasCorrectedTemperature(input="logit")),
    "histogram binning": (BASE, lambda bins: cal.HistogramBinning(input="logit", bins=bins)),
    "smoothing + temperature": (SMOOTHED, lambda: cal.TemperatureScaling(input="logit")),
}
"""Recalibration after training: the network it is applied to, and the calibrator."""


def mapped(make: Callable[[], Any], source: Trial) -> tuple[Outputs, Any]:
    """Probabilities of the test rows by a calibrator fitted to the validation rows, and the calibrator."""
    fitted = make().fit(source.validation.scores, source.validation.labels)
    return Outputs(source.test.labels, fitted.predict_proba(source.test.scores), "prob"), fitted


def histogram_folds(source: Trial, bins: int, folds: int = 5) -> Outputs:
    """Probabilities of the validation rows by histograms that were fitted to the other folds."""
    scores, labels = source.validation.scores, source.validation.labels
    order = np.argsort(labels, kind="stable")  # every fold gets its part of every class
    fold = np.empty(len(labels), int)
    fold[order] = np.arange(len(labels)) % folds
    found = np.empty_like(scores)
    for number in range(folds):
        inside = fold == number
        fitted = cal.HistogramBinning(input="logit", bins=bins).fit(scores[~inside], labels[~inside])
        found[inside] = fitted.predict_proba(scores[inside])
    return Outputs(labels, found, "prob")
