"""The parts on groups of classes, on the levels of a hierarchy, and on subjects of questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from calibrant.figures.classgroups import levels_of
from experiments.reproductions import practical_pictures as pictures_of
from experiments.reproductions.practical_measure import GIVEN
from experiments.reproductions.practical_parts import present
from experiments.reproductions.practical_reading import Results, beyond, line, marked, mean, models_of, nearer, numbers
from experiments.reproductions.practical_sets import C100, RAW, Source
from experiments.reproductions.study import Part, Row, Table


def group_names(source: Source) -> list[str]:
    """Groups of the finest level above classes."""
    return levels_of(source.hierarchy)[-1].groups


def levels_part(found: dict[str, Results], confusions: dict[str, tuple[float, float]], pictures: Path) -> Part:
    """The error at each level of a hierarchy."""
    grouped = [source for source in present(found) if source.levels]
    pictures_of.levels(found[C100.file], C100, pictures / "practical_levels.png")
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
    caption = "CIFAR-100: the error at each level, as measured (bars) and by chance (black marks)."
    return Part("levels", rows, tables, [("practical_levels.png", caption)])


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


def groups_part(found: dict[str, Results], pictures: Path) -> Part:
    """The error of rows whose label lies in one group, and where their confidence goes."""
    grouped = [source for source in present(found) if source.levels]
    pictures_of.groups(found[C100.file], group_names(C100), pictures / "practical_groups.png")
    tables = [Table(("rows of one group", "group", *_group_heads(found)), _group_lines(found, grouped))]
    tables.append(_confidence_table(found[C100.file]))
    caption = (
        "CIFAR-100: the error of the rows of each superclass, as trained and with a temperature; hollow marks are "
        "what calibrated "
        "predictions with the same probabilities show."
    )
    return Part("groups", tables=tables, pictures=[("practical_groups.png", caption)])


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


def subjects_part(found: dict[str, Results], pictures: Path) -> Part | None:
    """Confidence less accuracy of each subject of MMLU; None where no such set was measured."""
    shown = [source for source in present(found) if "subject_gaps" in found[source.file]["measured"][RAW][0]]
    if not shown:
        return None
    pictures_of.subjects(found[shown[0].file], shown[0].title, pictures / "practical_subjects.png")
    areas = found[shown[0].file]["measured"][RAW][0]["areas"]
    heads = ("", "model", "all rows", *areas, "mean size, 57 subjects", "beyond chance", "nearer 0 in", "p (mcm)")
    lines = [
        _subject_line(found[source.file], source.title, model)
        for source in shown
        for model in models_of(found[source.file])
    ]
    caption = (
        f"{shown[0].title}: confidence less accuracy of each subject, as trained and with a temperature; "
        "mean over splits."
    )
    return Part(
        "subjects",
        tables=[Table(heads, lines)],
        pictures=[("practical_subjects.png", caption)],
    )


def _subject_line(results: Results, title: str, model: str) -> list[Any]:
    overall = numbers(results, model, "confidence") - numbers(results, model, "accuracy")
    areas = [round(mean(results, model, "area_gaps", place), 4) for place in range(4)]
    extra = numbers(results, model, "fece") - numbers(results, model, "fece_chance")
    before = numbers(results, RAW, "fece") - numbers(results, RAW, "fece_chance")
    pvalue = float(numbers(results, model, "mcm_pvalue").max())
    closer = "" if model == RAW else str(nearer(results, model))
    size = line(results, model, ("fece",))[0]
    return [title, model, round(float(overall.mean()), 4), *areas, size, marked(before, extra), closer, f"{pvalue:.1g}"]
