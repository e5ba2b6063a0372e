"""Pages without the drawing library, whose bundling takes seconds; tests/browser opens whole ones."""

from __future__ import annotations

import pytest

from calibrant.reporting import html


@pytest.fixture(autouse=True, scope="module")
def _quick_intervals(quick_intervals: None) -> None:
    """The limits that are shown are those of the library, however few sets of labels they come from."""


@pytest.fixture(autouse=True)
def light_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "_drawing_library", lambda: "0;")
