"""p-values by all outcomes, and intervals of means, from the definitions of the metrics: reference values of `calibrant validate`.

Nothing but the definition of a metric is used: its value for every possible labelling of a few rows, or its value for each row alone.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from mpmath import mp, mpf

import calibrant as cal

from . import test_cumulative as cumulative
from .definitions import Undefined, digits
from .test_definitions import EVERY, definition_of

Value = Callable[[Sequence[int], Sequence[float]], float]
# Values that differ by less are ties: in doubles, labellings of equal value differ by rounding.
SAME = 1e-9
# Kernels whose width is the median distance of two rows, in bootstrap samples that of the data.
OF_MEDIAN_WIDTH = ("skce_b", "skce_uq", "skce_ul", "ucme", "ckce")


def median_distance(scores: Sequence[float]) -> float:
    """The median of the differences between the scores of two rows."""
    return float(np.median([abs(a - b) for a, b in combinations(scores, 2)]))


def value_of(name: str, **options: float) -> Value:
    """The definition of a metric with these options, else its defaults, as a function of labels and scores."""

    def path(function: Callable[[list[tuple[Fraction, Fraction, Fraction]]], float]) -> Value:
        def value(labels: Sequence[int], scores: Sequence[float]) -> float:
            return float(
                function([(Fraction(p), Fraction(y), Fraction(1)) for y, p in zip(labels, scores, strict=True)])
            )

        return value

    along = {
        "ecce_l2": path(lambda rows: cumulative.mean_along(rows, 2, False)),
        "ecce_mad": path(lambda rows: max(map(abs, cumulative.path(rows)))),
        "ecce_mean_abs": path(lambda rows: cumulative.mean_along(rows, 1, False)),
        "ecce_r": path(lambda rows: max(cumulative.path(rows)) - min(cumulative.path(rows))),
    }
    if name in along:
        return along[name]
    definition = definition_of(name)
    return lambda labels, scores: float(
        definition(list(labels), list(scores), counts=None, sample_weight=None, **options)
    )


def has_definition(name: str) -> bool:
    return name in EVERY or name.startswith("ecce_")


def module_of(name: str) -> str:
    """Where the definition is."""
    return cumulative.__name__ if name.startswith("ecce_") else str(definition_of(name).__module__)


def enumerated_pvalue(name: str, labels: Sequence[int], scores: Sequence[float]) -> float:
    """The probability under calibration of a value at least as large, among the labellings for which the metric is defined."""
    value = value_of(name)
    observed = value(labels, scores)
    known = above = Fraction(0)
    for other in product((0, 1), repeat=len(labels)):
        chance = math.prod((Fraction(p) if y else 1 - Fraction(p) for y, p in zip(other, scores, strict=True)))
        try:
            found = value(other, scores)
        except Undefined:
            continue
        known += chance
        if found >= observed - SAME * max(1.0, abs(observed)):
            above += chance
    return float(above / known)


def normal_ends(name: str, labels: Sequence[int], scores: Sequence[float]) -> list[float]:
    """Mean and standard error of the values of single rows, with the normal quantile of 95 %."""
    value = value_of(name)
    with mp.workdps(30):
        each = [digits(mpf(value([y], [p]))) for y, p in zip(labels, scores, strict=True)]
        mean = sum(each) / len(each)
        error = mp.sqrt(sum((x - mean) ** 2 for x in each) / (len(each) - 1) / len(each))
        half = mp.sqrt(2) * mp.erfinv(mpf("0.95")) * error
        return [float(mean - half), float(mean + half)]


def percentile_ends(name: str, labels: Sequence[int], scores: Sequence[float]) -> list[float]:
    """The quartiles of the values of 21 bootstrap samples of the rows: the sixth and the sixteenth.

    Sample b is drawn by the generator of numpy whose seed is 0 with the spawn key b, from the rows in the order of the scores of the lens, as
    the package does; no two programs could agree otherwise.
    """
    options = {"bandwidth": median_distance(scores)} if name in OF_MEDIAN_WIDTH else {}
    value, n = value_of(name, **options), len(labels)
    of_confidence = cal.catalogue[name].lens == "top_label" and not cal.catalogue[name].needs
    order = sorted(range(n), key=lambda i: max(scores[i], 1 - scores[i]) if of_confidence else scores[i])
    found = []
    for b in range(21):
        rows = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(b,))).integers(n, size=n).tolist()
        sample = [order[i] for i in rows]
        found.append(value([labels[i] for i in sample], [scores[i] for i in sample]))
    return [sorted(found)[place] for place in (5, 15)]
