"""Cross-entropy with softened targets: label smoothing, and its form with a margin."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import ArgumentError
from ...util.checks import check_choice
from .base import LossModule, Rows, check_number, gather_rows, in_full_precision

__all__ = ["LabelSmoothingLoss", "MarginLabelSmoothingLoss", "label_smoothing_loss", "margin_label_smoothing_loss"]

# How much may be spread over others depends on their number, which a module does not know before its first batch.
MANY = 1 << 16


@in_full_precision
def label_smoothing_loss(
    input: Tensor,
    target: Tensor,
    *,
    smoothing: float = 0.1,
    spread: Literal["all", "others"] = "all",
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Cross-entropy against targets that give every class a little.

    Use it in place of cross-entropy. It helps networks that fit their training rows perfectly and grow ever surer. It
    costs two more passes over the logits. The best forecast under it is less sure than the truth by design, so a model
    that was not overconfident becomes underconfident; and it takes away information that temperature scaling could have
    used. A class that is shut out of a row by a logit of -inf, or 10,000 below the largest, gets no share of it.

    Parameters
    ----------
    input, target, weight, ignore_index, reduction
        As in `torch.nn.functional.cross_entropy`.
    smoothing : float
        What is taken from the true class, from 0 to 1; 0.1 as in the paper, 0.05 in later comparisons.
    spread : {'all', 'others'}
        ``'all'`` spreads it over all classes (the true one keeps 1 - a + a/K), as the paper and torch do;
        ``'others'`` over the K - 1 others (the true one keeps 1 - a).

    References
    ----------
    Szegedy, Vanhoucke, Ioffe, Shlens and Wojna (2016): Rethinking the inception architecture for computer vision. CVPR.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import label_smoothing_loss
    >>> logits = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]]).log()
    >>> round(label_smoothing_loss(logits, torch.tensor([0, 2]), smoothing=0.05).item(), 6)
    0.810358
    """
    amount = check_number(smoothing, "smoothing", high=1)
    check_choice(spread, "spread", ("all", "others"))
    rows = gather_rows(input, target, weight, ignore_index, reduction)
    classes = rows.logits.shape[1]
    others = spread == "others"
    if others and amount * classes > classes - 1:
        raise ArgumentError(
            "smoothing", f"must leave the true class a probability of at least {1 / classes:.3g}; got {smoothing!r}"
        )
    return rows.reduce(_smoothed(rows, *_kept_and_given(rows, amount, others)))


def _kept_and_given(rows: Rows, smoothing: float, others: bool) -> tuple[Tensor, Tensor]:
    """(M,) each: what is kept of a target, and what every class open to the row gets; one that is left alone gives nothing."""
    classes = rows.logits.shape[1]
    count = classes - rows.shut.sum(1, dtype=rows.logits.dtype)
    amount = smoothing * (count / (count - 1).clamp(min=1) if others else torch.ones_like(count))
    amount = torch.where(count > 1, amount, 0.0).clamp(max=1)
    # Where all are open, the numbers of torch to the last bit: those of Python, rounded once.
    whole = smoothing * (classes / (classes - 1) if others else 1)
    open_to_all = count == classes
    kept = torch.where(open_to_all, 1 - whole, 1 - amount)
    return kept, torch.where(open_to_all, whole / classes, amount / count.clamp(min=1))


def _smoothed(rows: Rows, kept: Tensor, given: Tensor) -> Tensor:
    """Weighted cross-entropy of each row against its smoothed target, in the steps of torch."""
    log_probs = F.log_softmax(rows.logits, 1)
    weight = rows.class_weight
    if rows.labels is None:
        targets = rows.targets * kept[:, None] + given[:, None].masked_fill(rows.shut, 0.0)
        product = log_probs * targets
        return -(product if weight is None else product * weight).sum(1)
    own = F.nll_loss(log_probs, rows.labels, weight=weight, reduction="none")
    spread = log_probs.masked_fill(rows.shut, 0.0)
    return kept * own - (spread if weight is None else spread * weight).sum(1) * given


class LabelSmoothingLoss(LossModule):
    """Cross-entropy against targets that give every class a little; see `label_smoothing_loss`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import LabelSmoothingLoss
    >>> round(LabelSmoothingLoss()(torch.zeros(4, 2), torch.tensor([0, 1, 1, 0])).item(), 6)
    0.693147
    """

    loss = staticmethod(label_smoothing_loss)
    least_classes = MANY


@in_full_precision
def margin_label_smoothing_loss(
    input: Tensor,
    target: Tensor,
    *,
    margin: float = 10.0,
    alpha: float = 0.1,
    over_classes: Literal["mean", "sum"] = "mean",
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Cross-entropy plus a linear penalty on logits that lie further than a margin below the largest (MbLS).

    Use it in place of cross-entropy. It helps where label smoothing makes a model underconfident: nothing is pushed
    as long as logits stay within the margin. It costs one maximum per row. With a margin that logits never reach it
    is plain cross-entropy, so look at their spread first: small networks often need less than 10. Nothing is paid for
    a class that is shut out of a row by a logit of -inf, or 10,000 below the largest.

    Parameters
    ----------
    input, target, weight, ignore_index, reduction
        As in `torch.nn.functional.cross_entropy`.
    margin : float
        Distance from the largest logit that is free, from 0 up.
    alpha : float
        Factor of the penalty, from 0 up.
    over_classes : {'mean', 'sum'}
        The authors' code takes the mean over classes, to which their alpha of 0.1 belongs; the paper writes a sum.

    References
    ----------
    Liu, Ben Ayed, Galdran and Dolz (2022): The devil is in the margin: margin-based label smoothing for network
    calibration. CVPR. arXiv:2111.15430

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import margin_label_smoothing_loss
    >>> logits = torch.tensor([[12.0, 0.0]])
    >>> round(margin_label_smoothing_loss(logits, torch.tensor([0])).item(), 4)
    0.1
    """
    free, factor = check_number(margin, "margin"), check_number(alpha, "alpha")
    check_choice(over_classes, "over_classes", ("mean", "sum"))
    rows = gather_rows(input, target, weight, ignore_index, reduction)
    beyond = torch.relu(rows.logits.amax(1, keepdim=True) - rows.logits - free).masked_fill(rows.shut, 0.0)
    penalty = beyond.sum(1)
    if over_classes == "mean":
        penalty = penalty / (~rows.shut).sum(1).clamp(min=1)
    return rows.reduce(rows.cross_entropy() + factor * rows.row_weight * penalty)


class MarginLabelSmoothingLoss(LossModule):
    """Cross-entropy plus a penalty on logits far below the largest; see `margin_label_smoothing_loss`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import MarginLabelSmoothingLoss
    >>> round(MarginLabelSmoothingLoss(margin=6)(torch.tensor([[8.0, 0.0]]), torch.tensor([0])).item(), 4)
    0.1003
    """

    loss = staticmethod(margin_label_smoothing_loss)
