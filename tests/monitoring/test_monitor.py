"""A monitor gives the library's numbers for its windows, whatever the order, and however often rows and labels come."""

from __future__ import annotations

import dataclasses
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

import calibrant as cal
from calibrant.errors import (
    ArgumentError,
    GroupError,
    InputError,
    InputTypeError,
    LabelError,
    LensError,
    ProbabilityError,
)
from calibrant.monitoring.calibration import find_calibration, gap_interval
from calibrant.monitoring.changepoint import start_detector
from calibrant.monitoring.drift import score_drift
from calibrant.monitoring.labelfree import confidence_summary
from calibrant.monitoring.monitor import Monitor
from calibrant.monitoring.performance import CAVEAT, estimate_performance
from calibrant.monitoring.sequential import start_eprocess
from calibrant.reporting.timeline import render_timeline, write_timeline
from calibrant.util.results import number
from tests.calling import raises

RNG = np.random.default_rng(11)
N = 600
SCORE = RNG.beta(2, 2, N)
YES = (RNG.random(N) < SCORE).astype(int)
WHEN = np.datetime64("2026-01-05T00:00") + (np.arange(N) * 720).astype("timedelta64[s]")  # 120 rows a day
REFERENCE = RNG.beta(2, 2, 1500)
TRUTH = (RNG.random(1500) < REFERENCE).astype(int)
QUICK: dict[str, Any] = {"every": "1d", "n_resamples": 39, "drift_alpha": 0.3}


def make(folder: Path, **words: Any) -> Monitor:
    return Monitor.create(folder / "watch.db", reference=(TRUTH, REFERENCE), **{**QUICK, **words})


def send(monitor: Monitor, rows: slice, labels: Any = YES, **words: Any) -> Any:
    chosen = {"when": WHEN[rows], "ids": np.arange(N)[rows], **words}
    return monitor.update(None if labels is None else labels[rows], SCORE[rows], **chosen)


def gap_by_scipy(y: Any, p: Any) -> tuple[float, float]:
    """Exact intervals of the surprises on both sides of one half; the distances to their ends add as squares."""
    reach = {}
    for name, side in (("below", p <= 0.5), ("above", p > 0.5)):
        wrong, rows = int((y[side] != (p[side] > 0.5)).sum()), int(side.sum())
        ends = stats.binomtest(wrong, rows).proportion_ci(0.95, "exact")
        reach[name] = ((wrong / rows - ends.low) * rows / len(p), (ends.high - wrong / rows) * rows / len(p))
    gap = p.mean() - y.mean()
    low = gap - np.hypot(reach["below"][1], reach["above"][0])
    return low, gap + np.hypot(reach["below"][0], reach["above"][1])


def test_an_empty_monitor(tmp_path: Path) -> None:
    status = make(tmp_path).status()
    assert status.verdict == "No rows yet."
    assert (status.windows, status.groups, status.alarms, status.n, status.clock) == ((), (), (), 0, None)
    assert json.loads(status.to_json())["evidence"]["e_value"] == pytest.approx(1.0)
    assert "calibrant_rows 0\n" in status.to_prometheus()
    assert len(status.to_frame()) == 0
    assert "No rows yet." in render_timeline(status)


def test_one_window_without_labels(tmp_path: Path) -> None:
    monitor = make(tmp_path)
    done = send(monitor, slice(0, 50), None)
    assert (done.added, done.labelled) == (50, 0)
    status = monitor.status()
    window = status.windows[0]
    assert (window.state, window.n, window.labelled, window.calibration, window.e_value) == ("open", 50, 0, None, None)
    assert status.verdict == "No alarm. No window has been tested yet, so calibration cannot be assessed."
    assert CAVEAT in render_timeline(status)
    assert json.loads(status.to_json())["windows"][0]["calibration"] is None
    assert status.to_frame()["n"].tolist() == [50]


