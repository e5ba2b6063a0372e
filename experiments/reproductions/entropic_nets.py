"""The paper's network, 64 and 32 hidden nodes, trained for several seeds at once by batched products."""

from itertools import pairwise
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from experiments.reproductions.entropic_rows import Split

HIDDEN = (64, 32)
RATE = 1e-3


def start(inputs: int, seeds: int) -> list[Tensor]:
    """Weights and offsets of each layer, a network for each seed, drawn as PyTorch draws those of a linear layer."""
    draws = [torch.Generator().manual_seed(seed) for seed in range(seeds)]
    sizes = (inputs, *HIDDEN, 1)
    parameters = []
    for size, nodes in pairwise(sizes):
        for shape in ((size, nodes), (1, nodes)):
            drawn = [torch.empty(shape).uniform_(-(size**-0.5), size**-0.5, generator=draw) for draw in draws]
            parameters.append(torch.stack(drawn).requires_grad_())
    return parameters


def forward(parameters: list[Tensor], x: Tensor) -> Tensor:
    """Log-odds of rows, seed first."""
    for place in range(0, len(parameters), 2):
        x = torch.bmm(x, parameters[place]) + parameters[place + 1]
        x = F.relu(x) if place + 2 < len(parameters) else x
    return x[..., 0]


def step(parameters: list[Tensor], optimiser: Any, x: Tensor, y: Tensor) -> None:
    """One step of all networks on their own batches; the losses are summed, so that none feels the others."""
    optimiser.zero_grad()
    F.binary_cross_entropy_with_logits(forward(parameters, x), y, reduction="none").mean(dim=1).sum().backward()
    optimiser.step()


def train(rows: Split, *, epochs: int, batch: int) -> NDArray[Any]:
    """Train with Adam; log-odds of the rows held out: seed, row."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _train(rows, epochs, batch)
    finally:
        torch.set_num_threads(threads)


def _train(rows: Split, epochs: int, batch: int) -> NDArray[Any]:
    seeds, n, inputs = rows.train.shape
    x, y = torch.from_numpy(rows.train).reshape(-1, inputs), torch.from_numpy(rows.train_labels).reshape(-1).float()
    parameters = start(inputs, seeds)
    optimiser = torch.optim.Adam(parameters, lr=RATE, fused=True)
    orders = [torch.Generator().manual_seed(1000 + seed) for seed in range(seeds)]
    first = n * torch.arange(seeds)[:, None]
    for _ in range(epochs):
        order = torch.stack([torch.randperm(n, generator=draw) for draw in orders]) + first
        for at in order.split(batch, dim=1):
            taken = at.reshape(-1)
            step(parameters, optimiser, x[taken].view(seeds, -1, inputs), y[taken].view(seeds, -1))
    with torch.no_grad():
        return forward(parameters, torch.from_numpy(rows.held)).double().numpy()
