"""scan: from files of any size to Sketches, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from .._convert import SUM_TOLERANCE, match_columns
from ..errors import (
    ArgumentError,
    CalibrantError,
    FileError,
    GroupError,
    LabelError,
    MissingDependencyError,
    ProbabilityError,
)
from ..sketches import Sketches, default_lenses
from .columns import Columns, class_names, find_columns, first_line, quoted
from .reading import Source, open_source
from .sql import Scores, bad_rows, group_sketches, label_code

__all__ = ["scan"]

BATCH_ROWS = 1 << 19
Engine = Literal["auto", "arrow", "sql"]


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
    engine: Engine = "auto",
    progress: Callable[[int], None] | None = None,
) -> Sketches:
    """Read files of any size once and keep what every score metric needs.

    Parameters
    ----------
    source
        A path, a pattern such as ``"preds/*.parquet"``, or a list of them: CSV, TSV, Parquet, JSON lines, or a DuckDB database.
    label, prob
        Names of the columns; found by their usual names where not given. `prob` is the probability of the positive class, a list of
        columns with one probability for each class, a pattern such as ``"p_*"``, or one column that holds a list.
    by
        Column of groups, each of which gets sketches of its own.
    where
        Which rows, as one SQL expression.
    classes
        The classes, in the order of the columns; the negative one first where there are two. Labels are 0, 1, ... otherwise.
    lenses, scores
        As for `Sketches.of`.
    format, table
        Kind of the files where their names do not say; table of a database.
    engine
        ``"arrow"`` streams batches to compiled loops (needs pyarrow), ``"sql"`` lets DuckDB do all of it; ``"auto"`` takes the first
        where it can. Both give the same bits.
    progress
        Called with the number of rows read so far.

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
    if engine not in ("auto", "arrow", "sql"):
        raise ArgumentError("engine", f"must be 'auto', 'arrow' or 'sql'; got {engine!r}")
    with open_source(source, where=where, format=format, table=table) as opened:
        found = _scores(opened, label, prob, by, classes)
        kind = "binary" if len(found.probs) == 1 else "multiclass"
        asked = default_lenses(kind, found.k) if lenses is None else tuple(lenses)
        chosen = _named(asked, found.classes)
        sketches = _filled(opened, found, kind, chosen, scores, engine, progress)
        if sketches is None or not sketches.n:
            remedy = "loosen where=" if where is not None else "check what wrote them"
            raise FileError(opened.paths[0], "holds no rows" + (" that fit" if where is not None else ""), remedy)
        return sketches


def _filled(
    opened: Source,
    found: Scores,
    kind: str,
    lenses: tuple[str, ...],
    scores: bool,
    engine: Engine,
    progress: Callable[[int], None] | None,
) -> Sketches | None:
    """The sketches, by one engine or the other; a failure names the row or the part of a file that is at fault."""
    import duckdb

    try:
        if engine == "arrow" or (engine == "auto" and _has_arrow()):
            return _streamed(opened, found, lenses, scores, progress)
        sketches = _summed(opened, found, kind, lenses, scores)
        if progress is not None:
            progress(sketches.n)
        return sketches
    except FileError:
        raise
    except CalibrantError as error:
        raise _located(opened, found) or error from None
    except duckdb.BinderException as error:
        known = ", ".join(opened.names[:20])
        raise ArgumentError("where", first_line(error), f"the columns are {known}") from error
    except (duckdb.Error, OSError) as error:
        raise opened.failure(error) from error


def _scores(
    opened: Source, label: str | None, prob: str | Sequence[str] | None, by: str | None, classes: Sequence[Any] | None
) -> Scores:
    """Where labels and probabilities are, in SQL."""
    several = isinstance(prob, str) and any(sign in prob for sign in "*?[,")
    listed = ",".join(prob) if prob is not None and not isinstance(prob, str) else None
    columns = Columns(
        label=label,
        prob=None if several or listed is not None else prob,  # type: ignore[arg-type]
        probs=listed if listed is not None else prob if several else None,  # type: ignore[arg-type]
        by=by,
    )
    known = list(opened.names)
    found, names = find_columns(known, columns, dashes="")
    group = None if by is None else quoted(match_columns(known, [by], "by")[0])
    probs = tuple(quoted(name) for name in names)
    single = any(opened.types[name] == "FLOAT" for name in names)
    if len(names) == 1 and opened.types[names[0]].endswith("]"):
        probs, single = _from_list(opened, names[0]), "FLOAT" in opened.types[names[0]]
    k = max(2, len(probs))
    pattern = (columns.probs or "") if isinstance(prob, str) else ""
    named = (list(classes) if classes is not None else class_names(names, pattern) if len(names) > 1 else None) or list(
        range(k)
    )
    if len(named) != k:
        raise ArgumentError("classes", f"names {len(named)}, and there are {k} columns of probabilities")
    text = opened.types[found] in ("VARCHAR", "ENUM") or opened.types[found].startswith("ENUM")
    if text and all(isinstance(name, int) for name in named):
        named = [str(name) for name in named]
    tolerance = SUM_TOLERANCE["float32" if single else "float64"] if opened.kind == "parquet" else 1e-3
    code = label_code(found, tuple(named), text)
    return Scores(opened.rows, code, probs, group, tuple(named), tolerance)


def _from_list(opened: Source, name: str) -> tuple[str, ...]:
    """The entries of a column of lists, which must all be of one length."""
    lengths = opened.connection.execute(
        f"SELECT min(len({quoted(name)})), max(len({quoted(name)})) FROM {opened.rows}"  # noqa: S608 - quoted
    ).fetchone()
    if lengths[0] != lengths[1]:
        raise ProbabilityError(name, f"holds lists of {lengths[0]} to {lengths[1]} numbers", "give every row the same")
    if not lengths[0] or lengths[0] < 2:
        raise ProbabilityError(name, f"holds lists of {lengths[0]} numbers", "give one for each class")
    return tuple(f"{quoted(name)}[{place + 1}]" for place in range(lengths[0]))


