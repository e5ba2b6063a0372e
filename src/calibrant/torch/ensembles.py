"""Members of an ensemble: several models, or dropout masks of one, and running moments of their probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from ..errors import ArgumentError, InputError, ShapeError
from ..util.checks import check_whole
from .rows import at_least_single


class Moments:
    """Mean, sum of squared deviations and mean entropy of the members' probabilities for the rows of one batch.

    Members are added one by one with Welford's update, in double precision, and none of them is kept.
    """

    def __init__(self) -> None:
        self.count = 0
        self.mean = self.squares = self.entropy = torch.zeros(())
        self.dtype = torch.float32

    def add(self, logits: Tensor) -> None:
        """Add the logits (N, K) of one more member."""
        probs = torch.softmax(logits.double(), dim=1)
        if self.count == 0:
            self.dtype = at_least_single(logits).dtype
            self.mean, self.squares, self.entropy = torch.zeros_like(probs), torch.zeros_like(probs), probs[:, 0] * 0
        elif probs.shape != self.mean.shape:
            raise ShapeError(
                "output",
                f"has shape {tuple(probs.shape)} for member {self.count} and {tuple(self.mean.shape)} for member 0",
                "all members must return the same classes for the same rows",
            )
        self.count += 1
        change = probs - self.mean
        self.mean = self.mean + change / self.count
        self.squares = self.squares + change * (probs - self.mean)
        self.entropy = self.entropy + (_entropy(probs) - self.entropy) / self.count

    def summary(self) -> tuple[Tensor, Tensor, Tensor]:
        """Logarithm of the mean (N, K), standard deviation (N, K), and mutual information (N,)."""
        logits = self.mean.clamp(min=torch.finfo(self.dtype).tiny).log()
        spread = (self.squares / self.count).sqrt()
        shared = (_entropy(self.mean) - self.entropy).clamp(min=0)
        return logits.to(self.dtype), spread.to(self.dtype), shared.to(self.dtype)


def _entropy(probs: Tensor) -> Tensor:
    return torch.special.entr(probs).sum(dim=1)


def is_several(model: Any) -> bool:
    """Whether this is a collection of models; an `nn.Sequential` is one model."""
    if isinstance(model, nn.ModuleList):
        return True
    return isinstance(model, Iterable) and not callable(model) and not isinstance(model, (str, bytes, Mapping, Tensor))


def groups_of(models: Iterable[Any]) -> Iterator[Sequence[Any]]:
    """Models that are run over the loader together: all of a list, and one after the other of an iterator."""
    if isinstance(models, (Sequence, nn.ModuleList)):
        if not len(models):
            raise InputError("model", "is an empty list", "pass at least one model")
        yield list(models)
    else:
        yield from ([model] for model in models)


def dropout_active(model: nn.Module) -> None:
    """Put dropout, and what applies dropout itself, in training mode; `evaluating` around it restores all modes."""
    layers = [module for module in model.modules() if _drops(module)]
    if not layers:
        raise ArgumentError(
            "samples",
            "the model has no dropout layer with a rate above 0",
            "pass several models",
        )
    for module in layers:
        module.training = True


def _drops(module: nn.Module) -> bool:
    if isinstance(module, _DropoutNd):
        return module.p > 0
    if isinstance(module, nn.MultiheadAttention):
        return module.dropout > 0
    if isinstance(module, nn.RNNBase):
        return module.dropout > 0 and module.num_layers > 1
    # In evaluation mode this layer runs a fused kernel that leaves its dropout layers out.
    return isinstance(module, nn.TransformerEncoderLayer) and any(_drops(inner) for inner in module.children())


def read_seed(rng: Any) -> int:
    """A seed for torch from a seed or a generator."""
    if isinstance(rng, torch.Generator):
        return int(torch.randint(2**62, (), generator=rng, device=rng.device))
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**62))
    return check_whole(rng, "rng", 0)
