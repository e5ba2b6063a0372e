"""Closed testing of updates of a risk model: each likelihood ratio by a slow independent fit, the sequence, the calibrators, the level."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, xlogy
from scipy.stats import chi2

import calibrant as cal
from calibrant.errors import (
    ColumnError,
)
from calibrant.recalibration import ModelRevision
from tests.calling import raises

Floats = NDArray[np.float64]
closed_test_update = cal.clinical.closed_test_update
SLOPES = np.array([0.8, 0.4, -0.4])


def data(
    n: int, seed: int, intercept: float = 0.0, slope: float = 1.0, change: Any = 0.0
) -> tuple[Any, Floats, Floats]:
    """Outcomes, risks and features of a model that needs these changes of intercept, slope and coefficients."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    log_odds = x @ SLOPES - 1
    y = rng.random(n) < expit(intercept + slope * log_odds + x @ (np.zeros(3) + change))
    return y.astype(int), expit(log_odds), x


def likelihood(y: Any, design: Floats, offset: Any = 0.0, weight: Any = 1.0) -> tuple[float, Floats]:
    """The largest log-likelihood of a logistic regression, by a general minimizer, and its coefficients."""

    def loss(b: Floats) -> float:
        p = expit(design @ b + offset)
        return -float(np.sum(weight * (xlogy(y, p) + xlogy(1 - y, 1 - p))))

    if not design.shape[1]:
        return -loss(np.zeros(0)), np.zeros(0)
    found = minimize(loss, np.zeros(design.shape[1]), method="BFGS", options={"gtol": 1e-7})
    return -float(found.fun), found.x


CHANGES: dict[str, dict[str, Any]] = {
    "none": {},
    "intercept": {"intercept": 0.8},
    "logistic": {"intercept": 0.3, "slope": 0.4},
    "revision": {"change": np.array([0.0, 0.9, 0.9])},
}


@pytest.mark.parametrize("update", CHANGES)
def test_the_sequence_is_that_of_independent_fits(update: str) -> None:
    y, risk, x = data(700, 3, **CHANGES[update])
    log_odds = np.log(risk / (1 - risk))
    ones = np.ones((700, 1))
    models = {
        "none": likelihood(y, ones[:, :0], log_odds),
        "intercept": likelihood(y, ones, log_odds),
        "logistic": likelihood(y, np.column_stack([ones, log_odds])),
        "revision": likelihood(y, np.column_stack([ones, x])),
    }
    found = closed_test_update(y, risk, features=x)
    assert found.chosen == update
    names = list(models)[: min(list(models).index(update) + 1, 3)]
    assert [(test.update, test.against, test.df) for test in found.tests] == [
        (name, "revision", 4 - len(models[name][1])) for name in names
    ]
    for test in found.tests:
        statistic = 2 * (models["revision"][0] - models[test.update][0])
        assert test.statistic == pytest.approx(statistic, abs=1e-5)
        assert test.pvalue == pytest.approx(chi2.sf(statistic, test.df), rel=1e-4)
        assert (test.pvalue > 0.05) == (test.update == update)
    at = np.array([0.05, 0.3, 0.8])
    line = np.log(at / (1 - at))
    b = models[update][1]
    if update == "revision":
        updated = found.calibrator.predict_proba(risk[:300], features=x[:300])[:, 1]
        assert updated == pytest.approx(expit(np.column_stack([ones, x]) @ b)[:300], abs=1e-5)
        assert found.calibrator.slope_ == 0.0
    else:
        expected = {"none": line, "intercept": line + b[:1].sum(), "logistic": b[0] + b[-1] * line if len(b) else line}
        assert found.calibrator.predict_proba(at)[:, 1] == pytest.approx(expit(expected[update]), abs=1e-5)


def test_without_features_the_slope_is_the_most_thorough_update() -> None:
    y, risk, _ = data(900, 5, slope=0.4)
    found = closed_test_update(y, risk)
    assert [(test.update, test.against, test.df) for test in found.tests] == [
        ("none", "logistic", 2),
        ("intercept", "logistic", 1),
    ]
    assert found.chosen == "logistic"


def test_features_of_predictions_text_labels_and_frames() -> None:
    y, risk, x = data(400, 7, intercept=1.0)
    plain = closed_test_update(y, risk, features=x)
    frame = pd.DataFrame(x, columns=["age", "bmi", "stage"])
    assert closed_test_update(cal.Predictions(y, risk, features=x)).tests == plain.tests
    assert closed_test_update(cal.Predictions(y, risk), features=frame).tests == plain.tests
    named = cal.Predictions(np.array(["alive", "dead"])[y], risk, pos_label="dead")
    found = closed_test_update(named, features=x)
    assert found.tests == plain.tests
    assert found.calibrator.classes_.tolist() == ["alive", "dead"]


