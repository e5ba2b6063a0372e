"""Small networks trained with every loss of calibrant.torch, five seeds each: does the target error of a loss decrease?

    python -m experiments.losses [task ...]

writes losses.json beside this file, and the table into docs/losses.md. It takes a few minutes on one core.
"""

import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import calibrant as cal
from calibrant.torch import losses
from experiments.rendering import markdown_table

HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "losses.json", HERE.parent / "docs" / "losses.md"
BEGIN, END = "<!-- table: made by experiments/losses.py -->", "<!-- table: end -->"
# Factors were chosen on seeds 0 and 1; these are others.
SEEDS = range(10, 15)
STEPS, BATCH, WIDTH, RATE = 200, 100, 64, 3e-3
# Share of the training rows for a term on separate rows; cross-entropy uses the others.
HELD_OUT = 0.25

Criterion = Callable[[Tensor, Tensor], Tensor]
Error = Callable[[Tensor, Tensor], float]


class Entry(NamedTuple):
    """A loss, how it is used, and its target error."""

    name: str
    criterion: Criterion
    target: str = "ece"
    beta: float | None = None
    """Factor of a term added to cross-entropy; None for replacements."""
    mix: Callable[..., losses.MixedBatch] | None = None
    read: Callable[[Tensor], Tensor] = lambda logits: logits
    """From the outputs of the network to the logits that are evaluated."""
    wait: float = 0.0
    """Share of the steps before the term is added."""


class Task(NamedTuple):
    """Training and test rows."""

    x: Tensor
    y: Tensor
    test_x: Tensor
    test_y: Tensor
    classes: int
    square: bool
    """Whether the rows are square images, for CutMix."""


def metric(name: str, **options: Any) -> Error:
    """A metric of calibrant on logits."""

    def error(logits: Tensor, y: Tensor) -> float:
        predictions = cal.Predictions(y.numpy(), logits.double().numpy(), input="logit")
        return abs(float(getattr(cal, name)(predictions, **options)))

    return error


ERRORS: dict[str, Error] = {
    "ece": metric("ece", lens="top_label"),
    "mmce": metric("mmce", lens="top_label"),
    "mmce_w": metric("mmce_w", lens="top_label"),
    "dca": metric("ece", lens="top_label", bins=1),
    "mdca": metric("mdca"),
    "sbece": metric("sbece", lens="top_label"),
    "dece": metric("dece"),
    "sece": metric("sece", lens="top_label"),
    "dkde": metric("dkde", bandwidth=0.1),
    "abs ecd": metric("ecd"),
    "avuc": lambda logits, y: float(losses.avuc_loss(logits.double(), y)),
    "nll": metric("nll"),
}

TOP = {"lens": "top_label"}
ENTRIES = [
    Entry("cross-entropy", F.cross_entropy),
    Entry("label_smoothing_loss", losses.label_smoothing_loss),
    Entry("margin_label_smoothing_loss", losses.margin_label_smoothing_loss),
    Entry("focal_loss", losses.focal_loss),
    Entry("flsd_loss", losses.flsd_loss),
    Entry("dual_focal_loss", losses.dual_focal_loss),
    Entry("confidence_penalty_loss", losses.confidence_penalty_loss),
    Entry("logit_norm_loss, plain logits", losses.logit_norm_loss),
    Entry("logit_norm_loss, as trained", losses.logit_norm_loss, read=lambda z: F.normalize(z, dim=1) / 0.04),
    Entry("max_ent_loss", losses.max_ent_loss),
    Entry("mixup", F.cross_entropy, mix=losses.mixup),
    Entry("cutmix", F.cross_entropy, mix=losses.cutmix),
    Entry("mmce_loss", partial(losses.mmce_loss, **TOP), "mmce", 4.0),
    Entry("weighted_mmce_loss", partial(losses.weighted_mmce_loss, **TOP), "mmce_w", 0.25),
    Entry("dca_loss", losses.dca_loss, "dca", 10.0),
    Entry("mdca_loss", losses.mdca_loss, "mdca", 1.0),
    Entry("soft_binned_ece_loss", partial(losses.soft_binned_ece_loss, **TOP), "sbece", 1.0),
    Entry("dece_loss", losses.dece_loss, "dece", 1.0),
    Entry("sece_loss", partial(losses.sece_loss, **TOP), "sece", 1.0),
    Entry("kde_ece_loss", partial(losses.kde_ece_loss, bandwidth=0.1), "dkde", 0.2),
    Entry("ecd_loss(form='over')", partial(losses.ecd_loss, form="over"), "abs ecd", 10.0),
    Entry("ecd_loss", losses.ecd_loss, "abs ecd", 1.0),
    Entry("avuc_loss", losses.avuc_loss, "avuc", 3.0, wait=0.5),
]


