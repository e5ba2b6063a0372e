"""Base classes of results: export to plain values and data frames, and representation as text and HTML."""

from __future__ import annotations

import math
import sys
from collections.abc import Container, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from html import escape
from typing import Any, ClassVar

import numpy as np

from ..errors import MissingDependencyError

__all__ = [
    "Record",
    "Result",
    "decimals",
    "frame_of",
    "html_lines",
    "html_table",
    "json_values",
    "number",
    "percent",
    "plain_value",
    "pvalue_text",
    "several",
    "text_table",
]


class Result:
    """Base of results. Subclasses are ``@dataclass(frozen=True, repr=False)``; their fields give every export.

    A subclass lists in `_hidden` the fields that are not exported, such as resamples, and states its `_title` and `_table`
    (headings and rows of text); `_columns` where its frame has more than the one row of its scalar fields.
    """

    _hidden: ClassVar[tuple[str, ...]] = ()
    _numeric: ClassVar[Container[int]] = ()
    """Columns of `_table` that are right-aligned."""
    _width: ClassVar[int] = 0
    """Smallest width of a column of the text."""

    dropped: ClassVar[Any] = None
    """The rows that were dropped because of missing values, where some were; set on the instance."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON knows them: an infinite number is the text ``"inf"``, and NaN is None."""
        return {name: plain_value(value) for name, value in self._fields().items()} | self._dropped_values()

    def _replaced(self, **changes: Any) -> Any:
        """Return the result with other fields, as `dataclasses.replace`, and the note on dropped rows."""
        other = replace(self, **changes)  # type: ignore[type-var]
        if self.dropped is not None:
            object.__setattr__(other, "dropped", self.dropped)
        return other

    def _dropped_values(self) -> dict[str, Any]:
        """Return the number of rows dropped because of missing values under ``missing_values``, where some were."""
        return {} if self.dropped is None else {"missing_values": self.dropped.to_dict()}

    def _dropped_lines(self) -> list[str]:
        """Return the line that states how many rows were dropped, where some were."""
        return [] if self.dropped is None else [str(self.dropped)]

    def to_frame(self) -> Any:
        """A table of pandas, polars or pyarrow, whichever is in use."""
        return frame_of(self._columns())

    def _fields(self) -> dict[str, Any]:
        """Return the exported fields; subclasses can add properties."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in self._hidden}  # type: ignore[arg-type]

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns of the frame: by default one row of the scalar fields."""
        held = {name: value for name, value in self._fields().items() if not _holds_many(value)}
        return {name: [value] for name, value in held.items()}

    def _title(self) -> str:
        """Return the first lines of the text, which are the caption in a notebook."""
        return ""

    def _table(self) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        """Return headings and rows; without headings there is no table."""
        return (), ()

    def _notes(self) -> Sequence[str]:
        """Return the lines below the table."""
        return ()

    def __repr__(self) -> str:
        headings, rows = self._table()
        cells = [[str(cell) for cell in row] for row in rows]
        table = text_table(headings, cells, self._numeric, self._width) if headings else []
        title = self._title()
        return "\n".join([*([title] if title else []), *self._dropped_lines(), *table, *self._notes()])

    def _repr_html_(self) -> str:
        headings, rows = self._table()
        title = html_lines(self._title(), *self._dropped_lines())
        return title + (html_table(headings, rows) if headings else "") + html_lines(*self._notes())


class Record(Result):
    """Result whose text is its title and notes; in notebooks the columns of its frame are shown as a table."""

    def __repr__(self) -> str:
        return "\n".join([self._title(), *self._dropped_lines(), *self._notes()])

    def _table(self) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        columns = self._columns()
        return list(columns), [[_cell(value) for value in row] for row in zip(*columns.values(), strict=True)]


def _cell(value: Any) -> str:
    return number(value) if value is None or isinstance(value, float) else str(value)


def _holds_many(value: Any) -> bool:
    return (isinstance(value, Mapping | Sequence) and not isinstance(value, str)) or (
        hasattr(value, "ndim") and value.ndim > 0
    )


