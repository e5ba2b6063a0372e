"""Losses beside the metrics of the same name, closed forms, brute force over rows, and torch's own."""

import math
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import calibrant as cal
from calibrant.torch import losses
from calibrant.torch.losses.maximum_entropy import _multipliers

from .loss_cases import loss_of

Twin = tuple[str, dict[str, Any], str, dict[str, Any]]

# Loss and its options, metric and its options.
SAME: list[Twin] = [
    ("mmce_loss", {}, "mmce", {}),
    ("mmce_loss", {"bandwidth": 0.1}, "mmce", {"bandwidth": 0.1}),
    ("mmce_loss", {"lens": "top_label"}, "mmce", {"lens": "top_label"}),
    ("weighted_mmce_loss", {}, "mmce_w", {}),
    ("weighted_mmce_loss", {"normalisation": "code"}, "mmce_w", {"normalisation": "code"}),
    ("weighted_mmce_loss", {"lens": "top_label"}, "mmce_w", {"lens": "top_label"}),
    ("dca_loss", {}, "ece", {"bins": 1, "lens": "top_label"}),
    ("dca_loss", {"lens": "auto"}, "ece", {"bins": 1}),
    ("mdca_loss", {}, "mdca", {}),
    ("ecd_loss", {"form": "signed"}, "ecd", {}),
    ("ecd_loss", {"form": "signed", "multiclass": "true_vs_rest"}, "ecd", {"multiclass": "true_vs_rest"}),
    ("soft_binned_ece_loss", {}, "sbece", {}),
    ("soft_binned_ece_loss", {"norm": 1, "bins": 10, "temperature": 0.001}, "sbece", {"norm": 1, "bins": 10, "temperature": 0.001}),
    ("soft_binned_ece_loss", {"form": "label_binned"}, "sbece", {"form": "label_binned"}),
    ("soft_binned_ece_loss", {"lens": "top_label"}, "sbece", {"lens": "top_label"}),
    ("dece_loss", {}, "dece", {}),
    ("dece_loss", {"bins": 5, "rank_sharpness": 10, "bin_temperature": 0.1}, "dece", {"bins": 5, "rank_sharpness": 10, "bin_temperature": 0.1}),
    ("sece_loss", {}, "sece", {}),
    ("sece_loss", {"bandwidth": 0.2, "lens": "top_label"}, "sece", {"bandwidth": 0.2, "lens": "top_label"}),
    ("kde_ece_loss", {}, "dkde", {}),
    ("kde_ece_loss", {"bandwidth": 0.1}, "dkde", {"bandwidth": 0.1}),
    ("kde_ece_loss", {"bandwidth": 0.05, "norm": 2}, "dkde", {"bandwidth": 0.05, "norm": 2}),
    ("kde_ece_loss", {"lens": "auto"}, "bkde", {}),
    ("kde_ece_loss", {"lens": "top_label", "bandwidth": 0.1}, "bkde", {"lens": "top_label", "bandwidth": 0.1}),
]  # fmt: skip


def batch(classes: int, rows: int = 80, seed: int = 0, scale: float = 2.0) -> tuple[Tensor, Tensor]:
    draw = np.random.default_rng(seed)
    logits = draw.normal(size=(rows, classes)) * scale
    noise = logits + draw.gumbel(size=logits.shape) * 1.5
    return torch.from_numpy(logits), torch.from_numpy(noise.argmax(1))


def metric_of(name: str, logits: Tensor, y: Tensor, **options: Any) -> float:
    probs = torch.softmax(logits.double(), 1).numpy()
    return float(getattr(cal, name)(y.numpy(), probs, **options))


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("twin", SAME, ids=lambda twin: f"{twin[0]}-{'-'.join(map(str, twin[1].values()))}")
def test_a_loss_equals_its_metric(twin: Twin, classes: int) -> None:
    name, options, metric, metric_options = twin
    logits, y = batch(classes)
    expected = metric_of(metric, logits, y, **metric_options)
    assert abs(expected) > 1e-3  # something to compare
    assert loss_of(name)(logits, y, **options).item() == pytest.approx(expected, abs=1e-9)
    single = loss_of(name)(logits.float(), y, **options)
    assert single.dtype == torch.float32
    expected = metric_of(metric, logits.float(), y, **metric_options)
    assert single.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("twin", SAME, ids=lambda twin: f"{twin[0]}-{'-'.join(map(str, twin[1].values()))}")
