"""What only looks bad is accepted with the value it should have, and a bad row deep in large data is found."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

import calibrant as cal
from calibrant.util import kernels
from tests.calling import raises

from .cases import INF, ONE_HOT, P3, TWO, Y3, P, Y, with_entry

# By hand: |0.2 - 0| + |0.8 - 1| + |0.6 - 1| + |0.3 - 0|, a bin of its own for each of the four rows.
BINARY = 1.1 / 4
# The same with weights in the ratio 2, 1, 2, 1.
WEIGHTED = (2 * 0.2 + 0.2 + 2 * 0.4 + 0.3) / 6
# Confidences 0.7, 0.8, 0.6 and 0.4 of four right answers.
TOP_LABEL = (0.3 + 0.2 + 0.4 + 0.6) / 4

ACCEPTED: dict[str, tuple[Callable[[], float], float]] = {
    "float64 sums within 1e-6": (lambda: cal.ece(Y3, with_entry(P3, (2, 0), 0.2 + 9e-7)), TOP_LABEL),
    "float32 sums within 1e-4": (lambda: cal.ece(Y3, with_entry(P3, (2, 0), 0.2 + 9e-5, np.float32)), TOP_LABEL),
    "float16 sums within 1e-2": (lambda: cal.ece(Y3, with_entry(P3, (2, 0), 0.2 + 9e-3, np.float16)), TOP_LABEL),
    "a wider tolerance on request": (
        lambda: cal.ece(cal.Predictions(Y3, with_entry(P3, (2, 0), 0.205), normalize=1e-2)),
        TOP_LABEL,
    ),
    "bfloat16 sums within 1e-2": (lambda: cal.ece(Y3, torch.tensor(P3).to(torch.bfloat16)), TOP_LABEL),
    "multilabel rows need not sum to 1": (
        lambda: cal.ece(cal.Predictions([[0, 1]], [[0.9, 0.8]], multilabel=True)),
        (0.9 + 0.2) / 2,
    ),
    "minus zero": (lambda: cal.brier([0, 1], [-0.0, 1.0]), 0.0),
    "0 and 1": (lambda: cal.ece([0, 1], [0.0, 1.0]), 0.0),
    "the smallest positive number": (lambda: cal.ece([0, 0], [5e-324, 0.0]), 0.0),
    "whole numbers as probabilities": (lambda: cal.brier([0, 1, 1], [0, 1, 0]), 1 / 3),
    "booleans as probabilities": (lambda: cal.brier([0, 1, 1], np.array([False, True, False])), 1 / 3),
    "rounding is clipped on request": (lambda: cal.brier(cal.Predictions([0, 1], [-1e-9, 1 + 1e-9], clip=True)), 0.0),
    "rows are rescaled on request": (
        lambda: cal.brier(cal.Predictions(Y, 3 * TWO, normalize=True)),
        (0.04 + 0.04 + 0.16 + 0.09) / 4,
    ),
    "1-D logits may be infinite": (lambda: cal.brier(cal.Predictions([0, 1], [-INF, INF], input="logit")), 0.0),
    "a masked class has logit -inf": (
        lambda: cal.brier(cal.Predictions([0, 1], [[0, -INF], [-INF, 9]], input="logit")),
        0.0,
    ),
    "a huge logit does not overflow": (
        lambda: cal.brier(cal.Predictions([0, 1], [[1e308, 0], [-1e308, 0]], input="logit")),
        0.0,
    ),
    "logits inside [0, 1] are logits": (lambda: cal.brier(cal.Predictions([1], [0.0], input="logit")), 0.25),
    "labels -1 and 1": (lambda: cal.ece([-1, 1, 1, -1], P), BINARY),
    "only -1": (lambda: cal.ece([-1, -1], [0.2, 0.4]), 0.3),
    "float labels": (lambda: cal.ece(np.array(Y, np.float32), P), BINARY),
    "boolean labels": (lambda: cal.ece(np.array(Y, bool), P), BINARY),
    "float labels of three": (lambda: cal.ece(np.array(Y3, float), P3), TOP_LABEL),
    "one-hot labels": (lambda: cal.ece(ONE_HOT, P3), TOP_LABEL),
    "one-hot booleans": (lambda: cal.ece(ONE_HOT.astype(bool), P3), TOP_LABEL),
    "labels counted from 1, said": (
        lambda: cal.ece(cal.Predictions(np.array(Y3) + 1, P3, classes=range(1, 4))),
        TOP_LABEL,
    ),
    "1 and 2, said": (lambda: cal.ece([1, 2, 2, 1], P, pos_label=2), BINARY),
    "names, said": (lambda: cal.ece(cal.Predictions(["n", "y", "y", "n"], P, classes=["n", "y"])), BINARY),
    "no positive, with classes": (
        lambda: cal.ece(cal.Predictions(["n", "n"], [0.2, 0.4], classes=["n", "y"], pos_label="y")),
        0.3,
    ),
    "unnamed pandas columns": (lambda: cal.ece(Y3, pd.DataFrame(P3)), TOP_LABEL),
    "pandas categories": (
        lambda: cal.ece(cal.Predictions(pd.Series(list("nyyn"), dtype="category"), P, classes=["n", "y"])),
        BINARY,
    ),
    "a polars lazy frame": (
        lambda: cal.ece(cal.Predictions(pl.LazyFrame({"y": Y, "p": P}), label="y", prob="p")),
        BINARY,
    ),
    "an unmasked masked array": (lambda: cal.ece(Y, np.ma.masked_array(P)), BINARY),
    "decimals and fractions": (lambda: cal.brier([1, 0], [Decimal("0.5"), Fraction(1, 2)]), 0.25),
    "long doubles": (lambda: cal.ece(Y, np.array(P, np.longdouble)), BINARY),
    "big-endian": (lambda: cal.ece(np.array(Y, ">i4"), np.array(P, ">f8")), BINARY),
    "some weights are 0": (lambda: cal.ece([*Y, 1], [*P, 0.0], sample_weight=[1, 1, 1, 1, 0]), BINARY),
    "the largest weights": (lambda: cal.ece(Y, P, sample_weight=[1.6e308, 0.8e308, 1.6e308, 0.8e308]), WEIGHTED),
    "the smallest weights": (lambda: cal.ece(Y, P, sample_weight=[1e-323, 5e-324, 1e-323, 5e-324]), WEIGHTED),
    "whole float counts": (lambda: cal.ece(cal.Predictions(Y, P, counts=[2.0, 2.0, 2.0, 2.0])), BINARY),
    "the largest counts": (lambda: cal.ece(cal.Predictions(Y, P, counts=[2**51] * 4)), BINARY),
    "group classes without a list": (
        lambda: cal.gece(Y3, P3, lens=cal.class_groups({"a": [0, 1], "b": 2}), distance="l1", binning=cal.KDTree(1)),
        abs((0.9 + 0.9 + 0.4 + 0.6) / 4 - 0.5) * 2,
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_is_accepted(name: str) -> None:
    call, expected = ACCEPTED[name]
    tolerance = 4e-3 if "16" in name else 1e-6 if "32" in name else 1e-12
    assert call() == pytest.approx(expected, abs=tolerance)


def test_infinite_loss_is_a_value() -> None:
    assert cal.nll([1, 0], [0.0, 0.5]) == math.inf


LARGE = 2_100_000  # several blocks


@pytest.fixture(params=[0, math.inf], ids=["compiled", "numpy"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled loops are taken, or they are not."""
    monkeypatch.setattr(kernels, "MIN_ENTRIES", request.param)
    monkeypatch.setattr(kernels, "loaded", {})


