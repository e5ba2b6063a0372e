"""Thompson and Desai on the variation calibration error: figures 1 to 3 again, and what the text claims, in numbers."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from experiments.reproductions import variation_pictures as draw
from experiments.reproductions.study import Cell, Part, Row, Study, Table
from experiments.reproductions.variation_measure import (
    BINNINGS,
    FULL,
    OTHERS,
    SETTINGS,
    SMALL,
    Floats,
    Results,
    Setting,
    measure,
)

BIN_WORDS = {"equal_width": "equal-width", "equal_mass": "equal-frequency"}
TITLE = "Variation calibration error"
PAPER = "Thompson and Desai (2026): *Extending confidence calibration to generalised measures of variation*."
FIGURE_ONLY = "in the paper in a figure only"
SAYS = "the paper says that it falls, without a number"
NOT_THERE = "not in the paper"

SUMMARY = """\
The paper draws forecasts that are calibrated by design, and says that VCE and ECE go to 0 as rows are added while UCE
does not. All of that comes out here. VCE and ECE fall as one over the root of the number of rows: the mean slopes on
log scales lie between -0.48 and -0.53 in all four settings, with both ways to bin. UCE stays where it is: from 10 000
to 10 000 000 rows its mean changes by less than 0.6%. VCE with confidence as the variation equals ECE to rounding,
if confidence is read as the first of the ordered entries. The paper shows its values in figures only, so there is no
published number to set beside ours."""

FIGURE_1 = """\
Forecasts follow a Dirichlet distribution with parameters 1 (flat), or 10 for the first class and 1 for the others (skewed);
each label is drawn from its own forecast. There are 10 bins of equal width: of the entropy for VCE and UCE, of the
confidence from 1/C to 1 for ECE. Each setting is drawn 20 times. The smaller numbers of rows of a repetition are the
first rows of its 10 000 000.

The slope is that of the logarithm of the error against the logarithm of N, for each repetition by itself; -0.5 is the
fall of mere chance. With 3 classes VCE and ECE fall at each step in all 20 repetitions, with 10 classes in 18 or 19
of 20. The paper says that they fall monotonically; the means do, and nearly all repetitions.

The floor of UCE has nothing to do with the labels. Put the chance that a forecast gives to an error, 1 less its
largest probability, in place of the label, and the mean of UCE stays the same within 0.00004. It is the gap between
entropy and error rate, two quantities that calibration does not make equal. With the flat distribution its mean has a closed
form by harmonic numbers H: (H - 1) / log C - (1 - H / C)."""

FIGURE_2 = """\
The first repetition with 3 classes, the flat distribution and 10 000 000 rows. ECE and VCE lie on the diagonal. UCE lies below
it in all bins: the error rate is lower than the entropy. The largest gap of VCE is in the bin of the lowest entropy,
which has 0.13% of the rows."""

FIGURE_3 = """\
The same forecasts, in bins with the same number of rows. VCE and ECE fall at each step in all 20 repetitions of all
four settings. UCE hardly depends on the bins. Without chance in the labels its two values agree to rounding: the
entropy is above the error rate in every bin, so that the gaps add up to the gap between the means, however the rows
are binned."""

CONFIDENCE = """\
The paper says that VCE with confidence as the variation is ECE. In `vce` confidence is the first of the ordered
entries, and the two are equal to rounding in all repetitions that were measured from whole arrays (20 with up to 100
000 rows, 4 with 1 000 000).

