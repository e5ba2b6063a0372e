"""Mixed batches: shares, boxes, and where they are drawn from."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from calibrant.errors import ArgumentError
from calibrant.torch import losses
from tests.calling import raises

from .loss_cases import batch


def test_mixing_keeps_shares() -> None:
    images = torch.arange(24.0).reshape(4, 1, 2, 3)
    y = torch.tensor([0, 1, 2, 1])
    mixed = losses.mixup(images, y, alpha=1.0, rng=3)
    assert 0 < mixed.share < 1
    assert mixed.soft_target(3).sum(1).tolist() == pytest.approx([1, 1, 1, 1])
    logits, _ = batch(3, rows=4)
    soft = F.cross_entropy(logits, mixed.soft_target(3).double())
    assert losses.mixed_loss(logits, mixed).item() == pytest.approx(soft.item(), rel=1e-6)
    focal = losses.mixed_loss(logits, mixed, criterion=losses.focal_loss)
    assert focal.item() == pytest.approx(losses.focal_loss(logits, mixed.soft_target(3).double()).item(), rel=1e-6)


def test_mixup_adds_rows_by_their_shares() -> None:
    rows = torch.eye(6, dtype=torch.float64)
    y = torch.arange(6)
    for seed in range(5):
        mixed = losses.mixup(rows, y, alpha=0.4, rng=seed)
        expected = mixed.share * rows[mixed.target] + (1 - mixed.share) * rows[mixed.other]
        torch.testing.assert_close(mixed.input, expected)


def test_cutmix_pastes_one_box_of_the_share_it_names() -> None:
    size = 12
    images = torch.arange(5.0)[:, None, None, None].expand(5, 2, size, size)
    y = torch.arange(5)
    boxes = set()
    for seed in range(30):
        mixed = losses.cutmix(images, y, rng=seed)
        pasted = mixed.input != images
        for i in range(5):
            if mixed.other[i] == i:
                assert not pasted[i].any()
                continue
            assert set(mixed.input[i][pasted[i]].tolist()) <= {float(mixed.other[i])}
            assert pasted[i].float().mean().item() == pytest.approx(1 - mixed.share)
            where = pasted[i, 0].nonzero()
            if len(where):
                low, high = where.amin(0), where.amax(0)
                assert int((high - low + 1).prod()) == len(where)  # a full box
                boxes.add(tuple(low.tolist()))
    assert len(boxes) > 10
    assert images[1].unique().tolist() == [1.0]  # the batch given is left as it was


def test_mixing_is_drawn_from_what_is_given() -> None:
    rows, y = torch.eye(6), torch.arange(6)
    before = torch.random.get_rng_state()
    again = [losses.mixup(rows, y, rng=5) for _ in range(2)]
    assert again[0].share == again[1].share
    assert torch.equal(again[0].other, again[1].other)
    one, two = (losses.mixup(rows, y, rng=torch.Generator().manual_seed(1)) for _ in range(2))
    assert one.share == two.share
    assert losses.mixup(rows, y, rng=np.random.default_rng(5)).share == again[0].share
    assert torch.equal(before, torch.random.get_rng_state())
    assert "share" in repr(one)


def test_dense_targets_have_their_classes_on_axis_1() -> None:
    draw = torch.Generator().manual_seed(0)
    images, y = torch.randn(4, 1, 5, 6, generator=draw), torch.randint(3, (4, 5, 6), generator=draw)
    mixed = losses.mixup(images, y, rng=0)
    soft = mixed.soft_target(3)
    assert soft.shape == (4, 3, 5, 6)
    logits = torch.randn(4, 3, 5, 6, generator=draw)
    assert losses.focal_loss(logits, soft).item() == pytest.approx(
        losses.mixed_loss(logits, mixed, criterion=losses.focal_loss).item(), rel=1e-5
    )


def test_the_number_of_classes_must_fit_the_targets() -> None:
    mixed = losses.mixup(torch.eye(6), torch.arange(6), rng=0)
    with raises(ArgumentError, "classes"):
        mixed.soft_target(1)
    soft = losses.mixup(torch.eye(3), torch.eye(3), rng=0)
    torch.testing.assert_close(soft.soft_target(3), soft.input)
