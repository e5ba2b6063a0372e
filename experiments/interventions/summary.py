"""Numbers of several seeds taken together: mean, spread, and whether an intervention changed anything."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Two-sided 95% points of Student's t with 1, 2, ... degrees of freedom.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


def number(results: dict[str, Any], model: str, key: str, *places: Any) -> list[float]:
    """One number for each seed; places lead into lists and sections."""
    found = []
    for seed in results["measured"][model]:
        value = seed[key]
        for place in places:
            value = value[place]
        found.append(float(value))
    return found


def beyond_chance(results: dict[str, Any], model: str, key: str) -> list[float]:
    """An error less what labels drawn from the same probabilities show on average, for each seed."""
    both = number(results, model, key), number(results, model, "chance", key)
    return [seen - drawn for seen, drawn in zip(*both, strict=True)]


def array(results: dict[str, Any], model: str, *keys: str) -> Floats:
    """A list of numbers for each seed, one row for each seed."""
    rows = []
    for seed in results["measured"][model]:
        for key in keys:
            seed = seed[key]
        rows.append([float(value) for value in seed])
    return np.array(rows)


def mean(values: Floats) -> Floats:
    """Means over seeds; a seed without a value does not count, and NaN is left where none has one."""
    known = np.isfinite(values)
    count = known.sum(axis=0)
    return np.divide(np.where(known, values, 0).sum(axis=0), count, out=np.full(len(count), np.nan), where=count > 0)


def spread(values: Floats) -> Floats:
    """Standard deviations over seeds; 0 where fewer than two have a value."""
    known = np.isfinite(values)
    count = known.sum(axis=0)
    squares = (np.where(known, values - mean(values), 0) ** 2).sum(axis=0)
    return np.sqrt(np.divide(squares, count - 1, out=np.zeros(len(count)), where=count > 1))


def in_words(values: list[float], digits: int = 3) -> str:
    """Mean and standard deviation over seeds."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return "no rows"
    if any(math.isinf(value) for value in known):
        return f"infinite ({sum(map(math.isinf, known))} of {len(values)})"
    # Adding 0 turns a mean that rounds to minus nothing into plain nothing.
    middle = f"{round(statistics.fmean(known), digits) + 0.0:.{digits}f}"
    return middle if len(known) < 2 else f"{middle} ± {statistics.stdev(known):.{digits}f}"


def change(before: list[float], after: list[float]) -> int:
    """-1 lower, 1 higher, 0 not clear: the differences seed by seed against a 95% interval of Student's t."""
    gaps = [b - a for a, b in zip(before, after, strict=True)]
    if any(math.isinf(value) for value in after):
        return 1
    known = [gap for gap in gaps if math.isfinite(gap)]
    if len(known) < 2:
        return 0
    middle = statistics.fmean(known)
    half = STUDENT[min(len(known) - 1, len(STUDENT)) - 1] * statistics.stdev(known) / len(known) ** 0.5
    return 0 if abs(middle) <= half else 1 if middle > 0 else -1
