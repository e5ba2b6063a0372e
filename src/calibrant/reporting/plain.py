"""The report as Markdown: the same sections and numbers as text; nothing that came from outside can change its structure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from ..evaluation.result import NOTHING
from ..evaluation.result import shown_number as number
from .content import BeforeAfter, Diagram, Metrics, Provenance, Repairs, Threshold, Verdict, Weakness, Weaknesses
from .interactive import shown
from .verdict import chance
from .words import level_text, percent

if TYPE_CHECKING:
    from .building import Report

__all__ = ["changes_table", "escaped", "markdown_of", "table_of"]

MOST_PLACES = 15
# What begins an element, an entity, emphasis, code, a link or a cell; a sign between words ("p < 0.001") stays as it is.
SPECIAL = re.compile(
    r"[\\`*|\[\]~{}$]|<(?=[A-Za-z/!?])|&(?=[#\w])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=//)|(?<=www)\.|@|(?<=\w):(?=\S)",
    re.IGNORECASE,
)
# What begins a heading, a list, a quotation or a rule where it is first in a line.
LEADING = re.compile(r"([#>+=-]|\d+(?=[.)]))")


def escaped(text: object, limit: int | None = None) -> str:
    """Text that stands for itself inside a line of Markdown: every sign that means something is marked as plain.

    >>> print(escaped("a|b\\n<script>*x*"))
    a\\|b␊\\<script>\\*x\\*
    """
    return SPECIAL.sub(lambda found: "\\" + found[0], shown(text, limit)).strip()


def line(text: object) -> str:
    """The same for the beginning of a line, a heading or an item, where a few more signs mean something.

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
    """A table of cells that are already escaped; columns in `right` are set to the right."""
    aligned = set(right)
    rule = ["---:" if place in aligned else "---" for place in range(len(headings))]
    return [f"| {' | '.join(cells)} |" for cells in [headings, rule, *rows]]


def markdown_of(report: Report) -> str:
    """The whole report as Markdown; the same report gives the same text."""
    parts = [
        [f"# {line(report.title)}", "", f"**{escaped(report.verdict.sentence)}**", ""],
        [*(f"- {line(text)}" for text in report.header), ""],
        [] if report.before_after is None else _section("Before and after", _changes(report.before_after), "", ()),
        _section("1. Reliability diagram", _diagram(report.diagram), report.diagram.reason, report.diagram.notes),
        _section("2. Metrics", _metrics(report.metrics), report.metrics.reason, report.metrics.notes),
        _section(
            "3. Where it fails", _weaknesses(report.weaknesses), report.weaknesses.reason, report.weaknesses.notes
        ),
        _section("4. What repairs it", _repairs(report.repairs), report.repairs.reason, report.repairs.notes),
        _section("5. Which threshold to use", _threshold(report.threshold), report.threshold.reason, ()),
        _section("6. Method and provenance", provenance_lines(report.provenance, report.verdict), "", ()),
    ]
    return "\n".join(text for part in parts for text in part).rstrip() + "\n"


def _section(heading: str, body: list[str], reason: str, notes: Sequence[str]) -> list[str]:
    lines = [f"## {heading}", ""]
    if reason:
        lines += [f"Not available: {escaped(reason)}.", ""]
    lines += [*body, ""] if body else []
    return [*lines, *([*(f"- {line(note)}" for note in notes), ""] if notes else [])]


def changes_table(found: BeforeAfter) -> tuple[list[str], list[list[str]]]:
    """Headings and cells of every number before and after, each with its interval."""
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
    return [*(f"- {line(text)}" for text in found.summary), "", *table]


def points(value: float | None) -> str:
    """A difference of shares in percentage points, with its sign."""
    return "-" if value is None else f"{'+' if value > NOTHING else ''}{number(100 * value, 3)}"


def chance_cell(value: float | None) -> str:
    """A p-value for a cell."""
    return "-" if value is None else "< 0.001" if value < 0.001 else f"{value:.3g}"


def span(low: float | None, high: float | None, shape: object = number) -> str:
    """An interval for a cell."""
    if low is None or high is None:
        return "-"
    assert callable(shape)
    return f"{shape(low)} to {shape(high)}"


