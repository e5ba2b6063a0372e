"""Numbers that the sentences of the page quote, as they are written there."""

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


def summary(found: dict[str, Results], stability: dict[str, Any]) -> dict[str, Any]:
    """Of the findings in a few points."""
    image, language = found[C100.file], found[LLAMA8.file]
    fell = fallen(found)
    lower = sum(change_beyond(found[name], model, "full") == -1 for name, model in fell)
    plain = count(found, "full", 0, sign=-1, only=fell)
    full = ", ".join(
        f"{mean(language, model, 'full', 0):.3f} {words}"
        for model, words in (
            (RAW, "as trained"),
            (TEMPERATURE, "with a temperature"),
            (BIASED, "with a bias for each letter too"),
        )
    )
    curve = stability["gamma"][title_of(C100, FULL)]
    return {
        "sets": f"{len(found)}",
        "splits": len(image["measured"][RAW]),
        "ece": moved(image, TEMPERATURE, "ece", 0),
        "living": moved(image, TEMPERATURE, "levels", 0),
        "within": moved(image, TEMPERATURE, "within", C100.k.index(10)),
        "pairs": f"{len(fell)}",
        "lower_full": f"{plain}",
        "lower_beyond": f"{lower}",
        "full": moved(image, TEMPERATURE, "full", 0),
        "beyond_before": f"{extra(image, RAW, 'full'):.3f}",
        "beyond_after": f"{extra(image, TEMPERATURE, 'full'):.3f}",
        "gap": moved(language, TEMPERATURE, "fece"),
        "gap_chance": f"{mean(language, TEMPERATURE, 'fece_chance'):.3f}",
        "full_language": full,
        "gamma_low": f"{min(curve['value']):.3f}",
        "gamma_high": f"{max(curve['value']):.3f}",
        "rows": f"{stability['rows']:,}",
        "gamma_beyond": _extra(curve),
    }


def top_k(found: dict[str, Results]) -> dict[str, Any]:
    """On the k likeliest classes."""
    results = found[C100.file]
    three, ten = C100.k.index(3), C100.k.index(10)
    return {
        "within_3": moved(results, TEMPERATURE, "within", three),
        "within_10": moved(results, TEMPERATURE, "within", ten),
        "lowest": _lowest(results, TOP_HISTOGRAM),
        **histograms(results),
    }


def _lowest(results: Results, model: str) -> str:
    """At how many k a model has the lowest error of the vector."""
    first = sum(
        mean(results, model, "top_k", place) == min(mean(results, one, "top_k", place) for one in MODELS)
        for place in range(len(C100.k))
    )
    return "the lowest vector's error at every k" if first == len(C100.k) else f"the lowest vector's error at {first} k"


def accuracy_of_histograms(results: Results) -> dict[str, Any]:
    """What histogram binning costs, by its bins."""
    grid = results["grid"]
    lost = {name: mean(grid, name, "accuracy") - mean(grid, RAW, "accuracy") for name in grid["measured"]}
    return {
        "many": _points(lost[MANY]),
        "few": _points(lost[FEW]),
        "wide": _points(lost[WIDE]),
    }


def _points(difference: float) -> str:
    return f"{-100 * difference:.1f} points"


def bins_note(results: Results) -> str:
    """How the cost of histogram binning follows from its bins, in a few words."""
    grid = results["grid"]
    lost = {name: mean(grid, name, "accuracy") - mean(grid, RAW, "accuracy") for name in (WIDE, FEW)}
    return f"agrees; {lost[WIDE]:+.3f} with {WIDE}, {lost[FEW]:+.3f} with {FEW}"


def histograms(results: Results) -> dict[str, Any]:
    """Whether the histogram of every class does what the paper says, by its bins."""
    grid, ks = results["grid"], range(len(C100.k))

    def lower(name: str) -> int:
        return sum(change(numbers(grid, RAW, "top_k", k), numbers(grid, name, "top_k", k)) == -1 for k in ks)

    def of(name: str, key: str, *places: Any) -> str:
        return f"{mean(grid, RAW, key, *places):.3f} to {mean(grid, name, key, *places):.3f}"

    second = C100.k.index(2)
    return {
        "lower_many": f"{lower(MANY)}",
        "ks": f"{len(C100.k)}",
        "full_many": of(MANY, "full", 0),
        "second_many": of(MANY, "rank_confidence", second),
        "entropy_many": of(MANY, "entropy"),
        "lower_wide": f"{lower(WIDE)}",
        "entropy_wide": of(WIDE, "entropy"),
    }


