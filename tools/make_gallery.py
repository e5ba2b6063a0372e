"""Write docs/gallery.md and its pictures: every figure of calibrant, with the code that plots it."""

from __future__ import annotations

import io
import shutil
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).parent.parent / "docs"
PAGE, FOLDER = DOCS / "gallery.md", DOCS / "gallery"
# Twice the 72 points of an inch: text of 7 points is 14 pixels high.
DOTS_PER_INCH = 144


class Entry(NamedTuple):
    """One figure: file name, title, explanation, and the code, which assigns `ax` or `axes`."""

    name: str
    title: str
    look: str
    code: str


START = """\
# Gallery

Every figure of calibrant, with the code that plots it. A function such as `cal.reliability_diagram` returns an object
with the data; print it, export it with `to_dict()` or `to_frame()`, or plot it with `plot()`, into axes of yours or a
new figure. The default size is one column of a paper. `save("figure.pdf")` writes it to a file;
[keywords of matplotlib](show.md#edit-a-figure) change its look.

The figures share these data. `y` and `p` are labels and probabilities of 899 handwritten digits, predicted by
overconfident boosted trees; `q` are the probabilities after [temperature scaling](improve.md) on held-out data. The
other data are simulated, with known miscalibration: `yes` has two classes, `rare` is a rare event, `three` has three
classes.
"""

SETUP = """\
from importlib.resources import files

import numpy as np
import calibrant as cal


def digits(part):
    table = np.loadtxt(files("calibrant") / "cli" / "data" / f"digits_{part}.csv", delimiter=",", skiprows=1)
    return table[:, 0].astype(int), table[:, 1:]


y, p = digits("test")
y_val, p_val = digits("validation")
q = cal.TemperatureScaling().fit(p_val, y_val).predict_proba(p)
models = {"as trained": p, "with temperature": q}

overconfident = cal.inference.simulation.temperature(2.0)
yes = cal.inference.make_miscalibrated(3000, warp=overconfident, distribution=(1, 2), rng=0)
rare = cal.inference.make_miscalibrated(30_000, warp=cal.inference.simulation.prior_shift(0.05, 0.02), distribution=(0.7, 12), rng=1)
three = cal.inference.make_miscalibrated(10_000, warp=overconfident, distribution=(0.8, 0.8, 0.8), rng=2)
"""

