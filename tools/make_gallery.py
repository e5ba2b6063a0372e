"""Write docs/gallery.md and the pictures beside it: every figure of calibrant, with the code that draws it."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).parent.parent / "docs"
PAGE, FOLDER = DOCS / "gallery.md", DOCS / "gallery"
# Twice the 72 points of an inch: what is 7 points high on paper is 14 pixels high here.
DOTS_PER_INCH = 144


class Entry(NamedTuple):
    """One picture: its file's name, a title, what to look for, and the code, which leaves it in `ax` or `axes`."""

    name: str
    title: str
    look: str
    code: str


START = """\
# Gallery

Every figure of calibrant, each with the code that drew it. A function such as `cal.reliability` gives an object with the numbers;
print it, take them with `to_dict()` or `to_frame()`, or draw them with `plot()`, on an `ax` of yours or on a new one. The default size is
one column of a paper. `ax.figure.savefig("picture.pdf")` keeps a picture.

The pictures share this data. `y` and `p` are labels and probabilities of 899 handwritten digits, read by boosted trees that are too
sure; `q` is the same after [temperature scaling](improve.md) on other rows. The rest is drawn by chance, so that what is wrong with
it is known: `yes` are two classes, `rare` is an event that seldom happens, `three` are three classes.
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

too_sure = cal.simulate.temperature(2.0)
yes = cal.make_miscalibrated(3000, warp=too_sure, distribution=(1, 2), rng=0)
rare = cal.make_miscalibrated(30_000, warp=cal.simulate.prior_shift(0.05, 0.02), distribution=(0.7, 12), rng=1)
three = cal.make_miscalibrated(10_000, warp=too_sure, distribution=(0.8, 0.8, 0.8), rng=2)
"""

