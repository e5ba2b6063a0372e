"""What `calibrant run` says of two classes, and of maps that were not tried."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.cli import main

Run = Callable[..., tuple[int, str]]
FEW = ("--metrics", "ece,nll", "--interval", "0.8", "--resamples", "50", "--hold-out", "0")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str]:
        with pytest.raises(SystemExit) as stopped:
            main(["run", *map(str, arguments), *FEW])
        return int(stopped.value.code or 0), capsys.readouterr().out

    return call


def two_files(
    folder: Path, null_distribution: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]
) -> tuple[object, ...]:
    rng = np.random.default_rng(6)
    for name in ("v", "t"):
        y, p = null_distribution(rng)
        pd.DataFrame({"y": y, "p": p}).to_csv(folder / f"{name}.csv", index=False)
    return "--validation", folder / "v.csv", "--test", folder / "t.csv", "--out", folder / "out"


def too_high(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Every score is too high by as much, which hardly changes how often the prediction is right."""
    true = rng.beta(2, 2, 600)
    return (rng.random(600) < true).astype(int), np.minimum(true + 0.08, 1)


def rare(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rare events given twice their rate: of being right, the model is less sure than it could be."""
    true = rng.beta(1, 19, 3000)
    return (rng.random(3000) < true).astype(int), np.minimum(2 * true, 1)


def headline(folder: Path) -> str:
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    found = re.search(r'<p class="verdict [a-z]+" id="verdict">(.*?)</p>', page)
    assert found is not None
    return unescape(re.sub("<[^>]*>", "", found[1]))


def test_run_speaks_of_the_positive_class(tmp_path: Path, run: Run) -> None:
    code, out = run(*two_files(tmp_path, too_high), "--method", "none")
    assert code == 0
    rows = pd.read_csv(tmp_path / "t.csv")
    header = cal.evaluate(rows.y, rows.p, metrics="ece").header
    assert header.event.startswith("probabilities too high: the positive class is given")
    assert header.direction.endswith("within chance")
    assert f"On the test rows: {header.event}; {header.direction}." in out
    assert headline(tmp_path) == cal.report(rows.y, rows.p, metrics="ece", recalibration=False).verdict.sentence
    assert headline(tmp_path).startswith("Probabilities too high: the positive class is given")
    for name, mean in (("is given", rows.p.mean()), ("happens", rows.y.mean())):
        cells = re.search(rf"positive class {name} +(\S+) +(\S+)", out)
        assert cells is not None
        assert [float(cell) for cell in cells.groups()] == pytest.approx([mean] * 2, abs=1e-4)


def test_run_leads_with_the_event_of_a_rare_class(tmp_path: Path, run: Run) -> None:
    code, out = run(*two_files(tmp_path, rare), "--method", "platt")
    assert code == 0
    before = next(line for line in out.splitlines() if line.startswith("Before: "))
    assert before.startswith("Before: probabilities too high: the positive class is given")
    assert "; underconfident: says" in before
    summary = json.loads((tmp_path / "out" / "metrics.json").read_text())["summary"]
    assert before in summary
    assert any(line.startswith("After: the positive class is given") for line in summary)
    assert headline(tmp_path).startswith("No deviation found")


def test_run_does_not_judge_maps_that_were_not_tried(tmp_path: Path, run: Run) -> None:
    code, out = run(*two_files(tmp_path, too_high), "--method", "none")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert code == 0
    for text in (out, page):
        assert "No map was tried, so nothing was changed." in text
        assert "no map helps" not in text
        assert "lowers the held-out" not in text
    assert page.count("data:image/svg") == 1  # before and after are the same


def test_run_says_when_maps_were_tried_in_vain(tmp_path: Path, run: Run) -> None:
    def right(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        p = rng.beta(2, 2, 400)
        return (rng.random(400) < p).astype(int), p

    code, out = run(*two_files(tmp_path, right), "--method", "isotonic")
    assert code == 0
    assert "Leave it alone: no map tried lowers the held-out nll, so nothing was changed." in out
