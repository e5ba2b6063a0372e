"""Terms that compare each row with its neighbours in confidence, to be added to cross-entropy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from ...errors import LensError
from ...metrics.kernel.bandwidths import SAME_SCORE
from ...metrics.kernel.densities import JUDGED, SURE, WIDTHS
from ...util.checks import check_choice
from .base import LossModule, Rows, check_number, gather_rows, in_full_precision, safe_power

__all__ = [
    "KDEECELoss",
    "MMCELoss",
    "SECELoss",
    "WeightedMMCELoss",
    "kde_ece_loss",
    "mmce_loss",
    "sece_loss",
    "weighted_mmce_loss",
]

# Entries of a kernel held at a time; above that each tile is made again for its gradient.
TILE = 1 << 22

TRIED: list[float] = WIDTHS.tolist()

LogKernel = Callable[[int, int], Tensor]


def _pair_sum(score: Tensor, residual: Tensor, width: float) -> Tensor:
    """Sum over all pairs of the product of their residuals and exp(-distance / width)."""
    near = tiled(lambda start, stop: torch.exp(-(score[start:stop, None] - score).abs() / width) @ residual, len(score))
    return torch.relu((residual * near).sum())


@in_full_precision
def mmce_loss(
    input: Tensor,
    target: Tensor,
    *,
    bandwidth: float = 0.4,
    squared: bool = False,
    lens: str = "auto",
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Maximum mean calibration error of the batch: a kernel mean over all pairs of rows of their residuals.

    Add it to cross-entropy; the paper takes beta from 2 to 8. It helps against errors that differ over the range of
    confidence, without bins. It costs rows squared in time; in memory it is tiled. On rows the network already fits
    it asks for confidence 1.

    It equals `calibrant.mmce` with the same bandwidth and lens, or its square with ``squared=True``, class weights as
    `sample_weight` of the rows.

    Parameters
    ----------
    input, target, weight, ignore_index
        As in `torch.nn.functional.cross_entropy`.
    bandwidth : float
        Distance between scores at which the kernel has fallen to 1/e.
    squared : bool
        Leave out the root, as the authors' training code does.
    lens : {'auto', 'top_label', 'binary'}
        Which confidence; ``'auto'`` is ``'binary'`` for two classes and ``'top_label'`` for more.
    reduction : {'mean', 'sum'}
        ``'sum'`` is the value times the weight of the batch.

    References
    ----------
    Kumar, Sarawagi and Jain (2018): Trainable calibration measures for neural networks from
    kernel mean embeddings. ICML.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import mmce_loss
    >>> logits, y = torch.tensor([[2.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 0])
    >>> loss = torch.nn.functional.cross_entropy(logits, y) + 4 * mmce_loss(logits, y)
    >>> round(mmce_loss(logits, y).item(), 6)
    0.382887
    """
    width = check_number(bandwidth, "bandwidth", above=True)
    rows = gather_rows(input, target, weight, ignore_index, reduction)
    score, outcome = rows.seen(lens)
    value = _pair_sum(score, rows.share * (score - outcome), width)
    return rows.whole(value if squared else safe_power(value, 0.5), "mmce_loss")


class MMCELoss(LossModule):
    """Maximum mean calibration error, to be added to cross-entropy; see `mmce_loss`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import MMCELoss
    >>> MMCELoss()(torch.zeros(2, 2), torch.tensor([0, 0])).item()
    0.5
    """

    loss = staticmethod(mmce_loss)