def digits(seed: int) -> Task:
    """400 training and 1397 test digits, with noise of a quarter of the grey range."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    draw = np.random.default_rng(seed)
    order = draw.permutation(len(y))
    x = x[order] / 8 - 1 + 0.5 * draw.normal(size=x.shape)
    return split(x, y[order], 400, 10, True)


def breast_cancer(seed: int) -> Task:
    """120 training and 449 test rows."""
    from sklearn.datasets import load_breast_cancer

    x, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    x, y = x[order], y[order]
    return split((x - x[:120].mean(0)) / x[:120].std(0), y, 120, 2, False)


def split(x: Any, y: Any, rows: int, classes: int, square: bool) -> Task:
    """The first rows for training."""
    features, labels = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.long)
    return Task(features[:rows], labels[:rows], features[rows:], labels[rows:], classes, square)


TASKS: dict[str, Callable[[int], Task]] = {"digits": digits, "breast_cancer": breast_cancer}


def batches(rows: int, steps: int, seeds: list[int]) -> Iterator[list[Tensor]]:
    """Batches in random order for each seed, epoch after epoch."""
    draws = [torch.Generator().manual_seed(seed) for seed in seeds]
    left = steps
    while left > 0:
        orders = [torch.randperm(rows, generator=draw).split(BATCH) for draw in draws]
        for some in zip(*orders, strict=True):
            if left == 0:
                return
            yield list(some)
            left -= 1


class Networks(nn.Module):
    """One network with two hidden layers per seed, independent of each other and trained in one step."""

    def __init__(self, features: int, classes: int, seeds: list[int]) -> None:
        super().__init__()
        sizes = [features, WIDTH, WIDTH, classes]
        with torch.random.fork_rng():
            layers = []
            for seed in seeds:
                torch.manual_seed(seed)
                layers.append([nn.Linear(i, o) for i, o in itertools.pairwise(sizes)])
        each = list(zip(*layers, strict=True))
        self.weights = nn.ParameterList([torch.stack([one.weight.data.T for one in layer]) for layer in each])
        self.shifts = nn.ParameterList([torch.stack([one.bias.data[None] for one in layer]) for layer in each])

    def forward(self, rows: Tensor) -> Tensor:
        """(seeds, N, features) to (seeds, N, classes)."""
        for number, (weight, shift) in enumerate(zip(self.weights, self.shifts, strict=True)):
            rows = torch.baddbmm(shift, torch.relu(rows) if number else rows, weight)
        return rows


def train(
    entry: Entry, tasks: list[Task], seeds: list[int], steps: int = STEPS, held_out: bool = False
) -> tuple[Networks, list[list[float]]]:
    """Train one network per seed with the loss; returns them with the losses at every step."""
    first = tasks[0]
    nets = Networks(first.x.shape[1], first.classes, seeds)
    optimiser = torch.optim.Adam(nets.parameters(), lr=RATE)
    kept = int(len(first.x) * (1 - HELD_OUT)) if held_out else len(first.x)
    mixing = [np.random.default_rng(seed) for seed in seeds]
    others = batches(len(first.x) - kept, steps, seeds) if held_out else None
    course = []
    for step, some in enumerate(batches(kept, steps, seeds)):
        rows = [(task.x[i], task.y[i]) for task, i in zip(tasks, some, strict=True)]
        if entry.mix is not None:
            each = mixed(entry, nets, rows, mixing, first.square)
        elif entry.beta is None:
            each = [entry.criterion(z, y) for z, (_, y) in zip(forecast(nets, rows), rows, strict=True)]
        else:
            logits = forecast(nets, rows)
            each = [F.cross_entropy(z, y) for z, (_, y) in zip(logits, rows, strict=True)]
            if others is not None:
                rows = [(task.x[kept + i], task.y[kept + i]) for task, i in zip(tasks, next(others), strict=True)]
                logits = forecast(nets, rows)
            if step >= entry.wait * steps:
                terms = [entry.criterion(z, y) for z, (_, y) in zip(logits, rows, strict=True)]
                each = [one + entry.beta * term for one, term in zip(each, terms, strict=True)]
        optimiser.zero_grad()
        torch.stack(each).sum().backward()
        optimiser.step()
        course.append([one.item() for one in each])
    return nets, course


def forecast(nets: Networks, rows: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Logits of each network for its rows."""
    return nets(torch.stack([x for x, _ in rows]))


