"""Forms of a report: which one a file name asks for, and the base of what is written as a page, Markdown or JSON."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from pathlib import Path
from typing import Literal

from ..errors import ArgumentError, Use
from ..util.files import write_atomic
from ..util.results import Result

__all__ = ["Document", "Form", "form_of"]

Form = Literal["html", "md", "json"]
FORMS: dict[str, Form] = {
    ".html": "html",
    ".htm": "html",
    ".md": "md",
    ".markdown": "md",
    ".json": "json",
}


class Document(Result):
    """Base of reports: results that can be written as a page, as Markdown and as JSON."""

    @abstractmethod
    def to_html(self) -> str:
        """One self-contained page to open in a browser."""

    @abstractmethod
    def to_markdown(self) -> str:
        """Text to read, or to paste into a document."""

    def to_json(self) -> str:
        """The values of `to_dict` as text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    def text(self, form: Form) -> str:
        """The document in one of its forms."""
        return {"html": self.to_html, "md": self.to_markdown, "json": self.to_json}[form]()

    def write(self, path: str | os.PathLike[str], *, format: str | None = None) -> Path:
        """Write it, whole or not at all; the suffix (.html, .md or .json) or `format` says as what."""
        return write_atomic(path, self.text(form_of(path, format)).encode())

    def __repr__(self) -> str:
        return self._title()


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
            "path", f"the format of {os.fspath(path)!r} is unknown", ("end it in .html, .md or .json", Use("format"))
        )
    return found
