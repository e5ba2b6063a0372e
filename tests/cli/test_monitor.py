"""`calibrant monitor`: from init to the page, with exit codes for scheduled jobs and errors in one line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.errors import FileError
from calibrant.monitoring.monitor import Monitor
from tests.calling import Run, check_refusal

pytestmark = pytest.mark.usefixtures("quick_windows")
RNG = np.random.default_rng(3)
SCORE = RNG.beta(2, 2, 600).round(4)
YES = (RNG.random(600) < SCORE).astype(int)
TIME = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(300) * 1440, unit="s")  # 60 rows a day
LAND = np.array(["FR", "DE"])[np.arange(600) % 2]
QUICK = ["--resamples", "39", "--drift-alpha", "0.3"]


@pytest.fixture
def run(run: Run) -> Run:
    """A command of `monitor`."""
    return lambda *arguments: run("monitor", *arguments)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    pd.DataFrame({"y": YES, "p": SCORE, "land": LAND}).iloc[300:].to_csv(tmp_path / "reference.csv", index=False)
    new = pd.DataFrame({"p": SCORE[:300], "made": TIME, "row": np.arange(300), "land": LAND[:300]})
    new.to_csv(tmp_path / "new.csv", index=False)
    new.assign(y=YES[:300]).to_parquet(tmp_path / "labelled.parquet")
    new.assign(y=np.where(np.arange(300) % 3, YES[:300], np.nan)).to_csv(tmp_path / "some.csv", index=False)
    pd.DataFrame({"row": np.arange(300), "y": YES[:300]}).to_csv(tmp_path / "labels.csv", index=False)
    wrong = {"p": np.full(200, 0.9), "y": 0, "made": "2026-01-20T10:00:00Z", "row": np.arange(300, 500), "land": "FR"}
    pd.DataFrame(wrong).to_csv(tmp_path / "wrong.csv", index=False)
    pd.DataFrame({"row": [0, 1], "y": [7, 0]}).to_csv(tmp_path / "other.csv", index=False)
    pd.DataFrame({"p": [0.5], "made": [1_767_225_600]}).to_parquet(tmp_path / "epoch.parquet")
    pd.DataFrame({**wrong, "made": "2026-01-22", "row": np.arange(500, 700)}).iloc[:1].to_csv(tmp_path / "next.csv")
    return tmp_path


@pytest.fixture
def store(run: Run, files: Path) -> Path:
    path = files / "watch.db"
    code, out, err = run("init", path, "--reference", files / "reference.csv", "--every", "1d", *QUICK)
    assert (code, err) == (0, "")
    assert "windows of 1 day, reference of 300 rows" in out
    return path


def test_a_file_that_cannot_be_added_stops_no_other(
    run: Run, files: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is reported by every update until it is mended; what was added is known by its content."""
    parts = [files / f"day-{day}.csv" for day in range(3)]
    for day, part in enumerate(parts):
        pd.DataFrame({"p": SCORE[:300], "made": TIME}).iloc[100 * day : 100 * (day + 1)].to_csv(part, index=False)
    good = parts[0].read_text()
    parts[0].write_text(good.replace(f"\n{SCORE[0]},", "\n1.7,"))
    command = ("update", store, *parts, files / "absent.csv", "--time", "made", "--fail-on-alarm", "never")
    content = hashlib.sha256(parts[0].read_bytes()).hexdigest()
    for what, known in (("added", ""), ("duplicates", ", unchanged since it was set aside")):
        code, out, err = run(*command)
        assert code == 2
        assert out.count(f"100 rows: 100 {what}") == 2
        assert f"error: {parts[0]} (sha256 {content[:12]}{known}): --prob: " in err
        assert f"error: {files / 'absent.csv'}: " in err
    code, out, err = run(*command, "--json")
    aside = json.loads(out)["set_aside"]
    assert (code, len(json.loads(out)["files"]), len(aside)) == (2, 2, 2)
    assert (aside[str(parts[0])]["sha256"], aside[str(parts[0])]["unchanged"]) == (content, True)
    notes = json.loads(run("status", store, "--json", "--fail-on-alarm", "never")[1])["notes"]
    assert [note[: len(f"Set aside: {parts[0]} (sha256 ")] for note in notes if "Set aside" in note] == [
        f"Set aside: {parts[0]} (sha256 "
    ]
    parts[0].write_text(good.replace(f"\n{SCORE[0]},", "\n1.8,"))
    assert "unchanged" not in run(*command)[2]
    parts[0].write_text(good)
    assert run(*command[:5], *command[6:])[::2] == (0, "")
    assert Monitor.open(store).status().n == 300
    assert "Set aside" not in run("status", store, "--fail-on-alarm", "never")[1]
    assert run(*command, "--delivery", "monday")[0] == 2

    def fail(opened: Monitor, file: str, *rest: object, **options: object) -> object:
        raise ZeroDivisionError if file.endswith("0.csv") else FileError(file, "is odd")

    monkeypatch.setattr("calibrant.cli.feeding.add_predictions", fail)
    code, _, err = run(*command)
    assert (code, err.count("error: ")) == (70, 4)


