"""Whether there is evidence for the direction in which a signed metric points."""

from __future__ import annotations

from typing import Any

from ..errors import CalibrantError
from ..input.predictions import Predictions
from ..metrics.registry import Metric, catalogue
from ..views.view import VectorView, View
from .metric_tests import DEFAULT_TESTS, OWN_TESTS
from .significance import _asked

__all__ = ["points_somewhere"]

# Metrics that are the same number as another, which has a test.
SAME_AS = {"esce": "calibration_in_the_large"}


def points_somewhere(
    metric: Metric, source: Predictions | View | VectorView, options: dict[str, Any], alpha: float
) -> bool | None:
    """Whether a two-sided test in closed form rejects at level `alpha`; None where there is none that holds for these rows."""
    other = catalogue[SAME_AS[metric.id]] if metric.id in SAME_AS else metric
    words = {word: value for word, value in options.items() if word == "lens" or word in other.options}
    test = OWN_TESTS.get(other.id, {}).get(DEFAULT_TESTS.get(other.id, ""))
    if test is None or "two-sided" not in test.sides:
        return None
    try:
        asked = _asked(other, source, words, alpha, "two-sided", 1, 0)
        if len(asked.views) > 1 or test.off(asked):
            return None
        return test(asked).pvalue <= alpha
    except CalibrantError:
        return None
