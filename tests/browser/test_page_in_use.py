"""The report in a reader's hands: by keyboard, by mouse, on a phone, on paper and in the dark."""

import re
from pathlib import Path

import pytest

from calibrant.binning.parse import bin_table
from calibrant.binning.rules import EqualWidth
from calibrant.figures.base import least_rows

from .chromium import Browser, Page
from .pages import BINARY, choose, one_view

A4 = 688
"""Width of the text on A4 in the browser's pixels, with the margins of the style sheet."""


def test_keyboard_moves_everything(browser: Browser, files: dict[str, Path]) -> None:
    with browser.page(files["binary"]) as page:
        page.run("calibrantReport.ready")
        before = page.run("document.getElementById('said').textContent")
        reached = []
        for _ in range(80):
            page.press("Tab", 9)
            id, outline = page.run(
                "[document.activeElement.id || document.activeElement.name || document.activeElement.tagName,"
                " getComputedStyle(document.activeElement).outlineStyle]"
            )
            assert outline != "none"
            reached.append(id)
            if id == "kind":
                page.press("ArrowRight", 39)
            if id == "group":
                page.press("ArrowDown", 40)
            if id == "logit":
                page.press(" ", 32)
            if reached.count("SUMMARY") == 3:
                break
        used = [id for id in reached if id.islower() and id != "button"]
        assert used[:3] == ["kind", "logit", "group"]
        assert "show-all" in used
        state = page.run("calibrantReport.state")
        assert state["diagram"] == "bins"
        assert state["group"] == 1
        said = page.run("document.getElementById('said').textContent")
        assert said != before
        assert page.run("document.getElementById('said').getAttribute('aria-live')") == "polite"
        words = page.run(
            "document.getElementById(document.getElementById('diagram').getAttribute('aria-describedby')).textContent"
        )
        assert "predicted, " in words
        assert "Relative to the consistency band, the curve " in words


def test_hovering_shows_values(binary: Page) -> None:
    choose(binary, group=0, kind="bins")
    binary.run("document.getElementById('diagram').scrollIntoView({block: 'center', behavior: 'instant'})")
    x, y = binary.run(
        "(b => [b.x + b.width / 2, b.y + b.height / 2])"
        "([...document.querySelectorAll('#diagram .mark-symbol.role-mark path')].at(2).getBoundingClientRect())"
    )
    binary.hover(x, y)
    assert not binary.run("document.getElementById('tip').hidden")
    text = binary.run("document.getElementById('tip').innerText")
    table = bin_table(one_view(BINARY), EqualWidth(15, min_rows=least_rows(one_view(BINARY))))
    assert f"{int(table.rows[2]):,}" in text
    binary.hover(1, 1)
    assert binary.run("document.getElementById('tip').hidden")
    choose(binary, kind="isotonic")


def test_axes_bear_the_names_of_the_selected_lens(many: Page) -> None:
    titles = "[...document.querySelectorAll('#diagram .role-axis-title')].map(e => e.textContent)"
    names = many.run("[...document.getElementById('lens').options].map(o => o.textContent)")
    assert names[0] == "Top label"
    choose(many, lens=0)
    assert many.run(titles) == ["mean confidence", "accuracy"]
    choose(many, lens=2)
    event = names[2].removeprefix("P(").removesuffix(")")
    assert many.run(titles) == [f"mean predicted P({event})", f"observed rate ({event})"]


def wider_than(page: Page, width: int) -> list[str]:
    """What reaches beyond the width, less what is hidden from sight."""
    return list(
        page.run(
            f"""[...document.querySelectorAll('body *')].filter(e => {{
                  const box = e.getBoundingClientRect();
                  return box.width > 1 && box.height > 1 && (box.right > {width} + 0.5 || box.left < -0.5) && !e.closest('thead');
                }}).map(e => e.tagName + ' ' + e.textContent.slice(0, 40))"""
        )
    )


@pytest.mark.parametrize("name", ["binary", "many"])
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_nothing_overflows(browser: Browser, files: dict[str, Path], name: str, width: int) -> None:
    with browser.page(files[name], width=width) as page:
        page.run("calibrantReport.ready")
        page.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert page.run("document.documentElement.scrollWidth") <= width
        assert wider_than(page, width) == []


@pytest.mark.parametrize("name", ["binary", "many"])
def test_prints_whole(browser: Browser, files: dict[str, Path], name: str) -> None:
    with browser.page(files[name], dark=True) as page:
        page.run("calibrantReport.ready")
        printed = page.pdf()
        assert printed.startswith(b"%PDF-")
        assert printed.rstrip().endswith(b"%%EOF")
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) >= 2
        page.resize(A4, 970)
        page.emulate(dark=True, media="print")
        page.run("window.dispatchEvent(new Event('beforeprint'))")
        assert wider_than(page, A4) == []
        assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.run("[...document.querySelectorAll('details')].every(d => d.open)")
        assert page.run("[...document.querySelectorAll('details[data-chart]')].every(d => d.querySelector('svg'))")
        assert page.run("getComputedStyle(document.querySelector('thead')).display") == "table-header-group"
        page.run("window.dispatchEvent(new Event('afterprint'))")
        assert not page.run("[...document.querySelectorAll('details')].some(d => d.open)")


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_dark_mode_follows_the_reader(binary: Page) -> None:
    look = (
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color,"
        " getComputedStyle(document.querySelector('#diagram .role-axis-title text')).fill,"
        " getComputedStyle(document.querySelector('#diagram .mark-line.role-mark path')).stroke]"
    )
    seen = []
    for dark in (False, True):
        binary.emulate(dark=dark)
        paper, ink, title, point = map(luminance, binary.run(look))
        assert (paper < 0.05) == dark
        for colour, least in ((ink, 7), (title, 7), (point, 3)):
            assert (max(colour, paper) + 0.05) / (min(colour, paper) + 0.05) >= least
        seen.append(title)
    binary.emulate()
    assert seen[0] < seen[1]


def test_a_phone_shows_a_name_above_its_values(browser: Browser, files: dict[str, Path]) -> None:
    with browser.page(files["binary"], width=390) as page:
        page.run("calibrantReport.ready")
        heads, rows = page.run(
            "['th', ''].map(part => [...document.querySelectorAll(`table.stack tbody tr:not(.group) ${part}`)]"
            ".filter(e => e.offsetWidth).map(e => e.clientWidth))"
        )
        assert heads
        assert min(heads) > 0.9 * max(rows) - 40
