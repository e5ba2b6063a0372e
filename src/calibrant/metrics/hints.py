"""Warnings about sensitive scores: at 0 and 1 in log-odds, and at bin edges in float32."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binning.rules import Edges, EqualWidth
from ..curves.logistic_regression import CLIP
from ..errors import ArgumentError, BoundaryScoresWarning, EdgeRoundingWarning, warn_caller
from ..views.view import FixedRest, VectorView, View

Array = NDArray[Any]
AnyView = View | VectorView

# One score on an edge in a sample of this size triggers the check of all.
SAMPLED = 100
# From this fraction and this number of scores on an edge a warning is raised.
SHARE, FEWEST = 0.05, 10
DOMINATED = f"their log-odds are clipped at {CLIP:g} or 1 - {CLIP:g}, where a few rows can dominate the fit"


def _are_sure(scores: Array) -> Any:
    return (scores < CLIP) | (scores.astype(np.float64) > 1 - CLIP)


def warn_of_sure_scores(view: AnyView, who: str, edge: str | None = None, effect: str = DOMINATED) -> None:
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
    if edge == "drop":
        wrong = int(np.count_nonzero(np.abs(view.outcome - view.score)[rows] > 0.5))  # type: ignore[union-attr]
        problem += f" and are left out, {wrong:,} of them with the other outcome"
        warn_caller(BoundaryScoresWarning(who, problem, "use edge='clip' to keep them"))
        return
    leave_out = "drop these rows" if edge is None else "use edge='drop' to leave these rows out"
    remedy = f"clip the scores at 1e-6 and 1 - 1e-6, or {leave_out}"
    warn_caller(BoundaryScoresWarning(who, f"{problem}; {effect}", remedy))


def refuse_dropped() -> None:
    """Raise for a sketch, whose first and last cells hold scores of 0 and 1 together with others."""
    raise ArgumentError(
        "edge", "'drop' requires the rows: a sketch does not keep scores of 0 and 1 apart", "pass the rows instead"
    )


def inside(view: View) -> View:
    """Return the view without the rows whose log-odds would be truncated."""
    sure = _are_sure(view.raw_score)
    if not sure.any():
        return view
    if "inside" not in view.tables:
        at = np.flatnonzero(~sure)
        weight = None if view.weight is None else view.weight[at]
        log_odds = None if view.log_odds is None else view.log_odds[at]
        rest = None if view.complement is None else FixedRest(view.rest[at])
        view.tables["inside"] = View(
            view.raw_score[at],
            view.raw_outcome[at],
            weight,
            view.weight_kind,
            rows=None if view.rows is None else view.rows.take(at),
            lens=view.lens,
            log_odds=log_odds,
            rest=rest,
            classes=view.classes,
        )
    found: View = view.tables["inside"]
    return found


def hint_at_edges(view: View, rule: Any) -> None:
    """Warn if many float32 scores coincide with bin edges up to rounding, which then decides their bin."""
    edges = _edges(rule) if view.raw_score.dtype == np.float32 else None
    if edges is None:
        return
    if view.column is not None:
        # All classes are checked together with the first one.
        classes, index = view.column
        if index:
            return
        scores = classes.probs.reshape(-1)
    else:
        scores = view.raw_score
    values, exact = _rounded_edges(edges)
    if not _on_edge(scores[:: -(-len(scores) // SAMPLED)], values):
        return
    count = _on_edge(scores, values)
    if count < max(FEWEST, SHARE * len(scores)) or ("edges", edges) in view.tables:
        return
    view.tables["edges", edges] = True
    place = values[np.isin(values, scores)][0]  # not the last, which is infinite
    edge = exact[np.searchsorted(values, place)]
    warn_caller(
        EdgeRoundingWarning(
            "y_prob",
            f"{count:,} of {len(scores):,} scores in {scores.dtype} lie on a bin edge up to rounding (such as {edge:g}, stored as "
            f"{float(place):.9g}), so rounding decides their bin",
            "pass rounded float64 scores, y_prob.astype('float64').round(6), or use edges between the scores, bins=[0, ..., 1]",
        )
    )


def _on_edge(scores: Array, values: Array) -> int:
    return int(np.count_nonzero(values[values.searchsorted(scores)] == scores))


def _edges(rule: Any) -> tuple[float, ...] | int | None:
    """Return the bins as a number of equal widths or as edges; None if they depend on the scores or their range."""
    if isinstance(rule, Edges):
        return tuple(rule.edges)
    plain = isinstance(rule, EqualWidth) and rule.range == (0.0, 1.0) and rule.edges == "exact"
    return rule.bins if plain else None


@lru_cache(maxsize=64)
def _rounded_edges(edges: tuple[float, ...] | int) -> tuple[Array, Array]:
    """Return the inner edges rounded to float32, float16 and bfloat16, where that changes them, in increasing order and followed by
    infinity; and the edges.
    """
    exact = np.arange(1, edges) / edges if isinstance(edges, int) else np.asarray(edges[1:-1])
    if len(exact) > 4096:
        return np.array([np.inf], np.float32), exact
    single = exact.astype(np.float32)
    bits = single.view(np.uint32)
    brain = ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(
        np.float32
    )
    held = np.concatenate([single, exact.astype(np.float16).astype(np.float32), brain])
    owner = np.tile(exact, 3)
    values, first = np.unique(held[held != owner], return_index=True)
    return np.append(values, np.float32(np.inf)), owner[held != owner][first]
