"""Sums of a sketch on the device of the tensors: whole numbers, added without waiting for the device; the same bits as on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import avg_pool1d, max_pool1d

from .._binsums import BinSums
from .._grid import CELLS, EQUAL, grid
from .._kernels import LOW_BITS
from ._rows import at_least_single

__all__ = [
    "FAULTS",
    "IGNORED",
    "LANES",
    "Block",
    "Cells",
    "Plan",
    "add_block",
    "blocks_of",
    "carry",
    "cells_of",
    "new_sums",
    "section_sums",
    "tables",
    "tallies",
    "tolerance_of",
]

# Why a row is not counted. Each kind has many places in the sums, or a thousand rows at once would wait for one address.
IGNORED, NOT_A_NUMBER, OUT_OF_RANGE, WRONG_SUM, WRONG_LABEL, WRONG_GROUP = range(6)
FAULTS = 6
LANES = 1024
# A score is 62 bits, kept as 24 high and 38 low ones: as many rows can be added before the low parts must be carried over.
HALF_BITS = 38
HALF_MASK = (1 << HALF_BITS) - 1
CARRY_ROWS = 1 << 24
# Beyond so many rows in one cell the high parts overflow.
MOST_ROWS = 1 << 38
# Rows that plain operations take at a time: bounds what they hold beside the sums, and how many of them there are.
CHUNK_ROWS = 5 << 20
# Entries that are turned into cells or a softmax at once: bounds what is held beside the sums.
CHUNK_ENTRIES = 1 << 23
# Up to this many classes a device pools neighbours several times faster than it reduces an axis.
FEW_CLASSES = 32
NEVER = (1 << 63) - 1
ONE = float(1 << 62)


@dataclass(frozen=True)
class Cells:
    """The cells that scores fall into: those of every sketch, or a number of equal ones."""

    equal: int
    """Number of cells of equal width."""
    is_grid: bool
    """Whether some of them are cut further, as in a sketch."""

    @property
    def count(self) -> int:
        return CELLS if self.is_grid else self.equal

    @property
    def edges(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        return grid().edges if self.is_grid else np.arange(self.equal + 1) / self.equal

    @property
    def first(self) -> np.ndarray[Any, Any]:
        """For each equal cell, numbered from 1, how many edges lie before its end."""
        return grid().first if self.is_grid else np.arange(self.equal + 1)


def cells_of(bins: int | None) -> Cells:
    """The sketch's cells, where they give these bins exactly; else cells that are the bins."""
    if bins is None or EQUAL % bins == 0:
        return Cells(EQUAL, True)
    return Cells(bins, False)


@lru_cache(maxsize=32)
def tables(cells: Cells, device: torch.device) -> tuple[Tensor, Tensor]:
    """Edges, and where each equal cell ends among them, on a device; copied there once."""
    edges = torch.from_numpy(cells.edges.copy()).to(device)
    return edges, torch.from_numpy(cells.first.astype(np.int32)).to(device)


@dataclass(frozen=True)
class Plan:
    """What is asked of each row, and where the answer is added."""

    cells: Cells
    classes: int | None
    """None for scores of one event."""
    top_label: bool
    classwise: bool
    groups: int
    ignore_index: int | None
    tolerance: float | None
    """How far from 1 a row may sum; None for what its precision allows."""
    checks: bool = field(default=True, compare=False)
    """Whether plain operations look at what each row holds, beside its largest entry."""
    event: bool = False
    """Of two classes: whether the second is asked about in place of the top label."""

    @cached_property
    def sections(self) -> int:
        """Sketches of one group: first the top label or the event, then each class."""
        return 1 if self.classes is None else int(self.top_label) + (self.classes if self.classwise else 0)

    @cached_property
    def section_size(self) -> int:
        """Places of one sketch: each cell with outcome 0 and 1."""
        return 2 * self.cells.count

    @cached_property
    def group_size(self) -> int:
        """Places of one group."""
        return self.sections * self.section_size

    @cached_property
    def trash(self) -> int:
        """The place behind all cells, where rows go that do not count."""
        return self.groups * self.group_size

    @cached_property
    def size(self) -> int:
        """All places."""
        return self.trash + (FAULTS + 2) * LANES

    @property
    def spreads(self) -> bool:
        """Whether rows that are certain have places of their own: there may be millions, and a cell has one for each outcome."""
        return self.groups * self.sections == 1


class Block(NamedTuple):
    """Some rows: probabilities (b, classes, m) or scores (b, 1, m), labels and groups (b, m), and the number of the first row."""

    probs: Tensor
    target: Tensor
    groups: Tensor | None
    start: int


def new_sums(plan: Plan, device: torch.device | str = "cpu") -> Tensor:
    """Sums of no rows: how many, high parts and low parts of their scores; one place for each section, cell and outcome."""
    return torch.zeros((3, plan.size), dtype=torch.int64, device=device)


def carry(sums: Tensor) -> None:
    """Move what has piled up in the low parts to the high ones."""
    sums[1] += sums[2] >> HALF_BITS
    sums[2] &= HALF_MASK


