"""The report as one HTML page: its numbers, the cells of the interactive charts, and scripts allowed by their hashes."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from ..evaluation.clinical import ClinicalRow, ClinicalSummary, row_cells
from ..evaluation.result import shown_number as number
from ..util.files import cached_text
from ..util.results import percent
from .content import (
    BenefitPoint,
    ComparedDifference,
    ComparedMetric,
    CurvePoint,
    Diagram,
    MetricRow,
    Metrics,
    RiskBin,
    Weaknesses,
)
from .interactive import shown
from .overlay import Overlay, PageSide, compared_sides, report_sides
from .plain import (
    TO_BE_FILLED,
    TRIPOD_NOTE,
    TRIPOD_REFERENCE,
    changes_table,
    mean_and_rate,
    places_found,
    with_interval,
)
from .specs import (
    ACCURACY,
    COVERAGE,
    ON_PAGE,
    ON_PAPER,
    ROWS,
    SHARE,
    WITH_EVENT,
    WITHOUT_EVENT,
    Palette,
    benefit_spec,
    curve_spec,
    data_address,
    histogram_spec,
    image_of,
    reliability_spec,
    risks_spec,
    threshold_spec,
    trend_spec,
)
from .stills import compared_image, diagram_image
from .wording import ABOVE, BELOW, event_of, lens_text, level_text, mean_name, plain_id, rate_name, sentence, signed

if TYPE_CHECKING:
    from .building import Report
    from .comparing import ReportComparison

SIGNIFICANCE = {True: "significant", False: "not significant", None: "no test"}

INTERVAL_LEVEL = 0.95
# Parts of lines of the header that the page always shows: how many rows were dropped, and that there was a sketch.
ALWAYS_SHOWN = ("dropped because of missing values", "from a sketch")
# Longer names of events are cut in axis titles.
EVENT_LENGTH = 32
PAPER_WIDTH = 420
# SHA-256 of the script that these versions of vl-convert bundle.
DRAWING_LIBRARIES = {"1.9.0": "373b1f84072b31010f15ceb787be6b415c53936411aae267c8c2b2b6ccde46e7"}


def render_report(report: Report) -> str:
    """Render the page: it opens from disk without network access, and the same report gives the same bytes.

    Parameters
    ----------
    report : Report
        The report. Without `cells` the page is static.

    Returns
    -------
    str
        The page.
    """
    changed = report.before_after
    charts = {} if report.clinical is None else clinical_charts(report)
    pictures = {} if report.clinical is None else clinical_charts(report, ON_PAPER, PAPER_WIDTH)
    return _render(
        report_sides(report),
        (report,),
        charts,
        title=report.title,
        metadata=report.metadata,
        headline=report.verdict.headline,
        further=report.verdict.sentence[len(report.verdict.headline) :],
        report=report,
        comparison=None,
        pictures=pictures,
        summary_rows=() if report.clinical is None else _summary_groups(report.clinical.summary),
        changed_rows=() if changed is None else _difference_rows(changed.differences),
        metric_parts=_metric_tables(report.metrics),
        tripod={"note": TRIPOD_NOTE, "reference": TRIPOD_REFERENCE, "empty": TO_BE_FILLED},
        tile=_titles(report.verdict.lens, report.outcome),
        facts=[
            line for place, line in enumerate(report.header) if place < 2 or any(text in line for text in ALWAYS_SHOWN)
        ],
        gains=_spans((r.low, r.gain, r.high) for r in report.recalibration.entries),
    )


def render_comparison(found: ReportComparison, sides: Any, values: Any) -> str:
    """Render the page of several reports: their diagrams over each other, the metrics side by side, and the differences.

    Parameters
    ----------
    found : ReportComparison
        The comparison.
    sides, values : Table
        Its tables of the sides and of the metrics.

    Returns
    -------
    str
        The page.
    """
    first = found.reports[0]
    focus = len(found.reports) - 1 if found.kind == "before-after" else 0
    overlaid = compared_sides(found.reports, WHAT[found.kind], focus)
    charts, pictures = {}, {}
    if found.kind == "periods" and any(side.means for side in overlaid.sides):
        charts["trend"] = _trend(overlaid, found.reports, ON_PAGE, None)
        pictures["trend"] = image_of(_trend(overlaid, found.reports, ON_PAPER, 2 * PAPER_WIDTH))
    rows = [(metric, _difference_rows((metric,))) for metric in found.metrics]
    together = sum(len(own) for _, own in rows) <= MOST_DIFFERENCES
    return _render(
        overlaid,
        found.reports,
        charts,
        title=found.title,
        metadata=found.metadata,
        headline=found.sentence,
        further="",
        report=first,
        comparison=found,
        pictures=pictures,
        tables=(sides, values),
        difference_rows=[(None, _difference_rows(found.metrics))] if together else rows,
        details=[(report, _metric_tables(report.metrics)) for report in found.reports]
        if len(found.reports) <= MOST_DETAILS
        else [],
    )


def _render(sides: Overlay, reports: Sequence[Report], charts: dict[str, Any], **content: Any) -> str:
    """Render the template; it has scripts where all sides have cells."""
    first = reports[0]
    live = any(side.series for side in sides.sides) and all(report.cells is not None for report in reports)
    style = _static("report.css")
    own = [_static("beta.js"), _static("report.js")]
    scripts = [script_text(text) for text in (_drawing_library(), *own)] if live else []
    page: str = (
        _environment()
        .get_template("report.html")
        .render(
            policy=_policy(style, scripts),
            style=_verbatim(style),
            scripts=[_verbatim(script) for script in scripts],
            cells=_verbatim(embedded_json(_page_data(sides, reports, charts))) if live else None,
            sides=sides,
            picture=_picture(first.diagram, sides, first.outcome),
            outcome=first.outcome,
            **content,
        )
    )
    return page


WHAT = {"models": "Model", "periods": "Period", "before-after": "Scores"}
# Of more sides, only the conclusion of each is shown.
MOST_DETAILS = 10
# More differences are folded by metric, after those of the first.
MOST_DIFFERENCES = 12


@cache
def _environment() -> Any:
    return environment(
        finalize=_visible_text,
        number=number,
        percent=percent,
        level=level_text,
        signed=signed,
        pvalue=_pvalue,
        shown=shown,
        amount=_amount,
        words=plain_id,
        lens=lens_text,
        mean_name=mean_name,
        rate_name=rate_name,
        sentence=sentence,
        setting=_setting,
        means=mean_and_rate,
        places=places_found,
        changes=changes_table,
        with_interval=with_interval,
        gaps=_gaps,
        judged=SIGNIFICANCE.get,
    )


def environment(finalize: Any = None, **filters: Any) -> Any:
    """Return the environment of the templates: all text from the data is escaped, and an undefined name is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("calibrant", "reporting/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalize,
    )
    made.filters.update(filters)
    return made


