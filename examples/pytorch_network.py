"""From a PyTorch network to calibrated probabilities in production.

A small network is trained on noisy digits of scikit-learn until it is overconfident. The script collects its logits once, evaluates them, fits a
temperature on held-out data, chooses a threshold on other data, evaluates once on test data, and exports network and temperature as one
program that needs neither calibrant nor the training code.

    python examples/pytorch_network.py --out .
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import calibrant as cal
import calibrant.torch as ct

SIZES = [200, 400, 500, 697]  # training, temperature, threshold, test


def train(rows: TensorDataset) -> nn.Module:
    """Train a network that overfits its few rows."""
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(60):
        for images, digits in DataLoader(rows, batch_size=50, shuffle=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), digits).backward()
            optimizer.step()
    return model


def show(title: str, found: cal.evaluation.Evaluation) -> None:
    """Print mean confidence, accuracy, nll and ece."""
    confidence, accuracy = found.header.mean_confidence, found.header.accuracy
    print(
        f"  {title:<7} mean confidence {confidence:.1%}, accuracy {accuracy:.1%}; nll {found['nll']:.3f}, ece {found['ece']:.3f}"
    )


def main() -> None:
    """Train, collect, evaluate, recalibrate, choose a threshold, test, export."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(), help="folder for digits.pt2 and temperature.json")
    out = parser.parse_args().out
    torch.manual_seed(0)

    pixels, digits = load_digits(return_X_y=True)
    images, labels = torch.tensor(pixels / 16, dtype=torch.float32), torch.tensor(digits)
    images += 0.3 * torch.randn(images.shape)
    parts = [TensorDataset(images[rows], labels[rows]) for rows in torch.randperm(len(labels)).split(SIZES)]
    model = train(parts[0])
    valid, choose, test = (DataLoader(part, batch_size=256) for part in parts[1:])

    kept = ct.collect(model, valid)
    print(kept)
    temperature = ct.TemperatureModule().fit(kept.logits, kept.labels)
    print(f"temperature {float(temperature.temperature):.2f}\n\n{SIZES[3]} test rows:")
    show("before", ct.evaluate(model, test))
    show("after", ct.evaluate(model, test, calibrator=temperature))

    calibrated = ct.CalibratedModule(model, temperature)  # images in, calibrated logits out
    choice = cal.choose_threshold(ct.collect(calibrated, choose).predictions(), accuracy=0.9, guarantee=0.9)
    if choice.threshold is not None:
        point = cal.decision.risk_coverage(ct.collect(calibrated, test).predictions()).at(choice.threshold)
        print(
            f"  confidence >= {choice.threshold:.2f}: coverage {point.coverage:.1%}, accuracy {1 - point.selective_risk:.1%}"
        )

    shapes = {"inputs": ({0: torch.export.Dim("rows")},)}  # any number of images
    program = torch.export.export(calibrated.eval(), (images[:4],), dynamic_shapes=shapes)
    torch.export.save(program, out / "digits.pt2")
    cal.save(temperature.to_calibrator(), out / "temperature.json", preprocessing="pixels / 16")
    again = torch.export.load(out / "digits.pt2").module()(images[:100])
    assert torch.allclose(again.softmax(dim=1), calibrated.predict_proba(images[:100]), atol=1e-6)
    print(f"\nwritten and verified: {out / 'digits.pt2'} (network and temperature), {out / 'temperature.json'}")


if __name__ == "__main__":
    main()
