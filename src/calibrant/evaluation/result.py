"""What evaluate returns: a header, one result for each metric, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from ..errors import ArgumentError, CalibrantError, InPython
from ..metrics.registry import Metric, catalogue
from ..util.results import Result as Base
from ..util.results import html_table, number, percent, text_table

__all__ = [
    "ALPHA",
    "NOTHING",
    "Evaluation",
    "Header",
    "Result",
    "Skipped",
    "shown_direction",
    "shown_number",
    "side_note",
]

# Beyond so many groups each has a line of its own, which holds so many metrics.
COLUMNS = 8
# What rounding leaves of 0.
NOTHING = 1e-12
# Level at which a direction is significant.
ALPHA = 0.05


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
    event_says: float | None = None
    """For two classes, the mean probability of the positive one; its share in `prevalence` is how often it happens."""
    chance: float | None = None
    """Standard error of `accuracy`, and for two classes of the prevalence, if the scores are right."""
    positive: str = ""
    """For two classes, the name of the positive one, where it has one."""

    @property
    def direction(self) -> str:
        """What the model says and how often it is right; surer or less sure only where chance hardly explains the difference."""
        if self.accuracy is None or self.mean_confidence is None:
            return ""
        said = f"says {percent(self.mean_confidence)}, is right {percent(self.accuracy)}"
        return self._judged(said, self.mean_confidence - self.accuracy, "overconfident", "underconfident")

    @property
    def event(self) -> str:
        """For two classes, what is said of the positive one and how often it happens, in the same way."""
        if self.event_says is None:
            return ""
        happens = self.prevalence[1]
        said = f"the positive class is given {percent(self.event_says)}, happens {percent(happens)}"
        return self._judged(said, self.event_says - happens, "probabilities too high", "probabilities too low")

    def _judged(self, said: str, gap: float, over: str, under: str) -> str:
        if self.chance is None:
            return said
        # Half a row makes up for the steps in which numbers of few events move.
        if abs(gap) <= max(2 * self.chance + 0.5 / max(self.n, 1), NOTHING):
            return f"{said}: within chance"
        return f"{over if gap > 0 else under}: {said}"

    def lines(self) -> list[str]:
        """The header as text."""
        rows = f"{self.n:,} row{'' if self.n == 1 else 's'}" + (
            "" if self.weight == self.n else f" (weight {self.weight:,.6g})"
        )
        first = f"{rows}, {self.classes} classes" if self.kind in ("binary", "multiclass") else f"{rows}, {self.kind}"
        if self.kind == "binary":
            first += f", positive class {self.positive}" if self.positive else ""
            first += f", prevalence {self.prevalence[1]:.4g}"
        parts = [f"accuracy {self.accuracy:.4f}"] if self.accuracy is not None else []
        parts += [f"top-{k} accuracy {value:.4f}" for k, value in self.top_k_accuracy.items()]
        parts += [f"mean confidence {self.mean_confidence:.4f}"] if self.mean_confidence is not None else []
        return [line for line in (first, ", ".join(parts), self.direction, self.event) if line]


@dataclass(frozen=True)
class Result:
    """One metric of an evaluation; where it has no value, `reason` says why."""

    metric: str
    name: str
    value: float | None
    lens: str
    ideal: float | None
    direction: str
    """Over- or underconfident, over- or underestimated, where that is statistically significant at 5 %; empty otherwise."""
    reason: str = ""
    low: float | None = None
    high: float | None = None
    """The ends of its confidence interval, where one was asked for."""
    pvalue: float | None = None
    """How often chance alone gives such a value, where that was asked for."""
    note: str = ""
    """What to know about the interval or the p-value, or why there is none."""
    error: CalibrantError | None = field(default=None, repr=False, compare=False)
    """The error that `reason` is the text of."""


@dataclass(frozen=True)
class Skipped:
    """A metric that the budget left out, what it would have cost, and why."""

    metric: str
    seconds: float
    reason: str = "exceeding the time budget"


@dataclass(frozen=True, repr=False)
class Evaluation(Base):
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
        raise ArgumentError(
            "metric", f"{wanted!r} was not evaluated", InPython(f"call evaluate(..., metrics=[{wanted!r}])")
        )

    def _fields(self) -> dict[str, Any]:
        header = {**vars(self.header), "direction": self.header.direction, "event": self.header.event}
        return {"header": header, "metrics": self.results, "groups": self.groups, "left_out": self.left_out}

    def _columns(self) -> dict[str, list[Any]]:
        """One row for each metric and group; all rows are the group `name_of_all`."""
        parts = [(str(name), part) for name, part in [(self.name_of_all, self), *self.groups.items()]]
        rows = [{"group": name, "n": part.header.n, **vars(result)} for name, part in parts for result in part.results]
        columns = [column.name for column in fields(Result) if column.repr]
        return {key: [row[key] for row in rows] for key in ("group", "n", *columns)}

    @property
    def name_of_all(self) -> str:
        """What all rows are called beside the groups: ``"all"``, in brackets where a group has that name."""
        name, taken = "all", {str(group) for group in self.groups}
        while name in taken:
            name = f"({name})"
        return name

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and rows of text; interval and p-value stand beside the value that they are of, then a few groups in a column each."""
        beside = {} if self.has_many_groups else self.groups
        rows = []
        for position, result in enumerate(self.results):
            cells = [shown_number(part.results[position].value) for part in beside.values()]
            own = [shown_number(result.value), *self._inferred(result)]
            rows.append([result.metric, result.name, *own, *cells, result.lens, result.reason or result.direction])
        value = self.name_of_all if self.groups else "value"
        return ["metric", "name", value, *self._inferred(None), *map(str, beside), "lens", ""], rows

    @property
    def has_many_groups(self) -> bool:
        """Whether they are too many for a column each."""
        return len(self.groups) > COLUMNS

    def group_table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and rows of text: a row for each group, with as many metrics as a line holds."""
        rows = [
            [str(name), f"{part.header.n:,}", *(shown_number(found.value) for found in part.results[:COLUMNS])]
            for name, part in self.groups.items()
        ]
        return ["group", "rows", *(found.metric for found in self.results[:COLUMNS])], rows

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
        if self.has_many_groups and len(self.results) > COLUMNS:
            lines.append(f"of each group {COLUMNS} of {len(self.results)} metrics are shown")
        for reason in dict.fromkeys(skipped.reason for skipped in self.left_out):
            listed = ", ".join(f"{s.metric} (about {s.seconds:.3g} s)" for s in self.left_out if s.reason == reason)
            lines.append(f"left out, {reason}: {listed}")
        for note in dict.fromkeys(result.note for result in self.results if result.note):
            listed = ", ".join(result.metric for result in self.results if result.note == note)
            lines.append(f"{listed}: {note}")
        return lines + self._reasons()

    def _reasons(self) -> list[str]:
        """Why groups lack values that all rows have."""
        lacking: dict[tuple[str, str], list[str]] = {}
        for place, whole in enumerate(self.results):
            groups: dict[str, list[str]] = {}
            for name, part in self.groups.items():
                result = part.results[place]
                if result.value is None and whole.value is not None:
                    groups.setdefault(result.reason.removeprefix(f"{result.metric}: "), []).append(str(name))
            for reason, names in groups.items():
                lacking.setdefault((_few(names), reason), []).append(whole.metric)
        return [f"{', '.join(metrics)} of {names}: {reason}" for (names, reason), metrics in lacking.items()]

    def __repr__(self) -> str:
        headings, rows = self.table()
        lines = text_table(headings, rows, range(2, len(headings) - 2))
        if self.has_many_groups:
            headings, rows = self.group_table()
            lines += ["", *text_table(headings, rows, range(1, len(headings)))]
        return "\n".join([self._title(), "", *lines, *self.notes()])

    def _repr_html_(self) -> str:
        return super()._repr_html_() + (html_table(*self.group_table()) if self.has_many_groups else "")

    def _title(self) -> str:
        return "\n".join(self.header.lines())

    def _table(self) -> tuple[list[str], list[list[str]]]:
        return self.table()

    def _notes(self) -> list[str]:
        return self.notes()


def _few(names: list[str]) -> str:
    """The first of many names.

    >>> _few(["north", "south"]), _few(list("abcdefghij"))
    ('north, south', 'a, b, c, d, e, f, g, h and 2 more')
    """
    more = f" and {len(names) - COLUMNS} more" if len(names) > COLUMNS else ""
    return ", ".join(names[:COLUMNS]) + more


def _cell(value: float | None, key: str) -> str:
    if value is None:
        return ""
    if key == "pvalue":
        return f"{value:.3g}" if value >= 0.001 else "< 0.001"
    return shown_number(value)


def shown_number(value: float | None, digits: int = 4) -> str:
    """A number as text, where what rounding leaves of 0 is 0.

    >>> shown_number(-1.11e-15), shown_number(0.25)
    ('0', '0.2500')
    """
    return number(0.0 if value is not None and abs(value) < NOTHING else value, digits)


def shown_direction(metric: Metric, result: Result, evidence: bool | None) -> str:
    """The direction in which a value points, where there is evidence for it.

    The p-value decides where there is one; one that asks about overconfidence only says nothing of the other side. Then `evidence`,
    whether a two-sided test rejects, and then whether the interval leaves the ideal out.
    """
    value, ideal = result.value, metric.ideal
    if value is None or ideal is None:
        return ""
    sides = {"two-sided": True, "greater": value > ideal, "less": value < ideal}
    if result.pvalue is not None and sides[metric.alternative]:
        known = result.pvalue <= ALPHA
    elif evidence is not None:
        known = evidence
    else:
        known = result.low is not None and result.high is not None and not result.low <= ideal <= result.high
    return metric.direction(value, result.lens) if known else ""


def side_note(metric: Metric, lens: str, alternative: str) -> str:
    """What the p-value of a metric with a sign leaves out; empty where it looks at both sides."""
    if not metric.signed or metric.ideal is None or alternative == "two-sided":
        return ""
    over = metric.direction(metric.ideal + (1 if alternative == "greater" else -1), lens)
    if not over:
        return ""
    asked = {"overconfident": "overconfidence", "underconfident": "underconfidence"}.get(over)
    if asked is None and over.startswith("too"):
        asked = f"forecasts that are {over}"
    asked = asked or f"scores that are too {'high' if over.startswith('over') else 'low'}"
    return f"one-sided: asks only about {asked}"
