"""Out-of-distribution (OOD) scores for tensors, on their device; a higher score is less like the training data.

As for arrays, a score ranks rows; its performance is known only for the out-of-distribution data it was evaluated on.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor

from ..decision.ood import scores
from ..errors import (
    InputError,
    InputTypeError,
    ProbabilityError,
    ShapeError,
    UndefinedMetricError,
)
from ..util.checks import check_choice, check_positive
from ..views.keywords import documents_keywords
from .rows import as_numbers, at_least_single, blocks, check_flat, check_logits, wide

Input = Literal["logit", "prob"]
documents_score = documents_keywords(
    table={
        "logits": ("torch.Tensor of shape (N, K)", 'Logits, or probabilities with ``input="prob"``.'),
        "members": (
            "torch.Tensor of shape (M, N, K) or sequence of M tensors",
            'Logits of each ensemble member, or probabilities with ``input="prob"``; at least two members.',
        ),
        "input": ('{"logit", "prob"}, default "logit"', "What the tensor holds."),
        "check": (
            "bool, default True",
            "Whether to check the values, which synchronizes with the device; False inside a graph or a loop.",
        ),
    }
)


@documents_score
def ood_msp(logits: Tensor, *, input: Input = "logit", check: bool = True) -> Tensor:
    """Compute one minus the maximum softmax probability of each row.

    The baseline of out-of-distribution detection; accurate also where the result is close to 0.

    Parameters
    ----------
    logits
    input
    check

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
    >>> ood_msp(torch.tensor([[0.75, 0.25], [0.5, 0.5]]), input="prob").tolist()
    [0.25, 0.5]
    """
    share = torch.exp(_log_probs(logits, input, check, "logits"))
    top = share.argmax(dim=-1, keepdim=True)
    return share.scatter(-1, top, 0.0).sum(dim=-1)


@documents_score
def ood_entropy(logits: Tensor, *, relative: bool = False, input: Input = "logit", check: bool = True) -> Tensor:
    r"""Compute the entropy of the predicted probabilities of each row.

    Parameters
    ----------
    logits
    relative : bool, default False
        Whether to divide by the largest possible value, ln K; otherwise in nats.
    input
    check

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
    >>> ood_entropy(torch.tensor([[0.5, 0.5], [1.0, 0.0]]), relative=True, input="prob").abs().tolist()
    [1.0, 0.0]
    """
    logs = _log_probs(logits, input, check, "logits")
    return _entropy(logs) / (math.log(logs.shape[-1]) if relative else 1.0)


@documents_score
def ood_energy(logits: Tensor, *, temperature: float = 1.0, check: bool = True) -> Tensor:
    r"""Compute the free energy of the logits of each row.

    It needs the logits of the model: logarithms of probabilities have lost the constant that this score uses.

    Parameters
    ----------
    logits : torch.Tensor of shape (N, K)
        Logits.
    temperature : float, default 1.0
        Temperature T, above 0.
    check

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
    return -t * torch.logsumexp(_logits(logits, check) / t, dim=-1)


