"""Terms that compare means over the batch, to add to cross-entropy: DCA, MDCA and the entropic calibration difference."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from ...util.checks import check_choice
from .base import Rows, loss


@loss(batch=True)
def dca_loss(rows: Rows, *, lens: str = "top_label") -> Tensor:
    r"""Compute the absolute difference between the mean confidence and the accuracy of the batch (DCA).

    Add it to cross-entropy: ``ce(logits, y) + beta * dca(logits, y)``, with beta from 1 to 10. It helps against
    overall over- or underconfidence; errors of opposite sign cancel. Once the network classifies all its training rows
    correctly its minimum is at confidence 1, as for cross-entropy. The cost is negligible.

    Parameters
    ----------
    input
    target
    lens : {"top_label", "binary", "auto"}, default "top_label"
        Event whose probability is used: ``"top_label"``, that the predicted class is correct; ``"binary"``, the second
        of two classes. ``"auto"`` takes ``"binary"`` for two classes and ``"top_label"`` for more.
    weight
    ignore_index
    reduction

    See Also
    --------
    mdca_loss : The same for every class.

    Notes
    -----
    With score :math:`s_i`, outcome :math:`o_i` and weight :math:`\omega_i` of each row, :math:`\sum_i \omega_i = 1`,

    .. math:: L = \left|\sum_i \omega_i (s_i - o_i)\right|.

    It equals `calibrant.ece` with ``bins=1, lens="top_label"``, class weights becoming the `sample_weight` of the rows.

    References
    ----------
    .. [1] Liang, Zhang, Wang and Jacobs (2020): Improved trainable calibration method for neural networks on medical
       imaging classification. BMVC. arXiv:2009.04057

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import dca_loss
    >>> logits = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]]).log()
    >>> round(dca_loss(logits, torch.tensor([0, 2])).item(), 6)
    0.15
    """
    score, outcome = rows.seen(lens)
    return rows.whole((rows.share * (score - outcome)).sum().abs())


@loss(batch=True)
def mdca_loss(rows: Rows) -> Tensor:
    r"""Compute the mean over classes of the difference between mean predicted probability and class frequency (MDCA).

    Add it to cross-entropy or to the focal loss (the paper's best results use the focal loss with gamma 1), starting
    with beta 1. It helps where some classes are overestimated and others underestimated. Errors of opposite sign
    within a class cancel, and batches must be large enough to estimate frequencies: several rows per class. The cost
    is negligible.

    Parameters
    ----------
    input
    target
    weight
    ignore_index
    reduction

    See Also
    --------
    dca_loss : For the predicted class only.

    Notes
    -----
    With probabilities :math:`p_{ik}`, targets :math:`q_{ik}` and normalized weights :math:`\omega_i`,

    .. math:: L = \frac{1}{K} \sum_k \left|\sum_i \omega_i (p_{ik} - q_{ik})\right|.

    It equals `calibrant.mdca`, class weights becoming the `sample_weight` of the rows.

    References
    ----------
    .. [1] Hebbalaguppe, Prakash, Madan and Arora (2022): A stitch in time saves nine: a train-time regularizing loss
       for improved neural network calibration. CVPR. arXiv:2203.13834

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import mdca_loss
    >>> logits = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]]).log()
    >>> round(mdca_loss(logits, torch.tensor([0, 2])).item(), 6)
    0.266667
    """
    return rows.whole((rows.share @ (rows.probs - rows.targets)).abs().mean())


@loss()
def ecd_loss(
    rows: Rows,
    *,
    form: Literal["absolute", "over", "signed"] = "absolute",
    multiclass: Literal["full", "true_vs_rest"] = "full",
) -> Tensor:
    r"""Compute an objective from the entropic calibration difference (ECD) of the batch.

    Add it to cross-entropy, starting with beta 1; never minimize it alone, because uniform probabilities have ECD 0.
    It helps against confident mistakes. The paper proposes the metric and leaves the objective to future work; the
    forms here are calibrant's own. ``form="over"`` does not penalize an underconfident batch; being a square it has
    little gradient once the difference is small, and it did not help in our experiment. ``form="signed"`` is unsuited
    as an objective and meant for logging. The cost is that of cross-entropy.

    Parameters
    ----------
    input
    target
    form : {"absolute", "over", "signed"}, default "absolute"
        ``|ECD|``, ``max(0, ECD)**2``, or the difference itself.
    multiclass : {"full", "true_vs_rest"}, default "full"
        The whole distribution (equation 11 of [1]_), or the true class against all others (equation 15), which is not
        centred at 0 for more than two classes.
    weight
    ignore_index
    reduction : {"mean", "sum", "none"}, default "mean"
        ``"sum"`` is the value times the total weight of the rows; ``"none"`` is supported by ``form="signed"`` only.

    See Also
    --------
    confidence_penalty_loss : Rewards entropy regardless of the labels.

    Notes
    -----
    With normalized weights :math:`\omega_i` and entropies :math:`H(p_i)`,

    .. math:: \mathrm{ECD} = \sum_i \omega_i \left(-\ln p_{i y_i} - H(p_i)\right),

    and with ``multiclass="true_vs_rest"`` the terms are :math:`(1 - p) (\ln(1 - p) - \ln p)` with :math:`p = p_{i
    y_i}`. ``form="signed"`` equals `calibrant.ecd`, class weights becoming the `sample_weight` of the rows.

    References
    ----------
    .. [1] Sumler, Devlin, Maskell and Lane (2025): An entropic metric for measuring calibration of machine learning
       models. TRUST-AI at ECAI, CEUR Workshop Proceedings 4132.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import ecd_loss
    >>> logits = torch.tensor([[4.0, 0.0], [4.0, 0.0]])
    >>> round(ecd_loss(logits, torch.tensor([0, 1]), form="signed").item(), 4)
    1.9281
    """
    check_choice(form, "form", ("absolute", "over", "signed"))
    check_choice(multiclass, "multiclass", ("full", "true_vs_rest"))
    if multiclass == "full":
        terms = rows.expect(-rows.log_probs) - rows.entropy
    else:
        terms = rows.expect(rows.log_others.exp() * (rows.log_others - rows.log_probs))
    if form == "signed":
        return rows.average(terms)
    value = (rows.share * terms).sum()
    return rows.whole(torch.relu(value) ** 2 if form == "over" else value.abs())
