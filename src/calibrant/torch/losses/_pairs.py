"""Sums over pairs of rows in tiles, so that memory grows with the rows and not with their square."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from ...metrics.kernel.bandwidths import SAME_SCORE
from ...metrics.kernel.densities import JUDGED, SURE, WIDTHS

__all__ = ["dirichlet_logs", "kernel_means", "likeliest_width", "tiled"]

# Entries of a kernel held at a time; above that each tile is made again for its gradient.
TILE = 1 << 22

TRIED: list[float] = WIDTHS.tolist()

LogKernel = Callable[[int, int], Tensor]


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