def _named(lenses: tuple[str, ...], classes: tuple[Any, ...]) -> tuple[str, ...]:
    """Each lens by name, the classes one by one."""
    found: list[str] = []
    for lens in lenses:
        found += [f"class:{name}" for name in classes] if lens == "classwise" else [lens]
    known = {"binary", "top_label", *(f"class:{name}" for name in classes)}
    for lens in found:
        if lens not in known and not lens.startswith("rank:"):
            raise ArgumentError("lenses", f"{lens!r} is none that files can be read for", f"one of {sorted(known)}")
    return tuple(dict.fromkeys(found))


def _has_arrow() -> bool:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


def _streamed(
    opened: Source, found: Scores, lenses: tuple[str, ...], scores: bool, progress: Callable[[int], None] | None
) -> Sketches | None:
    """Batches of rows, one after the other, each added to what is there."""
    if not _has_arrow():
        raise MissingDependencyError("pyarrow", "is not installed", "pip install pyarrow, or engine='sql'")
    opened.connection.execute("SET preserve_insertion_order = false")
    probs = ", ".join(f"{name} AS p{place}" for place, name in enumerate(found.probs))
    group = "" if found.group is None else f', {found.group} AS "group"'
    query = f"SELECT {found.label} AS label, {probs}{group} FROM {found.table}"  # noqa: S608 - quoted names
    total: Sketches | None = None
    own = opened.connection.cursor()  # so that a failure leaves the connection free to look for its cause
    try:
        for batch in own.sql(query).to_arrow_reader(BATCH_ROWS):
            if not batch.num_rows:
                continue
            part = _batch(batch, found, lenses, scores)
            total = part if total is None else total.merge(part)
            if progress is not None:
                progress(total.n)
    finally:
        own.close()
    return total


def _batch(batch: Any, found: Scores, lenses: tuple[str, ...], scores: bool) -> Sketches:
    columns = [batch.column(place) for place in range(batch.num_columns)]
    if any(column.null_count for column in columns):
        raise ProbabilityError("prob", "or the label or group is missing in a row")
    label = columns[0].to_numpy(zero_copy_only=False)
    probs = [column.to_numpy(zero_copy_only=False) for column in columns[1 : 1 + len(found.probs)]]
    scored = probs[0] if len(probs) == 1 else np.column_stack(probs)
    words: dict[str, Any] = {"sum_tolerance": found.tolerance} if len(probs) > 1 else {}
    if found.group is not None:
        words["groups"] = columns[-1].to_numpy(zero_copy_only=False)
    coded = _coded(lenses, found.classes)
    made = Sketches.of(label.astype(np.int64), scored, lenses=coded, scores=scores, **words)
    return made.renamed(found.classes, dict(zip(coded, lenses, strict=True)))


def _coded(lenses: tuple[str, ...], classes: tuple[Any, ...]) -> tuple[str, ...]:
    places = {f"class:{name}": f"class:{place}" for place, name in enumerate(classes)}
    return tuple(places.get(lens, lens) for lens in lenses)


def _summed(opened: Source, found: Scores, kind: str, lenses: tuple[str, ...], scores: bool) -> Sketches:
    """All of it in SQL: a look for rows that cannot be used, and one query for each lens."""
    for lens in lenses:
        if lens.startswith("rank:"):
            raise ArgumentError("lenses", f"{lens!r} needs whole rows", "engine='arrow'")
    bad = opened.connection.execute(f"SELECT count(*) FROM {found.columns()} WHERE {bad_rows(found)}").fetchone()[0]  # noqa: S608
    if bad:
        raise ProbabilityError("prob", f"or the label or group of {bad:,} rows cannot be used")
    return Sketches(kind, found.classes, group_sketches(opened.connection, found, lenses, scores))


def _located(opened: Source, found: Scores) -> CalibrantError | None:
    """What is wrong with the first row that cannot be used, and where it is."""
    own = "filename" if opened.kind != "duckdb" else "''"
    row = "file_row_number" if opened.kind == "parquet" else "NULL"
    probs = ", ".join(f"CAST({name} AS DOUBLE) AS p{place}" for place, name in enumerate(found.probs))
    group = "" if found.group is None else f', {found.group} AS "group"'
    query = f"""
        SELECT * FROM (SELECT {own} AS place, {row} AS number, {found.label} AS label, {probs}{group} FROM {found.table})
        WHERE {bad_rows(found)} LIMIT 1
    """  # noqa: S608 - quoted names
    first = opened.connection.execute(query).fetchone()
    if first is None:
        return None
    place, number, label, *rest = first
    values = rest[: len(found.probs)]
    spot = (f"{place}: " if place else "") + (f"row {number:,}: " if number is not None else "")
    for name, value in zip(found.probs, values, strict=True):
        if value is None or not 0 <= value <= 1:
            shown = "missing" if value is None else f"{value:g}, which is no probability"
            return ProbabilityError("prob", f"{spot}{name} is {shown}", "drop such rows with where=")
    if label is None or not 0 <= label < found.k:
        known = ", ".join(map(str, found.classes[:10]))
        return LabelError("label", f"{spot}is missing or none of the classes ({known})", "pass classes=")
    if found.group is not None and rest[-1] is None:
        return GroupError("by", f"{spot}{found.group} is missing", "drop such rows with where=")
    total = sum(values)
    return ProbabilityError("prob", f"{spot}the probabilities sum to {total:g}, not 1", "normalize them before")
