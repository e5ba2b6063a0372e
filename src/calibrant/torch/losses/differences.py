"""Terms that compare means over the batch, to be added to cross-entropy: DCA, MDCA and the entropic difference."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from ...util.checks import check_choice
from .base import LossModule, gather_rows, in_full_precision

__all__ = ["DCALoss", "ECDLoss", "MDCALoss", "dca_loss", "ecd_loss", "mdca_loss"]


@in_full_precision
def dca_loss(
    input: Tensor,
    target: Tensor,
    *,
    lens: str = "top_label",
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Distance between the mean confidence of the batch and its accuracy (DCA).

    Add it to cross-entropy: ``ce(logits, y) + beta * dca(logits, y)``, with beta from 1 to 10. It helps against
    confidence that is too high or too low on the whole; errors of opposite sign cancel. It costs nothing to compute.
    Once the network gets all its training rows right it asks for confidence 1, as cross-entropy does.

    It equals `calibrant.ece` with ``bins=1, lens="top_label"``, class weights as `sample_weight` of the rows.

    Parameters
    ----------
    input, target, weight, ignore_index
        As in `torch.nn.functional.cross_entropy`.
    lens : {'top_label', 'binary', 'auto'}
        Which confidence: of the likeliest class, of the second of two classes, or ``'binary'`` for two classes and
        ``'top_label'`` for more.
    reduction : {'mean', 'sum'}
        ``'sum'`` is the value times the weight of the batch.

    References
    ----------
    Liang, Zhang, Wang and Jacobs (2020): Improved trainable calibration method for neural networks on medical imaging
    classification. BMVC. arXiv:2009.04057

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import dca_loss
    >>> logits = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]]).log()
    >>> round(dca_loss(logits, torch.tensor([0, 2])).item(), 6)
    0.15
    """
    rows = gather_rows(input, target, weight, ignore_index, reduction)
    score, outcome = rows.seen(lens)
    return rows.whole((rows.share * (score - outcome)).sum().abs(), "dca_loss")


class DCALoss(LossModule):
    """Distance between mean confidence and accuracy, to be added to cross-entropy; see `dca_loss`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import DCALoss
    >>> DCALoss()(torch.zeros(2, 2), torch.tensor([0, 1])).item()
    0.0
    """

    loss = staticmethod(dca_loss)


@in_full_precision
def mdca_loss(
    input: Tensor,
    target: Tensor,
    *,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Mean over classes of the distance between the mean probability and the frequency of the class (MDCA).

    Add it to cross-entropy or to the focal loss (the paper's best is with focal, gamma 1), with beta 1 to start with.
    It helps where some classes get too much and others too little. It costs nothing to compute. Errors of opposite
    sign within a class cancel, and a batch must be large enough for frequencies to mean something: several rows per
    class.

    It equals `calibrant.mdca`, class weights as `sample_weight` of the rows.

    Parameters
    ----------
    input, target, weight, ignore_index
        As in `torch.nn.functional.cross_entropy`.
    reduction : {'mean', 'sum'}
        ``'sum'`` is the value times the weight of the batch.

    References
    ----------
    Hebbalaguppe, Prakash, Madan and Arora (2022): A stitch in time saves nine: a train-time
    regularizing loss for improved neural network calibration. CVPR. arXiv:2203.13834

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import mdca_loss
    >>> logits = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]]).log()
    >>> round(mdca_loss(logits, torch.tensor([0, 2])).item(), 6)
    0.266667
    """
    rows = gather_rows(input, target, weight, ignore_index, reduction)
    return rows.whole((rows.share @ (rows.probs - rows.targets)).abs().mean(), "mdca_loss")


class MDCALoss(LossModule):
    """Gap between mean probability and frequency of each class, to be added to cross-entropy; see `mdca_loss`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import MDCALoss
    >>> MDCALoss()(torch.zeros(2, 2), torch.tensor([0, 0])).item()
    0.5
    """

    loss = staticmethod(mdca_loss)


@in_full_precision
def ecd_loss(
    input: Tensor,
    target: Tensor,
    *,
    form: Literal["absolute", "over", "signed"] = "absolute",
    multiclass: Literal["full", "true_vs_rest"] = "full",
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Entropic calibration difference of the batch as an objective: by default its absolute value.

    Add it to cross-entropy, with beta 1 to start with; never minimise it alone, for a uniform forecast has
    difference 0. It helps against confident mistakes, most on rows that cross-entropy does not see. It costs as much
    as cross-entropy. The paper proposes the metric and names the objective as future work; the forms here are
    calibrant's. ``form='over'`` leaves an underconfident batch alone; being a square, it hardly pushes once the
    difference is small, and did not help in our experiment.

    ``form='signed'`` equals `calibrant.ecd`, class weights as `sample_weight` of the rows; it is not bounded usefully
    from below as an objective, and is here for watching.

    Parameters
    ----------
    input, target, weight, ignore_index
        As in `torch.nn.functional.cross_entropy`.
    form : {'absolute', 'over', 'signed'}
        ``|ECD|``, ``max(0, ECD)**2``, or the difference itself.
    multiclass : {'full', 'true_vs_rest'}
        The whole distribution (equation 11), or the true class against all others (equation 15), which is not centred
        at 0 for more than two classes.
    reduction : {'mean', 'sum', 'none'}
        ``'sum'`` is the value times the weight of the batch; ``'none'`` only for the signed form.

    References
    ----------
    Sumler, Devlin, Maskell and Lane (2025): An entropic metric for measuring calibration of machine learning models.
    TRUST-AI at ECAI, CEUR Workshop Proceedings 4132.

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
    rows = gather_rows(input, target, weight, ignore_index, reduction)
    if multiclass == "full":
        terms = rows.expect(-rows.log_probs) - rows.entropy
    else:
        terms = rows.expect(rows.log_others.exp() * (rows.log_others - rows.log_probs))
    if form == "signed":
        return rows.average(terms)
    value = (rows.share * terms).sum()
    return rows.whole(torch.relu(value) ** 2 if form == "over" else value.abs(), f"ecd_loss with form={form!r}")


class ECDLoss(LossModule):
    """Entropic calibration difference as an objective, to be added to cross-entropy; see `ecd_loss`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import ECDLoss
    >>> ECDLoss(form="over")(torch.tensor([[1.0, 0.0]]), torch.tensor([0])).item()
    0.0
    """

    loss = staticmethod(ecd_loss)
