"""The cumulative difference plot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics.cumulative.cumulative import ecce_mad, ecce_r, null_scale, path_of
from ..metrics.cumulative.distributions import brownian_quantile, maximum_survival
from ..util.checks import check_fraction
from ..util.results import number, pvalue_text
from ..views.keywords import documents_keywords
from ..views.lenses import Lens
from ..views.resolve import resolve
from .base import Diagram, Floats, corner_texts, finish, one_view, reference, series_on, side_names
from .canvas import OVER, PAPER_WIDTH, UNDER, Axes, muted, new_ax, small_size
from .styling import plots, series_of

# Largest number of points plotted; minimum and maximum of each segment are kept.
MOST_POINTS = 4000


@dataclass(frozen=True, repr=False)
class CumulativeDiagram(Diagram):
    """Data of a cumulative difference plot.

    The path increases where scores are too high; its slope is the mean gap.

    Parameters
    ----------
    share : ndarray
        Cumulative share of the weight at each distinct score, starting with 0.
    score : ndarray
        Distinct scores, starting with NaN.
    path : ndarray
        Cumulative sum of score minus outcome, divided by the total weight.
    scale : float
        Standard deviation of the end of the path under calibration.
    level : float
        Probability of the band.
    reach : float
        Under calibration the path stays within this distance from 0 with probability `level` (asymptotically).
    pvalue : float
        Asymptotic p-value of the largest distance from 0.
    ecce_mad : float
        Largest distance of the path from 0.
    ecce_r : float
        Range of the path.
    lens : str
        Lens of the scores.
    n : int
        Number of rows.
    """

    share: Floats = field(repr=False)
    score: Floats = field(repr=False)
    path: Floats = field(repr=False)
    scale: float
    level: float
    reach: float
    pvalue: float
    ecce_mad: float
    ecce_r: float
    lens: str
    n: int

    def _title(self) -> str:
        return (
            f"Cumulative differences ({self.lens}, {self.n:,} rows): ecce_mad {number(self.ecce_mad)}, "
            f"ecce_r {number(self.ecce_r)}, end {number(float(self.path[-1]))}; "
            f"under calibration the path stays within {number(self.reach)} with probability {self.level:.4g} "
            f"(p-value {pvalue_text(self.pvalue)})"
        )

    __repr__ = _title

    @plots
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot the path with its band against the share of rows sorted by score, which is shown above; its slope is the mean gap."""
        ax = new_ax(ax, height=PAPER_WIDTH * 0.82)
        later = series_on(ax) > 0
        (look,) = series_of(ax, style)
        if later:  # another shade would hide the first band
            for end in (-self.reach, self.reach):
                ax.axhline(end, color=look.color, linestyle=(0, (1, 2)), linewidth=0.8, gid="band", zorder=1.4)
        else:
            band = ax.axhspan(-self.reach, self.reach, color=muted(), alpha=0.2, linewidth=0, gid="band", zorder=1)
            band.set_label(f"{100 * self.level:g}% band under calibration")
        reference(ax)
        shown = _thinned(self.path)
        facts = f"ecce_mad {number(self.ecce_mad, 3)}, ecce_r {number(self.ecce_r, 3)}"
        ax.plot(self.share[shown], self.path[shown], zorder=3, gid="path", label=look.named(facts), **look.line)
        self._draw_triangle(ax)
        # Room for the path, the band, the triangle and the texts in the corners.
        least = max(self.reach, 2 * self.scale)
        low, high = 1.3 * min(-least, float(self.path.min())), 1.3 * max(least, float(self.path.max()))
        if high == low:
            low, high = -1.0, 1.0
        if later:
            low, high = min(low, ax.get_ylim()[0]), max(high, ax.get_ylim()[1])
        ax.set(xlim=(0, 1), ylim=(low, high))
        finish(ax, "share of rows, sorted by score", "cumulative score minus outcome")
        if not later:  # paths have different scores
            self._name_scores(ax)
        rising, falling = side_names(self.lens)
        corner_texts(ax, (f"increasing: {rising}", OVER), (f"decreasing: {falling}", UNDER))
        return ax

    def _draw_triangle(self, ax: Any) -> None:
        """Triangle at 0 whose height is four standard deviations of the end of the path under calibration."""
        from matplotlib.patches import Polygon

        corners = [(0, -2 * self.scale), (0.05, 0), (0, 2 * self.scale)]
        look: dict[str, Any] = {"facecolor": muted(), "edgecolor": "none", "alpha": 0.8}
        ax.add_patch(Polygon(corners, zorder=2, gid="triangle", **look))

    def _name_scores(self, ax: Any) -> None:
        """Scores at the ticks, above the axes."""
        ticks = np.arange(6) / 5
        at = np.clip(np.searchsorted(self.share, ticks), 1, len(self.score) - 1)
        above = ax.secondary_xaxis("top")
        above.set_gid("scores")
        above.set_xticks(ticks, [_short(value) for value in self.score[at]])
        above.tick_params(labelsize=small_size(), labelcolor=muted(), length=0, pad=1)
        above.set_xlabel("score", fontsize="small", color=muted(), labelpad=2)
        above.spines["top"].set_visible(False)


