"""Labels that are not of the classes, in every spelling of labels."""

from __future__ import annotations

import numpy as np

import calibrant as cal
from calibrant.errors import InputTypeError, LabelError, ShapeError

from .cases import COLUMNS, INF, LABELS, NAN, ONE_HOT, P3, TWO, Y3, P, Y, kind, with_entry

CAT, CATS = ["cat", "dog", "cat", "dog"], ["cat", "dog"]

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
        "label counted from 1",
        lambda: cal.ece([1, 2, 3, 2], P3),
        "labels must be integers from 0 to 2; got 3",
        "pass y_true - 1, or use classes=[1, 2, 3] if they are counted from 1",
        row=2,
    ),
    label(
        "nan",
        lambda: cal.ece([0, 1, NAN, 0], P),
        "missing value",
        "use Predictions(..., missing='drop') to drop these rows",
        row=2,
    ),
    label("inf", lambda: cal.ece([0, 1, INF, 0], P), "labels must be 0 and 1, or -1 and 1; got inf", row=2),
    label(
        "half",
        lambda: cal.ece([0, 1, 0.5, 0], P),
        "labels must be 0 and 1, or -1 and 1; got 0.5",
        "pass soft=True if the labels are class proportions",
        row=2,
    ),
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
        "pass y_true - 1, or use classes=[1, 2] if they are counted from 1",
        row=1,
    ),
    label(
        "three values",
        lambda: cal.ece([0, 1, 2, 1], P),
        "labels must be 0 and 1, or -1 and 1; got 2",
        "for more than two classes, one column of probabilities per class is required",
        row=2,
    ),
    label(
        "-1, 0 and 1",
        lambda: cal.ece([-1, 0, 1, 1], P),
        "labels must be 0 and 1, or -1 and 1, not all three; got 0",
        row=1,
    ),
    label(
        "far beyond int64",
        lambda: cal.ece([0, 10**30, 1, 0], P),
        "labels must be 0 and 1, or -1 and 1; got 1000000000000000019884624838656",
        row=1,
    ),
    label(
        "wrong for a confidence",
        lambda: cal.ece(cal.Predictions([0, 1, 3, 1], P, input="confidence")),
        "labels must be 0 and 1, or -1 and 1; got 3",
        row=2,
    ),
    type_(
        "None",
        lambda: cal.ece([0, None, 1, 0], P),
        "missing value",
        "use Predictions(..., missing='drop') to drop these rows",
        row=1,
    ),
    type_(
        "masked",
        lambda: cal.ece(np.ma.masked_array(Y, [0, 0, 1, 0]), P),
        "missing value",
        "use Predictions(..., missing='drop') to drop these rows",
        row=2,
    ),
    type_(
        "complex",
        lambda: cal.ece(np.array(Y) + 0j, P),
        "expected real numbers, got dtype complex128",
        "convert it to float first",
    ),
    type_(
        "dates",
        lambda: cal.ece(np.array(["2026-01-01"] * 4, "M8[D]"), P),
        "expected real numbers, got dtype datetime64[D]",
    ),
]

NAMES = [
    label(
        "names without classes",
        lambda: cal.ece(CAT, P),
        "text labels require the names of the classes",
        "got 'cat'",
        "pass pos_label to name the positive class, or pass classes with the positive class last",
        row=0,
    ),
    label(
        "misspelt name",
        lambda: cal.ece(cal.Predictions(["cat", "dgo", "cat", "dog"], P, classes=CATS)),
        "labels must be among the classes ['cat', 'dog']; got 'dgo'",
        "did you mean 'dog'?",
        row=1,
    ),
    label(
        "unknown name",
        lambda: cal.ece(cal.Predictions(["cat", "car", "x", "dog"], P, classes=CATS)),
        "labels must be among the classes ['cat', 'dog']; got 'car'",
        "did you mean 'cat'?",
        row=1,
    ),
    label(
        "None among names",
        lambda: cal.ece(cal.Predictions(["cat", None, "dog", "cat"], P, classes=CATS)),
        "missing value",
        row=1,
    ),
    type_(
        "a list as a name",
        lambda: cal.ece(cal.Predictions(np.array(["cat", [1], "dog", "cat"], object), P, classes=CATS)),
        "expected text or numbers, got list",
        row=1,
    ),
    classes(
        "too few classes",
        lambda: cal.ece(cal.Predictions(Y3, P3, classes=CATS)),
        "has 2 names for 3 classes",
        "name every class once, in the order of the columns",
    ),
    classes(
        "a class twice",
        lambda: cal.ece(cal.Predictions(Y3, P3, classes=["a", "b", "a"])),
        "'a' occurs twice",
        "name every class once, in the order of the columns",
    ),
    classes_type(
        "classes as a string",
        lambda: cal.ece(cal.Predictions(Y3, P3, classes="abc")),
        "expected a list of names in the order of the columns, got str",
        "for example ['cat', 'dog']",
    ),
    classes_type(
        "classes as lists",
        lambda: cal.ece(cal.Predictions(Y, P, classes=[["a"], ["b"]])),
        "name 0 is a list",
        "name classes with text or numbers",
    ),
    positive(
        "pos_label absent",
        lambda: cal.ece(CAT, P, pos_label="fox"),
        "'fox' does not occur among the labels; the first label is 'cat'",
        "check its spelling and type or pass classes",
    ),
    positive(
        "pos_label of another type",
        lambda: cal.ece(CAT, P, pos_label=1),
        "1 does not occur among the labels; the first label is 'cat'",
        "check its spelling and type or pass classes",
    ),
    positive(
        "pos_label with columns",
        lambda: cal.ece(Y3, P3, pos_label=1),
        "applies to one column of scores; got several",
        "drop pos_label",
    ),
    positive(
        "pos_label not in classes",
        lambda: cal.ece(cal.Predictions(CAT, P, classes=CATS, pos_label="fox")),
        "'fox' is not one of the classes ['cat', 'dog']",
    ),
    positive(
        "pos_label and soft",
        lambda: cal.ece(cal.Predictions(P, P, soft=True, pos_label=1)),
        "cannot be combined with soft or multilabel labels",
        "drop one of them",
    ),
    positive(
        "pos_label and multilabel",
        lambda: cal.ece(cal.Predictions(LABELS, COLUMNS, multilabel=True, pos_label=1)),
        "cannot be combined with soft or multilabel labels",
    ),
    label(
        "a third value beside pos_label",
        lambda: cal.ece(["a", "b", "c", "b"], P, pos_label="b"),
        "labels must be one of two classes, 'a' and 'b'; got 'c'",
        row=2,
    ),
    label(
        "None beside classes",
        lambda: cal.ece(cal.Predictions(["a", None, "b", "b"], P, classes=["a", "b"])),
        "missing value",
        row=1,
    ),
    shape(
        "pos_label and one-hot",
        lambda: cal.ece(TWO, P, pos_label=1),
        "got shape (4, 2)",
        "pos_label requires one label per row",
    ),
]

