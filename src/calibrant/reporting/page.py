"""Fill the page's template; everything that came from outside is escaped, and nothing on the page can run."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import __version__
from .._results import number
from ..calibration import CalibrationCurve
from ..evaluation import Evaluation
from ..registry import catalogue
from .diagram import reliability_spec, svg_of

__all__ = ["Section", "render_page"]


class Section(NamedTuple):
    """Something that stands above the diagram: sentences, a table, and a diagram of its own."""

    heading: str
    lines: Sequence[str] = ()
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    curve: CalibrationCurve | None = None

    @property
    def picture(self) -> str:
        """The diagram as the address of an image; empty where there is none."""
        return "" if self.curve is None else _picture(self.curve)


def render_page(
    result: Evaluation,
    curve: CalibrationCurve,
    *,
    title: str,
    sections: Sequence[Section] = (),
    heading: str = "Reliability diagram",
) -> str:
    """The page as text; `heading` is that of the diagram."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("calibrant", "reporting/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html").render(
        title=title,
        version=__version__,
        lines=result.header.lines(),
        verdict=verdict(result),
        sections=sections,
        heading=heading,
        picture=_picture(curve),
        curve_rows=_curve_rows(curve),
        curve=curve,
        metrics=[_metric_row(found) for found in result.results],
        notes=result.notes(),
    )


def _picture(curve: CalibrationCurve) -> str:
    drawn = base64.b64encode(svg_of(reliability_spec(curve)).encode()).decode("ascii")
    return f"data:image/svg+xml;base64,{drawn}"


def verdict(result: Evaluation) -> str:
    """One plain sentence; it never says calibrated."""
    header = result.header
    if header.accuracy is None or header.mean_confidence is None:
        return "The table below shows how far the probabilities are from what happened."
    said = f"it says {header.mean_confidence:.0%} on average and is right {header.accuracy:.0%} of the time"
    for side in ("over", "under"):
        if header.direction.startswith(side):
            return f"{side.capitalize()}confident: {said}."
    return f"On average the difference could be chance: {said}. Single regions can still be off; see the diagram."


def _metric_row(found: Any) -> dict[str, str]:
    metric = catalogue[found.metric]
    return {
        "id": metric.id,
        "name": metric.name,
        "value": number(found.value) if not found.reason else "-",
        "direction": found.reason or found.direction,
        "ideal": "" if metric.ideal is None else f"{metric.ideal:g}",
        "lens": found.lens,
        "meaning": metric.summary,
        "caution": metric.cons,
        "paper": metric.reference,
    }


def _curve_rows(curve: CalibrationCurve) -> list[list[str]]:
    entries = curve.to_dict()
    keys = ("low", "high", "rows", "mean_score", "rate", "lower", "upper")
    return [
        [f"{value:,}" if key == "rows" else number(value) for key, value in zip(keys, row, strict=True)]
        for row in zip(*(entries[key] for key in keys), strict=True)
    ]
