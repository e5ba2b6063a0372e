"""Monitors of the tests measure their windows quickly."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _quick_windows(request: pytest.FixtureRequest) -> None:
    if "full_windows" not in request.fixturenames:
        request.getfixturevalue("quick_windows")


@pytest.fixture
def full_windows() -> None:
    """Measure windows as users do."""
