"""Seeds and random generators: resample number b has a generator of its own, determined by the seed and b alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from ..util.checks import check_rng


def seed_of(rng: Any) -> int:
    """One integer that determines all generators: a seed, the next output of a Generator, or fresh entropy."""
    if rng is None:
        entropy = np.random.SeedSequence().entropy
        assert isinstance(entropy, int)
        return entropy
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    return int(check_rng(rng))


@lru_cache(maxsize=4096)
def _state(seed: int, number: int) -> Any:
    """The state of the generator of resample `number`, which intervals and tests of all metrics share."""
    return np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(number,))).state


def generators(seed: int, numbers: Iterable[int]) -> Iterator[np.random.Generator]:
    """The random generator of each of these resamples, one at a time: the next one takes its place, which is faster than to create it."""
    bits = np.random.PCG64(0)
    rng = np.random.Generator(bits)
    for number in numbers:
        bits.state = _state(seed, number)
        yield rng


def generator(seed: int, number: int) -> np.random.Generator:
    """The random generator of resample `number`."""
    return next(generators(seed, [number]))
