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
    InputTypeError,
    ProbabilityError,
    ShapeError,
    WeightError,
)

from .cases import INF, NAN, P3, Y3, P, Y, kind, with_entry

FRAME = pd.DataFrame({"y": Y, "p": P, "w": [1, 2, 1, 1]})
HOLE = pd.Series([0.2, 0.8, None, 0.3], dtype="Float64")
THREE = {"a": [0.7, 0.1, None, 0.3], "b": [0.2, 0.8, 0.2, 0.3], "c": [0.1, 0.1, 0.6, 0.4]}
NEEDED = "a list, array, column or tensor is needed"
EMPTY = "at least one row is needed"

shape_y = kind(ShapeError, ValueError, "y_true")
shape = kind(ShapeError, ValueError, "y_prob")
type_y = kind(InputTypeError, TypeError, "y_true")
type_ = kind(InputTypeError, TypeError, "y_prob")
weight = kind(WeightError, ValueError, "sample_weight")
count = kind(WeightError, ValueError, "counts")
group = kind(GroupError, ValueError, "groups")
feature = kind(GroupError, ValueError, "features")

SHAPES = [
    shape("fewer labels", lambda: cal.ece([0, 1], P), "4 rows", "y_true has 2", "one label per row"),
    shape("fewer probabilities", lambda: cal.brier(Y, P[:2]), "2 rows", "y_true has 4"),
    shape("transposed", lambda: cal.ece(Y3, P3.T), "3 rows", "y_true has 4", "y_prob.T"),
    shape_y("empty lists", lambda: cal.ece([], []), "empty", "is empty; at least one row is required", "filter"),
    shape_y(
        "empty arrays",
        lambda: cal.gece(np.array([]), np.empty((0, 3))),
        "empty",
        "is empty; at least one row is required",
    ),
    shape_y(
        "empty frame",
        lambda: cal.ece(FRAME[:0], label="y", prob="p"),
        "empty",
        "is empty; at least one row is required",
    ),
    shape("empty probabilities", lambda: cal.ece(Y, []), "empty", "is empty; at least one row is required"),
    shape("no columns", lambda: cal.ece(Y, np.empty((4, 0))), "no columns", "one column per class"),
    shape("a single column", lambda: cal.ece(Y, np.array(P)[:, None]), "single column", "either class", "y_prob[:, 0]"),
    shape("three dimensions", lambda: cal.ece(Y3, P3[:, :, None]), "(4, 3, 1)", "at most 2", "reshape to (-1, K)"),
    shape_y("a single label", lambda: cal.ece(1, 0.5), "the single value 1", "one entry per row", "list"),
    shape("a single probability", lambda: cal.ece([1], np.array(0.5)), "the single value 0.5", "one entry per row"),
    shape("ragged", lambda: cal.ece([0, 1], [[0.7, 0.2, 0.1], [0.1, 0.9]]), "rows differ in length: 3 entries", row=1),
    shape("ragged at the start", lambda: cal.ece([0, 1], [0.7, [0.1, 0.9]]), "rows differ in length: 1 entries", row=1),
    shape(
        "ragged below",
        lambda: cal.ece([0, 1], [[0.7, [0.3]], [0.1, 0.9]]),
        "rows differ in length below the second dimension",
        "every row",
    ),
    shape("multilabel in one dimension", lambda: cal.ece(Y, P, multilabel=True), "one dimension", "drop multilabel"),
]

