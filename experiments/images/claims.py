"""What the two papers say, and what the numbers of each network say to it."""

from __future__ import annotations

import math
import statistics
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from experiments.images.measure import GROUPS, NONE, SHARPER, TOP

Results = dict[str, Any]
"""The numbers of one network."""
TRAINED = ("label_smoothing", "mixup", "focal", "flsd", "mmce", "mc_dropout", "ensemble")
AFTER = ("temperature", "bias-corrected temperature", "histogram binning", "Dirichlet")
STUDIED = ("label_smoothing", "mixup", "focal", "flsd")
"""Interventions of the first paper; focal loss in the two forms that are trained here."""
POSTHOC = AFTER[:3]
"""Calibrators of the first paper."""
ENOUGH = 1e-3
"""An error of an interval below this is taken for none."""


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


class Finding(NamedTuple):
    """Whether a claim is seen with one network, None where it cannot be tested, and the number."""

    seen: bool | None
    number: str


class Claim(NamedTuple):
    """A sentence of a paper, and how it is checked."""

    paper: str
    text: str
    check: Callable[[Results], Finding] | None
    why: str = ""
    """Why it cannot be tested here."""


def values(results: Results, model: str, calibrator: str, key: str, place: int | None = None) -> list[float]:
    """One number for each seed."""
    found = [one[key] for one in results["measured"][model][calibrator]]
    return [float(one if place is None else one[place]) for one in found]


def mean(results: Results, model: str, calibrator: str, key: str, place: int | None = None) -> float:
    """Mean over seeds."""
    return statistics.fmean(values(results, model, calibrator, key, place))


def methods(trained: Iterable[str] = STUDIED, after: Iterable[str] = POSTHOC) -> list[tuple[str, str]]:
    """Interventions during training, and calibrators of the base network."""
    return [*((name, NONE) for name in trained), *(("base", name) for name in after)]


def name_of(method: tuple[str, str]) -> str:
    """The name in the text."""
    return (
        (method[0] if method[1] == NONE else method[1])
        .replace("_", " ")
        .replace("flsd", "FLSD")
        .replace("mmce", "MMCE")
    )


def moved(results: Results, method: tuple[str, str], key: str, place: int | None = None) -> int:
    """-1 lower than the base network, 1 higher, 0 not clear."""
    return change(values(results, "base", NONE, key, place), values(results, *method, key, place))


def beyond(results: Results, model: str, calibrator: str, key: str, place: int | None = None) -> list[float]:
    """An error less that of labels drawn from the probabilities, for each seed."""
    drawn = [one["chance"][key] for one in results["measured"][model][calibrator]]
    both = zip(values(results, model, calibrator, key, place), drawn, strict=True)
    return [seen - (by if place is None else by[place]) for seen, by in both]


def moved_twice(results: Results, method: tuple[str, str], key: str, place: int | None = None) -> int:
    """As `moved`, if the error less that of drawn labels moves in the same direction; else 0."""
    plain = moved(results, method, key, place)
    return (
        plain if plain == change(beyond(results, "base", NONE, key, place), beyond(results, *method, key, place)) else 0
    )


def excess(results: Results, method: tuple[str, str], key: str, place: int | None = None) -> str:
    """The mean of an error, and of what exceeds that of drawn labels."""
    more = statistics.fmean(beyond(results, *method, key, place))
    return f"{percent(mean(results, *method, key, place))} ({100 * more:+.2f} beyond chance)"


def counted(
    results: Results, chosen: list[tuple[str, str]], sign: int, key: str, place: int | None = None
) -> list[str]:
    """The methods that move a number in one direction."""
    return [name_of(one) for one in chosen if moved(results, one, key, place) == sign]


def listed(names: list[str]) -> str:
    """Names in brackets."""
    return f" ({', '.join(names)})" if names else ""


def percent(value: float) -> str:
    """A share as a percentage."""
    return f"{100 * value:.2f}%"


def lowers_ece(results: Results) -> Finding:
    """Every intervention lowers the traditional error."""
    chosen = methods()
    lower, higher = (counted(results, chosen, sign, "ece") for sign in (-1, 1))
    return Finding(
        len(lower) == len(chosen),
        f"lower with {len(lower)} of {len(chosen)}, higher with {len(higher)}{listed(higher)}; base {percent(mean(results, 'base', NONE, 'ece'))}",
    )