def test_rows_then_labels_then_status(run: Run, files: Path, store: Path) -> None:
    new = ("update", store, files / "new.csv", "--time", "made", "--id", "row", "--fail-on-alarm", "never")
    code, out, err = run(*new)
    assert (code, err) == (0, "")
    assert out.startswith("300 rows: 300 added; 4 windows closed")
    assert run(*new)[1] == "300 rows: 300 duplicates\n"
    code, out, _ = run("labels", store, files / "labels.csv", "--id", "row", "--json")
    assert code == 0
    assert json.loads(out)["tested"] == ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"]
    code, out, _ = run("status", store, "--json", "--fail-on-alarm", "never")
    read = json.loads(out)
    assert code == 0
    assert read["labelled"] == 300
    sketch = cal.Sketch.of(YES[60:120], SCORE[60:120])
    assert read["windows"][1]["calibration"]["ece"] == cal.ece(sketch)
    assert Monitor.open(store).sketch("2026-01-02") == sketch
    code, out, _ = run("status", store, "--fail-on-alarm", "calibration")
    assert code == 0
    assert "2026-01-02  tested    60      100%" in out
    assert (
        "300 rows in 5 windows of 1 day, 300 labelled; 60 rows in 1 open window (2026-01-05), tested when newer rows arrive or the current time is advanced\n"
        in out
    )
    accuracy = ((SCORE[180:240] > 0.5) == YES[180:240]).mean()
    assert f"2026-01-04: Accuracy {accuracy:.4f} on 60 labelled rows." in out
    assert "uses no labels" not in out
    code, out, _ = run("status", store, "--prometheus", "--fail-on-alarm", "never")
    assert 'calibrant_rows{model="watch"} 300\n' in out
    words = ("--prometheus", "--fail-on-alarm", "never", "--name", "churn", "--tag", "env=prod", "--tag", "team=")
    assert run("status", store, *words, "--out", files / "x.prom") == (0, "", "")
    assert (files / "x.prom").read_text() == out.replace('model="watch"', 'model="churn",env="prod",team=""')
    assert run("check", store)[:2] == (0, "No damage found.\n")
    code, out, _ = run("advance", store, "--now", "2026-01-06", "--fail-on-alarm", "never")
    assert (code, out.split("\n")[0]) == (0, "1 window closed, 1 window tested")


@pytest.mark.parametrize("name", ["labelled.parquet", "some.csv"])
def test_labels_in_the_same_file(run: Run, files: Path, store: Path, name: str) -> None:
    run("update", store, files / name, "--time", "made", "--id", "row", "--fail-on-alarm", "never")
    run("labels", store, files / "labels.csv", "--id", "row", "--fail-on-alarm", "never")
    assert Monitor.open(store).sketch("2026-01-01") == cal.Sketch.of(YES[:60], SCORE[:60])


