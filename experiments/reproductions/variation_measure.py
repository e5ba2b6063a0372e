"""Calibrated forecasts of many rows, drawn in blocks; their errors from whole arrays, and from sums over fine cells."""

from __future__ import annotations

import gc
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import calibrant as cal
from calibrant.util.arrays import Floats
from calibrant.views.view import View

Values = dict[str, float]

BINS = 10
CELLS = 100_000
"""Fine cells of a score; a multiple of BINS, so that equal-width bins are whole cells."""
BINNINGS = ("equal_width", "equal_mass")
SEED = 20_260
MANY = 100_000


@dataclass(frozen=True)
class Setting:
    """One distribution of the forecasts."""

    classes: int
    skewed: bool

    @property
    def distribution(self) -> list[float]:
        """Parameters of the Dirichlet distribution."""
        return [10.0 if self.skewed else 1.0] + [1.0] * (self.classes - 1)

    @property
    def name(self) -> str:
        return f"{self.classes} classes, {'skewed' if self.skewed else 'flat'}"


SETTINGS = tuple(Setting(classes, skewed) for classes in (3, 10) for skewed in (False, True))


@dataclass(frozen=True)
class Plan:
    """How many rows and repetitions."""

    sizes: tuple[int, ...]
    """Rising; each a multiple of the block, or smaller than one."""
    whole: int
    """Up to this many rows the metrics are given whole arrays, above it sums over cells."""
    repeats: int
    block: int


FULL = Plan((10**4, 10**5, 10**6, 10**7), 10**5, 20, 100_000)
SMALL = Plan((200, 2_000, 20_000), 2_000, 3, 2_000)


def confidence_bins(classes: int) -> Any:
    """Bins of equal width over the values that a largest probability can have."""
    return cal.EqualWidth(BINS, range=(1 / classes, 1))


def normalised_entropy(columns: Floats) -> Floats:
    """Shannon entropy to the base of the number of classes, one class in each row of `columns`; 0 log 0 is 0."""
    found = np.log(np.maximum(columns, np.finfo(np.float64).tiny))
    found *= columns
    return np.abs(found.sum(axis=0)) / math.log(len(columns))


def draw(setting: Setting, rows: int, rng: np.random.Generator) -> tuple[NDArray[Any], Floats]:
    """Labels, and the probabilities they are drawn from, by the Dirichlet distribution; one class in each row."""
    probs = rng.standard_exponential((setting.classes, rows))
    if setting.skewed:
        probs[0] = rng.standard_gamma(setting.distribution[0], rows)
    probs /= probs.sum(axis=0)
    chance, upper, labels = rng.random(rows), np.zeros(rows), np.zeros(rows, np.intp)
    for column in probs[:-1]:
        upper += column
        labels += chance >= upper
    return labels, probs


@dataclass(frozen=True, eq=False)
class ByKey:
    """A rule for bins that cuts the numbers it holds in place of those it is shown."""

    key: Floats
    rule: Any

    def with_bins(self, bins: int) -> ByKey:
        return ByKey(self.key, self.rule.with_bins(bins))

    def _own(self, view: View) -> View:
        return View(self.key, np.zeros(view.n, np.uint8), view.weight, view.weight_kind)

    def cells(self, view: View) -> tuple[NDArray[np.intp], int]:
        return self.rule.cells(self._own(view))

    def table(self, view: View) -> Any:
        return self.rule.table(self._own(view))


class Cells:
    """Sums over fine cells of the entropy and of the confidence; rows are added block by block."""

    def __init__(self, classes: int) -> None:
        self.classes = classes
        self.stated = np.zeros((classes, CELLS))
        """Sum of the probabilities in falling order, by cell of entropy."""
        self.entropy = np.zeros(CELLS)
        self.ranks = np.zeros((CELLS, classes), np.int64)
        """How often the true class had each rank."""
        self.confidence = np.zeros(CELLS)
        """Sum of the confidence, by cell of confidence."""
        self.hits = np.zeros((CELLS, 2), np.int64)
        """How often the predicted class was wrong and right."""

    def add(self, labels: NDArray[Any], probs: Floats) -> None:
        """Add rows as `draw` gives them."""
        ranked = np.sort(probs, axis=0)[::-1]
        rank = (probs > probs[labels, np.arange(len(labels))]).sum(axis=0)
        entropy = normalised_entropy(ranked)
        cell = _cell(entropy)
        for place, column in enumerate(ranked):
            self.stated[place] += np.bincount(cell, column, CELLS)
        self.entropy += np.bincount(cell, entropy, CELLS)
        self.ranks += _counts(cell, rank, self.classes)
        low = 1 / self.classes
        cell = _cell((ranked[0] - low) / (1 - low))
        self.confidence += np.bincount(cell, ranked[0], CELLS)
        self.hits += _counts(cell, rank == 0, 2)

    def variation_rows(self) -> tuple[Floats, Floats, NDArray[np.int64], Floats]:
        """One row for each full cell: mean ordered probabilities, shares of the ranks, how many rows, mean entropy."""
        count = self.ranks.sum(axis=1)
        full = count > 0
        size = count[full, None]
        return self.stated.T[full] / size, self.ranks[full] / size, count[full], self.entropy[full] / count[full]

    def confidence_rows(self) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """One row for each full cell: mean confidence, share of right predictions, how many rows."""
        count = self.hits.sum(axis=1)
        full = count > 0
        return self.confidence[full] / count[full], self.hits[full, 1] / count[full], count[full]

    def measure(self) -> Values:
        """The six errors, and `uce` without chance in the labels."""
        stated, seen, count, entropy = self.variation_rows()
        confidence, right, size = self.confidence_rows()
        found: Values = {}
        for binning, rule, confidences in (
            ("equal_width", cal.EqualWidth(BINS), confidence_bins(self.classes)),
            ("equal_mass", cal.EqualMass(BINS), cal.EqualMass(BINS)),
        ):
            cells = cal.Predictions(seen, stated, soft=True, counts=count)
            found[f"vce {binning}"] = cal.vce(cells, binning=ByKey(entropy, rule))
            wrong = cal.Predictions(1 - seen[:, 0], entropy, soft=True, counts=count)
            found[f"uce {binning}"] = cal.ece(wrong, binning=rule)
            expected = cal.Predictions(1 - stated[:, 0], entropy, soft=True, counts=count)
            found[f"floor {binning}"] = cal.ece(expected, binning=rule)
            found[f"ece {binning}"] = cal.ece(
                cal.Predictions(right, confidence, soft=True, counts=size), binning=confidences
            )
        return found


