"""Metric objects where programs keep them, inside models, checkpoints, compiled functions and inference mode; and what they are made with."""

import copy
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NO TORCH: pip install 'calibrant[torch]' to test metric objects")

from torch import nn  # noqa: E402
from torchmetrics import MetricCollection  # noqa: E402

import calibrant as cal  # noqa: E402
from calibrant.errors import ArgumentError, ProbabilityError  # noqa: E402
from calibrant.torch.accumulating import SketchMetric  # noqa: E402
from calibrant.torch.metrics import BinaryCalibrationError, CalibrationMetric, MulticlassCalibrationError  # noqa: E402
from tests.calling import raises  # noqa: E402

DEVICE = os.environ.get("CALIBRANT_TEST_DEVICE", "cpu")


def rows(n: int = 200, k: int = 4) -> tuple[Any, Any]:
    maker = torch.Generator().manual_seed(0)
    probs = torch.randn(n, k, generator=maker).softmax(dim=1)
    return probs.to(DEVICE), torch.randint(k, (n,), generator=maker).to(DEVICE)


def expected(probs: Any, labels: Any) -> Any:
    return cal.Sketch.of(labels.cpu().numpy(), probs.cpu().numpy())


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 4)
        self.ece = MulticlassCalibrationError(4)


def test_sums_are_no_buffers_and_follow_the_model() -> None:
    net = Net()
    assert not list(net.buffers())
    net.to(DEVICE).double()
    assert net.ece.device.type == torch.device(DEVICE).type
    assert net.ece.sums.dtype == torch.int64


def test_checkpoints_of_a_model_with_a_metric() -> None:
    probs, labels = rows()
    net = Net().to(DEVICE)
    net.ece.update(probs, labels)
    assert not [name for name in net.state_dict() if name.startswith("ece")]
    net.ece.persistent(True)
    again = Net()
    again.load_state_dict(net.state_dict())
    assert again.ece.sketch() == expected(probs, labels)
    before = {name: value for name, value in net.state_dict().items() if not name.startswith("ece")}
    fresh = Net()
    fresh.load_state_dict(before)  # from before it had a metric
    assert fresh.ece.sketch().n == 0
    with pytest.raises(RuntimeError, match="Unexpected key"):
        fresh.load_state_dict(net.state_dict() | {"ece.more": torch.zeros(3)})


def test_a_metric_made_or_copied_in_inference_mode() -> None:
    probs, labels = rows()
    with torch.inference_mode():
        born = SketchMetric(4)
        born.update(probs, labels)
        both = MetricCollection({name: CalibrationMetric(name, 4) for name in ("ece", "smece")})
        both(probs, labels)
        copies = [copy.deepcopy(born), pickle.loads(pickle.dumps(born))]
    for metric in (born, *copies):
        metric.update(probs.clone().requires_grad_(), labels)
        assert not metric.sums.requires_grad
        assert metric.sketch() == expected(probs, labels).merge(expected(probs, labels))
    both.update(probs, labels)
    assert {metric.sketch().n for metric in both.values()} == {400}


