"""Names of metrics: when two spellings are the same name, and which metrics an unknown name may mean."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING

from .use_cases import related

if TYPE_CHECKING:
    from .registry import Metric

# Abbreviations that names are composed of; a name that is an abbreviation as a whole is an alias of its metric.
ABBREVIATIONS = {
    "ace": "adaptive calibration error",
    "bs": "brier score",
    "ce": "calibration error",
    "ece": "expected calibration error",
    "ice": "interval calibration error",
    "kde": "kernel density estimator",
    "knn": "nearest neighbour",
    "ks": "kolmogorov smirnov",
    "mmce": "maximum mean calibration error",
    "pe": "plug-in estimator",
    "rmsce": "root mean squared calibration error",
    "skce": "squared kernel calibration error",
}
# Words that do not distinguish two names.
FILLERS = frozenset(re.findall(r"\w+", "a an and by for from in is k metric of on over the to version with"))
# Compounds that are written in one word, with a hyphen, or in two words.
COMPOUNDS = re.compile(
    r"\b(class|multi|plug|over|under)[-\s]+(wise|in|class|calibration|view|confiden\w+|estimat\w+)\b"
)
# One stem for the forms of a word that names use side by side.
ENDINGS = (
    (r"^bin(?:s|ned|ning)$", "bin"),
    (r"^smirnoff$", "smirnov"),
    (r"^(debias|smooth|square|bia|weight|threshold|fit|partition)e?(?:d|s|t?ed|t?ing)$", r"\1"),
    (r"is(ed|e|ation|ing)$", r"iz\1"),
    (r"our(s?)$", r"or\1"),
    (r"(?<=[a-rt-z]{3})s$", ""),
)
# Names of the literature for a metric with an option. Word order does not distinguish names, and here it would.
WITH_OPTION = {
    ("expected_observed_ratio", "form='observed_expected'"): (
        "O/E",
        "O/E ratio",
        "observed expected ratio",
        "observed to expected ratio",
        "ratio of observed to expected",
        "standardised mortality ratio",
        "SMR",
    ),
}
# A suggestion shares at least this fraction of its words, or of its letters, with an unknown name.
WORDS, LETTERS = 0.3, 0.75
NEAREST = 3


@lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """The letters and digits of a name, without accents and in lower case."""
    return "".join(sign for sign in unicodedata.normalize("NFKD", name).lower() if sign.isalnum())


@lru_cache(maxsize=8192)
def words_of(text: str) -> frozenset[str]:
    """The words of a text that distinguish it: stems, with abbreviations spelled out and without fillers."""
    return frozenset(_listed(text))


def _listed(text: str) -> list[str]:
    text = unicodedata.normalize("NFKD", text).lower().replace("\u2019", "'")
    text = COMPOUNDS.sub(r"\1\2", re.sub(r"'s\b", "", text))
    found = []
    for word in re.findall(r"[a-z]+[0-9]*|[0-9]+", text):
        for part in re.findall(r"\w+", ABBREVIATIONS.get(word, word).replace("plug-in", "plugin")):
            for ending, stem in ENDINGS:
                part = re.sub(ending, stem, part)
            if part not in FILLERS:
                found.append(part)
    return found


@lru_cache(maxsize=4096)
def _phrase(name: str) -> frozenset[str] | tuple[str, ...]:
    """The words of a name: in any order, but for two, as a calibration test is not the test for calibration (T-Cal)."""
    words = words_of(name)
    return words if len(words) > 2 else tuple(_listed(name))


def named(name: str, metrics: Iterable[Metric]) -> list[Metric]:
    """The metrics with this name: by letters and digits, or else by words."""
    metrics = list(metrics)
    wanted, phrase = plain(name), _phrase(name)
    exact = [m for m in metrics if any(plain(one) == wanted for one in (m.id, m.name, *m.info.names))]
    if exact or not phrase:
        return exact
    return [m for m in metrics if any(_phrase(one) == phrase for one in (m.name, *m.info.names))]


def function_named(name: str) -> str | None:
    """The function that computes what has this name, if it is not a metric."""
    wanted = plain(name)
    return next((function for function, names in related()["functions"].items() if wanted in map(plain, names)), None)


def metric_with_option(name: str) -> tuple[str, str] | None:
    """The metric and the option that compute what has this name, if an option is needed."""
    wanted = plain(name)
    return next((call for call, names in WITH_OPTION.items() if wanted in map(plain, names)), None)


def nearest(name: str, metrics: Iterable[Metric]) -> list[str]:
    """Identifiers of metrics that an unknown name may mean, the nearest first: those with similar letters, then with common words."""
    names = {m: (m.id, m.name, *m.info.names) for m in metrics}
    spelled = {plain(other): m for m, others in names.items() for other in others}
    alike = [spelled[match] for match in get_close_matches(plain(name), spelled, NEAREST, LETTERS)]
    alike.sort(key=lambda m: not m.info.recommended)
    asked = words_of(name)

    def overlap(metric: Metric) -> float:
        return max(len(asked & own) / len(asked | own) for own in map(words_of, names[metric]) if own)

    shares = {m: overlap(m) for m in names if asked}
    meant = sorted((m for m in shares if shares[m] >= WORDS), key=lambda m: (-shares[m], not m.info.recommended))
    return list(dict.fromkeys(m.id for m in (*alike, *meant)))[:NEAREST]
