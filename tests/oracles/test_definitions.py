"""Each public function against its definition written out in exact arithmetic."""

import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from tests.in_turn import in_turn

from . import (
    bin_definitions,
    curve_definitions,
    definitions,
    density_definitions,
    embedding_definitions,
    fitted_definitions,
    group_definitions,
    kernel_definitions,
    local_definitions,
    loess_definitions,
    loss_definitions,
    pair_definitions,
    soft_definitions,
    vector_definitions,
)
from .cases import OPTIONS, Case, draw_case, public_value

# The cases are made to lie on edges, at 0 and 1, to be all 0 and 1, and to be wrong.
pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.InputWarning")

# Each of these brings its definitions, the options to draw, and where fitting or quadrature costs digits, the tolerances.
FITTED = (
    pair_definitions,
    kernel_definitions,
    density_definitions,
    embedding_definitions,
    local_definitions,
    curve_definitions,
    loess_definitions,
    fitted_definitions,
)
EVERY = OPTIONS | {name: draw for module in FITTED for name, draw in module.OPTIONS.items()}
MODULES = (
    *FITTED,
    definitions,
    vector_definitions,
    loss_definitions,
    bin_definitions,
    soft_definitions,
    group_definitions,
)
# A definition without options to draw is tried as it is.
EVERY |= {
    name: lambda number, rng: {}
    for name in cal.catalogue
    if name not in EVERY and any(hasattr(module, name) for module in MODULES)
}
TOLERANCE = 1e-12
# Where a root is sought, a distribution function evaluated, or a variance near 0 is divided by.
TOLERANCES = {
    "calibration_in_the_large": 1e-9,
    "fixed_slope_intercept": 1e-9,
    "ece_db": 1e-9,
    "gece_db": 1e-11,
    "hosmer_lemeshow": 1e-9,
} | {name: tolerance for module in FITTED for name, tolerance in module.TOLERANCES.items()}
# The probabilities of a row in single precision sum to 1 up to this; which of them is taken as the rest is left open.
SINGLE = 1e-7
# Bins are closed on one side, so that a score on an edge and its complement may fall into bins that do not mirror each other.
MIRRORED = 1e-3


def definition_of(name: str) -> Any:
    return next(getattr(module, name) for module in MODULES if hasattr(module, name))


def exact_value(name: str, case: Case) -> float:
    options = dict(case.options)
    value = definition_of(name)(case.labels, case.probs.tolist(), **options, **case.weights())
    try:
        return float(value)
    except OverflowError:  # larger than any double
        return math.inf if value > 0 else -math.inf


@pytest.mark.parametrize("name", EVERY)
def test_metric_is_its_definition(name: str, deep: bool) -> None:
    in_turn("number", range(200 if deep else 6))(check_definition)(name)


def check_definition(name: str, number: int) -> None:
    case = draw_case(name, number, EVERY)
    try:
        expected = exact_value(name, case)
    except definitions.Undefined:
        with pytest.raises(cal.errors.UndefinedMetricError):
            public_value(name, case)
        return
    try:
        value = public_value(name, case)
    except cal.errors.LensError:  # what cancels to 0 whatever the predictions is refused
        assert abs(expected) < MIRRORED, case
        return
    except cal.errors.UndefinedMetricError:  # scores of 1 up to rounding
        assert math.isinf(expected) or case.probs.dtype == np.float32, case
        return
    if math.isinf(expected):
        assert value == expected, case
    else:
        tolerance = max(TOLERANCES.get(name, TOLERANCE), SINGLE if case.probs.dtype == np.float32 else 0)
        assert abs(value - expected) <= tolerance * max(1, abs(expected)), (value, expected, case)


def test_every_metric_has_a_definition() -> None:
    families = {"point", "bin", "kernel", "curve"}
    assert not [name for name in cal.catalogue if cal.catalogue[name].info.family in families and name not in EVERY]
    assert not [name for name in EVERY if name not in cal.catalogue]
