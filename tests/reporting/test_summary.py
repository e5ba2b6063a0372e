"""Many rows of two classes are reported from a sketch: the same report as that of the sketch, and it says so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import calibrant as cal
from calibrant.reporting import summary
from calibrant.reporting.building import report
from tests.calling import call

RNG = np.random.default_rng(5)
N = 3000
SCORE = RNG.random(N).round(4)
YES = (RNG.random(N) < SCORE**1.3).astype(int)
REGION = np.array(["north", "south", "west"])[np.arange(N) % 3]
SENTENCE = "Computed from a sketch of 3,000 rows: scores are the means of its cells, which are at most 1/19,200 wide."
FAST: dict[str, Any] = {"metrics": ["ece", "nll", "brier", "smece"], "recalibration": False}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is below the number of rows here."""
    monkeypatch.setattr(summary, "MOST_ROWS", 1000)


def sections(found: cal.Report) -> dict[str, Any]:
    plain = found.to_dict()
    return {name: plain[name] for name in ("verdict", "diagram", "metrics", "weaknesses", "threshold", "header")}


@pytest.mark.usefixtures("few")
def test_many_rows_are_reported_as_their_sketch() -> None:
    rows = report(cal.Predictions(YES, SCORE, groups=REGION), **FAST)
    sketch = report(cal.Sketches.of(cal.Predictions(YES, SCORE, groups=REGION)), **FAST)
    assert sections(rows) == sections(sketch)
    assert rows.provenance.sketch == SENTENCE
    assert SENTENCE in rows.header
    assert all(SENTENCE in text for text in (rows.to_html(), rows.to_markdown(), rows.to_json()))


def test_few_rows_are_reported_from_the_rows() -> None:
    found = report(YES, SCORE, **FAST)
    assert found.provenance.sketch == ""
    assert found.provenance.rows == N
    assert "sketch" not in found.to_markdown()


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    "keywords",
    [
        {"sample_weight": np.arange(1.0, N + 1)},
        {"features": SCORE[:, None]},
        {"soft": True},
        {"lens": "top_label", "y_prob": np.column_stack([1 - SCORE, SCORE / 2, SCORE / 2])},
    ],
)
def test_what_a_sketch_does_not_hold_is_reported_from_the_rows(keywords: dict[str, Any]) -> None:
    labels: Any = YES * 0.5 if keywords.get("soft") else YES
    found = call(report, labels, keywords.pop("y_prob", SCORE), metrics=["ece"], recalibration=False, **keywords)
    assert found.provenance.sketch == ""
    assert found.provenance.rows == N


@pytest.mark.usefixtures("few")
def test_metrics_of_whole_rows_have_the_values_of_the_rows() -> None:
    # The mean of the cell of a score of 0 is above 0, and its log loss is finite.
    score = np.concatenate([[0.0], SCORE])
    labels = np.concatenate([[1], YES])
    found = report(labels, score, **FAST)
    assert found.metrics["nll"].value == np.inf
    assert found.metrics["nll"].low is None
    assert found.metrics["brier"].value == pytest.approx(cal.brier(labels, score), abs=1e-15)
    assert found.metrics["ece"].value == pytest.approx(cal.ece(labels, score), abs=1e-12)


@pytest.mark.usefixtures("few")
def test_several_groupings_and_names_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    by = {"region": REGION, "half": np.where(np.arange(N) < N / 2, 1, 2)}
    labels = np.where(YES == 1, "churn", "stay")
    predictions = cal.Predictions(labels, SCORE, groups=by, classes=["stay", "churn"])
    keywords: dict[str, Any] = {"metrics": ["ece", "pce"], "recalibration": False}
    found = report(predictions, **keywords)
    monkeypatch.setattr(summary, "MOST_ROWS", N)
    rows = report(predictions, **keywords)
    assert found.outcome == rows.outcome == "churn"

    def groups(one: cal.Report) -> dict[str, tuple[int, float, float]]:
        return {e.name: (e.rows, round(e.mean_score, 9), e.rate) for e in one.weaknesses.entries if e.kind == "group"}

    assert len(groups(found)) == 5
    assert groups(found) == groups(rows)
    assert found.metrics["pce"].value == pytest.approx(rows.metrics["pce"].value, abs=1e-4)


@pytest.mark.usefixtures("few")
def test_counts_are_rows() -> None:
    counts = np.arange(N) % 3 + 1
    found = report(cal.Predictions(YES, SCORE, counts=counts), **FAST)
    assert found.provenance.sketch.startswith(f"Computed from a sketch of {counts.sum():,} rows")
    assert found.metrics["ece"].value == pytest.approx(cal.ece(cal.Predictions(YES, SCORE, counts=counts)), abs=1e-12)


@pytest.mark.deep
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_ten_million_rows_take_less_than_a_gigabyte(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"rows.{form}"
    with duckdb.connect() as connection:
        scores = "SELECT (i * 7919 % 999983 + 0.5) / 999983 AS p, i FROM range(10000000) t(i)"
        connection.execute(f"COPY (SELECT (i * 31 % 97 / 97 < p)::INT AS y, p FROM ({scores})) TO '{path}'")
    code = (
        "import json, sys\nfrom calibrant.cli import main\ntry:\n    main(sys.argv[1:])\nexcept SystemExit as end:\n"
        "    peak = open('/proc/self/status').read().split('VmHWM:')[1].split()[0]\n"
        "    print(json.dumps([end.code, int(peak)]))"  # of this program alone: the usage of a process begins with that of its parent
    )
    command = ["report", str(path), "--out", str(tmp_path / "r.html")]
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
    status, kilobytes = json.loads(done.stdout.splitlines()[-1])
    assert status == 0
    assert kilobytes < 1e6
