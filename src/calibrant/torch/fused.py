"""A Triton kernel that reads rows and adds their scores and outcomes to the sums of sketches.

Its results are identical to those of the torch operations, which are used where Triton is not available.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..errors import warn_caller
from .sketching import LANES, Block, Plan, add_block, tables, tolerance_of

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None

# Arguments that change from batch to batch, for which the kernel is not specialized.
CHANGING = ("rows", "start", "size", "trash", "group_size", "group_count", "ignore_index")


def jit(function: Any) -> Any:
    """Compile with Triton; without Triton the functions below are never called."""
    if triton is None:
        return function
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return triton.jit(function, do_not_specialize=[name for name in CHANGING if name in names])


# Up to this many classes a thread reads a row; with more, the threads of a program share one.
FEW = 32
# Rows per program in the first case, entries at a time in the second; fewer where each entry is added.
HEIGHT, WIDEST, NARROWEST = 128, 1024, 128


@dataclass
class Kernel:
    """State of the kernel in this process."""

    works: bool | None = None
    """None before the first launch, which compiles it; that fails where a C compiler or a header is missing."""


KERNEL = Kernel()


def can_fuse(preds: Tensor) -> bool:
    """Whether there is a kernel for the device of these rows."""
    return triton is not None and preds.is_cuda and KERNEL.works is not False


def add_fused(sums: Tensor, first_fault: Tensor, block: Block, plan: Plan) -> None:
    """Add a block of rows in one launch; with torch operations if the kernel cannot be compiled."""
    try:
        _launch_there(sums, first_fault, block, plan)
        KERNEL.works = True
    except Exception as error:
        if KERNEL.works:
            raise
        KERNEL.works = False
        warn_caller(
            f"the kernel for {block.probs.device} cannot be compiled here ({str(error).splitlines()[0]}); "
            "plain operations give the same result several times slower; fused=False selects them"
        )
        add_block(sums, first_fault, block, plan)


def _launch_there(sums: Tensor, first_fault: Tensor, block: Block, plan: Plan) -> None:
    if block.probs.device.index == torch.cuda.current_device():
        _launch(sums, first_fault, block, plan)
    else:
        with torch.cuda.device(block.probs.device):
            _launch(sums, first_fault, block, plan)


def _launch(sums: Tensor, first_fault: Tensor, block: Block, plan: Plan) -> None:
    probs, target, groups, start = block
    target = target.view(torch.uint8) if target.dtype == torch.bool else target
    count, classes, inner = probs.shape
    by_image, by_class, by_place = probs.stride()
    shared = classes > FEW and by_class == 1
    height = 1 if shared else HEIGHT
    width = min(1 << (classes - 1).bit_length(), WIDEST) if shared else 1
    rows = count * inner
    _add[(-(-rows // height),)](
        probs, target, target if groups is None else groups, *tables(plan.cells, probs.device), sums, first_fault,
        rows, inner, by_image, by_class, by_place, *target.stride(), *(target if groups is None else groups).stride(),
        start, plan.size, plan.trash, plan.cells.equal, plan.cells.count, plan.group_size, plan.groups,
        tolerance_of(plan, probs.dtype), 0 if plan.ignore_index is None else plan.ignore_index,
        CLASSES=classes, BINARY=plan.classes is None, TOP=plan.classes is None or plan.top_label, EVENT=plan.event,
        EACH=plan.classwise, IGNORES=plan.ignore_index is not None, GROUPED=groups is not None,
        WIDE=tl.float64 if probs.dtype == torch.float64 else tl.float32, CUT=plan.cells.is_grid, HEIGHT=height,
        WIDTH=width, NARROW=min(width, NARROWEST), UNROLL=classes <= FEW, PACKED=inner == 1 and by_image == classes,
        SPREAD=LANES, num_warps=1 if shared else 4,
    )  # fmt: skip


@jit
def _share(origin, tolerance, CLASSES: tl.constexpr, WIDE: tl.constexpr, WIDTH: tl.constexpr):
    """The largest entry of one row and its class, or a negative code for an invalid row."""
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
    """Include one more class of each row."""
    above = value > best
    return tl.where(above, value, best), tl.where(above, k, place), total + value, tl.minimum(least, value)


@jit
def _read(
    origin, there, by_class, tolerance,
    CLASSES: tl.constexpr, BINARY: tl.constexpr, EVENT: tl.constexpr, WIDE: tl.constexpr, HEIGHT: tl.constexpr,
    UNROLL: tl.constexpr,
):  # fmt: skip
    """The largest entry of each row, or the second of two, and its class, or a negative code for an invalid row."""
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
    if EVENT:
        best = value
        place = tl.where(place < 0, place, 1)
    return best, place


@jit
def _slot(score, edges, first, equal, CUT: tl.constexpr):
    """The cell of each score, counted from 0."""
    # The product finds the equal-width cell up to one; two comparisons correct it.
    cell = tl.minimum(tl.ceil(score * equal).to(tl.int32), equal)
    past = score > tl.load(edges + tl.load(first + cell))
    cell = tl.minimum(cell + past.to(tl.int32), equal)
    before = tl.load(first + tl.maximum(cell - 1, 0))
    short = (cell > 0) & (score <= tl.load(edges + before))
    cell = cell - short.to(tl.int32)
    slot = tl.load(first + cell)
    if CUT:
        # An equal-width cell has at most 93 subdivisions: seven bisection steps.
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
def _drop(sums, size, place, score, counts):
    """Add scores as integer multiples of 2^-62, in two parts."""
    fixed = (score * 4611686018427387904.0).to(tl.int64)
    higher = fixed >> 38
    lower = fixed & 274877906943
    tl.atomic_add(sums + (place + size), higher, mask=counts & (higher > 0), sem="relaxed")
    tl.atomic_add(sums + (place + size + size), lower, mask=counts & (lower > 0), sem="relaxed")


@jit
def _pile(sums, size, place, score, counts):
    """Combine rows with the same address before adding: thousands of atomic additions at one address would be serialized."""
    fixed = tl.where(counts, (score * 4611686018427387904.0).to(tl.int64), 0)
    rows = tl.sum(counts.to(tl.int64), axis=0)
    tl.atomic_add(sums + place, rows, mask=rows > 0, sem="relaxed")
    tl.atomic_add(sums + (place + size), tl.sum(fixed >> 38, axis=0), mask=rows > 0, sem="relaxed")
    tl.atomic_add(sums + (place + size + size), tl.sum(fixed & 274877906943, axis=0), mask=rows > 0, sem="relaxed")


@jit
def _add_each(
    sums, size, origin, by_class, start, cells, label, counts, edges, first, equal,
    CLASSES: tl.constexpr, GROUPED: tl.constexpr, WIDE: tl.constexpr, CUT: tl.constexpr, HEIGHT: tl.constexpr,
):  # fmt: skip
    """Add every class of each row against the rest."""
    one = tl.full((HEIGHT,), 1, tl.int64)
    for k in range(CLASSES):
        score = tl.load(origin + k * by_class, mask=counts, other=0.0).to(WIDE).to(tl.float64)
        slot = _slot(score, edges, first, equal, CUT).to(tl.int64)
        section = start + 2 * cells * tl.cast(k, tl.int64)
        hit = label == k
        some = counts
        if not GROUPED:
            # Confident models give most classes probability 0 or 1.
            nothing = counts & (slot == 0) & (hit == 0)
            everything = counts & (slot == cells - 1) & hit
            begin = tl.min(section, axis=0)
            _pile(sums, size, begin, score, nothing)
            _pile(sums, size, begin + 2 * cells - 1, score, everything)
            some = counts & (nothing == 0) & (everything == 0)
        place = section + 2 * slot + hit.to(tl.int64)
        tl.atomic_add(sums + place, one, mask=some, sem="relaxed")
        _drop(sums, size, place, score, some)


@jit
def _share_each(
    sums, size, origin, start, cells, label, counts, edges, first, equal,
    CLASSES: tl.constexpr, WIDE: tl.constexpr, CUT: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Add every class of one row against the rest."""
    column = tl.arange(0, WIDTH)
    one = tl.full((WIDTH,), 1, tl.int64)
    for left in range(0, CLASSES, WIDTH):
        k = left + column
        known = (k < CLASSES) & counts
        score = tl.load(origin + k, mask=known, other=0.0).to(WIDE).to(tl.float64)
        slot = _slot(score, edges, first, equal, CUT).to(tl.int64)
        place = start + 2 * (k.to(tl.int64) * cells + slot) + (label == k).to(tl.int64)
        tl.atomic_add(sums + place, one, mask=known, sem="relaxed")
        _drop(sums, size, place, score, known)


