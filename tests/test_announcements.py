"""Long computations are announced before they start, once, and not where a time budget holds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import announce, no_warnings, one_call
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
    text = "brier: 40 rows will take about 36 s; evaluate a random sample of the rows"
    assert said(lambda: cal.brier(Y, P)) == [text]
    assert said(lambda: cal.interval(Y, P, metric="brier", n_resamples=99, rng=0)) == [text]
    assert not said(lambda: cal.evaluate(Y, P, metrics=["brier"], interval=0.9, assess=True))


def test_a_value_of_each_class_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "FEW_ROWS", 0)
    monkeypatch.setitem(registry.COSTS, "N log N", lambda n, k: n * 1e8)
    several = np.column_stack([P / 2, P / 2, 1 - P])
    assert not said(lambda: cal.ece_em(Y, several))
    assert said(lambda: cal.ece_em(Y, several, lens="classwise")) == [
        "ece_em: 40 rows will take about 12 s; evaluate a random sample of the rows"
    ]


def test_an_announcement_is_repeated_only_where_it_was_wrong() -> None:
    def call(*seconds: float) -> list[str]:
        def parts() -> None:
            with one_call():
                with one_call():
                    announce("x", "a part", seconds[0])
                for each in seconds[1:]:
                    announce("x", "another", each)

        return [text.split(" will")[0] for text in said(parts)]

    assert call(20.0, 30.0, 60.0, 11.0) == ["x: a part"]
    assert call(20.0, 61.0, 180.0) == ["x: a part", "x: another"]
    with no_warnings(), one_call():
        announce("x", "a part", 100.0)
    with one_call(float("inf")):
        assert not call(1e9)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two seconds for a value of any metric."""
    for cost in registry.COSTS:
        monkeypatch.setitem(registry.COSTS, cost, lambda n, k: 2e9)
    monkeypatch.setattr(registry, "FEW_ROWS", 0)


@pytest.mark.usefixtures("slow")
def test_slow_resamples_are_announced_once_before_the_first() -> None:
    """Whatever is resampled row by row: a bootstrap, simulated labels, several models."""
    several = np.column_stack([P / 2, P / 2, 1 - P])
    words: dict[str, Any] = {"n_resamples": 20, "rng": 0}
    fewer = "use fewer or use a random sample of the rows"
    of_rows = f"n_resamples: 21 resamples of gece on 40 rows will take about 42 s; {fewer}"
    calls: tuple[tuple[Callable[[], Any], str], ...] = (
        (lambda: cal.interval(Y, several, metric="gece", level=0.5, **words), of_rows),
        (lambda: cal.assess(Y, several, metric="gece", **words), of_rows),
        (lambda: cal.assess_many(Y, several, metrics=["gece", "brier"], **words), of_rows),
        (
            lambda: cal.compare(Y, {"a": P, "b": P / 2}, metric="ece", level=0.5, **words),
            f"n_resamples: 20 resamples of ece of 2 models will take about 80 s; {fewer}",
        ),
        (
            lambda: cal.interval(Y, P, metric="ece", level=0.5, exact=True, **words),
            "n_resamples: 21 resamples of ece on 40 rows will take about 42 s; drop exact=True, use fewer, or use a random sample of the rows",
        ),
    )
    for call, text in calls:
        assert said(call) == [text]


