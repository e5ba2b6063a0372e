"""What the two papers say, and whether the numbers of each network show it: claims.toml has the sentences and the rules."""

import math
import statistics
import tomllib
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jinja2

from experiments.images.measure import GROUPS, NONE, SHARPER, TOP

Results = dict[str, Any]
"""The numbers of one network."""
Method = tuple[str, str]
"""An intervention during training, and the calibrator after it."""
BASE: Method = ("base", NONE)
TRAINED = ("label_smoothing", "mixup", "focal", "flsd", "mmce", "mc_dropout", "ensemble")
AFTER = ("temperature", "bias-corrected temperature", "histogram binning", "Dirichlet")
STUDIED = ("label_smoothing", "mixup", "focal", "flsd")
"""Interventions of the first paper; focal loss in the two forms that are trained here."""
POSTHOC = AFTER[:3]
"""Calibrators of the first paper."""
# Two-sided 95% points of Student's t with 1, 2, ... degrees of freedom.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


def change(before: list[float], after: list[float]) -> int:
    """-1 lower, 1 higher, 0 not clear: the differences seed by seed against a 95% interval of Student's t."""
    gaps = [b - a for a, b in zip(before, after, strict=True)]
    if any(math.isinf(value) for value in after):
        return 1
    known = [gap for gap in gaps if math.isfinite(gap)]
    if len(known) < 2:
        return 0
    middle = statistics.fmean(known)
    half = STUDENT[min(len(known) - 1, len(STUDENT)) - 1] * statistics.stdev(known) / len(known) ** 0.5
    return 0 if abs(middle) <= half else 1 if middle > 0 else -1


def methods(trained: Iterable[str] = STUDIED, after: Iterable[str] = POSTHOC) -> list[Method]:
    """Interventions during training, and calibrators of the base network."""
    return [*((name, NONE) for name in trained), *(("base", name) for name in after)]


def values(results: Results, method: Method, key: str, place: int | None = None) -> list[float]:
    """One number for each seed."""
    model, calibrator = method
    name = key if place is None else f"{key} {place}"
    return [float(one[name]) for one in results["measured"][model][calibrator]]


def mean(results: Results, method: Method, key: str, place: int | None = None) -> float:
    """Mean over seeds."""
    return statistics.fmean(values(results, method, key, place))


def beyond(results: Results, method: Method, key: str, place: int | None = None) -> list[float]:
    """An error less that of labels drawn from the probabilities, for each seed."""
    drawn = values(results, method, f"chance {key}", place)
    return [seen - by for seen, by in zip(values(results, method, key, place), drawn, strict=True)]


def moved(results: Results, method: Method, key: str, place: int | None = None) -> int:
    """-1 lower than the base network, 1 higher, 0 not clear."""
    return change(values(results, BASE, key, place), values(results, method, key, place))


def moved_beyond(results: Results, method: Method, key: str, place: int | None = None) -> int:
    """As `moved`, of the error less that of drawn labels."""
    return change(beyond(results, BASE, key, place), beyond(results, method, key, place))


def moved_twice(results: Results, method: Method, key: str, place: int | None = None) -> int:
    """As `moved`, if the error less that of drawn labels moves in the same direction; else 0."""
    plain = moved(results, method, key, place)
    return plain if plain == moved_beyond(results, method, key, place) else 0


def excess(results: Results, method: Method, key: str, place: int | None = None) -> str:
    """The mean of an error, and of what exceeds that of drawn labels."""
    more = statistics.fmean(beyond(results, method, key, place))
    return f"{percent(mean(results, method, key, place))} ({100 * more:+.2f} beyond chance)"


def counted(results: Results, chosen: list[Method], sign: int, key: str, place: int | None = None) -> list[str]:
    """The names of the methods that move a number in one direction."""
    return [name_of(one) for one in chosen if moved(results, one, key, place) == sign]


def lower_at(results: Results, method: Method) -> int:
    """At how many k below all classes a method lowers the error of the k likeliest."""
    return sum(moved(results, method, "top_k", place) == -1 for place in range(len(TOP) - 1))


