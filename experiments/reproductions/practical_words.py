"""Numbers that the sentences of the page quote, as they are written there."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.reproductions import practical_reading as reading
from experiments.reproductions import practical_sets as sets
from experiments.reproductions.practical_stability import FULL, TOP, steps, title_of

MANY, FEW, WIDE = "100 of equal mass", "40 of equal mass", "40 of equal width"
"""Members of the grid of bins on CIFAR-100."""


def extra(results: reading.Results, model: str, key: str, place: int = 0) -> float:
    """Mean error beyond chance."""
    return float(reading.beyond(results, model, key, place).mean())


def moved(results: reading.Results, model: str, key: str, *places: Any) -> str:
    """From as trained to this model."""
    return f"{reading.mean(results, sets.RAW, key, *places):.3f} to {reading.mean(results, model, key, *places):.3f}"


def summary(found: dict[str, reading.Results], stability: dict[str, Any]) -> dict[str, Any]:
    """Of the findings in a few points."""
    image, language = found[sets.C100.file], found[sets.LLAMA8.file]
    fell = reading.fallen(found)
    lower = sum(reading.change_beyond(found[name], model, "full") == -1 for name, model in fell)
    plain = reading.count(found, "full", 0, sign=-1, only=fell)
    full = ", ".join(
        f"{reading.mean(language, model, 'full', 0):.3f} {words}"
        for model, words in (
            (sets.RAW, "as trained"),
            (sets.TEMPERATURE, "with a temperature"),
            (sets.BIASED, "with a bias for each letter too"),
        )
    )
    curve = stability["gamma"][title_of(sets.C100, FULL)]
    return {
        "sets": f"{len(found)}",
        "splits": len(image["measured"][sets.RAW]),
        "ece": moved(image, sets.TEMPERATURE, "ece", 0),
        "living": moved(image, sets.TEMPERATURE, "levels", 0),
        "within": moved(image, sets.TEMPERATURE, "within", sets.C100.k.index(10)),
        "pairs": f"{len(fell)}",
        "lower_full": f"{plain}",
        "lower_beyond": f"{lower}",
        "full": moved(image, sets.TEMPERATURE, "full", 0),
        "beyond_before": f"{extra(image, sets.RAW, 'full'):.3f}",
        "beyond_after": f"{extra(image, sets.TEMPERATURE, 'full'):.3f}",
        "gap": moved(language, sets.TEMPERATURE, "fece"),
        "gap_chance": f"{reading.mean(language, sets.TEMPERATURE, 'fece_chance'):.3f}",
        "full_language": full,
        "gamma_low": f"{min(curve['value']):.3f}",
        "gamma_high": f"{max(curve['value']):.3f}",
        "rows": f"{stability['rows']:,}",
        "gamma_beyond": _extra(curve),
    }


def top_k(found: dict[str, reading.Results]) -> dict[str, Any]:
    """On the k likeliest classes."""
    results = found[sets.C100.file]
    three, ten = sets.C100.k.index(3), sets.C100.k.index(10)
    return {
        "within_3": moved(results, sets.TEMPERATURE, "within", three),
        "within_10": moved(results, sets.TEMPERATURE, "within", ten),
        "lowest": _lowest(results, sets.TOP_HISTOGRAM),
        **histograms(results),
    }


def _lowest(results: reading.Results, model: str) -> str:
    """At how many k a model has the lowest error of the vector."""
    first = sum(
        reading.mean(results, model, "top_k", place)
        == min(reading.mean(results, one, "top_k", place) for one in sets.MODELS)
        for place in range(len(sets.C100.k))
    )
    return (
        "the lowest vector's error at every k"
        if first == len(sets.C100.k)
        else f"the lowest vector's error at {first} k"
    )


def accuracy_of_histograms(results: reading.Results) -> dict[str, Any]:
    """What histogram binning costs, by its bins."""
    grid = results["grid"]
    lost = {
        name: reading.mean(grid, name, "accuracy") - reading.mean(grid, sets.RAW, "accuracy")
        for name in grid["measured"]
    }
    return {"many": _points(lost[MANY]), "few": _points(lost[FEW]), "wide": _points(lost[WIDE])}


def _points(difference: float) -> str:
    return f"{-100 * difference:.1f} points"


def bins_note(results: reading.Results) -> str:
    """How the cost of histogram binning follows from its bins, in a few words."""
    grid = results["grid"]
    lost = {
        name: reading.mean(grid, name, "accuracy") - reading.mean(grid, sets.RAW, "accuracy") for name in (WIDE, FEW)
    }
    return f"agrees; {lost[WIDE]:+.3f} with {WIDE}, {lost[FEW]:+.3f} with {FEW}"


def histograms(results: reading.Results) -> dict[str, Any]:
    """Whether the histogram of every class does what the paper says, by its bins."""
    grid, ks = results["grid"], range(len(sets.C100.k))

    def lower(name: str) -> int:
        return sum(
            reading.change(reading.numbers(grid, sets.RAW, "top_k", k), reading.numbers(grid, name, "top_k", k)) == -1
            for k in ks
        )

    def of(name: str, key: str, *places: Any) -> str:
        return f"{reading.mean(grid, sets.RAW, key, *places):.3f} to {reading.mean(grid, name, key, *places):.3f}"

    second = sets.C100.k.index(2)
    return {
        "lower_many": f"{lower(MANY)}",
        "ks": f"{len(sets.C100.k)}",
        "full_many": of(MANY, "full", 0),
        "second_many": of(MANY, "rank_confidence", second),
        "entropy_many": of(MANY, "entropy"),
        "lower_wide": f"{lower(WIDE)}",
        "entropy_wide": of(WIDE, "entropy"),
    }


def levels(found: dict[str, reading.Results]) -> dict[str, Any]:
    """On the levels of a hierarchy."""
    results, other = found[sets.C100.file], found[sets.LENET.file]
    steps = ("*living or not*", "kinds", "superclasses", "classes")
    pairs = [
        f"{name} {extra(results, sets.RAW, 'levels', place):.3f} to {extra(results, sets.TEMPERATURE, 'levels', place):.3f}"
        for place, name in enumerate(steps)
    ]
    return {
        "steps": ", ".join(pairs),
        "lenet_before": f"{extra(other, sets.RAW, 'levels', 0):.3f}",
        "lenet_after": f"{extra(other, sets.TEMPERATURE, 'levels', 0):.3f}",
    }


def groups(found: dict[str, reading.Results]) -> dict[str, Any]:
    """On rows of one group."""
    results = found[sets.C100.file]
    number = len(results["measured"][sets.RAW][0]["groups"])
    middle = {
        (model, kind): float(np.mean([reading.mean(results, model, *kind, place) for place in range(number)]))
        for model in (sets.RAW, sets.TEMPERATURE)
        for kind in (("groups",), ("chance", "groups"))
    }
    raw, tempered = (middle[model, ("groups",)] for model in (sets.RAW, sets.TEMPERATURE))
    low, high = (middle[model, ("chance", "groups")] for model in (sets.RAW, sets.TEMPERATURE))
    return {"raw": f"{raw:.3f}", "tempered": f"{tempered:.3f}", "low": f"{low:.3f}", "high": f"{high:.3f}"}


def subjects(found: dict[str, reading.Results]) -> dict[str, Any]:
    """On subjects of questions."""
    results = found[sets.LLAMA8.file]
    ends = {model: _ends(results, model) for model in (sets.RAW, sets.TEMPERATURE)}
    gap = {
        model: float(
            (reading.numbers(results, model, "confidence") - reading.numbers(results, model, "accuracy")).mean()
        )
        for model in sets.MAPS
    }
    before, after = (reading.subject_gaps(results, model) for model in (sets.RAW, sets.TEMPERATURE))
    return {
        "ends_before": ends[sets.RAW],
        "ends_after": ends[sets.TEMPERATURE],
        "spread_before": f"{before.std():.3f}",
        "spread_after": f"{after.std():.3f}",
        "correlation": f"{np.corrcoef(before, after)[0, 1]:.2f}",
        "gap_temperature": f"{gap[sets.TEMPERATURE]:+.3f}",
        "gap_biased": f"{gap[sets.BIASED]:+.3f}",
    }


def _ends(results: reading.Results, model: str) -> str:
    gaps = reading.subject_gaps(results, model)
    return f"{gaps.min():+.2f} to {gaps.max():+.2f}"


def intervals(found: dict[str, reading.Results]) -> dict[str, Any]:
    """On words for probabilities."""
    image, lenet, language = (found[source.file] for source in (sets.C100, sets.LENET, sets.LLAMA8))
    medium, high = 1, 2
    return {
        "outside": f"{reading.mean(language, sets.RAW, 'intervals', 'outside', high):.3f}",
        "rows_after": f"{reading.mean(language, sets.TEMPERATURE, 'intervals', 'rows', high):.0f}",
        "rows_before": f"{reading.mean(language, sets.RAW, 'intervals', 'rows', high):.0f}",
        "image": moved(image, sets.TEMPERATURE, "intervals", "outside", medium),
        "lenet": moved(lenet, sets.TEMPERATURE, "intervals", "outside", medium),
    }


def stability(found: dict[str, Any]) -> dict[str, Any]:
    """On gamma and the number of rows."""
    image = found["gamma"][title_of(sets.C100, FULL)]
    lenet, top = (found["gamma"][title_of(sets.LENET, lens)] for lens in (FULL, TOP))
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
