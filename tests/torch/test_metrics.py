"""Metric objects: the same bits as the library for the same probabilities, torchmetrics' verbs, and none of its faults."""

import copy
import math
import os
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NO TORCH: pip install 'calibrant[torch]' to test the metric objects")

from torchmetrics import MetricCollection  # noqa: E402

import calibrant as cal  # noqa: E402
from calibrant.errors import (  # noqa: E402
    ArgumentError,
    GroupError,
    InputTypeError,
    LabelError,
    LensError,
    ProbabilityError,
    UndefinedMetricError,
)
from calibrant.sketches.grid import grid  # noqa: E402
from calibrant.torch import accumulating, sketching  # noqa: E402
from calibrant.torch.accumulating import SketchMetric  # noqa: E402
from calibrant.torch.metrics import BinaryCalibrationError, CalibrationMetric, MulticlassCalibrationError  # noqa: E402
from tests.calling import raises  # noqa: E402

DEVICE = os.environ.get("CALIBRANT_TEST_DEVICE", "cpu")
ON_GPU = DEVICE.startswith("cuda")
single_and_double = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def drawn(n: int = 3000, k: int = 5, seed: int = 0, dtype: Any = np.float32) -> tuple[Any, Any]:
    """Probabilities, some of them sharp, and labels."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, k)) * rng.choice([1.0, 4.0, 15.0], (n, 1))
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    probs = (probs / probs.sum(axis=1, keepdims=True)).astype(dtype)
    return probs, rng.integers(0, k, n)


def put(*arrays: Any) -> Any:
    """Arrays as tensors on the device under test."""
    found = [torch.as_tensor(array, device=DEVICE) for array in arrays]
    return found if len(found) > 1 else found[0]


def filled(metric: Any, *arrays: Any) -> Any:
    metric.update(*put(*arrays))
    return metric


# Scores that lie on edges, beside them, and at the ends of what floats can say.


def hard_scores(dtype: Any) -> Any:
    edges = grid().edges.astype(dtype)
    tiny = np.finfo(dtype)
    ends = np.array([0.0, tiny.smallest_subnormal, tiny.tiny, 1e-6, 0.5, 1.0], dtype)
    around = [edges, np.nextafter(edges, dtype(0)), np.nextafter(edges, dtype(1)), ends]
    return np.unique(np.clip(np.concatenate(around), 0, 1).astype(dtype))


@single_and_double
def test_scores_on_and_beside_every_edge_fall_into_the_cells_of_the_library(dtype: Any) -> None:
    scores = hard_scores(dtype)
    labels = np.arange(len(scores)) % 2
    assert len(scores) > 40_000
    assert filled(SketchMetric(), scores, labels).sketch() == cal.Sketch.of(labels, scores)


@pytest.mark.filterwarnings("ignore::calibrant.errors.InputWarning")
@single_and_double
@pytest.mark.parametrize("bins", [7, 15, 19_200])
def test_edges_of_bins(dtype: Any, bins: int) -> None:
    edges = (np.arange(bins + 1) / bins).astype(dtype)
    scores = np.unique(np.clip([edges, np.nextafter(edges, dtype(0)), np.nextafter(edges, dtype(1))], 0, 1))
    labels = np.arange(len(scores)) % 3 % 2
    metric = filled(BinaryCalibrationError(bins), scores.astype(dtype), labels)
    assert float(metric.compute()) == pytest.approx(cal.ece(labels, scores, bins=bins), abs=1e-14)


@single_and_double
@pytest.mark.parametrize("k", [2, 5, 33, 2500])
def test_top_labels_give_the_bits_of_the_library(dtype: Any, k: int) -> None:
    probs, labels = drawn(k=k, n=400 if k > 100 else 3000, dtype=dtype)
    metric = filled(SketchMetric(k, lenses="top_label"), probs, labels)
    assert metric.sketch("top_label") == cal.Sketch.of(labels, probs, lens="top_label")


@single_and_double
def test_of_two_classes_the_second_is_asked_about_as_everywhere(dtype: Any) -> None:
    probs, labels = drawn(k=2, dtype=dtype)
    probs[:50] = [0, 1]  # certain rows have places of their own
    metric = filled(SketchMetric(2), probs, labels)
    assert metric.lenses == ("binary",)
    assert metric.sketch() == cal.Sketch.of(labels, probs)
    assert metric.sketches() == cal.Sketches.of(labels, probs, lenses=["binary"], scores=False)
    assert cal.ece(metric.sketches()) == cal.ece(metric.sketch())
    both = filled(SketchMetric(2, lenses=("binary", "classwise")), probs, labels)
    assert both.lenses == ("binary", "class:0", "class:1")
    assert both.sketch() == metric.sketch()
    logits = np.log(np.maximum(probs, 1e-30)).astype(dtype)
    soft = filled(SketchMetric(2, input="logit"), logits, labels)
    assert soft.sketch() == cal.Sketch.of(labels, put(logits).softmax(dim=1).cpu().numpy())
    with raises(LensError, "lenses"):
        SketchMetric(2, lenses=("binary", "top_label"))
    with pytest.raises(LensError, match="must be of top_label, classwise"):
        SketchMetric(3, lenses="binary")


def test_metrics_of_two_classes_are_those_of_the_library() -> None:
    rng = np.random.default_rng(0)
    score = rng.random(2000).astype(np.float32)
    labels = (rng.random(2000) < score**2).astype(int)  # said too high
    probs = np.stack([1 - score, score], axis=1)
    for name in ("ece", "esce", "smece", "ace", "cwce"):
        value = float(filled(CalibrationMetric(name, 2), probs, labels).compute())
        assert value == pytest.approx(cal.catalogue[name](labels, probs), abs=2e-3), name
    assert float(filled(CalibrationMetric("esce", 2), probs, labels).compute()) > 0.1
    for lens in ("binary", "top_label"):
        value = float(filled(CalibrationMetric("ece", 2, lens=lens), probs, labels).compute())
        assert value == pytest.approx(cal.ece(labels, probs, lens=lens), abs=1e-12)
    theirs = filled(MulticlassCalibrationError(2), probs, labels)
    assert theirs.lens == "top_label"
    assert float(theirs.compute()) == pytest.approx(cal.ece(labels, probs, lens="top_label"), abs=1e-12)
    grouped = filled(CalibrationMetric("ece", 2, num_groups=2), probs, labels, labels)
    assert float(grouped.compute_by("groups")[1]) == pytest.approx(cal.ece(labels[labels == 1], score[labels == 1]))


def test_ties_go_to_the_lowest_class() -> None:
    probs = np.array([[0.4, 0.4, 0.2], [0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [0.2, 0.4, 0.4]], np.float32)
    labels = np.array([0, 1, 1, 2])
    metric = filled(SketchMetric(3), probs, labels)
    assert metric.sketch().positives == 2
    assert metric.sketch() == cal.Sketch.of(labels, probs)


@single_and_double
@pytest.mark.parametrize("k", [3, 33, 60])
def test_every_class_gives_the_bits_of_the_library(dtype: Any, k: int) -> None:
    probs, labels = drawn(k=k, n=200 if k > 50 else 2000, dtype=dtype)
    probs[:100] = np.eye(k)[np.arange(100) % k]  # all and nothing
    both = ("top_label", "classwise")
    metric = filled(SketchMetric(k, lenses=both), probs, labels)
    assert metric.sketches() == cal.Sketches.of(labels, probs, lenses=both, scores=False)
    assert metric.compute() == metric.sketches()
    alone = filled(SketchMetric(k, lenses="classwise"), probs, labels)
    assert alone.sketch("class:2") == cal.Sketch.of(labels, probs, lens="class:2")


@pytest.mark.parametrize("k", [3, 12])
@pytest.mark.parametrize("dense", [False, True])
def test_every_class_in_groups(k: int, dense: bool) -> None:
    flat, labels = drawn(n=4 * 6 * 7, k=k)
    flat[:80] = np.eye(k)[np.arange(80) % k]
    groups = np.random.default_rng(3).integers(0, 5, len(flat))
    expected = cal.Sketches.of(
        cal.Predictions(labels, flat, groups=groups), lenses=["top_label", "classwise"], scores=False
    )
    preds, target, of_row = put(flat, labels, groups)
    if dense:
        preds = preds.reshape(4, 6, 7, k).permute(0, 3, 1, 2).contiguous()
        target, of_row = target.reshape(4, 6, 7), of_row.reshape(4, 6, 7)
    metric = SketchMetric(k, lenses=("top_label", "classwise"), num_groups=5)
    metric.update(preds, target, of_row)
    assert metric.sketches() == expected


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_precision_is_widened_exactly(name: str) -> None:
    probs, labels = drawn(k=4)
    half = torch.as_tensor(probs).to(getattr(torch, name))
    metric = SketchMetric(4, lenses=("top_label", "classwise"))
    metric.update(half.to(DEVICE), put(labels))
    for lens in ("top_label", "class:1"):
        assert metric.sketch(lens) == cal.Sketch.of(
            cal.Predictions(labels, half.float().numpy(), normalize=1e-2), lens=lens
        )


def test_batches_orders_and_chunks_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    probs, labels = drawn(n=5000)
    whole = filled(SketchMetric(5), probs, labels).sketch()
    parts = SketchMetric(5)
    order = np.random.default_rng(1).permutation(5000)
    for rows in np.array_split(order, [1, 17, 17, 900]):
        filled(parts, probs[rows], labels[rows])
    assert parts.sketch() == whole
    monkeypatch.setattr(sketching, "CHUNK_ROWS", 128)
    monkeypatch.setattr(sketching, "CHUNK_ENTRIES", 512)
    assert filled(SketchMetric(5), probs, labels).sketch() == whole
    both = ("top_label", "classwise")
    assert filled(SketchMetric(5, lenses=both), probs, labels).sketches() == cal.Sketches.of(
        labels, probs, lenses=both, scores=False
    )


def test_low_parts_are_carried_before_they_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accumulating, "CARRY_ROWS", 1000)
    score = np.full(700, np.nextafter(1.0, 0))  # the largest low part
    metric = SketchMetric()
    for _ in range(5):
        filled(metric, score, np.ones(700, np.int64))
        assert int(metric.sums[2].max()) < 1001 << sketching.HALF_BITS
    assert metric.sketch().n == 3500
    assert metric.sketch().mean_score == np.nextafter(1.0, 0)
    # What fits: the rows between two carries in the low parts, and the most rows in the high ones.
    assert (sketching.CARRY_ROWS + 1) << sketching.HALF_BITS < 1 << 63
    assert sketching.MOST_ROWS << (62 - sketching.HALF_BITS) < 1 << 63


@pytest.mark.parametrize("layout", ["contiguous", "channels_last", "sliced", "turned"])
def test_dense_outputs(layout: str) -> None:
    flat, labels = drawn(n=2 * 6 * 7, k=3)
    probs = np.moveaxis(flat.reshape(2, 6, 7, 3), -1, 1)
    dense, target = put(probs.copy(), labels.reshape(2, 6, 7))
    if layout == "channels_last":
        dense = dense.contiguous(memory_format=torch.channels_last)
    if layout == "sliced":
        wide = torch.zeros(2, 3, 6, 14, device=DEVICE)
        wide[..., ::2] = dense
        dense = wide[..., ::2]
    if layout == "turned":
        dense = dense.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)
    metric = SketchMetric(3, lenses=("top_label", "classwise"))
    metric.update(dense, target)
    assert metric.sketches() == cal.Sketches.of(labels, flat, lenses=["top_label", "classwise"], scores=False)


def test_groups_are_kept_apart() -> None:
    flat, labels = drawn(n=4 * 6 * 7, k=3)
    dense, target = put(np.moveaxis(flat.reshape(4, 6, 7, 3), -1, 1).copy(), labels.reshape(4, 6, 7))
    images = np.array([2, 0, 2, 5])
    metric = SketchMetric(3, num_groups=7)
    metric.update(dense, target, put(images))
    expected = cal.Sketches.of(
        cal.Predictions(labels, flat, groups=np.repeat(images, 42)), lenses=["top_label"], scores=False
    )
    assert metric.sketches() == expected
    error = MulticlassCalibrationError(3, num_groups=7)
    error.update(dense, target, put(np.repeat(images, 42).reshape(4, 6, 7)))
    by_image = error.compute_by("groups")
    assert list(by_image) == [0, 2, 5]
    for image, value in by_image.items():
        rows = np.repeat(images == image, 42)
        assert float(value) == pytest.approx(cal.ece(labels[rows], flat[rows]), abs=1e-14)
    assert float(error.compute()) == pytest.approx(cal.ece(labels, flat), abs=1e-14)


def test_values_by_class() -> None:
    probs, labels = drawn(k=4)
    metric = filled(CalibrationMetric("cwce", 4), probs, labels)
    by_class = metric.compute_by("classes")
    for k, value in by_class.items():
        assert float(value) == pytest.approx(cal.ece(labels == k, probs[:, k]), abs=1e-12)
    assert float(metric.compute()) == pytest.approx(np.mean([float(value) for value in by_class.values()]), abs=1e-12)
    with raises(ArgumentError, "what"):
        CalibrationMetric("ece", 4, num_groups=2).compute_by("classes")
    with raises(ArgumentError, "what"):
        MulticlassCalibrationError(4).compute_by("classes")


SCORE_METRICS = [name for name in cal.catalogue if cal.catalogue[name].takes == "View" and cal.catalogue[name].sketch]


@pytest.mark.parametrize("name", SCORE_METRICS)
def test_every_score_metric_of_the_catalogue(name: str) -> None:
    found = cal.catalogue[name]
    if found.needs:
        with pytest.raises(ArgumentError, match="cannot be computed from accumulated sums"):
            CalibrationMetric(name, 3)
        return
    probs, labels = drawn(n=600, k=3, dtype=np.float64)
    lens = "top_label" if found.lens == "auto" else found.lens
    if lens not in ("top_label", "classwise"):
        with pytest.raises(LensError):
            CalibrationMetric(name, 3)
        return
    metric = filled(CalibrationMetric(name, 3), probs, labels)
    sketches = cal.Sketches.of(labels, probs, lenses=["top_label", "classwise"], scores=False)
    words: dict[str, Any] = {"rng": 0} if "rng" in found.options else {}
    if words:
        metric = filled(CalibrationMetric(name, 3, **words), probs, labels)
    assert float(metric.compute()) == found(sketches, lens=lens, **words)


def test_a_metric_of_whole_rows_is_refused_when_made() -> None:
    with raises(ArgumentError, "metric"):
        CalibrationMetric("brier", 3)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: `bin`"):
        CalibrationMetric("ece", 3, bin=20)


# The binned error under the names of torchmetrics.


def test_one_entry_outside_never_turns_a_batch_into_logits() -> None:
    metric = filled(BinaryCalibrationError(), np.array([0.2, 1.0000001, 0.4]), np.array([0, 1, 1]))
    with raises(ProbabilityError, "preds"):
        metric.compute()
    filled(metric, np.array([0.3]), np.array([1]))
    with raises(ProbabilityError, "preds"):
        metric.compute()
    metric.reset()
    assert float(filled(metric, np.array([0.3]), np.array([1])).compute()) == pytest.approx(0.7)


def test_logits_are_said() -> None:
    logits = torch.randn(500, 4, generator=torch.Generator().manual_seed(0)) * 3
    labels = torch.arange(500) % 4
    for dtype, wide in ((torch.float16, torch.float32), (torch.float32, torch.float32), (torch.float64, torch.float64)):
        given = logits.to(DEVICE, dtype)
        said = SketchMetric(4, input="logit")
        said.update(given, labels.to(DEVICE))
        known = SketchMetric(4)
        known.update(given.to(wide).softmax(dim=1), labels.to(DEVICE))
        assert said.sketch() == known.sketch()
    event = CalibrationMetric("ece", input="logit")
    event.update(logits[:, 0].to(DEVICE), (labels == 0).to(DEVICE))
    assert float(event.compute()) == pytest.approx(
        cal.ece((labels == 0).numpy(), logits[:, 0].sigmoid().numpy()), abs=1e-6
    )
    with raises(ArgumentError, "input"):
        SketchMetric(4, input="auto")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "label", "kind", "text"),
    [
        ([math.nan, 0.5, 0.5], 0, ProbabilityError, r"preds: 1 invalid row \(1 with NaN\)"),
        ([0.5, 0.5, math.nan], 0, ProbabilityError, r"preds: 1 invalid row \(1 with NaN\)"),
        ([0.6, 0.6, -0.2], 0, ProbabilityError, r"preds: 1 invalid row \(1 with entries outside \[0, 1\]\)"),
        ([math.inf, 0.0, 0.0], 0, ProbabilityError, r"preds: 1 invalid row \(1 with entries outside \[0, 1\]\)"),
        ([0.2, 0.2, 0.2], 0, ProbabilityError, r"preds: 1 invalid row \(1 with a sum other than 1\)"),
        ([0.6, 0.2, 0.2], 3, LabelError, r"target: 1 invalid row \(1 with an unknown class as label\)"),
        ([0.6, 0.2, 0.2], -1, LabelError, r"target: 1 invalid row \(1 with an unknown class as label\)"),
    ],
)
def test_rows_that_cannot_be_counted(row: Any, label: int, kind: Any, text: str) -> None:
    probs, labels = drawn(n=20, k=3)
    probs[13], labels[13] = row, label
    both = SketchMetric(3, lenses=("top_label", "classwise"))
    for metric in (SketchMetric(3), SketchMetric(3, lenses="classwise"), both):
        filled(metric, probs, labels)
        with pytest.raises(
            kind,
            match=f"{text} in row 13; (use input='logit' if these are logits|check the output of the model|pass ignore_index to skip rows)",
        ) as caught:
            metric.compute()
        assert caught.value.row == 13


def test_groups_out_of_range() -> None:
    probs, labels = drawn(n=20, k=3)
    for lenses in ("top_label", "classwise"):
        metric = SketchMetric(3, num_groups=2, lenses=lenses)
        filled(metric, probs, labels, np.arange(20) // 9)
        with raises(GroupError, "groups"):
            metric.compute()


@pytest.mark.parametrize("ignore_index", [-100, 255, 1])
def test_rows_to_ignore(ignore_index: int) -> None:
    probs, labels = drawn(n=1000, k=3)
    probs[labels == 2] = math.nan
    labels[labels == 2] = ignore_index
    kept = labels != ignore_index
    metric = filled(SketchMetric(3, ignore_index=ignore_index), probs, labels)
    assert metric.sketch() == cal.Sketch.of(
        cal.Predictions(labels[kept], probs[kept], classes=[0, 1, 2]), lens="top_label"
    )
    every = filled(SketchMetric(3, ignore_index=ignore_index, lenses="classwise"), probs, labels)
    assert every.sketch("class:0") == cal.Sketch.of(
        cal.Predictions(labels[kept], probs[kept], classes=[0, 1, 2]), lens="class:0"
    )


@pytest.mark.filterwarnings("ignore:The ``compute`` method of metric")
def test_no_rows_is_undefined() -> None:
    for metric in (BinaryCalibrationError(), CalibrationMetric("smece", 3)):
        with pytest.raises(UndefinedMetricError, match=r"\w+: no rows were added; call update first"):
            metric.compute()
    empty = filled(SketchMetric(3), np.zeros((0, 3), np.float32), np.zeros(0, np.int64))
    assert empty.sketch() == cal.Sketch.empty("top_label")


# The verbs of a metric.


def test_forward_gives_the_batch_and_adds_it() -> None:
    probs, labels = drawn(n=1000)
    metric = MulticlassCalibrationError(5)
    for rows in (slice(0, 300), slice(300, 1000)):
        value = metric(*put(probs[rows], labels[rows]))
        assert float(value) == pytest.approx(cal.ece(labels[rows], probs[rows]), abs=1e-14)
        assert value.dtype == torch.float64
        assert value.device.type == torch.device(DEVICE).type
    assert metric.sketch() == cal.Sketch.of(labels, probs)


def test_merge() -> None:
    probs, labels = drawn(n=1000)
    whole = filled(SketchMetric(5), probs, labels)
    first, second = filled(SketchMetric(5), probs[:1], labels[:1]), filled(SketchMetric(5), probs[1:], labels[1:])
    by_state = copy.deepcopy(first)
    by_state.merge_state(second.metric_state)
    first.merge_state(second)
    assert first.sketch() == by_state.sketch() == whole.sketch()
    with raises(InputTypeError, "incoming_state"):
        whole.merge_state(SketchMetric(5, input="logit"))


def test_a_collection_fills_shared_sums_once(monkeypatch: pytest.MonkeyPatch) -> None:
    probs, labels = drawn(n=1000, k=3)
    calls = []
    kept = SketchMetric.update
    # Before they are made: torchmetrics keeps the method of each instance.
    monkeypatch.setattr(SketchMetric, "update", lambda self, *a: (calls.append(1), kept(self, *a))[1])
    both = MetricCollection(
        {
            "ece": MulticlassCalibrationError(3),
            "rms": MulticlassCalibrationError(3, norm="l2"),
            "smece": CalibrationMetric("smece", 3),
            "cwce": CalibrationMetric("cwce", 3),
        },
        prefix="val/",
    )
    both.to(DEVICE)
    both.update(*put(probs[:300], labels[:300]))
    calls.clear()  # the first batch shows which metrics have the same state
    both.update(*put(probs[300:600], labels[300:600]))
    assert len(calls) == 2
    assert both["smece"].sketch() == cal.Sketch.of(labels[:600], probs[:600])
    both.reset()
    with pytest.warns(UserWarning, match="was called before"), pytest.raises(UndefinedMetricError):
        both.compute()


# The device.


@pytest.mark.skipif(not ON_GPU, reason="NO GPU: set CALIBRANT_TEST_DEVICE=cuda to see that update never waits")
@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
@pytest.mark.parametrize("lenses", ["top_label", "classwise"])
@pytest.mark.parametrize("input", ["prob", "logit"])
def test_update_does_not_wait_for_the_device(lenses: str, input: Any) -> None:
    probs, labels = put(*drawn(k=4))
    metric = SketchMetric(4, lenses=lenses, input=input, ignore_index=1, num_groups=4)
    metric.update(probs, labels, labels)
    torch.cuda.set_sync_debug_mode("error")
    try:
        metric.update(probs, labels, labels)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert metric.sketches().n > 0


@pytest.mark.skipif(not ON_GPU, reason="NO GPU: set CALIBRANT_TEST_DEVICE=cuda to move between devices")
def test_sums_follow_the_first_batch_and_stay() -> None:
    metric = filled(SketchMetric(), np.array([0.5]), np.array([1]))
    assert metric.device.type == "cuda"
    with pytest.raises(RuntimeError, match="different devices"):
        metric.update(torch.tensor([0.5]), torch.tensor([1]))
    metric.to("cpu").update(torch.tensor([0.5]), torch.tensor([1]))
    assert metric.sketch().n == 2


@pytest.mark.skipif(not ON_GPU, reason="NO GPU: set CALIBRANT_TEST_DEVICE=cuda to watch its memory")
def test_memory_beside_the_tensors_is_constant() -> None:
    def beside(rows: int) -> int:
        metric = SketchMetric(10).to(DEVICE)
        probs = torch.rand(rows, 10, device=DEVICE).softmax(dim=1)
        target = torch.zeros(rows, dtype=torch.int64, device=DEVICE)
        metric.update(probs, target)
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        metric.update(probs, target)
        return torch.cuda.max_memory_allocated() - before

    assert beside(16 << 20) <= 1.01 * beside(5 << 20) + (1 << 20)


@pytest.mark.parametrize(("rows", "classes"), [(500, 3), (200, 50)])
def test_promised_rows_are_counted_the_same_without_the_checks(rows: int, classes: int) -> None:
    p = torch.softmax(torch.randn(rows, classes, generator=torch.Generator().manual_seed(0)), 1).to(DEVICE)
    y = torch.arange(rows, device=DEVICE) % classes
    checked, promised = (
        MulticlassCalibrationError(classes, validate_args=checks).to(DEVICE) for checks in (True, False)
    )
    checked.update(p, y)
    promised.update(p, y)
    assert torch.equal(checked.sums, promised.sums)
    for bad in (torch.full_like(p[:1], math.nan), p[:1] * 0 + 2):
        promised.reset()
        promised.update(bad, y[:1])
        with raises(cal.errors.ProbabilityError, "preds"):
            promised.compute()
    promised.reset()
    promised.update(p[:1], y[:1] + classes)  # a wrong prediction, as was promised
    assert (promised.sketch().n, promised.sketch().positives) == (1, 0)
    half = p[:1] / 2
    promised.reset()
    promised.update(half, y[:1])
    assert promised.sketch().n == 1
    checked.update(half, y[:1])
    with raises(cal.errors.CalibrantError, "preds"):
        checked.compute()