def _visible_text(value: Any) -> Any:
    """Return text without invisible characters; markup is unchanged."""
    return value if not isinstance(value, str) or hasattr(value, "__html__") else shown(value, None)


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
        "level": first.diagram.level or INTERVAL_LEVEL,
        "chosen": reports[sides.focus].threshold.threshold if len(reports) > 1 else first.threshold.threshold,
        "outcome": shown(first.outcome),
        "titles": [_titles(lens, first.outcome) for lens in lenses],
        "words": {
            "above": ABOVE,
            "below": BELOW,
            "accuracy": ACCURACY,
            "coverage": COVERAGE,
            "rows": ROWS,
            "share": SHARE,
        },
        "specs": {
            "reliability": reliability_spec(),
            "histogram": histogram_spec(),
            "threshold": threshold_spec(),
        },
        "charts": charts,
    }


def _trend(sides: Overlay, reports: Sequence[Report], palette: Palette, width: int | None) -> dict[str, Any]:
    """Return the mean score and the rate of each side as a chart, both of the lens of the diagram."""
    first = reports[0]
    lens = first.diagram.lens
    names = mean_name(lens), shown(rate_name(lens, first.outcome), EVENT_LENGTH)
    values = [
        {"place": side.place, "name": shown(side.name), "value": value, "what": what, "tip": _side_tip(side, names)}
        for side in sides.sides
        for what, value in zip(names, side.means or (), strict=False)
    ]
    return trend_spec(values, names, palette, width=width)


def _side_tip(side: PageSide, names: tuple[str, str]) -> list[tuple[str, str]]:
    assert side.means is not None
    rows = sum(bin.weight for bin in side.bins)
    values = ((name, percent(value)) for name, value in zip(names, side.means, strict=True))
    return [("", shown(side.name)), ("rows", _amount(rows)), *values]


