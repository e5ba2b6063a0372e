"""Measures of variation, functions of the user as measures, and the debiased variation calibration error with its test."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calibrant as cal
from calibrant.metrics.bin.variation import MEASURES, SimulatedVariation
from tests.calling import call, raises

from ..oracles.vector_definitions import VARIATIONS

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


@pytest.mark.parametrize("k", [2, 3, 4, 7, 100])
def test_uniform_vectors_have_variation_1_and_certain_ones_0(k: int) -> None:
    for name in STANDARD:
        assert value(name, np.full(k, 1 / k)) == pytest.approx(1, abs=1e-12), name
        assert value(name, np.eye(k)[0]) == pytest.approx(0, abs=1e-12), name
    assert value("freeman_variation_ratio", np.full(k, 1 / k)) == pytest.approx(1 - 1 / k)
    assert value("gini", np.full(k, 1 / k)) == pytest.approx(1 - 1 / k)


@pytest.mark.parametrize("frequencies", [(2, 1, 1), (4, 2, 1, 1), (0, 3, 5, 0, 1), (7, 6), (5, 5, 5, 1)])
def test_indices_agree_with_the_formulas_in_frequencies(frequencies: tuple[int, ...]) -> None:
    total = sum(frequencies)
    for name in MEASURES:
        if name != "confidence":
            shares = [Fraction(f, total) for f in frequencies]
            assert value(name, shares) == pytest.approx(float(VARIATIONS[name](shares)), abs=1e-13), name
    for name in ("wilcox_variation_ratio", "avdev", "mndif", "varnc", "stdev"):
        own = VARIATIONS[name]([Fraction(f) for f in frequencies])  # the formulas hold for counts as well
        assert value(name, np.array(frequencies) / total) == pytest.approx(float(own), abs=1e-13), name


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
    assert (drawn.variation, drawn.vce) == ("largest_missing", call(cal.vce, y, p, **named))
    pytest.importorskip("matplotlib")
    assert drawn.plot().get_xlabel() == "predicted largest_missing"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda p: p, r"<lambda> must return one finite number for a probability vector; got an array of shape \(3,\)"),
        (lambda p: None, "one finite number for a probability vector; got None"),
        (lambda p: float("nan"), "one finite number for a probability vector; got nan"),
        (
            lambda p: 3 * p.max(),
            "must return values from 0 to 1; 2 of 2 vectors lie outside, the first with 1.8; divide",
        ),
        (lambda p: -p.max(), "must return values from 0 to 1; 2 of 2 vectors lie outside, the first with -0.6"),
        (7, "must be one of 'entropy', .* or a function of a probability vector; got 7"),
    ],
)
def test_bad_functions(function: Any, message: str) -> None:
    with pytest.raises(cal.errors.ArgumentError, match=message):
        cal.vce([0, 1], [[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]], variation=function)


# The debiased form.


@pytest.mark.parametrize("name", ["entropy", "mndif"])
def test_expected_value_under_calibration_is_0(name: Any) -> None:
    """Exactly, over all labels of four rows with three classes; only mean and variance of the reference are simulated."""
    p = np.array([[0.6, 0.3, 0.1], [0.6, 0.3, 0.1], [0.2, 0.4, 0.4], [1.0, 0.0, 0.0]])
    view = cal.Predictions([0] * 4, p)
    simulated = SimulatedVariation(cal.vce_db.views(view)[0], name, cal.EqualWidth(2))
    null = simulated.draw(np.random.default_rng(1), 20_000)
    mean = terms = 0.0
    for y in itertools.product(range(3), repeat=4):
        chance = float(np.prod(p[np.arange(4), y]))
        if chance:
            of = SimulatedVariation(
                cal.vce_db.views(cal.Predictions(list(y), p, classes=[0, 1, 2]))[0], name, cal.EqualWidth(2)
            )
            square = np.square(of.observed - null.mean(axis=0)) @ of.share
            mean += chance * float(of.corrected(of.observed, null) @ of.share)
            terms += chance * float(square)
    assert terms > 0.005  # what is removed
    assert mean == pytest.approx(0, abs=0.03 * terms)


def test_value_does_not_depend_on_the_order_of_rows_or_classes() -> None:
    rng = np.random.default_rng(5)
    p = rows(rng, 61, 4, "eighths")
    y, counts = labels(rng, p), rng.integers(1, 4, 61)
    order, classes = rng.permutation(61), rng.permutation(4)
    expected = cal.vce_db(cal.Predictions(y, p, counts=counts))
    assert cal.vce_db(cal.Predictions(y[order], p[order], counts=counts[order])) == expected
    assert cal.vce_db(np.repeat(y, counts), np.repeat(p, counts, axis=0)) == pytest.approx(expected, rel=1e-12)
    smooth = rows(rng, 61, 4)
    assert cal.vce_db(np.argsort(classes)[y], smooth[:, classes]) == pytest.approx(cal.vce_db(y, smooth), rel=1e-12)
    assert cal.vce_db(y, p, rng=1) != cal.vce_db(y, p, rng=2)
    with raises(cal.errors.ArgumentError, "n_draws"):
        cal.vce_db(y, p, n_draws=1)


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