def plain_value(value: Any) -> Any:
    """A value as JSON knows it: arrays and tuples are lists, results and records are mappings.

    >>> plain_value((1.5, math.inf, math.nan))
    [1.5, 'inf', None]
    """
    if isinstance(value, Result):
        return value.to_dict()
    if hasattr(value, "tolist"):
        plain = isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and bool(np.isfinite(value).all())
        value = value.tolist()
        if plain:
            return value
    if isinstance(value, float):
        return _json_value(value)
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value) if field.repr or field.compare}
    if isinstance(value, Mapping):
        return {str(name): plain_value(inner) for name, inner in value.items()}
    return [plain_value(inner) for inner in value] if isinstance(value, list | tuple) else value


# P-values below this are rounding error.
SMALLEST_PVALUE = 1e-300


def frame_of(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Build a pandas, polars or pyarrow table: of the library already imported, else of the first that is installed."""
    import narwhals.stable.v2 as nw

    known = ("pandas", "polars", "pyarrow")
    for name in [*(n for n in known if n in sys.modules), *known]:
        try:
            __import__(name)
        except ImportError:
            continue
        return nw.from_dict({key: list(values) for key, values in columns.items()}, backend=name).to_native()  # type: ignore[arg-type]
    raise MissingDependencyError(
        "to_frame", "requires pandas, polars or pyarrow", "run pip install pandas, or use to_dict()"
    )


def number(value: float | None, digits: int = 4) -> str:
    """Format a number with four significant digits, and missing or infinite values as words."""
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == 0 or 1e-4 <= abs(value) < 1e5:
        text = f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}" if value else "0"
        return text if len(text.lstrip("-")) <= 9 else f"{value:.{digits}f}"
    return f"{value:.{digits - 1}e}"


def several(count: int, noun: str) -> str:
    """A number with its noun.

    >>> several(1, "window"), several(2000, "window")
    ('1 window', '2,000 windows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def pvalue_text(value: float) -> str:
    """Format a p-value with four significant digits, and a bound in place of 0."""
    if math.isnan(value):
        return "-"
    return f"{value:.4g}" if value >= SMALLEST_PVALUE else f"< {SMALLEST_PVALUE:g}"


def text_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], numeric: Container[int] = (), least: int = 0
) -> list[str]:
    """Format a text table; columns in `numeric` are right-aligned."""
    table = [headings, *rows]
    widths = [max(least, *(len(row[i]) for row in table)) for i in range(len(headings))]
    return [
        "  ".join(
            cell.rjust(width) if i in numeric else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def html_table(headings: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "") -> str:
    """Format an HTML table for notebooks; every cell is escaped."""
    head = "".join(f"<th>{escape(str(text))}</th>" for text in headings)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_lines(*lines: str) -> str:
    """Format lines of text as HTML for notebooks, escaped; empty ones are left out."""
    said = "<br>".join(escape(line.strip()) for text in lines for line in text.split("\n") if line.strip())
    return f"<p>{said}</p>" if said else ""


def percent(value: float | None, digits: int = 1) -> str:
    """A share as per cent, with more digits where it is so near to 0 or 1 that it would seem to be just that.

    >>> percent(0.94786), percent(0.00012), percent(0.99987), percent(1.0), percent(0.003, 0), percent(None)
    ('94.8%', '0.012%', '99.987%', '100.0%', '0.3%', '-')
    """
    if value is None:
        return "-"
    return f"{value:.{decimals(100 * min(value, 1 - value), digits, digits)}%}"


def decimals(size: float, least: int, more: int) -> int:
    """Return the number of decimals for a number of this size: `more` after the first significant one; rounding error counts as 0."""
    return least if not 1e-9 < size < 1 else max(least, more - math.floor(math.log10(size)))


def json_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Fields as JSON knows them: an infinite number is text, and NaN is None.

    >>> json_values({"value": math.inf, "low": math.nan, "n": 10})
    {'value': 'inf', 'low': None, 'n': 10}
    """
    return {name: _json_value(value) for name, value in values.items()}


def _json_value(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(float(value))
    return value
