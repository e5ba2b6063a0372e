"""Recalibration: calibration methods compared on held-out data, on a bounded number of rows."""

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
from ..recalibration.choosing import Recalibration, recalibrate, rows_summing_to_one
from ..recalibration.methods import METHODS
from ..recalibration.scores import Scores
from ..util.hashes import content_order
from .content import CalibratorTable
from .wording import remark, static_texts

FOLDS = 5
# The cost of fitting grows faster than the number of rows; more rows would not change the choice.
MOST_ROWS, MOST_ENTRIES, LEAST_ROWS = 100_000, 250_000, 5_000
# Rows that are named where the log loss is infinite.
NAMED_ROWS = 5
MEASURE, TEST = "smece", "ecce_mad"


def sampled_rows(p: Predictions, most: int, seed: int) -> NDArray[np.intp]:
    """Return all rows, or a random subset of `most` rows in their order, which the seed and the content of the rows determine."""
    if p.n <= most:
        return np.arange(p.n)
    order = content_order(*p.content)
    return np.sort(order[np.random.default_rng(seed).choice(p.n, most, replace=False)])


def row_count(p: Predictions) -> int:
    """Return the number of rows, with counts expanded."""
    return p.n if p.weight is None or p.weight_kind != "counts" else round(float(p.weight.sum()))


def most_rows(k: int) -> int:
    """Return the number of rows of `k` classes on which calibration methods are compared."""
    return min(MOST_ROWS, max(LEAST_ROWS, MOST_ENTRIES // k))


def compare_calibrators(p: Predictions, level: float, seed: int) -> CalibratorTable:
    """Compare the calibration methods that the sample size supports; where that is impossible, give the reason.

    Parameters
    ----------
    p : Predictions
        The predictions; soft labels, multilabel predictions and confidences alone have no calibrators.
    level : float
        Confidence level of the intervals of the gains.
    seed : int
        Seed of the subset, where there are too many rows, and of the folds.

    Returns
    -------
    CalibratorTable
        The section of the report.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> compare_calibrators(Predictions([0, 1], [0.1, 0.6]), 0.95, 0).reason
    'too few rows for 5 folds: at least 10 are required; got 2'
    """
    if p.labels is None or p.kind not in ("binary", "multiclass"):
        what = "the labels are soft" if p.labels is None else f"these are {p.kind} predictions"
        return no_calibrators(p, level, f"calibrators need one class for each row, and {what}")
    if len(np.unique(p.labels)) == 1:
        return no_calibrators(p, level, "only one class occurs, so a calibrator cannot be fitted")
    rows = sampled_rows(p, most_rows(p.k), seed)
    # recalibrate would do the same; the remaining error has to be measured on exactly these rows.
    part = rows_summing_to_one(p if len(rows) == p.n else p.take(rows))
    excluded = excluded_outcomes(part)
    import scipy.optimize  # noqa: F401  (nearly all fits use it: loaded once, before processes are started)

    try:
        chosen = recalibrate(part, loss="brier" if excluded else "nll", folds=FOLDS, level=level, rng=seed)
    except CalibrantError as error:
        return no_calibrators(p, level, error.problem)
    before, after, pvalue = (None, None, None) if chosen.method == "none" else _left(chosen.held_out, part, seed)
    return replace(
        calibrators_of(chosen, FOLDS),
        rows=row_count(part),
        of=row_count(p),
        before=before,
        after=after,
        pvalue_after=pvalue,
        notes=(
            *(["Compared by the Brier score, because the log loss is infinite."] if excluded else []),
            *_notes(chosen, part, p),
        ),
    )


def excluded_outcomes(p: Predictions) -> str:
    """Return which rows make the log loss infinite, and the remedy; empty where none does."""
    if p.labels is None or p.kind not in ("binary", "multiclass"):
        return ""
    rows = np.flatnonzero(Scores(p).probs[np.arange(p.n), p.labels] == 0)
    if len(rows) == 0:
        return ""
    listed = ", ".join(f"{row:,}" for row in rows[:NAMED_ROWS].tolist())
    more = ", ..." if len(rows) > NAMED_ROWS else ""
    which = f"row {listed} has" if len(rows) == 1 else f"{len(rows):,} rows ({listed}{more}, counted from 0) have"
    return remark("excluded", which=which)


def calibrators_of(chosen: Recalibration, folds: int) -> CalibratorTable:
    """Return the result of `recalibrate` as a section."""
    own = METHODS.get(chosen.method)
    titles = static_texts("texts.toml")["methods"]
    description = titles.get(chosen.method) or (own.title if own else "") or chosen.method.replace("_", " ")
    temperature = getattr(chosen.calibrator, "temperature_", None)
    if temperature is not None and math.isfinite(temperature):
        description += f" (T = {temperature:.3g})"
    return CalibratorTable(
        method=chosen.method,
        description=description,
        entries=tuple(chosen.candidates),
        loss=chosen.loss,
        folds=folds,
        level=chosen.level,
        rows=chosen.n,
        of=chosen.n,
        notes=tuple(f"{c.method}: {c.note}." for c in chosen.candidates if c.note),
    )


def _left(held: Any, p: Predictions, seed: int) -> tuple[float | None, float | None, float | None]:
    """Return the held-out error before and after the chosen calibrator, given its held-out probabilities, and the p-value of the remaining error."""
    assert p.labels is not None
    weights: dict[str, Any] = {"counts" if p.weight_kind == "counts" else "sample_weight": p.weight}
    plain = Predictions.derived(p.labels, Scores(p).probs, normalize=1e-2, **weights)
    mapped = Predictions.derived(p.labels, held, **weights)
    try:
        before, after = catalogue[MEASURE](plain), catalogue[MEASURE](mapped)
    except CalibrantError:
        return None, None, None
    try:
        return before, after, assess(mapped, metric=TEST, rng=seed).pvalue
    except CalibrantError:
        return before, after, None


def no_calibrators(p: Predictions, level: float, reason: str) -> CalibratorTable:
    """Return an empty section with its reason."""
    return CalibratorTable("none", "", (), "nll", FOLDS, level, 0, row_count(p), reason=reason)


def _notes(chosen: Recalibration, part: Predictions, p: Predictions) -> list[str]:
    notes = []
    if part.n < p.n:
        notes.append(f"Compared on {row_count(part):,} of {row_count(p):,} rows, sampled at random with the seed.")
    if part.weight_kind == "counts":
        notes.append("Rows given with a count stay together in one fold.")
    if chosen.note:
        notes.append(chosen.note[0].upper() + chosen.note[1:] + ".")
    return [*notes, remark("removed")] if chosen.method != "none" else notes