def test_an_alarm_exits_with_3_until_it_is_acknowledged(run: Run, files: Path, store: Path) -> None:
    columns = ("--time", "made", "--id", "row")
    assert run("update", store, files / "wrong.csv", *columns)[0] == 0  # the window is still open
    code, out, err = run("update", store, files / "next.csv", *columns)
    assert (code, err) == (3, "")
    assert "alarm: calibration, window 2026-01-20: " in out
    assert "alarm: scores, window 2026-01-20: " in out
    assert run("update", store, files / "next.csv", *columns)[0] == 0  # nothing new was raised
    assert run("status", store)[0] == 3
    assert run("status", store, "--fail-on-alarm", "calibration")[0] == 3
    assert run("status", store, "--fail-on-alarm", "never")[0] == 0
    code, out, _ = run("acknowledge", store)
    assert (code, out) == (0, "3 alarms acknowledged\n")
    assert run("status", store)[0] == 0


def test_page_with_groups(run: Run, files: Path) -> None:
    store, page = files / "groups.db", files / "page.html"
    run("init", store, "--reference", files / "reference.csv", "--every", "1d", "--by", "land", *QUICK)
    columns = ("--time", "made", "--id", "row", "--by", "land", "--fail-on-alarm", "never")
    run("update", store, files / "labelled.parquet", *columns)
    code, out, _ = run("report", store, "--out", page, "--title", "Churn")
    assert code == 0
    assert f"Wrote {page}" in out
    text = page.read_text()
    assert "<bdi>FR</bdi>" in text
    assert "<bdi>Churn</bdi>" in text
    code, out, _ = run("status", store, "--group", "FR", "--json", "--fail-on-alarm", "never")
    assert json.loads(out)["n"] == 150
    assert "DE: 150 rows" in run("status", store, "--fail-on-alarm", "never")[1]


def test_windows_of_rows_and_a_sketch_as_reference(run: Run, files: Path) -> None:
    cal.Sketches.of(YES[300:], SCORE[300:]).write(files / "old.sketch")
    store = files / "rows.db"
    words = ("--rows", "100", "--horizon", "500", *QUICK)
    code, _, err = run("init", store, "--reference", files / "old.sketch", *words)
    assert (code, err) == (0, "")
    code, out, _ = run("update", store, files / "labelled.parquet", "--fail-on-alarm", "never")
    assert out.startswith("300 rows: 300 added; 300 labels added, 3 windows closed, 3 windows tested")
    again = run("update", store, files / "labelled.parquet", "--fail-on-alarm", "never")
    assert again[1] == "300 rows: 300 duplicates\n"


@pytest.mark.parametrize("form", ["{:02d}/{:02d}/2026", "{:02d}/{:02d}/2026 10:00:00", "{:02d}-{:02d}-2026"])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_times_of_other_forms_are_refused(run: Run, files: Path, store: Path, form: str, suffix: str) -> None:
    path = files / f"us{suffix}"
    frame = pd.DataFrame({"p": [0.2, 0.7], "made": [form.format(3, 5), form.format(3, 6)], "row": ["a", "b"]})
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_json(path, orient="records", lines=True)
    code, _, err = run("update", store, path, "--time", "made", "--id", "row")
    assert code == 2
    line = 1 if suffix == ".jsonl" else 2
    assert f"--time: {form.format(3, 5)!r} is not a time on line {line}" in err
    code, _, err = run("update", store, path, "--time", "made", "--id", "row", "--where", "made > '2026-01-01'")
    assert code == 2


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_times_with_and_without_zone(run: Run, files: Path, store: Path, suffix: str) -> None:
    zoned = ["2026-03-05T23:30:00-02:00", "2026-03-06T10:00:00Z"]
    for name, times in (("plain", ["2026-03-06 01:30:00", "2026-03-06 10:00:00"]), ("zoned", zoned)):
        path = files / f"{name}{suffix}"
        frame = pd.DataFrame({"p": [0.2, 0.7], "made": times, "row": [f"{name} 1", f"{name} 2"]})
        if suffix == ".csv":
            frame.to_csv(path, index=False)
        elif suffix == ".jsonl":
            frame.to_json(path, orient="records", lines=True)
        else:
            frame.assign(made=pd.to_datetime(frame["made"], utc=name == "zoned")).to_parquet(path)
        columns = ("--time", "made", "--id", "row", "--fail-on-alarm", "never")
        # The condition sees times, also where DuckDB would compare text otherwise.
        code, out, err = run("update", store, path, *columns, "--where", "made > TIMESTAMPTZ '2026-03-06 01:00:00+00'")
        assert (code, err) == (0, "")
        assert out.startswith("2 rows: 2 added")
    windows = json.loads(run("status", store, "--json", "--fail-on-alarm", "never")[1])["windows"]
    assert [(window["window"], window["n"]) for window in windows] == [("2026-03-06", 4)]


