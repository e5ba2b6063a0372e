"""Long computations are announced before they start, once, and not where a time budget holds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import announce
from calibrant.inference.metric_tests import SLOW_TESTS
from calibrant.metrics import registry

Y, P = np.array([0, 1] * 20), np.array([0.2, 0.7, 0.4, 0.9] * 10)


def said(call: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in caught if each.category is cal.LongComputationWarning]


def test_seconds_are_shown_in_a_unit_that_fits() -> None:
    for seconds, text in (
        (10.0, ""),
        (11.2, "11 s"),
        (119.0, "119 s"),
        (150.0, "2 min"),
        (7100.0, "118 min"),
        (9000.0, "2 h"),
    ):
        found = said(lambda seconds=seconds: announce("x", "it", seconds, "do less"))
        assert found == ([f"x: it will take about {text}; do less"] if text else [])


def test_a_value_is_announced_but_not_within_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not said(lambda: cal.brier(Y, P))
    monkeypatch.setattr(registry, "FEW_ROWS", 0)
    monkeypatch.setitem(registry.COSTS, "N K", lambda n, k: n * k * 1e9)
    text = "brier: 40 rows will take about 80 s; evaluate a random sample of the rows"
    assert said(lambda: cal.brier(Y, P)) == [text]
    assert said(lambda: cal.interval(Y, P, metric="brier", n_resamples=99, rng=0)) == [text]
    assert not said(lambda: cal.evaluate(Y, P, metrics=["brier"], interval=0.9, assess=True))


def test_a_fit_is_announced_and_all_fits_together(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not said(lambda: cal.PlattScaling().fit(P, Y))
    monkeypatch.setattr(cal.PlattScaling, "_seconds", lambda self, n, k, applied: n * k / 4)
    remedy = "random sample of the rows"
    assert said(lambda: cal.PlattScaling().fit(P, Y)) == [
        f"PlattScaling: fitting and applying it to 40 rows will take about 20 s; use a {remedy}"
    ]
    found: list[Any] = []
    told = said(lambda: found.append(cal.recalibrate(Y, P, method=["platt", "temperature"])))
    assert told == [f"method: 6 fits of platt to 40 rows will take about 100 s; use a {remedy}"]
    assert not any("will take" in candidate.note for candidate in found[0].candidates)


def test_a_slow_test_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    def call() -> Any:
        return cal.assess(Y, P, metric="t_cal", method="adaptive", rng=0, n_resamples=199)

    assert not said(call)
    monkeypatch.setitem(SLOW_TESTS, ("t_cal", "adaptive"), lambda n: 2.5 * n)
    assert said(call) == ["method: 'adaptive' for 40 rows will take about 20 s; use a random sample of the rows"]
