"""Expected calibration error with soft bins, a term to add to cross-entropy."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from ...util.checks import check_choice, check_number, check_whole
from .base import Rows, loss, safe_power

# Bins with less mass than this are treated as empty.
EMPTY = 1e-20


@loss(batch=True)
def soft_binned_ece_loss(
    rows: Rows,
    *,
    bins: int = 15,
    temperature: float = 0.01,
    norm: float = 2.0,
    form: Literal["soft", "label_binned"] = "soft",
    lens: str = "auto",
) -> Tensor:
    r"""Compute the expected calibration error with soft bins (SB-ECE).

    Add it to cross-entropy; the paper tunes beta between 0.01 and 10. It helps against miscalibration that differs
    over the range of confidence, and is differentiable, unlike the error with hard bins. On rows that the network
    already fits its minimum is at confidence 1, so the paper evaluates this term on other rows than the cross-entropy.
    The cost is rows times bins.

    Parameters
    ----------
    input
    target
    bins : int, default 15
        Number of soft bins.
    temperature : float, default 0.01
        Width of the memberships; towards 0 the bins become hard and the gradient vanishes.
    norm : float, default 2.0
        Exponent of the calibration gap, at least 1; 2 in the paper.
    form : {"soft", "label_binned"}, default "soft"
        Compare the mean score with the observed rate of each bin, or each score with the observed rates of the bins.
    lens
    weight
    ignore_index
    reduction

    See Also
    --------
    dece_loss : With a differentiable accuracy.
    sece_loss : With kernels instead of bins.

    Notes
    -----
    Scores :math:`s_i` belong to the bins with centres :math:`c_m` by :math:`u_{im} = \mathrm{softmax}_m(-(s_i - c_m)^2
    / T)`. With normalized weights :math:`\omega_i` and outcomes :math:`o_i`,

    .. math:: L = \left(\sum_m U_m \left|\frac{\sum_i \omega_i u_{im} (s_i - o_i)}{U_m}\right|^q\right)^{1/q},
       \qquad U_m = \sum_i \omega_i u_{im}.

    It equals `calibrant.sbece` with the same options, class weights becoming the `sample_weight` of the rows.

    References
    ----------
    .. [1] Karandikar et al. (2021): Soft calibration objectives for neural networks. NeurIPS. arXiv:2108.00106

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
    score, outcome = rows.seen(lens)
    member = _member(score, count, width) * rows.share[:, None]
    mass = member.sum(0)
    if form == "label_binned":
        terms = member * (_divide(outcome @ member, mass) - score[:, None]).abs() ** power
    else:
        terms = mass * _divide((score - outcome) @ member, mass).abs() ** power
    value = terms.sum()
    return rows.whole(value if power == 1 else safe_power(value, 1 / power))


def _member(score: Tensor, count: int, width: float) -> Tensor:
    """(M, bins): membership of each score in each bin, by the distance from its centre."""
    centres = (torch.arange(count, device=score.device, dtype=score.dtype) + 0.5) / count
    return torch.softmax(-((score[:, None] - centres) ** 2) / width, 1)


def _divide(sums: Tensor, mass: Tensor) -> Tensor:
    empty = mass <= EMPTY
    return torch.where(empty, 0.0, sums / torch.where(empty, 1.0, mass))


@loss(batch=True)
def dece_loss(rows: Rows, *, bins: int = 15, rank_sharpness: float = 100.0, bin_temperature: float = 0.01) -> Tensor:
    r"""Compute the expected calibration error with soft bins and a soft accuracy (DECE).

    Add it to cross-entropy, with beta from 0.1 to 1. It helps as the soft-binned error does, and its gradient also
    acts on the accuracy: it pushes almost correct rows towards the correct class. The paper evaluates it on validation
    data, to tune label smoothing and weight decay during training, not on the training data. It needs class indices.
    The cost is rows times bins plus rows times classes.

    Parameters
    ----------
    input
    target
    bins : int, default 15
        Number of soft bins.
    rank_sharpness : float, default 100.0
        Slope of the sigmoid that approximates the rank of the true class (tau_a of the paper).
    bin_temperature : float, default 0.01
        Width of the memberships (tau_b of the paper).
    weight
    ignore_index
    reduction

    See Also
    --------
    soft_binned_ece_loss : With the hard accuracy.

    Notes
    -----
    With soft memberships :math:`u_{im}` of the confidence :math:`s_i` and normalized weights :math:`\omega_i`,

    .. math:: L = \sum_m \left|\sum_i \omega_i u_{im} (a_i - s_i)\right|, \qquad
       a_i = \max\Bigl(0, 1 - \sum_{k \ne y_i} \sigma\bigl(\tau_a (p_{ik} - p_{i y_i})\bigr)\Bigr).

    It equals `calibrant.dece` with the same options, class weights becoming the `sample_weight` of the rows.

    References
    ----------
    .. [1] Bohdal, Yang and Hospedales (2023): Meta-calibration: learning of model calibration using differentiable
       expected calibration error. TMLR. arXiv:2106.09613

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
    # 2 minus the soft rank of the true class, at least 0; other classes count by a sigmoid of their lead.
    label_probs = rows.probs.gather(1, rows.right_labels()[:, None])
    ahead = torch.sigmoid(sharp * (rows.probs - label_probs)).sum(1)
    right = torch.relu(1.5 - ahead)
    score = rows.probs.gather(1, rows.logits.argmax(1, keepdim=True))[:, 0]
    # The paper's logits, (j p - j (j - 1) / 2M) / tau, with the square completed, which is accurate in single precision.
    member = _member(score, count, 2 * width / count) * rows.share[:, None]
    return rows.whole(((right - score) @ member).abs().sum())
