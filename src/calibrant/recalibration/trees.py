"""Trees for gradient boosting: features as codes of six bits, and splits that are sets of codes.

A node sends the rows whose code is in its set to the right, so that a threshold, a group of categories and the side of missing values are the
same thing. Own code, because scikit-learn's boosting of classes has no offset for each row, and its trees count rows without their weights and
can be stored only as code.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, ColumnError
from ..input.features import NUMBERS, Column, category_codes, frequent_categories, quantile_ends
from ..util.arrays import Array, Floats

Codes = NDArray[np.int64]

# Codes 0 to 61 are values, 62 is a missing value or a category without a code of its own; a set of codes is a positive int64.
CODES, MISSING = 63, 62
# Relative excess by which a column must beat those before it, so that rounding does not decide between equal splits.
TIE = 1e-9


def learn_codes(column: Column, weight: Floats, categorical: bool) -> Array:
    """What places the values of a column: upper ends of ranges of equal weight as numbers, or the most frequent categories as text."""
    numbers = None if categorical else column.numbers()
    if numbers is None:
        return np.array(frequent_categories(column.categories(), weight, MISSING), dtype=str)
    return range_ends(numbers, weight)


def range_ends(values: Floats, weight: Floats) -> Floats:
    """The upper ends of at most 62 ranges, all but the last."""
    known = ~np.isnan(values)
    distinct, place = np.unique(values[known], return_inverse=True)
    if len(distinct) <= MISSING:
        return distinct[:-1]
    return np.unique(distinct[quantile_ends(np.bincount(place, weight[known]), MISSING)])


def encode(column: Column, ends: Array) -> Codes:
    """The code of each value of a column."""
    if ends.dtype.kind == "U":
        place = category_codes(column.categories(), ends.tolist())
        return np.where(place < len(ends), place, MISSING)
    numbers = column.numbers()
    if numbers is None:
        known = zip(column.values.tolist(), column.missing.tolist(), strict=True)
        row, value = next((row, v) for row, (v, hole) in enumerate(known) if not hole and not isinstance(v, NUMBERS))
        problem = f"must be numbers in a column that had numbers in fit; got {value!r}"
        raise ColumnError("features", problem, row=row)
    return encode_numbers(numbers, ends)


def encode_numbers(numbers: Floats, ends: Floats) -> Codes:
    """The code of the range of each number."""
    return np.where(np.isnan(numbers), MISSING, np.searchsorted(ends, numbers))


class Rules(NamedTuple):
    """How trees grow."""

    depth: int
    min_rows: float
    penalty: float


class Tree(NamedTuple):
    """A complete binary tree: column and set of each inner node, level by level, and the value of each leaf."""

    columns: Codes
    sets: Codes
    leaves: Floats

    def leaf_of(self, codes: Codes) -> Codes:
        """The leaf of each row."""
        node = np.zeros(len(codes), np.int64)
        for level in range((len(self.leaves) - 1).bit_length()):
            node = 2 * node + self.step(codes, 2**level - 1 + node)
        return node

    def step(self, codes: Codes, node: Codes) -> Codes:
        """1 for rows that go right at their node, else 0."""
        return (self.sets[node] >> codes[np.arange(len(codes)), self.columns[node]]) & 1


def grow(
    codes: Codes, categorical: list[bool], gradient: Floats, hessian: Floats, weight: Floats, rules: Rules
) -> tuple[Tree, Codes]:
    """The tree that lowers the second-order approximation of a loss most, level by level, and the leaf of each row.

    A leaf has the value -G / (H + penalty) for sums G and H of the derivatives in it.
    """
    inner, leaves = 2**rules.depth - 1, 2**rules.depth
    tree = Tree(np.zeros(inner, np.int64), np.zeros(inner, np.int64), np.zeros(leaves))
    node = np.zeros(len(codes), np.int64)
    for level in range(rules.depth):
        first, count = 2**level - 1, 2**level
        best = np.zeros(count)
        for column, unordered in enumerate(categorical):
            cell = node * CODES + codes[:, column]
            sums = np.array([np.bincount(cell, values, count * CODES) for values in (gradient, hessian, weight)])
            gain, sets = best_sets(sums.reshape(3, count, CODES), unordered, rules)
            better = gain > best * (1 + TIE) + TIE
            best[better] = gain[better]
            tree.columns[first : first + count][better] = column
            tree.sets[first : first + count][better] = sets[better]
        node = 2 * node + tree.step(codes, first + node)
    tree.leaves[:] = -np.bincount(node, gradient, leaves) / (np.bincount(node, hessian, leaves) + rules.penalty)
    return tree, node


def best_sets(sums: Floats, unordered: bool, rules: Rules) -> tuple[Floats, Codes]:
    """The largest gain of a split at each node, and the codes that go right, from sums of gradients, Hessians and weights by code.

    Categories are ordered by their ratio of gradient and Hessian, among whose splits is the best of all (Fisher 1958); missing numbers go to
    either side.
    """
    count, rows = sums.shape[1], np.arange(sums.shape[1])
    if unordered:
        orders = [np.argsort(sums[0] / (sums[1] + rules.penalty), axis=1, kind="stable")]
    else:
        last = np.arange(CODES)
        orders = [np.tile(last, (count, 1))] + [np.tile(np.roll(last, 1), (count, 1))] * bool(sums[2, :, MISSING].any())
    total = sums.sum(axis=2)[:, :, None]
    best, sets = np.full(count, -np.inf), np.zeros(count, np.int64)
    for order in orders:
        left = np.take_along_axis(sums, order[None], axis=2).cumsum(axis=2)[:, :, :-1]
        right = total - left
        gain = sum(part[0] ** 2 / (part[1] + rules.penalty) for part in (left, right))
        allowed = np.minimum(left[2], right[2]) >= rules.min_rows * (1 - TIE)
        gain = np.where(allowed, gain, -np.inf)
        place = gain.argmax(axis=1)
        better = gain[rows, place] > best
        best = np.where(better, gain[rows, place], best)
        bits = np.int64(1) << order
        chosen = bits.sum(axis=1) - bits.cumsum(axis=1)[rows, place]
        if len(orders) == 1 and not unordered:  # no number is missing here: later ones go to the larger side
            chosen[left[2][rows, place] > right[2][rows, place]] -= np.int64(1) << MISSING
        sets = np.where(better, chosen, sets)
    return best - (total[0] ** 2 / (total[1] + rules.penalty))[:, 0], sets


def check_categorical(value: Any, name: str) -> None:
    """Raise unless a sequence of names or numbers of columns."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(entry, (str, int)) for entry in value):
        raise ArgumentError(name, f"must be names or numbers of columns; got {value!r}", "for example ('region',)")
