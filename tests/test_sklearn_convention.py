"""Calibrated models as scikit-learn fits them: its numbers, folds with missing classes, routed metadata, containers."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

import calibrant as cal

sklearn = pytest.importorskip("sklearn")

from sklearn.base import BaseEstimator, ClassifierMixin, clone  # noqa: E402
from sklearn.calibration import CalibratedClassifierCV  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.linear_model import LinearRegression, LogisticRegression  # noqa: E402
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, LeaveOneOut, ShuffleSplit, cross_validate  # noqa: E402
from sklearn.multioutput import MultiOutputClassifier  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import LinearSVC  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

from calibrant.sklearn import CalibratedModel, ReliabilityDisplay, scorer  # noqa: E402
from calibrant.sklearn.score_curves import ScoreCurves, fit_sigmoid  # noqa: E402
from tests.calling import raises  # noqa: E402

# scikit-learn has temperature scaling since version 1.8.
HAS_TEMPERATURE = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
THEIR_METHODS = ("sigmoid", "isotonic", "temperature") if HAS_TEMPERATURE else ("sigmoid", "isotonic")
NAMES = np.array(["d'or", "a", "z", "Ω"])


def rows(classes: int, n: int = 203, seed: int = 0, *, tied: bool = False) -> tuple[Any, Any]:
    """Features and class indices; tied features are small integers, which give few distinct scores and exact 0 and 1."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = rng.normal(size=(n, 4)) + 1.1 * np.eye(4)[y]
    return (np.round(X) if tied else X), y


MODELS = [LinearSVC(random_state=0), GaussianNB(), DecisionTreeClassifier(max_depth=3, random_state=0)]


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("classes", [2, 4])
def test_the_numbers_of_scikit_learn(classes: int, ensemble: bool, deep: bool) -> None:
    """Isotonic to the last digit; the sigmoid and the temperature of scikit-learn stop by a tolerance."""
    largest = dict.fromkeys(THEIR_METHODS, 0.0)
    sizes, folds = ((203, 1003, 4001), 5) if deep else ((203,), 2)
    weight = np.random.default_rng(1).exponential(size=max(sizes)) * 3
    weight[::7] = 0
    for n in sizes:
        for number, model in enumerate(MODELS):
            for method in largest:
                X, y = rows(classes, n, number, tied=number == 2)
                labels = NAMES[y] if number == 1 else y
                given = {"sample_weight": weight[:n]} if number != 1 else {}
                ours = CalibratedModel(model, method, folds, ensemble=ensemble, convention="scikit-learn")
                theirs = CalibratedClassifierCV(model, method=method, cv=folds, ensemble=ensemble)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ours.fit(X, labels, **given)
                    theirs.fit(X, labels, **given)
                new = rows(classes, 97, 9)[0]
                gap = np.abs(ours.predict_proba(new) - theirs.predict_proba(new)).max()
                largest[method] = max(largest[method], float(gap))
                assert ours.classes_.tolist() == theirs.classes_.tolist()
                assert len(ours.calibrated_classifiers_) == len(theirs.calibrated_classifiers_)
    assert largest.pop("isotonic") < 1e-14
    assert max(largest.values()) < 1e-6


def test_the_default_is_that_of_scikit_learn() -> None:
    X, y = rows(3)
    ours, theirs = CalibratedModel(convention="scikit-learn").fit(X, y), CalibratedClassifierCV().fit(X, y)
    assert isinstance(ours.calibrated_classifiers_[0].estimator, LinearSVC)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-6)
    assert not hasattr(ours, "estimator_")
    single = CalibratedModel(method="platt").fit(X, y)  # the convention of calibrant keeps one classifier
    assert isinstance(single.estimator_, LinearSVC)
    assert len(single.calibrated_classifiers_) == 1


