"""Every query of DuckDB has the same limits."""

import re
from pathlib import Path

import pytest

import calibrant
from calibrant.errors import ArgumentError
from calibrant.util.database import MEMORY, connect


def test_memory_limit_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MEMORY, "256MB")
    with connect() as connection:
        found = connection.execute("SELECT current_setting('memory_limit')").fetchall()
        assert found == [("244.1 MiB",)]
        assert connection.execute("SELECT current_setting('autoload_known_extensions')").fetchall() == [(False,)]


def test_other_limits_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MEMORY, "much")
    with pytest.raises(ArgumentError, match=r"CALIBRANT_MEMORY_LIMIT: is not an amount of memory: 'much'; set it to"):
        connect()


def test_there_is_no_other_connection() -> None:
    sources = Path(calibrant.__file__).parent.rglob("*.py")
    found = [
        path.name
        for path in sources
        if re.search(r"(?m)^(?! *>>>).*duckdb\.connect\(", path.read_text(encoding="utf-8"))
    ]
    assert found == ["database.py"]
