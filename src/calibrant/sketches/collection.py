"""Sketches: one sketch per lens and group, with sums over whole rows; the summary of a file, a cluster or a time window."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..errors import (
    ROWS_INSTEAD,
    ArgumentError,
    FileError,
    GroupError,
    InputTypeError,
    LensError,
    UndefinedMetricError,
)
from ..input.predictions import Predictions
from ..util.cached import cached_property
from ..util.checks import is_number
from ..util.files import read_limited, write_atomic
from ..views.keywords import documents_keywords
from ..views.resolve import as_predictions, views_of
from ..views.view import Summary, VectorView, View
from .cells import read_cells
from .grid import CELLS
from .group_names import common_names, finder, plain_name
from .grouped import MOST_GROUPS, GroupCells
from .row_sums import GroupRows, RowSums, row_sums
from .serialization import pack, unpack, well_formed
from .sketch import Sketch, checked_cells

# Up to this number of classes each has a sketch of its own by default.
FEW_CLASSES = 50
MOST_BYTES = 4 << 30
ALL = None
"""The group of all rows."""


class GroupSketch:
    """Summary of one group: a sketch per lens, and sums over whole rows if the probabilities of all classes are available."""

    def __init__(self, lenses: Mapping[str, Sketch], scores: RowSums | None) -> None:
        self.lenses = dict(lenses)
        self.scores = scores

    def merge(self, other: GroupSketch) -> GroupSketch:
        """Return the summary of the rows of both."""
        lenses = {name: sketch.merge(other.lenses[name]) for name, sketch in self.lenses.items()}
        scores = None if self.scores is None or other.scores is None else self.scores.plus(other.scores)
        return GroupSketch(lenses, scores)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GroupSketch):
            return NotImplemented
        return self.lenses == other.lenses and self.scores == other.scores

    __hash__ = None  # type: ignore[assignment]


class Sketches(Summary):
    """Mergeable summary of predictions, of bounded size: one sketch per lens and group.

    Sketches replace labels and probabilities in the metrics of scores, in `evaluate`, `assess`, `interval`, the figures and the
    report. ``sketches["class:cat"]`` or ``sketches.sketch(lens, group)`` is a single `Sketch`.

    Parameters
    ----------
    kind : {"binary", "multiclass", "confidence"}
        Kind of predictions.
    classes : tuple
        Names of the classes, in the order of the columns.
    parts : mapping of group to GroupSketch
        Summary of each group; that of all rows under None.

    Attributes
    ----------
    groups : tuple
        Names of the groups, numbers before text.
    lenses : tuple of str
        Names of the lenses.
    k : int
        Number of classes.
    n : int
        Number of rows.
    main : str
        Lens that metrics use by default.

    See Also
    --------
    Sketch : Summary of a single lens.
    scan : Sketches from files of any size.
    calibrant.spark.sketch : Sketches of a Spark DataFrame.

    Notes
    -----
    Create sketches with `of`; the constructor is for internal use. Merging is exact: the result does not depend on how the rows
    were divided.

    Examples
    --------
    >>> import calibrant as cal
    >>> sketches = cal.Sketches.of(cal.Predictions([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], groups=["a", "a", "b", "b"]))
    >>> cal.ece(sketches) == cal.ece([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    True
    >>> round(cal.nll(sketches), 6) == round(cal.nll([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9]), 6)
    True
    >>> sketches.groups
    ('a', 'b')
    """

    label_name: str = ""
    """Name of the label column, where it is known; a file of sketches does not keep it."""

    def __init__(self, kind: str, classes: tuple[Any, ...], parts: Mapping[Any, GroupSketch]) -> None:
        self.kind = kind
        self.classes = classes
        self.parts = dict(parts)

    @classmethod
    @documents_keywords()
    def of(
        cls,
        y_true: Any,
        y_prob: Any = None,
        *,
        lenses: Iterable[str] | None = None,
        scores: bool = True,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> Sketches:
        """Create the sketches of labels and probabilities.

        With groups, ``Predictions(..., groups=...)``, each group has sketches of its own.

        Parameters
        ----------
        y_true
        y_prob
        lenses : iterable of str, optional
            Lenses to keep a sketch of: names such as ``"top_label"``, ``"classwise"``, ``"class:cat"`` or ``"rank:2"``. By default the
            lens that metrics use, and each class if there are at most 50.
        scores : bool, default True
            Whether to keep the sums over whole rows that `brier`, `nll` and `ecd` need.
        sample_weight
        pos_label

        Returns
        -------
        Sketches
            Sketches of the rows.

        Raises
        ------
        LensError
            If the predictions are multilabel, or a lens has more than one score per row.
        """
        predictions = as_predictions(y_true, y_prob, sample_weight, pos_label)
        if predictions.kind == "multilabel":
            problem = "multilabel predictions are not supported"
            raise LensError("y_prob", problem, "make one Sketch for each class, with lens='class:NAME'")
        names = tuple(range(predictions.k) if predictions.classes is None else map(plain_name, predictions.classes))
        lens_names = default_lenses(predictions.kind, predictions.k) if lenses is None else tuple(lenses)
        if predictions.groups is None:
            groups: dict[Any, GroupSketch] = {ALL: _sketch_lenses(predictions, lens_names, scores)}
        elif predictions.weight_kind == "unit":
            sums = GroupSums(len(predictions.group_names), lens_names, scores)
            sums.add(predictions, predictions.groups)
            groups = sums.parts([plain_name(name) for name in predictions.group_names])
        else:
            groups = {ALL: _sketch_lenses(predictions, lens_names, scores)}
            order = np.argsort(predictions.groups, kind="stable")
            ends = np.cumsum(np.bincount(predictions.groups, minlength=len(predictions.group_names)))
            for name, rows in zip(predictions.group_names, np.split(order, ends[:-1]), strict=True):
                if len(rows):
                    groups[plain_name(name)] = _sketch_lenses(predictions.take(rows), lens_names, scores)
        sketches = cls(predictions.kind, names, groups)
        sketches.dropped, sketches.label_name = predictions.dropped, predictions.label_name
        return sketches

    @property
    def groups(self) -> tuple[Any, ...]:
        """Names of the groups in order, numbers before text."""
        return tuple(sorted((name for name in self.parts if name is not ALL), key=_in_order))

    @property
    def lenses(self) -> tuple[str, ...]:
        """Names of the lenses."""
        return tuple(self.parts[ALL].lenses)

    @property
    def k(self) -> int:
        """Number of classes."""
        return max(2, len(self.classes))

    def confidence_and_accuracy(self) -> tuple[float | None, float | None]:
        """Return the mean confidence and the accuracy of the predicted class.

        Returns
        -------
        confidence : float or None
            Mean confidence; None if no sketch determines it.
        accuracy : float or None
            Accuracy; None if no sketch determines it.
        """
        if not self.n:
            return None, None
        if "top_label" in self.lenses:
            top = self.sketch("top_label")
            return top.mean_score, top.positives / top.n
        if "binary" not in self.lenses:
            return None, None
        sums = self.sketch("binary").halves
        rows, positives, score = (column.tolist() for column in (sums.rows, sums.positives, sums.score_sum))
        return (rows[0] - score[0] + score[1]) / self.n, (rows[0] - positives[0] + positives[1]) / self.n

    @property
    def main(self) -> str:
        """Lens that metrics use by default."""
        return "binary" if self.kind == "binary" else "top_label"

    @cached_property
    def n(self) -> int:
        """Number of rows."""
        return next(iter(self.parts[ALL].lenses.values())).n

    @property
    def scores(self) -> RowSums | None:
        """Sums over whole rows; None if they were not kept."""
        return self.parts[ALL].scores

    def sketch(self, lens: str = "auto", group: Any = ALL) -> Sketch:
        """Return the sketch of one lens and group.

        Parameters
        ----------
        lens : str, default "auto"
            Name of the lens; ``"auto"`` is the lens that metrics use by default.
        group : object, default None
            Name of the group; None for all rows.

        Returns
        -------
        Sketch
            The sketch.

        Raises
        ------
        LensError
            If there is no sketch of the lens.
        GroupError
            If there is no such group.
        """
        part = self.parts[ALL] if group is ALL else self.group(group).parts[ALL]
        name = self.main if lens == "auto" else lens
        if name not in part.lenses:
            raise LensError(
                "lens",
                f"these sketches have no lens {name!r}",
                f"choose one of {', '.join(self.lenses)}, or evaluate the rows (on the command line with --no-stream)",
            )
        return part.lenses[name]

    def __getitem__(self, lens: str) -> Sketch:
        return self.sketch(lens)

    def group(self, name: Any) -> Sketches:
        """Return the sketches of one group.

        Parameters
        ----------
        name : object
            Name of the group.

        Returns
        -------
        Sketches
            Sketches of the rows of the group.

        Raises
        ------
        GroupError
            If there is no such group.
        """
        if name not in self.parts:
            place = finder(self.groups)(name)
            if place is None:
                group_names = ", ".join(map(str, self.groups[:10])) or "no groups were kept"
                raise GroupError("group", f"unknown group {name!r}", group_names)
            name = self.groups[place]
        return Sketches(self.kind, self.classes, {ALL: self.parts[name]})

    def sketches_of(self, lens: Any) -> list[Sketch]:
        """Return the sketches of a lens.

        Parameters
        ----------
        lens : str
            Name of the lens.

        Returns
        -------
        list of Sketch
            One sketch, or one per class for ``"classwise"`` and one per cut for ``"ordinal"``.
        """
        if not isinstance(lens, str):
            raise LensError("lens", "must be the name of a lens", f"choose one of {', '.join(self.lenses)}")
        if lens == "classwise":
            return [self.sketch(f"class:{name}") for name in self.classes]
        if lens == "ordinal":
            cuts = [name for name in self.lenses if name.startswith("ordinal:")]
            if not cuts:
                raise LensError(
                    "lens",
                    "these sketches have no cumulative probabilities",
                    "use lenses=['ordinal'] to make them or evaluate the rows (on the command line with --no-stream)",
                )
            return [self.sketch(name) for name in cuts]
        return [self.sketch(lens)]

    def view(self, lens: Any = "auto") -> View:
        """Return the view of one lens.

        Parameters
        ----------
        lens : str or Lens, default "auto"
            Lens or its name.

        Returns
        -------
        View
            View of the cells, with counts as weights.
        """
        return self.sketch(lens if isinstance(lens, str) else lens.name).view()

    def views(self, lens: Any = "auto") -> list[View | VectorView]:
        """Return the views of a lens.

        Parameters
        ----------
        lens : str, default "auto"
            Name of the lens.

        Returns
        -------
        list of View
            One view, or one per class for ``"classwise"``.
        """
        return [sketch.view() for sketch in self.sketches_of(lens)]

    def clear_cache(self) -> None:
        """Forget the views of all groups and lenses."""
        for part in self.parts.values():
            for sketch in part.lenses.values():
                sketch.clear_cache()

    def predictions(self, lens: str = "auto") -> Predictions:
        """Return the cells of one lens as predictions with counts, and with groups if there are any.

        Figures, calibrators, thresholds and the report use them: each cell is represented by its mean score.

        Parameters
        ----------
        lens : str, default "auto"
            Name of the lens.

        Returns
        -------
        Predictions
            One or two rows per cell and group.
        """
        names = self.groups or (ALL,)
        views = [self.sketch(lens, name).view() for name in names]
        keywords: dict[str, Any] = {"counts": np.concatenate([view.weight for view in views])}
        if self.groups:
            keywords["groups"] = np.repeat(np.array(common_names(names), object), [view.n for view in views])
        if views[0].lens != "binary":
            keywords["input"] = "confidence"
        score = np.concatenate([view.score for view in views])
        predictions = Predictions.derived(np.concatenate([view.raw_outcome for view in views]), score, **keywords)
        if views[0].lens == "binary" and list(self.classes) != [0, 1]:
            predictions.classes = self.classes
        predictions.dropped, predictions.label_name = self.dropped, self.label_name
        return predictions

    def renamed(self, classes: tuple[Any, ...], lenses: Mapping[str, str]) -> Sketches:
        """Return the sketches with other names of classes and lenses.

        Parameters
        ----------
        classes : tuple
            New names of the classes.
        lenses : mapping of str to str
            New name of each lens.

        Returns
        -------
        Sketches
            Sketches with the new names.
        """
        parts = {}
        for name, part in self.parts.items():
            lenses_kept = {
                lenses[lens]: Sketch(sketch._cells, sketch._kept, lenses[lens]) for lens, sketch in part.lenses.items()
            }
            parts[name] = GroupSketch(lenses_kept, part.scores)
        return Sketches(self.kind, classes, parts)

    def merge(self, other: Sketches) -> Sketches:
        """Return the sketches of the rows of both.

        Parameters
        ----------
        other : Sketches
            Sketches of the same classes and lenses. Groups that only one of them has are kept. Where the groups of one are numbers and
            those of the other text, as files of one column may be read, all become text, and 1 and "1" are one group.

        Returns
        -------
        Sketches
            New sketches; neither is changed.

        Raises
        ------
        LensError
            If classes or lenses differ.
        """
        if not isinstance(other, Sketches):
            raise InputTypeError("other", f"must be Sketches; got {type(other).__name__}")
        if (self.kind, self.classes) != (other.kind, other.classes):
            raise LensError("other", f"has other classes: {list(self.classes)} and {list(other.classes)}")
        if set(self.lenses) != set(other.lenses):
            problem = f"has other lenses: {list(other.lenses)} and {list(self.lenses)}"
            raise LensError("other", problem, "use the same lenses for both")
        named_parts = [*self.parts.items(), *other.parts.items()]
        names = iter(common_names([name for name, _ in named_parts if name is not ALL]))
        parts: dict[Any, GroupSketch] = {}
        for old, part in named_parts:
            name = ALL if old is ALL else next(names)
            parts[name] = parts[name].merge(part) if name in parts else part
        both = Sketches(self.kind, self.classes, parts)
        both.dropped = other.dropped if self.dropped is None else self.dropped.plus(other.dropped)
        return both

    __add__ = merge

    @documents_keywords()
    def update(self, y_true: Any, y_prob: Any = None, *, sample_weight: Any = None, pos_label: Any = None) -> Sketches:
        """Return the sketches with additional rows.

        Parameters
        ----------
        y_true
        y_prob
        sample_weight
        pos_label

        Returns
        -------
        Sketches
            New sketches; these are not changed.
        """
        if self.kind == "multiclass" and not isinstance(y_true, Predictions):
            rows = Predictions(y_true, y_prob, sample_weight=sample_weight, classes=list(self.classes))
        else:
            rows = as_predictions(y_true, y_prob, sample_weight, pos_label)
        return self.merge(Sketches.of(rows, lenses=self.lenses, scores=self.scores is not None))

    def to_bytes(self) -> bytes:
        """Serialize the sketches.

        Returns
        -------
        bytes
            Versioned format with a checksum, identical on every platform.
        """
        head: dict[str, Any] = {"kind_of": self.kind, "classes": list(self.classes), "cells": CELLS, "parts": []}
        arrays = []
        for name in [ALL, *self.groups]:
            part = self.parts[name]
            score_texts = None if part.scores is None else [str(number) for number in part.scores]
            head["parts"].append({"group": name, "lenses": sorted(part.lenses), "scores": score_texts})
            for lens in sorted(part.lenses):
                arrays += [part.lenses[lens]._cells, *part.lenses[lens]._kept]
        return pack("Sketches", head, arrays)

    @classmethod
    def from_bytes(cls, content: bytes, name: str = "content") -> Sketches:
        """Read sketches written by `to_bytes`.

        Parameters
        ----------
        content : bytes
            Serialized sketches.
        name : str, default "content"
            Name of the source in error messages.

        Returns
        -------
        Sketches
            The sketches.

        Raises
        ------
        ArgumentError
            If the content is damaged or not sketches.
        """
        head, arrays = unpack("Sketches", content, name)
        lens_arrays = iter([arrays[i : i + 5] for i in range(0, len(arrays), 5)])
        parts = {}
        with well_formed(name):
            for part in head["parts"]:
                lenses = {lens: Sketch(*checked_cells(next(lens_arrays), head), lens) for lens in part["lenses"]}
                row_sums = None if part["scores"] is None else RowSums(*(int(text) for text in part["scores"]))
                parts[part["group"]] = GroupSketch(lenses, row_sums)
            return cls(head["kind_of"], tuple(head["classes"]), {ALL: parts[ALL], **parts})

    @classmethod
    def from_cells(cls, table: Any, *, missing: Literal["raise", "drop"] = "raise") -> Sketches:
        """Read the result of a query that `cells_query` wrote.

        The query computes the integers of the sketches in a database or warehouse. The result is identical, bit for bit, to that of
        `Sketches.of(..., scores=False)` on the rows of the table.

        Parameters
        ----------
        table : DataFrame, Arrow table, result of DuckDB, mapping of columns, list of mappings, or path-like
            Result of the query, with all its rows and columns: a frame of pandas or polars, a table in memory of another kind, or a CSV,
            Parquet or JSON file that it was exported to.
        missing : {"raise", "drop"}, default "raise"
            What to do about rows with a missing label, probability or group: raise an error, or drop them; the attribute
            ``dropped`` of the result states how many.

        Returns
        -------
        Sketches
            Sketches of all rows, and of each group.

        Raises
        ------
        InputTypeError
            If the table is not the result of such a query, or its integers were rounded.
        ShapeError
            If it has no rows, or not all rows that the query returned.
        ProbabilityError
            If the query found invalid probabilities. Likewise `LabelError` and `GroupError`.

        See Also
        --------
        calibrant.sketches.cells_query : Write the query.
        scan : Sketches of files.

        Examples
        --------
        >>> import calibrant as cal, duckdb
        >>> connection = duckdb.connect()
        >>> _ = connection.execute("CREATE TABLE preds AS SELECT * FROM (VALUES (0, 0.1), (1, 0.4), (1, 0.8)) AS t(y, p)")
        >>> query = cal.sketches.cells_query("preds", dialect="duckdb", prob="p", label="y")
        >>> cal.Sketches.from_cells(connection.execute(query))
        Sketches(binary, 3 rows; binary)
        """
        cells = read_cells(table, missing)
        parts = {name: GroupSketch({part.lens: part}, None) for name, part in cells.parts.items()}
        sketches = cls(cells.kind, cells.classes, parts)
        sketches.dropped = cells.dropped
        return sketches

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the sketches to a file, which is replaced atomically.

        Parameters
        ----------
        path : path-like
            File to write.

        Returns
        -------
        pathlib.Path
            Path of the file.
        """
        return write_atomic(path, self.to_bytes())

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Sketches:
        """Read sketches from a file written by `write`.

        Parameters
        ----------
        path : path-like
            File to read.

        Returns
        -------
        Sketches
            The sketches.

        Raises
        ------
        FileError
            If the file cannot be read, is damaged or does not hold sketches.
        """
        try:
            return cls.from_bytes(read_limited(path, MOST_BYTES), str(path))
        except ArgumentError as error:
            raise FileError(str(path), error.problem, error.remedy) from None

    def __len__(self) -> int:
        return self.n

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sketches):
            return NotImplemented
        return (self.kind, self.classes, self.parts) == (other.kind, other.classes, other.parts)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        groups = f", {len(self.groups)} groups" if self.groups else ""
        lenses = ", ".join(self.lenses[:4]) + (f" and {len(self.lenses) - 4} more" if len(self.lenses) > 4 else "")
        return f"Sketches({self.kind}, {self.n:,} rows{groups}; {lenses})"


def default_lenses(kind: str, classes: int) -> tuple[str, ...]:
    """The lenses kept by default."""
    if kind == "binary":
        return ("binary",)
    return ("top_label", "classwise") if kind == "multiclass" and classes <= FEW_CLASSES else ("top_label",)


def _sketch_lenses(p: Predictions, lenses: tuple[str, ...], scores: bool) -> GroupSketch:
    sketches = {view.lens: Sketch.of_view(view) for view in _views(p, lenses)}
    return GroupSketch(
        sketches, row_sums(p.probs, p.labels) if scores and p.labels is not None and _has_rows(p) else None
    )


def _views(p: Predictions, lenses: tuple[str, ...]) -> Iterator[View]:
    """The views of lenses with one score per row, in turn."""
    for lens in lenses:
        for view in views_of(p, lens):
            if not isinstance(view, View):
                raise LensError(
                    "lenses", f"{lens!r} has several scores per row", "choose lenses with one score per row"
                )
            yield view
            view.clear_cache()
    if not lenses:
        raise ArgumentError("lenses", "is empty", "name at least one, for example 'top_label'")
    p.views.clear()  # break the reference cycle between views and predictions, so that the batch is freed at once


def _has_rows(p: Predictions) -> bool:
    """Whether sums over whole rows are defined, for hard labels."""
    return p.kind in ("binary", "multiclass") and p.weight_kind == "unit"


class GroupSums:
    """Summaries of many groups, computed together from batches of rows without weights."""

    def __init__(self, groups: int, lenses: tuple[str, ...], scores: bool) -> None:
        if groups > MOST_GROUPS:
            raise GroupError("groups", f"at most {MOST_GROUPS:,} groups are supported; got {groups:,}")
        self.lenses, self.groups, self.n = lenses, groups, 0
        self.cells: dict[str, GroupCells] = {}
        self.rows = GroupRows(groups) if scores else None

    def add(self, p: Predictions, groups: Any) -> None:
        """Add rows, given the number of the group of each."""
        groups = groups.astype(np.uint16 if self.groups <= 1 << 16 else np.int64, copy=False)
        for view in _views(p, self.lenses):
            if view.is_soft:
                Sketch.of_view(view)  # raises
            self.cells.setdefault(view.lens, GroupCells(self.groups)).add(view.raw_score, view.raw_outcome, groups)
        if self.rows is not None and p.labels is not None and _has_rows(p):
            self.rows.add(p.probs, p.labels, groups)
        else:
            self.rows = None
        self.n += p.n

    def parts(self, names: Sequence[Any]) -> dict[Any, GroupSketch]:
        """The summary of each group that has rows, by name, and that of all rows."""
        sketches: list[dict[str, Sketch]] = [{} for _ in names]
        all_rows: dict[str, Sketch] = {}
        for lens in list(self.cells):
            all_rows[lens], each = self.cells.pop(lens).sketches(lens)
            for part, sketch in zip(sketches, each, strict=True):
                part[lens] = sketch
        rows: list[Any] = [None] * len(names) if self.rows is None else self.rows.sums()
        total = None
        if self.rows is not None:
            total = RowSums(*(sum(column) for column in zip(*rows, strict=True)))
        parts: dict[Any, GroupSketch] = {ALL: GroupSketch(all_rows, total)}
        for name, lenses, sums in zip(names, sketches, rows, strict=True):
            if next(iter(lenses.values())).n:
                parts[name] = GroupSketch(lenses, sums)
        return parts


def _in_order(name: Any) -> tuple[bool, float, str]:
    return (False, name, "") if is_number(name) else (True, 0.0, str(name))


def row_metric(sketches: Sketches, metric: str) -> float:
    """A metric of whole rows, from their sums."""
    if metric not in ("brier", "root_brier", "nll", "ecd"):
        raise InputTypeError("y_true", f"{metric} cannot be computed from a sketch", ROWS_INSTEAD)
    row_sums = sketches.scores
    if row_sums is None or not row_sums.rows:
        raise UndefinedMetricError(metric, "these sketches do not contain the sums of whole rows", "pass scores=True")
    if metric in ("nll", "ecd"):
        return row_sums.nll if metric == "nll" else row_sums.ecd
    value = max(row_sums.brier, 0.0) / (2 if sketches.kind == "binary" else 1)
    return value if metric == "brier" else math.sqrt(value)
