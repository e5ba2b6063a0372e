"""Where real predictions lie, and the sample that stands in for them."""

import os
from pathlib import Path

import pytest

from experiments.tests.sample import write_sample

REAL = Path(os.environ.get("CALIBRANT_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.fixture(scope="session")
def sample_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Simulated predictions in the form of the real ones."""
    return write_sample(tmp_path_factory.mktemp("sample") / "data")


@pytest.fixture(scope="session")
def data_folder(request: pytest.FixtureRequest) -> Path:
    """Real predictions, or the sample where they are absent: for what must hold on any data."""
    return REAL if (REAL / "checks.json").exists() else request.getfixturevalue("sample_folder")


@pytest.fixture(scope="session")
def real_folder() -> Path:
    """Real predictions with published numbers; a test that needs them is skipped by name where they are absent."""
    if not (REAL / "checks.json").exists():
        pytest.skip(f"NO REAL PREDICTIONS in {REAL}: set CALIBRANT_DATA to check published numbers")
    return REAL
