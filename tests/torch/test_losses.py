"""Losses in training: gradients, half precision, odd batches, and reductions."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from calibrant.errors import ArgumentError
from calibrant.torch import losses
from tests.calling import raises

from .loss_cases import ALL, HARD_ONLY, IN_PLACE, NAMES, ONE_VALUE, batch, loss_of, named

# Gradients.


@pytest.mark.sampled
@pytest.mark.parametrize("case", ALL, ids=named)
@pytest.mark.parametrize("classes", [2, 4])
def test_gradients(case: tuple[str, dict[str, Any]], classes: int) -> None:
    name, options = case
    if options.get("bandwidth") == 0.001:
        options = {"bandwidth": 0.02}  # differences of a narrower kernel are too rough for the check
    logits, y = batch(classes, rows=7)
    weight = torch.linspace(0.5, 2, classes, dtype=torch.float64) if classes == 4 else None
    logits.requires_grad_()
    assert torch.autograd.gradcheck(lambda z: loss_of(name)(z, y, weight=weight, **options), (logits,), atol=1e-5)


@pytest.mark.parametrize("case", [case for case in ALL if case[0] not in HARD_ONLY], ids=named)
def test_gradients_with_soft_targets(case: tuple[str, dict[str, Any]]) -> None:
    name, options = case
    if options.get("bandwidth") == 0.001:
        options = {"bandwidth": 0.02}
    logits, _ = batch(rows=5)
    shares = torch.softmax(batch(rows=5, seed=1)[0], 1)
    logits.requires_grad_()
    assert torch.autograd.gradcheck(lambda z: loss_of(name)(z, shares, **options), (logits,), atol=1e-5)


# Half precision and odd batches.


def odd_batches() -> dict[str, tuple[Tensor, Tensor]]:
    draw = torch.Generator().manual_seed(0)
    wide = (torch.rand(12, 4, generator=draw) * 2 - 1) * 60
    steep = torch.where(torch.arange(4) == torch.randint(4, (12, 1), generator=draw), 60.0, -60.0)
    top = steep.argmax(1)
    y = torch.randint(4, (12,), generator=draw)
    return {
        "wide": (wide, y),
        "steep": (steep, y),
        "one row": (wide[:1], y[:1]),
        "one steep row, wrong": (steep[:1], (top[:1] + 1) % 4),
        "one steep row, right": (steep[:1], top[:1]),
        "one class": (wide, torch.full((12,), 2)),
        "all right": (steep, top),
        "all wrong": (steep, (top + 1) % 4),
        "all equal": (torch.zeros(12, 4), y),
        "one zero row": (torch.zeros(1, 4), y[:1]),
        "same rows": (wide[:1].expand(12, 4), y),
        "two classes": (torch.tensor([[60.0, -60.0], [-60.0, 60.0], [60.0, 60.0]]), torch.tensor([0, 0, 1])),
        "all ignored": (wide, torch.full((12,), -100)),
        "some ignored": (wide, torch.where(y == 0, -100, y)),
        "a class shut out": (wide.index_fill(1, torch.tensor([3]), -torch.inf), y % 3),
        "a class shut out that is true": (wide.index_fill(1, torch.tensor([3]), -torch.inf), torch.full((12,), 3)),
        "all classes but one shut out": (wide.index_fill(1, torch.tensor([0, 1, 3]), -torch.inf), y),
        "empty": (wide[:0], y[:0]),
    }


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("case", ALL, ids=named)
def test_value_and_gradient_are_finite(case: tuple[str, dict[str, Any]], dtype: torch.dtype) -> None:
    name, options = case
    for title, (logits, y) in odd_batches().items():
        leaf = logits.to(dtype).clone().requires_grad_()
        value = loss_of(name)(leaf, y, **options)
        assert value.dtype == torch.float32, title
        assert value.isfinite(), (title, value)
        value.backward()
        assert leaf.grad is not None, title
        assert leaf.grad.dtype == dtype
        assert leaf.grad.isfinite().all(), title
        if title in ("all ignored", "empty"):
            assert value.item() == 0, title
            assert not leaf.grad.any(), title


@pytest.mark.parametrize("masked", [-torch.inf, -1e30, -2e4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", [case for case in IN_PLACE if case[0] != "max_ent_loss"], ids=named)
def test_a_class_shut_out_is_as_if_it_were_not_there(
    case: tuple[str, dict[str, Any]], weighted: bool, masked: float
) -> None:
    # max_ent_loss is left out: it counts with the numbers of the classes.
    name, options = case
    logits, y = batch(classes=5)
    weight = torch.linspace(0.5, 2, 5, dtype=torch.float64) if weighted else None
    few = logits[:, :3].clone().requires_grad_()
    full = torch.cat([logits[:, :3], torch.full_like(logits[:, 3:], masked)], 1).requires_grad_()
    expected = loss_of(name)(few, y % 3, weight=None if weight is None else weight[:3], **options)
    value = loss_of(name)(full, y % 3, weight=weight, **options)
    assert value.item() == pytest.approx(expected.item(), abs=1e-12)
    expected.backward()
    value.backward()
    assert few.grad is not None
    assert torch.allclose(full.grad[:, :3], few.grad, atol=1e-12)
    assert not full.grad[:, 3:].any()


@pytest.mark.parametrize("case", ALL, ids=named)
def test_a_true_class_that_is_shut_out_has_a_finite_price(case: tuple[str, dict[str, Any]]) -> None:
    name, options = case
    logits, _ = batch(classes=4)
    logits[:, 3] = -torch.inf
    value = loss_of(name)(logits, torch.full((9,), 3), **options)
    assert value.isfinite()
    if name in ("label_smoothing_loss", "margin_label_smoothing_loss", "confidence_penalty_loss", "logit_norm_loss"):
        assert 8e3 < value.item() < 1.001e4  # a log-probability below -10,000 counts as -10,000


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("case", ALL, ids=named)
def test_what_is_no_number_stays_none(case: tuple[str, dict[str, Any]], dtype: torch.dtype) -> None:
    name, options = case
    rows = torch.tensor([[0.0, 0.0, 1.0], [1.0, 2.0, 3.0], [1.0, 0.0, 0.0]], dtype=dtype)
    for bad in (torch.nan, torch.inf):
        for y in ([0, 1, 1], [2, 2, 0], [1, 2, 0], [1, 0, 2]):  # right and wrong rows in many ways
            logits = rows.clone()
            logits[0, 1] = bad
            assert loss_of(name)(logits, torch.tensor(y), **options).isnan(), (bad, y)
    # In a row that is left out it does no harm.
    logits.requires_grad_()
    value = loss_of(name)(logits, torch.tensor([-100, 1, 1]), **options)
    value.backward()
    torch.testing.assert_close(value, loss_of(name)(rows[1:], torch.tensor([1, 1]), **options))
    assert logits.grad.isfinite().all()


@pytest.mark.parametrize("size", [1e12, 1e30])
@pytest.mark.parametrize("case", ALL, ids=named)
def test_huge_logits_are_sure(case: tuple[str, dict[str, Any]], size: float) -> None:
    name, options = case
    y = torch.tensor([0, 1, 1, 2])
    sure = torch.where(torch.arange(3) == y[:, None], 1.0, 0.0)
    expected = loss_of(name)(sure * 2e4, y, **options).item()
    logits = (sure * size).requires_grad_()
    value = loss_of(name)(logits, y, **options)
    value.backward()
    assert value.item() == pytest.approx(expected, abs=1e-6)
    assert logits.grad.isfinite().all()


def test_single_precision_does_not_lose_the_doubt_of_a_sure_row() -> None:
    logits = torch.tensor([[20.0, 0.0, 0.0], [30.0, 0.0, 5.0]])
    found = []
    for kind in (torch.float32, torch.float64):
        leaf = logits.to(kind).clone().requires_grad_()
        value = losses.avuc_loss(leaf, torch.tensor([1, 2]), threshold=0.3)  # all wrong, all certain
        value.backward()
        found.append((value.item(), leaf.grad))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-5)
    assert found[0][0] == pytest.approx(3.7463, abs=1e-4)
    torch.testing.assert_close(found[0][1], found[1][1].float(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("spread", ["all", "others"])
def test_label_smoothing_keeps_little_for_its_gradient(spread: Any) -> None:
    logits = torch.zeros(50, 400, requires_grad=True)
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        losses.label_smoothing_loss(logits, torch.zeros(50, dtype=torch.int64), spread=spread)
    assert sum(kept.values()) < 3 * 4 * logits.numel()  # log-probabilities, the logits, and a mask of bytes


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_ordinary_logits_have_the_bits_of_torch(dtype: torch.dtype) -> None:
    logits, y = batch(rows=50)
    logits = logits.to(dtype)
    shares = torch.softmax(batch(rows=50, seed=1)[0], 1).to(dtype)
    for target in (y, shares):
        for smoothing in (0.0, 0.1):
            theirs = F.cross_entropy(logits, target, label_smoothing=smoothing, reduction="none")
            ours = losses.label_smoothing_loss(logits, target, smoothing=smoothing, reduction="none")
            assert torch.equal(ours, theirs)
    plain = losses.confidence_penalty_loss(logits, y, beta=0, reduction="none")
    assert torch.equal(plain, F.cross_entropy(logits, y, reduction="none"))


@pytest.mark.parametrize("case", ALL, ids=named)
def test_under_autocast(case: tuple[str, dict[str, Any]]) -> None:
    name, options = case
    logits, y = batch(rows=30)
    plain = loss_of(name)(logits.float(), y, **options)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = loss_of(name)(logits.float(), y, **options)
    torch.testing.assert_close(value.float(), plain, rtol=1e-4, atol=1e-5)


# Rows.


@pytest.mark.parametrize("case", ALL, ids=named)
def test_ignored_rows_are_as_if_they_were_not_there(case: tuple[str, dict[str, Any]]) -> None:
    name, options = case
    logits, y = batch(rows=20)
    gone = torch.arange(20) % 3 == 0
    expected = loss_of(name)(logits[~gone], y[~gone], **options)
    torch.testing.assert_close(loss_of(name)(logits, y.masked_fill(gone, -100), **options), expected)
    marked = loss_of(name)(logits, y.masked_fill(gone, 7), ignore_index=7, **options)
    torch.testing.assert_close(marked, expected)
    # A row of a class without weight is not there either.
    weight = torch.tensor([0.0, 1.0, 1.0, 1.0], dtype=torch.float64)
    if name not in (
        "label_smoothing_loss",
        "kde_ece_loss",
    ):  # smoothing weighs every class; a bandwidth found by likelihood may jump
        left = loss_of(name)(logits[y > 0], y[y > 0], **options)
        torch.testing.assert_close(loss_of(name)(logits, y, weight=weight, **options), left)


@pytest.mark.parametrize("case", ALL, ids=named)
def test_images_of_rows(case: tuple[str, dict[str, Any]]) -> None:
    """(N, classes, height, width) is the same rows in another shape."""
    name, options = case
    logits, y = batch(rows=24)
    images = logits.reshape(2, 3, 4, 4).movedim(-1, 1)
    labels = y.reshape(2, 3, 4)
    torch.testing.assert_close(loss_of(name)(images, labels, **options), loss_of(name)(logits, y, **options))
    if name not in HARD_ONLY:
        shares = torch.softmax(logits.flip(0), 1)
        torch.testing.assert_close(
            loss_of(name)(images, shares.reshape(2, 3, 4, 4).movedim(-1, 1), **options),
            loss_of(name)(logits, shares, **options),
        )


@pytest.mark.parametrize("case", ALL, ids=named)
def test_reductions(case: tuple[str, dict[str, Any]]) -> None:
    name, options = case
    logits, y = batch(rows=12)
    y = torch.where(torch.arange(12) == 5, -100, y)
    weight = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
    mean, total = (loss_of(name)(logits, y, weight=weight, reduction=kind, **options) for kind in ("mean", "sum"))
    left = weight[y[y >= 0]].sum()
    torch.testing.assert_close(total, mean * left)
    if name in ONE_VALUE or (name == "ecd_loss" and options.get("form") != "signed"):
        with raises(ArgumentError, "reduction"):
            loss_of(name)(logits, y, reduction="none", **options)
        return
    each = loss_of(name)(
        logits.reshape(3, 4, 4).movedim(-1, 1), y.reshape(3, 4), weight=weight, reduction="none", **options
    )
    assert each.shape == (3, 4)
    assert each[1, 1].item() == 0  # the ignored row
    torch.testing.assert_close(each.sum(), total)


def test_every_loss_is_tried_and_says_what_matters() -> None:
    assert sorted(name for name in losses.__all__ if name.endswith("_loss") and name != "mixed_loss") == NAMES
    for name in NAMES:
        text = " ".join(loss_of(name).__doc__.split())
        for part in ("The cost is", "References", "Examples", "reduction"):
            assert part in text, (name, part)
        assert "help" in text, name
