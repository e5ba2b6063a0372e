"""Pages without the drawing library, whose bundling takes seconds; tests/browser opens whole ones."""

from __future__ import annotations

import pytest

from calibrant.reporting import html


@pytest.fixture(autouse=True)
def light_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "_drawing_library", lambda: "0;")
