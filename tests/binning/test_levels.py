"""One bin per distinct score: definition, identities, sketches, every binned metric, errors and the command line."""

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.binning.parse import bin_table, binning_rule
from calibrant.errors import ArgumentError, InputWarning
from calibrant.views import View

LEVELS = np.array([0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0])


@pytest.fixture(scope="module")
def stated() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    said = rng.choice(LEVELS, 400)
    return (rng.random(400) < 0.2 + 0.6 * said).astype(int), said


def by_hand(y: Any, p: Any, w: Any = None) -> float:
    """The sum over distinct scores of share times absolute difference of score and rate."""
    w = np.ones(len(p)) if w is None else np.asarray(w, float)
    error = 0.0
    for level in sorted(set(p.tolist())):
        rows = [i for i in range(len(p)) if p[i] == level]
        mass = sum(w[i] for i in rows)
        error += abs(sum(w[i] * y[i] for i in rows) / mass - level) * mass / w.sum()
    return error


def test_the_error_is_the_sum_over_distinct_scores(stated: Any) -> None:
    y, p = stated
    weight = np.random.default_rng(0).integers(1, 5, len(p))
    for keywords in ({"bins": "levels"}, {"binning": "levels"}, {"binning": cal.Levels()}):
        assert cal.ece(y, p, **keywords) == pytest.approx(by_hand(y, p), abs=1e-14)
        assert cal.ece(cal.Predictions(y, p, counts=weight), **keywords) == pytest.approx(
            by_hand(y, p, weight), abs=1e-13
        )
        assert cal.ece(y, p, sample_weight=weight / 7, **keywords) == pytest.approx(by_hand(y, p, weight), abs=1e-13)
    assert cal.mce(y, p, bins="levels") == pytest.approx(max(abs(y[p == v].mean() - v) for v in LEVELS), abs=1e-14)
    assert cal.ece(cal.Predictions(y, p, input="confidence"), bins="levels") == cal.ece(y, p, bins="levels")
    # Bins of any kind in which every level is alone give the same value.
    assert cal.ece(y, p, bins="levels") == pytest.approx(cal.ece(y, p, bins=100), abs=1e-14)
    assert cal.ece(y, p, bins="levels") == pytest.approx(cal.ece(y, p, bins=10_000, binning="equal_mass"), abs=1e-13)
    # Bins that pool levels cannot give more.
    assert cal.ece(y, p, bins=10) <= cal.ece(y, p, bins="levels") + 1e-14


def test_the_table_has_a_row_for_each_level(stated: Any) -> None:
    y, p = stated
    curve = cal.calibration_curve(y, p, bins="levels")
    np.testing.assert_allclose(curve.mean_score, LEVELS, atol=1e-15)
    assert curve.table.rows.tolist() == [int((p == level).sum()) for level in LEVELS]
    # Fitted bins take a score to the nearest level.
    near = np.clip(p + np.random.default_rng(1).uniform(-0.02, 0.02, len(p)), 0, 1)
    again = cal.calibration_curve(y, near, binning=curve.table)
    assert again.table.rows.tolist() == curve.table.rows.tolist()


@pytest.mark.parametrize("scores", [[0.5], [0.0, 1.0], [0.3, np.nextafter(0.3, 1)], [0.0, 5e-324, 1.0]])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_exact_equality_makes_a_level(scores: list[float], kind: Any) -> None:
    score = np.repeat(np.array(scores, kind), 3)
    distinct, rows = np.unique(score, return_counts=True)
    view = View(score, np.tile(np.array([0, 1, 1], np.uint8), len(scores)))
    table = bin_table(view, binning_rule("levels"))
    assert table.rows.tolist() == rows.tolist()
    cell, count = cal.Levels().cells(view)
    assert count == len(distinct)
    assert np.bincount(cell).tolist() == rows.tolist()


