"""Reports for the browser: small, with every section filled, and with any name in every place."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.input.predictions import Predictions
from calibrant.recalibration.choosing import Candidate
from calibrant.reporting import Report
from calibrant.reporting.building import report
from calibrant.reporting.content import MetricRow
from calibrant.views.resolve import views_of
from calibrant.views.view import View

from .chromium import Page


def binary_case(n: int = 3000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, scores and groups; many scores lie exactly on edges of bins, and some at the ends."""
    rng = np.random.default_rng(7)
    score = rng.beta(0.7, 0.9, n)
    score[: n // 3] = rng.integers(0, 301, n // 3) / 300
    score[n // 3 : n // 2] = rng.integers(0, 11, n // 2 - n // 3) / 10
    label = (rng.random(n) < score**1.4).astype(int)
    group = np.array(["north", "south", "a smaller one"])[rng.choice(3, n, p=[0.6, 0.37, 0.03])]
    return label, score, group


def many_case(n: int = 1500, k: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Labels and rows of overconfident probabilities."""
    rng = np.random.default_rng(8)
    true = rng.dirichlet(np.ones(k), n)
    label = (rng.random(n)[:, None] > true.cumsum(axis=1)).sum(axis=1).clip(0, k - 1)
    sharp = true**1.7
    return label, sharp / sharp.sum(axis=1, keepdims=True)


def quick_report(y: Any, p: Any, **words: Any) -> Report:
    """A report without anything that takes long, and with an invented row in each table that would be empty."""
    found = report(y, p, metrics=["ece", "brier"], recalibration=False, level=None, n_resamples=19, **words)
    tried = (
        Candidate("none", 0.61, 0.0, 0.0, 0.0, 0.07),
        Candidate("temperature", 0.59, 0.02, 0.015, 0.025, 0.005),
        Candidate("isotonic", 0.63, -0.02, -0.03, -0.01, 0.006),
        Candidate("matrix", math.inf, -math.inf, -math.inf, math.inf, math.nan, "needs more rows"),
    )
    section = replace(
        found.recalibration,
        method="temperature",
        description="temperature 1.6",
        entries=tried,
        before=0.07,
        after=0.005,
        reason="",
    )
    return replace(found, recalibration=section)


def with_metrics(found: Report, count: int) -> Report:
    """The same with so many rows in the table of metrics, as long as the longest of the catalogue."""
    longest = max((m.summary + m.info.limits for m in cal.catalogue.values()), key=len)
    row = MetricRow("ece", "Expected calibration error", 0.0431, 0.03, 0.05, 0.01, 0, "overconfident", "top_label", longest, longest, "Somebody (2020). A title. A journal.", "https://doi.org/10.1000/1")  # fmt: skip
    return replace(found, metrics=replace(found.metrics, rows=(row,) * count, level=0.95))


def with_name(found: Report, name: str) -> Report:
    """The same report with `name` wherever a name or a sentence from outside can stand."""
    weak = tuple(replace(entry, name=name) for entry in found.weaknesses.entries)
    metrics = tuple(
        replace(row, name=name, note=name, reason=name, link=f"https://example.org/{name}")
        for row in found.metrics.rows
    )
    calibrators = tuple(replace(entry, method=name, reason=name or "-") for entry in found.recalibration.entries)
    origin = replace(
        found.provenance,
        class_names=(name, name),
        group_names=(name, name, name),
        parameters={name: name, "by": [name], "title": name},
        notes=(name,),
    )
    return replace(
        found,
        title=name,
        header=(name, name),
        outcome=name,
        metadata={name: name},
        verdict=replace(
            found.verdict,
            headline=f"Overconfident in {name}",
            sentence=f"Overconfident in {name}. {name}",
            null_distribution=name,
        ),
        diagram=replace(found.diagram, lens=f"class:{name}", notes=(name,)),
        metrics=replace(found.metrics, rows=metrics),
        weaknesses=replace(found.weaknesses, entries=weak, notes=(name,)),
        recalibration=replace(found.recalibration, entries=calibrators, description=name),
        threshold=replace(found.threshold, statement=name, notes=(name,)),
        provenance=origin,
    )


LABEL, SCORE, GROUP = binary_case()
MANY_LABEL, MANY_PROB = many_case()
NAMES = ["cat", "dog", "a very long name of a class that goes on and on", "fox"]
BINARY = Predictions(LABEL, SCORE, groups=GROUP)
MANY = Predictions(np.array(NAMES)[MANY_LABEL], MANY_PROB, classes=NAMES)


def choose(page: Page, **values: Any) -> None:
    """Move controls as a reader does, and wait until the pictures follow."""
    for id, value in values.items():
        if id == "kind":
            page.run(f"document.querySelector('input[value={value}]').click()")
        elif id == "logit":
            page.run(
                f"(e => {{ if (e.checked !== {str(value).lower()}) e.click() }})(document.getElementById('logit'))"
            )
        else:
            page.run(
                f"(e => {{ e.value = '{value}'; e.dispatchEvent(new Event('change', {{bubbles: true}})) }})"
                f"(document.getElementById('{id}'))"
            )
    page.run("calibrantReport.drawn.last.then(() => 1)")


def one_view(predictions: Predictions, lens: str = "auto") -> View:
    (view,) = views_of(predictions, lens)
    assert isinstance(view, View)
    return view
