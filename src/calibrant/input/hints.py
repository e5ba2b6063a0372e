"""Warnings about valid predictions that look unintended; a sample of rows is checked first, and all rows only if it fits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..errors import (
    HardPredictionsWarning,
    ProbabilitiesAsLogitsWarning,
    ReversedClassesWarning,
    warn_caller,
)
from ..util.arrays import Array

if TYPE_CHECKING:
    from .predictions import Predictions


# Size of the sample that is checked first: enough to distinguish mistakes from intended data at little cost.
FIRST_ROWS = 16
SAMPLED = 100
# Fewer rows are not informative; they may be a hand-made example.
FEWEST_HARD = 10
FEWEST_REVERSED = 30
FEWEST_LOGITS = 4
# Gain in log-likelihood from which logits are suspected to be probabilities: a false alarm has probability e^-10 or less.
LIKELIER = 10.0
# Number of standard errors by which an accuracy must be below another number.
FAR = 4.0
LIKE_PROBABILITIES = (
    "these values look like probabilities (every row is non-negative and sums to 1, or every entry lies in [0, 1] and "
    "fits the labels better that way); as logits they pass through a softmax or sigmoid once more"
)


def hint_at_mistakes(p: Predictions, tolerance: float) -> None:
    """Warn of probabilities passed as logits, of hard predictions, or of reversed classes; at most one warning."""
    if p.logits is not None:
        if are_probabilities(p.logits, p.labels, tolerance, multilabel=p.kind == "multilabel"):
            warn_caller(
                ProbabilitiesAsLogitsWarning(
                    "y_prob",
                    LIKE_PROBABILITIES,
                    "drop input='logit', or use output=lambda p: p.log() in collect for a torch model that ends in a softmax",
                )
            )
            return
    # One entry decides in most cases.
    elif (
        p.kind != "confidence"
        and len(p.probs) >= FEWEST_HARD
        and p.probs.item(0) in (0.0, 1.0)
        and ((p.probs == 0) | (p.probs == 1)).all()
    ):
        warn_caller(
            HardPredictionsWarning(
                "y_prob",
                "every entry is exactly 0 or 1, so these look like predicted classes rather than probabilities",
                "pass the output of predict_proba",
            )
        )
        return
    problem = describe_reversal(p)
    if problem:
        warn_caller(
            ReversedClassesWarning(
                "y_prob",
                problem,
                "check which class each column belongs to or pass pos_label"
                if p.k == 2
                else "check that the columns are in the order of the classes",
            )
        )


def are_probabilities(logits: Array, labels: Array | None, tolerance: float, *, multilabel: bool = False) -> bool:
    """Whether logits look like probabilities: their rows sum to 1, or they fit the labels better that way."""
    if logits.ndim == 2 and not multilabel:
        if _sum_to_one(logits[:1], tolerance) and len(logits) >= FEWEST_LOGITS:
            fractions = bool(((logits > 0) & (logits < 1)).any())
            return (fractions or len(logits) >= FEWEST_HARD) and _sum_to_one(logits, tolerance)
        if logits.shape[1] > 2 or logits[:FIRST_ROWS, 0].any() or logits[:, 0].any():
            return False
        logits = logits[:, 1]  # one output z is equivalent to the columns 0 and z
    first = logits[:FIRST_ROWS]
    if not (first.min() >= 0 and first.max() <= 1) or len(logits) < FEWEST_HARD or labels is None:
        return False
    if not (logits.min() >= 0 and logits.max() <= 1):
        return False
    z = logits.astype(np.float64)
    inside = np.clip(z, 1e-7, 1 - 1e-7)
    as_probabilities = np.where(labels > 0, np.log(inside), np.log1p(-inside))
    as_logits = -np.logaddexp(0, np.where(labels > 0, -z, z))
    return float((as_probabilities - as_logits).sum()) > LIKELIER


def _sum_to_one(rows: Array, tolerance: float) -> bool:
    return bool(rows.min() >= 0 and np.abs(rows.sum(axis=1, dtype=np.float64) - 1).max() <= tolerance)


def describe_reversal(p: Predictions) -> str:
    """State accuracy and mean confidence if the classes look reversed; empty otherwise."""
    if p.n < FEWEST_REVERSED or p.labels is None or p.kind not in ("binary", "multiclass"):
        return ""
    step = -(-p.n // SAMPLED)
    if p.top_correct is None:
        is_correct: Array = (p.probs[::step] > 0.5) == p.labels[::step]
    else:
        is_correct = p.top_correct[::step]
    # For correctly ordered classes, chance rarely exceeds this.
    if np.count_nonzero(is_correct) * p.k >= len(is_correct):
        return ""
    weight = np.ones(p.n) if p.weight is None else p.weight.astype(np.float64)
    share = weight / weight.sum()
    size = 1 / float(np.square(share).sum()) if p.weight_kind != "counts" else float(weight.sum())
    confidence = p.top_score if p.top_score is not None else np.maximum(p.probs, 1 - p.probs)
    correct = p.top_correct if p.top_correct is not None else (p.probs > 0.5) == p.labels
    accuracy, sure = float(share @ correct), float(share @ confidence.astype(np.float64))
    if p.k == 2:
        is_reversed = 0.5 - accuracy > FAR * 0.5 / math.sqrt(size) and _falls_with_the_label(p, share, size)
    else:
        # Errors more frequent than predicted, and than by random guessing, indicate columns in a different order.
        bound = min(1 - sure, 1 / p.k)
        is_reversed = sure > 0.5 and bound - accuracy > FAR * math.sqrt(bound * (1 - bound) / size)
    if not is_reversed:
        return ""
    order = "reversed" if p.k == 2 else "permuted"
    return f"accuracy is {accuracy:.1%} at a mean confidence of {sure:.1%}, so the classes look {order}"


def _falls_with_the_label(p: Predictions, share: Array, size: float) -> bool:
    """Whether the positive class has clearly lower scores than the other; a shift of the base rate alone leaves them higher."""
    score = (p.probs if p.probs.ndim == 1 else p.probs[:, 1]).astype(np.float64)
    means, variances = [], []
    for label in (0, 1):
        weight = np.where(p.labels == label, share, 0.0)
        total = float(weight.sum())
        if total * size < 5:
            return False
        mean = float(weight @ score) / total
        means.append(mean)
        variances.append(float(weight @ np.square(score - mean)) / total / (total * size))
    return means[0] - means[1] > FAR * math.sqrt(sum(variances)) and means[0] - means[1] > 1e-12
