"""Bets against whole rows of probabilities: one class is likelier than said, or all are said too surely or not surely enough."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, LensError, WeightsNotSupportedError
from ..inference.bets import infinite_from, log_mean
from ..inference.sequential import EValue, check_level, one_view
from ..input.convert import is_number
from ..util.checks import check_positive
from ..views.view import Block, VectorView, View

__all__ = ["e_multiclass"]

Floats = NDArray[np.float64]
POWERS = (0.5, 0.7, 1.4, 2.0)


def e_multiclass(
    y_true: Any,
    y_prob: Any = None,
    *,
    tilt: float = 0.5,
    powers: tuple[float, ...] = POWERS,
    alpha: float = 0.05,
    where: Any = None,
    **keywords: Any,
) -> EValue:
    """Bet on each class being likelier, and less likely, than said, and on all probabilities being raised to a power.

    Rows are in order of time and nothing is learnt, so that one may look after every row. Each bet starts with the same part of
    the capital, and `parts` has what became of each: a tilt up and one down for each class, then the powers.

    Parameters
    ----------
    y_true, y_prob
        Labels and rows of probabilities in order of time, or Predictions or a VectorView. No weights.
    tilt
        The probability of one class is multiplied by exp(tilt), and by exp(-tilt), before the row is scaled to sum to 1.
    powers
        Powers to which rows are raised before they are scaled: below 1 for overconfidence.
    alpha
        Level of `rejected`.
    where
        Which rows: a mask or a Selection.

    Examples
    --------
    >>> from calibrant.monitoring.vectors import e_multiclass
    >>> found = e_multiclass([0, 1] * 40, [[0.98, 0.01, 0.01]] * 80)
    >>> found.rejected
    True
    """
    check_level(alpha)
    if not (is_number(tilt) and 0 <= tilt < 50):
        raise ArgumentError("tilt", f"must be a number from 0 to below 50; got {tilt!r}")
    for power in powers:
        check_positive(power, "powers")
    view = one_view(y_true, y_prob, "canonical", where, keywords, "e_multiclass")
    view = view.as_vector() if isinstance(view, View) else view
    if not isinstance(view, VectorView):
        raise LensError("y_prob", "must hold a row of probabilities for each label")
    if view.weight is not None and (view.weight != 1).any():
        raise WeightsNotSupportedError("e_multiclass", "bets row by row, and a weight is no row", "drop the weights")
    tilts = [(k, sign * tilt) for k in range(view.k) for sign in (1, -1)] if tilt else []
    gains = [view.each_row(partial(_tilted, k=k, d=d)) for k, d in tilts]
    gains += [view.each_row(partial(_raised, power=power)) for power in powers]
    if not gains:
        raise ArgumentError("tilt", "is 0 and there are no powers, so nothing is bet on", "give one of them")
    impossible = view.each_row(lambda block: block.expect(block.probs)) == 0
    paths = np.cumsum(np.where(impossible, 0.0, np.array(gains)), axis=1)
    log_path = infinite_from(log_mean(paths), impossible)
    with np.errstate(over="ignore"):
        parts = np.exp(paths[:, -1]) if math.isfinite(log_path[-1]) else np.full(len(paths), np.inf)
    return EValue("tilts and powers of rows", view.n, view.lens, float(alpha), True, log_path, parts)


def _tilted(block: Block, k: int, d: float) -> Floats:
    assert block.labels is not None
    return np.asarray(d * (block.labels == k) - np.log1p(block.probs[:, k] * math.expm1(d)))


def _raised(block: Block, power: float) -> Floats:
    with np.errstate(divide="ignore"):
        own = np.log(block.expect(block.probs))
    total = np.log(np.power(block.probs, power).sum(axis=1))
    with np.errstate(invalid="ignore"):
        return np.asarray((power - 1) * own - total)
