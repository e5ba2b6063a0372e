"""Several sides on one page: models, before and after and groups over each other, switched on and off; and reports in a notebook."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.input.predictions import Predictions
from calibrant.reporting import Report, report
from calibrant.reporting.html import render_report
from calibrant.reporting.interactive import interactive
from calibrant.reporting.overlay import report_sides
from calibrant.util.results import number

from .chromium import LOCAL, Browser
from .pages import BINARY, LABEL, MANY_LABEL, MANY_PROB, SCORE, one_view, quick_report
from .test_hostile_names import HOSTILE

MODELS = {"old </script>": SCORE, "new": np.sqrt(SCORE), "\u202ethird \U0001f600": SCORE**2}
DRAWN = """(() => { const r = calibrantReport; return r.drawn.last.then(() => ({
  lines: r.chartData("isotonic").lines, band: r.chartData("isotonic").band, steps: r.scoreData().steps, group: r.state.group,
  legend: [...document.querySelectorAll("#legend li")].map(li => li.querySelector("bdi").textContent) })) })()"""


def small(found: Report, reports: list[Report]) -> Report:
    """The same comparison with other reports."""
    sides = tuple(replace(found.comparison.sides[0], name=report.title) for report in reports)
    return replace(found, comparison=replace(found.comparison, sides=sides, reports=tuple(reports)))


@pytest.fixture(scope="module")
def models() -> Report:
    return report(LABEL, MODELS, metrics=["brier"], level=0.8, n_resamples=50)


def tick(place: int) -> str:
    return f"document.querySelectorAll('#legend input')[{place}].click()"


def test_models_over_each_other_are_those_of_the_library(browser: Browser, models: Report, tmp_path: Path) -> None:
    path = models.save(tmp_path / "models.html")
    assert path.read_text() == models.to_html()
    with browser.page(path) as page:
        page.run("calibrantReport.ready")
        shown = page.run(DRAWN)
        for place, scores in enumerate(MODELS.values()):
            curve = cal.reliability_diagram(LABEL, scores, kind="isotonic", uncertainty=None)["model"].curve
            points = [point for point in shown["lines"] if point["place"] == place]
            at = np.array([[point["x"], point["y"]] for point in points])
            np.testing.assert_allclose(np.interp(at[:, 0], curve.x, curve.y), at[:, 1], atol=0.02)
        assert shown["legend"] == ["old </script>", "new", "[U+202E]third \U0001f600"]
        assert {point["place"] for point in shown["band"]} == {0}
        # A side that is switched off goes, and the last that is left is drawn alone.
        page.run(tick(0))
        shown = page.run(DRAWN)
        assert {point["place"] for point in shown["lines"]} == {1, 2}
        assert shown["group"] == 1
        page.run(tick(2))
        shown = page.run(DRAWN)
        assert {point["place"] for point in shown["lines"]} == {1}
        assert shown["steps"] == []
        page.run("document.getElementById('show-all').click()")
        assert {point["place"] for point in page.run(DRAWN)["lines"]} == {0, 1, 2}
        x, y = page.run(
            "(e => { e.scrollIntoView({block: 'center', behavior: 'instant'}); const b = e.getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2] })"
            "([...document.querySelectorAll('#diagram .mark-symbol.role-mark path')].at(-1))"
        )
        page.hover(x, y)
        assert "[U+202E]third" in page.run("document.getElementById('tip').innerText")
        assert page.problems == []
        assert all(url.startswith(LOCAL) for url in page.requests)
        assert page.run("document.querySelectorAll('script').length") == 2


def test_classes_of_two_models(browser: Browser, tmp_path: Path) -> None:
    """The selected lens is that of all sides."""
    flat = (MANY_PROB + 0.25) / 2
    found = report(MANY_LABEL, {"a": MANY_PROB, "b": flat}, metrics=["brier"], level=0.5, n_resamples=20)
    with browser.page(found.save(tmp_path / "many.html")) as page:
        page.run("calibrantReport.ready")
        page.run("(e => { e.value = '3'; e.dispatchEvent(new Event('change')) })(document.getElementById('lens'))")
        for place, (name, probs) in enumerate({"a": MANY_PROB, "b": flat}.items()):
            page.run(
                f"(e => {{ e.value = '{place}'; e.dispatchEvent(new Event('change')) }})(document.getElementById('group'))"
            )
            assert page.run("calibrantReport.state.lens") == 3
            said = page.run("document.getElementById('said').textContent")
            assert said.startswith(f"{name}, P(2): ")
            assert said.endswith(f"ECE {number(cal.ece(one_view(Predictions(MANY_LABEL, probs), 'class:2')))}")
        assert page.problems == []


def test_groups_are_drawn_when_they_are_switched_on(reports: dict[str, Report]) -> None:
    groups = [f"g{k % 30}" for k in range(len(LABEL))]
    found = replace(reports["binary"], charts=interactive(Predictions(LABEL, SCORE, groups=groups)))
    sides = report_sides(found)
    assert len(sides.sides) == 31
    assert [side.on for side in sides.sides].count(True) == 1
    for side in sides.sides[1:]:
        held = np.array(groups) == side.name
        assert side.series[0].mean_score == pytest.approx(SCORE[held].mean())
    assert len(render_report(found).encode()) < 1_000_000


def test_hostile_names_of_sides(browser: Browser, models: Report, tmp_path: Path) -> None:
    # Some of each kind: all of them are names of groups in another test.
    names = [name[:400] for name in HOSTILE if name.strip() and "\ud800" not in name][::4]
    reports = [replace(models.models[k % 3], title=name) for k, name in enumerate(names)]
    found = replace(small(models, reports), title=HOSTILE[1], metadata={HOSTILE[0]: HOSTILE[3]})
    with browser.page(found.save(tmp_path / "hostile.html"), width=390) as page:
        page.run("calibrantReport.ready")
        page.run("document.getElementById('show-all').click()")
        page.run("calibrantReport.drawn.last.then(() => 1)")
        assert page.run("typeof window.got") == "undefined"
        assert page.run("document.querySelectorAll('script').length") == 2
        assert page.run("document.querySelectorAll('iframe, base, link, object, embed').length") == 0
        assert page.run("document.documentElement.scrollWidth") <= 390
        assert page.problems == []


NOTEBOOK = [
    "from tests.browser.pages import BINARY, quick_report",
    "first = quick_report(BINARY, None, title='</iframe> first')\nfirst",
    "first",
]


def outputs(cells: list[str]) -> list[str]:
    """What the cells of a notebook show, as a front end gets it."""
    space: dict[str, Any] = {}
    shown = []
    for cell in cells:
        tree = ast.parse(cell)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), space)
        if last is not None:
            assert isinstance(last, ast.Expr)
            shown.append(eval(compile(ast.Expression(last.value), "cell", "eval"), space)._repr_html_())
    return shown


def test_reports_in_a_notebook_do_not_disturb_each_other(browser: Browser, tmp_path: Path) -> None:
    """Each output has a frame of its own, interactive, which sees nothing of the notebook and leaves it alone.

    The notebook is read with the wrong encoding, as a browser may guess where a page names none; the hash of the script holds nevertheless.
    """
    path = tmp_path / "notebook.html"
    shown = "".join(f'<div class="output">{html}</div>' for html in outputs(NOTEBOOK))
    path.write_text(
        f"<!doctype html><meta charset=windows-1252><h2 id=metrics>The notebook</h2>{shown}<p id=end>end</p>",
        encoding="utf-8",
    )
    with browser.page(path, height=3000) as page:
        assert page.run("document.querySelectorAll('.output > div > iframe').length") == 2
        assert page.run("document.getElementById('end').textContent") == "end"
        assert page.run("document.querySelector('iframe').getBoundingClientRect().height") > 600
        assert len(page.frames) == 2
        for frame in page.frames:
            frame.run("calibrantReport.ready")
            assert frame.run("calibrantReport.data.sides.length") == 4
            assert frame.run("document.querySelectorAll('#diagram svg').length") == 1
            assert frame.run("(() => { try { return parent.document.title } catch { return 'apart' } })()") == "apart"
            assert frame.problems == []
        first, last = page.frames
        first.run(tick(1))
        assert first.run("calibrantReport.state.on.has(1)") is True
        assert last.run("calibrantReport.state.on.has(1)") is False
        assert page.problems == []
        assert all(url.startswith((*LOCAL, "about:")) for url in page.requests)


def test_where_frames_are_removed_the_table_is_shown(reports: dict[str, Report], models: Report) -> None:
    for html in (reports["binary"]._repr_html_(), models._repr_html_()):
        inner = re.search(r'<iframe srcdoc="[^"]*" [^>]*>(.*)</iframe></div>$', html, flags=re.S)
        assert "<table>" in inner[1]
        assert "<script" not in html


def test_groups_are_switched_on_and_labels_are_whole(browser: Browser, tmp_path: Path) -> None:
    found = quick_report(BINARY, None)
    with browser.page(found.save(tmp_path / "groups.html"), dark=True) as page:
        page.run("calibrantReport.ready")
        assert {point["place"] for point in page.run(DRAWN)["lines"]} == {0}
        page.run("document.getElementById('show-all').click()")
        assert {point["place"] for point in page.run(DRAWN)["lines"]} == {0, 1, 2, 3}
        page.resize(390, 900)
        # No word of a label is broken.
        broken = page.run(
            """(() => { const pen = document.createElement("canvas").getContext("2d");
              return [...document.querySelectorAll("table.stack td[data-label]")].filter(cell => cell.checkVisibility()).filter(cell => {
                const look = getComputedStyle(cell, "::before");
                pen.font = `${look.fontWeight} ${look.fontSize} ${look.fontFamily}`;
                return Math.max(...cell.dataset.label.split(/[ -]/).map(w => pen.measureText(w).width)) > parseFloat(look.width) + 1;
              }).map(cell => cell.dataset.label) })()"""
        )
        assert broken == []
        assert page.problems == []
