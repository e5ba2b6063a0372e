"""Cross-entropy that looks away from rows that are sure and right: the focal losses."""

from __future__ import annotations

import torch
from torch import Tensor

from .base import LossModule, Rows, check_number, gather_rows, in_full_precision

__all__ = ["DualFocalLoss", "FLSDLoss", "FocalLoss", "dual_focal_loss", "flsd_loss", "focal_loss"]

# FLSD-53: the exponent for true classes below the cut, and from it on.
CUT, LOW, HIGH = 0.2, 5.0, 3.0


def _focal(rows: Rows, gamma: Tensor | float) -> Tensor:
    """-(1 - p)^gamma ln p at the true class, times its weight."""
    terms = -torch.exp(gamma * rows.log_others) * rows.log_probs
    if rows.class_weight is not None:
        terms = terms * rows.class_weight
    return rows.expect(terms)


@in_full_precision
def focal_loss(
    input: Tensor,
    target: Tensor,
    *,
    gamma: float = 2.0,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Cross-entropy, each row multiplied by (1 - probability of the true class) to the power gamma.

    Use it in place of cross-entropy. It helps networks that go on growing surer of rows they have long got right. It
    costs nothing to compute. It is not proper: it pulls the best forecast away from the truth. Of two classes it is less
    sure (gamma 2: 0.58 where the truth is 0.7), so it can overshoot into underconfidence; with many classes and no clear
    winner it is surer (gamma 2, 100 classes: 0.113 where the likeliest class has 0.10 and the others share the rest).

    With ``reduction='sum'`` divided by the number of rows it equals `calibrant.focal_loss`, class weights included.

    Parameters
    ----------
    input, target, weight, ignore_index, reduction
        As in `torch.nn.functional.cross_entropy`.
    gamma : float
        From 0 (cross-entropy) up; 2 in the paper, 3 in Mukhoti et al. (2020), who study calibration.

    References
    ----------
    Lin, Goyal, Girshick, He and Dollar (2017): Focal loss for dense object detection. ICCV. arXiv:1708.02002

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import focal_loss
    >>> logits = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]]).log()
    >>> round(focal_loss(logits, torch.tensor([0, 2]), gamma=3).item(), 6)
    0.211296
    """
    power = check_number(gamma, "gamma")
    rows = gather_rows(input, target, weight, ignore_index, reduction)
    return rows.reduce(_focal(rows, power))


class FocalLoss(LossModule):
    """Cross-entropy that looks away from rows already right; see `focal_loss`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import FocalLoss
    >>> round(FocalLoss(gamma=3)(torch.zeros(2, 2), torch.tensor([0, 1])).item(), 6)
    0.086643
    """

    loss = staticmethod(focal_loss)


@in_full_precision
def flsd_loss(
    input: Tensor,
    target: Tensor,
    *,
    cut: float = CUT,
    gamma_low: float = LOW,
    gamma_high: float = HIGH,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Focal loss whose gamma depends on the row: 5 where the true class has less than 0.2, else 3 (FLSD-53).

    Use it in place of cross-entropy. It helps as the focal loss does, and keeps the push on badly wrong rows. It costs
    nothing to compute. It is not proper, and jumps where the probability crosses the cut.

    Parameters
    ----------
    input, target, weight, ignore_index, reduction
        As in `torch.nn.functional.cross_entropy`.
    cut : float
        Probability of the true class below which `gamma_low` holds.
    gamma_low, gamma_high : float
        Exponents below the cut, and from it on.

    References
    ----------
    Mukhoti, Kulharia, Sanyal, Golodetz, Torr and Dokania (2020): Calibrating deep neural networks using focal loss.
    NeurIPS. arXiv:2002.09437

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
    rows = gather_rows(input, target, weight, ignore_index, reduction)
    gamma = torch.where(rows.probs.detach() < where, low, high).to(rows.logits.dtype)
    return rows.reduce(_focal(rows, gamma))


class FLSDLoss(LossModule):
    """Focal loss whose gamma depends on the row (FLSD-53); see `flsd_loss`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import FLSDLoss
    >>> round(FLSDLoss()(torch.zeros(2, 2), torch.tensor([0, 1])).item(), 6)
    0.086643
    """

    loss = staticmethod(flsd_loss)


@in_full_precision
def dual_focal_loss(
    input: Tensor,
    target: Tensor,
    *,
    gamma: float = 5.0,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Focal loss with (1 - p + q)^gamma, where q is the largest probability below that of the true class.

    Use it in place of cross-entropy. It helps where the focal loss makes a model underconfident: the runner-up is
    pushed down too. It costs one more maximum per row. It is not proper: where two classes are nearly as likely the best
    forecast is surer than the truth (0.66 where it is 0.55), where one is likely it is less sure (0.76 where it is 0.95).
    It needs class indices: with soft targets there is no one true class to have a runner-up.

    Parameters
    ----------
    input, target, weight, ignore_index, reduction
        As in `torch.nn.functional.cross_entropy`.
    gamma : float
        From 0 (cross-entropy) up; 5 in the paper's tables for most networks.

    References
    ----------
    Tao, Dong and Xu (2023): Dual focal loss for calibration. ICML. arXiv:2305.13665

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import dual_focal_loss
    >>> logits = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]]).log()
    >>> round(dual_focal_loss(logits, torch.tensor([0, 2])).item(), 6)
    0.202832
    """
    power = check_number(gamma, "gamma")
    rows = gather_rows(input, target, weight, ignore_index, reduction)
    own = rows.probs.gather(1, rows.right_labels("dual_focal_loss")[:, None])
    below = torch.where(rows.probs < own, rows.probs, 0.0).amax(1)
    base = rows.expect(rows.log_others).exp() + below
    # By its logarithm, so that a power below 1 has no infinite slope where the base vanishes.
    factor = torch.exp(power * base.clamp(min=torch.finfo(base.dtype).tiny).log())
    return rows.reduce(factor * rows.cross_entropy())


class DualFocalLoss(LossModule):
    """Focal loss that looks at the runner-up too; see `dual_focal_loss`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import DualFocalLoss
    >>> round(DualFocalLoss(gamma=0)(torch.zeros(2, 2), torch.tensor([0, 1])).item(), 6)
    0.693147
    """

    loss = staticmethod(dual_focal_loss)
