"""One kernel that reads rows once and adds their top labels to the sums of a sketch, where Triton is installed.

It gives the same bits as the plain operations, which take its place everywhere else.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .sketching import LANES, Block, Plan, tables, tolerance_of

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None

# Numbers that change from batch to batch; the kernel is compiled once for all of them.
CHANGING = ("rows", "start", "size", "trash", "group_size", "group_count", "ignore_index")


def jit(function: Any) -> Any:
    """The compiled function; without Triton the functions below are never called."""
    if triton is None:
        return function
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return triton.jit(function, do_not_specialize=[name for name in CHANGING if name in names])


__all__ = ["add_top_labels", "can_fuse"]

# Up to this many classes a thread reads a row; beyond, the threads of a program share one.
FEW = 32
# Rows of one program in the first case, and entries at a time in the second.
HEIGHT, WIDEST = 128, 1024


def can_fuse(preds: Tensor, plan: Plan) -> bool:
    """Whether the kernel knows this kind of rows."""
    one = plan.classes is None or (plan.top_label and not plan.event)
    return triton is not None and preds.is_cuda and one and not plan.classwise


def add_top_labels(sums: Tensor, first_fault: Tensor, block: Block, plan: Plan) -> None:
    """Add a block of rows, in one launch."""
    probs = block.probs
    if probs.device.index == torch.cuda.current_device():
        _launch(sums, first_fault, block, plan)
    else:
        with torch.cuda.device(probs.device):
            _launch(sums, first_fault, block, plan)


def _launch(sums: Tensor, first_fault: Tensor, block: Block, plan: Plan) -> None:
    probs, target, groups, start = block
    target = target.view(torch.uint8) if target.dtype == torch.bool else target
    count, classes, inner = probs.shape
    by_image, by_class, by_place = probs.stride()
    shared = classes > FEW and by_class == 1
    height = 1 if shared else HEIGHT
    rows = count * inner
    _add[(-(-rows // height),)](
        probs, target, target if groups is None else groups, *tables(plan.cells, probs.device), sums, first_fault,
        rows, inner, by_image, by_class, by_place, *target.stride(), *(target if groups is None else groups).stride(),
        start, plan.size, plan.trash, plan.cells.equal, plan.cells.count, plan.group_size, plan.groups,
        tolerance_of(plan, probs.dtype), 0 if plan.ignore_index is None else plan.ignore_index,
        CLASSES=classes, BINARY=plan.classes is None, IGNORES=plan.ignore_index is not None, GROUPED=groups is not None,
        WIDE=tl.float64 if probs.dtype == torch.float64 else tl.float32, CUT=plan.cells.is_grid, HEIGHT=height,
        WIDTH=min(1 << (classes - 1).bit_length(), WIDEST) if shared else 1, UNROLL=classes <= FEW,
        PACKED=inner == 1 and by_image == classes, SPREAD=LANES, num_warps=1 if shared else 4,
    )  # fmt: skip


@jit
def _share(origin, tolerance, CLASSES: tl.constexpr, WIDE: tl.constexpr, WIDTH: tl.constexpr):
    """The largest entry of one row, and its class; or, below 0, why the row does not count."""
    column = tl.arange(0, WIDTH)
    top = tl.full((WIDTH,), -1.0, WIDE)
    least = tl.full((WIDTH,), 2.0, WIDE)
    total = tl.zeros((WIDTH,), WIDE)
    place = tl.zeros((WIDTH,), tl.int32)
    for left in range(0, CLASSES, WIDTH):
        known = left + column < CLASSES
        value = tl.load(origin + left + column, mask=known, other=0.0).to(WIDE)
        total += value
        least = tl.minimum(least, value)
        above = known & (value > top)
        place = tl.where(above, left + column, place)
        top = tl.where(above, value, top)
    high = tl.max(top, axis=0)
    at = tl.min(tl.where(top == high, place, CLASSES), axis=0)
    whole = tl.sum(total, axis=0)
    at = tl.where(tl.abs(whole - 1) <= tolerance, at, -4)
    at = tl.where((tl.min(least, axis=0) < 0) | (high > 1), -3, at)
    return high, tl.where(whole != whole, -2, at)


@jit
def _meet(value, k, best, place, total, least):
    """One more class of each row."""
    above = value > best
    return tl.where(above, value, best), tl.where(above, k, place), total + value, tl.minimum(least, value)


@jit
def _read(
    origin, there, by_class, tolerance,
    CLASSES: tl.constexpr, BINARY: tl.constexpr, WIDE: tl.constexpr, HEIGHT: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """The largest entry of each row, and its class; or, below 0, why the row does not count."""
    best = tl.full((HEIGHT,), -1.0, WIDE)
    place = tl.zeros((HEIGHT,), tl.int32)
    total = tl.zeros((HEIGHT,), WIDE)
    least = tl.full((HEIGHT,), 2.0, WIDE)
    if UNROLL:
        for k in tl.static_range(CLASSES):
            value = tl.load(origin + k * by_class, mask=there, other=0.0).to(WIDE)
            best, place, total, least = _meet(value, k, best, place, total, least)
    else:
        for k in range(CLASSES):
            value = tl.load(origin + k * by_class, mask=there, other=0.0).to(WIDE)
            best, place, total, least = _meet(value, k, best, place, total, least)
    if not BINARY:
        place = tl.where(tl.abs(total - 1) <= tolerance, place, -4)
    place = tl.where((least < 0) | (best > 1), -3, place)
    place = tl.where(total != total, -2, place)
    return best, place


@jit
def _slot(score, edges, first, equal, CUT: tl.constexpr):
    """The cell of each score, counted from 0."""
    # The product finds the equal cell, or one beside it; two comparisons settle which.
    cell = tl.minimum(tl.ceil(score * equal).to(tl.int32), equal)
    past = score > tl.load(edges + tl.load(first + cell))
    cell = tl.minimum(cell + past.to(tl.int32), equal)
    before = tl.load(first + tl.maximum(cell - 1, 0))
    short = (cell > 0) & (score <= tl.load(edges + before))
    cell = cell - short.to(tl.int32)
    slot = tl.load(first + cell)
    if CUT:
        # An equal cell is cut into 93 at most, which seven halvings tell apart.
        low = tl.minimum(tl.load(first + tl.maximum(cell - 1, 0)) + 1, slot)
        if tl.max(slot - low, axis=0) > 0:
            for _ in tl.static_range(7):
                undecided = low < slot
                middle = (low + slot) // 2
                edge = tl.load(edges + middle, mask=undecided, other=0.0)
                slot = tl.where(undecided & (score <= edge), middle, slot)
                low = tl.where(undecided & (score > edge), middle + 1, low)
    return tl.maximum(slot, 1) - 1


@jit
def _add(
    probs, target, groups, edges, first, sums, first_fault,
    rows, inner, by_image, by_class, by_place, target_by_image, target_by_place, group_by_image, group_by_place,
    start, size, trash, equal, cells, group_size, group_count, tolerance, ignore_index,
    CLASSES: tl.constexpr, BINARY: tl.constexpr, IGNORES: tl.constexpr, GROUPED: tl.constexpr, WIDE: tl.constexpr,
    CUT: tl.constexpr, HEIGHT: tl.constexpr, WIDTH: tl.constexpr, UNROLL: tl.constexpr, PACKED: tl.constexpr,
    SPREAD: tl.constexpr,
):  # fmt: skip
    """Add rows to their cells, and rows that do not count to the places of their causes, numbered as in `sketching`."""
    begin = tl.program_id(0).to(tl.int64) * HEIGHT
    row = begin + tl.arange(0, HEIGHT)
    there = row < rows
    image = row // inner
    within = row - image * inner
    if WIDTH > 1:
        # A stride known beforehand lets a thread read four entries at once.
        origin = probs + (begin * CLASSES if PACKED else (begin // inner) * by_image + (begin % inner) * by_place)
        high, at = _share(origin, tolerance, CLASSES, WIDE, WIDTH)
        top = tl.full((HEIGHT,), 0.0, WIDE) + high
        place = tl.zeros((HEIGHT,), tl.int32) + at
    else:
        origin = probs + image * by_image + within * by_place
        top, place = _read(origin, there, by_class, tolerance, CLASSES, BINARY, WIDE, HEIGHT, UNROLL)
    label = tl.load(target + image * target_by_image + within * target_by_place, mask=there, other=0).to(tl.int64)
    hit = label == (1 if BINARY else place)
    cause = tl.where(place < 0, -1 - place, -1)
    base = tl.zeros((HEIGHT,), tl.int64)
    if GROUPED:
        group = tl.load(groups + image * group_by_image + within * group_by_place, mask=there, other=0).to(tl.int64)
        cause = tl.where((group >= 0) & (group < group_count), cause, 5)
        base = group * group_size
    cause = tl.where((label >= 0) & (label < (2 if BINARY else CLASSES)), cause, 4)
    if IGNORES:
        cause = tl.where(label == ignore_index, 0, cause)
    counts = (cause < 0) & there
    score = tl.where(counts, top.to(tl.float64), 0.0)
    apart = there
    if not GROUPED:
        # Many rows may be certain; thousands of additions at one address would wait for each other.
        certain = counts & (score == 1.0)
        last = sums + 2 * (cells - 1)
        wrong = tl.sum((certain & (hit == 0)).to(tl.int64), axis=0)
        right = tl.sum((certain & hit).to(tl.int64), axis=0)
        tl.atomic_add(last, wrong, mask=wrong > 0, sem="relaxed")
        tl.atomic_add(last + 1, right, mask=right > 0, sem="relaxed")
        tl.atomic_add(last + size, wrong << 24, mask=wrong > 0, sem="relaxed")
        tl.atomic_add(last + size + 1, right << 24, mask=right > 0, sem="relaxed")
        apart = there & (certain == 0)
        counts = counts & (certain == 0)
        score = tl.where(certain, 0.0, score)
    slot = _slot(score, edges, first, equal, CUT).to(tl.int64)
    waste = trash + cause.to(tl.int64) * SPREAD + (row & (SPREAD - 1))
    where = tl.where(counts, base + 2 * slot + hit.to(tl.int64), waste)
    fixed = (score * 4611686018427387904.0).to(tl.int64)
    lower = fixed & 274877906943
    tl.atomic_add(sums + where, tl.full((HEIGHT,), 1, tl.int64), mask=apart, sem="relaxed")
    tl.atomic_add(sums + (where + size), fixed >> 38, mask=counts, sem="relaxed")
    tl.atomic_add(sums + (where + size + size), lower, mask=counts & (lower > 0), sem="relaxed")
    tl.atomic_min(first_fault + row * 0, row + start, mask=there & (cause > 0), sem="relaxed")
