"""Confidence of a PyTorch network, in eight steps: from training to a monitor in production.

A small convolutional network is trained on few, noisy digits of scikit-learn until it is overconfident. The script evaluates it, inspects the
bins of its confidence, fits a temperature on held-out data, chooses a threshold on other data, and evaluates once on test data. Then it shows
what a temperature does not correct: corrupted images, on which the network is overconfident again, and images that are no digits. At the end a
monitor finds the day on which the camera was moved. `pytorch_network.py` exports a network with its temperature.

    python examples/image_workflow.py
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable

import numpy as np
import torch
from sklearn.datasets import load_digits, load_sample_images
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import calibrant as cal
import calibrant.torch as ct

SIZES = [200, 600, 400, 597]  # training, temperature, threshold, test
DAYS, A_DAY, MOVED = 9, 66, 5  # the monitored days, images of a day, and the day from which they are shifted


def train(rows: TensorDataset) -> nn.Sequential:
    """Train a network of two convolutions and a linear layer that overfits its few rows."""
    layers = nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.Flatten()
    model = nn.Sequential(*layers, nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(60):
        for images, digits in DataLoader(rows, batch_size=50, shuffle=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), digits).backward()
            optimizer.step()
    return model.eval()


CORRUPTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "noise": lambda images: images + 0.4 * torch.randn(images.shape),
    "blur": lambda images: 0.3 * images + 0.7 * nn.functional.avg_pool2d(images, 3, stride=1, padding=1),
    "shifted": lambda images: images.roll(1, dims=3),
}


def other_images(count: int) -> Tensor:
    """Parts of two photographs of scikit-learn, which are no digits."""
    photos = [torch.tensor(photo).float().mean(dim=2) / 255 for photo in load_sample_images().images]
    parts = [photo.unfold(0, 8, 8).unfold(1, 8, 8).reshape(-1, 1, 8, 8) for photo in photos]
    return torch.cat(parts)[torch.randperm(sum(map(len, parts)))[:count]]


def show(title: str, result: cal.evaluation.Evaluation) -> None:
    """Print mean confidence, accuracy, nll and ece."""
    means = f"mean confidence {result['mean_confidence']:.1%}, accuracy {result['accuracy']:.1%}"
    print(f"  {title:<12} {means}; nll {result['nll']:.3f}, ece {result['ece']:.3f}")


def main() -> None:
    """Train, evaluate, inspect, recalibrate, choose a threshold, test, leave the training distribution, monitor."""
    torch.manual_seed(1)
    print("1  Train")
    pixels, digits = load_digits(return_X_y=True)
    images, labels = torch.tensor(pixels / 16, dtype=torch.float32).reshape(-1, 1, 8, 8), torch.tensor(digits)
    images += 0.3 * torch.randn(images.shape)
    parts = [TensorDataset(images[rows], labels[rows]) for rows in torch.randperm(len(labels)).split(SIZES)]
    model = train(parts[0])
    valid, choose, test = (DataLoader(part, batch_size=256) for part in parts[1:])

    print("2  Evaluate, and 3  inspect the bins of the confidence")
    kept = ct.collect(model, valid)
    show("validation", ct.evaluate(kept))
    print(cal.calibration_curve(kept.predictions(), bins=5))

    print("4  Fit a temperature on the validation data")
    temperature = ct.TemperatureModule().fit(kept.logits, kept.labels)
    calibrated = ct.CalibratedModule(model, temperature).eval()  # images in, calibrated logits out
    print(f"  temperature {float(temperature.temperature):.2f}")

    print("5  Choose a threshold on other data")
    choice = cal.choose_threshold(ct.collect(calibrated, choose).predictions(), accuracy=0.9, guarantee=0.9)
    assert choice.threshold is not None
    print(f"  answer at confidence >= {choice.threshold:.2f}")

    print(f"6  Evaluate once on {SIZES[3]} test images")
    show("before", ct.evaluate(model, test))
    show("after", ct.evaluate(calibrated, test))
    point = cal.decision.risk_coverage(ct.collect(calibrated, test).predictions()).at(choice.threshold)
    print(f"  above the threshold: coverage {point.coverage:.1%}, accuracy {1 - point.selective_risk:.1%}")

    print("7  Leave the training distribution")
    test_images, test_labels = parts[3].tensors
    for name, corrupt in CORRUPTIONS.items():
        show(name, ct.evaluate(calibrated, DataLoader(TensorDataset(corrupt(test_images), test_labels), 256)))
    strange = other_images(SIZES[3])
    with torch.no_grad():
        known, inside, outside = (model[:-1](x) for x in (parts[0].tensors[0], test_images, strange))
        distance = cal.decision.ood.OodMahalanobis().fit(known.numpy(), parts[0].tensors[1].numpy())
        logits = [calibrated(x).numpy() for x in (test_images, strange)]
    scores = {
        "1 - confidence": [cal.decision.ood.msp(z, input="logit") for z in logits],
        "distance of features": [distance.score(x.numpy()) for x in (inside, outside)],
    }
    for name, (ours, others) in scores.items():
        print(f"  photographs by {name}: AUROC {cal.decision.ood.evaluate(ours, others).auroc:.3f}")

    print("8  Monitor")
    with tempfile.TemporaryDirectory() as folder:
        reference = ct.collect(calibrated, valid).predictions()
        watch(calibrated, cal.Monitor.create(f"{folder}/digits.db", reference=reference, every="1d"), parts[3])


def watch(model: nn.Module, monitor: cal.Monitor, rows: TensorDataset) -> None:
    """Monitor some days, in the middle of which the camera is moved by a pixel."""
    images, labels = rows.tensors
    for day in range(DAYS):
        today = slice(day * A_DAY, (day + 1) * A_DAY)
        seen = CORRUPTIONS["shifted"](images[today]) if day >= MOVED else images[today]
        with torch.no_grad():
            probs = model(seen).softmax(dim=1).double().numpy()
        probs /= probs.sum(axis=1, keepdims=True)
        update = monitor.update(labels[today].numpy(), probs, when=str(np.datetime64("2026-03-02") + day))
        for alarm in update.alarms:
            print(f"  day {day}, alarm about {alarm.kind}: {alarm.words}")


if __name__ == "__main__":
    main()
