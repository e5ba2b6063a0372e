"""What the paper says in words, and what the numbers here say to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.reproductions import practical_reading as reading
from experiments.reproductions.practical_parts import present
from experiments.reproductions.practical_sets import C100, HISTOGRAM, MAPS, MNIST, RAW, TEMPERATURE, TOP_HISTOGRAM
from experiments.reproductions.practical_stability import FULL, TOP, gamma_spread, sensitivity, steps, title_of
from experiments.reproductions.study import Part, Table


def claims_part(found: dict[str, reading.Results], stability: dict[str, Any]) -> Part:
    """One line for each claim."""
    lines = [
        *traditional_claims(found),
        *top_k_claims(found),
        *group_claims(found),
        *interval_claims(found),
        *stability_claims(stability),
    ]
    return Part("claims", tables=[Table(("the paper", "here"), lines)])


def of(some: int, all_of_them: int) -> str:
    """A count of pairs."""
    return f"{some} of {all_of_them}"


def traditional_claims(found: dict[str, reading.Results]) -> list[list[str]]:
    """The traditional error, the largest probability, the entropy, and what the traditional error says about others."""
    everything = reading.pairs(found)
    total = len(everything)
    cooled = reading.count(found, "confidence", sign=-1)
    return [
        [
            "Every map lowers the traditional error.",
            f"Lower in {of(reading.count(found, 'ece', 0, sign=-1), total)} pairs, higher in {reading.count(found, 'ece', 0, sign=1)}"
            f"{_named(found, everything, 'ece', 0, sign=1)}.",
        ],
        [
            "They do it by lowering the largest probability.",
            f"Mean confidence lower in {of(cooled, total)} pairs, higher in {reading.count(found, 'confidence', sign=1)}"
            f"{_named(found, everything, 'confidence', sign=1)}.",
        ],
        [
            "Entropy rises, except for histogram binning.",
            f"Higher in {of(reading.count(found, 'entropy', sign=1), total)} pairs. Histogram binning: higher in "
            f"{of(reading.count(found, 'entropy', sign=1, only=_with(found, HISTOGRAM)), len(found))} sets, lower in "
            f"{reading.count(found, 'entropy', sign=-1, only=_with(found, HISTOGRAM))}"
            f"{_named(found, _with(found, HISTOGRAM), 'entropy', sign=-1)}.",
        ],
        ["A lower traditional error says little about other errors.", _indicator(found)],
    ]


def _with(found: dict[str, reading.Results], model: str) -> list[tuple[str, str]]:
    return [(name, model) for name in found]


def _named(found: dict[str, reading.Results], chosen: list[tuple[str, str]], key: str, *places: Any, sign: int) -> str:
    """The pairs in brackets, where there are few."""
    titles = {source.file: source.title for source in present(found)}
    names = [f"{titles[name]}: {model}" for name, model in chosen if _changed(found[name], model, key, *places) == sign]
    return f" ({'; '.join(names)})" if 0 < len(names) <= 4 else ""


def _changed(results: reading.Results, model: str, key: str, *places: Any) -> int:
    return reading.change(reading.numbers(results, RAW, key, *places), reading.numbers(results, model, key, *places))


def _indicator(found: dict[str, reading.Results]) -> str:
    """Of the pairs whose traditional error fell, how many have other errors that rose or fell."""
    fell = reading.fallen(found)
    grouped = [pair for pair in fell if "levels" in found[pair[0]]["measured"][RAW][0]]
    parts = []
    for words, chosen, key, place in (
        ("full error", fell, "full", 0),
        ("set of three", fell, "within", 2),
        ("coarsest groups", grouped, "levels", 0),
    ):
        lower, higher = (reading.count(found, key, place, sign=sign, only=chosen) for sign in (-1, 1))
        extra = [reading.change_beyond(found[name], model, key, place) for name, model in chosen]
        beyond_chance = f"beyond chance {reading.LOWER} {extra.count(-1)}, {reading.HIGHER} {extra.count(1)}"
        parts.append(f"{words} {reading.LOWER} {lower}, {reading.HIGHER} {higher} of {len(chosen)} ({beyond_chance})")
    return f"Of the {len(fell)} pairs where it is lower: {'; '.join(parts)}."


def _part(results: reading.Results, model: str, key: str, place: int) -> str:
    """How far an error moved, as a part of itself."""
    moved = reading.mean(results, model, key, place) / reading.mean(results, RAW, key, place) - 1
    return f"{100 * moved:+.0f}%"


def top_k_claims(found: dict[str, reading.Results]) -> list[list[str]]:
    """What maps do to larger k, on CIFAR-100 and elsewhere."""
    results = found[C100.file]
    places = {k: C100.k.index(k) for k in (1, 2, 5, 10, 100)}
    by_k = {
        model: ", ".join(f"{_part(results, model, 'top_k', place)} at k = {k}" for k, place in places.items())
        for model in (TEMPERATURE, HISTOGRAM, TOP_HISTOGRAM)
    }
    sets = ", ".join(
        f"{reading.mean(results, RAW, 'within', place):.3f} to {reading.mean(results, TEMPERATURE, 'within', place):.3f} at k = {k}"
        for k, place in places.items()
        if k < 100
    )
    return [
        ["From k = 5 on, temperature improves the top-k error very little.", f"CIFAR-100: {by_k[TEMPERATURE]}."],
        ["", f"As a set, temperature on CIFAR-100: {sets}."],
        [
            "On CIFAR-100, every map lowers the top-k error.",
            f"Lower at this many of the {len(C100.k)} k: {_lowered(found)}.",
        ],
        [
            "Histogram binning alone improves most k, but not the full error.",
            f"CIFAR-100: {by_k[HISTOGRAM]}; of the top class only: {by_k[TOP_HISTOGRAM]}. Its full error is lower in "
            f"{of(reading.count(found, 'full', 0, sign=-1, only=_with(found, HISTOGRAM)), len(found))} sets, higher in "
            f"{reading.count(found, 'full', 0, sign=1, only=_with(found, HISTOGRAM))}.",
        ],
        [
            "As trained, the second to fifth classes get too little confidence.",
            "CIFAR-100, k-th confidence against rate: "
            + ", ".join(
                f"{reading.mean(results, RAW, 'rank_confidence', C100.k.index(k)):.3f} / "
                f"{reading.mean(results, RAW, 'rank_rate', C100.k.index(k)):.3f} (k = {k})"
                for k in (2, 3, 5)
            )
            + ".",
        ],
    ]


def _lowered(found: dict[str, reading.Results]) -> str:
    """At how many k each map lowers the error of the vector on CIFAR-100."""
    ks = range(len(C100.k))
    lower = {model: sum(_changed(found[C100.file], model, "top_k", k) == -1 for k in ks) for model in MAPS}
    return ", ".join(f"{model} {number}" for model, number in lower.items())


def group_claims(found: dict[str, reading.Results]) -> list[list[str]]:
    """Levels of a hierarchy, and rows of one group."""
    grouped = {name: one for name, one in found.items() if "levels" in one["measured"][RAW][0]}
    rising = total = above = 0
    for results in grouped.values():
        for model in reading.models_of(results):
            means = [
                reading.mean(results, model, "levels", place)
                for place in range(len(results["measured"][RAW][0]["levels"]))
            ]
            rising += all(np.diff(means) > 0)
            total += 1
            held = range(len(results["measured"][RAW][0]["groups"]))
            above += sum(
                reading.mean(results, model, "groups", g) > reading.mean(results, model, "chance", "groups", g)
                for g in held
            )
    some = [pair for pair in reading.pairs(grouped) if _changed(grouped[pair[0]], pair[1], "ece", 0) == -1]
    higher = reading.count(grouped, "levels", 0, sign=1, only=some)
    kinds = sum(len(one["measured"][RAW][0]["groups"]) for one in grouped.values()) * len(
        reading.models_of(found[C100.file])
    )
    calibrators = len(MAPS) * len(grouped)
    label = sum(
        reading.change(reading.numbers(one, RAW, "groups", g), reading.numbers(one, model, "groups", g)) == 1
        for one in grouped.values()
        for model in MAPS
        for g in range(len(one["measured"][RAW][0]["groups"]))
    )
    asked = sum(len(one["measured"][RAW][0]["groups"]) for one in grouped.values()) * len(MAPS)
    return [
        ["The finer the groups, the larger the error.", f"At every step, for {of(rising, total)} sets and models."],
        [
            "Some maps lower the traditional error and raise that of groups.",
            f"The coarsest groups' error is higher in {of(higher, len(some))} pairs with a lower traditional error "
            f"({calibrators} pairs in all).",
        ],
        [
            "Rows of single groups have a higher error after many maps.",
            f"Higher for {of(label, asked)} groups and maps; but above what calibrated predictions show for only "
            f"{of(above, kinds)} "
            "groups and models (means).",
        ],
    ]


def interval_claims(found: dict[str, reading.Results]) -> list[list[str]]:
    """Words for probabilities."""
    shown = [source.file for source in present(found) if source is not MNIST]
    chosen = [(name, model) for name, model in reading.pairs(found) if name in shown]
    more = reading.count(found, "intervals", "rows", 1, sign=1, only=chosen)
    worst = [
        reading.mean(found[name], model, "intervals", "outside", 1)
        for name in shown
        for model in reading.models_of(found[name])
    ]
    ends = [
        reading.mean(found[name], model, "intervals", "outside", place)
        for name in shown
        for model in reading.models_of(found[name])
        for place in (0, 2)
    ]
    return [
        ["Maps give the word *medium* to more rows.", f"In {of(more, len(chosen))} pairs."],
        [
            "No rate of a bin leaves the medium interval.",
            f"Mean distance outside: at most 0.001 for {of(sum(one <= 1e-3 for one in worst), len(worst))} sets "
            "and models, "
            f"at most {max(worst):.3f}. Low and high: at most 0.001 for "
            f"{of(sum(one <= 1e-3 for one in ends), len(ends))}.",
        ],
    ]


def stability_claims(found: dict[str, Any]) -> list[list[str]]:
    """Gamma, and the number of rows."""
    lines = []
    for name in (title_of(C100, FULL), next(one for one in found["gamma"] if one.endswith(TOP))):
        growth = steps(found["gamma"][name])
        lines.append(f"{name}: halving gamma adds {round(100 * growth.min())} to {round(100 * growth.max())}%")
    shares = found["fractions"]
    return [
        ["The error is stable about gamma = 2^-4.", "; ".join(lines) + "."],
        [
            "The standard deviation grows as rows get fewer, and stays below 0.01.",
            "Largest, at any share of the rows: "
            + "; ".join(f"{name} {max(line['spread']):.4f}" for name, line in found["fraction"].items())
            + ".",
        ],
        [
            "With few rows, the top-1 error varies more with gamma than the full error does.",
            f"Standard deviation at a share of {shares[0]:g} over that at {shares[-1]:g}: top-1 "
            f"{sensitivity(found, TOP):.1f} times, full "
            f"{sensitivity(found, FULL):.1f} times. Between two gammas, at a share of {shares[0]:g}, it differs by "
            f"{gamma_spread(found, TOP, 0):.4f} (top-1) and {gamma_spread(found, FULL, 0):.4f} (full).",
        ],
    ]