def _thinned(path: Floats) -> NDArray[np.intp]:
    """Indices of the points to plot: all of a short path, else the extremes of each segment and both ends."""
    if len(path) <= MOST_POINTS:
        return np.arange(len(path))
    parts = np.array_split(np.arange(len(path)), MOST_POINTS // 2)
    ends = [(part[0] + path[part].argmin(), part[0] + path[part].argmax()) for part in parts]
    return np.unique(np.append(np.array(ends).ravel(), [0, len(path) - 1]))


def _short(score: float) -> str:
    """A score with two digits, or more to distinguish it from 0 and 1."""
    for digits in (2, 3, 4):
        text = f"{score:.{digits}f}"
        if (score > 0) == (float(text) > 0) and (score < 1) == (float(text) < 1):
            return text.rstrip("0").rstrip(".")
    return "~0" if score < 0.5 else "~1"


@documents_keywords()
def cumulative_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    lens: str | Lens = "auto",
    level: float = 0.95,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> CumulativeDiagram:
    r"""Compute the cumulative differences between scores and outcomes in order of the score.

    Under calibration the path stays near 0. Unlike a reliability diagram it needs no bins or bandwidth.

    Parameters
    ----------
    y_true
    y_prob
    lens
    level : float, default 0.95
        Probability with which the whole path stays in the band under calibration, by the distribution of Brownian
        motion: the path leaves the band where `assess` rejects with `ecce_mad`.
    sample_weight
    pos_label

    Returns
    -------
    CumulativeDiagram
        The ``path`` over ``share`` and ``score``, the half-width ``reach`` of the band and the ``pvalue``. ``plot()``
        draws it.

    See Also
    --------
    reliability_diagram : With bins.
    calibrant.ecce_mad : The largest distance of the path from 0.

    Notes
    -----
    For rows sorted by score, :math:`F_k = \sum_{i \le k} w_i (s_i - o_i) / \sum_i w_i`.

    References
    ----------
    .. [1] Arrieta-Ibarra, Gujral, Tannen, Tygert and Xu (2022): Metrics of calibration for probabilistic predictions.
       JMLR 23.

    Examples
    --------
    >>> from calibrant.figures.differences import cumulative_diagram
    >>> diagram = cumulative_diagram([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    >>> [round(height, 3) for height in diagram.path.tolist()]
    [0.0, 0.025, -0.125, -0.175, -0.2]
    """
    check_fraction(level, "level")
    view = one_view(resolve(y_true, y_prob, sample_weight, pos_label), lens)
    scale, path = null_scale(view), path_of(view)
    far = float(ecce_mad(view))
    chance = maximum_survival(far / scale) if scale > 0 else float(far <= 1e-12)
    return CumulativeDiagram(
        np.asarray(view.prefix.weight / view.total, dtype=np.float64),
        np.append(np.nan, view.prefix.score),
        path,
        scale,
        level,
        scale * brownian_quantile(maximum_survival, 1 - level),
        chance,
        far,
        float(ecce_r(view)),
        view.lens,
        int(view.total) if view.weight_kind == "counts" else view.n,
    )
