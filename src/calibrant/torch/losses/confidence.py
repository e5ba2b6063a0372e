"""Losses that regularize confidence: the entropy penalty, logit normalization, and accuracy versus uncertainty."""

from __future__ import annotations

import torch
from torch import Tensor

from ...util.checks import check_number
from .base import Rows, loss, lowest

# Added to the denominator, so that the value is finite for every batch.
COUNT = 1e-10


@loss()
def confidence_penalty_loss(rows: Rows, *, beta: float = 0.1, threshold: float | None = None) -> Tensor:
    r"""Compute cross-entropy minus a multiple of the entropy of the predicted probabilities.

    Use it in place of cross-entropy. It helps networks that fit their training data perfectly. It lowers confidence
    everywhere, whether it is justified or not, so a large beta makes a network underconfident. The value can be
    negative. The cost is negligible.

    Parameters
    ----------
    input
    target
    beta : float, default 0.1
        Weight of the entropy, at least 0; 0.1 in the paper for images.
    threshold : float, optional
        Entropy in nats above which there is no reward; by default the reward is not bounded.
    weight
    ignore_index
    reduction

    See Also
    --------
    label_smoothing_loss : Penalizes the divergence in the other direction.

    Notes
    -----
    With the entropy :math:`H(p) = -\sum_k p_k \ln p_k`,

    .. math:: L = w_y \left(-\ln p_y - \beta H(p)\right),

    and with the threshold :math:`\Gamma` the term is :math:`+\beta \max(0, \Gamma - H(p))`.

    References
    ----------
    .. [1] Pereyra, Tucker, Chorowski, Kaiser and Hinton (2017): Regularizing neural networks by penalizing confident
       output distributions. ICLR workshop. arXiv:1701.06548

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import confidence_penalty_loss
    >>> round(confidence_penalty_loss(torch.zeros(1, 2), torch.tensor([0])).item(), 6)
    0.623832
    """
    factor = check_number(beta, "beta")
    enough = None if threshold is None else check_number(threshold, "threshold")
    term = -rows.entropy if enough is None else torch.relu(enough - rows.entropy)
    return rows.reduce(rows.cross_entropy() + factor * rows.row_weight * term)


@loss()
def logit_norm_loss(rows: Rows, *, temperature: float = 0.04) -> Tensor:
    r"""Compute the cross-entropy of logits divided by their Euclidean norm and a temperature.

    Use it in place of cross-entropy. It helps to detect out-of-distribution rows: the network cannot lower the loss by
    making its logits larger. At test time the paper uses the unnormalized logits; their softmax is not what was
    trained, so fit a temperature on held-out data before using it as a probability. The cost is one norm per row.

    Parameters
    ----------
    input
    target
    temperature : float, default 0.04
        Temperature above 0; normalized logits lie within 1 / temperature of 0. 0.04 in the paper.
    weight
    ignore_index
    reduction

    See Also
    --------
    calibrant.torch.TemperatureModule : Temperature scaling after training.

    Notes
    -----
    For logits :math:`z` and temperature :math:`\tau` the loss is the cross-entropy of :math:`z / (\tau \lVert z
    \rVert_2)`. Classes masked by a logit of -inf, or by one 10,000 below the largest, do not enter the norm and stay
    masked.

    References
    ----------
    .. [1] Wei, Xie, Cheng, Feng, An and Li (2022): Mitigating neural network overconfidence with logit normalization.
       ICML. arXiv:2205.09310

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import logit_norm_loss
    >>> logits = torch.tensor([[300.0, 400.0]])
    >>> round(logit_norm_loss(logits, torch.tensor([1]), temperature=1.0).item(), 6)
    0.598139
    """
    warmth = check_number(temperature, "temperature", above=True)
    # A norm below the precision of the logits is rounding error; dividing by it would overflow half precision.
    least = max(1e-7, torch.finfo(rows.input_dtype).eps)
    # Masked classes do not enter the norm, and stay masked.
    length = torch.linalg.vector_norm(rows.logits.masked_fill(rows.shut, 0.0), dim=1, keepdim=True).clamp(min=least)
    scaled = rows.logits / (length * warmth)
    return rows.reduce(rows.cross_entropy(torch.where(rows.shut, lowest(scaled), scaled)))


@loss(batch=True)
def avuc_loss(rows: Rows, *, threshold: float | None = None) -> Tensor:
    r"""Compute the accuracy versus uncertainty loss of the batch (AvUC).

    Add it to cross-entropy, with beta 3 as in the paper, after some epochs without it. It helps to make wrong rows
    uncertain and correct rows certain, which serves abstention more than calibration. It is discontinuous where an
    entropy crosses the threshold, and has no gradient for a batch in which all rows are correct and certain. It needs
    class indices. The cost is negligible.

    Parameters
    ----------
    input
    target
    threshold : float, optional
        Entropy in nats above which a row is uncertain; the paper fixes it after the first epochs. By default the mean
        of the mean entropies of the correct and of the wrong rows of the batch.
    weight
    ignore_index
    reduction

    Notes
    -----
    With confidence :math:`c`, entropy :math:`u` and :math:`t = \tanh u`, rows count as accurate and certain with
    :math:`c (1 - t)`, accurate and uncertain with :math:`c\,t`, inaccurate and certain with :math:`(1 - c)(1 - t)`,
    inaccurate and uncertain with :math:`(1 - c)\,t`. Of their weighted sums,

    .. math:: L = \ln\left(1 + \frac{n_{AU} + n_{IC}}{n_{AC} + n_{IU}}\right).

    References
    ----------
    .. [1] Krishnan and Tickoo (2020): Improving model calibration with accuracy versus uncertainty optimization.
       NeurIPS. arXiv:2012.07923

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import avuc_loss
    >>> logits = torch.tensor([[4.0, 0.0], [0.1, 0.0]])
    >>> round(avuc_loss(logits, torch.tensor([0, 1])).item(), 4)
    0.0
    """
    given_threshold = None if threshold is None else check_number(threshold, "threshold")
    is_correct = rows.logits.argmax(1) == rows.right_labels()
    entropy = rows.entropy.detach()
    if given_threshold is None:
        # Midpoint of the means over correct and over wrong rows; the overall mean where one kind is missing.
        weights = [rows.share * is_correct, rows.share * ~is_correct]
        means = [(weight * entropy).sum() / weight.sum().clamp(min=COUNT) for weight in weights]
        has_both = (weights[0].sum() > 0) & (weights[1].sum() > 0)
        certain = entropy <= torch.where(has_both, (means[0] + means[1]) / 2, (rows.share * entropy).sum())
    else:
        certain = entropy <= given_threshold
    confidence = rows.probs.amax(1)
    # 1 - confidence from the sum of the other probabilities: the direct difference loses precision near confidence 1.
    rest = rows.log_others.amin(1).exp()
    doubt = torch.tanh(rows.entropy)
    count = rows.row_weight * torch.where(is_correct, confidence, rest) * torch.where(certain, 1 - doubt, doubt)
    good, bad = ((count * kind).sum() for kind in (is_correct == certain, is_correct != certain))
    return rows.whole(torch.log1p(bad / (good + COUNT)))
