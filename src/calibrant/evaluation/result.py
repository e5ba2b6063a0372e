"""The result of `evaluate`: a header that describes the data, one result per metric, and the metrics left out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from ..errors import ArgumentError, CalibrantError
from ..metrics.registry import catalogue
from ..util.results import Result, html_lines, html_table, number, percent, pvalue_text, several, text_table
from .confidence import ConfidenceDistribution

# The largest number of metrics in the row of a group, and of groups that a note lists.
COLUMNS = 8
# Of groups with intervals or p-values, the number of metrics that have a table each, and the number of groups in it.
DETAILED = 3
WORST = 10
# The beginnings of notes that state why there is no interval or p-value.
LACKING = ("no interval", "no p-value", "resampling ")
# Intervals of groups with fewer rows are said to be unreliable.
SMALL = 10
# Values below this are rounding errors of 0.
NOTHING = 1e-12
# Significance level at which a direction is reported.
ALPHA = 0.05
NOT_SIGNIFICANT = "difference not significant"
Table = tuple[str, list[str], list[list[str]]]
"""Title, headings and rows of text."""


class Groups(dict[Any, Any]):
    """Results of groups by name; the error for an unknown name lists those that exist."""

    def __missing__(self, name: Any) -> Any:
        names = ", ".join(repr(known) for known in self) or "none"
        raise ArgumentError("groups", f"has no group {name!r}", f"the groups are {names}")


@dataclass(frozen=True)
class Header:
    """Description of the data: number of rows, and of events or classes, mean prediction, O/E and AUROC, or accuracy and mean confidence."""

    n: int
    weight: float
    kind: str
    classes: int
    prevalence: tuple[float, ...] = ()
    """Share of each class (of each label, for multilabel predictions; empty where only confidences are known)."""
    accuracy: float | None = None
    top_k_accuracy: dict[int, float] = field(default_factory=dict)
    mean_confidence: float | None = None
    event_mean_score: float | None = None
    """Mean predicted probability of the event: the positive class of two, or the class of the lens of a summary."""
    event_rate: float | None = None
    """Observed rate of the event."""
    standard_error: float | None = None
    """Standard error of `accuracy`, and for two classes of the prevalence, under the null hypothesis of calibration."""
    positive: str = ""
    """Name of the positive class of two; empty where the classes are 0 and 1."""
    outcome: str = ""
    """Name of the event that the positive class represents, such as ``churn``; empty where it has no name."""
    confidence: ConfidenceDistribution | None = None
    """Mean and quantiles of the confidence and, for two classes, of the probability of the positive class."""
    events: int | None = None
    """Number of rows of the event, with counts added up; None for soft labels."""
    auroc: float | None = None
    """Area under the ROC curve of the event; None where only one class occurs."""
    average_precision: float | None = None
    """Average precision of the event; None where only one class occurs."""

    @property
    def observed_expected(self) -> float | None:
        """Observed over expected number of events; None where no event is expected."""
        return (
            self.event_rate / self.event_mean_score if self.event_mean_score and self.event_rate is not None else None
        )

    @property
    def direction(self) -> str:
        """Mean confidence and accuracy; over- or underconfident only where the difference is statistically significant."""
        if self.accuracy is None or self.mean_confidence is None:
            return ""
        means = f"mean confidence {percent(self.mean_confidence)}, accuracy {percent(self.accuracy)}"
        return self._judged(means, self.mean_confidence - self.accuracy, "overconfident", "underconfident")

    @property
    def event(self) -> str:
        """Mean predicted probability and observed rate of the event, in the same form."""
        rate = self.event_rate
        if self.event_mean_score is None or rate is None:
            return ""
        name = f"P({self.outcome})" if self.outcome else "the positive class"
        means = f"mean predicted probability {percent(self.event_mean_score)}, observed rate {percent(rate)}"
        judged = self._judged(means, self.event_mean_score - rate, f"overestimates {name}", f"underestimates {name}")
        return judged if not judged.startswith(means) else f"{name}: {judged}" if self.outcome else judged

    def _judged(self, means: str, gap: float, over: str, under: str) -> str:
        if self.standard_error is None:
            return means
        # Half a row is the continuity correction for a small number of events.
        if abs(gap) <= max(2 * self.standard_error + 0.5 / max(self.n, 1), NOTHING):
            return f"{means} ({NOT_SIGNIFICANT})"
        return f"{over if gap > 0 else under}: {means}"

    @property
    def counts(self) -> str:
        """Number of rows, and of events or classes, with the prevalence of an event."""
        parts = [several(self.n, "row") + ("" if self.weight == self.n else f" (weight {self.weight:,.6g})")]
        if self.kind == "binary":
            parts += [f"positive class {self.positive}"] * bool(self.positive)
            parts += [] if self.events is None else [several(self.events, "event")]
            parts += [f"prevalence {self.prevalence[1] if self.event_rate is None else self.event_rate:.4g}"]
        else:
            parts.append(f"{self.classes} classes" if self.kind == "multiclass" else self.kind)
        return ", ".join(parts)

    def lines(self, sentences: bool = True) -> list[str]:
        """Return the header as lines of text; without `sentences`, the directions are left out and the means they state are numbers."""
        if self.event_mean_score is not None:
            return [self.counts, *self._event_lines(), *([self.event, self.direction] if sentences else [])]
        stated = sentences and bool(self.direction)
        parts = [f"accuracy {self.accuracy:.4f}"] if self.accuracy is not None and not stated else []
        parts += [f"top-{k} accuracy {value:.4f}" for k, value in self.top_k_accuracy.items()]
        parts += (
            [f"mean confidence {self.mean_confidence:.4f}"] if self.mean_confidence is not None and not stated else []
        )
        quantiles = [] if self.confidence is None else [f"confidence: {self.confidence.top_label.text}"]
        lines = [self.counts, self.direction if stated else "", ", ".join(parts), *quantiles]
        return [line for line in lines if line]

    def _event_lines(self) -> list[str]:
        """What a reader asks first about a predicted event; its accuracy depends on a threshold that nobody has chosen."""
        ratio = self.observed_expected
        parts = [f"mean predicted probability {number(self.event_mean_score)}"]
        parts += [f"O/E {number(ratio)}"] if ratio is not None else []
        parts += [f"AUROC {self.auroc:.4f}"] if self.auroc is not None else []
        lines = [", ".join(parts)]
        if self.confidence is not None and self.confidence.positive is not None:
            lines.append(f"P({self.outcome or 'positive class'}): {self.confidence.positive.text}")
        return lines


@dataclass(frozen=True)
class MetricResult:
    """Result of one metric; where it has no value, `reason` states why."""

    metric: str
    name: str
    value: float | None
    lens: str
    ideal: float | None
    direction: str
    """Over- or underconfident, over- or underestimates, where statistically significant at 5%; empty otherwise."""
    reason: str = ""
    low: float | None = None
    high: float | None = None
    """Ends of the confidence interval, where one was requested."""
    pvalue: float | None = None
    """P-value under the null hypothesis of calibration, where it was requested."""
    note: str = ""
    """Remark on the interval or the p-value, or the reason why there is none."""
    by_chance: float | None = None
    """Expected value if the predictions were calibrated, where p-values were requested; None where unknown."""
    adjusted: float | None = None
    """Of a group: p-value adjusted by Holm for all groups of this metric."""
    least_pvalue: float = field(default=0.0, repr=False, compare=False)
    """The smallest p-value that the simulations of the test can have; 0 for closed forms."""
    error: CalibrantError | None = field(default=None, repr=False, compare=False)
    """The error that `reason` is the text of."""


@dataclass(frozen=True)
class Skipped:
    """Metric that was left out among many, and the reason."""

    metric: str
    reason: str


@dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """Metrics of one set of predictions, and of each group where `by` was given.

    Returned by `evaluate`. ``result["ece"]`` is the value of a metric; `to_frame` has one row per metric and group.

    Parameters
    ----------
    header : Header
        Number of rows; for two classes the number of events, prevalence, mean prediction, O/E and AUROC; accuracy and mean confidence.
    results : tuple of MetricResult
        For each metric: ``metric`` (its id), ``name``, ``value``, ``lens``, ``ideal``, ``direction``, ``low``, ``high``, ``pvalue``,
        ``note``, ``by_chance``, and ``reason`` where it has no value.
    groups : dict
        Evaluation of each group, by its name.
    left_out : tuple of Skipped
        Metrics of ``"recommended"`` or ``"all"`` that compare all pairs of too many rows.
    remarks : tuple of str
        Remarks on the groups, such as fewer quantile groups than requested.
    grouping : str
        Of the evaluation of a group: what divides the rows, such as a column.
    group : object
        Of the evaluation of a group: its name within the grouping.
    n_resamples : int
        Number of resamples of intervals and simulated p-values, of all rows and groups; 0 without any.

    See Also
    --------
    evaluate : Compute it.

    Examples
    --------
    >>> import calibrant as cal
    >>> result = cal.evaluate([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], metrics=["brier"])
    >>> result.header.n, [each.metric for each in result.results]
    (4, ['brier'])
    """

    header: Header
    results: tuple[MetricResult, ...]
    groups: dict[Any, Evaluation]
    left_out: tuple[Skipped, ...] = ()
    remarks: tuple[str, ...] = ()
    grouping: str = ""
    group: Any = None
    n_resamples: int = 0

    def __getitem__(self, metric: str) -> float:
        """Return the value of a metric by id or alias, or of the header; raise the reason where it has none."""
        if metric in ("accuracy", "mean_confidence") and getattr(self.header, metric) is not None:
            return float(getattr(self.header, metric))
        wanted = catalogue[metric].id
        for result in self.results:
            if result.metric == wanted:
                if result.value is None:
                    raise CalibrantError(wanted, result.reason)
                return result.value
        raise ArgumentError("metric", f"{wanted!r} was not evaluated", f"call evaluate(..., metrics=[{wanted!r}])")

    def _fields(self) -> dict[str, Any]:
        derived = ("observed_expected", "direction", "event")
        header = {**vars(self.header), **{name: getattr(self.header, name) for name in derived}}
        place = {"grouping": self.grouping, "group": self.group} if self.grouping else {}
        header["n_resamples"] = self.n_resamples
        return {**place, "header": header, "metrics": self.results, "groups": self.groups, "left_out": self.left_out}

    def _columns(self) -> dict[str, list[Any]]:
        """One row per metric and group; the group of all rows is `name_of_all`."""
        places = range(len(self.results))
        if self.infers_groups:
            pairs = [(key, place) for place in places for key in self.worst_first(place)]
        else:
            pairs = [(key, place) for key in self.groups for place in places]
        rows = [
            {"grouping": "", "group": self.name_of_all, "n": self.header.n, **vars(result)} for result in self.results
        ]
        for key, place in pairs:
            part = self.groups[key]
            name = str(key if part.group is None else part.group)
            rows.append({"grouping": part.grouping, "group": name, "n": part.header.n, **vars(part.results[place])})
        columns = ("grouping", "group", "n", *(column.name for column in fields(MetricResult) if column.repr))
        return {column: [row[column] for row in rows] for column in columns}

    @cached_property
    def infers_groups(self) -> bool:
        """Whether the groups have intervals or p-values."""
        return any(r.low is not None or r.pvalue is not None for part in self.groups.values() for r in part.results)

    def worst_first(self, metric: str | int) -> list[Any]:
        """List the groups by the evidence that they are miscalibrated.

        Parameters
        ----------
        metric : str or int
            Id or alias of a metric, or its index in `results`.

        Returns
        -------
        list
            Keys of `groups`: in increasing order of the adjusted p-value, then of the p-value, then in decreasing order of the
            deviation from the value that is expected by chance. Groups without a p-value come last, in their own order.
        """
        place = metric
        if isinstance(place, str):
            self[place]  # raises where it was not evaluated
            place = [result.metric for result in self.results].index(catalogue[place].id)

        def rank(key: Any) -> tuple[float, float, float]:
            result = self.groups[key].results[place]
            if result.adjusted is None or result.pvalue is None or result.value is None:
                return (math.inf, math.inf, 0.0)
            expected = result.by_chance if result.by_chance is not None else result.ideal or 0.0
            gap = result.value - expected
            return (result.adjusted, result.pvalue, -abs(gap) if catalogue[result.metric].info.signed else -gap)

        return sorted(self.groups, key=rank)

    @property
    def name_of_all(self) -> str:
        """Name of all rows beside the groups: ``"all"``, in brackets where a group has that name."""
        name, taken = "all", {str(group) for group in self.groups}
        while name in taken:
            name = f"({name})"
        return name

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the results of all rows as a table of text.

        Returns
        -------
        headings : list of str
            Column headings.
        rows : list of list of str
            One row per metric: id, name, value, interval, expected value by chance and p-value where computed, lens, direction.
        """
        rows = []
        for result in self.results:
            reason = result.reason.removeprefix(f"{result.metric}: is ")  # the metric is named at the start of the row
            cells = [result.metric, result.name, shown_number(result.value), *self._inferred(result)]
            rows.append([*cells, result.lens, reason or result.direction])
        return ["metric", "name", "value", *self._inferred(None), "lens", ""], rows

    def group_tables(self) -> list[Table]:
        """Return the groups as tables of text.

        Returns
        -------
        list of tuple
            Title, headings and rows of each table. With intervals or p-values of at most three metrics, one table for each metric, the
            worst groups first, at most ten; else one table of the values of up to eight metrics.
        """
        if self.infers_groups and len(self.results) <= DETAILED:
            return [self._table_of(place) for place in range(len(self.results))]
        return [self._table_of_values()] if self.groups else []

    def _table_of_values(self) -> Table:
        """Return one row per group; where there are p-values, those with the smallest adjusted one first, and a star for at most 0.05."""
        tests = {
            key: [(r.adjusted, r.pvalue) for r in part.results if r.adjusted is not None and r.pvalue is not None]
            for key, part in self.groups.items()
        }
        is_tested = any(tests.values())
        rows = []
        for key in sorted(self.groups, key=lambda key: min(tests[key], default=(math.inf, math.inf))):
            row = [str(key), f"{self.groups[key].header.n:,}"]
            for result in self.groups[key].results[:COLUMNS]:
                star = "*" if result.adjusted is not None and result.adjusted <= ALPHA else " " * is_tested
                row.append(shown_number(result.value) + star)
            rows.append(row)
        headings = ["group", "rows", *(result.metric for result in self.results[:COLUMNS])]
        title = "groups, worst first; * p-value of at most 0.05, adjusted by Holm for the groups of each metric"
        return title if is_tested else "", headings, rows[:WORST] if self.infers_groups else rows

    def _table_of(self, place: int) -> Table:
        """Return the worst groups by one metric, with intervals and p-values."""
        metric = self.results[place].metric
        ranked = [(key, self.groups[key], self.groups[key].results[place]) for key in self.worst_first(place)]
        shown = {key: any(getattr(r, key) is not None for *_, r in ranked) for key in ("low", "by_chance", "pvalue")}
        headings = ["group", "rows", metric]
        headings += ["low", "high"] * shown["low"] + ["by chance"] * shown["by_chance"]
        headings += ["p-value", "adjusted"] * shown["pvalue"] + [""]
        rows = []
        for key, part, r in ranked[:WORST]:
            row = [str(key), f"{part.header.n:,}", shown_number(r.value)]
            row += [_cell(r.low), _cell(r.high)] * shown["low"]
            row += [_cell(r.by_chance)] * shown["by_chance"]
            row += [pvalue_cell(r.pvalue, r.least_pvalue), pvalue_cell(r.adjusted)] * shown["pvalue"]
            rows.append([*row, r.reason.removeprefix(f"{r.metric}: is ") or r.direction])
        tested = sum(r.adjusted is not None for *_, r in ranked)
        order = f", worst first; p-values adjusted by Holm for {several(tested, 'group')}" if tested else ""
        return f"{metric} by group{order}", headings, rows

    def _inferred(self, result: MetricResult | None) -> list[str]:
        """Cells of interval, expected value and p-value (headings if `result` is None), where any result has them."""
        cells = []
        for key, heading in (("low", "low"), ("high", "high"), ("by_chance", "by chance"), ("pvalue", "p-value")):
            if any(getattr(r, key) is not None for r in self.results):
                if result is None:
                    cells.append(heading)
                else:
                    is_pvalue = key == "pvalue"
                    value = getattr(result, key)
                    cells.append(pvalue_cell(value, result.least_pvalue) if is_pvalue else _cell(value))
        return cells

    def notes(self) -> list[str]:
        """List remarks: metrics left out, notes on intervals and p-values, and reasons for missing values.

        Returns
        -------
        list of str
            One sentence per remark.
        """
        lines = [*self.remarks, *self._limits()]
        for reason in dict.fromkeys(skipped.reason for skipped in self.left_out):
            listed = ", ".join(s.metric for s in self.left_out if s.reason == reason)
            lines.append(f"left out, {reason}: {listed}")
        by_note: dict[str, list[str]] = {}
        for result in self.results:
            by_note.setdefault(self._note(result), []).append(result.metric)
        lines += [f"{', '.join(metrics)}: {note}" for note, metrics in by_note.items() if note]
        return lines + self._group_notes()

    def _note(self, result: MetricResult) -> str:
        """The note on a result that the table does not state."""
        return result.note

    def _limits(self) -> list[str]:
        """Which groups and metrics the tables leave out, and the number of resamples."""
        at_least = "at least " if self.infers_groups else ""  # small p-values of groups are simulated again
        used = f"resampled intervals and simulated p-values use {at_least}{self.n_resamples:,} resamples"
        lines = [used] if self.n_resamples else []
        if self.groups and len(self.results) > COLUMNS:
            lines.append(f"{COLUMNS} of {len(self.results)} metrics are shown for each group")
        if self.infers_groups and len(self.results) > DETAILED:
            lines.append(f"intervals and p-values of the groups are shown for at most {DETAILED} metrics")
        if self.infers_groups and len(self.groups) > WORST:
            ranked = all(part.results[0].adjusted is not None for part in self.groups.values())
            lines.append(f"{'the worst ' if ranked else ''}{WORST} of {len(self.groups):,} groups are shown")
        return lines

    def _group_notes(self) -> list[str]:
        """Reasons why groups lack intervals or p-values, or values that exist for all rows, and groups that are too small for intervals."""
        lines = self._listed(lambda own, _: [note for note in own.note.split("; ") if note.startswith(LACKING)])
        small = [str(key) for key, part in self.groups.items() if part.header.n < SMALL]
        if small and any(r.low is not None for part in self.groups.values() for r in part.results):
            lines.append(f"{_few(small)}: fewer than {SMALL} rows, so that intervals are not reliable")
        return lines + self._listed(
            lambda own, whole: (
                [own.reason.removeprefix(f"{own.metric}: ")] if own.value is None is not whole.value else []
            )
        )

    def _listed(self, texts: Callable[[MetricResult, MetricResult], list[str]]) -> list[str]:
        """Return the texts on a result of a group and that of all rows, each once, with the metrics and groups that it applies to."""
        listed: dict[tuple[str, str], list[str]] = {}
        for place, whole in enumerate(self.results):
            groups: dict[str, list[str]] = {}
            for key, part in self.groups.items():
                for text in texts(part.results[place], whole):
                    groups.setdefault(text, []).append(str(key))
            for text, names in groups.items():
                listed.setdefault((_few(names), text), []).append(whole.metric)
        return [f"{', '.join(metrics)} of {names}: {text}" for (names, text), metrics in listed.items()]

    def __repr__(self) -> str:
        headings, rows = self.table()
        lines = text_table(headings, rows, numeric_columns(headings))
        for title, headings, rows in self.group_tables():
            lines += ["", *([title] if title else []), *text_table(headings, rows, numeric_columns(headings))]
        return "\n".join([self._title(), *self._dropped_lines(), "", *lines, *self.notes()])

    def _repr_html_(self) -> str:
        more = (html_lines(title) + html_table(headings, rows) for title, headings, rows in self.group_tables())
        return super()._repr_html_() + "".join(more)

    def _title(self) -> str:
        return "\n".join(self.header.lines())

    def _table(self) -> tuple[list[str], list[list[str]]]:
        return self.table()

    def _notes(self) -> list[str]:
        return self.notes()


def numeric_columns(headings: list[str]) -> range:
    """The columns of a table that are right-aligned: those between the names and the lens or direction."""
    return (
        range(2, len(headings) - 2)
        if headings[:2] == ["metric", "name"]
        else range(1, len(headings) - (not headings[-1]))
    )


def _few(names: list[str]) -> str:
    """Join the first names of a long list.

    >>> _few(["north", "south"]), _few(list("abcdefghij"))
    ('north, south', 'a, b, c, d, e, f, g, h and 2 more')
    """
    more = f" and {len(names) - COLUMNS} more" if len(names) > COLUMNS else ""
    return ", ".join(names[:COLUMNS]) + more


def pvalue_cell(value: float | None, least: float = 0.0) -> str:
    """Format a p-value of a table; empty where there is none."""
    return "" if value is None else pvalue_text(value, least, 3, 0.001)


def _cell(value: float | None) -> str:
    return "" if value is None else shown_number(value)


def shown_number(value: float | None, digits: int = 4) -> str:
    """Format a number; rounding errors of 0 are shown as 0.

    >>> shown_number(-1.11e-15), shown_number(0.25)
    ('0', '0.2500')
    """
    return number(0.0 if value is not None and abs(value) < NOTHING else value, digits)
