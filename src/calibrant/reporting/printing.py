"""A report as PDF, printed by an installed browser, and as a Word document, written by pandoc."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from ..errors import MissingDependencyError
from ..util.temporary import process_folder

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
# No network, no window, and time for the charts of the page to be drawn.
FLAGS = (
    "--headless",
    "--disable-gpu",
    "--no-sandbox",
    "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking",
    "--no-pdf-header-footer",
    "--virtual-time-budget=20000",
)
SECONDS = 120


def pdf_of(page: str) -> bytes:
    """Return a page as it prints, with its folded parts open.

    Parameters
    ----------
    page : str
        The page.

    Returns
    -------
    bytes
        The PDF.

    Raises
    ------
    MissingDependencyError
        If no browser is installed, or it does not print.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        remedy = "install Chromium, Chrome or Edge, or write .html and print it"
        raise MissingDependencyError("a browser", "is required to write PDF and was not found", remedy)
    return _converted(
        page, "page.html", [browser, *FLAGS, "--user-data-dir={profile}", "--print-to-pdf={out}", "{source}"]
    )


def docx_of(markdown: str, pictures: dict[str, bytes]) -> bytes:
    """Return Markdown as a Word document.

    Parameters
    ----------
    markdown : str
        The text; it may refer to the pictures by name.
    pictures : dict of str to bytes
        Contents of files beside the text.

    Returns
    -------
    bytes
        The document.

    Raises
    ------
    MissingDependencyError
        If pandoc is not installed, or it fails.
    """
    pandoc = shutil.which("pandoc")
    if pandoc is None:
        raise MissingDependencyError(
            "pandoc", "is required to write .docx and was not found", "install pandoc, or write .md"
        )
    command = [pandoc, "--from=gfm", "--to=docx", "--resource-path={folder}", "--output={out}", "{source}"]
    return _converted(markdown, "report.md", command, pictures)


def _converted(text: str, name: str, command: list[str], beside: dict[str, bytes] | None = None) -> bytes:
    """Run a program on a file in a folder of its own, and return what it wrote."""
    with tempfile.TemporaryDirectory(dir=process_folder(), ignore_cleanup_errors=True) as root:
        folder = Path(root)
        for key, content in {name: text.encode(), **(beside or {})}.items():
            (folder / key).write_bytes(content)
        places = {"source": folder / name, "out": folder / "out", "profile": folder / "profile", "folder": folder}
        words = [word.format_map({key: str(place) for key, place in places.items()}) for word in command]
        try:
            subprocess.run(words, check=True, capture_output=True, timeout=SECONDS)  # noqa: S603 - no shell, and no word of the data
            return places["out"].read_bytes()
        except (subprocess.SubprocessError, OSError) as error:
            program = Path(command[0]).name
            raise MissingDependencyError(
                program, f"did not write the document: {error}", "write .html or .md"
            ) from error
