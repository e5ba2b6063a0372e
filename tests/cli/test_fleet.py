"""`calibrant monitor run`: a fleet is updated from its files, and one failing model stops no other."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.cli import main
from calibrant.monitoring import fleet_status, load_fleet
from tests.postgres import Server

Run = Callable[..., tuple[int, str, str]]
SHARED = """
[models]
store = "{model}.db"
reference = "reference.csv"
prob = "p"
label = "y"
time = "at"
id = "id"
every = "1d"
resamples = 19
predictions = "{model}-*.csv"
labels = ["{model}.labels.csv"]
"""


def table(path: Path, rows: dict[str, Any]) -> None:
    lines = [",".join(rows), *(",".join(map(str, row)) for row in zip(*rows.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_day(folder: Path, model: str, day: int, shift: float) -> None:
    """Predictions and labels of a day; the probabilities are too high by `shift` on the logit."""
    rng = np.random.default_rng(day)
    p = rng.beta(2, 2, 80).round(4)
    y = (rng.random(80) < 1 / (1 + np.exp(shift) * (1 / p - 1))).astype(int)
    ids = [f"{day}-{row}" for row in range(80)]
    table(folder / f"{model}-{day}.csv", {"id": ids, "at": [f"2026-03-0{day}"] * 80, "p": p})
    labels = folder / f"{model}.labels.csv"
    before = labels.read_text(encoding="utf-8") if labels.exists() else "id,y\n"
    lines = "".join(f"{each},{label}\n" for each, label in zip(ids, y, strict=True))
    labels.write_text(before + lines, encoding="utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models, one of which has no file, after their first run."""
    folder = tmp_path_factory.mktemp("fleet")
    rng = np.random.default_rng(0)
    p = rng.beta(2, 2, 300).round(4)
    table(folder / "reference.csv", {"y": (rng.random(300) < p).astype(int), "p": p})
    for model, shift in (("quiet", 0.0), ("wrong", 2.0)):
        for day in (1, 2, 3):
            write_day(folder, model, day, shift)
    text = f'{SHARED}[models.quiet]\n[models.wrong]\n[models.lost]\npredictions = "none.csv"\n'
    config = folder / "calibrant.toml"
    config.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit) as stopped:
        main(["monitor", "run", "--all", "--now", "2026-03-04", "--config", str(config)])
    assert stopped.value.code == 2
    return folder


