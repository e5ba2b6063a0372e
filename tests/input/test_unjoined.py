"""Logs with a row per prediction and a further row per event, and groups of several columns in every function that has them."""

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import GroupError, ShapeError

RNG = np.random.default_rng(7)
SCORE = RNG.random(300).round(2)  # many ties
EVENT = (RNG.random(300) < SCORE**1.5).astype(int)
GROUP = RNG.integers(0, 3, 300)


def unjoined(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The rows of a log in random order: labels, scores, groups and keys."""
    rows = np.concatenate([np.arange(300), np.flatnonzero(EVENT)])
    label = np.concatenate([np.zeros(300, int), np.ones(EVENT.sum(), int)])
    order = np.random.default_rng(seed).permutation(len(rows))
    return label[order], SCORE[rows][order], GROUP[rows][order], rows[order]


def test_joined_rows_have_the_values_of_the_predictions() -> None:
    label, score, group, key = unjoined()
    for joined in (
        cal.input.join_events(cal.Predictions(label, score, groups=group)),
        cal.input.join_events(cal.Predictions(label, score, groups=group), keys=key),
        cal.input.join_events(cal.Predictions(label, score, groups=group)),
        cal.input.join_events(
            cal.Predictions(np.where(label == 1, "click", "none"), score, groups=group, pos_label="click")
        ),
    ):
        assert joined.n == 300
        for metric in (cal.ece, cal.ece_em, cal.brier, cal.expected_observed_ratio, cal.smece):
            assert metric(joined) == pytest.approx(metric(EVENT, SCORE), rel=1e-12)
        assert cal.pce(joined) == pytest.approx(cal.pce(cal.Predictions(EVENT, SCORE, groups=GROUP)), rel=1e-12)
    # The rate of each bin is events over predictions; of the unjoined rows it would be events over rows.
    table = cal.calibration_curve(cal.input.join_events(label, score), bins=3).table
    place = np.clip(np.ceil(score * 3), 1, 3)
    for k in range(3):
        positives, negatives = ((label == value) & (place == k + 1) for value in (1, 0))
        assert table.rate[k] == pytest.approx(positives.sum() / negatives.sum())


def test_weights_and_rows_of_weight_zero() -> None:
    weight = np.linspace(0, 2, 300)
    rows = np.concatenate([np.arange(300), np.flatnonzero(EVENT)])
    label = np.concatenate([np.zeros(300, int), np.ones(EVENT.sum(), int)])
    for keys in (None, rows):
        joined = cal.input.join_events(label, SCORE[rows], sample_weight=weight[rows], keys=keys)
        assert cal.ece(joined) == pytest.approx(cal.ece(EVENT, SCORE, sample_weight=weight), rel=1e-12)


def test_keys_of_two_types_and_rows_without_events() -> None:
    assert cal.input.join_events([0, 0, 1], [0.2, 0.2, 0.2], keys=np.array([1, "1", 1], object)).n == 2
    assert cal.input.join_events([0, 0], [0.2, 0.3]).n == 2


def test_groups_of_several_columns() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    n = 300
    score = rng.uniform(0.05, 0.95, n)
    label = (rng.random(n) < score).astype(int)
    sex, site = np.array(["a", "b"])[rng.integers(0, 2, n)], rng.integers(0, 2, n)
    both = np.array([f"{a}, {b}" for a, b in zip(sex, site, strict=True)])
    time, event = rng.exponential(5, n), rng.integers(0, 2, n)
    errors = rng.normal(size=(n, 2))

    calls: list[Any] = [
        lambda groups: cal.pce(cal.Predictions(label, score, groups=groups)),
        lambda groups: cal.clinical.horizon_outcomes(time, event, horizon=4, groups=groups).weight,
    ]
    several: dict[str, Any] = {"sex": sex, "site": site}
    for call in calls:
        for groups in (several, pandas.DataFrame(several), polars.DataFrame(several)):
            assert np.array_equal(call(groups), call(both))
    # Where combinations are not meant.
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(GroupError):
        cal.GroupCalibration(cal.PlattScaling()).fit(score, label, groups=several)
    with pytest.raises(GroupError):
        cal.clinical.internal_validation(LogisticRegression(), errors, label, groups=several, resamples=20)
    with pytest.raises(ShapeError):
        cal.pce(cal.Predictions(label, score, groups=[sex, site]))


def test_keys_belong_to_rows_of_a_frame() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"label": [0, 0, 1], "prob": [0.2, 0.2, 0.2], "id": ["a", "b", "a"]})
    held = cal.Predictions(frame, label="label", prob="prob")
    assert cal.input.join_events(held, keys=frame["id"]).labels.tolist() == [0, 1]
