"""For Spark: sketches filled where the rows lie, and maps applied there. Imported only when asked for; needs no Spark to import."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, Literal

import numpy as np

from ..errors import (
    ArgumentError,
    ColumnError,
    Drop,
    InputTypeError,
    LabelError,
    MissingDependencyError,
    ShapeError,
    Use,
    WeightError,
)
from ..input.convert import _no_column, match_columns
from ..input.frames import class_names as column_classes
from ..input.frames import positive_last
from ..input.labels import class_names
from ..input.predictions import Predictions
from ..recalibration.base import Calibrator
from ..recalibration.choosing import Recalibration
from ..recalibration.grouped import GroupedCalibrator
from ..recalibration.persistence import load
from ..sketches.collection import Sketches
from ..util.version import __version__
from .executors import Columns, Partial, added, map_text

__all__ = ["apply", "sketch"]

# So many tasks add up what the partitions left, and so many rows reach the driver at most, however many partitions there are.
MERGERS = 16
PARTIAL = "partition int, state binary, error string"

# What Spark's reader of Parquet says where files disagree.
DRIFT = re.compile(r"reading file (\S+)\. .*? column \[(.+?)\]\. Expected Spark type (\w+), actual Parquet type (\w+)")
WHOLE = ("byte", "short", "integer", "long")
REAL = ("float", "double", "decimal")
TEXT = ("string", "char", "varchar")


def sketch(
    df: Any,
    *,
    label: str,
    prob: str | list[str],
    by: str | None = None,
    counts: str | None = None,
    classes: Any = None,
    input: Literal["prob", "logit", "confidence"] = "prob",
    lenses: Iterable[str] | None = None,
    scores: bool = True,
    normalize: bool = False,
    clip: bool = False,
    sum_tolerance: float | None = None,
) -> Sketches:
    """The sketches of all rows of a Spark DataFrame, in one pass; bit for bit those of `Sketches.of` on the same rows.

    Each partition is read where it lies and leaves one row of bytes. Tasks add these up, and the driver adds what they leave.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The rows.
    label
        The column of labels: whole numbers from 0, booleans, or names, which need `classes`.
    prob
        One column with the probability of the positive class; one column with an array (or a vector of Spark's own) of a
        probability for each class; or a list of columns, one for each class, or a pattern such as ``"p_*"``. Columns that are
        numbered (``p_1, p_0``) or named after yes and no are read by name unless `classes` is given, others in their order.
    by
        A column of groups, each of which gets its own sketches.
    counts
        A column that says how many rows each stands for.
    classes
        Names of the classes, in the order of the probabilities.
    input, normalize, clip, sum_tolerance
        As in `Predictions`.
    lenses, scores
        As in `Sketches.of`.

    Examples
    --------
    >>> df = spark.createDataFrame([(0, 0.1), (1, 0.4), (1, 0.8), (1, 0.9)], "y int, p double")  # doctest: +SKIP
    >>> import calibrant as cal
    >>> sketch(df, label="y", prob="p") == cal.Sketches.of([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])  # doctest: +SKIP
    True
    """
    _check_frame(df)
    columns = _columns_of(df, label, prob, by, counts)
    if classes is None:
        columns = replace(columns, prob=_in_order(columns.prob, prob, range(len(columns.prob))))
    _check_types(df, columns, classes is not None)
    classes = list(classes) if isinstance(classes, Iterator) else classes
    plan = {
        "columns": vars(columns),
        "classes": None
        if classes is None
        else class_names(classes, len(classes) if hasattr(classes, "__len__") else 0),
        "lenses": None if lenses is None else tuple(lenses),
        "scores": bool(scores),
        "words": {"input": input, "normalize": normalize, "clip": clip, "sum_tolerance": sum_tolerance},
    }
    _check_plan(df, columns, plan)
    chosen = df.select(*(_column(df, name).alias(f"c{place}") for place, (_, name) in enumerate(columns.roles)))
    partials = chosen.mapInArrow(_task("fill", plan), PARTIAL)
    merged = partials.repartition(MERGERS, "partition").mapInArrow(_task("merge", plan), PARTIAL)
    return _whole(_collected(merged), columns)


def apply(
    calibrator: Calibrator | Recalibration | str | os.PathLike[str],
    df: Any,
    *,
    prob: str | list[str],
    out: str = "calibrated",
    by: str | None = None,
) -> Any:
    """The DataFrame with one column more: the probabilities that a fitted map gives.

    It is lazy, as everything in Spark: rows are mapped when they are asked for. A row without a score gets null; a score that is
    no probability stops the job.

    Parameters
    ----------
    map
        A fitted map, what `recalibrate` returns, or the path of a file written by `save`. It travels as that file's text.
    df : pyspark.sql.DataFrame
        The rows; all columns are kept.
    prob
        The column or columns of scores, as in `sketch`; columns named after the classes of the map may come in any order. The map
        knows whether they are probabilities or logits.
    out
        Name of the new column: the probability of the positive class as a double, or an array of one for each class.
    by
        The column of groups, for maps that ask for them.

    Examples
    --------
    >>> import calibrant as cal
    >>> df = spark.createDataFrame([(0.1,), (0.9,)], "p double")  # doctest: +SKIP
    >>> softer = cal.TemperatureScaling().fit([0.1, 0.2, 0.9, 0.8], [0, 1, 1, 0])  # doctest: +SKIP
    >>> [round(row.calibrated, 3) for row in apply(softer, df, prob="p").collect()]  # doctest: +SKIP
    [0.369, 0.631]
    """
    _check_frame(df)
    fitted = _fitted(calibrator)
    text = map_text(fitted)  # which says where it is not fitted
    columns = _columns_of(df, None, prob, by, None)
    columns = replace(columns, prob=_in_order(columns.prob, prob, fitted.classes_.tolist()))
    _check_types(df, columns, False)
    _check_map(fitted, columns)
    if not isinstance(out, str) or out.lower() in [name.lower() for name in df.columns]:
        raise ColumnError(
            "out", f"must be the name of a new column; got {out!r}", "choose another, or drop the old one"
        )
    # What Python cannot read as it is comes a second time, converted, behind the other columns.
    shown, places = [df[_quoted(name)] for name in df.columns], []
    for _, name in columns.roles:
        places.append(df.columns.index(name) if _readable(df, name) else len(shown))
        if places[-1] == len(shown):
            shown.append(_column(df, name).alias(f"calibrant {len(shown)}"))
    plan = {
        "columns": vars(columns),
        "calibrator": text,
        "places": tuple(places),
        "width": len(df.columns),
        "out": out,
    }
    types = import_module("pyspark.sql.types")
    kind = types.DoubleType() if len(fitted.classes_) == 2 else types.ArrayType(types.DoubleType())
    return df.select(*shown).mapInArrow(_task("calibrate", plan), copy.deepcopy(df.schema).add(out, kind))


def _task(name: str, plan: dict[str, Any]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What runs on the executors. It travels by value and holds plain values only, so that it can say what is missing there."""
    version = __version__

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import json

        try:
            import calibrant
            from calibrant.spark import executors as work
        except ImportError as error:
            found = f"cannot be imported on the executors ({error})"
        else:
            if calibrant.__version__ == version:
                yield from getattr(work, name)(plan, batches)
                return
            found = f"has version {calibrant.__version__} on the executors and {version} on the driver"
        said = [
            "MissingDependencyError",
            "calibrant",
            found,
            "install the same calibrant on driver and executors",
            None,
        ]
        if "calibrator" in plan:
            raise ImportError(": ".join(map(str, said[1:3])) + f"; {said[3]}")
        import pyarrow as pa

        for _ in batches:
            pass
        yield pa.RecordBatch.from_arrays(
            [pa.array([-1], pa.int32()), pa.array([None], pa.binary()), pa.array([json.dumps(said)], pa.string())],
            names=["partition", "state", "error"],
        )

    return run


def _collected(merged: Any) -> list[Any]:
    try:
        return list(merged.collect())
    except Exception as error:
        raise _explained(error) or error from None


def _explained(error: Exception) -> Exception | None:
    """In one line what Spark says in a hundred where a file's column is of another type; None for anything else."""
    found = DRIFT.search(str(error))
    if found is None:
        return None
    file, column, wanted, came = found.groups()
    problem = f"has type {wanted} in the schema and {came.lower()} in {file}"
    return ColumnError(
        f"df (column {column!r})", problem, "read the files with a schema of the wider type, spark.read.schema(...)"
    )


def _whole(rows: list[Any], columns: Columns) -> Sketches:
    """What the rows that reached the driver add up to."""
    total = added(Partial.of_row(row.asDict()) for row in rows)
    if total is None:
        if columns.counts is not None:
            raise WeightError(columns.shown("counts"), "all counts are zero", "check the filter or table it came from")
        raise ShapeError("df", "is empty; at least one row is required", "check the filter or table it came from")
    if total.error is not None:
        raise total.error
    assert total.sketches is not None
    return total.sketches


def _check_frame(df: Any) -> None:
    if not (hasattr(df, "mapInArrow") and hasattr(df, "schema")):
        raise InputTypeError("df", f"must be a Spark DataFrame; got {type(df).__name__}", "use Sketches.of for arrays")
    try:
        import_module("pyarrow")
    except ImportError:
        raise MissingDependencyError("pyarrow", "is not installed", "run pip install 'calibrant[spark]'") from None


def _columns_of(df: Any, label: str | None, prob: Any, by: str | None, counts: str | None) -> Columns:
    """The columns asked for, each of which must be there once."""
    existing = list(df.columns)
    single = [
        (argument, name) for argument, name in (("label", label), ("by", by), ("counts", counts)) if name is not None
    ]
    for argument, name in single:
        if not isinstance(name, str):
            raise ColumnError(argument, f"must be the name of a column; got {name!r}")
        if name not in existing:
            raise _no_column(argument, name, existing)
    listed = isinstance(prob, (list, tuple)) and len(prob) > 0 and all(isinstance(name, str) for name in prob)
    if not (isinstance(prob, str) or listed):
        raise ColumnError("prob", f"must be the name of a column, or a list of names; got {prob!r}")
    one = isinstance(prob, str) and prob in existing
    found = [prob] if one else match_columns(existing, prob, "prob")
    if not one and len(found) == 1:
        remedy = f"pass prob={found[0]!r} if it is the probability of the positive class, or an array"
        raise ShapeError("prob", f"the single column {found[0]!r} could be that of either class", remedy)
    for name in (*found, *(name for _, name in single)):
        if existing.count(name) > 1:
            raise ColumnError("df", f"has two columns named {name!r}", "rename one of them")
    return Columns(label, tuple(found), not one, by, counts)


def _in_order(names: tuple[str, ...], prob: Any, classes: Sequence[Any]) -> tuple[str, ...]:
    """Score columns in the order of the classes that they are named after; of two others the positive one last, as yes beside no."""
    pattern = prob if isinstance(prob, str) else ""
    own = [str(name) for name in column_classes(list(names), pattern) or ()] if len(names) > 1 else []
    known = [str(name) for name in classes]
    if len(set(own)) == len(own) and set(own) == set(known):
        return tuple(names[own.index(name)] for name in known)
    return tuple(positive_last(list(names), pattern))


def _check_types(df: Any, columns: Columns, named: bool) -> None:
    """Raise where a column cannot hold what it is said to; what its values are is looked at where they lie."""
    for argument, name in columns.roles:
        kind = df.schema[name].dataType
        word = kind.elementType.typeName() if argument == "prob" and _is_array(kind, columns) else kind.typeName()
        if argument == "label" and word in TEXT and not named:
            # The distinct labels would tell the names, but not which of the probabilities is whose.
            raise LabelError(
                f"label (column {name!r})",
                "the labels are text, and the classes are not named",
                Use("classes", None, "in the order of the probabilities"),
            )
        allowed = {"prob": (*REAL, *WHOLE), "counts": (*REAL, *WHOLE), "label": (*REAL, *WHOLE, *TEXT, "boolean")}
        if word in allowed.get(argument, (*WHOLE, *TEXT, "float", "double", "boolean", "date")):
            continue
        if argument == "prob" and not columns.spread and _is_vector(kind):
            continue
        remedy = "cast it to string" if argument == "by" else "name the column that does"
        holds = {"prob": "probabilities", "counts": "counts", "label": "labels"}.get(argument, "names of groups")
        raise InputTypeError(
            f"{argument} (column {name!r})", f"has type {kind.simpleString()}, which cannot hold {holds}", remedy
        )


def _is_array(kind: Any, columns: Columns) -> bool:
    return not columns.spread and kind.typeName() == "array"


def _is_vector(kind: Any) -> bool:
    return type(kind).__name__ == "VectorUDT"


def _readable(df: Any, name: str) -> bool:
    """Whether Arrow hands a column over as numbers."""
    kind = df.schema[name].dataType
    return not _is_vector(kind) and "decimal" not in kind.simpleString()


def _column(df: Any, name: str) -> Any:
    """A column as Python reads it: vectors as arrays, decimals as doubles."""
    column, kind = df[_quoted(name)], df.schema[name].dataType
    if _readable(df, name):
        return column
    if _is_vector(kind):
        return import_module("pyspark.ml.functions").vector_to_array(column)
    return column.cast("array<double>" if kind.typeName() == "array" else "double")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _check_plan(df: Any, columns: Columns, plan: dict[str, Any]) -> None:
    """Try classes, lenses and words on one row made up here, so that no job starts with wrong ones."""
    kind, names = df.schema[columns.prob[0]].dataType, plan["classes"]
    lenses, many = plan["lenses"], columns.spread
    if columns.spread:
        k = len(columns.prob)
    elif _is_vector(kind) or _is_array(kind, columns):
        # How many classes arrays without names have is known when they are read.
        k, many, lenses = (2, True, None) if names is None else (len(names), True, lenses)
    else:
        k = 2
    row = np.full((1, k), 1 / k) if many else np.full(1, 0.5)
    predictions = Predictions([0], row, **plan["words"])
    predictions.classes = class_names(names, k)
    Sketches.of(predictions, lenses=lenses, scores=False)


def _fitted(calibrator: Any) -> Calibrator:
    if isinstance(calibrator, (str, os.PathLike)):
        return load(calibrator)
    if isinstance(calibrator, Recalibration):
        return calibrator.calibrator
    if not isinstance(calibrator, Calibrator):
        raise InputTypeError(
            "calibrator", f"must be a fitted calibrator or the path of a saved one; got {type(calibrator).__name__}"
        )
    return calibrator


def _check_map(calibrator: Calibrator, columns: Columns) -> None:
    """Raise where it is plain before any row is read that map and columns do not fit."""
    if isinstance(calibrator, GroupedCalibrator) != (columns.by is not None):
        if columns.by is None:
            raise ArgumentError("by", f"is required by {type(calibrator).__name__}", "name the column of groups")
        raise ArgumentError("by", f"is not supported by {type(calibrator).__name__}", Drop("by"))
    if columns.spread and len(columns.prob) != len(calibrator.classes_):
        raise ShapeError(
            "prob", f"has {len(columns.prob)} columns; the calibrator was fitted on {len(calibrator.classes_)} classes"
        )
