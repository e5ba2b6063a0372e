"""Calibrated models: their folds, routed metadata, containers, and what is not a classifier of one label."""

from __future__ import annotations

import pickle
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import sparse

import calibrant as cal

sklearn = pytest.importorskip("sklearn")

from sklearn.base import BaseEstimator, ClassifierMixin, clone  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.linear_model import LinearRegression, LogisticRegression  # noqa: E402
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, TimeSeriesSplit, cross_validate  # noqa: E402
from sklearn.multioutput import MultiOutputClassifier  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import LinearSVC  # noqa: E402

from calibrant.sklearn import CalibratedModel, ReliabilityDisplay, scorer  # noqa: E402
from tests.calling import raises  # noqa: E402

NAMES = np.array(["d'or", "a", "z", "Ω"])


def rows(classes: int, n: int = 203) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, n)
    return rng.normal(size=(n, 4)) + 1.1 * np.eye(4)[y], y


def test_folds_that_do_not_suit_are_errors() -> None:
    X, y = rows(3)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"cv": ShuffleSplit(2, test_size=0.6)}, "cv: "),  # some rows are tested twice
        ({"cv": "five"}, "cv: "),
        ({"method": cal.PlattScaling}, "method: "),
        ({"method": cal.TemperatureScaling(input="logits")}, "input: "),  # type: ignore[arg-type]
    ]
    for options, text in cases:
        with pytest.raises(cal.errors.ArgumentError, match=text):
            CalibratedModel(GaussianNB(), **{"method": "platt", **options}).fit(X, y)
    order = np.argsort(y)
    for classes in (y[order], y[order] > 0):  # a class is missing from the training rows of a fold, or all but one are
        with raises(cal.errors.ArgumentError, "cv"):
            CalibratedModel(GaussianNB(), method="platt", cv=KFold(3)).fit(X[order], classes)
    with raises(cal.errors.ArgumentError, "estimator"):
        CalibratedModel(LinearRegression(), method="platt").fit(X, y)
    for weight, text in ((-np.ones(203), "sample_weight: "), (np.ones(3), "sample_weight: ")):
        with pytest.raises(cal.errors.InputError, match=text):
            CalibratedModel(GaussianNB(), method="platt").fit(X, y, weight)
    for missing in (None, np.nan):
        labels = np.where(y == 0, missing, NAMES[y].astype(object))
        with raises(cal.errors.LabelError, "y"):
            CalibratedModel(GaussianNB(), method="platt").fit(X, labels)


