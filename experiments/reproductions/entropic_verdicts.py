"""Scores, thresholds and verdicts as the paper gives them: T-Cal's bins for ECE and MCE, consistency resampling."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

import calibrant as cal
from calibrant.util.arrays import Array
from experiments.reproductions.study import Row

HELD, ANEW, FIXED = "held", "sought anew", "always 15"
"""T-Cal's number of bins, fixed or chosen again for simulated outcomes; and a fixed number for comparison."""
FLOOR = 1e-7
"""Probabilities are kept this far from 0 and 1, or one wrong row makes ECD infinite."""


class Verdict(NamedTuple):
    """A score, the threshold that chance exceeds once in twenty draws, and whether the hypothesis falls."""

    score: float
    threshold: float

    @property
    def rejected(self) -> bool:
        return self.score > self.threshold


class Published(NamedTuple):
    """A score, its threshold and its verdict as printed."""

    score: float
    threshold: float
    rejected: bool


def kept_inside(prob: Array, floor: float = FLOOR) -> Array:
    """Probabilities no closer to 0 and 1 than `floor`."""
    return np.clip(prob, floor, 1 - floor)


def adaptive_bins(y: Array, prob: Array, **words: Any) -> int:
    """How many bins T-Cal's rule takes for these rows."""
    return len(cal.reliability_diagram(y, prob, bins="tcal", level=None, **words)["model"].table)


def assessed(y: Array, prob: Array, metric: str, draws: int, seed: int, **words: Any) -> Verdict:
    """One metric: rows drawn with replacement and labels from their scores, as the paper has it."""
    found = cal.assess(
        y,
        prob,
        metric=metric,
        method="resampled_scores",
        n_resamples=draws,
        exact=True,
        rng=seed,
        **words,
    )
    return Verdict(found.statistic, found.critical_value)


def binned(y: Array, prob: Array, draws: int, seed: int, bins: int | str, **words: Any) -> dict[str, Verdict]:
    """ECE and MCE on the same draws."""
    found = cal.assess_many(
        y,
        prob,
        metrics=["ece", "mce"],
        n_resamples=draws,
        method="resampled_scores",
        exact=True,
        rng=seed,
        bins=bins,
        **words,
    )
    return {name.upper(): Verdict(found[name].statistic, found[name].critical_value) for name in ("ece", "mce")}


def draw_reliability(
    panels: dict[str, dict[str, Any]], path: Path, size: tuple[float, float], *, bins: int, least: int, **axes: str
) -> None:
    """A reliability diagram for each title, with a line for each map, of bins with at least so many rows."""
    figure = Figure(figsize=size, layout="constrained")
    for ax, (title, lines) in zip(np.atleast_1d(figure.subplots(1, len(panels))), panels.items(), strict=True):
        ax.plot([0, 1], [0, 1], color="grey", linestyle=":", linewidth=1)
        for name, found in lines.items():
            table = cal.reliability_diagram(found.y, found.prob, bins=bins, level=None)["model"].table
            full = table.rows >= least
            rate = table.positives[full] / table.weight[full]
            ax.plot(table.mean_score[full], rate, marker="o", markersize=4, label="no map" if name == "none" else name)
        ax.set(title=title, aspect="equal", **axes)
        ax.title.set_fontsize(10)
        ax.legend(frameon=False)
    figure.savefig(path, dpi=110)


Ways = dict[str, dict[str, Verdict]]
"""ECE and MCE for each way to come to a number of bins."""


def every_way(y: Array, prob: Array, draws: int, seed: int, ways: Sequence[str] = (HELD, ANEW, FIXED)) -> Ways:
    """ECE and MCE with T-Cal's bins held, with T-Cal's bins sought anew in each draw, and with 15 bins."""
    bins = {HELD: adaptive_bins(y, prob), ANEW: "tcal", FIXED: 15}
    # The search makes each draw dear.
    return {way: binned(y, prob, few_draws(draws) if way == ANEW else draws, seed, bins[way]) for way in ways}


def few_draws(draws: int) -> int:
    """Half as many, and no fewer than a level of 0.05 needs."""
    return max(19, draws // 2)


def rejections(verdicts: Sequence[Verdict]) -> str:
    """How many of how many."""
    return f"{sum(verdict.rejected for verdict in verdicts)} of {len(verdicts)}"


def score_rows(
    what: str, published: Published | None, ours: dict[str, Sequence[Verdict]], *, other: str = "", note: str = ""
) -> list[Row]:
    """The score, then the threshold of each way, beside the published ones (of the network `other`, if another)."""
    said = [rejections(found) + (f" ({way})" if way else "") for way, found in ours.items()]
    verdict = "H0 rejected in " + ", ".join(said)
    if published is not None:
        verdict += f"; published{f' ({other})' if other else ''}: {'rejected' if published.rejected else 'accepted'}"
    scores = [verdict.score for verdict in next(iter(ours.values()))]
    first = published.score if published else None
    rows = [Row(what, first, mean(scores), spread(scores), "; ".join(filter(None, [verdict, note])))]
    for way, found in ours.items():
        limits = [verdict.threshold for verdict in found]
        name = f"{what}, threshold" + (f", {way}" if way else "")
        rows.append(Row(name, published.threshold if published else None, mean(limits), spread(limits)))
    return rows


def mean(values: Sequence[float] | Array) -> float | None:
    """The mean; None where it is not finite."""
    value = float(np.mean(values))
    return value if np.isfinite(value) else None


def spread(values: Sequence[float] | Array) -> float | None:
    """The standard deviation over runs; None where there is none."""
    return float(np.std(values, ddof=1)) if len(values) > 1 and np.isfinite(values).all() else None