CONTAINERS = [
    type_(
        "None in an object array", lambda: cal.ece(Y, with_entry(P, 1, None, object)), "(None)", "drop or fill", row=1
    ),
    type_("None in a list", lambda: cal.ece(Y, [0.2, None, 0.6, 0.3]), "(None)", "drop or fill", row=1),
    type_("text in a list", lambda: cal.ece(Y, [0.2, "0.8", 0.6, 0.3]), "expected numbers, got str", row=1),
    type_("None in columns", lambda: cal.ece([0, 1], [[0.2, 0.8], [None, 0.3]]), "(None)", row=1),
    type_(
        "a date in an object array",
        lambda: cal.ece(Y, [0.2, datetime.date(2026, 1, 1), 1, 0]),
        "expected numbers, got date",
        row=1,
    ),
    type_(
        "text in an object array",
        lambda: cal.ece(Y, with_entry(P, 1, "0.8", object)),
        "expected numbers, got str",
        "convert it to float first",
        row=1,
    ),
    type_(
        "numbers as text",
        lambda: cal.ece(Y, ["0.2", "0.8", "0.6", "0.3"]),
        "expected numbers, got the text '0.2'",
        "float()",
        row=0,
    ),
    type_(
        "numbers as bytes",
        lambda: cal.ece(Y, np.array([b"0.2", b"1", b"0", b"1"])),
        "expected numbers, got the text b'0.2'",
        row=0,
    ),
    type_(
        "complex",
        lambda: cal.ece(Y, np.array(P) + 0j),
        "complex128",
        "expected real numbers, got dtype complex128",
        "convert",
    ),
    type_(
        "times",
        lambda: cal.ece(Y, np.zeros(4, "M8[s]")),
        "datetime64[s]",
        "expected real numbers, got dtype datetime64[s]",
    ),
    type_("records", lambda: cal.ece(Y, np.zeros(4, [("p", "f8")])), "expected real numbers, got dtype [('p', '<f8')]"),
    type_(
        "dict",
        lambda: cal.ece(Y, {0: 0.2, 1: 0.8}),
        "dict",
        "expected a list, array, column or tensor, got",
        "its values as a list",
    ),
    type_(
        "set",
        lambda: cal.ece(Y, {0.2, 0.8}),
        "set",
        "expected a list, array, column or tensor, got",
        "in the order of the rows",
    ),
    type_y(
        "a plain string",
        lambda: cal.ece("y", "p"),
        "str",
        "expected a list, array, column or tensor, got",
        "pass a frame as the first argument to name",
    ),
    type_("a function", lambda: cal.ece(Y, len), "expected a list, array, column or tensor, got", "call it"),
    type_(
        "a generator",
        lambda: cal.ece(Y, (p for p in P)),
        "generator",
        "expected a list, array, column or tensor, got",
        "convert it to a list",
    ),
    type_(
        "a sparse matrix",
        lambda: cal.ece(Y3, csr_array(P3)),
        "csr_array",
        "expected a list, array, column or tensor, got",
        "dense array",
    ),
    type_("an object", lambda: cal.ece(Y, object()), "object", "expected a list, array, column or tensor, got"),
    type_y("None as labels", lambda: cal.ece(None, P), "missing (None)", "pass a list, array, column or tensor"),
    type_(
        "None as probabilities",
        lambda: cal.ece(Y, None),
        "missing",
        "(y_true, y_prob)",
        "pass (y_true, y_prob), or a frame with label",
    ),
    type_("no probabilities", lambda: cal.Predictions(Y), "missing", "(y_true, y_prob)"),
    type_("null in pandas", lambda: cal.ece(Y, HOLE), "missing", "missing value", "drop or fill", row=2),
    type_("nan in pandas is null", lambda: cal.ece(Y, pd.Series(with_entry(P, 2, NAN))), "missing", row=2),
    type_("null in polars", lambda: cal.ece(Y, pl.Series([0.2, 0.8, None, 0.3])), "missing", "drop or fill", row=2),
    kind(InputTypeError, TypeError, "y_prob (column 'a')")(
        "null in a polars frame", lambda: cal.ece(Y3, pl.DataFrame(THREE)), "missing", row=2
    ),
    kind(InputTypeError, TypeError, "y_prob (column 0)")(
        "null in unnamed pandas columns",
        lambda: cal.ece(Y3, pd.DataFrame(with_entry(P3, (2, 0), NAN))),
        "missing",
        row=2,
    ),
    type_("a tensor without data", lambda: cal.ece(Y, torch.empty(4, device="meta")), "tensor", "cannot be read"),
    type_("a sparse tensor", lambda: cal.ece(Y, torch.tensor(P).to_sparse()), "tensor", "cannot be read", "dense"),
    type_("a torch dtype", lambda: cal.ece(Y, torch.float32), "dtype", "expected a tensor or array, got dtype"),
]

