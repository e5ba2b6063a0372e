"""Validation of weights, counts, groups and features."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..errors import GroupError, InputError, InputTypeError, ShapeError, WeightError
from ..util.arrays import Array as Array
from .convert import column, is_hashable, is_missing, missing_values, numbers

WeightKind = Literal["unit", "counts", "importance"]


# Beyond this a count is not exact in float64, and sums of counts would overflow.
MAX_COUNT = 2**53
# Whole numbers of groups in a range up to this size, or the number of rows, are counted.
FEW_CODES = 1 << 12
# Units of time that Python's dates do not have.
BELOW_MICROSECONDS = ("ns", "ps", "fs", "as")
# Weights between 2**-64 and 2**64 are kept unchanged.
USUAL_EXPONENT = 64


def read_weights(sample_weight: Any, counts: Any, n: int) -> tuple[Array | None, WeightKind]:
    """Check weights of either kind: counts as integers, importance weights unchanged, or scaled by a power of two if extreme."""
    if sample_weight is None and counts is None:
        return None, "unit"
    if sample_weight is not None and counts is not None:
        raise WeightError("sample_weight", "cannot be combined with counts", "multiply them, or drop one")
    name = "counts" if sample_weight is None else "sample_weight"
    weight = numbers(column(counts if sample_weight is None else sample_weight, name).array, name)
    if weight.shape != (n,):
        raise ShapeError(name, f"expected one number for each of {n} rows, got shape {weight.shape}")
    with np.errstate(invalid="ignore"):
        bad = ~(np.isfinite(weight) & (weight >= 0))
        if name == "counts":
            bad |= weight != np.floor(weight)
    if bad.any():
        row = int(np.argmax(bad))
        rule = "counts must be non-negative integers" if name == "counts" else "weights must be finite and non-negative"
        fraction = name == "counts" and weight[row] > 0
        remedy = "pass sample_weight for real weights" if fraction else "drop or correct the row"
        raise WeightError(name, f"{rule}; got {weight[row].item()}", remedy, row=row)
    if not weight.any():
        kind = "count" if name == "counts" else "weight"
        raise WeightError(name, f"all {kind}s are zero", f"give at least one row a positive {kind}")
    if name == "counts":
        if weight.sum(dtype=np.float64) > MAX_COUNT:
            problem = f"counts must not add up to more than 2**53 rows; got {weight.sum(dtype=np.float64):.6g}"
            raise WeightError(name, problem, "pass sample_weight where only ratios matter")
        return weight.astype(np.int64), "counts"
    weight = weight.astype(np.float64)
    if (
        (weight == weight.max()) | (weight == 0)
    ).all():  # equal weights are dropped, also for metrics without support of weights
        return (weight > 0).astype(np.float64), "importance"
    # Only ratios matter, so tiny or huge weights are scaled; powers of their sums would underflow or overflow.
    exponent = int(np.frexp(weight.max())[1])
    return weight if abs(exponent) <= USUAL_EXPONENT else np.ldexp(weight, -exponent), "importance"


def read_groups(groups: Any, n: int) -> tuple[Array | None, tuple[Any, ...]]:
    """Return the index of the group of each row, and the names of the groups in order."""
    if groups is None:
        return None, ()
    values = group_values(groups, n)
    if values.dtype.kind == "O":
        for row, value in enumerate(values.tolist()):
            if not is_hashable(value):
                raise InputTypeError("groups", f"expected text or numbers, got {type(value).__name__}", row=row)
    if values.dtype.kind in "iu" and n:
        low, high = int(values.min()), int(values.max())
        if high - low < max(n, FEW_CODES):  # codes of groups, which need no dictionary
            code = (values.astype(np.uint64) - np.uint64(low % 2**64)).astype(np.intp)
            present = np.bincount(code) > 0
            return (np.cumsum(present) - 1)[code], tuple(low + offset for offset in np.flatnonzero(present).tolist())
    items = values.tolist()
    names = sorted(
        set(items),
        key=lambda value: (str(type(value)), value if isinstance(value, (int, float, str)) else str(value)),
    )
    position = {name: code for code, name in enumerate(names)}
    return np.fromiter(map(position.__getitem__, items), np.intp, n), tuple(names)


def group_values(groups: Any, n: int) -> Array:
    """Return the group of each row as an array; missing groups raise."""
    try:
        values = column(groups, "groups").array
    except InputTypeError as error:
        if error.row is None:
            raise
        raise GroupError(
            "groups", "missing group", "name the missing groups, or drop the rows", row=error.row, count=error.count
        ) from None
    if values.shape != (n,):
        several = values.ndim == 2 and n in values.shape
        problem = f"expected one group for each of {n} rows, got shape {values.shape}"
        raise ShapeError("groups", problem, 'pass a dict of columns, {"region": region, ...}' if several else "")
    if values.dtype.kind in "mM":
        hole = np.isnat(values)
    elif values.dtype.kind in "Of":
        hole = np.array([is_missing(value) for value in values.tolist()])
    else:
        hole = np.zeros(n, bool)
    if hole.any():
        row = int(np.argmax(hole))
        raise GroupError("groups", "missing group", "name the missing groups, or drop the rows", row=row)
    if values.dtype.kind == "M" and np.datetime_data(values.dtype)[0] in BELOW_MICROSECONDS:
        # Python's dates end with microseconds: `tolist` would return counts of nanoseconds.
        short = values.astype("datetime64[us]")
        return short if (short == values).all() else values.astype(str)
    return values


def read_features(features: Any, n: int) -> Array | None:
    """Return features as an (N, d) array of finite numbers."""
    if features is None:
        return None
    try:
        values = numbers(column(features, "features").array, "features").astype(np.float64)
    except InputTypeError as error:
        if "text" not in error.problem:
            raise
        remedy = "metrics use numbers; pass text to find_subgroups(..., features=frame[['age', 'plan']])"
        raise error.replaced(remedy=remedy) from None
    values = values[:, None] if values.ndim == 1 else values
    if len(values) != n:
        raise ShapeError("features", f"expected {n} rows, one for each prediction; got {len(values)}")
    missing = np.isnan(values)
    if missing.any():
        count, row = int(missing.sum()), int(np.argmax(missing.any(axis=1)))
        raise InputError("features", missing_values(count), "drop or fill these rows", row=row, count=count)
    bad = np.isinf(values).any(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        value = values[row][np.isinf(values[row])][0]
        raise InputError("features", f"must be finite; got {value}", "drop or fill the row", row=row)
    return values
