"""The report as one HTML page: its numbers, the cells of the interactive charts, and scripts allowed by their hashes."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from ..clinical.performance import ClinicalRow
from ..evaluation.result import shown_number as number
from ..util.files import cached_text
from ..util.results import pvalue_clause
from .content import MetricRow
from .feature_gaps import chart_rows
from .interactive import shown
from .overlay import Overlay, report_sides
from .pictures import FURTHER, describe_diagram
from .settings import DIAGRAMS
from .specs import chart, with_titles
from .tables import amount, chance_cell, places_found, report_tables, span
from .templates import environment
from .verdict import recalibration_sentence
from .wording import event_of, level_text, mean_name, plain_id, rate_name, remark, static_text

if TYPE_CHECKING:
    from .building import Report

# Metrics beside the conclusion, and their labels.
TILES = {"ece": "calibration error (ECE)", "brier": "Brier score", "auroc": "discrimination (AUROC)"}
# Longer names of events are cut in axis titles.
EVENT_LENGTH = 32
# The charts of a page, and the parameters that its script sets.
PAGE_CHARTS: dict[str, dict[str, Any]] = {
    "lines": {"xTitle": "", "yTitle": "", "logit": False},
    "scores": {},
    "feature": {"xTitle": ""},
}
# By the version of vl-convert: Vega and the interpreter of its expressions, which it has inside, and the SHA-256 of both with the compiled charts.
DRAWING_LIBRARIES = {
    "1.9.0": (
        ("vega@6.2.0", "vega-interpreter@2.0.0"),
        "a850be5259fcf126fa67f9320402f59555430513672a4c6464baf6f43d29b527",
    )
}


def render_report(report: Report) -> str:
    """Render the page: it opens from disk without network access, and the same report gives the same bytes.

    Parameters
    ----------
    report : Report
        The report. Without `charts` the page has tables and no charts.

    Returns
    -------
    str
        The page.
    """
    sides = report_sides(report)
    verdict, comparison = report.verdict, report.comparison
    headline = verdict.headline if comparison is None else comparison.sentence
    live = any(side.series for side in sides.sides) and all(each.charts is not None for each in report.models)
    style = static_text("report.css")
    # One element, so that the charts' code never runs without its library.
    script = script_text(f"{_drawing_library()}\n{static_text('report.js')}") if live else ""
    texts = chart_texts(report, report.diagram.lens)
    description = ""
    if live and sides.lenses:
        description = describe_diagram(sides.lenses[0], texts["mean"], texts["rate"])
    page: str = (
        _environment()
        .get_template("report.html")
        .render(
            report=report,
            comparison=comparison,
            tables=report_tables(report),
            headline=headline,
            further=verdict.sentence[len(headline) :] if comparison is None else "",
            best=recalibration_sentence(report.recalibration),
            tiles=report_tiles(report),
            facts=list(filter(None, (report.provenance.dropped, report.provenance.sketch))),
            policy=_policy(style, script),
            style=_verbatim(style),
            script=_verbatim(script),
            charts=_verbatim(embedded_json(_page_data(sides, report))) if live else None,
            labels={name: with_titles(name, texts) for name in (*DIAGRAMS, *FURTHER)},
            diagrams=DIAGRAMS,
            opened=[name for name in FURTHER if any(name in s.series[0].charts for s in sides.sides if s.series)],
            description=description,
            sides=sides,
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


@cache
def _drawing_library() -> str:
    """Return Vega, the interpreter of its expressions and the charts compiled for it, after the licences, which a page that is shared must have.

    Bundling takes seconds, so that the user's cache keeps the script of the versions in `DRAWING_LIBRARIES`.
    """
    import vl_convert

    version = vl_convert.__version__  # type: ignore[attr-defined]
    libraries, sum_ = DRAWING_LIBRARIES.get(version, ((), None))

    def bundle() -> str:
        # Vega-Embed is half as large again and of no use here, but the only library that every version can bundle by its name.
        script = "window.vegaEmbed = vegaEmbed;"
        if libraries:
            vega, interpreter = (f"https://cdn.jsdelivr.net/npm/{name}/+esm" for name in libraries)
            script = (
                f"import {{View, parse}} from '{vega}'; import {{expressionInterpreter}} from '{interpreter}'; "
                "Object.assign(window, {vega: {View, parse}, expressionInterpreter});"
            )
        charts = {name: vl_convert.vegalite_to_vega(chart(name, {}, **params)) for name, params in PAGE_CHARTS.items()}
        compiled = json.dumps(charts, separators=(",", ":"))
        return f"{vl_convert.javascript_bundle(script)}\nwindow.calibrantCharts = {compiled};\n"

    return static_text("licences.js") + cached_text(f"vega-{version}.js", sum_, bundle)


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


def _policy(style: str, script: str) -> str:
    """Return the content security policy: this script, this style and embedded images only."""
    run = _fingerprint(script) if script else "'none'"
    return (
        f"default-src 'none'; script-src {run}; style-src {_fingerprint(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _page_data(sides: Overlay, report: Report) -> dict[str, Any]:
    assert report.charts is not None
    diagrams = () if report.features is None else report.features.diagrams
    keys = [f"class:{each.name}" if each.lens == "class" else each.lens for each in sides.lenses]
    drawn = sides.to_dict()
    for lens, key in zip(drawn["lenses"], keys, strict=True):
        lens["mean"], lens["rate"] = _titles(key, report.outcome)
    # The axes that name them follow the selected lens.
    texts = chart_texts(report, "") | {"mean": "{mean}", "rate": "{rate}"}
    return {
        **drawn,
        "weighted": report.charts.weight_kind == "importance",
        "level": level_text(report.diagram.level or 0.95),
        "outcome": shown(report.outcome),
        "titles": {name: with_titles(name, texts) for name in (*DIAGRAMS, *FURTHER)},
        "diagram": report.diagram.kind,
        "logit": report.diagram.scale == "logit",
        "features": [{"name": shown(each.feature), "data": chart_rows(each)} for each in diagrams],
    }


def chart_texts(report: Report, lens: str) -> dict[str, str]:
    """Return what the titles of the charts name: both axes of the reliability diagram, and facts of the report."""
    mean, rate = _titles(lens, report.outcome)
    smooth = remark("kernel" if report.clinical is None else "loess")
    level, least = level_text(report.diagram.level or 0.95), str(report.diagram.min_rows)
    return {"mean": mean, "rate": rate, "smooth": smooth, "level": level, "min_rows": least}


def _titles(lens: str, outcome: str) -> tuple[str, str]:
    """Return the axis titles of the reliability diagram."""
    event = shown(event_of(lens, outcome), EVENT_LENGTH)
    return (f"mean predicted P({event})", f"observed rate ({event})") if event else (mean_name(lens), rate_name(lens))


def report_tiles(report: Report) -> list[tuple[str, str, str]]:
    """Return label, value and interval of figures that the conclusion does not state."""
    rows: list[tuple[str, MetricRow | ClinicalRow]]
    if report.clinical is not None:
        summary = report.clinical.summary
        tiles = [("patients", amount(summary.n), f"{amount(summary.events)} with {report.outcome or 'the event'}")]
        rows = [(summary[id].name, summary[id]) for id in ("intercept", "ici", "brier")]
        level = summary.level
    else:
        tiles = [("rows", amount(report.provenance.row_count), "")]
        rows = [(TILES[row.id], row) for row in report.metrics.all_rows if row.id in TILES]
        level = report.metrics.level or 0.95
    for label, row in rows:
        bounds = (
            ""
            if row.low is None
            else f"{level_text(level)} interval {span(row.low, row.high, partial(number, digits=3))}"
        )
        tiles.append((label, number(row.value), bounds))
    return tiles