def test_class_weights_are_sample_weights_of_the_rows(twin: Twin) -> None:
    name, options, metric, metric_options = twin
    logits, y = batch(3, seed=1)
    weight = torch.tensor([0.5, 2.0, 1.25], dtype=torch.float64)
    expected = metric_of(metric, logits, y, sample_weight=weight[y].numpy(), **metric_options)
    assert loss_of(name)(logits, y, weight=weight, **options).item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "options", "metric", "metric_options"),
    [twin for twin in SAME if twin[0] not in ("weighted_mmce_loss", "dece_loss")],
)
def test_soft_targets_equal_soft_labels(
    name: str, options: dict[str, Any], metric: str, metric_options: dict[str, Any]
) -> None:
    logits, y = batch(4, seed=2)
    shares = 0.7 * F.one_hot(y, 4).double() + 0.3 * torch.softmax(logits.flip(0), 1)
    probs = torch.softmax(logits, 1).numpy()
    expected = getattr(cal, metric)(cal.Predictions(shares.numpy(), probs, soft=True), **metric_options)
    assert loss_of(name)(logits, shares, **options).item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0, 3.0])
@pytest.mark.parametrize("classes", [2, 5])
def test_focal_loss_equals_its_metric(gamma: float, classes: int) -> None:
    logits, y = batch(classes)
    expected = metric_of("focal_loss", logits, y, gamma=gamma)
    assert losses.focal_loss(logits, y, gamma=gamma).item() == pytest.approx(expected, rel=1e-12)
    weight = torch.linspace(0.5, 2, classes, dtype=torch.float64)
    expected = metric_of("focal_loss", logits, y, gamma=gamma, class_weight=weight.numpy())
    summed = losses.focal_loss(logits, y, gamma=gamma, weight=weight, reduction="sum")
    assert summed.item() / len(y) == pytest.approx(expected, rel=1e-12)
    soft = 0.9 * F.one_hot(y, classes).double() + 0.1 / classes
    expected = cal.focal_loss(cal.Predictions(soft.numpy(), torch.softmax(logits, 1).numpy(), soft=True), gamma=gamma)
    assert losses.focal_loss(logits, soft, gamma=gamma).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_without_their_extra_they_are_the_cross_entropy_of_torch(reduction: str, soft: bool, weighted: bool) -> None:
    logits, y = batch(4, rows=12)
    target: Tensor = torch.softmax(logits.flip(0), 1) if soft else torch.where(torch.arange(12) % 5 == 0, -100, y)
    weight = torch.tensor([0.0, 1.0, 2.0, 3.0], dtype=torch.float64) if weighted else None
    common: dict[str, Any] = {"weight": weight, "reduction": reduction}
    expected = F.cross_entropy(logits, target, **common)
    found = {
        "label smoothing": losses.label_smoothing_loss(logits, target, smoothing=0, **common),
        "margin": losses.margin_label_smoothing_loss(logits, target, margin=100, **common),
        "focal": losses.focal_loss(logits, target, gamma=0, **common),
        "flsd": losses.flsd_loss(logits, target, gamma_low=0, gamma_high=0, **common),
        "penalty": losses.confidence_penalty_loss(logits, target, beta=0, **common),
        "logit norm": losses.logit_norm_loss(
            logits / logits.norm(dim=1, keepdim=True), target, temperature=1.0, **common
        ),
    }
    if not soft:
        found["dual focal"] = losses.dual_focal_loss(logits, target, gamma=0, **common)
    unit = F.cross_entropy(logits / logits.norm(dim=1, keepdim=True), target, **common)
    for name, value in found.items():
        torch.testing.assert_close(value, unit if name == "logit norm" else expected, msg=name)


P = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]], dtype=torch.float64)
Y = torch.tensor([0, 2])


def test_label_smoothing_by_hand() -> None:
    def by_hand(true: float, other: float) -> float:
        first = -(true * math.log(0.7) + other * math.log(0.2) + other * math.log(0.1))
        second = -(other * math.log(0.1) + other * math.log(0.6) + true * math.log(0.3))
        return (first + second) / 2

    both = [
        losses.label_smoothing_loss(P.log(), Y, smoothing=0.05, spread=spread).item() for spread in ("all", "others")
    ]
    assert both[0] == pytest.approx(by_hand(1 - 0.05 + 0.05 / 3, 0.05 / 3), rel=1e-12)
    assert both[0] == pytest.approx(0.8103583593, abs=1e-10)
    assert both[1] == pytest.approx(by_hand(0.95, 0.025), rel=1e-12)
    assert both[1] == pytest.approx(0.825375602, abs=1e-9)


def test_the_margin_takes_the_mean_or_the_sum_over_classes() -> None:
    logits = torch.tensor([[12.0, 0.0, -3.0], [1.0, 2.0, 3.0]], dtype=torch.float64)
    y = torch.tensor([0, 2])
    plain = F.cross_entropy(logits, y).item()
    beyond = (12 - 10) + (15 - 10)
    mean = losses.margin_label_smoothing_loss(logits, y).item()
    summed = losses.margin_label_smoothing_loss(logits, y, over_classes="sum").item()
    assert mean - plain == pytest.approx(0.1 * beyond / 3 / 2, rel=1e-9)
    assert summed - plain == pytest.approx(0.1 * beyond / 2, rel=1e-9)


