"""A report for a validation study: its table, curves and subgroups in every form, and the items of TRIPOD+AI."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError, InputTypeError, LensError
from calibrant.reporting import Report, html
from calibrant.reporting.wording import static_texts
from tests.calling import raises

RNG = np.random.default_rng(5)
LP = RNG.normal(-1, 1, 300)
Y = (RNG.random(300) < 1 / (1 + np.exp(-LP))).astype(int)
RISK = 1 / (1 + np.exp(0.3 - 1.4 * LP))
SEX = np.where(RNG.random(300) < 0.4, "<b>women", "men")
FAST: dict[str, Any] = {"metrics": ["brier"], "recalibration": False, "level": 0.5, "n_resamples": 20}


@pytest.fixture(scope="module")
def found() -> Report:
    return cal.report(
        cal.Predictions(Y, RISK, groups=SEX), purpose="clinical", outcome="death", metadata={"model": "model A"}, **FAST
    )


def test_the_part_holds_the_summary_and_the_curves(found: Report) -> None:
    part = found.clinical
    own = cal.clinical.summary(Y, RISK, level=0.5, n_resamples=20, rng=0)
    assert part.summary.rows == own.rows
    assert part.summary.outcome == "death"
    assert part.curve.risk[[0, -1]].tolist() == [RISK.min(), RISK.max()]
    assert part.curve.distribution.events.sum() == Y.sum()
    assert part.curve.distribution.others.sum() == (1 - Y).sum()
    net = cal.decision.net_benefit(Y, RISK, thresholds=[0.2])
    at = part.benefit.threshold.tolist().index(0.2)
    assert part.benefit["model"].net_benefit[at] == pytest.approx(net.net_benefit[0])
    assert part.benefit.treat_all.net_benefit[at] == pytest.approx(net.treat_all[0])
    men = next(group for group in part.subgroups if group.name == "men")
    assert men.n == (SEX == "men").sum()
    assert men.rows[2].value == pytest.approx(cal.cox_slope(Y[SEX == "men"], RISK[SEX == "men"]))
    assert men.rows[2].low is not None


def test_every_form_has_the_table_and_answers_nothing_automatically(
    found: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html, "_drawing_library", lambda: "")  # bundling takes seconds
    page, text, data = found.to_html(), found.to_markdown(), json.loads(found.to_json())
    assert not {"accuracy", "guarantee"} & set(data["provenance"]["parameters"])
    assert "coverage" not in found.charts.lenses[0].charts
    heads = re.findall(r"<h2[^>]*>([^<]*)</h2>", page)
    assert (heads[0], heads[-1]) == ("Reliability diagram", "Methods and provenance")
    assert "measures of the validation</summary>" in page
    # The conclusion states the slope, and nothing beside it repeats it.
    assert "calibration slope" in found.verdict.sentence
    assert "<dt><bdi>Calibration slope</bdi></dt>" not in page
    assert "<dt><bdi>Calibration intercept</bdi></dt>" in page
    assert "<b>women" not in page
    assert "onfidence threshold" not in page.split("<script>")[0] + text
    assert 'data-chart="benefit"' in page
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert (heads[0], heads[-1]) == ("Clinical summary", "Methods and provenance")
    assert "| Calibration slope |" in text
    assert data["clinical"]["summary"]["rows"][0]["id"] == "n"
    assert "clinical" not in cal.report(Y, RISK, **FAST).to_dict()


def test_mistakes_are_named() -> None:
    with pytest.raises(ArgumentError, match="purpose: must be None or 'clinical'"):
        cal.report(Y, RISK, purpose="medical", **FAST)
    with raises(LensError, "y_prob"):
        cal.report(Y, np.column_stack([1 - RISK, RISK / 2, RISK / 2]), purpose="clinical", **FAST)
    with raises(InputTypeError, "summary"):
        cal.reporting.tripod([1, 2])  # type: ignore[arg-type]


def item(text: str, number: str) -> str:
    """The line of an item."""
    return next(line for line in text.splitlines() if line.startswith(f"- **{number}** "))


@cache
def summarized() -> Any:
    return cal.clinical.summary(Y, RISK, level=0.5, n_resamples=20)


class TestTripod:
    def test_items_are_those_of_the_statement(self) -> None:
        items = static_texts("tripod.toml")["item"]
        numbers = [number for number, *_ in items]
        assert len(numbers) == len(set(numbers)) == 52
        assert sorted({int(re.sub(r"\D", "", number)) for number in numbers}) == list(range(1, 28))
        parts = {whole: "".join(n[len(whole) :] for n in numbers if re.fullmatch(rf"{whole}[a-g]", n)) for whole in
                 ("3", "5", "6", "8", "9", "12", "18", "20", "23", "27")}  # fmt: skip
        assert parts == {
            "3": "abc", "5": "ab", "6": "abc", "8": "abc", "9": "abc", "12": "abcdefg", "18": "abcdef", "20": "abc", "23": "ab", "27": "abc",
        }  # fmt: skip
        assert {number for number, _, _, studies, _ in items if studies == "E"} == {"12f", "12g", "20c", "24"}

    def test_results_are_quoted_and_the_rest_is_for_the_authors(self) -> None:
        text = cal.reporting.tripod(summarized(), outcome="death", model="M|1", date="2026-11-16")
        assert text.count("\n- **") == 52
        assert "Evaluation of M\\|1 for death." in item(text, "1")
        assert f"300 patients with {Y.sum()} events were available." in item(text, "10")
        slope = summarized()["slope"]
        quoted = f"Calibration slope {slope.value:.3f} (50% interval {slope.low:.3f} to {slope.high:.3f})"
        assert quoted in item(text, "23a")
        assert "Wald" in item(text, "12e")
        assert f"Analysis with calibrant {cal.__version__}, 2026-11-16." in item(text, "18f")
        assert "To be filled by the authors." in item(text, "17")
        assert "10.1136/bmj-2023-078378" in text

    def test_clusters_and_dates(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
        data = cal.Predictions(Y, RISK, groups=np.arange(300) // 4)
        text = cal.reporting.tripod(cal.clinical.summary(data, cluster=True, level=0.5, n_resamples=20))
        assert "75 clusters" in item(text, "12d")
        assert "1970-01-01" in item(text, "18f")


def test_dropped_rows_and_subgroups_beyond_the_first_are_stated() -> None:
    centre = [f"centre {row % 40}" for row in range(300)]
    found = cal.report(
        cal.Predictions([*Y, None], [*RISK, 0.5], missing="drop", groups=[*centre, "centre 0"]),
        purpose="clinical",
        **FAST,
    )
    part = found.clinical
    assert len(part.subgroups) == 30
    assert "30 of 40 subgroups are shown; validate_by_group has all of them" in part.notes
    assert "1 of 301 rows dropped" in item(cal.reporting.tripod(part.summary), "11")
