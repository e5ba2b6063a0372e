"""recalibrate: what helps is found, what does not is left alone, and gains are those of rows not seen."""

import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import warn_caller
from calibrant.inference.means import Moments, gamma_limits
from calibrant.recalibration.base import Identity
from calibrant.recalibration.cross_validation import CrossValidation
from calibrant.recalibration.methods import METHODS
from calibrant.recalibration.persistence import load, save
from calibrant.recalibration.scores import TrainingData, dealt, fold_of_rows, order_of_content


def held_out(name: str, y: np.ndarray, p: np.ndarray, folds: int, seed: int = 0, **keywords: Any) -> np.ndarray:
    """Probabilities of each row by a calibrator fitted without the fold of the row."""
    fold = fold_of_rows(TrainingData(cal.Predictions(y, p, **keywords)), folds, seed)
    probs = np.empty((len(y), 2 if p.ndim == 1 else p.shape[1]))
    for number in range(folds):
        rows = fold == number
        others = {key: value[~rows] for key, value in keywords.items()}
        probs[rows] = METHODS[name]().fit(p[~rows], y[~rows], **others).predict_proba(p[rows])
    return probs


def test_overconfidence_is_corrected_with_the_gain_that_new_data_show() -> None:
    for distribution in ((1, 1), (1, 1, 1)):
        sure, new = (
            cal.inference.make_miscalibrated(
                2000, distribution=distribution, warp=cal.inference.simulation.temperature(2.0), rng=seed
            )
            for seed in (0, 1)
        )
        result = cal.recalibrate(sure.y_true, sure.y_prob)
        best = next(c for c in result.candidates if c.method == result.method)
        assert best.low > 0
        assert best.loss == min(c.loss for c in result.candidates)
        after = cal.nll(new.y_true, result.predict_proba(new.y_prob))
        assert result.low < cal.nll(new.y_true, new.y_prob) - after < result.high
        assert result.method in repr(result)
        assert len(result.to_frame()) == len(result.candidates)
        exported = result.to_dict()
        assert [exported[name] for name in ("method", "gain", "low", "high")] == [
            result.method,
            result.gain,
            result.low,
            result.high,
        ]


def test_calibrated_data_are_left_alone() -> None:
    """The method of least held-out loss would be worse than none in 8 of these 20 samples."""
    results = []
    for seed in range(20):
        data = cal.inference.make_calibrated(200, rng=seed)
        results.append(cal.recalibrate(data.y_true, data.y_prob))
    assert sum(min(result.candidates, key=lambda c: c.loss).method != "none" for result in results) >= 4
    assert sum(result.method != "none" for result in results) <= 3
    # Gains of the selection are not above 0 on average, and 0 lies in their intervals.
    assert np.mean([result.gain for result in results]) < 0.001
    assert sum(result.low <= 0 <= result.high for result in results) >= 18
    none = next(result for result in results if result.method == "none")
    assert "predict_proba returns the probabilities unchanged" in repr(none)


def test_folds_of_other_data_are_others() -> None:
    """With the same folds by rank in every sample, cross-validated gains of the Brier score are biased by five standard errors."""
    folds, gaps = [], []
    for seed in range(60):
        data = cal.inference.make_miscalibrated(200, warp=cal.inference.simulation.temperature(2.0), rng=seed)
        training = TrainingData(cal.Predictions(data.y_true, data.y_prob))
        fold = fold_of_rows(training, 5)
        assert (np.bincount(fold) == 40).all()
        folds.append(fold[order_of_content(training)])
        gaps.append(fold_of_rows(training, 5, rng=1)[order_of_content(training)] == folds[-1])
    share = np.mean([one == two for one, two in pairwise(folds)])
    assert share == pytest.approx(0.2, abs=0.03)
    assert np.mean(gaps) == pytest.approx(0.2, abs=0.03)


