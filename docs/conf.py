"""Sphinx settings. The site makes no request to another host: formulas are MathML, and the list of versions lies beside it."""

import re
from pathlib import Path

project = "calibrant"
author = copyright = "The calibrant developers"
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
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("versions.js", {"defer": "defer"})]
templates_path = ["_templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "versions.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_math_renderer = "mathml"


def _inline(writer, node):
    from docutils.nodes import SkipNode
    from latex2mathml.converter import convert

    writer.body.append(convert(node.astext()))
    raise SkipNode


def _block(writer, node):
    from docutils.nodes import SkipNode
    from latex2mathml.converter import convert

    writer.body.append(f'<div class="math-block">{convert(node.astext(), display="block")}</div>')
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
