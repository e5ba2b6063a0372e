"""The name of the outcome and the metadata on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.calling import Run, read_json

RNG = np.random.default_rng(4)
SCORE = RNG.random(400)
YES = (RNG.random(400) < SCORE**2).astype(int)
FAST = ("--metrics", "ece", "--no-recalibration")


def table(folder: Path, **columns: object) -> Path:
    path = folder / "t.csv"
    pd.DataFrame({**columns, "prob": SCORE}).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("columns", "options", "expected"),
    [
        ({"churn": YES}, ["--label", "churn"], "churn"),
        ({"y_true": YES}, [], ""),
        ({"churn": YES}, ["--label", "churn", "--outcome", "default"], "default"),
        ({"churn": np.where(YES == 1, "yes", "no")}, ["--label", "churn"], "churn"),
        ({"kind": np.where(YES == 1, "spam", "ham")}, ["--label", "kind", "--pos-label", "spam"], "spam"),
    ],
)
def test_the_outcome_is_named(
    run: Run, tmp_path: Path, columns: dict[str, object], options: list[str], expected: str
) -> None:
    file = table(tmp_path, **columns)
    code, printed, errors = run("report", file, *options, *FAST, "--as", "json", "--out", "-")
    assert code == 0, errors
    assert json.loads(printed)["outcome"] == expected
    header = read_json(run("evaluate", file, *options, "--metrics", "ece", "--json"))["header"]
    assert header["outcome"] == expected
    name = f"P({expected})" if expected else "the positive class"
    assert header["event"].startswith(f"overestimates {name}: ")


def test_metadata_are_shown(run: Run, tmp_path: Path) -> None:
    file = table(tmp_path, churn=YES)
    words = ["--label", "churn", "--meta", "model=gbm=2", "--meta", " owner = Risk "]
    code, printed, _ = run("report", file, *words, *FAST, "--as", "json", "--out", "-")
    assert code == 0
    assert json.loads(printed)["metadata"] == {"model": "gbm=2", "owner": "Risk"}


def test_run_names_the_outcome_in_page_and_summary(run: Run, tmp_path: Path) -> None:
    file = table(tmp_path, churn=YES)
    other = tmp_path / "v.csv"
    pd.DataFrame({"churn": YES[::-1], "prob": SCORE[::-1] * 0.9}).to_csv(other, index=False)
    words = ["--validation", other, "--test", file, "--label", "churn", "--out", tmp_path / "o", "--method", "platt"]
    code, printed, errors = run("run", *words, "--metrics", "ece", "--meta", "owner=Risk", "--resamples", "200")
    assert code == 0, errors
    assert "overestimates P(churn): " in printed
    assert "observed rate of churn" in printed
    page = (tmp_path / "o" / "report.html").read_text(encoding="utf-8")
    assert "P(churn)" in page
    assert "<dd><bdi>Risk</bdi></dd>" in page
