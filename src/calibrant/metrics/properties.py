"""Properties of metrics for a choice among them: each is a yes or no that follows from the facts of the entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .registry import Metric

# Options that select what is measured; every other number is a parameter to be tuned.
ASPECTS = frozenset({"norm", "r", "q", "k"})
# Orders of growth beyond N log N for each class.
SLOW = frozenset({"N^2", "N^2 K", "N^2 K or a sort", "N^2 K in parts", "N K by landmarks", "a linear program"})
# Among many metrics: the largest number of rows of which all pairs are compared, and that are resampled by a slow metric.
PAIRED_ROWS, RESAMPLED_ROWS = 20_000, 2_500


def compares_pairs(metric: Metric, classes: int) -> bool:
    """Whether the computing time grows with the number of pairs of rows; some metrics sort the scores of two classes instead."""
    return metric.info.cost in ("N^2", "N^2 K") or (classes > 2 and "^2" in metric.info.cost)


def is_slow(metric: Metric, rows: int, classes: int) -> bool:
    """Whether a metric is left out among many metrics: it compares all pairs of many rows, and not in parts."""
    return rows > PAIRED_ROWS and "in parts" not in metric.info.cost and compares_pairs(metric, classes)


def is_slow_to_resample(metric: Metric, rows: int, classes: int) -> bool:
    """Whether a metric is not resampled among many metrics: it compares pairs of rows, or iterates, and there are many rows."""
    iterates = metric.info.cost in ("N K log N per step", "N K by landmarks", "a linear program")
    return rows > RESAMPLED_ROWS and (iterates or compares_pairs(metric, classes))


class Property(NamedTuple):
    """A property: what it means, whether a metric has it, and its name among Hagopian's."""

    text: str
    holds: Callable[[Metric], bool]
    hagopian: str = ""


def _no_tuning(metric: Metric) -> bool:
    numbers = {
        word
        for word, value in metric.options.items()
        if isinstance(value, (int, float, tuple)) and not isinstance(value, bool)
    }
    return not numbers - ASPECTS and not {"distance", "smoother", "smoothness"} & set(metric.options)


PROPERTIES = {
    "proper": Property(
        "a strictly proper score: its expected value is best for the true probabilities only",
        lambda m: m.proper == "strictly",
    ),
    "test": Property("a test of calibration of its own in `assess`, beyond simulation", lambda m: bool(m.tests)),
    "direction": Property(
        "the value shows the direction: over- or underconfidence, over- or underestimation",
        lambda m: m.sides is not None or m.info.one_sided,
    ),
    "bins": Property(
        "rows are grouped into bins",
        lambda m: bool({"bins", "width", "widths", "levels"} & set(m.options)) or m.info.subfamily == "windows",
    ),
    "full_vector": Property(
        "shows errors of the whole predicted distribution where the top label and every class are calibrated",
        lambda m: m.info.full_vector,
    ),
    "weights": Property("supports `sample_weight`", lambda m: m.importance),
    "sketch": Property("can be computed from a sketch", lambda m: m.sketch),
    "certain": Property("the definition is certainly that of the paper", lambda m: m.certain),
    "reproducible": Property(
        "the value is a function of the rows: no random numbers, and no dependence on their order",
        lambda m: m.info.deterministic and not m.info.order_dependent,
        "reproducibility",
    ),
    "representative": Property(
        "one row of 200 cannot change the value by more than two standard deviations of its sampling noise",
        lambda m: m.info.robust,
        "representativeness",
    ),
    "interpretable": Property(
        "on the scale of a probability: forecasts that are all too high (or too low) by 0.1 have the value 0.1",
        lambda m: m.info.probability_scale,
        "interpretability",
    ),
    "parsimonious": Property(
        "no number of bins, bandwidth, kernel or other parameter to be chosen: none, or determined by the data",
        _no_tuning,
        "parsimony",
    ),
    "efficient": Property(
        "the computing time grows no faster than N log N for each class",
        lambda m: m.info.cost not in SLOW,
        "computational efficiency",
    ),
}
"""Properties by name, accepted as criteria by `Catalogue.find` and as options by ``calibrant metrics``."""