@pytest.mark.usefixtures("full_windows")
def test_numbers_are_the_library_s(tmp_path: Path) -> None:
    monitor = make(tmp_path)
    send(monitor, slice(0, 480))
    shown = monitor.status()
    process, detector = start_eprocess(lens="binary"), start_detector(run_length=1000, lens="binary")
    reference = cal.Sketch.of(TRUTH, REFERENCE)
    for day, window in enumerate(shown.windows):
        rows = slice(120 * day, 120 * day + 120)
        sketch = cal.Sketch.of(YES[rows], SCORE[rows])
        assert window.window == f"2026-01-0{5 + day}"
        assert monitor.sketch(window.window) == sketch
        c = window.calibration
        assert (c.ece, c.smece) == (cal.ece(sketch), cal.smece(sketch))
        assert c.gap == pytest.approx(SCORE[rows].mean() - YES[rows].mean(), abs=1e-12)
        assert c.ece_low == cal.interval(sketch, metric="ece", n_resamples=200, rng=0).low
        assert c.accuracy == pytest.approx(((SCORE[rows] > 0.5) == YES[rows]).mean())
        assert (c.gap_low, c.gap_high) == pytest.approx(gap_by_scipy(YES[rows], SCORE[rows]), abs=1e-12)
        # Hardly wider than by the spread of the gaps, which needs many events.
        half = 1.96 * np.std(SCORE[rows] - YES[rows]) / np.sqrt(120)
        assert 2 * half < c.gap_high - c.gap_low < 2.3 * half
        assert (c.bound_low, c.bound_high) == pytest.approx((c.gap, c.gap), abs=1e-12)
        assert window.scores.confidence == confidence_summary(sketch)
        drift = score_drift(
            reference,
            sketch,
            statistics=("psi", "ks_2samp", "wasserstein", "jensen_shannon"),
            alpha=0.3,
            n_resamples=39,
        )
        assert [r.value for r in window.scores.drift.results] == [r.value for r in drift.results]
        if min(drift.adjusted) > 0.3:
            assert window.scores.drift == drift
        assert window.scores.performance == estimate_performance(reference, sketch, n_resamples=200)
        if day < 3:
            process, detector = process.update(sketch), detector.update(sketch)
            assert (window.e_value, window.detector) == pytest.approx(
                (process.value, np.exp(detector.log_value)), rel=1e-12
            )
    assert [w.state for w in shown.windows] == ["tested"] * 3 + ["open"]
    assert (shown.process.log_value, shown.detector.log_value) == (process.log_value, detector.log_value)


def test_json_prometheus_and_page_show_the_same_numbers(tmp_path: Path) -> None:
    monitor = make(tmp_path)
    send(monitor, slice(0, 400), groups=np.where(np.arange(N) % 2, "a", "b")[:400])
    status = monitor.status()
    read = json.loads(status.to_json())
    newest = status.last_closed
    labelled = status.last_labelled
    lines = dict(line.rsplit(" ", 1) for line in status.to_prometheus().splitlines() if not line.startswith("#"))
    assert float(lines["calibrant_window_ece"]) == labelled.calibration.ece == read["windows"][2]["calibration"]["ece"]
    assert float(lines['calibrant_window_confidence{statistic="p99"}']) == newest.scores.confidence.p99
    for group, plain in zip(status.groups, read["groups"], strict=True):
        assert float(lines[f'calibrant_group_e_value{{group="{group.group}"}}']) == group.e_value == plain["e_value"]
    assert read["windows"][2]["confidence"]["median"] == newest.scores.confidence.median
    assert float(lines["calibrant_window_end"]) * 1e6 == newest.end
    page = render_timeline(status, title="Churn")
    cells = re.findall(r"<td[^>]*>(?:<bdi>)?(.*?)(?:</bdi>)?</td>", page)
    for value in (newest.scores.confidence.mean, newest.calibration.smece, newest.e_value):
        assert number(value) in cells
    assert status.to_frame()["ece"].tolist() == [w.calibration.ece for w in status.windows if w.calibration]


@pytest.mark.parametrize("name", [None, "monday"])
def test_rows_without_ids_come_once_by_delivery(tmp_path: Path, name: str | None) -> None:
    monitor = make(tmp_path)
    words = {"when": WHEN[:50], "delivery": name}
    assert monitor.update(YES[:50], SCORE[:50], **words).added == 50
    again = monitor.update(YES[:50], SCORE[:50], **words)
    assert (again.added, again.repeated) == (0, 50)
    assert repr(again) == "50 rows: 50 duplicates"
    other = {**words, "delivery": None if name is None else "tuesday"}
    assert monitor.update(YES[50:90], SCORE[50:90], when=WHEN[50:90], delivery=other["delivery"]).added == 40
    if name is not None:
        with pytest.raises(InputError) as caught:
            monitor.update(YES[:6], SCORE[:6], when=WHEN[:6], delivery=name)
        assert caught.value.argument == "delivery"
    assert monitor.status().n == 90


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.randoms(use_true_random=False))
def test_any_order_of_rows_labels_and_corrections_gives_the_same_bytes(tmp_path: Path, random: Any) -> None:
    """Rows with and without labels, labels later, wrong ones corrected, all of it repeated: the sketch is that of the final labels."""
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    monitor = make(folder, every=10_000)
    rows = list(range(40))
    random.shuffle(rows)
    cut = random.randint(1, 39)
    wrong = 1 - YES
    for part in (rows[:cut], rows[cut:]):
        given = [random.choice([None, int(YES[i]), int(wrong[i])]) for i in part]
        monitor.update(given, SCORE[part], ids=part)
    random.shuffle(rows)
    monitor.add_labels(rows, [int(random.choice([YES, wrong])[i]) for i in rows])
    for _ in range(2):
        random.shuffle(rows)
        monitor.add_labels(rows, YES[rows])
    assert monitor.sketch("rows 1-10000").to_bytes() == cal.Sketch.of(YES[:40], SCORE[:40]).to_bytes()
    assert monitor.sketch("rows 1-10000", labelled=False).n == 40


