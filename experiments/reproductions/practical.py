"""Calibration beyond the predicted class on real predictions: the k likeliest classes, groups, words, levels, and how stable it is."""

from dataclasses import replace
from pathlib import Path

from experiments.reproductions import practical_values
from experiments.reproductions.practical_causes import FIT_ROWS, SPLITS, bias_by_rows, causes_part
from experiments.reproductions.practical_measure import measure_set, within_superclass
from experiments.reproductions.practical_parts import (
    accuracy_part,
    groups_part,
    intervals_part,
    levels_part,
    topk_part,
)
from experiments.reproductions.practical_sets import BIASED, FEW_SOURCES, HISTOGRAM, SOURCES, Source, read
from experiments.reproductions.practical_stability import measure_stability, stability_part
from experiments.reproductions.practical_targets import targets_part
from experiments.reproductions.study import Study


def run(small: bool, data: Path | None, pictures: Path) -> Study:
    """Run it; `small` takes three sets, two splits and few rows."""
    if data is None:
        return Study("practical")
    sources = FEW_SOURCES if small else SOURCES
    found = {source.file: measure_set(data, source, small) for source in sources}
    confusions = {source.file: confusion(data, source) for source in sources if source.levels}
    stability = measure_stability(data, small)
    why = causes_part(bias_by_rows(data, FIT_ROWS[:2] if small else FIT_ROWS, 1 if small else SPLITS))
    names = practical_values.names_of(found, stability)
    quotes = practical_values.quotes(names)
    parts = [
        practical_values.claims_part(names),
        accuracy_part(found, {BIASED: why.values["bias"], HISTOGRAM: quotes["notes"]["bins"]}),
        why,
        topk_part(found, pictures),
        levels_part(found, confusions),
        groups_part(found),
        intervals_part(found),
        targets_part(data, small),
        stability_part(stability, pictures),
    ]
    parts = [replace(part, values=part.values | quotes.get(part.key, {})) for part in parts if part is not None]
    return Study("practical", parts, quotes["summary"])


def confusion(data: Path, source: Source) -> tuple[float, float]:
    """The part of the wrong predictions that stays in the finest group, over all rows, and that by chance."""
    groups = source.hierarchy
    while any(isinstance(node, dict) for node in groups.values()):
        groups = {name: node for children in groups.values() for name, node in children.items()}
    return within_superclass(read(data, source), groups)
