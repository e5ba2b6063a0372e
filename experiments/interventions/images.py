"""Images to train on: the digits of scikit-learn, or a folder with one sub-folder for each class."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")


class Images(NamedTuple):
    """Images with values from 0 to 1, shape (N, channels, height, width), and their classes."""

    x: Tensor
    y: Tensor
    names: tuple[str, ...]


class Split(NamedTuple):
    """Rows for training, for tuning and maps, and for the test."""

    train: tuple[Tensor, Tensor]
    validation: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]


def digits() -> Images:
    """1797 handwritten digits of 8 x 8."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return Images(torch.tensor(x / 16, dtype=torch.float32).reshape(-1, 1, 8, 8), torch.tensor(y), tuple("0123456789"))


def folder(path: Path, *, side: int = 32, grey: bool = False) -> Images:
    """All images below a folder, its sub-folders in alphabetic order as classes, cut to a square and resized."""
    homes = sorted(one for one in path.iterdir() if one.is_dir()) if path.is_dir() else []
    if len(homes) < 2:
        raise ValueError(
            f"{path}: must hold a sub-folder of images for each of two classes or more; found {len(homes)}"
        )
    images, labels = [], []
    for label, home in enumerate(homes):
        files = sorted(one for one in home.iterdir() if one.suffix.lower() in ENDINGS)
        if not files:
            raise ValueError(f"{home}: holds no image; endings looked for: {', '.join(ENDINGS)}")
        images += [_square(_pixels(file), side, grey) for file in files]
        labels += [label] * len(files)
    return Images(torch.stack(images), torch.tensor(labels), tuple(home.name for home in homes))


def _pixels(file: Path) -> Any:
    """(height, width, 3) from 0 to 1; transparency is dropped."""
    from matplotlib.image import imread

    try:
        found = np.asarray(imread(file))
    except (OSError, SyntaxError, ValueError) as error:
        raise ValueError(f"{file}: cannot be read as an image ({error})") from error
    if found.dtype.kind in "ui":
        found = found / np.iinfo(found.dtype).max
    if found.ndim == 2:
        found = found[:, :, None]
    return np.broadcast_to(found[:, :, :1], (*found.shape[:2], 3)) if found.shape[2] < 3 else found[:, :, :3]


def _square(pixels: Any, side: int, grey: bool) -> Tensor:
    """The middle square of an image at the wanted size."""
    height, width = pixels.shape[:2]
    edge = min(height, width)
    top, left = (height - edge) // 2, (width - edge) // 2
    part = torch.tensor(np.ascontiguousarray(pixels[top : top + edge, left : left + edge]), dtype=torch.float32)
    part = part.permute(2, 0, 1)
    if grey:
        part = part.mean(0, keepdim=True)
    small = F.interpolate(part[None], size=(side, side), mode="bilinear", antialias=True, align_corners=False)[0]
    return small.clamp(0, 1)


def split(images: Images, seed: int, data: dict[str, Any]) -> Split:
    """The last rows of an order that is always the same are for the test; the seed deals out the others."""
    rows, train, validation = len(images.y), int(data["train"]), int(data["validation"])
    if train + validation >= rows:
        raise ValueError(
            f"[data] asks for {train} + {validation} rows, and there are {rows}; some must be left to test"
        )
    fixed = np.random.default_rng(0)
    order = fixed.permutation(rows)
    x = images.x + float(data.get("noise", 0)) * torch.tensor(
        fixed.normal(size=tuple(images.x.shape)), dtype=torch.float32
    )
    pool, test = order[: train + validation], order[train + validation :]
    dealt = np.random.default_rng([1, seed]).permutation(pool)
    parts = [torch.from_numpy(np.sort(part)) for part in (dealt[:train], dealt[train:], test)]
    return Split(*((x[part], images.y[part]) for part in parts))
