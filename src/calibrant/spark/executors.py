"""Functions that run on Spark executors: sketch a partition, merge sketches, apply a calibrator. They use Spark only for the partition number."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import errors
from ..errors import (
    CalibrantError,
    GroupError,
    LabelError,
    ProbabilityError,
    ShapeError,
    WeightError,
    keep_alternatives,
)
from ..input.convert import missing_values
from ..input.labels import _from_names, class_names
from ..input.predictions import Predictions
from ..recalibration.base import Calibrator
from ..recalibration.grouped import GroupedCalibrator, _Rows
from ..recalibration.persistence import MOST_BYTES, load, save
from ..sketches.collection import Sketches
from ..util.files import read_limited, write_atomic
from ..util.temporary import temporary_folder

Array = NDArray[Any]

# Batches are combined up to this number of probabilities, so that few sketches are merged and memory is bounded.
CHUNK_ENTRIES = 1 << 20
# Arguments of `Predictions` that the functions for Spark do not have.
UNAVAILABLE = re.compile(r"\b(soft|multilabel|pos_label)\b")


@dataclass(frozen=True)
class Columns:
    """Names of the columns and their roles."""

    label: str | None
    prob: tuple[str, ...]
    spread: bool
    """Whether each class has a column of its own."""
    by: str | None
    counts: str | None

    @property
    def roles(self) -> list[tuple[str, str]]:
        """The argument and the name of each column, in the order in which they are sent."""
        found = [
            ("label", self.label),
            *(("prob", name) for name in self.prob),
            ("by", self.by),
            ("counts", self.counts),
        ]
        return [(argument, name) for argument, name in found if name is not None]

    def shown(self, argument: str) -> str:
        """An argument with its columns, for messages."""
        names = [name for role, name in self.roles if role == argument]
        if len(names) < 2:
            return f"{argument} (column {names[0]!r})" if names else argument
        return f"{argument} (columns {names[0]!r} to {names[-1]!r})"


@dataclass(frozen=True)
class Partial:
    """Result of one or more partitions: sketches or an error, with the lowest partition number."""

    partition: int
    sketches: Sketches | None = None
    error: CalibrantError | None = None

    def plus(self, other: Partial) -> Partial:
        """Merge two results; an error is kept, of two errors that of the lowest partition."""
        first, second = sorted((self, other), key=lambda part: part.partition)
        if first.error is not None or second.error is not None:
            return first if first.error is not None else second
        assert first.sketches is not None
        assert second.sketches is not None
        if first.sketches.classes != second.sketches.classes:
            counts = [len(part.sketches.classes) for part in (first, second) if part.sketches is not None]
            problem = f"arrays have {counts[1]} entries in partition {second.partition} and {counts[0]} in partition {first.partition}"
            return Partial(second.partition, error=ShapeError("prob", problem, "give every row one entry per class"))
        return Partial(first.partition, first.sketches.merge(second.sketches))

    def batch(self) -> Any:
        """The result as an Arrow batch of one row."""
        import pyarrow as pa

        state = None if self.sketches is None else self.sketches.to_bytes()
        said = None
        if self.error is not None:
            e = self.error
            said = json.dumps([type(e).__name__, e.argument, e.problem, e.remedy, e.row, e.column, e.count, e.source])
        columns = [
            pa.array([self.partition], pa.int32()),
            pa.array([state], pa.binary()),
            pa.array([said], pa.string()),
        ]
        return pa.RecordBatch.from_arrays(columns, names=["partition", "state", "error"])

    @classmethod
    def of_row(cls, row: dict[str, Any]) -> Self:
        """Read a row written by `batch`."""
        if row["error"] is None:
            return cls(row["partition"], Sketches.from_bytes(bytes(row["state"]), f"partition {row['partition']}"))
        kind, argument, problem, remedy, *place = json.loads(row["error"])
        location = dict(zip(("row", "column", "count", "source"), place, strict=False))
        return cls(row["partition"], error=getattr(errors, kind)(argument, problem, remedy, **location))


def added(parts: Iterable[Partial]) -> Partial | None:
    """Merge all results; None if there are none."""
    total = None
    for part in parts:
        total = part if total is None else total.plus(part)
    return total


def fill(plan: dict[str, Any], batches: Iterator[Any]) -> Iterator[Any]:
    """Sketch a partition: one row, or none if the partition is empty."""
    columns, partition = Columns(**plan["columns"]), _partition()
    total, before = None, 0
    for table in _chunks(batches):
        if total is not None and total.error is not None:
            continue  # Spark expects a task to read all its input
        try:
            known = None if total is None or total.sketches is None else len(total.sketches.classes)
            part = _sketched(plan, columns, table, known)
            found = None if part is None else Partial(partition, part)
        except CalibrantError as error:
            found = Partial(partition, error=located(error, columns, partition, before))
        if found is not None:
            total = found if total is None else total.plus(found)
        before += table.num_rows
    if total is not None:
        yield total.batch()


def merge(plan: dict[str, Any], batches: Iterator[Any]) -> Iterator[Any]:
    """Merge the results of partitions into one row."""
    total = added(Partial.of_row(row) for batch in batches for row in batch.to_pylist())
    if total is not None:
        yield total.batch()


def calibrate(plan: dict[str, Any], batches: Iterator[Any]) -> Iterator[Any]:
    """Add the column of calibrated probabilities to each batch."""
    import pyarrow as pa

    columns, partition, before = Columns(**plan["columns"]), _partition(), 0
    calibrator, width = _calibrator_of(plan["calibrator"]), plan["width"]
    for batch in batches:
        try:
            new = _calibrated(calibrator, columns, [batch.column(place) for place in plan["places"]])
        except CalibrantError as error:
            raise located(error, columns, partition, before) from None
        names = [*batch.schema.names[:width], plan["out"]]
        yield pa.RecordBatch.from_arrays([*batch.columns[:width], new], names=names)
        before += batch.num_rows


def _partition() -> int:
    from importlib import import_module

    context = import_module("pyspark").TaskContext.get()
    return -1 if context is None else int(context.partitionId())


def _chunks(batches: Iterable[Any]) -> Iterator[Any]:
    """Tables of bounded size that hold the rows of all batches."""
    import pyarrow as pa

    held: list[Any] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            size += batch.nbytes // 8
        if size >= CHUNK_ENTRIES:
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)


def _by_role(arrays: Iterable[Any], columns: Columns) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for (argument, _), array in zip(columns.roles, arrays, strict=True):
        found.setdefault(argument, []).append(array)
    return found


def _sketched(plan: dict[str, Any], columns: Columns, table: Any, known: int | None) -> Sketches | None:
    """The sketches of a table, with `known` classes if rows came before; None if all counts are 0."""
    arrays = _by_role((column.combine_chunks() for column in table.columns), columns)
    named = plan["classes"] is not None
    probs = _scores(arrays["prob"], columns.spread, len(plan["classes"]) if named else known, named)
    k = 2 if probs.ndim == 1 else probs.shape[1]
    names = class_names(plan["classes"], k)
    keywords, counted = dict(plan["keywords"]), True
    if columns.counts is not None:
        keywords["counts"] = _values(arrays["counts"][0], "counts", WeightError)
        counted = bool(keywords["counts"].any())
        if not counted:
            del keywords["counts"]  # the rows are still validated
    predictions = Predictions.derived(_labels(arrays["label"][0], names, k), probs, **keywords)
    # Names are looked up once for each chunk, not for each row, so that Predictions sees numbers.
    predictions.classes = names
    if columns.by is not None:
        codes, predictions.group_names = _groups(arrays["by"][0])
        predictions.groups = codes if predictions.kept is None else codes[predictions.kept]
    return Sketches.of(predictions, lenses=plan["lenses"], scores=plan["scores"]) if counted else None


def _values(array: Any, argument: str, kind: type[CalibrantError], column: int | None = None) -> Array:
    """The numbers of an Arrow array that has no holes."""
    if array.null_count:
        row = int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
        remedy = "drop or fill these rows; a column that a file lacks is read as null as well"
        count = int(array.null_count)
        raise kind(argument, missing_values(count), remedy, row=row, column=column, count=count)
    return np.asarray(array.to_numpy(zero_copy_only=False))


def _scores(arrays: list[Any], spread: bool, known: int | None, named: bool) -> Array:
    """(N,) or (N, K) numbers; arrays of `known` entries where that is known, because the classes are named or from rows before."""
    import pyarrow as pa

    if spread:
        return np.stack([_values(array, "y_prob", ProbabilityError, c) for c, array in enumerate(arrays)], axis=1)
    (array,) = arrays
    if array.null_count or not (pa.types.is_list(array.type) or pa.types.is_large_list(array.type)):
        return _values(array, "y_prob", ProbabilityError)
    lengths = np.asarray(array.value_lengths())
    k = int(lengths[0]) if known is None else known
    if (lengths != k).any():
        row = int(np.argmax(lengths != k))
        problem = f"expected {k} entries, {'one per class' if named else 'as in the first row'}; got {lengths[row]}"
        raise ShapeError("y_prob", problem, "give every row one entry per class", row=row)
    if k < 2:
        problem = f"at least 2 classes are required; got {k} entries"
        raise ShapeError("y_prob", problem, "for one probability per row, name a column of numbers", row=0)
    try:
        return _values(array.flatten(), "y_prob", ProbabilityError).reshape(-1, k)
    except ProbabilityError as error:
        row, place = divmod(error.row or 0, k)
        raise ProbabilityError("y_prob", "missing value", "drop or fill these rows", row=row, column=place) from None


def _labels(array: Any, names: tuple[Any, ...] | None, k: int) -> Array:
    """Class indices."""
    if names is not None:
        codes, values = _encoded(array, "y_true", LabelError)
        try:
            return np.asarray(_from_names(np.array([*values, None], object)[:-1], names))[codes]
        except LabelError as error:
            raise _moved(error, int(np.argmax(codes == (error.row or 0)))) from None
    labels = _values(array, "y_true", LabelError)
    if labels.dtype.kind == "b":
        return labels
    whole = labels.astype(np.int64, copy=False) if labels.dtype.kind in "iu" else labels
    with np.errstate(invalid="ignore"):
        good = (whole >= 0) & (whole < k) & (whole == np.floor(whole))
    if not good.all():
        row = int(np.argmin(good))
        rule = "0 and 1" if k == 2 else f"integers from 0 to {k - 1}"
        problem = f"labels must be {rule}; got {labels[row].item()}"
        raise LabelError("y_true", problem, "pass classes in the order of the probabilities", row=row)
    return whole.astype(np.int64, copy=False)


def _groups(array: Any) -> tuple[Array, tuple[Any, ...]]:
    """The group index of each row, and the names of the groups."""
    codes, values = _encoded(array, "groups", GroupError)
    names: dict[Any, int] = {}
    for place, value in enumerate(values):
        if value != value:
            row = int(np.argmax(codes == place))
            raise GroupError("groups", "missing group", "drop or fill these rows", row=row)
    same = np.array([names.setdefault(value, len(names)) for value in values])  # 0.0 and -0.0 are one
    return same[codes], tuple(names)


def _encoded(array: Any, argument: str, kind: type[CalibrantError]) -> tuple[Array, list[Any]]:
    """The index of the value of each row, and the distinct values in order of appearance."""
    if array.null_count:
        _values(array, argument, kind)
    found = array.dictionary_encode()
    return found.indices.to_numpy(), found.dictionary.to_pylist()


def _calibrated(calibrator: Calibrator, columns: Columns, arrays: list[Any]) -> Any:
    """The calibrated probabilities of each row, null where a score is null."""
    import pyarrow as pa

    found = _by_role(arrays, columns)
    valid = np.logical_and.reduce([array.is_valid().to_numpy(zero_copy_only=False) for array in found["prob"]])
    if not valid.any():
        return pa.nulls(len(valid), pa.float64() if len(calibrator.classes_) == 2 else pa.list_(pa.float64()))
    mask = pa.array(valid)
    try:
        given: Any = _scores(
            [array.filter(mask) for array in found["prob"]], columns.spread, len(calibrator.classes_), True
        )
        if isinstance(calibrator, GroupedCalibrator):
            given = _Rows(given, _values(found["by"][0].filter(mask), "groups", GroupError))
        probs = calibrator.apply(calibrator._read(given))
    except CalibrantError as error:
        raise _moved(error, int(np.flatnonzero(valid)[error.row or 0])) from None
    if len(calibrator.classes_) == 2:
        new = pa.array(np.ascontiguousarray(probs[:, 1]))
    else:
        offsets = np.arange(len(probs) + 1, dtype=np.int32) * probs.shape[1]
        new = pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.ascontiguousarray(probs).ravel()))
    return new if valid.all() else new.take(pa.array(np.cumsum(valid) - 1, mask=~valid))


def _moved(error: CalibrantError, row: int) -> CalibrantError:
    """The same error for another row; errors without a row are returned unchanged."""
    return error if error.row is None else error.replaced(row=row)


def located(error: CalibrantError, columns: Columns, partition: int, before: int) -> CalibrantError:
    """The same error in terms of a DataFrame: its columns, and the row within its partition."""
    arguments = {"y_true": "label", "y_prob": "prob", "scores": "prob", "groups": "by"}
    found = error.replaced(arguments)
    column = columns.prob[found.column] if columns.spread and isinstance(found.column, int) else found.column
    return found.replaced(
        argument=columns.shown(found.argument),
        remedy=keep_alternatives(found.remedy, lambda part: not UNAVAILABLE.search(part)),
        row=None if found.row is None else before + found.row,
        column=column,
        count=None,
        source=f"partition {partition}",
    )


def calibrator_text(calibrator: Calibrator) -> str:
    """A fitted calibrator as the text that `save` writes."""
    with temporary_folder() as folder:
        return read_limited(save(calibrator, Path(folder) / "calibrator.json"), MOST_BYTES).decode()


def _calibrator_of(text: str) -> Calibrator:
    with temporary_folder() as folder:
        return load(write_atomic(Path(folder) / "calibrator.json", text.encode()))
