"""`calibrant survival`: the numbers of the library, groups, gates, and errors in the terms of the command."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from tests.calling import Run

RNG = np.random.default_rng(6)
RISK = np.round(RNG.beta(2, 3, 120), 3)
DEATH = RNG.exponential(-365 / np.log1p(-RISK))
CENSORED = RNG.exponential(800, 120)
TIME = np.ceil(np.minimum(DEATH, CENSORED))
EVENT = (DEATH <= CENSORED).astype(int)
SITE = np.array(["north", "south"])[np.arange(120) % 2]
COLUMNS = ("--time", "days", "--event", "died", "--horizon", "365")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "trial.csv"
    columns = {"risk": RISK, "early": RISK / 2, "days": TIME, "died": EVENT, "site": SITE, "w": np.arange(120) % 3 + 1}
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def test_table_and_json_have_the_numbers_of_the_library(file: Path, run: Run) -> None:
    code, out, _ = run("survival", file, *COLUMNS, "--resamples", "20", "--json")
    assert code == 0
    expected = cal.clinical.survival_summary(RISK, time=TIME, event=EVENT, horizon=365, n_resamples=20, rng=0)
    found = json.loads(out)
    assert found["measures"] == json.loads(json.dumps(expected.to_dict()["measures"]))
    assert found["failed"] == []
    code, out, _ = run("survival", file, *COLUMNS, "--resamples", "20")
    assert code == 0
    assert out.split() == repr(expected).split()


@pytest.mark.parametrize("kind", ["parquet", "npz", "jsonl"])
def test_other_files_and_options(tmp_path: Path, run: Run, kind: str) -> None:
    path = tmp_path / f"trial.{kind}"
    frame = pd.DataFrame({"p2": RISK, "days": TIME, "died": EVENT, "w": np.arange(120) % 3 + 1})
    if kind == "npz":
        np.savez(path, **{name: frame[name].to_numpy() for name in frame})
    elif kind == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True)
    more = ("--prob", "p2", "--weight", "w", "--level", "0.9", "--json")
    code, out, err = run("survival", path, *COLUMNS, *more, "--resamples", "0")
    assert code == 0, err
    words = {"horizon": 365, "sample_weight": np.arange(120) % 3 + 1, "level": 0.9}
    expected = cal.clinical.survival_summary(RISK, time=TIME, event=EVENT, n_resamples=0, **words)
    found = json.loads(out)
    assert found["level"] == 0.9
    for name, measure in expected.to_dict()["measures"].items():
        assert found["measures"][name]["value"] == pytest.approx(measure["value"], rel=1e-9), name


def test_groups_and_gates(file: Path, run: Run) -> None:
    code, out, err = run(
        "survival", file, *COLUMNS, "--by", "site", "--resamples", "0", "--fail-if", "brier > 0", "--json"
    )
    assert code == 1
    part = SITE == "south"
    expected = cal.clinical.survival_summary(RISK[part], time=TIME[part], event=EVENT[part], horizon=365, n_resamples=0)
    assert json.loads(out)["groups"]["south"]["measures"]["brier"]["value"] == expected["brier"]
    assert "gate failed: brier > 0 holds: " in err
    assert "gate failed: brier > 0 holds (group south)" in err
    code, out, _ = run("survival", file, *COLUMNS, "--by", "site", "--resamples", "0", "--fail-if", "AUROC < 0.2")
    assert code == 0
    assert "site = north" in out


def test_a_group_that_ends_before_the_horizon_is_reported(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "x.csv"
    days, died = [100, 400, 500, 600, 90, 80], [1, 0, 1, 0, 1, 0]
    site = ["a", "a", "a", "a", "b", "b"]
    days[5], died[5] = 95, 0
    pd.DataFrame({"risk": [0.4, 0.2, 0.1, 0.3, 0.5, 0.6], "days": days, "died": died, "site": site}).to_csv(
        path, index=False
    )
    code, out, _ = run("survival", path, *COLUMNS, "--by", "site", "--resamples", "0")
    assert code == 0
    assert "site = b: --horizon: no row is observed until 365" in out
