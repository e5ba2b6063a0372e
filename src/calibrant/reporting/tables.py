"""The tables of the pages: each is defined once, by its columns, for HTML, Markdown and the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..clinical.performance import ClinicalRow, ClinicalSummary, row_cells
from ..evaluation.result import NOTHING
from ..evaluation.result import shown_number as number
from ..util.results import percent, pvalue_text
from .content import (
    BeforeAfter,
    CalibratorTable,
    ComparedMetric,
    Diagram,
    MetricRow,
    Section,
    Side,
    Subgroup,
    Weakness,
    Weaknesses,
)
from .verdict import rounded_up
from .weaknesses import place_name
from .wording import lens_text, level_text, mean_name, metric_name, plain_id, rate_name, remark, without_ids

if TYPE_CHECKING:
    from ..evaluation.subgroups import Subgroups
    from ..figures.decision_curves import DecisionCurve
    from .building import Report

SIGNIFICANCE = {True: "significant", False: "not significant", None: "no test"}


class Column(NamedTuple):
    """A column of a table: the field of a row that it shows, or several, its heading, and the format of their values."""

    key: str | tuple[str, ...]
    heading: str
    format: Callable[..., str] = str
    is_numeric: bool = True


@dataclass(frozen=True)
class Table:
    """Rows, which are records or mappings, the columns that show them, and how the table is read; rows whose field `marked` is true are emphasized."""

    name: str
    columns: Sequence[Column]
    rows: Sequence[Any]
    text: str = ""
    marked: str = ""

    @property
    def headings(self) -> list[str]:
        """Headings of the columns."""
        return [column.heading for column in self.columns]

    @property
    def cells(self) -> list[list[str]]:
        """Text of the cells, row by row."""
        return [[_cell(row, column) for column in self.columns] for row in self.rows]

    @property
    def marks(self) -> list[bool]:
        """Whether each row is emphasized."""
        return [bool(self.marked) and bool(_field(row, self.marked)) for row in self.rows]


def _field(row: Any, name: str) -> Any:
    return row[name] if isinstance(row, Mapping) else getattr(row, name)


def _cell(row: Any, column: Column) -> str:
    names = (column.key,) if isinstance(column.key, str) else column.key
    return column.format(*(_field(row, name) for name in names))


def text_column(key: str | tuple[str, ...], heading: str, format: Callable[..., str] = str) -> Column:
    """Return a column of text, which is aligned to the left."""
    return Column(key, heading, format, is_numeric=False)


def interval_column(level: float | None, format: Callable[[float], str] = number, ends: str = "") -> Column:
    """Return a column of intervals; names of the fields of their ends begin with `ends`."""
    heading = "interval" if level is None else f"{level_text(level)} interval"
    return Column((f"{ends}low", f"{ends}high"), heading, lambda low, high: span(low, high, format))


def gap_columns(mean: str, rate: str) -> tuple[Column, ...]:
    """Return the number of rows, their mean score and rate by their names, and the gap between both."""
    return (
        Column("rows", "rows", amount),
        Column("mean_score", mean, percent),
        Column("rate", rate, percent),
        Column("gap", "gap", points),
    )


def points(value: float | None) -> str:
    """Format a difference of shares in percentage points, with its sign."""
    return "-" if value is None else f"{'+' if value > NOTHING else ''}{number(100 * value, 3)}"


def chance_cell(value: float | None, least: float = 0.0) -> str:
    """Format a p-value, as a bound at the least that its resamples can have."""
    return "-" if value is None else pvalue_text(value, least, 3, 0.001)


def pvalue_cell(value: float | None) -> str:
    """Return a p-value with three digits, however small."""
    return "-" if value is None else f"{value:.3g}"


def span(low: float | None, high: float | None, format: Callable[[float], str] = number) -> str:
    """Format an interval."""
    return "-" if low is None or high is None else f"{format(low)} to {format(high)}"


def amount(value: float | None) -> str:
    """Format a number of rows, which weights may make fractional."""
    return "-" if value is None else f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def bin_table(diagram: Diagram, outcome: str) -> Table:
    """Return the bins of a reliability diagram."""
    mean, rate = mean_name(diagram.lens), rate_name(diagram.lens, outcome)
    columns = (
        Column(("left", "right"), "score", span),
        Column("rows", "rows", amount),
        Column("mean_score", mean, percent),
        Column("rate", rate, percent),
        interval_column(diagram.level, percent),
        Column("gap", "gap", points),
    )
    text = f"The gap is {mean} minus {rate}, in percentage points. Bins with fewer than {diagram.min_rows} rows are merged with a neighbour."
    return Table("numbers", columns, [each for each in diagram.bins if each.rows], text)


def metric_table(rows: Sequence[MetricRow], level: float | None, outcome: str, n_resamples: int = 0) -> Table:
    """Return metrics with intervals and p-values."""
    least = 1 / (1 + n_resamples) if n_resamples else 0.0

    def meaning(meaning: str, caution: str, reason: str) -> str:
        if reason:
            return f"No value: {reason}"
        return without_ids(f"{meaning} Caution: {caution}." if caution else meaning)

    columns = (
        text_column("group", "group"),
        text_column(("name", "id"), "metric", "{} ({})".format),
        Column("value", "value", number),
        interval_column(level),
        Column("by_chance", "by chance", number),
        Column("pvalue", "p-value", lambda value: chance_cell(value, least)),
        Column("ideal", "ideal", lambda value: "" if value is None else f"{value:g}"),
        text_column("direction", "direction"),
        text_column("lens", "evaluated on", lambda lens: lens_text(lens, outcome)),
        text_column(("meaning", "caution", "reason"), "meaning", meaning),
    )
    sampling = "" if level is None else "Confidence intervals describe the sampling variation of the rows. "
    return Table("metrics", columns, rows, sampling + remark("metrics"))


def judgement(found: bool | None, gap: float, lens: str) -> str:
    """Return the result of the test of a subset; a direction only where the gap is significant."""
    if not found:
        return SIGNIFICANCE[found]
    if lens == "top_label":
        return "overconfident" if gap > 0 else "underconfident"
    return "overestimates" if gap > 0 else "underestimates"


def places_found(weaknesses: Weaknesses) -> str:
    """State how many subsets were tested, and how many have a significant gap."""
    return remark("places", method=weaknesses.correction.capitalize(), **vars(weaknesses))


def subset_table(weaknesses: Weaknesses, outcome: str, entries: Sequence[Weakness]) -> Table:
    """Return subsets with their gaps; `entries` are those that are shown."""
    lenses = {entry.lens for entry in weaknesses.entries}
    mean = mean_name(weaknesses.entries[0].lens if weaknesses.entries else "")
    rate = rate_name(lenses.pop() if len(lenses) == 1 else "", outcome)
    columns = (
        text_column(("kind", "name", "lens"), "subset", place_name),
        *gap_columns(mean, rate),
        interval_column(weaknesses.level, points),
        Column("adjusted", "adjusted p-value", chance_cell),
        text_column(("found", "gap", "lens"), "result", judgement),
    )
    return Table("weak", columns, entries, remark("subsets", mean=mean, rate=rate), "found")


def calibrator_table(calibrators: CalibratorTable) -> Table:
    """Return the calibration methods that were compared."""

    rows = []
    for each in calibrators.entries:
        values = dict.fromkeys(("loss", "gain", "low", "high", "ece")) if each.reason else vars(each)
        chosen = {"chosen": True, "remark": "chosen", "removed": calibrators.error_removed}
        other = {"chosen": False, "remark": each.reason, "removed": None}
        rows.append({"method": each.method, **values, **(chosen if each.method == calibrators.method else other)})
    columns = (
        text_column("method", "calibration method", plain_id),
        Column("loss", f"{metric_name(calibrators.loss)} (lower is better)", number),
        Column("gain", "gain", number),
        interval_column(calibrators.level),
        Column("ece", "held-out ECE", number),
        Column("removed", "error removed", lambda share: percent(share, 0)),
        text_column("remark", "remark"),
    )
    return Table("calibrators", columns, rows, remark("calibrators", **vars(calibrators)), "chosen")


def changes_table(changes: BeforeAfter) -> Table:
    """Return each metric before and after recalibration, with its intervals."""
    columns = (
        text_column("name", "metric"),
        Column("before", "before", number),
        interval_column(None, ends="before_"),
        Column("after", "after", number),
        interval_column(None, ends="after_"),
    )
    return Table("changes", columns, changes.values)


def difference_table(metrics: Iterable[ComparedMetric], level: float) -> Table:
    """Return the differences between the metrics of models."""
    rows = [{"metric": metric.name, **vars(each)} for metric in metrics for each in metric.differences]
    columns = (
        text_column("metric", "metric"),
        text_column(("first", "second"), "difference", "{} minus {}".format),
        Column("difference", "value", number),
        interval_column(level),
        Column("adjusted", "adjusted p-value", chance_cell),
        text_column("found", "result", SIGNIFICANCE.__getitem__),
    )
    return Table("differences", columns, rows, remark("differences"), "found")


def side_table(sides: Sequence[Side], outcome: str) -> Table:
    """Return mean score, rate and test of the sides of a comparison."""
    lens = sides[0].lens
    columns = (
        text_column("name", "model"),
        *gap_columns(mean_name(lens), rate_name(lens, outcome)),
        Column("adjusted", "adjusted p-value", chance_cell),
        Column(
            "detectable", "minimum detectable effect", lambda least: "-" if least is None else rounded_up(100 * least)
        ),
        text_column("found", "miscalibration", SIGNIFICANCE.__getitem__),
    )
    about = f"Evaluated on: {lens_text(lens, outcome)}. " if lens else ""
    return Table("sides", columns, sides, remark("sides", about=about))


def value_table(reports: Sequence[Report], level: float) -> Table:
    """Return the metrics of several reports, one column for each metric."""

    def cell(row: MetricRow | None) -> str:
        if row is None or row.low is None or row.high is None:
            return number(None if row is None else row.value)
        return f"{number(row.value)} ({span(row.low, row.high)})"

    names = {row.id: row.name for report in reports for row in report.metrics.all_rows}
    rows = [
        {**dict.fromkeys(names), "title": report.title, **{row.id: row for row in report.metrics.all_rows}}
        for report in reports
    ]
    columns = (text_column("title", "model"), *(Column(id, name, cell) for id, name in names.items()))
    return Table("values", columns, rows, f"Each metric on all rows, with its {level_text(level)} interval.")


def summary_table(summary: ClinicalSummary) -> Table:
    """Return the measures of a clinical summary."""
    headings = ("measure", "value", "low", "high", "interval", "ideal", "meaning")
    numeric = ("value", "low", "high", "ideal")
    columns = [Column(name, name, is_numeric=name in numeric) for name in headings]
    rows = [{"group": row.group, **dict(zip(headings, row_cells(row), strict=True))} for row in summary.rows]
    return Table("clinical", (text_column("group", "group"), *columns), rows)


def benefit_table(curve: DecisionCurve) -> Table:
    """Return the net benefit of the model and of treating all at every fifth per cent, where either is not 0."""
    (model,) = curve.curves
    rows = np.column_stack([curve.threshold, model.net_benefit, model.low, model.high, curve.treat_all.net_benefit])
    names = ("threshold", "model", "low", "high", "treat_all")
    columns = (
        Column("threshold", "threshold", number),
        Column("model", "net benefit", number),
        interval_column(curve.level),
        Column("treat_all", "treat all", number),
    )
    fifths = [row for row in rows.tolist() if round(100 * row[0]) % 5 == 0 and (row[1] or row[4] > 0)]
    return Table("benefit", columns, [dict(zip(names, row, strict=True)) for row in fifths])


def subgroup_table(groups: Sequence[Subgroup]) -> Table:
    """Return the measures of subgroups of patients, one column for each measure."""

    def with_interval(row: ClinicalRow) -> str:
        value, low, high = row_cells(row)[1:4]
        return f"{value} ({low} to {high})" if low else value

    rows = [{"name": g.name, "n": g.n, "events": g.events, **{row.id: row for row in g.rows}} for g in groups]
    columns = (
        text_column("name", "group"),
        Column("n", "patients", amount),
        Column("events", "events", amount),
        *(Column(row.id, row.name, with_interval) for row in groups[0].rows),
    )
    return Table("subgroups", columns, rows)


def section_table(section: Section) -> Table:
    """Return the table of a plug-in's section."""

    def cell(value: Any) -> str:
        return number(float(value)) if _is_number(value) else "-" if value is None else str(value)

    columns = [
        Column(heading, heading, cell, is_numeric=all(value is None or _is_number(value) for value in values))
        for heading, values in section.columns.items()
    ]
    rows = [dict(zip(section.columns, values, strict=True)) for values in zip(*section.columns.values(), strict=True)]
    return Table("section", columns, rows)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _subset_tables(weak: Weaknesses, outcome: str) -> dict[str, Table]:
    """Return subsets with a significant gap and the others, classes and ranges apart from groups."""
    groups = [entry for entry in weak.entries if entry.kind == "group"]
    rest = [entry for entry in weak.entries if entry.kind != "group"]
    return {
        f"{start}{name}": subset_table(weak, outcome, [each for each in part if bool(each.found) is found])
        for name, part in (("subsets", rest), ("groups", groups))
        for start, found in (("", True), ("other_", False))
    }