def _difference_rows(metrics: Iterable[ComparedMetric]) -> list[tuple[ComparedMetric, ComparedDifference, Span | None]]:
    """Return the differences of metrics, each with its interval on the scale of its metric."""
    return [
        (metric, each, span)
        for metric in metrics
        for each, span in zip(
            metric.differences, _spans((d.low, d.difference, d.high) for d in metric.differences), strict=True
        )
    ]


def clinical_charts(report: Report, palette: Palette = ON_PAGE, width: int | None = None) -> dict[str, Any]:
    """Return the charts of the clinical part by the ids of their places: specifications, or images in fixed colours."""
    part = report.clinical
    assert part is not None
    event = shown(report.outcome, EVENT_LENGTH)
    titles = (
        f"predicted risk of {event}" if event else "predicted risk",
        f"observed rate of {event}" if event else "observed rate",
    )
    end = _round_end(max(max(point.risk, point.observed) for point in part.curve))
    points = [
        {**vars(point), "from": low, "to": high, "tip": _curve_tip(point, part.summary.level)}
        for point, (low, high) in zip(part.curve, _strips([point.risk for point in part.curve], end), strict=True)
    ]
    found = {
        "clinical-curve": curve_spec(points, end, palette, width=width, titles=titles),
        "clinical-risks": risks_spec(_risk_values(part.risks), end, palette, width=width, title=titles[0]),
    }
    if part.benefit:
        last = _round_end(part.benefit[-1].threshold)
        places = _strips([point.threshold for point in part.benefit], last)
        benefit = [
            {**vars(point), "from": low, "to": high, "tip": _benefit_tip(point, part.summary.level)}
            for point, (low, high) in zip(part.benefit, places, strict=True)
        ]
        found["clinical-benefit"] = benefit_spec(benefit, last, palette, width=width)
    return found if palette is ON_PAGE else {name: image_of(spec) for name, spec in found.items()}


def _round_end(largest: float) -> float:
    """Return the end of an axis from 0: a round number of at least `largest`, at most 1."""
    return next((end for end in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8) if largest <= end), 1)


def _strips(at: list[float], end: float) -> list[tuple[float, float]]:
    """Return the part of the axis that is nearest to each of the increasing places."""
    edges = [0.0, *((first + second) / 2 for first, second in pairwise(at)), end]
    return [*pairwise(edges)]


def _curve_tip(point: CurvePoint, level: float) -> list[tuple[str, str]]:
    return [
        ("predicted risk", number(point.risk)),
        ("observed, flexible curve", number(point.observed)),
        *_interval_tip(point.lower, point.upper, level),
        *([] if point.logistic is None else [("observed, logistic curve", number(point.logistic))]),
    ]


def _benefit_tip(point: BenefitPoint, level: float) -> list[tuple[str, str]]:
    return [
        ("threshold", number(point.threshold)),
        ("net benefit of the model", number(point.model)),
        *_interval_tip(point.lower, point.upper, level),
        ("treat all", number(point.treat_all)),
    ]


def _interval_tip(lower: float | None, upper: float | None, level: float) -> list[tuple[str, str]]:
    return (
        []
        if lower is None or upper is None
        else [(f"{level_text(level)} interval", f"{number(lower)} to {number(upper)}")]
    )


def _risk_values(bins: tuple[RiskBin, ...]) -> list[dict[str, Any]]:
    """Return a bar for each bin and outcome, as shares of the rows with that outcome; those without the event are negative."""
    values = []
    for what, name, sign in ((WITH_EVENT, "events", 1), (WITHOUT_EVENT, "others", -1)):
        total = sum(getattr(bin, name) for bin in bins) or 1.0
        for bin in bins:
            count = getattr(bin, name)
            tip = [("risk", f"{number(bin.low)} to {number(bin.high)}"), (what, _amount(count))]
            values.append({"low": bin.low, "high": bin.high, "share": sign * count / total, "what": what, "tip": tip})
    return values


def _summary_groups(summary: ClinicalSummary) -> list[tuple[str, list[tuple[ClinicalRow, list[str]]]]]:
    """Return the rows of the clinical table by group, each with its cells."""
    groups = dict.fromkeys(row.group for row in summary.rows)
    return [
        (group.capitalize(), [(row, row_cells(row)) for row in summary.rows if row.group == group]) for group in groups
    ]


