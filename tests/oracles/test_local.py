"""Local metrics: checked values, identities, limits, and the fast paths against plain ones on many rows."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import calibrant as cal
from calibrant.metrics.kernel import neighbours as _neighbours
from calibrant.metrics.kernel.anchors import anchor_tests, centres_of, neighbours_for_power
from tests.calling import call, raises


def draw(n: int, k: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, n, k])
    p = rng.dirichlet(np.ones(k), n)
    y = (rng.random((n, 1)) > (p**0.7 / (p**0.7).sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(axis=1)
    return y, p[:, 1].copy() if k == 2 else p


def gaps_of(y: np.ndarray, p: np.ndarray) -> np.ndarray:
    return (p - y)[:, None] if p.ndim == 1 else p - np.eye(p.shape[1])[y]


# klce


def test_klce_in_tiles_is_klce_at_once() -> None:
    y, p = draw(2500, 3)
    features = np.random.default_rng(2).normal(size=(2500, 2))
    gaps = gaps_of(y, p)
    kernel = np.exp(-cdist(p, p, "sqeuclidean") / 0.04 - cdist(features, features, "sqeuclidean") / 0.25)
    np.fill_diagonal(kernel, 0)
    expected = float((gaps * (kernel @ gaps)).sum()) / (2500 * 2499)
    found = cal.klce(cal.Predictions(y, p, features=features), bandwidth=0.5, score_bandwidth=0.2)
    assert found == pytest.approx(expected, abs=1e-14)


def test_the_median_distance_of_many_rows_is_free_of_order_and_counts() -> None:
    rng = np.random.default_rng(3)
    features, counts = rng.normal(size=(1500, 2)), rng.integers(1, 4, 1500).astype(float)
    order = rng.permutation(1500)
    plain = _neighbours.median_distance(features, np.ones(1500), False)
    assert plain == _neighbours.median_distance(features[order], np.ones(1500), False)
    assert plain == pytest.approx(float(np.median(cdist(features, features)[np.triu_indices(1500, 1)])), rel=0.03)
    counted = _neighbours.median_distance(features, counts, False)
    assert counted == _neighbours.median_distance(
        np.repeat(features, counts.astype(int), axis=0), np.ones(int(counts.sum())), False
    )
    weighted = _neighbours.median_distance(features, counts, True)
    assert weighted == pytest.approx(_neighbours.median_distance(features, counts * 0.3, True), rel=1e-12)


def test_the_median_distance_falls_back_to_the_mean() -> None:
    features = np.zeros((9, 1))
    features[0] = 3.0
    assert _neighbours.median_distance(features, np.ones(9), False) == pytest.approx(8 * 3 / 36)
    assert _neighbours.median_distance(np.ones((9, 1)), np.ones(9), False) == 1


# ecmmd


def test_ties_for_the_last_place_share_it() -> None:
    # The row at 0.5 has one neighbour; those at 0.4 and 0.6 are equally near, and each is half of it.
    y, p = [1, 0, 1], [0.4, 0.5, 0.6]
    gaps = np.array(p) - y
    expected = (gaps[0] * gaps[1] + gaps[1] * (gaps[0] + gaps[2]) / 2 + gaps[2] * gaps[1]) / 3
    assert cal.ecmmd(y, p, neighbours=1) == pytest.approx(expected, abs=1e-16)
    # Of equal forecasts every row is as near as any other.
    labels = np.array([0, 1, 1, 1, 0, 1])
    gaps = 0.7 - labels
    expected = (gaps.sum() ** 2 - (gaps**2).sum()) / (6 * 5)
    assert cal.ecmmd(labels, np.full(6, 0.7), neighbours=2) == pytest.approx(expected, abs=1e-16)


def test_neighbours_one_rounding_apart_are_told_apart() -> None:
    """Distances far below the rounding of a sum of scores, where only exact differences see which is nearer."""
    step = 2.0**-53
    p = np.array([0.5 - 3 * step, 0.5, 0.5 + 2 * step, 0.5 + 8 * step])
    y = np.array([0, 1, 0, 1])
    nearest = [1, 2, 1, 2]  # 0.5 + 2 steps is nearer to 0.5 than 0.5 - 3 steps
    gaps = p - y
    assert cal.ecmmd(y, p, neighbours=1) == pytest.approx(float(np.mean(gaps * gaps[nearest])), abs=1e-15)


@pytest.mark.parametrize(("k", "columns"), [(2, 1), (3, 3), (5, 5), (12, 12)])
def test_many_neighbours_are_the_nearest(k: int, columns: int) -> None:
    y, p = draw(1500, k)
    gaps = gaps_of(y, p)
    place = p.reshape(1500, -1)
    distance = cdist(place, place)
    np.fill_diagonal(distance, np.inf)
    nearest = np.argsort(distance, axis=1)[:, :39]
    expected = float((gaps * gaps[nearest].mean(axis=1)).sum(axis=1).mean())
    assert place.shape[1] == columns
    assert cal.ecmmd(y, p) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("columns", [2, 9])
def test_line_and_space_give_the_same_neighbours(columns: int) -> None:
    """One feature, alone on a line or with constant ones beside it; many ties, more than a first search reaches."""
    rng = np.random.default_rng(5)
    y, p = draw(400)
    for values in (
        rng.normal(size=400),
        rng.integers(0, 6, 400),
        rng.integers(0, 3, 400) + 1e-3 * (np.arange(400) % 2),
    ):
        padded = np.zeros((400, columns))
        padded[:, 0] = values
        for neighbours in (1, 3, 20, 70):
            words = {"space": "features", "neighbours": neighbours}
            line = call(cal.ecmmd, y, p, features=values, **words)
            assert call(cal.ecmmd, y, p, features=padded, **words) == pytest.approx(line, abs=1e-14)


def test_ties_beyond_the_first_search_are_found() -> None:
    """Every corner of a cube is equally far from its centre."""
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 5)).reshape(5, -1).T
    features = np.vstack([np.zeros(5), corners])
    y, p = draw(33)
    gaps = p - y
    value = 0.0
    for i, place in enumerate(features):
        distance = np.sqrt(((features - place) ** 2).sum(axis=1))
        distance[i] = np.inf
        last = np.sort(distance)[1]
        inner, edge = distance < last - 1e-9, np.abs(distance - last) < 1e-9
        value += gaps[i] * (gaps[inner].sum() + (2 - inner.sum()) * gaps[edge].mean()) / 2 / 33
    assert cal.ecmmd(cal.Predictions(y, p, features=features), space="features", neighbours=2) == pytest.approx(
        value, abs=1e-15
    )


@pytest.mark.parametrize("k", [2, 3])
def test_drawn_labels_average_to_the_residuals(k: int) -> None:
    y, p = draw(40, k)
    values = [cal.ecmmd(y, p, derandomised=False, rng=seed, n_draws=10) for seed in range(120)]
    error = np.std(values) / math.sqrt(120)
    assert abs(np.mean(values) - cal.ecmmd(y, p)) < 4 * error
    assert error < 0.01


def test_a_seed_gives_the_same_draw_in_any_order() -> None:
    y, p = draw(50, 3)
    counts = np.random.default_rng(6).integers(1, 4, 50)
    order = np.random.default_rng(7).permutation(50)
    words = {"derandomised": False, "rng": 3, "n_draws": 2}
    value = call(cal.ecmmd, y, p, counts=counts, **words)
    assert call(cal.ecmmd, y[order], p[order], counts=counts[order], **words) == pytest.approx(value, abs=1e-14)
    rows = np.repeat(np.arange(50), counts)
    assert call(cal.ecmmd, y[rows], p[rows], **words) == pytest.approx(value, abs=1e-14)


# lce, mlce


@pytest.mark.parametrize("bandwidth", [0.01, 0.5, 20.0])
def test_one_feature_in_a_pass_is_the_same_in_tiles(bandwidth: float) -> None:
    y, p = draw(4000)
    feature = np.random.default_rng(9).normal(size=4000) ** 3
    pair = np.column_stack([feature, np.zeros(4000)])
    for metric in (cal.lce, cal.mlce):
        words = {"bins": 3, "bandwidth": bandwidth, "standardise": False}
        assert call(metric, y, p, features=feature, **words) == pytest.approx(
            call(metric, y, p, features=pair, **words), abs=1e-12
        )
        # A constant feature is dropped, so that one that varies is left.
        words["standardise"] = True
        assert call(metric, y, p, features=feature, **words) == pytest.approx(
            call(metric, y, p, features=pair, **words), abs=1e-15
        )


# knn_chi2


def test_anchors_are_tested_one_by_one() -> None:
    y, p = draw(3000, 3)
    view = cal.views.VectorView(p, y, None)
    tests = anchor_tests(view)
    assert len(tests) == 6
    assert cal.knn_chi2(y, p) == min(tests, key=lambda test: test.pvalue).statistic
    for test in tests:
        nearest = np.argsort(((p - test.anchor) ** 2).sum(axis=1))[: test.neighbours]
        counts = np.bincount(y[nearest], minlength=3)
        expected = test.neighbours * test.anchor
        assert test.degrees == 2
        assert test.statistic == pytest.approx(float(((counts - expected) ** 2 / expected).sum()), rel=1e-9)
        assert test.neighbours < 3000


def test_the_neighbours_reach_the_power_that_was_asked_for() -> None:
    from scipy.stats import chi2, ncx2

    # Of two classes a deviation of size eps has two directions, and by symmetry one size.
    anchor, eps = np.array([0.5, 0.5]), 0.1
    k = neighbours_for_power(anchor, eps, 0.8, 0.05, 10**6)
    reach = eps**2 / 0.5
    assert ncx2.sf(chi2.isf(0.05, 1), 1, k * reach) >= 0.8 > ncx2.sf(chi2.isf(0.05, 1), 1, (k - 1) * reach)
    assert neighbours_for_power(anchor, eps, 0.9, 0.05, 10**6) > k
    assert neighbours_for_power(anchor, eps / 2, 0.8, 0.05, 10**6) == pytest.approx(4 * k, abs=4)
    assert neighbours_for_power(anchor, eps, 0.8, 0.05, 100) == 100
    skewed = np.array([0.6, 0.3, 0.1])
    assert neighbours_for_power(skewed, eps, 0.8, 0.05, 10**6) == neighbours_for_power(
        skewed[::-1], eps, 0.8, 0.05, 10**6
    )


def test_centres_are_those_of_clear_clusters() -> None:
    rng = np.random.default_rng(11)
    middles = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    rows = (middles[:, None] + rng.uniform(-0.02, 0.02, (3, 50, 3))).reshape(-1, 3)
    rows, _ = _neighbours.distinct_rows(rows)
    found = centres_of(rows, np.ones(150), 3)
    assert np.abs(np.sort(found, axis=0) - np.sort(middles, axis=0)).max() < 0.02
    assert (centres_of(rows[:2], np.ones(2), 6) == rows[:2]).all()


def test_rare_classes_are_taken_together() -> None:
    y = np.repeat([0, 1, 2, 3], [50, 40, 7, 3])
    p = np.tile([0.6, 0.34, 0.04, 0.02], (100, 1))
    # Expected 60, 34, 4 and 2: the last two are one cell of 6.
    expected = 10**2 / 60 + 6**2 / 34 + 4**2 / 6
    assert cal.knn_chi2(y, p, neighbours=100) == pytest.approx(expected, rel=1e-12)
    apart = 10**2 / 60 + 6**2 / 34 + 3**2 / 4 + 1**2 / 2
    assert cal.knn_chi2(y, p, neighbours=100, min_expected=0) == pytest.approx(apart, rel=1e-12)
    # Two classes of 2 are too rare even together, so the next rarest joins them.
    p = np.tile([0.6, 0.36, 0.02, 0.02], (100, 1))
    assert cal.knn_chi2(y, p, neighbours=100) == pytest.approx(10**2 / 60 + 10**2 / 40, rel=1e-12)


@pytest.mark.filterwarnings("ignore::calibrant.errors.InputWarning")
def test_what_cannot_happen_and_does_is_infinitely_unlikely() -> None:
    sure = np.eye(3)[np.arange(90) % 3]
    right = np.arange(90) % 3
    with raises(cal.errors.UndefinedMetricError, "knn_chi2"):
        cal.knn_chi2(right, sure)
    wrong = right.copy()
    wrong[0] = 1
    assert cal.knn_chi2(wrong, sure) == math.inf
