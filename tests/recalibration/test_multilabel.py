"""Labels that do not exclude each other: one object gives what a calibrator of each label gives, also saved, applied and exported."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.recalibration import to_python, to_sql
from tests.calling import raises

RNG = np.random.default_rng(7)
P = RNG.random((200, 3))
Y = (RNG.random((200, 3)) < P**1.5).astype(int)
NEW = RNG.random((9, 3))
WEIGHT = 0.5 + np.arange(200) % 3
NAMES = ["rain", "wind", "snow"]


@pytest.mark.parametrize("words", [{}, {"sample_weight": WEIGHT}, {"counts": np.arange(200) % 3}])
@pytest.mark.parametrize("calibrator", [cal.PlattScaling(), cal.IsotonicCalibration(), cal.PlattScaling(input="logit")])
def test_each_label_has_the_probabilities_of_its_own_calibrator(calibrator: Any, words: dict[str, Any]) -> None:
    scores, new = (P, NEW) if calibrator.input == "prob" else (np.log(P / (1 - P)), np.log(NEW / (1 - NEW)))
    fitted = cal.MultilabelCalibration(calibrator).fit(scores, Y, **words)
    found = fitted.predict_proba(new)
    for k in range(3):
        own = type(calibrator)(**calibrator.get_params()).fit(scores[:, k], Y[:, k], **words)
        assert found[:, k].tolist() == own.predict_proba(new[:, k])[:, 1].tolist()
    assert (fitted.predict(new) == (found > 0.5)).all()
    assert abs(found.sum(axis=1) - 1).max() > 0.1


@pytest.mark.parametrize("input", ["prob", "logit"])
def test_saved_and_exported(input: str, tmp_path: Path) -> None:
    scores = P.copy() if input == "prob" else np.log(P / (1 - P))
    scores[:3] = [[0, 1, 0.5]] * 3 if input == "prob" else [[np.inf] * 3, [-np.inf] * 3, [0, np.inf, 1]]
    fitted = cal.MultilabelCalibration(cal.PlattScaling(input=input)).fit(scores, Y)
    expected = fitted.apply(fitted._read(scores))
    assert (
        cal.load(cal.save(fitted, tmp_path / "labels.json")).predict_proba(scores[5:9]).tolist()
        == expected[5:9].tolist()
    )
    module: dict[str, Any] = {}
    exec(to_python(fitted), module)
    assert np.array([module["predict_proba"](row) for row in scores]) == pytest.approx(expected, abs=1e-12)
    frame = pd.DataFrame(scores, columns=["a", "b", "c"])  # noqa: F841 - read by the query
    query = to_sql(fitted, table="frame", prob=["a", "b", "c"])
    assert duckdb.sql(query).df().to_numpy() == pytest.approx(expected, abs=1e-12)


def test_columns_are_matched_by_name() -> None:
    scores, labels = pd.DataFrame(P, columns=NAMES), pd.DataFrame(Y, columns=NAMES)
    fitted = cal.MultilabelCalibration(cal.PlattScaling()).fit(scores, labels)
    mixed = cal.MultilabelCalibration(cal.PlattScaling()).fit(scores.add_prefix("p_"), labels[["snow", "rain", "wind"]])
    assert fitted.classes_.tolist() == NAMES
    new = pd.DataFrame(NEW, columns=NAMES)
    expected = fitted.predict_proba(NEW)
    assert fitted.predict_proba(new[["wind", "snow", "rain"]]).tolist() == expected.tolist()
    assert mixed.predict_proba(new).tolist() == expected[:, [2, 0, 1]].tolist()


def test_evaluation_of_multilabel_predictions() -> None:
    fitted = cal.MultilabelCalibration(cal.PlattScaling()).fit(P, Y)
    rows = cal.Predictions(RNG.integers(0, 2, (9, 3)), NEW, multilabel=True)
    after = cal.evaluate(rows, metrics=["brier"], calibrator=fitted)["brier"]
    assert after == pytest.approx(((rows.labels - fitted.predict_proba(NEW)) ** 2).mean())
    with raises(cal.errors.ArgumentError, "calibrator"):
        cal.evaluate(rows.labels[:, 0], NEW[:, 0], calibrator=fitted)


def test_intervals_of_each_label() -> None:
    fitted = cal.MultilabelCalibration(cal.PlattScaling()).fit(P, Y)
    found = fitted.predict_interval(NEW, n_resamples=20)
    assert found.low.shape == (9, 3)
    assert (found.low <= found.high).all()
