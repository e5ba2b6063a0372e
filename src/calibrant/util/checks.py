"""Checks of option values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError


def is_number(value: Any) -> bool:
    """Whether an option is a real number; booleans are not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def check_choice(value: Any, argument: str, choices: Sequence[Any]) -> None:
    """Check that a value is one of a few strings or None.

    >>> check_choice("l1", "norm", ("l1", "l2", "max"))
    """
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        known = f"{', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}"
        raise ArgumentError(argument, f"must be {known}; got {value!r}")


def suggest(name: str, known: Iterable[str], otherwise: str = "", cutoff: float = 0.6) -> str:
    """The remedy for an unknown name: the most similar of the known ones, if there is one.

    >>> suggest("breir", ["brier", "nll"]), suggest("x", ["brier"], "use brier")
    ("did you mean 'brier'?", 'use brier')
    """
    from difflib import get_close_matches

    near = get_close_matches(name[:100], list(known), 1, cutoff)
    return f"did you mean {near[0]!r}?" if near else otherwise


def check_positive(value: Any, argument: str) -> float:
    """Return a finite number above 0, or raise."""
    if not (is_number(value) and 0 < value < math.inf):
        raise ArgumentError(argument, f"must be a positive finite number; got {value!r}")
    return float(value)


def check_number(value: Any, argument: str, *, low: float = 0.0, high: float = math.inf, above: bool = False) -> float:
    """Return a finite number from `low`, or above it, to `high`, or raise."""
    number = float(value) if is_number(value) else math.nan
    if not (low <= number <= high and number < math.inf) or (above and number == low):
        bound = f"above {low:g}" if above else f"of at least {low:g}"
        most = "" if math.isinf(high) else f", at most {high:g}"
        raise ArgumentError(argument, f"must be a number {bound}{most}; got {value!r}")
    return number


def check_fraction(value: Any, argument: str, example: float = 0.95) -> float:
    """Return a number between 0 and 1, such as a level, or raise."""
    if not (is_number(value) and 0 < value < 1):
        raise ArgumentError(argument, f"must lie between 0 and 1; got {value!r}", f"for example {example:g}")
    return float(value)


def least_resamples(level: float) -> int:
    """Number of resamples that leaves five of them beyond each end of an interval at this level."""
    return math.ceil(10 / (1 - level) * (1 - 1e-12))  # 1 - 0.9 is a little below 0.1


def least_simulations(alpha: float, tests: int = 1) -> int:
    """Number of simulated data sets with which the smallest p-value, times the number of tests, is at most `alpha`."""
    return math.ceil(round(tests / alpha, 9)) - 1


def check_whole(value: Any, argument: str, low: int = 1) -> int:
    """Return an integer of at least `low`, or raise."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
        raise ArgumentError(argument, f"must be an integer of at least {low}; got {value!r}")
    return int(value)


def weight_per_class(class_weight: Any, count: int) -> NDArray[np.float64]:
    """Return one weight per class, finite, non-negative and not all zero, or raise."""
    try:
        weight = np.asarray(class_weight, dtype=np.float64)
    except (TypeError, ValueError):
        weight = np.empty(0)
    if weight.shape != (count,) or not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        problem = f"must be {count} non-negative numbers, not all zero; got {class_weight!r}"
        raise ArgumentError("class_weight", problem, "give one weight per class")
    return weight


def check_rng(rng: Any) -> Any:
    """Return a seed as an integer, None or a random generator, or raise."""
    if rng is None or isinstance(rng, np.random.Generator):
        return rng
    if is_number(rng) and rng >= 0 and float(rng).is_integer():
        return int(rng)
    raise ArgumentError("rng", f"must be None, a non-negative integer, or a numpy Generator; got {rng!r}")
