"""Forms of a report: HTML page, Markdown and JSON, chosen by the file name."""

from __future__ import annotations

import os
from abc import abstractmethod
from html import escape
from typing import Any, Literal

from ..util.results import Result, format_of

Form = Literal["html", "md", "json"]
# Shows the conclusion and the diagram, with room on a laptop for the cell itself.
FRAME_HEIGHT = 760
FORMS: tuple[Form, ...] = ("html", "md", "json")


class Document(Result):
    """Base of reports: results that can be written as an HTML page, Markdown or JSON."""

    @abstractmethod
    def to_html(self) -> str:
        """Render one self-contained HTML page."""

    @abstractmethod
    def to_markdown(self) -> str:
        """Render Markdown."""

    def text(self, form: Form) -> str:
        """Render the document in one of its forms."""
        return self._content(form).decode()

    def _page(self) -> str:
        return self.to_html()

    def _markdown(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        return framed(self.to_html(), super()._repr_html_())

    def __repr__(self) -> str:
        return self._title()


def framed(page: str, otherwise: str) -> str:
    """Return a page for the output of a notebook cell: in a frame of its own, which neither reaches the notebook nor another report.

    Where frames are removed, as in a notebook that is not trusted, `otherwise` is shown.
    """
    # Without allow-same-origin, scripts of the page see nothing of the notebook. The height can be changed by its lower right corner.
    allowed = "allow-scripts allow-popups allow-popups-to-escape-sandbox allow-modals"
    return (
        f'<div style="height:{FRAME_HEIGHT}px;resize:vertical;overflow:hidden"><iframe srcdoc="{escape(page)}" sandbox="{allowed}" '
        f'style="width:100%;height:100%;border:0" title="Calibration report">{otherwise}</iframe></div>'
    )


def form_of(path: str | os.PathLike[str], format: str | None = None) -> Form:
    """Return the form given by `format` or by the suffix of the file."""
    found: Any = format_of(path, format, FORMS)
    return found