# Headings, each with its entries.
SECTIONS: dict[str, list[Entry]] = {
    "Reliability diagrams": [
        Entry(
            "line",
            "Line",
            "The usual diagram: how often it was right against how sure it was. Points below the diagonal are overconfident; where an interval "
            "does not reach the diagonal, chance hardly explains the gap. The strip above says how many rows stand behind each point.",
            'ax = cal.reliability(y, p, bins=10, metrics=("ece",)).plot()',
        ),
        Entry(
            "bars",
            "Bars",
            "The gap between what was said and what happened is hatched: orange where it said too much, blue where it said too little.",
            'ax = cal.reliability(yes.y_true, yes.y_prob, kind="bars", bins=10, metrics=("ece",)).plot()',
        ),
        Entry(
            "roof",
            "Roofs",
            "The top of each bar runs along the diagonal, so that it can be compared with the diagonal anywhere in the bin, and not only "
            "at the mean score. The hatched strip is as high as the gap.",
            'ax = cal.reliability(yes.y_true, yes.y_prob, kind="roof", bins=5, metrics=("ece",)).plot()',
        ),
        Entry(
            "smooth",
            "Smooth",
            "Kernel regression, as wide as the smooth calibration error, in place of bins. The strip above is the density of the scores: "
            "where it is thin, the curve rests on few rows and the shade around it is wide.",
            'ax = cal.reliability(yes.y_true, yes.y_prob, kind="smooth", metrics=("smece",)).plot()',
        ),
        Entry(
            "corp",
            "Isotonic (CORP)",
            "The best rising curve, whose steps the outcomes choose themselves, with a band that holds all of it at once. The legend splits "
            "the Brier score: miscalibration is what a map could win.",
            'ax = cal.reliability(yes.y_true, yes.y_prob, kind="corp").plot()',
        ),
        Entry(
            "logit",
            "Rare events",
            "Logit axes spread both ends; on plain ones these points would all lie in the lower left corner. The event has become rarer since the "
            "model was made, and so all scores are too high by the same step: the line runs along the diagonal.",
            'ax = cal.reliability(rare.y_true, rare.y_prob, bins=12, binning="equal_mass").plot(scale="logit", counts="area")',
        ),
        Entry(
            "labels",
            "Single outcomes",
            "Every row is a faint dot, at the top where it happened and at the bottom where it did not; the area of the markers says "
            "how many rows each holds.",
            'few = cal.make_miscalibrated(400, warp=too_sure, rng=3)\nax = cal.reliability(few.y_true, few.y_prob, bins=8).plot(labels=True, counts="area")',
        ),
    ],
    "How sure is the diagram itself": [
        Entry(
            "standard_error",
            "One standard error",
            "What most papers draw. It holds the true rate in about two of three cases only, and vanishes where all rows of a bin agree, as "
            "in the two bins on the left.",
            'ax = cal.reliability(y, p, bins=10, uncertainty="standard_error").plot()',
        ),
        Entry(
            "clopper_pearson",
            "Clopper-Pearson intervals",
            "The default: each holds the true rate of its bin with the level asked for or more, also in a bin of few rows that all agree.",
            'ax = cal.reliability(y, p, bins=10, uncertainty="clopper_pearson", interval=0.99).plot()',
        ),
        Entry(
            "bootstrap",
            "Bootstrap",
            "Rows are drawn again and again. Here around a smooth curve, which has no bins to count in.",
            "ax = cal.reliability(\n"
            '    yes.y_true, yes.y_prob, kind="smooth", uncertainty="bootstrap", n_resamples=200, rng=0\n'
            ").plot()",
        ),
        Entry(
            "consistency",
            "Consistency bars",
            "The bars stand on the diagonal: where each point would lie if the scores were right. Points outside their bar are hard to explain "
            "by chance.",
            'ax = cal.reliability(y, p, bins=10, uncertainty="consistency", n_resamples=500, rng=0).plot()',
        ),
        Entry(
            "band",
            "A band for all scores at once",
            "The whole true curve lies in it with 95%, whatever its shape, as long as it rises. Where the diagonal leaves the band, as "
            "here on the left, the scores are wrong, without a second thought about how many bins were looked at.",
            'ax = cal.reliability(yes.y_true, yes.y_prob, bins=10, uncertainty="band").plot()',
        ),
    ],
    "Several diagrams": [
        Entry(
            "before_after",
            "Before and after a map",
            "The same rows, without and with temperature scaling: the points move to the diagonal, and the strip shows that the "
            "model has become less sure.",
            'axes = cal.before_after(y, p, q, bins=10, metrics=("ece",)).plot()',
        ),
        Entry(
            "overlay",
            "Models in one square",
            "Told apart by colour, marker and dashes, so that the picture survives a printer without colour.",
            'axes = cal.reliability_panels(y, models, bins=8, metrics=("ece",)).plot(layout="overlay")',
        ),
        Entry(
            "classwise",
            "A panel for each class",
            "Which class is to blame? Each panel asks for one digit alone: how likely it was said to be, and how often it was that one.",
            "axes = cal.classwise_panels(y, p, show=[1, 3, 5, 7, 8, 9], bins=5).plot()",
        ),
    ],
    "How scores are spread": [
        Entry(
            "histogram",
            "Histogram of scores by outcome",
            "Many of the wrong answers are among the surest: the hatched bars rise to the right, too.",
            "ax = cal.score_histogram(y, p, bins=15).plot(log=True)",
        ),
        Entry(
            "entropy",
            "Entropy by true class",
            "The mean entropy of what was given out for each digit, with its accuracy (full) and confidence (open). The line between "
            "the two is the gap; it is longest for the digits that are read worst.",
            'ax = cal.entropy_diagram(y, p, by="class").plot()',
        ),
        Entry(
            "entropy_models",
            "Entropy of several models",
            "A map that makes a model less sure spreads its probabilities: the entropy rises.",
            'ax = cal.entropy_diagram(y, models, unit="bits").plot()',
        ),
    ],
    "Without bins": [
        Entry(
            "cumulative",
            "Cumulative differences",
            "Scores minus outcomes, added up in order of score. A stretch that rises is overconfident, and its slope is how much. The path of "
            "right scores would stay inside the grey band; the grey triangle is the size of chance.",
            "ax = cal.cumulative_diagram(y, p).plot()",
        ),
        Entry(
            "cumulative_rare",
            "Cumulative differences of a rare event",
            "Drawn against the score. Nearly all scores are close to 0, and the path leaves the band before 0.05: even small ones are too high.",
            'ax = cal.cumulative_diagram(rare.y_true, rare.y_prob).plot(against="score")',
        ),
    ],
    "Whole distributions": [
        Entry(
            "simplex",
            "Three classes in a triangle",
            "Each arrow leads from what was said to what happened. They point to the middle: the model is too sure of every class. Fainter arrows stand for fewer rows.",
            "ax = cal.simplex_diagram(three.y_true, three.y_prob, bins=6, least=60).plot()",
        ),
        Entry(
            "simplex_points",
            "Three of ten classes",
            "Single rows, coloured by their label, between the digits 3, 8 and 9. Rows near a corner of another colour are sure and wrong.",
            'ax = cal.simplex_diagram(y, p, corners=[3, 8, 9], kind="points").plot()',
        ),
        Entry(
            "variation",
            "Variation stated and observed",
            "The entropy that whole rows state against the entropy that outcomes show. Points above the diagonal: the outcomes vary more "
            "than the model says.",
            "ax = cal.variation_diagram(three.y_true, three.y_prob).plot()",
        ),
        Entry(
            "uce",
            "Error rate against entropy",
            "An entropy is no error rate, so calibrated rows do not lie on the diagonal but on the dotted line. Compare with that.",
            "ax = cal.uce_diagram(three.y_true, three.y_prob).plot()",
        ),
        Entry(
            "topk",
            "The k likeliest classes",
            "The error of the first k classes, how often the true one was among them beside how often that was claimed, and how temperature "
            "moves confidence from the first class to the others.",
            "axes = cal.topk_diagram(y, models, k=5).plot()",
        ),
    ],
    "Groups and ranges": [
        Entry(
            "group_error",
            "Groups of classes",
            "Classes added up by group, on two levels: an error inside a group cancels. Below, which groups it comes from.",
            'digits_by_shape = {"round": {"closed": [0, 6, 8], "open": [3, 5, 9]}, "straight": {"thin": [1, 7], "angled": [2, 4]}}\n'
            "axes = cal.group_error_diagram(\n"
            '    y, models, hierarchy=digits_by_shape, names=["kind", "shape"], level=2\n'
            ").plot()",
        ),
        Entry(
            "group_confidence",
            "Where confidence goes",
            "Mean probability of each group (columns) for rows of each true group (rows). Off the diagonal stand the confusions.",
            'shapes = {"closed": [0, 6, 8], "open": [3, 5, 9], "thin": [1, 7], "angled": [2, 4]}\n'
            "ax = cal.group_confidence_diagram(y, p, hierarchy=shapes).plot()",
        ),
        Entry(
            "interval_error",
            "Ranges of confidence",
            "The error inside ranges that may be shown as words. A map for all rows can make one range worse; the lower panel says how "
            "many rows that concerns.",
            'axes = cal.interval_error_diagram(y, models, intervals="five").plot()',
        ),
    ],
    "For decisions": [
        Entry(
            "risk_coverage",
            "Risk and coverage",
            "Answer only what the model is sure of: how the error rate of the answers falls. The circle is the threshold at which answers "
            "are 95% right; the dotted line is a perfect order, the dashed one a random one.",
            "ax = cal.risk_coverage_diagram(y, p, accuracy=0.95).plot()",
        ),
        Entry(
            "murphy",
            "Murphy diagram",
            "What decisions cost at each threshold. A model whose curve is lower everywhere is better for every proper score; where curves "
            "cross, it depends on what a decision costs.",
            'two = cal.murphy_diagram(y, models, difference=("as trained", "with temperature"), n_resamples=300, rng=0)\nax = two.plot()',
        ),
        Entry(
            "murphy_difference",
            "Difference of two Murphy curves",
            "Above 0 the first model costs more. Where the band does not hold 0, the difference is more than chance at that threshold.",
            'two = cal.murphy_diagram(y, models, difference=("as trained", "with temperature"), n_resamples=300, rng=0)\n'
            "ax = two.plot_difference()",
        ),
    ],
    "How much a number depends on its settings": [
        Entry(
            "stability_bins",
            "Over the number of bins",
            "Few bins hide errors that cancel, many count chance as error. The shaded stretch is the longest on which "
            "the value stays within 4% of its middle. Below, how many rows the bins hold.",
            "axes = cal.stability_diagram(\n"
            '    yes.y_true, yes.y_prob, metric="ece", over="bins", tolerance=0.04, n_resamples=60, rng=0\n'
            ").plot()",
        ),
        Entry(
            "stability_gamma",
            "Over the size of the cells",
            "The same for the cells of a tree over whole distributions, finer to the right. Without `tolerance` the shaded stretch is where one "
            "value lies in the interval of every setting.",
            "axes = cal.stability_diagram(\n"
            '    three.y_true, three.y_prob, metric="gece", over="gamma", n_resamples=20, rng=0\n'
            ").plot()",
        ),
        Entry(
            "stability_fraction",
            "Over the share of the rows",
            "How far the number still depends on how many rows there are: with few rows it is too large and spreads.",
            'axes = cal.stability_diagram(y, p, metric="ece", over="fraction", n_resamples=200, rng=0).plot()',
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
            lines += [f"### {entry.title}", "", entry.look, "", "```python", entry.code, "```", ""]
            lines += [f"![{entry.title}](gallery/{entry.name}.png)", ""]
    return "\n".join(lines)


def start() -> dict[str, Any]:
    """The names that the first block of the page defines."""
    names: dict[str, Any] = {}
    exec(SETUP, names)
    return names


def plain_settings() -> Any:
    """matplotlib as it comes, whatever this machine's settings are; to name its backend would load pyplot."""
    import matplotlib

    return matplotlib.rc_context({k: v for k, v in matplotlib.rcParamsDefault.items() if k != "backend"})


def drawn(entry: Entry, names: dict[str, Any]) -> Any:
    """The figure that an entry's code leaves behind, run exactly as shown."""
    own = dict(names)
    with plain_settings():
        exec(entry.code, own)
        ax = own["axes"][0] if "axes" in own else own["ax"]
        return ax.figure


def png_of(figure: Any) -> bytes:
    """A picture of few colours, with nothing in it that changes from day to day."""
    from PIL import Image

    full, small = io.BytesIO(), io.BytesIO()
    with plain_settings():
        figure.savefig(full, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    # 255 colours, spread over all that occur: none is off by more than 1 %.
    options = {"method": Image.Quantize.MAXCOVERAGE, "dither": Image.Dither.NONE}
    picture = Image.open(full).convert("RGB").quantize(255, **options)
    picture.save(small, format="png", optimize=True)
    return small.getvalue()


def main() -> None:
    """Draw every picture anew and write the page."""
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
