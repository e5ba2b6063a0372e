"""Labels that are not of the classes, in every spelling of labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl

import calibrant as cal
from calibrant.errors import InputTypeError, LabelError, ShapeError

from .cases import COLUMNS, INF, LABELS, NAN, ONE_HOT, P3, TWO, Y3, P, Y, kind, with_entry

CAT, CATS = ["cat", "dog", "cat", "dog"], ["cat", "dog"]
TWO_RULE = "labels are 0 and 1, or -1 and 1"
ONE_ONE = "a one-hot row has a single 1"

label = kind(LabelError, ValueError, "y_true")
shape = kind(ShapeError, ValueError, "y_true")
type_ = kind(InputTypeError, TypeError, "y_true")
classes = kind(LabelError, ValueError, "classes")
classes_type = kind(InputTypeError, TypeError, "classes")
positive = kind(LabelError, ValueError, "pos_label")


def hot(row: object) -> np.ndarray:
    return with_entry(ONE_HOT, 2, row)


NUMBERS = [
    label(
        "label K",
        lambda: cal.ece([0, 1, 3, 2], P3),
        "labels must be integers from 0 to 2; got 3",
        "pass classes if these are names",
        row=2,
    ),
    label(
        "label -1 of three", lambda: cal.ece([0, 1, -1, 2], P3), "labels must be integers from 0 to 2; got -1", row=2
    ),
    label(
        "label counted from 1",
        lambda: cal.ece([1, 2, 3, 2], P3),
        "labels must be integers from 0 to 2; got 3",
        "y_true - 1",
        "range(1, 4)",
        row=2,
    ),
    label("nan", lambda: cal.ece([0, 1, NAN, 0], P), "missing value", "drop", row=2),
    label("nan of three", lambda: cal.brier([0, 1, NAN, 0], P3), "missing value", row=2),
    label("inf", lambda: cal.ece([0, 1, INF, 0], P), "labels must be 0 and 1, or -1 and 1; got inf", row=2),
    label(
        "half", lambda: cal.ece([0, 1, 0.5, 0], P), "labels must be 0 and 1, or -1 and 1; got 0.5", "soft=True", row=2
    ),
    label("half of three", lambda: cal.ece([0, 1, 1.5, 0], P3), "labels must be integers from 0 to 2; got 1.5", row=2),
    label(
        "1 and 2",
        lambda: cal.ece([1, 2, 2, 1], P),
        "labels must be 0 and 1, or -1 and 1; got 2",
        "pass pos_label to name the positive class",
        row=1,
    ),
    label(
        "1 and 2 with columns",
        lambda: cal.ece([1, 2, 2, 1], TWO),
        "labels must be 0 and 1, or -1 and 1; got 2",
        "y_true - 1",
        row=1,
    ),
    label(
        "three values",
        lambda: cal.ece([0, 1, 2, 1], P),
        "labels must be 0 and 1, or -1 and 1; got 2",
        "one column of prob",
        row=2,
    ),
    label("-1, 0 and 1", lambda: cal.ece([-1, 0, 1, 1], P), "labels must be 0 and 1, or -1 and 1, not all", row=1),
    label("far beyond int64", lambda: cal.ece([0, 10**30, 1, 0], P), "labels must be 0 and 1, or -1 and 1; got", row=1),
    label(
        "wrong for a confidence",
        lambda: cal.ece([0, 1, 3, 1], P, input="confidence"),
        "labels must be 0 and 1, or -1 and 1; got 3",
        row=2,
    ),
    type_("None", lambda: cal.ece([0, None, 1, 0], P), "missing value (None)", "drop or fill", row=1),
    type_("pandas.NA", lambda: cal.ece([0, pd.NA, 1, 0], P), "missing value (<NA>)", "drop or fill", row=1),
    type_("null in pandas", lambda: cal.ece(pd.Series([0, 1, None, 0], dtype="Int64"), P), "missing value", row=2),
    type_("null in polars", lambda: cal.ece(pl.Series([0, 1, None, 0]), P), "missing value", "drop or fill", row=2),
    type_("masked", lambda: cal.ece(np.ma.masked_array(Y, [0, 0, 1, 0]), P), "missing value", "drop", row=2),
    type_("complex", lambda: cal.ece(np.array(Y) + 0j, P), "complex128", "real numbers", "convert"),
    type_("dates", lambda: cal.ece(np.array(["2026-01-01"] * 4, "M8[D]"), P), "datetime64[D]", "real numbers"),
]

NAMES = [
    label(
        "names without classes",
        lambda: cal.ece(CAT, P),
        "text",
        "'cat'",
        "pass classes in the order of the columns or",
        row=0,
    ),
    label(
        "numbers as text",
        lambda: cal.ece(["0", "1", "1", "0"], P),
        "text",
        "'0'",
        "pass classes in the order of the columns or",
        row=0,
    ),
    label(
        "misspelt name",
        lambda: cal.ece(["cat", "dgo", "cat", "dog"], P, classes=CATS),
        "must be one of the classes ['cat', 'dog']; got 'dgo'",
        "['cat', 'dog']",
        "did you mean 'dog'?",
        row=1,
    ),
    label(
        "unknown name",
        lambda: cal.ece(["cat", "car", "x", "dog"], P, classes=CATS),
        "must be one of the classes",
        row=1,
    ),
    label(
        "None among names",
        lambda: cal.ece(["cat", None, "dog", "cat"], P, classes=CATS),
        "must be one of the classes ['cat', 'dog']; got None",
        row=1,
    ),
    label(
        "nan among names",
        lambda: cal.ece(["cat", NAN, "dog", "cat"], P, pos_label="dog"),
        "missing value",
        "drop",
        row=1,
    ),
    type_(
        "a list as a name",
        lambda: cal.ece(np.array(["cat", [1], "dog", "cat"], object), P, classes=CATS),
        "expected text or numbers, got list",
        "text or numbers",
        row=1,
    ),
    classes("too few classes", lambda: cal.ece(Y3, P3, classes=CATS), "has 2 names", "3 classes", "every class once"),
    classes("a class twice", lambda: cal.ece(Y3, P3, classes=["a", "b", "a"]), "'a' occurs twice", "every class once"),
    classes_type(
        "classes as a string", lambda: cal.ece(Y3, P3, classes="abc"), "str", "order", "for example ['cat', 'dog']"
    ),
    classes_type(
        "classes as a set",
        lambda: cal.ece(CAT, P, classes={"cat", "dog"}),
        "set",
        "order",
        "for example ['cat', 'dog']",
    ),
    classes_type(
        "classes as a number", lambda: cal.ece(Y3, P3, classes=3), "int", "names", "for example ['cat', 'dog']"
    ),
    classes_type("classes as lists", lambda: cal.ece(Y, P, classes=[["a"], ["b"]]), "name 0 is a list", "text"),
    positive(
        "pos_label absent",
        lambda: cal.ece(CAT, P, pos_label="fox"),
        "'fox' does not occur among the labels; the",
        "'cat'",
        "spelling",
    ),
    positive(
        "pos_label of another type",
        lambda: cal.ece(CAT, P, pos_label=1),
        "1 does not occur among the labels; the first",
        "type",
    ),
    positive(
        "pos_label with columns",
        lambda: cal.ece(Y3, P3, pos_label=1),
        "applies to one column of scores; got several",
        "drop pos_label",
    ),
    positive(
        "pos_label not in classes",
        lambda: cal.ece(CAT, P, pos_label="fox", classes=CATS),
        "'fox' is not one of the classes ['cat', 'dog']",
    ),
    positive(
        "pos_label and soft",
        lambda: cal.ece(P, P, soft=True, pos_label=1),
        "cannot be combined with soft or multilabel",
        "drop one of them",
    ),
    positive("pos_label and multilabel", lambda: cal.ece(LABELS, COLUMNS, multilabel=True, pos_label=1), "multilabel"),
    label(
        "a third value beside pos_label",
        lambda: cal.ece(["a", "b", "c", "b"], P, pos_label="b"),
        "expected two classes, got 'c' besides 'b' and",
        "two classes",
        row=2,
    ),
    label("nan beside pos_label", lambda: cal.ece([1, 2, NAN, 2], P, pos_label=2), "missing value", row=2),
    label("None beside pos_label", lambda: cal.ece(["a", None, "b", "b"], P, pos_label="b"), "missing value", row=1),
    label(
        "pandas.NA beside pos_label", lambda: cal.ece(["a", pd.NA, "b", "b"], P, pos_label="b"), "missing value", row=1
    ),
    shape("pos_label and one-hot", lambda: cal.ece(TWO, P, pos_label=1), "shape (4, 2)", "one label per row"),
]

ROWS = [
    label(
        "two ones",
        lambda: cal.ece(hot([1, 0, 1]), P3),
        "[1., 0., 1.]",
        "a one-hot row must have a single 1; got [1.,",
        "multilabel=True",
        row=2,
    ),
    label(
        "no one",
        lambda: cal.ece(hot([0, 0, 0]), P3),
        "[0., 0., 0.]",
        "a one-hot row must have a single 1; got [0.,",
        row=2,
    ),
    label(
        "shares without soft",
        lambda: cal.ece(hot([0.5, 0.3, 0.2]), P3),
        "0.5",
        "a one-hot row must have a single 1; got [0.5,",
        "soft=True",
        row=2,
    ),
    label(
        "nan in one-hot",
        lambda: cal.ece(hot([NAN, 0, 1]), P3),
        "nan",
        "a one-hot row must have a single 1; got [nan, ",
        "drop the rows",
        row=2,
    ),
    shape("too few one-hot columns", lambda: cal.ece(ONE_HOT[:, :2], P3), "2 columns", "3 classes", "class indices"),
    shape("one-hot for scores", lambda: cal.ece(ONE_HOT, P), "3 columns", "2 classes"),
    shape("labels as a column", lambda: cal.ece(np.array(Y)[:, None], P), "1 columns", "y_true.ravel()"),
    label(
        "soft above 1",
        lambda: cal.ece([0.2, 0.5, 1.5, 0], P, soft=True),
        "1.5",
        "soft labels must be in [0, 1]; got 1.5",
        row=2,
    ),
    label(
        "soft nan",
        lambda: cal.nll([0.2, 0.5, NAN, 0], P, soft=True),
        "nan",
        "soft labels must be in [0, 1]; got nan",
        row=2,
    ),
    label("soft not summing", lambda: cal.ece(hot([0.5, 0.2, 0.2]), P3, soft=True), "0.9", "sum to 1", "divide", row=2),
    shape("soft without columns", lambda: cal.ece([0.2, 0.5, 0.5, 0], P3, soft=True), "one dimension", "(N, 3)"),
    shape("soft with too few columns", lambda: cal.ece(ONE_HOT[:, :2], P3, soft=True), "2 columns", "(N, 3)"),
    shape(
        "multilabel with other columns",
        lambda: cal.ece(LABELS, [[0.2, 0.3, 0.4], [0.1, 0.2, 0.3]], multilabel=True),
        "multilabel labels must have the shape of the",
        "one 0/1 column per class",
    ),
    shape(
        "multilabel without columns",
        lambda: cal.ece([0, 1], COLUMNS, multilabel=True),
        "multilabel labels must have the shape of the",
        "(2, 2)",
    ),
    label(
        "multilabel 2",
        lambda: cal.ece([[0, 1], [2, 1]], COLUMNS, multilabel=True),
        "multilabel labels must be 0 or 1; got 2",
        "0 or 1",
        row=1,
    ),
    label(
        "multilabel fraction",
        lambda: cal.ece([[0, 1], [0.5, 1]], COLUMNS, multilabel=True),
        "multilabel labels must be 0 or 1; got 0.5",
        "0 or 1",
        "soft=True",
        row=1,
    ),
    label("multilabel nan", lambda: cal.ece([[0, 1], [NAN, 1]], COLUMNS, multilabel=True), "nan", "0 or 1", row=1),
    label(
        "soft multilabel above 1",
        lambda: cal.ece([[0.2, 1.3], [1, 1]], COLUMNS, multilabel=True, soft=True),
        "1.3",
        "soft labels must be in [0, 1]; got 1.3",
        row=0,
    ),
]

TABLE = [*NUMBERS, *NAMES, *ROWS]
