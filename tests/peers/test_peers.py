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
from tests.calling import raises

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

    def test_default_bins_agree(self) -> None:
        y, p = binary()
        torch = peer("torch")
        measure = peer("torchmetrics.functional.classification", "binary_calibration_error")
        assert float(measure(torch.as_tensor(p), torch.as_tensor(y))) == pytest.approx(cal.ece(y, p, binning=LEFT))

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

    def test_tie_of_the_maximum_goes_to_the_lowest_class(self) -> None:
        for label in (0, 1):
            y = np.array([label, 2, 0])
            assert torch_multiclass(TIED, y, n_bins=10) == pytest.approx(cal.ece(y, TIED, bins=10), abs=1e-6)

    def test_one_score_above_one_turns_all_into_logits(self) -> None:
        p, y = np.array([0.2, 0.9, 1.0000001]), np.array([0, 1, 1])
        sigmoid = 1 / (1 + np.exp(-p))
        theirs = torch_binary(p, y, n_bins=10)
        assert theirs == pytest.approx(cal.ece(y, sigmoid, bins=10, binning=LEFT), abs=1e-6)
        assert theirs == pytest.approx(0.369275, abs=1e-6)
        with pytest.raises(cal.errors.ProbabilityError, match="clip=True"):
            cal.ece(y, p, bins=10)
        assert cal.ece(cal.Predictions(y, p, clip=True), bins=10) == pytest.approx(0.1)

    def test_logits_agree_where_they_are_called_so(self) -> None:
        rng = np.random.default_rng(5)
        logits, y = rng.normal(size=(300, 5)) * 2, rng.integers(0, 5, 300)
        ours = cal.ece(cal.Predictions(y, logits, input="logit"), binning=LEFT)
        assert torch_multiclass(logits, y) == pytest.approx(ours, abs=1e-6)
        with pytest.raises(cal.errors.ProbabilityError, match="logit"):
            cal.ece(y, logits)

    def test_rows_that_sum_to_anything_pass(self) -> None:
        p, y = np.array([[0.8, 0.1, 0.4], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8]]), np.array([0, 1, 2])
        assert math.isfinite(torch_multiclass(p, y))
        with raises(cal.errors.ProbabilityError, "y_prob"):
            cal.ece(y, p)

    def test_nan_gives_a_number(self) -> None:
        p, y = np.array([0.2, np.nan, 0.9]), np.array([0, 1, 1])
        assert math.isfinite(torch_binary(p, y))
        with raises(cal.errors.ProbabilityError, "y_prob"):
            cal.ece(y, p)

    @pytest.mark.parametrize("label", [-1, 3])
    def test_label_that_is_no_class_counts_as_wrong(self, label: int) -> None:
        p, y = np.array([[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8]]), np.array([0, 1, label])
        wrong = np.array([0, 1, 0])
        assert torch_multiclass(p, y) == pytest.approx(cal.ece(wrong, p, binning=LEFT), abs=1e-6)
        with pytest.raises(cal.errors.LabelError, match=f"got {label} in row 2"):
            cal.ece(y, p)

    def test_half_precision_is_lost(self) -> None:
        torch = peer("torch")
        rng = np.random.default_rng(6)
        p = rng.random(70_000).astype(np.float16)
        y = (rng.random(70_000) < p.astype(np.float64) ** 2).astype(np.int64)
        assert torch_binary(torch.from_numpy(p), torch.from_numpy(y)) == 0
        assert cal.ece(y, torch.from_numpy(p)) == cal.ece(y, p.astype(np.float64)) > 0.1

    def test_soft_labels_are_refused(self) -> None:
        p, y = np.array([0.3, 0.6]), np.array([0.2, 0.7])
        with pytest.raises(RuntimeError, match="target"):
            torch_binary(p, y)
        assert cal.ece(cal.Predictions(y, p, soft=True)) == pytest.approx(0.1)

    def test_one_class_among_the_labels_is_fine(self) -> None:
        p, y = np.array([0.2, 0.7, 0.9]), np.array([1, 1, 1])
        assert torch_binary(p, y, n_bins=10) == pytest.approx(cal.ece(y, p, bins=10))

    def test_no_row_gives_nan(self) -> None:
        assert math.isnan(torch_binary(np.zeros(0), np.zeros(0, np.int64)))
        with pytest.raises(cal.errors.ShapeError, match="empty"):
            cal.ece([], [])


