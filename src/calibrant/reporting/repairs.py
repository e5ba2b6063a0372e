"""What repairs it: maps compared on rows they have not seen, on a bounded number of rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CalibrantError
from ..inference.significance import assess
from ..input.predictions import Predictions
from ..metrics.registry import catalogue
from ..recalibration.choosing import Candidate, Recalibration, _held_out, recalibrate, rows_summing_to_one
from ..recalibration.methods import METHODS
from ..recalibration.scores import Scores, TrainingData, fold_of_rows
from .content import Repair, Repairs

__all__ = ["find_repairs", "no_repairs", "repairs_of", "sampled_rows", "stood_for"]

FOLDS = 5
# Fits grow faster than the rows; more than this would not change the choice of a map.
MOST_ROWS, MOST_ENTRIES, LEAST_ROWS = 100_000, 2_000_000, 5_000
MEASURE, TEST = "smece", "ecce_mad"
SHARE = (
    "Share repaired: 1 - smece with the map / smece without it, on rows that the map had not seen. The smece of a faultless "
    "model is above 0 with a finite number of rows, so the share is rather too small than too large."
)


def sampled_rows(n: int, most: int, seed: int) -> NDArray[np.intp]:
    """All rows, or `most` of them drawn without replacement, in their order; the same seed gives the same rows."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def stood_for(p: Predictions) -> int:
    """How many rows there are; one given with a count is so many."""
    return p.n if p.weight is None or p.weight_kind != "counts" else round(float(p.weight.sum()))


def most_rows(k: int) -> int:
    """How many rows of `k` classes the maps are compared on."""
    return min(MOST_ROWS, max(LEAST_ROWS, MOST_ENTRIES // k))


def find_repairs(p: Predictions, level: float, seed: int) -> Repairs:
    """Compare the maps that so many rows can bear; where that is impossible, the reason.

    Parameters
    ----------
    p
        The predictions; those with soft labels, several labels or confidences alone have no maps.
    level
        Of the intervals of the gains.
    seed
        Of the rows drawn, where there are too many, and of the folds.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> find_repairs(Predictions([0, 1], [0.1, 0.6]), 0.95, 0).reason
    'needs at least 10 rows for 5 folds; there are 2'
    """
    if p.labels is None or p.kind not in ("binary", "multiclass"):
        what = "the labels are soft" if p.labels is None else f"these are {p.kind} predictions"
        return no_repairs(p, level, f"maps need one class for each row, and {what}")
    if len(np.unique(p.labels)) == 1:
        return no_repairs(p, level, "only one class occurs, so a map could learn nothing but to say so")
    rows = sampled_rows(p.n, most_rows(p.k), seed)
    # recalibrate would do the same; what is left after the map has to be measured on the very same rows.
    part = rows_summing_to_one(p if len(rows) == p.n else p.take(rows))
    try:
        found = recalibrate(part, folds=FOLDS, level=level, rng=seed)
    except CalibrantError as error:
        return no_repairs(p, level, error.problem)
    before, after, pvalue = _left(found, part, seed)
    share = None if before is None or after is None or before <= 0 else 1 - after / before
    return replace(
        repairs_of(found, FOLDS, share),
        rows=stood_for(part),
        of=stood_for(p),
        before=before,
        after=after,
        pvalue_after=pvalue,
        notes=tuple(_notes(found, part, p)),
    )


def repairs_of(found: Recalibration, folds: int, share: float | None = None) -> Repairs:
    """What `recalibrate` found, as a section; `share` is how much of the calibration error the chosen calibrator removes."""
    return Repairs(
        method=found.method,
        description=_description(found),
        entries=tuple(_repair(c, c.method == found.method, share) for c in found.candidates),
        loss=found.loss,
        folds=folds,
        level=found.level,
        rows=found.n,
        of=found.n,
        notes=tuple(f"{c.method}: {c.note}." for c in found.candidates if c.note),
    )


def _weighed(p: Predictions) -> dict[str, Any]:
    return {"counts" if p.weight_kind == "counts" else "sample_weight": p.weight}


def _left(found: Recalibration, p: Predictions, seed: int) -> tuple[float | None, float | None, float | None]:
    """The error without and with the chosen map on the folds by which it was chosen, and the p-value of what is left."""
    if found.method == "none":
        return None, None, None
    kind = METHODS[found.method](input=found.calibrator.input)
    fold = fold_of_rows(TrainingData(p), FOLDS, seed)
    held = _held_out(kind, p, fold, FOLDS)
    assert not isinstance(held, str)  # it was fitted on them before
    assert p.labels is not None
    plain = Predictions.derived(p.labels, Scores(p).probs, sum_tolerance=1e-2, **_weighed(p))
    mapped = Predictions.derived(p.labels, held, **_weighed(p))
    try:
        before, after = catalogue[MEASURE](plain), catalogue[MEASURE](mapped)
    except CalibrantError:
        return None, None, None
    try:
        return before, after, assess(mapped, metric=TEST, rng=seed).pvalue
    except CalibrantError:
        return before, after, None


def no_repairs(p: Predictions, level: float, reason: str) -> Repairs:
    """A section that says why it is empty."""
    return Repairs("none", "", (), "nll", FOLDS, level, 0, stood_for(p), reason=reason)


def _repair(found: Candidate, chosen: bool, share: float | None) -> Repair:
    if found.reason:
        return Repair(found.method, False, None, None, None, None, None, None, found.reason)
    own = share if chosen else None
    return Repair(found.method, chosen, found.loss, found.gain, found.low, found.high, found.ece, own)


def _description(found: Recalibration) -> str:
    """The map in words, with its temperature where it has one."""
    words = METHODS[found.method].title or found.method.replace("_", " ")
    temperature = getattr(found.calibrator, "temperature_", None)
    if temperature is None or not math.isfinite(temperature):
        return words
    return f"{words} {temperature:.3g}"


def _notes(found: Recalibration, part: Predictions, p: Predictions) -> list[str]:
    notes = []
    if part.n < p.n:
        notes.append(f"Compared on {stood_for(part):,} of {stood_for(p):,} rows, drawn at random from the seed.")
    if part.weight_kind == "counts":
        notes.append("Rows given with a count stay together in one fold.")
    if found.note:
        notes.append(found.note[0].upper() + found.note[1:] + ".")
    return [*notes, SHARE] if found.method != "none" else notes
