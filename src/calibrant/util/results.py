"""Base classes of results: export to plain values and data frames, and representation as text and HTML."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import ArgumentError, MissingDependencyError

if TYPE_CHECKING:
    from pathlib import Path


class Result:
    """Base of results. Subclasses are ``@dataclass(frozen=True, repr=False)``; their fields give every export.

    A subclass lists in `_hidden` the fields that are not exported, such as resamples, and states its `_title` and `_table`
    (headings and rows of text); `_columns` where its frame has more than the one row of its scalar fields.
    """

    _hidden: ClassVar[tuple[str, ...]] = ()
    _formats: ClassVar[tuple[str, ...]] = ()
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

    def save(self, path: str | os.PathLike[str], *, format: str | None = None) -> Path:
        """Write the result to a file, atomically; the suffix determines the format.

        It is for people and other programs; a calibrator that is to be loaded again is written by `calibrant.save`.

        Parameters
        ----------
        path : str or path-like
            File to write. ``.json`` has the values of `to_dict`; ``.csv`` and ``.parquet`` the table of `to_frame`; ``.html`` and ``.md``
            what a notebook shows. A result with a method ``plot`` is drawn to ``.svg``, ``.png`` and ``.pdf``.
        format : {"json", "csv", "parquet", "html", "md", "svg", "png", "pdf"}, optional
            Format, where the suffix does not determine it.

        Returns
        -------
        pathlib.Path
            The file written.
        """
        from .files import write_atomic

        known = (*TEXTS, *TABLES, *self._formats, *(PICTURES if hasattr(self, "_picture") else ()))
        return write_atomic(path, self._content(format_of(path, format, known)))

    def _content(self, format: str) -> bytes:
        """Return the content of a file of this format."""
        if format in PICTURES:
            return self._picture(format)  # type: ignore[attr-defined]
        if format == "parquet":
            return _parquet(self.to_frame())
        if format == "csv":
            return _csv(self._columns())
        return {"json": self.to_json, "html": self._page, "md": self._markdown}[format]().encode()

    def to_json(self) -> str:
        """Render the values of `to_dict` as JSON.

        Returns
        -------
        str
            JSON text.
        """
        return json_text(self.to_dict())

    def _page(self) -> str:
        """Return an HTML page."""
        title = (self._title().split("\n")[0] or type(self).__name__).strip()
        return PAGE.format(title=escape(title), body=self._repr_html_())

    def _markdown(self) -> str:
        """Return Markdown."""
        headings, rows = self._table()
        if not headings:
            return f"```text\n{self!r}\n```\n"
        said = [line for text in (self._title(), *self._dropped_lines()) for line in text.split("\n") if line.strip()]
        notes = [line for text in self._notes() for line in text.split("\n") if line.strip()]
        # Two spaces at its end keep a line apart from the next.
        parts = ["  \n".join(map(markdown_text, lines)) for lines in (said, notes)]
        parts.insert(1, "\n".join(markdown_table(headings, rows)))
        return "\n\n".join(part for part in parts if part) + "\n"

    def _fields(self) -> dict[str, Any]:
        """Return the exported fields; subclasses can add properties."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in self._hidden}  # type: ignore[arg-type]

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns of the frame: by default one row of the scalar fields."""
        many = (list, tuple, Mapping)
        scalars = {name: value for name, value in self._fields().items() if not isinstance(value, many)}
        return {name: [value] for name, value in scalars.items() if not getattr(value, "ndim", 0)}

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


TEXTS, TABLES, PICTURES = ("json", "html", "md"), ("csv", "parquet"), ("svg", "png", "pdf")
SUFFIXES = {".htm": "html", ".markdown": "md", ".pq": "parquet"}
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>:root{{color-scheme:light dark}}body{{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}}\
table{{border-collapse:collapse;display:block;overflow-x:auto;margin:1rem 0}}td,th{{padding:.3rem .7rem;border-bottom:1px solid #8884;text-align:left}}</style>
</head>
<body>
{body}
</body>
</html>
"""


def format_of(path: str | os.PathLike[str], format: str | None, known: Sequence[str]) -> str:
    """Return the format of a file: `format`, or the one of the suffix."""
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError("path", f"must be the name of a file; got {path!r}")
    if format is not None:
        if format not in known:
            raise ArgumentError("format", f"must be {_either(map(repr, known))}; got {format!r}")
        return format
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    found = SUFFIXES.get(suffix, suffix.removeprefix("."))
    if found not in known:
        problem = f"the format of {os.fspath(path)!r} is unknown"
        raise ArgumentError("path", problem, f"end it in {_either(f'.{name}' for name in known)}")
    return found


