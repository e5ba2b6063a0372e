"""What the sentences and claims of the page quote: practical_values.toml has their texts, filled here with measured numbers."""

import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from experiments.reproductions import practical_reading as reading
from experiments.reproductions import practical_sets as sets
from experiments.reproductions import practical_stability as stable
from experiments.reproductions.study import Part, Table

TEXTS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
TEMPLATES = jinja2.Environment(undefined=jinja2.StrictUndefined)
CONSTANTS = {
    "raw": sets.RAW,
    "temperature": sets.TEMPERATURE,
    "biased": sets.BIASED,
    "histogram": sets.HISTOGRAM,
    "top_histogram": sets.TOP_HISTOGRAM,
    "maps": sets.MAPS,
    "ks": sets.C100.k,
    # Members of the grid of bins on CIFAR-100.
    "many": "100 of equal mass",
    "few": "40 of equal mass",
    "wide": "40 of equal width",
}


def moved(results: reading.Results, model: str, key: str, *places: Any) -> str:
    """From as trained to this model."""
    return f"{reading.mean(results, sets.RAW, key, *places):.3f} to {reading.mean(results, model, key, *places):.3f}"


def beyond(results: reading.Results, model: str, key: str, place: int = 0) -> float:
    """Mean error beyond chance."""
    return float(reading.beyond(results, model, key, place).mean())


def lower_at(results: reading.Results, model: str) -> int:
    """At how many k a model lowers the error of the k likeliest classes as a vector."""
    return sum(reading.change_of(results, model, "top_k", place) == -1 for place in range(len(sets.C100.k)))


def least_at(results: reading.Results, model: str) -> int:
    """At how many k a model has the lowest error of the k likeliest classes as a vector."""
    return sum(
        reading.mean(results, model, "top_k", place)
        == min(reading.mean(results, one, "top_k", place) for one in sets.MODELS)
        for place in range(len(sets.C100.k))
    )


def over_groups(results: reading.Results, model: str, *path: str) -> float:
    """Mean over groups of an error of the rows of each."""
    places = range(len(results["measured"][sets.RAW][0]["groups"]))
    return float(np.mean([reading.mean(results, model, *path, place) for place in places]))


def group_counts(found: dict[str, reading.Results]) -> dict[str, int]:
    """Where errors rise from level to level, and in how many groups, models and maps they are higher than as trained or than by chance."""
    counts = dict.fromkeys(("rising", "models", "above", "shown", "higher", "asked"), 0)
    for results in found.values():
        first = results["measured"][sets.RAW][0]
        for model in reading.models_of(results):
            errors = [reading.mean(results, model, "levels", place) for place in range(len(first["levels"]))]
            counts["models"] += 1
            counts["rising"] += all(np.diff(errors) > 0)
            for group in range(len(first["groups"])):
                chance = reading.mean(results, model, "chance", "groups", group)
                counts["shown"] += 1
                counts["above"] += reading.mean(results, model, "groups", group) > chance
                counts["asked"] += model in sets.MAPS
                counts["higher"] += reading.change_of(results, model, "groups", group) == 1
    return counts


def outside(found: dict[str, reading.Results], *places: int) -> list[float]:
    """Mean distance of rates from their interval, for each set but MNIST and each model."""
    return [
        reading.mean(results, model, "intervals", "outside", place)
        for name, results in found.items()
        if name != sets.MNIST.file
        for model in reading.models_of(results)
        for place in places
    ]


def names_of(found: dict[str, reading.Results], stability: dict[str, Any]) -> dict[str, Any]:
    """The names that texts use."""
    fell = reading.fallen(found)
    grouped = {name: results for name, results in found.items() if "levels" in results["measured"][sets.RAW][0]}
    image, lenet, language = (found[source.file] for source in (sets.C100, sets.LENET, sets.LLAMA8))
    functions = (reading.mean, reading.numbers, moved, beyond, lower_at, least_at, over_groups)
    asked = {"image": (sets.C100, stable.FULL), "lenet": (sets.LENET, stable.FULL), "top": (sets.LENET, stable.TOP)}
    titles = {name: stable.title_of(*which) for name, which in asked.items()}
    curves = {name: stability["gamma"][title] for name, title in titles.items()}
    return {
        **CONSTANTS,
        **{function.__name__: function for function in functions},
        "k": sets.C100.k.index,
        "found": found,
        "image": image,
        "lenet": lenet,
        "language": language,
        "grid": image["grid"],
        "pairs": reading.pairs(found),
        "fell": fell,
        "grouped": [pair for pair in fell if pair[0] in grouped],
        "all_grouped": reading.pairs(grouped),
        "of_histogram": [(name, sets.HISTOGRAM) for name in found],
        "with_intervals": [pair for pair in reading.pairs(found) if pair[0] != sets.MNIST.file],
        "count": partial(reading.count, found),
        "count_beyond": partial(reading.count_beyond, found),
        "listed": partial(reading.listed, found),
        "groups": group_counts(grouped),
        "outside": partial(outside, found),
        "stability": stability,
        "titles": titles,
        "curves": curves,
        "near": int(np.argmin(np.abs(np.array(curves["image"]["gamma"]) - 2**-4))),
        "steps": stable.steps,
        "sensitivity": partial(stable.sensitivity, stability),
        "gamma_spread": partial(stable.gamma_spread, stability),
        "gaps_beyond": lambda curve: np.subtract(curve["value"], curve["chance"]),
    }


def fill(text: str, names: dict[str, Any]) -> str:
    """A text with its numbers, on one line."""
    return " ".join(TEMPLATES.from_string(text).render(names).split())


def quotes(names: dict[str, Any]) -> dict[str, dict[str, str]]:
    """What the page quotes, by its parts."""
    return {part: {key: fill(text, names) for key, text in texts.items()} for part, texts in TEXTS["quotes"].items()}


def claims_part(names: dict[str, Any]) -> Part:
    """One line for each claim of the paper, and what the numbers here say to it."""
    lines = [[claim["paper"], fill(claim["here"], names)] for claim in TEXTS["claims"]]
    return Part("claims", tables=[Table(("the paper", "here"), lines)])
