"""Values of tiny data sets, worked out by hand or in exact arithmetic, to all the digits they were written with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal

T1 = ([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
T2 = ([0, 0, 1, 0, 1, 0, 1, 1, 1, 1], [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95])
T3 = ([0] * 20 + [1] * 20, [(i + 0.5) / 40 for i in range(40)])
M3 = ([0, 1, 2, 0], [[0.7, 0.2, 0.1], [0.15, 0.55, 0.3], [0.2, 0.15, 0.65], [0.42, 0.48, 0.1]])
DATA = {"T1": T1, "T2": T2, "T3": T3, "M3": M3}

INF = math.inf
EM = "equal_mass"

# Metric, data, options, value as it was written (its digits are the tolerance).
VALUES: list[tuple[str, str, dict[str, Any], str]] = [
    ("brier", "T1", {}, "0.105"),
    ("brier", "T1", {"scale": "sum"}, "0.21"),
    ("brier", "T2", {}, "0.1525"),
    ("brier", "T2", {"scale": "sum"}, "0.305"),
    ("brier", "M3", {}, "0.3042"),
    ("brier", "M3", {"scale": "sum"}, "0.3042"),
    ("brier", "M3", {"scale": "half"}, "0.1521"),
    ("brier", "M3", {"scale": "per_class"}, "0.1014"),
    ("root_brier", "T1", {}, "0.3240370349"),
    ("root_brier", "T1", {"scale": "sum"}, "0.4582575695"),
    ("root_brier", "T2", {}, "0.3905124838"),
    ("root_brier", "T2", {"scale": "sum"}, "0.5522680509"),
    ("root_brier", "M3", {}, "0.5515432893"),
    ("root_brier", "M3", {"scale": "half"}, "0.39"),
    ("root_brier", "M3", {"scale": "per_class"}, "0.3184336666"),
    ("nll", "T1", {}, "0.3375388286"),
    ("nll", "T2", {}, "0.4560182106"),
    ("nll", "M3", {}, "0.5631988571"),
    ("ecd", "T1", {}, "-0.1183561807"),
    ("ecd", "T2", {}, "-0.0478107751"),
    ("ecd", "M3", {}, "-0.3392429352"),
    ("ecd", "M3", {"multiclass": "true_vs_rest"}, "-0.0934865816"),
    ("mdca", "T1", {}, "0.2"),
    ("mdca", "T2", {}, "0.1"),
    ("mdca", "M3", {}, "0.0883333333"),
    ("ece", "T1", {"bins": 2}, "0.2"),
    ("ece", "T1", {"bins": 10}, "0.25"),
    ("ece", "T1", {"bins": 1}, "0.2"),
    ("ece", "T2", {"bins": 2}, "0.1"),
    ("ece", "T2", {"bins": 5}, "0.14"),
    ("ece", "M3", {"bins": 2}, "0.395"),
    ("ece", "M3", {"bins": 1}, "0.155"),
    ("ece", "M3", {"bins": 2, "lens": "rank:1"}, "0.395"),
    ("ece", "M3", {"bins": 2, "lens": "rank:2"}, "0.03"),
    ("ece", "M3", {"bins": 2, "lens": "rank:3"}, "0.125"),
    ("ece", "M3", {"bins": 2, "lens": "within_top:2"}, "0.125"),
    ("ece", "T1", {"bins": [0, 0.6, 1]}, "0.2"),
    ("ece", "T2", {"bins": [0, 0.3, 0.6, 0.9, 1]}, "0.17"),
    ("rmsce", "T1", {"bins": 2}, "0.2061552813"),
    ("rmsce", "T1", {"bins": 10}, "0.3240370349"),
    ("rmsce", "T2", {"bins": 5}, "0.1732050808"),
    ("rmsce", "T2", {"bins": 5}, "0.1732050808"),
    ("rmsce", "T2", {"bins": 5, "norm": 3}, "0.1948695160"),
    ("rmsce", "T2", {"bins": 5, "norm": 1}, "0.14"),
    ("rmsce", "T2", {"bins": 5, "norm": INF}, "0.3"),
    ("mce", "T1", {"bins": 2}, "0.25"),
    ("mce", "T1", {"bins": 10}, "0.6"),
    ("mce", "T2", {"bins": 5}, "0.3"),
    ("mce", "T2", {"bins": 10}, "0.75"),
    ("cwce", "M3", {"bins": 1}, "0.0883333333"),
    ("cwce", "M3", {"bins": 2}, "0.2216666667"),
    ("cwce", "M3", {"bins": 2, "lens": "class:0"}, "0.1325"),
    ("cwce", "M3", {"bins": 2, "lens": "class:1"}, "0.32"),
    ("cwce", "M3", {"bins": 2, "lens": "class:2"}, "0.2125"),
    ("cwce", "M3", {"bins": 2, "binning": EM}, "0.155"),
    ("ace", "M3", {"bins": 2}, "0.155"),
    ("ace", "M3", {"bins": 2, "lens": "class:0"}, "0.3075"),
    ("ace", "M3", {"bins": 2, "lens": "class:1"}, "0.095"),
    ("ace", "M3", {"bins": 2, "lens": "class:2"}, "0.0625"),
    ("ace", "M3", {"bins": 1}, "0.0883333333"),
    ("ece_em", "T2", {"bins": 5}, "0.14"),
    ("ece_em", "T2", {"bins": 2}, "0.1"),
    ("ece_em", "T2", {"bins": 4}, "0.10"),
    ("ece_em", "T2", {"bins": 4, "binning": cal.EqualMass(split="array_split", ties="split")}, "0.17"),
    # What a sweep for the largest monotone number of bins comes to, at that number.
    ("ece_em", "T1", {"bins": 3}, "0.2"),
    ("ece_em", "T1", {"bins": 3, "norm": 2}, "0.2091650066"),
    ("ece_em", "T2", {"bins": 5, "norm": 2}, "0.1732050808"),
    ("ece_em", "T3", {"bins": 39}, "0.25"),
    ("ece_em", "T3", {"bins": 39, "norm": 2}, "0.2885713733"),
    ("abc_above", "T2", {"bins": 5}, "0.12"),
    ("abc_below", "T2", {"bins": 5}, "0.02"),
    ("abc_above", "T1", {"bins": 10}, "0.225"),
    ("abc_below", "T1", {"bins": 10}, "0.025"),
    ("esce", "T1", {}, "-0.2"),
    ("esce", "T2", {}, "-0.1"),
    ("esce", "M3", {}, "-0.155"),
    ("esce", "T1", {"bins": 2, "representative": "midpoint"}, "-0.25"),
    ("vce", "M3", {"bins": 2}, "0.3303674970"),
    ("vce", "M3", {"bins": 2, "variation": "confidence"}, "0.395"),
    ("uce", "M3", {"bins": 2}, "0.5714379192"),
    ("gece", "M3", {}, "0.1325"),  # fewer than 20 rows are one cell
    ("gece", "M3", {"lens": "top_label", "bins": 2}, "0.395"),
    ("gece", "M3", {"lens": "top_k:1", "bins": 2}, "0.395"),
]


def readable(entry: tuple[str, str, dict[str, Any], str]) -> str:
    metric, data, options, _ = entry
    return " ".join([metric, data, *(f"{word}={value}" for word, value in options.items())])


@pytest.mark.parametrize(("metric", "data", "options", "written"), VALUES, ids=[readable(entry) for entry in VALUES])
def test_checked_value(metric: str, data: str, options: dict[str, Any], written: str) -> None:
    # A value written with fewer than ten decimals is exact; ten were rounded.
    decimals = len(written.partition(".")[2])
    tolerance = 0.5e-10 if decimals >= 10 else 1e-12
    assert getattr(cal, metric)(*DATA[data], **options) == pytest.approx(float(written), abs=tolerance)


def test_closure_of_bins() -> None:
    labels, scores = [1, 0, 1], [0.2, 0.5, 0.9]
    assert cal.ece(labels, scores, bins=2) == pytest.approx(0.1333333333, abs=0.5e-10)
    assert cal.ece(labels, scores, bins=2, binning=cal.EqualWidth(closed="left")) == pytest.approx(0.4, abs=1e-12)


def test_sure_scores_stay_in_the_last_left_closed_bin() -> None:
    value = cal.ece([1, 0, 0], [0.8, 1, 0.2], bins=2, binning=cal.EqualWidth(closed="left"))
    assert value == pytest.approx(0.3333333333, abs=0.5e-10)


@pytest.mark.parametrize(("labels", "value"), [([1, 1, 0, 0], 0.5), ([1, 0, 1, 0], 0.0)])
def test_split_ties_depend_on_row_order(labels: list[int], value: float) -> None:
    split = cal.ece(labels, [0.5] * 4, bins=2, binning=cal.EqualMass(ties="split"))
    assert split == pytest.approx(value, abs=1e-12)
    assert cal.ece_em(labels, [0.5] * 4, bins=2) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("split", "sizes"), [("floor", [3, 2, 3, 2]), ("array_split", [3, 3, 2, 2])])
def test_sizes_of_equal_mass_bins(split: Any, sizes: list[int]) -> None:
    curve = cal.calibration_curve(*T2, bins=4, binning=cal.EqualMass(split=split, ties="split"))
    assert curve.weight.tolist() == sizes


def test_equal_mass_is_cut_in_whole_numbers() -> None:
    # 30 * 22 / 44 = 15 exactly, and (30 / 44) * 22 in doubles falls short of it.
    curve = cal.calibration_curve([0, 1] * 22, [(i + 0.5) / 44 for i in range(44)], bins=22, binning="equal_mass")
    assert curve.weight.tolist() == [2.0] * 22


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_uniform_forecast(classes: int) -> None:
    rows, labels = np.full((6, classes), 1 / classes), np.arange(6) % classes
    assert cal.nll(labels, rows) == pytest.approx(math.log(classes), abs=1e-12)
    assert cal.ecd(labels, rows) == pytest.approx(0, abs=1e-12)
    expected = {2: "0.0000000000", 3: "0.4620981204", 10: "1.9775"}[classes]
    tolerance = 0.5 * 10.0 ** -len(expected.partition(".")[2])
    assert cal.ecd(labels, rows, multiclass="true_vs_rest") == pytest.approx(float(expected), abs=tolerance)


@pytest.mark.parametrize(("classes", "bound"), [(2, -0.2784645428), (3, -0.4630555134), (10, -1.1010029973)])
def test_least_ecd(classes: int, bound: float) -> None:
    from scipy.special import lambertw

    w = float(lambertw((classes - 1) / math.e).real)
    assert -w == pytest.approx(bound, abs=0.5e-10)
    row = np.full(classes, w / (1 + w) / (classes - 1))
    row[0] = 1 / (1 + w)
    assert cal.ecd([0], [row]) == pytest.approx(bound, abs=0.5e-10)
    rng = np.random.default_rng(classes)
    others = rng.dirichlet(np.ones(classes), 2000)
    assert min(cal.ecd([0], [other]) for other in others) >= bound - 1e-12


def test_least_ecd_of_the_true_class_against_the_rest() -> None:
    shares = np.linspace(0.01, 1, 2000)
    values = [cal.ecd([0], [[p, (1 - p) / 2, (1 - p) / 2]], multiclass="true_vs_rest") for p in shares]
    assert min(values) == pytest.approx(-0.2784645428, abs=1e-6)
