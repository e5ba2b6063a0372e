"""``calibrant export``."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

import calibrant as cal
from tests.calling import Run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cal.save(cal.PlattScaling().fit([0.1, 0.2, 0.9, 0.8], [0, 1, 1, 0]), "platt.json")


def test_a_query_and_a_module_give_the_same_probability(run: Run) -> None:
    options = ("--table", "rows", "--probs", "score", "--keep", "id", "--dialect", "duckdb")
    code, out, _ = run("export", "platt.json", "--to", "sql", *options, "--out", "platt.sql")
    assert (code, out) == (0, "Wrote platt.sql.\n")
    connection = duckdb.connect()
    connection.execute("CREATE TABLE rows AS SELECT 7 AS id, 0.7 AS score")
    ((name, probability),) = connection.sql(Path("platt.sql").read_text()).fetchall()
    assert run("export", "platt.json", "--to", "python", "--out", "platt.py")[0] == 0
    module: dict[str, Any] = {}
    exec(Path("platt.py").read_text(), module)
    assert name == 7
    assert module["predict_proba"](0.7)[1] == pytest.approx(probability, abs=1e-12)


def test_the_star_of_a_pattern_is_each_class_and_a_query_replaces_another(run: Run) -> None:
    fitted = cal.PlattScaling().fit([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8]], ["no", "yes", "yes", "no"])
    cal.save(fitted, "named.json")
    for _ in range(2):
        code, _, err = run("export", "named.json", "--to", "sql", "--probs", "z_*", "--out", "named.sql")
        assert (code, err) == (0, "")
    query = f"WITH predictions AS (SELECT 0.3 AS z_no, 0.7 AS z_yes) {Path('named.sql').read_text()}"
    ((no, yes),) = duckdb.connect().sql(f"SELECT z_no_calibrated, z_yes_calibrated FROM ({query})").fetchall()
    assert (no, yes) == pytest.approx(fitted.predict_proba([[0.3, 0.7]])[0], abs=1e-12)
