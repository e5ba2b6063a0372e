"""What was acknowledged stays acknowledged while it goes on; status, gauges and groups tell the same of every window."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import GroupError
from calibrant.monitoring.alarms import drift_alarms
from calibrant.monitoring.changepoint import goes_on
from calibrant.monitoring.labelfree import find_scores
from calibrant.monitoring.monitor import Monitor
from calibrant.reporting.timeline import render_timeline

QUICK: dict[str, Any] = {"every": "1d", "n_resamples": 19, "drift_alpha": 0.05}


def day(index: int, shift: float, n: int = 200) -> tuple[Any, Any]:
    """Scores whose log-odds are wrong by a shift."""
    rng = np.random.default_rng([7, index])
    p = rng.beta(1.5, 2, n)
    return (rng.random(n) < 1 / (1 + (1 / p - 1) * np.exp(-shift))).astype(int), p


@pytest.fixture
def monitor(tmp_path: Path) -> Monitor:
    return Monitor.create(tmp_path / "w.db", reference=day(99, 0, 2000), **QUICK)


def send(monitor: Monitor, index: int, shift: float, **words: Any) -> list[Any]:
    """One day of rows; gives the alarms of calibration and change of the day before, which is over now."""
    y, p = day(index, shift)
    when = np.datetime64("2026-02-01") + np.timedelta64(index, "D")
    done = monitor.update(y, p, when=when, ids=np.arange(200) + 200 * index, **words)
    return [alarm for alarm in done.alarms if alarm.kind == "change"]


def acknowledge(monitor: Monitor, index: int) -> None:
    monitor.advance(np.datetime64("2026-02-01") + np.timedelta64(index + 1, "D"))
    assert monitor.acknowledge() > 0
    assert monitor.status().open_alarms == ()


def test_an_acknowledged_change_is_not_raised_again_while_it_goes_on(monitor: Monitor) -> None:
    for index in range(9):
        send(monitor, index, -1.2 if index >= 5 else 0.0)
    acknowledge(monitor, 8)
    onsets = {alarm.onset for alarm in monitor.status().alarms if alarm.kind == "change"}
    assert onsets == {"2026-02-06"}
    ongoing: list[Any] = []
    for index in range(9, 16):
        y, p = day(index, -1.2)
        done = monitor.update(
            y, p, when=np.datetime64("2026-02-01") + np.timedelta64(index, "D"), ids=np.arange(200) + 200 * index
        )
        assert [alarm for alarm in done.alarms if alarm.kind == "change"] == []
        ongoing += done.ongoing
    assert len(ongoing) >= 2
    assert {(alarm.onset, alarm.acknowledged) for alarm in ongoing} == {("2026-02-06", True)}
    assert "The change with estimated onset 2026-02-06 continues: predicted " in ongoing[0].words
    assert not any(alarm.kind == "change" for alarm in monitor.status().open_alarms)


@pytest.mark.parametrize(("shifts", "fresh"), [([0.0] * 6 + [-1.2] * 3, True), ([1.2] * 3, True), ([-1.2] * 3, False)])
def test_a_recovery_or_another_direction_makes_a_new_change(monitor: Monitor, shifts: list[float], fresh: bool) -> None:
    for index in range(4):
        send(monitor, index, -1.2)
    acknowledge(monitor, 3)
    raised = [alarm for step, shift in enumerate([*shifts, 0.0]) for alarm in send(monitor, 4 + step, shift)]
    assert bool(raised) == fresh
    if fresh:
        wanted = np.datetime64("2026-02-05") + np.timedelta64(shifts.index(shifts[-1]), "D")
        assert abs(np.datetime64(raised[0].onset) - wanted).astype(int) <= 1


def test_an_open_change_counts_once_in_words_and_groups(tmp_path: Path) -> None:
    y, p = day(99, 0, 2000)
    reference = cal.Predictions(y, p, groups=np.arange(2000) % 2)
    monitor = Monitor.create(tmp_path / "w.db", reference=reference, **QUICK)
    for index in range(7):
        send(monitor, index, -1.5, groups=np.arange(200) % 2)
    status = monitor.status()
    lines = [line for line in status.open_lines if line.startswith("change, ")]
    assert len(lines) == 1
    assert re.search(r"Repeated \d+ times, last in window 2026-02-06\. \[alarm \d+\]$", lines[0])
    assert [group.changes for group in status.groups] == [1, 1]
    assert render_timeline(status).count("change in calibration, all rows") == 1


@pytest.mark.parametrize(
    ("scores", "n"),
    [
        ((0.3, 0.7), 40),
        pytest.param((0.02, 0.02), 40, marks=pytest.mark.deep),
        pytest.param((0.97, 0.97), 40, marks=pytest.mark.deep),
        *(((each, each), 5000) for each in (0.02, 0.97)),
        ((0.3, 0.7), 5000),
    ],
)
def test_what_goes_on(scores: tuple[float, float], n: int, deep: bool) -> None:
    rng = np.random.default_rng(n)
    p = rng.choice(scores, n)

    def windows(shift: float, count: int) -> list[cal.Sketch]:
        q = 1 / (1 + (1 / p - 1) * np.exp(-shift))
        return [cal.Sketch.of(rng.random(n) < q, p) for _ in range(count)]

    long = 1 + (20_000 if deep else 1_600) // n
    for shift in (-1.5, 1.5):
        assert goes_on(windows(shift, long), windows(shift, long), 1000)
        assert goes_on([*windows(0, 2), *windows(shift, long)], windows(shift, long), 1000)
        assert not goes_on(windows(shift, long), [*windows(0, 3 * long), *windows(shift, long)], 1000)
        assert not goes_on(windows(shift, long), windows(-shift, long), 1000)


def test_impossible_outcomes_go_on_among_themselves_only() -> None:
    wrong = cal.Sketch.of([1, 0] * 20, [0.0, 0.5] * 20)
    shifted = cal.Sketch.of([0] * 40, [0.5] * 40)
    assert goes_on([wrong], [wrong], 1000)
    assert not goes_on([wrong], [shifted], 1000)
    assert not goes_on([shifted], [wrong], 1000)


def test_rows_without_a_group_are_refused_where_groups_are_watched(tmp_path: Path) -> None:
    y, p = day(99, 0, 300)
    made = Monitor.create(tmp_path / "a.db", reference=(y, p), groups=["x", "y"], **QUICK)
    with pytest.raises(GroupError, match="this monitor has the groups x, y"):
        made.update(y, p, when="2026-02-01")
    assert made.status().n == 0
    joined = Monitor.create(tmp_path / "b.db", reference=(y, p), **QUICK)
    joined.update(y[:100], p[:100], when="2026-02-01")
    joined.update(y[100:200], p[100:200], when="2026-02-01", groups=["z"] * 100)
    with pytest.raises(GroupError, match="this monitor has the groups z"):
        joined.update(y[200:], p[200:], when="2026-02-01")
    assert joined.status().n == 200


def test_windows_of_a_group_are_its_own(tmp_path: Path) -> None:
    """A rare group has rows in few windows: those are shown and counted, however many windows others had since."""
    y, p = day(99, 0, 300)
    made = Monitor.create(tmp_path / "a.db", reference=(y, p), **QUICK)
    for index in range(8):
        y, p = day(index, 0)
        groups = np.where((np.arange(200) < 50) & (index in (1, 3)), "rare", "usual")
        made.update(y, p, when=np.datetime64("2026-02-01") + np.timedelta64(index, "D"), groups=groups)
    status = made.status(last=2, group="rare")
    assert [w.window for w in status.windows] == ["2026-02-02", "2026-02-04"]
    assert (status.n, status.total_windows) == (100, 2)
    assert made.status(last=2).total_windows == 8
    lines = status.to_prometheus()
    assert 'calibrant_rows{group="rare"} 100\n' in lines
    assert 'calibrant_window_rows{group="rare"} 50\n' in lines
    assert not re.search(r"^calibrant_window\w* ", lines, re.M)


def test_gauges_do_not_depend_on_how_many_windows_are_shown(monitor: Monitor) -> None:
    """Labels that come weeks later: the newest labelled window is far back, and its numbers are shown all the same."""
    for index in range(12):
        y, p = day(index, 0)
        known = y if index < 3 else None
        monitor.update(
            known, p, when=np.datetime64("2026-02-01") + np.timedelta64(index, "D"), ids=np.arange(200) + 200 * index
        )
    status = monitor.status(last=1)
    assert [w.window for w in status.windows] == ["2026-02-12"]
    assert status.to_prometheus() == monitor.status(last=None).to_prometheus()
    assert "calibrant_window_ece " in status.to_prometheus()
    assert status.last_labelled.window == "2026-02-03"
    assert status.last_closed.window == "2026-02-11"


@pytest.mark.parametrize("labels", ["all", "some", "none"])
def test_accuracy_is_said_by_labels_where_there_are_any(monitor: Monitor, labels: str) -> None:
    y, p = day(0, -2)
    known = {"all": y.astype(float), "some": np.where(np.arange(200) < 120, y, np.nan), "none": None}[labels]
    monitor.update(known, p, when="2026-02-01")
    monitor.advance("2026-02-02")
    status = monitor.status()
    window = status.last_closed
    rows = {"all": slice(None), "some": slice(120), "none": slice(0)}[labels]
    right = ((p > 0.5) == y)[rows]
    words = window.accuracy_words
    assert words in render_timeline(status)
    said = re.findall(r"Accuracy ([\d.]+) on (\d+) labelled rows\.", words)
    assert said == ([] if labels == "none" else [(f"{right.mean():.4f}", str(len(right)))])
    assert ("The estimate uses no labels of the window" in words) == (labels != "all")
    gauges = re.findall(r"^calibrant_window_accuracy (.*)$", status.to_prometheus(), re.M)
    assert [float(value) for value in gauges] == pytest.approx([] if labels == "none" else [right.mean()])


def test_the_drift_of_a_group_is_that_of_a_window_that_is_over(tmp_path: Path) -> None:
    y, p = day(99, 0, 300)
    reference = cal.Predictions(y, p, groups=np.full(300, "g"))
    made = Monitor.create(tmp_path / "a.db", reference=reference, **QUICK)
    made.update(y, p, when="2026-02-01", groups=["g"] * 300)
    made.update(y, np.full(300, 0.99), when="2026-02-02", groups=["g"] * 300)
    for _ in range(2):  # the second time what was found of the open window is kept in the store
        status = made.status()
        assert status.groups[0].drift_pvalue == made.status(group="g").windows[0].scores.drift_pvalue


def test_drift_alarms_are_corrected_for_streams() -> None:
    rng = np.random.default_rng(0)

    def scores(values: np.ndarray) -> cal.Sketch:
        return cal.Sketch.of(np.zeros(len(values), int), values)

    old = scores(rng.random(100))
    found = {f"g{i}": find_scores(scores(rng.random(80)), old, streams=7) for i in range(6)}
    found["moved"] = find_scores(scores(0.5 + rng.random(80) / 2), old, streams=7)
    ((stream, kind, pvalue, words),) = drift_alarms(found, 0.05)
    assert kind == "scores"
    assert stream == "moved"
    assert pvalue == pytest.approx(7 * min(found["moved"].drift.adjusted))
    assert words.endswith("(p < 0.02, adjusted for all tests of the window)")
    assert drift_alarms({}, 0.05) == []
    assert drift_alarms({"new": find_scores(old, None)}, 0.05) == []


def test_parts_of_the_level_add_up_to_it(monitor: Monitor) -> None:
    """Groups that join later have the part 1/(g (g + 1)) each; declared ones share one half evenly."""
    none = dataclasses.replace(monitor.settings, declared=0)
    assert [1 / none.share(g, False) for g in (1, 2, 3)] == [2, 6, 12]
    assert sum(none.share(g, False) for g in range(1, 10_000)) == pytest.approx(1, rel=1e-3)
    four = dataclasses.replace(monitor.settings, declared=4)
    parts = [four.share(g, True) for g in range(1, 5)] + [four.share(g, False) for g in range(5, 10_000)]
    assert 0.5 < sum(parts) < 1
