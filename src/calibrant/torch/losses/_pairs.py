"""Sums over pairs of rows in tiles, so that memory grows with the rows and not with their square."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from ..._bandwidths import first_best
from ...metrics.densities import JUDGED, SURE, WIDTHS

__all__ = ["dirichlet_logs", "kernel_means", "likeliest_width", "tiled"]

# Entries of a kernel held at a time; above that each tile is made again for its gradient.
TILE = 1 << 22

LogKernel = Callable[[int, int], Tensor]


def tiled(work: Callable[[int, int], Tensor], n: int) -> Tensor:
    """`work` gives values for rows start to stop against all n; put together for all rows."""
    step = max(1, TILE // max(n, 1))
    if n <= step:
        return work(0, n)
    return torch.cat(
        [
            checkpoint(work, start, min(start + step, n), use_reentrant=False, preserve_rng_state=False)
            for start in range(0, n, step)
        ]
    )


def kernel_means(log_kernel: LogKernel, outcome: Tensor, share: Tensor) -> Tensor:
    """(M, J): at each row the mean outcome of all rows, weighed by the kernel."""
    both = torch.cat([share[:, None], share[:, None] * outcome], 1)

    def work(start: int, stop: int) -> Tensor:
        logs = log_kernel(start, stop)
        # Any factor of a row cancels; this one leaves its nearest row at 1.
        sums = torch.exp(logs - logs.detach().amax(1, keepdim=True)) @ both
        return sums[:, 1:] / sums[:, :1].clamp(min=torch.finfo(sums.dtype).tiny)

    return tiled(work, len(share))


def dirichlet_logs(probs: Tensor, width: float) -> LogKernel:
    """Logarithms of Dirichlet densities with parameters p_j/h + 1, of the rows j at row i; none of a row at itself."""
    safe = probs.clamp(SURE, 1 - SURE)
    logs, shape = safe.log(), safe / width
    constant = torch.lgamma((shape + 1).sum(1)) - torch.lgamma(shape + 1).sum(1)
    number = torch.arange(len(probs), device=probs.device)

    def log_kernel(start: int, stop: int) -> Tensor:
        tile = logs[start:stop] @ shape.T + constant
        return tile.masked_fill(number[start:stop, None] == number, -torch.inf)

    return log_kernel


@torch.no_grad()
def likeliest_width(probs: Tensor, share: Tensor) -> float:
    """The width under which the other rows make each of the first rows likeliest."""
    judges = min(JUDGED, len(probs))
    log_share = share.log()

    def score(width: float) -> float:
        density = (dirichlet_logs(probs, width)(0, judges) + log_share).logsumexp(1)
        return float((share[:judges] * density).sum())

    return first_best(WIDTHS, score)
