"""Features that a monitor stores: the subgroups of a window are those of its rows, also from files and after corrections."""

import json

import numpy as np
import pandas as pd

import calibrant as cal
from calibrant.errors import CalibrantError
from tests.calling import raises


def rows_of_days(n=1500, seed=0):
    """Two days of predictions; on the second the model fails for old customers of one plan."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "id": [f"r{place}" for place in range(2 * n)],
            "day": np.repeat(["2026-01-05T10:00", "2026-01-06T10:00"], n),
            "p": np.round(rng.uniform(0.1, 0.6, 2 * n), 4),
            "age": np.where(rng.random(2 * n) < 0.1, np.nan, rng.integers(18, 90, 2 * n)),
            "plan": rng.choice(np.array(["basic", "pro", None], object), 2 * n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 2 * n), "D"),
        }
    )
    wrong = (frame["age"] >= 60) & (frame["plan"] == "basic") & (frame["day"] > "2026-01-06")
    frame["y"] = (rng.random(2 * n) < frame["p"] + 0.35 * wrong).astype(int)
    return frame


REFERENCE = ([0, 1, 1, 0] * 50, [0.2, 0.4, 0.6, 0.3] * 50)
FEATURES = ["age", "plan", "since"]


def test_the_subgroups_of_a_window_are_those_of_its_labelled_rows(tmp_path):
    frame = rows_of_days()
    monitor = cal.Monitor.create(tmp_path / "m.db", reference=REFERENCE, every="1d", features=FEATURES)
    order = np.random.default_rng(1).permutation(len(frame))
    for part in np.array_split(order, 4):
        rows = frame.iloc[part]
        keywords = {"when": rows["day"], "ids": rows["id"], "features": rows[["since", "plan", "age"]]}
        monitor.update(None, rows["p"], **keywords)
        assert monitor.update(None, rows["p"], **keywords).added == 0
    assert monitor.status().subgroups is None
    monitor.add_labels(frame["id"], frame["y"])
    monitor.advance("2026-01-08")
    status = cal.Monitor.open(tmp_path / "m.db").status()
    second = frame[frame["day"] > "2026-01-06"].sort_values("id")
    wanted = cal.find_subgroups(second["y"], second["p"], features=second[FEATURES])
    assert [each.name for each in status.subgroups] == [each.name for each in wanted]
    assert status.subgroups[0] == wanted[0]
    assert "plan = basic" in wanted[0].name
    assert any(note.startswith(f"Window 2026-01-06, {wanted[0].name}: mean predicted") for note in status.notes)
    assert status.to_dict()["subgroups"][0]["name"] == wanted[0].name
    assert len(monitor.subgroups("2026-01-05")) == 0
    with raises(CalibrantError, "window"):
        monitor.subgroups("2026-02-05")
    monitor.prune(1)
    with raises(CalibrantError, "window"):
        monitor.subgroups("2026-01-05")
    assert monitor.status().subgroups[0] == wanted[0]


def test_features_that_are_missing_or_not_stored(tmp_path):
    plain = cal.Monitor.create(tmp_path / "plain.db", reference=REFERENCE, every="1d")
    stored = cal.Monitor.create(tmp_path / "m.db", reference=REFERENCE, every="1d", features=["age"])
    when = "2026-01-05"
    for monitor, argument, keywords in (
        (plain, "features", {"ids": ["a"], "features": {"age": [1]}}),
        (stored, "features", {"ids": ["a"]}),
        (stored, "features", {"ids": ["a"], "features": {"plan": [1]}}),
        (stored, "features", {"ids": ["a"], "features": {"age": [1, 2]}}),
        (stored, "ids", {"features": {"age": [1]}}),
    ):
        with raises(CalibrantError, argument):
            monitor.update(None, [0.2], when=when, **keywords)
    with raises(CalibrantError, "ids"):
        stored.update(None, [0.2, 0.2], when=when, ids=["a", "a"], features={"age": [1, 2]})
    assert stored.update([1], [0.2], when=when, ids=["a"], features={"age": [None]}).added == 1
    stored.advance("2026-01-08")
    assert stored.status().subgroups is None
    with raises(CalibrantError, "window"):
        plain.subgroups()


def test_the_command_line_stores_features(tmp_path, run):
    frame = rows_of_days(1000)
    pd.DataFrame({"y": REFERENCE[0], "p": REFERENCE[1]}).to_csv(tmp_path / "reference.csv", index=False)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    later = frame.tail(1).assign(id="later", day="2026-01-08T10:00")
    later.to_csv(tmp_path / "later.csv", index=False)
    later.drop(columns="plan").assign(id="last").to_csv(tmp_path / "last.csv", index=False)
    store, columns = str(tmp_path / "m.db"), ["--label", "y", "--prob", "p", "--id", "id", "--time", "day"]
    reference = ["--reference", str(tmp_path / "reference.csv"), "--every", "1d", "--features", "age, plan,since"]
    assert run("monitor", "init", store, *reference, *columns)[0] == 0
    for name in ("rows", "later"):
        assert run("monitor", "update", store, str(tmp_path / f"{name}.csv"), "--fail-on-alarm", "never")[0] == 0
    shown = run("monitor", "status", store)[1]
    assert "Window 2026-01-06, " in shown
    assert "plan = basic" in shown
    found = json.loads(run("monitor", "status", store, "--json")[1])["subgroups"]
    assert "plan = basic" in found[0]["name"]
    assert "plan" in run("monitor", "update", store, str(tmp_path / "last.csv"))[2]
