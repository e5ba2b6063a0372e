"""Softmax regression: the scale, vector or matrix applied to the logits that minimizes the loss, by Newton's method or L-BFGS."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import warn_caller
from ..util.arrays import Floats
from ..util.blocks import LARGE_BLOCK, map_blocks, rows_per_block, using_cores
from .scores import TrainingData

# Parameters beyond this bound are treated as divergent.
FARTHEST = 1e6
# A loss below this bound is treated as 0.
NO_LOSS = 1e-10
# Bounds of 1/T; beyond them the probabilities of logits of usual size no longer change.
LEAST, MOST = 1e-3, 1e3
# Up to this number of classes a matrix is fitted by Newton's method, whose Hessian has K^4 entries.
NEWTON_CLASSES = 20
# Number of rows of the subsample from which the starting value is estimated.
WARM_ROWS = 10_000
# Number of rows of the subsample on which a grid is evaluated.
GRID_ROWS = 1_000


def softmax(logits: Floats) -> Floats:
    """Softmax of each row, without overflow."""
    with np.errstate(under="ignore"):
        shifted = np.exp(logits - np.ascontiguousarray(logits.T).max(axis=0)[:, None])
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


class LinearSoftmax:
    """Mean negative log-likelihood of softmax(W z + b) and its derivatives, computed in blocks of rows."""

    def __init__(self, z: Floats, labels: NDArray[Any], weight: Floats) -> None:
        self.z, self.labels, self.weight = z, labels, weight / weight.sum()
        self.n, self.k = z.shape

    def __call__(self, matrix: Floats, bias: Floats) -> tuple[float, Floats, Floats]:
        """The loss and its gradients with respect to the matrix and the bias."""

        def work(start: int, stop: int) -> tuple[float, Floats, Floats]:
            z, weight, labels = self.z[start:stop], self.weight[start:stop], self.labels[start:stop]
            logits = z @ matrix.T + bias
            logits -= np.ascontiguousarray(logits.T).max(axis=0)[:, None]
            rows = np.arange(len(z))
            own = logits[rows, labels]
            with np.errstate(under="ignore"):
                np.exp(logits, out=logits)
            total = logits.sum(axis=1)
            loss = float(weight @ (np.log(total) - own))
            logits *= (weight / total)[:, None]
            logits[rows, labels] -= weight
            return loss, logits.T @ z, logits.sum(axis=0)

        parts = map_blocks(work, self.n, rows_per_block(self.k), columns=self.k)
        return (
            math.fsum(part[0] for part in parts),
            np.sum([part[1] for part in parts], axis=0),
            np.sum([part[2] for part in parts], axis=0),
        )

    def start(self) -> float:
        """A starting value of the scale at which the loss has curvature: no label has a probability close to 0."""
        return min(1.0, max(rough_scale(self.z, self.labels, self.weight), LEAST))

    def diagonal(self, factor: Floats, bias: Floats) -> tuple[float, Floats, Floats, Floats]:
        """The loss, its gradients and its Hessian with respect to the factors and biases of a diagonal matrix."""
        k, place = self.k, np.arange(self.k)

        def work(start: int, stop: int) -> tuple[float, Floats, Floats]:
            z, weight, labels = self.z[start:stop], self.weight[start:stop], self.labels[start:stop]
            z = np.ascontiguousarray(z.T)  # sums and maxima over lines are several times as fast as over short rows
            probs = z * factor[:, None] + bias[:, None]
            probs -= np.amax(probs, axis=0)
            rows = np.arange(len(labels))
            own = probs[labels, rows]
            with np.errstate(under="ignore"):
                np.exp(probs, out=probs)
            total = probs.sum(axis=0)
            loss = float(np.einsum("i,i->", weight, np.log(total) - own))
            probs /= total
            both = np.vstack([probs * z, probs])
            weighed = both * weight
            sums = weighed.sum(axis=1)
            first = sums.copy()
            first[:k] -= np.bincount(labels, weight * z[labels, rows], k)
            first[k:] -= np.bincount(labels, weight, k)
            second = -(weighed @ both.T)
            second[place, place] += np.einsum("ji,ji->j", weighed[:k], z)
            second[place + k, place + k] += sums[k:]
            second[place, place + k] += sums[:k]
            second[place + k, place] += sums[:k]
            return loss, first, second

        parts = map_blocks(work, self.n, rows_per_block(k), columns=k)
        gradient = np.sum([part[1] for part in parts], axis=0)
        hessian = np.sum([part[2] for part in parts], axis=0)
        return math.fsum(part[0] for part in parts), gradient[:k], gradient[k:], hessian

    def full_curvature(self, matrix: Floats, bias: Floats) -> Floats:
        """Hessian of order K (K + 1); the parameters of a class are its row of the matrix and its bias."""
        k, size = self.k, self.k + 1
        theta = np.column_stack([matrix, bias])
        # A block of the Hessian is the same for classes (a, b) and (b, a), and symmetric.
        a, b = np.triu_indices(k)
        c, d = np.triu_indices(size)

        def work(start: int, stop: int) -> Floats:
            z = self.z[start:stop]
            features = np.vstack([z.T, np.ones((1, len(z)))])
            probs = theta @ features
            probs -= np.amax(probs, axis=0)
            with np.errstate(under="ignore"):
                np.exp(probs, out=probs)
            probs /= probs.sum(axis=0)
            weighed = probs * self.weight[start:stop]
            return np.asarray(np.vstack([weighed[a] * probs[b], weighed]) @ (features[c] * features[d]).T)

        # One block at a time: the product of matrices takes most of the time and has threads of its own.
        with using_cores(1):
            sums = np.sum(map_blocks(work, self.n, rows_per_block(2 * len(a) + 2 * len(c), LARGE_BLOCK)), axis=0)
        squares = np.empty((len(sums), size, size))
        squares[:, c, d] = squares[:, d, c] = sums
        out = np.empty((k, size, k, size))
        out[a, :, b, :] = out[b, :, a, :] = -squares[: len(a)]
        out[np.arange(k), :, np.arange(k), :] += squares[len(a) :]
        return out.reshape(k * size, k * size)

    def part(self, rows: NDArray[np.intp], weight: Floats) -> LinearSoftmax:
        """The model on a subset of the rows, in the given order and with other weights; rows of weight 0 are dropped."""
        rows = rows[weight[rows] > 0]
        return LinearSoftmax(self.z[rows], self.labels[rows], weight[rows])


def by_newton(
    loss: Callable[[Floats], tuple[float, Floats, Floats]], start: Floats, tolerance: float = 1e-12
) -> Floats:
    """Newton's method with step halving for a convex loss with gradient and Hessian.

    Flat directions are not changed; divergent parameters are stopped at a million.
    """
    x = start
    value, slope, curvature = loss(x)
    for _ in range(200):
        ridge = 1e-12 * max(float(np.abs(np.diag(curvature)).max()), 1e-300)
        step = np.linalg.solve(curvature + ridge * np.eye(len(x)), slope)
        gain = float(step @ slope)
        if gain <= tolerance * max(1.0, abs(value)):
            return np.asarray(x - step)  # the remaining error is of second order
        length = 1.0
        while length > 1e-10:
            new = loss(x - length * step)
            if new[0] <= value - 1e-4 * length * gain:
                break
            length /= 2
        else:
            break
        x, (value, slope, curvature) = x - length * step, new
        if np.abs(x).max() > FARTHEST or value < NO_LOSS:
            _warn_of_separation()
            break
    return x


def ridge_logistic(columns: Floats, outcome: Floats, weight: Floats, penalty: Floats) -> Floats:
    """The coefficients of least weighted log loss with a ridge penalty, one number for each column."""
    from scipy.special import expit

    def loss(beta: Floats) -> tuple[float, Floats, Floats]:
        eta = columns @ beta
        rate = expit(eta)
        value = float(weight @ (np.logaddexp(0, eta) - outcome * eta) + penalty @ beta**2 / 2)
        slope = columns.T @ (weight * (rate - outcome)) + penalty * beta
        return value, slope, columns.T @ ((weight * rate * (1 - rate))[:, None] * columns) + np.diag(penalty)

    return by_newton(loss, np.zeros(columns.shape[1]))


def _warn_of_separation() -> None:
    warn_caller(
        "the classes are separable, so the parameters diverge; the optimization was stopped early",
    )


def minimised(loss: Callable[[Floats], tuple[float, Floats]], start: Floats, gradient: float = 1e-10) -> Floats:
    """L-BFGS, for problems whose Hessian would be too large or is not available."""
    from scipy.optimize import minimize

    options = {"maxiter": 2000, "maxfun": 5000, "ftol": 1e-14, "gtol": gradient, "maxcor": 20}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    if np.abs(found.x).max() >= FARTHEST:
        _warn_of_separation()
    return np.asarray(found.x)


class Moments:
    """The mean negative log-likelihood of softmax(u z) and its first two derivatives in u; the rows may be tensors on a device."""

    def __init__(self, logits: Any, labels: Any, weight: Any) -> None:
        self.z = logits - logits.max(axis=1, keepdims=True)
        self.own = self.z[np.arange(len(labels)), labels]
        self.weight = weight / weight.sum()

    def __call__(self, u: float) -> tuple[float, float, float]:
        def work(start: int, stop: int) -> tuple[float, float, float]:
            z, weight = self.z[start:stop], self.weight[start:stop]
            with np.errstate(under="ignore"):
                power = np.exp(u * z)
            total = power.sum(axis=1)
            first = np.einsum("ij,ij->i", power, z) / total
            power *= z
            second = np.einsum("ij,ij->i", power, z) / total
            own = self.own[start:stop]
            # Not `@`: starting the threads of the linear algebra library takes longer than a product this short.
            return (
                float(np.einsum("i,i->", weight, np.log(total) - u * own)),
                float(np.einsum("i,i->", weight, first - own)),
                float(np.einsum("i,i->", weight, second - first * first)),
            )

        columns = self.z.shape[1]
        parts = map_blocks(work, len(self.z), rows_per_block(columns), columns=columns)
        return tuple(math.fsum(column) for column in zip(*parts, strict=True))  # type: ignore[return-value]


def best_scale(logits: Any, labels: Any, weight: Any) -> float:
    """The u = 1/T that minimizes the negative log-likelihood, with a warning if it lies at a bound."""
    return bounded(likeliest_scale(logits, labels, weight), lambda: Moments(logits, labels, weight))


def likeliest_scale(logits: Any, labels: Any, weight: Any) -> float:
    """Minimize the loss, which is convex in u, by Newton's method within a bracket."""
    moments = Moments(logits, labels, weight)
    if not moments.own.any() and moments.z.any():
        return MOST
    start = rough_scale(logits, labels, weight) if len(labels) > 4 * WARM_ROWS else 1.0
    return newton(moments, start, 1e-6)


