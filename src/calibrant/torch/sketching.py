"""Sums of a sketch on the device of the tensors: integers, added without synchronization, identical to those on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, max_pool1d, threshold

from ..binning.exact_sums import BinSums
from ..binning.peer_edges import torch_edges
from ..sketches.grid import CELLS, EQUAL, grid
from ..util.kernels import LOW_BITS
from .rows import at_least_single

# Causes of invalid rows. Each has many counters, because atomic additions at one address are serialized.
IGNORED, NOT_A_NUMBER, OUT_OF_RANGE, WRONG_SUM, WRONG_LABEL, WRONG_GROUP = range(6)
FAULTS = 6
LANES = 1024
# Codes of valid rows: in general, and with a score of 1, whose counters are the seventh kind behind the causes (-2 is ...110).
COUNTS, CERTAIN = -1, -2
# Counters come in pairs, for outcome 0 and 1.
PAIRS = LANES // 2
# A score has 62 bits, stored as 24 high and 38 low ones: so many rows can be added before the low parts must be carried.
HALF_BITS = 38
HALF_MASK = (1 << HALF_BITS) - 1
CARRY_ROWS = 1 << 24
# Largest number of rows in one cell before the high parts overflow.
MOST_ROWS = 1 << 38
# Rows per block of the torch operations: bounds their memory and their number.
CHUNK_ROWS = 5 << 20
# Entries converted to cells or by a softmax at once: bounds the memory.
CHUNK_ENTRIES = 1 << 23
# Up to this many classes pooling is several times faster on a device than a reduction.
FEW_CLASSES = 32
NEVER = (1 << 63) - 1
ONE = float(1 << 62)
# The largest negative number.
BELOW_ZERO = {torch.float32: -(2.0**-149), torch.float64: -(2.0**-1074)}


@dataclass(frozen=True)
class Cells:
    """Cells of the score: those of every sketch, or a number of equal ones."""

    equal: int
    """Number of cells of equal width."""
    is_grid: bool
    """Whether some of them are subdivided, as in a sketch."""
    arithmetic: str = "exact"
    """Arithmetic of the edges, as that of `calibrant.EqualWidth`."""

    @property
    def count(self) -> int:
        return CELLS if self.is_grid else len(self.edges) - 1

    @cached_property
    def edges(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Edges of cells that are closed on the right."""
        if self.is_grid:
            return grid().edges
        if self.arithmetic == "exact":
            return np.arange(self.equal + 1) / self.equal
        if self.arithmetic == "linspace":
            return np.linspace(0, 1, self.equal + 1)
        # Bins that are closed on the left end with the largest number below their edge; the score 1 has a bin of its own.
        ends = np.nextafter(torch_edges(self.equal, self.arithmetic == "torch")[1:], 0)
        return np.concatenate([[0.0], ends, [1.0]])


def cells_of(bins: int | None) -> Cells:
    """The cells of a sketch if these bins are unions of them; else the bins themselves."""
    if bins is None or EQUAL % bins == 0:
        return Cells(EQUAL, True)
    return Cells(bins, False)


@dataclass(frozen=True)
class Plan:
    """Which scores of each row are sketched, and the layout of their sums."""

    cells: Cells
    classes: int | None
    """None for scores of one event."""
    top_label: bool
    classwise: bool
    groups: int
    ignore_index: int | None
    """Largest deviation of a row sum from 1; None to follow the precision."""
    checks: bool = field(default=True, compare=False)
    """Whether the torch operations check all entries of each row."""
    event: bool = False
    """For two classes: whether the event is the second class instead of the top label."""

    @cached_property
    def sections(self) -> int:
        """Sketches of one group: first the top label or the event, then each class."""
        return 1 if self.classes is None else int(self.top_label) + (self.classes if self.classwise else 0)

    @cached_property
    def section_size(self) -> int:
        """Counters of one sketch: each cell with outcome 0 and 1."""
        return 2 * self.cells.count

    @cached_property
    def group_size(self) -> int:
        """Counters of one group."""
        return self.sections * self.section_size

    @cached_property
    def trash(self) -> int:
        """Index of the first counter behind the cells, for invalid rows."""
        return self.groups * self.group_size

    @cached_property
    def size(self) -> int:
        """Number of all counters."""
        return self.trash + (FAULTS + 1) * LANES

    @property
    def spreads(self) -> bool:
        """Whether scores of 1 have counters of their own: there may be millions, and a cell has only one per outcome."""
        return self.groups * self.sections == 1


