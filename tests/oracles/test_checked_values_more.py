"""Values of tiny data sets for the metrics beside the first ones, to all the digits they were written with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from tests.calling import call

from .test_checked_values import DATA, EM, INF, M3, T1, T2, T3, readable

EW = "equal_width"
GROUPS = [0, 0, 1, 1, 0, 0, 1, 1, 0, 1]
OWN_BINS = [0, 0.25, 0.6, 0.85, 1]  # every row of T1 in a bin of its own

# Metric, data, options, value as it was written (its digits are the tolerance).
VALUES: list[tuple[str, str, dict[str, Any], str]] = [
    ("focal_loss", "T1", {}, "0.0852244040"),
    ("focal_loss", "T2", {}, "0.1393979497"),
    ("focal_loss", "M3", {}, "0.1244402090"),
    ("focal_loss", "T1", {"gamma": 0}, "0.3375388286"),
    ("focal_loss", "M3", {"gamma": 0}, "0.5631988571"),
    ("global_squared_bias", "T1", {}, "0.04"),
    ("global_squared_bias", "T2", {}, "0.01"),
    ("global_squared_bias", "M3", {}, "0.0279875"),
    ("global_squared_bias", "M3", {"scale": "half"}, "0.01399375"),
    ("expected_observed_ratio", "T1", {}, "0.7333333333"),
    ("expected_observed_ratio", "T2", {}, "0.8333333333"),
    ("expected_observed_ratio", "M3", {}, "0.7933333333"),
    ("expected_observed_ratio", "M3", {"lens": "class:0"}, "0.735"),
    ("expected_observed_ratio", "M3", {"lens": "class:1"}, "1.38"),
    ("expected_observed_ratio", "M3", {"lens": "class:2"}, "1.15"),
    ("dawid_sebastiani", "T1", {}, "-1.5258417036"),
    ("dawid_sebastiani", "T2", {}, "-1.2002276118"),
    ("dawid_sebastiani", "M3", {}, "-1.3171434731"),
    ("nses", "T1", {}, "0.4930555556"),
    ("nses", "T2", {}, "0.7312905189"),
    ("nses", "M3", {}, "0.4660815764"),
    ("lp_error", "T1", {}, "0.25"),
    ("lp_error", "T1", {"norm": 2}, "0.3240370349"),
    ("lp_error", "T1", {"norm": 3}, "0.3837215139"),
    ("lp_error", "T1", {"norm": INF}, "0.6"),
    ("lp_error", "T2", {}, "0.32"),
    ("lp_error", "T2", {"norm": 3}, "0.4419131570"),
    ("lp_error", "T2", {"norm": INF}, "0.75"),
    ("lp_error", "M3", {}, "0.28"),
    ("lp_error", "M3", {"norm": 2}, "0.3184336666"),
    ("lp_error", "M3", {"norm": INF}, "0.58"),
    ("l1_eps", "T1", {}, "0.2786814408"),
    ("l1_eps", "T2", {}, "0.3456102441"),
    ("l1_eps", "M3", {}, "0.3022427725"),
    ("l1_eps", "T1", {"eps": 0}, "0.25"),
    ("huber", "T1", {}, "0.05125"),
    ("huber", "T2", {}, "0.072875"),
    ("huber", "M3", {}, "0.0504333333"),
    ("huber", "T1", {"delta": 0.3}, "0.04125"),
    ("huber", "T2", {"delta": 0.3}, "0.059625"),
    ("huber", "T1", {"delta": 0.3, "form": "isotone"}, "0.1375"),  # eps = .15
    ("huber", "T2", {"delta": 0.3, "form": "isotone"}, "0.19875"),
    ("spiegelhalter_z", "T1", {}, "-0.3746343246"),
    ("spiegelhalter_z", "T2", {}, "-0.2566635012"),
    ("spiegelhalter_z", "M3", {}, "-1.2054256065"),
    ("spherical", "T1", {}, "-0.8781525414"),
    ("spherical", "T2", {}, "-0.8259131621"),
    ("spherical", "M3", {}, "-0.8475619126"),
    ("ranked_probability", "M3", {}, "0.090175"),
    ("ranked_probability", "T1", {}, "0.105"),
    ("calibration_in_the_large", "T1", {}, "-0.2"),
    ("calibration_in_the_large", "T2", {}, "-0.1"),
    ("calibration_in_the_large", "T1", {"form": "logit"}, "1.490421192"),
    ("calibration_in_the_large", "T2", {"form": "logit"}, "0.6040498931"),
    ("ece_ea", "T1", {"bins": 2}, "0.2"),
    ("ece_ea", "T2", {"bins": 4}, "0.17"),
    ("tace", "M3", {"bins": 2, "threshold": 0}, "0.155"),
    ("tace", "M3", {"bins": 2, "threshold": 0.12}, "0.2425"),
    ("topk_ece", "M3", {"bins": 2, "k": 1}, "0.395"),
    ("topk_ece", "M3", {"bins": 2, "k": 2}, "0.2125"),
    ("topk_ece", "M3", {"bins": 2, "k": 3}, "0.1833333333"),
    ("topk_ece", "M3", {"bins": 2}, "0.1833333333"),
    ("topk_ece", "M3", {"bins": 2, "k": 1, "reading": "cumulative"}, "0.395"),
    ("topk_ece", "M3", {"bins": 2, "k": 2, "reading": "cumulative"}, "0.125"),
    ("topk_ece", "M3", {"bins": 2, "k": 3, "reading": "cumulative"}, "0.0000000000"),
    ("multiclass_ce", "M3", {"bins": 1}, "0.1325"),
    ("multiclass_ce", "M3", {"bins": 2}, "0.42"),
    ("rbece", "T2", {"bins": 5}, "0.14"),
    ("rbece", "T1", {"bins": 2}, "0.2"),
    ("ece_sweep", "T1", {}, "0.2"),
    ("ece_sweep", "T1", {"norm": 2}, "0.2091650066"),
    ("ece_sweep", "T2", {}, "0.14"),
    ("ece_sweep", "T2", {"norm": 2}, "0.1732050808"),
    ("ece_sweep", "T3", {}, "0.25"),
    ("ece_sweep", "T3", {"norm": 2}, "0.2885713733"),
    ("dce", "T1", {"bins": 2}, "0.1"),
    ("dce", "T1", {"bins": 2, "variant": "pointwise"}, "0.3"),
    ("dce", "T1", {"bins": 2, "bound": True}, "0.2"),
    ("dce", "T1", {"bins": 2, "aggregate": "mean"}, "0.2"),
    ("dce", "T1", {"bins": OWN_BINS}, "0.25"),
    ("dce", "T2", {"bins": 5}, "0.13"),
    ("dce", "T2", {"bins": 5, "variant": "pointwise"}, "0.29"),
    ("dce", "T2", {"bins": 5, "bound": True}, "0.18"),
    ("smbs", "T1", {"bins": 2}, "0.1675"),
    ("smbs", "T2", {"bins": 5}, "0.13"),
    ("smbs", "T1", {"bins": OWN_BINS}, "0.105"),
    ("ece_lb", "T2", {"bins": 2}, "0.15"),
    ("ece_lb", "T2", {"bins": 5}, "0.15"),
    ("ece_lb", "T2", {"bins": 5, "norm": 2}, "0.1802775638"),
    ("ece_lb", "T1", {"bins": 2}, "0.2"),
    ("ece_em", "T2", {"bins": 5}, "0.14"),
    ("rice", "T1", {"width": 1}, "0.215"),
    ("rice", "T1", {"width": 0.5}, "0.23"),
    ("rice", "T1", {"width": 0.25}, "0.25"),
    ("rice", "T2", {"width": 1}, "0.105"),
    ("rice", "T2", {"width": 0.5}, "0.11"),
    ("rice", "T2", {"width": 0.25}, "0.142"),
    ("rice", "T2", {"width": 0.125}, "0.25"),
    ("sice", "T1", {}, "0.251953125"),
    ("sice", "T2", {}, "0.321953125"),
    ("cce", "T1", {}, "0.225"),
    ("cce", "T2", {}, "0.12"),
    ("wsmcs", "M3", {}, "-0.5033333333"),
    ("dici", "T2", {"bins": 5}, "-0.1640211640"),
    ("dici", "T1", {"bins": 2}, "-0.2549019608"),
    ("sbece", "T2", {"bins": 5, "norm": 1}, "0.1187094596"),
    ("sbece", "T2", {"bins": 5}, "0.1489129215"),
    ("sbece", "T2", {"bins": 5, "norm": 1, "temperature": 1e-6}, "0.14"),
    ("sbece", "T2", {"bins": 5, "temperature": 1e-6}, "0.1732050808"),
    ("sbece", "M3", {"bins": 2, "norm": 1}, "0.3648853534"),
    ("sbece", "M3", {"bins": 2}, "0.3694230267"),
    ("dece", "M3", {"bins": 2}, "0.3644145696"),
    ("dece", "M3", {"bins": 2, "rank_sharpness": 1e4, "bin_temperature": 1e-6}, "0.395"),
    ("dece", "T2", {"bins": 5, "lens": "binary"}, "0.1387953053"),
    ("lse_ece", "M3", {"bins": 2}, "0.3950061892"),
    ("lse_ece", "M3", {"bins": 2, "temperature": 1e-4}, "0.395"),
    ("fce", "T1", {"bins": 2}, "0.2105263158"),
    ("fce", "T2", {"bins": 5}, "0.14"),
    ("calbin", "T1", {"size": 2, "lens": "binary"}, "0.2666666667"),
    ("calbin", "T1", {"size": 2, "inner": "abs_mean", "lens": "binary"}, "0.2666666667"),
    ("calbin", "T2", {"size": 2, "lens": "binary"}, "0.1611111111"),
    ("calbin", "T2", {"size": 2, "inner": "abs_mean", "lens": "binary"}, "0.1555555556"),
    ("calbin", "T2", {"size": 10, "lens": "binary"}, "0.26"),
    ("calbin", "T2", {"size": 10, "inner": "abs_mean", "lens": "binary"}, "0.1"),
    ("calbin", "T2", {"size": 1, "lens": "binary"}, "0.32"),
    ("ece_knn", "T1", {"neighbours": 1}, "0.2"),
    ("ece_knn", "T2", {"neighbours": 2}, "0.1566666667"),
    ("ece_knn", "T2", {"neighbours": 4}, "0.1"),
    ("ece_knn", "T2", {"neighbours": 0}, "0.32"),
    ("ece_knn", "T2", {"neighbours": 9}, "0.1"),
    ("ece_knn", "T2", {"neighbours": 3}, "0.105"),
    ("ce2_db", "T1", {"bins": 2}, "-0.0825"),
    ("ce2_db", "T2", {"bins": 5}, "-0.07"),
    ("drmsce", "T2", {"bins": 5}, "0.0000000000"),
    ("drmsce", "T3", {"bins": 4}, "0.2795084972"),
    ("drmsce", "T3", {"bins": 20}, "0.2883140649"),
    ("drmsce", "T3", {"bins": "search_pure"}, "0.2883140649"),
    ("drmsce_bcs", "T3", {}, "0.2795084972"),
    ("drmsce", "T3", {"bins": "search"}, "0.2795084972"),
    ("ece_db", "T1", {"bins": 2}, "0.1500896929"),
    ("ece_db", "T2", {"bins": 5}, "0.0583682825"),
    ("ece_db", "T2", {"bins": 2}, "0.0187404033"),
    ("piece", "T2", {"proximity": GROUPS, "proximity_bins": 2, "bins": 2}, "0.18"),
    ("pce", "T2", {"groups": [0] * 5 + [1] * 5, "partitions": [GROUPS], "bins": None}, "0.105"),
    ("pce", "T2", {"groups": GROUPS, "bins": None}, "0.11"),
    ("fece", "T2", {"groups": GROUPS}, "0.11"),
    ("fece", "T2", {"groups": GROUPS, "relative": True}, "0.14375"),
    ("vece", "T2", {"features": GROUPS}, "0.11"),
    ("vece", "T2", {"features": [1] * 10}, "0.1"),
    ("mvce", "T2", {"features": GROUPS}, "0.11"),
    ("mvce", "T2", {"features": [1] * 10, "views": 3, "rng": 1}, "0.1"),
    ("hosmer_lemeshow", "T2", {"bins": 5}, "1.6825396825"),
    ("hosmer_lemeshow", "T1", {"bins": 2}, "1.0196078431"),
    ("hosmer_lemeshow", "T1", {"bins": 4}, "1.9722222222"),
    ("t_cal", "T1", {"bins": 2}, "-0.01"),
    ("t_cal", "T2", {"bins": 5}, "-0.04625"),
    ("t_cal", "T2", {"bins": 2}, "-0.018"),
    ("t_cal", "T1", {}, "0.01375"),
    ("t_cal", "T2", {}, "-0.018"),
    ("t_cal", "T2", {"bins": 5, "unbiased": True}, "-0.0925"),
    ("l2ce_interval", "T2", {"bins": 5}, "-0.04625"),
    ("tce", "T2", {"binning": EM, "bins": 2}, "10.0"),
]


@pytest.mark.parametrize(("metric", "data", "options", "written"), VALUES, ids=[readable(entry) for entry in VALUES])
def test_checked_value(metric: str, data: str, options: dict[str, Any], written: str) -> None:
    # A value written with fewer than nine decimals is exact; more were rounded.
    decimals = len(written.partition(".")[2])
    tolerance = 0.5 * 10.0**-decimals if decimals >= 9 else 1e-12
    assert call(getattr(cal, metric), *DATA[data], **options) == pytest.approx(float(written), abs=tolerance)


# How many bins the searches take.


@pytest.mark.parametrize(
    ("data", "how", "count"),
    [
        (T1, "sweep", 3),
        (T2, "sweep", 5),
        (T3, "sweep", 39),
        (T3, "search", 4),
        (T3, "search_pure", 20),
        (T2, "search", 1),
        (T2, "search_pure", 5),
        (T1, "search_pure", 2),
    ],
)
def test_number_of_bins(data: Any, how: Any, count: int) -> None:
    found = cal.calibration_curve(*data, bins=how, binning=EM)
    assert found.weight.tolist() == cal.calibration_curve(*data, bins=count, binning=EM).weight.tolist()
    assert len(found) == count


def test_search_needs_ten_rows() -> None:
    with pytest.raises(cal.errors.UndefinedMetricError):
        cal.drmsce_bcs(*T1)


@pytest.mark.parametrize(("data", "bins", "edges"), [(T1, 2, [0, 0.6, 1]), (T2, 4, [0, 0.3, 0.6, 0.9, 1])])
def test_edges_of_equal_area(data: Any, bins: int, edges: list[float]) -> None:
    found = cal.calibration_curve(*data, bins=bins, binning="equal_area")
    assert found.table.edges.tolist() == pytest.approx(edges, abs=1e-12)
    assert cal.ece_ea(*data, bins=bins) == pytest.approx(cal.ece(*data, bins=edges), abs=1e-12)


# Parts of a value.


def test_parts_of_wsmcs() -> None:
    labels, rows = np.array(M3[0]), np.array(M3[1])
    parts = [cal.esce(labels[labels == k], rows[labels == k], lens="top_label") for k in range(3)]
    assert parts == pytest.approx([0.09, -0.45, -0.35], abs=1e-12)


def test_relative_gaps_of_dici() -> None:
    table = cal.calibration_curve(*T2, bins=5, binning=EM)
    relative = np.abs(table.mean_score - table.rate) / np.maximum(table.mean_score, 1 - table.mean_score)
    assert (table.weight * relative).sum() / 10 == pytest.approx(0.1873015873, abs=0.5e-10)


def test_row_sums_of_fuzzy_memberships() -> None:
    # The rows at .1 and .9 count .9, since their bins' slopes reach beyond 0 and 1; the row at .4 counts .9 below and .1 above.
    below, above = 0.9 * 0.1 - 0.9 * 0.6, -0.1 * 0.6 - 0.2 - 0.9 * 0.1
    assert cal.fce(*T1, bins=2) == pytest.approx((abs(below) + abs(above)) / (0.9 + 1 + 1 + 0.9), abs=1e-12)


def test_smooth_confidence() -> None:
    rows = np.array(M3[1])
    smooth = np.minimum(0.01 * np.log(np.exp(rows / 0.01).sum(axis=1)), 1)
    assert smooth == pytest.approx([0.7, 0.55, 0.65, 0.4800247569], abs=1e-10)
    gap = abs(smooth[3] - 0) + abs(smooth[:3].sum() - 3)
    assert cal.lse_ece(*M3, bins=2) == pytest.approx(gap / 4, abs=1e-12)


def test_pseudo_huber_is_a_shifted_smoothed_error() -> None:
    errors = np.abs(np.array(T1[1]) - T1[0])
    pseudo = (0.01 * (np.sqrt(1 + (errors / 0.1) ** 2) - 1)).mean()
    assert pseudo == pytest.approx(0.0178681441, abs=0.5e-10)
    assert 0.1 * (cal.l1_eps(*T1) - 0.1) == pytest.approx(pseudo, abs=1e-12)


def test_ranks_of_topk_ece() -> None:
    ranks = [cal.ece(*M3, bins=2, lens=f"rank:{r}") for r in (1, 2, 3)]
    assert ranks == pytest.approx([0.395, 0.03, 0.125], abs=1e-12)
    assert cal.topk_ece(*M3, bins=2, k=3) == pytest.approx(sum(ranks) / 3, abs=1e-12)


@pytest.mark.parametrize("form", [{}, {"floor": 1e-6}])
def test_even_forecasts(form: dict[str, Any]) -> None:
    labels = [0, 1, 1, 0, 1]
    assert call(cal.nses, labels, [0.5] * 5, **form) == pytest.approx(1, abs=1e-12)
    assert call(cal.dawid_sebastiani, labels, [0.5] * 5, **form) == pytest.approx(-0.3862943611, abs=0.5e-10)
    with pytest.raises(cal.errors.UndefinedMetricError):
        cal.spiegelhalter_z(labels, [0.5] * 5)


def test_sure_forecasts() -> None:
    assert cal.nses([0, 1], [0.0, 1.0]) == 0
    assert cal.nses([0, 0], [0.0, 1.0]) == math.inf
    assert cal.dawid_sebastiani([0, 1], [0.0, 1.0]) == -math.inf
    assert cal.dawid_sebastiani([0, 0], [0.0, 1.0]) == math.inf
    # For one class infinitely bad and for another infinitely good: bad.
    assert cal.dawid_sebastiani([1], [[1.0, 0.0, 0.0]], lens="classwise") == math.inf
    assert cal.spiegelhalter_z([0, 0], [0.0, 1.0]) == math.inf
    assert cal.focal_loss([0, 0], [0.0, 1.0]) == math.inf
    assert cal.focal_loss([0, 1, 1], [[1.0, 0, 0], [0, 1, 0], [1, 0, 0]], class_weight=[1, 0, 1]) == 0
    assert cal.expected_observed_ratio([0, 0], [0.0, 0.5]) == math.inf
    with pytest.raises(cal.errors.UndefinedMetricError):
        cal.expected_observed_ratio([0, 0], [0.0, 0.0])
    for labels, shift in (([1, 1, 1], math.inf), ([0, 0, 1], -math.inf)):
        with pytest.warns(
            cal.errors.BoundaryScoresWarning, match="1 of 3 rows .* a shift of log-odds does not change scores of 0"
        ):
            assert cal.calibration_in_the_large(labels, [0.2, 0.3, 1.0], form="logit") == shift
    weight = np.random.default_rng(3).uniform(0.1, 1, 2000)  # sums that miss each other by rounding
    scores = np.linspace(0.1, 0.9, 2000)
    assert cal.calibration_in_the_large([1] * 2000, scores, form="logit", sample_weight=weight) == math.inf
    assert cal.hosmer_lemeshow([0, 1], [0.0, 1.0]) == 0
    assert cal.hosmer_lemeshow([0, 1, 0], [0.3, 0.6, 1.0], bins=3) == math.inf


def test_a_group_without_events() -> None:
    relative = cal.fece(cal.Predictions([0, 1, 0], [0.2, 0.7, 0.1], groups=["a", "a", "b"]), relative=True)
    assert relative == math.inf
    eased = cal.fece(cal.Predictions([0, 1, 0], [0.2, 0.7, 0.1], groups=["a", "a", "b"]), relative=True, eps=0.5)
    assert eased == pytest.approx((2 * 0.1 / 1.5 + 1 * 0.1 / 0.5) / 3, abs=1e-12)
    for scale in (0.3, 10):
        weight = scale * np.array([1, 2, 3])
        words: dict[str, Any] = {"groups": ["a", "a", "b"], "relative": True, "eps": 0.5, "sample_weight": weight}
        assert call(cal.fece, [0, 1, 0], [0.2, 0.7, 0.1], **words) == pytest.approx(0.1917293233, abs=1e-10)


def test_soft_bins_without_a_largest_gap() -> None:
    with pytest.raises(cal.errors.ArgumentError):
        cal.sbece(*T1, form="label_binned", norm=INF)


def test_single_threshold_is_compared_in_double_precision() -> None:
    # The single nearest to 0.1 lies above it, so it counts.
    scores = np.array([0.1, 0.9], np.float32)
    assert float(scores[0]) > 0.1
    value = cal.tace([1, 1], scores, threshold=0.1, bins=1, lens="binary")
    assert value == pytest.approx(1 - float(scores.astype(float).mean()), abs=1e-12)
    assert cal.tace([1, 1], scores, threshold=0.2, bins=1, lens="binary") == pytest.approx(0.1, abs=1e-6)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e-3])
def test_proximity_does_not_depend_on_the_scale_of_features(scale: float) -> None:
    rng = np.random.default_rng(5)
    features, scores = rng.normal(size=(60, 2)), rng.random(60)
    labels = rng.integers(0, 2, 60)
    expected = cal.metrics.piece(cal.Predictions(labels, scores, features=features))
    assert cal.metrics.piece(cal.Predictions(labels, scores, features=scale * features)) == pytest.approx(
        expected, abs=1e-12
    )
    assert expected > cal.ece(labels, scores, bins=10, binning=EM) + 0.01


@pytest.mark.parametrize("largest", [40, 1000])
def test_pooled_blocks_of_the_catalogue(largest: int) -> None:
    i = np.arange(1, 201)
    p = i / 201
    y = (p**2 > np.mod(0.618033988749895 * (i - 1), 1)).astype(int)
    assert cal.tce(y, p, max_block=largest) == 22