def question(lens: str) -> tuple[str, str]:
    """What a mean score and a rate are called under a lens."""
    return ("says", "is right") if lens == "top_label" else ("says", "happens")


ASKED = {
    "top_label": "predicted class",
    "binary": "positive class",
    "classwise": "each class",
    "canonical": "all probabilities of a row",
}


def asked(lens: str) -> str:
    """A lens in words, where it has some."""
    return ASKED.get(lens, lens)


def _diagram(diagram: Diagram) -> list[str]:
    if diagram.reason:
        return []
    says, happens = question(diagram.lens)
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
    kinds = {"top_label": "the confidence of the predicted class", "binary": "the probability of the positive class"}
    what = kinds.get(diagram.lens, "the probability")
    lines = [
        f"Rows by {what}: what was said on average, and how often it was so. Gaps are in percentage points; + is too high.",
        "",
    ]
    if diagram.lens not in ("top_label", "binary"):
        lines[0] = f"Question asked: {escaped(diagram.lens)}. {lines[0]}"
    lines += table_of(["score", "rows", says, happens, level, "gap"], rows, range(1, 6))
    return (
        [*lines, "", f"{empty} of {len(diagram.bins)} bins {'is' if empty == 1 else 'are'} empty."] if empty else lines
    )


def _metrics(metrics: Metrics) -> list[str]:
    level = "interval" if metrics.level is None else f"{level_text(metrics.level)} interval"
    headings = ["metric", "value", level, "p-value", "ideal", "direction", "question", "meaning", "defined in"]
    rows = []
    for row in metrics.rows:
        value = "-" if row.value is None else number(row.value)
        ideal = "" if row.ideal is None else f"{row.ideal:g}"
        meaning = f"No value: {escaped(row.reason)}" if row.reason else escaped(row.meaning)
        paper = escaped(row.reference.split(":")[0])
        link = f"[{paper}]({quote(row.link, safe=':/;.-_')})" if row.link else paper
        cells = [f"{escaped(row.name)} (`{row.id}`)", value, span(row.low, row.high), chance_cell(row.pvalue), ideal]
        rows.append([*cells, escaped(row.direction), escaped(asked(row.lens)), meaning, link])
    if not rows:
        return []
    lines = ["The p-value is how often chance alone gives such a value if the probabilities are right."]
    if metrics.level is not None:
        lines = ["The interval is what other rows from the same source would give. " + lines[0]]
    return [*lines, "", *table_of(headings, rows, range(1, 5))]


def place_name(entry: Weakness) -> str:
    """Which rows an entry is about, escaped."""
    name = escaped(entry.name, 80)
    if entry.kind != "range":
        return f"{entry.kind} {name}"
    return f"confidence {name}" if entry.lens == "top_label" else f"probability {name}"


def judgement(entry: Weakness) -> str:
    """What an entry comes to."""
    if entry.found is None:
        return "no test"
    if not entry.found:
        return "could be chance"
    if entry.lens == "top_label":
        return "overconfident" if entry.gap > 0 else "underconfident"
    return "too high" if entry.gap > 0 else "too low"


def mean_and_rate(found: Weaknesses) -> tuple[str, str]:
    """Headings of what was predicted and what was observed in each place."""
    right = bool(found.entries) and found.entries[0].lens == "top_label"
    return ("mean confidence", "accuracy") if right else ("mean predicted probability", "observed rate")


def places_found(found: Weaknesses) -> str:
    """How many places were looked at, how many of them could be tested, and in how many something was found."""
    places = "1 place was" if found.looked_at == 1 else f"{found.looked_at:,} places were"
    count = f"{found.found:,}" if found.found else "none"
    those = "them" if found.tested == found.looked_at else f"the {found.tested:,} that could be tested"
    return f"{places} looked at; in {count} of {those}"


