"""The recipes: the guide shows the files as they are, and what a shell can run of them is run."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrant.cli import main
from calibrant.monitoring.monitor import Monitor

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "examples" / "recipes"
GUIDE = ROOT / "docs" / "guides" / "deployment.md"
RNG = np.random.default_rng(4)


def read_yaml(name: str) -> Any:
    yaml = pytest.importorskip("yaml", reason="NO PYYAML: pip install pyyaml to run the recipes")
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))


Shell = Callable[..., list[int]]


@pytest.fixture
def shell(tmp_path: Path, deep: bool, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Run a script in a shell; gives the exit code, or in the short form those of the calls of calibrant.

    In the short form `calibrant` only writes its arguments down, and the calls are then made in this process, where they take a
    tenth of the time.
    """
    tools, work, calls = tmp_path / "tools", tmp_path / "work", tmp_path / "calls"
    tools.mkdir()
    work.mkdir()
    own = f'exec "{sys.executable}" -m calibrant "$@"' if deep else f"printf '%s\\0' \"$@\" '|' >> {calls}"
    for name, script in {"calibrant": own, "python": f'exec "{sys.executable}" -S "$@"'}.items():
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    for name in ("GITHUB_ACTIONS",):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(work)

    def call(*words: str) -> list[int]:
        calls.write_text("")
        done = subprocess.run(words, capture_output=True, text=True)
        sys.stdout.write(done.stdout + done.stderr)
        if deep or done.returncode:
            return [done.returncode]
        codes = [0]
        for line in calls.read_text().split("|\0")[:-1]:
            with pytest.raises(SystemExit) as stopped:
                main(line.split("\0")[:-1])
            codes.append(int(stopped.value.code or 0))
            if codes[-1]:  # the shell of the recipe stops here
                break
        return codes

    return call


def test_the_guide_shows_the_files_as_they_are() -> None:
    page = GUIDE.read_text(encoding="utf-8")
    shown = [
        path
        for path in FOLDER.rglob("*")
        if path.is_file() and path.name not in ("README.md", "prometheus_alerts_test.yml")
    ]
    assert len(shown) >= 9
    for path in shown:
        assert f"\n{path.read_text(encoding='utf-8')}```\n" in page, path.name


