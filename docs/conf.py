"""Sphinx settings."""

import re
from pathlib import Path

project = "calibrant"
author = "The calibrant developers"
_source = Path(__file__).parent.parent / "src" / "calibrant" / "util" / "version.py"
_found = re.search(r'^__version__ = "(.+)"$', _source.read_text(encoding="utf-8"), re.MULTILINE)
assert _found is not None
version = release = _found[1]
extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"calibrant {release}"
