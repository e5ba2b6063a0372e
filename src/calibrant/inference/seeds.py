"""Seeds and random generators: resample number b has a generator of its own, determined by the seed and b alone."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray

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


class _Known(ISeedSequence):
    """The state of a generator, which takes most of the time to create one."""

    def __init__(self, state: NDArray[Any]) -> None:
        self.state = state

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        assert (n_words, dtype) == (len(self.state), np.uint64)
        return self.state


@lru_cache(maxsize=4096)
def _state(seed: int, number: int) -> _Known:
    """The state of the generator of resample `number`, which intervals and tests of all metrics share."""
    return _Known(np.random.SeedSequence(seed, spawn_key=(number,)).generate_state(4, np.uint64))


def generator(seed: int, number: int) -> np.random.Generator:
    """The random generator of resample `number`."""
    return np.random.Generator(np.random.PCG64(_state(seed, number)))  # type: ignore[arg-type]
