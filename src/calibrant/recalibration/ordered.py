"""Maps that keep the order of the logits: one rising function for all of them, and the share of noisy copies that each class wins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

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

__all__ = ["ConsistencyCalibration", "IntraOrderPreserving"]

Noise = Literal["gaussian", "uniform"]
# A flat piece would make a tie of classes that differ; a slope as of the largest temperature keeps them apart in single precision too.
LEAST_SLOPE = 1e-3
# Where the largest of the noisy logits can lie around the largest logit, in widths of the noise, and the step between nodes: for a smooth
# bell the sum over equidistant nodes is exact to rounding.
NODES = np.arange(-36, 37) / 4
COARSE_ROWS = 1000
# Strengths of noise that are looked at.
LEAST, MOST = 1e-3, 1e3
# Nodes of Gauss and Legendre in a piece; exact up to 32 classes that can win there, and to rounding beyond.
MOST_NODES = 16


@dataclass(eq=False, repr=False)
class IntraOrderPreserving(CountingCalibrator):
    """One rising function of straight pieces for the log-probabilities of all classes, by greatest likelihood (Rahimi et al. 2020).

    The diagonal form of the paper, with straight pieces in place of a network: the ranking of the classes never changes.

    Parameters
    ----------
    input
        What the scores are.
    pieces
        Number of straight pieces; 1 is temperature scaling.
    """

    methods = (Method("intra_order_preserving"),)
    keeps_order = True
    keeps_argmax = True
    treats_classes_alike = True
    fitted = ("knots_", "heights_")

    input: Input = "prob"
    pieces: int = 5

    def _check_params(self) -> None:
        super()._check_params()
        check_whole(self.pieces, "pieces")

    def _fit(self, data: TrainingData) -> None:
        weight, kind = data.given_weight
        self.scale_ = scale_of(data)
        data = on_scale(data, self.scale_)
        labels = data.labels.astype(np.intp)
        logits = None if data._p.logits is None else data.logits
        view = VectorView(data.probs, labels, None, weight, kind, logits=logits)
        knots = vector_knots(view, self.pieces)
        if len(knots) < 2:  # every forecast is uniform, and stays so
            knots = np.array([math.log(CLIP), 0.0])
            self.knots_, self.heights_ = knots, knots
            return
        self.knots_ = knots
        try:
            slopes = np.maximum(likeliest_slopes(view, knots), LEAST_SLOPE)
        except UndefinedMetricError as error:
            raise UndefinedMetricError("IntraOrderPreserving", error.problem, error.remedies) from None
        self.heights_ = np.append(0.0, np.cumsum(slopes * np.diff(knots)))

    def _predict(self, data: Scores) -> Floats:
        data = on_scale(data, self.scale_)
        shifted = data.logits - data.logits.max(axis=1, keepdims=True)
        logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        return softmax(_extended(np.clip(logs, math.log(CLIP), 0.0), self.knots_, self.heights_))


def _extended(x: Floats, knots: Floats, heights: Floats) -> Floats:
    """Straight lines between the knots, the first and the last continued beyond."""
    place = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
    slope = np.diff(heights) / np.diff(knots)
    return np.asarray(heights[place] + slope[place] * (x - knots[place]))


@dataclass(eq=False, repr=False)
class ConsistencyCalibration(Calibrator):
    """The share of copies of the logits with noise in which each class comes first (Tao et al. 2024), by exact integrals.

    With Gumbel noise this would be temperature scaling. Uniform noise gives 0 and 1 where the logits are further apart than its width.
    The integrals take long for many classes: rows x classes x 73 nodes at each of some forty strengths tried, half a minute for
    2,000 rows of 100 classes. A `strength` that is given costs nothing to fit.

    Parameters
    ----------
    input
        What the scores are.
    noise
        The distribution of the noise, ``"gaussian"`` or ``"uniform"``.
    strength
        Its standard deviation or width; None takes the one of least negative log likelihood.
    """

    methods = (Method("consistency"),)
    keeps_order = True
    keeps_argmax = True
    treats_classes_alike = True
    fitted = ("strength_",)

    input: Input = "prob"
    noise: Noise = "gaussian"
    strength: float | None = None

    def _check_params(self) -> None:
        super()._check_params()
        if self.strength is not None:
            check_positive(self.strength, "strength")

    def _fit(self, data: TrainingData) -> None:
        self.strength_ = float(self.strength) if self.strength is not None else self._best_strength(data)

    def _best_strength(self, data: TrainingData) -> float:
        """A coarse search on some rows, and a fine one on all."""
        from scipy.optimize import minimize_scalar

        z, labels, weight = data.logits, data.labels.astype(np.intp), data.weight
        step = max(1, data.n // COARSE_ROWS)
        some = slice(None) if step == 1 else order_of_content(data)[::step]

        def loss(t: float, rows: Any = slice(None)) -> float:
            probs = winning_shares(z[rows], math.exp(t), self.noise)
            own = probs[np.arange(len(probs)), labels[rows]]
            return float(weight[rows] @ -np.log(np.maximum(own, CLIP)) / weight[rows].sum())

        grid = np.linspace(math.log(LEAST), math.log(MOST), 29)
        best = int(np.argmin([loss(t, some) for t in grid]))
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


def winning_shares(logits: Floats, strength: float, noise: str) -> Floats:
    """The probability that each class has the largest of the noisy logits."""
    classes = logits.shape[1]
    if noise == "gaussian" and classes == 2:
        from scipy.special import ndtr

        gap = (logits[:, 1] - logits[:, 0]) / (strength * math.sqrt(2))
        return np.column_stack([ndtr(-gap), ndtr(gap)])
    distribution = _gaussian_shares if noise == "gaussian" else _uniform_shares

    def work(start: int, stop: int) -> Floats:
        return distribution((logits[start:stop] - logits[start:stop].max(axis=1, keepdims=True)) / strength)

    width = classes * (len(NODES) if noise == "gaussian" else MOST_NODES)
    return np.concatenate(map_blocks(work, len(logits), rows_per_block(width), columns=width))


def _gaussian_shares(mean: Floats) -> Floats:
    """The integral over the winning value v of phi(v - m_k) times the product of Phi(v - m_j) over the others."""
    from scipy.special import ndtr

    z = NODES[None, :, None] - mean[:, None, :]
    below = ndtr(z)
    with np.errstate(under="ignore"):
        # phi / Phi of class k, times the product of all Phi; no Phi is 0, for no mean lies above 0.
        share = np.exp(-0.5 * z * z) / below * below.prod(axis=2, keepdims=True)
        return np.asarray(share.sum(axis=1) * ((NODES[1] - NODES[0]) / math.sqrt(2 * math.pi)))


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