@pytest.mark.deep
def test_compiled_functions_count_the_same() -> None:
    # In a process of its own: nothing must have made the tables of a sketch before.
    program = """
import torch, calibrant as cal
from calibrant.torch import BinaryCalibrationError, CalibrationMetric
maker = torch.Generator().manual_seed(0)
preds, target = torch.rand(64, generator=maker), torch.randint(2, (64,), generator=maker)
for metric in (BinaryCalibrationError(7), CalibrationMetric("ece", bins=10)):
    whole = torch.compile(lambda p, t: (metric.update(p * 1, t), p + 1)[1], backend="eager")
    assert torch.equal(whole(preds, target), preds + 1)
    bins = getattr(metric, "n_bins", 10)
    assert abs(float(metric.compute()) - cal.ece(target.numpy(), preds.numpy(), bins=bins)) < 1e-14
assert metric.sketch() == cal.Sketch.of(target.numpy(), preds.numpy())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("kind", "num_groups"), [("uint8", 300), ("int8", 130), ("uint16", 4), ("int32", 4)])
def test_groups_of_any_whole_kind(kind: str, num_groups: int) -> None:
    probs, labels = rows()
    metric = SketchMetric(4, num_groups=num_groups)  # more than a byte can name
    groups = torch.arange(200, device=DEVICE) % 3
    metric.update(probs, labels, groups.to(getattr(torch, kind)))
    where = (groups == 1).cpu()
    assert metric.sketch(group=1) == expected(probs.cpu()[where], labels.cpu()[where])


def test_faults_that_were_merged_are_raised() -> None:
    probs, labels = rows()
    bad = SketchMetric(4)
    bad.update(probs * 2, labels)
    whole = SketchMetric(4)
    whole.merge_state(bad)
    with pytest.raises(ProbabilityError, match=r"200 invalid rows \(96 with entries outside \[0, 1\], 104 with a sum"):
        whole.sketches()


# What they are made with.


def test_the_automatic_lens_may_be_said() -> None:
    assert [CalibrationMetric("ece", k, lens="auto").lens for k in (None, 2, 3)] == ["binary", "binary", "top_label"]


def test_options_that_sums_can_use_are_taken() -> None:
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet([1, 1, 1], 400), rng.integers(0, 3, 400)
    metric = CalibrationMetric("cwce", 3, bins=10, lens=cal.classwise(combine="max"))
    metric.update(torch.as_tensor(probs), torch.as_tensor(labels))
    assert float(metric.compute()) == pytest.approx(
        cal.cwce(labels, probs, bins=10, lens=cal.classwise(combine="max")), abs=1e-12
    )
    weighed = CalibrationMetric("cwce", 3, lens=cal.classwise(class_weight=[0, 0, 1]))
    weighed.update(torch.as_tensor(probs), torch.as_tensor(labels))
    assert float(weighed.compute()) == pytest.approx(cal.ece(labels == 2, probs[:, 2]), abs=1e-12)


def test_words_of_torchmetrics() -> None:
    base: dict[str, Any] = {
        "compute_on_cpu": True,
        "compute_with_cache": False,
        "dist_sync_on_step": False,
        "dist_sync_fn": None,
        "distributed_available_fn": None,
        "process_group": None,
        "sync_on_compute": True,
    }
    metric = BinaryCalibrationError(10, **base)
    assert float(metric(torch.tensor([0.2, 0.9]), torch.tensor([0, 1]))) == pytest.approx(0.15)
    tm = pytest.importorskip("torchmetrics.classification", reason="NO TORCHMETRICS to compare with")
    tm.BinaryCalibrationError(10, **{**base, "process_group": None})
    with pytest.raises(ValueError, match="Unexpected keyword arguments: `foo`"):
        MulticlassCalibrationError(3, foo=1)


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    metric = MulticlassCalibrationError(np.int64(3), np.int64(10), ignore_index=np.int64(-1), num_groups=np.int32(2))
    assert (metric.num_classes, metric.n_bins, metric.ignore_index, metric.num_groups) == (3, 10, -1, 2)
    assert all(type(n) is int for n in (metric.num_classes, metric.n_bins, metric.ignore_index, metric.num_groups))
    for word in ("n_bins", "ignore_index", "num_groups"):
        with pytest.raises(ArgumentError, match=f"{word}: must be an integer (of at least \\d|or None); got True"):
            BinaryCalibrationError(**{word: True})


def test_events_as_floating_point() -> None:
    """As binary cross-entropy takes them, and torchmetrics; other numbers than 0 and 1 are counted as invalid, not truncated."""
    probs = torch.linspace(0.05, 0.95, 20)
    events = (torch.arange(20) % 3 == 0).long()
    marked = torch.where(torch.arange(20) % 4 == 0, -1, events)
    for kind in (torch.float16, torch.float32, torch.float64):
        for labels, ignored in ((events, None), (marked, -1)):
            ours, plain = (BinaryCalibrationError(7, ignore_index=ignored) for _ in range(2))
            ours.update(probs, labels.to(kind))
            plain.update(probs, labels)
            assert ours.compute() == plain.compute()
    for wrong in (0.5, 2.0, float("nan"), float("inf")):
        for ignored in (None, -1, -2):
            metric = BinaryCalibrationError(7, ignore_index=ignored)
            metric.update(probs, torch.where(events == 1, wrong, 0.0))
            with raises(cal.errors.LabelError, "target"):
                metric.compute()
