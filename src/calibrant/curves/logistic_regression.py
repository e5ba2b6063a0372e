"""Maximum likelihood logistic regression by Newton steps, with detection of separated data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import UndefinedMetricError
from ..util.blocks import map_blocks, rows_per_block
from ..views.view import View

__all__ = [
    "Groups",
    "LogisticFit",
    "SeparatedError",
    "Side",
    "fit_logistic",
    "groups_of",
    "logit",
    "positions",
    "quantiles",
    "rates_seen",
    "rows_of",
    "separating_side",
]

Floats = NDArray[np.float64]

CLIP = 1e-12
LARGEST_LOGIT = math.log1p(-CLIP) - math.log(CLIP)
STEPS, TOLERANCE, HALVINGS = 100, 1e-10, 40
WARM_GROUPS = 4096
# A column that the others explain to this many digits is not identifiable.
SAME_COLUMN = 1e-10


def logit(score: Any) -> Floats:
    """Compute log-odds, with probabilities truncated at 1e-12 and 1 - 1e-12."""
    with np.errstate(divide="ignore"):
        return np.clip(np.log(score) - np.log1p(-np.asarray(score)), -LARGEST_LOGIT, LARGEST_LOGIT)


class Groups(NamedTuple):
    """Tie groups: rows with the same score, in increasing order of the score.

    A weight counts rows: importance is scaled so that all weights sum to the effective size.
    """

    score: Floats
    rows: Floats
    """Number of rows: the counts, or the rows themselves for importance weights."""
    weight: Floats
    events: Floats
    others: Floats
    squares: tuple[Floats, Floats, Floats]
    """Sums of u, u y and u y^2 with the variance weight u: w for counts, w^2 for importance."""

    @property
    def rate(self) -> Floats:
        return self.events / self.weight


def rates_seen(groups: Groups) -> Floats:
    """Return the observed rate at each score, with scores merged that truncation makes equal: the limit of ever steeper curves."""
    starts = np.flatnonzero(np.append(True, np.diff(logit(groups.score)) != 0))
    rate = np.add.reduceat(groups.events, starts) / np.add.reduceat(groups.weight, starts)
    return np.repeat(rate, np.diff(np.append(starts, len(groups.score))))


def groups_of(view: View) -> Groups:
    """Return the tie groups of a view, with separate sums, since differences of prefix sums would not give an exact 0."""
    _, outcome, weight = view.sorted_rows
    starts = view.prefix.end[:-1]
    importance = view.weight_kind == "importance" and weight is not None
    scale = view.effective_size / view.total if importance else 1.0
    w = np.ones(view.n) if weight is None else weight * scale
    own = w * w if importance else w

    def sums(values: Floats) -> Floats:
        return values if len(starts) == view.n else np.add.reduceat(values, starts)

    mass = sums(w)
    rows = np.diff(view.prefix.end).astype(np.float64) if importance else mass
    squares = (sums(own), sums(own * outcome), sums(own * outcome**2))
    return Groups(view.prefix.score, rows, mass, sums(w * outcome), sums(w * (1 - outcome)), squares)


def rows_of(view: View) -> Groups:
    """Return each row as its own group in the given order, for fits that need neither ties nor order, which avoids the sort."""
    importance = view.weight_kind == "importance" and view.weight is not None
    w = view.weights * (view.effective_size / view.total) if importance else view.weights
    own = w * w if importance else w
    outcome = view.outcome
    squares = (own, own * outcome, own * outcome**2)
    return Groups(view.score, np.ones(view.n) if importance else w, w, w * outcome, w * (1 - outcome), squares)


def positions(groups: Groups) -> tuple[Floats, Floats]:
    """Return positions in [0, 1] of the first and the last row of each group, at the middle of its weight; tied rows have equal weights."""
    ends = np.cumsum(groups.weight)
    half = groups.weight / groups.rows / 2
    first, last = ends - groups.weight + half, ends - half
    width = last[-1] - first[0]
    return ((first - first[0]) / width, (last - first[0]) / width) if width > 0 else (first * 0, last * 0)


def quantiles(groups: Groups, x: Floats, shares: Floats) -> Floats:
    """Compute quantiles of `x`, one increasing number per group, with linear interpolation between rows (type 7)."""
    first, last = positions(groups)
    return np.interp(shares, np.column_stack([first, last]).ravel(), np.repeat(x, 2))


class SeparatedError(UndefinedMetricError):
    """The likelihood increases without bound as the curve gets steeper; its limit at each observed score is the observed rate."""


class Side(NamedTuple):
    """Sign pattern of a function of the score with few zeros that separates the outcomes."""

    first: int
    """Sign at the lowest scores: 1 for events, -1 for non-events."""
    turns: int
    """Number of sign changes."""


def separating_side(groups: Groups, turns: int, feature: Floats | None = None) -> Side | None:
    """Return the simplest sign pattern with at most `turns` changes that separates the outcomes, or None if the maximum is finite.

    A group with both outcomes must lie on a zero of the function, which is where its sign changes.
    """
    kind = _kinds(groups, groups.score if feature is None else feature)
    for most in range(turns + 1):
        for first in (-1, 1):
            if _fits_pattern(kind, first, most):
                return Side(first, most)
    return None


def _kinds(groups: Groups, feature: Floats) -> NDArray[np.int64]:
    """Return 1 for events only, -1 for non-events only, 0 for both, with runs of the same sign merged."""
    starts = np.flatnonzero(np.append(True, np.diff(feature) != 0))
    events, others = np.add.reduceat(groups.events, starts), np.add.reduceat(groups.others, starts)
    kind = (events > 0).astype(np.int64) - (others > 0)
    return kind[np.append(True, (kind[1:] != kind[:-1]) | (kind[1:] == 0))]


def _fits_pattern(kind: NDArray[np.int64], first: int, turns: int) -> bool:
    place, sign = 0, first
    for turn in range(turns + 1):
        while place < len(kind) and kind[place] == sign:
            place += 1
        if turn < turns and place < len(kind) and kind[place] == 0:
            place += 1
        sign = -sign
    return place == len(kind)


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """Coefficients in the order of the columns, and their covariance."""

    coefficients: Floats
    covariance: Floats
    """Inverse of the Fisher information."""
    sandwich: Floats
    """Sandwich covariance, robust to misspecification; for importance weights."""
    log_likelihood: float
    converged: bool


def fit_logistic(
    groups: Groups, columns: Floats, *, offset: Floats | None = None, ridge: float = 0.0, firth: bool = False
) -> LogisticFit:
    """Fit the coefficients by maximum likelihood; `ridge` is half the penalty of a squared coefficient.

    Without `ridge` the columns are made orthogonal first, so that nearly equal columns cost no digits.
    """
    if ridge:
        basis, back = columns, np.eye(columns.shape[1])
    else:
        basis, back = _orthogonal(columns, groups.weight)
    with np.errstate(under="ignore", over="ignore"):
        start = np.zeros(basis.shape[1]) if ridge or firth else _warm_start(groups, basis, offset)
        inner, converged, state = _climb(groups, basis, offset, ridge, firth, start)
        mu, _ = _sigmoid(basis @ inner if offset is None else offset + basis @ inner)
    covariance = np.linalg.pinv(state.information)
    total, ones, ones2 = groups.squares
    noise = ones2 - 2 * mu * ones + mu**2 * total
    sandwich = covariance @ (basis.T @ (noise[:, None] * basis)) @ covariance
    return LogisticFit(
        back @ inner, back @ covariance @ back.T, back @ sandwich @ back.T, state.log_likelihood, converged
    )


def _orthogonal(columns: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return a basis of the columns that is orthogonal under the weights, and the matrix that transforms coefficients back."""
    triangle = np.linalg.qr(np.sqrt(weight)[:, None] * columns, mode="r")
    length = np.sqrt(np.square(triangle).sum(axis=0))
    own = np.abs(np.diag(triangle))
    # A row with all of the weight underflows the others to 0.
    if len(columns) < columns.shape[1] or not (own > SAME_COLUMN * length).all() or not (own**2 > 0).all():
        raise UndefinedMetricError(
            "y_prob", "the scores are nearly constant, so the slope is not identified", "compare the means instead"
        )
    back = np.linalg.inv(triangle) * math.sqrt(float(weight.sum()))
    # Not `@`: for so few columns the threads of BLAS cost more than they save.
    return np.einsum("ij,jk->ik", columns, back), back


