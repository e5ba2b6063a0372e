"""``--by``: several columns, quantiles, SQL expressions and combinations; intervals and p-values of each group."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from tests.calling import Run, check_refusal

RNG = np.random.default_rng(5)
N = 600
FRAME = pd.DataFrame(
    {
        "p": RNG.random(N).round(3),
        "contract": RNG.choice(["07", "yes", "1.10"], N),
        "tenure": RNG.integers(0, 72, N),
        "day": np.datetime64("2024-12-01") + RNG.integers(0, 60, N),
        "p_region, old/new": RNG.choice(["a", "b"], N),
    }
)
FRAME.insert(0, "label", (RNG.random(N) < FRAME.p.where(FRAME.contract != "yes", FRAME.p**3)).astype(int))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("groups")
    FRAME.to_csv(folder / "p.csv", index=False)
    FRAME.to_parquet(folder / "p.parquet")
    held = {name: FRAME[name].to_numpy() for name in ("label", "p", "tenure")}
    np.savez(folder / "p.npz", contract=FRAME.contract.to_numpy(str), **held)
    return folder


def test_files_and_frames_have_the_same_groups(files: Path, run: Run) -> None:
    by = "contract, tenure/4, tenure > 20, contract x tenure > 20"
    expected = cal.evaluate(cal.Predictions(FRAME, label="label", prob="p", groups=by), metrics=["brier"])
    for name in ("p.csv", "p.parquet", "p.npz"):
        items = [by] if name == "p.csv" else by.split(", ")
        code, out, err = run(
            "evaluate",
            files / name,
            "--metrics",
            "brier",
            "--json",
            *(part for item in items for part in ("--by", item)),
        )
        assert code == 0, err
        groups = json.loads(out)["groups"]
        assert list(groups) == list(expected.groups)
        assert [part["grouping"] for part in groups.values()] == [part.grouping for part in expected.groups.values()]
        for part, own in zip(groups.values(), expected.groups.values(), strict=True):
            assert part["header"]["n"] == own.header.n
            assert part["metrics"][0]["value"] == pytest.approx(own["brier"], abs=1e-12)


def test_quantiles_of_numbers_with_missing_ones(tmp_path: Path, run: Run) -> None:
    """A text such as NA makes a file's column of numbers one of text, but not its quantile groups."""
    texts = FRAME.tenure.astype(object).where(np.arange(N) % 50 != 3, "NA")
    FRAME.assign(tenure=texts, word=texts.replace("NA", "x")).to_csv(tmp_path / "p.csv", index=False)
    asked = ("evaluate", tmp_path / "p.csv", "--by", "tenure/3", "--metrics", "brier", "--json")
    code, out, _ = run(*asked, "--drop-missing")
    there = FRAME[np.arange(N) % 50 != 3]
    expected = cal.evaluate(cal.Predictions(there, label="label", prob="p", groups="tenure/3"), metrics=["brier"])
    found = json.loads(out)
    assert (code, found["missing_values"]["missing"]) == (0, {"tenure/3": 12})
    assert {name: part["metrics"][0]["value"] for name, part in found["groups"].items()} == pytest.approx(
        {name: part["brier"] for name, part in expected.groups.items()}
    )
    check_refusal(run(*asked), "line 5", "--drop-missing")
    code, _, err = run("evaluate", tmp_path / "p.csv", "--by", "word/3")
    assert (code, "quantile groups require numbers or dates, and the column holds text" in err) == (2, True)


def test_a_group_of_weight_0_is_named(tmp_path: Path, run: Run) -> None:
    """It has no results, in the evaluation or the report, and both say so."""
    weight = np.where(FRAME.contract == "07", 0.0, 1.5)
    FRAME.assign(w=weight).to_csv(tmp_path / "p.csv", index=False)
    asked = (tmp_path / "p.csv", "--by", "contract, tenure/2", "--weight", "w", "--metrics", "brier")
    code, out, _ = run("evaluate", *asked)
    note = "contract: all rows of '07' have weight 0, so that there are no results for them"
    assert (code, out.splitlines()[-1]) == (0, note)
    code, out, _ = run("report", *asked, "--no-recalibration", "--as", "md", "--out", "-")
    assert (code, note in out) == (0, True)
    assert note not in run("evaluate", *asked[:3], "--metrics", "brier")[1]


def test_groups_are_printed_worst_first_and_gates_apply_to_them(files: Path, run: Run) -> None:
    asked = ("evaluate", files / "p.csv", "--by", "contract, tenure/4", "--metrics", "calibration_in_the_large")
    code, out, err = run(*asked, "--assess", "--level", "0.9", "--fail-if", "calibration_in_the_large > 0.15")
    assert code == 1
    assert "gate failed: calibration_in_the_large > 0.15 holds (group contract: yes)" in err
    lines = out.splitlines()
    start = lines.index("calibration_in_the_large by group, worst first; p-values adjusted by Holm for 7 groups")
    assert lines[start + 1].split() == [
        "group",
        "rows",
        "calibration_in_the_large",
        "low",
        "high",
        "by",
        "chance",
        "p-value",
        "adjusted",
    ]
    assert lines[start + 2].startswith("contract: yes ")
    assert lines[start + 2].endswith("overestimates")
    assert len([line for line in lines if line.startswith(("contract: ", "tenure "))]) == 7


def test_a_stream_has_the_groups_of_the_rows(files: Path, run: Run) -> None:
    both = {}
    for stream in ("--stream", "--no-stream"):
        code, out, _ = run(
            "evaluate", files / "p.csv", stream, "--by", "contract x tenure > 20", "--metrics", "ece", "--json"
        )
        assert code == 0
        both[stream] = {name: part["metrics"][0]["value"] for name, part in json.loads(out)["groups"].items()}
    assert both["--stream"] == pytest.approx(both["--no-stream"])
