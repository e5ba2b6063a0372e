"""Data of the charts of a page: curves of each lens and group, computed from the rows, which the page itself does not contain."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..binning.rules import BinningRule, EqualWidth
from ..binning.table import binomial_interval
from ..errors import CalibrantError, LensError
from ..evaluation.header import class_shares
from ..figures.base import least_rows, one_view
from ..figures.decision_curves import decision_curve
from ..figures.decompositions import isolines
from ..figures.differences import cumulative_diagram
from ..figures.fits import corp_curve, smooth_curve
from ..figures.murphy import murphy_diagram
from ..input.predictions import Predictions
from ..metrics.bin.bins import ece
from ..metrics.decomposition import decompose
from ..util.arrays import Floats
from ..views.lenses import Lens
from ..views.resolve import views_of
from ..views.view import View
from .summary import parts_by_group

Columns = Mapping[str, Sequence[float | None]]

MAX_CLASSES, MAX_GROUPS = 20, 50
NAME_LENGTH = 80
# Largest number of points of a curve, and number of bars of a histogram.
POINTS, BARS = 60, 30
# Ends of the bars on the scale of base-10 logits.
LOGITS = np.arange(-60, 61) / 10
BAND_RESAMPLES = 200
# Rows with importance weights are resampled one by one: beyond this they have no band.
MOST_WEIGHTED = 20_000


@dataclass(frozen=True)
class Series:
    """A lens or a group that can be selected: its means, its ECE and the columns of its charts by name."""

    name: str
    lens: str
    rows: float
    mean_score: float
    rate: float
    ece: float
    charts: Mapping[str, Columns] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with five significant digits."""
        charts = {
            name: {key: [_short(value) for value in values] for key, values in columns.items()}
            for name, columns in self.charts.items()
        }
        numbers = {name: getattr(self, name) for name in ("rows", "mean_score", "rate", "ece")}
        return {"name": shown(self.name), "lens": self.lens, **numbers, "charts": charts}


@dataclass(frozen=True)
class Interactive:
    """Charts of the page: lenses over all rows (the main lens first), and groups under the main lens.

    ``left_out`` are sentences on classes and groups left out for the size of the page.
    """

    lenses: tuple[Series, ...]
    groups: tuple[Series, ...] = ()
    weight_kind: str = "unit"
    left_out: tuple[str, ...] = ()


def interactive(
    source: Predictions,
    *,
    lens: str | Lens = "auto",
    rule: BinningRule | None = None,
    level: float = 0.95,
    seed: int = 0,
    clinical: Mapping[str, Columns] | None = None,
) -> Interactive:
    """Return the charts of predictions for the page: the main lens, the most frequent classes and the largest groups.

    Parameters
    ----------
    source : Predictions
        The predictions.
    lens : str or Lens
        The main lens.
    rule : binning rule, optional
        Rule of the bins; by default 15 of equal width, of which small ones are merged.
    level : float
        Level of the intervals.
    seed : int
        Seed of the consistency band.
    clinical : mapping, optional
        Charts of a validation study, in place of those with the same names.

    Returns
    -------
    Interactive
        The charts.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> found = interactive(Predictions([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9]))
    >>> [(series.lens, series.rows, series.charts["isotonic"]["y"][0]) for series in found.lenses]
    [('binary', 4.0, 0.0)]
    """
    views = [view for view in views_of(source, lens) if isinstance(view, View)][:MAX_CLASSES]
    if not views:
        raise LensError("lens", f"{lens!r} has more than one event per row", "use 'top_label' or 'class:NAME'")
    rule = EqualWidth(15, min_rows=least_rows(views[0])) if rule is None else rule

    def series(name: str, view: View, *, whole: bool = True, main: bool = False) -> Series:
        charts = view_charts(view, rule, level, seed if main else None, whole=whole)
        if main:
            charts |= clinical or _coverage(source, level)
        means = view.mean(view.score), view.mean(view.raw_outcome)
        kind = "class" if view.lens.startswith("class:") else view.lens
        return Series(name.removeprefix("class:"), kind, view.total, *means, float(ece(view)), charts)

    classes, classes_left_out = _largest_classes(source)
    groups, groups_left_out = _largest_groups(source) if len(views) == 1 else ([], "")
    lenses = [series(view.lens, view, main=len(views) == 1) for view in views]
    parts = tuple(series(name, one_view(part, lens), whole=False) for name, part in groups)
    return Interactive(
        (*lenses, *(series(name, view) for name, view in classes)),
        parts,
        views[0].weight_kind,
        tuple(filter(None, (classes_left_out, groups_left_out))),
    )


