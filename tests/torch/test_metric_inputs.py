"""What metric objects and collections are made with: options, words of torchmetrics, whole numbers, names and rows already seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NO TORCH: pip install 'calibrant[torch]' to test the metric objects")


import calibrant as cal  # noqa: E402
from calibrant.errors import ArgumentError  # noqa: E402
from calibrant.torch.accumulating import SketchMetric  # noqa: E402
from calibrant.torch.metrics import BinaryCalibrationError, CalibrationMetric, MulticlassCalibrationError  # noqa: E402
from tests.calling import raises  # noqa: E402

PROBS = torch.tensor([[0.9, 0.05, 0.05]]).repeat(10, 1)
RIGHT, WRONG = torch.zeros(10, dtype=torch.int64), torch.ones(10, dtype=torch.int64)


@pytest.mark.parametrize(
    "word", ["normalize", "sample_weight", "counts", "groups", "clip", "soft", "classes", "where", "rng"]
)
def test_options_that_sums_cannot_use_are_refused_when_made(word: str) -> None:
    with pytest.raises(ValueError, match=f"Unexpected keyword arguments: `{word}`"):
        CalibrationMetric("ece", 3, **{word: True})


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
    with raises(ArgumentError, "num_classes"):
        SketchMetric(True)


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
