"""The pictures of the study of variation: errors against rows, and reliability diagrams."""

from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.figures.canvas import COLORS
from calibrant.figures.styling import DASHES, MARKERS
from experiments.reproductions import variation_measure as measured

METRICS = ("vce", "ece", "uce")


def _panels(rows: int, columns: int, size: tuple[float, float], **more: Any) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **more)


def _line(ax: Any, sizes: Any, paths: measured.Floats, place: int, label: str) -> None:
    """The mean over the repetitions, and a band from the 10th to the 90th in a hundred."""
    low, high = np.quantile(paths, (0.1, 0.9), axis=0)
    style: dict[str, Any] = {"color": COLORS[place], "marker": MARKERS[place], "linestyle": DASHES[place]}
    ax.fill_between(sizes, low, high, color=COLORS[place], alpha=0.2, linewidth=0)
    ax.plot(sizes, paths.mean(axis=0), markersize=4, linewidth=1.3, label=label, **style)


def _guide(ax: Any, sizes: Any, start: float) -> None:
    """A thin line that falls as one over the root of the number of rows."""
    fall = start * np.sqrt(sizes[0] / np.array(sizes))
    ax.plot(sizes, fall, color="#666666", linewidth=0.8, linestyle=":", label="falls as $1/\\sqrt{N}$")


def _dress(axes: Any) -> None:
    for ax, setting in zip(axes.flat, measured.SETTINGS, strict=True):
        ax.set(xscale="log", yscale="log")
        ax.set_title(setting.name, fontsize=9)
        ax.grid(True, which="major", linewidth=0.4, alpha=0.5)
        ax.tick_params(labelsize=8)
    for ax in axes[-1]:
        ax.set_xlabel("rows N", fontsize=9)
    for ax in axes[:, 0]:
        ax.set_ylabel("calibration error", fontsize=9)


def against_rows(results: measured.Results, binning: str, path: Path) -> None:
    """Figures 1 and 3: the three errors against the number of rows."""
    figure, axes = _panels(2, 2, (6.6, 5.2), sharex=True, sharey=True)
    sizes = results.plan.sizes
    for ax, setting in zip(axes.flat, measured.SETTINGS, strict=True):
        for place, metric in enumerate(METRICS):
            _line(ax, sizes, results.paths(setting, f"{metric} {binning}"), place, metric.upper())
        _guide(ax, sizes, 2 * float(results.of(setting, sizes[0], f"vce {binning}").mean()))
    _dress(axes)
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8, frameon=False
    )
    figure.savefig(path, dpi=110)


def bins_of(cells: measured.Cells) -> dict[str, tuple[measured.Floats, measured.Floats, measured.Floats]]:
    """What is stated, what is observed and the share of rows in each full equal-width bin, for each error."""
    _, seen, count, entropy = cells.variation_rows()
    confidence, right, size = cells.confidence_rows()
    top = cal.calibration_curve(
        cal.Predictions(right, confidence, soft=True, counts=size),
        binning=measured.confidence_bins(cells.classes),
        level=None,
    )
    wrong = cal.calibration_curve(
        cal.Predictions(1 - seen[:, 0], entropy, soft=True, counts=count), bins=measured.BINS, level=None
    )
    sums = cells.stated.reshape(cells.classes, measured.BINS, -1).sum(axis=2)
    ranks = cells.ranks.reshape(measured.BINS, measured.CELLS // measured.BINS, -1).sum(axis=1).T
    rows = np.maximum(ranks.sum(axis=0), 1)
    found = {
        "ece": (top.mean_score, top.rate, top.weight),
        "uce": (wrong.mean_score, wrong.rate, wrong.weight),
        "vce": (measured.normalised_entropy(sums / rows), measured.normalised_entropy(ranks / rows), ranks.sum(axis=0)),
    }
    return {
        name: (stated[weight > 0], observed[weight > 0], weight[weight > 0] / weight.sum())
        for name, (stated, observed, weight) in found.items()
    }


def diagrams(cells: measured.Cells, values: dict[str, float], path: Path) -> None:
    """Figure 2: what is stated against what is observed, for each of the three errors."""
    figure, axes = _panels(1, 3, (8.4, 3.1))
    words = {
        "ece": ("mean confidence", "accuracy"),
        "uce": ("mean entropy", "error rate"),
        "vce": ("entropy of mean probabilities", "entropy of observed ranks"),
    }
    found = bins_of(cells)
    for ax, (metric, (xlabel, ylabel)) in zip(axes.flat, words.items(), strict=True):
        ax.plot([0, 1], [0, 1], color="black", linewidth=0.9, linestyle="--")
        label = f"{metric.upper()} = {values[metric]:.2g}"
        ax.plot(*found[metric][:2], color=COLORS[0], marker="o", markersize=4, linewidth=1.2, label=label)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        ax.set_xlabel(xlabel, fontsize=9)
        ax.set_ylabel(ylabel, fontsize=9)
        ax.tick_params(labelsize=8)
        ax.legend(loc="upper left", fontsize=8, frameon=False)
    figure.savefig(path, dpi=110)
