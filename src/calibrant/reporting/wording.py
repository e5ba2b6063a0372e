"""Wording shared by all forms of a report: shares, levels, differences, lenses and the name of the outcome."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ..metrics.registry import catalogue
from ..util.results import percent

if TYPE_CHECKING:
    from ..evaluation.subgroups import Subgroups

# The side of the diagonal on which a point lies; whether the difference is significant is another question.
ABOVE, BELOW = "predicted > observed", "predicted < observed"
# Words that begin the name of a metric and keep their capital inside a sentence, beside acronyms and single letters.
PROPER = ("Brier", "Brownian", "Cox", "Dawid", "Hosmer", "Huber", "Kolmogorov", "Laplace", "Sanders", "Spiegelhalter")


def static_text(name: str) -> str:
    """Return a file of the folder `static`."""
    return (files(__package__) / "static" / name).read_text(encoding="utf-8")


@cache
def static_texts(name: str) -> dict[str, Any]:
    """Return a file of texts by their names."""
    return tomllib.loads(static_text(name))


def remark(name: str, **facts: Any) -> str:
    """Return a text that stands beside a table or in the conclusion, with facts of the report."""
    text: str = static_texts("texts.toml")["remarks"][name]
    return text.format_map(facts)


def event_of(lens: str, outcome: str = "") -> str:
    """Return the name of the event that a lens evaluates; empty where it is not the probability of one named event.

    >>> event_of("binary", "churn"), event_of("class:cat"), event_of("top_label", "churn")
    ('churn', 'cat', '')
    """
    if lens.startswith("ordinal:"):
        return f"at most {lens.removeprefix('ordinal:')}"
    return outcome if lens == "binary" else lens.removeprefix("class:") if lens.startswith("class:") else ""


def lens_text(lens: str, outcome: str = "") -> str:
    """Return a lens as text: ``P(churn)``, ``top label``.

    >>> lens_text("binary", "churn"), lens_text("class:cat"), lens_text("top_label"), lens_text("rank:2")
    ('P(churn)', 'P(cat)', 'top label', 'rank:2')
    """
    event = event_of(lens, outcome)
    return f"P({event})" if event else static_texts("texts.toml")["lenses"].get(lens, plain_id(lens))


def mean_name(lens: str) -> str:
    """Return what the mean score is called under a lens.

    >>> mean_name("top_label"), mean_name("binary")
    ('mean confidence', 'mean predicted probability')
    """
    return "mean confidence" if lens == "top_label" else "mean predicted probability"


def rate_name(lens: str, outcome: str = "") -> str:
    """Return what the mean outcome is called under a lens.

    >>> rate_name("top_label"), rate_name("binary", "churn"), rate_name("binary")
    ('accuracy', 'observed rate (churn)', 'observed rate')
    """
    event = event_of(lens, outcome)
    return "accuracy" if lens == "top_label" else f"observed rate ({event})" if event else "observed rate"


def percents(first: float, second: float) -> tuple[str, str]:
    """Format two shares as percentages, with enough digits to show their difference.

    >>> percents(0.92, 0.8512), percents(0.0301, 0.0312)
    (('92%', '85%'), ('3.0%', '3.1%'))
    """
    # A share of a few per cent needs a decimal.
    digits = 1 if any(0 < value < 0.095 or 0.995 < value < 1 for value in (first, second)) else 0
    gap = abs(100 * (first - second))
    while digits < 4 and gap > 0:
        shown = abs(round(100 * first, digits) - round(100 * second, digits))
        if abs(shown - gap) <= gap / 4:
            break
        digits += 1
    return percent(first, digits), percent(second, digits)


def level_text(value: float) -> str:
    """Format the level of an interval, with all its digits.

    >>> level_text(0.95), level_text(0.975)
    ('95%', '97.5%')
    """
    return f"{100 * value:g}%"


def metric_name(id: str) -> str:
    """Return the name of a metric inside a sentence.

    >>> metric_name("nll"), metric_name("brier")
    ('negative log likelihood', 'Brier score')
    """
    name = catalogue[id].name
    first = re.split(r"\W", name)[0]
    return name if first in PROPER or not first[1:].islower() else name[0].lower() + name[1:]


def without_ids(text: str) -> str:
    """Return a text of the catalogue with the names of metrics in place of their identifiers.

    >>> without_ids("depends less on the width than `ece`")
    'depends less on the width than expected calibration error'
    """
    return re.sub("`([^`]*)`", lambda match: metric_name(match[1]) if match[1] in catalogue else match[1], text)


def plain_id(id: str) -> str:
    """Return an identifier as text, without underscores.

    >>> plain_id("equal_mass")
    'equal mass'
    """
    return id.replace("_", " ")


def sentence(text: str) -> str:
    """Turn a phrase into a sentence.

    >>> sentence("not available"), sentence("")
    ('Not available.', '')
    """
    return text and text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")


def search_text(found: Subgroups) -> str:
    """Return how many subgroups were found, and how they were searched and tested."""
    return " ".join(sentence(line.strip()) for line in repr(found).splitlines()[:2])


def parameter_text(value: object) -> str:
    """Format the value of an option."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return "none" if value is None else str(value)