WEIGHTS = [
    weight(
        "both weights",
        lambda: cal.ece(Y, P, sample_weight=Y, counts=Y),
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
        "weights must be finite and non-negative; got nan",
        "finite",
        row=1,
    ),
    weight(
        "inf weight",
        lambda: cal.gece(Y, P, sample_weight=[1, INF, 1, 1]),
        "weights must be finite and non-negative; got inf",
        "finite",
        row=1,
    ),
    weight("zero weights", lambda: cal.ece(Y, P, sample_weight=[0] * 4), "all weights are zero", "positive weight"),
    count("zero counts", lambda: cal.ece(Y, P, counts=[0] * 4), "all weights are zero", "positive weight"),
    count(
        "fractional count",
        lambda: cal.ece(Y, P, counts=[1, 1.5, 1, 1]),
        "1.5",
        "counts must be non-negative integers; got 1.5",
        "pass sample_weight for real weights",
        row=1,
    ),
    count(
        "negative count",
        lambda: cal.ece(Y, P, counts=[1, 1, -2, 1]),
        "counts must be non-negative integers; got -2",
        "non-negative integers",
        row=2,
    ),
    count(
        "nan count",
        lambda: cal.ece(Y, P, counts=[1, NAN, 1, 1]),
        "counts must be non-negative integers; got nan",
        "non-negative integers",
        row=1,
    ),
    count(
        "counts beyond 2**53",
        lambda: cal.ece(Y, P, counts=[2**62] * 4),
        "1.84467e+19",
        "2**53",
        "pass sample_weight where only ratios matter",
    ),
    count("a count beyond int64", lambda: cal.ece(Y, P, counts=[1e19, 1, 1, 1]), "1e+19", "2**53"),
    kind(ShapeError, ValueError, "sample_weight")(
        "fewer weights",
        lambda: cal.ece(Y, P, sample_weight=[1, 2]),
        "shape (2,)",
        "4 rows",
        "expected one number for each of 4 rows, got",
    ),
    kind(ShapeError, ValueError, "sample_weight")(
        "weights as a column",
        lambda: cal.ece(Y, P, sample_weight=np.ones((4, 1))),
        "shape (4, 1)",
        "expected one number for each of 4 rows, got",
    ),
    kind(ShapeError, ValueError, "counts")(
        "fewer counts",
        lambda: cal.ece(Y, P, counts=[1, 2]),
        "shape (2,)",
        "4 rows",
        "expected one number for each of 4 rows, got",
    ),
    kind(InputTypeError, TypeError, "sample_weight")(
        "a word as weights",
        lambda: cal.ece(Y, P, sample_weight="balanced"),
        "str",
        "expected a list, array, column or tensor, got",
    ),
    kind(InputTypeError, TypeError, "sample_weight")(
        "None among weights", lambda: cal.ece(Y, P, sample_weight=[1, None, 1, 1]), "missing value (None)", row=1
    ),
]

