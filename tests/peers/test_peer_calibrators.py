"""Calibrators of other packages and their counterparts in calibrant: equal to the last digits where the definition is the same.

Packages that are not in the development environment are skipped by name; the environment that `make bench` makes has them all.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import calibrant as cal

from .test_peers import peer

Floats = NDArray[np.float64]
NEW = np.concatenate([[0.0, 1.0, 0.5, 0.3], np.random.default_rng(7).random(300), np.linspace(0, 1, 11)])


def problem(n: int, digits: int | None = None, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    odds = rng.normal(-0.3, 1.2, n)
    p = 1 / (1 + np.exp(-2 * odds))
    y = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    return (p if digits is None else p.round(digits)), y


def classes(n: int, k: int, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.7), n)
    y = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, k - 1)
    p = p**1.7
    return p / p.sum(axis=1, keepdims=True), y


# No number of bins divides the rows; ties with exact 0 and 1; few rows.
PROBLEMS = {"331 rows": problem(331), "ties": problem(97, 1, 1), "23 rows": problem(23, None, 3)}


def ours(calibrator: Any, p: Any, y: Any, new: Any = NEW, **given: Any) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(calibrator.fit(p, y, **given).predict_proba(new))


def furthest(theirs: Callable[[Floats, Any], Any], mine: Callable[[Floats, Any], Any]) -> float:
    """The largest difference over all problems."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return max(float(np.abs(np.asarray(theirs(p, y)) - mine(p, y)).max()) for p, y in PROBLEMS.values())


def through_scores() -> Any:
    """A classifier of scikit-learn that returns its features as probabilities."""
    base = peer("sklearn.base")

    class Scores(base.ClassifierMixin, base.BaseEstimator):  # type: ignore[misc, name-defined]
        def fit(self, X: Any, y: Any) -> Any:
            self.classes_ = np.unique(y)
            return self

        def predict_proba(self, X: Any) -> Any:
            return np.column_stack([1 - X[:, 0], X[:, 0]]) if X.shape[1] == 1 else X

        def predict(self, X: Any) -> Any:
            return self.classes_[self.predict_proba(X).argmax(axis=1)]

    return Scores()


@pytest.mark.parametrize("rule", ["log", "brier"])
def test_cross_venn_abers_is_that_of_venn_abers(rule: Any) -> None:
    made, split = peer("venn_abers", "VennAbersCV"), peer("sklearn.model_selection", "StratifiedKFold")

    def theirs(p: Floats, y: Any) -> Any:
        model = made(through_scores(), inductive=False, n_splits=5)
        model.fit(p[:, None], y)
        return model.predict_proba(NEW[:, None], loss=rule)[:, 1]

    def mine(p: Floats, y: Any) -> Any:
        fold = np.empty(len(y), int)
        for number, (_, rows) in enumerate(split(5).split(p[:, None], y)):
            fold[rows] = number
        return ours(cal.CrossVennAbers(rule=rule), p, y, fold=fold)[:, 1]

    assert furthest(theirs, mine) < 1e-14


def test_a_model_with_cross_venn_abers_is_that_of_venn_abers() -> None:
    made, bayes = peer("venn_abers", "VennAbersCV"), peer("sklearn.naive_bayes", "GaussianNB")
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 203)
    X = rng.normal(size=(203, 3)) + y[:, None] * [0.8, 0.3, 0]
    theirs = made(bayes(), inductive=False, n_splits=5, cv_ensemble=False)
    theirs.fit(X, y)
    own = peer("calibrant.sklearn", "CalibratedModel")(bayes(), method="cross_venn_abers", cv=5).fit(X, y)
    assert own.predict_proba(X[:50] + 0.1) == pytest.approx(theirs.predict_proba(X[:50] + 0.1), abs=1e-14)


def test_cross_venn_abers_on_the_other_folds_is_that_of_probcal() -> None:
    module = peer("probcal.vennabers")

    def mine(p: Floats, y: Any) -> Any:
        fold = module.stratified_folds(y, 5, 42)
        return ours(cal.CrossVennAbers(calibrate_on="others"), p, y, fold=fold)[:, 1]

    assert furthest(lambda p, y: module.CrossVennAbersCalibrator(cv=5).fit(p, y).predict_proba(NEW), mine) < 1e-14


