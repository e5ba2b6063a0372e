"""Adult income and Telco churn as numbers: categories spread out, numbers standardised, rows split by seed."""

import csv
import tomllib
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from calibrant.util.arrays import Array

SHARES = (0.6, 0.2, 0.2)
"""Shares of the rows for training, recalibration and testing."""


class Source(NamedTuple):
    """Where a table lies and what its columns are; columns that are not named are categories."""

    name: str
    files: list[str]
    label: str
    positive: str
    numbers: list[str]
    dropped: list[str]


FACTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("entropic_published.toml").read_text(encoding="utf-8"))
ADULT, TELCO = (Source(**facts) for facts in FACTS["tables"])


class Columns(NamedTuple):
    """A table read: numbers as they are, one column of 0 and 1 for each category, labels."""

    numbers: Array
    categories: Array
    labels: Array


class Split(NamedTuple):
    """Rows of all seeds, seed first: training rows, and held-out rows (for recalibration, then for testing)."""

    train: Array
    train_labels: Array
    held: Array
    held_labels: Array
    fitted: int
    """Number of held-out rows for recalibration."""


def read(source: Source, folder: Path, most: int | None = None) -> Columns:
    """Read a table; `most` takes so many rows of each file."""
    rows: list[dict[str, str]] = []
    for name in source.files:
        with (folder / name).open(newline="") as file:
            rows += [{key: value.strip() for key, value in row.items()} for row in islice(csv.DictReader(file), most)]
    kept = [name for name in rows[0] if name not in (*source.numbers, *source.dropped, source.label)]
    values = [np.array([row[name] for row in rows]) for name in kept]
    # An empty number is the total bill of a customer in the first month.
    numbers = np.array([[float(row[name] or 0) for name in source.numbers] for row in rows])
    categories = np.concatenate([value[:, None] == np.unique(value) for value in values], axis=1)
    labels = np.array([row[source.label].rstrip(".") == source.positive for row in rows])
    return Columns(numbers, categories.astype(np.float32), labels.astype(np.int64))


def split(columns: Columns, seeds: int) -> Split:
    """For each seed, rows dealt anew to training, map and test; numbers standardised by the training rows."""
    n = len(columns.labels)
    cuts = [round(SHARES[0] * n), round((SHARES[0] + SHARES[1]) * n)]
    inputs, labels = [], []
    for seed in range(seeds):
        order = np.random.default_rng([7, seed]).permutation(n)
        numbers = columns.numbers[order]
        mean, spread = numbers[: cuts[0]].mean(axis=0), numbers[: cuts[0]].std(axis=0)
        scaled = (numbers - mean) / np.where(spread > 0, spread, 1)
        inputs.append(np.concatenate([scaled.astype(np.float32), columns.categories[order]], axis=1))
        labels.append(columns.labels[order])
    x, y = np.stack(inputs), np.stack(labels)
    return Split(x[:, : cuts[0]], y[:, : cuts[0]], x[:, cuts[0] :], y[:, cuts[0] :], cuts[1] - cuts[0])