def mixed(
    entry: Entry, nets: Networks, rows: list[tuple[Tensor, Tensor]], draws: list[np.random.Generator], square: bool
) -> list[Tensor]:
    """Losses of mixed batches."""
    assert entry.mix is not None
    side = round(rows[0][0].shape[1] ** 0.5)
    found = [
        entry.mix(x.reshape(-1, side, side) if square else x, y, rng=draw)
        for (x, y), draw in zip(rows, draws, strict=True)
    ]
    logits = nets(torch.stack([batch.input.reshape(rows[0][0].shape) for batch in found]))
    return [losses.mixed_loss(z, batch, criterion=entry.criterion) for z, batch in zip(logits, found, strict=True)]


def judged(entry: Entry, logits: Tensor, y: Tensor) -> dict[str, float]:
    """Accuracy and errors on test data: all errors for cross-entropy, else the target of the loss."""
    right = float((logits.argmax(1) == y).double().mean())
    names = ERRORS if entry.name == "cross-entropy" else {"ece", "nll", entry.target}
    return {"accuracy": right, **{name: ERRORS[name](entry.read(logits), y) for name in sorted(names)}}


def run(title: str, entries: list[Entry] | None = None, seeds: Any = SEEDS, steps: int = STEPS) -> list[dict[str, Any]]:
    """Every loss on a task: results per seed, with the same rows and initialization as cross-entropy."""
    tasks, rows = [TASKS[title](seed) for seed in seeds], []
    for entry in entries or ENTRIES:
        if entry.name == "cutmix" and not tasks[0].square:
            continue
        for held_out in (False, True) if entry.beta is not None else (False,):
            start = time.perf_counter()
            nets, _ = train(entry, tasks, list(seeds), steps, held_out)
            with torch.no_grad():
                logits = nets(torch.stack([task.test_x for task in tasks]))
            each = [judged(entry, z, task.test_y) for z, task in zip(logits, tasks, strict=True)]
            rows.append(
                {"loss": entry.name, "beta": entry.beta, "target": entry.target, "held_out": held_out, "seeds": each}
            )
            print(
                f"{title} {entry.name} {'separate' if held_out else ''} {time.perf_counter() - start:.1f} s", flush=True
            )
    return rows


def spread(values: list[float], digits: int = 4) -> str:
    """Mean and standard deviation over seeds."""
    return f"{statistics.fmean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"


def table(rows: list[dict[str, Any]]) -> str:
    """The results of one task as Markdown."""
    plain = rows[0]["seeds"]
    head = ["loss", "beta", "accuracy", "nll", "ece", "target", "cross-entropy", "with the loss", "lower in", "verdict"]
    lines = []
    for row in rows:
        seeds, target = row["seeds"], row["target"]
        before, after = [one[target] for one in plain], [one[target] for one in seeds]
        name = f"`{row['loss']}`" if row["loss"] != "cross-entropy" else row["loss"]
        cells = [
            name + (", separate rows" if row["held_out"] else ""),
            "" if row["beta"] is None else f"{row['beta']:g}",
            spread([one["accuracy"] for one in seeds], 3),
            spread([one["nll"] for one in seeds], 3),
            spread([one["ece"] for one in seeds], 3),
            f"`{target}`",
            spread(before),
            "" if row is rows[0] else spread(after),
            "" if row is rows[0] else f"{sum(b > a for b, a in zip(before, after, strict=True))} of {len(seeds)}",
            "" if row is rows[0] else verdict(before, after),
        ]
        lines.append(cells)
    return markdown_table(head, lines)


def verdict(before: list[float], after: list[float]) -> str:
    """Whether the error fell: a mean paired difference beyond two standard errors."""
    gains = [b - a for b, a in zip(before, after, strict=True)]
    mean, error = statistics.fmean(gains), statistics.stdev(gains) / len(gains) ** 0.5
    return "lower" if mean > 2 * error else "**higher**" if mean < -2 * error else "no clear change"


def filled(page: str, found: dict[str, Any]) -> str:
    """The page with the tables of these results."""
    titles = {
        "digits": "Digits with noise (10 classes, 400 training rows, 1397 test rows)",
        "breast_cancer": "Breast cancer (2 classes, 120 training rows, 449 test rows)",
    }
    parts = "\n\n".join(f"### {title}\n\n{table(found[name])}" for name, title in titles.items() if name in found)
    before, after = page.index(BEGIN) + len(BEGIN), page.index(END)
    return f"{page[:before]}\n\n{parts}\n\n{page[after:]}"


def main(titles: list[str]) -> None:
    """Train, store the results of the named tasks (all by default), and write the tables."""
    torch.set_num_threads(1)
    for title in titles or TASKS:
        rows = run(title)
        found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps({**found, title: rows}, indent=1) + "\n", encoding="utf-8")
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
