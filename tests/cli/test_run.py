"""The summary of `calibrant run` for two classes, and without calibration methods."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from tests.calling import Run

FEW = ("--metrics", "ece,nll", "--level", "0.8", "--resamples", "50", "--hold-out", "0")


@pytest.fixture
def run(run: Run) -> Run:
    return lambda *arguments: run("run", *arguments, *FEW)


def two_files(
    folder: Path, null_distribution: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]
) -> tuple[object, ...]:
    rng = np.random.default_rng(6)
    for name in ("v", "t"):
        y, p = null_distribution(rng)
        pd.DataFrame({"y": y, "p": p}).to_csv(folder / f"{name}.csv", index=False)
    return "--validation", folder / "v.csv", "--test", folder / "t.csv", "--out", folder / "out"


def too_high(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """All scores are too high by the same amount, which hardly changes the accuracy."""
    true = rng.beta(2, 2, 600)
    return (rng.random(600) < true).astype(int), np.minimum(true + 0.08, 1)


def headline(folder: Path) -> str:
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    found = re.search(r'<p class="verdict [a-z]+" id="verdict">(.*?)</p>', page)
    return unescape(re.sub("<[^>]*>", "", found[1]))


def test_run_speaks_of_the_positive_class(tmp_path: Path, run: Run) -> None:
    gates = ("--fail-if", "brier > 0", "--fail-if", "ece > 1")
    code, out, _ = run(*two_files(tmp_path, too_high), "--method", "none", *gates)
    assert code == 1  # the files are written nevertheless
    rows = pd.read_csv(tmp_path / "t.csv")
    header = cal.evaluate(rows.y, rows.p, metrics="ece").header
    assert header.event.startswith("overestimates the positive class: mean predicted probability")
    assert header.direction.endswith("(difference not significant)")
    assert f"On the test data: {header.event}; {header.direction}." in out
    assert headline(tmp_path) == cal.report(rows.y, rows.p, metrics="ece", recalibration=False).verdict.sentence
    assert headline(tmp_path).startswith("Overestimates the positive class: predicts ")
    for name, mean in (("mean predicted probability", rows.p.mean()), ("observed rate", rows.y.mean())):
        cells = re.search(rf"{name} of the positive class +(\S+) +- +(\S+)", out)
        assert [float(cell) for cell in cells.groups()] == pytest.approx([mean] * 2, abs=1e-4)


def test_run_says_when_maps_were_tried_in_vain(tmp_path: Path, run: Run) -> None:
    def right(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        p = rng.beta(2, 2, 400)
        return (rng.random(400) < p).astype(int), p

    code, out, _ = run(*two_files(tmp_path, right), "--method", "isotonic")
    assert code == 0
    assert "The probabilities are unchanged: no calibration method lowers the cross-validated nll reliably." in out
