"""Train networks on Fashion-MNIST with each intervention, and store the outputs for validation and test images.

    python -m experiments.images.train --data FOLDER --out FOLDER [--device cuda] [--jobs 4]

FOLDER of --data holds the four IDX files as published (Debian: package ``dataset-fashion-mnist``). Trainings that are
stored already are skipped, so that the command can be repeated until nothing is left. Only NumPy and PyTorch are needed.
"""

import argparse
import gzip
import math
import struct
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.multiprocessing as processes
import torch.nn.functional as F
from torch import Tensor, nn

from calibrant.torch import losses
from experiments.images.stored import LABELS, NETWORKS, PARTS, Training, save, trainings

FILES = {kind: (f"{kind}-images-idx3-ubyte.gz", f"{kind}-labels-idx1-ubyte.gz") for kind in ("train", "t10k")}
MEAN, DEVIATION = 0.2860, 0.3530
VALIDATION = 10_000
DROPOUT, SAMPLES = 0.25, 30
LossOf = Callable[[Tensor, Tensor], Tensor]


class Images(NamedTuple):
    """Images as bytes, (N, 1, 28, 28), and their classes, for each part of the split."""

    train: tuple[Tensor, Tensor]
    validation: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]


def read_idx(path: Path) -> Any:
    """An array of bytes in the IDX format, compressed with gzip."""
    content = gzip.decompress(path.read_bytes())
    zero, kind, dimensions = struct.unpack(">HBB", content[:4])
    if zero or kind != 8:
        raise ValueError(f"{path}: not an IDX file of bytes")
    shape = struct.unpack(f">{dimensions}I", content[4 : 4 + 4 * dimensions])
    return np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def read_images(folder: Path, limit: int | None = None) -> Images:
    """The same split for every training: 10 000 of the 60 000 training images, at random, are for validation."""
    missing = [name for names in FILES.values() for name in names if not (folder / name).is_file()]
    if missing:
        raise SystemExit(f"--data: {folder} has no {missing[0]}")
    pairs = [tuple(torch.from_numpy(read_idx(folder / name).copy()) for name in names) for names in FILES.values()]
    (x, y), (test_x, test_y) = ((images[:, None], labels.long()) for images, labels in pairs)
    order = torch.from_numpy(np.random.default_rng(0).permutation(len(y)))
    held = order[:VALIDATION].sort().values
    kept = order[VALIDATION:].sort().values
    parts = ((x[kept], y[kept]), (x[held], y[held]), (test_x, test_y))
    return Images(*((images[:limit], labels[:limit]) for images, labels in parts))


