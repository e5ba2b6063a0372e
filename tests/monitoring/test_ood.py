"""Out-of-distribution scores beside the predictions of a monitor: baseline, drift, alarms, level, and what an update must bring."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calibrant as cal
from calibrant.errors import ArgumentError, InputError, InputTypeError, ShapeError
from calibrant.monitoring.alarms import drift_alarms
from calibrant.monitoring.building import Baseline, examine
from calibrant.monitoring.drift import score_drift
from calibrant.monitoring.ingest import sketch_of
from calibrant.monitoring.labelfree import ScoreFindings
from calibrant.monitoring.monitor import Monitor
from calibrant.monitoring.ood import OodScale, scales_of
from calibrant.monitoring.queries import Part
from calibrant.monitoring.settings import Settings
from calibrant.monitoring.windows import WindowRule
from calibrant.reporting.timeline import render_timeline
from calibrant.reporting.timeline_charts import timeline_spec
from calibrant.sketches.sketch import Sketch
from tests.calling import raises

QUICK: dict[str, Any] = {"every": 40, "n_resamples": 99, "drift_alpha": 0.1}


def rows_of(n: int, seed: int, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Labels, scores, and two out-of-distribution scores of skewed and of negative values; they depend on each other."""
    rng = np.random.default_rng(seed)
    score = rng.beta(2, 2, n)
    common = rng.normal(size=n)
    ood = {"energy": 2 * common - 7 + 2 * shift, "distance": np.exp(common + rng.normal(size=n) + shift)}
    return (rng.random(n) < score).astype(int), score, ood


def make(folder: Path, n: int = 200, **words: Any) -> Monitor:
    labels, score, ood = rows_of(n, 0)
    return Monitor.create(folder / "watch.db", reference=(labels, score), **{**QUICK, "ood": ood, **words})


def send(monitor: Monitor, seed: int, shift: float = 0.0, n: int = 40) -> Any:
    labels, score, ood = rows_of(n, seed, shift)
    return monitor.update(labels, score, ids=[f"{seed}-{row}" for row in range(n)], ood=ood)


def test_numbers_are_those_of_the_scores(tmp_path: Path) -> None:
    monitor = make(tmp_path)
    send(monitor, 1)
    found = {each.name: each for each in monitor.status().windows[0].scores.ood}
    before, now = rows_of(200, 0)[2], rows_of(40, 1)[2]
    for name, scale in zip(found, monitor.settings.ood, strict=True):
        each = found[name]
        spread = np.subtract(*np.quantile(before[name], (0.75, 0.25)))
        assert scale.scale == pytest.approx(spread / 2)
        # Quantiles are those of the scores; between two rows they are interpolated on the Cauchy scale.
        for sample, quantiles in (
            (now, (each.median, each.p90, each.p99)),
            (before, (each.reference_median, each.reference_p90, each.reference_p99)),
        ):
            wanted = [scale.value(place) for place in np.quantile(scale.placed(sample[name]), (0.5, 0.9, 0.99))]
            assert quantiles == pytest.approx(wanted, rel=0.02, abs=1e-3 * spread)
            ends = [np.quantile(sample[name], (0.5, 0.9, 0.99), method=way) for way in ("lower", "higher")]
            assert (ends[0] - 0.02 * np.abs(ends[0]) <= quantiles).all()
            assert (quantiles <= ends[1] + 0.02 * np.abs(ends[1])).all()
        assert each.beyond == pytest.approx((now[name] > wanted[2]).mean())
        # Distances of ranks do not depend on the scale.
        plain = score_drift(before[name], now[name], statistics=["ks_2samp", "psi"], n_resamples=19)
        assert each.drift["ks_2samp"].value == pytest.approx(plain["ks_2samp"].value, abs=1e-12)
        assert each.drift["psi"].value == pytest.approx(plain["psi"].value, abs=1e-12)
        at = plain["ks_2samp"].details["at"]
        assert each.drift["ks_2samp"].details["at"] == pytest.approx(at, abs=0.01 * spread)


