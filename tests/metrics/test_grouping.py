"""The grouping loss against slow definitions, exact enumeration of discrete features, a peer's tree, and simulated levels."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.metrics.grouping import Partition, Sample, Tree, estimate, split_features, squared_mean
from tests.calling import call, raises

# A population of six kinds of rows: (feature 0, feature 1, share, score, probability of the event). Scores of 1/4 and 3/4 are
# shared by kinds of different probability, and 1/2 is miscalibrated.
KINDS = [
    (0, 0, Fraction(2, 10), Fraction(1, 4), Fraction(1, 10)),
    (0, 1, Fraction(1, 10), Fraction(1, 4), Fraction(5, 10)),
    (1, 0, Fraction(2, 10), Fraction(1, 2), Fraction(3, 10)),
    (1, 1, Fraction(1, 10), Fraction(1, 2), Fraction(3, 10)),
    (2, 0, Fraction(1, 10), Fraction(3, 4), Fraction(9, 10)),
    (2, 1, Fraction(3, 10), Fraction(3, 4), Fraction(7, 10)),
]


def population() -> dict[str, Fraction]:
    """The exact parts of the Brier score, from their definitions."""
    shares = {score: sum(k[2] for k in KINDS if k[3] == score) for score in {k[3] for k in KINDS}}
    rates = {score: sum(k[2] * k[4] for k in KINDS if k[3] == score) / share for score, share in shares.items()}
    return {
        "value": sum(k[2] * (k[4] * (k[3] - 1) ** 2 + (1 - k[4]) * k[3] ** 2) for k in KINDS),
        "calibration": sum(k[2] * (k[3] - rates[k[3]]) ** 2 for k in KINDS),
        "grouping": sum(k[2] * (rates[k[3]] - k[4]) ** 2 for k in KINDS),
        "irreducible": sum(k[2] * k[4] * (1 - k[4]) for k in KINDS),
    }


def rows(n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    kind = rng.choice(6, n, p=[float(k[2]) for k in KINDS])
    table = np.array([[float(value) for value in k] for k in KINDS])[kind]
    return (rng.random(n) < table[:, 4]).astype(int), table[:, 3], table[:, :2]


def test_the_parts_of_a_known_population_add_up() -> None:
    parts = population()
    assert parts["value"] == parts["calibration"] + parts["grouping"] + parts["irreducible"]
    assert parts["grouping"] > parts["calibration"] > 0


def slow_squared_mean(members: list[tuple[float, float]]) -> float:
    """The mean product of two different rows."""
    pairs = [(w * v, a * b) for (w, a), (v, b) in itertools.permutations(members, 2)]
    return sum(weight * value for weight, value in pairs) / sum(weight for weight, _ in pairs)


def slow_terms(score: Any, outcome: Any, weight: Any, bins: Any, part: Any, region: Any) -> list[float]:
    """Calibration, explained and induced loss in plain loops."""
    total = sum(weight)
    calibration = explained = induced = 0.0
    for b in set(bins):
        own = [i for i in range(len(score)) if bins[i] == b]
        mass = sum(weight[i] for i in own)
        calibration += mass / total * slow_squared_mean([(weight[i], score[i] - outcome[i]) for i in own])
        middle = sum(weight[i] * score[i] for i in own) / mass
        rate = sum(weight[i] * outcome[i] for i in own) / mass
        spread = sum(weight[i] * (score[i] - middle) ** 2 for i in own)
        slope = sum(weight[i] * (score[i] - middle) * (outcome[i] - rate) for i in own) / spread
        left = [outcome[i] - rate - slope * (score[i] - middle) for i in own]
        error = sum((weight[i] * (score[i] - middle) * r) ** 2 for i, r in zip(own, left, strict=True)) / spread**2
        induced += (slope**2 - error) * spread / total
    for r in set(region):
        own = [i for i in range(len(score)) if region[i] == r]
        whole = [i for i in range(len(score)) if part[i] == part[own[0]]]
        gain = slow_squared_mean([(weight[i], outcome[i]) for i in own]) - slow_squared_mean(
            [(weight[i], outcome[i]) for i in whole]
        )
        explained += sum(weight[i] for i in own) / total * gain
    return [calibration, explained, induced]


@pytest.mark.parametrize("seed", range(4))
def test_estimates_are_those_of_the_slow_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 61
    score = np.round(rng.random(n), 1 if seed % 2 else 6)
    weight = np.ones(n) if seed < 2 else rng.gamma(2, size=n)
    sample = Sample(score, rng.integers(0, 2, n).astype(float), weight, rng.normal(size=(n, 2)))
    part = np.arange(n) % 4
    region = part * 3 + np.arange(n) // 4 % 3
    names, region = np.unique(region, return_inverse=True)
    partition = Partition(part % 2, 2, part, 4, region, len(names), names // 3)
    expected = slow_terms(score, sample.outcome, weight, part % 2, part, region)
    expected[2] = max(expected[2], 0)
    assert list(estimate(sample, partition)) == pytest.approx(expected, abs=1e-12)
    assert np.isnan(squared_mean(np.ones(1), np.ones(1), np.zeros(1, np.intp), 1)[0])


def test_regions_are_the_leaves_of_a_regression_tree() -> None:
    trees = pytest.importorskip("sklearn.tree")
    rng = np.random.default_rng(0)
    for weight in (np.ones(300), rng.gamma(3, size=300)):  # the time is that of importing scikit-learn
        x = np.column_stack([rng.normal(size=300), rng.integers(0, 4, 300), rng.normal(size=300)])
        y = rng.normal(size=300) + (x[:, 0] > 0.3) * x[:, 1]
        peer = trees.DecisionTreeRegressor(max_leaf_nodes=6, min_samples_leaf=10, random_state=0)
        leaf = peer.fit(x, y, weight).apply(x)
        own = Tree(x, y, weight, 6).leaves(x)
        assert len(set(zip(leaf.tolist(), own.tolist(), strict=True))) == len(set(own.tolist())) == 6


def test_held_out_labels_do_not_change_their_regions() -> None:
    rng = np.random.default_rng(3)
    n = 400
    sample = Sample(rng.random(n), rng.integers(0, 2, n).astype(float), np.ones(n), rng.normal(size=(n, 3)))
    cell = (sample.score * 3).astype(np.intp)
    first = split_features(sample, cell, 3, 2, None, np.random.default_rng(0))
    held = first.part // 3 == 1
    other = sample._replace(outcome=np.where(held, 1 - sample.outcome, sample.outcome))
    second = split_features(other, cell, 3, 2, None, np.random.default_rng(0))
    pairs = set(zip(first.region[held].tolist(), second.region[held].tolist(), strict=True))
    assert len(pairs) == len(set(first.region[held].tolist())) == len(set(second.region[held].tolist()))


DESIGNS = ["continuous", "ties", "steep", "rare"]


def without_grouping(design: str, n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Rows whose probability depends on the features through the score alone, calibrated or not."""
    x = rng.normal(size=(n, 4))
    z = x[:, 0] + x[:, 1]
    score = 1 / (1 + np.exp(-z))
    if design == "ties":
        score = np.round(score, 1)
    if design == "rare":
        score = 0.06 * score
    rate = 1 / (1 + np.exp(-4 * z)) if design == "steep" else score
    return (rng.random(n) < rate).astype(int), score, x


