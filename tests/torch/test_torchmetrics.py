"""Metric objects as metrics of torchmetrics: its collections, wrappers, state and numbers."""

import copy
import math
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NO TORCH: pip install 'calibrant[torch]' to test the metric objects")
tm = pytest.importorskip("torchmetrics", reason="NO TORCHMETRICS: metric objects are plain modules without it")

import torchmetrics.functional.classification as theirs  # noqa: E402

import calibrant as cal  # noqa: E402
import calibrant.torch as ct  # noqa: E402
from calibrant.errors import ArgumentError, LensError, ShapeError  # noqa: E402
from tests.calling import raises  # noqa: E402


def rows(n: int = 300, k: int = 4, seed: int = 0) -> tuple[Any, Any]:
    """Probabilities in double precision, with ties, exact zeros and ones, and labels."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet([0.4] * k, n)
    probs[: n // 4] = np.eye(k)[rng.integers(0, k, n // 4)]
    probs[n // 4 : n // 2] = [0.4, 0.3, 0.2, 0.1] + [0.0] * (k - 4)
    return torch.as_tensor(probs), torch.as_tensor(rng.integers(0, k, n))


def test_they_are_metrics_of_torchmetrics() -> None:
    probs, labels = rows()
    metric = ct.MulticlassCalibrationError(4)
    assert isinstance(metric, tm.Metric)
    assert (metric.higher_is_better, metric.is_differentiable, metric.full_state_update) == (False, False, False)
    metric(probs, labels)
    assert (metric.update_called, metric.update_count) == (True, 1)
    assert len({metric}) == 1
    twice = metric + ct.CalibrationMetric("smece", 4)
    twice.update(probs, labels)
    expected = cal.ece(cal.Sketch.of(labels.numpy(), probs.numpy()).merge(cal.Sketch.of(labels.numpy(), probs.numpy())))
    assert float(twice.compute()) == pytest.approx(expected + cal.smece(labels.numpy(), probs.numpy()), abs=1e-6)
    metric.reset()
    assert (metric.update_called, metric._forward_cache) == (False, None)
    assert {name: value.shape for name, value in metric.metric_state.items()} == {
        name: value.shape for name, value in metric._defaults.items()
    }


def collected(**more: Any) -> Any:
    return tm.MetricCollection(
        {
            "ece": ct.CalibrationMetric("ece", 4),
            "rms": ct.MulticlassCalibrationError(4, norm="l2"),
            "smece": ct.CalibrationMetric("smece", 4),
            "skip": ct.CalibrationMetric("ece", 4, ignore_index=3),
            "classes": ct.CalibrationMetric("cwce", 4),
            "accuracy": tm.classification.MulticlassAccuracy(4, average="micro"),
            **more,
        },
        prefix="val/",
    )


def expected_of(probs: Any, labels: Any) -> dict[str, float]:
    p, y = probs.numpy(), labels.numpy()
    kept = y != 3
    return {
        "val/ece": cal.ece(y, p),
        "val/rms": cal.rmsce(y, p),
        "val/skip": cal.ece(y[kept], p[kept]),
        "val/classes": cal.cwce(y, p),
        "val/smece": cal.smece(cal.Sketch.of(y, p)),
    }


def test_a_collection_shares_the_state_of_equal_settings_only() -> None:
    probs, labels = rows()
    first = labels[:150].clamp(max=2)  # without the class to skip, so that all states are equal at first
    labels = torch.cat([first, labels[150:]])
    both = collected()
    both.update(probs[:150], first)
    groups = [set(names) for names in both.compute_groups.values()]
    assert {"ece", "rms", "smece"} in groups
    assert {"skip"} in groups
    both(probs[150:200], labels[150:200])  # each metric is called, with the tensor that they share
    both.update(probs[200:250], labels[200:250])
    both.update(probs[250:], labels[250:])
    found = {name: float(value) for name, value in both.compute().items()}
    for name, value in expected_of(probs, labels).items():
        assert found[name] == pytest.approx(value, abs=1e-12), name
    again = both.clone(prefix="test/")
    both.reset()
    assert float(again.compute()["test/ece"]) == found["val/ece"]
    both.add_metrics({"late": ct.CalibrationMetric("mce", 4)})  # each is updated by itself once again
    both.reset()
    both.update(probs, labels)
    assert float(both.compute()["val/late"]) == pytest.approx(cal.mce(labels.numpy(), probs.numpy()), abs=1e-12)
    assert float(both.compute()["val/ece"]) == pytest.approx(cal.ece(labels.numpy(), probs.numpy()), abs=1e-12)


def test_copies_and_types() -> None:
    probs, labels = rows()
    metric = ct.CalibrationMetric("ece", 4)
    metric.update(probs, labels)
    value = float(metric.compute())
    copies = [metric.clone(), copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))]
    for one in copies:
        one.half()
        one.to("cpu").double()
        assert one.sums.dtype == torch.int64
        assert float(one.compute()) == value
        one.update(probs, labels)
        assert one.sketch().n == 600
    assert metric.sketch().n == 300


def test_wrappers_of_torchmetrics() -> None:
    probs, labels = rows()
    window = tm.wrappers.Running(ct.CalibrationMetric("ece", 4), window=2)
    tracker = tm.wrappers.MetricTracker(ct.CalibrationMetric("ece", 4), maximize=False)
    for part in range(3):
        some = slice(100 * part, 100 * part + 100)
        window.update(probs[some], labels[some])
        tracker.increment()
        tracker.update(probs[some], labels[some])
    assert float(window.compute()) == pytest.approx(cal.ece(labels.numpy()[100:], probs.numpy()[100:]), abs=1e-12)
    each = [cal.ece(labels.numpy()[a : a + 100], probs.numpy()[a : a + 100]) for a in (0, 100, 200)]
    assert tracker.compute_all().tolist() == pytest.approx(each, abs=1e-12)
    assert tracker.best_metric() == pytest.approx(min(each))


def test_processes_that_are_simulated() -> None:
    probs, labels = rows()
    other = ct.SketchMetric(4)
    other.update(probs[100:], labels[100:])
    other._carry()

    def gather(state: Any, group: Any) -> list[Any]:
        return [state, other.sums if state.ndim == 2 else state]

    words: dict[str, Any] = {"dist_sync_fn": gather, "distributed_available_fn": lambda: True}
    metric = ct.CalibrationMetric("ece", 4, **words)
    assert float(metric(probs[:100], labels[:100])) == pytest.approx(cal.ece(labels[:100].numpy(), probs[:100].numpy()))
    whole = cal.ece(labels.numpy(), probs.numpy())
    assert float(metric.compute()) == pytest.approx(whole, abs=1e-12)
    assert metric.sketch().n == 300
    assert int(metric.sums[0].sum()) == 100
    step = ct.CalibrationMetric("ece", 4, dist_sync_on_step=True, **words)
    assert float(step(probs[:100], labels[:100])) == pytest.approx(whole, abs=1e-12)
    bad = ct.CalibrationMetric("ece", 4, **words)
    bad.update(probs[:100] * 2, labels[:100])
    for _ in range(2):  # an error leaves the state as it was
        with pytest.raises(cal.CalibrantError, match="100 invalid rows"):
            bad.compute()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_edges_of_torchmetrics(dtype: Any) -> None:
    rng = np.random.default_rng(1)
    binary = "torch" if dtype == torch.float32 else "torch64"
    # They add in the precision of the scores, of classes always in float32.
    close = {"torch": 1e-6, "torch64": 1e-14}
    for bins in (2, 3, 6, 7, 10, 13, 15, 22, 29, 41, 49, 50):
        score = np.concatenate([rng.integers(0, bins + 1, 150) / bins, np.round(rng.random(50), 1), [0, 1, 1, 0]])
        preds, target = torch.tensor(score, dtype=dtype), torch.as_tensor(rng.integers(0, 2, len(score)))
        whole = np.eye(4)[rng.integers(0, 4, 120)] * bins
        for row in whole[:90]:  # multiples of 1/bins
            row[:] = rng.multinomial(bins, [0.25] * 4)
        probs, labels = torch.tensor(whole / bins, dtype=dtype), torch.as_tensor(rng.integers(0, 4, 120))
        for norm, metric in (("l1", cal.ece), ("l2", cal.rmsce), ("max", cal.mce)):
            ours = ct.BinaryCalibrationError(bins, norm, edges=binary)(preds, target)
            expected = theirs.binary_calibration_error(preds, target, bins, norm)
            assert float(ours) == pytest.approx(float(expected), abs=close[binary]), (bins, norm)
            ours = ct.MulticlassCalibrationError(4, bins, norm, edges="torch")(probs, labels)
            expected = theirs.multiclass_calibration_error(probs, labels, 4, bins, norm)
            assert float(ours) == pytest.approx(float(expected), abs=1e-6), (bins, norm)
            rule = cal.EqualWidth(bins, closed="left", edges="torch")
            assert float(ours) == pytest.approx(metric(labels.numpy(), probs.numpy(), binning=rule), abs=1e-12)
            ours = ct.BinaryCalibrationError(bins, norm, edges="linspace")(preds, target)
            rule = cal.EqualWidth(bins, edges="linspace")
            value = metric(target.numpy(), preds.double().numpy(), binning=rule)
            assert float(ours) == pytest.approx(value, abs=1e-12), (bins, norm)


def test_multilabel_is_that_of_the_library() -> None:
    rng = np.random.default_rng(0)
    probs = rng.random((200, 3))
    probs[:50] = rng.integers(0, 2, (50, 3))
    labels = (rng.random((200, 3)) < probs**1.5).astype(int)
    preds, target = torch.as_tensor(probs), torch.as_tensor(labels)
    for norm, library in (("l1", cal.ece), ("l2", cal.rmsce), ("max", cal.mce)):
        metric = ct.MultilabelCalibrationError(3, 7, norm)
        for part in (slice(0, 40), slice(40, 200)):
            metric.update(preds[part], target[part])
        assert float(metric.compute()) == pytest.approx(
            library(cal.Predictions(labels, probs, multilabel=True), bins=7), abs=1e-12
        )
        by_label = [float(value) for value in metric.compute_by("classes").values()]
        assert by_label == pytest.approx([library(labels[:, k], probs[:, k], bins=7) for k in range(3)], abs=1e-12)
    smooth = ct.CalibrationMetric("smece", num_labels=3)
    smooth.update(preds, target)
    each = [cal.smece(cal.Sketch.of(labels[:, k], probs[:, k])) for k in range(3)]
    assert float(smooth.compute()) == pytest.approx(math.fsum(each) / 3, abs=1e-12)
    assert smooth.sketch("class:1").mean_score == pytest.approx(probs[:, 1].mean())
    assert list(map(float, smooth.compute_by("classes").values())) == pytest.approx(each, abs=1e-12)
    # Dense outputs (N, L, H, W), and entries to ignore.
    dense = ct.CalibrationMetric("ece", num_labels=3, ignore_index=-1)
    marked = target.clone()
    marked[::5] = -1
    dense.update(preds.reshape(50, 2, 2, 3).movedim(-1, 1), marked.reshape(50, 2, 2, 3).movedim(-1, 1))
    kept = np.arange(200) % 5 > 0
    assert float(dense.compute()) == pytest.approx(
        cal.ece(cal.Predictions(labels[kept], probs[kept], multilabel=True)), abs=1e-12
    )
    with raises(ShapeError, "preds"):
        smooth.update(preds[:, 0], target[:, 0])


@pytest.mark.parametrize(
    ("words", "kind", "text"),
    [
        ({"num_labels": 2, "num_classes": 3}, ArgumentError, "num_labels: cannot be combined with num_classes"),
        (
            {"num_labels": 2, "num_groups": 3},
            ArgumentError,
            "num_labels: cannot be combined with num_classes and num_g",
        ),
        ({"num_labels": 2, "lens": "top_label"}, LensError, "lens: multilabel predictions have the lens 'classwise'"),
        ({"num_labels": 0}, ArgumentError, "num_labels: must be an integer of at least 1; got 0"),
        ({"n_bins": 10}, ValueError, "Unexpected keyword arguments: `n_bins`"),
    ],
)
def test_numbers_of_classes_and_labels(words: dict[str, Any], kind: Any, text: str) -> None:
    with pytest.raises(kind, match=text):
        ct.CalibrationMetric("ece", **words)


def test_plots() -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="NO MATPLOTLIB")
    matplotlib.use("Agg")
    probs, labels = rows()
    metric = ct.MulticlassCalibrationError(4)
    values = [metric(probs[a : a + 100], labels[a : a + 100]) for a in (0, 100)]
    figure, axes = metric.plot(values)
    assert axes.lines[0].get_ydata().tolist() == [float(value) for value in values]
    matplotlib.pyplot.close(figure)


def test_without_torchmetrics() -> None:
    program = """
import sys
sys.modules["torchmetrics"] = None
import calibrant.torch as ct
ct.TemperatureModule, ct.collect
try:
    ct.SketchMetric
except ImportError as error:
    assert "torchmetrics: is not installed" in str(error)
else:
    raise AssertionError
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr
