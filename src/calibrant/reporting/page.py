"""Fill the page's template; everything that came from outside is escaped, and nothing on the page can run."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..evaluation.measure import Evaluation, Header
from ..metrics.registry import catalogue
from ..metrics.reliability_curve import CalibrationCurve
from ..util.results import number
from ..util.version import __version__
from .diagram import reliability_spec, svg_of
from .words import in_words, level_text, sentence

__all__ = ["Section", "means_of", "render_page", "verdict"]

WITHIN = ": within chance"


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
    environment.filters.update(level=level_text, words=in_words)
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
    """A plain sentence for each question asked of the means; it never says calibrated."""
    said = means_of(result.header)
    if not said:
        return "The table below shows how far the probabilities are from what happened."
    if all(words.endswith(WITHIN) for words in said):
        said.append("single regions can still be off; see the diagram")
    return " ".join(map(sentence, said))


def means_of(header: Header) -> list[str]:
    """What is said on average and what happens, in phrases; what chance hardly explains comes first.

    Of two classes the question is the positive one, and how often the model is right is another one. Where one class is always
    predicted they are the same, and the class is easier to grasp.
    """
    phrases = [header.event] if _always_one_class(header) else [header.event, header.direction]
    return sorted(filter(None, phrases), key=lambda words: words.endswith(WITHIN))


def _always_one_class(header: Header) -> bool:
    if header.event_says is None or header.accuracy is None or header.mean_confidence is None:
        return False
    says, happens = header.event_says, header.prevalence[1]
    return any(
        math.isclose(header.mean_confidence, sure, abs_tol=1e-9) and math.isclose(header.accuracy, right, abs_tol=1e-9)
        for sure, right in ((says, happens), (1 - says, 1 - happens))
    )


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