GROUPS = [
    group(
        "None as a group",
        lambda: cal.ece(Y, P, groups=["a", None, "b", "a"]),
        "missing group",
        "name the missing",
        row=1,
    ),
    group(
        "nan as a group", lambda: cal.ece(Y, P, groups=[1.0, NAN, 2.0, 1.0]), "missing group", "drop the rows", row=1
    ),
    group("nan among names", lambda: cal.ece(Y, P, groups=["a", NAN, "b", "a"]), "missing group", row=1),
    group("pandas.NA as a group", lambda: cal.ece(Y, P, groups=["a", pd.NA, "b", "a"]), "missing group", row=1),
    group(
        "no date as a group",
        lambda: cal.ece(Y, P, groups=np.array(["2026", "NaT"] * 2, "M8[Y]")),
        "missing group",
        row=1,
    ),
    group(
        "null group in polars", lambda: cal.ece(Y, P, groups=pl.Series(["a", None, "b", "a"])), "missing group", row=1
    ),
    kind(InputTypeError, TypeError, "groups")(
        "a list as a group", lambda: cal.ece(Y, P, groups=np.array(["a", [1], "b", "a"], object)), "list", row=1
    ),
    kind(ShapeError, ValueError, "groups")(
        "fewer groups",
        lambda: cal.ece(Y, P, groups=["a", "b"]),
        "shape (2,)",
        "4 rows",
        "expected one group for each of 4 rows, got",
    ),
    feature(
        "nan feature",
        lambda: cal.ece(Y, P, features=[[1], [NAN], [1], [1]]),
        "features must be finite",
        "drop or fill",
        row=1,
    ),
    feature(
        "inf feature", lambda: cal.ece(Y, P, features=[1, 1, INF, 1]), "features must be finite", "drop or fill", row=2
    ),
    kind(ShapeError, ValueError, "features")(
        "fewer features",
        lambda: cal.ece(Y, P, features=[[1.0], [2.0]]),
        "expected 4 rows, one for each prediction; got 2",
    ),
    kind(InputTypeError, TypeError, "features")(
        "text features",
        lambda: cal.ece(Y, P, features=["a", "b", "c", "d"]),
        "text",
        "expected numbers, got the text 'a'",
        row=0,
    ),
]

FRAMES = [
    kind(InputTypeError, TypeError, "label")("no label=", lambda: cal.ece(FRAME), "a frame", "name the column"),
    kind(InputTypeError, TypeError, "prob")(
        "no prob=", lambda: cal.ece(FRAME, label="y"), "a frame", "name the column"
    ),
    kind(ColumnError, ValueError, "label")(
        "missing column", lambda: cal.ece(FRAME, label="target", prob="p"), "'target'", "the columns are 'y', 'p', 'w'"
    ),
    kind(ColumnError, ValueError, "prob")(
        "misspelt column",
        lambda: cal.ece(pl.DataFrame({"y": Y, "prob_1": P}), label="y", prob="prob1"),
        "'prob1'",
        "did you mean 'prob_1'?",
        "did you mean 'prob_1'? The columns are 'y',",
    ),
    kind(ColumnError, ValueError, "prob")(
        "pattern without columns",
        lambda: cal.ece(FRAME, label="y", prob="q_*"),
        "'q_*'",
        "the columns are 'y', 'p', 'w'",
    ),
    kind(ColumnError, ValueError, "prob")("no name", lambda: cal.ece(FRAME, label="y", prob=[]), "got []", "'p'"),
    kind(ColumnError, ValueError, "label")(
        "a number as name", lambda: cal.ece(FRAME, label=0, prob="p"), "got 0", "'y'"
    ),
    kind(ColumnError, ValueError, "sample_weight")(
        "missing weights", lambda: cal.ece(FRAME, label="y", prob="p", sample_weight="weight"), "'weight'", "'w'"
    ),
    kind(ColumnError, ValueError, "features")(
        "missing features", lambda: cal.ece(FRAME, label="y", prob="p", features=["w", "age"]), "'age'", "'w'"
    ),
    kind(ColumnError, ValueError, "y_true")(
        "a column twice",
        lambda: cal.ece(FRAME.rename(columns={"w": "p"}), label="y", prob="p"),
        "has two columns named 'p'",
        "rename",
    ),
    type_(
        "a frame and arrays",
        lambda: cal.ece(FRAME, P, label="y", prob="p"),
        "cannot be combined with label and prob",
        "the frame alone",
    ),
    kind(InputTypeError, TypeError, "label")(
        "names without a frame", lambda: cal.ece(Y, label="y", prob="p"), "columns of a frame", "two arrays"
    ),
    kind(ProbabilityError, ValueError, "y_prob")(
        "bad probability in a frame",
        lambda: cal.ece(FRAME.assign(p=[0.2, 0.8, 1.6, 0.3]), label="y", prob="p"),
        "probabilities must be in [0, 1]; got 1.6",
        row=2,
    ),
]

TABLE = [*SHAPES, *CONTAINERS, *WEIGHTS, *GROUPS, *FRAMES]
