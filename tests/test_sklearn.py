"""The scikit-learn side: a calibrated model that passes its checks, scorers for every metric, and the display."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import calibrant as cal

sklearn = pytest.importorskip("sklearn")

from sklearn.base import BaseEstimator, ClassifierMixin, clone  # noqa: E402
from sklearn.datasets import load_breast_cancer, load_digits  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.metrics import log_loss  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import SVC, LinearSVC  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

from calibrant.recalibration.methods import METHODS  # noqa: E402
from calibrant.sklearn import CalibratedModel, ReliabilityDisplay, scorer, scorers  # noqa: E402
from tests.calling import raises  # noqa: E402

CANCER = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
DIGITS = train_test_split(*load_digits(return_X_y=True), random_state=0)


@pytest.mark.parametrize("data", [CANCER, DIGITS], ids=["two", "ten"])
@pytest.mark.parametrize("model", [GaussianNB(), make_pipeline(StandardScaler(), LinearSVC(random_state=0))])
def test_a_calibrated_model_gives_better_probabilities(data: Any, model: Any) -> None:
    train, test, y, labels = data
    calibrated = CalibratedModel(model).fit(train, y)
    probs = calibrated.predict_proba(test)
    assert np.abs(probs.sum(axis=1) - 1).max() < 1e-12
    assert calibrated.score(test, labels) > 0.8
    if hasattr(model, "predict_proba"):
        assert cal.nll(labels, probs) < cal.nll(labels, clone(model).fit(train, y).predict_proba(test))
    assert cal.ece(labels, probs) < 0.1


def test_prefit_models_names_and_given_maps() -> None:
    train, test, y, labels = CANCER
    names = np.array(["bad", "good"])
    model = GaussianNB().fit(train[:200], names[y[:200]])
    for method in ("isotonic", cal.TemperatureScaling(), "auto"):
        calibrated = CalibratedModel(model, method=method, cv="prefit").fit(train[200:], names[y[200:]])
        assert calibrated.estimator_ is model
        assert set(calibrated.predict(test)) <= {"bad", "good"}
        assert np.mean(calibrated.predict(test) == names[labels]) > 0.85
    with raises(cal.errors.ArgumentError, "method"):
        CalibratedModel(model, method="magic", cv="prefit").fit(train, names[y])
    with raises(cal.errors.ArgumentError, "y"):
        CalibratedModel(model).fit(train, None)


def test_it_is_an_estimator() -> None:
    # Its checks fit to labels drawn at random, of which no temperature makes sense.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(CalibratedModel(GaussianNB(), method="temperature"), on_fail=None, on_skip=None)
    failed = [(r["check_name"], str(r["exception"])) for r in results if r["status"] == "failed"]
    assert failed == []
    assert len(results) > 40


@pytest.mark.filterwarnings("ignore::calibrant.errors.BoundaryScoresWarning")
def test_scorers_are_the_metrics_with_larger_being_better() -> None:
    train, test, y, labels = CANCER
    model = GaussianNB().fit(train, y)
    probs = model.predict_proba(test)[:, 1]
    every = scorers()
    assert len(every) == sum(not m.needs for m in cal.catalogue.values())
    for id in ("ece", "brier", "ecce_mad", "esce", "cox_slope"):
        value, ideal = cal.catalogue[id](labels, probs), cal.catalogue[id].ideal
        wanted = -value if cal.catalogue[id].proper == "strictly" else -abs(value - ideal)  # type: ignore[operator]
        assert every[id](model, test, labels) == pytest.approx(wanted, abs=1e-15)
    weight = np.arange(len(labels)) % 3
    found = scorer("ece", bins=10)(model, test, labels, sample_weight=weight)
    assert found == -cal.ece(labels, probs, bins=10, sample_weight=weight)
    assert repr(scorer("ECE")) == "scorer('ece')"
    assert cross_val_score(GaussianNB(), train, y, scoring=scorer("nll"), cv=3).max() < 0
    names = np.array(["bad", "good"])
    text = GaussianNB().fit(train, names[y])
    assert scorer("ece")(text, test, names[labels]) == -cal.ece(labels, probs)
    with raises(cal.errors.ArgumentError, "metric"):
        scorer("pce")


@pytest.mark.filterwarnings("ignore::calibrant.errors.BoundaryScoresWarning")
def test_an_infinite_loss_is_that_of_clipped_probabilities_as_in_scikit_learn() -> None:
    train, test, y, labels = CANCER
    sure = KNeighborsClassifier(3).fit(train, y)  # many of its probabilities are 0 or 1
    probs = sure.predict_proba(test)
    assert cal.nll(labels, probs[:, 1]) == np.inf
    assert scorer("nll")(sure, test, labels) == pytest.approx(-log_loss(labels, probs), rel=1e-12)
    for id in ("focal_loss", "hosmer_lemeshow"):
        assert np.isinf(cal.catalogue[id](labels, probs[:, 1]))
        assert np.isfinite(scorer(id)(sure, test, labels))
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [3, 25]}, scoring=scorer("nll"), cv=3).fit(train, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_ == {"n_neighbors": 25}


def three_kinds(seed: int = 0, n: int = 300) -> tuple[Any, Any]:
    """Rows of three named classes."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, n)
    return rng.normal(size=(n, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[codes], np.array(["ant", "cat", "dog"])[codes]


@pytest.mark.parametrize("stranger", ["bee", "zebra", "aardvark"])
def test_a_label_that_the_model_does_not_know_is_no_other_class(stranger: str) -> None:
    X, y = three_kinds()
    model = GaussianNB().fit(X, y)
    odd = y.astype(object)
    odd[7] = stranger
    text = f"y: labels must be among the classes .*; got '{stranger}' in row 7; drop the rows"
    for call in (
        lambda: scorer("ece")(model, X, odd),
        lambda: CalibratedModel(model, cv="prefit", method="temperature").fit(X, odd),
        lambda: ReliabilityDisplay.from_estimator(model, X, odd),
    ):
        with pytest.raises(cal.errors.LabelError, match=text) as caught:
            call()
        assert caught.value.row == 7
    with raises(cal.errors.LabelError, "y"):
        scorer("ece")(model, X, np.zeros(len(X), int))


def test_a_scorer_knows_the_classes_by_name() -> None:
    X, y = three_kinds()
    model = GaussianNB().fit(X, y)
    probs = model.predict_proba(X)
    assert scorer("ece", lens="class:dog")(model, X, y) == -cal.ece(y == "dog", probs[:, 2])
    assert scorer("ece", lens="class:cat")(model, X, y) == -cal.ece(y == "cat", probs[:, 1])
    # Numbers are names too: class 5 is the first column here, and there is no class 0.
    numbered = GaussianNB().fit(X, np.select([y == "ant", y == "cat"], [5, 6], 9))
    given = np.select([y == "ant", y == "cat"], [5, 6], 9)
    assert scorer("ece", lens="class:5")(numbered, X, given) == -cal.ece(y == "ant", probs[:, 0])
    with raises(cal.errors.ArgumentError, "lens"):
        scorer("ece", lens="class:0")(numbered, X, given)


@pytest.mark.parametrize("classes", [3, 4])
def test_scores_of_pairs_of_classes_are_refused(classes: int) -> None:
    X, y = load_digits(n_class=classes, return_X_y=True)
    remedy = "estimator: .*one score for each class is required; use decision_function_shape=.ovr."
    for model in (
        SVC(decision_function_shape="ovo"),
        make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")),
    ):
        with pytest.raises(cal.errors.ArgumentError, match=remedy):
            CalibratedModel(model).fit(X, y)
        fitted = model.fit(X, y)
        with pytest.raises(cal.errors.ArgumentError, match=remedy):
            CalibratedModel(fitted, cv="prefit").fit(X, y)
        with pytest.raises(cal.errors.ArgumentError, match=remedy):
            scorer("ece")(fitted, X, y)
    fine = CalibratedModel(SVC(decision_function_shape="ovr"), method="temperature", cv=3).fit(X, y)
    assert fine.score(X, y) > 0.95


def test_a_chosen_map_whose_fit_warned_says_so() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 120)
    X = np.where(y[:, None] == np.arange(3), 4.0, 0.0) + rng.random((120, 3))  # every label has the largest score
    scores = Passing().fit(X, y)
    with pytest.warns(cal.CalibrantWarning, match="every label has the largest logit of its row") as caught:
        found = CalibratedModel(scores, cv="prefit").fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]
    assert cal.recalibrate(cal.Predictions(y, X, input="logit")).warned in str(caught[0].message)
    assert isinstance(found.calibrator_, cal.TemperatureScaling)


