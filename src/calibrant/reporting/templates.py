"""The environment of the templates of all pages."""

from __future__ import annotations

from typing import Any

from ..evaluation.result import shown_number
from ..util.results import percent
from .interactive import shown
from .wording import lens_text, level_text, parameter_text, search_text, sentence

FILTERS = {
    "number": shown_number,
    "percent": percent,
    "level": level_text,
    "lens": lens_text,
    "sentence": sentence,
    "setting": parameter_text,
    "shown": shown,
    "search": search_text,
}


def environment(finalize: Any = None, *, autoescape: bool = True, **filters: Any) -> Any:
    """Return an environment: an undefined name is an error, and `finalize` is applied to everything that is printed."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("calibrant", "reporting/templates"),
        autoescape=autoescape,  # noqa: S701 - Markdown is escaped by its `finalize`
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalize,
    )
    templates.filters.update(FILTERS | filters)
    return templates