# Headings, each with its entries.
SECTIONS: dict[str, list[Entry]] = {
    "Reliability diagrams": [
        Entry(
            "line",
            "Line",
            "The usual diagram: accuracy against confidence. Points below the diagonal are overconfident; if an interval does not reach the "
            "diagonal, the gap of that bin is significant. The strip above shows the number of rows per bin.",
            'ax = cal.reliability_diagram(y, p, bins=10, metrics=("ece",)).plot()',
        ),
        Entry(
            "bars",
            "Bars",
            "The gap between predicted probability and observed rate is hatched: orange where the event is overestimated, blue where it is underestimated.",
            'ax = cal.reliability_diagram(yes.y_true, yes.y_prob, kind="bars", bins=10, metrics=("ece",)).plot()',
        ),
        Entry(
            "roof",
            "Roofs",
            "The top of each bar is parallel to the diagonal, so that the gap is visible anywhere in the bin, not only at the mean score. The "
            "hatched strip has the height of the gap.",
            'ax = cal.reliability_diagram(yes.y_true, yes.y_prob, kind="roof", bins=5, metrics=("ece",)).plot()',
        ),
        Entry(
            "smooth",
            "Smooth",
            "Kernel regression in place of bins, with the smooth calibration error as bandwidth. The strip above is the density of the scores: "
            "where it is low, the curve is based on few rows and its interval is wide.",
            'ax = cal.reliability_diagram(yes.y_true, yes.y_prob, kind="smooth", metrics=("smece",)).plot()',
        ),
        Entry(
            "corp",
            "Isotonic (CORP)",
            "Isotonic regression, with a simultaneous confidence band. The legend shows the decomposition of the Brier score: miscalibration is "
            "what recalibration could gain.",
            'ax = cal.reliability_diagram(yes.y_true, yes.y_prob, kind="isotonic").plot()',
        ),
        Entry(
            "logit",
            "Rare events",
            "Logit axes magnify both ends; on linear axes these points would all lie in the lower left corner. The event has become rarer since the "
            "model was trained, so all log odds are too high by a constant: the line is parallel to the diagonal.",
            'ax = cal.reliability_diagram(rare.y_true, rare.y_prob, bins=12, binning="equal_mass").plot(scale="logit")',
        ),
    ],
    "Uncertainty of the diagram": [
        Entry(
            "standard_error",
            "One standard error",
            "Used in most papers. It covers the true rate in about two of three cases only, and vanishes if all rows of a bin have the same outcome, as "
            "in the two bins on the left.",
            'ax = cal.reliability_diagram(y, p, bins=10, uncertainty="standard_error").plot()',
        ),
        Entry(
            "clopper_pearson",
            "Clopper-Pearson intervals",
            "The default: each interval covers the true rate of its bin with at least the given level, also in bins with few rows.",
            'ax = cal.reliability_diagram(y, p, bins=10, uncertainty="clopper_pearson", level=0.99).plot()',
        ),
        Entry(
            "bootstrap",
            "Bootstrap",
            "Intervals from resampled rows, here of a smooth curve, which has no bins.",
            "ax = cal.reliability_diagram(\n"
            '    yes.y_true, yes.y_prob, kind="smooth", uncertainty="bootstrap", n_resamples=200, rng=0\n'
            ").plot()",
        ),
        Entry(
            "consistency",
            "Consistency bars",
            "The bars are centred on the diagonal: the range of each point under calibration. Points outside their bar are significant.",
            'ax = cal.reliability_diagram(y, p, bins=10, uncertainty="consistency", n_resamples=500, rng=0).plot()',
        ),
        Entry(
            "band",
            "Simultaneous band",
            "The whole true curve lies in the band with probability 95%, if it is non-decreasing. Where the diagonal leaves the band, as here on "
            "the left, the predictions are miscalibrated, without an adjustment for the number of bins.",
            'ax = cal.reliability_diagram(yes.y_true, yes.y_prob, bins=10, uncertainty="band").plot()',
        ),
    ],
    "Several diagrams": [
        Entry(
            "overlay",
            "Several models in one diagram",
            "A mapping of names, such as before and after recalibration. Distinguished by color, marker and dashes, so that the figure can be printed in black and white.",
            'ax = cal.reliability_diagram(y, models, bins=8, metrics=("ece",)).plot()',
        ),
        Entry(
            "classwise",
            "One panel per class",
            "Which class is miscalibrated? Each panel shows one digit: its predicted probability against its observed rate.",
            "axes = cal.figures.classwise_panels(y, p, show=[1, 3, 5, 7, 8, 9], bins=5).plot()",
        ),
        Entry(
            "ordinal",
            "One panel per cut of ordered classes",
            "For ordered classes, each panel shows the cumulative probability of a class or a lower one. Here both are too extreme.",
            "axes = cal.figures.ordinal_panels(three.y_true, three.y_prob).plot()",
        ),
    ],
    "Without bins": [
        Entry(
            "cumulative",
            "Cumulative differences",
            "Cumulative sums of scores minus outcomes, in order of the score. An increasing segment is overconfident, and its slope is the gap. "
            "Under calibration the path stays inside the grey band; the grey triangle has a half-height of two standard deviations.",
            "ax = cal.figures.cumulative_diagram(y, p).plot()",
        ),
    ],
    "Whole distributions": [
        Entry(
            "variation",
            "Predicted and observed variation",
            "Observed against predicted entropy of whole distributions. Above the diagonal the outcomes vary more than predicted.",
            "ax = cal.figures.variation_diagram(three.y_true, three.y_prob).plot()",
        ),
        Entry(
            "feature",
            "Along a feature",
            "Mean prediction and observed rate by bins of a feature, here the confidence in an image of the demo by its predicted digit.",
            'ax = cal.figures.feature_diagram(y, p, feature={"predicted digit": p.argmax(axis=1).astype(str)}).plot()',
        ),
        Entry(
            "uce",
            "Error rate against entropy",
            "An entropy is not an error rate, so calibrated predictions lie on the dotted line, not on the diagonal.",
            "ax = cal.figures.uce_diagram(three.y_true, three.y_prob).plot()",
        ),
        Entry(
            "topk",
            "The k most likely classes",
            "The error of the k most likely classes, observed and predicted top-k accuracy, and how temperature scaling moves confidence from the "
            "first class to the others.",
            "axes = cal.figures.topk_diagram(y, models, k=5).plot()",
        ),
    ],
    "Groups and ranges": [
        Entry(
            "group_error",
            "Groups of classes",
            "Probabilities summed by groups of classes, on two levels: errors inside a group cancel. Below, the error of each group.",
            'digits_by_shape = {"round": {"closed": [0, 6, 8], "open": [3, 5, 9]}, "straight": {"thin": [1, 7], "angled": [2, 4]}}\n'
            "axes = cal.figures.group_error_diagram(y, models, hierarchy=digits_by_shape, depth=2).plot()",
        ),
        Entry(
            "group_confidence",
            "Confidence by true group",
            "Mean probability of each group (columns) for rows of each true group (rows). Confusions are off the diagonal.",
            'shapes = {"closed": [0, 6, 8], "open": [3, 5, 9], "thin": [1, 7], "angled": [2, 4]}\n'
            "ax = cal.figures.group_confidence_diagram(y, p, hierarchy=shapes).plot()",
        ),
        Entry(
            "forest",
            "Centres and periods",
            "A square for each centre, with an area proportional to its weight, and its confidence interval. The diamond is the pooled slope with its interval, "
            "the bar the prediction interval for a new centre. The vertical line is the slope of a calibrated model.",
            'centre = np.array(["Leuven", "Oxford", "Paris", "Rome", "Utrecht", "Vienna"])[np.arange(3000) % 17 % 6]\n'
            "centres = cal.clinical.validate_by_group(cal.Predictions(yes.y_true, yes.y_prob, groups=centre))\n"
            'ax = cal.figures.forest_diagram(centres, metric="slope").plot()',
        ),
        Entry(
            "centres",
            "Curves of centres",
            "The calibration curve of the mean centre with its confidence band, the wider band in which the curve of a new centre is expected, and "
            "the curve of each centre.",
            "centre = np.arange(3000) % 17 % 6\n"
            "pooled = cal.clinical.pooled_curve(cal.Predictions(yes.y_true, yes.y_prob, groups=centre))\n"
            "ax = cal.figures.curves_diagram(pooled).plot()",
        ),
        Entry(
            "calibrator",
            "Curve of a calibrator",
            "The calibrated probability at each score, with its confidence band: how well 300 rows determine Platt scaling, and what isotonic regression "
            "can say from them without a form of the curve.",
            "few = yes.y_prob[:300], yes.y_true[:300]\n"
            "ax = cal.figures.calibrator_curve(cal.PlattScaling().fit(*few)).plot()\n"
            "cal.figures.calibrator_curve(cal.IsotonicCalibration().fit(*few)).plot(ax)",
        ),
        Entry(
            "optimism",
            "Correction for optimism",
            "The calibration curve that a model shows on its own training rows, and the one to expect on new rows, with 95% limits: flatter, since the model is overfitted. "
            "Twelve predictors, eleven of them noise, and 150 rows.",
            "from sklearn.linear_model import LogisticRegression\n\n"
            "rng = np.random.default_rng(0)\n"
            "X = rng.normal(size=(150, 12))\n"
            "died = rng.random(150) < 1 / (1 + np.exp(-X[:, 0]))\n"
            'found = cal.clinical.internal_validation(LogisticRegression(C=np.inf), X, died, metrics="cox_slope", rng=0)\n'
            "ax = cal.figures.optimism_diagram(found).plot()",
        ),
        Entry(
            "interval_error",
            "Intervals of confidence",
            "The error in intervals that may be communicated as words. Recalibration can make one interval worse; the lower panel shows the "
            "number of rows concerned.",
            'axes = cal.figures.interval_error_diagram(y, models, intervals="five").plot()',
        ),
    ],
    "Decisions": [
        Entry(
            "risk_coverage",
            "Risk and coverage",
            "Accept only confident predictions: the error rate of the accepted rows decreases with the coverage. The circle is a threshold that "
            "guarantees an accuracy of 95%; the dotted line is the oracle, the dashed one random acceptance.",
            "ax = cal.figures.risk_coverage_diagram(y, p, threshold=cal.choose_threshold(y, p, accuracy=0.95).threshold).plot()",
        ),
        Entry(
            "murphy",
            "Murphy diagram",
            "The cost of decisions at each threshold. A model with a lower curve everywhere is better under every proper score; where curves "
            "cross, the better model depends on the threshold.",
            "ax = cal.figures.murphy_diagram(y, models).plot()",
        ),
        Entry(
            "decomposition",
            "Miscalibration and discrimination",
            "Is the better model better calibrated, or does it discriminate better? Models on the same dashed line have the same score. "
            "Recalibration moves a point to the left, not up.",
            "ax = cal.figures.decomposition_diagram(y, models).plot()",
        ),
    ],
    "Risk models": [
        Entry(
            "flexible_curve",
            "Flexible calibration curve",
            "LOESS with its pointwise band, and calibration intercept, slope and C-statistic with their intervals. The spikes are the rows with "
            "the event (up) and without it (down), each scaled to its largest bin.",
            "ax = cal.figures.flexible_calibration_curve(yes.y_true, yes.y_prob).plot()",
        ),
        Entry(
            "flexible_curve_rare",
            "Flexible calibration curve of a rare event",
            "The axes end where the risks do. Restricted cubic spline of the log-odds, with a band by Wald.",
            'ax = cal.figures.flexible_calibration_curve(rare.y_true, rare.y_prob, smoother="rcs").plot()',
        ),
        Entry(
            "belt",
            "Calibration belt",
            "The GiViTI belt at 80% and 95%, with the p-value of its test. Where the belt is over the diagonal the risk is underestimated, where it is "
            "under the diagonal overestimated; the legend states these ranges of risk.",
            "ax = cal.figures.calibration_belt(yes.y_true[:1000], yes.y_prob[:1000]).plot()",
        ),
        Entry(
            "decision_curve",
            "Decision curve",
            "Net benefit over threshold probabilities, with bootstrap intervals. A model is useful where it exceeds treating all and treating none.",
            "risk, later = yes.y_prob[1500:], yes.y_true[1500:]\n"
            "platt = cal.PlattScaling().fit(yes.y_prob[:1500], yes.y_true[:1500])\n"
            'both = {"as trained": risk, "recalibrated": platt.predict_proba(risk)[:, 1]}\n'
            "ax = cal.figures.decision_curve(later, both).plot()",
        ),
    ],
    "Time to event": [
        Entry(
            "survival",
            "Calibration curve at a horizon",
            "Observed risk by five years, with rows censored before accounted for: a smooth curve with its pointwise band, and the Kaplan-Meier "
            "estimate of ten risk groups. See [time to event](guides/time-to-event.md).",
            "rng = np.random.default_rng(3)\n"
            "risk = rng.beta(2, 3, 800)\n"
            "death, censored = rng.exponential(-5 / np.log1p(-(risk**1.3))), rng.exponential(12, 800)\n"
            "time, event = np.minimum(death, censored), death <= censored\n"
            "ax = cal.figures.survival_diagram(risk, time=time, event=event, horizon=5, rng=0).plot()",
        ),
    ],
    "Dependence on settings": [
        Entry(
            "stability_bins",
            "Number of bins",
            "With few bins errors cancel, with many bins sampling noise counts as error. In the shaded region the "
            "error demonstrably differs by at most a quarter. Below, the standard deviation over resamples.",
            "axes = cal.figures.stability_diagram(\n"
            '    yes.y_true, yes.y_prob, metric="ece", over="bins", n_resamples=60, rng=0\n'
            ").plot()",
        ),
        Entry(
            "stability_gamma",
            "Size of the cells",
            "The same for the cells of a tree over whole distributions, finer to the right. The dashed line is the error of calibrated predictions, and a ring marks "
            "the suggested size, if there is a stable region.",
            "axes = cal.figures.stability_diagram(\n"
            '    three.y_true, three.y_prob, metric="gece", over="gamma", n_resamples=20, rng=0\n'
            ").plot()",
        ),
        Entry(
            "stability_fraction",
            "Share of the rows",
            "Dependence on the number of rows: with few rows the metric is biased upwards and has a large variance.",
            'axes = cal.figures.stability_diagram(y, p, metric="ece", over="fraction", n_resamples=200, rng=0).plot()',
        ),
    ],
}

