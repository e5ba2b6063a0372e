"""Use cases of calibration metrics: the metrics for each of them, the best first, with reasons; and what is related to a metric."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple


class UseCase(NamedTuple):
    """A question about a model, and the metrics that answer it."""

    question: str
    metrics: dict[str, str]  # id and reason: the recommendation, the runner-up, and then special cases
    why: str
    functions: tuple[str, ...] = ()  # of calibrant, to use before or beside the metrics


@cache
def use_cases() -> dict[str, UseCase]:
    """The use cases by name."""
    return {
        name: UseCase(entry["question"], entry["metrics"], entry["why"], tuple(entry.get("functions", ())))
        for name, entry in _read("use_cases.toml").items()
    }


@cache
def related() -> dict[str, dict[str, list[str]]]:
    """Names of the literature that no metric has by itself (``functions``, ``options``, ``meanings``), and metrics to see beside a metric (``see_also``)."""
    return _read("related.toml")


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