def test_the_sigmoid_is_the_maximum_of_platts_likelihood() -> None:
    rng = np.random.default_rng(3)
    for scores in (rng.normal(size=60) * 1e4, np.round(rng.normal(size=60)), rng.random(60) + 1e6):
        event, weight = rng.random(60) < 0.3, rng.exponential(size=60)
        weight[:5] = 0
        events, others = weight[event].sum(), weight[~event].sum()
        target = np.where(event, (events + 1) / (events + 2), 1 / (others + 2))
        x = (scores - scores.mean()) / scores.std()

        def loss(ab: Any, x: Any = x, target: Any = target, weight: Any = weight) -> float:
            return float((weight * (np.logaddexp(0, ab[0] + ab[1] * x) - target * (ab[0] + ab[1] * x))).sum())

        found = minimize(
            loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 5000}
        )
        wanted = 1 / (1 + np.exp(-(found.x[0] + found.x[1] * x)))
        assert fit_sigmoid(scores, event, weight)(scores) == pytest.approx(wanted, abs=2e-7)
    flat = fit_sigmoid(np.full(7, 3.0), np.arange(7) < 2, None)
    assert flat.slope == 0
    assert flat([9.0]) == pytest.approx((2 * 3 / 4 + 5 * 1 / 7) / 7)


class Scores(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Decision values that are the features times a number."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def fit(self, X: Any, y: Any) -> Scores:
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: Any) -> Any:
        return self.scale * (X[:, 0] if len(self.classes_) == 2 else X)


