"""The online recalibration of a monitor: what a calibrator that is updated window by window gives, kept with the store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference.seeds import generator
from tests.calling import raises


def made(path: Path, scores: np.ndarray, labels: np.ndarray, **keywords: Any) -> cal.Monitor:
    return cal.Monitor.create(path, reference=(labels, scores), every="1d", **keywords)


def drifting(windows: int, rows: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Scores with ties and exact 0 and 1, whose log-odds are twice the true ones from the third window on."""
    rng = np.random.default_rng(3)
    parts = []
    for place in range(windows):
        score = rng.choice([0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0], rows)
        true = score if place < 2 else 1 / (1 + np.sqrt((1 - score) / np.maximum(score, 1e-9)))
        parts.append((score, (rng.random(rows) < true).astype(int)))
    return parts


def test_windows_are_compared_before_their_labels_are_learned(tmp_path: Path) -> None:
    parts = drifting(8, 400)
    monitor = made(tmp_path / "m.db", *parts[0], online=True)
    assert monitor.status().online is None
    with raises(cal.errors.ArgumentError, "online"):
        monitor.online_calibrator()
    expected = cal.OnlineCalibration()
    losses = []
    for day, (score, label) in enumerate(parts):
        cal.Monitor.open(tmp_path / "m.db").update(
            label, score, when=f"2026-01-{day + 1:02}T10:00"
        )  # resumed each time
        before = score if day == 0 else expected.predict_proba(score)[:, 1]
        losses.append([np.square(p - label).mean() for p in (score, before)])
        # The rows of a window in the order of their scores, those without the event first, are put into a random order.
        both, cell = np.unique(score, return_inverse=True)
        place = int(np.datetime64(f"2026-01-{day + 1:02}", "D").astype(int))
        order = generator(0, place).permutation(np.sort(cell + label * len(both)))
        expected.update(both[order % len(both)], order // len(both))
    monitor = cal.Monitor.open(tmp_path / "m.db")
    monitor.update(None, [0.5], when="2026-01-20T10:00")
    found = monitor.status().online
    assert found is not None
    assert found.rows == (400,) * 8
    assert np.allclose(np.column_stack([found.brier, found.recalibrated]), losses, atol=1e-12)
    assert monitor.online_calibrator().weight_ == pytest.approx(expected.weight_, rel=1e-9)
    assert found.mean_recalibrated < found.mean_brier
    assert found.mean_brier == pytest.approx(np.mean(found.brier))
    status = monitor.status(last=2)
    assert status.online is not None
    assert len(status.online.windows) == 2
    assert status.online.total_rows == 3200
    assert json.loads(status.to_json())["online"]["recalibrated"] == list(status.online.recalibrated)
    assert repr(status.online) in status.notes


def test_scores_that_are_calibrated_lose_little(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    score = rng.uniform(0.05, 0.95, 6000).round(2)
    label = (rng.random(6000) < score).astype(int)
    monitor = made(tmp_path / "m.db", score, label, online=True)
    days = np.repeat(np.arange(12), 500)
    monitor.update(label, score, when=np.datetime64("2026-01-01") + days)
    found = monitor.status().online
    assert found is not None
    assert found.mean_recalibrated - found.mean_brier < 0.004


def test_groups_confidences_and_rows_that_do_not_all_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from calibrant.monitoring import online

    monkeypatch.setattr(online, "MOST_ROWS", 30)
    rng = np.random.default_rng(2)
    p = rng.dirichlet([0.5] * 4, 300)
    y = np.array(list("abcd"))[(rng.random((300, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=3)]
    reference = cal.Predictions(y, p, classes=list("abcd"), groups=np.where(np.arange(300) % 2, "x", "y"))
    monitor = cal.Monitor.create(tmp_path / "m.db", reference=reference, every=100, online=True)
    monitor.update(y, p, groups=np.where(np.arange(300) % 3, "x", "y"))
    assert monitor.online_calibrator().updates_ == 90
    found = monitor.status().online
    assert found is not None
    assert found.total_rows == 300


def test_a_monitor_without_it_is_unchanged(tmp_path: Path) -> None:
    parts = drifting(2, 50)
    monitor = made(tmp_path / "m.db", *parts[0])
    monitor.update(parts[1][1], parts[1][0], when="2026-01-01")
    assert monitor.status().online is None
    assert "online" not in monitor.status().to_dict()
    with raises(cal.errors.ArgumentError, "online"):
        monitor.online_calibrator()
    with raises(cal.errors.ArgumentError, "online"):
        made(tmp_path / "n.db", *parts[0], online="yes")