def _titles(lens: str, outcome: str) -> tuple[str, str]:
    """Return the axis titles of the reliability diagram."""
    event = shown(event_of(lens, outcome), EVENT_LENGTH)
    return (f"mean predicted P({event})", f"observed rate of {event}") if event else (mean_name(lens), rate_name(lens))


SHOWN = 6
PREFERRED = ("ece", "smece", "nll", "brier", "auroc", "average_precision")
HEADINGS = {"calibration": "Calibration", "proper score": "Proper scores", "discrimination": "Discrimination"}


def _metric_tables(metrics: Metrics) -> list[list[tuple[str, list[MetricRow]]]]:
    """Return the metrics that are shown and those that are folded, each by group; six are shown, the usual ones first."""
    rows = metrics.all_rows
    ids = [row.id for row in rows]
    chosen = [*(id for id in PREFERRED if id in ids), *(id for id in ids if id not in PREFERRED)][:SHOWN]
    parts = [row for row in rows if row.id in chosen], [row for row in rows if row.id not in chosen]
    return [
        [(HEADINGS[g], own) for g in HEADINGS if (own := [row for row in part if row.group == g])] for part in parts
    ]


def _picture(diagram: Diagram, sides: Overlay, outcome: str) -> str:
    """Return the diagram, of several sides over each other, as the data address of an image; empty where there is none."""
    drawn = [side for side in sides.sides if side.on]
    titles = _titles(diagram.lens, outcome)
    if diagram.reason or not any(side.bins for side in drawn):
        return ""
    if len(drawn) == 1:
        return data_address(diagram_image([*_bin_values(drawn[0])], titles))
    lines = [value for side in drawn for value in _bin_values(side) if value["rate"] is not None]
    spans = [value for value in lines if value["lower"] is not None] if len(drawn) <= MOST_SPANS else []
    steps = [
        {"at": at, "share": value["share"], **{key: value[key] for key in ("place", "colour", "dash")}}
        for side in drawn
        for value in _bin_values(side)
        for at in ((value["low"], value["high"]) if value["high"] == 1 else (value["low"],))
    ]
    return data_address(compared_image(lines, spans, steps, titles))


# With more sides, intervals would hide the lines; on the page those of one side can be seen.
MOST_SPANS = 3
# The same as in the style sheet, on white.
SIDE_COLOURS = ("#2166ac", "#b2560d", "#1a7f5a", "#7b3fa0", "#3c3c43", "#0e7490", "#b5306e", "#7a6500")


def _bin_values(side: PageSide) -> Iterator[dict[str, Any]]:
    total = sum(bin.weight for bin in side.bins) or 1.0
    look = side.look
    for bin in side.bins:
        yield {
            "low": bin.low,
            "high": bin.high,
            "rows": bin.weight,
            "mean_score": bin.mean_score,
            "rate": bin.rate,
            "lower": bin.lower,
            "upper": bin.upper,
            "share": bin.weight / total,
            "side": ABOVE if bin.gap is not None and bin.gap > 0 else BELOW,
            "place": side.place,
            "colour": SIDE_COLOURS[look.colour],
            "dash": [float(part) for part in look.dash.split()],
            "shape": look.shape,
        }


class Span(NamedTuple):
    """A value and its interval on a line from -100 to 100, with 0 in the middle."""

    low: float
    value: float
    high: float


def _spans(found: Iterable[tuple[float | None, float | None, float | None]]) -> list[Span | None]:
    """Return all intervals on one scale, set by the values; wide intervals are cut at the edge."""
    rows = [(low, None if value is None or not math.isfinite(value) else value, high) for low, value, high in found]
    scale = 1.6 * max((abs(value) for _, value, _ in rows if value is not None), default=0.0) or 1.0

    def place(value: float | None, otherwise: float) -> float:
        known = otherwise if value is None or math.isnan(value) else value
        return round(max(-100.0, min(100.0, 100 * known / scale)), 2)

    return [
        None if value is None else Span(place(low, value), place(value, value), place(high, value))
        for low, value, high in rows
    ]


def _gaps(weak: Weaknesses) -> list[Span | None]:
    return _spans((w.low, w.gap, w.high) for w in weak.entries)


def _pvalue(value: float | None) -> str:
    if value is None:
        return "-"
    return "<\u202f0.001" if value < 0.001 else f"{value:.3f}" if value < 1 else "1"


def _amount(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _setting(value: Any) -> str:
    """Return the value of an option as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
