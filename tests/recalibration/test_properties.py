"""What every map keeps to: rows of probabilities, refits that forget, order, weights, names of classes, clear errors."""

import contextlib
import copy
import re
import warnings
from typing import get_args

import numpy as np
import pytest

from calibrant.errors import CalibrantError, CalibrantWarning, InSampleWarning, NotFittedError, ShapeError
from calibrant.recalibration.adjust import OffsetAdjustment, PriorShift
from calibrant.recalibration.base import Identity
from calibrant.recalibration.binary import (
    BetaCalibration,
    CenteredIsotonicCalibration,
    IsotonicCalibration,
    KernelCalibration,
    Multiclass,
    PlattScaling,
    QuadraticLogit,
    SplineCalibration,
)
from calibrant.recalibration.binning import (
    BayesianBinning,
    HistogramBinning,
    NearIsotonicEnsemble,
    ScalingBinning,
    TopLabelHistogramBinning,
)
from calibrant.recalibration.class_temperature import MiscalibrationAwareTemperature
from calibrant.recalibration.grouped import GroupCalibration, MultiCalibration
from calibrant.recalibration.ordered import ConsistencyCalibration, IntraOrderPreserving
from calibrant.recalibration.safe import SafeCalibration
from calibrant.recalibration.scaling import (
    BiasCorrectedTemperature,
    DirichletCalibration,
    EnsembleTemperature,
    TemperatureScaling,
    VectorScaling,
)
from calibrant.recalibration.venn import VennAbers

SCORE_MAPS = [
    PlattScaling(),
    PlattScaling(targets="plain"),
    BetaCalibration(),
    QuadraticLogit(),
    IsotonicCalibration(),
    CenteredIsotonicCalibration(),
    SplineCalibration(),
    KernelCalibration(),
    HistogramBinning(),
    HistogramBinning(binning="equal_width", shrink=0.5),
    BayesianBinning(),
    NearIsotonicEnsemble(),
    ScalingBinning(),
    VennAbers(),
    VennAbers(rule="brier"),
]
VECTOR_MAPS = [
    Identity(),
    TemperatureScaling(),
    BiasCorrectedTemperature(),
    VectorScaling(),
    DirichletCalibration(off_diagonal=0.1),
    EnsembleTemperature(),
    TopLabelHistogramBinning(points_per_bin=20),
    MiscalibrationAwareTemperature(),
    IntraOrderPreserving(),
    ConsistencyCalibration(),
    SafeCalibration(alpha=0.3, tolerance=0.1),
    ConsistencyCalibration(noise="uniform"),
    OffsetAdjustment(),
]
GROUP_MAPS = [GroupCalibration(PlattScaling()), MultiCalibration(held_out=0, min_size=20)]
MAPS = [*SCORE_MAPS, *VECTOR_MAPS, *GROUP_MAPS]
# What their definition or their search treats class by class, or in bands, so that exchanged columns are the same to rounding only.
LOOSE = {"DirichletCalibration": 1e-5, "VectorScaling": 1e-5, "BiasCorrectedTemperature": 1e-6}
N = 120


