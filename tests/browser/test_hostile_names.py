"""Names from outside, sixty of them meant to do harm, change nothing in the page but its text."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from calibrant.input.predictions import Predictions
from calibrant.reporting import Report
from calibrant.reporting.html import embedded_json, render_report, script_text
from calibrant.reporting.interactive import interactive, shown

from .chromium import LOCAL, Browser
from .pages import binary_case, quick_report, with_name

HOSTILE = [
    "<script>window.got=1</script>",
    "</script><script>window.got=1</script>",
    "</SCRIPT ><script>window.got=1</script>",
    '"><img src=x onerror=window.got=1>',
    "'><img src=x onerror=window.got=1>",
    "' onmouseover='window.got=1",
    '" autofocus onfocus="window.got=1',
    "` onclick=`window.got=1",
    "<svg onload=window.got=1>",
    "<svg><script>window.got=1</script></svg>",
    "<iframe src=javascript:window.got=1>",
    "<math><mi xlink:href=javascript:window.got=1>",
    "<body onload=window.got=1>",
    "<base href=https://example.org/>",
    '<meta http-equiv=refresh content="0;url=https://example.org">',
    "<link rel=stylesheet href=https://example.org/x.css>",
    "<style>body{display:none}</style>",
    "</style><script>window.got=1</script>",
    "</title><script>window.got=1</script>",
    "</textarea><script>window.got=1</script>",
    "</option></select><script>window.got=1</script>",
    "</td></tr></table><h1>new</h1>",
    "<!-- not closed",
    "--><script>window.got=1</script>",
    "<!--<script>",
    "<![CDATA[<script>window.got=1</script>]]>",
    "javascript:window.got=1",
    "data:text/html,<script>window.got=1</script>",
    "https://example.org/\" onclick=\"window.got=1",
    "{{ 7 * 7 }}",
    "{% for x in range(9) %}x{% endfor %}",
    "{# comment #}",
    "{{ ''.__class__.__mro__ }}",
    "${7*7}",
    "#{7*7}",
    "<%= 7*7 %>",
    "%s%n%d %(name)s {0}",
    "a.b[0]",
    "a\\.b\\[0\\]",
    "datum['x']",
    "datum.rows",
    "']; window.got=1; //",
    '"); window.got=1; ("',
    "\\u003cscript\\u003ewindow.got=1\\u003c/script\\u003e",
    "&lt;already&gt;",
    "&#60;script&#62;",
    "__proto__",
    "constructor",
    "\u202eright to left\u202c",
    "\u2066isolated\u2069 \u200fmark",
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "\x00nul\x00",
    "bell\x07 escape\x1b[31m backspace\x08",
    "two\nlines\r\nand\ta tab",
    "line\u2028and paragraph\u2029",
    "zero\u200bwidth\ufeff and \u00adsoft hyphen",
    "\U0001f469\u200d\U0001f52c \U0001f1e9\U0001f1ea \u2764\ufe0f",
    "\ud800 half a pair",
    "z\u0335\u0321\u0353a\u0337\u0322l\u0338g\u0336o\u0335" * 4,
    "endless" * 2000,
    "",
    "   ",
]  # fmt: skip


class Structure(HTMLParser):
    """The elements of a page with their attributes, in order; values only where the page runs or loads something by them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, tuple[str, ...]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, tuple(name for name, _ in attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def calm() -> Report:
    label, score, group = binary_case(600)
    found = quick_report(Predictions(label, score, groups=group), None)
    # Without what is drawn a page takes milliseconds.
    return replace(found, charts=None, diagram=replace(found.diagram, bins=()))


@pytest.fixture(scope="module")
def expected(calm: Report) -> Structure:
    return Structure(render_report(with_name(calm, "name")))


@pytest.mark.sampled
@pytest.mark.parametrize("payload", HOSTILE, ids=[f"name-{number}" for number in range(len(HOSTILE))])
def test_structure_stays(calm: Report, expected: Structure, payload: str) -> None:
    page = render_report(with_name(calm, payload))
    assert Structure(page).seen == expected.seen
    page.encode()
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]", page)
    assert "49" not in shown(payload) or "49" in payload


def test_hostile_groups_and_classes_in_the_browser(browser: Browser, tmp_path: Path) -> None:
    label, score, _ = binary_case(1500)
    rng = np.random.default_rng(1)
    # A lone surrogate cannot occur in a file or a column.
    names = [name[:400] for name in HOSTILE if name.strip() and "\ud800" not in name]
    groups = [names[code] for code in rng.integers(0, len(names), len(label))]
    found = quick_report(Predictions(label, score, groups=groups), None, title=HOSTILE[0])
    probs = rng.dirichlet(np.ones(len(names)), len(label))
    # Objects, because NumPy's own text drops a NUL at the end.
    true = np.array(names, dtype=object)[rng.integers(0, len(names), len(label))]
    classes = interactive(Predictions(true, probs, classes=names))
    pages = {
        "groups": found,
        "classes": with_name(replace(found, charts=classes), HOSTILE[1]),
    }
    for name, made in pages.items():
        path = made.save(tmp_path / f"{name}.html")
        with browser.page(path, width=390) as page:
            page.run("calibrantReport.ready")
            assert page.problems == []
            assert all(url.startswith(LOCAL) for url in page.requests)
            chosen = "group" if name == "groups" else "lens"
            options = page.run(f"[...document.getElementById('{chosen}').options].map(o => o.textContent)")
            kept = made.charts.groups if name == "groups" else made.charts.lenses[1:]  # type: ignore[union-attr]
            prefix, suffix = ("", "") if name == "groups" else ("P(", ")")
            assert options[1:] == [prefix + shown(series.name) + suffix for series in kept]
            for place in (1, 7, len(options) - 1, 0):
                page.run(
                    f"(e => {{ e.value = '{place}'; e.dispatchEvent(new Event('change')) }})(document.getElementById('{chosen}'))"
                )
            page.run("calibrantReport.drawn.last.then(() => 1)")
            assert page.run("document.querySelectorAll('script').length") == 2
            assert page.run("document.querySelectorAll('style').length") == 1
            assert page.run("document.querySelectorAll('iframe, base, link, object, embed').length") == 0
            assert page.run("typeof window.got") == "undefined"
            assert page.run("document.documentElement.scrollWidth") <= 390
            assert page.problems == []


def test_controls_are_made_visible_and_joiners_stay() -> None:
    assert shown("a\x00b\nc") == "a\u2400b\u240ac"
    assert shown("\u202eabc") == "[U+202E]abc"
    assert shown("\x85\x7f\u2028") == "[U+0085][U+007F][U+2028]"
    assert shown("\ud800") == "[U+D800]"
    family = "\U0001f469\u200d\U0001f52c"
    assert shown(family) == family
    assert shown("x" * 500) == "x" * 79 + "\u2026"
    assert shown("x" * 500, None) == "x" * 500


def test_json_in_the_page_holds_no_character_of_html() -> None:
    import json

    for name in HOSTILE:
        text = embedded_json({name: name})
        assert not re.search(r"[<>&\u2028\u2029\x00-\x1f]", text)
        assert json.loads(text) == {name: name}


def test_a_script_cannot_end_its_element() -> None:
    text = script_text("a = '</script>'; b = '</ScRiPt '; c = /<!--/; d = '<script';\r\n")
    assert not re.search(r"</script|<!--|\r", text, flags=re.I)
