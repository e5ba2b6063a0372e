"""The Markdown of a report: the numbers of the library, and no name from the data can change its structure."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant as cal
from calibrant.reporting import Report
from calibrant.reporting.building import build, report
from calibrant.reporting.plain import escaped, line, table_lines
from calibrant.reporting.settings import Settings
from calibrant.reporting.tables import Column, Table, points, span
from calibrant.reporting.thresholding import find_threshold
from calibrant.util.results import percent

RNG = np.random.default_rng(11)
TRUTH = RNG.dirichlet(np.ones(3), 700)
LABELS = (TRUTH.cumsum(axis=1) < RNG.random((700, 1))).sum(axis=1).clip(0, 2)
PROBS = TRUTH**2 / (TRUTH**2).sum(axis=1, keepdims=True)
METRICS = ["ece", "nll", "ecce_mad"]

HOSTILE = [
    "<script>alert(1)</script>",
    "a | b",
    "two\nlines",
    "line\r\n# heading",
    "\u2028| new row |",
    "\x85next",
    "\x0cfeed",
    "**bold** _it_ `code` ~~gone~~",
    "[link](https://example.org)",
    "![picture](x)",
    "https://example.org",
    "www.example.org",
    "&lt;b&gt; &#60;",
    "\u202eright to left\u2066",
    "nul\x00nul",
    "back\\slash\\|",
    "# heading",
    "- item",
    "1. item",
    "> quote",
    "<!-- comment",
    "---",
    "$x^2$",
    "{{ 7 * 7 }}",
    "mail@example.org",
    "\ud800lone",
    "",
]


@pytest.fixture(scope="module")
def found() -> Report:
    p = cal.Predictions(LABELS, PROBS)
    made = build(p, Settings(metrics=METRICS, title="Three classes"), {})
    return replace(made, threshold=find_threshold(p, 0.7, 0.9))


def tables(markdown: str) -> dict[str, list[list[str]]]:
    """The rows of the tables by the heading above them, cells without their escapes."""
    parts: dict[str, list[list[str]]] = {}
    heading = ""
    for text in markdown.splitlines():
        if text.startswith("## "):
            heading = text[3:]
        elif text.startswith("| "):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)(?:\\\\)*\|", text)[1:-1]]
            parts.setdefault(heading, []).append(cells)
    return {name: rows[2:] for name, rows in parts.items()}


def test_the_diagram_is_the_calibration_curve(found: Report) -> None:
    curve = cal.calibration_curve(LABELS, PROBS, binning=cal.EqualWidth(15, min_rows=found.diagram.min_rows))
    full = np.flatnonzero(curve.weight > 0)
    every = tables(found.to_markdown())["Reliability diagram"]
    assert [row[1] for row in every] == [f"{int(weight):,}" for weight in curve.weight]
    rows = [every[i] for i in full]
    assert [row[2] for row in rows] == [percent(float(curve.mean_score[i])) for i in full]
    assert [row[3] for row in rows] == [percent(float(curve.rate[i])) for i in full]
    assert [row[4] for row in rows] == [span(float(curve.low[i]), float(curve.high[i]), percent) for i in full]
    assert [float(row[5]) for row in rows] == pytest.approx(100 * curve.table.gap[full], rel=6e-3)


def test_weaknesses_hold_the_gaps(found: Report) -> None:
    """Those with a significant gap are listed; the page has the others in a fold, but none of a single row."""
    rows = tables(found.to_markdown())["Where does it fail?"]
    significant = [entry for entry in found.weaknesses.entries if entry.found]
    for row, entry in zip(rows, significant, strict=True):
        assert row[2:5] == [percent(entry.mean_score), percent(entry.rate), points(entry.gap)]
    others = sum(not entry.found and entry.rows > 1 for entry in found.weaknesses.entries)
    assert (
        f"<summary>{others} {'others' if rows else 'subsets'} without a significant gap</summary>"
        in replace(found, charts=None).to_html()
    )


def test_the_order_is_that_of_reading(found: Report) -> None:
    text = found.to_markdown()
    headings = [each for each in text.splitlines() if each.startswith("#")]
    assert headings == [
        "# Three classes",
        "## Reliability diagram",
        "## Metrics",
        "## Where does it fail?",
        "## Recalibration",
        "## Confidence threshold",
        "## Methods and provenance",
    ]
    assert text.index("**Overconfident") < text.index("## Reliability")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


# Names from outside.


def skeleton(markdown: str) -> list[str]:
    """What Markdown makes of each line: kind of line, and number of cells."""
    found = []
    for text in markdown.split("\n"):
        cells = len(re.findall(r"(?<!\\)(?:\\\\)*\|", text)) if text.startswith("|") else 0
        kind = re.match(r"#+ |- |\||\*\*|$", text)
        found.append(f"{kind[0] if kind else 'text'}{cells}")
    return found


def _named(name: str, other: str = "other") -> Report:
    labels = np.array([name, other], dtype=object)[np.arange(60) % 2]
    groups = np.array([f"{name}1", f"{name}2"], dtype=object)[np.arange(60) // 30]
    probs = np.linspace(0.1, 0.9, 60)
    return report(
        cal.Predictions(labels, np.column_stack([1 - probs, probs]), classes=[name, other], groups=groups),
        title=name,
        outcome=name,
        metadata={name: name},
        metrics=["ece"],
        level=0.8,
        n_resamples=50,
        recalibration=False,
    )


@pytest.fixture(scope="module")
def harmless() -> Report:
    return _named("name")


@pytest.mark.parametrize("name", [name for name in HOSTILE if name])
def test_hostile_names_change_no_structure(name: str, harmless: Report) -> None:
    found = _named(name)
    text = found.to_markdown()
    assert skeleton(text) == skeleton(harmless.to_markdown())
    assert "<script" not in text.replace("\\<script", "")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\x85\u2028\u2029\u202e\u2066]", text)
    text.encode()
    read = json.loads(found.to_json().encode())
    assert read["title"] == name
    assert set(read) == set(harmless.to_dict())
    assert {e["name"] for e in read["weaknesses"]["entries"] if e["kind"] == "group"} == {f"{name}1", f"{name}2"}


@given(st.text(max_size=30))
@settings(max_examples=100)
def test_escaped_text_stays_in_its_cell(name: str) -> None:
    cell = escaped(name)
    assert "\n" not in cell
    assert len(cell.splitlines()) <= 1
    row = table_lines(Table("", [Column("a", "a"), Column("b", "b")], [{"a": name, "b": "x"}]))[2]
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 3


@given(st.text(alphabet="#>-+=1.) |*_`<a\\[]", max_size=12))
@settings(max_examples=300)
def test_the_beginning_of_a_line_means_nothing(name: str) -> None:
    assert not re.match(r"#|>|[-+=]|\d+[.)]|\||`|\*|_(?!\w)|<[a-zA-Z/!?]", line(name))


@given(st.text(alphabet="ab_*`<>&[]()!~|\\", max_size=12))
@settings(max_examples=300)
def test_the_text_can_be_read_back(name: str) -> None:
    assert re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", escaped(name)) == name.strip()


# What the words claim.


def test_a_search_without_a_result_does_not_claim_that_there_is_none() -> None:
    made = report([0, 1] * 100, [0.9] * 200, metrics=["ece"], recalibration=False)
    text = made.to_markdown()
    assert made.threshold.threshold is None
    assert "None: the search found no threshold for an accuracy of at least 0.95" in text
    for form in (text, made.to_html(), made.to_json()):
        assert "the search found no threshold" in form
        assert "No threshold can guarantee" not in form


def test_a_threshold_is_one_of_the_confidences() -> None:
    made = report([0, 1] * 100, [0.1, 0.9] * 100, metrics=["ece"], recalibration=False)
    assert "Answer automatically at confidence \u2265 0.9" in made.to_markdown()
    assert "Answer automatically at confidence \u2265 <strong>0.9" in made.to_html()


def test_places_without_a_test_are_counted_apart() -> None:
    rng = np.random.default_rng(3)
    score = rng.beta(1, 3, 2000)
    yes = (rng.random(2000) < 0.6 * score).astype(int)
    made = report(yes, score, sample_weight=rng.exponential(1, 2000), metrics=["ece"], recalibration=False)
    weak = made.weaknesses
    tested = sum(entry.pvalue is not None for entry in weak.entries)
    assert weak.tested == tested < weak.looked_at
    told = f"Subsets examined: {weak.looked_at}, tested: {tested}, with a statistically significant gap: {weak.found} ("
    reason = f"{weak.looked_at - tested} of {weak.looked_at} subsets could not be tested: importance weights, and too few rows"
    for form in (made.to_markdown(), made.to_html()):
        assert told in form
        assert reason in form


def test_what_rounding_leaves_is_no_number() -> None:
    made = report([1] * 150 + [0] * 350, [0.3] * 500, metrics=["esce", "vce", "ece"], recalibration=False)
    rows = tables(made.to_markdown())
    assert [row[2] for row in rows["Metrics"][:3]] == ["0", "0", "0"]
    assert [row[5] for row in rows["Reliability diagram"] if row[1] != "0"] == ["0"]
    assert points(-1.11e-15) == points(1.11e-15) == "0"
    for form in (made.to_markdown(), made.to_html().split("<script")[0]):
        assert not re.search(r"\de-1\d", form)
        assert "\u22120.000" not in form


def test_a_p_value_of_one_side_says_so() -> None:
    made = report(LABELS, PROBS, metrics=["ecd", "ece"], recalibration=False)
    assert "Entropic calibration difference: one-sided test: the alternative is overconfidence." in made.metrics.notes
    assert "one-sided test: the alternative is overconfidence" in made.to_markdown()
    assert "one-sided test: the alternative is overconfidence" in made.to_html()
