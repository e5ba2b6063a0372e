"""Kernel calibration errors, terms to add to cross-entropy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from ...errors import LensError
from ...metrics.kernel.bandwidths import SAME_SCORE
from ...metrics.kernel.densities import JUDGED, SURE, WIDTHS
from ...util.checks import check_choice, check_number
from .base import Rows, loss, safe_power

# Entries of a kernel matrix kept in memory; larger ones are computed in tiles, and again in the backward pass.
TILE = 1 << 22

TRIED: list[float] = WIDTHS.tolist()

LogKernel = Callable[[int, int], Tensor]


def _pair_sum(score: Tensor, residual: Tensor, width: float) -> Tensor:
    """Sum over all pairs of the product of their residuals and exp(-distance / width)."""
    near = compute_tiles(
        lambda start, stop: torch.exp(-(score[start:stop, None] - score).abs() / width) @ residual, len(score)
    )
    return torch.relu((residual * near).sum())


@loss(batch=True)
def mmce_loss(rows: Rows, *, bandwidth: float = 0.4, squared: bool = False, lens: str = "auto") -> Tensor:
    r"""Compute the maximum mean calibration error (MMCE) of the batch.

    Add it to cross-entropy; the paper uses beta from 2 to 8. It helps against miscalibration that differs over the
    range of confidence, without bins. On rows that the network already fits its minimum is at confidence 1. The cost
    is quadratic in the rows; memory is bounded by computing the kernel in tiles.

    Parameters
    ----------
    input
    target
    bandwidth : float, default 0.4
        Distance between scores at which the kernel has fallen to 1/e.
    squared : bool, default False
        Whether to return the square, as the authors' training code does.
    lens
    weight
    ignore_index
    reduction

    See Also
    --------
    weighted_mmce_loss : Balances correct and wrong rows.

    Notes
    -----
    With score :math:`s_i`, outcome :math:`o_i` and normalized weight :math:`\omega_i` of each row and bandwidth
    :math:`h`,

    .. math:: L = \sqrt{\sum_{i,j} \omega_i \omega_j (s_i - o_i)(s_j - o_j)\, e^{-|s_i - s_j| / h}}.

    It equals `calibrant.mmce` with the same bandwidth and lens, class weights becoming the `sample_weight` of the rows.

    References
    ----------
    .. [1] Kumar, Sarawagi and Jain (2018): Trainable calibration measures for neural networks from kernel mean
       embeddings. ICML.

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
    score, outcome = rows.seen(lens)
    value = _pair_sum(score, rows.share * (score - outcome), width)
    return rows.whole(value if squared else safe_power(value, 0.5))


