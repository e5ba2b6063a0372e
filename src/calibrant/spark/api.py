"""Spark: sketches computed on the executors, and calibrators applied there. Can be imported without Spark."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, Literal

from ..errors import (
    ArgumentError,
    ColumnError,
    InputTypeError,
    MissingDependencyError,
    ShapeError,
)
from ..evaluation.measure import read_calibrator
from ..input.convert import _no_column, match_columns
from ..input.frames import class_names as column_classes
from ..input.frames import positive_last
from ..input.labels import class_names
from ..recalibration.base import Calibrator
from ..recalibration.choosing import Recalibration
from ..recalibration.persistence import to_text
from ..sketches.collection import Sketches
from ..util.version import __version__
from .executors import Columns, Partial, merge_partials

# Number of tasks that merge the sketches of the partitions, and thus the largest number of rows that reach the driver.
MERGERS = 16
PARTIAL = "partition int, state binary, error string"


def sketch(
    df: Any,
    *,
    label: str,
    prob: str | list[str],
    by: str | None = None,
    classes: Any = None,
    input: Literal["prob", "logit", "confidence"] = "prob",
    lenses: Iterable[str] | None = None,
    normalize: bool | float = False,
    clip: bool = False,
) -> Sketches:
    """Compute the sketches of a Spark DataFrame on the executors, in one pass.

    The result is identical, bit for bit, to that of `Sketches.of` on the same rows, and replaces labels and probabilities in the
    metrics of scores, `evaluate`, `assess`, `interval`, the figures and the report. Each partition is reduced to one row of bytes; tasks
    and finally the driver merge these rows.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Predictions.
    label : str
        Column of the labels: integers from 0, booleans, or names, which require `classes`.
    prob : str or list of str
        Column of the probability of the positive class; column of arrays or Spark vectors with one probability per class; list of
        columns, one per class; or a pattern such as ``"p_*"``. Columns that are numbered (``p_1, p_0``) or named after yes and no are
        matched by name unless `classes` is given, others by position.
    by : str, optional
        Column of groups; each group has sketches of its own.
    classes : sequence, optional
        Class names in the order of the probabilities.
    input : {"prob", "logit", "confidence"}, default "prob"
        What the columns `prob` hold.
    lenses : iterable of str, optional
        Lenses to keep a sketch of; see `Sketches.of`.
    normalize : bool or float, default False
        Whether to rescale each row of probabilities to sum to 1. A number leaves the rows as they are, and is the largest accepted
        deviation of a sum from 1; by default this follows the precision of the data.
    clip : bool, default False
        Whether to clip probabilities to [0, 1].

    Returns
    -------
    Sketches
        Sketches of all rows, and of each group.

    Raises
    ------
    ColumnError
        If a column does not exist.
    LabelError
        If labels are invalid; errors name the column, the partition and the row within it. Likewise `ProbabilityError` and
        `GroupError`.
    MissingDependencyError
        If calibrant is missing on the executors or has another version there.

    See Also
    --------
    apply : Apply a calibrator to a DataFrame.
    calibrant.scan : Sketches of files without Spark.

    Examples
    --------
    >>> df = spark.createDataFrame([(0, 0.1), (1, 0.4), (1, 0.8), (1, 0.9)], "y int, p double")  # doctest: +SKIP
    >>> import calibrant as cal
    >>> sketch(df, label="y", prob="p") == cal.Sketches.of([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])  # doctest: +SKIP
    True
    """
    _check_frame(df)
    columns = _columns_of(df, label, prob, by)
    if classes is None:
        columns = replace(columns, prob=_in_order(columns.prob, prob, range(len(columns.prob))))
    plan = {
        "columns": vars(columns),
        "classes": None if classes is None else class_names(classes, len(classes)),
        "lenses": None if lenses is None else tuple(lenses),
        "keywords": {"input": input, "normalize": normalize, "clip": clip},
    }
    # Spark would parse other names, such as those with dots.
    selected = df.select(*(_column(df, name).alias(f"c{index}") for index, name in enumerate(columns.names)))
    partials = selected.mapInArrow(_task("fill", plan), PARTIAL)
    merged = partials.repartition(MERGERS, "partition").mapInArrow(_task("merge", plan), PARTIAL)
    total = merge_partials(Partial.of_row(row.asDict()) for row in merged.collect())
    if total is None:
        raise ShapeError("df", "has no rows", "check the filter or table it came from")
    if total.error is not None:
        raise total.error
    assert total.sketches is not None
    return total.sketches


def apply(
    calibrator: Calibrator | Recalibration | str | os.PathLike[str],
    df: Any,
    *,
    prob: str | list[str],
    out: str = "calibrated",
    by: str | None = None,
) -> Any:
    """Add a column of calibrated probabilities to a Spark DataFrame.

    The result is lazy, as usual in Spark. Rows without a score get null; an invalid score fails the job.

    Parameters
    ----------
    calibrator : Calibrator, Recalibration or path-like
        Fitted calibrator, result of `recalibrate`, or path of a file written by `save`. It is sent to the executors as JSON.
    df : pyspark.sql.DataFrame
        Scores; all columns are kept.
    prob : str or list of str
        Columns of the scores, as in `sketch`: probabilities or logits, according to the calibrator. Columns named after the
        classes of the calibrator may be in any order.
    out : str, default "calibrated"
        Name of the new column: the probability of the positive class as a double, or an array with one probability per class.
    by : str, optional
        Column of groups, for calibrators that use groups.

    Returns
    -------
    pyspark.sql.DataFrame
        The DataFrame with the new column.

    Raises
    ------
    NotFittedError
        If the calibrator is not fitted.
    ColumnError
        If a column does not exist, or `out` does.
    ArgumentError
        If `by` is missing for a calibrator that uses groups, or given for another.

    See Also
    --------
    sketch : Sketches of a DataFrame.
    calibrant.save : Write a calibrator to a file.

    Examples
    --------
    >>> import calibrant as cal
    >>> df = spark.createDataFrame([(0.1,), (0.9,)], "p double")  # doctest: +SKIP
    >>> softer = cal.TemperatureScaling().fit([0.1, 0.2, 0.9, 0.8], [0, 1, 1, 0])  # doctest: +SKIP
    >>> [round(row.calibrated, 3) for row in apply(softer, df, prob="p").collect()]  # doctest: +SKIP
    [0.369, 0.631]
    """
    _check_frame(df)
    fitted = read_calibrator(calibrator)
    text = to_text(fitted)  # raises if it is not fitted
    columns = _columns_of(df, None, prob, by)
    columns = replace(columns, prob=_in_order(columns.prob, prob, fitted.classes_.tolist()))
    _check_calibrator(fitted, columns)
    if not isinstance(out, str) or out.lower() in [name.lower() for name in df.columns]:
        raise ColumnError(
            "out", f"must be the name of a new column; got {out!r}", "choose another, or drop the old one"
        )
    # Columns that Arrow cannot pass on directly are appended a second time in converted form.
    output_columns, indices = [df[_quote(name)] for name in df.columns], []
    for _, name in columns.roles:
        indices.append(df.columns.index(name) if _readable(df, name) else len(output_columns))
        if indices[-1] == len(output_columns):
            output_columns.append(_column(df, name).alias(f"calibrant {len(output_columns)}"))
    plan = {
        "columns": vars(columns),
        "calibrator": text,
        "places": tuple(indices),
        "width": len(df.columns),
        "out": out,
    }
    types = import_module("pyspark.sql.types")
    kind = types.DoubleType() if len(fitted.classes_) == 2 else types.ArrayType(types.DoubleType())
    return df.select(*output_columns).mapInArrow(_task("calibrate", plan), copy.deepcopy(df.schema).add(out, kind))


def _task(name: str, plan: dict[str, Any]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that runs on the executors. It is pickled by value and refers to plain values only, so that it can report a missing calibrant."""
    version = __version__

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import json

        try:
            import calibrant
            from calibrant.spark import executors as work
        except ImportError as error:
            problem = f"cannot be imported on the executors ({error})"
        else:
            if calibrant.__version__ == version:
                yield from getattr(work, name)(plan, batches)
                return
            problem = f"has version {calibrant.__version__} on the executors and {version} on the driver"
        state = [
            "MissingDependencyError",
            "calibrant",
            problem,
            "install the same calibrant on driver and executors",
            None,
        ]
        if "calibrator" in plan:
            raise ImportError(": ".join(map(str, state[1:3])) + f"; {state[3]}")
        import pyarrow as pa

        for _ in batches:
            pass
        yield pa.RecordBatch.from_arrays(
            [pa.array([-1], pa.int32()), pa.array([None], pa.binary()), pa.array([json.dumps(state)], pa.string())],
            names=["partition", "state", "error"],
        )

    return run


