"""Metric objects where programs keep them: inside models, checkpoints, compiled functions and inference mode; and collections as others write them."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="NO TORCH: pip install 'calibrant[torch]' to test metric objects")

from torch import nn  # noqa: E402
from torchmetrics import MetricCollection  # noqa: E402

import calibrant as cal  # noqa: E402
from calibrant.errors import ArgumentError, ProbabilityError  # noqa: E402
from calibrant.torch.accumulating import SketchMetric  # noqa: E402
from calibrant.torch.metrics import CalibrationMetric, MulticlassCalibrationError  # noqa: E402
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


def test_values_by_group_need_groups() -> None:
    probs, labels = rows()
    for metric in (CalibrationMetric("ece", 4), MulticlassCalibrationError(4)):
        metric.update(probs, labels)
        with raises(ArgumentError, "what"):
            metric.compute_by("groups")