def rough_scale(logits: Any, labels: Any, weight: Any) -> float:
    """About the scale that minimizes the loss, from some of the rows."""
    step = max(len(labels) // WARM_ROWS, 1)
    return newton(Moments(logits[::step], labels[::step], weight[::step]), 1.0, 1e-3)


def newton(moments: Moments, start: float, tolerance: float) -> float:
    """Newton's method until a step is shorter than `tolerance`; the remaining error is of the order of its square."""
    low, high, u = LEAST, MOST, start
    for _ in range(100):
        _, slope, curvature = moments(u)
        if slope == 0 and curvature == 0:  # constant logits: all temperatures are equivalent
            return 1.0
        low, high = (u, high) if slope < 0 else (low, u)
        # On the scale of ln u, where steps are equally safe for small and for large u.
        bend = u * u * curvature + u * slope
        step = math.exp(min(max(-u * slope / bend, -2.0), 2.0)) if bend > 0 else (2.0 if slope < 0 else 0.5)
        new = u * step
        if not low < new < high:
            new = math.sqrt(low * high)
        if abs(new / u - 1) < tolerance:
            return new
        u = new
    return u


def bounded(u: float, moments: Callable[[], Moments] | None = None) -> float:
    """Clip u to its bounds, with a warning that gives the reason as far as the moments determine it."""
    if u > MOST * 0.999:
        if moments is not None and not moments().own.any():
            _warn("every label has the largest logit of its row, so the best temperature is 0", 1 / MOST)
        else:
            _warn(f"the best temperature lies below {1 / MOST:g}: multiply the logits by a number first", 1 / MOST)
    elif u < LEAST * 1.001:
        if u <= 0 or (moments is not None and moments()(0.0)[1] >= 0):
            _warn(
                "the logits are negatively associated with the labels, so the best temperature is infinite", 1 / LEAST
            )
        else:
            _warn(f"the best temperature lies above {1 / LEAST:g}: divide the logits by a number first", 1 / LEAST)
    return min(max(u, LEAST), MOST)


def _warn(why: str, used: float) -> None:
    warn_caller(f"{why}; {used:g} is used")


def searched_scale(data: TrainingData) -> float:
    """The scale that minimizes the Brier score, by Brent's method in ln u."""
    from scipy.optimize import minimize_scalar

    logits, labels = data.logits, data.labels
    weight = data.weight / data.weight.sum()
    loss = _brier_of_scale(logits, labels, weight)
    grid = np.linspace(math.log(LEAST), math.log(MOST), 41)
    known: dict[int, float] = {}
    if data.n > 2 * GRID_ROWS:
        # Some rows show where to look among all. They are random, since every n-th may be of one kind; there may be several minima.
        some = np.random.default_rng(0).choice(np.flatnonzero(weight), GRID_ROWS)
        tried = np.array([math.inf, *map(_brier_of_scale(logits[some], labels[some], weight[some]), grid), math.inf])
        for place in np.flatnonzero((tried[1:-1] < tried[:-2]) & (tried[1:-1] <= tried[2:])).tolist():
            best, before = place, -1
            while best != before:
                near = range(max(best - 1, 0), min(best + 2, 41))
                known |= {at: loss(grid[at]) for at in near if at not in known}
                before, best = best, min(near, key=known.__getitem__)
    else:
        known = {place: loss(t) for place, t in enumerate(grid)}
    best = min(sorted(known), key=known.__getitem__)
    if known[best] < 1e-12:  # the loss is practically 0 and still decreasing
        return bounded(MOST, lambda: Moments(logits, labels, weight))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, 40)]
    minimum = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-10})
    return bounded(math.exp(minimum.x), lambda: Moments(logits, labels, weight))


