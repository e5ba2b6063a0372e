"""The stability diagram: a metric as a function of one of its options or of the share of rows, and its plateau."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import is_default
from ..binning.partition import Auto, KDTree, partition_of
from ..errors import ArgumentError, InputTypeError, UndefinedMetricError
from ..inference.cells import Draws, Plan, sharing
from ..inference.means import two_sided_quantile
from ..inference.resampling import PredictionSampler, RowSampler, Sampler
from ..inference.seeds import seed_of
from ..inference.simultaneous import resampled_values
from ..input.predictions import Predictions
from ..metrics.registry import Metric, catalogue
from ..util.checks import check_choice, check_fraction, check_whole, is_number
from ..util.results import number
from ..views.keywords import check_options, documents_keywords
from ..views.lenses import AnyView, shared_name
from ..views.resolve import resolve
from ..views.view import VectorView, View
from .base import DASHED, Diagram, Floats, finish, rows_or_view
from .canvas import PAPER_WIDTH, Axes, muted
from .models import in_octaves, panels, value_or_nan
from .styling import Series, plots, series_of

COLUMNS = ("metric_value", "spread", "low", "high", "by_chance", "chance_low", "chance_high")
USUAL: dict[str, tuple[float, ...]] = {
    "bins": (2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100),
    "gamma": tuple(2.0**-k for k in range(1, 9)),
    "fraction": tuple(k / 10 for k in range(1, 11)),
}
AXIS_LABELS = {"bins": "number of bins", "gamma": "largest share of rows in a cell", "fraction": "share of rows"}

# Options whose settings are coarser and finer cells, with the coarsest of some settings.
COARSEST: dict[str, Callable[[Sequence[Any]], Any]] = {"bins": min, "gamma": max}

# Least number of settings of a stable region, and the share of a value by which the others may be smaller.
LEAST_RUN = 3
TOLERANCE = 0.25


@dataclass(frozen=True, repr=False)
class StabilityDiagram(Diagram):
    """Data of a stability diagram.

    Parameters
    ----------
    metric : str
        Identifier of the metric.
    over : str
        What varies: ``"bins"``, ``"gamma"`` or ``"fraction"``.
    values : tuple
        The settings.
    metric_value : ndarray
        Value of the metric; for ``over="fraction"`` the mean over the resamples. NaN where undefined.
    spread : ndarray
        Standard deviation over the resamples.
    low : ndarray
        Value minus z standard deviations, clipped to the range of the metric; for fractions a quantile of the resamples.
    high : ndarray
        Upper end of the interval.
    by_chance : ndarray
        Mean of the metric over labels that are simulated from the probabilities: its expected value for calibrated predictions.
    chance_low : ndarray
        Lower end of the band that contains the metric of calibrated predictions with probability `level`.
    chance_high : ndarray
        Upper end of this band.
    region : tuple of int or None
        First and last index of the stable region, or None; for fractions none is sought.
    plateau : float
        Midrange of the values in the region, or NaN.
    level : float
        Level of the intervals.
    n_resamples : int
        Number of resamples.
    lens : str
        Lens of the scores.
    suggested : float or None
        Suggested number of bins or `gamma`: the coarsest setting of the region; None without a region.
    """

    metric: str
    over: str
    values: tuple[Any, ...]
    metric_value: Floats
    spread: Floats
    low: Floats
    high: Floats
    by_chance: Floats
    chance_low: Floats
    chance_high: Floats
    region: tuple[int, int] | None
    plateau: float
    level: float
    n_resamples: int
    lens: str
    suggested: float | None = None

    @property
    def stable(self) -> tuple[Any, ...]:
        """The settings of the stable region."""
        return () if self.region is None else self.values[self.region[0] : self.region[1] + 1]

    def _columns(self) -> dict[str, list[Any]]:
        inside = [self.region is not None and self.region[0] <= i <= self.region[1] for i in range(len(self.values))]
        return {
            self.over: list(self.values),
            **self._listed(*COLUMNS),
            "stable": inside,
        }

    def _title(self) -> str:
        where = "no stable region"
        if self.region is not None:
            where = f"stable from {self.stable[0]} to {self.stable[-1]}, at {number(self.plateau)}"
        suggested = "" if self.suggested is None else f"; suggested {self.over} {number(self.suggested, 3)}"
        return f"Stability of {self.metric} over {self.over} ({self.lens}): {where}{suggested}"

    @plots
    def plot(self, ax: Any = None, **style: Any) -> list[Axes]:
        """Plot two panels: the metric with its stable region, and its standard deviation over the resamples.

        The dashed line with its band is the metric of calibrated predictions, and a ring marks the suggested setting.

        Parameters
        ----------
        ax : sequence of matplotlib.axes.Axes, optional
            Two axes; by default a new figure.
        """
        axes = panels(ax, 2, columns=1, width=PAPER_WIDTH, height=1.7)
        x = np.array(self.values, dtype=np.float64)
        octaves = bool(x[-1] >= 8 * x[0]) and self.over != "fraction"
        (look,) = series_of(axes[0], {"linestyle": "-", "marker": "o", **style})
        (other,) = series_of(axes[0], {"linestyle": "-", "marker": "s"})
        self._draw_metric(axes[0], x, octaves, look)
        axes[1].plot(x, self.spread, gid="series", **other.line)
        axes[1].set_ylim(bottom=0)
        finish(axes[1], "", "standard deviation")
        for one in axes:
            if octaves:
                in_octaves(one, x.tolist())
            if self.over == "gamma":
                one.invert_xaxis()  # finer to the right, as for the number of bins
        axes[-1].set_xlabel(AXIS_LABELS[self.over])
        return axes

    def _draw_metric(self, ax: Axes, x: Floats, octaves: bool, look: Series) -> None:
        if self.region is not None:
            start, end = self.region
            ax.axvspan(float(x[start]), float(x[end]), color=muted(), alpha=0.15, linewidth=0, zorder=0.5)
            dashes: dict[str, Any] = {"color": muted(), "linestyle": DASHED, "linewidth": 0.9, "zorder": 1.5}
            ax.hlines(self.plateau, x[start], x[end], **dashes)
            at = (float(x[start] * x[end]) ** 0.5 if octaves else float(x[start] + x[end]) / 2, 0.99)
            note: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": "small", "color": muted()}
            ax.text(*at, f"stable at {number(self.plateau, 3)}", transform=ax.get_xaxis_transform(), **note)
        look.shade(ax, x, self.low, self.high, alpha=0.2)
        ax.plot(x, self.metric_value, gid="series", **look.line, label=look.label)
        if np.isfinite(self.by_chance).any():
            ax.fill_between(x, self.chance_low, self.chance_high, color=muted(), alpha=0.2, linewidth=0)
            ax.plot(x, self.by_chance, color=muted(), linestyle="--", linewidth=1.0, label="if calibrated")
        if self.suggested is not None:
            place = self.values.index(self.suggested)
            ring: dict[str, Any] = {"marker": "o", "markersize": 9, "markerfacecolor": "none", "linestyle": "none"}
            label = f"suggested {self.over}: {number(self.suggested, 3)}"
            ax.plot(x[place], self.metric_value[place], color=look.color, label=label, **ring)
        ax.margins(y=0.2)
        finish(ax, "", self.metric)


@documents_keywords()
def stability_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    metric: str | Metric = "ece",
    over: Literal["bins", "gamma", "fraction"] = "bins",
    values: Sequence[Any] | None = None,
    n_resamples: int = 100,
    level: float = 0.95,
    lens: Any = None,
    rng: Any = 0,
    sample_weight: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> StabilityDiagram:
    r"""Compute a metric as a function of its bins or of the share of rows, and find where it is stable.

    With few bins errors cancel, with many bins sampling noise counts as error. Between them a metric may be stable.
    Beside the metric stands its value for calibrated predictions, from labels that are simulated from the probabilities:
    what sampling noise alone gives at each setting. The stable region is the longest run of at least three adjacent
    settings at which the metric, and what it has beyond the value for calibrated predictions, demonstrably differ by at
    most a quarter. For calibrated predictions there is none, and with few rows none may be found.

    Parameters
    ----------
    y_true
    y_prob
    metric : str or Metric, default "ece"
        Metric; its options are accepted as keywords.
    over : {"bins", "gamma", "fraction"}, default "bins"
        Option that varies: the number of bins, or the largest share of rows in a cell; ``"fraction"`` resamples that share of
        the rows instead.
    values : sequence of float, optional
        The settings.
    n_resamples : int, default 100
        Number of bootstrap resamples, and of simulated sets of labels, the same for every setting.
    level : float, default 0.95
        Level of the interval of each setting, of the band of calibrated predictions and of the stable region.
    lens : str or Lens, optional
        Lens; by default that of the metric.
    rng
    sample_weight
    pos_label
    **options
        Options of the metric.

    Returns
    -------
    StabilityDiagram
        ``metric_value`` at each of ``values``, its mean ``by_chance`` for calibrated predictions with the band from
        ``chance_low`` to ``chance_high``, the settings ``stable``, the value ``plateau``, and for bins and gamma the
        setting ``suggested``. ``plot()`` draws them.

    Raises
    ------
    UndefinedMetricError
        If the metric is undefined at all settings.

    See Also
    --------
    calibrant.interval : Interval of a metric at one setting.
    calibrant.gece_db : The generalised error without its expected value by chance.

    Notes
    -----
    Let :math:`v_i` be the metric at setting i and :math:`c_i` its value for calibrated predictions. Settings i and j agree if

    .. math:: v_i - 0.75 v_j > q s_{ij} \quad \text{and} \quad (v_i - c_i) - 0.75 (v_j - c_j) > q s_{ij}

    and the same with i and j exchanged. Here :math:`s_{ij}` is the standard deviation of the first difference over bootstrap
    replicates, which are the same for all settings, and q the quantile of the largest studentised difference over all pairs,
    so that all differences are at least what they seem with probability `level`. In a stable region every two settings agree.
    This is a test of equivalence: it is not enough that a change cannot be seen. In expectation the error inside the cells is at most
    the metric and, up to the noise that a large gap absorbs, at least the metric beyond chance; both must be stable, because
    errors that no longer cancel and the noise of small cells can offset each other in one of them. A metric that is not an unsigned
    error with ideal value 0, and one of soft labels, is judged by its value alone. Settings with the same
    cells, for example where a tree cannot split further, count once. Cells of a tree are those of the data in all replicates.

    ``suggested`` is the coarsest setting of the region, with the most rows per cell. It is chosen by the labels: a p-value
    or interval of the metric at this setting on the same rows does not account for the choice.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.figures.stability import stability_diagram
    >>> drawn = cal.inference.make_miscalibrated(5000, warp=cal.inference.simulation.temperature(2.0), rng=0)
    >>> shown = stability_diagram(drawn.y_true, drawn.y_prob, values=[1, 5, 10, 15, 20])
    >>> shown.stable
    (5, 10, 15, 20)
    >>> shown.suggested
    5
    """
    chosen = catalogue[metric]
    check_options(stability_diagram, options, chosen)
    settings = _settings(chosen, over, values, options)
    source = rows_or_view(resolve(y_true, y_prob, sample_weight, pos_label))
    _check(source, lens, level, n_resamples)
    views = chosen.views(source, **({} if lens is None else {"lens": lens}))
    plans = [options]
    if over != "fraction":
        plans = [_with_cells(chosen, views, {**options, over: setting}) for setting in settings]
    whole = np.array([value_or_nan(chosen.of_views, views, **plan) for plan in plans])
    if np.isnan(whole).all():
        raise UndefinedMetricError(
            chosen.id, f"is undefined at every setting of {over}", "call the metric itself for the reason"
        )
    with_lens = [(chosen, plan if lens is None else {**plan, "lens": lens}) for plan in plans]
    seed = seed_of(rng)
    samples, nulls = [], []
    for share in settings if over == "fraction" else (1.0,):
        samples.append(_resampled(source, with_lens, "rows", share, n_resamples, seed))
        labels: Draws = "outcomes" if share == 1 else "scores"
        nulls.append(_resampled(source, with_lens, labels, share, n_resamples, seed + 1))
    sample, null = np.hstack(samples), np.hstack(nulls)
    region, plateau, suggested = None, math.nan, None
    if over == "fraction":
        value, spread, low, high = _summary(sample, level)
    else:
        value = whole
        spread, low, high = _normal_interval(whole, sample, level, chosen.range)
        # Settings with the same cells have the same values, up to the order of sums.
        kinds = np.unique(np.nan_to_num(np.vstack([whole, sample, null])).round(12), axis=1, return_inverse=True)[1]
        region, plateau = _longest_run(whole, kinds.tolist(), _agreement(chosen, whole, sample, null, level))
        if region is not None:
            suggested = COARSEST[over](settings[region[0] : region[1] + 1])
    by_chance, _, chance_low, chance_high = _summary(null, level)
    return StabilityDiagram(
        chosen.id,
        over,
        settings,
        *(value, spread, low, high, by_chance, chance_low, chance_high),
        region=region,
        plateau=plateau,
        level=level,
        n_resamples=n_resamples,
        lens=shared_name(views),
        suggested=suggested,
    )


def _settings(metric: Metric, over: Any, values: Any, options: dict[str, Any]) -> tuple[Any, ...]:
    """The settings in increasing order."""
    check_choice(over, "over", [name for name in USUAL if name == "fraction" or name in metric.options])
    if over in options:
        raise ArgumentError(over, "conflicts with over", "give its settings in values")
    values = USUAL[over] if values is None else values
    if isinstance(values, str) or np.ndim(values) == 0 or len(values) == 0:
        raise ArgumentError("values", f"must be one or more settings of {over}; got {values!r}")
    settings = values.tolist() if isinstance(values, np.ndarray) else list(values)
    most = math.inf if over == "bins" else 1
    if not all(is_number(value) and 0 < value <= most for value in settings):
        raise ArgumentError(
            "values", f"must be numbers above 0{' and at most 1' if most == 1 else ''}; got {settings!r}"
        )
    return tuple(sorted(set(settings)))


def _check(source: Predictions | View | VectorView, lens: Any, level: Any, n_resamples: Any) -> None:
    check_fraction(level, "level")
    check_whole(n_resamples, "n_resamples", 2)
    if isinstance(source, VectorView):
        raise InputTypeError("y_true", "a view of whole vectors cannot be resampled", "pass Predictions")
    if lens is not None and not isinstance(source, Predictions):
        raise ArgumentError("lens", "is determined by the view", "drop lens")


def _summary(sample: Floats, level: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Mean, standard deviation and quantiles over resamples; NaN where fewer than 90% of them have a value."""
    known = np.isfinite(sample)
    enough = known.mean(axis=0) >= 0.9
    kept = np.where(enough, np.where(known, sample, np.nan), 0.0)
    low, high = np.nanquantile(kept, [(1 - level) / 2, (1 + level) / 2], axis=0)
    mean, spread = np.nanmean(kept, axis=0), np.nanstd(kept, axis=0, ddof=1)
    mean, spread, low, high = (np.where(enough, values, np.nan) for values in (mean, spread, low, high))
    return mean, spread, low, high


