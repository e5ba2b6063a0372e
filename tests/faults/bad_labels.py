"""Labels that are not of the classes, in every spelling of labels."""

from __future__ import annotations

import numpy as np
import pandas as pd

import calibrant as cal

from .cases import COLUMNS, INF, LABELS, NAN, ONE_HOT, P3, TWO, Y3, Call, P, Y, with_entry

CAT, CATS = ["cat", "dog", "cat", "dog"], ["cat", "dog"]


def hot(row: object) -> np.ndarray:
    return with_entry(ONE_HOT, 2, row)


TABLE: dict[str, Call] = {
    # Numbers.
    "label K": lambda: cal.ece([0, 1, 3, 2], P3),
    "label counted from 1": lambda: cal.ece([1, 2, 3, 2], P3),
    "nan": lambda: cal.ece([0, 1, NAN, 0], P),
    "inf": lambda: cal.ece([0, 1, INF, 0], P),
    "half": lambda: cal.ece([0, 1, 0.5, 0], P),
    "1 and 2": lambda: cal.ece([1, 2, 2, 1], P),
    "1 and 2 with columns": lambda: cal.ece([1, 2, 2, 1], TWO),
    "three values": lambda: cal.ece([0, 1, 2, 1], P),
    "-1, 0 and 1": lambda: cal.ece([-1, 0, 1, 1], P),
    "far beyond int64": lambda: cal.ece([0, 10**30, 1, 0], P),
    "wrong for a confidence": lambda: cal.ece(cal.Predictions([0, 1, 3, 1], P, input="confidence")),
    "None": lambda: cal.ece([0, None, 1, 0], P),
    "complex": lambda: cal.ece(np.array(Y) + 0j, P),
    "dates": lambda: cal.ece(np.array(["2026-01-01"] * 4, "M8[D]"), P),
    # Names of classes.
    "names without classes": lambda: cal.ece(CAT, P),
    "misspelt name": lambda: cal.ece(cal.Predictions(["cat", "dgo", "cat", "dog"], P, classes=CATS)),
    "None among names": lambda: cal.ece(cal.Predictions(["cat", None, "dog", "cat"], P, classes=CATS)),
    "a list as a name": lambda: cal.ece(cal.Predictions(np.array(["cat", [1], "dog", "cat"], object), P, classes=CATS)),
    "too few classes": lambda: cal.ece(cal.Predictions(Y3, P3, classes=CATS)),
    "a class twice": lambda: cal.ece(cal.Predictions(Y3, P3, classes=["a", "b", "a"])),
    "classes as a string": lambda: cal.ece(cal.Predictions(Y3, P3, classes="abc")),
    "classes as lists": lambda: cal.ece(cal.Predictions(Y, P, classes=[["a"], ["b"]])),
    "pos_label absent": lambda: cal.ece(CAT, P, pos_label="fox"),
    "pos_label with columns": lambda: cal.ece(Y3, P3, pos_label=1),
    "pos_label not in classes": lambda: cal.ece(cal.Predictions(CAT, P, classes=CATS, pos_label="fox")),
    "pos_label and soft": lambda: cal.ece(cal.Predictions(P, P, soft=True, pos_label=1)),
    "pos_label and multilabel": lambda: cal.ece(cal.Predictions(LABELS, COLUMNS, multilabel=True, pos_label=1)),
    "columns of other names": lambda: cal.ece(
        cal.Predictions(
            pd.DataFrame(LABELS, columns=["a", "b"]), pd.DataFrame(COLUMNS, columns=["a", "c"]), multilabel=True
        )
    ),
    "classes in another order than the columns": lambda: cal.ece(
        cal.Predictions(LABELS, pd.DataFrame(COLUMNS, columns=["a", "b"]), multilabel=True, classes=["b", "a"])
    ),
    "a third value beside pos_label": lambda: cal.ece(["a", "b", "c", "b"], P, pos_label="b"),
    "pos_label and one-hot": lambda: cal.ece(TWO, P, pos_label=1),
    # Labels in columns.
    "two ones": lambda: cal.ece(hot([1, 0, 1]), P3),
    "shares without soft": lambda: cal.ece(hot([0.5, 0.3, 0.2]), P3),
    "nan in one-hot": lambda: cal.ece(hot([NAN, 0, 1]), P3),
    "too few one-hot columns": lambda: cal.ece(ONE_HOT[:, :2], P3),
    "one-hot for scores": lambda: cal.ece(ONE_HOT, P),
    "labels as a column": lambda: cal.ece(np.array(Y)[:, None], P),
    "soft above 1": lambda: cal.ece(cal.Predictions([0.2, 0.5, 1.5, 0], P, soft=True)),
    "soft not summing": lambda: cal.ece(cal.Predictions(hot([0.5, 0.2, 0.2]), P3, soft=True)),
    "soft without columns": lambda: cal.ece(cal.Predictions([0.2, 0.5, 0.5, 0], P3, soft=True)),
    "soft with too few columns": lambda: cal.ece(cal.Predictions(ONE_HOT[:, :2], P3, soft=True)),
    "multilabel with other columns": lambda: cal.ece(
        cal.Predictions(LABELS, [[0.2, 0.3, 0.4], [0.1, 0.2, 0.3]], multilabel=True)
    ),
    "multilabel without columns": lambda: cal.ece(cal.Predictions([0, 1], COLUMNS, multilabel=True)),
    "multilabel 2": lambda: cal.ece(cal.Predictions([[0, 1], [2, 1]], COLUMNS, multilabel=True)),
    "multilabel fraction": lambda: cal.ece(cal.Predictions([[0, 1], [0.5, 1]], COLUMNS, multilabel=True)),
}
