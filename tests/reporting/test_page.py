"""One page for everything: the data in it are the numbers of the results, and the forms of before and after agree."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.cli import main
from calibrant.util.results import number
from tests.calling import call

RNG = np.random.default_rng(12)
SCORE = np.round(RNG.random(800), 2)
LABEL = (RNG.random(800) < SCORE**1.3).astype(int)
GROUP = np.array(["a", "b"])[np.arange(800) % 2]


def embedded(page: str) -> dict[str, Any]:
    """The data of the script."""
    found = re.search(r'<script type="application/json" id="chart-data">(.*?)</script>', page)
    return dict(json.loads(found[1]))


@pytest.mark.parametrize("words", [{}, {"counts": np.arange(800) % 3}, {"sample_weight": np.linspace(0.1, 2, 800)}])
def test_data_of_a_comparison_are_those_of_the_library(words: dict[str, Any]) -> None:
    models = {"old": SCORE, "new": SCORE**2}
    found = call(cal.report, LABEL, models, metrics=["brier"], level=0.5, n_resamples=20, **words)
    data = embedded(found.to_html())
    assert [side["name"] for side in data["sides"]] == list(models)
    for side, scores in zip(data["sides"], models.values(), strict=True):
        (series,) = side["series"]
        curve = call(cal.calibration_curve, LABEL, scores, binning=cal.EqualWidth(15, min_rows=14), level=0.5, **words)
        for key, expected in (("x", curve.mean_score), ("y", curve.rate), ("low", curve.low), ("high", curve.high)):
            assert series["charts"]["bins"][key] == pytest.approx(expected, rel=1e-4)
        ece = series["ece"]
        assert ece == pytest.approx(call(cal.evaluate, LABEL, scores, metrics="ece", **words)["ece"], abs=1e-12)
    theirs = call(cal.compare, LABEL, models, metric="brier", level=0.5, n_resamples=40, rng=0, **words)
    (difference,) = theirs.differences
    assert f"{number(difference.difference)}</td>" in found.to_html()


def test_groups_are_sides_of_the_report() -> None:
    found = cal.report(
        cal.Predictions(LABEL, SCORE, groups=GROUP), metrics=["ece"], recalibration=False, level=None, n_resamples=19
    )
    data = embedded(found.to_html())
    assert [side["name"] for side in data["sides"]] == ["All rows", "a", "b"]
    for side, held in zip(data["sides"], (GROUP != "", GROUP == "a", GROUP == "b"), strict=True):
        assert side["series"][0]["ece"] == pytest.approx(cal.ece(LABEL[held], SCORE[held]), abs=1e-12)


def test_run_shows_before_and_after_with_differences(tmp_path: Path) -> None:
    for name, cut in (("v", slice(0, 400)), ("t", slice(400, 800))):
        frame = pd.DataFrame({"y": LABEL[cut], "p": np.clip(SCORE[cut] ** 2, 0.001, 0.999)})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    words = f"run --validation {tmp_path / 'v.csv'} --test {tmp_path / 't.csv'} --out {tmp_path / 'o'}"
    with pytest.raises(SystemExit):
        main([*words.split(), *["--metrics", "nll", "--level", "0.5", "--resamples", "20", "--method", "platt"]])
    page = (tmp_path / "o" / "report.html").read_text(encoding="utf-8")
    told = json.loads((tmp_path / "o" / "metrics.json").read_text())
    assert [*told["changes"]["values"]] == ["nll", "brier", "smece", "ece"]
    assert len(told["changes"]["differences"]) == 4
    for each in told["changes"]["differences"]:
        assert (each["first"], each["second"]) == ("after", "before")
        assert f"{number(each['difference'])}</td>" in page
        assert f"{number(each['low'])} to {number(each['high'])}" in page
    data = embedded(page)
    assert [(side["name"], side["on"]) for side in data["sides"]] == [("Before", True), ("After", True)]
    assert data["focus"] == 1
    after = pd.read_parquet(tmp_path / "o" / "calibrated.parquet")
    for side, column in zip(data["sides"], ("p", "p_calibrated"), strict=True):
        expected = cal.ece(after["y"], after[column])
        assert side["series"][0]["ece"] == pytest.approx(expected, abs=1e-12)