class TestScikitLearn:
    @pytest.fixture
    def metrics(self) -> Any:
        return peer("sklearn.metrics")

    @pytest.fixture
    def curve(self) -> Any:
        return peer("sklearn.calibration", "calibration_curve")

    def test_brier_is_halved_for_two_classes_only(self, metrics: Any) -> None:
        y, p = binary()
        assert cal.brier(y, p) == pytest.approx(metrics.brier_score_loss(y, p), abs=1e-12)
        y, p = multiclass()
        assert cal.brier(y, p) == pytest.approx(metrics.brier_score_loss(y, p), abs=1e-12)

    @pytest.mark.parametrize(("half", "scale"), [(True, "half"), (False, "sum"), ("auto", "auto")])
    def test_brier_scales_agree(self, metrics: Any, half: Any, scale: str) -> None:
        for y, p in (binary(), multiclass()):
            theirs = metrics.brier_score_loss(y, p, scale_by_half=half)
            assert cal.brier(y, p, scale=scale) == pytest.approx(theirs, abs=1e-12)

    def test_log_loss_agrees(self, metrics: Any) -> None:
        for y, p in (binary(), multiclass()):
            assert cal.nll(y, p) == pytest.approx(metrics.log_loss(y, p), abs=1e-12)

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

    def test_row_sums_only_warn(self, metrics: Any) -> None:
        p = [[0.8, 0.3], [0.4, 0.6]]
        with pytest.warns(UserWarning, match="do not sum to one"):
            metrics.log_loss([0, 1], p)
        with raises(cal.errors.ProbabilityError, "y_prob"):
            cal.nll([0, 1], p)

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

    def test_curve_drops_empty_bins(self, curve: Any) -> None:
        y, p = [0, 1, 1], [0.05, 0.06, 0.95]
        rate, _ = curve(y, p, n_bins=10)
        ours = cal.calibration_curve(y, p, bins=10)
        assert len(rate) == 2
        assert len(ours) == 10
        assert np.isnan(ours.rate).sum() == 8

    def test_curve_has_five_bins_unless_told(self, curve: Any) -> None:
        y, p = binary()
        assert len(curve(y, p)[0]) == 5
        assert len(cal.calibration_curve(y, p)) == 15

    def test_quantile_bins_cut_elsewhere(self, curve: Any) -> None:
        y, p = binary(n=50)
        _, score = curve(y, p, n_bins=15, strategy="quantile")
        ours = cal.calibration_curve(y, p, binning="equal_mass").mean_score
        assert len(score) == len(ours) == 15
        assert np.abs(score - ours).max() == pytest.approx(0.0206, abs=1e-4)

    def test_curve_takes_no_weights(self, curve: Any) -> None:
        y, p = binary()
        with pytest.raises(TypeError, match="sample_weight"):
            curve(y, p, sample_weight=np.ones(500))
        assert len(cal.calibration_curve(y, p, sample_weight=np.ones(500))) == 15

    def test_nan_reaches_the_curve(self, curve: Any) -> None:
        _, score = curve([0, 1, 1], [0.2, np.nan, 0.9], n_bins=10)
        assert np.isnan(score).any()
        with raises(cal.errors.ProbabilityError, "y_prob"):
            cal.calibration_curve([0, 1, 1], [0.2, np.nan, 0.9])

    def test_scores_refuse_nan_and_logits(self, metrics: Any, curve: Any) -> None:
        with pytest.raises(ValueError, match="NaN"):
            metrics.log_loss([0, 1], [0.2, np.nan])
        with pytest.raises(ValueError, match="greater than 1"):
            metrics.log_loss([0, 1], [-1.0, 2.0])
        with pytest.raises(ValueError, match="outside"):
            curve([0, 1], [-1.0, 2.0])

    def test_labels_must_be_hard_classes(self, metrics: Any, curve: Any) -> None:
        with pytest.raises(ValueError, match="not belonging"):
            metrics.log_loss([0, 3], [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], labels=[0, 1, 2])
        with pytest.raises(ValueError, match="y_true takes value in"):
            curve([0.2, 0.7], [0.3, 0.6])
        assert cal.calibration_curve(
            cal.Predictions([0.2, 0.7], [0.3, 0.6], soft=True), bins=1, level=None
        ).rate == pytest.approx([0.45])

    def test_scores_zero_and_one_are_in_the_outer_bins(self, curve: Any) -> None:
        y, p = [1, 0, 1, 0], [0.0, 0.02, 0.95, 1.0]
        rate, score = curve(y, p, n_bins=10)
        ours = cal.calibration_curve(y, p, bins=10)
        assert rate == pytest.approx(ours.rate[[0, -1]])
        assert score == pytest.approx(ours.mean_score[[0, -1]])

    def test_two_columns_are_the_positive_class(self, metrics: Any, curve: Any) -> None:
        y = np.array([0, 1])
        assert metrics.brier_score_loss(y, TWO_COLUMNS) == pytest.approx(cal.brier(y, TWO_COLUMNS))
        with pytest.raises(ValueError, match="1d array"):
            curve(y, TWO_COLUMNS)

    def test_log_loss_of_one_class_needs_its_labels(self, metrics: Any) -> None:
        with pytest.raises(ValueError, match="only one label"):
            metrics.log_loss([1, 1], [0.3, 0.6])
        theirs = metrics.log_loss([1, 1], [0.3, 0.6], labels=[0, 1])
        assert cal.nll([1, 1], [0.3, 0.6]) == pytest.approx(theirs)

    def test_there_is_no_calibration_error(self, metrics: Any) -> None:
        assert not [name for name in dir(metrics) if "calibration" in name]


