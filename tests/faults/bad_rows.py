"""Shapes, containers, frames, and what comes along with the rows: weights, counts, groups, features."""

from __future__ import annotations

import datetime
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import torch
from scipy.sparse import csr_array

import calibrant as cal

from .cases import INF, NAN, P3, Y3, Call, P, Y

FRAME = pd.DataFrame({"y": Y, "p": P, "w": [1, 2, 1, 1]})
LATER = FRAME.set_index(FRAME.index + 10)
MASK = LATER["p"].iloc[::-1] > 0.2
HOLE = pd.Series([0.2, 0.8, None, 0.3], dtype="Float64")
TEXTS = {
    f"{text} in {form.__name__}": form(["0.2", "0.7", text, "0.1"])
    for text in ("N/A", "70%", "0,7", "high")
    for form in (list, np.array, pd.Series)
}

TABLE: dict[str, Call] = {
    # Shapes.
    "fewer labels": lambda: cal.ece([0, 1], P),
    "transposed": lambda: cal.ece(Y3, P3.T),
    "empty lists": lambda: cal.ece([], []),
    "empty probabilities": lambda: cal.ece(Y, []),
    "no columns": lambda: cal.ece(Y, np.empty((4, 0))),
    "a single column": lambda: cal.ece(Y, np.array(P)[:, None]),
    "three dimensions": lambda: cal.ece(Y3, P3[:, :, None]),
    "a single label": lambda: cal.ece(1, 0.5),
    "ragged": lambda: cal.ece([0, 1], [[0.7, 0.2, 0.1], [0.1, 0.9]]),
    "ragged below": lambda: cal.ece([0, 1], [[0.7, [0.3]], [0.1, 0.9]]),
    "multilabel in one dimension": lambda: cal.ece(cal.Predictions(Y, P, multilabel=True)),
    # Containers.
    "text in a list": lambda: cal.ece(Y, [0.2, "0.8", 0.6, 0.3]),
    "a date in an object array": lambda: cal.ece(Y, [0.2, datetime.date(2026, 1, 1), 1, 0]),
    "complex": lambda: cal.ece(Y, np.array(P) + 0j),
    "times": lambda: cal.ece(Y, np.zeros(4, "M8[s]")),
    "dict": lambda: cal.ece(Y, {0: 0.2, 1: 0.8}),
    "a plain string": lambda: cal.ece("y", "p"),
    "a function": lambda: cal.ece(Y, len),
    "a generator": lambda: cal.ece(Y, (p for p in P)),
    "a sparse matrix": lambda: cal.ece(Y3, csr_array(P3)),
    "an object": lambda: cal.ece(Y, object()),
    "None as labels": lambda: cal.ece(None, P),
    "None as probabilities": lambda: cal.ece(Y, None),
    "no probabilities": lambda: cal.Predictions(Y),
    "a tensor without data": lambda: cal.ece(Y, torch.empty(4, device="meta")),
    "a sparse tensor": lambda: cal.ece(Y, torch.tensor(P).to_sparse()),
    "a torch dtype": lambda: cal.ece(Y, torch.float32),
    **{name: partial(cal.ece, Y, texts) for name, texts in TEXTS.items()},
    # Weights and counts.
    "both weights": lambda: cal.ece(cal.Predictions(Y, P, counts=Y, sample_weight=Y)),
    "negative weight": lambda: cal.ece(Y, P, sample_weight=[1, -1, 1, 1]),
    "nan weight": lambda: cal.brier(Y, P, sample_weight=[1, NAN, 1, 1]),
    "zero weights": lambda: cal.ece(Y, P, sample_weight=[0] * 4),
    "zero counts": lambda: cal.ece(cal.Predictions(Y, P, counts=[0] * 4)),
    "fractional count": lambda: cal.ece(cal.Predictions(Y, P, counts=[1, 1.5, 1, 1])),
    "negative count": lambda: cal.ece(cal.Predictions(Y, P, counts=[1, 1, -2, 1])),
    "counts beyond 2**53": lambda: cal.ece(cal.Predictions(Y, P, counts=[2**62] * 4)),
    "a count beyond int64": lambda: cal.ece(cal.Predictions(Y, P, counts=[1e19, 1, 1, 1])),
    "fewer weights": lambda: cal.ece(Y, P, sample_weight=[1, 2]),
    "a word as weights": lambda: cal.ece(Y, P, sample_weight="balanced"),
    # Groups and features.
    "None as a group": lambda: cal.ece(cal.Predictions(Y, P, groups=["a", None, "b", "a"])),
    "a list as a group": lambda: cal.ece(cal.Predictions(Y, P, groups=np.array(["a", [1], "b", "a"], object))),
    "fewer groups": lambda: cal.ece(cal.Predictions(Y, P, groups=["a", "b"])),
    "nan feature": lambda: cal.ece(cal.Predictions(Y, P, features=[[1], [NAN], [1], [1]])),
    "inf feature": lambda: cal.ece(cal.Predictions(Y, P, features=[1, 1, INF, 1])),
    "fewer features": lambda: cal.ece(cal.Predictions(Y, P, features=[[1.0], [2.0]])),
    "text features": lambda: cal.ece(cal.Predictions(Y, P, features=["a", "b", "c", "d"])),
    # Frames.
    "no label=": lambda: cal.ece(FRAME),
    "no prob=": lambda: cal.ece(cal.Predictions(FRAME, label="y")),
    "missing column": lambda: cal.ece(cal.Predictions(FRAME, label="target", prob="p")),
    "misspelt column": lambda: cal.ece(cal.Predictions(pl.DataFrame({"y": Y, "prob_1": P}), label="y", prob="prob1")),
    "pattern without columns": lambda: cal.ece(cal.Predictions(FRAME, label="y", prob="q_*")),
    "a number as name": lambda: cal.ece(cal.Predictions(FRAME, label=0, prob="p")),
    "missing features": lambda: cal.ece(cal.Predictions(FRAME, label="y", prob="p", features=["w", "age"])),
    "a column twice": lambda: cal.ece(cal.Predictions(FRAME.rename(columns={"w": "p"}), label="y", prob="p")),
    "a frame and arrays": lambda: cal.ece(cal.Predictions(FRAME, P, label="y", prob="p")),
    "names without a frame": lambda: cal.ece(cal.Predictions(Y, label="y", prob="p")),
    "bad probability in a frame": lambda: cal.ece(
        cal.Predictions(FRAME.assign(p=[0.2, 0.8, 1.6, 0.3]), label="y", prob="p")
    ),
    # Indexes.
    "an index in another order": lambda: cal.ece(LATER["y"], LATER["p"].iloc[::-1]),
    "another index": lambda: cal.ece(LATER["y"].iloc[1:], LATER["p"].iloc[:-1]),
    "weights of another index": lambda: cal.ece(LATER["y"], LATER["p"], sample_weight=LATER["w"].add_prefix("row ")),
    **{
        f"a mask in another order, {function.__name__}": partial(function, LATER["y"], where=MASK, **arguments)
        for function, arguments in {
            cal.ece: {"y_prob": P},
            cal.interval: {"y_prob": P, "metric": "ece"},
            cal.evaluate: {"y_prob": P},
            cal.compare: {"y_prob": {"a": P, "b": P}, "metric": "ece"},
        }.items()
    },
}