def _cell(score: Floats) -> NDArray[np.intp]:
    """Cells closed on the right, as the bins are."""
    return np.clip(np.ceil(score * CELLS).astype(np.intp) - 1, 0, CELLS - 1)


def _counts(cell: NDArray[np.intp], what: NDArray[Any], kinds: int) -> NDArray[np.int64]:
    return np.bincount(cell * kinds + what, minlength=CELLS * kinds).reshape(CELLS, kinds)


def measure_whole(labels: NDArray[Any], probs: Floats) -> Values:
    """The errors of whole arrays: those of the figures."""
    classes = probs.shape[1]
    rows = cal.Predictions(labels, probs)
    confidences = {"equal_width": confidence_bins(classes), "equal_mass": cal.EqualMass(BINS)}
    found: Values = {}
    for binning in BINNINGS:
        found[f"vce {binning}"] = cal.vce(rows, bins=BINS, binning=binning)
        found[f"uce {binning}"] = cal.uce(rows, bins=BINS, binning=binning)
        found[f"ece {binning}"] = cal.ece(rows, binning=confidences[binning])
        _free(len(labels))
    return found


@dataclass
class Results:
    """Values over the repetitions, by setting, number of rows and quantity."""

    plan: Plan
    values: dict[tuple[Setting, int, str], list[float]]
    cells: Cells
    """The sums over all rows of the first repetition of the first setting."""

    def of(self, setting: Setting, size: int, quantity: str) -> Floats:
        return np.array(self.values[setting, size, quantity])

    def paths(self, setting: Setting, quantity: str) -> Floats:
        """One row for each repetition, one column for each number of rows."""
        return np.array([self.values[setting, size, quantity] for size in self.plan.sizes]).T


def blocks(setting: Setting, repeat: int, plan: Plan) -> Iterator[tuple[NDArray[Any], Floats]]:
    """All rows of one repetition."""
    rng = np.random.default_rng([SEED, setting.classes, setting.skewed, repeat])
    for _ in range(plan.sizes[-1] // plan.block):
        yield draw(setting, plan.block, rng)


def one_repetition(setting: Setting, repeat: int, plan: Plan) -> tuple[dict[tuple[int, str], float], Cells]:
    """Draw the most rows; the smaller numbers are the first of them."""
    keep = plan.whole
    kept_labels, kept_probs = np.empty(keep, np.intp), np.empty((keep, setting.classes))
    cells, seen = Cells(setting.classes), 0
    found: dict[tuple[int, str], float] = {}
    for labels, probs in blocks(setting, repeat, plan):
        cells.add(labels, probs)
        start, seen = seen, seen + len(labels)
        if seen <= keep:
            kept_labels[start:seen], kept_probs[start:seen] = labels, probs.T
        if seen > plan.whole and seen in plan.sizes:
            found |= {(seen, name): value for name, value in cells.measure().items()}
            _free(seen)
    for size in plan.sizes:
        if size <= keep:
            whole = measure_whole(kept_labels[:size], kept_probs[:size])
            found |= {(size, name): value for name, value in whole.items()}
            _free(size)
    return found, cells


def _free(size: int) -> None:
    """Let go of what was measured: predictions and their views refer to each other, and large ones would pile up."""
    if size >= MANY:
        gc.collect()


def measure(plan: Plan, settings: Sequence[Setting] = SETTINGS) -> Results:
    """All settings, all repetitions."""
    values: dict[tuple[Setting, int, str], list[float]] = defaultdict(list)
    first: Cells | None = None
    for setting in settings:
        for repeat in range(plan.repeats):
            found, cells = one_repetition(setting, repeat, plan)
            first = first or cells
            for (size, name), value in found.items():
                values[setting, size, name].append(value)
    assert first is not None
    return Results(plan, dict(values), first)
