"""The parts on accuracy, on the k likeliest classes, on words for probabilities, on groups of classes and levels of a hierarchy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from calibrant.figures.classgroups import levels_of
from experiments.reproductions import practical_pictures as pictures_of
from experiments.reproductions.practical_measure import GIVEN, LEAST, WORDS
from experiments.reproductions.practical_reading import Results, beyond, line, marked, mean, models_of, numbers
from experiments.reproductions.practical_sets import BIASED, C100, HISTOGRAM, MNIST, RAW, SOURCES, TEMPERATURE, Source
from experiments.reproductions.practical_values import TEXTS
from experiments.reproductions.study import Part, Row, Table

PUBLISHED = {RAW: 0.739, TEMPERATURE: 0.739, BIASED: 0.735, HISTOGRAM: 0.731}
"""Table 1 of the paper: CIFAR-100, ResNet50, mean over five trainings."""


def present(found: dict[str, Results]) -> list[Source]:
    """The sets that were measured."""
    return [source for source in SOURCES if source.file in found]


def accuracy_part(found: dict[str, Results], notes: dict[str, str]) -> Part:
    """Accuracy beside that of the paper's network, and what was fitted."""
    results = found[C100.file]
    base = float(np.mean(numbers(results, RAW, "accuracy")))
    rows = []
    for model, published in PUBLISHED.items():
        ours = numbers(results, model, "accuracy")
        spread = float(ours.std(ddof=1))
        rows.append(Row(f"CIFAR-100, {model}", published, float(ours.mean()), spread, "another network"))
    for model in (TEMPERATURE, BIASED, HISTOGRAM):
        lost = float(np.mean(numbers(results, model, "accuracy"))) - base
        what = f"CIFAR-100, {model}, less {RAW}"
        note = notes.get(model, "agrees for any network")
        rows.append(Row(what, round(PUBLISHED[model] - PUBLISHED[RAW], 4), lost, note=note))
    return Part(
        "accuracy",
        rows,
        [
            Table(
                ("set", "rows", *("accuracy, " + one for one in models_of(results)), "temperature", "bins"),
                _fitted(found),
            )
        ],
    )


def _fitted(found: dict[str, Results]) -> list[list[Any]]:
    lines = []
    for source in present(found):
        results = found[source.file]
        fitted = results["fitted"]
        accuracy = [round(mean(results, one, "accuracy"), 4) for one in models_of(results)]
        chosen = sorted({f"{one['bins']} of {one['binning']}" for one in fitted})
        heat = round(float(np.mean([one["temperature"] for one in fitted])), 3)
        lines.append([source.title, results["rows"], *accuracy, heat, ", ".join(chosen)])
    return lines


def topk_part(found: dict[str, Results], pictures: Path) -> Part:
    """The errors of the k likeliest classes."""
    results = found[C100.file]
    pictures_of.top_k(results, C100, pictures / "practical_topk.png")
    columns = ("", *(f"k = {k}" for k in C100.k))
    ks = range(len(C100.k))
    asked = {"top_k": "as a vector", "within": "as a set", "rank": "the k-th alone"}
    tables = [
        Table(
            (f"CIFAR-100, {reading}", *columns[1:]),
            [[model, *line(results, model, *((key, k) for k in ks))] for model in models_of(results)]
            + [[f"{RAW}, by chance", *(round(mean(results, RAW, "chance", key, k), 4) for k in ks)]],
        )
        for key, reading in asked.items()
    ]
    caption = (
        "CIFAR-100: the error of the k likeliest classes as a vector and as a set; "
        "the mean k-th confidence against that as trained."
    )
    return Part(
        "top_k",
        tables=[
            *tables,
            Table((f"{C100.title}: bins of the histogram", *GRID), _grid(results["grid"])),
            Table(("full and traditional error", *TEXTS["overview"]), _overview(found)),
        ],
        pictures=[("practical_topk.png", caption)],
    )


GRID = ("accuracy", "traditional", *(f"k = {k}" for k in (1, 5, 10, 100)), "full", "entropy", "2nd confidence")
"""Accuracy, errors (of the k likeliest classes as a vector), entropy and the mean of the second largest probability."""


def _grid(results: Results) -> list[list[Any]]:
    at = {k: C100.k.index(k) for k in (1, 2, 5, 10, 100)}
    wanted: list[tuple[Any, ...]] = [("accuracy",), ("ece", 0), *(("top_k", at[k]) for k in (1, 5, 10, 100))]
    wanted += [("full", 0), ("entropy",), ("rank_confidence", at[2])]
    return [[name, *line(results, name, *wanted)] for name in results["measured"]]


