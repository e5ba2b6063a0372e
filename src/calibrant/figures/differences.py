"""The cumulative difference plot, which needs no bins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..binning.table import check_interval
from ..metrics.cumulative.cumulative import ecce_mad, ecce_r, null_scale, path_of
from ..metrics.cumulative.distributions import maximum_survival
from ..util.results import number, pvalue_text
from ..views.lenses import Lens
from .base import DASHES, SMALL, Diagram, check_choice, colour_on, finish, legend, one_view, series_on, side_words
from .canvas import PAPER_WIDTH, is_ours, keep_room, new_ax, tones_of
from .labels import room_of, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CumulativeDiagram", "cumulative_diagram"]

Floats = NDArray[np.float64]

# Points of a path drawn at most; the highest and the lowest of each stretch are kept.
MOST_POINTS = 4000
# The part of the height that words and legend need.
WORD_ROOM = 0.36
# Height of the scores named over the ax, and what a legend needs beside its words, in inches.
SCORES_ABOVE, BESIDE = 0.3, 0.75


@dataclass(frozen=True, repr=False)
class CumulativeDiagram(Diagram):
    """The path of cumulative differences, positive where scores are too high; its slope is the mean gap there."""

    share: Floats = field(repr=False)
    """Part of all weight up to each distinct score, 0 first."""
    score: Floats = field(repr=False)
    """The distinct scores; NaN first, where the path starts."""
    path: Floats = field(repr=False)
    """Sum of score minus outcome over the rows up to there, over all weight."""
    scale: float
    """Standard deviation of the path's end if the scores are right."""
    level: float
    reach: float
    """The path of right scores stays within this distance from 0 with probability `level` (for many rows)."""
    pvalue: float
    """Chance of a path of right scores to stray as far as this one (for many rows)."""
    ecce_mad: float
    ecce_r: float
    lens: str
    n: int

    _stated = ("scale", "level", "reach", "pvalue", "ecce_mad", "ecce_r", "lens", "n")

    def _columns(self) -> dict[str, list[Any]]:
        return self._listed("share", "score", "path")

    def _title(self) -> str:
        return (
            f"Cumulative differences ({self.lens}, {self.n:,} rows): ecce_mad {number(self.ecce_mad)}, "
            f"ecce_r {number(self.ecce_r)}, end {number(float(self.path[-1]))}; "
            f"the whole path of right scores stays within {number(self.reach)} with probability {self.level:.4g} "
            f"(p-value {pvalue_text(self.pvalue)})"
        )

    __repr__ = _title

    def _table(self) -> tuple[list[str], list[list[str]]]:
        names = ("ecce_mad", "ecce_r", "scale", "reach", "pvalue")
        return ["", "value"], [[name, number(getattr(self, name))] for name in names]

    def plot(self, ax: Axes | None = None, *, against: Literal["share", "score"] = "share") -> Axes:
        """Draw on `ax`, or on a new one, which is returned.

        Parameters
        ----------
        against
            ``"share"``: the part of all rows with scores up to there, where a slope is a mean gap; the scores stand above.
            ``"score"``: the score itself.
        """
        check_choice(against, ("share", "score"), "against")
        ax = new_ax(ax, height=PAPER_WIDTH * 0.82)
        x = self.share if against == "share" else np.append(0.0, self.score[1:])
        inside = room_of(ax, SMALL)[0] - (0.0 if is_ours(ax.figure) else BESIDE)
        ax.axhspan(
            -self.reach, self.reach, color=tones_of(ax).faint, alpha=0.4, linewidth=0, gid="band", zorder=1
        ).set_label(wrapped(f"{100 * self.level:g}% chance that right scores stay inside", inside, SMALL))
        ax.axhline(0, color=tones_of(ax).muted, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1.5)
        shown = _thinned(self.path)
        place = series_on(ax)
        look: dict[str, Any] = {"color": colour_on(ax, place), "linestyle": DASHES[place % len(DASHES)]}
        line = ax.plot(x[shown], self.path[shown], linewidth=1.2, zorder=3, gid="path", **look)[0]
        line.set_label(wrapped(f"ecce_mad {number(self.ecce_mad, 3)}, ecce_r {number(self.ecce_r, 3)}", inside, SMALL))
        limits = self._limits()
        if place:  # another path is there
            limits = min(limits[0], ax.get_ylim()[0]), max(limits[1], ax.get_ylim()[1])
        ax.set(xlim=(0, 1), ylim=limits)
        self._triangle(ax)
        said = "part of rows, by rising score" if against == "share" else "score"
        finish(ax, said, "cumulative score minus outcome")
        if against == "share" and not place:  # the scores of one path are not those of another
            self._name_scores(ax)
        self._words(ax)
        return ax

    def _triangle(self, ax: Any) -> None:
        """Two standard deviations up and down from where the path starts: how large chance alone is."""
        from matplotlib.patches import Polygon

        corners = [(0, -2 * self.scale), (0.05, 0), (0, 2 * self.scale)]
        ax.add_patch(
            Polygon(corners, facecolor=tones_of(ax).muted, edgecolor="none", alpha=0.8, zorder=2, gid="triangle")
        )

    def _name_scores(self, ax: Any) -> None:
        """The score at each tick of the share, above."""
        ticks = np.arange(6) / 5
        at = np.clip(np.searchsorted(self.share, ticks), 1, len(self.score) - 1)
        above = ax.secondary_xaxis("top")
        above.set_xticks(ticks, [_short(value) for value in self.score[at]])
        above.tick_params(labelsize=SMALL, labelcolor=tones_of(ax).muted, length=0, pad=1)
        above.set_xlabel("score", fontsize=SMALL, color=tones_of(ax).muted, labelpad=2)
        above.spines["top"].set_visible(False)
        if not is_ours(ax.figure):
            keep_room(ax, inches=SCORES_ABOVE)

    @property
    def _is_low(self) -> bool:
        """Whether the path lies below 0 more than above."""
        return float(-self.path.min()) > float(self.path.max())

    def _limits(self) -> tuple[float, float]:
        """Room for the path and the band, and on the side that the path leaves free for words too."""
        least = 1.1 * max(self.reach, 2 * self.scale)
        high, low = max(least, 1.1 * float(self.path.max())), max(least, -1.1 * float(self.path.min()))
        if high + low == 0:
            return -1.0, 1.0
        room = (high + low) * WORD_ROOM / (1 - WORD_ROOM)
        return (-low, high + room) if self._is_low else (-low - room, high)

    def _words(self, ax: Any) -> None:
        """What rising and falling mean, and the legend, on the side that the path leaves free."""
        rising, falling = side_words(self.lens)
        lines = ((f"falling: {falling}", tones_of(ax).under), (f"rising: {rising}", tones_of(ax).over))
        style: dict[str, Any] = {"transform": ax.transAxes, "fontsize": SMALL, "style": "italic", "ha": "right"}
        edge, step, align = (0.98, -0.075, "top") if self._is_low else (0.02, 0.075, "bottom")
        said = any(text.get_gid() == "side" for text in ax.texts)
        for place, (text, hue) in enumerate(() if said else lines[:: -1 if self._is_low else 1]):
            ax.text(0.98, edge + place * step, text, va=align, color=hue, gid="side", **style)
        corner = "upper right" if self._is_low else "lower right"
        legend(ax, corner, bbox_to_anchor=(1.0, edge + 2 * step))


