"""Density forecasts that have no entropy in closed form: mixtures of Gaussian distributions, and sets of particles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError, ShapeError
from ..util.arrays import Floats
from ..util.checks import check_rng, check_whole
from ..util.progress import track
from ..util.results import Result, number
from .continuous import factor, floats


@dataclass(frozen=True, repr=False)
class DensityForecast(Result):
    """Forecasts by a density each: the logarithm of the density at the observed value, and the entropy with its error.

    Parameters
    ----------
    log_density : ndarray of shape (N,)
        Natural logarithm of the density of each forecast at the observed value.
    entropy : ndarray of shape (N,)
        Estimated differential entropy of each forecast in nats.
    entropy_error : ndarray of shape (N,)
        Standard error of each estimate.

    Examples
    --------
    >>> from calibrant.metrics import mixture_forecast
    >>> mixture_forecast([0.2], [1], [[0]], [[1]])
    1 forecast: mean log density -0.9389, mean entropy 1.398 ± 0.023
    """

    log_density: Floats
    entropy: Floats
    entropy_error: Floats

    @property
    def mean_error(self) -> float:
        """Standard error of the mean entropy, and so of an entropic calibration difference, from simulation."""
        return float(np.sqrt(np.square(self.entropy_error).sum())) / len(self.entropy)

    def _columns(self) -> dict[str, list[Any]]:
        return {name: getattr(self, name).tolist() for name in ("log_density", "entropy", "entropy_error")}

    def _title(self) -> str:
        n = len(self.entropy)
        density, entropy = number(float(self.log_density.mean())), number(float(self.entropy.mean()))
        return f"{n:,} forecast{'s' * (n != 1)}: mean log density {density}, mean entropy {entropy} ± {self.mean_error:.2g}"


def mixture_forecast(x: Any, share: Any, mean: Any, cov: Any, *, n_draws: int = 1000, rng: Any = 0) -> DensityForecast:
    r"""Compute the log density and the entropy of forecasts that are mixtures of Gaussian distributions.

    The entropy of a mixture has no closed form; it is estimated by simulation, with a standard error. Pass the result to `ecd_density` or
    `calibrant.inference.assess_density`.

    Parameters
    ----------
    x : array-like of shape (N,) or (N, d)
        True values.
    share : array-like of shape (C,) or (N, C)
        Weights of the components, which sum to 1.
    mean : array-like of shape (N, C) or (N, C, d)
        Means of the components.
    cov : array-like of shape (N, C), (N, C, d, d), (C, d, d) or (d, d)
        Variance of each component in one dimension, or its covariance matrix; (C, d, d) and (d, d) apply to all rows.
    n_draws : int, default 1000
        Number of values simulated from each forecast.
    rng : None, int or numpy.random.Generator, default 0
        Seed.

    Returns
    -------
    DensityForecast
        With `log_density`, `entropy` and `entropy_error` of each row.

    Raises
    ------
    ShapeError
        If the shapes do not match.
    InputError
        If a value is not finite, weights are negative or do not sum to 1, or a covariance is not symmetric and positive definite.

    See Also
    --------
    particle_forecast : Sets of particles.
    ecd_density : The entropic calibration difference of the result.

    Notes
    -----
    With :math:`z_1, \dots, z_M` drawn from the mixture :math:`f`, the estimate is :math:`-\frac{1}{M} \sum_m \ln f(z_m)`, which is
    unbiased, and its standard error that of a mean. The number of draws from each component is its expected number, rounded at random, which leaves
    the estimate unbiased and lowers its variance; the standard error ignores that and is somewhat too large.

    Examples
    --------
    >>> from calibrant.metrics import ecd_density, mixture_forecast
    >>> forecast = mixture_forecast([0.9, -1.2], [0.5, 0.5], [[-1, 1], [-1, 1]], [[0.04, 0.04], [0.04, 0.04]])
    >>> round(ecd_density(forecast), 2)
    -0.19
    """
    truth, means = _points(x, mean, "mean", "C")
    n, count, d = means.shape
    shares = floats(share, "share")
    if shares.shape not in ((count,), (n, count)):
        raise ShapeError("share", f"expected shape ({count},) or ({n}, {count}); got {shares.shape}")
    if (shares < 0).any() or (np.abs(shares.sum(axis=-1) - 1) > 1e-6).any():
        raise InputError(
            "share", "weights of the components must not be negative and must sum to 1", "divide them by their sum"
        )
    spread = floats(cov, "cov")
    spread = spread[..., None, None] if d == 1 and spread.shape == (n, count) else spread
    if spread.shape not in ((n, count, d, d), (count, d, d), (d, d)):
        raise ShapeError(
            "cov", f"expected shape ({n}, {count}, {d}, {d}), ({count}, {d}, {d}) or ({d}, {d}); got {np.shape(cov)}"
        )
    if not np.allclose(spread, np.swapaxes(spread, -1, -2), rtol=1e-8, atol=1e-8 * np.abs(spread).max()):
        raise InputError("cov", "covariances must be symmetric", "correct the covariances")
    root, definite = factor(spread.reshape(-1, d, d))
    if not definite.all():
        raise InputError("cov", "covariances must be positive definite", "correct the covariances")
    roots = np.broadcast_to(root.reshape(spread.shape), (n, count, d, d))
    shares = np.broadcast_to(shares, (n, count))
    check_whole(n_draws, "n_draws", 2)
    random = np.random.default_rng(check_rng(rng))
    density, entropy, error = np.empty(n), np.empty(n), np.empty(n)
    for row in track(range(n), "forecasts"):
        # Equally spaced points of the cumulative weights: a component occurs as often as expected, rounded at random.
        aim = (np.arange(n_draws) + random.random()) / n_draws
        component = np.minimum(np.searchsorted(shares[row].cumsum(), aim, side="right"), count - 1)
        noise = random.standard_normal((n_draws, d))
        drawn = means[row, component] + np.einsum("mij,mj->mi", roots[row, component], noise)
        logs = _log_density(np.vstack([truth[row : row + 1], drawn]), shares[row], means[row], roots[row])
        density[row], entropy[row] = logs[0], -logs[1:].mean()
        error[row] = logs[1:].std(ddof=1) / math.sqrt(n_draws)
    return DensityForecast(density, entropy, error)


def particle_forecast(
    x: Any, particles: Any, weight: Any = None, *, n_draws: int = 1000, rng: Any = 0
) -> DensityForecast:
    r"""Compute the log density and the entropy of forecasts that are sets of particles.

    A set of particles has no density; it is smoothed by a Gaussian kernel, whose mean and covariance are those of the particles. Use it for particle filters and
    samples of a posterior distribution.

    Parameters
    ----------
    x : array-like of shape (N,) or (N, d)
        True values.
    particles : array-like of shape (N, M) or (N, M, d)
        Particles of each forecast.
    weight : array-like of shape (N, M), optional
        Weights of the particles; only ratios within a row matter.
    n_draws : int, default 1000
        Number of particles of a row, drawn at random, that are left out one by one where there are more.
    rng : None, int or numpy.random.Generator, default 0
        Seed.

    Returns
    -------
    DensityForecast
        With `log_density`, `entropy` and `entropy_error` of each row.

    Raises
    ------
    ShapeError
        If the shapes do not match.
    InputError
        If a value is not finite, a weight is negative, or the particles of a row do not span all dimensions.

    See Also
    --------
    mixture_forecast : Mixtures of Gaussian distributions.
    ecd_density : The entropic calibration difference of the result.

    Notes
    -----
    The density is a mixture of Gaussian distributions with covariance :math:`h^2 S` around the particles, moved towards their mean by the factor
    :math:`\sqrt{1 - h^2}`, so that the covariance :math:`S` of the particles is kept [1]_; :math:`h = (4 / ((d + 2) M_e))^{1 / (d + 4)}`
    is the usual bandwidth for :math:`M_e = 1 / \sum w^2` particles. The entropy is estimated by the mean log loss of particles, each by the density of the
    others. A state drawn from the same distribution as the particles has nearly the same log loss, so that the entropic calibration
    difference of calibrated forecasts is close to 0 from about 100 particles on in up to three dimensions. The entropy of the smoothed density itself would be too small:
    with 100 particles in three dimensions calibrated forecasts would have a difference of 0.27. Copies of a particle, as after
    resampling, are one particle with the sum of their weights.

    References
    ----------
    .. [1] West, M. (1993). Approximating posterior distributions by mixtures. JRSS B 55, 409-422.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.metrics import ecd_density, particle_forecast
    >>> rng = np.random.default_rng(0)
    >>> forecast = particle_forecast(2 * rng.normal(size=50), rng.normal(size=(50, 200)), n_draws=100)
    >>> round(ecd_density(forecast), 1)
    1.6
    """
    truth, points = _points(x, particles, "particles", "M")
    n, count, d = points.shape
    share = np.ones((n, count)) if weight is None else floats(weight, "weight")
    if share.shape != (n, count) or (share < 0).any() or (share.sum(axis=1) <= 0).any():
        raise InputError(
            "weight",
            f"must be of shape ({n}, {count}), not negative, and positive for a particle of each row",
            "correct the weights",
        )
    share = share / share.sum(axis=1, keepdims=True)
    centre = np.einsum("nm,nmd->nd", share, points)[:, None]
    off = points - centre
    _, definite = factor(np.einsum("nm,nmi,nmj->nij", share, off, off))
    if not definite.all():
        problem = f"the particles of a row do not span {d} dimension{'s' * (d > 1)}"
        raise InputError("particles", problem, "use more distinct particles", row=int(definite.argmin()))
    random = np.random.default_rng(check_rng(rng))
    check_whole(n_draws, "n_draws", 2)
    return DensityForecast(
        *np.array(
            [
                _of_particles(x, *_distinct(own, weights), n_draws, random)
                for x, own, weights in track(zip(truth, points, share, strict=True), "forecasts", n)
            ]
        ).T
    )


def _points(x: Any, points: Any, argument: str, count: str) -> tuple[Floats, Floats]:
    """True values (N, d), and the points (N, count, d) of each forecast."""
    truth, values = floats(x, "x"), floats(points, argument)
    truth = truth[:, None] if truth.ndim == 1 else truth
    values = values[..., None] if values.ndim == 2 else values
    if truth.ndim != 2 or values.ndim != 3 or (len(values), values.shape[2]) != truth.shape:
        shapes = f"(N, {count}), or (N, {count}, d) for x of shape (N, d)"
        raise ShapeError(argument, f"must have shape {shapes}; got {np.shape(points)} and {np.shape(x)}")
    return truth, values


def _distinct(particles: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Particles without copies, with the sums of their weights."""
    kept, place = np.unique(particles, axis=0, return_inverse=True)
    weight = np.bincount(place.ravel(), share).astype(np.float64)
    return kept[weight > 0], weight[weight > 0]


