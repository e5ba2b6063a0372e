"""Forms of a report: HTML page, Markdown and JSON, chosen by the file name."""

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
    """Base of reports: results that can be written as an HTML page, Markdown or JSON."""

    @abstractmethod
    def to_html(self) -> str:
        """Render one self-contained HTML page."""

    @abstractmethod
    def to_markdown(self) -> str:
        """Render Markdown."""

    def to_json(self) -> str:
        """Render the values of `to_dict` as JSON.

        Returns
        -------
        str
            JSON text.
        """
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    def text(self, form: Form) -> str:
        """Render the document.

        Parameters
        ----------
        form : {"html", "md", "json"}
            The form.

        Returns
        -------
        str
            The rendered document.
        """
        return {"html": self.to_html, "md": self.to_markdown, "json": self.to_json}[form]()

    def write(self, path: str | os.PathLike[str], *, format: str | None = None) -> Path:
        """Write the document to a file, atomically.

        Parameters
        ----------
        path : str or path-like
            File to write; the suffix .html, .md or .json determines the form.
        format : {"html", "md", "json"}, optional
            Form, where the suffix does not determine it.

        Returns
        -------
        pathlib.Path
            The file written.
        """
        return write_atomic(path, self.text(form_of(path, format)).encode())

    def __repr__(self) -> str:
        return self._title()


def form_of(path: str | os.PathLike[str], format: str | None = None) -> Form:
    """Return the form given by `format` or by the suffix of the file."""
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