def test_drift_is_found_named_and_shown_everywhere(tmp_path: Path) -> None:
    monitor = make(tmp_path)
    assert send(monitor, 1).alarms == ()
    raised = send(monitor, 2, 1.5).alarms
    assert [(alarm.kind, alarm.score, alarm.group) for alarm in raised] == [
        ("ood", "energy", None),
        ("ood", "distance", None),
    ]
    assert "in the reference data), " in raised[0].words
    status = monitor.status()
    assert status.verdict.startswith("Drift of out-of-distribution scores (energy, distance): the inputs may differ")
    assert "ood energy, window rows 41-80: median -" in repr(status)
    plain = json.loads(status.to_json())
    assert plain["ood"] == ["energy", "distance"]
    assert [each["name"] for each in plain["windows"][1]["ood"]] == ["energy", "distance"]
    assert plain["windows"][1]["ood"][0]["pvalue"] == status.windows[1].scores.ood[0].pvalue < 0.03
    assert plain["alarms"][0]["score"] == "energy"
    gauges = status.to_prometheus()
    assert 'calibrant_alarms_open{kind="ood"} 2' in gauges
    assert 'calibrant_window_ood{score="distance",statistic="median"} ' in gauges
    assert 'calibrant_window_ood_drift{score="energy",statistic="psi"} ' in gauges
    assert 'calibrant_window_ood_drift_p_value{score="energy"} ' in gauges
    page = render_timeline(status)
    assert "drift of an out-of-distribution score, energy, all rows" in page
    assert "<th class=number>distance p99</th>" in page
    assert "shared by the predictions and the 2 out-of-distribution scores" in page
    titles = [chart["title"]["text"] for chart in timeline_spec(status)["vconcat"]]
    assert titles[2:4] == ["Out-of-distribution score energy", "Out-of-distribution score distance"]
    frame = status.to_frame()
    assert frame["ood_energy_pvalue"].tolist()[1] < 0.03 < frame["ood_energy_pvalue"].tolist()[0]
    assert monitor.acknowledge() == 2
    assert Monitor.open(monitor.path).status().open_alarms == ()


def test_calibration_outranks_drift_in_the_verdict(tmp_path: Path) -> None:
    monitor = make(tmp_path, alpha=0.5)
    _, score, ood = rows_of(40, 3, 2.0)
    monitor.update((score < 0.5).astype(int), score, ood=ood)
    kinds = {alarm.kind for alarm in monitor.status().open_alarms}
    assert {"calibration", "ood"} <= kinds
    assert monitor.status().verdict.startswith("Alarm: calibration lost")


def examined(seed: int, settings: Settings, reference: int, size: int) -> list[tuple[str, str, float, str]]:
    """Drift alarms of one window that has the distribution of the reference data."""
    _, old, before = rows_of(reference, 2 * seed)
    _, new, now = rows_of(size, 2 * seed + 1)
    scales = scales_of(before)
    own = settings.__class__(**{**vars(settings), "ood": scales})
    sketches = [
        {each.name: sketch_of(each.placed(ood[each.name]), None, "score") for each in scales} for ood in (before, now)
    ]
    part = Part(0, "null", size, 0, sketch_of(new, None, "binary"), Sketch.empty("binary"), None, None, sketches[1])
    base = Baseline(sketch_of(old, None, "binary"), sketches[0])
    return drift_alarms({"null": examine(part, own, base, 1)}, settings.drift_alpha)


def quiet_share(windows: int, reference: int, size: int, alpha: float, draws: int) -> float:
    settings = Settings(
        "binary", (0, 1), False, "binary", WindowRule(None, size), 0.05, 1000, alpha, 0.95, None, "ignore", draws, 0
    )
    return float(np.mean([bool(examined(seed, settings, reference, size)) for seed in range(windows)]))


def test_three_scores_share_the_level() -> None:
    """Any false alarm among predictions and two dependent scores: at most 20% of windows, and not far less."""
    share = quiet_share(60, 60, 20, 0.2, 49)
    assert 0.03 < share < 0.2 + 2.6 * np.sqrt(0.2 * 0.8 / 60)


@pytest.mark.deep
def test_three_scores_share_the_level_in_many_windows() -> None:
    share = quiet_share(1000, 200, 50, 0.05, 199)
    assert 0.015 < share < 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / 1000)