def test_labels_come_later_into_the_window_of_the_prediction(tmp_path: Path) -> None:
    monitor = make(tmp_path)
    send(monitor, slice(0, 360), None)
    assert "is waiting for labels: 0 of 120 available, 95% needed" in monitor.status().waiting
    # The second day first: bets wait for the first one.
    done = monitor.add_labels(np.arange(120, 240), YES[120:240])
    assert (done.labelled, done.tested) == (120, ())
    done = monitor.add_labels(np.arange(0, 110), YES[:110])
    assert done.tested == ()
    done = monitor.add_labels([*range(100, 118), 9999], [*YES[100:118], 1])
    assert (done.labelled, done.repeated, done.unknown, done.tested) == (8, 10, 1, ("2026-01-05", "2026-01-06"))
    late = monitor.add_labels([118, 119], YES[118:120])
    assert (late.labelled, late.late_labels) == (2, 2)
    corrected = monitor.add_labels([0], [1 - YES[0]])
    assert (corrected.revised, corrected.late_labels) == (1, 1)
    status = monitor.status()
    first = status.windows[0]
    assert (first.labelled, first.late_labels, first.revised, first.changed_since_test) == (120, 3, 1, True)
    assert any("corrected after the test, counted but not tested: 3" in note for note in first.notes)
    # The bets were made on what was known then.
    process = start_eprocess(lens="binary").update(cal.Sketch.of(YES[:118], SCORE[:118]))
    assert first.e_value == pytest.approx(process.value, rel=1e-12)
    now = YES[:120].copy()
    now[0] = 1 - now[0]
    assert monitor.sketch("2026-01-05") == cal.Sketch.of(now, SCORE[:120])
    assert first.calibration.ece == cal.ece(cal.Sketch.of(now, SCORE[:120]))


def test_a_missing_label_is_no_duplicate_row(tmp_path: Path) -> None:
    monitor = make(tmp_path)
    send(monitor, slice(0, 10), None)
    done = monitor.add_labels([0, 1, 2, 2, 9999], [1.0, np.nan, 0.0, 0.0, np.nan])
    assert (done.labelled, done.repeated, done.missing) == (2, 1, 2)
    assert repr(done) == "5 labels: 2 added, 1 duplicate, 2 missing, ignored"
    assert repr(monitor.add_labels([0], [np.nan])) == "1 label: 1 missing, ignored"
    assert send(monitor, slice(0, 10), None).repeated == 10


def test_bounds_hold_whatever_the_missing_labels_are(tmp_path: Path) -> None:
    monitor = make(tmp_path)
    labels = YES.astype(float)
    labels[60:] = np.nan
    send(monitor, slice(0, 100), labels)
    c = monitor.status().windows[0].calibration
    for fill, bound in ((1, c.bound_low), (0, c.bound_high)):
        full = np.append(YES[:60], np.full(40, fill))
        assert bound == pytest.approx(SCORE[:100].mean() - full.mean(), abs=1e-12)


@pytest.mark.parametrize("missing", ["ignore", "negative"])
def test_after_the_horizon_a_window_is_judged_anyway(tmp_path: Path, missing: str) -> None:
    monitor = make(tmp_path, missing=missing, horizon="2d")
    send(monitor, slice(0, 120), np.where(YES == 1, 1.0, np.nan))
    assert monitor.advance("2026-01-07T23:59").tested == ()
    assert monitor.advance("2026-01-08").tested == ("2026-01-05",)
    if missing == "ignore":
        rows = cal.Sketch.of(np.ones(YES[:120].sum(), int), SCORE[:120][YES[:120] == 1])
    else:
        rows = cal.Sketch.of(YES[:120], SCORE[:120])
    status = monitor.status()
    assert status.windows[0].e_value == pytest.approx(start_eprocess(lens="binary").update(rows).value, rel=1e-12)
    assert status.windows[0].calibration.ece == cal.ece(rows)
    assert not status.windows[0].changed_since_test


def test_each_window_is_bet_on_once_in_order(tmp_path: Path) -> None:
    monitor = make(tmp_path)
    for rows in (slice(0, 200), slice(200, 300), slice(100, 300), slice(300, 600)):
        send(monitor, rows)
    status = monitor.status()
    assert [w.state for w in status.windows] == ["tested"] * 4 + ["open"]
    assert (status.process.windows, status.process.rows) == (4, 480)
    assert Monitor.open(monitor.path).status().to_dict() == status.to_dict()


