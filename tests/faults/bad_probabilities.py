"""Probabilities and logits that are none."""

from __future__ import annotations

import numpy as np
import torch

import calibrant as cal

from .cases import INF, LABELS, NAN, ONE_HOT, P3, TWO, Y3, Call, P, Y, with_entry

ABOVE, BELOW = np.nextafter(1, 2), -5e-324
ABOVE32 = np.nextafter(np.float32(1), np.float32(2))


def vector(value: float, dtype: type = np.float64) -> object:
    return cal.ece(Y, with_entry(P, 2, value, dtype))


def matrix(value: float, dtype: type = np.float64) -> object:
    return cal.ece(Y3, with_entry(P3, (2, 1), value, dtype))


def off_by(amount: float, dtype: type) -> object:
    return cal.brier(Y3, with_entry(P3, (2, 2), 0.6 + amount, dtype))


TABLE: dict[str, Call] = {
    # Outside of [0, 1].
    "nan": lambda: vector(NAN),
    "nan in a column": lambda: matrix(NAN),
    "inf": lambda: vector(INF),
    "-inf in a column": lambda: matrix(-INF),
    "one ulp above 1": lambda: vector(ABOVE),
    "one ulp below 0": lambda: vector(BELOW),
    "one ulp above 1 in a column": lambda: matrix(ABOVE),
    "one float32 ulp above 1": lambda: vector(ABOVE32, np.float32),
    "far above 1": lambda: vector(1.5),
    "far below 0": lambda: matrix(-3),
    "percentages": lambda: cal.ece(Y, [20, 80, 60, 30]),
    "multilabel above 1": lambda: cal.ece(cal.Predictions(LABELS, [[0.2, 0.3], [0.1, 1.2]], multilabel=True)),
    "confidence above 1": lambda: cal.ece(cal.Predictions(Y, with_entry(P, 3, 1.2), input="confidence")),
    # Sums.
    "float64 sum": lambda: off_by(2e-6, np.float64),
    "float32 sum": lambda: off_by(2e-4, np.float32),
    "float16 sum": lambda: off_by(2e-2, np.float16),
    "bfloat16 sum": lambda: cal.ece(Y3, torch.tensor(with_entry(P3, (2, 2), 0.65)).to(torch.bfloat16)),
    "rows sum to 2": lambda: cal.ece([0, 1], [[1.0, 0.5, 0.5], [1.0, 1.0, 0.0]]),
    "two columns sum to 0.9": lambda: cal.ece(Y, 0.9 * TWO),
    "all zero row cannot be rescaled": lambda: cal.ece(
        cal.Predictions([0, 1], [[0.5, 0.5], [0.0, 0.0]], normalize=True)
    ),
    "negative row cannot be rescaled": lambda: cal.ece(
        cal.Predictions([0, 1], [[0.5, 0.5], [-1.0, 3.0]], normalize=True)
    ),
    "inf cannot be rescaled": lambda: cal.ece(cal.Predictions([0, 1], [[0.5, 0.5], [INF, -INF]], normalize=True)),
    "nan cannot be rescaled": lambda: cal.ece(cal.Predictions([0, 1], [[0.5, 0.5], [NAN, 0.5]], normalize=True)),
    "overflowing row cannot be rescaled": lambda: cal.ece(
        cal.Predictions([0, 1], [[0.5, 0.5], [1e308, 1e308]], normalize=True)
    ),
    "nan cannot be clipped": lambda: cal.ece(cal.Predictions([0, 1], [2, NAN], clip=True)),
    # Logits.
    "logits as probabilities": lambda: cal.ece(Y, [-1.0, 2.0, 0.5, -3.0]),
    "logits in columns as probabilities": lambda: cal.nll(Y3, np.log(P3) + 3),
    "nan logit": lambda: cal.ece(cal.Predictions(Y, [0.0, NAN, 1.0, 2.0], input="logit")),
    "inf logit in a column": lambda: cal.brier(cal.Predictions(Y3, with_entry(P3, (1, 2), INF), input="logit")),
    "only -inf logits": lambda: cal.ece(cal.Predictions([0, 1], [[0.0, 1.0], [-INF, -INF]], input="logit")),
    "unknown input": lambda: cal.ece(cal.Predictions(Y, P, input="logits")),
    "input not a name": lambda: cal.ece(cal.Predictions(Y, P, input=True)),
    "confidence in columns": lambda: cal.ece(cal.Predictions(Y3, P3, input="confidence")),
    # Swapped arguments.
    "swapped": lambda: cal.ece(P, Y),
    "swapped two columns": lambda: cal.ece(TWO, Y),
    "swapped three columns": lambda: cal.ece(P3, Y3),
    "swapped one-hot": lambda: cal.ece(P3, ONE_HOT),
    "swapped names": lambda: cal.ece(P, ["cat", "dog", "cat", "dog"]),
    # Flags and masks.
    "clip not a Boolean": lambda: cal.ece(cal.Predictions(Y, P, clip=1e-7)),
    "normalize is negative": lambda: cal.ece(cal.Predictions(Y3, P3, normalize=-1)),
    "masked": lambda: cal.ece(Y, np.ma.masked_array(P, [0, 0, 1, 0])),
}
