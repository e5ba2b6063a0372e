"""Intervals of calibrated probabilities, against resamples written out and the Wald interval."""

import copy
import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.binning.rules import Edges
from calibrant.errors import ArgumentError, InputTypeError, NotFittedError, UndefinedMetricError
from calibrant.inference.replicates import Replicates
from calibrant.recalibration.methods import METHODS

DATA = cal.inference.make_miscalibrated(800, warp=cal.inference.simulation.temperature(1.7), rng=0)
THREE = cal.inference.make_miscalibrated(
    300, distribution=(1, 1, 1), warp=cal.inference.simulation.temperature(1.7), rng=0
)
AT = np.array([0.02, 0.3, 0.5, 0.9])


def test_the_ends_are_quantiles_of_refits() -> None:
    y, p = DATA.y_true[:100], DATA.y_prob[:100]
    calibrator = cal.ScalingBinning(bins=4).fit(p, y)
    found = calibrator.predict_interval(AT, n_resamples=20, level=0.8, rng=3)
    draws = Replicates(100, 20, 3)
    refits = [copy.deepcopy(calibrator).fit(p[rows], y[rows]) for rows in map(draws.rows, range(20))]
    values = np.array([refit.predict_proba(AT)[:, 1] for refit in refits])
    low, high = np.quantile(values, [0.1, 0.9], axis=0)
    assert found.low == pytest.approx(low, abs=1e-9)
    assert found.high == pytest.approx(high, abs=1e-9)
    assert found.probability == pytest.approx(calibrator.predict_proba(AT)[:, 1])


def logistic_features(p: Any) -> Any:
    return np.column_stack([np.ones(len(p)), np.log(p / (1 - p))])


def beta_features(p: Any) -> Any:
    return np.column_stack([np.ones(len(p)), np.log(p), -np.log1p(-p)])


FORMS = [
    (cal.PlattScaling(), logistic_features),
    (cal.QuadraticLogit(), lambda p: np.column_stack([logistic_features(p), logistic_features(p)[:, 1] ** 2])),
    (cal.BetaCalibration(), beta_features),
    (cal.BetaCalibration(parameters="ab"), lambda p: beta_features(p)[:, 1:] + [math.log(2), -math.log(2)]),
    (cal.BetaCalibration(parameters="am"), logistic_features),
    (cal.BetaCalibration(parameters="a"), lambda p: logistic_features(p)[:, 1:]),
    (cal.TemperatureScaling(), lambda p: logistic_features(p)[:, 1:]),
]


@pytest.mark.parametrize(("calibrator", "features"), FORMS)
@pytest.mark.parametrize("kind", ["unit", "counts", "sample_weight"])
def test_logistic_curves_have_their_wald_interval(calibrator: Any, features: Any, kind: str) -> None:
    y, p, weight = DATA.y_true, DATA.y_prob, 1 + np.arange(800) % 3
    weight = np.ones(800) if kind == "unit" else weight
    calibrator = copy.deepcopy(calibrator).fit(p, y, **({} if kind == "unit" else {kind: weight}))
    found = calibrator.predict_interval(AT, level=0.9)
    rate, center = (calibrator.apply(calibrator._read(each))[:, 1] for each in (p, AT))
    x, new = features(p), features(AT)
    covariance = np.linalg.inv((x * (weight * rate * (1 - rate))[:, None]).T @ x)
    if kind == "sample_weight":
        own = x * (weight * (y - rate))[:, None]
        covariance = covariance @ own.T @ own @ covariance
    spread = 1.6448536269514722 * np.sqrt(np.einsum("ij,jk,ik->i", new, covariance, new))
    wald = [1 / (1 + np.exp(sign * spread) * (1 - center) / center) for sign in (1, -1)]
    assert found.low == pytest.approx(wald[0], abs=1e-9)
    assert found.high == pytest.approx(wald[1], abs=1e-9)
    assert found.n_resamples == 0


def test_a_temperature_of_several_classes_has_the_limits_of_its_information() -> None:
    calibrator = cal.TemperatureScaling().fit(THREE.y_prob, THREE.y_true)
    factor, z = 1 / calibrator.temperature_, np.log(THREE.y_prob)

    def probabilities(factor: float) -> Any:
        return np.exp(factor * z) / np.exp(factor * z).sum(axis=1, keepdims=True)

    def loss(factor: float) -> float:
        return -float(np.log(probabilities(factor)[np.arange(300), THREE.y_true]).sum())

    step = 1e-3
    error = ((loss(factor + step) - 2 * loss(factor) + loss(factor - step)) / step**2) ** -0.5
    odds = [np.log(each / (1 - each)) for each in map(probabilities, (factor - 1e-6, factor, factor + 1e-6))]
    half = 1.959963984540054 * error * np.abs(odds[2] - odds[0]) / 2e-6
    found = calibrator.predict_interval(THREE.y_prob[:9])
    assert found.low == pytest.approx((1 / (1 + np.exp(half - odds[1])))[:9], abs=1e-6)
    assert found.high == pytest.approx((1 / (1 + np.exp(-half - odds[1])))[:9], abs=1e-6)