def test_a_change_is_found_and_dated(tmp_path: Path) -> None:
    monitor = make(tmp_path, run_length=200)
    rng = np.random.default_rng(0)
    raised = []
    for day in range(14):
        p = rng.beta(2, 2, 150)
        y = rng.random(150) < (p if day < 7 else p**2)
        when = np.datetime64("2026-02-01") + np.timedelta64(day, "D")
        raised += monitor.update(y, p, when=when, ids=np.arange(150) + 150 * day).alarms
    status = monitor.status()
    kinds = {alarm.kind for alarm in raised}
    assert kinds >= {"calibration", "change"}
    assert status.alarms == tuple(raised)
    first = next(alarm for alarm in raised if alarm.kind == "change")
    assert (first.onset, first.window) == ("2026-02-07", "2026-02-08")  # the truth changed on the 8th
    assert "probabilities too high" in first.words
    assert next(alarm for alarm in raised if alarm.kind == "calibration").onset in ("2026-02-07", "2026-02-08")
    assert status.verdict == "Alarm: calibration lost since 2026-02-07; predicted 49.9%, observed 31.1%."
    assert monitor.acknowledge() == len(raised)
    assert monitor.acknowledge() == 0
    quiet = monitor.status()
    assert quiet.open_alarms == ()
    assert quiet.verdict.startswith("No new alarm. The sequential test rejected calibration earlier")


def test_a_change_among_outcomes_that_are_only_reported_when_they_happen(tmp_path: Path) -> None:
    """Rows without a label count where the change is dated, as they did in the test."""
    rng = np.random.default_rng(0)
    old = rng.beta(1, 9, 2000)
    words: dict[str, Any] = {**QUICK, "horizon": "3d", "missing": "negative"}
    monitor = Monitor.create(tmp_path / "w.db", reference=(rng.random(2000) < old, old), **words)
    for day in range(10):
        p = rng.beta(1, 9, 1000)
        happened = np.flatnonzero(rng.random(1000) < (p if day < 4 else 0.4 * p)) + 1000 * day
        monitor.update(None, p, when=f"2026-03-{day + 1:02d}", ids=np.arange(1000) + 1000 * day)
        monitor.add_labels(happened, np.ones(len(happened), int))
    monitor.advance("2026-04-01")
    alarms = [alarm for alarm in monitor.status().alarms if alarm.kind != "scores"]
    assert {alarm.kind for alarm in alarms} == {"calibration", "change"}
    assert all("probabilities too high" in alarm.words for alarm in alarms)
    for kind in ("calibration", "change"):
        assert next(a for a in alarms if a.kind == kind).onset in ("2026-03-04", "2026-03-05", "2026-03-06")


def test_an_impossible_outcome_is_named(tmp_path: Path) -> None:
    monitor = make(tmp_path, every=100)
    score = SCORE[:400].copy()
    score[250], label = 0.0, YES[:400].copy()
    label[250] = 1
    monitor.update(label, score, ids=np.arange(400))
    alarms = [alarm for alarm in monitor.status().alarms if alarm.kind != "scores"]
    assert [(alarm.kind, alarm.window) for alarm in alarms[:2]] == [
        ("calibration", "rows 201-300"),
        ("change", "rows 201-300"),
    ]
    for alarm in alarms[:2]:
        assert alarm.onset == "rows 201-300"
        assert "Estimated onset rows 201-300: an outcome with predicted probability 0." in alarm.words
        assert "logit" not in alarm.words
    json.loads(monitor.status().to_json())


@pytest.mark.parametrize(("distribution", "n"), [((1, 499), 300), ((2, 2), 1), ((0.05, 0.05), 60)])
@pytest.mark.parametrize("warp", [lambda p: p, lambda p: 0.3 * p + 0.1])
def test_the_interval_of_the_gap_covers(distribution: tuple[float, float], n: int, warp: Any) -> None:
    """Also where events are rare, rows are few, scores are nearly certain, and where the gap is not 0."""
    rng = np.random.default_rng(4)
    covered = 0
    for _ in range(200):
        p = rng.beta(*distribution, n)
        q = warp(p)
        sketch = cal.Sketch.of((rng.random(n) < q).astype(int), p)
        low, high = gap_interval(sketch)
        covered += low <= (p - q).mean() <= high
        assert -1 <= low < high <= 1
    assert covered >= 200 * 0.95 - 3 * np.sqrt(200 * 0.95 * 0.05)


def test_the_interval_of_the_gap_of_one_row() -> None:
    row = cal.Sketch.of([1], [0.7])
    found = find_calibration(row, row, row)
    # No error in one row: the rate of errors lies between 0 and 1 - 0.025.
    assert (found.gap_low, found.gap_high) == pytest.approx((-0.3, 0.675))


