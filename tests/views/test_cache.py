"""What views keep for other outcomes of the same scores, and what simulated labels read of it."""

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference.resampling import PredictionSampler

SCORE = np.random.default_rng(3).random(101)


@pytest.mark.parametrize("name", ["ece_ea", "vece"])
def test_what_is_kept_for_other_outcomes_depends_on_the_options(name: str) -> None:
    """Bins of equal area, and of a feature, for other labels of the same scores."""
    rng = np.random.default_rng(5)
    features = rng.normal(size=(len(SCORE), 1))
    sampler = PredictionSampler(cal.Predictions(rng.integers(0, 2, len(SCORE)), SCORE, features=features))
    metric = cal.catalogue[name]
    for bins in (5, 10, 5):
        labels = rng.integers(0, 2, len(SCORE)).astype(np.uint8)
        expected = metric(cal.Predictions(labels, SCORE, features=features), bins=bins)
        assert sampler.labelled(labels).value(metric, {"bins": bins}) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("kind", ["rows", "weights"])
@pytest.mark.parametrize("metric", ["ace", "calbin", "ece_knn", "tace", "ece", "mvce"])
def test_a_replicate_has_the_value_of_its_rows(metric: str, kind: str) -> None:
    rng = np.random.default_rng(1)
    weights = {"sample_weight": rng.random(len(SCORE)) + 0.1} if kind == "weights" else {}
    features = np.column_stack([rng.normal(size=len(SCORE)), np.round(SCORE, 1)])
    p = cal.Predictions(np.arange(len(SCORE)) % 2, np.round(SCORE, 2), features=features, **weights)
    sampler, chosen = PredictionSampler(p), cal.catalogue[metric]
    rows = sampler.picked(np.random.default_rng(1))
    assert sampler.resample(np.random.default_rng(1), "rows").value(chosen, {}) == chosen(p.take(rows))
