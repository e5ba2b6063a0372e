"""What evaluate returns: a header, one result for each metric, and what was left out."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from ._results import frame_of, html_table, number, text_table
from .errors import ArgumentError, CalibrantError
from .registry import catalogue

__all__ = ["Evaluation", "Header", "Result", "Skipped"]


@dataclass(frozen=True)
class Header:
    """What to know before reading a number: how many rows, which classes, how often right, how sure."""

    n: int
    weight: float
    kind: str
    classes: int
    prevalence: tuple[float, ...]
    """Share of each class (of each label, for multilabel; of right answers, where only confidences are known)."""
    accuracy: float | None
    top_k_accuracy: dict[int, float]
    mean_confidence: float | None

    @property
    def direction(self) -> str:
        """Whether the model is surer than it is right, in words."""
        if self.accuracy is None or self.mean_confidence is None:
            return ""
        gap = self.mean_confidence - self.accuracy
        if abs(gap) < 5e-4:
            return "as sure as it is right"
        return (
            f"{'over' if gap > 0 else 'under'}confident: says {self.mean_confidence:.1%}, is right {self.accuracy:.1%}"
        )

    def lines(self) -> list[str]:
        """The header as text."""
        rows = f"{self.n:,} rows" + ("" if self.weight == self.n else f" (weight {self.weight:,.6g})")
        first = f"{rows}, {self.classes} classes" if self.kind in ("binary", "multiclass") else f"{rows}, {self.kind}"
        if self.kind == "binary":
            first += f", prevalence {self.prevalence[1]:.4g}"
        parts = [f"accuracy {self.accuracy:.4f}"] if self.accuracy is not None else []
        parts += [f"top-{k} accuracy {value:.4f}" for k, value in self.top_k_accuracy.items()]
        parts += [f"mean confidence {self.mean_confidence:.4f}"] if self.mean_confidence is not None else []
        return [line for line in (first, ", ".join(parts), self.direction) if line]


@dataclass(frozen=True)
class Result:
    """One metric of an evaluation; where it has no value, `reason` says why."""

    metric: str
    name: str
    value: float | None
    lens: str
    ideal: float | None
    direction: str
    reason: str = ""
    low: float | None = None
    high: float | None = None
    """The ends of its confidence interval, where one was asked for."""
    pvalue: float | None = None
    """How often chance alone gives such a value, where that was asked for."""
    note: str = ""
    """What to know about the interval or the p-value, or why there is none."""


@dataclass(frozen=True)
class Skipped:
    """A metric that the budget left out, what it would have cost, and why."""

    metric: str
    seconds: float
    reason: str = "its time does not fit into the budget"


@dataclass(frozen=True)
class Evaluation:
    """Metrics of one set of predictions, and of each group of rows where `by` was given."""

    header: Header
    results: tuple[Result, ...]
    groups: dict[Any, Evaluation]
    left_out: tuple[Skipped, ...] = ()

    def __getitem__(self, metric: str) -> float:
        """The value of a metric by id or alias; raises its reason where it has none."""
        wanted = catalogue[metric].id
        for result in self.results:
            if result.metric == wanted:
                if result.value is None:
                    raise CalibrantError(wanted, result.reason)
                return result.value
        raise ArgumentError("metric", f"{wanted!r} was not evaluated", f"evaluate(..., metrics=[{wanted!r}])")

    def to_dict(self) -> dict[str, Any]:
        """Plain values under stable keys; an infinite value is the text ``"inf"``, so that the result is valid JSON."""
        header = {**asdict(self.header), "direction": self.header.direction}
        header["top_k_accuracy"] = {str(k): value for k, value in self.header.top_k_accuracy.items()}
        header["prevalence"] = list(self.header.prevalence)
        return {
            "header": header,
            "metrics": [
                {**asdict(result), **{key: _json_number(getattr(result, key)) for key in NUMBERS}}
                for result in self.results
            ],
            "groups": {str(name): part.to_dict() for name, part in self.groups.items()},
            "left_out": [asdict(skipped) for skipped in self.left_out],
        }

    def to_frame(self) -> Any:
        """One row for each metric and group, as a frame of the library at hand; the group of all rows is ``"all"``."""
        columns: dict[str, list[Any]] = {key: [] for key in ("group", "n", *Result.__dataclass_fields__)}
        for name, part in [("all", self), *self.groups.items()]:
            for result in part.results:
                for key, value in {"group": str(name), "n": part.header.n, **asdict(result)}.items():
                    columns[key].append(value)
        return frame_of(columns)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and rows of text; with groups, a column for each."""
        parts: list[tuple[str, Evaluation]] = [("all" if self.groups else "value", self)]
        parts += [(str(name), part) for name, part in self.groups.items()]
        rows = []
        for position, result in enumerate(self.results):
            cells = [number(part.results[position].value) for _, part in parts]
            words = result.reason or result.direction
            rows.append([result.metric, result.name, *cells, *self._inferred(result), result.lens, words])
        return ["metric", "name", *(name for name, _ in parts), *self._inferred(None), "lens", ""], rows

    def _inferred(self, result: Result | None) -> list[str]:
        """Cells for interval and p-value (headings without a result), where any result has them."""
        cells = []
        for key, heading in (("low", "low"), ("high", "high"), ("pvalue", "p-value")):
            if any(getattr(r, key) is not None for r in self.results):
                cells.append(heading if result is None else _cell(getattr(result, key), key))
        return cells

    def notes(self) -> list[str]:
        """What was left out, in words."""
        lines = []
        for reason in dict.fromkeys(skipped.reason for skipped in self.left_out):
            listed = ", ".join(f"{s.metric} (about {s.seconds:.3g} s)" for s in self.left_out if s.reason == reason)
            lines.append(f"left out, {reason}: {listed}")
        for note in dict.fromkeys(result.note for result in self.results if result.note):
            listed = ", ".join(result.metric for result in self.results if result.note == note)
            lines.append(f"{listed}: {note}")
        return lines

    def __repr__(self) -> str:
        headings, rows = self.table()
        lines = text_table(headings, rows, range(2, len(headings) - 2))
        return "\n".join([*self.header.lines(), "", *lines, *self.notes()])

    def _repr_html_(self) -> str:
        from html import escape

        lines = "<br>".join(escape(line) for line in [*self.header.lines(), *self.notes()])
        return f"<p>{lines}</p>" + html_table(*self.table())


def _json_number(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else str(value)


# What may be infinite.
NUMBERS = ("value", "ideal", "low", "high")


def _cell(value: float | None, key: str) -> str:
    if value is None:
        return ""
    if key == "pvalue":
        return f"{value:.3g}" if value >= 0.001 else "< 0.001"
    return number(value)