@documents_score
def ood_max_logit(logits: Tensor, *, check: bool = True) -> Tensor:
    """Compute minus the largest logit of each row.

    It needs the logits of the model: logarithms of probabilities have lost the constant that this score uses.

    Parameters
    ----------
    logits : torch.Tensor of shape (N, K)
        Logits.
    check

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
    return -_logits(logits, check).max(dim=-1).values


@documents_score
def ood_mutual_information(members: Tensor, *, input: Input = "logit", check: bool = True) -> Tensor:
    r"""Compute the mutual information between prediction and ensemble member of each row.

    It measures disagreement between members (epistemic uncertainty).

    Parameters
    ----------
    members
    input
    check

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
    >>> ood_mutual_information(members, input="prob").round(decimals=3).tolist()
    [0.368, 0.0]
    """
    logs = _members(members, input, check, "ood_mutual_information")
    mean = torch.logsumexp(logs, dim=0) - math.log(len(logs))
    return (_entropy(mean) - _entropy(logs).mean(dim=0)).clamp(min=0.0)


@documents_score
def ood_variance(members: Tensor, *, mean: bool = False, input: Input = "logit", check: bool = True) -> Tensor:
    """Compute the variance of the probabilities over the members of an ensemble.

    Parameters
    ----------
    members
    mean : bool, default False
        Whether to average over classes; otherwise the variances are summed.
    input
    check

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
    >>> ood_variance(members, input="prob").round(decimals=3).tolist()
    [0.32, 0.0]
    """
    spread = torch.exp(_members(members, input, check, "ood_variance")).var(dim=0, correction=0)
    return spread.mean(dim=-1) if mean else spread.sum(dim=-1)


def _entropy(logs: Tensor) -> Tensor:
    return -torch.where(logs > -math.inf, torch.exp(logs) * logs, 0.0).sum(dim=-1)


def _log_probs(values: Tensor, input: str, check: bool, argument: str) -> Tensor:
    check_choice(input, "input", ("prob", "logit"))
    check_logits(values, argument=argument)
    if argument == "logits":
        check_flat(values)
    numbers = at_least_single(values)
    if input == "logit":
        if check:
            _check_rows(~torch.isnan(numbers).any(-1) & (numbers < math.inf).all(-1), argument, "logits must be finite")
        return torch.log_softmax(numbers, dim=-1)
    if check:
        near = (
            1e-2 if values.dtype in (torch.float16, torch.bfloat16) else 1e-4 if values.dtype == torch.float32 else 1e-6
        )
        fine = ((numbers >= 0) & (numbers <= 1)).all(-1) & ((numbers.sum(-1) - 1).abs() <= near)
        if not bool(fine.all()):
            raise ProbabilityError(
                argument,
                "rows must be probabilities that sum to 1",
                "use input='logit' if these are logits",
                row=_first_row(~fine),
            )
    return torch.log(numbers)


def _check_rows(fine: Tensor, argument: str, problem: str, remedy: str = "") -> None:
    if not bool(fine.all()):
        raise InputError(argument, problem, remedy, row=_first_row(~fine))


def _first_row(wrong: Tensor) -> int:
    return int(wrong.flatten().to(torch.int8).argmax())


def _logits(values: Tensor, check: bool) -> Tensor:
    check_logits(values)
    check_flat(values)
    logits = at_least_single(values)
    if not check or not len(logits):
        return logits
    _check_rows(torch.isfinite(logits).all(-1), "logits", "logits must be finite")
    near = 1e-6 if logits.dtype == torch.float64 else 1e-5
    level = torch.logsumexp(logits, dim=-1)
    # These scores depend on the constant of a row, which probabilities have lost: every row would score 0.
    if float(level.abs().max()) <= near:
        remedy = "pass the model's own logits"
        raise InputError("logits", "are log-probabilities, which are normalized", remedy)
    total = logits.sum(dim=-1)
    if bool((logits >= 0).all()) and float((total - 1).abs().max()) <= near:
        raise InputError("logits", "are probabilities", "pass the model's own logits, or use ood_msp or ood_entropy")
    return logits


def _members(members: Any, input: str, check: bool, who: str) -> Tensor:
    if not isinstance(members, Tensor):
        given = list(members) if isinstance(members, (list, tuple)) else [members]
        odd = [type(member).__name__ for member in given if not isinstance(member, Tensor)]
        if odd:
            raise InputTypeError("members", f"must be torch tensors; got {odd[0]}", "use torch.as_tensor(...)")
        if len({tuple(member.shape) for member in given}) > 1:
            raise ShapeError("members", "the members differ in shape", "pass the same rows and classes for each member")
        members = torch.stack(given) if given else torch.empty(0, 0, 0)
    if members.ndim != 3:
        raise ShapeError(
            "members", f"must have three dimensions (members, rows, classes); got shape {tuple(members.shape)}"
        )
    if len(members) < 2:
        raise UndefinedMetricError(who, "requires at least two members")
    return _log_probs(members, input, check, "members")


def _features(features: Any, columns: int | None = None) -> Tensor:
    """(N, d) finite numbers in double precision, because covariances in single precision are easily singular."""
    if not isinstance(features, Tensor) or features.ndim != 2 or not features.numel():
        shape = tuple(features.shape) if isinstance(features, Tensor) else type(features).__name__
        raise ShapeError("features", f"must be a tensor of rows and columns; got {shape}", "use features.flatten(1)")
    if columns is not None and features.shape[1] != columns:
        raise ShapeError("features", f"expected {columns} columns, as in fit; got {features.shape[1]}")
    found = features.detach().to(wide(features.device))
    _check_rows(torch.isfinite(found).all(-1), "features", "values must be finite")
    return found


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

    @torch.no_grad()
    def _learn(self, f: Tensor, labels: Tensor) -> None:
        self.classes_, place = torch.unique(labels.to(f.device), return_inverse=True)
        sums = f.new_zeros((len(self.classes_), f.shape[1])).index_add_(0, place, f)
        self.means_ = sums / torch.bincount(place, minlength=len(self.classes_))[:, None]
        self.mean_ = f.mean(dim=0)
        self.factor_ = _factor(f, self.means_, place, self.shrinkage)
        whole = torch.zeros_like(place)
        self.whole_factor_ = _factor(f, self.mean_[None], whole, self.shrinkage) if self.relative else None

    @torch.no_grad()
    def _distances(self, f: Tensor) -> Tensor:
        # Centred on the mean of the training rows, to reduce cancellation in the difference of squares.
        centres = _whitened((self.means_ - self.mean_).to(f), self.factor_.to(f))
        return torch.cat([self._block(f[part], centres) for part in blocks(len(f), sum(self.means_.shape))])

    def _block(self, f: Tensor, centres: Tensor) -> Tensor:
        off = f - self.mean_.to(f)
        seen = _whitened(off, self.factor_.to(f))
        found = seen.square().sum(1, keepdim=True) + centres.square().sum(1) - 2 * (seen @ centres.T)
        score = found.min(dim=1).values.clamp(min=0.0)
        if self.whole_factor_ is not None:
            score = score - _whitened(off, self.whole_factor_.to(f)).square().sum(1)
        return score


def _whitened(off: Tensor, factor: Tensor) -> Tensor:
    return torch.linalg.solve_triangular(factor, off.T, upper=False).T


def _factor(f: Tensor, means: Tensor, place: Tensor, shrinkage: str) -> Tensor:
    """Lower Cholesky factor of the covariance of the rows about their means."""
    n, d = f.shape
    spread, fourth = f.new_zeros((d, d)), f.new_zeros(())
    for part in blocks(n, d):
        off = f[part] - means[place[part]]
        spread += off.T @ off
        fourth += off.square().sum(dim=1).square().sum()
    scale = float(torch.trace(spread / n)) / d
    spread = scores.shrunk_covariance(torch, spread / n, float(fourth / n), n, shrinkage)
    factor, info = torch.linalg.cholesky_ex(spread)
    # Rounding may leave a tiny variance in a direction without variation.
    if int(info) or float(torch.diagonal(factor).min()) ** 2 <= 1e-14 * scale:
        raise scores.singular_covariance()
    return factor


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

    def _read(self, features: Any, columns: int | None = None) -> Tensor:
        f = _features(features, columns)
        if not self.normalise:
            return f
        length = torch.linalg.vector_norm(f, dim=1)
        _check_rows(length > 0, "features", "features of length 0 cannot be normalised", "use normalise=False")
        return f / length[:, None]

    @torch.no_grad()
    def _kth_distance(self, f: Tensor, k: int) -> Tensor:
        # Centred on the mean of the training rows, to reduce cancellation in the difference of squares.
        known, middle = self.features_.to(f), self.features_.to(f).mean(dim=0)
        known, f = known - middle, f - middle
        return torch.cat([_kth_distance(f[part], known, k) for part in blocks(len(f), len(known))])


def _kth_distance(f: Tensor, known: Tensor, k: int) -> Tensor:
    """Find the neighbour by a matrix product; where its rounding error matters, compute all distances directly."""
    near = torch.cdist(f, known).topk(k, dim=1, largest=False).indices[:, -1]
    found = torch.linalg.vector_norm(f - known[near], dim=1)
    eps = torch.finfo(f.dtype).eps
    rounding = eps * f.shape[1] * (f.square().sum(dim=1) + known.square().sum(dim=1).max())
    loose = rounding > math.sqrt(eps) * found.square()
    if bool(loose.any()):
        exact = torch.cdist(f[loose], known, compute_mode="donot_use_mm_for_euclid_dist")
        found[loose] = exact.topk(k, dim=1, largest=False).values[:, -1]
    return found
