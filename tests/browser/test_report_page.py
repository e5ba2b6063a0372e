"""The report in a real browser: it opens without a network, and what the reader moves gives the library's numbers."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from scipy.special import expit

import calibrant as cal
from calibrant.input.predictions import Predictions
from calibrant.reporting import Report
from calibrant.reporting.html import chart_texts, render_report
from calibrant.reporting.interactive import interactive
from calibrant.reporting.overlay import report_sides
from calibrant.reporting.pictures import FURTHER, chart_data, score_data
from calibrant.reporting.settings import DIAGRAMS
from calibrant.reporting.specs import with_titles
from calibrant.util.results import number

from .chromium import LOCAL, Browser, Page
from .pages import BINARY, LABEL, MANY, NAMES, SCORE, choose, one_view, with_metrics


@pytest.mark.parametrize("name", ["binary", "many", "weighted"])
def test_opens_from_disk_with_the_network_off(browser: Browser, files: dict[str, Path], name: str) -> None:
    with browser.page(files[name]) as page:
        page.run("calibrantReport.ready")
        page.screenshot(whole=False)  # at least one frame is rendered
        assert page.problems == []
        assert page.requests
        assert all(url.startswith(LOCAL) for url in page.requests), page.requests
        assert page.run("document.querySelectorAll('#diagram svg, #scores svg').length") == 2
        assert (
            page.run("document.querySelectorAll('svg.marks').length") == 2
        )  # the others are drawn when they are opened


def odd_cases() -> dict[str, Predictions]:
    """Kinds of predictions for which some part of the page has nothing to show."""
    return {
        "multilabel": Predictions(
            np.column_stack([LABEL, 1 - LABEL])[:300], np.column_stack([SCORE, SCORE])[:300], multilabel=True
        ),
        "soft": Predictions(SCORE[:300] ** 2, SCORE[:300], soft=True),
        "confidence": Predictions(LABEL[:300], SCORE[:300], input="confidence"),
        "few": Predictions([0, 1, 1], [0.2, 0.7, 1.0], groups=["a", "b", "b"]),
        "counts": Predictions(LABEL[:300], SCORE[:300], counts=np.arange(300) % 3),
    }


@pytest.mark.parametrize("kind", list(odd_cases()))
def test_odd_predictions_make_a_page_that_works(
    browser: Browser, reports: dict[str, Report], tmp_path: Path, kind: str
) -> None:
    predictions = odd_cases()[kind]
    base = reports["binary"]
    bins = replace(base.diagram, reason="2 classes are 2 diagrams", bins=()) if kind == "multilabel" else base.diagram
    made = replace(base, charts=interactive(predictions), diagram=bins)
    with browser.page(made.save(tmp_path / "page.html"), width=390) as page:
        page.run("calibrantReport.ready")
        for kind in DIAGRAMS:
            choose(page, kind=kind, logit=kind == "bins")
        page.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        page.run("new Promise(done => setTimeout(done, 300))")
        drawn = page.run(
            "[...document.querySelectorAll('details[data-chart]')].filter(d => d.querySelector('svg')).length"
        )
        names = made.charts.lenses[0].charts if made.charts else {}
        assert drawn == sum(name in names for name in FURTHER)
        assert page.run("document.documentElement.scrollWidth") <= 390
        assert page.problems == []


@pytest.mark.parametrize("name", [*DIAGRAMS, *FURTHER])
@pytest.mark.parametrize("logit", [False, True])
def test_page_and_picture_have_the_same_data(
    binary: Page, many: Page, reports: dict[str, Report], name: str, logit: bool
) -> None:
    """What the page draws, from its own data, is what a still picture of the library shows."""
    for page, report in ((binary, reports["binary"]), (many, reports["many"])):
        choose(page, lens=0, group=0, kind=name if name in DIAGRAMS else "isotonic", logit=logit)
        overlay = report_sides(report)
        on_logits = logit and name in DIAGRAMS and name != "cumulative"
        reference = with_titles(name, chart_texts(report, overlay.lenses[0].lens))["reference"]
        first = overlay.sides[0]
        expected = chart_data(name, reference, [first], first, logit=on_logits)
        found = page.run(f"calibrantReport.chartData('{name}')")
        for layer, rows in expected.items():
            assert len(found[layer]) == len(rows)
            for mine, theirs in zip(found[layer], rows, strict=True):
                for axis in ("x", "y"):
                    drawn, shown = (expit(row[axis]) if on_logits else row[axis] for row in (mine, theirs))
                    assert drawn == pytest.approx(shown, rel=2e-4, abs=1e-4)
        if name in DIAGRAMS:
            scores = page.run("calibrantReport.scoreData()")["bars"]
            assert [row["share"] for row in scores] == pytest.approx(
                [row["share"] for row in score_data([first], logit=on_logits)["bars"]], rel=1e-3, abs=1e-6
            )


def test_groups_and_classes(binary: Page, many: Page) -> None:
    options = "[...document.getElementById('{}').options].map(o => o.text)"
    assert binary.run(options.format("group")) == ["All rows", *BINARY.group_names]
    assert binary.run("document.getElementById('said').textContent") == ""
    for code, name in enumerate(BINARY.group_names):
        part = BINARY.take(BINARY.groups == code)
        choose(binary, group=code + 1)
        said = binary.run("document.getElementById('said').textContent")
        assert said.startswith(f"{name}, P(1): {part.n:,} rows; difference of the means ") or "Positive class" in said
        assert said.endswith(f"ECE {number(cal.ece(part))}")
    choose(binary, group=0)
    assert many.run(options.format("lens")) == ["Top label", *(f"P({name})" for name in NAMES)]
    for code, name in enumerate(NAMES):
        choose(many, lens=code + 1)
        said = many.run("document.getElementById('said').textContent")
        assert said.endswith(f"ECE {number(cal.ece(one_view(MANY, f'class:{name}')))}")
    choose(many, lens=0)


def test_a_chart_is_drawn_when_it_is_opened_and_saved_by_a_click(binary: Page) -> None:
    for name in ("roc", "benefit"):
        assert binary.run(f"document.querySelectorAll('#{name} svg').length") == 0
        binary.run(f"document.querySelector('details[data-chart={name}] summary').click()")
        binary.run("new Promise(done => setTimeout(done, 300))")
        assert binary.run(f"document.querySelectorAll('#{name} svg').length") == 1
        svg = binary.run(f"calibrantReport.savePicture('{name}', 'svg')")
        assert svg.startswith("data:image/svg+xml")
        assert "var(" not in unquote(svg)
        png = binary.run(f"calibrantReport.savePicture('{name}', 'png')")
        assert base64.b64decode(png.removeprefix("data:image/png;base64,")).startswith(b"\x89PNG")
        binary.run(f"document.querySelector('details[data-chart={name}] summary').click()")
    assert binary.problems == []


def test_figures_are_the_charts_that_are_shown(reports: dict[str, Report], tmp_path: Path) -> None:
    for name, more in (("binary", {"benefit", "coverage"}), ("many", {"coverage"})):
        written = reports[name].save_figures(tmp_path / name)
        stems = {path.stem for path in written}
        assert stems >= {*DIAGRAMS, "roc", "pr", "murphy", "plane", *more}
        assert {path.suffix for path in written} == {".svg", ".png"}
        for path in written:
            content = path.read_bytes()
            assert content.startswith(b"<svg") if path.suffix == ".svg" else content.startswith(b"\x89PNG")
            assert b"var(--" not in content


def test_without_scripts_the_tables_stand(browser: Browser, files: dict[str, Path]) -> None:
    with browser.page(files["binary"], scripts=False) as page:
        assert page.run("typeof calibrantReport") == "undefined"
        assert (
            page.run("document.querySelector('noscript').textContent") == "The charts need scripts; the tables do not."
        )
        assert page.run("[...document.querySelectorAll('.live')].every(e => e.getBoundingClientRect().height === 0)")
        assert page.run("document.querySelectorAll('#bin-rows tr').length") >= 10


def test_a_script_that_got_in_would_not_run(browser: Browser, files: dict[str, Path]) -> None:
    with browser.page(files["many"]) as page:
        page.run("calibrantReport.ready")
        page.run(
            """(() => { const s = document.createElement('script'); s.textContent = 'window.got = 1'; document.body.append(s);
                        const i = document.createElement('img'); i.src = 'https://example.org/x.png'; document.body.append(i);
                        return document.body.setAttribute('onclick', 'window.got = 2'), document.body.click(); })()"""
        )
        assert page.run("typeof window.got") == "undefined"
        assert page.run("fetch('https://example.org').then(() => 'went', () => 'stopped')") == "stopped"
        page.wait_for_problem("Content Security Policy")


def test_policy_names_exactly_the_script_of_the_page(reports: dict[str, Report]) -> None:
    text = render_report(reports["binary"])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    said = policy[1].replace("&#39;", "'")
    assert said.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in said
    (script,) = re.findall(r"<script>(.*?)</script>", text, flags=re.S)
    mark = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert re.findall(r"sha256-([^']*)'", said.split("script-src")[1].split(";")[0]) == [mark]
    assert "Object.assign(window,{vega:" in script
    assert "window.calibrantReport =" in script


def test_size_with_twenty_metrics_and_fifty_groups(reports: dict[str, Report]) -> None:
    rng = np.random.default_rng(5)
    score = rng.random(100_000)
    full = Predictions(rng.random(100_000) < score, score, groups=rng.integers(0, 50, 100_000))
    charts = interactive(full)
    assert len(charts.groups) == 50
    assert charts.left_out == ()
    page = render_report(replace(with_metrics(reports["binary"], 20), charts=charts))
    assert len(page.encode()) < 1_200_000


def test_without_charts_there_is_a_page_without_scripts(reports: dict[str, Report]) -> None:
    page = render_report(replace(reports["binary"], charts=None))
    assert "<script" not in page
    assert "script-src 'none'" in page.replace("&#39;", "'")
    assert "<table" in page
