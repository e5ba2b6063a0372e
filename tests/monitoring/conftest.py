"""Monitors of the tests measure windows without the interval of the ECE, which takes most of the time of a status."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def quick_windows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too few resamples for an interval; `full_windows` has as many as users have."""
    if "full_windows" not in request.fixturenames:
        monkeypatch.setattr("calibrant.monitoring.calibration.RESAMPLES", 19)


@pytest.fixture
def full_windows() -> None:
    """Measure windows as users do."""