@pytest.mark.parametrize("k", [4, 10])
@pytest.mark.parametrize("how", ["one_vs_one", "one_vs_rest"])
def test_venn_abers_of_several_classes_is_that_of_venn_abers(how: Any, k: int) -> None:
    predict = peer("venn_abers.venn_abers", "predict_proba_prefitted_va")
    (p, y), new = classes(70 * k, k), classes(200, k, 9)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, _ = predict(p, y, new, va_tpe=how)
    assert ours(cal.VennAbers(multiclass=how), p, y, new) == pytest.approx(theirs, abs=1e-14)


@pytest.mark.parametrize(("theirs", "own"), [("abm", "abm"), ("ab", "am"), ("a", "a")])
def test_beta_calibration_is_that_of_probcal(theirs: str, own: Any) -> None:
    made = peer("probcal.parametric", "BetaCalibrator")
    # Scores of 0 and 1 are clipped at 1e-12 by both, and computed in another order.
    assert (
        furthest(
            lambda p, y: made(theirs).fit(p, y).predict_proba(NEW),
            lambda p, y: ours(cal.BetaCalibration(parameters=own), p, y)[:, 1],
        )
        < 1e-6
    )


@pytest.mark.parametrize("parameters", ["abm", "ab", "am", "a"])
def test_beta_calibration_is_likelier_than_that_of_betacal_and_close(parameters: Any) -> None:
    """Its search stops early; scores of 0 and 1 are clipped elsewhere."""
    made = peer("betacal", "BetaCalibration")
    for n, seed, far in ((331, 0, 2e-4), (5003, 4, 0.01)):
        p, y = problem(n, None, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = made(parameters).fit(p, y)
            found = ours(cal.BetaCalibration(parameters=parameters), p, y, p)[:, 1]
            assert np.abs(theirs.predict(p) - found).max() < far
            assert cal.nll(y, found) <= cal.nll(y, theirs.predict(p)) + 1e-12


@pytest.mark.parametrize("shrinkage", ["jeffreys", None])
def test_bins_of_probcal(shrinkage: Any) -> None:
    made = peer("probcal.binning", "HistogramBinningCalibrator")
    shrink = 0.5 if shrinkage else 0.0

    def by_mass(p: Floats, y: Any) -> Any:
        edges = made(7, "mass", shrinkage).fit(p, y).edges_
        return ours(cal.HistogramBinning(binning=cal.Edges((0, *edges, 1), closed="left"), shrink=shrink), p, y)[:, 1]

    assert furthest(lambda p, y: made(7, "mass", shrinkage).fit(p, y).predict_proba(NEW), by_mass) == 0
    width = cal.HistogramBinning(
        binning=cal.EqualWidth(7, closed="left", edges="linspace"), empty="interpolate", shrink=shrink
    )
    assert (
        furthest(
            lambda p, y: made(7, "width", shrinkage).fit(p, y).predict_proba(NEW), lambda p, y: ours(width, p, y)[:, 1]
        )
        == 0
    )


def test_bins_of_netcal() -> None:
    made = peer("netcal.binning", "HistogramBinning")
    own = cal.HistogramBinning(binning=cal.EqualWidth(7, closed="left", edges="linspace"))
    assert furthest(lambda p, y: made(7).fit(p, y).transform(NEW), lambda p, y: ours(own, p, y)[:, 1]) == 0


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_bins_of_probmetrics(strategy: str) -> None:
    made = peer("probmetrics.calibrators.binning", "BinaryHistogramBinningCalibrator")
    rule = (
        cal.EqualWidth(7, closed="left", edges="linspace")
        if strategy == "uniform"
        else cal.Quantile(7, closed="left", edges="quantile")
    )
    own = cal.HistogramBinning(binning=rule, empty="mean")
    assert (
        furthest(
            lambda p, y: (
                made(7, strategy)
                .fit(np.column_stack([1 - p, p]), y)
                .predict_proba(np.column_stack([1 - NEW, NEW]))[:, 1]
            ),
            lambda p, y: ours(own, p, y)[:, 1],
        )
        == 0
    )


def test_bins_of_uncertainty_calibration() -> None:
    module = peer("calibration")
    own = cal.HistogramBinning(binning=cal.EqualMass(7, split="array_split"))

    def theirs(p: Floats, y: Any) -> Any:
        made = module.HistogramCalibrator(len(p), 7)
        made.train_calibration(p, y)
        return made.calibrate(NEW)

    assert furthest(theirs, lambda p, y: ours(own, p, y)[:, 1]) < 1e-15


@pytest.mark.parametrize(
    ("name", "calibrator", "far"),
    [
        ("HistogramTopCalibrator", cal.HistogramBinning(binning=cal.EqualMass(7, split="array_split")), 1e-14),
        ("PlattTopCalibrator", cal.PlattScaling(targets="plain"), 1e-4),  # its search stops early
    ],
)
def test_top_label_calibrators_of_uncertainty_calibration(name: str, calibrator: Any, far: float) -> None:
    (p, y), new = classes(301, 4), classes(200, 4, 9)[0]
    made = getattr(peer("calibration"), name)(301, 7)
    made.train_calibration(p, y)
    theirs = np.asarray(made.calibrate(new))
    found = ours(calibrator.set_params(multiclass="top_versus_all"), p, y, new).max(axis=1)
    assert np.abs(np.maximum(theirs, 0.25) - found).max() < far  # the predicted class stays the most probable one


@pytest.mark.parametrize(
    ("method", "calibrator", "far"),
    [("sigmoid", cal.PlattScaling(input="logit"), 1e-6), ("isotonic", cal.IsotonicCalibration(), 1e-12)],
)
@pytest.mark.parametrize(("n", "k"), [(301, 4), (67, 4), (1500, 10)])
def test_top_label_calibration_is_that_of_mapie(method: str, calibrator: Any, far: float, n: int, k: int) -> None:
    made = peer("mapie.calibration", "TopLabelCalibrator")
    (p, y), new = classes(n, k), classes(300, k, 9)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = through_scores().fit(p, np.arange(k)[y])
        theirs = np.nanmax(made(model, method, cv="prefit").fit(p, y).predict_proba(new), axis=1)
    found = ours(cal.TopLabelCalibration(calibrator), p, y, new).max(axis=1)
    assert np.abs(np.maximum(theirs, 1 / k) - found).max() < far


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("name", "kind"), [("MultiplicativeAdjustment", "multiplicative"), ("AdditiveAdjustment", "additive")]
)
def test_adjustments_are_those_of_mcgrad(name: str, kind: Any, weighted: bool) -> None:
    made, pandas = getattr(peer("mcgrad.methods"), name), peer("pandas")
    for p, y in PROBLEMS.values():
        weight = 1 + np.arange(len(y)) % 3
        frame = pandas.DataFrame({"p": p, "y": y, "w": weight})
        theirs = made().fit(frame, "p", "y", weight_column_name="w" if weighted else None)
        found = ours(cal.ProbabilityAdjustment(kind), p, y, sample_weight=weight if weighted else None)[:, 1]
        assert theirs.predict(pandas.DataFrame({"p": NEW}), "p") == pytest.approx(found, abs=1e-14)


def test_platt_scaling_with_features_is_that_of_mcgrad() -> None:
    made, pandas = peer("mcgrad.methods", "PlattScalingWithFeatures"), peer("pandas")
    for n, seed in ((331, 0), (24, 3)):
        p, y = problem(n, None, seed)
        rng = np.random.default_rng(seed)
        new = rng.random(n)
        features = pandas.DataFrame(
            {"sex": np.array(["f", "m", "x"])[rng.integers(0, 3, n)], "age": rng.integers(20, 90, n)}
        )
        named = {"categorical_feature_column_names": ["sex"], "numerical_feature_column_names": ["age"]}
        frame = features.assign(p=p, y=y)
        theirs = made().fit(frame, "p", "y", **named).predict(frame.assign(p=new), "p", **named)
        own = cal.PlattScalingWithFeatures(penalty=10, shrink_slope=True).fit(p, y, features=features)
        found = own.predict_proba(new, features[["age", "sex"]])[:, 1]
        assert np.abs(found - theirs).max() < 1e-4  # its search stops early
