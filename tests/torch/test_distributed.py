"""Metric objects over several processes: the same bits as in one, also where one has no rows; an error, not a hang, where one dies."""

import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NO TORCH: pip install 'calibrant[torch]' to test processes together")
if not torch.distributed.is_available():
    pytest.skip("NO torch.distributed in this build of torch", allow_module_level=True)

import torch.distributed as dist  # noqa: E402
from torchmetrics import MetricCollection  # noqa: E402

import calibrant as cal  # noqa: E402
from calibrant.torch.accumulating import SketchMetric  # noqa: E402
from calibrant.torch.metrics import CalibrationMetric, MulticlassCalibrationError  # noqa: E402

# Rows of the first process: none, and few.
SPLITS = (0, 13)
# Seconds after which something hangs for sure, on however busy a machine.
HANG = 600


def drawn(n: int = 501, k: int = 4) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(n, k)) * 3
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return probs.astype(np.float32), rng.integers(0, k, n)


def share(rank: int, split: int) -> tuple[Any, Any]:
    probs, labels = drawn()
    rows = slice(0, split) if rank == 0 else slice(split, None)
    return torch.as_tensor(probs[rows]), torch.as_tensor(labels[rows])


def join(rank: int, folder: str, name: str) -> None:
    if dist.is_initialized():
        dist.destroy_process_group()
    meet = f"file://{folder}/{name}"
    dist.init_process_group("gloo", init_method=meet, rank=rank, world_size=2, timeout=timedelta(seconds=HANG))


def add_up(rank: int, folder: str, split: int) -> None:
    """Add the share of one process, and write what it computes."""
    join(rank, folder, f"meet{split}")
    metric = MulticlassCalibrationError(4)
    every = MetricCollection({name: CalibrationMetric(name, 4) for name in ("smece", "cwce")})
    alone = SketchMetric(4, sync_on_compute=False)
    for preds, target in zip(*(part.split(97) for part in share(rank, split)), strict=True):
        metric.update(preds, target)
        every.update(preds, target)
        alone.update(preds, target)
    found = every.compute()
    values = [float(metric.compute()), float(metric.compute()), float(found["smece"]), float(found["cwce"])]
    np.save(f"{folder}/values{split}_{rank}.npy", np.array([*values, alone.sketch().n]))
    Path(folder, f"sketch{split}_{rank}").write_bytes(metric.sketch().to_bytes())


def as_torchmetrics(rank: int, folder: str, split: int) -> None:
    """Add the share of one process with a collection of torchmetrics, write the values."""
    import torchmetrics as tm

    join(rank, folder, f"tm{split}")
    both = tm.MetricCollection({"ece": CalibrationMetric("ece", 4), "rms": MulticlassCalibrationError(4, norm="l2")})
    step = CalibrationMetric("ece", 4, dist_sync_on_step=True)
    whole = [float(step(*share(rank, split)))]
    for preds, target in zip(*(part.split(97) for part in share(rank, split)), strict=True):
        both.update(preds, target)
    values = both.compute()
    one = both["ece"]
    synced = cal.ece(one.sketch())
    own = int(one.sums[0, : one.plan.trash].sum())
    np.save(f"{folder}/tm{split}_{rank}.npy", [float(values["ece"]), synced, *whole, float(values["rms"]), own])


def fail(rank: int, folder: str, how: str) -> None:
    """The second process has rows that cannot be counted, or dies; write what is raised."""
    join(rank, folder, how)
    metric = SketchMetric(4)
    preds, target = share(rank, 200)
    if how == "faulty" and rank == 1:
        preds[3] = float("nan")
    metric.update(preds, target)
    if rank == 1 and how == "dies":
        os._exit(0)
    try:
        metric.compute()
        told = "nothing"
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
    Path(folder, f"{how}_{rank}").write_text(told)


