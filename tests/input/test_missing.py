"""Missing values: what is missing, the one error that counts it, and rows that are dropped from all arguments together."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

import calibrant as cal
from calibrant.input.missing import missing_labels, missing_rows
from calibrant.util.results import Result

NAN = float("nan")
Y, P = [0, 1, 1, 0, 1, 0], [0.1, 0.9, 0.7, 0.4, 0.6, 0.2]
REST = [0, 1, 3, 4, 5]  # all but row 2
VALUE = cal.brier([Y[row] for row in REST], [P[row] for row in REST])


def hole(values: list[Any], entry: Any = None, row: int = 2) -> list[Any]:
    return [entry if place == row else value for place, value in enumerate(values)]


LABELS = {
    "None": hole(Y),
    "nan": hole(Y, NAN),
    "NA": np.array(hole(Y, "NA"), object),
    "pandas NA": pd.Series(hole(Y), dtype="Int64"),
    "pandas boolean": pd.Series(hole([bool(y) for y in Y]), dtype="boolean"),
    "polars": pl.Series(hole(Y)),
    "arrow": pa.array(hole(Y)),
    "masked": np.ma.masked_array(Y, [row == 2 for row in range(6)]),
    "one-hot": np.array(hole([[1 - y, y] for y in Y], [NAN, NAN]), float),
}
SCORES = {
    "None": hole(P),
    "nan": np.array(hole(P, NAN)),
    "text": np.array(hole(P, "n/a"), object),
    "all text": hole([str(p) for p in P], "NA"),
    "pandas": pd.Series(hole(P), index=list("abcdef")),
    "polars": pl.Series(hole(P)),
    "polars nan": pl.Series(hole(P, NAN)),
    "arrow": pa.array(hole(P)),
    "torch": torch.tensor(hole(P, NAN), dtype=torch.float64),
    "masked": np.ma.masked_array(P, [row == 2 for row in range(6)]),
    "one of two columns": np.array(hole([[1 - p, p] for p in P], [NAN, 0.7])),
    "frame": pl.DataFrame({"p_0": [1 - p for p in P], "p_1": hole(P)}),
}


@pytest.mark.parametrize("form", LABELS)
def test_a_missing_label_is_counted_or_dropped(form: str) -> None:
    with pytest.raises(cal.CalibrantError, match=r"missing value.* in row 2"):
        cal.brier(LABELS[form], P)
    found = cal.Predictions(LABELS[form], P, missing="drop")
    assert cal.brier(found) == pytest.approx(VALUE, abs=1e-15)
    assert (found.n, found.dropped.rows, found.dropped.n, found.dropped.columns) == (5, 6, 1, {"y_true": 1})


@pytest.mark.parametrize("form", SCORES)
def test_a_missing_score_is_counted_or_dropped(form: str) -> None:
    with pytest.raises(cal.CalibrantError, match=r"missing value.* in row 2"):
        cal.brier(Y, SCORES[form])
    found = cal.Predictions(Y, SCORES[form], missing="drop")
    assert cal.brier(found) == pytest.approx(VALUE, abs=1e-15)
    assert found.dropped.columns == ({"p_1": 1} if form == "frame" else {"y_prob": 1})


def test_all_arguments_lose_the_same_rows() -> None:
    rng = np.random.default_rng(0)
    n = 300
    p = rng.random(n)
    frame = pd.DataFrame(
        {"y": (rng.random(n) < p).astype(float), "p": p, "w": rng.random(n), "g": rng.choice(list("abc"), n)}
    )
    frame["x"] = rng.normal(size=n)
    for row, column in enumerate(frame.columns):
        frame.loc[10 * row : 10 * row + row, column] = None  # 1 label, 2 scores, 3 weights, 4 groups, 5 features
    given = {"label": "y", "prob": "p", "sample_weight": "w", "groups": "g", "features": ["x"]}
    with pytest.raises(cal.errors.InputTypeError) as caught:
        cal.Predictions(frame, **given)
    assert str(caught.value) == (
        "y_true: 15 missing values (y 1, p 2, w 3, g 4, features 5), the first in row 0; use Predictions(..., missing='drop') to drop these rows"
    )
    found, expected = cal.Predictions(frame, **given, missing="drop"), cal.Predictions(frame.dropna(), **given)
    for name in ("probs", "labels", "weight", "groups", "features"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert found.group_names == expected.group_names
    assert str(found.dropped) == "15 of 300 rows dropped because of missing values (y 1, p 2, w 3, g 4, features 5)"
    # Masks and arrays that come later have one entry for each row of the input.
    mask = rng.random(n) < 0.5
    mine = frame[mask].dropna()
    assert cal.ece(found, where=mask) == cal.ece(cal.Predictions(mine, label="y", prob="p", sample_weight="w"))


def test_frames_of_labels_and_scores_may_name_their_columns_alike() -> None:
    labels = pd.DataFrame({"a": [1, None, 0, 1], "b": [0, 1, 1, 0]})
    scores = pd.DataFrame({"a": [0.2, 0.3, None, 0.5], "b": [0.8, 0.7, 0.4, 0.5]})
    found = cal.Predictions(labels, scores, missing="drop")
    assert (found.n, found.dropped.columns) == (2, {"a": 1, "a of y_prob": 1})


def test_models_stay_paired() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(400)
    y = (rng.random(400) < p).astype(int)
    one, other = p.copy(), p**1.3
    one[3:9], other[7:15] = NAN, NAN
    both = ~(np.isnan(one) | np.isnan(other))
    found = cal.compare(
        {"one": cal.Predictions(y, one, missing="drop"), "other": cal.Predictions(y, other, missing="drop")},
        rng=0,
        n_resamples=50,
    )
    expected = cal.compare(y[both], {"one": one[both], "other": other[both]}, rng=0, n_resamples=50)
    assert (found.values, found.differences, found.n) == (expected.values, expected.differences, 388)
    assert found.to_dict()["missing_values"] == {
        "rows": 400,
        "dropped": 12,
        "missing": {"y_prob": 6, "y_prob of other": 8},
    }
    assert "12 of 400 rows dropped" in repr(found)
    drawn = cal.reliability_diagram(cal.Predictions(y, {"one": one, "other": other}["one"], missing="drop"))
    assert drawn.to_dict()["missing_values"]["dropped"] == 6


def test_results_state_what_was_dropped() -> None:
    rng = np.random.default_rng(2)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(float)
    y[3], p[7] = NAN, NAN
    for call in (
        lambda held: cal.evaluate(held, metrics=["ece"]),
        lambda held: cal.assess(held),
        lambda held: cal.interval(held, metric="brier"),
        lambda held: cal.choose_threshold(held, accuracy=0.8),
        lambda held: cal.recalibrate(held, method="platt"),
        lambda held: cal.calibration_curve(held),
    ):
        found = call(cal.Predictions(y, p, missing="drop"))
        assert isinstance(found, Result)
        assert found.to_dict()["missing_values"]["dropped"] == 2
        assert "2 of 200 rows dropped because of missing values (y_true 1, y_prob 1)" in repr(found)
    held = cal.Predictions(y, p, missing="drop")
    assert "2 of 200 rows dropped" in repr(cal.assess(held))
    assert "missing_values" not in cal.assess([0, 1, 1, 0], [0.2, 0.7, 0.8, 0.1], rng=0).to_dict()
    page = cal.report(cal.Predictions(y, p, missing="drop"), metrics=["brier"], recalibration=False)
    assert page.to_markdown().count("2 of 200 rows dropped because of missing values (y_true 1, y_prob 1)") == 2
    assert cal.Sketches.of(cal.Predictions(y, p, missing="drop")).dropped.n == 2


def test_what_is_not_missing() -> None:
    with pytest.raises(cal.errors.ProbabilityError):  # the row of the input
        cal.ece(cal.Predictions([0, 1, 0, 1], [0.1, NAN, 0.3, np.inf], missing="drop"))
    # A text that names a class is a label, and so is one of two labels.
    labels, probs = ["NA", "EU", "NA", "EU"], [[0.7, 0.3], [0.2, 0.8], [0.6, 0.4], [0.1, 0.9]]
    assert cal.Predictions(labels, probs, classes=["NA", "EU"], missing="drop").dropped is None
    assert cal.Predictions(["none", "ill"], [0.1, 0.8], pos_label="ill", missing="drop").dropped is None
    assert cal.Predictions(["", "ill"], [0.1, 0.8], pos_label="ill", missing="drop").dropped is None
    three = cal.Predictions(["no", "ill", "", "NA"], [0.1, 0.8, 0.3, 0.2], pos_label="ill", missing="drop")
    assert three.dropped.n == 2
    # In groups it is a name; a missing group is not.
    found = cal.Predictions([0, 1, 1], [0.1, 0.8, 0.4], groups=["NA", "", None], missing="drop")
    assert found.group_names == ("", "NA")


def test_masks_of_missing_rows() -> None:
    assert missing_rows([["a"], None, ["b"]]).tolist() == [False, True, False]
    assert missing_rows(np.array(["2026-01-01", "NaT"], "datetime64[D]")).tolist() == [False, True]
    assert missing_rows(["NA", "1"], texts=False).tolist() == [False, False]
    assert missing_labels(["NA", "1", "0"], np.zeros(3, bool)).tolist() == [True, False, False]
    assert missing_labels(["NA", "1", "0"], np.zeros(3, bool), ["NA"]).tolist() == [False, False, False]