def test_every_binned_metric_takes_levels(stated: Any) -> None:
    y, p = stated
    table = cal.calibration_curve(y, p, bins="levels").table
    taken = 0
    for metric in cal.catalogue.values():
        if "bins" not in metric.options or "binning" not in metric.options or metric.takes != "View" or metric.needs:
            continue
        taken += 1
        value = metric(y, p, bins="levels")
        if not isinstance(metric.options["bins"], str) or metric.options["bins"] not in ("search", "sweep"):
            assert value == pytest.approx(metric(y, p, binning="levels"), abs=1e-15)
            assert value == pytest.approx(metric(y, p, binning=table), rel=1e-9, abs=1e-12), metric.id
    assert taken > 20


def test_tests_intervals_and_figures(stated: Any) -> None:
    y, p = stated
    assert cal.assess(y, p, metric="ece", bins="levels", rng=0).pvalue < 0.05
    found = cal.interval(y, p, metric="ece", bins="levels", rng=0, n_resamples=200)
    assert found.low < cal.ece(y, p, bins="levels")
    many = np.tile(p, 30)  # enough rows for resampling in cells, which would merge levels
    assert cal.interval(np.tile(y, 30), many, metric="ece", bins="levels", rng=0, n_resamples=200).low > 0.1
    assert len(cal.reliability_diagram(y, p, bins="levels")["model"].table) == len(LEVELS)
    for metric in ("t_cal", "l2ce_interval"):  # whose interval has a closed form
        fine = cal.interval(y, p, metric=metric, bins=1000)
        assert cal.interval(y, p, metric=metric, bins="levels").high == pytest.approx(fine.high, rel=1e-12)
    result = cal.evaluate(y, p, bins="levels", metrics=["ece", "mce", "brier", "gece"])
    assert result["ece"] == cal.ece(y, p, bins="levels")


def test_a_sketch_has_the_levels_or_raises(stated: Any) -> None:
    y, p = stated
    sketch = cal.Sketch.of(y, p)
    assert cal.ece(sketch, bins="levels") == pytest.approx(cal.ece(y, p, bins="levels"), abs=1e-14)
    halves = cal.Sketch.of(y[:200], p[:200]).merge(cal.Sketch.of(y[200:], p[200:]))
    assert cal.ece(cal.Sketch.from_bytes(halves.to_bytes()), binning="levels") == cal.ece(sketch, bins="levels")
    p = p.copy()
    p[p == 0.6] += np.random.default_rng(0).uniform(0, 1e-6, (p == 0.6).sum())
    with pytest.raises(ArgumentError, match="different scores share a cell"):
        cal.ece(cal.Sketch.of(y, p), bins="levels")


def test_levels_with_one_row_each_are_warned_of() -> None:
    """Their variance is unknown, so that even debiased metrics are large for calibrated scores."""
    p = np.linspace(0.01, 0.99, 60)
    y = (np.random.default_rng(0).random(60) < p).astype(int)
    for call in (
        lambda: cal.drmsce(y, p, bins="levels"),
        lambda: cal.interval(y, p, metric="ece", bins="levels", n_resamples=200),
    ):
        with pytest.warns(InputWarning, match="'levels' has 60 bins for 60 rows, so that the rate of most bins"):
            call()
    cal.ece(cal.Predictions(y, p, counts=np.full(60, 5)), bins="levels")  # no warning
    cal.ece(y[:15], p[:15], bins="levels")


def test_histogram_binning_by_level(stated: Any) -> None:
    y, p = stated
    found = cal.HistogramBinning(bins="levels").fit(p, y)
    for level in LEVELS:
        assert found.predict_proba([level])[0, 1] == pytest.approx(y[p == level].mean(), abs=1e-12)
    assert found.predict_proba([0.91])[0, 1] == found.predict_proba([0.9])[0, 1]  # the nearest level
    with pytest.warns(cal.errors.InSampleWarning):
        assert cal.ece(y, found.predict_proba(p)[:, 1], bins="levels") < 1e-12
    shrunk = cal.HistogramBinning(bins="levels", shrink=0.5).fit(p, y).predict_proba([1.0])[0, 1]
    k, n = y[p == 1].sum(), (p == 1).sum()
    assert shrunk == pytest.approx((k + 0.5) / (n + 1))
    chosen = cal.recalibrate(y, p, method="histogram_levels")
    assert chosen.method == "histogram_levels"
