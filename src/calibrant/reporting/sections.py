"""Sections of reports that plug-ins add."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import numpy as np

from ..errors import ArgumentError, CalibrantError
from ..input.predictions import Predictions
from ..plugins import SECTIONS, load
from .content import Section


def plugin_sections(p: Predictions) -> tuple[Section, ...]:
    """Return the sections of all plug-ins; one that raises an error of calibrant states the reason."""
    load("report_sections")
    return tuple(_section(title, p) for title in SECTIONS)


def _section(title: str, p: Predictions) -> Section:
    function = SECTIONS[title]
    try:
        content = function(p)
    except CalibrantError as error:
        return Section(title, reason=str(error))
    if isinstance(content, str):
        return Section(title, content)
    if not isinstance(content, Mapping):
        problem = f"must return text or a mapping of columns; got {type(content).__name__}"
        raise ArgumentError(f"report section {title!r}", problem)
    columns = {str(heading): tuple(np.asarray(values, object).tolist()) for heading, values in content.items()}
    if len({len(column) for column in columns.values()}) > 1:
        raise ArgumentError(f"report section {title!r}", "returns columns of different lengths")
    return Section(title, (inspect.getdoc(function) or "").split("\n")[0], columns)