class Block(NamedTuple):
    """Some rows: probabilities (b, classes, m) or scores (b, 1, m), labels and groups (b, m), and the index of the first row."""

    probs: Tensor
    target: Tensor
    groups: Tensor | None
    start: int


def new_sums(plan: Plan, device: torch.device | str = "cpu") -> Tensor:
    """Empty sums: counts, high parts and low parts of the scores, by section, cell and outcome."""
    return torch.zeros((3, plan.size), dtype=torch.int64, device=device)


def carry(sums: Tensor) -> None:
    """Carry from the low parts to the high ones."""
    sums[1] += sums[2] >> HALF_BITS
    sums[2] &= HALF_MASK


def tallies(sums: Tensor, plan: Plan) -> list[int]:
    """Number of invalid rows by cause; synchronizes with the device."""
    return [
        int(count)
        for count in sums[0, plan.trash : plan.trash + FAULTS * LANES].reshape(FAULTS, LANES).sum(dim=1).tolist()
    ]


def section_sums(sums: np.ndarray[Any, Any], plan: Plan, group: int | None, section: int) -> BinSums:
    """The sums of one section, over all groups or in one, after carrying."""
    sections = sums[:, : plan.trash].reshape(3, plan.groups, plan.sections, plan.cells.count, 2)
    selected = sections[:, :, section].sum(axis=1) if group is None else sections[:, group, section]
    if plan.spreads:
        selected = selected.copy()
        selected[:, -1] += sums[:, plan.trash + FAULTS * LANES :].reshape(3, PAIRS, 2).sum(axis=1)
    rows, high, low = selected[0], selected[1].sum(axis=-1), selected[2].sum(axis=-1)
    # From parts of 38 bits to those of the library's sums.
    high += low >> HALF_BITS
    upper = (high & ((1 << (LOW_BITS - HALF_BITS)) - 1)) << HALF_BITS
    return BinSums(rows.sum(axis=-1), rows[:, 1].copy(), high >> (LOW_BITS - HALF_BITS), upper + (low & HALF_MASK))


