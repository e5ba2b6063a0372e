"""compare_reports: several models on the same rows, before and after a map, or several periods, side by side."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal, NamedTuple

import numpy as np

from ..errors import Argument, ArgumentError, CalibrantError, InPython, ShapeError, Use
from ..evaluation.measure import calibrated
from ..inference.comparison import compare
from ..inference.significance import adjust
from ..input.convert import summing_to_one
from ..input.predictions import Predictions
from ..metrics.registry import Metric
from ..util.results import html_table, number
from ..views.keywords import check_keywords
from .building import Options, Report, build, read_options
from .forms import Document, form_of
from .interactive import shown
from .plain import chance_cell, escaped, line, points, provenance_lines, span, table_of
from .repairs import most_rows, sampled_rows
from .verdict import ALPHA, chance, rounded_up
from .words import level_text, percent, percents

__all__ = ["ComparedDifference", "ComparedMetric", "ReportComparison", "Side", "compare_parts", "compare_reports"]

Kind = Literal["models", "periods", "before-after"]
KINDS = ("models", "periods", "before-after")
COMPARED = ("nll", "brier", "smece", "ece")
MOST_SIDES = {"models": 10, "periods": 120, "before-after": 2}
# After correction for so many pairs a p-value can still fall to half the level.
DRAWS_PER_PAIR = 40
# Entries that are drawn and measured, over all resamples, models and metrics.
MOST_WORK, LEAST_ROWS = 2e9, 2_000


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


@dataclass(frozen=True, repr=False)
class ReportComparison(Document):
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

    def _columns(self) -> dict[str, list[Any]]:
        """One row for each side and metric of its report."""
        rows = [(report.title, row) for report in self.reports for row in report.metrics.rows]
        names = ("id", "value", "low", "high", "pvalue", "lens", "reason")
        columns: dict[str, list[Any]] = {"name": [name for name, _ in rows]}
        return columns | {name: [getattr(row, name) for _, row in rows] for name in names}

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

    def _title(self) -> str:
        lines = [f"{p.name}: {p.rows:,} rows, says {percent(p.says)}, happens {percent(p.happens)}" for p in self.sides]
        return "\n".join([self.title, *(f"  {text}" for text in lines), self.sentence])

    def _table(self) -> tuple[list[str], list[list[str]]]:
        table = self._sides()
        return table.headings, table.rows


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


def compare_reports(
    y_true: Any,
    y_prob: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    kind: Kind = "models",
    calibrator: Any = None,
    metrics: str | Metric | Iterable[str | Metric] = COMPARED,
    lens: Any = None,
    interval: float = 0.95,
    n_resamples: int = 200,
    rng: Any = 0,
    title: str | None = None,
    repair: bool = False,
    accuracy: float = 0.95,
    confidence_level: float = 0.9,
    format: str | None = None,
    **words: Any,
) -> ReportComparison:
    """Compare reports: models on the same rows with every difference and its interval, or periods with different rows.

    Parameters
    ----------
    y_true, y_prob
        For models: labels, and the probabilities of each by name. For periods: labels and probabilities, both by name. Or a
        mapping from names to Predictions alone.
    path
        Where to write it; the suffix .html, .md or .json says as what.
    kind
        ``"models"``, ``"periods"``, or ``"before-after"``: two models, or one and a `calibrator`.
    map
        A fitted map, or the file of one; then `y_prob` holds what it is applied to.
    metrics
        What is compared; the first one decides which model is named best.
    lens, interval, n_resamples, rng, title, repair, accuracy, confidence_level, format
        As in `report`.

    Examples
    --------
    >>> y, good = [0, 1] * 100, [0.2, 0.8] * 100
    >>> found = compare_reports(y, {"good": good, "flat": [0.5] * 200}, metrics=["brier"])
    >>> found.sentence
    'good has the lowest brier, 0.04000; its difference from flat is unlikely to be chance.'
    """
    check_keywords(compare_reports, words)
    form = None if path is None else form_of(path, format)
    if interval is None:
        raise ArgumentError("interval", "is required to compare", "for example 0.95")
    asked = read_options(title, metrics, lens, interval, n_resamples, rng, repair, accuracy, confidence_level)
    found = compare_parts(_parts(y_true, y_prob, kind, calibrator, words), asked, kind, given_title=title)
    if path is not None:
        found.write(path, format=form)
    return found


def _parts(y_true: Any, y_prob: Any, kind: Any, calibrator: Any, words: dict[str, Any]) -> dict[str, Predictions]:
    """Checked predictions by name."""
    if calibrator is not None:
        if kind != "before-after":
            raise ArgumentError(
                "calibrator", "applies to a comparison of before and after only", Use("kind", "before-after")
            )
        before = y_true if isinstance(y_true, Predictions) else Predictions(y_true, y_prob, **words)
        return {"before": before, "after": calibrated(before, calibrator)}
    if isinstance(y_true, Mapping) and y_prob is None:
        wrong = [name for name, part in y_true.items() if not isinstance(part, Predictions)]
        if wrong:
            raise ArgumentError(
                "y_true", f"the entry {wrong[0]!r} must be Predictions", InPython("pass y_prob by name as well")
            )
        return {str(name): part for name, part in y_true.items()}
    if not isinstance(y_prob, Mapping):
        raise ArgumentError(
            "y_prob", "must be a mapping from names to probabilities", 'for example {"old": p_old, "new": p_new}'
        )
    if kind != "periods":
        return {str(name): Predictions(y_true, probs, **words) for name, probs in y_prob.items()}
    if not isinstance(y_true, Mapping) or list(y_true) != list(y_prob):
        raise ArgumentError("y_true", ("must have the same names as ", Argument("y_prob"), ", in the same order"))
    return {str(name): Predictions(y_true[name], probs, **words) for name, probs in y_prob.items()}


def compare_parts(
    parts: Mapping[str, Predictions], asked: Options, kind: Any, given_title: str | None = None
) -> ReportComparison:
    """The comparison of checked predictions."""
    if kind not in KINDS:
        raise ArgumentError("kind", f"must be 'models', 'periods' or 'before-after'; got {kind!r}")
    if not 2 <= len(parts) <= MOST_SIDES[kind]:
        wanted = "two" if kind == "before-after" else f"from 2 to {MOST_SIDES[kind]}"
        raise ArgumentError("y_prob", f"expected {wanted} sets of predictions; got {len(parts)}")
    if kind != "periods":
        _check_same_rows(parts)
    reports = tuple(build(p, _renamed(asked, name), {"kind": kind}) for name, p in parts.items())
    sides = _sides(list(parts), reports)
    notes: list[str] = []
    compared: tuple[ComparedMetric, ...] = ()
    if kind != "periods":
        compared, notes = _differences(parts, asked)
    default = {"models": "Models compared", "periods": "Periods compared", "before-after": "Before and after"}[kind]
    return ReportComparison(
        title=given_title or default,
        kind=kind,
        sentence=_over_time(sides) if kind == "periods" else _best(compared, kind),
        sides=sides,
        metrics=compared,
        reports=reports,
        alpha=ALPHA,
        level=asked.known_level,
        notes=tuple(notes),
    )


def _renamed(asked: Options, name: str) -> Options:
    return replace(asked, title=name)


def _check_same_rows(parts: Mapping[str, Predictions]) -> None:
    """Models can be compared row by row only where the rows are the same."""
    (first, one), *others = parts.items()
    for name, other in others:
        if (other.n, other.k, other.kind) != (one.n, one.k, one.kind):
            raise ShapeError(
                "y_prob",
                f"{first!r} has {one.n} rows of {one.k} classes ({one.kind}) and {name!r} has {other.n} of {other.k} ({other.kind})",
                Use("kind", "periods", "for different rows"),
            )
        for mine, theirs, what in (
            (one.labels, other.labels, "labels"),
            (one.soft, other.soft, "labels"),
            (one.weight, other.weight, "weights"),
        ):
            if (mine is None) != (theirs is None) or (mine is not None and not np.array_equal(mine, theirs)):  # type: ignore[arg-type]
                raise ArgumentError(
                    "y_true",
                    f"the {what} of {first!r} and {name!r} differ; models are compared on the same rows in the same order",
                    Use("kind", "periods", "for different rows"),
                )


def _sides(names: list[str], reports: tuple[Report, ...]) -> tuple[Side, ...]:
    """One line for each side, with p-values corrected for how many there are."""
    pvalues = [report.verdict.pvalue for report in reports]
    known = np.array([value for value in pvalues if value is not None], dtype=np.float64)
    corrected = iter(adjust(known, "holm").tolist())
    adjusted = [None if value is None else next(corrected) for value in pvalues]
    return tuple(
        Side(
            name=name,
            rows=report.provenance.rows_stood_for,
            says=report.verdict.says,
            happens=report.verdict.happens,
            lens=report.verdict.lens,
            pvalue=report.verdict.pvalue,
            adjusted=value,
            found=None if value is None else value <= ALPHA,
            detectable=report.verdict.detectable,
        )
        for name, report, value in zip(names, reports, adjusted, strict=True)
    )


def _differences(parts: Mapping[str, Predictions], asked: Options) -> tuple[tuple[ComparedMetric, ...], list[str]]:
    """Every metric of every model, and every difference, all on the same draws of rows."""
    first = next(iter(parts.values()))
    pairs = len(parts) * (len(parts) - 1) // 2
    draws = max(asked.n_resamples, DRAWS_PER_PAIR * pairs)
    most = int(MOST_WORK / (draws * len(parts) * len(asked.metrics) * first.k))
    rows = sampled_rows(first.n, min(most_rows(first.k), max(LEAST_ROWS, most)), asked.seed)
    notes = [f"Differences are from {draws:,} resamples."]
    if len(rows) < first.n:
        notes.append(f"Differences are of {len(rows):,} of {first.n:,} rows, drawn at random from the seed.")
    used = parts if len(rows) == first.n else {name: p.take(rows) for name, p in parts.items()}
    found = []
    for metric in asked.metrics:
        each = _compared(used, metric, asked, draws)
        adjusted = adjust(np.array([d.pvalue for d in each.differences], dtype=np.float64), "holm").tolist()
        judged = tuple(_judged(d, value) for d, value in zip(each.differences, adjusted, strict=True))
        found.append(replace(each, differences=judged))
    return tuple(found), notes


def _judged(difference: ComparedDifference, adjusted: float) -> ComparedDifference:
    return replace(difference, adjusted=adjusted, found=adjusted <= ALPHA)


def _compared(parts: Mapping[str, Predictions], metric: Metric, asked: Options, n_resamples: int) -> ComparedMetric:
    words: dict[str, Any] = {} if asked.lens is None else {"lens": asked.lens}
    one = next(iter(parts.values()))
    words |= {"multilabel": True} if one.kind == "multilabel" else {}
    words |= {"input": "confidence"} if one.kind == "confidence" else {}
    words |= {"soft": True} if one.labels is None else {}
    words |= {} if one.weight is None else {"counts" if one.weight_kind == "counts" else "sample_weight": one.weight}
    models = {
        name: p.probs if p.kind in ("multilabel", "confidence") else summing_to_one(p.probs)
        for name, p in parts.items()
    }
    labels = one.soft if one.labels is None else one.labels
    draws: dict[str, Any] = {"level": asked.known_level, "n_resamples": n_resamples, "rng": asked.seed}
    own: dict[str, Any] = {
        "id": metric.id,
        "name": metric.name,
        "ideal": metric.ideal,
        "lower_is_better": metric.ideal == 0 and not metric.signed,
    }
    try:
        found = compare(labels, models, metric=metric, **draws, **words)
    except CalibrantError as error:
        return ComparedMetric(**own, values={}, differences=(), rows=one.n, reason=error.problem)
    differences = tuple(
        ComparedDifference(d.first, d.second, d.difference, d.low, d.high, d.pvalue, 1.0, False)
        for d in found.differences
    )
    return ComparedMetric(
        **own, values=dict(found.values), differences=differences, rows=found.n, n_resamples=found.n_resamples
    )


def _best(metrics: tuple[ComparedMetric, ...], kind: str) -> str:
    """Which is best by the first metric, and which differences from it are more than chance."""
    main = next((each for each in metrics if each.values and each.lower_is_better), None)
    if main is None:
        return "No metric by which one could be called better has a value; see the table."
    if kind == "before-after":
        return _change(main)
    best = min(main.values, key=lambda name: main.values[name])
    mine = [
        (d.second if d.first == best else d.first, d.found) for d in main.differences if best in (d.first, d.second)
    ]
    sure = ", ".join(name for name, found in mine if found)
    unsure = ", ".join(name for name, found in mine if not found)
    parts = [f"its difference from {sure} is unlikely to be chance"] if sure else []
    parts += [f"{'that' if sure else 'its difference'} from {unsure} could be chance"] if unsure else []
    return f"{best} has the lowest {main.id}, {number(main.values[best])}; {'; '.join(parts)}."


def _change(main: ComparedMetric) -> str:
    (before, old), (after, new) = main.values.items()
    word = "fell" if new < old else "rose" if new > old else "stayed"
    judged = main.differences[0]
    verdict = "is unlikely to be chance" if judged.found else "could be chance"
    values = f"from {number(old)} ({before}) to {number(new)} ({after})"
    return f"{main.id} {word} {values}, which {verdict}, {chance(judged.adjusted)}."


def _over_time(periods: tuple[Side, ...]) -> str:
    """In how many periods something was found, and where the mean is furthest off."""
    tested = [period for period in periods if period.found is not None]
    found = [period for period in tested if period.found]
    start = f"A deviation that is unlikely to be chance was found in {len(found)} of {len(tested)} periods"
    if not tested:
        start = "No period could be tested"
    known = [
        (period.says, period.happens, period)
        for period in periods
        if period.says is not None and period.happens is not None
    ]
    if not known:
        return f"{start}."
    says, happens, worst = max(known, key=lambda each: abs(each[0] - each[1]))
    shown = percents(says, happens)
    verb = "is right" if worst.lens == "top_label" else "happens"
    return f"{start}; the mean is furthest off in {worst.name}: says {shown[0]}, {verb} {shown[1]}."