def _normal_interval(
    value: Floats, sample: Floats, level: float, limits: tuple[float, float]
) -> tuple[Floats, Floats, Floats]:
    """Standard deviation over resamples, and the ends of the interval, inside the range of the metric."""
    spread = _summary(sample, level)[1]
    half = two_sided_quantile(level) * spread
    low = np.maximum(value - half, np.minimum(value, limits[0]))
    return spread, low, np.minimum(value + half, np.maximum(value, limits[1]))


def _agreement(metric: Metric, value: Floats, sample: Floats, null: Floats, level: float) -> NDArray[np.bool_]:
    """Whether the metric at two settings demonstrably differs by at most the tolerance, see `stability_diagram`."""
    side = -1.0 if np.nansum(value) < 0 else 1.0
    curves = [side * value]
    if metric.ideal == 0 and not metric.info.signed and metric.info.ideal_for == "calibrated":
        curves.append(value - np.nan_to_num(_summary(null, level)[0]))
    noise = side * _centred(sample) + _centred(null) / math.sqrt(len(null))  # the mean by chance is simulated, too
    deviation = _shortfall(noise)
    spread = deviation.std(axis=0, ddof=1)
    ratio = np.divide(deviation, spread, out=np.zeros_like(deviation), where=spread > 0)
    critical = np.quantile(ratio.max(axis=(1, 2)), level, method="higher")
    above = np.all([_shortfall(curve) > critical * spread for curve in curves], axis=0)  # false for NaN
    known = np.isfinite(sample).mean(axis=0) >= 0.9
    both: NDArray[np.bool_] = above & above.T & np.outer(known, known)
    return both