def reduction(results: Results, chosen: list[Method], k: int) -> float:
    """Mean reduction of the error of the k likeliest classes, as a part of that of the base network."""
    base = mean(results, BASE, "top_k", TOP.index(k))
    return statistics.fmean(1 - mean(results, one, "top_k", TOP.index(k)) / base for one in chosen)


def kendall(results: Results, key: str, place: int | None = None) -> float:
    """Kendall's tau over all models between the traditional error and another."""
    ece, other = ([mean(results, one, *which) for one in COMPARED] for which in (("ece", None), (key, place)))
    return concordance(ece, other)


def concordance(one: list[float], other: list[float]) -> float:
    """Concordant less discordant pairs, as a part of all pairs."""
    pairs = [(a, b) for a in range(len(one)) for b in range(a)]
    signs = [(one[a] - one[b]) * (other[a] - other[b]) for a, b in pairs]
    return (sum(sign > 0 for sign in signs) - sum(sign < 0 for sign in signs)) / len(pairs)


def average(rows: Sequence[Any], key: Any) -> float:
    """Mean of one entry."""
    return statistics.fmean(row[key] for row in rows)


def is_rejected(row: dict[str, Any], key: str) -> bool:
    """Whether a statistic exceeds its critical value."""
    return bool(row[key] > row[f"{key}_critical"])


def rejections(rows: Sequence[dict[str, Any]], key: str) -> int:
    """In how many rows a statistic exceeds its critical value."""
    return sum(is_rejected(row, key) for row in rows)


def name_of(method: Method) -> str:
    """The name in the text."""
    name = method[0] if method[1] == NONE else method[1]
    return name.replace("_", " ").replace("flsd", "FLSD").replace("mmce", "MMCE")


def percent(value: float) -> str:
    """A share as a percentage."""
    return f"{100 * value:.2f}%"


class Finding(NamedTuple):
    """Whether a claim is seen with one network, None where it cannot be tested, and the number."""

    seen: bool | None
    number: str


FACTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CLAIMS, MODELS = FACTS["claim"], FACTS["models"]
RULES = jinja2.Environment(undefined=jinja2.StrictUndefined)
RULES.filters |= {"percent": percent, "name": name_of}
RULES.tests |= {"rejected_by": is_rejected}
MEASURES = (mean, moved, moved_beyond, moved_twice, excess, counted, lower_at, reduction, kendall)
COMPARED = [BASE, *methods(TRAINED, AFTER)]


def check(claim: dict[str, str], results: Results) -> Finding:
    """Apply the rule of a claim: it sets `seen`, and its text is the number."""
    studied = methods()
    names = results | {measure.__name__: partial(measure, results) for measure in MEASURES}
    names |= {"studied": studied, "lowering": [one for one in studied if moved(results, one, "ece") == -1]}
    names |= {"base": BASE, "calibrators": methods((), POSTHOC), "groups": list(GROUPS), "top": TOP, "factor": SHARPER}
    names |= {"compared": COMPARED}
    names |= {"average": average, "rejections": rejections, "seeds": results["measured"]["base"][NONE]}
    every = [one for models in results["measured"].values() for seeds in models.values() for one in seeds]
    # A probability of 0 for a class that occurs makes ECD infinite, which tells nothing else.
    names |= {"forecasts": [one for one in every if math.isfinite(one["ecd"])]}
    rule = RULES.from_string(claim["rule"]).make_module(names)
    return Finding(rule.seen, " ".join(str(rule).split()))


def verdict(claim: dict[str, str], networks: dict[str, Results], names: dict[str, str]) -> tuple[str, str]:
    """Seen, not seen, or not testable here, and the number of each network."""
    if "rule" not in claim:
        return "not testable here", claim["why"]
    found = {names[name]: check(claim, results) for name, results in networks.items()}
    verdicts = {
        name: {True: "seen", False: "not seen", None: "not testable here"}[one.seen] for name, one in found.items()
    }
    numbers = "; ".join(f"{name}: {one.number}" for name, one in found.items())
    if len(set(verdicts.values())) == 1:
        return next(iter(verdicts.values())), numbers
    return ", ".join(f"{each} with {name}" for name, each in verdicts.items()), numbers