def _brier_of_scale(logits: Floats, labels: NDArray[Any], weight: Floats) -> Callable[[float], float]:
    """The Brier score of softmax(u z) as a function of ln u."""
    columns = np.ascontiguousarray(logits.T)
    largest = columns.max(axis=0)  # multiplied by u, it is that of the multiplied logits
    each = np.empty(len(labels))

    def loss(t: float) -> float:
        u = math.exp(t)

        def work(start: int, stop: int) -> None:
            probs = u * columns[:, start:stop]
            probs -= u * largest[start:stop]
            with np.errstate(under="ignore"):
                np.exp(probs, out=probs)
            probs /= probs.sum(axis=0)
            own = probs[labels[start:stop], np.arange(stop - start)]
            np.square(probs, out=probs)
            each[start:stop] = probs.sum(axis=0) - 2 * own + 1

        map_blocks(work, len(labels), rows_per_block(len(columns)), columns=len(columns))
        return float(weight @ each)

    return loss


def bias_corrected(linear: LinearSoftmax) -> tuple[float, Floats]:
    """The bounded scale and the bias of softmax(u z + b) that minimize the loss; the bias of the first class is 0."""
    k = linear.k
    # All classes share one factor.
    lift = np.zeros((2 * k, k))
    lift[:k, 0] = 1
    lift[k + 1 :, 1:] = np.eye(k - 1)

    def loss(x: Floats) -> tuple[float, Floats, Floats]:
        whole = lift @ x
        value, slope, shift, curvature = linear.diagonal(whole[:k], whole[k:])
        return value, np.concatenate([slope, shift]) @ lift, lift.T @ curvature @ lift

    x = by_newton(loss, np.append(linear.start(), np.zeros(k - 1)))
    if LEAST <= x[0] <= MOST:
        return float(x[0]), np.append(0.0, x[1:])
    near = x[1:] * MOST / x[0] if x[0] > MOST else np.zeros(k - 1)
    if x[0] > MOST and loss(np.append(MOST, near))[0] < NO_LOSS:  # separable, as has been warned
        return MOST, np.append(0.0, near)
    scale = bounded(float(x[0]))

    def of_bias(bias: Floats) -> tuple[float, Floats, Floats]:
        value, slope, curvature = loss(np.append(scale, bias))
        return value, slope[1:], curvature[1:, 1:]

    # The bias fitted with the unbounded scale does not suit the bounded one: refit it.
    return scale, np.append(0.0, by_newton(of_bias, near))