def test_drift_of_scores_raises_an_alarm_without_labels(tmp_path: Path) -> None:
    monitor = make(tmp_path, groups=["a", "b"], drift_alpha=0.01)
    rng = np.random.default_rng(0)
    groups = np.where(np.arange(200) % 2, "a", "b")
    calm = monitor.update(None, rng.beta(2, 2, 200), when="2026-02-01", ids=range(200), groups=groups)
    assert calm.alarms == ()
    monitor.update(None, rng.beta(5, 2, 200), when="2026-02-02", ids=range(200, 400), groups=groups)
    (alarm,) = monitor.advance("2026-02-03").alarms
    assert (alarm.kind, alarm.group, alarm.window) == ("scores", None, "2026-02-02")
    assert alarm.evidence <= 0.01
    status = monitor.status()
    assert (
        status.verdict
        == "Score drift: the score distribution has changed. This is a reason to investigate, not evidence of miscalibration."
    )
    reading = status.windows[1].scores.reading
    assert reading.direction == "rise"
    assert "overconfident failure" in reading.words
    assert "easier inputs" in reading.words
    assert "The reference data do not contain this group" in " ".join(monitor.status(group="a").notes)


def test_a_group_is_one_however_a_file_spells_it(tmp_path: Path) -> None:
    monitor = make(tmp_path, groups=[1, 2, "b", True])
    spellings: list[tuple[list[Any], list[Any]]] = [
        ([1.0, 1.0, 2.0], [1, 1, 2]),
        (["b", "b", "TRUE"], ["b", "b", True]),
        (["1.0", "01", "2"], [1, "01", 2]),
        (["01.0", "B", "1"], ["01.0", "B", 1]),
    ]
    wanted: dict[str, int] = {}
    for day, (spelled, found) in enumerate(spellings, 1):
        ids = [f"{day}-{row}" for row in range(3)]
        for groups in (spelled, found):  # the second time in the spelling that the monitor knows
            monitor.update([0, 1, 1], [0.2, 0.6, 0.7], when=f"2026-02-0{day}", ids=ids, groups=np.array(groups, object))
        for group in found:
            wanted[str(group)] = wanted.get(str(group), 0) + 1
    assert {str(each.group): each.n for each in monitor.status().groups} == wanted
    assert monitor.status(group="1").n == monitor.status(group=1.0).n == 4


def test_declared_groups_are_those_of_the_reference_however_they_are_spelled(tmp_path: Path) -> None:
    reference = cal.Predictions(TRUTH, REFERENCE, groups=np.arange(1500) % 3)
    monitor = Monitor.create(tmp_path / "w.db", reference=reference, groups=["1", 2.0, "b"], **QUICK)
    assert [each.group for each in monitor.status().groups] == [1, 2, "b"]
    assert [monitor._reference_of(stream).scores is None for stream in ("1", "2", '"b"')] == [False, False, True]


def test_groups_are_watched_and_may_join_later(tmp_path: Path) -> None:
    reference = cal.Predictions(TRUTH, REFERENCE, groups=np.where(np.arange(1500) % 2, "north", "south"))
    monitor = Monitor.create(tmp_path / "w.db", reference=reference, **QUICK)
    rng = np.random.default_rng(1)
    for day in range(8):
        p = rng.beta(2, 2, 240)
        g = np.array(["north", "south", "west"])[np.arange(240) % (3 if day > 2 else 2)]
        y = rng.random(240) < np.where(g == "west", p**3, p)
        monitor.update(
            y, p, when=np.datetime64("2026-02-01") + np.timedelta64(day, "D"), ids=np.arange(240) + 240 * day, groups=g
        )
    status = monitor.status()
    groups = {g.group: g for g in status.groups}
    assert list(groups) == ["north", "south", "west"]
    assert [g.declared for g in status.groups] == [True, True, False]
    # Half of the level for those declared, evenly; half for the others, 1/(g (g+1)) each.
    assert [g.needed for g in status.groups] == pytest.approx([2 * 2 / 0.05, 2 * 2 / 0.05, 2 * 12 / 0.05])
    assert sum(1 / g.needed for g in status.groups) <= 0.05
    assert [g.rejected for g in status.groups] == [False, False, True]
    assert groups["west"].flagged
    assert status.together == pytest.approx((groups["north"].e_value + groups["south"].e_value) / 2)
    west = monitor.status(group="west")
    assert [w.window for w in west.windows] == [f"2026-02-0{d}" for d in range(4, 9)]
    assert west.n == groups["west"].n == sum(w.n for w in west.windows)
    assert (groups["north"].drift_pvalue is None, groups["west"].drift_pvalue) == (False, None)
    own = tuple(alarm for alarm in status.alarms if alarm.group == "west" and alarm.kind != "scores")
    assert {alarm.kind for alarm in own} == {"calibration", "change"}
    only = dataclasses.replace(status, alarms=own)
    assert only.verdict == "Alarm: calibration lost in groups (west)."
    total = sum(g.n for g in status.groups)
    assert total == status.n == 8 * 240
    with pytest.raises(GroupError, match="group: unknown group 'east'; the groups are north, south, west"):
        monitor.status(group="east")


