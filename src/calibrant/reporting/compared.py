"""What compare_reports returns, and its forms: Markdown, JSON and a page without scripts."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from ..util.files import write_atomic
from ..util.results import frame_of, html_lines, html_table, number
from .content import Report
from .forms import form_of, plain_values, text_in
from .interactive import shown
from .plain import chance_cell, escaped, line, points, provenance_lines, span, table_of
from .verdict import rounded_up
from .words import level_text, percent

__all__ = ["ComparedDifference", "ComparedMetric", "ReportComparison", "Side"]


@dataclass(frozen=True)
class Side:
    """One side of the comparison: a model, a period, or before and after."""

    name: str
    rows: int
    says: float | None
    happens: float | None
    lens: str
    """What both are about."""
    pvalue: float | None
    """Of the verdict's test."""
    adjusted: float | None
    """Corrected for the number of sides."""
    found: bool | None
    """Whether a deviation is unlikely to be chance, after the correction."""
    detectable: float | None
    """The smallest difference of both that so many rows show with a probability of 0.8."""


@dataclass(frozen=True)
class ComparedDifference:
    """A metric of the first model minus that of the second, on the same rows."""

    first: str
    second: str
    difference: float
    low: float
    high: float
    pvalue: float
    adjusted: float
    """Corrected for the number of differences of the metric."""
    found: bool


@dataclass(frozen=True)
class ComparedMetric:
    """One metric of all models, and every difference."""

    id: str
    name: str
    ideal: float | None
    lower_is_better: bool
    values: Mapping[str, float]
    differences: tuple[ComparedDifference, ...]
    rows: int
    n_resamples: int = 0
    reason: str = ""
    """Why it could not be compared."""


class Table(NamedTuple):
    """A table of texts; the first `words` columns and the last `after` are words, the rest numbers."""

    heading: str
    text: str
    headings: list[str]
    rows: list[list[str]]
    words: int
    after: int = 0