def data(k, n=N, seed=0):
    """Scores and labels, made so that every class is there and no threshold separates them."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(k, 1.2), n)
    truth = probs**0.8 / (probs**0.8).sum(axis=1, keepdims=True)
    labels = (truth.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return (probs[:, 1] if k == 2 else probs), labels


def needs_groups(calibrator):
    return isinstance(calibrator, (GroupCalibration, MultiCalibration))


def groups_for(n):
    return np.arange(n) % 2


def fitted(calibrator, scores, labels, weight=None, groups=None):
    if needs_groups(calibrator):
        return calibrator.fit(scores, labels, weight, groups=groups_for(len(scores)) if groups is None else groups)
    return calibrator.fit(scores, labels, weight)


def applied(calibrator, scores):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InSampleWarning)
        return (
            calibrator.predict_proba(scores, groups_for(len(scores)))
            if needs_groups(calibrator)
            else calibrator.predict_proba(scores)
        )


def fresh(calibrator):
    return type(calibrator)(**calibrator.get_params(deep=False))


each = pytest.mark.parametrize("calibrator", MAPS, ids=repr)
classes = pytest.mark.parametrize("k", [2, 3])


@each
@classes
def test_rows_are_probabilities(calibrator, k):
    calibrator = fitted(fresh(calibrator), *data(k))
    new = data(k, seed=9)[0]
    new[:3] = [0.0, 1.0, 0.5] if k == 2 else [[0, 0, 1], [1, 0, 0], [0, 0.5, 0.5]]
    rows = applied(calibrator, new)
    assert rows.shape == (N, k)
    assert rows.dtype == np.float64
    assert np.isfinite(rows).all()
    assert ((rows >= 0) & (rows <= 1)).all()
    assert np.abs(rows.sum(axis=1) - 1).max() <= 1e-12


@pytest.mark.parametrize("calibrator", SCORE_MAPS, ids=repr)
@pytest.mark.parametrize("strategy", get_args(Multiclass))
def test_every_strategy_gives_probabilities(calibrator, strategy):
    calibrator = fresh(calibrator).set_params(multiclass=strategy)
    rows = applied(calibrator.fit(*data(3)), data(3, seed=4)[0])
    assert ((rows >= 0) & (rows <= 1)).all()
    assert np.abs(rows.sum(axis=1) - 1).max() <= 1e-12


@pytest.mark.parametrize("calibrator", SCORE_MAPS, ids=repr)
def test_the_top_class_stays_under_top_versus_all(calibrator):
    calibrator = fresh(calibrator).set_params(multiclass="top_versus_all")
    new = data(3, seed=4)[0]
    assert (applied(calibrator.fit(*data(3)), new).argmax(axis=1) == new.argmax(axis=1)).all()


@pytest.mark.parametrize("calibrator", [calibrator for calibrator in SCORE_MAPS if calibrator.keeps_order], ids=repr)
def test_the_top_class_stays_where_rising_curves_are_pooled(calibrator):
    calibrator = fresh(calibrator).set_params(multiclass="pooled")
    new = data(3, seed=4)[0]
    assert (applied(calibrator.fit(*data(3)), new).argmax(axis=1) == new.argmax(axis=1)).all()


@each
def test_two_columns_are_as_one(calibrator):
    score, labels = data(2)
    one = applied(fitted(fresh(calibrator), score, labels), score)
    columns = np.column_stack([1 - score, score])
    two = applied(fitted(fresh(calibrator), columns, labels), columns)
    assert two == pytest.approx(one, abs=1e-9)


@each
def test_exchanged_columns_give_exchanged_probabilities(calibrator):
    probs, labels = data(3)
    turn = np.array([2, 0, 1])
    plain = applied(fitted(fresh(calibrator), probs, labels), probs)
    exchanged = applied(fitted(fresh(calibrator), probs[:, turn], np.argsort(turn)[labels]), probs[:, turn])
    assert exchanged == pytest.approx(plain[:, turn], abs=LOOSE.get(type(calibrator).__name__, 1e-8))


@each
@classes
def test_a_refit_forgets(calibrator, k):
    used = fitted(fresh(calibrator), *data(k, seed=1))
    again, first = fitted(used, *data(k)), fitted(fresh(calibrator), *data(k))
    new = data(k, seed=5)[0]
    assert (applied(again, new) == applied(first, new)).all()


@each
@classes
def test_a_fitted_map_is_one_short_line(calibrator, k):
    text = repr(fitted(fresh(calibrator), *data(k)))
    assert text.startswith(repr(fresh(calibrator)))
    assert "\n" not in text
    assert len(text) < 250
    assert not re.search(r"\d{8}", text)  # numbers are rounded


@each
def test_a_clone_has_equal_parameters_and_is_not_fitted(calibrator):
    base = pytest.importorskip("sklearn.base")
    copied = base.clone(fitted(fresh(calibrator), *data(2)))
    assert repr(copied) == repr(fresh(calibrator))
    assert not hasattr(copied, "fit_record_")


@pytest.mark.parametrize("calibrator", [calibrator for calibrator in MAPS if calibrator.keeps_order], ids=repr)
def test_order_is_kept(calibrator):
    calibrator = fitted(fresh(calibrator), *data(2))
    rate = applied(calibrator, np.linspace(0, 1, 501))[:, 1]
    assert np.diff(rate).min() >= -1e-12


@pytest.mark.parametrize("calibrator", [calibrator for calibrator in MAPS if calibrator.keeps_argmax], ids=repr)
@classes
def test_the_predicted_class_is_kept(calibrator, k):
    calibrator = fitted(fresh(calibrator), *data(k))
    new = data(k, seed=6)[0]
    rows = applied(calibrator, new)
    predicted = (new > 0.5).astype(int) if k == 2 else new.argmax(axis=1)
    assert (rows[np.arange(N), predicted] >= rows.max(axis=1) - 1e-12).all()
    assert (calibrator.predict(new) == predicted).all()


@each
@classes
def test_names_of_classes_are_sorted(calibrator, k):
    scores, labels = data(k)
    scores = np.column_stack([1 - scores, scores]) if np.ndim(scores) == 1 else scores  # a score by itself has no name
    names = np.array(["ash", "birch", "cedar"][:k])
    named, plain = fitted(fresh(calibrator), scores, names[labels]), fitted(fresh(calibrator), scores, labels)
    assert named.classes_.tolist() == names.tolist()
    assert (applied(named, scores) == applied(plain, scores)).all()
    new = data(k, seed=3)[0]
    called = named.predict(new, groups_for(N)) if needs_groups(named) else named.predict(new)
    assert (called == names[applied(named, new).argmax(axis=1)]).all()


@each
def test_not_fitted(calibrator):
    with pytest.raises(NotFittedError, match="fit"):
        applied(fresh(calibrator), [0.2, 0.7])


@each
def test_another_number_of_columns(calibrator):
    with pytest.raises(ShapeError, match="3 classes"):
        applied(fitted(fresh(calibrator), *data(2)), data(3)[0])
    with pytest.raises(ShapeError, match="2 classes"):
        applied(fitted(fresh(calibrator), *data(3)), data(2)[0])


@each
def test_rows_fitted_on_are_noticed_in_any_order(calibrator):
    scores, labels = data(2)
    calibrator = fitted(fresh(calibrator), scores, labels)
    extra = (groups_for(N),) if needs_groups(calibrator) else ()
    for order in (np.arange(N), np.random.default_rng(0).permutation(N)):
        with contextlib.nullcontext() if isinstance(calibrator, Identity) else pytest.warns(InSampleWarning):
            calibrator.predict_proba(scores[order], *extra)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calibrator.predict_proba(data(2, seed=2)[0], *extra)


@each
@classes
def test_one_class_only_is_defined_or_refused(calibrator, k):
    scores, _ = data(k)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            rows = applied(fitted(fresh(calibrator), scores, np.ones(N, int)), data(k, seed=2)[0])
        except CalibrantError as error:
            rows, problem = None, error.problem
    if rows is None:
        assert "no rows" in problem
        return
    assert {warning.category for warning in told} <= {CalibrantWarning}
    assert np.isfinite(rows).all()
    assert np.abs(rows.sum(axis=1) - 1).max() <= 1e-12


# A factor for each class depends on a constant added to a row, which probabilities do not tell.
@pytest.mark.parametrize(
    "calibrator", [calibrator for calibrator in MAPS if not isinstance(calibrator, VectorScaling)], ids=repr
)
def test_logits_are_read(calibrator):
    score, labels = data(2)
    z = np.log(score / (1 - score))
    plain = applied(fitted(fresh(calibrator), score, labels), score)
    name = "calibrator__input" if isinstance(calibrator, GroupCalibration) else "input"
    of_logits = copy.deepcopy(calibrator).set_params(**{name: "logit"})
    assert applied(fitted(of_logits, z, labels), z) == pytest.approx(plain, abs=1e-5)


def test_prior_shift_keeps_to_the_same():
    for k, before in ((2, 0.4), (3, (0.2, 0.3, 0.5))):
        scores, labels = data(k)
        calibrator = PriorShift(before).fit(scores, labels)
        rows = applied(calibrator, data(k, seed=2)[0])
        assert np.abs(rows.sum(axis=1) - 1).max() <= 1e-12
        assert (PriorShift(before).fit(scores).after_ == calibrator.after_).all()
        weight = np.random.default_rng(1).integers(0, 4, N)
        weighed = PriorShift(before).fit(scores, labels, weight).after_
        assert weighed == pytest.approx(PriorShift(before).fit(np.repeat(scores, weight, axis=0)).after_, abs=1e-8)
    with pytest.raises(NotFittedError):
        PriorShift(0.5).predict_proba([0.2, 0.3])
