"""Every script of examples/ runs alone in an empty folder, says what its page says it does, and writes only where it may."""

import io
import re
import runpy
import subprocess
import sys
import warnings
from contextlib import redirect_stdout
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent.parent / "examples"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py"))
pytest.importorskip("sklearn", reason="NO SCIKIT-LEARN: pip install 'calibrant[sklearn]' to run the examples")


def run(folder: Path, name: str, *options: str, code: int = 0) -> str:
    """What a script prints, run from a folder of the user's own; warnings are errors."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error")
        patch.setattr(sys, "argv", [f"{name}.py", *options])
        patch.chdir(folder)
        try:
            runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
            status = 0
        except SystemExit as stopped:
            status = stopped.code or 0
    assert status == code, printed.getvalue()
    return printed.getvalue()


def run_alone(folder: Path, name: str, *options: str) -> str:
    """The same in a process of its own."""
    command = [sys.executable, "-W", "error", str(FOLDER / f"{name}.py"), *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=3600)
    assert done.returncode == 0, done.stderr
    assert not done.stderr or name == "spark_local", done.stderr
    return done.stdout


def figure(pattern: str, text: str) -> float:
    """The number that stands where the pattern has its group."""
    found = re.search(pattern, text)
    assert found, f"{pattern} in:\n{text}"
    return float(found.group(1))


def left(folder: Path) -> set[str]:
    """Names of the files in a folder."""
    return {path.name for path in folder.iterdir()}


def test_page_lists_every_script() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| \[(\w+)\.py\]\(\1\.py\) \|", page, re.MULTILINE)) == SCRIPTS


def test_every_script_is_run_here() -> None:
    """No script is added without a test of what it prints."""
    called = set(re.findall(r'run(?:_alone)?\(tmp_path, "(\w+)"', Path(__file__).read_text(encoding="utf-8")))
    assert called == set(SCRIPTS)


def test_clinical_validation(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    text = run(tmp_path, "clinical_validation", "--out", str(out))
    assert left(tmp_path) == {"out"}
    assert left(out) == {"validation.html"}
    assert figure(r"predicted over observed events\s+([\d.]+)", text) < 0.9  # events are missed at the second hospital
    assert figure(r"calibration slope\s+([\d.]+)", text) < 0.8  # and risks are too extreme
    before, after = (figure(rf"{word}\s+nll ([\d.]+)", text) for word in ("before", "after"))
    assert after < before
    before, after = (figure(rf"{word}\s+(\d+)   \(treat all", text) for word in ("before", "after"))
    assert after > before
    assert "Overconfident" in text


def test_ci_gate_lets_a_better_model_pass(tmp_path: Path) -> None:
    text = run(tmp_path, "ci_gate")
    assert text.rstrip().splitlines()[-1].startswith("PASS")
    assert not left(tmp_path)


def test_ci_gate_stops_a_model_that_is_more_accurate_and_worse(tmp_path: Path) -> None:
    text = run(tmp_path, "ci_gate", "--candidate", "overfitted", code=1)
    old, new = re.findall(r"accuracy ([\d.]+) -> ([\d.]+)", text)[0]
    assert float(new) > float(old)
    assert "FAIL: significantly worse by nll" in text


def test_abstention(tmp_path: Path) -> None:
    text = run(tmp_path, "abstention")
    assert "with probability at least 90% the error rate of accepted" in text
    naive, chosen = (
        figure(rf"{words}.*accuracy ([\d.]+)%", text) for words in ("uncalibrated, conf", "chosen threshold")
    )
    assert naive < 96 <= chosen
    assert figure(r"go to clerks: (\d+) clerks needed", text) >= 1


def test_large_parquet(tmp_path: Path) -> None:
    text = run(tmp_path, "large_parquet", "--rows", "60000")
    assert left(tmp_path) == {"monday.parquet", "tuesday.parquet", "days.sketch"}
    assert "120,000 rows: ece" in text
    off = re.findall(r"^(\w+) .*below 0\.01$", text, re.MULTILINE)
    assert off == ["west"]


@pytest.mark.usefixtures("quick_windows")
def test_daily_monitor(tmp_path: Path) -> None:
    (tmp_path / "daily_monitor.db").write_text("of an earlier run")
    text = run(tmp_path, "daily_monitor")
    assert all(name.startswith("daily_monitor.db") for name in left(tmp_path))
    began = figure(r"alarm about change:\n.*Estimated onset 2026-03-(\d+): .*probabilities too low", text)
    assert abs(began - 16) <= 2
    assert 18 <= figure(r"\(day (\d+)\), alarm about change", text) <= 24  # labels come four days after the 14th


def test_groups(tmp_path: Path) -> None:
    before, after = run(tmp_path, "groups").split("after an offset")
    assert set(re.findall(r"(\w+) .*significant", before)) == {"city", "valley"}
    assert "significant" not in after
    assert figure(r"after - before\s+(-[\d.]+)", after) < 0
    assert figure(r"\(pce\) ([\d.]+)", after) < figure(r"\(pce\) ([\d.]+)", before)


def test_stated_confidence(tmp_path: Path) -> None:
    text = run(tmp_path, "stated_confidence")
    words = ("uncalibrated", "temperature", "temperature and biases")
    first, second, third = (figure(rf"{word}\s+nll ([\d.]+)", text) for word in words)
    assert third < second < first
    assert figure(r"observed rate \+([\d.]+)", text) > 0.03
    low, pooled, high = (
        figure(pattern, text)
        for pattern in (r", (\d+)% and \d+% separately", r"accuracy (\d+)% together", r"and (\d+)% separately")
    )
    assert low < pooled < high
    assert figure(r"of 15 bins of equal mass (\d+) remain", text) < 15
    assert figure(r'"90%" becomes (\d+)%', text) < 85


@pytest.mark.deep
def test_recalibrate_digits(tmp_path: Path) -> None:
    text = run_alone(tmp_path, "recalibrate_digits")
    assert "selected by cross-validation on 698 rows" in text
    assert figure(r"after - before\s+(-[\d.]+)", text) < 0
    assert not left(tmp_path)


@pytest.mark.deep
def test_pytorch_network(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="NO TORCH: pip install 'calibrant[torch]' to run this example")
    text = run_alone(tmp_path, "pytorch_network")
    assert left(tmp_path) == {"digits.pt2", "temperature.json"}
    assert figure(r"temperature ([\d.]+)", text) > 1.2
    assert figure(r"after .* nll ([\d.]+)", text) < figure(r"before .* nll ([\d.]+)", text)
    assert figure(r"coverage [\d.]+%, accuracy ([\d.]+)%", text) >= 90


@pytest.mark.deep
def test_image_workflow(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="NO TORCH: pip install 'calibrant[torch]' to run this example")
    text = run_alone(tmp_path, "image_workflow")
    assert figure(r"temperature ([\d.]+)", text) > 1.2
    assert figure(r"after .* ece ([\d.]+)", text) < figure(r"before .* ece ([\d.]+)", text) / 2
    # The temperature does not repair what the network has not seen, and the monitor finds it.
    assert figure(r"shifted .* ece ([\d.]+)", text) > 3 * figure(r"after .* ece ([\d.]+)", text)
    assert figure(r"confidence: AUROC ([\d.]+)", text) > 0.9
    assert 5 <= figure(r"day (\d), alarm about calibration", text) <= 8
    assert not left(tmp_path)
    assert "onset 2026-03-07" in text


@pytest.mark.deep
def test_spark_local(tmp_path: Path) -> None:
    text = run_alone(tmp_path, "spark_local")
    if text.startswith("SKIPPED"):
        pytest.skip(text.strip())
    assert "identical to a single process: True" in text
    app, web = (figure(rf"{channel}: ece ([\d.]+)", text) for channel in ("app", "web"))
    assert web > 3 * app
    assert figure(r"applied on the cluster: ece ([\d.]+)", text) < web / 2


def test_spark_local_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Java the script ends openly, and with 0."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert run_alone(tmp_path, "spark_local").startswith("SKIPPED: ")


@pytest.mark.deep
def test_make_digits(tmp_path: Path) -> None:
    """The rows are those of the packaged files; what other versions of scikit-learn predict may differ a little."""
    run(tmp_path, "make_digits", "--out", ".")
    assert left(tmp_path) == {"digits_validation.csv", "digits_test.csv"}
    packaged = FOLDER.parent / "src" / "calibrant" / "cli" / "data"
    for name in left(tmp_path):
        made, kept = ((folder / name).read_text().splitlines() for folder in (tmp_path, packaged))
        assert [row.split(",")[0] for row in made] == [row.split(",")[0] for row in kept]
