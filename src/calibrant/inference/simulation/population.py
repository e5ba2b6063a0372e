"""Population values of metrics for a warp and a distribution of scores, by quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ...errors import ArgumentError
from ...util.arrays import Floats
from .warps import Warp, sign_changes

Integrand = Callable[["Points"], Floats]

TOLERANCE = 1e-12
FEWEST, MOST = 50, 3200
# Pieces shrink by powers of ten towards 0 and 1 until 10^-18 of the distribution is left beyond the last.
LEFT_OVER = 18


class Points:
    """Scores with the true probability at each, and the complement of the score without cancellation near 1."""

    def __init__(self, score: Floats, complement: Floats, weight: Floats, warp: Warp) -> None:
        self.score = score
        self.complement = complement
        self.weight = weight
        self.truth = warp.curve(score)
        self.gap = score - self.truth

    def minus_log(self) -> tuple[Floats, Floats]:
        """-ln(1 - s) and -ln s."""
        return -np.log(self.complement), -np.log(self.score)


class Population:
    """Predicted scores that follow Beta(a, b), with the calibration curve of a warp."""

    def __init__(self, warp: Warp, distribution: tuple[float, float]) -> None:
        self.warp = warp
        self.parts = warp.distributions(*distribution)
        self.crossings = sign_changes(lambda score: warp.curve(score) - score)
        marks = [*self.crossings, *warp.marks()]
        for _, a, b in self.parts:
            mean, spread = a / (a + b), math.sqrt(a * b / (a + b + 1)) / (a + b)
            marks += [mean + step * spread for step in (-8, -4, -2, 0, 2, 4, 8)]
        self.marks = sorted({mark for mark in marks if 0 < mark < 1})

    def sums(self, integrand: Integrand, cuts: list[float]) -> Floats:
        """The integral over the distribution between neighbouring `cuts`; the number of nodes is doubled until convergence."""
        last: Floats | None = None
        count = FEWEST
        while count <= MOST:
            points = self._points(count, cuts)
            cell = np.searchsorted(cuts, points.score) - 1
            with np.errstate(invalid="ignore", over="ignore"):
                terms = points.weight * integrand(points)
            # Weights that underflow to 0 contribute nothing.
            terms = np.where(points.weight > 0, terms, 0)
            found: Floats = np.bincount(np.clip(cell, 0, len(cuts) - 2), terms, len(cuts) - 1).astype(np.float64)
            if last is not None and np.abs(found - last).max() < TOLERANCE:
                return found
            last, count = found, 2 * count
        raise ArgumentError(
            "warp", "is not smooth enough to integrate", "give its kinks: function(curve, bends=(0.5,))"
        )

    def mean(self, integrand: Integrand) -> float:
        """The mean over the distribution."""
        return math.fsum(self.sums(integrand, [0.0, *self.crossings, 1.0]))

    def norm(self, norm: float) -> float:
        """The norm of true rate minus score over the distribution."""
        if norm == math.inf:
            return self._largest_gap()
        return self.mean(lambda at: np.abs(at.gap) ** norm) ** (1 / norm)

    def binned_norm(self, norm: float, edges: list[float]) -> float:
        """The norm after averaging within bins."""
        gap = self.sums(lambda at: at.gap, edges)
        share = self.sums(lambda at: np.ones(at.score.shape), edges)
        full = share > 0
        size = np.abs(gap[full]) / share[full]
        if norm == math.inf:
            return float(size.max())
        return math.fsum(share[full] * size**norm) ** (1 / norm)

    def path(self) -> Floats:
        """E[(truth - score) 1{score <= t}] at 0, at each crossing of the diagonal (the only extrema), and at 1."""
        steps = self.sums(lambda at: -at.gap, [0.0, *self.crossings, 1.0])
        return np.concatenate([[0.0], np.cumsum(steps)])

    def _largest_gap(self) -> float:
        from scipy.optimize import minimize_scalar

        points = self._points(FEWEST, [0.0, 1.0])
        score = np.unique(np.concatenate([[0.0, 1.0], points.score]))
        size = np.abs(self.warp.curve(score) - score)
        best = int(size.argmax())
        around = (score[max(best - 1, 0)], score[min(best + 1, len(score) - 1)])
        found = minimize_scalar(
            lambda s: -abs(float(self.warp.curve(np.asarray(s))) - s),
            bounds=around,
            method="bounded",
            options={"xatol": 1e-12},
        )
        return max(float(size[best]), float(-found.fun))

    def _points(self, count: int, cuts: list[float]) -> Points:
        marks = [*self.marks, *(cut for cut in cuts if 0 < cut < 1)]
        low_marks = [mark for mark in marks if mark < 0.5]
        high_marks = [1 - mark for mark in marks if mark > 0.5]
        score: list[Floats] = []
        complement: list[Floats] = []
        weight: list[Floats] = []
        for share, a, b in self.parts:
            for swapped, (near, w) in enumerate([_half(a, b, low_marks, count), _half(b, a, high_marks, count)]):
                score.append(1 - near if swapped else near)
                complement.append(near if swapped else 1 - near)
                weight.append(share * w)
        return Points(np.concatenate(score), np.concatenate(complement), np.concatenate(weight), self.warp)


@lru_cache(maxsize=64)
def _rule(count: int, power: float) -> tuple[Floats, Floats]:
    """Nodes and weights on [0, 1] for the weight x^power (Gauss-Jacobi)."""
    from scipy.special import roots_jacobi, roots_legendre

    node, weight = roots_legendre(count) if power == 0 else roots_jacobi(count, 0.0, power)
    return (node + 1) / 2, weight / 2 ** (power + 1)


def _half(a: float, b: float, marks: list[float], count: int) -> tuple[Floats, Floats]:
    """Nodes and weights of Beta(a, b) on [0, 1/2], split at the marks and geometrically towards 0, where curves behave like powers."""
    from scipy.special import betaln

    decades = min(300, math.ceil(LEFT_OVER / min(a, 1.0)))
    ends = np.unique([*np.power(10.0, -np.arange(1, decades + 1)), *marks, 0.5])
    node, weight = _rule(count, 0.0)
    x = ends[:-1, None] + np.diff(ends)[:, None] * node
    log_density = (a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - betaln(a, b)
    w = np.diff(ends)[:, None] * weight * np.exp(log_density)
    # The last piece reaches 0, where the density may be infinite: its power is part of the quadrature rule.
    node, weight = _rule(count, a - 1 if a < 2 else 0.0)
    first = ends[0] * node
    rest = 0.0 if a < 2 else a - 1
    log_rest = rest * np.log(first) + (b - 1) * np.log1p(-first) - betaln(a, b)
    w_first = weight * np.exp((a if a < 2 else 1.0) * math.log(ends[0]) + log_rest)
    return np.concatenate([first, x.ravel()]), np.concatenate([w_first, w.ravel()])


def true_values() -> dict[str, Callable[[Population], float]]:
    """Population value of each metric, by its identifier."""

    def excess(p: Population) -> float:
        return p.mean(lambda at: at.gap)

    def squared_error(at: Points) -> Floats:
        return np.square(at.gap) + at.truth * (1 - at.truth)

    def surprise(at: Points) -> Floats:
        no, yes = at.minus_log()
        return (1 - at.truth) * no + at.truth * yes

    def entropy(at: Points) -> Floats:
        no, yes = at.minus_log()
        return at.complement * no + at.score * yes

    def brier(p: Population) -> float:
        return p.mean(squared_error)

    return {
        "ece": lambda p: p.norm(1),
        "rmsce": lambda p: p.norm(2),
        "mce": lambda p: p.norm(math.inf),
        "esce": excess,
        "calibration_in_the_large": excess,
        "abc_above": lambda p: p.mean(lambda at: np.maximum(-at.gap, 0)),
        "abc_below": lambda p: p.mean(lambda at: np.maximum(at.gap, 0)),
        "mdca": lambda p: abs(excess(p)),
        "global_squared_bias": lambda p: excess(p) ** 2,
        "expected_observed_ratio": lambda p: p.mean(lambda at: at.score) / p.mean(lambda at: at.truth),
        "brier": brier,
        "root_brier": lambda p: math.sqrt(brier(p)),
        "nll": lambda p: p.mean(surprise),
        # (s - mu) logit s, as log loss minus expected log loss.
        "ecd": lambda p: p.mean(lambda at: surprise(at) - entropy(at)),
        "ecce_mad": lambda p: float(np.abs(p.path()).max()),
        "ecce_r": lambda p: float(np.ptp(p.path())),
    }