def _shortfall(curve: Floats) -> Floats:
    """How far each setting (the last axis but one) is above the least value that agrees with that of another (the last axis)."""
    return curve[..., :, None] - (1 - TOLERANCE) * curve[..., None, :]


def _centred(sample: Floats) -> Floats:
    """Deviations from the mean over resamples; 0 where the metric is undefined."""
    known = np.isfinite(sample)
    mean = sample.sum(axis=0, where=known) / np.maximum(known.sum(axis=0), 1)
    return np.where(known, sample - mean, 0.0)


def _longest_run(value: Floats, kinds: Sequence[int], agree: NDArray[np.bool_]) -> tuple[tuple[int, int] | None, float]:
    """The longest run of settings, of at least three kinds, that all agree, and the midrange of their values.

    Of several the flattest is taken, with all settings of the same kinds beside it.
    """
    best: tuple[int, float, int] | None = None
    result: tuple[tuple[int, int] | None, float] = None, math.nan
    for start in range(len(value)):
        for end in range(start + LEAST_RUN - 1, len(value)):
            run = slice(start, end + 1)
            least, most = float(value[run].min()), float(value[run].max())
            different = len(set(kinds[run]))
            rank = (different, least - most, end - start)
            if agree[run, run].all() and different >= LEAST_RUN and (best is None or rank > best):
                best, result = rank, ((start, end), (least + most) / 2)
    return result