def view_charts(view: View, rule: BinningRule, level: float, seed: int | None, *, whole: bool) -> dict[str, Columns]:
    """Return the charts of one view; a band only with a seed, and charts of discrimination and decisions only if it is `whole`."""
    charts: dict[str, Columns] = {
        "isotonic": _isotonic(view, level, seed),
        "bins": _bins(view, rule, level),
        "scores": _histogram(view, view.score, np.linspace(0, 1, BARS + 1)),
        "logits": _histogram(view, logits(view.score), LOGITS),
    }
    smooth = smooth_curve(
        view, None if view.is_soft else "clopper_pearson", level=level, n_resamples=0, rng=0, bandwidth=None
    )
    charts["smooth"] = _fitted(smooth.x, smooth.y, smooth.low, smooth.high)
    path = cumulative_diagram(view, level=level)
    columns = {"x": path.share, "y": path.path}
    if not view.is_soft:
        reach = np.full(len(path.path), path.reach)
        columns |= {"low": -reach, "high": reach}
    charts["cumulative"] = _thinned(columns, POINTS)
    if whole and not view.is_soft:
        charts |= _discrimination(view, level)
        parts = decompose(view, method="corp")
        charts["plane"] = {"x": [parts.miscalibration], "y": [parts.discrimination], "brier": [parts.value]}
    return charts


def isoline_rows(planes: Sequence[Columns]) -> list[dict[str, Any]]:
    """Return the lines of equal Brier score in the plane of miscalibration and discrimination, of models on the same rows."""
    if not planes:
        return []
    x, y, brier = ([float(columns[name][0] or 0.0) for columns in planes] for name in ("x", "y", "brier"))
    return [
        {"x": at, "y": up, "what": f"{score}", "text": text}
        for score, across, ups in isolines(x, y, brier[0] - x[0] + y[0])
        for at, up, text in zip(across, ups, ("", f"Brier {score:g}"), strict=True)
    ]


def _isotonic(view: View, level: float, seed: int | None) -> Columns:
    slow = view.weight_kind == "importance" and view.n > MOST_WEIGHTED
    how = None if view.is_soft or seed is None or slow else "consistency"
    curve = corp_curve(view, how, level=level, n_resamples=BAND_RESAMPLES, rng=seed)
    return _fitted(curve.x, curve.y, curve.low, curve.high)


def _fitted(x: Floats, y: Floats, low: Floats, high: Floats) -> Columns:
    bounds = {} if np.isnan(low).all() else {"low": low, "high": high}
    return _thinned({"x": x, "y": y, **bounds}, POINTS)


def _bins(view: View, rule: BinningRule, level: float) -> Columns:
    table = rule.table(view)
    full = ~table.empty
    columns = {"x": table.mean_score, "y": table.rate, "rows": table.weight, "left": table.left, "right": table.right}
    if not view.is_soft:
        columns["low"], columns["high"] = table.interval(level, "clopper_pearson")
    return {name: values[full].tolist() for name, values in columns.items()}


def _histogram(view: View, score: Floats, edges: Floats) -> Columns:
    """Return the shares of the rows with the event, and of those without it, between the edges."""
    place = np.clip(np.searchsorted(edges, score, side="left") - 1, 0, len(edges) - 2)
    rows = np.bincount(place, view.weights, len(edges) - 1) / view.total
    events = np.bincount(place, view.weights * view.outcome, len(edges) - 1) / view.total
    full = rows > 0
    columns = {"left": edges[:-1], "right": edges[1:], "events": events, "others": rows - events}
    return {name: values[full].tolist() for name, values in columns.items()}


def logits(share: Any) -> Floats:
    """Return base-10 logits, within the ends of the bars."""
    share = np.clip(np.asarray(share, dtype=np.float64), 1e-6, 1 - 1e-6)
    return np.asarray(np.log10(share / (1 - share)))


def _discrimination(view: View, level: float) -> dict[str, Columns]:
    """Return ROC, precision-recall, Murphy and decision curve, as far as they are defined."""
    ties = view.ties
    events = np.append(0.0, np.cumsum(ties.outcome[::-1]))
    rows = np.append(0.0, np.cumsum(ties.weight[::-1]))
    if not 0 < events[-1] < rows[-1]:
        return {}
    others = rows - events
    recall, precision = events / events[-1], events[1:] / rows[1:]
    murphy = murphy_diagram(view, points=300)
    charts = {
        "roc": _thinned({"x": others / others[-1], "y": recall}, POINTS),
        "pr": _thinned({"x": recall[1:], "y": precision}, POINTS),
        "murphy": _thinned({"x": murphy.theta, "y": murphy.curves[0].score}, POINTS),
    }
    with suppress(CalibrantError):
        charts["benefit"] = benefit_columns(decision_curve(view, level=level))
    return charts