def test_backup(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    p = RNG.beta(1, 3, 60)
    made = Monitor.create("churn.db", reference=((RNG.random(60) < p).astype(int), p), every="1d", n_resamples=19)
    made.update(None, p, when="2026-01-05", ids=range(60))
    Path("backup").mkdir()
    assert set(shell("sh", str(FOLDER / "backup.sh"))) == {0}
    assert "No damage found." in capsys.readouterr().out
    (copy,) = Path("backup").iterdir()
    assert Monitor.open(copy).status().n == 60


def test_github_actions(tmp_path: Path, shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    """Every `run:` step in the shell of the runner, but the installation."""
    steps = [step["run"] for step in read_yaml("github_actions.yml")["jobs"]["calibration"]["steps"] if "run" in step]
    install, *rest = steps
    assert install == "pip install ./calibrant"
    p = RNG.beta(1, 3, 600)
    script = "import shutil, sys; shutil.copy('../made.parquet', sys.argv[sys.argv.index('--out') + 1])"
    Path("predict.py").write_text(script)
    for label, expected in ((RNG.random(600) < p, 0), (RNG.random(600) < 0.5, 1)):
        pd.DataFrame({"churned": label.astype(int), "p_churn": p}).to_parquet(tmp_path / "made.parquet")
        codes = [shell("bash", "-e", "-o", "pipefail", "-c", step)[-1] for step in rest]
        assert codes == [0, expected]
        printed = capsys.readouterr()
        assert ("gate failed: ece.low > 0.03" in printed.out + printed.err) == bool(expected)


def test_kubernetes_cronjob(tmp_path: Path, shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    """The command of the container, in the folder that is mounted; the day that is added last is without alarm until it is closed."""
    spec = read_yaml("kubernetes_cronjob.yaml")["spec"]["jobTemplate"]["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    assert spec["podFailurePolicy"]["rules"][0]["onExitCodes"]["values"] == [1, 3]
    work = tmp_path / "work"
    day = (pd.Timestamp.now("UTC") - pd.Timedelta(days=1)).strftime("%Y-%m-%d")
    old, p = RNG.beta(2, 4, 500), RNG.beta(2, 4, 100)
    pd.DataFrame({"churned": (RNG.random(500) < old).astype(int), "p_churn": old}).to_csv(
        work / "validation.csv", index=False
    )
    created = re.search(r"`(calibrant monitor init [^`]+)`", GUIDE.read_text(encoding="utf-8"))
    assert set(shell(*created[1].split(), "--resamples", "19")) == {0}
    made = Monitor.open(work / "churn.db")
    ids = [f"{day} {row}" for row in range(100)]
    pd.DataFrame({"request": ids, "p_churn": p, "predicted_at": f"{day}T12:00"}).to_parquet(
        work / f"predictions-{day}.parquet"
    )
    pd.DataFrame({"request": ids, "churned": (RNG.random(100) > p).astype(int)}).to_csv(
        work / f"labels-{day}.csv", index=False
    )
    assert set(shell(*container["command"], *container["args"])) == {0}
    printed = capsys.readouterr().out
    assert "100 rows: 100 added" in printed
    assert "100 labels: 100 added" in printed
    made.advance(pd.Timestamp.now("UTC").strftime("%Y-%m-%dT%H:%M"))  # the day is over, and its labels are reversed
    assert shell(*container["command"], *container["args"])[-1] == 3
    assert "100 rows: 100 duplicates" in capsys.readouterr().out
    (work / f"labels-{day}.csv").unlink()
    assert shell(*container["command"], *container["args"])[-1] == 2


def test_monitor_script(tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch, deep: bool) -> None:
    """The script of cron prints nothing without an alarm, and the table of alarms with exit code 3 otherwise."""
    calls = f'exec "{sys.executable}" -m calibrant "$@"'
    (tmp_path / "tools" / "calibrant").write_text(f"#!/bin/sh\n{calls}\n")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    work, p = tmp_path / "work", RNG.beta(2, 4, 200)
    shutil.copy(FOLDER / "monitor.sh", work)
    (work / "churn").mkdir()
    columns = {"label": "y", "prob": "p", "id": "id"}
    reference = ((RNG.random(200) < p).astype(int), p)
    Monitor.create(work / "churn.db", reference=reference, every=100, columns=columns, n_resamples=19)
    for outcome, code in ((RNG.random(200) < p, 0), (RNG.random(200) > p, 3))[not deep :]:
        rows = pd.DataFrame({"id": [f"{code}-{row}" for row in range(200)], "y": outcome.astype(int), "p": p})
        rows.to_csv(work / f"churn/predictions-{code}.csv", index=False)
        done = subprocess.run(["sh", work / "monitor.sh"], capture_output=True, text=True, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (code, "")
        assert done.stdout.startswith("churn.db: ") == bool(code)
        assert bool(done.stdout) == bool(code)
        assert (work / f"churn/added/predictions-{code}.csv").exists()
        assert 'calibrant_alarms_open{model="churn",kind="calibration"}' in (work / "gauges/churn.prom").read_text()
        assert {path.name for path in (work / "pages").iterdir()} == {"churn.html"}


@pytest.mark.deep
def test_prometheus() -> None:
    tool = shutil.which("promtool")
    if tool is None:
        pytest.skip("NO PROMTOOL: install Prometheus to check its configuration and rules")
    for words in (["check", "config", "prometheus.yml"], ["test", "rules", "prometheus_alerts_test.yml"]):
        done = subprocess.run([tool, *words], cwd=FOLDER, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.deep
def test_dbt(tmp_path: Path, shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which("dbt") is None:
        pytest.skip("NO DBT: pip install dbt-duckdb in some environment on the PATH to build its table")
    work = tmp_path / "work"
    shutil.copytree(FOLDER / "dbt", work, dirs_exist_ok=True)
    (work / "seeds").mkdir()
    names, p = [f"c{row}" for row in range(1000)], RNG.beta(1, 3, 1000)
    first = pd.DataFrame({"customer": names, "p_churn": p / 9, "scored_at": "2026-02-01"})
    pd.concat([first, first.assign(p_churn=p, scored_at="2026-03-01")]).to_csv(work / "seeds/scores.csv", index=False)
    for label, expected in ((RNG.random(1000) < p, 0), (RNG.random(1000) < 0.5, 1)):
        frame = pd.DataFrame({"customer": names, "churned": label.astype(int)})
        frame.to_csv(work / "seeds/outcomes.csv", index=False)
        assert shell("sh", "check.sh") == [expected]
        assert "1,000 rows" in capsys.readouterr().out  # the newest score of each customer
