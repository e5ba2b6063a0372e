"""Validation by centre: each estimate against plain loops, centres that cannot be used, weights, frames and errors."""

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant import errors
from calibrant.errors import CalibrantError
from calibrant.evaluation.discrimination import auroc_with_error
from tests.calling import call, raises

DATA = cal.inference.make_calibrated(900, distribution=(2, 5), rng=3)
Y, P = np.asarray(DATA.y_true), np.round(np.asarray(DATA.y_prob), 2).clip(0.01, 0.99)
CENTRE = np.repeat(["A", "B", "C"], 300)
RESULT = cal.clinical.validate_by_group(cal.Predictions(Y, P, groups=CENTRE), method="reml")


def rows_of(group: str) -> tuple[list[int], list[float]]:
    held = group == CENTRE
    return Y[held].tolist(), P[held].tolist()


def delong(y: list[int], p: list[float]) -> tuple[float, float]:
    """The C statistic and its standard error by pairs of rows (DeLong et al. 1988)."""
    events = [s for s, o in zip(p, y, strict=True) if o]
    others = [s for s, o in zip(p, y, strict=True) if not o]

    def kernel(x: float, z: float) -> float:
        return 1.0 if x > z else 0.5 if x == z else 0.0

    first = [sum(kernel(x, z) for z in others) / len(others) for x in events]
    second = [sum(kernel(x, z) for x in events) / len(events) for z in others]
    c = sum(first) / len(first)
    parts = [sum((v - c) ** 2 for v in part) / (len(part) - 1) / len(part) for part in (first, second)]
    return c, math.sqrt(sum(parts))


@pytest.mark.parametrize("group", ["A", "B", "C"])
def test_estimates_of_each_centre_by_plain_loops(group: str) -> None:
    y, p = rows_of(group)
    found = next(each for each in RESULT.groups if each.name == group).estimates
    n, observed, expected = len(y), sum(y) / len(y), sum(p) / len(p)
    residuals = [o / observed - s / expected for o, s in zip(y, p, strict=True)]
    error = math.sqrt(sum(r * r for r in residuals) / (n - 1) / n)
    assert (found["oe"].value, found["oe"].standard_error) == pytest.approx((observed / expected, error))
    assert found["oe"].standard_error < math.sqrt(
        (1 - observed) / sum(y)
    )  # the binomial one, for risks that are unknown
    alone = cal.clinical.summary(y, p, n_resamples=0)
    for id in ("oe", "c"):  # the limits of a group are those of its own summary
        assert (found[id].low, found[id].high) == pytest.approx((alone[id].low, alone[id].high))
    c, spread = delong(y, p)
    assert (found["c"].value, found["c"].standard_error) == pytest.approx((c, spread / c / (1 - c)))
    shift, slope = found["intercept"], found["slope"]
    logits = [math.log(s / (1 - s)) for s in p]
    means = [1 / (1 + math.exp(-shift.value - x)) for x in logits]
    assert sum(means) == pytest.approx(sum(y))
    assert shift.standard_error == pytest.approx(sum(m * (1 - m) for m in means) ** -0.5)
    wanted = cal.interval(y, p, metric="cox_slope")
    assert (slope.low, slope.high) == pytest.approx((wanted.low, wanted.high))


def test_pooled_estimates_are_those_of_pool_estimates() -> None:
    oe = [each.estimates["oe"] for each in RESULT.groups]
    direct = cal.inference.pool_estimates(
        [math.log(e.value) for e in oe], [e.standard_error for e in oe], transform="exp"
    )
    assert RESULT["oe"].estimate == pytest.approx(direct.estimate)
    assert RESULT["oe"].prediction_high == pytest.approx(direct.prediction_high)
    assert [e.weight for e in oe] == pytest.approx(direct.weights.tolist())
    assert RESULT.overall.estimates["slope"].value == pytest.approx(cal.cox_slope(Y, P))
    fixed = cal.clinical.validate_by_group(cal.Predictions(Y, P, groups=CENTRE), method="fixed")
    assert math.isnan(fixed["slope"].prediction_low)
    assert "prediction" not in repr(fixed)