@pytest.fixture
def fleet(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = Path(shutil.copytree(built, tmp_path / "fleet"))
    monkeypatch.chdir(folder)
    return folder


def add(folder: Path, text: str) -> None:
    with open(folder / "calibrant.toml", "a", encoding="utf-8") as file:
        file.write(text)


def test_a_fleet_is_updated_once_and_the_worst_is_first(run: Run, fleet: Path) -> None:
    for again in range(2):  # its first run was another one
        more = ["--json", "fleet.json"]
        code, out, err = run("monitor", "run", "--all", "--now", "2026-03-04", *more)
        assert code == 2, again
        assert out.startswith("1 of 3 models with an open alarm; 1 selected by e-BH")
        assert "error: lost: " in err
        assert "none.csv: no such file" in err
        found = json.loads((fleet / "fleet.json").read_text())
        assert [model["model"] for model in found["models"]] == ["wrong", "lost", "quiet"]
        assert [model["n"] for model in found["models"]] == [240, 0, 240]
        assert [model["labelled"] for model in found["models"]] == [240, 0, 240]
        assert [model["state"] for model in found["models"]] == ["alarm", "failed", "quiet"]
        assert found["selected"] == ["wrong"]
    # Without the broken model there are alarms only, and codes as for one monitor.
    assert run("monitor", "run", "--model", "wrong", "--model", "quiet")[0] == 3
    assert run("monitor", "run", "--model", "wrong", "--fail-on-alarm", "selected")[0] == 3
    assert run("monitor", "run", "--model", "wrong", "--fail-on-alarm", "never")[0] == 0
    # A changed file is read again, and its rows are known.
    write_day(fleet, "quiet", 4, 0.0)
    os.utime(fleet / "quiet-1.csv", ns=(0, 0))
    assert run("monitor", "run", "--model", "quiet", "--now", "2026-03-05")[0] == 0
    assert cal.Monitor.open("quiet.db").status().n == 320
    # Alarms are acknowledged one by one: both of the change detector have one onset.
    monitor = cal.Monitor.open("wrong.db")
    kinds = [alarm.kind for alarm in monitor.status().open_alarms]
    assert kinds.count("calibration") == 1
    number = monitor.status().open_alarms[0].number
    assert run("monitor", "acknowledge", "wrong.db", number)[1] == "1 alarm acknowledged\n"
    assert len(monitor.status().open_alarms) == len(kinds) - 1
    code, _, err = run("monitor", "acknowledge", "wrong.db", 99)
    assert (code, "there is no alarm 99" in err) == (2, True)


def test_sources_of_other_kinds(run: Run, fleet: Path) -> None:
    """Tables of a DuckDB database, files with a condition, and files without ids."""
    import duckdb

    with duckdb.connect("rows.duckdb") as database:
        database.execute("CREATE TABLE made AS SELECT * FROM read_csv('quiet-*.csv')")
    with duckdb.connect("labels.duckdb") as database:
        database.execute("CREATE TABLE seen AS SELECT id, 0 AS y, \"at\" FROM read_csv('quiet-*.csv')")
    text = """
[models.sql]
predictions = { file = "rows.duckdb", table = "made", where = "\\"at\\" < '2026-03-03'" }
labels = { file = "labels.duckdb", where = "\\"at\\" < '2026-03-02'" }
[models.some]
predictions = { file = "quiet-*.csv", where = "p > 0.5" }
labels = []
[models.bare]
predictions = "bare-*.csv"
labels = []
rows = 50
time = ""
id = ""
[models.typo]
prediction = "x"
"""
    add(fleet, text)
    (fleet / "bare-1.csv").write_text("p\n0.3\n0.6\n")
    code, _, err = run("monitor", "run", "--all", "--now", "2026-03-04", "--json", "f.json")
    found = {model["model"]: model for model in json.loads((fleet / "f.json").read_text())["models"]}
    assert code == 2, err
    assert (found["sql"]["n"], found["sql"]["labelled"]) == (160, 80)
    assert 0 < found["some"]["n"] < 240
    assert found["bare"]["n"] == 2
    assert "prediction" in found["typo"]["error"]
    assert "did you mean 'predictions'" in err
    # A file without ids is one delivery; with other rows it is an error and not counted twice.
    (fleet / "bare-1.csv").write_text("p\n0.3\n0.6\n0.7\n")
    code, _, err = run("monitor", "run", "--model", "bare")
    assert (code, "already added with other rows" in err) == (2, True), err
    assert cal.Monitor.open("bare.db").status().n == 2


def models_of(path: str) -> dict[str, Any]:
    return {each["model"]: each for each in json.loads(Path(path).read_text())["models"]}


def test_a_bad_file_is_set_aside_and_the_others_are_added(run: Run, fleet: Path) -> None:
    """One probability of 1.7 stops neither later files nor labels; it is reported until the file is mended or removed."""
    add(fleet, '[models.odd]\nlabels = ["odd.labels.csv", "absent.csv"]\n')
    for day in (1, 2, 3):
        write_day(fleet, "odd", day, 0.0)
    good = (fleet / "odd-1.csv").read_text()
    (fleet / "odd-1.csv").write_text(good.replace("1-1,2026-03-01,0", "1-1,2026-03-01,1"))
    content = hashlib.sha256((fleet / "odd-1.csv").read_bytes()).hexdigest()
    command = ("monitor", "run", "--model", "odd", "--now", "2026-03-04", "--json", "f.json")
    for again in range(2):
        code, out, err = run(*command)
        found = models_of("f.json")["odd"]
        assert (code, found["n"], found["labelled"]) == (2, 160, 160)
        assert f"error: odd: 2 files set aside: odd-1.csv (sha256 {content[:12]}): " in err
        assert "on line 3" in err
        assert "absent.csv: no such file" in err
        rows = {"file": "odd-2.csv", "rows": 80, "added": 80, "repeated": 0, "pruned": 0, "dropped_rows": 0}
        assert (rows in found["intake"]) is not again
        labels = {"file": "odd.labels.csv", "labels": 240, "labelled": 160, "unknown": 80}
        assert any(labels.items() <= each.items() for each in found["intake"]) is not again
        assert ("odd: 2 files, 160 rows: 160 added" in out) is not again
        assert ("odd: 1 file, 240 labels: 160 added, 80 with unknown ids, kept" in out) is not again
    (fleet / "odd-1.csv").write_text(good)
    (fleet / "absent.csv").write_text("id,y\n1-0,1\n")
    code, _, err = run(*command, "--fail-on-alarm", "never")
    assert (code, err) == (0, "")
    found = models_of("f.json")["odd"]
    assert (found["n"], found["labelled"]) == (240, 240)


def test_files_are_known_by_their_content(run: Run, fleet: Path) -> None:
    """Corrections in a file of the same size and time are found, and an unchanged file with another time is not read again."""
    command = ("monitor", "run", "--model", "quiet", "--now", "2026-03-04", "--json", "f.json")
    labels = fleet / "quiet.labels.csv"
    before, lines = labels.stat(), labels.read_text().splitlines()
    flipped = [line[:-1] + str(1 - int(line[-1])) for line in lines[1:51]]
    labels.write_text("\n".join([lines[0], *flipped, *lines[51:]]) + "\n")
    os.utime(labels, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert labels.stat().st_size == before.st_size
    run(*command)
    counts = {"file": "quiet.labels.csv", "labels": 240, "revised": 50, "repeated": 190}
    assert [counts.items() <= each.items() for each in models_of("f.json")["quiet"]["intake"]] == [True]
    os.utime(fleet / "quiet-1.csv")
    run(*command)
    assert models_of("f.json")["quiet"]["intake"] == []


def test_a_fault_in_one_file_stops_no_other(run: Run, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from calibrant.cli import fleet as updating

    add(fleet, '[models.odd]\nlabels = ["odd.labels.csv"]\n')
    for day in (1, 2, 3):
        write_day(fleet, "odd", day, 0.0)
    plain = updating.add_predictions

    def fail(opened: Any, file: str, *rest: Any, **options: Any) -> Any:
        if file.endswith("odd-1.csv"):
            raise ZeroDivisionError
        return plain(opened, file, *rest, **options)

    command = ("monitor", "run", "--model", "odd", "--now", "2026-03-04", "--json", "f.json")
    with monkeypatch.context() as patched:
        patched.setattr(updating, "add_predictions", fail)
        code, _, err = run(*command)
    found = models_of("f.json")["odd"]
    assert (code, found["n"], found["labelled"]) == (70, 160, 160)
    assert "ZeroDivisionError" in err
    assert "error: odd: 1 file set aside: odd-1.csv (sha256 " in err
    assert "internal error (ZeroDivisionError)" in found["error"]
    assert run(*command, "--fail-on-alarm", "never")[0] == 0
    assert models_of("f.json")["odd"]["n"] == 240


def test_names_and_copies_of_sources(run: Run, fleet: Path) -> None:
    """A name with the signs of a pattern, a file that is read in two ways, and one that is converted are each read once."""
    feather = pytest.importorskip("pyarrow.feather")
    odd = Path(shutil.copytree(fleet, fleet / "f[1]", ignore=shutil.ignore_patterns("*.db*")))
    (odd / "quiet-1.csv").rename(odd / "a[1]-1.csv")
    feather.write_feather(
        pytest.importorskip("pyarrow").table({"p": [0.1, 0.7] * 40, "y": [0, 1] * 40}), odd / "x.feather"
    )
    text = """
[models."a[1]"]
labels = ""
[models.twice]
predictions = [{ file = "wrong-1.csv", where = "p < 0.5" }, { file = "wrong-1.csv", where = "p >= 0.5" }, "wrong-1.cs?"]
labels = ""
id = ""
[models.copied]
predictions = "*.feather"
labels = ""
id = ""
time = ""
rows = 40
"""
    (odd / "calibrant.toml").write_text(SHARED + text, encoding="utf-8")
    for _ in range(2):
        code, _, err = run(
            "monitor", "run", "--all", "--now", "2026-03-02", "--config", str(odd), "--json", "found.json"
        )
        assert (code, err) == (3, "")
        found = {each["model"]: each["n"] for each in json.loads(Path("found.json").read_text())["models"]}
        assert found == {"a[1]": 80, "twice": 160, "copied": 80}


def test_the_creation_of_a_store_that_was_interrupted(run: Run, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run completes what a killed one began, and uses what another run was faster to create; it replaces no empty file."""
    Path("wrong.db").unlink()
    with closing(sqlite3.connect("wrong.db")) as begun:
        begun.execute("PRAGMA journal_mode = WAL")
    code, out, _ = run("monitor", "run", "--model", "wrong", "--now", "2026-03-04")
    assert (code, cal.Monitor.open("wrong.db").status().n) == (3, 240)
    intake = "wrong: 3 files, 240 rows: 240 added\nwrong: 1 file, 240 labels: 240 added\n"
    assert intake in out
    monkeypatch.setattr("calibrant.monitoring.fleet.FleetModel.exists", False)
    assert run("monitor", "run", "--model", "wrong", "--now", "2026-03-04")[:2] == (3, out.replace(intake, ""))
    monkeypatch.undo()
    (fleet / "wrong.db").write_bytes(b"")
    code, _, err = run("monitor", "run", "--model", "wrong", "--config", str(fleet))
    assert code == 2
    assert "is not a calibrant monitor" in err
    assert (fleet / "wrong.db").stat().st_size == 0


def test_messages_about_the_command(run: Run, fleet: Path) -> None:
    for arguments, problem in (
        ((), "--all"),
        (("--all", "--model", "quiet"), "cannot be combined"),
        (("--model", "quite"), "did you mean 'quiet'"),
        (("--all", "--fdr", "2"), "--fdr"),
        (("--all", "--config", "none.toml"), "none.toml"),
    ):
        code, _, err = run("monitor", "run", *arguments)
        assert (code, problem in err) == (2, True), err


def test_status_in_python(fleet: Path) -> None:
    (fleet / "lost.db").unlink()
    status = fleet_status({model.name: model.store for model in load_fleet()}, alpha=0.1)
    again = fleet_status({"quiet": "quiet.db", "wrong": cal.Monitor.open("wrong.db"), "lost": "lost.db"})
    assert status.selected == again.selected == ("wrong",)
    assert status.failed == again.failed == ("lost",)
    assert len(status.to_frame()) == 3
    assert "wrong" in repr(status)
    assert "calibrated" not in status.verdict
    for bad in ([], {}, "x.db", {"a": 3}):
        with pytest.raises(cal.errors.InputTypeError, match="models"):
            fleet_status(bad)  # type: ignore[arg-type]


def test_the_configuration_of_the_documentation(built: Path, tmp_path: Path, run: Run) -> None:
    """The file of docs/monitor.md runs as it is."""
    page = (Path(__file__).parents[2] / "docs" / "monitor.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (tmp_path / "calibrant.toml").write_text(shown[0], encoding="utf-8")
    for model, source in (("churn", "quiet"), ("fraud", "wrong")):
        (folder := tmp_path / model).mkdir()
        for name, old in (
            ("validation", "reference"),
            ("predictions-1", f"{source}-1"),
            ("labels-1", f"{source}.labels"),
        ):
            lines = (built / f"{old}.csv").read_text(encoding="utf-8").splitlines()
            head = lines[0].replace("id", "request").replace("at", "predicted_at")
            more = [",FR" if "p" in head and model == "fraud" else ""] * len(lines)
            more[0] = ",country" if more[0] else ""
            text = "\n".join(line + part for line, part in zip([head, *lines[1:]], more, strict=True))
            (folder / f"{name}.csv").write_text(text + "\n", encoding="utf-8")
    late = (tmp_path / "fraud" / "predictions-1.csv").read_text().replace("\n1-", "\n2-").replace("03-01", "03-02")
    (tmp_path / "fraud" / "predictions-2.csv").write_text(late)
    arguments = ("monitor", "run", "--all", "--now", "2026-03-03", "--config", tmp_path, "--json", tmp_path / "f.json")
    code, out, err = run(*arguments)
    assert (code, err) == (3, ""), err
    assert [model["model"] for model in json.loads((tmp_path / "f.json").read_text())["models"]] == ["fraud", "churn"]
    assert "fraud" in out


def test_a_store_on_a_server(fleet: Path, run: Run, postgres: Server) -> None:
    """A model whose store is a schema: created by the first run, and its password is in no output."""
    add(
        fleet,
        f'[models.far]\nstore = "{postgres.store("fleet_far")}"\npredictions = "wrong-*.csv"\nlabels = "wrong.labels.csv"\n',
    )
    for again in range(2):
        code, out, err = run("monitor", "run", "--model", "far", "--now", "2026-03-04", "--json", "far.json")
        assert (code, err) == (3, ""), again
        found = json.loads((fleet / "far.json").read_text())["models"][0]
        assert (found["n"], found["labelled"]) == (240, 240)
        for text in (out, (fleet / "far.json").read_text()):
            assert "s3cret" not in text
    monitor = cal.Monitor.open(postgres.store("fleet_far"))
    number = monitor.status().open_alarms[0].number
    assert monitor.acknowledge(number) >= 1
    assert number not in [alarm.number for alarm in monitor.status().open_alarms]
