"""Tables 1 and 2 of the survey from the catalogue: families, and properties of each metric, some of them measured."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import numpy as np

import calibrant as cal
from calibrant.errors import CalibrantError
from experiments.rendering import ROOT
from experiments.reproductions.study import Part, Table
from experiments.reproductions.survey_data import table_rows

SEED, ROWS, SAMPLES = 51, 300, 3
NUDGE, JUMP, SAME = 1e-9, 1e-5, 1e-9
# The survey counts kernels and fitted curves as one family.
FAMILIES = {"point": ("point",), "bin": ("bin",), "kernel or curve": ("kernel", "curve"), "cumulative": ("cumulative",)}
# Options that say how finely scores are cut or smoothed.
CHOICES = {"bins", "bandwidth", "neighbours", "span", "levels", "knots", "width", "proximity_bins", "pieces"}


class Measured(NamedTuple):
    """What was tried on drawn rows; None where the metric is not defined there."""

    jumps: bool | None
    constant: bool | None
    order: bool | None


def range_word(metric: cal.metrics.Metric) -> str:
    """The kinds of range that the survey counts."""
    low, high = metric.range
    if low < 0:
        return "below 0 too"
    return "from 0, no bound" if high == math.inf else "from 0 to 1" if high <= 1 else "from 0, bound above 1"


def value_of(metric: cal.metrics.Metric, y: Any, p: Any, subsets: dict[str, Any]) -> float | None:
    """The metric, with groups and features for those that need them; None where it has no value."""
    try:
        return float(metric(cal.Predictions(y, p, **subsets)))
    except CalibrantError:
        return None


def change(first: float | None, second: float | None) -> float | None:
    """How far two values are apart; None where one is missing or infinite."""
    if first is None or second is None or not (math.isfinite(first) and math.isfinite(second)):
        return None
    return abs(first - second)


def measured(metric: cal.metrics.Metric) -> Measured:
    """Nudge the scores by a billionth, forecast the base rate, shuffle the rows; on several samples, once is enough."""
    tried = [_tried(metric, seed) for seed in range(SAMPLES)]
    columns = [[value for value in column if value is not None] for column in zip(*tried, strict=True)]
    return Measured(*(any(values) if values else None for values in columns))


def _tried(metric: cal.metrics.Metric, seed: int) -> Measured:
    drawn = cal.inference.make_calibrated(ROWS, distribution=(1, 1), rng=[SEED, seed])
    rng = np.random.default_rng([SEED, seed, 1])
    # Two decimals: many equal scores, and some on the edges of bins, so that a nudge can part them.
    p = np.clip(np.round(drawn.y_prob, 2), 0.01, 0.99)
    y = drawn.y_true
    subsets = {"groups": rng.integers(0, 3, ROWS), "features": rng.normal(size=(ROWS, 2))}
    now = value_of(metric, y, p, subsets)
    moved = change(now, value_of(metric, y, p + NUDGE * rng.choice([-1, 1], ROWS), subsets))
    constant = value_of(metric, y, np.full(ROWS, y.mean()), subsets)
    order = rng.permutation(ROWS)
    shuffled = value_of(metric, y[order], p[order], {name: values[order] for name, values in subsets.items()})
    apart = change(now, shuffled)
    return Measured(
        None if moved is None else moved > JUMP, _won(metric, constant), None if apart is None else apart > SAME
    )


def _won(metric: cal.metrics.Metric, value: float | None) -> bool | None:
    """Whether a value is ideal; debiased errors may be better than that."""
    if metric.ideal is None or value is None or not math.isfinite(value):
        return None
    off = value - float(metric.ideal)
    return (abs(off) if metric.info.signed or metric.id.startswith("cox") else off) < SAME


def parts(small: bool) -> list[Part]:
    """The names, and both tables; the short form measures some metrics of each family only."""
    chosen = [m for at, m in enumerate(cal.catalogue.values()) if not small or at % 6 == 0]
    found = {m.id: measured(m) for m in chosen}
    return [names_part(), counts_part(), properties_part(found)]


def names_part() -> Part:
    """Every name that the survey uses, with the metric of the catalogue and what its definition departs in."""
    names: dict[str, str] = json.loads((ROOT / "tests" / "metrics" / "survey_names.json").read_text(encoding="utf-8"))
    lines = []
    for id in dict.fromkeys(names.values()):
        info = cal.catalogue[id].info
        own = "; ".join(name for name, known in names.items() if known == id)
        lines.append([own, f"`{id}`", *(text.replace("|", "\\|") for text in (info.certainty, info.notes))])
    return Part(
        "names",
        tables=[Table(["name in the survey", "metric", "certainty", "definition, and where it departs"], lines)],
    )


def members(family: str) -> list[cal.metrics.Metric]:
    """The metrics of one of the survey's families; of all for the empty word."""
    return [m for m in cal.catalogue.values() if not family or m.info.family in FAMILIES[family]]


