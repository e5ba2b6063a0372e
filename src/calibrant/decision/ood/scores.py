"""Out-of-distribution scores from outputs and from features; higher scores are less like the training data.

Scores rank rows. How well they separate is known only for the out-of-distribution rows on which they were evaluated.
"""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np

from ...errors import InputError, NotFittedError, ShapeError, UndefinedMetricError
from ...input.convert import column, numbers
from ...util.arrays import Floats
from ...util.blocks import map_blocks, rows_per_block
from ...util.checks import check_choice, check_positive, check_whole
from ...views.keywords import documents_keywords
from ..rows import INPUT, read_distributions

# Up to this many features a k-d tree is faster than a search of all rows.
TREE_FEATURES = 15
SEVERAL_BLOCKS = 1_000_000


@documents_keywords(table=INPUT)
def msp(y_prob: Any, *, input: Literal["prob", "logit"] = "prob") -> Floats:
    """Compute one minus the maximum predicted probability of each row.

    Parameters
    ----------
    y_prob : array-like of shape (N,) or (N, K), or Predictions
        Predicted probabilities.
    input

    Returns
    -------
    ndarray of shape (N,)
        Score; higher is more likely out-of-distribution.

    See Also
    --------
    entropy : Entropy of the predicted distribution.
    evaluate : Evaluation of a score.

    References
    ----------
    .. [1] Hendrycks, D. and Gimpel, K. (2017). A baseline for detecting misclassified and out-of-distribution examples in neural networks. ICLR.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decision.ood.msp([[0.75, 0.25], [0.5, 0.5]]).tolist()
    [0.25, 0.5]
    """
    return np.asarray(1 - _probabilities("msp", y_prob, input).max(axis=1))


@documents_keywords(table=INPUT)
def entropy(y_prob: Any, *, relative: bool = False, input: Literal["prob", "logit"] = "prob") -> Floats:
    """Compute the entropy of the predicted distribution of each row.

    Parameters
    ----------
    y_prob : array-like of shape (N,) or (N, K), or Predictions
        Predicted probabilities.
    relative : bool, default False
        Whether to divide by the maximum, the logarithm of the number of classes; otherwise the entropy is in nats.
    input

    Returns
    -------
    ndarray of shape (N,)
        Score; higher is more likely out-of-distribution.

    See Also
    --------
    msp : One minus the maximum probability.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decision.ood.entropy([[0.5, 0.5], [1.0, 0.0]], relative=True).tolist()
    [1.0, 0.0]
    """
    probs = _probabilities("entropy", y_prob, input)
    return _entropy(probs) / (math.log(probs.shape[1]) if relative else 1.0)


def energy(logits: Any, *, temperature: float = 1.0) -> Floats:
    r"""Compute the free energy of each row of logits.

    Parameters
    ----------
    logits : array-like of shape (N, K)
        Logits of the model. Log-probabilities are not accepted, because they have lost the constant that is scored.
    temperature : float, default 1.0
        Temperature T.

    Returns
    -------
    ndarray of shape (N,)
        Score; higher is more likely out-of-distribution.

    See Also
    --------
    max_logit : Minus the maximum logit.

    Notes
    -----
    .. math:: E(x) = -T \ln \sum_k \exp(z_k / T)

    References
    ----------
    .. [1] Liu, W. et al. (2020). Energy-based out-of-distribution detection. NeurIPS.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decision.ood.energy([[3.0, 0.0], [0.5, 0.0]]).round(4).tolist()
    [-3.0486, -0.9741]
    """
    from scipy.special import logsumexp

    temperature = check_positive(temperature, "temperature")
    return np.asarray(-temperature * logsumexp(_logits(logits) / temperature, axis=1))


def max_logit(logits: Any) -> Floats:
    """Compute minus the maximum logit of each row.

    Parameters
    ----------
    logits : array-like of shape (N, K)
        Logits of the model. Log-probabilities are not accepted.

    Returns
    -------
    ndarray of shape (N,)
        Score; higher is more likely out-of-distribution.

    See Also
    --------
    energy : Free energy of the logits.

    References
    ----------
    .. [1] Hendrycks, D. et al. (2022). Scaling out-of-distribution detection for real-world settings. ICML.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decision.ood.max_logit([[3.0, 0.0], [0.5, 0.0]]).tolist()
    [-3.0, -0.5]
    """
    return np.asarray(-_logits(logits).max(axis=1))


