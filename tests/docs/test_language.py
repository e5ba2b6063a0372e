"""Code, pages and messages are written in the terms of the field: no phrase that docs/language.md rejects."""

from pathlib import Path

import pytest

import calibrant as cal
from tests.language import REJECTED, RULES, phrases, rejected

ROOT = Path(__file__).parents[2]
DERIVED = {("docs", folder) for folder in ("_build", "metrics", "reference")}  # their words are those of docstrings
KINDS = {".py", ".pyi", ".md", ".html", ".js", ".css", ".ipynb"}


def files() -> list[Path]:
    found = [path for folder in ("src", "docs", "notebooks") for path in sorted((ROOT / folder).rglob("*"))]
    return [
        path
        for path in [*found, ROOT / "README.md"]
        if path.suffix in KINDS and path != RULES and path.relative_to(ROOT).parts[:2] not in DERIVED
    ]


def test_the_list_is_read() -> None:
    assert len(phrases()) > 30
    assert len(files()) > 400
    assert rejected("the map then praises itself") == "the map"
    assert rejected("unknown column 'law'; did you mean 'label'?") == ""


@pytest.mark.parametrize("folder", ["src", "docs", "notebooks", "README.md"])
def test_no_rejected_phrase_is_written(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match[0]!r} in {line.strip()[:120]}"
        for path in files()
        if path.relative_to(ROOT).parts[0] == folder
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
        if (match := REJECTED.search(line.lower()))
    ]
    assert found == []


def test_a_message_with_a_rejected_phrase_fails_the_test_that_meets_it() -> None:
    with pytest.raises(AssertionError, match="'a map'"):
        cal.errors.ArgumentError("calibrator", "is not a map")