def _of_particles(
    x: Floats, particles: Floats, share: Floats, n_draws: int, random: np.random.Generator
) -> tuple[float, float, float]:
    """Log density at x, mean log loss of particles that are left out, and its standard error."""
    d = len(x)
    centre = share @ particles
    off = particles - centre
    width = min((4 * float(np.square(share).sum()) / (d + 2)) ** (1 / (d + 4)), 0.99)
    root, _ = factor((off.T * share @ off)[None])
    means = centre + math.sqrt(1 - width**2) * off
    left_out = np.arange(len(share))
    if len(share) > n_draws:
        left_out = np.sort(random.choice(len(share), n_draws, replace=False))
    aside = np.zeros((len(share), 1 + len(left_out)), np.bool_)
    aside[left_out, np.arange(1, 1 + len(left_out))] = True
    logs = _log_density(np.vstack([x, particles[left_out]]), share, means, width * root, aside)
    weight = share[left_out] / share[left_out].sum()
    loss = -(logs[1:] - np.log1p(-share[left_out]))
    mean = float(weight @ loss)
    return float(logs[0]), mean, math.sqrt(float(np.square(weight) @ np.square(loss - mean)))


def _log_density(points: Floats, share: Floats, mean: Floats, root: Floats, aside: Any = False) -> Floats:
    """Logarithm of the density of one mixture at each point, without the components that are `aside` there."""
    from scipy.special import logsumexp

    whitened = np.linalg.solve(root, np.swapaxes(points - mean[:, None], 1, 2))
    size = np.log(np.einsum("cii->ci", root)).sum(axis=1) + mean.shape[1] / 2 * math.log(2 * math.pi)
    with np.errstate(divide="ignore"):
        logs = np.log(share)[:, None] - size[:, None] - np.square(whitened).sum(axis=1) / 2
    return np.asarray(logsumexp(np.where(aside, -np.inf, logs), axis=0))