def mutual_information(members: Any, *, input: Literal["prob", "logit"] = "prob") -> Floats:
    """Compute the mutual information between prediction and ensemble member for each row.

    It is the entropy of the mean prediction minus the mean entropy of the members, a measure of their disagreement.

    Parameters
    ----------
    members : array-like of shape (M, N, K)
        Predictions of the members of an ensemble.
    input : {"prob", "logit"}, default "prob"
        Whether `members` holds probabilities or logits.

    Returns
    -------
    ndarray of shape (N,)
        Score; higher is more likely out-of-distribution.

    See Also
    --------
    variance : Variance over the members.

    References
    ----------
    .. [1] Houlsby, N. et al. (2011). Bayesian active learning for classification and preference learning. arXiv:1112.5745.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decision.ood.mutual_information([[[0.9, 0.1]], [[0.1, 0.9]]]).round(4).tolist()
    [0.3681]
    """
    probs = _members(members, input, "mutual_information")
    mean_entropy = np.mean([_entropy(member) for member in probs], axis=0)
    return np.maximum(_entropy(probs.mean(axis=0)) - mean_entropy, 0.0)


def variance(members: Any, *, mean: bool = False, input: Literal["prob", "logit"] = "prob") -> Floats:
    """Compute the variance of the probabilities over the members of an ensemble.

    Parameters
    ----------
    members : array-like of shape (M, N, K)
        Predictions of the members of an ensemble.
    mean : bool, default False
        Whether to average over the classes; otherwise the variances are summed.
    input : {"prob", "logit"}, default "prob"
        Whether `members` holds probabilities or logits.

    Returns
    -------
    ndarray of shape (N,)
        Score; higher is more likely out-of-distribution.

    See Also
    --------
    mutual_information : Mutual information between prediction and member.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decision.ood.variance([[[0.9, 0.1]], [[0.1, 0.9]]]).round(4).tolist()
    [0.32]
    """
    spread = _members(members, input, "variance").var(axis=0)
    return np.asarray(spread.mean(axis=1) if mean else spread.sum(axis=1))


def _probabilities(who: str, y_prob: Any, input: str) -> Floats:
    """Validated probabilities of shape (N, K); no labels are needed."""
    source = read_distributions(who, y_prob, input)
    probs = source.probs.astype(np.float64, copy=False)
    return np.column_stack([1 - probs, probs]) if probs.ndim == 1 else probs


def _entropy(probs: Floats) -> Floats:
    from scipy.special import entr

    return np.asarray(entr(probs).sum(axis=1))


def _logits(values: Any) -> Floats:
    logits = finite_matrix(values, "logits")
    if logits.shape[1] < 2:
        raise ShapeError("logits", "must have a column for each of several classes")
    # These scores depend on the constant of each row of logits, which log-probabilities have lost: every row would score 0.
    if np.allclose(np.logaddexp.reduce(logits, axis=1), 0, atol=1e-6):
        raise InputError("logits", "are log-probabilities, which are normalized", "pass the model's own logits")
    if (logits >= 0).all() and np.allclose(logits.sum(axis=1), 1, atol=1e-6):
        raise InputError("logits", "are probabilities", "pass the model's own logits, or use msp or entropy")
    return logits


def _members(members: Any, input: str, who: str) -> Floats:
    stack = [_probabilities(who, member, input) for member in members]
    if len(stack) < 2:
        raise UndefinedMetricError(who, "requires at least two members")
    if len({member.shape for member in stack}) > 1:
        raise ShapeError("members", "the members differ in shape", "pass the same rows and classes for each member")
    return np.stack(stack)


def finite_matrix(values: Any, argument: str, columns: int | None = None) -> Floats:
    """A finite matrix of shape (N, d); raises unless it has these columns."""
    matrix = numbers(column(values, argument).array, argument).astype(np.float64)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    if 0 in matrix.shape:
        raise ShapeError(argument, f"must have two dimensions; got shape {matrix.shape}")
    if columns is not None and matrix.shape[1] != columns:
        raise ShapeError(argument, f"expected {columns} columns, as in fit; got {matrix.shape[1]}")
    finite = np.isfinite(matrix)
    if not finite.all():
        row = int(np.argmin(finite.all(axis=1)))
        value = matrix[row][~finite[row]][0]
        raise InputError(argument, f"values must be finite; got {value}", "drop or fill the row", row=row)
    return matrix