def posthoc_lowers(results: Results) -> Finding:
    """Every calibrator lowers the traditional error."""
    chosen = methods((), POSTHOC)
    lower = counted(results, chosen, -1, "ece")
    shown = ", ".join(f"{name_of(one)} {percent(mean(results, *one, 'ece'))}" for one in chosen)
    return Finding(len(lower) == len(chosen), f"base {percent(mean(results, 'base', NONE, 'ece'))}; {shown}")


def little_from_five(results: Results) -> Finding:
    """The five likeliest classes improve less, as a part, than the likeliest."""
    chosen = [one for one in methods() if moved(results, one, "ece") == -1]
    if not chosen:
        return Finding(None, "no method lowers the traditional error")
    gains = []
    for place in (TOP.index(1), TOP.index(5)):
        base = mean(results, "base", NONE, "top_k", place)
        gains.append(statistics.fmean(1 - mean(results, *one, "top_k", place) / base for one in chosen))
    text = f"mean reduction of the {len(chosen)} methods that lower the traditional error: {100 * gains[0]:.0f}% at k = 1, {100 * gains[1]:.0f}% at k = 5"
    return Finding(gains[1] < gains[0] / 2, text)


def histogram_top_k(results: Results) -> Finding:
    """Histogram binning lowers most top-k errors, and not the full error."""
    method = ("base", "histogram binning")
    low = sum(moved_twice(results, method, "top_k", place) == -1 for place in range(len(TOP) - 1))
    full = len(TOP) - 1
    falls = change(beyond(results, "base", NONE, "top_k", full), beyond(results, *method, "top_k", full)) == -1
    shown = [excess(results, one, "top_k", full) for one in (("base", NONE), method)]
    return Finding(
        low > full / 2 and moved(results, method, "top_k", full) != -1 and not falls,
        f"lower at {low} of {full} k; full error {shown[0]} to {shown[1]}",
    )


def smoothing_beyond_top(results: Results) -> Finding:
    """Label smoothing raises the errors of k = 2 to 5 and the full error."""
    method, places = ("label_smoothing", NONE), range(1, len(TOP))
    pairs = [
        f"{excess(results, ('base', NONE), 'top_k', place)} to {excess(results, method, 'top_k', place)}"
        for place in (places[0], places[-1])
    ]
    seen = all(moved_twice(results, method, "top_k", place) == 1 for place in places)
    return Finding(seen, f"k = 2: {pairs[0]}; full: {pairs[1]}")


def lower_confidence(results: Results) -> Finding:
    """Every intervention lowers the mean confidence."""
    chosen = methods()
    lower = counted(results, chosen, -1, "confidence")
    return Finding(
        len(lower) == len(chosen),
        f"lower with {len(lower)} of {len(chosen)}; base: confidence {percent(mean(results, 'base', NONE, 'confidence'))}, accuracy {percent(mean(results, 'base', NONE, 'accuracy'))}",
    )


def underconfident_ranks(results: Results) -> Finding:
    """The base network gives the second to fifth class too little."""
    pairs = [
        (k, mean(results, "base", NONE, "rank_confidence", place), mean(results, "base", NONE, "rank_rate", place))
        for place, k in enumerate(TOP)
        if 2 <= k <= 5
    ]
    shown = "; ".join(f"k = {k}: confidence {percent(said)}, rate {percent(seen)}" for k, said, seen in pairs)
    return Finding(all(said < seen for _, said, seen in pairs), shown)


def smoothing_lowers_second(results: Results) -> Finding:
    """Label smoothing lowers the confidence of the second to fifth class, histogram binning raises it."""
    places = [place for place, k in enumerate(TOP) if 2 <= k <= 5]
    signs = [
        [moved(results, method, "rank_confidence", place) for place in places]
        for method in (("label_smoothing", NONE), ("base", "histogram binning"))
    ]
    second = [
        percent(mean(results, *method, "rank_confidence", places[0]))
        for method in (("base", NONE), ("label_smoothing", NONE), ("base", "histogram binning"))
    ]
    return Finding(
        set(signs[0]) == {-1} and set(signs[1]) == {1},
        f"second class: base {second[0]}, label smoothing {second[1]}, histogram binning {second[2]}",
    )