def test_groups_have_their_own_baseline(tmp_path: Path) -> None:
    labels, score, ood = rows_of(200, 0)
    groups = np.array(["a", "b"])[np.arange(200) % 2]
    ood["energy"] = ood["energy"] + 50 * (groups == "b")
    p = cal.Predictions(labels, score, groups=groups)
    monitor = Monitor.create(tmp_path / "watch.db", reference=p, ood={"energy": ood["energy"]}, **QUICK)
    labels, score, new = rows_of(40, 1)
    which = np.array(["a", "b"])[np.arange(40) % 2]
    done = monitor.update(labels, score, groups=which, ood=new["energy"] + 50 * (which == "b"))
    assert done.alarms == ()
    medians = [monitor.status(group=name).windows[0].scores.ood[0] for name in ("a", "b")]
    assert medians[1].median - medians[0].median == pytest.approx(50, abs=3)
    assert medians[1].reference_median == pytest.approx(medians[1].median, abs=3)
    done = monitor.update(labels, score, groups=which, ood=np.roll(new["energy"] + 50 * (which == "b"), 1))  # exchanged
    assert {(alarm.kind, alarm.group) for alarm in done.alarms} >= {("ood", "a"), ("ood", "b")}
    later = monitor.update(labels, score, groups=["new"] * 40, ood=new["energy"])
    assert later.added == 40
    alone = monitor.status(group="new").windows[0].scores.ood[0]
    assert (alone.pvalue, alone.reference_median) == (None, None)
    assert alone.words.startswith("energy: median ")


def test_what_is_missing_or_unknown_is_named_and_nothing_is_kept(tmp_path: Path) -> None:
    monitor = make(tmp_path)
    good = {"energy": [1.0, 2.0], "distance": [1.0, 2.0]}
    for ood, kind, problem in (
        (None, InputError, "watches energy, distance"),
        ([1.0, 2.0], InputError, "unknown score 'ood'"),
        ({"energy": [1.0, 2.0]}, InputError, "'distance' is missing"),
        ({**good, "more": [1, 2]}, InputError, "unknown score 'more'"),
        ({**good, "energy": [1.0, np.nan]}, InputError, "missing value of 'energy' in row 1"),
        ({**good, "energy": [np.inf, 1]}, InputError, "'energy' is inf in row 0"),
        ({**good, "energy": [None, 1.0]}, InputError, "missing value of 'energy' in row 0"),
        ({**good, "energy": np.ma.masked_array([1.0, 2.0], [False, True])}, InputError, "missing value of 'energy'"),
        ({**good, "energy": [1.0]}, ShapeError, "2 rows of 'energy'"),
        ({**good, "energy": ["a", "b"]}, InputTypeError, "the text 'a' in row 0"),
    ):
        with pytest.raises(kind, match=problem) as caught:
            monitor.update(None, [0.2, 0.3], ids=["a", "b"], ood=ood)
        assert caught.value.argument == "ood"
    assert monitor.status().n == 0
    assert monitor.update(None, [0.2, 0.3], ids=["a", "b"], ood=good).added == 2
    assert monitor.update(None, [0.2, 0.3], ids=["a", "b"], ood=good).repeated == 2
    with pytest.raises(InputError, match=r"the id 'b' is already stored .* \(energy 9, previously 2\) in row 1"):
        monitor.update(None, [0.2, 0.3], ids=["a", "b"], ood={**good, "energy": [1.0, 9.0]})
    with pytest.raises(InputError, match="the id 'c' is repeated with other values"):
        monitor.update(None, [0.2, 0.2], ids=["c", "c"], ood=good)
    assert monitor.add_labels(["a", "b"], [0, 1]).labelled == 2
    assert monitor.update([1, 0], [0.2, 0.3], ids=["a", "b"], ood=good).revised == 2
    found = monitor.status().windows[0]
    assert (found.n, found.labelled, found.scores.ood[0].n) == (2, 2, 2)


def test_rows_without_ids_come_once_by_their_content(tmp_path: Path) -> None:
    monitor = make(tmp_path, ood=rows_of(200, 0)[2]["energy"])
    assert [each.name for each in monitor.settings.ood] == ["ood"]
    _, score, ood = rows_of(30, 1)
    assert monitor.update(None, score, ood=ood["energy"]).added == 30
    assert monitor.update(None, score, ood=ood["energy"]).repeated == 30
    assert monitor.update(None, score, ood=ood["energy"] + 1).added == 30


