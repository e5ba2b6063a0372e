"""Real predictions for the study of the survey: classes, yes or no, and halves to fit and to measure."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.util.arrays import Floats
from experiments.published import probabilities_of, read_set
from experiments.reproductions.study import Row

Ints = NDArray[np.int64]
Options = tuple[str, dict[str, Any]]
FACTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("survey.toml").read_text(encoding="utf-8"))


def with_options(table: dict[str, dict[str, Any]]) -> dict[str, Options]:
    """The metric behind each name, which is the name itself unless another is given, and its options."""
    return {
        name: (facts.get("metric", name), {key: value for key, value in facts.items() if key != "metric"})
        for name, facts in table.items()
    }


def table_rows(key: str, values: Sequence[float], **names: Any) -> list[Row]:
    """Rows of a part with the texts of survey.toml."""
    return [
        Row(text["what"].format(**names), text.get("published"), value, note=text.get("note", "").format(**names))
        for text, value in zip(FACTS["rows"][key], values, strict=True)
    ]


class Rows(NamedTuple):
    """Labels and probabilities of some rows."""

    y: Ints
    p: Floats

    def take(self, at: Any) -> Rows:
        return Rows(self.y[at], self.p[at])


def read(data: Path, name: str) -> Rows:
    """A probability of every class; two columns for yes or no."""
    found = read_set(data, name)
    if "confidence" in found or "label" in found:
        answer = answers(data, name)
        return Rows(answer.y, np.column_stack([1 - answer.p, answer.p]))
    return Rows(found["labels"].astype(np.int64), probabilities_of(found))


def answers(data: Path, name: str) -> Rows:
    """One score and 0 or 1: the event of a set of two classes, or whether the answer given was right."""
    found = read_set(data, name)
    if "confidence" in found:
        right = found["correct"] if "correct" in found else found["pred"] == found["label"]
        return Rows(right.astype(np.int64), np.clip(found["confidence"].astype(np.float64), 0, 1))
    if "label" in found:
        column = next(key for key in found if key.startswith("p_"))
        return Rows(found["label"].astype(np.int64), found[column].astype(np.float64))
    rows = read(data, name)
    return Rows((rows.p.argmax(axis=1) == rows.y).astype(np.int64), rows.p.max(axis=1))


def halves(rows: Rows, seed: int, most: int = 10_000) -> tuple[Rows, Rows]:
    """Two random halves of at most so many rows together."""
    order = np.random.default_rng(seed).permutation(len(rows.y))[:most]
    return rows.take(order[: len(order) // 2]), rows.take(order[len(order) // 2 :])