@pytest.mark.parametrize(("design", "bins"), [*((design, None) for design in DESIGNS), ("steep", 2)])
def test_the_level_holds_and_the_lower_limit_is_at_most_the_loss(design: str, bins: int | None, deep: bool) -> None:
    """The features determine the score: permuting them within two wide bins would reject nearly always."""
    repeats, rng = (400 if deep else 20), np.random.default_rng(DESIGNS.index(design))
    rejected = above = 0
    for number in range(repeats):
        y, p, x = without_grouping(design, 500, rng)
        data = cal.Predictions(y, p, features=x)
        found = cal.metrics.grouping_loss(data, bins=bins, level=0.8, n_resamples=49, rng=number)
        rejected += found.pvalue <= 0.1
        above += found.low > 0  # in 10% of the samples at most
    assert abs(rejected - 0.1 * repeats) <= 4 * np.sqrt(0.09 * repeats)
    assert bins is not None or above <= 0.1 * repeats + 4 * np.sqrt(0.09 * repeats)


def test_a_grouping_loss_is_found_and_covered(deep: bool) -> None:
    truth, covered, power, repeats = float(population()["grouping"]), 0, 0, 200 if deep else 10
    rng = np.random.default_rng(9)
    for number in range(repeats):
        y, p, x = rows(800, rng)
        result = cal.metrics.grouping_loss(cal.Predictions(y, p, features=x), level=0.9, n_resamples=100, rng=number)
        covered += result.low <= truth <= result.high
        power += result.pvalue <= 0.05
    assert power >= 0.8 * repeats
    assert covered >= 0.9 * repeats - 4 * np.sqrt(0.9 * 0.1 * repeats)