class TestNetcal:
    @pytest.fixture
    def ece(self) -> Any:
        return peer("netcal.metrics", "ECE")

    def test_agrees_on_the_left(self, ece: Any) -> None:
        for y, p in (binary(), multiclass()):
            assert ece(15).measure(p, y) == pytest.approx(cal.ece(y, p, binning=LEFT), abs=1e-12)
        assert ece(4).measure(ON_EDGES, ON_EDGES_LABELS) == pytest.approx(0.3)

    def test_score_one_is_in_the_last_bin(self, ece: Any) -> None:
        assert ece(10).measure(WITH_ONE, WITH_ONE_LABELS) == pytest.approx(0.475)

    def test_two_columns_are_binary(self, ece: Any) -> None:
        theirs = ece(10).measure(TWO_COLUMNS, TWO_COLUMNS_LABELS)
        assert theirs == pytest.approx(cal.ece(TWO_COLUMNS_LABELS, TWO_COLUMNS, bins=10))

    def test_ten_bins_unless_told(self, ece: Any) -> None:
        y, p = binary()
        assert ece().measure(p, y) == pytest.approx(cal.ece(y, p, bins=10, binning=LEFT), abs=1e-12)

    def test_nan_gives_a_number(self, ece: Any) -> None:
        assert math.isfinite(ece(10).measure(np.array([0.2, np.nan, 0.9]), np.array([0, 1, 1])))

    def test_classes_are_counted_by_the_labels_seen(self, ece: Any) -> None:
        y = np.array([1, 2, 1])
        with pytest.raises(RuntimeError, match="binary classification"):
            ece(10).measure(TIED, y)
        assert cal.ece(y, TIED, bins=10) > 0

    def test_ties_stop_equal_mass(self, ece: Any) -> None:
        y, p = binary()
        with pytest.raises(ValueError, match="smallest edge difference"):
            ece(15, equal_intervals=False).measure(p.round(1), y)
        assert cal.ece_em(y, p.round(1)) > 0


