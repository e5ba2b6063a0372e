"""Probabilities and logits that are none."""

from __future__ import annotations

import numpy as np
import torch

import calibrant as cal
from calibrant.errors import (
    ArgumentError,
    InputTypeError,
    ProbabilityError,
    ShapeError,
    SwappedArgumentsError,
)

from .cases import INF, LABELS, NAN, ONE_HOT, P3, TWO, Y3, P, Y, kind, with_entry

ABOVE, BELOW = np.nextafter(1, 2), -5e-324
ABOVE32, BELOW32 = np.nextafter(np.float32(1), np.float32(2)), np.float32(-1e-45)
SUM = "each row must sum to 1 within"
RESCALE = "normalize=True"


def vector(value: float, dtype: type = np.float64) -> object:
    return cal.ece(Y, with_entry(P, 2, value, dtype))


def matrix(value: float, dtype: type = np.float64) -> object:
    return cal.ece(Y3, with_entry(P3, (2, 1), value, dtype))


def off_by(amount: float, dtype: type) -> object:
    return cal.brier(Y3, with_entry(P3, (2, 2), 0.6 + amount, dtype))


probability = kind(ProbabilityError, ValueError, "y_prob")
swapped = kind(SwappedArgumentsError, ValueError, "y_true")

OUTSIDE = [
    probability(
        "nan", lambda: vector(NAN), "missing value", "use Predictions(..., missing='drop') to drop these rows", row=2
    ),
    probability("nan in a column", lambda: matrix(NAN), "missing value in row 2, column 1", row=2),
    probability(
        "inf",
        lambda: vector(INF),
        "probabilities must be in [0, 1]; got inf",
        "drop or correct the row, or use Predictions(..., input='logit') if these are logits",
        row=2,
    ),
    probability(
        "-inf in a column",
        lambda: matrix(-INF),
        "got -inf in row 2, column 1",
        "probabilities must be in [0, 1]; got -inf",
        row=2,
    ),
    probability(
        "one ulp above 1",
        lambda: vector(ABOVE),
        str(ABOVE),
        "use Predictions(..., clip=True) if this is rounding error",
        row=2,
    ),
    probability(
        "one ulp below 0",
        lambda: vector(BELOW),
        "got -5e-324",
        "use Predictions(..., clip=True) if this is rounding error",
        row=2,
    ),
    probability(
        "one ulp above 1 in a column",
        lambda: matrix(ABOVE),
        "got 1.0000000000000002 in row 2, column 1",
        "probabilities must be in [0, 1]; got 1.0000000000000002",
        "use Predictions(..., clip=True) if this is rounding error",
        row=2,
    ),
    probability(
        "one float32 ulp above 1",
        lambda: vector(ABOVE32, np.float32),
        "got 1.0000001192092896",
        "use Predictions(..., clip=True) if this is rounding error",
        row=2,
    ),
    probability("far above 1", lambda: vector(1.5), "probabilities must be in [0, 1]; got 1.5", row=2),
    probability(
        "far below 0",
        lambda: matrix(-3),
        "got -3.0 in row 2, column 1",
        "probabilities must be in [0, 1]; got -3.0",
        row=2,
    ),
    probability(
        "percentages",
        lambda: cal.ece(Y, [20, 80, 60, 30]),
        "probabilities must be in [0, 1]; got 20.0",
        "divide by 100 if these are percentages",
        row=0,
    ),
    probability(
        "multilabel above 1",
        lambda: cal.ece(cal.Predictions(LABELS, [[0.2, 0.3], [0.1, 1.2]], multilabel=True)),
        "got 1.2 in row 1, column 1",
        "probabilities must be in [0, 1]; got 1.2",
        row=1,
    ),
    probability(
        "confidence above 1",
        lambda: cal.ece(cal.Predictions(Y, with_entry(P, 3, 1.2), input="confidence")),
        "probabilities must be in [0, 1]; got 1.2",
        row=3,
    ),
]

SUMS = [
    probability("float64 sum", lambda: off_by(2e-6, np.float64), "got a sum of 1.000002", SUM, row=2),
    probability("float32 sum", lambda: off_by(2e-4, np.float32), "got a sum of 1.0002", SUM, row=2),
    probability("float16 sum", lambda: off_by(2e-2, np.float16), "got a sum of 1.02002", SUM, row=2),
    probability(
        "bfloat16 sum",
        lambda: cal.ece(Y3, torch.tensor(with_entry(P3, (2, 2), 0.65)).to(torch.bfloat16)),
        "got a sum of 1.04883",
        SUM,
        "each row must sum to 1 within 0.01",
        row=2,
    ),
    probability(
        "rows sum to 2",
        lambda: cal.ece([0, 1], [[1.0, 0.5, 0.5], [1.0, 1.0, 0.0]]),
        "each row must sum to 1 within 0.001; got a sum of 2",
        SUM,
        RESCALE,
        "use Predictions(..., normalize=True) to rescale, Predictions(..., multilabel=True) if the columns are independent, or Predictions(..., input='logit') if these are logits",
        row=0,
    ),
    probability("two columns sum to 0.9", lambda: cal.ece(Y, 0.9 * TWO), "got a sum of 0.9", SUM, row=0),
    probability(
        "all zero row cannot be rescaled",
        lambda: cal.ece(cal.Predictions([0, 1], [[0.5, 0.5], [0.0, 0.0]], normalize=True)),
        "cannot rescale probabilities that sum to 0",
        "drop the row",
        row=1,
    ),
    probability(
        "negative row cannot be rescaled",
        lambda: cal.ece(cal.Predictions([0, 1], [[0.5, 0.5], [-1.0, 3.0]], normalize=True)),
        "cannot rescale negative entries",
        "pass clip=True as well",
        row=1,
    ),
    probability(
        "inf cannot be rescaled",
        lambda: cal.ece(cal.Predictions([0, 1], [[0.5, 0.5], [INF, -INF]], normalize=True)),
        "probabilities must be in [0, 1]; got inf",
        row=1,
    ),
    probability(
        "nan cannot be rescaled",
        lambda: cal.ece(cal.Predictions([0, 1], [[0.5, 0.5], [NAN, 0.5]], normalize=True)),
        "missing value",
        row=1,
    ),
    probability(
        "overflowing row cannot be rescaled",
        lambda: cal.ece(cal.Predictions([0, 1], [[0.5, 0.5], [1e308, 1e308]], normalize=True)),
        "probabilities must be in [0, 1]; got 1e+308",
        row=1,
    ),
    probability(
        "nan cannot be clipped", lambda: cal.ece(cal.Predictions([0, 1], [2, NAN], clip=True)), "missing value", row=1
    ),
]

