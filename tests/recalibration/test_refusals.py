"""Errors and warnings of fit and predict: they use the names of their own arguments and name the class."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, get_args

import numpy as np
import pytest

import calibrant as cal
from calibrant.recalibration.binary import Multiclass, ScoreCalibrator
from calibrant.recalibration.methods import METHODS
from tests.calling import raises

RNG = np.random.default_rng(0)
P4 = RNG.dirichlet([1, 1, 1, 1], 300)
Y4 = np.array([RNG.choice(4, p=row) for row in P4])
NO_2 = np.where(Y4 == 2, 0, Y4)
P2 = RNG.random(200)
Y2 = (RNG.random(200) < P2).astype(int)

# Calibrators with parameters per class must report a class without rows; the others treat all classes alike.
ALIKE = {
    "isotonic_pooled",
    *(name for name, make in METHODS.items() if make().treats_classes_alike),
    *(f"{name} {how}" for name in METHODS for how in ("pooled", "top_versus_all")),
}
# Those that have no finite fit to one outcome.
RAISE = {"beta", "quadratic_logit", "scaling_binning", "logistic_recalibration", "offset", "offset_adjustment"}


def makers(k: int) -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = dict(METHODS)
    found["offset"] = cal.OffsetAdjustment
    found["prior"] = partial(cal.PriorShift, before=[1 / k] * k, after="labels")
    for name, make in METHODS.items():
        # The pooled scores of all classes have too many levels here.
        if k > 2 and isinstance(make(), ScoreCalibrator) and name not in ("isotonic_pooled", "histogram_levels"):
            found |= {
                f"{name} {how}": partial(make, multiclass=how) for how in get_args(Multiclass) if how != "one_vs_rest"
            }
    return found


def fitted_or_refused(calibrator: Any, scores: Any, y: Any) -> tuple[Any, list[str]]:
    """The calibrator, or None, and its error or warning."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            calibrator.fit(scores, y)
        except cal.CalibrantError as error:
            return None, [str(error)]
    assert {warning.category for warning in told} <= {cal.CalibrantWarning}
    return calibrator, [str(warning.message) for warning in told]


def probabilities(rows: Any) -> bool:
    return bool(np.isfinite(rows).all() and (rows >= 0).all() and np.abs(rows.sum(axis=1) - 1).max() <= 1e-12)


@pytest.mark.parametrize("name", makers(4))
def test_a_class_without_rows_is_named(name: str) -> None:
    calibrator, told = fitted_or_refused(makers(4)[name](), P4, NO_2)
    assert not any(word in text for text in told for word in ("y_true", "y_prob", "firth"))
    assert (calibrator is None) == (name.split(" one_vs")[0] in RAISE)
    assert any("class 2 has no rows" in text for text in told) == (name not in ALIKE)
    if calibrator is not None:
        assert probabilities(calibrator.predict_proba(P4[:50]))


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("name", makers(2))
def test_one_class_alone_is_named(name: str, label: int) -> None:
    calibrator, told = fitted_or_refused(makers(2)[name](), P2, np.full(200, label))
    assert not any(word in text for text in told for word in ("y_true", "y_prob", "firth"))
    assert (calibrator is None) == (name in RAISE)
    if name == "isotonic_pooled" or name not in ALIKE:
        assert any(f"class {1 - label} has no rows" in text for text in told)
    if calibrator is not None:
        assert probabilities(calibrator.predict_proba(P2[:50]))


@pytest.mark.parametrize("name", makers(4))
def test_where_every_class_has_rows_nothing_is_said(name: str) -> None:
    calibrator, told = fitted_or_refused(makers(4)[name](), P4, Y4)
    assert calibrator is not None
    assert told == []


def test_classes_are_named_as_they_were_given() -> None:
    with pytest.warns(cal.CalibrantWarning, match=r"classes 2, 3, 4, 5, 6, \.\.\. have no rows"):
        cal.VectorScaling().fit(np.full((20, 8), 1 / 8), np.arange(20) % 2)
    groups = np.where((Y4 == 2) | (np.arange(300) % 2 == 0), "a", "b")
    with pytest.raises(cal.errors.GroupError, match=r"group 'b' cannot be fitted .* rows: class 2 has no rows"):
        cal.GroupCalibration(cal.BetaCalibration()).fit(P4, Y4, groups=groups)
    alone = np.where(np.arange(200) == 7, "alone", "others")
    with pytest.raises(cal.errors.GroupError, match=r"group 'alone' cannot be fitted to its 1 row: .*merge"):
        cal.GroupCalibration(cal.BetaCalibration()).fit(P2, Y2, groups=alone)
    with pytest.warns(cal.CalibrantWarning, match="class 2 has no rows"):
        cal.MultiCalibration().fit(P4, NO_2, groups=np.arange(300) % 2)


@pytest.mark.filterwarnings("ignore::calibrant.errors.ReversedClassesWarning")
def test_right_predictions_only_are_said() -> None:
    for turn, said in ((False, "every prediction is right"), (True, "no prediction is right")):
        y = P4.argmin(axis=1) if turn else P4.argmax(axis=1)
        with pytest.warns(cal.CalibrantWarning, match=said):
            cal.PlattScaling(multiclass="top_versus_all").fit(P4, y)
        with pytest.raises(cal.errors.UndefinedMetricError, match=f"y: {said}.*PlattScaling"):
            cal.BetaCalibration(multiclass="top_versus_all").fit(P4, y)


@pytest.mark.filterwarnings("ignore::calibrant.errors.ReversedClassesWarning")
def test_separated_labels_get_a_remedy_that_there_is() -> None:
    y = (P2 > 0.5).astype(int)
    for calibrator in (cal.BetaCalibration(), cal.QuadraticLogit(), cal.ScalingBinning()):
        with pytest.raises(cal.errors.UndefinedMetricError, match=r"^y: .*separates.*PlattScaling") as caught:
            calibrator.fit(P2, y)
        assert "firth" not in str(caught.value)
    for labels in (y, 1 - y):
        for calibrator in (cal.PlattScaling(targets="plain"), cal.ScalingBinning()):
            with raises(cal.errors.UndefinedMetricError, "y"):
                calibrator.fit(P2, labels)
        assert probabilities(cal.PlattScaling().fit(P2, labels).predict_proba(P2[:50] / 2))


SWAPPED = r"^scores: looks swapped with y, which contains fractions instead of labels; pass \(scores, y\): scores first, labels second"


@pytest.mark.parametrize(
    ("scores", "y"),
    [(Y2, P2), (Y4, P4), (Y2.astype(float), P2), (np.where(Y2 == 1, "a", "b"), P2)],
    ids=["binary", "multiclass", "float", "text"],
)
def test_swapped_arguments_of_fit_are_told_in_its_own_order(scores: Any, y: Any) -> None:
    with pytest.raises(cal.errors.SwappedArgumentsError, match=SWAPPED):
        cal.PlattScaling().fit(scores, y)


def test_a_prior_estimate_reads_as_a_test_against_no_shift() -> None:
    found = cal.recalibration.prior_shift_em(P2, 0.5)
    assert "; test of no shift: likelihood ratio" in repr(found)
