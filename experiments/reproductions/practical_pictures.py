"""The pictures, drawn from means over splits."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.reproductions.practical_reading import Results, mean, models_of
from experiments.reproductions.practical_sets import RAW, Source

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