LOGITS = [
    probability(
        "logits as probabilities",
        lambda: cal.ece(Y, [-1.0, 2.0, 0.5, -3.0]),
        "probabilities must be in [0, 1]; got -1.0",
        "use Predictions(..., input='logit') if these are logits",
        row=0,
    ),
    probability(
        "logits in columns as probabilities",
        lambda: cal.nll(Y3, np.log(P3) + 3),
        "probabilities must be in [0, 1]; got 2.6433250560612676",
        "use Predictions(..., input='logit') if these are logits",
        row=0,
    ),
    probability(
        "logits inside [0, 1]",
        lambda: cal.ece([0, 1], [[0.9, 0.3], [0.2, 0.4]]),
        "each row must sum to 1 within 0.001; got a sum of 1.2",
        SUM,
        "use Predictions(..., normalize=True) to rescale, Predictions(..., multilabel=True) if the columns are independent, or Predictions(..., input='logit') if these are logits",
        row=0,
    ),
    probability(
        "nan logit",
        lambda: cal.ece(cal.Predictions(Y, [0.0, NAN, 1.0, 2.0], input="logit")),
        "missing value",
        "use Predictions(..., missing='drop') to drop these rows",
        row=1,
    ),
    probability(
        "inf logit in a column",
        lambda: cal.brier(cal.Predictions(Y3, with_entry(P3, (1, 2), INF), input="logit")),
        "logits must be finite; got inf",
        row=1,
    ),
    probability(
        "only -inf logits",
        lambda: cal.ece(cal.Predictions([0, 1], [[0.0, 1.0], [-INF, -INF]], input="logit")),
        "at least one logit per row must be finite; all are -inf",
        "drop or correct the row",
        row=1,
    ),
    kind(ArgumentError, ValueError, "input")(
        "unknown input",
        lambda: cal.ece(cal.Predictions(Y, P, input="logits")),
        "must be 'prob', 'logit' or 'confidence'",
        "got 'logits'",
        "did you mean 'logit'?",
    ),
    kind(ArgumentError, ValueError, "input")(
        "input not a name", lambda: cal.ece(cal.Predictions(Y, P, input=True)), "got True"
    ),
    kind(ShapeError, ValueError, "y_prob")(
        "confidence in columns",
        lambda: cal.ece(cal.Predictions(Y3, P3, input="confidence")),
        "got 3 columns",
        "confidence is one number per row",
        "pass y_prob.max(axis=1) or drop input='confidence'",
    ),
]

SWAPPED = [
    swapped(
        "swapped",
        lambda: cal.ece(P, Y),
        "the labels are fractions and the probabilities are only 0 and 1: they look swapped",
        "pass y_true before y_prob",
    ),
    swapped(
        "swapped two columns",
        lambda: cal.ece(TWO, Y),
        "the labels are fractions and the probabilities are only 0 and 1: they look swapped",
        "pass y_true before y_prob",
    ),
    swapped(
        "swapped three columns",
        lambda: cal.ece(P3, Y3),
        "the labels are columns of fractions and the probabilities are integers: they look swapped",
        "pass y_true before y_prob",
    ),
    swapped(
        "swapped one-hot",
        lambda: cal.ece(P3, ONE_HOT),
        "the labels are fractions and the probabilities are only 0 and 1: they look swapped",
    ),
    swapped(
        "swapped names",
        lambda: cal.ece(P, ["cat", "dog", "cat", "dog"]),
        "the labels are fractions and the probabilities are text: they look swapped",
        "pass y_true before y_prob",
    ),
]

FLAGS = [
    kind(ArgumentError, ValueError, "clip")(
        "clip not a Boolean", lambda: cal.ece(cal.Predictions(Y, P, clip=1e-7)), "must be True or False", "got 1e-07"
    ),
    kind(ArgumentError, ValueError, "normalize")(
        "normalize is negative",
        lambda: cal.ece(cal.Predictions(Y3, P3, normalize=-1)),
        "must be True, False or a non-negative number; got -1",
    ),
    kind(InputTypeError, TypeError, "y_prob")(
        "masked",
        lambda: cal.ece(Y, np.ma.masked_array(P, [0, 0, 1, 0])),
        "missing value",
        "use Predictions(..., missing='drop') to drop these rows",
        row=2,
    ),
]

TABLE = [*OUTSIDE, *SUMS, *LOGITS, *SWAPPED, *FLAGS]