class _State:
    """Compute the likelihood, its gradient and its curvature, summed block by block."""

    def __init__(
        self, groups: Groups, basis: Floats, offset: Floats | None, inner: Floats, ridge: float, firth: bool
    ) -> None:
        columns = len(inner)

        def work(start: int, stop: int) -> tuple[float, Floats, Floats]:
            rows = slice(start, stop)
            x, w, events = basis[rows], groups.weight[rows], groups.events[rows]
            eta = x @ inner if offset is None else offset[rows] + x @ inner
            mu, softened = _sigmoid(eta)
            gain = float((events * eta - w * softened).sum())
            residual = events * (1 - mu) - groups.others[rows] * mu
            return gain, residual @ x, x.T @ ((w * mu * (1 - mu))[:, None] * x)

        parts = map_blocks(work, len(basis), rows_per_block(8 * columns), columns=8 * columns)
        self.log_likelihood = math.fsum(part[0] for part in parts)
        self.information = np.sum([part[2] for part in parts], axis=0) + ridge * np.eye(columns)
        self.objective = self.log_likelihood - ridge / 2 * float(inner @ inner)
        self.gradient = np.sum([part[1] for part in parts], axis=0) - ridge * inner
        if firth:  # half the logarithm of the information's determinant is added (Firth 1993)
            mu, _ = _sigmoid(basis @ inner if offset is None else offset + basis @ inner)
            spread = groups.weight * mu * (1 - mu)
            leverage = spread * ((basis @ np.linalg.inv(self.information)) * basis).sum(axis=1)
            self.gradient = self.gradient + basis.T @ (leverage * (0.5 - mu))
            self.objective += 0.5 * float(np.linalg.slogdet(self.information)[1])