def test_a_store_with_groups_from_a_sketch_asks_for_their_column(run: Run, files: Path) -> None:
    cal.Sketches.of(cal.Predictions(YES[300:], SCORE[300:], groups=LAND[300:])).write(files / "old.sketch")
    store = files / "sketched.db"
    run("init", store, "--reference", files / "old.sketch", "--every", "1d", *QUICK)
    code, _, err = run("update", store, files / "labelled.parquet", "--time", "made", "--id", "row")
    assert (code, err) == (2, "error: --by: is required: this monitor has the groups DE, FR; name their column\n")
    assert Monitor.open(store).status().n == 0


def test_errors_speak_of_options(run: Run, files: Path) -> None:
    pd.DataFrame({"y": [1, 2, 2], "p": [0.2, 0.7, 0.4]}).to_csv(files / "one-two.csv", index=False)
    init = ("init", files / "w.db", "--every", "1d", "--reference")
    code, _, err = run(*init, files / "one-two.csv")
    assert code == 2
    assert err.endswith(
        "got 2 on line 3; use --pos-label to name the positive class, or use --classes with the positive class last\n"
    )
    assert run(*init, files / "one-two.csv", "--classes", "1,2")[0] == 0
    cal.Sketches.of(cal.Predictions(YES[300:], SCORE[300:], groups=LAND[300:])).write(files / "old.sketch")
    err = run(*init, files / "old.sketch", "--where", "p > 0.5")[2]
    assert err == f"error: --where: applies to rows, and {files / 'old.sketch'} is a sketch; give it to scan\n"
    grouped = ("init", files / "g.db", "--every", "1d", "--by", "land", "--reference", files / "old.sketch")
    assert run(*grouped)[0] == 0
    assert Monitor.open(files / "g.db").settings.by == "land"


def test_warnings_are_single_lines(run: Run, files: Path) -> None:
    words = ("--reference", files / "reference.csv", "--every", "1d", "--logits", "p")
    code, _, err = run("init", files / "w.db", *words)
    assert code == 0
    assert err.startswith("warning: ")
    assert err.count("\n") == 1
    assert "input=" not in err


def test_another_column_of_groups_beside_that_of_the_store_is_refused(run: Run, files: Path) -> None:
    path, reference = files / "watch.db", files / "reference.csv"
    assert run("init", path, "--reference", reference, "--rows", "100", "--by", "land", *QUICK)[0] == 0
    code, _, err = run("update", path, files / "new.csv", "--id", "row", "--by", "made")
    assert code == 2
    assert "--by: this monitor was created with --by land, which" in err
    renamed = pd.read_csv(files / "new.csv").rename(columns={"land": "country"})
    renamed.to_csv(files / "renamed.csv", index=False)
    never = ("--fail-on-alarm", "never")
    assert run("update", path, files / "renamed.csv", "--id", "row", "--by", "country", *never)[0] == 0


