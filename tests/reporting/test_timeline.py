"""The page of a monitor: neutral wording of the gap, and e-values within the limits of the chart."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.monitoring.monitor import Monitor
from calibrant.monitoring.status import MonitorStatus
from calibrant.reporting.timeline import render_timeline
from calibrant.reporting.timeline_charts import LARGEST, SMALLEST, timeline_spec

QUICK: dict[str, Any] = {"every": 150, "n_resamples": 39, "drift_alpha": 0.3}


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> MonitorStatus:
    """Rare events that from the third window on occur three times as often as predicted."""
    rng = np.random.default_rng(0)
    old = rng.beta(2, 18, 1000)
    reference = (rng.random(1000) < old).astype(int), old
    store = tmp_path_factory.mktemp("watch") / "w.db"
    monitor = Monitor.create(store, reference=reference, lens="binary", **QUICK)
    for number in range(6):
        p = rng.beta(2, 18, 150)
        true = p if number < 2 else np.minimum(3 * p, 1)
        monitor.update((rng.random(150) < true).astype(int), p, ids=np.arange(150) + 150 * number)
    return monitor.status()


def picture(status: MonitorStatus, beginning: str) -> dict[str, Any]:
    parts = timeline_spec(status)["vconcat"]
    return next(part for part in parts if part["title"]["text"].startswith(beginning))


def evidence(status: MonitorStatus, what: str) -> list[dict[str, Any]]:
    points = next(layer for layer in picture(status, "Evidence")["layer"] if layer["mark"]["type"] == "point")
    return [value for value in points["data"]["values"] if value["what"] == what]


def test_the_side_of_the_gap_is_named_neutrally(watched: MonitorStatus) -> None:
    chart = picture(watched, "Calibration gap")
    points = next(layer for layer in chart["layer"] if layer["mark"]["type"] == "point")
    gaps = {value["gap"] > 0: value["what"] for value in points["data"]["values"]}
    assert gaps[False] == "predicted < observed"
    assert gaps.get(True, "predicted > observed") == "predicted > observed"
    assert chart["encoding"]["color"]["scale"]["domain"] == ["predicted > observed", "predicted < observed"]
    page = render_timeline(watched)
    assert "confident" not in page
    assert "mean predicted probability" in page
    assert "observed rate" in page
    assert "Evaluated on: positive class." in page
    help = next(line for line in watched.to_prometheus().splitlines() if line.startswith("# HELP calibrant_window_gap"))
    assert help.endswith("Mean score minus observed rate in the newest window with labels.")


def test_page_of_one_class_of_several_names_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    names, probs = np.array(["cat", "dog", "<b>"]), rng.dirichlet([2, 2, 2], 200)
    labels = names[(rng.random((200, 1)) > probs.cumsum(axis=1)).sum(axis=1)]
    expected = {"class:<b>": "observed rate (&lt;b&gt;) ", "auto": "mean confidence "}
    for place, (lens, words) in enumerate(expected.items()):
        monitor = Monitor.create(
            tmp_path / f"{place}.db", reference=cal.Predictions(labels, probs, classes=list(names)), lens=lens, **QUICK
        )
        monitor.update(labels, probs, ids=range(200))
        assert words in render_timeline(monitor.status()).split("<h2>Latest")[1]


def test_the_line_of_the_detector_reaches_the_level_where_it_raised_an_alarm(watched: MonitorStatus) -> None:
    raised = [alarm.window for alarm in watched.alarms if alarm.kind == "change"]
    at = {window.window: window.start for window in watched.windows}
    assert raised
    assert all(window.detector is None for window in watched.windows if window.window in raised)
    drawn = {value["at"]: value for value in evidence(watched, "change detector")}
    for name in raised:
        assert drawn[at[name]]["value"] == watched.settings.run_length
        assert drawn[at[name]]["mark"] == "triangle: at least this value"
    # Every restart begins a new line.
    starts = [value["run"] for value in drawn.values()]
    assert starts == [sum(at[name] < value["at"] for name in raised) for value in drawn.values()]
    assert "triangle: at least this value" in picture(watched, "Evidence")["title"]["subtitle"]


@pytest.mark.parametrize(
    ("e_value", "drawn", "mark"),
    [
        (3.3e16, LARGEST, "triangle: at least this value"),
        (math.inf, LARGEST, "triangle: at least this value"),
        (1e-9, SMALLEST, "triangle down: at most this value"),
        (5e11, 5e11, "exact"),
    ],
)
def test_an_e_value_beyond_the_limits_is_marked(
    watched: MonitorStatus, e_value: float, drawn: float, mark: str
) -> None:
    first = dataclasses.replace(watched.windows[0], e_value=e_value)
    status = dataclasses.replace(watched, windows=(first,), alarms=())
    (point,) = evidence(status, "sequential test")
    assert (point["value"], point["mark"]) == (drawn, mark)
    subtitle = picture(status, "Evidence")["title"]["subtitle"]
    assert subtitle == ("dashed: alarm threshold" if mark == "exact" else f"dashed: alarm threshold; {mark}")


def test_a_single_day_stands_in_the_middle_of_its_axis(tmp_path: Path) -> None:
    p = np.linspace(0.1, 0.9, 60)
    monitor = Monitor.create(tmp_path / "day.db", reference=(np.arange(60) % 2, p), every="1d", n_resamples=19)
    monitor.update(None, p, when="2026-03-05T12:00")
    start, end = timeline_spec(monitor.status())["vconcat"][0]["encoding"]["x"]["scale"]["domain"]
    assert end - start == 2 * 86_400_000