def test_counts_are_rows() -> None:
    y, risk, x = data(300, 11, change=0.5)
    times = np.random.default_rng(0).integers(1, 4, 300)
    whole = closed_test_update(np.repeat(y, times), np.repeat(risk, times), features=np.repeat(x, times, axis=0))
    counted = closed_test_update(cal.Predictions(y, risk, counts=times), features=x)
    assert (counted.chosen, counted.n, counted.events) == (whole.chosen, whole.n, whole.events)
    for one, other in zip(counted.tests, whole.tests, strict=True):
        assert one.statistic == pytest.approx(other.statistic, abs=1e-8)
    simulated = closed_test_update(cal.Predictions(y, risk, counts=times), features=x, n_resamples=19)
    assert simulated.tests[0].pvalue == pytest.approx(0.05)


def test_a_score_that_is_not_linear_in_the_features_remains_in_the_revision() -> None:
    y, risk, x = data(600, 13)
    found = closed_test_update(y, risk, features=x[:, :1] ** 2)
    assert found.tests[0].df == 3
    log_odds = np.log(risk / (1 - risk))
    design = np.column_stack([np.ones(600), x[:, 0] ** 2, log_odds])
    expected = 2 * (likelihood(y, design)[0] - likelihood(y, design[:, :0], log_odds)[0])
    assert found.tests[0].statistic == pytest.approx(expected, abs=1e-5)


def test_simulated_p_values_are_those_of_the_null_hypothesis() -> None:
    y, risk, x = data(1000, 17)
    plain = closed_test_update(y, risk, features=x)
    simulated = closed_test_update(y, risk, features=x, n_resamples=200, rng=1)
    assert simulated.tests[0].pvalue == pytest.approx(plain.tests[0].pvalue, abs=0.12)
    assert simulated.tests[0].statistic == plain.tests[0].statistic
    far, again = (closed_test_update(*data(300, 1, intercept=2.0)[:2], n_resamples=99, rng=1) for _ in range(2))
    assert far.tests[0].pvalue == 0.01
    assert far.tests == again.tests
    assert "99 simulations" in repr(far)


@pytest.mark.sampled
@pytest.mark.parametrize("update", ["none", "intercept"])
def test_the_level_holds(update: str) -> None:
    """A more thorough update than needed in about 5 % of data sets: at most 13 of 100 (p = 0.0005)."""
    order = list(CHANGES)
    wrong = 0
    for seed in range(100):
        y, risk, x = data(500, 1000 + seed, **CHANGES[update])
        wrong += order.index(closed_test_update(y, risk, features=x).chosen) > order.index(update)
    assert wrong <= 13


def test_a_revision_needs_its_features_and_is_not_saved(tmp_path: Path) -> None:
    y, risk, x = data(400, 23)
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    fitted = ModelRevision().fit(risk, y, features=frame)
    probs = fitted.predict_proba(risk[:99], features=frame[:99])
    assert (fitted.predict_proba(risk[:99], features=frame[["c", "a", "b"]][:99]) == probs).all()
    assert "ModelRevision" not in cal.recalibration.methods.TYPES
    with pytest.raises(cal.CalibrantError, match="cannot be saved"):
        cal.save(fitted, tmp_path / "revision.json")
    with pytest.warns(cal.errors.InSampleWarning):
        assert fitted.predict_proba(risk, features=frame)[:, 1].mean() == pytest.approx(y.mean(), abs=1e-9)
    saved = closed_test_update(*data(400, 23, intercept=0.9)[:2]).calibrator
    assert (cal.load(cal.save(saved, tmp_path / "u.json")).predict_proba([0.3]) == saved.predict_proba([0.3])).all()
    with pytest.raises(cal.CalibrantError):
        fitted.predict_proba(risk[:99])
    with pytest.raises(cal.CalibrantError):
        ModelRevision().fit(risk, y)
    with pytest.raises(cal.CalibrantError):
        ModelRevision().fit(np.full((400, 3), 1 / 3), np.arange(400) % 3, features=x)
    weight = np.arange(1.0, 401)
    weighted = ModelRevision().fit(risk, y, weight, features=x)
    _, expected = likelihood(y, np.column_stack([np.ones(400), x]), weight=weight / weight.mean())
    assert [weighted.intercept_, *weighted.coef_] == pytest.approx(expected.tolist(), abs=1e-4)


def test_the_revision_of_an_update_matches_features_by_name() -> None:
    y, risk, x = data(600, 5)
    frame = pd.DataFrame(x, columns=["age", "bp", "bmi"])
    y = np.where(np.random.default_rng(5).random(600) < 1 / (1 + np.exp(-3 * x[:, 1])), 1, 0)
    update = closed_test_update(y, risk, features=frame)
    assert update.chosen == "revision"
    probs = update.calibrator.predict_proba(risk[:50], features=frame[:50])
    other = frame[["bmi", "age", "bp"]][:50]
    assert (update.calibrator.predict_proba(risk[:50], features=other) == probs).all()
    with raises(ColumnError, "features"):
        update.calibrator.predict_proba(risk[:50], features=other.rename(columns={"age": "years"}))
