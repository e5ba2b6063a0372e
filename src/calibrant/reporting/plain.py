"""The report as Markdown: the same sections and numbers; text from the data cannot change its structure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from ..evaluation.clinical import ClinicalRow, ClinicalSummary, row_cells
from ..evaluation.result import NOTHING
from ..evaluation.result import shown_number as number
from ..util.results import percent
from .content import (
    BeforeAfter,
    CalibratorTable,
    Clinical,
    Diagram,
    Metrics,
    Provenance,
    Threshold,
    Verdict,
    Weakness,
    Weaknesses,
)
from .interactive import shown
from .verdict import chance
from .wording import lens_text, level_text, mean_name, rate_name

if TYPE_CHECKING:
    from .building import Report
    from .tripod_items import Tripod

MOST_PLACES = 15
TRIPOD_NOTE = (
    "Items of the TRIPOD+AI statement, numbered as in its checklist of January 2024. Text from the results is a draft; items without such "
    "text are to be filled by the authors. D: studies that develop a model, E: studies that evaluate one."
)
TO_BE_FILLED = "To be filled by the authors."
TRIPOD_REFERENCE = (
    "Collins GS, Moons KGM, Dhiman P, et al. TRIPOD+AI statement: updated guidance for reporting clinical prediction models that use "
    "regression or machine learning methods. BMJ 2024;385:e078378. doi:10.1136/bmj-2023-078378"
)
# Characters that begin an element, an entity, emphasis, code, a link or a cell; "p < 0.001" is not affected.
SPECIAL = re.compile(
    r"[\\`*|\[\]~{}$]|<(?=[A-Za-z/!?])|&(?=[#\w])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=//)|(?<=www)\.|@|(?<=\w):(?=\S)",
    re.IGNORECASE,
)
# Characters that begin a heading, a list, a quotation or a rule at the beginning of a line.
LEADING = re.compile(r"([#>+=-]|\d+(?=[.)]))")


def escaped(text: object, limit: int | None = None) -> str:
    """Escape text inside a line of Markdown.

    >>> print(escaped("a|b\\n<script>*x*"))
    a\\|b␊\\<script>\\*x\\*
    """
    return SPECIAL.sub(lambda found: "\\" + found[0], shown(text, limit)).strip()


def line(text: object) -> str:
    """Escape text at the beginning of a line, a heading or an item, where more characters are special.

    >>> print(line("# 1"), line("1. x"))
    \\# 1 1\\. x
    """
    plain = escaped(text)
    first = LEADING.match(plain)
    if first is None:
        return plain
    mark, rest = first[1], plain[first.end() :]
    return f"{mark}\\{rest}" if mark.isdigit() else f"\\{mark}{rest}"


def table_of(headings: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> list[str]:
    """Return a table of escaped cells; columns in `right` are right-aligned."""
    aligned = set(right)
    rule = ["---:" if place in aligned else "---" for place in range(len(headings))]
    return [f"| {' | '.join(cells)} |" for cells in [headings, rule, *rows]]


def markdown_of(report: Report) -> str:
    """Render the report as Markdown; the same report gives the same text."""
    tried, outcome = report.recalibration, report.outcome
    parts = [
        [f"# {line(report.title)}", "", f"**{escaped(report.verdict.sentence)}**", ""],
        metadata_lines(report.metadata),
        [*(f"- {line(text)}" for text in report.header), ""],
        []
        if report.clinical is None
        else _section("Clinical summary", _clinical(report.clinical), "", report.clinical.notes),
        [] if report.before_after is None else _section("Before and after", _changes(report.before_after), "", ()),
        _section(
            "1. Reliability diagram", _diagram(report.diagram, outcome), report.diagram.reason, report.diagram.notes
        ),
        _section("2. Metrics", _metrics(report.metrics, outcome), report.metrics.reason, report.metrics.notes),
        _section(
            "3. Where does it fail?",
            _weaknesses(report.weaknesses, outcome),
            report.weaknesses.reason,
            report.weaknesses.notes,
        ),
        _section("4. Recalibration", _calibrators(tried), tried.reason, tried.notes),
        _section("5. Confidence threshold", _threshold(report.threshold), report.threshold.reason, ()),
        _section("6. Methods and provenance", provenance_lines(report.provenance, report.verdict), "", ()),
        [] if report.clinical is None else _section("TRIPOD+AI", tripod_markdown(report.clinical.tripod, 3), "", ()),
    ]
    return "\n".join(text for part in parts for text in part).rstrip() + "\n"


def metadata_lines(metadata: Mapping[str, str]) -> list[str]:
    """Return the metadata as a list, with an empty line after it."""
    return [*(f"- {line(key)}: {escaped(value)}" for key, value in metadata.items()), ""] if metadata else []


def _section(heading: str, body: list[str], reason: str, notes: Sequence[str]) -> list[str]:
    lines = [f"## {heading}", ""]
    if reason:
        lines += [f"Not available: {escaped(reason)}.", ""]
    lines += [*body, ""] if body else []
    return [*lines, *([*(f"- {line(note)}" for note in notes), ""] if notes else [])]


def changes_table(found: BeforeAfter) -> tuple[list[str], list[list[str]]]:
    """Return headings and cells of each metric before and after recalibration, with its intervals."""
    rows = []
    for each in found.values:
        before = number(each.before), _ends(each.before_low, each.before_high)
        rows.append([each.name, *before, number(each.after), _ends(each.after_low, each.after_high)])
    return ["metric", "before", "interval", "after", "interval"], rows


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{number(low)}, {number(high)}]"


def _changes(found: BeforeAfter) -> list[str]:
    headings, rows = changes_table(found)
    table = table_of(headings, [[escaped(cell) for cell in row] for row in rows], range(1, 5))
    lines = [*(f"- {line(text)}" for text in found.summary), "", *table]
    if not found.differences:
        return lines
    heads = ["metric", "after minus before", f"{level_text(found.level)} interval", "p-value"]
    cells = [
        [escaped(metric.id), number(each.difference), span(each.low, each.high), chance_cell(each.adjusted)]
        for metric in found.differences
        for each in metric.differences
    ]
    return [*lines, "", *table_of(heads, cells, range(1, 4))]


def points(value: float | None) -> str:
    """Format a difference of shares in percentage points, with its sign."""
    return "-" if value is None else f"{'+' if value > NOTHING else ''}{number(100 * value, 3)}"


def chance_cell(value: float | None) -> str:
    """Format a p-value for a cell."""
    return "-" if value is None else "< 0.001" if value < 0.001 else f"{value:.3g}"


def span(low: float | None, high: float | None, shape: object = number) -> str:
    """Format an interval for a cell."""
    if low is None or high is None:
        return "-"
    assert callable(shape)
    return f"{shape(low)} to {shape(high)}"


def _diagram(diagram: Diagram, outcome: str) -> list[str]:
    if diagram.reason:
        return []
    level = "interval" if diagram.level is None else f"{level_text(diagram.level)} interval"
    rows = [
        [
            f"{number(each.low)} to {number(each.high)}",
            f"{each.rows:,}",
            percent(each.mean_score),
            percent(each.rate),
            span(each.lower, each.upper, percent),
            points(each.gap),
        ]
        for each in diagram.bins
        if each.rows
    ]
    empty = sum(not each.rows for each in diagram.bins)
    means = [escaped(name, 80) for name in (mean_name(diagram.lens), rate_name(diagram.lens, outcome))]
    lines = [
        f"Evaluated on: {escaped(lens_text(diagram.lens, outcome))}. Rows are binned by predicted probability; the gap is {means[0]} "
        f"minus {means[1]}, in percentage points.",
        "",
    ]
    lines += table_of(["score", "rows", *means, level, "gap"], rows, range(1, 6))
    return (
        [*lines, "", f"{empty} of {len(diagram.bins)} bins {'is' if empty == 1 else 'are'} empty."] if empty else lines
    )


def _metrics(metrics: Metrics, outcome: str) -> list[str]:
    level = "interval" if metrics.level is None else f"{level_text(metrics.level)} interval"
    headings = [
        "group",
        "metric",
        "value",
        level,
        "by chance",
        "p-value",
        "ideal",
        "direction",
        "evaluated on",
        "meaning",
        "reference",
    ]
    rows = []
    for row in metrics.all_rows:
        value = "-" if row.value is None else number(row.value)
        ideal = "" if row.ideal is None else f"{row.ideal:g}"
        meaning = f"No value: {escaped(row.reason)}" if row.reason else escaped(row.meaning)
        paper = escaped(row.reference.split(":")[0])
        link = f"[{paper}]({quote(row.link, safe=':/;.-_')})" if row.link else paper
        expected = "" if row.by_chance is None else number(row.by_chance)
        cells = [f"{escaped(row.name)} (`{row.id}`)", value, span(row.low, row.high), expected]
        cells += [chance_cell(row.pvalue), ideal]
        rows.append([row.group, *cells, escaped(row.direction), escaped(lens_text(row.lens, outcome)), meaning, link])
    if not metrics.rows:
        return []
    lines = [
        "P-values refer to the null hypothesis that the predicted probabilities are calibrated; the value expected under it is in the "
        "column by chance."
    ]
    if metrics.level is not None:
        lines = ["Confidence intervals describe the sampling variation of the rows. " + lines[0]]
    return [*lines, "", *table_of(headings, rows, range(2, 7))]


def place_name(entry: Weakness) -> str:
    """Return the name of a subset, escaped."""
    name = escaped(entry.name, 80)
    if entry.kind != "range":
        return f"{entry.kind} {name}"
    return f"confidence {name}" if entry.lens == "top_label" else f"probability {name}"


def judgement(entry: Weakness) -> str:
    """Return the result of the test of a subset; a direction only where the gap is significant."""
    if entry.found is None:
        return "no test"
    if not entry.found:
        return "not significant"
    if entry.lens == "top_label":
        return "overconfident" if entry.gap > 0 else "underconfident"
    return "overestimates" if entry.gap > 0 else "underestimates"


def mean_and_rate(found: Weaknesses, outcome: str = "") -> tuple[str, str]:
    """Return the headings of mean score and observed rate of the subsets."""
    lens = found.entries[0].lens if found.entries else ""
    several = len({entry.lens for entry in found.entries}) > 1
    return mean_name(lens), rate_name("" if several else lens, outcome)


def places_found(found: Weaknesses) -> str:
    """State how many subsets were tested, and how many have a significant gap."""
    places = "1 subset was" if found.looked_at == 1 else f"{found.looked_at:,} subsets were"
    count = f"{found.found:,}" if found.found else "none"
    those = "them" if found.tested == found.looked_at else f"the {found.tested:,} that could be tested"
    return f"{places} examined; in {count} of {those}"


def _weaknesses(found: Weaknesses, outcome: str) -> list[str]:
    if not found.entries:
        return []
    level = f"{level_text(found.level)} interval"
    rows = [
        [
            place_name(each),
            f"{each.rows:,}",
            percent(each.mean_score),
            percent(each.rate),
            points(each.gap),
            span(each.low, each.high, points),
            number(100 * each.weighted_gap, 3),
            chance_cell(each.adjusted),
            judgement(each),
        ]
        for each in found.entries[:MOST_PLACES]
    ]
    lines = [
        f"{places_found(found)} the gap is statistically significant (level {found.alpha:g}, p-values adjusted "
        f"by {found.correction.capitalize()}'s method). Evaluated on: {escaped(found.about)}. "
        "Sorted by weighted gap (gap times share of the rows).",
        "",
    ]
    means = [escaped(name, 80) for name in mean_and_rate(found, outcome)]
    headings = ["subset", "rows", *means, "gap", level, "weighted gap", "adjusted p-value", "result"]
    lines += table_of(headings, rows, range(1, 8))
    hidden = found.looked_at - len(rows)
    smaller = "1 smaller gap is" if hidden == 1 else f"{hidden:,} smaller gaps are"
    return [*lines, "", f"{smaller} not shown here."] if hidden else lines


def _calibrators(found: CalibratorTable) -> list[str]:
    if not found.entries:
        return []
    verdict = "No calibration method improves on the original scores on held-out data."
    chosen = next((each for each in found.entries if each.chosen), None)
    if found.method != "none" and chosen is not None:
        sure = "" if chosen.low is not None and chosen.low > 0 else " (improvement not significant)"
        verdict = f"Best on held-out data: {found.description}{sure}."
        if found.before is not None and found.after is not None:
            removed = chosen.error_removed is not None and chosen.error_removed > 0
            share = f" ({percent(chosen.error_removed, 0)} of the calibration error removed)" if removed else ""
            verdict += f" The smECE changes from {number(found.before)} to {number(found.after)}{share}."
            if found.pvalue_after is not None:
                verdict += f" Test of the remaining error: {chance(found.pvalue_after)}."
    rows = []
    for each in found.entries:
        name = f"**{escaped(each.method)}**" if each.chosen else escaped(each.method)
        if each.reason:
            rows.append([name, "-", "-", "-", "-", escaped(each.reason)])
            continue
        gain = "-" if each.method == "none" else number(each.gain)
        interval = "-" if each.method == "none" else span(each.low, each.high)
        rows.append([name, number(each.loss), gain, interval, number(each.ece), ""])
    headings = [
        "calibration method",
        f"{found.loss} (lower is better)",
        "gain",
        f"{level_text(found.level)} interval",
        "ece",
        "",
    ]
    how = f"Cross-validation with {found.folds} folds on {found.rows:,} rows: each row is evaluated by a calibrator fitted on the other folds."
    return [line(verdict), "", how, "", *table_of(headings, rows, range(1, 5))]


def _threshold(found: Threshold) -> list[str]:
    if not found.points:
        return []
    lines = []
    if not found.reason and found.threshold is None:
        lines += [f"{line(found.guarantee[:1].upper() + found.guarantee[1:])}.", ""]
    elif found.threshold is not None:
        rule = (
            "Answer always" if found.always else f"Answer automatically at confidence \u2265 {number(found.threshold)}"
        )
        lines += [
            f"{rule}: {escaped(found.guarantee)}. On these data {percent(found.coverage)} of the rows are answered with an accuracy of "
            f"{percent(found.accuracy)}; lower confidence bound of the coverage on new data: {percent(found.coverage_bound)}.",
            "",
        ]
    rows = [
        [
            number(each.threshold),
            percent(each.coverage),
            percent(each.accuracy),
            span(each.low, each.high, percent),
            f"{each.errors:,.6g}",
        ]
        for each in found.points
    ]
    level = "interval" if found.level is None else f"{level_text(found.level)} interval"
    lines += table_of(["confidence \u2265", "coverage", "accuracy", level, "errors"], rows, range(5))
    areas = (
        f"Area under the risk-coverage curve (AURC): {number(found.aurc)}; generalized (AUGRC): {number(found.augrc)}."
    )
    return [*lines, "", areas, *([""] if found.notes else []), *(f"- {line(note)}" for note in found.notes)]


def provenance_lines(found: Provenance, verdict: Verdict | None) -> list[str]:
    """Return methods and provenance as a list."""
    lines = []
    if verdict is not None:
        what = (
            f"{verdict.null_distribution}; significance level {verdict.alpha:g}"
            if verdict.null_distribution
            else f"none; {verdict.reason}"
        )
        lines.append(f"Test: {what}")
    names = ", ".join(shown(name, 40) for name in found.class_names[:20])
    more = ", ..." if len(found.class_names) > 20 else ""
    lines.append(f"Data: {found.kind}, {found.size}, {found.classes} classes" + (f" ({names}{more})" if names else ""))
    lines.append(f"Fingerprint of labels, probabilities and weights: {found.fingerprint}")
    lines.append(f"Seed: {found.seed}")
    lines.append("Parameters: " + ", ".join(f"{key} = {_parameter(value)}" for key, value in found.parameters.items()))
    lines.append(f"Created with calibrant {found.calibrant}, NumPy {found.numpy}, Python {found.python}")
    lines += [f"Time: {found.made}"] if found.made else []
    lines += [found.sketch] if found.sketch else []
    return [f"- {line(text)}" for text in [*lines, *found.notes]]


def _parameter(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return "none" if value is None else str(value)


def summary_markdown(summary: ClinicalSummary) -> list[str]:
    """Return the table of a clinical summary."""
    headings = ["measure", "value", "lower", "upper", "interval", "ideal", "meaning"]
    return table_of(headings, [[escaped(cell) for cell in row_cells(row)] for row in summary.rows], (1, 2, 3))


def tripod_markdown(found: Tripod, level: int = 2) -> list[str]:
    """Return the items of TRIPOD+AI below their heading; `level` is that of the sections of the statement."""
    lines, section = [TRIPOD_NOTE], ""
    for item in found.items:
        if item.section != section:
            section = item.section
            lines += ["", f"{'#' * level} {section}", ""]
        if lines[-1].startswith("|"):
            lines += [""]
        own = escaped(item.filled) if item.filled else TO_BE_FILLED
        lines += [f"- **{item.number}** {item.topic} ({item.studies}): {own} *Authors: {item.prompt}*"]
        if item.number == "23a":
            lines += ["", *summary_markdown(found.summary)]
    return [*lines, "", TRIPOD_REFERENCE]


def with_interval(row: ClinicalRow) -> str:
    """Format the value of a row with its interval."""
    value, low, high = row_cells(row)[1:4]
    return f"{value} ({low} to {high})" if low else value


def _clinical(part: Clinical) -> list[str]:
    lines = summary_markdown(part.summary)
    if part.benefit:
        kept = [point for point in part.benefit if round(100 * point.threshold) % 5 == 0]
        rows = [[number(p.threshold), number(p.model), _ends(p.lower, p.upper), number(p.treat_all)] for p in kept]
        lines += ["", "### Decision curve", ""]
        lines += table_of(["threshold", "net benefit", "interval", "treat all"], rows, range(4))
    if part.subgroups:
        names = [row.name for row in part.subgroups[0].rows]
        cells = [
            [escaped(g.name), f"{g.n:,}", f"{g.events:,.6g}", *(with_interval(row) for row in g.rows)]
            for g in part.subgroups
        ]
        lines += ["", "### Subgroups", "", *table_of(["group", "patients", "events", *names], cells, (1, 2))]
    return lines
