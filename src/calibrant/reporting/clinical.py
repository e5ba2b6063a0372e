"""The clinical part of a report: performance of a risk model, and its curves."""

from __future__ import annotations

from ..clinical.performance import one_event, summarize
from ..errors import CalibrantError
from ..figures.decision_curves import DecisionCurve, decision_curve
from ..figures.flexible_curves import flexible_calibration_curve
from ..input.grouping import groups_of
from ..input.predictions import Predictions
from ..util.checks import least_resamples
from ..views.view import View
from .content import Clinical, Subgroup
from .settings import Settings

# Statistics of each subgroup.
BRIEF = ("c", "intercept", "slope", "oe")
MOST_SUBGROUPS = 30


def clinical_part(p: Predictions, settings: Settings, outcome: str) -> Clinical:
    """Compute the clinical part of a report on checked predictions."""
    lens = "auto" if settings.lens is None else settings.lens
    view, level, seed = one_event(p, lens), settings.known_level, settings.seed
    draws = max(settings.n_resamples, least_resamples(level))
    summary = summarize(p, lens, "loess", level, draws, seed, outcome=outcome or None)
    groups: list[Subgroup] = []
    parts = [] if p.groups is None else list(groups_of(p))
    for grouping, place, rows in parts[:MOST_SUBGROUPS]:
        part = summarize(p.take(rows), lens, "loess", level, 0, 0)
        groups.append(Subgroup(str(grouping.labels[place]), part.n, part.events, tuple(part[id] for id in BRIEF)))
    notes = summary.notes
    if len(parts) > len(groups):
        notes = (*notes, f"{len(groups)} of {len(parts)} subgroups are shown; validate_by_group has all of them")
    return Clinical(
        summary,
        flexible_calibration_curve(view, level=level),
        _benefit(view, level),
        tuple(groups),
        notes,
    )


def _benefit(view: View, level: float) -> DecisionCurve | None:
    """The decision curve up to the largest risk, beyond which the model treats no one; None where it is undefined."""
    largest = max(float(view.score.max()), 0.1)
    try:
        curve = decision_curve(view, level=level)
        return decision_curve(view, level=level, thresholds=curve.threshold[curve.threshold <= largest])
    except CalibrantError:
        return None
