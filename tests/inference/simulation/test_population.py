"""Population values by quadrature: against written values, closed forms and slow integrals."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

import calibrant as cal
from calibrant.inference.simulation.simulate import make_miscalibrated, true_calibration_error, true_value
from calibrant.inference.simulation.warps import bias, bump, confusion, function, label_noise, prior_shift, temperature
from tests.calling import raises

WARPS = {
    "temperature": temperature(1.5),
    "bias": bias(0.5),
    "bump": bump(),
    "noise": label_noise(0.1),
    "prior": prior_shift(0.5, 0.2),
}
DISTRIBUTIONS = [(1, 1), (2, 2), (0.5, 0.5), (5, 1)]


def test_checked_binned_errors() -> None:
    whole = true_calibration_error(temperature(1.5))
    assert true_calibration_error(temperature(1.5), bins=10) == pytest.approx(
        whole, abs=1e-13
    )  # no bin holds both signs
    assert true_calibration_error(temperature(1.5), bins=15) == pytest.approx(0.0583016455, abs=5e-11)


def test_checked_shift_of_scores_and_prevalence() -> None:
    warp = prior_shift(0.5, 0.2, shift_scores=True)
    assert true_calibration_error(warp, (2, 2)) == pytest.approx(0.24, abs=1e-13)
    # E s = .44 and E mu = .2, the new prevalence.
    assert true_value(warp, (2, 2), metric="esce") == pytest.approx(0.44 - 0.2, abs=1e-13)
    assert true_value(warp, (2, 2), metric="expected_observed_ratio") == pytest.approx(0.44 / 0.2, abs=1e-12)
    drawn = make_miscalibrated(200_000, warp=warp, distribution=(2, 2), rng=1)
    assert drawn.y_prob.mean() == pytest.approx(0.44, abs=0.003)
    assert drawn.y_true.mean() == pytest.approx(0.2, abs=0.004)


def triangle(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Dirichlet(1, 1, 1) on the part where the first class leads the second and that the third."""
    node, weight = np.polynomial.legendre.leggauss(count)
    u, w = (node + 1) / 2, weight / 2
    u, v = np.meshgrid(u, u)
    w = np.outer(w, w)
    corners = np.array([[1, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]])
    # The triangle as a folded square; its share of the whole is 1/6, which the six orders of the classes undo.
    q = (1 - u)[..., None] * corners[2] + (u * (1 - v))[..., None] * corners[1] + (u * v)[..., None] * corners[0]
    return q.reshape(-1, 3), (2 * u * w).ravel()


def test_checked_values_of_three_classes() -> None:
    q, weight = triangle(200)
    report, truth = temperature(1.5).rows(q)
    assert truth is q
    assert weight.sum() == pytest.approx(1)
    assert weight @ np.abs(report - truth).sum(axis=1) / 2 == pytest.approx(0.083839881, abs=1e-9)
    assert weight @ (report.max(axis=1) - q.max(axis=1)) == pytest.approx(0.0824512694, abs=1e-10)
    assert weight @ q.max(axis=1) == pytest.approx(11 / 18, abs=1e-12)
    drawn = make_miscalibrated(200_000, warp=temperature(1.5), distribution=(1, 1, 1), rng=5)
    assert drawn.calibration_error() == pytest.approx(0.083839881, abs=4e-4)
    assert cal.esce(drawn.y_true, drawn.y_prob) == pytest.approx(0.0824512694, abs=4e-3)
    assert drawn.truth.max(axis=1).mean() == pytest.approx(11 / 18, abs=2e-3)


# The integrals once more, by the tanh-sinh rule of mpmath with 30 digits.


