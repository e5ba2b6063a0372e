"""Sphinx settings."""

project = "calibrant"
author = "The calibrant developers"
extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "calibrant"
