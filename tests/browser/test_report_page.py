"""The report in a real browser: it opens without a network, and what the reader moves gives the library's numbers."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.binning.exact_sums import uniform_sums
from calibrant.binning.parse import bin_table, binning_rule
from calibrant.decision.selective import coverage as coverage_of
from calibrant.decision.selective import selective_accuracy
from calibrant.input.predictions import Predictions
from calibrant.reporting import Report
from calibrant.reporting.html import render_report
from calibrant.reporting.interactive import interactive
from calibrant.sketches.sketch import cell_views
from calibrant.util.results import number, percent
from calibrant.views.resolve import views_of
from calibrant.views.view import View

from .chromium import LOCAL, Browser, Page
from .pages import BINARY, DIVISORS, LABEL, MANY, NAMES, SCORE, choose, one_view, with_metrics


def compare(shown: dict[str, Any], view: View, binning: str, bins: int) -> None:
    """Every bar, point, sentence and cell against the library's table."""
    table = bin_table(view, binning_rule(bins, binning))
    lower, upper = table.interval(0.95, "clopper_pearson")
    full = table.weight > 0
    for key, expected in {"rows": table.weight, "left": table.left, "right": table.right}.items():
        np.testing.assert_allclose([bar[key] for bar in shown["bars"]], expected, rtol=0, atol=1e-12)
    points = {
        "mean_score": table.mean_score,
        "rate": table.rate,
        "gap": table.gap,
        "share": table.share,
        "low": lower,
        "high": upper,
    }
    for key, expected in points.items():
        np.testing.assert_allclose([point[key] for point in shown["points"]], expected[full], rtol=0, atol=1e-12)
    ece = cal.ece(view, bins=bins, binning=binning)
    assert abs(shown["ece"] - ece) <= 1e-12
    assert shown["said"].endswith(f": {number(ece)}")
    assert len(shown["table"]) == len(table)
    written = [np.nan if row[3] == "-" else float(row[3].removesuffix("%")) / 100 for row in shown["table"]]
    np.testing.assert_allclose(written, table.rate, rtol=0, atol=5.1e-4)


def in_cells(view: View) -> View:
    """The 300 cells of a view as counts, which equal mass is cut from."""
    edges = np.arange(301) / 300
    outcome = view.raw_outcome.astype(np.uint8)
    sums = uniform_sums(view.raw_score, outcome, edges, "right")
    return cell_views(sums, edges[:-1], edges[1:], np.array([len(edges) - 1]), view.lens)[0]


@pytest.mark.parametrize("name", ["binary", "many", "weighted"])
def test_opens_from_disk_with_the_network_off(browser: Browser, files: dict[str, Path], name: str) -> None:
    with browser.page(files[name]) as page:
        page.run("calibrantReport.ready")
        page.screenshot(whole=False)  # at least one frame is rendered
        assert page.problems == []
        assert page.requests
        assert all(url.startswith(LOCAL) for url in page.requests), page.requests
        assert (
            page.run("document.querySelectorAll('#reliability svg, #histogram svg, #threshold-chart svg').length") == 3
        )


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
    made = replace(base, cells=interactive(predictions), diagram=bins)
    with browser.page(made.save(tmp_path / "page.html"), width=390) as page:
        page.run("calibrantReport.ready")
        (view, *_) = views_of(predictions, "auto")
        assert isinstance(view, View)
        for binning, expected in (("equal_width", cal.ece(view, bins=10)), ("equal_mass", None)):
            found = choose(page, bins=DIVISORS.index(10), binning=binning)["ece"]
            assert found == pytest.approx(expected, abs=1e-12) if expected is not None else 0 <= found <= 1
        assert page.run("document.getElementById('threshold-bench').hidden") == (kind == "multilabel")
        assert page.run("document.documentElement.scrollWidth") <= 390
        assert page.problems == []


def test_every_number_of_equal_bins_is_the_library_s(binary: Page) -> None:
    view = one_view(BINARY)
    choose(binary, group=0, binning="equal_width")
    for stop, bins in enumerate(DIVISORS):
        compare(choose(binary, bins=stop), view, "equal_width", bins)


def test_equal_mass_is_the_library_s_on_the_cells(binary: Page) -> None:
    view = in_cells(one_view(BINARY))
    choose(binary, group=0, binning="equal_mass")
    for stop, bins in enumerate(DIVISORS):
        shown = choose(binary, bins=stop)
        assert "of equal mass" in shown["said"] or bins == 1
        compare(shown, view, "equal_mass", bins)


def test_groups(binary: Page) -> None:
    assert binary.run("[...document.getElementById('group').options].map(o => o.text)") == [
        "All rows",
        *BINARY.group_names,
    ]
    for code, name in enumerate(BINARY.group_names):
        view = one_view(BINARY.take(BINARY.groups == code))
        shown = choose(binary, group=code + 1, bins=DIVISORS.index(20), binning="equal_width")
        compare(shown, view, "equal_width", 20)
        assert shown["more"].startswith(f"{name}: {view.n:,} rows")
        compare(choose(binary, binning="equal_mass"), in_cells(view), "equal_mass", 20)


