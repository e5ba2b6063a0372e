"""Forms of a report: HTML page, Markdown, JSON, PDF and Word, chosen by the file name; and its figures."""

from __future__ import annotations

import os
from abc import abstractmethod
from html import escape
from pathlib import Path
from typing import Any, Literal, get_args

from ..util.results import Result, format_of
from .overlay import Overlay
from .pictures import still, write_figures
from .printing import docx_of, pdf_of
from .specs import Spec, png_of, svg_of

Form = Literal["html", "md", "json", "pdf", "docx"]
# Shows the conclusion and the diagram, with room on a laptop for the cell itself.
FRAME_HEIGHT = 760
FORMS: tuple[Form, ...] = get_args(Form)


class Document(Result):
    """Base of reports: results that can be written as an HTML page, Markdown, JSON, PDF or a Word document."""

    _formats = ("pdf", "docx")

    @abstractmethod
    def to_html(self) -> str:
        """Render one self-contained HTML page."""

    @abstractmethod
    def to_markdown(self) -> str:
        """Render Markdown."""

    @abstractmethod
    def _drawn(self) -> tuple[Overlay, dict[str, str], bool]:
        """Return the sides of the charts, what their titles name, and whether axes are logits."""

    def _more_charts(self) -> dict[str, Spec]:
        """Return further charts by the names of their files."""
        return {}

    def save_figures(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write each chart of the page as SVG and PNG.

        Parameters
        ----------
        folder : str or path-like
            Folder to write to; it is created.

        Returns
        -------
        list of Path
            The files.
        """
        overlay, texts, logit = self._drawn()
        return write_figures(overlay, texts, folder, self._more_charts(), logit=logit)

    def content(self, form: Form) -> bytes:
        """Render the document in one of its forms.

        Parameters
        ----------
        form : {"html", "md", "json", "pdf", "docx"}
            The form; a PDF is printed by an installed browser, and a Word document written by pandoc.

        Returns
        -------
        bytes
            The content of a file.
        """
        return self._content(form)

    def _content(self, format: str) -> bytes:
        if format == "pdf":
            return pdf_of(self.to_html())
        if format != "docx":
            return super()._content(format)
        overlay, texts, logit = self._drawn()
        markdown, pictures = self.to_markdown(), {}
        if overlay.sides[0].series:
            shown = [side for side in overlay.sides if side.on and side.series]
            pictures["diagram.png"] = png_of(
                svg_of(still("isotonic", shown, overlay.sides[overlay.focus], texts, logit=logit))
            )
            heading = "## Reliability diagram\n" if "## Reliability diagram\n" in markdown else "## Metrics\n"
            markdown = markdown.replace(heading, f"{heading}\n![Reliability diagram](diagram.png)\n", 1)
        return docx_of(markdown, pictures)

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
    allowed = "allow-scripts allow-popups allow-popups-to-escape-sandbox allow-modals allow-downloads"
    # ASCII alone reads alike in every encoding that the notebook may have; another character would change the hash of the script.
    source = escape(page).encode("ascii", "xmlcharrefreplace").decode()
    return (
        f'<div style="height:{FRAME_HEIGHT}px;resize:vertical;overflow:hidden"><iframe srcdoc="{source}" sandbox="{allowed}" '
        f'style="width:100%;height:100%;border:0" title="Calibration report">{otherwise}</iframe></div>'
    )


def form_of(path: str | os.PathLike[str], format: str | None = None) -> Form:
    """Return the form given by `format` or by the suffix of the file."""
    found: Any = format_of(path, format, FORMS)
    return found
