"""The base of metric objects: `torchmetrics.Metric` where torchmetrics is installed, else a module with what they use of it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Self

import torch.distributed as dist
from torch import Tensor, nn


def _distributed() -> bool:
    return dist.is_available() and dist.is_initialized()


class _PlainBase(nn.Module):
    """What metric objects use of `torchmetrics.Metric`."""

    distributed_available_fn: Callable[[], bool]
    dist_sync_fn: Callable[..., Any] | None
    dist_sync_on_step: bool
    sync_on_compute: bool
    process_group: Any

    def __init__(self, **keywords: Any) -> None:
        super().__init__()
        for name, value in keywords.items():
            setattr(self, name, value)
        self.distributed_available_fn = keywords.get("distributed_available_fn") or _distributed
        self._defaults: dict[str, Tensor] = {}
        self._persistent: dict[str, bool] = {}
        self._forward_cache: Any = None
        self._computed: Any = None
        self._cache: Any = None
        self._update_count = 0
        self._is_synced = False

    def add_state(self, name: str, default: Tensor, dist_reduce_fx: str, persistent: bool) -> None:
        setattr(self, name, default)
        self._defaults[name], self._persistent[name] = default, persistent

    def clone(self) -> Self:
        """Return a copy of the metric with its rows.

        Returns
        -------
        SketchMetric
            The copy.
        """
        return deepcopy(self)


GATHER: Callable[..., Any] | None = None
"""The gathering function that torchmetrics uses by default, in whose place sums are added."""
if TYPE_CHECKING:
    MetricBase = _PlainBase
else:
    try:
        from torchmetrics import Metric as MetricBase
        from torchmetrics.utilities.distributed import gather_all_tensors as GATHER
    except Exception:  # an installation that does not fit torch or torchvision raises other errors than ImportError
        MetricBase = _PlainBase
REAL = GATHER is not None
"""Whether metric objects are those of torchmetrics."""
