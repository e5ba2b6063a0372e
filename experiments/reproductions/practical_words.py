"""What the parts say about their numbers; the numbers in the sentences are computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.reproductions.practical_reading import (
    Results,
    beyond,
    change,
    change_beyond,
    count,
    fallen,
    mean,
    numbers,
    subject_gaps,
)
from experiments.reproductions.practical_sets import (
    BIASED,
    C100,
    LENET,
    LLAMA8,
    MAPS,
    MODELS,
    RAW,
    TEMPERATURE,
    TOP_HISTOGRAM,
)
from experiments.reproductions.practical_stability import FULL, TOP, steps, title_of

MANY, FEW, WIDE = "100 of equal mass", "40 of equal mass", "40 of equal width"
"""Members of the grid of bins on CIFAR-100."""


def extra(results: Results, model: str, key: str, place: int = 0) -> float:
    """Mean error beyond chance."""
    return float(beyond(results, model, key, place).mean())


def moved(results: Results, model: str, key: str, *places: Any) -> str:
    """From as trained to this model."""
    return f"{mean(results, RAW, key, *places):.3f} to {mean(results, model, key, *places):.3f}"


def summary(found: dict[str, Results], stability: dict[str, Any]) -> str:
    """The findings in a few points."""
    image = found[C100.file]
    ten = C100.k.index(10)
    return (
        f"{len(found)} sets of real predictions, each cut in two at random, {len(image['measured'][RAW])} times. "
        "Maps are fitted to one half and "
        "measured on the other, beside the predictions as trained: temperature, bias-corrected temperature, "
        "histogram binning (a histogram for every "
        "class, the usual form; and one for the top class only). The paper's networks are not at hand: its "
        "numbers stand beside as those of another "
        "network, and its statements are checked one by one.\n\n"
        "- **The claim of the paper is confirmed.** On CIFAR-100 a temperature takes the traditional error from "
        f"{moved(image, TEMPERATURE, 'ece', 0)}, but "
        f"the error of *living or not* from {moved(image, TEMPERATURE, 'levels', 0)}, and that of the set of the "
        "ten most likely classes from "
        f"{moved(image, TEMPERATURE, 'within', ten)}.\n"
        f"{_about_estimates(found)}"
        "- **Rows selected by their label** have an error even when predictions are calibrated; most of the error "
        "there is of this kind.\n"
        f"{_about_language(found[LLAMA8.file])}"
        f"{_about_gamma(stability)}"
    )


def _about_estimates(found: dict[str, Results]) -> str:
    image, fell = found[C100.file], fallen(found)
    lower = sum(change_beyond(found[name], model, "full") == -1 for name, model in fell)
    plain = count(found, "full", 0, sign=-1, only=fell)
    return (
        "- **That the full error hardly improves is mostly the estimate.** Less confident models "
        "have more sampling noise. Of the "
        f"{len(fell)} pairs of data set and calibrator with a lower traditional error, {plain} have a lower full error, and "
        f"{lower} a lower one beyond that of labels "
        f"simulated from the probabilities (CIFAR-100, temperature: {moved(image, TEMPERATURE, 'full', 0)}, "
        "beyond chance "
        f"{extra(image, RAW, 'full'):.3f} to {extra(image, TEMPERATURE, 'full'):.3f}).\n"
    )


def _about_language(results: Results) -> str:
    full = ", ".join(
        f"{mean(results, model, 'full', 0):.3f} {words}"
        for model, words in (
            (RAW, "as trained"),
            (TEMPERATURE, "with a temperature"),
            (BIASED, "with a bias for each letter too"),
        )
    )
    return (
        "- **One temperature does not calibrate subjects.** For MMLU and Llama 8B it takes the mean size of the gap "
        "over subjects from "
        f"{moved(results, TEMPERATURE, 'fece')}; chance gives {mean(results, TEMPERATURE, 'fece_chance'):.3f}. The "
        f"full error there is {full}.\n"
    )


def _about_gamma(stability: dict[str, Any]) -> str:
    curve = stability["gamma"][title_of(C100, FULL)]
    return (
        f"- **The full error is nowhere stable over gamma** here: it runs from {min(curve['value']):.3f} to "
        f"{max(curve['value']):.3f} on the same {stability['rows']:,} rows of CIFAR-100. Beyond chance it is far "
        "steadier, "
        f"between {_extra(curve)}. Compare full errors at one gamma and one number of rows only, and together with "
        "the value under calibration."
    )


def top_k(found: dict[str, Results]) -> str:
    """On the k likeliest classes."""
    results = found[C100.file]
    three, ten = C100.k.index(3), C100.k.index(10)
    return (
        "A temperature lowers the error of the most likely class; from k = 5 on the error of the vector hardly changes, as "
        "the paper states. As a set "
        f"it gets **worse**: from {moved(results, TEMPERATURE, 'within', three)} at k = 3 and from "
        f"{moved(results, TEMPERATURE, 'within', ten)} at k = 10. "
        "The network as trained was nearly right about how often the true class is among its ten most likely; a "
        "temperature takes probability away "
        "from them and gives it to classes that are hardly ever true. The histogram of the top class alone has "
        f"{_lowest(results, TOP_HISTOGRAM)}. {histograms(results)}"
    )


def _lowest(results: Results, model: str) -> str:
    """At how many k a model has the lowest error of the vector."""
    first = sum(
        mean(results, model, "top_k", place) == min(mean(results, one, "top_k", place) for one in MODELS)
        for place in range(len(C100.k))
    )
    return "the lowest vector's error at every k" if first == len(C100.k) else f"the lowest vector's error at {first} k"


def accuracy_of_histograms(results: Results) -> str:
    """What histogram binning costs, by its bins."""
    grid = results["grid"]
    lost = {name: mean(grid, name, "accuracy") - mean(grid, RAW, "accuracy") for name in grid["measured"]}
    return (
        "The cost of histogram binning depends on its bins (a table below has all of them): with 100 bins of equal "
        f"mass {_points(lost[MANY])} of accuracy, in the paper 0.8 points; with 40 of equal mass {_points(lost[FEW])}, "
        f"with 40 of equal width {_points(lost[WIDE])}."
    )


def _points(difference: float) -> str:
    return f"{-100 * difference:.1f} points"


def bins_note(results: Results) -> str:
    """How the cost of histogram binning follows from its bins, in a few words."""
    grid = results["grid"]
    lost = {name: mean(grid, name, "accuracy") - mean(grid, RAW, "accuracy") for name in (WIDE, FEW)}
    return f"agrees; {lost[WIDE]:+.3f} with {WIDE}, {lost[FEW]:+.3f} with {FEW}"


def histograms(results: Results) -> str:
    """Whether the histogram of every class does what the paper says, by its bins."""
    grid, ks = results["grid"], range(len(C100.k))

    def lower(name: str) -> int:
        return sum(change(numbers(grid, RAW, "top_k", k), numbers(grid, name, "top_k", k)) == -1 for k in ks)

    def of(name: str, key: str, *places: Any) -> str:
        return f"{mean(grid, RAW, key, *places):.3f} to {mean(grid, name, key, *places):.3f}"

    second = C100.k.index(2)
    return (
        "Of the histogram of every class, the paper says that it improves most k, not the full error, that it raises "
        "the second to fifth confidence, and that it alone does not raise the entropy. With 100 bins of equal mass, "
        f"which the rule chooses here, all of this is seen: the vector's error is lower at {lower(MANY)} of "
        f"{len(C100.k)} k, the full error goes from {of(MANY, 'full', 0)}, the second confidence from "
        f"{of(MANY, 'rank_confidence', second)}, the entropy from {of(MANY, 'entropy')}. It depends on the bins: "
        f"with 40 of equal width the vector's error is lower at {lower(WIDE)} of {len(C100.k)} k and the entropy goes "
        f"from {of(WIDE, 'entropy')}, because the scores of a class lie near 0 in nearly all rows and most bins hold "
        "a handful; fewer bins of equal mass than classes lose the accuracy."
    )


def levels(found: dict[str, Results]) -> str:
    """On the levels of a hierarchy."""
    results, other = found[C100.file], found[LENET.file]
    steps = ("*living or not*", "kinds", "superclasses", "classes")
    pairs = [
        f"{name} {extra(results, RAW, 'levels', place):.3f} to {extra(results, TEMPERATURE, 'levels', place):.3f}"
        for place, name in enumerate(steps)
    ]
    return (
        "The finer the groups, the larger the error, as in the paper. Sampling noise grows in the same way, so "
        "that this says little about the network. "
        f"Beyond chance, a temperature moves CIFAR-100 like this: {', '.join(pairs)}. It was fitted to classes, "
        "for which the network is overconfident. For coarse groups "
        "it was almost calibrated, because it knows that a maple is a tree, and the same temperature makes it "
        "underconfident there. "
        "LeNet-5, which is overconfident everywhere, improves on both levels (animals or vehicles, beyond chance: "
        f"{extra(other, RAW, 'levels', 0):.3f} to {extra(other, TEMPERATURE, 'levels', 0):.3f})."
    )


def groups(found: dict[str, Results]) -> str:
    """On rows of one group."""
    results = found[C100.file]
    number = len(results["measured"][RAW][0]["groups"])
    middle = {
        (model, kind): float(np.mean([mean(results, model, *kind, place) for place in range(number)]))
        for model in (RAW, TEMPERATURE)
        for kind in (("groups",), ("chance", "groups"))
    }
    raw, tempered = (middle[model, ("groups",)] for model in (RAW, TEMPERATURE))
    low, high = (middle[model, ("chance", "groups")] for model in (RAW, TEMPERATURE))
    return (
        "As in the paper, some groups stand out (reptiles and aquatic mammals; there, two families of "
        "butterflies), recalibration takes probability from the true group, and the error "
        f"of almost every group rises. Mean over the superclasses: {raw:.3f} as trained, {tempered:.3f} with a "
        "temperature. But calibrated predictions with the same "
        f"probabilities show {low:.3f} and {high:.3f}. So the increase does not indicate miscalibration. Select by what is known beforehand "
        "(the prediction, a subject), "
        "or subtract the value under calibration. The last table shows the mean probability of each group for rows of *reptiles*."
    )


def subjects(found: dict[str, Results]) -> str:
    """On subjects of questions."""
    results = found[LLAMA8.file]
    ends = {model: _ends(results, model) for model in (RAW, TEMPERATURE)}
    gap = {
        model: float((numbers(results, model, "confidence") - numbers(results, model, "accuracy")).mean())
        for model in MAPS
    }
    before, after = (subject_gaps(results, model) for model in (RAW, TEMPERATURE))
    return (
        f"One temperature shifts all subjects similarly: the gaps of Llama 8B run from {ends[RAW]} as trained and "
        f"from {ends[TEMPERATURE]} after it (standard "
        f"deviation {before.std():.3f} and {after.std():.3f}, correlation {np.corrcoef(before, after)[0, 1]:.2f}). "
        "The temperature of least log loss overshoots, "
        f"to {gap[TEMPERATURE]:+.3f} over all rows; with biases, {gap[BIASED]:+.3f}. No calibrator here corrects subjects "
        "wholly, because none uses them (`GroupCalibration` would)."
    )


def _ends(results: Results, model: str) -> str:
    gaps = subject_gaps(results, model)
    return f"{gaps.min():+.2f} to {gaps.max():+.2f}"


def intervals(found: dict[str, Results]) -> str:
    """On words for probabilities."""
    image, lenet, language = (found[source.file] for source in (C100, LENET, LLAMA8))
    medium, high = 1, 2
    return (
        "On images the words *low* and *high* are reliable, before and after recalibration. The one model whose "
        "words mislead is Llama 8B as trained: rates of "
        f"what it calls *high* lie {mean(language, RAW, 'intervals', 'outside', high):.3f} outside on average, and "
        "every calibrator removes almost all of it, by calling fewer rows "
        f"*high* (with a temperature {mean(language, TEMPERATURE, 'intervals', 'rows', high):.0f} in place of "
        f"{mean(language, RAW, 'intervals', 'rows', high):.0f}). *Medium* is not free of "
        "error as it is in the paper. The rates of some of its bins leave it, in part by chance. On CIFAR-100 and "
        "LeNet-5 a temperature, which is fitted to classes, makes it worse (from "
        f"{moved(image, TEMPERATURE, 'intervals', 'outside', medium)} and from "
        f"{moved(lenet, TEMPERATURE, 'intervals', 'outside', medium)}): rows that were rightly "
        "*low* or *high* become *medium*. Llama 70B is slightly underconfident as trained; there all calibrators make "
        "*medium* rarer."
    )


def stability(found: dict[str, Any]) -> str:
    """On gamma and the number of rows."""
    image = found["gamma"][title_of(C100, FULL)]
    lenet, top = (found["gamma"][title_of(LENET, lens)] for lens in (FULL, TOP))
    near = int(np.argmin(np.abs(np.array(image["gamma"]) - 2**-4)))
    over = image["mean"][near] - image["value"][near]
    least = found["fractions"][0] * found["rows"]
    return (
        f"The full error grows whenever gamma is halved, by {_growth(image)} (CIFAR-100) and {_growth(lenet)} "
        "(LeNet-5): "
        "here it is not stable at 2^-4 or elsewhere. Sampling noise grows almost as much. **Beyond chance "
        "the error "
        f"is far steadier**: between {_extra(image)} for CIFAR-100, between {_extra(lenet)} for LeNet-5. The top-1 "
        f"error of LeNet-5 lies between {min(top['value']):.4f} and {max(top['value']):.4f} at all these gammas: the "
        "network is overconfident at every confidence, so that nothing cancels in a large cell.\n\n"
        f"The bootstrap mean of a full error exceeds that of the original rows by {over:.3f} for CIFAR-100 "
        "at 2^-4: a "
        "resample has 63% of the rows, some of them twice, and so the noise of fewer rows. An interval from "
        "quantiles of "
        "resamples can leave out the value it is meant for. The standard deviation is small beside the change "
        "over gamma, as "
        "the paper says. It grows as rows get fewer, more so for the top-1 error, as the paper says too. It is "
        "above 0.01 "
        f"where a resample has only {least:,.0f} rows; how many the paper had is not said."
    )


def _growth(curve: dict[str, Any]) -> str:
    growth = 100 * steps(curve)
    return f"{round(growth.min()) + 0} to {round(growth.max())}%"


def _extra(curve: dict[str, Any]) -> str:
    values = np.array(curve["value"]) - np.array(curve["chance"])
    return f"{values.min():.3f} and {values.max():.3f}"
