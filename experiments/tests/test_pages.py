"""Every stored result gives its page again, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import calibrant as cal
from benchmarks import labelfree as benchmarks_labelfree
from experiments import (
    calibrators,
    calibrators_page,
    calibrators_simulated,
    estimators,
    labelfree,
    simulations_intervals,
    simulations_page,
    subgroups,
    thin_data,
)
from experiments.images import measure
from experiments.images import page as images
from experiments.rendering import ROOT, TABLES, render
from experiments.reproductions.run import STUDIES
from experiments.reproductions.study import PAGES, RESULTS, as_page, load

HERE, DOCS = Path(simulations_page.__file__).parent, ROOT / "docs"
SIMULATED: list[tuple[Path, Path, Callable[[Any], str]]] = [
    (HERE / "simulations.json", DOCS / "simulations.md", simulations_page.page),
    (simulations_intervals.STORED, DOCS / "simulations-intervals.md", simulations_intervals.page),
    (thin_data.RESULTS, thin_data.PAGE, thin_data.page),
    (subgroups.RESULTS, subgroups.PAGE, subgroups.page),
    (estimators.RESULTS, estimators.PAGE, estimators.page),
    (calibrators.RESULTS, calibrators_page.PAGE, calibrators_page.page),
    (calibrators_simulated.RESULTS, calibrators_simulated.PAGE, lambda found: render("calibrators-simulated", found)),
    (measure.HERE / measure.RESULTS, PAGES / "images.md", lambda _: images.page(images.load())),
]


@pytest.mark.parametrize(("results", "page", "made"), SIMULATED, ids=[page.stem for _, page, _ in SIMULATED])
def test_results_give_their_page(results: Path, page: Path, made: Callable[[Any], str]) -> None:
    assert made(json.loads(results.read_text(encoding="utf-8"))) == page.read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "parts"), list(zip(STUDIES, (3, 5, 15, 9, 4), strict=True)))
def test_studies_of_papers_give_their_page(name: str, parts: int) -> None:
    study = load(RESULTS / f"{name}.json")
    assert as_page(study) == (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert len(study.parts) == parts
    for part in study.parts:
        for picture, _ in part.pictures:
            assert 5_000 < (PAGES / picture).stat().st_size < 150_000


def test_performance_without_labels() -> None:
    page = labelfree.PAGE.read_text(encoding="utf-8")
    stored = json.loads(labelfree.RESULTS.read_text(encoding="utf-8"))
    assert labelfree.filled(page, stored) == page
    assert list(stored["simulated"]) == list(labelfree.SETTINGS)
    for results in stored["simulated"].values():
        for share, runs in results.values():
            assert share >= 0.93 - 3 * max(share * (1 - share), 1 / runs) ** 0.5 / runs**0.5
    compared = json.loads(benchmarks_labelfree.RESULTS.read_text(encoding="utf-8"))
    assert benchmarks_labelfree.table(compared) in page
    assert all(row["difference"] < 0.002 for row in compared["metrics"].values())


def test_every_name_of_the_survey_is_on_its_page() -> None:
    names = json.loads((ROOT / "tests" / "metrics" / "survey_names.json").read_text(encoding="utf-8"))
    (table,) = (part.tables[0] for part in load(RESULTS / "survey.json").parts if part.key == "names")
    listed = {name: line for line in table.lines for name in str(line[0]).split("; ")}
    assert set(listed) == set(names)
    for name, id in names.items():
        _, metric, certainty, notes = listed[name]
        info = cal.catalogue[id].info
        assert (metric, certainty, str(notes).replace("\\|", "|")) == (f"`{id}`", info.certainty, info.notes)


def test_long_tables_are_those_of_the_results() -> None:
    results = json.loads((HERE / "simulations.json").read_text(encoding="utf-8"))
    for name, text in simulations_page.long_tables(results).items():
        assert (TABLES / name).read_text(encoding="utf-8") == text


def test_the_tables_of_losses_are_those_of_the_results() -> None:
    pytest.importorskip("torch")
    from experiments import losses

    results = json.loads(losses.RESULTS.read_text(encoding="utf-8"))
    assert losses.filled(losses.PAGE.read_text(encoding="utf-8"), results) == losses.PAGE.read_text(encoding="utf-8")