def test_columns_of_out_of_distribution_scores(run: Run, files: Path) -> None:
    energy = RNG.normal(-5, 2, 600)
    reference = pd.read_csv(files / "reference.csv").assign(energy=energy[300:], far=np.exp(energy[300:]))
    reference.to_csv(files / "with.csv", index=False)
    new = pd.read_csv(files / "new.csv").assign(energy=energy[:300], far=np.exp(energy[:300]))
    new.to_csv(files / "rows.csv", index=False)
    moved = new.assign(row=np.arange(1000, 1300), made="2026-02-01T10:00:00Z", energy=energy[:300] + 9)
    moved.to_csv(files / "moved.csv", index=False)
    end = pd.DataFrame({"p": [0.5], "made": "2026-02-03", "row": [2000], "energy": [-5.0], "far": [0.0]})
    end.to_csv(files / "end.csv", index=False)
    store = files / "ood.db"
    watched = ("--ood", "energy", "--ood", "far")
    code, _, err = run("init", store, "--reference", files / "with.csv", "--every", "1d", *watched, *QUICK)
    assert (code, err) == (0, "")
    update = ("update", store, files / "rows.csv", "--time", "made", "--id", "row", "--fail-on-alarm", "never")
    assert run(*update)[0] == 0  # the columns given to init
    assert run("update", store, files / "moved.csv", "--time", "made", "--id", "row", *watched)[0] in (0, 3)
    code, out, _ = run("update", store, files / "end.csv", "--time", "made", "--id", "row")
    assert code == 3
    assert "alarm: ood energy, window 2026-02-01: median " in out
    code, out, _ = run("status", store)
    assert code == 3
    assert "energy p" in out
    assert "far p" in out
    assert run("status", store, "--fail-on-alarm", "calibration")[0] == 0
    found = json.loads(run("status", store, "--json")[1])
    assert found["ood"] == ["energy", "far"]
    assert 'calibrant_window_ood_beyond{model="ood",score="energy"}' in run("status", store, "--prometheus")[1]
    assert run("report", store, "--out", files / "page.html")[0] == 0
    assert "energy p99" in (files / "page.html").read_text()
    for more, message in (
        (("--ood", "energy"), "--ood: 'far' is missing; this monitor watches energy, far"),
        ((*watched, "--ood", "p"), "--ood: unknown score 'p'; this monitor watches energy, far"),
    ):
        check_refusal(run(*update, *more), message)


def test_a_bad_time_of_a_file_is_not_that_of_an_option(run: Run, files: Path) -> None:
    store = files / "named.db"
    columns = ("--label", "y", "--prob", "p", "--time", "made", "--id", "row")
    run("init", store, "--reference", files / "reference.csv", *columns, "--every", "1d", *QUICK)
    (files / "bad.csv").write_text("row,made,p\nz,soon,0.5\n")
    code, _, err = run("update", store, files / "bad.csv", "--latest", "2026-01-05")
    assert (code, err.startswith("error: --time: 'soon' is not a time on line 2")) == (2, True), err
    code, _, err = run("update", store, files / "bad.csv", "--latest", "later")
    assert code == 2


def test_a_monitor_remembers_its_columns(run: Run, files: Path) -> None:
    names = {"y": "churned", "p": "risk", "row": "request"}
    for name in ("reference", "new", "labels", "wrong"):
        pd.read_csv(files / f"{name}.csv").rename(columns=names).to_csv(files / f"{name}.csv", index=False)
    store = files / "named.db"
    columns = ["--label", "churned", "--prob", "risk", "--time", "made", "--id", "request"]
    code, _, err = run("init", store, "--reference", files / "reference.csv", "--every", "1d", *columns, *QUICK)
    assert (code, err) == (0, "")
    assert dict(Monitor.open(store).settings.columns) == {
        "label": "churned",
        "prob": "risk",
        "time": "made",
        "id": "request",
    }
    code, out, _ = run("update", store, files / "new.csv", "--fail-on-alarm", "never")  # the labels arrive later
    assert out.startswith("300 rows: 300 added;")
    code, out, _ = run("labels", store, files / "labels.csv", "--fail-on-alarm", "never")
    assert out.startswith("300 labels: 300 added")
    other = pd.read_csv(files / "wrong.csv").rename(columns={"risk": "score_2", "request": "key"})
    other.to_csv(files / "other.csv", index=False)
    run_ = run("update", store, files / "other.csv", "--prob", "score_2", "--id", "key", "--fail-on-alarm", "never")
    assert run_[1].startswith("200 rows: 200 added; 200 labels added")
    # The columns of the monitor take precedence over those of a configuration, which may be about other data.
    (files / "other.toml").write_text('label = "x"\nlogits = "x"\n[monitor]\nid = "x"\n')
    again = run("update", store, files / "new.csv", "--config", files / "other.toml", "--fail-on-alarm", "never")
    assert again[1].startswith("300 rows: 300 duplicates")
    error = run("update", store, files / "other.csv", "--id", "key")[2]
    assert "error: --prob: unknown column 'risk'" in error
    error = run("update", store, files / "new.csv", "--label", "z")[2]
    assert "error: --label: unknown column 'z'" in error


