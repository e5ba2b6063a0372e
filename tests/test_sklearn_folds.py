"""Predictions of cross-validation folds, metrics over the folds, and calibration metrics in a grid search."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="NO SCIKIT-LEARN: pip install 'calibrant[sklearn]' to test it")
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RepeatedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import calibrant as cal
from calibrant.errors import ArgumentError, GroupError
from calibrant.sklearn import cross_val_predictions, evaluate_folds, scorer
from tests.calling import raises

X, Y = make_classification(400, n_informative=4, random_state=0)
X4, Y4 = make_classification(500, n_informative=6, n_classes=4, random_state=1)


@pytest.mark.parametrize(("x", "y"), [(X, Y), (X4, Y4)], ids=["two classes", "four classes"])
def test_predictions_are_those_of_scikit_learn(x: Any, y: Any) -> None:
    cv = StratifiedKFold(4, shuffle=True, random_state=2)
    preds = cross_val_predictions(GaussianNB(), x, y, cv=cv)
    expected = cross_val_predict(GaussianNB(), x, y, cv=cv, method="predict_proba")
    assert (preds.probs == (expected[:, 1] if preds.kind == "binary" else expected)).all()
    assert preds.labels is not None
    assert (preds.labels == y).all()
    assert preds.group_names == ("fold 1", "fold 2", "fold 3", "fold 4")
    for place, (_, test) in enumerate(cv.split(x, y)):
        assert (np.flatnonzero(preds.groups == place) == np.sort(test)).all()


def test_models_of_cross_validate_are_not_fitted_again() -> None:
    cv = StratifiedKFold(4, shuffle=True, random_state=2)
    options: dict[str, Any] = {"cv": cv, "scoring": ["accuracy", "neg_log_loss"]}
    found = cross_validate(GaussianNB(), X, Y, return_estimator=True, return_indices=True, **options)
    found["estimator"][0].fit = None
    preds, expected = cross_val_predictions(found, X, Y), cross_val_predictions(GaussianNB(), X, Y, cv=cv)
    assert preds.probs.tolist() == expected.probs.tolist()
    assert preds.groups.tolist() == expected.groups.tolist()
    with raises(ArgumentError, "estimator"):
        cross_val_predictions(cross_validate(GaussianNB(), X, Y, return_estimator=True, **options), X, Y)


def test_names_of_classes_decision_functions_and_ten_folds() -> None:
    names = np.array(["no", "yes"])[Y]
    preds = cross_val_predictions(LinearSVC(), X, names, cv=10)
    assert preds.classes is not None
    assert list(preds.classes) == ["no", "yes"]
    expected = cross_val_predict(LinearSVC(), X, names, cv=10, method="decision_function")
    assert preds.probs == pytest.approx(1 / (1 + np.exp(-expected)))
    assert list(evaluate_folds(preds, metrics="brier")["brier"].folds)[8:] == ["fold 09", "fold 10"]


def test_splitters_weights_and_rows_without_a_fold() -> None:
    patient = np.arange(400) // 4
    grouped = cross_val_predictions(GaussianNB(), X, Y, cv=GroupKFold(3), groups=patient)
    for place in range(3):
        assert not set(patient[grouped.groups == place]) & set(patient[grouped.groups != place])
    later = cross_val_predictions(GaussianNB(), X, Y, cv=TimeSeriesSplit(3))
    assert later.n == 300
    assert later.labels is not None
    assert (later.labels == Y[100:]).all()
    weight = np.linspace(1, 3, 400)
    weighted = cross_val_predictions(GaussianNB(), X, Y, cv=3, sample_weight=weight)
    expected = [
        GaussianNB().fit(X[train], Y[train], weight[train]).predict_proba(X[test])[:, 1]
        for train, test in StratifiedKFold(3).split(X, Y)
    ]
    order = np.concatenate([test for _, test in StratifiedKFold(3).split(X, Y)])
    assert (np.asarray(weighted.probs)[order] == np.concatenate(expected)).all()
    assert weighted.weight is not None
    assert weighted.weight / weighted.weight[0] == pytest.approx(weight)


def test_folds_that_cannot_be_pooled_are_refused() -> None:
    with raises(ArgumentError, "cv"):
        cross_val_predictions(GaussianNB(), X, Y, cv=RepeatedKFold(n_splits=2, n_repeats=2))
    with raises(ArgumentError, "cv"):
        cross_val_predictions(GaussianNB(), X[np.argsort(Y4[:400])], np.sort(Y4[:400]), cv=KFold(4))
    with raises(GroupError, "predictions"):
        evaluate_folds(cal.Predictions(Y, np.full(400, 0.5)))
    with raises(ArgumentError, "metric"):
        evaluate_folds(cross_val_predictions(GaussianNB(), X, Y), metrics="brier")["ece"]


def test_values_over_folds_are_those_of_the_folds() -> None:
    preds = cross_val_predictions(GaussianNB(), X, Y, cv=4)
    found = evaluate_folds(preds, metrics=["brier", "ece", "cox_slope"])
    for row in found.rows:
        metric = cal.catalogue[row.metric]
        values = [metric(preds.take(preds.groups == place)) for place in range(4)]
        assert list(row.folds.values()) == pytest.approx(values)
        assert row.mean == pytest.approx(np.mean(values))
        assert row.sd == pytest.approx(np.std(values, ddof=1))
        assert row.pooled == pytest.approx(metric(preds))
    assert list(found.to_frame()) == ["metric", "pooled", "mean", "sd", "fold 1", "fold 2", "fold 3", "fold 4"]
    assert repr(found).startswith("4 folds, 400 rows\nmetric")


def test_a_metric_that_is_undefined_in_a_fold_is_left_out_there() -> None:
    y = np.array([0, 1] * 20 + [0] * 20)
    p = np.linspace(0.1, 0.9, 60)
    preds = cal.Predictions(y, p, groups=np.repeat(["a", "b", "c"], 20))
    row = evaluate_folds(preds, metrics="cox_slope")["cox_slope"]
    assert row.folds["c"] is None
    assert row.mean == pytest.approx(np.mean([row.folds["a"], row.folds["b"]]))


def test_a_figure_has_a_curve_of_each_fold_and_one_of_all() -> None:
    preds = cross_val_predictions(LogisticRegression(), X, Y, cv=5)
    diagram = cal.figures.curves_diagram(preds)
    assert sorted(diagram.curves) == [f"fold {place}" for place in range(1, 6)]
    widths = [line.get_linewidth() for line in diagram.plot().get_lines() if line.get_gid() in ("groups", "curve")]
    assert len(widths) == 6
    assert widths[-1] > max(widths[:-1])


def test_a_grid_search_takes_several_calibration_metrics() -> None:
    search = GridSearchCV(
        GaussianNB(),
        {"var_smoothing": [1e-9, 1.0]},
        scoring={"nll": scorer("nll"), "ece": scorer("ece", bins=10)},
        refit="nll",
        cv=3,
    ).fit(X, Y)
    for place, smoothing in enumerate((1e-9, 1.0)):
        values = []
        for train, test in StratifiedKFold(3).split(X, Y):
            probs = GaussianNB(var_smoothing=smoothing).fit(X[train], Y[train]).predict_proba(X[test])[:, 1]
            values.append([-cal.nll(Y[test], probs), -cal.ece(Y[test], probs, bins=10)])
        nll, ece = np.mean(values, axis=0)
        assert search.cv_results_["mean_test_nll"][place] == pytest.approx(nll)
        assert search.cv_results_["mean_test_ece"][place] == pytest.approx(ece)
        assert search.cv_results_["std_test_ece"][place] == pytest.approx(np.std(values, axis=0)[1])
    assert search.best_index_ == np.argmax(search.cv_results_["mean_test_nll"])


def test_several_groupings_are_not_folds() -> None:
    y, p = np.arange(40) % 2, np.linspace(0.1, 0.9, 40)
    groups = {"fold": np.repeat(["a", "b"], 20), "sex": np.tile(["u", "v"], 20)}
    with pytest.raises(GroupError):
        cal.sklearn.evaluate_folds(cal.Predictions(y, p, groups=groups), metrics=["brier"])