ENTRIES = [entry for entries in SECTIONS.values() for entry in entries]


def page() -> str:
    """The page as Markdown."""
    lines = [START, "```python", SETUP.rstrip(), "```", ""]
    for heading, entries in SECTIONS.items():
        lines += [f"## {heading}", ""]
        for entry in entries:
            lines += [
                f"### {entry.title}",
                "",
                textwrap.fill(entry.look, 120, break_on_hyphens=False),
                "",
                "```python",
                entry.code,
                "```",
                "",
            ]
            lines += [f"![{entry.title}](gallery/{entry.name}.png)", ""]
    return "\n".join(lines)


def start() -> dict[str, Any]:
    """The names defined by the first block of the page."""
    names: dict[str, Any] = {}
    exec(SETUP, names)
    return names


def plain_settings() -> Any:
    """Default settings of matplotlib, except the backend, which would import pyplot."""
    import matplotlib

    return matplotlib.rc_context({k: v for k, v in matplotlib.rcParamsDefault.items() if k != "backend"})


def drawn(entry: Entry, names: dict[str, Any]) -> Any:
    """The figure of an entry, from its code exactly as shown."""
    own = dict(names)
    with plain_settings():
        exec(entry.code, own)
        ax = own["axes"][0] if "axes" in own else own["ax"]
        return ax.figure


def png_of(figure: Any) -> bytes:
    """A reproducible PNG with few colors."""
    from PIL import Image

    full, small = io.BytesIO(), io.BytesIO()
    with plain_settings():
        figure.savefig(full, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    # 255 colors, none off by more than 1%.
    options = {"method": Image.Quantize.MAXCOVERAGE, "dither": Image.Dither.NONE}
    picture = Image.open(full).convert("RGB").quantize(255, **options)
    picture.save(small, format="png", optimize=True)
    return small.getvalue()


def main() -> None:
    """Plot every figure and write the page."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    names, total = start(), 0
    for entry in ENTRIES:
        picture = png_of(drawn(entry, names))
        total += len(picture)
        (FOLDER / f"{entry.name}.png").write_bytes(picture)
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{len(ENTRIES)} pictures in docs/gallery, {total / 1000:.0f} kB")


if __name__ == "__main__":
    main()