def blocks_of(rows: Block, plan: Plan, *, logits: bool) -> Iterator[Block]:
    """Split rows into blocks of bounded size, along the first or last axis; only a softmax copies."""
    preds, target, groups, start = rows
    count, classes, inner = preds.shape
    if not count or not inner:
        return
    entries = CHUNK_ENTRIES // 4 if plan.classwise else CHUNK_ENTRIES if logits else NEVER
    most = max(1, min(CHUNK_ROWS, entries // classes))
    step = min(inner, most)
    batch = max(1, most // inner)
    if batch >= count and step >= inner and not logits:
        yield rows
        return
    for first in range(0, count, batch):
        for inner_start in range(0, inner, step):
            block = (slice(first, first + batch), slice(inner_start, inner_start + step))
            probs = preds[block[0], :, block[1]]
            if logits:
                probs = _probabilities(at_least_single(probs), plan)
            some = None if groups is None else groups[block]
            yield Block(probs, target[block], some, start + first * inner + inner_start)


def _probabilities(logits: Tensor, plan: Plan) -> Tensor:
    if plan.classes is None:
        return logits.sigmoid()
    # Over the last axis torch uses another algorithm, which may round differently; the caller would have got that one.
    return logits[:, :, 0].softmax(dim=1).unsqueeze(2) if logits.shape[2] == 1 else logits.softmax(dim=1)


def add_block(sums: Tensor, first_fault: Tensor, block: Block, plan: Plan) -> None:
    """Add a block of rows with torch operations that do not synchronize with the device."""
    probs, target = block.probs, block.target.reshape(-1).to(torch.int64)
    score, is_correct = _score(probs, target, plan)
    if plan.spreads and not (plan.checks or plan.classwise or plan.ignore_index is not None):
        # NaN and scores above 1 fall behind the cells, where `tallies` finds them.
        cell = torch.where(score == 1, _lanes(plan, score, FAULTS), _cell(score, plan))
        _scatter(sums, cell, is_correct, score, ones_on(sums.device, len(cell)))
        return
    groups = None if block.groups is None else block.groups.reshape(-1)
    cause = _causes(probs, score, target, groups, plan)
    some, row = (cause > IGNORED).max(dim=0)
    never = _code(cause.device, NEVER, torch.int64)
    torch.minimum(first_fault, torch.where(some, row + block.start, never), out=first_fault)
    pair = None if groups is None else groups.to(torch.int64) * (plan.group_size // 2)
    if plan.classes is None or plan.top_label:
        cell = _cell(score, plan)
        cell = cell if pair is None else cell.add_(pair)
        trash = torch.add(_lanes(plan, cause), cause & 7, alpha=PAIRS)
        _scatter(sums, torch.where(cause == COUNTS, cell, trash), is_correct, score, ones_on(sums.device, len(cell)))
    else:
        # Without the top label an invalid row is counted here, once and not per class.
        waste = torch.add(_lanes(plan, cause), cause.clamp(min=0), alpha=PAIRS) * 2
        sums[0].scatter_add_(0, waste, (cause >= 0).to(torch.int64))
    if plan.classwise:
        _add_classes(sums, probs, block.target, pair, cause < 0, plan)


# Cached, because small batches are limited by the launch time on the CPU.
@lru_cache(maxsize=64)
def ones_on(device: torch.device, count: int) -> Tensor:
    """A vector of ones on a device, expanded from a single one."""
    return torch.ones((), dtype=torch.int64, device=device).expand(count)


@lru_cache(maxsize=64)
def _code(device: torch.device, number: int, dtype: torch.dtype) -> Tensor:
    return torch.tensor(number, dtype=dtype, device=device)


@lru_cache(maxsize=8)
def _lane_table(device: torch.device, first: int, rows: int) -> Tensor:
    return torch.arange(rows, device=device).bitwise_and_(PAIRS - 1).add_(first)


def _lanes(plan: Plan, rows: Tensor, cause: int = 0) -> Tensor:
    """Offset of each row among the counters of a cause, different for consecutive rows."""
    count = len(rows)
    most = max(count, min(1 << count.bit_length(), CHUNK_ROWS))
    return _lane_table(rows.device, plan.trash // 2 + cause * PAIRS, most)[:count]


def _pools(probs: Tensor) -> bool:
    return bool(probs.is_cuda and probs.shape[2] == 1 and probs.shape[1] <= FEW_CLASSES and probs.is_contiguous())


def _wide(probs: Tensor) -> Tensor:
    return probs if probs.dtype == torch.float64 else probs.to(torch.float32)


def _score(probs: Tensor, target: Tensor, plan: Plan) -> tuple[Tensor, Tensor]:
    """Score and outcome of each row: the largest entry or that of the event, and whether it belongs to the label."""
    if plan.classes is None or plan.event:
        return _wide(probs[:, -1].reshape(-1)).contiguous(), target == 1
    if _pools(probs):
        top, place = max_pool1d(_wide(probs).view(-1, 1, probs.shape[1]), probs.shape[1], return_indices=True)
    else:
        top, place = probs.max(dim=1)
    return _wide(top.reshape(-1)), place.reshape(-1) == target


def _totals(probs: Tensor) -> tuple[Tensor, Tensor]:
    """The sum of each row, and whether an entry is negative or NaN."""
    classes = probs.shape[1]
    if _pools(probs):
        sums = _wide(probs)
        sums = threshold(sums, BELOW_ZERO[sums.dtype], torch.nan)
        total = avg_pool2d(sums.view(-1, 1, 1, classes), (1, classes), divisor_override=1).view(-1)
        return total, total.isnan()
    total = probs.sum(dim=1, dtype=torch.float64 if probs.dtype == torch.float64 else torch.float32)
    return total.reshape(-1), probs.amin(dim=1).reshape(-1) < 0


def tolerance_of(dtype: torch.dtype) -> float:
    """Largest deviation of a row sum from 1, as elsewhere in the library."""
    return {torch.float64: 1e-6, torch.float32: 1e-4}.get(dtype, 1e-2)


def _causes(probs: Tensor, score: Tensor, target: Tensor, groups: Tensor | None, plan: Plan) -> Tensor:
    """Cause for which each row is invalid, or a negative code for valid rows."""
    device, most = target.device, probs.amax(dim=1).reshape(-1) if plan.event else score
    if plan.spreads:
        cause = torch.where(score == 1, _code(device, CERTAIN, torch.int8), _code(device, COUNTS, torch.int8))
    else:
        cause = torch.full(target.shape, COUNTS, dtype=torch.int8, device=device)
    if plan.classes is None:
        negative = score < 0
    else:
        total, negative = _totals(probs)
        cause.masked_fill_((total - 1).abs_() > tolerance_of(probs.dtype), WRONG_SUM)
    cause.masked_fill_(negative, OUT_OF_RANGE)
    cause.masked_fill_(most > 1, OUT_OF_RANGE)
    cause.masked_fill_(most.isnan(), NOT_A_NUMBER)
    if groups is not None:
        cause.masked_fill_(groups.clamp(0, plan.groups - 1) != groups, WRONG_GROUP)
    cause.masked_fill_(target.clamp(0, 1 if plan.classes is None else plan.classes - 1) != target, WRONG_LABEL)
    if plan.ignore_index is not None:
        cause.masked_fill_(target == plan.ignore_index, IGNORED)
    return cause


@lru_cache(maxsize=32)
def _ends(cells: Cells, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Ends of the cells in the precision of the scores: the largest number in each cell."""
    edges = cells.edges[1:]
    if dtype == torch.float32:
        near = edges.astype(np.float32)
        edges = np.where(near > edges, np.nextafter(near, np.float32(0)), near)
    return torch.from_numpy(edges.copy()).to(device)


def _cell(score: Tensor, plan: Plan) -> Tensor:
    """The cell of each score within its section."""
    return torch.bucketize(score, _ends(plan.cells, score.device, score.dtype))


def _scatter(sums: Tensor, pair: Tensor, is_correct: Tensor, score: Tensor, counts: Tensor) -> None:
    """Add rows, and their scores as integer multiples of 2^-62 in two parts; scores of invalid rows are never read."""
    place = torch.add(is_correct, pair, alpha=2)
    fixed = (score * ONE).to(torch.int64)
    rows, high, low = sums.unbind()
    rows.scatter_add_(0, place, counts)
    high.scatter_add_(0, place, fixed >> HALF_BITS)
    low.scatter_add_(0, place, fixed & HALF_MASK)


def _add_classes(sums: Tensor, probs: Tensor, target: Tensor, pair: Tensor | None, counts: Tensor, plan: Plan) -> None:
    """Add every class against the rest; invalid rows add zeros."""
    class_numbers = torch.arange(probs.shape[1], device=probs.device).view(1, -1, 1)
    start = (class_numbers + int(plan.top_label)) * plan.cells.count
    lane = _lanes(plan, counts).view_as(target).unsqueeze(1)
    if pair is not None:
        start = start + pair.view_as(target).unsqueeze(1)
    spread = counts.view_as(target).unsqueeze(1).expand_as(probs)
    score = _wide(torch.where(spread, probs, 0)).contiguous()
    pairs = torch.where(spread, _cell(score, plan) + start, lane)
    is_correct = class_numbers == target.unsqueeze(1)
    _scatter(sums, pairs.flatten(), is_correct.flatten(), score.flatten(), spread.flatten().to(torch.int64))
