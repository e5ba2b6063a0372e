"""Calibration error as the loss that a calibration curve, fitted on other rows, saves."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...curves.curves import SAME_RATE
from ...errors import UndefinedMetricError
from ...util.arrays import Floats
from ...views.view import View
from ..registry import metric

FOLDS = 10


def _divide(view: View) -> tuple[Floats, Floats, Floats]:
    """Return the distinct scores, and for each of ten random folds the weight and the sum of weight times outcome at each.

    Equal rows are distributed together, so that the folds depend on the content of the rows and not on their order, and a count
    represents that many rows.
    """
    score, outcome, weight = view.sorted_rows
    each = np.ones(view.n) if weight is None else weight.astype(np.float64)
    mass, number = (np.ones(view.n), each) if view.weight_kind == "counts" else (each, np.ones(view.n))
    order = np.lexsort((mass, outcome, score))
    rows = np.column_stack([score, outcome, mass])[order]
    first = np.flatnonzero(np.append(True, (rows[1:] != rows[:-1]).any(axis=1)))
    size = np.add.reduceat(number[order], first).astype(np.int64)
    score, outcome, mass = rows[first].T
    parts = np.random.default_rng(0).multinomial(size, np.full(FOLDS, 1 / FOLDS)).T * mass
    distinct, cell = np.unique(score, return_inverse=True)
    sums = [[np.bincount(cell, part * values, len(distinct)) for part in parts] for values in (1.0, outcome)]
    return distinct, np.array(sums[0]), np.array(sums[1])


@metric("Variational calibration error", range=(-1, 1), ideal=0, cite="berta2026")
def ce_variational(
    view: View, *, norm: Literal[1, 2] = 1, direction: Literal["both", "over", "under"] = "both"
) -> float:
    """Loss that an isotonic calibration curve saves on rows on which it was not fitted, an estimate from below of the true error."""
    from scipy.optimize import isotonic_regression

    score, weight, events = _divide(view)
    total, saved = weight.sum(axis=0), 0.0
    for held, positives in zip(weight, events, strict=True):
        rest = total - held
        seen = rest > 1e-9 * total
        if not seen.any():
            raise UndefinedMetricError(
                "ce_variational", "requires several rows, for fitting and for evaluating the curve"
            )
        rate = (events.sum(axis=0) - positives)[seen] / rest[seen]
        shift = np.interp(score, score[seen], isotonic_regression(rate, weights=rest[seen]).x) - score
        shift[np.abs(shift) < SAME_RATE] = 0
        side = {"both": shift != 0, "over": shift < 0, "under": shift > 0}[direction]
        # The loss of the score minus that of the curve; for norm 1 this is sign(shift) (outcome - score).
        slope = norm * np.abs(shift) ** (norm - 1) * np.sign(shift)
        gain = np.abs(shift) ** norm * held + slope * (positives - (score + shift) * held)
        saved += float(gain[side].sum())
    return saved / float(total.sum())
