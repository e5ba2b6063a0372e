"""What docs/conventions.md says of other packages: calibrant equals them where conventions agree, and differs where it says so.

A difference that has vanished fails as loudly as one that is new. Those that are not in the development environment are
skipped by name; the environment that `make bench` makes has them all.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant import EqualWidth

LEFT = EqualWidth(closed="left")

# Scores on the edges of four bins, which all packages hold exactly.
ON_EDGES = np.array([0.25, 0.5, 0.75, 0.3])
ON_EDGES_LABELS = np.array([1, 0, 1, 0])
WITH_ONE = np.array([0.95, 1.0])
WITH_ONE_LABELS = np.array([1, 0])
# Two columns whose largest entries share a bin while those of the second column do not.
TWO_COLUMNS = np.array([[0.95, 0.05], [0.05, 0.95]])
TWO_COLUMNS_LABELS = np.array([1, 1])
TIED = np.array([[0.4, 0.4, 0.2], [0.1, 0.1, 0.8], [0.9, 0.05, 0.05]])


def peer(name: str, attribute: str = "") -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reason = f"PEER NOT INSTALLED: {name}; `make bench` makes an environment that has it"
        module = pytest.importorskip(name, reason=reason, exc_type=ImportError)
    return getattr(module, attribute) if attribute else module


def binary(n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    p = rng.random(n)
    return (rng.random(n) < p**1.3).astype(np.int64), p


def multiclass(n: int = 400, k: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.ones(k) / 2, n)
    return (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, k - 1), p


def torch_binary(p: Any, y: Any, **options: Any) -> float:
    torch = peer("torch")
    measure = peer("torchmetrics.functional.classification", "binary_calibration_error")
    return float(measure(torch.as_tensor(p), torch.as_tensor(y), **{"n_bins": 15, **options}))


def torch_multiclass(p: Any, y: Any, **options: Any) -> float:
    torch = peer("torch")
    measure = peer("torchmetrics.functional.classification", "multiclass_calibration_error")
    given = {"num_classes": np.shape(p)[1], "n_bins": 15, **options}
    return float(measure(torch.as_tensor(p), torch.as_tensor(y), **given))


NORMS = {"l1": "ece", "l2": "rmsce", "max": "mce"}


class TestTorchmetrics:
    @pytest.mark.parametrize("norm", NORMS)
    @pytest.mark.parametrize("bins", [1, 10, 15])
    def test_binary_agrees(self, norm: str, bins: int) -> None:
        y, p = binary()
        ours = getattr(cal, NORMS[norm])(y, p, bins=bins, binning=LEFT)
        assert torch_binary(p, y, norm=norm, n_bins=bins) == pytest.approx(ours, abs=1e-12)

    @pytest.mark.parametrize("norm", NORMS)
    def test_multiclass_agrees(self, norm: str) -> None:
        y, p = multiclass()
        ours = getattr(cal, NORMS[norm])(y, p, binning=LEFT)
        assert torch_multiclass(p, y, norm=norm) == pytest.approx(ours, abs=1e-6)

    def test_bins_are_closed_on_the_left(self) -> None:
        theirs = torch_binary(ON_EDGES, ON_EDGES_LABELS, n_bins=4)
        assert theirs == pytest.approx(cal.ece(ON_EDGES_LABELS, ON_EDGES, bins=4, binning=LEFT))
        assert theirs == pytest.approx(0.3)
        assert cal.ece(ON_EDGES_LABELS, ON_EDGES, bins=4) == pytest.approx(0.45)

    def test_score_one_has_a_hidden_bin(self) -> None:
        assert torch_binary(WITH_ONE, WITH_ONE_LABELS, n_bins=10) == pytest.approx(0.525)
        for binning in ("equal_width", LEFT):
            assert cal.ece(WITH_ONE_LABELS, WITH_ONE, bins=10, binning=binning) == pytest.approx(0.475)

    def test_two_columns_are_top_label(self) -> None:
        theirs = torch_multiclass(TWO_COLUMNS, TWO_COLUMNS_LABELS, n_bins=10)
        assert theirs == pytest.approx(cal.ece(TWO_COLUMNS_LABELS, TWO_COLUMNS, bins=10, lens="top_label"), abs=1e-6)
        assert theirs == pytest.approx(0.45, abs=1e-6)
        assert cal.ece(TWO_COLUMNS_LABELS, TWO_COLUMNS, bins=10) == pytest.approx(0.5)

    def test_one_score_above_one_turns_all_into_logits(self) -> None:
        p, y = np.array([0.2, 0.9, 1.0000001]), np.array([0, 1, 1])
        sigmoid = 1 / (1 + np.exp(-p))
        theirs = torch_binary(p, y, n_bins=10)
        assert theirs == pytest.approx(cal.ece(y, sigmoid, bins=10, binning=LEFT), abs=1e-6)
        assert theirs == pytest.approx(0.369275, abs=1e-6)
        with pytest.raises(cal.errors.ProbabilityError, match="clip=True"):
            cal.ece(y, p, bins=10)
        assert cal.ece(cal.Predictions(y, p, clip=True), bins=10) == pytest.approx(0.1)

    def test_half_precision_is_lost(self) -> None:
        torch = peer("torch")
        rng = np.random.default_rng(6)
        p = rng.random(70_000).astype(np.float16)
        y = (rng.random(70_000) < p.astype(np.float64) ** 2).astype(np.int64)
        assert torch_binary(torch.from_numpy(p), torch.from_numpy(y)) == 0
        assert cal.ece(y, torch.from_numpy(p)) == cal.ece(y, p.astype(np.float64)) > 0.1


class TestScikitLearn:
    @pytest.fixture
    def metrics(self) -> Any:
        return peer("sklearn.metrics")

    @pytest.fixture
    def curve(self) -> Any:
        return peer("sklearn.calibration", "calibration_curve")

    @pytest.mark.parametrize(("half", "scale"), [(True, "half"), (False, "sum"), ("auto", "auto")])
    def test_brier_scales_agree(self, metrics: Any, half: Any, scale: str) -> None:
        for y, p in (binary(), multiclass()):
            theirs = metrics.brier_score_loss(y, p, scale_by_half=half)
            assert cal.brier(y, p, scale=scale) == pytest.approx(theirs, abs=1e-12)

    def test_weights_agree(self, metrics: Any) -> None:
        w = np.random.default_rng(7).random(500)
        y, p = binary()
        assert cal.nll(y, p, sample_weight=w) == pytest.approx(metrics.log_loss(y, p, sample_weight=w), abs=1e-12)
        theirs = metrics.brier_score_loss(y, p, sample_weight=w)
        assert cal.brier(y, p, sample_weight=w) == pytest.approx(theirs, abs=1e-12)

    def test_log_loss_of_an_impossible_label_is_bounded(self, metrics: Any) -> None:
        y, p = [0, 1], [0.5, 0.0]
        smallest = float(np.finfo(np.float64).eps)
        assert cal.nll(y, p) == math.inf
        assert metrics.log_loss(y, p) == pytest.approx(cal.nll(y, p, floor=smallest))

    def test_curve_is_closed_on_the_right(self, curve: Any) -> None:
        rate, score = curve(ON_EDGES_LABELS, ON_EDGES, n_bins=4)
        ours = cal.calibration_curve(ON_EDGES_LABELS, ON_EDGES, bins=4)
        kept = ~ours.table.empty
        assert rate == pytest.approx(ours.rate[kept])
        assert score == pytest.approx(ours.mean_score[kept])
        assert rate.tolist() == [1, 0, 1]

    def test_curve_agrees(self, curve: Any) -> None:
        y, p = binary()
        rate, score = curve(y, p, n_bins=15)
        ours = cal.calibration_curve(y, p)
        assert rate == pytest.approx(ours.rate, abs=1e-12)
        assert score == pytest.approx(ours.mean_score, abs=1e-12)

    def test_quantile_bins_cut_elsewhere(self, curve: Any) -> None:
        y, p = binary(n=50)
        _, score = curve(y, p, n_bins=15, strategy="quantile")
        ours = cal.calibration_curve(y, p, binning="equal_mass").mean_score
        assert len(score) == len(ours) == 15
        assert np.abs(score - ours).max() == pytest.approx(0.0206, abs=1e-4)
