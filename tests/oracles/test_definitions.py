"""Each public function against its definition written out in exact arithmetic."""

from __future__ import annotations

import math

import pytest

import calibrant as cal

from . import definitions, vector_definitions
from .cases import OPTIONS, Case, draw_case, public_value

TOLERANCE = 1e-12


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "number" in metafunc.fixturenames:
        metafunc.parametrize("number", range(200 if metafunc.config.getoption("--deep") else 30))


def exact_value(name: str, case: Case) -> float:
    options = dict(case.options)
    definition = getattr(definitions, name, None) or getattr(vector_definitions, name)
    return float(definition(case.labels, case.probs.tolist(), **options, **case.weights()))


@pytest.mark.parametrize("name", OPTIONS)
def test_metric_is_its_definition(name: str, number: int) -> None:
    case = draw_case(name, number)
    try:
        expected = exact_value(name, case)
    except definitions.Undefined:
        with pytest.raises(cal.UndefinedMetricError):
            public_value(name, case)
        return
    value = public_value(name, case)
    if math.isinf(expected):
        assert value == expected, case
    else:
        assert abs(value - expected) <= TOLERANCE * max(1, abs(expected)), (value, expected, case)