def higher_entropy(results: Results) -> Finding:
    """Every method but histogram binning raises the entropy."""
    chosen = [one for one in methods() if one[1] != "histogram binning"]
    higher = counted(results, chosen, 1, "entropy")
    histogram = moved(results, ("base", "histogram binning"), "entropy")
    told = {-1: "lower", 0: "not clear", 1: "higher"}[histogram]
    return Finding(
        len(higher) == len(chosen) and histogram != 1,
        f"higher with {len(higher)} of {len(chosen)}; histogram binning: {told}",
    )


def group_worse(results: Results) -> Finding:
    """Some methods lower the traditional error and raise that of groups."""
    chosen = [one for one in methods() if moved(results, one, "ece") == -1]
    higher = [one for one in chosen if moved_twice(results, one, "group") == 1]
    shown = "".join(f"; {name_of(one)} {excess(results, one, 'group')}" for one in higher)
    return Finding(
        bool(higher) if chosen else None,
        f"error of groups higher with {len(higher)} of the {len(chosen)} methods that lower the traditional error; base {excess(results, ('base', NONE), 'group')}{shown}",
    )


def groups_differ(results: Results) -> Finding:
    """Some groups have a far larger error of their own images, beyond that of drawn labels."""
    names = list(GROUPS)
    seen = [mean(results, "base", NONE, "by_group", place) for place in range(len(names))]
    drawn = [
        statistics.fmean(one["chance"]["by_group"][place] for one in results["measured"]["base"][NONE])
        for place in range(len(names))
    ]
    most, least = (names[seen.index(pick(seen))] for pick in (max, min))
    text = ", ".join(
        f"{name} {percent(value)} (by chance {percent(by)})" for name, value, by in zip(names, seen, drawn, strict=True)
    )
    return Finding(max(seen) > 2 * min(seen), f"largest {most}, smallest {least}: {text}")


def medium_inside(results: Results) -> Finding:
    """No model has an error in the medium interval; calibrators of the paper have none in any."""
    every = [("base", NONE), *methods()]
    medium = sum(mean(results, *one, "outside", 1) <= ENOUGH for one in every)
    after = methods((), POSTHOC)
    clean = [one for one in after if all(mean(results, *one, "outside", place) <= ENOUGH for place in range(3))]
    base = ", ".join(
        f"{word} {mean(results, 'base', NONE, 'outside', place):.4f}"
        for place, word in enumerate(("low", "medium", "high"))
    )
    return Finding(
        medium == len(every) and len(clean) == len(after),
        f"no error in medium: {medium} of {len(every)} models; in no interval: {len(clean)} of {len(after)} calibrators; base: {base}",
    )


def alert_worse(results: Results) -> Finding:
    """The base network keeps within the intervals of an alert, and every method leaves them."""
    places = (3, 4)
    base = max(mean(results, "base", NONE, "outside", place) for place in places)
    left = [one for one in methods() if max(mean(results, *one, "outside", place) for place in places) > ENOUGH]
    return Finding(
        base <= ENOUGH and len(left) == len(methods()),
        f"base {percent(base)}; above 0.1% with {len(left)} of {len(methods())}{listed([name_of(one) for one in left])}",
    )


def all_top_k(results: Results) -> Finding:
    """Every method lowers every top-k error."""
    places = range(len(TOP) - 1)
    lower = {name_of(one): sum(moved(results, one, "top_k", place) == -1 for place in places) for one in methods()}
    return Finding(
        set(lower.values()) == {len(places)},
        f"lower at this many of {len(places)} k: {', '.join(f'{name} {count}' for name, count in lower.items())}",
    )


def more_medium(results: Results) -> Finding:
    """Every method gives medium confidence to more images."""
    chosen = methods()
    more = counted(results, chosen, 1, "interval_rows", 1)
    return Finding(
        len(more) == len(chosen),
        f"more with {len(more)} of {len(chosen)}; base {percent(mean(results, 'base', NONE, 'interval_rows', 1))} of the images",
    )