ROWS = [
    label(
        "two ones",
        lambda: cal.ece(hot([1, 0, 1]), P3),
        "a one-hot row must have a single 1; got [1., 0., 1.]",
        "pass soft=True if the labels are class proportions, or pass multilabel=True if a row can have several classes",
        row=2,
    ),
    label(
        "shares without soft",
        lambda: cal.ece(hot([0.5, 0.3, 0.2]), P3),
        "a one-hot row must have a single 1; got [0.5, 0.3, 0.2]",
        "pass soft=True if the labels are class proportions, or pass multilabel=True if a row can have several classes",
        row=2,
    ),
    label(
        "nan in one-hot",
        lambda: cal.ece(hot([NAN, 0, 1]), P3),
        "missing value",
        "use Predictions(..., missing='drop') to drop these rows",
        row=2,
    ),
    shape(
        "too few one-hot columns",
        lambda: cal.ece(ONE_HOT[:, :2], P3),
        "has 2 columns for 3 classes",
        "pass class indices, or one column per class",
    ),
    shape(
        "one-hot for scores",
        lambda: cal.ece(ONE_HOT, P),
        "has 3 columns for 2 classes",
    ),
    shape(
        "labels as a column",
        lambda: cal.ece(np.array(Y)[:, None], P),
        "has 1 column for 2 classes",
        "pass y_true.ravel()",
    ),
    label(
        "soft above 1",
        lambda: cal.ece(cal.Predictions([0.2, 0.5, 1.5, 0], P, soft=True)),
        "soft labels must be in [0, 1]; got 1.5",
        row=2,
    ),
    label(
        "soft not summing",
        lambda: cal.ece(cal.Predictions(hot([0.5, 0.2, 0.2]), P3, soft=True)),
        "got a sum of 0.9",
        "soft labels must sum to 1",
        "divide each row by its sum",
        row=2,
    ),
    shape(
        "soft without columns",
        lambda: cal.ece(cal.Predictions([0.2, 0.5, 0.5, 0], P3, soft=True)),
        "got one dimension",
        "pass shape (N, 3)",
    ),
    shape(
        "soft with too few columns",
        lambda: cal.ece(cal.Predictions(ONE_HOT[:, :2], P3, soft=True)),
        "has 2 columns for 3 classes",
        "pass shape (N, 3)",
    ),
    shape(
        "multilabel with other columns",
        lambda: cal.ece(cal.Predictions(LABELS, [[0.2, 0.3, 0.4], [0.1, 0.2, 0.3]], multilabel=True)),
        "multilabel labels must have the shape of the probabilities, (2, 3); got (2, 2)",
        "pass one 0/1 column per class",
    ),
    shape(
        "multilabel without columns",
        lambda: cal.ece(cal.Predictions([0, 1], COLUMNS, multilabel=True)),
        "multilabel labels must have the shape of the probabilities, (2, 2); got (2,)",
    ),
    label(
        "multilabel 2",
        lambda: cal.ece(cal.Predictions([[0, 1], [2, 1]], COLUMNS, multilabel=True)),
        "multilabel labels must be 0 or 1; got 2",
        row=1,
    ),
    label(
        "multilabel fraction",
        lambda: cal.ece(cal.Predictions([[0, 1], [0.5, 1]], COLUMNS, multilabel=True)),
        "multilabel labels must be 0 or 1; got 0.5",
        "pass soft=True if the labels are class proportions",
        row=1,
    ),
]

TABLE = [*NUMBERS, *NAMES, *ROWS]
