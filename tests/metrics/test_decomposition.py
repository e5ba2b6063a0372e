"""decompose: checked values, sums and signs, weights, and two slow computations in exact arithmetic."""

import json
import math
from collections import defaultdict
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from tests.calling import call
from tests.checked import M3, T1, T2

# Two pairs of rows with the same forecast.
PAIRS = ([0, 1, 1, 2], [[0.5, 0.25, 0.25], [0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.5, 0.25]])
TERMS = ("miscalibration", "discrimination", "uncertainty")

# Data, options, the three terms to the digits they were written with.
CHECKED: list[tuple[Any, dict[str, Any], tuple[str, str, str]]] = [
    (T1, {"method": "corp"}, (".105", ".1875", ".1875")),
    (T2, {"method": "corp"}, (".0525", ".14", ".24")),
    (T1, {"method": "corp", "score": "nll"}, ("0.3375388286", "0.5623351446", "0.5623351446")),
    (T2, {"method": "corp", "score": "nll"}, ("0.1787593384", "0.3957527948", "0.6730116670")),
    (T2, {"bins": 5}, (".03", ".14", ".24")),
    (T1, {"method": "murphy"}, (".105", ".1875", ".1875")),
    (M3, {"method": "murphy"}, ("0.3042", ".625", ".625")),
    (M3, {"method": "murphy", "score": "nll"}, ("0.5631988571", "1.0397207708", "1.0397207708")),
]


def sum_of(found: cal.metrics.Decomposition) -> float:
    return found.miscalibration - found.discrimination + found.uncertainty


