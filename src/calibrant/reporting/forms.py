"""Forms of a report: HTML page, Markdown, JSON, PDF and Word, chosen by the file name."""

from __future__ import annotations

import os
from html import escape
from typing import Any, Literal, get_args

from ..util.results import format_of

Form = Literal["html", "md", "json", "pdf", "docx"]
# Shows the conclusion and the diagram, with room on a laptop for the cell itself.
FRAME_HEIGHT = 760
FORMS: tuple[Form, ...] = get_args(Form)


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
