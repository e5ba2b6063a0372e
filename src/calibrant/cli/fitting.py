"""``calibrant fit``, ``apply`` and ``select``: a map from validation rows, put to use, and a threshold with a promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..decision.thresholds import choose_threshold
from ..errors import ArgumentError
from ..evaluation.measure import calibrated
from ..input.predictions import Predictions
from ..recalibration.base import Calibrator
from ..recalibration.choosing import Recalibration, recalibrate
from ..recalibration.grouped import GroupedCalibrator
from ..recalibration.persistence import load as load_map
from ..recalibration.persistence import save
from ..sketches.files.columns import CALIBRATED, check_class_order, like_classes
from ..util.version import __version__
from .evaluating import like_labels, rows_of
from .screen import clean, in_options_here, print_json, print_lines, say, warnings_as_lines
from .source import split
from .tables import check_target, open_table

__all__ = ["apply_map", "check_apart", "fit_map", "read", "rows_in", "run_apply", "run_fit", "run_select"]


def read(file: str, **source: Any) -> Predictions:
    """Checked predictions from a file."""
    words = rows_of(file, source)
    return Predictions(words.pop("y_true"), words.pop("y_prob"), **words)


def fit_map(p: Predictions, *, method: str, loss: str, folds: int, seed: int) -> Recalibration:
    """The best of the maps named, fitted; it keeps the names of the classes."""
    names: Any = [name.strip() for name in method.split(",")]
    chosen = names[0] if len(names) == 1 else names
    return recalibrate(p, method=chosen, loss=loss, folds=folds, rng=seed)  # type: ignore[arg-type]


def rows_in(p: Predictions) -> int:
    """How many rows there are; one given with a count is so many."""
    return p.n if p.weight is None or p.weight_kind != "counts" else int(p.weight.sum())


def check_apart(out: str | Path, *inputs: str) -> None:
    """Raise where what is written would take the place of what is read."""
    target = Path(out)
    for name in inputs:
        if name != "-" and target.exists() and Path(name).exists() and target.samefile(name):
            raise ArgumentError("--out", f"would write over {name}, which is read", "name another file")


def run_fit(
    file: str,
    *,
    method: str,
    out: str,
    loss: str,
    folds: int,
    preprocessing: str | None,
    seed: int,
    as_json: bool,
    **source: Any,
) -> None:
    """Fit, print the candidates, write the map."""
    check_apart(out, file)
    with warnings_as_lines():
        p = read(file, **source)
        found = fit_map(p, method=method, loss=loss, folds=folds, seed=seed)
        path = save(found.map, out, preprocessing=preprocessing)
    if as_json:
        print_json({"calibrant": __version__, "file": file, **found.to_dict(), "map": str(path)})
        return
    print_lines(repr(found).split("\n"))
    print_lines(
        [
            "",
            f"wrote {path}: {type(found.map).__name__}, fitted on {rows_in(p):,} rows{_classes_of(p)}",
            _next_step(found, out),
        ]
    )


def _classes_of(p: Predictions) -> str:
    """Which class is positive, where two have names."""
    named = p.kind == "binary" and p.classes is not None and [str(name) for name in p.classes] != ["0", "1"]
    return f"; positive class {p.classes[1]}" if named and p.classes is not None else ""


def _next_step(found: Recalibration, out: str) -> str:
    if found.method == "none":
        return "it leaves probabilities as they are"
    return f"measure it on other rows: calibrant apply {out} TEST --out calibrated.parquet"


def apply_map(
    map: Calibrator,
    file: str,
    out: str,
    **source: Any,
) -> tuple[Path, int]:
    """Write the rows of a file with calibrated columns; gives where, and how many rows."""
    _check_not_grouped(map)
    check_target(out)
    columns, given = split(source)
    classes, checks = given.get("classes"), {name: given.get(name, False) for name in ("normalize", "clip")}
    place = given.get("where"), given.get("format"), given.get("table")
    with open_table(file, columns, *place, to_write=True) as opened:
        words = opened.words()
        if classes is not None:
            named = [name.strip() for name in classes.split(",")]
            check_class_order(named, words.get("classes", ()), "--classes")
            words["classes"] = like_labels(named, map.classes_)
        elif "classes" in words:
            words["classes"] = like_classes(words["classes"], map.classes_.tolist())
        rows = len(words["y_prob"])
        # Nothing is asked of the labels, so any label will do.
        labels = np.zeros(rows, np.int64) if "classes" not in words else np.full(rows, words["classes"][0])
        p = Predictions(labels, words.pop("y_prob"), **checks, **words)
        _check_kind(map, p)
        return opened.write(out, calibrated(p, map).probs), rows


def _check_not_grouped(map: Calibrator) -> None:
    if isinstance(map, GroupedCalibrator):
        problem = f"is a {type(map).__name__}, which asks for the group of each row"
        raise ArgumentError("map", problem, "apply it in Python: calibrant.load(file).predict_proba(scores, groups)")


def _check_kind(map: Calibrator, p: Predictions) -> None:
    """Say it in the words of the command line."""
    if len(map.classes_) != p.k:
        problem = f"was fitted on {len(map.classes_)} classes, and the file has {p.k}"
        raise ArgumentError("map", problem, "name the score columns with --probs, or fit a map for these")
    if map.input == "logit" and p.logits is None:
        raise ArgumentError("map", "was fitted on logits, and these are probabilities", "name logits with --logits")


def run_apply(map: str, file: str, *, out: str, preprocessing: str | None, **source: Any) -> None:
    """Apply a map from a file to the rows of another, and say where they are."""
    check_apart(out, file, map)
    fitted = load_map(map, preprocessing=preprocessing)
    with warnings_as_lines():
        path, rows = apply_map(fitted, file, out, **source)
    print_lines([f"wrote {path}: {rows:,} rows with calibrated probabilities by {type(fitted).__name__}"])
    print_lines([f"with labels, measure them: calibrant evaluate {path} --probs '*{CALIBRATED}'"])


def run_select(
    file: str,
    *,
    accuracy: float | None,
    coverage: float | None,
    cost: tuple[float, float] | None,
    confidence_level: float,
    method: str | None,
    confidence_column: str | None,
    lens: str | None,
    as_json: bool,
    map: str | None = None,
    **source: Any,
) -> bool:
    """Choose a threshold and print it; true when none can be promised."""
    p = read(file, confidence=confidence_column, **source)
    if map is not None:
        with warnings_as_lines():
            p = calibrated(p, map)
    chosen = choose_threshold(
        p,
        accuracy=accuracy,
        coverage=coverage,
        cost={"error": cost[0], "review": cost[1]} if cost else None,
        confidence_level=confidence_level,
        method=method,  # type: ignore[arg-type]
        lens=lens,
    )
    if as_json:
        print_json({"calibrant": __version__, "file": file, **chosen.to_dict()})
    else:
        print_lines([in_options_here(line) for line in repr(chosen).split("\n")])
    if chosen.threshold is None:
        say(clean(f"no threshold was found for {chosen.target}"), err=True)
    return chosen.threshold is None