def tallies(sums: Tensor, plan: Plan) -> list[int]:
    """How many rows did not count, by cause; waits for the device."""
    return [
        int(count)
        for count in sums[0, plan.trash : plan.trash + FAULTS * LANES].reshape(FAULTS, LANES).sum(dim=1).tolist()
    ]


def section_sums(sums: np.ndarray[Any, Any], plan: Plan, group: int | None, section: int) -> BinSums:
    """The sums of one section, over all groups or in one, from sums that were carried."""
    kept = sums[:, : plan.trash].reshape(3, plan.groups, plan.sections, plan.cells.count, 2)
    chosen = kept[:, :, section].sum(axis=1) if group is None else kept[:, group, section]
    if plan.spreads:
        chosen = chosen.copy()
        chosen[:, -1] += sums[:, plan.trash + FAULTS * LANES :].reshape(3, 2, LANES).sum(axis=-1)
    rows, high, low = chosen[0], chosen[1].sum(axis=-1), chosen[2].sum(axis=-1)
    # From halves of 38 bits to those of the library's sums.
    high += low >> HALF_BITS
    upper = (high & ((1 << (LOW_BITS - HALF_BITS)) - 1)) << HALF_BITS
    return BinSums(rows.sum(axis=-1), rows[:, 1].copy(), high >> (LOW_BITS - HALF_BITS), upper + (low & HALF_MASK))


