"""The configuration: where it is found, what it applies to, which value wins, and what is wrong with it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibrant.util.configuration import find_configuration
from tests.calling import Run, check_refusal

RNG = np.random.default_rng(5)
SCORES = RNG.beta(2, 2, 300).round(5)
EVENTS = (RNG.random(300) < SCORES**1.3).astype(int)
GROUPS = np.array(["monthly", "two, year", "one|year"])[RNG.integers(0, 3, 300)]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository with predictions whose columns have uncommon names."""
    (tmp_path / ".git").mkdir()
    logits = np.log(SCORES / (1 - SCORES)).round(5)
    frame = pd.DataFrame({"churned": EVENTS, "pp": SCORES, "zz": logits, "contract": GROUPS, "w": 1 + EVENTS})
    frame.to_csv(tmp_path / "preds.csv", index=False)
    (tmp_path / "calibrant.toml").write_text(
        'label = "churned"\nprob = "pp"\nby = "contract"\nmetrics = ["ece", "brier"]\nseed = 3\n\n[evaluate]\nbins = 10\n'
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evaluated(run: Run, *arguments: object) -> dict[str, object]:
    code, out, err = run("evaluate", "preds.csv", "--json", *arguments)
    assert code == 0, err
    return json.loads(out)


def test_the_command_line_takes_precedence(project: Path, run: Run) -> None:
    found = evaluated(run)
    assert [each["metric"] for each in found["metrics"]] == ["ece", "brier"]
    assert list(found["groups"]) == ["monthly", "one|year", "two, year"]
    typed = ["--label", "churned", "--prob", "pp", "--by", "contract", "--metrics", "ece,brier", "--bins", "10"]
    assert evaluated(run, "--no-config", *typed) == found
    assert evaluated(run, "--bins", "5")["metrics"][0]["value"] != found["metrics"][0]["value"]
    # A score of another kind replaces the configured one; so do weights in place of counts.
    assert evaluated(run, "--logits", "zz")["metrics"][1]["value"] == pytest.approx(found["metrics"][1]["value"], 1e-3)
    (project / "calibrant.toml").write_text('label = "churned"\nprob = "pp"\ncounts = "w"\nmetrics = "brier"\n')
    assert "weight" in str(evaluated(run, "--weight", "w"))
    (project / "calibrant.toml").write_text(
        'label = "churned"\nprobs = "q_*"\n[evaluate]\nprob = "pp"\nmetrics = "ece"\n'
    )
    assert evaluated(run)["metrics"][0]["metric"] == "ece"  # the table of a command, over the top level


def test_a_configured_flag_is_switched_off(project: Path, run: Run) -> None:
    asked = 'label = "churned"\nprob = "pp"\nmetrics = "ece"\nnormalize = true\n[evaluate]\nassess = true\n'
    (project / "calibrant.toml").write_text(asked)
    pvalues = [evaluated(run, *more)["metrics"][0]["pvalue"] for more in ((), ("--no-assess",))]
    assert [pvalue is None for pvalue in pvalues] == [False, True]
    code, _, err = run("evaluate", "preds.csv", "--stream", "--no-assess")
    assert (code, "normalize is set in calibrant.toml; --no-normalize switches it off" in err) == (2, True)
    assert run("evaluate", "preds.csv", "--stream", "--no-assess", "--no-normalize")[0] == 0
    assert "No such option '--no-debug'" in run("evaluate", "preds.csv", "--no-debug")[2]
    assert "--no-normalize" not in run("evaluate", "--help")[1]


def test_it_is_found_upwards_to_the_root_of_the_repository(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = project / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert find_configuration().path == project / "calibrant.toml"
    (project / "a" / "pyproject.toml").write_text("[tool.ruff]\n")  # of another tool
    assert find_configuration().path == project / "calibrant.toml"
    (project / "a" / "pyproject.toml").write_text('[tool.calibrant]\nlabel = "churned"\nprob = "zz"\n')
    assert find_configuration().name == "pyproject.toml"
    check_refusal(run("evaluate", project / "preds.csv"), "--prob")
    assert run("evaluate", project / "preds.csv", "--config", project / "calibrant.toml")[0] == 0
    (project / "a").chmod(0o777)  # anybody may have written the one in this folder
    assert find_configuration().path == project / "calibrant.toml"
    (project / "a").chmod(0o755)
    (project / "a" / ".git").mkdir()
    (project / "a" / "pyproject.toml").write_text("this is not TOML, and nobody asked")
    assert find_configuration() is None
    assert "cannot be read" in run("evaluate", "x", "--config", "none.toml")[2]


def test_shared_keys_apply_where_they_can(project: Path, run: Run) -> None:
    """Keys that a command cannot combine with what was typed give way; those of the command line do not."""
    assert run("assess", "preds.csv")[0] == 0  # --by and --metrics mean something else there
    assert run("clinical", "preds.csv", "--resamples", "0")[0] == 0
    assert run("compare", "preds.csv", "--models", "pp,w", "--clip")[0] == 0
    assert run("scan", "preds.csv", "--out", "day.sketch")[0] == 0
    assert run("evaluate", "day.sketch")[0] == 0
    assert run("fit", "preds.csv", "--method", "platt")[0] == 0
    pd.DataFrame({"pp": SCORES}).to_csv("new.csv", index=False)  # no labels yet
    code, _, err = run("apply", "calibrator.json", "new.csv", "--out", "out.csv")
    assert code == 0, err
    run("report", "preds.csv", "--metrics", "brier", "--no-recalibration", "--out", "report.json")
    assert json.loads(Path("report.json").read_text())["provenance"]["parameters"]["configuration"] == "calibrant.toml"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('labl = "y"', "labl: unknown key; did you mean 'label'?"),
        ("label = 3", "unknown column '3'"),
        ('normalize = "x"', "'--normalize': 'x' is not a valid boolean"),
        ("[alerts]\nmail = 3", "alerts: unknown key; an option of one command belongs in its table"),
        ("[evaluat]\nbins = 3", "evaluat: unknown key; did you mean 'evaluate'?"),
        ("evaluate = 3", "evaluate: is a command and must be a table; write [evaluate]"),
        ("\n[evaluate]\nbin = 3", "[evaluate] bin: unknown option of evaluate; did you mean 'bins'?"),
        ('[evaluate]\nbins = "x"', "'--bins': must be a whole number"),
        ('[evaluate]\nlevel = "x"', "'--level': 'x' is not a valid float"),
        ('[evaluate]\nbinning = "x"', "'--binning': must be equal_width"),
        ("[evaluate]\nfail-if = [3]", "--fail-if: '3' is not a condition"),
        ("[evaluate]\ndebug = true", "[evaluate] debug: unknown option"),
        ('pos_label = "x"', "did you mean 'pos-label'?"),
        ('"übung" = 1', "übung: unknown key"),
        ("seed = 1.5", "'--seed': '1.5' is not a valid integer"),
        ('label = "nix"', "unknown column 'nix'"),
        ("label = ", "is not valid TOML"),
        ("a = " + "[" * 100_000, "nested too deeply"),
        (f'label = "{"x" * 1_100_000}"', "is larger than"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_place(project: Path, run: Run, text: str, message: str) -> None:
    (project / "calibrant.toml").write_text(text)
    code, out, err = run("evaluate", "preds.csv")
    assert (code, out) == (2, "")
    assert message in err
    assert "calibrant.toml" in err
    assert len(err) < 500


def test_the_settings_can_be_shown(project: Path, run: Run) -> None:
    assert f"note: bins, by, label, metrics, prob, seed from {project}" in run("evaluate", "preds.csv", "--debug")[2]
