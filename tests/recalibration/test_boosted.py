"""Boosted calibration: trees of another package, a missed interaction, calibrated scores, categories, missing values and files."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit

import calibrant as cal
from calibrant.input.features import read_features
from calibrant.recalibration.trees import Rules, encode, grow, learn_codes


def rows_with_gaps(n, seed=1):
    """Numbers, numbers with missing values and three categories, and labels that depend on all."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.integers(0, 20, n), rng.integers(0, 9, n), rng.integers(0, 4, n)]).astype(float)
    x[rng.random(n) < 0.1, 1] = np.nan
    effect = (x[:, 0] - 8) / 5 + np.where(np.isnan(x[:, 1]), 1, -0.3 * x[:, 1]) + (x[:, 2] == 2)
    return x, effect, (rng.random(n) < expit(effect)).astype(int)


@pytest.mark.parametrize("categorical", [[], [2]])
def test_a_tree_is_that_of_scikit_learn(categorical):
    boosting = pytest.importorskip("sklearn.ensemble").HistGradientBoostingClassifier
    x, _, y = rows_with_gaps(2000)
    options = {"max_depth": 3, "max_leaf_nodes": None, "min_samples_leaf": 20, "l2_regularization": 1.0}
    peer = boosting(
        max_iter=1, learning_rate=1, early_stopping=False, categorical_features=categorical or None, **options
    ).fit(x, y)
    read = read_features(x, len(x))
    columns = [learn_codes(each, np.ones(len(x)), j in categorical) for j, each in enumerate(read)]
    codes = np.column_stack([encode(*each) for each in zip(read, columns, strict=True)])
    rate, weight = y.mean(), np.ones(len(x))
    unordered = [j in categorical for j in range(3)]
    tree, leaf = grow(codes, unordered, rate - y, rate * (1 - rate) * weight, weight, Rules(3, 20, 1.0))
    assert expit(logit(rate) + tree.leaves[leaf]) == pytest.approx(peer.predict_proba(x)[:, 1], abs=1e-7)
    assert (tree.leaf_of(codes) == leaf).all()


def test_a_missed_interaction_is_corrected_and_calibrated_scores_stay():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6000, 2))
    truth = expit(0.8 * x[:, 0] + 1.5 * x[:, 0] * x[:, 1])
    y = (rng.random(6000) < truth).astype(int)
    score, fit, new = expit(0.6 * x[:, 0]), slice(2000), slice(2000, None)
    after = cal.BoostedCalibration().fit(score[fit], y[fit], features=x[fit]).predict_proba(score[new], features=x[new])
    losses = [cal.nll(y[new], p) for p in (truth[new], after[:, 1], score[new])]
    assert losses[0] < losses[1] < losses[0] + 0.25 * (losses[2] - losses[0])
    calibrated = cal.BoostedCalibration().fit(truth[fit], y[fit], features=x[fit])
    assert calibrated.rounds_ == 0
    assert calibrated.predict_proba(truth[new], features=x[new])[:, 1] == pytest.approx(truth[new], abs=1e-12)


def test_frames_categories_and_missing_values(tmp_path: Path):
    pd = pytest.importorskip("pandas")
    x, effect, y = rows_with_gaps(1500)
    kind = np.array(["ash", "birch", "cedar", None], dtype=object)[x[:, 2].astype(int)]
    frame = pd.DataFrame({"size": x[:, 0], "age": x[:, 1], "kind": kind})
    score = expit(effect - (x[:, 2] == 2) + 0.4)
    fitted = cal.BoostedCalibration(folds=0, max_rounds=30).fit(score[:1000], y[:1000], features=frame[:1000])
    assert fitted.names_ == ("size", "age", "kind")
    assert fitted.columns_[2].tolist() == ["ash", "birch", "cedar"]
    after = fitted.predict_proba(score[1000:], features=frame[1000:])
    assert cal.nll(y[1000:], after) < cal.nll(y[1000:], score[1000:])
    assert (fitted.predict_proba(score[1000:], features=frame[1000:][["kind", "age", "size"]]) == after).all()
    unknown = fitted.predict_proba(
        [0.5, 0.5], features=pd.DataFrame({"size": [3, 3], "age": [1, 1], "kind": ["oak", None]})
    )
    assert unknown[0].tolist() == unknown[1].tolist()
    loaded = cal.load(cal.save(fitted, tmp_path / "calibrator.json"))
    assert (loaded.predict_proba(score[1000:], features=frame[1000:]) == after).all()
    by_number = cal.BoostedCalibration(folds=0, max_rounds=30, categorical=(2,))
    as_array = by_number.fit(score[:1000], y[:1000], features=x[:1000])
    assert as_array.columns_[2].tolist() == ["0", "1", "2", "3"]
    result = cal.recalibrate(
        cal.Predictions(y[:300], score[:300], features=x[:300, [0, 2]]), method=cal.BoostedCalibration(max_rounds=5)
    )
    assert result.candidates[1].method == "BoostedCalibration"


def test_arrays_are_matched_by_position_and_a_value_of_most_rows_is_a_range_of_its_own():
    rng = np.random.default_rng(3)
    x = np.column_stack([np.where(rng.random(3000) < 0.95, 1, rng.random(3000)), rng.normal(size=3000)])
    score = rng.uniform(0.2, 0.8, 3000)
    y = (rng.random(3000) < np.where(x[:, 0] < 1, 0.02, score)).astype(int)
    frame = pytest.importorskip("pandas").DataFrame(x, columns=["a", "b"])
    by_name, by_place = (cal.BoostedCalibration(folds=0, max_rounds=40).fit(score, y, features=f) for f in (frame, x))
    assert (by_name.names_, by_place.names_) == (("a", "b"), ())
    after = by_place.predict_proba(score[::2], features=x[::2])
    assert after[x[::2, 0] < 1, 1].mean() < 0.05
    for calibrator, features in ((by_name, x[::2]), (by_place, frame[::2]), (by_name, frame[::2][["b", "a"]])):
        assert (calibrator.predict_proba(score[::2], features=features) == after).all()
