"""Calibrators that preserve the order of the logits: one increasing function of all logits, and consistency under noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..curves.logistic_regression import CLIP
from ..errors import UndefinedMetricError, warn_caller
from ..metrics.curve.fitted import _slopes as likeliest_slopes
from ..metrics.curve.fitted import _vector_knots as vector_knots
from ..util.blocks import map_blocks, rows_per_block
from ..util.checks import check_positive, check_whole
from ..views.view import VectorView
from .base import Calibrator, CountingCalibrator, Input, Method
from .scores import Floats, Scores, TrainingData, on_scale, order_of_content, scale_of
from .softmax_regression import softmax

Noise = Literal["gaussian", "uniform"]
# Lower bound of the slopes: a flat piece would make distinct classes equal; this bound separates them in single precision too.
LEAST_SLOPE = 1e-3
# Quadrature nodes for the largest noisy logit, in standard deviations of the noise around the largest logit. For a smooth bell-shaped
# integrand the sum over equidistant nodes is exact up to rounding.
NODES = np.arange(-36, 37) / 4
NODE_WEIGHT = (NODES[1] - NODES[0]) / math.sqrt(2 * math.pi)
# A class this far below the largest logit never wins, and numbers further away overflow.
NEVER = -1e6
# With so many classes or more, sums over them are found from a Taylor series with so many terms.
MANY_CLASSES, TERMS = 8, 10
# Rows of the coarse search.
COARSE_ROWS = 1000
# Range of the noise strengths searched.
LEAST, MOST = 1e-3, 1e3
# Gauss-Legendre nodes per interval; exact for up to 32 classes that can win there, and up to rounding beyond.
MOST_NODES = 16


@dataclass(eq=False, repr=False)
class IntraOrderPreserving(CountingCalibrator):
    r"""Intra-order-preserving calibration: one increasing piecewise linear function of the log-probabilities of all classes.

    More flexible than temperature scaling, while the ranking of the classes within a row, and hence the predicted class, never changes.

    Parameters
    ----------
    input
    pieces : int, default 5
        Number of linear pieces; 1 gives temperature scaling.

    Attributes
    ----------
    knots_ : ndarray of shape (pieces + 1,)
        Knots of the function, on the scale of log-probabilities; fewer if there are ties.
    heights_ : ndarray of shape (pieces + 1,)
        Values of the function at the knots.
    scale_
    classes_
    fit_record_

    See Also
    --------
    TemperatureScaling : One piece.
    EnsembleTemperature : Order-preserving mixture.

    Notes
    -----
    .. math:: q = \operatorname{softmax}(m(\ln p_1), \dots, m(\ln p_K)),

    with :math:`m` increasing and piecewise linear, of maximum likelihood: the diagonal order-preserving family of [1]_ with a piecewise linear
    function in place of a neural network. Knots are quantiles of all log-probabilities; a penalty of :math:`\tfrac{1}{2} 10^{-3} \sum_j (s_j - 1)^2` on
    the slopes :math:`s_j` makes the maximum unique, and no slope is below :math:`10^{-3}`.

    References
    ----------
    .. [1] Rahimi, A., Shaban, A., Cheng, C.-A., Hartley, R., Boots, B. (2020). Intra order-preserving functions for calibration of
       multi-class neural networks. NeurIPS.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), distribution=(1, 1, 1), rng=0)
    >>> calibrator = cal.IntraOrderPreserving().fit(data.y_prob, data.y_true)
    >>> calibrator.predict_proba([[0.8, 0.15, 0.05]]).round(2)
    array([[0.57, 0.28, 0.15]])
    """

    methods = (Method("intra_order_preserving"),)
    keeps_order = True
    keeps_argmax = True
    treats_classes_alike = True
    fitted = ("knots_", "heights_")
    checks = {"pieces": check_whole}

    input: Input = "prob"
    pieces: int = 5

    def _fit(self, data: TrainingData) -> None:
        weight, kind = data.given_weight
        self.scale_ = scale_of(data)
        data = on_scale(data, self.scale_)
        labels = data.labels.astype(np.intp)
        logits = None if data._p.logits is None else data.logits
        view = VectorView(data.probs, labels, None, weight, kind, logits=logits)
        knots = vector_knots(view, self.pieces)
        if len(knots) < 2:  # every prediction is uniform and remains so
            knots = np.array([math.log(CLIP), 0.0])
            self.knots_, self.heights_ = knots, knots
            return
        self.knots_ = knots
        try:
            slopes = np.maximum(likeliest_slopes(view, knots), LEAST_SLOPE)
        except UndefinedMetricError as error:
            raise UndefinedMetricError("IntraOrderPreserving", error.problem, error.remedy) from None
        self.heights_ = np.append(0.0, np.cumsum(slopes * np.diff(knots)))

    def _predict(self, data: Scores) -> Floats:
        data = on_scale(data, self.scale_)
        shifted = data.logits - data.logits.max(axis=1, keepdims=True)
        logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        logs = np.clip(logs, math.log(CLIP), 0.0)
        # Linear interpolation between the knots, with linear extrapolation beyond them.
        place = np.clip(np.searchsorted(self.knots_, logs, side="right") - 1, 0, len(self.knots_) - 2)
        slope = np.diff(self.heights_) / np.diff(self.knots_)
        return softmax(self.heights_[place] + slope[place] * (logs - self.knots_[place]))


@dataclass(eq=False, repr=False)
class ConsistencyCalibration(Calibrator):
    r"""Consistency calibration: the probability that a class has the largest logit after noise is added.

    Order-preserving, with one parameter. The probabilities are computed by exact integration in place of the random perturbations
    of the paper.

    Parameters
    ----------
    input
    noise : {"gaussian", "uniform"}, default "gaussian"
        Distribution of the noise.
    strength : float, optional
        Standard deviation (Gaussian) or width (uniform) of the noise. None: the strength of least negative log-likelihood.

    Attributes
    ----------
    strength_ : float
        Strength of the noise, given or fitted.
    classes_
    fit_record_

    See Also
    --------
    TemperatureScaling : The result for Gumbel noise.

    Notes
    -----
    .. math:: q_k = P\bigl(z_k + \varepsilon_k \ge z_j + \varepsilon_j \ \text{for all } j\bigr),

    with independent noise :math:`\varepsilon`. Uniform noise gives probabilities of exactly 0 and 1 where logits differ by more than its width.
    A fit takes about a second for 2,000 rows of 100 classes, and several times as long with uniform noise; the time is proportional to the
    number of rows. With a given `strength` nothing is fitted.

    References
    ----------
    .. [1] Tao, L., Guo, H., Dong, M., Xu, C. (2024). Consistency calibration: improving uncertainty calibration via consistency among
       perturbed neighbors. arXiv:2410.12295.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), distribution=(1, 1, 1), rng=0)
    >>> calibrator = cal.ConsistencyCalibration().fit(data.y_prob, data.y_true)
    >>> round(calibrator.strength_, 2)
    2.63
    """

    methods = (Method("consistency"),)
    keeps_order = True
    keeps_argmax = True
    treats_classes_alike = True
    fitted = ("strength_",)
    checks = {"strength": check_positive}

    input: Input = "prob"
    noise: Noise = "gaussian"
    strength: float | None = None

    def _fit(self, data: TrainingData) -> None:
        self.strength_ = float(self.strength) if self.strength is not None else self._best_strength(data)

    def _best_strength(self, data: TrainingData) -> float:
        """A coarse search on a subset of the rows, then a fine search on all rows."""
        from scipy.optimize import minimize_scalar

        z, labels, weight = data.logits, data.labels.astype(np.intp), data.weight
        step = max(1, data.n // COARSE_ROWS)
        some = slice(None) if step == 1 else order_of_content(data)[::step]

        def loss(t: float, rows: Any = slice(None)) -> float:
            own = winning_shares(z[rows], math.exp(t), self.noise, labels[rows])
            return float(weight[rows] @ -np.log(np.maximum(own, CLIP)) / weight[rows].sum())

        grid = np.linspace(math.log(LEAST), math.log(MOST), 29)
        losses = {place: loss(grid[place], some) for place in range(0, 29, 2)}
        best = min(losses, key=losses.__getitem__)
        losses |= {place: loss(grid[place], some) for place in (best - 1, best + 1) if 0 <= place < 29}
        best = min(losses, key=losses.__getitem__)
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
        if abs(float(found.x)) > math.log(MOST) * 0.999:
            warn_caller(
                "the likelihood increases up to the bound of the strength: every label has the largest logit of its row, or the logits "
                f"are unrelated to the labels; {math.exp(found.x):g} is used",
            )
        return math.exp(float(found.x))

    def _predict(self, data: Scores) -> Floats:
        return winning_shares(data.logits, self.strength_, self.noise)


def winning_shares(logits: Floats, strength: float, noise: str, own: NDArray[np.intp] | None = None) -> Floats:
    """The probability that each class has the largest logit after noise is added; with `own`, that of one class of each row."""
    rows, classes = logits.shape
    if noise == "gaussian" and classes == 2:
        from scipy.special import ndtr

        gap = (logits[:, 1] - logits[:, 0]) / (strength * math.sqrt(2))
        shares = np.column_stack([ndtr(-gap), ndtr(gap)])
        return shares if own is None else shares[np.arange(rows), own]

    by_series = noise == "gaussian" and classes >= MANY_CLASSES

    def work(start: int, stop: int) -> Floats:
        mean = (logits[start:stop] - logits[start:stop].max(axis=1, keepdims=True)) / strength
        if own is not None and by_series:
            return _own_gaussian_shares(mean, own[start:stop])
        shares = _gaussian_shares(mean) if noise == "gaussian" else _uniform_shares(mean)
        return shares if own is None else shares[np.arange(len(mean)), own[start:stop]]

    if noise == "gaussian":
        width = len(NODES) * (TERMS if own is not None and by_series else classes)
    else:
        width = classes * MOST_NODES
    return np.concatenate(map_blocks(work, len(logits), rows_per_block(width), columns=width))


def _gaussian_shares(mean: Floats) -> Floats:
    """The integral over the winning value v of phi(v - m_k) times the product of Phi(v - m_j) over the others."""
    from scipy.special import ndtr

    with np.errstate(under="ignore"):
        z = NODES[None, :, None] - np.maximum(mean, NEVER)[:, None, :]
        below = ndtr(z)
        # phi / Phi of class k, times the product of all Phi; no Phi is 0, for no mean lies above 0.
        share = np.exp(-0.5 * z * z) / below * below.prod(axis=2, keepdims=True)
        return np.asarray(share.sum(axis=1) * NODE_WEIGHT)


def _own_gaussian_shares(mean: Floats, own: NDArray[np.intp]) -> Floats:
    """The same of one class of each row, with the product of all Phi from a series."""
    from scipy.special import ndtr

    mean = np.maximum(mean, NEVER)
    with np.errstate(under="ignore"):
        place = NODES - mean[np.arange(len(mean)), own][:, None]
        share = np.exp(_log_products(mean) - 0.5 * place * place) / ndtr(place)
        return np.asarray(share.sum(axis=1) * NODE_WEIGHT)


def _log_products(mean: Floats) -> Floats:
    """The sum of ln Phi(v - m_j) over the classes at each node v, to 13 digits: a Taylor series of ln Phi about the node nearest to each m_j.

    The sums over the classes are those of the powers of the distance to that node, whatever v is.
    """
    rows, nodes = len(mean), len(NODES)
    step = NODES[1] - NODES[0]
    below = np.rint(mean / -step).astype(np.intp)
    row, column = np.nonzero(below < nodes)  # of classes further below, Phi is 1 at every node
    at = below[row, column]
    distance = mean[row, column] + step * at
    place, power = row * nodes + at, np.ones(len(row))
    sums = np.empty((rows, TERMS, nodes))
    for p in range(TERMS):
        sums[:, p] = np.bincount(place, power, rows * nodes).reshape(rows, nodes)
        power *= distance
    return np.asarray(sums.reshape(rows, -1) @ _series())


@cache
def _series() -> Floats:
    """Terms of the Taylor series of ln Phi(v - m): by power and by the node nearest to m in the rows, by the node v in the columns."""
    from scipy.special import log_ndtr, ndtr

    nodes, step = len(NODES), NODES[1] - NODES[0]
    z = NODES[0] + step * np.arange(2 * nodes - 1)
    # The derivative r = phi / Phi has itself the derivative -r (z + r); those of higher order follow from Leibniz's rule.
    ratio = [np.exp(-0.5 * z * z) / (math.sqrt(2 * math.pi) * ndtr(z))]
    for k in range(TERMS - 2):
        square = sum(math.comb(k, i) * ratio[i] * ratio[k - i] for i in range(k + 1))
        ratio.append(-(z * ratio[k] + (k * ratio[k - 1] if k else 0.0)) - square)
    terms = [(-1) ** p / math.factorial(p) * values for p, values in enumerate([log_ndtr(z), *ratio])]
    return np.concatenate([term[np.add.outer(np.arange(nodes), np.arange(nodes))] for term in terms])


def _uniform_shares(start: Floats) -> Floats:
    """The integral over the winning value v of the product of clip(v - m_j, 0, 1) over the others, between the bends."""
    rows, classes = start.shape
    order = np.argsort(-start, axis=1, kind="stable")
    sorted_start = np.take_along_axis(start, order, axis=1)
    node, weight = np.polynomial.legendre.leggauss(min(max(1, (classes + 1) // 2), MOST_NODES))
    # The first r classes still vary where v lies between the ends of class r + 1 and of class r; the largest starts at 0.
    ends = np.maximum(np.column_stack([sorted_start + 1, np.zeros(rows)]), 0)
    won = np.zeros(start.shape)
    for r in range(1, classes + 1):
        low, high = ends[:, r], ends[:, r - 1]
        live = np.flatnonzero(high > low)
        half = (high - low)[live, None] / 2
        v = (high + low)[live, None] / 2 + half * node
        height = v[:, :, None] - sorted_start[live, None, :r]
        shares = height.prod(axis=2)[:, :, None] / height
        won[live, :r] += np.einsum("ink,n->ik", shares, weight) * half
    out = np.empty(start.shape)
    np.put_along_axis(out, order, won, axis=1)
    return out
