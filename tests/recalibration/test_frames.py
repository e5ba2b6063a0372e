"""Calibrators and frames: columns named after the classes are matched by name, all others by position."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import calibrant as cal
from calibrant.recalibration.grouped import GroupCalibration
from calibrant.recalibration.persistence import load, save
from tests.calling import raises

NAMES = np.array(["low", "high", "mid"])  # not in the order of the alphabet
TURNED = ["mid", "low", "high"]
FITTED = cal.inference.make_miscalibrated(
    600, distribution=(1, 2, 3), warp=cal.inference.simulation.temperature(1.7), rng=0
)
NEW = cal.inference.make_miscalibrated(
    90, distribution=(1, 2, 3), warp=cal.inference.simulation.temperature(1.7), rng=1
)
LABELS = NAMES[FITTED.y_true]
GROUPS = np.arange(600) % 2
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "lazy": pl.LazyFrame, "pyarrow": pa.table}


def table(probs: Any, names: Any = NAMES, library: str = "pandas") -> Any:
    content = {name: probs[:, place] for place, name in enumerate(np.asarray(names).tolist())}
    return LIBRARIES[library](content)


def same(one: Any, other: Any) -> bool:
    """Sums over columns that lie otherwise in memory differ in the last bits."""
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=1e-9, atol=1e-12))


def turned(probs: Any) -> pd.DataFrame:
    return table(probs)[TURNED]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("make", [cal.VectorScaling, cal.TemperatureScaling])
def test_columns_name_the_classes(make: Any, library: str) -> None:
    plain = make().fit(FITTED.y_prob, FITTED.y_true)
    calibrator = make().fit(table(FITTED.y_prob, library=library), LABELS)
    assert calibrator.classes_.tolist() == NAMES.tolist()
    probs = plain.predict_proba(NEW.y_prob)
    forms = [
        NEW.y_prob,  # what has no names is read by position
        pd.DataFrame(NEW.y_prob),
        table(NEW.y_prob, ["p_0", "p_1", "p_2"]),
        table(NEW.y_prob, library=library),
        turned(NEW.y_prob),
    ]
    for scores in forms:
        assert same(calibrator.predict_proba(scores), probs)
        assert np.array_equal(calibrator.predict(scores), NAMES[probs.argmax(axis=1)])


def test_names_are_saved_and_evaluated(tmp_path: Path) -> None:
    calibrator = load(save(cal.VectorScaling().fit(table(FITTED.y_prob), LABELS), tmp_path / "map.json"))
    probs = calibrator.predict_proba(NEW.y_prob)
    assert same(calibrator.predict_proba(turned(NEW.y_prob)), probs)
    names = NAMES[NEW.y_true]
    for frame in (table(NEW.y_prob), turned(NEW.y_prob)):
        found = cal.evaluate(names, frame, metrics="nll", calibrator=calibrator)
        assert found["nll"] == pytest.approx(cal.nll(NEW.y_true, probs), rel=1e-12)


def test_sorted_names_find_their_columns_too() -> None:
    order = np.argsort(NAMES)
    calibrator = cal.VectorScaling().fit(FITTED.y_prob[:, order], LABELS)  # an array: the classes are in sorted order
    assert calibrator.classes_.tolist() == sorted(NAMES.tolist())
    probs = calibrator.predict_proba(NEW.y_prob[:, order])
    assert same(calibrator.predict_proba(turned(NEW.y_prob)), probs)
    numbered = cal.VectorScaling().fit(FITTED.y_prob, FITTED.y_true)
    assert same(numbered.predict_proba(pd.DataFrame(NEW.y_prob)[[2, 0, 1]]), numbered.predict_proba(NEW.y_prob))
    assert same(numbered.predict_proba(table(NEW.y_prob, [1, 2, 3])), numbered.predict_proba(NEW.y_prob))


def test_columns_of_which_only_some_are_classes_are_refused() -> None:
    calibrator = cal.VectorScaling().fit(table(FITTED.y_prob), LABELS)
    for names in (["low", "high", "middle"], ["mid", "low", "x"]):
        with raises(cal.errors.ColumnError, "scores"):
            calibrator.predict_proba(table(NEW.y_prob, names))
    with pytest.raises(cal.errors.ColumnError):
        calibrator.predict_proba(table(NEW.y_prob)[["high", "low"]])


def test_a_class_without_rows_has_a_name() -> None:
    rows = FITTED.y_true != 1
    frame = table(FITTED.y_prob[rows])
    calibrator = cal.TemperatureScaling().fit(frame, LABELS[rows])
    assert calibrator.classes_.tolist() == NAMES.tolist()
    assert calibrator.temperature_ == cal.TemperatureScaling().fit(frame.to_numpy(), FITTED.y_true[rows]).temperature_


def test_numbers_that_could_be_names_or_positions_are_refused() -> None:
    rows = FITTED.y_true > 0
    frame, labels = pd.DataFrame(FITTED.y_prob, columns=[1, 2, 3]), FITTED.y_true
    with raises(cal.errors.LabelError, "y"):
        cal.TemperatureScaling().fit(frame[rows], labels[rows])
    named = cal.TemperatureScaling().fit(frame, labels + 1)
    assert named.classes_.tolist() == [1, 2, 3]
    assert named.temperature_ == cal.TemperatureScaling().fit(FITTED.y_prob, labels).temperature_
    assert same(named.predict_proba(pd.DataFrame(NEW.y_prob)), named.predict_proba(NEW.y_prob))


def test_an_index_in_another_order_is_refused_for_names_too() -> None:
    labels, frame = pd.Series(LABELS), table(FITTED.y_prob)
    with raises(cal.errors.InputError, "scores"):
        cal.VectorScaling().fit(frame.iloc[::-1], labels)
    with raises(cal.errors.InputError, "groups"):
        GroupCalibration(cal.VectorScaling()).fit(frame, labels, groups=pd.Series(GROUPS).iloc[::-1])


@pytest.mark.parametrize("make", [cal.BetaCalibration, cal.IsotonicCalibration, cal.PlattScaling, cal.VennAbers])
def test_names_without_columns_are_refused(make: Any) -> None:
    """The alphabet does not know of which class a score is the probability."""
    score = NEW.y_prob[:, 0]
    outcome = np.where(NEW.y_true == 0, "default", "ok")
    with raises(cal.errors.LabelError, "y") as told:
        make().fit(score, outcome)
    assert told.value.row == 0
    assert make().fit(score, outcome == "default").predict_proba([0.2, 0.9])[:, 1].argmax() == 1


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_of_fit_are_read_as_those_of_predictions(library: str) -> None:
    named = table(FITTED.y_prob, [f"p_{name}" for name in NAMES], library)
    assert cal.VectorScaling().fit(named, LABELS).classes_.tolist() == NAMES.tolist()
    with raises(cal.errors.LabelError, "y"):
        cal.VectorScaling().fit(table(FITTED.y_prob, ["x", "y", "z"], library), LABELS)
    order = np.argsort(NAMES)
    calibrator = cal.VectorScaling().fit(FITTED.y_prob[:, order], LABELS)  # as scikit-learn's predict_proba has them
    assert calibrator.classes_.tolist() == sorted(NAMES)


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_that_name_classes_as_text_are_matched(library: str) -> None:
    """Parquet, JSON and servers of models turn numbers into text, and p_ is a usual prefix: the order must not decide then."""
    order = [2, 0, 1]
    for names in (list(NAMES), [1, 2, 3], [0, 1, 2]):
        labels = np.asarray(names)[FITTED.y_true]
        calibrator = cal.VectorScaling().fit(pd.DataFrame(FITTED.y_prob, columns=names), labels)
        right = calibrator.predict_proba(NEW.y_prob)
        for prefix in ("", "p_", "prob_"):
            columns = [f"{prefix}{names[place]}" for place in order]
            assert same(calibrator.predict_proba(table(NEW.y_prob[:, order], columns, library)), right), columns
    calibrator = cal.VectorScaling().fit(pd.DataFrame(FITTED.y_prob, columns=NAMES), LABELS)
    positions = calibrator.predict_proba(table(NEW.y_prob, ["p_0", "p_1", "p_2"], library))
    assert same(positions, calibrator.predict_proba(NEW.y_prob))
    with raises(cal.errors.ColumnError, "scores"):
        calibrator.predict_proba(table(NEW.y_prob, ["p_low", "p_high", "p_other"], library))
