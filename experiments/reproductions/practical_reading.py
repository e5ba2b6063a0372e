"""Numbers of several splits taken together: means, marks for what changed in all of them, and what is beyond chance."""

from typing import Any

import numpy as np

from calibrant.util.arrays import Floats
from experiments.reproductions.practical_sets import MAPS, MODELS, RAW, SOURCES

Results = dict[str, Any]
LOWER, HIGHER = "↓", "↑"
SAME = 1e-6


def numbers(results: Results, model: str, key: str, *places: Any) -> Floats:
    """One number for each split; NaN where there is none."""
    values = []
    for split in results["measured"][model]:
        value = split[key]
        for place in places:
            value = value[place]
        values.append(np.nan if value is None else float(value))
    return np.array(values)


def beyond(results: Results, model: str, key: str, place: int = 0) -> Floats:
    """An error less what labels drawn from the same probabilities show on average, for each split."""
    return numbers(results, model, key, place) - numbers(results, model, "chance", key, place)


def change(before: Floats, after: Floats) -> int:
    """-1 lower in every split, 1 higher in every split, 0 neither; rounding does not count."""
    difference = after - before
    return -1 if (difference < -SAME).all() else 1 if (difference > SAME).all() else 0


def marked(before: Floats, after: Floats, digits: int = 4) -> str:
    """The mean with an arrow where all splits agree on what changed."""
    arrow = {-1: f" {LOWER}", 0: "", 1: f" {HIGHER}"}[change(before, after)]
    if np.isnan(after).all():
        return "no rows" + arrow
    if np.isinf(after).any():
        return f"infinite ({np.isinf(after).sum()} of {len(after)})" + arrow
    # Adding 0 turns a mean that rounds to minus nothing into plain nothing.
    return f"{round(float(np.nanmean(after)), digits) + 0.0:.{digits}f}" + arrow


def line(results: Results, model: str, *wanted: tuple[Any, ...], digits: int = 4) -> list[str]:
    """Marked means of one model, a cell for each path of keys."""
    cells = []
    for path in wanted:
        before, after = (numbers(results, one, *path) for one in (RAW, model))
        cells.append(marked(before, after, digits))
    return cells


def mean(results: Results, model: str, key: str, *places: Any) -> float:
    """The mean over splits that have a value."""
    values = numbers(results, model, key, *places)
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else float("nan")


def change_of(results: Results, model: str, key: str, *places: Any) -> int:
    """How a number changed from as trained."""
    return change(numbers(results, RAW, key, *places), numbers(results, model, key, *places))


def change_beyond(results: Results, model: str, key: str, place: int = 0) -> int:
    """The same for an error beyond chance."""
    return change(beyond(results, RAW, key, place), beyond(results, model, key, place))


def pairs(found: dict[str, Results]) -> list[tuple[str, str]]:
    """Every set with every map."""
    return [(name, model) for name in found for model in MAPS]


def fallen(found: dict[str, Results]) -> list[tuple[str, str]]:
    """The pairs whose traditional error is lower in every split."""
    return [pair for pair in pairs(found) if count(found, "ece", 0, sign=-1, only=[pair])]


def count(found: dict[str, Results], key: str, *places: Any, sign: int, only: Any = None) -> int:
    """In how many sets and maps a number changed in this direction in every split."""
    chosen = pairs(found) if only is None else only
    return sum(change_of(found[name], model, key, *places) == sign for name, model in chosen)


def count_beyond(found: dict[str, Results], key: str, place: int, sign: int, only: Any) -> int:
    """The same for an error beyond chance."""
    return sum(change_beyond(found[name], model, key, place) == sign for name, model in only)


def listed(found: dict[str, Results], key: str, *places: Any, sign: int, only: Any = None) -> str:
    """These sets and maps in brackets, where there are few."""
    titles = {source.file: source.title for source in SOURCES}
    chosen = pairs(found) if only is None else only
    names = [
        f"{titles[name]}: {model}"
        for name, model in chosen
        if count(found, key, *places, sign=sign, only=[(name, model)])
    ]
    return f" ({'; '.join(names)})" if 0 < len(names) <= 4 else ""


def models_of(results: Results) -> list[str]:
    """The models that were measured, in the order they are shown in."""
    return [name for name in MODELS if name in results["measured"]]
