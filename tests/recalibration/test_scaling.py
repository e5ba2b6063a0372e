"""Calibrators that scale logits: checked values, conditions at the optimum, data without an optimum, weights."""

import warnings
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import CalibrantWarning
from calibrant.recalibration import softmax_regression
from calibrant.recalibration.scaling import (
    BiasCorrectedTemperature,
    DirichletCalibration,
    EnsembleTemperature,
    MatrixScaling,
    TemperatureScaling,
    VectorScaling,
    _on_simplex,
)
from tests import checked

# As calibrators take them: scores first.
B, D = ((np.array(scores), np.array(labels)) for labels, scores in (checked.B, checked.D))


def on(calibrator, scores):
    """Probabilities on the rows fitted on too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrantWarning)
        return calibrator.predict_proba(scores)


def nll(probs, labels):
    return -np.log(probs[np.arange(len(labels)), labels]).mean()


def drawn(n, k, seed=0, power=1.5):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(k), n)
    truth = probs**power / (probs**power).sum(axis=1, keepdims=True)
    return probs, (truth.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)


def test_temperature():
    assert TemperatureScaling().fit(*B).temperature_ == pytest.approx(1.071832217, abs=5e-10)
    calibrator = TemperatureScaling().fit(*D)
    assert calibrator.temperature_ == pytest.approx(0.8223230944, abs=5e-11)
    assert nll(D[0], D[1]) == pytest.approx(0.7976241645, abs=5e-11)
    probs = on(calibrator, D[0])
    assert nll(probs, D[1]) == pytest.approx(0.7900329175, abs=5e-11)
    z = np.log(D[0])
    assert (z[np.arange(8), D[1]] - (probs * z).sum(axis=1)).mean() == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize("objective", ["nll", "brier", "ecd"])
def test_temperature_is_the_best_of_a_dense_grid(objective):
    probs, labels = drawn(300, 4)
    z, rows = np.log(probs), np.arange(300)

    def loss(u):
        power = np.exp(u * (z - z.max(axis=1, keepdims=True)))
        p = power / power.sum(axis=1, keepdims=True)
        if objective == "nll":
            return nll(p, labels)
        if objective == "brier":
            return (np.square(p).sum(axis=1) - 2 * p[rows, labels] + 1).mean()
        return ((p * np.log(p)).sum(axis=1) - np.log(p[rows, labels])).mean() ** 2

    scale = 1 / TemperatureScaling(objective=objective).fit(probs, labels).temperature_
    grid = scale * (1 + np.linspace(-1e-3, 1e-3, 401))
    values = np.array([loss(u) for u in grid])
    assert loss(scale) <= values.min() + 1e-12
    wide = [loss(u) for u in np.exp(np.linspace(-3, 3, 301))]
    assert loss(scale) <= min(wide) + 1e-12
    # The lowest point of the parabola through the grid.
    fit = np.polyfit(grid - scale, values - values.min(), 2)
    assert fit[1] / (2 * fit[0]) == pytest.approx(0, abs=1e-6 * scale)


def test_temperature_of_large_data_starts_from_some_rows():
    probs, labels = drawn(60_000, 3, seed=5)
    calibrator = TemperatureScaling().fit(probs, labels)
    z, p = np.log(probs), on(calibrator, probs)
    assert (z[np.arange(len(z)), labels] - (p * z).sum(axis=1)).mean() == pytest.approx(0, abs=1e-9)


def test_temperature_of_equal_logits_is_one():
    assert TemperatureScaling().fit(np.full((4, 3), 1 / 3), np.array([0, 1, 2, 0])).temperature_ == 1


@pytest.mark.parametrize("kind", [VectorScaling, BiasCorrectedTemperature])
def test_separable_rows_give_a_bounded_map(kind):
    probs = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrantWarning)
        calibrator = kind().fit(probs, np.array([0, 1, 2]))
    assert np.isfinite(on(calibrator, probs)).all()
    assert nll(on(calibrator, probs), np.array([0, 1, 2])) < 1e-6


def test_bias_corrected_temperature():
    calibrator = BiasCorrectedTemperature().fit(*D)
    assert calibrator.temperature_ == pytest.approx(0.7651490225, abs=2e-7)
    assert calibrator.bias_ == pytest.approx([0, 0.7447948723, 0.4236448852], abs=2e-7)
    probs = on(calibrator, D[0])
    assert nll(probs, D[1]) == pytest.approx(0.7588336419, abs=5e-11)
    assert probs.mean(axis=0) == pytest.approx(np.array([2, 3, 3]) / 8, abs=1e-7)


def test_vector():
    calibrator = VectorScaling().fit(*D)
    assert calibrator.weight_ == pytest.approx([1.016731, 0.463315, 2.612821], abs=2e-5)
    assert calibrator.bias_ == pytest.approx([0, -0.014473, 2.011185], abs=2e-5)
    assert nll(on(calibrator, D[0]), D[1]) == pytest.approx(0.7180061701, abs=5e-10)


def test_dirichlet():
    calibrator = DirichletCalibration(off_diagonal=0.1, intercept=0.1).fit(*D)
    wanted = [[1.125002, 0.634916, -0.102882], [0.014045, 0.803975, 0.102882], [-0.014045, -0.634916, 2.404284]]
    assert calibrator.matrix_ == pytest.approx(np.array(wanted), abs=2e-5)
    assert calibrator.bias_ == pytest.approx([0.06825, -0.039119, -0.029131], abs=2e-5)
    off = np.square(calibrator.matrix_[~np.eye(3, dtype=bool)]).sum()
    objective = nll(on(calibrator, D[0]), D[1]) + 0.1 / 6 * off + 0.1 / 3 * np.square(calibrator.bias_).sum()
    assert objective == pytest.approx(0.6780192965, abs=5e-10)


def test_dirichlet_of_logits_is_that_of_their_probabilities():
    z = np.log(D[0]) + np.arange(8)[:, None]
    calibrator = DirichletCalibration(input="logit", off_diagonal=0.1, intercept=0.1).fit(z, D[1])
    same = DirichletCalibration(off_diagonal=0.1, intercept=0.1).fit(*D)
    assert on(calibrator, z) == pytest.approx(on(same, D[0]), abs=1e-6)


def test_matrix_with_a_large_penalty_has_nothing_off_the_diagonal():
    probs, labels = drawn(200, 3)
    calibrator = MatrixScaling(off_diagonal=1e4, intercept=0.0).fit(probs, labels)
    assert np.abs(calibrator.matrix_[~np.eye(3, dtype=bool)]).max() < 1e-3
    assert nll(on(calibrator, probs), labels) == pytest.approx(
        nll(on(VectorScaling().fit(probs, labels), probs), labels), abs=1e-4
    )


def test_matrix_of_few_rows_takes_a_penalty_of_one():
    assert MatrixScaling().fit(*D).penalty_ == 1


def test_ensemble_temperature():
    calibrator = EnsembleTemperature().fit(*D)
    assert calibrator.temperature_ == pytest.approx(1.0450839947, abs=1e-7)
    assert calibrator.mixture_ == pytest.approx([1, 0, 0], abs=1e-9)
    target = np.eye(3)[D[1]]
    assert np.square(on(calibrator, D[0]) - target).mean() == pytest.approx(0.1624073467, abs=5e-11)


def test_ensemble_mixture_is_the_best_of_a_grid():
    probs, labels = drawn(300, 3, power=0.4)
    calibrator = EnsembleTemperature().fit(probs, labels)
    target = np.eye(3)[labels]
    best = np.square(on(calibrator, probs) - target).mean()
    z = np.log(probs) / calibrator.temperature_
    tempered = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    for a in np.linspace(0, 1, 11):
        for b in np.linspace(0, 1 - a, 11):
            assert np.square(a * tempered + b * probs + (1 - a - b) / 3 - target).mean() >= best - 1e-12


MAPS = [
    TemperatureScaling(),
    TemperatureScaling(objective="brier"),
    TemperatureScaling(objective="ecd"),
    BiasCorrectedTemperature(),
    VectorScaling(),
    MatrixScaling(off_diagonal=0.1),
    DirichletCalibration(off_diagonal=0.1),
    EnsembleTemperature(),
]


@pytest.mark.parametrize("calibrator", [MAPS[0], MAPS[1], MAPS[3], MAPS[6], MAPS[7]], ids=repr)
def test_a_constant_in_each_row_of_logits_changes_nothing(calibrator):
    probs, labels = drawn(80, 3, seed=8)
    z = np.log(probs)
    shifted = z + np.linspace(-2, 2, 80)[:, None]
    calibrator = type(calibrator)(**{**calibrator.get_params(), "input": "logit"})
    plain = on(calibrator.fit(z, labels), z)
    assert on(calibrator.fit(shifted, labels), shifted) == pytest.approx(plain, abs=1e-5)


@pytest.mark.parametrize("name", ["TemperatureScaling", "BiasCorrectedTemperature", "VectorScaling"])
def test_classes_ruled_out_are_as_good_as_probability_0(name):
    rng = np.random.default_rng(5)
    logits = rng.normal(0, 2, (800, 3))
    chance = np.exp(logits / 1.5) / np.exp(logits / 1.5).sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(3, p=row) for row in chance])
    rare = np.flatnonzero((rng.random(800) < 0.2) & (labels != 2))
    plain = getattr(cal, name)(input="logit").fit(logits, labels)
    logits[rare, 2] = -np.inf
    calibrator = getattr(cal, name)(input="logit").fit(logits, labels)
    assert calibrator.predict_proba(logits[rare])[:, 2].max() < 1e-6
    new = rng.normal(0, 2, (50, 3))
    assert calibrator.predict_proba(new) == pytest.approx(plain.predict_proba(new), abs=0.1)


def test_an_ensemble_is_never_uniform_alone():
    """Labels that the scores say nothing about: the best mixture is the uniform part, and the predicted class must still stay."""
    rng = np.random.default_rng(3)
    probs = rng.dirichlet([1, 1, 1], 400)
    labels = (probs.argmin(axis=1) + rng.integers(0, 2, 400)) % 3
    calibrator = EnsembleTemperature()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrantWarning)
        calibrator.fit(probs, labels)
    assert calibrator.mixture_[2] > 0.999
    assert calibrator.mixture_[:2].sum() >= 1e-9 * (1 - 1e-6)
    assert calibrator.mixture_.sum() == pytest.approx(1, abs=1e-15)
    new = rng.dirichlet([1, 1, 1], 200)
    after = calibrator.predict_proba(new)
    assert (after.argmax(axis=1) == new.argmax(axis=1)).all()
    assert np.ptp(after, axis=1).min() > 0
    assert _on_simplex(np.eye(3), np.array([0.0, 0.0, 5.0]))[1] == pytest.approx(1e-9)


def test_the_bias_is_that_of_the_scale_in_use():
    """Logits that point away from the labels, around offsets: the best scale is below 0, and the bias that goes with it is wrong here."""
    rng = np.random.default_rng(0)
    away = rng.normal(size=(500, 3))
    labels = (-0.3 * away + rng.gumbel(size=away.shape)).argmax(axis=1)
    calibrator = cal.BiasCorrectedTemperature(input="logit")
    with pytest.warns(
        CalibrantWarning,
        match="the logits are negatively associated with the labels, so the best temperature is infinite; 1000 is used",
    ):
        calibrator.fit(away + np.array([8.0, 0, -8]), labels)
    assert calibrator.temperature_ == 1000
    # With the scale fixed, the loss is least where the mean probability of each class is its share of the labels.
    found = calibrator.apply(calibrator._read(away + np.array([8.0, 0, -8]))).mean(axis=0)
    assert found == pytest.approx(np.bincount(labels, minlength=3) / 500, abs=1e-6)


@pytest.mark.parametrize("size", [1.0, 1e-4])
def test_labels_that_a_bias_separates(size):
    """At 1000 times the logits either nothing is left to gain, or the bias is the best one there."""
    logits = size * np.random.default_rng(0).normal(size=(200, 3))
    labels = (logits + np.array([size, 0, 0])).argmax(axis=1)
    calibrator = cal.BiasCorrectedTemperature(input="logit")
    with pytest.warns(
        CalibrantWarning,
        match=r"the classes are separable, so the parameters diverge|lies below 0.001",
    ):
        calibrator.fit(logits, labels)
    assert 0.001 <= calibrator.temperature_ <= 1
    found = calibrator.apply(calibrator._read(logits))
    assert size != 1 or (found.argmax(axis=1) == labels).all()
    assert found.mean(axis=0) == pytest.approx(np.bincount(labels, minlength=3) / 200, abs=1e-6)


def test_a_piece_is_never_flatter_than_the_largest_temperature():
    rng = np.random.default_rng(3)
    probs = rng.dirichlet([1, 1, 1], 400)
    calibrator = cal.IntraOrderPreserving().fit(probs, rng.integers(0, 3, 400))
    slopes = np.diff(calibrator.heights_) / np.diff(calibrator.knots_)
    assert slopes.min() == pytest.approx(1e-3)
    new = rng.dirichlet([1, 1, 1], 2000)
    assert (calibrator.predict_proba(new).astype(np.float32).argmax(axis=1) == new.argmax(axis=1)).mean() > 0.999


def test_rows_that_show_where_to_look_do_not_decide(monkeypatch):
    """Every sixth row is of another kind, and the Brier score has a minimum for each kind."""
    monkeypatch.setattr(softmax_regression, "WARM_ROWS", 500)
    rng = np.random.default_rng(5)
    logits = 2 * rng.normal(size=(3000, 3))
    special = (np.arange(3000) % 6 == 0)[:, None]
    labels = (np.where(special, logits / 30, logits) + rng.gumbel(size=logits.shape)).argmax(axis=1)
    given = np.where(special, 10 * logits, 0.05 * logits)
    fitted = TemperatureScaling(input="logit", objective="brier").fit(given, labels)
    monkeypatch.setattr(softmax_regression, "WARM_ROWS", 10_000)  # all rows are looked at
    whole = TemperatureScaling(input="logit", objective="brier").fit(given, labels)
    assert fitted.temperature_ == whole.temperature_ < 0.1


def test_blocks_of_rows_give_the_loss_gradient_and_hessian_of_all_rows() -> None:
    """Data of several blocks, with weights, against one pass over all rows."""
    rng = np.random.default_rng(0)
    n, k = 60_000, 5
    logits = 2 * rng.normal(size=(n, k))
    labels, weight = rng.integers(0, k, n), rng.integers(1, 4, n).astype(float)
    linear = softmax_regression.LinearSoftmax(logits, labels, weight)
    factor, bias = 0.5 + rng.random(k), rng.normal(size=k)
    value, slope, shift, curvature = linear.diagonal(factor, bias)
    known = linear(np.diag(factor), bias)
    assert value == pytest.approx(known[0], rel=1e-13)
    np.testing.assert_allclose(slope, np.diag(known[1]), atol=1e-13)
    np.testing.assert_allclose(shift, known[2], atol=1e-13)
    probs = softmax_regression.softmax(logits * factor + bias)
    spread = probs[:, :, None] * (np.eye(k) - probs[:, None, :])
    both = np.stack([logits, np.ones((n, k))], axis=1)
    known_curvature = np.einsum("i,iab,ica,idb->cadb", linear.weight, spread, both, both).reshape(2 * k, 2 * k)
    np.testing.assert_allclose(curvature, known_curvature, atol=1e-13)


def test_the_hessian_of_a_matrix_is_that_of_the_definition() -> None:
    """Rows of several blocks with weights: weight * (diag(p) - p p') for the classes, times the products of the features."""
    rng = np.random.default_rng(1)
    n, k = 11_003, 3
    logits, labels = 2 * rng.normal(size=(n, k)), rng.integers(0, k, n)
    linear = softmax_regression.LinearSoftmax(logits, labels, rng.integers(1, 4, n))
    matrix, bias = rng.normal(size=(k, k)), rng.normal(size=k)
    probs = softmax_regression.softmax(logits @ matrix.T + bias)
    spread = probs[:, :, None] * (np.eye(k) - probs[:, None, :])
    features = np.column_stack([linear.z, np.ones(n)])
    known = np.einsum("i,iab,ic,id->acbd", linear.weight, spread, features, features).reshape(k * (k + 1), -1)
    np.testing.assert_allclose(linear.full_curvature(matrix, bias), known, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("small", "the best temperature lies below 0.001: multiply the logits by a number first; 0.001 is used"),
        ("large", "the best temperature lies above 1000: divide the logits by a number first; 1000 is used"),
        ("right", "every label has the largest logit of its row, so the best temperature is 0; 0.001 is used"),
        (
            "opposite",
            "the logits are negatively associated with the labels, so the best temperature is infinite; 1000 is used",
        ),
    ],
)
def test_a_temperature_at_its_bound_has_a_reason(kind: str, reason: str) -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(500, 3))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    labels = {"right": logits.argmax(axis=1), "opposite": logits.argmin(axis=1)}.get(kind, labels)
    logits = logits * {"small": 1e-4, "large": 1e4}.get(kind, 1.0)
    calibrators: list[Any] = [cal.TemperatureScaling(input="logit", objective=o) for o in ("nll", "brier")]
    if kind in ("small", "large"):
        calibrators.append(cal.BiasCorrectedTemperature(input="logit"))
    for calibrator in calibrators:
        with pytest.warns(cal.CalibrantWarning) as caught:
            calibrator.fit(logits, labels)
        assert str(caught[-1].message) == reason


@pytest.mark.parametrize("kind", [cal.BiasCorrectedTemperature, cal.VectorScaling, cal.MatrixScaling])
def test_a_class_without_rows_is_reported(kind: Any) -> None:
    rng = np.random.default_rng(0)
    with pytest.warns(cal.CalibrantWarning, match="class 2 has no rows"):
        kind(input="logit").fit(rng.normal(size=(100, 3)), rng.integers(0, 2, 100))