def test_labels_are_those_of_the_named_column_only(run: Run, files: Path) -> None:
    """A column with a common name is not the label if another one was named; an expression is the label once its columns are there."""
    reference, new = (pd.read_csv(files / f"{name}.csv") for name in ("reference", "new"))
    for frame in (reference, new):
        frame["target"] = np.arange(len(frame)) % 2
    reference["churned"] = reference["y"]
    reference.drop(columns="y").to_csv(files / "reference.csv", index=False)
    new.drop(columns="y", errors="ignore").to_csv(files / "new.csv", index=False)
    for number, label in enumerate(("churned", "churned = 1")):
        store = files / f"{number}.db"
        columns = ["--label", label, "--prob", "p", "--time", "made", "--id", "row"]
        code, _, err = run("init", store, "--reference", files / "reference.csv", "--every", "1d", *columns, *QUICK)
        assert (code, err) == (0, "")
        code, out, err = run("update", store, files / "new.csv", "--fail-on-alarm", "calibration")
        assert (code, err, "labels added" in out) == (0, "", False), out
        new.assign(churned=new["target"]).to_csv(files / "labelled.csv", index=False)
        out = run("update", store, files / "labelled.csv", "--fail-on-alarm", "never")[1]
        assert out.startswith(f"300 rows: 300 duplicates; {len(new)} labels added"), out


def test_columns_can_be_remembered_beside_a_sketch(run: Run, files: Path) -> None:
    cal.Sketches.of(YES[300:], SCORE[300:]).write(files / "old.sketch")
    store = files / "sketched.db"
    words = [
        "--reference",
        files / "old.sketch",
        "--every",
        "1d",
        "--time",
        "made",
        "--id",
        "row",
        "--prob",
        "p",
        *QUICK,
    ]
    assert run("init", store, *words)[0] == 0
    assert run("update", store, files / "new.csv", "--fail-on-alarm", "never")[0] == 0
    assert "applies to rows" in run("init", files / "b.db", *words, "--where", "p > 0")[2]


def test_labels_that_are_not_known_yet(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R writes NA, beside which a column of numbers is text; messages name the label and its line."""
    monkeypatch.chdir(tmp_path)
    Path("r.csv").write_text("id,y,p\n1,0,0.2\n2,1,0.8\n3,1,0.7\n")
    Path("p.csv").write_text("id,p,y\n4,0.2,NA\n5,0.8,1\n6,0.7,\n7,0.3,0\n8,0.4,n/a\n9,0.4,\n")
    assert run("init", "m.db", "--reference", "r.csv", "--rows", "9", "--id", "id", *QUICK)[0] == 0
    assert run("update", "m.db", "p.csv")[:2] == (0, "6 rows: 6 added; 2 labels added\n")
    for content, told in (
        ("4,NA\n6,true\n", "2 labels: 1 added, 1 missing, ignored"),
        ("8,\n9,2\n", "got 2 on line 3"),
        ("8,NA\n9,?\n", "expected a number; got '?' on line 3"),
        ("8,1\n9,maybe\n", "expected a number; got 'maybe' on line 3"),
    ):
        Path("l.csv").write_text(f"id,y\n{content}")
        code, out, err = run("labels", "m.db", "l.csv")
        assert told in out + err
        assert code == (0 if "added" in told else 2)


def test_a_season_reads_the_times_of_the_reference_data(run: Run, files: Path) -> None:
    rng = np.random.default_rng(0)
    score = rng.random(140)
    days = np.datetime64("2026-01-05") + np.arange(140) // 5
    table = pd.DataFrame({"label": (rng.random(140) < score).astype(int), "score": score, "day": days.astype(str)})
    table.to_csv(files / "weeks.csv", index=False)
    words = ["init", files / "weekly.db", "--reference", files / "weeks.csv", "--prob", "score"]
    words += ["--every", "1d", "--season", "week"]
    check_refusal(run(*words), "--time")
    assert run(*words, "--time", "day")[0] == 0
    baseline = cal.Monitor.open(files / "weekly.db")._reference_of("null", 20454)
    assert baseline.scores.n == 20
