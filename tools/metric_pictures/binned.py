"""Figures of point metrics and binned metrics."""

from __future__ import annotations

from typing import Any

import numpy as np

import calibrant as cal

from .parts import COLORS, OVER, UNDER, legend, rows, square, wide

__all__ = [
    "bars",
    "bias",
    "chance",
    "classes",
    "entropy",
    "feature",
    "groups",
    "losses",
    "means",
    "ranks",
    "sanders",
    "shifts",
    "sides",
    "soft",
    "staircase",
    "surprise",
    "triangle",
    "true_classes",
    "variation",
    "windows",
]


def losses() -> Any:
    """Plot the loss by the probability of the true class, over the distribution of these probabilities."""
    data = rows()
    given = data.y_prob[np.arange(len(data.y_true)), data.y_true]
    p = np.linspace(0.01, 1, 200)
    ax = wide("predicted probability of the true class", "loss")
    curves = {"log": -np.log(p), "squared": 1.5 * (1 - p) ** 2, "absolute": 1 - p, "focal": -((1 - p) ** 2) * np.log(p)}
    beside = ax.twinx()
    beside.hist(given, bins=20, range=(0, 1), color="#BBBBBB", alpha=0.6)
    beside.axis("off")
    for (name, loss), colour in zip(curves.items(), COLORS, strict=False):
        ax.plot(p, loss, color=colour, label=name, linewidth=1.4)
    ax.set(xlim=(0, 1), ylim=(0, 4))
    ax.set_zorder(beside.get_zorder() + 1)
    ax.patch.set_visible(False)
    legend(ax, "upper right")
    return ax.figure


def surprise() -> Any:
    """Plot observed against expected log loss in ten equal parts of the rows."""
    data = rows()
    safe = np.clip(data.y_prob, 1e-12, 1)
    expected = -(safe * np.log(safe)).sum(axis=1)
    observed = -np.log(safe[np.arange(len(data.y_true)), data.y_true])
    parts = np.array_split(np.argsort(expected, kind="stable"), 10)
    x = np.array([expected[part].mean() for part in parts])
    y = np.array([observed[part].mean() for part in parts])
    ax = wide("expected log loss (entropy)", "observed log loss", 0.9)
    ax.plot([0, 1.15], [0, 1.15], color="#666666", linestyle=(0, (4, 3)), linewidth=0.9)
    ax.vlines(x, x, y, color=OVER, alpha=0.5, linewidth=5)
    ax.plot(x, y, "o", color=COLORS[0], markersize=4)
    ax.set(xlim=(0, 1.15), ylim=(0, None))
    ax.text(0.03, 0.95, "overconfident", transform=ax.transAxes, color=OVER, fontsize=7, style="italic", va="top")
    return ax.figure


def means() -> Any:
    """Plot mean probability and frequency of the predicted class and of each class."""
    data = rows()
    predicted = [data.score.mean(), *data.y_prob.mean(axis=0)]
    observed = [data.outcome.mean(), *np.bincount(data.y_true, minlength=3) / len(data.y_true)]
    ax = wide("", "")
    place = np.arange(4)
    ax.bar(place - 0.19, predicted, 0.36, color=COLORS[0], label="mean probability")
    ax.bar(place + 0.19, observed, 0.36, color=COLORS[1], label="observed frequency")
    ax.set_xticks(place, ["predicted class", "class 0", "class 1", "class 2"])
    ax.set_ylim(0, 1)
    legend(ax, "upper right")
    return ax.figure


def bars() -> Any:
    """Plot the gap of each bin."""
    data = rows()
    return cal.reliability_diagram(data.y_true, data.y_prob, kind="bars", bins=15, level=None).plot().figure


def classes() -> Any:
    """Plot a diagram for each class."""
    data = rows()
    return cal.figures.classwise_panels(data.y_true, data.y_prob, bins=10).plot()[0].figure


