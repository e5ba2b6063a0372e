"""Subgroups by features in a report: those of `find_subgroups`, the gap along their features, and the conclusion."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.cli import main
from calibrant.errors import InputError, ShapeError
from calibrant.reporting.building import Report
from calibrant.reporting.feature_gaps import chart_rows
from tests.calling import raises

N = 3000
RNG = np.random.default_rng(1)
AGE, PLAN = RNG.integers(18, 90, N), RNG.choice(["basic", "pro"], N)
SCORE = RNG.uniform(0.1, 0.6, N)
WRONG = (AGE >= 65) & (PLAN == "basic")
LABEL = (RNG.random(N) < SCORE + 0.3 * WRONG).astype(int)
FEATURES = {"age": AGE, "plan": PLAN}


def quick(*data: Any, **options: Any) -> Report:
    return cal.report(*data, metrics=["brier"], recalibration=False, outcome="churn", **options)


@pytest.fixture(scope="module")
def found() -> Report:
    return quick(LABEL, SCORE, features=FEATURES)


def test_subgroups_are_those_of_the_search(found: Report) -> None:
    assert found.features is not None
    assert found.features.subgroups is not None
    expected = cal.find_subgroups(LABEL, SCORE, features=FEATURES)
    assert found.features.subgroups.to_dict() == expected.to_dict()
    assert len(expected) > 0
    assert found.to_dict()["features"]["subgroups"]["subgroups"][0]["name"] == expected[0].name


def test_the_gap_is_drawn_along_the_features_of_the_subgroups(found: Report) -> None:
    assert found.features is not None
    age, plan = sorted(found.features.diagrams, key=lambda diagram: diagram.feature)
    assert (age.feature, plan.feature) == ("age", "plan")
    drawn = chart_rows(plan)
    for row, name in zip(drawn["points"], ("basic", "pro"), strict=True):
        rows = name == PLAN
        assert row["gap"] == pytest.approx(100 * (SCORE[rows].mean() - LABEL[rows].mean()))
        assert row["low"] < row["gap"] < row["high"]
    assert [row["colour"] for row in drawn["points"]] == ["var(--under)", "var(--soft)"]


def test_every_form_shows_them(found: Report, tmp_path: Path) -> None:
    assert found.features is not None
    first = cal.find_subgroups(LABEL, SCORE, features=FEATURES)[0]
    assert f"Significant in {first.name}: " in found.verdict.sentence
    page, text = found.to_html(), found.to_markdown()
    assert page.count('id="feature-') == len(found.features.diagrams)
    assert 'aria-label="Gap by age: mean predicted minus observed rate, with intervals"' in page
    for form in (page, text):
        assert "For whom?" in form
        assert f"{100 * first.rate:.1f}%" in form
    names = {path.stem for path in found.save_figures(tmp_path)}
    assert {"feature-0", "feature-1"} <= names


def test_features_of_predictions_are_searched() -> None:
    p = cal.Predictions(LABEL, SCORE, features=np.column_stack([WRONG, RNG.random(N)]).astype(float))
    found = quick(p)
    assert found.features is not None
    assert found.features.subgroups is not None
    assert [diagram.feature for diagram in found.features.diagrams] == ["x0"]
    assert found.features.subgroups[0].rate > 0.5


def test_calibrated_rows_have_no_subgroup_and_no_picture() -> None:
    calm = (np.random.default_rng(2).random(N) < SCORE).astype(int)
    found = quick(calm, SCORE, features=FEATURES)
    assert found.features is not None
    assert found.features.diagrams == ()
    assert "No subgroup with a statistically significant gap" in found.to_markdown()


def test_too_few_rows_have_a_reason() -> None:
    found = quick(LABEL[:30], SCORE[:30], features={"age": AGE[:30]})
    assert found.features is not None
    assert "requires at least" in found.features.reason
    assert found.features.reason in found.to_markdown()
    assert "For whom?" in found.to_html()


def test_without_features_there_is_no_section() -> None:
    found = quick(LABEL, SCORE)
    assert found.features is None
    assert "features" not in found.to_dict()
    assert "For whom?" not in found.to_html()


def test_the_command_reads_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.csv"
    rows = "\n".join(f"{y},{p:.6f},{a},{plan}" for y, p, a, plan in zip(LABEL, SCORE, AGE, PLAN, strict=True))
    file.write_text(f"churned,score,age,plan\n{rows}\n", encoding="utf-8")
    out = tmp_path / "report.json"
    command = ["report", str(file), "--label", "churned", "--prob", "score", "--features", "age,plan"]
    with pytest.raises(SystemExit) as ended:
        main([*command, "--metrics", "brier", "--no-recalibration", "--out", str(out)])
    assert not ended.value.code
    written = json.loads(out.read_text(encoding="utf-8"))
    assert written["features"]["subgroups"]["subgroups"][0]["name"] in written["verdict"]["sentence"]
    with pytest.raises(SystemExit) as ended:
        main([*command, str(file)])
    assert ended.value.code == 2
    assert "--features: cannot be combined with several files" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("form", ["pyarrow", "series", "names"])
def test_features_of_every_form_are_drawn(form: str) -> None:
    import pandas as pd
    import pyarrow as pa

    if form == "names":  # a name that is part of a condition on another feature
        features: Any = {"black and white": np.where(WRONG, "x and plan", "b"), "plan": np.zeros(N)}
        expected = ("black and white",)
    else:
        features = pa.table({"age": AGE, "plan": PLAN}) if form == "pyarrow" else pd.Series(AGE, name="age")
        expected = ("age", "plan") if form == "pyarrow" else ("age",)
    found = quick(LABEL, SCORE, features=features).features
    assert found is not None
    assert tuple(diagram.feature for diagram in found.diagrams) == expected


def test_features_of_predictions_without_some_rows_are_drawn() -> None:
    score = np.where(np.arange(N) < 50, np.nan, SCORE)
    kept = cal.Predictions(LABEL, score, missing="drop", features=np.column_stack([AGE, PLAN == "basic"]))
    found = quick(kept).features
    assert found is not None
    assert found.reason == ""
    assert {diagram.feature for diagram in found.diagrams} <= {"x0", "x1"}
    assert sum(found.diagrams[0].curves[0].rows) == N - 50


def test_features_of_other_rows_are_refused() -> None:
    import pandas as pd

    frame = pd.DataFrame({"age": AGE, "plan": PLAN})
    with raises(ShapeError, "features"):
        quick(LABEL, SCORE, features=frame[1:])
    with raises(InputError, "features"):
        quick(pd.Series(LABEL), SCORE, features=frame.sample(frac=1, random_state=0))
