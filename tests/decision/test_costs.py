"""Costs, decision curves, words, routes, top-k answers and prudent bounds: checked values, identities, weights."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import calibrant as cal
from calibrant.decision.costs import (
    cost_decision,
    expected_cost,
    largest_regret,
    net_benefit,
    topk_accuracy,
    topk_confidence,
)
from calibrant.decision.likert import likert_error
from calibrant.decision.low_default import pluto_tasche
from calibrant.decision.routing import review_routing
from tests.calling import call
from tests.checked import B_ROWS as B
from tests.checked import D_ROWS as D

COST = [[0, 1, 5], [1, 0, 5], [10, 10, 0]]


def data(seed: int, n: int, k: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(k), n)
    return np.array([rng.choice(k, p=row) for row in probs]), probs


def test_costs_have_their_checked_values() -> None:
    found = call(expected_cost, **D, cost=COST)
    assert found.action.tolist() == [0, 0, 1, 1, 2, 2, 2, 2]
    assert (found.claimed, found.realised, found.baseline) == pytest.approx((1.75, 0.875, 2.125))
    assert (found.gap, found.regret) == pytest.approx((-0.875, -1.25))
    decided = cost_decision(D["y_prob"], COST)
    assert decided.action.tolist() == found.action.tolist()
    assert decided.cost.mean() == pytest.approx(1.75)


def test_two_classes_have_a_threshold() -> None:
    decided = cost_decision([0.1, 0.19, 0.21, 0.9], [[0, 1], [4, 0]])
    assert decided.threshold == pytest.approx(0.2)
    assert decided.action.tolist() == [0, 0, 1, 1]
    assert cost_decision(D["y_prob"], COST).threshold is None


def test_beside_a_cost_of_rejecting_there_is_no_single_threshold() -> None:
    decided = cost_decision([0.05, 0.25, 0.5, 0.69, 0.71, 0.9], [[0, 1], [4, 0]], reject=0.3)
    assert decided.action.tolist() == [0, 2, 2, 2, 1, 1]  # action 1 costs 1 - p, which is below 0.3 from 0.7 up
    assert decided.threshold is None
    assert "from probability" not in repr(decided)


def test_rejecting_follows_chow() -> None:
    _, probs = data(0, 200)
    decided = cost_decision(probs, 1 - np.eye(3), reject=0.3)
    assert ((decided.action == 3) == (probs.max(axis=1) < 0.7)).all()
    assert decided.cost.max() <= 0.3
    labels = data(0, 200)[0]
    found = expected_cost(labels, probs, cost=1 - np.eye(3), reject=0.3)
    wrong = (decided.action != labels) & (decided.action < 3)
    assert found.realised == pytest.approx((wrong + 0.3 * (decided.action == 3)).mean())


def test_calibrated_probabilities_claim_what_is_realised() -> None:
    labels, probs = data(2, 20_000)
    found = expected_cost(labels, probs, cost=COST)
    assert abs(found.gap) < 4 * found.gap_error
    assert found.regret is not None
    assert found.regret < 0
    sharp = probs**3 / (probs**3).sum(axis=1, keepdims=True)
    assert expected_cost(labels, sharp, cost=COST).gap > 4 * found.gap_error


def test_a_policy_has_its_mean_cost() -> None:
    labels, probs = data(3, 50)
    counts = np.random.default_rng(1).integers(0, 4, 50)
    policy = expected_cost(cal.Predictions(labels, probs, counts=counts), cost=COST, policy=np.zeros(50))
    assert policy.baseline == pytest.approx(np.average(np.array(COST)[labels, 0], weights=counts))


def test_soft_labels_cost_their_shares() -> None:
    shares = np.array([[0.5, 0.5], [0.2, 0.8]])
    found = expected_cost(cal.Predictions(shares, [[0.9, 0.1], [0.3, 0.7]], soft=True), cost=[[0, 1], [4, 0]])
    assert found.realised == pytest.approx((0.5 * 4 + 0.2 * 1) / 2)


def test_net_benefit_has_its_checked_values() -> None:
    found = call(net_benefit, **B, thresholds=[0.2, 0.3, 0.5])
    assert found.net_benefit.tolist() == pytest.approx([0.425, 0.4142857143, 0.3], abs=5e-11)
    assert found.treat_all.tolist() == pytest.approx([0.5, 0.4285714286, 0.2], abs=5e-11)
    assert found.standardised[0] == pytest.approx(0.7083333333, abs=5e-11)
    assert found.avoided[0] == pytest.approx(-0.3)
    assert found.standard_error[[0, 2]].tolist() == pytest.approx([0.1838817555, 0.2024845673], abs=5e-11)


def test_net_benefit_is_the_share_of_positives_less_a_cost() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    for t in (0.1, 0.35, 0.8):
        cost = expected_cost(y, p, cost=[[0, t / (1 - t)], [1, 0]]).realised
        assert net_benefit(y, p, thresholds=t).net_benefit[0] == pytest.approx(y.mean() - cost)


def test_net_benefit_weights_and_ends() -> None:
    scaled = [call(net_benefit, **B, sample_weight=w * np.arange(1, 11)) for w in (1, 8)]
    np.testing.assert_allclose(scaled[0].standard_error, scaled[1].standard_error, atol=1e-12)
    assert np.isnan(net_benefit([0, 0], [0.2, 0.7]).standardised).all()
    assert len(call(net_benefit, **B)) == 99


def test_words_have_their_checked_values() -> None:
    found = call(likert_error, **B)
    assert found.error == pytest.approx(0.001)
    assert [band.rate for band in found.bands] == pytest.approx([1 / 3, 0.5, 1])
    assert [band.error for band in found.bands] == pytest.approx([0.003333333333, 0, 0], abs=5e-13)
    assert found["low"].pvalue == pytest.approx(0.699237)
    assert [band.direction for band in found.bands] == ["above", "inside", "inside"]
    assert call(likert_error, **B, edges=[0, 1 / 3, 2 / 3, 1]).error == 0
    five = call(likert_error, **B, edges="five")
    assert five.error == pytest.approx(0.14)
    assert [band.error for band in five.bands] == pytest.approx([0.3, 0.2, 0, 0.2, 0])
    assert [band.pvalue for band in five.bands] == pytest.approx([0.36, 1, 1, 1, 1])
    assert call(likert_error, **B, edges=[0, 1]).error == 0


def test_p_values_of_likert_bands_hold_their_level() -> None:
    """Exactly, for a true rate anywhere in the band; a side chosen by the data alone rejected a rate on an edge of a narrow band too often."""
    for low, high, n in ((0.45, 0.55, 40), (0.2, 0.4, 30), (0.5, 0.51, 200), (0.0, 0.33, 25), (0.66, 1.0, 25)):
        edges = sorted({0.0, low, high, 1.0})
        at = edges.index(low)
        pvalues = []
        for k in range(n + 1):
            found = likert_error([1] * k + [0] * (n - k), [(low + high) / 2] * n, edges=edges, within="one").bands[at]
            pvalues.append(found.pvalue)
            upper, lower = (stats.binom.sf(k - 1, n, high), stats.binom.cdf(k, n, low))
            wanted = upper if low == 0 else lower if high == 1 else 2 * min(upper, lower)
            assert found.pvalue == pytest.approx(1 if found.direction == "inside" else min(1, wanted))
        for rate in np.linspace(low, high, 5):
            chance = stats.binom.pmf(np.arange(n + 1), n, rate)
            for level in (0.01, 0.05, 0.2):
                assert chance[np.array(pvalues) <= level].sum() <= level + 1e-12
    whole = likert_error([0, 1], [0.3, 0.6], edges=[0, 1], within="one").bands[0]
    assert whole.pvalue == 1


def halves(rows: list[int], score: list[float], most: float) -> list[list[int]]:
    """Cells of one score by halving at the median, the middle row to the lower half, until a cell has at most `most` rows.

    Where ties leave fewer than ten rows above the median, the rows at it are split off together with these.
    """
    if len(rows) <= most:
        return [rows]
    ranked = sorted(1 - score[i] for i in rows)
    middle = ranked[len(rows) // 2]
    first = [i for i in rows if 1 - score[i] < middle]
    if len(first) < 10:
        first = [i for i in rows if 1 - score[i] <= middle]
    rest = [i for i in rows if i not in set(first)]
    if min(len(first), len(rest)) < 10:
        return [rows]
    return halves(first, score, most) + halves(rest, score, most)


def test_words_of_tied_scores() -> None:
    scores = np.r_[np.full(120, 0.4), np.full(280, 0.6)]
    labels = np.r_[np.zeros(120), np.ones(280)].astype(int)
    # All rows are in the band from 0.33 to 0.66; 120 have the rate 0 and 280 the rate 1.
    found = likert_error(labels, scores)
    assert found["medium"].direction == "above"
    assert found.error == pytest.approx(0.3 * 0.33 + 0.7 * 0.34)
    turned = likert_error(1 - labels, 1 - scores, edges=[0, 0.34, 0.67, 1])
    assert turned.error == pytest.approx(found.error)
    for share in (30, 200, 370):
        tied = np.r_[np.full(share, 0.4), np.full(400 - share, 0.6)]
        truth = (tied > 0.5).astype(int)
        one, other = (
            likert_error(y, p, edges=[0, 0.3, 0.7, 1]).error for y, p in ((truth, tied), (1 - truth, 1 - tied))
        )
        assert one == pytest.approx(0.3) == other


def test_words_by_the_cells_of_the_paper() -> None:
    rng = np.random.default_rng(1)
    for p in (rng.random(467), rng.integers(0, 9, 467) / 8, np.minimum(rng.random(467), 0.7)):
        y = (rng.random(467) < p**2).astype(int)
        found = likert_error(y, p)
        total = 0.0
        for band, (low, high) in zip(found.bands, ((0, 0.33), (0.33, 0.66), (0.66, 1)), strict=True):
            held = [i for i in range(467) if low <= p[i] < high or (high == 1 and p[i] >= low)]
            error = 0.0
            for cell in halves(held, p.tolist(), 0.1 * len(held)):
                rate = sum(int(y[i]) for i in cell) / len(cell)
                error += len(cell) / len(held) * max(0.0, low - rate, rate - high)
            assert band.error == pytest.approx(error, abs=1e-12)
            total += error * len(held) / 467
            # The generalised error of the selected rows with the distance of eq. 7.
            closed = "both" if high == 1 else "left"
            words = {"lens": "binary", "distance": "interval", "interval": (low, high), "binning": cal.KDTree()}
            where = cal.select.output(low, high, closed=closed)
            assert band.error == pytest.approx(call(cal.gece, y, p, where=where, **words), abs=1e-12)
        assert found.error == pytest.approx(total)
        assert found.error >= likert_error(y, p, within="one").error - 1e-12
    finer = likert_error(y, p, within=cal.KDTree(gamma=0.05)).error
    assert finer >= likert_error(y, p, within=cal.KDTree(gamma=0.5)).error


def test_words_weights_and_ends() -> None:
    empty = likert_error([0, 1], [0.1, 0.2])
    assert empty["high"].rows == 0
    assert math.isnan(empty["high"].error)
    assert math.isnan(call(likert_error, **B, sample_weight=[0.5] * 10)["low"].pvalue)
    assert call(likert_error, **B, edges=[0, 0.5, 1])["0.5 to 1"].rows == 5


def test_routes_have_their_checked_values() -> None:
    words: dict[str, Any] = {"errors": {"review": 0.05}, "cost": {"error": 10, "review": 1}, "volume": 1000}
    found = call(review_routing, **D, accept=0.55, **words)
    assert (found.system_error, found.claimed_system_error, found.cost) == pytest.approx((0.2625, 0.2625, 2.875))
    assert found.calibrated_accept == pytest.approx(0.85)
    accept, review = found.routes
    assert (accept.workload, review.workload) == (750, 250)
    assert review.workload_sd == pytest.approx(math.sqrt(1000 * 0.75 * 0.25))
    assert (accept.error_low, accept.error_high) == pytest.approx(tuple(stats.binomtest(2, 6).proportion_ci(0.95)))
    assert accept.cost + review.cost == pytest.approx(found.cost)
    found = call(review_routing, **D, accept=0.65, **words)
    assert (found.system_error, found.claimed_system_error, found.cost) == pytest.approx((0.03125, 0.13125, 0.9375))
    assert call(review_routing, **D, **words).accept == 0.7  # the cheapest
    assert call(review_routing, **D, **words).cost == pytest.approx(0.9375)


def test_capacity_takes_whole_groups() -> None:
    for capacity, accept in ((0, 0.5), (0.2, 0.5), (0.25, 0.6), (0.6, 0.6), (0.625, 0.7), (1, math.inf)):
        found = call(review_routing, **D, capacity=8 * capacity, volume=8)
        assert found.accept == accept
        assert found.routes[1].workload <= 8 * capacity


def test_three_ways() -> None:
    costs = {"error": 10, "review": 1, "fallback": 0.5}
    found = review_routing(**D, accept=0.65, review=0.55, errors={"review": 0.1, "fallback": 0.2}, cost=costs)
    assert [(route.name, route.share) for route in found.routes] == [
        ("accept", 0.375),
        ("review", 0.375),
        ("fallback", 0.25),
    ]
    assert found.system_error == pytest.approx(0.375 * 0 + 0.375 * 0.1 + 0.25 * 0.2)
    assert found.cost == pytest.approx(10 * found.system_error + 0.375 * 1 + 0.25 * 0.5)
    assert math.fsum(route.cost for route in found.routes) == pytest.approx(found.cost)


def test_routing_tables_are_the_literal_ones() -> None:
    labels, probs = data(5, 60)
    probs = np.round(probs, 1)
    probs[:, 2] = np.round(1 - probs[:, 0] - probs[:, 1], 1)
    counts = np.random.default_rng(0).integers(0, 3, 60)
    words: dict[str, Any] = {"errors": {"review": 0.1}, "cost": {"error": 5, "review": 1}}
    weighed = call(review_routing, labels, np.abs(probs), counts=counts, normalize=True, **words)
    frame = weighed.to_frame()
    assert len(frame) == len(weighed.table["threshold"])
    plain = np.repeat(np.abs(probs), counts, axis=0)
    plain = plain / plain.sum(axis=1, keepdims=True)
    wrong, sure = plain.argmax(axis=1) != np.repeat(labels, counts), plain.max(axis=1)
    for t, cost in zip(weighed.table["threshold"], weighed.table["cost"], strict=True):
        kept = sure >= t
        assert cost == pytest.approx((5.0 * np.where(kept, wrong, 0.1) + ~kept).mean())


def test_top_k_has_its_checked_values() -> None:
    for k, accuracy, confidence in ((1, 0.5, 0.625), (2, 0.875, 0.875), (3, 1, 1), (9, 1, 1)):
        assert call(topk_accuracy, **D, k=k) == pytest.approx(accuracy)
        assert call(topk_confidence, **D, k=k) == pytest.approx(confidence)
    assert topk_accuracy([1, 2], [[0.4, 0.4, 0.2], [0.2, 0.4, 0.4]], k=1) == 0  # the lower class comes first


def test_prudent_bounds_have_their_checked_values() -> None:
    n = [100, 400, 300]
    checks: list[tuple[dict[str, Any], list[float]]] = [
        ({}, [0.002874093229, 0.003284003103, 0.007645903868]),
        ({"level": 0.5}, [0.0008660587302, 0.0009897201615, 0.002307823473]),
        ({"events": [0, 2, 1]}, [0.008331782191, 0.00951890538, 0.01290344847]),
        ({"level": 0.5, "correlation": 0.12}, [0.001534584086, 0.001729817411, 0.003701570782]),
        ({"correlation": 0.12}, [0.008643477291, 0.0096177572, 0.01891253149]),
    ]
    for words, expected in checks:
        assert pluto_tasche(n, **words).bound.tolist() == pytest.approx(expected, rel=1e-9)
    pooled = np.cumsum(n[::-1])[::-1]
    np.testing.assert_allclose(pluto_tasche(n, level=0.75).bound, 1 - 0.25 ** (1 / pooled), rtol=1e-12)


def test_prudent_bounds_rise_and_solve_their_equation() -> None:
    found = pluto_tasche([50, 50, 200], [3, 0, 1], grades=["A", "B", "C"])
    assert (np.diff(found.bound) >= 0).all()
    assert list(found.to_frame()["grade"]) == ["A", "B", "C"]
    rho, n, k = 0.2, 250, 1

    def chance(p: float) -> float:
        def inner(y: float) -> float:
            rate = stats.norm.cdf((stats.norm.ppf(p) - math.sqrt(rho) * y) / math.sqrt(1 - rho))
            return float(stats.binom.cdf(k, n, rate) * stats.norm.pdf(y))

        return integrate.quad(inner, -9, 9, epsabs=1e-12, limit=200)[0] - 0.1

    expected = optimize.brentq(chance, 1e-6, 0.9, xtol=1e-13)
    assert pluto_tasche([50, 200], [0, 1], correlation=rho).bound[0] == pytest.approx(expected, rel=1e-7)
    assert pluto_tasche([5], [5]).bound.tolist() == [1.0]


def test_largest_regret_is_that_of_acting_by_the_scores_at_one_threshold() -> None:
    rng = np.random.default_rng(0)
    for shift in (-0.2, 0.2):
        y = (rng.random(300) < 0.5).astype(int)
        p = np.clip(np.round(rng.random(300) + shift, 2), 0, 1)
        worst = largest_regret(y, p)
        near = np.concatenate([[0, 1], np.unique(p) - 1e-9, np.unique(p) + 1e-9])
        losses = np.array([[np.mean(np.where(act, v - y, y - v)) for act in (p >= v, True, False)] for v in near])
        assert worst.regret == pytest.approx(np.max(losses[:, 0] - losses[:, 1:].min(axis=1)), abs=1e-6)
        assert worst.regret == cal.u_cal(y, p)
        assert worst.better == ("all" if shift < 0 else "none")
    assert largest_regret([0, 1], [0.1, 0.9]).regret == 0