def test_centres_that_cannot_be_used_stay_in_the_table_with_the_reason() -> None:
    y = np.concatenate([Y, [0] * 20, [1] * 20, [0, 1, 0], [0] * 10 + [1] * 10, [0, 1] * 10, [0] * 19 + [1]])
    p = np.concatenate([P, [0.3] * 23, [0.2] * 20, [0.1] * 10 + [0.8] * 10, [0.5] * 20, np.linspace(0.1, 0.4, 20)])
    names = ["none", "all", "few", "separated", "constant", "one"]
    centre = np.concatenate([CENTRE, np.repeat(names, [20, 20, 3, 20, 20, 20])])
    found = cal.clinical.validate_by_group(cal.Predictions(y, p, groups=centre), method="reml")
    left = found.left_out
    common = {"none": "no events", "all": "only events", "few": "fewer than 10 rows"}
    assert left["oe"] == common
    assert left["intercept"] == common
    assert {"separated", "constant"} <= set(left["slope"])
    assert left["c"].items() >= common.items()
    assert set(left["c"]) == {*common, "separated", "one", "constant"}
    assert found["slope"].k == len(found.groups) - len(left["slope"])
    assert len(found.groups) == 9
    assert all(each.weight == 0 for group in found.groups for each in group.estimates.values() if each.reason)
    text = repr(found)
    assert "left out (no events): none" in text
    assert "leaving them out raises" in text
    assert "slope left out" in text
    lines = [line.split() for line in text.split("\n")]
    assert ["none", "20", "0", "-", "-", "-", "-"] in lines


def test_a_one_stage_model_uses_centres_without_an_estimate() -> None:
    y, p = np.concatenate([Y, [0] * 20, [1] * 3]), np.concatenate([P, [0.3] * 23])
    centre = np.concatenate([CENTRE, np.repeat(["none", "few"], [20, 3])])
    predictions = cal.Predictions(y, p, groups=centre)
    one, two = (cal.clinical.validate_by_group(predictions, method=method) for method in ("one_stage", "reml"))
    assert cal.clinical.validate_by_group(predictions).to_dict() == one.to_dict()
    assert [one[measure].method for measure in ("intercept", "slope", "oe", "c")] == ["one_stage"] * 4
    assert (one["oe"].k, two["oe"].k) == (5, 3)
    assert one.left_out["oe"] == {}
    assert set(one.left_out["c"]) == {"none", "few"}
    assert one["slope"].tau2 == two["slope"].tau2
    assert one["intercept"].low < one["intercept"].estimate < one["intercept"].high
    assert one["oe"].prediction_low <= one["oe"].low
    assert "leaving them out raises" not in repr(one).replace("C left out", "")
    weighted = cal.Predictions(y, p, groups=centre, sample_weight=np.linspace(0.5, 1.5, len(y)))
    assert cal.clinical.validate_by_group(weighted)["oe"].method == "reml"
    doubled = cal.Predictions(y, p, groups=centre, counts=np.full(len(y), 2))
    assert cal.clinical.validate_by_group(doubled)["slope"].estimate == pytest.approx(one["slope"].estimate, rel=0.05)


def test_the_pooled_c_of_centres_with_few_events_is_unbiased() -> None:
    rng = np.random.default_rng(0)
    centre, estimates = np.repeat(np.arange(200), 60), {}
    p = rng.beta(1, 12, len(centre))
    predictions = cal.Predictions((rng.random(len(p)) < p).astype(int), p, groups=centre)
    for method in ("one_stage", "reml"):
        estimates[method] = cal.clinical.validate_by_group(predictions, metrics="c", method=method)["c"]
    together = cal.evaluation.auroc(predictions)  # the centres do not differ
    assert abs(estimates["one_stage"].estimate - together) < 0.002
    assert estimates["reml"].estimate > together + 0.005


def test_fewer_than_two_usable_centres_are_not_pooled() -> None:
    found = cal.clinical.validate_by_group(
        cal.Predictions([0, 1] * 20 + [0] * 20, [0.2, 0.6] * 20 + [0.1] * 20, groups=["a"] * 40 + ["b"] * 20)
    )
    assert found.pooled["oe"] is None
    with raises(CalibrantError, "oe"):
        found["oe"]
    assert "pooled" in repr(found)
    assert found.to_frame()["metric"].nunique() == 4


def test_a_minimum_of_rows_can_be_chosen() -> None:
    y, p = np.tile([0, 1, 0, 1, 0, 0], 4), np.tile([0.2, 0.5, 0.6, 0.7, 0.1, 0.3], 4)
    groups = np.repeat([1, 2, 3, 4], 6)
    assert cal.clinical.validate_by_group(cal.Predictions(y, p, groups=groups), min_rows=5)["oe"].k == 4
    assert cal.clinical.validate_by_group(cal.Predictions(y, p, groups=groups)).pooled["oe"] is None