@pytest.mark.parametrize("closed", ["left", "right"])
def test_bins_have_the_exact_limits_of_their_rate(closed: Any) -> None:
    rng = np.random.default_rng(6)
    p = np.round(rng.random(60), 1)
    y = (rng.random(60) < p).astype(int)
    edges = [0, 0.2, 0.4, 0.85, 0.95, 1]
    rule = Edges(edges, closed=closed)
    found = cal.HistogramBinning(binning=rule).fit(p, y).predict_interval(np.unique(p), level=0.9)
    side: Any = "left" if closed == "right" else "right"
    for place, score in enumerate(np.unique(p)):
        rows = np.searchsorted(edges[1:-1], p, side) == np.searchsorted(edges[1:-1], score, side)
        low, high = clopper_pearson(int(y[rows].sum()), int(rows.sum()), 0.9)
        assert (found.low[place], found.high[place]) == pytest.approx((low, high))


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
@pytest.mark.parametrize("words", [{}, {"counts": np.arange(300) % 3}, {"sample_weight": 0.5 + np.arange(300) % 2}])
def test_several_classes_and_weights(words: dict[str, Any]) -> None:
    calibrator = cal.StructuredScaling().fit(THREE.y_prob, THREE.y_true, **words)
    found = calibrator.predict_interval(THREE.y_prob[:5], n_resamples=20)
    assert found.probability == pytest.approx(calibrator.apply(calibrator._read(THREE.y_prob[:5])), abs=1e-12)
    assert found.low.shape == (5, 3)
    assert (found.low < found.probability + 0.05).all()
    assert (found.probability < found.high + 0.05).all()
    assert found.n_resamples == 20
    assert list(found.to_dict())[:3] == ["probability", "low", "high"]


def test_scores_of_the_rows_are_the_default() -> None:
    calibrator = cal.TemperatureScaling().fit(DATA.y_prob[:50], DATA.y_true[:50])
    found = calibrator.predict_interval(n_resamples=10)
    assert found.low.tolist() == calibrator.predict_interval(DATA.y_prob[:50], n_resamples=10).low.tolist()
    assert found.probability.tolist() == calibrator.apply(calibrator._read(DATA.y_prob[:50]))[:, 1].tolist()


def test_the_selected_calibrator_has_the_intervals() -> None:
    chosen = cal.recalibrate(DATA.y_true, DATA.y_prob, method=["platt"])
    found = chosen.predict_interval(AT, level=0.9, n_resamples=20, rng=1)
    assert found.low.tolist() == chosen.calibrator.predict_interval(AT, level=0.9, n_resamples=20, rng=1).low.tolist()


def test_the_first_rows_and_classes_are_printed() -> None:
    two = cal.PlattScaling().fit(DATA.y_prob, DATA.y_true).predict_interval(np.full(11, 0.5), n_resamples=10)
    title, heading, *lines, note = repr(two).split("\n")
    assert (title, heading.split()) == (two._title(), ["probability", "low", "high"])
    assert len(lines) == 10
    assert [float(text) for text in lines[0].split()] == pytest.approx(
        [two.probability[0], two.low[0], two.high[0]], rel=1e-3
    )
    assert note == "the first 10 of 11 rows; to_frame() has all"
    many = replace(two, probability=np.full((2, 6), 1 / 6), low=np.zeros((2, 6)), high=np.ones((2, 6)))
    _, heading, *lines, note = repr(many).split("\n")
    assert heading.split()[3:5] == ["probability_3", "low_0"]
    assert len(lines) == 2
    assert note == "the first 4 of 6 classes; to_frame() has all"


def test_too_few_rows_of_a_class() -> None:
    p, y = np.linspace(0.1, 0.9, 12), np.arange(12) == 3
    with pytest.raises(UndefinedMetricError, match="could be fitted to"):
        cal.OffsetAdjustment().fit(p, y).predict_interval()
    with pytest.raises(NotFittedError):
        cal.PlattScaling().predict_interval([0.5])


def test_rows_are_neither_saved_nor_copied(tmp_path: Path) -> None:
    y, p = DATA.y_true[:60], DATA.y_prob[:60]
    calibrator = cal.PlattScaling().fit(p, y)
    expected = calibrator.predict_interval(AT, n_resamples=10)
    saved = cal.load(cal.save(calibrator, tmp_path / "platt.json"))
    for copied in (saved, copy.deepcopy(calibrator), pickle.loads(pickle.dumps(calibrator))):
        with pytest.raises(NotFittedError, match="rows of its fit"):
            copied.predict_interval(AT)
        found = copied.predict_interval(AT, rows=cal.Predictions(y, p), n_resamples=10)
        assert found.low.tolist() == expected.low.tolist()


