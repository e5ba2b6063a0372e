"""Traceability: from each requirement to its definition, the rows that check it, their sources and the result."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import calibrant as cal

from ..metrics.registry import catalogue
from .references import Compared, Reference

# Groups whose values come from this package itself.
INSIDE = ("stored", "identities")


def trace(references: Iterable[Reference], checks: Iterable[Compared]) -> list[dict[str, Any]]:
    """One entry for each metric, test, interval, calibrator, decision, summary and identity that has reference values.

    Everything follows from the registry, the docstrings and the rows; nothing is listed by hand.

    Parameters
    ----------
    references : iterable of Reference
        All rows that exist.
    checks : iterable of Compared
        Those that were evaluated.
    """
    evaluated = {check.reference.id: check for check in checks}
    topics: dict[tuple[str, str], list[Reference]] = {}
    for row in references:
        topics.setdefault((row.kind, row.topic), []).append(row)
    entries = []
    for (kind, topic), rows in topics.items():
        done = [evaluated[row.id] for row in rows if row.id in evaluated]
        passed = sum(check.passed for check in done)
        requirement, definition = _requirement(kind, topic, rows[0])
        entries.append(
            {
                "id": f"{kind}/{topic}",
                "requirement": requirement,
                "definition": definition,
                "rows": spans([row.id for row in rows]),
                # Those outside calibrant come first.
                "sources": list(dict.fromkeys(row.source.partition(";")[0] for row in rows)),
                "evaluated": len(done),
                "passed": passed,
                "result": "not evaluated" if not done else "passed" if passed == len(done) else "FAILED",
            }
        )
    return entries


def without_outside_source(references: Iterable[Reference]) -> list[list[str]]:
    """Kinds, and the topics of which no value is from another source than this package."""
    topics: dict[tuple[str, str], bool] = {}
    for row in references:
        if row.kind != "identity":
            key = (row.kind, row.topic)
            topics[key] = topics.get(key, False) or not row.id.startswith(INSIDE)
    inside = sorted(key for key, outside in topics.items() if not outside)
    return [[kind, ", ".join(topic for _, topic in some)] for kind, some in groupby(inside, lambda key: key[0])]


def _requirement(kind: str, topic: str, row: Reference) -> tuple[str, str]:
    """Return what is required, and where it is defined."""
    if kind == "identity":
        return f"The same bits with other {topic}" if topic in (
            "order",
            "threads",
            "chunks",
        ) else f"The same bits by {topic}", row.reason
    metric = catalogue[topic] if topic in set(catalogue) else None
    called = re.search(rf"\bcal\.((?:\w+\.)*{topic})\(", row.call)
    path = called[1] if called else topic  # such as decision.aurc
    if metric is None:
        summary = (inspect.getdoc(attrgetter(path)(cal)) or "").split("\n")[0]
        return f"cal.{path}: {summary}", f"docstring of cal.{path}"
    if kind == "test":
        methods = ", ".join(metric.tests)
        return (
            f"cal.assess(metric='{topic}'): test of calibration",
            f"{methods}, and simulated labels" if methods else "simulated labels",
        )
    if kind == "interval":
        return f"cal.interval(metric='{topic}'): confidence interval", "docstring of cal.interval"
    doubt = "" if metric.certain else f" Definition: {metric.info.certainty}."
    return f"cal.{path}: {metric.summary}", f"docs/metrics/{topic}.md. {metric.reference}.{doubt}".replace("..", ".")


def spans(ids: Sequence[str]) -> list[str]:
    """Ids with consecutive numbers as one: ``definitions/ece/1 to 4``."""
    numbers: dict[str, list[int]] = {}
    for each in ids:
        stem, _, number = each.rpartition("/")
        numbers.setdefault(stem, []).append(int(number))
    texts = []
    for stem, some in numbers.items():
        for _, run in groupby(enumerate(sorted(some)), lambda pair: pair[1] - pair[0]):
            first, *others = [number for _, number in run]
            texts.append(f"{stem}/{first} to {others[-1]}" if others else f"{stem}/{first}")
    return texts
