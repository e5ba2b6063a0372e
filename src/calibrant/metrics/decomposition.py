"""Decomposition of proper scores into miscalibration, discrimination and uncertainty, and skill scores."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, cast

import numpy as np

from ..binning.parse import BINS, Binning, Bins, rule_of
from ..binning.partition import KDTree, SimplexGrid, cells_of, partition_rule
from ..errors import (
    ArgumentError,
    InputError,
    InputTypeError,
    LensError,
    ShapeError,
    UndefinedMetricError,
)
from ..input.convert import column, numbers
from ..input.predictions import Predictions
from ..util.arrays import Array, Floats
from ..util.checks import is_number
from ..util.results import Record, number
from ..views.keywords import check_options, documents_keywords
from ..views.lenses import Lens, single_event
from ..views.resolve import Source, as_predictions, resolve, views_of
from ..views.view import Summary, VectorView, View
from .registry import Metric, catalogue

AnyView = View | VectorView
SomeView = TypeVar("SomeView", View, VectorView, View | VectorView)

# Average number of rows per distinct forecast from which their rates are informative.
_ENOUGH_ROWS = 10
# A reference this close to the ideal value differs from it by rounding only.
_ROUNDING = 1e-12


@dataclass(frozen=True, repr=False)
class Decomposition(Record):
    """Decomposition of a proper score: miscalibration - discrimination + uncertainty.

    Parameters
    ----------
    score : str
        Identifier of the score.
    method : str
        Method of recalibration: ``"corp"`` or ``"murphy"``.
    lens : str
        Lens through which the predictions were evaluated.
    value : float
        Sum of the three terms: the score, or the score of the mean forecasts of the bins if bins were given.
    miscalibration : float
        Improvement of the score by recalibration (Murphy's reliability); 0 for calibrated forecasts.
    discrimination : float
        Improvement of the recalibrated forecast over the base rate (Murphy's resolution); larger is better.
    uncertainty : float
        Score of the constant forecast at the base rate.
    within : float, default 0.0
        Part of the score inside the bins, so that the score itself is ``value + within``.
    note : str, default ""
        Remark on the interpretation of the terms.

    Attributes
    ----------
    total : float
        Score of the forecasts, ``value + within``.
    reliability : float
        Alias of `miscalibration`.
    resolution : float
        Alias of `discrimination`.
    """

    score: str
    method: str
    lens: str
    value: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    within: float = 0.0
    note: str = ""

    @property
    def reliability(self) -> float:
        """Alias of `miscalibration`."""
        return self.miscalibration

    @property
    def resolution(self) -> float:
        """Alias of `discrimination`."""
        return self.discrimination

    @property
    def total(self) -> float:
        """Score of the forecasts, ``value + within``."""
        return self.value + self.within

    def _parts(self) -> list[tuple[str, float]]:
        first, second = ("miscalibration", "discrimination") if self.method == "corp" else ("reliability", "resolution")
        parts = [(first, self.miscalibration), (second, self.discrimination), ("uncertainty", self.uncertainty)]
        return [*parts, ("within bins", self.within)] if self.within else parts

    def _title(self) -> str:
        signs = ["= ", "- ", "+ ", "; "]
        terms = " ".join(
            f"{sign}{number(value)} {name}" for sign, (name, value) in zip(signs, self._parts(), strict=False)
        )
        known = f" ({self.note})" if self.note else ""
        return f"{self.score} ({self.method}, {self.lens}): {number(self.value)} {terms}{known}".replace(" ; ", "; ")

    def _table(self) -> tuple[list[str], list[list[str]]]:
        parts = [(self.score, self.value), *self._parts()]
        return ["part", "value"], [[name, number(value)] for name, value in parts]


@documents_keywords()
def decompose(
    y_true: Any,
    y_prob: Any = None,
    *,
    score: str | Metric = "brier",
    method: Literal["auto", "murphy", "corp"] = "auto",
    bins: Bins | Binning | None = None,
    lens: str | Lens | None = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> Decomposition:
    r"""Decompose a proper score into miscalibration, discrimination and uncertainty.

    Use it to see whether a better score is due to better calibration, which recalibration can provide, or to better
    discrimination, which it cannot.

    Parameters
    ----------
    y_true
    y_prob
    score : str or Metric, default "brier"
        Strictly proper score of the catalogue, such as ``"brier"`` or ``"nll"``.
    method : {"auto", "murphy", "corp"}, default "auto"
        How the forecasts are recalibrated. ``"corp"``: by isotonic regression with ties pooled; it requires one score per row and
        no bins. ``"murphy"``: by the mean outcome of rows with the same forecast, for any number of classes; if most forecasts are
        distinct, reliability is nearly the whole score, and `bins` should be given. ``"auto"``: ``"corp"`` for two classes and for
        lenses with one score per row, ``"murphy"`` if `bins` are given and for several classes, over the cells of a k-d tree
        unless ten rows or more share a forecast on average. The result states the method.
    bins : int, sequence of float, binning rule or BinTable, optional
        For ``"murphy"``: number of bins of equal width, increasing edges, a rule such as ``EqualMass(10)``, or fitted bins; whole vectors
        are partitioned by a `KDTree` or a `SimplexGrid`. Forecasts are replaced by the mean forecast of their bin, and the score
        of those is decomposed; the remainder is `within`.
    lens : str or Lens, optional
        Which binary event of the predictions is evaluated. By default all classes together, or ``"auto"`` where one score per row
        is required.
    sample_weight
    pos_label

    Returns
    -------
    Decomposition
        Result with the attributes `value`, `miscalibration`, `discrimination`, `uncertainty` and `within`.

    Raises
    ------
    ArgumentError
        If `score` is not strictly proper, or options contradict each other.
    LensError
        If the lens has several views.
    UndefinedMetricError
        If a term is infinite.

    See Also
    --------
    brier : Brier score.
    skill_score : Score relative to a reference forecast.

    Notes
    -----
    With the mean score :math:`S` of the forecasts, :math:`S_C` of their recalibrated form and :math:`S_R` of the base rate,

    .. math::

        S = \underbrace{(S - S_C)}_{\text{miscalibration}} - \underbrace{(S_R - S_C)}_{\text{discrimination}}
            + \underbrace{S_R}_{\text{uncertainty}}

    Methods differ in how they recalibrate: by groups of equal forecasts [1]_ [2]_, or by isotonic regression [3]_.

    References
    ----------
    .. [1] Murphy (1973): A new vector partition of the probability score. Journal of Applied Meteorology 12.
    .. [2] Broecker (2009): Reliability, sufficiency, and the decomposition of proper scores. arXiv:0806.0813
    .. [3] Dimitriadis, Gneiting and Jordan (2021): Stable reliability diagrams for probabilistic classifiers. PNAS 118.
       doi:10.1073/pnas.2016191118

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decompose([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    brier (corp, binary): 0.1050 = 0.1050 miscalibration - 0.1875 discrimination + 0.1875 uncertainty
    """
    if method not in ("auto", "murphy", "corp"):
        raise ArgumentError("method", f"must be 'auto', 'murphy' or 'corp'; got {method!r}")
    proper = catalogue[score]
    if proper.proper != "strictly" or proper.takes != "Block" or proper.finish is not None:
        names = ", ".join(m.id for m in catalogue.values() if m.proper == "strictly" and m.takes == "Block")
        raise ArgumentError("score", f"{proper.id!r} is not a strictly proper score", f"use one of {names}")
    if bins is not None and method == "corp":
        raise ArgumentError("bins", "has no effect with 'corp', which determines its own bins", "use method='murphy'")
    is_partition = isinstance(bins, (KDTree, SimplexGrid))
    usual = "auto" if (bins is not None and not is_partition) or method == "corp" else proper.lens
    view = _one_view(resolve(y_true, y_prob, sample_weight, pos_label), lens, usual)
    if method == "auto" and bins is None:
        view = _as_one_score(view)
        method = "corp" if isinstance(view, View) else "auto"
    if method == "corp":
        return _decomposition(proper, method, view, view, _isotonic(_yes_no(view, "method='corp'")))
    if is_partition and isinstance(view, VectorView):
        return _decompose_bins(proper, view, *cells_of(view, partition_rule(BINS, bins)))
    if bins is not None:
        view = _yes_no(view, "bins")
        return _decompose_bins(proper, view, *rule_of(bins).cells(view))
    group, count = _same_forecast(view)
    rows = view.row_count
    if method == "auto" and rows < _ENOUGH_ROWS * count and isinstance(view, VectorView):
        cells = KDTree().cells(view)
        note = f"over {cells[1]} cell{'s' * (cells[1] > 1)} of a k-d tree, for {count} forecasts differ"
        return replace(_decompose_bins(proper, view, *cells), note=note)
    parts = _decomposition(proper, "murphy", view, view, _group_rates(view, group, count))
    if rows > 1 and rows < 2 * count:
        few = f"{count} of {rows:g} forecasts differ, so reliability is nearly the whole score"
        instead = "method='auto'" if isinstance(view, VectorView) and view.k > 2 else "bins= or method='corp'"
        parts = replace(parts, note=f"{few}: give {instead}")
    return parts


def _decompose_bins(score: Metric, view: AnyView, cell: Array, count: int) -> Decomposition:
    """Compute Murphy's terms of the mean forecasts of bins or cells, and the remainder within them."""
    if isinstance(view, View):
        mean = _group_means(view, view.score, cell, count)
    else:
        probs = np.concatenate([block.probs for _, block in view.blocks()])
        mean = np.column_stack([_group_means(view, column, cell, count) for column in probs.T])
    parts = _decomposition(score, "murphy", view, with_forecast(view, mean), _group_rates(view, cell, count))
    whole = score(view)
    if math.isinf(whole) and math.isinf(parts.value):
        raise UndefinedMetricError("within", f"{score.id} is infinite with and without bins", "pass bins=None")
    return replace(parts, within=whole - parts.value)


def _decomposition(score: Metric, method: str, view: AnyView, stated: AnyView, recalibrated: Floats) -> Decomposition:
    """Compare the forecast, its recalibrated form and the base rate, all with the labels of `view`."""
    value = score(stated)
    best = score(with_forecast(view, recalibrated))
    base = score(with_forecast(view, constant_forecast(proportions(view), view.n)))
    if math.isinf(best) or math.isinf(base):
        raise UndefinedMetricError(
            score.id, f"is {best:g} after recalibration, so its components are infinite", "use 'brier' or 'nll'"
        )
    return Decomposition(
        score.id, method, view.lens, value, _not_negative(value - best), _not_negative(base - best), base
    )


def _not_negative(term: float) -> float:
    """Set a non-negative term to 0 if rounding made it negative."""
    return 0.0 if -_ROUNDING < term < 0 else term


def _one_view(source: Source, lens: str | Lens | None, usual: str) -> AnyView:
    """Return the view of `lens`, or of the `usual` lens by default."""
    if lens is None:
        whole = isinstance(source, Predictions) and source.kind in ("binary", "multiclass")
        lens = usual if whole else "auto"
    views = views_of(source, lens)
    if len(views) > 1:
        problem = f"one event is decomposed at a time; this lens has {len(views)}"
        raise LensError("lens", problem, f"use {single_event(views)!r}")
    return views[0]


def _as_one_score(view: AnyView) -> AnyView:
    """Reduce a vector view of two classes to the probability of the second; return other views unchanged."""
    if isinstance(view, View) or view.k > 2:
        return view
    score, outcome = view.raw_probs, view.labels if view.labels is not None else view.soft
    assert outcome is not None
    log_odds = view.logits if view.logits is not None and view.logits.ndim == 1 else None
    return View(
        score if score.ndim == 1 else score[:, 1],
        outcome if outcome.ndim == 1 else outcome[:, 1],
        view.weight,
        view.weight_kind,
        rows=view.rows,
        lens="binary" if view.lens == "canonical" else view.lens,
        log_odds=log_odds,
    )


def _yes_no(view: AnyView, argument: str) -> View:
    if isinstance(view, VectorView):
        raise LensError(
            "lens",
            f"{argument} requires one score per row, and {view.lens!r} has several",
            "use 'binary', 'top_label' or 'class:NAME'",
        )
    return view


def _same_forecast(view: AnyView) -> tuple[Array, int]:
    """Return the group of rows with the same forecast for each row, and the number of groups."""
    forecast = view.raw_score if isinstance(view, View) else view.raw_probs
    if forecast.ndim == 2:
        # Rows are compared as bytes, in one sort for any length; adding 0 turns minus zero into zero.
        forecast = np.ascontiguousarray(forecast + 0)
        forecast = forecast.view(f"V{forecast.dtype.itemsize * forecast.shape[1]}").ravel()
    distinct, group = np.unique(forecast, return_inverse=True)
    return group, len(distinct)


def _group_means(view: AnyView, values: Floats, group: Array, count: int) -> Floats:
    """Return the weighted mean of the group of each row, exact for groups of zeros or ones."""
    weight = np.bincount(group, view.weights, count)
    sums = np.bincount(group, view.weights * values, count)
    return np.clip(np.divide(sums, weight, out=np.zeros(count), where=weight > 0), 0, 1)[group]


def _group_rates(view: AnyView, group: Array, count: int) -> Floats:
    """Return the class frequencies in the group of each row; one number for a binary event."""
    if isinstance(view, View):
        return _group_means(view, view.outcome, group, count)
    if view.labels is not None:
        sums = np.bincount(group * view.k + view.labels, view.weights, count * view.k).reshape(count, view.k)
        return np.asarray((sums / np.bincount(group, view.weights, count)[:, None])[group])
    shares = np.concatenate([block.targets for _, block in view.blocks()])
    return np.column_stack([_group_means(view, share, group, count) for share in shares.T])


def _isotonic(view: View) -> Floats:
    """Return the isotonic regression of the outcomes on the scores for each row, with ties pooled."""
    from scipy.optimize import isotonic_regression

    order, ends = view.order, view.prefix.end
    # Separate sums of each tie group: differences of prefix sums would leave a rate of 1 inexact.
    weight = np.add.reduceat(view.weights[order], ends[:-1])
    rate = np.add.reduceat((view.weights * view.outcome)[order], ends[:-1]) / weight
    fit = np.clip(isotonic_regression(rate, weights=weight).x, 0, 1)
    values = np.empty(view.n)
    values[order] = np.repeat(fit, np.diff(ends))
    return values


@documents_keywords()
def skill_score(
    y_true: Any,
    y_prob: Any = None,
    *,
    score: str | Metric = "brier",
    reference: Any = None,
    lens: str | Lens | None = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> float:
    r"""Compute the skill of forecasts relative to a reference forecast.

    A value of 1 is perfect, 0 is no better than the reference, and a negative value is worse.

    Parameters
    ----------
    y_true
    y_prob
    score : str or Metric, default "brier"
        Metric of the catalogue; its options are accepted as keywords.
    reference : float or array-like, optional
        Reference forecast. By default the class proportions of these rows, the best constant in hindsight. For an honest
        out-of-sample comparison pass the proportions of the training data: a number for two classes, or one number per class. Or
        another forecast, with the shape and scale of `y_prob`; an array of that shape is taken as a forecast.
    lens
    sample_weight
    pos_label
    **options
        Options of the score.

    Returns
    -------
    float
        Skill score of at most 1.

    Raises
    ------
    ArgumentError
        If the metric has no finite ideal value.
    UndefinedMetricError
        If the reference is ideal already, so that no improvement is possible.

    See Also
    --------
    decompose : Decomposition of a proper score.

    Notes
    -----
    With the score :math:`S` of the forecasts, :math:`S_0` of the reference and the ideal value :math:`S^*` the skill is [1]_

    .. math::

        \frac{S - S_0}{S^* - S_0},

    which is :math:`1 - S / S_0` for an ideal value of 0. A metric that is not a proper score may be ideal for the reference: a
    constant forecast at the base rate has no calibration error.

    References
    ----------
    .. [1] Murphy (1988): Skill scores based on the mean square error and their relationships to the correlation coefficient.
       Monthly Weather Review 116.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.metrics.skill_score([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9]), 4)
    0.44
    """
    metric = catalogue[score]
    if metric.ideal is None or math.isinf(metric.ideal):
        raise ArgumentError("score", f"{metric.id!r} has no finite optimum", "use 'brier' or 'nll'")
    check_options(skill_score, options, metric)
    whole: Any
    other: Any
    if isinstance(y_true, (View, VectorView, Summary)):
        (whole,) = views_of(resolve(y_true, y_prob, sample_weight, pos_label), "auto")
        if reference is not None:
            raise InputTypeError("reference", "cannot be added to a view", "pass arrays or Predictions")
        other = with_forecast(whole, constant_forecast(proportions(whole), whole.n))
    else:
        whole = as_predictions(y_true, y_prob, sample_weight, pos_label)
        other = _with_reference(whole, reference)
    return _skill(metric, metric(whole, lens=lens, **options), metric(other, lens=lens, **options))


def _skill(metric: Metric, value: float, reached: float) -> float:
    assert metric.ideal is not None
    if math.isinf(reached):
        raise UndefinedMetricError(metric.id, f"is {reached:g} for the reference", "use a reference without zeros")
    if abs(reached - metric.ideal) <= _ROUNDING:
        raise UndefinedMetricError(
            metric.id,
            f"is already {metric.ideal:g} for the reference, so the skill is undefined",
            "use another reference" if metric.proper == "strictly" else "use a proper score such as 'brier'",
        )
    return (value - reached) / (metric.ideal - reached)


def with_forecast(view: SomeView, forecast: Floats) -> SomeView:
    """Return a view with the same rows, labels and weights and another forecast."""
    if isinstance(view, View):
        made: Any = View(forecast, view.raw_outcome, view.weight, view.weight_kind, rows=view.rows, lens=view.lens)
    else:
        made = VectorView(
            forecast, view.labels, view.soft, view.weight, view.weight_kind, rows=view.rows, lens=view.lens
        )
    return cast(SomeView, made)


def proportions(view: View | VectorView) -> Floats:
    """How often yes is right, or how often each class occurs; exactly 0 or 1 where it is never or always."""
    if isinstance(view, View):
        return np.asarray((view.weights * view.outcome).sum() / view.weights.sum())
    sums = np.sum([view.weights[span] @ block.targets for span, block in view.blocks()], axis=0)
    return np.asarray(sums / sums.sum())


def constant_forecast(share: Floats, n: int) -> Floats:
    """The same forecast for every row."""
    return np.tile(share, (n, 1)) if share.ndim else np.full(n, float(share))


def _with_reference(p: Predictions, reference: Any) -> Predictions:
    """The same rows with the forecast of the reference."""
    if reference is None:
        return _with_probs(p, constant_forecast(_class_proportions(p), p.n))
    if is_number(reference):
        if p.kind not in ("binary", "confidence"):
            raise ArgumentError("reference", f"expected {p.k} numbers, one for each class; got one")
        rate = float(reference)
        if not 0 <= rate <= 1:
            raise ArgumentError("reference", f"must lie in [0, 1]; got {rate!r}", "for example 0.3")
        share = np.asarray(rate if p.probs.ndim == 1 else [1 - rate, rate])
        return _with_probs(p, constant_forecast(share, p.n))
    values = numbers(column(reference, "reference").array, "reference")
    rows = p.n if p.kept is None else len(p.kept)
    if values.shape == (rows, *p.probs.shape[1:]):
        return _with_probs(p, values if p.kept is None else values[p.kept], "logit" if p.logits is not None else "prob")
    if values.shape == (p.k,) and p.kind != "confidence":
        share = values[1] if p.probs.ndim == 1 else values
        return _with_probs(p, constant_forecast(np.asarray(share, np.float64), p.n))
    raise ShapeError(
        "reference",
        f"expected shape {(rows, *p.probs.shape[1:])} or {p.k} numbers, got shape {values.shape}",
    )


def _class_proportions(p: Predictions) -> Floats:
    """One number for one-dimensional forecasts, else one for each class."""
    weight = np.ones(p.n) if p.weight is None else p.weight.astype(np.float64)
    targets = p.labels if p.labels is not None else p.soft
    assert targets is not None
    if p.labels is not None and p.probs.ndim == 2 and p.kind != "multilabel":
        sums = np.bincount(p.labels, weight, p.k)
        return np.asarray(sums / sums.sum())
    return np.clip((weight * targets.T).sum(axis=-1) / weight.sum(), 0, 1)


def _with_probs(p: Predictions, probs: Array, input: Any = "prob") -> Predictions:
    """Return the same rows with other probabilities, which are checked; the remaining data are not checked again."""
    multilabel = p.kind == "multilabel"
    labels = p.labels if p.labels is not None else np.zeros((p.n, p.k) if multilabel else p.n, np.int64)
    kind = "confidence" if p.kind == "confidence" else input
    try:
        checked = Predictions.derived(labels, probs, input=kind, multilabel=multilabel)
    except InputError as error:  # it speaks of y_prob, which is in order
        raise error.replaced(argument="reference") from None
    other = p.with_probs(checked.probs)
    other.logits = checked.logits
    return other
