"""PDF, Word and model card: what is written, and what is said where a program is missing."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

import calibrant as cal
from calibrant.errors import MissingDependencyError
from calibrant.reporting import Report
from calibrant.reporting.printing import BROWSERS
from tests.calling import raises


@pytest.fixture(scope="module")
def found() -> Report:
    return cal.report([0, 1] * 60, [0.3, 0.6] * 60, metrics=["ece", "brier"], recalibration=False, outcome="churn")


def program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_programs_are_called_with_the_document(found: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bin = tmp_path / "bin"
    monkeypatch.setenv("PATH", f"{bin}:/usr/bin:/bin")
    program(bin, BROWSERS[0], 'for w; do case $w in --print-to-pdf=*) out=${w#*=};; esac; done; cp "$w" "$out"')
    assert found.save(tmp_path / "r.pdf").read_text() == found.to_html()
    program(
        bin,
        "pandoc",
        'for w; do case $w in --output=*) out=${w#*=};; esac; done; cat "$w" "$(dirname $w)/diagram.png" > "$out"',
    )
    written = found.save(tmp_path / "r.docx").read_bytes()
    assert b"![Reliability diagram](diagram.png)" in written
    assert b"\x89PNG" in written
    program(bin, "pandoc", "exit 3")
    with raises(MissingDependencyError, "pandoc"):
        found.save(tmp_path / "r.docx")


@pytest.mark.parametrize(
    ("suffix", "text"), [("pdf", "a browser: is required to write PDF"), ("docx", "pandoc: is required")]
)
def test_a_missing_program_is_named(
    found: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, text: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("calibrant.reporting.printing.BROWSERS", BROWSERS[:7])
    with pytest.raises(MissingDependencyError, match=text):
        found.save(tmp_path / f"r.{suffix}")
    assert not (tmp_path / f"r.{suffix}").exists()


def test_the_model_card_has_the_conclusion_and_four_figures(found: Report) -> None:
    text = found.to_model_card()
    assert text.startswith(f"## Calibration\n\n{found.verdict.sentence}\n")
    assert "| rows | 120 |" in text
    assert f"fingerprint `{found.provenance.fingerprint}`" in text