class TestInput:
    """Containers, weights, lenses and messages."""

    y, p, x = rows(307, np.random.default_rng(2))

    def test_counts_are_copies_and_weights_have_no_unit(self) -> None:
        counts = np.random.default_rng(0).integers(0, 4, 307)
        repeated = np.repeat(np.arange(307), counts)
        expected = cal.metrics.grouping_loss(
            cal.Predictions(self.y[repeated], self.p[repeated], features=self.x[repeated]), n_resamples=9
        )
        assert (
            cal.metrics.grouping_loss(cal.Predictions(self.y, self.p, features=self.x, counts=counts), n_resamples=9)
            == expected
        )
        weight = np.random.default_rng(0).gamma(2, size=307)
        first = cal.metrics.grouping_loss(
            cal.Predictions(self.y, self.p, features=self.x, sample_weight=weight), n_resamples=0
        )
        second = cal.metrics.grouping_loss(
            cal.Predictions(self.y, self.p, features=self.x, sample_weight=8 * weight), n_resamples=0
        )
        assert first.grouping == pytest.approx(second.grouping, abs=1e-14)

    def test_lenses_with_one_event(self) -> None:
        rng = np.random.default_rng(7)
        probs = rng.dirichlet(np.ones(4), 401)
        y = rng.integers(0, 4, 401)
        x = rng.normal(size=401)
        for lens in ("top_label", "class:2", "ordinal:1"):
            result = cal.metrics.grouping_loss(cal.Predictions(y, probs, features=x), lens=lens, n_resamples=9)
            assert (result.lens, result.value) == (lens, pytest.approx(cal.brier(y, probs, lens=lens)))
        assert cal.metrics.grouping_loss(cal.Predictions(y, probs, features=x), n_resamples=0).lens == "top_label"
        for lens in ("classwise", "ordinal", "canonical"):
            with raises(cal.errors.LensError, "lens"):
                cal.metrics.grouping_loss(cal.Predictions(y, probs, features=x), lens=lens)

    @pytest.mark.parametrize("features", [np.zeros((307, 2)), np.zeros((307, 0))])
    def test_constant_features_explain_nothing(self, features: Any) -> None:
        result = cal.metrics.grouping_loss(cal.Predictions(self.y, self.p, features=features), n_resamples=9)
        assert (result.explained, result.pvalue, result.lower_bound) == (pytest.approx(0, abs=1e-15), 1, 0)
        assert "no bin could be divided into regions: the features are constant" in str(result)

    def test_extreme_scores_and_labels(self) -> None:
        with pytest.warns(cal.errors.HardPredictionsWarning):
            one = cal.metrics.grouping_loss(
                cal.Predictions(np.ones(50, int), np.ones(50), features=np.arange(50)), n_resamples=9
            )
        assert (one.value, one.calibration, one.grouping, one.irreducible, one.pvalue) == (0, 0, 0, 0, 1)
        assert one.note == "no bin could be divided into regions: all outcomes are equal"
        whole = cal.metrics.grouping_loss(
            cal.Predictions(np.ones(50, int), np.linspace(0.1, 0.9, 50), features=np.arange(50)), n_resamples=400
        )
        assert np.isnan([whole.low, whole.high]).all()
        assert whole.note.endswith("all outcomes are equal")
        with raises(cal.errors.UndefinedMetricError, "grouping_loss"):
            cal.metrics.grouping_loss(cal.Predictions([0, 1, 1, 0], [0.1, 0.9, 1, 0], features=[1, 2, 3, 4]))
        few = cal.metrics.grouping_loss(
            cal.Predictions([0, 1] * 20, np.linspace(0, 1, 40), features=np.arange(40) % 7), n_resamples=9
        )
        assert few.value == pytest.approx(few.calibration + few.grouping + few.irreducible, abs=1e-15)
        assert few.note.endswith("too few rows per bin, or features that are constant within bins")

    @pytest.mark.parametrize("decimals", [1, 2, 12])
    def test_the_order_of_rows_has_no_effect(self, decimals: int) -> None:
        rng = np.random.default_rng(11)
        p, x = rng.random(300).round(decimals), rng.integers(0, 3, (300, 2))
        y, weight = (rng.random(300) < p).astype(int), rng.integers(1, 3, 300) / 2
        for extra in ({}, {"sample_weight": weight}, {"counts": (2 * weight).astype(int)}):
            expected = call(cal.metrics.grouping_loss, y, p, features=x, n_resamples=49, **extra)
            for seed in range(3):
                at = np.random.default_rng(seed).permutation(300)
                moved = {keyword: values[at] for keyword, values in extra.items()}
                assert (
                    call(cal.metrics.grouping_loss, y[at], p[at], features=x[at], n_resamples=49, **moved) == expected
                )
        one, other = (
            cal.metrics.grouping_loss(cal.Predictions(y, p, features=x), bins=2, n_resamples=0, rng=seed)
            for seed in range(2)
        )
        assert one.explained != other.explained
