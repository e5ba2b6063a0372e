"""Scores of 0 and 1 in log-odds: the warning about them, and the rows without them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..curves.logistic_regression import CLIP
from ..errors import BoundaryScoresWarning, warn_caller
from ..util.arrays import Array
from ..views.view import FixedRest, VectorView, View

AnyView = View | VectorView

DOMINATED = f"their log-odds are clipped at {CLIP:g} or 1 - {CLIP:g}, where a few rows can dominate the fit"


def _are_sure(scores: Array) -> Any:
    return (scores < CLIP) | (scores.astype(np.float64) > 1 - CLIP)


def warn_of_sure_scores(view: AnyView, who: str, effect: str = DOMINATED) -> None:
    """Warn of scores within 1e-12 of 0 and 1, whose log-odds are truncated, and of the effect; once per view."""
    scores = view.raw_score if isinstance(view, View) else view.raw_probs
    if not view.n:
        return
    if (scores.min() >= CLIP and scores.max() <= 1 - CLIP) or view.__dict__.get("warned_of_sure_scores"):
        return
    view.__dict__["warned_of_sure_scores"] = True
    sure = _are_sure(scores)
    rows = sure if scores.ndim == 1 else sure.any(axis=1)
    problem = f"{np.count_nonzero(rows):,} of {view.n:,} rows have a score within {CLIP:g} of 0 or 1"
    remedy = "clip the scores at 1e-6 and 1 - 1e-6"
    warn_caller(BoundaryScoresWarning(who, f"{problem}; {effect}", remedy))


def inside(view: View) -> View:
    """Return the view without the rows whose log-odds would be truncated."""
    sure = _are_sure(view.raw_score)
    if not sure.any():
        return view
    if "inside" not in view.tables:
        at = np.flatnonzero(~sure)
        rows = None if view.rows is None else view.rows.take(at)
        # Values, since a part that refers to its view could not be freed with it.
        view.tables["inside"] = view.part(at, rows=rows, rest=FixedRest(view.rest[at]))
    found: View = view.tables["inside"]
    return found