def test_counts_are_repeated_rows_and_equal_weights_change_nothing() -> None:
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 4, len(Y))
    repeated = np.repeat(np.arange(len(Y)), counts)
    one = cal.clinical.validate_by_group(cal.Predictions(Y, P, groups=CENTRE, counts=counts))
    other = cal.clinical.validate_by_group(cal.Predictions(Y[repeated], P[repeated], groups=CENTRE[repeated]))
    weighted = cal.clinical.validate_by_group(
        cal.Predictions(Y, P, groups=CENTRE, sample_weight=rng.uniform(0.999999, 1.000001, len(Y)))
    )
    for metric in ("intercept", "slope", "oe", "c"):
        for first, second in zip(one.groups, other.groups, strict=True):
            assert first.estimates[metric][:4] == pytest.approx(second.estimates[metric][:4], rel=1e-9)
        assert weighted[metric].estimate == pytest.approx(RESULT[metric].estimate, rel=0.02, abs=0.01)
    assert one.groups[0].rows == other.groups[0].rows
    c = [group.estimates["c"].standard_error for group in (*weighted.groups, *RESULT.groups)]
    assert c[:3] == pytest.approx(c[3:], rel=1e-4)


def test_delong_with_one_event_has_no_standard_error() -> None:
    view = cal.Predictions([0, 0, 1], [0.1, 0.2, 0.15])
    value, error = auroc_with_error(cal.views.resolve.views_of(view, "auto")[0])  # type: ignore[attr-defined]
    assert value == 0.5
    assert math.isnan(error)


def test_frames_and_columns_predictions_and_selections() -> None:
    frame = pd.DataFrame({"y": Y, "p": P, "centre": CENTRE})
    named = cal.clinical.validate_by_group(cal.Predictions(frame, label="y", prob="p", groups="centre"), method="reml")
    assert named.to_dict() == RESULT.to_dict()


def test_one_class_of_several() -> None:
    drawn = cal.inference.make_calibrated(900, distribution=(2, 3, 4), classes=3, rng=0)
    names = np.array(["low", "mid", "high"])[drawn.y_true]
    words: dict[str, Any] = {"classes": ["low", "mid", "high"], "groups": CENTRE}
    found = call(cal.clinical.validate_by_group, names, drawn.y_prob, lens="class:high", metrics=["oe", "c"], **words)
    direct = cal.clinical.validate_by_group(
        cal.Predictions(names == "high", drawn.y_prob[:, 2], groups=CENTRE), metrics=["oe", "c"]
    )
    assert found["oe"].estimate == pytest.approx(direct["oe"].estimate)
    with raises(CalibrantError, "y_prob"):
        call(cal.clinical.validate_by_group, names, drawn.y_prob, **words)


def test_labels_that_show_their_order() -> None:
    for names in (["2019", "2020", "2021"], ["2019 Q4", "2020 Q1", "2020 Q2"], ["wave 2", "wave 9", "wave 10"]):
        found = cal.clinical.validate_by_group(cal.Predictions(Y, P, groups=np.resize(names, 900)), metrics="oe")
        assert [each.name for each in found.groups] == names


def test_notes_are_about_what_was_computed() -> None:
    nothing = str(
        cal.clinical.validate_by_group(cal.Predictions(np.zeros(len(Y), dtype=int), P, groups=np.arange(len(Y)) % 3))
    )
    assert "left out (no events)" in nothing
    assert "raises pooled" not in nothing


def test_risks_of_0_and_1_are_noted() -> None:
    rng = np.random.default_rng(3)
    p = np.round(rng.beta(0.5, 1, 300), 2)
    y = (rng.random(300) < p).astype(int)
    y[np.flatnonzero(p == 0)[0]] = 1
    sure = int(((p == 0) | (p == 1)).sum())
    centre = np.arange(300) % 6
    with pytest.warns(errors.BoundaryScoresWarning, match=f"intercept and slope: {sure} of 300 rows") as caught:
        found = cal.clinical.validate_by_group(cal.Predictions(y, p, groups=centre))
    assert len(caught) == 1
    assert found.notes[0].startswith(f"{sure} of 300 risks are 0 or 1")
    summary = cal.clinical.summary(y, p, n_resamples=0)
    assert any("validate_by_group" in note and str(sure) in note for note in summary.notes)
    assert any("R2, D, U and Q are infinite" in note for note in summary.notes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cal.clinical.validate_by_group(cal.Predictions(y, p, groups=centre), metrics="oe").notes == ()