def best_vector(linear: LinearSoftmax) -> tuple[Floats, Floats]:
    """The factors and the bias of softmax(w * z + b) that minimize the loss; the bias of the first class is 0."""
    k = linear.k
    kept = np.arange(2 * k) != k

    def loss(x: Floats) -> tuple[float, Floats, Floats]:
        bias = np.append(0.0, x[k:])
        value, slope, shift, curvature = linear.diagonal(x[:k], bias)
        return value, np.append(slope, shift[1:]), curvature[np.ix_(kept, kept)]

    x = by_newton(loss, np.append(np.full(k, linear.start()), np.zeros(k - 1)))
    return x[:k], np.append(0.0, x[k:])


def best_matrix(
    linear: LinearSoftmax, strength: float, intercept: float, start: Floats | None = None, gradient: float = 1e-9
) -> tuple[Floats, Floats]:
    """The matrix and the bias of softmax(W z + b) that minimize the penalized loss; `start` is (K, K + 1) with the bias as last column."""
    k = linear.k
    # Penalty weight of each squared parameter.
    price = np.full((k, k + 1), strength / (k * (k - 1)))
    price[np.arange(k), np.arange(k)] = 0
    price[:, k] = intercept / k
    at = np.column_stack([linear.start() * np.eye(k), np.zeros(k)]) if start is None else start
    return ridge_matrix(linear, price, np.zeros((k, k + 1)), at, gradient)