@dataclass(frozen=True)
class ReportComparison:
    """Several reports side by side."""

    title: str
    kind: str
    sentence: str
    sides: tuple[Side, ...]
    """One line for each side."""
    metrics: tuple[ComparedMetric, ...]
    """Differences on the same rows; empty for periods, which have different ones."""
    reports: tuple[Report, ...]
    alpha: float
    level: float
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values under stable keys."""
        found = plain_values(self)
        assert isinstance(found, dict)
        return found

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    def to_frame(self) -> Any:
        """One row for each side and metric of its report, as a frame of the library at hand."""
        rows = [(report.title, row) for report in self.reports for row in report.metrics.rows]
        names = ("id", "value", "low", "high", "pvalue", "lens", "reason")
        columns: dict[str, list[Any]] = {"name": [name for name, _ in rows]}
        columns |= {name: [getattr(row, name) for _, row in rows] for name in names}
        return frame_of(columns)

    def to_markdown(self) -> str:
        """The comparison to read as text."""
        lines = [f"# {line(self.title)}", "", f"**{escaped(self.sentence)}**", ""]
        for table in self._tables():
            rows = [[escaped(cell, 80) for cell in row] for row in table.rows]
            lines += [f"## {table.heading}", "", table.text, ""]
            heads = [escaped(cell, 80) for cell in table.headings]
            lines += [*table_of(heads, rows, range(table.words, len(table.headings) - table.after)), ""]
        lines += [*(f"- {line(note)}" for note in self.notes), ""] if self.notes else []
        for report in self.reports:
            lines += [f"## {line(report.title)}", "", escaped(report.verdict.sentence), ""]
            lines += [*provenance_lines(report.provenance, report.verdict), ""]
        return "\n".join(lines).rstrip() + "\n"

    def to_html(self) -> str:
        """One self-contained page without scripts."""
        body = [f"<h1><bdi>{_text(self.title)}</bdi></h1>", f"<p><strong>{_text(self.sentence)}</strong></p>"]
        for table in self._tables():
            rows = [[shown(cell) for cell in row] for row in table.rows]
            body += [f"<h2>{_text(table.heading)}</h2>", f"<p>{_text(table.text)}</p>"]
            body.append(html_table([shown(cell) for cell in table.headings], rows))
        body += [f"<p>{_text(note)}</p>" for note in self.notes]
        for report in self.reports:
            body += [f"<h2><bdi>{_text(report.title)}</bdi></h2>", f"<p>{_text(report.verdict.sentence)}</p>"]
            origin = report.provenance
            body.append(
                f"<p>{origin.size}, fingerprint {_text(origin.fingerprint)}, seed {origin.seed}, "
                f"calibrant {_text(origin.calibrant)}</p>"
            )
        return PAGE.format(title=_text(self.title), body="\n".join(body))

    def write(self, path: str | os.PathLike[str], *, format: str | None = None) -> Path:
        """Write it, whole or not at all; the suffix (.html, .md or .json) or `format` says as what."""
        return write_atomic(path, text_in(self, form_of(path, format)).encode())

    def _tables(self) -> list[Table]:
        tables = [self._sides(), self._values()]
        return [*tables, self._differences()] if self.metrics else tables

    def _sides(self) -> Table:
        rows = [
            [
                side.name,
                f"{side.rows:,}",
                percent(side.says),
                percent(side.happens),
                points(_minus(side.says, side.happens)),
                chance_cell(side.adjusted),
                "-" if side.detectable is None else rounded_up(100 * side.detectable),
                JUDGED[side.found],
            ]
            for side in self.sides
        ]
        text = (
            "What was said on average and how often it was so; gaps in percentage points, + is too high. P-values of the verdict's "
            "test are corrected for the number of lines by Holm's method. A mean gap of the size in the column before the last would "
            "have been noticed by it with a probability of 80% or more."
        )
        heads = ["", "rows", "says", "happens", "gap", "corrected p-value", "noticeable gap", "judgement"]
        return Table("Side by side", text, heads, rows, 1, 1)

    def _values(self) -> Table:
        ids = list(dict.fromkeys(row.id for report in self.reports for row in report.metrics.rows))
        rows = []
        for report in self.reports:
            found = {row.id: row for row in report.metrics.rows}
            cells = [
                "-"
                if id not in found or found[id].value is None
                else _with_span(found[id].value, found[id].low, found[id].high)
                for id in ids
            ]
            rows.append([report.title, *cells])
        text = f"Each metric on all rows, with its {level_text(self.level)} interval."
        return Table("Metrics", text, ["", *ids], rows, 1)

    def _differences(self) -> Table:
        rows = []
        for metric in self.metrics:
            if metric.reason:
                rows.append([metric.id, f"not compared: {metric.reason}", "-", "-", "-", "-"])
            for each in metric.differences:
                judged = "unlikely to be chance" if each.found else "could be chance"
                pair = f"{each.first} minus {each.second}"
                numbers = [number(each.difference), span(each.low, each.high), chance_cell(each.adjusted)]
                rows.append([metric.id, pair, *numbers, judged])
        text = (
            "Every resample takes the same rows of all. Below 0 the first has the lower value, which is better for a metric whose ideal "
            "is 0 and that has no sign. P-values are corrected for the number of differences of each metric by Holm's method."
        )
        heads = [
            "metric",
            "difference",
            "value",
            f"{level_text(self.level)} interval",
            "corrected p-value",
            "judgement",
        ]
        return Table("Differences", text, heads, rows, 2, 1)

    def __repr__(self) -> str:
        lines = [f"{p.name}: {p.rows:,} rows, says {percent(p.says)}, happens {percent(p.happens)}" for p in self.sides]
        return "\n".join([self.title, *(f"  {text}" for text in lines), self.sentence])

    def _repr_html_(self) -> str:
        table = self._sides()
        return html_lines(repr(self)) + html_table(table.headings, table.rows)


JUDGED = {True: "unlikely to be chance", False: "could be chance", None: "no test"}
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}}\
table{{border-collapse:collapse;display:block;overflow-x:auto}}td,th{{padding:.3rem .7rem;border-bottom:1px solid #ccc;text-align:left}}</style>
</head>
<body>
{body}
</body>
</html>
"""


def _text(text: object) -> str:
    return escape(shown(text, None))


def _minus(says: float | None, happens: float | None) -> float | None:
    return None if says is None or happens is None else says - happens


def _with_span(value: float | None, low: float | None, high: float | None) -> str:
    known = number(value)
    return known if low is None or high is None else f"{known} ({span(low, high)})"