def ece_is_no_indicator(results: Results) -> Finding:
    """Of the methods that lower the traditional error, some do not lower another error."""
    chosen = [one for one in methods() if moved(results, one, "ece") == -1]
    if not chosen:
        return Finding(None, "no method lowers the traditional error")
    kinds = {"k = 3": ("top_k", TOP.index(3)), "full": ("top_k", len(TOP) - 1), "groups": ("group", None)}
    failed = {
        word: sum(
            moved(results, one, *place) != -1
            and change(beyond(results, "base", NONE, *place), beyond(results, *one, *place)) != -1
            for one in chosen
        )
        for word, place in kinds.items()
    }
    shown = ", ".join(f"{word} {count}" for word, count in failed.items())
    return Finding(
        any(failed.values()),
        f"of {len(chosen)} methods with a lower traditional error, not lower: {shown}; {ranks(results)}",
    )


def ranks(results: Results) -> str:
    """Rank correlation over methods between the traditional error and others."""
    every = [("base", NONE), *methods(TRAINED, AFTER)]
    first = [mean(results, *one, "ece") for one in every]
    found = [
        kendall(first, [mean(results, *one, key, place) for one in every])
        for key, place in (("top_k", TOP.index(3)), ("top_k", len(TOP) - 1), ("group", None))
    ]
    return "Kendall's tau over {} models: {:.2f}, {:.2f}, {:.2f}".format(len(every), *found)


def kendall(one: list[float], other: list[float]) -> float:
    """Concordant less discordant pairs, as a part of all pairs."""
    pairs = [(a, b) for a in range(len(one)) for b in range(a)]
    signs = [(one[a] - one[b]) * (other[a] - other[b]) for a, b in pairs]
    return (sum(sign > 0 for sign in signs) - sum(sign < 0 for sign in signs)) / len(pairs)


def rejected(results: Results, model: str, calibrator: str, key: str) -> int:
    """In how many seeds a statistic exceeds its critical value."""
    return sum(one[key] > one[f"{key}_critical"] for one in results["measured"][model][calibrator])


def seeds_of(results: Results) -> int:
    """How many seeds there are."""
    return len(results["measured"]["base"][NONE])


def both_reject(results: Results) -> Finding:
    """ECE and ECD reject the base network."""
    count = seeds_of(results)
    ece, ecd = (rejected(results, "base", NONE, key) for key in ("ece", "ecd"))
    other = sum(one["eq15_none"][0] > one["eq15_none"][1] for one in results["extras"])
    return Finding(
        ece == count and ecd == count,
        f"ECE rejects in {ece} of {count} seeds, ECD in {ecd} (equation 15: {other}); ECD {mean(results, 'base', NONE, 'ecd'):.4f}",
    )


def temperature_helps(results: Results) -> Finding:
    """The temperature lowers both."""
    method = ("base", "temperature")
    pairs = [(mean(results, "base", NONE, key), mean(results, *method, key)) for key in ("ece", "ecd")]
    return Finding(
        [moved(results, method, key) for key in ("ece", "ecd")] == [-1, -1],
        f"ECE {percent(pairs[0][0])} to {percent(pairs[0][1])}, ECD {pairs[1][0]:.4f} to {pairs[1][1]:.4f}",
    )


def rejects_within(results: Results) -> Finding:
    """With a temperature from the other half of the test images, ECE and ECD still reject."""
    found = [one["crossed"] for one in results["extras"]]
    ece, ecd = (sum(one[key] > one[f"{key}_critical"] for one in found) for key in ("ece", "ecd"))
    shown = [statistics.fmean(one[key] for one in found) for key in ("ece", "ecd")]
    return Finding(
        ece == len(found) and ecd == len(found),
        f"temperature from the other half of the test images: ECE {percent(shown[0])} rejects in {ece}, ECD {shown[1]:.4f} in {ecd} of {len(found)} seeds",
    )


def rejects_across(results: Results) -> Finding:
    """With a temperature from validation images, ECE still rejects."""
    count = seeds_of(results)
    ece, ecd = (rejected(results, "base", "temperature", key) for key in ("ece", "ecd"))
    return Finding(
        ece == count, f"temperature from the validation images: ECE rejects in {ece}, ECD in {ecd} of {count} seeds"
    )


def models(results: Results) -> list[tuple[str, str]]:
    """Every intervention with every calibrator."""
    return [(model, after) for model, found in results["measured"].items() for after in found]