def slowly(warp: str, a: float, b: float, what: str) -> float:
    mp.dps = 30
    half = mpf(1) / 2

    def truth(s: Any) -> Any:
        odds = s / (1 - s)
        return {
            "temperature": lambda: 1 / (1 + odds ** (-1 / mpf(1.5))),
            "bias": lambda: 1 / (1 + mp.exp(-half) / odds),
            "noise": lambda: s + mpf(0.1) * (1 - 2 * s),
            "prior": lambda: 1 / (1 + 4 / odds),
        }[warp]()

    def term(s: Any) -> Any:
        mu = truth(s)
        return {
            "ece": lambda: abs(mu - s),
            "esce": lambda: s - mu,
            "nll": lambda: -mu * mp.log(s) - (1 - mu) * mp.log(1 - s),
            "ecd": lambda: (s - mu) * mp.log(s / (1 - s)),
            "brier": lambda: (s - mu) ** 2 + mu * (1 - mu),
            "rmsce": lambda: (s - mu) ** 2,
        }[what]()

    density = lambda s: s ** (mpf(a) - 1) * (1 - s) ** (mpf(b) - 1) / mp.beta(mpf(a), mpf(b))  # noqa: E731
    whole = mp.quad(lambda s: term(s) * density(s), [0, half / 50, half, 1 - half / 50, 1])
    return float(mp.sqrt(whole) if what == "rmsce" else whole)


@pytest.mark.parametrize("distribution", [(1, 1), (0.8, 3.5), (7, 4)])
@pytest.mark.parametrize("what", ["ece", "rmsce", "esce", "nll", "ecd", "brier"])
@pytest.mark.parametrize("warp", ["temperature", "bias", "noise", "prior"])
def test_quadrature_against_mpmath(distribution: tuple[float, float], what: str, warp: str) -> None:
    assert true_value(WARPS[warp], distribution, metric=what) == pytest.approx(
        slowly(warp, *distribution, what), abs=2e-11
    )


def test_clipped_bump_against_mpmath() -> None:
    """The distribution Beta(1/2, 1/2) becomes uniform by s = sin(t)^2; the hill leaves [0, 1] near 1, which the tenth digit shows."""
    mp.dps = 30

    def free(s: Any) -> Any:
        return s + mpf(0.1) * mp.exp(-(((s - mpf(0.7)) / mpf(0.1)) ** 2) / 2)

    clip = mp.findroot(lambda s: free(s) - 1, 0.9989)
    ends = [mp.asin(mp.sqrt(mpf(s))) for s in (0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, clip, 1)]
    slow = mp.quad(lambda t: (min(free(mp.sin(t) ** 2), 1) - mp.sin(t) ** 2) * 2 / mp.pi, ends)
    assert true_calibration_error(bump(), (0.5, 0.5)) == pytest.approx(float(slow), abs=1e-14)


@pytest.mark.parametrize("distribution", [(0.05, 0.05), (0.01, 2), (400, 250), (1, 60)])
def test_laws_that_are_steep_or_narrow(distribution: tuple[float, float]) -> None:
    """Means of known closed form: of the score, and of (1 - 2 s)^2."""
    a, b = distribution
    mean, variance = a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))
    noise = label_noise(0.25)
    assert true_value(noise, distribution, metric="esce") == pytest.approx(-0.25 * (1 - 2 * mean), abs=1e-11)
    expected = 0.25 * math.sqrt((1 - 2 * mean) ** 2 + 4 * variance)
    assert true_calibration_error(noise, distribution, norm=2) == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("name", WARPS)
def test_identities(distribution: tuple[float, float], name: str) -> None:
    warp = WARPS[name]
    first, second = true_calibration_error(warp, distribution), true_calibration_error(warp, distribution, norm=2)
    signed, largest = (
        true_value(warp, distribution, metric="esce"),
        true_calibration_error(warp, distribution, norm=math.inf),
    )
    assert abs(signed) <= first + 1e-12 <= second + 2e-12 <= largest + 3e-12
    above, below = (
        true_value(warp, distribution, metric="abc_above"),
        true_value(warp, distribution, metric="abc_below"),
    )
    assert above + below == pytest.approx(first, abs=1e-12)
    assert below - above == pytest.approx(signed, abs=1e-12)
    assert true_value(warp, distribution, metric="rmsce") == second
    assert true_value(warp, distribution, metric="mdca") == pytest.approx(abs(signed))
    assert true_value(warp, distribution, metric="global_squared_bias") == pytest.approx(signed**2)
    assert true_value(warp, distribution, metric="root_brier") == pytest.approx(
        math.sqrt(true_value(warp, distribution, metric="brier"))
    )
    mad, spread = true_value(warp, distribution, metric="ecce_mad"), true_value(warp, distribution, metric="ecce_r")
    assert abs(signed) - 1e-12 <= mad <= spread + 1e-12 <= first + 2e-12
    for norm in (1, 2, math.inf):
        # 1, 3, 15 and 60 bins refine each other, which never lowers the error; the limit is the error itself.
        binned = [true_calibration_error(warp, distribution, norm=norm, bins=bins) for bins in (1, 3, 15, 60)]
        finer = [*binned, true_calibration_error(warp, distribution, norm=norm)]
        assert all(before <= after + 1e-12 for before, after in pairwise(finer))
    assert true_calibration_error(warp, distribution, bins=960) == pytest.approx(first, abs=2e-4)


