"""Groups of rows: their names whatever type they come in, what is off is mended, and what is wrong is said."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

import calibrant as cal
from calibrant.recalibration.persistence import load, save
from tests.calling import raises

RNG = np.random.default_rng(3)
SCORE = RNG.uniform(0.05, 0.95, 900)
GROUP = RNG.integers(1, 4, 900)
Y = (RNG.random(900) < expit(logit(SCORE) + np.array([0.0, -1.5, 0.0, 1.5])[GROUP])).astype(int)
NEW = np.linspace(0.05, 0.95, 12)
NAMES = np.arange(12) % 3 + 1
MAPS = [
    cal.GroupCalibration(cal.PlattScaling(), unseen="together"),
    cal.MultiCalibration(levels=1, held_out=0),
]


def fitted(calibrator: Any, groups: Any) -> Any:
    return type(calibrator)(**calibrator.get_params(deep=False)).fit(SCORE, Y, groups=groups)


@pytest.mark.parametrize("calibrator", MAPS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize(
    "given",
    [
        NAMES.astype(object),
        NAMES.astype(float),
        NAMES.astype(np.int8),
        NAMES.tolist(),
        pd.Series(NAMES, dtype="category"),
        pd.Series(NAMES, dtype="Int64"),
        np.array([np.int64(name) for name in NAMES] + [None], dtype=object)[:-1],
    ],
    ids=["object", "float", "int8", "list", "category", "nullable", "scalars"],
)
def test_names_are_known_in_any_type(calibrator: Any, given: Any) -> None:
    found = fitted(calibrator, GROUP)
    assert np.array_equal(found.predict_proba(NEW, given), found.predict_proba(NEW, NAMES))


@pytest.mark.parametrize("calibrator", MAPS, ids=lambda each: type(each).__name__)
def test_a_missing_name_leaves_the_others_known(calibrator: Any) -> None:
    found = fitted(calibrator, GROUP)
    some = np.array([*NAMES[:-1].tolist(), None], dtype=object)
    right = found.predict_proba(NEW, NAMES)
    assert np.array_equal(found.predict_proba(NEW, some)[:-1], right[:-1])
    holes = np.where(np.arange(12) == 11, np.nan, NAMES)
    assert np.array_equal(found.predict_proba(NEW, holes)[:-1], right[:-1])
    with raises(cal.errors.GroupError, "groups"):
        fitted(calibrator, np.array([1, 2, 3, None, *GROUP[4:].tolist()], dtype=object))


def test_numbers_are_their_text() -> None:
    for calibrator in MAPS:
        numbers, texts = fitted(calibrator, GROUP), fitted(calibrator, GROUP.astype(str))
        right = numbers.predict_proba(NEW, NAMES)
        assert np.array_equal(numbers.predict_proba(NEW, NAMES.astype(str)), right)
        assert np.array_equal(numbers.predict_proba(NEW, NAMES.astype(float).astype(str)), right)
        for names in (NAMES, NAMES.astype(float)):
            assert np.array_equal(texts.predict_proba(NEW, names), texts.predict_proba(NEW, NAMES.astype(str)))
    found = cal.GroupCalibration(cal.PlattScaling()).fit(SCORE, Y, groups=GROUP)
    codes = np.char.zfill(NAMES.astype(str), 2)  # such as those of a postal district
    with raises(cal.errors.GroupError, "groups"):
        found.predict_proba(NEW, codes)
    multi = fitted(MAPS[1], GROUP)
    with pytest.warns(cal.CalibrantWarning, match="no row is in a group that was fitted: the first group is"):
        assert np.allclose(multi.predict_proba(NEW, codes)[:, 1], NEW)


@pytest.mark.parametrize("calibrator", MAPS, ids=lambda each: type(each).__name__)
def test_names_of_several_types_are_kept_and_saved(calibrator: Any, tmp_path: Path) -> None:
    mixed = np.array([None, "a", 2, 2.5], dtype=object)
    found = fitted(calibrator, mixed[GROUP])
    again = load(save(found, tmp_path / "map.json"))
    assert again.groups_.tolist() == found.groups_.tolist()  # type: ignore[attr-defined]
    assert set(found.groups_.tolist()) == {"a", 2, 2.5}
    right = fitted(calibrator, GROUP).predict_proba(NEW, NAMES)
    for one in (found, again):
        assert one.predict_proba(NEW, mixed[NAMES]) == pytest.approx(right, abs=1e-12)


def off(calibrator: cal.MultiCalibration, score: Any, y: Any, groups: Any) -> list[float]:
    """How far each group is off, in standard errors, on the rows fitted on."""
    with pytest.warns(cal.errors.InSampleWarning):
        rate = calibrator.predict_proba(score, groups)[:, 1]
    parts = [groups == name for name in np.unique(groups)]
    return [abs((rate - y)[rows].sum()) / np.sqrt((rate * (1 - rate))[rows].sum()) for rows in parts]


def test_multicalibration_mends_a_group_that_is_small_in_every_level() -> None:
    rng = np.random.default_rng(1)
    score = rng.random(6000)
    groups = rng.choice(["a", "b", "c", "d"], 6000, p=[0.5, 0.3, 0.15, 0.05])
    shift = np.select([groups == name for name in "bcd"], [0.8, -1.2, 1.5], 0.0)
    y = (rng.random(6000) < expit(logit(score) + shift)).astype(int)
    calibrator = cal.MultiCalibration(held_out=0).fit(score, y, groups=groups)
    assert max(calibrator.steps_[:, 2]) < 10
    assert -1 in calibrator.steps_[:, 2]  # all levels together
    assert max(off(calibrator, score, y, groups)) < 3
    assert max(off(cal.MultiCalibration().fit(score, y, groups=groups), score, y, groups)) < 4


def test_what_is_wrong_is_said() -> None:
    for calibrator in MAPS:
        for weight in (np.ones(5), ["a"] * 900):
            with raises(cal.CalibrantError, "sample_weight"):
                type(calibrator)(**calibrator.get_params(deep=False)).fit(SCORE, Y, weight, groups=GROUP)
        with raises(cal.errors.ShapeError, "scores"):
            type(calibrator)(**calibrator.get_params(deep=False)).fit(0.3, [1], groups=["a"])


def test_evaluate_hands_the_groups_to_a_map_for_groups() -> None:
    text = np.array(["x", "a", "b", "c"])
    for calibrator in MAPS:
        for names in (np.arange(4), text):
            found = fitted(calibrator, names[GROUP])
            y, y_prob, groups = Y[:12], NEW, names[NAMES]
            value = cal.evaluate(cal.Predictions(y, y_prob, groups=groups), metrics=["nll"], calibrator=found)["nll"]
            assert value == pytest.approx(cal.nll(y, found.predict_proba(y_prob, groups)[:, 1]))
        with raises(cal.errors.GroupError, "groups"):
            cal.evaluate(Y[:12], NEW, metrics=["nll"], calibrator=found)
