"""Input and options that a loss cannot use."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from calibrant.errors import (
    ArgumentError,
    InputTypeError,
    LabelError,
    LensError,
    ProbabilityError,
    ShapeError,
    WeightError,
)
from calibrant.torch import losses
from tests.calling import raises

from .loss_cases import HARD_ONLY, NAMES, batch, loss_of

LOGITS, Y = batch()
# Arguments of a call, the class of the error, and the argument that it names.
CALLS: list[tuple[tuple[Any, Any], dict[str, Any], type[Exception], str]] = [
    ((Y, LOGITS), {}, InputTypeError, "input"),
    ((LOGITS[:, 0], Y), {}, ShapeError, "input"),
    ((LOGITS[:, :1], Y), {}, ShapeError, "input"),
    ((LOGITS.numpy(), Y), {}, InputTypeError, "input"),
    ((LOGITS, Y[:8]), {}, ShapeError, "target"),
    ((LOGITS, Y.double()), {}, ShapeError, "target"),
    ((LOGITS, F.one_hot(Y, 4)), {}, ShapeError, "target"),
    ((LOGITS, Y > 1), {}, InputTypeError, "target"),
    ((LOGITS, Y.tolist()), {}, InputTypeError, "target"),
    ((LOGITS, Y.index_fill(0, torch.tensor([3]), -1)), {}, LabelError, "target"),
    ((LOGITS, Y.index_fill(0, torch.tensor([3]), 4)), {}, LabelError, "target"),
    ((LOGITS, Y), {"reduction": "median"}, ArgumentError, "reduction"),
    ((LOGITS, Y), {"weight": torch.ones(3)}, WeightError, "weight"),
    ((LOGITS, Y), {"weight": torch.tensor([1.0, -1, 1, 1])}, WeightError, "weight"),
]


@pytest.mark.parametrize("name", NAMES)
def test_wrong_input(name: str) -> None:
    for arguments, options, kind, argument in CALLS:
        with raises(kind, argument) as caught:
            loss_of(name)(*arguments, **options)
        assert kind is not LabelError or caught.value.row == 3
    shares = torch.softmax(LOGITS, 1)
    shares[2] *= 1.1
    with raises(InputTypeError if name in HARD_ONLY else ProbabilityError, "target") as caught:
        loss_of(name)(LOGITS, torch.softmax(LOGITS, 1) if name in HARD_ONLY else shares)
    assert caught.value.row == (None if name in HARD_ONLY else 2)


def test_how_much_may_be_smoothed_depends_on_the_classes() -> None:
    logits, y = batch(3)
    smooth = partial(losses.label_smoothing_loss, smoothing=0.6, spread="others")
    expected = -(0.3 + 0.1 * F.one_hot(y, 3).double()) * F.log_softmax(logits, 1)
    assert smooth(logits, y).item() == pytest.approx(expected.sum(1).mean().item(), rel=1e-12)
    with raises(ArgumentError, "smoothing"):
        smooth(*batch(2))
    with raises(LensError, "lens"):
        losses.mmce_loss(*batch(4), lens="binary")


def test_other_kinds_of_numbers() -> None:
    for gamma in (np.int64(2), np.float32(2)):
        assert losses.focal_loss(LOGITS, Y, gamma=gamma).item() == losses.focal_loss(LOGITS, Y).item()
    ignored = losses.focal_loss(LOGITS, Y, ignore_index=np.int64(1))
    assert ignored.item() == losses.focal_loss(LOGITS, Y, ignore_index=1).item()
    weight = torch.full((4,), 1e300, dtype=torch.float64)  # finite in double precision only
    assert losses.focal_loss(LOGITS, Y, weight=weight).isfinite()
    with raises(WeightError, "weight"):
        losses.focal_loss(LOGITS.float(), Y, weight=weight)
    marked = losses.focal_loss(LOGITS, F.one_hot(Y, 4).double())
    assert marked.item() == pytest.approx(losses.focal_loss(LOGITS, Y).item())
    # -100, the class that is left out, is 156 in a byte.
    logits, labels = batch(200, rows=2)[0], torch.tensor([156, 3])
    value = losses.focal_loss(logits, labels.to(torch.uint8), reduction="none")
    assert torch.equal(value, losses.focal_loss(logits, labels, reduction="none"))


def test_mixing_reads_its_input() -> None:
    rows, y = torch.eye(3), torch.arange(3)
    for call, kind, argument in (
        (lambda: losses.mixup(rows, y[:2]), ShapeError, "input"),
        (lambda: losses.cutmix(rows, y), ShapeError, "input"),
        (lambda: losses.mixup(rows, y, alpha=0), ArgumentError, "alpha"),
    ):
        with raises(kind, argument):
            call()
