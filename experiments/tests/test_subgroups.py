"""The study of subgroups and certificates: no stored row contradicts a guarantee, and the page is that of the stored results."""

import json

import pytest

from experiments import subgroups


def test_stored_results_hold_their_guarantees_and_give_the_page() -> None:
    rows = json.loads(subgroups.RESULTS.read_text())
    assert {row["study"] for row in rows} == {*subgroups.STUDIES, "peers"}
    assert subgroups.claims(rows) == []
    assert subgroups.page(rows) == subgroups.PAGE.read_text()
    broken = [{**row, "false": 0.2} if row["study"] == "level" else row for row in rows]
    assert len(subgroups.claims(broken)) == len(subgroups.STUDIES["level"].cases)


@pytest.mark.parametrize("study", ["level", "certificate", "tolerance"])
def test_a_run_depends_on_its_number_alone(study: str) -> None:
    case = subgroups.STUDIES[study].cases[0]
    assert subgroups.one_run(study, case, 3) == subgroups.one_run(study, case, 3)