def benefit_columns(curve: Any) -> Columns:
    """Return the net benefit of a model and of treating all, up to the last threshold at which either is not 0."""
    (model,) = curve.curves
    last = int(np.flatnonzero((model.net_benefit != 0) | (curve.treat_all.net_benefit > 0))[-1]) + 1
    columns = {"x": curve.threshold, "y": model.net_benefit, "low": model.low, "high": model.high}
    columns["reference"] = curve.treat_all.net_benefit
    return {name: values[:last].tolist() for name, values in columns.items()}


def curve_columns(curve: Any) -> Columns:
    """Return a flexible calibration curve; a loess may leave the range of a probability."""
    return _fitted(curve.risk, np.clip(curve.observed, 0.0, 1.0), curve.low, curve.high)


def _coverage(source: Predictions, level: float) -> dict[str, Columns]:
    """Return coverage and accuracy of the rows above each confidence, with Clopper-Pearson intervals for a fixed threshold."""
    try:
        (view,) = views_of(source, "top_label")
    except CalibrantError:
        return {}
    assert isinstance(view, View)
    weight, right, score = (values[::-1] for values in (view.ties.weight, view.ties.outcome, view.ties.score))
    total, hits = np.cumsum(weight), np.cumsum(right)
    rows = {"x": total / total[-1], "y": hits / total, "threshold": score, "hits": hits, "total": total}
    columns = {name: np.array(values) for name, values in _thinned(rows, POINTS).items()}
    few, all_rows = columns.pop("hits"), columns.pop("total")
    if not view.is_soft and view.weight_kind != "importance":
        columns["low"], columns["high"] = binomial_interval(few, all_rows, 1 - level, "clopper_pearson")
    return {"coverage": {name: values.tolist() for name, values in columns.items()}}


def _thinned(columns: Mapping[str, Floats], most: int) -> Columns:
    """Return at most so many points of a curve: its ends, and points at even distances along it."""
    x, y = columns["x"], columns["y"]
    kept = np.arange(len(x))
    if len(x) > most:
        length = np.append(0.0, np.cumsum(np.abs(np.diff(x)) / np.ptp(x) + np.abs(np.diff(y)) / (np.ptp(y) or 1.0)))
        places = np.searchsorted(length, np.linspace(0, length[-1], most))
        kept = np.unique(np.minimum(places, len(x) - 1))
    return {name: values[kept].tolist() for name, values in columns.items()}


def _short(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(f"{value:.5g}")


def _largest_groups(source: Predictions) -> tuple[list[tuple[str, Predictions]], str]:
    """Return the largest groups, in their own order, and a sentence where others are left out."""
    parts = parts_by_group(source)
    mass = [part.n if part.weight is None else float(part.weight.sum()) for _, part in parts]
    return _largest("groups", parts, mass, MAX_GROUPS)


def _largest_classes(source: Predictions) -> tuple[list[tuple[str, View]], str]:
    """Return the most frequent classes, in their own order, and a sentence where others are left out."""
    if source.kind != "multiclass":
        return [], ""
    names = [str(name) for name in (range(source.k) if source.classes is None else source.classes)]
    parts = list(zip(names, views_of(source, "classwise"), strict=True))
    return _largest("classes", parts, class_shares(source), MAX_CLASSES)


def _largest(what: str, parts: Sequence[Any], mass: Sequence[float], most: int) -> tuple[list[Any], str]:
    """Return the parts with the largest mass, in their own order, and a sentence where others are left out."""
    order = np.argsort(-np.array(mass), kind="stable").tolist()
    left_out = f"The {most} largest of {len(parts):,} {what} can be selected." if len(parts) > most else ""
    return [parts[place] for place in sorted(order[:most])], left_out


def shown(name: Any, limit: int | None = NAME_LENGTH) -> str:
    """Return a name for display: control and invisible characters are made visible, and it is cut to `limit`.

    >>> shown("a\\x00b\\u202ec")
    'a\\u2400b[U+202E]c'
    """
    text = str(name)
    if limit is not None:
        text = text[: limit + 1]  # avoids work on very long names
    if not text.isprintable():
        text = "".join(map(_visible, text))
    return text if limit is None or len(text) <= limit else text[: limit - 1] + "\u2026"


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    kind = unicodedata.category(character)
    # The two joiners are needed for emoji and Persian words and do not change the direction of the text.
    if kind in ("Cc", "Cf", "Zl", "Zp", "Cs", "Cn") and character not in "\u200c\u200d":
        return f"[U+{code:04X}]"
    return character
