"""T-Cal's debiased error of whole vectors in 2, 4, 8, ... bins of equal volume, which halve the probability simplex again and again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError
from ..util.arrays import Floats
from ..views.view import VectorView
from .replicates import cumulative, draw_classes
from .seeds import generator

Places = NDArray[np.intp]

# Rows with counts are tested row by row, up to this number.
MOST_ROWS = 1 << 23


def halvings(probs: Floats, count: int) -> NDArray[np.bool_]:
    """Which half of its simplex each row is in, for `count` halvings of the simplex one after another (Maubach 1995).

    A halving joins the middle of an edge with all other corners, so that both halves have the same volume. Edges are taken in an order that keeps
    the shapes of the parts: after K - 1 halvings the edges are about half as long. A row is given by its coordinates from the corners.
    """
    place, side = probs.copy(), np.empty((count, len(probs)), np.bool_)
    corner = last = probs.shape[1] - 1
    for number in range(count):
        upper = place[:, corner] > place[:, 0]
        side[number] = upper
        part = place[upper, : corner + 1]
        place[upper, :corner] = part[:, 1:]
        place[upper, corner - 1] -= part[:, 0]
        place[upper, corner] = 2 * part[:, 0]
        place[~upper, 0] -= place[~upper, corner]
        place[~upper, corner] *= 2
        corner = corner - 1 if corner > 1 else last
    return side


class Level(NamedTuple):
    """The bins of one number of halvings with at least two rows."""

    rows: Places
    cell: Places
    """Bin of each of these rows, in increasing order."""
    inverse: Floats
    """One over the divisor of each bin."""


class SimplexBins:
    """The debiased error of whole vectors at each number of halvings, for any labels of the same rows."""

    def __init__(self, view: VectorView, levels: int, unbiased: bool) -> None:
        probs = np.concatenate([block.probs for _, block in view.blocks()])
        self.labels: NDArray[Any] = np.asarray(view.labels)
        self.weight, self.total = view.weights, view.total
        if view.weight_kind == "counts":
            if self.total > MOST_ROWS:
                problem = f"sum to {self.total:,.0f}, and whole vectors are tested row by row, up to {MOST_ROWS:,}"
                raise ArgumentError("counts", problem, "use a lens with one score per row, such as 'top_label'")
            copies = self.weight.astype(np.intp)
            probs, self.labels = np.repeat(probs, copies, axis=0), np.repeat(self.labels, copies)
            self.weight = np.ones(len(probs))
        self.probs, self.square = probs, np.square(probs).sum(axis=1)
        self.levels: list[Level | None] = []
        cell = np.zeros(len(probs), np.intp)
        for side in halvings(probs, levels):
            cell = np.unique(2 * cell + side, return_inverse=True)[1].ravel().astype(np.intp)
            self.levels.append(self._level(cell, unbiased))

    def _level(self, cell: Places, unbiased: bool) -> Level | None:
        shared = np.bincount(cell)[cell] > 1
        if not shared.any():
            return None
        rows = np.flatnonzero(shared)
        rows = rows[np.argsort(cell[rows], kind="stable")]
        cell = np.unique(cell[rows], return_inverse=True)[1].ravel().astype(np.intp)
        weight = self.weight[rows]
        mass = np.bincount(cell, weight)
        divisor = mass - np.bincount(cell, weight**2) / mass if unbiased else mass
        return Level(rows, cell, 1 / divisor)

    def observed(self) -> Floats:
        """The error of the labels at each level."""
        return self._values([self.labels])[0]

    def simulated(self, seed: int, start: int, stop: int) -> Floats:
        """The errors of labels simulated from the probabilities, one line for each number of a data set."""
        paths = np.ascontiguousarray(cumulative(self.probs).T)
        return self._values([draw_classes(self.probs, generator(seed, number), paths) for number in range(start, stop)])

    def _values(self, draws: list[NDArray[Any]]) -> Floats:
        """Sums over bins of |sum of residuals|^2 - sum of |residual|^2, each divided; residuals are probabilities minus indicators of the label."""
        values = np.zeros((len(draws), len(self.levels)))
        for place, level in enumerate(self.levels):
            if level is None:
                continue
            rows, cell, inverse = level
            weight, probs, bins = self.weight[rows], self.probs[rows], np.arange(len(rows))
            start = np.flatnonzero(np.append(True, cell[1:] != cell[:-1]))
            expected = np.add.reduceat(weight[:, None] * probs, start)
            share = inverse[cell]
            own = share * weight**2
            fixed = inverse @ np.square(expected).sum(axis=1) - own @ (1 + self.square[rows])
            for number, labels in enumerate(draws):
                label = labels[rows]
                shape = expected.shape
                observed = np.bincount(cell * shape[1] + label, weight, shape[0] * shape[1]).reshape(shape)
                pairs = own * probs[bins, label] - share * weight * expected[cell, label]
                values[number, place] = fixed + 2 * pairs.sum() + inverse @ np.square(observed).sum(axis=1)
        return values / self.total
