"""Values of tiny data sets, worked out by hand or in exact arithmetic, to all the digits they were written with."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from tests.calling import call
from tests.checked import M3, T1, T2, T3, B, C, D
from tests.in_turn import in_turn

DATA = {"T1": T1, "T2": T2, "T3": T3, "M3": M3, "B": B, "C": C, "D": D}


# Metric, data, options, value as it was written (its digits are the tolerance).
VALUES: list[tuple[str, str, dict[str, Any], str]] = json.loads(
    Path(__file__).with_name("checked_values.json").read_text(encoding="utf-8")
)
SPLIT = cal.EqualMass(split="array_split", ties="split")
VALUES.append(("ece_em", "T2", {"bins": 4, "binning": SPLIT}, "0.17"))


def readable(entry: tuple[str, str, dict[str, Any], str]) -> str:
    metric, data, options, _ = entry
    return " ".join([metric, data, *(f"{word}={value}" for word, value in options.items())])


@in_turn("entry", VALUES, readable)
def test_checked_value(entry: tuple[str, str, dict[str, Any], str]) -> None:
    metric, data, options, written = entry
    # A value written with fewer than nine digits is exact; more were rounded.
    decimals, digits = len(written.partition(".")[2]), len(written.replace(".", "").lstrip("-0"))
    tolerance = 0.51 * 10.0**-decimals if max(decimals, digits) >= 9 else 1e-12
    assert call(cal.catalogue[metric], *DATA[data], **options) == pytest.approx(float(written), abs=tolerance, rel=0)


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


def test_search_needs_ten_rows() -> None:
    with pytest.raises(cal.errors.UndefinedMetricError):
        cal.drmsce_bcs(*T1)


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


def test_single_threshold_is_compared_in_double_precision() -> None:
    # The single nearest to 0.1 lies above it, so it counts.
    scores = np.array([0.1, 0.9], np.float32)
    assert float(scores[0]) > 0.1
    value = cal.tace([1, 1], scores, threshold=0.1, bins=1, lens="binary")
    assert value == pytest.approx(1 - float(scores.astype(float).mean()), abs=1e-12)
    assert cal.tace([1, 1], scores, threshold=0.2, bins=1, lens="binary") == pytest.approx(0.1, abs=1e-6)


@pytest.mark.parametrize("largest", [40, 1000])
def test_pooled_blocks_of_the_catalogue(largest: int) -> None:
    i = np.arange(1, 201)
    p = i / 201
    y = (p**2 > np.mod(0.618033988749895 * (i - 1), 1)).astype(int)
    assert cal.tce(y, p, max_block=largest) == 22