def ridge_matrix(
    linear: LinearSoftmax, price: Floats, centre: Floats, start: Floats, gradient: float = 1e-9
) -> tuple[Floats, Floats]:
    """The matrix and the bias that minimize the loss plus the priced squared distances from a centre.

    All are of shape (K, K + 1), with the bias as last column.
    """
    k = linear.k

    def first(x: Floats) -> tuple[float, Floats]:
        theta = x.reshape(k, k + 1)
        moved = theta - centre
        value, slope, shift = linear(theta[:, :k], theta[:, k])
        whole = np.column_stack([slope, shift]) + 2 * price * moved
        return value + float((price * moved**2).sum()), whole.ravel()

    def second(x: Floats) -> tuple[float, Floats, Floats]:
        theta = x.reshape(k, k + 1)
        curvature = linear.full_curvature(theta[:, :k], theta[:, k])
        return *first(x), curvature + np.diag(2 * price.ravel())

    if k <= NEWTON_CLASSES:
        x = by_newton(second, start.ravel(), gradient**1.5)
    else:
        even = EvenCurvature(linear, price, start)

        def evened(x: Floats) -> tuple[float, Floats]:
            value, slope = first(even.parameters(x))
            return value, even.gradient(slope)

        x = even.parameters(minimised(evened, even.coordinates(start), gradient))
    theta = x.reshape(k, k + 1)
    return np.ascontiguousarray(theta[:, :k]), theta[:, k].copy()


