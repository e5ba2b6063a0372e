"""Outputs of trained networks in files: which there are, how they are written, and how they are read."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

NETWORKS = ("resnet", "vgg")
INTERVENTIONS = ("base", "label_smoothing", "mixup", "focal", "flsd", "mmce", "mc_dropout")
PARTS = ("validation", "test")
SEEDS = 5
LABELS = "labels.npz"
UNITS = 1024
"""Stored logits are whole numbers of this fraction of one: rounding moves them by less than 0.0005."""


class Training(NamedTuple):
    """One network to train."""

    network: str
    intervention: str
    seed: int

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.network}-{self.intervention}-{self.seed}.npz"

    def __str__(self) -> str:
        return f"{self.network} {self.intervention} {self.seed}"


def trainings(members: int) -> list[Training]:
    """All of them: first five seeds of everything, then the members of ensembles."""
    first = [Training(n, i, seed) for seed in range(SEEDS) for i in INTERVENTIONS for n in NETWORKS]
    return first + [Training(n, "base", seed) for seed in range(SEEDS, members) for n in NETWORKS]


def save(folder: Path, one: Training, rows: dict[str, Any], train_accuracy: float) -> None:
    """Write logits, up to a constant in each row, as 16-bit integers, and entropies in single precision."""
    found: dict[str, Any] = {"train_accuracy": np.float32(train_accuracy)}
    for name, values in rows.items():
        found[name] = values.astype(np.float32) if values.ndim == 1 else compact(values)
    rough = folder / f"{one.file}.part"
    with rough.open("wb") as file:
        np.savez_compressed(file, **found)
    rough.replace(folder / one.file)


def compact(logits: Any) -> Any:
    """How far each logit lies below the largest of its row, in units of 1/1024, at most 64."""
    below = (logits.max(axis=1, keepdims=True) - logits) * UNITS
    return np.rint(np.minimum(below, 2**16 - 1)).astype(np.uint16)


def logits(stored: Any) -> Any:
    """Logits as they were, up to a constant in each row and rounding."""
    return stored.astype(np.float64) / -UNITS


class Outputs(NamedTuple):
    """Logits of validation and test images, and for an ensemble the mutual information of test images and members."""

    validation: Any
    test: Any
    shared: Any = None


def read(folder: Path, one: Training, suffix: str = "") -> Outputs:
    """Outputs of one network; those of dropout layers in evaluation mode with the suffix ``_fixed``."""
    stored = np.load(folder / one.file, allow_pickle=False)
    sides = [logits(stored[part + suffix]) for part in PARTS]
    shared = None
    if not suffix and "test_entropy" in stored:
        shared = entropy(probabilities(sides[1])) - stored["test_entropy"]
    return Outputs(*sides, shared)


def ensemble(members: list[Outputs]) -> Outputs:
    """Mean of the members' probabilities as logits, and the mutual information."""
    sides = [[probabilities(getattr(member, part)) for member in members] for part in PARTS]
    means = [np.mean(side, axis=0) for side in sides]
    shared = entropy(means[1]) - np.mean([entropy(member) for member in sides[1]], axis=0)
    return Outputs(*(np.log(mean) for mean in means), shared)


def probabilities(logits: Any) -> Any:
    """Softmax of each row."""
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def entropy(probs: Any) -> Any:
    """Entropy of each row, in nats; no stored probability is 0."""
    return -(probs * np.log(probs)).sum(axis=1)


def members_of(count: int, size: int = 5, ensembles: int = 5) -> list[list[int]]:
    """Seeds of the members of each ensemble: disjoint where there are enough networks, else drawn from those there are."""
    if count >= size * ensembles:
        return [list(range(size * at, size * (at + 1))) for at in range(ensembles)]
    draw = np.random.default_rng(0)
    return [sorted(draw.choice(count, size, replace=False).tolist()) for _ in range(ensembles)]
