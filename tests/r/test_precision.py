"""Sample sizes by precision against R's pmvalsampsize; precision.json is written by precision.R."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import calibrant as cal

ENTRIES = json.loads((Path(__file__).parent / "precision.json").read_text())
NAMES = {
    "cstatistic": "auroc",
    "oeciwidth": "oe_width",
    "csciwidth": "slope_width",
    "cstatciwidth": "auroc_width",
    "nbciwidth": "net_benefit_width",
    "lpbeta": "scores",
    "lpnormal": "linear_predictor",
}


def ours(entry: dict[str, Any], **more: Any) -> Any:
    given = {key: value for key, value in entry["call"].items() if key not in ("seed", "lpcstat", "increment")}
    given = {NAMES.get(key, key): tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    return cal.inference.precision_sample_size(**given, **more)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e["data"] == "quantiles"], ids=lambda e: str(e["call"]))
def test_rows_of_every_criterion_are_those_of_r(entry: dict[str, Any]) -> None:
    found = ours(entry, convention="pmvalsampsize")
    assert [*(criterion.n for criterion in found.criteria), found.n] == entry["value"]


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e["data"] == "seed"], ids=lambda e: str(e["call"]))
def test_simulated_rows_agree_up_to_the_simulation_error(entry: dict[str, Any]) -> None:
    found = [criterion.n for criterion in ours(entry, convention="pmvalsampsize").criteria]
    assert (found[0], found[2]) == (entry["value"][0], entry["value"][2])
    assert found[1] == pytest.approx(entry["value"][1], rel=0.005)


@pytest.mark.parametrize("entry", ENTRIES[:10], ids=lambda e: str(e["call"]))
def test_exact_rows_differ_by_rounding_of_the_standard_error_only(entry: dict[str, Any]) -> None:
    exact, rough = ours(entry), ours(entry, convention="pmvalsampsize")
    for one, other in zip(exact.criteria, rough.criteria, strict=True):
        assert one.n == pytest.approx(other.n, rel=0.05)
