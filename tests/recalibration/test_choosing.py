"""recalibrate: what helps is found, what does not is left alone, and gains are those of rows not seen."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.errors import warn_caller
from calibrant.recalibration.base import Identity
from calibrant.recalibration.choosing import Candidate, _chosen, _held_out
from calibrant.recalibration.methods import METHODS
from calibrant.recalibration.persistence import load, save
from calibrant.recalibration.scores import TrainingData, dealt, fold_of_rows, order_of_content


def test_overconfidence_is_repaired_and_calibration_left_alone() -> None:
    for distribution in ((1, 1), (1, 1, 1)):
        sure = cal.inference.make_miscalibrated(
            2000, distribution=distribution, warp=cal.inference.simulation.temperature(2.0), rng=0
        )
        found = cal.recalibrate(sure.y_true, sure.y_prob)
        assert found.method != "none"
        assert found.gain > 0.01
        best = next(c for c in found.candidates if c.method == found.method)
        assert best.low > 0
        assert best.loss == min(c.loss for c in found.candidates)
        new = cal.inference.make_miscalibrated(
            2000, distribution=distribution, warp=cal.inference.simulation.temperature(2.0), rng=1
        )
        assert cal.nll(new.y_true, found.predict_proba(new.y_prob)) < cal.nll(new.y_true, new.y_prob) - 0.01
        assert found.method in repr(found)
        assert len(found.to_frame()) == len(found.candidates)
        assert found.to_dict()["method"] == found.method
    kept = 0
    for seed in range(12):
        calm = cal.inference.make_calibrated(300, rng=seed)
        result = cal.recalibrate(calm.y_true, calm.y_prob)
        kept += result.method == "none"
        assert abs(result.gain) < 0.02
    assert kept >= 4


def test_the_loss_is_that_of_rows_not_seen() -> None:
    data = cal.inference.make_miscalibrated(300, warp=cal.inference.simulation.temperature(1.5), rng=3)
    found = cal.recalibrate(data.y_true, data.y_prob, method="temperature", folds=4, rng=7)
    fold = fold_of_rows(TrainingData(cal.Predictions(data.y_true, data.y_prob)), 4, 7)
    held = np.empty((300, 2))
    for number in range(4):
        rows = fold == number
        held[rows] = (
            cal.TemperatureScaling().fit(data.y_prob[~rows], data.y_true[~rows]).predict_proba(data.y_prob[rows])
        )
    losses = -np.log(held[np.arange(300), data.y_true])
    plain = -np.log(np.where(data.y_true == 1, data.y_prob, 1 - data.y_prob))
    candidate = found.candidates[1]
    assert candidate.loss == pytest.approx(losses.mean(), abs=1e-12)
    gain = plain - losses
    assert candidate.gain == pytest.approx(gain.mean(), abs=1e-12)
    half = 1.959963984540054 * gain.std() / np.sqrt(300)
    assert (candidate.low, candidate.high) == pytest.approx((gain.mean() - half, gain.mean() + half), abs=1e-12)
    assert candidate.ece == cal.ece(data.y_true, held)
    again = cal.recalibrate(data.y_true, data.y_prob, method="temperature", folds=4, rng=7)
    assert again.candidates == found.candidates


def test_a_rising_ece_is_explained() -> None:
    from calibrant.recalibration.choosing import _note

    plain = Candidate("none", 0.5, 0, 0, 0, 0.02)
    assert "ece rose from 0.02" in _note(Candidate("temperature", 0.4, 0.1, 0.05, 0.15, 0.03), plain)
    assert _note(Candidate("temperature", 0.4, 0.1, 0.05, 0.15, 0.01), plain) == ""
    assert "not statistically significant" in _note(Candidate("temperature", 0.49, 0.01, -0.05, 0.15, 0.01), plain)


def test_maps_that_cannot_be_fitted_say_why() -> None:
    y, p = np.array([0, 1] * 30), np.array([0.2, 0.8] * 30)
    found = cal.recalibrate(y, p, method=["platt", "beta", "spline"])
    reasons = {c.method: c.reason for c in found.candidates}
    assert reasons["beta"]
    assert reasons["platt"] == ""
    assert found.method != "beta"
    assert "beta" in repr(found)


@pytest.mark.parametrize("loss", ["nll", "brier"])
def test_logits_weights_and_losses(loss: str) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(500, 4)) * 3
    probs = np.exp(z / 2) / np.exp(z / 2).sum(axis=1, keepdims=True)
    y = (rng.random((500, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    weight = rng.integers(1, 4, 500)
    found = cal.recalibrate(
        cal.Predictions(y, z, input="logit", sample_weight=weight), loss=loss, method=["temperature", "vector"]
    )  # type: ignore[arg-type]
    assert found.method != "none"
    assert found.calibrator.predict_proba(z[:5] + 1).shape == (5, 4)
    assert found.loss == loss


def test_bad_arguments_are_named() -> None:
    y, p = [0, 1] * 20, [0.3, 0.6] * 20
    with pytest.raises(
        cal.errors.ArgumentError,
        match="method: unknown method 'magic'; choose one of auto, none, temperature, bias_corrected_temperature, vector, matrix, dirichlet, ensemble_temperature, platt",
    ):
        cal.recalibrate(y, p, method="magic")
    with pytest.raises(cal.errors.ArgumentError, match="loss"):
        cal.recalibrate(y, p, loss="ece")  # type: ignore[arg-type]
    for level in (2, 0, 1, -0.5, float("nan"), "95", True):
        with pytest.raises(cal.errors.ArgumentError, match="level: must lie between 0 and 1; got"):
            cal.recalibrate(y, p, level=level)  # type: ignore[arg-type]
    with pytest.raises(
        cal.errors.UndefinedMetricError, match="too few rows for 5 folds: at least 10 are required; got 6"
    ):
        cal.recalibrate(y[:6], p[:6])


def test_every_name_makes_a_map() -> None:
    for name, make in METHODS.items():
        assert make(input="logit").input == "logit", name


def test_one_class_alone_teaches_nothing() -> None:
    with pytest.raises(
        cal.errors.UndefinedMetricError,
        match="y_true: recalibration requires rows of at least two classes; all labels are equal",
    ):
        cal.recalibrate(np.ones(50, int), np.linspace(0.1, 0.9, 50))


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


def test_of_two_maps_that_warn_the_better_is_chosen_where_nothing_else_helps() -> None:
    class Wary(cal.PlattScaling):
        def _fit(self, data: Any) -> None:
            super()._fit(data)
            warn_caller("wary too")

    y, p = separated()
    calibrators = {
        "none": Identity(),
        "temperature": cal.TemperatureScaling(),
        "wary": Wary(),
        "calm": cal.PlattScaling(),
    }
    data = TrainingData(cal.Predictions(y, p))
    losses = {"none": 0.4, "wary": 0.2, "temperature": 0.1}
    found = [Candidate(name, loss, 0.4 - loss, 0.0, 1.0, 0.0) for name, loss in losses.items()]
    best, calibrator, told = _chosen(found, calibrators, data)
    assert (best.method, type(calibrator)) == ("temperature", cal.TemperatureScaling)
    assert list(told) == ["temperature", "wary"]
    assert told["wary"] == "wary too"
    calm = Candidate("calm", 0.3, 0.1, 0.0, 1.0, 0.0)
    best, calibrator, told = _chosen([*found, calm], calibrators, data)
    assert (best.method, type(calibrator)) == ("calm", cal.PlattScaling)
    assert list(told) == ["temperature", "wary"]


def test_what_the_chosen_fit_warned_of_is_told_apart() -> None:
    y, p = separated()
    assert cal.recalibrate(y, p).warned == ""
    found = cal.recalibrate(y, p, method="temperature")
    assert found.warned == found.candidates[1].note
    assert found.note.startswith(found.warned + ";") or found.note == found.warned


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


@pytest.mark.parametrize("distribution", [(1, 1), (1, 1, 1)])
@pytest.mark.parametrize("loss", ["nll", "brier"])
def test_losses_are_those_of_the_metrics(distribution: tuple[int, ...], loss: str) -> None:
    data = cal.inference.make_miscalibrated(
        400, distribution=distribution, warp=cal.inference.simulation.temperature(2.0), rng=3
    )
    weight = np.random.default_rng(0).random(400) + 0.5
    found = cal.recalibrate(data.y_true, data.y_prob, loss=loss, method="temperature", sample_weight=weight)  # type: ignore[arg-type]
    plain, mapped = found.candidates
    p = cal.Predictions(data.y_true, data.y_prob, sample_weight=weight)
    held = _held_out({"own": cal.TemperatureScaling()}, p, fold_of_rows(TrainingData(p), 5), 5)["own"]
    before, after = (getattr(cal, loss)(data.y_true, q, sample_weight=weight) for q in (data.y_prob, held))
    assert plain.loss == pytest.approx(before, rel=1e-12)
    assert mapped.loss == pytest.approx(after, rel=1e-12)
    assert mapped.gain == pytest.approx(before - after, rel=1e-9)
    assert mapped.low < mapped.gain < mapped.high
    assert mapped.high - mapped.gain == pytest.approx(mapped.gain - mapped.low, rel=1e-9)


@pytest.mark.filterwarnings("ignore::calibrant.errors.HardPredictionsWarning")
@pytest.mark.filterwarnings("ignore::calibrant.errors.BoundaryScoresWarning")
def test_labels_without_probability_are_told() -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(800) < 0.3).astype(int)
    wrong = np.arange(800) < 85
    p = np.where(wrong, 1 - y, y).astype(float)
    found = cal.recalibrate(y, p)
    assert cal.nll(y, p) == np.inf
    assert (
        found.candidates[0].note == "85 labels had predicted probability 0: the nll is infinite and computed with 1e-12"
    )
    assert "none: 85 labels had predicted probability 0" in found.note
    assert "85" not in cal.recalibrate(y, p, loss="brier").note
    mild, event = np.full(800, 0.3), int(np.argmax(y))
    for value, said in (
        (0.0, "1 label had predicted probability 0:"),
        (1e-15, "1 label had predicted probability below 1e-12; the nll"),
    ):
        mild[event] = value
        note = cal.recalibrate(y, mild, method="platt").candidates[0].note
        assert note.startswith(said)
    mild[event] = 1e-11
    assert cal.recalibrate(y, mild, method="platt").candidates[0].note == ""


def test_rows_come_in_every_form() -> None:
    data = cal.inference.make_miscalibrated(300, warp=cal.inference.simulation.temperature(2.0), rng=0)
    y, p = data.y_true, data.y_prob
    text, weight = np.where(y == 1, "dead", "alive"), np.arange(300) % 3 + 0.5
    frame = pd.DataFrame({"y": y, "name": text, "p": p, "w": weight})
    plain = cal.recalibrate(y, p, method="platt")
    weighed = cal.recalibrate(y, p, method="platt", sample_weight=weight)
    assert plain.candidates != weighed.candidates
    same = [
        cal.recalibrate(cal.Predictions(y, p), method="platt"),
        cal.recalibrate(cal.Predictions(frame, label="y", prob="p"), method="platt"),
        cal.recalibrate(text, p, pos_label="dead", method="platt"),
        cal.recalibrate(cal.Predictions(text, p, classes=["alive", "dead"]), method="platt"),
        cal.recalibrate(
            cal.Predictions(frame, label="name", prob="p", classes=["dead", "alive"], pos_label="dead"), method="platt"
        ),
    ]
    assert [found.candidates for found in same] == [plain.candidates] * 5
    for found in same[3:]:
        assert found.calibrator.predict([0.01, 0.99]).tolist() == ["alive", "dead"]
    for found in (
        cal.recalibrate(cal.Predictions(frame, label="y", prob="p", sample_weight="w"), method="platt"),
        cal.recalibrate(cal.Predictions(y, p, sample_weight=weight, groups=text), method="platt"),
    ):
        assert found.candidates == weighed.candidates


def test_a_count_stands_for_so_many_rows() -> None:
    data = cal.inference.make_miscalibrated(300, warp=cal.inference.simulation.temperature(2.0), rng=0)
    counts = np.arange(300) % 4
    found = cal.recalibrate(cal.Predictions(data.y_true, data.y_prob, counts=counts), method="platt")
    assert found.n == counts.sum()
    y, p, c = (values[counts > 0] for values in (data.y_true, data.y_prob, counts))
    fold = fold_of_rows(TrainingData(cal.Predictions(y, p, counts=c)), 5)
    rows = np.repeat(np.arange(len(y)), c)
    held = np.empty((len(y), 2))
    for number in range(5):
        train = rows[fold[rows] != number]
        held[fold == number] = cal.PlattScaling().fit(p[train], y[train]).predict_proba(p[fold == number])
    gain = (np.log(held[np.arange(len(y)), y]) - np.log(np.where(y == 1, p, 1 - p)))[rows]
    candidate = found.candidates[1]
    assert candidate.gain == pytest.approx(gain.mean(), abs=1e-9)
    assert candidate.high - candidate.gain == pytest.approx(
        1.959963984540054 * gain.std() / np.sqrt(len(rows)), abs=1e-9
    )


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


def test_many_counts_bear_more_maps() -> None:
    data = cal.inference.make_miscalibrated(100, warp=cal.inference.simulation.temperature(2.0), rng=0)
    counted = cal.recalibrate(cal.Predictions(data.y_true, data.y_prob, counts=np.full(100, 3)))
    weighed = cal.recalibrate(data.y_true, data.y_prob, sample_weight=np.full(100, 3))
    assert "beta" in [c.method for c in counted.candidates]
    assert "beta" not in [c.method for c in weighed.candidates]


def test_rows_of_a_wider_tolerance_are_fitted() -> None:
    data = cal.inference.make_miscalibrated(
        300, distribution=(1, 1, 1), warp=cal.inference.simulation.temperature(2.0), rng=0
    )
    rough = data.y_prob.astype(np.float16)
    assert np.abs(rough.astype(float).sum(axis=1) - 1).max() > 1e-4
    found = cal.recalibrate(data.y_true, rough, method="temperature")
    exact = cal.recalibrate(data.y_true, data.y_prob, method="temperature")
    assert found.method == "temperature"
    assert found.gain == pytest.approx(exact.gain, abs=1e-3)


def test_rows_without_one_class_are_told_what_to_do() -> None:
    rng = np.random.default_rng(0)
    p = rng.random((200, 3))
    y = (rng.random((200, 3)) < p).astype(int)
    with pytest.raises(
        cal.errors.UndefinedMetricError,
        match=r"y_true: recalibration requires one class for each row; fit one calibrator per label: recalibrate\(y_true\[:, k\], y_prob\[:, k\]\)",
    ):
        cal.recalibrate(cal.Predictions(y, p, multilabel=True))
    assert cal.recalibrate(y[:, 1], p[:, 1], method="none").method == "none"  # as it says
    with pytest.raises(cal.errors.UndefinedMetricError, match="one class for each row; pass the class of each row"):
        cal.recalibrate(cal.Predictions(p[:, 0], p[:, 1], soft=True))
    with pytest.raises(
        cal.errors.UndefinedMetricError,
        match='y_true: recalibration requires one class for each row; pass all probabilities, or drop input="confidence": being right is then the class',
    ):
        cal.recalibrate(cal.Predictions(y[:, 0], p[:, 0], input="confidence"))


def test_what_is_not_looked_at_is_refused() -> None:
    y, p = np.array([0, 1] * 20), np.array([0.3, 0.6] * 20)
    with pytest.raises(
        cal.errors.InputTypeError,
        match=r"sample_weight: cannot be combined with Predictions; pass it to Predictions\(\.\.\.\) instead",
    ):
        cal.recalibrate(cal.Predictions(y, p), sample_weight=y + 1)
    with pytest.raises(
        cal.errors.InputTypeError, match="y_true: expected rows, got a view; pass labels and probabilities"
    ):
        cal.recalibrate(cal.views.View(p, y))
    with pytest.raises(cal.errors.UndefinedMetricError, match="one class for each row"):
        cal.recalibrate(cal.Predictions(p, p, soft=True))
    with pytest.raises(
        cal.errors.ArgumentError,
        match=r"method: PlattScaling\(input='logit'\) expects logits, and the scores are probabilities; use the same input for both",
    ):
        cal.recalibrate(y, p, method=cal.PlattScaling(input="logit"))
    with pytest.raises(
        cal.errors.SwappedArgumentsError,
        match=r"y_true: the labels are fractions and the probabilities are only 0 and 1: they look swapped; pass \(y_true, y_prob\): labels first, probabilities second",
    ):
        cal.recalibrate(p, y)


def test_groups_and_features_of_predictions_reach_calibrators_that_need_them() -> None:
    rng = np.random.default_rng(0)
    p, group = rng.random(600), rng.integers(0, 2, 600)
    y = (rng.random(600) < np.where(group == 1, p, p**3)).astype(int)
    by_group = cal.Predictions(y, p, groups=np.array(["a", "b"])[group])
    found = cal.recalibrate(by_group, method=cal.GroupCalibration(cal.BetaCalibration()))
    assert found.method == "GroupCalibration"
    known = cal.GroupCalibration(cal.BetaCalibration()).fit(p, y, groups=np.array(["a", "b"])[group])
    new = np.array([0.3, 0.3])
    assert found.predict_proba(new, groups=["a", "b"]).tolist() == known.predict_proba(new, ["a", "b"]).tolist()
    features = cal.Predictions(y, p, features=group)
    found = cal.recalibrate(features, method=cal.recalibration.PlattScalingWithFeatures(categorical=[0]))
    assert found.method == "PlattScalingWithFeatures"
    assert found.gain > cal.recalibrate(features, method="platt").gain
    with pytest.raises(cal.errors.ArgumentError, match="method: GroupCalibration requires groups; pass Predictions"):
        cal.recalibrate(features, method=cal.GroupCalibration(cal.BetaCalibration()))
