"""Out-of-distribution scores from outputs and from features; a higher score is less like the training data.

Calibration on data like the training data guarantees nothing for other data, and neither does any score here: a score ranks
rows, and how well it does so is known only for the out-of-distribution rows it was evaluated on.
"""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, NotFittedError, ShapeError, UndefinedMetricError, Use
from ...input.convert import column, numbers
from ...util.blocks import map_blocks, rows_per_block
from ...util.checks import check_choice, check_positive, check_whole
from ..rows import read_distributions

__all__ = [
    "OodKnn",
    "OodMahalanobis",
    "ood_energy",
    "ood_entropy",
    "ood_max_logit",
    "ood_msp",
    "ood_mutual_information",
    "ood_variance",
]

Floats = NDArray[np.float64]
# Up to this many features a k-d tree beats looking at all rows.
TREE_FEATURES = 15
SEVERAL_BLOCKS = 1_000_000


def ood_msp(y_prob: Any, **keywords: Any) -> Floats:
    """One minus the largest probability of each row (Hendrycks and Gimpel 2017); keywords `input`, `normalize` and `clip` as in `Predictions`.

    >>> from calibrant.decision.ood.scores import ood_msp
    >>> ood_msp([[0.75, 0.25], [0.5, 0.5]]).tolist()
    [0.25, 0.5]
    """
    return np.asarray(1 - _probabilities("ood_msp", y_prob, keywords).max(axis=1))


def ood_entropy(y_prob: Any, *, relative: bool = False, **keywords: Any) -> Floats:
    """Entropy of each row in nats, or relative to its largest value; keywords `input`, `normalize` and `clip` as in `Predictions`."""
    probs = _probabilities("ood_entropy", y_prob, keywords)
    return _entropy(probs) / (math.log(probs.shape[1]) if relative else 1.0)


def ood_energy(logits: Any, *, temperature: float = 1.0) -> Floats:
    """Free energy -T ln sum exp(z / T) of each row of logits (Liu et al. 2020); logarithms of probabilities will not do."""
    from scipy.special import logsumexp

    temperature = check_positive(temperature, "temperature")
    return np.asarray(-temperature * logsumexp(_logits(logits) / temperature, axis=1))


def ood_max_logit(logits: Any) -> Floats:
    """Minus the largest logit of each row (Hendrycks et al. 2022); logarithms of probabilities will not do."""
    return np.asarray(-_logits(logits).max(axis=1))


def ood_mutual_information(members: Any, *, input: Literal["prob", "logit"] = "prob") -> Floats:
    """How much the members of an ensemble tell apart: entropy of the mean less mean entropy, from an (M, N, K) array."""
    probs = _members(members, input, "ood_mutual_information")
    mean_entropy = np.mean([_entropy(member) for member in probs], axis=0)
    return np.maximum(_entropy(probs.mean(axis=0)) - mean_entropy, 0.0)


def ood_variance(members: Any, *, mean: bool = False, input: Literal["prob", "logit"] = "prob") -> Floats:
    """Variance of the probabilities over the members of an ensemble, summed over classes or averaged, from an (M, N, K) array."""
    spread = _members(members, input, "ood_variance").var(axis=0)
    return np.asarray(spread.mean(axis=1) if mean else spread.sum(axis=1))


def _probabilities(who: str, y_prob: Any, keywords: dict[str, Any]) -> Floats:
    """(N, K) checked probabilities; no labels are needed."""
    source = read_distributions(who, y_prob, keywords)
    probs = source.probs.astype(np.float64, copy=False)
    return np.column_stack([1 - probs, probs]) if probs.ndim == 1 else probs


def _entropy(probs: Floats) -> Floats:
    from scipy.special import entr

    return np.asarray(entr(probs).sum(axis=1))


def _logits(values: Any) -> Floats:
    logits = finite_matrix(values, "logits")
    if logits.shape[1] < 2:
        raise ShapeError("logits", "must have a column for each of several classes")
    # The constant of a row is what these scores live on, and probabilities have lost it: every row would score 0.
    if np.allclose(np.logaddexp.reduce(logits, axis=1), 0, atol=1e-6):
        raise InputError("logits", "are log-probabilities, which are normalized", "pass the model's own logits")
    if (logits >= 0).all() and np.allclose(logits.sum(axis=1), 1, atol=1e-6):
        raise InputError("logits", "are probabilities", "pass the model's own logits, or use ood_msp or ood_entropy")
    return logits


