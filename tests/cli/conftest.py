"""The command line as outside of continuous integration, for all its tests; and what they give to its standard input."""

import io
from collections.abc import Callable

import pytest


@pytest.fixture(autouse=True, scope="module")
def _quick_intervals(quick_intervals: None) -> None:
    """The limits that are shown are those of the library, however few sets of labels they come from."""


@pytest.fixture(autouse=True)
def _outside_of_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests themselves may run in GitHub Actions, where failed gates are printed as annotations too."""
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


@pytest.fixture
def standard_input(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Replace the standard input of commands that are called in this process."""
    return lambda content: monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
