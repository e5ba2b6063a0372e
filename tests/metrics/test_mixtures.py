"""Forecasts by mixtures and particles: densities and entropies in closed form, by integration, and what cannot be read."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

import calibrant as cal
from calibrant.metrics import ecd_density, ecd_gaussian, mixture_forecast, particle_forecast

RNG = np.random.default_rng(0)


def test_one_component_is_a_gaussian() -> None:
    """The density of a normal distribution, its entropy ln det(2 pi e C) / 2 within four standard errors, and the Gaussian ECD."""
    x, mean = RNG.normal(size=(2, 30, 3))
    root = RNG.normal(size=(30, 3, 3))
    cov = root @ np.swapaxes(root, 1, 2) + 0.3 * np.eye(3)
    forecast = mixture_forecast(x, [1], mean[:, None], cov[:, None], n_draws=2000)
    density = [stats.multivariate_normal(m, c).logpdf(v) for v, m, c in zip(x, mean, cov, strict=True)]
    entropy = np.linalg.slogdet(2 * math.pi * math.e * cov)[1] / 2
    assert forecast.log_density == pytest.approx(density)
    assert (np.abs(forecast.entropy - entropy) < 4 * forecast.entropy_error).all()
    assert forecast.entropy_error == pytest.approx(
        np.sqrt(1.5 / 2000), rel=0.2
    )  # half of the variance of chi-square with 3 degrees
    assert abs(ecd_density(forecast) - ecd_gaussian(x, mean, cov)) < 4 * forecast.mean_error


@pytest.mark.parametrize("kind", ["variances", "matrices"])
def test_a_mixture_in_one_dimension_by_integration(kind: str) -> None:
    x, share = RNG.normal(size=4), np.array([[0.2, 0.3, 0.5], [1, 0, 0], [0.5, 0.5, 0], [0.1, 0.1, 0.8]])
    mean, variance = RNG.normal(size=(4, 3)) * 2, RNG.uniform(0.2, 2, (4, 3))
    cov = variance if kind == "variances" else variance[..., None, None]
    forecast = mixture_forecast(x, share, mean if kind == "variances" else mean[..., None], cov, n_draws=4000)
    for row in range(4):

        def density(z: Any, row: int = row) -> Any:
            far = np.square(np.subtract.outer(z, mean[row])) / variance[row]
            return np.exp(-far / 2) / np.sqrt(2 * math.pi * variance[row]) @ share[row]

        grid = np.linspace(-12, 12, 20_001)
        entropy = integrate.simpson(-density(grid) * np.log(density(grid)), x=grid)
        assert forecast.log_density[row] == pytest.approx(math.log(density(x[row])))
        assert abs(forecast.entropy[row] - entropy) < 4 * forecast.entropy_error[row]


def test_particles_are_smoothed_around_their_own_mean_and_covariance() -> None:
    particles, weight = RNG.normal(size=(2, 20, 2)), RNG.uniform(0.5, 2, (2, 20))
    x = RNG.normal(size=(2, 2))
    forecast = particle_forecast(x, particles, weight)
    for row in range(2):
        share = weight[row] / weight[row].sum()
        centre = share @ particles[row]
        cov = np.cov(particles[row].T, aweights=share, ddof=0)
        width = (share**2).sum() ** (1 / 6)  # 4 / (d + 2) is 1
        parts = [
            stats.multivariate_normal(centre + math.sqrt(1 - width**2) * (p - centre), width**2 * cov).pdf(x[row])
            for p in particles[row]
        ]
        assert forecast.log_density[row] == pytest.approx(math.log(share @ parts))
        loss = 0.0
        for m, point in enumerate(particles[row]):
            near = [
                stats.multivariate_normal(centre + math.sqrt(1 - width**2) * (p - centre), width**2 * cov).pdf(point)
                for p in particles[row]
            ]
            rest = np.arange(20) != m
            loss -= share[m] * math.log(share[rest] @ np.array(near)[rest] / (1 - share[m]))
        assert forecast.entropy[row] == pytest.approx(loss)
    twice = particle_forecast(
        x, np.concatenate([particles, particles], axis=1), np.concatenate([weight, weight], axis=1)
    )
    assert twice.entropy == pytest.approx(forecast.entropy)
    assert forecast.to_frame().shape == (2, 3)


def test_calibrated_and_overconfident_particles_are_told_apart() -> None:
    """Twice as spread states have (4 - 1) / 2, and more where they lie beyond all particles."""
    centre = RNG.normal(size=(150, 1))
    particles = centre + RNG.normal(size=(150, 200))
    for scale, low, high in ((1, -0.25, 0.25), (2, 1.2, 4)):
        forecast = particle_forecast(centre[:, 0] + scale * RNG.normal(size=150), particles, n_draws=50)
        tested = cal.inference.assess_density(forecast)
        assert low < tested.statistic < high
        assert tested.rejected == (scale == 2)
