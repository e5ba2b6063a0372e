"""The parts on accuracy, on the k likeliest classes and on words for probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.reproductions import practical_pictures as pictures_of
from experiments.reproductions.practical_causes import bias_note
from experiments.reproductions.practical_measure import LEAST, WORDS
from experiments.reproductions.practical_reading import Results, beyond, line, marked, mean, models_of, numbers
from experiments.reproductions.practical_sets import BIASED, C100, HISTOGRAM, MNIST, RAW, SOURCES, TEMPERATURE, Source
from experiments.reproductions.study import Part, Row, Table

PUBLISHED = {RAW: 0.739, TEMPERATURE: 0.739, BIASED: 0.735, HISTOGRAM: 0.731}
"""Table 1 of the paper: CIFAR-100, ResNet50, mean over five trainings."""


def present(found: dict[str, Results]) -> list[Source]:
    """The sets that were measured."""
    return [source for source in SOURCES if source.file in found]


def accuracy_part(found: dict[str, Results], causes: dict[str, Any], bins_note: str) -> Part:
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
        note = {BIASED: bias_note(causes), HISTOGRAM: bins_note}.get(model, "agrees for any network")
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
            Table(("full and traditional error", *OVERVIEW), _overview(found)),
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


OVERVIEW = (
    "model",
    "traditional",
    "beyond chance",
    "top-1, adaptive",
    "full",
    "beyond chance",
    "NLL",
    "Brier",
    "entropy",
)


def _overview(found: dict[str, Results]) -> list[list[Any]]:
    lines = []
    for source in present(found):
        results = found[source.file]
        for model in models_of(results):
            cells = line(results, model, ("ece", 0), ("top_k", 0), ("full", 0), ("nll",), ("brier",), ("entropy",))
            extra = [marked(beyond(results, RAW, key), beyond(results, model, key)) for key in ("ece", "full")]
            lines.append([source.title, model, cells[0], extra[0], cells[1], cells[2], extra[1], *cells[3:]])
    return lines


def intervals_part(found: dict[str, Results], pictures: Path) -> Part:
    """Words in place of probabilities."""
    shown = [source for source in present(found) if source is not MNIST]
    results = found[C100.file]
    pictures_of.intervals(found, shown, pictures / "practical_intervals.png")
    tables = [
        Table((head, "model", *WORDS), _interval_lines(found, shown, key))
        for key, head in (("outside", "rates outside the interval by"), ("rows", "rows"))
    ]
    rows = [
        Row(
            "CIFAR-100, medium interval, temperature: outside",
            0.0,
            mean(results, TEMPERATURE, "intervals", "outside", 1),
        ),
        Row("the same by chance", None, mean(results, TEMPERATURE, "intervals", "outside_chance", 1)),
    ]
    caption = (
        "How far rates of bins lie outside the word that was used, and how many rows get the word *medium*, "
        "for each set and model."
    )
    return Part(
        "intervals",
        [Row(row.what, row.published, row.ours, note="another network and data set") for row in rows],
        tables,
        [("practical_intervals.png", caption)],
        {"least": str(LEAST)},
    )


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