def clopper_pearson(events: int, rows: int, level: float) -> tuple[float, float]:
    """Ends at which the binomial tail probabilities are half of what is left, by bisection."""
    tail = (1 - level) / 2

    def root(excess: Any) -> float:
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) < 0 else (low, middle)
        return low

    def at_least(k: int, rate: float) -> float:
        return sum(math.comb(rows, j) * rate**j * (1 - rate) ** (rows - j) for j in range(k, rows + 1))

    low = root(lambda rate: at_least(events, rate) - tail) if events else 0.0
    high = root(lambda rate: at_least(events + 1, rate) - 1 + tail) if events < rows else 1.0
    return low, high


@pytest.mark.parametrize("ties", [False, True])
def test_limits_of_increasing_curves_are_those_of_the_rows_beside(ties: bool) -> None:
    rng = np.random.default_rng(4)
    p = np.round(rng.random(64), 1 if ties else 9)
    y = (rng.random(64) < p).astype(int)
    at = [0.0, 0.1, 0.34, 0.5, 0.9, 1.0]
    found = cal.IsotonicCalibration().fit(p, y).predict_interval(at, level=0.9)
    for place, score in enumerate(at):
        below, above = (sorted(set(p[side].tolist())) for side in (p <= score, p >= score))
        ends = []
        for scores in (below[::-1], above):  # the nearest scores with at least 16 rows
            mask, held = np.zeros(64, bool), iter(scores)
            while mask.sum() < 16 and (nearest := next(held, None)) is not None:
                mask |= p == nearest
            ends.append((int(y[mask].sum()), int(mask.sum())))
        assert found.low[place] == pytest.approx(min(clopper_pearson(*ends[0], 0.9)[0], found.probability[place]))
        assert found.high[place] == pytest.approx(max(clopper_pearson(*ends[1], 0.9)[1], found.probability[place]))


@pytest.mark.parametrize("method", ["isotonic", "centered_isotonic", "venn_abers"])
@pytest.mark.parametrize("truth", [lambda p: p, lambda p: 0.3 + 0 * p], ids=["increasing", "constant"])
def test_limits_of_increasing_curves_cover_at_the_ends(method: str, truth: Any) -> None:
    at, covered = np.array([0.005, 0.02, 0.5, 0.98, 0.995]), np.zeros(5)
    for run in range(60):
        rng = np.random.default_rng([run, 5])
        p = rng.random(200)
        y = (rng.random(200) < truth(p)).astype(int)
        found = METHODS[method]().fit(p, y).predict_interval(at)
        covered += (found.low <= truth(at)) & (truth(at) <= found.high)
    assert (covered >= 53).all()  # below 53 of 60 has a probability of 3 % at 95 %


def test_copies_and_counts_have_the_same_limits() -> None:
    counts = np.arange(300) % 3
    rows = np.repeat(np.arange(300), counts)
    found = cal.IsotonicCalibration().fit(THREE.y_prob, THREE.y_true, counts=counts).predict_interval(THREE.y_prob[:9])
    copies = cal.IsotonicCalibration().fit(THREE.y_prob[rows], THREE.y_true[rows]).predict_interval(THREE.y_prob[:9])
    assert found.low == pytest.approx(copies.low, abs=1e-12)
    assert found.high == pytest.approx(copies.high, abs=1e-12)


@pytest.mark.parametrize("method", ["platt", "spline", "beta"])
def test_weights_of_1_change_no_limit(method: str) -> None:
    y, p = DATA.y_true[:80], DATA.y_prob[:80]
    plain = METHODS[method]().fit(p, y).predict_interval(AT, n_resamples=20)
    weighted = METHODS[method]().fit(p, y, sample_weight=np.ones(80)).predict_interval(AT, n_resamples=20)
    assert weighted.low == pytest.approx(plain.low, abs=1e-9)
    assert weighted.high == pytest.approx(plain.high, abs=1e-9)


def test_rows_must_be_those_of_the_fit() -> None:
    found = pickle.loads(pickle.dumps(cal.VectorScaling().fit(THREE.y_prob, THREE.y_true)))
    at = THREE.y_prob[:2]
    assert found.predict_interval(at, rows=cal.Predictions(THREE.y_true, THREE.y_prob), n_resamples=5).low.shape == (
        2,
        3,
    )
    with pytest.raises(ArgumentError, match="rows: are not those of the fit"):
        found.predict_interval(at, rows=cal.Predictions(THREE.y_true, THREE.y_prob[:, ::-1]))
    with pytest.raises(InputTypeError, match="rows: must be Predictions; got tuple"):
        found.predict_interval(at, rows=(THREE.y_true, THREE.y_prob))


@pytest.mark.filterwarnings("ignore:all outcomes of a class are equal")
def test_one_class_has_no_resamples() -> None:
    with pytest.raises(UndefinedMetricError, match="fitted on rows of one class"):
        cal.PlattScaling().fit(DATA.y_prob[:50], np.ones(50, int)).predict_interval(AT)
