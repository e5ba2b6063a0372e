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
    label("label K", lambda: cal.ece([0, 1, 3, 2], P3), "is 3", "whole numbers from 0 to 2", "classes=", row=2),
    label("label -1 of three", lambda: cal.ece([0, 1, -1, 2], P3), "is -1", "whole numbers from 0 to 2", row=2),
    label("label counted from 1", lambda: cal.ece([1, 2, 3, 2], P3), "is 3", "y_true - 1", "range(1, 4)", row=2),
    label("nan", lambda: cal.ece([0, 1, NAN, 0], P), "is nan", "every row needs a label", "drop", row=2),
    label("nan of three", lambda: cal.brier([0, 1, NAN, 0], P3), "is nan", "every row needs a label", row=2),
    label("inf", lambda: cal.ece([0, 1, INF, 0], P), "is inf", TWO_RULE, row=2),
    label("half", lambda: cal.ece([0, 1, 0.5, 0], P), "is 0.5", TWO_RULE, "soft=True", row=2),
    label("half of three", lambda: cal.ece([0, 1, 1.5, 0], P3), "is 1.5", "whole numbers from 0 to 2", row=2),
    label("1 and 2", lambda: cal.ece([1, 2, 2, 1], P), "is 2", TWO_RULE, "pos_label=", row=1),
    label("1 and 2 with columns", lambda: cal.ece([1, 2, 2, 1], TWO), "is 2", TWO_RULE, "y_true - 1", row=1),
    label("three values", lambda: cal.ece([0, 1, 2, 1], P), "is 2", TWO_RULE, "one column of prob", row=2),
    label("-1, 0 and 1", lambda: cal.ece([-1, 0, 1, 1], P), "is 0", "other labels are -1", "never all three", row=1),
    label("far beyond int64", lambda: cal.ece([0, 10**30, 1, 0], P), "is 10000000000", TWO_RULE, row=1),
    label("wrong for a confidence", lambda: cal.ece([0, 1, 3, 1], P, input="confidence"), "is 3", TWO_RULE, row=2),
    type_("None", lambda: cal.ece([0, None, 1, 0], P), "missing (None)", "drop or fill", row=1),
    type_("pandas.NA", lambda: cal.ece([0, pd.NA, 1, 0], P), "missing (<NA>)", "drop or fill", row=1),
    type_("null in pandas", lambda: cal.ece(pd.Series([0, 1, None, 0], dtype="Int64"), P), "is missing", row=2),
    type_("null in polars", lambda: cal.ece(pl.Series([0, 1, None, 0]), P), "is missing", "drop or fill", row=2),
    type_("masked", lambda: cal.ece(np.ma.masked_array(Y, [0, 0, 1, 0]), P), "masked", "drop", row=2),
    type_("complex", lambda: cal.ece(np.array(Y) + 0j, P), "complex128", "real numbers", "convert"),
    type_("dates", lambda: cal.ece(np.array(["2026-01-01"] * 4, "M8[D]"), P), "datetime64[D]", "real numbers"),
]

NAMES = [
    label("names without classes", lambda: cal.ece(CAT, P), "text", "'cat'", "classes=[...]", "pos_label=", row=0),
    label("numbers as text", lambda: cal.ece(["0", "1", "1", "0"], P), "text", "'0'", "classes=[...]", row=0),
    label(
        "misspelt name",
        lambda: cal.ece(["cat", "dgo", "cat", "dog"], P, classes=CATS),
        "is 'dgo'",
        "['cat', 'dog']",
        "did you mean 'dog'?",
        row=1,
    ),
    label(
        "unknown name", lambda: cal.ece(["cat", "car", "x", "dog"], P, classes=CATS), "not one of the classes", row=1
    ),
    label("None among names", lambda: cal.ece(["cat", None, "dog", "cat"], P, classes=CATS), "is None", row=1),
    label("nan among names", lambda: cal.ece(["cat", NAN, "dog", "cat"], P, pos_label="dog"), "is nan", "drop", row=1),
    type_(
        "a list as a name",
        lambda: cal.ece(np.array(["cat", [1], "dog", "cat"], object), P, classes=CATS),
        "holds a list",
        "text or numbers",
        row=1,
    ),
    classes("too few classes", lambda: cal.ece(Y3, P3, classes=CATS), "has 2 names", "3 classes", "every class once"),
    classes("a class twice", lambda: cal.ece(Y3, P3, classes=["a", "b", "a"]), "names 'a' twice", "every class once"),
    classes_type("classes as a string", lambda: cal.ece(Y3, P3, classes="abc"), "str", "order", "pass a list"),
    classes_type("classes as a set", lambda: cal.ece(CAT, P, classes={"cat", "dog"}), "set", "order", "pass a list"),
    classes_type("classes as a number", lambda: cal.ece(Y3, P3, classes=3), "int", "names", "pass a list"),
    classes_type("classes as lists", lambda: cal.ece(Y, P, classes=[["a"], ["b"]]), "a list as name 0", "text"),
    positive(
        "pos_label absent", lambda: cal.ece(CAT, P, pos_label="fox"), "'fox' occurs in no row", "'cat'", "spelling"
    ),
    positive("pos_label of another type", lambda: cal.ece(CAT, P, pos_label=1), "1 occurs in no row", "type"),
    positive("pos_label with columns", lambda: cal.ece(Y3, P3, pos_label=1), "one-dimensional", "drop it"),
    positive(
        "pos_label not in classes",
        lambda: cal.ece(CAT, P, pos_label="fox", classes=CATS),
        "is 'fox'",
        "not one of classes=['cat', 'dog']",
    ),
    positive("pos_label and soft", lambda: cal.ece(P, P, soft=True, pos_label=1), "soft=True", "drop one of them"),
    positive("pos_label and multilabel", lambda: cal.ece(LABELS, COLUMNS, multilabel=True, pos_label=1), "multilabel"),
    label(
        "a third value beside pos_label",
        lambda: cal.ece(["a", "b", "c", "b"], P, pos_label="b"),
        "is 'c'",
        "a third value beside 'b' and 'a'",
        "two classes",
        row=2,
    ),
    label("nan beside pos_label", lambda: cal.ece([1, 2, NAN, 2], P, pos_label=2), "is nan", "needs a label", row=2),
    label("None beside pos_label", lambda: cal.ece(["a", None, "b", "b"], P, pos_label="b"), "is None", row=1),
    label("pandas.NA beside pos_label", lambda: cal.ece(["a", pd.NA, "b", "b"], P, pos_label="b"), "is <NA>", row=1),
    shape("pos_label and one-hot", lambda: cal.ece(TWO, P, pos_label=1), "shape (4, 2)", "one label per row"),
]

