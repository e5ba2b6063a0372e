"""The Markdown of a report: its numbers are the library's, and no name from outside can change its structure."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant as cal
from calibrant._results import number
from calibrant.recalibration.choosing import recalibrate
from calibrant.reporting.building import report
from calibrant.reporting.content import Report
from calibrant.reporting.plain import escaped, line, percent, points, span, table_of

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
    return report(LABELS, PROBS, metrics=METRICS, accuracy=0.7, title="Three classes")


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


def test_metrics_are_those_of_evaluate(found: Report) -> None:
    theirs = cal.evaluate(LABELS, PROBS, metrics=METRICS, interval=0.95, assess=True, n_resamples=200, rng=0).results
    rows = tables(found.to_markdown())["2. Metrics"]
    assert len(rows) == len(theirs)
    for row, result in zip(rows, theirs, strict=True):
        assert f"`{result.metric}`" in row[0]
        assert row[1] == number(result.value)
        assert row[2] == f"{number(result.low)} to {number(result.high)}"
        assert result.pvalue is not None
        assert row[3] == ("< 0.001" if result.pvalue < 0.001 else f"{result.pvalue:.3g}")


def test_the_diagram_is_the_calibration_curve(found: Report) -> None:
    curve = cal.calibration_curve(LABELS, PROBS)
    full = np.flatnonzero(curve.weight > 0)
    rows = tables(found.to_markdown())["1. Reliability diagram"]
    assert [row[1] for row in rows] == [f"{int(curve.weight[i]):,}" for i in full]
    assert [row[2] for row in rows] == [percent(float(curve.mean_score[i])) for i in full]
    assert [row[3] for row in rows] == [percent(float(curve.rate[i])) for i in full]
    assert [row[4] for row in rows] == [span(float(curve.lower[i]), float(curve.upper[i]), percent) for i in full]
    assert [float(row[5]) for row in rows] == pytest.approx(100 * curve.table.gap[full], rel=6e-3)


def test_maps_are_those_of_recalibrate(found: Report) -> None:
    theirs = recalibrate(LABELS, PROBS, rng=0)
    rows = tables(found.to_markdown())["4. What repairs it"]
    assert [row[0].strip("*") for row in rows] == [c.method for c in theirs.candidates]
    assert [row[1] for row in rows] == [number(c.loss) for c in theirs.candidates]
    assert [row[2] for row in rows[1:]] == [number(c.gain) for c in theirs.candidates[1:]]
    assert [row[4] for row in rows] == [number(c.ece) for c in theirs.candidates]
    assert [row[0].startswith("**") for row in rows] == [c.method == theirs.method for c in theirs.candidates]


def test_the_threshold_is_that_of_choose_threshold(found: Report) -> None:
    choice = cal.choose_threshold(LABELS, PROBS, accuracy=0.7)
    text = found.to_markdown()
    assert choice.threshold is not None
    assert f"Answer from a confidence of {number(choice.threshold)} on: {choice.guarantee}." in text
    assert f"{percent(choice.coverage)} are answered, {percent(1 - choice.risk)} of them right" in text
    curve = cal.risk_coverage(LABELS, PROBS)
    for row, point in zip(tables(text)["5. Which threshold to use"], found.threshold.points, strict=True):
        assert row[2] == percent(curve.at(point.threshold).selective_accuracy)


def test_weaknesses_hold_the_gaps(found: Report) -> None:
    rows = tables(found.to_markdown())["3. Where it fails"]
    for row, entry in zip(rows, found.weaknesses.entries, strict=False):
        assert row[2:5] == [percent(entry.says), percent(entry.happens), points(entry.gap)]
    predicted = PROBS.argmax(axis=1)
    named = {row[0]: row for row in rows}
    mine = predicted == 1
    assert named["predicted 1"][3] == percent(float((LABELS[mine] == 1).mean()))


def test_the_order_is_that_of_reading(found: Report) -> None:
    text = found.to_markdown()
    headings = [each for each in text.splitlines() if each.startswith("#")]
    assert headings == [
        "# Three classes",
        "## 1. Reliability diagram",
        "## 2. Metrics",
        "## 3. Where it fails",
        "## 4. What repairs it",
        "## 5. Which threshold to use",
        "## 6. Method and provenance",
    ]
    assert text.index("**Overconfident") < text.index("## 1.")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_every_row_of_a_table_has_as_many_cells(found: Report) -> None:
    for rows in tables(found.to_markdown()).values():
        assert len({len(row) for row in rows}) == 1


def test_links_cannot_break_out() -> None:
    text = report([0, 1] * 20, [0.2, 0.7] * 20, metrics=["brier"], repair=False).to_markdown()
    [address] = re.findall(r"\]\((\S+)\)", text)
    assert address.startswith("https://doi.org/10.1175/")
    assert not set("<>()") & set(address)


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
        labels,
        np.column_stack([1 - probs, probs]),
        by=groups,
        classes=[name, other],
        title=name,
        metrics=["ece"],
        interval=0.8,
        n_resamples=50,
        repair=False,
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
@settings(max_examples=300)
def test_escaped_text_stays_in_its_cell(name: str) -> None:
    cell = escaped(name)
    assert "\n" not in cell
    assert len(cell.splitlines()) <= 1
    row = table_of(["a", "b"], [[cell, "x"]])[2]
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 3


@given(st.text(alphabet="#>-+=1.) |*_`<a\\[]", max_size=12))
@settings(max_examples=300)
def test_the_beginning_of_a_line_means_nothing(name: str) -> None:
    assert not re.match(r"#|>|[-+=]|\d+[.)]|\||`|\*|_(?!\w)|<[a-zA-Z/!?]", line(name))


@given(st.text(alphabet="ab_*`<>&[]()!~|\\", max_size=12))
@settings(max_examples=300)
def test_the_text_can_be_read_back(name: str) -> None:
    assert re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", escaped(name)) == name.strip()


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_shown_whole_where_they_are_harmless(name: str) -> None:
    assert "\n" not in line(name)
    assert escaped("p < 0.001, ecce_mad") == "p < 0.001, ecce_mad"


def test_shares_have_three_digits() -> None:
    shown: Any = [percent(v) for v in (0.5, 0.94786, 1, 0, 0.000123, None)]
    assert shown == ["50.0 %", "94.8 %", "100 %", "0 %", "0.0123 %", "-"]
    assert points(0.0521) == "+5.21"
    assert points(-0.0521) == "-5.21"