def test_counted_windows(tmp_path: Path) -> None:
    monitor = make(tmp_path, every=100)
    for rows in (slice(0, 130), slice(60, 130), slice(130, 305)):
        monitor.update(YES[rows], SCORE[rows], ids=np.arange(N)[rows])
    status = monitor.status()
    assert [(w.window, w.n, w.state) for w in status.windows] == [
        ("rows 1-100", 100, "tested"),
        ("rows 101-200", 100, "tested"),
        ("rows 201-300", 100, "tested"),
        ("rows 301-400", 5, "open"),
    ]
    assert monitor.sketch("rows 101-200") == cal.Sketch.of(YES[100:200], SCORE[100:200])
    assert (status.clock, status.every) == ("row 305", "100 rows")
    with pytest.raises(ArgumentError, match="now: applies to windows of time, and these are counted in rows; drop now"):
        monitor.advance("2026-01-01")
    with pytest.raises(ArgumentError, match="when: applies to windows of time"):
        monitor.update(YES[:1], SCORE[:1], when="2026-02-01")
    assert "rows 301-400" in render_timeline(status)


@pytest.mark.parametrize("lens", ["auto", "class:dog"])
def test_several_classes_by_name(tmp_path: Path, lens: str) -> None:
    names = np.array(["cat", "dog", "eel"])
    probs = RNG.dirichlet([2, 2, 2], 300)
    labels = names[(RNG.random(300)[:, None] > probs.cumsum(axis=1)).sum(axis=1)]
    monitor = Monitor.create(
        tmp_path / "w.db",
        reference=cal.Predictions(labels[:100], probs[:100], classes=list(names)),
        lens=lens,
        **QUICK,
    )
    some = labels[100:].astype(object)
    some[::2] = None
    monitor.update(some, probs[100:], when="2026-01-01", ids=range(200))
    wanted = "top_label" if lens == "auto" else lens

    def sketch(y: Any, p: Any) -> cal.Sketch:
        return cal.Sketch.of(cal.Predictions(y, p, classes=list(names)), lens=wanted)

    assert monitor.sketch("2026-01-01") == sketch(labels[101::2], probs[101::2])
    monitor.add_labels(range(200), np.roll(labels[100:], 1))
    monitor.add_labels(range(200), labels[100:])
    assert monitor.sketch("2026-01-01") == sketch(labels[100:], probs[100:])
    window = monitor.status().windows[0]
    assert window.calibration.ece == cal.ece(sketch(labels[100:], probs[100:]))
    metrics = [each.metric for each in window.scores.performance.estimates]
    assert metrics == (["accuracy", "brier"] if lens == "auto" else ["auroc", "brier"])
    with raises(LabelError, "y_true"):
        monitor.add_labels([0], ["fox"])


def test_confidences_and_sketches_as_reference(tmp_path: Path) -> None:
    p = cal.Predictions(TRUTH, np.maximum(REFERENCE, 0.5), input="confidence")
    monitor = Monitor.create(tmp_path / "w.db", reference=cal.Sketches.of(p), **QUICK)
    monitor.update(YES[:50], SCORE[:50], when="2026-01-01", ids=range(50))
    assert monitor.sketch("2026-01-01") == cal.Sketch.of(cal.Predictions(YES[:50], SCORE[:50], input="confidence"))
    assert monitor.settings.lens == "top_label"


def test_labels_missing_in_every_form(tmp_path: Path) -> None:
    import pandas as pd

    forms = [
        [1, None, 0],
        np.array([1, np.nan, 0]),
        pd.Series([1, None, 0], dtype="Int64"),
        np.ma.masked_array([1, 0, 0], [False, True, False]),
        [True, None, False],
    ]
    for place, form in enumerate(forms):
        folder = tmp_path / str(place)
        folder.mkdir()
        monitor = make(folder)
        assert monitor.update(form, [0.2, 0.3, 0.4], when="2026-01-01", ids=list("abc")).labelled == 2
        assert monitor.sketch("2026-01-01") == cal.Sketch.of([1, 0], [0.2, 0.4])


