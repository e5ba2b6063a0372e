"""``calibrant metrics``: names, use cases and properties."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import calibrant as cal
from calibrant.cli import options
from calibrant.metrics.properties import PROPERTIES

Run = Callable[..., tuple[int, str, str]]


def test_a_name_of_the_literature_is_described(run: Run) -> None:
    code, out, err = run("metrics", "Mix-n-Match")
    assert (code, err) == (0, "")
    assert out.startswith("skde: ")


def test_a_name_of_several_metrics_lists_them(run: Run) -> None:
    code, out, err = run("metrics", "area between curves")
    assert (code, out) == (2, "")
    assert "NAME: 'area between curves' is the name of 3 metrics" in err
    assert all(f"{id} (" in err for id in ("ece", "abc_above", "abc_below"))


def ids(out: str) -> list[str]:
    """The first words of the lines of metrics, which are indented most."""
    return [line.split()[0] for line in out.splitlines() if line.startswith("    ")]


def test_properties_select_metrics(run: Run) -> None:
    code, out, err = run("metrics", "--test", "--direction", "--no-bins")
    assert (code, err) == (0, "")
    wanted = [m.id for m in cal.catalogue.find(test=True, direction=True, bins=False)]
    assert ids(out) == wanted
    assert out.startswith(f"{len(wanted)} calibration metrics\n")
    code, out, err = run("metrics", "--full-vector", "--weights", "--json")
    assert [entry["id"] for entry in json.loads(out)] == [
        m.id for m in cal.catalogue.find(full_vector=True, weights=True)
    ]


def test_no_metric_has_all_of_these(run: Run) -> None:
    code, out, err = run("metrics", "--proper", "--no-weights")
    assert (code, err) == (0, "")
    assert out == "No metric has all of these properties: proper, not weights.\n"


def test_every_property_is_an_option() -> None:
    assert [word.replace("-", "_") for word in options.PROPERTIES] == list(PROPERTIES)


@pytest.mark.parametrize(
    "given", [("ece", "--proper"), ("--for", "direction", "--no-bins"), ("ece", "--for", "direction")]
)
def test_one_selection_at_a_time(run: Run, given: tuple[str, ...]) -> None:
    code, out, err = run("metrics", *given)
    assert (code, out) == (2, "")
    assert "cannot be combined with" in err
    assert "give either" in err


def test_a_recommendation_has_ranks_and_reasons(run: Run) -> None:
    code, out, err = run("metrics", "--for", "analysis")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[2].split()[:2] == ["ici", "recommended"]
    assert lines[3].split()[:2] == ["emax", "runner-up"]
    assert lines[-1] == "Functions: reliability_diagram, calibration_curve, inference.calibration_band."
