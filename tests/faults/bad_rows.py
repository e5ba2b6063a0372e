"""Shapes, containers, frames, and what comes along with the rows: weights, counts, groups, features."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import torch
from scipy.sparse import csr_array

import calibrant as cal
from calibrant.errors import (
    ColumnError,
    GroupError,
    InputError,
    InputTypeError,
    ProbabilityError,
    ShapeError,
    WeightError,
)

from .cases import INF, NAN, P3, Y3, P, Y, kind, with_entry

FRAME = pd.DataFrame({"y": Y, "p": P, "w": [1, 2, 1, 1]})
HOLE = pd.Series([0.2, 0.8, None, 0.3], dtype="Float64")
THREE = {"a": [0.7, 0.1, None, 0.3], "b": [0.2, 0.8, 0.2, 0.3], "c": [0.1, 0.1, 0.6, 0.4]}

shape_y = kind(ShapeError, ValueError, "y_true")
shape = kind(ShapeError, ValueError, "y_prob")
type_y = kind(InputTypeError, TypeError, "y_true")
type_ = kind(InputTypeError, TypeError, "y_prob")
weight = kind(WeightError, ValueError, "sample_weight")
count = kind(WeightError, ValueError, "counts")
group = kind(GroupError, ValueError, "groups")
feature = kind(InputError, ValueError, "features")

SHAPES = [
    shape("fewer labels", lambda: cal.ece([0, 1], P), "has 4 rows and y_true has 2", "one label per row is required"),
    shape(
        "transposed",
        lambda: cal.ece(Y3, P3.T),
        "has 3 rows and y_true has 4",
        "pass y_prob.T: it has one column per row",
    ),
    shape_y(
        "empty lists",
        lambda: cal.ece([], []),
        "is empty; at least one row is required",
        "check the filter or file it came from",
    ),
    shape("empty probabilities", lambda: cal.ece(Y, []), "is empty; at least one row is required"),
    shape("no columns", lambda: cal.ece(Y, np.empty((4, 0))), "no columns", "one column per class"),
    shape(
        "a single column",
        lambda: cal.ece(Y, np.array(P)[:, None]),
        "has a single column, which could be that of either class",
        "pass one dimension if it is the probability of the positive class",
    ),
    shape(
        "three dimensions",
        lambda: cal.ece(Y3, P3[:, :, None]),
        "expected at most 2 dimensions, got 3 (shape (4, 3, 1))",
        "move the classes to the last axis and reshape to (-1, K)",
    ),
    shape_y(
        "a single label",
        lambda: cal.ece(1, 0.5),
        "expected one entry per row, got the single value 1",
        "pass a list or an array",
    ),
    shape(
        "ragged",
        lambda: cal.ece([0, 1], [[0.7, 0.2, 0.1], [0.1, 0.9]]),
        "rows differ in length: 3 entries in row 0, 2 in row 1",
        row=1,
    ),
    shape(
        "ragged below",
        lambda: cal.ece([0, 1], [[0.7, [0.3]], [0.1, 0.9]]),
        "rows differ in length below the second dimension",
        "give every row one entry per class",
    ),
    shape(
        "multilabel in one dimension",
        lambda: cal.ece(cal.Predictions(Y, P, multilabel=True)),
        "got one dimension",
        "drop multilabel=True",
    ),
]

CONTAINERS = [
    type_(
        "None in an object array",
        lambda: cal.ece(Y, with_entry(P, 1, None, object)),
        "missing value",
        "use Predictions(..., missing='drop') to drop these rows",
        row=1,
    ),
    type_("text in a list", lambda: cal.ece(Y, [0.2, "0.8", 0.6, 0.3]), "expected numbers, got the text '0.8'", row=1),
    type_(
        "a date in an object array",
        lambda: cal.ece(Y, [0.2, datetime.date(2026, 1, 1), 1, 0]),
        "expected numbers, got date",
        row=1,
    ),
    type_(
        "numbers as text",
        lambda: cal.ece(Y, ["0.2", "0.8", "0.6", "0.3"]),
        "expected numbers, got the text '0.2'",
        "convert it with float() or read the column as numeric",
        row=0,
    ),
    type_(
        "complex",
        lambda: cal.ece(Y, np.array(P) + 0j),
        "expected real numbers, got dtype complex128",
        "convert it to float first",
    ),
    type_(
        "times",
        lambda: cal.ece(Y, np.zeros(4, "M8[s]")),
        "expected real numbers, got dtype datetime64[s]",
    ),
    type_(
        "dict",
        lambda: cal.ece(Y, {0: 0.2, 1: 0.8}),
        "dict",
        "expected a list, array, column or tensor, got",
        "pass its values as a list, in the order of the rows",
    ),
    type_y(
        "a plain string",
        lambda: cal.ece("y", "p"),
        "expected a list, array, column or tensor, got str",
        "pass a frame as the first argument to name columns with label and prob",
    ),
    type_(
        "a function",
        lambda: cal.ece(Y, len),
        "expected a list, array, column or tensor, got builtin_function_or_method",
        "call it and pass what it returns",
    ),
    type_(
        "a generator",
        lambda: cal.ece(Y, (p for p in P)),
        "expected a list, array, column or tensor, got generator",
        "convert it to a list or a dense array first",
    ),
    type_(
        "a sparse matrix",
        lambda: cal.ece(Y3, csr_array(P3)),
        "expected a list, array, column or tensor, got csr_array",
        "convert it to a list or a dense array first",
    ),
    type_(
        "an object",
        lambda: cal.ece(Y, object()),
        "expected a list, array, column or tensor, got object",
    ),
    type_y("None as labels", lambda: cal.ece(None, P), "is missing (None)", "pass a list, array, column or tensor"),
    type_(
        "None as probabilities",
        lambda: cal.ece(Y, None),
        "is missing",
        "pass (y_true, y_prob), or a frame with label and prob",
    ),
    type_(
        "no probabilities",
        lambda: cal.Predictions(Y),
        "is missing",
        "pass (y_true, y_prob), or a frame with label and prob",
    ),
    type_(
        "null in pandas",
        lambda: cal.ece(Y, HOLE),
        "missing value",
        "use Predictions(..., missing='drop') to drop these rows",
        row=2,
    ),
    type_(
        "null in polars",
        lambda: cal.ece(Y, pl.Series([0.2, 0.8, None, 0.3])),
        "missing value",
        "use Predictions(..., missing='drop') to drop these rows",
        row=2,
    ),
    type_(
        "a tensor without data",
        lambda: cal.ece(Y, torch.empty(4, device="meta")),
        "the tensor cannot be read: Cannot copy out of meta tensor",
    ),
    type_(
        "a sparse tensor",
        lambda: cal.ece(Y, torch.tensor(P).to_sparse()),
        "the tensor cannot be read: can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.",
    ),
    type_(
        "a torch dtype",
        lambda: cal.ece(Y, torch.float32),
        "expected a tensor or array, got dtype",
    ),
]

WEIGHTS = [
    weight(
        "both weights",
        lambda: cal.ece(cal.Predictions(Y, P, counts=Y, sample_weight=Y)),
        "cannot be combined with counts",
        "multiply them, or drop one",
    ),
    weight(
        "negative weight",
        lambda: cal.ece(Y, P, sample_weight=[1, -1, 1, 1]),
        "weights must be finite and non-negative; got -1",
        "drop or correct the row",
        row=1,
    ),
    weight(
        "nan weight",
        lambda: cal.brier(Y, P, sample_weight=[1, NAN, 1, 1]),
        "missing value",
        row=1,
    ),
    weight(
        "zero weights",
        lambda: cal.ece(Y, P, sample_weight=[0] * 4),
        "all weights are zero",
        "give at least one row a positive weight",
    ),
    count(
        "zero counts",
        lambda: cal.ece(cal.Predictions(Y, P, counts=[0] * 4)),
        "all counts are zero",
        "give at least one row a positive count",
    ),
    count(
        "fractional count",
        lambda: cal.ece(cal.Predictions(Y, P, counts=[1, 1.5, 1, 1])),
        "counts must be non-negative integers; got 1.5",
        "pass sample_weight for real weights",
        row=1,
    ),
    count(
        "negative count",
        lambda: cal.ece(cal.Predictions(Y, P, counts=[1, 1, -2, 1])),
        "counts must be non-negative integers; got -2",
        row=2,
    ),
    count(
        "counts beyond 2**53",
        lambda: cal.ece(cal.Predictions(Y, P, counts=[2**62] * 4)),
        "got 1.84467e+19",
        "counts must not add up to more than 2**53 rows",
        "pass sample_weight where only ratios matter",
    ),
    count(
        "a count beyond int64",
        lambda: cal.ece(cal.Predictions(Y, P, counts=[1e19, 1, 1, 1])),
        "got 1e+19",
        "counts must not add up to more than 2**53 rows",
    ),
    kind(ShapeError, ValueError, "sample_weight")(
        "fewer weights",
        lambda: cal.ece(Y, P, sample_weight=[1, 2]),
        "expected one number for each of 4 rows, got shape (2,)",
    ),
    kind(InputTypeError, TypeError, "sample_weight")(
        "a word as weights",
        lambda: cal.ece(Y, P, sample_weight="balanced"),
        "expected a list, array, column or tensor, got str",
    ),
]

GROUPS = [
    group(
        "None as a group",
        lambda: cal.ece(cal.Predictions(Y, P, groups=["a", None, "b", "a"])),
        "use Predictions(..., missing='drop') to drop these rows",
        row=1,
    ),
    group(
        "pandas.NA as a group",
        lambda: cal.ece(cal.Predictions(Y, P, groups=["a", pd.NA, "b", "a"])),
        "missing value",
        row=1,
    ),
    kind(InputTypeError, TypeError, "groups")(
        "a list as a group",
        lambda: cal.ece(cal.Predictions(Y, P, groups=np.array(["a", [1], "b", "a"], object))),
        "expected text or numbers, got list",
        row=1,
    ),
    kind(ShapeError, ValueError, "groups")(
        "fewer groups",
        lambda: cal.ece(cal.Predictions(Y, P, groups=["a", "b"])),
        "expected one group for each of 4 rows, got shape (2,)",
    ),
    feature(
        "nan feature",
        lambda: cal.ece(cal.Predictions(Y, P, features=[[1], [NAN], [1], [1]])),
        "missing value",
        "use Predictions(..., missing='drop') to drop these rows",
        row=1,
    ),
    feature(
        "inf feature",
        lambda: cal.ece(cal.Predictions(Y, P, features=[1, 1, INF, 1])),
        "must be finite; got inf",
        "drop or fill the row",
        row=2,
    ),
    kind(ShapeError, ValueError, "features")(
        "fewer features",
        lambda: cal.ece(cal.Predictions(Y, P, features=[[1.0], [2.0]])),
        "expected 4 rows, one for each prediction; got 2",
    ),
    kind(InputTypeError, TypeError, "features")(
        "text features",
        lambda: cal.ece(cal.Predictions(Y, P, features=["a", "b", "c", "d"])),
        "expected numbers, got the text 'a'",
        row=0,
    ),
]

FRAMES = [
    kind(InputTypeError, TypeError, "y_true")(
        "no label=",
        lambda: cal.ece(FRAME),
        "is a frame, whose columns are not named",
        "pass Predictions(frame, label=..., prob=...) alone",
    ),
    kind(InputTypeError, TypeError, "prob")(
        "no prob=",
        lambda: cal.ece(cal.Predictions(FRAME, label="y")),
        "is required when the first argument is a frame",
        "name the column",
    ),
    kind(ColumnError, ValueError, "label")(
        "missing column",
        lambda: cal.ece(cal.Predictions(FRAME, label="target", prob="p")),
        "unknown column 'target'",
        "the columns are 'y', 'p', 'w'",
    ),
    kind(ColumnError, ValueError, "prob")(
        "misspelt column",
        lambda: cal.ece(cal.Predictions(pl.DataFrame({"y": Y, "prob_1": P}), label="y", prob="prob1")),
        "unknown column 'prob1'",
        "did you mean 'prob_1'? The columns are 'y', 'prob_1'",
    ),
    kind(ColumnError, ValueError, "prob")(
        "pattern without columns",
        lambda: cal.ece(cal.Predictions(FRAME, label="y", prob="q_*")),
        "no column matches 'q_*'",
        "the columns are 'y', 'p', 'w'",
    ),
    kind(ColumnError, ValueError, "label")(
        "a number as name",
        lambda: cal.ece(cal.Predictions(FRAME, label=0, prob="p")),
        "got 0",
        "the columns are 'y', 'p', 'w'",
    ),
    kind(ColumnError, ValueError, "features")(
        "missing features",
        lambda: cal.ece(cal.Predictions(FRAME, label="y", prob="p", features=["w", "age"])),
        "unknown column 'age'",
        "the columns are 'y', 'p', 'w'",
    ),
    kind(ColumnError, ValueError, "y_true")(
        "a column twice",
        lambda: cal.ece(cal.Predictions(FRAME.rename(columns={"w": "p"}), label="y", prob="p")),
        "has two columns named 'p'",
        "rename one of them",
    ),
    type_(
        "a frame and arrays",
        lambda: cal.ece(cal.Predictions(FRAME, P, label="y", prob="p")),
        "cannot be combined with label and prob",
        "pass the frame alone",
    ),
    kind(InputTypeError, TypeError, "label")(
        "names without a frame",
        lambda: cal.ece(cal.Predictions(Y, label="y", prob="p")),
        "and prob are names of columns, and the first argument is not a frame",
        "pass a frame first, or two arrays",
    ),
    kind(ProbabilityError, ValueError, "y_prob")(
        "bad probability in a frame",
        lambda: cal.ece(cal.Predictions(FRAME.assign(p=[0.2, 0.8, 1.6, 0.3]), label="y", prob="p")),
        "probabilities must be in [0, 1]; got 1.6",
        row=2,
    ),
]

TABLE = [*SHAPES, *CONTAINERS, *WEIGHTS, *GROUPS, *FRAMES]