def test_what_cannot_be_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    monitor = make(tmp_path)
    good = {"when": "2026-01-01", "ids": ["a", "b"]}
    monitor.update([0, 1], [0.1, 0.2], groups=["x", "x"], **good)
    before = monitor.status().to_dict()
    cases: list[tuple[dict[str, Any], str]] = [
        ({"y_prob": [0.1, 0.25]}, "ids"),
        ({"when": ["2026-01-01", "2026-01-02"]}, "ids"),
        ({"groups": ["x", "y"]}, "ids"),
        ({"ids": ["c", "c"]}, "ids"),
        ({"ids": ["c", None]}, "ids"),
        ({"ids": ["c"]}, "ids"),
        ({"y_true": [0, 1, 1]}, "y_true"),
        ({"y_true": [0, 2]}, "y_true"),
        ({"y_prob": [0.1, 1.2]}, "y_prob"),
        ({"y_prob": [[0.1, 0.2, 0.7]] * 2}, "y_prob"),
        ({"when": None}, "when"),
    ]
    for change, argument in cases:
        words: dict[str, Any] = {"y_true": [0, 1], "y_prob": [0.1, 0.2], "groups": ["x", "x"], **good, **change}
        with pytest.raises(InputError) as caught:
            monitor.update(words.pop("y_true"), words.pop("y_prob"), **words)
        assert caught.value.argument == argument, change
    with pytest.raises(InputError, match="ids: the id 'a' is repeated with another label"):
        monitor.add_labels(["a", "a"], [0, 1])
    assert monitor.status().to_dict() == before


BAD_OPTIONS: list[dict[str, Any]] = [
    {"every": 0}, {"every": "1 month"}, {"alpha": 2}, {"mature": 0}, {"missing": "negative"}, {"missing": "maybe"},
    {"horizon": 3}, {"lens": "canonical"}, {"reference": 3}, {"run_length": 0.5},
]  # fmt: skip


@pytest.mark.parametrize("words", BAD_OPTIONS, ids=str)
def test_bad_options(tmp_path: Path, words: dict[str, Any]) -> None:
    with pytest.raises(cal.errors.CalibrantError) as caught:
        Monitor.create(tmp_path / "w.db", **{"reference": (TRUTH, REFERENCE), **QUICK, **words})
    assert caught.value.argument == next(iter(words))
    assert not (tmp_path / "w.db").exists()