@jit
def _add(
    probs, target, groups, edges, first, sums, first_fault,
    rows, inner, by_image, by_class, by_place, target_by_image, target_by_place, group_by_image, group_by_place,
    start, size, trash, equal, cells, group_size, group_count, tolerance, ignore_index,
    CLASSES: tl.constexpr, BINARY: tl.constexpr, TOP: tl.constexpr, EVENT: tl.constexpr, EACH: tl.constexpr,
    IGNORES: tl.constexpr, GROUPED: tl.constexpr, WIDE: tl.constexpr, CUT: tl.constexpr, HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr, NARROW: tl.constexpr, UNROLL: tl.constexpr, PACKED: tl.constexpr, SPREAD: tl.constexpr,
):  # fmt: skip
    """Add rows to their cells, and invalid rows to the counters of their causes, numbered as in `sketching`."""
    begin = tl.program_id(0).to(tl.int64) * HEIGHT
    row = begin + tl.arange(0, HEIGHT)
    there = row < rows
    image = row // inner
    within = row - image * inner
    if WIDTH > 1:
        # With a compile-time stride a thread reads four entries at once.
        origin = probs + (begin * CLASSES if PACKED else (begin // inner) * by_image + (begin % inner) * by_place)
        high, at = _share(origin, tolerance, CLASSES, WIDE, WIDTH)
        top = tl.full((HEIGHT,), 0.0, WIDE) + high
        place = tl.zeros((HEIGHT,), tl.int32) + at
    else:
        origin = probs + image * by_image + within * by_place
        top, place = _read(origin, there, by_class, tolerance, CLASSES, BINARY, EVENT, WIDE, HEIGHT, UNROLL)
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
    tl.atomic_min(first_fault + row * 0, row + start, mask=there & (cause > 0), sem="relaxed")
    if EACH:
        classes = base + (2 * cells if TOP else 0)
        if WIDTH > 1:
            _share_each(
                sums, size, origin, tl.sum(classes, axis=0), cells, tl.sum(label, axis=0),
                tl.max(counts.to(tl.int32), axis=0) > 0, edges, first, equal, CLASSES, WIDE, CUT, NARROW,
            )  # fmt: skip
        else:
            _add_each(
                sums, size, origin, by_class, classes, cells, label, counts, edges, first, equal,
                CLASSES, GROUPED, WIDE, CUT, HEIGHT,
            )  # fmt: skip
    waste = trash + cause.to(tl.int64) * SPREAD + (row & (SPREAD - 1))
    if TOP:
        score = tl.where(counts, top.to(tl.float64), 0.0)
        apart = there
        if not GROUPED:
            certain = counts & (score == 1.0)
            _pile(sums, size, 2 * (cells - 1), score, certain & (hit == 0))
            _pile(sums, size, 2 * (cells - 1) + 1, score, certain & hit)
            apart = there & (certain == 0)
            counts = counts & (certain == 0)
            score = tl.where(certain, 0.0, score)
        slot = _slot(score, edges, first, equal, CUT).to(tl.int64)
        where = tl.where(counts, base + 2 * slot + hit.to(tl.int64), waste)
        tl.atomic_add(sums + where, tl.full((HEIGHT,), 1, tl.int64), mask=apart, sem="relaxed")
        _drop(sums, size, where, score, counts)
    else:
        tl.atomic_add(sums + waste, tl.full((HEIGHT,), 1, tl.int64), mask=there & (cause >= 0), sem="relaxed")
