"""The report as one HTML page: its numbers, the cells of the interactive charts, and scripts allowed by their hashes."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from ..evaluation.clinical import ClinicalRow, ClinicalSummary, row_cells
from ..evaluation.result import shown_number as number
from ..util.files import cache_folder, cached_text
from .content import BenefitPoint, CurvePoint, Diagram, MetricRow, Metrics, RiskBin
from .interactive import shown
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
    WITH_EVENT,
    WITHOUT_EVENT,
    Palette,
    benefit_spec,
    curve_spec,
    histogram_spec,
    image_of,
    paper_spec,
    reliability_spec,
    risks_spec,
    threshold_spec,
)
from .wording import (
    ABOVE,
    BELOW,
    event_of,
    lens_text,
    level_text,
    mean_name,
    percent,
    plain_id,
    rate_name,
    sentence,
    signed,
)

if TYPE_CHECKING:
    from .building import Report

__all__ = ["embedded_json", "environment", "render_report"]

INTERVAL_LEVEL = 0.95
# Longer names of events are cut in axis titles.
EVENT_LENGTH = 32
PAPER_WIDTH = 420


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
    style = _static("report.css")
    own = [_static("beta.js"), _static("report.js")]
    scripts = [script_text(text) for text in (_drawing_library(), *own)] if report.cells else []
    page: str = (
        _environment()
        .get_template("report.html")
        .render(
            report=report,
            policy=_policy(style, scripts),
            style=_verbatim(style),
            scripts=[_verbatim(script) for script in scripts],
            cells=_verbatim(embedded_json(_page_data(report))) if report.cells else None,
            picture=_picture(report.diagram, report.outcome),
            clinical_pictures={} if report.clinical is None else clinical_charts(report, ON_PAPER, PAPER_WIDTH),
            summary_rows=() if report.clinical is None else _summary_groups(report.clinical.summary),
            picture_before=_picture(report.before_after.diagram, report.outcome) if report.before_after else "",
            tables=_metric_tables(report.metrics),
            tripod={"note": TRIPOD_NOTE, "reference": TRIPOD_REFERENCE, "empty": TO_BE_FILLED},
            tile=_titles(report.verdict.lens, report.outcome),
            gaps=_spans((w.low, w.gap, w.high) for w in report.weaknesses.entries),
            gains=_spans((r.low, r.gain, r.high) for r in report.recalibration.entries),
        )
    )
    return page


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
        bytecode_cache=_compiled_templates("plain" if finalize is None else finalize.__name__),
    )
    made.filters.update(filters)
    return made


def _compiled_templates(kind: str) -> Any:
    """Return the user's cache of compiled templates, or None: compiling the page takes a third of a second."""
    import jinja2

    class Kept(jinja2.FileSystemBytecodeCache):
        def dump_bytecode(self, bucket: Any) -> None:
            with suppress(OSError):  # the cache saves time only
                super().dump_bytecode(bucket)

    folder = cache_folder()
    # What a template compiles to depends on the options above, too, and thus on the age of this file.
    version = f"{jinja2.__version__}-{os.stat(__file__).st_mtime_ns}"
    return None if folder is None else Kept(str(folder), f"template-{version}-{kind}-%s.cache")


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
    """Return Vega-Embed with its dependencies as one script; bundling takes seconds, so that the user's cache keeps it."""
    import vl_convert

    def bundle() -> str:
        return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))

    return cached_text(f"vega-embed-{vl_convert.__version__}.js", bundle)


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


def _page_data(report: Report) -> dict[str, Any]:
    assert report.cells is not None
    lenses = [f"class:{each.name}" if each.lens == "class" else each.lens for each in report.cells.lenses]
    return {
        **report.cells.to_dict(),
        "binning": "equal_mass" if report.diagram.binning == "equal_mass" else "equal_width",
        "level": report.diagram.level or INTERVAL_LEVEL,
        "chosen": report.threshold.threshold,
        "outcome": shown(report.outcome),
        "titles": [_titles(lens, report.outcome) for lens in lenses],
        "words": {"above": ABOVE, "below": BELOW, "accuracy": ACCURACY, "coverage": COVERAGE},
        "specs": {
            "reliability": reliability_spec(),
            "histogram": histogram_spec(),
            "threshold": threshold_spec(),
            **({} if report.clinical is None else clinical_charts(report)),
        },
    }


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


def _picture(diagram: Diagram | None, outcome: str) -> str:
    """Return the diagram as the data address of an image; empty where there is none."""
    if diagram is None or diagram.reason or not diagram.bins:
        return ""
    total = sum(bin.weight for bin in diagram.bins) or 1.0
    values = [
        {
            "low": bin.low,
            "high": bin.high,
            "rows": bin.weight,
            "mean_score": bin.mean_score,
            "rate": bin.rate,
            "lower": bin.lower,
            "upper": bin.upper,
            "share": bin.weight / total,
            "side": ABOVE if bin.gap is not None and bin.gap > 0 else BELOW,
        }
        for bin in diagram.bins
    ]
    return image_of(paper_spec(values, _titles(diagram.lens, outcome)))


class Span(NamedTuple):
    """A value and its interval on a line from -100 to 100, with 0 in the middle."""

    low: float
    value: float
    high: float


def _spans(found: Iterable[tuple[float | None, float | None, float | None]]) -> list[Span | None]:
    """Return all intervals on one scale, set by the values; wide intervals are cut at the edge."""
    rows = list(found)
    scale = 1.6 * max((abs(value) for _, value, _ in rows if value is not None), default=0.0) or 1.0

    def place(value: float | None, otherwise: float) -> float:
        return round(max(-100.0, min(100.0, 100 * (otherwise if value is None else value) / scale)), 2)

    return [
        None if value is None else Span(place(low, value), place(value, value), place(high, value))
        for low, value, high in rows
    ]


def _pvalue(value: float | None) -> str:
    if value is None:
        return "-"
    return "<\u20090.001" if value < 0.001 else f"{value:.3f}" if value < 1 else "1"


def _amount(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _setting(value: Any) -> str:
    """Return the value of an option as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
