"""Shared by all tests: the `--deep` switch, and where real predictions lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

ROOT = Path(__file__).parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--deep", action="store_true", help="run the long forms too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--deep"):
        return
    long = [item for item in items if "deep" in item.keywords]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if "deep" not in item.keywords]


@pytest.fixture(scope="session")
def deep(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--deep"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Real predictions with published numbers; a test that needs them is skipped by name where they are absent."""
    folder = Path(os.environ.get("CALIBRANT_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "checks.json").exists():
        pytest.skip(f"NO REAL PREDICTIONS in {folder}: set CALIBRANT_DATA to check published numbers")
    return folder