def _resampled(
    source: Predictions | View | VectorView, plans: list[Plan], draws: Draws, share: float, count: int, seed: int
) -> Floats:
    """Value of each plan (columns) on the same resamples of a share of the rows; NaN for labels to simulate if these are soft."""
    assert not isinstance(source, VectorView)
    soft = source.soft is not None if isinstance(source, Predictions) else source.is_soft
    if soft and draws != "rows":
        return np.full((count, len(plans)), np.nan)
    total = source.n if source.weight_kind != "counts" or source.weight is None else int(source.weight.sum())
    size = max(1, round(share * total))
    if isinstance(source, View):
        sampler: Sampler = RowSampler.by_content(source, size)
    else:
        sampler = PredictionSampler.by_content(source, size)
    with sharing():  # every setting has the same resamples
        return resampled_values(plans, sampler, draws, count, seed)


def _with_cells(metric: Metric, views: list[AnyView], plan: dict[str, Any]) -> dict[str, Any]:
    """The options with the tree that they give, so that its cells are the same in all resamples."""
    settings = {**metric.options, **plan}
    grown = settings.get("binning") == "auto" and "gamma" in settings and is_default(settings["bins"])
    if not grown or len(views) > 1:
        return plan
    view = views[0].as_vector() if isinstance(views[0], View) else views[0]
    tree = partition_of(view, Auto(settings["bins"]), settings["gamma"], settings["min_size"])
    if not isinstance(tree, KDTree):
        return plan
    fitted = {name: value for name, value in plan.items() if name not in ("gamma", "min_size")}
    return {**fitted, "binning": tree.fit(view)}
