"""``calibrant fit``, ``apply`` and ``select``: fit a calibrator on validation data, apply it, and choose a threshold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from ..decision.thresholds import choose_threshold
from ..errors import ArgumentError
from ..evaluation.header import positive_class
from ..evaluation.measure import calibrate_predictions
from ..input.missing import Dropped
from ..input.predictions import Predictions
from ..recalibration.base import Calibrator
from ..recalibration.choosing import Recalibration, recalibrate
from ..recalibration.exporting import Target, export
from ..recalibration.persistence import load as load_map
from ..recalibration.persistence import save
from ..sketches.collection import Sketches
from ..sketches.files.columns import check_class_order, like_classes
from ..util.results import several
from ..util.version import __version__
from . import options
from .config import is_configured
from .rows import is_sketch
from .screen import clean, print_json, print_lines, say
from .source import Source, like_labels
from .streaming import read as read_sketches
from .tables import check_target, open_table


def fit_calibrator(
    p: Predictions | Sketches,
    *,
    method: str,
    loss: str,
    folds: int,
    seed: int,
    lens: str | None = None,
) -> Recalibration:
    """Fit the best of the methods named; the calibrator keeps the names of the classes."""
    names: Any = [name.strip() for name in method.split(",")]
    chosen = names[0] if len(names) == 1 else names
    return recalibrate(p, method=chosen, loss=loss, folds=folds, rng=seed, lens=lens)


def rows_in(p: Predictions) -> int:
    """The number of observations; a row with a count represents several."""
    return p.n if p.weight is None or p.weight_kind != "counts" else int(p.weight.sum())


@options.command("fit")
@options.source_options(options.class_score_options)
@options.fit_options
@click.option(
    "--lens",
    help="Event to calibrate in place of all classes: class:NAME, top_label, within_top:K or band:LOW,HIGH.",
)
@options.written_option(
    "--out", kind="a calibrator", default="calibrator.json", show_default=True, help="Where to write the calibrator."
)
@options.preprocessing_option
@options.seed_option
@options.json_option
@options.debug_option
def run_fit(file: str, *, out: str, preprocessing: str | None, as_json: bool, **options: Any) -> None:
    """Fit the calibrator with the lowest cross-validated loss on FILE and write it.

    FILE contains validation data: neither the training data of the model nor the data on which it will be evaluated. A .sketch file of two
    classes holds enough.
    """
    source = Source.take(file, options)
    p = source.read() if not is_sketch(file) else read_sketches((file,), source)
    fitted = fit_calibrator(p, **options)
    path = save(fitted.calibrator, out, preprocessing=preprocessing)
    if as_json:
        print_json({"calibrant": __version__, "file": file, **fitted.to_dict(), "calibrator": str(path)})
        return
    print_lines(repr(fitted).split("\n"))
    positive = positive_class(p) if isinstance(p, Predictions) else ""
    classes = f"; positive class {positive}" if positive else ""
    print_lines(
        [
            "",
            f"Wrote {path}: {type(fitted.calibrator).__name__}, fitted on {fitted.n:,} rows{classes}.",
            *(["It leaves the probabilities unchanged."] if fitted.method == "none" else []),
        ]
    )


def apply_calibrator(calibrator: Calibrator, source: Source, out: str) -> tuple[Path, int, Dropped | None]:
    """Write the rows of a file with calibrated columns; returns the path, the number of rows, and those dropped for missing scores."""
    check_target(out)
    classes = source.classes
    with open_table(source, to_write=True, label_required=not is_configured("label")) as opened:
        dropped = opened.drop_missing() if source.drop_missing else None
        keywords = opened.keywords()
        if classes is not None:
            named = [name.strip() for name in classes.split(",")]
            check_class_order(named, keywords.get("classes", ()), "--classes")
            keywords["classes"] = like_labels(named, calibrator.classes_)
        elif "classes" in keywords:
            keywords["classes"] = like_classes(keywords["classes"], calibrator.classes_.tolist())
        rows = len(keywords["y_prob"])
        _check_calibrator(calibrator, keywords)
        keywords |= {"normalize": source.normalize, "clip": source.clip, "multilabel": not calibrator.exclusive}
        p = Predictions.unlabelled(missing="raise" if dropped is None else dropped, **keywords)
        path = opened.write(out, calibrate_predictions(p, calibrator).probs)
        return path, rows, dropped


def _check_calibrator(calibrator: Calibrator, keywords: dict[str, Any]) -> None:
    """Raise if the calibrator does not match the scores, before their sums are checked."""
    if calibrator.needs:
        what = "group" if calibrator.needs == "groups" else calibrator.needs
        problem = f"a {type(calibrator).__name__} requires the {what} of each row"
        raise ArgumentError("calibrator", problem, f"apply it in Python, with {calibrator.needs}")
    shape, known = np.shape(keywords["y_prob"]), calibrator.classes_.tolist()
    k = shape[1] if len(shape) == 2 and shape[1] > 1 else 2
    if k != len(known):
        missing = [str(name) for name in known if name not in keywords.get("classes", known)]
        named = f"no column for {', '.join(missing)}" if missing else f"columns for {k}"
        problem = f"was fitted on the classes {', '.join(map(str, known))}, and the file has {named}"
        remedy = "name a column for each class with --probs, or fit another calibrator"
        raise ArgumentError("calibrator", problem, remedy)


@options.command("apply")
@click.argument("calibrator")
@click.argument("file")
@options.written_option("--out", kind="a table", required=True, help="Where to write the rows: .parquet, .csv or .tsv.")
@options.label_option
@options.class_score_options
@options.where_option
@options.classes_option
@options.file_options
@options.preprocessing_option
@options.debug_option
def run_apply(calibrator: str, file: str, *, out: str, preprocessing: str | None, **source: Any) -> None:
    """Apply the CALIBRATOR written by fit to the rows of FILE.

    Each column of scores p gets a column p_calibrated next to it. Labels are not required.
    """
    fitted = load_map(calibrator, preprocessing=preprocessing)
    path, rows, dropped = apply_calibrator(fitted, Source.take(file, source), out)
    print_lines([] if dropped is None else [str(dropped)])
    print_lines([f"Wrote {path}: {several(rows, 'row')} with probabilities calibrated by {type(fitted).__name__}."])


@options.command("export")
@click.argument("calibrator")
@click.option("--to", required=True, type=click.Choice(["sql", "python", "onnx"]), help="Format.")
@options.written_option("--out", required=True, help="Where to write it.")
@click.option("--table", metavar="TABLE", help="Table that the SQL query reads; predictions by default.")
@click.option(
    "--prob",
    "--probs",
    "probs",
    metavar="COLUMNS",
    help="Comma-separated columns of the scores in the SQL query, or a pattern such as 'p_*', in which the star stands for each class; p by default.",
)
@click.option("--keep", metavar="COLUMNS", help="Comma-separated columns that the SQL query returns too.")
@click.option("--dialect", type=click.Choice(["duckdb", "postgres"]), help="Dialect of SQL; duckdb by default.")
@options.debug_option
def run_export(calibrator: str, *, to: Target, out: str, **options: str | None) -> None:
    """Write the CALIBRATOR of fit for use without calibrant: as an SQL query, a Python module or an ONNX model."""
    keywords: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if to != "sql" and keywords:
        raise ArgumentError(f"--{next(iter(keywords))}", "is an option of --to sql", "drop it")
    fitted = load_map(calibrator)
    for name in {"probs", "keep"} & set(keywords):
        keywords[name] = [column.strip() for column in keywords[name].split(",")]
    if "probs" in keywords:
        columns = keywords.pop("probs")
        is_pattern = len(columns) == 1 and "*" in columns[0]
        keywords["prob"] = [columns[0].replace("*", str(name)) for name in fitted.classes_] if is_pattern else columns
    path = export(fitted, out, to=to, **keywords)
    print_lines([f"Wrote {path}."])


@options.command("select")
@options.source_options(options.score_options)
@click.option("--accuracy", type=float, metavar="SHARE", help="Minimum accuracy of the accepted predictions.")
@click.option(
    "--coverage", type=float, metavar="SHARE", help="Minimum share of accepted predictions, in place of --accuracy."
)
@options.guarantee_option
@click.option(
    "--method",
    type=click.Choice(["sequence", "conformal", "bonferroni", "sgr"]),
    help="How the threshold is chosen; sequence by default.",
)
@click.option("--lens", help="What is accepted: top_label (default), class:NAME, ...")
@options.calibrator_option
@options.json_option
@options.debug_option
def run_select(file: str, *, calibrator: str | None, as_json: bool, **options: Any) -> bool:
    """Choose a confidence threshold for accepting predictions, with a guaranteed accuracy or coverage.

    Neither the model nor its calibrator may have been fitted on FILE. Exits with 1 if no threshold satisfies the guarantee.
    """
    p = Source.take(file, options).read()
    if calibrator is not None:
        p = calibrate_predictions(p, calibrator)
    chosen = choose_threshold(p, **options)
    if as_json:
        print_json({"calibrant": __version__, "file": file, **chosen.to_dict()})
    else:
        print_lines(repr(chosen).split("\n"))
    if chosen.threshold is None:
        say(clean(f"no threshold found for {chosen.target}"), err=True)
    return chosen.threshold is None
