"""The report as one HTML page: its numbers, the cells of the interactive charts, and scripts allowed by their hashes."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..curves.logistic_regression import logit
from ..evaluation.result import shown_number as number
from ..figures.base import none_for_nan
from ..util.files import cached_text
from ..util.results import pvalue_clause
from ..views.view import sigmoid
from .content import Clinical, MetricRow, Metrics
from .interactive import shown
from .overlay import Overlay, compared_sides, report_sides
from .specs import (
    WITH_EVENT,
    WITHOUT_EVENT,
    Spec,
    benefit_spec,
    curve_spec,
    histogram_spec,
    reliability_spec,
    risks_spec,
    threshold_spec,
)
from .tables import (
    Table,
    amount,
    benefit_rows,
    bin_table,
    chance_cell,
    difference_table,
    metric_table,
    places_found,
    report_tables,
    side_table,
    span,
    value_table,
)
from .templates import environment
from .verdict import recalibration_sentence
from .wording import event_of, level_text, mean_name, plain_id, rate_name

if TYPE_CHECKING:
    from ..figures.flexible_curves import RiskDistribution
    from .building import Report
    from .comparing import ReportComparison

# Parts of lines of the header that the page always shows: how many rows were dropped, and that there was a sketch.
ALWAYS_SHOWN = ("dropped because of missing values", "from a sketch")
# Longer names of events are cut in axis titles.
EVENT_LENGTH = 32
# SHA-256 of the script that these versions of vl-convert bundle.
DRAWING_LIBRARIES = {"1.9.0": "373b1f84072b31010f15ceb787be6b415c53936411aae267c8c2b2b6ccde46e7"}


def render_report(report: Report) -> str:
    """Render the page: it opens from disk without network access, and the same report gives the same bytes.

    Parameters
    ----------
    report : Report
        The report. Without `cells` the page has tables and no charts.

    Returns
    -------
    str
        The page.
    """
    tables = report_tables(report)
    return _render(
        report_sides(report),
        (report,),
        {} if report.clinical is None else clinical_charts(report),
        tables=tables,
        title=report.title,
        metadata=report.metadata,
        headline=report.verdict.headline,
        further=report.verdict.sentence[len(report.verdict.headline) :],
        report=report,
        comparison=None,
        metric_tables=_metric_tables(report.metrics, report.outcome),
        best=recalibration_sentence(report.recalibration),
        tile=_titles(report.verdict.lens, report.outcome),
        facts=[
            line for place, line in enumerate(report.header) if place < 2 or any(text in line for text in ALWAYS_SHOWN)
        ],
    )


def render_comparison(comparison: ReportComparison) -> str:
    """Render the page of several reports: their diagrams over each other, the metrics side by side, and the differences.

    Parameters
    ----------
    comparison : ReportComparison
        The comparison.

    Returns
    -------
    str
        The page.
    """
    return _render(
        compared_sides(comparison.reports),
        comparison.reports,
        {},
        tables=comparison_tables(comparison),
        title=comparison.title,
        metadata=comparison.metadata,
        headline=comparison.sentence,
        further="",
        report=comparison.reports[0],
        comparison=comparison,
    )


def _render(sides: Overlay, reports: Sequence[Report], charts: dict[str, Spec], **content: Any) -> str:
    """Render the template; it has scripts where all sides have cells."""
    first = reports[0]
    live = any(side.series for side in sides.sides) and all(report.cells is not None for report in reports)
    style = _static("report.css")
    own = [_static("beta.js"), _static("report.js")]
    scripts = [script_text(text) for text in (_drawing_library(), *own)] if live else []
    drawn = {
        "reliability": reliability_spec(_titles(first.diagram.lens, first.outcome)),
        "histogram": histogram_spec(),
    }
    if content["comparison"] is None and first.clinical is None:
        drawn["threshold"] = threshold_spec()
    page: str = (
        _environment()
        .get_template("report.html")
        .render(
            policy=_policy(style, scripts),
            style=_verbatim(style),
            scripts=[_verbatim(script) for script in scripts],
            cells=_verbatim(embedded_json(_page_data(sides, reports, {**drawn, **charts}))) if live else None,
            sides=sides,
            bins=bin_table(reports[sides.focus if len(reports) > 1 else 0].diagram, first.outcome),
            outcome=first.outcome,
            **content,
        )
    )
    return page


@cache
def _environment() -> Any:
    def visible(value: Any) -> Any:
        """Text without invisible characters; markup is unchanged."""
        return shown(value, None) if isinstance(value, str) and not hasattr(value, "__html__") else value

    return environment(
        finalize=visible, pvalue=chance_cell, chance=pvalue_clause, amount=amount, words=plain_id, places=places_found
    )


def _verbatim(text: str) -> Any:
    """Return text of the package itself, which is not escaped."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - the package's own style and scripts, and JSON without a character of HTML


