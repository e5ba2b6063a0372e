"""Forms of a report: which one a file name asks for, and values as JSON knows them."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import ArgumentError

__all__ = ["Form", "form_of", "plain_values", "text_in"]

Form = Literal["html", "md", "json"]
FORMS: dict[str, Form] = {
    ".html": "html",
    ".htm": "html",
    ".md": "md",
    ".markdown": "md",
    ".json": "json",
}


def text_in(content: Any, form: Form) -> str:
    """A report or a comparison as text of that form."""
    made = {"html": content.to_html, "md": content.to_markdown, "json": content.to_json}[form]
    return str(made())


def form_of(path: str | os.PathLike[str], format: str | None = None) -> Form:
    """The form that `format` or the suffix of the file names."""
    if format is not None:
        for form in ("html", "md", "json"):
            if format == form:
                return form
        raise ArgumentError("format", f"must be 'html', 'md' or 'json'; got {format!r}")
    found = FORMS.get(Path(path).suffix.lower())
    if found is None:
        raise ArgumentError(
            "path", f"{os.fspath(path)!r} does not say what to write", "end it in .html, .md or .json, or pass format="
        )
    return found


def plain_values(content: Any) -> Any:
    """Dataclasses, tuples and NumPy numbers as what JSON knows; what the page calculates from is left out."""
    if is_dataclass(content):
        return {f.name: plain_values(getattr(content, f.name)) for f in fields(content) if f.name != "cells"}
    if isinstance(content, Mapping):
        return {str(key): plain_values(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [plain_values(value) for value in content]
    value = content.item() if hasattr(content, "item") else content
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