def _members(members: Any, input: str, who: str) -> Floats:
    stack = [_probabilities(who, member, {"input": input}) for member in members]
    if len(stack) < 2:
        raise UndefinedMetricError(who, "requires at least two members")
    if len({member.shape for member in stack}) > 1:
        raise ShapeError("members", "the members differ in shape", "pass the same rows and classes for each member")
    return np.stack(stack)


def finite_matrix(values: Any, argument: str, columns: int | None = None) -> Floats:
    """(N, d) finite numbers."""
    matrix = numbers(column(values, argument).array, argument).astype(np.float64)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    if matrix.ndim != 2 or not matrix.size:
        raise ShapeError(argument, f"must have two dimensions; got shape {matrix.shape}")
    if columns is not None and matrix.shape[1] != columns:
        raise ShapeError(argument, f"has {matrix.shape[1]} columns; expected {columns}, as in fit")
    bad = ~np.isfinite(matrix).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(argument, "values must be finite", "drop or fill the row", row=row)
    return matrix


class OodMahalanobis:
    """Squared Mahalanobis distance to the nearest class mean, with one covariance for all classes (Lee et al. 2018).

    Parameters
    ----------
    relative
        Subtract the distance to the mean of all rows, with their covariance (Ren et al. 2021).
    shrinkage
        ``"none"`` takes the covariance as it is, ``"ledoit_wolf"`` draws it towards a sphere, ``"ridge"`` adds a millionth of its
        mean variance; ``"auto"`` is ``"ledoit_wolf"`` where the covariance is singular or there are fewer than ten rows for each feature.

    Examples
    --------
    >>> from calibrant.decision.ood.scores import OodMahalanobis
    >>> features = [[0, 0], [1, 0], [0, 1], [4, 4], [5, 4], [4, 5]]
    >>> fitted = OodMahalanobis(shrinkage="none").fit(features, [0, 0, 0, 1, 1, 1])
    >>> fitted.score([[0, 0], [2, 2]]).round(6).tolist()
    [2.0, 50.0]
    """

    means_: Any
    mean_: Any
    factor_: Any
    whole_factor_: Any

    def __init__(
        self, *, relative: bool = False, shrinkage: Literal["auto", "none", "ledoit_wolf", "ridge"] = "auto"
    ) -> None:
        check_choice(shrinkage, "shrinkage", ("auto", "none", "ledoit_wolf", "ridge"))
        self.relative = relative
        self.shrinkage = shrinkage

    def fit(self, features: Any, y: Any) -> Self:
        """Learn class means and covariance from training features and their classes."""
        f, labels = self._matrix(features), self._labels(y)
        if labels.ndim != 1 or len(labels) != len(f):
            raise ShapeError("y", f"expected one class for each of {len(f)} rows")
        self._learn(f, labels)
        return self

    def score(self, features: Any) -> Any:
        """How far each row is from the training data."""
        if not hasattr(self, "means_"):
            raise NotFittedError("OodMahalanobis", "is not fitted", "call fit(features, y) first")
        return self._distances(self._matrix(features, self.means_.shape[1]))

    def __repr__(self) -> str:
        return f"OodMahalanobis(relative={self.relative}, shrinkage={self.shrinkage!r})"

    def _matrix(self, features: Any, columns: int | None = None) -> Any:
        return finite_matrix(features, "features", columns)

    def _labels(self, y: Any) -> Any:
        return column(y, "y").array

    def _learn(self, f: Any, labels: Any) -> None:
        self.classes_, place = np.unique(labels, return_inverse=True)
        sizes = np.bincount(place)
        self.means_ = np.stack([np.bincount(place, values) for values in f.T], axis=1) / sizes[:, None]
        self.factor_ = _factor(f - self.means_[place], self.shrinkage)
        self.mean_ = f.mean(axis=0)
        self.whole_factor_ = _factor(f - self.mean_, self.shrinkage) if self.relative else None

    def _distances(self, f: Any) -> Any:
        found = np.min([_squared(f - mean, self.factor_) for mean in self.means_], axis=0)
        if self.whole_factor_ is not None:
            found = found - _squared(f - self.mean_, self.whole_factor_)
        return np.asarray(found)


def _squared(off: Floats, factor: Floats) -> Floats:
    from scipy.linalg import solve_triangular

    return np.asarray(np.square(solve_triangular(factor, off.T, lower=True)).sum(axis=0))