def ranks() -> Any:
    """Plot the calibration curves of the first three ranks."""
    data = rows()
    ax = square(0.0, "predicted probability", "observed rate")
    for rank, colour, marker in zip((1, 2, 3), COLORS, "os^", strict=False):
        curve = cal.calibration_curve(data.y_true, data.y_prob, lens=f"rank:{rank}", bins=10)
        kept = curve.table.rows >= 10
        ax.plot(curve.table.mean_score[kept], curve.rate[kept], marker=marker, color=colour, label=f"rank {rank}")
    legend(ax, "upper left")
    return ax.figure


def sides() -> Any:
    """Plot the signed contribution of each bin."""
    data = rows()
    table = cal.calibration_curve(data.y_true, data.y_prob, bins=15).table
    kept = table.rows > 0
    adds, middle = (table.share * table.gap)[kept], ((table.left + table.right) / 2)[kept]
    ax = wide("confidence", "gap times fraction of rows")
    colours = [OVER if value > 0 else UNDER for value in adds]
    ax.bar(middle, adds, 0.9 / 15, color=colours, alpha=0.75)
    ax.axhline(0, color="#222222", linewidth=0.8)
    ax.set(xlim=(0.3, 1), ylim=(-0.012, None))
    style: dict[str, Any] = {"transform": ax.transAxes, "fontsize": 7, "style": "italic"}
    ax.text(0.02, 0.95, "overconfident", color=OVER, va="top", **style)
    ax.text(0.02, 0.03, "underconfident", color=UNDER, **style)
    return ax.figure


def true_classes() -> Any:
    """Plot mean confidence and accuracy on the rows of each true class."""
    data = rows()
    label = data.y_true[data.order]
    predicted, observed = (
        np.array([values[label == k].mean() for k in range(3)]) for values in (data.score, data.outcome)
    )
    place = np.arange(3)
    ax = wide("true class of the rows", "")
    ax.bar(place - 0.19, predicted, 0.36, color=COLORS[0], label="mean confidence")
    ax.bar(place + 0.19, observed, 0.36, color=COLORS[1], label="accuracy")
    ax.set_xticks(place, ["class 0", "class 1", "class 2"])
    ax.set_ylim(0, 1)
    legend(ax, "upper right")
    return ax.figure


def staircase() -> Any:
    """Plot each row at its score, and the rate of its bin."""
    data = rows()
    table = cal.calibration_curve(data.y_true, data.y_prob, bins=10, binning="equal_mass").table
    cell = np.clip(np.searchsorted(table.right, data.score), 0, len(table) - 1)
    ax = square()
    rate = table.rate[cell]
    ax.vlines(data.score, data.score, rate, color=OVER, alpha=0.15, linewidth=1)
    ax.hlines(table.rate, np.r_[table.left[0], table.right[:-1]], table.right, color=COLORS[0], linewidth=2)
    _dots(ax)
    return ax.figure


def _dots(ax: Any) -> None:
    """Plot the rows at their scores, correct ones above and wrong ones below."""
    data = rows()
    jitter = np.random.default_rng(0).uniform(-0.015, 0.015, len(data.score))
    ax.plot(data.score, 0.02 + 0.96 * data.outcome + jitter, ".", color="#666666", markersize=1.5)


def sanders() -> Any:
    """Plot the mean score of each of fifteen bins, and the distance of the labels from it."""
    data = rows()
    table = cal.calibration_curve(data.y_true, data.y_prob, bins=15).table
    full = ~table.empty
    cell = np.clip(np.searchsorted(table.right, data.score), 0, len(table) - 1)
    ax = square(ylabel="label and mean score of the bin")
    ax.vlines(data.score, table.mean_score[cell], data.outcome, color=OVER, alpha=0.12, linewidth=0.8)
    ax.hlines(table.mean_score[full], table.left[full], table.right[full], color=COLORS[0], linewidth=2)
    _dots(ax)
    return ax.figure


