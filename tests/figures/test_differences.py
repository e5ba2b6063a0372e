"""The cumulative path, the variation and the uncertainty diagram, against brute force and their metrics."""

import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.figures import cumulative_diagram, uce_diagram, variation_diagram

from .pictures import drawn, new_ax, png_of

SIM = cal.inference.make_miscalibrated(300, warp=cal.inference.simulation.temperature(2.0), rng=3)
Y, P = SIM.y_true, SIM.y_prob
MANY = cal.inference.make_calibrated(3000, distribution=(1, 1, 2), classes=3, rng=5)
VARIATIONS = ("entropy", "confidence", "freeman_variation_ratio", "iqv", "gini", "mndif")


def test_the_path_is_a_running_sum_over_rising_scores() -> None:
    y, p, w = [0, 1, 0, 1, 1], [0.3, 0.2, 0.3, 0.9, 0.6], [1.0, 2.0, 0.5, 1.0, 3.0]
    diagram = cumulative_diagram(y, p, sample_weight=w)
    total, path, share = 0.0, [0.0], [0.0]
    for score in sorted(set(p)):
        rows = [i for i in range(5) if p[i] == score]
        total += sum(w[i] * (p[i] - y[i]) for i in rows)
        path.append(total / sum(w))
        share.append(share[-1] + sum(w[i] for i in rows) / sum(w))
    np.testing.assert_allclose(diagram.path, path, atol=1e-15)
    np.testing.assert_allclose(diagram.share, share, atol=1e-15)
    assert diagram.score[1:].tolist() == sorted(set(p))
    assert diagram.scale == pytest.approx(math.sqrt(sum(v * v * s * (1 - s) for v, s in zip(w, p, strict=True))) / 7.5)


def test_its_values_are_those_of_the_metrics_and_their_test() -> None:
    diagram = cumulative_diagram(Y, P)
    assert diagram.ecce_mad == cal.ecce_mad(Y, P) == np.abs(diagram.path).max()
    assert diagram.ecce_r == pytest.approx(cal.ecce_r(Y, P), abs=1e-15)
    assert diagram.path[-1] == pytest.approx((P - Y).mean(), abs=1e-15)
    assert diagram.reach / diagram.scale == pytest.approx(2.2414027273, abs=1e-9)
    assert cumulative_diagram(Y, P, level=0.9).reach / diagram.scale == pytest.approx(1.9599639494, abs=1e-9)
    tested = cal.assess(Y, P, metric="ecce_mad")
    assert diagram.pvalue == pytest.approx(tested.pvalue, abs=1e-12)
    assert (diagram.ecce_mad > diagram.reach) == (diagram.pvalue < 0.05)


def test_certain_scores_leave_nothing_to_chance() -> None:
    right = cumulative_diagram([0, 1], [0.0, 1.0])
    assert (right.scale, right.pvalue, right.ecce_mad) == (0.0, 1.0, 0.0)
    wrong = cumulative_diagram([1, 1], [0.0, 1.0])
    assert (wrong.pvalue, wrong.ecce_mad) == (0.0, 0.5)
    assert len(png_of(right.plot(new_ax()))) > 1000
    assert len(png_of(wrong.plot(new_ax()))) > 1000


def test_long_paths_are_thinned_but_keep_their_extremes() -> None:
    big = cal.inference.make_calibrated(20_000, rng=0)
    diagram = cumulative_diagram(big.y_true, big.y_prob)
    (line,) = drawn(diagram.plot(new_ax()), "path")
    shown = line.get_ydata()
    assert len(shown) <= 4002
    assert (shown.max(), shown.min(), shown[0], shown[-1]) == (
        diagram.path.max(),
        diagram.path.min(),
        diagram.path[0],
        diagram.path[-1],
    )


def variation_of(q: np.ndarray, kind: str) -> float:
    k = len(q)
    return {
        "entropy": -sum(v * math.log(v) for v in q if v > 0) / math.log(k),
        "confidence": q[0],
        "freeman_variation_ratio": 1 - q.max(),
        "mndif": 1 - sum(abs(a - b) for a in q for b in q) / 2 / (k - 1),
        "iqv": k / (k - 1) * (1 - (q**2).sum()),
        "gini": 1 - (q**2).sum(),
    }[kind]


