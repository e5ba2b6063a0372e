"""Figures of kernel, curve and cumulative metrics."""

from __future__ import annotations

from typing import Any

import numpy as np

import calibrant as cal
from calibrant import curves

from .parts import COLORS, OVER, legend, rows, shade, square, wide

__all__ = ["densities", "fits", "group_paths", "line", "loess", "pairs", "path", "smooth", "witness"]

PLACES = np.linspace(0.34, 1, 400)


def _view() -> cal.views.View:
    data = rows()
    view = cal.ece.views(data.y_true, data.y_prob)[0]
    assert isinstance(view, cal.views.View)
    return view


def smooth() -> Any:
    """Plot the kernel regression of the outcomes on the scores."""
    data = rows()
    near = np.exp(-np.square((PLACES[:, None] - data.score) / 0.05) / 2)
    curve = near @ data.outcome / near.sum(axis=1)
    ax = square()
    shade(ax, PLACES, curve, PLACES)
    ax.plot(PLACES, curve, color=COLORS[0], linewidth=1.6, label="smoothed outcomes")
    legend(ax, "upper left")
    return ax.figure


def witness() -> Any:
    """Plot the optimal Lipschitz weight function, and the residuals."""
    from scipy.optimize import linprog
    from scipy.sparse import diags_array, vstack

    data = rows()
    n = len(data.score)
    step = diags_array([-np.ones(n - 1), np.ones(n - 1)], offsets=[0, 1], shape=(n - 1, n)).tocsr()
    gap = np.diff(data.score)
    both = vstack([step, -step])
    found = linprog(-(data.score - data.outcome) / n, A_ub=both, b_ub=np.r_[gap, gap], bounds=(-1, 1))
    ax = wide("confidence", "")
    parts = np.array_split(np.arange(n), 20)
    x, mean = (np.array([values[part].mean() for part in parts]) for values in (data.score, data.score - data.outcome))
    ax.bar(x, mean, 0.02, color=OVER, alpha=0.6, label="mean of score - outcome")
    ax.plot(data.score, found.x, color=COLORS[0], linewidth=1.6, label="weight")
    ax.axhline(0, color="#222222", linewidth=0.8)
    ax.set(xlim=(0.3, 1), ylim=(-0.35, 1.3))
    legend(ax, "upper left", ncols=2)
    return ax.figure


def densities() -> Any:
    """Plot the densities of the scores of all and of correct rows, and their ratio."""
    data = rows()
    width = 0.05
    near = np.exp(-np.square((PLACES[:, None] - data.score) / width) / 2) / (width * np.sqrt(2 * np.pi))
    near += np.exp(-np.square((2 - PLACES[:, None] - data.score) / width) / 2) / (width * np.sqrt(2 * np.pi))
    every, right = near.mean(axis=1), near @ data.outcome / len(data.score)
    ax = square()
    ax.fill_between(PLACES, every / 6, color="#BBBBBB", alpha=0.6, linewidth=0, label="density of all rows")
    ax.fill_between(PLACES, right / 6, color=COLORS[0], alpha=0.35, linewidth=0, label="density of correct rows")
    shade(ax, PLACES, right / every, PLACES)
    ax.plot(PLACES, right / every, color=COLORS[0], linewidth=1.6, label="their ratio")
    legend(ax, "upper left")
    return ax.figure


def pairs() -> Any:
    """Plot the residuals, smoothed by exp(-distance / 0.4)."""
    data = rows()
    near = np.exp(-np.abs(PLACES[:, None] - data.score) / 0.4)
    push = near @ (data.score - data.outcome) / len(data.score)
    ax = wide("confidence", "smoothed residual")
    shade(ax, PLACES, np.zeros(len(PLACES)), push)
    ax.plot(PLACES, push, color=COLORS[0], linewidth=1.6)
    ax.plot(data.score, np.where(data.outcome == 1, -0.006, -0.012), "|", color="#666666", markersize=3, alpha=0.5)
    ax.axhline(0, color="#222222", linewidth=0.8)
    ax.text(0.31, -0.018, "ticks: correct rows, and wrong rows below them", fontsize=6.5, color="#666666")
    ax.set(xlim=(0.3, 1), ylim=(-0.022, None))
    return ax.figure


