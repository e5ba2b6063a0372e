"""The array namespace of NumPy arrays and torch tensors, for formulas that hold for both."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray


def namespace(array: Any) -> Any:
    """The module whose functions take this array: NumPy, or torch for its tensors."""
    return np if isinstance(array, np.ndarray) else import_module("torch")


def to_numpy(array: Any) -> NDArray[Any]:
    """An array or tensor as an array on the CPU."""
    return array if isinstance(array, np.ndarray) else np.asarray(array.detach().cpu())
