"""Which rows are held out: decided by what a row holds, never by where it stands, so that the order of rows means nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Array, Floats, TrainingData, row_hashes

__all__ = ["dealt", "fold_of_rows", "order_of_content"]

# Counts that add up to more rows than this are dealt by the multinomial distribution, without shuffling every single copy.
MOST_SHUFFLED = 1 << 22


def order_of_content(data: TrainingData, beside: Array | None = None) -> NDArray[np.intp]:
    """Row numbers in an order that depends on what the rows hold alone: label, score of that label, all scores, weight.

    Rows that agree in all of these stand side by side, where it does not matter which comes first. Scores that change a little, as by
    single precision, change the order a little. `beside` are further columns of numbers that tell rows apart.
    """
    own, scores = _own_score(data)
    parts = [scores]
    if beside is not None:
        parts.append(beside.astype(np.float64))
    return np.lexsort((data.weight, row_hashes(np.column_stack(parts), 0), own, data.labels))


def _own_score(data: TrainingData) -> tuple[Floats, Floats]:
    """A score of the label of each row, and all scores: of logits, where they were given, for many are a probability of 1."""
    rows, given = np.arange(data.n), data._p.logits is not None
    if data.k == 2:
        scores = data.log_odds if given else data.score
        return np.where(data.labels == 1, scores, -scores), scores[:, None]
    if not given:
        return data.probs[rows, data.labels], data.probs
    scores = data.logits - data.logits.max(axis=1, keepdims=True)
    others = scores.copy()
    others[rows, data.labels] = -np.inf
    return scores[rows, data.labels] - others.max(axis=1), scores


def fold_of_rows(data: TrainingData, folds: int, rng: Any = 0) -> NDArray[np.intp]:
    """The fold of each row, a row with a count as a whole."""
    fold = np.empty(data.n, np.intp)
    fold[order_of_content(data)] = np.random.default_rng(rng).permutation(data.n) % folds
    return fold


def dealt(data: TrainingData, order: NDArray[np.intp], shares: Floats) -> Floats:
    """The weight of each row in each of several parts, as (parts, rows): copies that a count stands for are dealt one by one.

    Copies of a row are independent of each other, so a part must get them by chance, as it would get repeated rows.
    """
    rows = data.weight[order].astype(np.int64) if data.counted else np.ones(data.n, np.int64)
    total = int(rows.sum())
    draw = np.random.default_rng(0)
    if total > max(data.n, MOST_SHUFFLED):
        copies = draw.multinomial(rows, shares).T
    else:
        cuts = (np.cumsum(shares)[:-1] * total + 1e-9).astype(np.int64)
        part = np.searchsorted(cuts, draw.permutation(total), side="right")
        starts = np.cumsum(rows) - rows
        copies = np.array([np.add.reduceat(part == number, starts, dtype=np.int64) for number in range(len(shares))])
    weight = np.empty((len(shares), data.n))
    weight[:, order] = copies / rows * data.weight[order]
    return weight