def problem(seed: int, classes: int = 2, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Labels that half follow the forecast; few enough different forecasts that many tie, none of them sure."""
    rng = np.random.default_rng(seed)
    rows = (rng.multinomial(8, np.full(classes, 1 / classes), n) + 1) / (8 + classes)
    labels = np.array([rng.choice(classes, p=row) if rng.random() < 0.5 else rng.integers(classes) for row in rows])
    return labels, rows if classes > 2 else rows[:, 1].copy()


@pytest.mark.parametrize(("data", "options", "written"), CHECKED)
def test_checked_values(data: Any, options: dict[str, Any], written: tuple[str, ...]) -> None:
    found = call(cal.decompose, *data, **options)
    for term, text in zip(TERMS, written, strict=True):
        digits = len(text.partition(".")[2])
        assert getattr(found, term) == pytest.approx(float(text), abs=0.51 * 10.0**-digits if digits > 8 else 1e-14)
    assert (found.reliability, found.resolution) == (found.miscalibration, found.discrimination)


SUMS: list[dict[str, Any]] = [
    {},
    {"lens": "top_label"},
    {"method": "murphy"},
    {"method": "murphy", "lens": "top_label"},
    {"method": "murphy", "lens": "class:1"},
    {"bins": cal.KDTree(0.3, 4), "lens": "canonical"},
    {"bins": 5},
    {"bins": [0, 0.3, 1]},
    {"bins": cal.EqualMass(4)},
    {"method": "corp"},
    {"method": "corp", "lens": "class:0"},
]
WEIGHTS: list[str | None] = [None, "counts", "sample_weight"]


def weights_of(kind: str | None, n: int, seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {} if kind is None else {kind: rng.integers(0, 4, n) if kind == "counts" else rng.exponential(size=n)}


@pytest.mark.parametrize("score", ["brier", "nll"])
@pytest.mark.parametrize("options", SUMS, ids=str)
@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("classes", [2, 4])
def test_terms_add_up_and_are_not_negative(score: str, options: dict[str, Any], kind: str | None, classes: int) -> None:
    data = problem(3, classes)
    weights = weights_of(kind, 60)
    found = call(cal.decompose, *data, score=score, **options, **weights)
    assert sum_of(found) == pytest.approx(found.value, abs=1e-12)
    lens = options.get("lens") or ("canonical" if options in ({}, {"method": "murphy"}) else "auto")
    assert found.total == pytest.approx(call(cal.catalogue[score], *data, lens=lens, **weights), abs=1e-12)
    assert found.miscalibration >= 0
    assert found.discrimination >= 0
    assert "bins" in options or "k-d tree" in found.note or found.within == 0


@pytest.mark.parametrize("rule", [cal.EqualWidth(10), cal.EqualMass(10)])
@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("lens", ["top_label", "class:2"])
def test_reliability_is_the_squared_calibration_error(rule: Any, kind: str | None, lens: str) -> None:
    rng = np.random.default_rng(4)
    rows = rng.dirichlet(np.ones(4), 300)
    data = rng.integers(0, 4, 300), rows
    options: dict[str, Any] = {"lens": lens, **weights_of(kind, 300)}
    found = call(cal.decompose, *data, bins=rule, **options)
    assert found.reliability == pytest.approx(call(cal.rmsce, *data, binning=rule, **options) ** 2, abs=1e-14)
    assert found.value == pytest.approx(call(cal.smbs, *data, binning=rule, **options), abs=1e-14)


def test_rows_with_the_same_forecast_are_grouped_whatever_their_dtype() -> None:
    labels, rows = PAIRS
    for dtype in (np.float64, np.float32, np.float16):
        found = cal.decompose(labels, np.array(rows, dtype=dtype), method="murphy")
        # Frequencies (1/2, 1/2, 0) and (0, 1/2, 1/2) against (1/4, 1/2, 1/4) overall.
        assert found.reliability == pytest.approx((0.0625 + 0.0625 + 0.0625 + 0.0625) / 2, abs=1e-15)
        assert found.resolution == pytest.approx(0.125, abs=1e-15)
        assert found.uncertainty == pytest.approx(0.625, abs=1e-15)
    assert cal.decompose([0, 1], [[-0.0, 1], [0.0, 1]], method="murphy").reliability == 0.25  # minus zero is zero


def test_rates_of_0_and_1_stay_exact_under_real_weights() -> None:
    """A rate a rounding away from 1 would give the log score of a sure forecast the wrong sign, or make it infinite."""
    rng = np.random.default_rng(3)
    weight = rng.exponential(size=400) * 10.0 ** rng.integers(-12, 3, 400)
    scores = np.sort(rng.random(400)).round(2)
    labels = (scores > 0.5).astype(int)
    for options in ({"method": "murphy"}, {"method": "corp"}, {"bins": 4}):
        found = call(cal.decompose, labels, scores, score="nll", sample_weight=weight, **options)
        assert found.resolution == pytest.approx(found.uncertainty, abs=1e-15)
    one_sided = cal.decompose(
        cal.Predictions(np.ones(400, int), scores + 0.001, clip=True, sample_weight=weight), score="nll"
    )
    assert (one_sided.uncertainty, one_sided.resolution) == (0, 0)


# The same numbers once more, slowly: exact fractions, sums over groups as the papers print them.


def murphy_exactly(labels: Any, rows: Any, weights: list[Fraction]) -> tuple[Fraction, Fraction, Fraction]:
    classes = range(len(rows[0]))
    total = sum(weights)
    groups: dict[tuple[Fraction, ...], list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        groups[tuple(map(Fraction, row))].append(i)
    overall = [sum(w for w, y in zip(weights, labels, strict=True) if y == k) / total for k in classes]
    reliability = resolution = Fraction(0)
    for forecast, members in groups.items():
        size = sum(weights[i] for i in members)
        if size == 0:
            continue
        seen = [sum(weights[i] for i in members if labels[i] == k) / size for k in classes]
        reliability += size / total * sum((p - o) ** 2 for p, o in zip(forecast, seen, strict=True))
        resolution += size / total * sum((o - m) ** 2 for o, m in zip(seen, overall, strict=True))
    return reliability, resolution, sum((m * (1 - m) for m in overall), Fraction(0))


@pytest.mark.parametrize("seed", range(12))
def test_murphy_against_exact_sums(seed: int) -> None:
    classes = 2 + seed % 4
    labels, probs = problem(seed, classes, 25)
    rows = probs if classes > 2 else np.column_stack([1 - probs, probs])
    counts = np.random.default_rng(seed).integers(0, 4, 25)
    expected = murphy_exactly(labels.tolist(), rows.tolist(), [Fraction(int(count)) for count in counts])
    found = cal.decompose(cal.Predictions(labels, probs, counts=counts), method="murphy")
    half = 0.5 if classes == 2 else 1  # the score of two classes is half of the sum over them
    assert [getattr(found, term) for term in TERMS] == pytest.approx([half * float(t) for t in expected], abs=1e-14)


def isotonic_by_trying(scores: Any, labels: Any, weights: list[Fraction]) -> tuple[Fraction, Fraction, Fraction]:
    """The best of all ways to cut the sorted tie groups into runs whose means rise: squared error of fit, forecast, base rate."""
    values = sorted(set(scores))
    weight = [sum(w for w, s in zip(weights, scores, strict=True) if s == v) for v in values]
    hits = [sum(w * y for w, y, s in zip(weights, labels, scores, strict=True) if s == v) for v in values]
    total, best = sum(weight), None
    for number in range(len(values)):
        for inner in combinations(range(1, len(values)), number):
            cuts = [0, *inner, len(values)]
            runs = [(sum(hits[a:b]), sum(weight[a:b])) for a, b in pairwise(cuts)]
            means = [hit / size for hit, size in runs]
            if means == sorted(means):
                error = sum((size * m * (1 - m) for (_, size), m in zip(runs, means, strict=True)), Fraction(0)) / total
                best = error if best is None else min(best, error)
    assert best is not None
    stated = sum(w * (Fraction(s) - y) ** 2 for w, s, y in zip(weights, scores, labels, strict=True)) / total
    rate = sum(hits) / total
    return best, stated, rate * (1 - rate)


@pytest.mark.parametrize("seed", range(12))
def test_corp_against_every_monotone_fit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 9, 14) / 8
    labels = rng.integers(0, 2, 14)
    counts = rng.integers(1, 4, 14)
    fit, stated, base = isotonic_by_trying(scores.tolist(), labels.tolist(), [Fraction(int(c)) for c in counts])
    found = cal.decompose(cal.Predictions(labels, scores, counts=counts), method="corp")
    expected = [float(stated - fit), float(base - fit), float(base)]
    assert [getattr(found, term) for term in TERMS] == pytest.approx(expected, abs=1e-14)


# Soft labels, infinite scores, forms of input.


def test_soft_labels_where_the_score_takes_them() -> None:
    rng = np.random.default_rng(6)
    soft, scores = rng.integers(0, 5, 40) / 4, rng.integers(1, 6, 40) / 6
    for score in ("brier", "nll"):
        for options in ({}, {"method": "corp"}, {"bins": 3}):
            found = call(cal.decompose, soft, scores, soft=True, score=score, **options)
            assert sum_of(found) == pytest.approx(found.value, abs=1e-12)
            assert found.total == pytest.approx(
                cal.catalogue[score](cal.Predictions(soft, scores, soft=True)), abs=1e-12
            )
            assert min(found.reliability, found.resolution) >= 0
    # The log score is linear in the label: shares are fractional rows.
    split = np.repeat([0, 1], 40), np.tile(scores, 2)
    weight = np.concatenate([1 - soft, soft])
    for options in ({}, {"method": "corp"}):
        whole = call(cal.decompose, *split, score="nll", sample_weight=weight, **options).to_dict()
        assert call(cal.decompose, soft, scores, soft=True, score="nll", **options).to_dict() == pytest.approx(
            whole, abs=1e-13
        )


def test_an_infinite_score_is_all_miscalibration() -> None:
    for options in ({}, {"method": "corp"}):
        found = call(cal.decompose, [0, 1, 1], [0.2, 0.0, 0.9], score="nll", **options)
        assert found.value == found.miscalibration == math.inf
        assert math.isfinite(found.discrimination + found.uncertainty)
        assert json.loads(json.dumps(found.to_dict()))["value"] == "inf"
        assert "inf" in repr(found)
    inside = cal.decompose([0, 1, 1], [0.2, 0.0, 0.9], score="nll", bins=2)
    assert inside.within == math.inf
    assert math.isfinite(inside.value)


def test_a_score_that_has_no_least_value_has_no_parts() -> None:
    labels, scores = [0, 1, 0, 1], [0.3, 0.3, 0.6, 0.6]
    found = cal.decompose(labels, scores, score="dawid_sebastiani", method="corp")
    assert found.discrimination == 0
    assert sum_of(found) == pytest.approx(cal.dawid_sebastiani(labels, scores), abs=1e-14)


def test_logits_keep_what_probabilities_lose() -> None:
    found = cal.decompose(cal.Predictions([1, 0, 1], [-800.0, 1.0, 2.0], input="logit"), score="nll")
    assert found.value == pytest.approx(cal.nll(cal.Predictions([1, 0, 1], [-800.0, 1.0, 2.0], input="logit")))
    assert math.isfinite(found.reliability)


def test_forecasts_that_all_differ_have_a_note() -> None:
    assert repr(cal.decompose(*T2, bins=5)) == (
        "brier (murphy, binary): 0.1300 = 0.03000 reliability - 0.1400 resolution + 0.2400 uncertainty; 0.02250 within bins"
    )
    alone = cal.decompose([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], method="murphy")
    said = "4 of 4 forecasts differ, so reliability is nearly the whole score: give bins= or method='corp'"
    assert repr(alone).endswith(f"0.1875 uncertainty ({said})")
    assert cal.decompose([0, 1, 1, 1], [0.1, 0.1, 0.8, 0.8], method="murphy").note == ""
    assert cal.decompose([1], [0.8], method="murphy").note == ""


def test_a_sketch_is_decomposed_by_its_cells() -> None:
    sketch = cal.Sketch.of(*T2)
    for method in ("murphy", "corp"):
        ours, rows = cal.decompose(sketch, method=method), cal.decompose(*T2, method=method)
        assert [getattr(ours, term) for term in TERMS] == pytest.approx([getattr(rows, term) for term in TERMS])
    assert cal.metrics.skill_score(sketch) == pytest.approx(cal.metrics.skill_score(*T2))


def test_the_default_is_not_fooled_by_forecasts_that_differ() -> None:
    rng = np.random.default_rng(0)
    scores = rng.beta(0.5, 0.8, 2537).round(4)  # most of them differ, some tie
    labels = (rng.random(2537) < scores**1.3).astype(int)
    corp = cal.decompose(labels, scores, method="corp")
    forms: list[tuple[Any, Any, dict[str, Any]]] = [
        (labels, scores, {}),
        (labels, np.column_stack([1 - scores, scores]), {}),
        (labels, np.column_stack([1 - scores, scores]), {"lens": "canonical"}),
        (np.where(labels, "yes", "no"), scores, {"pos_label": "yes"}),
    ]
    for y, p, words in forms:
        found = call(cal.decompose, y, p, **words)
        assert (found.method, found.lens, found.note) == ("corp", "binary", "")
        assert [getattr(found, term) for term in TERMS] == pytest.approx([getattr(corp, term) for term in TERMS])
    murphy = cal.decompose(labels, scores, method="murphy")
    assert murphy.reliability > 0.08 > 0.015 > corp.reliability
    assert "forecasts differ" in murphy.note
    assert cal.decompose(labels, scores, bins=9).method == "murphy"


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("classes", [4, 30])
def test_by_default_whole_rows_are_decomposed_over_cells_where_they_differ(classes: int, kind: str | None) -> None:
    rng = np.random.default_rng(classes)
    probs = rng.dirichlet(np.full(classes, 0.5), 1201)
    labels = (probs.cumsum(axis=1) > rng.random((1201, 1))).argmax(axis=1)
    weights = weights_of(kind, 1201)
    for score in ("brier", "nll"):
        found = call(cal.decompose, labels, probs, score=score, **weights)
        whole = call(cal.catalogue[score], labels, probs, **weights)
        assert (found.method, found.lens) == ("murphy", "canonical")
        assert "of a k-d tree" in found.note
        assert found.total == pytest.approx(whole, abs=1e-12)
        assert found.reliability < whole / 5  # these are calibrated, and their cells small
        again = call(cal.decompose, labels, probs, score=score, bins=cal.KDTree(), **weights)
        assert again.reliability == found.reliability
    repeated = (labels[:20], probs[:20]) if kind is None else (labels, np.repeat(probs[:20], 61, axis=0)[:1201])
    if kind == "counts":
        weights = {"counts": np.full(1201, 3)}
    found = call(cal.decompose, *repeated, **{} if kind is None else weights)
    assert (found.note == "") == (kind is not None)
