"""Measures of variation, functions of the user as measures, and the debiased variation calibration error with its test."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import calibrant as cal
from calibrant.metrics.bin.variation import MEASURES
from tests.calling import call

STANDARD = [name for name in MEASURES if name not in ("confidence", "gini", "freeman_variation_ratio")]


def value(name: str, vector: Any) -> float:
    return float(MEASURES[name](np.array([vector], float))[0])


def rows(rng: np.random.Generator, n: int, k: int, kind: str = "smooth") -> np.ndarray:
    if kind == "ties":
        return rng.dirichlet(np.ones(k), 3)[rng.integers(3, size=n)]
    if kind == "eighths":  # ties inside rows, exact 0 and 1
        return rng.multinomial(8, np.full(k, 1 / k), n) / 8
    return rng.dirichlet(np.full(k, 0.5), n)


def labels(rng: np.random.Generator, probs: np.ndarray, power: float = 1.0) -> np.ndarray:
    """Labels from the probabilities raised to a power: below 1 the forecasts are overconfident, above 1 underconfident."""
    truth = probs**power
    truth /= truth.sum(axis=1, keepdims=True)
    return (rng.random((len(probs), 1)) >= np.cumsum(truth, axis=1)[:, :-1]).sum(axis=1)


def test_the_ratios_of_freeman_and_wilcox_have_their_names() -> None:
    y, p = [0, 0, 0, 1], [[0.5, 0.3, 0.2]] * 4
    freeman = cal.vce(y, p, variation="freeman_variation_ratio", bins=1)
    assert freeman == pytest.approx(0.75 - 0.5)
    assert cal.vce(y, p, variation="wilcox_variation_ratio", bins=1) == pytest.approx(1.5 * freeman)
    for function in (cal.vce, cal.figures.variation_diagram):
        with pytest.raises(cal.errors.ArgumentError) as raised:
            function(y, p, variation="variation_ratio")  # type: ignore[operator]
        assert raised.value.argument == "variation"


def largest_missing(p: np.ndarray) -> float:
    return 1 - p.max()


@pytest.mark.parametrize("k", [2, 4, 100])
def test_functions_of_a_vector(k: int) -> None:
    rng = np.random.default_rng(k)
    p = rows(rng, 43, k)
    y = labels(rng, p)
    named = {"variation": "freeman_variation_ratio", "bins": 7}
    own = {"variation": largest_missing, "bins": 7}
    weight = rng.random(43)
    assert call(cal.vce, y, p, **own, sample_weight=weight) == call(cal.vce, y, p, **named, sample_weight=weight)
    assert cal.vce(y, p, variation=lambda q: q[0]) == cal.vce(y, p, variation="confidence")
    assert call(cal.vce_db, y, p, **own) == call(cal.vce_db, y, p, **named)
    found = [call(cal.assess, y, p, metric="vce", rng=0, n_resamples=19, **options).pvalue for options in (named, own)]
    assert found[0] == found[1]
    drawn = call(cal.figures.variation_diagram, y, p, **own)
    assert (drawn.variation, drawn["model"].vce) == ("largest_missing", call(cal.vce, y, p, **named))
    pytest.importorskip("matplotlib")
    assert drawn.plot().get_xlabel() == "predicted largest_missing"


# The debiased form.


@pytest.mark.parametrize(
    ("metric", "options"), [("vce", {}), ("vce", {"norm": 2, "bins": 3}), ("vce_db", {"n_draws": 5})]
)
def test_simulated_ranks_give_the_null_distribution_of_simulated_labels(metric: str, options: Any) -> None:
    """Against the metric evaluated on simulated labels, the slow way."""
    rng = np.random.default_rng(7)
    p = rows(rng, 23, 4, "eighths")
    fast = call(cal.assess, labels(rng, p), p, metric=metric, n_resamples=200, rng=1, **options).null
    slow = [getattr(cal, metric)(labels(rng, p), p, **options) for _ in range(200)]
    assert stats.ks_2samp(fast, slow).pvalue > 1e-3
