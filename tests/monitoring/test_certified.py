"""Certificates on the windows of a monitor: evidence against a bound, its level and its power."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant.monitoring.certified import RATES, _expected_sign, e_process
from calibrant.monitoring.sequential import Counted, as_counted
from tests.calling import raises


def windows(excess: float, rng: np.random.Generator, count: int = 12, n: int = 60) -> list[Counted]:
    """Windows of scores from 0.2 to 0.7 whose true rate is higher by `excess`."""
    scores = rng.uniform(0.2, 0.7, (count, n))
    labels = (rng.random(scores.shape) < scores + excess).astype(int)
    return [as_counted(cal.Sketch.of(y, p)) for y, p in zip(labels, scores, strict=True)]


@pytest.mark.parametrize("bins", [None, 4])
def test_evidence_is_a_product_over_rows(bins: int | None) -> None:
    own, bound = windows(0.2, np.random.default_rng(0)), 0.05
    products, values = np.ones(len(RATES)), []
    for place, window in enumerate(own):
        past = Counted(*(np.concatenate([getattr(w, f) for w in own[:place]] or [[]]) for f in Counted._fields))
        sign = _expected_sign(past, window.score, bins)
        for i in range(len(window.score) if sign is not None else 0):
            assert sign is not None
            assert abs(sign[i]) <= 1
            for y, rows in ((1, window.positives[i]), (0, window.rows[i] - window.positives[i])):
                products = products * (1 + RATES / (1 + bound) * (sign[i] * (y - window.score[i]) - bound)) ** rows
        values.append(products.mean())
    assert e_process(own, bound, bins) == pytest.approx(values)


def test_a_bound_that_holds_is_seldom_ever_withdrawn_and_a_broken_one_is() -> None:
    """At an error of exactly the bound, in one direction, at most 5% of streams may ever reach 20."""
    rng = np.random.default_rng(1)
    held = [e_process(windows(0.1, rng), 0.1).max() >= 20 for _ in range(60)]
    broken = [e_process(windows(0.3, rng), 0.1).max() >= 20 for _ in range(20)]
    assert np.mean(held) <= 0.05 + 2 * 0.028
    assert np.mean(broken) == 1


def test_a_monitor_withdraws_a_certificate_with_the_window(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    reference = cal.inference.make_calibrated(4000, rng=0)
    certificate = cal.certify(reference.y_true, reference.y_prob)
    data = (reference.y_true, reference.y_prob)
    monitor = cal.Monitor.create(tmp_path / "m.db", reference=data, every="1d", n_resamples=49)
    assert monitor.check_certificate(certificate).valid
    for day in range(1, 15):
        p = rng.uniform(0.1, 0.6, 200)
        y = (rng.random(200) < p + (0.35 if day > 5 else 0)).astype(int)
        monitor.update(y, p, when=f"2026-03-{day:02}")
    status = monitor.check_certificate(certificate)
    assert not status.valid
    assert status.withdrawn[0] is not None
    assert "2026-03-06" < status.withdrawn[0] < "2026-03-14"
    assert status.windows == 13
    assert status.rows == 13 * 200
    other = cal.certify(reference.y_true, reference.y_prob, lens="top_label")
    with raises(cal.errors.LensError, "certificate"):
        monitor.check_certificate(other)
