"""Sketches that do not fit together, and what they do not hold."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import polars as pl

import calibrant as cal
from calibrant.sketches import cells_query

from .cases import P3, Y3, Call, P, Y

TWO, THREE = cal.Sketch.of(Y, P), cal.Sketches.of(Y3, P3)
SCORES = np.linspace(0.05, 0.95, 60)
MANY = cal.Sketch.of(SCORES > 0.4, SCORES)
SEARCHES = ("sweep", "search", "search_pure", "cv", "tcal", "levels")
QUERY: dict[str, Any] = {"dialect": "duckdb", "prob": "p", "label": "y"}
QUERIES: list[dict[str, Any]] = [
    {"dialect": "mysql"},
    {"prob": "p_*"},
    {"prob": ["p0", "p1"]},
    {"prob": 3},
    {"by": "a\0b"},
    {"prob": "p\udcff"},
    {"prob": ["a", "a", "b"]},
    {"classes": ["a"]},
    {"input": "logit"},
    {"where": " "},
]

TABLE: dict[str, Call] = {
    "merged with other classes": lambda: THREE.merge(cal.Sketches.of(Y, P)),
    "merged with other lenses": lambda: THREE.merge(cal.Sketches.of(Y3, P3, lenses=["top_label"])),
    "merged with one sketch": lambda: THREE.merge(TWO),  # type: ignore[arg-type]
    "a lens that is not there": lambda: THREE.sketch("binary"),
    "a group that is not there": lambda: THREE.group("west"),
    "a metric of rows": lambda: cal.vce(THREE),
    "an option of whole rows": lambda: cal.nll(THREE, base=2),
    "a lens for whole rows": lambda: cal.nll(THREE, lens="class:1"),
    "whole rows without their scores": lambda: cal.nll(cal.Sketches.of(Y3, P3, scores=False)),
    "a mask for a sketch": lambda: cal.evaluate(THREE, where=[True]),
    "text for bytes": lambda: cal.Sketch.from_bytes("text"),  # type: ignore[arg-type]
    **{f"a bound for bins by {search}": partial(MANY.error_bound, cal.ece_em, bins=search) for search in SEARCHES},
    **{f"a bound of {metric.id}": partial(MANY.error_bound, metric) for metric in (cal.ece_sweep, cal.drmsce_bcs)},
    "a number as file": lambda: cal.scan(5),  # type: ignore[arg-type]
    "a list of numbers as files": lambda: cal.scan([5]),  # type: ignore[list-item]
    "a frame as file": lambda: cal.scan(pl.DataFrame({"y": Y, "p": P})),  # type: ignore[arg-type]
    **{f"a query with {words}": partial(cells_query, "preds", **{**QUERY, **words}) for words in QUERIES},
    **{f"a query of the table {table!r}": partial(cells_query, table, **QUERY) for table in ("", "a..b", 'a"b', "a.")},
}