@pytest.mark.skipif(not HAS_TEMPERATURE, reason="scikit-learn before 1.8 has no temperature scaling")
@pytest.mark.filterwarnings("ignore:the ")
@pytest.mark.parametrize("classes", [2, 3])
def test_the_range_of_the_temperature_is_that_of_scikit_learn(classes: int) -> None:
    """The inverse temperature lies between exp(-10) and exp(10), also for scores of no use and of any size."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(203, 3))
    logits = X if classes == 3 else X[:, :1] * [-0.5, 0.5]
    for slope in (1.0, 0.02, -1.0):
        probs = np.exp(slope * logits)
        y = (rng.random((203, 1)) > (probs / probs.sum(axis=1, keepdims=True)).cumsum(axis=1)[:, :-1]).sum(axis=1)
        for scale in (1e-6, 1e-3, 1.0, 1e3, 1e6):
            given = {"estimator": Scores(scale), "method": "temperature", "cv": 2}
            ours = CalibratedModel(**given, convention="scikit-learn").fit(X, y).predict_proba(X)
            assert np.allclose(ours, CalibratedClassifierCV(**given).fit(X, y).predict_proba(X), rtol=0, atol=1e-6)


def test_isotonic_curves_of_several_classes_and_rows_of_zeros() -> None:
    """The least-squares solution by the min-max formula, one class at a time, divided by the sum; a row of zeros is uniform."""
    rng = np.random.default_rng(5)
    scores, codes = np.round(rng.normal(size=(40, 3)), 1), rng.integers(0, 3, 40)
    weight = rng.exponential(size=40)
    columns = []
    for c in range(3):
        x, event = scores[:, c], codes == c
        values = np.unique(x)
        means = [
            [
                np.average(event[(x >= a) & (x <= b)], weights=weight[(x >= a) & (x <= b)]) if a <= b else 0
                for b in values
            ]
            for a in values
        ]
        fit = [max(min(means[a][b] for b in range(i, len(values))) for a in range(i + 1)) for i in range(len(values))]
        columns.append(np.array(fit)[np.searchsorted(values, x)])
    rates = np.column_stack(columns)
    found = ScoreCurves.fit("isotonic", scores, codes, weight)
    total = rates.sum(axis=1, keepdims=True)
    assert found.predict_proba(scores) == pytest.approx(np.where(total > 0, rates / total, 1 / 3), abs=1e-12)
    sharp = ScoreCurves.fit("isotonic", np.eye(3), np.arange(3), None)
    assert sharp.predict_proba(np.array([[-9.0, 0, 0], [0, 0.5, 0]])).tolist() == [[1 / 3, 1 / 3, 1 / 3], [0, 1, 0]]
    close = np.array([0.1, 0.1 + 4e-16, 0.1 + 8e-16, 0.1 + 1.2e-15, 0.3])  # scikit-learn: one score within 1e-15
    outcome = np.array([0, 1, 0, 1, 1])
    theirs = sklearn.isotonic.IsotonicRegression(out_of_bounds="clip").fit(close, outcome)
    ours = ScoreCurves.fit("isotonic", close, outcome, None)
    assert ours.predict_proba(close)[:, 1] == pytest.approx(theirs.predict(close), abs=1e-15)


def test_a_fold_without_a_class() -> None:
    X, y = rows(4, 403)
    labels = NAMES[y]
    cv = [(np.flatnonzero(y != 2), np.arange(0, 403, 3)), (np.arange(0, 403, 2), np.arange(1, 403, 2))]
    for method in ("sigmoid", "isotonic"):
        with pytest.warns(
            cal.CalibrantWarning, match="class 'z' is missing from the training rows of fold 1"
        ) as caught:
            ours = CalibratedModel(GaussianNB(), method, cv, convention="scikit-learn").fit(X, labels)
        assert [warning.filename for warning in caught] == [__file__]
        theirs = CalibratedClassifierCV(GaussianNB(), method=method, cv=cv).fit(X, labels)
        assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-6)
        assert not ours.calibrated_classifiers_[0].predict_proba(X)[:, list(ours.classes_).index("z")].any()
    for method in ("platt", "temperature", "auto"):
        with pytest.warns(cal.CalibrantWarning, match="is missing from the training rows of fold 1"):
            found = CalibratedModel(GaussianNB(), method, cv, ensemble=True).fit(X, labels)
        assert np.abs(found.predict_proba(X).sum(axis=1) - 1).max() < 1e-12
    # Of three classes two are left: scikit-learn gives one of them probability 1 in every row; calibrant calibrates both.
    X, y = rows(3, 303)
    cv = [(np.flatnonzero(y != 0), np.arange(0, 303, 3)), (np.arange(0, 303, 2), np.arange(1, 303, 2))]
    with pytest.warns(cal.CalibrantWarning, match="class 0 is missing"):
        ours = CalibratedModel(GaussianNB(), cv=cv, convention="scikit-learn").fit(X, y)
    theirs = CalibratedClassifierCV(GaussianNB(), cv=cv).fit(X, y)
    assert (theirs.calibrated_classifiers_[0].predict_proba(X) == [0, 1, 0]).all()
    probs = ours.calibrated_classifiers_[0].predict_proba(X)
    assert not probs[:, 0].any()
    assert cal.ece(y[y > 0] == 2, probs[y > 0, 2]) < 0.25
    assert probs[y == 2, 2].mean() > probs[y == 1, 2].mean() + 0.1


def test_folds_that_do_not_suit_are_errors() -> None:
    X, y = rows(3)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"cv": ShuffleSplit(2)}, "cv: "),
        ({"cv": LeaveOneOut(), "ensemble": True}, "cv: "),
        ({"cv": "prefit", "ensemble": True}, "ensemble: "),
        ({"cv": "five"}, "cv: "),
        ({"convention": "sklearn"}, "convention: "),
        ({"ensemble": "yes"}, "ensemble: "),
        ({"convention": "scikit-learn", "method": "beta"}, "method: "),
        ({"method": cal.PlattScaling}, "method: "),
        ({"method": cal.TemperatureScaling(input="logits")}, "input: "),  # type: ignore[arg-type]
    ]
    for options, text in cases:
        with pytest.raises(cal.errors.ArgumentError, match=text):
            CalibratedModel(GaussianNB(), **{"method": "platt", **options}).fit(X, y)
    order = np.argsort(y)
    with raises(cal.errors.ArgumentError, "cv"):
        CalibratedModel(GaussianNB(), "platt", KFold(2)).fit(X[order], y[order] > 0)
    with (
        pytest.warns(cal.CalibrantWarning, match="missing from the training rows"),
        raises(cal.errors.ArgumentError, "cv"),
    ):
        CalibratedModel(LinearSVC(), "platt", KFold(3)).fit(X[order], y[order])
    with (
        pytest.warns(cal.CalibrantWarning, match="missing from the training rows"),
        raises(cal.errors.ArgumentError, "cv"),
    ):
        CalibratedModel(GaussianNB(), cv=KFold(3), ensemble=True).fit(X[order], y[order])
    with raises(cal.errors.ArgumentError, "estimator"):
        CalibratedModel(LinearRegression(), "platt").fit(X, y)
    for weight, text in ((-np.ones(203), "sample_weight: "), (np.ones(3), "sample_weight: ")):
        with pytest.raises(cal.errors.InputError, match=text):
            CalibratedModel(GaussianNB(), "platt").fit(X, y, weight)
    for missing in (None, np.nan):
        labels = np.where(y == 0, missing, NAMES[y].astype(object))
        with raises(cal.errors.LabelError, "y"):
            CalibratedModel(GaussianNB(), "platt").fit(X, labels)


class Recording(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Keeps what `fit` received."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, extra: Any = None, setting: Any = None) -> Recording:
        self.seen_ = X[:, 0], sample_weight, extra, setting
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
        model = CalibratedModel(inner, "platt", GroupKFold(3), ensemble=True)
        model.fit(X, y, sample_weight=weight, groups=groups, **given)
        if routing:
            silent = CalibratedModel(Recording().set_fit_request(sample_weight=False), "platt", 3).fit(X, y, weight)
            assert silent.estimator_.seen_[1] is None
            with pytest.raises(ValueError, match="sample_weight"):
                CalibratedModel(Recording(), "platt", 3).fit(X, y, weight)
            requests = model.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
            outer = GridSearchCV(requests, {"method": ["platt"]}, cv=GroupKFold(2))
            outer.fit(X, y, sample_weight=weight, groups=groups, **given)
    seen = set()
    for pair in model.calibrated_classifiers_:
        place, weights, extra, setting = pair.estimator.seen_
        index = place.astype(int)
        assert list(extra) == index.tolist()
        assert np.array_equal(weights, weight[index])
        assert setting == [1, 2, 3]
        held_out = np.setdiff1d(np.arange(len(y)), index)
        assert not set(groups[held_out]) & set(groups[index])
        seen |= set(held_out)
    assert len(seen) == len(y)


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
    model = CalibratedModel(LogisticRegression(), "platt", 3, ensemble=True)
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
    pipeline = make_pipeline(StandardScaler(), CalibratedModel(LinearSVC(), "sigmoid", 3, convention="scikit-learn"))
    grid = [{"calibratedmodel__ensemble": [False]}, {"calibratedmodel__method": ["isotonic"]}]
    search = GridSearchCV(pipeline, grid, scoring="neg_brier_score", cv=2).fit(X, labels)
    assert (search.cv_results_["mean_test_score"] > -0.67).all()
    model.set_params(ensemble=False).fit(X, labels)
    assert model.estimator_ is model.calibrated_classifiers_[0].estimator
    assert not hasattr(model.set_params(ensemble=True).fit(X, labels), "estimator_")


def test_a_frozen_classifier_is_not_fitted_again() -> None:
    frozen = pytest.importorskip("sklearn.frozen").FrozenEstimator
    X, y = rows(3, 403)
    fitted = LogisticRegression().fit(X[:200], y[:200])
    for convention, method in (("calibrant", "platt"), ("scikit-learn", "sigmoid")):
        options: dict[str, Any] = {"method": method, "convention": convention}
        found = CalibratedModel(frozen(fitted), **options).fit(X[200:], y[200:], np.ones(203))  # without a warning
        prefit = CalibratedModel(fitted, cv="prefit", **options).fit(X[200:], y[200:])
        assert np.array_equal(found.predict_proba(X), prefit.predict_proba(X))
        assert (
            len(CalibratedModel(frozen(fitted), cv=4, ensemble=True, **options).fit(X, y).calibrated_classifiers_) == 4
        )
    some = y[200:] > 0  # the classifier knows a class that these rows lack
    for model in (
        CalibratedModel(frozen(fitted), "temperature"),
        CalibratedModel(frozen(fitted), "temperature", ensemble=True),
    ):
        assert model.fit(X[200:][some], y[200:][some]).predict_proba(X).shape == (403, 3)
        assert model.classes_.tolist() == [0, 1, 2]
    theirs = CalibratedClassifierCV(frozen(fitted)).fit(X[200:], y[200:])
    assert found.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-6)


@pytest.mark.deep
@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_it_is_an_estimator_by_either_convention(method: str) -> None:
    for model in (LogisticRegression(), None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = check_estimator(
                CalibratedModel(model, method, 3, convention="scikit-learn"), on_fail=None, on_skip=None
            )
        assert [(r["check_name"], str(r["exception"])) for r in results if r["status"] == "failed"] == []


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


@pytest.mark.filterwarnings("ignore:the ", "ignore:The least populated", "ignore:.*is missing from the training rows")
def test_folds_and_classes_that_scikit_learn_takes_have_its_numbers() -> None:
    X, y = rows(4)
    rare = np.where(np.arange(203) == 0, 7, y)  # one row, in five folds
    order = np.argsort(y)
    for cv, features, labels in ((None, X, rare), (KFold(4), X[order], y[order])):
        for method in (
            "sigmoid",
            "isotonic",
        ):  # a row of zeros is uniform, also over a class that the fold does not know
            ours = CalibratedModel(LinearSVC(), method, cv, convention="scikit-learn").fit(features, labels)
            theirs = CalibratedClassifierCV(LinearSVC(), method=method, cv=cv).fit(features, labels)
            assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-5)
    # The fitted calibrator takes the decision values as they are, whatever their size, and so does its file.
    for scale in (1e-6, 1.0, 1e6):
        found = CalibratedModel(Scores(scale), "temperature", convention="scikit-learn", ensemble=False).fit(X, y)
        again = found.calibrator_.predict_proba(scale * X[:50])
        assert again == pytest.approx(found.predict_proba(X[:50]), abs=1e-12)


def test_the_calibrator_has_the_names_of_the_classes(tmp_path: Any) -> None:
    X, y = rows(4)
    fitted = GaussianNB().fit(X, NAMES[y])
    for method in ("platt", "auto", cal.TopLabelCalibration(cal.PlattScaling())):
        found = CalibratedModel(fitted, method, "prefit").fit(X, NAMES[y]).calibrator_
        loaded = cal.load(cal.save(found, tmp_path / "calibrator.json"))
        assert loaded.classes_.tolist() == fitted.classes_.tolist()
        assert set(loaded.predict(fitted.predict_proba(X[:9]))) <= set(NAMES)
    with pytest.warns(cal.CalibrantWarning, match=r"all outcomes of a class are equal \(class 'z' has no rows\)"):
        CalibratedModel(fitted, "platt", "prefit").fit(X[y != 2], NAMES[y[y != 2]])


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
    model = CalibratedModel(GaussianNB(), convention="scikit-learn", ensemble=False).fit(X, y)
    for thing, text in (
        (model, "got CalibratedModel; pickle the model"),
        (model.calibrator_, "got ScoreCurves; pickle"),
    ):
        with pytest.raises(cal.errors.InputTypeError, match=text):
            cal.save(thing, "never.json")