def _either(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}"


def _csv(columns: Mapping[str, Sequence[Any]]) -> bytes:
    """A table as CSV: numbers with all their digits, missing ones empty, lists as JSON."""
    import csv
    import io
    import json

    def cell(value: Any) -> Any:
        value = plain_value(value)
        return json.dumps(value, default=str) if isinstance(value, list | dict) else value

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([[cell(value) for value in row] for row in zip(*columns.values(), strict=True)])
    return stream.getvalue().encode()


def _parquet(frame: Any) -> bytes:
    import io

    import narwhals.stable.v2 as nw

    stream = io.BytesIO()
    try:
        nw.from_native(frame, eager_only=True).write_parquet(stream)
    except ImportError as error:  # pandas writes it with pyarrow
        raise MissingDependencyError("path", "a Parquet file requires pyarrow", "run pip install pyarrow") from error
    return stream.getvalue()


def markdown_text(text: str) -> str:
    """Text as a line of Markdown, in which it changes nothing.

    >>> print(markdown_text("a|b <c>"))
    a\\|b \\<c>
    """
    marked = "".join(f"\\{c}" if c in "\\`*_|<[]" else c for c in " ".join(text.split()))
    return f"\\{marked}" if marked[:1] in ("#", ">", "+", "-", "=") else marked


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """Lines of a Markdown table; every cell is escaped."""
    lines = [[markdown_text(str(cell)) for cell in row] for row in (headings, *rows)]
    return [f"| {' | '.join(cells)} |" for cells in (lines[0], ["---"] * len(headings), *lines[1:])]


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
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value) if field.repr or field.compare}
    if isinstance(value, Mapping):
        return {str(name): plain_value(inner) for name, inner in value.items()}
    return [plain_value(inner) for inner in value] if isinstance(value, list | tuple) else value


def json_text(value: Any) -> str:
    """A value as a JSON document; what JSON does not know is text."""
    import json

    return json.dumps(plain_value(value), indent=2, allow_nan=False, default=str) + "\n"


# Text of a number, a bound, or a missing value.
NUMBER = re.compile(r"([<≤] )?[-+]?[\d,]*\.?\d*(e[-+]\d+)?%?|-?inf")
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


def pvalue_text(value: float, least: float = 0.0, digits: int = 4, smallest: float = SMALLEST_PVALUE) -> str:
    """Format a p-value; at the least that its resamples can have, and below the smallest that is shown, as a bound.

    >>> pvalue_text(0.03214, digits=3), pvalue_text(1 / 201, least=1 / 201), pvalue_text(1e-9, smallest=0.001)
    ('0.0321', '< 0.005', '< 0.001')
    """
    if math.isnan(value):
        return "-"
    if least and math.isclose(value, least, rel_tol=1e-9):
        unit = 10.0 ** math.floor(math.log10(least))
        bound = max(math.ceil(least / unit - 1e-6) * unit, smallest)
        return f"{'<' if least < bound * (1 - 1e-9) else '≤'} {bound:.3g}"
    return f"{value:.{digits}g}" if value >= smallest else f"< {smallest:g}"


def pvalue_clause(value: float, least: float = 0.0) -> str:
    """Format a p-value within a sentence, with three digits.

    >>> pvalue_clause(0.03214), pvalue_clause(1e-9), pvalue_clause(1 / 201, least=1 / 201)
    ('p = 0.0321', 'p < 0.001', 'p < 0.005')
    >>> pvalue_clause(0.001, least=0.001)
    'p ≤ 0.001'
    """
    text = pvalue_text(value, least, 3, 0.001)
    return f"p {text}" if text[0] in "<≤" else f"p = {text}"


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
    """Format an HTML table for notebooks; every cell is escaped, and columns of numbers are right-aligned."""
    columns = list(zip(*rows, strict=True)) or [()] * len(headings)
    sides = ["right" if all(NUMBER.fullmatch(str(cell)) for cell in column) else "left" for column in columns]

    def line(tag: str, cells: Sequence[Any]) -> str:
        pairs = zip(sides, (escape(str(cell)) for cell in cells), strict=True)
        texts = (f'<{tag} style="text-align:{side}">{text}</{tag}>' for side, text in pairs)
        return f"<tr>{''.join(texts)}</tr>"

    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "".join(line("td", row) for row in rows)
    return f"<table>{title}<thead>{line('th', headings)}</thead><tbody>{body}</tbody></table>"


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