def _check_frame(df: Any) -> None:
    if not (hasattr(df, "mapInArrow") and hasattr(df, "schema")):
        raise InputTypeError("df", f"must be a Spark DataFrame; got {type(df).__name__}", "use Sketches.of for arrays")
    try:
        import_module("pyarrow")
    except ImportError:
        raise MissingDependencyError("pyarrow", "is not installed", "run pip install 'calibrant[spark]'") from None


def _columns_of(df: Any, label: str | None, prob: Any, by: str | None) -> Columns:
    """The requested columns, each of which must exist exactly once."""
    existing = list(df.columns)
    single = [(argument, name) for argument, name in (("label", label), ("by", by)) if name is not None]
    for argument, name in single:
        if not isinstance(name, str):
            raise ColumnError(argument, f"must be the name of a column; got {name!r}")
        if name not in existing:
            raise _no_column(argument, name, existing)
    is_list = isinstance(prob, (list, tuple)) and len(prob) > 0 and all(isinstance(name, str) for name in prob)
    if not (isinstance(prob, str) or is_list):
        raise ColumnError("prob", f"must be the name of a column, or a list of names; got {prob!r}")
    is_single = isinstance(prob, str) and prob in existing
    columns = [prob] if is_single else match_columns(existing, prob, "prob")
    if not is_single and len(columns) == 1:
        remedy = f"pass prob={columns[0]!r} if it is the probability of the positive class, or an array"
        raise ShapeError("prob", f"the single column {columns[0]!r} could be that of either class", remedy)
    for name in (*columns, *(name for _, name in single)):
        if existing.count(name) > 1:
            raise ColumnError("df", f"has two columns named {name!r}", "rename one of them")
    return Columns(label, tuple(columns), not is_single, by)