@pytest.mark.filterwarnings("error::calibrant.errors.BoundaryScoresWarning")
@pytest.mark.parametrize("calibrator", [cal.PlattScaling(), cal.TemperatureScaling()])
def test_votes_of_a_forest_of_exactly_0_and_1_do_no_harm(calibrator: Any, tmp_path: Path) -> None:
    """100 trees: with 0 votes at log-odds of -27.6 the few of these that occur nevertheless flatten the curve for all others."""
    rng = np.random.default_rng(0)
    truth = np.clip(rng.beta(0.3, 1.2, 2000), 0.01, 0.99)
    votes = rng.binomial(100, np.clip(1.1 * truth - 0.03, 0, 1)) / 100
    y = (rng.random(2000) < truth).astype(int)
    fit, new = slice(1000), slice(1000, None)
    assert ((votes[fit] == 0) & (y[fit] == 1)).sum() == 5
    fitted = calibrator.fit(votes[fit], y[fit])
    assert fitted.fit_record_.boundary == 0.005
    after = fitted.predict_proba(votes[new])
    assert cal.nll(y[new], after) < cal.nll(y[new], np.clip(votes[new], 0.005, 0.995))
    again = load(save(fitted, tmp_path / "calibrator.json"))
    assert again.predict_proba(votes[new]).tolist() == after.tolist()


@pytest.mark.parametrize("keyword", ["sample_weight", "counts"])
def test_gains_of_candidates_and_of_the_selection(keyword: str) -> None:
    """By their definition: fits without one and without two folds, the selection repeated in each fold, the correction of Burman."""
    folds = 4
    data = cal.inference.make_miscalibrated(120, warp=cal.inference.simulation.temperature(2.2), rng=5)
    y, p = data.y_true, data.y_prob
    weight = np.arange(120) % 3 + 1
    result = cal.recalibrate(
        cal.Predictions(y, p, **{keyword: weight}), method=["temperature", "platt"], folds=folds, rng=7
    )
    assert result.n == (weight.sum() if keyword == "counts" else 120)
    fold = fold_of_rows(TrainingData(cal.Predictions(y, p, **{keyword: weight})), folds, 7)
    share = weight / weight.sum()
    spread = share / weight.sum() if keyword == "counts" else share**2

    def gains(name: str, *left_out: int) -> np.ndarray:
        rows = ~np.isin(fold, left_out)
        calibrator = METHODS[name]().fit(p[rows], y[rows], **{keyword: weight[rows]})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cal.errors.InSampleWarning)
            after = calibrator.predict_proba(p)[np.arange(120), y]
        return np.asarray(np.log(after) - np.log(np.where(y == 1, p, 1 - p)))

    def select(rows: np.ndarray, held: dict[str, np.ndarray]) -> str:
        means = {}
        for name, gain in held.items():
            w, v = share[rows] / share[rows].sum(), spread[rows] / share[rows].sum() ** 2
            mean = w @ gain[rows]
            if mean > min(np.log(20) * v.sum(), np.sqrt(v @ (gain[rows] - mean) ** 2)):
                means[name] = mean
        return max(means, key=means.__getitem__) if means else "none"

    def estimate(without: np.ndarray, whole: np.ndarray, corrected: bool) -> tuple[float, float, float]:
        held = without[fold, np.arange(120)]
        shares = np.bincount(fold, share)
        moved = without - whole
        moved = moved - (moved @ share)[:, None]
        variance = spread @ (held - share @ held) ** 2 + 0.5 * (folds - 1) * shares @ (moved**2 @ spread)
        unit = 1 / weight.sum() if keyword == "counts" else share
        third = (spread * unit) @ (held - share @ held) ** 3
        gain = share @ held + corrected * (share @ whole - shares @ (without @ share))
        return gain, *gamma_limits(Moments(gain, variance, third, 1 / spread.sum()), 0.95)

    names = ("temperature", "platt")
    without = {name: np.array([gains(name, k) for k in range(folds)]) for name in names}
    for candidate in result.candidates[1:]:
        expected = estimate(without[candidate.method], gains(candidate.method), corrected=False)
        assert (candidate.gain, candidate.low, candidate.high) == pytest.approx(expected, abs=1e-9)
    chosen = []
    for k in range(folds):
        inner = {name: np.full(120, np.nan) for name in names}
        for name in names:
            for j in set(range(folds)) - {k}:
                inner[name][fold == j] = gains(name, j, k)[fold == j]
        name = select(fold != k, inner)
        chosen.append(without[name][k] if name != "none" else np.zeros(120))
    expected = estimate(np.array(chosen), gains(result.method), corrected=True)
    assert (result.gain, result.low, result.high) == pytest.approx(expected, abs=1e-9)


