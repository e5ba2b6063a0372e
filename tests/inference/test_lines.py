"""Values on all resamples of one score per row are those on one resample after the other."""

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference.cells import CellSampler, DistinctSampler
from calibrant.inference.lines import Lines
from calibrant.inference.resampling import Resamples, RowSampler, resamples
from calibrant.metrics.registry import catalogue
from calibrant.views.view import View

COUNT = 4
KINDS = ["plain", "ties", "edges", "counts", "weights", "few"]
METRICS: list[tuple[str, dict[str, Any]]] = [
    ("smece", {}),
    ("smece", {"kernel": "logit"}),
    ("smece", {"bandwidth": 0.05}),
    ("ecce_mad", {}),
    ("ece", {}),
    ("ece", {"norm": 2, "bins": [0, 0.2, 0.7, 1]}),
    ("ece", {"binning": cal.EqualWidth(closed="left"), "bins": 6}),
    ("ece_em", {}),
    ("ece_em", {"bins": 40}),
    ("mce", {"min_count": 8}),
    ("esce", {"representative": "midpoint"}),
    ("esce", {"representative": "midpoint", "binning": "equal_mass"}),
    ("abc_above", {"measure": "lebesgue", "binning": "equal_mass", "bins": 5}),
    ("drmsce", {}),
    ("drmsce_bcs", {}),
    ("ece_db", {}),
    ("rbece", {}),
    ("smbs", {}),
    ("dici", {}),
    ("proportional_ece", {}),
]


def view_of(kind: str) -> View:
    rng = np.random.default_rng(6)
    n = 15 if kind == "few" else 150
    p = rng.beta(0.6, 0.9, n)
    p = np.round(p, 1) if kind == "ties" else np.where(rng.random(n) < 0.3, np.round(p), p) if kind == "edges" else p
    weight = {"counts": rng.integers(1, 5, n), "weights": rng.gamma(1.0, 1.0, n)}.get(kind)
    weight_kind: Any = {"counts": "counts", "weights": "importance"}.get(kind, "unit")
    return View(p, (rng.random(n) < p).astype(np.uint8), weight, weight_kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("draws", ["rows", "outcomes", "scores"])
def test_all_resamples_at_once_are_those_one_by_one(kind: str, draws: Any) -> None:
    view = view_of(kind)
    samplers: list[Any] = [RowSampler(view)]
    samplers += [] if kind == "weights" else [DistinctSampler(view), CellSampler(view, cal.EqualWidth(60))]
    for name, options in METRICS:
        metric = catalogue[name]
        for sampler in samplers:
            found = Lines(metric, metric.arguments(options), [Resamples(sampler, draws, COUNT, 5)]).values()
            if kind == "weights" and name not in ("smece", "ecce_mad"):
                assert found is None
                continue
            wanted = [resamples(sampler, draws, 5)(number).value(metric, options) for number in range(COUNT)]
            assert found is not None
            assert found == pytest.approx(wanted, rel=1e-10, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", ["ece_lb", "calbin", "ece_sweep", "ece_ea"])
def test_metrics_that_read_more_than_a_table_are_left_to_the_formula(name: str) -> None:
    metric = catalogue[name]
    assert (
        Lines(metric, metric.arguments(), [Resamples(RowSampler(view_of("plain")), "rows", COUNT, 5)]).values() is None
    )


def test_soft_labels_have_no_tables() -> None:
    view = view_of("plain")
    soft = View(view.score, view.outcome * 0.8)
    assert Lines(cal.ece, cal.ece.arguments(), [Resamples(RowSampler(soft), "rows", COUNT, 5)]).values() is None
    found = Lines(cal.smece, cal.smece.arguments(), [Resamples(RowSampler(soft), "rows", COUNT, 5)]).values()
    wanted = [resamples(RowSampler(soft), "rows", 5)(number).value(cal.smece, {}) for number in range(COUNT)]
    assert found == pytest.approx(wanted, rel=1e-10)