def train(rank: int, folder: str) -> None:
    """Count rows while a model that holds the metric is trained on both processes; write the value."""
    join(rank, folder, "train")
    preds, target = share(rank, 200)
    net = torch.nn.ModuleDict({"layer": torch.nn.Linear(4, 4), "ece": MulticlassCalibrationError(4)})
    net.forward = lambda x: net["layer"](x)
    model = torch.nn.parallel.DistributedDataParallel(net)
    for x, y, p in zip(preds[:200].split(50), target[:200].split(50), preds[:200].split(50), strict=True):
        torch.nn.functional.cross_entropy(model(x), y).backward()
        net["ece"].update(p, y)
    np.save(f"{folder}/trained_{rank}.npy", float(net["ece"].compute()))


def process(rank: int, folder: str) -> None:
    """Everything that one process does; starting it takes longer than the rest."""
    torch.set_num_threads(1)
    for split in SPLITS:
        add_up(rank, folder, split)
        as_torchmetrics(rank, folder, split)
    train(rank, folder)
    for how in ("faulty", "dies"):
        fail(rank, folder, how)
    os._exit(0)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes have written, which both ended in time."""
    folder = tmp_path_factory.mktemp("ranks")
    context = torch.multiprocessing.get_context("forkserver")  # both share what the server has imported
    context.set_forkserver_preload(["torchmetrics", "torch.distributed", "calibrant.torch.metrics"])
    children = [context.Process(target=process, args=(rank, str(folder))) for rank in range(2)]
    for child in children:
        child.start()
    end = time.monotonic() + 2 * HANG
    for child in children:
        child.join(max(0.1, end - time.monotonic()))
    hung = [child for child in children if child.is_alive()]
    for child in hung:
        child.kill()
    assert not hung
    assert [child.exitcode for child in children] == [0, 0]
    return folder


@pytest.mark.deep
@pytest.mark.parametrize("split", SPLITS)
def test_two_processes_give_the_bits_of_one(split: int, written: Path) -> None:
    probs, labels = drawn()
    sketches = cal.Sketches.of(labels, probs, lenses=["top_label", "classwise"], scores=False)
    for rank in range(2):
        first, again, smece, cwce, own = np.load(written / f"values{split}_{rank}.npy")
        assert first == again == cal.ece(sketches)
        assert smece == cal.smece(sketches)
        assert cwce == cal.cwce(sketches)
        assert own == (split if rank == 0 else 501 - split)
        assert cal.Sketch.from_bytes((written / f"sketch{split}_{rank}").read_bytes()) == sketches["top_label"]


@pytest.mark.parametrize("split", SPLITS)
def test_processes_are_added_in_the_ways_of_torchmetrics(split: int, written: Path) -> None:
    probs, labels = drawn()
    sketches = cal.Sketches.of(labels, probs, lenses=["top_label"], scores=False)
    for rank in range(2):
        collected, synced, step, rms, own = np.load(written / f"tm{split}_{rank}.npy")
        assert collected == synced == step == cal.ece(sketches)
        assert rms == pytest.approx(cal.rmsce(sketches), abs=1e-12)
        # Scores of exactly 1 have counters of their own; there are few.
        assert own <= (split if rank == 0 else 501 - split)
    assert own > 400


def test_a_model_that_is_trained_on_both_leaves_the_sums_of_each(written: Path) -> None:
    probs, labels = drawn()
    value = cal.ece(cal.Sketches.of(labels[:400], probs[:400], lenses=["top_label"], scores=False))
    assert [float(np.load(written / f"trained_{rank}.npy")) for rank in range(2)] == [value, value]


def test_a_lost_process_is_an_error_and_no_hang(written: Path) -> None:
    assert "RuntimeError" in (written / "dies_0").read_text()


def test_a_faulty_row_is_an_error_in_every_process(written: Path) -> None:
    for rank in range(2):
        told = (written / f"faulty_{rank}").read_text()
        assert "ProbabilityError: preds: 1 invalid row (1 with NaN) in row 3" in told