def shifts() -> Any:
    """Plot the error of bins of one width as a function of their shift."""
    data = rows()
    ax = wide("shift of the bins in widths", "expected calibration error")
    for width, colour in zip((1 / 30, 1 / 15, 1 / 5), COLORS, strict=False):
        shift = np.linspace(0, 1, 60, endpoint=False)
        values = []
        for part in shift:
            edges = np.unique(np.clip(np.arange(part - 1, 1 / width + 1) * width, 0, 1))
            values.append(cal.ece(data.y_true, data.y_prob, bins=np.r_[0.0, edges[(edges > 0) & (edges < 1)], 1.0]))
        ax.plot(shift, values, color=colour, linewidth=1.2, label=f"width 1/{1 / width:.0f}")
        mean = cal.rice(data.y_true, data.y_prob, width=width)
        ax.axhline(mean, color=colour, linestyle=(0, (4, 3)), linewidth=0.9)
    ax.set_xlim(0, 1)
    legend(ax, "upper right", ncols=3)
    ax.set_ylim(ax.get_ylim()[0], ax.get_ylim()[1] * 1.08)
    return ax.figure


def soft() -> Any:
    """Plot the memberships of fifteen soft bins, and their outcome rates."""
    data = rows()
    middle = (np.arange(15) + 0.5) / 15
    p = np.linspace(0, 1, 600)

    def share(score: Any) -> Any:
        away = np.exp(-np.square(np.asarray(score)[:, None] - middle) / 0.01)
        return away / away.sum(axis=1, keepdims=True)

    ax = square()
    for number, column in enumerate(share(p).T):
        ax.fill_between(p, 0.3 * column, color=COLORS[number % 2], alpha=0.25, linewidth=0)
    member = share(data.score)
    mass = member.sum(axis=0)
    kept = mass > 5
    predicted, observed = (member.T @ data.score / mass)[kept], (member.T @ data.outcome / mass)[kept]
    ax.vlines(predicted, predicted, observed, color=OVER, alpha=0.5, linewidth=4)
    ax.plot(predicted, observed, "o", color=COLORS[0], markersize=4)
    ax.text(0.32, 0.15, "memberships", fontsize=7, color="#666666")
    return ax.figure


def windows() -> Any:
    """Plot mean score and outcome rate of every window of 60 neighbouring rows."""
    data = rows()
    size = 60
    predicted, observed = (np.convolve(values, np.ones(size) / size, "valid") for values in (data.score, data.outcome))
    ax = square()
    ax.fill_between(
        predicted,
        observed,
        predicted,
        where=observed < predicted,
        color=OVER,
        alpha=0.25,
        linewidth=0,
        interpolate=True,
    )
    ax.fill_between(
        predicted,
        observed,
        predicted,
        where=observed >= predicted,
        color=UNDER,
        alpha=0.25,
        linewidth=0,
        interpolate=True,
    )
    ax.plot(predicted, observed, color=COLORS[0], linewidth=1.2, label="windows of 60 rows")
    legend(ax, "upper left")
    return ax.figure


def bias() -> Any:
    """Plot the plug-in and the debiased error by the number of bins, also for calibrated labels."""
    data = rows()
    honest = cal.inference.make_calibrated(600, distribution=(1, 1, 1), rng=3)
    many = [2, 5, 10, 15, 20, 30, 40, 60, 80, 100]
    ax = wide("number of bins", "root mean squared error")
    for name, y, p, colour in (
        ("these rows", data.y_true, data.y_prob, COLORS[0]),
        ("calibrated rows", honest.y_true, honest.y_prob, COLORS[1]),
    ):
        plain = [cal.rmsce(y, p, bins=count, binning="equal_mass") for count in many]
        freed = [cal.drmsce(y, p, bins=count) for count in many]
        ax.plot(many, plain, color=colour, linestyle=(0, (4, 2)), linewidth=1.2, label=f"{name}: plug-in")
        ax.plot(many, freed, color=colour, linewidth=1.6, label=f"{name}: debiased")
    ax.set(xlim=(0, 100), ylim=(0, None))
    legend(ax, "upper left")
    ax.set_ylim(0, ax.get_ylim()[1] * 1.25)
    return ax.figure


