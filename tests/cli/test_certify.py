"""`calibrant certify`, `assess --tolerance` and `evaluate --features`: the library's numbers, and the exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calibrant as cal

RNG = np.random.default_rng(3)
N = 1500
SCORE = RNG.uniform(0.1, 0.6, N)
PLAN = RNG.choice(np.array(["basic", "pro", None], object), N)
WRONG = RNG.random(N) < SCORE + 0.3 * (PLAN == "pro")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def file(tmp_path: Path) -> str:
    label = WRONG.astype(object)
    label[7] = None
    frame = pd.DataFrame({"label": label, "prob": SCORE, "plan": PLAN, "site": np.arange(N) % 3})
    frame.to_csv(tmp_path / "data.csv", index=False)
    return str(tmp_path / "data.csv")


def test_features_are_searched_after_the_evaluation(run: Run, file: str) -> None:
    kept = np.arange(N) != 7
    wanted = cal.find_subgroups(WRONG[kept], SCORE[kept], features={"plan": PLAN[kept]})
    code, out, _ = run("evaluate", file, "--drop-missing", "--features", "plan", "--json")
    assert code == 0
    shown = json.loads(out)["subgroups"]["subgroups"]
    assert [each["name"] for each in shown] == [each.name for each in wanted]
    assert shown[0]["name"] == "plan = pro"
    assert shown[0]["gap"] == pytest.approx(wanted[0].gap)
    assert "For whom?" in run("evaluate", file, "--drop-missing", "--features", "pl*")[1]
    assert run("evaluate", file, "--drop-missing", "--features", "color")[0] == 2
    code, _, message = run("evaluate", file, "--drop-missing", "--features", "plan,label")
    assert (code, "--features" in message) == (2, True)


def test_a_certificate_is_written_and_verified(run: Run, file: str, tmp_path: Path) -> None:
    path = str(tmp_path / "certificate.json")
    options = (file, "--drop-missing", "--by", "site")
    assert run("certify", *options, "--level", "0.9", "--out", path)[0] == 0
    kept = np.arange(N) != 7
    p = cal.Predictions(WRONG[kept], SCORE[kept], groups=(np.arange(N) % 3)[kept])
    content = json.loads(Path(path).read_text())
    assert [each["bound"] for each in content["bounds"]] == pytest.approx(
        [e.bound for e in cal.certify(p, level=0.9).bounds]
    )
    assert run("verify", *options, "--certificate", path)[0] == 0
    assert run("verify", *options, "--where", "prob > 0.2", "--certificate", path)[0] == 1
    assert run("verify", *options, "--level", "0.9", "--certificate", path)[0] == 2


@pytest.mark.parametrize(("tolerance", "code"), [("0.5", 0), ("0.01", 1), ("0", 2)])
def test_a_tolerance_must_be_shown(run: Run, file: str, tolerance: str, code: int) -> None:
    options = ("--drop-missing", "--metric", "calibration_in_the_large", "--tolerance", tolerance)
    exit_code, _, gate = run("assess", file, *options)
    assert exit_code == code
    state = {
        0: "passed: calibration_in_the_large is shown",
        1: "failed: calibration_in_the_large is not shown",
        2: "--tolerance",
    }
    assert state[code] in gate
