"""The figures, drawn from means over seeds; thin lines on bars are standard deviations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from calibrant.figures.classgroups import GroupErrorDiagram
from calibrant.figures.entropy import EntropyDiagram, EntropyParts
from calibrant.figures.groupconfidence import GroupConfidenceDiagram
from calibrant.figures.intervals import IntervalDiagram, IntervalErrors
from calibrant.figures.stability import StabilityDiagram
from calibrant.figures.topk import TopkDiagram, TopkLine

from .plan import Plan
from .summary import Floats, array, mean, number, spread
from .train import BASE

WIDTH, DOTS = 6.4, 110
# As many as there are distinguishable colors.
SHOWN = 7
Results = dict[str, Any]


def shown_models(results: Results) -> list[str]:
    """The models in the figures."""
    return list(results["measured"])[:SHOWN]


def axes_of(count: int, height: float) -> list[Any]:
    """New axes, one below the other."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return list(np.atleast_1d(figure.subplots(count, 1)))


def whiskers(ax: Any, spreads: Sequence[Floats], *, across: bool = False) -> None:
    """Standard deviations on grouped bars; `spreads` has an entry for each model."""
    for bars, deviation in zip(list(ax.containers), spreads, strict=True):
        for bar, half in zip(bars.patches, deviation, strict=True):
            middle = bar.get_y() + bar.get_height() / 2 if across else bar.get_x() + bar.get_width() / 2
            end = bar.get_width() if across else bar.get_height()
            if np.isfinite(end) and half > 0:
                low, high = max(end - half, 0), end + half
                (ax.hlines if across else ax.vlines)(middle, low, high, color="#777777", linewidth=1.0, zorder=3)


def top_k(results: Results) -> Any:
    """Error, accuracy and confidence of the k most likely classes."""
    keys = ("top_k", "top_k_accuracy", "top_k_confidence", "rank_confidence", "rank_rate")
    lines = tuple(
        TopkLine(model, *(mean(array(results, model, key)) for key in keys)) for model in shown_models(results)
    )
    shown = TopkDiagram(np.arange(1, len(lines[0].error) + 1), lines, "gece", "top_k", BASE)
    return shown.plot(axes_of(3, 6.6))[0].figure


def groups(results: Results) -> Any:
    """The error at each level of the hierarchy, and that of the rows of each group."""
    from calibrant.figures.classgroups import levels_of

    hierarchy, models = results["plan"]["hierarchy"], shown_models(results)
    steps = levels_of(hierarchy["groups"])
    shown = GroupErrorDiagram(
        metric="gece",
        levels=(*hierarchy["names"], "classes"),
        sizes=(*(len(step.groups) for step in steps), len(results["classes"])),
        level_errors={model: mean(array(results, model, "levels")) for model in models},
        level=hierarchy["level"],
        groups=tuple(steps[hierarchy["level"] - 1].groups),
        weight={model: mean(array(results, model, "group_rows")) for model in models},
        group_errors={model: mean(array(results, model, "groups")) for model in models},
        rows="label",
    )
    axes = shown.plot(axes_of(2, 5.6))
    whiskers(axes[0], [spread(array(results, model, "levels")) for model in models])
    whiskers(axes[1], [spread(array(results, model, "groups")) for model in models], across=True)
    return axes[0].figure


def group_confidence(results: Results) -> Any:
    """Where the confidence goes for rows of one group."""
    from calibrant.figures.classgroups import levels_of

    hierarchy, models = results["plan"]["hierarchy"], shown_models(results)
    names = tuple(levels_of(hierarchy["groups"])[hierarchy["level"] - 1].groups)
    place = names.index(hierarchy["given"])
    found = [array(results, model, "group_confidence") for model in models]
    rows = np.array([mean(array(results, model, "group_rows"))[place] for model in models])
    shown = GroupConfidenceDiagram(names, tuple(models), np.array([mean(one) for one in found]), rows, names[place])
    ax = shown.plot(axes_of(1, 3.4)[0])
    whiskers(ax, [spread(one) for one in found], across=True)
    return ax.figure


def intervals(results: Results) -> Any:
    """How far rates lie outside the interval in which they were claimed, and how many rows each interval holds."""
    asked, models = results["plan"]["intervals"], shown_models(results)
    edges = np.array(asked["edges"], dtype=np.float64)
    keys = ("rows", "mean_score", "rate", "outside", "error")
    entries = [
        IntervalErrors(model, *(mean(array(results, model, "intervals", key)) for key in keys), overall=float("nan"))
        for model in models
    ]
    words = f"class_groups, {asked['group']}"
    shown = IntervalDiagram(tuple(asked["names"]), edges[:-1], edges[1:], tuple(entries), "ece", words)
    axes = shown.plot(axes_of(2, 4.4), show="outside")
    axes[0].set_ylabel("rates of bins outside\nthe interval by", fontsize=8)
    axes[1].set_xlabel(f"probability of {asked['group']!r}", fontsize=8)
    for ax, key in zip(axes, ("outside", "rows"), strict=True):
        whiskers(ax, [spread(array(results, model, "intervals", key)) for model in models])
    return axes[0].figure


def entropy(results: Results) -> Any:
    """Mean entropy of what each model gives out."""
    parts = []
    for model in shown_models(results):
        means = [np.array([np.mean(number(results, model, key))]) for key in ("entropy", "accuracy", "confidence")]
        parts.append(EntropyParts(model, np.array([results["rows"]["test"]]), *means, overall=float(means[0][0])))
    ax = EntropyDiagram(("all rows",), None, tuple(parts), "nats").plot(axes_of(1, 2.4)[0])
    for place, model in enumerate(shown_models(results)):
        values = np.array(number(results, model, "entropy"))[:, None]
        middle, half = float(mean(values)[0]), float(spread(values)[0])
        ax.hlines(place, middle - half, middle + half, color="#777777", linewidth=1.0, zorder=3)
    return ax.figure


def stability(results: Results) -> Any:
    """The full error of the base network against the size of the cells."""
    kept = dict(results["stability"])
    for key, value in kept.items():
        if isinstance(value, list) and key not in ("values", "region", "same_as"):
            kept[key] = np.array([float(one) for one in value])
    kept["values"] = tuple(kept["values"])
    kept["same_as"] = tuple(kept["same_as"]) if "same_as" in kept else (None,) * len(kept["values"])
    kept["region"] = None if kept["region"] is None else tuple(kept["region"])
    nothing = np.full(len(kept["values"]), np.nan)
    kept = {**dict.fromkeys(("by_chance", "chance_low", "chance_high"), nothing), **kept}
    axes = StabilityDiagram(**{**kept, "plateau": float(kept["plateau"])}).plot(axes_of(2, 4.0))
    axes[0].set_ylabel("full error", fontsize=8)
    axes[1].yaxis.set_minor_formatter(NullFormatter())
    return axes[0].figure


def pictures_of(results: Results) -> dict[str, Callable[[Results], Any]]:
    """The figures that this plan has numbers for."""
    plan = Plan(**results["plan"])
    found: dict[str, Callable[[Results], Any]] = {"top_k": top_k, "entropy": entropy, "stability": stability}
    if plan.hierarchy is not None:
        found |= {"groups": groups, "group_confidence": group_confidence}
    if plan.intervals is not None:
        found["intervals"] = intervals
    return found


def draw_all(results: Results, home: Path) -> None:
    """Write every figure as a PNG."""
    for name, draw in pictures_of(results).items():
        draw(results).savefig(home / f"{name}.png", dpi=DOTS, metadata={"Software": None})
