"""Thompson and Desai on the variation calibration error: figures 1 to 3 again, and what the text claims, in numbers."""

import math
from pathlib import Path

import numpy as np

from experiments.rendering import Cell
from experiments.reproductions import variation_measure as measured
from experiments.reproductions import variation_pictures as draw
from experiments.reproductions.study import Part, Row, Study, Table

BIN_WORDS = {"equal_width": "equal-width", "equal_mass": "equal-frequency"}
FIGURE_ONLY = "in the paper in a figure only"
SAYS = "the paper says that it falls, without a number"
NOT_THERE = "not in the paper"


def slopes(sizes: tuple[int, ...], paths: measured.Floats) -> measured.Floats:
    """Slope of the logarithm of each path against the logarithm of the number of rows, by least squares."""
    x = np.log(sizes) - np.log(sizes).mean()
    return np.log(paths) @ x / (x @ x)


def falls(paths: measured.Floats) -> int:
    """How many paths fall at each step."""
    return int((np.diff(paths, axis=1) < 0).all(axis=1).sum())


def spread_text(values: measured.Floats) -> str:
    """Mean and standard deviation."""
    return f"{values.mean():.3g} ± {values.std(ddof=1):.1g}" if len(values) > 1 else f"{values.mean():.3g}"


def power(size: int) -> str:
    """A number of rows as the head of a column shows it."""
    return f"N = {size:,}".replace(",", " ")


def flat_floor(classes: int) -> float:
    """Mean entropy less error rate of calibrated forecasts with the flat Dirichlet distribution, by harmonic numbers."""
    harmonic = sum(1 / k for k in range(1, classes + 1))
    return (harmonic - 1) / math.log(classes) - (1 - harmonic / classes)


def values_table(results: measured.Results, binning: str) -> Table:
    """Mean and spread of each error at each number of rows, and in how many repetitions it falls at each step."""
    plan = results.plan
    columns = ["", "error", *map(power, plan.sizes), "falls at each step"]
    lines: list[list[Cell]] = []
    for setting in measured.SETTINGS:
        for metric in draw.METRICS:
            paths = results.paths(setting, f"{metric} {binning}")
            cells = [spread_text(column) for column in paths.T]
            lines.append([setting.name, metric.upper(), *cells, f"{falls(paths)} of {plan.repeats}"])
    return Table(columns, lines)


def claim_rows(results: measured.Results, setting: measured.Setting, binning: str) -> list[Row]:
    """Whether VCE and ECE fall, and whether UCE stays."""
    few, many = results.plan.sizes[0], results.plan.sizes[-1]
    uce, without = (results.of(setting, many, f"{what} {binning}") for what in ("uce", "floor"))
    found = {
        f"{metric.upper()}, slope on log scales": (slopes(results.plan.sizes, results.paths(setting, name)), SAYS)
        for metric in ("vce", "ece")
        for name in [f"{metric} {binning}"]
    }
    found |= {
        f"UCE, {power(many)}": (uce, FIGURE_ONLY),
        "the same without chance in the labels": (without, NOT_THERE),
        f"UCE, {power(many)} over {power(few)}": (uce / results.of(setting, few, f"uce {binning}"), FIGURE_ONLY),
    }
    rows = [
        Row(f"{setting.name}: {what}", None, float(values.mean()), float(values.std(ddof=1)), note)
        for what, (values, note) in found.items()
    ]
    if not setting.skewed:
        what = f"{setting.name}: mean entropy less error rate, in closed form"
        rows.append(Row(what, None, flat_floor(setting.classes), None, NOT_THERE))
    return rows


def same_floor(results: measured.Results) -> list[Row]:
    """How little UCE depends on the bins."""
    size = results.plan.sizes[-1]
    rows = []
    for name, words in (("uce", f"UCE, {power(size)}"), ("floor", "the same without chance in the labels")):
        pairs = [
            [results.of(setting, size, f"{name} {binning}") for binning in measured.BINNINGS]
            for setting in measured.SETTINGS
        ]
        largest = max(float(np.abs(one - other).max()) for one, other in pairs)
        rows.append(Row(f"{words}: largest difference between the two ways to bin", None, largest, None, NOT_THERE))
    return rows


def figure_part(results: measured.Results, binning: str, pictures: Path) -> Part:
    """Figure 1 or 3."""
    name = f"variation_{binning}.png"
    draw.against_rows(results, binning, pictures / name)
    words = BIN_WORDS[binning]
    caption = f"VCE, ECE and UCE against the number of rows, {words} bins: mean and 10 to 90% band"
    rows = [row for setting in measured.SETTINGS for row in claim_rows(results, setting, binning)]
    if binning == "equal_mass":
        rows += same_floor(results)
    return Part(binning, rows, [values_table(results, binning)], [(name, caption)])


def diagram_part(results: measured.Results, pictures: Path) -> Part:
    """Figure 2."""
    setting, size = measured.SETTINGS[0], results.plan.sizes[-1]
    values = {metric: float(results.of(setting, size, f"{metric} equal_width")[0]) for metric in draw.METRICS}
    draw.diagrams(results.cells, values, pictures / "variation_diagrams.png")
    rows, lines = [], []
    for metric, (stated, observed, share) in draw.bins_of(results.cells).items():
        gap = np.abs(stated - observed)
        rows.append(Row(f"{metric.upper()}", None, values[metric], None, FIGURE_ONLY))
        rows.append(Row(f"{metric.upper()}: largest gap in a bin", None, float(gap.max()), None, FIGURE_ONLY))
        lines += [
            [metric.upper(), *cells] for cells in zip(stated.tolist(), observed.tolist(), share.tolist(), strict=True)
        ]
    table = Table(["error", "stated", "observed", "share of rows"], lines)
    caption = f"Reliability diagrams of ECE, UCE and VCE: {setting.name}, {power(size)}, first repetition"
    return Part("diagrams", rows, [table], [("variation_diagrams.png", caption)])


def build(results: measured.Results, pictures: Path) -> Study:
    """The study from what was measured."""
    parts = [
        figure_part(results, "equal_width", pictures),
        diagram_part(results, pictures),
        figure_part(results, "equal_mass", pictures),
    ]
    return Study("variation", parts)


def run(small: bool, data: Path | None, pictures: Path) -> Study:
    """Draw, measure and draw the pictures; no data is needed."""
    return build(measured.measure(measured.SMALL if small else measured.FULL), pictures)
