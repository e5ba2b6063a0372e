"""Seeds and random generators: resample number b has a generator of its own, determined by the seed and b alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..input.convert import is_number

__all__ = ["generator", "seed_of"]


def seed_of(rng: Any) -> int:
    """One integer that determines all generators: a seed, the next output of a Generator, or fresh entropy."""
    if rng is None:
        entropy = np.random.SeedSequence().entropy
        assert isinstance(entropy, int)
        return entropy
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if is_number(rng) and int(rng) == rng and rng >= 0:
        return int(rng)
    raise ArgumentError("rng", f"must be None, a non-negative integer, or a numpy Generator; got {rng!r}")


def generator(seed: int, number: int) -> np.random.Generator:
    """The random generator of resample `number`."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(number,))))