@loss(batch=True)
def weighted_mmce_loss(
    rows: Rows,
    *,
    bandwidth: float = 0.4,
    squared: bool = False,
    normalisation: Literal["paper", "code"] = "paper",
    lens: str = "auto",
) -> Tensor:
    r"""Compute the maximum mean calibration error with correct and wrong rows balanced.

    Add it to cross-entropy, with beta around 0.25; the values 2 to 8 of the paper belong to the authors' code, which
    divides twice, and destroy the accuracy with the formula of the paper. It helps where a batch has few wrong rows,
    which hardly influence the unweighted error. It is not 0 for calibrated predictions, and it is 0 with gradient 0
    for a batch in which all rows are correct or all are wrong. It needs class indices. The cost is quadratic in the
    rows; memory is bounded by tiles.

    Parameters
    ----------
    input
    target
    bandwidth : float, default 0.4
        Distance between scores at which the kernel has fallen to 1/e.
    squared : bool, default False
        Whether to return the square.
    normalisation : {"paper", "code"}, default "paper"
        Whether to divide by the numbers of correct and wrong rows once, or twice as the published code does.
    lens
    weight
    ignore_index
    reduction

    See Also
    --------
    mmce_loss : Without the balance.

    Notes
    -----
    As `mmce_loss`, with :math:`\omega_i (s_i - o_i)` replaced by :math:`(1 - s_i) / n_1` for the :math:`n_1` correct
    and by :math:`-s_i / n_0` for the :math:`n_0` wrong rows. It equals `calibrant.mmce_w` with the same options, class
    weights becoming the `sample_weight` of the rows.

    References
    ----------
    .. [1] Kumar, Sarawagi and Jain (2018): Trainable calibration measures for neural networks from kernel mean
       embeddings. ICML.

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
    rows.right_labels()
    score, outcome = rows.seen(lens)
    # Weights of mean 1, so that with normalisation="code" too only their ratios matter.
    row_weight = rows.share * rows.number
    correct_weight, wrong_weight = row_weight * outcome, row_weight * (1 - outcome)
    has_both = (correct_weight.sum() > 0) & (wrong_weight.sum() > 0)
    power = 1 if normalisation == "paper" else 2
    numbers = [torch.where(has_both, weight.sum(), 1.0) ** power for weight in (correct_weight, wrong_weight)]
    # A product instead of a selection, so that NaN propagates.
    residual = has_both * (correct_weight * (1 - score) / numbers[0] - wrong_weight * score / numbers[1])
    value = _pair_sum(score, residual, width)
    return rows.whole(value if squared else safe_power(value, 0.5))


@loss()
def sece_loss(rows: Rows, *, bandwidth: float = 0.05, lens: str = "auto") -> Tensor:
    r"""Compute the smooth expected calibration error: the mean distance between scores and kernel-smoothed outcomes.

    Add it to cross-entropy, with beta from 0.1 to 1. It helps as the soft-binned error does, without bins. A batch is
    informative only if it has rows within a bandwidth of each other. The paper evaluates it on validation data, to
    learn the exponent of a focal loss. The cost is quadratic in the rows; memory is bounded by tiles.

    Parameters
    ----------
    input
    target
    bandwidth : float, default 0.05
        Standard deviation of the Gaussian kernel. The default is calibrant's choice; we do not know that of the paper.
    lens
    weight
    ignore_index
    reduction

    See Also
    --------
    soft_binned_ece_loss : With soft bins.

    Notes
    -----
    With the Gaussian kernel :math:`k` and normalized weights :math:`\omega_i`,

    .. math:: L = \sum_i \omega_i \left|\hat{r}(s_i) - s_i\right|, \qquad
       \hat{r}(s) = \frac{\sum_j \omega_j k(s, s_j)\, o_j}{\sum_j \omega_j k(s, s_j)}.

    It equals `calibrant.sece` with the same options, class weights becoming the `sample_weight` of the rows.

    References
    ----------
    .. [1] Wang and Golebiowski (2024): Towards unbiased calibration using meta-regularization. TMLR. arXiv:2303.15057

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.losses import sece_loss
    >>> round(sece_loss(torch.zeros(4, 2), torch.tensor([0, 1, 1, 1])).item(), 6)
    0.25
    """
    width = check_number(bandwidth, "bandwidth", above=True)
    score, outcome = rows.seen(lens)
    if len(score) == 0:
        return rows.average(score)

    def log_kernel(start: int, stop: int) -> Tensor:
        return -(((score[start:stop, None] - score) / width) ** 2) / 2

    means = kernel_means(log_kernel, outcome[:, None], rows.share)[:, 0]
    return rows.average((means - score).abs())


@loss(double=True)
def kde_ece_loss(
    rows: Rows, *, bandwidth: float | str = "likelihood", norm: float = 1.0, lens: str = "canonical"
) -> Tensor:
    r"""Compute the kernel density estimate of the calibration error, with Dirichlet or Beta kernels.

    Add it to cross-entropy, with beta from 0.001 to 0.2. It helps where the whole probability vector should be
    calibrated, not only the confidence. It is computed in double precision where the device supports it. The cost is
    quadratic in the rows times classes, and twenty times that for the bandwidth search, so pass a number in long runs;
    memory is bounded by tiles.

    Parameters
    ----------
    input
    target
    bandwidth : float or "likelihood", default "likelihood"
        Width of the kernels, or the value between 1e-5 and 1 with the largest leave-one-out likelihood of the first 500
        rows. The choice has no gradient.
    norm : float, default 1.0
        Exponent of the distance, at least 1; no root is taken.
    lens : {"canonical", "top_label", "binary", "auto"}, default "canonical"
        The whole probability vector, or the probability of one event as in the other losses.
    weight
    ignore_index
    reduction

    See Also
    --------
    sece_loss : With a Gaussian kernel of the confidence.

    Notes
    -----
    With probability vectors :math:`p_i`, one-hot labels :math:`y_i` and normalized weights :math:`\omega_i`,

    .. math:: L = \sum_i \omega_i \lVert \hat{r}_{-i} - p_i \rVert_q^q, \qquad
       \hat{r}_{-i} = \frac{\sum_{j \ne i} \omega_j k(p_i; p_j)\, y_j}{\sum_{j \ne i} \omega_j k(p_i; p_j)},

    where :math:`k(\cdot\,; p_j)` is the Dirichlet density with parameters :math:`p_j / h + 1`. A batch of one row has
    value and gradient 0. It equals `calibrant.dkde` for ``lens="canonical"`` and `calibrant.bkde` otherwise with the
    same options (with ``bandwidth="likelihood"`` for up to 500 rows), class weights becoming the `sample_weight` of
    the rows.

    References
    ----------
    .. [1] Popordanoska, Sayer and Blaschko (2022): A consistent and differentiable Lp canonical calibration error
       estimator. NeurIPS. arXiv:2210.07810

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
    if lens == "canonical":
        probs, score, outcome = rows.probs, rows.probs, rows.targets
    elif lens in ("auto", "binary", "top_label"):
        seen, correct = rows.seen(lens)
        probs, score, outcome = torch.stack([1 - seen, seen], 1), seen[:, None], correct[:, None]
    else:
        raise LensError("lens", f"must be 'canonical', 'top_label', 'binary' or 'auto'; got {lens!r}")
    if len(probs) < 2:
        distance = (probs * 0).sum(1)
    else:
        width = likeliest_width(probs, rows.share, rows.counted) if fixed is None else fixed
        means = kernel_means(dirichlet_logs(probs, width, rows.counted), outcome, rows.share)
        distance = ((means - score).abs() ** power).sum(1) * (rows.number > 1)
    return rows.average(distance)