def test_a_few_very_large_losses_are_evidence_enough() -> None:
    """One confident error in 100 rows makes the standard error of the gain larger than the gain."""
    p = np.concatenate([np.full(79, 0.3), np.full(21, 1e-5)])
    y = np.concatenate([np.arange(79) % 10 < 3, np.arange(21) == 0]).astype(int)
    result = cal.recalibrate(y, p, method="platt")
    held = np.log(result.held_out[np.arange(100), y]) - np.log(np.where(y == 1, p, 1 - p))
    assert result.method == "platt"
    assert held.sum() > np.log(20)
    assert held.mean() < held.std() / 10
    assert cal.recalibrate(y, p, method="platt", loss="brier").method == "none"


@pytest.mark.parametrize("distribution", [(1, 1), (1, 1, 1)])
@pytest.mark.parametrize("loss", ["nll", "brier"])
def test_losses_are_those_of_the_metrics_on_held_out_rows(distribution: tuple[int, ...], loss: str) -> None:
    data = cal.inference.make_miscalibrated(
        400, distribution=distribution, warp=cal.inference.simulation.temperature(2.0), rng=3
    )
    weight = np.random.default_rng(0).random(400) + 0.5
    result = cal.recalibrate(data.y_true, data.y_prob, loss=loss, method="temperature", sample_weight=weight)  # type: ignore[arg-type]
    held = held_out("temperature", data.y_true, data.y_prob, 5, sample_weight=weight)
    assert result.held_out == pytest.approx(held, abs=1e-12)
    for candidate, probs in zip(result.candidates, (data.y_prob, held), strict=True):
        expected = getattr(cal, loss)(data.y_true, probs, sample_weight=weight)
        assert candidate.loss == pytest.approx(expected, rel=1e-12)
        assert candidate.ece == pytest.approx(cal.ece(data.y_true, probs, sample_weight=weight), abs=1e-12)


def test_all_notes_that_apply_are_shown() -> None:
    data = cal.inference.make_miscalibrated(100, warp=cal.inference.simulation.temperature(1.5), rng=52)
    result = cal.recalibrate(data.y_true, data.y_prob, method="temperature")
    plain, best = result.candidates
    assert best.ece > plain.ece
    assert result.low <= 0
    assert "ece rose from" in result.note
    assert "the gain is not statistically significant" in result.note


def test_rows_without_one_class_are_told_what_to_do() -> None:
    rng = np.random.default_rng(0)
    p = rng.random((200, 3))
    y = (rng.random((200, 3)) < p).astype(int)
    assert cal.recalibrate(y[:, 1], p[:, 1], method="none").method == "none"  # as it says


def test_of_two_maps_that_warn_the_better_is_chosen_where_nothing_else_helps() -> None:
    class Wary(cal.TemperatureScaling):
        def _fit(self, data: Any) -> None:
            super()._fit(data)
            self.temperature_ = 0.5
            warn_caller("wary too")

    y, p = separated()
    calibrators = {"none": Identity(), "wary": Wary(), "temperature": cal.TemperatureScaling()}
    data = cal.Predictions(y, p)
    fold = fold_of_rows(TrainingData(data), 5)
    assert CrossValidation(calibrators, data, fold, "nll").selected == "temperature"
    calibrators["calm"] = cal.PlattScaling()
    cv = CrossValidation(calibrators, data, fold, "nll")
    assert cv.selected == "calm"
    assert [bool(cv.fits[name].warnings[-1]) for name in calibrators] == [False, True, True, False]


def test_methods_clearly_worse_than_the_selected_one_are_not_fitted_without_two_folds() -> None:
    fits = []

    class Opposite(cal.TemperatureScaling):
        def _fit(self, data: Any) -> None:
            fits.append(data.n)
            self.temperature_ = -1.0

    sure = cal.inference.make_miscalibrated(500, warp=cal.inference.simulation.temperature(2.0), rng=0)
    data = cal.Predictions(sure.y_true, sure.y_prob)
    calibrators = {
        "none": Identity(),
        "opposite": Opposite(),
        "platt": cal.PlattScaling(),
        "temperature": cal.TemperatureScaling(),
    }
    cv = CrossValidation(calibrators, data, fold_of_rows(TrainingData(data), 5), "nll")
    assert cv.selected == "temperature"
    assert fits == [500, *5 * [400]]
    assert {"platt", "temperature"} <= cv.inner.keys() < cv.fits.keys()
    assert cv.nested_gain.mean == pytest.approx(cv.gain("temperature").mean, abs=1e-3)


