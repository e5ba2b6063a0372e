"""Beam search for the conjunctions of conditions on features with the strongest evidence of a gap between scores and outcomes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..util.arrays import Array, Bools, Floats
from ..views.view import View
from .features import Feature

# Subgroups of each number of conditions that remain as candidates, at least.
POOL = 300
# Rows, and conjunctions that are extended, whose sums are computed at once.
BLOCK, PARENTS = 2048, 256
# A subgroup is listed if better ones leave it this part of its evidence.
KEPT = 0.5
# The variance of rows with scores of 0 and 1, so that a contradicting outcome is strong evidence and not infinite.
LEAST_VARIANCE = 1e-9


class Candidate(NamedTuple):
    """A conjunction of conditions, by their places in the list of all, and its evidence after the penalty for their number."""

    conditions: tuple[int, ...]
    view: int
    evidence: float


class Rows(NamedTuple):
    """What a search adds up, for one event: codes, differences of outcome and score, variances, and how many rows each row stands for."""

    codes: Array
    """Codes of all features, those of each feature after those of the one before; one line for each row."""
    columns: Array
    """The same, one line for each feature."""
    weight: Floats
    """Weight in units of an effective row."""
    excess: Floats
    variance: Floats
    units: Floats | None
    """Numbers of rows; None where all are 1."""


def evidence(excess: Floats, variance: Floats) -> Floats:
    """Exponent of Bennett's bound for the probability of a difference at least as large.

    >>> evidence(np.array([0.0, 30.0, 1.0]), np.array([5.0, 900.0, 0.01])).round(3).tolist()
    [0.0, 0.495, 3.661]
    """
    spread = np.maximum(variance, LEAST_VARIANCE)
    ratio = np.abs(excess) / spread
    return np.asarray(spread * ((1 + ratio) * np.log1p(ratio) - ratio))


class Space:
    """The conjunctions of conditions on up to `depth` features, and the search among them.

    Parameters
    ----------
    features : sequence of Feature
        Features as codes.
    depth : int
        Largest number of conditions.
    beam : int
        Number of conjunctions that are extended.
    min_rows : int
        Least number of rows.
    events : int
        Number of events that are evaluated.
    """

    def __init__(self, features: Sequence[Feature], depth: int, beam: int, min_rows: int, events: int) -> None:
        self.depth, self.beam, self.min_rows, self.events = min(depth, len(features)), beam, min_rows, events
        self.conditions = [each for place, feature in enumerate(features) for each in feature.conditions(place)]
        widths = [len(feature.bins) + 2 for feature in features]
        offset = np.cumsum([0, *widths])
        self.size_of_codes = int(offset[-1])
        self.codes = np.column_stack([f.code + o for f, o in zip(features, offset, strict=False)]).astype(np.int32)
        self.feature = np.array([each.feature for each in self.conditions], np.intp)
        self.first = np.array([each.first for each in self.conditions], np.intp) + offset[self.feature]
        self.last = np.array([each.last for each in self.conditions], np.intp) + offset[self.feature]
        # Elementary symmetric polynomials: the numbers of conjunctions of 0, 1, ... conditions on different features.
        counts = [1.0, *[0.0] * self.depth]
        for own in np.bincount(self.feature, minlength=len(features)).tolist():
            counts = [1.0, *(counts[k] + own * counts[k - 1] for k in range(1, self.depth + 1))]
        self.counts = counts

    @property
    def size(self) -> int:
        """Number of conjunctions and events."""
        return round(self.events * sum(self.counts[1:]))

    def penalty(self, conditions: int) -> float:
        """Logarithm of the number of conjunctions of so many conditions."""
        return math.log(max(1.0, self.events * self.counts[conditions]))

    def name(self, conditions: Sequence[int]) -> str:
        """The text of a conjunction."""
        return " and ".join(self.conditions[place].text for place in sorted(conditions))

    def mask(self, conditions: Sequence[int], codes: Array) -> Bools:
        """Which rows satisfy a conjunction; `codes` has one line for each feature."""
        inside = np.ones(codes.shape[1], bool)
        for place in conditions:
            column = codes[self.feature[place]]
            inside &= (column >= self.first[place]) & (column <= self.last[place])
        return inside

    def rows(self, view: View, index: Array, weight: Floats) -> Rows:
        """The rows of a view that a search reads, with their weights."""
        codes = self.codes[index]
        units = weight if view.weight_kind == "counts" else None
        if view.weight_kind == "importance":
            weight = weight * (weight.sum() / np.square(weight).sum())
        square = weight**2 if view.weight_kind == "importance" else weight
        excess = weight * (view.outcome[index] - view.score[index])
        columns = np.ascontiguousarray(codes.T)
        return Rows(codes, columns, weight, excess, square * view.variance[index], units)

    def search(self, parts: Sequence[Rows]) -> list[Candidate]:
        """The candidates of all events, those with the strongest evidence first."""
        found = [each for place, rows in enumerate(parts) for each in self._search(rows, place)]
        return sorted(found, key=lambda each: (-each.evidence, len(each.conditions), each.conditions))

    def _search(self, rows: Rows, view: int) -> Iterator[Candidate]:
        parents = np.zeros((1, 0), np.intp)
        most = max(POOL, self.beam)
        for depth in range(1, self.depth + 1):
            if not len(parents):
                return
            groups = [parents[start : start + PARENTS] for start in range(0, len(parents), PARENTS)]
            # A conjunction is reached from each of its conditions, so that it occurs up to `depth` times.
            extended = [self._extensions(rows, group, most * depth) for group in groups]
            members, values = (np.concatenate(each) for each in zip(*extended, strict=True))
            order = np.argsort(-values, kind="stable")
            members, values = members[order], values[order]
            key = members @ (len(self.conditions) ** np.arange(depth))
            first = np.sort(np.unique(key, return_index=True)[1])[:most]
            members, values = members[first], values[first] - self.penalty(depth)
            for member, value in zip(members.tolist(), values.tolist(), strict=True):
                yield Candidate(tuple(member), view, value)
            parents = members[: self.beam]

    def _extensions(self, rows: Rows, parents: Array, most: int) -> tuple[Array, Floats]:
        """The best conjunctions of a parent with one further condition, with sorted places, and their evidence."""
        units, excess, variance = self._sums(rows, parents)
        allowed = units >= self.min_rows
        for used in self.feature[parents].T:
            allowed &= self.feature != used[:, None]
        parent, further = np.nonzero(allowed)
        values = evidence(excess[allowed], variance[allowed])
        if len(values) > most:
            best = np.sort(np.argpartition(-values, most)[:most])
            parent, further, values = parent[best], further[best], values[best]
        return np.sort(np.column_stack([parents[parent], further]), axis=1), values

    def _sums(self, rows: Rows, parents: Array) -> Floats:
        """Numbers of rows, differences and variances of each parent with each condition: products with the indicators of the codes."""
        n = len(rows.codes)
        inside = np.array([self.mask(parent, rows.columns) for parent in parents.tolist()], bool).reshape(-1, n)
        terms = np.array([np.ones(n) if rows.units is None else rows.units, rows.excess, rows.variance])
        sums = np.zeros((3 * len(parents), self.size_of_codes + 1))
        for start in range(0, n, BLOCK):
            part = slice(start, start + BLOCK)
            codes = rows.codes[part]
            indicator = np.zeros((len(codes), self.size_of_codes))
            indicator[np.arange(len(codes))[:, None], codes] = 1
            sums[:, 1:] += (terms[:, None, part] * inside[:, part]).reshape(len(sums), -1) @ indicator
        path = np.cumsum(sums, axis=1)
        return (path[:, self.last + 1] - path[:, self.first]).reshape(3, len(parents), -1)

    def distinct(self, candidates: Sequence[Candidate], parts: Sequence[Rows], most: int) -> list[Candidate]:
        """The best candidates, without those whose evidence is explained by a better one.

        The gap of each chosen subgroup is removed from its rows, in proportion to their variance, as a small shift of log-odds does; a
        candidate must keep the larger part of its evidence.
        """
        excess = [rows.excess.copy() for rows in parts]
        kept: list[Candidate] = []
        for candidate in candidates:
            rows, left = parts[candidate.view], excess[candidate.view]
            inside = self.mask(candidate.conditions, rows.columns)
            variance = rows.variance[inside]
            before, after = (float(evidence(values[inside].sum(), variance.sum())) for values in (rows.excess, left))
            if after >= KEPT * before:
                kept.append(candidate)
                left[inside] -= variance * (left[inside].sum() / max(variance.sum(), LEAST_VARIANCE))
            if len(kept) == most:
                break
        return kept