def _static(name: str) -> str:
    from jinja2 import Environment, PackageLoader

    return PackageLoader("calibrant", "reporting/static").get_source(Environment(autoescape=True), name)[0]


@cache
def _drawing_library() -> str:
    """Return Vega-Embed with its dependencies as one script, after their licences, which a page that is shared must have.

    Bundling takes seconds, so that the user's cache keeps the script of the versions in `DRAWING_LIBRARIES`.
    """
    import vl_convert

    def bundle() -> str:
        return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))

    version = vl_convert.__version__  # type: ignore[attr-defined]
    return _static("licences.js") + cached_text(f"vega-embed-{version}.js", DRAWING_LIBRARIES.get(version), bundle)


def script_text(text: str) -> str:
    """Return a script for a script element: nothing in it ends the element or opens a comment.

    >>> script_text('"</script>"')
    '"<\\\\/script>"'
    """
    # A browser normalizes CR to LF before it computes the hash.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return re.sub("</(?=script)", r"<\\/", text, flags=re.IGNORECASE).replace("<!--", "\\x3C!--")


def embedded_json(data: Any) -> str:
    """Return JSON for a script element; characters that are special in HTML are escaped.

    >>> embedded_json({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _fingerprint(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"


def _policy(style: str, scripts: Iterable[str]) -> str:
    """Return the content security policy: these scripts, this style and embedded images only."""
    run = " ".join(map(_fingerprint, scripts)) or "'none'"
    return (
        f"default-src 'none'; script-src {run}; style-src {_fingerprint(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _page_data(sides: Overlay, reports: Sequence[Report], charts: dict[str, Any]) -> dict[str, Any]:
    first = reports[0]
    cells = first.cells
    assert cells is not None
    lenses = [f"class:{each.name}" if each.lens == "class" else each.lens for each in sides.lenses]
    return {
        **sides.to_dict(),
        "bins": cells.bins,
        "weights": cells.weight_kind,
        "soft": any(report.cells is not None and report.cells.is_soft for report in reports),
        "binning": "equal_mass" if first.diagram.binning == "equal_mass" else "equal_width",
        "level": first.diagram.level or 0.95,
        "chosen": reports[sides.focus].threshold.threshold if len(reports) > 1 else first.threshold.threshold,
        "outcome": shown(first.outcome),
        "titles": [_titles(lens, first.outcome) for lens in lenses],
        "charts": charts,
    }


def clinical_charts(report: Report) -> dict[str, Spec]:
    """Return the charts of the clinical part by the ids of their places."""
    part = report.clinical
    assert part is not None
    event = shown(report.outcome, EVENT_LENGTH)
    titles = (
        f"predicted risk of {event}" if event else "predicted risk",
        f"observed rate ({event})" if event else "observed rate",
    )
    interval = f"{level_text(part.summary.level)} interval"

    def with_tips(points: list[dict[str, Any]], end: float, names: Mapping[str, str]) -> list[dict[str, Any]]:
        """Add the strip around each point, and what is shown there."""
        at = [point[next(iter(names))] for point in points]
        edges = [0.0, *((first + second) / 2 for first, second in pairwise(at)), end]
        rows = []
        for point, (left, right) in zip(points, pairwise(edges), strict=True):
            tip = [(text, number(point[name])) for name, text in names.items() if point[name] is not None]
            bounds = [] if point["low"] is None else [(interval, span(point["low"], point["high"]))]
            rows.append({**point, "from": left, "to": right, "tip": [*tip[:2], *bounds, *tip[2:]]})
        return rows

    curve = {"risk": "predicted risk", "observed": "observed, flexible curve", "logistic": "observed, logistic curve"}
    points = _curve_rows(part)
    end = _round_end(max(max(point["risk"], point["observed"]) for point in points))
    charts = {
        "clinical-curve": curve_spec(with_tips(points, end, curve), end, titles),
        "clinical-risks": risks_spec(_risk_values(part.curve.distribution), end, titles[0]),
    }
    if part.benefit is not None:
        benefit = {"threshold": "threshold", "model": "net benefit of the model", "treat_all": "treat all"}
        last = _round_end(float(part.benefit.threshold[-1]))
        charts["clinical-benefit"] = benefit_spec(with_tips(benefit_rows(part.benefit), last, benefit), last)
    return charts


def _curve_rows(part: Clinical) -> list[dict[str, Any]]:
    """Return the flexible and the logistic calibration curve at each risk; a loess may leave the range of a probability."""
    curve, intercept, slope = part.curve, part.summary["joint_intercept"].value, part.summary["slope"].value
    logistic = np.full(len(curve.risk), np.nan)
    if intercept is not None and slope is not None:
        logistic = sigmoid(intercept + slope * logit(curve.risk))
    columns = {"risk": curve.risk, "observed": np.clip(curve.observed, 0.0, 1.0), "low": curve.low, "high": curve.high}
    values = zip(*map(none_for_nan, (*columns.values(), logistic)), strict=True)
    return [dict(zip((*columns, "logistic"), row, strict=True)) for row in values]


def _round_end(largest: float) -> float:
    """Return the end of an axis from 0: a round number of at least `largest`, at most 1."""
    return next((end for end in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8) if largest <= end), 1)


def _risk_values(bins: RiskDistribution) -> list[dict[str, Any]]:
    """Return a bar for each bin and outcome, as shares of the rows with that outcome; those without the event are negative."""
    values = []
    for what, counts, sign in ((WITH_EVENT, bins.events, 1), (WITHOUT_EVENT, bins.others, -1)):
        total = float(counts.sum()) or 1.0
        for left, right, count in zip(bins.low.tolist(), bins.high.tolist(), counts.tolist(), strict=True):
            tip = [("risk", f"{number(left)} to {number(right)}"), (what, amount(count))]
            values.append({"left": left, "right": right, "share": sign * count / total, "what": what, "tip": tip})
    return values


def _titles(lens: str, outcome: str) -> tuple[str, str]:
    """Return the axis titles of the reliability diagram."""
    event = shown(event_of(lens, outcome), EVENT_LENGTH)
    return (f"mean predicted P({event})", f"observed rate ({event})") if event else (mean_name(lens), rate_name(lens))


SHOWN = 6
PREFERRED = ("ece", "smece", "nll", "brier", "auroc", "average_precision")


def _metric_tables(metrics: Metrics, outcome: str) -> tuple[Table, Table]:
    """Return the metrics that are shown and those that are folded; six are shown, the usual ones first."""
    rows = metrics.all_rows
    ids = [row.id for row in rows]
    chosen = [*(id for id in PREFERRED if id in ids), *(id for id in ids if id not in PREFERRED)][:SHOWN]

    def table(rows: Sequence[MetricRow]) -> Table:
        return metric_table(rows, metrics.level, outcome, metrics.n_resamples)

    return table([row for row in rows if row.id in chosen]), table([row for row in rows if row.id not in chosen])


def comparison_tables(comparison: ReportComparison) -> dict[str, Table]:
    """Return the tables of a comparison by their headings."""
    tables = {
        "Side by side": side_table(comparison.sides, comparison.outcome),
        "Metrics": value_table(comparison.reports, comparison.level),
        "Differences": difference_table(comparison.metrics, comparison.level),
    }
    return {heading: table for heading, table in tables.items() if table.rows}