def blocks_of(rows: Block, plan: Plan, *, logits: bool, chunk: int | None = None) -> Iterator[Block]:
    """Cut rows into blocks of bounded size, along the first axis or the last; only a softmax is a copy."""
    preds, target, groups, start = rows
    count, classes, inner = preds.shape
    if not count or not inner:
        return
    entries = CHUNK_ENTRIES // 4 if plan.classwise else CHUNK_ENTRIES if logits else NEVER
    most = max(1, min(chunk or CHUNK_ROWS, entries // classes))
    step = min(inner, most)
    batch = max(1, most // inner)
    if batch >= count and step >= inner and not logits:
        yield rows
        return
    for first in range(0, count, batch):
        for left in range(0, inner, step):
            part = (slice(first, first + batch), slice(left, left + step))
            probs = preds[part[0], :, part[1]]
            if logits:
                probs = _probabilities(at_least_single(probs), plan)
            some = None if groups is None else groups[part]
            yield Block(probs, target[part], some, start + first * inner + left)


def _probabilities(logits: Tensor, plan: Plan) -> Tensor:
    if plan.classes is None:
        return logits.sigmoid()
    # Over the last axis torch takes another way, which may end in other digits: the one that the caller would have got.
    return logits[:, :, 0].softmax(dim=1).unsqueeze(2) if logits.shape[2] == 1 else logits.softmax(dim=1)


def add_block(sums: Tensor, first_fault: Tensor, block: Block, plan: Plan) -> None:
    """Add a block of rows by plain operations of torch, none of which waits for the device."""
    probs, target = block.probs, block.target.to(torch.int64)
    number = torch.arange(target.numel(), device=sums.device).view(target.shape)
    top, hit = _score(probs, target, number, plan)
    if plan.spreads and not (plan.checks or plan.classwise or plan.ignore_index is not None):
        _add_promised(sums, top, hit, number, plan)
        return
    total, least = (None, top) if plan.classes is None else _sum_and_least(probs)
    most = probs.amax(dim=1) if plan.event else top
    cause = _causes(most, least, total, tolerance_of(plan, probs.dtype), target, block.groups, plan)
    lane = (number & (LANES - 1)).add_(plan.trash)
    base = None if block.groups is None else block.groups.to(torch.int64) * plan.group_size
    counts = cause < 0
    if plan.classes is None or plan.top_label:
        score = torch.where(counts, top, 0).to(torch.float64).contiguous()
        apart = torch.where(score == 1, hit.to(torch.int8).add_(FAULTS), cause) if plan.spreads else cause
        cell = _cell(score, hit, plan)
        cell = cell if base is None else cell.add_(base)
        place = torch.where(apart < 0, cell, torch.add(lane, apart, alpha=LANES))
        _scatter(sums, place, one_on(sums.device).expand(place.numel()), score)
    else:
        # Classes are many and a faulty row is one: without the top label it is noted by itself.
        waste = torch.add(lane, cause.clamp(min=0), alpha=LANES)
        sums[0].scatter_add_(0, waste.flatten(), (~counts).flatten().to(torch.int64))
    if plan.classwise:
        _add_classes(sums, probs, target, base, counts, lane, plan)
    fault = torch.where(cause > IGNORED, number, NEVER - block.start).amin()
    torch.minimum(first_fault, fault.add_(block.start) if block.start else fault, out=first_fault)


@lru_cache(maxsize=32)
def one_on(device: torch.device) -> Tensor:
    """The number 1 on a device."""
    return torch.ones((), dtype=torch.int64, device=device)


def _add_promised(sums: Tensor, top: Tensor, hit: Tensor, number: Tensor, plan: Plan) -> None:
    """Add rows that were promised to be probabilities; NaN and what is above 1 fall behind the cells, where `tallies` sees them."""
    score = top.to(torch.float64, copy=True)
    apart = torch.add(number & (LANES - 1), hit, alpha=LANES).add_(plan.trash + FAULTS * LANES)
    place = torch.where(score == 1, apart, _cell(score, hit, plan))
    _scatter(sums, place, one_on(sums.device).expand(place.numel()), score)


def _pools(probs: Tensor) -> bool:
    return bool(probs.is_cuda and probs.shape[2] == 1 and probs.shape[1] <= FEW_CLASSES and probs.is_contiguous())


def _wide(probs: Tensor) -> torch.dtype:
    return torch.float64 if probs.dtype == torch.float64 else torch.float32


def _score(probs: Tensor, target: Tensor, number: Tensor, plan: Plan) -> tuple[Tensor, Tensor]:
    """What is asked about each row, the largest entry or that of an event, and whether it is the label's."""
    if plan.classes is None or plan.event:
        return probs[:, -1], target == 1
    rows, classes, _ = probs.shape
    if _pools(probs):
        top, place = max_pool1d(probs.to(_wide(probs)).view(1, 1, -1), classes, return_indices=True)
        return top.view(rows, 1), place.view(rows, 1) == torch.add(target, number, alpha=classes)
    top, place = probs.max(dim=1)
    return top, place == target


def _sum_and_least(probs: Tensor) -> tuple[Tensor, Tensor]:
    """Sum and smallest entry of each row."""
    rows, classes, _ = probs.shape
    if _pools(probs):
        flat = probs.to(_wide(probs)).view(1, 1, -1)
        total, least = avg_pool1d(flat, classes) * classes, -max_pool1d(-flat, classes)
        return total.view(rows, 1), least.view(rows, 1)
    return probs.sum(dim=1, dtype=_wide(probs)), probs.amin(dim=1)


def tolerance_of(plan: Plan, dtype: torch.dtype) -> float:
    """How far from 1 a row may sum, as everywhere in the library."""
    if plan.tolerance is not None:
        return plan.tolerance
    return {torch.float64: 1e-6, torch.float32: 1e-4}.get(dtype, 1e-2)


def _causes(
    most: Tensor,
    least: Tensor,
    total: Tensor | None,
    tolerance: float,
    target: Tensor,
    groups: Tensor | None,
    plan: Plan,
) -> Tensor:
    """Why each row does not count, or -1."""
    cause = torch.full(target.shape, -1, dtype=torch.int8, device=target.device)
    if total is not None:
        off = ~((total - 1).abs() <= tolerance)
        cause.masked_fill_(off, WRONG_SUM)
    cause.masked_fill_((least < 0) | (most > 1), OUT_OF_RANGE)
    cause.masked_fill_((most if total is None else total).isnan(), NOT_A_NUMBER)
    if groups is not None:
        cause.masked_fill_(groups.clamp(0, plan.groups - 1) != groups, WRONG_GROUP)
    cause.masked_fill_(target.clamp(0, 1 if plan.classes is None else plan.classes - 1) != target, WRONG_LABEL)
    if plan.ignore_index is not None:
        cause.masked_fill_(target == plan.ignore_index, IGNORED)
    return cause


def _cell(score: Tensor, hit: Tensor, plan: Plan) -> Tensor:
    """The place of each score within its section: its cell and outcome."""
    edges, _ = tables(plan.cells, score.device)
    return torch.add(hit, torch.bucketize(score, edges[1:]), alpha=2)


def _scatter(sums: Tensor, place: Tensor, rows: Tensor, score: Tensor) -> None:
    """Add rows and their scores, which are spoilt, as whole numbers of 2^-62 in two parts."""
    fixed = score.mul_(ONE).to(torch.int64).flatten()
    place = place.flatten()
    sums[0].scatter_add_(0, place, rows)
    sums[1].scatter_add_(0, place, fixed >> HALF_BITS)
    sums[2].scatter_add_(0, place, fixed & HALF_MASK)


def _add_classes(
    sums: Tensor, probs: Tensor, target: Tensor, base: Tensor | None, counts: Tensor, lane: Tensor, plan: Plan
) -> None:
    """Add every class against the rest; a row that does not count adds zeros."""
    own = torch.arange(probs.shape[1], device=probs.device).view(1, -1, 1)
    start = (own + int(plan.top_label)) * plan.section_size
    if base is not None:
        start = start + base.unsqueeze(1)
    spread = counts.unsqueeze(1).expand_as(probs)
    score = torch.where(spread, probs, 0).to(torch.float64).contiguous()
    cell = _cell(score, own == target.unsqueeze(1), plan)
    place = torch.where(spread, cell + start, lane.unsqueeze(1))
    _scatter(sums, place, spread.flatten().to(torch.int64), score)
