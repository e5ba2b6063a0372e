"""The command line as outside of continuous integration, for all its tests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _outside_of_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests themselves may run in GitHub Actions, where failed gates are printed as annotations too."""
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
