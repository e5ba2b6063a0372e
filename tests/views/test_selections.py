"""Every selection against rows picked by hand, for every kind of predictions."""

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cal
from calibrant import Predictions, select
from calibrant.errors import InputError
from calibrant.views.selections import parse_selection
from tests.calling import raises

Y = [0, 2, 1, 2, 2]
P = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.1, 0.2, 0.7], [0.5, 0.3, 0.2]])
GROUPS = ["b", "a", "b", "c", "a"]

HARD = Predictions(Y, P, groups=GROUPS)
NAMED = Predictions(["cat", "fox", "dog", "fox", "fox"], P, classes=["cat", "dog", "fox"])
SOFT = Predictions(P, P, soft=True)
VECTOR = Predictions([0, 1, 1, 0], [0.2, 0.7, 0.5, 0.9])
TWO = Predictions([0, 1, 1, 0], [[0.8, 0.2], [0.3, 0.7], [0.5, 0.5], [0.1, 0.9]])
MULTILABEL = Predictions([[1, 0], [0, 0], [0, 1]], [[0.9, 0.2], [0.3, 0.1], [0.5, 0.9]], multilabel=True)
CONFIDENCE = Predictions([1, 0, 1], [0.9, 0.6, 0.7], input="confidence")

# (predictions, selection, rows that stay). The top scores of HARD are 0.6, 0.5, 0.4, 0.7, 0.5.
ROWS = {
    "label": (HARD, select.label(2), [1, 3, 4]),
    "labels of a class group": (HARD, select.label(0, 1), [0, 2]),
    "label by name": (NAMED, select.label("dog", "cat"), [0, 2]),
    "label of scores": (VECTOR, select.label(1), [1, 2]),
    "label of two columns": (TWO, select.label(0), [0, 3]),
    "predicted, the tie goes to class 0": (HARD, select.predicted(0), [0, 2, 4]),
    "predicted by name": (NAMED, select.predicted("fox", "dog"), [1, 3]),
    "predicted of scores, 0.5 goes to class 0": (VECTOR, select.predicted(1), [1, 3]),
    "predicted of two columns": (TWO, select.predicted(0), [0, 2]),
    "predicted of soft": (SOFT, select.predicted(2), [3]),
    "output of the top class": (HARD, select.output(0.5, 0.6), [0, 1, 4]),
    "output closed on the left": (HARD, select.output(0.5, 0.6, closed="left"), [1, 4]),
    "output closed on the right": (HARD, select.output(0.5, 0.6, closed="right"), [0]),
    "output open": (HARD, select.output(0.4, 0.6, closed="neither"), [1, 4]),
    "output from a bound": (HARD, select.output(low=0.6), [0, 3]),
    "output up to a bound": (HARD, select.output(high=0.4), [2]),
    "output of a class": (HARD, select.output(0.3, 0.7, of=2), [1, 3]),
    "output of a class by name": (NAMED, select.output(0.3, 0.7, of="dog", closed="right"), [1, 2]),
    "output of the top class of scores": (VECTOR, select.output(0.75, of="top"), [0, 3]),
    "output of two classes is the positive one's": (VECTOR, select.output(0.5), [1, 2, 3]),
    "output of two columns is the positive one's": (TWO, select.output(0.5), [1, 2, 3]),
    "output of class 0 of scores": (VECTOR, select.output(0.5, of=0), [0, 2]),
    "output of class 1 of two columns": (TWO, select.output(0.5, of=1), [1, 2, 3]),
    "output of soft": (SOFT, select.output(0.6), [0, 3]),
    "output of a class of multilabel": (MULTILABEL, select.output(0.4, of=0), [0, 2]),
    "output of confidence": (CONFIDENCE, select.output(0.65), [0, 2]),
    "group": (HARD, select.group("a"), [1, 4]),
    "groups": (HARD, select.group("c", "b"), [0, 2, 3]),
    "mask": (HARD, select.mask([True, False, False, True, False]), [0, 3]),
    "mask of multilabel": (MULTILABEL, select.mask(np.array([False, True, True])), [1, 2]),
    "and": (HARD, select.label(2) & select.group("a"), [1, 4]),
    "or": (HARD, select.label(0) | select.group("c"), [0, 3]),
    "not": (HARD, ~select.label(2), [0, 2]),
    "nested": (HARD, ~(select.label(2) & select.output(0.7)) & ~select.group("b"), [1, 4]),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_that_stay(name: str) -> None:
    predictions, selection, rows = ROWS[name]
    assert np.flatnonzero(selection.mask(predictions)).tolist() == rows
    assert parse_selection(selection, predictions).probs.tolist() == predictions.probs[rows].tolist()


def test_likert_bands_part_all_rows() -> None:
    scores = [0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 0.99, 1.0]
    p = Predictions([0] * 8, scores)
    edges = [0, 0.2, 0.4, 0.6, 0.8, 1]
    bands = [select.output(low, high, of=1, closed="left") for low, high in pairwise(edges[:-1])]
    bands.append(select.output(0.8, 1, of=1))
    masks = np.array([band.mask(p) for band in bands])
    assert masks.sum(axis=0).tolist() == [1] * 8
    assert masks.argmax(axis=0).tolist() == [0, 0, 1, 2, 3, 4, 4, 4]


@pytest.mark.parametrize(
    "mask",
    [
        [True, False, True, True, False],
        np.array([1, 0, 1, 1, 0], bool),
        pd.Series([True, False, True, True, False]),
        pl.Series([True, False, True, True, False]),
    ],
)
def test_a_plain_mask_is_a_selection(mask: Any) -> None:
    rows = [0, 2, 3]
    expected = cal.ece(np.array(Y)[rows], P[rows])
    assert cal.ece(Y, P, where=mask) == expected
    assert cal.ece(HARD, where=mask) == expected


def test_a_metric_of_a_selection_is_the_metric_of_its_rows() -> None:
    rows = [1, 3, 4]
    for metric in (cal.ece, cal.ece_em, cal.cwce, cal.brier, cal.vce, cal.gece, cal.mdca):
        assert metric(HARD, where=select.label(2)) == metric(np.array(Y)[rows], P[rows])
    assert cal.brier.rows(HARD, where=select.label(2)).tolist() == cal.brier.rows(HARD)[rows].tolist()


def test_weights_stay_with_their_rows() -> None:
    weighted = Predictions(Y, P, sample_weight=[1, 2, 3, 4, 5])
    assert cal.ece(weighted, where=select.label(2)) == cal.ece([2, 2, 2], P[[1, 3, 4]], sample_weight=[2, 4, 5])


def test_a_mask_counts_all_rows_given_also_those_without_weight() -> None:
    mask = [True, True, False, True, False]
    value = cal.brier(cal.Predictions(Y, P, counts=[1, 0, 1, 1, 1]), where=mask)
    assert value == cal.brier([0, 2], P[[0, 3]])
    with pytest.raises(cal.errors.ShapeError, match="where: expected 5 Booleans, one per row; got 4"):
        cal.brier(cal.Predictions(Y, P, counts=[1, 0, 1, 1, 1]), where=[True] * 4)


def test_bins_fitted_once_serve_every_selection() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(2, 2, 400)
    y = (rng.random(400) < p).astype(int)
    groups = np.where(rng.random(400) < 0.3, "few", "many")
    given = Predictions(y, p, groups=groups)
    fitted = cal.calibration_curve(given, binning="equal_mass", bins=8).table
    parts = [cal.calibration_curve(given.take(groups == name), binning=fitted).table for name in ("few", "many")]
    for part in parts:
        assert part.edges.tolist() == fitted.edges.tolist()
    assert (parts[0].rows + parts[1].rows).tolist() == fitted.rows.tolist()
    assert parts[0].excess + parts[1].excess == pytest.approx(fitted.excess)


def test_selections_say_what_they_are() -> None:
    assert repr(select.label("cat")) == "Selection(label in ['cat'])"
    assert repr(select.output(0.9)) == "Selection(output from 0.9 to 1.0)"
    assert repr(select.output(0.9, of="top")) == "Selection(output from 0.9 to 1.0 of top)"
    both = ~select.group("a") & (select.predicted(1) | select.mask([True]))
    assert repr(both) == "Selection((~group in ['a'] & (predicted in [1] | mask)))"


def test_no_selection_keeps_the_predictions_as_they_are() -> None:
    assert parse_selection(None, HARD) is HARD


def test_output_reads_what_the_lens_auto_reads() -> None:
    rng = np.random.default_rng(3)
    p = np.concatenate([rng.beta(0.3, 3, 150), [0.96, 0.97, 1.0, 0.0]])
    names = np.where(rng.random(len(p)) < p, "churn", "stay")
    two = np.column_stack([1 - p, p])
    high = select.output(low=0.95)
    for given in (
        Predictions(names, p, pos_label="churn"),
        Predictions(names, two, classes=["stay", "churn"]),
        Predictions(names, two.astype(np.float32), classes=["stay", "churn"]),
        Predictions(names == "churn", np.log(p + 1e-9) - np.log1p(1e-9 - p), input="logit"),
    ):
        assert np.flatnonzero(high.mask(given)).tolist() == np.flatnonzero(p >= 0.95).tolist()
        assert cal.expected_observed_ratio(given, where=high) == cal.expected_observed_ratio(given, where=p >= 0.95)
    assert (select.output(low=0.95, of="top").mask(given) == (np.maximum(p, 1 - p) >= 0.95)).all()


def test_a_mask_beside_predictions_is_checked_by_the_index_of_their_rows() -> None:
    frame = pd.DataFrame({"y": [0, 1, 1, 0], "p": [0.2, 0.7, None, 0.4]}, index=[10, 11, 12, 13])
    predictions = Predictions(frame, label="y", prob="p", missing="drop")
    mask = frame["p"] < 0.5
    assert cal.brier(predictions, where=mask) == cal.brier([0, 0], [0.2, 0.4])
    with raises(InputError, "where"):
        cal.brier(predictions, where=mask[::-1])
    with raises(InputError, "where"):
        cal.evaluate(predictions, where=mask.set_axis([1, 2, 3, 4]))
    assert cal.brier(predictions.take(slice(0, 2)), where=mask[:2]) == cal.brier([0], [0.2])
