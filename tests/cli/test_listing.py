"""``calibrant metrics``: names and use cases."""

from __future__ import annotations

from tests.calling import Run, check_refusal


def test_a_name_of_the_literature_is_described(run: Run) -> None:
    code, out, err = run("metrics", "Mix-n-Match")
    assert (code, err) == (0, "")
    assert out.startswith("skde: ")


def test_a_name_of_several_metrics_lists_them(run: Run) -> None:
    code, out, err = run("metrics", "area between curves")
    assert (code, out) == (2, "")
    assert "NAME: 'area between curves' is the name of 3 metrics" in err
    assert all(f"{id} (" in err for id in ("ece", "abc_above", "abc_below"))


def test_one_selection_at_a_time(run: Run) -> None:
    check_refusal(run("metrics", "ece", "--for", "direction"), "cannot be combined with", "give either")


def test_a_recommendation_has_ranks_and_reasons(run: Run) -> None:
    code, out, err = run("metrics", "--for", "analysis")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[2].split()[:2] == ["ici", "recommended"]
    assert lines[3].split()[:2] == ["emax", "runner-up"]
    assert lines[-1] == "Functions: reliability_diagram, calibration_curve, inference.calibration_band."
