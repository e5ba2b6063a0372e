"""The report as one page: its numbers, the cells that the reader works on, and scripts named by their fingerprints."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..evaluation.result import shown_number as number
from .content import Diagram
from .interactive import shown
from .plain import changes_table, mean_and_rate, places_found
from .specs import ACCURACY, COVERAGE, histogram_spec, image_of, paper_spec, reliability_spec, threshold_spec
from .words import TOO_HIGH, TOO_LOW, in_words, level_text, percent, sentence, signed

if TYPE_CHECKING:
    from .building import Report

__all__ = ["embedded_json", "environment", "render_report"]

INTERVAL_LEVEL = 0.95


def render_report(report: Report) -> str:
    """The page as text: it opens from disk without a network, and the same report gives the same bytes.

    Parameters
    ----------
    report
        What `calibrant.report` found. Without `cells` the page has the same content and nothing to move.
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
            picture=_picture(report.diagram),
            picture_before=_picture(report.before_after.diagram) if report.before_after else "",
            gaps=_spans((w.low, w.gap, w.high) for w in report.weaknesses.entries),
            gains=_spans((r.low, r.gain, r.high) for r in report.repairs.entries),
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
        words=in_words,
        sentence=sentence,
        setting=_setting,
        means=mean_and_rate,
        places=places_found,
        changes=changes_table,
    )


def environment(finalize: Any = None, **filters: Any) -> Any:
    """Where the templates of pages lie: everything that came from outside is escaped, and a name that is missing is a fault."""
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
    """What stands in the page: text without invisible characters; what is marked as HTML stays."""
    return value if not isinstance(value, str) or hasattr(value, "__html__") else shown(value, None)


def _verbatim(text: str) -> Any:
    """Text that is no name from outside and stands in the page as it is."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - the package's own style and scripts, and JSON without a character of HTML


def _static(name: str) -> str:
    from jinja2 import Environment, PackageLoader

    return PackageLoader("calibrant", "reporting/static").get_source(Environment(autoescape=True), name)[0]


@cache
def _drawing_library() -> str:
    """Vega-Embed with all it needs, as one script; it takes seconds to put together."""
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


def script_text(text: str) -> str:
    """A script that can stand inside a script element: nothing in it ends the element or opens a comment there.

    >>> script_text('"</script>"')
    '"<\\\\/script>"'
    """
    # A browser reads CR as LF and then hashes what it read.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return re.sub("</(?=script)", r"<\\/", text, flags=re.IGNORECASE).replace("<!--", "\\x3C!--")


def embedded_json(data: Any) -> str:
    """JSON for a script element: what HTML could read as its own is written as an escape.

    >>> embedded_json({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _fingerprint(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"


def _policy(style: str, scripts: Iterable[str]) -> str:
    """What the browser may do with the page: run these scripts, show these styles and pictures it holds, and nothing else."""
    run = " ".join(map(_fingerprint, scripts)) or "'none'"
    return (
        f"default-src 'none'; script-src {run}; style-src {_fingerprint(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _page_data(report: Report) -> dict[str, Any]:
    assert report.cells is not None
    return {
        **report.cells.to_dict(),
        "binning": "equal_mass" if report.diagram.binning == "equal_mass" else "equal_width",
        "level": report.diagram.level or INTERVAL_LEVEL,
        "chosen": report.threshold.threshold,
        "words": {"high": TOO_HIGH, "low": TOO_LOW, "accuracy": ACCURACY, "coverage": COVERAGE},
        "specs": {"reliability": reliability_spec(), "histogram": histogram_spec(), "threshold": threshold_spec()},
    }


def _picture(diagram: Diagram | None) -> str:
    """The diagram as the address of an image; empty where there is none."""
    if diagram is None or diagram.reason or not diagram.bins:
        return ""
    total = sum(bin.weight for bin in diagram.bins) or 1.0
    values = [
        {
            "low": bin.low,
            "high": bin.high,
            "rows": bin.weight,
            "says": bin.mean_score,
            "happens": bin.rate,
            "lower": bin.lower,
            "upper": bin.upper,
            "share": bin.weight / total,
            "side": TOO_HIGH if bin.gap is not None and bin.gap > 0 else TOO_LOW,
        }
        for bin in diagram.bins
    ]
    return image_of(paper_spec(values))


class Span(NamedTuple):
    """A value and its interval on a line from -100 to 100, with 0 in the middle."""

    low: float
    value: float
    high: float


def _spans(found: Iterable[tuple[float | None, float | None, float | None]]) -> list[Span | None]:
    """All on one scale, set by the values: the wide interval of a few rows is cut at the edge."""
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
    return "<\u2009.001" if value < 0.001 else f"{value:.3f}".removeprefix("0") if value < 1 else "1"


def _amount(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _setting(value: Any) -> str:
    """An option as it is read aloud."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
