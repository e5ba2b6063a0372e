"""Figures 2 to 5 of the survey: calibration curve, reliability line, bars and roofs, on drawn and on real rows."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import calibrant as cal
from calibrant.inference import simulation as simulate
from experiments.reproductions.study import Part, Row
from experiments.reproductions.survey_data import Rows, answers, table_rows

CURVE = simulate.bias(-0.9)
REAL = "top1_resnet110_c100"
ROWS, BINS, SEED, DPI = 500, 10, 3, 100
AT = 0.7
RED = "#c1272d"


def parts(small: bool, data: Path | None, pictures: Path) -> list[Part]:
    """One part for each figure."""
    drawn = cal.inference.make_miscalibrated(ROWS, warp=CURVE, rng=SEED)
    shown = {"drawn from the curve of figure 2": Rows(drawn.y_true, drawn.y_prob)}
    whole = None
    if data is not None:
        whole = answers(data, REAL)
        few = np.random.default_rng(SEED).permutation(len(whole.y))[:ROWS]
        shown["ResNet-110 on CIFAR-100"] = whole.take(few)
    return [
        curve_part(whole, pictures),
        line_part(small, shown, whole, pictures),
        bars_part(shown, pictures),
        roof_part(small, shown, data, pictures),
    ]


def panels(name: str, shown: dict[str, Any], pictures: Path) -> str:
    """Reliability diagrams side by side in one picture."""
    figure = Figure(figsize=(4.4 * len(shown), 4.6), layout="constrained")
    for ax, (title, draw) in zip(np.atleast_1d(figure.subplots(1, len(shown))), shown.items(), strict=True):
        draw(ax)
        ax.set_title(title, fontsize=10)
    figure.savefig(pictures / name, dpi=DPI)
    return name


def _theory(ax: Any) -> None:
    score = np.linspace(0, 1, 400)
    ax.plot([0, 1], [0, 1], "--", color="0.4", label="perfectly calibrated")
    ax.plot(score, CURVE.curve(score), color="C0", label="true calibration curve")
    for outcome in (0, 1):
        ax.annotate("", (AT, outcome), (AT, AT), arrowprops={"arrowstyle": "->", "color": RED, "shrinkA": 0})
    ax.plot([AT, AT], [0, 1], "o", color=RED, label="two rows of confidence 0.7")
    ax.set(xlabel="confidence", ylabel="how often it is right", xlim=(-0.02, 1.02), ylim=(-0.05, 1.05), aspect="equal")
    ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(0.0, 0.96))


def curve_part(whole: Rows | None, pictures: Path) -> Part:
    """Figure 2."""
    shown: dict[str, Any] = {"a known curve": _theory}
    if whole is not None:
        smooth = cal.reliability_diagram(whole.y, whole.p, kind="smooth", bandwidth=0.03, metrics=("ece",))
        shown[f"ResNet-110 on CIFAR-100, {len(whole.y):,} rows"] = smooth.plot
    name = panels("survey_curve.png", shown, pictures)
    truth = float(CURVE.curve(np.array([AT]))[0])
    error = cal.inference.true_calibration_error(CURVE)
    rows = table_rows("curve", [cal.ece([0], [AT]), cal.ece([1], [AT]), truth, error])
    caption = "A known calibration curve with two rows of confidence 0.7, and the smooth curve of a real network."
    return Part("curve", rows, pictures=[(name, caption)])


def bars_hold(small: bool) -> list[float]:
    """What the line plot says of rows from the known curve, over many draws: how often error bars hold the true rate, in all bins and in the first;
    how often accuracy falls; the share of bins below the diagonal; the standard error where the curve is nearest to a half, and in the first bin."""
    held, falls, below, width = [], [], [], []
    for seed in range(30 if small else 1000):
        drawn = cal.inference.make_miscalibrated(ROWS, warp=CURVE, rng=[SEED, seed])
        diagram = cal.reliability_diagram(drawn.y_true, drawn.y_prob, bins=BINS, uncertainty="standard_error")["model"]
        cell = np.minimum(np.ceil(drawn.y_prob * BINS).astype(int) - 1, BINS - 1)
        truth = np.bincount(cell, drawn.truth, BINS) / np.bincount(cell, minlength=BINS)
        held.append((diagram.low <= truth) & (truth <= diagram.high))
        falls.append(bool((np.diff(diagram.rate) < 0).any()))
        below.append(float(np.mean(diagram.rate < diagram.mean_score)))
        width.append((diagram.high - diagram.low) / 2)
    share, spread = np.mean(held, axis=0), np.mean(width, axis=0)
    middle = np.abs(truth - 0.5).argmin()
    return [
        float(value) for value in (share.mean(), share[0], np.mean(falls), np.mean(below), spread[middle], spread[0])
    ]


def line_part(small: bool, shown: dict[str, Rows], whole: Rows | None, pictures: Path) -> Part:
    """Figure 3."""
    draws = {}
    for title, rows in shown.items():
        diagram = cal.reliability_diagram(rows.y, rows.p, bins=BINS, uncertainty="standard_error", metrics=("ece",))
        draws[f"{ROWS} rows {title}" if "drawn" in title else f"{ROWS} rows of {title}"] = partial(
            diagram.plot, counts=None
        )
    name = panels("survey_line.png", draws, pictures)
    rows = table_rows("line", bars_hold(small))
    if whole is not None:
        rows.append(real_coverage(whole, small))
    caption = (
        "Reliability line of 500 rows with one standard error and single outcomes: drawn from a known curve, and real."
    )
    return Part("line", rows, pictures=[(name, caption)])


def real_coverage(whole: Rows, small: bool) -> Row:
    """How often the 95% intervals of 500 real rows hold the rate of all other rows in the same bin."""
    held: list[float] = []
    rng = np.random.default_rng(SEED)
    for _ in range(10 if small else 200):
        order = rng.permutation(len(whole.y))
        few = cal.reliability_diagram(*whole.take(order[:ROWS]), bins=BINS)["model"]
        rest = cal.reliability_diagram(*whole.take(order[ROWS:]), bins=BINS)["model"]
        full = rest.table.weight > 30 if len(rest.table.weight) == len(few.table.weight) else None
        if full is not None:
            held += ((few.low <= rest.rate) & (rest.rate <= few.high))[full].tolist()
    what = "ResNet-110: share of 95% intervals of 500 rows that hold the rate of the other 9 500"
    return Row(what, None, float(np.mean(held)), note="Clopper-Pearson intervals hold 0.95 or more")


def bars_part(shown: dict[str, Rows], pictures: Path) -> Part:
    """Figure 4."""
    draws, rows = {}, []
    for title, of in shown.items():
        diagram = cal.reliability_diagram(of.y, of.p, kind="bars", bins=BINS, metrics=("ece",))
        draws[title] = diagram.plot
        table = diagram["model"].table
        area = float(np.sum(table.share * np.abs(table.gap)))
        sides = cal.abc_above(of.y, of.p, bins=BINS) + cal.abc_below(of.y, of.p, bins=BINS)
        rows.append(Row(f"{title}: ece", None, cal.ece(of.y, of.p, bins=BINS)))
        rows.append(Row(f"{title}: hatched gaps, weighted by rows, less ece", None, area - rows[-1].ours))
        rows.append(Row(f"{title}: abc_above + abc_below less ece", None, sides - cal.ece(of.y, of.p, bins=BINS)))
    name = panels("survey_bars.png", draws, pictures)
    caption = "Reliability bars of the same rows; the gap of each bin is hatched."
    return Part("bars", rows, pictures=[(name, caption)])


def chosen_bins(rows: Rows) -> int:
    """The number of bins of equal mass that cross-validation of the tilted roof chooses."""
    return len(cal.reliability_diagram(rows.y, rows.p, bins="cv", binning="equal_mass")["model"].table.weight)


def roof_part(small: bool, shown: dict[str, Rows], data: Path | None, pictures: Path) -> Part:
    """Figure 5."""
    draws, rows = {}, []
    for title, of in shown.items():
        draws[title] = cal.reliability_diagram(of.y, of.p, kind="roof", bins=BINS, metrics=("ece",)).plot
        same = cal.ece_em(of.y, of.p, bins=BINS, binning="equal_width") - cal.ece(of.y, of.p, bins=BINS)
        rows.append(Row(f"{title}: ece_em over the bins of ece, less ece over the same bins", None, same))
    name = panels("survey_roof.png", draws, pictures)
    size, times = (1000, 2) if small else (5000, 20)
    counts = []
    for seed in range(times):
        drawn = cal.inference.make_miscalibrated(size, warp=CURVE, rng=[SEED, seed])
        counts.append(chosen_bins(Rows(drawn.y_true, drawn.y_prob)))
    what = "bins chosen by cross-validation for 5 000 rows"
    other = "published: one task of Kängsepp et al."
    rows.append(Row(f"{what}, drawn", 14, float(np.mean(counts)), float(np.std(counts)), other))
    if data is not None:
        sets = (REAL, "top1_in1k_resnet34_timm", "f538_nba_games")
        rows += [_real_bins(answers(data, real), f"{what}, {real}", size, times // 2, other) for real in sets]
    caption = "Tilted roofs of the same rows; tops run along the diagonal."
    return Part("roof", rows, pictures=[(name, caption)])


def _real_bins(rows: Rows, what: str, size: int, times: int, note: str) -> Row:
    rng = np.random.default_rng(SEED)
    counts = [chosen_bins(rows.take(rng.permutation(len(rows.y))[:size])) for _ in range(times)]
    return Row(what, 14, float(np.mean(counts)), float(np.std(counts)), note)
