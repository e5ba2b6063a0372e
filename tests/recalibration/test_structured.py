"""Structured scaling: the stated objective by a general optimizer, stored values of another package, and limits of the penalties."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

import calibrant as cal
from calibrant.recalibration.methods import find_method
from calibrant.recalibration.softmax_regression import NEWTON_CLASSES

NEW = np.array([[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [1 / 3, 1 / 3, 1 / 3], [0.02, 0.03, 0.95]])


def sample(n, k, seed=0):
    """Rows whose classes are confused with each other, and labels."""
    rng = np.random.default_rng(seed)
    z = 2 * rng.normal(size=(n, k))
    truth = softmax(z @ (0.6 * np.eye(k) + rng.normal(0, 0.15, (k, k))).T + rng.normal(0, 0.3, k), axis=1)
    return softmax(z, axis=1), (truth.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, k - 1)


def objective(calibrator, probs, labels, weight, rows):
    """The penalized loss of the docstring as a function of the matrix and the bias, with the fitted temperature."""
    k = probs.shape[1]
    tempered = softmax(np.log(probs) / calibrator.temperature_, axis=1)
    x = np.log(rows / (rows + 1) * tempered + 1 / (rows + 1) / k)
    diagonal = np.eye(k, dtype=bool)

    def loss(theta):
        if calibrator.form == "vector":
            matrix, bias = np.diag(theta[:k]), theta[k:]
        else:
            matrix, bias = theta[: k * k].reshape(k, k), theta[k * k :]
        own = log_softmax(x @ matrix.T + bias, axis=1)[np.arange(len(x)), labels]
        small = calibrator.diagonal * ((matrix[diagonal] - 1) ** 2).sum() + calibrator.intercept * (bias**2).sum()
        large = calibrator.off_diagonal * (matrix[~diagonal] ** 2).sum()
        return -np.average(own, weights=weight) + k / rows * small + k * (k - 1) / rows * large

    return loss


@pytest.mark.parametrize("form", ["matrix", "vector"])
@pytest.mark.parametrize("weighted", [False, True])
def test_fit_is_the_optimum_of_the_stated_objective(form, weighted):
    probs, labels = sample(150, 3)
    weight = np.random.default_rng(1).uniform(0.2, 3, 150) if weighted else np.ones(150)
    rows = weight.sum() ** 2 / (weight**2).sum()
    calibrator = cal.StructuredScaling(form=form, diagonal=0.5, off_diagonal=2, intercept=0.3)
    calibrator.fit(probs, labels, sample_weight=weight if weighted else None)
    loss = objective(calibrator, probs, labels, weight, rows)
    start = np.append(np.ones(3) if form == "vector" else np.eye(3), np.zeros(3))
    slow = minimize(loss, start, method="BFGS", options={"gtol": 1e-7}).x
    fitted = np.append(calibrator.matrix_, calibrator.bias_)
    assert loss(fitted) <= loss(slow) + 1e-12
    assert fitted == pytest.approx(slow, abs=2e-5)


def test_many_classes_are_fitted_to_a_gradient_of_zero():
    k = NEWTON_CLASSES + 2
    probs, labels = sample(600, k)
    calibrator = cal.StructuredScaling().fit(probs, labels)
    loss = objective(calibrator, probs, labels, np.ones(600), 600)
    theta = np.append(calibrator.matrix_, calibrator.bias_)
    rng = np.random.default_rng(0)
    for _ in range(5):
        step = 1e-4 * rng.normal(size=len(theta))
        assert abs(loss(theta + step) - loss(theta - step)) < 1e-8


def test_strong_penalties_leave_the_temperature_and_weak_ones_nothing_of_the_identity():
    probs, labels = sample(400, 3)
    strong = cal.StructuredScaling(diagonal=1e9, off_diagonal=1e9, intercept=1e9).fit(probs, labels)
    tempered = cal.TemperatureScaling().fit(probs, labels).predict_proba(NEW)
    assert strong.predict_proba(NEW) == pytest.approx(400 / 401 * tempered + 1 / 401 / 3, abs=1e-6)
    diagonal = cal.StructuredScaling(off_diagonal=1e9).fit(probs, labels)
    vector = cal.StructuredScaling(form="vector").fit(probs, labels)
    assert diagonal.predict_proba(NEW) == pytest.approx(vector.predict_proba(NEW), abs=1e-6)
    free = cal.StructuredScaling(diagonal=0, off_diagonal=0, intercept=0).fit(probs, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        losses = [cal.nll(labels, each.predict_proba(probs)) for each in (free, vector, strong)]
    assert losses == sorted(losses)


def test_logits_and_probabilities_agree_and_a_constant_changes_nothing():
    probs, labels = sample(300, 4)
    new = sample(20, 4, seed=1)[0]
    plain = cal.StructuredScaling().fit(probs, labels).predict_proba(new)
    shift = np.random.default_rng(2).normal(0, 3, (300, 1))
    logits = cal.StructuredScaling(input="logit").fit(np.log(probs) + shift, labels)
    assert logits.predict_proba(np.log(new) - 1) == pytest.approx(plain, abs=1e-9)


def test_names_of_the_paper():
    assert find_method("structured_vector")().form == "vector"