ROWS = [
    label("two ones", lambda: cal.ece(hot([1, 0, 1]), P3), "[1., 0., 1.]", ONE_ONE, "multilabel=True", row=2),
    label("no one", lambda: cal.ece(hot([0, 0, 0]), P3), "[0., 0., 0.]", ONE_ONE, row=2),
    label("shares without soft", lambda: cal.ece(hot([0.5, 0.3, 0.2]), P3), "0.5", ONE_ONE, "soft=True", row=2),
    label("nan in one-hot", lambda: cal.ece(hot([NAN, 0, 1]), P3), "nan", ONE_ONE, "drop the rows", row=2),
    shape("too few one-hot columns", lambda: cal.ece(ONE_HOT[:, :2], P3), "2 columns", "3 classes", "class indices"),
    shape("one-hot for scores", lambda: cal.ece(ONE_HOT, P), "3 columns", "2 classes"),
    shape("labels as a column", lambda: cal.ece(np.array(Y)[:, None], P), "1 columns", "y_true.ravel()"),
    label("soft above 1", lambda: cal.ece([0.2, 0.5, 1.5, 0], P, soft=True), "1.5", "lie in [0, 1]", row=2),
    label("soft nan", lambda: cal.nll([0.2, 0.5, NAN, 0], P, soft=True), "nan", "lie in [0, 1]", row=2),
    label("soft not summing", lambda: cal.ece(hot([0.5, 0.2, 0.2]), P3, soft=True), "0.9", "sum to 1", "divide", row=2),
    shape("soft without columns", lambda: cal.ece([0.2, 0.5, 0.5, 0], P3, soft=True), "one dimension", "(N, 3)"),
    shape("soft with too few columns", lambda: cal.ece(ONE_HOT[:, :2], P3, soft=True), "2 columns", "(N, 3)"),
    shape(
        "multilabel with other columns",
        lambda: cal.ece(LABELS, [[0.2, 0.3, 0.4], [0.1, 0.2, 0.3]], multilabel=True),
        "shape (2, 2)",
        "y_prob's shape (2, 3)",
        "one 0/1 column per class",
    ),
    shape("multilabel without columns", lambda: cal.ece([0, 1], COLUMNS, multilabel=True), "shape (2,)", "(2, 2)"),
    label("multilabel 2", lambda: cal.ece([[0, 1], [2, 1]], COLUMNS, multilabel=True), "is 2", "0 or 1", row=1),
    label(
        "multilabel fraction",
        lambda: cal.ece([[0, 1], [0.5, 1]], COLUMNS, multilabel=True),
        "column 0 is 0.5",
        "0 or 1",
        "soft=True",
        row=1,
    ),
    label("multilabel nan", lambda: cal.ece([[0, 1], [NAN, 1]], COLUMNS, multilabel=True), "nan", "0 or 1", row=1),
    label(
        "soft multilabel above 1",
        lambda: cal.ece([[0.2, 1.3], [1, 1]], COLUMNS, multilabel=True, soft=True),
        "1.3",
        "lie in [0, 1]",
        row=0,
    ),
]

TABLE = [*NUMBERS, *NAMES, *ROWS]
