"""Batches that mix pairs of rows, mixup and CutMix, and their loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import ShapeError
from ...util.checks import check_number, check_whole
from ..ensembles import read_seed


@dataclass(frozen=True, eq=False)
class MixedBatch:
    """A batch of mixed rows with both of their targets.

    Returned by `mixup` and `cutmix`; pass ``batch.input`` to the network and the batch to `mixed_loss`.

    Parameters
    ----------
    input : torch.Tensor of shape (N, ...)
        Mixed rows.
    target : torch.Tensor of shape (N, ...)
        Targets of the original rows.
    other : torch.Tensor of shape (N, ...)
        Targets of the rows mixed in.
    share : float
        Share of the original row in each mixed row, from 0 to 1.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import mixup
    >>> mixup(torch.eye(3), torch.tensor([0, 1, 2]), rng=0)
    MixedBatch(3 rows of shape (3,), share 0.9866)
    """

    input: Tensor
    """Mixed rows."""
    target: Tensor
    """Targets of the original rows."""
    other: Tensor
    """Targets of the rows mixed in."""
    share: float
    """Share of the original row, from 0 to 1."""

    def soft_target(self, classes: int) -> Tensor:
        """Combine both targets to soft targets, for losses that support them.

        Parameters
        ----------
        classes : int
            Number of classes K.

        Returns
        -------
        torch.Tensor of shape (N, K, ...)
            Both targets as class probabilities, weighted by their shares.
        """
        count = check_whole(classes, "classes", 2)
        target_shares, other_shares = (_shares(labels, count) for labels in (self.target, self.other))
        return self.share * target_shares + (1 - self.share) * other_shares

    def __repr__(self) -> str:
        return f"MixedBatch({len(self.input)} rows of shape {tuple(self.input.shape[1:])}, share {self.share:.4f})"


def mixup(
    input: Tensor,
    target: Tensor,
    *,
    alpha: float = 0.2,
    rng: Any = None,
) -> MixedBatch:
    r"""Mix each row of a batch with another, with one share sampled for the batch (mixup).

    It helps networks that fit their training data perfectly, and often improves accuracy too; training converges more
    slowly. With large alpha, predictions for unmixed rows tend to be underconfident. The cost is negligible.

    Parameters
    ----------
    input : torch.Tensor of shape (N, ...)
        Rows in floating point.
    target : torch.Tensor of shape (N, ...)
        Class indices, or soft targets.
    alpha : float, default 0.2
        The share has the distribution Beta(alpha, alpha); [1]_ uses 0.2 for ImageNet and 1 for CIFAR.
    rng : None, int, numpy.random.Generator or torch.Generator, optional
        Seed or generator of the share and the pairs.

    Returns
    -------
    MixedBatch
        Mixed rows ``input``, both targets ``target`` and ``other``, and the ``share`` of the first.

    See Also
    --------
    mixed_loss : The loss of a mixed batch.
    cutmix : Mix images by pasting boxes.

    Notes
    -----
    With :math:`\lambda \sim \mathrm{Beta}(\alpha, \alpha)` and a random permutation :math:`\pi`, the mixed rows are
    :math:`\lambda x_i + (1 - \lambda) x_{\pi(i)}`.

    References
    ----------
    .. [1] Zhang, Cisse, Dauphin and Lopez-Paz (2018): mixup: beyond empirical risk minimization. ICLR. arXiv:1710.09412
    .. [2] Thulasidasan, Chennupati, Bilmes, Bhattacharya and Michalak (2019): On mixup training: improved calibration and
       predictive uncertainty for deep neural networks. NeurIPS. arXiv:1905.11001

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import mixup
    >>> batch = mixup(torch.eye(3), torch.tensor([0, 1, 2]), rng=0)
    >>> bool(torch.allclose(batch.input, batch.soft_target(3)))
    True
    """
    power = check_number(alpha, "alpha", above=True)
    _check_batch(input, target, 1)
    generator = _generator(rng)
    share = float(generator.beta(power, power))
    order = torch.from_numpy(generator.permutation(len(input))).to(input.device)
    return MixedBatch(share * input + (1 - share) * input[order], target, target[order], share)


def cutmix(
    input: Tensor,
    target: Tensor,
    *,
    alpha: float = 1.0,
    rng: Any = None,
) -> MixedBatch:
    """Paste a box of another image of the batch into each image (CutMix).

    It helps image networks that fit their training data perfectly, and often improves accuracy too. It requires that
    the last two dimensions are height and width. The cost is one copy of the batch.

    Parameters
    ----------
    input : torch.Tensor of shape (N, ..., height, width)
        Images.
    target : torch.Tensor of shape (N, ...)
        Class indices, or soft targets.
    alpha : float, default 1.0
        The share has the distribution Beta(alpha, alpha), 1 in the paper; it is then replaced by the remaining area.
    rng : None, int, numpy.random.Generator or torch.Generator, optional
        Seed or generator of the box and the pairs.

    Returns
    -------
    MixedBatch
        Mixed images ``input``, both targets ``target`` and ``other``, and the ``share`` of the first.

    See Also
    --------
    mixed_loss : The loss of a mixed batch.
    mixup : Mix rows linearly.

    References
    ----------
    .. [1] Yun, Han, Oh, Chun, Choe and Yoo (2019): CutMix: regularization strategy to train strong classifiers with
       localizable features. ICCV. arXiv:1905.04899

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import cutmix
    >>> batch = cutmix(torch.arange(2.0)[:, None, None].expand(2, 8, 8), torch.tensor([0, 1]), rng=1)
    >>> bool(torch.allclose(batch.input.mean((1, 2)), batch.soft_target(2)[:, 1]))
    True
    """
    power = check_number(alpha, "alpha", above=True)
    _check_batch(input, target, 3)
    generator = _generator(rng)
    side = math.sqrt(1 - float(generator.beta(power, power)))
    order = torch.from_numpy(generator.permutation(len(input))).to(input.device)
    height, width = input.shape[-2:]
    rows, columns = _span(generator, height, side), _span(generator, width, side)
    mixed = input.clone()
    mixed[..., rows, columns] = input[order][..., rows, columns]
    pasted = (rows.stop - rows.start) * (columns.stop - columns.start) / max(height * width, 1)
    return MixedBatch(mixed, target, target[order], 1 - pasted)


def _span(generator: np.random.Generator, length: int, side: float) -> slice:
    """A slice of the given share of a length around a random centre, clipped at the ends."""
    centre, half = int(generator.integers(0, max(length, 1))), int(length * side) // 2
    return slice(max(centre - half, 0), min(centre + half, length))


def _shares(target: Tensor, classes: int) -> Tensor:
    """Soft targets with the classes on axis 1, as the losses expect them."""
    return target if target.is_floating_point() else F.one_hot(target.long(), classes).movedim(-1, 1).float()


def _check_batch(input: Tensor, target: Tensor, least: int) -> None:
    if input.ndim < least or target.ndim < 1 or len(target) != len(input):
        form = "(N, ...)" if least == 1 else "(N, ..., height, width)"
        raise ShapeError(
            "input",
            f"must have shape {form} with one target for each row; got {tuple(input.shape)} and {tuple(target.shape)}",
        )


def _generator(rng: Any) -> np.random.Generator:
    return np.random.default_rng(read_seed(rng) if isinstance(rng, torch.Generator) else rng)


def mixed_loss(
    input: Tensor, batch: MixedBatch, *, criterion: Callable[[Tensor, Tensor], Tensor] | None = None
) -> Tensor:
    r"""Compute the loss of a mixed batch: that of both targets, weighted by their shares.

    Parameters
    ----------
    input : torch.Tensor of shape (N, K)
        Logits for ``batch.input``.
    batch : MixedBatch
        Result of `mixup` or `cutmix`.
    criterion : callable, optional
        A loss of logits and targets; by default cross-entropy, for which the result equals the loss against
        ``batch.soft_target(K)``.

    Returns
    -------
    torch.Tensor
        The loss.

    See Also
    --------
    mixup : Mix rows linearly.
    cutmix : Mix images by pasting boxes.

    Notes
    -----
    .. math:: L = \lambda\, \ell(z, y) + (1 - \lambda)\, \ell(z, y')

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import mixed_loss, mixup
    >>> batch = mixup(torch.eye(3), torch.tensor([0, 1, 2]), rng=0)
    >>> bool(torch.isfinite(mixed_loss(3 * batch.input, batch)))
    True
    """
    loss = F.cross_entropy if criterion is None else criterion
    return batch.share * loss(input, batch.target) + (1 - batch.share) * loss(input, batch.other)
