"""Whether the same rows give the same outputs: a batch that is run twice, rows of a dataset that are read twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from ..errors import CalibrantWarning, warn_caller
from ._rows import at_least_single

__all__ = ["UnstableOutputsWarning", "check_dataset", "compare", "same_random_state"]

# How many rows of a dataset are read twice.
LOOKED_AT = 4


class UnstableOutputsWarning(CalibrantWarning):
    """The same rows give different outputs: transforms are random, or something like dropout is still on."""


@contextmanager
def same_random_state(device: torch.device | None) -> Iterator[None]:
    """What is drawn in here is not missed afterwards."""
    devices = [device] if device is not None and device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        yield


def compare(first: Tensor, again: Tensor) -> None:
    """Warn where two runs of one batch differ by more than the order of sums."""
    # Sums on a device may be added in another order; a dropped unit changes far more than that.
    near = 1e-2 if first.dtype in (torch.float16, torch.bfloat16) else 1e-4
    one, two = at_least_single(first), at_least_single(again)
    scale = float(one[torch.isfinite(one)].abs().max()) if bool(torch.isfinite(one).any()) else 1.0
    if one.shape != two.shape or not torch.allclose(one, two, rtol=near, atol=near * scale, equal_nan=True):
        _warn(
            "the model gives different outputs for the same batch in evaluation mode; look for dropout applied by a "
            "function and for a forward that changes its inputs in place"
        )


def check_dataset(loader: Any) -> None:
    """Read a few rows twice, after the workers are done: a file opened before them would be shared by all.

    Some datasets can be read only by their workers. What was collected is right without this look, so no failure of it may spoil that.
    """
    if not isinstance(loader, DataLoader) or isinstance(loader.dataset, IterableDataset):
        return
    dataset: Any = loader.dataset
    with same_random_state(None):
        try:
            unstable = any(_differ(dataset[row], dataset[row]) for row in _some_rows(loader))
        except Exception:
            return
    if unstable:
        _warn("the dataset gives the same rows differently each time; use transforms without randomness")


def _some_rows(loader: DataLoader[Any]) -> Sequence[Any]:
    """Rows that the loader itself reads, where that is known without drawing from a sampler, which would change its next run."""
    if isinstance(loader.batch_sampler, Sequence):
        return list(loader.batch_sampler[0])[:LOOKED_AT]
    rows: Any = getattr(loader.sampler, "indices", loader.sampler)
    if isinstance(rows, (Sequence, Tensor, np.ndarray)):
        return list(rows[:LOOKED_AT])
    dataset: Any = loader.dataset
    return range(min(LOOKED_AT, len(dataset)))


def _differ(one: Any, two: Any) -> bool:
    if isinstance(one, Tensor) and isinstance(two, Tensor):
        return one.shape != two.shape or not bool(torch.isclose(one, two, rtol=0, atol=0, equal_nan=True).all())
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        return _differ(torch.as_tensor(one), torch.as_tensor(two)) if one.dtype.kind in "biuf" else False
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() != two.keys() or any(_differ(one[key], two[key]) for key in one)
    if isinstance(one, (tuple, list)) and isinstance(two, (tuple, list)):
        return len(one) != len(two) or any(map(_differ, one, two))
    return False


def _warn(problem: str) -> None:
    warn_caller(f"{problem}, or what is measured changes from run to run", UnstableOutputsWarning)
