"""Formulas of the distances between two samples counted in cells, many tables at a time; bins, limit laws, words for their size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binning.rules import check_bins, edge_values
from ..errors import ArgumentError, UndefinedMetricError
from ..input.convert import is_number
from .samples import Cells
from .shuffles import Statistic

__all__ = [
    "BINNED",
    "DISTANCES",
    "BinRule",
    "bin_rule",
    "chi_square_law",
    "effect_words",
    "signed_extremes",
    "statistic_of",
    "value_of",
]

Floats = NDArray[np.float64]
BINNED = ("psi", "jensen_shannon")
DISTANCES = ("psi", "ks_2samp", "wasserstein", "jensen_shannon", "energy_distance", "mean_shift")
# The limit law of counts needs this many rows expected in each bin of each sample.
LEAST_EXPECTED = 5
# Words that practice uses for a population stability index; they ignore how many rows there are.
SMALL, LARGE = 0.1, 0.25


@dataclass(frozen=True)
class BinRule:
    """How cells become bins, and how many rows each bin is given beforehand."""

    kind: str
    count: int = 0
    edges: tuple[float, ...] = ()
    smoothing: float = 0.0

    def fixed(self, value: Floats) -> NDArray[np.intp] | None:
        """The bin of each cell, where it does not depend on the counts."""
        if self.kind == "edges":
            return np.clip(np.searchsorted(self.edges, value, side="left") - 1, 0, len(self.edges) - 2)
        return np.arange(len(value)) if self.kind == "cells" else None

    def tables(self, value: Floats, reference: Floats, window: Floats) -> tuple[Floats, Floats]:
        """Rows in each bin, (R, B), of both."""
        place = self.fixed(value)
        if self.kind == "cells":
            return reference, window
        if place is None:
            place = _equal_parts(reference, self.count)
        count = len(self.edges) - 1 if self.kind == "edges" else self.count
        flat = (np.arange(len(reference))[:, None] * count + place).ravel()
        old, new = (np.bincount(flat, part.ravel(), len(reference) * count) for part in (reference, window))
        return old.reshape(-1, count).astype(np.float64), new.reshape(-1, count).astype(np.float64)


def bin_rule(bins: Any, smoothing: Any) -> BinRule:
    """A rule from what a user wrote."""
    if not (is_number(smoothing) and 0 <= smoothing < math.inf):
        raise ArgumentError("smoothing", f"must be a finite number from 0 up; got {smoothing!r}")
    if isinstance(bins, str):
        if bins != "cells":
            raise ArgumentError("bins", f"must be a whole number, rising edges or 'cells'; got {bins!r}")
        return BinRule("cells", smoothing=float(smoothing))
    if isinstance(bins, (list, tuple, np.ndarray)):
        edges = edge_values(bins)
        if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
            raise ArgumentError("bins", f"edges must rise strictly; got {edges.ravel()[:12].tolist()}")
        return BinRule("edges", edges=tuple(edges.tolist()), smoothing=float(smoothing))
    return BinRule("parts", check_bins(bins), smoothing=float(smoothing))


def _equal_parts(reference: Floats, count: int) -> NDArray[np.intp]:
    """The bin floor(B C / N) of each cell, C the reference rows before it; cells beyond the last row join its bin."""
    ends = np.cumsum(reference, axis=1)
    # Real weights miss a whole number by rounding only, and a very small last one is no bin of its own.
    place = np.floor((ends - reference) * (count / ends[:, -1:]) + 1e-9).astype(np.intp)
    last = np.where(reference > 0, place, 0).max(axis=1, keepdims=True)
    return np.asarray(np.minimum(np.minimum(place, last), count - 1))


def statistic_of(name: str, rule: BinRule, strict: bool = False) -> Statistic:
    """The formula of a distance as a function of cells; `strict` raises where a bin is empty on one side and has no smoothing."""

    def binned(value: Floats, reference: Floats, window: Floats) -> Floats:
        old, new = rule.tables(value, reference, window)
        return _psi(old, new, rule.smoothing, strict) if name == "psi" else _jensen_shannon(old, new)

    def plain(value: Floats, reference: Floats, window: Floats) -> Floats:
        gap = _shares(reference) - _shares(window)
        if name == "mean_shift":
            return np.abs(gap @ value)
        gap = np.cumsum(gap, axis=1)
        if name == "ks_2samp":
            return np.asarray(np.abs(gap).max(axis=1))
        width = np.diff(value)
        return np.abs(gap[:, :-1]) @ width if name == "wasserstein" else 2 * np.square(gap[:, :-1]) @ width

    return binned if name in BINNED else plain


def value_of(cells: Cells, name: str, rule: BinRule) -> float:
    """The distance of two samples; raises where it is undefined."""
    return float(statistic_of(name, rule, strict=True)(cells.value, cells.reference[None], cells.window[None])[0])


def _shares(rows: Floats) -> Floats:
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def _psi(old: Floats, new: Floats, smoothing: float, strict: bool) -> Floats:
    used = old + new > 0
    one_sided = used & ((old == 0) | (new == 0))
    if smoothing == 0 and strict and one_sided.any():
        bin_number = int(np.argmax(one_sided[0]))
        raise UndefinedMetricError(
            "psi", f"bin {bin_number} is empty in one sample only", "use smoothing=0.5 or fewer bins"
        )
    extra = smoothing * used
    p, q = (_shares(rows + extra) for rows in (old, new))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(used, (q - p) * (np.log(q) - np.log(p)), 0).sum(axis=1))


def _jensen_shannon(old: Floats, new: Floats) -> Floats:
    p, q = _shares(old), _shares(new)
    middle = (p + q) / 2

    def relative(share: Floats) -> Floats:
        ratio = np.divide(share, middle, out=np.ones_like(share), where=share > 0)
        return np.asarray((share * np.log2(ratio)).sum(axis=1))

    return np.maximum((relative(p) + relative(q)) / 2, 0)


def chi_square_law(cells: Cells, name: str, rule: BinRule, alpha: float, known: bool) -> tuple[float, float, str]:
    """P-value and threshold by the limit law, where every bin has rows enough for it."""
    from scipy.special import chdtrc, chdtri

    old, new = rule.tables(cells.value, cells.reference[None], cells.window[None])
    pooled = (old if known else old + new)[0]
    kept = (old + new)[0] > 0
    smallest = cells.window_size if known else min(cells.reference_size, cells.window_size)
    least = float(pooled[kept].min() / pooled.sum() * smallest)
    if least < LEAST_EXPECTED:
        raise ArgumentError(
            "method",
            f"'chi_square' needs {LEAST_EXPECTED} rows expected in every bin, and one has {least:.3g}",
            "use 'permutation'",
        )
    size = cells.window_size if known else cells.harmonic_size
    scale = size if name == "psi" else 8 * size * math.log(2)
    free = int(kept.sum()) - 1
    value = value_of(cells, name, rule)
    law = f"chi-square with {free} degrees of freedom"
    if free == 0:
        return 1.0, math.inf, law
    return float(chdtrc(free, scale * value)), float(chdtri(free, alpha)) / scale, law


def signed_extremes(cells: Cells) -> dict[str, float]:
    """Where the cumulative shares differ most, how far each way, and how far they may differ inside a cell of a sketch."""
    old, new = cells.reference / cells.reference.sum(), cells.window / cells.window.sum()
    gap = np.cumsum(old - new)
    found = {
        "higher": float(max(gap.max(), 0.0)),
        "lower": float(max(-gap.min(), 0.0)),
        "at": float(cells.value[np.argmax(np.abs(gap))]),
    }
    if cells.gridded:
        found["at_most"] = min(1.0, float(np.abs(gap).max() + np.maximum(old, new).max()))
    return found


def effect_words(name: str, value: float, cells: Cells) -> str:
    """How big a change is, in words."""
    if name == "psi":
        size = "small" if value < SMALL else "moderate" if value < LARGE else "large"
        return f"{size} by the customary marks {SMALL:g} and {LARGE:g}, which ignore the number of rows"
    if name == "ks_2samp":
        way = signed_extremes(cells)
        up = way["higher"] >= way["lower"]
        return (
            f"{100 * value:.3g} % of rows {'above' if up else 'at or below'} {way['at']:.4g} that were not there before"
        )
    if name == "wasserstein":
        return f"scores moved by {value:.3g} on average"
    if name == "jensen_shannon":
        return f"a row tells {value:.3g} bits of which sample it is from"
    shift = float((cells.window / cells.window.sum() - cells.reference / cells.reference.sum()) @ cells.value)
    return f"the mean score {'rose' if shift > 0 else 'fell' if shift < 0 else 'moved'} by {abs(shift):.3g}"
