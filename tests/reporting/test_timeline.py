"""The page of a monitor: words that are true of any score, and bets drawn as far as they are known."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant.monitoring.monitor import Monitor
from calibrant.monitoring.status import MonitorStatus
from calibrant.reporting.timeline import render_timeline
from calibrant.reporting.timepictures import LEAST_CAPITAL, MOST_CAPITAL, timeline_spec

QUICK: dict[str, Any] = {"rows": 150, "n_resamples": 39, "drift_alpha": 0.3}


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> MonitorStatus:
    """Rare events that from the third window on happen three times as often as said."""
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


def bets(status: MonitorStatus, what: str) -> list[dict[str, Any]]:
    points = next(layer for layer in picture(status, "What bets")["layer"] if layer["mark"]["type"] == "point")
    return [value for value in points["data"]["values"] if value["what"] == what]


def test_scores_below_one_half_are_too_low_not_unsure(watched: MonitorStatus) -> None:
    layers = picture(watched, "Does it mean")["layer"]
    points = next(layer for layer in layers if layer["mark"]["type"] == "point")
    gaps = {value["gap"] > 0: value["what"] for value in points["data"]["values"]}
    assert gaps[False] == "score too low"
    assert gaps.get(True, "score too high") == "score too high"
    assert points["encoding"]["color"]["scale"]["domain"] == ["score too high", "score too low"]
    page = render_timeline(watched)
    assert "sure enough" not in page
    assert "the positive class is given" in page
    assert "Question asked of each row: the probability of the positive class." in page
    help = next(line for line in watched.to_prometheus().splitlines() if line.startswith("# HELP calibrant_window_gap"))
    assert help.endswith("Mean score minus observed rate in the newest window with labels.")


def test_page_of_one_class_of_several_names_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    names, probs = np.array(["cat", "dog", "<b>"]), rng.dirichlet([2, 2, 2], 200)
    labels = names[(rng.random((200, 1)) > probs.cumsum(axis=1)).sum(axis=1)]
    for place, (lens, words) in enumerate({"class:<b>": "&lt;b&gt; is given", "auto": "it says"}.items()):
        monitor = Monitor.create(
            tmp_path / f"{place}.db", reference=(labels, probs), classes=list(names), lens=lens, **QUICK
        )
        monitor.update(labels, probs, ids=range(200))
        assert f"tell that {words} " in render_timeline(monitor.status())


def test_the_line_of_the_detector_reaches_the_level_where_it_raised_an_alarm(watched: MonitorStatus) -> None:
    raised = [alarm.window for alarm in watched.alarms if alarm.kind == "change"]
    at = {window.window: window.start for window in watched.windows}
    assert raised
    assert all(window.detector is None for window in watched.windows if window.window in raised)
    drawn = {value["at"]: value for value in bets(watched, "since any window")}
    for name in raised:
        assert drawn[at[name]]["value"] == watched.run_length
        assert drawn[at[name]]["mark"] == "triangle: so much or more"
    # Every start begins a line of its own.
    starts = [value["run"] for value in drawn.values()]
    assert starts == [sum(at[name] < value["at"] for name in raised) for value in drawn.values()]
    assert "triangle: so much or more" in picture(watched, "What bets")["title"]["subtitle"]


@pytest.mark.parametrize(
    ("e_value", "drawn", "mark"),
    [
        (3.3e16, MOST_CAPITAL, "triangle: so much or more"),
        (math.inf, MOST_CAPITAL, "triangle: so much or more"),
        (1e-9, LEAST_CAPITAL, "triangle down: so much or less"),
        (5e11, 5e11, "as drawn"),
    ],
)
def test_a_capital_that_is_cut_says_so(watched: MonitorStatus, e_value: float, drawn: float, mark: str) -> None:
    first = dataclasses.replace(watched.windows[0], e_value=e_value)
    status = dataclasses.replace(watched, windows=(first,), alarms=())
    (point,) = bets(status, "since the start")
    assert (point["value"], point["mark"]) == (drawn, mark)
    subtitle = picture(status, "What bets")["title"]["subtitle"]
    assert subtitle == ("dashed: alarm" if mark == "as drawn" else f"dashed: alarm; {mark}")
