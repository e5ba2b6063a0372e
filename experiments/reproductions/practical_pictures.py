"""The pictures, drawn from means over splits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from calibrant.figures.classgroups import levels_of
from experiments.reproductions.practical_reading import Results, mean, models_of, subject_gaps
from experiments.reproductions.practical_sets import RAW, TEMPERATURE, Source

COLORS = ("#1b5e9e", "#d9822b", "#2e8b57", "#a23b72", "#6b6b6b", "#c2a500")
MARKERS = ("o", "s", "^", "D", "v", "P")
DOTS = 110


def axes_of(rows: int, columns: int, width: float, height: float) -> tuple[Figure, list[Any]]:
    """A figure with plain axes."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = list(np.atleast_1d(figure.subplots(rows, columns)).ravel())
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", color="#e4e4e4", linewidth=0.7)
        ax.set_axisbelow(True)
        ax.tick_params(labelsize=8)
    return figure, axes


def finish(figure: Figure, path: Path, handles: Any, columns: int) -> None:
    """One legend above everything, and the file."""
    if handles is not None:
        figure.legend(*handles, loc="outside upper center", ncols=columns, fontsize=8, frameon=False)
    figure.savefig(path, dpi=DOTS, metadata={"Software": None})


def top_k(results: Results, source: Source, path: Path) -> None:
    """Errors of the k likeliest classes as a vector and as a set, and the k-th confidence against that as trained."""
    figure, axes = axes_of(3, 1, 6.4, 7.0)
    ks = range(len(source.k))
    raw = np.array([mean(results, RAW, "rank_confidence", k) for k in ks])
    for place, model in enumerate(models_of(results)):
        look = {"color": COLORS[place], "marker": MARKERS[place], "markersize": 4, "linewidth": 1.3, "label": model}
        for ax, key in zip(axes, ("top_k", "within"), strict=False):
            ax.plot(source.k, [mean(results, model, key, k) for k in ks], **look)
        if model != RAW:
            moved = np.array([mean(results, model, "rank_confidence", k) for k in ks]) - raw
            axes[2].plot(source.k, moved, **look)
    for ax, key in zip(axes, ("top_k", "within"), strict=False):
        chance = [mean(results, RAW, "chance", key, k) for k in ks]
        ax.plot(source.k, chance, color="black", linestyle=":", linewidth=1, label=f"{RAW}, by chance")
        ax.set_ylim(bottom=0)
    axes[2].axhline(0, color="black", linewidth=0.8)
    axes[2].set_yscale("symlog", linthresh=1e-3)
    texts = (
        "error, k likeliest\nas a vector",
        "error, k likeliest\nas a set",
        "mean k-th confidence,\nless that as trained",
    )
    for ax, text in zip(axes, texts, strict=True):
        ax.set_xscale("log")
        ax.set_xticks(source.k, [str(k) for k in source.k])
        ax.minorticks_off()
        ax.set_ylabel(text, fontsize=8)
    axes[-1].set_xlabel("k", fontsize=8)
    finish(figure, path, axes[0].get_legend_handles_labels(), 3)


def bars(
    ax: Any, names: Sequence[str], values: dict[str, Sequence[float]], chance: dict[str, Sequence[float]] | None = None
) -> None:
    """Grouped bars, with a black mark on each for what chance gives."""
    width = 0.8 / len(values)
    for place, (model, heights) in enumerate(values.items()):
        at = np.arange(len(names)) + (place - (len(values) - 1) / 2) * width
        ax.bar(at, heights, width * 0.92, color=COLORS[place], label=model)
        if chance is not None:
            label = "by chance" if place == 0 else None
            ax.hlines(chance[model], at - width / 2, at + width / 2, color="black", linewidth=1.4, label=label)
    ax.set_xticks(range(len(names)), names)
    ax.tick_params(axis="x", length=0)


def levels(results: Results, source: Source, path: Path) -> None:
    """The error at each level of a hierarchy."""
    figure, axes = axes_of(1, 1, 6.4, 3.4)
    sizes = [len(level.groups) for level in levels_of(source.hierarchy)]
    names = [*(f"{name}\n({size})" for name, size in zip(source.levels, sizes, strict=True)), "classes"]
    places = range(len(names))
    values = {model: [mean(results, model, "levels", place) for place in places] for model in models_of(results)}
    chance = {model: [mean(results, model, "chance", "levels", place) for place in places] for model in values}
    bars(axes[0], names, values, chance)
    axes[0].set_ylabel("calibration error", fontsize=8)
    finish(figure, path, axes[0].get_legend_handles_labels(), 3)


