"""Maximum likelihood logistic regression by Newton steps, with detection of separated data."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import UndefinedMetricError
from ..util.arrays import Floats
from ..util.blocks import map_blocks, rows_per_block
from ..util.cached import cached_property
from ..views.view import View

CLIP = 1e-12
LARGEST_LOGIT = math.log1p(-CLIP) - math.log(CLIP)
STEPS, TOLERANCE, HALVINGS = 100, 1e-10, 40
# Steps of many fits together; few need more.
FEW_STEPS = 15
# Few rows usually show that outcomes are not separated.
SAMPLED = 512
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
    score, outcome, weight = view.sorted_rows
    starts, size = view.ends[:-1], np.diff(view.ends).astype(np.float64)
    if len(starts) == view.n:
        return _sums_of_groups(view, score, outcome, weight, size, lambda values: values)
    return _sums_of_groups(view, score[starts], outcome, weight, size, lambda values: np.add.reduceat(values, starts))


def rows_of(view: View) -> Groups:
    """Return each row as its own group in the given order, for fits that need neither ties nor order, which avoids the sort."""
    return _sums_of_groups(view, view.score, view.outcome, view.weight, np.ones(view.n), lambda values: values)


def _sums_of_groups(
    view: View, score: Floats, outcome: Floats, weight: Any, size: Floats, sums: Callable[[Floats], Floats]
) -> Groups:
    """Return groups of rows with these scores and sizes; `sums` adds up the rows of each."""
    if weight is None and not view.is_soft:  # sums of 0 and 1 are exact
        events = sums(outcome)
        return Groups(score, size, size, events, size - events, (size, events, events))
    importance = view.weight_kind == "importance" and weight is not None
    scale = view.effective_size / view.total if importance else 1.0
    w = np.ones(view.n) if weight is None else weight * scale
    squared = w * w if importance else w
    mass = sums(w)
    squares = (sums(squared), sums(squared * outcome), sums(squared * outcome**2))
    return Groups(score, size if importance else mass, mass, sums(w * outcome), sums(w * (1 - outcome)), squares)


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

    A group with both outcomes must lie on a zero of the function, which is where its sign changes. For more than two changes
    the groups must be in increasing order.
    """
    x = groups.score if feature is None else feature
    separates = _separating_pattern if turns > 2 else _separating_interval
    sample = slice(None, None, max(1, len(x) // SAMPLED))
    # What separates all groups separates those of a sample, too.
    if sample.step > 1 and separates(x[sample], groups.events[sample], groups.others[sample], turns) is None:
        return None
    return separates(x, groups.events, groups.others, turns)


def _separating_interval(x: Floats, events: Floats, others: Floats, turns: int) -> Side | None:
    """The simplest pattern with at most two sign changes, by the ranges of the scores of both outcomes."""
    event_scores, other_scores = x[events > 0], x[others > 0]
    if not (len(event_scores) and len(other_scores)):
        return Side(1 if len(event_scores) else -1, 0)
    if turns and (other_scores.max() <= event_scores.min() or event_scores.max() <= other_scores.min()):
        return Side(-1 if other_scores.max() <= event_scores.min() else 1, 1)
    if turns > 1 and not ((other_scores > event_scores.min()) & (other_scores < event_scores.max())).any():
        return Side(-1, 2)
    if turns > 1 and not ((event_scores > other_scores.min()) & (event_scores < other_scores.max())).any():
        return Side(1, 2)
    return None


def _separating_pattern(x: Floats, events: Floats, others: Floats, turns: int) -> Side | None:
    """The simplest pattern with any number of sign changes; all are tried."""
    # 1 for events only, -1 for non-events only, 0 for both, with runs of the same sign merged.
    starts = np.flatnonzero(np.append(True, np.diff(x) != 0))
    signs = (np.add.reduceat(events, starts) > 0).astype(np.int64) - (np.add.reduceat(others, starts) > 0)
    signs = signs[np.append(True, (signs[1:] != signs[:-1]) | (signs[1:] == 0))]
    candidates = (Side(first, changes) for changes in range(turns + 1) for first in (-1, 1))
    return next((side for side in candidates if _fits_pattern(signs, *side)), None)


def _fits_pattern(signs: NDArray[np.int64], first: int, turns: int) -> bool:
    place, sign = 0, first
    for turn in range(turns + 1):
        while place < len(signs) and signs[place] == sign:
            place += 1
        if turn < turns and place < len(signs) and signs[place] == 0:
            place += 1
        sign = -sign
    return place == len(signs)


class LogisticFit:
    """Coefficients in the order of the columns; their covariance and the log-likelihood are computed on request."""

    def __init__(self, groups: Groups, model: _Likelihood, back: Floats, inner: Floats, converged: bool) -> None:
        self.coefficients: Floats = back @ inner
        self.converged = converged
        self._groups, self._model, self._back, self._inner = groups, model, back, inner

    @cached_property
    def log_likelihood(self) -> float:
        return self._model.log_likelihood(self._inner)

    @cached_property
    def _inverse(self) -> Floats:
        return np.asarray(np.linalg.pinv(self._model.slopes(self._inner)[1]))

    @cached_property
    def covariance(self) -> Floats:
        """Inverse of the Fisher information."""
        return np.asarray(self._back @ self._inverse @ self._back.T)

    @cached_property
    def sandwich(self) -> Floats:
        """Sandwich covariance, robust to misspecification; for importance weights."""
        basis, mu = self._model.basis, self._model.mean(self._inner)
        total, ones, ones2 = self._groups.squares
        noise = ones2 - 2 * mu * ones + mu**2 * total
        bread = self._back @ self._inverse
        return np.asarray(bread @ ((noise * basis) @ basis.T) @ bread.T)


def fit_logistic(
    groups: Groups, columns: Floats, *, offset: Floats | None = None, ridge: float = 0.0, firth: bool = False
) -> LogisticFit:
    """Fit the coefficients by maximum likelihood; `ridge` is half the penalty of a squared coefficient.

    Without `ridge` the columns are made orthogonal first, so that nearly equal columns cost no digits.
    """
    rows = np.ascontiguousarray(columns.T)
    back = np.eye(len(rows))
    if not ridge:
        triangle = np.asarray(np.linalg.qr((np.sqrt(groups.weight) * rows).T, mode="r"), dtype=np.float64)
        length, diagonal = np.sqrt(np.square(triangle).sum(axis=0)), np.abs(np.diag(triangle))
        # A row with all of the weight underflows the others to 0.
        if len(groups.weight) < len(rows) or not ((diagonal > SAME_COLUMN * length) & (diagonal**2 > 0)).all():
            problem = "the scores are nearly constant, so the slope is not identified"
            raise UndefinedMetricError("y_prob", problem, "compare the means instead")
        back = np.asarray(np.linalg.inv(triangle) * math.sqrt(float(groups.weight.sum())))
        # Not `@`: for so few columns the threads of BLAS cost more than they save.
        rows = np.einsum("kj,kn->jn", back, rows)
    model = (_Firth if firth else _Likelihood)(rows, groups.weight, groups.events, offset, ridge)
    inner, converged = _maximize(model)
    return LogisticFit(groups, model, back, inner, converged)


class _Likelihood:
    """Compute the likelihood, its gradient and its curvature, summed block by block; each row of `basis` is a column of the regression."""

    is_concave = True

    def __init__(self, basis: Floats, weight: Floats, events: Floats, offset: Floats | None, ridge: float) -> None:
        self.basis, self.weight, self.events, self.offset, self.ridge = basis, weight, events, offset, ridge

    def _sums(self, work: Callable[[slice], Any]) -> list[Any]:
        return map_blocks(lambda a, b: work(slice(a, b)), len(self.weight), rows_per_block(8), columns=8)

    def _log_odds(self, inner: Floats, rows: slice) -> Floats:
        eta = np.einsum("k,kn->n", inner, self.basis[:, rows])
        if self.offset is not None:
            eta += self.offset[rows]
        return eta

    def mean(self, inner: Floats, rows: slice = slice(None)) -> Floats:
        """Compute 1 / (1 + exp(-eta)) in place."""
        mu = self._log_odds(inner, rows)
        np.negative(mu, out=mu)
        with np.errstate(under="ignore", over="ignore"):
            np.exp(mu, out=mu)
        mu += 1
        return np.reciprocal(mu, out=mu)

    def slopes(self, inner: Floats) -> tuple[Floats, Floats]:
        """Compute the gradient and the information."""

        def work(rows: slice) -> tuple[Floats, Floats]:
            mu, basis = self.mean(inner, rows), self.basis[:, rows]
            expected = mu * self.weight[rows]
            residual = self.events[rows] - expected
            expected *= np.subtract(1, mu, out=mu)
            return np.einsum("kn,n->k", basis, residual), np.einsum("jn,kn->jk", basis * expected, basis)

        gradient, information = (np.sum(sums, axis=0) for sums in zip(*self._sums(work), strict=True))
        return gradient - self.ridge * inner, information + self.ridge * np.eye(len(inner))

    def log_likelihood(self, inner: Floats) -> float:
        def work(rows: slice) -> float:
            eta = self._log_odds(inner, rows)
            with np.errstate(under="ignore"):
                softened = np.maximum(eta, 0) + np.log1p(np.exp(-np.abs(eta)))
            return float((self.events[rows] * eta - self.weight[rows] * softened).sum())

        return math.fsum(self._sums(work))

    def objective(self, inner: Floats, information: Floats) -> float:
        return self.log_likelihood(inner) - self.ridge / 2 * float(inner @ inner)

    def bend(self, inner: Floats, information: Floats) -> Floats:
        """Return minus the second derivative of the objective."""
        return information


class _Firth(_Likelihood):
    """Half the logarithm of the information's determinant is added (Firth 1993)."""

    is_concave = False

    def slopes(self, inner: Floats) -> tuple[Floats, Floats]:
        gradient, information = super().slopes(inner)
        mu, basis = self.mean(inner), self.basis
        # A step that is too long, which is then halved, can leave no information.
        inverse = np.linalg.pinv(information, hermitian=True)
        leverage = self.weight * mu * (1 - mu) * (inverse @ basis * basis).sum(axis=0)
        return gradient + basis @ (leverage * (0.5 - mu)), information

    def objective(self, inner: Floats, information: Floats) -> float:
        return super().objective(inner, information) + 0.5 * float(np.linalg.slogdet(information)[1])

    def bend(self, inner: Floats, information: Floats) -> Floats:
        """Return minus the derivative of the gradient, or the information if that is not positive.

        The information alone leaves out how the penalty bends, and steps by it can take hundreds.
        """
        mu, basis = self.mean(inner), self.basis
        inverse = np.linalg.inv(information)
        variance, skew = mu * (1 - mu), 1 - 2 * mu
        by_row = (inverse @ basis * basis).sum(axis=0) * self.weight * variance * (variance - skew**2 / 2)
        # The information's derivatives by each coefficient, divided by the information.
        relative = inverse @ np.array([(row * basis) @ basis.T for row in self.weight * variance * skew * basis])
        bend = information + (by_row * basis) @ basis.T + np.einsum("rij,sji->rs", relative, relative) / 2
        return bend if np.linalg.eigvalsh(bend)[0] > 0 else information


def _maximize(model: _Likelihood) -> tuple[Floats, bool]:
    """Maximise the objective by Newton steps, which are halved where it would fall."""
    inner = np.zeros(len(model.basis))
    gradient, information = model.slopes(inner)
    for _ in range(STEPS):
        try:
            step = np.linalg.solve(model.bend(inner, information), gradient)
        except np.linalg.LinAlgError:
            return inner, False
        # A Newton step doubles the digits, so after a small one they are all there.
        if np.abs(step).max() <= TOLERANCE * max(1.0, float(np.abs(inner + step).max())):
            return inner + step, True
        for _ in range(HALVINGS):
            ahead, (gradient_ahead, information_ahead) = inner + step, model.slopes(inner + step)
            # A concave function has risen where it does not fall along the step; the likelihood itself takes longer.
            if model.is_concave and gradient_ahead @ step >= -0.01 * (gradient @ step):
                break
            before = model.objective(inner, information)
            if model.objective(ahead, information_ahead) >= before - 1e-12 * (1 + abs(before)):
                break
            step = step / 2
        inner, gradient, information = ahead, gradient_ahead, information_ahead
    return inner, False


def fit_lines(x: Floats, weight: Floats, events: Floats, sizes: NDArray[np.intp]) -> tuple[Floats, NDArray[np.bool_]]:
    """Fit intercept and slope of each of several sets of consecutive rows, `sizes` in each, by Newton steps for all together.

    Also returns which sets are fitted: not those that a threshold separates, nor those that would need shorter steps or many.
    """
    sets = _Sets(sizes, np.cumsum(sizes) - sizes)
    total = sets.sum(weight)
    middle = sets.sum(weight * x) / total
    z = x - sets.spread(middle)
    width = np.sqrt(sets.sum(weight * z * z) / total)
    is_sound = sets.overlap(x, events, weight - events) & (width > SAME_COLUMN * np.abs(middle))
    width = np.where(is_sound, width, 1.0)
    z /= sets.spread(width)
    intercept_slope, step, gradient_before = np.zeros((3, 2, len(sizes)))
    is_fitted = np.zeros(len(sizes), bool)
    for _ in range(FEW_STEPS):
        intercept, slope = map(sets.spread, intercept_slope)
        with np.errstate(over="ignore", under="ignore"):
            mean = 1 / (1 + np.exp(-(intercept + slope * z)))
        residual, curvature = events - weight * mean, weight * mean * (1 - mean)
        gradient = np.array([sets.sum(residual), sets.sum(residual * z)])
        # A concave function has risen where it does not fall along the step.
        is_sound &= is_fitted | ((gradient * step).sum(axis=0) >= -0.01 * (gradient_before * step).sum(axis=0))
        # The information is [[i00, i01], [i01, i11]].
        i00, i01, i11 = sets.sum(curvature), sets.sum(curvature * z), sets.sum(curvature * z * z)
        determinant = i00 * i11 - i01**2
        is_sound &= is_fitted | (determinant > 0)
        step = np.array([i11 * gradient[0] - i01 * gradient[1], i00 * gradient[1] - i01 * gradient[0]])
        step /= np.where(determinant > 0, determinant, 1.0)
        step[:, is_fitted | ~is_sound] = 0
        intercept_slope, gradient_before = intercept_slope + step, gradient
        is_small = np.abs(step).max(axis=0) <= TOLERANCE * np.maximum(1.0, np.abs(intercept_slope).max(axis=0))
        is_fitted |= is_sound & is_small
        if (is_fitted | ~is_sound).all():
            break
    slope = intercept_slope[1] / width
    return np.column_stack([intercept_slope[0] - slope * middle, slope]), is_fitted


class _Sets(NamedTuple):
    """Sets of consecutive rows."""

    sizes: NDArray[np.intp]
    starts: NDArray[np.intp]

    def sum(self, values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(values, self.starts))

    def spread(self, values: Floats) -> Floats:
        """The value of its set for each row."""
        return np.repeat(values, self.sizes)

    def overlap(self, x: Floats, events: Floats, others: Floats) -> NDArray[np.bool_]:
        """Whether the ranges of events and of other rows overlap, so that no threshold separates them."""
        lowest = [np.minimum.reduceat(np.where(rows > 0, x, math.inf), self.starts) for rows in (events, others)]
        highest = [np.maximum.reduceat(np.where(rows > 0, x, -math.inf), self.starts) for rows in (events, others)]
        return np.asarray((highest[1] > lowest[0]) & (highest[0] > lowest[1]))