def _in_order(names: tuple[str, ...], prob: Any, classes: Sequence[Any]) -> tuple[str, ...]:
    """Score columns in the order of the classes after which they are named; otherwise, of two columns the positive one last."""
    pattern = prob if isinstance(prob, str) else ""
    file_classes = [str(name) for name in column_classes(list(names), pattern) or ()] if len(names) > 1 else []
    class_names = [str(name) for name in classes]
    if len(set(file_classes)) == len(file_classes) and set(file_classes) == set(class_names):
        return tuple(names[file_classes.index(name)] for name in class_names)
    return tuple(positive_last(list(names), pattern))


def _is_vector(kind: Any) -> bool:
    return type(kind).__name__ == "VectorUDT"


def _readable(df: Any, name: str) -> bool:
    """Whether Arrow passes a column on as numbers."""
    kind = df.schema[name].dataType
    return not _is_vector(kind) and "decimal" not in kind.simpleString()


def _column(df: Any, name: str) -> Any:
    """A column in a type that Python can read: vectors as arrays, decimals as doubles."""
    column, kind = df[_quote(name)], df.schema[name].dataType
    if _readable(df, name):
        return column
    if _is_vector(kind):
        return import_module("pyspark.ml.functions").vector_to_array(column)
    return column.cast("array<double>" if kind.typeName() == "array" else "double")


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _check_calibrator(calibrator: Calibrator, columns: Columns) -> None:
    """Raise if calibrator and columns do not match, before any row is read."""
    if calibrator.needs == "features":
        raise ArgumentError("calibrator", f"{type(calibrator).__name__} requires features, which are not supported")
    if (calibrator.needs == "groups") != (columns.by is not None):
        if columns.by is None:
            raise ArgumentError("by", f"is required by {type(calibrator).__name__}", "name the column of groups")
        raise ArgumentError("by", f"is not supported by {type(calibrator).__name__}", "drop by")
    if columns.spread and len(columns.prob) != len(calibrator.classes_):
        raise ShapeError(
            "prob", f"has {len(columns.prob)} columns; the calibrator was fitted on {len(calibrator.classes_)} classes"
        )
