"""The study of subgroups and certificates: no stored row contradicts a guarantee, and the page is that of the stored results."""

import json

import pytest

import calibrant as cal
from experiments import simulations_intervals, subgroups


def test_stored_results_hold_their_guarantees_and_give_the_page() -> None:
    rows = json.loads(subgroups.RESULTS.read_text())
    assert {row["study"] for row in rows} == {*subgroups.STUDIES, "peers"}
    assert subgroups.claims(rows) == []
    assert subgroups.page(rows) == subgroups.PAGE.read_text()
    broken = [{**row, "false": 0.2} if row["study"] == "level" else row for row in rows]
    assert len(subgroups.claims(broken)) == len(subgroups.STUDIES["level"].cases)


def test_assess_accepts_the_metrics_whose_tolerance_held_in_simulation() -> None:
    rows = json.loads(subgroups.RESULTS.read_text())
    intervals = simulations_intervals.every(json.loads(simulations_intervals.STORED.read_text()))
    accepted = {id for id, metric in cal.catalogue.items() if metric.info.tolerance}
    assert accepted == subgroups.tolerated(rows, intervals)
    broken = [{**row, "shown": 0.2} if row.get("metric") == "vce" else row for row in rows]
    assert subgroups.tolerated(broken, intervals) == accepted - {"vce"}


@pytest.mark.parametrize("study", ["level", "certificate", "tolerance", "distance"])
def test_a_run_depends_on_its_number_alone(study: str) -> None:
    case = subgroups.STUDIES[study].cases[0]
    assert subgroups.one_run(study, case, 3) == subgroups.one_run(study, case, 3)
