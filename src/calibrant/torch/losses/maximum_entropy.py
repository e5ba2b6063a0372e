"""Focal loss with constraints on the moments of the predicted class index, with multipliers by maximum entropy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor

from ...errors import ArgumentError
from ...util.checks import check_choice, check_number
from .base import Rows, loss
from .focal import _focal

STEPS, HALVINGS, EXACT = 100, 40, 1e-12


@loss()
def max_ent_loss(
    rows: Rows,
    *,
    class_share: Sequence[float] | None = None,
    constraint: Literal["mean", "second_moment", "both"] = "mean",
    gamma: float = 2.0,
) -> Tensor:
    r"""Compute the focal loss plus a penalty on the deviation of the mean predicted class index from its constraints
    (MaxEnt).

    Use it in place of cross-entropy. The paper finds that it helps under distribution shift. It depends on the
    numbering of the classes, which is meaningful only for ordered classes. The cost is one product per row; the
    multipliers are computed once.

    Parameters
    ----------
    input
    target
    class_share : sequence of float, optional
        Frequency of each class in the training data, positive and summing to 1; by default uniform.
    constraint : {"mean", "second_moment", "both"}, default "mean"
        Constrained moments of the class index: mean, mean square, or mean and variance (M, V and M+V of the paper).
    gamma : float, default 2.0
        Exponent of the focal loss, at least 0; 2 in the authors' code.
    weight
    ignore_index
    reduction

    See Also
    --------
    focal_loss : Without constraints.

    Notes
    -----
    With the moment :math:`\mu(p) = \sum_k x_k p_k`, :math:`x_k = k`,

    .. math:: L = L_{focal} + w_y \lambda_y \left(|\mu(p) - \mu(\pi)| + |\mu(p) - x_y|\right),

    where :math:`\pi` are the class frequencies and the multiplier solves :math:`\sum_k x_k e^{-1 - \lambda_y x_k} =
    (\mu(\pi) + x_y) / 2`, as in the authors' code, here to full precision. With fewer than five classes some
    multipliers are negative and would reward violations; they are set to 0. With ``constraint="both"`` the computation
    needs memory quadratic in the classes.

    References
    ----------
    .. [1] Neo, Winkler and Chen (2024): MaxEnt loss: constrained maximum entropy for calibration under out-of-
       distribution shift. AAAI. arXiv:2310.17159

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import max_ent_loss
    >>> round(max_ent_loss(torch.zeros(1, 5), torch.tensor([0]), gamma=0).item(), 4)
    2.5585
    """
    power = check_number(gamma, "gamma")
    check_choice(constraint, "constraint", ("mean", "second_moment", "both"))
    share = _check_share(class_share, rows.logits.shape[1])
    multipliers = _known_multipliers(share, constraint).to(rows.logits)
    penalty = ((rows.targets @ multipliers) * _distances(rows, share, constraint)).sum(1)
    return rows.reduce(_focal(rows, power) + rows.row_weight * penalty)


def _check_share(class_share: Sequence[float] | None, classes: int) -> tuple[float, ...]:
    if class_share is None:
        return (1 / classes,) * classes
    try:
        share = tuple(float(value) for value in class_share)
    except (TypeError, ValueError):
        share = ()
    if len(share) != classes or not all(value > 0 for value in share) or not abs(sum(share) - 1) <= 1e-4:
        raise ArgumentError(
            "class_share",
            f"must be {classes} numbers above 0 that sum to 1; got {class_share!r}",
            "drop class_share for equal proportions",
        )
    return share


def _distances(rows: Rows, share: tuple[float, ...], constraint: str) -> Tensor:
    """(M, J): for each moment its distance from that of the data plus its distance from that of the target."""
    numbers = torch.arange(len(share), device=rows.logits.device, dtype=rows.logits.dtype)
    data = rows.logits.new_tensor(share)
    if constraint == "second_moment":
        return _both_ways(rows.probs @ numbers**2, data @ numbers**2, rows.targets @ numbers**2)[:, None]
    mean, data_mean, own_mean = rows.probs @ numbers, data @ numbers, rows.targets @ numbers
    first = _both_ways(mean, data_mean, own_mean)
    if constraint == "mean":
        return first[:, None]
    spread = (rows.probs * (numbers - mean[:, None]) ** 2).sum(1)
    own_spread = (rows.targets * (numbers - own_mean[:, None]) ** 2).sum(1)
    return torch.stack([first, _both_ways(spread, data @ (numbers - data_mean) ** 2, own_spread)], 1)


def _both_ways(value: Tensor, of_data: Tensor, of_row: Tensor) -> Tensor:
    return (value - of_data).abs() + (value - of_row).abs()


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _known_multipliers(share: tuple[float, ...], constraint: str) -> Tensor:
    """The multipliers as a constant of the graph, because torch.compile traces through caches."""
    return _multipliers(share, constraint)


@lru_cache(maxsize=32)
def _multipliers(share: tuple[float, ...], constraint: str) -> Tensor:
    """(K, J): multiplier of each moment for each true class, at least 0."""
    data = torch.tensor(share, dtype=torch.float64)
    numbers = torch.arange(len(share), dtype=torch.float64)
    halfway = (data + torch.eye(len(share), dtype=torch.float64)) / 2
    if constraint == "both":
        middle = halfway @ numbers
        features = torch.stack([numbers.expand(len(share), -1), (numbers - middle[:, None]) ** 2], 2)
    else:
        features = (numbers if constraint == "mean" else numbers**2)[None, :, None].expand(len(share), -1, 1)
    aims = torch.einsum("ck,ckj->cj", halfway, features)
    return _solve_multipliers(features, aims).clamp(min=0.0)


def _solve_multipliers(features: Tensor, aims: Tensor) -> Tensor:
    """Solve sum_k f_k exp(-1 - lambda f_k) = aim by minimizing a convex function: Newton's method with step halving."""
    scale = features.amax(1, keepdim=True)
    features, aims = features / scale, aims / scale[:, 0]
    multipliers = torch.zeros_like(aims)

    def mass(at: Tensor) -> Tensor:
        return torch.exp(-1 - torch.einsum("ckj,cj->ck", features, at))

    def height(at: Tensor) -> Tensor:
        return mass(at).sum(1) + (at * aims).sum(1)

    for _ in range(STEPS):
        weight = mass(multipliers)
        slope = aims - torch.einsum("ck,ckj->cj", weight, features)
        if float(slope.abs().max()) < EXACT:
            break
        bend = torch.einsum("ck,cki,ckj->cij", weight, features, features)
        bend = bend + 1e-14 * torch.eye(aims.shape[1], dtype=bend.dtype)
        step = -torch.linalg.solve(bend, slope[:, :, None])[:, :, 0]
        value, size = height(multipliers), torch.ones(len(aims), 1, dtype=aims.dtype)
        for _ in range(HALVINGS):
            worse = ~(height(multipliers + size * step) <= value + EXACT)
            if not bool(worse.any()):
                break
            size = torch.where(worse[:, None], size / 2, size)
        multipliers = multipliers + size * step
    return multipliers / scale[:, 0]
