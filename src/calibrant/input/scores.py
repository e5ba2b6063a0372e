"""Scores become probabilities: their form, logits, clipping and rescaling."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from ..errors import ProbabilityError, ShapeError, SwappedArgumentsError
from ..util.arrays import Array
from ..util.blocks import map_blocks, rows_per_block
from .columns import Columns
from .convert import SUM_TOLERANCE, frozen, numbers
from .labels import SWAP

Kind = Literal["binary", "multiclass", "multilabel", "confidence"]


class Probabilities(NamedTuple):
    """Probabilities of the positive class or of each class; their values are checked together with the labels."""

    probs: Array
    logits: Array | None
    kind: Kind
    k: int
    sum_tolerance: float
    """Largest deviation of the sum of a row from 1, of what was passed."""
    is_stated: bool
    """Whether the user stated the tolerance; else it is wider for printed numbers."""

    @property
    def tolerance(self) -> float:
        """Largest deviation of the sum of a row of probabilities; those of logits sum to 1."""
        return self.sum_tolerance if self.logits is None else np.inf


def read_probabilities(
    columns: Columns, input: str, multilabel: bool, normalize: bool | float, clip: bool
) -> Probabilities:
    """Return the scores as probabilities, with the kind of the problem and the number of classes."""
    probs = _as_floats(numbers(columns.scores.array, "y_prob"), columns.labels.array, multilabel, input)
    rounding = SUM_TOLERANCE.get(columns.scores.precision, 1e-6)
    logits = None
    is_stated = not isinstance(normalize, (bool, np.bool_))
    rescale = bool(normalize) and not is_stated
    if input == "logit":
        logits = frozen(probs)
        probs = _from_logits(probs, multilabel)
    elif clip or rescale:
        probs = _clip_and_normalize(probs, clip, rescale and probs.ndim == 2 and not multilabel)
    k = 2 if probs.ndim == 1 else probs.shape[1]
    kind: Kind = "binary" if k == 2 else "multiclass"
    if input == "confidence":
        kind = "confidence"
    elif multilabel:
        kind = "multilabel"
    tolerance = float(normalize) if is_stated else rounding
    return Probabilities(probs, logits, kind, k, tolerance, is_stated)


def _as_floats(probs: Array, labels: Array, multilabel: bool, input: str) -> Array:
    """Check the shape and convert to floating point; float16 is widened to float32, which represents it exactly."""
    if probs.ndim == 2 and input == "confidence":
        problem = f"confidence is one number per row; got {probs.shape[1]} columns"
        raise ShapeError("y_prob", problem, "pass y_prob.max(axis=1) or drop input='confidence'")
    if probs.ndim == 2 and probs.shape[1] == 1 and not multilabel:
        problem = "has a single column, which could be that of either class"
        raise ShapeError("y_prob", problem, "pass one dimension if it is the probability of the positive class")
    if probs.ndim == 2 and probs.shape[1] == 0:
        raise ShapeError("y_prob", "has no columns", "pass one column per class")
    if probs.ndim == 1 and multilabel:
        raise ShapeError(
            "y_prob", "multilabel predictions must have one column per class; got one dimension", "drop multilabel=True"
        )
    if (
        probs.ndim == 1
        and labels.ndim == 2
        and probs.dtype.kind in "iu"
        and labels.dtype.kind == "f"
        and labels.shape[1] > 2
    ):
        raise SwappedArgumentsError(
            "y_true", "the labels are columns of fractions and the probabilities are integers: they look swapped", SWAP
        )
    if probs.dtype.kind != "f":
        return probs.astype(np.float64)
    return probs.astype(np.float32) if probs.dtype.itemsize == 2 else probs


def _from_logits(logits: Array, multilabel: bool) -> Array:
    """Compute the sigmoid or softmax in float64, block by block and without overflow."""
    columns = 1 if logits.ndim == 1 else logits.shape[1]
    probs = np.empty(logits.shape)
    bad = np.isnan(logits) if logits.ndim == 1 or multilabel else np.isnan(logits) | (logits == np.inf)
    if bad.any():
        where = np.argwhere(bad)[0]
        row = int(where[0])
        raise ProbabilityError(
            "y_prob", f"logits must be finite; got {float(logits[tuple(where)])}", "drop or correct the row", row=row
        )
    softmax = logits.ndim == 2 and not multilabel

    def work(start: int, stop: int) -> None:
        z = logits[start:stop].astype(np.float64)
        if softmax:
            z -= z.max(axis=1, keepdims=True)
            np.exp(z, out=z)
            z /= z.sum(axis=1, keepdims=True)
            probs[start:stop] = z
        else:
            e = np.exp(-np.abs(z))
            probs[start:stop] = np.where(z >= 0, 1.0, e) / (1 + e)

    with np.errstate(invalid="ignore", under="ignore"):
        map_blocks(work, len(logits), rows_per_block(columns), columns=columns)
    if softmax and np.isnan(probs).any():
        row = int(np.argmax(np.isnan(probs).any(axis=1)))
        raise ProbabilityError(
            "y_prob", "at least one logit per row must be finite; all are -inf", "drop or correct the row", row=row
        )
    return probs


def _clip_and_normalize(probs: Array, clip: bool, normalize: bool) -> Array:
    """Clip and normalise as requested; NaN and infinity are left for the check to report."""
    probs = probs.astype(np.float64)
    if clip:
        finite = np.isfinite(probs)
        probs[finite] = probs[finite].clip(0, 1)
    if normalize:
        with np.errstate(over="ignore", invalid="ignore"):
            sums = probs.sum(axis=1)
        if (sums == 0).any():
            row = int(np.argmax(sums == 0))
            raise ProbabilityError("y_prob", "cannot rescale probabilities that sum to 0", "drop the row", row=row)
        negative = (np.isfinite(probs) & (probs < 0)).any(axis=1)
        if negative.any():
            row = int(np.argmax(negative))
            raise ProbabilityError("y_prob", "cannot rescale negative entries", "pass clip=True as well", row=row)
        finite = np.isfinite(sums)
        probs[finite] /= sums[finite, None]
    return probs