@pytest.mark.parametrize("kind", VARIATIONS)
def test_variation_by_brute_force(kind: Any) -> None:
    y, p = MANY.y_true[:200], MANY.y_prob[:200]
    weight = np.random.default_rng(0).random(200)
    diagram = variation_diagram(y, p, variation=kind, bins=5, sample_weight=weight)["model"]
    order = np.argsort(-p, axis=1, kind="stable")
    q = np.take_along_axis(p, order, 1)
    r = (order == y[:, None]).astype(float)
    keys = [variation_of(row, kind) for row in q]
    for m in range(5):
        rows = [i for i in range(200) if m / 5 < keys[i] <= (m + 1) / 5 or (m == 0 and keys[i] == 0)]
        if not rows:
            assert np.isnan(diagram.stated[m])
            continue
        assert diagram.weight[m] == pytest.approx(weight[rows].sum())
        assert diagram.stated[m] == pytest.approx(variation_of(np.average(q[rows], axis=0, weights=weight[rows]), kind))
        assert diagram.observed[m] == pytest.approx(
            variation_of(np.average(r[rows], axis=0, weights=weight[rows]), kind)
        )
    gap = np.nansum(diagram.weight * np.abs(diagram.stated - diagram.observed)) / weight.sum()
    assert diagram.vce == pytest.approx(gap, abs=1e-12)
    assert diagram.vce == cal.vce(y, p, variation=kind, bins=5, sample_weight=weight)


def test_more_confidence_is_less_variation() -> None:
    above = {
        kind: variation_diagram(MANY.y_true, MANY.y_prob, variation=kind).plot(new_ax()).texts[0].get_text()
        for kind in ("entropy", "confidence")
    }
    assert above == {"entropy": "more varied than predicted", "confidence": "less varied than predicted"}


def test_uncertainty_by_brute_force() -> None:
    diagram = uce_diagram(MANY.y_true, MANY.y_prob, bins=5)
    entropy = np.array([variation_of(row, "entropy") for row in MANY.y_prob])
    wrong = MANY.y_prob.argmax(axis=1) != MANY.y_true
    for m in range(5):
        rows = (entropy > m / 5) & (entropy <= (m + 1) / 5)
        assert diagram.table.rows[m] == rows.sum()
        assert diagram.table.rate[m] == pytest.approx(wrong[rows].mean())
        assert diagram.table.mean_score[m] == pytest.approx(entropy[rows].mean())
        assert diagram.expected[m] == pytest.approx(1 - MANY.y_prob[rows].max(axis=1).mean())
    assert diagram.uce == cal.uce(MANY.y_true, MANY.y_prob, bins=5)
    total = diagram.table.share @ np.abs(diagram.table.rate - diagram.table.mean_score)
    assert diagram.uce == pytest.approx(total, abs=1e-12)
    error = np.sqrt(diagram.expected * (1 - diagram.expected) / diagram.table.rows)
    assert (np.abs(diagram.table.rate - diagram.expected) < 4 * error).all()


def test_two_classes_and_soft_labels() -> None:
    two = variation_diagram(Y, P, variation="confidence", bins=5)["model"]
    top = cal.calibration_curve(Y, P, bins=5, lens="top_label")
    np.testing.assert_allclose(two.observed, top.rate, rtol=1e-9)
    shares = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3]])
    soft = uce_diagram(cal.Predictions(shares, shares, soft=True), bins=2)
    assert soft.level is None
    assert len(png_of(soft.plot(new_ax()))) > 1000
    several = variation_diagram(Y, {"a": P, "b": P[::-1]}, bins=5)
    assert several["a"].stated.tolist() == variation_diagram(Y, P, bins=5)["model"].stated.tolist()
    assert several.to_frame()["model"].tolist() == ["a"] * 5 + ["b"] * 5
    assert [text.get_text()[:1] for text in several.plot(new_ax()).get_legend().get_texts()][:2] == ["a", "b"]
    assert variation_diagram(cal.Predictions(shares, shares, soft=True), bins=2)["model"].vce == pytest.approx(
        0, abs=1e-12
    )
