"""Calibrators fitted to the event that is asked about (section 6): groups of classes, the most probable classes, a band of confidence."""

from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.util.arrays import Floats
from experiments.reproductions import practical_sets as sets
from experiments.reproductions.practical_measure import GAMMA, leaves
from experiments.reproductions.practical_reading import marked
from experiments.reproductions.study import Part, Row, Table
from experiments.studies import draw_labels

BAND = (0.9, 1.0)
GROUPS, SET, ROWS = "temperature of the groups", "Platt scaling of the set", "Platt scaling of the band"
MODELS = (sets.RAW, sets.TEMPERATURE, GROUPS, SET, ROWS)
ERRORS = ("groups", "groups_beyond", "set", "band", "ece", "nll")


def size_of(source: sets.Source) -> int:
    """Number of most probable classes whose set is calibrated."""
    return 10 if source is sets.C100 else 2


def models_of(fit: sets.Rows, held: sets.Rows, source: sets.Source) -> dict[str, Floats]:
    """Probabilities of the rows to measure, by a calibrator of all classes and by one for each event."""
    groups = {name: leaves(node) for name, node in source.hierarchy.items()}
    made: dict[str, Any] = {
        sets.TEMPERATURE: cal.TemperatureScaling(),
        GROUPS: cal.LensCalibration(cal.TemperatureScaling(), groups),
        SET: cal.LensCalibration(cal.PlattScaling(), f"within_top:{size_of(source)}"),
        ROWS: cal.LensCalibration(cal.PlattScaling(), f"band:{BAND[0]:g},{BAND[1]:g}"),
    }
    fitted = {name: one.fit(fit.probs, fit.labels).predict_proba(held.probs) for name, one in made.items()}
    return {sets.RAW: held.probs, **fitted}


def errors_of(probs: Floats, held: sets.Rows, source: sets.Source, draws: int, seed: int) -> dict[str, float]:
    """The error of each event, as on the rest of the page; rows of the band are those that were in it before."""
    p = sets.untied(cal.Predictions(held.labels, probs))
    groups = cal.class_groups({name: leaves(node) for name, node in source.hierarchy.items()})
    tree: dict[str, Any] = {"lens": groups, "binning": cal.KDTree(gamma=GAMMA)}
    rng = np.random.default_rng(seed)
    matrix = np.asarray(p.probs, dtype=np.float64)
    chance = [cal.gece(cal.Predictions(draw_labels(matrix, rng), matrix), **tree) for _ in range(draws)]
    inside = held.probs.max(axis=1) >= BAND[0]
    mass: dict[str, Any] = {"binning": "equal_mass", "bins": 15}
    error = cal.gece(p, **tree)
    return {
        "groups": error,
        "groups_beyond": error - float(np.mean(chance)),
        "set": cal.ece(p, lens=cal.within_top(size_of(source)), **mass),
        "band": cal.ece(held.labels[inside], probs[inside], lens="top_label", **mass),
        "ece": cal.ece(p, lens="top_label"),
        "nll": cal.nll(held.labels, probs),
    }


def measure_targets(data: Path, source: sets.Source, small: bool) -> dict[str, dict[str, list[float]]]:
    """For each model and error one number per split."""
    rows = sets.read(data, source)
    found: dict[str, dict[str, list[float]]] = {model: {error: [] for error in ERRORS} for model in MODELS}
    for seed in range(2 if small else 5):
        fit, held = sets.split(rows, seed, 1000 if small else None)
        for model, probs in models_of(fit, held, source).items():
            for error, value in errors_of(probs, held, source, 1 if small else 3, seed).items():
                found[model][error].append(value)
    return found


def targets_part(data: Path, small: bool) -> Part:
    """The part of the page: the number of living or not with each calibrator, and a table of all events."""
    sources = (sets.C100,) if small else (sets.C100, sets.VGG, sets.LENET, sets.RESNET)
    found = {source.file: measure_targets(data, source, small) for source in sources}
    image = found[sets.C100.file]
    rows = [
        Row(
            f"CIFAR-100, *living or not*, {model}",
            None,
            float(np.mean(image[model]["groups"])),
            spread=float(np.std(image[model]["groups"])),
        )
        for model in (sets.RAW, sets.TEMPERATURE, GROUPS)
    ]
    heads = ("", "model", "groups", "beyond chance", "set of the most probable", "band 0.9 to 1", "traditional", "NLL")
    lines = [
        [
            source.title,
            model,
            *(marked(*(np.array(found[source.file][one][error]) for one in (sets.RAW, model))) for error in ERRORS),
        ]
        for source in sources
        for model in MODELS
    ]
    before, after, target = (float(np.mean(image[model]["groups"])) for model in (sets.RAW, sets.TEMPERATURE, GROUPS))
    return Part(
        "targets",
        rows,
        [Table(heads, lines)],
        values={"before": f"{before:.3f}", "after": f"{after:.3f}", "target": f"{target:.3f}"},
    )
