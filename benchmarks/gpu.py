"""What `update` of the metric objects costs on a GPU, in reads of the tensor it is given; beside torchmetrics where it is installed."""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch

from calibrant.torch.metrics import CalibrationMetric, MulticlassCalibrationError

# Rows and classes. The largest of each row is spread over the cells, or half of the rows are certain as a trained model's are.
SHAPES = ((10_000_000, 10), (100_000, 1000))
# The host's part changes from second to second: all are timed as often, in turns.
ROUNDS = 5


def milliseconds(call: Callable[[], Any], repeats: int = 20, *, alone: bool = False) -> float:
    """Median time of calls that follow each other, as in a loop over batches; `alone`, each waits for the one before.

    In a loop the host prepares a call while the device works on the one before; alone, that time shows.
    """
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(repeats + 1)]
    marks[0].record()
    for mark in marks[1:]:
        call()
        mark.record()
        if alone:
            torch.cuda.synchronize()
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(stop) for start, stop in pairwise(marks))


def drawn(rows: int, classes: int, certain: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Probabilities and labels; `certain` makes half of the rows a one and zeros."""
    maker = torch.Generator("cuda").manual_seed(0)
    logits = torch.randn(rows, classes, generator=maker, device="cuda") * 2
    labels = torch.distributions.Categorical(logits=logits).sample() if classes < 100 else logits.argmax(dim=1)
    if certain:
        logits[: rows // 2] *= 200
    return logits.softmax(dim=1), labels


def extra_memory(call: Callable[[], Any]) -> float:
    """MiB that a call holds at most beside what is there."""
    call()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 2**20


def contenders(probs: torch.Tensor, labels: torch.Tensor) -> dict[str, Callable[[], Any]]:
    """What is timed."""
    classes = probs.shape[1]
    found: dict[str, Callable[[], Any]] = {}
    plain = MulticlassCalibrationError(classes).to("cuda")
    found["calibrant"] = lambda: plain.update(probs, labels)
    unchecked = MulticlassCalibrationError(classes, validate_args=False).to("cuda")
    found["calibrant, unchecked"] = lambda: unchecked.update(probs, labels)
    every = CalibrationMetric("cwce", classes).to("cuda")
    found["calibrant, every class"] = lambda: every.update(probs, labels)
    try:
        from torchmetrics.functional.classification import multiclass_calibration_error as theirs
    except ImportError:
        return found
    found["torchmetrics"] = lambda: theirs(probs, labels, classes)
    found["torchmetrics, unchecked"] = lambda: theirs(probs, labels, classes, validate_args=False)
    return found


def main() -> None:
    """Print the table, and as JSON where a path is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="where to write the figures")
    path = parser.parse_args().json
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    figures = []
    for rows, classes in SHAPES:
        for certain in (False, True):
            probs, labels = drawn(rows, classes, certain)
            read = milliseconds(probs.amax)
            print(f"\n{rows:,} x {classes} float32, {'half certain' if certain else 'spread'}: one read {read:.3f} ms")
            calls = contenders(probs, labels)
            rounds = [
                {
                    name: (milliseconds(call, 10) / read, milliseconds(call, 10, alone=True) / read)
                    for name, call in calls.items()
                }
                for _ in range(ROUNDS)
            ]
            for name, call in calls.items():
                loop, alone = (sorted(found[name][part] for found in rounds) for part in (0, 1))
                memory = extra_memory(call)
                spans = f"{loop[0]:7.2f} to {loop[-1]:7.2f} reads, alone {alone[0]:7.2f} to {alone[-1]:7.2f}"
                print(f"  {name:30} {spans}  {memory:8.1f} MiB beside", flush=True)
                figures.append([rows, classes, certain, name, loop, alone, memory])
            del probs, labels
    if path:
        with open(path, "w") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