def test_the_page_is_inert_and_the_same_each_time(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>\"'{{7*7}}"
    monitor = make(tmp_path)
    send(monitor, slice(0, 300), groups=[hostile] * 300)
    status = monitor.status()
    path = write_timeline(tmp_path / "page.html", status, title=hostile)
    page = path.read_text()
    assert page == render_timeline(monitor.status(), title=hostile)
    assert "<script" not in page
    assert "{{7*7}}" in page
    assert "&lt;script&gt;" in page
    assert "default-src 'none'" in page
    outside = [link for link in re.findall(r"(?:src|href|srcset)=\"([^\"]*)", page) if not link.startswith("data:")]
    assert outside == []
    assert 'group="<script>alert(1)</script>\\"' in status.to_prometheus()


def test_last_windows_only(tmp_path: Path) -> None:
    monitor = make(tmp_path)
    send(monitor, slice(0, 600))
    status = monitor.status(last=2)
    assert [w.window for w in status.windows] == ["2026-01-08", "2026-01-09"]
    assert status.total_windows == 5
    assert "The last 2 of 5 windows." in render_timeline(status)
    with pytest.raises(ArgumentError, match=r"window: unknown window 'x'; see status\(\)\.windows"):
        monitor.sketch("x")
    with pytest.raises(LensError, match="lens: the reference has no sketch of 'class:cat'; choose one of binary"):
        Monitor.create(tmp_path / "v.db", reference=cal.Sketches.of(TRUTH, REFERENCE), every="1d", lens="class:cat")


def test_a_row_of_next_year_is_refused(tmp_path: Path) -> None:
    monitor = make(tmp_path, horizon="5d")
    send(monitor, slice(0, 240), None)
    with pytest.raises(InputError, match="when: 2027-01-06T00:00Z is after the latest accepted time"):
        monitor.update(None, [0.5], when="2027-01-06", ids=["future"], latest="2026-01-08")
    assert monitor.status().n == 240
    with raises(InputError, "now"):
        monitor.advance("2027-01-07", latest="2026-01-08")
    monitor.update(None, [0.5], when="2027-01-06", ids=["future"], latest=None)
    closed = monitor.status()
    assert [w.state for w in closed.windows] == ["waiting", "waiting", "open"]  # there are no labels to test
    assert "Window 2026-01-05 has no labels, though its horizon has passed" in closed.waiting


def make_beside(folder: Path, **words: Any) -> Monitor:
    (folder / "beside").mkdir()
    return make(folder / "beside", **words)


def test_errors_about_scores_name_what_an_update_takes(tmp_path: Path) -> None:
    monitor = make(tmp_path)
    for score in (1.7, -3.0, np.nan, 1.0000001):
        with raises(ProbabilityError, "y_prob") as caught:
            monitor.update([1, 0], [0.5, score], when="2026-01-05")
        assert "Predictions(" not in str(caught.value)


def test_the_time_of_the_machine_is_the_limit_by_default(tmp_path: Path) -> None:
    monitor = make(tmp_path)
    with pytest.raises(InputError, match="when: 9998-01-01T00:00Z is after the latest accepted time"):
        monitor.update(None, [0.5], when="9998-01-01")
    with raises(InputError, "latest"):
        monitor.update(None, [0.5], when="2026-01-01", latest="soon")


def test_a_window_without_labels_is_not_tested_after_its_horizon(tmp_path: Path) -> None:
    monitor = make(tmp_path, horizon="1d")
    send(monitor, slice(0, 600), None)  # five days
    assert monitor.status().process.windows == 0
    assert {w.state for w in monitor.status().windows[:3]} == {"waiting"}
    done = monitor.add_labels(np.arange(120, 240), YES[120:240])
    assert done.tested == ("2026-01-06",)
    states = [w.state for w in monitor.status().windows]
    assert states[:3] == ["skipped", "tested", "waiting"]
    negative = make_beside(tmp_path, horizon="1d", missing="negative")
    assert send(negative, slice(0, 600), None).tested == ("2026-01-05", "2026-01-06", "2026-01-07")


@pytest.mark.parametrize("cut", [0, 300])
def test_labels_that_come_before_their_predictions_are_kept(tmp_path: Path, cut: int) -> None:
    usual, early = make(tmp_path), make_beside(tmp_path)
    send(usual, slice(0, 600))
    told = early.add_labels(np.arange(N)[cut:], 1 - YES[cut:])
    again = early.add_labels(np.arange(N)[cut:], YES[cut:])  # corrected before the prediction has arrived
    assert (told.unknown, again.unknown, again.labelled) == (N - cut, N - cut, 0)
    if cut == 0:
        assert repr(told) == "600 labels: 600 with unknown ids, kept for their predictions"
        assert early.status().notes == ("Labels waiting for their predictions: 600.",)
    labels = np.where(np.arange(N) < cut, YES, np.nan)
    done = send(early, slice(0, 600), labels)
    assert (done.added, done.labelled) == (N, N)
    assert early.status().to_dict() == {**usual.status().to_dict()}
    assert send(early, slice(0, 600), labels).repeated == N


def test_a_label_that_comes_with_the_prediction_replaces_an_earlier_one(tmp_path: Path) -> None:
    monitor = make(tmp_path)
    monitor.add_labels([0], [1 - YES[0]])
    send(monitor, slice(0, 1))
    assert monitor.sketch("2026-01-05").positives == YES[0]


def test_a_monitor_is_created_or_opened() -> None:
    with pytest.raises(InputTypeError, match=r"Monitor\.create .* Monitor\.open"):
        cal.Monitor("m.db", every="1d")


@pytest.mark.parametrize("season", [None, "week"])
def test_windows_are_compared_with_the_same_day_of_the_week(tmp_path: Path, season: str | None) -> None:
    rng = np.random.default_rng(3)

    def days(first: str, count: int) -> tuple[Any, Any, Any]:
        """100 rows a day; at weekends the scores are higher, and calibrated as on other days."""
        day = np.datetime64(first) + np.repeat(np.arange(count), 100)
        weekend = np.is_busday(day) == 0
        score = np.where(weekend, rng.beta(4, 2, len(day)), rng.beta(2, 4, len(day))).round(2)
        return rng.random(len(day)) < score, score, day

    y, p, when = days("2026-01-05", 56)
    rule = cal.monitoring.window_rule("1d", season=season)
    ood = {"half": p / 2}
    monitor = Monitor.create(tmp_path / "s.db", reference=(y, p), when=when, every=rule, ood=ood, n_resamples=199)
    y, p, when = days("2026-03-02", 14)
    monitor.update(y, p, when=when, ood={"half": p / 2})
    monitor.advance("2026-03-16")
    alarms = {alarm.window for alarm in Monitor.open(tmp_path / "s.db").status().alarms}
    weekends = {"2026-03-07", "2026-03-08", "2026-03-14", "2026-03-15"}
    assert alarms & weekends == (weekends if season is None else set())
    assert season is None or not alarms
    y, p, when = days("2026-03-16", 1)
    monitor.update(y, (p**0.3).round(2), when=when, ood={"half": p**0.3 / 2})
    assert "scores" in {alarm.kind for alarm in monitor.advance("2026-03-17").alarms}
    assert monitor.status().windows[-1].scores.reading.reference.n == (800 if season else 5600)


def test_a_season_requires_rows_with_times(tmp_path: Path) -> None:
    rule = cal.monitoring.window_rule("1d", season="week")
    with pytest.raises(ArgumentError) as caught:
        Monitor.create(tmp_path / "s.db", reference=(TRUTH, REFERENCE), every=rule)
    assert caught.value.argument == "when"
    sketches = cal.Sketches.of(cal.Predictions(TRUTH, REFERENCE))
    with pytest.raises(ArgumentError) as caught:
        Monitor.create(tmp_path / "s.db", reference=sketches, every=rule)
    assert caught.value.argument == "reference"