def levels(found: dict[str, Results]) -> dict[str, Any]:
    """On the levels of a hierarchy."""
    results, other = found[C100.file], found[LENET.file]
    steps = ("*living or not*", "kinds", "superclasses", "classes")
    pairs = [
        f"{name} {extra(results, RAW, 'levels', place):.3f} to {extra(results, TEMPERATURE, 'levels', place):.3f}"
        for place, name in enumerate(steps)
    ]
    return {
        "steps": ", ".join(pairs),
        "lenet_before": f"{extra(other, RAW, 'levels', 0):.3f}",
        "lenet_after": f"{extra(other, TEMPERATURE, 'levels', 0):.3f}",
    }


def groups(found: dict[str, Results]) -> dict[str, Any]:
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
    return {
        "raw": f"{raw:.3f}",
        "tempered": f"{tempered:.3f}",
        "low": f"{low:.3f}",
        "high": f"{high:.3f}",
    }


def subjects(found: dict[str, Results]) -> dict[str, Any]:
    """On subjects of questions."""
    results = found[LLAMA8.file]
    ends = {model: _ends(results, model) for model in (RAW, TEMPERATURE)}
    gap = {
        model: float((numbers(results, model, "confidence") - numbers(results, model, "accuracy")).mean())
        for model in MAPS
    }
    before, after = (subject_gaps(results, model) for model in (RAW, TEMPERATURE))
    return {
        "ends_before": ends[RAW],
        "ends_after": ends[TEMPERATURE],
        "spread_before": f"{before.std():.3f}",
        "spread_after": f"{after.std():.3f}",
        "correlation": f"{np.corrcoef(before, after)[0, 1]:.2f}",
        "gap_temperature": f"{gap[TEMPERATURE]:+.3f}",
        "gap_biased": f"{gap[BIASED]:+.3f}",
    }


def _ends(results: Results, model: str) -> str:
    gaps = subject_gaps(results, model)
    return f"{gaps.min():+.2f} to {gaps.max():+.2f}"


def intervals(found: dict[str, Results]) -> dict[str, Any]:
    """On words for probabilities."""
    image, lenet, language = (found[source.file] for source in (C100, LENET, LLAMA8))
    medium, high = 1, 2
    return {
        "outside": f"{mean(language, RAW, 'intervals', 'outside', high):.3f}",
        "rows_after": f"{mean(language, TEMPERATURE, 'intervals', 'rows', high):.0f}",
        "rows_before": f"{mean(language, RAW, 'intervals', 'rows', high):.0f}",
        "image": moved(image, TEMPERATURE, "intervals", "outside", medium),
        "lenet": moved(lenet, TEMPERATURE, "intervals", "outside", medium),
    }


def stability(found: dict[str, Any]) -> dict[str, Any]:
    """On gamma and the number of rows."""
    image = found["gamma"][title_of(C100, FULL)]
    lenet, top = (found["gamma"][title_of(LENET, lens)] for lens in (FULL, TOP))
    near = int(np.argmin(np.abs(np.array(image["gamma"]) - 2**-4)))
    over = image["mean"][near] - image["value"][near]
    least = found["fractions"][0] * found["rows"]
    return {
        "growth_image": _growth(image),
        "growth_lenet": _growth(lenet),
        "beyond_image": _extra(image),
        "beyond_lenet": _extra(lenet),
        "top_low": f"{min(top['value']):.4f}",
        "top_high": f"{max(top['value']):.4f}",
        "over": f"{over:.3f}",
        "least": f"{least:,.0f}",
    }


def _growth(curve: dict[str, Any]) -> str:
    growth = 100 * steps(curve)
    return f"{round(growth.min()) + 0} to {round(growth.max())}%"


def _extra(curve: dict[str, Any]) -> str:
    values = np.array(curve["value"]) - np.array(curve["chance"])
    return f"{values.min():.3f} and {values.max():.3f}"