@in_full_precision
def weighted_mmce_loss(
    input: Tensor,
    target: Tensor,
    *,
    bandwidth: float = 0.4,
    squared: bool = False,
    normalisation: Literal["paper", "code"] = "paper",
    lens: str = "auto",
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Maximum mean calibration error with the residuals of right and of wrong rows each divided by their number.

    Add it to cross-entropy, with beta around 0.25; the 2 to 8 of the paper belong to its code, which divides twice,
    and ruin accuracy with the form of the paper. It helps where a batch has few wrong rows, which the plain error all
    but overlooks. It costs rows squared in time; in memory it is tiled. It is not 0 for calibrated forecasts, and 0
    with gradient 0 for a batch that is all right or all wrong.

    It equals `calibrant.mmce_w` with the same bandwidth, normalisation and lens, or its square with ``squared=True``,
    class weights as `sample_weight` of the rows. It needs class indices.

    Parameters
    ----------
    input, target, weight, ignore_index
        As in `torch.nn.functional.cross_entropy`.
    bandwidth : float
        Distance between scores at which the kernel has fallen to 1/e.
    squared : bool
        Leave out the root.
    normalisation : {'paper', 'code'}
        ``'code'`` divides by the numbers of rows twice, as published code does.
    lens : {'auto', 'top_label', 'binary'}
        Which confidence; ``'auto'`` is ``'binary'`` for two classes and ``'top_label'`` for more.
    reduction : {'mean', 'sum'}
        ``'sum'`` is the value times the weight of the batch.

    References
    ----------
    Kumar, Sarawagi and Jain (2018): Trainable calibration measures for neural networks from
    kernel mean embeddings. ICML.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import weighted_mmce_loss
    >>> logits = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    >>> round(weighted_mmce_loss(logits, torch.tensor([0, 1])).item(), 6)
    0.269537
    """
    width = check_number(bandwidth, "bandwidth", above=True)
    check_choice(normalisation, "normalisation", ("paper", "code"))
    rows = gather_rows(input, target, weight, ignore_index, reduction)
    rows.right_labels("weighted_mmce_loss")
    score, outcome = rows.seen(lens)
    # Weights of mean 1, so that only their ratios matter to the doubly divided form too.
    row_weight = rows.share * rows.number
    right, wrong = row_weight * outcome, row_weight * (1 - outcome)
    both = (right.sum() > 0) & (wrong.sum() > 0)
    power = 1 if normalisation == "paper" else 2
    numbers = [torch.where(both, part.sum(), 1.0) ** power for part in (right, wrong)]
    # A product, for a score that is no number must not be hidden.
    residual = both * (right * (1 - score) / numbers[0] - wrong * score / numbers[1])
    value = _pair_sum(score, residual, width)
    return rows.whole(value if squared else safe_power(value, 0.5), "weighted_mmce_loss")


class WeightedMMCELoss(LossModule):
    """Maximum mean calibration error in which right and wrong rows weigh the same; see `weighted_mmce_loss`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import WeightedMMCELoss
    >>> WeightedMMCELoss()(torch.zeros(2, 2), torch.tensor([0, 0])).item()
    0.0
    """

    loss = staticmethod(weighted_mmce_loss)


@in_full_precision
def sece_loss(
    input: Tensor,
    target: Tensor,
    *,
    bandwidth: float = 0.05,
    lens: str = "auto",
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Smooth expected calibration error: mean distance between each score and the kernel mean of outcomes near it.

    Add it to cross-entropy, with beta from 0.1 to 1. It helps as the soft-binned error does, without bins. It costs
    rows squared in time; in memory it is tiled. A batch needs rows within a bandwidth of each other to say anything.
    The paper uses it on validation rows, to learn the gamma of a focal loss.

    It equals `calibrant.sece` at the same options, class weights as `sample_weight` of the rows.

    Parameters
    ----------
    input, target, weight, ignore_index
        As in `torch.nn.functional.cross_entropy`.
    bandwidth : float
        Standard deviation of the Gaussian kernel; 0.05 is calibrant's choice, that of the paper is not known to us.
    lens : {'auto', 'top_label', 'binary'}
        Which confidence; ``'auto'`` is ``'binary'`` for two classes and ``'top_label'`` for more.
    reduction : {'mean', 'sum', 'none'}
        ``'none'`` gives the distance at each row, times its weight.

    References
    ----------
    Wang and Golebiowski (2024): Towards unbiased calibration using meta-regularization. TMLR. arXiv:2303.15057

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import sece_loss
    >>> round(sece_loss(torch.zeros(4, 2), torch.tensor([0, 1, 1, 1])).item(), 6)
    0.25
    """
    width = check_number(bandwidth, "bandwidth", above=True)
    rows = gather_rows(input, target, weight, ignore_index, reduction)
    score, outcome = rows.seen(lens)
    if len(score) == 0:
        return rows.average(score)

    def log_kernel(start: int, stop: int) -> Tensor:
        return -(((score[start:stop, None] - score) / width) ** 2) / 2

    means = kernel_means(log_kernel, outcome[:, None], rows.share)[:, 0]
    return rows.average((means - score).abs())


class SECELoss(LossModule):
    """Smooth expected calibration error, to be added to cross-entropy; see `sece_loss`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import SECELoss
    >>> SECELoss(bandwidth=0.1)(torch.zeros(2, 2), torch.tensor([0, 1])).item()
    0.0
    """

    loss = staticmethod(sece_loss)


@in_full_precision
def kde_ece_loss(
    input: Tensor,
    target: Tensor,
    *,
    bandwidth: float | str = "likelihood",
    norm: float = 1.0,
    lens: str = "canonical",
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Distance between each forecast and the kernel mean of the labels of the other rows, by Dirichlet or Beta kernels.

    Add it to cross-entropy, with beta from 0.001 to 0.2. It helps where the whole vector of probabilities is to be
    right, not only the top. It costs rows squared times classes in time, and 20 times that for the search of a
    bandwidth, so give a number in long runs; in memory it is tiled. It is computed in double precision where the
    device has it. A single row has no others: value and gradient are 0.

    It equals `calibrant.dkde` for ``lens='canonical'`` and `calibrant.bkde` for the other lenses at the same options,
    class weights as `sample_weight` of the rows; with ``bandwidth='likelihood'`` up to 500 rows.

    Parameters
    ----------
    input, target, weight, ignore_index
        As in `torch.nn.functional.cross_entropy`.
    bandwidth : float or 'likelihood'
        Width of the kernels, or the value between 1e-5 and 1 under which the other rows make each of the first 500
        likeliest; no gradient flows through the choice.
    norm : float
        Exponent of the distance, from 1 up; no root is taken.
    lens : {'canonical', 'top_label', 'binary', 'auto'}
        The whole vector, or one confidence.
    reduction : {'mean', 'sum', 'none'}
        ``'none'`` gives the distance at each row, times its weight.

    References
    ----------
    Popordanoska, Sayer and Blaschko (2022): A consistent and differentiable Lp canonical calibration error estimator.
    NeurIPS. arXiv:2210.07810

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import kde_ece_loss
    >>> logits = torch.tensor([[2.0, 0.0], [0.0, 1.0], [0.5, 0.0]])
    >>> round(kde_ece_loss(logits, torch.tensor([0, 1, 1]), bandwidth=0.1).item(), 6)
    0.856442
    """
    power = check_number(norm, "norm", low=1)
    searched = isinstance(bandwidth, str) and bandwidth == "likelihood"
    fixed = None if searched else check_number(bandwidth, "bandwidth", above=True)
    single = isinstance(input, Tensor) and input.device.type == "mps"
    rows = gather_rows(input, target, weight, ignore_index, reduction, dtype=None if single else torch.float64)
    probs, score, outcome = _forecasts(rows, lens)
    if len(probs) < 2:
        distance = (probs * 0).sum(1)
    else:
        width = likeliest_width(probs, rows.share, rows.counted) if fixed is None else fixed
        means = kernel_means(dirichlet_logs(probs, width, rows.counted), outcome, rows.share)
        distance = ((means - score).abs() ** power).sum(1) * (rows.number > 1)
    return rows.average(distance).to(torch.promote_types(input.dtype, torch.float32))


def _forecasts(rows: Rows, lens: str) -> tuple[Tensor, Tensor, Tensor]:
    """The vectors between which kernels measure, the scores to be compared, and their outcomes."""
    if lens == "canonical":
        return rows.probs, rows.probs, rows.targets
    if lens not in ("auto", "binary", "top_label"):
        raise LensError("lens", f"must be 'canonical', 'top_label', 'binary' or 'auto'; got {lens!r}")
    score, outcome = rows.seen(lens)
    return torch.stack([1 - score, score], 1), score[:, None], outcome[:, None]


class KDEECELoss(LossModule):
    """Kernel density calibration error, to be added to cross-entropy; see `kde_ece_loss`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import KDEECELoss
    >>> KDEECELoss(bandwidth=0.1)(torch.zeros(1, 2), torch.tensor([0])).item()
    0.0
    """

    loss = staticmethod(kde_ece_loss)


def tiled(work: Callable[[int, int], Tensor], n: int, others: int | None = None) -> Tensor:
    """`work` gives values for rows start to stop against all others; put together for the first n rows."""
    step = max(1, TILE // max(n if others is None else others, 1))
    if n <= step:
        return work(0, n)
    return torch.cat([_made_again(work, start, min(start + step, n)) for start in range(0, n, step)])


def _made_again(work: Callable[[int, int], Tensor], start: int, stop: int) -> Tensor:
    """A tile that is made again for its gradient; the gradients of torch.func cannot, and hold it."""
    try:
        tile: Tensor = checkpoint(work, start, stop, use_reentrant=False, preserve_rng_state=False)
    except RuntimeError as error:
        if "saved tensor hooks" not in str(error):
            raise
        return work(start, stop)
    return tile


def kernel_means(log_kernel: LogKernel, outcome: Tensor, share: Tensor) -> Tensor:
    """(M, J): at each row the mean outcome of all rows, weighed by the kernel."""
    both = torch.cat([share[:, None], share[:, None] * outcome], 1)

    def work(start: int, stop: int) -> Tensor:
        logs = log_kernel(start, stop)
        # Any factor of a row cancels; this one leaves its nearest row at 1, and is finite where there is none.
        top = logs.detach().amax(1, keepdim=True).clamp(min=torch.finfo(logs.dtype).min)
        sums = torch.exp(logs - top) @ both
        return sums[:, 1:] / sums[:, :1].clamp(min=torch.finfo(sums.dtype).tiny)

    return tiled(work, len(share))


def dirichlet_logs(probs: Tensor, width: float | Tensor, counted: Tensor | None = None) -> LogKernel:
    """Logarithms of Dirichlet densities with parameters p_j/h + 1, of the rows j that count at row i, not of a row at itself."""
    safe = probs.clamp(SURE, 1 - SURE)
    logs, shape = safe.log(), safe / width
    constant = torch.lgamma((shape + 1).sum(1)) - torch.lgamma(shape + 1).sum(1)
    number = torch.arange(len(probs), device=probs.device)

    def log_kernel(start: int, stop: int) -> Tensor:
        tile = logs[start:stop] @ shape.T + constant
        out = number[start:stop, None] == number
        return tile.masked_fill(out if counted is None else out | ~counted, -torch.inf)

    return log_kernel


@torch.no_grad()
def likeliest_width(probs: Tensor, share: Tensor, counted: Tensor | None) -> Tensor:
    """(1,): the width under which the other rows make each of the first rows likeliest; the first of the best, in rising order."""
    if counted is not None:
        order = counted.to(torch.uint8).argsort(descending=True, stable=True)
        probs, share, counted = probs[order], share[order], counted[order]
    judges = min(JUDGED, len(probs))
    log_share = share.log()

    def score(width: float) -> Tensor:
        log_kernel = dirichlet_logs(probs, width, counted)
        density = tiled(lambda start, stop: (log_kernel(start, stop) + log_share).logsumexp(1), judges, len(probs))
        weight = share[:judges]
        return torch.where(weight > 0, weight * density, 0.0).sum()

    scores = torch.stack([score(width) for width in TRIED])
    best = scores.amax()
    good = scores >= best - SAME_SCORE * best.abs().clamp(min=torch.finfo(best.dtype).tiny)
    return probs.new_tensor(TRIED).gather(0, good.to(torch.uint8).argmax(0, keepdim=True))
