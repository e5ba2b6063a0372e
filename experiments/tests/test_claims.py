"""Every listed statement stands in its page, and what supports it exists."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments import claims, thin_data

ROOT = Path(claims.__file__).parent.parent
LISTED: list[dict[str, Any]] = tomllib.loads(claims.LIST.read_text(encoding="utf-8"))["claim"]


def plain(text: str) -> str:
    """Text on one line; a line of TOML may continue after a backslash."""
    return " ".join(text.replace("\\\n", "").split())


def places(claim: dict[str, Any]) -> list[tuple[str, str]]:
    """The pages of a claim, each with the text of the statement there."""
    return [(page, plain(text)) for page, text in [(claim["page"], claim["text"]), *claim.get("also", [])]]


@pytest.mark.parametrize("claim", LISTED, ids=lambda claim: claim["text"][:50])
def test_statement_and_support(claim: dict[str, Any]) -> None:
    for page, text in places(claim):
        assert text in plain((ROOT / page).read_text(encoding="utf-8")), page
    (support,) = {"simulation", "study", "results", "test", "proof", "citation"} & set(claim)
    if support == "simulation":
        assert claim["simulation"] in claims.SIMULATIONS
        assert claim["values"]
    if support == "study":
        assert claim["study"] in thin_data.STUDIES
    if support == "results":
        assert (ROOT / claim["results"]).exists()
    if support == "test":
        path, _, name = claim["test"].partition("::")
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


# Words of statements that need support, where docstrings, entries of metrics and pages without results of their own make them.
STATEMENT = re.compile(
    r"with probability at (?:most|least)|(?:is|are) unbiased|unbiased for|without bias\b|expected value is|family-?wise error|false discoveries"
    r"|Ville|conservative|too (?:liberal|short)|far too often|(?:in (?:\d+ )?simulations|of simulations in)|supermartingale|robust to mis|asymptotically"
)
RESULTS = ("simulations", "simulations-intervals", "subgroups", "estimators", "thin-data", "calibrators-simulated")
NO_CLAIMS = ("glossary", "language", "release-notes", "conventions", "spark", "validation")


def texts() -> Iterator[tuple[str, str]]:
    """Files and what they state: docstrings, entries of metrics, and pages."""
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
                yield str(path.relative_to(ROOT)), plain(text)
    pages = [page for page in (ROOT / "docs").glob("**/*.md") if page.parent.name in ("docs", "guides")]
    for path in [*pages, *(ROOT / "src/calibrant/metrics/catalogue").glob("*.toml")]:
        if path.stem not in RESULTS + NO_CLAIMS:
            yield str(path.relative_to(ROOT)), plain(path.read_text(encoding="utf-8"))


def test_every_statement_is_listed() -> None:
    listed: dict[str, list[str]] = {}
    for page, text in [place for claim in LISTED for place in places(claim)]:
        listed.setdefault(page, []).append(text)
    missing = []
    for page, text in texts():
        known = [found.span() for each in listed.get(page, []) for found in re.finditer(re.escape(each), text)]
        for found in STATEMENT.finditer(text):
            if not any(start - 150 <= found.start() <= end + 150 for start, end in known):
                missing.append(f"{page}: {text[max(found.start() - 80, 0) : found.end() + 80]}")
    assert not missing, "\n".join(missing)


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
