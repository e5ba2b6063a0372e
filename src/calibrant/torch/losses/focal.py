"""Focal losses: cross-entropy that gives less weight to rows whose true class already has a high probability."""

from __future__ import annotations

import torch
from torch import Tensor

from ...util.checks import check_number
from .base import Rows, loss

# FLSD-53: the cut, and the exponents below it and from it on.
CUT, LOW, HIGH = 0.2, 5.0, 3.0


def _focal(rows: Rows, gamma: Tensor | float) -> Tensor:
    """-(1 - p)^gamma ln p at the true class, times its weight."""
    terms = -torch.exp(gamma * rows.log_others) * rows.log_probs
    if rows.class_weight is not None:
        terms = terms * rows.class_weight
    return rows.expect(terms)


@loss()
def focal_loss(rows: Rows, *, gamma: float = 2.0) -> Tensor:
    r"""Compute the focal loss: cross-entropy times a power of one minus the probability of the true class.

    Use it in place of cross-entropy. It helps networks whose confidence keeps growing on rows they already classify
    correctly. It is not a proper scoring rule: its minimizer differs from the true class probabilities. For two
    classes it is less confident (with gamma 2, 0.58 for a true probability of 0.7), so the network can become
    underconfident; with many classes and no clear favourite it is more confident (gamma 2, 100 classes: 0.113 where
    the most likely class has 0.10 and the others are equally likely). The cost is negligible.

    Parameters
    ----------
    input
    target
    gamma : float, default 2.0
        Exponent, at least 0 (cross-entropy); 2 in [1]_, 3 in the study of calibration [2]_.
    weight
    ignore_index
    reduction

    See Also
    --------
    flsd_loss : Exponent that depends on the row.
    dual_focal_loss : Uses the second largest probability too.

    Notes
    -----
    With :math:`p_y` the probability and :math:`w_y` the weight of the true class,

    .. math:: L = -w_y (1 - p_y)^\gamma \ln p_y.

    With soft targets it is the mean over the target. The sum divided by the number of rows equals
    `calibrant.focal_loss` with the same class weights.

    References
    ----------
    .. [1] Lin, Goyal, Girshick, He and Dollar (2017): Focal loss for dense object detection. ICCV. arXiv:1708.02002
    .. [2] Mukhoti, Kulharia, Sanyal, Golodetz, Torr and Dokania (2020): Calibrating deep neural networks using focal
       loss. NeurIPS. arXiv:2002.09437

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import focal_loss
    >>> logits = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]]).log()
    >>> round(focal_loss(logits, torch.tensor([0, 2]), gamma=3).item(), 6)
    0.211296
    """
    power = check_number(gamma, "gamma")
    return rows.reduce(_focal(rows, power))


@loss()
def flsd_loss(rows: Rows, *, cut: float = CUT, gamma_low: float = LOW, gamma_high: float = HIGH) -> Tensor:
    r"""Compute the focal loss with an exponent that depends on the row: 5 where the true class has less than 0.2, else 3
    (FLSD-53).

    Use it in place of cross-entropy. It helps as the focal loss does, and keeps a large gradient on rows that are
    badly wrong. It is not a proper scoring rule, and is discontinuous where the probability crosses the cut. The cost
    is negligible.

    Parameters
    ----------
    input
    target
    cut : float, default 0.2
        Probability of the true class below which `gamma_low` is used.
    gamma_low : float, default 5.0
        Exponent below the cut.
    gamma_high : float, default 3.0
        Exponent from the cut on.
    weight
    ignore_index
    reduction

    See Also
    --------
    focal_loss : The same exponent for all rows.

    Notes
    -----
    .. math:: L = -w_y (1 - p_y)^{\gamma(p_y)} \ln p_y

    where :math:`\gamma(p)` is `gamma_low` for :math:`p` below the cut and `gamma_high` otherwise.

    References
    ----------
    .. [1] Mukhoti, Kulharia, Sanyal, Golodetz, Torr and Dokania (2020): Calibrating deep neural networks using focal
       loss. NeurIPS. arXiv:2002.09437

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import flsd_loss
    >>> logits = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]]).log()
    >>> round(flsd_loss(logits, torch.tensor([0, 2])).item(), 6)
    0.211296
    """
    where = check_number(cut, "cut", high=1)
    low, high = check_number(gamma_low, "gamma_low"), check_number(gamma_high, "gamma_high")
    gamma = torch.where(rows.probs.detach() < where, low, high).to(rows.logits.dtype)
    return rows.reduce(_focal(rows, gamma))


@loss()
def dual_focal_loss(rows: Rows, *, gamma: float = 5.0) -> Tensor:
    r"""Compute the dual focal loss, which uses the largest probability below that of the true class too.

    Use it in place of cross-entropy. It helps where the focal loss makes a network underconfident: it also lowers the
    probability of the runner-up. It is not a proper scoring rule: where two classes are almost equally likely its
    minimizer is more confident than the true probabilities (0.66 for 0.55), where one is very likely less so (0.76 for
    0.95). Soft targets have no single true class and are not supported. The cost is one more maximum per row.

    Parameters
    ----------
    input
    target
    gamma : float, default 5.0
        Exponent, at least 0 (cross-entropy); 5 in most of the paper's tables.
    weight
    ignore_index
    reduction

    See Also
    --------
    focal_loss : Without the runner-up.

    Notes
    -----
    .. math:: L = -w_y (1 - p_y + q)^\gamma \ln p_y, \qquad q = \max \{p_k : p_k < p_y\},

    with :math:`q = 0` where no class is less likely than the true one.

    References
    ----------
    .. [1] Tao, Dong and Xu (2023): Dual focal loss for calibration. ICML. arXiv:2305.13665

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import dual_focal_loss
    >>> logits = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]]).log()
    >>> round(dual_focal_loss(logits, torch.tensor([0, 2])).item(), 6)
    0.202832
    """
    power = check_number(gamma, "gamma")
    label_probs = rows.probs.gather(1, rows.right_labels()[:, None])
    below = torch.where(rows.probs < label_probs, rows.probs, 0.0).amax(1)
    base = rows.expect(rows.log_others).exp() + below
    # Through the logarithm, so that an exponent below 1 has a finite gradient where the base vanishes.
    factor = torch.exp(power * base.clamp(min=torch.finfo(base.dtype).tiny).log())
    return rows.reduce(factor * rows.cross_entropy())