def test_maps_that_cannot_be_fitted_say_why() -> None:
    y, p = np.array([0, 1] * 30), np.array([0.2, 0.8] * 30)
    found = cal.recalibrate(y, p, method=["platt", "beta", "spline"])
    reasons = {c.method: c.reason for c in found.candidates}
    assert reasons["beta"]
    assert reasons["platt"] == ""
    assert found.method != "beta"
    assert "beta" in repr(found)


def separated(n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """No label scores on the wrong side of one half."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, n)
    return y, np.where(y == 1, 0.7, 0.0) + 0.3 * rng.random(n)


def test_a_map_at_its_bound_is_passed_over_for_one_that_is_not() -> None:
    y, p = separated()
    found = cal.recalibrate(y, p)
    by_name = {c.method: c for c in found.candidates}
    assert found.method == "platt"
    assert by_name["temperature"].loss < by_name["platt"].loss < by_name["none"].loss
    assert (
        by_name["temperature"].note
        == "every label has the largest logit of its row, so the best temperature is 0; 0.001 is used"
    )
    assert "temperature has a lower loss but was not selected (every label has" in found.note
    between = found.calibrator.predict_proba([0.3, 0.45, 0.55, 0.7])[:, 1]
    assert ((between > 0.02) & (between < 0.98)).all()
    assert "0.001 is used" in repr(found)
    assert found.to_dict()["candidates"][1]["note"] == by_name["temperature"].note


def test_a_map_at_its_bound_is_chosen_where_nothing_else_helps_and_says_so() -> None:
    y, p = separated()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cal.recalibrate(y, p, method="temperature")
    assert found.method == "temperature"
    assert found.note.startswith("every label has the largest logit of its row")
    assert "not selected" not in found.note
    rng = np.random.default_rng(0)
    unseen = np.where(np.arange(400) < 200, 0, 1)
    probs = np.column_stack([np.where(unseen == 0, 0.4, 0.3), np.where(unseen == 1, 0.4, 0.3), np.full(400, 0.3)])
    probs = probs * rng.uniform(0.9, 1.1, probs.shape)
    probs /= probs.sum(axis=1, keepdims=True)
    none = cal.recalibrate(unseen, probs, method=["vector"])
    assert none.method == "vector"
    assert "class 2 has no rows" in none.note


def test_names_of_classes_keep_their_types(tmp_path: Path) -> None:
    data = cal.inference.make_miscalibrated(200, warp=cal.inference.simulation.temperature(2.0), rng=0)
    for names in ([1, "a"], ["a", 1], [1, 2.5], ["a", "b"], [True, "a"]):
        labels = np.array(names, dtype=object)[data.y_true]
        calibrator = cal.recalibrate(cal.Predictions(labels, data.y_prob, classes=names), method="platt").calibrator
        for one in (calibrator, load(save(calibrator, tmp_path / "map.json"))):
            found = one.predict([0.01, 0.99]).tolist()
            assert found == names
            assert [type(name) for name in found] == [type(name) for name in names]


def test_other_warnings_than_ours_are_let_through() -> None:
    class Noisy(Identity):
        def _fit(self, data: object) -> None:
            warnings.warn("from elsewhere", UserWarning, stacklevel=1)

    y, p = [0, 1] * 20, [0.3, 0.6] * 20
    with pytest.warns(UserWarning, match="from elsewhere"):
        found = cal.recalibrate(y, p, method=Noisy())
    assert found.candidates[1].note == ""


@pytest.mark.filterwarnings("ignore::calibrant.errors.HardPredictionsWarning")
@pytest.mark.filterwarnings("ignore::calibrant.errors.BoundaryScoresWarning")
def test_labels_without_probability_are_told() -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(800) < 0.3).astype(int)
    wrong = np.arange(800) < 85
    p = np.where(wrong, 1 - y, y).astype(float)
    found = cal.recalibrate(y, p)
    assert cal.nll(y, p) == np.inf
    assert "85 labels of smaller predicted probability" in found.candidates[0].note
    assert "none: the nll is computed with 1e-12" in found.note
    assert "85" not in cal.recalibrate(y, p, loss="brier").note
    mild, event = np.full(800, 0.3), int(np.argmax(y))
    for value in (0.0, 1e-15):
        mild[event] = value
        assert "for 1 labels" in cal.recalibrate(y, mild, method="platt").candidates[0].note
    mild[event] = 1e-11
    assert cal.recalibrate(y, mild, method="platt").candidates[0].note == ""


def test_the_choice_does_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(4)
    data = cal.inference.make_miscalibrated(
        600, distribution=(1, 1, 1), warp=cal.inference.simulation.temperature(1.3), rng=1
    )
    grades = np.round(data.y_prob[:, 0] * 4) / 5 + 0.1  # many rows are equal
    for y, p in ((data.y_true, data.y_prob), ((data.y_true == 0).astype(int), grades)):
        found = cal.recalibrate(y, p, sample_weight=1 + y % 2)
        order = rng.permutation(600)
        again = cal.recalibrate(y[order], p[order], sample_weight=(1 + y % 2)[order])
        assert again.method == found.method
        for one, two in zip(again.candidates, found.candidates, strict=True):
            assert (one.loss, one.gain, one.low) == pytest.approx((two.loss, two.gain, two.low), abs=1e-8)


@pytest.mark.parametrize("scale", [1, 10**6])
def test_copies_of_a_row_are_dealt_by_chance(scale: int) -> None:
    """Five grades: were the copies of each split evenly, the rows held out would have the very rates of those fitted on."""
    counts = np.array([300, 200, 100, 250, 60, 40, 7, 90, 3, 150]) * scale
    score, y = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 2), np.tile([0, 1], 5)
    data = TrainingData(cal.Predictions(y, score, counts=counts))
    parts = dealt(data, order_of_content(data), np.full(5, 0.2))
    assert parts.sum(axis=0) == pytest.approx(counts, abs=1e-6)
    assert parts == pytest.approx(np.rint(parts), abs=1e-6)
    size = parts.sum(axis=1)
    assert np.abs(size - counts.sum() / 5).max() <= (1 if scale == 1 else 6 * np.sqrt(counts.sum()))
    z = (parts - counts / 5) / np.sqrt(counts * 0.16)
    assert 0.5 < np.sqrt(np.mean(z**2)) < 1.5


def test_groups_of_predictions_reach_calibrators_that_need_them() -> None:
    rng = np.random.default_rng(0)
    p, group = rng.random(600), rng.integers(0, 2, 600)
    y = (rng.random(600) < np.where(group == 1, p, p**3)).astype(int)
    by_group = cal.Predictions(y, p, groups=np.array(["a", "b"])[group])
    found = cal.recalibrate(by_group, method=cal.GroupCalibration(cal.BetaCalibration()))
    assert found.method == "GroupCalibration"
    known = cal.GroupCalibration(cal.BetaCalibration()).fit(p, y, groups=np.array(["a", "b"])[group])
    new = np.array([0.3, 0.3])
    assert found.predict_proba(new, groups=["a", "b"]).tolist() == known.predict_proba(new, ["a", "b"]).tolist()


def test_folds_can_be_those_of_rows_that_belong_together() -> None:
    data = cal.inference.make_miscalibrated(300, warp=cal.inference.simulation.temperature(2.0), rng=0)
    y, p, group = data.y_true, data.y_prob, np.arange(300) % 4
    found = cal.recalibrate(y, p, method="platt", folds=np.array(list("abcd"))[group])
    held_out = np.empty(300)
    for fold in range(4):
        held_out[group == fold] = (
            cal.PlattScaling().fit(p[group != fold], y[group != fold]).predict_proba(p[group == fold])[:, 1]
        )
    assert found.candidates[1].loss == pytest.approx(cal.nll(y, held_out))
    weighted = cal.recalibrate(cal.Predictions(y, p, counts=group), method="platt", folds=group)
    assert weighted.n == group.sum()