def _weaknesses(found: Weaknesses) -> list[str]:
    if not found.entries:
        return []
    level = f"{level_text(found.level)} interval"
    rows = [
        [
            place_name(each),
            f"{each.rows:,}",
            percent(each.says),
            percent(each.happens),
            points(each.gap),
            span(each.low, each.high, points),
            number(100 * each.weighted_gap, 3),
            chance_cell(each.adjusted),
            judgement(each),
        ]
        for each in found.entries[:MOST_PLACES]
    ]
    lines = [
        f"{places_found(found)} the gap is unlikely to be chance (level {found.alpha:g}, p-values corrected "
        f"for their number by {found.correction.capitalize()}'s method). Compared on {escaped(found.about)}. "
        "The largest weighted gap (gap times share of the rows) is first.",
        "",
    ]
    means = mean_and_rate(found)
    headings = ["where", "rows", *means, "gap", level, "weighted gap", "corrected p-value", "judgement"]
    lines += table_of(headings, rows, range(1, 8))
    hidden = found.looked_at - len(rows)
    smaller = "1 smaller one is" if hidden == 1 else f"{hidden:,} smaller ones are"
    return [*lines, "", f"{smaller} not shown here."] if hidden else lines


def _repairs(found: Repairs) -> list[str]:
    if not found.entries:
        return []
    verdict = "Leave it alone: no map is better on rows it has not seen."
    chosen = next((each for each in found.entries if each.chosen), None)
    if found.method != "none" and chosen is not None:
        sure = "" if chosen.low is not None and chosen.low > 0 else " (this may be chance)"
        verdict = f"Best on rows it has not seen: {found.description}{sure}."
        if found.before is not None and found.after is not None:
            verdict += f" smece goes from {number(found.before)} to {number(found.after)}"
            verdict += (
                ""
                if chosen.repaired is None or chosen.repaired <= 0
                else f": {percent(chosen.repaired, 0)} of it is repaired"
            )
            verdict += (
                "."
                if found.pvalue_after is None
                else f". The verdict's test of what is left gives {chance(found.pvalue_after)}."
            )
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
        "calibrator",
        f"{found.loss} (lower is better)",
        "gain",
        f"{level_text(found.level)} interval",
        "ece",
        "",
    ]
    how = f"{found.folds} folds of {found.rows:,} rows; each row is judged by a map that was fitted on the other folds."
    return [line(verdict), "", how, "", *table_of(headings, rows, range(1, 5))]


def _threshold(found: Threshold) -> list[str]:
    if not found.points:
        return []
    lines = []
    if not found.reason and found.threshold is None:
        lines += [f"{line(found.guarantee[:1].upper() + found.guarantee[1:])}.", ""]
    elif found.threshold is not None:
        lines += [
            f"{'Answer always' if found.always else f'Answer from a confidence of {number(found.threshold)} on'}: "
            f"{escaped(found.guarantee)}. Of these rows "
            f"{percent(found.coverage)} are answered, {percent(found.accuracy)} of them right; at least "
            f"{percent(found.coverage_bound)} of new rows are answered.",
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
    lines += table_of(["confidence from", "answered", "right", level, "errors"], rows, range(5))
    areas = f"Mean error rate over all shares answered (AURC): {number(found.aurc)}; generalised (AUGRC): {number(found.augrc)}."
    return [*lines, "", areas, *([""] if found.notes else []), *(f"- {line(note)}" for note in found.notes)]


def provenance_lines(found: Provenance, verdict: Verdict | None) -> list[str]:
    """Method and origin as a list."""
    lines = []
    if verdict is not None:
        what = (
            f"{verdict.null_distribution}, at level {verdict.alpha:g}"
            if verdict.null_distribution
            else f"none, for {verdict.reason}"
        )
        lines.append(f"Test of the verdict: {what}")
    names = ", ".join(shown(name, 40) for name in found.class_names[:20])
    more = ", ..." if len(found.class_names) > 20 else ""
    lines.append(f"Data: {found.kind}, {found.size}, {found.classes} classes" + (f" ({names}{more})" if names else ""))
    lines.append(f"Fingerprint of labels, probabilities and weights: {found.fingerprint}")
    lines.append(f"Seed: {found.seed}")
    lines.append("Parameters: " + ", ".join(f"{key} = {_parameter(value)}" for key, value in found.parameters.items()))
    lines.append(f"Made with calibrant {found.calibrant}, NumPy {found.numpy}, Python {found.python}")
    lines += [f"Time: {found.made}"] if found.made else []
    return [f"- {line(text)}" for text in [*lines, *found.notes]]


def _parameter(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return "none" if value is None else str(value)