def _sigmoid(eta: Floats) -> tuple[Floats, Floats]:
    """Compute 1 / (1 + exp(-eta)) and ln(1 + exp(eta)) from one exponential."""
    small = np.exp(-np.abs(eta))
    return np.where(eta >= 0, 1.0, small) / (1 + small), np.maximum(eta, 0) + np.log1p(small)


def _warm_start(groups: Groups, basis: Floats, offset: Floats | None) -> Floats:
    """Fit some thousand evenly spaced groups, which gives cheap initial coefficients."""
    stride = len(basis) // WARM_GROUPS
    nothing = np.zeros(basis.shape[1])
    if stride < 4:
        return nothing
    some = groups._replace(
        score=groups.score[::stride],
        rows=groups.rows[::stride],
        weight=groups.weight[::stride],
        events=groups.events[::stride],
        others=groups.others[::stride],
    )
    part = None if offset is None else offset[::stride]
    found, converged, _ = _climb(some, np.ascontiguousarray(basis[::stride]), part, 0.0, False, nothing)
    return found if converged and np.abs(found).max() < 100 else nothing


def _climb(
    groups: Groups, basis: Floats, offset: Floats | None, ridge: float, firth: bool, inner: Floats
) -> tuple[Floats, bool, _State]:
    state = _State(groups, basis, offset, inner, ridge, firth)
    small = 0
    for _ in range(STEPS):
        try:
            bend = state.information
            if firth:
                bend = _bend(lambda at: _State(groups, basis, offset, at, ridge, True).gradient, inner, bend)
            step = np.linalg.solve(bend, state.gradient)
        except np.linalg.LinAlgError:
            return inner, False, state
        slack = 1e-12 * (1 + abs(state.objective))
        for _ in range(HALVINGS):
            ahead = _State(groups, basis, offset, inner + step, ridge, firth)
            if ahead.objective >= state.objective - slack:
                break
            step = step / 2
        inner, state = inner + step, ahead
        small += bool(np.abs(step).max() <= TOLERANCE * max(1.0, float(np.abs(inner).max())))
        if small == (2 if firth else 1):  # a Newton step doubles the digits, so after a small one they are all there
            break
    return inner, small > 0 and bool(np.isfinite(inner).all()), state


def _bend(gradient: Callable[[Floats], Floats], inner: Floats, information: Floats) -> Floats:
    """Compute minus the derivative of the gradient by differences, or the information if that is not positive.

    The information alone leaves out how the penalty bends, and steps by it can take hundreds.
    """
    width = 1e-5 * max(1.0, float(np.abs(inner).max()))
    sides = [
        (gradient(inner - width * unit) - gradient(inner + width * unit)) / (2 * width) for unit in np.eye(len(inner))
    ]
    bend = (np.array(sides) + np.array(sides).T) / 2
    return bend if np.linalg.eigvalsh(bend)[0] > 0 else information
