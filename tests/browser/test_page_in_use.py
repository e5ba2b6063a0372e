"""The report in a reader's hands: by keyboard, by mouse, on a phone, on paper and in the dark."""

from __future__ import annotations

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


ACCESSIBLE = """(() => {
  const found = [], every = (query, rule, text) => {
    for (const e of document.querySelectorAll(query)) if (!rule(e)) found.push(`${text}: ${e.outerHTML.slice(0, 90)}`);
  };
  const named = (e) => (e.getAttribute("aria-label") || e.alt || [...(e.labels?.length ? e.labels : [e])].map(l => l.textContent).join("")).trim();
  every("input, select, button, summary, a", named, "no name");
  const pictures = '[role="img"], [role="graphics-document"], img';
  every(pictures, e => (e.getAttribute("aria-label") || e.alt || "").trim(), "no text");
  every("svg", e => e.closest(`${pictures}, [aria-hidden="true"]`), "no role");
  every("th", e => e.scope && e.textContent.trim(), "not a header");
  every("td", e => e.closest("table").querySelector("thead th"), "no headers");
  every("[id]", e => document.querySelectorAll(`[id="${CSS.escape(e.id)}"]`).length === 1, "id twice");
  for (const key of ["aria-labelledby", "aria-describedby", "for"]) {
    every(`[${key}]`, e => document.getElementById(e.getAttribute(key)), "refers to nothing");
  }
  every("input, select, button, summary, a, [tabindex]", e => {
    e.focus({ focusVisible: true });
    return !e.checkVisibility() || e.disabled || (e.matches(":focus") && getComputedStyle(e).outlineStyle !== "none");
  }, "no focus");
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (...colours) => {
    for (const colour of colours) { pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1); }
    const [r, g, b] = [...pen.getImageData(0, 0, 1, 1).data].map(v => v / 255).map(v => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const contrast = (e, colour) => {
    const grounds = [];
    for (let part = e; part; part = part.parentElement) grounds.unshift(getComputedStyle(part).backgroundColor);
    const pair = [light(...grounds), light(...grounds, getComputedStyle(e)[colour])];
    return Math.max(...pair) / Math.min(...pair);
  };
  const seen = (e) => e.checkVisibility() && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  every("body *", e => !seen(e) || contrast(e, e.closest("svg") ? "fill" : "color") >= 4.5, "contrast");
  every("#diagram .mark-line.role-mark path", e => contrast(e, "stroke") >= 3, "contrast");
  return found;
})()"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["binary", "many"])
def test_controls_tables_and_pictures_can_be_read_by_everyone(
    browser: Browser, files: dict[str, Path], name: str, dark: bool
) -> None:
    with browser.page(files[name], dark=dark) as page:
        page.run("calibrantReport.ready")
        page.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        page.run("document.getElementById('show-all')?.click()")
        page.run("calibrantReport.drawn.last.then(() => 1)")
        assert page.run("getComputedStyle(document.body).backgroundColor") == (
            "rgb(24, 24, 27)" if dark else "rgb(255, 255, 255)"
        )
        assert page.run("document.documentElement.lang") == "en"
        assert page.run("[...document.querySelectorAll('h1, h2, h3')].map(e => e.tagName)")[:2] == ["H1", "H2"]
        assert page.run(ACCESSIBLE) == []


def test_a_phone_shows_a_name_above_its_values(browser: Browser, files: dict[str, Path]) -> None:
    with browser.page(files["binary"], width=390) as page:
        page.run("calibrantReport.ready")
        heads, rows = page.run(
            "['th', ''].map(part => [...document.querySelectorAll(`table.stack tbody tr:not(.group) ${part}`)]"
            ".filter(e => e.offsetWidth).map(e => e.clientWidth))"
        )
        assert heads
        assert min(heads) > 0.9 * max(rows) - 40