def spoiled(row: int, value: float, dtype: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    probs = rng.random(LARGE).astype(dtype)
    probs[row] = value
    return (rng.random(LARGE) < 0.5).astype(np.int64), probs


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1e-30, 1.0000002])
def test_first_bad_entry_of_many_is_named(value: float, dtype: Any) -> None:
    labels, probs = spoiled(1_999_999, value, dtype)
    probs[2_000_007] = np.nan
    with raises(cal.errors.ProbabilityError, "y_prob") as caught:
        cal.ece(labels, probs)
    assert caught.value.row == 1_999_999


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("value", [2, -1, 7])
def test_first_bad_label_of_many_is_named(value: int) -> None:
    labels, probs = spoiled(0, 0.5, np.float64)
    labels[1_777_777] = value
    with raises(cal.errors.LabelError, "y_true") as caught:
        cal.ece(labels, probs)
    assert caught.value.row == (1 if value == -1 else 1_777_777)  # beside -1, the first 0 is the first at fault


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("columns", [10, 30])
@pytest.mark.parametrize(("value", "words"), [(np.nan, "missing value"), (-0.25, "got -0.25"), (0.75, "got a sum of")])
def test_first_bad_row_of_many_columns_is_named(value: float, words: str, columns: int) -> None:
    rows = LARGE // columns
    probs = np.full((rows, columns), 1 / columns, np.float32)
    probs[rows - 5, 3] = value
    probs[rows - 2, 1] = np.inf
    with pytest.raises(cal.errors.ProbabilityError, match=words) as caught:
        cal.ece(np.zeros(rows, np.int64), probs)
    assert caught.value.row == rows - 5


@pytest.mark.parametrize("binning", ["equal_width", [0, 0.5, 1]])
def test_bins_of_no_rows_have_no_value(binning: Any) -> None:
    with raises(cal.errors.UndefinedMetricError, "ece"):
        cal.ece(cal.Sketch.empty("binary"), **({"binning": binning} if isinstance(binning, str) else {"bins": binning}))


@pytest.mark.parametrize("metric", [metric.id for metric in cal.catalogue.values() if metric.sketch])
def test_no_metric_of_an_empty_sketch_has_a_value(metric: str) -> None:
    with pytest.raises(cal.CalibrantError, match=r"no rows|cannot be computed from a sketch|required by"):
        cal.catalogue[metric](cal.Sketch.empty("binary"), lens="binary")