def test_any_order_gives_the_same_bytes(tmp_path: Path) -> None:
    labels, score, ood = rows_of(60, 5)
    found = []
    for number, order in enumerate((np.arange(60), np.random.default_rng(0).permutation(60))):
        folder = tmp_path / str(number)
        folder.mkdir()
        monitor = make(folder, every="1d", n_resamples=19)
        for rows in np.array_split(order, 4):
            days = np.datetime64("2026-01-05") + (rows // 20).astype("timedelta64[D]")
            part = {name: values[rows] for name, values in ood.items()}
            monitor.update(labels[rows], score[rows], when=days, ids=rows, ood=part)
        with sqlite3.connect(monitor.path) as db:
            found.append(db.execute("SELECT place, stream, name, hex(content) FROM ood ORDER BY 1, 2, 3").fetchall())
    assert found[0] == found[1]
    assert len(found[0]) == 6


def test_stores_without_scores_stay_as_they_are(tmp_path: Path) -> None:
    plain = make(tmp_path, ood=None)
    _, score, _ = rows_of(40, 1)
    plain.update(None, score)
    with sqlite3.connect(plain.path) as db:
        settings = json.loads(db.execute("SELECT value FROM meta WHERE name = 'settings'").fetchone()[0])
        (drift,) = db.execute("SELECT drift FROM parts").fetchone()
    assert settings["ood"] == json.loads(drift)["ood"] == []
    assert "ood" not in json.loads(plain.status().to_json())["windows"][0]
    assert "ood" not in plain.status().to_prometheus()
    with pytest.raises(ArgumentError, match="ood: this monitor was created without"):
        plain.update(None, score, ood=score)


def test_references_that_cannot_be_used_are_explained(tmp_path: Path) -> None:
    labels, score, ood = rows_of(100, 0)
    with pytest.raises(ArgumentError, match="ood: requires the rows of the reference, and these are sketches"):
        Monitor.create(tmp_path / "a.db", reference=cal.Sketches.of(labels, score), ood=ood, **QUICK)
    with pytest.raises(ShapeError, match="expected one number for each of 100 rows of 'energy'"):
        Monitor.create(tmp_path / "a.db", reference=(labels, score), ood={"energy": [1.0]}, **QUICK)
    with raises(InputError, "ood"):
        Monitor.create(tmp_path / "a.db", reference=(labels, score), ood={}, **QUICK)
    assert not (tmp_path / "a.db").exists()


@pytest.mark.parametrize(
    "values", [np.zeros(50), np.r_[np.zeros(49), 7.0], np.full(50, -3.5), np.repeat([1.0, 2.0], 25)]
)
def test_scores_of_few_values_have_a_scale(values: np.ndarray) -> None:
    (scale,) = scales_of({"x": values})
    assert scale.scale > 0
    placed = scale.placed(values)
    assert (np.diff(placed[np.argsort(values)]) >= 0).all()
    assert [scale.value(place) for place in placed.tolist()] == pytest.approx(values.tolist(), abs=1e-6)
    assert np.isfinite([scale.value(0.0), scale.value(1.0)]).all()
    far = OodScale("x", 0.0, 1.0).placed(np.array([-1e9, 1e9]))
    assert ((far > 0) & (far < 1)).all()


@pytest.mark.parametrize("value", [0.0, 1e-9, -0.3, 1.0, 17.0, -1234.5, 9e5])
def test_the_scale_is_a_distribution_function_and_its_inverse(value: float) -> None:
    scale = OodScale("x", 2.0, 3.0)
    place = float(scale.placed(np.array([2 + 3 * value]))[0])
    assert place == pytest.approx(stats.cauchy.cdf(value), abs=1e-15)
    assert scale.value(place) == pytest.approx(2 + 3 * value, rel=1e-9, abs=1e-12)


def test_counts_of_the_reference_are_repeated_rows(tmp_path: Path) -> None:
    labels, score, ood = rows_of(60, 0)
    counts = np.random.default_rng(1).integers(0, 4, 60)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one = Monitor.create(
        tmp_path / "a" / "w.db", reference=cal.Predictions(labels, score, counts=counts), ood=ood, **QUICK
    )
    repeated = {name: np.repeat(values, counts) for name, values in ood.items()}
    many = Monitor.create(
        tmp_path / "b" / "w.db", reference=(np.repeat(labels, counts), np.repeat(score, counts)), ood=repeated, **QUICK
    )
    assert one.settings.ood == many.settings.ood
    assert one._ood == many._ood


def test_results_are_restored_from_json(tmp_path: Path) -> None:
    monitor = make(tmp_path)
    send(monitor, 1)
    found = monitor.status().windows[0].scores
    assert ScoreFindings.of_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert Settings.of_dict(json.loads(json.dumps(monitor.settings.to_dict()))) == monitor.settings
    assert found.ood[0].to_frame()["name"].tolist() == ["energy"]