def test_pilot_samples_are_announced_where_cells_may_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resample of cells takes far less time than a value, and so does one of few distinct scores."""
    scores = np.linspace(0.001, 0.999, 700)
    outcomes = np.arange(700) % 2
    monkeypatch.setitem(registry.COSTS, "N", lambda n, k: 3e9 if n == 700 else 1e8)
    found = said(lambda: cal.interval(outcomes, scores, metric="ece", level=0.5, n_resamples=20, rng=0))
    assert [text.partition(";")[0] for text in found] == [
        "n_resamples: 20 resamples of ece on 700 rows, after trials of cells of rows, will take about 14 s"
    ]
    assert not said(lambda: cal.assess(Y, P, metric="ece", n_resamples=20, rng=0))


@pytest.mark.usefixtures("slow")
def test_a_test_without_resampling_is_named() -> None:
    found = said(
        lambda: cal.assess(Y, P, metric="hosmer_lemeshow", method="consistency", exact=True, n_resamples=99, rng=0)
    )
    assert len(found) == 1
    assert "use method='chi_square'" in found[0]
    assert not said(lambda: cal.assess(Y, P, metric="hosmer_lemeshow", method="chi_square"))


@pytest.mark.usefixtures("slow")
def test_a_simulated_power_is_announced() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(
            cal.LongComputationWarning, match="repeats: 50 resamples of ece on 40 rows will take about 100 s"
        ):
            cal.power("ece", 40, scores=(2, 2), deviation=0.1, repeats=50)


def test_a_fit_is_announced_and_all_fits_together(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not said(lambda: cal.PlattScaling().fit(P, Y))
    monkeypatch.setattr(cal.PlattScaling, "_microseconds", (250_000.0, 500_000.0))
    remedy = "use a random sample of the rows"
    fitted: list[Any] = []
    text = f"PlattScaling: the fit to 40 rows will take about 20 s; {remedy}"
    assert said(lambda: fitted.append(cal.PlattScaling().fit(P, Y))) == [text]
    assert said(lambda: fitted[0].predict_proba(P[:19])) == [
        "PlattScaling: applying it to 19 rows will take about 19 s; apply it to fewer rows, or fit a faster calibrator, such as TemperatureScaling"
    ]
    assert not said(lambda: fitted[0].predict_proba(P[:9]))
    found: list[Any] = []
    told = said(lambda: found.append(cal.recalibrate(Y, P, method=["platt", "temperature"])))
    assert told == [
        f"method: 6 fits of each method to 40 rows, mainly of platt, will take about 2 min; name faster methods or {remedy}"
    ]
    assert not any("will take" in candidate.note for candidate in found[0].candidates)


def test_fits_inside_a_fit_are_announced_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cal.PlattScaling, "_microseconds", (250_000.0, 500_000.0))
    for calibrator, words in (
        (cal.GroupCalibration(cal.PlattScaling()), {"groups": [0, 0, 1, 1] * 10}),
        (cal.SafeCalibration(cal.PlattScaling()), {}),
        (cal.TopLabelCalibration(), {}),
        (cal.LensCalibration(cal.PlattScaling(), lens="class:1"), {}),
    ):
        found = said(lambda calibrator=calibrator, words=words: calibrator.fit(P, Y, **words))
        assert len(found) == 1, found
        assert found[0].startswith(f"{type(calibrator).__name__}: the fit to 40 rows will take about")


def test_a_slow_test_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    def call() -> Any:
        return cal.assess(Y, P, metric="t_cal", method="adaptive", rng=0, n_resamples=199)

    assert not said(call)
    monkeypatch.setitem(SLOW_TESTS, ("t_cal", "adaptive"), lambda n, k: 2.5 * n)
    assert said(call) == [
        "method: 'adaptive' for 40 rows will take about 20 s; use method='normal' or use a random sample of the rows"
    ]


def test_exact_values_of_all_pairs_are_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "FEW_ROWS", 0)
    monkeypatch.setattr(registry, "PAIR", 1e7)
    assert said(lambda: cal.ici(Y, P, exact=True, surface="direct")) == [
        "ici: all pairs of 40 rows will take about 16 s; drop exact=True or evaluate a random sample of the rows"
    ]
    assert not said(lambda: cal.ici(Y, P))


def test_a_report_announces_the_comparison_of_calibrators_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cal.PlattScaling, "_microseconds", (250_000.0, 0.0))
    found = said(lambda: cal.report(Y, P, interval=None))
    assert found == ["recalibration: the comparison of methods on 40 rows will take about 100 s; leave it out"]
    assert not said(lambda: cal.report(Y, P, interval=None, recalibration=False))
