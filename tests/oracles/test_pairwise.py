"""Metrics over pairs of scores and those without bins: values checked by hand, identities, and the same at any size."""

import numpy as np
import pytest

import calibrant as cal
from calibrant.metrics.kernel import smooth
from calibrant.metrics.kernel.lipschitz import largest_lipschitz_sum
from calibrant.metrics.kernel.spectral import (
    CURVE_NODES,
    FEWER_CURVE_NODES,
    absolute_integrals,
    cosine_terms,
    nodes_for,
    rough_integrals,
)
from calibrant.util import kernels


def drawn(n: int, seed: int = 0, places: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([n, seed])
    p = rng.beta(0.7, 0.9, n)
    if places:
        p = np.round(p * places) / places
    return (rng.random(n) < p**1.2).astype(int), p


def test_compiled_and_plain_dynamic_programme_give_the_same_bits() -> None:
    numba = pytest.importorskip("numba")
    assert numba
    machine = kernels._compile(kernels.lipschitz_loop)
    assert machine is not None
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 50, 3000):
        x = np.sort(np.unique(np.round(rng.random(n), 3)))
        r = np.round(rng.normal(size=len(x)), 2)  # sums that tie
        plain = largest_lipschitz_sum(x, r)
        assert plain == max(0.0, machine(np.diff(x), np.cumsum(r)))
        assert plain == max(0.0, kernels.lipschitz_loop(np.diff(x), np.cumsum(r)))


def test_a_mass_anywhere_is_smoothed_as_by_direct_sums() -> None:
    position = np.array([0.0, 1e-9, 0.123456789, 0.5, 1 - 1e-9, 1.0])
    mass = np.array([0.2, -0.1, 0.3, -0.25, 0.1, -0.2])
    repeats = 1 << 14
    many = np.tile(position, repeats), np.tile(mass / repeats, repeats)
    for (terms,) in (
        cosine_terms(position, mass[None], 0.02),
        cosine_terms(position, mass[None], 0.02, six=True),
        cosine_terms(many[0], many[1][None], 0.02),
    ):
        frequency = np.pi * np.arange(len(terms))
        wanted = 2 * np.cos(frequency[:, None] * position) @ mass
        wanted[0] /= 2
        damped = np.exp(-((frequency * 0.02) ** 2) / 2)
        assert np.abs((terms - wanted) * damped).max() < 1e-9


def test_searches_in_few_and_many_rows_end_at_a_fixed_point_or_a_constant() -> None:
    rng = np.random.default_rng(8)
    for n in (8000, 9000, 70_000):  # series of eight, six and four nodes
        for slope in (1.0, 1.5):  # ends below and above the width of the first series
            z = 2 * rng.standard_normal(n)
            y, p = rng.random(n) < 1 / (1 + np.exp(-z)), 1 / (1 + np.exp(-slope * z))
            width = cal.smece(y, p)
            assert cal.smece(y, p, bandwidth=width) == pytest.approx(width, rel=1e-9)
        y, p = (
            np.zeros(n, int),
            np.round(rng.random(n), 1) * 0.002,
        )  # all residuals have one sign, so that smoothing changes nothing
        y[0], p[0] = 1, 1.0
        assert cal.smece(y, p) == pytest.approx(np.mean(p - y), rel=1e-12)


@pytest.mark.parametrize("kind", ["ordinary", "ties", "flat", "edges"])
def test_the_width_is_a_fixed_point_and_the_derivative_that_of_the_integral(kind: str) -> None:
    rng = np.random.default_rng(3)
    p = {"ordinary": rng.beta(0.7, 2, 700), "ties": rng.integers(0, 9, 700) / 8, "flat": np.full(700, 0.3)}.get(kind)
    p = np.where(rng.random(700) < 0.4, 0.0, rng.random(700)) if p is None else p
    y = rng.random(700) < 0.8 * p + 0.1
    width = cal.smece(y, p)
    assert cal.smece(y, p, bandwidth=width) == pytest.approx(width, rel=1e-12)
    terms = cosine_terms(p, (p - y)[None] / 700, 0.01)
    for at in (0.02, 0.05, 0.3):
        widths = np.array([at, at + 1e-6, at - 1e-6])
        (value, after, before), (change, *_) = absolute_integrals(terms[[0, 0, 0]], widths, nodes_for(at, CURVE_NODES))
        assert change == pytest.approx((after - before) / 2e-6, rel=1e-5, abs=1e-7)
        (rough,), (about,) = rough_integrals(terms, widths[:1], nodes_for(at, FEWER_CURVE_NODES))
        assert (rough, about) == (pytest.approx(value, rel=0.01), pytest.approx(change, rel=0.1, abs=1e-3))


def test_small_errors_are_found() -> None:
    y = [0] * 50 + [1] * 50
    assert cal.smece(y, np.full(100, 0.5)) == pytest.approx(0, abs=1e-15)
    assert cal.smece(y, np.full(100, 0.50001)) == pytest.approx(1e-5, abs=1e-12)


def test_many_scores_are_moved_within_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    y, p = drawn(1500)
    exact = cal.dce_lower(y, p)
    monkeypatch.setattr(smooth, "MOST_SCORES", 100)
    assert cal.dce_lower(y, p) == pytest.approx(exact, abs=0.001)