class Block(nn.Module):
    """Two convolutions and a shortcut, as in ResNets for small images."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Sequential(*convolution(inputs, outputs, stride))
        self.second = nn.Sequential(nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs))
        self.shortcut = nn.Sequential()
        if stride > 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        """Add what the convolutions give to the shortcut."""
        return F.relu(self.second(self.first(x)) + self.shortcut(x))


def convolution(inputs: int, outputs: int, stride: int = 1) -> list[nn.Module]:
    """A convolution of 3 x 3 with batch normalization."""
    return [
        nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    ]


def resnet(dropout: float = 0.0, widths: Sequence[int] = (32, 64, 128), classes: int = 10) -> nn.Module:
    """14 layers of weights: a convolution, three stages of two blocks, a linear layer."""
    layers, last = convolution(1, widths[0]), widths[0]
    for number, width in enumerate(widths):
        layers += [Block(last, width, 1 if number == 0 else 2), Block(width, width, 1), nn.Dropout(dropout)]
        last = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, classes))


def vgg(dropout: float = 0.0, widths: Sequence[int] = (64, 128, 256), classes: int = 10) -> nn.Module:
    """8 layers of weights: three stages of two convolutions and a pooling, two linear layers."""
    layers, last = [], 1
    for width in widths:
        layers += [*convolution(last, width), *convolution(width, width), nn.MaxPool2d(2), nn.Dropout(dropout)]
        last = width
    head = [nn.Linear(9 * last, 256), nn.ReLU(inplace=True), nn.Dropout(dropout), nn.Linear(256, classes)]
    return nn.Sequential(*layers, nn.Flatten(), *head)


MAKE = dict(zip(NETWORKS, (resnet, vgg), strict=True))


def with_mmce(logits: Tensor, y: Tensor) -> Tensor:
    """Cross entropy and twice the MMCE of the batch."""
    return F.cross_entropy(logits, y) + 2 * losses.mmce_loss(logits, y)


CRITERIA: dict[str, LossOf] = {
    "base": F.cross_entropy,
    "label_smoothing": partial(losses.label_smoothing_loss, smoothing=0.05),
    "focal": partial(losses.focal_loss, gamma=3.0),
    "flsd": losses.flsd_loss,
    "mmce": with_mmce,
    "mc_dropout": F.cross_entropy,
}
"""The loss of each intervention; mixup has a loss of its own."""


def scaled(images: Tensor) -> Tensor:
    """Bytes as numbers of mean 0 and variance 1."""
    return ((images.float() / 255 - MEAN) / DEVIATION).contiguous(memory_format=torch.channels_last)


def augmented(images: Tensor) -> Tensor:
    """Half of the images mirrored."""
    flip = torch.rand(len(images), 1, 1, 1, device=images.device) < 0.5
    return torch.where(flip, images.flip(-1), images)


def one_cycle(step: int, steps: int, warm: float = 0.25) -> float:
    """Learning rate as a part of its largest: up in a quarter of the steps, then down along a cosine to 0."""
    place = (step + 1) / (steps + 1)
    return place / warm if place < warm else 0.5 + 0.5 * math.cos(math.pi * (place - warm) / (1 - warm))


def fit(net: nn.Module, one: Training, rows: tuple[Tensor, Tensor], options: argparse.Namespace) -> None:
    """Train with SGD and the one-cycle schedule."""
    x, y = rows
    batch = min(options.batch, len(y))
    optimizer = torch.optim.SGD(net.parameters(), lr=options.rate, momentum=0.9, nesterov=True, weight_decay=5e-4)
    steps = options.epochs * (len(y) // batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, partial(one_cycle, steps=steps))
    draw = np.random.default_rng([1, one.seed])
    net.train()
    for step in range(steps):
        place = step % (len(y) // batch)
        if place == 0:
            order = torch.randperm(len(y), device=y.device)
        rows_now = order[place * batch : (place + 1) * batch]
        images, labels = scaled(augmented(x[rows_now])), y[rows_now]
        mixed = losses.mixup(images, labels, alpha=0.2, rng=draw) if one.intervention == "mixup" else None
        with torch.autocast(x.device.type, torch.bfloat16, enabled=x.is_cuda):  # far slower than float32 on many CPUs
            logits = net(images if mixed is None else mixed.input)
        criterion = CRITERIA.get(one.intervention)
        loss = losses.mixed_loss(logits.float(), mixed) if criterion is None else criterion(logits.float(), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()


@torch.no_grad()
def logits_of(net: nn.Module, images: Tensor) -> Tensor:
    """Logits of all images, in single precision."""
    return torch.cat([net(scaled(part)) for part in images.split(2000)])


def sampled(net: nn.Module, images: Tensor, samples: int) -> tuple[Tensor, Tensor]:
    """Logarithm of the mean probabilities of sampled dropout masks, and the mean entropy of the samples."""
    net.eval()
    for layer in net.modules():
        layer.training = isinstance(layer, nn.Dropout)
    total, entropy = 0.0, 0.0
    for _ in range(samples):
        log_p = logits_of(net, images).double().log_softmax(1)
        total = total + log_p.exp()
        entropy = entropy - (log_p.exp() * log_p).sum(1)
    net.eval()
    return (total / samples).log(), entropy / samples


def train(one: Training, images: Images, options: argparse.Namespace) -> str:
    """Train one network, store what it gives for validation and test images, and describe it in a line."""
    start = time.perf_counter()
    torch.manual_seed(1000 + one.seed)
    net = MAKE[one.network](DROPOUT if one.intervention == "mc_dropout" else 0.0)
    net = net.to(images.train[1].device, memory_format=torch.channels_last)
    fit(net, one, images.train, options)
    net.eval()
    rows: dict[str, Any] = {}
    for part in PARTS:
        x = getattr(images, part)[0]
        rows[part] = logits_of(net, x)
        if one.intervention == "mc_dropout":
            rows[f"{part}_fixed"] = rows[part]
            rows[part], rows[f"{part}_entropy"] = sampled(net, x, SAMPLES)
    right = {part: float((rows[part].argmax(1) == getattr(images, part)[1]).double().mean()) for part in PARTS}
    right["train"] = float((logits_of(net, images.train[0]).argmax(1) == images.train[1]).double().mean())
    seconds = time.perf_counter() - start
    save(options.out, one, {name: values.double().cpu().numpy() for name, values in rows.items()}, right["train"])
    told = ", ".join(f"{part} {100 * share:.2f}%" for part, share in right.items())
    loss = float(F.cross_entropy(rows["test"].double(), images.test[1]))
    return f"{one}: {told}, test NLL {loss:.4f}, {seconds:.1f} s"


def train_alone(one: Training, options: argparse.Namespace) -> None:
    """Train one network in a process of its own, and print its line."""
    torch.set_num_threads(1)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    parts = read_images(options.data, options.limit)
    images = Images(*(tuple(tensor.to(options.device) for tensor in part) for part in parts))
    print(train(one, images, options), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, and train what is not stored yet."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the four IDX files")
    parser.add_argument("--out", type=Path, required=True, help="folder of the stored outputs")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--jobs", type=int, default=4, help="trainings at a time; all share one device")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--rate", type=float, default=0.2, help="largest learning rate")
    parser.add_argument("--members", type=int, default=25, help="base networks of each kind, five to an ensemble")
    parser.add_argument("--limit", type=int, help="only so many images of each part, to see that it runs")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    images = read_images(options.data, options.limit)
    np.savez_compressed(
        options.out / LABELS, **{part: getattr(images, part)[1].numpy().astype(np.uint8) for part in PARTS}
    )
    left = [one for one in trainings(options.members) if not (options.out / one.file).exists()]
    with ProcessPoolExecutor(options.jobs, processes.get_context("spawn")) as pool:
        list(pool.map(partial(train_alone, options=options), left))


if __name__ == "__main__":
    main()
