"""A small run of the experiment: every loss trains, and the table is made."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from experiments import losses


def objective(entry: Any, logits: Tensor, y: Tensor) -> float:
    own = entry.criterion(logits, y).item()
    return own if entry.beta is None else F.cross_entropy(logits, y).item() + entry.beta * own


def test_training_goes_down_with_every_loss() -> None:
    pytest.importorskip("sklearn")
    seeds = [0]
    tasks = [losses.breast_cancer(seed) for seed in seeds]
    rows = torch.stack([task.x for task in tasks])
    for entry in losses.ENTRIES:
        if entry.name == "cutmix":
            continue
        start, _ = losses.train(entry, tasks, seeds, steps=0)
        end, course = losses.train(entry._replace(wait=0.0), tasks, seeds, steps=12)
        assert len(course) == 12
        with torch.no_grad():
            for before, after, task in zip(start(rows), end(rows), tasks, strict=True):
                assert objective(entry, after, task.y) < objective(entry, before, task.y), entry.name


def test_seeds_are_trained_side_by_side_and_apart() -> None:
    pytest.importorskip("sklearn")
    entry = next(one for one in losses.ENTRIES if one.name == "sece_loss")
    tasks = [losses.breast_cancer(seed) for seed in (3, 4)]
    both, _ = losses.train(entry, tasks, [3, 4], steps=5)
    alone, _ = losses.train(entry, tasks[1:], [4], steps=5)
    rows = tasks[1].test_x
    with torch.no_grad():
        torch.testing.assert_close(both(torch.stack([rows, rows]))[1], alone(rows[None])[0], rtol=1e-3, atol=1e-4)


def test_the_experiment_makes_its_table() -> None:
    pytest.importorskip("sklearn")
    some = [entry for entry in losses.ENTRIES if entry.name in ("cross-entropy", "dca_loss", "mixup")]
    found = losses.run("breast_cancer", entries=some, seeds=range(2), steps=4)
    lines = losses.table(found).splitlines()
    assert len(lines) == 2 + 4  # the term on the same rows, and on others
    assert all(line.count(" | ") == lines[0].count(" | ") for line in lines)
    assert "of 2" in lines[3]


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ([0.3, 0.4], [0.1, 0.2], "lower"),
        ([0.1, 0.2], [0.3, 0.4], "**higher**"),
        ([0.1, 0.2], [0.2, 0.1], "no clear change"),
    ],
)
def test_verdicts(before: list[float], after: list[float], verdict: str) -> None:
    assert losses.verdict(before, after) == verdict
