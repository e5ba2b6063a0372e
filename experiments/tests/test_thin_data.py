"""The study of thin data: no stored share lies outside of its band, and a run depends on its number alone."""

from __future__ import annotations

import json

import pytest

from experiments import thin_data


def test_stored_results_lie_in_their_bands() -> None:
    rows = json.loads(thin_data.RESULTS.read_text())
    assert {row["study"] for row in rows} <= set(thin_data.STUDIES)
    assert all(row["inside"] for row in rows)


@pytest.mark.parametrize(
    "name",
    [
        "net_benefit",
        "censoring",
        *(pytest.param(name, marks=pytest.mark.deep) for name in ("threshold", "summary", "season")),
    ],
)
def test_a_run_depends_on_its_number_alone(name: str) -> None:
    case = thin_data.STUDIES[name].cases[0]
    first, again = (thin_data.one_run(name, case, 3) for _ in range(2))
    assert first == again
    # The generator of a run is made from the text of its setting.
    assert repr(thin_data.STUDIES["summary"].cases[0]) == "{'shape': (1.0, 12.0), 'n': 80, 'slope': 1.0}"
    assert all(isinstance(held, bool) for held, _ in first.values())