class Passing(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Gives its features as scores."""

    def fit(self, X: Any, y: Any) -> Passing:
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: Any) -> Any:
        return X


def test_one_class_is_nothing_to_calibrate() -> None:
    X, _ = three_kinds()
    with raises(cal.errors.LabelError, "y"):
        CalibratedModel(GaussianNB()).fit(X, np.zeros(len(X)))


def test_a_scorer_refuses_options_when_it_is_made() -> None:
    with raises(TypeError, "n_bins"):
        scorer("ece", n_bins=5)
    for word in ("sample_weight", "groups", "classes", "pos_label", "input", "soft"):
        with pytest.raises(TypeError, match=f"{word}: unexpected keyword of scorer; the estimator"):
            scorer("ece", **{word: None})
    with raises(cal.errors.ArgumentError, "norm"):
        scorer("ece", norm="l2")
    X, y = three_kinds()
    model = GaussianNB().fit(X, y)
    sure = scorer("ece", where=cal.select.output(low=0.9))
    assert sure(model, X, y) == -cal.ece(
        cal.Predictions(y, model.predict_proba(X), classes=model.classes_), where=cal.select.output(low=0.9)
    )


def test_the_display_draws_the_curve() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    train, test, y, labels = CANCER
    model = GaussianNB().fit(train, y)
    shown = ReliabilityDisplay.from_estimator(model, test, labels, bins=5)
    curve = cal.calibration_curve(labels, model.predict_proba(test)[:, 1], bins=5)
    drawn = shown.line_.get_xydata()
    full = ~curve.table.empty
    assert np.allclose(drawn[:, 0], curve.table.mean_score[full])
    assert np.allclose(drawn[:, 1], curve.table.rate[full])
    assert shown.ax_.get_legend().get_texts()[0].get_text() == "GaussianNB"
    _, ax = plt.subplots()
    assert ReliabilityDisplay.from_predictions(labels, model.predict_proba(test)[:, 1], ax=ax).ax_ is ax
    plt.close("all")


@pytest.mark.parametrize("names", [[0, 1], ["bad", "good"], [False, True], [3, 7], ["1", "0"]], ids=str)
@pytest.mark.parametrize("model", [GaussianNB(), LinearSVC(random_state=0)], ids=["proba", "decision"])
def test_the_display_draws_the_class_that_is_asked_for(names: list[Any], model: Any) -> None:
    """P(class) against how often it is that class, whichever of the two is the positive one."""
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    train, test, y, labels = CANCER
    named = np.array(names)
    fitted = make_pipeline(StandardScaler(), clone(model)).fit(train, named[y])
    for place, label in enumerate(fitted.classes_.tolist()):
        shown = ReliabilityDisplay.from_estimator(fitted, test, named[labels], pos_label=label, bins=5)
        if hasattr(fitted, "predict_proba"):
            scores, kind = fitted.predict_proba(test)[:, place], "prob"
        else:
            scores, kind = fitted.decision_function(test) * (1 if place else -1), "logit"
        wanted = cal.calibration_curve(cal.Predictions(named[labels] == label, scores, input=kind), bins=5)
        assert np.allclose(shown.curve.rate, wanted.rate, equal_nan=True)
        assert np.allclose(shown.curve.mean_score, wanted.mean_score, equal_nan=True)
        # A good classifier rises with the probability of its class, whichever that is.
        assert shown.curve.rate[-1] > 0.8 > 0.2 > shown.curve.rate[0]
        assert str(label) in shown.ax_.get_xlabel()
        data = cal.Predictions(named[labels], scores, pos_label=label, input=kind)
        by_hand = ReliabilityDisplay.from_predictions(data, bins=5)
        assert np.allclose(by_hand.curve.rate, wanted.rate, equal_nan=True)
        plt.close("all")
    usual = ReliabilityDisplay.from_estimator(fitted, test, named[labels], bins=5)
    last = ReliabilityDisplay.from_estimator(fitted, test, named[labels], bins=5, pos_label=fitted.classes_[1])
    assert np.array_equal(usual.curve.rate, last.curve.rate, equal_nan=True)
    plt.close("all")


def test_a_display_refuses_what_the_estimator_knows() -> None:
    X, y = three_kinds()
    model = GaussianNB().fit(X, y)
    with raises(cal.errors.ArgumentError, "pos_label"):
        ReliabilityDisplay.from_estimator(model, X, y, pos_label="cat")
    pair = y != "ant"
    model = GaussianNB().fit(X[pair], y[pair])
    with raises(cal.errors.LabelError, "pos_label"):
        ReliabilityDisplay.from_estimator(model, X[pair], y[pair], pos_label="cow")
    for word, value in (("classes", ["dog", "cat"]), ("input", "prob")):
        with pytest.raises(cal.errors.UnknownArgumentError, match=f"{word}: unexpected keyword.*; the estimator"):
            ReliabilityDisplay.from_estimator(model, X[pair], y[pair], **{word: value})


CHANGED: dict[str, dict[str, Any]] = {
    "temperature": {"objective": "brier"},
    "platt": {"targets": "plain"},
    "isotonic": {"multiclass": "top_versus_all"},
    "spline": {"knots": 4},
    "kernel": {"bandwidth": 0.2},
    "histogram": {"bins": 4, "shrink": 1.0},
    "top_label_histogram": {"points_per_bin": 30},
    "bayesian_binning": {"strength": 9.0},
    "scaling_binning": {"bins": 4},
    "venn_abers": {"rule": "brier"},
    "matrix": {"off_diagonal": 3.0},
    "dirichlet": {"off_diagonal": 3.0},
    "intra_order_preserving": {"pieces": 2},
    "consistency": {"noise": "uniform"},
    "miscalibration_aware_temperature": {"normalise": "max"},
}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["prob", "logit"])
@pytest.mark.parametrize("name", METHODS)
def test_a_given_calibrator_keeps_its_parameters(name: str, kind: str, classes: int) -> None:
    """The same as the calibrator by hand, on probabilities or on the decision function as its input says."""
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, 300)
    X = rng.normal(size=(300, 3)) + 1.2 * np.eye(3)[y]
    model = LogisticRegression().fit(X[:100], y[:100])
    given = METHODS[name](input=kind, **CHANGED.get(name, {}))
    before = dict(vars(given))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = CalibratedModel(model, method=given, cv="prefit").fit(X[100:200], y[100:200])
        ask = model.predict_proba if kind == "prob" else model.decision_function
        part = (lambda s: s[:, 1]) if kind == "prob" and classes == 2 else (lambda s: s)
        by_hand = clone(given).fit(part(ask(X[100:200])), y[100:200])
        wanted = by_hand.predict_proba(part(ask(X[200:])))
    assert repr(found.calibrator_.get_params()) == repr(given.get_params())
    assert found.calibrator_ is not given
    assert vars(given) == before  # the one given stays unfitted
    assert found.predict_proba(X[200:]) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("classes", [2, 4])
def test_logits_of_a_model_with_probabilities_alone_are_their_logarithms(classes: int) -> None:
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, 400)
    X = rng.normal(size=(400, 4)) + np.eye(4)[y]
    model = GaussianNB().fit(X[:100], y[:100])
    found = CalibratedModel(model, method=cal.TemperatureScaling(input="logit"), cv="prefit").fit(
        X[100:300], y[100:300]
    )
    wanted = cal.TemperatureScaling().fit(model.predict_proba(X[100:300]), y[100:300])
    assert found.calibrator_.temperature_ == pytest.approx(wanted.temperature_, rel=1e-9)
    rows = X[300:]
    assert found.predict_proba(rows) == pytest.approx(wanted.predict_proba(model.predict_proba(rows)), abs=1e-9)


def test_a_calibrator_of_probabilities_needs_some() -> None:
    train, _, y, _ = CANCER
    model = make_pipeline(StandardScaler(), LinearSVC(random_state=0))
    with raises(cal.errors.ArgumentError, "method"):
        CalibratedModel(model, method=cal.PlattScaling()).fit(train, y)
    assert CalibratedModel(model, method=cal.PlattScaling(input="logit")).fit(train, y).calibrator_.input == "logit"


def test_weights_that_a_classifier_does_not_take_are_warned_of() -> None:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 400)
    train, test = rng.normal(size=(400, 3)) + 0.8 * y[:, None], rng.normal(size=(50, 3))
    weight = 1.0 + 9 * (np.arange(len(y)) % 2)
    with pytest.warns(
        cal.CalibrantWarning,
        match=r"LinearDiscriminantAnalysis\.fit does not accept sample_weight, so the classifier is fitted without weights and only the calibrator uses them",
    ) as told:
        found = CalibratedModel(LinearDiscriminantAnalysis(), method="platt").fit(train, y, weight)
    assert [warning.filename for warning in told if "sample_weight" in str(warning.message)] == [__file__]
    plain = CalibratedModel(LinearDiscriminantAnalysis(), method="platt").fit(train, y)
    assert not np.allclose(found.predict_proba(test), plain.predict_proba(test))  # the calibrator did take them
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CalibratedModel(GaussianNB(), method="platt").fit(train, y, weight)
        fitted = LinearDiscriminantAnalysis().fit(train[:200], y[:200])
        CalibratedModel(fitted, method="platt", cv="prefit").fit(train[200:], y[200:], weight[200:])
        piped = CalibratedModel(make_pipeline(StandardScaler(), GaussianNB()), method="platt").fit(train, y, weight)
    alone = make_pipeline(StandardScaler(), GaussianNB()).fit(train, y, gaussiannb__sample_weight=weight)
    assert piped.estimator_.predict_proba(test) == pytest.approx(alone.predict_proba(test), abs=1e-12)
