"""A network that preserves the order of the classes in every row."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from ..errors import ShapeError
from ..input.weights import read_weights
from ..recalibration.softmax_regression import best_scale
from ..util.checks import check_whole
from ..util.progress import track
from .rows import (
    as_given,
    classes_last,
    host,
    on_host,
    ruled_out_read,
    softmax_of_classes,
    training_rows,
    without_autocast,
)

# Training as in Rahimi et al. (2020), with a share of the rows for validation.
BATCH, LEARNING_RATE, WEIGHT_DECAY, HELD_OUT = 256, 0.005, 5e-4, 0.2
# Least factor of a gap: a factor of 0 would tie classes that differ.
LEAST_FACTOR = 1e-3


class _Rows(NamedTuple):
    """Rows that a network is fitted on; those of weight 0 are left out."""

    logits: Tensor
    labels: Tensor
    weight: Tensor

    @classmethod
    def read(cls, logits: Any, labels: Any, sample_weight: Any, classes: int, counts: Any) -> Self:
        z, codes = training_rows(logits, labels, classes)
        weight, _ = read_weights(on_host(sample_weight), on_host(counts), len(z))
        weights = z.new_ones(len(z)) if weight is None else torch.as_tensor(weight, device=z.device).to(z)
        is_used = weights > 0
        return cls(z[is_used], codes[is_used], weights[is_used] / weights.sum())


class OrderPreservingNetwork(nn.Module):
    """A network whose calibrated logits preserve the order of the classes in every row (full form).

    The gaps between consecutive sorted logits are multiplied by positive factors, which a network computes from the
    whole row, and summed again from the largest logit downwards. Equal logits stay equal. It has no counterpart for
    arrays.

    Parameters
    ----------
    n_classes : int
        Number of classes.
    hidden : sequence of int, default (150, 150)
        Widths of the hidden layers.
    invariant : bool, default True
        Whether the network sees the sorted logits, so that all classes are treated alike; otherwise it sees them by
        class.

    See Also
    --------
    calibrant.IntraOrderPreserving : One function for all rows.

    References
    ----------
    .. [1] Rahimi, Shaban, Cheng, Hartley and Boots (2020): Intra order-preserving functions for calibration of multi-class
       neural networks. NeurIPS.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import OrderPreservingNetwork
    >>> OrderPreservingNetwork(3)(torch.tensor([[2.0, 0.0, 1.0]])).round(decimals=4).tolist()
    [[2.0, 0.0, 1.0]]
    """

    scale: Tensor

    def __init__(self, n_classes: int, *, hidden: Sequence[int] = (150, 150), invariant: bool = True) -> None:
        super().__init__()
        self.n_classes = check_whole(n_classes, "n_classes", 2)
        self.invariant = bool(invariant)
        layers: list[nn.Module] = []
        before = self.n_classes
        for size in hidden:
            layers += [nn.Linear(before, check_whole(size, "hidden")), nn.ReLU()]
            before = size
        self.network = nn.Sequential(*layers, nn.Linear(before, self.n_classes - 1))
        self.register_buffer("scale", torch.ones(()))
        self._start(1.0, torch.Generator().manual_seed(0))

    def _start(self, factor: float, generator: torch.Generator) -> None:
        """Initialize all factors to one value: the identity, or a temperature."""
        with torch.no_grad():
            linear = [layer for layer in self.network if isinstance(layer, nn.Linear)]
            for layer in linear:
                bound = 1 / math.sqrt(layer.in_features)
                weights = torch.rand(layer.weight.shape, generator=generator) * (2 * bound) - bound
                layer.weight.copy_(weights)
                layer.bias.zero_()
            linear[-1].weight.zero_()
            # The inverse of softplus, in a form that does not overflow.
            above = max(factor - LEAST_FACTOR, LEAST_FACTOR)
            linear[-1].bias.fill_(above + math.log(-math.expm1(-above)))

    def forward(self, logits: Tensor) -> Tensor:
        """Compute calibrated logits.

        Parameters
        ----------
        logits : torch.Tensor of shape (N, K) or (N, K, d1, ...)
            Logits, with the classes on axis 1.

        Returns
        -------
        torch.Tensor of the shape of `logits`
            Calibrated logits, with the classes of each row in the same order as before.
        """
        rows = classes_last(logits, self.n_classes)
        z = ruled_out_read(rows.to(torch.promote_types(rows.dtype, self.scale.dtype)))
        ordered, order = torch.sort(z, dim=-1, descending=True)  # equal logits get equal values, whichever comes first
        # Relative to the largest logit, so that a constant added to a row has no effect.
        differences = (ordered if self.invariant else z) - ordered[..., :1]
        gaps = ordered[..., :-1] - ordered[..., 1:]
        wider = gaps * self._factors(differences)
        # From the largest down: starting at a class masked by -1e9, the others would be rounded to one number.
        lowered = torch.cat([torch.zeros_like(ordered[..., :1]), wider.cumsum(-1)], dim=-1)
        return as_given(torch.zeros_like(z).scatter(-1, order, ordered[..., :1] - lowered))

    def _factors(self, differences: Tensor) -> Tensor:
        """Factor of each gap, computed in the precision of the network, never in half precision."""
        inputs = (differences / self.scale).to(self.scale.dtype)
        with without_autocast(inputs):
            return (LEAST_FACTOR + nn.functional.softplus(self.network(inputs))).to(differences.dtype)

    def predict_proba(self, logits: Tensor) -> Tensor:
        """Compute calibrated probabilities, the softmax of the calibrated logits.

        Parameters
        ----------
        logits : torch.Tensor of shape (N, K) or (N, K, d1, ...)
            Logits, with the classes on axis 1.

        Returns
        -------
        torch.Tensor of the shape of `logits`
            Calibrated probabilities.
        """
        return softmax_of_classes(self(logits))

    def fit(
        self,
        logits: Tensor,
        labels: Any,
        sample_weight: Any = None,
        *,
        counts: Any = None,
        epochs: int = 40,
        rng: int = 0,
    ) -> Self:
        """Fit with Adam, starting from the best temperature, and keep the epoch with the smallest validation loss.

        The initial state is a candidate too. The same `rng`, device and number of threads give the same network; the
        global random state is not used.

        Parameters
        ----------
        logits : torch.Tensor of shape (N, K)
            Logits of rows that the model was not trained on.
        labels : array-like of shape (N,)
            Observed class indices.
        sample_weight : array-like of shape (N,), optional
            Importance weight of each row; only ratios matter.
        counts : array-like of shape (N,), optional
            Number of identical rows that each row represents, assigned to training or validation together; excludes
            `sample_weight`.
        epochs : int, default 40
            Number of epochs.
        rng : int, default 0
            Seed.

        Returns
        -------
        OrderPreservingNetwork
            The network itself.

        Raises
        ------
        ShapeError
            If there are too few rows to hold a fifth of them out.
        """
        rows = _Rows.read(logits, labels, sample_weight, self.n_classes, counts)
        split = round(HELD_OUT * len(rows.logits))
        if split in (0, len(rows.logits)):
            raise ShapeError("logits", f"must have rows to fit and rows to hold out; got {len(rows.logits)}")
        generator = torch.Generator().manual_seed(check_whole(rng, "rng", 0))
        mixed = torch.randperm(len(rows.logits), generator=generator).to(rows.logits.device)
        self.to(rows.logits.device)
        self._begin(rows, mixed[split:], generator)
        optimizer = torch.optim.Adam(self.network.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
        best, best_loss = copy.deepcopy(self.state_dict()), self._mean_loss(rows, mixed[:split]).item()
        for _ in track(range(epochs), "epochs"):
            order = mixed[split:][torch.randperm(len(mixed) - split, generator=generator).to(mixed.device)]
            with torch.enable_grad():
                for batch in torch.split(order, BATCH):
                    optimizer.zero_grad()
                    self._mean_loss(rows, batch).backward()  # type: ignore[no-untyped-call]
                    optimizer.step()
            loss = self._mean_loss(rows, mixed[:split]).item()
            if loss < best_loss:
                best, best_loss = copy.deepcopy(self.state_dict()), loss
        self.load_state_dict(best)
        return self

    def _begin(self, rows: _Rows, train: Tensor, generator: torch.Generator) -> None:
        logits = rows.logits[train]
        with torch.no_grad():
            self.scale.copy_((logits.amax(dim=1, keepdim=True) - logits).mean().clamp(min=1e-6))
        best = best_scale(host(logits), rows.labels[train].cpu().numpy(), host(rows.weight[train]))
        self._start(best, generator)

    def _mean_loss(self, rows: _Rows, rows_used: Tensor) -> Tensor:
        weight = rows.weight[rows_used]
        logits = self(rows.logits[rows_used].to(self.scale.dtype))
        each = nn.functional.cross_entropy(logits, rows.labels[rows_used], reduction="none").to(weight)
        return each @ weight / weight.sum()