class Recording(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Keeps what each call of `fit` received."""

    fits: ClassVar[list[tuple[Any, ...]]] = []

    def fit(self, X: Any, y: Any, sample_weight: Any = None, extra: Any = None, setting: Any = None) -> Recording:
        self.fits.append((X[:, 0], sample_weight, extra, setting))
        self.inner_ = GaussianNB().fit(X, y, sample_weight)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.inner_.predict_proba(X)


@pytest.mark.parametrize("routing", [False, True])
def test_parameters_of_fit_are_divided_like_the_rows(routing: bool) -> None:
    X, y = rows(2)
    X[:, 0] = np.arange(len(y))
    groups = np.arange(len(y)) // 7
    given = {"extra": list(range(len(y))), "setting": [1, 2, 3]}
    weight = 1.0 + np.arange(len(y)) % 3
    with sklearn.config_context(enable_metadata_routing=routing):
        inner = Recording()
        if routing:
            inner.set_fit_request(sample_weight=True, extra=True, setting=True)
        model = CalibratedModel(inner, method="platt", cv=GroupKFold(3))
        Recording.fits.clear()
        model.fit(X, y, sample_weight=weight, groups=groups, **given)
        of_folds, whole = Recording.fits[:3], Recording.fits[3]
        if routing:
            CalibratedModel(Recording().set_fit_request(sample_weight=False), method="platt", cv=3).fit(X, y, weight)
            assert Recording.fits[-1][1] is None
            with pytest.raises(ValueError, match="sample_weight"):
                CalibratedModel(Recording(), method="platt", cv=3).fit(X, y, weight)
            requests = model.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
            outer = GridSearchCV(requests, {"method": ["platt"]}, cv=GroupKFold(2))
            outer.fit(X, y, sample_weight=weight, groups=groups, **given)
    seen = set()
    for place, weights, extra, setting in of_folds:
        index = place.astype(int)
        assert list(extra) == index.tolist()
        assert np.array_equal(weights, weight[index])
        assert setting == [1, 2, 3]
        held_out = np.setdiff1d(np.arange(len(y)), index)
        assert not set(groups[held_out]) & set(groups[index])
        seen |= set(held_out)
    assert len(seen) == len(whole[0]) == len(y)


def test_weights_are_routed_to_scorers() -> None:
    X, y = rows(2)
    weight = 1.0 + np.arange(len(y)) % 3
    with sklearn.config_context(enable_metadata_routing=True):
        model = GaussianNB().set_fit_request(sample_weight=False)
        given = {"cv": [(np.arange(100), np.arange(100, 203))], "params": {"sample_weight": weight}}
        weighed = scorer("ece").set_score_request(sample_weight=True)
        found = cross_validate(model, X, y, scoring={"a": weighed, "b": scorer("ece")}, **given)
    fitted = GaussianNB().fit(X[:100], y[:100])
    assert found["test_a"] == scorer("ece")(fitted, X[100:], y[100:], weight[100:])
    assert found["test_b"] == scorer("ece")(fitted, X[100:], y[100:])
    assert weighed == scorer("ece")
    with raises(cal.errors.UnknownArgumentError, "groups"):
        weighed.set_score_request(groups=True)


def test_containers_copies_and_threads() -> None:
    X, y = rows(3)
    labels = NAMES[y]
    model = CalibratedModel(LogisticRegression(), method="platt", cv=3)
    wanted = clone(model).fit(X, labels).predict_proba(X)
    assert clone(model).fit(sparse.coo_matrix(X), labels).predict_proba(sparse.csr_matrix(X)) == pytest.approx(
        wanted, abs=1e-6
    )
    for library in ("pandas", "polars"):
        frames = pytest.importorskip(library)
        frame = frames.DataFrame({f"x{i}": X[:, i] for i in range(4)})
        found = clone(model).fit(frame, frames.Series(labels), frames.Series(np.ones(len(y))))
        assert found.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3"]
        assert found.n_features_in_ == 4
        assert found.predict_proba(frame) == pytest.approx(wanted, abs=1e-6)
        assert pickle.loads(pickle.dumps(found)).predict(frame).tolist() == found.predict(frame).tolist()
    joblib = pytest.importorskip("joblib")
    with joblib.parallel_config("threading"):
        assert np.array_equal(clone(model).set_params(n_jobs=2).fit(X, labels).predict_proba(X), wanted)
    pipeline = make_pipeline(StandardScaler(), CalibratedModel(LinearSVC(), method="platt", cv=3))
    grid = {"calibratedmodel__method": ["platt", "isotonic"]}
    search = GridSearchCV(pipeline, grid, scoring="neg_brier_score", cv=2).fit(X, labels)
    assert (search.cv_results_["mean_test_score"] > -0.67).all()


def test_a_frozen_classifier_is_not_fitted_again() -> None:
    frozen = pytest.importorskip("sklearn.frozen").FrozenEstimator
    X, y = rows(3, 403)
    fitted = LogisticRegression().fit(X[:200], y[:200])
    found = CalibratedModel(frozen(fitted), method="platt").fit(X[200:], y[200:], np.ones(203))  # without a warning
    assert found.predict_interval(X[:5], n_resamples=10).probability == pytest.approx(found.predict_proba(X[:5]))
    prefit = CalibratedModel(fitted, method="platt", cv="prefit").fit(X[200:], y[200:])
    assert np.array_equal(found.predict_proba(X), prefit.predict_proba(X))
    assert prefit.estimator_ is fitted
    some = y[200:] > 0  # the classifier knows a class that these rows lack
    model = CalibratedModel(frozen(fitted), method="temperature")
    assert model.fit(X[200:][some], y[200:][some]).predict_proba(X).shape == (403, 3)
    assert model.classes_.tolist() == [0, 1, 2]


def test_displays_take_line_styles_and_share_axes() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    X, y = rows(2)
    labels = np.array(["no", "yes"])[y]
    model = GaussianNB().fit(X, labels)
    first = ReliabilityDisplay.from_estimator(model, X, labels, bins=5)
    second = ReliabilityDisplay.from_estimator(
        model,
        X,
        labels,
        bins=7,
        pos_label="no",
        ax=first.ax_,
        name="other",
        color="red",
        linestyle=":",
        linewidth=3,
        marker="s",
        counts=None,
    )
    assert second.ax_ is first.ax_
    assert second.line_ is not first.line_
    line = second.line_
    assert (line.get_color(), line.get_linestyle(), line.get_linewidth(), line.get_marker()) == ("red", ":", 3, "s")
    assert len(line.get_xdata()) == np.sum(~second.curve.table.empty)
    texts = {text.get_text() for text in first.ax_.get_legend().get_texts()}
    assert {"GaussianNB", "other"} <= texts
    shown = ReliabilityDisplay.from_predictions(
        labels, model.predict_proba(X)[:, 1], pos_label="yes", label="by hand", alpha=0.5
    )
    assert shown.line_.get_alpha() == 0.5
    assert shown.ax_.get_legend().get_texts()[0].get_text() == "by hand"
    assert shown.plot(name="again").ax_.get_legend().get_texts()[0].get_text() == "again"
    for word, value in (("n_bins", 5), ("strategy", "quantile"), ("zorder", 2)):
        with raises(cal.errors.UnknownArgumentError, word):
            ReliabilityDisplay.from_estimator(model, X, labels, **{word: value})
    plt.close("all")


def test_the_calibrator_has_the_names_of_the_classes(tmp_path: Any) -> None:
    X, y = rows(4)
    fitted = GaussianNB().fit(X, NAMES[y])
    for method in ("platt", "auto", cal.LensCalibration(cal.PlattScaling(), "top_label")):
        found = CalibratedModel(fitted, method=method, cv="prefit").fit(X, NAMES[y]).calibrator_
        loaded = cal.load(cal.save(found, tmp_path / "calibrator.json"))
        assert loaded.classes_.tolist() == fitted.classes_.tolist()
        assert set(loaded.predict(fitted.predict_proba(X[:9]))) <= set(NAMES)
    with pytest.warns(cal.CalibrantWarning, match=r"all outcomes of a class are equal \(class 'z' has no rows\)"):
        CalibratedModel(fitted, method="platt", cv="prefit").fit(X[y != 2], NAMES[y[y != 2]])


def test_what_is_not_a_classifier_of_one_label_is_named() -> None:
    X, y = rows(3)
    several = np.column_stack([y == 0, y == 1]).astype(int)
    by_label = MultiOutputClassifier(GaussianNB()).fit(X, several)
    regressor = LinearRegression().fit(X, y)
    with raises(cal.errors.LabelError, "y"):
        CalibratedModel(GaussianNB()).fit(X, several)
    for estimator, text in ((regressor, "estimator: "), (by_label, "estimator: "), (GaussianNB, "estimator: ")):
        with pytest.raises(cal.errors.ArgumentError, match=text):
            CalibratedModel(estimator, cv="prefit").fit(X, y)
    with pytest.raises(cal.errors.ArgumentError, match="LinearRegression is not a classifier"):
        ReliabilityDisplay.from_estimator(regressor, X, y)
    for function in (scorer("ece"), ReliabilityDisplay.from_estimator):
        with pytest.raises(NotFittedError):
            function(GaussianNB(), X, y)
    with raises(cal.errors.InputTypeError, "calibrator"):
        cal.save(CalibratedModel(GaussianNB(), method="platt").fit(X, y), "never.json")


def test_the_test_rows_of_a_time_series_are_pooled() -> None:
    X, y = rows(2)
    splitter = TimeSeriesSplit(4)
    model = CalibratedModel(GaussianNB(), method="platt", cv=splitter).fit(X, y)
    pooled = [
        (GaussianNB().fit(X[train], y[train]).predict_proba(X[test])[:, 1], y[test])
        for train, test in splitter.split(X)
    ]
    alone = cal.PlattScaling().fit(*(np.concatenate(part) for part in zip(*pooled, strict=True)))
    assert model.calibrator_.coef_ == pytest.approx(alone.coef_)
    assert model.calibrator_.fit_record_.rows == sum(len(test) for _, test in splitter.split(X)) < len(y)


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB", "ignore::calibrant.errors.BoundaryScoresWarning")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("calibrator", [cal.TemperatureScaling(), cal.TemperatureScaling(input="logit")])
def test_out_of_bag_predictions(classes: int, calibrator: Any) -> None:
    X, y = rows(classes)
    forest = RandomForestClassifier(12, oob_score=True, random_state=0)
    model = CalibratedModel(forest, method=calibrator, cv="oob").fit(X, y)
    probs = clone(forest).fit(X, y).oob_decision_function_
    seen = probs.sum(axis=1) > 0
    assert model.calibrator_.fit_record_.rows == seen.sum()
    probs = probs[seen]
    with np.errstate(divide="ignore"):
        scores = probs if calibrator.input == "prob" else np.log(probs)
    if classes == 2:
        scores = scores[:, 1] if calibrator.input == "prob" else scores[:, 1] - scores[:, 0]
    alone = clone(calibrator).fit(scores, y[seen])
    assert model.calibrator_.temperature_ == pytest.approx(alone.temperature_)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)
    with raises(cal.errors.ArgumentError, "cv"):
        CalibratedModel(GaussianNB(), method="platt", cv="oob").fit(X, y)