def test_classes(many: Page) -> None:
    options = many.run("[...document.getElementById('lens').options].map(o => o.text)")
    assert options == ["Top label", *(f"P({name})" for name in NAMES)]
    compare(choose(many, lens=0, bins=8, binning="equal_width"), one_view(MANY), "equal_width", 15)
    for code, name in enumerate(NAMES):
        view = one_view(MANY, f"class:{name}")
        compare(choose(many, lens=code + 1, bins=10, binning="equal_width"), view, "equal_width", 25)
        compare(choose(many, binning="equal_mass"), in_cells(View(view.score, view.raw_outcome)), "equal_mass", 25)


def test_importance_weights(browser: Browser, files: dict[str, Path]) -> None:
    weight = np.random.default_rng(3).exponential(1, len(LABEL))
    view = one_view(Predictions(LABEL, SCORE, sample_weight=weight))
    table = bin_table(view, binning_rule(300))
    full = table.weight > 0
    # Means of cells stand for their rows; the share of positives rides along as a soft outcome.
    cells = View(table.mean_score[full], table.rate[full], table.weight[full], "importance")
    with browser.page(files["weighted"]) as page:
        page.run("calibrantReport.ready")
        for bins in (5, 15, 60):
            shown = choose(page, bins=DIVISORS.index(bins), binning="equal_width")
            compare(shown, view, "equal_width", bins)
            mass = choose(page, binning="equal_mass")
            assert abs(mass["ece"] - cal.ece(cells, bins=bins, binning="equal_mass")) <= 1e-12


@pytest.mark.parametrize("cut", [0, 1, 150, 225, 240, 270, 285, 299, 300])
def test_threshold_is_the_library_s(binary: Page, many: Page, cut: int) -> None:
    cases = [(binary, group, BINARY if group == 0 else BINARY.take(BINARY.groups == group - 1)) for group in (0, 1, 2)]
    for page, group, rows in [*cases, (many, 0, MANY)]:
        choose(page, group=group, cut=cut)
        found = page.run(f"calibrantReport.answeredFrom(calibrantReport.sureness(), {cut})")
        said = page.run("document.getElementById('threshold-said').textContent")
        coverage = coverage_of(rows, threshold=cut / 300)
        assert abs(found["coverage"] - coverage) <= 1e-12
        if coverage == 0:
            assert said == "No row is answered"
            continue
        accuracy = selective_accuracy(rows, threshold=cut / 300)
        assert abs(found["accuracy"] - accuracy) <= 1e-12
        assert said == f"Accuracy {percent(accuracy)}, coverage {percent(coverage)}"
        now = page.run("calibrantReport.drawn.last.then(() => calibrantReport.drawn.threshold.data('now'))")
        assert {round(point["value"], 12) for point in now} == {round(accuracy, 12), round(coverage, 12)}


def test_without_scripts_the_tables_stand(browser: Browser, files: dict[str, Path]) -> None:
    with browser.page(files["binary"], scripts=False) as page:
        assert page.run("typeof calibrantReport") == "undefined"
        assert (
            page.run("document.querySelector('noscript').textContent") == "The charts need scripts; the tables do not."
        )
        assert page.run("[...document.querySelectorAll('.live')].every(e => e.getBoundingClientRect().height === 0)")
        assert page.run("document.querySelectorAll('#bin-rows tr').length") == 15


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


def test_policy_names_exactly_the_scripts_of_the_page(reports: dict[str, Report]) -> None:
    text = render_report(reports["binary"])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    said = policy[1].replace("&#39;", "'")
    assert said.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in said
    scripts = re.findall(r"<script>(.*?)</script>", text, flags=re.S)
    marks = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert re.findall(r"sha256-([^']*)'", said.split("script-src")[1].split(";")[0]) == marks
    assert len(marks) == 3


def test_size_with_twenty_metrics_and_fifty_groups(reports: dict[str, Report]) -> None:
    rng = np.random.default_rng(5)
    score = rng.random(100_000)
    full = Predictions(rng.random(100_000) < score, score, groups=rng.integers(0, 50, 100_000))
    cells = interactive(full)
    assert len(cells.groups) == 50
    assert cells.left_out == ()
    page = render_report(replace(with_metrics(reports["binary"], 20), cells=cells))
    assert len(page.encode()) < 2_000_000


def test_without_cells_there_is_a_page_without_scripts(reports: dict[str, Report]) -> None:
    page = render_report(replace(reports["binary"], cells=None))
    assert "<script" not in page
    assert "script-src 'none'" in page.replace("&#39;", "'")
    assert "<table" in page
