"""Every listed statement stands in its page, and what supports it exists."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from experiments import claims, thin_data

ROOT = Path(claims.__file__).parent.parent
LISTED: list[dict[str, Any]] = tomllib.loads(claims.LIST.read_text(encoding="utf-8"))["claim"]


@pytest.mark.parametrize("claim", LISTED, ids=lambda claim: claim["text"][:50])
def test_statement_and_support(claim: dict[str, Any]) -> None:
    page = " ".join((ROOT / claim["page"]).read_text(encoding="utf-8").split())
    assert " ".join(claim["text"].split()) in page
    (support,) = {"simulation", "study", "test", "proof", "citation"} & set(claim)
    if support == "simulation":
        assert claim["simulation"] in claims.SIMULATIONS
        assert claim["values"]
    if support == "study":
        assert claim["study"] in thin_data.STUDIES
    if support == "test":
        path, _, name = claim["test"].partition("::")
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_stored_values_are_those_that_are_stated() -> None:
    stored = json.loads(claims.RESULTS.read_text(encoding="utf-8"))
    assert set(stored) >= {"judges", "new_centres", "updates"}
    for claim in LISTED:
        for key, (low, high) in claim.get("values", {}).items():
            mean, error, _ = stored.get(claim["simulation"], {}).get(key, (low, 0, 0))
            assert low - 3 * error <= mean <= high + 3 * error, key


def test_every_simulation_supports_a_statement() -> None:
    assert set(claims.SIMULATIONS) == {claim["simulation"] for claim in LISTED if "simulation" in claim}


@pytest.mark.parametrize("name", ["means_by_chance", "belts", "pooled_estimates", "venn_abers"])
def test_values_of_a_run_are_those_that_are_stated(name: str) -> None:
    (claim,) = (claim for claim in LISTED if claim.get("simulation") == name)
    assert set(claim["values"]) <= set(claims.one_run(name, 0))
