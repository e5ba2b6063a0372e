"""What a declaration says of a metric: the words it may use, and what its cost means in time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

__all__ = ["COSTS", "FACTS", "SIDES", "Above", "Combine", "IdealFor", "SignOf", "Takes"]

Takes = Literal["View", "VectorView", "Block"]
Combine = Literal["mean", "sum", "max", "prevalence"]
IdealFor = Literal["calibrated", "sure", "nothing"]
SignOf = Literal["level", "confidence", "midpoint", "spread", "nothing"]
Above = Literal["over", "under"]

# What the two sides of the ideal say of the forecasts, "over" first; a value whose sign says nothing of the kind has none.
SIDES: dict[str, tuple[str, str] | None] = {
    "level": (
        "predicted probabilities are too high on average (of the top label: overconfident)",
        "predicted probabilities are too low on average (of the top label: underconfident)",
    ),
    "confidence": ("forecasts are overconfident", "forecasts are underconfident"),
    "midpoint": ("forecasts of 0.5 are too high", "forecasts of 0.5 are too low"),
    "spread": ("forecasts are too extreme", "forecasts are too moderate"),
    "nothing": None,
}

# What a declaration says of a metric and a preset takes over.
FACTS = (
    "family",
    "subfamily",
    "range",
    "ideal",
    "ideal_for",
    "signed",
    "sign_of",
    "above",
    "proper",
    "alternative",
    "needs",
    "instead",
    "lens",
    "combine",
    "counts",
    "importance",
    "soft",
    "sketch",
    "cost",
    "deterministic",
    "order_dependent",
    "repeatable",
    "ordinal",
    "use_cases",
    "pros",
    "cons",
    "certainty",
    "notes",
)

# Nanoseconds per unit of work, rough on purpose: it only decides what a budget leaves out.
COSTS: dict[str, Callable[[float, float], float]] = {
    "N": lambda n, k: n * 10,
    "N K": lambda n, k: n * k * 10,
    "N log N": lambda n, k: n * math.log2(n + 2) * 10,
    "N K log N": lambda n, k: n * k * math.log2(n + 2) * 10,
    # Fits and searches go over the rows again and again.
    "N log N per step": lambda n, k: n * math.log2(n + 2) * 500,
    "N K log N per step": lambda n, k: n * k * math.log2(n + 2) * 150,
    "N^2": lambda n, k: n * n * 2,
    "N^2 K": lambda n, k: n * n * k * 3,
    # Two classes are one score, which a sort puts in order.
    "N^2 K or a sort": lambda n, k: n * math.log2(n + 2) * 100 if k == 2 else n * n * k * 2,
    "N^2 K in parts": lambda n, k: n * k * 100 + (0 if k == 2 else min(n * n * (k + 15) / 2, 3e9)),
    "N K by landmarks": lambda n, k: n * k * 10_000,
    "a linear program": lambda n, k: min(n / 2000, 1) * 5e8,
}