def groups(results: Results, names: list[str], path: Path) -> None:
    """The error of the rows of each group, and by chance."""
    figure, (ax,) = axes_of(1, 1, 6.4, 5.2)
    order = np.argsort([mean(results, RAW, "groups", place) for place in range(len(names))]).tolist()
    for number, model in enumerate((RAW, TEMPERATURE)):
        height = np.arange(len(order)) + (0.15 if number == 0 else -0.15)
        seen = [mean(results, model, "groups", place) for place in order]
        chance = [mean(results, model, "chance", "groups", place) for place in order]
        look: dict[str, Any] = {
            "color": COLORS[number],
            "marker": MARKERS[number],
            "linestyle": "none",
            "markersize": 5,
        }
        ax.hlines(height, chance, seen, color=COLORS[number], linewidth=1)
        ax.plot(seen, height, **look, label=model)
        ax.plot(chance, height, **look, markerfacecolor="white", label=f"{model}, by chance")
    ax.set_yticks(range(len(order)), [names[place] for place in order])
    ax.grid(axis="x", color="#e4e4e4", linewidth=0.7)
    ax.set_xlabel("error of the superclasses on rows of this one", fontsize=8)
    finish(figure, path, ax.get_legend_handles_labels(), 2)


def intervals(found: dict[str, Results], shown: Sequence[Source], path: Path) -> None:
    """How far rates lie outside the word that was used, and how many rows get the word in the middle."""
    figure, axes = axes_of(2, 1, 7.2, 5.6)
    names = [source.title.replace(", ", ",\n").replace(" instruct", "").replace(" base", "") for source in shown]
    models = models_of(found[shown[0].file])
    outside = {}
    middle = {}
    for model in models:
        outside[model] = [float(np.nansum(_weighted(found[source.file], model))) for source in shown]
        middle[model] = [
            mean(found[source.file], model, "intervals", "rows", 1) / found[source.file]["rows"] for source in shown
        ]
    bars(axes[0], names, outside)
    axes[0].set_ylabel("rates outside the interval by,\nmean over all rows", fontsize=8)
    bars(axes[1], names, middle)
    axes[1].set_ylabel("share of rows called medium", fontsize=8)
    finish(figure, path, axes[0].get_legend_handles_labels(), 3)


def _weighted(results: Results, model: str) -> Any:
    """The distance outside each of low, medium and high, weighted by its share of the rows."""
    far = np.array([mean(results, model, "intervals", "outside", place) for place in range(3)])
    share = np.array([mean(results, model, "intervals", "rows", place) for place in range(3)]) / results["rows"]
    return far * share


def subjects(results: Results, title: str, path: Path) -> None:
    """Confidence less accuracy of each subject, as trained and with a temperature."""
    figure, (ax,) = axes_of(1, 1, 6.4, 3.4)
    raw = subject_gaps(results, RAW)
    order = np.argsort(raw)
    for number, model in enumerate((RAW, TEMPERATURE)):
        values = subject_gaps(results, model)[order]
        ax.plot(values, color=COLORS[number], marker=MARKERS[number], markersize=3.5, linestyle="none", label=model)
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set_xlabel(f"subjects of {title}, in order of the gap as trained", fontsize=8)
    ax.set_ylabel("confidence less accuracy", fontsize=8)
    ax.set_xticks([])
    finish(figure, path, ax.get_legend_handles_labels(), 2)


def gamma_curves(curves: dict[str, dict[str, Any]], path: Path) -> None:
    """The error of all rows, the bootstrap mean with its interval, and chance, against gamma."""
    figure, axes = axes_of(1, len(curves), 9.0, 3.4)
    for ax, (name, curve) in zip(axes, curves.items(), strict=True):
        x = np.array(curve["gamma"])
        ax.fill_between(x, curve["low"], curve["high"], color=COLORS[0], alpha=0.2, linewidth=0, label="bootstrap, 95%")
        ax.plot(x, curve["mean"], color=COLORS[0], marker="o", markersize=4, label="bootstrap mean")
        ax.plot(x, curve["value"], color=COLORS[1], marker="s", markersize=4, label="the rows as they are")
        ax.plot(x, curve["chance"], color="black", linestyle=":", label="by chance")
        ax.axvline(2**-4, color="#999999", linewidth=0.8, linestyle="--")
        ax.set_xscale("log", base=2)
        ax.invert_xaxis()
        ax.set_ylim(bottom=0)
        ax.set_title(name, fontsize=8)
        ax.set_xlabel("gamma, finer to the right", fontsize=8)
    axes[0].set_ylabel("calibration error", fontsize=8)
    finish(figure, path, axes[0].get_legend_handles_labels(), 4)


def fraction_curves(fractions: list[float], curves: dict[str, dict[str, Any]], path: Path) -> None:
    """Bootstrap mean and standard deviation against the share of the rows that is drawn."""
    figure, axes = axes_of(1, 2, 8.0, 3.4)
    for place, (name, curve) in enumerate(curves.items()):
        look: dict[str, Any] = {"color": COLORS[place], "marker": MARKERS[place], "markersize": 4, "linewidth": 1.2}
        axes[0].plot(fractions, curve["mean"], **look, label=name)
        axes[0].fill_between(fractions, curve["low"], curve["high"], color=COLORS[place], alpha=0.12, linewidth=0)
        axes[1].plot(fractions, curve["spread"], **look)
    axes[0].set_ylabel("calibration error, mean and 95%", fontsize=8)
    axes[1].set_ylabel("standard deviation", fontsize=8)
    for ax in axes:
        ax.set_ylim(bottom=0)
        ax.set_xlabel("share of the rows that is drawn", fontsize=8)
    finish(figure, path, axes[0].get_legend_handles_labels(), 2)