class OodMahalanobis:
    r"""Squared Mahalanobis distance to the nearest class mean.

    The class-conditional distributions of the features are modelled as Gaussian with a common covariance matrix.

    Parameters
    ----------
    relative : bool, default False
        Whether to subtract the distance to the overall mean under the total covariance (relative Mahalanobis distance [2]_).
    shrinkage : {"auto", "none", "ledoit_wolf", "ridge"}, default "auto"
        Estimator of the covariance: the sample covariance, Ledoit-Wolf shrinkage towards a multiple of the identity, or a ridge of
        a millionth of the mean variance. ``"auto"`` uses Ledoit-Wolf if the sample covariance is singular or there are fewer than ten
        rows per feature.

    See Also
    --------
    OodKnn : Nearest-neighbour distance.
    evaluate : Evaluation of a score.

    Notes
    -----
    .. math:: M(x) = \min_k (x - \mu_k)^\top \Sigma^{-1} (x - \mu_k)

    References
    ----------
    .. [1] Lee, K. et al. (2018). A simple unified framework for detecting out-of-distribution samples and adversarial attacks. NeurIPS.
    .. [2] Ren, J. et al. (2021). A simple fix to Mahalanobis distance for improving near-OOD detection. arXiv:2106.09022.
    .. [3] Ledoit, O. and Wolf, M. (2004). A well-conditioned estimator for large-dimensional covariance matrices. JMVA 88.

    Examples
    --------
    >>> import calibrant as cal
    >>> features = [[0, 0], [1, 0], [0, 1], [4, 4], [5, 4], [4, 5]]
    >>> fitted = cal.decision.ood.OodMahalanobis(shrinkage="none").fit(features, [0, 0, 0, 1, 1, 1])
    >>> fitted.score([[0, 0], [2, 2]]).round(6).tolist()
    [2.0, 50.0]
    """

    def __init__(
        self, *, relative: bool = False, shrinkage: Literal["auto", "none", "ledoit_wolf", "ridge"] = "auto"
    ) -> None:
        check_choice(shrinkage, "shrinkage", ("auto", "none", "ledoit_wolf", "ridge"))
        self.relative = relative
        self.shrinkage = shrinkage

    def fit(self, features: Any, y: Any) -> Self:
        """Estimate the class means and the covariance.

        Parameters
        ----------
        features : array-like of shape (N, d)
            Features of training rows.
        y : array-like of shape (N,)
            Class of each training row.

        Returns
        -------
        OodMahalanobis
            The fitted score.
        """
        f, labels = finite_matrix(features, "features"), column(y, "y").array
        if labels.ndim != 1 or len(labels) != len(f):
            raise ShapeError("y", f"expected one class for each of {len(f)} rows")
        self.classes_, place = np.unique(labels, return_inverse=True)
        sums = np.column_stack([np.bincount(place, values) for values in f.T])
        self.means_ = sums / np.bincount(place)[:, None]
        self.factor_ = _factor(f - self.means_[place], self.shrinkage)
        self.mean_ = f.mean(axis=0)
        self.whole_factor_ = _factor(f - self.mean_, self.shrinkage) if self.relative else None
        return self

    def score(self, features: Any) -> Floats:
        """Compute the distance of each row from the training data.

        Parameters
        ----------
        features : array-like of shape (N, d)
            Features.

        Returns
        -------
        ndarray of shape (N,)
            Score; higher is more likely out-of-distribution.
        """
        if not hasattr(self, "means_"):
            raise NotFittedError("OodMahalanobis", "is not fitted", "call fit(features, y) first")
        f = finite_matrix(features, "features", self.means_.shape[1])
        centred, centres = _whiten(f - self.mean_, self.factor_), _whiten(self.means_ - self.mean_, self.factor_)
        nearest = np.full(len(f), math.inf)
        for centre in centres.T:
            nearest = np.minimum(nearest, np.square(centred - centre[:, None]).sum(axis=0))
        if self.whole_factor_ is None:
            return nearest
        return nearest - np.square(_whiten(f - self.mean_, self.whole_factor_)).sum(axis=0)

    def __repr__(self) -> str:
        return f"OodMahalanobis(relative={self.relative}, shrinkage={self.shrinkage!r})"


def _whiten(off: Floats, factor: Floats) -> Floats:
    """Rows, as columns, divided by the Cholesky factor of their covariance."""
    from scipy.linalg import solve_triangular

    return np.asarray(solve_triangular(factor, off.T, lower=True))


def _factor(off: Floats, shrinkage: str) -> Floats:
    """Lower Cholesky factor of the covariance of centred rows."""
    n = len(off)
    fourth = float(np.square(np.square(off).sum(axis=1)).sum()) / n
    spread = off.T @ off / n
    try:
        factor = np.linalg.cholesky(_shrunk_covariance(spread, fourth, n, shrinkage))
    except np.linalg.LinAlgError:
        factor = np.zeros_like(spread)
    # Rounding may leave a tiny variance in a direction without variation.
    if float(np.diag(factor).min()) ** 2 <= 1e-14 * float(np.trace(spread)) / len(spread):
        raise UndefinedMetricError(
            "OodMahalanobis", "the covariance of the features is singular", "use shrinkage='auto'"
        )
    return np.asarray(factor, dtype=np.float64)


