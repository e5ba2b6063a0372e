"""Sketches from files of any size, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from ...errors import ArgumentError, CalibrantError, FileError, LabelError, ProbabilityError
from ...input.predictions import Predictions
from ...util.checks import check_choice
from ...util.progress import allow_bars, loop
from ..collection import ALL, GroupSums, Sketches, default_lenses
from .arrow import batches
from .columns import names_as_written
from .reading import Rows, common_kind, open_rows, paths_of
from .scores import add_groups, drop_missing, locate_error, read_factors, read_scores
from .sql import Group, Scores

BATCH_ROWS = 1 << 20
# Labels of a text file that show what it holds; where later ones do not fit, all are considered.
FIRST_LABELS = 10_000


def scan(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    label: str | None = None,
    prob: str | Sequence[str] | None = None,
    by: str | None = None,
    where: str | None = None,
    classes: Sequence[Any] | None = None,
    lenses: Iterable[str] | None = None,
    scores: bool = True,
    format: str | None = None,
    table: str | None = None,
    progress: bool = True,
    missing: Literal["raise", "drop"] = "raise",
) -> Sketches:
    """Summarize prediction files of any size in one pass.

    The files are read once in bounded memory; the result replaces labels and probabilities in the metrics of scores, `evaluate`,
    `assess`, `interval`, the figures and the report.

    Parameters
    ----------
    source : path-like, str or sequence of these
        Path, pattern such as ``"preds/*.parquet"``, or a list of them: CSV, TSV, Parquet, JSON lines, or a DuckDB database. A file that
        matches twice is read once.
    label : str, optional
        Column of the labels; by default recognized by its name.
    prob : str or sequence of str, optional
        Column of the probability of the positive class, columns of one probability per class, a pattern such as ``"p_*"``, or a column
        of lists; by default recognized by name. Of two columns the second belongs to the positive class, unless the names indicate
        otherwise, as in ``p_yes, p_no`` and ``p_1, p_0``.
    by : str, optional
        Column of groups; each group has sketches of its own. An SQL expression such as ``"age >= 65"``, or combinations such as
        ``"contract x age >= 65"``, are groups as well.
    where : str, optional
        SQL expression that selects rows.
    classes : sequence, optional
        Class names in the order of the columns, for two classes the negative one first. By default taken from the names of the columns
        if labels are text (``p_cat, p_dog``), else 0, 1, ...
    lenses : iterable of str, optional
        Lenses to keep a sketch of; see `Sketches.of`.
    scores : bool, default True
        Whether to keep the sums over whole rows that `brier`, `nll` and `ecd` need.
    format : str, optional
        Format of the files, if their names do not indicate it.
    table : str, optional
        Table of a database.
    progress : bool, default True
        Whether to show the number of rows read so far, on a terminal or in a notebook, if reading takes more than two seconds; the
        environment variable ``CALIBRANT_PROGRESS=0`` switches it off.
    missing : {"raise", "drop"}, default "raise"
        What to do about rows with a missing label, probability or group: raise an error, or drop them; the attribute ``dropped`` of
        the result states how many.

    Returns
    -------
    Sketches
        Sketches of all rows, and of each group.

    Raises
    ------
    FileError
        If a file cannot be read or holds no rows.
    ArgumentError
        If a column, class or option is invalid; invalid values are reported with their file and row.
    MissingDependencyError
        If DuckDB is not installed, or pyarrow or openpyxl for the files that need them.

    See Also
    --------
    Sketches.of : Sketches of data in memory.
    calibrant.spark.sketch : Sketches of a Spark DataFrame.

    Examples
    --------
    >>> import calibrant as cal, tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("y,p\\n0,0.1\\n1,0.4\\n")
    >>> _ = (folder / "b.csv").write_text("y,p\\n1,0.8\\n1,0.9\\n")
    >>> sketches = cal.scan(folder / "*.csv")
    >>> cal.ece(sketches) == cal.ece([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    True
    """
    check_choice(missing, "missing", ("raise", "drop"))
    paths, lenses = paths_of(source), None if lenses is None else tuple(lenses)
    with open_rows(paths, common_kind(paths, format), where=where, table=table) as opened:
        factors = read_factors(opened, by)

        def sketch_rows(first: int | None) -> Sketches:
            rows, group = add_groups(opened, factors)
            columns = read_scores(rows, label, prob, by, group, classes, first)
            dropped = None
            if missing == "drop":
                columns, dropped = drop_missing(rows, columns)
            kind = "binary" if columns.k == 2 else "multiclass"
            lens_names = _lens_names(default_lenses(kind, columns.k) if lenses is None else lenses, columns.classes)
            with allow_bars(progress), loop("rows read") as show:
                try:
                    sketches = _add_batches(rows, columns, kind, lens_names, scores, show)
                except FileError:
                    raise
                except CalibrantError as error:
                    raise locate_error(rows, columns) or error from None
            if sketches is None or not sketches.n:
                raise rows.no_rows()
            if len(factors) == 1 and factors[0].kind == "column" and rows.printed:
                sketches = _rename_groups(sketches)
            sketches.dropped = dropped
            return sketches

        try:
            return sketch_rows(FIRST_LABELS)
        except LabelError:
            if not opened.printed:
                raise
            return sketch_rows(None)


def _rename_groups(sketches: Sketches) -> Sketches:
    """Groups read as text, renamed to numbers where the text is just their printed form."""
    groups = [name for name in sketches.parts if name is not ALL]
    if not all(isinstance(name, str) for name in groups):
        return sketches
    names = names_as_written(groups)
    groups_by_name: dict[Any, Any] = {}
    for name, part in sketches.parts.items():
        called = ALL if name is ALL else names[name]
        groups_by_name[called] = part if called not in groups_by_name else groups_by_name[called].merge(part)
    return Sketches(sketches.kind, sketches.classes, groups_by_name)


def _lens_names(lenses: Iterable[str], classes: tuple[Any, ...]) -> tuple[str, ...]:
    """The names of the lenses, with one lens per class."""
    by_class = [f"class:{name}" for name in classes]
    names = [name for lens in lenses for name in (by_class if lens == "classwise" else [lens])]
    supported = {"binary", "top_label", *by_class}
    for lens in names:
        if lens not in supported and not lens.startswith("rank:"):
            raise ArgumentError("lenses", f"{lens!r} is not supported for files", f"choose one of {sorted(supported)}")
    return tuple(dict.fromkeys(names))


def _add_batches(
    rows: Rows,
    scores: Scores,
    kind: str,
    lenses: tuple[str, ...],
    row_scores: bool,
    show: Callable[[int], None],
) -> Sketches | None:
    """Add up successive batches of rows."""
    rows.connection.execute("SET preserve_insertion_order = false")
    columns = scores.columns(scores.number)
    names, query = None, f"SELECT * FROM {columns}"  # noqa: S608 - quoted names
    if scores.group is not None:
        names, query = _number_groups(rows, scores.table, scores.group, columns)
    coded_names = {f"class:{name}": f"class:{place}" for place, name in enumerate(scores.classes)}
    coded = tuple(coded_names.get(lens, lens) for lens in lenses)
    total: Sketches | None = None
    sums = None if names is None else GroupSums(len(names), coded, row_scores)
    cursor = rows.connection.cursor()  # after an error the connection stays free to look for its cause
    try:
        for batch in _read_ahead(batches(cursor.sql(query), BATCH_ROWS)):
            if batch is None:
                raise ProbabilityError("prob", "a probability, label or group is missing")
            label, *probs = batch[: 1 + len(scores.probs)]
            label = label if label.dtype == np.uint8 else label.astype(np.int64)
            score = probs[0] if len(probs) == 1 else np.column_stack(probs)
            predictions = Predictions(label, score, normalize=len(probs) > 1 and scores.tolerance)
            if sums is None:
                part = Sketches.of(predictions, lenses=coded, scores=row_scores)
                total = part if total is None else total.merge(part)
                show(total.n)
            else:
                sums.add(predictions, batch[-1])
                show(sums.n)
    finally:
        cursor.close()
    if sums is not None and names is not None and sums.n:
        total = Sketches(kind, (), sums.parts(names))
    return None if total is None else total.renamed(scores.classes, dict(zip(coded, lenses, strict=True)))


# Groups by their number, so that rows carry numbers only.
GROUPS = "groups_of_rows"


def _number_groups(rows: Rows, table: str, group: Group, columns: str) -> tuple[list[Any], str]:
    """The groups, and the query for `columns` with the number of the group among them in place of its name."""
    values = f'SELECT DISTINCT "group" AS name FROM (SELECT {group.sql} AS "group" FROM {table})'  # noqa: S608
    coded = f"SELECT name, CAST(row_number() OVER () - 1 AS INTEGER) AS code FROM ({values}) WHERE name IS NOT NULL"  # noqa: S608
    rows.connection.execute(f"CREATE OR REPLACE TABLE {GROUPS} AS {coded}")  # a temporary one is hidden from a cursor
    names_query = f"SELECT name FROM {GROUPS} ORDER BY code"  # noqa: S608 - a constant
    names = [row[0] for row in rows.connection.execute(names_query).fetchall()]
    if 0 < len(names) <= 1 << 16:
        if isinstance(names[0], str) and not rows.printed:
            # Parquet stores a column of few texts as a dictionary, each of which is then looked up once.
            rows.connection.execute(f"CREATE TYPE {GROUPS}_names AS ENUM ({names_query})")
            return names, f'SELECT * EXCLUDE ("group"), enum_code(TRY_CAST("group" AS {GROUPS}_names)) FROM {columns}'  # noqa: S608
        rows.connection.execute(f"ALTER TABLE {GROUPS} ALTER code TYPE USMALLINT")  # as `GroupSums` numbers them
    return names, f'SELECT r.* EXCLUDE ("group"), code FROM {columns} AS r LEFT JOIN {GROUPS} ON "group" = name'  # noqa: S608


END = object()


def _read_ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """Iterate over batches, reading the next one while the last is processed."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as ahead:
        waiting = ahead.submit(next, batches, END)
        while (batch := waiting.result()) is not END:
            waiting = ahead.submit(next, batches, END)
            yield batch
