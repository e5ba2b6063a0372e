"""What a loss says to input or options it cannot use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from calibrant.errors import (
    ArgumentError,
    CalibrantError,
    InputTypeError,
    LabelError,
    LensError,
    ProbabilityError,
    ShapeError,
    WeightError,
)
from calibrant.torch import losses

from .loss_cases import CLASSES, HARD_ONLY, batch, loss_of


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_wrong_input_is_told(name: str) -> None:
    logits, y = batch()
    loss = loss_of(name)
    with pytest.raises(InputTypeError, match="input: "):
        loss(y, logits)
    with pytest.raises(ShapeError, match="input: "):
        loss(logits[:, 0], y)
    with pytest.raises(ShapeError, match="input: "):
        loss(logits[:, :1], y)
    with pytest.raises(ShapeError, match="target: "):
        loss(logits, y[:8])
    with pytest.raises(ShapeError, match="target: "):
        loss(logits, y.double())
    wrong = y.clone()
    wrong[3] = 4
    with pytest.raises(LabelError, match="target: ") as caught:
        loss(logits, wrong)
    assert caught.value.row == 3
    wrong[3] = -1
    with pytest.raises(LabelError, match="target: "):
        loss(logits, wrong)
    with pytest.raises(InputTypeError, match="target: "):
        loss(logits, y > 1)
    with pytest.raises(InputTypeError, match=r"target: must be a tensor.*got list"):
        loss(logits, y.tolist())
    with pytest.raises(InputTypeError, match="input: "):
        loss(logits.numpy(), y)
    with pytest.raises(ArgumentError, match="reduction: "):
        loss(logits, y, reduction="median")
    with pytest.raises(WeightError, match="weight: "):
        loss(logits, y, weight=torch.ones(3))
    with pytest.raises(WeightError, match="weight: must be finite and not negative"):
        loss(logits, y, weight=torch.tensor([1.0, -1, 1, 1]))


@pytest.mark.parametrize("name", sorted(set(CLASSES) - HARD_ONLY))
def test_wrong_shares_are_told(name: str) -> None:
    logits, _ = batch()
    shares = torch.softmax(logits, 1)
    shares[2] *= 1.1
    with pytest.raises(ProbabilityError, match="target: ") as caught:
        loss_of(name)(logits, shares)
    assert caught.value.row == 2


@pytest.mark.parametrize("name", sorted(HARD_ONLY))
def test_soft_targets_are_refused_where_they_mean_nothing(name: str) -> None:
    logits, _ = batch()
    with pytest.raises(InputTypeError, match=f"target: must be class indices: {name} is not defined for soft targets"):
        loss_of(name)(logits, torch.softmax(logits, 1))


def test_a_position_in_an_image_is_told() -> None:
    logits = torch.zeros(2, 3, 4, 4)
    y = torch.zeros(2, 4, 4, dtype=torch.long)
    y[1, 2, 3] = 9
    with pytest.raises(LabelError, match=r"got 9 at position \[1, 2, 3\]"):
        losses.focal_loss(logits, y)


@pytest.mark.parametrize(
    ("name", "options", "kind", "message"),
    [
        (
            "label_smoothing_loss",
            {"smoothing": 1.5},
            ArgumentError,
            r"smoothing: must be a number of at least 0, at most 1; got 1\.5",
        ),
        ("label_smoothing_loss", {"smoothing": 1, "spread": "others"}, ArgumentError, "leave the true class"),
        ("label_smoothing_loss", {"spread": "some"}, ArgumentError, "spread: must be"),
        (
            "margin_label_smoothing_loss",
            {"margin": -1},
            ArgumentError,
            "margin: must be a number of at least 0; got -1",
        ),
        ("margin_label_smoothing_loss", {"over_classes": "max"}, ArgumentError, "over_classes"),
        ("focal_loss", {"gamma": -1}, ArgumentError, "gamma: must be a number of at least 0; got -1"),
        ("focal_loss", {"gamma": "2"}, ArgumentError, "gamma: must be a number"),
        ("focal_loss", {"gamma": True}, ArgumentError, "gamma: must be a number"),
        ("flsd_loss", {"cut": 2}, ArgumentError, "cut: must be a number of at least 0, at most 1; got 2"),
        ("dual_focal_loss", {"gamma": float("nan")}, ArgumentError, "gamma"),
        ("confidence_penalty_loss", {"beta": -0.1}, ArgumentError, "beta"),
        ("logit_norm_loss", {"temperature": 0}, ArgumentError, "temperature: must be a number above 0; got 0"),
        ("max_ent_loss", {"constraint": "median"}, ArgumentError, "constraint: must be"),
        ("max_ent_loss", {"class_share": [0.5, 0.6]}, ArgumentError, "class_share: must be"),
        ("max_ent_loss", {"class_share": 0.5}, ArgumentError, "class_share: must be"),
        ("mmce_loss", {"bandwidth": 0}, ArgumentError, "bandwidth: must be a number above 0; got 0"),
        ("mmce_loss", {"lens": "canonical"}, LensError, "lens: must be"),
        ("weighted_mmce_loss", {"normalisation": "both"}, ArgumentError, "normalisation"),
        ("dca_loss", {"lens": "rank:2"}, LensError, "lens: must be"),
        ("ecd_loss", {"form": "square"}, ArgumentError, "form: must be"),
        ("ecd_loss", {"multiclass": "top"}, ArgumentError, "multiclass: must be"),
        ("soft_binned_ece_loss", {"bins": 0}, ArgumentError, "bins: must be an integer of at least 1; got 0"),
        (
            "soft_binned_ece_loss",
            {"norm": float("inf")},
            ArgumentError,
            "norm: must be a number of at least 1; got inf",
        ),
        ("soft_binned_ece_loss", {"form": "hard"}, ArgumentError, "form: must be"),
        ("dece_loss", {"bin_temperature": -1}, ArgumentError, "bin_temperature"),
        ("sece_loss", {"bandwidth": "silverman"}, ArgumentError, "bandwidth"),
        ("kde_ece_loss", {"bandwidth": "scott"}, ArgumentError, "bandwidth"),
        ("kde_ece_loss", {"lens": "classwise"}, LensError, "lens: must be 'canonical'"),
        ("avuc_loss", {"threshold": -1}, ArgumentError, "threshold"),
    ],
)
def test_wrong_options_are_told(name: str, options: dict[str, Any], kind: type[CalibrantError], message: str) -> None:
    logits, y = batch(2)
    with pytest.raises(kind, match=message):
        loss_of(name)(logits, y, **options)
    with pytest.raises(kind, match=message):
        CLASSES[name](**options)(logits, y)


def test_how_much_may_be_smoothed_depends_on_the_classes() -> None:
    logits, y = batch(3)
    module = losses.LabelSmoothingLoss(smoothing=0.6, spread="others")
    shares = 0.3 + 0.1 * F.one_hot(y, 3).double()
    expected = -shares * F.log_softmax(logits, 1)
    assert module(logits, y).item() == pytest.approx(expected.sum(1).mean().item(), rel=1e-12)
    with pytest.raises(ArgumentError, match="smoothing: "):
        module(*batch(2))


def test_numbers_of_numpy_are_numbers() -> None:
    logits, y = batch()
    for gamma in (np.int64(2), np.float32(2)):
        assert losses.FocalLoss(gamma=gamma)(logits, y).item() == losses.focal_loss(logits, y).item()
    module = losses.FocalLoss(ignore_index=np.int64(1))
    assert module(logits, y).item() == losses.focal_loss(logits, y, ignore_index=1).item()


def test_modules_take_the_options_of_their_functions() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'gama'"):
        losses.FocalLoss(gama=2.0)


def test_weights_are_finite_in_the_precision_of_the_logits() -> None:
    logits, y = batch()
    weight = torch.full((4,), 1e300, dtype=torch.float64)
    assert losses.focal_loss(logits, y, weight=weight).isfinite()
    with pytest.raises(WeightError, match="weight: "):
        losses.focal_loss(logits.float(), y, weight=weight)


def test_classes_of_bytes_are_not_mistaken_for_those_left_out() -> None:
    logits, _ = batch(200, rows=2)
    y = torch.tensor([156, 3])  # -100 is 156 in a byte
    value = losses.focal_loss(logits, y.to(torch.uint8), reduction="none")
    assert torch.equal(value, losses.focal_loss(logits, y, reduction="none"))


def test_columns_of_0_and_1_are_shares() -> None:
    logits, y = batch()
    marked = F.one_hot(y, 4)
    with pytest.raises(ShapeError, match="target: "):
        losses.focal_loss(logits, marked)
    assert losses.focal_loss(logits, marked.double()).item() == pytest.approx(losses.focal_loss(logits, y).item())


def test_the_binary_lens_needs_two_classes() -> None:
    with pytest.raises(LensError, match="lens: "):
        losses.mmce_loss(*batch(4), lens="binary")


def test_mixing_tells_wrong_input() -> None:
    rows, y = torch.eye(3), torch.arange(3)
    with pytest.raises(ShapeError, match="input: "):
        losses.mixup(rows, y[:2])
    with pytest.raises(ShapeError, match="input: "):
        losses.cutmix(rows, y)
    with pytest.raises(ArgumentError, match="alpha: must be a number above 0; got 0"):
        losses.mixup(rows, y, alpha=0)