def _thinned(path: Floats) -> NDArray[np.intp]:
    """Which points to draw: all of a short path, else the extremes of each stretch and both ends."""
    if len(path) <= MOST_POINTS:
        return np.arange(len(path))
    parts = np.array_split(np.arange(len(path)), MOST_POINTS // 2)
    ends = [(part[0] + path[part].argmin(), part[0] + path[part].argmax()) for part in parts]
    return np.unique(np.append(np.array(ends).ravel(), [0, len(path) - 1]))


def _short(score: float) -> str:
    """A score in few digits: two, or as many more as keep it apart from 0 and 1."""
    for digits in (2, 3, 4):
        word = f"{score:.{digits}f}"
        if (score > 0) == (float(word) > 0) and (score < 1) == (float(word) < 1):
            return word.rstrip("0").rstrip(".")
    return "~0" if score < 0.5 else "~1"


def _quantile(survival: Callable[[float], float], level: float) -> float:
    """Where a distribution's survival falls to 1 - level, by halving."""
    low, high = 0.0, 10.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if survival(middle) > 1 - level else (low, middle)
    return (low + high) / 2


def cumulative_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    lens: str | Lens = "auto",
    where: Any = None,
    interval: float = 0.95,
    **keywords: Any,
) -> CumulativeDiagram:
    """Scores minus outcomes added up in order of score: a path that stays near 0 if the scores are right. It needs no bins.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities, or Predictions, a View or a Sketch; keywords of `Predictions` are taken too.
    lens
        Which question is asked; one with one score for each row.
    where
        Which rows: a boolean mask or a Selection.
    interval
        The chance with which the whole path of right scores stays in the band, by the distribution of Brownian motion: the path leaves
        it where `assess` rejects with `ecce_mad`.

    References
    ----------
    Arrieta-Ibarra, Gujral, Tannen, Tygert and Xu (2022): Metrics of calibration for probabilistic predictions. JMLR 23.

    Examples
    --------
    >>> from calibrant.figures.differences import cumulative_diagram
    >>> diagram = cumulative_diagram([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    >>> [round(height, 3) for height in diagram.path.tolist()]
    [0.0, 0.025, -0.125, -0.175, -0.2]
    """
    check_interval(interval, "wilson", "interval")
    view = one_view(cumulative_diagram, y_true, y_prob, lens, where, keywords)
    scale, path = null_scale(view), path_of(view)
    far = float(ecce_mad(view))
    chance = maximum_survival(far / scale) if scale > 0 else float(far <= 1e-12)
    return CumulativeDiagram(
        np.asarray(view.prefix.weight / view.total, dtype=np.float64),
        np.append(np.nan, view.prefix.score),
        path,
        scale,
        interval,
        scale * _quantile(maximum_survival, interval),
        chance,
        far,
        float(ecce_r(view)),
        view.lens,
        int(view.total) if view.weight_kind == "counts" else view.n,
    )