def compute_tiles(work: Callable[[int, int], Tensor], n: int, others: int | None = None) -> Tensor:
    """Concatenate ``work(start, stop)`` over blocks of the first n rows, each against all others."""
    step = max(1, TILE // max(n if others is None else others, 1))
    if n <= step:
        return work(0, n)
    return torch.cat([_checkpoint_tile(work, start, min(start + step, n)) for start in range(0, n, step)])


def _checkpoint_tile(work: Callable[[int, int], Tensor], start: int, stop: int) -> Tensor:
    """Compute a tile with checkpointing: it is recomputed in the backward pass, except under torch.func, where it is kept."""
    try:
        tile: Tensor = checkpoint(work, start, stop, use_reentrant=False, preserve_rng_state=False)
    except RuntimeError as error:
        if "saved tensor hooks" not in str(error):
            raise
        return work(start, stop)
    return tile


def kernel_means(log_kernel: LogKernel, outcome: Tensor, share: Tensor) -> Tensor:
    """(M, J): kernel-weighted mean outcome at each row."""
    columns = torch.cat([share[:, None], share[:, None] * outcome], 1)

    def work(start: int, stop: int) -> Tensor:
        logs = log_kernel(start, stop)
        # Scaled so that the largest kernel value of each row is 1; the factor cancels, and is finite for a row without neighbours.
        top = logs.detach().amax(1, keepdim=True).clamp(min=torch.finfo(logs.dtype).min)
        sums = torch.exp(logs - top) @ columns
        return sums[:, 1:] / sums[:, :1].clamp(min=torch.finfo(sums.dtype).tiny)

    return compute_tiles(work, len(share))


def dirichlet_logs(probs: Tensor, width: float | Tensor, counted: Tensor | None = None) -> LogKernel:
    """Log densities at row i of the Dirichlet distributions with parameters p_j/h + 1, for the other rows j that are used."""
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
    """(1,): the width with the largest leave-one-out likelihood of the first rows; of ties the smallest."""
    if counted is not None:
        order = counted.to(torch.uint8).argsort(descending=True, stable=True)
        probs, share, counted = probs[order], share[order], counted[order]
    judges = min(JUDGED, len(probs))
    log_share = share.log()

    def score(width: float) -> Tensor:
        log_kernel = dirichlet_logs(probs, width, counted)
        density = compute_tiles(
            lambda start, stop: (log_kernel(start, stop) + log_share).logsumexp(1), judges, len(probs)
        )
        weight = share[:judges]
        return torch.where(weight > 0, weight * density, 0.0).sum()

    scores = torch.stack([score(width) for width in TRIED])
    best = scores.amax()
    good = scores >= best - SAME_SCORE * best.abs().clamp(min=torch.finfo(best.dtype).tiny)
    return probs.new_tensor(TRIED).gather(0, good.to(torch.uint8).argmax(0, keepdim=True))