def _factor(off: Floats, shrinkage: str) -> Floats:
    """Lower Cholesky factor of the covariance of centred rows."""
    n = len(off)
    fourth = float(np.square(np.square(off).sum(axis=1)).sum()) / n
    try:
        return np.asarray(np.linalg.cholesky(shrunk_covariance(np, off.T @ off / n, fourth, n, shrinkage)))
    except np.linalg.LinAlgError:
        raise singular_covariance() from None


def singular_covariance() -> UndefinedMetricError:
    """The error for features some of whose combinations do not vary."""
    return UndefinedMetricError(
        "OodMahalanobis", "the covariance of the features is singular", Use("shrinkage", "auto")
    )


def shrunk_covariance(xp: Any, spread: Any, fourth: float, n: int, shrinkage: str) -> Any:
    """The covariance of `n` centred rows under a shrinkage, with NumPy or torch as array namespace `xp`.

    `fourth` is the mean of the fourth power of the lengths of the rows, from which Ledoit and Wolf (2004) tell how far to go to the sphere.
    """
    d = len(spread)
    scale = float(xp.trace(spread)) / d
    if scale == 0:
        raise UndefinedMetricError("OodMahalanobis", "the features are constant within classes")
    if shrinkage == "auto":
        least = float(xp.linalg.eigvalsh(spread)[0])
        shrinkage = "ledoit_wolf" if n < 10 * d or least <= 1e-12 * scale else "none"
    if shrinkage == "none":
        return spread
    sphere = xp.eye(d, dtype=spread.dtype, device=spread.device)
    if shrinkage == "ridge":
        return spread + 1e-6 * scale * sphere
    square = float(xp.square(spread).sum())
    distance, noise = square / d - scale**2, (fourth - square) / (n * d)
    share = 1.0 if distance <= 0 else min(max(noise / distance, 0.0), 1.0)
    # Where rows are so many that nothing is shrunk, a singular covariance still needs a little.
    return (1 - share) * spread + max(share, 1e-9) * scale * sphere


class OodKnn:
    """Distance to the k-th nearest training row (Sun et al. 2022).

    Parameters
    ----------
    k
        Which neighbour; at most the number of training rows.
    normalise
        Give every row of features length 1 first.

    Examples
    --------
    >>> from calibrant.decision.ood.scores import OodKnn
    >>> OodKnn(k=1, normalise=False).fit([[0, 0], [3, 4]]).score([[0, 0], [3, 0]]).tolist()
    [0.0, 3.0]
    """

    def __init__(self, *, k: int = 50, normalise: bool = True) -> None:
        self.k = check_whole(k, "k")
        self.normalise = normalise

    def fit(self, features: Any, y: Any = None) -> Self:
        """Keep the training features; classes are not looked at."""
        self.features_ = self._read(features)
        return self

    def score(self, features: Any, *, exclude_self: bool = False) -> Any:
        """How far each row is from the training data; `exclude_self` where the rows are the training rows, each its own neighbour."""
        if not hasattr(self, "features_"):
            raise NotFittedError("OodKnn", "is not fitted", "call fit(features) first")
        f = self._read(features, self.features_.shape[1])
        most = len(self.features_) - (1 if exclude_self else 0)
        if most < 1:
            raise UndefinedMetricError("OodKnn", "a single training row has no neighbours")
        return self._kth_distance(f, min(self.k, most) + (1 if exclude_self else 0))

    def __repr__(self) -> str:
        return f"OodKnn(k={self.k}, normalise={self.normalise})"

    def _read(self, features: Any, columns: int | None = None) -> Any:
        f = finite_matrix(features, "features", columns)
        if not self.normalise:
            return f
        length = np.linalg.norm(f, axis=1)
        if (length == 0).any():
            row = int(np.argmax(length == 0))
            raise InputError("features", "a vector of length 0 cannot be normalised", Use("normalise", False), row=row)
        return np.asarray(f / length[:, None])

    def _kth_distance(self, f: Any, k: int) -> Any:
        known = self.features_
        if known.shape[1] <= TREE_FEATURES:
            from scipy.spatial import cKDTree

            return np.asarray(cKDTree(known).query(f, [k])[0][:, 0])
        from scipy.spatial.distance import cdist

        def work(start: int, stop: int) -> Floats:
            return np.partition(cdist(f[start:stop], known), k - 1, axis=1)[:, k - 1]

        step = rows_per_block(len(known), SEVERAL_BLOCKS)
        return np.concatenate(map_blocks(work, len(f), step, columns=len(known)))