def forecasts(results: Results) -> list[dict[str, Any]]:
    """Every seed of every model whose ECD is finite: a probability of 0 for a class that occurs tells nothing else."""
    every = [one for method in models(results) for one in results["measured"][method[0]][method[1]]]
    return [one for one in every if math.isfinite(one["ecd"])]


def ecd_alone(results: Results) -> Finding:
    """Some forecasts pass the test of ECE and fail that of ECD."""
    pairs = forecasts(results)
    alone = sum(one["ece"] <= one["ece_critical"] and one["ecd"] > one["ecd_critical"] for one in pairs)
    passed = sum(one["ece"] <= one["ece_critical"] for one in pairs)
    return Finding(
        alone > 0, f"{alone} of the {passed} forecasts that pass the test of ECE ({len(pairs)} with a finite ECD)"
    )


def mce_accepts(results: Results) -> Finding:
    """MCE accepts the base network although ECE rejects it."""
    count = seeds_of(results)
    mce, ece = (rejected(results, "base", NONE, key) for key in ("mce", "ece"))
    return Finding(mce == 0 and ece == count, f"MCE rejects in {mce} of {count}, ECE in {ece} of {count} seeds")


def sign_agrees(results: Results) -> Finding:
    """ECD is positive where the mean confidence exceeds the accuracy, and negative where it falls short."""
    pairs = forecasts(results)
    clear = [one for one in pairs if abs(one["ecd"]) > one["ecd_critical"] and one["ece"] > one["ece_critical"]]
    agree = sum((one["ecd"] > 0) == (one["confidence"] > one["accuracy"]) for one in clear)
    under = sum(one["ecd"] < 0 for one in clear)
    return Finding(
        agree == len(clear) and 0 < under < len(clear),
        f"signs agree in {agree} of {len(clear)} forecasts that both tests reject; {under} of these are underconfident",
    )


def overconfidence_costs_more(results: Results) -> Finding:
    """For the same gap of the mean confidence, ECD of sharper forecasts is larger, if the temperature calibrates."""
    sharp, soft = ([one[name] for one in results["extras"]] for name in ("sharper", "softer"))
    wins = sum(a[1] / a[2] > b[1] / b[2] for a, b in zip(sharp, soft, strict=True))
    cost, ecd = ([statistics.fmean(pick(one) for one in side) for side in (sharp, soft)] for pick in (_cost, _ecd))
    return Finding(
        wins == len(sharp),
        f"expected ECD for each point by which the mean confidence is off: {cost[0]:.4f} if sharpened, {cost[1]:.4f} if softened; but for the same factor of the logits, {SHARPER:g}: {ecd[0]:+.4f} and {ecd[1]:+.4f}",
    )


def _cost(one: list[float]) -> float:
    return one[1] / one[2] / 100


def _ecd(one: list[float]) -> float:
    return one[1]


def zero_if_calibrated(results: Results) -> Finding:
    """With labels drawn from the probabilities, ECD is 0 but for noise."""
    pairs = [
        (one["chance"]["ecd"], one["ecd_critical"]) for found in results["measured"].values() for one in found[NONE]
    ]
    inside = sum(abs(value) <= limit * 1.96 / 1.645 for value, limit in pairs)
    expected = statistics.fmean(one["eq15_none"][2] for one in results["extras"])
    return Finding(
        inside >= 0.85 * len(pairs),
        f"inside a 95% interval around 0 for {inside} of {len(pairs)} models; equation 15 of the paper has the mean {expected:+.4f} instead",
    )


LISTED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["claim"]
CLAIMS = tuple(Claim(one["paper"], one["text"], globals().get(one.get("check")), one.get("why", "")) for one in LISTED)


def verdict(claim: Claim, networks: dict[str, Results], names: dict[str, str]) -> tuple[str, str]:
    """Seen, not seen, or not testable here, and the number of each network."""
    if claim.check is None:
        return "not testable here", claim.why
    found = {name: claim.check(results) for name, results in networks.items()}
    words = {
        name: {True: "seen", False: "not seen", None: "not testable here"}[one.seen] for name, one in found.items()
    }
    numbers = "; ".join(f"{names[name]}: {one.number}" for name, one in found.items())
    if len(set(words.values())) == 1:
        return next(iter(words.values())), numbers
    return ", ".join(f"{word} with {names[name]}" for name, word in words.items()), numbers
