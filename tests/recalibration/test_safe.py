"""Safe recalibration: the guarantee simulated, the e-value by loops, its cost, random splits, files, and every error."""

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.recalibration.safe import MOST_SHRUNK, SafeCalibration, _Bound
from calibrant.recalibration.scores import SMALLEST, TrainingData, random_parts


def problem(
    n: int, k: int, rng: np.random.Generator, sharpness: float = 2.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Overconfident probabilities, labels, and the true probabilities."""
    truth = rng.dirichlet(np.full(k, 0.4), n)
    labels = (truth.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    power = np.maximum(truth, 1e-12) ** sharpness
    return power / power.sum(axis=1, keepdims=True), labels, truth


def overconfidence(calibrator: Any, probs: np.ndarray, truth: np.ndarray) -> float:
    """Mean confidence minus the true probability of the predicted class."""
    found = calibrator.predict_proba(probs)
    if calibrator.get_params().get("measure") == "ecd":
        logs = np.log(np.maximum(found, 1e-300))
        return float(np.mean(((found - truth) * logs).sum(axis=1)))
    return float(np.mean(found.max(axis=1) - truth[np.arange(len(truth)), found.argmax(axis=1)]))


@pytest.mark.parametrize(
    ("k", "n", "options"),
    [
        (2, 400, {"alpha": 0.1}),
        (4, 400, {"alpha": 0.1, "shrinkage": "uniform"}),
        (4, 400, {"alpha": 0.1, "measure": "ecd"}),
        pytest.param(2, 60, {"alpha": 0.1}, marks=pytest.mark.deep),
        pytest.param(2, 2000, {}, marks=pytest.mark.deep),
        pytest.param(10, 1000, {"calibrator": cal.VectorScaling()}, marks=pytest.mark.deep),
        pytest.param(2, 1000, {"calibrator": cal.IsotonicCalibration(), "tolerance": 0.02}, marks=pytest.mark.deep),
        pytest.param(3, 3000, {"bins": 3}, marks=pytest.mark.deep),
    ],
)
def test_the_guarantee(k: int, n: int, options: dict[str, Any], deep: bool) -> None:
    """True overconfidence exceeds the tolerance in at most alpha of the fits; that of the plain calibrator in about half of them."""
    runs = 400 if deep else 40
    rng = np.random.default_rng([k, n])
    new, _, truth = problem(20_000, k, rng)
    exceeded = plain = 0
    for _ in range(runs):
        probs, labels, _ = problem(n, k, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cal.CalibrantWarning)
            safe = SafeCalibration(**options).fit(probs, labels)
        exceeded += overconfidence(safe, new, truth) > safe.tolerance
        plain += overconfidence(safe.calibrator_, new, truth) > safe.tolerance
    alpha = options.get("alpha", 0.05)
    assert exceeded <= runs * alpha + 3 * math.sqrt(runs * alpha * (1 - alpha)), (exceeded, plain)
    assert plain > exceeded


def test_few_distinct_scores_are_split_at_random(deep: bool) -> None:
    """Three scores and their labels: split by a constant seed, the held-out error would be the same in every data set of this size."""
    runs = 1000 if deep else 150
    rng = np.random.default_rng(1)
    shares = []
    for _ in range(runs):
        p = rng.choice([0.1, 0.6, 0.9], 300)
        y = (rng.random(300) < 0.5 + (p - 0.5) * 0.8).astype(int)
        data = TrainingData(cal.Predictions(y, p))
        held = random_parts(data, np.array([0.5, 0.5]))[1]
        shares.append(held @ y / held.sum() - y.mean())
    # The difference of the rates of the halves varies as in a random split: standard deviation 0.5 / sqrt(300).
    assert np.std(shares) == pytest.approx(0.5 / math.sqrt(300), rel=0.25)
    assert abs(np.mean(shares)) < 4 * 0.5 / math.sqrt(300 * runs)


def slow_bound(confidence: list[float], correct: list[bool], eta: float, alpha: float) -> float:
    """The smallest limit whose e-value reaches 1 / alpha, by stepping down."""
    limit = 1.0
    while limit > -1:
        value = 1.0
        for c, right in zip(confidence, correct, strict=True):
            value *= 1 - eta * (c - right - (limit - 1e-4))
        if value < 1 / alpha:
            return limit
        limit -= 1e-4
    return limit


def test_the_bound_by_loops() -> None:
    rng = np.random.default_rng(2)
    confidence = rng.uniform(0.5, 1, 60)
    correct = rng.random(60) < confidence - 0.1
    for eta in (0.1, 0.3, 0.5):
        bound = _Bound(np.ones(60, bool), np.ones(60), False, eta, math.log(20))
        found = bound.upper(confidence - correct)
        assert found == pytest.approx(slow_bound(confidence.tolist(), correct.tolist(), eta, 0.05), abs=2e-4)
        counted = _Bound(np.ones(60, bool), np.full(60, 3.0), True, eta, math.log(20))
        repeated = _Bound(np.ones(180, bool), np.ones(180), False, eta, math.log(20))
        assert counted.upper(confidence - correct) == repeated.upper(np.repeat(confidence - correct, 3))
    assert _Bound(np.ones(1, bool), np.ones(1), False, 0.5, math.log(20)).upper(np.array([0.3])) == 1


def test_the_e_value_is_valid_for_rare_errors(deep: bool) -> None:
    """Errors of rate 2% at a confidence of 0.98: the normal approximation fails when no error is among 50 rows; the bound does not."""
    runs = 20_000 if deep else 2000
    rng = np.random.default_rng(3)
    errors = rng.binomial(50, 0.02, runs)
    bound = _Bound(np.ones(50, bool), np.ones(50), False, 0.9, math.log(20))
    below = {count: bound.upper(np.where(np.arange(50) < count, 0.98, -0.02)) < 0 for count in np.unique(errors)}
    assert np.mean([below[count] for count in errors]) <= 0.05
    assert (errors == 0).mean() > 0.3  # where mean + 1.64 standard errors is -0.02


def test_strength_cost_and_bound_belong_together() -> None:
    probs, labels, _ = problem(1500, 4, np.random.default_rng(4))
    for shrinkage in ("temperature", "uniform"):
        safe = SafeCalibration(shrinkage=shrinkage).fit(probs, labels)
        assert 0 < safe.strength_ < 0.6
        assert -1e-5 < safe.bound_ <= 1e-6  # the smallest strength that is safe
        assert safe.overconfidence_ < 0
        data = TrainingData(cal.Predictions(labels, probs))
        held = random_parts(data, np.array([0.5, 0.5]))[1] > 0
        before = safe.calibrator_.predict_proba(probs[held])
        if shrinkage == "uniform":
            after = (1 - safe.strength_) * before + safe.strength_ / 4
        else:
            after = np.maximum(before, SMALLEST) ** (1 - safe.strength_)
            after /= after.sum(axis=1, keepdims=True)
        assert safe.predict_proba(probs[held]) == pytest.approx(after, abs=1e-12)
        y = labels[held]
        assert safe.cost_nll_ == pytest.approx(cal.nll(y, after) - cal.nll(y, before), abs=1e-10)
        assert safe.cost_brier_ == pytest.approx(cal.brier(y, after) - cal.brier(y, before), abs=1e-10)
        assert safe.overconfidence_ == pytest.approx(
            np.mean(after.max(axis=1) - (after.argmax(axis=1) == y)), abs=1e-10
        )
        assert (after.argmax(axis=1) == before.argmax(axis=1)).all()
        easy = SafeCalibration(shrinkage=shrinkage, tolerance=0.3).fit(probs, labels)
        assert (easy.strength_, easy.cost_nll_, easy.cost_brier_) == (0, 0, 0)
        assert easy.bound_ < 0.3
        assert easy.predict_proba(probs[held]) == pytest.approx(before)


def test_bins_bound_each_range() -> None:
    """Overconfident where it is confident, underconfident elsewhere: the mean is safe, the upper range is not."""
    rng = np.random.default_rng(6)
    p = rng.uniform(0.5, 1, 6000)
    truth = np.where(p > 0.8, p - 0.1, p + 0.12)
    y = (rng.random(6000) < truth).astype(int)
    inner = cal.recalibration.base.Identity()
    mean, each = (SafeCalibration(inner, bins=bins).fit(p, y) for bins in (1, 4))
    assert mean.strength_ == 0
    assert each.strength_ > 0.1
    top = np.linspace(0.9, 1, 50)
    assert each.predict_proba(top).max(axis=1).mean() < (top - 0.1).mean()
    assert mean.predict_proba(top).max(axis=1).mean() > (top - 0.1).mean()


def test_ranges_without_held_out_rows_are_not_safe_and_empty_ones_are_skipped() -> None:
    rng = np.random.default_rng(13)
    p = rng.choice([0.8, 0.95], 800)
    y = (rng.random(800) < p - 0.05).astype(int)
    inner = cal.recalibration.base.Identity()
    assert SafeCalibration(inner, bins=6).fit(p, y).bound_ <= 0  # two values in six ranges
    with pytest.warns(cal.CalibrantWarning, match="the upper bound of the overconfidence is 1"):
        SafeCalibration(inner, bins=10, held_out=0.02).fit(rng.uniform(0.5, 1, 300), rng.integers(0, 2, 300))


def test_exact_zeros_and_ones() -> None:
    rng = np.random.default_rng(7)
    p = rng.choice([0.0, 1.0], 1000)
    y = (rng.random(1000) < np.where(p == 1, 0.9, 0.1)).astype(int)
    for shrinkage in ("temperature", "uniform"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cal.CalibrantWarning)
            safe = SafeCalibration(cal.recalibration.base.Identity(), shrinkage=shrinkage).fit(p, y)
        top = safe.predict_proba(np.array([0.0, 1.0])).max(axis=1)
        assert (top > 0.8).all()
        assert (top < 0.9).all()
        assert math.isfinite(safe.cost_nll_)


def test_no_strength_suffices_for_labels_of_chance() -> None:
    rng = np.random.default_rng(8)
    probs = rng.dirichlet(np.ones(3), 200)
    labels = rng.integers(0, 3, 200)
    with pytest.warns(
        cal.CalibrantWarning, match="the upper bound of the overconfidence is 0.*above the tolerance of 0, although"
    ):
        safe = SafeCalibration().fit(probs, labels)
    assert safe.strength_ == MOST_SHRUNK
    assert safe.bound_ > 0
    assert safe.predict_proba(probs[:5]) == pytest.approx(np.full((5, 3), 1 / 3), abs=1e-3)


def test_files_and_scikit_learn(tmp_path: Path) -> None:
    sklearn = pytest.importorskip("sklearn.base")
    probs, labels, _ = problem(500, 4, np.random.default_rng(10))
    names = np.array(["ant", "bee", "cat", "dog"])
    inner = cal.PlattScaling(multiclass="pooled")
    safe = SafeCalibration(inner, alpha=0.2, shrinkage="uniform").fit(probs, names[labels])
    again = cal.load(cal.save(safe, tmp_path / "safe.json"))
    new = problem(50, 4, np.random.default_rng(11))[0]
    assert (again.predict_proba(new) == safe.predict_proba(new)).all()
    for name in SafeCalibration.fitted[1:]:
        assert getattr(again, name) == getattr(safe, name)
    assert again.classes_.tolist() == names.tolist()
    copy = sklearn.clone(safe)
    assert copy.get_params()["calibrator__multiclass"] == "pooled"
    assert not copy.__sklearn_is_fitted__()
    assert copy.fit(probs, names[labels]).strength_ == safe.strength_
    assert not hasattr(inner, "fit_record_")
    logits = np.log(probs)
    assert SafeCalibration(input="logit").fit(logits, labels).strength_ == pytest.approx(
        SafeCalibration().fit(probs, labels).strength_, abs=0.2
    )