The paper calls confidence the largest probability. Read to the letter, the observed value of a bin is then the share
of the most frequent rank, which need not be the first. One less that is Freeman's variation ratio, so `vce` with
`freeman_variation_ratio` and mirrored bins is the literal reading. It differs from ECE in 37 of 80 repetitions with 10 000
rows, by up to 0.0016, in 22 of 80 with 100 000, by up to 0.00005, and in 5 of 16 with 1 000 000, by up to 0.00001. So
the identity needs the first reading."""

OTHER = """\
VCE with each measure that `vce` has, in 10 bins of equal width from 0 to 1, from whole arrays: 20 repetitions with up
to 100 000 rows, the first 4 with 1 000 000. The paper names the variation ratio and the index of qualitative
variation, and shows entropy alone. All of them fall at about the same rate: slopes of the means lie between -0.43 and
-0.57. Values of different measures are not on one scale: the index of qualitative variation of a distribution is its
Gini index times C / (C - 1). Confidence has other values here than ECE has above, because its bins run from 0 to 1,
not from 1/C."""

BLOCKS = """\
Up to 100 000 rows, `vce`, `uce` and `ece` were given whole arrays. Above that, rows were drawn in blocks of 100 000
and summed in 100 000 cells of the entropy and of the confidence; then the functions were given one row for each cell,
with its mean forecast, its shares of outcomes as soft labels and its number of rows as counts. UCE is then `ece` with
the entropy as score and the error as outcome. With 1 000 000 rows the first 4 repetitions of each setting were
measured both ways. Equal-width bins are whole cells, and both ways agree to rounding. Equal-frequency bins are cut
between cells, not between rows, so a few rows lie in the bin beside; VCE and ECE change by up to 2% of their value,
far less than between repetitions, and UCE by rounding only."""


def slopes(sizes: tuple[int, ...], paths: Floats) -> Floats:
    """Slope of the logarithm of each path against the logarithm of the number of rows, by least squares."""
    x = np.log(sizes) - np.log(sizes).mean()
    return np.log(paths) @ x / (x @ x)


def falls(paths: Floats) -> int:
    """How many paths fall at each step."""
    return int((np.diff(paths, axis=1) < 0).all(axis=1).sum())


def spread_text(values: Floats) -> str:
    """Mean and standard deviation."""
    return f"{values.mean():.3g} ± {values.std(ddof=1):.1g}" if len(values) > 1 else f"{values.mean():.3g}"


def power(size: int) -> str:
    """A number of rows as the head of a column shows it."""
    return f"N = {size:,}".replace(",", " ")


def flat_floor(classes: int) -> float:
    """Mean entropy less error rate of calibrated forecasts with the flat Dirichlet distribution, by harmonic numbers."""
    harmonic = sum(1 / k for k in range(1, classes + 1))
    return (harmonic - 1) / math.log(classes) - (1 - harmonic / classes)


def values_table(results: Results, binning: str) -> Table:
    """Mean and spread of each error at each number of rows, and in how many repetitions it falls at each step."""
    plan = results.plan
    columns = ["", "error", *map(power, plan.sizes), "falls at each step"]
    lines: list[list[Cell]] = []
    for setting in SETTINGS:
        for metric in draw.METRICS:
            paths = results.paths(setting, f"{metric} {binning}")
            cells = [spread_text(column) for column in paths.T]
            lines.append([setting.name, metric.upper(), *cells, f"{falls(paths)} of {plan.repeats}"])
    return Table(columns, lines)


def claim_rows(results: Results, setting: Setting, binning: str) -> list[Row]:
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


def same_floor(results: Results) -> list[Row]:
    """How little UCE depends on the bins."""
    size = results.plan.sizes[-1]
    rows = []
    for name, words in (("uce", f"UCE, {power(size)}"), ("floor", "the same without chance in the labels")):
        pairs = [[results.of(setting, size, f"{name} {binning}") for binning in BINNINGS] for setting in SETTINGS]
        largest = max(float(np.abs(one - other).max()) for one, other in pairs)
        rows.append(Row(f"{words}: largest difference between the two ways to bin", None, largest, None, NOT_THERE))
    return rows


def figure_part(results: Results, number: int, binning: str, text: str, pictures: Path) -> Part:
    """Figure 1 or 3."""
    name = f"variation_{binning}.png"
    draw.against_rows(results, binning, pictures / name)
    words = BIN_WORDS[binning]
    caption = f"VCE, ECE and UCE against the number of rows, {words} bins: mean and 10 to 90% band"
    rows = [row for setting in SETTINGS for row in claim_rows(results, setting, binning)]
    if binning == "equal_mass":
        rows += same_floor(results)
    title = f"Figure {number}: {words} bins"
    return Part(title, text, rows, [values_table(results, binning)], [(name, caption)])


def diagram_part(results: Results, pictures: Path) -> Part:
    """Figure 2."""
    setting, size = SETTINGS[0], results.plan.sizes[-1]
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
    return Part("Figure 2: reliability diagrams", FIGURE_2, rows, [table], [("variation_diagrams.png", caption)])


def confidence_part(results: Results) -> Part:
    """VCE with confidence is ECE."""
    sizes = [size for size in results.plan.sizes if size <= results.plan.checked]
    places = [(setting, size) for setting in SETTINGS for size in sizes]
    rows = []
    for binning in BINNINGS:
        gaps = [results.of(*at, f"top {binning}") - results.of_whole(*at, f"ece {binning}") for at in places]
        what = f"largest difference of VCE with confidence from ECE, {BIN_WORDS[binning]} bins"
        rows.append(Row(what, None, float(np.abs(np.concatenate(gaps)).max()), note="the paper says they are equal"))
    lines: list[list[Cell]] = []
    for setting, size in places:
        whole = results.of_whole(setting, size, "ece equal_width")
        gap = np.abs(results.of(setting, size, "literal equal_width") - whole)
        differs = int((gap > 1e-12).sum())
        worst = f"{gap.max():.2g}" if differs else ""
        lines.append([setting.name, power(size), f"{differs} of {len(gap)}", worst])
    columns = ["", "rows", "repetitions in which the literal maximum differs from ECE", "largest difference"]
    return Part("Confidence as the variation", CONFIDENCE, rows, [Table(columns, lines)])


def other_part(results: Results, pictures: Path) -> Part:
    """VCE with the other measures of variation."""
    plan = results.plan
    draw.other_measures(results, pictures / "variation_others.png")
    sizes = tuple(size for size in plan.sizes if size <= plan.checked)
    lines: list[list[Cell]] = []
    for setting in SETTINGS:
        for variation in ("entropy", *OTHERS):
            found = [results.of_variation(setting, size, variation) for size in sizes]
            slope = float(slopes(sizes, np.array([[values.mean() for values in found]]))[0])
            lines.append([setting.name, draw.WORDS[variation], *map(spread_text, found), f"{slope:.2f}"])
    table = Table(["", "variation", *map(power, sizes), "slope of the mean"], lines)
    caption = (
        "VCE with each measure of variation against the number of rows: means, over fewer repetitions at the right"
    )
    return Part("Other measures of variation", OTHER, (), [table], [("variation_others.png", caption)])


def blocks_part(results: Results) -> Part:
    """How far sums over cells are from whole arrays."""
    plan = results.plan
    rows = []
    for binning in BINNINGS:
        for metric in draw.METRICS:
            name = f"{metric} {binning}"
            both = [(results.of(s, plan.checked, f"check {name}"), results.of(s, plan.checked, name)) for s in SETTINGS]
            worst = max(float(np.abs(cells[: len(whole)] / whole - 1).max()) for whole, cells in both)
            what = f"{metric.upper()}, {BIN_WORDS[binning]} bins: largest relative difference"
            rows.append(Row(what, None, worst))
    largest = max(float(results.of(s, plan.sizes[-1], "largest").max()) for s in SETTINGS)
    rows.append(Row("largest share of the rows in one cell", None, largest))
    return Part("Many rows, in blocks", BLOCKS, rows)


def build(results: Results, pictures: Path) -> Study:
    """The study from what was measured."""
    parts = [
        figure_part(results, 1, "equal_width", FIGURE_1, pictures),
        diagram_part(results, pictures),
        figure_part(results, 3, "equal_mass", FIGURE_3, pictures),
        confidence_part(results),
        other_part(results, pictures),
        blocks_part(results),
    ]
    return Study("variation", TITLE, PAPER, SUMMARY, parts)


def run(small: bool, data: Path | None, pictures: Path) -> Study:
    """Draw, measure and draw the pictures; no data is needed."""
    return build(measure(SMALL if small else FULL), pictures)
