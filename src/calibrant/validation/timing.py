"""Time and memory of some calls beside a plain pass over the same rows."""

from __future__ import annotations

import tracemalloc
from time import perf_counter
from typing import Any

from .identities import ROWS, problem
from .references import evaluate

# The first is what the others are compared with.
CALLS = (
    "[y.sum(), p.sum()]",
    "cal.ece(y, p)",
    "cal.brier(y, p)",
    "cal.ece(y, p, binning='equal_mass')",
    "digest(cal.Sketches.of(y, p))",
)
REPEATS = 3


def timings() -> list[dict[str, Any]]:
    """Return the shortest time of three, and the most memory allocated beyond the rows."""
    found: list[dict[str, Any]] = []
    with problem(ROWS) as arrays:
        for call in CALLS:
            evaluate(call, arrays)  # imports are not measured
            seconds = min(_seconds(call, arrays) for _ in range(REPEATS))
            tracemalloc.start()
            evaluate(call, arrays)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            times = seconds / found[0]["seconds"] if found else 1.0
            entry = {"call": call, "rows": ROWS, "seconds": seconds, "times a plain pass": round(times, 1)}
            found.append(entry | {"MB beyond the rows": round(peak / 1e6, 1)})
    return found


def _seconds(call: str, arrays: dict[str, Any]) -> float:
    began = perf_counter()
    evaluate(call, arrays)
    return perf_counter() - began