def test_no_warp_no_error() -> None:
    for warp in (temperature(1), bias(0), bump(0), label_noise(0), prior_shift(0.3, 0.3), confusion([[1, 0], [0, 1]])):
        for norm in (1, 2, math.inf):
            assert true_calibration_error(warp, (2, 3), norm=norm) == pytest.approx(0, abs=1e-15)


def test_noise_in_closed_form_and_the_largest_error() -> None:
    assert true_calibration_error(label_noise(0.2), norm=math.inf) == pytest.approx(0.2, abs=1e-12)
    assert true_calibration_error(bump(), norm=math.inf) == pytest.approx(0.1, abs=1e-12)
    # Largest for temperature k: where the derivative of sigma(x / k) - sigma(x) is 0.
    s = np.linspace(0, 1, 2_000_001)[1:-1]
    gap = np.abs(temperature(3).curve(s) - s).max()
    assert true_calibration_error(temperature(3), norm=math.inf) == pytest.approx(gap, abs=1e-10)


def test_given_edges_and_given_functions() -> None:
    edges = [0, 0.2, 0.7, 1]
    step = function(lambda s: np.where(s < 0.4, 0.1, 0.8), bends=(0.4,))
    # |mu - s| integrates by hand: to .4 around .1, from there around .8.
    assert true_calibration_error(step) == pytest.approx((0.1**2 + 0.3**2 + 0.4**2 + 0.2**2) / 2, abs=1e-13)
    gaps = [0.1 * 0.2 - 0.02, 0.1 * 0.2 + 0.8 * 0.3 - (0.49 - 0.04) / 2, 0.8 * 0.3 - (1 - 0.49) / 2]
    assert true_calibration_error(step, bins=edges) == pytest.approx(sum(map(abs, gaps)), abs=1e-13)
    assert true_calibration_error(step, bins=np.array(edges)) == true_calibration_error(step, bins=edges)
    largest = max(abs(gap) / width for gap, width in zip(gaps, (0.2, 0.5, 0.3), strict=True))
    assert true_calibration_error(step, bins=edges, norm=math.inf) == pytest.approx(largest, abs=1e-12)
    assert true_calibration_error(np.square) == pytest.approx(1 / 6, abs=1e-13)
    drawn = make_miscalibrated(1000, warp=np.square, rng=0)
    assert (drawn.truth == drawn.y_prob**2).all()
    with raises(cal.errors.ArgumentError, "warp"):
        true_calibration_error(lambda s: np.where(s < 1 / math.pi, 0.9, 0.8))
    assert true_calibration_error(bump(0.3, 0.5, 0.001), (3, 3)) == pytest.approx(
        true_value(bump(0.3, 0.5, 0.001), (3, 3), metric="abc_above"), abs=1e-12
    )


def test_bump_that_is_clipped_at_both_ends() -> None:
    for warp in (bump(0.5, 0.9, 0.2), bump(-0.5, 0.1, 0.2)):
        s = (np.arange(2_000_000) + 0.5) / 2_000_000
        assert true_calibration_error(warp) == pytest.approx(np.abs(warp.curve(s) - s).mean(), abs=1e-9)
        assert warp.curve(s).min() >= 0
        assert warp.curve(s).max() <= 1