def counts_part() -> Part:
    """Table 1."""
    kinds = ("from 0 to 1", "from 0, bound above 1", "from 0, no bound", "below 0 too")
    lines = []
    for family in (*FAMILIES, ""):
        of = members(family)
        ranges = [sum(range_word(m) == kind for m in of) for kind in kinds]
        facts = [
            sum(m.proper == "strictly" for m in of),
            sum(bool(m.tests) for m in of),
            sum(m.properties["direction"] for m in of),
        ]
        lines.append([family or "all", len(of), *ranges, *facts])
    heads = ["family", "metrics", *(f"range {kind}" for kind in kinds), "strictly proper", "own test", "tell direction"]
    subfamilies = [
        [family, name, len(of), ", ".join(f"`{m.id}`" for m in of)]
        for family, branches in cal.catalogue.tree().items()
        for name, of in branches.items()
    ]
    rows = table_rows("families", [len(cal.catalogue), len(FAMILIES)])
    return Part("families", rows, [Table(heads, lines), Table(["family", "branch", "metrics", "ids"], subfamilies)])


def share(values: list[bool | None]) -> str:
    """How many of those for which it is known."""
    known = [value for value in values if value is not None]
    return f"{sum(known)} of {len(known)}"


def family_line(family: str, found: dict[str, Measured]) -> list[Any]:
    """How many metrics of a family have each property."""
    of = [m for m in members(family) if m.id in found]
    return [
        family or "all",
        share([bool(CHOICES & set(m.options)) for m in of]),
        share([found[m.id].jumps for m in of]),
        share([found[m.id].constant for m in of]),
        share([found[m.id].order for m in of]),
        share([m.lens == "canonical" for m in of]),
        share([bool(m.needs) for m in of]),
    ]


def properties_part(found: dict[str, Measured]) -> Part:
    """Table 2, and a line for each metric."""
    measured_heads = ["jump", "won by a constant", "depend on order"]
    heads = ["family", "a width to choose", *measured_heads, "whole distribution", "need groups or features"]
    families = Table(heads, [family_line(family, found) for family in (*FAMILIES, "")])
    facts = ["metric", "family", "range", "proper", "test", "direction", "width to choose"]
    each = [_line(cal.catalogue[name], seen) for name, seen in found.items()]
    columns = [*facts, "jumps", "won by a constant", "needs", "cost"]
    return Part("properties", tables=[families, Table(columns, each)])


def _line(metric: cal.metrics.Metric, seen: Measured) -> list[Any]:
    def word(value: bool | None) -> str:
        return "" if value is None else "yes" if value else "no"

    low, high = metric.range
    return [
        f"`{metric.id}`",
        metric.info.family,
        f"{low:g} to {high:.4g}".replace("inf", "∞"),
        metric.proper,
        word(bool(metric.tests)),
        word(metric.properties["direction"]),
        ", ".join(sorted(CHOICES & set(metric.options))),
        word(seen.jumps),
        word(seen.constant),
        ", ".join(metric.needs),
        metric.info.cost,
    ]
