"""The clinical part of a report: performance of a risk model, its curves, and the items of TRIPOD+AI."""

from __future__ import annotations

from itertools import islice

import numpy as np

from ..clinical.performance import ClinicalSummary, one_event, summarize
from ..curves.logistic_regression import logit
from ..errors import CalibrantError
from ..figures.base import none_for_nan
from ..figures.decision_curves import decision_curve
from ..figures.flexible_curves import flexible_calibration_curve
from ..input.grouping import groups_of
from ..input.predictions import Predictions
from ..util.checks import least_resamples
from ..views.view import View, sigmoid
from .content import BenefitPoint, Clinical, CurvePoint, RiskBin, Subgroup
from .settings import Settings
from .tripod_items import tripod

# Statistics of each subgroup.
BRIEF = ("c", "intercept", "slope", "oe")
RISK_BINS, CURVE_POINTS, MOST_SUBGROUPS = 40, 120, 30
PLOTS = ("flexible calibration curve (loess)", "distribution of the risks by outcome", "decision curve")


def clinical_part(p: Predictions, settings: Settings, outcome: str) -> Clinical:
    """Compute the clinical part of a report on checked predictions."""
    lens = "auto" if settings.lens is None else settings.lens
    view, level, seed = one_event(p, lens), settings.known_level, settings.seed
    draws = max(settings.n_resamples, least_resamples(level))
    summary = summarize(p, lens, "loess", level, draws, seed, outcome=outcome or None)
    groups: list[Subgroup] = []
    several = 0
    if p.groups is not None:
        for grouping, place, rows in islice(groups_of(p), MOST_SUBGROUPS):
            part = summarize(p.take(rows), lens, "loess", level, 0, 0)
            found = tuple(part[id] for id in BRIEF)
            groups.append(Subgroup(str(grouping.labels[place]), part.n, part.events, found))
        several = sum(1 for _ in groups_of(p))
    notes = summary.notes
    if several > len(groups):
        notes = (*notes, f"{len(groups)} of {several} subgroups are shown; validate_by_group has all of them")
    end = float(view.score.max())
    edges = np.linspace(0, end if end > 0 else 1.0, RISK_BINS + 1)
    hit = view.outcome > 0
    counts = [np.histogram(view.score[rows], edges, weights=view.weights[rows])[0] for rows in (hit, ~hit)]
    return Clinical(
        summary,
        _curve(view, summary),
        tuple(RiskBin(*map(float, row)) for row in zip(edges[:-1], edges[1:], *counts, strict=True)),
        _benefit(view, level),
        tuple(groups),
        tripod(
            summary,
            outcome=outcome or None,
            model=settings.metadata.get("model"),
            groups=[group.name for group in groups],
            plots=PLOTS,
        ),
        notes,
    )


def _curve(view: View, summary: ClinicalSummary) -> tuple[CurvePoint, ...]:
    curve = flexible_calibration_curve(view, level=summary.level, points=CURVE_POINTS)
    intercept, slope = summary["joint_intercept"].value, summary["slope"].value
    logistic = np.full(len(curve.risk), np.nan)
    if intercept is not None and slope is not None:
        logistic = sigmoid(intercept + slope * logit(curve.risk))
    observed = np.clip(curve.observed, 0.0, 1.0)  # a loess may leave the range of a probability
    columns = (curve.risk, observed, *map(none_for_nan, (curve.low, curve.high, logistic)))
    return tuple(
        CurvePoint(float(risk), float(rate), low, high, line)
        for risk, rate, low, high, line in zip(*columns, strict=True)
    )


def _benefit(view: View, level: float) -> tuple[BenefitPoint, ...]:
    try:
        curve = decision_curve(view, level=level)
    except CalibrantError:
        return ()
    (model,) = curve.curves
    # Beyond the largest risk the model treats no one.
    shown = curve.threshold <= max(float(view.score.max()), 0.1)
    rows = zip(curve.threshold, model.net_benefit, model.low, model.high, curve.treat_all.net_benefit, strict=True)
    return tuple(BenefitPoint(*map(float, row)) for row, seen in zip(rows, shown, strict=True) if seen)
