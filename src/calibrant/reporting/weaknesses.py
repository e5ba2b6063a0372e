"""Where the model fails: classes, groups and ranges of scores, each with its gap and a test."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..binning.table import BinTable, binomial_interval
from ..inference.gaps import Sums, gap_pvalues, sums_by
from ..inference.multiplicity import adjust
from ..input.grouping import groupings_of
from ..input.predictions import Predictions
from ..util.results import number
from ..views.lenses import shared_name, single_event
from ..views.view import View
from .content import Weakness, Weaknesses
from .wording import lens_text

Kind = Literal["class", "at most", "predicted", "group", "range"]

ALPHA = 0.05
CORRECTION = "holm"
# The largest number of entries that are listed; the adjustment counts all subsets examined.
MOST_ENTRIES = 200
SOFT = "none: the labels are soft"


@dataclass(frozen=True)
class Places:
    """Subsets of one kind under one view."""

    kind: Kind
    names: list[str]
    view: View
    sums: Sums


def place_name(kind: str, name: str, lens: str) -> str:
    """Return the name of a subset."""
    score = "confidence" if lens == "top_label" else "probability"
    return f"{ {'range': score, 'predicted': 'predicted as'}.get(kind, kind) } {name}"


def find_weaknesses(
    p: Predictions, views: list[View], table: BinTable | None, level: float, outcome: str = ""
) -> Weaknesses:
    """Test every class, group and range of scores with more than one row, and sort them by weighted gap.

    Parameters
    ----------
    p : Predictions
        The predictions.
    views : list of View
        The views of the main lens; ranges and groups need a single one.
    table : BinTable or None
        The bins of the diagram, which are the ranges; None where there is no diagram.
    level : float
        Confidence level of the intervals.
    outcome : str
        Name of the positive class of two.

    Returns
    -------
    Weaknesses
        The section of the report.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> from calibrant.views.resolve import views_of
    >>> p = Predictions([0, 1] * 50, [0.1, 0.6] * 50, groups=["a", "b"] * 50)
    >>> found = find_weaknesses(p, views_of(p, "binary"), None, 0.95)
    >>> found.entries[0].kind, found.entries[0].name, round(found.entries[0].gap, 6)
    ('group', 'b', -0.4)
    """
    looked = [*_classes(p, views), *_groups(p, views), *_ranges(views, table)]
    entries = [entry for places in looked for entry in _entries(places, level)]
    adjusted = adjust_known([entry.pvalue for entry in entries])
    entries = [
        entry if value is None else replace(entry, adjusted=value, found=value <= ALPHA)
        for entry, value in zip(entries, adjusted, strict=True)
    ]
    entries.sort(key=lambda entry: (-entry.weighted_gap, entry.kind, entry.name))
    about = lens_text(shared_name(views), outcome)
    if about == lens_text("binary"):
        about = "the probability of the positive class"
    reasons = [entry.test.removeprefix("none: ") for entry in entries if entry.found is None]
    untested = [
        f"{reasons.count(reason):,} of {len(entries):,} subsets could not be tested: {reason}."
        for reason in dict.fromkeys(reasons)
    ]
    return Weaknesses(
        entries=tuple(entries[:MOST_ENTRIES]),
        looked_at=len(entries),
        tested=sum(entry.found is not None for entry in entries),
        found=sum(entry.found is True for entry in entries),
        correction=CORRECTION,
        alpha=ALPHA,
        level=level,
        notes=(*untested, *_notes(p, views, len(entries))),
        reason="" if entries else "there are no classes, groups or ranges of scores with more than one row",
        about=about,
    )


def _classes(p: Predictions, views: list[View]) -> list[Places]:
    """Return the rows of each predicted class under the main lens; with one view per class, each class against the rest."""
    names = [str(name) for name in (range(p.k) if p.classes is None else p.classes)]
    if len(views) > 1:
        kind: Kind = "class"
        if shared_name(views) == "ordinal":  # cuts are in the order of the classes, not of the columns
            kind, names = "at most", [view.lens.removeprefix("ordinal:") for view in views]
        return [Places(kind, [name], view, sums_by(view, None, 1)) for name, view in zip(names, views, strict=True)]
    if p.kind not in ("binary", "multiclass") or views[0].lens == "binary":
        return []
    return [Places("predicted", names, views[0], sums_by(views[0], p.predicted, p.k))]


def _groups(p: Predictions, views: list[View]) -> list[Places]:
    if p.groups is None or len(views) != 1:
        return []
    return [
        Places("group", list(map(str, g.labels)), views[0], sums_by(views[0], g.place[p.groups], len(g.labels)))
        for g in groupings_of(p)
    ]


def _ranges(views: list[View], table: BinTable | None) -> list[Places]:
    if table is None or len(views) != 1:
        return []
    view = views[0]
    # Right-closed as in the table; scores above the last edge belong to the last bin.
    codes = np.searchsorted(table.right[:-1], view.score, side="left")
    names = [
        f"{number(low)} to {number(high)}" for low, high in zip(table.left.tolist(), table.right.tolist(), strict=True)
    ]
    return [Places("range", names, view, sums_by(view, codes, len(table)))]


def _entries(places: Places, level: float) -> list[Weakness]:
    view, sums = places.view, places.sums
    total = float(sums.weight.sum())
    rows = np.round(sums.weight).astype(np.int64) if view.weight_kind == "counts" else sums.rows
    held = (sums.weight > 0) & (rows > 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean, rate, gap = (values / sums.weight for values in (sums.score, sums.outcome, sums.excess))
    low = high = pvalue = np.full(len(mean), np.nan)
    tests = [SOFT] * len(mean)
    if not view.is_soft:
        size = sums.size
        with np.errstate(invalid="ignore", divide="ignore"):
            least, most = binomial_interval(size * np.clip(rate, 0, 1), size, 1 - level, "clopper_pearson")
        low, high = mean - most, mean - least
        pvalue, tests = gap_pvalues(sums, view.weight_kind)
    return [
        Weakness(
            kind=places.kind,
            name=places.names[i],
            lens=view.lens,
            rows=int(rows[i]),
            share=float(sums.weight[i]) / total,
            mean_score=float(mean[i]),
            rate=float(rate[i]),
            gap=float(gap[i]),
            low=_none(low[i]),
            high=_none(high[i]),
            weighted_gap=float(sums.weight[i]) / total * abs(float(gap[i])),
            pvalue=_none(pvalue[i]),
            adjusted=None,
            found=None,
            test=tests[i],
        )
        for i in np.flatnonzero(held).tolist()
    ]


def _none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def adjust_known(pvalues: list[float | None]) -> list[float | None]:
    """Adjust p-values for their number; None stays None and does not count."""
    known = np.array([value for value in pvalues if value is not None], dtype=np.float64)
    adjusted = iter(adjust(known, CORRECTION).tolist())
    return [None if value is None else next(adjusted) for value in pvalues]


def _notes(p: Predictions, views: list[View], looked_at: int) -> list[str]:
    notes = []
    if len(views) > 1:
        ordinal = shared_name(views) == "ordinal"
        what = "Each cumulative probability is evaluated" if ordinal else "Each class is evaluated against the rest"
        notes.append(f"{what}; ranges of scores need a single lens such as {single_event(views)}.")
        if p.groups is not None:
            notes.append("Groups need a single lens as well and are left out.")
    else:
        notes += [f"{grouping.note}." for grouping in groupings_of(p) if grouping.note]
    if looked_at > MOST_ENTRIES:
        notes.append(
            f"The {MOST_ENTRIES} largest of {looked_at:,} subsets are listed; the adjustment counts all of them."
        )
    return notes
