"""Expected calibration error with soft bins, to be added to cross-entropy."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from ...util.checks import check_choice, check_whole
from .base import LossModule, Rows, check_number, gather_rows, in_full_precision, safe_power

__all__ = ["DECELoss", "SoftBinnedECELoss", "dece_loss", "soft_binned_ece_loss"]

# A bin with less than this share of a row has no mean worth a gradient, and no part in the value.
EMPTY = 1e-20


@in_full_precision
def soft_binned_ece_loss(
    input: Tensor,
    target: Tensor,
    *,
    bins: int = 15,
    temperature: float = 0.01,
    norm: float = 2.0,
    form: Literal["soft", "label_binned"] = "soft",
    lens: str = "auto",
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Gap between confidence and accuracy over bins to which rows belong by a softmax of their distance (SB-ECE).

    Add it to cross-entropy; the paper tunes beta, from 0.01 to 10. It helps against errors that differ over the range
    of confidence, and moves no row in jumps. It costs rows times bins. On rows the network already fits it asks for
    confidence 1, so the paper takes this term on other rows than those of the cross-entropy.

    It equals `calibrant.sbece` at the same options, class weights as `sample_weight` of the rows.

    Parameters
    ----------
    input, target, weight, ignore_index
        As in `torch.nn.functional.cross_entropy`.
    bins : int
        How many soft bins.
    temperature : float
        Width of the memberships: towards 0 they become hard bins, which have no useful gradient.
    norm : float
        Exponent of the gap, from 1 up; 2 in the paper.
    form : {'soft', 'label_binned'}
        Mean score against rate of each soft bin, or each score against the soft bins' rates.
    lens : {'auto', 'top_label', 'binary'}
        Which confidence; ``'auto'`` is ``'binary'`` for two classes and ``'top_label'`` for more.
    reduction : {'mean', 'sum'}
        ``'sum'`` is the value times the weight of the batch.

    References
    ----------
    Karandikar et al. (2021): Soft calibration objectives for neural networks. NeurIPS. arXiv:2108.00106

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import soft_binned_ece_loss
    >>> logits = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]]).log()
    >>> round(soft_binned_ece_loss(logits, torch.tensor([0, 2]), temperature=1e4).item(), 4)
    0.15
    """
    count, width = check_whole(bins, "bins"), check_number(temperature, "temperature", above=True)
    power = check_number(norm, "norm", low=1)
    check_choice(form, "form", ("soft", "label_binned"))
    rows = gather_rows(input, target, weight, ignore_index, reduction)
    score, outcome = rows.seen(lens)
    member = _member(score, count, width) * rows.share[:, None]
    mass = member.sum(0)
    if form == "label_binned":
        terms = member * (_divided(outcome @ member, mass) - score[:, None]).abs() ** power
    else:
        terms = mass * _divided((score - outcome) @ member, mass).abs() ** power
    value = terms.sum()
    return rows.whole(value if power == 1 else safe_power(value, 1 / power), "soft_binned_ece_loss")


def _member(score: Tensor, count: int, width: float) -> Tensor:
    """(M, bins): how much each score belongs to each bin, by its distance from their centres."""
    centres = (torch.arange(count, device=score.device, dtype=score.dtype) + 0.5) / count
    return torch.softmax(-((score[:, None] - centres) ** 2) / width, 1)


def _divided(sums: Tensor, mass: Tensor) -> Tensor:
    empty = mass <= EMPTY
    return torch.where(empty, 0.0, sums / torch.where(empty, 1.0, mass))


class SoftBinnedECELoss(LossModule):
    """Expected calibration error with soft bins, to be added to cross-entropy; see `soft_binned_ece_loss`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import SoftBinnedECELoss
    >>> round(SoftBinnedECELoss(norm=1)(torch.zeros(4, 2), torch.tensor([0, 1, 1, 1])).item(), 6)
    0.25
    """

    loss = staticmethod(soft_binned_ece_loss)


@in_full_precision
def dece_loss(
    input: Tensor,
    target: Tensor,
    *,
    bins: int = 15,
    rank_sharpness: float = 100.0,
    bin_temperature: float = 0.01,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Expected calibration error with soft bins and a soft accuracy (DECE).

    Add it to cross-entropy, with beta from 0.1 to 1. It helps as the soft-binned error does, and its gradient also
    reaches the accuracy: a row that is nearly right is drawn to be right. It costs rows times bins and classes. The
    paper uses it on validation rows, to tune label smoothing and weight decay as the network trains, not on the
    training rows.

    It equals `calibrant.dece` at the same options, class weights as `sample_weight` of the rows. It needs class
    indices.

    Parameters
    ----------
    input, target, weight, ignore_index
        As in `torch.nn.functional.cross_entropy`.
    bins : int
        How many soft bins.
    rank_sharpness : float
        How sharply the rank of the true class is counted (tau_a of the paper).
    bin_temperature : float
        Width of the memberships (tau_b of the paper).
    reduction : {'mean', 'sum'}
        ``'sum'`` is the value times the weight of the batch.

    References
    ----------
    Bohdal, Yang and Hospedales (2023): Meta-calibration: learning of model calibration using differentiable expected
    calibration error. TMLR. arXiv:2106.09613

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import dece_loss
    >>> logits = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]]).log()
    >>> round(dece_loss(logits, torch.tensor([0, 2]), bins=1).item(), 4)
    0.15
    """
    count = check_whole(bins, "bins")
    sharp = check_number(rank_sharpness, "rank_sharpness", above=True)
    width = check_number(bin_temperature, "bin_temperature", above=True)
    rows = gather_rows(input, target, weight, ignore_index, reduction)
    right = _soft_accuracy(rows, sharp)
    score = rows.probs.gather(1, rows.logits.argmax(1, keepdim=True))[:, 0]
    # The paper's logits, (j p - j (j - 1) / 2M) / tau, with the square completed: small numbers, exact in single precision.
    member = _member(score, count, 2 * width / count) * rows.share[:, None]
    return rows.whole(((right - score) @ member).abs().sum(), "dece_loss")


def _soft_accuracy(rows: Rows, sharp: float) -> Tensor:
    """2 minus the soft rank of the true class, not below 0; a class counts by a sigmoid of how far it is ahead."""
    own = rows.probs.gather(1, rows.right_labels("dece_loss")[:, None])
    ahead = torch.sigmoid(sharp * (rows.probs - own)).sum(1)
    return torch.relu(1.5 - ahead)


class DECELoss(LossModule):
    """Expected calibration error with soft bins and a soft accuracy, to be added to cross-entropy; see `dece_loss`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import DECELoss
    >>> round(DECELoss(bins=10)(torch.tensor([[9.0, 0.0]]), torch.tensor([1])).item(), 3)
    1.0
    """

    loss = staticmethod(dece_loss)
