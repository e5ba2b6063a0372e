"""Names of metrics: letters and digits distinguish them; and which metrics an unknown name may mean."""

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

# A suggestion shares at least this fraction of its words, or of its letters, with an unknown name.
WORDS, LETTERS = 0.3, 0.75
NEAREST = 3


@lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """The letters and digits of a name, without accents and in lower case."""
    return "".join(sign for sign in unicodedata.normalize("NFKD", name).lower() if sign.isalnum())


def metrics_named(name: str, metrics: Iterable[Metric]) -> list[Metric]:
    """The metrics with this name, by its letters and digits."""
    wanted = plain(name)
    return [m for m in metrics if any(plain(other) == wanted for other in (m.id, m.name, *m.info.names))]


def function_named(name: str) -> str | None:
    """The function or the calibrator that has this name, if no metric has it."""
    wanted = plain(name)
    for function, names in related()["functions"].items():
        if wanted in map(plain, (function.rpartition(".")[2], *names)):
            return function
    return None


def metric_with_option(name: str) -> str | None:
    """The metric with the option that has this name, if an option is needed."""
    wanted = plain(name)
    return next((metric for metric, names in related()["options"].items() if wanted in map(plain, names)), None)


def nearest(name: str, metrics: Iterable[Metric]) -> list[str]:
    """Identifiers of metrics that an unknown name may mean, the nearest first: those with similar letters, then with common words."""
    names = {m: (m.id, m.name, *m.info.names) for m in metrics}
    spelled = {plain(other): m for m, others in names.items() for other in others}
    alike = [spelled[match] for match in get_close_matches(plain(name), spelled, NEAREST, LETTERS)]
    alike.sort(key=lambda m: not m.info.recommended)
    words = set(re.findall(r"\w+", name.lower()))

    def overlap(metric: Metric) -> float:
        own = [set(re.findall(r"\w+", other.lower())) for other in names[metric]]
        return max(len(words & each) / len(words | each) for each in own)

    shares = {m: overlap(m) for m in names if words}
    meant = sorted((m for m in shares if shares[m] >= WORDS), key=lambda m: (-shares[m], not m.info.recommended))
    return list(dict.fromkeys(m.id for m in (*alike, *meant)))[:NEAREST]
