"""clinical.summary: definitions in plain loops, weights, groups, and data at the edge."""

import json
import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.clinical import ClinicalSummary
from calibrant.clinical.performance import one_event, statistics
from calibrant.clinical.summary_intervals import influences, standard_error
from calibrant.errors import ArgumentError, HardPredictionsWarning
from tests.calling import call, raises

pytestmark = pytest.mark.usefixtures("quick_intervals")
# Distances of the curve are without an interval where a test is not about theirs: nothing else is resampled.
FAST: dict[str, Any] = {"level": 0.5, "n_resamples": 0}
DRAWN: dict[str, Any] = {"level": 0.5, "n_resamples": 20}


def _data(n: int = 120, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    lp = rng.normal(-1, 1, n)
    return (rng.random(n) < 1 / (1 + np.exp(-lp))).astype(int), np.round(1 / (1 + np.exp(0.3 - 1.4 * lp)), 2).clip(
        0.01, 0.99
    )


def _log_likelihood(y: np.ndarray, p: Any) -> float:
    return sum(math.log(q if outcome else 1 - q) for outcome, q in zip(y, np.broadcast_to(p, len(y)), strict=True))


@pytest.mark.parametrize("groups", [None, np.arange(120) // 3])
@pytest.mark.parametrize("weight", [None, np.random.default_rng(2).exponential(1, 120)])
def test_influences_are_derivatives(groups: Any, weight: Any) -> None:
    """The standard error is that of leaving out one row, or one group, at a time."""
    y, p = _data()
    codes = np.arange(120) if groups is None else groups
    whole = one_event(cal.Predictions(y, p, sample_weight=weight))
    values, _ = statistics(whole, "loess")
    weights = np.ones(120) if weight is None else weight
    errors = {id: standard_error(whole, influence, groups) for id, influence in influences(whole, values).items()}
    assert len(errors) == 13
    parts = []
    for code in np.unique(codes):
        rest = codes != code
        part = one_event(cal.Predictions(y[rest], p[rest], sample_weight=weights[rest]))
        parts.append(statistics(part, "loess", tuple(errors))[0])
    for id, error in errors.items():
        some = np.array([part[id] for part in parts])
        assert error == pytest.approx(math.sqrt(np.square(some - some.mean()).sum()), rel=0.2), id


def test_every_interval_holds_its_estimate_and_has_a_method() -> None:
    y, p = _data(60)
    found = cal.clinical.summary(y, p, **DRAWN)
    without = {"n", "events", "mean_risk", "d_chi2", "d_p", "u_chi2", "u_p", "s_z", "s_p"}
    for row in found.rows:
        assert (row.id in without) == (row.low is None) == (row.method == ""), row.id
        if row.low is not None and row.high is not None and row.value is not None:
            assert row.low <= row.value <= row.high, row.id
    again = cal.clinical.summary(y, p, **DRAWN)
    assert again == found
    assert json.loads(json.dumps(found.to_dict()))["rows"][0]["id"] == "n"
    assert found["U:Chi-sq"].id == "u_chi2"
    assert found["Calibration slope"].id == "slope"
    frame = found.to_frame()
    assert len(frame) == len(found.rows)
    assert "method" in frame.columns
    assert "<table>" in found._repr_html_()
    assert "Calibration slope" in repr(found)
    with raises(ArgumentError, "name"):
        found["nothing"]


def test_counts_are_repeated_rows() -> None:
    y, p = _data(30)
    counts = np.random.default_rng(0).integers(1, 4, 30)
    one = call(cal.clinical.summary, y, p, counts=counts, **DRAWN)
    two = call(cal.clinical.summary, np.repeat(y, counts), np.repeat(p, counts), **DRAWN)
    for first, second in zip(one.rows, two.rows, strict=True):
        assert first.value == pytest.approx(second.value, rel=1e-6), first.id
        assert first.method == second.method
        if first.method and "bootstrap" not in first.method:
            assert first.low == pytest.approx(second.low, rel=1e-6), first.id


def test_importance_weights() -> None:
    y, p = _data(200)
    weight = np.random.default_rng(1).exponential(1, 200)
    found = call(cal.clinical.summary, y, p, sample_weight=weight, **FAST)
    assert found.weighted
    assert found["d_p"].value is None
    assert "equal weight" in found["d_p"].note
    assert found["c"].value == pytest.approx(cal.evaluation.auroc(y, p, sample_weight=weight))
    assert found["c"].method == "jackknife"
    assert found["slope"].method == "sandwich"
    assert found["brier"].value == pytest.approx(np.average((y - p) ** 2, weights=weight))


def test_clusters_widen_the_intervals() -> None:
    y, p = _data(100)
    y, p, patient = np.repeat(y, 8), np.repeat(p, 8), np.repeat(np.arange(100), 8)
    rows = call(cal.clinical.summary, y, p, **FAST)
    found = cal.clinical.summary(cal.Predictions(y, p, groups=patient), cluster=True, **FAST)
    assert found.clusters == 100
    assert found["u_p"].value is None
    assert found["s_p"].value is None
    for id in ("c", "slope", "brier", "oe"):
        wide, narrow = found[id], rows[id]
        assert wide.method == "jackknife"
        assert wide.high - wide.low > 1.8 * (narrow.high - narrow.low), id  # type: ignore[operator]
    few = call(cal.clinical.summary, y, p, groups=patient // 20, cluster=True, **FAST)
    assert any("groups" in note for note in few.notes)
    counted = call(
        cal.clinical.summary, y[::8], p[::8], counts=np.full(100, 8), groups=patient[::8], cluster=True, **DRAWN
    )
    whole = call(cal.clinical.summary, y, p, groups=patient, cluster=True, **DRAWN)
    assert [row.low for row in counted.rows] == pytest.approx([row.low for row in whole.rows], nan_ok=True)


def test_one_outcome_only() -> None:
    p = np.linspace(0.05, 0.4, 40)
    found = call(cal.clinical.summary, np.zeros(40, int), p, classes=[0, 1], **FAST)
    for id in ("c", "dxy", "r2", "d", "u_p", "scaled_brier", "slope", "joint_intercept"):
        assert found[id].value is None, id
        assert found[id].note, id
    assert found["intercept"].value == -math.inf
    assert found["eo"].value == math.inf
    assert found["brier"].value == pytest.approx(np.mean(p**2))
    oe = found["oe"]
    assert (oe.value, oe.low) == (0, 0)
    assert oe.high is not None
    assert 0 < oe.high < 1
    assert "-inf" in repr(found)


def test_risks_of_exactly_0_and_1() -> None:
    y, p = _data(100)
    inside = call(cal.clinical.summary, y, p, **FAST)
    agree = call(cal.clinical.summary, np.append(y, [0, 1]), np.append(p, [0.0, 1.0]), **FAST)
    assert agree["slope"].value == pytest.approx(inside["slope"].value)
    assert agree["u_chi2"].value == pytest.approx(inside["u_chi2"].value)
    assert any("0 or 1 (within 1e-12)" in note for note in agree.notes)
    against = call(cal.clinical.summary, np.append(y, 1), np.append(p, 0.0), **FAST)
    assert against["u"].value == math.inf
    assert against["d"].value == -math.inf
    assert against["u_p"].value == 0
    assert against["r2"].value == -math.inf
    assert against["r2"].low is None
    assert against["slope"].value == pytest.approx(inside["slope"].value)
    with pytest.warns(HardPredictionsWarning):
        hard = call(cal.clinical.summary, [0, 1, 1, 0] * 5, [0.0, 1.0, 1.0, 0.0] * 5, **FAST)
    assert (hard["c"].value, hard["c"].high) == (1, 1)
    assert 0.8 < (hard["c"].low or 0) < 1
    assert hard["slope"].value is None


def test_no_event_is_expected() -> None:
    found = call(cal.clinical.summary, np.array([0, 0, 0, 1] * 10), np.full(40, 1e-15), **FAST)
    assert found["slope"].value is None
    with pytest.warns(HardPredictionsWarning):
        found = call(cal.clinical.summary, np.array([0, 0, 0, 1] * 10), np.zeros(40), **FAST)
    assert (found["eo"].value, found["oe"].value, found["u"].value) == (0, math.inf, math.inf)
    assert found["eo"].low is None


def test_constant_risk() -> None:
    y = np.array([0, 0, 0, 1] * 20)
    found = call(cal.clinical.summary, y, np.full(80, 0.4), **FAST)
    own, null = _log_likelihood(y, 0.4), _log_likelihood(y, 0.25)
    assert found["c"].value == 0.5
    assert found["slope"].value is None
    assert "equal" in found["slope"].note
    assert found["u_chi2"].value == pytest.approx(2 * (null - own))
    assert found["ici"].value == pytest.approx(0.15)
    assert found["intercept"].value == pytest.approx(math.log(0.25 / 0.75) - math.log(0.4 / 0.6))


@pytest.mark.parametrize(
    "n", [2, pytest.param(5, marks=pytest.mark.deep), 12, pytest.param(19, marks=pytest.mark.deep)]
)
def test_few_rows(n: int) -> None:
    y, p = _data(n, seed=1)
    y[:2] = 0, 1
    found = call(cal.clinical.summary, y, p, **DRAWN)
    assert found.n == n
    assert found.notes
    assert repr(found)
    for row in found.rows:
        assert row.value is not None or row.note, row.id


def test_labels_and_lenses() -> None:
    y, p = _data(60)
    named = np.where(y == 1, "died", "alive")
    found = call(cal.clinical.summary, named, p, pos_label="died", **FAST)
    assert found.outcome == "died"
    assert "of died" in repr(found)
    assert found["slope"].value == call(cal.clinical.summary, y, p, **FAST)["slope"].value
    three = np.column_stack([p / 2, p / 2, 1 - p])
    assert call(cal.clinical.summary, 2 * y, three, lens="class:2", **FAST).events == y.sum()
    assert isinstance(call(cal.clinical.summary, y, p, **FAST), ClinicalSummary)


def test_separated_outcomes_leave_u_at_its_limit() -> None:
    p = np.linspace(0.05, 0.95, 20)
    y = (p > 0.5).astype(int)
    found = call(cal.clinical.summary, y, p, **FAST)
    own, null = _log_likelihood(y, p), 20 * math.log(0.5)
    assert found["d"].value == pytest.approx((2 * (own - null) - 1) / 20)
    assert found["u_chi2"].value == pytest.approx(-2 * own)  # the recalibrated likelihood tends to 1
    assert found["c"].value == 1
    assert found["slope"].value is None
    assert "separates" in found["slope"].note


def test_without_resamples_only_closed_forms_have_intervals() -> None:
    data = cal.inference.make_calibrated(300, distribution=(2, 5), rng=0)
    found = cal.clinical.summary(data.y_true, data.y_prob, n_resamples=0)
    assert found["slope"].low is not None
    assert found["ici"].value is not None
    assert found["ici"].low is None
    assert cal.clinical.summary([1], [0.5], n_resamples=0)._title() == "Clinical summary: 1 patient, 1 event"


def test_a_perfect_model_has_no_intervals_of_width_0() -> None:
    y_true = np.tile([0, 0, 1], 40)
    with pytest.warns(HardPredictionsWarning):
        found = cal.clinical.summary(y_true, y_true.astype(float), n_resamples=0)
    for id in ("brier", "oe", "eo"):
        row = found[id]
        assert (row.low, row.high, row.method) == (None, None, "")
        assert "no interval" in row.note


def test_dropped_rows_are_reported_for_item_11() -> None:
    y_true: list[Any] = [0, 0, 1, 1] * 25
    found = cal.clinical.summary(
        cal.Predictions([*y_true, None], [*[0.1, 0.6, 0.4, 0.8] * 25, 0.5], missing="drop"), n_resamples=0
    )
    assert (
        "Every row of the analysis has an outcome and a predicted risk; 1 of 101 rows dropped because of missing values"
        in cal.reporting.tripod(found)
    )
    complete = cal.clinical.summary(y_true, [0.3, 0.7] * 50, n_resamples=0)
    assert "drops and imputes none" in cal.reporting.tripod(complete)


def test_the_flexible_curve_notes_risks_left_out_of_its_slope() -> None:
    risk = np.tile([0.0, 0.1, 0.3, 0.6, 1.0], 30)
    y_true = np.tile([0, 0, 1, 0, 1, 1, 0, 0, 1, 1], 15)
    found = cal.figures.flexible_calibration_curve(y_true, risk)
    assert found.slope.value == pytest.approx(cal.clinical.summary(y_true, risk, n_resamples=0)["slope"].value)
    assert found.notes == (
        "60 of 150 risks are 0 or 1 (within 1e-12) and left out of intercept and slope, as by clinical.summary",
    )
    assert found.notes[0] in str(found)
    assert found.to_dict()["notes"] == list(found.notes)
    assert cal.figures.flexible_calibration_curve(y_true, risk.clip(0.01, 0.99)).notes == ()
