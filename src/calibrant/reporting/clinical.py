"""The clinical part of a report: performance of a risk model, and its curves."""

from __future__ import annotations

from contextlib import suppress

from ..clinical.performance import one_event, summarize
from ..errors import CalibrantError
from ..figures.decision_curves import decision_curve
from ..figures.flexible_curves import flexible_calibration_curve
from ..input.predictions import Predictions
from ..util.checks import least_resamples
from .content import Clinical, Subgroup
from .settings import Settings
from .summary import parts_by_group

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
    parts = parts_by_group(p)
    for name, part in parts[:MOST_SUBGROUPS]:
        found = summarize(part, lens, "loess", level, 0, 0)
        groups.append(Subgroup(name, found.n, found.events, tuple(found[id] for id in BRIEF)))
    notes = summary.notes
    if len(parts) > len(groups):
        notes = (*notes, f"{len(groups)} of {len(parts)} subgroups are shown; validate_by_group has all of them")
    benefit = None
    with suppress(CalibrantError):
        benefit = decision_curve(view, level=level)
    return Clinical(
        summary,
        flexible_calibration_curve(view, level=level),
        benefit,
        tuple(groups),
        notes,
    )