def test_the_entropic_difference_leaves_underconfidence_alone() -> None:
    logits = torch.tensor([[1.0, 0.0]], dtype=torch.float64, requires_grad=True)
    loss = losses.ecd_loss(logits, torch.tensor([0]), form="over")
    loss.backward()
    assert loss.item() == 0
    assert logits.grad.abs().max().item() == 0
    assert losses.ecd_loss(logits, torch.tensor([1]), form="over").item() > 0
    assert losses.ecd_loss(logits, torch.tensor([0])).item() > 0  # the absolute form does not


def avuc_by_hand(logits: Tensor, y: Tensor, threshold: float | None) -> float:
    counts = dict.fromkeys([(r, c) for r in (True, False) for c in (True, False)], 0.0)
    probs = torch.softmax(logits, 1).tolist()
    entropy = [-sum(p * math.log(p) for p in row) for row in probs]
    right = [row.index(max(row)) == label for row, label in zip(probs, y.tolist(), strict=True)]
    if threshold is None:
        kinds = [[u for u, r in zip(entropy, right, strict=True) if r is kind] for kind in (True, False)]
        threshold = sum(sum(kind) / len(kind) for kind in kinds) / 2
    for row, u, r in zip(probs, entropy, right, strict=True):
        certain = u <= threshold
        counts[r, certain] += (max(row) if r else 1 - max(row)) * (1 - math.tanh(u) if certain else math.tanh(u))
    good, bad = counts[True, True] + counts[False, False], counts[True, False] + counts[False, True]
    return math.log(1 + bad / good)


@pytest.mark.parametrize("threshold", [None, 0.3, 1.0])
def test_accuracy_against_uncertainty_by_hand(threshold: float | None) -> None:
    logits, y = batch(4)
    assert losses.avuc_loss(logits, y, threshold=threshold).item() == pytest.approx(
        avuc_by_hand(logits, y, threshold), rel=1e-8
    )


def test_confidence_penalty_by_hand() -> None:
    entropy = -(P * P.log()).sum(1)
    plain = F.cross_entropy(P.log(), Y).item()
    found = losses.confidence_penalty_loss(P.log(), Y, beta=0.3).item()
    assert found == pytest.approx(plain - 0.3 * entropy.mean().item(), rel=1e-12)
    found = losses.confidence_penalty_loss(P.log(), Y, beta=0.3, threshold=0.85).item()
    short = sum(max(0.0, 0.85 - u) for u in entropy.tolist()) / 2
    assert short > 0
    assert found == pytest.approx(plain + 0.3 * short, rel=1e-12)


@pytest.mark.parametrize("classes", [2, 3, 10, 100])
@pytest.mark.parametrize("constraint", ["mean", "second_moment", "both"])
def test_multipliers_solve_their_equations(classes: int, constraint: str) -> None:
    draw = np.random.default_rng(classes)
    share = draw.dirichlet(np.full(classes, 5.0))
    found = _multipliers(tuple(share.tolist()), constraint).numpy()
    x = np.arange(classes)
    solved = 0
    for c, own in enumerate(found):
        mixed = (share + np.eye(classes)[c]) / 2
        features = {"mean": [x], "second_moment": [x**2], "both": [x, (x - mixed @ x) ** 2]}[constraint]
        if (own == 0).any():  # the root is negative, and counts as 0
            continue
        mass = np.exp(-1 - sum(one * feature for one, feature in zip(own, features, strict=True)))
        for feature in features:
            assert mass @ feature == pytest.approx(mixed @ feature, rel=1e-7)
        solved += 1
    assert solved >= (1 if constraint != "both" or classes >= 10 else 0)
    assert (found >= 0).all()


def test_maximum_entropy_by_hand() -> None:
    logits, y = batch(5, rows=6)
    x, probs = torch.arange(5.0).double(), torch.softmax(logits, 1)
    lam = _multipliers((0.2,) * 5, "mean")[:, 0]
    mean = probs @ x
    expected = losses.focal_loss(logits, y, reduction="none") + lam[y] * ((mean - 2).abs() + (mean - y).abs())
    torch.testing.assert_close(losses.max_ent_loss(logits, y, reduction="none"), expected)
    lam = _multipliers((0.2,) * 5, "second_moment")[:, 0]
    square = probs @ x**2
    expected = losses.focal_loss(logits, y, reduction="none") + lam[y] * ((square - 6).abs() + (square - y**2).abs())
    torch.testing.assert_close(losses.max_ent_loss(logits, y, constraint="second_moment", reduction="none"), expected)
    both = _multipliers((0.2,) * 5, "both")
    spread = square - mean**2
    expected = losses.focal_loss(logits, y, reduction="none") + (
        both[y, 0] * ((mean - 2).abs() + (mean - y).abs()) + both[y, 1] * ((spread - 2).abs() + spread.abs())
    )
    torch.testing.assert_close(losses.max_ent_loss(logits, y, constraint="both", reduction="none"), expected)
