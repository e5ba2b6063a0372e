"""Cross-entropy with smoothed targets: label smoothing and its margin-based form."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import ArgumentError
from ...util.checks import check_choice, check_number
from .base import Rows, loss


@loss()
def label_smoothing_loss(rows: Rows, *, smoothing: float = 0.1, spread: Literal["all", "others"] = "all") -> Tensor:
    r"""Compute the cross-entropy against smoothed targets.

    Use it in place of cross-entropy. It helps networks that fit their training data perfectly and become ever more
    overconfident. A network that was not overconfident becomes underconfident, because the minimizer of the loss is
    less confident than the true class probabilities; and smoothing removes information that temperature scaling could
    have used. The cost is two more passes over the logits.

    Parameters
    ----------
    input
    target
    smoothing : float, default 0.1
        Probability a in [0, 1] that is moved away from the target; 0.1 in [1]_, 0.05 in later comparisons.
    spread : {"all", "others"}, default "all"
        Where it is moved: evenly to all K classes, so that the true class keeps 1 - a + a/K (as in [1]_ and torch), or
        to the K - 1 other classes, so that it keeps 1 - a.
    weight
    ignore_index
    reduction

    See Also
    --------
    margin_label_smoothing_loss : Penalize only large differences between logits.

    Notes
    -----
    For a row with probabilities :math:`p_k`, class weights :math:`w_k` and the smoothed target :math:`q_k`,

    .. math:: L = -\sum_k w_k q_k \ln p_k, \qquad q_k = (1 - a)\,1[k = y] + a / K.

    Classes masked by a logit of -inf, or by one 10,000 below the largest, receive no probability; K is then the number
    of the other classes.

    References
    ----------
    .. [1] Szegedy, Vanhoucke, Ioffe, Shlens and Wojna (2016): Rethinking the inception architecture for computer
       vision. CVPR.

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
    classes = rows.logits.shape[1]
    others = spread == "others"
    if others and amount * classes > classes - 1:
        raise ArgumentError(
            "smoothing", f"must leave the true class a probability of at least {1 / classes:.3g}; got {smoothing!r}"
        )
    count = classes - rows.shut.sum(1, dtype=rows.logits.dtype)
    moved_share = amount * (count / (count - 1).clamp(min=1) if others else torch.ones_like(count))
    moved_share = torch.where(count > 1, moved_share, 0.0).clamp(max=1)
    # Where no class is masked, computed as in torch, for results equal to the last bit.
    total_share = amount * (classes / (classes - 1) if others else 1)
    open_to_all = count == classes
    own_share = torch.where(open_to_all, 1 - total_share, 1 - moved_share)
    each_share = torch.where(open_to_all, total_share / classes, moved_share / count.clamp(min=1))
    # The weighted cross-entropy against the smoothed targets, in the order of operations of torch.
    log_probs, weight = F.log_softmax(rows.logits, 1), rows.class_weight
    if rows.labels is None:
        targets = rows.targets * own_share[:, None] + each_share[:, None].masked_fill(rows.shut, 0.0)
        product = log_probs * targets
        return rows.reduce(-(product if weight is None else product * weight).sum(1))
    label_loss = F.nll_loss(log_probs, rows.labels, weight=weight, reduction="none")
    open_logs = log_probs.masked_fill(rows.shut, 0.0)
    each = (open_logs if weight is None else open_logs * weight).sum(1)
    return rows.reduce(own_share * label_loss - each * each_share)


@loss()
def margin_label_smoothing_loss(
    rows: Rows, *, margin: float = 10.0, alpha: float = 0.1, over_classes: Literal["mean", "sum"] = "mean"
) -> Tensor:
    r"""Compute cross-entropy plus a linear penalty on logits that lie more than a margin below the largest (MbLS).

    Use it in place of cross-entropy. It helps where label smoothing makes a network underconfident: there is no
    penalty as long as logits stay within the margin. If no logit ever leaves the margin the loss equals cross-entropy,
    so inspect the spread of the logits first; small networks often need a margin below 10. The cost is one maximum per
    row.

    Parameters
    ----------
    input
    target
    margin : float, default 10.0
        Distance from the largest logit, at least 0, that is not penalized.
    alpha : float, default 0.1
        Weight of the penalty, at least 0.
    over_classes : {"mean", "sum"}, default "mean"
        Reduction of the penalty over classes: the authors' code, to which their alpha of 0.1 belongs, takes the mean;
        the paper writes a sum.
    weight
    ignore_index
    reduction

    See Also
    --------
    label_smoothing_loss : Label smoothing without a margin.

    Notes
    -----
    For a row with logits :math:`z_k` and margin :math:`m`,

    .. math:: L = -w_y \ln p_y + w_y \frac{\alpha}{K} \sum_k \max(0, \max_j z_j - z_k - m).

    Classes masked by a logit of -inf, or by one 10,000 below the largest, are not penalized.

    References
    ----------
    .. [1] Liu, Ben Ayed, Galdran and Dolz (2022): The devil is in the margin: margin-based label smoothing for
       network calibration. CVPR. arXiv:2111.15430

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
    beyond = torch.relu(rows.logits.amax(1, keepdim=True) - rows.logits - free).masked_fill(rows.shut, 0.0)
    penalty = beyond.sum(1)
    if over_classes == "mean":
        penalty = penalty / (~rows.shut).sum(1).clamp(min=1)
    return rows.reduce(rows.cross_entropy() + factor * rows.row_weight * penalty)
