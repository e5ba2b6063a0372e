"""e-BH and the p-to-e calibrator: their definitions, known values, and the false discovery rate under dependence."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad

from calibrant.inference import e_bh, p_to_e

Floats = NDArray[np.float64]


def largest_set(evalues: list[float], alpha: float) -> list[bool]:
    """e-BH from its definition, by trying every size: the k largest, if each is at least K / (alpha k)."""
    best = 0
    for k in range(1, len(evalues) + 1):
        if sum(e * alpha * k >= len(evalues) for e in evalues) >= k:
            best = k
    ranked = sorted(range(len(evalues)), key=lambda i: -evalues[i])  # stable, as the order of ties is
    return [i in ranked[:best] for i in range(len(evalues))]


def test_published_choice() -> None:
    assert e_bh([200, 45, 60, 3, 0.5], alpha=0.1).tolist() == [True, True, True, False, False]
    assert e_bh([40, 1], alpha=0.05).tolist() == [True, False]
    assert e_bh([39, 1], alpha=0.05).tolist() == [False, False]
    assert e_bh([math.inf, 0]).tolist() == [True, False]
    assert e_bh([20]).tolist() == [True]  # one hypothesis: Markov's inequality
    assert e_bh([0, 0, 0]).tolist() == [False] * 3


def test_the_definition() -> None:
    rng = np.random.default_rng(0)
    for case in range(200):
        values = np.exp(rng.normal(1, 3, 8))
        if case % 2:
            values = np.array([0.0, 1.0, 10.0, 40.0, 80.0, math.inf])[rng.integers(0, 6, 8)]  # ties
        assert e_bh(values, alpha=0.1).tolist() == largest_set(values.tolist(), 0.1)
        # More evidence never shrinks the selection, and the order of the hypotheses does not matter.
        assert (e_bh(values * 2, alpha=0.1) >= e_bh(values, alpha=0.1)).all()
        back = e_bh(values[::-1], alpha=0.1)[::-1]
        assert sorted(values[back]) == sorted(values[e_bh(values, alpha=0.1)])


def test_bh_is_e_bh_of_inverse_pvalues() -> None:
    """Benjamini and Hochberg's procedure is e-BH at 1/p, which is not an e-value; hence its assumptions (Wang and Ramdas)."""
    from calibrant.inference.multiplicity import adjust

    rng = np.random.default_rng(4)
    for _ in range(50):
        p = rng.random(12) ** 4
        assert (e_bh(1 / p, alpha=0.1) == (adjust(p, "benjamini_hochberg") <= 0.1)).all()


@pytest.mark.parametrize("common", [0.0, 0.9, -1.0], ids=["independent", "alike", "opposite"])
def test_false_discovery_rate_at_a_stopping_time(common: float, deep: bool) -> None:
    """Streams of likelihood ratios whose noise is shared, examined until something is selected: at most alpha of it is false."""
    rng = np.random.default_rng(5)
    alpha, null, wrong, steps = 0.1, 30, 10, 15
    shares = []
    for _ in range(4000 if deep else 300):
        shared = rng.normal(size=(steps, 1))
        own = rng.normal(size=(steps, null + wrong))
        if common == -1:  # every second null stream moves against the others
            noise = np.where(np.arange(null + wrong) % 2, shared, -shared)
        else:
            noise = common * shared + math.sqrt(1 - common**2) * own
        drift = np.where(np.arange(null + wrong) < null, 0.0, 0.6)
        log = np.cumsum(0.6 * (noise + drift) - 0.18, axis=0)  # exp(log) is a martingale where drift is 0
        for now in log:
            chosen = e_bh(np.exp(now), alpha=alpha)
            if chosen[:null].any():  # stopped where it hurts
                break
        shares.append(chosen[:null].sum() / max(1, chosen.sum()))
    assert np.mean(shares) <= alpha + (0 if deep else 0.02), np.mean(shares)


def test_calibrator_is_a_density() -> None:
    """Its integral over uniform p-values is 1, so that its expectation is; and it decreases."""
    below, _ = quad(lambda x: float(p_to_e([math.exp(-x)])[0]) * math.exp(-x), 0, 600, limit=200)
    # What remains beyond x = 600 is the integral of 1 / x^2, up to a rest of exp(-600).
    assert below + 1 / 600 == pytest.approx(1, abs=1e-6)
    p = np.linspace(1e-6, 1, 500)
    assert (np.diff(p_to_e(p)) < 0).all()
    by_mixture, _ = quad(lambda k: k * 0.003 ** (k - 1), 0, 1)
    assert p_to_e([0.003])[0] == pytest.approx(by_mixture, rel=1e-9)


def test_calibrator_at_the_ends() -> None:
    assert p_to_e([0, 1, 5e-324]).tolist() == [math.inf, 0.5, math.inf]
    near = 1 - np.array([1e-3, 9e-3, 0.0099501, 0.0099502, 1.1e-2])
    reference = [float((1 - p + p * np.log(p)) / (p * np.log(p) ** 2)) for p in near.astype(np.longdouble)]
    assert p_to_e(near) == pytest.approx(reference, rel=1e-11)
    # Uniform p-values: the mean of e-values is at most 1, slowly, because the tail is heavy.
    assert p_to_e(np.random.default_rng(0).random(20_000)).mean() <= 1