def _overview(found: dict[str, Results]) -> list[list[Any]]:
    lines = []
    for source in present(found):
        results = found[source.file]
        for model in models_of(results):
            cells = line(results, model, ("ece", 0), ("top_k", 0), ("full", 0), ("nll",), ("brier",), ("entropy",))
            extra = [marked(beyond(results, RAW, key), beyond(results, model, key)) for key in ("ece", "full")]
            lines.append([source.title, model, cells[0], extra[0], cells[1], cells[2], extra[1], *cells[3:]])
    return lines


def intervals_part(found: dict[str, Results]) -> Part:
    """Words in place of probabilities."""
    shown = [source for source in present(found) if source is not MNIST]
    results = found[C100.file]
    tables = [
        Table((head, "model", *WORDS), _interval_lines(found, shown, key))
        for key, head in (("outside", "rates outside the interval by"), ("rows", "rows"))
    ]
    asked = (
        ("CIFAR-100, medium interval, temperature: outside", 0.0, "outside"),
        ("the same by chance", None, "outside_chance"),
    )
    note = "another network and data set"
    rows = [Row(what, known, mean(results, TEMPERATURE, "intervals", key, 1), note=note) for what, known, key in asked]
    return Part("intervals", rows, tables, values={"least": str(LEAST)})


def _interval_lines(found: dict[str, Results], shown: list[Source], key: str) -> list[list[Any]]:
    lines = []
    for source in shown:
        results = found[source.file]
        for model in models_of(results):
            wanted = [("intervals", key, place) for place in range(len(WORDS))]
            cells = line(results, model, *wanted, digits=0 if key == "rows" else 4)
            lines.append([source.title, model, *cells])
            if key == "outside" and model in (RAW, TEMPERATURE):
                chance = [mean(results, model, "intervals", "outside_chance", place) for place in range(len(WORDS))]
                lines.append([source.title, f"{model}, by chance", *(_rounded(one) for one in chance)])
    return lines


def _rounded(value: float) -> float | None:
    return None if np.isnan(value) else round(value, 4)


def group_names(source: Source) -> list[str]:
    """Groups of the finest level above classes."""
    return levels_of(source.hierarchy)[-1].groups


def levels_part(found: dict[str, Results], confusions: dict[str, tuple[float, float]]) -> Part:
    """The error at each level of a hierarchy."""
    grouped = [source for source in present(found) if source.levels]
    tables = [
        Table((source.title, *_level_names(source)), _level_lines(found[source.file], source)) for source in grouped
    ]
    rows = []
    for source in grouped:
        share, chance = confusions[source.file]
        group = "superclass" if source is C100 else "group"
        rows.append(
            Row(f"{source.title}: wrong predictions within the {group}", None, share, note=f"{chance:.3f} by chance")
        )
    return Part("levels", rows, tables)


def _level_names(source: Source) -> list[str]:
    sizes = [len(level.groups) for level in levels_of(source.hierarchy)]
    return [*(f"{name} ({size})" for name, size in zip(source.levels, sizes, strict=True)), "classes"]


def _level_lines(results: Results, source: Source) -> list[list[Any]]:
    lines = []
    for model in models_of(results):
        cells = line(results, model, *(("levels", level) for level in range(len(source.levels) + 1)))
        extra = [
            marked(beyond(results, RAW, "levels", level), beyond(results, model, "levels", level))
            for level in range(len(cells))
        ]
        lines.append([model, *(f"{cell} ({more})" for cell, more in zip(cells, extra, strict=True))])
    return lines


def groups_part(found: dict[str, Results]) -> Part:
    """The error of rows whose label lies in one group, and where their confidence goes."""
    grouped = [source for source in present(found) if source.levels]
    tables = [Table(("rows of one group", "group", *_group_heads(found)), _group_lines(found, grouped))]
    tables.append(_confidence_table(found[C100.file]))
    return Part("groups", tables=tables)


def _group_heads(found: dict[str, Results]) -> list[str]:
    return [head for model in models_of(found[C100.file]) for head in (model, "by chance")]


def _group_lines(found: dict[str, Results], grouped: list[Source]) -> list[list[Any]]:
    lines = []
    for source in grouped:
        results = found[source.file]
        for place, name in enumerate(group_names(source)):
            cells: list[Any] = []
            for model in models_of(results):
                cells += line(results, model, ("groups", place), digits=3)
                cells.append(round(mean(results, model, "chance", "groups", place), 3))
            lines.append([source.title, name, *cells])
    return lines


def _confidence_table(results: Results) -> Table:
    """Mean confidence of rows of one superclass: in that superclass, and in the others that get most."""
    given, names = GIVEN[C100.file], group_names(C100)
    means = [mean(results, RAW, "group_confidence", place) for place in range(len(names))]
    kept = [place for place in np.argsort(means)[::-1].tolist() if names[place] != given][:5]
    places = [names.index(given), *kept]
    lines = [
        [model, *line(results, model, *(("group_confidence", place) for place in places))]
        for model in models_of(results)
    ]
    return Table((f"confidence of rows of *{given}*", *(f"in {names[place]}" for place in places)), lines)