def chance() -> Any:
    """Plot the rates of ten equal-mass bins, and their 95% range under calibration."""
    from scipy.stats import binom

    data = rows()
    table = cal.calibration_curve(data.y_true, data.y_prob, bins=10, binning="equal_mass").table
    low, high = (binom.ppf(q, table.weight, table.mean_score) / table.weight for q in (0.025, 0.975))
    ax = square()
    ax.vlines(table.mean_score, low, high, color="#BBBBBB", linewidth=6, label="95% range under calibration")
    out = (table.rate < low) | (table.rate > high)
    ax.plot(table.mean_score[out], table.rate[out], "o", color=OVER, markersize=4.5, label="rate, outside")
    ax.plot(table.mean_score[~out], table.rate[~out], "o", color=COLORS[0], markersize=4.5, label="rate, inside")
    legend(ax, "upper left")
    return ax.figure


def variation() -> Any:
    """Plot predicted against observed entropy."""
    data = rows()
    return cal.figures.variation_diagram(data.y_true, data.y_prob).plot().figure


def entropy() -> Any:
    """Plot the error rate against the entropy."""
    data = rows()
    return cal.figures.uce_diagram(data.y_true, data.y_prob).plot().figure


def triangle() -> Any:
    """Plot arrows from mean forecasts to observed frequencies of whole rows."""
    data = rows()
    # Cells of a grid with six bins of each probability.
    place = np.unique(np.floor(6 * data.y_prob), axis=0, return_inverse=True)[1].ravel()
    size = np.bincount(place)
    mean, rate = (
        np.stack([np.bincount(place, column) for column in values.T], axis=1)[size >= 10] / size[size >= 10, None]
        for values in (data.y_prob, np.eye(3)[data.y_true])
    )
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]])
    ax = wide("", "")
    ax.plot(*corners[[0, 1, 2, 0]].T, color="#666666", linewidth=0.9)
    for number, (x, y) in enumerate(corners):
        ax.text(x, y + (0.03 if y else -0.08), f"class {number}", ha="center")
    start, end = mean @ corners, rate @ corners
    ax.scatter(*start.T, 8, color=COLORS[1])
    ax.quiver(*start.T, *(end - start).T, angles="xy", scale_units="xy", scale=1, width=0.006, color=COLORS[0])
    ax.set(xlim=(-0.12, 1.12), ylim=(-0.12, 1.0), aspect="equal")
    ax.set_axis_off()
    return ax.figure


def groups() -> Any:
    """Plot a diagram for each group."""
    data = rows()
    names = data.groups[data.order]
    ax = square()
    for name, colour, marker in zip(("a", "b"), COLORS, "os", strict=False):
        inside = names == name
        table = cal.calibration_curve(data.outcome[inside].astype(int), data.score[inside], bins=8).table
        kept = table.rows >= 5
        ax.vlines(
            table.mean_score[kept], table.mean_score[kept], table.rate[kept], color=colour, alpha=0.3, linewidth=4
        )
        ax.plot(table.mean_score[kept], table.rate[kept], marker=marker, color=colour, label=f"group {name}")
    legend(ax, "upper left")
    return ax.figure


def feature() -> Any:
    """Plot mean score and outcome rate along a feature."""
    data = rows()
    place = data.features[data.order, 0]
    parts = np.array_split(np.argsort(place, kind="stable"), 10)
    x, predicted, observed = (
        np.array([values[part].mean() for part in parts]) for values in (place, data.score, data.outcome)
    )
    ax = wide("first feature", "")
    ax.fill_between(
        x, observed, predicted, where=observed < predicted, color=OVER, alpha=0.25, linewidth=0, interpolate=True
    )
    ax.plot(x, predicted, "s-", color=COLORS[1], markersize=4, label="mean confidence")
    ax.plot(x, observed, "o-", color=COLORS[0], markersize=4, label="accuracy")
    ax.set(xlim=(0, 1), ylim=(0.3, 1))
    legend(ax, "upper left")
    return ax.figure
