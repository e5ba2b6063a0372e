"""The name of the outcome and the metadata on the command line."""

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


@pytest.mark.parametrize(("options", "expected"), [([], "churn"), (["--outcome", "default"], "default")])
def test_outcome_and_metadata_are_named(run: Run, tmp_path: Path, options: list[str], expected: str) -> None:
    asked = (table(tmp_path, churn=YES), "--label", "churn", *options)
    words = ["--meta", "model=gbm=2", "--meta", " owner = Risk ", *FAST]
    found = read_json(run("report", *asked, *words, "--as", "json", "--out", "-"))
    assert (found["outcome"], found["metadata"]) == (expected, {"model": "gbm=2", "owner": "Risk"})
    header = read_json(run("evaluate", *asked, "--metrics", "ece", "--json"))["header"]
    assert header["outcome"] == expected
    assert header["event"].startswith(f"overestimates P({expected}): ")


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
