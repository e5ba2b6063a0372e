"""Calibration of continuous estimates: written values, a slow loop with explicit inverses, weights, and every refusal."""

import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.metrics.continuous import ecd_density, ecd_gaussian, nees
from tests.calling import raises

ONE = ([1, 2, 0], [0, 1, 1], [1, 4, 0.25])
TWO = ([[1, 0]], [[0, 0]], [[2, 1], [1, 2]])


def problem(n: int = 40, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, d, d))
    return rng.normal(size=(n, d)), rng.normal(size=(n, d)), root @ root.transpose(0, 2, 1) + 0.1 * np.eye(d)


def squared_errors(x: Any, mean: Any, cov: Any) -> list[float]:
    return [float((a - b) @ np.linalg.inv(c) @ (a - b)) for a, b, c in zip(x, mean, cov, strict=True)]


def test_checked_values() -> None:
    assert nees(*ONE) == 1.75
    assert ecd_gaussian(*ONE) == 0.375
    assert nees(*TWO) == pytest.approx(2 / 3, abs=1e-15)
    assert ecd_gaussian(*TWO) == pytest.approx(-2 / 3, abs=1e-15)
    assert (cal.metrics.nees, cal.metrics.ecd_gaussian, cal.metrics.ecd_density) == (nees, ecd_gaussian, ecd_density)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_against_explicit_inverses(d: int) -> None:
    data = problem(d=d)
    slow = squared_errors(*data)
    assert nees(*data) == pytest.approx(np.mean(slow), rel=1e-10)
    assert ecd_gaussian(*data) == pytest.approx((np.mean(slow) - d) / 2, rel=1e-9)
    x, mean, cov = data
    shared = squared_errors(x, mean, [cov[0]] * len(x))
    assert nees(x, mean, cov[0]) == pytest.approx(np.mean(shared), rel=1e-10)
    assert nees(x, mean, cov[:1]) == nees(x, mean, cov[0])


def test_one_dimension_in_every_form() -> None:
    x, mean, variance = (np.array(part, float) for part in ONE)
    for cov in (variance, variance[:, None, None], variance.tolist()):
        assert nees(x, mean, cov) == 1.75
    assert nees(x[:, None], mean[:, None], variance[:, None, None]) == 1.75
    for cov in (2, [2], [[2]], np.float32(2)):
        assert nees(x, mean, cov) == pytest.approx(0.5)


def test_variances_of_uncorrelated_errors() -> None:
    x, mean, cov = problem()
    variance = np.einsum("nii->ni", cov).copy()
    matrices = np.stack([np.diag(row) for row in variance])
    assert nees(x, mean, variance) == pytest.approx(nees(x, mean, matrices), rel=1e-13)
    assert ecd_gaussian(x[:, :1], mean[:, :1], variance[:, :1]) == pytest.approx(
        ecd_gaussian(x[:, 0], mean[:, 0], variance[:, 0]), rel=1e-12
    )
    variance[7, 1] = 0
    with raises(cal.errors.InputError, "cov") as caught:
        nees(x, mean, variance)
    assert caught.value.row == 7


def test_density_of_a_gaussian_gives_the_gaussian_difference() -> None:
    x, mean, cov = problem()
    d = x.shape[1]
    log_determinant = np.linalg.slogdet(cov)[1]
    squared = np.array(squared_errors(x, mean, cov))
    log_density = -(squared + log_determinant + d * math.log(2 * math.pi)) / 2
    entropy = (log_determinant + d * (1 + math.log(2 * math.pi))) / 2
    assert ecd_density(log_density, entropy) == pytest.approx(ecd_gaussian(x, mean, cov), rel=1e-10)
    assert ecd_density([-1.0, -3.0], 1.5) == 0.5
    assert ecd_density([0.5], [-0.5]) == 0


def test_weights_of_both_kinds() -> None:
    x, mean, cov = problem()
    counts = np.random.default_rng(1).integers(0, 4, 40)
    repeated = [np.repeat(part, counts, axis=0) for part in (x, mean, cov)]
    for metric in (nees, ecd_gaussian):
        assert metric(x, mean, cov, counts=counts) == pytest.approx(metric(*repeated), rel=1e-12)
        assert metric(x, mean, cov, sample_weight=counts * 0.3) == pytest.approx(metric(*repeated), rel=1e-12)
        assert metric(x, mean, cov, counts=np.ones(40, int)) == pytest.approx(metric(x, mean, cov), rel=1e-14)
    assert ecd_density([-1, -2, -5], 1, counts=[2, 1, 0]) == pytest.approx(1 / 3)
    assert ecd_density([-1, -2], [1, 1.5], sample_weight=[1, 3]) == pytest.approx(0.375)


def test_infinite_surprise_is_a_value_unless_it_has_no_weight() -> None:
    assert ecd_density([-math.inf, 0], 1) == math.inf
    assert ecd_density([-math.inf, 0], 1, counts=[0, 2]) == -1
    assert nees([1e200], [0], [1e-300]) == math.inf


def test_rounding_does_not_make_a_covariance_crooked() -> None:
    assert nees([[1, 0]], [[0, 0]], [[1, 0], [1e-20, 1]]) == 1
    x, mean, cov = problem()
    assert nees(x, mean, cov + 1e-14 * np.random.default_rng(0).normal(size=cov.shape)) == pytest.approx(
        nees(x, mean, cov), rel=1e-9
    )


def test_ill_conditioned_covariances_are_accepted_in_any_unit() -> None:
    """Units whose scales differ by 1e-10 make a condition number of 1e20, correlations of 1 - 1e-10 one of 1e10."""
    rng = np.random.default_rng(22)
    for _ in range(100):
        d = int(rng.integers(2, 9))
        root, unit = rng.normal(size=(d, 3 * d)), 10.0 ** rng.uniform(-10, 10, d)
        error = rng.normal(size=(4, d))
        plain = nees(np.zeros((4, d)), error, root @ root.T)
        scaled = nees(np.zeros((4, d)), error * unit, root @ root.T * unit[:, None] * unit)
        assert scaled == pytest.approx(plain, rel=1e-8)
        assert plain == pytest.approx(np.mean([e @ np.linalg.solve(root @ root.T, e) for e in error]), rel=1e-8)
    close = np.array([[1, 1 - 1e-10], [1 - 1e-10, 1]])
    assert nees([[0.0, 0.0]], [[1.0, 1.0]], close) == pytest.approx(2 / (2 - 1e-10), rel=1e-5)


def test_every_singular_covariance_is_named() -> None:
    """Eigenvalues and pivots of a singular matrix round to either side of 0; the row is found all the same."""
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(200):
        v = rng.normal(size=2)
        cov = np.stack([np.eye(2), np.outer(v, v)])
        try:
            np.linalg.cholesky(cov)
        except np.linalg.LinAlgError:
            refused += 1
        with raises(cal.errors.InputError, "cov") as caught:
            nees([[1, 0], [1, 0]], [[0, 0], [0, 0]], cov)
        assert caught.value.row == 1
    assert 50 < refused < 190