def feature_table(found: Subgroups, outcome: str) -> Table:
    """Return the subgroups of features with a significant gap."""
    lenses = {each.lens for each in found}
    lens = lenses.pop() if len(lenses) == 1 else ""
    columns = (
        text_column("name", "subgroup"),
        *([] if lens else [text_column("lens", "evaluated on", lambda each: lens_text(each, outcome))]),
        *gap_columns(mean_name(lens), rate_name(lens, outcome)),
        interval_column(1 - found.alpha, points),
        Column("pvalue", "adjusted p-value", chance_cell),
    )
    text = f"The gap is {mean_name(lens)} minus {rate_name(lens, outcome)}, in percentage points; the intervals hold jointly."
    return Table("features", columns, found.subgroups, text)


def report_tables(report: Report) -> dict[str, Table]:
    """Return the tables of a report by their names in the templates."""
    outcome, weak, clinical, changed = report.outcome, report.weaknesses, report.clinical, report.before_after
    tables = {
        "bins": bin_table(report.diagram, outcome),
        "metrics": metric_table(report.metrics.all_rows, report.metrics.level, outcome, report.metrics.n_resamples),
        **_subset_tables(weak, outcome),
        "calibrators": calibrator_table(report.recalibration),
    }
    if report.features is not None and report.features.subgroups:
        tables["features"] = feature_table(report.features.subgroups, outcome)
    if changed is not None:
        tables["changes"] = changes_table(changed)
        tables["changed"] = difference_table(changed.differences, changed.level)
    if clinical is not None:
        tables["clinical"] = summary_table(clinical.summary)
        if clinical.benefit is not None:
            tables["benefit"] = benefit_table(clinical.benefit)
        if clinical.subgroups:
            tables["subgroups"] = subgroup_table(clinical.subgroups)
    if (compared := report.comparison) is not None:
        tables["Side by side"] = side_table(compared.sides, outcome)
        tables["Metrics"] = value_table(compared.reports, compared.level)
        tables["Differences"] = difference_table(compared.metrics, compared.level)
    return tables | {f"section {part.title}": section_table(part) for part in report.sections}