def _shrunk_covariance(spread: Floats, fourth: float, n: int, shrinkage: str) -> Floats:
    """The covariance of `n` centred rows under a shrinkage.

    `fourth` is the mean fourth power of the lengths of the rows, from which Ledoit and Wolf (2004) determine the shrinkage intensity.
    """
    d = len(spread)
    scale = float(np.trace(spread)) / d
    if scale == 0:
        raise UndefinedMetricError("OodMahalanobis", "the features are constant within classes")
    if shrinkage == "auto":
        least = float(np.linalg.eigvalsh(spread)[0])
        shrinkage = "ledoit_wolf" if n < 10 * d or least <= 1e-12 * scale else "none"
    if shrinkage == "none":
        return spread
    sphere = np.eye(d)
    if shrinkage == "ridge":
        return spread + 1e-6 * scale * sphere
    square = float(np.square(spread).sum())
    distance, noise = square / d - scale**2, (fourth - square) / (n * d)
    share = 1.0 if distance <= 0 else min(max(noise / distance, 0.0), 1.0)
    # With many rows the shrinkage vanishes; a singular covariance still needs a little.
    return (1 - share) * spread + max(share, 1e-9) * scale * sphere


class OodKnn:
    """Distance to the k-th nearest training row.

    Parameters
    ----------
    k : int, default 50
        Rank of the neighbour; at most the number of training rows.
    normalise : bool, default True
        Whether to scale every row of features to unit length first.

    See Also
    --------
    OodMahalanobis : Distance to class means.
    evaluate : Evaluation of a score.

    References
    ----------
    .. [1] Sun, Y. et al. (2022). Out-of-distribution detection with deep nearest neighbors. ICML.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decision.ood.OodKnn(k=1, normalise=False).fit([[0, 0], [3, 4]]).score([[0, 0], [3, 0]]).tolist()
    [0.0, 3.0]
    """

    def __init__(self, *, k: int = 50, normalise: bool = True) -> None:
        self.k = check_whole(k, "k")
        self.normalise = normalise

    def fit(self, features: Any, y: Any = None) -> Self:
        """Store the training features.

        Parameters
        ----------
        features : array-like of shape (N, d)
            Features of training rows.
        y : object, optional
            Ignored; present for consistency with `OodMahalanobis`.

        Returns
        -------
        OodKnn
            The fitted score.
        """
        self.features_ = self._read(features)
        return self

    def score(self, features: Any, *, exclude_self: bool = False) -> Floats:
        """Compute the distance of each row to its k-th nearest training row.

        Parameters
        ----------
        features : array-like of shape (N, d)
            Features.
        exclude_self : bool, default False
            Whether the rows are the training rows, each of which is then not its own neighbour.

        Returns
        -------
        ndarray of shape (N,)
            Score; higher is more likely out-of-distribution.
        """
        if not hasattr(self, "features_"):
            raise NotFittedError("OodKnn", "is not fitted", "call fit(features) first")
        f = self._read(features, self.features_.shape[1])
        most = len(self.features_) - (1 if exclude_self else 0)
        if most < 1:
            raise UndefinedMetricError("OodKnn", "a single training row has no neighbours")
        return self._kth_distance(f, min(self.k, most) + (1 if exclude_self else 0))

    def __repr__(self) -> str:
        return f"OodKnn(k={self.k}, normalise={self.normalise})"

    def _read(self, features: Any, columns: int | None = None) -> Floats:
        f = finite_matrix(features, "features", columns)
        if not self.normalise:
            return f
        length = np.linalg.norm(f, axis=1)
        if not length.all():
            row = int(np.argmin(length))
            raise InputError("features", "a vector of length 0 cannot be normalised", "use normalise=False", row=row)
        return f / length[:, None]

    def _kth_distance(self, f: Floats, k: int) -> Floats:
        known = self.features_
        if known.shape[1] <= TREE_FEATURES:
            from scipy.spatial import cKDTree

            return np.asarray(cKDTree(known).query(f, [k])[0][:, 0])
        from scipy.spatial.distance import cdist

        def work(start: int, stop: int) -> Floats:
            return np.partition(cdist(f[start:stop], known), k - 1, axis=1)[:, k - 1]

        step = rows_per_block(len(known), SEVERAL_BLOCKS)
        return np.concatenate(map_blocks(work, len(f), step, columns=len(known)))