def loess() -> Any:
    """Plot the smooth curve of the clinical indices, and the distance of each row from the diagonal."""
    from calibrant.metrics.curve.indices import curve_of

    options: dict[str, Any] = {
        "span": None,
        "degree": 2,
        "surface": "interpolate",
        "delta": 0.01,
        "knots": 5,
    }
    found = curve_of(_view(), smoother="loess", bounded=True, **options)
    x, curve = found.groups.score, found.fitted
    far = int(np.argmax(np.abs(curve - x)))
    ax = square()
    shade(ax, x, curve, x)
    ax.plot(x, curve, color=COLORS[0], linewidth=1.6, label="smooth curve")
    ax.vlines(x[far], curve[far], x[far], color="#222222", linewidth=1.4, label="largest distance")
    legend(ax, "upper left")
    return ax.figure


def fits() -> Any:
    """Plot curves of several kinds, fitted on these rows."""
    view = _view()
    made = {
        "Platt": curves.logistic(view),
        "beta": curves.beta(view),
        "isotonic": curves.isotonic(view),
        "spline": curves.spline(view),
        "piecewise linear": curves.piecewise_linear(view, 3),
    }
    ax = square()
    for (name, curve), colour in zip(made.items(), COLORS, strict=False):
        ax.plot(PLACES, curve(PLACES), color=colour, linewidth=1.3, label=name)
    legend(ax, "upper left")
    return ax.figure


def line() -> Any:
    """Plot log-odds of the outcome rate against log-odds of the score, and the fitted line."""
    data = rows()
    slope, height = (float(m(data.y_true, data.y_prob)) for m in (cal.cox_slope, cal.cox_intercept))
    table = cal.calibration_curve(data.y_true, data.y_prob, bins=12, binning="equal_mass").table
    kept = (table.rate > 0) & (table.rate < 1)
    x, y = (np.log(values[kept] / (1 - values[kept])) for values in (table.mean_score, table.rate))
    span = np.array([-0.8, x.max() + 0.6])
    ax = wide("log-odds of the confidence", "log-odds of the accuracy")
    ax.plot(span, span, color="#666666", linestyle=(0, (4, 3)), linewidth=0.9, label="calibrated: slope 1")
    ax.plot(span, height + slope * span, color=COLORS[0], linewidth=1.6, label=f"fitted: {height:.2f} + {slope:.2f} x")
    ax.plot(x, y, "o", color=OVER, markersize=4, label="bins")
    ax.set_xlim(*span)
    legend(ax, "upper left")
    return ax.figure


def path() -> Any:
    """Plot the cumulative sum of scores minus outcomes in order of the score."""
    data = rows()
    return cal.figures.cumulative_diagram(data.y_true, data.y_prob).plot().figure


def group_paths() -> Any:
    """Plot the path of all rows and of each group, each in units of its standard deviation."""
    data = rows()
    names = data.groups[data.order]
    ax = wide("fraction of rows in order of confidence", "cumulative difference / standard deviation")
    everyone = np.ones(len(names), bool)
    sets = {"all rows": everyone, "group a": names == "a", "group b": names == "b"}
    for (name, inside), colour in zip(sets.items(), (COLORS[2], COLORS[0], COLORS[1]), strict=True):
        score, outcome = data.score[inside], data.outcome[inside]
        unit = np.sqrt((score * (1 - score)).sum())
        ax.plot(
            np.linspace(0, 1, len(score) + 1), np.r_[0, np.cumsum(score - outcome)] / unit, color=colour, label=name
        )
    ax.axhspan(-1.96, 1.96, color="#BBBBBB", alpha=0.35, linewidth=0)
    ax.set_xlim(0, 1)
    legend(ax, "upper left")
    return ax.figure