class EvenCurvature:
    """Coordinates in which the penalized loss of a matrix and a bias has about the same curvature in every direction, as L-BFGS needs.

    The Hessian of class k is approximated by q_k G + D, where q_k is the mean of p_k (1 - p_k), G holds the second moments of the logits and D is
    twice the mean penalties. The eigenvectors of D^(-1/2) G D^(-1/2) diagonalize all of them at once.
    """

    def __init__(self, linear: LinearSoftmax, price: Floats, theta: Floats) -> None:
        features = np.column_stack([linear.z, np.ones(linear.n)])
        second_moments = (features * linear.weight[:, None]).T @ features
        probs = softmax(features @ theta.T)
        spread = linear.weight @ (probs * (1 - probs))
        spread = np.maximum(spread, 1e-3 * spread.max())
        # Where nothing is penalized, the moments alone determine the curvature.
        penalty = np.maximum(2 * price.mean(axis=0), 1e-6 * spread.mean() * second_moments.diagonal())
        self.scale = 1 / np.sqrt(penalty)
        values, self.directions = np.linalg.eigh(second_moments * self.scale[:, None] * self.scale)
        self.lengths = 1 / np.sqrt(spread[:, None] * np.maximum(values, 0) + 1)

    def parameters(self, x: Floats) -> Floats:
        """The parameters, class by class, at these coordinates."""
        return (((x.reshape(self.lengths.shape) * self.lengths) @ self.directions.T) * self.scale).ravel()

    def coordinates(self, theta: Floats) -> Floats:
        """The coordinates of parameters of shape (K, K + 1)."""
        return (((theta / self.scale) @ self.directions) / self.lengths).ravel()

    def gradient(self, slope: Floats) -> Floats:
        """The gradient with respect to the coordinates from that with respect to the parameters."""
        return (((slope.reshape(self.lengths.shape) * self.scale) @ self.directions) * self.lengths).ravel()


def ridge_vector(linear: LinearSoftmax, price: Floats, bias_price: Floats) -> tuple[Floats, Floats]:
    """The factors and biases that minimize the loss plus the priced squares of the factors minus 1 and of the biases."""
    k = linear.k
    centre, prices = np.repeat([1.0, 0.0], k), np.append(price, bias_price)

    def loss(x: Floats) -> tuple[float, Floats, Floats]:
        value, slope, shift, curvature = linear.diagonal(x[:k], x[k:])
        moved = x - centre
        gradient = np.append(slope, shift) + 2 * prices * moved
        return value + float(prices @ moved**2), gradient, curvature + np.diag(2 * prices)

    x = by_newton(loss, centre)
    return x[:k], x[k:]


def best_penalty(folds: Iterable[tuple[LinearSoftmax, LinearSoftmax, float]]) -> float:
    """The penalty of least held-out loss, from folds given as training data, held-out data and the weight of the latter."""
    strengths = 10.0 ** np.arange(2, -4, -1)  # from the strongest penalty on; each fit starts from the previous one
    losses = np.zeros(len(strengths))
    for train, test, share in folds:
        start = None
        for place, strength in enumerate(strengths):
            matrix, bias = best_matrix(train, float(strength), float(strength), start, 1e-5)
            losses[place] += share * test(matrix, bias)[0]
            start = np.column_stack([matrix, bias])
    best = np.flatnonzero(losses == losses.min())[-1]  # the smallest penalty among ties
    return float(strengths[best])
