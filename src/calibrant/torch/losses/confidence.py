"""Losses that act on confidence itself: its entropy, the length of the logits, and certainty against accuracy."""

from __future__ import annotations

import torch
from torch import Tensor

from .base import LossModule, check_number, gather_rows, in_full_precision, lowest

__all__ = [
    "AvUCLoss",
    "ConfidencePenaltyLoss",
    "LogitNormLoss",
    "avuc_loss",
    "confidence_penalty_loss",
    "logit_norm_loss",
]

# Added to soft counts, so that a batch without certain right or uncertain wrong rows has a finite value.
COUNT = 1e-10


@in_full_precision
def confidence_penalty_loss(
    input: Tensor,
    target: Tensor,
    *,
    beta: float = 0.1,
    threshold: float | None = None,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Cross-entropy minus a share of the entropy of the forecasts.

    Use it in place of cross-entropy. It helps networks that fit their training rows perfectly. It costs nothing to
    compute. It does not know whether confidence is earned: it lowers it everywhere, and too large a beta makes a
    model underconfident. The value can be negative.

    Parameters
    ----------
    input, target, weight, ignore_index, reduction
        As in `torch.nn.functional.cross_entropy`.
    beta : float
        Share of the entropy, from 0 up; 0.1 in the paper for images.
    threshold : float, optional
        Entropy in nats from which on nothing is gained: the term is ``beta * max(0, threshold - entropy)``.

    References
    ----------
    Pereyra, Tucker, Chorowski, Kaiser and Hinton (2017): Regularizing neural networks by penalizing confident output
    distributions. ICLR workshop. arXiv:1701.06548

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import confidence_penalty_loss
    >>> round(confidence_penalty_loss(torch.zeros(1, 2), torch.tensor([0])).item(), 6)
    0.623832
    """
    factor = check_number(beta, "beta")
    enough = None if threshold is None else check_number(threshold, "threshold")
    rows = gather_rows(input, target, weight, ignore_index, reduction)
    term = -rows.entropy if enough is None else torch.relu(enough - rows.entropy)
    return rows.reduce(rows.cross_entropy() + factor * rows.row_weight * term)


class ConfidencePenaltyLoss(LossModule):
    """Cross-entropy minus a share of the entropy of the forecasts; see `confidence_penalty_loss`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import ConfidencePenaltyLoss
    >>> round(ConfidencePenaltyLoss(beta=1)(torch.zeros(1, 2), torch.tensor([0])).item(), 6)
    0.0
    """

    loss = staticmethod(confidence_penalty_loss)


@in_full_precision
def logit_norm_loss(
    input: Tensor,
    target: Tensor,
    *,
    temperature: float = 0.04,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Cross-entropy of logits divided by their length and a temperature.

    Use it in place of cross-entropy. It helps to tell rows of another distribution apart: the network cannot lower
    the loss by growing its logits. It costs one norm per row. At test time the paper takes the plain logits; their
    softmax is then not what was trained, so fit a temperature on held-out rows before reading it as a probability.

    Parameters
    ----------
    input, target, weight, ignore_index, reduction
        As in `torch.nn.functional.cross_entropy`.
    temperature : float
        Above 0; 0.04 in the paper. Logits reach 1 / temperature.

    References
    ----------
    Wei, Xie, Cheng, Feng, An and Li (2022): Mitigating neural network overconfidence with logit normalization. ICML.
    arXiv:2205.09310

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import logit_norm_loss
    >>> logits = torch.tensor([[300.0, 400.0]])
    >>> round(logit_norm_loss(logits, torch.tensor([1]), temperature=1.0).item(), 6)
    0.598139
    """
    warmth = check_number(temperature, "temperature", above=True)
    rows = gather_rows(input, target, weight, ignore_index, reduction)
    # A length below the precision of the logits is noise; dividing by it would overflow half precision.
    least = max(1e-7, torch.finfo(input.dtype).eps)
    # A class that is shut out has no length, and stays as far below the others as it was.
    length = torch.linalg.vector_norm(rows.logits.masked_fill(rows.shut, 0.0), dim=1, keepdim=True).clamp(min=least)
    scaled = rows.logits / (length * warmth)
    return rows.reduce(rows.cross_entropy(torch.where(rows.shut, lowest(scaled), scaled)))


class LogitNormLoss(LossModule):
    """Cross-entropy of logits of equal length; see `logit_norm_loss`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import LogitNormLoss
    >>> round(LogitNormLoss(temperature=1.0)(torch.tensor([[3.0, 4.0]]), torch.tensor([1])).item(), 6)
    0.598139
    """

    loss = staticmethod(logit_norm_loss)


@in_full_precision
def avuc_loss(
    input: Tensor,
    target: Tensor,
    *,
    threshold: float | None = None,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Logarithm of 1 + (right but uncertain + wrong but certain) / (right and certain + wrong and uncertain), soft counts (AvUC).

    Add it to cross-entropy, with beta 3 as in the paper, after some epochs without it. It helps to make wrong rows
    uncertain and right ones certain, which serves abstention more than calibration. It costs nothing to compute. It
    jumps where an entropy crosses the threshold, and has no gradient for a batch that is all right and all certain.

    Rows count by their confidence c and entropy u: right and certain c (1 - tanh u), right and uncertain c tanh u,
    wrong and certain (1 - c)(1 - tanh u), wrong and uncertain (1 - c) tanh u. It needs class indices.

    Parameters
    ----------
    input, target, weight, ignore_index
        As in `torch.nn.functional.cross_entropy`.
    threshold : float, optional
        Entropy in nats above which a row is uncertain; fix it after the first epochs as the paper does. None takes
        the mean of the mean entropies of right and of wrong rows of this batch.
    reduction : {'mean', 'sum'}
        ``'sum'`` is the value times the weight of the batch.

    References
    ----------
    Krishnan and Tickoo (2020): Improving model calibration with accuracy versus uncertainty optimization. NeurIPS.
    arXiv:2012.07923

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import avuc_loss
    >>> logits = torch.tensor([[4.0, 0.0], [0.1, 0.0]])
    >>> round(avuc_loss(logits, torch.tensor([0, 1])).item(), 4)
    0.0
    """
    given = None if threshold is None else check_number(threshold, "threshold")
    rows = gather_rows(input, target, weight, ignore_index, reduction)
    right = rows.logits.argmax(1) == rows.right_labels("avuc_loss")
    entropy = rows.entropy.detach()
    certain = entropy <= (_middle(entropy, right, rows.share) if given is None else given)
    confidence = rows.probs.amax(1)
    # 1 - confidence of a sure row is lost to rounding; the largest class has the least for the others.
    rest = rows.log_others.amin(1).exp()
    doubt = torch.tanh(rows.entropy)
    count = rows.row_weight * torch.where(right, confidence, rest) * torch.where(certain, 1 - doubt, doubt)
    good, bad = ((count * kind).sum() for kind in (right == certain, right != certain))
    return rows.whole(torch.log1p(bad / (good + COUNT)), "avuc_loss")


def _middle(values: Tensor, right: Tensor, share: Tensor) -> Tensor:
    """Halfway between the means over right and over wrong rows; the mean of all where one kind is missing."""
    weights = [share * right, share * ~right]
    totals = [part.sum() for part in weights]
    means = [(part * values).sum() / total.clamp(min=COUNT) for part, total in zip(weights, totals, strict=True)]
    both = (totals[0] > 0) & (totals[1] > 0)
    return torch.where(both, (means[0] + means[1]) / 2, (share * values).sum())


class AvUCLoss(LossModule):
    """Accuracy against uncertainty, to be added to cross-entropy; see `avuc_loss`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import AvUCLoss
    >>> round(AvUCLoss(threshold=0.5)(torch.tensor([[4.0, 0.0], [0.1, 0.0]]), torch.tensor([0, 1])).item(), 4)
    0.0
    """

    loss = staticmethod(avuc_loss)
