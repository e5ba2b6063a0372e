"""Out-of-distribution (OOD) scores for tensors, on their device; a higher score is less like the training data.

As for arrays, a score ranks rows; its performance is known only for the out-of-distribution data it was evaluated on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ..decision.ood import scores
from ..decision.ood.scores import check_matrix
from ..errors import ShapeError, UndefinedMetricError
from ..util.checks import check_positive
from ..util.texts import parameter_texts
from ..views.keywords import documents_keywords
from .rows import as_numbers, at_least_single, blocks, check_flat, check_logits, wide

documents_score = documents_keywords(table=parameter_texts("calibrant.torch")["ood"])


@documents_score
def ood_msp(logits: Tensor) -> Tensor:
    """Compute one minus the maximum softmax probability of each row.

    The baseline of out-of-distribution detection; accurate also where the result is close to 0.

    Parameters
    ----------
    logits

    Returns
    -------
    torch.Tensor of shape (N,)
        The scores.

    See Also
    --------
    ood_energy : Often better for networks.

    References
    ----------
    .. [1] Hendrycks and Gimpel (2017): A baseline for detecting misclassified and out-of-distribution examples in neural
       networks. ICLR.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import ood_msp
    >>> ood_msp(torch.tensor([[0.75, 0.25], [0.5, 0.5]]).log()).tolist()
    [0.25, 0.5]
    """
    share = torch.exp(_log_probs(logits))
    top = share.argmax(dim=-1, keepdim=True)
    return share.scatter(-1, top, 0.0).sum(dim=-1)


@documents_score
def ood_entropy(logits: Tensor, *, relative: bool = False) -> Tensor:
    r"""Compute the entropy of the predicted probabilities of each row.

    Parameters
    ----------
    logits
    relative : bool, default False
        Whether to divide by the largest possible value, ln K; otherwise in nats.

    Returns
    -------
    torch.Tensor of shape (N,)
        The scores.

    See Also
    --------
    ood_msp : Uses the largest probability only.

    Notes
    -----
    .. math:: H = -\sum_k p_k \ln p_k

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import ood_entropy
    >>> ood_entropy(torch.tensor([[0.5, 0.5], [1.0, 0.0]]).log(), relative=True).abs().tolist()
    [1.0, 0.0]
    """
    logs = _log_probs(logits)
    return _entropy(logs) / (math.log(logs.shape[-1]) if relative else 1.0)


@documents_score
def ood_energy(logits: Tensor, *, temperature: float = 1.0) -> Tensor:
    r"""Compute the free energy of the logits of each row.

    It needs the logits of the model: logarithms of probabilities have lost the constant that this score uses.

    Parameters
    ----------
    logits : torch.Tensor of shape (N, K)
        Logits of the model.
    temperature : float, default 1.0
        Temperature T, above 0.

    Returns
    -------
    torch.Tensor of shape (N,)
        The scores.

    See Also
    --------
    ood_max_logit : Its limit for small temperatures.

    Notes
    -----
    .. math:: E = -T \ln \sum_k e^{z_k / T}

    References
    ----------
    .. [1] Liu, Wang, Owens and Li (2020): Energy-based out-of-distribution detection. NeurIPS.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import ood_energy
    >>> ood_energy(torch.tensor([[5.0, 0.0], [0.5, 0.0]]).double()).round(decimals=3).tolist()
    [-5.007, -0.974]
    """
    t = check_positive(temperature, "temperature")
    return -t * torch.logsumexp(_checked(logits) / t, dim=-1)


@documents_score
def ood_max_logit(logits: Tensor) -> Tensor:
    """Compute minus the largest logit of each row.

    It needs the logits of the model: logarithms of probabilities have lost the constant that this score uses.

    Parameters
    ----------
    logits : torch.Tensor of shape (N, K)
        Logits of the model.

    Returns
    -------
    torch.Tensor of shape (N,)
        The scores.

    See Also
    --------
    ood_energy : A smooth version.

    References
    ----------
    .. [1] Hendrycks et al. (2022): Scaling out-of-distribution detection for real-world settings. ICML.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import ood_max_logit
    >>> ood_max_logit(torch.tensor([[5.0, 0.0], [0.5, 0.0]])).tolist()
    [-5.0, -0.5]
    """
    return -_checked(logits).max(dim=-1).values


@documents_score
def ood_mutual_information(members: Tensor | Sequence[Tensor]) -> Tensor:
    r"""Compute the mutual information between prediction and ensemble member of each row.

    It measures disagreement between members (epistemic uncertainty).

    Parameters
    ----------
    members

    Returns
    -------
    torch.Tensor of shape (N,)
        The scores, in nats.

    See Also
    --------
    ood_variance : Variance over members.

    Notes
    -----
    The entropy of the mean prediction minus the mean entropy, :math:`H(\bar{p}) - \frac{1}{M} \sum_m H(p_m)`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import ood_mutual_information
    >>> members = torch.tensor([[[0.9, 0.1], [0.5, 0.5]], [[0.1, 0.9], [0.5, 0.5]]], dtype=torch.float64)
    >>> ood_mutual_information(members.log()).round(decimals=3).tolist()
    [0.368, 0.0]
    """
    logs = _members(members, "ood_mutual_information")
    mean = torch.logsumexp(logs, dim=0) - math.log(len(logs))
    return (_entropy(mean) - _entropy(logs).mean(dim=0)).clamp(min=0.0)


@documents_score
def ood_variance(members: Tensor | Sequence[Tensor], *, mean: bool = False) -> Tensor:
    """Compute the variance of the probabilities over the members of an ensemble.

    Parameters
    ----------
    members
    mean : bool, default False
        Whether to average over classes; otherwise the variances are summed.

    Returns
    -------
    torch.Tensor of shape (N,)
        The scores.

    See Also
    --------
    ood_mutual_information : Based on entropies.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import ood_variance
    >>> members = torch.tensor([[[0.9, 0.1], [0.5, 0.5]], [[0.1, 0.9], [0.5, 0.5]]], dtype=torch.float64)
    >>> ood_variance(members.log()).round(decimals=3).tolist()
    [0.32, 0.0]
    """
    spread = torch.exp(_members(members, "ood_variance")).var(dim=0, correction=0)
    return spread.mean(dim=-1) if mean else spread.sum(dim=-1)


def _entropy(logs: Tensor) -> Tensor:
    return -torch.where(logs > -math.inf, torch.exp(logs) * logs, 0.0).sum(dim=-1)


def _checked(logits: Tensor) -> Tensor:
    check_logits(logits)
    check_flat(logits)
    return at_least_single(logits)


def _log_probs(logits: Tensor) -> Tensor:
    return torch.log_softmax(_checked(logits), dim=-1)


def _members(members: Tensor | Sequence[Tensor], name: str) -> Tensor:
    """(M, N, K) log-probabilities."""
    if len(members) < 2:
        raise UndefinedMetricError(name, "requires at least two members")
    logs = torch.stack([_log_probs(member) for member in members])
    if logs.ndim != 3:
        raise ShapeError("members", f"must have three dimensions (members, rows, classes); got {tuple(logs.shape)}")
    return logs


def _features(features: Any, columns: int | None = None) -> Tensor:
    """(N, d) finite numbers in double precision, because covariances in single precision are easily singular."""
    if not isinstance(features, Tensor) or features.ndim != 2 or not features.numel():
        shape = tuple(features.shape) if isinstance(features, Tensor) else type(features).__name__
        raise ShapeError("features", f"must be a tensor of rows and columns; got {shape}", "use features.flatten(1)")
    return check_matrix(features.detach().to(wide(features.device)), "features", columns)


class OodMahalanobis(scores.OodMahalanobis):
    r"""Squared Mahalanobis distance of features to the nearest class mean, for tensors.

    As `calibrant.decision.ood.OodMahalanobis`, computed on the device of the features, in double precision where it is
    supported.

    Parameters
    ----------
    relative : bool, default False
        Whether to subtract the distance to the mean of all rows, with their covariance.
    shrinkage : {"auto", "none", "ledoit_wolf", "ridge"}, default "auto"
        Regularization of the covariance: none, shrinkage towards a multiple of the identity, or a millionth of the
        mean variance added to the diagonal. ``"auto"`` is ``"ledoit_wolf"`` where the covariance is singular or there
        are fewer than ten rows per feature, else ``"none"``.

    See Also
    --------
    OodKnn : Makes no assumption on the distribution of the features.

    Notes
    -----
    With class means :math:`\mu_k` and the common covariance :math:`\Sigma`,
    :math:`\min_k (f - \mu_k)^\top \Sigma^{-1} (f - \mu_k)`.

    References
    ----------
    .. [1] Lee, Lee, Lee and Shin (2018): A simple unified framework for detecting out-of-distribution samples and
       adversarial attacks. NeurIPS.
    .. [2] Ren, Fort, Liu, Roy, Padhy and Lakshminarayanan (2021): A simple fix to Mahalanobis distance for improving
       near-OOD detection. arXiv:2106.09022

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import OodMahalanobis
    >>> features = torch.tensor([[0.0, 0], [1, 0], [0, 1], [4, 4], [5, 4], [4, 5]])
    >>> fitted = OodMahalanobis(shrinkage="none").fit(features, torch.tensor([0, 0, 0, 1, 1, 1]))
    >>> fitted.score(torch.tensor([[0.0, 0], [2, 2]])).round(decimals=6).tolist()
    [2.0, 50.0]
    """

    def _matrix(self, features: Any, columns: int | None = None) -> Tensor:
        return _features(features, columns)

    def _labels(self, y: Any) -> Tensor:
        return as_numbers(y, "y")


class OodKnn(scores.OodKnn):
    """Distance of features to the k-th nearest training row, for tensors.

    As `calibrant.decision.ood.OodKnn`, by exhaustive search on the device of the features.

    Parameters
    ----------
    k : int, default 50
        Rank of the neighbour, at most the number of training rows.
    normalise : bool, default True
        Whether to scale each row of features to length 1 first.

    See Also
    --------
    OodMahalanobis : Distance to class means.

    References
    ----------
    .. [1] Sun, Ming, Zhu and Li (2022): Out-of-distribution detection with deep nearest neighbors. ICML.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import OodKnn
    >>> known, asked = torch.tensor([[0.0, 0], [3, 4]]), torch.tensor([[0.0, 0], [3, 0]])
    >>> OodKnn(k=1, normalise=False).fit(known).score(asked).tolist()
    [0.0, 3.0]
    """

    def _matrix(self, features: Any, columns: int | None = None) -> Tensor:
        return _features(features, columns)

    def _kth_distance(self, f: Tensor, k: int) -> Tensor:
        known = self.features_.to(f)
        # Not by a product of matrices, whose rounding may exceed the distance of rows far from the origin.
        exact = partial(torch.cdist, x2=known, compute_mode="donot_use_mm_for_euclid_dist")
        nearest = [exact(f[part]).topk(k, dim=1, largest=False).values[:, -1] for part in blocks(len(f), len(known))]
        return torch.cat(nearest)