class TestRelplot:
    @pytest.fixture
    def ece(self) -> Any:
        return peer("relplot.metrics", "binnedECE")

    def test_agrees_on_the_left(self, ece: Any) -> None:
        y, p = binary()
        assert ece(p, y, 15) == pytest.approx(cal.ece(y, p, binning=LEFT), abs=1e-12)
        assert ece(ON_EDGES, ON_EDGES_LABELS, 4) == pytest.approx(0.3)
        assert ece(p, y) == pytest.approx(cal.ece(y, p, bins=10, binning=LEFT), abs=1e-12)

    def test_score_one_has_a_hidden_bin(self, ece: Any) -> None:
        assert ece(WITH_ONE, WITH_ONE_LABELS, 10) == pytest.approx(0.525)


class TestUncertaintyCalibration:
    @pytest.fixture
    def calibration(self) -> Any:
        return peer("calibration")

    def test_agrees_on_the_right(self, calibration: Any) -> None:
        for y, p in (binary(), multiclass()):
            assert calibration.get_ece(p, y) == pytest.approx(cal.ece(y, p), abs=1e-12)
        assert calibration.get_ece(ON_EDGES, ON_EDGES_LABELS, num_bins=4) == pytest.approx(0.45)
        assert calibration.get_ece(WITH_ONE, WITH_ONE_LABELS, num_bins=10) == pytest.approx(0.475)

    def test_classes_are_averaged(self, calibration: Any) -> None:
        y, p = multiclass()
        assert calibration.get_ece(p, y, mode="marginal") == pytest.approx(cal.cwce(y, p), abs=1e-12)

    def test_two_columns_are_top_label(self, calibration: Any) -> None:
        theirs = calibration.get_ece(TWO_COLUMNS, TWO_COLUMNS_LABELS, num_bins=10)
        assert theirs == pytest.approx(cal.ece(TWO_COLUMNS_LABELS, TWO_COLUMNS, bins=10, lens="top_label"))

    def test_boolean_labels_are_refused(self, calibration: Any) -> None:
        with pytest.raises(ValueError, match="integer"):
            calibration.get_ece(WITH_ONE, WITH_ONE_LABELS.astype(bool))
        assert cal.ece(WITH_ONE_LABELS.astype(bool), WITH_ONE, bins=10) == pytest.approx(0.475)


class TestProbcal:
    @pytest.fixture
    def ece(self) -> Any:
        return peer("probcal.metrics", "ece")

    def test_agrees_on_the_left(self, ece: Any) -> None:
        y, p = binary()
        assert ece(y, p, strategy="width") == pytest.approx(cal.ece(y, p, binning=LEFT), abs=1e-11)
        assert ece(ON_EDGES_LABELS, ON_EDGES, n_bins=4, strategy="width") == pytest.approx(0.3)
        assert ece(WITH_ONE_LABELS, WITH_ONE, n_bins=10, strategy="width") == pytest.approx(0.475)

    def test_equal_mass_unless_told(self, ece: Any) -> None:
        y, p = binary(n=450)
        assert ece(y, p) == pytest.approx(cal.ece_em(y, p), abs=1e-3)
        assert ece(y, p) != pytest.approx(cal.ece(y, p), abs=1e-3)

    def test_one_class_is_refused(self, ece: Any) -> None:
        with pytest.raises(ValueError, match="both classes"):
            ece([1, 1, 1], [0.2, 0.7, 0.9])
        assert cal.ece([1, 1, 1], [0.2, 0.7, 0.9]) == pytest.approx(0.4)
